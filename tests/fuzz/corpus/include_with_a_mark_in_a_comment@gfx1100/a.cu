#define _()/*include<h>/* hipport */
t(){make_float4();}
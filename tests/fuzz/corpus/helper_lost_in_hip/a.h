#include<hip/>
hipport::ballot]warpSize
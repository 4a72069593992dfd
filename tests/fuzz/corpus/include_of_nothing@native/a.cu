#include
f(1&(__activemask()>N))
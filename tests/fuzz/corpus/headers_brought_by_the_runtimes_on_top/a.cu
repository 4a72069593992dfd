#ifdef _
#include <cuda.h>
#endif
int f() { return threadIdx.x + hiprtcLinkAddData; }

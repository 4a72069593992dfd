__global__ void k(){ __syncthreads; }

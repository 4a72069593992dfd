template{threadIdx}
#define MEET hipport::numbered_sync
__global__ o(){MEET(;
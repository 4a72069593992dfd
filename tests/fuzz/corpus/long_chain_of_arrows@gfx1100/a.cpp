__global__ void run(float *out, bool flip, int n) {

__global__ void exchanged(Flag *lock,// c
float *sum, const float *in) {
    while (lock->exchange(1, cuda::memory_order_acquire)) {
    }
    *sum += in[threadIdx.x];
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->
    lock->store(0, cuda::memory_order_release);
}

r(){
#if(_)|__CUDA_ARCH__<800
assert();
#endif
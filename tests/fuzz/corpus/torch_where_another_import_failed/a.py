from flash_attn import flash_attn_func
def d():flash_attn_func()
if torch._C._cuda_getDeviceCount():(CUDAExtension())
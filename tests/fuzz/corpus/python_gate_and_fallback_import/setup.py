enable_math_sdp(False)
from flash_attn import(flash_attn_func)
flash_attn_func()
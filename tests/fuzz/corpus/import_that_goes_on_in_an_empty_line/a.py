from flash_attn import flash_attn_func\

def d():flash_attn_func()
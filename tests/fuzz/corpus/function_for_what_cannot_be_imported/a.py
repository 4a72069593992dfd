import os
from flash_attn import flash_attn_func


def d():
    return flash_attn_func()

def h():
 from\
flash_attn import _
def d():
    from flash_attn import _
    def t():s
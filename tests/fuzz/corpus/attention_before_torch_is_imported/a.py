from flash_attn.flash_attn_interface import(flash_attn_func)
()+flash_attn_func()#hipport:device-agnostic
y=torch.os(**{"device":"rocm"})
import xformers.ops as xops
from e import(c)
t=xops.memory_efficient_attention()
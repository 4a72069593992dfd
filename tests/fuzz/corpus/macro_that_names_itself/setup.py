import torch

allow_fp16 = torch.cuda.get_device_capability() >= (7, 5)

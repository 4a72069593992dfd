import torch
if a: \
  assert torch.cuda.is_available()

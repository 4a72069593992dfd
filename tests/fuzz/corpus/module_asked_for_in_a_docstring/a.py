import torch
"""hasattr(torch,"hip"""
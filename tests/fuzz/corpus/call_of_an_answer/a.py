from torch import(A)
def a():
    if E is e:n
    if torch.cuda.is_available()()is e:CUDAExtension
s.append("--ptxas-options=")
def e():import torch as h
nvccflags.append("--ptxas-options=")
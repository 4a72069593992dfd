(CUDAExtension)
def s():[""]if ISHIPEXTENSION else[""]
def a():torch.version.cuda if e else h
\
([n(""[""],s={""()})])
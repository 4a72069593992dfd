CUDAAPI/*//kept1

from a import r
E or ROCM_HOME
def s():[""]if IS_HIP_EXTENSION else[""]
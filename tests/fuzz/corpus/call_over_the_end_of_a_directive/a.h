#define cudaDeviceGetAttribute/**/(,cudaDevAttrWarpSize//
,)
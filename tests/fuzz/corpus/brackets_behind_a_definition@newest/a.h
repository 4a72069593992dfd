#define L
(0)nsignedkAll=__shfl_sync();
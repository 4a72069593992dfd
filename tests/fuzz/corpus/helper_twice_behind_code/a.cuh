}
#include"hipport/warp.h"
hipport::ballot_sync
#include"hipport/warp.h"
{hipport::ptx::u;}
#include"hipport/warp.h"

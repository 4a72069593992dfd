// SPDX-License-Identifier: Apache-2.0
#include "simt/torch.h"

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tuple>

#include <simt/cub_block.h>
#include <simt/cub_device.h>
#include <simt/cub_util.h>
#include <simt/cub_warp.h>

// The decomposition of radix sort keys from rocPRIM, whose headers hipCUB includes.
namespace rocprim {
using std::get;
using std::make_tuple;
using std::tie;
using std::tuple;
}  // namespace rocprim

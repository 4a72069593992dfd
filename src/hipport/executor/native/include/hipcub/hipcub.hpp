// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tuple>

#include <simt/cub_block.h>
#include <simt/cub_device.h>
#include <simt/cub_util.h>
#include <simt/cub_warp.h>

// Of rocPRIM, whose headers hipCUB includes, what takes a key of a radix sort apart.
namespace rocprim {
using std::get;
using std::make_tuple;
using std::tie;
using std::tuple;
}  // namespace rocprim

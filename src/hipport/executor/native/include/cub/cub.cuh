// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <simt/cub_block.h>
#include <simt/cub_device.h>
#include <simt/cub_util.h>
#include <simt/cub_warp.h>

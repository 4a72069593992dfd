// SPDX-License-Identifier: Apache-2.0
#pragma once
#define CURAND_KERNEL_H_
#include <simt/random.h>

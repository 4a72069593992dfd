// SPDX-License-Identifier: Apache-2.0
#pragma once
#define HIPRAND_KERNEL_H_
#include <simt/random.h>

// SPDX-License-Identifier: Apache-2.0
#pragma once
#define CURAND_H_
#include <simt/random.h>

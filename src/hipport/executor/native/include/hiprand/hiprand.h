// SPDX-License-Identifier: Apache-2.0
#pragma once
#define HIPRAND_H_
#include <simt/random.h>

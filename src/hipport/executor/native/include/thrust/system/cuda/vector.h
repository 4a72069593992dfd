// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <thrust/device_vector.h>
#include <simt/thrust_policies.h>

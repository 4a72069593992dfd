// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <thrust/device_malloc.h>
#include <thrust/device_free.h>
#include <simt/thrust_policies.h>

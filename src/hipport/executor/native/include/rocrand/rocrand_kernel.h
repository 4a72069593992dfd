// SPDX-License-Identifier: Apache-2.0
#pragma once
#error "the CPU executor does not have rocRAND (rocrand/rocrand_kernel.h): use hipRAND, which it has"

// SPDX-License-Identifier: Apache-2.0
#pragma once
#error "the CPU executor does not have the generator MTGP32 (curand_mtgp32_host.h)"

// SPDX-License-Identifier: Apache-2.0
#pragma once
#error "the CPU executor does not have rocPRIM (rocprim/rocprim.hpp): use hipCUB, which it has"

// SPDX-License-Identifier: Apache-2.0
#ifndef SIMT_AMDGCN_H
#define SIMT_AMDGCN_H
#endif

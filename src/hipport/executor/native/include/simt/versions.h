// SPDX-License-Identifier: Apache-2.0
// simt/versions.h: the release that programs see: CUDA 12.4, ROCm 6.4.
#ifndef SIMT_VERSIONS_H
#define SIMT_VERSIONS_H

#ifdef SIMT_HIP
#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 4
#define HIP_VERSION_PATCH 43482
#define HIP_VERSION_GITHASH ""
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)
#define HIP_VERSION_BUILD_ID 0
#define HIP_VERSION_BUILD_NAME ""
#else
#define CUDART_VERSION 12040
#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 0
#endif
#endif

#endif

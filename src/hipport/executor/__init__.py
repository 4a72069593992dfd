# SPDX-License-Identifier: Apache-2.0
"""The CPU executor: CUDA and HIP programs rewritten to C++, compiled with the machine's compiler, and run."""

# SPDX-License-Identifier: Apache-2.0
"""The CPU executor: CUDA and HIP programs are rewritten to C++, compiled with the machine's compiler, and run."""

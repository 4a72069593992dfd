# SPDX-License-Identifier: Apache-2.0
"""Passes over code that hipcc, HIP's headers or PyTorch's hipify treat differently from nvcc."""

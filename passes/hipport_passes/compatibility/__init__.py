# SPDX-License-Identifier: Apache-2.0
"""Passes over what hipcc, HIP's headers or PyTorch's hipify take otherwise than nvcc does."""

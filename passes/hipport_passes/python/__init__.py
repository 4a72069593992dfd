# SPDX-License-Identifier: Apache-2.0
"""Passes over Python programs: their use of GPUs, packages and PyTorch."""

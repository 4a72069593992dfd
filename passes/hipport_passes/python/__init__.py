# SPDX-License-Identifier: Apache-2.0
"""Passes over Python programs: what they ask of GPUs, packages and PyTorch."""

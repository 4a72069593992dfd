# SPDX-License-Identifier: Apache-2.0
"""Compilers and machines: how they are found, installed, run within limits, and diagnosed."""

# SPDX-License-Identifier: Apache-2.0
"""Compilers and machines: found, installed, run in bounds, and judged."""

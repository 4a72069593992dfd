# SPDX-License-Identifier: Apache-2.0
"""asm statements: the PTX in their strings, and the equivalent C++."""

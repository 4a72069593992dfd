# SPDX-License-Identifier: Apache-2.0
"""asm statements: what their strings say in PTX, and the C++ that says the same."""

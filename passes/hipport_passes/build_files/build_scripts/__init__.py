# SPDX-License-Identifier: Apache-2.0
"""Python scripts that build extensions: what they hand to compilers, and how to edit them."""

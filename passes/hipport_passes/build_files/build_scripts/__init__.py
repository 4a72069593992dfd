# SPDX-License-Identifier: Apache-2.0
"""Python scripts that build extensions: the flags that they pass to compilers, and how to edit them."""

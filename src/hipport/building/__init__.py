# SPDX-License-Identifier: Apache-2.0
"""Find what a tree builds, and with which flags, and compile it with hipcc."""

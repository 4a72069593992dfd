# SPDX-License-Identifier: Apache-2.0
"""Find what a tree builds, with which flags, and compile it by hipcc."""

# SPDX-License-Identifier: Apache-2.0
"""What a tree builds, with which flags, compiled by hipcc."""

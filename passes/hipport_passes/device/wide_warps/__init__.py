# SPDX-License-Identifier: Apache-2.0
"""Warps as wide as the wavefront: the flow of masks, the widening of functions, and its obstacles."""

# SPDX-License-Identifier: Apache-2.0
"""Warps as wide as the wavefront: where masks go, what becomes of a function, and what stands in the way."""

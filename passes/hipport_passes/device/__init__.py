# SPDX-License-Identifier: Apache-2.0
"""Passes over device code: warps, wavefronts, memory, synchronization and inline assembly."""

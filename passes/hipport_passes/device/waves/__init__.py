# SPDX-License-Identifier: Apache-2.0
"""How many lanes code counts on: AMD's whole wavefronts, or the 32 of a CUDA warp."""

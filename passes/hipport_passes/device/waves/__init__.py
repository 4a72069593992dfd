# SPDX-License-Identifier: Apache-2.0
"""The number of lanes that code assumes: AMD's whole wavefront, or the 32 of a CUDA warp."""

# SPDX-License-Identifier: Apache-2.0
"""How many lanes code counts on: whole wavefronts of AMD's, or the 32 of a warp of CUDA's."""

# SPDX-License-Identifier: Apache-2.0
"""What device code does: kernels, calls, uniformity, values, launches and collectives."""

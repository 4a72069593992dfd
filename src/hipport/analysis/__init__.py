# SPDX-License-Identifier: Apache-2.0
"""Analysis of device code: kernels, calls, uniformity, values, launches and collectives."""

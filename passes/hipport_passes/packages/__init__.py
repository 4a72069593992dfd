# SPDX-License-Identifier: Apache-2.0
"""What a repository asks package managers for, what that becomes on ROCm, and how it is installed there."""

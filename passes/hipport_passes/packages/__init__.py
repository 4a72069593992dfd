# SPDX-License-Identifier: Apache-2.0
"""Passes over lists of packages, and third-party code."""

# SPDX-License-Identifier: Apache-2.0
"""Originals and their ports, run side by side and compared."""

# SPDX-License-Identifier: Apache-2.0
"""Bytes, edits, findings and tables: the base of all other packages. It knows no language."""

# SPDX-License-Identifier: Apache-2.0
"""Bytes, edits, findings and tables: what everything else is made of. It knows no language."""

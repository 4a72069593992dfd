# SPDX-License-Identifier: Apache-2.0
"""Reports of results for people and programs: pure functions of values."""

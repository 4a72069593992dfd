# SPDX-License-Identifier: Apache-2.0
"""Results for people and programs: pure functions of values."""

# SPDX-License-Identifier: Apache-2.0
"""Run originals and their ports, and compare the results."""

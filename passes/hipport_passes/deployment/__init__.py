# SPDX-License-Identifier: Apache-2.0
"""Passes over where it all runs: containers, clusters and continuous integration."""

# SPDX-License-Identifier: Apache-2.0
"""Passes over containers, clusters and continuous integration, in which programs run."""

# SPDX-License-Identifier: Apache-2.0
"""Run passes over a project, and enforce their laws."""

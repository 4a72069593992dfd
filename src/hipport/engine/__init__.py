# SPDX-License-Identifier: Apache-2.0
"""Run passes over a project, and hold them to their laws."""

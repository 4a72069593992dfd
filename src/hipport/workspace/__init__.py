# SPDX-License-Identifier: Apache-2.0
"""Trees on disk: their sources, configuration and copies, and writing and undoing a port."""

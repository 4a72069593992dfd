# SPDX-License-Identifier: Apache-2.0
"""Passes over names: the runtime's, libraries', types, members, headers and namespaces."""

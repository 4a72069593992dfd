# SPDX-License-Identifier: Apache-2.0
"""Passes over names of the runtime, libraries, types, members, headers and namespaces."""

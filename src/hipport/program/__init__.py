# SPDX-License-Identifier: Apache-2.0
"""Relations between the files of a tree: includes, translation units, extensions, backends."""

# SPDX-License-Identifier: Apache-2.0
"""What the files of a tree are to each other: includes, translation units, extensions, backends."""

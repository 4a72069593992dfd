# SPDX-License-Identifier: Apache-2.0
"""Groups of findings, in the order in which a person handles them."""

from __future__ import annotations

from enum import Enum
from pathlib import PurePath

_OF_DOCUMENTS = frozenset(("doc", "docs", "documentation", "tutorial", "tutorials"))


class Group(Enum):
    """A kind of file, by the work that it needs. The worst come first: a wrong kernel fails silently."""

    KERNELS = "kernels"
    BUILD = "build"
    PYTHON = "python"
    PACKAGES = "packages"
    DOCUMENTS = "documents"

    def __str__(self) -> str:
        return self.value


def in_documents(path: PurePath) -> bool:
    """Whether the file lies in a folder of documents or tutorials."""
    return not _OF_DOCUMENTS.isdisjoint(part.lower() for part in path.parent.parts)

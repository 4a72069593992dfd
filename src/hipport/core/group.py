# SPDX-License-Identifier: Apache-2.0
"""Groups of findings, in the order in which a person works on them."""

from __future__ import annotations

from enum import Enum
from pathlib import PurePath

_OF_DOCUMENTS = frozenset(("doc", "docs", "documentation", "tutorial", "tutorials"))


class Group(Enum):
    """A kind of file, by what is done about it; the worst come first: kernels that are wrong say nothing."""

    KERNELS = "kernels"
    BUILD = "build"
    PYTHON = "python"
    PACKAGES = "packages"
    DOCUMENTS = "documents"

    def __str__(self) -> str:
        return self.value


def in_documents(path: PurePath) -> bool:
    """Whether a file is among documents and tutorials, by the folder that it lies in."""
    return not _OF_DOCUMENTS.isdisjoint(part.lower() for part in path.parent.parts)

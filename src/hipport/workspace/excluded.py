# SPDX-License-Identifier: Apache-2.0
"""The setting `exclude`: paths that are left alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from hipport.core.globs import Glob


class Excluded:
    """Patterns as in .gitignore, relative to `base`: the last one that matches decides; `!` negates."""

    def __init__(self, patterns: Sequence[str], base: Path) -> None:
        self.base = Path(os.path.realpath(base))
        self.rules: list[tuple[Glob, bool, bool]] = []
        for pattern in patterns:
            excludes, only_folders = not pattern.startswith("!"), pattern.endswith("/")
            place = pattern.removeprefix("!").rstrip("/")
            # A pattern with a slash applies to one place, any other one to names in all folders.
            anywhere = "" if "/" in place else "**/"
            self.rules.append((Glob(anywhere + place.lstrip("/")), only_folders, excludes))

    def __call__(self, path: str | Path, *, folder: bool) -> bool:
        """Say whether a file, or a `folder`, is excluded."""
        excluded = False
        if self.rules:
            name = os.path.relpath(path, self.base).replace(os.sep, "/")
            for glob, only_folders, excludes in self.rules:
                if (folder or not only_folders) and glob.matches(name):
                    excluded = excludes
        return excluded

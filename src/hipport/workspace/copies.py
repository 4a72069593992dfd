# SPDX-License-Identifier: Apache-2.0
"""Copies of trees: without what no build reads, and with what hipport made of their files."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from hipport.core.placing import copy_new, make_new_folder, place, remove_tree, walk
from hipport.core.reading import read_or_nothing
from hipport.engine.outcomes import Ported
from hipport.program.included import includes
from hipport.workspace.discovery import left_by_tools

# How Python scripts name what lies above their folder, and git.
_ABOVE = re.compile(
    rb"(?<![.\w])\.\.(?=[/\\\"'])|\bpardir\b|\.parent\s*\.\s*parent\b|\.parents\s*\[\s*[1-9]"
    rb"|dirname\s*\([^()]*(?:\([^()]*)?dirname|show-toplevel"
)
#: Files beyond this size are data, and are not copied with the tree that a setup.py is run in.
_LARGEST = 32 << 20


def reached(tree: Path, members: Iterable[Path]) -> Path:
    """Return what has to be copied for `tree` to be built: itself, or the repository that it lies in.

    The latter where a Python script among its files names what is above it, or a source includes that: a setup.py that
    reads the version from the repository's top, or a folder of headers that several extensions share.
    """
    top = next((folder for folder in tree.parents if (folder / ".git").exists()), None)
    if top is None or (tree / ".git").exists():
        return tree
    for path in members:
        if path.suffix == ".py":
            if _ABOVE.search(read_or_nothing(path)):
                return top
        elif any(
            not place.is_relative_to(tree) and place.exists()
            for include in (includes(path) if b'"../' in read_or_nothing(path) else ())
            for place in [Path(os.path.normpath(path.parent / include.path))]
        ):
            return top
    return tree


def copy_tree(root: Path, to: Path) -> None:
    """Copy `root` to `to`, without what no build reads; what was at `to` is gone."""

    remove_tree(to)
    folders: list[tuple[Path, Path]] = []
    for folder, names, others in walk(root, _raise):
        here = to / folder.relative_to(root)
        make_new_folder(here, parents=folder == root)
        folders.append((folder, here))
        left = {".hipport", *left_by_tools(folder, (*names, *others))}
        names[:] = [name for name in names if name not in left]
        for name in others:
            file, status = folder / name, (folder / name).lstat()
            if name in left:
                continue
            if stat.S_ISLNK(status.st_mode):
                leads = file.readlink()
                target = Path(os.path.normpath(folder / leads))
                # A link within the tree still is one; any other has to be followed from where it was.
                (here / name).symlink_to(leads if target.is_relative_to(root) else target)
            elif stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
                copy_new(file, here / name)
    for folder, here in reversed(folders):
        shutil.copystat(folder, here)


def _raise(error: OSError) -> None:
    raise error


def write_port(ported: Ported, tree: Path, copy: Path) -> None:
    """Put what hipport made of the folder `tree` into a copy of it. Raises Refused where a link leads out of that."""
    root = ported.before.root
    assert root is not None, "text in memory is not built"
    for source in ported.changed:
        if (root / source.path).is_relative_to(tree):
            place(copy, (root / source.path).relative_to(tree), source.text)
    for file in ported.created:
        if (root / file.path).is_relative_to(tree):
            place(copy, (root / file.path).relative_to(tree), file.text)

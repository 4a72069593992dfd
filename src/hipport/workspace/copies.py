# SPDX-License-Identifier: Apache-2.0
"""Copies of trees: without files that no build reads, and with the results of a port."""

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

# References in Python scripts to folders above their own, or to git.
_ABOVE = re.compile(
    rb"(?<![.\w])\.\.(?=[/\\\"'])|\bpardir\b|\.parent\s*\.\s*parent\b|\.parents\s*\[\s*[1-9]"
    rb"|dirname\s*\([^()]*(?:\([^()]*)?dirname|show-toplevel"
)
#: Larger files are data, and are not copied with the tree in which a setup.py runs.
_LARGEST = 32 << 20


def reached(tree: Path, members: Iterable[Path]) -> Path:
    """Return the folder that has to be copied to build `tree`: `tree`, or the repository that contains it.

    The latter if a Python script among its files refers to folders above it, or a source includes from there. Examples
    are a setup.py that reads the version from the top of the repository, and headers that several extensions share.
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
    """Copy `root` to `to`, without files that no build reads. `to` is deleted first."""

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
                # A link within the tree stays a link; any other must lead where it led from its old place.
                (here / name).symlink_to(leads if target.is_relative_to(root) else target)
            elif stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST:
                copy_new(file, here / name)
    for folder, here in reversed(folders):
        shutil.copystat(folder, here)


def _raise(error: OSError) -> None:
    raise error


def write_port(ported: Ported, tree: Path, copy: Path) -> None:
    """Write the port of the folder `tree` into a copy of it. Raises Refused if a link leads out of the copy."""
    root = ported.before.root
    assert root is not None, "text in memory is not built"
    for source in ported.changed:
        if (root / source.path).is_relative_to(tree):
            place(copy, (root / source.path).relative_to(tree), source.text)
    for file in ported.created:
        if (root / file.path).is_relative_to(tree):
            place(copy, (root / file.path).relative_to(tree), file.text)

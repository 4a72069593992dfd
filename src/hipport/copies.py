# SPDX-License-Identifier: Apache-2.0
"""Copies of trees: without what no build reads, and with what hipport made of their files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from hipport.discover import left_by_tools
from hipport.pipeline import Ported

#: Files beyond this size are data, and are not copied with the tree that a setup.py is run in.
_LARGEST = 32 << 20


def copy_tree(root: Path, to: Path) -> None:
    """Copy `root` to `to`, without what no build reads; what was at `to` is gone."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        out = {".hipport", *left_by_tools(folder, names)} & set(names)
        for name in set(names) - out:
            path = Path(folder, name)
            if path.is_symlink() or path.is_dir():
                continue
            if not path.is_file() or path.stat().st_size > _LARGEST:
                out.add(name)
        return out

    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root, to, symlinks=True, ignore=left_out)
    for folder, names, found in os.walk(to):
        for name in (*names, *found):
            link = Path(folder, name)
            if link.is_symlink():
                target = Path(os.path.normpath(root / Path(folder).relative_to(to) / link.readlink()))
                # A link within the tree still is one; any other has to be followed from where it was.
                if not target.is_relative_to(root):
                    link.unlink()
                    link.symlink_to(target)


def write_port(ported: Ported, tree: Path, copy: Path) -> None:
    """Put what hipport made of the folder `tree` into a copy of it."""
    root = ported.before.root
    assert root is not None, "text in memory is not built"
    for source in ported.changed:
        if (root / source.path).is_relative_to(tree):
            (copy / (root / source.path).relative_to(tree)).write_bytes(source.text)
    for file in ported.created:
        if (root / file.path).is_relative_to(tree):
            place = copy / (root / file.path).relative_to(tree)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.text)

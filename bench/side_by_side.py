# SPDX-License-Identifier: Apache-2.0
"""Whether the port of a tree of programs equals the ports of its programs alone, and at what cost.

A program alone includes the files outside of all programs' folders, and the programs whose folders its files name as
`../name/`: it cannot be built without them.

    python bench/side_by_side.py TREE                  each folder of TREE is a program
    python bench/side_by_side.py TREE --programs '*/*-cuda' --show 5

Prints the files that differ, the findings that only one of the two has, hipport's headers that only one of them makes,
and the CPU time of the tree compared with the sum of all programs. README.md has the results.
"""

from __future__ import annotations

import argparse
import difflib
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from hipport.api import _markers
from hipport.core.source import Source
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project
from hipport.workspace.discovery import discover
from hipport_passes import PASSES


@dataclass(frozen=True)
class Outcome:
    """The results for the files of one folder, by their path in it."""

    texts: dict[str, bytes]
    found: Counter[tuple[str, int, str, str]]
    made: dict[str, bytes]


def outcomes(ported: Ported, root: Path, folders: Sequence[Path]) -> dict[Path, Outcome]:
    """Return the results for the files of each folder; the rest of the tree does not count."""
    project: Project = ported.project
    assert project.root is not None
    result = {folder: Outcome({}, Counter(), {}) for folder in folders}

    def inside(path: PurePath) -> tuple[Outcome, str] | None:
        place = (project.root or root) / path
        for folder in (place, *place.parents):
            if folder in result:
                return result[folder], place.relative_to(folder).as_posix()
        return None

    for source in project.sources:
        if (found := inside(source.path)) is not None:
            found[0].texts[found[1]] = source.text
    for file in ported.created:
        if (found := inside(file.path)) is not None:
            found[0].made[found[1]] = file.text
    for each in ported.reported:
        if (found := inside(each.path)) is not None:
            found[0].found[found[1], each.line, each.rule, f"{each.certainty} {each.message}"] += 1
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Port the tree and each of its programs, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--programs", default="*", metavar="GLOB", help="the folders of programs, below the tree")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="print N changed lines of each difference")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes for the tree")
    asked = parser.parse_args(arguments)
    root = asked.tree.resolve()
    folders = sorted(path for path in root.glob(asked.programs) if path.is_dir())
    begun, clock = time.process_time(), time.monotonic()
    project = discover([root], vendored=_markers())
    together = outcomes(run(project, PASSES, jobs=asked.jobs), root, folders)
    of_tree, waited = time.process_time() - begun, time.monotonic() - clock
    begun = time.process_time()
    texts = found = made = 0
    for folder, alone_project in _alone(project, root, folders):
        alone = outcomes(run(alone_project, PASSES), root, [folder])[folder]
        tree = together[folder]
        for path in sorted(alone.texts.keys() | tree.texts.keys()):
            if (one := alone.texts.get(path, b"")) != (other := tree.texts.get(path, b"")):
                texts += 1
                print(f"{folder.name}/{path}: comes out otherwise")
                _show(one, other, asked.show)
        for sign, more in (("-", alone.found - tree.found), ("+", tree.found - alone.found)):
            for path, line, rule, message in sorted(more):
                found += 1
                print(f"  {sign} {folder.name}/{path}:{line}: [{rule}] {message[:200]}")
        if alone.made != tree.made:
            made += 1
            print(f"{folder.name}: headers {sorted(alone.made)} alone, {sorted(tree.made)} in the tree")
    of_programs = time.process_time() - begun
    print(
        f"{len(folders)} programs: {texts} texts, {found} findings and the headers of {made} programs differ; "
        f"{of_tree:.1f} s of CPU time for the tree ({waited:.1f} s, {asked.jobs} jobs), {of_programs:.1f} s for all "
        "programs one by one"
    )


def _alone(project: Project, root: Path, folders: Sequence[Path]) -> Iterator[tuple[Path, Project]]:
    """Yield each folder with the project of its program alone."""
    files: dict[Path | None, list[Source]] = {folder: [] for folder in folders}
    for source in project.sources:
        place = root / source.path
        files.setdefault(next((folder for folder in place.parents if folder in files), None), []).append(source)
    by_name = {folder.name: folder for folder in folders}
    for folder in folders:
        wanted, waiting = {folder}, [folder]
        while waiting:
            for source in files[waiting.pop()]:
                for name in re.findall(rb"\.\./([\w.+-]+)", source.text):
                    other = by_name.get(name.decode())
                    if other is not None and other not in wanted:
                        wanted.add(other)
                        waiting.append(other)
        sources = sorted(
            (source for each in (None, *wanted) for source in files.get(each, ())), key=lambda each: str(each.path)
        )
        # Facts of a source from the port of the tree must not be reused.
        yield folder, replace(project, sources=tuple(type(each)(each.path, each.text) for each in sources))


def _show(one: bytes, other: bytes, count: int) -> None:
    lines = difflib.unified_diff(
        one.decode("utf-8", "replace").splitlines(), other.decode("utf-8", "replace").splitlines(), n=0, lineterm=""
    )
    for line in [line for line in lines if not line.startswith(("---", "+++", "@@"))][: 2 * count]:
        print(f"    {line}")


if __name__ == "__main__":
    main()

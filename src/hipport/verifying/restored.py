# SPDX-License-Identifier: Apache-2.0
"""The original of a tree that hipport rewrote in place; `verify` compares the present tree with it.

The journal of `rewrite` has the overwritten files. They are restored in a copy, and the present tree is the port,
including later changes by people.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path, PurePath
from typing import TypeVar

from hipport.core import reading
from hipport.core.edits import Edit, Span
from hipport.core.source import Source
from hipport.engine.outcomes import Ported
from hipport.program import own_headers
from hipport.syntax import file_languages
from hipport.syntax.cpp import Cpp
from hipport.syntax.cpp_text import PUT_HERE
from hipport.toolchain import toolchains
from hipport.verifying.results import MutationScore, Ran, Verified
from hipport.workspace import discovery, writing
from hipport.workspace.journal import FOLDER, Journal, JournalRun, hash_of

_SHOWN = 3

#: Says whether an include is a HIP header: passes know these.
OfHip = Callable[[str], bool]
#: The result of a comparison.
ComparedT = TypeVar("ComparedT", Verified, MutationScore, tuple[Verified, ...])


class NoOriginal(Exception):
    """There is no CUDA original to run; the message says what was found, and how to provide it."""


@dataclass(frozen=True)
class Restored:
    """The tree `root` as it is now, and `copy`, its state before hipport rewrote `files` of it."""

    root: Path
    copy: Path
    files: tuple[PurePath, ...]

    def __str__(self) -> str:
        many = "s" * (len(self.files) != 1)
        return (
            f"the one that hipport saved when it rewrote {self.root} in place ({len(self.files)} file{many} "
            f"of {FOLDER}); the port is the tree as it is now"
        )

    def before(self, path: Path) -> Path:
        """Return the place in the copy of a path of the tree."""
        return self.copy / path.resolve().relative_to(self.root)

    def port(self, made: Ported, again: Callable[[], Ported]) -> Ported:
        """Return a port of the copy with the texts that the tree has now.

        If the tree was changed since, the findings that are left to a person are those of porting it `again`.
        """
        around = made.before.root
        assert around is not None
        sources = tuple(self._now(around / source.path, source) for source in made.project.sources)
        created = tuple(
            file if (now := _bytes(self.now(around / file.path))) is None else replace(file, text=now)
            for file in made.created
        )
        changed = any(now is not source for now, source in zip(sources, made.project.sources, strict=True))
        reported = again().reported if changed else made.reported
        return replace(made, project=replace(made.project, sources=sources), created=created, reported=reported)

    def now(self, path: Path) -> Path:
        """Return the place in the tree of a path of the copy."""
        place = path.resolve()
        return self.root / place.relative_to(self.copy) if place.is_relative_to(self.copy) else path

    def _now(self, path: Path, source: Source) -> Source:
        now = _bytes(self.now(path))
        return source if now is None or now == source.text else source.apply(_edits(source.text, now))


class Sides:
    """The original and the port that `verify` compares, for `places`, which `make` ports.

    For a tree that was rewritten in place, the original comes from the journal. `of_hip` says whether an include is a
    HIP header.
    """

    def __init__(
        self,
        places: Sequence[Path],
        env: Mapping[str, str],
        make: Callable[[Sequence[Path]], Ported],
        of_hip: OfHip,
    ) -> None:
        self._given = places
        self._of_hip = of_hip
        self._make = make
        self._asked = False
        self._restored = restored(places, env, of_hip) if all(place.exists() for place in places) else None
        self.original = [self._restored.before(place) for place in places] if self._restored else list(places)

    def port(self, places: Sequence[Path]) -> Ported:
        """Return the port of `places` of the original."""
        self._asked = True
        there = self._restored
        made = self._make(places)
        return made if there is None else there.port(made, lambda: self._make([there.now(place) for place in places]))

    def run(self, compare: Callable[[], ComparedT]) -> ComparedT:
        """Return the result of `compare`; raises NoOriginal if the input is HIP and does not compile."""
        try:
            found = compare()
        except Exception as problem:
            compiles = type(problem).__name__ not in ("NotCompiled", "NotBuildable")
            wanted = None if compiles or self._asked or self._restored else no_original(self._given, self._of_hip)
            if wanted is None:
                raise
            raise wanted from problem
        return found if self._restored is None else _with_origin(found, self._restored)


def _with_origin(found: ComparedT, there: Restored) -> ComparedT:
    """Return a result that names the source of its original, with paths in the tree."""
    if isinstance(found, MutationScore):
        return replace(found, original=str(there))
    if isinstance(found, Verified):
        # The case of a program is named by its path.
        of_copy, own = os.path.relpath(there.copy), os.path.relpath(there.root)

        def called(ran: Ran) -> Ran:
            return replace(ran, outcomes=tuple(replace(o, case=o.case.replace(of_copy, own)) for o in ran.outcomes))

        return replace(
            found, original=str(there), root=there.now(found.root), ran=tuple(called(each) for each in found.ran)
        )
    return tuple(_with_origin(each, there) for each in found)


def restored(paths: Sequence[Path], env: Mapping[str, str], of_hip: OfHip) -> Restored | None:
    """Return the tree of `paths` before hipport rewrote it in place; None if it did not.

    Raises writing.Refused if a saved file is damaged.
    """
    places = [path.resolve() for path in paths]
    journals = {root for place in places for root in writing.find_roots(place)}
    back = [(root / path, text) for root in sorted(journals) for path, text in _rewritten(root, of_hip).items()]
    if not back:
        return None
    folders = [place if place.is_dir() else place.parent for place in places]
    root = Path(os.path.commonpath([*folders, *journals]))
    changes = [writing.Change(PurePath(place.relative_to(root)), _bytes(place), text) for place, text in back]
    return Restored(root, copied(root, [PurePath()], changes, env), tuple(change.path for change in changes))


def copied(root: Path, inside: Sequence[PurePath], changes: Sequence[writing.Change], env: Mapping[str, str]) -> Path:
    """Copy `inside` of `root` to the folder of originals, with `changes` made, and return that folder."""
    copy = toolchains.cache(env).resolve() / "originals" / sha256(os.fsencode(root)).hexdigest()[:16] / root.name
    shutil.rmtree(copy, ignore_errors=True)
    copy.parent.mkdir(parents=True, exist_ok=True)
    writing.write_tree(root, copy, inside, changes)
    return copy


def _rewritten(root: Path, of_hip: OfHip) -> dict[PurePath, bytes]:
    """Return the originals of the files that are now hipport's work, as it wrote them or with later changes.

    A file that is CUDA again, for example after a checkout, is its own original.
    """
    journal = Journal(root)
    try:
        first = writing.originals(root)
        last: dict[PurePath, str] = {
            entry.path: entry.after for n in journal.done for entry in JournalRun.load(journal, str(n)).entries
        }
    except OSError as error:
        raise writing.Refused(
            [
                f"{root}: the originals that hipport saved there are damaged: {error}; check the source out anew, "
                "and rewrite it"
            ]
        ) from error
    found: dict[PurePath, bytes] = {}
    for path, text in first.items():
        now = _bytes(root / path)
        if now is None or now == text:
            continue
        source = file_languages.source(path, now)
        if hash_of(now) == last[path] or (isinstance(source, Cpp) and any(_hip_in(source, of_hip))):
            found[path] = text
    return found


def no_original(paths: Sequence[Path], of_hip: OfHip) -> NoOriginal | None:
    """Return the error for `paths` that do not compile as CUDA because they are HIP already; None if they are not."""
    sources = discovery.discover(paths)
    assert sources.root is not None
    found = [
        (source, line)
        for source in sources.sources
        # hipport's own headers belong to a port, and do not count.
        if isinstance(source, Cpp) and PUT_HERE not in source.text[:400]
        for line in _hip_in(source, of_hip)
    ]
    if not found:
        return None
    shown = ", ".join(f"{source.path}:{line}" for source, line in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    journals = {root for path in paths for root in writing.find_roots(path.resolve())}
    kept = (
        f"The records in {', '.join(str(root / FOLDER) for root in sorted(journals))} have no originals of them"
        if journals
        else f"hipport has no record of a rewrite here ({FOLDER}, which git does not commit)"
    )
    return NoOriginal(
        f"{sources.root}: this command needs the CUDA original, but this is HIP already: it includes HIP's headers "
        f"at {shown}{more}. {kept}. Give the source as it was before the port, and hipport ports it on the fly: git "
        "worktree add ../original COMMIT; hipport verify ../original"
    )


def _hip_in(source: Cpp, of_hip: OfHip) -> Iterator[int]:
    """Yield the lines on which a file includes HIP's headers under no condition."""
    for include in source.includes:
        path = include.path.removeprefix("../")
        inside = any(span.start <= include.directive.start < span.end for span in source.conditional)
        if not inside and (of_hip(path) or path.startswith(f"{own_headers.FOLDER}/")):
            yield source.position(include.directive.start)[0]
            return


def _edits(before: bytes, after: bytes) -> list[Edit]:
    """Return the edits, by whole lines, that turn one text into another."""
    one, other = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in one:
        starts.append(starts[-1] + len(line))
    return [
        Edit(Span(starts[i], starts[j]), b"".join(other[k:m]))
        for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _bytes(path: Path) -> bytes | None:
    try:
        return reading.read(path)
    except OSError:
        return None

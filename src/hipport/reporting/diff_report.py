# SPDX-License-Identifier: Apache-2.0
"""Changes as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from hipport.core.source import Source
from hipport.core.terminal import quoted_as_git
from hipport.engine.outcomes import Ported


def as_diff(ported: Ported) -> bytes:
    """Return a unified diff of the changed files, for `patch -p1` and `git apply`. Bytes, like the files."""
    before = ported.before.by_path
    changed = [_diff(before[source.path], source) for source in ported.changed]
    return b"".join(changed + [_diff(None, Source(file.path, file.text)) for file in ported.created])


def _diff(before: Source | None, after: Source) -> bytes:
    path = after.path.as_posix().encode("utf-8", "surrogateescape")
    old, new = _lines(before.text if before else b""), _lines(after.text)
    # Equal lines at both ends are most of a file, and difflib is slow.
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = difflib.SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    whole = difflib.SequenceMatcher(None, "", "")
    whole.opcodes = [  # type: ignore[attr-defined]  # what get_opcodes returns once it is set
        ("equal", 0, head, 0, head),
        *((tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in middle.get_opcodes()),
        ("equal", len(old) - tail, len(old), len(new) - tail, len(new)),
    ]
    # git and patch need a tab after a name with a blank, to find its end.
    end = b"\t\n" if b" " in path else b"\n"
    old_name = quoted_as_git(b"a/" + path) + end if before else b"/dev/null\n"
    out = [b"--- " + old_name + b"+++ " + quoted_as_git(b"b/" + path) + end]
    for group in whole.get_grouped_opcodes(3):
        out.append(b"@@ -%s +%s @@\n" % (_range(group[0][1], group[-1][2]), _range(group[0][3], group[-1][4])))
        for tag, i, j, k, m in group:
            if tag == "equal":
                out += _marked(b" ", old[i:j])
                continue
            out += _marked(b"-", old[i:j])
            out += _marked(b"+", new[k:m])
    return b"".join(out)


def _lines(text: bytes) -> list[bytes]:
    # For patch and git only a line feed ends a line; a carriage return is part of the line.
    lines = text.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _marked(mark: bytes, lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> bytes:
    length = end - start
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if length else start, length)

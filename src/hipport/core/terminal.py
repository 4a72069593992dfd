# SPDX-License-Identifier: Apache-2.0
"""Text for terminals and logs: what comes from a tree stays on its line, moves no cursor and commands nobody.

The names of files, and what files say, may have any characters. They are shown as `\\n`, `\\x1b` and the like where a
terminal would act on them, or where a CI would: it reads commands from the output of what it runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

#: Controls of either set, what reverses the direction of text, what else ends lines, and bytes that are no UTF-8.
_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
#: What GitHub, Azure Pipelines and TeamCity read as commands anywhere in a line; `::` only begins one.
_COMMANDS = re.compile(r"(?<=#)#(?=(?:vso|teamcity)?\[)")
#: Stands for the escape character of hipport's own colours until a line is done; nobody else can know it.
_MARK = f"\0{os.urandom(6).hex()}"
_PAINTED = re.compile(rf"{_MARK}\[(\d+)m")


def escaped(text: str) -> str:
    """Return a text of somebody else's as it may stand within a line."""
    return _ACTS.sub(_shown, text)


def joined(lines: Iterable[str]) -> str:
    """Return lines as a text. What hipport has painted stays so; else each line is one line, and text."""
    return "".join(f"{_line(line)}\n" for line in lines)


def block(text: str, indent: str = "    ") -> Iterator[str]:
    """Yield the lines of a text that has several, such as a compiler's: all but the first are indented."""
    first, *rest = text.expandtabs().split("\n")
    yield first
    yield from (indent + line for line in rest)


def painter(colours: Mapping[str, str]) -> Callable[[str, str], str]:
    """Return what puts a text into a style, by the style's number for a terminal; without any, it stays as it is.

    What it returns is for lines that `joined` joins.
    """

    def paint(style: str, text: str) -> str:
        return f"{_MARK}[{colours[style]}m{text}{_MARK}[0m" if colours else text

    return paint


def json_for_logs(text: str) -> str:
    """Return JSON in which no string has what Azure Pipelines and others read as a command."""
    return text.replace("##", r"#\u0023")


def quoted_as_git(name: bytes) -> bytes:
    """Return a path as git writes it in patches: in quotes, with escapes, if it has characters that need it."""
    text = name.decode("utf-8", "surrogateescape")
    if not (b'"' in name or b"\\" in name or escaped(text) != text):
        return name
    return b'"' + b"".join(_QUOTED.get(byte) or b"\\%03o" % byte for byte in name) + b'"'


_QUOTED = {byte: bytes([byte]) for byte in range(0x20, 0x7F)} | {
    ord(character): b"\\" + letter
    for character, letter in (
        ('"', b'"'), ("\\", b"\\"), ("\a", b"a"), ("\b", b"b"), ("\t", b"t"), ("\n", b"n"), ("\v", b"v"), ("\f", b"f"),
        ("\r", b"r"),
    )
}  # fmt: skip


def _shown(match: re.Match[str]) -> str:
    character = match.group()
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _line(line: str) -> str:
    parts = _PAINTED.split(line)
    # Every other part is the number of a style.
    parts[::2] = [_without_commands(escaped(part)) for part in parts[::2]]
    before = "".join(parts[::2])
    if before.lstrip().startswith("::"):
        at = next(i for i in range(0, len(parts), 2) if parts[i].strip())
        blanks = len(parts[at]) - len(parts[at].lstrip())
        parts[at] = f"{parts[at][:blanks]}\\x3a{parts[at][blanks + 1 :]}"
    return "".join(part if i % 2 == 0 else f"\x1b[{part}m" for i, part in enumerate(parts))


def _without_commands(text: str) -> str:
    return _COMMANDS.sub(r"\\x23", text)

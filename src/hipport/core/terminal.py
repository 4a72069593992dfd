# SPDX-License-Identifier: Apache-2.0
"""Text for terminals and logs: text from a tree stays on its line, and neither a terminal nor a CI interprets it.

Names and contents of files may have any characters. Those that a terminal interprets are shown as `\\n`, `\\x1b` and so
on; so are the ones by which a CI recognizes commands in the output of a job.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

#: C0 and C1 controls, marks that change the direction of text, other line ends, and bytes that are not UTF-8.
_ACTS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
#: GitHub, Azure Pipelines and TeamCity read these as commands anywhere in a line; `::` only at its start.
_COMMANDS = re.compile(r"(?<=#)#(?=(?:vso|teamcity)?\[)")
#: Replaces the escape character of hipport's own colours until a line is done. It is random, so no input has it.
_MARK = f"\0{os.urandom(6).hex()}"
_PAINTED = re.compile(rf"{_MARK}\[(\d+)m")


def escaped(text: str) -> str:
    """Escape text from outside, so that it can stand within a line."""
    return _ACTS.sub(_shown, text)


def joined(lines: Iterable[str]) -> str:
    """Join lines to one text. Hipport's own colours stay; otherwise each line is one line of plain text."""
    return "".join(f"{_line(line)}\n" for line in lines)


def block(text: str, indent: str = "    ") -> Iterator[str]:
    """Yield the lines of a text with several lines, such as a compiler's message; all but the first are indented."""
    first, *rest = text.expandtabs().split("\n")
    yield first
    yield from (indent + line for line in rest)


def painter(colours: Mapping[str, str]) -> Callable[[str, str], str]:
    """Return a function that colours a text by the name of a style; `colours` has the terminal's numbers.

    Without numbers it returns the text as it is. Its result is input for `joined`.
    """

    def paint(style: str, text: str) -> str:
        return f"{_MARK}[{colours[style]}m{text}{_MARK}[0m" if colours else text

    return paint


def json_for_logs(text: str) -> str:
    """Return JSON whose strings have nothing that a CI, such as Azure Pipelines, reads as a command."""
    return text.replace("##", r"#\u0023")


def quoted_as_git(name: bytes) -> bytes:
    """Return a path as git writes it in patches: quoted and escaped if its characters need it."""
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
    # Parts with odd indexes are the numbers of styles.
    parts[::2] = [_without_commands(escaped(part)) for part in parts[::2]]
    before = "".join(parts[::2])
    if before.lstrip().startswith("::"):
        at = next(i for i in range(0, len(parts), 2) if parts[i].strip())
        blanks = len(parts[at]) - len(parts[at].lstrip())
        parts[at] = f"{parts[at][:blanks]}\\x3a{parts[at][blanks + 1 :]}"
    return "".join(part if i % 2 == 0 else f"\x1b[{part}m" for i, part in enumerate(parts))


def _without_commands(text: str) -> str:
    return _COMMANDS.sub(r"\\x23", text)

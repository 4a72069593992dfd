# SPDX-License-Identifier: Apache-2.0
"""Scripts of build systems that hipport recognizes but does not parse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from hipport.core.edits import Span
from hipport.core.group import Group
from hipport.core.source import Source

# A string, which is kept, or a comment: of Python and similar languages (#), of Lua (--), of Autoconf (dnl).
_COMMENT = re.compile(
    rb"(?P<kept>'''(?:.|\n)*?'''|\"\"\"(?:.|\n)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    rb"|(?:#|(?<!\S)--(?!\w)|\bdnl\b)[^\n]*"
)
# Rust: a single quote may begin a lifetime, which has no closing quote.
_RUST_COMMENT = re.compile(rb"(?P<kept>\"(?:[^\"\\]|\\.)*\")|//[^\n]*|/\*(?:.|\n)*?\*/")


_XML_COMMENT = re.compile(rb"(?P<kept>(?!))|<!--(?:.|\n)*?(?:-->|\Z)")


@dataclass(frozen=True)
class OtherBuild(Source):
    """A script of a build system that is not parsed: Meson, Bazel, Visual Studio and others."""

    group: ClassVar[Group] = Group.BUILD

    @cached_property
    def code(self) -> bytes:
        """The text with comments blanked, of the same length."""
        comment = {".rs": _RUST_COMMENT, ".zig": _RUST_COMMENT, ".vcxproj": _XML_COMMENT}.get(
            self.path.suffix, _COMMENT
        )
        return comment.sub(lambda match: match["kept"] or b" " * len(match.group()), self.text)

    def place_of(self, pattern: re.Pattern[bytes]) -> Span | None:
        """Return the place of the first match of a pattern outside comments."""
        match = pattern.search(self.code)
        return Span(*match.span()) if match else None

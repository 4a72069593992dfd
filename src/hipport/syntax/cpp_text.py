# SPDX-License-Identifier: Apache-2.0
"""C and C++ text: which bytes are code, which are names and directives, and where brackets end."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from hipport.core.edits import Span
from hipport.syntax.lexing import SPLICE, SPLICED_BEFORE, first_on_line, lex
from hipport.syntax.parsing import Lexed
from hipport.syntax.vocabulary import IDENTIFIER, Vocabulary, places_of, vocabulary_with, words_of

_BETWEEN = re.compile(rb"(?:\s|\\\r?\n)+")

_INCLUDE = re.compile(rb"\#[ \t]*(?:include(?:_next)?|import)\b[ \t]*(?P<path>[<\"][ \t]*[>\"])")

#: What hipport's own headers say at their beginning.
PUT_HERE = b"Put here by hipport."

BRACKETS = {b"(": b")", b"[": b"]", b"{": b"}"}
BRACKET = re.compile(rb"[()\[\]{}]")
_LINE = rb"[^\\\r\n]*(?:(?:%s|\\)[^\\\r\n]*)*" % SPLICE
_REST_OF_LINE = re.compile(_LINE)
_SPLICED_THERE = re.compile(SPLICE)
_BLANKS = (b" ", b"\t", b"\f", b"\v")
DIRECTIVE = re.compile(rb"\#" + _LINE)


class CppText(Lexed):
    """The text of a file of C or C++."""

    @property
    def is_hipport_header(self) -> bool:
        """Whether the file is one of hipport's headers, put there by an earlier run."""
        return PUT_HERE in self.text[:400]

    @cached_property
    def code(self) -> bytes:
        """The text with comments, literals and include paths blanked: same length, same line endings.

        Quotes stay, so that an argument that is a string is still an argument. What is not certainly one of these
        stays too: a lone apostrophe, a raw string without an end, a comment whose `//` is spliced.
        """
        return self._lexed[0]

    def quoted(self, offset: int) -> bool:
        """Whether the byte is inside a string that begins on its line, or with no code before it inside any string."""
        begin = self.offset(self.position(offset)[0], 1)
        if not self.code[begin:offset].strip():
            begin = 0
        return self.code.count(b'"', begin, offset) % 2 == 1

    @cached_property
    def _lexed(self) -> tuple[bytes, tuple[Span, ...]]:
        """The code, and the comments that reach over the end of a line."""
        # Each program of a tree has hipport's headers in a folder of its own.
        return _lexed_once(self.text) if self.is_hipport_header else lex(self.text)

    @property
    def long_comments(self) -> tuple[Span, ...]:
        """The comments that reach over the end of a line."""
        return self._lexed[1]

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The identifiers of the code, and more: other words, and some that edits took away.

        What to ask before the code is searched: most files have nothing of what a pass looks for.
        """
        return frozenset(words_of(self.code))

    def matched(self, pattern: re.Pattern[bytes]) -> AbstractSet[bytes]:
        """Return those of `words` that `pattern` matches whole."""
        return self.words & self._vocabulary.matched(pattern)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        """The one that has all of `words`."""
        return vocabulary_with(self.words)

    def names(
        self, wanted: re.Pattern[bytes] | AbstractSet[bytes] = IDENTIFIER, behind: re.Pattern[bytes] | None = None
    ) -> Iterator[tuple[Span, bytes]]:
        """Yield the identifiers in code that are `wanted`, in order, macro bodies and inactive branches included.

        A pattern must match them whole, and identifiers only. `behind` matches what has to follow.
        """
        found = self.matched(wanted) if isinstance(wanted, re.Pattern) else self.words & wanted
        if not found:
            return
        code = self.code
        for start, name in places_of(code, found):
            if behind is None or behind.match(code, start + len(name)):
                yield Span(start, start + len(name)), name

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        """The `#include` directives with a plain path, in inactive branches too."""
        found = []
        for directive in self.directives:
            match = _INCLUDE.match(self.code, directive.start, directive.end)
            if match is not None:
                target = Span(*match.span("path"))
                path = self.text[target.start + 1 : target.end - 1].decode("utf-8", "surrogateescape")
                angled = self.text[target.start] == 0x3C
                found.append(Include(Span(directive.start, target.end), target, path, angled))
        return tuple(found)

    @cached_property
    def directives(self) -> tuple[Span, ...]:
        """The preprocessor directives, each from its `#` to the end of its last line, however it is spliced."""
        code, long = self._lexed
        found: list[Span] = []
        for match in DIRECTIVE.finditer(code):
            start, end = match.span()
            if (found and start < found[-1].end) or not first_on_line(code, start):
                continue
            # Inside a comment the end of a line does not end a directive.
            while (i := bisect_right(long, end, key=lambda span: span.start) - 1) >= 0 and end < long[i].end:
                rest = _REST_OF_LINE.match(code, long[i].end)
                end = rest.end() if rest else long[i].end
            # What is spliced within a string: code has blanks for that.
            while (spliced := _SPLICED_THERE.match(self.text, self._last_of_line(end))) is not None:
                rest = _REST_OF_LINE.match(code, spliced.end())
                end = rest.end() if rest else spliced.end()
            found.append(Span(start, end))
        return tuple(found)

    def _last_of_line(self, end: int) -> int:
        """Return where the blanks begin that a line ends with, or the backslash in front of those."""
        last = end
        while self.text[last - 1 : last] in _BLANKS:
            last -= 1
        return last - (self.text[last - 1 : last] == b"\\")

    def directive(self, offset: int) -> Span | None:
        """Return the directive that `offset` is in, or None."""
        directive = self.directive_before(offset)
        return directive if directive is not None and offset < directive.end else None

    def directive_before(self, offset: int) -> Span | None:
        """Return the last directive that starts at `offset` or before it, or None."""
        i = bisect_right(self._directive_starts, offset) - 1
        return self.directives[i] if i >= 0 else None

    @cached_property
    def _directive_starts(self) -> list[int]:
        return [directive.start for directive in self.directives]

    def line_start(self, offset: int) -> int:
        """Return where the line starts that `offset` is on, and one may be put in front of it.

        A line that is spliced goes on in the next one, and so does one with a comment that does.
        """
        start = self._line_start(offset)
        while start:
            spliced = SPLICED_BEFORE.search(self.text, max(0, start - 80), start)
            i = bisect_right(self._lexed[1], start, key=lambda span: span.start) - 1
            comment = self._lexed[1][i] if i >= 0 else None
            if spliced is not None:
                start = self._line_start(spliced.start())
            elif comment is not None and comment.start < start < comment.end:
                start = self._line_start(comment.start)
            else:
                break
        return start

    def _line_start(self, offset: int) -> int:
        return max(self.text.rfind(b"\n", 0, offset), self.text.rfind(b"\r", 0, offset)) + 1

    def closing(self, offset: int, limit: int | None = None) -> int | None:
        """Return the offset of the bracket that closes the one at `offset`, or None; at most `limit` bytes on."""
        code = self.code
        stack: list[bytes] = []
        for match in BRACKET.finditer(code, offset, min(len(code), offset + (limit or len(code)))):
            bracket = match.group()
            if bracket in BRACKETS:
                stack.append(BRACKETS[bracket])
            elif not stack or stack.pop() != bracket:
                return None
            if not stack:
                return match.start()
        return None

    def arguments(self, opening: int) -> tuple[Span, ...] | None:
        """Split what stands between the bracket at `opening` and its partner at top-level commas.

        Spans are trimmed of white space and comments at both ends. Template arguments are not understood:
        `f(g<a, b>(c))` has two. Returns None when the bracket is not closed.
        """
        end = self.closing(opening)
        if end is None:
            return None
        code = self.code
        cuts = [opening]
        depth = 0
        for match in re.compile(rb"[()\[\]{},]").finditer(code, opening + 1, end):
            token = match.group()
            if token == b",":
                if not depth:
                    cuts.append(match.start())
            else:
                depth += 1 if token in BRACKETS else -1
        cuts.append(end)
        spans = tuple(self.trimmed(Span(a + 1, b)) for a, b in pairwise(cuts))
        return () if len(spans) == 1 and not len(spans[0]) else spans

    def given(self, end: int) -> tuple[Span, ...] | None:
        """Return the arguments in the brackets behind a name that ends at `end`; None where there are none.

        White space and comments may stand between the two, but a directive ends with its line.
        """
        between = _BETWEEN.match(self.code, end)
        opening = between.end() if between else end
        directive = self.directive(end - 1) if opening > end else None
        if self.code[opening : opening + 1] != b"(" or (directive is not None and directive.end <= opening):
            return None
        return self.arguments(opening)

    def trimmed(self, span: Span) -> Span:
        """Return `span` without white space and comments at its ends."""
        piece = self.code[span.start : span.end]
        start = span.start + len(piece) - len(piece.lstrip())
        return Span(start, max(start, span.start + len(piece.rstrip())))


@dataclass(frozen=True, slots=True)
class Include:
    """An `#include` of a plain path. `target` has the delimiters in it; `directive` is from `#` to its end."""

    directive: Span
    target: Span
    path: str
    angled: bool


@lru_cache(maxsize=1 << 7)
def _lexed_once(text: bytes) -> tuple[bytes, tuple[Span, ...]]:
    return lex(text)

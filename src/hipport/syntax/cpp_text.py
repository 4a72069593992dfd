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

_BETWEEN = re.compile(rb"(?:\s|\\(?=\s))+")

_INCLUDE = re.compile(rb"\#[ \t]*(?:include(?:_next)?|import)\b[ \t]*(?P<path>[<\"][ \t]*[>\"])")

#: hipport's own headers begin with this text.
PUT_HERE = b"Put here by hipport."

BRACKETS = {b"(": b")", b"[": b"]", b"{": b"}"}
BRACKET = re.compile(rb"[()\[\]{}]")
_LINE = rb"[^\\\r\n]*(?:(?:%s|\\)[^\\\r\n]*)*" % SPLICE
_REST_OF_LINE = re.compile(_LINE)
_SPLICED_THERE = re.compile(SPLICE)
_BLANKS = (b" ", b"\t", b"\f", b"\v")
DIRECTIVE = re.compile(rb"\#" + _LINE)


class CppText(Lexed):
    """The text of a C or C++ file."""

    @property
    def is_hipport_header(self) -> bool:
        """Whether the file is one of hipport's helper headers, which an earlier run put there."""
        return PUT_HERE in self.text[:400]

    @cached_property
    def code(self) -> bytes:
        """The text with comments, literals and include paths blanked: same length, same line endings.

        Quotes stay, so that an argument that is a string is still an argument. Doubtful cases stay too: a lone
        apostrophe, a raw string without an end, a comment whose `//` is spliced.
        """
        return self._lexed[0]

    def quoted(self, offset: int) -> bool:
        """Whether the byte is in a string that begins on its line, or in any string that has no code before it."""
        begin = self.offset(self.position(offset)[0], 1)
        if not self.code[begin:offset].strip():
            begin = 0
        return self.code.count(b'"', begin, offset) % 2 == 1

    @cached_property
    def _lexed(self) -> tuple[bytes, tuple[Span, ...]]:
        """The code, and the comments that extend over a line end."""
        # Each program of a tree has its own copy of the helper headers, so their lexing is shared.
        return _lexed_once(self.text) if self.is_hipport_header else lex(self.text)

    @property
    def long_comments(self) -> tuple[Span, ...]:
        """The comments that extend over a line end."""
        return self._lexed[1]

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The identifiers of the code, and more: other words, and some that edits removed.

        Ask this before searching the code: most files have none of the names that a pass looks for.
        """
        return frozenset(words_of(self.code))

    def matched(self, pattern: re.Pattern[bytes]) -> AbstractSet[bytes]:
        """Return those of `words` that `pattern` matches whole."""
        return self.words & self._vocabulary.matched(pattern)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        """A vocabulary that contains all of `words`."""
        return vocabulary_with(self.words)

    def names(
        self, wanted: re.Pattern[bytes] | AbstractSet[bytes] = IDENTIFIER, behind: re.Pattern[bytes] | None = None
    ) -> Iterator[tuple[Span, bytes]]:
        """Yield the identifiers in code that are `wanted`, in order, macro bodies and inactive branches included.

        A pattern must match only identifiers, as a whole. `behind` matches the text that has to follow.
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
        """The `#include` directives with a plain path, also in inactive branches."""
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
        """The preprocessor directives, each from its `#` to the end of its last line, with all spliced lines."""
        code, long = self._lexed
        found: list[Span] = []
        for match in DIRECTIVE.finditer(code):
            start, end = match.span()
            if (found and start < found[-1].end) or not first_on_line(code, start, long):
                continue
            # A line end inside a comment does not end a directive.
            while (i := bisect_right(long, end, key=lambda span: span.start) - 1) >= 0 and end < long[i].end:
                rest = _REST_OF_LINE.match(code, long[i].end)
                end = rest.end() if rest else long[i].end
            # A splice inside a string, which is blank in the code.
            while (spliced := _SPLICED_THERE.match(self.text, self._last_of_line(end))) is not None:
                rest = _REST_OF_LINE.match(code, spliced.end())
                end = rest.end() if rest else spliced.end()
            found.append(Span(start, end))
        return tuple(found)

    def _last_of_line(self, end: int) -> int:
        """Return where the trailing blanks of a line begin, or the backslash before them."""
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
        """Return where the line of `offset` starts such that a line can be inserted before it.

        A spliced line includes its continuation, and so does a line with a comment that extends over its end.
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
        """Return the offset of the partner of the bracket at `offset`, or None; it is searched for `limit` bytes."""
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
        """Split the text between the bracket at `opening` and its partner at top-level commas.

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
        """Return the arguments in the brackets after a name that ends at `end`; None if there are none.

        White space and comments may stand before the brackets, but a directive ends with its line.
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
    """An `#include` of a plain path. `target` includes the delimiters; `directive` is the whole directive from `#`."""

    directive: Span
    target: Span
    path: str
    angled: bool


@lru_cache(maxsize=1 << 7)
def _lexed_once(text: bytes) -> tuple[bytes, tuple[Span, ...]]:
    return lex(text)

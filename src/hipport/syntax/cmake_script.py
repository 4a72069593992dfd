# SPDX-License-Identifier: Apache-2.0
"""CMake scripts: tokens that cover the whole text, commands with their arguments, and the blocks around them.

The tokens are those of CMake's lexer as cmake-language(7) of 4.1 describes them, with the unquoted arguments of old
scripts that have quotes or `$(…)` inside. Nothing is evaluated.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from hipport.core.edits import Span
from hipport.core.group import Group
from hipport.core.source import Source
from hipport.syntax.enclosing import EnclosingBlock, around

# CMake reads a line end of two characters as one.
_PLAIN = rb'(?:[^ \0\t\r\n()#"\[=\\]|\\(?!\r\n)[^\0\n])'
_MAKE = rb"\$\([A-Za-z0-9_]*\)"
_LEGACY = rb'(?:%b|%b|"(?:%b|%b|[ \t\[=])*")' % (_MAKE, _PLAIN, _MAKE, _PLAIN)
_TOKEN = re.compile(
    rb"(?P<space>[ \t\r\n]+)"
    rb"|(?P<comment>\#\[(?P<hashes>=*)\[.*?\](?P=hashes)\]|\#(?!\[=*\[)(?:[^\r\n]|\r(?!\n))*)"
    rb"|(?P<open>\()|(?P<close>\))"
    rb"|(?P<bracket>\[(?P<equals>=*)\[.*?\](?P=equals)\])"
    rb'|(?P<quoted>"(?:[^\\"\0]|\\[^\0])*")'
    rb"|(?P<unquoted>(?!\[=*\[)(?:%b|%b|=|\[=*%b)(?:%b|[\[=])*|\[(?!=*\[))"
    rb"|(?P<error>[^\n]+)" % (_MAKE, _PLAIN, _LEGACY, _LEGACY),
    re.DOTALL,
)
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(rb"\$(?P<of>|ENV|CACHE)\{(?P<name>[A-Za-z0-9/_.+-]*)\}")
# The command that ends a block, and those that begin another part of it.
_ENDS = {"if": "endif", "foreach": "endforeach", "while": "endwhile", "function": "endfunction", "macro": "endmacro"}
_ENDS["block"] = "endblock"
_ENDING = {end: begin for begin, end in _ENDS.items()}


@dataclass(frozen=True)
class Token:
    """A token: `space` (with line ends), `comment`, `open`, `close`, `bracket`, `quoted`, `unquoted` or `error`.

    The byte-order mark is space.
    """

    kind: str
    span: Span


@dataclass(frozen=True)
class Argument:
    """One argument of a command; a parenthesis among them counts as one.

    `kind` is `unquoted`, `quoted`, `bracket`, `open` or `close`; `content` is the text between the quotes or brackets.
    """

    kind: str
    span: Span
    content: Span


@dataclass(frozen=True)
class CMakeCommand:
    """A command: its name as written and in lower case, and its arguments; `span` ends after the parenthesis.

    `cmake_language(CALL name …)` is a command `name`.
    """

    name: str
    written: Span
    arguments: tuple[Argument, ...]
    span: Span
    #: The text between the parentheses.
    inner: Span


@dataclass(frozen=True)
class GeneratorExpression:
    """A generator expression `$<head:content>`; without a colon, `content` is None.

    `inside` are the expressions directly inside either part.
    """

    span: Span
    head: Span
    content: Span | None
    inside: tuple[GeneratorExpression, ...]


@dataclass(frozen=True)
class Reference:
    """A variable reference: `${name}`, or with `of` ENV or CACHE; of nested references the innermost."""

    name: str
    of: str
    span: Span


@dataclass(frozen=True)
class CMake(Source):
    """A CMakeLists.txt or .cmake file."""

    group: ClassVar[Group] = Group.BUILD
    parsed = ("tokens", "_parsed", "_blocks", "_starts", "code")

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All of the text, in order."""
        return tuple(self._tokens())

    def _tokens(self) -> Iterator[Token]:
        at = 0
        if self.beginning:
            at = self.beginning
            yield Token("space", Span(0, at))
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            # The pattern matches everything except an unterminated string or bracket, which becomes an error token.
            assert match is not None and match.lastgroup is not None
            kind = next(name for name in _KINDS if match[name] is not None)
            yield Token(kind, Span(at, match.end()))
            at = match.end()

    @cached_property
    def _parsed(self) -> tuple[tuple[CMakeCommand, ...], tuple[Span, ...]]:
        commands: list[CMakeCommand] = []
        wrong: list[Span] = []
        tokens = [token for token in self.tokens if token.kind not in ("space", "comment")]
        i = 0
        while i < len(tokens):
            name = tokens[i]
            called = i + 1 < len(tokens) and tokens[i + 1].kind == "open"
            if name.kind != "unquoted" or not called or not _NAME.fullmatch(self[name.span]):
                # The rest of the line becomes part of the error.
                line = self.position(name.span.start)[0]
                wrong.append(name.span)
                while i < len(tokens) and self.position(tokens[i].span.start)[0] == line:
                    i += 1
                continue
            if commands and b"\n" not in self.text[commands[-1].span.end : name.span.start]:
                wrong.append(name.span)
            arguments: list[Argument] = []
            depth = 1
            j = i + 2
            while j < len(tokens):
                token = tokens[j]
                depth += (token.kind == "open") - (token.kind == "close")
                if not depth:
                    break
                if token.kind == "error":
                    wrong.append(token.span)
                else:
                    arguments.append(self._argument(token))
                j += 1
            if depth:
                wrong.append(name.span)
                i += 1
                # Text that looks like the next command is one: the closing parenthesis is missing.
                while i < len(tokens) and not self._begins(tokens, i):
                    i += 1
                continue
            text = self[name.span].decode("ascii").lower()
            inner = Span(tokens[i + 1].span.end, tokens[j].span.start)
            whole = Span(name.span.start, tokens[j].span.end)
            command = CMakeCommand(text, name.span, tuple(arguments), whole, inner)
            commands.append(self._called(command) or command)
            i = j + 1
        return tuple(commands), tuple(wrong)

    def _called(self, command: CMakeCommand) -> CMakeCommand | None:
        """Return the command that `cmake_language(CALL name …)` calls."""
        if command.name != "cmake_language" or len(command.arguments) < 2:
            return None
        call, named, *arguments = command.arguments
        # A name in a variable is not known.
        if self[call.span] != b"CALL" or not _NAME.fullmatch(self[named.content]):
            return None
        inner = Span(named.span.end, command.inner.end)
        return CMakeCommand(
            self[named.content].decode("ascii").lower(), named.content, tuple(arguments), command.span, inner
        )

    def _begins(self, tokens: list[Token], i: int) -> bool:
        start = tokens[i].span.start
        line = self.text.rfind(b"\n", 0, start) + 1
        return (
            not self.text[line:start].strip()
            and _NAME.fullmatch(self[tokens[i].span]) is not None
            and i + 1 < len(tokens)
            and tokens[i + 1].kind == "open"
        )

    def _argument(self, token: Token) -> Argument:
        start, end = token.span.start, token.span.end
        if token.kind == "quoted":
            return Argument(token.kind, token.span, Span(start + 1, end - 1))
        if token.kind == "bracket":
            width = self.text.index(b"[", start + 1) + 1 - start
            return Argument(token.kind, token.span, Span(start + width, end - width))
        return Argument(token.kind, token.span, token.span)

    @property
    def commands(self) -> tuple[CMakeCommand, ...]:
        """The commands, in order."""
        return self._parsed[0]

    @cached_property
    def _blocks(self) -> tuple[dict[CMakeCommand, EnclosingBlock[CMakeCommand] | None], int]:
        innermost: dict[CMakeCommand, EnclosingBlock[CMakeCommand] | None] = {}
        block: EnclosingBlock[CMakeCommand] | None = None
        unmatched = opened = 0
        for command in self.commands:
            if command.name in _ENDING:
                if block is not None and block.first.name == _ENDING[command.name]:
                    block, opened = block.outer, opened - 1
                else:
                    unmatched += 1
            if command.name in ("elseif", "else"):
                if block is not None and block.first.name == "if":
                    innermost[command] = block.outer
                    block = EnclosingBlock(command, block.first, block, block.outer)
                else:
                    unmatched += 1
                    innermost[command] = block
                continue
            innermost[command] = block
            if command.name in _ENDS:
                block, opened = EnclosingBlock(command, command, None, block), opened + 1
        return innermost, unmatched + opened

    def block(self, command: CMakeCommand) -> EnclosingBlock[CMakeCommand] | None:
        """Return the innermost block around `command`, without one that it begins or divides."""
        return self._blocks[0][command]

    def around(self, command: CMakeCommand) -> tuple[tuple[CMakeCommand, ...], ...]:
        """Return the blocks around `command`, the outermost first.

        Each is the commands that begin it: `(if,)`, `(if, elseif)`, `(if, elseif, else)`, `(foreach,)`. A `command`
        that begins or divides a block is not inside that block.
        """
        return around(self.block(command))

    def tokens_in(self, span: Span) -> Iterator[Token]:
        """Yield the tokens in `span`, which begins and ends between tokens."""
        for token in self.tokens[bisect_left(self._starts, span.start) :]:
            if token.span.end > span.end:
                return
            yield token

    def tokens_around(self, span: Span) -> Iterator[Token]:
        """Yield the tokens that lie in `span`, in whole or in part."""
        for token in self.tokens[max(0, bisect_left(self._starts, span.start + 1) - 1) :]:
            if token.span.start >= span.end:
                return
            yield token

    def without_comments(self, span: Span) -> Iterator[Span]:
        """Yield the parts of `span` outside comments."""
        start = span.start
        for token in self.tokens_around(span):
            if token.kind == "comment":
                if start < token.span.start:
                    yield Span(start, token.span.start)
                start = token.span.end
        if start < span.end:
            yield Span(start, span.end)

    @cached_property
    def _starts(self) -> list[int]:
        return [token.span.start for token in self.tokens]

    @property
    def errors(self) -> int:
        """The number of places that CMake rejects: invalid tokens and commands, and blocks without an end."""
        return len(self._parsed[1]) + self._blocks[1]

    @cached_property
    def code(self) -> bytes:
        """The text with comments and bracket arguments blanked, in which CMake replaces nothing."""
        pieces: list[bytes] = []
        for token in self.tokens:
            blank = token.kind in ("comment", "bracket")
            pieces.append(b" " * len(token.span) if blank else self[token.span])
        return b"".join(pieces)

    def references(self, span: Span) -> Iterator[Reference]:
        """Yield the variable references in `span`, except those in comments and bracket arguments."""
        for match in _REFERENCE.finditer(self.code, span.start, span.end):
            yield Reference(match["name"].decode("ascii"), match["of"].decode("ascii"), Span(*match.span()))

    def expressions(self, span: Span) -> Iterator[GeneratorExpression]:
        """Yield the outermost generator expressions in `span`; one may extend over several arguments.

        An expression without an end is left out, but the expressions inside it are not.
        """
        return iter(_expressions(self.code, span))


_KINDS = ("space", "comment", "open", "close", "bracket", "quoted", "unquoted", "error")
_MARKER = re.compile(rb"\$<|[:>]")


def _expressions(code: bytes, span: Span) -> tuple[GeneratorExpression, ...]:
    found: list[GeneratorExpression] = []
    # For each open expression: its start, its colons, and the expressions inside.
    stack: list[tuple[int, list[int], list[GeneratorExpression]]] = []
    for match in _MARKER.finditer(code, span.start, span.end):
        if match.group() == b"$<":
            stack.append((match.start(), [], []))
        elif not stack:
            continue
        elif match.group() == b":":
            colons = stack[-1][1]
            if not colons:
                colons.append(match.start())
        else:
            start, colons, inside = stack.pop()
            head = Span(start + 2, colons[0] if colons else match.start())
            content = Span(colons[0] + 1, match.start()) if colons else None
            (stack[-1][2] if stack else found).append(
                GeneratorExpression(Span(start, match.end()), head, content, tuple(inside))
            )
    found += (each for _, _, inside in stack for each in inside)
    return tuple(found)

# SPDX-License-Identifier: Apache-2.0
"""Parse declarations of variables in shared memory: their words, declarators and alignments, but not their types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp

BLANK = rb"(?:\s|\\\r?\n)"
_TOKEN = re.compile(rb"(?P<blank>" + BLANK + rb"+)|(?P<word>[A-Za-z_](?:\w|\s*##\s*)*)|(?P<other>::|\[\[|.)", re.DOTALL)
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^()]*\))?")
_STORAGE = frozenset(b"static extern inline constexpr register thread_local __device__ __shared__".split())
_QUALIFIERS = frozenset(
    b"const volatile typename __restrict__ __restrict restrict mutable __extension__ __forceinline__".split()
)
_BUILT_IN = frozenset(
    b"unsigned signed int long short char float double bool void auto wchar_t __int128 __int64".split()
)
_TAGS = frozenset((b"struct", b"class", b"union", b"enum"))
_ALIGNING = frozenset(b"__align__ alignas __attribute__ _Alignas __declspec".split())
_ENDS_STATEMENT = frozenset(
    b"else do return case default public private protected goto break continue try using and or not".split()
)
_ALIGNED = re.compile(rb"\b(?:__)?aligned(?:__)?\s*\(")


class NotUnderstood(Exception):
    """A declaration was expected, but something else was found."""


class Alias(NamedTuple):
    """A macro that expands to `__shared__`, and perhaps to more of a declaration."""

    name: bytes
    takes: bool  # whether it takes arguments
    external: bool  # whether it contains `extern __shared__`
    typed: bool  # whether it contains the type, too


@dataclass
class SharedDeclarator:
    """One declared name: from the beginning of its `*` or name to the place of an initializer."""

    start: int
    name: Span
    end: int
    inner: bool  # in parentheses
    unbounded: bool = False  # `name[]`
    dimensions: list[Span] = field(default_factory=list)


@dataclass
class SharedDeclaration:
    """A declaration of variables in shared memory, or the part of one in a macro."""

    span: Span
    storage: list[Span]  # words to be deleted
    alignments: list[bytes]
    external: bool
    typed: bool
    declarators: list[SharedDeclarator]


def macro_around(source: Cpp, span: Span) -> re.Match[bytes] | None:
    """Return the head of the macro whose definition contains a place."""
    directive = source.directive(span.start)
    return _DEFINE.match(source.code, directive.start, directive.end) if directive else None


class _Tokens:
    """The tokens of a span of code, in order."""

    def __init__(self, code: bytes, start: int, end: int) -> None:
        self.code, self.at, self.end = code, start, end

    def peek(self) -> tuple[bytes, Span] | None:
        """Return the next token, after skipping blanks."""
        while self.at < self.end:
            match = _TOKEN.match(self.code, self.at, self.end)
            if match is None:
                return None
            if match["blank"] is None:
                text = match.group().rstrip()
                return text, Span(match.start(), match.start() + len(text))
            self.at = match.end()
        return None

    def take(self) -> tuple[bytes, Span]:
        token = self.peek()
        if token is None:
            raise NotUnderstood("it ends in the middle")
        self.at = token[1].end
        return token

    def is_next(self, *texts: bytes) -> bool:
        token = self.peek()
        return token is not None and token[0] in texts


def parse(source: Cpp, span: Span, known: frozenset[Alias]) -> SharedDeclaration:
    """Parse the declaration that contains the word at `span`."""
    code = source.code
    directive = source.directive(span.start)
    macro = macro_around(source, span)
    floor = macro.end() if macro else 0
    start = _start(source, span, floor)
    tokens = _Tokens(code, start, directive.end if directive else len(code))
    declaration = SharedDeclaration(Span(start, start), [], [], False, False, [])
    _specifiers(source, tokens, declaration, {alias.name: alias for alias in known})
    _declarators(source, tokens, declaration)
    declaration.span = Span(start, max(tokens.at, span.end))
    return declaration


def _start(source: Cpp, span: Span, floor: int) -> int:
    """Return where the specifiers that include `__shared__` begin."""
    code = source.code
    at = span.start
    for directive in source.directives:
        if directive.end <= at:
            floor = max(floor, directive.end)
        else:
            break
    while True:
        rest = code[floor:at].rstrip(b" \t\r\n\f\v\\")
        end = floor + len(rest)
        word = re.search(rb"\w+\Z", rest)
        if word is not None:
            if word.group() in _ENDS_STATEMENT or word.group().isdigit():
                return at
            at = floor + word.start()
        elif rest.endswith((b")", b"]]")):
            opening = _opening(code, end, floor)
            if opening is None:
                return at
            if rest.endswith(b"]]"):
                at = opening
                continue
            before = re.search(rb"(\w+)\s*\Z", code[floor:opening])
            if before is None or before[1] not in _ALIGNING | {b"decltype", b"typeof", b"__typeof__"}:
                return at
            at = floor + before.start()
        elif rest.endswith(b">") and not rest.endswith(b"->"):
            from hipport.executor.launches import angle

            angle_at = angle(code, end, floor)
            if angle_at is None:
                return at
            at = angle_at
        elif rest.endswith(b"::"):
            at = end - 2
        else:
            return at


def _opening(code: bytes, end: int, floor: int) -> int | None:
    depth = 0
    for at in range(end - 1, floor - 1, -1):
        if code[at] in b")]":
            depth += 1
        elif code[at] in b"([":
            depth -= 1
            if not depth:
                return at
    return None


def _specifiers(source: Cpp, tokens: _Tokens, declaration: SharedDeclaration, known: dict[bytes, Alias]) -> None:
    """Skip the text before the first declarator."""
    while (token := tokens.peek()) is not None:
        text, span = token
        if text in known:
            tokens.take()
            alias = known[text]
            if alias.takes and tokens.is_next(b"("):
                _skip(source, tokens)
            if not declaration.storage:
                # The macro's definition loses `__shared__`, so the word itself can stay.
                declaration.storage.append(Span(span.start, span.start))
            declaration.external |= alias.external
            declaration.typed |= alias.typed
        elif text in _STORAGE:
            tokens.take()
            declaration.storage.append(span)
            declaration.external |= text == b"extern"
        elif text in _ALIGNING or text == b"[[":
            tokens.take()
            end = _skip(source, tokens, span.start if text == b"[[" else None)
            _alignment(source, declaration, Span(span.start, end), text)
        elif text in _QUALIFIERS:
            tokens.take()
        elif text in _TAGS:
            tokens.take()
            _tagged(source, tokens)
            declaration.typed = True
        elif text in _BUILT_IN:
            tokens.take()
            declaration.typed = True
        elif text in (b"decltype", b"typeof", b"__typeof__"):
            tokens.take()
            _skip(source, tokens)
            declaration.typed = True
        elif text == b"::" or re.match(rb"[A-Za-z_]", text):
            if declaration.typed and text != b"::" and not _goes_on(tokens, span):
                return  # the declarator's name
            if not declaration.typed and _is_macro_call(source, span):
                tokens.take()
                _skip(source, tokens)
                continue
            _qualified(source, tokens)
            declaration.typed = True
        else:
            return


def _goes_on(tokens: _Tokens, span: Span) -> bool:
    """Say whether the word at `span` is part of the type: the beginning of a declarator follows."""
    after = _Tokens(tokens.code, span.end, tokens.end).peek()
    if after is None:
        return False
    return (bool(re.match(rb"[A-Za-z_]", after[0])) and after[0] not in _ALIGNING) or after[0] in (
        b"*",
        b"&",
        b"<",
        b"::",
    )


def _is_macro_call(source: Cpp, span: Span) -> bool:
    """Say whether `NAME (` is a macro with arguments, and not a type before a declarator in parentheses."""
    match = re.compile(rb"\s*\((\s*[*&])?").match(source.code, span.end)
    return match is not None and match[1] is None


def _qualified(source: Cpp, tokens: _Tokens) -> None:
    """Skip a name with qualifiers and template arguments."""
    if tokens.is_next(b"::"):
        tokens.take()
    while True:
        if tokens.is_next(b"template"):
            tokens.take()
        text, _ = tokens.take()
        if not re.match(rb"[A-Za-z_]", text):
            raise NotUnderstood(text.decode(errors="replace"))
        if tokens.is_next(b"<"):
            _skip_angles(source, tokens)
        if not tokens.is_next(b"::"):
            return
        tokens.take()


def _tagged(source: Cpp, tokens: _Tokens) -> None:
    """Skip `struct name`, with attributes and a body."""
    while tokens.is_next(b"[[", *_ALIGNING):
        _, span = tokens.take()
        _skip(source, tokens, span.start if source.code[span.start : span.start + 1] == b"[" else None)
    if not tokens.is_next(b"{", b":"):
        _qualified(source, tokens)
    if tokens.is_next(b":"):
        while not tokens.is_next(b"{"):
            tokens.take()
    if tokens.is_next(b"{"):
        _skip(source, tokens)


def _skip(source: Cpp, tokens: _Tokens, opening: int | None = None) -> int:
    """Skip brackets with their contents; return where they end."""
    if opening is None:
        text, span = tokens.take()
        if text not in (b"(", b"[", b"{", b"[["):
            raise NotUnderstood(text.decode(errors="replace"))
        opening = span.start
    closing = source.closing(opening)
    if closing is None:
        raise NotUnderstood("a bracket is not closed")
    tokens.at = closing + 1
    return closing + 1


def _skip_angles(source: Cpp, tokens: _Tokens) -> None:
    depth = 0
    while True:
        text, span = tokens.take()
        if text in (b"(", b"[", b"{", b"[["):
            _skip(source, tokens, span.start)
        elif text == b"<":
            if tokens.code[span.end : span.end + 1] == b"<":
                tokens.at += 1  # a shift
            else:
                depth += 1
        elif text == b">":
            depth -= 1
            if not depth:
                return
        elif text == b";":
            raise NotUnderstood("template arguments do not end")


def _alignment(source: Cpp, declaration: SharedDeclaration, span: Span, word: bytes) -> None:
    """Remove an alignment from the declaration, and remember it."""
    text = source[span]
    if word in (b"__align__", b"alignas", b"_Alignas"):
        value = text[text.index(b"(") + 1 : -1]
    else:
        match = _ALIGNED.search(text) or re.search(rb"\balignas\s*\(", text)
        if match is None:
            declaration.storage.append(span)
            return
        closing = source.closing(span.start + match.end() - 1)
        value = text[match.end() : closing - span.start] if closing else b""
    if value:
        declaration.alignments.append(b"alignof(" + value + b")" if _is_type(value) else value)
    declaration.storage.append(span)


def _is_type(text: bytes) -> bool:
    return bool(re.fullmatch(rb"\s*(?:(?:unsigned|signed|int|long|short|char|float|double|\w*\d_t)\s*)+", text))


def _declarators(source: Cpp, tokens: _Tokens, declaration: SharedDeclaration) -> None:
    while (token := tokens.peek()) is not None:
        if token[0] == b";":
            tokens.take()
            return
        at = tokens.at
        found = _declarator(source, tokens, declaration)
        if tokens.is_next(b")"):
            # A parameter, or a cast: only the word itself is removed.
            declaration.declarators.clear()
            tokens.at = at
            return
        if found is None:
            raise NotUnderstood("its name is not seen")
        declaration.declarators.append(found)
        if tokens.is_next(b"=", b"{"):
            _initializer(source, tokens)
        if tokens.is_next(b","):
            tokens.take()
        elif not tokens.is_next(b";", b")") and (token := tokens.peek()) is not None:
            raise NotUnderstood(f"{token[0].decode(errors='replace')} behind its name")


def _declarator(source: Cpp, tokens: _Tokens, declaration: SharedDeclaration) -> SharedDeclarator | None:
    found: SharedDeclarator | None = None
    start = None
    depth = 0
    while (token := tokens.peek()) is not None:
        text, span = token
        start = span.start if start is None else start
        if text in (b"*", b"&", *_QUALIFIERS):
            tokens.take()
        elif text in _ALIGNING or text == b"[[":
            tokens.take()
            end = _skip(source, tokens, span.start if text == b"[[" else None)
            _alignment(source, declaration, Span(span.start, end), text)
        elif text == b"(" and found is None:
            tokens.take()
            depth += 1
        elif text == b"(" and found is not None and found.inner:
            _skip(source, tokens)  # a pointer to functions
            found.end = tokens.at
        elif text == b"[" and found is not None:
            end = _skip(source, tokens)
            if not source.code[span.start + 1 : end - 1].strip(b" \t\r\n\\") and not found.dimensions:
                found.unbounded = True
            found.dimensions.append(Span(span.start, end))
            found.end = end
        elif text == b")" and depth:
            tokens.take()
            depth -= 1
            if found is None:
                return None
            found.end = span.end
        elif found is None and re.match(rb"[A-Za-z_]", text):
            tokens.take()
            found = SharedDeclarator(start, span, span.end, depth > 0)
        else:
            break
    return None if depth else found


def _initializer(source: Cpp, tokens: _Tokens) -> None:
    while (token := tokens.peek()) is not None and token[0] not in (b",", b";"):
        tokens.take()
        if token[0] in (b"(", b"{", b"[", b"[["):
            _skip(source, tokens, token[1].start)

# SPDX-License-Identifier: Apache-2.0
"""Give `__shared__` variables a place in the block that runs: `__shared__ int a[8], n;` → references to it.

A declarator `D(name)` becomes `D((&name)) = SIMT_SHARED("name")`, whatever stands around the name, so that arrays,
pointers and types defined in place all work; types are not read. `extern` arrays become references to the dynamic
shared memory of the launch, outside of functions thread-local pointers that every block sets.

Words that a program defines as `__shared__` count as it. In CUDA a lambda does not capture these variables, which are
static; a reference is captured, and by copy is copied: lambdas by copy that use one get it by reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.declarations import heads, member_or_qualified

_SHARED = re.compile(rb"__shared__")
_BLANK = rb"(?:\s|\\\r?\n)"
_TOKEN = re.compile(
    rb"(?P<blank>" + _BLANK + rb"+)|(?P<word>[A-Za-z_](?:\w|\s*##\s*)*)|(?P<other>::|\[\[|.)", re.DOTALL
)
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
_LAMBDA_HEAD = re.compile(
    rb"\[(?P<captures>[^\[\]{};]*)\](?=" + _BLANK + rb"*(?:\(|\{|<|__device__|__host__|mutable\b))"
)
_CAPTURED = re.compile(rb"\s*(?:=|this|\*\s*this|&?\s*[A-Za-z_]\w*(?:\s*=.*|\s*\.\.\.)?)\s*", re.DOTALL)


class _NotUnderstood(Exception):
    """Something else stands where a declaration is expected."""


class Alias(NamedTuple):
    """A macro that stands for `__shared__`, and perhaps for more of a declaration."""

    name: bytes
    takes: bool  # arguments
    external: bool  # `extern __shared__`
    typed: bool  # the type is in it, too


@dataclass
class _Declarator:
    """One name that is declared: from where its `*` or name begins, to where an initializer would."""

    start: int
    name: Span
    end: int
    inner: bool  # in parentheses
    unbounded: bool = False  # `name[]`
    dimensions: list[Span] = field(default_factory=list)


@dataclass
class _Declaration:
    """A declaration of variables in shared memory, or as much of one as a macro has."""

    span: Span
    storage: list[Span]  # words that go
    alignments: list[bytes]
    external: bool
    typed: bool
    declarators: list[_Declarator]


#: PyTorch's name for the lanes of a wavefront: a constant there, but one build runs at 32 and 64 lanes.
_WAVEFRONT = re.compile(rb"\bC10_WARP_SIZE\b")


def aliases(source: Cpp) -> frozenset[Alias]:
    """Return the macros of this file that stand for `__shared__` and, at most, the type."""
    found = set()
    for span, _ in source.names(_SHARED) if b"__shared__" in source.text else ():
        macro = _macro(source, span)
        if macro is None or macro.start("name") == span.start:
            continue
        try:
            declaration = _parse(source, span, frozenset())
        except _NotUnderstood:
            continue
        if not declaration.declarators:
            found.add(Alias(macro["name"], bool(macro["parameters"]), declaration.external, declaration.typed))
    return frozenset(found)


def _macro(source: Cpp, span: Span) -> re.Match[bytes] | None:
    directive = source.directive(span.start)
    return _DEFINE.match(source.code, directive.start, directive.end) if directive else None


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per declaration of shared memory, and per lambda that would copy some."""
    known = project.union_over(source, aliases)
    names = {alias.name for alias in known}
    if b"__shared__" not in source.code and not any(name in source.code for name in names):
        return
    pattern = re.compile(b"|".join([rb"__shared__", *map(re.escape, sorted(names, key=len, reverse=True))]))
    local: list[tuple[bytes, Span]] = []
    done = 0
    for span, word in source.names(pattern):
        if span.start < done:
            continue
        directive = source.directive(span.start)
        macro = _macro(source, span)
        if directive is not None and (macro is None or macro.start("name") == span.start):
            continue  # `#ifdef __shared__`, `#define __shared__`
        try:
            declaration = _parse(source, span, known)
        except _NotUnderstood as problem:
            message = f"hipport does not understand this declaration in shared memory: {problem}"
            yield Finding(span, "unknown", message, certainty=Certainty.MANUAL)
            continue
        done = declaration.span.end
        if not declaration.declarators:
            # A macro for `__shared__`, whose uses are found; or a parameter, whose type this is no part of.
            edits = [Edit(each, _kept_lines(source, each)) for each in declaration.storage]
            if word == b"__shared__":
                yield Finding(span, "word", "not part of the type", tuple(edits))
            continue
        inside = macro is not None or _in_function(source, span.start)
        if inside:
            yield _references(source, span, declaration)
            scope = _scope(source, span.start)
            local += (
                (source[d.name], Span(declaration.span.end, max(scope, declaration.span.end)))
                for d in declaration.declarators
            )
        else:
            yield _outside(source, span, declaration)
    yield from _captures(source, local)


def _references(source: Cpp, span: Span, declaration: _Declaration) -> Finding:
    """In a function: every variable is a reference to its place in the block."""
    edits = [Edit(each, _kept_lines(source, each)) for each in declaration.storage]
    for each in declaration.declarators:
        name = b'"' + source[each.name] + b'"'
        if declaration.external:
            place = b"SIMT_DYNAMIC_PLACE"
        elif declaration.alignments:
            place = b"SIMT_SHARED_ALIGNED(" + name + b", " + b", ".join(declaration.alignments) + b")"
        else:
            place = b"SIMT_SHARED(" + name + b")"
        edits += (
            Edit(Span(each.name.start, each.name.start), b"(&"),
            *_after(each, b")", b" = " + place),
            *(
                Edit(Span(*match.span()), b"SIMT_C10_WARP_SIZE_BOUND")
                for match in _WAVEFRONT.finditer(source.code, each.name.end, each.end)
            ),
        )
    names = ", ".join(source[each.name].decode(errors="replace") for each in declaration.declarators)
    return Finding(span, "extern" if declaration.external else "variable", f"{names} in the block", tuple(edits))


def _after(each: _Declarator, closing: bytes, place: bytes) -> Iterable[Edit]:
    if each.name.end == each.end:
        return (Edit(Span(each.end, each.end), closing + place),)
    return Edit(Span(each.name.end, each.name.end), closing), Edit(Span(each.end, each.end), place)


def _outside(source: Cpp, span: Span, declaration: _Declaration) -> Finding:
    """At file scope: thread-local, as a block stays on one thread of the operating system."""
    edits = [Edit(each, _kept_lines(source, each)) for each in declaration.storage]
    first = declaration.storage[0]
    edits.remove(Edit(first, _kept_lines(source, first)))
    edits.append(Edit(first, b"static __thread" + _kept_lines(source, first)))
    registered = b""
    for each in declaration.declarators:
        name = source[each.name]
        if declaration.external:
            edits += _addresses(source, name)
        if declaration.external:
            if not each.unbounded:
                return Finding(
                    span,
                    "extern",
                    "an extern __shared__ variable outside of functions that is not an array without a size",
                    certainty=Certainty.MANUAL,
                )
            opening = source.code.index(b"[", each.name.end)
            closing = source.closing(opening)
            assert closing is not None
            edits += (
                Edit(Span(each.name.start, each.name.start), b"(*"),
                Edit(Span(opening, closing + 1), b")"),
            )
            registered += b" SIMT_DYNAMIC_SETS(" + name + b");"
        else:
            registered += b" SIMT_SHARED_OUTSIDE(" + name + b");"
    end = declaration.span.end
    edits.append(Edit(Span(end, end), registered))
    names = ", ".join(source[each.name].decode(errors="replace") for each in declaration.declarators)
    return Finding(span, "outside", f"{names} in the block", tuple(edits))


def _addresses(source: Cpp, name: bytes) -> Iterator[Edit]:
    """The address of an array is that of its first element; that of the pointer in its place is another."""
    for match in re.finditer(rb"&\s*(?=" + re.escape(name) + rb"\s*[^\s\w\[.(])", source.code):
        before = source.code[: match.start()].rstrip()
        if not before.endswith((b"&", b"]")) and not re.search(rb"(?<!return)(?<!\breturn)\w\Z", before):
            # Behind a closing parenthesis is a cast, or an operand: only the first is asked for by a pointer.
            yield Edit(Span(match.end(), match.end()), b"*")


def _kept_lines(source: Cpp, span: Span) -> bytes:
    """Return the line ends of deleted text."""
    return b"".join(re.findall(rb"\\?\r?\n", source[span]))


def _in_function(source: Cpp, offset: int) -> bool:
    """Say whether a function's body is around `offset`: parameters, of which directives may hide some, tell it."""
    for head in heads(source, offset):
        text = source.code[head.start : head.end]
        if b"(" in text or b")" in text or text.rstrip().endswith((b"else", b"do", b"try", b"]")):
            return True
    return False


def _scope(source: Cpp, offset: int) -> int:
    """Return where the block ends that `offset` is in."""
    depth = 0
    for match in re.compile(rb"[{}]").finditer(source.code, offset):
        if match.group() == b"{":
            depth += 1
        elif not depth:
            return match.start()
        else:
            depth -= 1
    return len(source.code)


# ------------------------------------------------------------------------------------------------------ declarations


class _Tokens:
    """The tokens of a stretch of code, one after the other."""

    def __init__(self, code: bytes, start: int, end: int) -> None:
        self.code, self.at, self.end = code, start, end

    def peek(self) -> tuple[bytes, Span] | None:
        """Return the next token, and step over the blanks in front of it."""
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
            raise _NotUnderstood("it ends in the middle")
        self.at = token[1].end
        return token

    def is_next(self, *texts: bytes) -> bool:
        token = self.peek()
        return token is not None and token[0] in texts


def _parse(source: Cpp, span: Span, known: frozenset[Alias]) -> _Declaration:
    """Read the declaration that the word at `span` is part of."""
    code = source.code
    directive = source.directive(span.start)
    macro = _macro(source, span)
    floor = macro.end() if macro else 0
    start = _start(source, span, floor)
    tokens = _Tokens(code, start, directive.end if directive else len(code))
    declaration = _Declaration(Span(start, start), [], [], False, False, [])
    _specifiers(source, tokens, declaration, {alias.name: alias for alias in known})
    _declarators(source, tokens, declaration)
    declaration.span = Span(start, max(tokens.at, span.end))
    return declaration


def _start(source: Cpp, span: Span, floor: int) -> int:
    """Return where the specifiers begin that `__shared__` is one of."""
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


def _specifiers(source: Cpp, tokens: _Tokens, declaration: _Declaration, known: dict[bytes, Alias]) -> None:
    """Step over what stands in front of the first declarator."""
    while (token := tokens.peek()) is not None:
        text, span = token
        if text in known:
            tokens.take()
            alias = known[text]
            if alias.takes and tokens.is_next(b"("):
                _skip(source, tokens)
            if not declaration.storage:
                # What it stood for is gone from its definition; the word itself harms nothing.
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
    """Say whether the word at `span` is still part of the type: something that a declarator begins with follows."""
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
    """Step over a name with qualifiers and template arguments."""
    if tokens.is_next(b"::"):
        tokens.take()
    while True:
        if tokens.is_next(b"template"):
            tokens.take()
        text, _ = tokens.take()
        if not re.match(rb"[A-Za-z_]", text):
            raise _NotUnderstood(text.decode(errors="replace"))
        if tokens.is_next(b"<"):
            _skip_angles(source, tokens)
        if not tokens.is_next(b"::"):
            return
        tokens.take()


def _tagged(source: Cpp, tokens: _Tokens) -> None:
    """Step over `struct name`, with attributes and a body."""
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
    """Step over brackets and what is in them; returns where that ends."""
    if opening is None:
        text, span = tokens.take()
        if text not in (b"(", b"[", b"{", b"[["):
            raise _NotUnderstood(text.decode(errors="replace"))
        opening = span.start
    closing = source.closing(opening)
    if closing is None:
        raise _NotUnderstood("a bracket is not closed")
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
            raise _NotUnderstood("template arguments do not end")


def _alignment(source: Cpp, declaration: _Declaration, span: Span, word: bytes) -> None:
    """Take an alignment out of the declaration, and keep what it says."""
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


def _declarators(source: Cpp, tokens: _Tokens, declaration: _Declaration) -> None:
    while (token := tokens.peek()) is not None:
        if token[0] == b";":
            tokens.take()
            return
        at = tokens.at
        found = _declarator(source, tokens, declaration)
        if tokens.is_next(b")"):
            # A parameter, or a cast: only the word is too much.
            declaration.declarators.clear()
            tokens.at = at
            return
        if found is None:
            raise _NotUnderstood("its name was not found")
        declaration.declarators.append(found)
        if tokens.is_next(b"=", b"{"):
            _initializer(source, tokens)
        if tokens.is_next(b","):
            tokens.take()
        elif not tokens.is_next(b";", b")") and (token := tokens.peek()) is not None:
            raise _NotUnderstood(f"{token[0].decode(errors='replace')} after its name")


def _declarator(source: Cpp, tokens: _Tokens, declaration: _Declaration) -> _Declarator | None:
    found: _Declarator | None = None
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
            found = _Declarator(start, span, span.end, depth > 0)
        else:
            break
    return None if depth else found


def _initializer(source: Cpp, tokens: _Tokens) -> None:
    while (token := tokens.peek()) is not None and token[0] not in (b",", b";"):
        tokens.take()
        if token[0] in (b"(", b"{", b"[", b"[["):
            _skip(source, tokens, token[1].start)


# ----------------------------------------------------------------------------------------------------------- lambdas


def _captures(source: Cpp, local: list[tuple[bytes, Span]]) -> Iterator[Finding]:
    """Have lambdas that would copy a variable of the block, or lack it, refer to it."""
    if not local:
        return
    code = source.code
    scopes = [scope for _, scope in local]
    for match in _LAMBDA_HEAD.finditer(code, min(scope.start for scope in scopes), max(scope.end for scope in scopes)):
        before = code[: match.start()].rstrip()[-1:]
        captures = match["captures"]
        if (
            before.isalnum()
            or before in (b"_", b"]", b")")
            or captures.strip().startswith(b"&")
            or not all(_CAPTURED.fullmatch(each) for each in captures.split(b",") if captures.strip())
        ):
            continue
        body = re.compile(rb"[^;{}]*\{").match(code, match.end())
        end = source.closing(body.end() - 1) if body else None
        if body is None or end is None:
            continue
        has = {re.sub(rb"[\s&]|=.*", b"", each) for each in captures.split(b",")}
        used = [
            name
            for name in dict.fromkeys(name for name, scope in local if scope.start <= match.start() < scope.end)
            if name not in has
            and any(
                not member_or_qualified(code, use.start())
                for use in re.finditer(rb"(?<!\w)" + re.escape(name) + rb"(?!\w)", code[body.end() : end])
                if not re.search(rb"(?:\.|->)\s*\Z", code[body.end() + use.start() - 8 : body.end() + use.start()])
            )
        ]
        if used:
            place = match.end("captures")
            new = (b", " if captures.strip() else b"") + b", ".join(b"&" + name for name in used)
            yield Finding(
                Span(match.start(), match.end()), "captured", "by reference", (Edit(Span(place, place), new),)
            )


PASS = Pass(Cpp, find)

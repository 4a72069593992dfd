# SPDX-License-Identifier: Apache-2.0
"""Give `__shared__` variables a place in the running block: `__shared__ int a[8], n;` → references to it.

A declarator `D(name)` becomes `D((&name)) = SIMT_SHARED("name")`, whatever stands around the name, so that arrays,
pointers and types defined in place all work; types are not parsed. `extern` arrays become references to the dynamic
shared memory of the launch; outside functions, thread-local pointers that every block sets.

Macros that expand to `__shared__` count as it. In CUDA a lambda does not capture these variables, because they are
static; a reference is captured, and a capture by copy copies the object: such lambdas capture it by reference instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.executor.shared_declarations import (
    BLANK,
    Alias,
    NotUnderstood,
    SharedDeclaration,
    SharedDeclarator,
    macro_around,
    parse,
)
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.declarations import heads, member_or_qualified

_SHARED = re.compile(rb"__shared__")
_LAMBDA_HEAD = re.compile(
    rb"\[(?P<captures>[^\[\]{};]*)\](?=" + BLANK + rb"*(?:\(|\{|<|__device__|__host__|mutable\b))"
)
_CAPTURED = re.compile(rb"\s*(?:=|this|\*\s*this|&?\s*[A-Za-z_]\w*(?:\s*=.*|\s*\.\.\.)?)\s*", re.DOTALL)


#: PyTorch's name for the wavefront size: a constant there, but one build runs with 32 and 64 lanes.
_WAVEFRONT = re.compile(rb"\bC10_WARP_SIZE\b")


def aliases(source: Cpp) -> frozenset[Alias]:
    """Return the macros of this file that expand to `__shared__` and, at most, a type."""
    found = set()
    for span, _ in source.names(_SHARED) if b"__shared__" in source.text else ():
        macro = macro_around(source, span)
        if macro is None or macro.start("name") == span.start:
            continue
        try:
            declaration = parse(source, span, frozenset())
        except NotUnderstood:
            continue
        if not declaration.declarators:
            found.add(Alias(macro["name"], bool(macro["parameters"]), declaration.external, declaration.typed))
    return frozenset(found)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each declaration of shared memory, and for each lambda that would copy shared memory."""
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
        macro = macro_around(source, span)
        if directive is not None and (macro is None or macro.start("name") == span.start):
            continue  # `#ifdef __shared__`, `#define __shared__`
        try:
            declaration = parse(source, span, known)
        except NotUnderstood as problem:
            message = f"hipport does not understand this declaration in shared memory: {problem}"
            yield Finding(span, "unknown", message, certainty=Certainty.MANUAL)
            continue
        done = declaration.span.end
        if not declaration.declarators:
            # A macro for `__shared__`, whose uses are found; or a parameter, whose type does not include it.
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


def _references(source: Cpp, span: Span, declaration: SharedDeclaration) -> Finding:
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


def _after(each: SharedDeclarator, closing: bytes, place: bytes) -> Iterable[Edit]:
    if each.name.end == each.end:
        return (Edit(Span(each.end, each.end), closing + place),)
    return Edit(Span(each.name.end, each.name.end), closing), Edit(Span(each.end, each.end), place)


def _outside(source: Cpp, span: Span, declaration: SharedDeclaration) -> Finding:
    """At file scope: thread-local, because a block stays on one thread of the operating system."""
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
    """The address of an array equals that of its first element; the address of the pointer in its place does not."""
    for match in re.finditer(rb"&\s*(?=" + re.escape(name) + rb"\s*[^\s\w\[.(])", source.code):
        before = source.code[: match.start()].rstrip()
        if not before.endswith((b"&", b"]")) and not re.search(rb"(?<!return)(?<!\breturn)\w\Z", before):
            # A closing parenthesis before it ends a cast or an operand: only a cast takes the address.
            yield Edit(Span(match.end(), match.end()), b"*")


def _kept_lines(source: Cpp, span: Span) -> bytes:
    """Return the line ends in deleted text, so that lines keep their numbers."""
    return b"".join(re.findall(rb"\\?\r?\n", source[span]))


def _in_function(source: Cpp, offset: int) -> bool:
    """Say whether a function's body is around `offset`, by its parameters, some of which directives may hide."""
    for head in heads(source, offset):
        text = source.code[head.start : head.end]
        if b"(" in text or b")" in text or text.rstrip().endswith((b"else", b"do", b"try", b"]")):
            return True
    return False


def _scope(source: Cpp, offset: int) -> int:
    """Return where the block around `offset` ends."""
    depth = 0
    for match in re.compile(rb"[{}]").finditer(source.code, offset):
        if match.group() == b"{":
            depth += 1
        elif not depth:
            return match.start()
        else:
            depth -= 1
    return len(source.code)


def _captures(source: Cpp, local: list[tuple[bytes, Span]]) -> Iterator[Finding]:
    """Make lambdas refer to a shared variable that they would copy, or not capture."""
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

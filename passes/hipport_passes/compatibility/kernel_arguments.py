# SPDX-License-Identifier: Apache-2.0
"""Cast kernels to `const void*` and pointers to `void**` where HIP declares no template, and mark symbols.

CUDA's runtime header overloads the functions that take a kernel, or a device symbol, with templates that do the cast.
HIP's header overloads only some of them, so `hipFuncSetAttribute(kernel, …)` does not compile. The inserted cast is
the one in CUDA's template. `HIP_SYMBOL` is the documented form; for AMD it expands to the symbol itself, and where HIP
has no template for symbols either, its address is taken. Some functions read from a pointer, but take it without the
`const` of CUDA's declaration (copies from the host by the driver API): a pointer that is declared `const` is cast.
Others take an enumeration or an integer of another name with the same values; the argument is cast as well. Runs after
`api_names`: the calls are HIP's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

_CAST = NAMES.compile(
    rb"\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*(?:const\s*)?\)|(?&casts)\b|(?:nullptr|(?&null)|0)\s*$"
)
_NAME = re.compile(rb"&?\s*(?:::\s*)?[A-Za-z_]\w*(?:\s*::\s*(?:template\s+)?[A-Za-z_]\w*)*\s*")
_VOID = NAMES.compile(rb"\(\s*void\s*\*\s*\*\s*\)|(?&casts)\b")
# ONLY_FOR_HIP((void *)) kernel: a macro of the program that contains the cast.
_MACRO_CASTS = re.compile(rb"\w+\s*\(\s*\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)\s*\)\s*&?\s*[A-Za-z_]")
_PLACE = re.compile(rb"&?\s*[A-Za-z_]\w*(?:\s*(?:\.|->|::)\s*\w+|\s*\[[^\[\]]*\])*")
# cudaLaunchKernel<void(int*)>(kernel, …)
_TYPED = re.compile(rb"\s*<(?!<)[^;{}]*>\s*\(")
# const T *p, T const *p, and pointers to such.
_CONST_POINTER = NAMES.composed(
    rb"(?:\bconst\s+(?:struct\s+)?[\w:]+(?:\s*<[^<>;(){}]*>)?|[\w:>]\s+const)"
    rb"\s*\*(?:\s*(?:\*|const\b|(?&restrict)\b))*\s*%s\b"
)
_HELD = NAMES.compile(rb"(?P<of>.*[^\s])\s*\.\s*(?P<what>(?&texts))\s*\(\s*\)", re.DOTALL)
_CONST_CONTAINER = rb"\bconst\s+[\w:]+(?:\s*<[\w:\s,*]*(?:<[\w:\s,*]*>)?[\w:\s,*]*>)?\s*&?\s*%s\b"
_SYMBOL = re.compile(rb"(?:::\s*)?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*")


@cache
def _table() -> tuple[frozenset[bytes], dict[str, dict[bytes, int]], dict[str, dict[bytes, list[tuple[int, str]]]]]:
    rows = load(Path(__file__).with_suffix(".toml"))
    groups = {group: {name.encode(): int(index) for name, index in rows[group].items()} for group in _FIXES}
    casts = {
        group: {
            name.encode(): [(int(row["index"]), row["type"]) for row in (found if isinstance(found, list) else [found])]
            for name, found in rows[group].items()
        }
        for group in _CASTS
    }
    names = frozenset(name for group in groups.values() for name in group)
    return names | {name for group in casts.values() for name in group}, groups, casts


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per kernel or pointer that needs a cast and per symbol that needs its macro or its address."""
    if b"hip" not in source.text:
        return
    functions, groups, casts = _table()
    for span, name in source.names(functions):
        if source.ported(span.start):
            continue
        opening = re.compile(rb"\s*\(").match(source.code, span.end)
        arguments = source.arguments(opening.end() - 1) if opening else None
        if name in groups["kernel"] and _TYPED.match(source.code, span.end):
            yield Finding(
                span,
                "typed",
                f"{name.decode()} is not a template in HIP: without the type in <>, pass (const "
                "void*)static_cast<void (*)(…)>(kernel)",
                certainty=Certainty.MANUAL,
            )
        if arguments is None:
            continue
        for group, names in groups.items():
            index = names.get(name, len(arguments))
            if index < len(arguments) and len(arguments[index]):
                yield from _FIXES[group](source, name, arguments, index)
        for group, rows in casts.items():
            for index, wanted in rows.get(name, ()):
                if index < len(arguments) and len(arguments[index]):
                    yield from _CASTS[group](source, name, arguments, index, wanted)


def _kernel(source: Cpp, name: bytes, arguments: tuple[Span, ...], index: int) -> Iterator[Finding]:
    argument, rest = arguments[index], Span(arguments[index].start, arguments[-1].end)
    text = source.code[argument.start : rest.end]
    if _CAST.match(source.code, argument.start, argument.end) or _MACRO_CASTS.match(text):
        return
    bracketed = text.startswith(b"(") and source.closing(argument.start) == argument.end - 1
    end = len(argument) if bracketed else _primary(text)
    following = text[end:].lstrip()[:1] if end is not None else b""
    # A macro's parameter may be any expression, so it needs parentheses.
    if end is not None and following in (b",", b"", b")") and not source.directive(argument.start):
        edits: tuple[Edit, ...] = (Edit(Span(argument.start, argument.start), b"(const void*)"),)
    elif b"<" in source.code[argument.start : argument.end]:
        # An expression with template arguments: their commas cannot be distinguished from those of the call.
        yield Finding(
            argument,
            "kernel",
            f"{name.decode()} takes a const void*: cast the kernel by hand, (const void*)(…)",
            certainty=Certainty.MANUAL,
        )
        return
    else:
        edits = (
            Edit(Span(argument.start, argument.start), b"(const void*)("),
            Edit(Span(argument.end, argument.end), b")"),
        )
    yield Finding(argument, "kernel", f"{name.decode()} takes a const void*: cast the kernel", edits)


def _primary(text: bytes) -> int | None:
    """Return the end of the name, with template arguments, at the beginning of `text`."""
    match = _NAME.match(text)
    if match is None:
        return None
    end = match.end()
    if text[end : end + 1] != b"<":
        return end
    depth = 0
    brackets = 0
    for i in range(end, len(text)):
        byte = text[i : i + 1]
        if byte in b"([{":
            brackets += 1
        elif byte in b")]}":
            brackets -= 1
            if brackets < 0:
                return None
        elif brackets:
            continue
        elif byte == b"<":
            depth += 1
        elif byte == b">":
            depth -= 1
            if not depth:
                return i + 1
        elif byte == b";":
            return None
    return None


def _symbol(source: Cpp, name: bytes, arguments: tuple[Span, ...], index: int) -> Iterator[Finding]:
    argument = arguments[index]
    text = source[argument]
    if text.startswith((b'"', b"'")):
        yield Finding(
            argument,
            "symbol_name",
            f"{name.decode()} takes the symbol itself, not its name in a string (as CUDA since 5.0)",
            certainty=Certainty.MANUAL,
        )
    elif source.path.suffix == ".c":
        return  # In C the function takes an address, as CUDA's does, and HIP's headers define the macro for C++ only.
    elif _SYMBOL.fullmatch(text) and text != b"HIP_SYMBOL":
        wrapped = (
            Edit(Span(argument.start, argument.start), b"HIP_SYMBOL("),
            Edit(Span(argument.end, argument.end), b")"),
        )
        yield Finding(argument, "symbol", f"{name.decode()} takes HIP_SYMBOL(symbol)", wrapped)


def _pointer(source: Cpp, name: bytes, arguments: tuple[Span, ...], index: int) -> Iterator[Finding]:
    argument = arguments[index]
    if _CAST.match(source.code, argument.start, argument.end) or _VOID.match(source.code, argument.start):
        return
    place = _PLACE.fullmatch(source.code, argument.start, argument.end) and not source.directive(argument.start)
    edits = [Edit(Span(argument.start, argument.start), b"(void**)" if place else b"(void**)(")]
    if not place:
        edits.append(Edit(Span(argument.end, argument.end), b")"))
    yield Finding(argument, "pointer", f"{name.decode()} takes a void**: cast the pointer", tuple(edits))


def _constant(source: Cpp, name: bytes, arguments: tuple[Span, ...], index: int, wanted: str) -> Iterator[Finding]:
    argument = arguments[index]
    text = source.code[argument.start : argument.end]
    place = _PLACE.match(text)
    if _CAST.match(text) or place is None or text.startswith(b"&"):
        return
    pointer = re.split(rb"\W+", place.group())[-1]
    constant = re.search(_CONST_POINTER % re.escape(pointer), source.code)
    # A pointer into a constant container, or to the text of a string.
    held = _HELD.fullmatch(text)
    if held is not None and held["what"] == b"data":
        held = held if re.search(_CONST_CONTAINER % re.escape(held["of"]), source.code) else None
    if constant is None and held is None:
        return
    message = f"{name.decode()} takes {wanted}, and reads from it: cast the pointer"
    yield Finding(argument, "constant", message, _cast(source, argument, wanted))


def _typed(source: Cpp, name: bytes, arguments: tuple[Span, ...], index: int, wanted: str) -> Iterator[Finding]:
    argument = arguments[index]
    if b"".join(source.code[argument.start : argument.end].split()).startswith(
        b"(%b)" % b"".join(wanted.encode().split())
    ):
        return
    message = f"{name.decode()} takes {wanted}, with the same values: cast the argument"
    yield Finding(argument, "type", message, _cast(source, argument, wanted))


def _cast(source: Cpp, argument: Span, wanted: str) -> tuple[Edit, ...]:
    """Return the edits that cast an argument, with parentheses around it if it is not a simple name."""
    cast = f"({wanted})".encode()
    if _PLACE.fullmatch(source.code, argument.start, argument.end) and not source.directive(argument.start):
        return (Edit(Span(argument.start, argument.start), cast),)
    return Edit(Span(argument.start, argument.start), cast + b"("), Edit(Span(argument.end, argument.end), b")")


def _symbol_address(source: Cpp, name: bytes, arguments: tuple[Span, ...], index: int) -> Iterator[Finding]:
    argument = arguments[index]
    if _SYMBOL.fullmatch(source.code, argument.start, argument.end) and source[argument] not in (b"nullptr", b"NULL"):
        edit = Edit(Span(argument.start, argument.start), b"&")
        yield Finding(argument, "symbol_address", f"{name.decode()} takes the address of the symbol", (edit,))


#: The rows of these have the type to cast to.
_CASTS: dict[str, Callable[[Cpp, bytes, tuple[Span, ...], int, str], Iterator[Finding]]] = {
    "constant": _constant,
    "typed": _typed,
}

_FIXES: dict[str, Callable[[Cpp, bytes, tuple[Span, ...], int], Iterator[Finding]]] = {
    "kernel": _kernel,
    "symbol": _symbol,
    "pointer": _pointer,
    "symbol_address": _symbol_address,
}

PASS = Pass(Cpp, find)

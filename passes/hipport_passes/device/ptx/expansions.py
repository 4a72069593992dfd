# SPDX-License-Identifier: Apache-2.0
"""Expand macros at their uses, like the preprocessor: with strings and pasted names.

    expand(b"ADD(d, x[0], 1)", definitions(files), {b"ADD", b"TWO"})  # b'asm("add.u32 %0, %1, 1;" : …)'

Only the requested macros are replaced, and their arguments where they are names of macros. A macro with two
definitions, or with a use that does not fit its definition, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from hipport.analysis.build_defaults import with_defaults
from hipport.syntax.cpp import Cpp
from hipport.syntax.lexing import SPLICE

_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^()]*\))?", re.DOTALL)
_SPLICE = re.compile(SPLICE)
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")
_TOKEN = re.compile(
    rb'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|(?P<word>[A-Za-z_]\w*)|\.?\d(?:[eEpP][+-]|[\w.])*|##|\s+|.', re.DOTALL
)
_PASTE = re.compile(rb"\s*##\s*")
#: The largest size of an expansion in bytes, and the greatest depth of macros that use each other.
_MOST, _DEEPEST = 1 << 16, 16


class Unexpanded(Exception):
    """The expansion of a text is not known. The message gives the reason."""


class AsmMacro(NamedTuple):
    """A macro: the names of its parameters, None without parentheses, and its text."""

    parameters: tuple[bytes, ...] | None
    text: bytes


def definitions(files: Iterable[Cpp]) -> Mapping[bytes, AsmMacro | None]:
    """Return the macros of the files that HIP sees; None for those with several definitions, or with a default."""
    return {name: each[0] if len(each) == 1 else None for name, each in choices(files).items()}


def choices(files: Iterable[Cpp]) -> Mapping[bytes, tuple[AsmMacro, ...]]:
    """Return the definitions that HIP sees of each macro, such as those in two branches; none if it has a default."""
    found: dict[bytes, dict[AsmMacro, None]] = {}
    defaults: set[bytes] = set()
    for file in files:
        defaults |= file.fact(with_defaults)
        for name, definition in file.fact(_definitions):
            found.setdefault(name, {})[definition] = None
    # No build gives a macro with parameters another text.
    return {
        name: () if name in defaults and any(macro.parameters is None for macro in each) else tuple(each)
        for name, each in found.items()
    }


def _definitions(source: Cpp) -> tuple[tuple[bytes, AsmMacro], ...]:
    found = []
    for directive in source.directives if b"define" in source.code else ():
        match = _DEFINE.match(source.code, directive.start, directive.end)
        if match is None or source.ported(directive.start):
            continue
        given = match["parameters"]
        parameters = None if given is None else tuple(each.strip() for each in given[1:-1].split(b","))
        text = with_strings(source, match.end(), directive.end)
        found.append((match["name"], AsmMacro(() if parameters == (b"",) else parameters, text)))
    return tuple(found)


def with_strings(source: Cpp, start: int, end: int) -> bytes:
    """Return a span of code on one line without its comments; `code` is blank in strings, too."""
    text = bytearray(source.code[start:end])
    for match in _QUOTED.finditer(source.code, start, end):
        text[match.start() - start : match.end() - start] = source.text[match.start() : match.end()]
    return _SPLICE.sub(b" ", bytes(text)).strip()


def expand(
    text: bytes,
    macros: Mapping[bytes, AsmMacro | None],
    wanted: Container[bytes] | None = None,
    hidden: frozenset[bytes] = frozenset(),
) -> bytes:
    """Return a text with its macros expanded: those of `wanted`, all if that is None. Raises Unexpanded."""
    if len(hidden) > _DEEPEST:
        raise Unexpanded("its macros are nested too deep")
    out: list[bytes] = []
    at = 0
    while (match := _TOKEN.match(text, at)) is not None:
        at = match.end()
        word = match["word"]
        if word is None or word not in macros or word in hidden or (wanted is not None and word not in wanted):
            out.append(match.group())
            continue
        macro = macros[word]
        if macro is None:
            raise Unexpanded(f"{word.decode()} has several definitions")
        given, end = _arguments(text, at) if macro.parameters is not None else (None, at)
        if macro.parameters is not None and given is None:
            out.append(word)
            continue
        made = macro.text if given is None else _substituted(macro, given, macros, wanted, hidden)
        out.append(expand(_PASTE.sub(b"", made), macros, wanted, hidden | {word}))
        at = end
        if sum(map(len, out)) > _MOST:
            raise Unexpanded("its expansion is too long")
    return b"".join(out)


def _substituted(
    macro: AsmMacro,
    given: Sequence[bytes],
    macros: Mapping[bytes, AsmMacro | None],
    wanted: Container[bytes] | None,
    hidden: frozenset[bytes],
) -> bytes:
    bound = _bound(macro.parameters or (), given)
    tokens = [match.group() for match in _TOKEN.finditer(macro.text)]
    words = [i for i, token in enumerate(tokens) if not token.isspace()]
    out = list(tokens)
    for position, i in enumerate(words):
        before = words[position - 1] if position else None
        after = words[position + 1] if position + 1 < len(words) else None
        if tokens[i] == b"__VA_OPT__":
            raise Unexpanded("hipport does not expand __VA_OPT__")
        if tokens[i] not in bound:
            continue
        if before is not None and tokens[before] == b"#":
            out[i] = b'"' + bound[tokens[i]].replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
            out[before:i] = [b""] * (i - before)
            continue
        pasted = (before is not None and tokens[before] == b"##") or (after is not None and tokens[after] == b"##")
        if pasted and before is not None and tokens[i] == b"__VA_ARGS__" and not bound[tokens[i]]:
            # GNU's `, ##__VA_ARGS__`: the comma is dropped if there are no arguments.
            comma = words[position - 2] if position > 1 else None
            if comma is not None and tokens[comma] == b",":
                out[comma] = b""
        out[i] = bound[tokens[i]] if pasted else _given(bound[tokens[i]], macros, wanted, hidden)
    return b"".join(out)


def _given(
    text: bytes, macros: Mapping[bytes, AsmMacro | None], wanted: Container[bytes] | None, hidden: frozenset[bytes]
) -> bytes:
    """Return an argument, expanded; as a whole if it is one name, which another macro may turn into a string."""
    macro = macros.get(text)
    alone = macro is not None and macro.parameters is None
    return expand(text, macros, None if alone else wanted, hidden)


def _bound(parameters: Sequence[bytes], given: Sequence[bytes]) -> dict[bytes, bytes]:
    if parameters and parameters[-1].endswith(b"..."):
        first = len(parameters) - 1
        if len(given) < first:
            raise Unexpanded("a macro is used with another number of arguments")
        named = parameters[-1][:-3].strip() or b"__VA_ARGS__"
        return dict(zip(parameters, given[:first], strict=False)) | {named: b", ".join(given[first:])}
    if len(given) != len(parameters) and not (not given and len(parameters) == 1):
        raise Unexpanded("a macro is used with another number of arguments")
    return dict(zip(parameters, given or [b""], strict=False))


def _arguments(text: bytes, at: int) -> tuple[list[bytes] | None, int]:
    """Return the arguments in the parentheses at `at`, and their end; None if there are none."""
    while text[at : at + 1].isspace():
        at += 1
    if text[at : at + 1] != b"(":
        return None, at
    depth, begin = 1, at + 1
    found: list[bytes] = []
    for match in _TOKEN.finditer(text, begin):
        token = match.group()
        if token in (b"(", b")"):
            depth += 1 if token == b"(" else -1
        if not depth or (token == b"," and depth == 1):
            found.append(b" ".join(text[begin : match.start()].split()))
            begin = match.end()
        if not depth:
            return ([] if found == [b""] else found), match.end()
    return None, at

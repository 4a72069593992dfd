# SPDX-License-Identifier: Apache-2.0
"""What the macros of files that belong together stand for, where they are used.

    expanded(b"LEADER", None, defined(component))  # [b"((threadIdx.x & 31) == 0)"]

As the preprocessor does it, but for `#` and `##`, and for every definition there is, whatever its condition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from hipport.languages.cpp import Cpp
from hipport.languages.functions import DEFINE
from hipport.project import Component

_WORD = re.compile(rb"[A-Za-z_]\w*")
_LOOP = re.compile(rb"\b(?:for|while)\s*\(")
_SPLICE = re.compile(rb"\\[ \t]*\r?\n")
#: What a use may come to at the most: so many bytes, by so many definitions, so many macros deep.
_LONGEST, _MOST, _DEEPEST = 4000, 8, 8


class Macro(NamedTuple):
    """A definition: the names of its parameters, None without parentheses, and the text that it stands for."""

    parameters: tuple[bytes, ...] | None
    text: bytes


def defined(component: Component) -> Mapping[bytes, tuple[Macro, ...]]:
    """Return the macros of the files, each with all its definitions."""
    found: dict[bytes, dict[Macro, None]] = {}
    for source in component:
        for name, macro in source.fact(_defined) if isinstance(source, Cpp) else ():
            found.setdefault(name, {})[macro] = None
    return {name: tuple(macros) for name, macros in found.items()}


def loops(component: Component) -> frozenset[bytes]:
    """Return the macros that begin a loop: `for (…)` is in them, or in one that they use."""
    macros = component.fact(defined)
    found = {name for name, of in macros.items() if any(_LOOP.search(macro.text) for macro in of)}
    while more := {
        name
        for name, of in macros.items()
        if name not in found and any(not found.isdisjoint(_WORD.findall(macro.text)) for macro in of)
    }:
        found |= more
    return frozenset(found)


def expanded(
    name: bytes, given: Sequence[bytes] | None, macros: Mapping[bytes, tuple[Macro, ...]], depth: int = _DEEPEST
) -> list[bytes]:
    """Return what `name`, used with such arguments, may stand for; the name itself where that is not told.

    `given` is None where no parentheses follow.
    """
    texts = []
    for macro in macros[name][:_MOST]:
        text = macro.text
        if macro.parameters is not None:
            if given is None or len(given) != len(macro.parameters) or b"#" in text:
                return [name]
            arguments = dict(zip(macro.parameters, given, strict=True))
            text = _WORD.sub(lambda match, of=arguments: of.get(match.group(), match.group()), text)  # type: ignore[misc]
        elif given is not None:
            return [name]
        if len(text) > _LONGEST:
            return [name]
        texts += _inside(text, {each: of for each, of in macros.items() if each != name}, depth - 1)
    return texts[:_MOST]


def _inside(text: bytes, macros: Mapping[bytes, tuple[Macro, ...]], depth: int) -> list[bytes]:
    """Return what a text may be once the macros in it are replaced."""
    if not depth:
        return [text]
    parts: list[list[bytes]] = []
    end = 0
    for match in _WORD.finditer(text):
        if match.start() < end or match.group() not in macros:
            continue
        given, closing = _arguments(text, match.end())
        takes = any(macro.parameters is not None for macro in macros[match.group()])
        if takes and given is None:
            continue
        # Arguments come first, the macro itself among them.
        whole = [_inside(each, macros, depth - 1) for each in given or ()]
        given = [each if len(texts) > 1 else texts[0] for each, texts in zip(given or (), whole, strict=True)]
        parts += [[text[end : match.start()]], expanded(match.group(), given if takes else None, macros, depth)]
        end = closing if takes else match.end()
    parts.append([text[end:]])
    return [b"".join(each) for each, _ in zip(product(*parts), range(_MOST), strict=False)]


def _arguments(text: bytes, at: int) -> tuple[list[bytes] | None, int]:
    """Return the arguments in parentheses that stand at `at`, and where they end."""
    while text[at : at + 1].isspace():
        at += 1
    if text[at : at + 1] != b"(":
        return None, at
    depth, begin = 0, at + 1
    found = []
    for i in range(at, len(text)):
        each = text[i : i + 1]
        depth += (each in b"([{") - (each in b")]}")
        if (each == b"," and depth == 1) or not depth:
            found.append(text[begin:i].strip())
            begin = i + 1
        if not depth:
            return found if found != [b""] else [], i + 1
    return None, at


def _defined(source: Cpp) -> tuple[tuple[bytes, Macro], ...]:
    found = []
    for directive in source.directives:
        match = DEFINE.match(source.code, directive.start, directive.end)
        if match is None:
            continue
        parameters = None if match[2] is None else tuple(each.strip() for each in match[2][1:-1].split(b","))
        text = _SPLICE.sub(b" ", match[3]).strip()
        found.append((match[1], Macro(() if parameters == (b"",) else parameters, text)))
    return tuple(found)

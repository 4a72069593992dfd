# SPDX-License-Identifier: Apache-2.0
"""Expand the macros of connected files where they are used.

    expanded(b"LEADER", None, defined(component))  # [b"((threadIdx.x & 31) == 0)"]

It works like the preprocessor, but with every definition, whatever its condition; a stringized argument is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from hipport.analysis.functions import DEFINE
from hipport.analysis.word_index import leading_to
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp
from hipport.syntax.lexing import SPLICE, opening_of

_WORD = re.compile(rb"[A-Za-z_]\w*")
_LOOP = re.compile(rb"\b(?:for|while)\s*\(")
_COUNTED = re.compile(rb"\bfor\s*\(\s*[^;()=]*?\b([A-Za-z_]\w*)\s*[=:(]")
# The head of a statement, before its brackets; one without.
_BEGINS_HEAD = re.compile(rb"\b(?:if|for|while|switch|constexpr)\s*\Z")
_ENDS_HEAD = re.compile(rb"\b(?:else|do)\Z")
_STRINGIZED = re.compile(rb"(?<!#)#[ \t]*[A-Za-z_]\w*")
_PASTED = re.compile(rb"\s*##\s*")
_IF = re.compile(rb"\bif\s*\(")
_ELSE = re.compile(rb"\s*else\b")
# `=` and `:` that are not part of another operator.
_ENDS = re.compile(rb"[^=<>!]=(?!=)|[^:]:(?!:)", re.DOTALL)
_SPLICE = re.compile(SPLICE)
#: The limits of an expansion: its bytes, the definitions, and the depth of macros.
_LONGEST, _MOST, _DEEPEST = 4000, 8, 8


class Macro(NamedTuple):
    """A definition: the names of its parameters, None without parentheses, and its text."""

    parameters: tuple[bytes, ...] | None
    text: bytes


class Choice(NamedTuple):
    """A condition in a text, and the places of its two sides."""

    condition: bytes
    yes: tuple[int, int]
    no: tuple[int, int]


def branches(text: bytes) -> Iterator[Choice]:
    """Yield the `if`s in a text; without an `else`, the other side is empty."""
    for match in _IF.finditer(text):
        closing = _closing(text, match.end() - 1)
        middle = _end_of_statement(text, closing + 1)
        other = _ELSE.match(text, middle)
        no = (middle, middle) if other is None else (other.end(), _end_of_statement(text, other.end()))
        yield Choice(text[match.end() : closing], (closing + 1, middle), no)


def choices(text: bytes) -> list[Choice]:
    """Return the conditions in a text that choose between two sides: `if (x) … else …` and `x ? … : …`."""
    found = [each for each in branches(text) if each.no[0] > each.yes[1]]
    for match in re.finditer(rb"\?", text):
        start, end = _brackets_around(text, match.start())
        colon = _colon(text, match.end(), end)
        if colon is not None:
            condition = text[start : match.start()]
            behind = _colon(text, colon + 1, end)
            found.append(Choice(condition, (match.end(), colon), (colon + 1, end if behind is None else behind)))
    return found


def conditional(text: bytes) -> list[tuple[bytes, int, int]]:
    """Return the conditions of `if`s without an `else` in a text, with the span of the dependent statement."""
    return [(each.condition, *each.yes) for each in branches(text) if each.no[0] == each.yes[1]]


def loop_conditions(text: bytes) -> list[bytes]:
    """Return the conditions of the loops in a text; of a loop over a range, the range."""
    found = []
    for match in _LOOP.finditer(text):
        head = text[match.end() : _closing(text, match.end() - 1)]
        parts = head.split(b";")
        if len(parts) == 3:
            found += [parts[1]] if parts[1].strip() else []
        else:
            colon = _colon(head, 0, len(head)) if match.group().startswith(b"for") else None
            found.append(head if colon is None else head[colon + 1 :])
    return found


def loop_counters(text: bytes) -> frozenset[bytes]:
    """Return the names that the heads of `for` loops in a text declare or set."""
    return frozenset(match[1] for match in _COUNTED.finditer(text))


def _closing(text: bytes, opening: int) -> int:
    """Return the place of the partner of a bracket; the end of the text if there is none."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] in b"([{") - (text[i] in b")]}")
        if not depth:
            return i
    return len(text)


def _end_of_statement(text: bytes, start: int) -> int:
    """Return the end of a statement: after its brace or semicolon, or at the end of the text."""
    while text[start : start + 1].isspace():
        start += 1
    if text[start : start + 1] == b"{":
        return _closing(text, start) + 1
    end = text.find(b";", start)
    return len(text) if end < 0 else end + 1


def _brackets_around(text: bytes, at: int) -> tuple[int, int]:
    """Return the span inside the innermost brackets around a place, or the statement in them."""
    depth, start = 0, at
    while start > 0 and depth >= 0:
        start -= 1
        depth += (text[start] in b")]}") - (text[start] in b"([{")
        if not depth and (text[start] in b";,?" or _ENDS.match(text, start - 1)):
            break
    start += 1 if start or depth < 0 else 0
    depth, end = 0, at
    while end < len(text):
        depth += (text[end] in b"([{") - (text[end] in b")]}")
        if depth < 0 or (not depth and text[end] in b";,"):
            break
        end += 1
    return start, end


def _colon(text: bytes, start: int, end: int) -> int | None:
    """Return the place of the first `:` that is not the partner of a `?` in the span."""
    depth = asked = 0
    for i in range(start, end):
        depth += (text[i] in b"([{") - (text[i] in b")]}")
        if depth or (text[i] == 0x3A and 0x3A in (text[i - 1], text[i + 1 : i + 2][:1] and text[i + 1])):
            continue
        asked += text[i] == 0x3F
        if text[i] == 0x3A:
            if not asked:
                return i
            asked -= 1
    return None


def defined(component: Component) -> Mapping[bytes, tuple[Macro, ...]]:
    """Return the macros of the files, each with all its definitions."""
    found: dict[bytes, dict[Macro, None]] = {}
    for source in component:
        for name, macro in source.fact(_defined) if isinstance(source, Cpp) else ():
            found.setdefault(name, {})[macro] = None
    return {name: tuple(macros) for name, macros in found.items()}


def loops(component: Component) -> frozenset[bytes]:
    """Return the macros that begin a loop: they contain `for (…)`, or use a macro that does."""
    macros = component.fact(defined)
    found = {name for name, of in macros.items() if any(_LOOP.search(macro.text) for macro in of)}
    words = ((name, {word for macro in of for word in _WORD.findall(macro.text)}) for name, of in macros.items())
    return leading_to(found, words) | found if found else frozenset()


def heads(component: Component) -> Mapping[bytes, bool]:
    """Return whether each macro of the files is the head of a statement, which follows it: `if (x)`."""
    return {name: any(map(_is_head, of)) for name, of in component.fact(defined).items()}


def _is_head(macro: Macro) -> bool:
    text = macro.text
    if _ENDS_HEAD.search(text):
        return True
    opening = opening_of(text, len(text) - 1) if text.endswith(b")") else None
    return opening is not None and _BEGINS_HEAD.search(text, 0, opening) is not None


def pasting(component: Component) -> frozenset[bytes]:
    """Return the macros that paste tokens: they contain `##`, or use a macro that does."""
    macros = component.fact(defined)
    found = {name for name, of in macros.items() if any(b"##" in macro.text for macro in of)}
    words = ((name, {word for macro in of for word in _WORD.findall(macro.text)}) for name, of in macros.items())
    return leading_to(found, words) | found if found else frozenset()


class Mentioning:
    """The macros of files by the words in their texts."""

    def __init__(self, component: Component) -> None:
        self._users: dict[bytes, set[bytes]] = {}
        self._known: dict[bytes, frozenset[bytes]] = {}
        for name, of in component.fact(defined).items():
            for word in {word for macro in of for word in _WORD.findall(_PASTED.sub(b"", macro.text))}:
                self._users.setdefault(word, set()).add(name)

    def of(self, word: bytes) -> frozenset[bytes]:
        """Return the macros that contain the word, or that use a macro which does."""
        if word not in self._known:
            reached: set[bytes] = set()
            waiting = [word]
            while waiting:
                more = self._users.get(waiting.pop(), set()) - reached
                reached |= more
                waiting += more
            self._known[word] = frozenset(reached)
        return self._known[word]


def calls(text: bytes, name: bytes) -> list[list[bytes]] | None:
    """Return the arguments of each call of `name` in a text; None if they are not seen, as without a call."""
    found = []
    for match in re.finditer(rb"(?<![\w.])" + re.escape(name) + rb"\b\s*(?:<[^<>;(){}]*>)?", text):
        given, _ = _arguments(text, match.end())
        if given is None:
            return None
        found.append(given)
    return found


def expanded(
    name: bytes,
    given: Sequence[bytes] | None,
    macros: Mapping[bytes, tuple[Macro, ...]],
    depth: int = _DEEPEST,
    within: frozenset[bytes] = frozenset(),
) -> list[bytes]:
    """Return the possible expansions of `name` with such arguments.

    `given` is None if no parentheses follow; `within` are the macros whose expansion contains this use, which are not
    expanded again. If the limits are exceeded, or the use does not fit the definition, the result is one text with all
    possible words, which is not an expression.
    """
    texts: list[bytes] = []
    for macro in macros[name]:
        text = macro.text
        if macro.parameters is not None:
            arguments = _bound(macro.parameters, given)
            if arguments is None:
                return [_words(name, given, macros, within)]
            text = _STRINGIZED.sub(b'""', text)
            text = _WORD.sub(lambda match, of=arguments: of.get(match.group(), match.group()), text)  # type: ignore[misc]
        elif given is not None:
            # The name of a function or of another macro, which gets the arguments.
            text = b"%s(%s)" % (text, b", ".join(given))
        text = _PASTED.sub(b"", text)
        inside = _inside(text, macros, depth - 1, within | {name})
        texts += inside or ()
        if inside is None or len(texts) > _MOST:
            return [_words(name, given, macros, within)]
    return texts


def _words(
    name: bytes, given: Sequence[bytes] | None, macros: Mapping[bytes, tuple[Macro, ...]], within: frozenset[bytes]
) -> bytes:
    """Return all words that may be in the expansion of a macro, as a text that is not an expression."""
    found: dict[bytes, None] = {}
    waiting = [name, *(word for each in given or () for word in _WORD.findall(each))]
    while waiting:
        word = waiting.pop()
        if word not in found:
            found[word] = None
            if word in within:
                continue
            waiting += (each for macro in macros.get(word, ()) for each in _WORD.findall(_PASTED.sub(b"", macro.text)))
    return b"; ".join(found) + b";"


def _bound(parameters: Sequence[bytes], given: Sequence[bytes] | None) -> dict[bytes, bytes] | None:
    """Return the argument of each parameter; None if the arguments do not fit."""
    if given is None:
        return None
    if parameters and parameters[-1].endswith(b"..."):
        # `...`, or GNU's `rest...`.
        named = parameters[-1][:-3].strip() or b"__VA_ARGS__"
        if len(given) < len(parameters) - 1:
            return None
        first = len(parameters) - 1
        return dict(zip(parameters, given[:first], strict=False)) | {named: b", ".join(given[first:])}
    return dict(zip(parameters, given, strict=True)) if len(given) == len(parameters) else None


def _inside(
    text: bytes, macros: Mapping[bytes, tuple[Macro, ...]], depth: int, within: frozenset[bytes]
) -> list[bytes] | None:
    """Return the possible texts after expanding the macros in a text; None if the limits are exceeded."""
    if not depth or len(text) > _LONGEST:
        return None
    parts: list[list[bytes]] = []
    end = 0
    for match in _WORD.finditer(text):
        if match.start() < end or match.group() not in macros or match.group() in within:
            continue
        given, closing = _arguments(text, match.end())
        takes = any(macro.parameters is not None for macro in macros[match.group()])
        if takes and given is None:
            continue
        # Arguments are expanded first, including uses of the macro itself.
        whole = [_inside(each, macros, depth - 1, within) for each in given or ()]
        given = [
            texts[0] if texts is not None and len(texts) == 1 else each
            for each, texts in zip(given or (), whole, strict=True)
        ]
        found = expanded(match.group(), given if takes else None, macros, depth, within)
        parts += [[text[end : match.start()]], found]
        end = closing if takes else match.end()
    parts.append([text[end:]])
    if prod(map(len, parts)) > _MOST:
        return None
    return [b"".join(each) for each in product(*parts)]


def _arguments(text: bytes, at: int) -> tuple[list[bytes] | None, int]:
    """Return the arguments in the parentheses at `at`, and where these end."""
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

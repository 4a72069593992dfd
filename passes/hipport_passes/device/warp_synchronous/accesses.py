# SPDX-License-Identifier: Apache-2.0
"""Find accesses to array elements in text: stores, loads, and operations that order them."""

from __future__ import annotations

import re
from pathlib import Path

from hipport.core.tables import Words
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES

_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
# Operations that order the accesses of lanes: barriers, by any name. A shuffle or a vote does not; nor does a fence of
# CUDA or PTX, which orders the accesses of one thread, nor one for the compiler.
ORDERS = _WORDS.compile(
    rb"\b(?!\w*(?&unordered))\w*(?&orders)\w*|\basm\b(?!\s*(?&volatile_asm)?\s*\(\s*\"\")",
    re.IGNORECASE,
)
_FOR_COMPILER = _WORDS.compile(rb"\b(?:__)?asm(?:__)?\s*(?&volatile_asm)?\s*\(\s*\"\"")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\([^()]*\))?((?:[^\\\r\n]|\\[ \t]*(?:\r\n?|\n)|\\)*)")
ELEMENT = re.compile(rb"(?:\(\s*)?\b([A-Za-z_]\w*)\b\s*\)?\s*\[([^\[\]]*)\]")
STORE = re.compile(ELEMENT.pattern + rb"\s*(?:[-+*/|&^]|<<|>>)?=(?!=)")
# An element that is loaded, not only stored to.
LOADED = re.compile(ELEMENT.pattern + rb"(?!\s*=(?!=))")
HALVES = re.compile(rb"(?:>>|<<|\*|/)=|=[^=;]*(?:>>|<<|\*|/)\s*[12]\b")
_IN_PARENTHESES = re.compile(rb"\((\w+)\)")
WORD = re.compile(rb"[A-Za-z_]\w*")


def has_order(text: bytes, macros: dict[bytes, bool]) -> bool:
    """Return whether code orders accesses, directly or by a macro whose effect is known."""
    if any(macros.get(match.group(), True) for match in ORDERS.finditer(text)):
        return True
    return any(macros.get(word, False) for word in WORD.findall(text)) if macros else False


def places_of_order(source: Cpp, project: Project) -> list[int]:
    """Return the places of words that order accesses."""
    macros = project.component(source).fact(ordering_macros)
    words = {word for word in source.matched(ORDERS) if macros.get(word, True)}
    words |= {name for name, orders in macros.items() if orders}
    # `asm volatile("" ::: "memory")` is for the compiler: it does not synchronize lanes.
    assembly = _FOR_COMPILER.finditer(source.code) if b"asm" in source.code else ()
    for_compiler = {match.start() for match in assembly}
    return [span.start for span, _ in source.names(words) if span.start not in for_compiler]


def ordering_macros(component: Component) -> dict[bytes, bool]:
    """Return for each macro whose name or text relates to order whether all its definitions order accesses."""
    defined = {each for source in component if isinstance(source, Cpp) for each in source.fact(_defines)}
    bodies: dict[bytes, list[bytes]] = {}
    for name, body in defined:
        bodies.setdefault(name, []).append(body)
    known: dict[bytes, bool] = {name: False for name in bodies if ORDERS.search(name)}
    changed = True
    while changed:
        changed = False
        for name, texts in bodies.items():
            if not known.get(name, False) and all(has_order(text, known) for text in texts):
                known[name] = changed = True
    return known


def step_macros(component: Component) -> dict[bytes, bytes]:
    """Return the macros that store to one element of an array and load another without an order, with the array."""
    macros = component.fact(ordering_macros)
    found = {}
    for name, body in {each for source in component if isinstance(source, Cpp) for each in source.fact(_defines)}:
        stored = {(match[1], index_text(match[2])) for match in STORE.finditer(body)} if b"[" in body else set()
        for match in ELEMENT.finditer(body) if stored and not has_order(body, macros) else ():
            element = index_text(match[2])
            if any(match[1] == array and re.match(re.escape(own) + rb"[-+^]", element) for array, own in stored):
                found[name] = match[1]
    return found


def index_text(text: bytes) -> bytes:
    """Return an index without white space and parentheses around a name, which macros add."""
    return _IN_PARENTHESES.sub(rb"\1", b"".join(text.split()))


def _defines(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    return (
        frozenset((match[1], match[2]) for match in _DEFINE.finditer(source.code))
        if b"define" in source.code
        else (frozenset())
    )

# SPDX-License-Identifier: Apache-2.0
"""Values that programs make from a compute capability, numbers and texts, and constants that they compare them with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from hipport.syntax.python_script import literal

Capability = tuple[int, int]

#: PyTorch's capabilities of gfx90a (and 906, 908), gfx942, gfx950, gfx101x, gfx103x, gfx110x, gfx115x and gfx120x.
AMD: tuple[Capability, ...] = ((9, 0), (9, 4), (9, 5), (10, 1), (10, 3), (11, 0), (11, 5), (12, 0))
#: The capabilities of NVIDIA's GPUs, at least since CUDA 12.
GENERATIONS: tuple[Capability, ...] = (
    *((5, 0), (5, 2), (5, 3), (6, 0), (6, 1), (6, 2), (7, 0), (7, 2), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9)),
    *((9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1)),
)
#: The function from a capability to a value, by the kind of an expression.
KINDS: dict[str, Callable[[Capability], object]] = {
    "pair": lambda c: c,
    "major": lambda c: c[0],
    "tens": lambda c: c[0] * 10 + c[1],
    "hundreds": lambda c: c[0] * 100 + c[1] * 10,
    "decimal": lambda c: c[0] + c[1] / 10,
    "digits": lambda c: f"{c[0]}{c[1]}",
    "dotted": lambda c: f"{c[0]}.{c[1]}",
    "major text": lambda c: str(c[0]),
    "release": lambda c: c,
}
# A longer range may mean anything.
_MOST = 10_000
#: The prefix of a text's kind, in which {0} and {1} stand for the two parts.
TEXT = "text "


def kind_of_pieces(pieces: Sequence[str] | None) -> str | None:
    """Return the kind of a text that is made of words and `major` and `minor`; None for others."""
    marks = {each for each in pieces or () if each in KINDS or each == "?" or "{" in each or " " in each}
    if not pieces or not marks | ({"minor"} & set(pieces)) or marks - {"major", "minor"}:
        return None
    return as_kind("".join({"major": "{0}", "minor": "{1}"}.get(each, each) for each in pieces))


def as_kind(text: str) -> str | None:
    """Return the kind of a text in which {0} and {1} stand for the parts of a capability."""
    if "{0}" not in text and "{1}" not in text:
        return None
    return {"{0}{1}": "digits", "{0}.{1}": "dotted", "{0}": "major text"}.get(text, TEXT + text)


def value_of(kind: str, capability: Capability) -> object:
    """Return the value of a kind for a capability."""
    if kind.startswith(TEXT):
        return kind[len(TEXT) :].replace("{0}", str(capability[0])).replace("{1}", str(capability[1]))
    return KINDS[kind](capability)


def constant(node: cst.BaseExpression) -> object:
    """Return the value of a literal: a number, a text, or a row of them; None for others."""
    match node:
        case cst.Integer(value) | cst.Float(value):
            return float(value) if isinstance(node, cst.Float) else int(value.replace("_", ""), 0)
        case cst.SimpleString():
            return literal(node)
        case cst.Tuple(elements) | cst.List(elements) | cst.Set(elements):
            values = [constant(each.value) if isinstance(each, cst.Element) else None for each in elements]
            return tuple(values) if values and None not in values else None
        case cst.Call(func=cst.Name("range"), args=[*bounds]) if len(bounds) < 3:
            numbers = [constant(each.value) for each in bounds]
            if all(isinstance(each, int) and abs(each) < _MOST for each in numbers):
                return tuple(range(*(each for each in numbers if isinstance(each, int))))
    return None


def matches(pattern: cst.MatchPattern, value: object) -> bool:
    """Return whether a pattern of constants and capture names matches `value`."""
    match pattern:
        case cst.MatchValue(value=written):
            return constant(written) == value
        case cst.MatchAs(pattern=None):
            return True
        case cst.MatchAs(pattern=inside) if inside is not None:
            return matches(inside, value)
        case cst.MatchOr(patterns=patterns):
            return any(matches(each.pattern, value) for each in patterns)
        case cst.MatchTuple(patterns=parts) | cst.MatchList(patterns=parts):
            return (
                isinstance(value, tuple)
                and len(parts) == len(value)
                and all(
                    isinstance(each, cst.MatchSequenceElement) and matches(each.value, of)
                    for each, of in zip(parts, value, strict=True)
                )
            )
    return False

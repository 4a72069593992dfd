# SPDX-License-Identifier: Apache-2.0
"""The expansions of macros at their uses."""

from pathlib import PurePosixPath

import pytest

from hipport.analysis.macros import choices, defined, expanded
from hipport.program.project import Component
from hipport.syntax.cuda import Cuda

TEXT = b"""
#define ONE 1
#define LANE (threadIdx.x & 31) // of a warp
#define LEADER (LANE == 0)
#define SUM(a, b) ((a) + \\
                   (b))
#define BOTH(x) SUM(x, SUM(ONE, x))
#define AGAIN AGAIN + 1
#define TEXT(x) #x
#define NONE() 0
#define PASTE(a, b) a ## b
#define ALIAS SUM
#define MANY(x, ...) f(x, __VA_ARGS__)
#ifdef A
#define EITHER 1
#else
#define EITHER x
#endif
"""


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        (b"LEADER", None, [b"((threadIdx.x & 31) == 0)"]),
        (b"BOTH", [b"n"], [b"((n) + (((1) + (n))))"]),
        (b"AGAIN", None, [b"AGAIN + 1"]),
        (b"EITHER", None, [b"1", b"x"]),
        (b"NONE", [], [b"0"]),
        (b"TEXT", [b"n"], [b'""']),
        (b"PASTE", [b"threadIdx", b".x"], [b"threadIdx.x"]),
        (b"ALIAS", [b"n", b"m"], [b"((n) + (m))"]),
        (b"MANY", [b"n", b"m", b"k"], [b"f(n, m, k)"]),
        (b"MANY", [b"n"], [b"f(n, )"]),
        # Not used as it is defined: the words that it may contain.
        (b"SUM", [b"n"], [b"n; SUM; b; a;"]),
        (b"MANY", [], [b"MANY; __VA_ARGS__; x; f;"]),
        (b"LANE", [b"n"], [b"(threadIdx.x & 31)(n)"]),
    ],
)
def test_macros_are_replaced_to_the_end(name: bytes, given: list[bytes] | None, found: list[bytes]) -> None:
    macros = defined(Component((Cuda(PurePosixPath("a.cu"), TEXT),)))
    assert [b" ".join(each.split()).replace(b"( ", b"(") for each in expanded(name, given, macros)] == found


def test_macros_that_grow_end() -> None:
    text = b"#define A0 x x\n" + b"".join(b"#define A%d A%d A%d\n" % (i, i - 1, i - 1) for i in range(1, 30))
    macros = defined(Component((Cuda(PurePosixPath("a.cu"), text),)))
    assert len(expanded(b"A29", None, macros)) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"((c) ? (a) : (b))", [(b"(c)", b"(a)", b"(b)")]),
        (b"x = c ? a : f(b, d);", [(b"c", b"a", b"f(b, d)")]),
        (b"c ? d ? a : b : e", [(b"c", b"d ? a : b", b"e"), (b"d", b"a", b"b")]),
        (b"c ? n::a : m::b", [(b"c", b"n::a", b"m::b")]),
        (b"if (c) { a; } else { b; }", [(b"c", b"{ a; }", b"{ b; }")]),
        (b"if (c(x)) a; else b", [(b"c(x)", b"a;", b"b")]),
        (b"if (c) { a; } b;", []),
        (b"f(c ? a", []),
    ],
)
def test_sides_of_choices(text: bytes, found: list[tuple[bytes, bytes, bytes]]) -> None:
    said = [(each.condition, text[slice(*each.yes)], text[slice(*each.no)]) for each in choices(text)]
    assert [tuple(part.strip() for part in each) for each in said] == found

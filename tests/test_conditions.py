# SPDX-License-Identifier: Apache-2.0
"""Conditions have C++'s values, and none if they depend on unknown names."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from hipport.syntax.preprocessor_values import tokens, value


class Given(NamedTuple):
    """Macros with a number are defined, those with None may be, and others are not."""

    macros: Mapping[bytes, int | None]

    def defined(self, name: bytes) -> bool | None:
        return None if self.macros.get(name, 0) is None else name in self.macros

    def number(self, name: bytes) -> int | None:
        return self.macros.get(name, 0)


GIVEN = Given({b"TWO": 2, b"NONE": 0, b"PERHAPS": None})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"TWO", 2),
        (b"defined(NONE) && defined TWO && !defined(THREE)", 1),
        (b"not NONE and TWO or PERHAPS", 1),
        (b"1 + TWO * 3 == 7", 1),
        (b"7 / TWO * 10 + 7 % TWO", 31),
        (b"(1 - 8) / TWO", -3),
        (b"(1 - 8) % TWO", -1),
        (b"1 << 4 >> TWO", 4),
        (b"0x1FuL - 010 - 1'000", 31 - 8 - 1000),
        (b"TWO ? 5 : 6", 5),
        (b"PERHAPS ? 5 : 5", 5),
        (b"true && !false", 1),
        (b"TWO > \\\n 1", 1),
    ],
)
def test_value(text: bytes, expected: int) -> None:
    assert value(tokens(text), GIVEN) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"PERHAPS", None),
        (b"defined(PERHAPS)", None),
        (b"defined(PERHAPS) && NONE", 0),
        (b"PERHAPS || TWO", 1),
        (b"PERHAPS + 1 > 0", None),
        (b"__has_include(<hip/hip_runtime.h>)", None),
        (b"AT_LEAST(11, 2) && NONE", 0),
        (b"TWO / NONE", None),
        (b"NONE && TWO / NONE", 0),
    ],
)
def test_unknown_names_give_no_value(text: bytes, expected: int | None) -> None:
    assert value(tokens(text), GIVEN) == expected


@pytest.mark.parametrize("text", [b"", b"TWO TWO", b"(TWO", b"defined(", b"TWO <", b"08", b"TWO ? 1", b"\\ TWO", b"~"])
def test_other_text_is_no_condition(text: bytes) -> None:
    assert value(tokens(text), GIVEN) is None

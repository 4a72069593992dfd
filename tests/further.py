# SPDX-License-Identifier: Apache-2.0
"""Parameters of tests that `make test` leaves out because they only repeat a test with a further input."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

from hipport.testing import Fixture

_Value = TypeVar("_Value")


def further(
    values: Iterable[_Value], repeated: Collection[_Value], name: Callable[[_Value], str] = str
) -> list[ParameterSet]:
    """Return parameters of a test; those in `repeated` add nothing new and run only in `make test-all`."""
    return [_parameters((each,), each in repeated, name(each)) for each in values]


def further_rows(values: Iterable[tuple[Any, ...]], repeated: Collection[tuple[Any, ...]]) -> list[ParameterSet]:
    """Do the same as `further` for a test with several parameters, each of which has one value per row."""
    return [_parameters(each, each in repeated, "-".join(map(str, each))) for each in values]


def _parameters(values: tuple[Any, ...], repeated: bool, name: str) -> ParameterSet:
    return pytest.param(*values, marks=[pytest.mark.further] if repeated else [], id=name)


def of_known_rules(cases: Iterable[Fixture], unlike: Collection[str] = ()) -> set[Fixture]:
    """Return fixtures whose rules, each with its certainty, others show: the shortest of those, and all in `unlike`.

    Of the fixtures of a pass in which it finds nothing, one of each language is not among them either.
    """
    shown: set[tuple[object, ...]] = set()
    repeated = set()
    for case in sorted(cases, key=lambda case: (case.name not in unlike, len(case.before.text), case.name)):
        front = case.name.partition("/")[0], type(case.before)
        rules: set[tuple[object, ...]] = {(*front, *line.split()[1:3]) for line in case.findings} or {front}
        if rules <= shown and case.name not in unlike:
            repeated.add(case)
        shown |= rules
    return repeated

# SPDX-License-Identifier: Apache-2.0
"""Parameters of tests, of which `make test` leaves out what shows on a further input what the others show."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

_Value = TypeVar("_Value")


def further(
    values: Iterable[_Value], repeated: Collection[_Value], name: Callable[[_Value], str] = str
) -> list[ParameterSet]:
    """Return parameters of a test, of which those `repeated` show nothing new: `make test-all` runs them."""
    return [_parameters((each,), each in repeated, name(each)) for each in values]


def further_rows(values: Iterable[tuple[Any, ...]], repeated: Collection[tuple[Any, ...]]) -> list[ParameterSet]:
    """Do what `further` does for a test of several parameters, of which each value has one."""
    return [_parameters(each, each in repeated, "-".join(map(str, each))) for each in values]


def _parameters(values: tuple[Any, ...], repeated: bool, name: str) -> ParameterSet:
    return pytest.param(*values, marks=[pytest.mark.further] if repeated else [], id=name)

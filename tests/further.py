# SPDX-License-Identifier: Apache-2.0
"""Parameters of tests that `make test` leaves out because they only repeat a test with a further input."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

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

# SPDX-License-Identifier: Apache-2.0
"""Facts about an object, computed once.

A fact of a text, of the files of a program or of a project is asked for by the function that computes it. The objects
are immutable, so a fact stays true. A changed text, or a project with another file, is a new object without facts,
except those that are carried over explicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

FactsT = TypeVar("FactsT", bound="Facts")
T = TypeVar("T")


class Facts:
    """An object that facts are computed of."""

    @cached_property
    def _facts(self) -> dict[Any, Any]:
        return {}

    def fact(self: FactsT, compute: Callable[[FactsT], T]) -> T:
        """Return `compute(self)`, computed once."""
        facts: dict[Callable[[FactsT], T], T] = self._facts
        try:
            return facts[compute]
        except KeyError:
            pass
        found = facts[compute] = compute(self)
        return found

    def known(self, *names: str) -> dict[str, Any]:
        """Return the cached properties with these names that are already computed, with their values."""
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def carry(self, known: dict[str, Any]) -> None:
        """Set cached properties to values that were computed for another object and also hold for this one."""
        self.__dict__.update(known)

    def drop(self, kept: Iterable[str]) -> None:
        """Drop all attributes except those with these names."""
        left = self.known(*kept)
        self.__dict__.clear()
        self.__dict__.update(left)

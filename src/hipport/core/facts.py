# SPDX-License-Identifier: Apache-2.0
"""Facts about a thing, computed once.

A fact of a text, of the files of a program or of a project is asked for by the function that works it out. What a thing
is never changes, so a fact stays true; another text, or a project with another file, is another thing that knows
nothing yet, but for what is carried over on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

FactsT = TypeVar("FactsT", bound="Facts")
T = TypeVar("T")


class Facts:
    """A thing of which facts are asked."""

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
        """Return those of its cached properties of these names that are computed, with their values."""
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def carry(self, known: dict[str, Any]) -> None:
        """Take cached properties for worked out: what is known of another thing, and is true of this one."""
        self.__dict__.update(known)

    def drop(self, kept: Iterable[str]) -> None:
        """Let go of all but the attributes of these names."""
        left = self.known(*kept)
        self.__dict__.clear()
        self.__dict__.update(left)

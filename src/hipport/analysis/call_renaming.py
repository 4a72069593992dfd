# SPDX-License-Identifier: Apache-2.0
"""The input of a call with the callers' variables renamed, so that equal runs of a function are recognized.

A function that gets references to two variables does the same for any two variables with such contents. In the renamed
input, the caller's variables are numbered in the order in which the function's parameters lead to them; so are their
definitions, because a run only asks which of them are the same. The outcome of one run is translated for another call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from hipport.analysis.abstract_memory import Cells, Closure, Slot
from hipport.analysis.abstract_program import CallResult, Frame
from hipport.analysis.uniform_values import MEMORY, Place, Value

_Key = tuple[int, "int | str"]
#: The frames of the callee and of all callers, in a renamed input.
_OWN, _OUTER = -2, -3


class Renaming:
    """Numbers for the callers' variables that a call reaches, and for their definitions."""

    def __init__(self, cells: Cells, depth: int, frames: Sequence[Frame]) -> None:
        """Take the variables that a function at that depth can reach, and the frames of its callers."""
        self._depth = depth
        self._frames = frames
        self._number: dict[_Key, int] = {}
        self._keys: list[_Key] = []
        self._definitions: dict[tuple[int, int, int], int] = {}
        #: Whether the input can be renamed: no lambda is among it.
        self.possible = True
        own = sorted(
            (key for key in cells if key[0] == depth), key=lambda key: (str(key[1]), key[1].__class__.__name__)
        )
        found: list[object] = [self._variable(key, cells) for key in own]
        # The loop numbers further variables.
        for key in self._keys:
            found.append((self._kind(key), self._variable(key, cells)))
        self.input = tuple(found) if self.possible else ()

    def reaches_any(self, keys: AbstractSet[_Key]) -> bool:
        """Return whether the call reaches one of these variables, also one that has no value yet."""
        return not keys.isdisjoint(self._keys)

    def renamed(self, outcome: CallResult) -> CallResult | None:
        """Return an outcome in terms of the numbers; None if it has variables that the input has not."""
        numbered = len(self._keys), len(self._definitions)
        if not self._number.keys() >= outcome.cells.keys():
            return None
        cells: Cells = {
            (_OUTER, self._number[key]): {path: self._slot(slot) for path, slot in slots.items()}
            for key, slots in outcome.cells.items()
        }
        value, address = self._value(outcome.value), outcome.address and self._value(outcome.address)
        known = self.possible and numbered == (len(self._keys), len(self._definitions))
        return CallResult(value, address, cells) if known else None

    def restored(self, outcome: CallResult) -> CallResult:
        """Return a renamed outcome of an equal input in terms of this call."""
        definitions = {number: definition for definition, number in self._definitions.items()}

        def place(target: Place) -> Place:
            if target.frame == _OUTER:
                assert isinstance(target.cell, int)
                frame, cell = self._keys[target.cell]
                return Place(frame, cell, target.path)
            return target._replace(frame=self._depth) if target.frame == _OWN else target

        def slot(each: Slot) -> Slot:
            frame, block, index = each.definition
            definition = definitions[block] if frame == _OUTER else (self._depth, block, index)
            return Slot(_with_places(each.value, place), definition)

        cells: Cells = {
            self._keys[number]: {path: slot(each) for path, each in slots.items()}
            for (_, number), slots in outcome.cells.items()
            if isinstance(number, int)
        }
        value, address = outcome.value, outcome.address
        return CallResult(_with_places(value, place), address and _with_places(address, place), cells)

    def _variable(self, key: _Key, cells: Cells) -> object:
        slots = cells.get(key)
        if slots is None:
            return None
        return (
            key[1] if key[0] == self._depth else None,
            tuple((path, self._slot(slots[path])) for path in sorted(slots)),
        )

    def _kind(self, key: _Key) -> object:
        """What a run may ask about a variable beside its contents."""
        frame, cell = key
        if isinstance(cell, str):
            self.possible = self.possible and not cell.startswith("captured ")
            return None
        cells = self._frames[frame].ir.cells if 0 <= frame < len(self._frames) else ()
        made = cells[cell] if 0 <= cell < len(cells) else None
        # A reason names a volatile variable.
        return made if made is None or made.volatile else made._replace(name="")

    def _slot(self, slot: Slot) -> Slot:
        frame, block, index = slot.definition
        if frame == self._depth:
            return Slot(self._value(slot.value), (_OWN, block, index))
        number = self._definitions.setdefault(slot.definition, len(self._definitions))
        return Slot(self._value(slot.value), (_OUTER, number, 0))

    def _value(self, value: Value) -> Value:
        if value.targets and any(isinstance(each, Closure) for each in value.targets):
            self.possible = False
        return _with_places(value, self._place)

    def _place(self, target: Place) -> Place:
        if target == MEMORY:
            return target
        if target.frame == self._depth:
            return target._replace(frame=_OWN)
        key = (target.frame, target.cell)
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self._keys)
            self._keys.append(key)
        return Place(_OUTER, number, target.path)


def _with_places(value: Value, place: Callable[[Place], Place]) -> Value:
    """Return a value with the places that it may point to replaced."""
    if value.targets:
        # In a fixed order: it decides the numbers.
        ordered = value.targets if len(value.targets) == 1 else sorted(value.targets, key=str)
        value = value._replace(targets=frozenset(place(each) if isinstance(each, Place) else each for each in ordered))
    if value.fields:
        value = value._replace(fields=tuple((name, _with_places(part, place)) for name, part in value.fields))
    return value

# SPDX-License-Identifier: Apache-2.0
"""Variables of device code in an abstract execution: places, and what is known of their contents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from hipport.analysis.lowering_state import defined_there
from hipport.analysis.uniform_values import UNIFORM, Place, Value, join, least


class Closure(NamedTuple):
    """A lambda, and the frame of the function that created it."""

    frame: int
    number: int
    code: int


class FunctionName(NamedTuple):
    """A function by its name."""

    name: str


class Slot(NamedTuple):
    """The value of a part of a variable, and its definition: the frame, the block and the instruction."""

    value: Value
    definition: tuple[int, int, int]


Cells = dict[tuple[int, "int | str"], dict[tuple[str, ...], Slot]]


def reachable(cells: Cells, depth: int, closure: Closure | None) -> list[tuple[int, int | str]]:
    """The variables that a function at that depth can reach: its own, and those that these point to."""
    if closure is not None:
        return list(cells)  # including those of the functions around the lambda
    waiting = [key for key in cells if key[0] == depth]
    found: dict[tuple[int, int | str], None] = {}
    while waiting:
        key = waiting.pop()
        if key in found or key not in cells:
            continue
        found[key] = None
        for slot in cells[key].values():
            for target in slot.value.targets or ():
                if isinstance(target, Closure):
                    return list(cells)
                if isinstance(target, Place):
                    waiting.append((target.frame, target.cell))
    return list(found)


def reachable_from(cells: Cells, value: Value) -> set[tuple[int, int | str]]:
    """The variables that a value points to, transitively; for a lambda, also those of the function that created it."""
    found: set[tuple[int, int | str]] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        waiting += [part for _, part in each.fields]
        for target in each.targets or ():
            keys: list[tuple[int, int | str]] = []
            if isinstance(target, Place):
                keys = [(target.frame, target.cell)]
            elif isinstance(target, Closure):
                keys = [key for key in cells if key[0] <= target.frame]
            for key in keys:
                if key not in found:
                    found.add(key)
                    waiting += [slot.value for slot in cells.get(key, {}).values()]
    return found


def updated(cells: Cells, after: Cells) -> Cells:
    """Return the variables as they are in `after`; unchanged ones stay the same object, so that comparing is fast."""
    made = dict(cells)
    for key, slots in after.items():
        before = cells.get(key)
        if before is not slots and before != slots:
            made[key] = slots
    return made


def store(
    cells: Cells, key: tuple[int, int | str], path: tuple[str, ...], value: Value, definition: tuple[int, int, int]
) -> None:
    """Assign to a part of a variable: everything known of its contents is dropped."""
    slots = cells.get(key, {})
    length = len(path)
    kept = {known: slot for known, slot in slots.items() if known[:length] != path or known == ("&",)}
    kept[path] = Slot(value._replace(fields=()) if value.fields else value, definition)
    for name, part in value.fields:
        inner: Cells = {key: {}}
        store(inner, key, (*path, name), part, definition)
        kept.update(inner[key])
    cells[key] = kept


def is_mixed(slots: Iterable[tuple[str, ...]], path: tuple[str, ...]) -> bool:
    """Whether a part of a variable is known both by members and by elements of an array."""
    return any(
        a.startswith("[") != b.startswith("[") and known != ("&",)
        for known in slots
        for a, b in zip(known, path, strict=False)
    )


def weaken(
    cells: Cells,
    key: tuple[int, int | str],
    path: tuple[str, ...],
    value: Value,
    definition: tuple[int, int, int],
    address: Value,
) -> None:
    """Assign to a part of a variable that may also be another one, given by `address`: both values remain possible."""
    before = cells.get(key, {})
    slots = dict(before)
    for known, slot in before.items():
        # The enclosing object stays as it is, because the part itself is more precise.
        if known != ("&",) and len(known) >= len(path) and overlap(known, path):
            slots[known] = Slot(join((slot.value, value)).at_most(address.level, address.why), definition)
    if path not in before:
        whole = lookup(before, path)
        both = value if whole is None else join((whole, value))
        slots[path] = Slot(both.at_most(address.level, address.why), definition)
    cells[key] = slots


def around_elements(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the array that a pointer to an element may be used for, as a part of its variable."""
    return tuple(takewhile(lambda name: not name.startswith("["), path))


def overlap(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Whether two parts of a variable may overlap."""
    if not one or not two or one == two:
        return True
    for a, b in zip(one, two, strict=False):
        if a.startswith("[") != b.startswith("["):
            return True  # an object read as an array: which member an element is is unknown
        if a != b and not (a.startswith("[") and "[]" in (a, b)):
            return False
    return True


def lookup(slots: Mapping[tuple[str, ...], Slot], path: tuple[str, ...]) -> Value | None:
    """Return the value of a part of a variable; None if it was never assigned."""
    if len(slots) == 1 and path != ("&",) and path in slots:
        return slots[path].value
    if not slots:
        return None
    exact = slots.get(path)
    length = len(path)
    if exact is not None and path != ("&",) and not any(len(known) > length or "[]" in known for known in slots):
        return exact.value
    inner = {known: slot for known, slot in slots.items() if known != ("&",) and overlap(known, path)}
    deeper = [known for known in inner if len(known) > length]
    if deeper:
        names = dict.fromkeys(known[length] for known in deeper)
        parts = ((name, lookup(inner, (*path, name))) for name in names)
        fields = tuple((name, part) for name, part in parts if part is not None)
        whole = exact.value if exact is not None else UNIFORM
        made = least((whole, *(value for _, value in fields)))
        if is_mixed(deeper, path):
            # An object that is read as an array, or the reverse: which part is which is unknown.
            return made._replace(targets=join(slot.value for slot in inner.values()).targets)
        return made._replace(fields=fields, tag=whole.tag)
    # An element whose number is not known may be each of them, and each of them may be it.
    if exact is not None and (len(inner) == 1 or not any("[]" in known for known in (path, *inner))):
        return exact.value
    same = [slot.value for known, slot in inner.items() if len(known) == len(path)]
    if same:
        return join(same)
    shorter = [slot.value for known, slot in inner.items() if len(known) < len(path)]
    if not shorter:
        return None
    value = join(shorter)
    for name in path[max(len(known) for known in inner) :]:
        value = dict(value.fields).get(name, value)
    return value._replace(low=None, high=None, affine=None, tag="")


def narrowed(value: Value, type_name: str) -> Value:
    """Return a value after conversion to its type: in a byte or a float, a thread's number is no longer exact."""
    tag = value.tag if value.tag.startswith(("class:", "group:")) else ""
    if "bool" in type_name and re.search(r"\bbool\b", type_name):
        number = value.number
        return value._replace(
            affine=None,
            low=0 if number is None else int(bool(number)),
            high=1 if number is None else int(bool(number)),
            tag="",
            divisor=1,
        )
    level, _, _, _, targets, fields, why, _, _, numbers = value
    return Value(level, None, None, None, targets, fields, why, 1, tag, numbers)


@lru_cache(maxsize=4096)
def class_name(type_name: str) -> str:
    """Return the name of the class in a type: without its namespaces, arguments and qualifiers."""
    text = re.sub(r"<.*>", "", defined_there(type_name), flags=re.DOTALL)
    words = re.findall(r"[A-Za-z_]\w*", text.rpartition("::")[2])
    words = [word for word in words if word not in ("const", "static", "volatile", "struct", "class", "__restrict__")]
    return words[-1] if words else ""

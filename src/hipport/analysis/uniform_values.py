# SPDX-License-Identifier: Apache-2.0
"""Values of device code in an abstract interpreter: their uniformity, and how they number threads.

The lattice of uniformity is `GRID > BLOCK > groups of 2^k neighbouring threads > varying`. A value of level `n` is the
same in each group of `n` neighbouring threads of a block that are active together, counted from the block's first
thread; `1` is varying, and comes with the reason. A value also has a range of numbers, and an affine form of a thread's
number, from which quotients, masks and comparisons get their levels: `threadIdx.x / 32` is uniform in a warp.

An unknown value is varying: a transfer function raises a level only if arithmetic justifies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from hipport.analysis.block_shapes import BlockShape
from hipport.analysis.built_ins import LANES
from hipport.syntax.preprocessor_values import OPERATIONS

#: Levels: the same value for all threads of a launch, of a block, of a CUDA warp; or each thread has its own.
GRID, BLOCK, WARP, VARYING = 1 << 24, 1 << 16, LANES, 1
#: The number of lanes of AMD's largest wavefront.
WAVEFRONT = 64


class Numbering(Enum):
    """How threads are numbered: in their row of the block, row by row, through the grid, or by rank in a group."""

    ROW = 1
    ROWS = 2
    GRID = 3
    GROUP = 4


class Affine(NamedTuple):
    """`scale * axis + base`: `base` is uniform in a block and a multiple of `aligned` (0 if it is 0)."""

    axis: Numbering
    scale: int = 1
    aligned: int = 0
    #: For GROUP, the number of lanes of the group: the number is the remainder by it.
    size: int = LANES
    of: Numbering = Numbering.GROUP


class Reason(NamedTuple):
    """Why a value is not known to be uniform, and where: bytes of the file `path`, None if unknown."""

    text: str
    start: int = -1
    end: int = -1
    path: object = None

    def __eq__(self, other: object) -> bool:
        # Values that differ only in their reasons are equal, so that a new reason causes no new computation.
        return isinstance(other, Reason)

    def __hash__(self) -> int:
        return 0


class Place(NamedTuple):
    """A part of a variable of a running function: `frame` is its depth in calls."""

    frame: int
    cell: int | str
    path: tuple[str, ...] = ()


#: The part of a union, or of an object with an unnamed one, that stands for all members: they share their bytes.
UNION = "|"
#: Memory that is not followed, among the targets of a pointer that may also point to a variable.
MEMORY = Place(-1, "memory")


class Value(NamedTuple):
    """What is known of a value: its level, its least and greatest number, and how it numbers threads.

    `targets`: the possible targets of a pointer, reference or callable, None if unknown. `fields`: the parts of an
    object that are known by name. `why`: the reason why the level is below BLOCK.
    """

    level: int
    low: int | None = None
    high: int | None = None
    affine: Affine | None = None
    targets: frozenset[object] | None = None
    fields: tuple[tuple[str, Value], ...] = ()
    why: Reason | None = None
    #: A power of two that divides it.
    divisor: int = 1
    #: The built-in value that it is, or a product of such values, which gives a thread's number together with another.
    tag: str = ""
    #: The possible numbers, if there are few and they are the same for a whole launch.
    numbers: tuple[int, ...] = ()

    @property
    def number(self) -> int | None:
        """Its number, if known."""
        return self.low if self.low is not None and self.low == self.high else None

    def at_most(self, level: int, why: Reason | None) -> Value:
        """Return the value with its level limited to `level`, for that reason."""
        if self.number is not None or (self.level <= level and all(each.level <= level for _, each in self.fields)):
            return self
        fields = tuple((name, each.at_most(level, why)) for name, each in self.fields)
        if self.level <= level:
            return self._replace(fields=fields)
        _, low, high, _, targets, _, _, divisor, tag, numbers = self
        return Value(level, low, high, None, targets, fields, why, divisor, tag, numbers)

    def because(self, why: Reason) -> Value:
        """Return the value with another reason."""
        level, low, high, affine, targets, fields, _, divisor, tag, numbers = self
        return Value(level, low, high, affine, targets, fields, why, divisor, tag, numbers)

    def tagged(self, tag: str) -> Value:
        """Return the value with another tag."""
        level, low, high, affine, targets, fields, why, divisor, _, numbers = self
        return Value(level, low, high, affine, targets, fields, why, divisor, tag, numbers)

    def bare(self) -> Value:
        """Return it without the facts that hold only for this very number."""
        return Value(self.level, why=self.why)

    def without_numbers(self) -> Value:
        """Return it with its level and targets alone, also in its parts."""
        fields = tuple((name, each.without_numbers()) for name, each in self.fields)
        return Value(self.level, targets=self.targets, fields=fields, why=self.why)


#: A value that is the same for all threads, of which nothing else is known.
UNIFORM = Value(GRID)


class Blocks(NamedTuple):
    """The blocks in which code runs: their shapes, None if not all launches are seen.

    `assume` is called with each assumption about blocks that are not seen; without it no assumptions are made.
    """

    shapes: tuple[BlockShape, ...] | None
    assume: Callable[[Numbering, int], None] | None


@lru_cache(maxsize=1 << 13)
def constant(number: int) -> Value:
    """Return a number that is the same everywhere."""
    return Value(GRID, number, number, divisor=min(_power_in(number) or BLOCK, BLOCK))


def varying(text: str, span: tuple[int, int] = (-1, -1)) -> Value:
    """Return a varying value, for the reason `text`."""
    return Value(VARYING, why=Reason(text, *span))


def join(values: Iterable[Value]) -> Value:
    """Return the join of values: one of them reaches a place, the same one for all threads."""
    first, *rest = values
    for each in rest:
        if each is first or each == first:
            continue
        least = min(first, each, key=lambda value: value.level)
        low = None if first.low is None or each.low is None else min(first.low, each.low)
        high = None if first.high is None or each.high is None else max(first.high, each.high)
        targets = _join_targets(first, each)
        affine = _join_affine(first, each)
        fields: tuple[tuple[str, Value], ...] = ()
        if first.fields and each.fields:
            other = dict(each.fields)
            fields = tuple((name, join((value, other[name]))) for name, value in first.fields if name in other)
        tag = first.tag if first.tag == each.tag else ""
        divisor = min(first.divisor, each.divisor)
        first = Value(least.level, low, high, affine, targets, fields, least.why, divisor, tag)
    return first


def _join_targets(one: Value, two: Value) -> frozenset[object] | None:
    """The targets of a pointer that is one or the other."""
    if one.targets is None and two.targets is None:
        return None
    targets = (one.targets or frozenset()) | (two.targets or frozenset())
    # A null pointer has no target; another one without known targets points to memory.
    unknown = any(each.targets is None and each.number != 0 for each in (one, two))
    return targets | {MEMORY} if unknown else targets


def _join_affine(one: Value, two: Value) -> Affine | None:
    if one.affine is None or two.affine is None:
        return None
    a, b = one.affine, two.affine
    if (a.axis, a.scale, a.size) != (b.axis, b.scale, b.size):
        return None
    return a._replace(aligned=_least_aligned(a.aligned, b.aligned))


def wider(old: Value, new: Value) -> Value:
    """Return the join of a loop's values before and after an iteration, widened so that it does not grow slowly."""
    both = join((old, new))
    if both == old:
        return old
    low = both.low if both.low == old.low else None
    high = both.high if both.high == old.high else None
    aligned = both.affine
    if aligned is not None and aligned != old.affine and old.affine is not None:
        aligned = aligned._replace(aligned=min(aligned.aligned or 1, 1))
    return both._replace(low=low, high=high, affine=aligned)


def least(values: Iterable[Value]) -> Value:
    """Return a value computed from these in an unknown way."""
    worst: Value | None = None
    for value in values:
        if worst is None or value.level < worst.level:
            worst = value
        for _, part in value.fields:
            if part.level < worst.level:
                worst = part
    return UNIFORM if worst is None else Value(worst.level, why=worst.why)


def _least_aligned(a: int, b: int) -> int:
    return min(each for each in (a, b) if each) if a or b else 0


def _power_in(number: int) -> int:
    """The largest power of two that divides a number; 0 for 0."""
    return number & -number


def group_level(affine: Affine, number: int, blocks: Blocks) -> tuple[int, bool]:
    """Return the uniformity of the quotient of an affine form by `number`.

    And whether it rests on an assumption about blocks that are not seen. `number` is positive.
    """
    if affine.scale <= 0 or number % affine.scale:
        return (VARYING, False)
    steps = number // affine.scale
    aligned = _power_in(steps)
    if affine.aligned and affine.aligned % affine.scale:
        return (VARYING, False)
    if affine.aligned:
        aligned = min(aligned, affine.aligned // affine.scale)
    axis = affine.axis
    if axis is Numbering.GROUP:
        aligned, axis = min(aligned, _power_in(affine.size)), affine.of
    if axis is Numbering.GROUP:
        return aligned, False
    found = []
    for shape in blocks.shapes or ():
        level = _in_block(axis, steps if axis is affine.axis else 1, aligned, shape)
        if level is None:
            break
        found.append(level)
    else:
        if found:
            return min(found), False
    return min(aligned, 1024), True


def _in_block(axis: Numbering, steps: int, aligned: int, block: BlockShape) -> int | None:
    one_row = block.y == block.z == 1
    if axis is Numbering.ROW and one_row:
        return aligned
    if axis is Numbering.ROWS:
        if block.z == 1:
            return aligned
        return min(aligned, _power_in(block.x * block.y)) if block.x and block.y else None
    if block.x is None:
        return None
    if axis is Numbering.ROW and steps >= block.x:
        return BLOCK
    return min(aligned, _power_in(block.x))


def _grouped(affine: Affine, number: int, blocks: Blocks) -> int:
    """The level of a quotient by `number`; records the assumption that it needs."""
    level, assumes = group_level(affine, number, blocks)
    if not assumes or level <= VARYING:
        return level
    if blocks.assume is None:
        return VARYING
    blocks.assume(affine.axis if affine.axis is not Numbering.GROUP else affine.of, level)
    return level


# ---- operators

_COMPARES = frozenset(("<", ">", "<=", ">=", "==", "!="))
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_INTEGER: Mapping[str, Callable[[int, int], int]] = {
    **{sign.decode(): work for sign, work in OPERATIONS.items()},
    "<<": lambda a, b: a << b if 0 <= b < 64 else 1 // 0,
    ">>": lambda a, b: a >> b if 0 <= b < 64 else 1 // 0,
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
}
#: Larger numbers are not followed: their effect depends on their type.
_LARGEST = 1 << 31
#: Products and sums of built-in values, and their results.
_PRODUCTS = {
    frozenset(("blockIdx.x", "blockDim.x")): "block start",
    frozenset(("threadIdx.y", "blockDim.x")): "row start",
    frozenset(("threadIdx.z", "blockDim.y")): "first row of a layer",
    frozenset(("row", "blockDim.x")): "row start",
}
_SUMS = {frozenset(("first row of a layer", "threadIdx.y")): "row"}
_STARTS = {"block start": Numbering.GRID}


def binary(sign: str, one: Value, two: Value, blocks: Blocks) -> Value:
    """Return the result of a binary operator."""
    folded = _folded(sign, one, two, blocks)
    if folded is not None:
        return folded
    b = two.number
    result = least((one, two))
    level = result.level
    low = high = None
    affine = None
    if sign in _COMPARES:
        decided = _decided(sign, one, two)
        if decided is not None:
            return constant(decided)
        level = max(level, _compared(sign, one, two, blocks))
        low, high = 0, 1
    elif sign in ("&&", "||"):
        low, high = 0, 1
    elif sign in ("+", "-"):
        affine = _sum(sign, one, two)
        level = max(level, _without_rest(sign, one, two, blocks))
        low, high = _range(sign, one, two)
    elif sign in ("*", "<<"):
        affine = _product(sign, one, two)
        low, high = _range("*", one, constant(1 << b) if sign == "<<" and b is not None and 0 <= b < 32 else two)
    elif b is not None and (sign in ("/", ">>") or (sign == "&" and b < 0)):
        divisor = b if sign == "/" else 1 << b if sign == ">>" and 0 <= b < 32 else -b if sign == "&" else 0
        if divisor > 0 and (_counts(one) if sign == "/" else _power_in(divisor) == divisor) and one.affine is not None:
            level = max(level, _grouped(one.affine, divisor, blocks))
        if sign != "&" and divisor > 0 and one.low is not None and one.low >= 0:
            low, high = one.low // divisor, None if one.high is None else one.high // divisor
    elif b is not None and b > 0 and (sign == "%" or (sign == "&" and b & (b + 1) == 0)):
        modulus = b if sign == "%" else b + 1
        affine = _rest(one, modulus) if sign == "&" or _counts(one) else None
        low, high = (0, modulus - 1) if sign == "&" or (one.low is not None and one.low >= 0) else (None, modulus - 1)
        if one.affine is not None and one.affine.scale % modulus == 0:
            level = max(level, BLOCK)
    elif sign == "&" and b is not None and b > 0:
        low, high = 0, b
        if one.affine is not None and one.affine.scale == 1:
            # The zero bits at the low end of the mask make groups.
            level = max(level, _grouped(one.affine, _power_in(b), blocks))
    tag = {"*": _PRODUCTS, "+": _SUMS}.get(sign, {}).get(frozenset((one.tag, two.tag)), "")
    why = result.why if level < BLOCK else None
    return Value(level, low, high, affine, why=why, divisor=_divisor(sign, one, two), tag=tag)


def _folded(sign: str, one: Value, two: Value, blocks: Blocks) -> Value | None:
    """The result of an operator for known numbers; None if they are not known."""
    a, b = one.number, two.number
    if two.numbers and b is None and one.level < GRID:
        return join(binary(sign, one, constant(number), blocks) for number in two.numbers)
    if a is not None and b is not None and sign in _INTEGER:
        try:
            number = int(_INTEGER[sign](a, b))
        except ZeroDivisionError:
            return UNIFORM
        return constant(number) if abs(number) <= _LARGEST else UNIFORM
    if sign in ("&", "*", "&&") and 0 in (a, b):
        return constant(0)
    if (one.numbers or two.numbers) and one.level >= GRID and two.level >= GRID:
        made = [
            binary(sign, constant(x), constant(y), blocks)
            for x in (one.numbers if a is None else (a,))
            for y in (two.numbers if b is None else (b,))
        ]
        found = sorted({each.number for each in made if each.number is not None})
        if made and len(found) <= 8 and all(each.number is not None for each in made):
            return join(map(constant, found))._replace(numbers=tuple(found))
    return None


def _counts(value: Value) -> bool:
    """Whether a number is certainly not negative: quotients are rounded towards zero."""
    return value.low is not None and value.low >= 0


def _divisor(sign: str, one: Value, two: Value) -> int:
    """A power of two that divides the result of an operator."""
    if sign == "*":
        return min(one.divisor * two.divisor, BLOCK)
    if sign == "<<":
        return min(one.divisor << min(two.number, 16), BLOCK) if two.number is not None and two.number >= 0 else 1
    if sign in ("+", "-"):
        return min(one.divisor, two.divisor)
    if sign == "&":
        return max(one.divisor, two.divisor)
    return 1


def _decided(sign: str, one: Value, two: Value) -> int | None:
    """The result of a comparison of two ranges, if it is the same for all their numbers."""
    if sign in (">", ">="):
        one, two, sign = two, one, _MIRRORED[sign]
    if None in (one.low, two.low) and None in (one.high, two.high):
        return None
    below = (
        one.high is not None and two.low is not None and (one.high < two.low or (sign == "<=" and one.high == two.low))
    )
    above = (
        one.low is not None and two.high is not None and (one.low > two.high or (sign == "<" and one.low == two.high))
    )
    if sign in ("<", "<="):
        return 1 if below else 0 if above else None
    if below or above:
        return 0 if sign == "==" else 1
    return None


def _compared(sign: str, one: Value, two: Value, blocks: Blocks) -> int:
    """The level of a comparison of a thread's number with a constant: `threadIdx.x < 64`."""
    if one.affine is None and two.affine is not None:
        one, two, sign = two, one, _MIRRORED.get(sign, sign)
    number = two.number
    if one.affine is None or number is None or sign in ("==", "!="):
        return VARYING
    # `x < n` and `x >= n` change between n - 1 and n, the others between n and n + 1.
    edge = number if sign in ("<", ">=") else number + 1
    if edge == 0:
        return VARYING
    return _grouped(one.affine, edge, blocks) if edge > 0 and not one.affine.aligned else VARYING


def _sum(sign: str, one: Value, two: Value) -> Affine | None:
    for value, other in ((one, two), (two, one)):
        affine = value.affine
        if affine is None or other.level < BLOCK or (sign == "-" and value is two):
            continue
        if other.tag in _STARTS and sign == "+" and affine == Affine(Numbering.ROW):
            return Affine(_STARTS[other.tag])
        if other.number == 0:
            return affine
        return affine._replace(aligned=_least_aligned(affine.aligned, other.divisor))
    if sign == "+":
        for value, other in ((one, two), (two, one)):
            if value.affine == Affine(Numbering.ROW) and other.tag == "row start":
                return Affine(Numbering.ROWS)
    return None


def _without_rest(sign: str, one: Value, two: Value, blocks: Blocks) -> int:
    """The level of `i - i % 32`."""
    rest, whole = two.affine, one.affine
    if (
        sign != "-"
        or rest is None
        or whole is None
        or rest.axis is not Numbering.GROUP
        or whole.axis is Numbering.GROUP
    ):
        return VARYING
    if rest.of is whole.axis and whole.scale == 1 and rest.scale == 1 and not rest.aligned and not whole.aligned:
        return _grouped(whole, rest.size, blocks)
    return VARYING


def _product(sign: str, one: Value, two: Value) -> Affine | None:
    for value, other in ((one, two), (two, one)):
        number = other.number
        if value.affine is None or number is None or number <= 0 or (sign == "<<" and (value is two or number > 20)):
            continue
        by = 1 << number if sign == "<<" else number
        return value.affine._replace(scale=value.affine.scale * by, aligned=value.affine.aligned * _power_in(by))
    return None


def _rest(one: Value, modulus: int) -> Affine | None:
    """The rank of a thread in its group: `threadIdx.x % 32`."""
    affine = one.affine
    if (
        affine is None
        or affine.scale != 1
        or (affine.aligned and (affine.aligned % modulus or modulus & (modulus - 1)))
    ):
        return None
    if affine.axis is Numbering.GROUP:
        if affine.size <= modulus:
            return affine
        if affine.size % modulus:
            return None
    return Affine(Numbering.GROUP, 1, 0, modulus, affine.axis if affine.axis is not Numbering.GROUP else affine.of)


def _range(sign: str, one: Value, two: Value) -> tuple[int | None, int | None]:
    if None in (one.low, one.high, two.low, two.high):
        if sign == "+" and one.low is not None and two.low is not None:
            return one.low + two.low, None
        if sign == "*" and (one.low or 0) >= 0 and (two.low or 0) >= 0 and None not in (one.low, two.low):
            return one.low * two.low, None  # type: ignore[operator]
        return None, None
    ends = [_INTEGER[sign](a, b) for a in (one.low, one.high) for b in (two.low, two.high)]  # type: ignore[arg-type]
    low, high = min(ends), max(ends)
    # A negative number becomes a large unsigned one.
    return (low, high) if low >= 0 and high <= _LARGEST else (None, None)


def unary(sign: str, one: Value) -> Value:
    """Return the result of a unary operator."""
    number = one.number
    if number is not None and sign in ("-", "+", "!", "~", "not"):
        return constant({"-": -number, "+": number, "!": int(not number), "~": ~number, "not": int(not number)}[sign])
    if sign == "+":
        return one
    if sign in ("!", "not"):
        return Value(one.level, 0, 1, why=one.why)
    return one.bare()

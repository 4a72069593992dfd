# SPDX-License-Identifier: Apache-2.0
"""Compare arrays: the tolerance for numbers of a type, the differences of two arrays, and what a tolerance hides.

Loaded by run_cases.py in the interpreter that has NumPy; it must not need hipport.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

numpy: Any = importlib.import_module("numpy")

#: The distance from 1 to the next number of a type. NumPy lacks some of them: values of such a type are stored in 32
#: bits, and the name of the type is given separately.
UNITS = {
    "float64": 2.0**-52,
    "complex128": 2.0**-52,
    "float32": 2.0**-23,
    "complex64": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float8_e4m3fn": 2.0**-3,
    "float8_e4m3fnuz": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "float8_e5m2fnuz": 2.0**-2,
}
#: By how many times the original's differences in other orders of its threads a port may differ.
SPREADS = 4.0
# Units of a value for the functions that computed it, and of a sum for the square root of its number of terms. Both
# sides compute the same except for the order of sums, so a few units of the largest value are enough.
_FUNCTIONS, _TERMS, _SAME_CODE = 8, 4, 16
# A tolerance causes a warning above this multiple of the type's tolerance, because fast functions are less precise; but
# not below this part of a value, unless its type is that coarse.
_MUCH, _COARSE = 16, 1 / 32


class ArrayTolerance(NamedTuple):
    """By how much a value may differ from the expected one: by `relative` times that, plus `absolute`.

    `origin` says where it comes from. `own` is the tolerance of the type alone: a value whose error exceeds both itself
    and `own` is wrong, whatever a case allows. `spread` is, for each value, the difference of the original from itself.
    """

    relative: float
    absolute: float
    origin: str
    own: tuple[float, float] = (0.0, 0.0)
    warning: str = ""
    spread: Any = None


def type_of(value: Any) -> str:
    """Return the name of the type of an array or a tensor."""
    return str(value.dtype).rpartition("torch.")[2]


def unit_of(*types: str) -> float:
    """Return the distance from 1 to the next number of the coarsest of some types; 0 for integers."""
    return max((UNITS.get(each, 0.0) for each in types), default=0.0)


def largest(array: Any) -> float:
    """Return the largest finite absolute value."""
    array = numpy.asarray(array)
    if not numpy.issubdtype(array.dtype, numpy.inexact):
        return 0.0
    finite = numpy.abs(array[numpy.isfinite(array)]).astype("float64")
    return float(finite.max()) if finite.size else 0.0


def of_type(unit: float, terms: int, scale: float, *, same_code: bool) -> tuple[float, float]:
    """Return the tolerance of values of a type, (relative, absolute), if each is a sum of at most `terms` numbers.

    The error of such a sum grows with the square root of their number, and with its largest values (`scale`). Types of
    16 and fewer bits are added in 32, and rounded on the way. If the `same_code` computed both, only the order of sums
    differs.
    """
    added = min(unit, UNITS["float32"])
    if same_code:
        return _FUNCTIONS * unit, _SAME_CODE * added * scale
    return _FUNCTIONS * unit, max(_TERMS * added * max(1, terms) ** 0.5, 2 * unit if unit > added else 0.0) * scale


def _much(own: float, of: float) -> float:
    return min(_MUCH * own, max(2 * own, _COARSE * of))


def tolerance_for(
    given: tuple[float, float] | None,
    types: tuple[str, str],
    expected: Any,
    about: Mapping[str, Any],
    *,
    of_case: bool,
    same_code: bool,
) -> ArrayTolerance | None:
    """Return the tolerance of an output: that of the case, or else that of its type. None means equal.

    `types` are those of the output and of the expected value. `about` has the number of `terms` and the `scale` of the
    case's inputs. An output that a case with tolerances does not name has to be equal.
    """
    unit = unit_of(*types) if same_code else unit_of(types[0]) or unit_of(types[1])
    if not unit or (of_case and given is None):
        return None
    kind = types[0] if unit_of(types[0]) == unit else types[1]
    terms, scale = int(about["terms"]), largest(expected)
    if given is None:
        relative, absolute = of_type(unit, terms, scale, same_code=same_code)
        sums = "sums in another order" if same_code else f"sums of at most {terms} numbers"
        return ArrayTolerance(relative, absolute, f"{kind} and {sums}", (relative, absolute))
    scale = max(scale, float(about["scale"]))
    own = of_type(unit, terms, scale, same_code=same_code)
    relative, absolute = given
    added = of_type(unit, terms, scale, same_code=False)[1]
    most = own[0] + added / (scale or 1.0), added
    warning = ""
    if relative > _much(most[0], 1.0) or absolute > _much(most[1], scale):
        warning = (
            f"the case allows {relative:.2g} of a value and {absolute:.2g}; {kind} and sums of at most {terms} numbers "
            f"come to {most[0]:.2g} of it and {most[1]:.2g}"
        )
    return ArrayTolerance(relative, absolute, "the case's", own, warning)


def compare(output: Any, expected: Any, tolerance: ArrayTolerance | None) -> dict[str, Any]:
    """Return the differences of two arrays, as JSON values; `why` is empty if they agree.

    Without a tolerance they must be equal, and of equal types. NaN equals only NaN; integers are exact.
    """
    output, expected = numpy.asarray(output), numpy.asarray(expected)
    result: dict[str, Any] = {"absolute": 0.0, "relative": 0.0, "where": None, "count": 0, "size": int(expected.size)}
    if output.shape != expected.shape:
        return {**result, "why": f"shape {list(output.shape)}, not {list(expected.shape)}"}
    if tolerance is None and output.dtype != expected.dtype:
        return {**result, "why": f"type {output.dtype}, not {expected.dtype}"}
    if not expected.size:
        return {**result, "why": ""}
    floats = numpy.issubdtype(output.dtype, numpy.inexact) or numpy.issubdtype(expected.dtype, numpy.inexact)
    if floats:
        error, ratio, allowed, close = _floats(output, expected, tolerance or ArrayTolerance(0.0, 0.0, "equal"))
    else:
        close = output == expected
        with numpy.errstate(all="ignore"):
            error = numpy.abs(output.astype("float64") - expected.astype("float64"))
            ratio = numpy.where(error == 0, 0.0, error / numpy.abs(expected.astype("float64")))
        error = numpy.where(close, 0.0, numpy.maximum(error, 1e-300))
        allowed = numpy.zeros(error.shape)
    # The worst among those beyond the tolerance, because these are wrong.
    shown = numpy.where(close, -1.0, error) if not close.all() else error
    worst = numpy.unravel_index(int(numpy.argmax(shown)), shown.shape)
    result.update(
        absolute=_number(error.max()),
        relative=_number(ratio.max()),
        where=[int(i) for i in worst],
        count=int((~close).sum()),
        output=_shown(output[worst]),
        expected=_shown(expected[worst]),
        why="",
    )
    if not close.all():
        result["why"] = f"{result['count']} of {close.size} values differ"
        hidden = ~close & (error <= allowed)
        if hidden.any():
            result["why"] += f", {int(hidden.sum())} of them by more than themselves, which no tolerance hides"
    if floats:
        result["tolerance"] = _used(tolerance or ArrayTolerance(0.0, 0.0, "equal"), error, ratio, allowed, close)
    return result


def _floats(output: Any, expected: Any, tolerance: ArrayTolerance) -> tuple[Any, Any, Any, Any]:
    """Return errors, relative errors, the allowed errors, and which values are close."""
    wide = "complex128" if numpy.issubdtype(output.dtype, numpy.complexfloating) else "float64"
    a, b = output.astype(wide), expected.astype(wide)
    with numpy.errstate(all="ignore"):
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        error = numpy.where(same, 0.0, numpy.abs(a - b))
        error = numpy.where(numpy.isnan(error), numpy.inf, error)
        size = numpy.abs(b)
        ratio = numpy.where(same, 0.0, error / size)
        ratio = numpy.where(numpy.isnan(ratio), numpy.inf, ratio)
        # A value that the type cannot distinguish from zero has no relative error.
        ratio = numpy.where((size <= tolerance.own[1]) & (error <= tolerance.own[1]), 0.0, ratio)
        spread = 0.0 if tolerance.spread is None else SPREADS * tolerance.spread
        allowed = numpy.maximum(tolerance.absolute + tolerance.relative * size, spread)
        # A tolerance larger than a small number does not make it correct.
        own = numpy.maximum(tolerance.own[1] + tolerance.own[0] * size, spread)
        is_other = (error >= size) & (error > own) if tolerance.origin != "equal" else numpy.zeros(size.shape, bool)
        # The tolerance of an infinity would be infinite.
        close = same | (numpy.isfinite(b) & (error <= allowed) & ~is_other)
    return error, ratio, allowed, close


def _used(tolerance: ArrayTolerance, error: Any, ratio: Any, allowed: Any, close: Any) -> dict[str, Any]:
    """Return a tolerance, with the value that comes nearest to it or exceeds it most."""
    with numpy.errstate(all="ignore"):
        part = numpy.where(error == 0, 0.0, error / numpy.where(allowed == 0, 1e-300, allowed))
    beyond = not close.all()
    if beyond:
        part = numpy.where(close, -1.0, part)
    place = numpy.unravel_index(int(numpy.argmax(part)), part.shape)
    return {
        "origin": tolerance.origin,
        "relative": tolerance.relative,
        "absolute": tolerance.absolute,
        "count": int((~close).sum() if beyond else (error != 0).sum()),
        "error": _number(error[place]),
        "error_relative": _number(ratio[place]),
        "where": [int(i) for i in place],
        "warning": tolerance.warning,
    }


def with_spread(tolerance: ArrayTolerance | None, spread: Any) -> ArrayTolerance | None:
    """Return a tolerance that includes the original's differences in other orders of its threads."""
    if tolerance is None or spread is None or not spread.any():
        return tolerance
    origin = f"{tolerance.origin}, or {SPREADS:g} times the original's own in other orders of its threads"
    return tolerance._replace(origin=origin, spread=spread)


def spread_of(one: Any, other: Any) -> Any:
    """Return, for each value, the difference of two outputs of the original where both are numbers."""
    with numpy.errstate(all="ignore"):
        error = numpy.abs(one.astype("float64") - other.astype("float64"))
    return numpy.where(numpy.isfinite(error), error, 0.0)


def _number(value: Any) -> float | str:
    value = float(value)
    # JSON has no infinity.
    return value if numpy.isfinite(value) else "inf"


def _shown(value: Any) -> str:
    return str(value.item() if hasattr(value, "item") else value)

# SPDX-License-Identifier: Apache-2.0
"""Find the numbers in a printed line: which of them are times, and by how much others may differ."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hipport.core.tables import load, one_of

#: The tolerance of decimal numbers: the last of six digits, which is about the error of single-precision sums in
#: another order. A GPU has its own functions and fused operations, and gets a larger tolerance.
RELATIVE, RELATIVE_ON_GPU = 1e-5, 1e-3
#: The tolerance of a number that its line calls an error: the remainder for results that agree up to rounding.
LEFT_OVER = 1e-6
#: The factor for the difference of the original from itself in other orders of its threads. A few orders show only a
#: part of the possible sums, and the port's wavefronts add in orders of their own.
SPREADS = 4.0
#: Whole numbers below this are counts, even if they are printed as decimals: sums of them have no rounding errors.
WHOLE = 2.0**24
#: The last digit says something about rounding if it is a small part of the number; or, for zero, if it is far behind
#: the point.
_PART, _DECIMALS_OF_ZERO = 1e-3, 6

# A port prints HIP's names of errors.
_HIP_NAME = re.compile(r"\bhip(?=(?:Error|Success))")
_WORDS = load(Path(__file__).with_name("printed_words.toml"))
_PREFIX = f"{one_of(_WORDS['rates']['prefixes'])}?"
# Units of throughput; a velocity (m/s) is a result.
_RATE = (
    rf"(?:{_PREFIX}i?{one_of(_WORDS['rates']['amounts'])}/{one_of(_WORDS['rates']['seconds'])}"
    rf"|{_PREFIX}{one_of(_WORDS['rates']['units'])}|{one_of(_WORDS['rates']['alone'])})"
)
_UNIT = rf"(?:{one_of(_WORDS['times']['units'])}|{_RATE})(?![A-Za-z0-9_])"
# Digits inside a word (`lane5`, a digest) are not a number that could be rounded; nor are hexadecimal ones.
_TOKEN = re.compile(
    rf"""
    (?P<hex> (?<![A-Za-z0-9_]) 0[xX][0-9a-fA-F]+ (?![0-9a-fA-F]*\.) )
  | (?P<number>
      (?: (?<![\w.)\]]) [-+] | (?<![\w.]) )
      (?: (?: \d+\.\d* | \.\d+ | \d+ (?=[eE][-+]) ) (?: [eE][-+]?\d+ (?= (?![\w.]) | {_UNIT} ) )? | \d+ )
      (?: (?P<unit> [ \t]* [\[(]? {_UNIT} [\])]? ) )?
    )
  | (?P<nan> [-+]? (?<![A-Za-z0-9_]) (?i:nan|inf(?:inity)?) (?![A-Za-z0-9_]) )
  | (?P<digits> \d+ )
    """,
    re.VERBOSE | re.ASCII,
)
# Text before a number that is a duration or a speed.
_TIME = re.compile(
    r"(?:(?<![A-Za-z])[Tt]ime|(?<=[a-z0-9])Time|TIME|[Rr]untime)"
    r"(?!s\b(?!\s*[:=(]))(?!s?[ _-]?[Ss]teps?|stamp)"
    rf"|(?i:\b(?:{one_of(_WORDS['times']['words'])}|{_RATE})\b)"
    rf"|(?<![A-Za-z])[\[(]{one_of(_WORDS['times']['in_brackets'])}[\])]|(?<=[_ ])(?:ms|us|ns)\b(?=\s*[:=])"
)
_CLAUSE = re.compile(r"[,;|]|\.\s")
# Separates the parts of one time: 0:03:15, 3.2 ± 0.1.
_GOES_ON = re.compile(r"\s*(?::|±|\+/?-|-|/)\s*")
# Text that ends a line's label for the number of lanes of the device's wavefronts.
_WARP_SIZE = re.compile(rf"\b{one_of(_WORDS['lanes']['labels'])}\W*$", re.IGNORECASE)
_ERRORS = _WORDS["errors"]
_ERROR = re.compile(
    rf"(?i:{one_of(_ERRORS['endings'])}\b|{one_of(_ERRORS['parts'])}|\b{one_of(_ERRORS['words'])}\b)|[a-z]Diff\b"
)


@dataclass(frozen=True)
class PrintedToken:
    """A number in a line: its text, its `kind`, and the label between it and the number before.

    `kind` is `exact`, `number` or `time`.
    """

    text: str
    kind: str
    label: str

    @property
    def is_whole(self) -> bool:
        """Whether it is printed as an integer, which a floating-point value may be, with lost digits."""
        return self.text.lstrip("+-").isdigit()

    def off(self, other: PrintedToken) -> float:
        """Return the absolute difference of two numbers."""
        if self.is_whole and other.is_whole:
            return float(abs(int(self.text) - int(other.text)))
        return abs(float(self.text) - float(other.text))


@dataclass(frozen=True)
class Line:
    """A line in its parts: the `shape`, which is the text with a mark in place of each number, and the numbers."""

    shape: str
    tokens: tuple[PrintedToken, ...]

    def says_the_same(self, other: Line) -> bool:
        """Whether two lines are equal to the last digit, except for times."""
        own, others = ([t.text for t in each.tokens if t.kind != "time"] for each in (self, other))
        return self.shape == other.shape and own == others


@dataclass(frozen=True)
class Allowed:
    """The tolerance for two numbers, and its reason in `why`."""

    absolute: float
    why: str


def as_cuda(line: str) -> str:
    """Return a line with HIP's names of errors replaced by CUDA's."""
    return _HIP_NAME.sub("cuda", line)


@functools.lru_cache(maxsize=65536)
def read(line: str) -> Line:
    """Return the parts of a line."""
    line = as_cuda(line)
    tokens: list[PrintedToken] = []
    shape: list[str] = []
    end = 0
    for match in _TOKEN.finditer(line):
        label = line[end : match.start()]
        # The width of a number determines the number of blanks before it.
        shape += [re.sub(r"[ \t]+$", " ", re.sub(r"^[ \t]+", " ", label) if tokens else label), "#"]
        end = match.end()
        text, unit = match[0], match["unit"]
        kind = "exact" if match["hex"] or match["digits"] else "number"
        if unit:
            text = text[: len(text) - len(unit)]
        if kind == "number" and (unit or _tells_a_time(label, tokens)):
            kind = "time"
        tokens.append(PrintedToken(_without_sign(text) if match["nan"] else text, kind, label))
    rest = line[end:]
    shape.append(re.sub(r"^[ \t]+", " ", rest) if tokens else rest)
    return Line("".join(shape), tuple(tokens))


def _without_sign(text: str) -> str:
    """Drop the sign of a NaN, which depends on the processor; an infinity keeps its sign."""
    lower = text.lower().lstrip("+")
    return "nan" if lower.endswith("nan") else lower.replace("infinity", "inf")


def _tells_a_time(label: str, before: Sequence[PrintedToken]) -> bool:
    if before and before[-1].kind == "time" and _GOES_ON.fullmatch(label):
        return True
    return _TIME.search(_CLAUSE.split(label)[-1]) is not None


def same(one: PrintedToken, two: PrintedToken) -> bool:
    """Whether two numbers are equal as printed. Zero may have a sign, which rounding to few decimals produces."""
    if one.text == two.text:
        return True
    if "exact" in (one.kind, two.kind):
        return False
    if one.is_whole and two.is_whole:
        return int(one.text) == int(two.text) and (int(one.text) != 0 or one.text[0] == two.text[0] != "-")
    u, v = float(one.text), float(two.text)
    return u == v and (u != 0 or one.text.startswith("-") == two.text.startswith("-"))


def is_warp_size(one: PrintedToken, two: PrintedToken) -> bool:
    """Whether these are the wavefront sizes of the devices, in a port and in the original."""
    return (one.text, two.text) == ("64", "32") and _WARP_SIZE.search(two.label) is not None


def allowed(one: PrintedToken, two: PrintedToken, spread: float | None = None, relative: float = RELATIVE) -> Allowed:
    """Return the tolerance for two numbers as printed; 0 for integers.

    `spread` is the difference of the original from itself in other orders of its threads, if there is one.
    """
    if "exact" in (one.kind, two.kind):
        return Allowed(0.0, "exact")
    u, v = float(one.text), float(two.text)
    if u == v == 0:
        # Zeros with different signs: a rounded number, or a property of the original as well.
        rounded = min(_decimals(one.text), _decimals(two.text)) > 3
        return Allowed(0.0, "rounded to zero") if rounded or spread is not None else Allowed(-1.0, "exact")
    if not (math.isfinite(u) and math.isfinite(v)):
        return Allowed(-1.0, "exact")
    if _is_count(one, u) and _is_count(two, v):
        return Allowed(0.0, "exact")
    found = [
        Allowed(relative * max(abs(u), abs(v)), f"{relative:g} of the number, as stated"),
        Allowed(_last_digit(one.text, two.text, relative), "the last digit printed"),
        Allowed(SPREADS * (spread or 0.0), f"{SPREADS:g} times the original's own in other orders of its threads"),
    ]
    if _ERROR.search(two.label):
        found.append(Allowed(LEFT_OVER, f"{LEFT_OVER:g}, as the line tells an error"))
    return max(found, key=lambda each: each.absolute)


def _is_count(token: PrintedToken, number: float) -> bool:
    """Whether a number is an unrounded integer, although it may be printed as a decimal."""
    return token.is_whole or ("e" not in token.text.lower() and number.is_integer() and abs(number) < WHOLE)


def _decimals(text: str) -> int:
    return 0 if "e" in text.lower() else len(text.partition(".")[2])


def _unit_of(text: str) -> float:
    """Return the value of a unit in the last digit of a number; 0 without a decimal point."""
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - digits) if digits else 0.0


def _last_digit(one: str, two: str, relative: float) -> float:
    """Return the value of a unit in the last digit of two numbers, if it says something about rounding."""
    units = (_unit_of(one), _unit_of(two))
    u, v = abs(float(one)), abs(float(two))
    if ("e" in one.lower()) != ("e" in two.lower()) or not all(units):
        return 0.0
    unit = max(units)
    fine = unit <= _PART * max(u, v) * (1 + 1e-6)
    beside_zero = min(u, v) == 0 and min(_decimals(one), _decimals(two)) >= _DECIMALS_OF_ZERO
    # On a GPU, for any number with four decimals.
    coarse = relative >= _PART and min(_decimals(one), _decimals(two)) > 3
    return unit * (1 + 1e-6) if fine or beside_zero or coarse else 0.0

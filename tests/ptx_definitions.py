# SPDX-License-Identifier: Apache-2.0
"""The results of PTX instructions by NVIDIA's "PTX ISA", in integers and fractions of any size."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from ptx_columns import FORMATS, ROUNDINGS, SECOND, Column, Format, bits_of, highest, lowest, rounded


def decoded(bits: int, kind: str) -> Fraction | str:
    """Return the value of a number; "nan", "inf" or "-inf" if it is not finite."""
    form = FORMATS[kind]
    value = form.number(bits)
    if value is not None:
        return value
    if bits & form.sign - 1 > form.infinity:
        return "nan"
    return "-inf" if bits & form.sign else "inf"


def special(value: Fraction | str, form: Format) -> int:
    return {"nan": form.nan, "inf": form.infinity, "-inf": form.sign | form.infinity}[str(value)]


def signed(word: int, bits: int) -> int:
    word %= 1 << bits
    return word - (1 << bits) if word >> bits - 1 else word


def flushed(bits: int, kind: str) -> int:
    form = FORMATS[kind]
    return bits if bits & form.infinity else bits & form.sign


def sum_of_products(terms: list[tuple[int, int]], kind: str, direction: str) -> tuple[Fraction | str, bool]:
    """Return the exact sum of products of two numbers each, and its sign if it is zero."""
    form = FORMATS[kind]
    total: Fraction | str = Fraction(0)
    signs = set()
    for a, b in terms:
        x, y = decoded(a, kind), decoded(b, kind)
        negative = bool((a ^ b) & form.sign)
        signs.add(negative)
        if isinstance(x, Fraction) and isinstance(y, Fraction):
            product: Fraction | str = x * y
        elif "nan" in (x, y) or 0 in (x, y):
            product = "nan"
        else:
            product = "-inf" if negative else "inf"
        if isinstance(total, Fraction) and isinstance(product, Fraction):
            total += product
        elif isinstance(total, Fraction):
            total = product
        elif isinstance(product, str) and product != total:
            total = "nan"
    return total, signs == {True} or (len(signs) == 2 and direction == "rm")


def finished(value: Fraction | str, negative_zero: bool, kind: str, modifiers: list[str]) -> int:
    """Round, flush and saturate a result according to the modifiers."""
    form = FORMATS[kind]
    direction = next((each for each in modifiers if each in (*ROUNDINGS, "rna")), "rn")
    if isinstance(value, str):
        result = special(value, form)
    else:
        result = rounded(value, form, direction, negative_zero)
        if "ftz" in modifiers and tiny(value, form, direction):
            result &= form.sign
    if "sat" in modifiers:
        result = saturated(result, form)
    if "relu" in modifiers and result != form.nan and result & form.sign:
        result = 0
    return result


def tiny(value: Fraction, form: Format, direction: str) -> bool:
    """Return whether a result is below the least normal number, if it is rounded with an unlimited exponent."""
    roomy = Format(form.precision, 15)
    least = Fraction(2) ** (1 - form.bias)
    number = roomy.number(rounded(value, roomy, direction, False))
    assert number is not None
    return abs(number) < least


def saturated(bits: int, form: Format) -> int:
    one = form.bias << form.precision - 1
    return 0 if bits > form.nan or form.infinity < bits & form.nan else min(bits, one)


def root(value: Fraction, form: Format) -> Fraction:
    """Return a number that rounds like the square root: with more bits, and a sticky bit for the rest."""
    scale = 4 ** (2 * form.precision + form.bias)
    scaled = value * scale
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(whole * whole) == scaled
    return (Fraction(whole) + (0 if exact else Fraction(1, 2))) / Fraction(2 ** (2 * form.precision + form.bias))


def arithmetic(name: str, kind: str, modifiers: list[str], arguments: list[int]) -> int:
    """An operation of floats, by its definition."""
    form = FORMATS[kind]
    if "ftz" in modifiers:
        arguments = [flushed(each, kind) for each in arguments]
    direction = next((each for each in modifiers if each in ROUNDINGS), "rn")
    one = form.bias << form.precision - 1
    if name in ("add", "sub", "mul", "fma", "mad"):
        a, b, *rest = arguments
        if name == "mul":
            terms = [(a, b)]
        elif name in ("add", "sub"):
            terms = [(a, one), (b, one if name == "add" else one | form.sign)]
        else:
            terms = [(a, b), (rest[0], one)]
        return finished(*sum_of_products(terms, kind, direction), kind, modifiers)
    if name in ("div", "rcp"):
        a, b = arguments if name == "div" else [one, arguments[0]]
        x, y = decoded(a, kind), decoded(b, kind)
        negative = bool((a ^ b) & form.sign)
        infinite = "-inf" if negative else "inf"
        value: Fraction | str
        if isinstance(x, Fraction) and isinstance(y, Fraction) and y:
            value = x / y
        elif "nan" in (x, y) or (isinstance(x, str) and isinstance(y, str)) or (x == 0 and y == 0):
            value = "nan"
        else:
            value = Fraction(0) if isinstance(y, str) else infinite
        return finished(value, negative, kind, modifiers)
    if name == "sqrt":
        x = decoded(arguments[0], kind)
        value = root(x, form) if isinstance(x, Fraction) and x >= 0 else "inf" if x == "inf" else "nan"
        return finished(value, bool(arguments[0] & form.sign), kind, modifiers)
    if name in ("abs", "neg"):
        a = arguments[0]
        return form.nan if decoded(a, kind) == "nan" else a & form.nan if name == "abs" else a ^ form.sign
    assert name in ("min", "max"), name
    values = [decoded(each, kind) for each in arguments]
    if "nan" in values:
        others = [each for each, value in zip(arguments, values, strict=True) if value != "nan"]
        return others[0] if others and "NaN" not in modifiers else form.nan
    # If -0 is below +0, the order of numbers is that of these integers.
    ranks = {each: -(each & form.nan) - 1 if each & form.sign else each for each in arguments}
    return (min if name == "min" else max)(arguments, key=ranks.__getitem__)


COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
COMPARE |= {"lo": COMPARE["lt"], "ls": COMPARE["le"], "hi": COMPARE["gt"], "hs": COMPARE["ge"]}


def compared(name: str, arguments: list[int], kind: str) -> bool:
    if kind not in FORMATS:
        return COMPARE[name](Fraction(arguments[0]), Fraction(arguments[1]))
    values = [decoded(each, kind) for each in arguments]
    if name in ("num", "nan"):
        return ("nan" in values) == (name == "nan")
    if "nan" in values:
        return name.endswith("u")
    infinite = {"inf": Fraction(2) ** 2000, "-inf": -(Fraction(2) ** 2000)}
    numbers = [infinite[value] if isinstance(value, str) else value for value in values]
    return COMPARE[name.removesuffix("u")](*numbers)


def tested(name: str, bits: int, kind: str) -> bool:
    form, value = FORMATS[kind], decoded(bits, kind)
    subnormal = value != 0 and not bits & form.infinity
    return {
        "finite": isinstance(value, Fraction),
        "infinite": value in ("inf", "-inf"),
        "number": value != "nan",
        "notanumber": value == "nan",
        "normal": isinstance(value, Fraction) and not subnormal,
        "subnormal": subnormal,
    }[name]


WHOLE: dict[str, Callable[[Fraction], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def converted(modifiers: list[str], to: str, origin: str, word: int) -> int:
    """A conversion, by its definition."""
    whole = next((WHOLE[each] for each in modifiers if each in WHOLE), None)
    if origin[0] in "us":
        value: Fraction | str = Fraction(word)
        negative = False
    else:
        # Flushing by .ftz only matters here if the result is not a smaller format, because then the GPU does not flush.
        if "ftz" in modifiers and origin == "f32" and to not in ("f16", "bf16"):
            word = flushed(word, origin)
        value, negative = decoded(word, origin), bool(word & FORMATS[origin].sign)
    if to[0] in "us":
        if isinstance(value, str):
            if value == "nan":
                wide = "64" in to or "64" in origin
                return signed(1 << bits_of(to) - 1, bits_of(to) + (to[0] == "u")) if wide else 0
            return highest(to) if value == "inf" else lowest(to)
        result = whole(value) if whole else int(value)
        if origin[0] in "us" and "sat" not in modifiers:
            result %= 1 << bits_of(to)
            return signed(result, bits_of(to)) if to[0] == "s" else result
        return sorted((lowest(to), result, highest(to)))[1]
    if whole and isinstance(value, Fraction):
        value = Fraction(whole(value))
    left = [each for each in modifiers if each != "ftz" or to == "f32"]
    return finished(value, negative, to, left)


def selected(word: int, kind: str, part: str) -> int:
    """Return the part of a word that a selector names."""
    size, at = (32, 0) if not part else (8, 8 * int(part[1])) if part[0] == "b" else (16, 16 * int(part[1]))
    field = word >> at & (1 << size) - 1
    return signed(field, size) if kind[0] == "s" else field


VIDEO: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda x, y: x + y,
    "vsub": lambda x, y: x - y,
    "vabsdiff": lambda x, y: abs(x - y),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda x, y: (x + y + (x + y >= 0)) // 2,
    "vshl": lambda x, y: x << y,
    "vshr": lambda x, y: x >> y,
}


def clamped(value: int, kind: str, bits: int) -> int:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return sorted((low, value, high))[1]


def video(column: Column, row: tuple[int, ...]) -> int:
    """A video instruction, by its definition."""
    name, *modifiers = column.opcode.split(".")
    kind, to = column.arguments, column.result
    c = row[2] % (1 << 32)
    if name[-1] in "24":
        size = 32 // int(name[-1])
        result = c if "add" in modifiers else 0
        for at in range(0, 32, size):
            x, y = (
                signed(word >> at, size) if each[0] == "s" else word >> at & (1 << size) - 1
                for word, each in zip(row[:2], kind[:2], strict=True)
            )
            comparison = modifiers[2] if name.startswith("vset") else ""
            value = int(compared(comparison, [x, y], "s64")) if comparison else VIDEO[name[:-1]](x, y)
            if "sat" in modifiers:
                value = clamped(value, to, size)
            result = result + value if "add" in modifiers else result | value % (1 << size) << at
        return result
    x, y = (selected(word, each, part) for word, each, part in zip(row[:2], kind[:2], column.parts, strict=True))
    if name == "vmad":
        value = -x * y if column.negated == "neg" else x * y
        plain = "s32" not in kind[:2] and column.negated != "neg"
        addend = c if plain else signed(c, 32)
        value += (-addend if column.negated == "negc" else addend) + ("po" in modifiers)
        value >>= 7 if "shr7" in modifiers else 15 if "shr15" in modifiers else 0
        return clamped(value, to, 32) if "sat" in modifiers else value
    if name in ("vshl", "vshr"):
        y = y % 32 if "wrap" in modifiers else min(y, 32)
    value = int(compared(modifiers[2], [x, y], "s64")) if name == "vset" else VIDEO[name](x, y)
    second = modifiers[-1] if modifiers[-1] in SECOND else ""
    size = 8 if second[:1] == "b" else 16 if second[:1] == "h" else 32
    if "sat" in modifiers:
        value = clamped(value, to, size)
    if size < 32:
        at = size * int(second[1])
        mask = (1 << size) - 1 << at
        return value << at & mask | c & ~mask
    # The second operation has the result in the destination's type as its operand.
    value = signed(value, 32) if to == "s32" else value % (1 << 32)
    third = signed(c, 32) if to == "s32" else c
    return {"": value, "add": value + third, "min": min(value, third), "max": max(value, third)}[second]


def integer(name: str, modifiers: list[str], kind: str, arguments: list[int]) -> int:
    """An operation of bits or integers, by its definition."""
    size = bits_of(kind)
    a, b, c = (*arguments, 0, 0, 0)[:3]
    if name in ("bfe", "bfi", "bfind", "brev", "clz", "popc"):
        ones = bin(a % (1 << size))[2:].zfill(size)
        if name == "bfe":
            sign = 0 if kind[0] == "u" or not c else a >> min(b + c - 1, size - 1) & 1
            return sum((a >> b + i & 1 if i < c and b + i < size else sign) << i for i in range(size))
        if name == "bfi":
            position, length = arguments[2:]
            inside = [position <= i < position + length for i in range(size)]
            return sum(((a >> i - position if inside[i] else b >> i) & 1) << i for i in range(size))
        if name == "bfind":
            found = (~a if a < 0 else a).bit_length() - 1
            return found if found < 0 or "shiftamt" not in modifiers else size - 1 - found
        if name == "brev":
            return int(ones[::-1], 2)
        return ones.count("1") if name == "popc" else size - a.bit_length()
    if name in ("shl", "shr"):
        return a << min(b, size) if name == "shl" else a >> min(b, size)
    if name == "shf":
        count = min(c, 32) if "clamp" in modifiers else c % 32
        both = b << 32 | a
        return both << count >> 32 if "l" in modifiers else both >> count
    if name in ("szext", "bmsk"):
        b = b % 32 if "wrap" in modifiers else min(b, 32)
        if name == "bmsk":
            return (1 << b) - 1 << (a % 32 if "wrap" in modifiers else min(a, 32))
        return signed(a, b) if kind[0] == "s" and b else a % (1 << b)
    if name == "fns":
        if c == 0:
            return b if a >> b & 1 else -1
        places = [i for i in (range(b, 32) if c > 0 else range(b, -1, -1)) if a >> i & 1]
        return places[abs(c) - 1] if abs(c) <= len(places) else -1
    if name == "prmt":
        return permuted(modifiers[1] if len(modifiers) > 1 else "", a, b, c)
    if name in ("div", "rem"):
        if b == 0:
            return -1
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if name == "div" else a - quotient * b
    if name in ("mul24", "mad24"):
        a, b = (signed(each, 24) if kind[0] == "s" else each % (1 << 24) for each in (a, b))
        shift = 16
    else:
        shift = size
    simple: dict[str, Callable[[], int]] = {
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
        "not": lambda: ~a,
        "cnot": lambda: int(a == 0),
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "abs": lambda: abs(a),
        "neg": lambda: -a,
        "sad": lambda: c + abs(a - b),
    }
    if name in simple:
        result = simple[name]()
    else:
        assert name in ("mul", "mad", "mul24", "mad24"), name
        result = a * b >> shift if "hi" in modifiers else a * b
        if name.startswith("mad"):
            if "sat" in modifiers:
                # The half of the product has 32 bits before c is added.
                result = signed(result, 32)
            result += c
    if "relu" in modifiers:
        result = max(result, 0)
    return sorted((lowest(kind), result, highest(kind)))[1] if "sat" in modifiers else result


def permuted(mode: str, a: int, b: int, c: int) -> int:
    """Return prmt: the bytes of both words by index; the highest bit of an index selects the sign of the byte."""
    pool = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    n = c & 3
    numbers = {
        "": [c >> 4 * i & 15 for i in range(4)],
        "f4e": [n, n + 1, n + 2, n + 3],
        "b4e": [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
        "rc8": [n] * 4,
        "ecl": [max(i, n) for i in range(4)],
        "ecr": [min(i, n) for i in range(4)],
        "rc16": [2 * (n & 1), 2 * (n & 1) + 1] * 2,
    }[mode]
    taken = [255 * (pool[each & 7] >> 7) if each & 8 else pool[each] for each in numbers]
    return int.from_bytes(bytes(taken), "little")


def carried(name: str, modifiers: list[str], kind: str, arguments: list[int], carry: int) -> tuple[int, int]:
    """Return the result of an instruction with a carry, and the carry after it; a borrow is a carry too."""
    size = bits_of(kind)
    reads = name in ("addc", "subc", "madc")
    if name.startswith("mad"):
        product = arguments[0] * arguments[1]
        a, b = (product >> size if "hi" in modifiers else product), arguments[2]
    else:
        a, b = arguments
    a, b = a % (1 << size), b % (1 << size)
    result = a - b - reads * carry if name.startswith("sub") else a + b + reads * carry
    return result, int(not 0 <= result < 1 << size)


def value(kind: str, word: int) -> int:
    """Return an argument: an integer with its sign, or the bits of a float."""
    if kind == "pred":
        return int(word % (1 << 32) != 0)
    word %= 1 << bits_of(kind)
    return signed(word, bits_of(kind)) if kind[0] == "s" else word


def defined(column: Column, row: tuple[int, ...]) -> int:
    """Return the defined result of the column for the words `row`."""
    name, *modifiers = column.opcode.split(".")
    arguments = [value(kind, word) for kind, word in zip(column.arguments, row, strict=False)]
    kind = column.arguments[0]
    result: int
    if kind in ("u16x2", "s16x2"):
        half = kind[:-2]
        fields = [[value(half, word >> at) for word in row[:2]] for at in (0, 16)]
        parts = [integer(name, modifiers, half, each) % (1 << 16) for each in fields]
        return parts[0] | parts[1] << 16
    if column.result.endswith("x2") and kind.endswith("x2"):
        half = column.result[:-2]
        parts = [arithmetic(name, half, modifiers, [each >> at & 0xFFFF for each in arguments]) for at in (0, 16)]
        return parts[0] | parts[1] << 16
    if column.result.endswith("x2"):
        high, low = (converted(modifiers, column.result[:-2], kind, each) for each in arguments)
        return high << 16 | low
    if name[0] == "v":
        result = video(column, row)
    elif name in ("dp4a", "dp2a"):
        size = 8 if name == "dp4a" else 16
        second = arguments[1] >> 16 if "hi" in modifiers else arguments[1]
        left = [value(f"{kind[0]}{size}", arguments[0] >> at) for at in range(0, 32, size)]
        right = [value(f"{column.arguments[1][0]}8", second >> 8 * i) for i in range(len(left))]
        result = arguments[2] + sum(x * y for x, y in zip(left, right, strict=True))
    elif column.carry:
        result = carried(name, modifiers, kind, arguments, row[3] & 1)[column.carry == "out"]
    elif name == "mov":
        result = sum(each << i * bits_of(kind) for i, each in enumerate(arguments))
    elif name == "cvt" and modifiers[0] == "pack":
        size = bits_of(modifiers[2])
        high, low = (clamped(each, modifiers[2], size) % (1 << size) for each in arguments[:2])
        result = (*arguments, 0)[2] << 2 * size | high << size | low
    elif name == "cvt" and column.result == "tf32":
        result = converted(modifiers, "tf32", kind, arguments[0]) << 13
    elif name == "cvt":
        result = converted(modifiers, column.result, kind, arguments[0])
    elif name == "selp":
        result = arguments[0] if arguments[2] else arguments[1]
    elif name == "slct":
        third = arguments[2]
        if column.arguments[2] == "f32":
            number = decoded(flushed(third, "f32") if "ftz" in modifiers else third, "f32")
            third = 0 if number == "inf" or (isinstance(number, Fraction) and number >= 0) else -1
        result = arguments[0] if third >= 0 else arguments[1]
    elif name == "setp":
        if "ftz" in modifiers:
            arguments = [flushed(each, kind) for each in arguments]
        result = compared(modifiers[0], arguments, kind)
    elif name == "testp":
        result = tested(modifiers[0], arguments[0], kind)
    elif name == "copysign":
        sign = FORMATS[kind].sign
        result = arguments[0] & sign | arguments[1] & (sign - 1)
    elif name == "lop3":
        table = int(column.immediate, 16)
        bits = (4 * (row[0] >> i & 1) + 2 * (row[1] >> i & 1) + (row[2] >> i & 1) for i in range(32))
        result = sum((table >> each & 1) << i for i, each in enumerate(bits))
    elif kind in FORMATS:
        result = arithmetic(name, kind, modifiers, arguments)
    else:
        result = integer(name, modifiers, kind, arguments)
    return kept(column, result)


def kept(column: Column, result: int) -> int:
    """Return a result in the form in which the program stores it."""
    kind = column.stored
    if kind in FORMATS:
        form = FORMATS["f32" if kind == "tf32" else kind]
        return form.nan if result & form.nan > form.infinity else result
    if kind in ("u8", "s8"):
        return result % (1 << 32)
    return result % (1 << bits_of(kind))

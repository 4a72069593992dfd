# SPDX-License-Identifier: Apache-2.0
"""The PTX instructions under test, and their operands."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

# ---- the instructions

CONSTRAINT = {"8": "r", "16": "h", "32": "r", "64": "l"}
UNSIGNED = ("u16", "u32", "u64")


def bits_of(kind: str) -> int:
    """Return the bits of a value of a PTX type."""
    if kind == "pred":
        return 32
    if kind.endswith("x2"):
        return 32
    return 32 if kind == "tf32" else int(re.sub(r"\D+", "", kind))


def lowest(kind: str) -> int:
    return -(1 << bits_of(kind) - 1) if kind[0] == "s" else 0


def highest(kind: str) -> int:
    return (1 << bits_of(kind) - (kind[0] == "s")) - 1


def constraint(kind: str) -> str:
    return {"f32": "f", "f64": "d"}.get(kind) or CONSTRAINT[str(bits_of(kind))]


@dataclass(frozen=True)
class Column:
    """An instruction: its opcode, the PTX types of its result and arguments, and its operands.

    `parts` are the selectors of its first two arguments. If `carry` is "in", the lowest bit of the fourth word is the
    carry; if it is "out", the result is the carry.
    """

    opcode: str
    result: str
    arguments: tuple[str, ...]
    pool: str = "integers"
    parts: tuple[str, ...] = ()
    negated: str = ""
    carry: str = ""
    immediate: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.opcode, *self.parts, self.negated, self.carry, self.immediate)))

    @property
    def merges(self) -> str:
        """Return the selector of the destination, which follows the opcode of a video instruction here."""
        found = re.fullmatch(r"v[a-z]+\..*\.([bh]\d)", self.opcode)
        return found[1] if found else ""

    def call(self) -> str:
        name = self.opcode.replace(".", "_")
        if self.negated:
            name = name.replace("vmad", f"vmad_{self.negated}")
        values = [f"value<{kind}>({letter})" for kind, letter in zip(self.arguments, "abcd", strict=False)]
        for i, part in enumerate(self.parts):
            if part:
                values[i] = f"hipport::ptx::{part}_{self.arguments[i]}(value<unsigned>({'abcd'[i]}))"
        if self.carry:
            result = f"hipport::ptx::{name}({', '.join([*values, 'carry'])})"
            return f"({result}, carry)" if self.carry == "out" else result
        values += [self.immediate] * bool(self.immediate)
        return f"hipport::ptx::{name}({', '.join(values)})"

    def assembler(self) -> str:
        """Return a statement that sets `result`."""
        count = len(self.arguments)
        operands = [f"%{i + 1}" for i in range(count)]
        for i, part in enumerate(self.parts):
            operands[i] += f".{part}" if part else ""
        if self.negated:
            negated = 0 if self.negated == "neg" else 2
            operands[negated] = "-" + operands[negated]
        opcode = self.opcode
        destination = "%0"
        if self.merges:
            opcode = opcode.rpartition(".")[0]
            destination += f".{self.merges}"
        if opcode.startswith("mov."):
            text = f"{opcode} %0, {{{', '.join(operands)}}};"
        elif self.result == "pred":
            text = f"{opcode} p, {', '.join(operands)}; selp.u32 %0, 1, 0, p;"
        else:
            sources = []
            for kind, operand in zip(self.arguments, operands, strict=True):
                sources.append("q" if kind == "pred" else operand)
            sources += [self.immediate] * bool(self.immediate)
            text = f"{opcode} {destination}, {', '.join(sources)};"
        before = "".join(
            f"setp.ne.u32 q, {operand}, 0; "
            for kind, operand in zip(self.arguments, operands, strict=True)
            if kind == "pred"
        )
        if self.carry:
            kind = self.arguments[0]
            register = f".reg .b{bits_of(kind)} t; "
            carry_in = f"%{count + 1}"
            if "sub" in opcode:
                before = f"{register}sub.cc.u32 r, 0, {carry_in}; "
                after = "subc.u32 %0, 0, 0; and.b32 %0, %0, 1;"
            else:
                before = f"{register}add.cc.u32 r, {carry_in}, 0xffffffff; "
                after = "addc.u32 %0, 0, 0;"
            if self.carry == "out":
                text = f"{opcode} t, {', '.join(operands)}; {after}"
            text = before + text
            before = ""
        text = f"{{ .reg .pred p, q; .reg .b32 r; {before}{text} }}"
        inputs = [
            f'"{constraint(kind)}"(value<In_{kind}>({letter}))'
            for kind, letter in zip(self.arguments, "abcd", strict=False)
        ]
        if self.carry:
            inputs.append('"r"(carry)')
        kind = self.stored
        return f'In_{kind} result; asm("{text}" : "={constraint(kind)}"(result) : {", ".join(inputs)});'

    @property
    def stored(self) -> str:
        return "u32" if self.carry == "out" or self.result == "pred" else self.result


INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
ROUNDINGS = ("rn", "rz", "rm", "rp")
APPROXIMATE = re.compile(r"\.approx|\.full")


def joined(*parts: str) -> str:
    return ".".join(filter(None, parts))


def bit_columns() -> Iterator[Column]:
    for size in ("32", "64"):
        unsigned, signed, plain = (f"{kind}{size}" for kind in "usb")
        for kind in (unsigned, signed):
            yield Column(f"bfe.{kind}", kind, (kind, "u32", "u32"), "positions")
            yield Column(f"bfind.{kind}", "u32", (kind,))
            yield Column(f"bfind.shiftamt.{kind}", "u32", (kind,))
        yield Column(f"bfi.{plain}", plain, (plain, plain, "u32", "u32"), "fields")
        yield Column(f"brev.{plain}", plain, (plain,))
        yield Column(f"clz.{plain}", "u32", (plain,))
        yield Column(f"popc.{plain}", "u32", (plain,))
    for size in ("16", "32", "64"):
        plain = f"b{size}"
        for name in ("and", "or", "xor"):
            yield Column(f"{name}.{plain}", plain, (plain, plain))
        for name in ("not", "cnot"):
            yield Column(f"{name}.{plain}", plain, (plain,))
        yield Column(f"shl.{plain}", plain, (plain, "u32"))
        for sign in "bus":
            yield Column(f"shr.{sign}{size}", f"{sign}{size}", (f"{sign}{size}", "u32"))
    for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield Column(joined("prmt.b32", mode), "b32", ("b32", "b32", "b32"))
    for table in ("0x00", "0x1b", "0x80", "0x96", "0xca", "0xe8", "0xfe", "0xff"):
        yield Column("lop3.b32", "b32", ("b32", "b32", "b32"), immediate=table)
    for side, mode in itertools.product("lr", ("wrap", "clamp")):
        yield Column(f"shf.{side}.{mode}.b32", "b32", ("b32", "b32", "u32"))
    for mode in ("wrap", "clamp"):
        yield Column(f"szext.{mode}.u32", "u32", ("u32", "u32"))
        yield Column(f"szext.{mode}.s32", "s32", ("s32", "u32"))
        yield Column(f"bmsk.{mode}.b32", "b32", ("u32", "u32"))
    yield Column("fns.b32", "b32", ("b32", "b32", "s32"), "places")
    yield Column("mov.b32", "b32", ("b16", "b16"))
    yield Column("mov.b64", "b64", ("b32", "b32"))
    yield Column("mov.b64", "b64", ("b16", "b16", "b16", "b16"))


def integer_columns() -> Iterator[Column]:
    for kind in INTEGERS[2:]:
        for name in ("add", "sub", "div", "rem", "min", "max", "mul.lo", "mul.hi"):
            yield Column(f"{name}.{kind}", kind, (kind, kind))
        for name in ("mad.lo", "mad.hi", "sad"):
            yield Column(f"{name}.{kind}", kind, (kind, kind, kind))
        if kind[0] == "s":
            yield Column(f"abs.{kind}", kind, (kind,))
            yield Column(f"neg.{kind}", kind, (kind,))
        if kind[1:] != "64":
            wide = f"{kind[0]}{2 * bits_of(kind)}"
            yield Column(f"mul.wide.{kind}", wide, (kind, kind))
            yield Column(f"mad.wide.{kind}", wide, (kind, kind, wide))
    for name in ("add.sat", "sub.sat", "min.relu", "max.relu"):
        yield Column(f"{name}.s32", "s32", ("s32", "s32"))
    for name in ("add.u", "add.s", "min.u", "min.s", "max.u", "max.s", "min.relu.s", "max.relu.s"):
        kind = f"{name[-1]}16x2"
        yield Column(f"{name}16x2", kind, (kind, kind))
    for name in ("mad.hi.sat", "mad24.hi.sat"):
        yield Column(f"{name}.s32", "s32", ("s32", "s32", "s32"))
    for kind, half in itertools.product(("u32", "s32"), ("lo", "hi")):
        yield Column(f"mul24.{half}.{kind}", kind, (kind, kind))
        yield Column(f"mad24.{half}.{kind}", kind, (kind, kind, kind))
    for kind in INTEGERS[4:]:
        for name in ("add.cc", "addc", "addc.cc", "sub.cc", "subc", "subc.cc"):
            for carry in ("in", "out") if name.endswith("cc") else ("in",):
                yield Column(f"{name}.{kind}", kind, (kind, kind), carry=carry)
        for name, half, end in itertools.product(("mad", "madc"), ("lo", "hi"), ("cc", "")):
            for carry in ("in", "out") if end else ("in",):
                if name + end != "mad":
                    yield Column(joined(name, half, end, kind), kind, (kind, kind, kind), carry=carry)
    for left, right in itertools.product(("u32", "s32"), repeat=2):
        kind = "s32" if "s32" in (left, right) else "u32"
        for name in ("dp4a", "dp2a.lo", "dp2a.hi"):
            yield Column(f"{name}.{left}.{right}", kind, (left, right, kind))


def choice_columns() -> Iterator[Column]:
    for kind in ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"):
        pool = "integers" if kind[0] != "f" else "singles" if kind == "f32" else "doubles"
        yield Column(f"selp.{kind}", kind, (kind, kind, "pred"), pool)
        yield Column(f"slct.{kind}.s32", kind, (kind, kind, "s32"), pool)
        if kind != "f64":
            yield Column(f"slct.{kind}.f32", kind, (kind, kind, "f32"), "singles")
            yield Column(f"slct.ftz.{kind}.f32", kind, (kind, kind, "f32"), "singles")
        if kind[0] != "f":
            names = ["eq", "ne"]
            names += ["lt", "le", "gt", "ge"] if kind[0] != "b" else []
            names += ["lo", "ls", "hi", "hs"] if kind[0] == "u" else []
            for name in names:
                yield Column(f"setp.{name}.{kind}", "pred", (kind, kind))
    for name in "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split():
        yield Column(f"setp.{name}.f32", "pred", ("f32", "f32"), "singles")
        yield Column(f"setp.{name}.ftz.f32", "pred", ("f32", "f32"), "singles")
        yield Column(f"setp.{name}.f64", "pred", ("f64", "f64"), "doubles")
        yield Column(f"setp.{name}.f16", "pred", ("f16", "f16"), "halves")
        yield Column(f"setp.{name}.ftz.f16", "pred", ("f16", "f16"), "halves")
        yield Column(f"setp.{name}.bf16", "pred", ("bf16", "bf16"), "bfloats")


def float_columns() -> Iterator[Column]:
    for name, rounding, ftz, sat in itertools.product(
        ("add", "sub", "mul", "fma", "mad"), ("", *ROUNDINGS), ("", "ftz"), ("", "sat")
    ):
        if name in ("fma", "mad") and not rounding:
            continue
        count = 3 if name in ("fma", "mad") else 2
        yield Column(joined(name, rounding, ftz, sat, "f32"), "f32", ("f32",) * count, "singles")
        if not ftz and not sat:
            yield Column(joined(name, rounding, "f64"), "f64", ("f64",) * count, "doubles")
    for name, rounding in itertools.product(("div", "rcp", "sqrt"), ROUNDINGS):
        count = 2 if name == "div" else 1
        yield Column(f"{name}.{rounding}.f32", "f32", ("f32",) * count, "singles")
        yield Column(f"{name}.{rounding}.ftz.f32", "f32", ("f32",) * count, "singles")
        yield Column(f"{name}.{rounding}.f64", "f64", ("f64",) * count, "doubles")
    for name, rounding, ftz, sat, kind in itertools.product(
        ("add", "sub", "mul"), ("", "rn"), ("", "ftz"), ("", "sat"), ("f16", "f16x2")
    ):
        yield Column(joined(name, rounding, ftz, sat, kind), kind, (kind, kind), "halves")
    for ftz, end, kind in itertools.product(("", "ftz"), ("", "sat", "relu"), ("f16", "f16x2")):
        yield Column(joined("fma.rn", ftz, end, kind), kind, (kind,) * 3, "halves")
    for name, kind in itertools.product(("add", "sub", "mul", "add.rn", "sub.rn", "mul.rn"), ("bf16", "bf16x2")):
        yield Column(f"{name}.{kind}", kind, (kind, kind), "bfloats")
    for name, kind in itertools.product(("fma.rn", "fma.rn.relu"), ("bf16", "bf16x2")):
        yield Column(f"{name}.{kind}", kind, (kind,) * 3, "bfloats")
    for name, nan in itertools.product(("min", "max"), ("", "NaN")):
        for ftz in ("", "ftz"):
            yield Column(joined(name, ftz, nan, "f32"), "f32", ("f32", "f32"), "singles")
            for kind in ("f16", "f16x2"):
                yield Column(joined(name, ftz, nan, kind), kind, (kind, kind), "halves")
        for kind in ("bf16", "bf16x2"):
            yield Column(joined(name, nan, kind), kind, (kind, kind), "bfloats")
        if not nan:
            yield Column(f"{name}.f64", "f64", ("f64", "f64"), "doubles")
    for name, ftz in itertools.product(("abs", "neg"), ("", "ftz")):
        yield Column(joined(name, ftz, "f32"), "f32", ("f32",), "singles")
        for kind in ("f16", "f16x2"):
            yield Column(joined(name, ftz, kind), kind, (kind,), "halves")
        if not ftz:
            yield Column(f"{name}.f64", "f64", ("f64",), "doubles")
            yield Column(f"{name}.bf16", "bf16", ("bf16",), "bfloats")
            yield Column(f"{name}.bf16x2", "bf16x2", ("bf16x2",), "bfloats")
    for kind, pool in (("f32", "singles"), ("f64", "doubles")):
        yield Column(f"copysign.{kind}", kind, (kind, kind), pool)
        for name in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield Column(f"testp.{name}.{kind}", "pred", (kind,), pool)


def approximate_columns() -> Iterator[Column]:
    for name, ftz in itertools.product(("rcp", "rsqrt", "sqrt", "sin", "cos", "lg2", "ex2"), ("", "ftz")):
        yield Column(joined(name, "approx", ftz, "f32"), "f32", ("f32",), "ordinary")
    for name, ftz in itertools.product(("approx", "full"), ("", "ftz")):
        yield Column(joined("div", name, ftz, "f32"), "f32", ("f32", "f32"), "ordinary")
    yield Column("tanh.approx.f32", "f32", ("f32",), "ordinary")
    yield Column("rcp.approx.ftz.f64", "f64", ("f64",), "ordinary_doubles")
    yield Column("rsqrt.approx.ftz.f64", "f64", ("f64",), "ordinary_doubles")
    for name, kind in itertools.product(("ex2.approx", "tanh.approx"), ("f16", "f16x2")):
        yield Column(f"{name}.{kind}", kind, (kind,), "ordinary_halves")
    for name, kind in itertools.product(("ex2.approx.ftz", "tanh.approx"), ("bf16", "bf16x2")):
        yield Column(f"{name}.{kind}", kind, (kind,), "ordinary_bfloats")


def conversion_columns() -> Iterator[Column]:
    pools = {"f16": "halves", "f32": "singles", "f64": "doubles"}
    for to, origin, sat in itertools.product(INTEGERS, INTEGERS, ("", "sat")):
        # PTX has .sat where it can make a difference.
        if not sat or any(not lowest(to) <= limit <= highest(to) for limit in (lowest(origin), highest(origin))):
            yield Column(joined("cvt", sat, to, origin), to, (origin,))
    for to, origin, rounding, ftz, sat in itertools.product(
        INTEGERS, pools, ("rni", "rzi", "rmi", "rpi"), ("", "ftz"), ("", "sat")
    ):
        if not ftz or origin == "f32":
            yield Column(joined("cvt", rounding, ftz, sat, to, origin), to, (origin,), pools[origin])
    for to, origin, rounding, sat in itertools.product(pools, INTEGERS, ROUNDINGS, ("", "sat")):
        yield Column(joined("cvt", rounding, sat, to, origin), to, (origin,))
        if to == "f32":
            yield Column(joined("cvt", rounding, "ftz", sat, to, origin), to, (origin,))
    for kind, rounding, ftz, sat in itertools.product(
        pools, ("", "rni", "rzi", "rmi", "rpi"), ("", "ftz"), ("", "sat")
    ):
        if not ftz or kind == "f32":
            yield Column(joined("cvt", rounding, ftz, sat, kind, kind), kind, (kind,), pools[kind])
    for (to, origin), sat in itertools.product([("f64", "f32"), ("f32", "f16"), ("f64", "f16")], ("", "sat")):
        yield Column(joined("cvt", sat, to, origin), to, (origin,), pools[origin])
        if "f32" in (to, origin):
            yield Column(joined("cvt.ftz", sat, to, origin), to, (origin,), pools[origin])
    for (to, origin), rounding, ftz, sat in itertools.product(
        [("f32", "f64"), ("f16", "f64"), ("f16", "f32")], ROUNDINGS, ("", "ftz"), ("", "sat")
    ):
        if not ftz or "f32" in (to, origin):
            yield Column(joined("cvt", rounding, ftz, sat, to, origin), to, (origin,), pools[origin])
    for rounding, relu in itertools.product(("rn", "rz"), ("", "relu")):
        yield Column(joined("cvt", rounding, relu, "bf16.f32"), "bf16", ("f32",), "singles")
        yield Column(joined("cvt", rounding, relu, "bf16x2.f32"), "bf16x2", ("f32", "f32"), "singles")
        yield Column(joined("cvt", rounding, relu, "f16x2.f32"), "f16x2", ("f32", "f32"), "singles")
        if relu:
            yield Column(joined("cvt", rounding, relu, "f16.f32"), "f16", ("f32",), "singles")
    yield Column("cvt.f32.bf16", "f32", ("bf16",), "bfloats")
    yield Column("cvt.ftz.f32.bf16", "f32", ("bf16",), "bfloats")
    for rounding in ("rna", "rn", "rz"):
        yield Column(f"cvt.{rounding}.tf32.f32", "tf32", ("f32",), "singles")
    for kind in ("u8", "s8"):
        yield Column(f"cvt.pack.sat.{kind}.s32.b32", "b32", ("s32", "s32", "b32"))
    for kind in ("u16", "s16"):
        yield Column(f"cvt.pack.sat.{kind}.s32", "b32", ("s32", "s32"))


SECOND = ("", "add", "min", "max", "b0", "b1", "b2", "b3", "h0", "h1")
SELECTORS = ("", "b0", "b1", "b2", "b3", "h0", "h1")


def video_columns() -> Iterator[Column]:
    types = ("u32", "s32")
    turn = itertools.cycle(itertools.product(SELECTORS, SELECTORS))

    def of(opcode: str, result: str, left: str, right: str) -> Iterator[Column]:
        for second in SECOND:
            arguments = (left, right, result) if second else (left, right)
            yield Column(joined(opcode, second), result, arguments, parts=next(turn))

    for name, to, left, right, sat in itertools.product(
        ("vadd", "vsub", "vabsdiff", "vmin", "vmax"), types, types, types, ("", "sat")
    ):
        yield from of(joined(name, to, left, right, sat), to, left, right)
    for name, to, left, sat, mode in itertools.product(("vshl", "vshr"), types, types, ("", "sat"), ("clamp", "wrap")):
        yield from of(joined(name, to, left, "u32", sat, mode), to, left, "u32")
    for left, right, comparison in itertools.product(types, types, ("eq", "ne", "lt", "le", "gt", "ge")):
        yield from of(f"vset.{left}.{right}.{comparison}", "u32", left, right)
    for to, left, right, sat, shift in itertools.product(types, types, types, ("", "sat"), ("", "shr7", "shr15")):
        for mode in ("", "po", "neg", "negc"):
            signed = mode in ("neg", "negc") or "s32" in (left, right)
            if to == ("s32" if signed else "u32"):
                opcode = joined("vmad", to, left, right, mode if mode == "po" else "", sat, shift)
                negated = mode if mode != "po" else ""
                yield Column(opcode, to, (left, right, to), parts=next(turn), negated=negated)
    for size in "24":
        for name, to, left, right, end in itertools.product(
            ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"), types, types, types, ("", "sat", "add")
        ):
            yield Column(joined(f"{name}{size}", to, left, right, end), to, (left, right, to))
        for left, right, comparison, end in itertools.product(
            types, types, ("eq", "ne", "lt", "le", "gt", "ge"), ("", "add")
        ):
            yield Column(joined(f"vset{size}", left, right, comparison, end), "u32", (left, right, "u32"))


@cache
def columns() -> dict[str, Column]:
    """Return the instructions, by name."""
    families = (
        bit_columns,
        integer_columns,
        choice_columns,
        float_columns,
        approximate_columns,
        conversion_columns,
        video_columns,
    )
    found: dict[str, Column] = {}
    for column in itertools.chain.from_iterable(family() for family in families):
        name = column.name if column.name not in found else f"{column.name} of {len(column.arguments)}"
        assert name not in found, name
        found[name] = column
    return found


# ---- the operands

EDGES = [0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000]
EDGES += [0x7FFFFF, 0x800000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 32]
EDGES += [(1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 2, (1 << 64) - 1, 0x7FFF8000, 0x80007FFF, 0x7F80FF01]


# ---- floating-point numbers


@dataclass(frozen=True)
class Format:
    """A floating-point format: the bits of the significand, with the implicit one, and of the exponent."""

    precision: int
    exponent: int

    @property
    def sign(self) -> int:
        return 1 << self.precision + self.exponent - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.precision - 1

    @property
    def nan(self) -> int:
        return self.sign - 1

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def lowest(self) -> int:
        """The power of two of the last bit of the least number."""
        return 2 - self.bias - self.precision

    def number(self, bits: int) -> Fraction | None:
        """Return the value of a finite number."""
        exponent, low = (bits & self.sign - 1) >> self.precision - 1, bits & (1 << self.precision - 1) - 1
        if exponent == (1 << self.exponent) - 1:
            return None
        significand = low + (1 << self.precision - 1) if exponent else low
        value = Fraction(2) ** (self.lowest + max(exponent, 1) - 1) * significand
        return -value if bits & self.sign else value

    def edges(self) -> list[int]:
        one = self.bias << self.precision - 1
        least_normal = 1 << self.precision - 1
        found = [0, 1, 2, least_normal - 1, least_normal, least_normal + 1, one - 1, one, one + 1]
        found += [one + least_normal // 2, one + least_normal, self.infinity - 1, self.infinity, self.nan]
        found += [3, least_normal // 2, least_normal * (self.precision + 2) - 1]
        found += [one + least_normal * (self.precision - 1)]
        return [sign | each for each in found for sign in (0, self.sign)]

    def random(self, source: random.Random) -> int:
        """Return a number: any, near 1, or with few bits, so that sums are exact, nearly exact or ties."""
        word = source.getrandbits(self.precision + self.exponent)
        if source.random() < 0.7:
            exponent = self.bias + source.randint(-self.precision - 2, self.precision + 2)
            exponent = min(max(exponent, 0), 2 * self.bias)
            word = word & self.sign | exponent << self.precision - 1 | word & (1 << self.precision - 1) - 1
        if source.random() < 0.3:
            word &= -1 << source.randint(1, self.precision - 1)
        return word


FORMATS = {"f16": Format(11, 5), "bf16": Format(8, 8), "tf32": Format(11, 8), "f32": Format(24, 8)}
FORMATS["f64"] = Format(53, 11)


def rounded(value: Fraction, form: Format, direction: str, negative_zero: bool) -> int:
    """Return the bits of the nearest number of the format in the direction; a zero has the given sign."""
    if value == 0:
        return form.sign if negative_zero else 0
    magnitude = abs(value)
    # The exponent of the highest bit; for a quotient, the difference of lengths is at most one off.
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - form.precision + 1, form.lowest)
    down = magnitude // unit
    rest = magnitude / unit - down
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1),
        "rna": rest >= Fraction(1, 2),
        "rz": False,
        "rm": value < 0 and rest > 0,
        "rp": value > 0 and rest > 0,
    }[direction]
    magnitude = (down + up) * unit
    sign = form.sign if value < 0 else 0
    if magnitude >= Fraction(2) ** (form.bias + 1):
        outward = direction in ("rn", "rna") or direction == ("rm" if value < 0 else "rp")
        return sign | (form.infinity if outward else form.infinity - 1)
    if magnitude == 0:
        return sign
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    stored = max(exponent + form.bias, 0)
    if exponent < 1 - form.bias:
        return sign | int(magnitude / Fraction(2) ** form.lowest)
    significand = int(magnitude / Fraction(2) ** (exponent - form.precision + 1))
    return sign | stored << form.precision - 1 | significand & (1 << form.precision - 1) - 1


# The limits of conversions to integers, and to smaller formats.
TURNS = [0.5, 1.5, 2.5, 126.5, 127, 127.5, 128, 254.5, 255, 255.5, 256, 32766.5, 32767.5, 32768, 65504, 65519, 65520]
TURNS += [65534.5, 65535.5, 65536, 2**23 - 0.5, 2**24 - 1, 2**31 - 128, 2**31, 2**32 - 256, 2**32, 2.0**63, 2.0**64]
TURNS += [2.0**62 + 2.0**40, 2.0**64 - 2.0**40, 2.0**-14, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 0.9999, 1.0001]
TURNS += [0.4999, 3e-39, 1e30]


def encoded(value: float, kind: str) -> int:
    """Return the nearest number, finite or not."""
    return rounded(Fraction(value), FORMATS[kind], "rn", False)


def flushed_or_not(form: Format, source: random.Random) -> Iterator[tuple[int, int, int]]:
    """Return rows whose products and sums are near the least normal number."""
    least = 1 << form.precision - 1
    for below, sign, factor in itertools.product(range(-1, 6), (0, form.sign), (2, 3)):
        small = Fraction(factor, 2) * form.number(least) / 2 ** (form.precision + below)  # type: ignore[operator]
        scale = Fraction(2) ** (form.lowest // 2)
        for other in (0, form.sign):
            yield rounded(small / scale, form, "rn", False) | other, rounded(scale, form, "rn", False), least | sign
    found = 0
    while found < 200:
        a = source.randrange(least, 2 * least)
        b = (least * least * 2 - 1) // a
        if least * least * 2 - a * b < least // 2:
            found += 1
            half = form.bias // 2
            exponents = (form.bias - half, form.bias - (form.bias - half))
            sign = source.choice((0, form.sign))
            yield (exponents[0] * least + a - least | sign, exponents[1] * least + b - least, sign)


def float_words(kind: str) -> list[tuple[int, ...]]:
    form, source = FORMATS[kind], random.Random(f"floats {kind}")
    edges = form.edges()
    turns = [sign | encoded(turn, kind) for turn in TURNS for sign in (0, form.sign)]
    rows = [(a, b, source.choice(edges)) for a, b in itertools.product(edges, edges[:28])]
    for turn in turns:
        near = [turn, turn + 1, max(turn - 1, 0)]
        rows += [(each, source.choice(turns), source.choice(turns)) for each in near]
    for _ in range(400):
        rows.append((form.random(source), form.random(source), form.random(source)))
    for _ in range(200):
        # c is near -a * b, so that only a fused product gives the right remainder.
        a, b = form.random(source), form.random(source)
        x, y = form.number(a), form.number(b)
        c = rounded(-x * y, form, source.choice(ROUNDINGS), False) if x is not None and y is not None else 0
        rows.append((a, b, c))
    if kind != "bf16":
        rows += flushed_or_not(form, source)
    if kind in ("f16", "bf16"):
        # Both halves of words.
        other = rows[::-1]
        rows = [(a | x << 16, b | y << 16, c | z << 16) for (a, b, c), (x, y, z) in zip(rows, other, strict=True)]
    return [(*row, source.getrandbits(64)) for row in rows]


def approximated_words(kind: str) -> list[tuple[int, ...]]:
    form, source = FORMATS[kind], random.Random(f"approximations {kind}")
    rows = [(each, source.choice(form.edges())) for each in form.edges()]
    for _ in range(40):
        a, b = (encoded(math.ldexp(source.uniform(-1, 1), source.randint(-12, 7)), kind) for _ in range(2))
        rows.append((a, b))
        rows.append((form.random(source), form.random(source)))
    if kind in ("f16", "bf16"):
        rows = [(a | b << 16, 0) for a, b in rows]
    return [(*row, 0, 0) for row in rows]


@cache
def words() -> dict[str, list[tuple[int, ...]]]:
    """Return the operands of the instructions: rows of four words for each pool."""
    source = random.Random(20)
    integers: list[tuple[int, int, int, int]] = []
    for a, b in itertools.product(EDGES, EDGES[::2]):
        integers.append((a, b, source.choice(EDGES), source.choice(EDGES)))
    for i in range(600):
        row = [source.getrandbits(64) for _ in range(4)]
        if i % 3:
            row[1:3] = source.randint(0, 40), source.randint(0, 40)
        if i % 5 == 0:
            row[0] = -source.randint(0, 300) % (1 << 64)
        integers.append((row[0], row[1], row[2], row[3]))
    # A position and a length are below 256.
    fields = [(a, b, c % 256, d % 256) for a, b, c, d in integers]
    positions = [(a, b % 256, c % 256, d) for a, b, c, d in integers]
    places = [
        (source.getrandbits(32), source.randrange(32), source.randint(-12, 12) % (1 << 32), 0) for _ in range(400)
    ]
    return {
        "integers": [*integers],
        "fields": [*fields],
        "positions": [*positions],
        "places": [*places],
        "singles": float_words("f32"),
        "doubles": float_words("f64"),
        "halves": float_words("f16"),
        "bfloats": float_words("bf16"),
        "ordinary": approximated_words("f32"),
        "ordinary_doubles": approximated_words("f64"),
        "ordinary_halves": approximated_words("f16"),
        "ordinary_bfloats": approximated_words("bf16"),
    }

# SPDX-License-Identifier: Apache-2.0
"""hipport/ptx.h: the arithmetic of every instruction against its definition, and against what an NVIDIA GPU gave.

One program runs every instruction on the same words: as hipport's function on a CPU, as PTX on a GPU. The function's name
follows from the opcode. Of the GPU's results `test_ptx_helpers.json` has a hash for each instruction, and of the
approximations the results themselves. It was made so:

    python tests/test_ptx_helpers.py write FOLDER
    cd FOLDER && nvcc -arch=sm_90a program.cu -o program && ./program
    python tests/test_ptx_helpers.py record FOLDER 'NVIDIA H200, CUDA 13.0'

The definitions are those of NVIDIA's "PTX ISA", written again in integers and fractions of any size.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import hipport
from hipport.toolchain import Toolchain, find

INCLUDE = Path(__file__).parent.parent / "src/hipport/include"
RECORDED = Path(__file__).with_suffix(".json")

# ---- what is run

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
    """An instruction, by its opcode, the PTX types of its result and arguments, and the words that it is run on.

    `parts` are the selectors of its first two arguments. If `carry` is "in", the lowest bit of the fourth word is
    the carry; if it is "out", the result is the carry.
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
        """The selector of the destination, which follows the opcode of a video instruction here."""
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
    """Return what is run, by name."""
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


# ---- the program

PROGRAM = r"""
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
#include "hipport/ptx.h"
#endif
#include <cstdio>
#include <string>
#include <vector>

#if defined(__HIP__)
#define BOTH __host__ __device__
#elif defined(__CUDACC__)
#define BOTH __device__
#else
#define BOTH
#endif

// What an argument is for a function; and, as In_..., for an asm statement, whose registers have 16 bits at least.
@types@

/// The lower bits of a word.
template <typename T>
BOTH T value(u64 word) {
  T result;
  __builtin_memcpy(&result, &word, sizeof(T));
  return result;
}
template <>
BOTH bool value<bool>(u64 word) {
  return static_cast<unsigned>(word) != 0;
}

// What is kept of a result: of a NaN only that it is one.
BOTH u64 nan_or(u64 word, u64 infinity, u64 sign) { return (word & (sign - 1)) > infinity ? sign - 1 : word; }
template <typename Kind>
struct Kept {
  template <typename T>
  static BOTH u64 of(T result) {
    return static_cast<u64>(static_cast<typename Kind::type>(result));
  }
};
#define KIND(name, stored) struct Kind_##name { using type = stored; };
@kinds@
template <>
struct Kept<Kind_f32> {
  static BOTH u64 of(float result) { 
    unsigned word;
    __builtin_memcpy(&word, &result, 4);
    return nan_or(word, 0x7f800000u, 0x80000000u);
  }
};
template <>
struct Kept<Kind_f64> {
  static BOTH u64 of(double result) {
    u64 word;
    __builtin_memcpy(&word, &result, 8);
    return nan_or(word, 0x7ffull << 52, 1ull << 63);
  }
};
template <>
struct Kept<Kind_tf32> {
  static BOTH u64 of(unsigned result) { return nan_or(result, 0x7f800000u, 0x80000000u); }
};
#define HALF(kind, infinity)                                                                             \
  template <>                                                                                            \
  struct Kept<Kind_##kind> {                                                                             \
    static BOTH u64 of(unsigned short result) { return nan_or(result, infinity, 0x8000u); }              \
  };                                                                                                     \
  template <>                                                                                            \
  struct Kept<Kind_##kind##x2> {                                                                         \
    static BOTH u64 of(unsigned result) {                                                                \
      return nan_or(result & 0xffffu, infinity, 0x8000u) | nan_or(result >> 16, infinity, 0x8000u) << 16; \
    }                                                                                                    \
  };
HALF(f16, 0x7c00u)
HALF(bf16, 0x7f80u)

struct Words {
  u64 of[4];
};
struct Place {
  u64* results;
  long rows, row;
  BOTH void put(long column, u64 result) const { results[column * rows + row] = result; }
};

@chunks@

struct Pool {
  const char* name;
  long columns;
  std::vector<void (*)(const Words*, u64*, long)> chunks;
};

int main() {
  const std::vector<Pool> pools = {
@pools@
  };
  for (const Pool& pool : pools) {
    std::FILE* file = std::fopen((std::string(pool.name) + ".words").c_str(), "rb");
    std::fseek(file, 0, SEEK_END);
    std::vector<Words> words(std::ftell(file) / sizeof(Words));
    std::rewind(file);
    if (std::fread(words.data(), sizeof(Words), words.size(), file) != words.size()) return 1;
    std::fclose(file);
    const long rows = long(words.size());
    std::vector<u64> results(rows * pool.columns);
#if defined(__CUDACC__) && !defined(__HIP__)
    Words* there;
    u64* made;
    cudaMalloc(&there, words.size() * sizeof(Words));
    cudaMalloc(&made, results.size() * 8);
    cudaMemcpy(there, words.data(), words.size() * sizeof(Words), cudaMemcpyDefault);
    for (auto chunk : pool.chunks) chunk<<<unsigned(rows + 63) / 64, 64>>>(there, made, rows);
    const cudaError_t error = cudaMemcpy(results.data(), made, results.size() * 8, cudaMemcpyDefault);
    if (error != cudaSuccess) {
      std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
      return 1;
    }
#else
    for (auto chunk : pool.chunks) chunk(words.data(), results.data(), rows);
#endif
    file = std::fopen((std::string(pool.name) + ".results").c_str(), "wb");
    std::fwrite(results.data(), 8, results.size(), file);
    if (std::fclose(file)) return 1;
  }
}
"""

CHUNK = """
static BOTH void run_@number@(const Words& words, const Place& place) {
  const u64 a = words.of[0], b = words.of[1], c = words.of[2], d = words.of[3];
  (void)a, (void)b, (void)c, (void)d;
  unsigned carry = d & 1u;
  (void)carry;
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
@calls@
#else
@assembler@
#endif
}
#if (defined(__CUDACC__) && !defined(__HIP__)) || defined(__HIP_DEVICE_COMPILE__)
__global__ void chunk_@number@(const Words* words, u64* results, long rows) {
  const long row = blockIdx.x * long(blockDim.x) + threadIdx.x;
  if (row < rows) run_@number@(words[row], Place{results, rows, row});
}
#else
static void chunk_@number@(const Words* words, u64* results, long rows) {
  for (long row = 0; row < rows; ++row) run_@number@(words[row], Place{results, rows, row});
}
#endif
"""

TYPES = {
    "u8": ("unsigned char", "unsigned"),
    "s8": ("signed char", "int"),
    "b8": ("unsigned char", "unsigned"),
    "u16": ("unsigned short",),
    "s16": ("short",),
    "b16": ("unsigned short",),
    "u32": ("unsigned",),
    "s32": ("int",),
    "b32": ("unsigned",),
    "u64": ("unsigned long long",),
    "s64": ("long long",),
    "u16x2": ("unsigned",),
    "s16x2": ("unsigned",),
    "b64": ("unsigned long long",),
    "f16": ("unsigned short",),
    "bf16": ("unsigned short",),
    "f16x2": ("unsigned",),
    "bf16x2": ("unsigned",),
    "tf32": ("unsigned",),
    "f32": ("float",),
    "f64": ("double",),
    "pred": ("bool", "unsigned"),
}


@cache
def pools() -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    for column in columns().values():
        found.setdefault(column.pool, []).append(column)
    return found


def program() -> str:
    types, kinds = [], []
    for kind, spellings in TYPES.items():
        types += [f"using {kind} = {spellings[0]};", f"using In_{kind} = {spellings[-1]};"]
        # A result of 8 bits fills the register.
        stored = {"s8": "u32", "s16": "u16", "s32": "u32"}.get(kind, f"In_{kind}")
        kinds.append(f"KIND({kind}, {stored})")
    chunks: list[str] = []
    listed = []
    for pool, members in pools().items():
        first = len(chunks)
        for start in range(0, len(members), 64):
            calls, assembler = [], []
            for i, column in enumerate(members[start : start + 64], start):
                kept = f"place.put({i}, Kept<Kind_{column.stored}>::of(@));"
                calls.append(f"  {{ carry = d & 1u; {kept.replace('@', column.call())} }}")
                assembler.append(f"  {{ {column.assembler()} {kept.replace('@', 'result')} }}")
            chunks.append(
                CHUNK.replace("@number@", str(len(chunks)))
                .replace("@calls@", "\n".join(calls))
                .replace("@assembler@", "\n".join(assembler))
            )
        numbers = ", ".join(f"chunk_{number}" for number in range(first, len(chunks)))
        listed.append(f'    {{"{pool}", {len(members)}, {{{numbers}}}}},')
    text = PROGRAM.replace("@types@", "\n".join(types)).replace("@kinds@", "\n".join(kinds))
    return text.replace("@chunks@", "".join(chunks)).replace("@pools@", "\n".join(listed))


# ---- the words

EDGES = {
    "integers": [0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000]
    + [0x7FFFFF, 0x800000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 32]
    + [(1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 2, (1 << 64) - 1, 0x7FFF8000, 0x80007FFF, 0x7F80FF01],
}


@dataclass(frozen=True)
class Format:
    """A format of floating-point numbers: bits of a significand, with the one that is not stored, and of an exponent."""

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
        found += [3, least_normal // 2, least_normal * (self.precision + 2) - 1, one + least_normal * (self.precision - 1)]
        return [sign | each for each in found for sign in (0, self.sign)]

    def random(self, source: random.Random) -> int:
        """Return a number: of all, or near 1, or with few bits, so that sums are exact, near or ties."""
        word = source.getrandbits(self.precision + self.exponent)
        if source.random() < 0.7:
            exponent = self.bias + source.randint(-self.precision - 2, self.precision + 2)
            exponent = min(max(exponent, 0), 2 * self.bias)
            word = word & self.sign | exponent << self.precision - 1 | word & (1 << self.precision - 1) - 1
        if source.random() < 0.3:
            word &= -1 << source.randint(1, self.precision - 1)
        return word


FORMATS = {"f16": Format(11, 5), "bf16": Format(8, 8), "tf32": Format(11, 8), "f32": Format(24, 8), "f64": Format(53, 11)}

# Where conversions to integers turn, and to lesser floats.
TURNS = [0.5, 1.5, 2.5, 126.5, 127, 127.5, 128, 254.5, 255, 255.5, 256, 32766.5, 32767.5, 32768, 65504, 65519, 65520]
TURNS += [65534.5, 65535.5, 65536, 2**23 - 0.5, 2**24 - 1, 2**31 - 128, 2**31, 2**32 - 256, 2**32, 2.0**63, 2.0**64]
TURNS += [2.0**62 + 2.0**40, 2.0**64 - 2.0**40, 2.0**-14, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 0.9999, 1.0001, 0.4999, 3e-39, 1e30]


def encoded(value: float, kind: str) -> int:
    """Return the nearest number, which is finite or not."""
    return rounded(Fraction(value), FORMATS[kind], "rn", False)


def flushed_or_not(form: Format, source: random.Random) -> Iterator[tuple[int, int, int]]:
    """Rows whose products and sums are near the least normal number."""
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
        # c is near -a * b, so that a fused product is what it must be to tell the rest.
        a, b = form.random(source), form.random(source)
        x, y = form.number(a), form.number(b)
        c = rounded(-x * y, form, source.choice(ROUNDINGS), False) if x is not None and y is not None else 0
        rows.append((a, b, c))
    if kind != "bf16":
        rows += flushed_or_not(form, source)
    if kind in ("f16", "bf16"):
        # Both halves of words.
        other = rows[::-1]
        rows = [tuple(x | y << 16 for x, y in zip(*each, strict=True)) for each in zip(rows, other, strict=True)]
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
    """Return what the instructions are run on: rows of four words for each pool."""
    source = random.Random(20)
    edges = EDGES["integers"]
    integers: list[tuple[int, ...]] = []
    for a, b in itertools.product(edges, edges[::2]):
        integers.append((a, b, source.choice(edges), source.choice(edges)))
    for i in range(600):
        row = [source.getrandbits(64) for _ in range(4)]
        if i % 3:
            row[1:3] = source.randint(0, 40), source.randint(0, 40)
        if i % 5 == 0:
            row[0] = -source.randint(0, 300) % (1 << 64)
        integers.append(tuple(row))
    # A position and a length are below 256.
    fields = [(a, b, c % 256, d % 256) for a, b, c, d in integers]
    positions = [(a, b % 256, c % 256, d) for a, b, c, d in integers]
    places = [(source.getrandbits(32), source.randrange(32), source.randint(-12, 12) % (1 << 32), 0) for _ in range(400)]
    return {
        "integers": integers,
        "fields": fields,
        "positions": positions,
        "places": places,
        "singles": float_words("f32"),
        "doubles": float_words("f64"),
        "halves": float_words("f16"),
        "bfloats": float_words("bf16"),
        "ordinary": approximated_words("f32"),
        "ordinary_doubles": approximated_words("f64"),
        "ordinary_halves": approximated_words("f16"),
        "ordinary_bfloats": approximated_words("bf16"),
    }


def write(folder: Path) -> None:
    (folder / "program.cu").write_text(program())
    for pool, rows in words().items():
        (folder / f"{pool}.words").write_bytes(array("Q", itertools.chain.from_iterable(rows)).tobytes())


Results = dict[str, "array[int]"]


def read(folder: Path) -> Results:
    """Return the results of each column."""
    names = {column: name for name, column in columns().items()}
    found: Results = {}
    for pool, members in pools().items():
        rows = len(words()[pool])
        results = array("Q", (folder / f"{pool}.results").read_bytes())
        assert len(results) == rows * len(members)
        for i, column in enumerate(members):
            found[names[column]] = results[i * rows : (i + 1) * rows]
    return found


# ---- the definitions


def rounded(value: Fraction, form: Format, direction: str, negative_zero: bool) -> int:
    """Return the bits of the number of the format that is nearest in the direction; of a zero, with the sign given."""
    if value == 0:
        return form.sign if negative_zero else 0
    magnitude = abs(value)
    # The exponent of the highest bit; a quotient of lengths is at most one off.
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


def decoded(bits: int, kind: str) -> Fraction | str:
    """Return the value of a number: of no finite one, "nan", "inf" or "-inf"."""
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
    """Return the exact sum of products of two numbers each, and the sign that it has if it is zero."""
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
    """Round a result, flush it and saturate it, as the modifiers say."""
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
    """Whether a result is below the least normal number, when rounded with exponents of any size."""
    roomy = Format(form.precision, 15)
    least = Fraction(2) ** (1 - form.bias)
    number = roomy.number(rounded(value, roomy, direction, False))
    assert number is not None
    return abs(number) < least


def saturated(bits: int, form: Format) -> int:
    one = form.bias << form.precision - 1
    return 0 if bits > form.nan or form.infinity < bits & form.nan else min(bits, one)


def root(value: Fraction, form: Format) -> Fraction:
    """Return a number that rounds like the square root: with more bits, and one below them for the rest."""
    scale = 4 ** (2 * form.precision + form.bias)
    scaled = value * scale
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    exact = Fraction(whole * whole) == scaled
    return (Fraction(whole) + (0 if exact else Fraction(1, 2))) / 2 ** (2 * form.precision + form.bias)


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
        if isinstance(x, Fraction):
            value = root(x, form) if x >= 0 else "nan"
        else:
            value = "inf" if x == "inf" else "nan"
        return finished(value, bool(arguments[0] & form.sign), kind, modifiers)
    if name in ("abs", "neg"):
        a = arguments[0]
        return form.nan if decoded(a, kind) == "nan" else a & form.nan if name == "abs" else a ^ form.sign
    assert name in ("min", "max"), name
    values = [decoded(each, kind) for each in arguments]
    if "nan" in values:
        others = [each for each, value in zip(arguments, values, strict=True) if value != "nan"]
        return others[0] if others and "NaN" not in modifiers else form.nan
    # With -0 below +0, the order of numbers is that of these integers.
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
        # What .ftz flushes matters only here if the result is no lesser float, as the GPU does not flush then.
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
            if name.startswith("vset"):
                value = int(compared(modifiers[2], [x, y], "s64"))
            else:
                value = VIDEO[name[:-1]](x, y)
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
    # The second operation takes the result in the destination's type.
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
        count = b_or_32 = min(c, 32) if "clamp" in modifiers else c % 32
        both = b << 32 | a
        return (both << b_or_32) >> 32 if "l" in modifiers else both >> count
    if name in ("szext", "bmsk"):
        if "wrap" in modifiers:
            a, b = (a if name == "szext" else a % 32), b % 32
        a, b = (a if name == "szext" else min(a, 32)), min(b, 32)
        if name == "bmsk":
            return ((1 << b) - 1) << a
        return signed(a, b) if kind[0] == "s" and b else a % (1 << b)
    if name == "fns":
        if c == 0:
            return b if a >> b & 1 else -1
        places = [i for i in (range(b, 32) if c > 0 else range(b, -1, -1)) if a >> i & 1]
        return places[abs(c) - 1] if abs(c) <= len(places) else -1
    if name == "prmt":
        return permuted(modifiers[1] if len(modifiers) > 1 else "", a, b, c)
    if name == "lop3":
        raise AssertionError
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
                # The half of the product is a number of 32 bits before c is added.
                result = signed(result, 32)
            result += c
    if "relu" in modifiers:
        result = max(result, 0)
    return sorted((lowest(kind), result, highest(kind)))[1] if "sat" in modifiers else result


def permuted(mode: str, a: int, b: int, c: int) -> int:
    """prmt: the bytes of both words by the number of each, with the highest bit of a number for the sign of the byte."""
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
    """Return what the column must have for the words `row`."""
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
    """Return a result as the program keeps it."""
    kind = column.stored
    if kind in FORMATS:
        form = FORMATS["f32" if kind == "tf32" else kind]
        return form.nan if result & form.nan > form.infinity else result
    if kind in ("u8", "s8"):
        return result % (1 << 32)
    return result % (1 << bits_of(kind))


# ---- the program of what only a GPU has

DEVICE = r"""
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
#include "hipport/ptx.h"
using namespace hipport::ptx;
#endif
#include <cstdio>
#include <vector>

struct Memory {
  unsigned words[128];
  unsigned long long longs[64];
  float floats[64];
  double doubles[64];
  unsigned short halves[128];
};

__global__ void kernel(Memory* memory, unsigned long long* results) {
  __shared__ unsigned near[64];
  const unsigned t = threadIdx.x, lane = t % 32;
  unsigned column = 0;
  auto keep = [&](unsigned long long made) { results[64 * column++ + t] = made; };
  const unsigned value = t * 2654435761u ^ 0x5bd1e995u, few = value >> 30, mask = lane < 16 ? 0xffffu : 0xffff0000u;
  const unsigned all = 0xffffffffu;
  const unsigned long long wide = value * 0x100000001ull;
  bool p = false;
  near[t] = value;
  __syncthreads();
  (void)p, (void)all, (void)wide;
#if !defined(__CUDACC__) || defined(__HIP__) || defined(HELPERS)
@calls@
#else
@assembler@
#endif
}

#if defined(__CUDACC__) && !defined(__HIP__)
int main() {
  Memory start;
  for (unsigned i = 0; i < 128; ++i) {
    start.words[i] = i * 0x01234567u;
    start.halves[i] = (unsigned short)(0x3c00 + 5 * i);
  }
  for (unsigned i = 0; i < 64; ++i) {
    start.longs[i] = i * 0x0123456789abcdefull;
    start.floats[i] = 0.25f * float(i);
    start.doubles[i] = 0.1 * i;
  }
  Memory* memory;
  unsigned long long* results;
  std::vector<unsigned long long> made(64 * @columns@);
  cudaMalloc(&memory, sizeof(Memory));
  cudaMalloc(&results, made.size() * 8);
  cudaMemcpy(memory, &start, sizeof(Memory), cudaMemcpyDefault);
  kernel<<<1, 64>>>(memory, results);
  cudaMemcpy(made.data(), results, made.size() * 8, cudaMemcpyDefault);
  const cudaError_t error = cudaMemcpy(&start, memory, sizeof(Memory), cudaMemcpyDefault);
  if (error != cudaSuccess) return std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
  std::FILE* file = std::fopen("device.results", "wb");
  std::fwrite(made.data(), 8, made.size(), file);
  std::fwrite(&start, sizeof(start), 1, file);
  return std::fclose(file);
}
#endif
"""


def statements() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the opcode, the C++ type of the result, hipport's call, the asm text and its operands, if any."""
    for name in ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "tid.x", "ntid.x"):
        yield f"mov %{name}", "unsigned", f"{name.replace('.', '_')}()", f"mov.u32 %0, %%{name};", '"=r"(made)'
    yield "mov nctaid", "unsigned", "nctaid_y() + ctaid_z()", "mov.u32 %0, %%nctaid.y;", '"=r"(made)'
    modes = {
        "up": [(1, 0), (31, 0), (3, 0x1800), (33, 0), (2, 0x1C00), (1, 5), (4, 0x1008)],
        "down": [(1, 31), (31, 31), (3, 0x181F), (33, 31), (2, 0x1C1F), (1, 20), (4, 0x1007)],
        "bfly": [(1, 31), (16, 31), (3, 0x181F), (5, 0x181F), (31, 0x1C1F), (9, 20), (4, 0x1007)],
        "idx": [(0, 31), (33, 31), (3, 0x181F), (9, 0x181F), (31, 0x1C1F), (9, 7), (4, 0x1003)],
    }
    for mode, operands in modes.items():
        for b, c in operands:
            text = f"shfl.sync.{mode}.b32"
            yield (
                f"{text} {b} {c}",
                "unsigned",
                f"shfl_sync_{mode}_b32(value, {b}, {c}, all)",
                f"{text} %0, %1, {b}, {c}, 0xffffffff;",
                '"=r"(made) : "r"(value)',
            )
            yield (
                f"{text}|p {b} {c}",
                "unsigned",
                f"(shfl_sync_{mode}_b32(value, {b}, {c}, all, p), p)",
                f"{{ .reg .pred p; .reg .b32 t; {text} t|p, %1, {b}, {c}, 0xffffffff; selp.u32 %0, 1, 0, p; }}",
                '"=r"(made) : "r"(value)',
            )
        text = f"shfl.sync.{mode}.b32"
        yield (
            f"{text} few",
            "unsigned",
            f"shfl_sync_{mode}_b32(value, few, 0x{'1800' if mode == 'up' else '181f'}, all)",
            f"{text} %0, %1, %2, 0x{'1800' if mode == 'up' else '181f'}, 0xffffffff;",
            '"=r"(made) : "r"(value), "r"(few)',
        )
    for mode in ("all", "any", "uni"):
        for question in ("few == 1", "lane < 16", "few < 8"):
            yield (
                f"vote.sync.{mode}.pred {question}",
                "unsigned",
                f"vote_sync_{mode}_pred({question}, mask)",
                "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; "
                f"vote.sync.{mode}.pred q, p, %2; selp.u32 %0, 1, 0, q; }}",
                f'"=r"(made) : "r"(unsigned({question})), "r"(mask)',
            )
    yield (
        "vote.sync.ballot.b32",
        "unsigned",
        "vote_sync_ballot_b32(few == 1, mask)",
        "{ .reg .pred p; setp.eq.u32 p, %1, 1; vote.sync.ballot.b32 %0, p, %2; }",
        '"=r"(made) : "r"(few), "r"(mask)',
    )
    for size, argument, letter in (("32", "few", "r"), ("64", "(unsigned long long)few << 40", "l")):
        for mode in ("any", "all"):
            text = f"match.{mode}.sync.b{size}"
            yield (
                text,
                "unsigned",
                f"match_{mode}_sync_b{size}({argument}, mask)",
                f"{text} %0, %1, %2;",
                f'"=r"(made) : "{letter}"({argument}), "r"(mask)',
            )
        yield (
            f"match.all.sync.b{size}|p",
            "unsigned",
            f"(match_all_sync_b{size}({argument} >> 9, mask, p), p)",
            f"{{ .reg .pred p; .reg .b32 t; match.all.sync.b{size} t|p, %1, %2; selp.u32 %0, 1, 0, p; }}",
            f'"=r"(made) : "{letter}"({argument} >> 9), "r"(mask)',
        )
    for name, kinds in {"add": "us", "min": "us", "max": "us", "and": "b", "or": "b", "xor": "b"}.items():
        for kind in kinds:
            type_ = {"u": "unsigned", "s": "int", "b": "unsigned"}[kind]
            yield (
                f"redux.sync.{name}.{kind}32",
                type_,
                f"redux_sync_{name}_{kind}32({type_}(value), mask)",
                f"redux.sync.{name}.{kind}32 %0, %1, %2;",
                '"=r"(made) : "r"(value), "r"(mask)',
            )
    yield "activemask.b32", "unsigned", "activemask_b32()", "activemask.b32 %0;", '"=r"(made)'
    yield (
        "elect.sync",
        "unsigned",
        "elect_sync(mask, p)",
        "{ .reg .pred p; elect.sync %0|p, %1; }",
        '"=r"(made) : "r"(mask)',
    )
    yield (
        "elect.sync|p",
        "unsigned",
        "(elect_sync(mask, p), p)",
        "{ .reg .pred p; .reg .b32 t; elect.sync t|p, %1; selp.u32 %0, 1, 0, p; }",
        '"=r"(made) : "r"(mask)',
    )
    for name, end, call in (("popc", "u32", ""), ("and", "pred", ""), ("or", "pred", "")):
        for question in ("few == 1", "few < 8", "t > 64"):
            result = "%0, 0, p;" if end == "u32" else "q, 0, p; selp.u32 %0, 1, 0, q;"
            yield (
                f"bar.red.{name}.{end} {question}",
                "unsigned",
                f"bar_red_{name}_{end}({question}){call}",
                f"{{ .reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.red.{name}.{end} {result} }}",
                f'"=r"(made) : "r"(unsigned({question}))',
            )
    yield (
        "cvta.to.shared.u64 ld.shared.u32",
        "unsigned",
        "ld<u32>(shared(cvta_to_shared_u64(near), 4 * lane))",
        "{ .reg .b64 a; cvta.to.shared.u64 a, %1; ld.shared.u32 %0, [a]; }",
        '"=r"(made) : "l"(near + lane)',
    )
    yield (
        "cvta.shared.u64",
        "unsigned",
        "*(u32*)cvta_shared_u64(cvta_to_shared_u64(near + t))",
        "{ .reg .b64 a; cvta.to.shared.u64 a, %1; cvta.shared.u64 a, a; ld.u32 %0, [a]; }",
        '"=r"(made) : "l"(near + t)',
    )
    for space, question in itertools.product(("global", "shared", "local"), ("near", "memory", "&column")):
        yield (
            f"isspacep.{space} {question}",
            "unsigned",
            f"isspacep_{space}({question})",
            f"{{ .reg .pred p; isspacep.{space} p, %1; selp.u32 %0, 1, 0, p; }}",
            f'"=r"(made) : "l"({question})',
        )
    loads = ["", ".ca", ".cg", ".cs", ".cv", ".volatile", ".relaxed.gpu", ".relaxed.cta", ".relaxed.sys", ".acquire.gpu"]
    loads += [".acquire.cta", ".acquire.sys", ".nc", ".nc.L1::no_allocate"]
    for load in loads:
        kept = re.sub(r"\.(ca|cs|nc|L1::\w+)\b", "", load).replace(".", "_")
        place = "" if not load or load[:3] in (".re", ".ac", ".vo") else ".global"
        text = f"ld{load}{place}" if ".nc" not in load else f"ld.global{load}"
        yield (
            f"{text}.u32",
            "unsigned",
            f"ld{kept}<u32>(generic(memory->words + lane))",
            f"{text}.u32 %0, [%1];",
            '"=r"(made) : "l"(memory->words + lane)',
        )
        yield (
            f"{text}.v2.f32",
            "float",
            f"[&] {{ float x, y; ld{kept}_v2<f32>(x, y, generic(memory->floats + 2 * lane)); return x + 100 * y; }}()",
            f"{{ .reg .f32 x, y, h; {text}.v2.f32 {{x, y}}, [%1]; mov.f32 h, 0f42C80000; fma.rn.f32 %0, y, h, x; }}",
            '"=f"(made) : "l"(memory->floats + 2 * lane)',
        )
        yield (
            f"{text}.v4.u16",
            "unsigned",
            f"[&] {{ u32 x, y; u16 z, w; ld{kept}_v4<u16>(x, y, z, w, generic(memory->halves, 8 * (lane / 2)));"
            " return x + 3 * y + 5 * z + 7 * w; }()",
            f"{{ .reg .u16 x, y, z, w; .reg .u32 a, b, c, d; {text}.v4.u16 {{x, y, z, w}}, [%1]; cvt.u32.u16 a, x; "
            "cvt.u32.u16 b, y; cvt.u32.u16 c, z; cvt.u32.u16 d, w; mad.lo.u32 a, b, 3, a; mad.lo.u32 a, c, 5, a; "
            "mad.lo.u32 %0, d, 7, a; }",
            '"=r"(made) : "l"(memory->halves + 4 * (lane / 2))',
        )
    for kind, size in (("s8", 1), ("u8", 1), ("s16", 2)):
        yield (
            f"ld.{kind}",
            "int",
            f"int(ld<{kind}>(generic(memory->words, {size} * lane + 64)))",
            f"ld.{kind} %0, [%1+64];",
            f'"=r"(made) : "l"((char*)memory->words + {size} * lane)',
        )
    stores = ["", ".wb", ".cg", ".cs", ".wt", ".volatile", ".relaxed.gpu", ".release.cta", ".release.gpu", ".release.sys"]
    for i, store in enumerate(stores):
        kept = re.sub(r"\.(wb|cs)\b", "", store).replace(".", "_")
        yield (
            f"st{store}.v2.u32",
            "unsigned",
            f"(st{kept}_v2<u32>(generic(memory->words + 2 * t), value + {i}, few), __syncthreads(), "
            "memory->words[127 - t])",
            f"{{ .reg .b32 a; add.u32 a, %2, {i}; st{store}.v2.u32 [%1], {{a, %3}}; bar.sync 0; ld.u32 %0, [%4]; }}",
            '"=r"(made) : "l"(memory->words + 2 * t), "r"(value), "r"(few), "l"(memory->words + 127 - t)',
        )
        yield "bar.sync", "unsigned", "(bar_sync(), 0u)", "bar.sync 0; mov.u32 %0, 0;", '"=r"(made)'
    atoms = {"u32": "words", "s32": "words", "u64": "longs", "s64": "longs", "b32": "words", "b64": "longs"}
    types = {"u32": "unsigned", "s32": "int", "u64": "unsigned long long", "s64": "long long"}
    types |= {"b32": "unsigned", "b64": "unsigned long long", "f32": "float", "f64": "double"}
    operations = {"add": "u32 s32 u64 f32 f64", "min": "u32 s32 u64 s64", "max": "u32 s32 u64 s64"}
    operations |= {"and": "b32 b64", "or": "b32 b64", "xor": "b32 b64", "exch": "b32 b64", "inc": "u32", "dec": "u32"}
    orders = itertools.cycle(["", ".relaxed.gpu", ".acquire.cta", ".release.sys", ".acq_rel.gpu", ".relaxed.cta", ".cta"])
    for operation, kinds in operations.items():
        for kind in kinds.split():
            place = atoms.get(kind, "floats" if kind == "f32" else "doubles")
            order = next(orders)
            value = "3.0f * lane" if kind == "f32" else "3.0 * lane" if kind == "f64" else "value" if "32" in kind else "wide"
            if operation in ("inc", "dec"):
                value = "value >> 3"
            letter = {"f32": "f", "f64": "d"}.get(kind, "r" if "32" in kind else "l")
            type_ = types[kind]
            register = "unsigned" if letter == "r" else "unsigned long long" if letter == "l" else type_
            yield (
                f"atom{order}.{operation}.{kind}",
                register,
                f"({register})atom{order.replace('.', '_')}_{operation}<{type_}>(generic(memory->{place} + t), ({type_})({value}))",
                f"atom{order}.{operation}.{kind} %0, [%1], %2;",
                f'"={letter}"(made) : "l"(memory->{place} + t), "{letter}"(({type_})({value}))',
            )
    for kind, place, value in (("b32", "words", "value"), ("b64", "longs", "wide")):
        letter = "r" if kind == "b32" else "l"
        yield (
            f"atom.cas.{kind}",
            types[kind],
            f"atom_cas<{types[kind]}>(generic(memory->{place} + t), few < 2 ? memory->{place}[t] : 5, {value})",
            f"atom.cas.{kind} %0, [%1], %2, %3;",
            f'"={letter}"(made) : "l"(memory->{place} + t), "{letter}"(few < 2 ? memory->{place}[t] : 5), "{letter}"({value})',
        )
    for kind, letter, type_ in (("f16", "h", "unsigned short"), ("f16x2", "r", "unsigned")):
        offset = "t" if kind == "f16" else "2 * t"
        one = "0x3c00" if kind == "f16" else "0x3c004000"
        yield (
            f"atom.add.noftz.{kind}",
            type_,
            f"(bar_sync(), atom_add_{kind}(generic(memory->halves + {offset}), {one}))",
            f"bar.sync 0; atom.add.noftz.{kind} %0, [%1], %2;",
            f'"={letter}"(made) : "l"(memory->halves + {offset}), "{letter}"(({type_}){one})',
        )
    yield (
        "red.add.u32",
        "unsigned",
        "(red_relaxed_gpu_add<u32>(generic(memory->words + lane), value), fence_acq_rel_gpu(), membar_gl(), 0u)",
        "red.relaxed.gpu.add.u32 [%1], %2; fence.acq_rel.gpu; membar.gl; mov.u32 %0, 0;",
        '"=r"(made) : "l"(memory->words + lane), "r"(value)',
    )
    for name in ("sc", "acq_rel"):
        for scope in ("cta", "gpu", "sys"):
            yield f"fence.{name}.{scope}", "unsigned", f"(fence_{name}_{scope}(), 0u)", f"fence.{name}.{scope}; mov.u32 %0, 0;", '"=r"(made)'
    yield (
        "others",
        "unsigned",
        "(bar_warp_sync(all), barrier_sync(), membar_cta(), membar_sys(), nanosleep_u32(20), prefetch(memory), 0u)",
        "bar.warp.sync 0xffffffff; barrier.sync 0; nanosleep.u32 20; mov.u32 %0, 0;",
        '"=r"(made)',
    )
    # What differs from run to run, or from GPU to GPU: that it is there.
    yield (
        "clocks",
        "unsigned",
        "hipport::ptx::clock64() > 0 && hipport::ptx::clock() + clock_hi() > 0 && globaltimer() + globaltimer_lo() + globaltimer_hi() > 0"
        " && smid() < nsmid() && warpid() < nwarpid() ? 1u : 0u",
        "mov.u32 %0, 1;",
        '"=r"(made)',
    )


def device_program() -> str:
    calls, assembler = [], []
    for opcode, kind, call, text, operands in statements():
        calls.append(f"  keep((unsigned long long)({call}));  // {opcode}")
        assembler.append(
            f'  {{ {kind} made; asm volatile("{text}" : {operands}{" :" * (1 + (") : " not in operands))} "memory");'
            " keep((unsigned long long)made); }"
        )
    text = DEVICE.replace("@columns@", str(len(calls)))
    return text.replace("@calls@", "\n".join(calls)).replace("@assembler@", "\n".join(assembler))


# ---- what was recorded


def hashes(results: Results) -> list[str]:
    """Return a hash for each column that is no approximation, in their order."""
    return [
        hashlib.sha256(results[name].tobytes()).hexdigest()[:8]
        for name in columns()
        if not APPROXIMATE.search(name)
    ]


def fingerprint(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def record(folder: Path, gpu: str) -> None:
    results = read(folder)
    made = hashes(results)
    exact = [name for name in columns() if not APPROXIMATE.search(name)]
    unlike = []
    for name in exact:
        column = columns()[name]
        if any(results[name][i] != defined(column, row) for i, row in enumerate(words()[column.pool])):
            unlike.append(name)
            print(name)
    digits = {name: bits_of(columns()[name].result) // 4 for name in columns() if APPROXIMATE.search(name)}
    recording = {
        "gpu": gpu,
        "columns": fingerprint(list(columns())),
        "words": fingerprint(words()),
        "hashes": [" ".join(made[i : i + 12]) for i in range(0, len(made), 12)],
        "unlike the manual": unlike,
        "approximations": {name: "".join(f"{each:0{n}x}" for each in results[name]) for name, n in digits.items()},
    }
    RECORDED.write_text(json.dumps(recording, indent=1) + "\n")


@cache
def recorded() -> dict[str, list[str] | dict[str, str] | str]:
    found: dict[str, list[str] | dict[str, str] | str] = json.loads(RECORDED.read_text())
    assert found["columns"] == fingerprint(list(columns()))
    assert found["words"] == fingerprint(words())
    return found


def differing(results: Results) -> list[str]:
    """Return the columns that are not what the GPU gave."""
    names = [name for name in columns() if not APPROXIMATE.search(name)]
    known = " ".join(recorded()["hashes"]).split()
    return [name for name, ours, theirs in zip(names, hashes(results), known, strict=True) if ours != theirs]


# ---- the tests

WARNINGS = "-Wall -Wextra -Werror -Wno-unused-command-line-argument -Wno-unused-but-set-variable".split()


def build(command: list[str], folder: Path, env: dict[str, str] | None = None) -> None:
    """Build `program.cu` of hipport's functions."""
    write(folder)
    (folder / "device.cu").write_text(device_program())
    command = [*command, *WARNINGS, "-DHELPERS", f"-I{INCLUDE}"]
    built = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr[-5000:]


def run(folder: Path) -> Results:
    subprocess.run(["./program"], cwd=folder, check=True)
    return read(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    if shutil.which("g++") is None:
        pytest.skip("no g++: the arithmetic of hipport/ptx.h was not checked")
    # The oldest C++ that it may be included in; and no step may be one that C++ leaves undefined.
    flags = "-std=c++11 -O0 -pedantic -Wconversion -fsanitize=undefined -fno-sanitize-recover".split()
    folder = tmp_path_factory.mktemp("ptx")
    build(["g++", *flags, "-x", "c++", "program.cu", "-o", "program"], folder)
    return run(folder)


FAMILIES = sorted({column.opcode.split(".")[0] for name, column in columns().items() if not APPROXIMATE.search(name)})


@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_its_definition(family: str, results: Results) -> None:
    tried = 0
    for name, column in columns().items():
        if column.opcode.split(".")[0] != family or APPROXIMATE.search(name):
            continue
        rows = words()[column.pool]
        # Other rows for each column, so that all are tried on some.
        step = len(rows) // 40
        for i in range(len(name) * 7 % step, len(rows), step):
            assert results[name][i] == defined(column, rows[i]), (name, [hex(word) for word in rows[i]])
            tried += 1
    assert tried >= 40


def test_agrees_with_the_gpu(results: Results) -> None:
    """All but some video instructions, of which NVIDIA's compiler makes other things than the manual says.

    No GPU since Kepler has them in hardware. CUDA 13 keeps the upper half of a result that .h1 selects, does not saturate
    in all cases to the part that is selected, and is not exact before .min, .max and shifts to the right.
    """
    unlike = recorded()["unlike the manual"]
    assert differing(results) == unlike
    assert {name.split(".")[0] for name in unlike} <= {
        *("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset", "vshl", "vshr", "vmad")
    }
    # Plain ones, and those that add, are as they should be.
    assert not [name for name in unlike if re.match(r"v(add|sub|min|max|absdiff|set|shr)(\.[us]32)+(\.add)?( |$)", name)]


Truth = Callable[[float, float], float]


def quotient(a: float, b: float) -> float:
    return 0.0 if 2.0**126 < abs(b) < 2.0**128 else a / b


# The function, the greatest error that PTX promises, and whether that is relative.
APPROXIMATIONS: dict[str, tuple[Truth, float, bool]] = {
    "rcp.approx.f32": (lambda a, b: 1 / a, 2.0**-23, True),
    "rcp.approx.ftz.f32": (lambda a, b: 1 / a, 2.0**-23, True),
    "rsqrt.approx.f32": (lambda a, b: 1 / math.sqrt(a), 2.0**-22.9, True),
    "rsqrt.approx.ftz.f32": (lambda a, b: 1 / math.sqrt(a), 2.0**-22.9, True),
    "sqrt.approx.f32": (lambda a, b: math.sqrt(a), 2.0**-23, True),
    "sqrt.approx.ftz.f32": (lambda a, b: math.sqrt(a), 2.0**-23, True),
    "sin.approx.f32": (lambda a, b: math.sin(a), 2.0**-20.5, False),
    "sin.approx.ftz.f32": (lambda a, b: math.sin(a), 2.0**-20.5, False),
    "cos.approx.f32": (lambda a, b: math.cos(a), 2.0**-20.5, False),
    "cos.approx.ftz.f32": (lambda a, b: math.cos(a), 2.0**-20.5, False),
    "lg2.approx.f32": (lambda a, b: math.log2(a), 2.0**-22, True),
    "lg2.approx.ftz.f32": (lambda a, b: math.log2(a), 2.0**-22, True),
    "ex2.approx.f32": (lambda a, b: math.exp2(a) if hasattr(math, "exp2") else 2.0**a, 2.0**-22, True),
    "ex2.approx.ftz.f32": (lambda a, b: 2.0**a, 2.0**-22, True),
    "tanh.approx.f32": (lambda a, b: math.tanh(a), 2.0**-11, True),
    "div.approx.f32": (quotient, 2.0**-22, True),
    "div.approx.ftz.f32": (quotient, 2.0**-22, True),
    "div.full.f32": (lambda a, b: a / b, 2.0**-22, True),
    "div.full.ftz.f32": (lambda a, b: a / b, 2.0**-22, True),
    "rcp.approx.ftz.f64": (lambda a, b: 1 / a, 2.0**-20, True),
    "rsqrt.approx.ftz.f64": (lambda a, b: 1 / math.sqrt(a), 2.0**-20, True),
    "ex2.approx.f16": (lambda a, b: 2.0**a, 2.0**-9.9, True),
    "ex2.approx.f16x2": (lambda a, b: 2.0**a, 2.0**-9.9, True),
    "ex2.approx.ftz.bf16": (lambda a, b: 2.0**a, 2.0**-7, True),
    "ex2.approx.ftz.bf16x2": (lambda a, b: 2.0**a, 2.0**-7, True),
    "tanh.approx.bf16": (lambda a, b: math.tanh(a), 2.0**-8, False),
    "tanh.approx.bf16x2": (lambda a, b: math.tanh(a), 2.0**-8, False),
    "tanh.approx.f16": (lambda a, b: math.tanh(a), 2.0**-10.987, False),
    "tanh.approx.f16x2": (lambda a, b: math.tanh(a), 2.0**-10.987, False),
}


@pytest.mark.parametrize("name", [name for name in columns() if APPROXIMATE.search(name)])
def test_approximation_is_within_the_bound(name: str, results: Results) -> None:
    """Ours and the GPU's; both are the same where the result is none of the format's normal numbers."""
    truth, bound, relative = APPROXIMATIONS[name]
    column = columns()[name]
    kind = column.result.removesuffix("x2")
    form = FORMATS[kind]
    recorded_text = recorded()["approximations"][name]  # type: ignore[call-overload]
    digits = bits_of(column.result) // 4
    theirs = [int(recorded_text[i : i + digits], 16) for i in range(0, len(recorded_text), digits)]
    least = 2.0 ** (1 - form.bias)
    checked = 0
    for row, ours_word, theirs_word in zip(words()[column.pool], results[name], theirs, strict=True):
        # Of halves, the lower.
        arguments = [word & form.sign | word & form.nan for word in row[:2]]
        if ".ftz" in name:
            arguments = [flushed(each, kind) for each in arguments]
        ours, theirs_bits = (word & (2 * form.sign - 1) for word in (ours_word, theirs_word))
        values = [decoded(each, kind) for each in arguments]
        try:
            x, y = (float(each) for each in values)
            exact = truth(x, y)
        except (ValueError, ZeroDivisionError, OverflowError):
            exact = math.nan
        greatest = float(form.number(form.infinity - 1) or 0)
        if not math.isfinite(x) or not math.isfinite(exact) or not 2 * least <= abs(exact) <= greatest / 2:
            if name.startswith(("sin", "cos")) and not abs(x) <= 2 * math.pi:
                continue
            tolerance = 2 * least if math.isfinite(exact) and abs(exact) < 1 else 0
            if tolerance:
                for each in (ours, theirs_bits):
                    found = form.number(each)
                    assert found is not None and abs(float(found) - exact) <= max(tolerance, bound * (not relative))
            elif not math.isfinite(exact) or not abs(exact) > greatest / 2:
                assert ours == theirs_bits, [hex(each) for each in arguments]
            continue
        if name.startswith(("sin", "cos")) and abs(x) > 2 * math.pi:
            continue
        scale = abs(exact) if relative else 1.0
        if name.startswith("lg2") and 0.5 < x < 2:
            scale = 1.0
        for each in (ours, theirs_bits):
            found = form.number(each)
            assert found is not None, [hex(argument) for argument in arguments]
            # Half a unit in the last place, for the rounding of what has the least error there is.
            assert abs(float(found) - exact) <= scale * bound * (1 + 2.0**-10), [hex(argument) for argument in arguments]
        checked += 1
    assert checked >= 30


TAKEN_APART = """
#include "hipport/ptx.h"
using namespace hipport::ptx;
int main() {
  b32 low, high;
  mov_b64(low, high, 0x0123456789abcdefull);
  if (low != 0x89abcdefu || high != 0x01234567u) return 1;
  float number;
  int word;
  mov_b64(number, word, 0xffffffff3f800000ull);
  if (number != 1.0f || word != -1) return 2;
  b16 a, b, c, d;
  mov_b64(a, b, c, d, 0x0123456789abcdefull);
  if (a != 0xcdef || b != 0x89ab || c != 0x4567 || d != 0x0123) return 3;
  mov_b32(a, b, 0x89abcdefu);
  if (a != 0xcdef || b != 0x89ab) return 4;
  b8 e, f, g, h;
  mov_b32(e, f, g, h, 0x89abcdefu);
  if (e != 0xef || f != 0xcd || g != 0xab || h != 0x89) return 5;
  mov_b16(e, f, static_cast<b16>(0x1234));
  if (e != 0x34 || f != 0x12) return 6;
  if (mov_b32(e, f, g, h) != 0x89ab1234u || mov_b16(g, h) != 0x89ab) return 7;
  put(word, static_cast<s8>(-3));
  if (word != -3) return 8;
  if (set_u32(true) != 0xffffffffu || set_s32(true) != -1 || set_f32(true) != 1.0f || set_u32(false) != 0) return 9;
  return as<unsigned>(1.0f) == 0x3f800000u ? 0 : 10;
}
"""


def test_words_are_taken_apart(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport/ptx.h was not checked")
    (tmp_path / "parts.cpp").write_text(TAKEN_APART)
    command = ["g++", "-std=c++11", *WARNINGS, f"-I{INCLUDE}", "parts.cpp", "-o", "parts"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./parts"], cwd=tmp_path, check=True)


def test_a_port_leaves_it_alone() -> None:
    """It lies in the ported tree, which may be ported again."""
    ported = hipport.rewrite(sorted((INCLUDE / "hipport").glob("ptx*.h")))
    assert (ported.changed, ported.created, ported.reported) == ((), (), ())


# ---- with compilers for GPUs

TARGETS = {(5, 2): ("gfx90a", "gfx1030"), (6, 4): ("gfx90a", "gfx942", "gfx1100", "gfx1201")}


@cache
def toolchains() -> tuple[Toolchain, ...]:
    return find(os.environ)


def hipcc(release: tuple[int, int], target: str) -> tuple[list[str], dict[str, str]]:
    """Return the command that compiles HIP for `target`, and its environment."""
    for each in toolchains():
        if each.rocm == release and each.targets([target]):
            command = [str(each.hipcc), "-Wshorten-64-to-32", f"--offload-arch={target}", "-x", "hip"]
            return command, each.environment(os.environ)
    pytest.skip(f"no hipcc with HIP {release[0]}.{release[1]}: hipport/ptx.h was not compiled with it for {target}")


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("release", "target"), [(release, target) for release, targets in TARGETS.items() for target in targets], ids=str
)
def test_compiles_for_amd(release: tuple[int, int], target: str, tmp_path: Path) -> None:
    command, env = hipcc(release, target)
    # One program may need all of hipport's headers.
    others = [f"-include{path}" for path in sorted((INCLUDE / "hipport").glob("[!p]*.h"))]
    build([*command, *others, "-O2", "device.cu", "--cuda-device-only", "-S", "-o", "device"], tmp_path, env)
    instructions = set((tmp_path / "device").read_text().split())
    assert {"s_barrier", "ds_bpermute_b32", "s_sleep"} <= instructions | {"s_barrier"}
    assert "s_trap" not in instructions
    build([*command, "device.cu", "--cuda-host-only", "-fsyntax-only"], tmp_path, env)
    build([*command, "program.cu", "--cuda-device-only", "-fsyntax-only"], tmp_path, env)


@pytest.mark.toolchain
def test_every_function_becomes_instructions(tmp_path: Path) -> None:
    command, env = hipcc((6, 4), "gfx1100")
    build([*command, "-O1", "program.cu", "--cuda-device-only", "-S", "-o", "device"], tmp_path, env)
    assert {"v_rndne_f32_e32", "v_fma_f64", "v_exp_f32_e32"} <= set((tmp_path / "device").read_text().split())


@pytest.mark.toolchain
def test_host_code_of_hip_agrees_with_the_gpu(tmp_path: Path) -> None:
    command, env = hipcc((6, 4), "gfx90a")
    # Fused operations are what -ffp-contract=fast is for; the functions must not let it.
    flags = ["-O1", "-mfma", "-ffp-contract=fast", "--cuda-host-only", "-Wl,--as-needed"]
    build([*command, *flags, "program.cu", "-o", "program"], tmp_path, env)
    assert differing(run(tmp_path)) == recorded()["unlike the manual"]


@pytest.mark.toolchain
def test_compiles_with_nvcc(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc: hipport/ptx.h was not compiled for NVIDIA")
    (tmp_path / "device.cu").write_text(device_program())
    for flags in (["-DHELPERS", f"-I{INCLUDE}", "-Werror=all-warnings"], []):
        command = ["nvcc", "-arch=sm_90", *flags, "-cubin", "device.cu", "-o", "device"]
        subprocess.run(command, cwd=tmp_path, check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", folder]:
            write(Path(folder))
            (Path(folder) / "device.cu").write_text(device_program())
        case ["record", folder, gpu]:
            record(Path(folder), gpu)

# SPDX-License-Identifier: Apache-2.0
"""The parser of asm statements and of PTX, and the C++ of each instruction in the table."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import compiled
import hipport
from hipport.core.finding import Certainty
from hipport.core.tables import load
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.toolchain.toolchains import find
from hipport_passes.device import inline_ptx
from hipport_passes.device.ptx.operations import BITS, CPP, TABLE, Untranslated, expanded, operation, pattern, signature
from hipport_passes.device.ptx.ptx_assembly import (
    Address,
    Changed,
    Number,
    Pair,
    Placeholder,
    PtxInstruction,
    Register,
    Unparsed,
    Vector,
    opcodes,
    parse,
)
from hipport_passes.device.ptx.statements import Operand, Statement, Unreadable, hole, statements
from hipport_passes.device.ptx.translate import PtxPlace, Translation, translate
from ptx_columns import columns


def port(*texts: str, kind: type[Cpp] = Cuda) -> Ported:
    sources = tuple(kind(PurePosixPath(f"f{i}.cu"), text.encode()) for i, text in enumerate(texts))
    return run(Project(sources), (inline_ptx.PASS,))


def ported(text: str) -> str:
    """Return the text after the pass, without its `#include`."""
    return re.sub(r'#include "hipport/ptx.h"\n', "", port(text).project.sources[0].text.decode())


def found(text: str) -> list[Statement]:
    source = Cuda(PurePosixPath("f.cu"), text.encode())
    return list(statements(source, Project((source,))))


def in_cpp(text: str, outputs: str = "=r", inputs: str = "r r r r") -> list[str]:
    """Return the C++ lines for PTX with outputs x0, x1, ... and inputs a, b, ..., with these constraints."""
    outs = [Operand(b"", each.encode(), b"x%d" % i) for i, each in enumerate(outputs.split())]
    ins = [Operand(b"", each.encode(), b"abcdefgh"[i : i + 1]) for i, each in enumerate(inputs.split())]
    return [line.decode().replace("hipport::ptx::", "") for line in translate(parse(text.encode()), outs, ins).lines]


# ---- places of asm statements


def test_parts_of_a_statement() -> None:
    text = r"""void f() {
        asm volatile /* a */ ("mov.u32 %[to], %1; // b" "\n\t" // c
            R"x(@p add.u32 %[to], %1, "";)x" : [to] "+r" (v[g<1, 2>(3)]), "=" "f"(x) // d
            : "l"( (char *) p /* e */ ), [n] "n" (sizeof("a)(")) : "memory", "cc");
    }"""
    (statement,) = found(text)
    assert statement.template.text == b'mov.u32 %[to], %1; // b\n\t@p add.u32 %[to], %1, "";'
    assert statement.outputs == (Operand(b"to", b"+r", b"v[g<1, 2>(3)]"), Operand(b"", b"=f", b"x"))
    assert statement.inputs == (Operand(b"", b"l", b"(char *) p"), Operand(b"n", b"n", b'sizeof("a)(")'))
    assert statement.comments == (b"/* a */", b"// c", b"// d", b"/* e */")
    assert statement.source[statement.span].startswith(b"asm") and statement.source[statement.span].endswith(b")")


@pytest.mark.parametrize(
    "text",
    [
        'asm("a");',
        'void f() { asm("a"); }',
        'void f() { if (x) asm volatile("a"); else __asm__ __volatile__("a"); }',
        'void f() { do asm("a"); while (0); }',
        'void f() { case 1: __asm("a" ::); }',
        '#define M asm("a")',
        '#define M(x) \\\n  asm("a" : "=r"(x))',
        '#define M(x) do { asm("a"); } while (0)',
        '#if A\nasm("a");\n#endif',
        '#define A asm volatile\nvoid f() { A("a"); }',
        'void f() { asm goto volatile ("a"); }'.replace("goto ", "inline "),
    ],
)
def test_a_statement(text: str) -> None:
    assert [each.template.text for each in found(text)] == [b"a"] * text.count('"a"')


@pytest.mark.parametrize(
    "text",
    [
        'int f() __attribute__((a)) asm("a"), g;'.replace(") asm", ") x asm"),
        'register int r asm("r0");',
        'x = asm("a");',
        '// asm("a");\n/* asm("a"); */ "asm(\\"a\\")"',
        "asm_(1); _asm(1); asm = 1; p.asm;",
        "#define asm __asm__ __volatile__",
        'void f() { asm("a"',
        '#define M asm("a" \nvoid f() { 1); }',
    ],
)
def test_no_statement(text: str) -> None:
    assert not found(text)


@pytest.mark.parametrize(
    ("text", "template", "holes"),
    [
        ('asm("a" B "c");', hole(0).join([b"a", b"c"]), (b"B",)),
        ('#define B "b"\nasm("a" B "c");', b"abc", ()),
        ('#define B ("b" \\\n "B")\nasm(B);', b"bB", ()),
        ('#if X\n#define B "b"\n#else\n#define B "c"\n#endif\nasm(B);', hole(0), (b"B",)),
        ('#define M(x) asm("a" #x)', b"a" + hole(0), (b"#x",)),
        (r'asm("\x41\102\\\"\t\
B");', b'AB\\"\tB', ()),
        ('asm(u8"a" R"(\\n)");', b"a\\n", ()),
    ],
)  # fmt: skip
def test_template(text: str, template: bytes, holes: tuple[bytes, ...]) -> None:
    statement = found(text)[-1]
    assert (statement.template.text, statement.template.holes) == (template, holes)


def test_strings_of_other_files() -> None:
    ported = port('#include "f1.cu"\nvoid f() { asm(ADD " %0, %0, 1;" : "+r"(x)); }', '#define ADD "add.u32"')
    assert b"x = hipport::ptx::add_u32(x, 1)" in ported.project.sources[0].text


@pytest.mark.parametrize("text", ['asm("a" : "=r" x);', 'asm("a" : "=r"(x)(y));', 'asm("a" : R B(x));'])
def test_unreadable_operands(text: str) -> None:
    with pytest.raises(Unreadable):
        _ = found(text)[0].outputs


# ---- PTX


def test_parses_instructions() -> None:
    program = parse(
        b"{ .reg .pred p, %%q; .reg .b32 t<2>;\n// none\n"
        b"@!p ld.global.v2.u32 {%0, t1}, [%[at]+-8]; /* ; */\n"
        b"@%%q shfl.sync.up.b32 %0|p, %1.h1, -1, 0x1f, 32-2; bar.sync 0 }",
        [b"", b"at"],
    )
    # Of registers that are declared by their number, those that the text has.
    assert program.registers == {b"p": b"pred", b"q": b"pred", b"t1": b"b32"}
    assert program.depth == 0
    p, q = Register(b"p"), Register(b"q")
    pair, address = Vector((Placeholder(0), Register(b"t1"))), Address(Placeholder(1), Number(b"-8"))
    first = PtxInstruction(b"ld.global.v2.u32", (pair, address), Changed(p, sign=b"!"))
    numbers = Number(b"-1"), Number(b"0x1f"), Number(b"32-2")
    second = (Pair(Placeholder(0), p), Changed(Placeholder(1), part=b"h1"), *numbers)
    assert program.instructions == (
        first,
        PtxInstruction(b"shfl.sync.up.b32", second, q),
        PtxInstruction(b"bar.sync", (Number(b"0"),)),
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 << 4 | 3", 19),
        ("(0xff & 074) == 60 ? -7 / 2 : 9", -3),
        ("-7 * 2 - (0b101 ^ 1)", -18),
        ("1 < 2 && 2 >= 3 || !0", 1),
        ("0x7fffffffffffffff + 1 >> 60", -8),
        ("1 ? 0 ? 2 : 3 : 4", 3),
        ("~0 != -1", 0),
    ],
)
def test_constant_expressions(text: str, value: int) -> None:
    program = parse(b"mov.b64 %%0, %s;" % text.encode())
    assert program.instructions[0].operands[1] == Number(b"%d" % value)


@pytest.mark.parametrize(
    "text", ["1U & 2", "0x8000000000000000 & 1", "1 << 64", "1 & 2 / 0", "1 &", "(1 & 2", "1.5 < 2"]
)
def test_no_constant_expressions(text: str) -> None:
    with pytest.raises(Unparsed):
        parse(b"mov.b64 %%0, %s;" % text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "L: add.u32 %0, %1;",
        "add.u32 %0 %1;",
        ".shared .u32 x;",
        "add.u32 %0, ;",
        "{ .reg .x y; }",
        "mov.u32 %0, [%1;",
        "#",
    ],
)
def test_does_not_parse(text: str) -> None:
    with pytest.raises(Unparsed):
        parse(text.encode())


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, 1e-45, 3.4028234663852886e38, 0.1])
def test_floats_keep_their_bits(value: float) -> None:
    bits = struct.unpack(">I", struct.pack(">f", value))[0]
    (instruction,) = parse(b"mov.f32 %%0, 0f%08X;" % bits).instructions
    number = instruction.operands[1]
    assert isinstance(number, Number)
    assert struct.pack(">f", float(number.text.removesuffix(b"f"))) == bits.to_bytes(4, "big")


def test_numbers_without_a_value_of_cpp() -> None:
    assert in_cpp("mov.f32 %0, 0f7F800000;", "=f", "") == ["x0 = as<float>(0x7F800000u)"]
    assert in_cpp("mov.f64 %0, 0d7FF8000000000000;", "=d", "") == ["x0 = as<double>(0x7FF8000000000000ull)"]


def test_opcodes_of_unparsable_text() -> None:
    text = b"{ LAB: @p bra LAB; // mov.u32\n mbarrier.try_wait.b64 %p, [%0];\n } /* add.u32 */ cp.async.bulk.2d.x::y"
    assert opcodes(b"@p lop3 .b32 %0") == [b"lop3.b32"]
    assert opcodes(text) == [b"LAB", b"mbarrier.try_wait.b64", b"cp.async.bulk.2d.x::y"]


# ---- the C++


@pytest.mark.parametrize(
    ("text", "outputs", "inputs", "lines"),
    [
        ("bfe.u32 %0, %1, %2, 8;", "=r", "r r", ["x0 = bfe_u32(a, b, 8)"]),
        ("add.f32 %0, %1, %2;", "=r", "r f", ["x0 = as<unsigned>(add_f32(as<float>(a), b))"]),
        ("mov.b64 %0, %1;", "=d", "d", ["x0 = a"]),
        ("mov.b64 %0, %1;", "=l", "d", ["x0 = as<unsigned long long>(a)"]),
        ("mov.b64 {%0, %1}, %2;", "=r =r", "l", ["mov_b64(x0, x1, a)"]),
        ("mov.b32 %0, {%1, %2};", "=r", "h h", ["x0 = mov_b32(a, b)"]),
        ("cvt.u32.u64 %0, %1;", "=r", "l", ["x0 = cvt_u32_u64(a)"]),
        ("cvt.u32.u16 %0, %1;", "=r", "l", ["x0 = cvt_u32_u16(static_cast<unsigned short>(a))"]),
        ("setp.lt.s32 p, %0, 1;", "", "r", None),
        ("{ .reg .pred p; setp.lt.u32 p, %1, %2; selp.f32 %0, %3, %4, p; }", "=f", "r r f f",
         ["const bool p = setp_lt_u32(a, b)", "x0 = selp_f32(c, d, p)"]),
        ("ld.shared.u32 %0, [%1-4];", "=r", "r", ["x0 = ld<unsigned>(shared(a, -4))"]),
        ("st.global.L2::cache_hint.u32 [%0], %1, %2;", "", "l r l", ["st<unsigned>(generic(a), b)"]),
        ("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;", "=r", "l r",
         ["x0 = atom_acq_rel_gpu_add<unsigned>(generic(a), b)"]),
        ("atom.shared.add.noftz.f16x2 %0, [%1], %2;", "=r", "r r", ["x0 = atom_add_f16x2(shared(a), b)"]),
        ("atom.global.add.u32 _, [%0], %1;", "", "l r", ["atom_add<unsigned>(generic(a), b)"]),
        ("vadd.s32.u32.s32.sat.max %0, %1.b0, %2.h1, %3;", "=r", "r r r",
         ["x0 = vadd_s32_u32_s32_sat_max(b0_u32(a), h1_s32(b), c)"]),
        ("match.all.sync.b32 %0|p, %1, %2;", "=r", "r r", None),
        ("{ .reg .pred p; match.all.sync.b32 %0|p, %1, %2; }", "=r", "r r",
         ["bool p", "x0 = match_all_sync_b32(a, b, p)"]),
        ("bar.red.popc.u32 %0, 0, %1;", "=r", "r", None),
        ("lop3.b32 %0, %1, %2, %3, 0x96;", "=r", "r r r", ["x0 = lop3_b32(a, b, c, 0x96)"]),
        ("mul.wide.s16 %0, %1, -1;", "=r", "h", ["x0 = mul_wide_s16(a, static_cast<short>(-1))"]),
        ("lop3 .b32 %0, %1, %2, %3, 0x96;", "=r", "r r r", ["x0 = lop3_b32(a, b, c, 0x96)"]),
        ("", "", "", ["static_cast<void>(0)"]),
    ],
)  # fmt: skip
def test_cpp(text: str, outputs: str, inputs: str, lines: list[str] | None) -> None:
    if lines is None:
        with pytest.raises(Untranslated):
            in_cpp(text, outputs, inputs)
    else:
        assert in_cpp(text, outputs, inputs) == lines


def test_outputs_that_may_be_inputs_are_written_last() -> None:
    twice = "mul.lo.u32 %0, %2, %3; mul.hi.u32 %1, %2, %3;"
    assert in_cpp(twice, "=r =r", "r r") == [
        "const unsigned out0 = mul_lo_u32(a, b)",
        "x1 = mul_hi_u32(a, b)",
        "x0 = out0",
    ]
    # Only declarations of the text itself are read, or the output.
    assert in_cpp("add.u32 %0, %1, 1; add.u32 %0, %0, %0;", "=r", "r") == ["x0 = add_u32(a, 1)", "x0 = add_u32(x0, x0)"]
    assert in_cpp("mov.u32 %0, 1; mov.u32 %1, 2;", "=r =r", "r") == ["x0 = 1", "x1 = 2"]


def test_carry_stays_in_its_statement() -> None:
    chain = "add.cc.u64 %0, %2, %3; addc.u64 %1, %4, 0;"
    assert in_cpp(chain, "=l =l", "l l l") == [
        "unsigned carry = 0",
        "const unsigned long long out0 = add_cc_u64(a, b, carry)",
        "x1 = addc_u64(c, 0, carry)",
        "x0 = out0",
    ]
    for text in ("add.cc.u32 %0, %1, %2;", "addc.u32 %0, %1, %2;", "addc.cc.u32 %0, %1, %2; addc.u32 %0, %1, %2;"):
        with pytest.raises(Untranslated) as raised:
            in_cpp(text)
        assert raised.value.kind == "carry"


ADD, ADC = 'asm("add.cc.u32 %0, %0, 1;" : "+r"(x));', 'asm("addc.u32 %0, %0, 1;" : "+r"(x));'


def test_a_flag_that_nobody_reads_is_no_chain() -> None:
    assert "x = hipport::ptx::add_cc_u32(x, 1, carry);" in ported(f"void f() {{ {ADD} }}")


def test_a_flag_between_statements_is_a_variable() -> None:
    text = ported(f"void f() {{ {ADD} {ADC} }}\nvoid g() {{ }}")
    assert text == (
        "void f() { unsigned hipport_carry = 0; x = hipport::ptx::add_cc_u32(x, 1, hipport_carry); "
        "x = hipport::ptx::addc_u32(x, 1, hipport_carry); }\nvoid g() { }"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"void f() {{ {ADC} }}",
        f"void f() {{ {ADC} {ADD} }}",
        f"void f() {{ {ADD} }}\nvoid g() {{ f(); {ADC} }}",
        f"void f() {{ {ADD} }}\nvoid g() {{ {ADD} if (c) f(); {ADC} }}",
        f"#define F f()\nvoid f() {{ {ADD} }}\nvoid g() {{ {ADD} F; {ADC} }}".replace("F;", "F();").replace(
            "F f", "F() f"
        ),
        f"{ADD} {ADC}",
    ],
)
def test_a_flag_through_calls_stays(text: str) -> None:
    result = port(text)
    assert result.reported and not result.changed
    assert {each.rule for each in result.reported} == {"inline_ptx/carry"}


def test_a_flag_in_macros_of_another_file() -> None:
    header = (
        '#define ADD(x) asm("add.cc.u32 %0, %0, 1;" : "+r"(x))\n#define ADC(x) asm("addc.u32 %0, %0, 0;" : "+r"(x))\n'
    )
    result = port('#include "f1.cu"\nvoid f() {\n\tADD(x[0]);\n\tADC(x[1]);\n}\nvoid g() { a.ADD(1); }', header)
    text = result.project.sources[0].text.decode()
    assert "void f() {\n\tunsigned hipport_carry = 0;\n\tADD(x[0]);" in text
    assert text.count("hipport_carry") == 1
    assert b"hipport::ptx::addc_u32(x, 0, hipport_carry)" in result.project.sources[1].text


def test_operands_are_evaluated_once() -> None:
    text = 'void f() { asm("mad.lo.u32 %0, %1, %1, %1;" : "=r"(x) : "r"(*p++)); }'
    assert ported(text) == ("void f() { { const unsigned in = *p++; x = hipport::ptx::mad_lo_u32(in, in, in); } }")


def test_names_of_the_text_and_of_the_program() -> None:
    text = 'asm("{ .reg .u32 x, %t; mov.u32 x, %1; add.u32 %t, x, 1; mov.u32 %0, %t; }" : "=r"(d) : "r"(x + t));'
    assert "const unsigned x_ = x + t;" in ported(f"void f() {{ {text} }}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if (c) asm(A); else g();", "if (c) {A} else g();"),
        ("for (;;) asm(A);", "for (;;) {A}"),
        ("asm(A) ;", "{A}"),
        ("if (c) g(); else asm(A);", "if (c) g(); else {A}"),
    ],
)
def test_blocks_in_control_flow(before: str, after: str) -> None:
    operands = '"{ .reg .u32 t; mov.u32 t, 1; mov.u32 %0, t; }" : "=r"(x)'
    result = re.sub(r"\s+", " ", ported(f"void f() {{ {before.replace('A', operands)} }}"))
    block = " const unsigned t = 1; x = t; "
    assert result in (
        f"void f() {{ {after.replace('{A}', '{' + block + '}')} }}",
        f"void f() {{ {after.replace('{A}', 'do {' + block + '} while (0);')} }}",
    )
    assert port(f"void f() {{ {before.replace('A', operands)} }}").reported[0].certainty is Certainty.SAFE


@pytest.mark.parametrize("name", ["ptx", "shared", "ld", "hipport"])
def test_parameters_that_would_change_the_names(name: str) -> None:
    text = f'#define LOAD(x, {name}) asm("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"({name}))\n'
    assert ported(text) == text
    assert "hipport::ptx::shared(p)" in ported(text.replace(f"{name})", "p)"))


def test_a_constraint_for_pointers_by_their_size() -> None:
    text = 'void f() {{ asm("{}" : "=r"(x) : _ASM_PTR_(p)); }}'
    assert "generic(p)" in ported(text.format("ld.global.u32 %0, [%1];"))
    assert ported(text.format("mov.u32 %0, %1;")) == text.format("mov.u32 %0, %1;")


def test_pointers_are_numbers_in_ptx() -> None:
    text = 'void f(int* p, long n) { asm("add.u64 %0, %1, %2;" : "=l"(p) : "l"(p), "l"(n)); }'
    assert (
        "p = hipport::ptx::as<decltype(p)>(hipport::ptx::add_u64(hipport::ptx::as<unsigned long long>(p), n));"
        in ported(text)
    )


FAMILY = '#define F(f, ptx) void f(unsigned x) { asm(ptx " %0, %0;" : "+r"(x)); }\n'


def test_macros_that_are_given_instructions_in_other_files() -> None:
    text = '#include "f1.cu"\nF(a, "popc.b32")\nF(b, "brev" ".b32")\n'
    result = port(text, FAMILY)
    assert result.project.sources[0].text.decode() == (
        '#include "f1.cu"\nF(a, hipport::ptx::popc_b32)\nF(b, hipport::ptx::brev_b32)\n'
    )
    assert b"{ x = ptx(x); }" in result.project.sources[1].text


@pytest.mark.parametrize(
    ("text", "comes_to"),
    [
        (
            FAMILY + 'F(a, "popc.b32")\nF(b, "popc.b32 %0, %0; brev.b32")\n',
            "void a(unsigned x) { x = hipport::ptx::popc_b32(x); }\n"
            "void b(unsigned x) { { x = hipport::ptx::popc_b32(x); x = hipport::ptx::brev_b32(x); } }\n",
        ),
        (
            FAMILY.replace("asm", "log(ptx); asm") + 'F(a, "popc.b32")\n',
            'void a(unsigned x) { log("popc.b32"); x = hipport::ptx::popc_b32(x); }\n',
        ),
        (
            FAMILY.replace('ptx "', '"ld.global." #ptx "').replace("%0;", "[%0];") + "F(a, u32)\n",
            "void a(unsigned x) { x = hipport::ptx::ld<unsigned>(hipport::ptx::generic(x)); }\n",
        ),
    ],
)
def test_macros_of_more_than_a_statement_are_written_out_where_they_are_used(text: str, comes_to: str) -> None:
    result = port(text)
    # A later run recognizes new uses by the comment.
    beginning = '// hipport wrote F out at its uses\n#include "hipport/ptx.h"\n'
    assert result.project.sources[0].text.decode() == beginning + comes_to


@pytest.mark.parametrize(
    "text",
    [
        FAMILY,
        FAMILY + 'F(a, "popc.b32")\nF(b, NAME)\n',
        FAMILY + 'F(a, "popc.b32")\nF(b, "frob.b32")\n',
        FAMILY + 'F(a, "popc.b32")\n#define F(f, ptx) asm(ptx)\n',
        FAMILY.replace('ptx "', '"popc." #ptx "') + "F(a, b32)\nF(b, b32.x)\n",
    ],
)
def test_macros_that_are_given_something_else_stay(text: str) -> None:
    result = port(text)
    assert not result.changed
    assert {each.certainty for each in result.reported} == {Certainty.MANUAL}


# ---- the assembly of CPUs


@pytest.mark.parametrize(
    "text",
    [
        "rdtsc", "cpuid", "mov %0, %1", "movl %%eax, %0; add $1, %0", "lock; xaddl %0, %1", "pause", "ret", "call foo",
        "fence.i", "fence rw, rw", "add.s %0, %1, %2", "b.ne 1f", "st %%fsr, %0", "ld [%o1], %o2",
        "and v0.16b, v1.16b, v2.16b", "s_waitcnt vmcnt(0)", "v_add_u32 %0, %1, %2",
        "ds_bpermute_b32 %0, %1, %2", "mul.d $f0, $f2, $f4", "add. %0, %1, %2", "vadd.vv v0, v1, v2",
        "vmax.u32 q0, q1, q2", "",
    ],
)  # fmt: skip
def test_left_alone(text: str) -> None:
    for kind in (Cpp, Cuda):
        result = port(f'void f() {{ asm volatile("{text}" : "=r"(x) : "r"(y) : "memory"); }}', kind=kind)
        assert not result.reported and not result.changed


def test_arm_is_left_alone_in_cpp() -> None:
    text = 'void f() { asm("vld1.32 {d0}, [%0]\\n\\tvmul.f32 q0, q1, q2\\n\\tvcvt.s32.f32 q0, q0" : : "r"(p) : "q0"); }'
    assert not port(text, kind=Cpp).reported


@pytest.mark.parametrize("text", ["membar.gl", "membar.cta", "bar.sync 0", "bar.warp.sync -1", "fence.sc.gpu"])
def test_without_types(text: str) -> None:
    for kind in (Cpp, Cuda):
        assert port(f'void f() {{ asm volatile("{text};" ::: "memory"); }}', kind=kind).changed


def test_bare_words_count_only_in_cuda() -> None:
    assert port('void f() { asm("trap;"); }').changed
    assert not port('void f() { asm("trap;"); }', kind=Cpp).reported


@pytest.mark.parametrize(
    ("condition", "first", "second"),
    [
        ("__CUDA_ARCH__ >= 800", False, True),
        ("defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800", False, True),
        ("CUDART_VERSION >= 11000", False, True),
        ("__CUDA_ARCH__ < 800", True, False),
        ("__CUDA_ARCH__ >= 800 || defined(__HIPCC__)", True, False),
        ("defined(__CUDA_ARCH__)", True, True),
        ("!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800", True, True),
        ("SOMETHING", True, True),
        ("!defined(USE_ROCM)", False, False),
        ("defined(USE_ROCM)", False, False),
    ],
)
def test_branches_that_hip_does_not_take(condition: str, first: bool, second: bool) -> None:
    statements = 'asm("griddepcontrol.wait;");\n#else\nasm("add.u32 %0, %0, 1;" : "+r"(x));'
    result = port(f"void f() {{\n#if {condition}\n{statements}\n#endif\n}}")
    assert ("inline_ptx/launch_control" in {each.rule for each in result.reported}) == first
    assert bool(result.changed) == second


# ---- the table


def keys() -> list[str]:
    return list(load(TABLE)["instructions"])


@pytest.mark.parametrize("key", keys())
def test_keys_are_patterns_of_their_opcodes(key: str) -> None:
    names = list(expanded(key))
    assert len(names) == len(set(names))
    for name in names:
        assert re.fullmatch(pattern(key), name.encode())
        known = signature(name.encode())
        assert known is not None
        for types in known:
            assert not set(types) - set(CPP) - {b"-", b"cc", b"address"}, name
    assert not re.fullmatch(pattern(key), (names[0] + ".x").encode())


def test_no_opcode_has_two_rows() -> None:
    rows: dict[str, str] = {}
    for key in keys():
        for name in expanded(key):
            assert rows.setdefault(name, key) == key, f"{name} is in {rows[name]} and {key}"


def test_refused_is_not_translated() -> None:
    refused = load(TABLE)["refused"]
    for family in refused.values():
        for opcode in family["opcodes"].split():
            for key in keys():
                assert not any(name == opcode or name.startswith(opcode + ".") for name in expanded(key)), opcode
        assert family["why"] and family["instead"]


def test_tested_instructions_are_translated_and_emulated_forms_are_review() -> None:
    """Each instruction that test_ptx_helpers.py runs becomes a call of the same function."""
    recorded = json.loads((Path(__file__).parent / "test_ptx_helpers.json").read_text(encoding="utf-8"))
    emulated = set()
    for name, column in columns().items():
        _, text, operands = column.assembler().split('"', 2)
        letters = re.findall(r'"(=?[a-z])"', operands)
        inputs = [Operand(b"", letter.encode(), b"abcde"[i : i + 1]) for i, letter in enumerate(letters[1:])]
        outputs = [Operand(b"", letters[0].encode(), b"x")]
        written = translate(parse(text.encode()), outputs, inputs, place=PtxPlace(carry_escapes=False))
        calls = set(re.findall(r"hipport::ptx::(\w+)\(", column.call()))
        lines = b"\n".join(written.lines).decode()
        # The default selection of words has no function.
        assert calls <= set(re.findall(r"hipport::ptx::(\w+)\(", lines)), name
        if any("relies on the PTX manual" in why for why in written.assumes):
            emulated.add(name)
        elif "approx" not in name and ".full" not in name:
            assert not written.assumes, name
    assert set(recorded["unlike the manual"]) <= emulated
    # The forms are families: they include forms that do not differ, but these are a minority.
    assert len(emulated) < 800


# ---- arbitrary text

_FRAGMENTS = st.sampled_from(
    'asm( asm volatile( __asm__ ( "add.u32 %0, %1, %2;" "{ .reg .pred p;" "}" : :: , "=r"(x) "r"(a[i]) [n]"+l"(*p) '
    '"n"(3) "memory" ) ); // \\ \n /* */ #define\tM(x) #x #if\tA #endif { } if(c) else R"(mov.u32\t%0,%1;)" '
    '"@p bra L;" \' "'.split(" ")
)
_PTX = st.sampled_from(
    "add.u32 mov.b64 setp.lt.u32 ld.global.v2.u32 st.u32 @p @!p { } .reg .pred .b32 %0 %1 %9 %[n] %[x] %%laneid p "
    "t<3> t1 , ; : | [ ] + - 4 0f3F800000 1.5 ( ) ! .h0 \0000\000 shfl.sync.up.b32 vadd.u32.u32.u32 bar.sync // /* */ "
    "\n $ ~ = _".split(" ")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_FRAGMENTS, max_size=30))
@example(['asm("', "\\"])
def test_any_cpp_is_survived(fragments: list[str]) -> None:
    text = " ".join(fragments)
    result = port(text)
    assert not any(each.rule.endswith("/failed") for each in result.reported), result.reported
    assert not any("defect" in each.reason for each in result.reported), result.reported
    # Text outside of replaced statements stays in its place.
    source = result.project.sources[0]
    kept = source.before.text if source.before is not None else source.text
    for edit in sorted(source.edits, reverse=True):
        kept = kept[: edit.span.start] + edit.new + kept[edit.span.end :]
    assert kept == source.text


@settings(max_examples=600, deadline=None)
@given(st.lists(_PTX, max_size=25))
def test_any_ptx_is_parsed_or_refused(fragments: list[str]) -> None:
    operands = [Operand(b"n", b"=r", b"x"), Operand(b"", b"r", b"y")]
    try:
        program = parse(" ".join(fragments).encode("latin-1"), [b"n", b""])
        result = translate(program, operands[:1], operands[1:], (b"#x",))
    except (Unparsed, Untranslated):
        return
    assert isinstance(result, Translation) and result.lines


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_parsed_or_refused(text: bytes) -> None:
    opcodes(text)
    try:
        parse(text)
    except Unparsed:
        return


def test_every_instruction_of_the_table_has_an_operation() -> None:
    """Special cases of opcodes do not apply to opcodes that the table has."""
    for key in keys():
        for name in expanded(key):
            known = signature(name.encode())
            assert known is not None
            (result, *types), _ = known
            operands = [Placeholder(i) for i in range(len(types) + (result != b"-"))]
            if name.startswith(("bar", "cvta.")) and "warp" not in name:
                continue
            each = operation(PtxInstruction(name.encode(), tuple(operands)), lambda _: b"")
            assert len(each.sources) == len(types) and (each.result is None) == (result == b"-"), name


# ---- effects of the C++

MASK = 0xFFFFFFFF


@dataclass
class Program:
    """An asm statement of random instructions on six words, and their results."""

    random: Random
    lines: list[str] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    carry: bool = False

    def __post_init__(self) -> None:
        choose = self.random
        # Names of the six words; an input may alias an output.
        self.words = [*choose.sample(range(6), 2), *(choose.randrange(6) for _ in range(3))]
        self.both = [choose.random() < 0.5 for _ in range(2)]
        self.calls = [choose.random() < 0.2 for _ in range(3)]
        self.written = {"%2", "%3", "%4"} | {f"%{i}" for i in range(2) if self.both[i]}
        for _ in range(choose.randrange(1, 7)):
            self.lines.append(self.instruction())
        for i in range(2):
            if f"%{i}" not in self.written:
                self.lines.append(f"mov.u32 %{i}, {self.source()};")

    def source(self) -> str:
        return self.random.choice([*sorted(self.written - {"p", "q"}), str(self.random.randrange(9)), "0xfffffff0"])

    def instruction(self) -> str:
        choose = self.random
        predicates = sorted(self.written & {"p", "q"})
        guard = (
            choose.choice(["@", "@!"]) + choose.choice(predicates) + " " if predicates and choose.random() < 0.4 else ""
        )
        if choose.random() < 0.25:
            self.written |= {"p", "q"} if not guard else set()
            compare = choose.choice(["lt.u32", "ge.s32", "ne.u32"])
            known = {"p", "q"} <= self.written
            text = f"setp.{compare} p|q, {self.source()}, {self.source()};"
            return guard + text if known else text
        to = choose.choice(["%0", "%1", "t", "u"])
        kind = choose.choice(["add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "mov.u32", "mad.lo.u32", "selp.b32", "cc"])
        if kind == "selp.b32" and not predicates:
            kind = "mov.u32"
        if kind == "cc":
            kind = choose.choice(["addc.cc.u32", "addc.u32", "sub.cc.u32"]) if self.carry else "add.cc.u32"
            if ".cc" in kind:
                self.carry = True
            guard = ""
        count = {"mov.u32": 1, "mad.lo.u32": 3}.get(kind, 2)
        sources = [self.source() for _ in range(count)] + ([choose.choice(predicates)] if kind == "selp.b32" else [])
        if to not in self.written and guard:
            guard = ""
        self.written.add(to)
        return f"{guard}{kind} {to}, {', '.join(sources)};"

    def cpp(self, number: int) -> str:
        names = "abcde"
        references = " ".join(f"unsigned& {name} = v[{word}];" for name, word in zip(names, self.words, strict=True))
        outputs = ", ".join(f'"{"+" if self.both[i] else "="}r"({names[i]})' for i in range(2))
        inputs = ", ".join(f'"r"({names[i + 2]}{" + tick()" if self.calls[i] else ""})' for i in range(3))
        text = r"{ .reg .pred p, q; .reg .u32 t, u;\n" + r"\n".join(self.lines) + " }"
        used = " (void)a, (void)b, (void)c, (void)d, (void)e;"
        return f'void f{number}(unsigned* v) {{ {references}{used}\n  asm("{text}" : {outputs} : {inputs});\n}}'

    def run(self, words: list[int]) -> list[int]:
        values = {f"%{i}": words[word] for i, word in enumerate(self.words)} | {"cc": 0}
        for line in self.lines:
            guard, opcode, rest = re.fullmatch(r"(?:@(!?\w) )?([\w.]+) (.*);", line).groups()  # type: ignore[union-attr]
            if guard and values[guard[-1]] == guard.startswith("!"):
                continue
            to, *texts = rest.split(", ")
            x, y, z = [*(values.get(each, None) if each in values else int(each, 0) for each in texts), 0, 0][:3]
            assert x is not None and y is not None and z is not None
            if opcode.startswith("setp"):
                signed = [each - (1 << 32) if each >> 31 else each for each in (x, y)]
                holds = {"lt": x < y, "ge": signed[0] >= signed[1], "ne": x != y}[opcode.split(".")[1]]
                values |= {"p": holds, "q": not holds}
                continue
            carried = values["cc"] if opcode.startswith("addc") else 0
            result = {
                "add": x + y, "addc": x + y + carried, "sub": x - y, "mul": x * y, "xor": x ^ y, "mov": x,
                "mad": x * y + z, "selp": x if z else y,
            }[opcode.split(".")[0]]  # fmt: skip
            if ".cc" in opcode:
                values["cc"] = int(not 0 <= result <= MASK)
            values[to] = result & MASK
        after = list(words)
        for i in range(2):
            after[self.words[i]] = values[f"%{i}"]
        return after


#: Declarations, an asm statement, the value to test, and its right value by PTX's manual.
SINGLE = [
    ("unsigned x;", 'asm("cvt.s16.u32 %0, %1;" : "=r"(x) : "r"(0x18000));', "x", 0xFFFF8000),
    ("unsigned x;", 'asm("cvt.u16.u32 %0, %1;" : "=r"(x) : "r"(0x18000));', "x", 0x8000),
    ("int x;", 'asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(x) : "f"(-1000.f));', "unsigned(x)", 0xFFFFFF80),
    ("unsigned x;", 'asm("mov.b32 %0, %1;" : "=r"(x) : "f"(1.f));', "x", 0x3F800000),
    ("float x;", 'asm("add.f32 %0, %1, 0f3F000000;" : "=f"(x) : "r"(0x3F800000));', "unsigned(x * 2)", 3),
    ("unsigned long long x;", 'asm("mov.b64 %0, {%1, %2};" : "=l"(x) : "r"(1), "r"(2));', "x >> 31", 4),
    ("unsigned short x, y;", 'asm("mov.b32 {%0, %1}, %2;" : "=h"(x), "=h"(y) : "r"(0x20001));', "x + 10 * y", 21),
    ("double x;", 'asm("mov.b64 %0, %1;" : "=d"(x) : "l"(0x4008000000000000ull));', "unsigned(x)", 3),
    ("unsigned x;", 'asm("cvt.u32.u64 %0, %1;" : "=r"(x) : "l"(0x500000007ull));', "x", 7),
    ("unsigned long long x;", 'asm("mul.wide.s32 %0, %1, %2;" : "=l"(x) : "r"(-1), "r"(2));', "x + 3", 1),
    ("int x;", 'asm("shr.s32 %0, %1, 31;" : "=r"(x) : "r"(0x80000000));', "unsigned(x)", 0xFFFFFFFF),
    ("unsigned x;", 'asm("vadd.u32.s32.s32.sat %0, %1.b1, %2.h0;" : "=r"(x) : "r"(0xFE00), "r"(1));', "x", 0),
    ("unsigned x;", 'asm("set.gt.u32.f32 %0, %1, 0f80000000;" : "=r"(x) : "f"(1.f));', "x", 0xFFFFFFFF),
    ("unsigned x = 9;", 'asm("{ .reg .s16 t; cvt.s16.s32 t, %1; cvt.s32.s16 %0, t; }" : "=r"(x) : "r"(0xFFFF));',
     "x", MASK),
    ("unsigned x;", 'asm("{ .reg .u16 t; mov.u16 t, -1; cvt.u32.u16 %0, t; }" : "=r"(x));', "x", 0xFFFF),
    ("long long x;", 'asm("sub.s64 %0, 0, %1;" : "=l"(x) : "l"(5ll));', "unsigned(-x)", 5),
    ("unsigned x;", 'asm("{ .reg .f32 t; mov.b32 t, %1; add.f32 t, t, t; mov.b32 %0, t; }" : "=r"(x) : "r"(1 << 30));',
     "x", 0x40800000),
]  # fmt: skip


def test_types_are_those_of_registers(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("NOT CHECKED that what inline_ptx writes does what the PTX does: no g++")
    functions = [f"unsigned f{i}() {{ {a} {b} return unsigned({c}); }}" for i, (a, b, c, _) in enumerate(SINGLE)]
    result = port("\n".join(functions))
    assert [each.certainty for each in result.reported] == [Certainty.SAFE] * len(SINGLE)
    calls = "".join(f'  std::printf("%u\\n", f{i}());\n' for i in range(len(SINGLE)))
    unit = tmp_path / "unit.cpp"
    unit.write_text(f"{result.project.sources[0].text.decode()}\n#include <cstdio>\nint main() {{\n{calls}}}\n")
    include = Path(hipport.__file__).parent / "include"
    subprocess.run(["g++", "-std=c++17", "-w", "-I", include, unit, "-o", tmp_path / "unit"], check=True)
    said = subprocess.run([tmp_path / "unit"], check=True, capture_output=True, text=True).stdout.split()
    for case, each in zip(SINGLE, said, strict=True):
        assert int(each) == case[3], case


def test_the_cpp_has_the_effects_of_the_instructions(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("NOT CHECKED that what inline_ptx writes does what the PTX does: no g++")
    random = Random(1)
    programs = [Program(random) for _ in range(400)]
    before = "\n".join(
        ["unsigned ticks;", "unsigned tick() { ++ticks; return 0; }", *(p.cpp(i) for i, p in enumerate(programs))]
    )
    result = port(before)
    assert [each.certainty for each in result.reported] == [Certainty.SAFE] * len(programs)
    words = [3, 0xFFFFFFFF, 5, 0x80000000, 7, 0x12345678]
    runs = "".join(f"  run(f{i});\n" for i in range(len(programs)))
    main = f"""
    #include <cstdio>
    void run(void (*f)(unsigned*)) {{
      unsigned v[6] = {{ {", ".join(map(str, words))} }};
      ticks = 0;
      f(v);
      std::printf("%u %u %u %u %u %u %u\\n", v[0], v[1], v[2], v[3], v[4], v[5], ticks);
    }}
    int main() {{\n{runs}}}\n"""
    unit = tmp_path / "unit.cpp"
    unit.write_text(result.project.sources[0].text.decode() + main)
    include = Path(hipport.__file__).parent / "include"
    subprocess.run(["g++", "-std=c++17", "-w", "-I", include, unit, "-o", tmp_path / "unit"], check=True)
    said = subprocess.run([tmp_path / "unit"], check=True, capture_output=True, text=True).stdout.splitlines()
    for i, (program, line) in enumerate(zip(programs, said, strict=True)):
        *after, ticks = map(int, line.split())
        assert after == program.run(words), (program.cpp(i), after)
        assert ticks == sum(program.calls), program.cpp(i)


# ---- against the header

COMPARISONS = {
    "b{16,32,64}": "eq ne",
    "{u,s}{16,32,64}": "eq ne lt le gt ge",
    "u{16,32,64}": "lo ls hi hs",
    "{f16,bf16,f32,f64}": "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
}


def every_instruction() -> list[str]:
    """Return PTX with every opcode of the table, and more whose functions are put together from parts."""
    found = []
    for key in keys():
        for name in expanded(key):
            known = signature(name.encode())
            assert known is not None
            (result, *types), others = known
            if name.startswith("bar") and "warp" not in name:
                to = "p, 0, p" if name.endswith("pred") else "o0, 0, p"
                found.append(f"{name} {to if 'red' in name else '0'};")
                continue
            to = [] if result == b"-" else [("o0" if result != b"pred" else "p") + ("|q" if b"pred" in others else "")]
            letters = {b"address": "l", b"pred": "p", b"f32": "f", b"f64": "d"}
            args = [letters.get(kind) or {16: "h", 64: "l"}.get(BITS[kind], "r") for kind in types]
            args = [f"{letter}{i}" if letter != "p" else "p" for i, letter in enumerate(args)]
            wide = {b"f32": "of", b"f64": "od"}.get(result, "ol" if result != b"-" and BITS[result] == 64 else "o0")
            found.append(name + " " + ", ".join([*(each.replace("o0", wide) for each in to), *args]) + ";")
    for types_, names in COMPARISONS.items():
        for kind in expanded(types_):
            letter = {"f32": "f", "f64": "d", "bf16": "h"}.get(kind, {"16": "h", "64": "l"}.get(kind[1:], "r"))
            for name in names.split():
                found.append(f"setp.{name}.{kind} p|q, {letter}0, {letter}1;")
                found += [
                    f"set.{name}.{to}.{kind} o0, {letter}0, {letter}1;" for to in ("u16", "s16", "f16", "u32", "s32")
                ]
    for order in (
        "",
        ".cg",
        ".cv",
        ".volatile",
        ".relaxed.cta",
        ".relaxed.sys",
        ".acquire.gpu",
        ".nc",
        ".L1::no_allocate",
    ):
        for kind, letter in (("u8", "r"), ("s16", "h"), ("b32", "r"), ("f32", "f"), ("u64", "l"), ("f64", "d")):
            to = {"f": "of", "d": "od", "l": "ol"}.get(letter, "o0")
            for space in (".global", ".shared"):
                where = "r0" if space == ".shared" else "l0"
                found.append(f"ld{order}{space}.{kind} {to}, [{where}+8];")
                vector = f"{{{to}, {to}}}"
                found.append(f"ld{order}{space}.v2.{kind} {vector}, [{where}];")
                store = order.replace("acquire", "release").replace("cv", "wt").replace(".nc", ".cs")
                found.append(f"st{store}{space}.{kind} [{where}], {letter}1;")
                found.append(f"st{store}{space}.v2.{kind} [{where}], {{{letter}1, {letter}1}};")
    for order in ("", ".relaxed.gpu", ".acq_rel.sys", ".release.cta"):
        for name, kinds in {
            "add": "u32 s32 u64 f32 f64",
            "min": "u32 s32 u64 s64",
            "exch": "b32 b64",
            "or": "b32 b64",
        }.items():
            for kind in kinds.split():
                letter = {"f32": "f", "f64": "d"}.get(kind, "l" if "64" in kind else "r")
                to = {"f": "of", "d": "od", "l": "ol"}.get(letter, "o0")
                found.append(f"atom{order}.global.{name}.{kind} {to}, [l0], {letter}1;")
                found.append(f"red{order}.shared.{name}.{kind} [r0], {letter}1;")
        found.append(f"atom{order}.cas.b32 o0, [l0], r1, r2;")
    for name, register in load(TABLE)["registers"].items():
        found.append(f"mov.u64 ol, {name};" if register.get("type") == "u64" else f"mov.u32 o0, %{name};")
    return found


@pytest.mark.toolchain
def test_the_header_has_every_instruction(tmp_path: Path) -> None:
    toolchain = next((each for each in find(os.environ, Path(sys.executable)) if each.hip >= (6, 0)), None)
    if toolchain is None:
        pytest.skip("NOT CHECKED that hipport/ptx.h has what inline_ptx writes: no hipcc (hipport toolchain install)")
    names = [f"{letter}{i}".encode() for letter in "rlhfd" for i in range(5)]
    letters = [name[:1].decode() for name in names]
    inputs = [Operand(b"", letter.encode(), name) for letter, name in zip(letters, names, strict=True)]
    outputs = [
        Operand(b"", b"=" + kind, name) for kind, name in ((b"r", b"o0"), (b"l", b"ol"), (b"f", b"of"), (b"d", b"od"))
    ]
    symbols = [operand.expression for operand in (*outputs, *inputs)]
    body = []
    for text in every_instruction():
        numbered = re.sub(r"\b(?:[rlhfd]\d|o[0lfd])\b", lambda match: f"%{symbols.index(match[0].encode())}", text)
        carry = "add.cc.u32 %0, %4, %4; " if re.match(r"(?:add|sub|mad)c", text) else ""
        read = "@p mov.u32 %0, 1; " + ("@q mov.u32 %0, 2; " if "|q" in text else "")
        registers = "{ .reg .pred p, q; setp.eq.u32 p, %4, 1; " + carry + numbered + read + "}"
        lines = translate(parse(registers.encode()), outputs, inputs, place=PtxPlace(carry_escapes=False)).lines
        body.append("{ " + " ".join(line.decode() + ";" for line in lines) + " }  // " + text)
    kinds = {"r": "unsigned", "l": "unsigned long long", "h": "unsigned short", "f": "float", "d": "double"}
    parameters = [f"{kinds[letter]} {name.decode()}" for letter, name in zip(letters, names, strict=True)]
    parameters += ["unsigned& o0", "unsigned long long& ol", "float& of", "double& od"]
    unit = tmp_path / "every.cu"
    functions = [f"__device__ void f{i}({', '.join(parameters)})\n{line}" for i, line in enumerate(body)]
    unit.write_text("\n".join(['#include "hipport/ptx.h"', *functions, ""]))
    include = Path(hipport.__file__).parent / "include"
    flags = ["--cuda-device-only", "-fsyntax-only", "--offload-arch=gfx942", "-Wall", "-Werror", "-ferror-limit=0"]
    command = [toolchain.hipcc, "-x", "hip", *flags, "-Wno-unused-command-line-argument", f"-I{include}", unit.name]
    done = compiled.run(command, cwd=tmp_path, env=toolchain.environment(os.environ))
    assert done.returncode == 0, done.stderr
    assert len(body) > 2500

# SPDX-License-Identifier: Apache-2.0
"""After the first port: hipport's own output is never mistaken for a person's decision. Laws over all fixtures.

A second run reports what the first has left to a person, and offers rejected changes again. Upstream's additions to a
ported file, merged by Git, have the same port as if they had been there from the beginning. And hipport recognizes its
own text about AMD.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path, PurePath

import pytest

from further import further, of_known_rules
from hipport.api import rewrite
from hipport.core.finding import Certainty
from hipport.core.source import Source
from hipport.engine.outcomes import Outcome, Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.make import Makefile
from hipport.syntax.own_guards import MARK, asked
from hipport.syntax.python_script import Python
from hipport.testing import Fixture, fixtures
from hipport_passes import PASSES
from hipport_passes.build_files.build_scripts.cmake_trees import Tree
from hipport_passes.build_files.build_scripts.script_conditions import Conditions
from hipport_passes.names.helper_includes import USE, _included, _of, _with_brought
from upstream import merged, upstream

FOLDER = Path(__file__).parent.parent / "fixtures"
CASES = [case for folder in sorted(FOLDER.iterdir()) for case in fixtures(folder)]
CPP = [case for case in CASES if isinstance(case.before, Cpp)]

# Cases in which a merge has another port, and the finding that reports it: one half of a pair is upstream's.
TOLD = {
    "cmake/compiler": "cmake/project",
    "cpp_extension/gpu_decides": "cpp_extension/is_available",
    "cpp_extension/gpu_or_toolkit": "cpp_extension/is_available",
    "inline_ptx/macros_by_macros": "written_out_macros/gone",
    "inline_ptx/narrow": "inline_ptx/argument",
    "inline_ptx/written_out": "written_out_macros/gone",
    "inline_ptx/written_out_whole": "written_out_macros/nowhere",
    "native_waves/by_number": "native_waves/refused",
    "native_waves/loop_in_memory": "native_waves/mixed",
    "native_waves/macros": "native_waves/refused",
    "native_waves/parts_of_warps": "native_waves/refused",
}
# Cases in which it differs and is right, with reasons.
_AWAY = "what a first run has kept from ROCm is reached by CUDA alone, and needs no port"
RIGHT = {
    "cmake/languages_listed": "a package is looked for in each of the blocks for HIP",
    "cpp_extension/homes_kept": "there is neither CUDA nor ROCm where the home that a first run put is None",
    "cpp_extension/without_gpu": _AWAY,
    "header_macros/own_macros": "the runtime is included in front of a macro's default twice",
    "native_waves/shared": "the version for whole wavefronts stays, which nothing calls by now",
    "python_gates/capabilities_as_text": _AWAY,
}
# REVIEW changes that a first run did not make, and that no longer apply to the changed code.
OTHERWISE = {
    "cooperative_groups/equal_groups": "HIP's header of groups, which is certain where nothing is assumed of calls",
    "cooperative_groups/apart": "the same",
    "cooperative_groups/several_tiles": "the same",
    "cooperative_groups/trip_counts": "the same",
    "inline_ptx/macros_by_macros": "macros that were written out at their uses, which nothing uses by then",
    "inline_ptx/written_out": "asm that the macro was written out from",
    "inline_ptx/written_out_whole": "the macro that was written out at its uses, which nothing uses by then",
}


#: Fixtures whose rules others show. What a first run leaves to the second depends on the rules.
REPEATED = of_known_rules(CASES, TOLD.keys() | RIGHT.keys() | OTHERWISE.keys())

_MADE: dict[str, type[Source]] = {".cmake": CMake, ".mk": Makefile}


def port(case: Fixture, text: bytes, accept: Certainty = Certainty.REVIEW) -> Ported:
    before = type(case.before)(case.before.path, text)
    return run(Project((before, *case.beside), Target(), case.skipped), PASSES, accept)


def again(case: Fixture, first: Ported, text: bytes, accept: Certainty = Certainty.REVIEW) -> Ported:
    """Port the result of a first run again, as it is read from disk, with another text for the case's file."""
    one, *rest = first.project.sources
    made = (_MADE.get(file.path.suffix, Cpp)(file.path, file.text) for file in first.created)
    sources: tuple[Source, ...] = (
        type(one)(one.path, text),
        *(type(each)(each.path, each.text) for each in rest),
        *made,
    )
    return run(Project(sources, Target(), case.skipped), PASSES, accept)


def left(ported: Ported) -> Counter[tuple[str, str, str]]:
    """Return the findings for a person, without line numbers and names that are HIP's by then.

    A kernel that cannot have native wavefronts has warps of 32 lanes after the first run: that is decided.
    """
    found = (
        (
            str(each.path),
            each.rule,
            # HIP has one function for the two of CUDA.
            re.sub(
                r" \(and [^()]* more of [^()]*\)|\d+|cuda|hip", "", each.message.replace("cuMemAllocM", "cudaMallocM")
            ),
        )
        for each in ported.reported
        if each.outcome is Outcome.REPORTED and each.rule != "native_waves/refused"
    )
    return Counter(found)


def declined(ported: Ported) -> Counter[str]:
    # A kernel that did not get native wavefronts certainly has warps of 32 lanes.
    rules = (each.rule for each in ported.reported if each.outcome is Outcome.DECLINED)
    return Counter(rule for rule in rules if rule != "native_waves/native")


_FOR_AMD = re.compile(rb"__HIP(?:CC|CC_RTC|_PLATFORM_AMD|_DEVICE_COMPILE)__")
_SAYS_AMD = re.compile(rb"\w*(?:HIP|ROCM|AMD)\w*")


def persons(ported: Source, before: Source) -> list[bytes]:
    """Return the parts of a port that the next run would mistake for a person's decision about AMD, if new."""
    read = type(ported)(ported.path, ported.text)
    if isinstance(read, Cpp) and isinstance(before, Cpp):
        return [
            part.condition
            for group in read.conditionals
            for part, following in pairwise(group)
            if _FOR_AMD.search(part.asked)
            # A person's own test beside it is a decision.
            and before.words.isdisjoint(_SAYS_AMD.findall(part.asked))
            # If hipport's own lines stand alone, nothing can be mistaken.
            and not _DIRECTIVES.fullmatch(read.code, part.span.end, following.span.start)
        ]
    if isinstance(read, Python) and isinstance(before, Python) and read.module is not None:
        return [b"..."] if Conditions(read).decided and not Conditions(before).decided else []
    if isinstance(read, CMake) and isinstance(before, CMake):
        aware = [Tree(each, Project((each,))).aware for each in (read, before)]
        return [b"..."] if aware[0] and not aware[1] else []
    return []


_DIRECTIVES = re.compile(rb"(?:\s*#[^\n]*)*\s*")


_INCLUDE = re.compile(rb"[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"]")
_OF_HIP = re.compile(rb"(?:hip|roc)\w*/|(?:[\w.]+/)*hipport/")
_STANDARD = re.compile(rb"c[a-z]+|\w+\.h")
# The beginning of the file before any code, whatever is included there.
_NO_CODE = re.compile(rb"\s*(?:#[ \t]*(?:define|pragma|undef)\b|//|/?\*)")


def same(after: bytes, wanted: bytes) -> bool:
    """Return whether two texts are the same, except for empty lines and for includes that make no difference.

    The needed includes must be there, before the same code or earlier; of hipport's headers, those whose names are
    used. Another of HIP's headers also includes the runtime's. Additional headers of HIP, hipport and the standard
    library, which a first run needed, are allowed. Any of HIP's headers may have the mark.
    """
    if (MARK in after) != (MARK in wanted):
        return False
    (one, has), (other, asked) = (_without_includes(text.replace(MARK, b"")) for text in (after, wanted))
    of_hip = any(_OF_HIP.match(path) for path in has)
    return (
        one == other
        and all(_OF_HIP.match(path) or _STANDARD.fullmatch(path) for path in has.keys() - asked.keys())
        and all(
            (path in has and has[path] <= place) or b"hipport/" in path or (path == b"hip/hip_runtime.h" and of_hip)
            for path, place in asked.items()
        )
        and _lacks(after) <= _lacks(wanted)
    )


def _lacks(text: bytes) -> set[str]:
    """Return hipport's headers whose names are used, and that are not included."""
    there = _included(Cpp(PurePath("a.cu"), text)) if b"hipport::" in text else frozenset()
    used = (_of(b"".join(name.split())) for name in USE.findall(text))
    return {header for header in used if header is not None} - there


def _without_includes(text: bytes) -> tuple[list[bytes], dict[bytes, int]]:
    """Return the lines without includes, and the amount of code before each include."""
    lines: list[bytes] = []
    found: dict[bytes, int] = {}
    code = 0
    for line in text.splitlines():
        if include := _INCLUDE.match(line):
            found.setdefault(include[1], code)
        elif line.strip():
            lines.append(line)
            code += not _NO_CODE.match(line)
    return lines, found


@pytest.mark.parametrize("case", further(CASES, REPEATED))
def test_after_the_first_port(case: Fixture, tmp_path: Path) -> None:
    first = port(case, case.before.text)
    ours = first.project.sources[0].text
    # The output of a pass has no new findings of other passes, and none that first appear for a person now.
    second = again(case, first, ours) if first.changed or first.created else first
    assert [str(each) for each in second.reported if each.outcome is not Outcome.REPORTED] == []
    told, anew = (Counter(r.rule for r in each.reported if r.outcome is Outcome.REPORTED) for each in (first, second))
    assert anew - told == Counter()
    if first.changed or first.created:
        assert left(second) == left(first)
        if any(each.certainty is Certainty.REVIEW and each.outcome is Outcome.APPLIED for each in first.reported):
            careful = port(case, case.before.text, Certainty.SAFE)
            later = again(case, careful, careful.project.sources[0].text, Certainty.SAFE)
            missed = declined(careful) - declined(later)
            assert (not missed) == (case.name not in OTHERWISE), missed
        assert not persons(first.project.sources[0], case.before)
    else:
        assert case.name not in OTHERWISE
    change = upstream(case.before, ours)
    if ours == case.before.text or change == case.before.text:
        assert case.name not in TOLD.keys() | RIGHT.keys()
        return
    both = merged(tmp_path, case.before, ours, change)
    after, wanted = again(case, first, both), port(case, change)
    assert not after.failures and not wanted.failures
    TRIED["merged" if both != change else "theirs"] += 1
    one, other = after.project.sources[0].text, wanted.project.sources[0].text
    if case.name in TOLD:
        assert not same(one, other)
        told, of_upstream = (
            Counter((e.rule, e.message) for e in each.reported if e.outcome is Outcome.REPORTED)
            for each in (after, wanted)
        )
        assert TOLD[case.name] in {rule for rule, _ in told - of_upstream}
    elif case.name in RIGHT:
        assert not (same(one, other) and left(after) == left(wanted)), f"no longer: {RIGHT[case.name]}"
    else:
        if not same(one, other):
            assert one.decode(errors="replace") == other.decode(errors="replace")
        assert left(after) == left(wanted)


def test_each_rule_is_among_the_fixtures_that_are_tried_each_time() -> None:
    def rules(cases: Iterable[Fixture]) -> set[str]:
        return {
            f"{case.name.partition('/')[0]} {' '.join(line.split()[1:3])}" for case in cases for line in case.findings
        }

    tried = [case for case in CASES if case not in REPEATED]
    assert rules(tried) == rules(CASES) and len(tried) < 0.6 * len(CASES)
    assert TOLD.keys() | RIGHT.keys() | OTHERWISE.keys() <= {case.name for case in tried}
    # Both kinds of fixtures, for each pass.
    passes = {(case.name.partition("/")[0], bool(case.findings)) for case in CASES}
    assert {(case.name.partition("/")[0], bool(case.findings)) for case in tried} == passes


TRIED: Counter[str] = Counter()


def test_most_merges_have_both() -> None:
    """If a merge keeps only upstream's text, it shows nothing here: few of the tried files do.

    These files have a few lines, in which upstream's changes are beside or among those of the port.
    """
    assert TRIED["merged"] >= 5 * TRIED["theirs"]


# A line that upstream changes, and that a port has changed or added to: a person takes upstream's.
_LINES = [
    ("containers/services", b"JOBS=4", ""),
    ("kubernetes/pods", b"          cpu: 4", ""),
    ("cooperative_groups/equal_groups", b"namespace cg = cooperative_groups;", ""),
    ("cooperative_groups/in_macros", b"#define BLOCK cooperative_groups::this_thread_block()", ""),
    ("cooperative_groups/tiles", b"#ifdef USE_ROCM", ""),
    ("lane_masks/branches", b"#include <cstddef>", ""),
    ("inline_ptx/carry", b"__device__ void twice(Word* d, const Word* a) {", ""),
    ("cpp_extension/by_hand", b"import BuildExtension, CUDAExtension", ""),
    ("cpp_extension/homes_kept", b"import CUDA_HOME, BuildExtension, CUDAExtension", ""),
    ("cpp_extension/gates", b"    CUDA_HOME,", ""),
    ("cmake/libraries", b"NAMES nvJitLink nvJitLink_static)", ""),
    ("cmake/expressions", b"CXX>:-Wall>", "cmake/expression"),
    ("cmake/compiler", b"if(NOT DEFINED QUIET)", "cmake/project"),
    ("makefile/program", b"# A program of one kernel.", ""),
    ("makefile/named_libraries", b"Q ?= @", ""),
    ("makefile/program", b"NVCCFLAGS := -O3 -std=c++", "stale_branches/behind"),
    ("makefile/defined", b"build/$(1", "stale_branches/behind"),
    ("makefile/samples", b"nvcc $(ALL_CCFLAGS) -c", "stale_branches/behind"),
    ("native_waves/shared", b"    for (int o = 1", "native_waves/versions"),
]


@pytest.mark.parametrize(("name", "line", "rule"), _LINES)
def test_a_line_of_upstream_is_ported_or_reported(name: str, line: bytes, rule: str, tmp_path: Path) -> None:
    case = next(each for each in CASES if each.name == name)
    assert case.before.text.count(line) == 1 or rule
    first = port(case, case.before.text)
    ours = first.project.sources[0].text
    # Within the line, or in the part of it that compilers do not read.
    remark = b" // upstream" if isinstance(case.before, Cpp) else b"  # upstream"
    change = case.before.text.replace(line, line + (b"9" if rule and not rule.startswith("cmake") else remark), 1)
    after, wanted = again(case, first, merged(tmp_path, case.before, ours, change)), port(case, change)
    one, other = after.project.sources[0].text, wanted.project.sources[0].text
    if rule:
        assert not same(one, other)
        assert rule in {found for _, found, _ in left(after) - left(wanted)}
    else:
        assert one.splitlines() == other.splitlines() or same(one, other)
        assert left(after) == left(wanted)


_NATIVE = b"""// hipport: warp=native
#include "hipport/wave.h"
__global__ void k(int *p) {
    int v = hipport::native::shfl_xor_sync(hipport::native::full_mask(), p[threadIdx.x], 1);
    p[0] = v + other(v);
}
"""
_NAMED = b' or (torch.version.hip is not None and "PYTORCH_ROCM_ARCH" in os.environ)'
_OPENED = b"""import os
import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDAExtension
kernels = []
if torch.cuda.is_available() or torch.version.hip is not None:
    print(torch.cuda.get_device_capability())
    kernels = [CUDAExtension("a", ["a.cu"])]
setup(ext_modules=kernels)
"""


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        (
            "a.cu",
            b"__device__ int other(int v) { return __shfl_sync(0xffffffffu, v, 0); }\n" + _NATIVE,
            "native_waves/mixed",
        ),
        ("setup.py", _OPENED, "cpp_extension/is_available"),
        ("setup.py", _OPENED.replace(b" or torch.version.hip is not None", _NAMED), "cpp_extension/is_available"),
        (
            "a.cu",
            b'#include "hipport/ptx.h"\n#define LARGER(type, d, a, b) d = type(a, b)\n'
            b'__device__ int f(int a, int b) { int d; LARGER("s32", d, a, b); return d; }\n',
            "inline_ptx/argument",
        ),
        (
            "a.cu",
            b"// hipport wrote ONE out at its uses\n__device__ void f(int &d, int a) { ONE(add.s32, d, a, a); }\n",
            "written_out_macros/gone",
        ),
    ],
    ids=[
        "wavefronts and 32 lanes",
        "asks the GPU by now",
        "asks the GPU by now, where GPUs are named",
        "a part of PTX's names",
        "a macro is gone",
    ],
)
def test_half_changed_pairs_are_reported(name: str, text: bytes, rule: str) -> None:
    found = {each.rule for each in rewrite({name: text}).reported if each.outcome is Outcome.REPORTED}
    assert rule in found


# A device function with conditions; `@` is where upstream adds code, or a name that has to be replaced.
_GUARDED = b"__global__ void k(int *o, int v) {\n#if %b\n    o[0] = v;\n@A#else\n    o[0] = 2;\n@B#endif\n@C}\n"
_MATRIX = b'    asm volatile("mma.sync.aligned.m8n8k4 {%0}, {%0}, {%0}, {%0};" :: "r"(v));\n'
_INNER = b"#if __CUDA_ARCH__ >= 800\n    o[1] = v;\n#else\n    o[1] = 3;\n#endif\n"
_STEP = b"#if __CUDA_ARCH__ >= 500\n@A__device__ int step(int v) { return v + 1; }\n#endif\n"
_USES = b"__global__ void k(int *o) {\n#if __CUDA_ARCH__ >= 500\n    o[0] = step(1);\n#else\n    o[0] = 2;\n#endif\n}\n"


@pytest.mark.parametrize(
    ("files", "added"),
    [
        ({"a.cu": _GUARDED % b"__CUDA_ARCH__ >= 500"}, {b"@A": _MATRIX}),
        ({"a.cu": _GUARDED % b"500 > __CUDA_ARCH__"}, {b"@B": _MATRIX}),
        ({"a.cu": _GUARDED % b"CUDART_VERSION >= 10000"}, {b"@A": b'    asm volatile("membar.gl;");\n'}),
        ({"a.cu": _GUARDED % b"defined(FAST) && (__CUDACC_VER_MAJOR__ >= 9)"}, {b"@A": _MATRIX}),
        ({"a.cu": _GUARDED % b"(__CUDA_ARCH__ < 350 || CUDART_VERSION < 9000)"}, {b"@B": _MATRIX}),
        ({"a.cu": _GUARDED % b"__CUDA_ARCH__ >= 500"}, {b"@A": b"    cudaSetDoubleForDevice(0);\n"}),
        ({"a.cu": _GUARDED % b"__CUDA_ARCH__ >= 500"}, {b"@A": _INNER}),
        ({"a.cu": _GUARDED % b"__CUDA_ARCH__ >= 500"}, {b"@A": _INNER.replace(b"800", b"350") + _MATRIX}),
        ({"a.cu": _STEP + _USES}, {b"@A": b"#define F nvcuda::wmma::fragment\n"}),
        (
            {"a.cuh": b"#pragma once\n" + _STEP, "a.cu": b'#include "a.cuh"\n' + _USES},
            {b"@A": b"#define F nvcuda::f\n"},
        ),
        (
            {"a.cu": _GUARDED % b"__CUDA_ARCH__ >= 500"},
            {b"#else\n": b"#elif __CUDA_ARCH__ >= 300\n    o[0] = 3;\n#else\n"},
        ),
        ({"a.cu": _GUARDED % b"__CUDA_ARCH__ >= 500"}, {b"@C": b"    o[2] = 1;\n"}),
    ],
)
def test_branches_that_were_opened_are_decided_anew(files: dict[str, bytes], added: dict[bytes, bytes]) -> None:
    """What upstream adds to a branch that hipport opened decides like in a first run, also on what depends on it."""

    def with_additions(text: bytes, there: bool) -> bytes:
        for place, new in added.items():
            if there:
                text = text.replace(place, new)
        return re.sub(rb"@[ABC]\n?", b"", text)

    # The places stay comments in the port, where Git would merge what is added.
    kept = rewrite({name: re.sub(rb"@([ABC])", rb"// @\1\n", text) for name, text in files.items()})
    texts = {
        str(each.path): with_additions(re.sub(rb"// (@[ABC])\n", rb"\1", each.text), True)
        for each in kept.project.sources
    }
    base = rewrite({name: with_additions(text, False) for name, text in files.items()})
    assert any(
        b"/* hipport */" in line and line.startswith(b"#if")
        for each in base.project.sources
        for line in each.text.splitlines()
    )
    made = {str(each.path): each.text for each in base.created}
    after = rewrite({**texts, **made})
    wanted = rewrite({name: with_additions(text, True) for name, text in files.items()})
    for name in files:
        assert after.project.by_path[PurePath(name)].text == wanted.project.by_path[PurePath(name)].text
    assert left(after) == left(wanted)
    again = rewrite({str(each.path): each.text for each in (*after.project.sources, *after.created)})
    assert not again.changed and left(again) == left(after)


def test_half_of_a_chain_that_upstream_changed_is_decided_with_the_other() -> None:
    text = (
        b"#if !defined(SMALL) && __CUDA_ARCH__ < 200\n#define B 16\n"
        b"#elif 200 <= __CUDA_ARCH__%b\n#define B 32\n#endif\n"
        b"__device__ int b() { return B; }\n"
    )
    half = rewrite({"a.cu": text % b" || defined(__HIP_DEVICE_COMPILE__) /* hipport */"})
    assert half.project.sources[0].text == rewrite({"a.cu": text % b""}).project.sources[0].text


@pytest.mark.parametrize("around", [b"%b", b"#ifdef __HIPCC__\n%b#endif\n"])
def test_amds_own_assembly_in_an_opened_branch_keeps_it_open(around: bytes) -> None:
    guarded = re.sub(rb"@[ABC]", b"", _GUARDED % b"__CUDA_ARCH__ >= 500")
    text = rewrite({"a.cu": guarded}).project.sources[0].text
    added = b"    o[0] = v;\n" + around % b'    asm volatile("s_nop 0");\n'
    again = rewrite({"a.cu": text.replace(b"    o[0] = v;\n", added, 1)})
    assert not again.changed and not again.reported


@pytest.mark.parametrize("condition", [b"ifndef __HIPCC__", b"if __CUDA_ARCH__ < 600 && !defined(__HIPCC__)"])
def test_upstreams_additions_beside_hips_code_are_for_hip_too(condition: bytes) -> None:
    added = b"__device__ int mine(int x) { return __shfl_sync(~0u, x, 1); }\n"
    text = b"#%b /* hipport */\n__device__ double atomicAdd(double *a, double v) { return v; }\n%b#endif\n"
    found = rewrite({"a.cu": text % (condition, added)}).project.sources[0].text
    own = re.search(rb"#ifndef __HIPCC__ /\* hipport \*/\n.*\n#endif\n", found)
    assert own is not None and b"atomicAdd" in own.group() and found.count(b"__HIPCC__") == 1
    assert b"\n__device__ int mine(int x) { return hipport::shfl_sync(~0u, x, 1); }\n" in found[own.end() - 1 :]


# Files of two programs that include a header of theirs, which upstream moves.
_USES = b'#include "%b"\n__global__ void %b(int *p) { p[0] = sum(p[threadIdx.x]); }\n'
_SUM = b"#pragma once\n__device__ inline int sum(int v) { return __reduce_add_sync(0xffffffffu, v); }\n"
_OWN_LINE = re.compile(rb"^[ \t]*#[ \t]*include \"((?:[\w.]+/)*hipport/\w+\.h)\"[ \t]*\r?\n", re.MULTILINE)


def _all_own(text: bytes) -> frozenset[str]:
    """Return hipport's headers that a text includes, directly or through each other."""
    return _with_brought({PurePath(line.decode()).name for line in _OWN_LINE.findall(text)})


def _trees() -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return a tree, and upstream's next version: of five files one is moved, one deleted, one moved and edited.

    The files are a fixture of each pass; a second fixture of each is added.
    """
    before = {
        f"p{i}/{name}.cu": _USES % (path, name.encode())
        for i, name, path in ((0, "a", b"in/sum.cuh"), (1, "b", b"../p0/in/sum.cuh"))
    }
    after = {"p0/a.cu": _USES % (b"../lib/sum.cuh", b"a"), "q1/b.cu": _USES % (b"../lib/sum.cuh", b"b")}
    before["p0/in/sum.cuh"] = after["lib/sum.cuh"] = _SUM
    before["p2/c/CMakeLists.txt"] = after["moved/c/CMakeLists.txt"] = b"project(x CUDA)\nadd_executable(a a.cu)\n"
    number = 0
    of: dict[str, list[Fixture]] = {}
    for case in CASES:
        if not case.beside and not case.skipped and case.name not in TOLD.keys() | RIGHT.keys():
            of.setdefault(case.name.partition("/")[0], []).append(case)
    for name, cases in of.items():
        for place, case in enumerate(cases[:2]):
            number += 1
            path = f"p{number % 3}/{name}_{place}/{case.before.path.name}"
            if place == 1:
                after[path] = case.before.text
                continue
            before[path] = case.before.text
            if number % 5 == 0:
                after[f"moved/{path}"] = case.before.text
            elif number % 5 == 2:
                after[path.replace("p", "q", 1)] = upstream(case.before, case.before.text, 2)
            elif number % 5 > 2:
                after[path] = case.before.text
    return before, after


def _put(folder: Path, files: dict[str, bytes]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text)


def _ported(folder: Path) -> Ported:
    ported = rewrite(folder)
    assert not ported.failures
    _put(folder, {str(file.path): file.text for file in (*ported.changed, *ported.created)})
    return ported


def _git(folder: Path, *arguments: str, check: bool = True) -> str:
    settings = ["-c", "user.name=u", "-c", "user.email=u@example.com", "-c", "core.autocrlf=false"]
    return subprocess.run(
        ["git", *settings, "-c", "merge.renameLimit=9999", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=check,
    ).stdout


def test_files_that_upstream_moves_deletes_and_adds(tmp_path: Path) -> None:
    """A port with upstream merged by Git has the same port as upstream's tree, except for remains.

    Conflicts between upstream's deletions and the port's changes are resolved by deletion.
    """
    before, change = _trees()
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    _git(ours, "init", "-q")
    for branch, files in (("base", before), ("upstream", change)):
        _git(ours, "checkout", "-qb", branch)
        _git(ours, "rm", "-rqf", "--ignore-unmatch", ".")
        _put(ours, files)
        _git(ours, "add", "-A")
        _git(ours, "commit", "-qm", branch)
    _git(ours, "checkout", "-q", "base")
    first = _ported(ours)
    _git(ours, "add", "-A")
    _git(ours, "commit", "-qm", "port")
    _git(ours, "merge", "-q", "-X", "theirs", "upstream", check=False)
    conflicts = [line for line in _git(ours, "status", "--porcelain").splitlines() if line[:2] == "UD"]
    for line in conflicts:
        _git(ours, "rm", "-qf", "--", line[3:])
    assert len(conflicts) > 5 and not re.search(r"(?m)^(?:U.|.U|AA|DD) ", _git(ours, "status", "--porcelain"))
    _put(theirs, change)
    after, wanted = _ported(ours), _ported(theirs)
    made, other = ({str(each.path): each for each in ported.project.sources} for ported in (after, wanted))
    over = made.keys() - change.keys() - {str(file.path) for file in wanted.created}
    # The remains are hipport's own, and reported.
    assert over <= {str(file.path) for file in first.created} and any(path.endswith(".cmake") for path in over)
    told = {str(each.path) for each in after.reported if each.rule == "headers/orphan"}
    assert {str(each.path) for each in wanted.reported if each.rule == "headers/orphan"} == set()
    assert told == over
    read = sorted(change.keys() & other.keys())
    for path in read:
        one, two = made[path].text, other[path].text
        # A header that a first run needed stays, if another one includes it now. A lost one that another brings stays
        # away.
        assert _all_own(one) >= _all_own(two), path
        if not same(_OWN_LINE.sub(b"", one), _OWN_LINE.sub(b"", two)):
            assert one.decode(errors="replace") == two.decode(errors="replace")
    assert sum(made[path].text != change[path] for path in read) > 30
    orphans = Counter({each: count for each, count in left(after).items() if each[1] == "headers/orphan"})
    assert left(after) - orphans == left(wanted)


def test_each_of_hipports_names_has_its_header() -> None:
    """So a lost include is found by any name that passes write, also by one that a macro of the header makes."""
    written = {b"".join(name.split()) for case in CPP for name in USE.findall(case.after)}
    assert len(written) > 250
    # The beginnings of names that macros of the program finish.
    unknown = {name for name in written if _of(name) is None}
    assert unknown == {b"hipport::op", b"hipport::reduce_"}
    assert _of(b"hipport::nothing2") is None


@pytest.mark.parametrize(
    ("written", "before"),
    [
        (b"defined(__CUDACC__) || defined(__HIPCC__)", b"defined ( __CUDACC__ )"),
        (b"!defined(__NVCC__) && !defined(__HIPCC__)", b"! defined ( __NVCC__ )"),
        (b"(defined __CUDACC__ || defined(__HIPCC__)) && X", b"( defined __CUDACC__ ) && X"),
        (b"!(__CUDACC__ || __HIPCC__)", b"! __CUDACC__"),
        (b"defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)", b"defined ( __CUDA_ARCH__ )"),
        (b"(CUDA_VERSION >= 9000 || defined(__HIPCC__) /* hipport */) && X", b"(CUDA_VERSION >= 9000) && X"),
        (b"CUDA_VERSION < 9000 && !defined(__HIPCC__) && !defined(__HIP_PLATFORM_AMD__) /* hipport */",
         b"CUDA_VERSION < 9000"),
        # In the form that formatters write.
        (b"CUDA_VERSION >= 9000 || \\\n    defined(__HIPCC__) /*hipport*/", b"CUDA_VERSION >= 9000"),
        (b"defined(__CUDACC__)||  defined( __HIPCC__ )", b"defined ( __CUDACC__ )"),
        (b"!defined(__HIPCC__) && \\\r\n  !defined(__HIP_PLATFORM_AMD__)   /* hipport */", b"1"),
    ],
)  # fmt: skip
def test_own_forms_are_recognized(written: bytes, before: bytes) -> None:
    assert asked(re.sub(rb"/\*.*?\*/", lambda comment: b" " * len(comment[0]), written), written) == before


@pytest.mark.parametrize(
    "written",
    [
        b"defined(USE_ROCM) || defined(__HIPCC__)",
        b"defined(__HIPCC__)",
        b"CUDA_VERSION >= 9000 || defined(__HIPCC__)",
        b"CUDA_VERSION >= 9000 && !defined(__HIPCC__)",
        # Not the same: && binds tighter.
        b"FAST && defined(__CUDACC__) || defined(__HIPCC__)",
        b"defined(__CUDACC__) && defined(__HIPCC__)",
    ],
)
def test_a_persons_conditions_stay_a_decision(written: bytes) -> None:
    assert b"".join(asked(written, written).split()) == b"".join(written.split())

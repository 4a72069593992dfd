# SPDX-License-Identifier: Apache-2.0
"""hipport's concepts equal the standard's, and hold in device code, where the standard's do not."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import compiled
import hipport
from hipport.toolchain.toolchains import Toolchain, find

ROOT = Path(__file__).parent.parent
INCLUDE = Path(hipport.__file__).parent / "include"
FIXTURE = ROOT / "fixtures/unevaluated/concepts"

TYPES = """
int const_int unsigned float double* void char[3] int() bool Explicit NotBool Fixed Moves Apart Compared Base Derived
Less Unary int& const_int& int&& Moves& Compared& Derived* Base*
""".split()
PROGRAM = """
#include "hipport/unevaluated.h"
#include <utility>
struct Explicit { explicit Explicit(int) {} explicit operator int() const { return 0; } };
struct NotBool { struct No {}; No operator==(const NotBool&) const; No operator<(const NotBool&) const; };
struct Fixed { const int value = 0; };
struct Moves { Moves() = default; Moves(Moves&&) = default; Moves& operator=(Moves&&) = default; };
struct Apart { Apart(const Apart&) = delete; Apart& operator=(const Apart&) = delete; };
struct Compared { int x; bool operator==(const Compared&) const = default; bool operator<(const Compared&) const; };
struct Base {}; struct Derived : Base {};
using const_int = const int;
struct Less { template <typename T, typename U> auto operator()(T t, U u) const -> decltype(t < u) { return t < u; } };
struct Unary { bool operator()(int) const; };
"""
ONE = "move_constructible copy_constructible movable copyable semiregular regular equality_comparable totally_ordered"
TWO = """
convertible_to common_reference_with common_with assignable_from equality_comparable_with totally_ordered_with
"""
THREE = "relation equivalence_relation strict_weak_order"


def _toolchains() -> list[Toolchain]:
    found = [each for each in find(os.environ, Path(sys.executable)) if each.hip >= (6, 0)]
    if not found:
        pytest.skip("NOT CHECKED with a real compiler: no hipcc for C++20 (hipport toolchain install)")
    return found


def test_the_same_as_the_standard(tmp_path: Path) -> None:
    """For pairs of types of many kinds."""
    if shutil.which("g++") is None:
        pytest.skip("no g++: hipport's concepts were not compared with the standard's")
    lines = []
    for t in TYPES:
        lines += [f"SAME({name}, {t})" for name in ONE.split()]
        for u in TYPES:
            lines += [f"SAME({name}, {t}, {u})" for name in TWO.split()]
            for name in THREE.split():
                lines.append(f"SAME({name}, Less, {t}, {u})")
        lines += [f"SAME(predicate, Unary, {t})", f"SAME(predicate, Less, {t}, int)", f"SAME(predicate, {t}, int)"]
    same = '#define SAME(name, ...) static_assert(hipport::name<__VA_ARGS__> == std::name<__VA_ARGS__>, "differs");\n'
    (tmp_path / "same.cpp").write_text(PROGRAM + same + "\n".join(lines) + "\n")
    done = _compiled(["g++", "-std=c++20", "-fsyntax-only", f"-I{INCLUDE}", "same.cpp"], tmp_path)
    assert done.returncode == 0, done.stderr[:2000]
    assert len(lines) > 3000


def test_device_code_is_compiled(tmp_path: Path) -> None:
    """The fixture, before and after: the values of the standard's concepts in device code make the pass necessary."""
    for name in ("before", "after"):
        text = FIXTURE.with_name(f"concepts.{name}.cu").read_text()
        (tmp_path / f"{name}.cu").write_text(text.replace("<cuda_runtime.h>", "<hip/hip_runtime.h>"))
    for toolchain in _toolchains():
        command = [
            str(toolchain.hipcc),
            "-x",
            "hip",
            "-std=c++20",
            f"--offload-arch={max(toolchain.archs)}",
            f"-I{INCLUDE}",
        ]
        environment = toolchain.environment(os.environ)
        done = _compiled([*command, f"-I{INCLUDE}", "-fsyntax-only", "after.cu"], tmp_path, environment)
        assert done.returncode == 0, done.stderr[:2000]
        if int(re.findall(r"\d+", toolchain.clang)[0]) < 22:
            done = _compiled([*command, f"-I{INCLUDE}", "-fsyntax-only", "before.cu"], tmp_path, environment)
            assert "constraints not satisfied" in done.stderr, done.stderr[:2000]


def _compiled(
    command: list[str], folder: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return compiled.run(command, cwd=folder, env=environment)

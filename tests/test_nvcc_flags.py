# SPDX-License-Identifier: Apache-2.0
"""The table of nvcc's options: their translations, and what real compilers say to both sides."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from endless import ENDLESS
from hipport.core.finding import Certainty
from hipport.core.tables import load
from hipport.syntax.cpp import Cpp
from hipport.syntax.holes import HOLE
from hipport.toolchain import toolchains
from hipport_passes.build_files import nvcc_flags
from hipport_passes.build_files.build_scripts.standards import nothing_gone
from hipport_passes.build_files.nvcc_flags import library, translate

TABLE: list[dict[str, Any]] = load(Path(nvcc_flags.__file__).with_suffix(".toml"))["flag"]
FAST = "-fgpu-flush-denormals-to-zero -fno-hip-fp32-correctly-rounded-divide-sqrt -fgpu-approx-transcendentals"


@pytest.mark.parametrize(
    ("nvcc", "hipcc"),
    [
        ("-O3 -DNDEBUG -Iinclude -w -fPIC -g a.cu -o a", "-O3 -DNDEBUG -Iinclude -w -fPIC -g a.cu -o a"),
        ("--use_fast_math", FAST),
        ("-use_fast_math -O2", f"{FAST} -O2"),
        ("-gencode arch=compute_70,code=sm_70 -O3", "-O3"),
        ("-gencode=arch=compute_70,code=[sm_70,compute_70] -arch sm_80 -code=sm_80", ""),
        ("--generate-code arch=compute_70,code=sm_70 --gpu-architecture=native", ""),
        ("--expt-relaxed-constexpr --extended-lambda -expt-extended-lambda", ""),
        ("-Xcompiler -fPIC -O2", "-fPIC -O2"),
        ("-Xcompiler=-Wall,-fopenmp", "-Wall -fopenmp"),
        ("""--compiler-options "'-fPIC -O3'" """, "-fPIC -O3"),
        ("-Xcompiler -fno-gnu-unique,-Wall", "-Wall"),
        ("""'-Xcompiler=,\\"-fopenmp\\",\\"-DA\\"'""", "-fopenmp -DA"),
        ("-Xcompiler -std=c++14", "-std=c++17"),
        ("-Xptxas -v,-dlcm=ca --ptxas-options=-O3 -Xfatbin -compress-all -Xcudafe --diag_suppress=1", ""),
        ("-Xlinker=-rpath -Xlinker /x", "-Xlinker -rpath -Xlinker /x"),
        ("-lineinfo --generate-line-info", "-gline-tables-only -gline-tables-only"),
        ("-G", "-g -O0"),
        ("-rdc=true -dc", "-fgpu-rdc -fgpu-rdc -c"),
        ("--relocatable-device-code false", "-fno-gpu-rdc"),
        ("--fmad=false -fmad true", "-ffp-contract=off"),
        ("-ftz=true --ftz false", "-fgpu-flush-denormals-to-zero -fno-gpu-flush-denormals-to-zero"),
        ("-prec-div=false -prec-sqrt=true", "-fno-hip-fp32-correctly-rounded-divide-sqrt"),
        ("--default-stream per-thread", "-fgpu-default-stream=per-thread"),
        ("--default-stream=legacy", "-fgpu-default-stream=legacy"),
        ("-maxrregcount=64 --maxrregcount 64 -res-usage --resource-usage", ""),
        ("--threads 4 -t4 -t=4 -t 4 --keep --keep-dir x -ccbin g++-12 -allow-unsupported-compiler", ""),
        ("-diag-suppress 177,20012 --diag-warn=1 -Werror cross-execution-space-call -Werror=all-warnings", ""),
        ("-Werror -Werror=format", "-Werror -Werror=format"),
        ("-std=c++14 -O2", "-std=c++17 -O2"),
        ("-std c++11", "-std=c++17"),
        ("-std=c++17 --std=c++20 -std c++20", "-std=c++17 --std=c++20 -std=c++20"),
        ("-U__CUDA_NO_HALF_OPERATORS__ -U__CUDA_NO_HALF2_OPERATORS__", "-U__HIP_NO_HALF_OPERATORS__"),
        ("-U__HIP_NO_HALF_CONVERSIONS__ -U__CUDA_NO_HALF_CONVERSIONS__", "-U__HIP_NO_HALF_CONVERSIONS__"),
        ("-U__CUDA_NO_BFLOAT16_CONVERSIONS__ -D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_OPERATORS__"),
        ("-lcuda -lcudart -lm", "-lamdhip64 -lm"),
        ("-l cublas -lcudadevrt -lcudart_helpers", "-lhipblas -lcudart_helpers"),
        (
            "-I/usr/local/cuda-12.1/include -L/usr/local/cuda/lib64 -I/usr/local/cudahelp -I/opt/x",
            "-I/usr/local/cudahelp -I/opt/x",
        ),
        ("-x cu -x c++", "-x hip -x c++"),
        ("--optimize 3", "-O3"),
        ("-D_GLIBCXX_USE_CXX11_ABI=0", "-D_GLIBCXX_USE_CXX11_ABI=0"),
        ("-three -tune=native -time-trace", "-three -tune=native -time-trace"),
    ],
)
def test_translated(nvcc: str, hipcc: str) -> None:
    translated = translate(shlex.split(nvcc))
    assert translated.kept == tuple(shlex.split(hipcc))
    assert all(change.certainty is not Certainty.MANUAL and change.why for change in translated.changes)


@pytest.mark.parametrize(
    ("nvcc", "hipcc"),
    [
        # PyTorch's build adds the standard that its headers need, and links with the host's linker.
        ("-std=c++14 -std=c++17", "-std=c++17"),
        ("-rdc=true -dc -O3", "-O3"),
        ("-D_GLIBCXX_USE_CXX11_ABI=0 -D_GLIBCXX_USE_CXX11_ABI=1 -DX", "-DX"),
    ],
)
def test_translated_for_pytorch(nvcc: str, hipcc: str) -> None:
    assert translate(nvcc.split(), torch=True).kept == tuple(hipcc.split())


def test_flags_of_the_host_compiler_and_the_linker() -> None:
    host = ["-std=c++14", "-lineinfo", "-Xcompiler", "-lcudart", "-t4"]
    assert translate(host, torch=True, of="host").kept == ("-lineinfo", "-Xcompiler", "-lcudart", "-t4")
    link = ["-std=c++14", "-lineinfo", "-lcudart", "-L/usr/local/cuda/lib64"]
    assert translate(link, torch=True, of="link").kept == ("-std=c++14", "-lineinfo", "-lamdhip64")


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        ("-ptx", "device_output"),
        ("-dlink", "rdc"),
        ("-gencode", "arch"),
        ("-ftz=maybe", "denormals"),
        ("-lcudnn", "library"),
        (f"-ftz={HOLE}", "denormals"),
        (f"-Xcompiler=-Wall,{HOLE}", "compiler_options"),
    ],
)
def test_options_for_a_person_stay_and_are_reported(flags: str, kind: str) -> None:
    translated = translate(flags.split())
    assert translated.kept == tuple(flags.split())
    assert [(change.kind, change.certainty) for change in translated.changes] == [(kind, Certainty.MANUAL)]


def test_options_for_microsofts_compiler_stay() -> None:
    flags = ("-Xcompiler=/EHsc", "-Xcompiler", "/Zc:preprocessor")
    assert translate(flags).kept == flags and translate(flags).changes == ()


def test_parts_that_are_not_known() -> None:
    assert translate([f"-gencode=arch=compute_{HOLE},code=sm_{HOLE}", "-O3"]).kept == ("-O3",)
    assert translate(["-gencode", HOLE, f"-DX={HOLE}", HOLE]).kept == (f"-DX={HOLE}", HOLE)
    assert translate(["-Xcompiler", HOLE]).kept == (HOLE,)
    assert translate([f"-t={HOLE}", f"-t{HOLE}", f"-std=c++{HOLE}"]).kept == (f"-std=c++{HOLE}",)


def test_older_spellings_for_older_releases() -> None:
    assert "-fcuda-approx-transcendentals" in translate(["--use_fast_math"], rocm=(5, 2)).kept
    assert "-fgpu-approx-transcendentals" in translate(["--use_fast_math"], rocm=(6, 0)).kept


def test_a_message_says_what_and_why() -> None:
    (change,) = translate(["-arch", f"sm_{HOLE}"]).changes
    assert str(change) == "-arch sm_… → dropped: hipcc compiles for the GPUs of --offload-arch"
    (change,) = translate(["-dlink"]).changes
    assert str(change).startswith("-dlink: ")


def test_libraries() -> None:
    assert library("cublas") == ("hipblas", "")
    assert library("cudadevrt") == ("", "")
    assert library("cudnn") is not None and library("cudnn") != ("", "")
    assert library("m") is None


def _samples(row: dict[str, Any], name: str) -> Iterator[list[str]]:
    """Yield spellings of an option of the table that nvcc accepts."""
    match row.get("value", "no"):
        case "no":
            yield [name]
        case "prefix":
            yield [f"{name}/lib"]
        case "joined":
            yield [f"{name}=4"]
        case "yes" | "listed" | "attached":
            for value in row.get("by", {"4": []}):
                yield [f"{name}={value}"]
                yield [name, value]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["names"][0])
@pytest.mark.parametrize("torch", [False, True], ids=["alone", "torch"])
def test_every_row_is_reached_and_its_result_is_final(row: dict[str, Any], torch: bool) -> None:
    for name in row["names"]:
        for sample in _samples(row, name):
            translated = translate(["-O1", *sample, "-O2"], torch=torch)
            kinds = [change.kind for change in translated.changes]
            if row.get("only") == "torch" and not torch:
                assert not kinds
            elif translated.kept == ("-O1", *sample, "-O2"):
                assert not kinds or row.get("certainty") == "manual" or "{name}" in str(row["hip"])
            else:
                assert kinds == [row["kind"]]
            again = translate(translated.kept, torch=torch)
            assert again.kept == translated.kept
            assert not [change for change in again.changes if change.certainty is not Certainty.MANUAL]


def test_no_option_is_in_two_rows_for_the_same_use() -> None:
    seen: set[tuple[str, str]] = set()
    for row in TABLE:
        for name in row["names"]:
            for value in row.get("by", {"": ()}):
                assert (name, value) not in seen, name
                seen.add((name, value))


# Real compilers


def _answers(each: toolchains.Toolchain, flags: Iterable[str]) -> list[tuple[str, str]]:
    """Return (error or warning, its subject) for clang's messages on a command line; clang reports all at once."""
    arch = "gfx90a"
    command = [each.hipcc, *flags, "-x", "hip", "-c", f"--offload-arch={arch}", "-###", "/dev/null", "-o", "/dev/null"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=each.environment(os.environ), timeout=ENDLESS
    )
    assert done.stderr or done.stdout, "hipcc said nothing at all"
    return re.findall(r"^(?:\S*/)?clang[-+\w.]*: (error|warning): (.*)", done.stdout + done.stderr, re.MULTILINE)


@pytest.fixture(scope="module", params=["newest", "oldest"])
def hipcc(request: pytest.FixtureRequest) -> toolchains.Toolchain:
    found = sorted(toolchains.find(os.environ), key=lambda each: each.hip)
    if not found:
        pytest.skip("there is no hipcc: what it says to the flags of the table was NOT checked")
    if request.param == "oldest" and len(found) == 1:
        pytest.skip(f"there is only one hipcc, {found[0]}: the flags were NOT checked with an older one")
    return found[-1 if request.param == "newest" else 0]


@pytest.mark.toolchain
def test_hipcc_accepts_the_translations(hipcc: toolchains.Toolchain) -> None:
    given = {
        flag
        for row in TABLE
        # Linker options are for the linker, and the table does not cover the arguments of -Xcompiler.
        if row.get("certainty") != "manual" and row["kind"] not in ("linker_options", "compiler_options")
        if tuple(row.get("since", ())) <= hipcc.rocm
        for name in row["names"]
        for sample in _samples(row, name)
        for torch in (False, True)
        for flag in translate(sample, torch=torch, rocm=hipcc.rocm).kept
        if flag not in ("-x", "hip", "-c")
    }
    assert {"-gline-tables-only", "-O3", "-fgpu-rdc", "-std=c++17", "-U__HIP_NO_HALF_OPERATORS__"} <= given
    # Some contradict each other, and the last wins: the test is about single options, not about combinations.
    said = [(kind, about) for kind, about in _answers(hipcc, sorted(given)) if "overriding" not in about]
    assert not said


@pytest.mark.toolchain
def test_hipcc_does_not_understand_translated_options() -> None:
    """If hipcc has learnt an option, its row should be checked again."""
    newest = max(toolchains.find(os.environ), key=lambda each: each.hip, default=None)
    if newest is None:
        pytest.skip("there is no hipcc: that it does not understand nvcc's options was NOT checked")
    # Not about whether an option is known, but about its meaning.
    meaning = {"half", "level", "standard", "abi", "cuda_path", "linker_options", "stream_macro"}
    swallowed: set[str] = set()
    refused: set[str] = set()
    for row in TABLE:
        if row["kind"] in meaning or "-x" in row["names"] or row["names"] == ["-Werror", "--Werror"]:
            continue
        for name in row["names"]:
            sample = next(_samples(row, name))
            into = swallowed if name in row.get("swallowed", ()) else refused
            into.add(" ".join(sample) if len(sample) == 1 else sample[0])
    refused.remove("-G")  # It would use the next one as its value; that is rejected too.
    assert len(refused) > 100 and len(swallowed) > 10
    said = "\n".join(about for kind, about in _answers(newest, sorted(refused)) if kind == "error")
    # `-brief-diag` is read as `-b rief-diag`, and that is rejected.
    understood = {flag for flag in refused if f"'{flag}'" not in said and f"'{flag[:2]}'" not in said}
    # clang knows -arch on macOS, and --optimize with its value in the same argument, like GCC.
    assert understood <= {"-arch=4", "--optimize=4"}
    assert not [about for kind, about in _answers(newest, sorted(swallowed)) if kind == "error"]


@pytest.mark.toolchain
def test_every_option_of_nvcc_is_translated_or_understood(hipcc: toolchains.Toolchain) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("there is no nvcc: that the table has all of its options was NOT checked")
    help_ = subprocess.run([nvcc, "--help"], capture_output=True, text=True, check=True).stdout
    options = re.findall(r"^(--[\w-]+)( [^(\n]*?)? +\((-[^)\s]*)\)", help_, re.MULTILINE)
    assert len(options) > 100
    # Not about compiling a file: phases, outputs, dependencies, and queries of nvcc.
    steps = set(
        "-cuda -E -M -MM -MD -MMD -MF -MP -MT -c -dw -link -lib -run -o -odir -optix-ir -dryrun -clean -run-args -idp "
        "-ddp -dp -code-ls -arch-ls -qpp-config -astoolspatch -aug-hls -r -h -V -optf -fdevice-syntax-only -e -L -l -I "
        "-isystem -include -D -U -shared -x -m -noeh -frandom-seed -sanitize -Xlinker -ftemplate-depth "
        "-ftemplate-backtrace-limit".split()
    )
    known = {name for row in TABLE for name in row["names"]}
    unknown = {
        f"{name}=4" if value.strip() else name
        for long, value, short in options
        if short not in steps
        for name in (long, short)
        if name not in known
    }
    assert not [about for _, about in _answers(hipcc, sorted(unknown)) if "unused" in about or "unknown" in about]


_OWN_BASE = b"struct A { int x; A() {} }; struct B : A { %b }; "
_TRAITS = b"template <class T> struct t; template <class R, class... P> struct t<R (*)(P...)> {}; "


@pytest.mark.parametrize(
    ("code", "gone"),
    [
        (b"struct B : A { using A::A; };", True),
        (b"struct B : n::A<int> { using n::A<int>::A; };", True),
        (b"struct B : A { using A::f; };", False),
        (b"register int i;", True),
        (b"bool b; void f() { b++; }", True),
        (b"int b; void f() { b++; }", False),
        # Aggregates, because bases may be initialized: some members are no longer zeroed, and constructors are not
        # called.
        (_OWN_BASE % b"" + b"auto b = B{};", True),
        (_OWN_BASE % b"B() = default;" + b"B f() { B b = {}; return b; }", True),
        (_OWN_BASE % b"int y;" + b"void f() { B b[2] {}; }", True),
        (b"template <class T> " + _OWN_BASE % b"T y;" + b"void f() { g(n::B<int>{1}); }", True),
        (_OWN_BASE % b"" + b"B b; B f() { return B(); }", False),
        (_OWN_BASE % b"B(int n) { f(); }" + b"B b{1};", False),
        (_OWN_BASE % b"virtual void f();" + b"B b{};", False),
        (_OWN_BASE % b"private: int y;" + b"B b{};", False),
        (_OWN_BASE % b"" + b"struct C : B { C(); }; enum class D : char { B };", False),
        (b"struct A { int x; }; A a{1};", False),
        # noexcept is part of a function's type.
        (_TRAITS + b"void f() noexcept; t<decltype(&f)> x;", True),
        (b"void g(void (*p)()); template <class T> void g(T); void f(int (*)()) noexcept {} void h() { g(f); }", True),
        (_TRAITS + b"void f() noexcept; void h() { f(); }", False),
        (b"struct S { S(S &&) noexcept; int size() const noexcept; }; void h(S &s) { g(s.size()); }", False),
        (b"void f() noexcept; void reg(void (*)()); void h() { reg(&f); }", False),
        # The order of evaluation, if it is visible.
        (b"void f() { m[k] = m.size(); }", True),
        (b"void f() { ids[name] = int(ids.size()) - 1; }", True),
        (b"void f() { n[k] = m.size(); a[i] = a[i - 1] + 1; }", False),
        # The standard's version numbers.
        (b"#if __cplusplus >= 201703L\nint n = 1;\n#endif\n", True),
        (b"#if __cplusplus > 201402L\nint n = 1;\n#endif\n", True),
        (b"#if defined(X) && __cpp_if_constexpr\nint n = 1;\n#endif\n", True),
        (b"#if __cplusplus >= 201103L\nint n = 1;\n#endif\n", False),
        (b'#ifdef __cplusplus\nextern "C" {}\n#endif\n', False),
        # Library features that were added or changed.
        (b"int g(char *p); int g(const char *p); int h(std::string &s) { return g(s.data()); }", True),
        (b"int g(const char *p); int h(std::string &s) { return g(s.data()); }", False),
        (b"template <class C> std::size_t size(const C &c) { return c.n; }", True),
        (b"template <class T> __device__ T clamp(T x, T low, T high);", False),
        (b"void *operator new(size_t n); struct alignas(64) S {};", True),
        (b"struct alignas(64) S {};", False),
        (b"void f() { return v.emplace_back(1); }", True),
        # No difference: constexpr members become inline, and their definitions did the same before.
        (b"struct S { static constexpr int n = 4; }; constexpr int S::n; auto x{1};", False),
        (b"template <template <class> class X> struct S {}; int f() { return std::uncaught_exceptions(); }", False),
    ],
)
def test_meanings_that_a_newer_standard_changes_are_found(code: bytes, gone: bool) -> None:
    assert nothing_gone([Cpp(PurePosixPath("a.cpp"), code)], "14") is not gone


@pytest.mark.parametrize(
    "code",
    [
        b"struct S { constexpr int size() { return 1; } };",
        b"#if __cplusplus >= 201402L\nint n = 1;\n#endif\n",
        b"void operator delete(void *p, std::size_t n);",
    ],
)
def test_changes_of_cpp14_count_for_older_standards(code: bytes) -> None:
    sources = [Cpp(PurePosixPath("a.cpp"), code)]
    assert nothing_gone(sources, "14") and not nothing_gone(sources, "11") and not nothing_gone(sources, "0x")
    # Features that C++11 removed from C++03 are not searched for.
    assert not nothing_gone([Cpp(PurePosixPath("a.cpp"), b"int i;")], "03")


def test_evidence_of_two_files_together_counts() -> None:
    one, other = (_OWN_BASE % b"", b'#include "one.h"\nB b{};')
    sources = [Cpp(PurePosixPath(name), text) for name, text in (("one.h", one), ("b.cpp", other))]
    assert all(nothing_gone([each], "14") for each in sources) and not nothing_gone(sources, "14")

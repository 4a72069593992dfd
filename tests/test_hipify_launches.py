# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own hipify keeps the launches of ported extensions."""

from __future__ import annotations

import itertools
import re
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import pytorch_hipify
from further import further
from hipport.analysis.macros import defined, expanded
from hipport.core.edits import Span
from hipport.engine.outcomes import Outcome
from hipport.engine.pipeline import Pass, run
from hipport.program.project import Component, Project, Target
from hipport.syntax.cuda import Cuda
from hipport.syntax.kernel_launches import WrittenLaunch, written
from hipport.syntax.python_script import Python
from hipport.testing import Fixture, fixtures
from hipport_passes.compatibility import hipify_launches
from hipport_passes.device import launch_syntax
from test_fixture_builds import complaint

hipify = pytorch_hipify.module("NOT CHECKED what PyTorch's hipify makes of launches: it is not here")

FIXTURES = Path(__file__).parent.parent / "fixtures"
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="x", ext_modules=[CUDAExtension("x", ["%s"])], cmdclass={"build_ext": BuildExtension})
"""
BEGIN = """\
#include <hip/hip_runtime.h>
#include <algorithm>
__global__ void k(int *p) {}
template <typename T, int N = 1> __global__ void t(int *p) {}
template <int X, int Y> __global__ void shape(int *p) {}
template <bool B> __global__ void b(int *p) {}
namespace ns { __global__ void k(int *p) {} template <typename T> __global__ void t(int *p) {} }
typedef void (*pointer_t)(int *);
struct Holder { pointer_t k; int n, m; };
template <typename T> struct Of { static constexpr pointer_t pointer = k; };
template <int X, int Y> struct Pair { static int grid(int n) { return n * X + Y; } };
template <typename T, int N> int *pick(int *p, int n) { return p + n * N; }
constexpr int kShared = 64, k_bytes = 16;
static int n1(int n, int) { return n; }
#define CHECK(...) do { __VA_ARGS__; } while (0)
#define VALUE(...) (__VA_ARGS__, hipGetLastError())
#define DISPATCH(T, ...) [&] { using scalar_t = T; __VA_ARGS__(); }()
"""
FUNCTION = (
    "void f%d(int *p, int n, Holder holder, Holder *at, pointer_t *kernels, pointer_t (*get)(int, int), "
    "hipStream_t k_stream) {\n%s\n}\n"
)
KERNELS = (
    "k", "ns::k", "::k", "::ns::k", "t<int>", "t<int, 4>", "ns::t<float >", "t <int>", "b<(4 > 3)>", "b<(3 < 4)>",
    "b<sizeof(int) <= 4>", "kernels[0]", "kernels[n - 1]", "(*kernels)", "(k)", "holder.k", "at->k", "get(1,2)",
    "get(1, 2)", "Of<int>::pointer", "ns :: k", "shape<32,1>", "t<Of<int>, 2>", "t<Of<Of<int>>>",
)  # fmt: skip
CONFIGURATIONS = (
    "1, 32", "n, 256, 0, k_stream", "n/(1<<8), 256", "(n + 31) >> 5, 32", "n < 4 ? 1 : 2, 64", "n <= 4, 64",
    "dim3(n, 2), dim3(8, 8)", "{(unsigned)n, 2}, {16, 16}", "dim3{1, 2, 3}, dim3{4, 5}", "Pair<1, 2>::grid(n), 32",
    "n1(n, 2), 32, 0", "1, 32, kShared", "1, 32, k_bytes, k_stream", "n, /* a, b */ 32", "n, 32 // threads\n",
    "n, // blocks\n 32", "std::min(n, 4), 32", "at->n, at->m", "at->n > 4, at->m", "32,1", "0,0,0,0", "n, k_bytes",
    "[&] { return n; }(), 32", "sizeof(Pair<1, 2>), 32", "\n    n,\n    32\n", "n <8, 32, n> 4",
)  # fmt: skip
CONTEXTS = (
    "    @;", "@;", "{@;}", "{ @; }", ";@;", "if (n)@;", "if (n) @; else @;", "if (n) @; else\n@;", "if (n)\n@;",
    "CHECK(@);", "CHECK( @ );", "CHECK((@));", "auto e = VALUE(@);", "switch (n) { case 1:@; break; default: @; }",
    "here:@; goto here;", "do @; while (0);", "return @;", "return(@);", "n ? @ : @;", "@, @;", "(void)@;", "(void) @;",
    "for (int i = 0; i < 1; i++, @) {}", "[&]{@;}();", "auto l = [&](int a) { if (a) return @; }; l(1);",
    "// a comment\n@;", "/* a comment */@;", "#ifdef X\n#endif\n@;", "DISPATCH(int, [&] {@;});",
    "#define LAUNCH(kernel) @\n    LAUNCH(k);", "#define TWICE \\\n@; \\\n    @\n    TWICE;", "while (n--) { @; @; }",
    "if (n) {} else if (n == 2)@;else @;", "const char *u = \"http://x\";\n@;", "p = nullptr;\t@;",
)  # fmt: skip
ARGUMENTS = ("(p)", "(pick<int, 4>(p, n))", "(\n    p)", " (p)")


def _texts() -> list[tuple[str, str]]:
    """Return functions, and the launch in each."""
    found = []
    for context, kernel in itertools.product(CONTEXTS, KERNELS):
        found.append((context, f"{kernel}<<<1, 32>>>(p)"))
    for context, configuration in itertools.product(CONTEXTS, CONFIGURATIONS):
        if "#define" not in context or "\n" not in configuration:
            found.append((context, f"k<<<{configuration}>>>(p)"))
    for kernel, configuration in itertools.product(KERNELS, CONFIGURATIONS):
        found.append(("    @;", f"{kernel}<<<{configuration}>>>(p)"))
    for context, arguments in itertools.product(CONTEXTS, ARGUMENTS):
        if "#define" not in context or "\n" not in arguments:
            found.append((context, f"t<int, 4> <<<n, 32, 0, k_stream>>>{arguments}"))
    return [*found, *(("if (n) @; else@;", f"{kernel}<<<1, 32>>>(p)") for kernel in ("(k)", "::k", "(*kernels)"))]


def _ported(text: str, passes: tuple[Pass[Any], ...] = (launch_syntax.PASS, hipify_launches.PASS)) -> str:
    source = Cuda(PurePosixPath("launches.cu"), text.encode())
    script = Python(PurePosixPath("setup.py"), (SETUP % "launches.cu").encode())
    ported = run(Project((source, script), Target()), passes)
    assert [str(each) for each in ported.reported if each.outcome is not Outcome.APPLIED] == []
    return ported.project.sources[0].text.decode()


def _launches(text: str) -> list[tuple[str, list[str], str]]:
    """Return the kernel, the configuration and the arguments of each launch, without blanks, comments and brackets."""
    source = Cuda(PurePosixPath("launches.cu"), text.encode())
    found = []
    for launch in written(source):
        assert isinstance(launch, WrittenLaunch) and launch.kernel and launch.arguments, text
        parts = [value for part in launch.configuration for value in _values(source, part)]
        inside = Span(launch.arguments.start + 1, launch.arguments.end - 1)
        found.append((launch.opening.start, _plain(source, launch.kernel), parts, _plain(source, inside)))
    for match in re.finditer(rb"\bhipLaunchKernelGGL\(", source.code):
        kernel, *rest = source.arguments(match.end() - 1) or ()
        values = [(value, part.end) for part in rest for value in _values(source, part)]
        behind = Span(values[3][1], source.closing(match.end() - 1) or 0)
        parts = [value for value, _ in values[:4]]
        found.append((match.start(), _plain(source, kernel), parts, _plain(source, behind).lstrip(",")))
    return [(kernel, [*parts, "0", "0"][:4], arguments) for _, kernel, parts, arguments in sorted(found)]


def _values(source: Cuda, part: Span) -> list[str]:
    """Return the values of a part of a configuration: two for the `__VA_ARGS__` of the fixtures."""
    text = source.code[part.start : part.end].strip()
    macros = defined(Component((source,)))
    used = re.fullmatch(rb"(\w+)\s*(\(.*\))?", text)
    if text == b"__VA_ARGS__":
        return ["__VA_ARGS__", "of it"]
    if used is None or used[1] not in macros or not used[2]:
        return [_plain(source, part)]
    given = [source[each] for each in source.arguments(part.start + len(used[1])) or ()]
    (made,) = expanded(used[1], given, macros)
    as_call = Cuda(PurePosixPath("call.cu"), b"f(" + made + b")")
    return [_plain(as_call, each) for each in as_call.arguments(1) or ()]


def _plain(source: Cuda, span: Span) -> str:
    text = re.sub(r"[\s\\]", "", source.code[span.start : span.end].decode())
    while True:
        inner = text[5:-1] if text.startswith(("dim3(", "dim3{")) else text[1:-1] if text[:1] in "({" else None
        if not text or inner is None or not _closes(text):
            return text
        text = inner


def _closes(text: str) -> bool:
    depth = 0
    for at, byte in enumerate(text):
        depth += (byte in "({") - (byte in ")}")
        if not depth and byte in ")}":
            return at == len(text) - 1
    return False


def _around(text: str) -> str:
    """Return the code around launches, with hipport's lambdas removed."""
    source = Cuda(PurePosixPath("launches.cu"), text.encode())
    spans = [
        Span(launch.kernel.start, launch.arguments.end)
        for launch in written(source)
        if isinstance(launch, WrittenLaunch) and launch.kernel and launch.arguments
    ]
    for match in re.finditer(rb"\bhipLaunchKernelGGL\(", source.code):
        spans.append(Span(match.start(), (source.closing(match.end() - 1) or 0) + 1))
    code = source.code.decode()
    for span in sorted(spans, reverse=True):
        code = code[: span.start] + " @" + code[span.end :]
    code = re.sub(r"\[&\] \{ *@; \}\(\)", "@", code)
    return re.sub(r"(?<=\W)\s+|\s+(?=\W)", "", re.sub(r"\s+", " ", code))


def _hipified(text: str) -> str:
    return str(hipify.processKernelLaunches(text, {"kernel_launches": []}))


every_fifth = pytest.mark.parametrize("every", further([5, 1], [1]))


def _some_texts(every: int) -> list[tuple[int, tuple[str, str]]]:
    """Return a part of the texts: with all contexts, kernels and configurations, but not all of their pairs."""
    texts = list(enumerate(_texts()))[::every]
    used = "\n".join(context + launch for _, (context, launch) in texts)
    assert all(each in used for each in (*(part for each in CONTEXTS for part in each.split("@")), *CONFIGURATIONS))
    return texts


@every_fifth
def test_hipify_leaves_launches_whole_once_they_are_ported(every: int) -> None:
    garbled, wrong = 0, []
    for number, (context, launch) in _some_texts(every):
        text = FUNCTION % (number, context.replace("@", launch))
        try:
            before = _hipified(text)
            garbled += (_launches(before), _around(before)) != (_launches(text), _around(text))
        except (AssertionError, IndexError, KeyError, TypeError, ValueError):
            garbled += 1
        made = _hipified(_ported(text))
        if "<<<" in made or _launches(made) != _launches(text) or _around(made) != _around(text):
            wrong.append(f"{text}\n{_ported(text)}\n{made}\n")
    assert wrong == [], f"{len(wrong)}\n" + "".join(wrong[:5])
    assert garbled > 500 // every


@pytest.mark.toolchain
@every_fifth
def test_compilers_accept_hipifys_output(every: int, tmp_path: Path) -> None:
    texts = _some_texts(every)
    functions = [FUNCTION % (n, context.replace("@", launch)) for n, (context, launch) in texts]
    ported = BEGIN + "".join(map(_ported, functions))
    (tmp_path / "ported.cu").write_text(ported)
    (tmp_path / "hipified.cu").write_text(_hipified(ported))
    flags = ("-w", "-fsyntax-only", "--cuda-host-only")
    for name in ("ported.cu", "hipified.cu"):
        assert complaint((6, 4), flags, "gfx942", [tmp_path / name]) == "", name


def _in_fixtures() -> list[Fixture]:
    cases = [case for folder in sorted(FIXTURES.iterdir()) for case in fixtures(folder)]
    return [case for case in cases if isinstance(case.before, Cuda) and b"<<<" in case.before.code]


@pytest.mark.parametrize("case", _in_fixtures(), ids=str)
def test_hipify_leaves_the_launches_of_fixtures_whole(case: Fixture) -> None:
    """Every launch in a fixture is treated as an extension's."""
    source = Cuda(PurePosixPath("launches.cu"), case.before.text)
    script = Python(PurePosixPath("setup.py"), (SETUP % "launches.cu").encode())
    ported = run(Project((source, script), Target()), (launch_syntax.PASS, hipify_launches.PASS))
    by_hand = [each for each in ported.reported if each.outcome is not Outcome.APPLIED]
    assert {each.rule for each in by_hand} <= {f"hipify_launches/{each}" for each in ("apart", "unclosed")}
    # HIP's own branches and those for CUDA only are skipped.
    if by_hand or any(
        source.ported(each.start if isinstance(each, Span) else each.opening.start) for each in written(source)
    ):
        return
    text = case.before.text.decode("utf-8", "surrogateescape")
    made = _hipified(ported.project.sources[0].text.decode("utf-8", "surrogateescape"))
    assert _launches(made) == _launches(text)

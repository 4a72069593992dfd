# SPDX-License-Identifier: Apache-2.0
"""Extensions and programs, found by reading build files."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hipport.core.edits import Edit, Span
from hipport.core.globs import Glob
from hipport.program.extension_facts import Extension
from hipport.program.extension_scripts import include_folders
from hipport.program.extensions import extensions
from hipport.program.project import Project
from hipport.syntax.file_languages import source
from hipport.syntax.python_script import Python

FILES = (
    "csrc/a.cpp",
    "csrc/cpu/a_cpu.cpp",
    "csrc/cuda/a_cuda.cu",
    "csrc/cuda/b.cu",
    "csrc/cuda/deep/c.cu",
    "csrc/cuda/a.cuh",
    "csrc/a.h",
    "top.cu",
)
CU = ("csrc/cuda/a_cuda.cu", "csrc/cuda/b.cu")


def project(files: dict[str, str] | None = None, root: Path | None = None, at: str = "") -> Project:
    texts = {f"{at}{name}": "// cuda" for name in FILES} | (files or {})
    return Project(tuple(source(PurePosixPath(n), t.encode()) for n, t in sorted(texts.items())), root=root)


def found(script: str, at: str = "", name: str = "setup.py") -> list[Extension]:
    """Return the extensions of a script among `FILES`, all below `at`."""
    return [e for e in extensions(project({f"{at}{name}": script}, at=at)) if e.path == PurePosixPath(f"{at}{name}")]


def sources(script: str, at: str = "") -> tuple[str, ...] | None:
    """Return the sources of a script's only extension, None if they are uncertain."""
    [extension] = found(script, at)
    return tuple(str(path)[len(at) :] for path in extension.sources) if extension.certain else None


SETUP = """
import glob, os, os.path as osp
from glob import glob as g
from pathlib import Path
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension
here = os.path.dirname(os.path.abspath(__file__))
root = Path(__file__).resolve().parent
{0}
setup(name="p", ext_modules=[CUDAExtension("p._C", {1})], cmdclass={{"build_ext": BuildExtension}})
"""


@pytest.mark.parametrize("at", ["", "pkg/ops/"])
@pytest.mark.parametrize(
    ("before", "argument", "expected"),
    [
        ("", "['csrc/a.cpp', 'csrc/cuda/b.cu']", ("csrc/a.cpp", "csrc/cuda/b.cu")),
        ("", "sources=['./csrc/../csrc/a.cpp', 'generated.cpp']", ("csrc/a.cpp",)),
        ("", "[os.path.join('csrc', 'cuda', name) for name in ('a_cuda.cu', 'b.cu')]", CU),
        ("", "glob.glob('csrc/cuda/*.cu')", CU),
        ("", "sorted(g(osp.join(here, 'csrc', '**', '*.cu'), recursive=True))", (*CU, "csrc/cuda/deep/c.cu")),
        ("", "[str(p) for p in (root / 'csrc').glob('cuda/*.cu')]", CU),
        ("", "list(map(str, root.rglob('*_cuda.cu')))", CU[:1]),
        ("", "[f'{here}/csrc/{name}.cpp' for name in ['a']]", ("csrc/a.cpp",)),
        ("d = 'csrc' + '/'", "[d + 'a.cpp'] + [d + 'cuda/b.cu']", ("csrc/a.cpp", "csrc/cuda/b.cu")),
        ("s = ['csrc/a.cpp']\nif x:\n    s += glob.glob('csrc/cuda/*.cu')", "s", ("csrc/a.cpp", *CU)),
        ("s = []\ns.append('csrc/a.cpp')\ns.extend(['top.cu'])\ns = s + ['csrc/cuda/b.cu']", "sources=s",
         ("csrc/a.cpp", "csrc/cuda/b.cu", "top.cu")),
        ("s = ['top.cu'] if x else ['csrc/a.cpp']", "s", ("csrc/a.cpp", "top.cu")),
        ("d, e = 'csrc', ['a.cpp']", "[os.path.join(d, f) for f in e]", ("csrc/a.cpp",)),
        ("def find(d):\n    p = os.path.join(here, d)\n    return glob.glob(p + '/*.cu')", "find('csrc/cuda')", CU),
        ("def find():\n    if x:\n        return ['top.cu']\n    return ['csrc/a.cpp']", "find()",
         ("csrc/a.cpp", "top.cu")),
        ("", "[os.path.relpath(f, here) for f in glob.glob(here + '/csrc/*.cpp')]", ("csrc/a.cpp",)),
        ("", "list(filter(lambda f: 'x' not in f, glob.glob('csrc/*.cpp')))", ("csrc/a.cpp",)),
        ("", "list(map(lambda f: os.path.join('csrc', f), ['a.cpp']))", ("csrc/a.cpp",)),
        ("os.chdir('/')", "sources=glob.glob('/absolute/*.cu')", ()),
        # A name has its value in its own function; a global one has the values that any function gives it.
        ("def other(s):\n    s = ['top.cu']\n    return s\ns = ['csrc/a.cpp']", "s", ("csrc/a.cpp",)),
        ("def fill():\n    global s\n    s = ['csrc/a.cpp']\nfill()", "s", ("csrc/a.cpp",)),
        ("import os.path", "[os.path.join('csrc', 'a.cpp')]", ("csrc/a.cpp",)),
        ("", "['csrc/' 'a.cpp', rf'csrc/{\"a\"}.cpp', f'{{csrc}}/{here}']", ("csrc/a.cpp",)),
        # Not visible in the script.
        ("", "os.listdir('csrc')", None),
        ("", "json.load(open('sources.json'))", None),
        ("", "read('sources.txt').split()", None),
        ("for d in dirs:\n    s = [d + '/a.cpp']", "s", None),
        ("s = s", "s", ()),
        ("def f(): return f()", "f()", None),
        ("", "[x for x in y for y in z]", None),
        ("", "*args", None),
    ],
)  # fmt: skip
def test_the_sources_that_a_script_lists(before: str, argument: str, expected: tuple[str, ...] | None, at: str) -> None:
    got = sources(SETUP.format(before, argument), at)
    assert (got if got is None else tuple(sorted(got))) == expected


def test_an_extension_without_listed_sources_has_the_remaining_files() -> None:
    script = SETUP.format("", "unknown()") + "\nCppExtension('q', ['csrc/a.cpp'])"
    sure, unsure = sorted(found(script), key=lambda e: not e.certain)
    assert (sure.kind, sure.name, sure.certain) == ("CppExtension", "q", True)
    assert (unsure.kind, unsure.name, unsure.certain) == ("CUDAExtension", "p._C", False)
    assert set(map(str, unsure.sources)) == {name for name in FILES if name.endswith((".cu", ".cpp"))} - {"csrc/a.cpp"}
    # But not files outside of its folder, or files with a nearer build file.
    nested = project({"csrc/setup.py": script, "csrc/cuda/setup.py": SETUP.format("", "unknown()")})
    assert {str(e.path): sorted(map(str, e.sources)) for e in extensions(nested) if e.kind == "CUDAExtension"} == {
        "csrc/setup.py": ["csrc/a.cpp", "csrc/cpu/a_cpu.cpp"],
        "csrc/cuda/setup.py": ["csrc/cuda/a_cuda.cu", "csrc/cuda/b.cu", "csrc/cuda/deep/c.cu"],
    }


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("import torch.utils.cpp_extension as e\ne.CUDAExtension('n', [])", [("CUDAExtension", "n")]),
        (
            "from torch.utils import cpp_extension\ncpp_extension.CppExtension(name='n', sources=[])",
            [("CppExtension", "n")],
        ),
        ("from torch.utils.cpp_extension import CUDAExtension as C\nC('n', [])", [("CUDAExtension", "n")]),
        (
            "from torch.utils.cpp_extension import CppExtension, CUDAExtension\nE = CppExtension\n"
            "if x:\n    E = CUDAExtension\nE('n', [])",
            [("CUDAExtension", "n")],
        ),
        ("E = CUDAExtension if gpu else CppExtension\nE('n' + '.m', [])", [("CUDAExtension", "n.m")]),
        ("CUDAExtension('n', ['top.cu'])\nCppExtension('n', ['csrc/a.cpp'])", [("CUDAExtension", "n")]),
        ("CUDAExtension(name, [])\nCUDAExtension('m', [])", [("CUDAExtension", None), ("CUDAExtension", "m")]),
        ("from torch.utils.cpp_extension import load\nload(name='n', sources=[])", [("load", "n")]),
        ("import torch.utils.cpp_extension\ntorch.utils.cpp_extension.load('n', [])", [("load", "n")]),
        ("from torch.utils.cpp_extension import load_inline\nload_inline('n', cpp, cuda)", [("load_inline", "n")]),
        ("import json, pickle\nfrom yaml import load\njson.load(f)\npickle.load(f)\nload(f)", []),
        ("from setuptools import Extension\nExtension('n', ['a.c'])", []),
        ("# CUDAExtension('n', [])\n'''CUDAExtension('n', [])'''", []),
        ("CUDAExtension('n', [", []),
        ("\0", []),
        ("def f(:", []),
    ],
)
def test_calls_that_build_an_extension(script: str, expected: list[tuple[str, str | None]]) -> None:
    assert [(e.kind, e.name) for e in found(script)] == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("CUDAExtension('n', [], include_dirs=['include', here + '/csrc'])", ("include", "csrc")),
        ("d = include_paths() + ['include']\nCUDAExtension('n', [], include_dirs=d)", ("include",)),
        ("def f():\n    d = []\n    d.append(os.environ['CUB'])\n    d.append('cub')\n    return d\nd = f()\n"
         "load('n', [], extra_include_paths=d)", ("cub",)),
        ("flags = ['-Iinclude', '-I' + 'csrc', f'-I{here}/deep', '-I' 'joined', '-I/usr/include']",
         ("include", "csrc", "deep", "joined")),
    ],
)  # fmt: skip
def test_the_include_folders_that_a_script_names(script: str, expected: tuple[str, ...]) -> None:
    text = f"import os\nhere = os.path.dirname(__file__)\n{script}\n"
    assert include_folders(Python(PurePosixPath("setup.py"), text.encode())) == expected


def test_nothing_is_executed(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    script = f"open({str(witness)!r}, 'w')\n" + SETUP.format("", f"[open({str(witness)!r}, 'w').name]")
    assert len(found(script)) == 1
    assert not witness.exists()


@given(
    st.text(max_size=60) | st.lists(st.sampled_from([*SETUP.split("\n"), "(", "x = x + x", "[", "*"])).map("\n".join)
)
@settings(max_examples=100)
def test_no_script_is_too_much(script: str) -> None:
    found(script)


def test_scripts_that_would_explode_are_given_up() -> None:
    pairs = "a = ['x', 'y']\nb = [p + q for p in a for q in a]"
    longer = "s0 = 'x'\n" + "\n".join(f"s{i + 1} = s{i} + s{i}" for i in range(50))
    steps = "s0 = 'x'\n" + "\n".join(f"s{i + 1} = s{i} if y else s{i}" for i in range(50))
    nested = "['x']"
    for _ in range(50):
        nested = f"[p + p for p in {nested}]"
    for before, argument in [(pairs, "b"), (longer, "[s50]"), (steps, "[s50]"), ("", nested)]:
        assert sources(SETUP.format(before, argument)) is None


# ---- Other build files -----------------------------------------------------------------------------------------------


def test_unlisted_files_belong_to_the_nearest_build_file(tmp_path: Path) -> None:
    files = {
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.18)\nproject(whole LANGUAGES CXX CUDA)",
        "lib/CMakeLists.txt": "add_library(lib a.cu)",
        "own/CMakeLists.txt": 'project( "own" )',
        "make/Makefile": "all:\n\tnvcc -o x a.cu",
        "notes/Makefile": "docs:\n\tsphinx-build",
        "py/pyproject.toml": '[build-system]\nrequires = []\n[project]\nname = "pyp"',
        "cfg/pyproject.toml": "[tool.ruff]",
        "host/CMakeLists.txt": "project(host)",
    }
    code = dict.fromkeys("a.cu lib/a.cu own/a.cu make/a.cu make/b.cpp notes/a.cu py/a.cu".split(), "// cuda")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    all_files = code | {"cfg/a.cu": "", "host/a.cpp": "int x;"}
    sources = tuple(source(PurePosixPath(n), t.encode()) for n, t in all_files.items())
    found = extensions(Project(sources, root=tmp_path))
    assert [(e.kind, e.name, e.path and str(e.path), list(map(str, e.sources))) for e in found] == [
        ("cmake", "whole", "CMakeLists.txt", ["a.cu", "lib/a.cu", "notes/a.cu", "cfg/a.cu"]),
        ("program", "make", "make/Makefile", ["make/a.cu", "make/b.cpp"]),
        ("cmake", "own", "own/CMakeLists.txt", ["own/a.cu"]),
        ("pyproject", "pyp", "py/pyproject.toml", ["py/a.cu"]),
    ]  # fmt: skip


def test_programs_without_any_build_file() -> None:
    files = {
        "one/a.cu": "int main() {}",
        "one/b.cpp": "",
        "two/c.cu": "",
        "host/d.c": "__attribute__((x)) int y;",
        "e.h": "cuda",
    }
    found = extensions(Project(tuple(source(PurePosixPath(n), t.encode()) for n, t in files.items())))
    assert [(e.kind, e.name, e.path, list(map(str, e.sources))) for e in found] == [
        ("program", "one", None, ["one/a.cu", "one/b.cpp"]),
        ("program", "two", None, ["two/c.cu"]),
    ]


def test_headers_are_the_includes_of_the_sources() -> None:
    files = {
        "a.cu": '#include "x.h"\n#include <inc/y.cuh>\n#include <vector>\n// #include "no.h"',
        "x.h": '#include "deep/z.inl"',
        "deep/z.inl": '#include "../a.cu"',
        "lib/inc/y.cuh": "",
        "no.h": "",
        "one/same.h": "",
        "two/same.h": "",
        "b.cu": '#include "same.h"',
    }
    found = extensions(Project(tuple(source(PurePosixPath(n), t.encode()) for n, t in files.items())))
    [program] = found
    assert list(map(str, program.headers)) == ["deep/z.inl", "lib/inc/y.cuh", "x.h"]


# ---- ROCm ------------------------------------------------------------------------------------------------------------


def signs(files: dict[str, str]) -> dict[str, str]:
    found = extensions(Project(tuple(source(PurePosixPath(n), t.encode()) for n, t in files.items())))
    return {sign.kind: str(sign) for extension in found for sign in extension.rocm}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.cu": "\n#ifdef USE_ROCM\n#endif\n#if 0\n#endif\n#ifndef USE_ROCM\n#endif"},
         {"guard": "a.cu:2: #ifdef USE_ROCM (2 places)"}),
        ({"a.cu": "#if defined(__HIP_PLATFORM_AMD__) && X\n#endif"},
         {"guard": "a.cu:1: #if defined(__HIP_PLATFORM_AMD__) && X"}),
        ({"a.cu": "#include \"s.h\"", "s.h": "#define cudaMalloc hipMalloc\n#define cudaFree(p) hipFree(p)"},
         {"shim": "s.h:1: #define cudaMalloc hipMalloc (2 places)"}),
        ({"a.cu": "#include <hip/hip_runtime.h>"}, {"hip header": "a.cu:1: #include <hip/hip_runtime.h>"}),
        ({"a.hip": "__global__ void hip();"}, {"hip source": "a.hip:1: a.hip"}),
        ({"a.cu": "", "setup.py": "from torch.utils.cpp_extension import CUDAExtension\nimport torch\n"
          "IS_HIP = torch.version.hip is not None\nCUDAExtension('n', ['a.cu'])"},
         {"script": "setup.py:3: IS_HIP = torch.version.hip is not None (2 places)"}),
        ({"a.cu": "// USE_ROCM\n/* #ifdef USE_ROCM */\nint USE_HIP; #define x ship\nauto s = \"#define a hipB\";"}, {}),
        ({"a.cu": "#ifdef __CUDACC__\n#endif\n#define hipX hipY\n#include \"hipster/x.h\"",
          "setup.py": "# IS_HIP\nCUDAExtension('n', ['a.cu'], define='USE_ROCM')\nchip = ship = 1"}, {}),
    ],
)  # fmt: skip
def test_signs_that_code_is_for_rocm_already(files: dict[str, str], expected: dict[str, str]) -> None:
    assert signs(files) == expected


def test_signs_are_where_the_user_wrote_them() -> None:
    before = project({"a.cu": "int x;\n#ifdef USE_ROCM\n#endif"})
    changed = before.by_path[PurePosixPath("a.cu")].apply([Edit(Span(0, 0), b"#include <x>\n" * 5)])
    [extension] = [e for e in extensions(before.replacing({changed.path: changed})) if changed.path in e.sources]
    assert [str(sign) for sign in extension.rocm] == ["a.cu:2: #ifdef USE_ROCM"]


# ---- Values ----------------------------------------------------------------------------------------------------------


def test_extensions_as_text_and_json() -> None:
    files = {
        "p/setup.py": "CUDAExtension('n', ['a.cu'])",
        "p/a.cu": '#include "x.h"\n#ifdef USE_ROCM\n#endif',
        "p/x.h": "",
    }
    [extension] = extensions(Project(tuple(source(PurePosixPath(n), t.encode()) for n, t in files.items())))
    assert str(extension) == "CUDAExtension n in p/setup.py: 1 source, 1 header"
    assert json.loads(json.dumps(extension.as_json())) == {
        "kind": "CUDAExtension",
        "name": "n",
        "path": "p/setup.py",
        "sources": ["p/a.cu"],
        "headers": ["p/x.h"],
        "certain": True,
        "rocm": [{"kind": "guard", "path": "p/a.cu", "line": 2, "text": "#ifdef USE_ROCM", "count": 1}],
    }
    [program] = extensions(Project((source(PurePosixPath("a.cu"), b""), source(PurePosixPath("b.cu"), b""))))
    assert str(program) == "program: 2 sources, 0 headers"


@pytest.mark.parametrize(
    ("pattern", "matches", "not_these"),
    [
        ("*.cu", ["a.cu", ".cu"], ["a/b.cu", "a.cuh"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "ab"]),
        ("**/a", ["a", "x/a"], ["xa"]),
        ("a?[b-d][!x]", ["a1b1", "a.d."], ["a/b1", "a1e1", "a1bx"]),
        ("a[]b", ["a[]b"], ["a]b"]),
        ("[]a][^a][&&~]", ["]b&", "ab~"], ["bb&", "aa&"]),
        ("[b-a]x", [], ["ax", "bx", "/x"]),
        ("[!b-a]x", ["ax"], ["/x"]),
        ("a.(b)+", ["a.(b)+"], ["axb"]),
    ],
)
def test_patterns(pattern: str, matches: list[str], not_these: list[str]) -> None:
    glob = Glob(pattern)
    assert [name for name in matches + not_these if glob.matches(name)] == matches


def test_a_script_is_no_source() -> None:
    assert isinstance(source(PurePosixPath("setup.py"), b""), Python)
    assert extensions(Project((source(PurePosixPath("setup.py"), b"import this"),))) == ()

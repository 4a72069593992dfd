# SPDX-License-Identifier: Apache-2.0
"""An include means the file that the build finds; without a script it is guessed within one program, or not at all."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest

import hipport
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.workspace.discovery import discover, in_memory


def meant(project: Project, path: str) -> list[list[str]]:
    """Return the files that each include of a file means."""
    source = project.by_path[PurePosixPath(path)]
    assert isinstance(source, Cpp)
    return [[str(other.path) for other in project.included(source, include)] for include in source.includes]


def whole(files: dict[str, str]) -> Project:
    return in_memory({name: text.encode() for name, text in files.items()})


SCRIPTS = {
    "flags": ("p/Makefile", "NVCCFLAGS = -O3 -I../q -arch=sm_80\nall:\n\tnvcc $(NVCCFLAGS) a.cu\n"),
    "apart": ("p/Makefile", "all:\n\tnvcc -I ../q a.cu\n"),
    "variable": ("p/Makefile", "ROOT ?= $(CURDIR)/..\nINC := $(ROOT)/q\nall:\n\tnvcc -I$(INC) a.cu\n"),
    "prefixed": ("p/Makefile", "DIRS = /usr/x ../q\nall:\n\tnvcc $(addprefix -I,$(DIRS)) a.cu\n"),
    "each": ("p/Makefile", "DIRS = ../q\nall:\n\tnvcc $(DIRS:%=-I%) a.cu\n"),
    "above": ("Makefile", "all:\n\tnvcc -Iq p/a.cu\n"),
    "isystem": ("p/GNUmakefile", "all:\n\tnvcc -isystem ../q a.cu\n"),
    "cmake": ("p/CMakeLists.txt", "project(x CUDA)\ninclude_directories(../q)\n"),
    "target": (
        "CMakeLists.txt",
        "project(x CUDA)\nset(D ${CMAKE_CURRENT_SOURCE_DIR}/q)\n"
        "target_include_directories(x SYSTEM PUBLIC $<BUILD_INTERFACE:${D}>)\n",
    ),
    "source_dir": ("CMakeLists.txt", "project(x CUDA)\ninclude_directories(${x_SOURCE_DIR}/q ${NOBODY}/q)\n"),
    "cmake_flags": ("CMakeLists.txt", 'project(x CUDA)\nset(CMAKE_CUDA_FLAGS "-I${PROJECT_SOURCE_DIR}/q -O3")\n'),
    "setup": (
        "setup.py",
        "import os\nfrom torch.utils.cpp_extension import CUDAExtension, include_paths\n"
        "here = os.path.dirname(os.path.abspath(__file__))\n"
        'CUDAExtension("x", ["p/a.cu"], include_dirs=include_paths() + [os.path.join(here, "q")])\n',
    ),
    "setup_flag": (
        "setup.py",
        "import os\nfrom torch.utils.cpp_extension import CUDAExtension\n"
        'CUDAExtension("x", ["p/a.cu"], extra_compile_args=["-I" + os.path.join(os.path.dirname(__file__), "q")])\n',
    ),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_folders_that_scripts_name(script: str) -> None:
    name, text = SCRIPTS[script]
    files = {"p/a.cu": "#include <x.h>\n", "q/x.h": "", "q/t.cu": "", "r/x.h": "", "r/t.cu": ""}
    assert meant(whole(files), "p/a.cu") == [[]]
    assert meant(whole({**files, name: text}), "p/a.cu") == [["q/x.h"]]


def test_a_makefile_that_another_includes() -> None:
    files = {"p/a.cu": "#include <x.h>\n", "q/x.h": "", "q/t.cu": "", "p/Makefile": "include ../make/common.mk\nall:\n"}
    files["make/common.mk"] = "FLAGS = -I../q\n"
    assert meant(whole(files), "p/a.cu") == [["q/x.h"]]


def test_the_commands_of_a_build(tmp_path: Path) -> None:
    for name, text in {"p/a.cu": "#include <x.h>\n", "p/b.cu": "#include <x.h>\n", "q/x.h": "", "q/t.cu": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    build = tmp_path / "build"
    (build / "CMakeFiles").mkdir(parents=True)
    entries = [
        {"directory": str(build), "file": "../p/a.cu", "command": f"nvcc -I{tmp_path}/q -c ../p/a.cu"},
        {"directory": str(build), "file": str(tmp_path / "p/b.cu"), "arguments": ["nvcc", "-I../q", "-I/etc"]},
        {"directory": 3, "file": ["no"]},
        {"file": "/etc/passwd", "command": "-Iq"},
        "no",
    ]
    (build / "compile_commands.json").write_text(json.dumps(entries))
    project = discover([tmp_path])
    assert meant(project, "p/a.cu") == meant(project, "p/b.cu") == [["q/x.h"]]
    for broken in ("[", "{}", "[" * 100_000):
        (build / "compile_commands.json").write_text(broken)
        assert meant(discover([tmp_path]), "p/a.cu") == [[]]


def test_commands_outside_of_the_tree_are_not_read(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "p").mkdir(parents=True)
    (tree / "p/a.cu").write_text("int a;\n")
    (tmp_path / "c.json").write_text(json.dumps([{"directory": str(tree), "file": "p/a.cu", "command": "-Iq"}]))
    (tree / "compile_commands.json").symlink_to(tmp_path / "c.json")
    assert discover([tree]).commands == {}
    (tree / "compile_commands.json").unlink()
    (tree / "compile_commands.json").write_bytes((tmp_path / "c.json").read_bytes())
    assert discover([tree]).commands == {PurePosixPath("p/a.cu"): ("q",)}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # Beside the file, above it, and in common folders.
        ({"p/x.h": "", "x.h": ""}, ["p/x.h"]),
        ({"x.h": "", "q/x.h": "", "q/t.cu": ""}, ["x.h"]),
        ({"include/deep/x.h": ""}, ["include/deep/x.h"]),
        ({"common/x.h": "", "common/t.cu": ""}, ["common/x.h"]),
        ({"headers/x.h": ""}, ["headers/x.h"]),
        ({"p/detail/x.h": "", "p/detail/t.cu": ""}, ["p/detail/x.h"]),
        # Not another program's file; within a program with a script, anywhere.
        ({"q/x.h": "", "q/t.cu": ""}, []),
        ({"q/inc/x.h": "", "q/src/t.cu": ""}, []),
        ({"q/x.h": "", "q/t.cu": "", "setup.py": "import setuptools\n"}, ["q/x.h"]),
        ({"q/x.h": "", "q/t.cu": "", "Makefile": "all:\n"}, ["q/x.h"]),
        ({"q/x.h": "", "q/Makefile": "all:\n", "Makefile": "all:\n"}, []),
        ({"q/x.h": "", "q/t.cu": "", "CMakeLists.txt": "project(x CUDA)\n"}, ["q/x.h"]),
        ({"q/x.h": "", "q/t.cu": "", "p/CMakeLists.txt": "add_library(x a.cu)\n"}, []),
    ],
)  # fmt: skip
def test_includes_without_a_script(files: dict[str, str], expected: list[str]) -> None:
    assert meant(whole({"p/a.cu": '#include "x.h"\n', **files}), "p/a.cu") == [expected]


def test_a_path_of_two_parts_may_be_one_file_anywhere() -> None:
    files = {"p/a.cu": '#include "u/x.h"\n', "q/u/x.h": "", "q/t.cu": ""}
    assert meant(whole(files), "p/a.cu") == [["q/u/x.h"]]
    assert meant(whole({**files, "r/u/x.h": "", "r/t.cu": ""}), "p/a.cu") == [[]]


@pytest.mark.parametrize(
    ("script", "header", "expected"),
    [
        # Each program has its own script, and the header is among the sources of the other one.
        ({"p/CMakeLists.txt": "project(p CUDA)\n", "q/CMakeLists.txt": "project(q CUDA)\n"}, "q/u/x.h", []),
        ({"p/Makefile": "all:\n", "q/setup.py": "import setuptools\nsetuptools.setup()\n"}, "q/src/u/x.h", []),
        # A folder for headers, a library's name in the path, and a program inside of the first.
        ({"p/CMakeLists.txt": "project(p CUDA)\n", "q/CMakeLists.txt": "project(q)\n"}, "q/include/u/x.h", None),
        ({"p/CMakeLists.txt": "project(p CUDA)\n", "q/u/CMakeLists.txt": "project(u)\n"}, "q/u/x.h", None),
        ({"p/CMakeLists.txt": "project(p CUDA)\n"}, "p/q/u/x.h", None),
        ({"CMakeLists.txt": "project(p CUDA)\n", "q/CMakeLists.txt": "project(q)\n"}, "q/u/x.h", None),
        # Only one of them has a script.
        ({"q/CMakeLists.txt": "project(q)\n"}, "q/u/x.h", None),
    ],
)
def test_programs_that_are_built_apart_have_headers_of_their_own(
    script: dict[str, str], header: str, expected: list[str] | None
) -> None:
    unit = header.removesuffix("u/x.h") + ("u/t.cu" if "u/CMakeLists" in "".join(script) else "t.cu")
    units = {} if "/include/" in header else {unit: ""}
    files = {"p/a.cu": '#include "u/x.h"\n', header: "", **units, **script}
    assert meant(whole(files), "p/a.cu") == [[header] if expected is None else expected]


def test_headers_of_the_language_are_its_own() -> None:
    files = {"src/a.cu": '#include <math.h>\n#include "math.h"\n', "include/math.h": ""}
    assert meant(whole(files), "src/a.cu") == [[], ["include/math.h"]]
    assert meant(whole({**files, "Makefile": "all:\n\tnvcc -Iinclude src/a.cu\n"}), "src/a.cu")[0] == ["include/math.h"]


@pytest.mark.parametrize(
    "script", [{}, {"Samples/one/Makefile": "all:\n\tnvcc -I../../Common one.cu\n"}], ids=["none", "Makefile"]
)
def test_the_samples_own_headers_stay(script: dict[str, str]) -> None:
    """Nor are they reported as missing, from each other or from the sample."""
    files = {
        "Common/helper_cuda.h": "#include <helper_string.h>\ninline int f();\n",
        "Common/helper_string.h": "inline int g();\n",
        "Common/helper_math.h": "inline __host__ __device__ float lerp(float a, float b, float t);\n",
        "Samples/one/one.cu": "#include <helper_cuda.h>\n#include <helper_math.h>\nint main() {}\n",
    }
    ported = hipport.rewrite({name: text.encode() for name, text in {**files, **script}.items()})
    texts = {str(file.path): file.text.decode() for file in ported.project.sources}
    assert "#include <helper_cuda.h>\n#include <helper_math.h>\n" in texts["Samples/one/one.cu"]
    assert texts["Common/helper_cuda.h"] == files["Common/helper_cuda.h"]
    assert not [each for each in ported.reported if "samples" in each.message]


def test_an_own_header_with_a_librarys_name_by_a_flag() -> None:
    files = {"p/a.cu": "#include <cublas.h>\n", "q/cublas.h": "", "q/t.cu": ""}
    files["p/Makefile"] = "all:\n\tnvcc -I../q a.cu\n"
    ported = hipport.rewrite({name: text.encode() for name, text in files.items()})
    texts = {str(file.path): file.text for file in ported.project.sources}
    assert b"#include <cublas.h>" in texts["p/a.cu"]

# SPDX-License-Identifier: Apache-2.0
"""Compilation: the files and flags, the results, and when nothing need be done."""

import errno
import glob
import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path, PurePath

import pytest
from click.testing import CliRunner

from hipport.building import builder
from hipport.building.builder import HOST, BuildOptions, Built, Compiled, build
from hipport.building.compiler_messages import Alignment, Message, Note, SourcePlaces, parse, script_advice
from hipport.building.dry_runs import dry_run
from hipport.building.guessed_flags import cmake_flags
from hipport.building.just_in_time import just_in_time
from hipport.cli import main
from hipport.core.edits import Edit, Span
from hipport.engine.knowledge import Knowledge
from hipport.engine.pipeline import Progress
from hipport.reporting.report import built_as_json, built_as_text
from hipport.syntax.cuda import Cuda
from hipport.toolchain.toolchains import NoToolchain, Toolchain, cache, choose, find
from hipport.workspace.copies import reached
from hipport.workspace.discovery import NotFound

# Accepts hipcc's arguments. A line `//! 3: error: text` of the source is a message at its column 3; `//! wait NAME`
# waits until another compiler does too.
FAKE = """#!{python}
import os, re, sys, time
from pathlib import Path
arguments = sys.argv[1:]
source = Path(arguments[arguments.index("-c") + 1])
if "-H" in arguments:
    print("#include <...> search starts here:", " /usr/include", "End of search list.", sep=chr(10))
    for name in re.findall(r'#include "(.*)"', source.read_text()):
        header = source.parent / name
        print(f". {{header}}" if header.exists() else f"{{source}}:1:10: fatal error: '{{name}}' file not found")
    sys.exit(1)
if "-E" in arguments:
    print(f'# 1 "{{source}}"' + chr(10) + ("int left;" if "-DWITH_HIP" in arguments else ""))
    sys.exit()
cc1 = [after for before, after in zip(arguments, arguments[1:]) if before == "-Xclang"]
with Path({log!r}).open("a") as log:
    log.write(" ".join(arguments) + "\\n")
read, failed = [source], False
for number, line in enumerate(source.read_text().splitlines(), 1):
    if match := re.match(r'#include "(.*)"', line):
        read.append(source.parent / match[1])
    if match := re.match(r"//! (\\d+): (.*)", line):
        print(f"{{source}}:{{number}}:{{match[1]}}: {{match[2]}}")
        failed |= "error" in match[2]
    if match := re.match(r"//! wait (\\w+)", line):
        folder = Path({log!r}).parent / match[1]
        folder.mkdir(exist_ok=True)
        (folder / str(os.getpid())).touch()
        for _ in range(200):
            if len(list(folder.iterdir())) > 1:
                break
            time.sleep(0.02)
        else:
            print("error: nobody else came")
            failed = True
if not failed:
    Path(cc1[cc1.index("-dependency-file") + 1]).write_text("out: " + " \\\\\\n ".join(map(str, read)) + "\\n")
    Path(arguments[arguments.index("-o") + 1]).touch()
sys.exit(failed)
"""


class Workshop:
    """A tree, a cache and a scripted compiler."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        self.tree.mkdir()
        # A compiler may write to its own cache, and nowhere else.
        self.log = folder / "said" / "log"
        self.log.parent.mkdir()
        hipcc = folder / "rocm" / "bin" / "hipcc"
        hipcc.parent.mkdir(parents=True)
        hipcc.write_text(FAKE.format(python=sys.executable, log=str(self.log)))
        hipcc.chmod(0o755)
        self.toolchain = Toolchain(hipcc, (6, 4, 0), "21", frozenset({"gfx942", "gfx1100"}), "given")
        # A shared home: a Python that has loaded PyTorch is kept for each home, and takes seconds to start.
        home = str(folder.parent / "home")
        self.env = {"PATH": "/usr/bin:/bin", "HOME": home, "XDG_CACHE_HOME": str(folder / "cache")}
        self.env["CCACHE_DIR"] = str(self.log.parent)

    def write(self, name: str, text: str) -> Path:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def build(self, *paths: Path, archs: Sequence[str] = ("gfx942", "gfx1100"), **options: object) -> Built:
        options = {"env": self.env, "toolchain": self.toolchain, "jobs": 1, **options}
        if "translate" in options:
            options["knowledge"] = Knowledge(translate=options.pop("translate"))  # type: ignore[arg-type]
        return build(paths or [self.tree], archs, BuildOptions(**options))  # type: ignore[arg-type]

    def calls(self) -> list[list[str]]:
        """Return the compilations since the last call."""
        calls = [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return calls


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


# --- Compiler messages ------------------------------------------------------------------------------------------------

SAID = """\
In file included from src/main.cu:3:
In file included from src/a.h:7:
/opt/rocm/include/x.hpp:10:5: error: static assertion failed: no
src/b.h:20:9: note: in instantiation of function template specialization 'f<int>' requested here
src/main.cu:8:36: warning: unused variable 'x' [-Wunused-variable]
src/main.cu:9:1: fatal error: 'y.h' file not found
src/main.cu:12:3: internal compiler error: in gimplify_expr, at gimplify.cc:3058
lld: error: undefined hidden symbol: g(int)
>>> referenced by /tmp/a.o:(k(int*))
clang++: error: amdgcn-link command failed with exit code 1 (use -v to see invocation)
error: src/main.cu:30:17: in function k void (): stack frame size (1) exceeds limit (0)
fatal error: too many errors emitted, stopping now [-ferror-limit=]
2 warnings and 1 error generated when compiling for gfx942.
failed to execute:/opt/rocm/llvm/bin/clang++ -c a.cu
"""


def test_messages_are_read() -> None:
    main = PurePath("src/main.cu")
    messages = parse(SAID, main)
    assert [(str(m.path), m.line, m.column, m.severity, m.text, m.option) for m in messages] == [
        ("/opt/rocm/include/x.hpp", 10, 5, "error", "static assertion failed: no", ""),
        ("src/main.cu", 8, 36, "warning", "unused variable 'x'", "-Wunused-variable"),
        ("src/main.cu", 9, 1, "error", "'y.h' file not found", ""),
        ("src/main.cu", 12, 3, "error", "internal compiler error: in gimplify_expr, at gimplify.cc:3058", ""),
        ("src/main.cu", 0, 0, "error", "undefined hidden symbol: g(int)", ""),
        ("src/main.cu", 30, 17, "error", "in function k void (): stack frame size (1) exceeds limit (0)", ""),
    ]
    assert [note.line for note in messages[0].notes] == [20]
    assert [(str(note.path), note.line) for note in messages[0].included_from] == [("src/a.h", 7), ("src/main.cu", 3)]
    assert [note.text for note in messages[4].notes] == ["referenced by /tmp/a.o:(k(int*))"]


def test_a_message_in_a_header_of_others_stands_where_the_tree_led_there(tmp_path: Path) -> None:
    places = SourcePlaces(tmp_path)
    error, warning = (
        Message(
            PurePath("/opt/x.hpp"),
            10,
            5,
            severity,
            "no",
            notes=(Note(PurePath("/opt/y.hpp"), 1, 1, "here"), Note(PurePath("src/b.h"), 20, 9, "requested here")),
            included_from=(Note(PurePath("src/a.h"), 7, 0, "included from here"),),
        )
        for severity in ("error", "warning")
    )
    for message in places.located([error, warning], tmp_path):
        assert (message.path, message.line, message.column, message.at) == (
            PurePath("src/b.h"), 20, 9, "/opt/x.hpp:10:5"
        )  # fmt: skip
    included = (Note(PurePath("src/a.h"), 7, 0, "included from here"),)
    foreign = Message(PurePath("/opt/x.hpp"), 10, 5, "warning", "theirs", included_from=included)
    assert places.located([foreign], tmp_path) == ()
    (broken,) = places.located([replace(foreign, severity="error")], tmp_path)
    assert (broken.path, broken.line, broken.at) == (PurePath("src/a.h"), 7, "/opt/x.hpp:10:5")
    unit = Compiled(PurePath("src/main.cu"), "", HOST, ok=False, seconds=1, cached=False, messages=(broken,))
    hipcc = Toolchain(Path("/opt/hipcc"), (6, 4, 3), "21", frozenset(), "")
    built = Built(tmp_path, hipcc, (), (unit,), (), ())
    assert built_as_text(built).startswith("src/a.h:7: error: theirs  [host]\n    /opt/x.hpp:10:5: found here\n")
    (said,) = json.loads(built_as_json(built))["compiled"][0]["messages"]
    assert said["at"] == "/opt/x.hpp:10:5"


def test_a_known_error_of_a_setup_script_is_explained() -> None:
    assert "setuptools<82" in script_advice("ModuleNotFoundError: No module named 'pkg_resources' (setup.py, line 5)")
    assert not script_advice("ModuleNotFoundError: No module named 'resources'")


def test_a_known_fault_of_others_headers_is_explained(tmp_path: Path) -> None:
    included = (Note(PurePath("src/a.cpp"), 2, 0, "included from here"),)
    inside = Message(
        PurePath("/usr/include/c++/16/format"), 9, 5, "error", "expected identifier", included_from=included
    )
    elsewhere = replace(inside, path=PurePath("/usr/include/c++/16/vector"))
    own = replace(inside, path=PurePath("src/format"), included_from=())
    explained, *others = SourcePlaces(tmp_path).located([inside, elsewhere, own], tmp_path)
    assert explained.text.startswith("expected identifier: HIP's headers define __noinline__")
    assert [each.text for each in others] == ["expected identifier"] * 2


@pytest.mark.parametrize(
    ("after", "line", "column", "expected"),
    [
        # The changes of PyTorch's hipify: added lines, shorter names.
        ("// !!! made\n#include \"hip/hip_runtime.h\"\nint a;\nhipFree(p); int b = c;\n}", 4, 17, (2, 18)),
        ("// !!! made\nint a;\ncudaFree(p); int b = c;\n}", 2, 5, (1, 5)),
        # Lines that were moved.
        ("int a;\nnew();\ncudaFree(p); int b = c;\n}", 3, 14, (2, 14)),
        ("int a;\n}", 2, 1, (3, 1)),
    ],
)  # fmt: skip
def test_lines_and_columns_are_found_again(after: str, line: int, column: int, expected: tuple[int, int]) -> None:
    before = "int a;\ncudaFree(p); int b = c;\n}"
    alignment = Alignment(tuple(before.split("\n")), tuple(after.split("\n")))
    assert alignment.place(line, column) == expected


def test_errors_come_back_at_the_lines_before_rewriting(workshop: Workshop) -> None:
    source = Cuda(PurePath("a.cu"), b"// first\n    //! 4: error: no\n")
    rewritten = source.apply([Edit(Span(0, 0), b"#include <new.h>\n\n"), Edit(Span(9, 13), b"")])
    path = workshop.write("a.cu", rewritten.text.decode())
    built = workshop.build(sources={path: rewritten})
    ((message, targets),) = built.messages
    assert (message.path, message.line, message.column, message.text) == (PurePath("a.cu"), 2, 8, "no")
    assert targets == ("host", "gfx942", "gfx1100")


def test_a_compiler_that_fails_without_a_message_is_still_an_error(workshop: Workshop) -> None:
    workshop.write("a.cu", "int a;\n")
    workshop.toolchain.hipcc.write_text("#!/bin/sh\necho 'PLEASE submit a bug report'\nexit 134\n")
    built = workshop.build(archs=["gfx942"])
    assert not built.ok
    assert [(m.path, m.severity, m.text) for m, _ in built.messages] == [
        (PurePath("a.cu"), "error", "PLEASE submit a bug report")
    ]


def test_a_compiler_that_does_not_end_is_ended(workshop: Workshop) -> None:
    workshop.write("a.cu", "int a;\n")
    workshop.toolchain.hipcc.write_text("#!/bin/sh\nexec sleep 60\n")
    built = workshop.build(archs=["gfx942"], timeout=0.2)
    assert [m.text for m, _ in built.messages] == ["the compiler did not end within 0 s"]


# --- Compiled files ---------------------------------------------------------------------------------------------------


def test_each_unit_is_compiled_for_the_host_and_each_target(workshop: Workshop) -> None:
    workshop.write("main.cu", '#include "part.cu"\n#include "kernels.cuh"\n')
    workshop.write("part.cu", "__global__ void k() {}\n")
    workshop.write("host.cpp", "int main() {}\n")
    workshop.write("device.cpp", "__global__ void k() {}\n")
    workshop.write("plain.c", "int f(void);\n")
    seen: list[Progress] = []
    built = workshop.build(on_progress=seen.append)
    assert built.ok and built.not_built == () and built.ran == ()
    assert {str(row[0].path): [each.target for each in row] for row in built.units} == {
        "device.cpp": ["host", "gfx942", "gfx1100"],
        "host.cpp": ["host"],
        "main.cu": ["host", "gfx942", "gfx1100"],
        "plain.c": ["host"],
    }
    by_source = {(call[-4].split("/")[-1] if "-o" not in call else Path(call[call.index("-c") + 1]).name): call
                 for call in workshop.calls()}  # fmt: skip
    assert "--offload-arch=gfx1100" in by_source["main.cu"] and "--cuda-device-only" in by_source["main.cu"]
    assert "-DHIP_ENABLE_WARP_SYNC_BUILTINS=1" in by_source["main.cu"]
    assert by_source["host.cpp"][by_source["host.cpp"].index("-x") + 1] == "c++"
    assert "-D__HIP_PLATFORM_AMD__=1" in by_source["host.cpp"]
    assert "-Wno-error=c++11-narrowing" in by_source["host.cpp"]
    assert "-Wno-error=c++11-narrowing" not in by_source["main.cu"]
    assert [progress.done for progress in seen] == list(range(1, 9)) and seen[-1].total == 8


def test_a_single_file_is_a_program(workshop: Workshop) -> None:
    path = workshop.write("a.cu", "int a;\n")
    workshop.write("b.cu", "//! 1: error: not asked for\n")
    built = workshop.build(path)
    assert built.ok and [str(row[0].path) for row in built.units] == ["a.cu"]


def test_files_of_one_folder_are_programs(workshop: Workshop) -> None:
    paths = [workshop.write(name, "int a;\n") for name in ("a.cu", "b.cu")]
    assert [str(row[0].path) for row in workshop.build(*paths).units] == ["a.cu", "b.cu"]


def test_a_path_that_is_not_there_is_an_error(workshop: Workshop) -> None:
    with pytest.raises(NotFound):
        workshop.build(workshop.tree / "nothing")


def test_what_the_configuration_excludes_is_not_built(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.write("a.cu", "int a;\n")
    workshop.write("old/b.cu", "//! 1: error: not asked for\n")
    workshop.write("hipport.toml", 'exclude = ["old"]\n')
    monkeypatch.setattr(builder, "choose", lambda *_: workshop.toolchain)
    for name in ("XDG_CACHE_HOME", "CCACHE_DIR"):
        monkeypatch.setenv(name, workshop.env[name])
    result = CliRunner().invoke(main, ["build", str(workshop.tree)])
    assert result.exit_code == 0, result.output
    assert "a.cu" in result.output and "b.cu" not in result.output


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("//! 1: error: no cudaFree\nvoid f(void *p) { cudaFree(p); }\n", True),
        ("//! 1: error: no hipFree\n#include <hip/hip_runtime.h>\nvoid f(void *p) { (void)hipFree(p); }\n", False),
        ("void f(void *p) { cudaFree(p); }\n", False),
    ],
)
def test_what_fails_because_it_is_not_ported_is_named(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, text: str, told: bool
) -> None:
    workshop.write("a.cu", text)
    monkeypatch.setattr(builder, "choose", lambda *_: workshop.toolchain)
    for name in ("XDG_CACHE_HOME", "CCACHE_DIR"):
        monkeypatch.setenv(name, workshop.env[name])
    result = CliRunner().invoke(main, ["build", str(workshop.tree)])
    assert ("a.cu failed and is not ported" in result.output) == told, result.output


def test_nothing_to_compile_is_not_success(workshop: Workshop) -> None:
    workshop.write("a.py", "pass\n")
    built = workshop.build()
    assert not built.ok and [each.why for each in built.not_built] == ["there is no device code to compile here"]


def test_a_program_without_device_code_of_its_own_is_built(workshop: Workshop) -> None:
    workshop.write("main.cpp", "int main() { return 0; }\n")
    built = workshop.build(archs=["gfx942"])
    assert built.ok and [each.ok for each in built.compiled] == [True]
    assert [each.needs_person for each in built.not_built] == [False]


EMPTY = "#ifdef WITH_HIP\n__global__ void k(int* p) {}\n#endif\n"


def test_a_file_of_which_nothing_is_compiled_is_not_built(workshop: Workshop) -> None:
    workshop.write("a.cu", EMPTY)
    built = workshop.build(archs=["gfx942"])
    assert not built.ok
    (message,) = [message for message, _ in built.messages]
    assert (message.severity, message.path.name) == ("error", "a.cu")
    assert message.text.startswith("the compiler saw nothing of the file: all of it stands under `#ifdef WITH_HIP`")
    assert not workshop.build(archs=["gfx942"]).ok  # From the cache.
    # A header guard excludes nothing, nor does a condition beside which other code remains.
    workshop.write("a.cu", "#ifndef A\n#define A\nint a;\n#endif\n")
    assert workshop.build(archs=["gfx942"]).ok
    workshop.write("a.cu", EMPTY + "int a;\n")
    assert workshop.build(archs=["gfx942"]).ok


@pytest.mark.parametrize(
    "script",
    [
        "add_definitions(-DWITH_HIP)\n",
        "set(BACKEND HIP)\nadd_definitions(-DWITH_${BACKEND})\n",
        "set(DEFS -DWITH_HIP CACHE STRING flags)\nadd_definitions(${DEFS})\n",
        "list(APPEND DEFS WITH_HIP)\ntarget_compile_definitions(a PRIVATE ${DEFS})\n",
        'string(APPEND CMAKE_HIP_FLAGS " -DWITH_HIP")\n',
        "target_compile_options(a PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-DWITH_HIP>)\n",
    ],
)
def test_what_cmake_defines_by_variables_is_defined(workshop: Workshop, script: str) -> None:
    workshop.write("CMakeLists.txt", script)
    workshop.write("a.cu", EMPTY)
    built = workshop.build(archs=["gfx942"])
    assert built.ok, built.messages
    workshop.write("CMakeLists.txt", script.replace("HIP", "X"))
    assert not workshop.build(archs=["gfx942"]).ok


def test_scripts_above_a_source_say_what_holds_for_it(workshop: Workshop) -> None:
    workshop.write(".git/HEAD", "ref\n")
    workshop.write("CMakeLists.txt", "project(x)\nset(TOP inc)\ninclude_directories(inc)\nadd_subdirectory(src)\n")
    workshop.write("src/CMakeLists.txt", "add_definitions(-DWITH_HIP -DFROM_${TOP})\n")
    workshop.write("other/CMakeLists.txt", "add_definitions(-DOTHER)\n")
    workshop.write("inc/x.h", "\n")
    source = workshop.write("src/deep/a.cu", EMPTY)
    command = workshop.build(source, archs=["gfx942"]).compiled[0].command
    assert {"-DWITH_HIP", "-DFROM_inc", f"-I{workshop.tree}/inc"} <= set(command) and "-DOTHER" not in command
    # A script that does not lead to the source does not apply to it.
    workshop.write("CMakeLists.txt", "add_definitions(-DTOP)\n")
    assert "-DTOP" not in workshop.build(source, archs=["gfx942"]).compiled[0].command


@pytest.mark.parametrize(
    "line",
    [
        'string(APPEND CMAKE_HIP_FLAGS " -fgpu-rdc")',
        "target_compile_options(a PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)",
        "add_compile_options($<$<COMPILE_LANGUAGE:${HIP_OR_CUDA}>:-fgpu-rdc>)",
    ],
)
def test_relocatable_device_code_is_read_from_cmake(workshop: Workshop, line: str) -> None:
    workshop.write("CMakeLists.txt", line + "\n")
    workshop.write("a.cu", "int a;\n")
    built = workshop.build(archs=["gfx942"])
    assert all("-fgpu-rdc" in each.command for each in built.compiled)


_TEMPLATE = """\
#pragma once
#cmakedefine WITH_FAST
  #  cmakedefine01 WITH_SLOW
#cmakedefine WITH_SLOW 5
#cmakedefine WIDTH @WIDTH@
#define VERSION "@PROJECT_VERSION@" // ${Waves_VERSION_MINOR} [@PROJECT_VERSION_TWEAK@] @ NAMES @
#define MODE "@MODE@" @NAMES@
"""
# In CMake 3.25.1's form.
_FILLED = """\
#pragma once
#define WITH_FAST
  #  define WITH_SLOW 0
/* #undef WITH_SLOW */
#define WIDTH 64
#define VERSION "1.12.3" // %s [] @ NAMES @
#define MODE "fast" a;b;c
"""
_SCRIPT = """\
cmake_minimum_required(VERSION 3.18)
project(Waves VERSION 1.12.3 LANGUAGES CXX)
option(WITH_FAST "fast" ON)
option(WITH_SLOW "slow")
set(WIDTH 64 CACHE STRING "lanes")
set(NAMES a b)
list(APPEND NAMES c)
if(WITH_FAST AND NOT WITH_SLOW)
  set(MODE fast)
else()
  set(MODE slow)
endif()
find_package(OpenMP)
configure_file(config.h.in ${CMAKE_CURRENT_BINARY_DIR}/gen/config.h%s)
"""


@pytest.mark.parametrize(
    ("script", "flags"),
    [
        ("if(USE_HIP)\nset(O -fgpu-rdc)\nelse()\nset(O -rdc=true)\nendif()", ["-fgpu-rdc"]),
        ("if( NOT USE_HIP )\nset(O -rdc=true)\nelse ()\nset(O -fgpu-rdc)\nendif()", ["-fgpu-rdc"]),
        ("set(O -fgpu-rdc)\nif(USE_HIP)\nelseif(A)\nif(B)\nset(O -DB)\nendif()\nset(O -DA)\nendif()", ["-fgpu-rdc"]),
        ("if(A AND (B OR C))\nset(O -DB)\nelse()\nset(O -DA)\nendif()", ["-DA"]),
        ("if(USE_HIP)\nset(O -DB)\nendif(USE_HIP)\nset(P -DA)", ["-DB"]),
    ],
)
def test_branches_of_a_port_for_cuda_give_no_flags(tmp_path: Path, script: str, flags: list[str]) -> None:
    behind = "\ntarget_compile_options(p PRIVATE $<$<COMPILE_LANGUAGE:${HIP_OR_CUDA}>:${O}>)\n"
    (tmp_path / "CMakeLists.txt").write_text(f"project(x)\n{script}{behind}")
    assert cmake_flags(tmp_path) == flags


@pytest.mark.parametrize(("only", "minor"), [("", "12"), (" @ONLY", "${Waves_VERSION_MINOR}")])
def test_headers_are_made_of_templates_whose_values_the_scripts_say(workshop: Workshop, only: str, minor: str) -> None:
    workshop.write("CMakeLists.txt", _SCRIPT % only)
    workshop.write("config.h.in", _TEMPLATE)
    workshop.write("a.cu", '#include "gen/config.h"\nint a;\n')
    before = sorted(workshop.tree.rglob("*"))
    (unit,) = {unit for unit, *_ in workshop.build(archs=["gfx942"]).units}
    assert "gen/config.h: generated from the values in the scripts" in unit.guess and "missing" not in unit.guess
    place = Path(next(word[2:] for word in unit.command if word.startswith("-I") and "configured" in word))
    assert (place / "gen/config.h").read_text() == _FILLED % minor
    assert not place.is_relative_to(workshop.tree) and sorted(workshop.tree.rglob("*")) == before


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("configure_file(config.h.in config.h)", "WIDTH is not known"),
        ("if(OTHER)\nset(WIDTH 1)\nendif()\nconfigure_file(config.h.in config.h)", "WIDTH is not known"),
        ("set(WIDTH 1)\nif(OTHER)\nset(WIDTH 2)\nendif()\nconfigure_file(config.h.in config.h)", "WIDTH is not known"),
        ("set(WIDTH 1)\nfind_width(WIDTH)\nconfigure_file(config.h.in config.h)", "WIDTH is not known"),
        ("set(WIDTH 1)\ninclude(${OTHER})\nconfigure_file(config.h.in config.h)", "missing"),
        ("set(WIDTH 1)\nset(WIDTH 2 CACHE STRING w)\nconfigure_file(config.h.in config.h)", "WIDTH is not known"),
        ("set(WIDTH 1)\nforeach(i 1)\nset(WIDTH 2)\nendforeach()\nconfigure_file(config.h.in config.h)", "not known"),
        ("set(WIDTH 1)\nadd_subdirectory(sub)\nconfigure_file(config.h.in config.h)", "WIDTH is not known"),
        ('set(WIDTH "\\\\1")\nconfigure_file(config.h.in config.h)', "WIDTH is not known"),
        ("set(WIDTH 1)\nif(OTHER)\nconfigure_file(config.h.in config.h)\nendif()", "a condition that is not known"),
        ("set(WIDTH 1)\nconfigure_file(../secret config.h)", "../secret is not known"),
        ("file(WRITE config.h x)", "missing"),
    ],
)  # fmt: skip
def test_headers_that_only_cmake_makes_are_named(workshop: Workshop, script: str, why: str) -> None:
    workshop.write("CMakeLists.txt", f"{script}\nconfigure_file(there.h.in there.h)\nconfigure_file(not.h.in not.h)\n")
    workshop.write("sub/CMakeLists.txt", "set(WIDTH 3 PARENT_SCOPE)\n")
    (workshop.tree.parent / "secret").write_text("#define N 1\n")
    workshop.write("config.h.in", "#define N @WIDTH@\n")
    workshop.write("there.h", "#define N 1\n")
    workshop.write("a.cu", '#include "config.h"\n#include "there.h"\nint a;\n')
    (guess,) = {unit.guess for unit, *_ in workshop.build(archs=["gfx942"]).units}
    assert "config.h: missing" in guess and "there.h" not in guess and "not.h" not in guess and why in guess


@pytest.mark.parametrize("place", ["include", "root/usr/include"])
def test_other_compilers_find_the_headers_of_the_toolchain(workshop: Workshop, place: str) -> None:
    """Also those that `hipport toolchain install` unpacks, without an /opt/rocm."""
    workshop.write("Makefile", "all:\n\tgcc -I/opt/rocm/include -c a.c\n")
    workshop.write("a.c", "#include <hip/of_the_test.h>\nint a = HERE;\n")
    header = workshop.toolchain.root / place / "hip/of_the_test.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define HERE 1\n")
    built = workshop.build(archs=["gfx942"])
    assert [each.path.name for each in built.compiled] == ["a.c"] and not built.messages, built.messages


def test_c_is_compiled_by_the_compiler_that_the_makefile_names(workshop: Workshop) -> None:
    """Nested functions are a gcc extension."""
    workshop.write("Makefile", "CC = gcc\nall:\n\t$(CC) -O2 -Wall -DN=3 -c nested.c -o nested.o\n\tnvcc -c a.cu\n")
    workshop.write("nested.c", "int f(void) { int g(void) { return N; } return g(); }\n")
    workshop.write("a.cu", "int a;\n")
    built = workshop.build(archs=["gfx942"])
    (command,) = (each.command for each in built.compiled if each.path.suffix == ".c")
    assert Path(command[0]).name == "gcc" and {"-O2", "-Wall", "-DN=3", "-D__HIP_PLATFORM_AMD__=1"} <= set(command)
    assert built.ok, built.messages
    assert workshop.build(archs=["gfx942"]).ok and all(
        each.cached for each in workshop.build(archs=["gfx942"]).compiled
    )
    workshop.write("nested.c", "int f(void) { return wrong; }\n")
    built = workshop.build(archs=["gfx942"])
    assert not built.ok and "wrong" in built.messages[0][0].text and built.messages[0][0].path.name == "nested.c"


MAKEFILE = """\
CC = nvcc
DEBUG = no
source = main.cu util.cpp
obj = $(patsubst %.cpp,%.o,$(source:.cu=.o))
CFLAGS := -std=c++14 -Xcompiler -Wall -I../common -DWIDTH=4
ifeq ($(DEBUG),yes)
  CFLAGS += -DDEBUG
endif
main: $(obj)
\t$(CC) $(CFLAGS) $(obj) -o $@ -lm
%.o: %.cu
\t$(CC) $(CFLAGS) -c $< -o $@
%.o: %.cpp
\t@echo compiling; g++ -O2 -march=native $(CFLAGS) -c $< -o $@
"""


@pytest.fixture
def makefile(workshop: Workshop) -> Workshop:
    (workshop.tree / "prog").mkdir()
    (workshop.tree / "prog/Makefile").write_text(MAKEFILE)
    for name in ("prog/main.cu", "prog/util.cpp", "prog/other.cu", "common/c.h"):
        workshop.write(name, "\n")
    return workshop


def test_a_makefile_says_what_is_compiled_and_how(makefile: Workshop) -> None:
    def translate(flags: Sequence[str]) -> Sequence[str]:
        assert list(flags) == ["-std=c++14", "-Xcompiler", "-Wall", "-I../common", "-DWIDTH=4"]
        return ["-std=c++17", *flags[2:]]

    built = makefile.build(translate=translate, archs=["gfx942"])
    assert built.ok and built.ran == ("prog/Makefile",)
    assert [(str(row[0].path), row[0].guess) for row in built.units] == [("prog/main.cu", ""), ("prog/util.cpp", "")]
    cuda, host = built.units[0][1].command, built.units[1][0].command
    assert cuda[1:5] == ("-std=c++17", "-Wall", "-I../common", "-DWIDTH=4")
    # -march=native is g++'s, for this machine; -Xcompiler is nvcc's, and unknown to g++.
    assert host[1:4] == ("-std=c++14", "-I../common", "-DWIDTH=4") and "-march=native" not in host
    # Nobody requested it, and its own build does not compile it: a note is enough.
    assert [(str(n.path), n.needs_person) for n in built.not_built] == [("prog/other.cu", False)]
    table = built_as_text(built).split("\n\n")
    assert re.search(r"^prog/other\.cu +not built$", table[-2], re.MULTILINE)
    assert table[-1].endswith("; 1 source not built\n")
    document = json.loads(built_as_json(built))
    assert [(each["path"], each["needs_person"]) for each in document["not_built"]] == [("prog/other.cu", False)]


def test_another_goal_of_a_makefile_is_asked_for_where_a_source_was_asked_for(workshop: Workshop) -> None:
    """A source that the first goal does not compile is compiled as in the goal that names it, without a guess."""
    (workshop.tree / "Makefile").write_text(
        "NVCC ?= nvcc\nall: host\nhost: host.cpp\n\tg++ -o host host.cpp\n"
        "mean19: mean.cu other.h\n\t$(NVCC) -DEDGEBITS=19 -o $@ mean.cu\n"
        "mean29: mean.cu\n\t$(NVCC) -DEDGEBITS=29 -o $@ mean.cu\n"
        "lean:\n\tnvcc -DLEAN -o lean lean.cu\n%.o: %.cu\n\tnvcc -c $<\n"
    )
    for name in ("host.cpp", "mean.cu", "lean.cu", "lost.cu", "other.h"):
        workshop.write(name, "\n")
    for name, flags in (("mean.cu", ("-DEDGEBITS=19",)), ("lean.cu", ("-DLEAN",))):
        built = workshop.build(workshop.tree / name, archs=["gfx942"])
        assert [str(row[0].path) for row in built.units] == [name] and not built.not_built
        assert built.units[0][1].command[1:2] == flags and not built.units[0][0].guess
    built = workshop.build(workshop.tree / "lost.cu", archs=["gfx942"])
    assert not built.units and [str(each.path) for each in built.not_built] == ["lost.cu"]
    # For a folder, only its first goal is used, because programs have a main each. A goal without device code is not a
    # full success.
    built = workshop.build(archs=["gfx942"])
    assert [str(row[0].path) for row in built.units] == ["host.cpp"]
    first = "the first goal of its Makefile does not compile it"
    assert {str(each.path): each.why for each in built.not_built} == {
        "lean.cu": f"{first}, lean may: hipport build lean.cu",
        "lost.cu": first,
        "mean.cu": f"{first}, mean19 and mean29 may: hipport build mean.cu",
    }
    assert not built.ok


def test_one_file_of_a_repository_includes_from_its_top(workshop: Workshop) -> None:
    (workshop.tree / ".git").mkdir()
    workshop.write("common.h", "\n")
    workshop.write("sph/hash.h", "\n")
    source = workshop.write("algo/deep/one.cu", '#include "common.h"\n#include "sph/hash.h"\n')
    built = workshop.build(source, archs=["gfx942"])
    assert f"-I{workshop.tree}" in built.units[0][1].command
    (workshop.tree / ".git").rmdir()
    assert f"-I{workshop.tree}" not in workshop.build(source, archs=["gfx942"]).units[0][1].command


def test_make_changes_nothing(makefile: Workshop) -> None:
    before = sorted(makefile.tree.rglob("*"))
    dry_run(makefile.tree / "prog", makefile.env, tuple)
    assert sorted(makefile.tree.rglob("*")) == before


def test_make_is_followed_into_folders_and_over_long_lines(makefile: Workshop) -> None:
    top = makefile.tree / "Makefile"
    top.write_text(
        "all:\n\t$(MAKE) -C prog\n\tcd common && hipcc -DA \\\n\t  -isystem /usr/include -isystem x -I/usr/include"
        " --offload-arch=gfx906 -c one.hip -o one.o\n"
    )
    one = makefile.write("common/one.hip", "\n")
    found = {each.source.name: (each.flags, each.folder) for each in dry_run(makefile.tree, makefile.env, tuple)}
    assert set(found) == {"main.cu", "util.cpp", "one.hip"}
    assert found["one.hip"] == (("-DA", "-isystem", "x"), one.parent)
    assert found["main.cu"][1] == makefile.tree / "prog"


def test_cmake_lists_are_read_as_far_as_they_are_written_out(workshop: Workshop) -> None:
    workshop.write(
        "CMakeLists.txt",
        """\
        set(CMAKE_CXX_STANDARD 20)
        set(INC ${CMAKE_CURRENT_SOURCE_DIR}/inc)  # set(INC wrong)
        include_directories(${INC} "${UNKNOWN}/x" /usr/include/)
        set(WIDTH 61)
        set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -Wall -march=native -DWIDTH=${WIDTH}")
        target_compile_definitions(a PRIVATE N=3 $<BUILD_INTERFACE:X>)
        """,
    )
    workshop.write("inc/a.h", "\n")
    workshop.write("a.cu", "\n")
    built = workshop.build(archs=["gfx942"])
    command = built.units[0][0].command
    assert {"-std=c++20", f"-I{workshop.tree}/inc", "-DN=3"} <= set(command) and "CMakeLists" in built.units[0][0].guess
    assert "-DWIDTH=61" in command and "-Wall" not in command
    # Compilers search the machine's own include folders no earlier if they are named; another root's would be mixed
    # with them.
    assert not any(part in word for word in command for part in ("UNKNOWN", "INTERFACE", "/usr/include"))


@pytest.mark.parametrize(
    ("text", "standard"),
    [
        ("template <typename T> concept Word = sizeof(T) == 4;\n", 20),
        ("#include <concepts>\n", 20),
        ('#include "deep.h"\n', 20),
        ("#include <cuda/std/span>\n", 20),
        ("#include <cuda/std/array>\n", 17),
        ("auto f = []<typename T>(T x) { return x; };\n", 20),
        ("constinit int x = 1;\n", 20),
        ("template <typename T> void f(T) requires (sizeof(T) == 4) {}\n", 20),
        (
            "// concept A = b;\nint requires = 1; bool b(int* a, float f) { return a[0] < int(f) + requires; }\n",
            17,
        ),
    ],
)
def test_text_that_only_cpp_20_takes_is_compiled_so(workshop: Workshop, text: str, standard: int) -> None:
    workshop.write("a.cu", text)
    workshop.write("deep.h", "#include <span>\n")
    built = workshop.build(archs=["gfx942"])
    assert [f for f in built.units[0][0].command if f.startswith("-std=")] == [f"-std=c++{standard}"]


@pytest.mark.parametrize(
    "line",
    ["target_compile_features(a PUBLIC cuda_std_20)", "set_target_properties(a PROPERTIES CUDA_STANDARD 20 B C)"],
)
def test_cmake_says_the_standard_of_a_target(workshop: Workshop, line: str) -> None:
    workshop.write("CMakeLists.txt", line)
    workshop.write("a.cu", "\n")
    command = workshop.build(archs=["gfx942"]).units[0][0].command
    assert [f for f in command if f.startswith("-std=")] == ["-std=c++20"]


def test_definitions_in_properties_of_cmake_count(workshop: Workshop) -> None:
    workshop.write(
        "CMakeLists.txt",
        """\
        set(MORE E=5 F)
        set_target_properties(a PROPERTIES CXX_STANDARD 17 COMPILE_DEFINITIONS "A;B=2" FOLDER "C;D")
        set_property(TARGET a APPEND PROPERTY COMPILE_DEFINITIONS ${MORE} $<CONFIG:G>)
        set_source_files_properties(a.cu PROPERTIES COMPILE_FLAGS "-DH=8 -Wall" COMPILE_OPTIONS -DI)
        set_property(DIRECTORY PROPERTY INCLUDE_DIRECTORIES inc)
        set_property(TARGET a PROPERTY)
        set(CUDA_SEPARABLE_COMPILATION ON)
        """,
    )
    workshop.write("inc/a.h", "\n")
    workshop.write("a.cu", "\n")
    command = workshop.build(archs=["gfx942"]).units[0][0].command
    found = {each for each in command if each.startswith(("-D", "-I")) and len(each) < 7}
    assert found == {"-DA", "-DB=2", "-DE=5", "-DF", "-DH=8", "-DI"} and f"-I{workshop.tree}/inc" in command
    assert "-std=c++17" in command and "-fgpu-rdc" in command


def test_folders_that_an_include_can_only_mean_are_added(workshop: Workshop) -> None:
    workshop.write("src/a.cu", '#include "util/x.h"\n#include <once.h>\n#include "twice.h"\n// #include "y.h"\n')
    for name in ("lib/util/x.h", "deep/er/once.h", "one/twice.h", "two/twice.h", "lib2/y.h"):
        workshop.write(name, "\n")
    built = workshop.build(archs=["gfx942"])
    added = [word for word in built.units[0][0].command if word.startswith("-I")]
    assert added == [f"-I{workshop.tree}/lib", f"-I{workshop.tree}/deep/er"]


# --- Unchanged files --------------------------------------------------------------------------------------------------


def test_what_was_compiled_is_compiled_again_only_when_something_it_read_changed(workshop: Workshop) -> None:
    header = workshop.write("a.h", "int h;\n")
    workshop.write("a.cu", '#include "a.h"\n//! 1: warning: careful\n')
    workshop.write("b.cu", "int b;\n")
    first = workshop.build()
    assert len(workshop.calls()) == 6 and not any(each.cached for each in first.compiled)
    second = workshop.build()
    assert workshop.calls() == [] and all(each.cached for each in second.compiled)
    assert second.messages == first.messages != ()
    header.write_text("int other;\n")
    assert {each.path.name for each in workshop.build().compiled if not each.cached} == {"a.cu"}
    header.write_text("int h;\n")
    workshop.calls()
    assert workshop.build().ok and workshop.calls() == []


def test_other_flags_targets_and_compilers_are_other_compilations(workshop: Workshop) -> None:
    workshop.write("a.cu", "int a;\n")
    workshop.build(archs=["gfx942"])
    workshop.calls()
    assert len(workshop.build(archs=["gfx942", "gfx1100"]).compiled) == 3 and len(workshop.calls()) == 1
    workshop.write("CMakeLists.txt", "add_definitions(-DX)\n")
    assert workshop.build(archs=["gfx942"]).ok and len(workshop.calls()) == 2
    workshop.toolchain.hipcc.write_text(workshop.toolchain.hipcc.read_text() + "\n")
    assert workshop.build(archs=["gfx942"]).ok and len(workshop.calls()) == 2


def test_a_failure_is_remembered_until_something_it_read_changes(workshop: Workshop) -> None:
    header = workshop.write("a.h", "int h;\n")
    workshop.write("a.cu", '#include "a.h"\n//! 5: error: no\n')
    first = workshop.build(archs=["gfx942"])
    assert not first.ok and len(workshop.calls()) == 2
    second = workshop.build(archs=["gfx942"])
    assert not second.ok and workshop.calls() == [] and second.messages == first.messages != ()
    assert all(each.cached for each in second.compiled)
    header.write_text("int other;\n")
    assert not workshop.build(archs=["gfx942"]).ok and len(workshop.calls()) == 2


def test_a_failure_for_want_of_a_header_is_remembered_until_the_header_comes(workshop: Workshop) -> None:
    workshop.write("a.cu", '#include "late.h"\n//! 5: error: no late.h\n')
    assert not workshop.build(archs=["gfx942"]).ok and len(workshop.calls()) == 2
    assert not workshop.build(archs=["gfx942"]).ok and workshop.calls() == []
    workshop.write("other.h", "")
    assert not workshop.build(archs=["gfx942"]).ok and workshop.calls() == []
    workshop.write("late.h", "")
    assert not workshop.build(archs=["gfx942"]).ok and len(workshop.calls()) == 2


def test_failures_of_a_real_compiler_are_remembered(workshop: Workshop) -> None:
    """A header that is missing in each folder that is searched, and `#error`: clang lists no dependencies then."""
    try:
        hipcc = choose(find(os.environ), ["gfx942"])
    except NoToolchain as missing:
        pytest.skip(f"no hipcc: not compiled: {missing}")
    workshop.write("Makefile", "all:\n\thipcc -c -Iinclude a.cu\n\thipcc -c b.cu\n")
    workshop.write("a.cu", '#include "given.h"\n#include <late.h>\nint a = LATE;\n')
    workshop.write("given.h", "#pragma once\n")
    workshop.write("b.cu", '#include "given.h"\n#ifndef GIVEN\n#error no\n#endif\n')

    def again() -> set[str]:
        """Return the units that are compiled for the host, and not taken from the cache."""
        built = workshop.build(archs=["gfx942"], toolchain=hipcc)
        return {each.path.name for each in built.compiled if each.target == HOST and not each.cached}

    assert again() == {"a.cu", "b.cu"}
    assert again() == set()
    workshop.write("include/other.h", "")
    assert again() == set()
    workshop.write("include/late.h", "#define LATE 1\n")
    assert again() == {"a.cu"}
    workshop.write("given.h", "#pragma once\n#define GIVEN\n")
    assert again() == {"a.cu", "b.cu"}


def test_a_cache_that_is_full_stops_no_build(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    workshop.write("a.cu", "int a;\n")
    monkeypatch.setattr(Path, "replace", fail)
    built = workshop.build(archs=["gfx942"])
    assert built.ok and built.not_kept.endswith(".json.z: no space left on device")
    assert not any(path.is_file() and path.name != ".lock" for path in cache(workshop.env).rglob("compiled/**/*"))
    monkeypatch.undo()
    assert not workshop.build(archs=["gfx942"]).not_kept


def test_time_that_ran_out_is_not_remembered(workshop: Workshop) -> None:
    workshop.write("a.cu", "int a;\n")
    hipcc = workshop.toolchain.hipcc
    state, fake = hipcc.stat(), hipcc.read_text()
    # Listing its inputs is fast.
    slow = '#!/bin/sh\ncase "$*" in *-MF*) f="${*##*-MF }"; echo out: > "${f%% *}"; exit 0;; esac\nexec sleep 60\n'
    hipcc.write_text(slow.ljust(len(fake)))
    os.utime(hipcc, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert not workshop.build(archs=["gfx942"], timeout=0.2).ok
    # The same compiler, as far as its files show.
    hipcc.write_text(fake)
    os.utime(hipcc, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert workshop.build(archs=["gfx942"]).ok


def test_a_damaged_memory_is_forgotten(workshop: Workshop, tmp_path: Path) -> None:
    workshop.write("a.cu", "int a;\n")
    workshop.build(archs=["gfx942"])
    workshop.calls()
    for path in (tmp_path / "cache").rglob("*.json.z"):
        path.write_bytes(b"\0")
    assert workshop.build(archs=["gfx942"]).ok and len(workshop.calls()) == 2


def test_compilers_run_at_the_same_time(workshop: Workshop) -> None:
    workshop.write("a.cu", "//! wait here\n")
    assert workshop.build(archs=["gfx942"], jobs=2).ok


# --- Extensions that are built at first use ---------------------------------------------------------------------------


def test_load_is_read_where_it_is_written_out(tmp_path: Path) -> None:
    script = tmp_path / "pkg" / "ops.py"
    script.parent.mkdir()
    (script.parent / "z.cu").touch()
    script.write_text(
        textwrap.dedent(
            """\
            import os
            from torch.utils.cpp_extension import load, load_inline as inline
            import torch.utils.cpp_extension as ext
            here = os.path.dirname(os.path.abspath(__file__))
            CUDA = '''
            __global__ void k() {}
            '''
            one = load("one", [os.path.join(here, "a.cpp"), f"{here}/b.cu"], extra_cuda_cflags=["-O2"] + ["-DX"])
            two = inline(name="two", cpp_sources="", cuda_sources=CUDA, verbose=DEBUG)
            def three(name, flags):
                return ext.load(name=name, sources=["c.cu"])
            four = torch.utils.cpp_extension.load(name="four", sources=[str(p) for p in here], **more)
            six = load("six", [os.path.join(here, f) for f in ["y.cu", "z.cu"]])
            five = load("five", glob.glob(os.path.join(here, "*.cu")) + ["x.cpp"])
            flags = ["-O3", *([] if torch.version.hip else ["-G"]), *(["-g"] if ext.IS_HIP_EXTENSION else [])]
            eight = load("eight", ["y.cu"] if torch.version.hip is not None else [], extra_cuda_cflags=flags)
            nine = load("nine", ["y.cu"], extra_cuda_cflags=[] if torch.cuda.is_available() else ["-O0"])
            json.load(file)
            """
        )
    )
    calls, not_built = just_in_time(script, tmp_path)
    assert [(call.function, call.line, call.arguments["name"]) for call in calls] == [
        ("load", 8, "one"),
        ("load_inline", 9, "two"),
        ("load", 13, "six"),
        ("load", 14, "five"),
        ("load", 16, "eight"),
    ]
    assert calls[4].arguments["sources"] == ["y.cu"]
    assert calls[4].arguments["extra_cuda_cflags"] == ["-O3", "-g"]
    assert calls[2].arguments["sources"] == [f"{script.parent}/y.cu", f"{script.parent}/z.cu"]
    assert calls[3].arguments["sources"] == [f"{script.parent}/z.cu", "x.cpp"]
    assert calls[0].arguments["sources"] == [f"{script.parent}/a.cpp", f"{script.parent}/b.cu"]
    assert calls[0].arguments["extra_cuda_cflags"] == ["-O2", "-DX"]
    assert "__global__" in calls[1].arguments["cuda_sources"]
    assert [(str(each.path), each.line) for each in not_built] == [("pkg/ops.py", n) for n in (11, 12, 17)]
    assert "name" in not_built[0].why and "sources" in not_built[1].why


def doubled(first: str, again: str, times: int = 8) -> str:
    names = [f"a{i} = {again.format(f'a{i - 1}')}" for i in range(1, times + 1)]
    return "\n".join([f"a0 = {first}", *names, f"load('x', a{times})"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (doubled("['x.cu']", "[" + "*{0}, " * 300 + "]"), "too many parts"),
        (doubled("'x' * 1", "{0}"), "'x' * 1"),
        (doubled(repr("x" * 1000), "f'" + "{{{0}}}" * 100 + "'", 4), "too long"),
        ("z = [" + "'x'," * 20 + "]\nload('x', " + "[" * 9 + "'x'" + "for a in z]" * 9 + ")", "too many parts"),
        ("load('x', glob.glob('" + "**/" * 40 + "*a*a*a*a*a*a*ax.c'))", ""),
        ("load('x', glob.glob('/**/*'))", "outside of the tree"),
        ("load('x', glob.glob(here + '/../../*'))\nhere = os.path.dirname(__file__)", "outside of the tree"),
        ("load('x', f" + "()" * 5000 + ")", "nested too deeply"),
        ("load('x', a" + ".b" * 5000 + ")", "nested too deeply"),
        ("f" + "()" * 300 + "\nload('x', [1].pop())", "[1].pop()"),
        ("load('x', f" + "()" * 300 + ")", "f()()"),
        ("load('x', os.path.join('a\\0b', 'c'))", ""),
    ],
)
def test_the_values_of_an_expression_are_bounded(tmp_path: Path, text: str, why: str) -> None:
    deep = tmp_path / Path(*"d" * 30)
    deep.mkdir(parents=True)
    (deep / ("a" * 200 + ".cu")).touch()
    script = tmp_path / "ops.py"
    script.write_text(f"from torch.utils.cpp_extension import load\n{text}\n")
    start = time.process_time()
    calls, not_built = just_in_time(script, tmp_path)
    assert time.process_time() - start < 3
    if why:
        assert not calls and why in not_built[0].why
    else:
        assert calls[0].arguments["sources"] in ([], "a\0b/c")


def test_files_of_a_pattern_are_those_that_pythons_glob_finds(tmp_path: Path) -> None:
    for name in ("a.cu", "b/c.cu", "b/d/e.cu", "b/.h/f.cu", ".g.cu", "b/x.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    script = tmp_path / "b/ops.py"
    patterns = ["*.cu", "../*.cu", "../**/*.cu", "*/*.cu", "d/e.cu", "../b/[cx].*", "nothing/*.cu", "?.cu", "**/*"]
    text = "".join(f"load('x', glob.glob({pattern!r}))\n" for pattern in patterns)
    script.write_text(f"from torch.utils.cpp_extension import load\n{text}")
    calls, _ = just_in_time(script, tmp_path)
    for pattern, call in zip(patterns, calls, strict=True):
        found = glob.glob(os.path.normpath(script.parent / pattern), recursive=True)  # noqa: PTH207
        assert call.arguments["sources"] == sorted(each for each in found if Path(each).is_file()), pattern


# --- Extensions with a setup.py, with PyTorch -------------------------------------------------------------------------

KERNEL = """\
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
template <typename T>
__global__ void scale_kernel(T* x, T by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
void scale(torch::Tensor x, double by) {
  const c10::cuda::CUDAGuard guard(x.device());
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  int n = x.numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scale_kernel<scalar_t><<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<scalar_t>(), scalar_t(by), n);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""
BINDING = "#include <torch/extension.h>\nvoid scale(torch::Tensor, double);\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"scale\", &scale); }\n"  # fmt: skip # noqa: E501
SETUP = """\
from setuptools import setup
import torch
from torch.utils.cpp_extension import CUDA_HOME, ROCM_HOME, BuildExtension, CUDAExtension
assert CUDA_HOME is None and ROCM_HOME and torch.version.cuda is None and torch.cuda.is_available()
flags = ["-DON_ROCM"] if torch.version.hip else ["--expt-relaxed-constexpr"]
open("written_by_setup", "w").close()
setup(
    name="scale",
    ext_modules=[
        CUDAExtension(
            "scale._C", ["csrc/binding.cpp", "csrc/cuda/scale.cu"], include_dirs=["csrc/include"],
            define_macros=[("WIDTH", "3")], extra_compile_args={"cxx": ["-O1"], "nvcc": [*flags, "-DCUDA_ARCHS"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)
"""


@pytest.fixture
def extension(workshop: Workshop) -> Workshop:
    if find_spec("torch") is None or find_spec("setuptools") is None:
        pytest.skip("NOT CHECKED: this interpreter has no PyTorch to build an extension with (pip install torch)")
    workshop.write("setup.py", SETUP)
    workshop.write("csrc/binding.cpp", BINDING)
    workshop.write("csrc/cuda/scale.cu", KERNEL)
    # Its headers are PyTorch's, which need a compiler: not the subject of these tests.
    overlays = Path(workshop.env["XDG_CACHE_HOME"]) / "hipport" / "torch-headers"
    shared = cache(os.environ) / "torch-headers"
    shared.mkdir(parents=True, exist_ok=True)
    overlays.parent.mkdir(parents=True)
    overlays.symlink_to(shared)
    return workshop


def test_setup_is_run_as_a_rocm_pytorch_runs_it(extension: Workshop) -> None:
    # The output is discarded, in real streams.
    real = "import sys\nsys.stderr.reconfigure(line_buffering=True)\nsys.stdout.fileno(), sys.stdout.buffer\n"
    extension.write("setup.py", real + SETUP)
    before = sorted(extension.tree.rglob("*"))
    built = extension.build(archs=["gfx942"])
    assert built.not_built == () and built.ok
    assert built.ran == ("setup.py",) and sorted(extension.tree.rglob("*")) == before
    rows = {str(row[0].path): row for row in built.units}
    assert set(rows) == {"csrc/binding.cpp", "csrc/cuda/scale.cu"}
    device = rows["csrc/cuda/scale.cu"][1]
    # PyTorch's own hipify chose the compiled files.
    assert device.made.name == "scale.hip" and device.made.parent.name == "hip" and device.owner == "scale._C"
    given = set(device.command)
    # The arguments of torch.utils.cpp_extension 2.13, except one: it renames CUDA in flags.
    assert {"-DUSE_ROCM=1", "-D__HIP_NO_HALF_CONVERSIONS__=1", "-DON_ROCM", "-DHIP_ARCHS", "-DWIDTH=3"} <= given
    assert {"-DTORCH_EXTENSION_NAME=_C", "-Icsrc/include", "-fPIC"} <= given
    (headers,) = (Path(word[2:]) for word in device.command[:2] if "torch-headers" in word)
    # CMake's files for a PyTorch with a GPU exist as well.
    assert "AT_ROCM_ENABLED() 1" in (headers / "ATen/hip/HIPConfig.h").read_text()
    assert given.isdisjoint({"--expt-relaxed-constexpr", "-O1"}) and "-O1" in rows["csrc/binding.cpp"][0].command
    assert sum(word.startswith("--offload-arch") for word in device.command) == 1


def test_a_source_is_built_as_the_setup_above_it_builds_it(extension: Workshop) -> None:
    lone = extension.write("csrc/cuda/lone.cu", "int a;\n")
    built = extension.build(extension.tree / "csrc/cuda/scale.cu", archs=["gfx942"])
    assert built.ok and built.root == extension.tree.resolve() and built.ran == ("setup.py",)
    assert [(str(row[0].path), row[0].owner) for row in built.units] == [("csrc/cuda/scale.cu", "scale._C")]
    # A file of no extension is a program; a given folder counts as a whole.
    built = extension.build(lone, archs=["gfx942"])
    assert built.ok and [str(row[0].path) for row in built.units] == ["csrc/cuda/lone.cu"]
    built = extension.build(extension.tree, extension.tree / "csrc/cuda/scale.cu", archs=["gfx942"])
    assert {str(row[0].path) for row in built.units} == {"csrc/binding.cpp", "csrc/cuda/scale.cu"}
    (extension.tree / ".git").mkdir()
    built = extension.build(extension.tree / "csrc/cuda/scale.cu", archs=["gfx942"])
    assert [row[0].owner for row in built.units] == ["scale._C"]
    (extension.tree / "csrc/.git").mkdir()
    built = extension.build(extension.tree / "csrc/cuda/scale.cu", archs=["gfx942"])
    assert [row[0].owner for row in built.units] != ["scale._C"]


def test_files_that_a_setup_reads_above_its_folder_exist(extension: Workshop) -> None:
    folder = extension.tree / "third_party" / "scale"
    folder.mkdir(parents=True)
    for name in ("setup.py", "csrc"):
        (extension.tree / name).rename(folder / name)
    extension.write("version.txt", "1.2.3\n")
    extension.write("common/width.h", "#define WIDTH 3\n")
    # hipify's result for a source above, and the script's output there, are put beside the copy's.
    extension.write("common/shared.cu", '#include "width.h"\n__global__ void shared(int* x) { *x = WIDTH; }\n')
    script = folder / "setup.py"
    above = 'import os.path as osp\nopen(osp.join(osp.dirname(__file__), "..", "..", "version.txt"))\n'
    text = script.read_text().replace('"csrc/cuda/scale.cu"', '"csrc/cuda/scale.cu", "../../common/shared.cu"')
    script.write_text(above + text)
    # Outside of a repository, the top is unknown.
    alone = extension.build(folder, archs=["gfx942"])
    assert any("version.txt" in each.why for each in alone.not_built)
    (extension.tree / ".git").mkdir()
    before = sorted(extension.tree.rglob("*"))
    built = extension.build(folder, archs=["gfx942"])
    assert built.not_built == () and built.ok and sorted(extension.tree.rglob("*")) == before
    paths = {str(row[0].path) for row in built.units}
    assert paths == {"csrc/binding.cpp", "csrc/cuda/scale.cu", str(extension.tree / "common/shared.cu")}


@pytest.mark.parametrize(
    ("name", "text", "above"),
    [
        ("setup.py", 'open("../version.txt")', True),
        ("setup.py", "ROOT = Path(__file__).resolve().parent.parent", True),
        ("setup.py", "ROOT = Path(__file__).parents[2]", True),
        ("setup.py", "root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))", True),
        ("setup.py", 'subprocess.check_output(["git", "rev-parse", "--show-toplevel"])', True),
        ("setup.py", "here = Path(__file__).parent  # ...", False),
        ("setup.py", "here = os.path.dirname(os.path.abspath(__file__)); from .. import x; a[...]", False),
        ("csrc/k.cu", '#include "../../common/a.h"', True),
        ("csrc/k.cu", '#include "../a.h"', False),
    ],
)
def test_what_names_a_place_above_a_folder(tmp_path: Path, name: str, text: str, above: bool) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "common").mkdir()
    tree = tmp_path / "tree"
    for header in (tmp_path / "common" / "a.h", tree / "a.h"):
        header.parent.mkdir(exist_ok=True)
        header.touch()
    place = tree / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    assert reached(tree, [place]) == (tmp_path if above else tree)


def test_a_setup_by_another_name_is_run_where_there_is_no_setup(extension: Workshop) -> None:
    extension.write("setup_helpers.py", "def setup(): return Extension\n")
    text = (extension.tree / "setup.py").read_text()
    extension.write("setup_cuda.py", text)
    assert extension.build(archs=["gfx942"]).ran == ("setup.py",)
    (extension.tree / "setup.py").unlink()
    built = extension.build(archs=["gfx942"])
    assert built.ok and built.ran == ("setup_cuda.py",)
    assert {row[0].owner for row in built.units} == {"scale._C"} and not any(row[0].guess for row in built.units)
    built = extension.build(extension.tree / "csrc/cuda/scale.cu", archs=["gfx942"])
    assert built.ran == ("setup_cuda.py",)


def test_errors_in_what_hipify_made_come_back_where_they_were_written(extension: Workshop) -> None:
    text = KERNEL.replace("  int n = x.numel();\n", "//! 3: error: cudaThis\n")
    extension.write("csrc/cuda/scale.cu", text)
    built = extension.build(archs=["gfx942"])
    ((message, targets),) = built.messages
    assert (message.path, message.line, message.column) == (PurePath("csrc/cuda/scale.cu"), 12, 3)
    assert targets == ("host", "gfx942")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("raise RuntimeError('no nvcc')", "RuntimeError: no nvcc (setup.py, line 1)"),
        ("import sys; sys.exit('needs ninja')", "needs ninja"),
        ("import os; os._exit(3)", "status 3"),
    ],
)
def test_a_failing_setup_is_reported_and_the_rest_is_guessed(extension: Workshop, line: str, why: str) -> None:
    extension.write("setup.py", line + "\n" + SETUP)
    extension.write("tests/other.cu", "int t;\n")
    built = extension.build(archs=["gfx942"])
    assert not built.ok
    assert [str(each.path) for each in built.not_built if why in each.why] == ["setup.py"]
    assert {str(row[0].path) for row in built.units} == {"csrc/binding.cpp", "csrc/cuda/scale.cu"}
    assert all(why in row[0].guess and all(each.ok for each in row) for row in built.units)


def test_a_setup_that_does_not_end_is_ended(extension: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hipport.building.recorder.Recorder.timeout", 3.0)
    monkeypatch.setattr("hipport.building.recorder.Recorder.__init__.__defaults__", (3.0,))
    extension.write("setup.py", "import time\ntime.sleep(600)  # Extension\n")
    (extension.tree / "csrc/cuda/scale.cu").unlink()
    built = extension.build(archs=["gfx942"])
    assert ["3 s" in each.why for each in built.not_built] == [True]


def test_device_code_that_no_extension_builds_is_reported(extension: Workshop) -> None:
    extension.write("setup.py", SETUP.replace(', "csrc/cuda/scale.cu"]', "]"))
    built = extension.build(archs=["gfx942"])
    assert not built.ok and [str(row[0].path) for row in built.units] == ["csrc/binding.cpp"]
    assert [(str(n.path), n.why, n.needs_person) for n in built.not_built] == [
        ("csrc/cuda/scale.cu", "no extension that is built here has it among its sources", True)
    ]


def test_hipify_gets_the_headers_that_a_script_names_to_it(extension: Workshop) -> None:
    (extension.tree / "setup.py").unlink()
    shutil.rmtree(extension.tree / "csrc")
    fixtures = Path(__file__).parent.parent / "fixtures/hipify_reach"
    shutil.copytree(fixtures / "loaded_headers.beside", extension.tree, dirs_exist_ok=True)
    for name, header in (("before", "launch.cuh"), ("after", "launch_hip.cuh")):
        extension.write("ops.py", (fixtures / f"loaded_headers.{name}.py").read_text())
        built = extension.build(archs=["gfx942"])
        (source,) = (row[1].made for row in built.units if row[0].path.name == "query.cu")
        assert f'#include "../{header}"' in source.read_text()


def test_an_inline_extension_is_compiled(extension: Workshop) -> None:
    (extension.tree / "setup.py").unlink()
    for name in ("binding.cpp", "cuda/scale.cu"):
        (extension.tree / "csrc" / name).unlink()
    extension.write(
        "ops.py",
        """\
        from torch.utils.cpp_extension import load_inline

        module = load_inline(
            name="inline",
            cpp_sources="int f();",
            cuda_sources='''
        //! 2: error: cudaThat
        __global__ void k() {}
        int f() { k<<<1, 1>>>(); return 0; }
        ''',
            functions=["f"],
        )
        """,
    )
    built = extension.build(archs=["gfx942"])
    assert sorted((row[0].owner, str(row[0].path), row[0].made.name, len(row)) for row in built.units) == [
        ("inline", "ops.py", "hip.hip", 2),
        ("inline", "ops.py", "main.cpp", 1),
    ]
    assert [(str(m.path), m.line) for m, _ in built.messages] == [("ops.py", 7)]


# --- With a real compiler ---------------------------------------------------------------------------------------------


def real(*archs: str) -> Toolchain:
    try:
        return choose(find(os.environ, Path(sys.executable)), archs)
    except NoToolchain as why:
        pytest.skip(f"NOT CHECKED with a real compiler: {why}")


@pytest.mark.toolchain
def test_a_program_is_compiled_and_its_errors_found(workshop: Workshop) -> None:
    toolchain = real("gfx942", "gfx1100")
    workshop.write(
        "a.hip",
        """\
        #include <hip/hip_runtime.h>
        #define WIDE(x) (x).nothing
        template <class T> __device__ int f(T x) { return WIDE(x); }
        __device__ int elsewhere(int);
        __global__ void k(int* p) { p[0] = f(3); }
        int main() { k<<<1, 1>>>(nullptr); return undeclared; }
        """,
    )
    workshop.write("b.hip", "#include <hip/hip_runtime.h>\n__global__ void k(int* p) { *p = __lane_id(); }\n")
    built = workshop.build(toolchain=toolchain, env={**os.environ, **workshop.env})
    rows = {row[0].path.name: [each.ok for each in row] for row in built.units}
    assert rows == {"a.hip": [False] * 3, "b.hip": [True] * 3}
    everywhere = ("host", "gfx942", "gfx1100")
    assert [(m.line, m.column, m.text, targets) for m, targets in built.messages] == [
        (3, 51, "member reference base type 'int' is not a structure or union", everywhere),
        (6, 43, "use of undeclared identifier 'undeclared'", everywhere),
    ]
    assert [note.line for note in built.messages[0][0].notes] == [2, 5]


@pytest.mark.toolchain
def test_a_macro_that_chooses_headers_of_hip_is_defined_where_flags_are_guessed(workshop: Workshop) -> None:
    toolchain = real("gfx942")
    workshop.write("a.cu", '#include "a.h"\n__global__ void k(int* p) { *p = __lane_id(); }\n')
    workshop.write("a.h", "#ifdef USE_HIP\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n#endif\n")
    built = workshop.build(toolchain=toolchain, env={**os.environ, **workshop.env})
    assert built.ok, built.messages
    assert {each.guess for each in built.compiled} == {
        "no Makefile: flags are guessed, with USE_HIP defined, as its branches for HIP ask for"
    }


@pytest.mark.toolchain
def test_an_error_for_one_target_names_that_target(workshop: Workshop) -> None:
    toolchain = real("gfx942", "gfx1100")
    workshop.write(
        "a.hip",
        """\
        #include <hip/hip_runtime.h>
        __device__ int elsewhere(int);
        __global__ void k(int* p) {
          asm volatile("s_nop 0");
          asm volatile("s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_DOORBELL)");
        }
        """,
    )
    built = workshop.build(toolchain=toolchain, env={**os.environ, **workshop.env})
    ((message, targets),) = built.messages
    assert targets == ("gfx942",) and message.line == 5
    workshop.write("a.hip", "#include <hip/hip_runtime.h>\n__device__ int g(int);\n__global__ void k(int* p) { *p = g(1); }\n")  # fmt: skip # noqa: E501
    built = workshop.build(toolchain=toolchain, env={**os.environ, **workshop.env})
    assert [(m.text, targets) for m, targets in built.messages] == [
        ("undefined hidden symbol: g(int)", ("gfx942", "gfx1100"))
    ]

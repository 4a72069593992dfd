# SPDX-License-Identifier: Apache-2.0
"""Port CMake scripts: HIP becomes a language beside CUDA, and an option chooses.

`include(hipport/hipport.cmake)` gives a script the option USE_HIP, ON by default, and HIP_OR_CUDA, the language that it
chooses. With USE_HIP=OFF every command does what it did: what is only right for one of the two stands in a condition,
in a generator expression, or in a variable that the other language does not read. So no line of the CUDA side is lost,
and what a script says of HIP by itself is left alone. `.cu` files get the language HIP when all targets are known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hipport.finding import Certainty, Finding
from hipport.languages.cmake import Argument, CMake, Command, Expression
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, NewFile, Span
from hipport.tables import load
from hipport_passes.build_scripts.cmake_flags import LANGUAGE, Copy, copied, leaves, tells, values
from hipport_passes.build_scripts.cmake_trees import (
    FIND_CUDA,
    HELPER,
    MENTIONS,
    TORCH,
    Facts,
    Tree,
    decided,
    elsewhere,
    facts,
    language_variables,
    links,
    searched,
    text,
)
from hipport_passes.nvcc_flags import library

_TABLE = Path(__file__).with_suffix(".toml")
_MODULES = Path(__file__).parent / "cmake_modules"

_TARGET = re.compile(rb"\b(?:CUDA|CCCL|CUB|Thrust|libcudacxx|NCCL)::(?:\w+|(?=\$))")
_FLAGS = re.compile(r"CMAKE_CUDA_FLAGS(?:_\w+)?")
_STANDARD = re.compile(r"CMAKE_CUDA_(?:STANDARD|STANDARD_REQUIRED|EXTENSIONS|VISIBILITY_PRESET|SCAN_FOR_MODULES)")
_PROPERTY = re.compile(r"CUDA_(?:STANDARD|STANDARD_REQUIRED|EXTENSIONS|VISIBILITY_PRESET)")
_SCOPES = frozenset((b"PUBLIC", b"PRIVATE", b"INTERFACE", b"BEFORE", b"SYSTEM"))
# Commands of others that look for a package: rapids_find_package, find_dependency.
_FINDS = re.compile(r"\w+_find_package|find_dependency")
_FALSE = frozenset("OFF NO FALSE N 0 IGNORE".split())
_VERSION = re.compile(
    r"(?:\$\{)?((?:CUDA|CUDAToolkit)_VERSION(?:_STRING|_MAJOR|_MINOR)?|CMAKE_CUDA_COMPILER_VERSION)\}?"
)
_CUDA_FOLDER = re.compile(rb"(?:/usr/local|/opt)/cuda(?:[-/0-9]|$)")
_PROBE = re.compile(rb"\bnvcc\b|nvidia-smi|deviceQuery")
_PROBED = re.compile(
    rb"\b(?:nvcc|nvidia-smi|cuda|cudart|cublas|cufft|curand|cusparse|cusolver|nvrtc|nvToolsExt|cudnn|nccl|cupti|nvJitLink|nvjpeg|npp\w+|nvidia-ml|cutensor|nvvm"
    rb"|(?:cuda|cuda_runtime|cuda_runtime_api|cublas_v2|cudnn|nccl|nvToolsExt)\.h)\b"
)
# What CUDA's language sets, and what stands for it.
_OF_LANGUAGE = {
    "CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES": '"${hip_INCLUDE_DIRS}"',
    "CMAKE_CUDA_COMPILER_VERSION": "11.0",
    # For nvcc scripts have what HIP's lines stand beside.
    "CMAKE_CUDA_COMPILER_ID": "NVIDIA",
}
_OF_TOOLKIT = {
    "CUDAToolkit_FOUND": "${hip_FOUND}",
    "CUDAToolkit_INCLUDE_DIRS": '"${hip_INCLUDE_DIRS}"',
    "CUDAToolkit_INCLUDE_DIR": '"${hip_INCLUDE_DIRS}"',
    "CUDAToolkit_LIBRARY_DIR": '"${hip_LIB_INSTALL_DIR}"',
    "CUDAToolkit_VERSION": "11.0",
    "CUDAToolkit_VERSION_MAJOR": "11",
    "CUDAToolkit_VERSION_MINOR": "0",
}
_OLD_ABI = re.compile(rb"_GLIBCXX_USE_CXX11_ABI=0(?!\w)")
# The commands of CheckSourceCompiles, CheckSourceRuns, CheckCompilerFlag and CheckLinkerFlag.
_CHECKS = ("check_source_compiles", "check_source_runs", "check_compiler_flag", "check_linker_flag")
_AS_CUDA_11 = "; where scripts ask for CUDA's compiler or version, HIP is taken for nvcc's 11.0, as in the code"


@dataclass
class _Said:
    """A finding about a command, before those that write lines around it are joined.

    `copy` is what is put in the command for HIP, where it gets one of its own; `instead` are the lines that it gets
    instead (none: it gets nothing); `after` are lines behind the command.
    """

    span: Span
    kind: str
    message: str
    certainty: Certainty = Certainty.SAFE
    edits: tuple[Edit, ...] = ()
    instead: tuple[bytes, ...] | None = None
    after: tuple[bytes, ...] = ()
    copy: tuple[tuple[Span, bytes], ...] | None = None


def find(source: CMake, project: Project) -> Iterator[Finding]:
    """Yield a finding per command that is for CUDA alone."""
    if source.text.startswith(b"# SPDX-License-Identifier: Apache-2.0\n# Put here by hipport."):
        return
    tree = Tree(source, project)
    if not MENTIONS.search(source.text) and not (source.fact(facts).projects and any(map(_active, tree.below))):
        return
    if tree.aware:
        yield from _unguarded(source)
        return
    if not any(map(_active, tree.said)):
        return
    if source.errors:
        span = source.commands[0].written if source.commands else Span(0, 0)
        if _active(source.fact(facts)):
            message = "CMake would not read this script either; port it by hand"
            yield Finding(span, "unread", message, (), Certainty.MANUAL)
        return
    yield from _option(source, tree, project)
    script = _Script(source, tree, project)
    for i, command in enumerate(source.commands):
        following = source.commands[i + 1] if i + 1 < len(source.commands) else None
        if not decided(source, command) and not elsewhere(source, command):
            yield from _findings(source, command, list(script.about(command, following)))


def _active(said: Facts) -> bool:
    """Say whether a script builds something with CUDA."""
    return said.language or said.find_cuda or said.find_toolkit or bool(said.links)


def _unguarded(source: CMake) -> Iterator[Finding]:
    """A script that knows HIP is right, but for what it asks of CUDA before it looks."""
    said = source.fact(facts)
    if not said.projects or not said.aware:
        return
    for command in source.commands:
        if command.name != "project" or source.around(command):
            continue
        for argument in command.arguments[1:]:
            if source[argument.span] == b"CUDA":
                message = (
                    "the script knows HIP, but needs CUDA here in any case: enable_language(CUDA) where it is wanted"
                )
                yield Finding(argument.span, "language", message, (), Certainty.MANUAL)


# --- hipport's own scripts --------------------------------------------------------------------------------------------


@cache
def _module(name: str, archs: tuple[str, ...]) -> bytes:
    return (_MODULES / name).read_bytes().replace(b"@ARCHS@", ";".join(archs).encode())


def _file(tree: Tree, name: str, project: Project) -> NewFile:
    return NewFile(tree.home / "hipport" / name, _module(name, project.target.archs))


def _include(source: CMake, tree: Tree, name: str) -> bytes:
    path = os.path.relpath(tree.home / "hipport" / name, source.path.parent).replace(os.sep, "/")
    return f'include("${{CMAKE_CURRENT_LIST_DIR}}/{path}")'.encode()


def _option(source: CMake, tree: Tree, project: Project) -> Iterator[Finding]:
    """The include that lets a script choose, where one begins a project, or none does and it is the topmost."""
    said = source.fact(facts)
    topmost = source.path.parent == tree.home and not any(each.projects for each in tree.said)
    if said.includes_helper or not (said.projects or (topmost and source.path.name == "CMakeLists.txt")):
        return
    if not any(map(_active, tree.below)):
        return
    first = next((each for each in source.commands if each.name == "project"), source.commands[0])
    for each in source.commands:
        # What comes before may count on it too, in another script perhaps.
        if each is first or each.name == "include" or MENTIONS.search(source[each.span]):
            first = source.around(each)[0][0] if source.around(each) else each
            break
    line = source.text.rfind(b"\n", 0, first.span.start) + 1
    indent = source.text[line : first.span.start]
    indent = indent if not indent.strip() else b""
    start, before = first.span.start, _include(source, tree, HELPER) + source.newline + indent
    if line:
        # Behind the line above: the command itself may get lines in front, too.
        start = line - (2 if source.text[:line].endswith(b"\r\n") else 1)
        before = source.newline + indent + _include(source, tree, HELPER)
    archs = ", ".join(project.target.archs)
    yield Finding(
        first.written,
        "option",
        f"the option USE_HIP, ON by default: HIP for {archs}, or with OFF CUDA as before; needs CMake 3.21 for HIP",
        (Edit(Span(start, start), before),),
        Certainty.SAFE,
        creates=tuple(
            _file(tree, name, project)
            for name, needed in ((HELPER, True), (FIND_CUDA, tree.find_cuda), (TORCH, tree.torch and tree.torch_names))
            if needed
        ),
    )


# --- Lines around commands --------------------------------------------------------------------------------------------


def _findings(source: CMake, command: Command, all_said: Sequence[_Said]) -> Iterator[Finding]:
    """Turn what is said about a command into findings; what writes lines around it becomes one."""
    said_all = [said for said in all_said if said.certainty is not Certainty.MANUAL]
    for said in all_said:
        if said.certainty is Certainty.MANUAL:
            yield Finding(said.span, said.kind, said.message, (), Certainty.MANUAL)
    # Where HIP has a command of its own, what would be edited in the other is put there.
    copies = [said for said in said_all if said.copy is not None]
    several = [said for said in said_all if copies or said.instead is not None or said.after]
    for said in said_all:
        if said not in several:
            yield Finding(said.span, said.kind, said.message, said.edits, said.certainty)
    if not several:
        return
    first, *others = several
    for other in others:
        first.message += f"; {other.message}"
        first.certainty = max(first.certainty, other.certainty)
        first.after += other.after
        first.edits += other.edits
        first.instead = other.instead if first.instead is None else first.instead
    if copies:
        puts = [*(put for said in copies for put in said.copy or ()), *((edit.span, edit.new) for edit in first.edits)]
        first.instead = tuple(_split(source, command, Copy(puts=dict(puts)).text(source, command.span)))
        first.edits = ()
    edits = (*first.edits, *_lines(source, command, first))
    yield Finding(first.span, first.kind, first.message, edits, first.certainty)


def _lines(source: CMake, command: Command, said: _Said) -> Iterator[Edit]:
    start = command.span.start
    line = source.text.rfind(b"\n", 0, start) + 1
    before = source.text[line:start]
    indent = before if not before.strip() else b""
    inner = indent + (b"\t" if indent.startswith(b"\t") else b"  ")
    newline = source.newline
    end = source.text.find(b"\n", command.span.end)
    end = len(source.text) if end < 0 else end
    if source.text[:end].endswith(b"\r"):
        end -= 1
    step = inner[len(indent) :]
    behind = [indent + (step + each[2:] if each.startswith(b"  ") else each) for each in said.after]
    if said.instead is not None:
        opening = [b"if(USE_HIP)", *(inner + each for each in said.instead), indent + b"else()"]
        if not said.instead:
            opening = [b"if(NOT USE_HIP)"]
        yield Edit(Span(start, start), newline.join([*opening, inner]))
        behind = [indent + b"endif()", *behind]
        # What goes on over lines stays as far in as it was.
        for token in source.tokens_in(command.inner):
            if token.kind == "space" and (breaks := source[token.span].rfind(b"\n")) >= 0:
                at = token.span.start + breaks + 1
                yield Edit(Span(at, at), step)
    yield Edit(Span(end, end), b"".join(newline + each for each in behind))


# --- Commands ---------------------------------------------------------------------------------------------------------


class _Script:
    """What is to be said of a script's commands."""

    def __init__(self, source: CMake, tree: Tree, project: Project) -> None:
        self.source = source
        self.tree = tree
        self.project = project
        self.rocm = project.target.rocm
        self.told: set[str] = set()
        self.commands: dict[str, Callable[[Command, Command | None], Iterator[_Said]]] = {
            "project": self._language,
            "enable_language": self._language,
            "check_language": self._language,
            "find_package": self._find_package,
            "include": self._include,
            "if": self._condition,
            "elseif": self._condition,
            "while": self._condition,
            "set": self._set,
            "list": self._set,
            "string": self._set,
            "set_target_properties": self._properties,
            "set_source_files_properties": self._properties,
            "set_property": self._properties,
            "target_compile_features": self._features,
            "try_compile": self._tried,
            "try_run": self._tried,
            **dict.fromkeys(_CHECKS, self._checked),
            "execute_process": self._probe,
            "exec_program": self._probe,
            "find_program": self._probe,
            "find_library": self._find_file,
            "find_path": self._find_file,
            "include_directories": self._folders,
            "link_directories": self._folders,
            "target_include_directories": self._folders,
            "target_link_directories": self._folders,
        }

    def about(self, command: Command, following: Command | None) -> Iterator[_Said]:
        """Yield what is to be said of one command."""
        source, table = self.source, load(_TABLE)
        inner = source[command.inner]
        if command.name in table["command"]:
            yield _Said(
                command.written, "find_cuda", f"{command.name}: {table['command'][command.name]}", Certainty.MANUAL
            )
            return
        if _FINDS.fullmatch(command.name) and text(source, command, 0) in ("CUDA", "CUDAToolkit"):
            packages = ", ".join(self._packages() or ["hip"])
            message = (
                f"{command.name} looks for CUDA: put if(NOT USE_HIP) around it, and find_package of {packages} beside"
            )
            yield _Said(command.written, "find_package", message, Certainty.MANUAL)
            return
        if command.name in self.commands:
            yield from self.commands[command.name](command, following)
        if command.name not in ("if", "elseif", "while", "message", "find_package"):
            yield from self._targets(command)
            yield from self._libraries(command)
            yield from self._of_torch(command)
            yield from self._abi(command)
        if b"COMPILE_LANG" in inner:
            yield from self._expressions(command)
        yield from self._flags(command)

    def _abi(self, command: Command) -> Iterator[_Said]:
        """-D_GLIBCXX_USE_CXX11_ABI=0 in a tree that does not ask CMake for PyTorch, which says what its ABI is."""
        old = _OLD_ABI.search(self.source.text, command.inner.start, command.inner.end)
        if old is not None and not self.tree.torch:
            message = (
                "the old ABI of the C++ library: what this is linked with on ROCm (PyTorch, ROCm's own libraries) has "
                "the new one; put if(NOT USE_HIP) around it"
            )
            yield _Said(Span(*old.span()), "abi", message, Certainty.MANUAL)

    def _tried(self, command: Command, following: Command | None) -> Iterator[_Said]:
        """try_compile and try_run of a .cu file, which CMake takes for CUDA's by its name."""
        for argument in command.arguments[1:]:
            if self.source[argument.content].endswith(b".cu"):
                message = (
                    f"{command.name} takes a .cu file for CUDA, which is not enabled where USE_HIP is ON: give it a "
                    "copy named .hip there"
                )
                if command.name == "try_run":
                    message += ", or ask ROCm's tools; it runs only where there is a GPU"
                yield _Said(argument.span, "try", message, Certainty.MANUAL)

    def _checked(self, command: Command, following: Command | None) -> Iterator[_Said]:
        """check_source_compiles(CUDA …) and the like."""
        first = command.arguments[0] if command.arguments else None
        if first is not None and self.source[first.content] == b"CUDA":
            message = "asked of HIP where USE_HIP is ON; assumes that what is tried is not about CUDA's compiler alone"
            edit = Edit(first.content, b"${HIP_OR_CUDA}")
            yield _Said(first.span, "check", message, Certainty.REVIEW, (edit,))

    # Languages and packages

    def _language(self, command: Command, following: Command | None) -> Iterator[_Said]:
        """project(… CUDA), enable_language(CUDA), check_language(CUDA)."""
        source = self.source
        named = ""
        for argument in command.arguments[1 if command.name == "project" else 0 :]:
            if source[argument.content] == b"CUDA":
                break
            named = self._languages(argument)
            if named:
                break
        else:
            return
        lines: list[str] = []
        certainty = Certainty.SAFE
        message = "HIP where USE_HIP is ON"
        if command.name != "check_language":
            asked = {name: value for name, value in _OF_LANGUAGE.items() if name in self.tree.variables}
            packages = self._packages() if not self.tree.finds else []
            if asked or packages:
                lines += [f"  find_package({package} REQUIRED)" for package in packages or ["hip"]]
                # Whoever asks whether hip::host is there need not look for it any more.
                asked |= {name: value for name, value in _OF_TOOLKIT.items() if name in self.tree.variables}
                lines += [f"  set({name} {value})" for name, value in asked.items()]
            if any(name.endswith(("_VERSION", "_MAJOR", "_MINOR", "_ID")) for name in asked):
                certainty, message = Certainty.REVIEW, message + _AS_CUDA_11
        edits = () if named else (Edit(argument.content, b"${HIP_OR_CUDA}"),)
        condition = f'if(USE_HIP AND "HIP" IN_LIST {named})' if named else "if(USE_HIP)"
        after = tuple(line.encode() for line in (condition, *lines, "endif()")) if lines else ()
        behind = source[Span(command.span.end, following.span.start)] if following else b""
        if edits or (after and not (following and source[following.span] == condition.encode() and not behind.strip())):
            yield _Said(argument.span, "language", message, certainty, edits, None, after)

    def _languages(self, argument: Argument) -> str:
        """Return the variable that an argument is, if it has CUDA among languages."""
        source = self.source
        said = source[argument.content].decode("utf-8", "replace")
        name = said[2:-1] if said.startswith("${") and said.endswith("}") else ""
        of_cuda = any(
            source[each.content] in (b"CUDA", b"${HIP_OR_CUDA}")
            for command in source.commands
            if command.name in ("set", "list") and self._variable(command) == name
            for each in command.arguments
        )
        return name if of_cuda else ""

    def _listed(self, command: Command) -> Iterator[_Said]:
        """`set(languages CXX CUDA)`, `list(APPEND languages CUDA)`, of what project() gets."""
        source = self.source
        if self._variable(command) not in language_variables(source):
            return
        for argument in command.arguments[1 if command.name == "set" else 2 :]:
            if source[argument.content] == b"CUDA":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield _Said(argument.span, "language", "HIP where USE_HIP is ON", edits=(edit,))

    def _packages(self) -> list[str]:
        """The packages that have what the tree links; none if it links nothing."""
        table = load(_TABLE)
        found: dict[str, None] = {}
        for name in sorted(self.tree.targets):
            row = _row(name) or {}
            for package in row.get("package", "").split():
                if not name.startswith(("CUB::", "Thrust::", "CCCL::", "NCCL::")):
                    found[package] = None
        variables = self.tree.variables
        for spelled, package in (("cublas", "hipblas"), ("cufft", "hipfft"), ("curand", "hiprand")):
            if f"CUDA_{spelled}_LIBRARY" in variables or f"CUDA_{spelled.upper()}_LIBRARIES" in variables:
                found[package] = None
        for spelled, package in (("cusparse", "hipsparse"), ("cusolver", "hipsolver")):
            if f"CUDA_{spelled}_LIBRARY" in variables:
                found[package] = None
        assert table
        return ["hip", *(package for package in found if package != "hip")] if found else []

    def _find_package(self, command: Command, following: Command | None) -> Iterator[_Said]:
        source = self.source
        name = text(source, command, 0)
        words = {source[argument.span] for argument in command.arguments}
        how = "".join(f" {word}" for word in ("QUIET", "REQUIRED") if word.encode() in words)
        instead: list[str] = []
        certainty = Certainty.SAFE
        if name in ("CUDA", "CUDAToolkit"):
            packages = self._packages() or ["hip"]
            instead = [f"find_package({package}{how})" for package in packages]
            message = f"ROCm's packages for CUDA's: {', '.join(packages)}"
            if name == "CUDA":
                in_function = any(block[0].name == "function" for block in source.around(command))
                if in_function and not self.tree.find_cuda and not self.tree.language:
                    message = "HIP can be made a language at the top of a script, not in a function"
                    yield _Said(command.written, "find_package", message, Certainty.MANUAL)
                    return
                instead.append(f'include("${{HIPPORT_FOLDER}}/{FIND_CUDA}")')
                message += f"; what else scripts have of FindCUDA is in hipport/{FIND_CUDA}"
                asked = [each for each in self.tree.variables if _VERSION.fullmatch(each)]
            else:
                asked = [each for each in _OF_TOOLKIT if each in self.tree.variables]
                instead += [f"set({each} {_OF_TOOLKIT[each]})" for each in asked]
            if any("_VERSION" in each for each in asked):
                certainty, message = Certainty.REVIEW, message + _AS_CUDA_11
        elif name == "Torch":
            yield from self._converted(command)
            return
        elif name in load(_TABLE)["package"]:
            packages = load(_TABLE)["package"][name].split()
            instead = [f"find_package({package}{how})" for package in packages]
            if f"{name}_FOUND" in self.tree.variables:
                instead.append(f"set({name}_FOUND ${{{packages[0]}_FOUND}})")
            message = f"of ROCm: {', '.join(packages)}"
        elif name in load(_TABLE)["no_package"]:
            yield _Said(
                command.written, "find_package", f"{name}: {load(_TABLE)['no_package'][name]}", Certainty.MANUAL
            )
            return
        else:
            return
        lines = tuple(line.encode() for line in instead)
        yield _Said(command.written, "find_package", message, certainty, (), lines)

    def _converted(self, command: Command) -> Iterator[_Said]:
        """PyTorch's names for CUDA in sources that CMake builds: its own converter is run when CMake configures."""
        files = self.tree.torch_names
        if files and "Torch" not in self.told and f"/{TORCH}".encode() not in self.source.text:
            self.told.add("Torch")
            who = f"{files[0]} and {len(files) - 1} more use" if len(files) > 1 else f"{files[0]} uses"
            message = (
                f"{who} PyTorch's names for CUDA (c10/cuda, ATen/cuda), which one for ROCm has by others: with HIP its "
                "own converter is run, as it is when it builds extensions; assumes that a Python with that PyTorch is "
                "there, and that files may be put beside the sources"
            )
            after = (b"if(USE_HIP)", f'  include("${{HIPPORT_FOLDER}}/{TORCH}")'.encode(), b"endif()")
            yield _Said(command.written, "torch_names", message, Certainty.REVIEW, after=after)

    def _include(self, command: Command, following: Command | None) -> Iterator[_Said]:
        name = text(self.source, command, 0)
        if name.startswith("FindCUDA"):
            yield _Said(command.written, "find_cuda", f"{name} looks for nvcc: not with HIP", instead=())

    # Conditions

    def _condition(self, command: Command, following: Command | None) -> Iterator[_Said]:
        source, arguments = self.source, command.arguments
        for i, argument in enumerate(arguments):
            said = source[argument.content]
            after = source[arguments[i + 1].span] if i + 1 < len(arguments) else b""
            if said in (b"CMAKE_CUDA_COMPILER", b"CMAKE_CUDA_COMPILER_LOADED", b"${CMAKE_CUDA_COMPILER}"):
                if after in (b"", b"AND", b"OR", b")"):
                    at = argument.content.start + said.index(b"CUDA_")
                    edit = Edit(Span(at, at + 4), b"${HIP_OR_CUDA}")
                    if argument.kind != "bracket":
                        yield _Said(argument.span, "condition", "HIP's compiler where USE_HIP is ON", edits=(edit,))
            elif said == b"CUDA" and after == b"IN_LIST":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield _Said(argument.span, "condition", "HIP where USE_HIP is ON", edits=(edit,))
            elif i and source[arguments[i - 1].span] == b"TARGET" and _TARGET.fullmatch(said):
                row = _row(said.decode())
                asked = re.search(rb"\bTARGET (?:hip|roc|hiprtc)::", source[command.inner])
                if row and "target" in row and said.decode() not in self.tree.defines and not asked:
                    others = row["target"].split(";")
                    either = " AND ".join(f"TARGET {other}" for other in others)
                    start = arguments[i - 1].span.start
                    new = f"(TARGET {said.decode()} OR {either})".encode()
                    edit = Edit(Span(start, argument.span.end), new)
                    yield _Said(argument.span, "condition", f"{' and '.join(others)} with HIP", edits=(edit,))
            elif (match := _VERSION.fullmatch(said.decode("utf-8", "replace"))) and after.startswith(
                (b"VERSION_", b"LESS", b"GREATER", b"EQUAL", b"MATCHES")
            ):
                if self._given(match[1]) or match[1] in self.told:
                    continue
                self.told.add(match[1])
                message = (
                    f"{match[1]} has no value with HIP, less than any version: say what HIP is to do, here and below"
                )
                yield _Said(argument.span, "version", message, Certainty.MANUAL)

    def _given(self, variable: str) -> bool:
        if variable.startswith("CUDAToolkit"):
            return variable in _OF_TOOLKIT and any(said.find_toolkit for said in self.tree.said)
        if variable.startswith("CMAKE"):
            return self.tree.language
        return self.tree.find_cuda

    # Libraries

    def _targets(self, command: Command) -> Iterator[_Said]:
        """CUDA::cublas and the like, wherever they are named."""
        source = self.source
        if command.name == "list" and text(source, command, 0) not in ("APPEND", "PREPEND", "INSERT"):
            # An item that is not in the list need not be known by its other name.
            return
        start, end = command.inner.start, command.inner.end
        for match in _TARGET.finditer(source.code, start, end):
            name = match.group().decode()
            span = Span(*match.span())
            if name in self.tree.defines or self._chosen(command, span):
                continue
            if name.endswith("::"):
                message = "which library of CUDA's this is, is only known when the script runs"
                yield _Said(span, "target", message, Certainty.MANUAL)
                continue
            row = _row(name)
            if row is None or "why" in row:
                why = row["why"] if row else "ROCm's name for it is not known to hipport"
                yield _Said(span, "target", f"{name}: {why}", Certainty.MANUAL)
            elif command.name in ("add_library", "get_target_property", "get_property", "foreach", "string", "install"):
                message = f"{name}: {row.get('target', 'nothing')} with HIP; no generator expression can stand here"
                yield _Said(span, "target", message, Certainty.MANUAL)
            else:
                yield self._linked(span, name, row)

    def _linked(self, span: Span, name: str, row: dict[str, str]) -> _Said:
        if "target" in row:
            hip = row["target"].replace(";", "$<SEMICOLON>")
            new = f"$<IF:$<BOOL:${{USE_HIP}}>,{hip},{name}>"
            return _Said(
                span, "target", f"{row['target'].replace(';', ' and ')} with HIP", edits=(Edit(span, new.encode()),)
            )
        if "link" in row:
            new = f"$<IF:$<BOOL:${{USE_HIP}}>,{row['link']},{name}>"
            message = f"{row['link']} with HIP; assumes that the linker finds it, as it has no package"
            return _Said(span, "target", message, Certainty.REVIEW, (Edit(span, new.encode()),))
        new = f"$<$<NOT:$<BOOL:${{USE_HIP}}>>:{name}>"
        return _Said(span, "target", "there is no need of it with HIP", edits=(Edit(span, new.encode()),))

    def _chosen(self, command: Command, span: Span) -> bool:
        """Say whether a place is in a generator expression that asks for HIP."""

        def around(expressions: Sequence[Expression]) -> Iterator[Expression]:
            for each in expressions:
                if each.span.start <= span.start < each.span.end:
                    yield each
                    yield from around(each.inside)

        return any(
            b"USE_HIP" in self.source[each.span] or b":HIP" in self.source[each.span]
            for each in around(tuple(self.source.expressions(command.inner)))
        )

    def _libraries(self, command: Command) -> Iterator[_Said]:
        """`cudart`, `-lcublas`: libraries by the linker's names."""
        source = self.source
        first = links(source, command)
        if not first:
            return
        for argument in command.arguments[first:]:
            said = source[argument.span].decode("utf-8", "replace")
            if argument.kind != "unquoted" or said in self.tree.defines:
                continue
            if re.search(r"cuda.*/lib(?:cudart|cublas|cufft|curand|cusparse|cusolver|nvrtc|cuda|cudnn)\b", said):
                yield _Said(
                    argument.span, "library", f"{said}: link ROCm's by its target, hip::host say", Certainty.MANUAL
                )
                continue
            name = said.removeprefix("-l")
            if library(name) is None and name not in load(_TABLE)["target"]:
                continue
            if not said.startswith("-l") and not re.match(r"cu|nv|nccl", name):
                continue
            row = _row("NCCL::nccl" if name == "nccl" else f"CUDA::{name}")
            if row is None or "why" in row:
                found = library(name)
                why = row["why"] if row else found[1] if found else ""
                if why:
                    yield _Said(argument.span, "library", f"{said}: {why}", Certainty.MANUAL)
            elif not row or "link" in row or self._finds(row):
                each = self._linked(argument.span, said, row)
                each.kind = "library"
                yield each
            else:
                message = f"{said}: {row['target']} with HIP, after find_package({row['package']})"
                yield _Said(argument.span, "library", message, Certainty.MANUAL)

    def _of_torch(self, command: Command) -> Iterator[_Said]:
        """torch_cuda and c10_cuda, which a PyTorch for ROCm names otherwise."""
        source = self.source
        found = [each for each in command.arguments if source[each.content] in (b"torch_cuda", b"c10_cuda")]
        if not found:
            return
        message = "PyTorch's own target has another name in one for ROCm"
        puts = {each.content: source[each.content].replace(b"cuda", b"hip") for each in found}
        if links(source, command):
            for span, hip in puts.items():
                new = b"$<IF:$<BOOL:${USE_HIP}>," + hip + b"," + source[span] + b">"
                yield _Said(span, "torch", message, edits=(Edit(span, new),))
        else:
            yield _Said(found[0].span, "torch", message, copy=tuple(puts.items()))

    def _finds(self, row: dict[str, str]) -> bool:
        """Say whether the package of a library is looked for, once the tree is ported."""
        return (self.tree.finds or self.tree.language) and row["package"] in self._packages()

    def _variable(self, command: Command) -> str:
        return text(self.source, command, 0 if command.name == "set" else 1)

    # Variables

    def _set(self, command: Command, following: Command | None) -> Iterator[_Said]:
        source = self.source
        variable = self._variable(command)
        if command.name in ("set", "list"):
            yield from self._listed(command)
        if _FLAGS.fullmatch(variable):
            yield from self._language_flags(command, following, variable)
        elif command.name != "set":
            return
        elif _STANDARD.fullmatch(variable):
            value = text(source, command, 1)
            if variable.endswith("_STANDARD") and value in ("98", "03", "11", "14"):
                if following and text(source, following, 0) == "CMAKE_HIP_STANDARD":
                    return
                yield _Said(command.written, "standard", _OLD, Certainty.REVIEW, after=(b"set(CMAKE_HIP_STANDARD 17)",))
                return
            at = command.arguments[0].content.start + len("CMAKE_")
            edit = Edit(Span(at, at + 4), b"${HIP_OR_CUDA}")
            yield _Said(command.arguments[0].span, "standard", "the same for HIP", edits=(edit,))
        elif variable in ("CMAKE_CUDA_SEPARABLE_COMPILATION", "CUDA_SEPARABLE_COMPILATION"):
            value = text(source, command, 1).upper()
            # With FindCUDA, hipport's commands look at it.
            if value in _FALSE or (variable.startswith("CUDA") and self.tree.find_cuda):
                return
            if b"-fgpu-rdc" in self._beyond(command):
                return
            after = (b"if(USE_HIP)", b'  string(APPEND CMAKE_HIP_FLAGS " -fgpu-rdc")', b"endif()")
            yield _Said(command.written, "rdc", _RDC, Certainty.REVIEW, after=after)
        elif variable == "CMAKE_CUDA_ARCHITECTURES":
            return

    def _language_flags(self, command: Command, following: Command | None, variable: str) -> Iterator[_Said]:
        """CMAKE_CUDA_FLAGS: the same for HIP behind it."""
        source = self.source
        if command.name == "list" and text(source, command, 0) not in ("APPEND", "PREPEND"):
            return
        if command.name == "string" and text(source, command, 0) not in ("APPEND", "PREPEND", "CONCAT"):
            return
        if following and any(text(source, following, i) == variable.replace("CUDA", "HIP", 1) for i in (0, 1)):
            return
        given = values(source, command, 1 if command.name == "set" else 2)
        copy = copied(source, [argument.content for argument in given], self.tree.torch, self.rocm)
        yield from self._left(command, copy)
        if copy.manual:
            return  # all of it is for whoever decides: in a copy, what is for a person would not be seen any more
        own = sum(source[argument.content].count(f"${{{variable}}}".encode()) for argument in given)
        if copy.kept - own <= 0:
            return
        line = copy.text(source, command.span).replace(b"CMAKE_CUDA_", b"CMAKE_HIP_")
        message = f"the same for HIP: {_changed(copy)}" if copy.changes else "the same for HIP"
        yield _Said(command.written, "flags", message, copy.certainty, after=tuple(_split(source, command, line)))

    def _left(self, command: Command, copy: Copy) -> Iterator[_Said]:
        for change in copy.manual:
            yield _Said(command.written, change.kind, str(change), Certainty.MANUAL)

    # Properties

    def _properties(self, command: Command, following: Command | None) -> Iterator[_Said]:
        source, arguments = self.source, command.arguments
        said = [source[argument.content] for argument in arguments]
        marker = b"PROPERTY" if command.name == "set_property" else b"PROPERTIES"
        if marker not in said:
            return
        first = said.index(marker) + 1
        targets = said[: first - 1]
        step = len(said) if command.name == "set_property" else 2
        for i in range(first, len(said) - 1, step):
            name, value = said[i].decode("utf-8", "replace"), said[i + 1]
            argument = arguments[i + 1]
            if _PROPERTY.fullmatch(name):
                hip = "HIP" + name[4:]
                if hip.encode() in said or (following and hip.encode() in source[following.inner]):
                    continue
                old = name == "CUDA_STANDARD" and value in (b"98", b"03", b"11", b"14")
                new = b"17" if old else source[argument.span]
                message, certainty = (_OLD, Certainty.REVIEW) if old else ("the same for HIP", Certainty.SAFE)
                if command.name == "set_property":
                    line = source[command.span].replace(said[i], hip.encode())
                    if old:
                        line = line.replace(value, new)
                    yield _Said(
                        arguments[i].span, "standard", message, certainty, after=tuple(_split(source, command, line))
                    )
                else:
                    gap = source.text[arguments[i - 1].span.end : arguments[i].span.start]
                    gap = gap if not gap.strip() else b" "
                    edit = Edit(Span(argument.span.end, argument.span.end), gap + hip.encode() + b" " + new)
                    yield _Said(arguments[i].span, "standard", message, certainty, (edit,))
            elif name in ("LANGUAGE", "LINKER_LANGUAGE") and value == b"CUDA":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield _Said(argument.span, "language", "HIP where USE_HIP is ON", edits=(edit,))
            elif name == "CUDA_SEPARABLE_COMPILATION" and value.decode().upper() not in _FALSE:
                yield from self._rdc(command, following, arguments[i], targets)
            elif name == "CUDA_SOURCE_PROPERTY_FORMAT" and command.name == "set_source_files_properties":
                files = b" ".join(source[each.span] for each in arguments[: first - 1])
                line = b"set_source_files_properties(" + files + b" PROPERTIES LANGUAGE HIP)"
                yield _Said(arguments[i].span, "language", "FindCUDA takes these files for CUDA", instead=(line,))
            elif re.fullmatch(r"CUDA_(?:PTX|CUBIN|FATBIN|OPTIX)_COMPILATION", name):
                message = (
                    f"{name}: hipcc --genco makes a code object that hipModuleLoad loads; CMake has no property for it"
                )
                yield _Said(arguments[i].span, "ptx", message, Certainty.MANUAL)

    def _rdc(
        self, command: Command, following: Command | None, at: Argument, targets: Sequence[bytes]
    ) -> Iterator[_Said]:
        if following and b"USE_HIP" in self.source[following.inner] and b"-fgpu-rdc" in self._beyond(following):
            return
        if command.name == "set_property":
            if not targets or targets[0] != b"TARGET":
                return
            targets = [each for each in targets[1:] if each not in (b"APPEND", b"APPEND_STRING")]
        lines = [b"if(USE_HIP)"]
        for target in targets:
            lines.append(b"  target_compile_options(" + target + b" PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)")
            lines.append(b"  target_link_options(" + target + b" PUBLIC $<$<LINK_LANGUAGE:HIP>:-fgpu-rdc>)")
        yield _Said(at.span, "rdc", _RDC, Certainty.REVIEW, after=(*lines, b"endif()"))

    def _beyond(self, command: Command) -> bytes:
        i = self.source.commands.index(command)
        return b"".join(self.source[each.inner] for each in self.source.commands[i : i + 3])

    def _features(self, command: Command, following: Command | None) -> Iterator[_Said]:
        for argument in command.arguments[1:]:
            match = re.fullmatch(rb"cuda_std_(\d+)", self.source[argument.content])
            if match:
                old = match[1] in (b"03", b"11", b"14")
                hip = b"hip_std_17" if old else b"hip_std_" + match[1]
                new = b"$<IF:$<BOOL:${USE_HIP}>," + hip + b"," + match.group() + b">"
                message, certainty = (_OLD, Certainty.REVIEW) if old else ("the same for HIP", Certainty.SAFE)
                yield _Said(argument.span, "standard", message, certainty, (Edit(argument.content, new),))

    # What asks the machine

    def _probe(self, command: Command, following: Command | None) -> Iterator[_Said]:
        source = self.source
        variable = text(source, command, 0)
        if command.name == "find_program" and searched(source, command) == ["nvcc"] and self._only_asked(variable):
            message = f"hipcc with HIP: {variable} only tells whether there is a compiler"
            line = f'find_program({variable} hipcc HINTS "$ENV{{ROCM_PATH}}/bin" /opt/rocm/bin)'
            yield _Said(command.written, "probe", message, instead=(line.encode(),))
            return
        pattern = _PROBE if command.name.startswith("exec") else _PROBED
        for argument in command.arguments[0 if command.name.startswith("exec") else 1 :]:
            said = source[argument.content]
            if argument.kind in ("unquoted", "quoted") and pattern.search(said) and b"${" not in said:
                what = said.decode("utf-8", "replace")
                message = f"{what} is not there on ROCm: put if(NOT USE_HIP) around it, or ask for ROCm's"
                yield _Said(command.written, "probe", message, Certainty.MANUAL)
                return

    def _only_asked(self, variable: str) -> bool:
        """Say whether a variable's value is nowhere used but in conditions and messages."""
        scripts = [each for each in self.tree.scripts if variable.encode() in each.text]
        return all(
            command.name in ("if", "elseif", "message", "find_program", "mark_as_advanced")
            for script in scripts
            for command in script.commands
            if variable.encode() in script[command.inner]
        )

    def _find_file(self, command: Command, following: Command | None) -> Iterator[_Said]:
        """find_library(CUDA_LIB cuda …), find_path(DIR cuda.h): what ROCm has, where it is linked anyway."""
        source = self.source
        variable, names = text(source, command, 0), searched(source, command)
        value = ""
        if command.name == "find_library" and names:
            rows = [_row(f"CUDA::{name.removeprefix('lib').partition('.')[0]}") or {} for name in names]
            if len({row.get("target") for row in rows}) == 1 and "target" in rows[0] and self._finds(rows[0]):
                value = rows[0]["target"]
        elif names and all(name in ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h") for name in names):
            value = "${hip_INCLUDE_DIRS}"
        if not value:
            yield from self._probe(command, following)
            return
        message = f"{value} with HIP; assumes that {variable} is used for nothing else than building"
        lines: tuple[bytes, ...] = (f'set({variable} "{value}")'.encode(),)
        if command.name == "find_path":
            lines = (b"find_package(hip REQUIRED)", *lines)
        yield _Said(command.written, "probe", message, Certainty.REVIEW, instead=lines)

    def _folders(self, command: Command, following: Command | None) -> Iterator[_Said]:
        for argument in command.arguments:
            if _CUDA_FOLDER.match(self.source[argument.content]):
                message = (
                    "CUDA's folder is not there on ROCm: targets whose C++ files include HIP's headers link hip::host"
                )
                yield _Said(argument.span, "cuda_path", message, Certainty.MANUAL)

    # Flags

    def _expressions(self, command: Command) -> Iterator[_Said]:
        """$<$<COMPILE_LANGUAGE:CUDA>:…>: the language chosen, or the same for HIP beside it."""
        source = self.source
        inner = source[command.inner]
        if b"COMPILE_LANGUAGE:HIP" in inner or b"COMPILE_LANG_AND_ID:HIP" in inner:
            return
        for expression in source.expressions(command.inner):
            yield from self._expression(command, expression)

    def _expression(self, command: Command, expression: Expression) -> Iterator[_Said]:
        source = self.source
        tests = [
            match
            for match in LANGUAGE.finditer(source.code, expression.span.start, expression.span.end)
            if _for_cuda(match)
        ]
        if not tests:
            return
        head = [match for match in tests if match.end() <= expression.head.end]
        if (
            not head
            and expression.head.start < tests[0].start()
            and expression.content
            and not self._whole(expression, tests[0])
        ):
            # `$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:…>>`: what is inside.
            for inside in expression.inside:
                yield from self._expression(command, inside)
            return
        first = Span(*tests[0].span())
        copy = copied(source, leaves(source, expression), self.tree.torch, self.rocm, gap=b";")
        plain = all(match["languages"] for match in tests)
        if not copy.changes and plain:
            edits = tuple(Edit(self._name(match), b"${HIP_OR_CUDA}") for match in tests)
            unknown = sorted(
                name for name in copy.references if re.search(r"CUDA|NVCC", name) and name not in self.tree.sets
            )
            message, certainty = "HIP's files where USE_HIP is ON", Certainty.SAFE
            if unknown and command.name.endswith("compile_options"):
                message += f"; assumes that hipcc takes what is in {', '.join(unknown)}"
                certainty = Certainty.REVIEW
            yield _Said(first, "expression", message, certainty, edits)
            return
        if copy.manual or not head or b"NOT:" in source[expression.head]:
            changes = copy.manual or copy.changes
            why = _changed(Copy(changes=changes)) if changes else "say what the same is for HIP"
            yield _Said(first, changes[0].kind if changes else "expression", why, Certainty.MANUAL)
            return
        if not copy.kept:
            return
        puts = [(Span(*match.span()), b"$<COMPILE_LANGUAGE:HIP>") for match in tests]
        new = copy.text(source, expression.span, puts)
        edit = self._beside(command, expression, new)
        message = f"the same for HIP: {_changed(copy)}" if copy.changes else "the same for HIP"
        yield _Said(first, "expression", message, copy.certainty, (edit,))

    def _whole(self, expression: Expression, test: re.Match[bytes]) -> bool:
        """Say whether the expression is the test itself, or joins it with others: `$<AND:…>`."""
        return expression.span == Span(*test.span()) or self.source[expression.head] in (b"AND", b"OR", b"NOT", b"IF")

    def _name(self, match: re.Match[bytes]) -> Span:
        start, end = match.span("languages")
        names = self.source.text[start:end].split(b",")
        at = start + len(b",".join([*names[: names.index(b"CUDA")], b""]))
        return Span(at, at + 4)

    def _beside(self, command: Command, expression: Expression, new: bytes) -> Edit:
        source, at = self.source, expression.span.end
        for argument in command.arguments:
            if argument.kind == "quoted" and argument.span.start < at <= argument.span.end:
                if argument.content == expression.span:
                    return Edit(Span(argument.span.end, argument.span.end), b' "' + new + b'"')
                gap = b";" if command.name.endswith(("options", "properties")) else b" "
                return Edit(Span(at, at), gap + new)
        if not any(each.span == expression.span for each in source.expressions(command.inner)):
            return Edit(Span(at, at), b";" + new)
        line = source.text.rfind(b"\n", 0, expression.span.start) + 1
        indent = source.text[line : expression.span.start]
        gap = source.newline + indent if not indent.strip() else b" "
        return Edit(Span(at, at), gap + new)

    def _flags(self, command: Command) -> Iterator[_Said]:
        """Flags for nvcc among the arguments of other commands, chosen by USE_HIP."""
        source, arguments = self.source, command.arguments
        said = [source[argument.content] for argument in arguments]
        first, of = -1, "nvcc"
        variable = ""
        if command.name == "set":
            first, variable = 1, text(source, command, 0)
        elif command.name in ("list", "string") and said[:1] in ([b"APPEND"], [b"PREPEND"]):
            first, variable = 2, text(source, command, 1)
        elif command.name in ("add_compile_options", "add_definitions", "add_compile_definitions"):
            first = 0
        elif command.name in ("target_compile_options", "target_compile_definitions"):
            first = 1
        elif command.name.startswith("cuda_") and b"OPTIONS" in said:
            first = said.index(b"OPTIONS") + 1
        elif command.name in ("set_target_properties", "set_source_files_properties", "set_property"):
            found = [i for i, each in enumerate(said) if each in (b"COMPILE_FLAGS", b"COMPILE_OPTIONS")]
            first = found[0] + 1 if found else -1
        if first < 0 or len(arguments) <= first or _FLAGS.fullmatch(variable) or "HELP" in variable:
            return
        given = values(source, command, first)
        if command.name.endswith("properties"):
            given = given[:1]
        # What is for one language is looked at with its expression.
        expressions = list(source.expressions(command.inner))
        given = [
            argument
            for argument in given
            if not any(
                each.span.start < argument.span.end and argument.span.start < each.span.end for each in expressions
            )
        ]
        for_nvcc = re.search(r"NVCC|CUDA_FLAGS|CUDA_COMPILE|GENCODE", variable) is not None
        if not for_nvcc and not tells(source, given, self.tree.torch):
            return
        if not for_nvcc and not tells(source, given, False):
            of = "host"
        # An option is an item of a list, but where flags are one string.
        listed = command.name.endswith("_options") or command.name == "list" or b"COMPILE_OPTIONS" in said
        gap = b";" if listed else b" "
        copy = copied(source, [argument.content for argument in given], self.tree.torch, self.rocm, of, gap)
        copy.changes = [change for change in copy.changes if change.kind != "standard" or for_nvcc or of == "nvcc"]
        if not copy.changes:
            return
        yield from self._left(command, copy)
        if copy.manual:
            return
        kind = copy.changes[0].kind
        message = _changed(copy)
        pairs = command.name.endswith("_properties")
        drops = [
            (argument.span, b'""') if pairs else (self._with_gap(argument), b"")
            for argument in given
            if copy.puts.get(argument.content) == b""
        ]
        for argument in given:
            if copy.puts.get(argument.content) == b"":
                del copy.puts[argument.content]
        own = sum(source[argument.content].count(f"${{{variable}}}".encode()) for argument in given) if variable else 0
        scopes = sum(source[argument.content] in _SCOPES for argument in given)
        nothing = copy.kept == scopes and not command.name.startswith("cuda_") and command.name != "set" and not pairs
        if nothing or 0 < copy.kept == own:
            yield _Said(arguments[first].span, kind, message, copy.certainty, instead=())
            return
        puts = [*copy.puts.items(), *drops]
        if not copy.kept and command.name == "set":
            at = arguments[0].span.end
            puts.append((Span(at, at), b' ""'))
        yield _Said(arguments[first].span, kind, message, copy.certainty, copy=tuple(puts))

    def _with_gap(self, argument: Argument) -> Span:
        start = argument.span.start
        while self.source.text[start - 1 : start].isspace():
            start -= 1
        return Span(start, argument.span.end)


_OLD = "rocPRIM, and with it hipCUB and rocThrust, need C++17 since ROCm 7; assumes nothing that C++17 took away"
_RDC = (
    "-fgpu-rdc for HIP, in compiling and in linking; assumes that CMake links with HIP's compiler what has device code"
)


def _row(name: str) -> dict[str, str] | None:
    """Return what the table says of an imported target, or None."""
    package, _, target = name.partition("::")
    table = load(_TABLE)
    if package != "CUDA":
        found: dict[str, str] | None = table["other"].get(name)
        return found
    row: dict[str, str] | None = table["target"].get("npp" if target.startswith("npp") else target)
    return row


def _for_cuda(match: re.Match[bytes]) -> bool:
    return b"CUDA" in (match["languages"] or match["language"]).split(b",")


def _changed(copy: Copy) -> str:
    return "; ".join(str(change) for change in copy.changes)


def _split(source: CMake, command: Command, line: bytes) -> Iterator[bytes]:
    """Yield the lines of a copied command, without what it stands in from the margin."""
    begin = source.text.rfind(b"\n", 0, command.span.start) + 1
    indent = source.text[begin : command.span.start]
    for i, each in enumerate(line.split(b"\n")):
        bare = each.removesuffix(b"\r")
        yield bare.removeprefix(indent) if i else bare


PASS = Pass(CMake, find)

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
from functools import cache
from itertools import pairwise
from pathlib import Path

from hipport.finding import Certainty, Finding
from hipport.languages.cmake import Argument, CMake, Command
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, NewFile, Span
from hipport.tables import load
from hipport_passes import nvidia_tools
from hipport_passes.build_scripts.cmake_branches import Said, findings, split
from hipport_passes.build_scripts.cmake_flags import tells
from hipport_passes.build_scripts.cmake_libraries import TARGET, Libraries, row_of
from hipport_passes.build_scripts.cmake_options import OF_LANGUAGE, Options
from hipport_passes.build_scripts.cmake_trees import (
    FIND_CUDA,
    HELPER,
    MENTIONS,
    PUT_HERE,
    TORCH,
    Facts,
    Tree,
    decided,
    elsewhere,
    facts,
    is_helper,
    language_variables,
    searched,
    text,
)
from hipport_passes.build_scripts.standards import assumed
from hipport_passes.nvcc_flags import ABI_BY_VARIABLE, OLD_ABI

_TABLE = Path(__file__).with_suffix(".toml")
_MODULES = Path(__file__).parent / "cmake_modules"

_STANDARD = re.compile(r"CMAKE_CUDA_(?:STANDARD|STANDARD_REQUIRED|EXTENSIONS|VISIBILITY_PRESET|SCAN_FOR_MODULES)")
_PROPERTY = re.compile(r"CUDA_(?:STANDARD|STANDARD_REQUIRED|EXTENSIONS|VISIBILITY_PRESET)")
# Commands of others that look for a package: rapids_find_package, find_dependency.
_FINDS = re.compile(r"\w+_find_package|find_dependency")
_FALSE = frozenset("OFF NO FALSE N 0 IGNORE".split())
_VERSION = re.compile(
    r"(?:\$\{)?((?:CUDA|CUDAToolkit)_VERSION(?:_STRING|_MAJOR|_MINOR)?|CMAKE_CUDA_COMPILER_VERSION)\}?"
)
_CUDA_FOLDER = re.compile(rb"(?:/usr/local|/opt)/cuda(?:[-/0-9]|$)")
_RUNS_NVCC = re.compile(
    r"(?:.*/)?nvcc|\$\{(?:CMAKE_CUDA_COMPILER|CUDA_NVCC_EXECUTABLE|CUDAToolkit_NVCC_EXECUTABLE|NVCC\w*)\}"
)
_HAS_COMPILER = re.compile(rb"\$<BOOL:\$\{CMAKE_(?P<language>CUDA)_COMPILER\}>")
# What has an effect where CUDA, or what stands for it, is a language.
_FOR_LANGUAGE = re.compile(
    rb"\$<(?:COMPILE|LINK)_LANGUAGE:(?:CUDA|HIP)\b|\bCMAKE_(?:CUDA|HIP)_(?:STANDARD|FLAGS)|HIP_OR_CUDA"
)
_PROBE = re.compile(rb"\bnvcc\b|nvidia-smi|deviceQuery")
_PROBED = re.compile(
    rb"\b(?:nvcc|nvidia-smi|cuda|cudart|cublas|cufft|curand|cusparse|cusolver|nvrtc|nvToolsExt|cudnn|nccl|cupti|nvJitLink|nvjpeg|npp\w+|nvidia-ml|cutensor|nvvm"
    rb"|(?:cuda|cuda_runtime|cuda_runtime_api|cublas_v2|cudnn|nccl|nvToolsExt)\.h)\b"
)
_OF_TORCH = re.compile(rb"(?i)torch")
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
# The commands of CheckSourceCompiles, CheckSourceRuns, CheckCompilerFlag and CheckLinkerFlag.
_CHECKS = ("check_source_compiles", "check_source_runs", "check_compiler_flag", "check_linker_flag")
_AS_CUDA_11 = "; where scripts ask for CUDA's compiler or version, HIP is taken for nvcc's 11.0, as in the code"


def find(source: CMake, project: Project) -> Iterator[Finding]:
    """Yield a finding per command that is for CUDA alone."""
    if source.text.startswith(PUT_HERE):
        return
    tree = Tree(source, project)
    if not MENTIONS.search(source.text) and not (source.fact(facts).projects and any(map(_active, tree.below))):
        return
    if tree.aware:
        yield from _unguarded(source)
        return
    yield from _no_project(source, tree)
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
            said = script.options.with_loops(command, list(script.about(command, following)))
            yield from findings(source, command, said)
    yield from script.lacking()


def _asked(value: bytes) -> bytes:
    """Return what a condition asks besides, where a variable says whether a property is on."""
    match = re.fullmatch(rb"\$\{(\w+)\}", value)
    return b" AND " + match[1] if match else b""


def _asked_for(source: CMake, command: Command) -> Sequence[Argument]:
    """Return what of the arguments of project(), enable_language() and check_language() may be languages."""
    if command.name != "project":
        return command.arguments
    listed = [i for i, each in enumerate(command.arguments) if source[each.span] == b"LANGUAGES"]
    if listed:
        return command.arguments[listed[0] + 1 :]
    # Without that word, languages are all that there is.
    return command.arguments[1:]


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


def _no_project(source: CMake, tree: Tree) -> Iterator[Finding]:
    """A topmost script that an earlier run has ported, and whose project() is lost, in a merge say."""
    first = next((each for each in source.commands if each.name == "cmake_minimum_required"), None)
    needs = tree.ported or (_FOR_LANGUAGE.search(source.text) is not None and not tree.language)
    if first is None or not needs or any(each.projects or each.find_cuda for each in tree.said):
        return
    message = (
        "there is no project(), and CMake makes one of C and C++ alone; perhaps a merge has taken it with what stood "
        "beside it: project(NAME LANGUAGES CXX ${HIP_OR_CUDA})"
    )
    yield Finding(first.written, "project", message, (), Certainty.MANUAL)


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
    there = next((each for each in source.commands if is_helper(source, each)), None)
    if there is None and not (said.projects or (topmost and source.path.name == "CMakeLists.txt")):
        return
    if not any(map(_active, tree.below)):
        return
    commands = [each for each in source.commands if each is not there]
    if not commands:
        return
    first = next((each for each in commands if each.name == "project"), commands[0])
    for each in commands:
        # What comes before may count on it too, in another script perhaps.
        if each is first or each.name == "include" or MENTIONS.search(source[each.span]):
            first = source.around(each)[0][0] if source.around(each) else each
            break
    gone: tuple[Edit, ...] = ()
    if there is not None:
        # What upstream has put in front of it since would count on it in vain.
        if source.around(there) or there.span.start < first.span.start:
            return
        remarks = [source[token.span] for token in source.tokens_in(there.span) if token.kind == "comment"]
        gone = (Edit(_whole_line(source, there), b"".join(each + source.newline for each in remarks)),)
    line = source.line_start(first.span.start)
    indent = source.text[line : first.span.start]
    indent = indent if not indent.strip() else b""
    new = indent + _include(source, tree, HELPER) + source.newline
    archs = ", ".join(project.target.archs)
    yield Finding(
        first.written,
        "option",
        f"the option USE_HIP, ON by default: HIP for {archs}, or with OFF CUDA as before; needs CMake 3.21 for HIP",
        # The command itself may get lines in front, too.
        (Edit(Span(line, line), new, on_top=True), *gone),
        Certainty.SAFE,
        creates=tuple(
            _file(tree, name, project)
            for name, needed in ((HELPER, True), (FIND_CUDA, tree.find_cuda), (TORCH, tree.torch and tree.torch_names))
            if needed
        ),
    )


def _whole_line(source: CMake, command: Command) -> Span:
    """Return the lines that the command stands on, if nothing else does; else what it is itself."""
    start, end = source.line_start(command.span.start), source.text.find(b"\n", command.span.end) + 1
    alone = end and not (source.text[start : command.span.start] + source.text[command.span.end : end]).strip()
    return Span(start, end) if alone else command.span


# --- Commands ---------------------------------------------------------------------------------------------------------


class _Script:
    """What is to be said of a script's commands."""

    def __init__(self, source: CMake, tree: Tree, project: Project) -> None:
        self.source = source
        self.tree = tree
        self.project = project
        self.libraries = Libraries(source, tree)
        self.options = Options(source, tree, project.target.rocm)
        self.told: set[str] = set()
        self.commands: dict[str, Callable[[Command, Command | None], Iterator[Said]]] = {
            "project": self._language,
            "enable_language": self._language,
            "check_language": self._language,
            "find_package": self._find_package,
            "include": self._include,
            "cuda_detect_installed_gpus": self._archs,
            "cuda_select_nvcc_arch_flags": self._archs,
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
            "foreach": self._languages_in_turn,
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

    def about(self, command: Command, following: Command | None) -> Iterator[Said]:
        """Yield what is to be said of one command."""
        source, table = self.source, load(_TABLE)
        if command.name in table["command"]:
            yield Said(
                command.written, "find_cuda", f"{command.name}: {table['command'][command.name]}", Certainty.MANUAL
            )
            return
        if _FINDS.fullmatch(command.name) and text(source, command, 0) in ("CUDA", "CUDAToolkit"):
            packages = ", ".join(self.libraries.packages() or ["hip"])
            message = (
                f"{command.name} looks for CUDA: put if(NOT USE_HIP) around it, and find_package of {packages} beside"
            )
            yield Said(command.written, "find_package", message, Certainty.MANUAL)
            return
        if command.name in self.commands:
            yield from self.commands[command.name](command, following)
        if command.name not in ("if", "elseif", "while", "message", "find_package"):
            yield from self.libraries.about(command)
            yield from self._abi(command)
        yield from self._run(command)
        yield from self._there(command)
        yield from self.options.about(command)

    def _there(self, command: Command) -> Iterator[Said]:
        """$<BOOL:${CMAKE_CUDA_COMPILER}>: whether there is a compiler for the language."""
        for match in _HAS_COMPILER.finditer(self.source.text, command.inner.start, command.inner.end):
            edit = Edit(Span(*match.span("language")), b"${HIP_OR_CUDA}")
            yield Said(Span(*match.span()), "condition", "HIP's compiler where USE_HIP is ON", edits=(edit,))

    def _run(self, command: Command) -> Iterator[Said]:
        """A tool of NVIDIA's behind COMMAND: of a target, of a test, when CMake runs."""
        if command.name not in ("add_custom_target", "add_custom_command", "add_test", "execute_process"):
            return
        words = [(self.source[each.content].decode("utf-8", "replace"), each.span) for each in command.arguments]
        for (word, _), *rest in (words[i:] for i in range(len(words) - 1)):
            found = nvidia_tools.run_by([said for said, _ in rest]) if word == "COMMAND" else None
            # By its own name, `_probe` says it of what CMake runs.
            probed = command.name == "execute_process" and "${" not in rest[0][0]
            if word == "COMMAND" and _RUNS_NVCC.fullmatch(rest[0][0]) and not probed:
                message = (
                    "runs nvcc, which ROCm does not have: put if(NOT USE_HIP) around it, and what hipcc does beside"
                )
                yield Said(rest[0][1], "nvcc", message, Certainty.MANUAL)
            if found is not None:
                message = nvidia_tools.told(found[1])
                yield Said(rest[found[0]][1], "tool", f"{message}; put if(NOT USE_HIP) around it", Certainty.MANUAL)

    def _abi(self, command: Command) -> Iterator[Said]:
        """-D_GLIBCXX_USE_CXX11_ABI=0 in a tree that does not ask CMake for PyTorch, which says what its ABI is.

        In a tree that does, flags without it are written for HIP, but for what a generator expression decides.
        """
        old = OLD_ABI.search(self.source.text, command.inner.start, command.inner.end)
        decided = old is not None and any(
            argument.span.start <= old.start() < argument.span.end and b"$<" in self.source[argument.span]
            for argument in command.arguments
        )
        if old is not None and (decided or not self.tree.torch):
            message = (
                "the old ABI of the C++ library: what this is linked with on ROCm (PyTorch, ROCm's own libraries) has "
                "the new one; put if(NOT USE_HIP) around it"
            )
            yield Said(Span(*old.span()), "abi", message, Certainty.MANUAL)
        for match in ABI_BY_VARIABLE.finditer(self.source.text, command.inner.start, command.inner.end):
            for setting in self.source.commands:
                words = [self.source[each.content] for each in setting.arguments]
                # Under a condition on what PyTorch says, it is what PyTorch has.
                asked = any(_OF_TORCH.search(self.source[e.inner]) for es in self.source.around(setting) for e in es)
                if setting.name == "set" and words[:2] == [match[1], b"0"] and not asked:
                    message = (
                        "the old ABI of the C++ library, for _GLIBCXX_USE_CXX11_ABI: PyTorch for ROCm, and ROCm's own "
                        "libraries, have the new one, which is 1; put if(NOT USE_HIP) around what sets it"
                    )
                    yield Said(Span(*match.span()), "abi", message, Certainty.MANUAL)
                    break

    def _tried(self, command: Command, following: Command | None) -> Iterator[Said]:
        """try_compile and try_run of a .cu file, which CMake takes for CUDA's by its name."""
        for argument in command.arguments[1:]:
            if self.source[argument.content].endswith(b".cu"):
                message = (
                    f"{command.name} takes a .cu file for CUDA, which is not enabled where USE_HIP is ON: give it a "
                    "copy named .hip there"
                )
                if command.name == "try_run":
                    message += ", or ask ROCm's tools; it runs only where there is a GPU"
                yield Said(argument.span, "try", message, Certainty.MANUAL)

    def _checked(self, command: Command, following: Command | None) -> Iterator[Said]:
        """check_source_compiles(CUDA …) and the like."""
        first = command.arguments[0] if command.arguments else None
        if first is not None and self.source[first.content] == b"CUDA":
            message = "asked of HIP where USE_HIP is ON; assumes that what is tried is not about CUDA's compiler alone"
            edit = Edit(first.content, b"${HIP_OR_CUDA}")
            yield Said(first.span, "check", message, Certainty.REVIEW, (edit,))

    # Languages and packages

    def _language(self, command: Command, following: Command | None) -> Iterator[Said]:
        """project(… CUDA), enable_language(CUDA), check_language(CUDA)."""
        source = self.source
        named = ""
        of_cuda = []
        for argument in _asked_for(source, command):
            if source[argument.content] == b"CUDA":
                of_cuda.append(argument)
            elif not of_cuda and (named := self._languages(argument)):
                break
        own = [each for each in _asked_for(source, command) if source[each.content] == b"${HIP_OR_CUDA}"]
        if not of_cuda and not named:
            # An earlier run had nothing to look for, and upstream links libraries by now.
            if not own or any(
                each.name == "find_package" and text(source, each, 0) == "hip" for each in source.commands
            ):
                return
            argument = own[0]
        if of_cuda:
            argument = of_cuda[0]
        lines: list[str] = []
        certainty = Certainty.SAFE
        message = "HIP where USE_HIP is ON"
        if command.name != "check_language":
            asked = {name: value for name, value in _OF_LANGUAGE.items() if name in self.tree.variables}
            packages = self.libraries.packages() if not self.tree.finds else []
            if asked or packages:
                lines += [f"  find_package({package} REQUIRED)" for package in packages or ["hip"]]
                # Whoever asks whether hip::host is there need not look for it any more.
                asked |= {name: value for name, value in _OF_TOOLKIT.items() if name in self.tree.variables}
                lines += [f"  set({name} {value})" for name, value in asked.items()]
            if any(name.endswith(("_VERSION", "_MAJOR", "_MINOR", "_ID")) for name in asked):
                certainty, message = Certainty.REVIEW, message + _AS_CUDA_11
        edits = tuple(Edit(each.content, b"${HIP_OR_CUDA}") for each in of_cuda)
        condition = f'if(USE_HIP AND "HIP" IN_LIST {named})' if named else "if(USE_HIP)"
        after = tuple(line.encode() for line in (condition, *lines, "endif()")) if lines else ()
        behind = source[Span(command.span.end, following.span.start)] if following else b""
        if edits or (after and not (following and source[following.span] == condition.encode() and not behind.strip())):
            yield Said(argument.span, "language", message, certainty, edits, None, after)

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

    def _languages_in_turn(self, command: Command, following: Command | None) -> Iterator[Said]:
        """foreach(language CXX CUDA): variables of each, by CMAKE_${language}_FLAGS and the like."""
        source, variable = self.source, text(self.source, command, 0)
        items = [each for each in command.arguments[1:] if source[each.content] == b"CUDA"]
        inside = [each for each in source.commands if any(block[0] is command for block in source.around(each))]
        by_name = re.compile(rb"CMAKE_\$\{" + re.escape(variable.encode()) + rb"\}_")
        if not items or not any(by_name.search(source[each.inner]) for each in inside):
            return
        edits = tuple(Edit(each.content, b"${HIP_OR_CUDA}") for each in items)
        message, certainty = "HIP where USE_HIP is ON", Certainty.SAFE
        if any(tells(source, each.arguments[1:], False) for each in inside):
            message += "; with the flags in the loop, which are nvcc's without what is said of them"
            certainty = Certainty.REVIEW
        yield Said(items[0].span, "language", message, certainty, edits)

    def _listed(self, command: Command) -> Iterator[Said]:
        """`set(languages CXX CUDA)`, `list(APPEND languages CUDA)`, of what project() gets."""
        source = self.source
        if self._variable(command) not in source.fact(language_variables):
            return
        for argument in command.arguments[1 if command.name == "set" else 2 :]:
            if source[argument.content] == b"CUDA":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield Said(argument.span, "language", "HIP where USE_HIP is ON", edits=(edit,))

    def _find_package(self, command: Command, following: Command | None) -> Iterator[Said]:
        source = self.source
        name = text(source, command, 0)
        words = {source[argument.span] for argument in command.arguments}
        how = "".join(f" {word}" for word in ("QUIET", "REQUIRED") if word.encode() in words)
        instead: list[str] = []
        certainty = Certainty.SAFE
        if name in ("CUDA", "CUDAToolkit"):
            packages = self.libraries.packages() or ["hip"]
            instead = [f"find_package({package}{how})" for package in packages]
            message = f"ROCm's packages for CUDA's: {', '.join(packages)}"
            if name == "CUDA":
                in_function = any(block[0].name == "function" for block in source.around(command))
                if in_function and not self.tree.find_cuda and not self.tree.language:
                    message = "HIP can be made a language at the top of a script, not in a function"
                    yield Said(command.written, "find_package", message, Certainty.MANUAL)
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
            yield Said(command.written, "find_package", f"{name}: {load(_TABLE)['no_package'][name]}", Certainty.MANUAL)
            return
        else:
            return
        lines = tuple(line.encode() for line in instead)
        yield Said(command.written, "find_package", message, certainty, (), lines)

    def lacking(self) -> Iterator[Finding]:
        """Packages that upstream has come to need since, beside those that an earlier run looks for in CUDA's place."""
        source = self.source
        packages = self.libraries.packages()
        looked = {text(source, each, 0): each for each in source.commands if each.name == "find_package"}
        first = looked.get("hip")
        if first is None or not self.tree.ported or not source.around(first):
            return
        if source[source.around(first)[-1][0].inner].split()[:1] != [b"USE_HIP"]:
            return
        # Where a file is looked for, HIP is beside that for its folders alone.
        following = source.commands[source.commands.index(first) :]
        other = following[next((i for i, each in enumerate(following) if each.name == "else"), -1) + 1 :]
        if other and other[0].name in ("find_path", "find_library"):
            return
        how = source.text[first.inner.start : first.inner.end].partition(b"hip")[2]
        lines: dict[Command, bytes] = {}
        lacking = []
        for before, package in pairwise(packages):
            behind = looked.setdefault(package, looked[before])
            if text(source, behind, 0) != package:
                lacking.append(package)
                indent = source.text[source.line_start(behind.span.start) : behind.span.start]
                line = source.newline + indent + b"find_package(" + package.encode() + how + b")"
                lines[behind] = lines.get(behind, b"") + line
        if lacking:
            message = f"ROCm's packages for what is linked by now: {', '.join(lacking)}"
            edits = tuple(Edit(Span(each.span.end, each.span.end), new) for each, new in lines.items())
            yield Finding(first.written, "find_package", message, edits)

    def _converted(self, command: Command) -> Iterator[Said]:
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
            yield Said(command.written, "torch_names", message, Certainty.REVIEW, after=after)

    def _include(self, command: Command, following: Command | None) -> Iterator[Said]:
        name = text(self.source, command, 0)
        if name.startswith("FindCUDA"):
            yield Said(command.written, "find_cuda", f"{name} looks for nvcc: not with HIP", instead=())

    def _archs(self, command: Command, following: Command | None) -> Iterator[Said]:
        """What FindCUDA/select_compute_arch asks nvcc and the machine's GPUs for: CMAKE_HIP_ARCHITECTURES says it."""
        # hipport's find_cuda.cmake has the one that makes flags.
        if command.name == "cuda_select_nvcc_arch_flags" and self.tree.find_cuda:
            return
        name = command.name.encode()
        if any(
            each.name in ("function", "macro") and text(script, each, 0).lower().encode() == name
            for script in self.tree.scripts
            for each in script.commands
        ):
            return
        variable = text(self.source, command, 0)
        message = (
            f"{variable} is empty with HIP, where CMAKE_HIP_ARCHITECTURES says what to build for; assumes that it is "
            "for nvcc"
        )
        yield Said(command.written, "archs", message, Certainty.REVIEW, instead=(f'set({variable} "")'.encode(),))

    # Conditions

    def _condition(self, command: Command, following: Command | None) -> Iterator[Said]:
        source, arguments = self.source, command.arguments
        for i, argument in enumerate(arguments):
            said = source[argument.content]
            after = source[arguments[i + 1].span] if i + 1 < len(arguments) else b""
            if said in (b"CMAKE_CUDA_COMPILER", b"CMAKE_CUDA_COMPILER_LOADED", b"${CMAKE_CUDA_COMPILER}"):
                if after in (b"", b"AND", b"OR", b")"):
                    at = argument.content.start + said.index(b"CUDA_")
                    edit = Edit(Span(at, at + 4), b"${HIP_OR_CUDA}")
                    if argument.kind != "bracket":
                        yield Said(argument.span, "condition", "HIP's compiler where USE_HIP is ON", edits=(edit,))
            elif said == b"CUDA" and after == b"IN_LIST":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield Said(argument.span, "condition", "HIP where USE_HIP is ON", edits=(edit,))
            elif i and source[arguments[i - 1].span] == b"TARGET" and TARGET.fullmatch(said):
                row = row_of(said.decode(errors="replace"))
                asked = re.search(rb"\bTARGET (?:hip|roc|hiprtc)::", source[command.inner])
                if row and "target" in row and said.decode(errors="replace") not in self.tree.defines and not asked:
                    others = row["target"].split(";")
                    either = " AND ".join(f"TARGET {other}" for other in others)
                    start, end = arguments[i - 1].span.start, argument.span.end
                    # Around them: there may be a comment between the two.
                    edits = (Edit(Span(start, start), b"("), Edit(Span(end, end), f" OR {either})".encode()))
                    yield Said(argument.span, "condition", f"{' and '.join(others)} with HIP", edits=edits)
            elif (match := _VERSION.fullmatch(said.decode("utf-8", "replace"))) and after.startswith(
                (b"VERSION_", b"LESS", b"GREATER", b"EQUAL", b"MATCHES")
            ):
                if self._given(match[1]) or match[1] in self.told:
                    continue
                self.told.add(match[1])
                message = (
                    f"{match[1]} has no value with HIP, less than any version: say what HIP is to do, here and below"
                )
                yield Said(argument.span, "version", message, Certainty.MANUAL)

    def _given(self, variable: str) -> bool:
        if variable.startswith("CUDAToolkit"):
            return variable in _OF_TOOLKIT and any(said.find_toolkit for said in self.tree.said)
        if variable.startswith("CMAKE"):
            return self.tree.language
        return self.tree.find_cuda

    def _variable(self, command: Command) -> str:
        return text(self.source, command, 0 if command.name == "set" else 1)

    # Variables

    def _result(self, command: Command) -> str:
        """Return the variable that list() or string() puts a text into that it makes of others, or ""."""
        said = [text(self.source, command, i) for i in range(3)]
        if command.name == "list":
            return text(self.source, command, 3) if said[0] == "JOIN" else ""
        places = {"JOIN": 2, "STRIP": 2, "REPLACE": 3, "REGEX": 4 if said[1] == "REPLACE" else 3}
        at = places.get(said[0]) if command.name == "string" else None
        return text(self.source, command, at) if at is not None else ""

    def _set(self, command: Command, following: Command | None) -> Iterator[Said]:
        source = self.source
        variable = self._variable(command)
        if command.name in ("set", "list"):
            yield from self._listed(command)
        if (result := self._result(command)) and OF_LANGUAGE.fullmatch(result):
            yield from self.options.of_result(command, following, result)
        elif OF_LANGUAGE.fullmatch(variable):
            yield from self.options.of_language(command, following, variable)
        elif command.name != "set":
            return
        elif _STANDARD.fullmatch(variable):
            value = text(source, command, 1)
            if variable.endswith("_STANDARD") and value in ("98", "03", "11", "14"):
                if following and text(source, following, 0) == "CMAKE_HIP_STANDARD":
                    return
                yield Said(command.written, "standard", *self._old(value), after=(b"set(CMAKE_HIP_STANDARD 17)",))
                return
            at = command.arguments[0].content.start + len("CMAKE_")
            edit = Edit(Span(at, at + 4), b"${HIP_OR_CUDA}")
            yield Said(command.arguments[0].span, "standard", "the same for HIP", edits=(edit,))
        elif variable in ("CMAKE_CUDA_SEPARABLE_COMPILATION", "CUDA_SEPARABLE_COMPILATION"):
            value = text(source, command, 1).upper()
            if len(command.arguments) < 2:
                return  # what unsets it
            # With FindCUDA, hipport's commands look at it.
            if value in _FALSE or (variable.startswith("CUDA") and self.tree.find_cuda):
                return
            if b"-fgpu-rdc" in self._beyond(command):
                return
            asked = _asked(source[command.arguments[1].content])
            after = (b"if(USE_HIP" + asked + b")", b'  string(APPEND CMAKE_HIP_FLAGS " -fgpu-rdc")', b"endif()")
            yield Said(command.written, "rdc", _RDC, Certainty.REVIEW, after=after)

    def _old(self, standard: str) -> tuple[str, Certainty]:
        """What is said of a standard before C++17."""
        said = assumed(self.tree.sources, standard)
        return _OLD + said, Certainty.REVIEW if said else Certainty.SAFE

    # Properties

    def _properties(self, command: Command, following: Command | None) -> Iterator[Said]:
        source, arguments = self.source, command.arguments
        said = [source[argument.content] for argument in arguments]
        marker = b"PROPERTY" if command.name == "set_property" else b"PROPERTIES"
        if marker not in said:
            return
        if b"(" in said:
            # What is put beside it has some of its arguments, which would not be whole.
            for name in (each.decode("utf-8", "replace") for each in said):
                if _PROPERTY.fullmatch(name):
                    message = f"{name} is not copied for HIP, as there are brackets among the arguments: set it for HIP"
                    yield Said(command.written, "brackets", message, Certainty.MANUAL)
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
                message, certainty = self._old(value.decode()) if old else ("the same for HIP", Certainty.SAFE)
                if command.name == "set_property":
                    line = source[command.span].replace(said[i], hip.encode())
                    if old:
                        line = line.replace(value, new)
                    yield Said(
                        arguments[i].span, "standard", message, certainty, after=tuple(split(source, command, line))
                    )
                else:
                    gap = source.text[arguments[i - 1].span.end : arguments[i].span.start]
                    gap = gap if not gap.strip() else b" "
                    edit = Edit(Span(argument.span.end, argument.span.end), gap + hip.encode() + b" " + new)
                    yield Said(arguments[i].span, "standard", message, certainty, (edit,))
            elif name in ("LANGUAGE", "LINKER_LANGUAGE") and value == b"CUDA":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield Said(argument.span, "language", "HIP where USE_HIP is ON", edits=(edit,))
            elif name == "CUDA_SEPARABLE_COMPILATION" and value.decode(errors="replace").upper() not in _FALSE:
                yield from self._rdc(command, following, arguments[i], targets, _asked(value))
            elif name == "CUDA_SOURCE_PROPERTY_FORMAT" and command.name == "set_source_files_properties":
                files = b" ".join(source[each.span] for each in arguments[: first - 1])
                line = b"set_source_files_properties(" + files + b" PROPERTIES LANGUAGE HIP)"
                yield Said(arguments[i].span, "language", "FindCUDA takes these files for CUDA", instead=(line,))
            elif re.fullmatch(r"CUDA_(?:PTX|CUBIN|FATBIN|OPTIX)_COMPILATION", name):
                message = (
                    f"{name}: hipcc --genco makes a code object that hipModuleLoad loads; CMake has no property for it"
                )
                yield Said(arguments[i].span, "ptx", message, Certainty.MANUAL)

    def _rdc(
        self, command: Command, following: Command | None, at: Argument, targets: Sequence[bytes], asked: bytes
    ) -> Iterator[Said]:
        if following and b"USE_HIP" in self.source[following.inner] and b"-fgpu-rdc" in self._beyond(following):
            return
        if command.name == "set_property":
            if not targets or targets[0] != b"TARGET":
                return
            targets = [each for each in targets[1:] if each not in (b"APPEND", b"APPEND_STRING")]
        lines = [b"if(USE_HIP" + asked + b")"]
        for target in targets:
            lines.append(b"  target_compile_options(" + target + b" PRIVATE $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc>)")
            lines.append(b"  target_link_options(" + target + b" PUBLIC $<$<LINK_LANGUAGE:HIP>:-fgpu-rdc>)")
        yield Said(at.span, "rdc", _RDC, Certainty.REVIEW, after=(*lines, b"endif()"))

    def _beyond(self, command: Command) -> bytes:
        i = self.source.commands.index(command)
        return b"".join(self.source[each.inner] for each in self.source.commands[i : i + 3])

    def _features(self, command: Command, following: Command | None) -> Iterator[Said]:
        for argument in command.arguments[1:]:
            match = re.fullmatch(rb"cuda_std_(\d+)", self.source[argument.content])
            if match:
                old = match[1] in (b"03", b"11", b"14")
                hip = b"hip_std_17" if old else b"hip_std_" + match[1]
                new = b"$<IF:$<BOOL:${USE_HIP}>," + hip + b"," + match.group() + b">"
                message, certainty = self._old(match[1].decode()) if old else ("the same for HIP", Certainty.SAFE)
                yield Said(argument.span, "standard", message, certainty, (Edit(argument.content, new),))

    # What asks the machine

    def _probe(self, command: Command, following: Command | None) -> Iterator[Said]:
        source = self.source
        variable = text(source, command, 0)
        if command.name == "find_program" and searched(source, command) == ["nvcc"] and self._only_asked(variable):
            message = f"hipcc with HIP: {variable} only tells whether there is a compiler"
            line = f'find_program({variable} hipcc HINTS "$ENV{{ROCM_PATH}}/bin" /opt/rocm/bin)'
            yield Said(command.written, "probe", message, instead=(line.encode(),))
            return
        if command.name.startswith("exec") and b"version.cuda" in source[command.inner]:
            message = "torch.version.cuda is None on ROCm, where torch.version.hip is the release: ask for either"
            yield Said(command.written, "probe", message, Certainty.MANUAL)
            return
        pattern = _PROBE if command.name.startswith("exec") else _PROBED
        for argument in command.arguments[0 if command.name.startswith("exec") else 1 :]:
            said = source[argument.content]
            if argument.kind in ("unquoted", "quoted") and pattern.search(said) and b"${" not in said:
                what = said.decode("utf-8", "replace")
                message = f"{what} is not there on ROCm: put if(NOT USE_HIP) around it, or ask for ROCm's"
                yield Said(command.written, "probe", message, Certainty.MANUAL)
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

    def _find_file(self, command: Command, following: Command | None) -> Iterator[Said]:
        """find_library(CUDA_LIB cuda …), find_path(DIR cuda.h): what ROCm has, where it is linked anyway."""
        source = self.source
        variable, names = text(source, command, 0), searched(source, command)
        value = ""
        if command.name == "find_library" and names:
            rows = [row_of(f"CUDA::{name.removeprefix('lib').partition('.')[0]}") or {} for name in names]
            if len({row.get("target") for row in rows}) == 1 and "target" in rows[0] and self.libraries.finds(rows[0]):
                value = rows[0]["target"]
        elif names and all(name in ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h") for name in names):
            value = "${hip_INCLUDE_DIRS}"
        if not value:
            yield from self._probe(command, following)
            return
        message = f"{value} with HIP; assumes that {variable} is used for nothing else than building"
        lines: tuple[bytes, ...] = (f'set({variable} "{value}")'.encode(),)
        if command.name == "find_path":
            looked = any(
                each.name == "find_package" and text(source, each, 0) in ("CUDA", "CUDAToolkit")
                for each in source.commands
            )
            packages = [] if looked else self.libraries.packages()
            lines = (*(f"find_package({package} REQUIRED)".encode() for package in packages or ["hip"]), *lines)
        yield Said(command.written, "probe", message, Certainty.REVIEW, instead=lines)

    def _folders(self, command: Command, following: Command | None) -> Iterator[Said]:
        for argument in command.arguments:
            if _CUDA_FOLDER.match(self.source[argument.content]):
                message = (
                    "CUDA's folder is not there on ROCm: targets whose C++ files include HIP's headers link hip::host"
                )
                yield Said(argument.span, "cuda_path", message, Certainty.MANUAL)


_OLD = "rocPRIM, and with it hipCUB and rocThrust, need C++17 since ROCm 7"
_RDC = (
    "-fgpu-rdc for HIP, in compiling and in linking; assumes that CMake links with HIP's compiler what has device code"
)


PASS = Pass(CMake, find)

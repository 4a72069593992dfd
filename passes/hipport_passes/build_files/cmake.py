# SPDX-License-Identifier: Apache-2.0
"""Port CMake scripts: HIP becomes a language beside CUDA, and an option chooses.

`include(hipport/hipport.cmake)` gives a script the option USE_HIP, ON by default, and HIP_OR_CUDA, the language that it
chooses. With USE_HIP=OFF every command does the same as before. Code for one of the two stands in a condition, in a
generator expression, or in a variable that the other language does not read. So no line of the CUDA side is lost. A
script's own code for HIP is left alone. `.cu` files get the language HIP when all targets are known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.cmake_script import Argument, CMake, CMakeCommand
from hipport_passes.build_files.build_scripts.cmake_branches import BranchSaid, findings
from hipport_passes.build_files.build_scripts.cmake_flags import tells
from hipport_passes.build_files.build_scripts.cmake_libraries import TARGET, row_of
from hipport_passes.build_files.build_scripts.cmake_probes import CMakeProbes
from hipport_passes.build_files.build_scripts.cmake_trees import (
    FIND_CUDA,
    HELPER,
    MENTIONS,
    PUT_HERE,
    TORCH,
    ScriptFacts,
    Tree,
    decided,
    elsewhere,
    facts,
    is_helper,
    text,
)
from hipport_passes.build_files.nvcc_flags import ABI_BY_VARIABLE, OLD_ABI

_TABLE = Path(__file__).with_suffix(".toml")
_WORDS = Words.read(_TABLE, general=NAMES)
_MODULES = Path(__file__).parent / "cmake_modules"

# Commands of others that look for a package: rapids_find_package, find_dependency.
_FINDS = _WORDS.compile(r"\w+(?&finders_of_projects)|(?&finders)")
_VERSION = _WORDS.compile(r"(?:\$\{)?((?&releases))\}?")
_HAS_COMPILER = _WORDS.compile(rb"\$<(?&bool):\$\{(?&of_cmake)(?P<language>(?&cuda_in_macros))_COMPILER\}>")
# Code that has an effect where CUDA, or HIP in its place, is a language.
_FOR_LANGUAGE = _WORDS.compile(
    rb"\$<(?&language_conditions):(?&platforms_in_macros)\b"
    rb"|\b(?&of_cmake)(?&platforms_in_macros)_(?&language_settings)|(?&hip_or_cuda)"
)
_OF_TORCH = _WORDS.compile(rb"(?i)(?&torch)")
_ROCM_TARGET = _WORDS.compile(rb"\b(?&target) (?&rocm_targets)::")
# Variables that the language CUDA sets, and their replacements.
_OF_LANGUAGE = {
    "CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES": '"${hip_INCLUDE_DIRS}"',
    "CMAKE_CUDA_COMPILER_VERSION": "11.0",
    # Scripts have flags for nvcc under this condition, and the lines for HIP stand beside them.
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
_AS_CUDA_11 = "; where scripts ask for CUDA's compiler or version, HIP counts as nvcc 11.0, as in the code"


def find(source: CMake, project: Project) -> Iterator[Finding]:
    """Yield a finding per command that is for CUDA only."""
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
            message = "CMake cannot read this script either; port it by hand"
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


def _asked_for(source: CMake, command: CMakeCommand) -> Sequence[Argument]:
    """Return the arguments of project(), enable_language() and check_language() that may be languages."""
    if command.name != "project":
        return command.arguments
    listed = [i for i, each in enumerate(command.arguments) if source[each.span] == b"LANGUAGES"]
    if listed:
        return command.arguments[listed[0] + 1 :]
    # Without that word, all arguments are languages.
    return command.arguments[1:]


def _active(said: ScriptFacts) -> bool:
    """Return whether a script builds something with CUDA."""
    return said.language or said.find_cuda or said.find_toolkit or bool(said.links)


def _unguarded(source: CMake) -> Iterator[Finding]:
    """Report a script that handles HIP itself, but needs CUDA before it checks."""
    said = source.fact(facts)
    if not said.projects or not said.aware:
        return
    for command in source.commands:
        if command.name != "project" or source.around(command):
            continue
        for argument in command.arguments[1:]:
            if source[argument.span] == b"CUDA":
                message = (
                    "the script knows HIP, but needs CUDA here in any case: call enable_language(CUDA) only for CUDA"
                )
                yield Finding(argument.span, "language", message, (), Certainty.MANUAL)


def _no_project(source: CMake, tree: Tree) -> Iterator[Finding]:
    """Repair a topmost script that an earlier run has ported, and whose project() is lost, for example in a merge."""
    first = next((each for each in source.commands if each.name == "cmake_minimum_required"), None)
    needs = tree.ported or (_FOR_LANGUAGE.search(source.text) is not None and not tree.language)
    if first is None or not needs or any(each.projects or each.find_cuda for each in tree.said):
        return
    message = (
        "there is no project(), so CMake enables C and C++ only; perhaps a merge removed it: write project(NAME "
        "LANGUAGES CXX ${HIP_OR_CUDA})"
    )
    yield Finding(first.written, "project", message, (), Certainty.MANUAL)


# --- hipport's own scripts --------------------------------------------------------------------------------------------


@cache
def _module(name: str, archs: tuple[str, ...]) -> bytes:
    return (_MODULES / name).read_bytes().replace(b"@ARCHS@", ";".join(archs).encode())


def module(name: str, project: Project) -> bytes | None:
    """Return the text of one of hipport's scripts; None if there is none of that name."""
    return _module(name, project.target.archs) if (_MODULES / name).is_file() else None


def _file(tree: Tree, name: str, project: Project) -> NewFile:
    return NewFile(tree.home / "hipport" / name, _module(name, project.target.archs))


def _include(source: CMake, tree: Tree, name: str) -> bytes:
    path = os.path.relpath(tree.home / "hipport" / name, source.path.parent).replace(os.sep, "/")
    return f'include("${{CMAKE_CURRENT_LIST_DIR}}/{path}")'.encode()


def _option(source: CMake, tree: Tree, project: Project) -> Iterator[Finding]:
    """Add the include with the option where a project begins, or to the topmost script if none does."""
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
        # Commands before it may need it too, perhaps in another script.
        if each is first or each.name == "include" or MENTIONS.search(source[each.span]):
            first = source.around(each)[0][0] if source.around(each) else each
            break
    gone: tuple[Edit, ...] = ()
    if there is not None:
        # Commands that upstream has since put in front of it could not use it.
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
        (
            f"the option USE_HIP, ON by default: HIP for {archs}, or CUDA as before where it is OFF; needs CMake 3.21 "
            "for HIP"
        ),
        # The command itself may get lines in front, too.
        (Edit(Span(line, line), new, on_top=True), *gone),
        Certainty.SAFE,
        creates=tuple(
            _file(tree, name, project)
            for name, needed in ((HELPER, True), (FIND_CUDA, tree.find_cuda), (TORCH, tree.torch and tree.torch_names))
            if needed
        ),
    )


def _whole_line(source: CMake, command: CMakeCommand) -> Span:
    """Return the whole lines of the command if it stands alone on them; else its own span."""
    start, end = source.line_start(command.span.start), source.text.find(b"\n", command.span.end) + 1
    alone = end and not (source.text[start : command.span.start] + source.text[command.span.end : end]).strip()
    return Span(start, end) if alone else command.span


# --- Commands ---------------------------------------------------------------------------------------------------------


class _Script(CMakeProbes):
    """Findings on a script's commands."""

    @cached_property
    def commands(self) -> Mapping[str, Callable[[CMakeCommand, CMakeCommand | None], Iterator[BranchSaid]]]:
        """Return the functions that judge commands, by the commands' names."""
        return {
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

    def about(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        """Yield the findings on one command."""
        source, table = self.source, load(_TABLE)
        if command.name in table["command"]:
            yield BranchSaid(
                command.written, "find_cuda", f"{command.name}: {table['command'][command.name]}", Certainty.MANUAL
            )
            return
        if _FINDS.fullmatch(command.name) and text(source, command, 0) in ("CUDA", "CUDAToolkit"):
            packages = ", ".join(self.libraries.packages() or ["hip"])
            message = (
                f"{command.name} looks for CUDA: put if(NOT USE_HIP) around it, and find_package of {packages} "
                "beside it"
            )
            yield BranchSaid(command.written, "find_package", message, Certainty.MANUAL)
            return
        if command.name in self.commands:
            yield from self.commands[command.name](command, following)
        if command.name not in ("if", "elseif", "while", "message", "find_package"):
            yield from self.libraries.about(command)
            yield from self._abi(command)
        yield from self._run(command)
        yield from self._there(command)
        yield from self.options.about(command)

    def _there(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port `$<BOOL:${CMAKE_CUDA_COMPILER}>`, which asks for a compiler of the language."""
        for match in _HAS_COMPILER.finditer(self.source.text, command.inner.start, command.inner.end):
            edit = Edit(Span(*match.span("language")), b"${HIP_OR_CUDA}")
            yield BranchSaid(Span(*match.span()), "condition", "HIP's compiler where USE_HIP is ON", edits=(edit,))

    def _abi(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Report -D_GLIBCXX_USE_CXX11_ABI=0 in a tree that does not take the ABI from CMake's PyTorch package.

        In a tree that does, flags without it are written for HIP, unless a generator expression decides.
        """
        old = OLD_ABI.search(self.source.text, command.inner.start, command.inner.end)
        decided = old is not None and any(
            argument.span.start <= old.start() < argument.span.end and b"$<" in self.source[argument.span]
            for argument in command.arguments
        )
        if old is not None and (decided or not self.tree.torch):
            message = (
                "the old ABI of the C++ library: libraries on ROCm (PyTorch, ROCm's own) have the new one; put "
                "if(NOT USE_HIP) around it"
            )
            yield BranchSaid(Span(*old.span()), "abi", message, Certainty.MANUAL)
        for match in ABI_BY_VARIABLE.finditer(self.source.text, command.inner.start, command.inner.end):
            for setting in self.source.commands:
                words = [self.source[each.content] for each in setting.arguments]
                # Under a condition on a value of PyTorch, it is PyTorch's own ABI.
                asked = any(_OF_TORCH.search(self.source[e.inner]) for es in self.source.around(setting) for e in es)
                if setting.name == "set" and words[:2] == [match[1], b"0"] and not asked:
                    message = (
                        "the old ABI of the C++ library, for _GLIBCXX_USE_CXX11_ABI: PyTorch for ROCm and ROCm's "
                        "own libraries have the new one, which is 1; put if(NOT USE_HIP) around the line that sets "
                        "it"
                    )
                    yield BranchSaid(Span(*match.span()), "abi", message, Certainty.MANUAL)
                    break

    # Languages and packages

    def _language(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        """Port project(… CUDA), enable_language(CUDA) and check_language(CUDA)."""
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
            # An earlier run needed no package, and upstream links libraries now.
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
                # The variables that tell whether CUDA's toolkit was found follow hip.
                asked |= {name: value for name, value in _OF_TOOLKIT.items() if name in self.tree.variables}
                lines += [f"  set({name} {value})" for name, value in asked.items()]
            if any(name.endswith(("_VERSION", "_MAJOR", "_MINOR", "_ID")) for name in asked):
                certainty, message = Certainty.REVIEW, message + _AS_CUDA_11
        edits = tuple(Edit(each.content, b"${HIP_OR_CUDA}") for each in of_cuda)
        condition = f'if(USE_HIP AND "HIP" IN_LIST {named})' if named else "if(USE_HIP)"
        after = tuple(line.encode() for line in (condition, *lines, "endif()")) if lines else ()
        behind = source[Span(command.span.end, following.span.start)] if following else b""
        if edits or (after and not (following and source[following.span] == condition.encode() and not behind.strip())):
            yield BranchSaid(argument.span, "language", message, certainty, edits, None, after)

    def _languages_in_turn(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        """Port `foreach(language CXX CUDA)`, which sets CMAKE_${language}_FLAGS and the like."""
        source, variable = self.source, text(self.source, command, 0)
        items = [each for each in command.arguments[1:] if source[each.content] == b"CUDA"]
        inside = [each for each in source.commands if any(block[0] is command for block in source.around(each))]
        by_name = re.compile(rb"CMAKE_\$\{" + re.escape(variable.encode()) + rb"\}_")
        if not items or not any(by_name.search(source[each.inner]) for each in inside):
            return
        edits = tuple(Edit(each.content, b"${HIP_OR_CUDA}") for each in items)
        message, certainty = "HIP where USE_HIP is ON", Certainty.SAFE
        if any(tells(source, each.arguments[1:], False) for each in inside):
            message += "; with the flags of the loop, which stay nvcc's except where a message says otherwise"
            certainty = Certainty.REVIEW
        yield BranchSaid(items[0].span, "language", message, certainty, edits)

    def _find_package(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        source = self.source
        name = text(source, command, 0)
        words = {source[argument.span] for argument in command.arguments}
        how = "".join(f" {word}" for word in ("QUIET", "REQUIRED") if word.encode() in words)
        instead: list[str] = []
        certainty = Certainty.SAFE
        if name in ("CUDA", "CUDAToolkit"):
            packages = self.libraries.packages() or ["hip"]
            instead = [f"find_package({package}{how})" for package in packages]
            message = f"ROCm's packages in place of CUDA's: {', '.join(packages)}"
            if name == "CUDA":
                in_function = any(block[0].name == "function" for block in source.around(command))
                if in_function and not self.tree.find_cuda and not self.tree.language:
                    message = (
                        "HIP can be enabled only at the top of a script, not in a function: move project() or "
                        "enable_language() there"
                    )
                    yield BranchSaid(command.written, "find_package", message, Certainty.MANUAL)
                    return
                instead.append(f'include("${{HIPPORT_FOLDER}}/{FIND_CUDA}")')
                message += f"; other names of FindCUDA that the scripts use are in hipport/{FIND_CUDA}"
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
            message = f"ROCm's: {', '.join(packages)}"
        elif name in load(_TABLE)["no_package"]:
            yield BranchSaid(
                command.written, "find_package", f"{name}: {load(_TABLE)['no_package'][name]}", Certainty.MANUAL
            )
            return
        else:
            return
        lines = tuple(line.encode() for line in instead)
        yield BranchSaid(command.written, "find_package", message, certainty, (), lines)

    def lacking(self) -> Iterator[Finding]:
        """Yield the packages that upstream needs since an earlier run, in addition to those that the run added."""
        source = self.source
        packages = self.libraries.packages()
        looked = {text(source, each, 0): each for each in source.commands if each.name == "find_package"}
        first = looked.get("hip")
        if first is None or not self.tree.ported or not source.around(first):
            return
        if source[source.around(first)[-1][0].inner].split()[:1] != [b"USE_HIP"]:
            return
        # Where the script searches for a file, HIP is found only for its folders.
        following = source.commands[source.commands.index(first) :]
        other = following[next((i for i, each in enumerate(following) if each.name == "else"), -1) + 1 :]
        if other and other[0].name in ("find_path", "find_library"):
            return
        how = source.text[first.inner.start : first.inner.end].partition(b"hip")[2]
        lines: dict[CMakeCommand, bytes] = {}
        lacking = []
        for before, package in pairwise(packages):
            behind = looked.setdefault(package, looked[before])
            if text(source, behind, 0) != package:
                lacking.append(package)
                indent = source.text[source.line_start(behind.span.start) : behind.span.start]
                line = source.newline + indent + b"find_package(" + package.encode() + how + b")"
                lines[behind] = lines.get(behind, b"") + line
        if lacking:
            message = f"ROCm's packages for the libraries linked so far: {', '.join(lacking)}"
            edits = tuple(Edit(Span(each.span.end, each.span.end), new) for each, new in lines.items())
            yield Finding(first.written, "find_package", message, edits)

    def _converted(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port PyTorch's names for CUDA in sources that CMake builds: configuring runs PyTorch's converter."""
        files = self.tree.torch_names
        if files and "Torch" not in self.told and f"/{TORCH}".encode() not in self.source.text:
            self.told.add("Torch")
            who = f"{files[0]} and {len(files) - 1} more use" if len(files) > 1 else f"{files[0]} uses"
            message = (
                f"{who} PyTorch's names for CUDA (c10/cuda, ATen/cuda), which have other names in a PyTorch for "
                "ROCm: with HIP, CMake runs PyTorch's own converter, as PyTorch does when it builds extensions; it "
                "stops where Python has no PyTorch, or where the converter cannot write beside the sources"
            )
            after = (b"if(USE_HIP)", f'  include("${{HIPPORT_FOLDER}}/{TORCH}")'.encode(), b"endif()")
            yield BranchSaid(command.written, "torch_names", message, after=after)

    def _include(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        name = text(self.source, command, 0)
        if name.startswith("FindCUDA"):
            yield BranchSaid(command.written, "find_cuda", f"{name} looks for nvcc: skipped with HIP", instead=())

    def _archs(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        """Yield uses of FindCUDA/select_compute_arch, which CMAKE_HIP_ARCHITECTURES replaces."""
        # hipport's find_cuda.cmake defines the function that makes flags.
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
            f"{variable} is empty with HIP, where CMAKE_HIP_ARCHITECTURES names the architectures; assumes that it "
            "is for nvcc"
        )
        yield BranchSaid(command.written, "archs", message, Certainty.REVIEW, instead=(f'set({variable} "")'.encode(),))

    # Conditions

    def _condition(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        source, arguments = self.source, command.arguments
        for i, argument in enumerate(arguments):
            said = source[argument.content]
            after = source[arguments[i + 1].span] if i + 1 < len(arguments) else b""
            if said in (b"CMAKE_CUDA_COMPILER", b"CMAKE_CUDA_COMPILER_LOADED", b"${CMAKE_CUDA_COMPILER}"):
                if after in (b"", b"AND", b"OR", b")"):
                    at = argument.content.start + said.index(b"CUDA_")
                    edit = Edit(Span(at, at + 4), b"${HIP_OR_CUDA}")
                    if argument.kind != "bracket":
                        yield BranchSaid(
                            argument.span, "condition", "HIP's compiler where USE_HIP is ON", edits=(edit,)
                        )
            elif said == b"CUDA" and after == b"IN_LIST":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield BranchSaid(argument.span, "condition", "HIP where USE_HIP is ON", edits=(edit,))
            elif i and source[arguments[i - 1].span] == b"TARGET" and TARGET.fullmatch(said):
                row = row_of(said.decode(errors="replace"))
                asked = _ROCM_TARGET.search(source[command.inner])
                if row and "target" in row and said.decode(errors="replace") not in self.tree.defines and not asked:
                    others = row["target"].split(";")
                    either = " AND ".join(f"TARGET {other}" for other in others)
                    start, end = arguments[i - 1].span.start, argument.span.end
                    # Parentheses go around the condition, because there may be a comment inside.
                    edits = (Edit(Span(start, start), b"("), Edit(Span(end, end), f" OR {either})".encode()))
                    yield BranchSaid(argument.span, "condition", f"{' and '.join(others)} with HIP", edits=edits)
            elif (match := _VERSION.fullmatch(said.decode("utf-8", "replace"))) and after.startswith(
                (b"VERSION_", b"LESS", b"GREATER", b"EQUAL", b"MATCHES")
            ):
                if self._given(match[1]) or match[1] in self.told:
                    continue
                self.told.add(match[1])
                message = (
                    f"{match[1]} has no value with HIP and is less than any version: say what HIP has to do, here "
                    "and below"
                )
                yield BranchSaid(argument.span, "version", message, Certainty.MANUAL)

    def _given(self, variable: str) -> bool:
        if variable.startswith("CUDAToolkit"):
            return variable in _OF_TOOLKIT and any(said.find_toolkit for said in self.tree.said)
        if variable.startswith("CMAKE"):
            return self.tree.language
        return self.tree.find_cuda


PASS = Pass(CMake, find, module=module)

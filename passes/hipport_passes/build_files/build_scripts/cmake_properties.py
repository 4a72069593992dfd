# SPDX-License-Identifier: Apache-2.0
"""Variables and properties of a CMake script for the language CUDA, and their counterparts for HIP."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty
from hipport.program.project import Project
from hipport.syntax.cmake_script import Argument, CMake, CMakeCommand
from hipport_passes.build_files.build_scripts.cmake_branches import BranchSaid, split
from hipport_passes.build_files.build_scripts.cmake_libraries import Libraries
from hipport_passes.build_files.build_scripts.cmake_options import OF_LANGUAGE, CMakeOptions
from hipport_passes.build_files.build_scripts.cmake_trees import (
    WORDS,
    Tree,
    language_variables,
    text,
)
from hipport_passes.build_files.build_scripts.standards import assumed

_STANDARD = WORDS.compile(r"(?&of_cmake_for_cuda)(?&language_properties)")
_PROPERTY = WORDS.compile(r"(?&cuda_in_macros)_(?&target_properties)")

_FALSE = frozenset("OFF NO FALSE N 0 IGNORE".split())

_OLD = "rocPRIM, hipCUB and rocThrust need C++17 since ROCm 7"
_RDC = (
    "-fgpu-rdc for HIP, when compiling and when linking; assumes that CMake links files with device code by HIP's "
    "compiler"
)


class CMakeProperties:
    """Findings on variables and properties."""

    def __init__(self, source: CMake, tree: Tree, project: Project) -> None:
        self.source = source
        self.tree = tree
        self.project = project
        self.libraries = Libraries(source, tree)
        self.options = CMakeOptions(source, tree, project.target.rocm)
        self.told: set[str] = set()

    def _variable(self, command: CMakeCommand) -> str:
        return text(self.source, command, 0 if command.name == "set" else 1)

    def _result(self, command: CMakeCommand) -> str:
        """Return the variable that list() or string() writes its result to, or ""."""
        said = [text(self.source, command, i) for i in range(3)]
        if command.name == "list":
            return text(self.source, command, 3) if said[0] == "JOIN" else ""
        places = {"JOIN": 2, "STRIP": 2, "REPLACE": 3, "REGEX": 4 if said[1] == "REPLACE" else 3}
        at = places.get(said[0]) if command.name == "string" else None
        return text(self.source, command, at) if at is not None else ""

    def _set(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
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
                yield BranchSaid(command.written, "standard", *self._old(value), after=(b"set(CMAKE_HIP_STANDARD 17)",))
                return
            at = command.arguments[0].content.start + len("CMAKE_")
            edit = Edit(Span(at, at + 4), b"${HIP_OR_CUDA}")
            yield BranchSaid(command.arguments[0].span, "standard", "the same for HIP", edits=(edit,))
        elif variable in ("CMAKE_CUDA_SEPARABLE_COMPILATION", "CUDA_SEPARABLE_COMPILATION"):
            value = text(source, command, 1).upper()
            if len(command.arguments) < 2:
                return  # The command that unsets it.
            # With FindCUDA, hipport's commands read it.
            if value in _FALSE or (variable.startswith("CUDA") and self.tree.find_cuda):
                return
            if b"-fgpu-rdc" in self._beyond(command):
                return
            asked = _asked(source[command.arguments[1].content])
            after = (b"if(USE_HIP" + asked + b")", b'  string(APPEND CMAKE_HIP_FLAGS " -fgpu-rdc")', b"endif()")
            yield BranchSaid(command.written, "rdc", _RDC, Certainty.REVIEW, after=after)

    def _listed(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port `set(languages CXX CUDA)` and `list(APPEND languages CUDA)` for a variable that project() uses."""
        source = self.source
        if self._variable(command) not in source.fact(language_variables):
            return
        for argument in command.arguments[1 if command.name == "set" else 2 :]:
            if source[argument.content] == b"CUDA":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield BranchSaid(argument.span, "language", "HIP where USE_HIP is ON", edits=(edit,))

    def _languages(self, argument: Argument) -> str:
        """Return the variable that is the whole argument, if its value has CUDA among languages."""
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

    def _old(self, standard: str) -> tuple[str, Certainty]:
        """Return the message on a standard before C++17, and its certainty."""
        said = assumed(self.tree.sources, standard)
        return _OLD + said, Certainty.REVIEW if said else Certainty.SAFE

    def _properties(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        source, arguments = self.source, command.arguments
        said = [source[argument.content] for argument in arguments]
        marker = b"PROPERTY" if command.name == "set_property" else b"PROPERTIES"
        if marker not in said:
            return
        if b"(" in said:
            # The copy for HIP would take single arguments, and a bracketed text is more than one.
            for name in (each.decode("utf-8", "replace") for each in said):
                if _PROPERTY.fullmatch(name):
                    message = (
                        f"{name} is not copied for HIP, because its arguments contain brackets: set it for HIP by hand"
                    )
                    yield BranchSaid(command.written, "brackets", message, Certainty.MANUAL)
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
                    yield BranchSaid(
                        arguments[i].span, "standard", message, certainty, after=tuple(split(source, command, line))
                    )
                else:
                    gap = source.text[arguments[i - 1].span.end : arguments[i].span.start]
                    gap = gap if not gap.strip() else b" "
                    edit = Edit(Span(argument.span.end, argument.span.end), gap + hip.encode() + b" " + new)
                    yield BranchSaid(arguments[i].span, "standard", message, certainty, (edit,))
            elif name in ("LANGUAGE", "LINKER_LANGUAGE") and value == b"CUDA":
                edit = Edit(argument.content, b"${HIP_OR_CUDA}")
                yield BranchSaid(argument.span, "language", "HIP where USE_HIP is ON", edits=(edit,))
            elif name == "CUDA_SEPARABLE_COMPILATION" and value.decode(errors="replace").upper() not in _FALSE:
                yield from self._rdc(command, following, arguments[i], targets, _asked(value))
            elif name == "CUDA_SOURCE_PROPERTY_FORMAT" and command.name == "set_source_files_properties":
                files = b" ".join(source[each.span] for each in arguments[: first - 1])
                line = b"set_source_files_properties(" + files + b" PROPERTIES LANGUAGE HIP)"
                yield BranchSaid(
                    arguments[i].span, "language", "FindCUDA compiles these files as CUDA", instead=(line,)
                )
            elif name in WORDS["compilations"].split():
                message = (
                    f"{name}: hipcc --genco makes a code object that hipModuleLoad loads; CMake has no property for it"
                )
                yield BranchSaid(arguments[i].span, "ptx", message, Certainty.MANUAL)

    def _rdc(
        self,
        command: CMakeCommand,
        following: CMakeCommand | None,
        at: Argument,
        targets: Sequence[bytes],
        asked: bytes,
    ) -> Iterator[BranchSaid]:
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
        yield BranchSaid(at.span, "rdc", _RDC, Certainty.REVIEW, after=(*lines, b"endif()"))

    def _beyond(self, command: CMakeCommand) -> bytes:
        i = self.source.commands.index(command)
        return b"".join(self.source[each.inner] for each in self.source.commands[i : i + 3])

    def _features(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        for argument in command.arguments[1:]:
            match = re.fullmatch(rb"cuda_std_(\d+)", self.source[argument.content])
            if match:
                old = match[1] in (b"03", b"11", b"14")
                hip = b"hip_std_17" if old else b"hip_std_" + match[1]
                new = b"$<IF:$<BOOL:${USE_HIP}>," + hip + b"," + match.group() + b">"
                message, certainty = self._old(match[1].decode()) if old else ("the same for HIP", Certainty.SAFE)
                yield BranchSaid(argument.span, "standard", message, certainty, (Edit(argument.content, new),))


def _asked(value: bytes) -> bytes:
    """Return the condition to add where a variable decides whether the property is on."""
    match = re.fullmatch(rb"\$\{(\w+)\}", value)
    return b" AND " + match[1] if match else b""

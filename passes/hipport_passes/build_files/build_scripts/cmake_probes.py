# SPDX-License-Identifier: Apache-2.0
"""Questions that a CMake script asks about the machine and that ROCm does not answer: programs, files, compilations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hipport.core.edits import Edit
from hipport.core.finding import Certainty
from hipport.core.tables import Words
from hipport.syntax.build_names import NAMES
from hipport.syntax.cmake_script import CMakeCommand
from hipport_passes.build_files import nvidia_tools
from hipport_passes.build_files.build_scripts.cmake_branches import BranchSaid
from hipport_passes.build_files.build_scripts.cmake_libraries import row_of
from hipport_passes.build_files.build_scripts.cmake_properties import CMakeProperties
from hipport_passes.build_files.build_scripts.cmake_trees import (
    searched,
    text,
)

_CUDA_FOLDER = NAMES.compile(rb"(?&cuda_folders)(?:[-/0-9]|$)")
_WORDS = Words.read(Path(__file__).parents[1] / "cmake.toml", general=NAMES)
_RUNS_NVCC = _WORDS.compile(r"(?:.*/)?(?&nvcc)|\$\{(?&nvcc_variables)\}")
_PROBE = _WORDS.compile(rb"\b(?&nvcc)\b|(?&probes)")
_PROBED = _WORDS.compile(rb"\b(?:(?&probed_headers)\.h|(?&probed))\b")


class CMakeProbes(CMakeProperties):
    """Findings on questions to the machine."""

    def _run(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Report a tool of NVIDIA's behind COMMAND: of a target, of a test, or while CMake runs."""
        if command.name not in ("add_custom_target", "add_custom_command", "add_test", "execute_process"):
            return
        words = [(self.source[each.content].decode("utf-8", "replace"), each.span) for each in command.arguments]
        for (word, _), *rest in (words[i:] for i in range(len(words) - 1)):
            found = nvidia_tools.run_by([said for said, _ in rest]) if word == "COMMAND" else None
            # `_probe` reports tools under their own names in commands that CMake runs.
            probed = command.name == "execute_process" and "${" not in rest[0][0]
            if word == "COMMAND" and _RUNS_NVCC.fullmatch(rest[0][0]) and not probed:
                message = (
                    "runs nvcc, which ROCm does not have: put if(NOT USE_HIP) around it, and run hipcc for the "
                    "same otherwise"
                )
                yield BranchSaid(rest[0][1], "nvcc", message, Certainty.MANUAL)
            if found is not None:
                message = nvidia_tools.told(found[1])
                yield BranchSaid(
                    rest[found[0]][1], "tool", f"{message}; put if(NOT USE_HIP) around it", Certainty.MANUAL
                )

    def _tried(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        """Report try_compile and try_run of a .cu file, whose suffix makes CMake compile it as CUDA."""
        for argument in command.arguments[1:]:
            if self.source[argument.content].endswith(b".cu"):
                message = (
                    f"{command.name} compiles a .cu file as CUDA, which is not enabled where USE_HIP is ON: give it "
                    "a copy named .hip there"
                )
                if command.name == "try_run":
                    message += ", or ask ROCm's tools; try_run works only where there is a GPU"
                yield BranchSaid(argument.span, "try", message, Certainty.MANUAL)

    def _checked(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        """Report check_source_compiles(CUDA …) and the like."""
        first = command.arguments[0] if command.arguments else None
        if first is not None and self.source[first.content] == b"CUDA":
            message = "the check uses HIP's compiler where USE_HIP is ON; assumes that it is not only about nvcc"
            edit = Edit(first.content, b"${HIP_OR_CUDA}")
            yield BranchSaid(first.span, "check", message, Certainty.REVIEW, (edit,))

    def _probe(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        source = self.source
        variable = text(source, command, 0)
        if command.name == "find_program" and searched(source, command) == ["nvcc"] and self._only_asked(variable):
            message = f"hipcc with HIP: the script only tests whether {variable} was found"
            line = f'find_program({variable} hipcc HINTS "$ENV{{ROCM_PATH}}/bin" /opt/rocm/bin)'
            yield BranchSaid(command.written, "probe", message, instead=(line.encode(),))
            return
        if command.name.startswith("exec") and b"version.cuda" in source[command.inner]:
            message = (
                "torch.version.cuda is None on ROCm, where torch.version.hip is the release: ask for either of them"
            )
            yield BranchSaid(command.written, "probe", message, Certainty.MANUAL)
            return
        pattern = _PROBE if command.name.startswith("exec") else _PROBED
        for argument in command.arguments[0 if command.name.startswith("exec") else 1 :]:
            said = source[argument.content]
            if argument.kind in ("unquoted", "quoted") and pattern.search(said) and b"${" not in said:
                what = said.decode("utf-8", "replace")
                message = f"{what} does not exist on ROCm: put if(NOT USE_HIP) around it, or ask for ROCm's"
                yield BranchSaid(command.written, "probe", message, Certainty.MANUAL)
                return

    def _only_asked(self, variable: str) -> bool:
        """Return whether a variable is only used in conditions and messages."""
        scripts = [each for each in self.tree.scripts if variable.encode() in each.text]
        return all(
            command.name in ("if", "elseif", "message", "find_program", "mark_as_advanced")
            for script in scripts
            for command in script.commands
            if variable.encode() in script[command.inner]
        )

    def _find_file(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        """Port find_library(CUDA_LIB cuda …), find_path(DIR cuda.h): ROCm's counterpart, if it is linked anyway."""
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
        message = f"{value} with HIP; assumes that {variable} is used only to build"
        lines: tuple[bytes, ...] = (f'set({variable} "{value}")'.encode(),)
        if command.name == "find_path":
            looked = any(
                each.name == "find_package" and text(source, each, 0) in ("CUDA", "CUDAToolkit")
                for each in source.commands
            )
            packages = [] if looked else self.libraries.packages()
            lines = (*(f"find_package({package} REQUIRED)".encode() for package in packages or ["hip"]), *lines)
        yield BranchSaid(command.written, "probe", message, Certainty.REVIEW, instead=lines)

    def _folders(self, command: CMakeCommand, following: CMakeCommand | None) -> Iterator[BranchSaid]:
        for argument in command.arguments:
            if _CUDA_FOLDER.match(self.source[argument.content]):
                message = (
                    "CUDA's folder does not exist on ROCm: link hip::host to targets whose C++ files include HIP's "
                    "headers"
                )
                yield BranchSaid(argument.span, "cuda_path", message, Certainty.MANUAL)

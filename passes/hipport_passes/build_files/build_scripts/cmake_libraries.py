# SPDX-License-Identifier: Apache-2.0
"""Libraries that a CMake script links: CUDA's imported targets and linker names, and their counterparts in ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty
from hipport.core.tables import Words, load
from hipport.syntax.build_names import NAMES
from hipport.syntax.cmake_script import CMake, CMakeCommand, GeneratorExpression
from hipport_passes.build_files.build_scripts.cmake_branches import BranchSaid
from hipport_passes.build_files.build_scripts.cmake_trees import PACKAGES, Tree, links, text
from hipport_passes.build_files.nvcc_flags import library

_TABLE = Path(__file__).parents[1] / "cmake.toml"
_IN_FOLDER = Words.read(_TABLE, general=NAMES).compile(r"(?&cuda).*/lib(?&in_folder)\b")

# Places where CMake evaluates no generator expressions: in commands, and in variables for flags.
_NO_EXPRESSIONS = frozenset("add_library get_target_property get_property foreach string install".split())
_FLAGS = NAMES.compile(r"(?&of_cmake)((?&platforms_in_macros))_FLAGS")
_OPTION = re.compile(rb"(?<=[\s\":;])-l(\w+)(?=[\s\");>]|\Z)")
#: An imported target of CUDA's; nothing follows `::` where a variable names it.
TARGET = re.compile(rf"\b{PACKAGES}::(?:\w+|(?=\$))".encode())

_PREFIX = re.compile(rb"\bPREPEND\s+\"?(CUDA::)\"?(?=\s|\Z)")


def row_of(name: str) -> dict[str, str] | None:
    """Return the row of the table for an imported target, or None."""
    package, _, target = name.partition("::")
    table = load(_TABLE)
    if package != "CUDA":
        found: dict[str, str] | None = table["other"].get(name)
        return found
    row: dict[str, str] | None = table["target"].get("npp" if target.startswith("npp") else target)
    return row


class Libraries:
    """Findings on the libraries in a script's commands."""

    def __init__(self, source: CMake, tree: Tree) -> None:
        self.source = source
        self.tree = tree

    def about(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Yield the findings on the libraries that a command names."""
        yield from self._targets(command)
        yield from self._libraries(command)
        yield from self._of_torch(command)
        yield from self._by_options(command)

    def packages(self) -> list[str]:
        """Return the packages that provide the libraries that the tree links; none if it links nothing."""
        found: dict[str, None] = {}
        for name in sorted(self.tree.targets):
            row = row_of(name) or {}
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
        return ["hip", *(package for package in found if package != "hip")] if found else []

    def _targets(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port CUDA::cublas and the like, wherever they are named."""
        source = self.source
        if command.name == "list" and text(source, command, 0) not in ("APPEND", "PREPEND", "INSERT"):
            # Removing an item that is not in the list does no harm.
            if text(source, command, 0) == "TRANSFORM" and (match := _PREFIX.search(source[command.inner])):
                start = command.inner.start
                message = (
                    "the names of these CUDA libraries are computed when CMake runs: name ROCm's libraries where "
                    "USE_HIP is ON"
                )
                span = Span(start + match.start(1), start + match.end(1))
                yield BranchSaid(span, "target", message, Certainty.MANUAL)
            return
        start, end = command.inner.start, command.inner.end
        flags = _FLAGS.match(text(source, command, 0 if command.name == "set" else 1))
        for match in TARGET.finditer(source.code, start, end):
            name = match.group().decode()
            span = Span(*match.span())
            if name in self.tree.defines or self._chosen(command, span):
                continue
            if name.endswith("::"):
                message = (
                    "the name of this CUDA library is computed when CMake runs: name ROCm's library where USE_HIP is ON"
                )
                yield BranchSaid(span, "target", message, Certainty.MANUAL)
                continue
            row = row_of(name)
            if row is None or "why" in row:
                why = row["why"] if row else "hipport does not know ROCm's name for it"
                yield BranchSaid(span, "target", f"{name}: {why}", Certainty.MANUAL)
            elif flags is not None and flags[1] == "HIP":
                continue  # In the copy of CUDA's flags, which has its own message.
            elif flags is not None or command.name in _NO_EXPRESSIONS:
                message = (
                    f"{name}: {row.get('target', 'nothing')} with HIP, but CMake allows no generator expression here: "
                    "put if(USE_HIP) around it"
                )
                yield BranchSaid(span, "target", message, Certainty.MANUAL)
            else:
                yield self._linked(span, name, row)

    def _by_options(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port -lcublas among options for the linker."""
        as_options = command.name in ("target_link_options", "add_link_options")
        if not as_options and not (command.name == "set" and "LINKER_FLAGS" in text(self.source, command, 0)):
            return
        for match in _OPTION.finditer(self.source.text, command.inner.start, command.inner.end):
            span, name = Span(*match.span()), match[1].decode()
            found = library(name)
            if found is None or self._chosen(command, span):
                continue
            hip, why = found
            if why:
                yield BranchSaid(span, "library", f"-l{name}: {why}", Certainty.MANUAL)
                continue
            said = f"-l{hip} with HIP" if hip else "not needed with HIP"
            if as_options:
                new = f"$<IF:$<BOOL:${{USE_HIP}}>,{f'-l{hip}' if hip else ''},-l{name}>"
                message = f"{said}; assumes that the linker finds it"
                yield BranchSaid(span, "library", message, Certainty.REVIEW, (Edit(span, new.encode()),))
            else:
                yield BranchSaid(span, "library", f"{said}: put if(USE_HIP) around it", Certainty.MANUAL)

    def _linked(self, span: Span, name: str, row: dict[str, str]) -> BranchSaid:
        if "target" in row:
            hip = row["target"].replace(";", "$<SEMICOLON>")
            new = f"$<IF:$<BOOL:${{USE_HIP}}>,{hip},{name}>"
            return BranchSaid(
                span, "target", f"{row['target'].replace(';', ' and ')} with HIP", edits=(Edit(span, new.encode()),)
            )
        if "link" in row:
            new = f"$<IF:$<BOOL:${{USE_HIP}}>,{row['link']},{name}>"
            message = f"{row['link']} with HIP; assumes that the linker finds it, as it has no package"
            return BranchSaid(span, "target", message, Certainty.REVIEW, (Edit(span, new.encode()),))
        new = f"$<$<NOT:$<BOOL:${{USE_HIP}}>>:{name}>"
        return BranchSaid(span, "target", "not needed with HIP", edits=(Edit(span, new.encode()),))

    def _chosen(self, command: CMakeCommand, span: Span) -> bool:
        """Return whether a place is in a generator expression that asks for HIP."""

        def around(expressions: Sequence[GeneratorExpression]) -> Iterator[GeneratorExpression]:
            for each in expressions:
                if each.span.start <= span.start < each.span.end:
                    yield each
                    yield from around(each.inside)

        return any(
            b"USE_HIP" in self.source[each.span] or b":HIP" in self.source[each.span]
            for each in around(tuple(self.source.expressions(command.inner)))
        )

    def _libraries(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port libraries by their linker names: `cudart`, `-lcublas`."""
        source = self.source
        first = links(source, command)
        if not first or (command.name in ("set", "list") and self._prefixed(text(source, command, first - 1))):
            return
        for argument in command.arguments[first:]:
            said = source[argument.span].decode("utf-8", "replace")
            if argument.kind != "unquoted" or said in self.tree.defines:
                continue
            if _IN_FOLDER.search(said):
                yield BranchSaid(
                    argument.span,
                    "library",
                    f"{said}: link ROCm's library by its target, for example hip::host",
                    Certainty.MANUAL,
                )
                continue
            name = said.removeprefix("-l")
            if library(name) is None and name not in load(_TABLE)["target"]:
                continue
            if not said.startswith("-l") and not name.startswith(("cu", "nv", "nccl")):
                continue
            row = row_of("NCCL::nccl" if name == "nccl" else f"CUDA::{name}")
            if row is None or "why" in row:
                found = library(name)
                why = row["why"] if row else found[1] if found else ""
                if why:
                    yield BranchSaid(argument.span, "library", f"{said}: {why}", Certainty.MANUAL)
            elif not row or "link" in row or self.finds(row):
                each = self._linked(argument.span, said, row)
                each.kind = "library"
                yield each
            else:
                message = f"{said}: {row['target']} with HIP, after find_package({row['package']})"
                yield BranchSaid(argument.span, "library", message, Certainty.MANUAL)

    def _prefixed(self, variable: str) -> bool:
        """Return whether a variable holds parts of target names: `CUDA::${library}`."""
        source = self.source
        names = {variable}
        for command in source.commands:
            words = [text(source, command, i) for i in range(1, len(command.arguments))]
            if command.name == "foreach" and {variable, f"${{{variable}}}"} & set(words):
                names.add(text(source, command, 0))
            if command.name == "list" and words[:1] == [variable] and _PREFIX.search(source[command.inner]):
                return True
        return any(b"::${" + name.encode() + b"}" in source.text for name in names)

    def _of_torch(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port torch_cuda and c10_cuda, which have other names in a PyTorch for ROCm."""
        source = self.source
        found = [each for each in command.arguments if source[each.content] in (b"torch_cuda", b"c10_cuda")]
        if not found:
            return
        message = "PyTorch's own target, which has another name in a PyTorch for ROCm"
        puts = {each.content: source[each.content].replace(b"cuda", b"hip") for each in found}
        if links(source, command):
            for span, hip in puts.items():
                new = b"$<IF:$<BOOL:${USE_HIP}>," + hip + b"," + source[span] + b">"
                yield BranchSaid(span, "torch", message, edits=(Edit(span, new),))
        else:
            yield BranchSaid(found[0].span, "torch", message, copy=tuple(puts.items()))

    def finds(self, row: dict[str, str]) -> bool:
        """Return whether the ported tree looks for a library's package."""
        return (self.tree.finds or self.tree.language) and row["package"] in self.packages()

# SPDX-License-Identifier: Apache-2.0
"""LLVM's answers about the collectives and barriers of a unit: which branches decide whether lanes reach each of them.

The unit is compiled for the device once more, without optimization, and LLVM's uniformity analysis is applied to the
result (`uniformity_analysis`). The answer is cached under a hash of all input, like compilations.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path, PurePath
from typing import Any

from hipport.building.compiler_messages import SourcePlaces, parse
from hipport.building.digests import Digests, digest_of, keep_states, load_states
from hipport.building.units import Unit
from hipport.core.reading import is_file, read_or_nothing
from hipport.program import own_headers
from hipport.program.project import Target
from hipport.toolchain.control_dependence import all_deciding, deciding, leading
from hipport.toolchain.device_code import CodeBlock, CodeCall
from hipport.toolchain.processes import Box, run_contained
from hipport.toolchain.toolchains import Toolchain
from hipport.toolchain.uniformity_analysis import (
    FLAGS,
    LlvmVerdict,
    NotAnalysed,
    Opt,
    is_barrier,
    is_collective,
    is_own,
    is_unseen,
    name_of,
    proven,
    varying_in_block,
    varying_in_warp,
)

_FORMAT = 11
_STATES = 4


@dataclass(frozen=True)
class Branch:
    """A branch that decides whether lanes reach a collective, at the place that the user wrote.

    `inside`: whether it is in the tree, and not in a header of others. `proven`: LLVM proves that all lanes of a
    wavefront take the same side. `varies_in_block`, `varies_in_warp`: it depends on the number of a thread, such that
    the threads of a block, or of a warp, may diverge, independent of what LLVM does not know. `number` identifies the
    branch within its kernel.
    """

    path: PurePath
    line: int
    column: int
    inside: bool
    proven: bool
    varies_in_block: bool
    varies_in_warp: bool
    number: int = 0


@dataclass(frozen=True)
class ReachedSite:
    """A collective or a barrier in a kernel, at the place that the user wrote, and the branches on which it depends.

    A branch is left out if at most one of its sides leads to such calls, because it only decides which lanes are done
    with them. `sides` are the numbers of branches, each with the side that leads here; `mask` is the lanes that it
    names, if it is a number. `behind`: some lanes may have stayed at an earlier call; on a GPU on which they wait
    there, they would meet these lanes here.
    """

    name: str
    barrier: bool
    path: PurePath
    line: int
    column: int
    kernel: str
    branches: tuple[Branch, ...]
    sides: tuple[tuple[int, int], ...] = ()
    mask: int | None = None
    behind: bool = False

    @property
    def proven(self) -> bool:
        """Whether LLVM proves that all lanes of a wavefront reach it together, and all such calls before it."""
        return not self.behind and all(branch.proven for branch in self.branches)


@dataclass(frozen=True)
class UnitProof:
    """The answer for one unit and target; `why_not` says why there is none.

    `apart` are functions with such calls whose callers are not all seen: through pointers, or recursive.
    """

    path: PurePath
    target: str
    seconds: float
    cached: bool
    reached: tuple[ReachedSite, ...] = ()
    apart: tuple[str, ...] = ()
    why_not: str = ""


def judged_targets(archs: Sequence[str]) -> tuple[str, ...]:
    """Return the first architecture for each wavefront size: others have the same code and the same answers."""
    found: dict[frozenset[int], str] = {}
    for arch in archs:
        found.setdefault(Target(archs=(arch,)).wavefronts, arch)
    return tuple(found.values())


def find_opt(toolchain: Toolchain, env: Mapping[str, str], timeout: float) -> Opt | str:
    """Return the opt of a toolchain's LLVM, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        command = [str(toolchain.hipcc), "-print-prog-name=opt"]
        status, said = run_contained(command, Path(scratch), env, 60.0, Box((Path(scratch),)))
    path = Path(said.strip().splitlines()[-1]) if status == 0 and said.strip() else Path()
    if not path.is_absolute() or not is_file(path):
        return (
            f"the LLVM of {toolchain.hipcc} has no `opt`: install LLVM's tools of its version (Debian: llvm-NN), or "
            "take a toolchain that has it: hipport toolchain install"
        )
    return Opt(path, env, timeout)


@dataclass(frozen=True)
class Prover:
    """Asks LLVM about units. `command` compiles a unit for a target, `folder` is the cache of answers."""

    toolchain: Toolchain
    env: Mapping[str, str]
    folder: Path
    places: SourcePlaces
    opt: Opt
    command: Callable[[Unit, str], list[str]]
    digests: Digests

    def prove(self, unit: Unit, target: str) -> UnitProof:
        """Return LLVM's answers about the unit's kernels."""
        state = self.opt.path.stat()
        words = [word for word in self.command(unit, target) if word != "-c"]
        command = [*words, *FLAGS]
        identity = [_FORMAT, str(self.toolchain), str(self.opt.path), state.st_mtime_ns, state.st_size]
        key = digest_of(identity, str(unit.folder), command)
        kept = self.folder / key[:2] / f"{key[2:]}.json.z"
        states = load_states(kept)
        for each in states:
            if self.digests.are(each["read"]):
                return self._located(unit, target, each, cached=True)
        start = time.monotonic()
        made: dict[str, Any] = {"kernels": [], "apart": [], "why_not": ""}
        try:
            with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
                text, made["read"] = self._front_end(unit, command, Path(scratch))
                made |= _judged(text, self.opt, Path(scratch))
        except NotAnalysed as problem:
            made["why_not"] = str(problem)
        made["seconds"] = time.monotonic() - start
        if not made["why_not"]:
            keep_states(kept, [made, *states][:_STATES])
        return self._located(unit, target, made, cached=False)

    def _front_end(self, unit: Unit, command: list[str], scratch: Path) -> tuple[str, dict[str, str]]:
        """Return the IR that clang generates, and the hashes of its input. Raises NotAnalysed."""
        made, read = scratch / "unit.ll", scratch / "read"
        listing = ("-dependency-file", str(read), "-MT", "out", "-sys-header-deps")
        whole = [*command, "-o", str(made), *(word for each in listing for word in ("-Xclang", each))]
        try:
            status, said = run_contained(whole, unit.folder, self.env, self.opt.timeout, Box((scratch,)))
        except OSError as problem:
            raise NotAnalysed(str(problem)) from problem
        if status is None:
            raise NotAnalysed(f"the compiler did not end within {self.opt.timeout:.0f} s")
        if status != 0:
            errors = [message.text for message in parse(said, unit.source) if message.severity == "error"]
            raise NotAnalysed(f"it does not compile{f': {errors[0]}' if errors else ''}")
        words = re.split(r"(?<!\\)\s+", read_or_nothing(read).decode("utf-8", "surrogateescape").replace("\\\n", " "))
        own = str(self.toolchain.root)
        names = sorted({str(unit.folder / word.replace("\\ ", " ")) for word in words[1:] if word})
        text = read_or_nothing(made).decode("utf-8", "surrogateescape")
        return text, self.digests.all_of(name for name in names if not name.startswith(own) or own in ("/usr", "/"))

    def _located(self, unit: Unit, target: str, state: Mapping[str, Any], *, cached: bool) -> UnitProof:
        path = self.places.locate(unit.source, 0, 0, unit.folder)[0]
        reached = [each for kernel in state["kernels"] for each in self._of_kernel(kernel, unit.folder)]
        return UnitProof(
            path, target, state["seconds"], cached, tuple(dict.fromkeys(reached)), tuple(state["apart"]),
            state["why_not"],
        )  # fmt: skip

    def _of_kernel(self, kernel: Mapping[str, Any], folder: Path) -> Iterator[ReachedSite]:
        branches = [self._branch(i, branch, folder) for i, branch in enumerate(kernel["branches"])]
        for call in kernel["calls"]:
            for place in call["places"]:
                path, line, column, inside = self._place(place, folder)
                if inside:
                    on = tuple(dict.fromkeys(branches[i] for i, _ in call["on"]))
                    sides = tuple((i, way) for i, way in call["on"])
                    yield ReachedSite(
                        call["name"],
                        call["barrier"],
                        path,
                        line,
                        column,
                        kernel["name"],
                        on,
                        sides,
                        call["mask"],
                        call["behind"],
                    )
                    break

    def _branch(self, number: int, branch: Mapping[str, Any], folder: Path) -> Branch:
        place = branch["places"][0] if branch["places"] else ("", 0, 0)
        path, line, column, inside = self._place(place, folder)
        return Branch(path, line, column, inside, branch["proven"], branch["block"], branch["warp"], number)

    def _place(self, place: Sequence[Any], folder: Path) -> tuple[PurePath, int, int, bool]:
        """Return the place that the user wrote, and whether it is in the user's files."""
        file, line, column = place
        if not file or not line:
            return PurePath(file), 0, 0, False
        path, line, column, inside = self.places.locate(PurePath(file), line, column, folder)
        own = path.parent.name == "hipport" and path.name in own_headers.names()
        # A toolchain may lie in the folder that paths are relative to.
        of_toolchain = Path(normpath(folder / file)).is_relative_to(self.toolchain.root)
        return path, line, column, inside and not own and not of_toolchain


def _judged(text: str, opt: Opt, scratch: Path) -> dict[str, Any]:
    """Return LLVM's answers for a front end's IR, as JSON values. Raises NotAnalysed."""
    code, said = proven(text, opt, scratch)
    judged = (each for each in code.functions.values() if not is_own(each.name) and not is_barrier(each.name))
    blocks = {each.name: code.blocks(each) for each in judged}
    asked = [code.functions[name] for name, each in blocks.items() if any(map(_waiting, each))]
    apart = sorted(each.name for each in asked if not each.kernel)
    found = {each.name: _Deciding(blocks[each.name]) for each in asked if each.kernel}
    # Only unproven branches can be contradicted.
    kernels = [code.functions[name] for name, each in found.items() if said.branches[name] & each.branches.keys()]
    block = varying_in_block(code, kernels, opt, scratch) if kernels else LlvmVerdict({}, {})
    warp = varying_in_warp(code, kernels, opt, scratch) if kernels else LlvmVerdict({}, {})

    def branches(name: str) -> Iterator[dict[str, Any]]:
        for i in found[name].branches:
            yield {
                "places": blocks[name][i].branch,
                "proven": i not in said.branches[name],
                "block": i in block.branches.get(name, ()),
                "warp": i in warp.branches.get(name, ()),
            }

    def unseen(name: str) -> list[int]:
        if apart:
            return [0]
        called = enumerate(blocks[name])
        return [i for i, each in called if any(is_unseen(call.callee, code) for call in each.calls) or each.indirect]

    return {
        "apart": apart,
        "kernels": [
            {
                "name": name,
                "calls": each.judged(said.branches[name], unseen(name)),
                "branches": list(branches(name)),
            }
            for name, each in found.items()
        ],
    }


def _waiting(block: CodeBlock) -> bool:
    return bool(_calls(block, barrier=True) or _calls(block, barrier=False))


def _calls(block: CodeBlock, *, barrier: bool) -> list[CodeCall]:
    if barrier:
        return [call for call in block.calls if is_barrier(call.callee)]
    return [call for call in block.calls if is_collective(call.callee)]


class _Deciding:
    """The collectives and barriers of a kernel, and the branches on which they depend.

    A branch of which at most one side leads to such calls only decides which lanes are done with them.
    """

    def __init__(self, blocks: Sequence[CodeBlock]) -> None:
        #: Each call with its block.
        self._calls: list[tuple[int, dict[str, Any]]] = []
        #: The blocks that end in such branches, each with the index of the branch.
        self.branches: dict[int, int] = {}
        following = [block.following for block in blocks]
        self._before: list[list[int]] = [[] for _ in blocks]
        for i, targets in enumerate(following):
            for target in targets:
                self._before[target].append(i)
        alive = leading(self._before, [0])
        direct = deciding(following)
        for barrier in (False, True):
            wanted = {i: found for i in sorted(alive) if (found := _calls(blocks[i], barrier=barrier))}
            towards = leading(following, wanted)
            parting = {i for i in alive if sum(target in towards for target in following[i]) > 1}
            for i, found in wanted.items():
                sides = sorted(side for side in all_deciding(direct, i) if side.block in parting)
                on = [(self.branches.setdefault(side.block, len(self.branches)), side.way) for side in sides]
                self._calls += (
                    (
                        i,
                        {
                            "name": name_of(call.callee),
                            "barrier": barrier,
                            "places": call.places,
                            "on": on,
                            "mask": call.first,
                        },
                    )
                    for call in found
                )

    def judged(self, varying: frozenset[int], unseen: Sequence[int]) -> list[dict[str, Any]]:
        """Return the calls, and whether lanes may have stayed at an earlier one, or in code that is not seen.

        On a GPU that waits, these lanes wait there for the others, and meet them at a later call.
        """
        numbers = {number for block, number in self.branches.items() if block in varying}
        behind: dict[bool, frozenset[int]] = {}
        for barrier in (False, True):
            open_ = {
                i
                for i, call in self._calls
                if call["barrier"] is barrier and any(each in numbers for each, _ in call["on"])
            }
            behind[barrier] = leading(self._before, {*open_, *unseen})
        return [{**call, "behind": i in behind[call["barrier"]]} for i, call in self._calls]

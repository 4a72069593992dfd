# SPDX-License-Identifier: Apache-2.0
"""LLVM's UniformityAnalysis of device code: at which branches lanes may diverge (`print<uniformity>` of opt).

The IR of a front end is prepared first: all callees of kernels are inlined, except the collectives, and variables are
promoted to values. No branch is removed, merged or turned into a select, and each keeps its line. Then three questions
are asked:

* "proven": LLVM's own answer. A branch that is uniform then is proven so, for all lanes of a wavefront.
* "block": values that are varying for LLVM only because it does not know them (results of unseen functions, loads from
  memory that may belong to the lane) count as uniform. A branch that varies then depends on a thread's number.
* "warp": the same for the 32 lanes of a warp: `threadIdx.x / 32`, `threadIdx.y` and `threadIdx.z` count as uniform.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hipport.core.tables import load, one_of
from hipport.toolchain.device_code import NAME, CodeFunction, CompiledDeviceCode
from hipport.toolchain.processes import limited

#: The options with which clang generates the IR.
FLAGS = ("-O1", "-Xclang", "-disable-llvm-passes", "-gline-tables-only", "-S", "-emit-llvm")
_FLATTEN = (
    "internalize<%s>,globaldce,always-inline,globaldce,function(sroa,early-cse,infer-address-spaces,instsimplify,sroa)"
)
#: Folds constants and expressions, and keeps all blocks and branches.
_FOLD = "function(instcombine<no-verify-fixpoint>)"
_PRINT = "print<uniformity>"
#: Stands for the part of opt's output that was cut.
_CUT = "\n[…]\n"
#: The maximum number of rounds: loads whose address became uniform are replaced in the next round.
_MOST_ROUNDS = 6

_TABLE = load(Path(__file__).with_suffix(".toml"))
_TEXT: Mapping[str, str] = _TABLE["text"]
_INTRINSIC, _POINTER = _TEXT["intrinsic"], _TEXT["pointer"]
_SCALAR = one_of(_TABLE["types"]) + r"|i\d+"
_VALUE = rf"{_SCALAR}|{_POINTER}|<\d+ x (?:{_SCALAR})>"
_INLINED, _ALONE = one_of(_TABLE["inlining"]), one_of(_TABLE["in_front_of_types"])
_WITH_ARGUMENTS = one_of(_TABLE["in_front_with_arguments"])

_GROUPS = _TEXT["attributes"]
_ATTRIBUTES = re.compile(_GROUPS, re.M)
_INLINING = re.compile(rf" {_INLINED}\b")
_GROUP, _OWN, _OWN_NAME, _OTHERS, _ID, _LOAD, _RESULT, _VARYING = (
    re.compile(_TEXT[each])
    for each in ("number_of_attributes", "own", "own_name", "others", "thread", "load", "result", "varying")
)
_VOTES = one_of(_TABLE["votes_of_blocks"])
_BRINGS, _HOLDS, _NOT_WANTED = (
    one_of(_TABLE["across"], r"[\w.]*"), one_of(_TABLE["barriers"]), one_of(_TABLE["left_out"])
)  # fmt: skip
_ACROSS = re.compile(_INTRINSIC + _BRINGS)
_BARRIER = re.compile(rf"{_INTRINSIC}{_HOLDS}|{_VOTES}")
_OWN_VOTES = frozenset(_TABLE["own_votes_of_blocks"].split())
_LEFT_OUT = re.compile(_NOT_WANTED)
_OF_LLVM = "llvm."
_DO_NOT_WAIT = frozenset(_TABLE["do_not_wait"].split())
_SIMPLE = re.compile(_VALUE)
_CALL = _TEXT["call"]
_CALLED_TYPE = re.compile(rf"{_CALL}(?:(?:{_ALONE}|{_WITH_ARGUMENTS}(?:\([^)]*\)| \d+)) )*({_VALUE}) @")


class NotAnalysed(Exception):
    """LLVM did not answer. The message says why."""


@dataclass(frozen=True)
class Opt:
    """LLVM's opt from the same installation as the clang of hipcc."""

    path: Path
    environment: Mapping[str, str]
    timeout: float

    def run(self, passes: str, text: str, scratch: Path) -> tuple[str, str]:
        """Return the IR after some passes, and their output. Raises NotAnalysed."""
        given, made = scratch / "given.ll", scratch / "made.ll"
        given.write_text(text, encoding="utf-8", errors="surrogateescape")
        command = [str(self.path), f"-passes={passes}", "-S", "-o", str(made), str(given)]
        status, said = limited(command, scratch, self.environment, self.timeout)
        if status is None:
            raise NotAnalysed(f"opt did not end within {self.timeout:.0f} s")
        if status != 0:
            lines = [line for line in said.splitlines() if line.strip()]
            raise NotAnalysed(f"opt failed: {lines[0] if lines else f'status {status}'}")
        if _CUT in said:
            raise NotAnalysed("its functions are too long")
        return made.read_text(encoding="utf-8", errors="surrogateescape"), said


@dataclass(frozen=True)
class LlvmVerdict:
    """The output of opt: by function, the branches at which lanes may diverge, and the varying values."""

    branches: Mapping[str, frozenset[int]]
    values: Mapping[str, frozenset[str]]


def proven(text: str, opt: Opt, scratch: Path) -> tuple[CompiledDeviceCode, LlvmVerdict]:
    """Return a front end's IR with all callees inlined into kernels except the collectives, and LLVM's answer for it.

    Raises NotAnalysed.
    """
    code = CompiledDeviceCode(text)
    mentioned = {name: code.mentioned(each) for name, each in code.functions.items()}
    opaque = _collectives(mentioned)
    text = _ATTRIBUTES.sub(lambda match: match[1] + _INLINING.sub("", match[2]), text)
    lines = text.split("\n")
    for each in code.functions.values():
        if not each.kernel:
            kept = each.name in opaque or _LEFT_OUT.fullmatch(each.name)
            attribute = " noinline" if kept else " alwaysinline"
            lines[each.first] = _GROUP.sub(lambda match, a=attribute: a + match[0], lines[each.first], count=1)  # type: ignore[misc]
    # Kernels that reach no collective or barrier are not analysed.
    callers = _closure(code.functions, mentioned, lambda name: name in opaque or is_barrier(name))
    wanted = (name for name, each in code.functions.items() if each.kernel and name in callers)
    kernels = ";".join(f"preserve-gv={name}" for name in wanted)
    if not kernels:
        return CompiledDeviceCode(""), LlvmVerdict({}, {})
    made, said = opt.run(f"{_FLATTEN % kernels},{_PRINT}", "\n".join(lines), scratch)
    return CompiledDeviceCode(made), _read(said)


def is_collective(callee: str) -> bool:
    """Whether a function called in the result of `proven` is one of hipport's collectives."""
    return is_own(callee) and name_of(callee) not in _DO_NOT_WAIT | _OWN_VOTES


def is_barrier(callee: str) -> bool:
    """Whether a function called in the result of `proven` is a barrier of the block."""
    return _BARRIER.fullmatch(callee) is not None or (is_own(callee) and name_of(callee) in _OWN_VOTES)


def is_own(name: str) -> bool:
    """Whether a function is hipport's own."""
    return _OWN.match(name) is not None


def is_unseen(callee: str, code: CompiledDeviceCode) -> bool:
    """Whether a function may have any effect: its body is elsewhere, and it is not an intrinsic."""
    known = callee in code.functions or callee.startswith(_OF_LLVM)
    return not known and not is_own(callee) and _LEFT_OUT.fullmatch(callee) is None


def name_of(callee: str) -> str:
    """Return the name of hipport's function in programs; any other name unchanged."""
    named = _OWN_NAME.match(callee)
    return named[2][: int(named[1])] if named is not None else callee


def _collectives(mentioned: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """hipport's collectives, except those that call code of the program."""
    own = {name for name in mentioned if _OWN.match(name)}
    across = _closure(own, mentioned, lambda name: _ACROSS.match(name) is not None)
    running = _closure(own, mentioned, lambda name: name in mentioned and _OTHERS.match(name) is not None)
    waiting = _closure(own, mentioned, is_barrier)
    votes = {name for name in mentioned if is_barrier(name)}
    return frozenset(across - running - waiting | votes)


def _closure(own: Iterable[str], mentioned: Mapping[str, frozenset[str]], wanted: Callable[[str], bool]) -> set[str]:
    """Return those of `own` that mention a wanted name, directly or through other functions."""
    found = {name for name, names in mentioned.items() if any(map(wanted, names))}
    grown = True
    while grown:
        more = {name for name, names in mentioned.items() if name not in found and not found.isdisjoint(names)}
        grown = bool(more)
        found |= more
    return found & set(own)


def varying_in_block(code: CompiledDeviceCode, kernels: Iterable[CodeFunction], opt: Opt, scratch: Path) -> LlvmVerdict:
    """Return what depends on a thread's number, independent of what LLVM does not know. Raises NotAnalysed."""
    return _assuming(code.text, [each.name for each in kernels], opt, scratch)


def varying_in_warp(code: CompiledDeviceCode, kernels: Iterable[CodeFunction], opt: Opt, scratch: Path) -> LlvmVerdict:
    """Return what depends on a lane's number, independent of what LLVM does not know. Raises NotAnalysed."""
    kernels = list(kernels)
    return _assuming(_for_warps(code, kernels), [each.name for each in kernels], opt, scratch)


def _read(said: str) -> LlvmVerdict:
    branches: dict[str, set[int]] = {}
    values: dict[str, set[str]] = {}
    name, block, ending = "", -1, False
    for line in said.splitlines():
        if line.startswith("UniformityInfo for function '"):
            name, block, ending = line.split("'")[1], -1, False
            branches[name], values[name] = set(), set()
        elif line.startswith("BLOCK "):
            block += 1
            ending = False
        elif line.startswith("TERMINATORS"):
            ending = True
        elif line.startswith("END BLOCK"):
            ending = False
        elif "DIVERGENT:" in line[:14]:
            if ending:
                branches[name].add(block)
            elif (varying := _VARYING.match(line)) is not None:
                values[name].add(varying[1] or varying[2])
    return LlvmVerdict(
        {name: frozenset(each) for name, each in branches.items()},
        {name: frozenset(each) for name, each in values.items()},
    )


def _assuming(text: str, kernels: list[str], opt: Opt, scratch: Path) -> LlvmVerdict:
    """Analyse with the values that LLVM does not know assumed to be uniform.

    A load from a varying address is varying. Each round makes more addresses uniform, until nothing changes.
    """
    made, printed = opt.run(f"{_FOLD},{_PRINT}", text, scratch)
    folded, said = CompiledDeviceCode(made), _read(printed)
    values = said.values
    for _ in range(_MOST_ROUNDS):
        if not any(said.branches[name] for name in kernels):
            break
        said = _read(opt.run(_PRINT, _with_uniform(folded, kernels, values), scratch)[1])
        left = {name: values[name] & said.values[name] for name in kernels}
        if all(left[name] == values[name] for name in kernels):
            break
        values = left
    return said


def _with_uniform(code: CompiledDeviceCode, kernels: list[str], values: Mapping[str, frozenset[str]]) -> str:
    declared: dict[str, str] = {}
    lines = list(code.lines)
    for name in kernels:
        function = code.functions[name]
        for i in range(function.first + 1, function.last):
            made = _uniform(lines[i], values[name], declared)
            if made is not None:
                lines[i] = made
    return _declared(
        lines, (f"{kind} @llvm.amdgcn.readfirstlane.{suffix}({kind})" for kind, suffix in declared.items())
    )


def _declared(lines: list[str], intrinsics: Iterable[str]) -> str:
    """Return the IR with declarations of those intrinsics that it does not declare."""
    known = {name[1] for line in lines if line.startswith("declare ") and (name := NAME.search(line)) is not None}
    missing = (each for each in intrinsics if each.partition("@")[2].partition("(")[0] not in known)
    return "\n".join([*lines, *(f"declare {each}" for each in missing)])


def _uniform(line: str, varying: frozenset[str], declared: dict[str, str]) -> str | None:
    """Return the line with its result made uniform if LLVM does not know the result; None for any other line."""
    load = _LOAD.match(line)
    kind = result = ""
    if load is not None and load[5] not in varying and load[4] in (None, "5"):
        result, kind = load[1], load[2]
    elif (called := _RESULT.match(line)) is not None and not called[2].startswith("llvm."):
        typed = _CALLED_TYPE.search(line)
        result, kind = called[1], typed[1] if typed is not None else ""
    if not result or not _SIMPLE.fullmatch(kind):
        return None
    declared[kind] = suffix = _suffix(kind)
    before = _before(result)
    return (
        f"  {before}{line[2 + len(result) :]}\n"
        f"  {result} = call {kind} @llvm.amdgcn.readfirstlane.{suffix}({kind} {before})"
    )


def _before(result: str) -> str:
    return "%hipport." + result[1:].strip('"')


def _suffix(kind: str) -> str:
    """The suffix of an intrinsic's name for a type, as LLVM writes it."""
    if vector := re.fullmatch(r"<(\d+) x (.*)>", kind):
        return f"v{vector[1]}{_suffix(vector[2])}"
    if kind.startswith("ptr"):
        return f"p{''.join(filter(str.isdigit, kind)) or 0}"
    suffix: str = _TABLE["types"].get(kind, kind)
    return suffix


def _for_warps(code: CompiledDeviceCode, kernels: Iterable[CodeFunction]) -> str:
    """The IR with `threadIdx.x` as 32 times a value that is uniform in the warp, plus the number of the lane."""
    lines = list(code.lines)
    for function in kernels:
        for i in range(function.first + 1, function.last):
            if (asked := _ID.match(lines[i])) is not None:
                lines[i] = "\n".join(_shared(lines[i], asked[1], asked[2]))
    return _declared(lines, ("i32 @llvm.amdgcn.readfirstlane.i32(i32)", "i64 @llvm.amdgcn.dispatch.id()"))


def _shared(line: str, result: str, axis: str) -> Iterator[str]:
    before = _before(result)
    yield f"  {before}{line[2 + len(result) :]}"
    if axis != "x":
        yield f"  {result} = call i32 @llvm.amdgcn.readfirstlane.i32(i32 {before})"
        return
    # Any uniform value serves; this intrinsic gives one, and programs do not use it.
    yield f"  {before}.some = call i64 @llvm.amdgcn.dispatch.id()"
    yield f"  {before}.any = trunc i64 {before}.some to i32"
    yield f"  {before}.warp = and i32 {before}.any, 31"
    yield f"  {before}.first = shl nuw nsw i32 {before}.warp, 5"
    yield f"  {before}.lane = and i32 {before}, 31"
    yield f"  {result} = or disjoint i32 {before}.first, {before}.lane"

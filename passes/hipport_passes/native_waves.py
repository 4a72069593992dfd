# SPDX-License-Identifier: Apache-2.0
"""Widen the warps of kernels that ask for it to the whole wavefront, 32 or 64 lanes from one source.

A kernel asks by `// hipport: warp=native` in front of it, a file by that comment at its top, a tree by `--warp native`
or by patterns in the configuration; `warp=logical32` takes it back. Then masks of lanes have 64 bits, wherever their
values go, and with them `__popc`, `__ffs`, `31 - __clz` and shifts by a lane; lanes and warps are counted by the size
of the wavefront, which device code asks for at run time; shuffle loops start at half of it, and arrays with an entry
for each lane have 64. What the kernel calls is widened with it.

A kernel stays on warps of 32 lanes, and is reported with the places, if it does something with them that has no such
reading: shuffles by 16 and so on in a row, masks of some lanes as numbers, masks in the program's memory, rows of
threads as warps, PTX, tiles of 32 lanes, or functions that it shares with kernels of 32 lanes. All changes count on
blocks of a multiple of 64 threads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hipport.finding import Certainty, Finding
from hipport.headers import include, own
from hipport.languages import constants
from hipport.languages.cpp import Cpp, within
from hipport.languages.flow import Declared, Flow, Kind, result_of, span
from hipport.languages.kernels import BLOCK, WARP, Function, Kernels, Variable, arguments, called_name
from hipport.names import Names
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span
from hipport.tables import load

if TYPE_CHECKING:
    from tree_sitter import Node

_ASKS = re.compile(rb"(?://|/\*)[^\r\n]*?\bhipport:[ \t]*warp=(native|logical32)\b")
_MADE = re.compile(rb"__ballot(?:_sync)?|__activemask|__match_a(?:ny|ll)_sync")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_WARPS = re.compile(
    rb"\b__(?:shfl|ballot|any|all|uni|activemask|syncwarp|match_a|reduce_)\w*|\bhipport::(?!native\b)\w+"
)
_SHUFFLE = re.compile(rb"__shfl(?:_up|_down|_xor)?(?:_sync)?")
_OF_MASKS = {b"__popc": b"popc", b"__ffs": b"ffs"}
_FULL = re.compile(rb"0[xX][fF]{8}[uUlL]*|~\s*0[uU]?|-1|UINT_MAX|\(unsigned(?:\s+int)?\)\s*-1|(?:u?int32_t)\(-1\)")
#: What has no reading on wavefronts of 64 lanes.
_REFUSED = re.compile(
    rb"\b(?P<asm>asm|__asm__)\b|\btiled_partition\s*<\s*32\s*>|\bcoalesced_threads\b|\b(?:hip)?cub\s*::\s*Warp\w+|"
    rb"\bWARP_(?:SHFL\w*|BALLOT|ANY|ALL)\b|\bhipport::(?!native\b)\w+|\b__fns\b|\b__brev\b|\bC10_WARP_SIZE\b"
)
_GRID = re.compile(rb"\b(?:blockIdx|gridDim)\.[xyz]\s*\Z|\A\s*(?:blockIdx|gridDim)\.[xyz]\b(?!\s*\*\s*blockDim)")
_COMPARES = ("<", ">=", "==", "!=", ">", "<=")
#: Threads of other rows, unless it is to number all threads of a block.
_ROWS = re.compile(
    rb"(?<!blockDim\.x \* )(?<!blockDim\.x\*)\bthreadIdx\.[yz]\b(?!\s*\*\s*\(?blockDim\.x)(?!\s*\*\s*blockDim\.y)"
)
_SHIFTED = re.compile(rb"[12][uU]?|-1|~0[uU]?|0[xX][fF]{8}[uU]?")
_NATIVE = b"hipport::native::"
_SIZE = _NATIVE + b"wave_size()"
_ASSUMED = "assumes that blocks have a multiple of 64 threads, and that no number of warps is written out"


@cache
def _helpers() -> dict[bytes, bytes]:
    rows = load(Path(__file__).with_name("warp_intrinsics.toml"))["helper"]
    return {name.encode(): helper.encode() for name, helper in rows.items()}


@cache
def _intrinsic() -> re.Pattern[bytes]:
    return re.compile(b"|".join(sorted(_helpers(), reverse=True)))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each function that is widened, and for each kernel that cannot be."""
    if own(source) or not _asked(source, project):
        return
    plan = _plan(source, project)
    need, header = include(source, project, "wave.h")
    _, warp = include(source, project, "warp.h")
    for function, work in plan.widened.items():
        edits = tuple(Edit(where, new) for where, new in work.edits.get(source, {}).items())
        if function.source is source and edits:
            name = _name_span(function)
            message = f"{function.name.decode()} on whole wavefronts: {_ASSUMED}"
            more = (need,) if need else ()
            yield Finding(name, "native", message, (*edits, *more), Certainty.REVIEW, (header, warp))
        elif edits:
            message = f"masks of {function.name.decode()} have 64 bits: {_ASSUMED}"
            yield Finding(
                min(edit.span for edit in edits),
                "native",
                message,
                (*edits, *((need,) if need else ())),
                Certainty.REVIEW,
                (header, warp),
            )
    for kernel, places in plan.refused.items():
        if kernel.source is source:
            message = f"{kernel.name.decode()} stays on warps of 32 lanes: {'; '.join(places)}"
            yield Finding(_name_span(kernel), "refused", message, certainty=Certainty.MANUAL)


# ---- who is asked


def _asked(source: Cpp, project: Project) -> bool:
    """Whether anything in the files that belong together asks for native waves."""
    target = project.target
    return (
        target.warp == "native"
        or bool(project.together(source, _asking))
        or (target.native != () and any(o.path.match(p) for o in project.component(source) for p in target.native))
    )


def _asking(source: Cpp) -> frozenset[bool]:
    return frozenset({True}) if b"warp=native" in source.text else frozenset()


def _is_native(function: Function, project: Project) -> bool:
    """Whether a function that nothing else calls is to be widened: its own comment, the file's, or the target says."""
    source = function.source
    start = function.node.start_byte
    parent = function.node.parent
    if parent is not None and parent.type == "template_declaration":
        start = parent.start_byte
    # Comments are blank in the code; one behind other code is about that.
    end = len(source.code[:start].rstrip())
    line = source.text.find(b"\n", end, start) if end else 0
    asks = _ASKS.findall(source.text, line, start) if line >= 0 else []
    # At the top of the file: before any code.
    first = re.search(rb"\S", source.code)
    if not asks:
        asks = _ASKS.findall(source.text, 0, first.start() if first else 0)
    if asks:
        return bool(asks[-1] == b"native")
    return project.target.warp == "native" or any(source.path.match(pattern) for pattern in project.target.native)


# ---- the plan


@dataclass
class _Work:
    """What widening a function takes: edits by file, or places that cannot be widened."""

    edits: dict[Cpp, dict[Span, bytes]] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def edit(self, source: Cpp, where: Span, new: bytes) -> None:
        self.edits.setdefault(source, {})[where] = new


@dataclass(frozen=True)
class _Plan:
    widened: dict[Function, _Work]
    refused: dict[Function, list[str]]


def _plan(source: Cpp, project: Project) -> _Plan:
    # With the kernels, which forget what they know when they are pickled: plans have trees in them.
    known: dict[object, _Plan] = Kernels.of(project).__dict__.setdefault("_native_waves", {})
    key = project.component(source)[0].path
    if key not in known:
        known[key] = _planned(source, project)
    return known[key]


def _planned(source: Cpp, project: Project) -> _Plan:
    kernels = Kernels.of(project)
    files = [other for other in project.component(source) if isinstance(other, Cpp) and not own(other)]
    device = [function for file in files for function in kernels.functions(file)]
    by_name: dict[bytes, list[Function]] = {}
    for function in device:
        by_name.setdefault(function.name, []).append(function)
    asked = {function: _is_native(function, project) for function in device}
    # What nothing here calls may be called from elsewhere, with warps of 32 lanes unless its file says otherwise.
    roots = {f: native for f, native in asked.items() if f.kernel or (not native and not kernels.callers(f))}
    reached = {root: _reached(root, by_name) for root in roots}
    # Without an intrinsic or a size of warps, 32 is only a number.
    macros = project.together(source, _macros)
    roots = {root: native and any(_has_warps(f, macros) for f in reached[root]) for root, native in roots.items()}
    wide = {function for root, native in roots.items() if native for function in reached[root]}
    flow = _Masks(project, source, wide)
    works = {function: _Widening(function, flow, project).work() for function in wide}
    refused: dict[Function, list[str]] = {}
    changed = True
    while changed:
        changed = False
        for root, native in roots.items():
            if not native or root in refused:
                continue
            places = [place for function in reached[root] for place in works[function].places]
            if not any(works[function].edits for function in reached[root]):
                continue
            for other in roots:
                if not roots[other] or other in refused:
                    shared = [f for f in reached[root] if f in reached[other] and (works[f].edits or works[f].places)]
                    places += [
                        f"{name.decode()} is shared with {other.name.decode()}"
                        for name in sorted(f.name for f in shared)
                    ]
            if places:
                refused[root] = _listed(places)
                changed = True
    keeps = {function for root in roots if not roots[root] or root in refused for function in reached[root]}
    return _Plan({f: works[f] for f in device if f in wide and f not in keeps and works[f].edits}, refused)


def _has_warps(function: Function, macros: frozenset[bytes]) -> bool:
    words = set(re.findall(rb"\w+", function.text(function.body)))
    return b"warpSize" in words or not words.isdisjoint(_helpers()) or not words.isdisjoint(macros)


def _macros(source: Cpp) -> frozenset[bytes]:
    """The macros that have intrinsics in them, or what has become of them on warps of 32 lanes."""
    found = set()
    for directive in source.directives:
        match = _DEFINE.match(source.code, directive.start, directive.end)
        if match and _WARPS.search(source.code, match.end(), directive.end):
            found.add(match[1])
    return frozenset(found)


def _listed(places: Iterable[str]) -> list[str]:
    unique = list(dict.fromkeys(places))
    return unique if len(unique) <= 8 else [*unique[:7], f"and {len(unique) - 7} more"]


def _reached(root: Function, by_name: dict[bytes, list[Function]]) -> tuple[Function, ...]:
    found = [root]
    for function in found:
        names = dict.fromkeys(call.name for call in function.calls(by_name.keys()))
        found += [other for name in names for other in by_name.get(name, ()) if other not in found]
    return tuple(found)


def _name_span(function: Function) -> Span:
    start = function.node.start_byte + len(function.head)
    return Span(start, start + len(function.name))


class _Masks(Flow):
    """Masks of lanes: those that functions make, those that are given to them, and a bit shifted by a lane."""

    def __init__(self, project: Project, source: Cpp, only: Collection[Function]) -> None:
        self.only = only
        self._library: dict[PurePath, frozenset[int]] = {}
        self._lanes: dict[tuple[PurePath, int, int], bool] = {}
        self._threads: dict[tuple[PurePath, int, int], bool] = {}
        super().__init__(project, source, Kind(_MADE, ((_SHUFFLE, 1),)))

    @property
    def functions(self) -> tuple[Function, ...]:
        return tuple(self.only)

    def library(self, source: Cpp) -> frozenset[int]:
        """Where the file uses intrinsics that are not the program's own."""
        if source.path not in self._library:
            uses = Names(_intrinsic()).uses(source, self.project)
            self._library[source.path] = frozenset(where.start for where, _ in uses)
        return self._library[source.path]

    def carries(self, function: Function, node: Node | None) -> bool:
        return node is not None and (self.lane_shift(function, node) or super().carries(function, node))

    def lane_shift(self, function: Function, node: Node) -> bool:
        """Whether `node` is `1 << lane`, `2u << lane`, `-1 << lane` or the like."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        return (
            node.type == "binary_expression"
            and sign is not None
            and sign.type == "<<"
            and left is not None
            and right is not None
            and _SHIFTED.fullmatch(function.text(left)) is not None
            and self.is_lane(function, right)
        )

    def is_lane(self, function: Function, node: Node, depth: int = 4) -> bool:
        """Whether `node` is the number of a lane in its warp."""
        key = (function.source.path, node.start_byte, node.end_byte)
        if key not in self._lanes:
            self._lanes[key] = False  # What a recursion finds here.
            self._lanes[key] = self._is_lane(function, node, depth)
        return self._lanes[key]

    def _is_lane(self, function: Function, node: Node, depth: int) -> bool:
        while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            node = node.named_children[-1]
        text = function.text(node)
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if left is None or right is None or sign is None:
                return False
            number = self.number(function, right)
            if (sign.type, number) in (("%", 32), ("&", 31)):
                return self.is_thread(function, left)
            # `m & (m - 1)` has no lane in it; `__ffs(m) - 1` is one.
            return (
                sign.type == "-"
                and number == 1
                and left.type == "call_expression"
                and (called_name(left, function.source.code) == b"__ffs")
            )
        if node.type == "identifier" and depth:
            variable = function.locals.named(text, node.start_byte)
            return variable is not None and self._all_given(function, variable, "is_lane", depth)
        if node.type == "call_expression" and depth:
            called = self.kernels.definitions(function.source, called_name(node, function.source.code))
            values = [(each, value) for each in called for value in _returned(each.body)]
            return bool(values) and all(self.is_lane(each, value, depth - 1) for each, value in values)
        return False

    def is_thread(self, function: Function, node: Node, depth: int = 4) -> bool:
        """Whether `node` counts threads: `threadIdx.x`, `blockIdx.x * blockDim.x + threadIdx.x`, a variable of that."""
        key = (function.source.path, node.start_byte, node.end_byte)
        if key not in self._threads:
            self._threads[key] = False  # What a recursion finds here.
            self._threads[key] = self._is_thread(function, node, depth)
        return self._threads[key]

    def _is_thread(self, function: Function, node: Node, depth: int) -> bool:
        while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            node = node.named_children[-1]
        text = b"".join(function.text(node).split())
        if text == b"threadIdx.x":
            return True
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if left is None or right is None or sign is None or sign.type != "+":
                return False
            whole = re.compile(
                rb"\(?(?:blockIdx|threadIdx)\.[xyz]\*blockDim\.x\)?|\(?blockDim\.x\*(?:blockIdx|threadIdx)\.[xyz]\)?"
            )
            for one, other in ((left, right), (right, left)):
                if whole.fullmatch(b"".join(function.text(one).split())) and self.is_thread(function, other, depth):
                    return True
            return False
        if node.type == "identifier" and depth:
            variable = function.locals.named(text, node.start_byte)
            return variable is not None and self._all_given(function, variable, "is_thread", depth)
        return False

    def number(self, function: Function, node: Node) -> int | None:
        text = function.text(node).strip(b"() ")
        if text.startswith(b"~"):
            inner = constants.value(function.source, self.project, text[1:].strip())
            return None if inner is None else ~inner
        if function.locals.named(text, node.start_byte) is not None and not self._is_constant(function, node, text):
            return None
        return 32 if text == b"warpSize" else constants.value(function.source, self.project, text)

    def _is_constant(self, function: Function, node: Node, name: bytes) -> bool:
        variable = function.locals.named(name, node.start_byte)
        declared = self.declared(function, variable) if variable is not None else None
        outer = declared.type.parent if declared is not None else None
        return outer is not None and re.search(rb"\bconst(?:expr)?\b", function.text(outer)) is not None

    def _all_given(self, function: Function, variable: Variable, what: str, depth: int) -> bool:
        test = getattr(self, what)
        given = [each for each in function.locals.assignments if each.variable == variable and each.values]
        if given:
            return all(len(each.values) == 1 and test(function, each.values[0], depth - 1) for each in given)
        if variable.name not in function.parameters or function.kernel:
            return False
        position = function.parameters.index(variable.name)
        calls = [call for call in self.kernels.callers(function) if len(call.arguments) > position]
        return bool(calls) and all(test(call.function, call.arguments[position], depth - 1) for call in calls)


class _Widening:
    """The work on one function."""

    def __init__(self, function: Function, flow: _Masks, project: Project) -> None:
        self.function = function
        self.flow = flow
        self.project = project
        self.code = function.source.code
        self.done = _Work()
        self.settled: set[int] = set()

    def work(self) -> _Work:
        function = self.function
        if _NATIVE in function.text(function.body):
            return self.done
        for match in _REFUSED.finditer(self.code, function.body.start_byte, function.body.end_byte):
            self.refuse_at(match.start(), match.group().decode("utf-8", "replace"))
        for match in _ROWS.finditer(self.code, function.body.start_byte, function.body.end_byte):
            self.refuse_at(match.start(), f"{match.group().decode()}: rows of threads as warps")
        nodes = list(_nodes(function.body))
        for node in nodes:
            if node.type == "call_expression":
                self.call(node)
            elif node.type == "for_statement":
                self.loop(node)
        for node in nodes:
            if node.type == "binary_expression":
                self.binary(node)
            elif node.type == "assignment_expression":
                self.assignment(node)
            elif node.type == "init_declarator":
                self.given(node.child_by_field_name("declarator"), node.child_by_field_name("value"))
                self.variable(node)
            elif node.type == "declaration":
                self.array(node)
        for match in re.finditer(rb"(?<![\w.>:])warpSize\b", function.text(function.body)):
            start = function.body.start_byte + match.start()
            if start not in self.settled and function.locals.named(b"warpSize", start) is None:
                self.edit(Span(start, start + 8), _SIZE)
        self.macros()
        self.types()
        return self.done

    # -- what is called

    def call(self, node: Node) -> None:
        name, given = called_name(node, self.code), arguments(node)
        callee = node.child_by_field_name("function")
        if callee is None:
            return
        helper = _helpers().get(name)
        if helper is not None and callee.end_byte - len(name) in self.flow.library(self.function.source):
            self.edit(span(callee), _NATIVE + helper)
            masked = name.endswith(b"_sync") or name == b"__syncwarp"
            if masked and given:
                self.mask(given[0])
            if _SHUFFLE.fullmatch(name):
                self.shuffle(name, given[int(masked) :])
            return
        if name in _OF_MASKS and given and self.flow.carries(self.function, given[0]):
            self.edit(span(callee), _NATIVE + _OF_MASKS[name])
            return
        if name == b"__clz" and given and self.flow.carries(self.function, given[0]):
            outer = node.parent
            left = outer.child_by_field_name("left") if outer is not None else None
            if outer is not None and left is not None and re.match(rb"31\s*-\s*__clz", self.function.text(outer)):
                self.settled.add(left.start_byte)
                self.edit(Span(outer.start_byte, callee.end_byte), _NATIVE + b"last_lane")
                return
        known = self.flow.kernels.definitions(self.function.source, name)
        sizes = re.findall(rb"<([^<>]*)>", self.function.text(callee)) if known else []
        if known and any(constants.value(self.function.source, self.project, each) == 32 for each in sizes):
            self.refuse(node, "32 is given on")
        for argument in given if known else ():
            if self.flow.number(self.function, argument) in (16, 31, 32):
                self.refuse(node, f"{self.function.text(argument).decode()} is given on")
        for argument in given:
            if (
                not known
                and self.flow.carries(self.function, argument)
                and self.flow.conversion(self.function, node) is None
            ):
                self.refuse(node, f"a mask is given to {name.decode()}")

    def mask(self, node: Node) -> None:
        """An argument that says which lanes."""
        if self.is_full(node):
            self.settled.update(child.start_byte for child in (node, *_nodes(node)))
            self.edit(span(node), _NATIVE + b"full_mask()")
        elif not self.flow.carries(self.function, node):
            self.refuse(node, "a mask that names lanes by number")

    def is_full(self, node: Node) -> bool:
        text = self.function.text(node)
        return _FULL.fullmatch(text) is not None or (
            node.type == "identifier"
            and self.function.locals.named(text, node.start_byte) is None
            and constants.value(self.function.source, self.project, text) in (0xFFFFFFFF, -1)
        )

    def shuffle(self, name: bytes, given: tuple[Node, ...]) -> None:
        """The arguments of a shuffle behind its mask: value, lane or distance, width."""
        if len(given) > 1:
            number = self.flow.number(self.function, given[1])
            by = not re.fullmatch(rb"__shfl(?:_sync)?", name)
            if number == 31 and not by:
                self.settle(given[1], _SIZE + b" - 1")
            elif by and number is not None and number >= 16:
                self.refuse(given[1], f"{name.decode()} by {number}: write the steps as a loop")
        if len(given) > 2 and self.flow.number(self.function, given[2]) == 32:
            self.settle(given[2], _SIZE)

    # -- loops

    def loop(self, node: Node) -> None:
        """`for (o = 16; o; o /= 2)` and `for (o = 1; o < 32; o *= 2)` whose `o` a shuffle takes."""
        start, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
        declarator = start.child_by_field_name("declarator") if start is not None else None
        target = declarator or start
        if target is None:
            return
        variable = target.child_by_field_name("declarator") or target.child_by_field_name("left")
        value = target.child_by_field_name("value") or target.child_by_field_name("right")
        if variable is None or value is None:
            return
        name = re.escape(self.function.text(variable))
        if not any(
            _SHUFFLE.fullmatch(called_name(call, self.code))
            and any(
                re.search(rb"(?<!\w)" + name + rb"(?!\w)", self.function.text(each)) for each in arguments(call)[1:]
            )
            for call in _nodes(node)
            if call.type == "call_expression"
        ):
            return
        if self.flow.number(self.function, value) == 16:
            self.settle(value, _SIZE + b" / 2")
        elif condition is not None and condition.type == "binary_expression":
            right = condition.child_by_field_name("right")
            number = self.flow.number(self.function, right) if right is not None else None
            if right is not None and number in (16, 32):
                self.settle(right, _SIZE if number == 32 else _SIZE + b" / 2")

    # -- lanes, warps and what is compared with them

    def binary(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return
        function, flow = self.function, self.flow
        if flow.lane_shift(function, node):
            digit = function.text(left).rstrip(b"uU")
            ones = digit not in (b"1", b"2")
            self.settled.update(child.start_byte for child in (left, *_nodes(left)))
            self.edit(span(left), b"~" * ones + _NATIVE + b"lane_mask(" + (b"0" if ones else digit) + b")")
            return
        carried = flow.carries(function, left), flow.carries(function, right)
        if any(carried) and sign.type in ("&", "|", "^", "==", "!="):
            other = right if carried[0] else left
            if not all(carried):
                if self.is_full(other):
                    self.settle(other, _NATIVE + b"full_mask()")
                elif flow.number(function, other) not in (0, 1):
                    self.refuse(other, "a mask of 32 bits")
            return
        if flow.number(function, left) in (16, 31, 32) and flow.number(function, right) is None:
            self.from_the_left(node, left, sign.type, right)
            return
        number = flow.number(function, right)
        if right.start_byte in self.settled or number not in (5, 16, 31, 32, -32, 0xFFFFFFE0):
            return
        if _GRID.search(function.text(left)) and (sign.type, number) in (("*", 32), ("<<", 5)):
            self.refuse(node, "the grid is laid out by 32")
            return
        sized = b"blockDim" in function.text(left) and b"threadIdx" not in function.text(left)
        counts = flow.is_thread(function, left)
        lane = flow.is_lane(function, left)
        warp = not sized and self.agreed(left) == WARP
        if number == 32 and sign.type in ("%", "/") and (counts or sized):
            self.settle(right, _SIZE)
        elif number == 32 and sign.type == "/" and flow.number(function, left) is not None:
            self.count(node, right)
        elif number == 31 and sign.type == "&" and counts:
            self.settle(right, b"(" + _SIZE + b" - 1)")
        elif number == 31 and sign.type == "+" and sized:
            self.settle(right, _SIZE + b" - 1")
        elif number == 5 and sign.type == ">>" and (counts or sized):
            self.shift(left, sign, right, b"/")
        elif number == 5 and sign.type == "<<" and warp:
            self.shift(left, sign, right, b"*")
        elif number == 32 and (warp if sign.type == "*" else (counts or lane) and sign.type in _COMPARES):
            self.settle(right, _SIZE)
        elif number == 31 and sign.type in _COMPARES and (counts or lane):
            self.settle(right, _SIZE + b" - 1")
        elif (
            lane
            or (counts and number not in (16, 32) and sign.type in ("&", "^", ">>", "<<"))
            or (counts and number in (16, 32) and sign.type in ("+", "-"))
            or (warp and sign.type in (*_COMPARES, "%", "/"))
        ):
            self.refuse(node, "")

    def from_the_left(self, node: Node, left: Node, sign: str, right: Node) -> None:
        """`31 - lane`, `32 * warp` and the like."""
        if left.start_byte in self.settled:
            return
        if _GRID.search(self.function.text(right)) and sign == "*":
            self.refuse(node, "the grid is laid out by 32")
            return
        number = self.flow.number(self.function, left)
        lane, counts = self.flow.is_lane(self.function, right), self.flow.is_thread(self.function, right)
        warp = self.agreed(right) == WARP
        if number == 32 and (
            (lane and sign == "-") or (warp and sign == "*") or (sign in _COMPARES and (lane or counts))
        ):
            self.settle(left, _SIZE)
        elif number == 31 and ((lane and sign == "-") or (sign in _COMPARES and (lane or counts))):
            self.settle(left, _SIZE + b" - 1")
        elif lane or (counts and sign in ("+", *_COMPARES)) or (warp and sign in _COMPARES):
            self.refuse(node, "")

    def count(self, node: Node, right: Node) -> None:
        """`256 / 32`: how many warps a block has. An array may have room for more."""
        outer = node.parent
        while outer is not None and outer != self.function.body:
            if outer.type in ("array_declarator", "template_argument_list"):
                return
            if outer.type == "declaration" and re.match(rb"\s*(?:static\s+)?constexpr\b", self.function.text(outer)):
                self.refuse(node, "a constant")
                return
            outer = outer.parent
        self.settle(right, _SIZE)

    def agreed(self, node: Node) -> int:
        return self.flow.kernels.agreement(self.function, node)

    def shift(self, left: Node, sign: Node, right: Node, new: bytes) -> None:
        self.settled.add(right.start_byte)
        self.edit(Span(sign.start_byte, right.end_byte), new + b" " + _SIZE)
        if left.type == "binary_expression":
            self.edit(Span(left.start_byte, left.start_byte), b"(")
            self.edit(Span(left.end_byte, left.end_byte), b")")

    def assignment(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return
        if sign.type == "+=" and self.flow.number(self.function, right) == 32 and left.type == "identifier":
            # A step over what the lanes of a warp have done.
            if self.agreed(left) < BLOCK:
                self.settle(right, _SIZE)
            elif self.flow.kernels.unknown(self.function, left):
                self.refuse(node, "")
            return
        if sign.type in ("=", "|=", "&=", "^="):
            self.given(left, right)

    def variable(self, node: Node) -> None:
        """`int size = 32;`, which is no constant."""
        value = node.child_by_field_name("value")
        outer = node.parent
        if value is None or outer is None or value.start_byte in self.settled:
            return
        if self.flow.number(self.function, value) in (31, 32) and b"const" not in self.function.text(outer):
            self.refuse(node, "")

    def given(self, target: Node | None, value: Node | None) -> None:
        """A number that a mask is set to."""
        if target is None or value is None or value.start_byte in self.settled:
            return
        node: Node | None = target
        while node is not None and node.type not in ("identifier", "field_expression"):
            node = node.child_by_field_name("argument") or node.child_by_field_name("declarator")
        if node is None or not self.carried(node):
            return
        if self.is_full(value):
            self.settle(value, _NATIVE + b"full_mask()")
        elif not self.flow.carries(self.function, value) and self.flow.number(self.function, value) not in (0, 1):
            self.refuse(value, "a mask of 32 bits")

    def carried(self, node: Node) -> bool:
        name = self.function.text(node)
        variable = self.function.locals.named(name, node.start_byte) or self.function.locals.named(name, node.end_byte)
        if node.type == "identifier" and variable is not None:
            return variable in self.flow.variables.get(self.function, ())
        return self.flow.carries(self.function, node)

    # -- arrays

    def array(self, node: Node) -> None:
        """Arrays of the block with an entry for each lane: room for 64."""
        if b"__shared__" not in self.code[node.start_byte : node.end_byte].split(b"=", 1)[0]:
            return
        for declarator in node.children_by_field_name("declarator"):
            sizes: list[Node | None] = []
            inner: Node | None = declarator
            while inner is not None and inner.type == "array_declarator":
                size = inner.child_by_field_name("size")
                sizes.insert(0, size)
                inner = inner.child_by_field_name("declarator")
            if inner is None:
                continue
            name = self.function.text(inner)
            for indices in self.subscripts(name):
                for size, index in zip(sizes, indices, strict=False):
                    if size is not None and self.flow.is_lane(self.function, index):
                        if self.flow.number(self.function, size) == 32:
                            self.settle(size, _NATIVE + b"max_lanes")
                        elif (self.flow.number(self.function, size) or 64) < 64:
                            self.refuse(size, "an array with an entry for each lane")

    def subscripts(self, name: bytes) -> Iterator[list[Node]]:
        for node in _nodes(self.function.body):
            if node.type != "subscript_expression" or (node.parent and node.parent.type == "subscript_expression"):
                continue
            indices: list[Node] = []
            inner: Node | None = node
            while inner is not None and inner.type == "subscript_expression":
                given = inner.child_by_field_name("indices")
                indices = [*(given.named_children if given is not None else ()), *indices]
                inner = inner.child_by_field_name("argument")
            if inner is not None and self.function.text(inner) == name:
                yield indices

    # -- macros and types

    def macros(self) -> None:
        """Macros that have intrinsics in them: whoever else uses them keeps them as they are."""
        words = set(re.findall(rb"\w+", self.function.text(self.function.body)))
        for name in sorted(words & self.project.together(self.function.source, _macros)):
            self.done.places.append(f"{name.decode()} is a macro with intrinsics in it: make it a function")

    def types(self) -> None:
        function, flow = self.function, self.flow
        for node in _nodes(function.node):
            if node.type == "optional_parameter_declaration":
                value = node.child_by_field_name("default_value")
                if value is not None and flow.number(function, value) in (16, 31, 32):
                    self.refuse(node, "")
            elif node == function.body:
                break
        for variable in flow.variables.get(function, ()):
            declared = flow.declared(function, variable)
            if declared is None:
                self.done.places.append(f"the type of {variable.name.decode()} is not known")
            elif variable.name in function.parameters and (
                function.kernel or (declared.declarator is not None and declared.declarator.type != "identifier")
            ):
                self.refuse(declared.declarator or declared.type, "a mask in the program's memory")
            else:
                self.widen(declared)
        if function.name in flow.results:
            declared = result_of(function)
            if declared is not None and any(flow.carries(function, value) for value in _returned(function.body)):
                self.widen(declared)
        for name in flow.members:
            if re.search(rb"(?:\.|->)\s*" + re.escape(name) + rb"\b", function.text(function.body)):
                for declared in flow.members_named(name):
                    self.widen(declared)

    def widen(self, declared: Declared) -> None:
        text = declared.source.code[declared.type.start_byte : declared.type.end_byte]
        bits = self.flow.bits(declared)
        if bits in (0, 64) or text.startswith(_NATIVE):
            return
        outer = declared.type.parent
        others = outer.children_by_field_name("declarator") if outer is not None else []
        alone = len(others) <= 1 or declared.source is not self.function.source or all(map(self.is_mask, others))
        if bits == 32 and alone and re.fullmatch(rb"(?:unsigned|int|signed|std::|\s|u?int32_t|uint)+", text):
            self.done.edit(declared.source, span(declared.type), _NATIVE + b"lane_mask")
        else:
            line = declared.source.position(declared.type.start_byte)[0]
            self.done.places.append(f"line {line}: the type {text.decode('utf-8', 'replace')} of a mask")

    def is_mask(self, declarator: Node) -> bool:
        node: Node | None = declarator
        while node is not None and node.type != "identifier":
            node = node.child_by_field_name("declarator")
        return node is not None and self.carried(node)

    # -- notes

    def edit(self, where: Span, new: bytes) -> None:
        if not within(where.start, self.function.source.cuda_only) and not within(
            where.start, self.function.source.hip_only
        ):
            self.done.edit(self.function.source, where, new)

    def settle(self, node: Node, new: bytes) -> None:
        self.settled.update(child.start_byte for child in (node, *_nodes(node)))
        self.edit(span(node), new)

    def refuse(self, node: Node, why: str) -> None:
        text = b" ".join(self.function.text(node).split()).decode("utf-8", "replace")
        self.refuse_at(node.start_byte, f"`{text[:60]}`" + (f", {why}" if why else ""))

    def refuse_at(self, offset: int, text: str) -> None:
        source = self.function.source
        line = source.first.position(source.origin(Span(offset, offset + 1)).start)[0]
        self.done.places.append(f"line {line}: {text}")


def _nodes(node: Node) -> Iterator[Node]:
    stack = list(reversed(node.named_children))
    while stack:
        each = stack.pop()
        yield each
        stack.extend(reversed(each.named_children))


def _returned(body: Node) -> Iterator[Node]:
    for node in _nodes(body):
        if node.type == "return_statement":
            yield from node.named_children


PASS = Pass(Cpp, find)

# SPDX-License-Identifier: Apache-2.0
"""Put `hipport::syncwarp()` between the steps of code that counts on the lanes of a warp to run in lockstep.

`if (tid < 32) { s[tid] += s[tid + 16]; s[tid] += s[tid + 8]; … }` reads in each step what other lanes stored in the
one before, without saying so. The wavefronts of AMD do run in lockstep, of 32 and of 64 lanes, but the compiler does
not: to it `s[tid]` and `s[tid + 8]` are different elements, and unless they are volatile it may load the second before
it stores the first. `hipport::syncwarp()` keeps accesses on their side of it and costs no instruction. It goes in front
of each statement that loads from a shared array what another lane may have stored since the last barrier.

It adds an order among the lanes of a warp and takes nothing away, so it changes no program that does not depend on that
order. Where the code is for the lanes of one warp, under `tid < 32`, by what it is called under or as its indices say
(`tid & 31`), it gives the order that the code counts on: SAFE. Volatile accesses of which none of this is known are
REVIEW. Exchanges through other arrays are left alone: nothing says that they are among the lanes of one warp. A macro
orders accesses where all its definitions do; one that is such a step itself has the call in front of each use but the
first of several in a row. One that is several steps has it between them. A fence of CUDA's orders what one thread
does, and lanes meet only where something says so: it is no order among them. Elements of a member are looked at where
the object lies in shared memory or was given some; what a function that is called stores or loads may be any element.

`if (leader) *sum = 0; atomicAdd(sum, x); if (leader) atomicAdd(out, *sum);` counts on lockstep too, in any memory: the
others may not add before the leader has stored, nor it load before they have added. A call goes in front of both, for
review, as nothing says that those who add are of one warp.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from hipport.finding import Certainty, Finding
from hipport.headers import include
from hipport.languages.agreement import BLOCK, WARP
from hipport.languages.cpp import Cpp, within
from hipport.languages.functions import (
    DEFINE,
    LOOPS,
    Function,
    arguments,
    called_name,
    declared_name,
    device_macros,
    function_at,
    is_method,
    nodes,
)
from hipport.languages.kernels import LED, Kernels
from hipport.pipeline import Pass
from hipport.project import Component, Project
from hipport.source import Edit, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_SYNC = b"hipport::syncwarp();"
# What orders accesses of lanes: barriers, by whatever name. A shuffle or a vote does not, nor does a fence of CUDA's or
# PTX's, which is for the accesses of one thread, or one for the compiler.
_ORDERS = re.compile(
    rb"\b(?!\w*(?:shfl|ballot|any_|all_|match_|reduce_|async|thread_?fence|mem_?fence|fence_(?:acq|sc|proxy)))"
    rb"\w*(?:sync|barrier|fence)\w*|\basm\b(?!\s*(?:volatile|__volatile__)?\s*\(\s*\"\")",
    re.IGNORECASE,
)
_FOR_COMPILER = re.compile(rb"\b(?:__)?asm(?:__)?\s*(?:volatile|__volatile__)?\s*\(\s*\"\"")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\([^()]*\))?((?:[^\\\r\n]|\\[ \t]*(?:\r\n?|\n)|\\)*)")
_ELEMENT = re.compile(rb"(?:\(\s*)?\b([A-Za-z_]\w*)\b\s*\)?\s*\[([^\[\]]*)\]")
_STORE = re.compile(_ELEMENT.pattern + rb"\s*(?:[-+*/|&^]|<<|>>)?=(?!=)")
# An element that is not only stored to.
_LOADED = re.compile(_ELEMENT.pattern + rb"(?!\s*=(?!=))")
_OPENING = re.compile(rb"\s*\(")
_SHARED = re.compile(rb"__shared__[^;=({]*?[\s*&](\w+)\s*\[")
_FILE_SHARED_BEFORE = re.compile(rb"^[ \t]*(?:extern[ \t]+)?(?:volatile[ \t]+)?\Z", re.MULTILINE)
_FROM_TEMPLATE = re.compile(rb"(?i)\w*shared_?mem(?:ory)?")
_LANE = re.compile(
    rb"(?i)&\(?(?:31\b|0x1f\b|\w*warp_?size(?:\(\))?-1)|%\(?(?:32\b|\w*warp_?size)|>>\(?5\b|/\(?(?:32\b|\w*warp_?size)"
)
_HALVES = re.compile(rb"(?:>>|<<|\*|/)=|=[^=;]*(?:>>|<<|\*|/)\s*[12]\b")
_STATEMENT = re.compile(rb"(?:\s|\\(?=\s)|;)*()")
_LOOP_HEAD = re.compile(rb"(?:for|while)\s*\(")
_IN_PARENTHESES = re.compile(rb"\((\w+)\)")
# What may stand between two steps of a macro: nothing, or `if (lane < 8)`, in front of which there is room.
_CONDITION = re.compile(rb"[\s\\;]*(?P<if>if\s*\((?:[^()]|\([^()]*\))*\)[\s\\]*)?")
_PATH = re.compile(rb"\w+(?:\.\w+)*")
_POINTED = re.compile(rb"\*(?:(?P<name>\w+)|\((?P<inner>\w+)(?:\+(?P<offset>[^()]*))?\))")
_PART = re.compile(rb"(?:\([^()]*\*\))?\(?(?:&(?P<array>\w+)\[(?P<element>[^\[\]]+)\]|(?P<of>\w+)\+(?P<sum>[^()]+))\)?")
_PRODUCT = re.compile(rb"(\w+)\*(\w+)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
# A template that is called with arguments in angle brackets, and what is called without.
_TEMPLATE_CALLED = re.compile(rb">(?:\s|\\)*\(")
_PLAINLY_CALLED = re.compile(rb"([A-Za-z_]\w*)\b(?:\s|\\)*\(")
_CALLS = frozenset(("call_expression",))
_STORES = frozenset(("assignment_expression", "update_expression", "lambda_expression"))
_LAMBDAS = frozenset(("lambda_expression",))
_BLOCKS = frozenset(
    ("compound_statement", "case_statement", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per function with such steps, and per value that a lane leads atomic operations on."""
    if b"atomic" in source.code:
        yield from _led(source, project)
    if b"[" not in source.code or not project.together(source, _has_shared) or not _concerned(source, project):
        return
    kernels = Kernels.of(project)
    yield from _of_several_steps(source, project, kernels)
    known: dict[Function, dict[bytes, tuple[bytes, bool]]] = {}
    orders = _ordering(source, project)
    in_macros = project.component(source).fact(_step_macros)
    for function in kernels.functions(source):
        start = function.body.start_byte
        if source.ported(start):
            continue
        if not _has_elements(function, project):
            continue
        arrays = _arrays(function, kernels, project, known)
        if not arrays:
            continue
        if not in_macros.keys().isdisjoint(function.called):
            yield from _of_macros(function, kernels, project, arrays, orders, in_macros)
        steps = _Steps(kernels, function, arrays, orders)
        steps.follow(function.body, ())
        for body, for_one_warp in _lambdas(function, kernels):
            steps.for_one_warp = for_one_warp
            steps.follow(body, ())
        if not steps.before and not steps.behind:
            continue
        need, header = include(source, project, "warp.h")
        places = sorted({*steps.before.values(), *steps.behind.values()}, key=lambda node: node.start_byte)
        lines = ", ".join(dict.fromkeys(str(_line(source, node)) for node in places))
        edits = {edit for node in steps.before.values() for edit in _in_front(source, node)}
        edits |= {edit for node in steps.behind.values() for edit in _at_the_end(source, node)}
        message = f"hipport::syncwarp() between steps in which lanes read what others stored (lines {lines})"
        if steps.assumes:
            message += "; assumes that lanes which exchange values are of one warp"
        yield Finding(
            Span(places[0].start_byte, places[0].end_byte),
            "lockstep",
            message,
            (*sorted(edits), *((need,) if need else ())),
            Certainty.REVIEW if steps.assumes else Certainty.SAFE,
            (header,),
        )


def _led(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find what one lane of several stores before their atomic operations and loads behind them."""
    for match in LED.finditer(source.code):
        if source.ported(match.start()):
            continue
        need, header = include(source, project, "warp.h")
        places = (match.start("atomic"), match.start("load"))
        edits = [edit for place in places for edit in _at(source, place)]
        yield Finding(
            Span(*match.span("atomic")),
            "lockstep",
            "hipport::syncwarp() around an atomic operation on what one lane stores before it and loads behind it; "
            "assumes that the lanes which do it are of one warp and come here together",
            (*edits, *((need,) if need else ())),
            Certainty.REVIEW,
            (header,),
        )


class _Access(NamedTuple):
    """A load or store of an element of `array`: that at `element`, which is code without white space."""

    array: bytes
    element: bytes
    place: Node


@dataclass
class _Steps:
    """Follows a function in the order of its statements, and remembers where a load needs an order."""

    kernels: Kernels
    function: Function
    #: The shared arrays, under every name that they have here, with one name for each; volatile ones are marked.
    arrays: dict[bytes, tuple[bytes, bool]]
    #: Where words of the file stand that order accesses.
    orders: list[int]
    #: The statements that need one in front, and the loops that need one at the end of their body.
    before: dict[int, Node] = field(default_factory=dict)
    behind: dict[int, Node] = field(default_factory=dict)
    assumes: bool = False
    #: Whether what is followed is a lambda that is called where only lanes of one warp come.
    for_one_warp: bool = False
    _exposed: dict[int, tuple[_Access, ...]] = field(default_factory=dict)
    _effects: dict[int, tuple[bool, tuple[_Access, ...]]] = field(default_factory=dict)
    _by_lane: dict[int, bool] = field(default_factory=dict)

    def follow(self, node: Node, stored: tuple[_Access, ...]) -> tuple[_Access, ...]:
        """Return what lanes may have stored and not ordered after `node`, given what they have before it."""
        kind = node.type
        if kind in _BLOCKS:
            for child in node.named_children:
                if child.type not in ("comment", "preproc_call", "preproc_def"):
                    stored = self.follow(child, stored)
            return stored
        if stored and self.meets(self.exposed(node), stored):
            self.before[node.id] = node
            stored = ()
        if kind == "if_statement":
            branches = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
            after = [self.inside(branch, stored) for branch in branches if branch is not None]
            if branches[1] is None:
                after.append(stored)
            return tuple(dict.fromkeys(access for each in after for access in each))
        body = node.child_by_field_name("body") if kind in LOOPS or kind == "switch_statement" else None
        if body is not None and kind in LOOPS:
            after_body = self.inside(body, stored)
            # From one turn to the next lanes meet where the distance doubles or halves; in others each has a row to do.
            if after_body and self.halves(node) and self.meets(self.exposed(node), after_body):
                self.behind[body.id] = body
                after_body = ()
            return tuple(dict.fromkeys((*stored, *after_body)))
        if body is not None:
            return self.inside(body, stored)
        ordered, stores = self.effects(node)
        return stores if ordered else (*stored, *stores)

    def halves(self, loop: Node) -> bool:
        update = loop.child_by_field_name("update")
        return _HALVES.search(self.function.text(update if update is not None else loop)) is not None

    def inside(self, branch: Node, stored: tuple[_Access, ...]) -> tuple[_Access, ...]:
        if branch.type == "else_clause":
            for child in branch.named_children:
                stored = self.follow(child, stored)
            return stored
        return self.follow(branch, stored)

    def exposed(self, node: Node) -> tuple[_Access, ...]:
        """Return what `node` loads before it orders accesses."""
        if node.id not in self._exposed:
            self._exposed[node.id] = tuple(self._find_exposed(node))
        return self._exposed[node.id]

    def effects(self, node: Node) -> tuple[bool, tuple[_Access, ...]]:
        """Return whether `node` orders accesses, and what it stores behind that."""
        if node.id not in self._effects:
            self._effects[node.id] = self._find_effects(node)
        return self._effects[node.id]

    def _find_exposed(self, node: Node) -> Iterator[_Access]:
        if node.type in _BLOCKS or node.type == "else_clause":
            for child in node.named_children:
                yield from self.exposed(child)
                if self.effects(child)[0]:
                    return
            return
        inner = self.parts(node)
        if inner:
            if not self.is_barrier(node, inner):
                yield from self.of_condition(node)
                for part in inner:
                    yield from self.exposed(part)
        elif not self.effects(node)[0]:
            yield from self.loads(node) if self.mentions(node) else ()
            yield from self.of_calls(node, _LOADED)

    def of_calls(self, node: Node, pattern: re.Pattern[bytes]) -> Iterator[_Access]:
        """Yield accesses that functions called in `node` make, whose text the pattern finds: of any element."""
        if self.steps.isdisjoint(self.function.called):
            return
        for each in nodes(node, _CALLS):
            name = called_name(each, self.function.source.code)
            if name not in self.steps:
                continue
            for definition in self.kernels.definitions(self.function.source, name):
                accessed = {match[1] for match in pattern.finditer(definition.text(definition.body))}
                for array in self.given(each, definition, accessed) if definition is not self.function else ():
                    yield _Access(array, b"?", each)

    def given(self, call: Node, definition: Function, accessed: set[bytes]) -> Iterator[bytes]:
        """Yield the shared arrays that a call gives to what the function accesses, or that its object has."""
        for parameter, value in zip(definition.parameters, arguments(call), strict=False):
            for word in _WORD.findall(self.function.text(value)) if parameter in accessed else ():
                if word in self.arrays:
                    yield self.arrays[word][0]
        called = call.child_by_field_name("function")
        thing = called.child_by_field_name("argument") if called is not None else None
        for member in accessed - set(definition.parameters) if is_method(definition) else ():
            thing_name = self.function.text(thing) if thing is not None else b"this"
            if thing_name == b"this":
                if member in self.arrays:
                    yield self.arrays[member][0]
            elif thing_name in self.arrays:
                yield self.arrays[thing_name][0] + b"." + member

    @cached_property
    def steps(self) -> frozenset[bytes]:
        """The functions called here that have elements of arrays and no order."""
        source = self.function.source
        called = self.function.called - self.carriers
        text = self.function.text(self.function.body)
        if not _TEMPLATE_CALLED.search(text):
            called &= frozenset(_PLAINLY_CALLED.findall(text))  # Not what is compared, `x < width`.
        return frozenset(
            name
            for name in called
            if self.kernels.may_have_elements(source, name)
            and any(
                not each.kernel and _ELEMENT.search(each.text(each.body))
                for each in self.kernels.definitions(source, name)
            )
        )

    def _find_effects(self, node: Node) -> tuple[bool, tuple[_Access, ...]]:
        stores: list[_Access] = []
        if node.type in _BLOCKS or node.type == "else_clause":
            ordered = False
            for child in node.named_children:
                child_orders, child_stores = self.effects(child)
                if child_orders:
                    ordered, stores = True, []
                stores += child_stores
            return ordered, tuple(stores)
        inner = self.parts(node)
        if inner:
            if self.is_barrier(node, inner):
                return True, ()
            # An `if` with a barrier in it may be passed by; nothing is ordered for those who pass.
            return False, tuple(store for part in inner for store in self.effects(part)[1])
        if self.has_order(node) or self.calls_barrier(node):
            return True, ()
        stored = (*(self.stores(node) if self.mentions(node) else ()), *self.of_calls(node, _STORE))
        return False, stored

    def parts(self, node: Node) -> list[Node]:
        """The branches of an `if`, or the body of a loop; of other statements none."""
        kind = node.type
        if kind != "if_statement" and kind not in LOOPS:
            return []
        parts = (node.child_by_field_name(name) for name in ("consequence", "alternative", "body"))
        return [part for part in parts if part is not None]

    def of_condition(self, node: Node) -> list[_Access]:
        condition = node.child_by_field_name("condition")
        return self.loads(condition) if condition is not None else []

    def is_barrier(self, node: Node, inner: list[Node]) -> bool:
        """Whether it is `if (round > 0) __syncthreads();`."""
        return (
            node.type == "if_statement"
            and len(inner) == 1
            and self.effects(inner[0])[0]
            and not self.exposed(inner[0])
            and not self.of_condition(node)
        )

    def mentions(self, node: Node) -> bool:
        text = self.function.text(node)
        return any(name in text for name in self.arrays)

    def has_order(self, node: Node) -> bool:
        i = bisect_left(self.orders, node.start_byte)
        return i < len(self.orders) and self.orders[i] < node.end_byte

    @cached_property
    def carriers(self) -> frozenset[bytes]:
        """The functions called here that may order accesses."""
        return self.function.called & self.kernels.carriers(self.function.source, _ORDERS)

    def calls_barrier(self, node: Node) -> bool:
        source = self.function.source
        return bool(self.carriers) and any(
            self.kernels.reaches(definition, _ORDERS)
            for each in nodes(node, _CALLS)
            if (name := called_name(each, source.code)) in self.carriers
            for definition in self.kernels.definitions(source, name)
            if definition is not self.function
        )

    def loads(self, node: Node) -> list[_Access]:
        found = []
        stack = [(node, False)]
        while stack:
            current: Node | None
            current, stored_to = stack.pop()
            kind = current.type
            if kind == "assignment_expression":
                left, right = current.child_by_field_name("left"), current.child_by_field_name("right")
                operator = current.child_by_field_name("operator")
                if left is not None and right is not None and operator is not None:
                    stack += [(left, operator.type == "="), (right, False)]
                    continue
            if kind == "lambda_expression":
                continue
            if kind == "pointer_expression" and not stored_to and (access := self.access(current)) is not None:
                found.append(access)
            if kind == "subscript_expression":
                access = None if stored_to else self.access(current)
                if access is not None:
                    found.append(access)
                # Its indices are loaded. `a[i]` of `a[i][j]` is no access of its own, `p[i]` of `s[p[i]]` is.
                while current is not None and current.type == "subscript_expression":
                    given = current.child_by_field_name("indices")
                    stack += [(child, False) for child in (given.named_children if given is not None else ())]
                    current = current.child_by_field_name("argument")
                if current is not None and current.type != "identifier":
                    stack.append((current, False))
                continue
            # A member of what is stored to is stored to.
            part = stored_to and kind in ("field_expression", "parenthesized_expression")
            stack += [(child, part) for child in current.named_children]
        return found

    def stores(self, node: Node) -> list[_Access]:
        found: list[_Access] = []
        text = self.function.text(node)
        if b"=" not in text and b"++" not in text and b"--" not in text:
            return found
        # What a lambda stores is stored where it is called.
        behind_lambda = 0
        for current in nodes(node, _STORES):
            if current.start_byte < behind_lambda:
                continue
            if current.type == "lambda_expression":
                behind_lambda = current.end_byte
                continue
            if current.type == "assignment_expression":
                target = current.child_by_field_name("left")
            else:
                target = next(iter(current.named_children), None)
            access = None
            while target is not None and (access := self.access(target)) is None:
                target = target.child_by_field_name("argument")
            if access is not None:
                found.append(access)
        return found

    def access(self, node: Node) -> _Access | None:
        """Return the access that a subscript, or `*p`, is, if its array is one of those that lanes meet in."""
        if node.type == "pointer_expression":
            return self.pointed(node)
        indices = []
        current: Node | None = node
        while current is not None and current.type == "subscript_expression":
            given = current.child_by_field_name("indices")
            indices.append(b"".join(self.function.text(given).split())[1:-1] if given is not None else b"")
            current = current.child_by_field_name("argument")
        if not indices or current is None or current.type not in ("identifier", "field_expression"):
            return None
        # `this->s[i]` is of s, `scratch.s[i]` of an array of its own if scratch is shared.
        name, _, part = self.function.text(current).removeprefix(b"this->").partition(b".")
        array = self.arrays.get(name)
        if array is None or (part and not _PATH.fullmatch(part)):
            return None
        element = b"][".join(reversed(indices))
        offset = self.offsets.get(name)
        if offset is not None:
            element = offset + b"+" + element if element != b"0" else offset
        return _Access(array[0] + (b"." + part if part else b""), element, node)

    def pointed(self, node: Node) -> _Access | None:
        """Return the access that `*p` or `*(p + i)` is."""
        match = _POINTED.fullmatch(b"".join(self.function.text(node).split()))
        array = self.arrays.get(match["inner"] or match["name"]) if match else None
        if match is None or array is None:
            return None
        terms = [self.offsets.get(match["inner"] or match["name"]), match["offset"]]
        return _Access(array[0], b"+".join(term for term in terms if term) or b"0", node)

    @cached_property
    def offsets(self) -> dict[bytes, bytes]:
        """What is added to an array in names for parts of it: `i` of `p = s + i` and of `p = &s[i]`."""
        found: dict[bytes, bytes] = {}
        for assignment in self.function.locals.assignments:
            name = assignment.variable.name
            if name in self.arrays and len(assignment.values) == 1:
                match = _PART.fullmatch(b"".join(self.function.text(assignment.values[0]).split()))
                if match is not None and assignment.declares and (match["array"] or match["of"]) in self.arrays:
                    found[name] = match["sum"] or match["element"]
                elif not assignment.declares:
                    found.pop(name, None)
        return found

    def meets(self, loads: Iterable[_Access], stored: tuple[_Access, ...]) -> bool:
        """Whether one of the loads may be of what another lane has stored; notes what that assumes."""
        met = False
        for load in loads:
            # What costs least is asked first: generated code has thousands of pairs.
            by_lane = self.for_one_warp or self.kernels.one_warp(self.function, load.place) or self.by_lane(load)
            volatile = any(name == load.array and marked for name, marked in self.arrays.values())
            if (by_lane or volatile) and any(self.other_lane(load, store) for store in stored):
                met = True
                self.assumes = self.assumes or not by_lane
        return met

    def other_lane(self, load: _Access, store: _Access) -> bool:
        if load.array != store.array or load.element == store.element or self.other_element(load, store):
            return False
        if load.element.isdigit():
            if store.element.isdigit():
                return False
            # `if (tid == 0) … s[0]` of what lane 0 stored itself.
            for condition in self.function.conditions(load.place):
                text = b"".join(self.function.text(condition.expression).split())
                name, _, number = text.partition(b"==")
                if condition.taken and (
                    (number == load.element and (name == store.element or self.both_count(condition.expression, store)))
                    or (text == b"!" + store.element and load.element == b"0")
                ):
                    return False
        # Under `tid < 32` the lanes do not store to `s[tid + 32]`.
        step = load.element.removeprefix(store.element + b"+")
        return not (
            step != load.element
            and step.isdigit()
            and int(step) >= WARP
            and (self.for_one_warp or self.kernels.one_warp(self.function, store.place))
        )

    def by_lane(self, load: _Access) -> bool:
        """Whether what is loaded, or by whom, is worked out from the number of a lane or warp."""
        if load.place.id not in self._by_lane:
            self._by_lane[load.place.id] = self._find_by_lane(load)
        return self._by_lane[load.place.id]

    def _find_by_lane(self, load: _Access) -> bool:
        function = self.function
        texts = [load.element, *(function.text(each.expression) for each in function.conditions(load.place))]
        seen: set[bytes] = set()
        while texts:
            text = b"".join(texts.pop().split())
            if _LANE.search(text):
                return True
            words = set(_WORD.findall(text)) - seen
            seen |= words
            texts += [
                function.text(value)
                for each in function.locals.assignments
                if each.variable.name in words
                for value in each.values
            ]
        return False

    def other_element(self, load: _Access, store: _Access) -> bool:
        """Whether the elements differ for one lane and for any two, or are of one lane's own.

        `s[t][0]` and `s[t][3]`; `s[3 * t]` and `s[3 * t + 1]`; `s[i * n + t]` and `s[j * n + t]`.
        """
        ones, others = load.element.split(b"]["), store.element.split(b"][")
        if len(ones) == len(others) > 1:
            return any(
                one.isdigit() and other.isdigit() and one != other for one, other in zip(ones, others, strict=True)
            )
        one, other = load.element.split(b"+"), store.element.split(b"+")
        common = [term for term in one if term in other]
        rest = [term for terms, apart in ((one, other), (other, one)) for term in terms if term not in apart]
        strides = [match for term in common if (match := _PRODUCT.fullmatch(term))]
        if strides and all(term.isdigit() for term in rest):
            # A lane's own, unless the offset reaches over the stride.
            stride = next((int(each) for match in strides for each in match.groups() if each.isdigit()), BLOCK)
            return max(map(int, rest), default=0) < stride
        return len(rest) == 2 and len(one) == len(other) > 1 and all(map(_PRODUCT.fullmatch, rest))

    def both_count(self, expression: Node, store: _Access) -> bool:
        left = expression.child_by_field_name("left")
        given = store.place.child_by_field_name("indices")
        index = given.named_children[0] if given is not None and given.named_children else None
        counts = self.kernels.counts_threads
        return left is not None and index is not None and counts(self.function, left) and counts(self.function, index)


def _arrays(
    function: Function, kernels: Kernels, project: Project, known: dict[Function, dict[bytes, tuple[bytes, bool]]]
) -> dict[bytes, tuple[bytes, bool]]:
    """Return the names of shared arrays in the function: which array it is, and whether it is volatile there."""
    if function in known:
        return known[function]
    known[function] = {}  # What a recursion finds here.
    source = function.source
    text = source.code[function.node.start_byte : function.body.end_byte]
    everywhere = project.together(source, _file_shared)
    elements = not function.kernel and _has_elements(function, project)
    calls = kernels.callers(function) if elements else ()
    signs = (b"__shared__", b"volatile", *everywhere, *source.matched(_FROM_TEMPLATE))
    # Before its variables are looked for, which takes longer.
    if (
        not (elements and is_method(function))
        and not any(sign in text for sign in signs)
        and not any(_arrays(call.function, kernels, project, known) for call in calls)
    ):
        return known[function]
    found = {variable.name: variable.name for variable in function.locals.shared}
    own = {variable.name for variable in function.locals.variables}
    found |= {name: name for name in everywhere if name not in own and name in text}
    if elements:
        for position, name in enumerate(function.parameters):
            given = [call for call in calls if len(call.arguments) > position]
            passed = (
                set(_WORD.findall(call.function.text(call.arguments[position])))
                & _arrays(call.function, kernels, project, known).keys()
                for call in given
            )
            if name and (any(passed) or (not given and _is_volatile(text, name))):
                found[name] = name
    for assignment in function.locals.assignments:
        if not assignment.declares or b"*" not in function.text(assignment.node).partition(b"=")[0]:
            continue
        for value in assignment.values:
            words = set(_WORD.findall(function.text(value)))
            # `volatile int *v = s;`, `&s[n]`: another name for s. An element of it is a value.
            element = b"[" in function.text(value) and b"&" not in function.text(value)
            if words & found.keys() and not element:
                found[assignment.variable.name] = found[min(words & found.keys())]
            elif any(map(_FROM_TEMPLATE.fullmatch, words)):
                found[assignment.variable.name] = assignment.variable.name
    found |= {name: name for name in _of_lambdas(function, found.keys()) if name not in own}
    if is_method(function):
        found |= {name: name for name in _members(function, kernels, project, known) if name not in found}
    known[function] = {name: (array, _is_volatile(text, name)) for name, array in found.items()}
    return known[function]


def _of_lambdas(function: Function, arrays: AbstractSet[bytes]) -> Iterator[bytes]:
    """Yield the parameters of the function's lambdas that are given one of the arrays.

    By a call of the lambda, or beside it, to a function that it is handed to.
    """
    if not arrays or b"[" not in function.text(function.body):
        return
    for node in nodes(function.body, _LAMBDAS):
        declarator = node.child_by_field_name("declarator")
        outer = node.parent
        if declarator is None or outer is None:
            continue
        given = declarator.child_by_field_name("parameters")
        names = [declared_name(each, function.source.code) for each in given.named_children] if given else []
        calls: list[tuple[Node, ...]] = []
        if outer.type == "call_expression":
            calls.append(arguments(outer))
        elif outer.type == "argument_list":
            # What it is given in turn is whatever stands beside it.
            calls += [(each,) * len(names) for each in outer.named_children if each != node]
        variable = outer.child_by_field_name("declarator") if outer.type == "init_declarator" else None
        called = function.text(variable) if variable is not None else b""
        calls += [call.arguments for call in (function.calls({called}) if called else ())]
        for call in calls:
            for name, value in zip(names, call, strict=False):
                if name and not arrays.isdisjoint(_WORD.findall(function.text(value))):
                    yield name


def _members(
    function: Function, kernels: Kernels, project: Project, known: dict[Function, dict[bytes, tuple[bytes, bool]]]
) -> frozenset[bytes]:
    """Return the members that a method has elements of, if it is called for an object that shared memory was given to.

    The object may lie in shared memory itself, or have a shared array named where it is made or assigned to.
    """
    source = function.source
    code = source.code[function.body.start_byte : function.body.end_byte]
    own = {variable.name for variable in function.locals.variables}
    names = {match[1] for match in _ELEMENT.finditer(code)} - own
    if not names:
        return frozenset()
    for call in kernels.callers(function):
        arrays = _arrays(call.function, kernels, project, known)
        called = call.node.child_by_field_name("function")
        thing = called.child_by_field_name("argument") if called is not None else None
        root = _WORD.match(call.function.text(thing)) if thing is not None else None
        if root is None or root.group() == b"this":
            # A method of the same object.
            if is_method(call.function) and names & arrays.keys():
                return frozenset(names & arrays.keys())
            continue
        given = [each for each in call.function.locals.assignments if each.variable.name == root.group()]
        texts = [call.function.text(each.node) for each in given]
        if root.group() in arrays or any(arrays.keys() & set(_WORD.findall(text)) for text in texts):
            return frozenset(names)
    return frozenset()


def _lambdas(function: Function, kernels: Kernels) -> Iterator[tuple[Node, bool]]:
    """Yield the bodies of the function's lambdas, and whether only lanes of one warp call them."""
    if b"](" not in b"".join(function.text(function.body).split()):
        return
    for node in nodes(function.body, _LAMBDAS):
        body, outer = node.child_by_field_name("body"), node.parent
        variable = outer.child_by_field_name("declarator") if outer and outer.type == "init_declarator" else None
        name = function.text(variable) if variable is not None else b""
        calls = [call for call in function.calls({name}) if call.node.start_byte >= node.end_byte] if name else []
        if body is not None:
            yield body, bool(calls) and all(kernels.one_warp(function, call.node) for call in calls)


def _has_elements(function: Function, project: Project) -> bool:
    """Whether the function accesses elements of arrays, itself or by a macro that is a step."""
    if function.source.code.find(b"[", function.node.start_byte, function.body.end_byte) >= 0:
        return True
    return not project.component(function.source).fact(_step_macros).keys().isdisjoint(function.called)


def _is_volatile(text: bytes, name: bytes) -> bool:
    return b"volatile" in text and re.search(rb"\bvolatile\b[^;,(){}=]*\b" + name + rb"\b", text) is not None


def _orders(text: bytes, macros: dict[bytes, bool]) -> bool:
    if any(macros.get(match.group(), True) for match in _ORDERS.finditer(text)):
        return True
    return any(macros.get(word, False) for word in _WORD.findall(text)) if macros else False


def _ordering(source: Cpp, project: Project) -> list[int]:
    """Where words stand that order accesses."""
    macros = project.component(source).fact(_macros)
    words = {word for word in source.matched(_ORDERS) if macros.get(word, True)}
    words |= {name for name, orders in macros.items() if orders}
    # `asm volatile("" ::: "memory")` is for the compiler: it does not bring lanes together.
    assembly = _FOR_COMPILER.finditer(source.code) if b"asm" in source.code else ()
    for_compiler = {match.start() for match in assembly}
    return [span.start for span, _ in source.names(words) if span.start not in for_compiler]


def _macros(component: Component) -> dict[bytes, bool]:
    """Say of the macros whose name or text is about order whether they order accesses, by all their definitions."""
    defined = {each for source in component if isinstance(source, Cpp) for each in source.fact(_defines)}
    bodies: dict[bytes, list[bytes]] = {}
    for name, body in defined:
        bodies.setdefault(name, []).append(body)
    known: dict[bytes, bool] = {name: False for name in bodies if _ORDERS.search(name)}
    changed = True
    while changed:
        changed = False
        for name, texts in bodies.items():
            if not known.get(name, False) and all(_orders(text, known) for text in texts):
                known[name] = changed = True
    return known


def _step_macros(component: Component) -> dict[bytes, bytes]:
    """The macros that store to one element of an array and load another, with no order in them, and which array."""
    macros = component.fact(_macros)
    found = {}
    for name, body in {each for source in component if isinstance(source, Cpp) for each in source.fact(_defines)}:
        stored = {(match[1], _index(match[2])) for match in _STORE.finditer(body)} if b"[" in body else set()
        for match in _ELEMENT.finditer(body) if stored and not _orders(body, macros) else ():
            element = _index(match[2])
            if any(match[1] == array and re.match(re.escape(own) + rb"[-+^]", element) for array, own in stored):
                found[name] = match[1]
    return found


def _of_macros(
    function: Function,
    kernels: Kernels,
    project: Project,
    arrays: dict[bytes, tuple[bytes, bool]],
    orders: list[int],
    in_macros: dict[bytes, bytes],
) -> Iterator[Finding]:
    """Find steps that are uses of macros, one behind the other with nothing between them that orders accesses."""
    source, code = function.source, function.source.code
    edits: list[Edit] = []
    places: list[Span] = []
    assumes, end = False, -1
    turning: set[int] = set()
    for match in _WORD.finditer(code, function.body.start_byte, function.body.end_byte):
        if match.group() not in in_macros or source.directive(match.start()):
            continue
        opening = _OPENING.match(code, match.end())
        closing = source.closing(opening.end() - 1) if opening else None
        words = {in_macros[match.group()], *_WORD.findall(code, match.end(), closing or match.end())}
        met = words & arrays.keys()
        node = function.body.descendant_for_byte_range(match.start(), match.end())
        if not met or node is None:
            continue
        before = end
        end = (closing if closing is not None else match.end() - 1) + 1
        one_warp = kernels.one_warp(function, node)
        if not one_warp and not any(arrays[name][1] for name in met):
            continue
        body = _turns(function, node, orders)
        if body is not None and body.id not in turning:
            turning.add(body.id)
            assumes = assumes or not one_warp
            places.append(Span(match.start(), match.end()))
            edits += _at_the_end(source, body, end)
        between = code[before : match.start()].strip() if before >= 0 else b"{"
        # Not `if (lane < 8) STEP(8)`: there is no room in front of it.
        if b"{" in between or between[-1:] not in (b"", b";", b"}"):
            continue
        if any(before <= place < match.start() for place in orders):
            continue
        assumes = assumes or not one_warp
        places.append(Span(match.start(), match.end()))
        indent = source.indent(match.start())
        apart = b" " if indent is None else source.newline + indent
        edits.append(Edit(Span(match.start(), match.start()), _SYNC + apart))
    if not edits:
        return
    need, header = include(source, project, "warp.h")
    lines = dict.fromkeys(str(source.first.position(source.origin(each).start)[0]) for each in places)
    message = f"hipport::syncwarp() between steps of a macro (lines {', '.join(lines)})"
    if assumes:
        message += "; assumes that lanes which exchange values are of one warp"
    certainty = Certainty.REVIEW if assumes else Certainty.SAFE
    yield Finding(places[0], "lockstep", message, (*edits, *((need,) if need else ())), certainty, (header,))


def _of_several_steps(source: Cpp, project: Project, kernels: Kernels) -> Iterator[Finding]:
    """Find macros that are several steps: the call goes between them, where the macro is defined."""
    component = project.component(source)
    macros = component.fact(_step_macros)
    known: dict[Function, dict[bytes, tuple[bytes, bool]]] = {}
    for directive in source.directives if macros else ():
        define = DEFINE.match(source.code, directive.start, directive.end)
        if define is None or within(directive.start, source.cuda_only):
            continue
        # A step, or several, or uses of macros that are steps.
        used = [each for each in _WORD.finditer(source.code, *define.span(3)) if each.group() in macros]
        if define[1] not in macros and not used:
            continue
        if within(directive.start, source.hip_only) or _orders(define[3], component.fact(_macros)):
            continue
        edits = list(_between_steps(source, *define.span(3)))
        for before, each in pairwise(used):
            opening = _OPENING.match(source.code, before.end())
            ended = source.closing(opening.end() - 1) if opening else before.end() - 1
            between = _CONDITION.fullmatch(source.code, ended + 1, each.start()) if ended is not None else None
            if between is not None:
                at = between.start("if") if between["if"] else each.start()
                edits.append(Edit(Span(at, at), _SYNC + b" "))
        if not edits:
            continue
        uses = [
            (kernels.one_warp(call.function, call.node), any(arrays[name][1] for name in met))
            for file in component
            if isinstance(file, Cpp) and define[1] in file.words
            for function in kernels.functions(file)
            for call in function.calls({define[1]})
            if (arrays := _arrays(function, kernels, project, known))
            and (met := arrays.keys() & {macros.get(define[1], b""), *_WORD.findall(function.text(call.node))})
        ]
        if not any(one_warp or volatile for one_warp, volatile in uses):
            continue
        need, header = include(source, project, "warp.h")
        message = f"hipport::syncwarp() between the steps of {define[1].decode()}"
        certainty = Certainty.SAFE
        if not all(one_warp for one_warp, _ in uses):
            message += "; assumes that lanes which exchange values are of one warp"
            certainty = Certainty.REVIEW
        all_edits = (*edits, *((need,) if need else ()))
        yield Finding(Span(*define.span(1)), "lockstep", message, all_edits, certainty, (header,))


def _between_steps(source: Cpp, start: int, end: int) -> Iterator[Edit]:
    """Put the call between the steps in a macro's text from `start` to `end`, and behind each of a loop that halves."""
    code = source.code
    stored: set[tuple[bytes, bytes]] = set()
    loops: list[tuple[bool, int]] = []
    at = start
    while (match := _STATEMENT.match(code, at, end)) is not None and match.end() > at:
        first, last = match.start(1), match.end(1)
        depth = 0
        while last < end and (depth or code[last : last + 1] not in (b";", b"{", b"}")):
            depth += {b"(": 1, b")": -1}.get(code[last : last + 1], 0)
            last += 1
        text, sign = code[first:last], code[last : last + 1]
        at = last + 1
        elements = [(each[1], _index(each[2])) for each in _ELEMENT.finditer(text)]
        met = any(array == name and _beside(own, element) for name, own in stored for array, element in elements)
        # In front of `else` there is no room.
        if met and not text.startswith(b"else"):
            yield Edit(Span(first, first), _SYNC + b" ")
            stored.clear()
        stores = {(each[1], _index(each[2])) for each in _STORE.finditer(text)}
        head = _LOOP_HEAD.match(text)
        halves = head is not None and _HALVES.search(text[: _parenthesis(text, head.end() - 1)]) is not None
        meets = any(array == name and _beside(own, element) for name, own in stores for array, element in elements)
        stored |= stores
        if sign == b"{":
            loops.append((halves, len(stored)))
        elif sign == b"}" and loops:
            halving, before = loops.pop()
            if halving and len(stored) > before:
                yield Edit(Span(last, last), _SYNC + b" ")
                stored.clear()
        elif halves and head is not None and meets:
            body = first + _parenthesis(text, head.end() - 1) + 1
            yield Edit(Span(body, body), b" {")
            yield Edit(Span(min(at, end), min(at, end)), (b" " if sign == b";" else b"; ") + _SYNC + b" }")
            stored.clear()
        if last >= end:
            return


def _index(text: bytes) -> bytes:
    """An index without white space and parentheses around a name, which macros put there."""
    return _IN_PARENTHESES.sub(rb"\1", b"".join(text.split()))


def _beside(own: bytes, element: bytes) -> bool:
    """Whether an element is one beside a lane's own: `t + 8` or `t ^ 1` of `t`."""
    return re.match(re.escape(own) + rb"[-+^]", element) is not None


def _parenthesis(text: bytes, opening: int) -> int:
    """Where the parenthesis at `opening` ends."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {b"(": 1, b")": -1}.get(text[at : at + 1], 0)
        if depth == 0:
            return at
    return len(text) - 1


def _turns(function: Function, node: Node, orders: list[int]) -> Node | None:
    """The body of the loop around a step whose distance doubles or halves from turn to turn, if nothing orders them."""
    outer: Node | None = node
    while outer is not None and outer != function.body and outer.type not in LOOPS:
        outer = outer.parent
    body = outer.child_by_field_name("body") if outer is not None and outer.type in LOOPS else None
    if outer is None or body is None or not body.start_byte <= node.start_byte < body.end_byte:
        return None
    update = outer.child_by_field_name("update")
    if not _HALVES.search(function.text(update if update is not None else outer)):
        return None
    return None if any(body.start_byte <= place < body.end_byte for place in orders) else body


def _defines(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    return (
        frozenset((match[1], match[2]) for match in _DEFINE.finditer(source.code))
        if b"define" in source.code
        else (frozenset())
    )


def _line(source: Cpp, node: Node) -> int:
    """The line that the user wrote it on."""
    return source.first.position(source.origin(Span(node.start_byte, node.start_byte + 1)).start)[0]


def _concerned(source: Cpp, project: Project) -> bool:
    """Whether functions of the file may have shared arrays: what to ask before it is parsed.

    It names one, or a function of it that is no kernel has a subscript and may be given one.
    """
    words = source.words
    if b"__shared__" in words or b"volatile" in words or source.matched(_FROM_TEMPLATE):
        return True
    if not words.isdisjoint(project.together(source, _file_shared)):
        return True
    code = source.code
    for span, _ in source.names(project.together(source, device_macros) | {b"__device__"}):
        end = code.find(b"{", span.end)
        while end >= 0:
            closing = source.closing(end)
            end = len(code) if closing is None else closing + 1
            # Braces of an initializer stand in front of those of the body.
            if code[end:].lstrip()[:1] not in (b",", b"{"):
                break
            end = code.find(b"{", end)
        if b"[" in code[span.end : end if end >= 0 else len(code)]:
            return True
    return False


def _has_shared(source: Cpp) -> frozenset[bytes]:
    return frozenset((b"__shared__",)) if b"__shared__" in source.code else frozenset()


def _file_shared(source: Cpp) -> frozenset[bytes]:
    """The shared arrays that are declared outside of functions."""
    return frozenset(
        match[1]
        for match in _SHARED.finditer(source.code)
        if _FILE_SHARED_BEFORE.search(source.code, max(0, match.start() - 80), match.start())
        and function_at(source, match.start(1)) is None
    )


def _at(source: Cpp, start: int) -> tuple[Edit, ...]:
    """Put the call where a statement begins: on a line of its own but for macros."""
    indent = None if source.directive(start) else source.indent(start)
    if indent is None:
        return (Edit(Span(start, start), _SYNC + b" "),)
    line = start - len(indent)
    return (Edit(Span(line, line), indent + _SYNC + source.newline),)


def _in_front(source: Cpp, node: Node) -> tuple[Edit, ...]:
    """Put the call in front of a statement, and of the `#pragma` and the comment that are for it."""
    start = node.start_byte
    previous = node.prev_named_sibling
    while previous is not None and previous.type in ("preproc_call", "comment"):
        # A comment behind the statement before is that one's.
        if source.indent(previous.start_byte) is None:
            break
        start, previous = previous.start_byte, previous.prev_named_sibling
    indent, ahead = source.indent(node.start_byte), source.indent(start)
    if indent is None or ahead is None:
        return (Edit(Span(start, start), _SYNC + b" "),)
    line = start - len(ahead)
    return (Edit(Span(line, line), indent + _SYNC + source.newline),)


def _at_the_end(source: Cpp, body: Node, least: int = 0) -> tuple[Edit, ...]:
    """Put the call at the end of a loop's body, which reaches to `least`: a macro need not have a semicolon."""
    if body.type != "compound_statement":
        start, end = body.start_byte, max(body.end_byte, least)
        return Edit(Span(start, start), b"{ "), Edit(Span(end, end), b" " + _SYNC + b" }")
    last = [child for child in body.named_children if child.type != "comment"][-1]
    indent = source.indent(last.start_byte)
    line = source.text.find(source.newline, last.end_byte)
    # What follows on the line is a comment on the statement, or the brace.
    if indent is None or line < 0 or source.code[last.end_byte : line].strip():
        return (Edit(Span(last.end_byte, last.end_byte), b" " + _SYNC),)
    return (Edit(Span(line, line), source.newline + indent + _SYNC),)


PASS = Pass(Cpp, find)

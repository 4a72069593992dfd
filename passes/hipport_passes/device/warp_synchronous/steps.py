# SPDX-License-Identifier: Apache-2.0
"""The steps of a function: statements that load values which other lanes may have stored in earlier ones."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import LOOPS, Function, arguments, called_name, is_method, nodes
from hipport.analysis.kernels import Kernels
from hipport.analysis.uniform_values import BLOCK, WARP
from hipport.core.edits import Span
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.warp_synchronous.accesses import ELEMENT, HALVES, LOADED, ORDERS, STORE, WORD
from hipport_passes.device.warp_synchronous.arrays import Arrays

if TYPE_CHECKING:
    from tree_sitter import Node

_LANE = NAMES.compile(
    rb"(?i)&\(?(?:31\b|0x1f\b|[\w:]*(?&of_warp_size)(?:\(\))?-1)|%\(?(?:32\b|[\w:]*(?&of_warp_size))|>>\(?5\b|/\(?(?:32\b|[\w:]*(?&of_warp_size))"
)
_PATH = re.compile(rb"\w+(?:\.\w+)*")
_POINTED = re.compile(rb"\*(?:(?P<name>\w+)|\((?P<inner>\w+)(?:\+(?P<offset>[^()]*))?\))")
_PART = re.compile(rb"(?:\([^()]*\*\))?\(?(?:&(?P<array>\w+)\[(?P<element>[^\[\]]+)\]|(?P<of>\w+)\+(?P<sum>[^()]+))\)?")
_PRODUCT = re.compile(rb"(\w+)\*(\w+)")
# A template that is called with arguments in angle brackets, and functions called without.
_TEMPLATE_CALLED = re.compile(rb">(?:\s|\\)*\(")
_PLAINLY_CALLED = re.compile(rb"([A-Za-z_]\w*)\b(?:\s|\\)*\(")
_CALLS = frozenset(("call_expression",))
_STORES = frozenset(("assignment_expression", "update_expression", "lambda_expression"))
# `LOOP(i, n) { … }` of a macro is parsed as a function.
_OF_LOOPS = LOOPS | {"function_definition"}
_BLOCKS = frozenset(
    ("compound_statement", "case_statement", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif")
)


class _Access(NamedTuple):
    """A load or store of an element of `array`: that at `element`, which is code without white space."""

    array: bytes
    element: bytes
    place: Node


@dataclass
class Steps:
    """Follows the statements of a function in order, and records where a load needs an order."""

    kernels: Kernels
    function: Function
    arrays: Arrays
    #: The places of words in the file that order accesses.
    orders: list[int]
    #: The statements that need an order before them, and the loops that need one at the end of their body.
    before: dict[int, Node] = field(default_factory=dict)
    behind: dict[int, Node] = field(default_factory=dict)
    assumes: bool = False
    #: Whether the code is a lambda that only lanes of one warp call.
    for_one_warp: bool = False
    _exposed: dict[int, tuple[_Access, ...]] = field(default_factory=dict)
    _effects: dict[int, tuple[bool, tuple[_Access, ...]]] = field(default_factory=dict)
    _by_lane: dict[int, bool] = field(default_factory=dict)

    def follow(self, node: Node, stored: tuple[_Access, ...]) -> tuple[_Access, ...]:
        """Return the unordered stores of lanes after `node`, given those before it."""
        kind = node.type
        if kind in _BLOCKS:
            for child in node.named_children:
                if child.type not in ("preproc_call", "preproc_def"):
                    stored = self.follow(child, stored)
            return stored
        if stored and self.meets(self.exposed(node), stored):
            self.before[node.id] = node
            stored = ()
        if kind == "if_statement":
            return self.branched(node, stored)
        body = node.child_by_field_name("body") if kind in _OF_LOOPS or kind == "switch_statement" else None
        if body is not None and kind in _OF_LOOPS:
            after_body = self.inside(body, stored)
            # Lanes meet from one iteration to the next if the distance doubles or halves; in other loops each has its
            # own row.
            if after_body and self.halves(node) and self.meets(self.exposed(node), after_body):
                self.behind[body.id] = body
                after_body = ()
            return tuple(dict.fromkeys((*stored, *after_body)))
        if body is not None:
            return self.inside(body, stored)
        ordered, stores = self.effects(node)
        return stores if ordered else (*stored, *stores)

    def branched(self, node: Node, stored: tuple[_Access, ...]) -> tuple[_Access, ...]:
        """Return the unordered stores of lanes after an `if`."""
        branches = [node.child_by_field_name("consequence"), node.child_by_field_name("alternative")]
        after = [self.inside(branches[0], stored)] if branches[0] is not None else []
        if branches[1] is None:
            after.append(stored)
        else:
            # Where `} else {` is under a condition of the preprocessor, one may follow the other.
            after.append(self.inside(branches[1], (*stored, *after[0]) if self.may_follow(branches) else stored))
        return tuple(dict.fromkeys(access for each in after for access in each))

    def may_follow(self, branches: list[Node | None]) -> bool:
        """Whether a condition of the preprocessor decides where a branch ends."""
        first = branches[0]
        return first is not None and self.function.source.parts(Span(first.start_byte, first.end_byte))

    def halves(self, loop: Node) -> bool:
        update = loop.child_by_field_name("update")
        return HALVES.search(self.function.text(update if update is not None else loop)) is not None

    def inside(self, branch: Node, stored: tuple[_Access, ...]) -> tuple[_Access, ...]:
        if branch.type == "else_clause":
            for child in branch.named_children:
                # Nothing can be written between `else` and `if`.
                stored = (self.branched if child.type == "if_statement" else self.follow)(child, stored)
            return stored
        return self.follow(branch, stored)

    def exposed(self, node: Node) -> tuple[_Access, ...]:
        """Return the loads of `node` before it orders accesses."""
        if node.id not in self._exposed:
            self._exposed[node.id] = tuple(self._find_exposed(node))
        return self._exposed[node.id]

    def effects(self, node: Node) -> tuple[bool, tuple[_Access, ...]]:
        """Return whether `node` orders accesses, and its stores after that."""
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
            yield from self.of_calls(node, LOADED)

    def of_calls(self, node: Node, pattern: re.Pattern[bytes]) -> Iterator[_Access]:
        """Yield the accesses of functions called in `node` whose text the pattern finds: to any element."""
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
        """Yield the shared arrays that a call passes to the parameters that are accessed, or that its object has."""
        for parameter, value in zip(definition.parameters, arguments(call), strict=False):
            for word in WORD.findall(self.function.text(value)) if parameter in accessed else ():
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
        """Return the functions called here that access elements of arrays without an order."""
        source = self.function.source
        called = self.function.called - self.transitive_callers
        text = self.function.text(self.function.body)
        if not _TEMPLATE_CALLED.search(text):
            called &= frozenset(_PLAINLY_CALLED.findall(text))  # Not a comparison, `x < width`.
        return frozenset(
            name
            for name in called
            if self.kernels.may_have_elements(source, name)
            and any(
                not each.kernel and ELEMENT.search(each.text(each.body))
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
            # An `if` with a barrier may be skipped; then nothing is ordered.
            return False, tuple(store for part in inner for store in self.effects(part)[1])
        if self.has_order(node) or self.calls_barrier(node):
            return True, ()
        stored = (*(self.stores(node) if self.mentions(node) else ()), *self.of_calls(node, STORE))
        return False, stored

    def parts(self, node: Node) -> list[Node]:
        """Return the branches of an `if`, or the body of a loop; none for other statements."""
        kind = node.type
        if kind != "if_statement" and kind not in _OF_LOOPS:
            return []
        parts = (node.child_by_field_name(name) for name in ("consequence", "alternative", "body"))
        return [part for part in parts if part is not None]

    def of_condition(self, node: Node) -> list[_Access]:
        condition = node.child_by_field_name("condition")
        return self.loads(condition) if condition is not None else []

    def is_barrier(self, node: Node, inner: list[Node]) -> bool:
        """Return whether it is `if (round > 0) __syncthreads();`."""
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
    def transitive_callers(self) -> frozenset[bytes]:
        """Return the functions called here that may order accesses."""
        return self.function.called & self.kernels.transitive_callers(self.function.source, ORDERS)

    def calls_barrier(self, node: Node) -> bool:
        source = self.function.source
        return bool(self.transitive_callers) and any(
            self.kernels.reaches(definition, ORDERS)
            for each in nodes(node, _CALLS)
            if (name := called_name(each, source.code)) in self.transitive_callers
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
                # Its indices are loaded. `a[i]` in `a[i][j]` is not a separate access; `p[i]` in `s[p[i]]` is.
                while current is not None and current.type == "subscript_expression":
                    given = current.child_by_field_name("indices")
                    stack += [(child, False) for child in (given.named_children if given is not None else ())]
                    current = current.child_by_field_name("argument")
                if current is not None and current.type != "identifier":
                    stack.append((current, False))
                continue
            # A store to a member is a store to its object.
            part = stored_to and kind in ("field_expression", "parenthesized_expression")
            stack += [(child, part) for child in current.named_children]
        return found

    def stores(self, node: Node) -> list[_Access]:
        found: list[_Access] = []
        text = self.function.text(node)
        if b"=" not in text and b"++" not in text and b"--" not in text:
            return found
        # The stores of a lambda happen where it is called.
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
        """Return the access by a subscript, or by `*p`, if its array is one in which lanes meet."""
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
        # `this->s[i]` is of s, `scratch.s[i]` of a separate array if scratch is shared.
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
        """Return the access by `*p` or `*(p + i)`."""
        match = _POINTED.fullmatch(b"".join(self.function.text(node).split()))
        array = self.arrays.get(match["inner"] or match["name"]) if match else None
        if match is None or array is None:
            return None
        terms = [self.offsets.get(match["inner"] or match["name"]), match["offset"]]
        return _Access(array[0], b"+".join(term for term in terms if term) or b"0", node)

    @cached_property
    def offsets(self) -> dict[bytes, bytes]:
        """Return the offsets of names for parts of an array: `i` of `p = s + i` and of `p = &s[i]`."""
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
        """Return whether one of the loads may read another lane's store; records the assumption."""
        met = False
        for load in loads:
            # The cheapest test comes first: generated code has thousands of pairs.
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
            # `if (tid == 0) … s[0]`: lane 0 stored it itself.
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
        """Return whether the load's element, or its condition, is computed from the number of a lane or warp."""
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
            words = set(WORD.findall(text)) - seen
            seen |= words
            texts += [
                function.text(value)
                for each in function.locals.assignments
                if each.variable.name in words
                for value in each.values
            ]
        return False

    def other_element(self, load: _Access, store: _Access) -> bool:
        """Return whether the elements are different for every pair of lanes, or belong to one lane.

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
            # A lane's own element, unless the offset exceeds the stride.
            stride = next((int(each) for match in strides for each in match.groups() if each.isdigit()), BLOCK)
            return max(map(int, rest), default=0) < stride
        return len(rest) == 2 and len(one) == len(other) > 1 and all(map(_PRODUCT.fullmatch, rest))

    def both_count(self, expression: Node, store: _Access) -> bool:
        left = expression.child_by_field_name("left")
        given = store.place.child_by_field_name("indices")
        index = given.named_children[0] if given is not None and given.named_children else None
        return all(
            each is not None and self.kernels.numbering(self.function, each) is not None for each in (left, index)
        )

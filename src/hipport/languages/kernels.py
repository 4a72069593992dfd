# SPDX-License-Identifier: Apache-2.0
"""Control flow and data flow of device code: who calls whom, under which conditions, and which values differ by thread.

Worked out on syntax trees, by names, over the files that are connected by includes. It is a view for passes that look
for threads which part from each other, not a compiler's: an overload set is one function, a parameter is what any
caller gives, a variable what its last plain assignment makes it or else what any does, and a macro is what its text
mentions. Where something is not known it is taken to be the same for all threads, so that a pass reports what it can
show.

    kernels = Kernels.of(project)
    for function in kernels.functions(source):
        for call in function.calls(): ...
        for condition in function.conditions(node):
            kernels.agreement(function, condition.expression) >= BLOCK  # all threads of the block decide alike
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from hipport.languages.cpp import Cpp
from hipport.languages.functions import (
    DEFINE,
    DEVICE,
    Call,
    Function,
    Variable,
    arguments,
    bare,
    called_name,
    device_macros,
    functions,
    is_method,
    statements,
)
from hipport.project import Component, Project

if TYPE_CHECKING:
    from tree_sitter import Node

#: All threads of a block agree on a value. Smaller agreements are powers of two: each group of so many neighbouring
#: threads, counted from the first of the block, agrees; 1 says that every thread may have a value of its own.
BLOCK = 1 << 16
#: The threads of a warp agree.
WARP = 32
#: A lane stores, all do an atomic operation on that, and the lane loads. `~`: white space, as macros have it.
LED = re.compile(
    rb"\bif~\((?P<who>[^;{}]*)\)~(?:\{~)?(?:\*~(?P<at>\w+)|(?P<element>\w+~\[[^;{}\[\]]*\]))~=(?!=)[^;{}]*;~(?:\}~)?"
    rb"(?P<atomic>(?:\w+::)*atomic[A-Z]\w*~\(~(?:(?P=at)|&~(?P=element))~,[^;{}]*;)~"
    rb"(?P<load>if~\((?P=who)\)~(?:\{~)?[^;{}]*(?:\*~(?P=at)\b|(?P=element)))".replace(b"~", rb"(?:\s|\\\r?\n)*")
)
# `\bconst` in a form that a search finds by its first letter, many times as fast.
_CONSTANT = re.compile(rb"c(?<!\wc)onst(?:expr)?\b[\w\s]*?\b(\w+)\s*=\s*(\d+)[uUlL]*\s*[;,]")
_NUMBER = re.compile(rb"\(*\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)*")
# Named by what both CUDA and HIP call them; a helper of hipport's has the name without underscores.
_BY_THREAD = re.compile(
    rb"threadIdx|hipThreadIdx_[xyz]|atomic\w*|(?:__)?lane_?id|(?:__)?lanemask_\w+|thread_(?:rank|index)|"
    rb"(?:__)?shfl\w*|(?:__)?match_any(?:_sync)?|clock(?:64)?|wall_clock64|get_thread_id\w*|fetch_\w+|exchange|"
    rb"compare_exchange\w*"
)
_BY_WARP = re.compile(
    rb"(?:__)?(?:any|all|ballot|uni|match_all|activemask|reduce_\w+)(?:_sync)?|meta_group_rank|__activemask"
)
_BY_BLOCK = re.compile(rb"(?:__)?syncthreads_(?:count|and|or)|blockIdx|blockDim|gridDim")
# The number of a thread in its block or in the grid, without white space.
_COUNTS_THREADS = re.compile(
    rb"(?:hipT|t)hreadIdx[._]x|(?:\w+(?:\.|->))?thread_rank\(?|"
    rb"blockIdx\.x\*blockDim\.x\+threadIdx\.x|blockDim\.x\*blockIdx\.x\+threadIdx\.x|"
    rb"threadIdx\.x\+blockIdx\.x\*blockDim\.x|threadIdx\.x\+blockDim\.x\*blockIdx\.x|"
    rb"threadIdx\.y\*blockDim\.x\+threadIdx\.x|threadIdx\.x\+threadIdx\.y\*blockDim\.x|"
    rb"threadIdx\.x\+blockDim\.x\*threadIdx\.y|blockDim\.x\*threadIdx\.y\+threadIdx\.x"
)
_SHUFFLES = frozenset((b"shfl", b"__shfl", b"shfl_sync", b"__shfl_sync"))
_OTHER_DIMENSIONS = re.compile(rb"threadIdx\s*\.\s*[yz]")
_WARP_SIZES = re.compile(rb"(?:k?warp_?size|c10_warp_size|num_threads_per_warp|threads_per_warp)", re.IGNORECASE)
_TILE_SIZE = re.compile(rb"\b(?:tiled_partition|thread_block_tile)\s*<\s*(\w+)")
# Constants and macros by their looks, and what every thread has.
_GIVEN = re.compile(rb"[A-Z][A-Z0-9_]*|k[A-Z]\w*|(?:thread|block)Idx|(?:block|grid)Dim|warpSize|true|false")
# How many assignments back a variable is followed.
_STEPS = 6


class _Known:
    """What was worked out of the device code in files that belong together."""

    def __init__(self, component: Component) -> None:
        self.functions: dict[PurePath, tuple[Function, ...]] = {}
        self.definitions: dict[bytes, tuple[Function, ...]] = {}
        self.callers: dict[Function, tuple[Call, ...]] = {}
        self.variables: dict[Function, dict[Variable, int]] = {}
        self.results: dict[Function, int] = {}
        self.agreed: dict[tuple[Function, int], int] = {}
        self.one_warp: dict[tuple[Function, int], bool] = {}
        self.reaches: dict[tuple[Function, re.Pattern[bytes]], bool] = {}
        self.carriers: dict[re.Pattern[bytes], frozenset[bytes]] = {}


class Kernels:
    """What is known of the device code of a project; worked out when it is asked for, and kept."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @staticmethod
    def of(project: Project) -> Kernels:
        """Return what is known of `project`."""
        kernels: Kernels = project.__dict__.setdefault("_kernels", Kernels(project))
        return kernels

    def __getstate__(self) -> Project:
        # Trees do not travel between processes.
        return self._project

    def __setstate__(self, project: Project) -> None:
        self.__init__(project)  # type: ignore[misc]

    def _known(self, source: Cpp) -> _Known:
        return self._project.component(source).fact(_Known)

    def functions(self, source: Cpp) -> tuple[Function, ...]:
        """Return the functions of the file that run on the device, in order."""
        known = self._known(source).functions
        if source.path not in known:
            macros = self._project.together(source, device_macros)
            device = DEVICE.search(source.code) is not None or any(macro in source.code for macro in macros)
            known[source.path] = tuple(
                function
                for function in (functions(source) if device else ())
                if DEVICE.search(function.head) or any(word in macros for word in re.findall(rb"\w+", function.head))
            )
        return known[source.path]

    def definitions(self, source: Cpp, name: bytes) -> tuple[Function, ...]:
        """Return the device functions called `name` in the files that `source` is connected to."""
        component = self._project.component(source)
        known = component.fact(_Known).definitions
        if name not in known:
            known[name] = tuple(
                function
                for other in component
                if isinstance(other, Cpp) and name in other.words
                for function in self.functions(other)
                if function.name == name
            )
        return known[name]

    def callers(self, function: Function) -> tuple[Call, ...]:
        """Return the calls of the function, by its name, in device code that it is connected to."""
        component = self._project.component(function.source)
        known = component.fact(_Known).callers
        if function not in known:
            known[function] = tuple(
                call
                for other in component
                if isinstance(other, Cpp) and function.name in other.words
                for caller in self.functions(other)
                if caller is not function and function.name in caller.called
                for call in caller.calls({function.name})
                if len(call.arguments) <= len(function.parameters)
            )
        return known[function]

    def reaches(self, function: Function, pattern: re.Pattern[bytes]) -> bool:
        """Whether the function calls what `pattern` matches whole, itself or through functions it calls."""
        carriers = self.carriers(function.source, pattern)
        if function.name not in carriers:
            return False
        known = self._known(function.source).reaches
        key = (function, pattern)
        if key not in known:
            known[key] = False  # What a recursion finds here.
            known[key] = any(True for _ in function.calls(pattern)) or any(
                self.reaches(other, pattern)
                for name in {call.name for call in function.calls(carriers)}
                for other in self.definitions(function.source, name)
            )
        return known[key]

    def carriers(self, source: Cpp, pattern: re.Pattern[bytes]) -> frozenset[bytes]:
        """Return the names of all functions that may reach what `pattern` matches whole, by what is written in them.

        Only files that have such names need be parsed for it.
        """
        component = self._project.component(source)
        known = component.fact(_Known).carriers
        if pattern not in known:
            files = [other for other in component if isinstance(other, Cpp)]
            wanted: set[bytes] = set().union(*(other.matched(pattern) for other in files))
            found: set[bytes] = set()
            while wanted:
                carriers = {
                    function.name
                    for other in files
                    if not wanted.isdisjoint(other.words)
                    for function in self.functions(other)
                    if function.has_any(wanted) and not wanted.isdisjoint(function.called)
                }
                wanted = carriers - found
                found |= carriers
            known[pattern] = frozenset(found)
        return known[pattern]

    def agreement(self, function: Function, node: Node) -> int:
        """Return how many neighbouring threads surely have the same value of the expression `node`, up to BLOCK."""
        known = self._known(function.source)
        key = (function, node.id)
        if key not in known.agreed:
            self._solve_with(function)
            known.agreed[key] = self._expression(function).agreement(node)
        return known.agreed[key]

    def variables(self, function: Function) -> dict[Variable, int]:
        """Return the agreement on each parameter and local variable; other names are the same for all."""
        self._solve_with(function)
        return self._known(function.source).variables[function]

    def result(self, function: Function) -> int:
        """Return the agreement on what the function returns, over all its calls."""
        self._solve_with(function)
        return self._known(function.source).results[function]

    def known_result(self, function: Function) -> int:
        """Return the same while it is being worked out: what has been found so far."""
        return self._known(function.source).results.get(function, BLOCK)

    def may_differ(self, function: Function, expression: Node, size: int) -> bool:
        """Whether `size` lanes may disagree on the expression: also on a member, of which nothing is known."""
        if self.agreement(function, expression) < size or self.unknown(function, expression):
            return True
        if not is_method(function):
            return False
        stack = [expression]
        while stack:
            node = stack.pop()
            stack.extend(node.named_children)
            if node.type == "this":
                return True
            if node.type == "identifier" and function.locals.named(function.text(node), node.start_byte) is None:
                outer = node.parent
                called = outer is not None and outer.type in (
                    "call_expression",
                    "template_function",
                    "qualified_identifier",
                )
                if not called and not _GIVEN.fullmatch(function.text(node)):
                    return True
        return False

    def unknown(self, function: Function, expression: Node) -> bool:
        """Whether something that the expression is made of comes from nowhere that is seen."""
        seen: set[tuple[Function, Variable]] = set()
        stack = [(function, expression)]
        while stack:
            of, node = stack.pop()
            stack.extend((of, child) for child in node.named_children)
            if node.type == "call_expression" and not arguments(node):
                called = node.child_by_field_name("function")
                name = of.text(called) if called is not None and called.type == "identifier" else b""
                # `rank()` of another library's; a method is asked of an object, which is looked at itself.
                if name and not _GIVEN.fullmatch(name) and not self.definitions(of.source, name):
                    return True
            if node.type != "identifier":
                continue
            name = of.text(node)
            variable = of.locals.named(name, node.start_byte)
            if variable is None or variable in of.locals.shared or (of, variable) in seen:
                continue
            seen.add((of, variable))
            values = [(of, value) for each in of.locals.given.get(variable, ()) for value in each.values]
            if name in of.parameters and variable == of.locals.named(name, of.body.start_byte):
                at = of.parameters.index(name)
                given = [(c.function, c.arguments[at]) for c in self.callers(of) if at < len(c.arguments)]
                if not given and not of.kernel:
                    return True  # Nobody is seen to call.
                values += given
            elif not values:
                return True  # An asm statement, or a reference that was passed, has set it.
            stack += values
        return False

    def constant(self, function: Function, node: Node) -> int | None:
        """Return the number that `node` is: a literal, or the name of a macro or constant that is one."""
        text = function.text(node)
        number = _NUMBER.fullmatch(text)
        if number:
            digits = number[1]
            return int(digits, 16 if digits[:2].lower() == b"0x" else 10)
        name = text.strip(b"() ").rpartition(b"::")[2]
        if _WARP_SIZES.fullmatch(name):
            return WARP
        return self._project.component(function.source).fact(_constant_values).get(name)

    def counts_threads(self, function: Function, node: Node) -> bool:
        """Whether `node` is the number of the thread in its block, up to an offset that is the same for the block."""
        return _Expression(self, function, {}).counts_threads(node)

    def one_warp(self, function: Function, node: Node) -> bool:
        """Whether only lanes of one warp come to `node`, by a condition like `threadIdx.x < 32` or `warp == 0`.

        A function is for one warp where all that is known to call it, and that is something, is.
        """
        known = self._known(function.source).one_warp
        key = (function, node.id)
        if key not in known:
            known[key] = self._only(function, node, self._one_warp)
        return known[key]

    def one_thread(self, function: Function, node: Node) -> bool:
        """Whether only one thread of the block comes to `node`, by a condition like `threadIdx.x == 0`.

        `threadIdx.x == 0` is taken for that where nothing is said of threadIdx.y and .z in the function.
        """
        return self._only(function, node, self._one_thread)

    def _only(
        self, function: Function, node: Node, test: Callable[[Function, Node, bool], bool], depth: int = 4
    ) -> bool:
        conditions = [(each.expression, each.taken) for each in function.conditions(node)]
        for statement in function.exits_before(node):
            outer = next(function.conditions(statement), None)
            # `if (threadIdx.x >= 32) return;`
            if statement.type == "return_statement" and outer is not None and outer.taken and not outer.loop:
                conditions.append((outer.expression, False))
        if any(test(function, expression, taken) for expression, taken in conditions if taken is not None):
            return True
        calls = self.callers(function) if depth and not function.kernel else ()
        return bool(calls) and all(self._only(call.function, call.node, test, depth - 1) for call in calls)

    def _one_thread(self, function: Function, node: Node, taken: bool) -> bool:
        node = bare(node)
        if node.type == "unary_expression" and node.named_children:
            # `!threadIdx.x`; and `if (threadIdx.x) return;`
            return taken and self._numbers_threads(function, node.named_children[0])
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return not taken and self._numbers_threads(function, node)
        if sign.type in ("&&", "and") if taken else sign.type in ("||", "or"):
            return self._one_thread(function, left, taken) or self._one_thread(function, right, taken)
        if sign.type in (">", ">=", "<", "<="):
            bound = {">": 0, ">=": 1, "<": 1, "<=": 0}[sign.type]
            less = sign.type in ("<", "<=")
            return taken == less and self.constant(function, right) == bound and self._numbers_threads(function, left)
        if sign.type not in ("==", "!=") or taken != (sign.type == "=="):
            return False
        return any(
            self._numbers_threads(function, one) and not self.may_differ(function, other, BLOCK)
            for one, other in ((left, right), (right, left))
        )

    def _numbers_threads(self, function: Function, node: Node) -> bool:
        return self.counts_threads(function, node) and not function.mentions(_OTHER_DIMENSIONS)

    def _one_warp(self, function: Function, node: Node, taken: bool) -> bool:
        node = bare(node)
        if node.type == "unary_expression" and node.named_children:
            # `!warp`
            return taken and WARP <= self.agreement(function, node.named_children[0]) < BLOCK
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return False
        operator = sign.type
        if operator in ("&&", "and") if taken else operator in ("||", "or"):
            return self._one_warp(function, left, taken) or self._one_warp(function, right, taken)
        if operator in ("==", "!="):
            agreed = min(self.agreement(function, left), self.agreement(function, right))
            return taken == (operator == "==") and WARP <= agreed < BLOCK
        if operator in (">", ">=") and self.counts_threads(function, right):
            left, right, operator = right, left, {">": "<", ">=": "<="}[operator]
        if not taken:
            operator = {">=": "<", ">": "<="}.get(operator, "")
        number = self.constant(function, right)
        limit = {"<": WARP, "<=": WARP - 1}.get(operator)
        return limit is not None and number is not None and number <= limit and self.counts_threads(function, left)

    def varying_macros(self, source: Cpp) -> frozenset[bytes]:
        """Return the macros that mention what differs by thread."""
        return self._project.together(source, _varying_macros)

    def _solve_with(self, function: Function) -> None:
        """Work out `function` together with all that its values come from: callers, and what is called.

        All agree at first. What is found to differ somewhere is looked at again where it goes, until nothing changes:
        what one function is known of while others are worked out is an assumption, and no result.
        """
        known = self._known(function.source)
        if function in known.variables:
            return
        members: dict[Function, tuple[Function, ...]] = {}
        stack = [function]
        while stack:
            each = stack.pop()
            if each in members or each in known.variables:
                continue
            called = [other for name in each.called for other in self.definitions(each.source, name)]
            callers = [] if each.kernel else [call.function for call in self.callers(each)]
            # Not the order of a set: what is looked at first does not change the outcome, but who reads a trace.
            members[each] = tuple(dict.fromkeys((*called, *callers)))
            stack += members[each]
        for each in members:
            known.variables[each] = dict.fromkeys(each.locals.variables, BLOCK)
            known.results[each] = BLOCK
        open_: dict[Function, None] = dict.fromkeys(members)
        while open_:
            each = next(iter(open_))
            del open_[each]
            if self._refine(each, known):
                open_.update((other, None) for other in (each, *members[each]) if other in members)

    def _refine(self, function: Function, known: _Known) -> bool:
        """Look at the function with what is known of the others by now; return whether more is found to differ."""
        variables = known.variables[function]
        before = dict(variables), known.results[function]
        if not function.kernel:
            parameters = [function.locals.named(name, function.body.start_byte) for name in function.parameters]
            for call in self.callers(function):
                for parameter, argument in zip(parameters, call.arguments, strict=False):
                    if parameter is not None and variables[parameter] > 1:
                        given = self._expression(call.function).agreement(argument)
                        variables[parameter] = min(variables[parameter], given)
        assignments = [each for each in function.locals.assignments if each.variable not in function.locals.shared]
        values = _Expression(self, function, variables, steps=0)
        changed = True
        while changed:
            changed = False
            for each in assignments:
                if variables[each.variable] <= 1:
                    continue
                agreed = min(map(values.agreement, each.values), default=BLOCK)
                if not each.declares:
                    # Only some threads may come here; outside of the variable's own scope that makes no difference.
                    for condition in function.conditions(each.node):
                        if condition.statement.start_byte >= each.variable.start:
                            agreed = min(agreed, values.agreement(condition.expression))
                if agreed < variables[each.variable]:
                    variables[each.variable] = agreed
                    changed = True
        result = self._expression(function)
        for statement in statements(function.body, frozenset(("return_statement",))):
            for value in statement.named_children:
                known.results[function] = min(known.results[function], result.agreement(value))
            for condition in function.conditions(statement):
                known.results[function] = min(known.results[function], result.agreement(condition.expression))
        return (variables, known.results[function]) != before

    def _expression(self, function: Function) -> _Expression:
        return _Expression(self, function, self._known(function.source).variables[function])


@dataclass(frozen=True)
class _Expression:
    """The agreement on expressions of a function, where that on its variables is given."""

    kernels: Kernels
    function: Function
    variables: dict[Variable, int]
    steps: int = _STEPS

    @cached_property
    def macros(self) -> frozenset[bytes]:
        return self.kernels.varying_macros(self.function.source)

    def agreement(self, node: Node) -> int:
        kind = node.type
        if kind in ("identifier", "field_identifier"):
            return self.name(node, self.function.text(node))
        if kind == "call_expression":
            return self.call(node)
        if kind == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            operator = node.child_by_field_name("operator")
            if left is not None and right is not None and operator is not None:
                return self.binary(left, operator.type, right)
        if kind in ("lambda_expression", "sizeof_expression", "type_descriptor", "template_argument_list"):
            return BLOCK
        return min((self.agreement(child) for child in node.named_children), default=BLOCK)

    def name(self, node: Node, name: bytes) -> int:
        variable = self.function.locals.named(name, node.start_byte)
        if variable is not None:
            agreed = self.variables.get(variable, BLOCK)
            if agreed >= BLOCK or variable in self.function.locals.shared or self.steps <= 0:
                return agreed
            last = self.function.locals.last(variable, node)
            if last is None:
                return agreed
            before = replace(self, steps=self.steps - 1)
            return max(agreed, min(map(before.agreement, last.values), default=BLOCK))
        built_in = _built_in(name)
        if built_in is not None and name in self.macros:
            return 1
        if name == b"meta_group_rank":
            return self.function.source.fact(_smallest_tile)
        return built_in or BLOCK

    def call(self, node: Node) -> int:
        name = called_name(node, self.function.source.code)
        given = arguments(node)
        if _BY_BLOCK.fullmatch(name):
            return BLOCK
        if name in _SHUFFLES and len(given) > 1:
            lane = given[1 + name.endswith(b"sync")] if len(given) > 1 + name.endswith(b"sync") else given[-1]
            return min(WARP, self.agreement(lane))
        found = self.name(node, name)
        if found < BLOCK:
            return found
        definitions = self.kernels.definitions(self.function.source, name) if name else ()
        if definitions:
            # Of functions of one name, the one that is meant may be any.
            return min(self.kernels.known_result(each) for each in definitions)
        function = node.child_by_field_name("function")
        # `object.method(…)`: what the object is matters as much as an argument does.
        objects = function.named_children[:1] if function is not None and function.type == "field_expression" else []
        return min((self.agreement(each) for each in (*objects, *given)), default=BLOCK)

    def binary(self, left: Node, operator: str, right: Node) -> int:
        agreed = min(self.agreement(left), self.agreement(right))
        if agreed >= BLOCK:
            return BLOCK
        if operator in (">", "<="):
            # Like `<` and `>=` of the number behind.
            number = self.kernels.constant(self.function, right)
            number = None if number is None else number + 1
        else:
            number = self.kernels.constant(self.function, right)
        if number is None or not self.counts_threads(left):
            return agreed
        if operator == ">>":
            return max(agreed, min(1 << min(number, 16), BLOCK))
        if operator in ("/", "<", ">=", ">", "<="):
            # The largest power of two that divides it.
            return max(agreed, min(number & -number or BLOCK, BLOCK))
        return agreed

    def counts_threads(self, node: Node, depth: int = 4) -> bool:
        """Whether neighbouring threads have numbers one apart, a block beginning at a multiple of its size."""
        text = b"".join(self.function.text(node).split()).strip(b"()")
        if _COUNTS_THREADS.fullmatch(text):
            return True
        if node.type == "cast_expression" or (node.type == "parenthesized_expression" and node.named_children):
            return self.counts_threads(node.named_children[-1], depth)
        if node.type == "binary_expression" and depth:
            # `blockIdx.x * blockDim.x + tid`
            right = node.child_by_field_name("right")
            if right is None or right.type != "identifier":
                return False
            offset = self.function.text(node)[: right.start_byte - node.start_byte]
            whole = b"".join(offset.split()) + b"threadIdx.x"
            return bool(_COUNTS_THREADS.fullmatch(whole)) and self.counts_threads(right, depth - 1)
        if node.type != "identifier" or not depth:
            return False
        variable = self.function.locals.named(text, node.start_byte)
        given = [each.values for each in self.function.locals.given.get(variable, ())] if variable is not None else []
        if given:
            return len(given) == 1 and len(given[0]) == 1 and self.counts_threads(given[0][0], depth - 1)
        if text not in self.function.parameters:
            return False
        position = self.function.parameters.index(text)
        calls = [call for call in self.kernels.callers(self.function) if len(call.arguments) > position]
        return bool(calls) and all(
            _Expression(self.kernels, call.function, {}).counts_threads(call.arguments[position], depth - 1)
            for call in calls
        )


@lru_cache(maxsize=4096)
def _built_in(name: bytes) -> int | None:
    """Return the agreement on what has that name and is no variable; None for what is surely the block's."""
    if _BY_BLOCK.fullmatch(name):
        return None
    if _BY_THREAD.fullmatch(name):
        return 1
    return WARP if _BY_WARP.fullmatch(name) else BLOCK


def _smallest_tile(source: Cpp) -> int:
    """How many lanes the smallest tile in the file has, for which a place in a larger group is the same."""
    sizes = _TILE_SIZE.findall(source.code)
    return min((int(size) if size.isdigit() else 1 for size in sizes), default=WARP)


def _varying_macros(source: Cpp) -> frozenset[bytes]:
    return frozenset(
        match[1]
        for match in DEFINE.finditer(source.code)
        if any(_BY_THREAD.fullmatch(word) for word in re.findall(rb"\w+", match[3]))
    )


def _constants(source: Cpp) -> frozenset[tuple[bytes, int]]:
    found = set()
    for match in DEFINE.finditer(source.code):
        number = _NUMBER.fullmatch(match[3].strip()) if not match[2] else None
        if number:
            found.add((match[1], int(number[1], 16 if number[1][:2].lower() == b"0x" else 10)))
    found |= {(match[1], int(match[2])) for match in _CONSTANT.finditer(source.code)}
    return frozenset(found)


def _constant_values(component: Component) -> dict[bytes, int | None]:
    """The numbers that names stand for; None for a name that stands for several."""
    values: dict[bytes, int | None] = {}
    for source in component:
        for name, value in source.fact(_constants) if isinstance(source, Cpp) else ():
            values[name] = value if values.get(name, value) == value else None
    return values

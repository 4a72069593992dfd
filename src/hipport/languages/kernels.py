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
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from hipport.languages.cpp import Cpp
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

_DEVICE = re.compile(rb"\b__(?:device|global)__\b")
_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(\([^)]*\))?((?:[^\\\r\n]|\\[ \t]*(?:\r\n?|\n)|\\)*)")
# `\bconst` in a form that a search finds by its first letter, many times as fast.
_CONSTANT = re.compile(rb"c(?<!\wc)onst(?:expr)?\b[\w\s]*?\b(\w+)\s*=\s*(\d+)[uUlL]*\s*[;,]")
_NUMBER = re.compile(rb"\(*\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)*")
_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*(?=[(<])")

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

_HOLDS_FUNCTIONS = frozenset(
    "translation_unit template_declaration namespace_definition declaration_list linkage_specification "
    "class_specifier struct_specifier union_specifier field_declaration_list preproc_if preproc_ifdef preproc_else "
    "preproc_elif preproc_elifdef ERROR declaration field_declaration type_definition friend_declaration".split()
)
_LOOPS = frozenset(("for_statement", "while_statement", "do_statement", "for_range_loop"))
_EXITS = frozenset(("return_statement", "break_statement", "continue_statement", "goto_statement"))
_EXIT = re.compile(rb"\b(?:return|break|continue|goto)\b")
# What stands in front of a parenthesis or `<` and is no call.
_NO_CALLS = frozenset(
    b"if for while switch return sizeof static_cast reinterpret_cast const_cast else and or not".split()
)
_VALUE_TYPE = re.compile(
    rb"\b(?:auto|bool|u?char\d?|u?short\d?|u?int\d?|u?long\d?|float\d?|double\d?|unsigned|size_t|u?int\d+_t|dim3)\b"
)
_NAMES = frozenset(("identifier", "field_identifier", "type_identifier", "operator_name", "destructor_name"))


class Condition(NamedTuple):
    """What decides whether a thread comes to a place: `expression` of `statement`.

    `taken`: whether it must hold; None for the value of a `switch`, and for a loop over a range.
    """

    expression: Node
    statement: Node
    taken: bool | None

    @property
    def loop(self) -> bool:
        """Whether it decides how often, not only whether."""
        return self.statement.type in _LOOPS


class Call(NamedTuple):
    """A call of `name`, without its namespace, object and template arguments, in `function`."""

    function: Function
    name: bytes
    node: Node
    arguments: tuple[Node, ...]


class Variable(NamedTuple):
    """A local variable, parameter or array: its name, and the part of the file in which the name is this variable."""

    name: bytes
    start: int
    end: int


class Assignment(NamedTuple):
    """A place `node` where a variable is given something worked out from `values`; its declaration, perhaps."""

    node: Node
    variable: Variable
    values: tuple[Node, ...]
    declares: bool

    @property
    def plain(self) -> bool:
        """Whether it is `variable = …`, of the whole variable."""
        if self.node.type != "assignment_expression" or len(self.values) != 1:
            return False
        operator, left = self.node.child_by_field_name("operator"), self.node.child_by_field_name("left")
        return operator is not None and operator.type == "=" and left is not None and left.type == "identifier"


@dataclass(frozen=True, eq=False)
class Locals:
    """The variables of a function. `shared` ones are the block's."""

    variables: tuple[Variable, ...]
    shared: frozenset[Variable]
    assignments: tuple[Assignment, ...]

    @cached_property
    def _by_name(self) -> Mapping[bytes, list[Variable]]:
        by_name: dict[bytes, list[Variable]] = {}
        for each in sorted(self.variables, key=lambda each: each.start, reverse=True):
            by_name.setdefault(each.name, []).append(each)
        return by_name

    @cached_property
    def given(self) -> Mapping[Variable, list[Assignment]]:
        """The assignments to each variable that has any."""
        given: dict[Variable, list[Assignment]] = {}
        for each in self.assignments:
            given.setdefault(each.variable, []).append(each)
        return given

    def named(self, name: bytes, offset: int) -> Variable | None:
        """Return the variable that `name` is at `offset`: the innermost one."""
        for each in self._by_name.get(name, ()):
            if each.start <= offset < each.end:
                return each
        return None

    def last(self, variable: Variable, node: Node) -> Assignment | None:
        """Return the assignment that surely gave the variable the value that it has at `node`, if there is one."""
        given = self.given.get(variable, [])
        before = [each for each in given if each.node.end_byte <= node.start_byte]
        last = max(before, key=lambda each: each.node.start_byte, default=None)
        if last is None or not last.values or (not last.declares and not last.plain):
            return None
        block = last.node.parent
        while block is not None and block.type in ("expression_statement", "comma_expression"):
            block = block.parent
        if block is None or block.type != "compound_statement" or not _contains(block, node):
            return None
        # One behind the place comes before it in the next turn of a loop that does not begin with the last one.
        loop = _loop_of(node, block)
        while loop is not None:
            if any(_contains(loop, each.node) for each in given):
                return None
            loop = _loop_of(loop, block)
        return last


@dataclass(frozen=True, eq=False)
class Function:
    """A function with a body. `head` is what stands in front of its name, `parameters` are names ("" for none)."""

    source: Cpp
    name: bytes
    head: bytes
    parameters: tuple[bytes, ...]
    node: Node
    body: Node

    @property
    def kernel(self) -> bool:
        """Whether it is launched by the host."""
        return b"__global__" in self.head

    def text(self, node: Node) -> bytes:
        """The code of `node`, comments blanked."""
        return self.source.code[node.start_byte : node.end_byte]

    def mentions(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the body has a match: what to ask before walking through its tree."""
        return pattern.search(self.source.code, self.body.start_byte, self.body.end_byte) is not None

    def has_any(self, texts: Iterable[bytes]) -> bool:
        """Whether the body has one of `texts`, in a word perhaps."""
        find, start, end = self.source.code.find, self.body.start_byte, self.body.end_byte
        return any(find(text, start, end) >= 0 for text in texts)

    def calls(self, wanted: re.Pattern[bytes] | AbstractSet[bytes] | None = None) -> Iterator[Call]:
        """Yield the calls in the body, in order; only of names that are `wanted`, or that it matches whole."""
        matches = wanted.__contains__ if isinstance(wanted, AbstractSet) else wanted.fullmatch if wanted else bool
        for start, name in self._names_called:
            if matches(name):
                if start not in self._calls:
                    node = _call_of(self.body.descendant_for_byte_range(start, start + len(name)))
                    self._calls[start] = None if node is None else Call(self, name, node, arguments(node))
                call = self._calls[start]
                if call is not None:
                    yield call

    @cached_property
    def _calls(self) -> dict[int, Call | None]:
        """Those that were asked for, by where their names stand; None for what is no call."""
        return {}

    @cached_property
    def _names_called(self) -> tuple[tuple[int, bytes], ...]:
        found = _CALLED.finditer(self.source.code, self.body.start_byte, self.body.end_byte)
        return tuple((match.start(1), match[1]) for match in found if match[1] not in _NO_CALLS)

    @cached_property
    def called(self) -> frozenset[bytes]:
        """The names that may be called in the body: what to ask before looking for calls in its tree."""
        return frozenset(name for _, name in self._names_called)

    @cached_property
    def _exits(self) -> tuple[Node, ...]:
        return tuple(_statements(self.body, _EXITS)) if self.mentions(_EXIT) else ()

    @cached_property
    def _loops(self) -> dict[int, Node | None]:
        """The loops around those of the exits that were asked about."""
        return {}

    @cached_property
    def locals(self) -> Locals:
        """Its parameters and variables, and what they are given."""
        return _locals(self)

    def conditions(self, node: Node, until: Node | None = None) -> Iterator[Condition]:
        """Yield what decides whether a thread of the function comes to `node`, the innermost first.

        Up to the body of the function, or the statement `until`. Earlier statements that threads leave by are not
        among them; see `exits_before`.
        """
        if until is None:
            if node.id not in self._conditions:
                self._conditions[node.id] = tuple(self._find_conditions(node, None))
            yield from self._conditions[node.id]
        else:
            yield from self._find_conditions(node, until)

    @cached_property
    def _conditions(self) -> dict[int, tuple[Condition, ...]]:
        """Those of the places that were asked about."""
        return {}

    def _find_conditions(self, node: Node, until: Node | None) -> Iterator[Condition]:
        # Down from the body: each node finds its parent from the root of the tree.
        path = [self.body]
        while path[-1] != node:
            following = path[-1].child_with_descendant(node)
            if following is None:
                return
            path.append(following)
        for outer, inner in zip(path[-2::-1], path[:0:-1], strict=True):
            if inner == until:
                return
            found = _condition(outer, inner)
            if found is not None:
                yield found

    def exits_before(self, node: Node) -> Iterator[Node]:
        """Yield the `return`, `break`, `continue` and `goto` by which a thread may not come to `node`.

        They are those before it, and in a loop that `node` is in those behind it too; a `break` or `continue` counts
        if the loop that it is for has `node` in it.
        """
        for statement in self._exits:
            if statement.start_byte <= node.start_byte < statement.end_byte:
                continue
            if statement.id not in self._loops:
                self._loops[statement.id] = _loop_of(statement, self.body)
            loop = self._loops[statement.id]
            if statement.type in ("break_statement", "continue_statement"):
                if loop is None or not _contains(loop, node):
                    continue
            elif statement.start_byte > node.start_byte and not _shared_loop(loop, node):
                continue
            if not exclusive(statement, node):
                yield statement


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
            device = _DEVICE.search(source.code) is not None or any(macro in source.code for macro in macros)
            known[source.path] = tuple(
                function
                for function in (functions(source) if device else ())
                if _DEVICE.search(function.head) or any(word in macros for word in re.findall(rb"\w+", function.head))
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
        if not _is_method(function):
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
        node = _bare(node)
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
        node = _bare(node)
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
        for statement in _statements(function.body, frozenset(("return_statement",))):
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


def functions(source: Cpp) -> tuple[Function, ...]:
    """Return all functions with a body in the file, of the host too, in order."""
    return source.fact(_functions)


def function_at(source: Cpp, offset: int) -> Function | None:
    """Return the function that has `offset` in its body."""
    found = functions(source)
    i = bisect_right(found, offset, key=lambda function: function.body.start_byte) - 1
    return found[i] if i >= 0 and offset < found[i].body.end_byte else None


def _smallest_tile(source: Cpp) -> int:
    """How many lanes the smallest tile in the file has, for which a place in a larger group is the same."""
    sizes = _TILE_SIZE.findall(source.code)
    return min((int(size) if size.isdigit() else 1 for size in sizes), default=WARP)


def called_name(call: Node, code: bytes) -> bytes:
    """Return the name that a call expression calls, without namespace, object and template arguments; b"" if none."""
    node = call.child_by_field_name("function")
    while node is not None:
        if node.type in _NAMES:
            return code[node.start_byte : node.end_byte]
        following = node.child_by_field_name("name") or node.child_by_field_name("field")
        if following is None and node.type == "dependent_name" and node.named_children:
            following = node.named_children[-1]
        node = following
    return b""


def arguments(call: Node) -> tuple[Node, ...]:
    """Return the arguments of a call expression."""
    given = call.child_by_field_name("arguments")
    return tuple(child for child in given.named_children if child.type != "comment") if given is not None else ()


def _is_method(function: Function) -> bool:
    if b"::" in function.head:
        return True
    outer = function.node.parent
    while outer is not None and outer.type not in ("struct_specifier", "class_specifier"):
        outer = outer.parent
    return outer is not None


def nodes(node: Node) -> Iterator[Node]:
    """Yield `node` and all named nodes in it, in order, each before what is in it."""
    # A cursor makes no lists of children.
    cursor = node.walk()
    while True:
        current = cursor.node
        if current is not None and current.is_named:
            yield current
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def exclusive(one: Node, other: Node) -> bool:
    """Whether a thread that comes to one of two places cannot come to the other before it comes there again.

    So it is with the two sides of an `if`; the cases of a `switch` may fall through.
    """
    outer = one.parent
    inner = one
    while outer is not None and not _contains(outer, other):
        inner, outer = outer, outer.parent
    if outer is None or outer.type != "if_statement":
        return False
    condition = outer.child_by_field_name("condition")
    return not (condition is not None and (_contains(condition, one) or _contains(condition, other))) and inner != outer


def device_macros(source: Cpp) -> frozenset[bytes]:
    """The macros of the file that stand for `__device__` or `__global__`, with other words perhaps."""
    return frozenset(
        match[1]
        for match in _DEFINE.finditer(source.code)
        if not match[2] and _DEVICE.search(match[3]) and b"(" not in match[3].replace(b"__attribute__((", b"")
    )


def _functions(source: Cpp) -> tuple[Function, ...]:
    found = []
    stack = [source.tree.root_node]
    while stack:
        node = stack.pop()
        if node.type == "function_definition":
            function = _function(source, node)
            if function is not None:
                found.append(function)
        elif node.type in _HOLDS_FUNCTIONS:
            stack.extend(node.named_children)
    return tuple(sorted(found, key=lambda function: function.body.start_byte))


def _function(source: Cpp, node: Node) -> Function | None:
    body = node.child_by_field_name("body")
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (child for child in declarator.named_children if child.type.endswith("_declarator")), None
        )
    if body is None or declarator is None or body.type != "compound_statement":
        return None
    name = declarator.child_by_field_name("declarator")
    while name is not None and name.type not in _NAMES:
        name = name.child_by_field_name("name")
    if name is None:
        return None
    given = declarator.child_by_field_name("parameters")
    parameters = [child for child in given.named_children if child.type.endswith("declaration")] if given else []
    code = source.code
    return Function(
        source,
        code[name.start_byte : name.end_byte],
        code[node.start_byte : name.start_byte],
        tuple(_declared_name(parameter, code) for parameter in parameters),
        node,
        body,
    )


def _declared_name(node: Node, code: bytes) -> bytes:
    """The name that a declaration or declarator declares."""
    declarator: Node | None = node
    while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type.endswith("_declarator"):
            inner = next(
                (child for child in declarator.named_children if child.type.endswith(("_declarator", "identifier"))),
                None,
            )
        declarator = inner
    return code[declarator.start_byte : declarator.end_byte] if declarator is not None else b""


def _locals(function: Function) -> Locals:
    code = function.source.code
    start, end = function.node.start_byte, function.node.end_byte
    variables = [Variable(name, start, end) for name in function.parameters if name]
    shared: set[Variable] = set()
    # Arrays of a thread's own; what is stored through a pointer is not the pointer.
    arrays: set[Variable] = set()
    given: list[tuple[Node, Node, tuple[Node, ...]]] = []
    assignments: list[Assignment] = []
    for node in nodes(function.body):
        kind = node.type
        if kind == "declaration":
            scope = node.parent
            for each in node.children_by_field_name("declarator"):
                value = each.child_by_field_name("value")
                if (
                    value is not None
                    and value.type == "argument_list"
                    and not _VALUE_TYPE.search(code, node.start_byte, each.start_byte)
                ):
                    value = None  # Of what a constructor makes of its arguments nothing is known.
                variable = Variable(_declared_name(each, code), each.start_byte, scope.end_byte if scope else end)
                variables.append(variable)
                if b"__shared__" in code[node.start_byte : each.start_byte]:
                    shared.add(variable)
                elif b"[" in code[each.start_byte : value.start_byte if value else each.end_byte]:
                    arrays.add(variable)
                assignments.append(Assignment(node, variable, (value,) if value is not None else (), True))
        elif kind == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None and right is not None:
                given.append((node, left, (right,)))
            loop = node.parent
            if left is not None and loop is not None and loop.child_by_field_name("initializer") == node:
                # `for (i = 0; …)`: what i was before does not matter in the loop.
                variables.append(Variable(_declared_name(left, code), node.start_byte, loop.end_byte))
        elif kind == "update_expression" and node.named_children:
            given.append((node, node.named_children[0], ()))
        elif kind == "call_expression":
            # `f(&x, y)` may put something into x.
            passed = arguments(node) if b"&" in code[node.start_byte : node.end_byte] else ()
            for each in passed:
                if each.type == "pointer_expression" and code[each.start_byte : each.start_byte + 1] == b"&":
                    given.extend((node, x, tuple(y for y in passed if y != each)) for x in each.named_children)
    found = Locals(tuple(variables), frozenset(shared), ())
    for node, target, values in given:
        name, indices = _target(target, code)
        changed = found.named(name, target.start_byte)
        if changed is not None and (changed in arrays or not indices):
            assignments.append(Assignment(node, changed, (*values, *indices), False))
    return Locals(found.variables, found.shared, tuple(assignments))


def _target(node: Node, code: bytes) -> tuple[bytes, tuple[Node, ...]]:
    """The variable that an assignment to `node` changes, a part of it perhaps, and the indices of the part."""
    indices: list[Node] = []
    current: Node | None = node
    while current is not None:
        if current.type == "identifier":
            return code[current.start_byte : current.end_byte], tuple(indices)
        sign = current.child_by_field_name("operator")
        if current.type == "pointer_expression" or (sign is not None and sign.type == "->"):
            return b"", ()  # What it points to is not the variable.
        if current.type == "subscript_expression":
            given = current.child_by_field_name("indices")
            indices += given.named_children if given is not None else []
        current = current.child_by_field_name("argument") or (
            current.named_children[0] if current.type == "parenthesized_expression" and current.named_children else None
        )
    return b"", ()


def _call_of(name: Node | None) -> Node | None:
    """The call expression whose function is named by `name`."""
    node = name
    while node is not None and node.parent is not None:
        parent = node.parent
        if parent.type == "call_expression":
            return parent if parent.child_by_field_name("function") == node else None
        if parent.type not in (
            "template_function",
            "qualified_identifier",
            "field_expression",
            "dependent_name",
            "template_method",
        ):
            return None
        # The object in front of `.` and the arguments of a template are not what is called.
        if node not in (parent.child_by_field_name("name"), parent.child_by_field_name("field")) and (
            parent.type != "dependent_name"
        ):
            return None
        node = parent
    return None


def _condition(outer: Node, inner: Node) -> Condition | None:
    """What `outer` asks of a thread before it comes to its part `inner`."""
    kind = outer.type
    if kind in ("if_statement", "conditional_expression", "while_statement", "do_statement", "for_statement"):
        expression = outer.child_by_field_name("condition")
        if expression is None or expression == inner:
            return None
        if kind == "for_statement" and outer.child_by_field_name("initializer") == inner:
            return None
        return Condition(_bare(expression), outer, outer.child_by_field_name("alternative") != inner)
    if kind == "switch_statement":
        expression = outer.child_by_field_name("condition")
        return None if expression is None or expression == inner else Condition(_bare(expression), outer, None)
    if kind == "for_range_loop":
        expression = outer.child_by_field_name("right")
        return None if expression is None or expression == inner else Condition(expression, outer, None)
    if kind == "binary_expression" and outer.child_by_field_name("right") == inner:
        operator, left = outer.child_by_field_name("operator"), outer.child_by_field_name("left")
        if operator is not None and left is not None and operator.type in ("&&", "||", "and", "or"):
            return Condition(left, outer, operator.type in ("&&", "and"))
    return None


def _bare(node: Node) -> Node:
    """An expression without the parentheses that the statement needs."""
    if node.type in ("condition_clause", "parenthesized_expression") and len(node.named_children) == 1:
        return node.named_children[0]
    return node


def _statements(body: Node, kinds: frozenset[str]) -> Iterator[Node]:
    """The nodes of such kinds in `body`, in order, outside of lambdas."""
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type in kinds:
            yield node
        if node.type.endswith("expression"):
            continue
        stack.extend(reversed(node.named_children))


def _loop_of(node: Node, body: Node) -> Node | None:
    """The innermost loop (or, for a `break`, `switch`) around a statement."""
    ends = _LOOPS | {"switch_statement"} if node.type == "break_statement" else _LOOPS
    outer = node.parent
    while outer is not None and outer != body:
        if outer.type in ends:
            return outer
        outer = outer.parent
    return None


def _shared_loop(loop: Node | None, node: Node) -> bool:
    """Whether `loop`, or one around it, has `node` in it too."""
    while loop is not None:
        if loop.type in _LOOPS and _contains(loop, node):
            return True
        loop = loop.parent
    return False


def _contains(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _varying_macros(source: Cpp) -> frozenset[bytes]:
    return frozenset(
        match[1]
        for match in _DEFINE.finditer(source.code)
        if any(_BY_THREAD.fullmatch(word) for word in re.findall(rb"\w+", match[3]))
    )


def _constants(source: Cpp) -> frozenset[tuple[bytes, int]]:
    found = set()
    for match in _DEFINE.finditer(source.code):
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

# SPDX-License-Identifier: Apache-2.0
"""On how many neighbouring threads an expression of device code has one value, where that is known of its variables.

What an expression depends on is read off its syntax once; the number is worked out as often as more is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hipport.languages.cpp import Cpp
from hipport.languages.functions import Function, Variable, arguments, called_name, operator_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from hipport.languages.kernels import Kernels

#: All threads of a block agree on a value. Smaller agreements are powers of two: each group of so many neighbouring
#: threads, counted from the first of the block, agrees; 1 says that every thread may have a value of its own.
BLOCK = 1 << 16
#: The threads of a warp agree.
WARP = 32
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
_TILE_SIZE = re.compile(rb"\b(?:tiled_partition|thread_block_tile)\s*<\s*(\w+)")
_SAME_FOR_ALL = frozenset(("lambda_expression", "sizeof_expression", "type_descriptor", "template_argument_list"))
# How many assignments back a variable is followed.
_STEPS = 6


class _Form(NamedTuple):
    """What the agreement on an expression is the least of."""

    bound: int
    #: Variables, and where they are read.
    variables: tuple[tuple[Variable, Node], ...]
    #: What is called: the agreement on what it returns.
    functions: tuple[Function, ...]
    #: Expressions that agree on so much at least, whatever is in them.
    parts: tuple[tuple[int, _Form], ...]


#: Of what is the same for all, whatever is not.
_ANY = _Form(BLOCK, (), (), ())


class Expressions:
    """The agreement on the expressions of a function."""

    def __init__(self, kernels: Kernels, function: Function) -> None:
        self._kernels = kernels
        self._function = function
        self._macros = kernels.varying_macros(function.source)
        self._forms: dict[int, _Form] = {}
        self._assigned: tuple[tuple[Variable, tuple[_Form, ...]], ...] | None = None
        self._returned: tuple[_Form, ...] | None = None
        self._before: dict[tuple[Variable, int], tuple[_Form, ...] | None] = {}

    def agreement(
        self, node: Node, variables: Mapping[Variable, int], results: Mapping[Function, int], steps: int = _STEPS
    ) -> int:
        """Return that on the expression `node`, where those on variables and on the results of functions are given.

        What is not given is the same for all. A variable is looked for in its last assignment, up to `steps` deep.
        """
        return self._least(self._form(node), variables, results, steps)

    def assigned(
        self, variables: Mapping[Variable, int], results: Mapping[Function, int]
    ) -> Iterator[tuple[Variable, int]]:
        """Yield for each variable that is assigned to, and is not the block's, on how much what it is given agrees.

        That is also the agreement on what decides whether it is. What is known to be each thread's own is left out.
        """
        if self._assigned is None:
            self._assigned = tuple(self._find_assigned())
        for variable, forms in self._assigned:
            if variables[variable] > 1:
                yield variable, min(self._least(form, variables, results, 0) for form in forms)

    def _find_assigned(self) -> Iterator[tuple[Variable, tuple[_Form, ...]]]:
        for variable, given in self._function.locals.given.items():
            if variable in self._function.locals.shared:
                continue
            nodes = [value for each in given for value in each.values]
            # Only some threads may come here; outside of the variable's own scope that makes no difference.
            nodes += (
                condition.expression
                for each in given
                if not each.declares
                for condition in self._function.conditions(each.node)
                if condition.statement.start_byte >= variable.start
            )
            forms = {id(form): form for form in map(self._form, nodes) if form != _ANY}
            if forms:
                yield variable, tuple(forms.values())

    def returned(self, variables: Mapping[Variable, int], results: Mapping[Function, int]) -> int:
        """Return the agreement on what the function returns, and on what decides which of its `return` is come to."""
        if self._returned is None:
            decisive = [
                node
                for statement in self._function.returns
                for node in (
                    *statement.named_children,
                    *(each.expression for each in self._function.conditions(statement)),
                )
            ]
            self._returned = tuple(form for form in map(self._form, decisive) if form != _ANY)
        return min((self._least(form, variables, results, _STEPS) for form in self._returned), default=BLOCK)

    def _least(
        self, form: _Form, variables: Mapping[Variable, int], results: Mapping[Function, int], steps: int
    ) -> int:
        least = form.bound
        for function in form.functions:
            least = min(least, results.get(function, BLOCK))
        for variable, node in form.variables:
            agreed = variables.get(variable, BLOCK)
            if agreed >= least:
                continue
            if steps > 0:
                last = self._last(variable, node)
                if last is not None:
                    given = [self._least(each, variables, results, steps - 1) for each in last]
                    agreed = max(agreed, min(given, default=BLOCK))
            least = min(least, agreed)
        for floor, inner in form.parts:
            if floor < least:
                least = min(least, max(floor, self._least(inner, variables, results, steps)))
        return least

    def _last(self, variable: Variable, node: Node) -> tuple[_Form, ...] | None:
        """What a variable of the thread's own surely has been given last where it is read."""
        key = (variable, node.start_byte)
        if key not in self._before:
            of = self._function.locals
            last = None if variable in of.shared else of.last(variable, node)
            self._before[key] = None if last is None else tuple(map(self._form, last.values))
        return self._before[key]

    def _form(self, node: Node) -> _Form:
        form = self._forms.get(node.id)
        if form is None:
            form = self._forms[node.id] = self._read(node)
        return form

    def _read(self, root: Node) -> _Form:
        bound = BLOCK
        variables: dict[Variable, list[Node]] = {}
        called: dict[Function, None] = {}
        parts: list[tuple[int, _Form]] = []
        stack = [root]
        while stack and bound > 1:
            node = stack.pop()
            kind = node.type
            if kind in ("identifier", "field_identifier"):
                bound = min(bound, self._name(node, self._function.text(node), variables))
            elif kind == "call_expression":
                bound = min(bound, self._call(node, variables, called, stack))
            elif kind == "binary_expression":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                floor = 0
                if left is not None and right is not None:
                    floor = self._floor(left, operator_of(node, self._function.source.code), right)
                if floor > 1:
                    assert left is not None and right is not None
                    parts += [(floor, self._form(left)), (floor, self._form(right))]
                else:
                    stack.extend(node.named_children)
            elif kind not in _SAME_FOR_ALL:
                stack.extend(node.named_children)
        if bound <= 1:
            return _Form(1, (), (), ())
        read = tuple((variable, node) for variable, nodes in variables.items() for node in nodes)
        return _Form(bound, read, tuple(called), tuple(parts))

    def _name(self, node: Node, name: bytes, variables: dict[Variable, list[Node]]) -> int:
        variable = self._function.locals.named(name, node.start_byte)
        if variable is not None:
            variables.setdefault(variable, []).append(node)
            return BLOCK
        built_in = _built_in(name)
        if built_in is not None and name in self._macros:
            return 1
        if name == b"meta_group_rank":
            return self._function.source.fact(_smallest_tile)
        return built_in or BLOCK

    def _call(
        self, node: Node, variables: dict[Variable, list[Node]], called: dict[Function, None], stack: list[Node]
    ) -> int:
        name = called_name(node, self._function.source.code)
        given = arguments(node)
        if _BY_BLOCK.fullmatch(name):
            return BLOCK
        if name in _SHUFFLES and len(given) > 1:
            stack.append(given[1 + name.endswith(b"sync")] if len(given) > 1 + name.endswith(b"sync") else given[-1])
            return WARP
        found = self._name(node, name, variables)
        if found < BLOCK:
            return found
        definitions = self._kernels.definitions(self._function.source, name) if name else ()
        if definitions:
            # Of functions of one name, the one that is meant may be any.
            called.update(dict.fromkeys(definitions))
            return BLOCK
        function = node.child_by_field_name("function")
        # `object.method(…)`: what the object is matters as much as an argument does.
        stack += function.named_children[:1] if function is not None and function.type == "field_expression" else []
        stack += given
        return BLOCK

    def _floor(self, left: Node, operator: str, right: Node) -> int:
        """On how many threads a comparison or quotient of their numbers agrees at least; 0 for anything else."""
        if operator not in (">>", "/", "<", ">=", ">", "<="):
            return 0
        number = self._kernels.constant(self._function, right)
        if number is None or not self.counts_threads(left):
            return 0
        if operator == ">>":
            return min(1 << min(number, 16), BLOCK)
        # `>` and `<=` are like `>=` and `<` of the number behind.
        number += operator in (">", "<=")
        # The largest power of two that divides it.
        return min(number & -number or BLOCK, BLOCK)

    def counts_threads(self, node: Node, depth: int = 4) -> bool:
        """Whether neighbouring threads have numbers one apart, a block beginning at a multiple of its size."""
        text = b"".join(self._function.text(node).split()).strip(b"()")
        if _COUNTS_THREADS.fullmatch(text):
            return True
        if node.type == "cast_expression" or (node.type == "parenthesized_expression" and node.named_children):
            return self.counts_threads(node.named_children[-1], depth)
        if node.type == "binary_expression" and depth:
            # `blockIdx.x * blockDim.x + tid`
            right = node.child_by_field_name("right")
            if right is None or right.type != "identifier":
                return False
            offset = self._function.text(node)[: right.start_byte - node.start_byte]
            whole = b"".join(offset.split()) + b"threadIdx.x"
            return bool(_COUNTS_THREADS.fullmatch(whole)) and self.counts_threads(right, depth - 1)
        if node.type != "identifier" or not depth:
            return False
        of = self._function.locals
        variable = of.named(text, node.start_byte)
        given = [each.values for each in of.given.get(variable, ())] if variable is not None else []
        if given:
            return len(given) == 1 and len(given[0]) == 1 and self.counts_threads(given[0][0], depth - 1)
        if text not in self._function.parameters:
            return False
        position = self._function.parameters.index(text)
        calls = [call for call in self._kernels.callers(self._function) if len(call.arguments) > position]
        return bool(calls) and all(
            self._kernels.counts_threads(call.function, call.arguments[position], depth - 1) for call in calls
        )


@lru_cache(maxsize=4096)
def _built_in(name: bytes) -> int | None:
    """Return the agreement on what has that name and is no variable; None for what is surely the block's."""
    if _BY_BLOCK.fullmatch(name):
        return None
    if varies(name):
        return 1
    return WARP if _BY_WARP.fullmatch(name) else BLOCK


def varies(name: bytes) -> bool:
    """Whether what has that name, in CUDA or HIP, is each thread's own."""
    return _BY_THREAD.fullmatch(name) is not None


def _smallest_tile(source: Cpp) -> int:
    """How many lanes the smallest tile in the file has, for which a place in a larger group is the same."""
    sizes = _TILE_SIZE.findall(source.code)
    return min((int(size) if size.isdigit() else 1 for size in sizes), default=WARP)

# SPDX-License-Identifier: Apache-2.0
"""Control flow and data flow of device code: the call graph, control dependence, and which values are varying.

Computed on syntax trees, by names, over the files that are connected by includes. It is a view for passes that look for
divergent threads, not a compiler's: an overload set is one function, a parameter is the argument of any caller, a
variable is its reaching definition or otherwise any of its definitions, and a macro is what its text mentions.
Uniformity of expressions is proven (hipport.analysis.abstract_execution): an unknown value is varying.

    kernels = Kernels.of(project)
    for function in kernels.functions(source):
        for call in function.calls(): ...
        for condition in function.conditions(node):
            kernels.uniformity(function, condition.expression) >= BLOCK  # the same for all threads of the block
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from operator import itemgetter
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from hipport.analysis import group_types, template_arguments
from hipport.analysis.block_shapes import BlockShape, shapes
from hipport.analysis.build_defaults import open_defaults
from hipport.analysis.built_ins import LAYERS, OTHER_DIMENSIONS, RANK, WARP_SIZES
from hipport.analysis.device_program import Proofs
from hipport.analysis.functions import (
    DEFINE,
    DEVICE,
    Call,
    Condition,
    Function,
    bare,
    device_macros,
    functions,
    kernel_macros,
    operator_of,
    shared_macros,
)
from hipport.analysis.implied_device import Implied
from hipport.analysis.macros import Macro, Mentioning, calls, defined, expanded, heads, loops
from hipport.analysis.outer_names import given_by_builds
from hipport.analysis.prototypes import prototypes
from hipport.analysis.transitive_callers import transitive_callers
from hipport.analysis.uniform_values import BLOCK, VARYING, WARP, Affine, Numbering, Value
from hipport.analysis.unseen_macros import WRITTEN_AS_MACRO, declares_other
from hipport.core.edits import Span
from hipport.core.facts import Facts
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.rereading import hides_conditions

if TYPE_CHECKING:
    from tree_sitter import Node

#: A lane stores, all lanes do an atomic operation on that place, and the lane loads. `~` stands for white space.
LED = re.compile(
    rb"if(?<!\wif)~\((?P<who>[^;{}]*)\)~(?:\{~)?(?:\*~(?P<at>\w+)|(?P<element>\w+~\[[^;{}\[\]]*\]))~=(?!=)[^;{}]*;~(?:\}~)?"
    rb"(?P<atomic>(?:\w+::)*atomic[A-Z]\w*~\(~(?:(?P=at)|&~(?P=element))~,[^;{}]*;)~"
    rb"(?P<load>if~\((?P=who)\)~(?:\{~)?[^;{}]*(?:\*~(?P=at)\b|(?P=element)))".replace(b"~", rb"(?:\s|\\(?=\s))*")
)
T = TypeVar("T")
# `\bconst` in a form that a search finds by its first letter, which is many times as fast.
_CONSTANT = re.compile(rb"c(?<!\wc)onst(?:expr)?\b[\w\s]*?\b(\w+)\s*=\s*(\d+)[uUlL]*\s*[;,]")
# Braces, and what stands in front of those of statements and functions.
_BRACES = re.compile(rb"((?:\)|\b(?:else|do|try|const|noexcept|override|final|mutable))\s*)?[{}]")
# Follows the name of a function definition; follows braces that are not the body.
_PARAMETERS = re.compile(rb"(?:\s|\\)*(?:<[^;{}]*>(?:\s|\\)*)?\(")
_GOES_ON = frozenset(
    (b"{", b",", b")", b":", b".", b"-", b"=", b"(", b">", b"<", b"&", b"|", b"*", b"?", b"+", b"/", b"]")
)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_NAMED = re.compile(rb"(?:::)?\s*(?:[A-Za-z_]\w*\s*::\s*)*([A-Za-z_]\w*)")
_NUMBER = re.compile(rb"\(*\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)*")


class _Index:
    """The functions of a component, by the names that `names` returns for a function.

    A file is parsed for a name only if it contains that word.
    """

    def __init__(self, component: Component, names: Callable[[Function], Iterable[bytes]]) -> None:
        self._names = names
        self._waiting = [(i, source) for i, source in enumerate(component) if isinstance(source, Cpp)]
        #: With the indexes of their files in the component, to restore the order of files; within a file the order is
        #: kept.
        self._found: dict[bytes, list[tuple[int, Function]]] = {}

    def named(self, name: bytes, functions: Callable[[Cpp], Iterable[Function]]) -> list[Function]:
        """Return the functions for `name`, in order; `functions` returns those of a file."""
        due = [each for each in self._waiting if name in each[1].words]
        if due:
            self._waiting = [each for each in self._waiting if name not in each[1].words]
            for i, source in due:
                for function in functions(source):
                    for each in self._names(function):
                        if each in source.words:
                            self._found.setdefault(each, []).append((i, function))
        found = self._found.get(name, [])
        found.sort(key=itemgetter(0))
        return [function for _, function in found]


class _Known:
    """Cached facts about the device code of connected files."""

    def __init__(self, component: Component) -> None:
        self.functions: dict[PurePath, tuple[Function, ...]] = {}
        self.named = _Index(component, lambda function: (function.name,))
        self.calling = _Index(component, lambda function: function.called)
        self.definitions: dict[bytes, tuple[Function, ...]] = {}
        self.elements: dict[bytes, bool] = {}
        self.callers: dict[Function, tuple[Call, ...]] = {}
        self.in_macros: dict[Function, tuple[tuple[Function, Node], ...]] = {}
        self.proofs: dict[bool, Proofs] = {}
        self.macros: Mapping[bytes, tuple[Macro, ...]] | None = None
        self.uniformities: dict[tuple[Function, int, bool], int] = {}
        self.blocks: dict[Function, tuple[BlockShape, ...] | None] = {}
        self.assumed: dict[Function, dict[tuple[Numbering, int], None]] = {}
        self.one_warp: dict[tuple[Function, int], bool] = {}
        self.unclear: dict[Function, bool] = {}
        self.in_one_row: dict[Function, Node] = {}
        self.macro_like: dict[bytes, bool] = {}
        self.recursive: dict[Function, bool] = {}
        self.transitive_callers: dict[re.Pattern[bytes], tuple[frozenset[bytes], AbstractSet[object]]] = {}


class Kernels(Facts):
    """Facts about the device code of a project, computed on demand and cached."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @staticmethod
    def of(project: Project) -> Kernels:
        """Return the facts about `project`."""
        return project.fact(Kernels)

    def __getstate__(self) -> Project:
        # Syntax trees cannot be pickled.
        return self._project

    def __setstate__(self, project: Project) -> None:
        self.__init__(project)  # type: ignore[misc]

    def _known(self, source: Cpp) -> _Known:
        return self._project.component(source).fact(_Known)

    def files(self, source: Cpp) -> tuple[Cpp, ...]:
        """Return the files that `source` is connected to, including itself."""
        return tuple(other for other in self._project.component(source) if isinstance(other, Cpp))

    def of_component(self, source: Cpp, fact: Callable[[Component], T]) -> T:
        """Return a fact about the files that `source` is connected to, computed once."""
        return self._project.component(source).fact(fact)

    def functions(self, source: Cpp) -> tuple[Function, ...]:
        """Return the functions of the file that run on the device, in order."""
        known = self._known(source).functions
        if source.path not in known:
            macros = self._project.union_over(source, device_macros)
            implied = self._project.component(source).fact(Implied)
            macros |= implied.macros - self.macros(source).keys() if implied.macros else implied.macros
            own = implied.may_run(source)
            device = own or DEVICE.search(source.code) is not None or any(macro in source.code for macro in macros)
            found = tuple(
                function
                for function in (functions(source) if device else ())
                if DEVICE.search(function.head)
                or any(word in macros for word in re.findall(rb"\w+", function.head))
                or (own and implied.runs(function))
            )
            kernels = self._project.union_over(source, kernel_macros)
            for function in found if kernels else ():
                if not kernels.isdisjoint(re.findall(rb"\w+", function.head)):
                    function.carry({"kernel": True})
            shared = self._project.union_over(source, shared_macros)
            for function in found if shared & source.words else ():
                function.carry({"shared_words": shared})
            known[source.path] = found
        return known[source.path]

    def definitions(self, source: Cpp, name: bytes) -> tuple[Function, ...]:
        """Return the device functions called `name` in the files that `source` is connected to."""
        known = self._known(source)
        if name not in known.definitions:
            known.definitions[name] = tuple(known.named.named(name, self.functions))
        return known.definitions[name]

    def may_have_elements(self, source: Cpp, name: bytes) -> bool:
        """Whether a function called `name` that `source` is connected to may use array elements in its body.

        A cheap test before `definitions`, which parses the files that contain the name.
        """
        component = self._project.component(source)
        known = component.fact(_Known).elements
        if name not in known:
            known[name] = any(
                isinstance(other, Cpp) and name in other.words and _may_have_elements(other, name)
                for other in component
            )
        return known[name]

    def callers(self, function: Function) -> tuple[Call, ...]:
        """Return the calls of the function, by its name, in the device code that it is connected to."""
        known = self._known(function.source)
        if function not in known.callers:
            known.callers[function] = tuple(
                call
                for caller in known.calling.named(function.name, self.functions)
                if caller is not function
                for call in caller.calls({function.name})
                if function.takes(len(call.arguments))
            )
        return known.callers[function]

    def called_at(self, function: Function) -> Iterator[tuple[Function, Node]]:
        """Yield the callers of the function, with the places of the calls, also those in macros."""
        yield from ((call.function, call.node) for call in self.callers(function))
        known = self._known(function.source).in_macros
        if function not in known:
            known[function] = tuple(self._find_in_macros(function))
        yield from known[function]

    def _find_in_macros(self, function: Function) -> Iterator[tuple[Function, Node]]:
        component = self._project.component(function.source)
        macros = component.fact(Mentioning).of(function.name)
        for source in component if macros else ():
            if not isinstance(source, Cpp) or macros.isdisjoint(source.words):
                continue
            places = [(span, name) for span, name in source.names(macros) if source.directive(span.start) is None]
            for caller in self.functions(source) if places else ():
                if caller is function:
                    continue
                for span, name in places:
                    if caller.body.start_byte <= span.start < caller.body.end_byte:
                        yield from self._made_by(caller, span, name, function)

    def _made_by(
        self, caller: Function, span: Span, macro: bytes, function: Function
    ) -> Iterator[tuple[Function, Node]]:
        source = caller.source
        node = caller.body.descendant_for_byte_range(span.start, span.end)
        if node is None or caller.locals.named(macro, span.start) is not None:
            return
        spans = source.given(span.end)
        given = None if spans is None else [source.code[each.start : each.end] for each in spans]
        for text in self.expanded(source, macro, given):
            made = calls(text, function.name) if function.name in text else []
            if made is None or any(function.takes(len(each)) for each in made):
                yield caller, node

    def reaches(self, function: Function, pattern: re.Pattern[bytes]) -> bool:
        """Whether the function may call a name that `pattern` matches as a whole, directly or through others."""
        return function in self._callers_of(function.source, pattern)[1]

    def transitive_callers(self, source: Cpp, pattern: re.Pattern[bytes]) -> frozenset[bytes]:
        """Return the names of all functions, macros and classes that may reach a name that `pattern` matches."""
        return self._callers_of(source, pattern)[0]

    def _callers_of(self, source: Cpp, pattern: re.Pattern[bytes]) -> tuple[frozenset[bytes], AbstractSet[object]]:
        """The names of the transitive callers, and these themselves."""
        known = self._known(source).transitive_callers
        if pattern not in known:
            files = self.files(source)
            names: frozenset[bytes] = frozenset().union(*(each.matched(pattern) for each in files))
            found = transitive_callers(files, self.functions, names)
            known[pattern] = frozenset(found.named), frozenset(found.units)
        return known[pattern]

    def uniformity(self, function: Function, node: Node, *, shown: bool = False) -> int:
        """Return the uniformity of the expression `node`: for how many neighbouring threads it is the same.

        At most BLOCK. Unless `shown`, blocks without a seen launch are assumed to have rows of whole warps.
        """
        known = self._known(function.source).uniformities
        key = (function, node.id, shown)
        if key not in known:
            known[key] = min(self.value(function, node, shown=shown).level, BLOCK)
        return known[key]

    def value(self, function: Function, node: Node, *, shown: bool = False) -> Value:
        """Return what is proven of the expression over all seen calls, with a reason if it is not uniform."""
        proofs = self.proofs(function.source, False)
        value = proofs.value(function, node)
        # A result without assumptions is shown already, and a varying value cannot get worse.
        if not shown or value.level <= VARYING or not proofs.is_assumed(function):
            return value
        return self.proofs(function.source, True).value(function, node)

    def uniformity_of_text(self, function: Function, text: bytes, node: Node, *, shown: bool = False) -> int:
        """Return the uniformity of an expression in a macro's expansion at `node`; 1 if it is not an expression."""
        return min(self.proofs(function.source, shown).value_of_text(function, text, node).level, BLOCK)

    def blocks(self, function: Function) -> tuple[BlockShape, ...] | None:
        """Return the shapes of the blocks of all kernels that reach the function; None if not all are seen."""
        known = self._known(function.source).blocks
        if function not in known:
            known[function] = None  # the result for a recursive call
            if function.kernel:
                known[function] = shapes(function, self._project)
            else:
                found = [self.blocks(caller) for caller in self._calling(function)]
                every = [each for each in found if each is not None]
                if found and len(every) == len(found):
                    known[function] = tuple(dict.fromkeys(block for each in every for block in each))
        return known[function]

    def assumes(self, function: Function, numbering: Numbering, size: int) -> None:
        """Record the assumption that numbers of `size` threads are uniform, for lack of seen launches."""
        self._known(function.source).assumed.setdefault(function, {})[numbering, size] = None

    def assumption(self, source: Cpp, function: Function | None = None, most: int = WARP) -> str:
        """Describe the assumption about blocks in the connected files; empty if there is none.

        The assumption for the function and its callers, if there is one. `most`: for how many threads a value must
        be uniform.
        """
        assumed = self._known(source).assumed
        of = [] if function is None else [each for each in self.with_callers(function) if each in assumed]
        every = [each for some in (of or assumed) for each in assumed[some]]
        if not every:
            return ""
        size = max(min(size, most) for _, size in every)
        rows = f"blockDim.x is a multiple of {size}"
        if any(numbering is Numbering.GRID for numbering, _ in every):
            return rows
        return f"blocks are one-dimensional or {rows}"

    def _calling(self, function: Function) -> Mapping[Function, None]:
        """The functions that call a function, also in macros."""
        return {caller: None for caller, _ in self.called_at(function)}

    def calls_itself(self, function: Function) -> bool:
        """Return whether the function may call itself, directly or through others."""
        known = self._known(function.source).recursive
        if function not in known:
            # The search for callers leaves out calls of a function by itself.
            own = function.calls({function.name}) if not function.kernel else ()
            known[function] = any(function.takes(len(each.arguments)) and not _of_another(each) for each in own)
            waiting, seen = [] if function.kernel else [function], {function}
            while waiting and not known[function]:
                for call in self.callers(waiting.pop()):
                    known[function] = known[function] or call.function is function
                    if call.function not in seen and not call.function.kernel and not _of_another(call):
                        seen.add(call.function)
                        waiting.append(call.function)
        return known[function]

    def with_callers(self, function: Function) -> Iterable[Function]:
        """Return the function, and all that may call it, directly or through others, up to kernels."""
        found = {function: None}
        waiting = [function]
        while waiting:
            each = waiting.pop()
            callers = {} if each.kernel else self._calling(each)
            waiting += [caller for caller in callers if caller not in found]
            found |= callers
        return found

    def may_differ(self, function: Function, expression: Node, size: int, *, shown: bool = False) -> bool:
        """Whether the expression may vary between `size` lanes."""
        return self.uniformity(function, expression, shown=shown) < size

    def declarations(self, source: Cpp, name: bytes) -> tuple[tuple[bytes, ...], ...]:
        """Return the parameters of the declarations of a device function whose body is in none of the files."""
        found = self.of_component(source, prototypes).get(name, ())
        return found if found and not self.definitions(source, name) else ()

    def constant(self, function: Function, node: Node, depth: int = 4) -> int | None:
        """Return the value of `node` if it is a literal, or the name of a numeric macro or constant.

        The name of a variable, or of a template parameter, is not a constant that has the same name elsewhere.
        """
        text = function.text(node)
        number = _NUMBER.fullmatch(text)
        if number:
            digits = number[1]
            return int(digits, 16 if digits[:2].lower() == b"0x" else 10)
        named = _NAMED.fullmatch(text.strip(b"() \t\r\n"))
        if named is None:
            return None
        name = named[1]
        if WARP_SIZES.fullmatch(name):
            return WARP
        variable = function.locals.named(name, node.start_byte) if node.type == "identifier" else None
        if variable is not None:
            definitions = function.locals.definitions.get(variable, ())
            if not depth or len(definitions) != 1 or not definitions[0].declares or len(definitions[0].values) != 1:
                return None
            (value,) = definitions[0].values
            return self.constant(function, value, depth - 1)
        if name in function.template_parameters or name in self._project.fact(open_defaults):
            return None
        return self._project.component(function.source).fact(_constant_values).get(name)

    def given_by_builds(self) -> frozenset[bytes]:
        """Return the macros that build scripts of the tree define as the same for all threads."""
        return self._project.fact(given_by_builds)

    def named_constant(self, source: Cpp, name: bytes) -> int | None:
        """Return the value of a macro or constant of the files that `source` is connected to."""
        # In another branch of the preprocessor, a macro may not be a number.
        texts = self.macros(source).get(name, ())
        if name in self._project.fact(open_defaults) or any(not _NUMBER.fullmatch(each.text) for each in texts):
            return None
        return self._project.component(source).fact(_constant_values).get(name)

    def template_classes(self, function: Function, name: bytes) -> frozenset[bytes]:
        """Return the names of the classes that a parameter of the function's template is; empty where not known."""
        return template_arguments.classes(self._project.component(function.source), function, name) or frozenset()

    def template_numbers(self, function: Function, name: bytes) -> frozenset[int]:
        """Return the values that a template parameter of the function may have; empty if one is unknown."""
        return template_arguments.values_of(self._project.component(function.source), function, name) or frozenset()

    def numbers(self, function: Function, node: Node) -> frozenset[int]:
        """Return the numbers that the expression `node` may be, in all seen calls; empty if one is unknown."""
        one = self.constant(function, node)
        if one is not None:
            return frozenset((one,))
        proofs = self.proofs(function.source)
        proofs.run(function)
        value = proofs.told(function.source.path, (node.start_byte, node.end_byte), "")
        return frozenset() if value is None else frozenset(value.numbers if value.number is None else (value.number,))

    def numbering(self, function: Function, node: Node) -> Affine | None:
        """Return how `node` numbers threads, from 0 in each block or in the grid; None if it does not."""
        affine = self.value(function, node).affine
        return affine if affine is not None and affine.scale == 1 and not affine.aligned else None

    def one_warp(self, function: Function, node: Node) -> bool:
        """Whether only whole warps reach `node`, by a condition like `threadIdx.x < 32` or `warp % 2 == 0`.

        Such code was written for the lanes of one warp. If several warps reach it, each executes it on its own, because
        nothing else in CUDA would order them. A function is for one warp if it has known callers and all of them are.
        """
        known = self._known(function.source).one_warp
        key = (function, node.id)
        if key not in known:
            known[key] = self._only(function, node, self._one_warp)
        return known[key]

    def one_warp_by(self, function: Function, node: Node) -> Condition | None:
        """Return the condition on `node` by which only whole warps reach it, each on its own; see `one_warp`."""
        conditions = (each for each in function.conditions(node) if each.taken is not None)
        return next((each for each in conditions if self._one_warp(function, each.expression, bool(each.taken))), None)

    def one_thread(self, function: Function, node: Node) -> bool:
        """Whether only one thread of the block reaches `node`, by a condition like `threadIdx.x == 0`.

        If not all launches are seen, `threadIdx.x == 0` is enough if neither the function nor a caller of it reads
        threadIdx.y or .z.
        """
        alone = self._only(function, node, self._one_thread)
        if alone and not self._only(function, node, partial(self._one_thread, shown=True)):
            self._known(function.source).in_one_row.setdefault(function, node)
        return alone

    def in_one_row(self, source: Cpp) -> Iterable[tuple[Function, Node]]:
        """Return the functions of the file with a place that one thread was assumed to reach, for lack of launches."""
        known = self._known(source).in_one_row
        return [(function, node) for function, node in known.items() if function.source is source]

    def _only(
        self, function: Function, node: Node, test: Callable[[Function, Node, bool], bool], depth: int = 4
    ) -> bool:
        conditions = [(each.expression, each.taken) for each in function.conditions(node)]
        for statement in function.exits_before(node):
            outer = next(function.conditions(statement), None)
            if statement.type != "return_statement" or outer is None or not outer.taken or outer.loop:
                continue
            # `if (threadIdx.x >= 32) return;`, which every thread has passed that reaches the node: it precedes the
            # node, has no condition of its own, and is not in a lambda.
            block = outer.statement.parent
            if block is not None and block.end_byte >= node.end_byte and outer.statement.end_byte <= node.start_byte:
                conditions.append((outer.expression, False))
        if any(test(function, expression, taken) for expression, taken in conditions if taken is not None):
            return True
        if not depth or function.kernel:
            return False
        places = list(self.called_at(function))
        return bool(places) and all(self._only(caller, place, test, depth - 1) for caller, place in places)

    def _one_thread(self, function: Function, node: Node, taken: bool, shown: bool = False) -> bool:
        node = bare(node)
        if node.type == "unary_expression" and node.named_children:
            # `!threadIdx.x`; and `if (threadIdx.x) return;`
            return taken and self._numbers_threads(function, node.named_children[0], shown)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = operator_of(node, function.source.code)
        if left is None or right is None or not sign:
            return not taken and self._numbers_threads(function, node, shown)
        if sign in ("&&", "and") if taken else sign in ("||", "or"):
            return self._one_thread(function, left, taken, shown) or self._one_thread(function, right, taken, shown)
        if sign in (">", ">=", "<", "<="):
            bound = {">": 0, ">=": 1, "<": 1, "<=": 0}[sign]
            less = sign in ("<", "<=")
            first = taken == less and self.constant(function, right) == bound
            # With an offset, several threads may be below the bound.
            return first and self.numbering(function, left) is not None and self._numbers_threads(function, left, shown)
        if sign not in ("==", "!=") or taken != (sign == "=="):
            return False
        return any(
            self._numbers_threads(function, one, shown) and not self.may_differ(function, other, BLOCK)
            for one, other in ((left, right), (right, left))
        )

    def _numbers_threads(self, function: Function, node: Node, shown: bool) -> bool:
        """Whether no two threads of a block have the same value of `node`."""
        affine = self.value(function, node).affine
        if affine is None or affine.scale != 1:
            return False
        if affine.axis is Numbering.GROUP:
            return affine.size >= BLOCK
        blocks = self.blocks(function)
        sizes = {block.z for block in blocks or ()}
        sizes |= {block.y for block in blocks or () if affine.axis is not Numbering.ROWS}
        if sizes and None not in sizes:
            return sizes == {1}
        return not shown and not any(_counts_otherwise(each, affine.axis) for each in self.with_callers(function))

    def _one_warp(self, function: Function, node: Node, taken: bool) -> bool:
        node = bare(node)
        if node.type == "unary_expression" and node.named_children:
            # `!warp`
            return taken and WARP <= self.uniformity(function, node.named_children[0]) < BLOCK
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = operator_of(node, function.source.code)
        if left is None or right is None or not operator:
            return False
        if operator in ("&&", "and") if taken else operator in ("||", "or"):
            return self._one_warp(function, left, taken) or self._one_warp(function, right, taken)
        if operator in ("==", "!="):
            uniformity = min(self.uniformity(function, left), self.uniformity(function, right))
            return taken == (operator == "==") and WARP <= uniformity < BLOCK
        if operator in (">", ">=") and self.numbering(function, right) is not None:
            left, right, operator = right, left, {">": "<", ">=": "<="}[operator]
        if not taken:
            operator = {">=": "<", ">": "<="}.get(operator, "")
        number = self.constant(function, right)
        limit = {"<": WARP, "<=": WARP - 1}.get(operator)
        if limit is None or number is None or number > limit:
            return False
        numbering = self.numbering(function, left)
        return numbering is not None and (numbering.axis is not Numbering.GROUP or numbering.of is Numbering.GROUP)

    def macros(self, source: Cpp) -> Mapping[bytes, tuple[Macro, ...]]:
        """Return the macros of the files that `source` is connected to, without those that a build may give."""
        found = self._project.component(source).fact(defined)
        given = self._project.fact(open_defaults)
        if given.isdisjoint(found):
            return found
        known = self._known(source)
        if known.macros is None:
            known.macros = {name: macros for name, macros in found.items() if name not in given}
        return known.macros

    def may_be_macro(self, source: Cpp, name: bytes) -> bool:
        """Whether a name may be that of a macro which is not seen, and by which a thread may leave a function."""
        if not WRITTEN_AS_MACRO.fullmatch(name) or name in self._project.component(source).fact(defined):
            return False
        known = self._known(source).macro_like
        if name not in known:
            declared = self.definitions(source, name) or self.of_component(source, prototypes).get(name)
            known[name] = not declared and not any(declares_other(each, name) for each in self.files(source))
        return known[name]

    def loop_macros(self, source: Cpp) -> frozenset[bytes]:
        """Return the macros among them that begin a loop."""
        return self._project.component(source).fact(loops)

    def unclear(self, function: Function) -> bool:
        """Whether text in a function that the parser does not understand may decide which of its statements run."""
        if function.source.reads_over_conditions(*function.body.byte_range):
            return True
        if not function.body.has_error:
            return False
        known = self._known(function.source).unclear
        if function not in known:
            of = self._project.component(function.source).fact(heads)
            known[function] = hides_conditions(function.source, function.body, of)
        return known[function]

    def expanded(self, source: Cpp, name: bytes, given: Sequence[bytes] | None) -> list[bytes]:
        """Return the possible expansions of a macro with these arguments; see hipport.analysis.macros."""
        return expanded(name, given, self.macros(source))

    def proofs(self, source: Cpp, shown: bool = False) -> Proofs:
        """Return what is proven about the files that `source` is connected to; see hipport.analysis.device_program."""
        known = self._known(source).proofs
        if shown not in known:
            other = known.get(not shown)
            known[shown] = Proofs(self, source, shown, other.program if other is not None else None)
        return known[shown]


def _of_another(call: Call) -> bool:
    """Whether a method of a name is called by one of that name, of another object or class: `part.compute(x)`."""
    called = call.node.child_by_field_name("function")
    if call.name != call.function.name or called is None:
        return False
    if called.type == "qualified_identifier":
        return True
    thing = called.child_by_field_name("argument") if called.type == "field_expression" else None
    return thing is not None and call.function.text(thing).strip(b"(*)") != b"this"


def _counts_otherwise(function: Function, numbering: Numbering) -> bool:
    """Whether the function uses other numbers of threads.

    These are threadIdx.y and .z, and ranks in groups of lanes: several threads of a block have the same.
    """
    if function.mentions(LAYERS if numbering is Numbering.ROWS else OTHER_DIMENSIONS):
        return True
    if not function.mentions(RANK):
        return False
    known = function.source.fact(group_types.sizes)
    ranks = RANK.finditer(function.source.code, function.body.start_byte, function.body.end_byte)
    return any(match[1] not in known or known[match[1]] for match in ranks)


def _may_have_elements(source: Cpp, name: bytes) -> bool:
    """Whether a subscript stands in braces after the name that may be the body of a function of that name."""
    code = source.code
    for span, _ in source.names(frozenset((name,)), _PARAMETERS):
        opening = code.find(b"{", span.end)
        # No statement ends between a function's name and its body.
        if opening < 0 or code.find(b";", span.end, opening) >= 0:
            continue
        end = opening
        while end >= 0 and code[end : end + 1] == b"{":
            closing = source.closing(end)
            end = len(code) if closing is None else closing + 1
            # Braces of an initializer, or of a default argument, precede those of the body.
            if code[end:].lstrip()[:1] in _GOES_ON:
                end = code.find(b"{", end)
        if b"[" in code[opening : end if end >= 0 else len(code)]:
            return True
    return False


def _constants(source: Cpp) -> frozenset[tuple[bytes, int]]:
    found = set()
    for match in DEFINE.finditer(source.code):
        number = _NUMBER.fullmatch(match[3].strip()) if not match[2] else None
        if number:
            found.add((match[1], int(number[1], 16 if number[1][:2].lower() == b"0x" else 10)))
    constants = list(_CONSTANT.finditer(source.code))
    local = _in_functions(source.code, [match.start() for match in constants]) if constants else []
    # Other functions may have something else by the name of a function's own constant.
    found |= {(match[1], int(match[2])) for match, own in zip(constants, local, strict=True) if not own}
    return frozenset(found)


def _in_functions(code: bytes, places: Sequence[int]) -> list[bool]:
    """Whether places, in order, are in the body of a function."""
    found = []
    around = [False]
    braces = _BRACES.finditer(code)
    brace = next(braces, None)
    for place in places:
        while brace is not None and brace.start() < place:
            if code[brace.end() - 1 : brace.end()] == b"{":
                around.append(around[-1] or brace[1] is not None)
            elif len(around) > 1:
                around.pop()
            brace = next(braces, None)
        found.append(around[-1])
    return found


def _constant_values(component: Component) -> dict[bytes, int | None]:
    """The values of constants by name; None for a name with several values."""
    values: dict[bytes, int | None] = {}
    for source in component:
        for name, value in source.fact(_constants) if isinstance(source, Cpp) else ():
            values[name] = value if values.get(name, value) == value else None
    return values

# SPDX-License-Identifier: Apache-2.0
"""The device code of connected files, as input of hipport.analysis.abstract_execution.

    proofs = Proofs(kernels, source)
    proofs.value(function, node)     # the worst value of the expression in any call, with the reason
    proofs.site(function, node)      # how threads reach the call

Macros are expanded before a function is lowered; their expansion has the span of their use.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from hipport.analysis.abstract_execution import AbstractExecution
from hipport.analysis.abstract_program import Callee, Site
from hipport.analysis.block_shapes import BlockShape
from hipport.analysis.built_ins import VECTOR
from hipport.analysis.device_ir import DeviceIR, Span
from hipport.analysis.functions import Function, declared_parameters, functions
from hipport.analysis.implicit_calls import defaults as declared_defaults
from hipport.analysis.lowering import lower, lower_members
from hipport.analysis.lowering_state import LoweringContext, class_in, is_wide, squeezed
from hipport.analysis.macros import Macro
from hipport.analysis.outer_names import LIBRARY, declares
from hipport.analysis.uniform_values import (
    BLOCK,
    UNIFORM,
    UNION,
    VARYING,
    Blocks,
    Numbering,
    Reason,
    Value,
    varying,
)
from hipport.core.tables import load, one_of
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASSES = frozenset(("struct_specifier", "class_specifier", "union_specifier"))
_WORD = re.compile(rb"[A-Za-z_]\w*")
_QUALIFIED = re.compile(rb"(\w+)\s*(?:<[^;(){}]*>\s*)?::\s*\Z")
# Assignments, calls and member accesses.
_NO_ARITHMETIC = re.compile(rb"(?<![=!<>])=(?!=)|\+\+|--|[.\[{\"'@#;]|->|\w\s*\(")
_TYPES = load(Path(__file__).with_name("pure_functions.toml"))["types"]
_NUMBERS = one_of(_TYPES["numbers"])
#: Names of types that are not classes.
_PLAIN = re.compile(rf"\w+_t|\w*{_NUMBERS}\w*|auto|void".encode())
#: Precedes variables outside functions that threads may change.
_CHANGEABLE = one_of("__device__ __shared__ __managed__ volatile").encode()
#: Statements that transfer control.
_LEAVES = re.compile(rb"\b(?:return|break|continue|goto|for|while|do|case|else)\b")
_WORDS = (
    "__device__ __host__ __global__ __forceinline__ __inline__ __noinline__ inline __inline __forceinline constexpr "
    "const __restrict __restrict__"
)
_WITH_ARGUMENTS = "__attribute__ __declspec __launch_bounds__"
#: Words of declarations that change neither values nor control flow.
_SPECIFIER = re.compile(
    rb"\b" + one_of(_WORDS).encode() + rb"(?!\w)"
    rb"|\b" + one_of(_WITH_ARGUMENTS).encode() + rb"\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    rb"|\[\[[^][]*\]\]"
)
#: Expansions of macros are followed up to this size in bytes.
_LONGEST = 200_000


class DeviceFiles(Protocol):
    """What the analysis asks about the files; implemented by hipport.analysis.kernels.Kernels."""

    def files(self, source: Cpp) -> tuple[Cpp, ...]:
        """Return the files that `source` is connected to, including itself."""
        ...

    def functions(self, source: Cpp) -> tuple[Function, ...]:
        """Return the device functions of a file."""
        ...

    def definitions(self, source: Cpp, name: bytes) -> tuple[Function, ...]:
        """Return the device functions of that name."""
        ...

    def declarations(self, source: Cpp, name: bytes) -> tuple[tuple[bytes, ...], ...]:
        """Return the parameters of each declaration of a function whose body is not seen."""
        ...

    def called_at(self, function: Function) -> Iterator[tuple[Function, Node]]:
        """Yield the callers of the function, with the places of the calls."""
        ...

    def blocks(self, function: Function) -> tuple[BlockShape, ...] | None:
        """Return the shapes of the blocks that execute the function; None if not all are seen."""
        ...

    def assumes(self, function: Function, numbering: Numbering, size: int) -> None:
        """Record an assumption about the launches."""
        ...

    def given_by_builds(self) -> frozenset[bytes]:
        """Return the macros that build scripts define."""
        ...

    def named_constant(self, source: Cpp, name: bytes) -> int | None:
        """Return the value of a macro or constant."""
        ...

    def template_classes(self, function: Function, name: bytes) -> frozenset[bytes]:
        """Return the classes that a parameter of the function's template is; empty where one is not known."""
        ...

    def template_numbers(self, function: Function, name: bytes) -> frozenset[int]:
        """Return the values that a template parameter of the function may have."""
        ...

    def macros(self, source: Cpp) -> Mapping[bytes, tuple[Macro, ...]]:
        """Return the macros of the files that `source` is connected to."""
        ...

    def may_be_macro(self, source: Cpp, name: bytes) -> bool:
        """Whether a name may be that of a macro which is not seen, and which may leave a function."""
        ...

    def expanded(self, source: Cpp, name: bytes, given: Sequence[bytes] | None) -> list[bytes]:
        """Return the possible expansions of a macro."""
        ...


class ClassType(NamedTuple):
    """A class: its members with their types, its bases, its node."""

    name: str
    fields: tuple[tuple[str, str], ...]
    bases: tuple[str, ...]
    #: Members of anonymous unions, which share a place.
    shared: frozenset[str]
    #: Members that no object has of its own.
    static: frozenset[str]
    node: Node
    source: Cpp


def classes(source: Cpp) -> tuple[ClassType, ...]:
    """Return the classes that the file defines."""
    found = []
    code = source.code
    waiting = [source.tree.root_node] if any(word in source.words for word in (b"struct", b"class", b"union")) else []
    while waiting:
        node = waiting.pop()
        waiting += node.named_children
        body = node.child_by_field_name("body") if node.type in _CLASSES else None
        name = node.child_by_field_name("name") if body is not None else None
        if body is None or name is None:
            continue
        while name.type in ("template_type", "qualified_identifier"):
            inner = name.child_by_field_name("name")
            if inner is None:
                break
            name = inner
        fields: list[tuple[str, str]] = []
        shared = frozenset(
            code[inner.start_byte : inner.end_byte].decode("latin1")
            for member in body.named_children
            if member.type == "field_declaration" and not member.children_by_field_name("declarator")
            for union in member.named_children
            if union.type == "union_specifier"
            for inner in _members(union)
        )
        fields += [(member, "") for member in sorted(shared)]
        static: set[str] = set()
        for member in body.named_children:
            if member.type != "field_declaration":
                continue
            kind = member.child_by_field_name("type")
            type_name = code[kind.start_byte : kind.end_byte].decode("latin1") if kind is not None else ""
            if any(
                each.type == "type_qualifier" and code[each.start_byte : each.end_byte] == b"volatile"
                for each in member.children
            ):
                type_name = f"volatile {type_name}"
            for declared in member.children_by_field_name("declarator"):
                pointer = ""
                inner_: Node | None = declared
                while inner_ is not None and inner_.type not in ("field_identifier", "identifier"):
                    sign = {"pointer_declarator": " *", "array_declarator": "[]", "reference_declarator": " &"}.get(
                        inner_.type, pointer
                    )
                    pointer = pointer + sign if sign == "[]" and inner_.type == "array_declarator" else sign
                    if inner_.type == "function_declarator":
                        inner_ = None
                        break
                    inner_ = inner_.child_by_field_name("declarator") or next(
                        (each for each in inner_.named_children if each.type.endswith(("declarator", "identifier"))),
                        None,
                    )
                if inner_ is not None:
                    text = code[inner_.start_byte : inner_.end_byte].decode("latin1")
                    fields.append((text, type_name + pointer))
                    if any(each.type == "storage_class_specifier" for each in member.children):
                        static.add(text)
        bases = next((each for each in node.named_children if each.type == "base_class_clause"), None)
        names = tuple(
            re.sub(r"<.*>", "", code[each.start_byte : each.end_byte].decode("latin1"), flags=re.DOTALL).rpartition(
                "::"
            )[2]
            for each in (bases.named_children if bases is not None else ())
            if each.type in ("type_identifier", "qualified_identifier", "template_type")
        )
        text = code[name.start_byte : name.end_byte].decode("latin1")
        found.append(ClassType(text, tuple(fields), names, shared, frozenset(static), node, source))
    return tuple(found)


def _members(node: Node) -> Iterator[Node]:
    """Yield the names of the members of an anonymous class."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        waiting += each.named_children
        if each.type == "field_identifier":
            yield each


class Expanded(NamedTuple):
    """A function's text with its macros expanded, and the origin of each piece."""

    text: bytes
    #: The beginnings of the pieces, in order; the place of each in the file; whether it is a copy of the file's text.
    starts: tuple[int, ...]
    places: tuple[Span, ...]
    copied: tuple[bool, ...]

    def origin(self, start: int, end: int) -> Span:
        """Return the origin in the file of a span of the text."""
        return self._at(start, True), self._at(end, False)

    def is_whole(self, start: int, end: int) -> bool:
        """Whether a span of the text is the file's own text, or complete expansions of macros."""
        first, last = bisect_right(self.starts, start) - 1, bisect_right(self.starts, end - 1) - 1
        following = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.text)
        begins = self.copied[first] or not self.text[self.starts[first] : start].strip()
        return begins and (self.copied[last] or not self.text[end:following].strip(b" \t\r\n;"))

    def _at(self, offset: int, begins: bool) -> int:
        i = bisect_right(self.starts, offset if begins else max(offset - 1, 0)) - 1
        first, last = self.places[i]
        if self.copied[i]:
            return min(first + offset - self.starts[i], last)
        return first if begins else last


class _Program:
    """The connected files, as input of an execution."""

    def __init__(self, kernels: DeviceFiles, source: Cpp) -> None:
        self._kernels = kernels
        self._files = kernels.files(source)
        self._source = source
        self._lowered: dict[int, DeviceIR] = {}
        self._functions: dict[int, Function] = {}
        self._of: dict[int, Function] = {}
        self._classes: dict[str, list[ClassType]] = {}
        self._methods: dict[str, list[Function]] = {}
        self._types: set[str] = set()
        self._defaults: dict[tuple[str, frozenset[str]], Callee | None] = {}
        self._aliases: dict[str, str] = {}
        #: Aliases that stand for another class elsewhere: `using Base = …` in each of some classes.
        self._several: set[str] = set()
        self._variables: dict[str, bool] = {}
        self._members: dict[str, Sequence[tuple[str, str]] | None] = {}
        self._callees: dict[tuple[str, str, int], tuple[Callee, ...]] = {}
        self._volatile: dict[str, bool] = {}
        self._outer: dict[str, bool] = {}
        self._members_of: dict[tuple[str, str], bool] = {}
        self._numbers: dict[tuple[int, str], frozenset[int]] = {}
        self._type_arguments: dict[tuple[int, str], frozenset[str]] = {}
        self._operators: dict[str, list[Function]] | None = None
        #: The functions of a name by their classes, each with its position among all of them.
        self._by_class: dict[str, dict[str, list[tuple[int, Function]]]] = {}
        for each in self._files:
            for found in each.fact(classes):
                self._classes.setdefault(found.name, []).append(found)
            for match in re.finditer(
                rb"\busing\s+(\w+)\s*=\s*(?:typename\s+)?([\w:]+)|\btypedef\s+[^;{}]*?(\w+)\s*;", each.code
            ):
                self._types.add((match[1] or match[3]).decode("latin1"))
                if match[1]:
                    alias, meant = match[1].decode("latin1"), match[2].decode("latin1").rpartition("::")[2]
                    if self._aliases.get(alias, meant) != meant:
                        self._several.add(alias)
                    self._aliases[alias] = meant

    def _class(self, name: str) -> list[ClassType]:
        return self._classes.get(name) or self._classes.get(self._aliases.get(name, ""), [])

    def fields(self, path: object, class_name: str) -> Sequence[tuple[str, str]] | None:
        if class_name not in self._members:
            self._members[class_name] = self._fields(class_name)
        return self._members[class_name]

    def _fields(self, class_name: str) -> Sequence[tuple[str, str]] | None:
        found = self._class(class_name)
        return tuple(self._with_bases(found[0], {found[0].name}).items()) if found else None

    def _with_bases(self, of: ClassType, seen: set[str]) -> dict[str, str]:
        """The members of a class; those of its bases come first."""
        fields: dict[str, str] = {}
        for base in of.bases:
            if base not in seen and self._class(base):
                seen.add(base)
                fields |= self._with_bases(self._class(base)[0], seen)
        return fields | dict(of.fields)

    def _field_names(self, class_name: str) -> frozenset[str] | None:
        fields = self.fields(None, class_name) if class_name not in self._several else None
        return None if fields is None else frozenset(name for name, _ in fields)

    def callees(self, path: object, name: str, class_name: str, count: int) -> Sequence[Callee]:
        key = name, class_name, count
        if key not in self._callees:
            self._callees[key] = tuple(self._find_callees(name, class_name, count))
        return self._callees[key]

    def _find_callees(self, name: str, class_name: str, count: int) -> Sequence[Callee]:
        found: list[Function] = []
        classes_ = {class_name, self._aliases.get(class_name, class_name)}
        waiting = [class_name]
        while waiting:
            for each in self._class(waiting.pop()):
                waiting += [base for base in each.bases if base not in classes_]
                classes_ |= {*each.bases, each.name}
        for function in self._named_in(name, classes_ if class_name != "*" else None):
            if self._may_take(function, count) and not function.kernel:
                found.append(function)
        if class_name not in ("", "*") and any(b"virtual" in function.head for function in found):
            # The object may be of a derived class.
            for function in self._named(name):
                if (
                    function not in found
                    and self._may_take(function, count)
                    and classes_ & self._bases(class_name_of(function))
                ):
                    found.append(function)
        return [self.callee(function) for function in found]

    def _named_in(self, name: str, classes_: set[str] | None) -> Sequence[Function]:
        """The functions of that name in one of some classes ("" for free ones), or in any class, in order."""
        by_class = self._by_class.get(name)
        if by_class is None:
            by_class = self._by_class[name] = {}
            for position, function in enumerate(self._named(name)):
                by_class.setdefault(class_name_of(function), []).append((position, function))
        found = (
            [by_class.get(each, ()) for each in classes_]
            if classes_ is not None
            else [every for each, every in by_class.items() if each]
        )
        return [function for _, function in sorted(chain.from_iterable(found), key=itemgetter(0))]

    def _bases(self, class_name: str) -> set[str]:
        """The bases of a class."""
        found: set[str] = set()
        waiting = [class_name]
        while waiting:
            for each in self._class(waiting.pop()):
                waiting += [base for base in each.bases if base not in found]
                found |= set(each.bases)
        return found

    def defaults(self, path: object, class_name: str, others: frozenset[str] = frozenset()) -> Callee | None:
        key = (class_name, others)
        if key not in self._defaults:
            found = self._class(class_name)
            self._defaults[key] = None
            if found:
                ir = self._lower_members(found[0], others)
                if ir is not None:
                    self._defaults[key] = Callee(ir, found[0].source.path, True)
        return self._defaults[key]

    def _lower_members(self, of: ClassType, others: frozenset[str]) -> DeviceIR | None:
        node, source = of.node, of.source
        expanded = expand(self._kernels, source, node)
        if expanded is None:
            return lower_members(node, self._context(source, node, source), of.name, others)
        # The expansion ends without the `;` after the class.
        tree = type(source)(source.path, expanded.text + b";")
        made = [each for each in tree.fact(classes) if each.name == of.name]
        if len(made) != 1 or tree.tree.root_node.has_error:
            return lower_members(node, self._context(source, node, source), of.name, others)
        context = self._context(tree, node, source)
        context.origin, context.is_whole = expanded.origin, expanded.is_whole
        return lower_members(made[0].node, context, of.name, others)

    def numbers(self, ir: DeviceIR, name: str) -> frozenset[int]:
        key = id(ir), name
        if key not in self._numbers:
            function = self._of.get(id(ir))
            self._numbers[key] = (
                frozenset() if function is None else self._kernels.template_numbers(function, name.encode("latin1"))
            )
        return self._numbers[key]

    def classes(self, ir: DeviceIR, name: str) -> frozenset[str]:
        key = id(ir), name
        if key not in self._type_arguments:
            function = self._of.get(id(ir))
            found = () if function is None else self._kernels.template_classes(function, name.encode("latin1"))
            self._type_arguments[key] = frozenset(each.decode("latin1") for each in found)
        return self._type_arguments[key]

    def number(self, path: object, name: str) -> int | None:
        return self._kernels.named_constant(self._source, name.encode("latin1"))

    def is_macro(self, path: object, name: str) -> bool:
        return name.encode("latin1") in self._kernels.macros(self._source)

    def _may_take(self, function: Function, count: int) -> bool:
        """Whether that number of arguments is enough: the others have default values, here or in a declaration."""
        if not function.takes(count):
            return False
        # `s++` passes an unwritten number to `operator++`.
        if count >= len(function.parameters) or function.packed or function.name in (b"operator++", b"operator--"):
            return True
        name = function.name
        declared = any(
            each.name == name
            for source in self._files
            if name in source.words
            for each in source.fact(declared_defaults)
        )
        return declared or count >= _required(function)

    def is_volatile(self, path: object, name: str) -> bool:
        if name not in self._volatile:
            self._volatile[name] = self._is_volatile(name)
        return self._volatile[name]

    def _is_volatile(self, name: str) -> bool:
        word = re.escape(name.encode("latin1"))
        return any(
            b"volatile" in each.words and re.search(rb"\bvolatile\b[^;(){}]*\b" + word + rb"\b", each.code)
            for each in self._files
            if name.encode("latin1") in each.words
        )

    def is_variable(self, name: str) -> bool:
        """Whether there is a variable of that name outside functions that threads may change."""
        if name not in self._variables:
            word = name.encode("latin1")
            pattern = re.compile(
                rb"\b" + _CHANGEABLE + rb"\b(?![^;(){}=]*\bconst\w*\b)[^;(){}=]*\b" + re.escape(word) + rb"\s*[\[;={,]"
            )
            self._variables[name] = any(
                word in each.words and pattern.search(each.code) is not None for each in self._files
            )
        return self._variables[name]

    def may_leave(self, name: str) -> bool:
        """Whether a name may be that of a macro which no file defines, and which may leave a function."""
        return self._kernels.may_be_macro(self._source, name.encode("latin1"))

    def _named(self, name: str) -> Sequence[Function]:
        if not name.startswith(("operator", "~")):
            return self._kernels.definitions(self._source, name.encode("latin1"))
        if self._operators is None:
            self._operators = {}
            for source in self._files:
                for function in (
                    self._kernels.functions(source) if b"operator" in source.words or b"~" in source.code else ()
                ):
                    if function.name.startswith((b"operator", b"~")):
                        text = re.sub(r"(?<=operator)\s+(?=\W)|(?<=\"\")\s+", "", function.name.decode("latin1"))
                        self._operators.setdefault(" ".join(text.split()), []).append(function)
        return self._operators.get(name, [])

    def takes_reference(self, path: object, name: str, position: int) -> bool:
        return any(
            position < len(parameters) and b"&" in parameters[position] and b"const" not in parameters[position].split()
            for parameters in self._kernels.declarations(self._source, name.encode("latin1"))
        )

    def is_declared(self, path: object, name: str) -> bool:
        return bool(self._kernels.declarations(self._source, name.encode("latin1")))

    def is_open(self, class_name: str) -> bool:
        waiting, seen = [class_name], {class_name}
        while waiting:
            found = self._class(waiting.pop())
            if not found:
                return True
            for base in found[0].bases:
                if base not in seen:
                    seen.add(base)
                    waiting.append(base)
        return False

    def is_constructed_elsewhere(self, class_name: str) -> bool:
        return any(
            re.search(rb"\b" + re.escape(each.name.encode("latin1")) + rb"\s*\([^(){};]*\)\s*(?:noexcept\s*)?;", text)
            for each in self._class(class_name)
            for text in (each.source.code[each.node.start_byte : each.node.end_byte],)
        ) and not any(class_name_of(function) == class_name for function in self._named(class_name))

    def conversions(self, class_name: str) -> Sequence[Callee]:
        self._named("operator")
        return [
            self.callee(function)
            for name, functions_ in (self._operators or {}).items()
            if re.match(r"operator [A-Za-z_]", name)
            for function in functions_
            if class_name_of(function) == class_name
        ]

    def is_member(self, class_name: str, name: str) -> bool:
        """Whether objects of a class, or of one of that name, have a member of that name."""
        return any(
            name not in each.static and any(field == name for field, _ in each.fields)
            for of in (class_name, *self._bases(class_name))
            for each in self._class(of)
        )

    def is_shadowed(self, class_name: str, member: str) -> bool:
        found = self._members_of.get((class_name, member))
        if found is None:
            names = [class_name, *self._bases(class_name)] if class_name else []
            having = [of for of in names if any(member in dict(each.fields) for each in self._class(of))]
            found = self._members_of[class_name, member] = len(having) > 1
        return found

    def is_known(self, path: object, name: str) -> bool:
        if name not in self._outer:
            word = name.encode("latin1")
            self._outer[name] = (
                LIBRARY.fullmatch(name) is not None
                or any(declares(each, word) for each in self._files)
                or word in self._kernels.given_by_builds()
            )
        return self._outer[name]

    def place_of(self, class_name: str, member: str) -> str:
        for each in self._class(class_name):
            if each.node.type == "union_specifier" or member in each.shared:
                return UNION
        return member

    def bases(self, class_name: str) -> Sequence[str]:
        return self._class(class_name)[0].bases if self._class(class_name) else ()

    def is_function(self, path: object, name: str) -> bool:
        return bool(self._kernels.definitions(self._source, name.encode("latin1")))

    def names_in(self, function: Function) -> set[bytes]:
        """Return the names of the function's variables, of variables that macros declare, and of members of classes."""
        names: set[str] = set()
        waiting = [self.ir(function)]
        while waiting:
            ir = waiting.pop()
            names |= {cell.name for cell in ir.cells}
            waiting += [made.body for made in ir.lambdas]
        for found in self._classes.values():
            names |= {name for each in found for name, _ in each.fields}
        return {name.encode("latin1") for name in names}

    def callee(self, function: Function) -> Callee:
        """Return the function as a callee."""
        ir = self.ir(function)
        return Callee(ir, function.source.path, bool(ir.class_name))

    def named(self, name: str) -> list[DeviceIR]:
        """Return all functions and methods of that name."""
        return [self.ir(function) for function in self._named(name) if not function.kernel]

    def ir(self, function: Function) -> DeviceIR:
        """Return the function in the intermediate representation."""
        if id(function) not in self._lowered:
            self._functions[id(function)] = function
            self._lowered[id(function)] = ir = self._lower(function)
            self._of[id(ir)] = function
        return self._lowered[id(function)]

    def _lower(self, function: Function) -> DeviceIR:
        class_name = class_name_of(function)
        expanded = expand(self._kernels, function.source, function.node)
        if expanded is None:
            ir = lower(function.node, self._context(function.source, function.node, function.source), class_name)
        else:
            tree = type(function.source)(function.source.path, expanded.text)
            made = functions(tree)
            context = self._context(tree, function.node, function.source)
            context.origin, context.is_whole = expanded.origin, expanded.is_whole
            if len(made) != 1 or tree.tree.root_node.has_error:
                ir = self._lower_with_macros(function, class_name)
            else:
                ir = lower(made[0].node, context, class_name)
        ir.template_names = frozenset(name.decode("latin1") for name in function.template_parameters)
        # From its name on: those before it choose specifiers.
        named = function.node.child_by_field_name("declarator") or function.node
        whole = named.start_byte, function.node.end_byte
        if ir.unread is None and function.source.reads_over_conditions(*whole):
            # The IR has each branch, one after the other, where a build has one of them.
            ir.unread = ("conditions of the preprocessor choose parts of its statements", whole)
        return ir

    def _lower_with_macros(self, function: Function, class_name: str) -> DeviceIR:
        """Lower a function without expanding its macros, because their expansion is not understood."""
        macros = self._kernels.macros(function.source)
        used = set(_WORD.findall(function.text(function.body))) & macros.keys()
        if any(_LEAVES.search(macro.text) for name in used for macro in macros[name]):
            ir = DeviceIR(function.name.decode("latin1"), class_name=class_name)
            span = (function.node.start_byte, function.node.end_byte)
            ir.unread = ("hipport does not understand its macros", span)
            return ir
        ir = lower(function.node, self._context(function.source, function.node, function.source), class_name)
        ir.has_macros = True
        return ir

    def _is_plain(self, type_name: str, types: set[str]) -> bool:
        """Whether a type is a number, or a class that is seen; not one with an unseen constructor."""
        name = class_in(type_name)
        if not name or is_wide(type_name) or self._class(name) or name in self._types or name in types:
            return True
        return (
            _PLAIN.fullmatch(name.encode("latin1")) is not None or VECTOR.fullmatch(name.encode("latin1")) is not None
        )

    def _context(self, text: Cpp, node: Node, source: Cpp) -> LoweringContext:
        types: set[str] = set()
        outer: Node | None = node
        while outer is not None:
            given = outer.child_by_field_name("parameters") if outer.type == "template_declaration" else None
            if given is not None:
                said = source.code[given.start_byte : given.end_byte]
                types |= {word.decode("latin1") for word in re.findall(rb"\b(?:typename|class)\b[\s.]*(\w+)", said)}
            outer = outer.parent
        return LoweringContext(
            text.code,
            text.text,
            has_operator=lambda sign: bool(self._named(f"operator{sign}")),
            has_defaults=lambda name: self.defaults(None, name) is not None,
            destroys=lambda: bool(self._named("~") or any(name[0] == "~" for name in self._operators or ())),
            is_plain=lambda name: self._is_plain(name, types),
            fields_of=self._field_names,
            is_class=lambda name: bool(self._class(name)),
            is_function=lambda name: bool(self._named(name)),
            may_leave=self.may_leave,
            is_member=self.is_member,
            is_base=lambda name, base: any(
                each in (name, *self._bases(name)) for each in (base, self._aliases.get(base, base))
            ),
            is_type=lambda name: name in self._types or name.endswith("_t") or name in types,
        )


def _required(function: Function) -> int:
    """The number of parameters of a function without default value in its definition."""
    found: Node | None = function.node.child_by_field_name("declarator")
    while found is not None and found.child_by_field_name("parameters") is None:
        inner = found.child_by_field_name("declarator")
        found = inner or next((each for each in found.named_children if each.type.endswith("declarator")), None)
    parameters = found.child_by_field_name("parameters") if found is not None else None
    declared = declared_parameters(parameters, function.source.code)
    return sum(1 for each in declared if each.type == "parameter_declaration")


def class_name_of(function: Function) -> str:
    """Return the class of a method; empty for other functions."""
    return function.fact(_class_name)


def _class_name(function: Function) -> str:
    if b"friend" in function.head.split():
        return ""
    # Few heads end so, and the pattern is tried from each word.
    qualified = _QUALIFIED.search(function.head) if function.head.rstrip().endswith(b"::") else None
    if qualified is not None:
        return qualified[1].decode("latin1")
    outer = next((each for each in function.outer if each.type in _CLASSES or each.type == "friend_declaration"), None)
    if outer is None or outer.type == "friend_declaration":
        return ""
    name = outer.child_by_field_name("name")
    while name is not None and name.type in ("template_type", "qualified_identifier"):
        name = name.child_by_field_name("name")
    return function.source.code[name.start_byte : name.end_byte].decode("latin1") if name is not None else ""


def expand(kernels: DeviceFiles, source: Cpp, node: Node) -> Expanded | None:
    """Return the text of a function or class with its macros expanded; None if it uses none."""
    macros = kernels.macros(source)
    start, end = node.start_byte, node.end_byte
    code = source.code
    if not macros or macros.keys().isdisjoint(source.words):
        return None
    text = bytearray()
    starts: list[int] = []
    places: list[Span] = []
    copied: list[bool] = []

    def add(piece: bytes, place: Span, copy: bool) -> None:
        if piece:
            starts.append(len(text))
            places.append(place)
            copied.append(copy)
            text.extend(piece)

    at = start
    any_ = False
    for match in _WORD.finditer(code, start, end):
        name = match.group()
        if match.start() < at or name not in macros or source.directive(match.start()) is not None:
            continue
        spans = source.given(match.end())
        takes = any(macro.parameters is not None for macro in macros[name])
        if takes and spans is None:
            continue
        given = [code[each.start : each.end] for each in spans] if takes and spans is not None else None
        found = list(dict.fromkeys(kernels.expanded(source, name, given)))
        if [each.strip() for each in found] == [name]:
            continue
        closing = match.end()
        if takes and spans is not None:
            opening = code.index(b"(", match.end())
            closing = (source.closing(opening) or closing) + 1
        any_ = True
        add(source.text[at : match.start()], (at, match.start()), True)
        add(_either(found), (match.start(), closing), False)
        at = closing
        if len(text) > _LONGEST:
            break
    if not any_:
        return None
    add(source.text[at:end], (at, end), True)
    return Expanded(bytes(text), tuple(starts), tuple(places), tuple(copied))


def _either(texts: Sequence[bytes]) -> bytes:
    """Combine all possible expansions of a macro in one text: the choice is the same for all threads."""
    if not texts:
        return b" "
    if len(texts) == 1:
        return b" " + texts[0] + b" "
    if not any(_SPECIFIER.sub(b"", text).strip() for text in texts):
        # `#define DEVICE __device__`, or nothing: all of them are true, and none is a statement.
        return b" %s " % b" ".join(dict.fromkeys(word for text in texts for word in _SPECIFIER.findall(text)))
    if not any(b";" in text or b"{" in text or not text.strip() for text in texts):
        made = b"(%s)" % texts[-1]
        for text in reversed(texts[:-1]):
            made = b"(__hipport_either ? (%s) : %s)" % (text, made)
        return made
    made = b" "
    for text in texts:
        made += b"if (__hipport_either) { %s; } " % text
    return made


class Proofs:
    """What is proven of expressions and calls in the device code of connected files."""

    def __init__(self, kernels: DeviceFiles, source: Cpp, shown: bool = False, program: _Program | None = None) -> None:
        """Take the files that `source` is connected to; `shown`: make no assumptions about blocks that are not seen.

        `program`: the program of other proofs about the same files, so that functions are lowered once.
        """
        self._kernels = kernels
        self._shown = shown
        self._program = program or _Program(kernels, source)
        self._execution = AbstractExecution(self._program)
        self._asked: set[Function] = set()
        self._started: set[Function] = set()
        #: Functions that nothing calls, for which an assumption about unseen blocks was made.
        self._assuming: set[Function] = set()

    def value(self, function: Function, node: Node) -> Value:
        """Return the worst value of the expression, in any call of the function that is seen."""
        if self._is_constant(function, function.text(node), node):
            return UNIFORM
        self._run_for(function)
        if node.type == "field_identifier":
            return UNIFORM
        if node.type == "subscript_argument_list" and len(node.named_children) == 1:
            node = node.named_children[0]
        path, values = function.source.path, self._execution.values
        inner = node
        while True:
            found = values.get((path, (inner.start_byte, inner.end_byte), ""))
            if found is not None:
                return found
            if inner.type not in ("parenthesized_expression", "condition_clause") or len(inner.named_children) != 1:
                break
            inner = inner.named_children[0]
        text = function.text(node)
        if text in (b"blockIdx", b"blockDim", b"gridDim"):
            return Value(BLOCK)
        return self.value_of_text(function, text, node)

    def value_of_text(self, function: Function, text: bytes, node: Node) -> Value:
        """Return the same for an expression given as text: an argument of a macro around `node`, or its expansion."""
        self._run_for(function)
        wanted, path = squeezed(text.decode("latin1")), function.source.path
        outer: Node | None = node
        while outer is not None and outer.id != function.body.id:
            found = self._execution.values.get((path, (outer.start_byte, outer.end_byte), wanted))
            if found is None and outer.id != node.id:
                found = self._execution.values.get((path, (outer.start_byte, outer.end_byte), ""))
                if found is not None and squeezed(function.text(outer).decode("latin1")) != wanted:
                    found = None
            if found is not None:
                return found
            outer = outer.parent
        if self._is_constant(function, text, node):
            return UNIFORM
        unread = self._program.ir(function).unread
        if unread is not None:
            name = function.name.decode("latin1")
            return Value(VARYING, why=Reason(f"{name}: {unread[0]}", *unread[1], path))
        return varying(f"hipport does not follow `{wanted[:40]}`", (node.start_byte, node.end_byte))

    @property
    def program(self) -> _Program:
        """The program, for other analyses."""
        return self._program

    def told(self, path: object, span: Span, text: str) -> Value | None:
        """Return the worst value of the expression there, if a function that contains it was run."""
        return self._execution.values.get((path, span, text))

    def run(self, function: Function) -> None:
        """Run the function, starting from the kernels."""
        self._run_for(function)

    def is_assumed(self, function: Function) -> bool:
        """Whether an assumption was made about the unseen blocks that execute the function."""
        return bool(self._assuming) and any(root in self._assuming for root in (function, *self._roots(function)))

    def _is_constant(self, function: Function, text: bytes, node: Node) -> bool:
        """Whether an expression depends only on numbers, constants and template parameters."""
        if _NO_ARITHMETIC.search(text):
            return False
        names = _WORD.findall(re.sub(rb"\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*", b"", text))
        others = [name for name in names if name not in function.template_parameters]
        if not others:
            return True
        # A constant's name may also be that of a member, or of a variable that a macro declares: or of any, where the
        # function's text is not understood.
        ir = self._program.ir(function)
        if ir.unread is not None or ir.has_macros:
            return False
        own = self._program.names_in(function)
        return all(
            name not in own and self._kernels.named_constant(function.source, name) is not None for name in others
        )

    def site(self, function: Function, node: Node) -> Site:
        """Return how threads reach the call."""
        self._run_for(function)
        found = self._execution.sites.get((function.source.path, (node.start_byte, node.end_byte)))
        return found if found is not None else Site(1, Reason("it is not followed", node.start_byte, node.end_byte))

    def _run_for(self, function: Function) -> None:
        """Run the callers of the function, starting from the kernels; the function itself, if no call of it is seen."""
        if function in self._asked:
            return
        self._asked.add(function)
        for root in self._roots(function):
            if root not in self._started:
                self._started.add(root)
                self._start(root, UNIFORM if root.kernel else varying("no call of its function is seen"))
        if id(self._program.ir(function)) not in self._execution.ran and function not in self._started:
            self._started.add(function)
            self._start(function, varying("no call of its function is seen"))

    def _roots(self, function: Function) -> list[Function]:
        """The kernels that reach the function, and functions on the way to it without a seen caller."""
        seen, waiting, found = {function}, [function], []
        while waiting:
            each = waiting.pop()
            callers = [] if each.kernel else list(dict.fromkeys(caller for caller, _ in self._kernels.called_at(each)))
            if not callers:
                found.append(each)
            for caller in callers:
                if caller not in seen:
                    seen.add(caller)
                    waiting.append(caller)
        return found

    def _start(self, function: Function, given: Value) -> None:
        callee = self._program.callee(function)

        def assume(numbering: Numbering, size: int) -> None:
            self._assuming.add(function)
            self._kernels.assumes(function, numbering, size)

        blocks = Blocks(self._kernels.blocks(function), None if self._shown else assume)
        self._execution.run(callee, blocks, [given] * callee.ir.parameters)

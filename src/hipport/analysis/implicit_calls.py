# SPDX-License-Identifier: Apache-2.0
"""Calls that are not written as calls: operators of classes, constructors, destructors, members with initializers.

    for node, of in operator_uses(function, operators): ...  # `a ^ b`, where a class has `operator^`
    for each in members(source): ...  # `Lock lock;` in a class: to make such an object makes a Lock

Types are recognized by name. If the type of an operand is unknown, it may be the operator's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import CONDITIONALS, Function, is_method, nodes, operator_of
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import VARIABLE
from hipport.syntax.declarators import types_behind

if TYPE_CHECKING:
    from tree_sitter import Node

_CONVERSION = re.compile(rb"operator\s+(?:const\s+)?[A-Za-z_][\w:<>, ]*[&*\s]*")
# Used in place of an operator's sign.
_CONVERTS = "conversion"
_OPERATOR = re.compile(rb"operator\s*([-+*/%^&|~!=<>]+|\[\]|,|\"\"\s*\w+)")
# Used in place of a sign, for functions of which a loop over a range calls both; and the operators that it uses.
_OF_RANGES = "for"
#: The functions that a loop over a range calls.
RANGE = frozenset((b"begin", b"end"))
_OF_ITERATORS = ("*", "++", "!=", "==")
_DECLARED = rb"\b([A-Za-z_]\w*)\s*(?:<[^;(){}]*>\s*)?(?:const\s*)?[*&\s]*\b%s\s*[,)=;{(\[:]"
_WORD = re.compile(rb"[A-Za-z_]\w*")
_KINDS = frozenset(
    (
        "binary_expression",
        "assignment_expression",
        "unary_expression",
        "pointer_expression",
        "update_expression",
        "subscript_expression",
        "field_expression",
        "comma_expression",
        "user_defined_literal",
        "for_range_loop",
    )
)
_NUMBERS = re.compile(
    rb"(?:unsigned|signed|int|long|short|char|bool|float|double|half|u?int\d+_t|size_t|u(?:int|char|short|long)|"
    rb"(?:u?(?:int|char|short|long|longlong)|float|double)[1-4]|__half2?|__nv_bfloat162?|dim3)"
)
_BUILT_IN = re.compile(VARIABLE + rb"|warpSize")
# Words that are not types although a name follows.
_NO_TYPES = frozenset((b"return", b"const", b"else", b"new", b"case", b"typename", b"volatile", b"__restrict__"))
_NO_MEMBERS = ("function_declarator", "pointer_declarator", "reference_declarator")
# Nodes in which the name of a variable is not read as a value.
_NO_VALUES = ("declaration", "field_expression", "function_declarator", "reference_declarator", "pointer_declarator")
# `using Name = Type;`, `typedef Type Name;`
_ALIAS = re.compile(rb"using(?<!\wusing)\s+(\w+)\s*=\s*([^;{}]+);|typedef(?<!\wtypedef)\s+([^;{}]+?[\s>*&])(\w+)\s*;")
_IS_A = re.compile(rb"(?:\s*(?:const|typename|struct|class)\b)*\s*(?:::\s*)?(?:\w+\s*::\s*)*\w+\s*(?:<[^;]*>)?\s*")
_ALIASES = frozenset((b"using", b"typedef"))
_CLASSES = frozenset(("struct_specifier", "class_specifier"))
_CLASS = re.compile(rb"\b(?:struct|class)\b")
_CODE = frozenset(("compound_statement", "preproc_arg", "argument_list", "initializer_list"))
_NEED_NOT_BE_GIVEN = "optional_parameter_declaration"
# Follows the name of a class where no object of it is created.
_NO_OBJECT = re.compile(rb"\s*(?:<[^;(){}]*>\s*)?(?:\*|&|>|,|\)|::)")


class Member(NamedTuple):
    """A part of an object of a class, not a method: a base, or a member that is not a pointer; with its place."""

    name: bytes
    start: int
    end: int


def class_of(function: Function) -> bytes:
    """Return the class of a constructor or destructor; empty for other functions."""
    name = function.name.removeprefix(b"~").strip()
    if name != function.name:
        return name
    # Each name needs a pattern of its own, which is slow to compile.
    of = rb"\b" + re.escape(name) + rb"\s*(?:<[^;(){}]*>\s*)?::\s*\Z"
    if function.head.rstrip().endswith(b"::") and re.search(of, function.head):
        return name
    return name if name in classes_around(function) else b""


def makes_object(source: Cpp, end: int) -> bool:
    """Whether the class name that ends at `end` may create an object: no pointer, and no template argument."""
    return _NO_OBJECT.match(source.code, end) is None


def members(source: Cpp) -> tuple[Member, ...]:
    """Return the members and bases of the file's classes, each under the name of its class."""
    found = []
    for node in source.fact(_with_members):
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or node.type not in _CLASSES:
            continue
        text = source.code[name.start_byte : name.end_byte]
        found += [
            Member(text, child.start_byte, child.end_byte)
            for child in node.named_children
            if child.type == "base_class_clause"
        ]
        for part in _parts(body) if body is not None else ():
            kinds = {each.type for each in part.children_by_field_name("declarator")}
            if part.type != "field_declaration" or not kinds.isdisjoint(_NO_MEMBERS):
                continue
            # Not the member's name, which may be that of a function.
            parts = (part.child_by_field_name("type"), *part.children_by_field_name("default_value"))
            found += [Member(text, each.start_byte, each.end_byte) for each in parts if each is not None]
    return tuple(found)


def _parts(body: Node) -> Iterator[Node]:
    """Yield the contents of a class, including those under preprocessor conditions."""
    for part in body.named_children:
        if part.type in CONDITIONALS or part.type == "preproc_else":
            yield from _parts(part)
        else:
            yield part


def aliases(source: Cpp) -> tuple[Member, ...]:
    """Return the classes that type aliases in the file stand for, under the names of the aliases."""
    return tuple(
        Member(match[1] or match[4], *match.span(2 if match[1] else 3))
        for match in (_ALIAS.finditer(source.code) if not source.words.isdisjoint(_ALIASES) else ())
        # A pointer creates no object, and a member of a class is another type.
        if _IS_A.fullmatch(match[2] or match[3])
    )


def defaults(source: Cpp) -> tuple[Member, ...]:
    """Return the default arguments of functions that are declared without a body, under the names of the functions.

    The default arguments of a function with a body belong to the function itself.
    """
    found = []
    for node in source.fact(_with_members):
        default = node.child_by_field_name("default_value") if node.type == _NEED_NOT_BE_GIVEN else None
        outer = node.parent.parent if node.parent is not None else None
        declared = outer.parent if outer is not None else None
        while declared is not None and declared.type.endswith("_declarator"):
            declared = declared.parent
        name = outer.child_by_field_name("declarator") if outer is not None else None
        if default is None or name is None or declared is None or declared.type == "function_definition":
            continue
        found.append(Member(source.code[name.start_byte : name.end_byte], default.start_byte, default.end_byte))
    return tuple(found)


def _with_members(source: Cpp) -> tuple[Node, ...]:
    """The file's classes, and parameters with default arguments."""
    found = []
    cursor = source.tree.root_node.walk()
    while True:
        node = cursor.node
        kind = node.type if node is not None else ""
        if node is not None and (kind in _CLASSES or kind == _NEED_NOT_BE_GIVEN):
            found.append(node)
        # Bodies of functions are most of a file, and few contain a class.
        into = kind not in _CODE or node is None or _CLASS.search(source.code, node.start_byte, node.end_byte)
        if into and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return tuple(found)


def operators(functions: Iterable[Function]) -> dict[str, list[Function]]:
    """Return the operators among the functions, except `operator()`, by their signs, and those of ranges."""
    found: dict[str, list[Function]] = {}
    for function in functions:
        match = _OPERATOR.fullmatch(function.name)
        if match is not None:
            found.setdefault("".join(match[1].decode().split()), []).append(function)
        elif function.name in RANGE:
            found.setdefault(_OF_RANGES, []).append(function)
        elif _CONVERSION.fullmatch(function.name):
            found.setdefault(_CONVERTS, []).append(function)
    return found


def operator_uses(function: Function, of: dict[str, list[Function]]) -> Iterator[tuple[Node, list[Function]]]:
    """Yield the expressions in a function that may use such operators, with the operators."""
    if _CONVERTS in of:
        yield from _conversions(function, of[_CONVERTS])
    code = function.text(function.body)
    if not any(_written(sign) in code for sign in of) and b"for" not in code:
        return
    for node in nodes(function.body, _KINDS):
        if node.type == "for_range_loop":
            yield from _of_range(node, of)
            continue
        if node.type == "user_defined_literal":
            suffix = function.text(node.named_children[-1]) if node.named_children else b""
            sign, operands = f'""{suffix.decode("latin1")}', []
            if sign in of:
                yield node, of[sign]
            continue
        if node.type == "comma_expression":
            sign = ","
            operands = [node.child_by_field_name(field) for field in ("left", "right")]
        elif node.type == "subscript_expression":
            sign = "[]"
            operands = [node.child_by_field_name("argument")]
        else:
            sign = operator_of(node, function.source.code)
            operands = [node.child_by_field_name(field) for field in ("left", "right", "argument")]
        given = [each for each in operands if each is not None]
        count = len(given) + (sign == "[]")
        among = of.get(sign, ())
        types = [_types_of(function, operand) for operand in given] if among else []
        fitting = [
            each
            for each in among
            if each is not function
            and len(each.parameters) + is_method(each) == count
            # The object of a method is the first operand.
            and _any_of(types[:1] if is_method(each) else types, _types(each))
        ]
        if fitting:
            yield node, fitting


def _written(sign: str) -> bytes:
    """What a use of an operator contains."""
    return b"[" if sign == "[]" else sign.removeprefix('""').strip().encode()


def _of_range(loop: Node, of: dict[str, list[Function]]) -> Iterator[tuple[Node, list[Function]]]:
    """Yield the functions that a loop over a range may call, of whatever class: once, and in each iteration."""
    over, element = loop.child_by_field_name("right"), loop.child_by_field_name("declarator")
    every = [each for sign in _OF_ITERATORS for each in of.get(sign, ()) if len(each.parameters) + is_method(each) < 3]
    if over is not None and of.get(_OF_RANGES):
        yield over, of[_OF_RANGES]
    if element is not None and every:
        yield element, every


def _conversions(function: Function, of: list[Function]) -> Iterator[tuple[Node, list[Function]]]:
    """Yield the places where a variable is used as a value and its class may have one of these conversions."""
    for each in of:
        classes = b"|".join(map(re.escape, classes_around(each)))
        code = function.source.code[function.node.start_byte : function.body.end_byte]
        declared = re.compile(rb"\b(?:" + classes + rb")\s*(?:<[^;(){}]*>\s*)?(?:const\s*)?&?\s*\b(\w+)\s*[,)=;{(]")
        names = frozenset(declared.findall(code)) if classes and each is not function else frozenset()
        for span, _ in function.source.names(names) if names else ():
            if function.body.start_byte <= span.start < function.body.end_byte:
                node = function.body.descendant_for_byte_range(span.start, span.end)
                outer = node.parent if node is not None else None
                if node is None or outer is None or node.type != "identifier" or outer.type in _NO_VALUES:
                    continue
                if outer.type != "init_declarator" or outer.child_by_field_name("declarator") != node:
                    yield node, [each]


def _types_of(function: Function, operand: Node) -> frozenset[bytes] | None:
    """The possible words of the name of an operand's class, None if it may be any; empty for a built-in type."""
    root = _WORD.search(function.text(operand))
    if root is None or _BUILT_IN.fullmatch(root.group()) or operand.type == "number_literal":
        return frozenset()
    if root.group() == b"this":
        return None if is_method(function) else frozenset()
    types = _declared_with(function, root.group())
    any_class = not types or b"auto" in types or not types.isdisjoint(function.template_parameters)
    return None if any_class else types


def _any_of(operands: Iterable[frozenset[bytes] | None], types: frozenset[bytes]) -> bool:
    return any(each is None or not each.isdisjoint(types) for each in operands)


def _declared_with(function: Function, name: bytes) -> frozenset[bytes]:
    """The words before a name where a function may declare it."""
    known = function.source.fact(_declarations)
    key = (function.node.start_byte, name)
    if key not in known:
        code = function.source.code[function.node.start_byte : function.body.end_byte]
        declared = re.compile(_DECLARED % re.escape(name))
        words = {match[1] for match in declared.finditer(code)}
        words |= {_WORD.findall(kind)[-1] for kind, _ in types_behind(code, name)}
        known[key] = frozenset(words - _NO_TYPES)
    return known[key]


def _declarations(source: Cpp) -> dict[tuple[int, bytes], frozenset[bytes]]:
    """Return a cache of results for functions of the file, by their beginnings."""
    return {}


def _of_operators(source: Cpp) -> dict[int, frozenset[bytes]]:
    """Return a cache of results for operators of the file, by their beginnings."""
    return {}


def _types(operator: Function) -> frozenset[bytes]:
    """The words of the operand types of an operator: the name of its class, and those of its parameters."""
    known = operator.source.fact(_of_operators)
    start = operator.node.start_byte
    if start not in known:
        found = classes_around(operator)
        found.update(_WORD.findall(operator.source.code, start, operator.body.start_byte))
        found |= operator.template_parameters
        known[start] = frozenset(word for word in found if _NUMBERS.fullmatch(word) is None)
    return known[start]


def classes_around(function: Function) -> set[bytes]:
    """Return the names of the classes in which a function is defined."""
    named = (outer.child_by_field_name("name") for outer in function.outer if outer.type in _CLASSES)
    return {function.text(name) for name in named if name is not None}

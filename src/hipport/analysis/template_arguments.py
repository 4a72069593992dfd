# SPDX-License-Identifier: Apache-2.0
"""The values of template parameters, if all uses of the templates' names are known.

values_of(component, function, b"N")  # {64, 128} for `template <int N>`, used as `f<64>` and `f<128>`; else None
classes(component, function, b"T")  # {b"Less"} for `template <class T>`, used as `f<Less<int>>`; else None
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hipport.analysis import constant_values
from hipport.analysis.functions import Function, function_at
from hipport.core.edits import Span
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp, template_arguments

if TYPE_CHECKING:
    from tree_sitter import Node

_NUMBERS = ("parameter_declaration", "optional_parameter_declaration")
_TYPES = ("type_parameter_declaration", "optional_type_parameter_declaration")
_CLASSES = ("struct_specifier", "class_specifier")
_ARGUMENTS = re.compile(rb"\s*<(?!<)")
_NONE = re.compile(rb"\s*>")
_WORD = re.compile(rb"[A-Za-z_]\w*")
# Further values are not distinguished.
_MOST = 16
# The maximum number of templates that pass a class on.
_DEEPEST = 6
_CLASS = re.compile(rb"(?:typename\s+|struct\s+|class\s+)?(?:\w+\s*::\s*)*(\w+)\s*(?:<.*>)?", re.DOTALL)


def texts(
    component: Component, function: Function, name: bytes, *, deduced: bool = False
) -> Iterator[tuple[Cpp, Span]]:
    """Yield where the arguments of a template parameter, numbers or types, appear, or else its default.

    `deduced`: also if they may be deduced; a mention without the argument then yields an empty place.
    """
    declared = _template_of(function, name, (*_NUMBERS, *_TYPES), known=deduced)
    if declared is None:
        return
    of, owner, position, default = declared
    for source, span in _uses(component, of, owner):
        arguments = _arguments(source, span)
        if arguments is not None and position < len(arguments):
            yield source, arguments[position]
        elif arguments is not None and default is not None:
            yield function.source, Span(default.start_byte, default.end_byte)
        elif deduced:
            yield source, Span(span.end, span.end)


def _uses(component: Component, of: bytes, owner: Node) -> Iterator[tuple[Cpp, Span]]:
    """Yield the places that name a template, other than its own declaration."""
    for source in component:
        if isinstance(source, Cpp) and of in source.words:
            yield from ((source, span) for span, _ in source.names({of}) if not _is_declared(source, span, owner))


def values_of(
    component: Component, function: Function, name: bytes, depth: int = 3, *, some: bool = False
) -> frozenset[int] | None:
    """Return the values of a template parameter in a function; None if one of them is not seen.

    `some`: return the seen values, whether there are others or not.
    """
    declared = _template_of(function, name)
    if declared is None or not depth:
        return None
    of, owner, position, node = declared
    default = function.text(node) if node is not None else b""
    found: set[int] = set()
    for source, span in _uses(component, of, owner):
        values = _used(component, source, span, position, default, depth)
        if values is not None:
            found |= values
        elif not some:
            return None
    return frozenset(found) if 0 < len(found) <= _MOST else None


def classes(component: Component, function: Function, name: bytes, depth: int = _DEEPEST) -> frozenset[bytes] | None:
    """Return the classes that a template parameter of a function may be, by their names; None if one is not seen."""
    declared = _template_of(function, name, _TYPES)
    if declared is None or not depth:
        return None
    of, owner, position, node = declared
    default = function.text(node) if node is not None else b""
    found: set[bytes] = set()
    for source, span in _uses(component, of, owner):
        used = _class_used(component, source, span, position, default, depth)
        if used is None:
            return None
        found |= used
    return frozenset(found) or None


def _class_used(
    component: Component, source: Cpp, span: Span, position: int, default: bytes, depth: int
) -> frozenset[bytes] | None:
    text = _argument(source, span, position, default)
    named = _CLASS.fullmatch(text.strip()) if text is not None else None
    if text is None or named is None:
        return None
    caller = function_at(source, span.start)
    if caller is not None and named[1] == text.strip() and _template_of(caller, named[1], _TYPES, known=True):
        return classes(component, caller, named[1], depth - 1)
    return frozenset((named[1],))


def _template_of(
    function: Function, name: bytes, kinds: tuple[str, ...] = _NUMBERS, *, known: bool = False
) -> tuple[bytes, Node, int, Node | None] | None:
    """Return the owner of a template parameter: its name and node, the parameter's index, and the default.

    A deduced parameter has no visible arguments, so it counts only if just its existence matters (`known`).
    """
    inner = function.node
    outer = inner.parent
    while outer is not None:
        listed = outer.child_by_field_name("parameters") if outer.type == "template_declaration" else None
        for i, each in enumerate(listed.named_children if listed is not None else ()):
            if name not in _WORD.findall(function.text(each)):
                continue
            of = function.name if inner == function.node else b""
            if inner.type in _CLASSES:
                called = inner.child_by_field_name("name")
                of = function.text(called) if called is not None else b""
            head = function.source.code[inner.start_byte : function.body.start_byte]
            if each.type not in kinds or not of:
                return None
            if inner == function.node and name in _WORD.findall(head) and not known:
                return None
            return of, inner, i, each.child_by_field_name("default_value") or each.child_by_field_name("default_type")
        inner = outer if outer.type in _CLASSES else inner
        outer = outer.parent
    return None


def _is_declared(source: Cpp, span: Span, owner: Node) -> bool:
    """Whether a name is the one in the declaration itself, or the injected name of a class."""
    node = source.tree.root_node.descendant_for_byte_range(span.start, span.end)
    outer = node.parent if node is not None else None
    if node is None or outer is None:
        return False
    if owner.type in _CLASSES:
        inside = owner.start_byte <= span.start < owner.end_byte
        return (inside and not _ARGUMENTS.match(source.code, span.end)) or outer.type in _CLASSES
    return outer.type == "function_declarator" and outer.child_by_field_name("declarator") == node


def _arguments(source: Cpp, span: Span) -> Sequence[Span] | None:
    """Return the template arguments behind a name; None if they are not understood."""
    opening = _ARGUMENTS.match(source.code, span.end)
    empty = opening is None or _NONE.match(source.code, opening.end()) is not None
    return () if opening is None or empty else template_arguments(source.code, opening.end() - 1)


def _argument(source: Cpp, span: Span, position: int, default: bytes) -> bytes | None:
    """Return the argument of a template at a mention of its name; None if it is not seen."""
    if source.directive(span.start) is not None:
        return None  # arguments of macros are not examined
    arguments = _arguments(source, span)
    if arguments is None:
        return None
    text = source.code[arguments[position].start : arguments[position].end] if position < len(arguments) else default
    return None if not text or b"..." in text else text


def _used(
    component: Component, source: Cpp, span: Span, position: int, default: bytes, depth: int
) -> frozenset[int] | None:
    text = _argument(source, span, position, default)
    if text is None:
        return None
    caller = function_at(source, span.start)
    handed = caller.template_parameters.intersection(_WORD.findall(text)) if caller is not None else frozenset[bytes]()
    if not handed:
        number = constant_values.value_in(component, text)
        return None if number is None else frozenset((number,))
    assert caller is not None
    if len(handed) != 1:
        return None
    # `f<N / 2>`, for each value of N.
    (parameter,) = handed
    values = values_of(component, caller, parameter, depth - 1) or frozenset()
    texts = [re.sub(rb"\b" + parameter + rb"\b", b"%d" % each, text) for each in values]
    numbers = [constant_values.value_in(component, each) for each in texts]
    known = frozenset(number for number in numbers if number is not None)
    return known if numbers and None not in numbers else None

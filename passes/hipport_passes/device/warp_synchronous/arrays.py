# SPDX-License-Identifier: Apache-2.0
"""The arrays of a function in which lanes exchange values: shared ones, by every name that they have there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeAlias

from hipport.analysis.functions import Function, arguments, declared_name, device_macros, function_at, is_method, nodes
from hipport.analysis.kernels import Kernels
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.warp_synchronous.accesses import ELEMENT, WORD, step_macros

if TYPE_CHECKING:
    from tree_sitter import Node

#: The shared arrays of a function by every name that they have there: one name for each, and whether it is volatile.
Arrays: TypeAlias = dict[bytes, tuple[bytes, bool]]
_SHARED = re.compile(rb"__shared__[^;=({]*?[\s*&](\w+)\s*\[")
_FILE_SHARED_BEFORE = re.compile(rb"^[ \t]*(?:extern[ \t]+)?(?:volatile[ \t]+)?\Z", re.MULTILINE)
_FROM_TEMPLATE = re.compile(rb"(?i)\w*shared_?mem(?:ory)?")
LAMBDAS = frozenset(("lambda_expression",))


def arrays_of(function: Function, kernels: Kernels, project: Project, known: dict[Function, Arrays]) -> Arrays:
    """Return the names of shared arrays in the function: which array it is, and whether it is volatile there."""
    if function in known:
        return known[function]
    known[function] = {}  # What a recursion finds here.
    source = function.source
    text = source.code[function.node.start_byte : function.body.end_byte]
    everywhere = project.union_over(source, _file_shared)
    elements = not function.kernel and has_elements(function, project)
    calls = kernels.callers(function) if elements else ()
    signs = (b"__shared__", b"volatile", *everywhere, *source.matched(_FROM_TEMPLATE))
    # Before its variables are looked for, which takes longer.
    if (
        not (elements and is_method(function))
        and not any(sign in text for sign in signs)
        and not any(arrays_of(call.function, kernels, project, known) for call in calls)
    ):
        return known[function]
    found = {variable.name: variable.name for variable in function.locals.shared}
    own = {variable.name for variable in function.locals.variables}
    found |= {name: name for name in everywhere if name not in own and name in text}
    if elements:
        for position, name in enumerate(function.parameters):
            given = [call for call in calls if len(call.arguments) > position]
            passed = (
                set(WORD.findall(call.function.text(call.arguments[position])))
                & arrays_of(call.function, kernels, project, known).keys()
                for call in given
            )
            if name and (any(passed) or (not given and _is_volatile(text, name))):
                found[name] = name
    for assignment in function.locals.assignments:
        if not assignment.declares or b"*" not in function.text(assignment.node).partition(b"=")[0]:
            continue
        for value in assignment.values:
            words = set(WORD.findall(function.text(value)))
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
    for node in nodes(function.body, LAMBDAS):
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
                if name and not arrays.isdisjoint(WORD.findall(function.text(value))):
                    yield name


def _members(function: Function, kernels: Kernels, project: Project, known: dict[Function, Arrays]) -> frozenset[bytes]:
    """Return the members that a method has elements of, if it is called for an object that shared memory was given to.

    The object may lie in shared memory itself, or have a shared array named where it is made or assigned to.
    """
    source = function.source
    code = source.code[function.body.start_byte : function.body.end_byte]
    own = {variable.name for variable in function.locals.variables}
    names = {match[1] for match in ELEMENT.finditer(code)} - own
    if not names:
        return frozenset()
    for call in kernels.callers(function):
        arrays = arrays_of(call.function, kernels, project, known)
        called = call.node.child_by_field_name("function")
        thing = called.child_by_field_name("argument") if called is not None else None
        root = WORD.match(call.function.text(thing)) if thing is not None else None
        if root is None or root.group() == b"this":
            # A method of the same object.
            if is_method(call.function) and names & arrays.keys():
                return frozenset(names & arrays.keys())
            continue
        given = [each for each in call.function.locals.assignments if each.variable.name == root.group()]
        texts = [call.function.text(each.node) for each in given]
        if root.group() in arrays or any(arrays.keys() & set(WORD.findall(text)) for text in texts):
            return frozenset(names)
    return frozenset()


def has_elements(function: Function, project: Project) -> bool:
    """Whether the function accesses elements of arrays, itself or by a macro that is a step."""
    if function.source.code.find(b"[", function.node.start_byte, function.body.end_byte) >= 0:
        return True
    return not project.component(function.source).fact(step_macros).keys().isdisjoint(function.called)


def _is_volatile(text: bytes, name: bytes) -> bool:
    return b"volatile" in text and re.search(rb"\bvolatile\b[^;,(){}=]*\b" + name + rb"\b", text) is not None


def concerned(source: Cpp, project: Project) -> bool:
    """Whether functions of the file may have shared arrays: what to ask before it is parsed.

    It names one, or a function of it that is no kernel has a subscript and may be given one.
    """
    words = source.words
    if b"__shared__" in words or b"volatile" in words or source.matched(_FROM_TEMPLATE):
        return True
    if not words.isdisjoint(project.union_over(source, _file_shared)):
        return True
    code = source.code
    for span, _ in source.names(project.union_over(source, device_macros) | {b"__device__"}):
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


def has_shared(source: Cpp) -> frozenset[bytes]:
    return frozenset((b"__shared__",)) if b"__shared__" in source.code else frozenset()


def _file_shared(source: Cpp) -> frozenset[bytes]:
    """The shared arrays that are declared outside of functions."""
    return frozenset(
        match[1]
        for match in _SHARED.finditer(source.code)
        if _FILE_SHARED_BEFORE.search(source.code, max(0, match.start() - 80), match.start())
        and function_at(source, match.start(1)) is None
    )

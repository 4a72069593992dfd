# SPDX-License-Identifier: Apache-2.0
"""The arrays of a function in which lanes exchange values: shared arrays, by all their names in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hipport.analysis.functions import Function, arguments, declared_name, device_macros, function_at, is_method, nodes
from hipport.analysis.kernels import Kernels
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.warp_synchronous.accesses import ELEMENT, WORD, step_macros

if TYPE_CHECKING:
    from tree_sitter import Node

#: A function's names of shared arrays: the array that each name means, and whether it is volatile there.
Arrays: TypeAlias = dict[bytes, tuple[bytes, bool]]
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_SHARED = _WORDS.compile(rb"(?&shared)[^;=({]*?[\s*&](\w+)\s*\[")
_FILE_SHARED_BEFORE = re.compile(rb"^[ \t]*(?:extern[ \t]+)?(?:volatile[ \t]+)?\Z", re.MULTILINE)
_FROM_TEMPLATE = _WORDS.compile(rb"(?i)\w*(?&shared_templates)")
LAMBDAS = frozenset(("lambda_expression",))


def arrays_of(function: Function, kernels: Kernels, project: Project, known: dict[Function, Arrays]) -> Arrays:
    """Return the names of shared arrays in the function: which array each is, and whether it is volatile there."""
    if function in known:
        return known[function]
    known[function] = {}  # The answer for a recursive call.
    source = function.source
    text = source.code[function.node.start_byte : function.body.end_byte]
    everywhere = project.union_over(source, _file_shared)
    elements = not function.kernel and has_elements(function, project)
    calls = kernels.callers(function) if elements else ()
    signs = (b"__shared__", b"volatile", *everywhere, *source.matched(_FROM_TEMPLATE))
    # A quick test before the search for its variables, which takes longer.
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
            # `volatile int *v = s;`, `&s[n]`: another name for s. An element without `&` is a value.
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
    """Yield the parameters of the function's lambdas that receive one of the arrays.

    They receive it in a call of the lambda, or beside it, from a function that the lambda is passed to.
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
            # The parameters may receive any argument beside the lambda.
            calls += [(each,) * len(names) for each in outer.named_children if each != node]
        variable = outer.child_by_field_name("declarator") if outer.type == "init_declarator" else None
        called = function.text(variable) if variable is not None else b""
        calls += [call.arguments for call in (function.calls({called}) if called else ())]
        for call in calls:
            for name, value in zip(names, call, strict=False):
                if name and not arrays.isdisjoint(WORD.findall(function.text(value))):
                    yield name


def _members(function: Function, kernels: Kernels, project: Project, known: dict[Function, Arrays]) -> frozenset[bytes]:
    """Return the members of which a method has elements, if its object received shared memory.

    The object may lie in shared memory itself, or be initialized or assigned with a shared array.
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
    """Return whether the function accesses elements of arrays, directly or by a macro that is a step."""
    if function.source.code.find(b"[", function.node.start_byte, function.body.end_byte) >= 0:
        return True
    return not project.component(function.source).fact(step_macros).keys().isdisjoint(function.called)


def _is_volatile(text: bytes, name: bytes) -> bool:
    return b"volatile" in text and re.search(rb"\bvolatile\b[^;,(){}=]*\b" + name + rb"\b", text) is not None


def concerned(source: Cpp, project: Project) -> bool:
    """Return whether functions of the file may have shared arrays; a quick test before it is parsed.

    The file names a shared array, or one of its functions that is not a kernel has a subscript and may receive one.
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
            # Braces of an initializer precede those of the body.
            if code[end:].lstrip()[:1] not in (b",", b"{"):
                break
            end = code.find(b"{", end)
        if b"[" in code[span.end : end if end >= 0 else len(code)]:
            return True
    return False


def has_shared(source: Cpp) -> frozenset[bytes]:
    return frozenset((b"__shared__",)) if b"__shared__" in source.code else frozenset()


def _file_shared(source: Cpp) -> frozenset[bytes]:
    """Return the shared arrays that are declared outside of functions."""
    return frozenset(
        match[1]
        for match in _SHARED.finditer(source.code)
        if _FILE_SHARED_BEFORE.search(source.code, max(0, match.start() - 80), match.start())
        and function_at(source, match.start(1)) is None
    )

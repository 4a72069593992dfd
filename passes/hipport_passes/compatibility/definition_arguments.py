# SPDX-License-Identifier: Apache-2.0
"""Drop template arguments after the name of a function template in its definition, which clang rejects.

nvcc takes `template <typename T> void f<T>(T a) {}`, and the same form of a member outside of its class, for the
template itself. For clang it is a partial specialization, which functions cannot have (tried with nvcc 13.0 and hipcc
7.0). The arguments are dropped where they are the template's own parameters, in order, and so redundant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.analysis.functions import nodes
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

_MAY_BE = re.compile(rb"\b\w+\s*<[\w\s,.]+>\s*\(")
_TEMPLATES = frozenset(("template_declaration",))
_DEFINED = frozenset(("function_definition", "declaration"))
_WRAPPED = frozenset(("pointer_declarator", "reference_declarator", "function_declarator"))
# The name of a parameter, before its default.
_NAME = re.compile(rb"(?P<pack>\.\.\.)?\s*(?P<name>[A-Za-z_]\w*)\s*\Z")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per function template that is declared with arguments after its name."""
    code = source.code
    if b"template" not in source.words or _MAY_BE.search(code) is None:
        return
    for template in nodes(source.tree.root_node, _TEMPLATES):
        declared = template.named_children[-1]
        parameters = template.child_by_field_name("parameters")
        if declared.type not in _DEFINED or parameters is None or source.ported(template.start_byte):
            continue
        node = declared.child_by_field_name("declarator")
        while node is not None and node.type in _WRAPPED:
            called = node.type == "function_declarator"
            # A reference has no field for its target.
            node = node.child_by_field_name("declarator") or (node.named_children[-1] if not called else None)
        scope = b""
        while node is not None and node.type == "qualified_identifier":
            outer = node.child_by_field_name("scope")
            named = outer.child_by_field_name("name") if outer is not None else None
            around = named or outer
            scope = code[around.start_byte : around.end_byte] if around is not None else b""
            node = node.child_by_field_name("name")
        if node is None or node.type != "template_function":
            continue
        name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        # The constructor of a class may be written with the class's arguments.
        if name is None or arguments is None or code[name.start_byte : name.end_byte] == scope:
            continue
        written = [b"".join(code[each.start_byte : each.end_byte].split()) for each in arguments.named_children]
        if written and written == [
            _argument(code[each.start_byte : each.end_byte]) for each in parameters.named_children
        ]:
            span = Span(arguments.start_byte, arguments.end_byte)
            text = code[name.start_byte : arguments.end_byte].decode(errors="replace")
            message = f"{text} → {code[name.start_byte : name.end_byte].decode(errors='replace')}, the template itself"
            yield Finding(span, "own_parameters", message, (Edit(span, b""),))


def _argument(parameter: bytes) -> bytes:
    """Return a template's parameter in the form of an argument; empty if it has no name."""
    match = _NAME.search(parameter.partition(b"=")[0])
    return match["name"] + (match["pack"] or b"") if match is not None else b""


PASS = Pass(Cpp, find)

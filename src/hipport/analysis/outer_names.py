# SPDX-License-Identifier: Apache-2.0
"""Find names outside functions whose values certainly do not differ between threads.

    declares(source, b"kLanes")   # `constexpr int kLanes = 32;`, an enumerator, a template's parameter, `__constant__`

A name that is declared in no file may be a macro of a header that is not seen: its expansion is unknown.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.core.tables import load, one_of
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_TABLES = load(Path(__file__).with_name("outer_names.toml"))
_NAMES, _OF_BUILDS = dict(_TABLES["names"]), _TABLES["builds"]
_INTERFACES, _CONSTANTS = one_of(_NAMES.pop("interfaces")), "|".join(map(one_of, _NAMES.values()))
_KEYWORDS, _COMMANDS, _OWN = (one_of(_OF_BUILDS[each]) for each in ("keywords", "commands", "own"))
#: Constants and macros of the language's libraries and of CUDA's and HIP's.
LIBRARY = re.compile(rf"{_INTERFACES}[A-Z]\w*|{_CONSTANTS}")
#: How build scripts define macros: `-DN=4`, `target_compile_definitions(name PRIVATE N=4)`, define_macros=[("N", "4")].
_BUILDS = re.compile(rb"-D[ \t]*[\"']?([A-Za-z_]\w*)(?:=[\"']?([^\s\"',;)]*))?")
_MACROS = re.compile(rf"\b{_KEYWORDS}\b[^\[\n]*\[([^\[\]]*)\]".encode())
_PAIR = re.compile(rb"\(\s*[\"']([A-Za-z_]\w*)[\"']\s*,\s*([^()]*)\)")
_DEFINITIONS = re.compile(rf"\b{_COMMANDS}[ \t]*\(([^()]*)\)".encode())
_DEFINED = re.compile(rb"\b([A-Za-z_]\w*)(?:=[\"']?([^\s\"');]*))?")
#: A macro without parameters, and its expansion.
_MACRO = re.compile(rb"#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\r\n]*)")
_NUMBER = re.compile(rb"\(?-?(?:0[xX][0-9a-fA-F]+|\d+)[uU]?[lL]{0,2}\)?\s*")
#: An expansion whose value may differ between threads.
_THREADS_OWN = re.compile(rf"{_OWN}|\(".encode())
#: A macro that a condition tests is defined by the build.
_ASKED = rb"#[ \t]*(?:ifdef|ifndef)[ \t]+%b\b|\bdefined\b[ \t(]*%b\b"
_DECLARATIONS = frozenset(("declaration", "field_declaration"))
_FUNCTIONS = frozenset(("function_definition", "lambda_expression"))
_PARAMETERS = frozenset(("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"))
_STATIC = re.compile(rb"\bconstexpr\b|\bstatic\b(?=[^=;]*\bconst\b)|\bconst\b(?=[^=;]*\bstatic\b)")


def declares(source: Cpp, name: bytes) -> bool:
    """Whether the file declares the name outside of functions, or as a constant anywhere."""
    if name not in source.words:
        return False
    if re.search(_ASKED.replace(b"%b", re.escape(name)), source.code):
        return True
    root = source.tree.root_node
    for match in re.finditer(rb"\b" + re.escape(name) + rb"\b", source.code):
        node = root.descendant_for_byte_range(match.start(), match.end())
        if node is not None and _is_declared(node, source.code):
            return True
    return False


def _is_declared(node: Node, code: bytes) -> bool:
    """Whether the name is declared at this place."""
    inner, outer = node, node.parent
    if outer is not None and outer.type == "enumerator":
        return outer.child_by_field_name("name") == node
    while outer is not None and outer.type.endswith("declarator"):
        if inner not in (outer.child_by_field_name("declarator"), outer.named_children[0]) and (
            outer.type in ("array_declarator", "init_declarator", "function_declarator")
        ):
            return False
        inner, outer = outer, outer.parent
    if outer is None:
        return False
    if outer.type in _PARAMETERS:
        return outer.parent is not None and outer.parent.type == "template_parameter_list"
    if outer.type not in _DECLARATIONS or inner not in outer.children_by_field_name("declarator"):
        return False
    around = outer.parent
    while around is not None and around.type not in _FUNCTIONS:
        around = around.parent
    return around is None or _STATIC.search(code, outer.start_byte, inner.start_byte) is not None


def given_by_builds(project: Project) -> frozenset[bytes]:
    """Return the macros that build scripts define as the same for all threads, or that a file defines as a number."""
    found: set[bytes] = set()
    others: set[bytes] = set()
    for source in project.sources:
        if isinstance(source, Cpp):
            for name, value in _MACRO.findall(source.code) if b"define" in source.words else ():
                (found if _NUMBER.fullmatch(value) else others).add(name)
            continue
        text = source.text
        for match in _BUILDS.finditer(text):
            if not _THREADS_OWN.search(match[2] or b""):
                found.add(match[1])
        for listed in _MACROS.finditer(text):
            found.update(name for name, value in _PAIR.findall(listed[1]) if not _THREADS_OWN.search(value))
        for listed in _DEFINITIONS.finditer(text):
            found.update(name for name, value in _DEFINED.findall(listed[1]) if not _THREADS_OWN.search(value))
    return frozenset(found - others)

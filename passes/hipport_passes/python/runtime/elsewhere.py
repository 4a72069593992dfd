# SPDX-License-Identifier: Apache-2.0
"""Constants of other modules of a tree and of their classes, found by the last part of a name's path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import TypeVar

import libcst as cst

from hipport.program.project import Project
from hipport.syntax.python_script import Python
from hipport_passes.python.runtime.arithmetic import folded
from hipport_passes.python.runtime.python_program import PythonProgram

#: Values by their module, or class, and their name.
Known = Mapping[tuple[str, str], object]
_Value = TypeVar("_Value")
_CLASS = re.compile(rb"class[ \t]+(\w+)")
_CONSTANT = re.compile(
    rb"(?P<name>[A-Za-z_]\w*)[ \t]*(?::[^=]*)?=[ \t]*(?:(?P<number>\d{1,4}(?:\.\d)?)"
    rb"|(?P<sum>[1-9]\d{0,3}(?:[ \t]*(?:[-+*%]|//|<<|>>)[ \t]*[1-9]\d{0,3}){1,4})"
    rb"|(?P<quote>[\"'])(?P<text>[\w.]{1,16})(?P=quote)"
    rb"|\(?[ \t]*(?P<major>\d{1,3})[ \t]*,[ \t]*(?P<minor>\d{1,3})[ \t]*\)?)[ \t]*(?:#.*)?"
)


def module(path: PurePath) -> str:
    """Return the last part of a module's import path."""
    return path.parent.name if path.stem == "__init__" else path.stem


def constants(project: Project) -> dict[tuple[str, str], object]:
    """Return the constants of modules and classes, if all of one name are equal. A fact of the tree."""
    found: dict[tuple[str, str], set[object]] = {}
    for source in project.sources:
        if not isinstance(source, Python) or source.path.suffix != ".py":
            continue
        owner, indent = "", -1
        for line in source.text.splitlines():
            said = line.lstrip()
            if not said or said[:1] == b"#":
                continue
            depth = len(line) - len(said)
            if not depth:
                opened = _CLASS.match(said)
                owner, indent = (opened[1].decode(errors="replace"), -1) if opened else ("", 0)
            elif indent < 0:
                indent = depth
            if b"=" in said and depth == indent and (match := _CONSTANT.fullmatch(said)):
                place = (owner or module(source.path), match["name"].decode(errors="replace"))
                found.setdefault(place, set()).add(_value(match))
    return {place: values.pop() for place, values in found.items() if len(values) == 1}


def _value(match: re.Match[bytes]) -> object:
    if match["major"]:
        return int(match["major"]), int(match["minor"])
    if match["number"]:
        return float(match["number"]) if b"." in match["number"] else int(match["number"])
    if match["sum"]:
        return folded(cst.parse_expression(match["sum"].decode()))
    return match["text"].decode()


def read(program: PythonProgram, node: cst.CSTNode, known: Mapping[tuple[str, str], _Value]) -> _Value | None:
    """Return the value in `known` of an imported name, or of a member of one."""
    match node:
        case cst.Name(name) if (statement := program.imported(node)) is not None:
            of = program.code(statement.module) if statement.module is not None else ""
            return known.get((of.rpartition(".")[2], called(program, statement, name)))
        case cst.Attribute(value=cst.Attribute() as member, attr=cst.Name("value")):
            return read(program, member, known)
        case cst.Attribute(value=cst.Name() | cst.Attribute() as owner, attr=cst.Name(name)) if is_imported(
            program, owner
        ):
            return known.get((owner_of(program, owner), name))
    return None


def is_imported(program: PythonProgram, name: cst.Name | cst.Attribute) -> bool:
    """Return whether a name, or its first part, is imported."""
    first: cst.BaseExpression = name
    while isinstance(first, cst.Attribute):
        first = first.value
    bound = program.bound(first) if isinstance(first, cst.Name) else []
    return bool(bound) and all(isinstance(each.node, cst.Import | cst.ImportFrom) for each in bound)


def owner_of(program: PythonProgram, name: cst.Name | cst.Attribute) -> str:
    """Return the last part of the original name of a module or a class: of `import lib.consts as c`."""
    of = program.code(name)
    if isinstance(name, cst.Name) and (statement := program.imported(name)) is not None:
        of = called(program, statement, of)
    elif isinstance(name, cst.Name):
        for bound in program.bound(name):
            for each in bound.node.names if isinstance(bound.node, cst.Import) else ():
                if each.asname is not None and program.code(each.asname.name) == name.value:
                    of = program.code(each.name)
    return of.rpartition(".")[2]


def called(program: PythonProgram, statement: cst.ImportFrom, name: str) -> str:
    """Return the name that an import renames: `from consts import MIN as LEAST`."""
    for each in statement.names if not isinstance(statement.names, cst.ImportStar) else ():
        if each.asname is not None and program.code(each.asname.name) == name:
            return program.code(each.name)
    return name

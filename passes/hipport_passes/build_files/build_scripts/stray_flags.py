# SPDX-License-Identifier: Apache-2.0
"""Strings of a Python build script that only nvcc can understand, where their receiver is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from hipport.program.script_names import called
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport_passes.build_files.build_scripts.flag_sinks import Sink
from hipport_passes.build_files.build_scripts.script import NVCC, THROUGH, Script
from hipport_passes.build_files.nvcc_flags import telling

# The words of a string that has only flags.
_FLAG_OR_VALUE = re.compile(r"-\S+|[\w.,+]+=\S+|\d+")
_ABI = NAMES.compile(r"-D(?&abi)=(?:[01]|" + HOLE + ")")
#: Names that ask the installed PyTorch for its ABI: an attribute, a function, typical variables of scripts.
OF_TORCH = NAMES.compile(r"(?i:\w*(?&torch)\w*abi\w*)|(?&abi)|compiled_with_cxx11_abi")


def stray(script: Script, node: cst.SimpleString | cst.FormattedString) -> Iterator[Sink]:
    """Yield the strings that nvcc may get, with the use `maybe`; a larger expression if strings are added to it."""
    words = script.text(node).split()
    if not any(map(_tells, words)) or not all(map(_FLAG_OR_VALUE.fullmatch, words)):
        return
    if any(HOLE in word and _ABI.fullmatch(word) for word in words) and script.mentions(node, OF_TORCH):
        return
    whole, above = _whole(script, node)
    split = len(words) > 1
    match above:
        case cst.Element():
            yield from _stray_in(script, above, whole, split)
        case cst.DictElement(value=value) if value is whole:
            # If one of a table's strings has several words, all are split where they are used.
            table = script.parent[above]
            beside = table.elements if isinstance(table, cst.Dict) else ()
            yield Sink(whole, "maybe", any(len(script.text(each.value).split()) > 1 for each in beside))
        case cst.Assign(targets=[cst.AssignTarget(cst.Subscript() as target)]):
            if not script.code(target.value).endswith("environ"):
                yield Sink(whole, "maybe")
        case cst.Assign() | cst.AnnAssign() | cst.AugAssign() | cst.Return() | cst.Param():
            yield Sink(whole, "maybe", split)
        case cst.Arg():
            call = script.parent[above]
            if not isinstance(call, cst.Call):
                return
            if called(call) in ("append", "insert") and isinstance(call.func, cst.Attribute):
                yield Sink(call, "maybe", appended=True)
            elif called(call) == "dict":
                yield Sink(whole, "maybe", any(len(script.text(each.value).split()) > 1 for each in call.args))
            elif called(call) in ("extend", *THROUGH) or script.is_of_tree(call):
                yield Sink(whole, "maybe", split)


def _whole(script: Script, node: cst.BaseExpression) -> tuple[cst.BaseExpression, cst.CSTNode]:
    """Return the expression that contains a string, and its parent: all of `"-G " + more`, of `"-O3 -G".split()`."""
    whole, above = node, script.parent[node]
    while True:
        if isinstance(above, (cst.BinaryOperation, cst.ConcatenatedString)) or (
            isinstance(above, cst.IfExp) and above.test is not whole
        ):
            whole, above = above, script.parent[above]
        elif (
            isinstance(above, cst.Attribute)
            and above.attr.value in ("split", "strip", "format")
            and isinstance(call := script.parent[above], cst.Call)
            and call.func is above
        ):
            whole, above = call, script.parent[call]
        else:
            return whole, above


def _stray_in(script: Script, element: cst.Element, whole: cst.BaseExpression, split: bool) -> Iterator[Sink]:
    """Yield the sink of a string in a list, or in a row of a table."""
    holder = script.parent[element]
    if not isinstance(holder, (cst.List, cst.Tuple, cst.Set)):
        return
    rows: list[cst.CSTNode] = [element]
    while isinstance(script.parent.get(holder), cst.Element):
        rows.append(script.parent[holder])
        holder = script.parent[rows[-1]]
    # `for flag in ["-lineinfo"]: …` and `"-lineinfo" in […]` only read the strings.
    statement = script.parent.get(holder)
    if isinstance(statement, (cst.CompFor, cst.ComparisonTarget)):
        return
    if isinstance(statement, cst.For) and not _passed_on(script, statement, rows):
        return
    own = script.parent[element]
    assert isinstance(own, (cst.List, cst.Tuple, cst.Set))
    # A command, whose words are handled together.
    command = any(NVCC.fullmatch(script.text(each.value)) for each in own.elements)
    if (not command and _is_row(script, own)) or not all(map(script.only_adds, _loops_over(script, own))):
        # The number of values must stay: a name, and the values that belong to it.
        yield Sink(whole, "maybe", split)
    else:
        yield Sink(own, "maybe")


def _loops_over(script: Script, holder: cst.CSTNode) -> Iterator[cst.For]:
    """Yield the loops over a literal, or over a variable that is set to it."""
    above = script.parent[holder]
    if isinstance(above, cst.For):
        yield above
    elif isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name):
        for use in script.named(above.targets[0].target.value):
            if isinstance(loop := script.parent[use], cst.For) and loop.iter is use:
                yield loop


def _is_row(script: Script, holder: cst.List | cst.Tuple | cst.Set) -> bool:
    """Return whether the elements are a row of different things, not flags that a compiler gets in order."""
    inside = isinstance(script.parent.get(holder), (cst.Element, cst.DictElement))
    for element in holder.elements:
        if isinstance(element, cst.StarredElement):
            continue
        words = script.text(element.value).split()
        if not words or HOLE in words:
            if not isinstance(element.value, (cst.Name, cst.IfExp, cst.Call)) or (
                inside and isinstance(holder, cst.Tuple)
            ):
                return True
        elif not all(_FLAG_OR_VALUE.fullmatch(word) or word.startswith("/") for word in words):
            return True
    return False


def _passed_on(script: Script, loop: cst.For, rows: Sequence[cst.CSTNode]) -> bool:
    """Return whether a loop adds its values to lists or passes them on, and compares them with nothing.

    `rows` are the elements that lead to the value, innermost first.
    """
    target: cst.BaseExpression = loop.target
    for row in reversed(rows[:-1]):
        holder = script.parent[row]
        if not isinstance(target, cst.Tuple) or not isinstance(holder, (cst.List, cst.Tuple)):
            break
        place = [each is row for each in holder.elements].index(True)
        if place >= len(target.elements):
            return False
        target = target.elements[place].value
    if not isinstance(target, cst.Name):
        return False
    above = [script.parent[use] for use in script.in_body(loop, target.value)]
    if any(isinstance(each, (cst.Comparison, cst.ComparisonTarget)) for each in above):
        return False
    calls = [script.parent[each] for each in above if isinstance(each, cst.Arg)]
    held = (cst.Element, cst.StarredElement, cst.DictElement, cst.BinaryOperation, cst.AugAssign)
    return any(isinstance(each, held) for each in above) or any(
        isinstance(call, cst.Call) and (called(call) in ("append", "extend", "insert") or script.is_of_tree(call))
        for call in calls
    )


def _tells(word: str) -> bool:
    """Return whether a flag is nvcc's, or sets the ABI that PyTorch is built with."""
    return bool(telling().fullmatch(word) or _ABI.fullmatch(word))

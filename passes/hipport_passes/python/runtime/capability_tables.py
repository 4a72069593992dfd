# SPDX-License-Identifier: Apache-2.0
"""Tables of a program in which a value is looked up by a compute capability."""

from __future__ import annotations

import libcst as cst

from hipport_passes.python.runtime import elsewhere
from hipport_passes.python.runtime.capability_reader import Reader
from hipport_passes.python.runtime.capability_values import AMD, value_of

_MISSING = "which is missing here"
#: The message if some AMD GPU finds an entry for one of NVIDIA's.
BY_ACCIDENT = "which some AMD GPU has by accident"
_NO_VALUE = "for which this returns the default {}"
_NOT_SEEN = "which a table of another module may lack"


def looked_up(reader: Reader, node: cst.Subscript | cst.Call) -> str:
    """Return the problem with a value that is looked up by a capability; empty if there is none."""
    default = None
    match node:
        case cst.Subscript(value=table, slice=[cst.SubscriptElement(cst.Index(key))]):
            pass
        case cst.Call(func=cst.Attribute(value=table, attr=cst.Name("get")), args=[cst.Arg(key), *more]):
            default = more[0].value if more else None
        case _:
            return ""
    kind = reader.kind_of_value(key)
    if kind is None or _is_asked_before(reader, node, key) or _is_set(reader, node):
        return ""
    if isinstance(table, cst.Name | cst.Attribute):
        values = reader.origins.of(table)
        if not values and elsewhere.is_imported(reader.program, table):
            return _NOT_SEEN if default is None else ""
        table = values[0][0] if len(values) == 1 and values[0][1] is None else table
    keys = _table_keys(reader, table)
    there = [value_of(kind, each) in keys for each in AMD]
    if not keys or None in keys or all(there):
        return ""
    if any(there) and (default is not None or reader.program.copes(node, "KeyError|IndexError|LookupError")):
        return BY_ACCIDENT
    if default is None:
        return _MISSING
    # A default other than 0 is the author's choice for unknown GPUs.
    return _NO_VALUE.format(reader.program.code(default)) if reader.constant_at(default) == 0 else ""


def _is_asked_before(reader: Reader, node: cst.CSTNode, key: cst.BaseExpression) -> bool:
    """Return whether a condition around the look-up tests for the key, so that it exists."""
    code = reader.program.code(key)
    return any(code in reader.program.code(test) for test, _ in reader.program.conditions(node))


def _is_set(reader: Reader, node: cst.CSTNode) -> bool:
    """Return whether it is `TABLE[capability] = value`."""
    return isinstance(reader.program.parent[node], cst.AssignTarget | cst.AugAssign | cst.Del)


def _table_keys(reader: Reader, table: cst.BaseExpression) -> set[object]:
    """Return the keys of a literal table, or the indices of a list; empty if they are unknown."""
    match table:
        case cst.Dict(elements=elements):
            found: set[object] = set()
            for each in elements:
                if isinstance(each, cst.DictElement):
                    found.add(reader.constant_at(each.key))
                else:
                    of = reader.origins.of(each.value)
                    inner = _table_keys(reader, of[0][0]) if len(of) == 1 and isinstance(of[0][0], cst.Dict) else set()
                    found |= inner or {None}
            return found
        case cst.Call(func=cst.Name("dict"), args=[cst.Arg(value=values, keyword=None, star="")]):
            if isinstance(values, cst.Dict):
                return _table_keys(reader, values)
            rows = values.elements if isinstance(values, cst.List | cst.Tuple) else ()
            return {
                reader.constant_at(each.value.elements[0].value)
                if isinstance(each.value, cst.Tuple | cst.List) and len(each.value.elements) == 2
                else None
                for each in rows
            }
        case cst.List(elements=elements) | cst.Tuple(elements=elements) if all(
            isinstance(each, cst.Element) for each in elements
        ):
            return set(range(len(elements)))
    return set()

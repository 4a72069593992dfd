# SPDX-License-Identifier: Apache-2.0
"""Numbers that are chosen by a compute capability: sizes of tiles and of shared memory, counts of stages and warps.

A test for a feature of GPUs up to Ampere is right on AMD's. A number is specific to NVIDIA: an A100 has 164 KB of
shared memory, while an AMD GPU with 64 KB of LDS has less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from hipport.core.finding import Finding
from hipport_passes.python.runtime.capability_reader import Reader
from hipport_passes.python.runtime.capability_values import AMD, GENERATIONS
from hipport_passes.python.runtime.python_program import PythonProgram, finding

Chosen = tuple[cst.BaseExpression, cst.BaseExpression]


def choices(program: PythonProgram, reader: Reader, decided: Mapping[cst.CSTNode, bool]) -> Iterator[Finding]:
    """Yield the choices of numbers in which AMD's GPUs count as newer ones of NVIDIA's by accident.

    Conditions in `decided` no longer do so, or have a finding already.
    """
    for node in program.nodes:
        test, choices = _choice(program, node)
        if test is None and isinstance(node, cst.BinaryOperation | cst.Subscript):
            yield from _reckoned(program, reader, node, decided)
        if test is None or not program.runs(test).both:
            continue
        asked = _asked(program, reader, test, decided)
        if asked is None or program.truth(test, True) is not None:
            continue
        for numbers in choices:
            first, second = (_number(reader, each) for each in numbers)
            # 1 and 0 are truth values, not sizes.
            if first is None or second is None or first == second or {first, second} <= {0, 1}:
                continue
            capability, older = asked
            taken = program.code(numbers[1] if older else numbers[0])
            yield _said(program, test, taken, capability)
            break


def _said(program: PythonProgram, place: cst.CSTNode, taken: object, capability: str) -> Finding:
    message = (
        "a number is chosen by a capability: on ROCm that is a gfx number such as (9, 4) or (11, 0), so AMD "
        f"GPUs take {taken}, which is for NVIDIA GPUs since {capability}: check that it fits AMD's (most have "
        "64 KB of LDS for a block), or ask for torch.version.hip before it"
    )
    return finding(program, place, "chosen", message)


def _reckoned(
    program: PythonProgram,
    reader: Reader,
    node: cst.BinaryOperation | cst.Subscript,
    decided: Mapping[cst.CSTNode, bool],
) -> Iterator[Finding]:
    """Yield numbers computed from the result of a condition: `64 << (major >= 8)`, `[1, 2, 4][a + b]`."""
    above = program.parent[node]
    while isinstance(above, cst.SubscriptElement | cst.Index):
        above = program.parent[above]
    asked = _asked(program, reader, node, decided)
    if asked is None or isinstance(above, cst.BinaryOperation | cst.Subscript) or not program.runs(node).both:
        return
    found = reader.results(node)
    values = found.values() if found is not None else ()
    if not all(isinstance(each, int | float) for each in values) or set(values) <= {0, 1} or found is None:
        return
    of_amd = dict.fromkeys(found[each] for each in AMD)
    if found[GENERATIONS[0]] not in of_amd:
        yield _said(program, node, " or ".join(map(str, of_amd)), asked[0])


def _choice(program: PythonProgram, node: cst.CSTNode) -> tuple[cst.BaseExpression | None, list[Chosen]]:
    """Return a condition, and the values that it chooses from: if it holds, and if not."""
    match node:
        case cst.IfExp(test=test, body=body, orelse=orelse):
            return test, [*_pairs(program, body, orelse)]
        case cst.If(test=test):
            return test, list(_statements(program, node))
        # `test and 164 or 48`
        case cst.BooleanOperation(
            operator=cst.Or(), left=cst.BooleanOperation(operator=cst.And(), left=test, right=body), right=orelse
        ):
            return test, [(body, orelse)]
        # `(48, 164)[test]`
        case cst.Subscript(
            value=cst.Tuple(elements=[no, yes]) | cst.List(elements=[no, yes]),
            slice=[cst.SubscriptElement(cst.Index(cst.Comparison() | cst.Call(func=cst.Name("int" | "bool")) as test))],
        ):
            return test, [*_pairs(program, yes.value, no.value)]
        # `{True: 164, False: 48}[test]`
        case cst.Subscript(
            value=cst.Dict(elements=[cst.DictElement(cst.Name(first), one), cst.DictElement(cst.Name(second), other)]),
            slice=[cst.SubscriptElement(cst.Index(test))],
        ) if {first, second} == {"True", "False"}:
            return test, [*_pairs(program, *((one, other) if first == "True" else (other, one)))]
    return None, []


def _pairs(program: PythonProgram, yes: cst.BaseExpression, no: cst.BaseExpression) -> Iterator[Chosen]:
    """Yield two values, or what two rows or tables of the same form have in the same places."""
    one, other = _members(program, yes), _members(program, no)
    if not one:
        yield yes, no
    for name, value in one.items():
        if name in other:
            yield value, other[name]


def _members(program: PythonProgram, node: cst.BaseExpression) -> dict[str, cst.BaseExpression]:
    match node:
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            return {str(i): each.value for i, each in enumerate(elements)}
        case cst.Dict(elements=elements):
            entries = [each for each in elements if isinstance(each, cst.DictElement)]
            return {program.text(each.key): each.value for each in entries if isinstance(each.key, cst.SimpleString)}
        case cst.Call(args=arguments):
            return {each.keyword.value: each.value for each in arguments if each.keyword is not None}
    return {}


def _asked(
    program: PythonProgram, reader: Reader, test: cst.BaseExpression, decided: Mapping[cst.CSTNode, bool]
) -> tuple[str, bool] | None:
    """Return the first capability that a condition distinguishes from older ones, and its value for older ones."""
    turned = False
    while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, turned = test.expression, not turned
    parts = [each for each in program.nodes_below(test) if isinstance(each, cst.Comparison | cst.Call)]
    if any(each in decided for each in parts):
        return None
    for each in parts:
        if (least := reader.least(each)) is not None:
            (major, minor), older = least
            return f"{major}.{minor}", older is not turned
    return None


def _number(reader: Reader, node: cst.BaseExpression) -> int | float | None:
    found = reader.results(node)
    values = set(found.values()) if found is not None else set()
    value = values.pop() if len(values) == 1 else None
    return value if isinstance(value, int | float) else None


def _statements(program: PythonProgram, node: cst.If) -> Iterator[Chosen]:
    """Yield the values that both branches of an `if` give the same name, or return."""
    body = _given(program, node.body)
    other: dict[str, cst.BaseExpression] = {}
    if isinstance(node.orelse, cst.If | cst.Else):
        other = _given(program, node.orelse.body)
    elif isinstance(block := program.parent[node], cst.IndentedBlock | cst.Module):
        lines = list(block.body)
        place = lines.index(node)
        other = _of_line(program, lines[place + 1]) if place + 1 < len(lines) else {}
        other = {name: value for name, value in other.items() if name == "return"}
        before = _of_line(program, lines[place - 1]) if place else {}
        other |= {name: value for name, value in before.items() if name != "return"}
    for name, value in body.items():
        if name in other:
            yield from _pairs(program, value, other[name])


def _given(program: PythonProgram, block: cst.BaseSuite) -> dict[str, cst.BaseExpression]:
    found: dict[str, cst.BaseExpression] = {}
    for line in block.body:
        found |= _of_line(program, line)
    return found


def _of_line(program: PythonProgram, line: cst.CSTNode) -> dict[str, cst.BaseExpression]:
    found: dict[str, cst.BaseExpression] = {}
    for each in line.body if isinstance(line, cst.SimpleStatementLine) else ():
        match each:
            case cst.Assign(targets=[cst.AssignTarget(cst.Tuple() as names)], value=cst.Tuple() as values):
                found |= {
                    program.code(name.value): value.value
                    for name, value in zip(names.elements, values.elements, strict=False)
                }
            case cst.Assign(targets=[cst.AssignTarget(cst.Subscript(value=table) as target)], value=value):
                key = program.key(target)
                found[f"{program.code(table)}[{key}]" if key else program.code(target)] = value
            case cst.Assign(targets=[cst.AssignTarget(cst.Name() | cst.Attribute() as target)], value=value):
                found[program.code(target)] = value
                entries = _members(program, value) if isinstance(value, cst.Dict | cst.Call) else {}
                found |= {f"{program.code(target)}[{key}]": each for key, each in entries.items()}
            # `config.update(stages=4)`
            case cst.Expr(cst.Call(func=cst.Attribute(value=table, attr=cst.Name("update")), args=arguments)):
                for argument in arguments:
                    given = {argument.keyword.value: argument.value} if argument.keyword is not None else None
                    entries = given or _members(program, argument.value)
                    found |= {f"{program.code(table)}[{key}]": each for key, each in entries.items()}
            case cst.Return(value=value) if value is not None:
                found["return"] = value
    return found

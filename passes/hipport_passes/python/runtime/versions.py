# SPDX-License-Identifier: Apache-2.0
"""`torch.version.cuda`: the release of CUDA that PyTorch is built with; None in a PyTorch for ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport_passes.python.runtime.origins import origins
from hipport_passes.python.runtime.python_program import PythonProgram, finding

#: The release that ROCm counts as. PyTorch's own wheels of 2025 and 2026 are built with it.
ASSUMED = "12.8"

#: The replacement of nvcc's output on ROCm, for build scripts that ask for its release.
NVCC_SAID = f"Cuda compilation tools, release {ASSUMED}, V{ASSUMED}.0"

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_ERRORS = "AttributeError|TypeError|ValueError"
#: Functions that fail for None.
_TAKES_A_VERSION = _WORDS.compile(r"(?i)(?:^|[._])(?&converts)$|(?&version)(?!s)\w*$|(?&version_in_short)\w*$")
#: Functions that print their arguments.
_SHOWS = re.compile(rf"(?i){one_of(_WORDS['shows'])}|{one_of(_WORDS['shows_at_the_end'])}$")
_WHEEL = _WORDS.compile(r"(?i)\b(?&wheel_suffixes)\b|(?&wheels)|cu(?:da)?[-_]?[\"'{]")
_RUNS_NVCC = _WORDS.compile(r"\b(?&runs)\b|(?&nvidia_smi)|(?&said_by_nvcc)")
_TORCH_VERSION = _WORDS.compile(r"_?(?&torch)\.(?&version)")
_ASKS_HIP = _WORDS.compile(r"(?i)\b(?&hip)\b|(?&rocm)")


def versions(program: PythonProgram) -> Iterator[Finding]:
    """Yield the uses of `torch.version.cuda` that fail on ROCm, or that decide something there."""
    program.lift(gates(program))
    said: set[Span] = set()
    for place in _places(program):
        for each in _uses(program, place, 0):
            # The arguments of several calls reach one parameter.
            if each.span not in said:
                said.add(each.span)
                yield each


def gates(program: PythonProgram) -> list[cst.BaseExpression]:
    """Return the conditions that stop a program without CUDA, and that are opened for ROCm."""
    places = _places(program)
    places += [call for place in places for call in _returned(program, place)]
    return [gate for place in places for gate in _gates(program, place)]


def _places(program: PythonProgram) -> list[cst.BaseExpression]:
    found: list[cst.BaseExpression] = [
        above
        for name in program.named("cuda")
        if isinstance(above := program.parent[name], cst.Attribute) and above.attr is name and _of_torch(program, above)
    ]
    # `getattr(torch.version, "cuda", None)`
    found += [
        call
        for call in program.calls("getattr")
        if len(call.args) > 1
        and _TORCH_VERSION.fullmatch(program.code(call.args[0].value))
        and program.text(call.args[1].value) == "cuda"
    ]
    # `from torch.version import cuda as release`
    for node in program.nodes:
        match node:
            case cst.ImportFrom(module=cst.Attribute() as module, names=[*aliases]) if (
                program.code(module) == "torch.version"
            ):
                for alias in aliases:
                    if program.code(alias.name) == "cuda":
                        spelled = program.code(alias.asname.name) if alias.asname is not None else "cuda"
                        found += [name for name in program.named(spelled) if program.imported(name) is node]
    imported = [name for name in found if isinstance(name, cst.Name)]
    within = (cst.ImportAlias, cst.AsName, cst.Attribute)
    gone = [each for each in imported if isinstance(above := program.parent[each], within) and not _read(above, each)]
    return [each for each in found if each not in gone]


def _read(above: cst.CSTNode, name: cst.Name) -> bool:
    """Return whether the expression is `name.something`."""
    return isinstance(above, cst.Attribute) and above.value is name


def _of_torch(program: PythonProgram, node: cst.Attribute) -> bool:
    if _TORCH_VERSION.fullmatch(program.code(node.value)):
        return True
    if isinstance(node.value, cst.Name):
        statement = program.imported(node.value)
        return (
            statement is not None
            and statement.module is not None
            and program.code(statement.module) == "torch"
            and node.value.value != "cuda"
        )
    return False


def _uses(program: PythonProgram, node: cst.BaseExpression, depth: int) -> Iterator[Finding]:
    """Follow the value at `node` to its uses."""
    if depth > 4 or not program.runs(node).both:
        return
    yield from _judged(program, node)
    for other in _passed_on(program, node):
        yield from _uses(program, other, depth + 1)


def _judged(program: PythonProgram, node: cst.BaseExpression) -> Iterator[Finding]:
    """Yield the findings on direct uses of the value."""
    above = program.parent[node]
    match above:
        case cst.Attribute() | cst.Subscript() if above.value is node:
            yield from _fails(program, node)
        case cst.BinaryOperation(operator=cst.Add()):
            yield from _fails(program, node)
        case cst.Arg(star="") if isinstance(call := program.parent[above], cst.Call):
            name = program.code(call.func)
            followed = program.given(call, node) or (name == "dict" and above.keyword is not None)
            if not followed and _TAKES_A_VERSION.search(name) and not _SHOWS.search(name.rpartition(".")[2]):
                yield from _fails(program, node)
        case cst.Comparison() | cst.ComparisonTarget():
            yield from _compared(program, node)
        case cst.If() | cst.IfExp() | cst.Assert() | cst.While() if getattr(above, "test", None) is node:
            yield from _build_question(program, node, node, False)
        case cst.BooleanOperation(operator=cst.Or(), right=cst.SimpleString(value)) if value[1:-1] == ASSUMED:
            return  # An expression that this pass writes.
        case cst.BooleanOperation():
            yield from _build_question(program, node, node, False)
        case cst.UnaryOperation(operator=cst.Not()):
            yield from _build_question(program, node, above, True)


def _passed_on(program: PythonProgram, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the other expressions that have the value at `node`."""
    above = program.parent[node]
    match above:
        case cst.Arg(star="") if isinstance(call := program.parent[above], cst.Call):
            if own := program.given(call, node):
                # A parameter that the function does not rebind.
                yield from (each for each in own if [binding.how for binding in program.bound(each)] == ["parameter"])
            elif above.keyword is not None and program.code(call.func) == "dict":
                yield from _entries(program, call, above.keyword.value)
        case cst.DictElement(key=cst.SimpleString() as key) if above.value is node:
            yield from _entries(program, program.parent[above], program.text(key))
        case cst.Element():
            yield from _read_elsewhere(program, node)
        case cst.Return():
            yield from _returned(program, node)
        case (
            cst.Assign(targets=[cst.AssignTarget(cst.Name() | cst.Attribute() as target)])
            | cst.AnnAssign(target=cst.Name() | cst.Attribute() as target)
        ) if above.value is node:
            if program.assigned(target) == [(node, None)]:
                others = _read_again(program, target)
                yield from (other for other in others if program.assigned(other) == [(node, None)])
            # A class attribute, for all reads of it from the class or from an object.
            if isinstance(target, cst.Name) and program.function(above) is None:
                yield from (read for read in _read_elsewhere(program, node) if isinstance(read, cst.Attribute))
        case cst.NamedExpr(value=value) if value is node:
            yield above


def _read_elsewhere(program: PythonProgram, node: cst.BaseExpression) -> list[cst.Name | cst.Attribute | cst.Subscript]:
    """Return the reads that give the value at `node` and no other, also from a tuple or an attribute of a class."""
    return program.source.fact(origins).reads(node)


def _entries(program: PythonProgram, table: cst.CSTNode, key: str) -> Iterator[cst.BaseExpression]:
    """Yield the reads of an entry of a table, through the only name of the table."""
    above = program.parent[table]
    match above:
        case cst.Assign(targets=[cst.AssignTarget(cst.Name() | cst.Attribute() as target)]) if above.value is table:
            pass
        case _:
            return
    if program.assigned(target) != [(table, None)]:
        return
    for read in _read_again(program, target):
        outer = program.parent[read]
        if isinstance(outer, cst.Subscript) and outer.value is read and program.key(outer) == key:
            if not isinstance(program.parent[outer], (cst.AssignTarget, cst.Del)):
                yield outer
        elif isinstance(outer, cst.Attribute) and outer.value is read and outer.attr.value == "get":
            call = program.parent[outer]
            if isinstance(call, cst.Call) and len(call.args) == 1 and program.text(call.args[0].value) == key:
                yield call


def _returned(program: PythonProgram, node: cst.BaseExpression) -> Iterator[cst.Call]:
    """Yield the calls of a function of the file that returns only the value at `node`."""
    above = program.parent[node]
    function = program.function(above) if isinstance(above, cst.Return) else None
    if function is None or program.returns(function) != [above]:
        return
    if program.functions.get(function.name.value) is not function:
        return
    first = program.parameters(function)[:1]
    method = bool(first) and first[0].name.value in ("self", "cls")
    yield from (call for call in program.calls(function.name.value) if method == isinstance(call.func, cst.Attribute))


def _read_again(program: PythonProgram, target: cst.Name | cst.Attribute) -> Iterator[cst.Name | cst.Attribute]:
    """Yield the other places of the name, or of the attribute of the same object."""
    if isinstance(target, cst.Name):
        yield from (other for other in program.named(target.value) if other is not target)
        return
    for name in program.named(target.attr.value):
        above = program.parent[name]
        if isinstance(above, cst.Attribute) and above is not target and program.code(above) == program.code(target):
            yield above


def _fails(program: PythonProgram, node: cst.BaseExpression) -> Iterator[Finding]:
    """Report operations on the version that fail for None."""
    if program.copes(node, _ERRORS):
        return
    code = program.code(node)
    said = "torch.version.cuda is None on ROCm"
    # The key of a table may be the same word: `INFO["cuda"]`.
    statement = program.code(program.statement(node) or node).replace(code, "")
    if _WHEEL.search(statement):
        yield finding(program, node, "cuda_version", f"{said}, so packages chosen by it would be for CUDA")
    elif _RUNS_NVCC.search(program.function_code(node)) and NVCC_SAID.encode() not in program.source.text:
        yield finding(program, node, "cuda_version", f"{said}, and there is no nvcc to compare it with either")
    else:
        message = f"{said}: HIP counts as CUDA {ASSUMED} here; assumes that the choice made by it is right for HIP"
        span = program.source.span(node)
        quote = program.quote(node)
        text = f"{code} or {quote}{ASSUMED}{quote}"
        bare = isinstance(program.parent[node], cst.Arg) or bool(node.lpar)
        edit = Edit(span, (text if bare else f"({text})").encode())
        yield finding(program, node, "cuda_version", message, (edit,) if quote else ())


def _compared(program: PythonProgram, node: cst.BaseExpression) -> Iterator[Finding]:
    comparison = program.parent[node]
    if isinstance(comparison, cst.ComparisonTarget):
        target, comparison = comparison, program.parent[comparison]
        assert isinstance(comparison, cst.Comparison)
        other = comparison.left
        if isinstance(target.operator, (cst.In, cst.NotIn)):
            yield from _fails(program, node)
            return
    else:
        assert isinstance(comparison, cst.Comparison)
        target = comparison.comparisons[0]
        other = target.comparator
    if len(comparison.comparisons) > 1:
        return
    operator = target.operator
    if isinstance(operator, (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)):
        yield from _fails(program, node)
    elif program.code(other) == "None":
        yield from _build_question(program, node, comparison, isinstance(operator, (cst.Is, cst.Equal)))
    elif (isinstance(operator, (cst.NotEqual, cst.NotIn)) and _stops(program, comparison)) or (
        isinstance(operator, (cst.Equal, cst.In)) and _stops_if_false(program, comparison)
    ):
        message = "torch.version.cuda is None on ROCm, so this stops the program; use torch.version.hip there"
        yield finding(program, comparison, "cuda_version", message)


def _stops(program: PythonProgram, test: cst.CSTNode) -> bool:
    """Return whether the program stops if the condition is true."""
    node, above = test, program.parent[test]
    while isinstance(above, cst.BooleanOperation):
        node, above = above, program.parent[above]
    return isinstance(above, cst.If) and above.test is node and program.stops(above.body)


def _insists(program: PythonProgram, test: cst.CSTNode) -> bool:
    """Return whether the program stops if the condition is false."""
    node, above = test, program.parent[test]
    while isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.And):
        node, above = above, program.parent[above]
    return isinstance(above, cst.Assert) and above.test is node


def _stops_if_false(program: PythonProgram, test: cst.CSTNode) -> bool:
    """Return whether the program stops if the condition is false, by an assertion or an `else`."""
    above = program.parent[test]
    if isinstance(above, cst.If) and above.test is test and isinstance(above.orelse, cst.Else):
        return program.stops(above.orelse.body)
    return _insists(program, test)


def _build_question(
    program: PythonProgram, node: cst.BaseExpression, test: cst.BaseExpression, absent: bool
) -> Iterator[Finding]:
    """Port a test of whether PyTorch is built for CUDA. `absent`: the test is true if it is not."""
    if program.decided or _answered(program, test):
        return
    code = program.code(node)
    hip = code.removesuffix("cuda") + "hip" if code.endswith("version.cuda") else None
    # If a condition binds a name, the name must keep its value: a person decides.
    if hip is None and not isinstance(node, cst.NamedExpr):
        torch = program.torch(node)
        hip = f"{torch}.version.hip" if torch else None
    if (absent and _stops(program, test)) or (not absent and _insists(program, test)):
        message = "torch.version.cuda is None on ROCm, so this stops the program; use torch.version.hip there"
        edits: tuple[Edit, ...] = ()
        if hip is not None and not _value_needed(program, test, code):
            span = program.source.span(test)
            either = "and" if absent else "or"
            if isinstance(test, cst.Comparison):
                verb = "is" if absent else "is not"
                text = f"{code} {verb} None {either} {hip} {verb} None"
            else:
                text = f"not ({code} or {hip})" if absent else f"{code} or {hip}"
            plain = test.lpar or not isinstance(program.parent[test], (cst.BooleanOperation, cst.UnaryOperation))
            edits = (Edit(span, (text if plain else f"({text})").encode()),)
            message += "; assumes that later code works there"
        yield finding(program, test, "cuda_build", message, edits)
    elif not _value_needed(program, test, code):
        message = (
            "torch.version.cuda is None on ROCm, so the code for CUDA is skipped there; if it works on ROCm too, "
            "ask for torch.version.hip as well"
        )
        yield finding(program, test, "cuda_build", message)


def _gates(program: PythonProgram, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the conditions that `_build_question` opens for ROCm."""
    if program.decided:
        return
    above = program.parent[node]
    test, absent = node, False
    if isinstance(above, cst.Comparison) and program.code(above.comparisons[0].comparator) == "None":
        test, absent = above, isinstance(above.comparisons[0].operator, (cst.Is, cst.Equal))
    elif isinstance(above, cst.UnaryOperation):
        test, absent = above, True
    if absent and _stops(program, test) and not _value_needed(program, test, program.code(node)):
        yield test


def _answered(program: PythonProgram, test: cst.BaseExpression) -> bool:
    """Return whether the condition tests for ROCm as well."""
    outer: cst.CSTNode = test
    while isinstance(program.parent[outer], (cst.BooleanOperation, cst.UnaryOperation)):
        outer = program.parent[outer]
    above = program.parent[outer]
    other = above.orelse if isinstance(above, (cst.If, cst.IfExp)) else None
    asks = _ASKS_HIP.search(program.code(outer)) is not None
    # `fmha.flash if torch.version.cuda else fmha.ck`: Composable Kernel is AMD's.
    return asks or (other is not None and re.search(_ASKS_HIP.pattern + r"|\bck\b", program.code(other)) is not None)


def _value_needed(program: PythonProgram, test: cst.BaseExpression, code: str) -> bool:
    """Return whether the version itself is used under a condition that ensures that there is one."""
    outer: cst.CSTNode = test
    while isinstance(program.parent[outer], (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)):
        outer = program.parent[outer]
    above = program.parent[outer]
    around = above if isinstance(above, (cst.If, cst.IfExp)) else outer
    text = program.code(around)
    if isinstance(around, cst.If) and program.stops(around.body):
        text = program.function_code(test)
    return len(re.findall(rf"(?<![\w.]){re.escape(code)}(?!\w)", text)) > 1

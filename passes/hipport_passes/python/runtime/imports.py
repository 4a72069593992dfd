# SPDX-License-Identifier: Apache-2.0
"""Imports of modules for NVIDIA's GPUs only, and libraries that are loaded by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import libcst as cst

from hipport.core.finding import Finding
from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport_passes.python.runtime.attention import expressed
from hipport_passes.python.runtime.python_program import PythonProgram, finding

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_LIBRARY = _WORDS.compile(r"(?:.*/)?(?&lib)?([A-Za-z-]+?)(?:64_\d+)?(?:\.so(?:\.\d+)*|(?&windows)|(?&static))?")
#: A condition that selects one of several back ends.
_CHOICE = re.compile(r"==[ \t]*[\"']")
#: A condition that tests whether something is available.
_OPTIONAL = _WORDS.compile(rf"(?i){one_of(_WORDS['optional'], '[a-z0-9_]+')}|\b(?&for_checkers)\b")


def imports(program: PythonProgram, modules: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the imports of modules that ROCm lacks, once for each module."""
    seen: set[tuple[str, cst.FunctionDef | None]] = set()
    told: set[str] = set()
    chains: set[cst.CSTNode] = set()
    for node in program.nodes:
        for module in _imported(node):
            known = _longest(module, modules)
            if known is None or (known, program.function(node)) in seen:
                continue
            if not _needed(program, node):
                place = _insisted_later(program, node) if known not in told else None
                if place is not None:
                    told.add(known)
                    message = f"{known} {modules[known]}; the program stops here without it"
                    yield finding(program, place, "module", message)
                continue
            seen.add((known, program.function(node)))
            fallback = expressed(program, node, known)
            if fallback is not None:
                yield fallback
            elif known not in told:
                told.add(known)
                chain, choice = _choice(program, node)
                if chain in chains:
                    continue
                if chain is not None:
                    chains.add(chain)
                said = f"; this program can do without: {choice}" if choice else ""
                yield finding(program, node, "module", f"{known} {modules[known]}{said}")


def _imported(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Import):
        for alias in node.names:
            yield _dotted(alias.name)
    elif isinstance(node, cst.ImportFrom) and node.module is not None and not node.relative:
        module = _dotted(node.module)
        if not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                yield f"{module}.{_dotted(alias.name)}"
        else:
            yield module


def _dotted(name: cst.BaseExpression) -> str:
    """Return the name of a module without blanks; much faster than its code."""
    if isinstance(name, cst.Attribute):
        return f"{_dotted(name.value)}.{name.attr.value}"
    return name.value if isinstance(name, cst.Name) else ""


def imported_by_name(program: PythonProgram, modules: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the modules that a program imports by a string, or requires, and that ROCm lacks."""
    told: set[str] = set()
    for name in ("import_module", "__import__", "find_spec"):
        for call in program.calls(name):
            module = program.text(call.args[0].value) if call.args else ""
            known = _longest(module, modules)
            if known is None or known in told or not _needed(program, call):
                continue
            if name == "find_spec" and not _insisted(program, call):
                continue
            told.add(known)
            yield finding(program, call, "module", f"{known} {modules[known]}")


def _insisted(program: PythonProgram, call: cst.Call) -> bool:
    """Return whether the program stops if a module is not found: `assert find_spec(…)`, or raises."""
    test: cst.CSTNode = call
    above = program.parent[test]
    absent = False
    if isinstance(above, cst.Comparison) and program.code(above.comparisons[0].comparator) == "None":
        absent = isinstance(above.comparisons[0].operator, cst.Is | cst.Equal)
        test, above = above, program.parent[above]
    if isinstance(above, cst.Assign) and isinstance(target := above.targets[0].target, cst.Name) and not absent:
        return any(_stops_without(program, use) for use in program.named(target.value) if use is not target)
    return _stops_without(program, test, absent)


def _stops_without(program: PythonProgram, test: cst.CSTNode, absent: bool = False) -> bool:
    above = program.parent[test]
    if isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not):
        test, above, absent = above, program.parent[above], not absent
    if isinstance(above, cst.Assert):
        return above.test is test and not absent
    return isinstance(above, cst.If) and above.test is test and absent and program.stops(above.body)


def _longest(module: str, modules: Mapping[str, str]) -> str | None:
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in modules:
            return name
    return None


def _needed(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Return whether the program fails on ROCm without the module, as far as the place of the import shows."""
    if not program.runs(node).rocm:
        return False
    if program.copes(node, "ImportError|ModuleNotFoundError"):
        return _called_all_the_same(program, node)
    for above, _ in program.ancestors(node):
        tried = program.parent[above] if isinstance(above, cst.ExceptHandler) else None
        # `try: import amdsmi`, and this import as the fallback.
        if isinstance(tried, cst.Try) and re.search(rf"(?i){one_of(_WORDS['of_amd'])}", program.code(tried.body)):
            return False
    return not any(
        wanted and _OPTIONAL.search(code := program.code(test)) and ("env" in code or not _CHOICE.search(code))
        for test, wanted in program.conditions(node)
    )


def _insisted_later(program: PythonProgram, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the place where the program stops because an optional import failed.

    `try: import a except ImportError: a = None`, and `assert a is not None` elsewhere.
    """
    tried = next((above for above, _ in program.ancestors(node) if isinstance(above, cst.Try)), None)
    if tried is None or not program.copes(node, "ImportError|ModuleNotFoundError"):
        return None
    lines = [line for handler in tried.handlers for line in handler.body.body]
    for small in (each for line in lines for each in (line.body if isinstance(line, cst.SimpleStatementLine) else ())):
        match small:
            case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=cst.Name("None" | "False")):
                for use in program.named(name):
                    above = program.parent[use]
                    test: cst.CSTNode = use
                    absent = False
                    if isinstance(above, cst.Comparison) and above.left is use:
                        if program.code(above.comparisons[0].comparator) not in ("None", "False"):
                            continue
                        absent = isinstance(above.comparisons[0].operator, cst.Is | cst.Equal)
                        test = above
                    if program.runs(test).both and _stops_without(program, test, absent):
                        return test
    return None


def _called_all_the_same(program: PythonProgram, node: cst.CSTNode) -> bool:
    """Return whether a module that may have failed to import is called without a test.

    `try: import a except ImportError: a = None`, or `pass`, and then `a.f()`.
    """
    outer = next((above for above, _ in program.ancestors(node) if isinstance(above, cst.Try)), None)
    if outer is None or program.function(node) is not None or not isinstance(node, (cst.Import, cst.ImportFrom)):
        return False
    if isinstance(node.names, cst.ImportStar):
        return False
    names = {program.code(alias.asname.name if alias.asname else alias.name).partition(".")[0] for alias in node.names}
    blocks = [outer.body, *(each.body for each in outer.handlers), *([outer.orelse.body] if outer.orelse else [])]
    lines = [line for block in blocks for line in block.body]
    if any(isinstance(line, cst.BaseCompoundStatement) for line in lines):
        return False
    for small in (each for line in lines for each in (line.body if isinstance(line, cst.SimpleStatementLine) else ())):
        match small:
            case cst.Import() | cst.ImportFrom() | cst.Pass():
                pass
            case cst.Expr(value=cst.Call(func=func)) if re.search(
                rf"(?i){one_of(_WORDS['tells'])}", program.code(func)
            ):
                pass
            case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=cst.Name("None")) if name in names:
                pass
            case _:
                return False
    called = False
    for name in names:
        for place in program.named(name):
            if any(above is outer for above, _ in program.ancestors(place)):
                continue
            above = program.parent[place]
            if isinstance(above, cst.Attribute) and above.value is place:
                called = called or program.function(place) is not None
            elif not (isinstance(above, cst.Call) and above.func is place):
                return False  # It is tested, passed on, or assigned again.
            else:
                called = True
            if program.copes(place, "TypeError|AttributeError|NameError"):
                return False
    return called


def _choice(program: PythonProgram, node: cst.CSTNode) -> tuple[cst.CSTNode | None, str]:
    """Return the place where the program uses PyTorch's own attention instead of the import, and the condition."""
    for above, _ in program.ancestors(node):
        branch: cst.CSTNode | None = above
        while isinstance(branch, cst.If):
            if re.search(one_of(_WORDS["attention"]), program.code(branch.body)):
                return branch, program.code(branch.test)
            branch = branch.orelse
    return None, ""


def libraries(program: PythonProgram, known: Mapping[str, str]) -> Iterator[Finding]:
    """Yield CUDA's libraries that are loaded by their file name."""
    for name in ("CDLL", "LoadLibrary", "find_library", "PyDLL"):
        for call in program.calls(name):
            text = _file(program, call.args[0].value) if call.args else HOLE
            match = _LIBRARY.fullmatch(text)
            if match is None or match[1] not in known or not program.runs(call).both:
                continue
            if program.copes(call, "OSError") or (name == "find_library" and not _used(program, call)):
                continue
            yield finding(program, call, "library", f"ROCm has no {text}; {known[match[1]]}")


def _file(program: PythonProgram, node: cst.BaseExpression, depth: int = 0) -> str:
    """Return the path that an expression is, or its end."""
    match node:
        case cst.Call(func=function, args=[_, *_, cst.Arg(last)]) if program.code(function).endswith("path.join"):
            return _file(program, last, depth + 1)
        case cst.Name() if depth < 4:
            values = program.assigned(node) or []
            if len(values) == 1 and values[0][1] is None:
                return _file(program, values[0][0], depth + 1)
        case cst.BinaryOperation(operator=cst.Divide(), right=last):
            return _file(program, last, depth + 1)
    return program.text(node)


def _used(program: PythonProgram, call: cst.Call) -> bool:
    return isinstance(program.parent[call], cst.Arg)

# SPDX-License-Identifier: Apache-2.0
"""The rules that code can report, read from the code: from calls that make findings, and from tables with kinds.

    kinds_by_module(PASSES_FOLDER)   # {"hipport_passes.device.barriers": {"vote", …}, …}

A kind in the file of a pass is a rule of that pass. A kind in a file that passes share, or in a table, is one of a pass
that imports the file: which of them report it is not seen in the text.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from hipport.core.tables import load
from hipport.reporting.explainer import rule_texts

ROOT = Path(__file__).parent.parent
PASSES_FOLDER = ROOT / "passes" / "hipport_passes"

#: Classes with a field `kind` that is not the kind of a finding.
_OTHERS = frozenset(("_Definition", "_Access"))
_RULE = re.compile(r"[a-z]\w*/[a-z]\w*")


@cache
def shown_rules(root: Path = ROOT) -> frozenset[str]:
    """Return the rules in the fixtures."""
    return frozenset(
        f"{path.parent.name}/{line.split()[1]}"
        for path in (root / "fixtures").glob("*/*.findings")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    )


def known_rules() -> frozenset[str]:
    """Return the rules that are explained: those in the fixtures, and those in rules.toml."""
    return shown_rules() | rule_texts(PASSES_FOLDER).keys()


@cache
def rules_of_engine(source: Path) -> frozenset[str]:
    """Return the whole names of rules in the engine, which reports them itself."""
    nodes = (node for path in sorted(source.rglob("*.py")) for node in ast.walk(ast.parse(path.read_text())))
    calls = (node for node in nodes if isinstance(node, (ast.Call, ast.Assign)))
    texts = (each.value for call in calls for each in _own(call) if isinstance(each, ast.Constant))
    return frozenset(each for each in texts if isinstance(each, str) and _RULE.fullmatch(each))


def _own(node: ast.Call | ast.Assign) -> Iterable[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.value.elts if isinstance(node.value, ast.Tuple) else ()
    return node.args if isinstance(node.func, ast.Name) and node.func.id == "Reported" else ()


@cache
def kinds_by_module(folder: Path) -> dict[str, frozenset[str]]:
    """Return the kinds of findings in each module and table below a folder, by the module's dotted name."""
    trees = _modules(folder)
    fields = {"Finding": 1}
    for tree in trees.values():
        for node in (each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)):
            names = [part.target.id for part in node.body if _is_field(part)]  # type: ignore[attr-defined]
            if "kind" in names and node.name not in _OTHERS:
                fields[node.name] = names.index("kind")
    found = {name: frozenset(_kinds(tree, fields)) for name, tree in trees.items()}
    for path in folder.rglob("*.toml"):
        listed = frozenset(_listed(load(path)))
        name = _dotted(path.with_suffix(".py"), folder)
        if listed:
            found[name] = found.get(name, frozenset()) | listed
    return {name: kinds for name, kinds in found.items() if kinds}


def importers(folder: Path, passes: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return, for each module, the passes that import it, directly or through others; `passes` are their modules."""
    trees = _modules(folder)
    imports = {name: frozenset(_imported(tree, trees)) for name, tree in trees.items()}
    found: dict[str, set[str]] = defaultdict(set)
    for module, each in passes.items():
        seen, open_ = {module}, [module]
        while open_:
            more = imports.get(open_.pop(), frozenset()) - seen
            seen |= more
            open_ += more
        for name in seen:
            found[name].add(each)
    return {name: frozenset(names) for name, names in found.items()}


@cache
def _modules(folder: Path) -> dict[str, ast.Module]:
    return {_dotted(path, folder): ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py"))}


def _dotted(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_field(part: ast.stmt) -> bool:
    return isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)


def _imported(tree: ast.Module, trees: Mapping[str, ast.Module]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = (f"{node.module}.{each.name}" for each in node.names)
            yield from (each if each in trees else node.module for each in whole)


def _kinds(tree: ast.Module, fields: Mapping[str, int]) -> Iterator[str]:
    """Yield the kinds that calls in a module give to findings, in each function with its own variables."""
    open_: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while open_:
        node, around = open_.pop()
        around = node if isinstance(node, ast.FunctionDef) else around
        open_ += ((child, around) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            place = fields.get(called)
            if place is not None:
                given = [*node.args[place : place + 1], *(each.value for each in node.keywords if each.arg == "kind")]
                yield from (kind for value in given for kind in _constants(value, around))


def _constants(value: ast.expr, around: ast.AST | None) -> Iterator[str]:
    """Yield the texts that an expression can be: constants, in branches, or assigned to a variable of the function."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, (ast.IfExp, ast.BoolOp)):
        parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else value.values
        yield from (each for part in parts for each in _constants(part, around))
    elif isinstance(value, ast.Name) and around is not None:
        for node in ast.walk(around):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            given = node.value if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) else None
            for target in targets if given is not None else ():
                yield from _assigned(target, given, value.id)


def _assigned(target: ast.expr | None, given: ast.expr | None, name: str) -> Iterator[str]:
    pairs = [(target, given)]
    if isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple):
        pairs = list(zip(target.elts, given.elts, strict=False))
    for one, value in pairs:
        if isinstance(one, ast.Name) and one.id == name and value is not None:
            yield from _constants(value, None)


def _listed(value: object) -> Iterator[str]:
    """Yield the values of all fields `kind` in a table."""
    if isinstance(value, dict):
        if isinstance(value.get("kind"), str):
            yield value["kind"]
        yield from (each for inner in value.values() for each in _listed(inner))
    elif isinstance(value, list):
        yield from (each for inner in value for each in _listed(inner))

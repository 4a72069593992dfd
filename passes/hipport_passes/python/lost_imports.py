# SPDX-License-Identifier: Apache-2.0
"""Restore imports that hipport's changes of Python need, where a merge has removed them.

Upstream's changes among the imports conflict with a port's. If upstream's lines win, a script uses `IS_HIP_EXTENSION`
without importing it.
"""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.python_script import Python, syntax_tree

_BUILD = "torch.utils.cpp_extension"
# Names that hipport writes, with their modules; the second string is a name beside which they are imported.
_FROM = {"IS_HIP_EXTENSION": (_BUILD, ""), "ROCM_HOME": (_BUILD, "CUDA_HOME"), "torch": ("", "")}


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per name that is used, and that nothing imports or sets."""
    text = source.text
    named = [name for name in _FROM if (b"torch.version.hip" if name == "torch" else name.encode()) in text]
    if not named or source.module is None:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = syntax_tree(text)
            table = symtable.symtable(text.decode("utf-8"), "<lost_imports>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for name in named:
        if not _unbound(table, name) and not _only_without(tree, name):
            continue
        use = next(node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
        at = starts[use.lineno - 1] + use.col_offset
        if (edit := _edit(source, tree, starts, name)) is not None and text[at:].startswith(name.encode()):
            message = f"{name} is used but no longer imported, perhaps since a merge: imported again"
            certainty = Certainty.SAFE
            if not _needs_torch(tree) and b"import " in edit.new:
                message += "; assumes that PyTorch is installed wherever this file is imported"
                certainty = Certainty.REVIEW
            yield Finding(Span(at, at + len(name)), "lost", message, (edit,), certainty)
        elif text[at:].startswith(name.encode()):
            message = f"{name} is used but no longer imported, perhaps since a merge: import it"
            yield Finding(Span(at, at + len(name)), "lost", message, (), Certainty.MANUAL)


def _needs_torch(tree: ast.Module) -> bool:
    """Return whether a module cannot be imported without PyTorch in any case."""
    names = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            names += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
    return any(name.partition(".")[0] == "torch" for name in names)


def _unbound(table: symtable.SymbolTable, name: str) -> bool:
    """Return whether a module uses a name that it never binds."""
    waiting, used = [table], False
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        if name not in scope.get_identifiers():
            continue
        symbol = scope.lookup(name)
        if scope is table or symbol.is_declared_global():
            if symbol.is_assigned() or symbol.is_imported():
                return False
            used |= symbol.is_referenced()
        elif symbol.is_global() and symbol.is_referenced():
            used = True
    return used


def _only_without(tree: ast.Module, name: str) -> bool:
    """Return whether a name is set only where an import has failed, but used elsewhere."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    without = {id(node) for handler in handlers for node in ast.walk(handler)}
    bound = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.alias) and name in (node.asname, node.asname or node.name))
        or (isinstance(node, ast.arg) and node.arg == name)
    ]
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    return bool(bound) and all(id(node) in without for node in bound) and any(id(node) not in without for node in used)


def _edit(source: Python, tree: ast.Module, starts: list[int], name: str) -> Edit | None:
    """Return the edit that imports a name: beside another name of its module, or on a line before all imports."""
    module, beside = _FROM[name]
    tried = [each for node in tree.body if isinstance(node, ast.Try) for each in node.body]
    top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    top = [node for node in top if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    of_module = [node for node in (*top, *tried) if isinstance(node, ast.ImportFrom) and node.module == module]
    for node in sorted(of_module, key=lambda node: beside not in [each.name for each in node.names]):
        # An import without such a name comes first, and others after their name or the last one, so that two never
        # touch.
        alias = next((each for each in node.names if each.name == beside), node.names[-1 if beside else 0])
        start = starts[alias.lineno - 1] + alias.col_offset
        indent = source.indent(start)
        gap = b" " if indent is None else source.newline + indent
        if not beside:
            return Edit(Span(start, start), name.encode() + b"," + gap)
        end = starts[(alias.end_lineno or alias.lineno) - 1] + (alias.end_col_offset or 0)
        return Edit(Span(end, end), b"," + gap + name.encode())
    if not top:
        return None
    start = source.line_start(starts[top[0].lineno - 1] + top[0].col_offset)
    if source.text[start : starts[top[0].lineno - 1] + top[0].col_offset].strip():
        return None
    line = f"from {module} import {name}" if module else f"import {name}"
    return Edit(Span(start, start), line.encode() + source.newline, on_top=True)


PASS = Pass(Python, find)

# SPDX-License-Identifier: Apache-2.0
"""Facts about GPUs and devices in a Python file, for other files of its program."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipport.core.tables import Words
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Python, syntax_tree

_WORDS = Words.read(Path(__file__).parent.with_name("device_strings.toml"), general=NAMES)
_OWN_CUDA = _WORDS.compile(rb"\bdef[ \t]+(?&cuda)[ \t]*\(")
# Once PyTorch was asked for GPUs, it is too late for both.
_VISIBLE = _WORDS.compile(rb"^([ \t]*)(?:\w+\.)?(?&sets)[^\r\n]*(?&chooses_gpus)", re.MULTILINE)
_IMPORTS_TORCH = _WORDS.compile(rb"^[ \t]*(?&imports)[ \t]+(?&torch)\b", re.MULTILINE)
_FORKS = _WORDS.compile(
    rb"\b(?&forks)\b|[\"'](?&fork)[\"']|\b(?&pools)\b|\b(?&process_modules)\.(?&processes)\b"
    rb"|\bfrom (?&process_module) import [^\r\n]*\b(?&processes)\b"
)
_SPAWNS = _WORDS.compile(rb"[\"'](?&spawns)[\"']")


def imports_torch(source: Python) -> bool:
    """Say whether the file imports PyTorch."""
    return _IMPORTS_TORCH.search(source.text) is not None


def hides(source: Python, place: int | None = None) -> bool:
    """Return whether the file selects GPUs, other than before all other code, or before a place in it."""
    if place is None:
        torch = _IMPORTS_TORCH.search(source.text)
        place = torch.start() if torch is not None else len(source.text)
    return any(match[1] or match.start() > place for match in _VISIBLE.finditer(source.text))


def forks(source: Python) -> bool:
    """Return whether the file starts processes by fork, as Linux does by default."""
    return _FORKS.search(source.text) is not None and _SPAWNS.search(source.text) is None


def has_own_cuda(source: Python) -> bool:
    """Return whether the file defines a `cuda` without a `to` beside it: then the two are not equivalent."""
    if not _OWN_CUDA.search(source.text):
        return False
    try:
        tree = syntax_tree(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    for node in ast.walk(tree):
        names = {each.name for each in ast.iter_child_nodes(node) if isinstance(each, ast.FunctionDef)}
        if "cuda" in names and "to" not in names:
            return True
    return False


def signatures(source: Python) -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the parameter names of each function, and of each class's constructor, by name."""
    try:
        tree = syntax_tree(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, list[Sequence[str]]] = {}
    for node in ast.walk(tree):
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.FunctionDef):
                names = [parameter.arg for parameter in (*each.args.posonlyargs, *each.args.args)]
                name = node.name if isinstance(node, ast.ClassDef) and each.name == "__init__" else each.name
                found.setdefault(name, []).append(names[1:] if names[:1] in (["self"], ["cls"]) else names)
    return found

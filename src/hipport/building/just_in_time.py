# SPDX-License-Identifier: Apache-2.0
"""Extensions built at first use: calls of PyTorch's `load` and `load_inline`, read without running them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from hipport.building.units import NotBuilt
from hipport.core.globs import Glob
from hipport.core.placing import walk
from hipport.core.reading import read_or_nothing
from hipport.syntax.python_script import syntax_tree


@dataclass(frozen=True)
class JustInTime:
    """A call of `torch.utils.cpp_extension.load` or `load_inline` whose arguments could be read.

    `texts` are the strings to compile, with the line on which each begins; `hooks` are the file's modifications of
    PyTorch's hipify.
    """

    function: str
    line: int
    arguments: Mapping[str, Any]
    texts: tuple[tuple[str, int], ...] = ()
    hooks: str = ""


class _Unreadable(Exception):
    pass


#: PyTorch's functions that build.
_CALLED = ("load", "load_inline")
#: Limits for one call: parts of expressions, characters of a text, files that are visited. A few lines of a tree may
#: stand for more than fits in memory: `b = [*a, *a]; c = [*b, *b]; …`.
_MOST_PARTS, _MOST_CHARACTERS, _MOST_FILES = 20_000, 1 << 25, 500_000


def just_in_time(path: Path, root: Path) -> tuple[list[JustInTime], list[NotBuilt]]:
    """Return the calls in a Python file that build an extension, without running the file.

    Arguments are read if they are literals, paths made from `__file__`, or names bound once to one of these.
    """
    text = read_or_nothing(path)
    if b"cpp_extension" not in text:
        return [], []
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError):
        return [], []
    except (RecursionError, MemoryError):
        return [], [NotBuilt(PurePath(path.relative_to(root)), 1, "it is nested too deeply to be read")]
    functions, bound = _functions(tree), _bound(tree)
    try:
        hooks = _hooks(tree)
    except RecursionError:
        hooks = ""
    calls: list[JustInTime] = []
    not_built: list[NotBuilt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (function := functions.get(_dotted(node.func), "")) in _CALLED:
            try:
                calls.append(_read(node, function, bound, _Reader(path, root), hooks))
            except _Unreadable as why:
                not_built.append(NotBuilt(PurePath(path.relative_to(root)), node.lineno, str(why)))
    return sorted(calls, key=lambda call: call.line), sorted(not_built, key=lambda each: each.line)


def _functions(tree: ast.Module) -> dict[str, str]:
    """Return the names that a file has for PyTorch's build functions, with the function that each means."""
    functions = {f"torch.utils.cpp_extension.{each}": each for each in _CALLED}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "torch.utils.cpp_extension":
            functions.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if module + alias.name == "torch.utils.cpp_extension":
                    functions.update({f"{alias.asname or alias.name}.{each}": each for each in _CALLED})
    return functions


def _bound(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Return the values that names are bound to."""
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                bound.setdefault(name, []).append(value)
    return bound


def _read(
    call: ast.Call, function: str, bound: Mapping[str, list[ast.expr]], reader: _Reader, hooks: str
) -> JustInTime:
    """Return what a call builds. Raises _Unreadable with the reason."""
    positional = ("name", "sources") if function == "load" else ("name", "cpp_sources", "cuda_sources")
    given = {**dict(zip(positional, call.args, strict=False)), **{k.arg: k.value for k in call.keywords if k.arg}}
    arguments: dict[str, Any] = {}
    for name, value in given.items():
        if name in ("verbose", "build_directory", "is_python_module", "keep_intermediates"):
            continue
        try:
            arguments[name] = reader.value(value, bound)
        except (_Unreadable, TypeError, ValueError, RecursionError) as what:
            said = "it is nested too deeply" if isinstance(what, RecursionError) else what
            raise _Unreadable(f"{function}({name}=…) is computed at run time: {said}") from what
    if any(keyword.arg is None for keyword in call.keywords):
        raise _Unreadable(f"{function}(**…) is computed at run time")
    texts = [text for each in ("cpp_sources", "cuda_sources") for text in _texts(given.get(each), bound)]
    return JustInTime(function, call.lineno, arguments, tuple(texts), hooks)


def _hooks(tree: ast.Module) -> str:
    """Return the statements that replace PyTorch's hipify, in the form that `hipify_reach` writes."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign))
        and (
            re.search(r"\bhipify_python\.hipify\b|\bimport hipify_python\b", ast.unparse(node))
            or (isinstance(node, ast.Import) and ast.unparse(node) == "import os")
        )
        # A function that contains such statements is not itself a replacement.
        and not (isinstance(node, ast.FunctionDef) and any(isinstance(each, ast.ImportFrom) for each in node.body))
    ]
    replaces = any(isinstance(node, ast.Assign) for node in found)
    return "\n".join(ast.unparse(node) for node in found) if replaces else ""


def _texts(node: ast.expr | None, bound: Mapping[str, list[ast.expr]]) -> Iterator[tuple[str, int]]:
    match node:
        case ast.Constant(value=str(text)):
            yield text, node.lineno
        case ast.List() | ast.Tuple():
            for each in node.elts:
                yield from _texts(each, bound)
        case ast.Name() if len(bound.get(node.id, ())) == 1:
            yield from _texts(bound[node.id][0], {})


def _dotted(node: ast.expr) -> str:
    """Return `a.b.c`; empty for any other expression."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


class _Reader:
    """Evaluates the arguments of one call."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.root = root
        self.parts = self.characters = self.files = 0

    def value(self, node: ast.expr, bound: Mapping[str, list[ast.expr]], depth: int = 0) -> Any:
        """Return the value of an expression. Raises _Unreadable, and Python's exceptions for invalid operations."""
        self.parts += 1
        if depth > 20:
            raise _Unreadable("it refers to itself")
        if self.parts > _MOST_PARTS:
            raise _Unreadable("it has too many parts")
        found = self._value(node, bound, depth)
        self.characters += len(found) if isinstance(found, str) else 0
        if self.characters > _MOST_CHARACTERS:
            raise _Unreadable("it is too long")
        return found

    def _value(  # noqa: C901  # one match over nodes
        self, node: ast.expr, bound: Mapping[str, list[ast.expr]], depth: int
    ) -> Any:
        def value(inner: ast.expr) -> Any:
            return self.value(inner, bound, depth + 1)

        match node:
            case ast.Constant():
                return node.value
            case ast.List() | ast.Tuple():
                items: list[Any] = []
                for each in node.elts:
                    items += value(each.value) if isinstance(each, ast.Starred) else [value(each)]
                return items
            case ast.IfExp(test=test) if (hip := _for_hip(test)) is not None:
                return value(node.body if hip else node.orelse)
            case ast.BinOp(op=ast.Add()):
                return value(node.left) + value(node.right)
            case ast.BinOp(op=ast.Div()):
                return str(Path(value(node.left)) / value(node.right))
            case ast.JoinedStr():
                return "".join(str(value(each)) for each in node.values)
            case ast.FormattedValue(conversion=-1, format_spec=None):
                return value(node.value)
            case ast.ListComp(generators=[ast.comprehension(target=ast.Name(id=name), ifs=[], iter=over)]):
                given = value(over)
                if not isinstance(given, list):
                    raise _Unreadable(ast.unparse(over)[:60])
                turns: Iterator[dict[str, list[ast.expr]]] = ({**bound, name: [ast.Constant(item)]} for item in given)
                return [self.value(node.elt, names, depth + 1) for names in turns]
            case ast.Name(id="__file__"):
                return str(self.path)
            case ast.Name() if len(bound.get(node.id, ())) == 1:
                return value(bound[node.id][0])
            case ast.Attribute(attr="parent"):
                return str(Path(value(node.value)).parent)
            case ast.Call(keywords=[]):
                module, _, called = ast.unparse(node.func).rpartition(".")
                arguments = [value(each) for each in node.args]
                if called == "join" and module in ("os.path", "osp", "path"):
                    return str(Path(*arguments))
                if called == "dirname":
                    return str(Path(*arguments).parent)
                if called in ("glob", "iglob") and module in ("glob", "") and len(arguments) == 1:
                    return self._files(os.path.normpath(Path(self.path.parent, arguments[0])))
                if called in ("abspath", "realpath", "Path", "str", "normpath") and len(arguments) == 1:
                    return arguments[0]
                if called in ("resolve", "absolute") and not arguments and isinstance(node.func, ast.Attribute):
                    return value(node.func.value)
        raise _Unreadable(ast.unparse(node)[:60])

    def _files(self, pattern: str) -> list[str]:
        """Return the files of the tree that match a pattern, as Python's `glob` finds them: no hidden ones."""
        if not Path(pattern).is_relative_to(self.root):
            raise _Unreadable("it looks for files outside of the tree")
        names = Path(pattern).parts
        fixed = next((i for i, name in enumerate(names) if re.search(r"[*?[]", name)), len(names) - 1)
        top, glob = Path(*names[:fixed]), Glob("/".join(names[fixed:]))
        anywhere = "**" in names
        found = []
        for folder, folders, others in walk(top):
            depth = len(folder.parts) - len(top.parts)
            self.files += 1 + len(others)
            if self.files > _MOST_FILES:
                raise _Unreadable("it looks through too many files")
            if not anywhere and depth >= len(names) - fixed - 1:
                folders.clear()
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in others:
                if not name.startswith(".") and glob.matches((folder / name).relative_to(top).as_posix()):
                    found.append(str(folder / name))
        return sorted(found)


def _for_hip(test: ast.expr) -> bool | None:
    """Return the value of a condition with a PyTorch for ROCm, if it asks only for that."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            asked = _for_hip(operand)
            return None if asked is None else not asked
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.Is() as sign], comparators=[ast.Constant(value=None)]):
            asked = _for_hip(left)
            return asked if asked is None else asked == isinstance(sign, ast.IsNot)
    return True if re.fullmatch(r"torch\.version\.hip|(?:[\w.]+\.)?IS_HIP_EXTENSION", ast.unparse(test)) else None

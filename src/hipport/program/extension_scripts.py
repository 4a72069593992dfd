# SPDX-License-Identifier: Apache-2.0
"""Read a Python script for the extensions that it builds. Nothing is executed.

Where a script works out its sources in ways that cannot be read off it, what it builds is not `certain`.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from hipport.core.globs import Glob
from hipport.syntax.python import Python, syntax_tree


@dataclass(frozen=True)
class Sign:
    """A sign that code is for ROCm already: the first place of its kind, and how many there are."""

    kind: str
    path: PurePath
    line: int
    text: str
    count: int = 1

    def __str__(self) -> str:
        more = f" ({self.count} places)" if self.count > 1 else ""
        return f"{self.path.as_posix()}:{self.line}: {self.text}{more}"


@dataclass(frozen=True)
class Extension:
    """A unit of a build: an extension module of Python, a CMake project, a program.

    `kind` is how: `CUDAExtension`, `CppExtension`, `load`, `load_inline`, `cmake`, `pyproject` or `program`. `path` is
    the build file, if there is one. `headers` are the files that `sources` include, directly or not. `certain` is
    False where the sources are an assumption. `rocm` has the signs that it is for ROCm already.
    """

    kind: str
    name: str | None
    path: PurePath | None
    sources: tuple[PurePath, ...]
    headers: tuple[PurePath, ...] = ()
    certain: bool = True
    rocm: tuple[Sign, ...] = ()

    def __str__(self) -> str:
        where = f" in {self.path.as_posix()}" if self.path else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.kind}{name}{where}: {_count(self.sources, 'source')}, {_count(self.headers, 'header')}"

    def as_json(self) -> dict[str, Any]:
        """Return the extension as plain values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "path": self.path and self.path.as_posix(),
            "sources": [path.as_posix() for path in self.sources],
            "headers": [path.as_posix() for path in self.headers],
            "certain": self.certain,
            "rocm": [
                {"kind": e.kind, "path": e.path.as_posix(), "line": e.line, "text": e.text, "count": e.count}
                for e in self.rocm
            ],
        }


def builds(script: Python) -> bool:
    """Whether a script may build extensions."""
    # Most Python in a repository builds nothing, and parsing takes its time.
    text = script.text
    return script.path.name == "setup.py" or b"cpp_extension" in text or b"CUDAExtension" in text


def include_folders(script: Python) -> tuple[str, ...]:
    """Return the folders that a Python script has a compiler look for includes in, as paths from the tree's root."""
    places = (posixpath.normpath(place) for place in ExtensionScript(script, ()).include_folders())
    in_tree = ("." if place == _ROOT else place for place in places)
    return tuple(dict.fromkeys(place for place in in_tree if not posixpath.isabs(place)))


def _count(what: Sequence[object], name: str) -> str:
    return f"{len(what)} {name}{'' if len(what) == 1 else 's'}"


_KINDS = ("CUDAExtension", "CppExtension", "load", "load_inline")
#: Stands for the project's root in what paths are worked out to be.
_ROOT = "/<root>"
#: So many steps, values of one expression, and characters of one value are worked out; a script with more is given up.
_STEPS, _VALUES, _LENGTH = 50_000, 4000, 4096


class _Unknown(Exception):
    """An expression whose value cannot be read off the script."""


@dataclass(frozen=True)
class _Strings:
    """The possible values of an expression: one of `values`, or (`many`) a list of them."""

    values: tuple[str, ...]
    many: bool = False


class ExtensionScript:
    """A Python script, read for the extensions that it builds.

    Branches are not told apart: a name stands for everything that is ever assigned to it, and conditions for both
    outcomes, so that an extension has every source that it may have on any machine.
    """

    def __init__(self, source: Python, files: Iterable[PurePath]) -> None:
        self.path = source.path
        self.files = {path.as_posix(): path for path in files}
        self.assigned: dict[str, list[ast.expr | None]] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.imported: dict[str, str] = {}
        self.evaluating: set[int] = set()
        self.steps = 0
        try:
            self.nodes = list(ast.walk(syntax_tree(source.text)))
        except (SyntaxError, ValueError, RecursionError):
            self.nodes = []
        for node in self.nodes:
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.ImportFrom(names=names, module=module):
                for name in names:
                    self.imported[name.asname or name.name] = f"{module or ''}.{name.name}"
            case ast.Import(names=names):
                for name in names:
                    self.imported[name.asname or name.name] = name.name
            case ast.FunctionDef():
                self.functions[node.name] = node
                for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                    self.assigned.setdefault(argument.arg, []).append(None)
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign(target=target, op=ast.Add(), value=value):
                self._assign(target, value)
            case ast.For(target=target) | ast.withitem(optional_vars=ast.expr() as target):
                self._assign(target, None)
            case ast.Call(func=ast.Attribute(ast.Name(name), "append" | "extend" | "insert"), args=[*_, value]):
                self.assigned.setdefault(name, []).append(value)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        match target, value:
            case ast.Name(name), _:
                self.assigned.setdefault(name, []).append(value)
            case ((ast.Tuple(targets) | ast.List(targets)), (ast.Tuple(values) | ast.List(values))) if len(
                targets
            ) == len(values):
                for each, one in zip(targets, values, strict=True):
                    self._assign(each, one)
            case ((ast.Tuple(targets) | ast.List(targets)), _):
                for each in targets:
                    self._assign(each, None)

    def extensions(self) -> Iterator[Extension]:
        """Yield what the script builds; calls that may be about the same extension together."""
        found: dict[str | None, Extension] = {}
        for node in self.nodes:
            if isinstance(node, ast.Call) and (kind := self._kind(node.func)):
                name = self._one(_argument(node, 0, "name"))
                sources = () if kind == "load_inline" else self._sources(_argument(node, 1, "sources"))
                extension = Extension(kind, name, self.path, sources or (), certain=sources is not None)
                if before := found.get(name):
                    extension = replace(
                        extension,
                        kind=min(before.kind, kind, key=_KINDS.index),
                        sources=tuple(dict.fromkeys((*before.sources, *extension.sources))),
                        certain=before.certain and extension.certain,
                    )
                found[name] = extension
        yield from found.values()

    def include_folders(self) -> Iterator[str]:
        """Yield the folders of the tree that the script has a compiler look for includes in, as paths from its root."""
        texts: list[str] = []
        for node in self.nodes:
            match node:
                case ast.keyword(arg="include_dirs" | "extra_include_paths", value=value):
                    for each in value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]:
                        yield from self._folders(each)
                case ast.Constant(str(text)) if text.startswith("-I") and len(text) > 2:
                    texts.append(text)
                case ast.JoinedStr([ast.Constant(str(text)), *_]) | ast.BinOp(
                    ast.Constant(str(text)), ast.Add(), _
                ) if text.startswith("-I"):
                    with contextlib.suppress(_Unknown, RecursionError):
                        texts += self._value(node, {}).values
        yield from (self._below_root(text[2:]) for text in texts)

    def _folders(self, node: ast.expr) -> Iterator[str]:
        try:
            values = self._value(node, {}).values
        except (_Unknown, RecursionError):
            # Of a list that is put together, what is known of it: `include_paths() + ["include"]`.
            match node:
                case ast.Name(name):
                    parts = [each for each in self.assigned.get(name, ()) if each is not None]
                case ast.BinOp(left, ast.Add(), right):
                    parts = [left, right]
                case ast.List(parts) | ast.Tuple(parts):
                    pass
                case ast.Starred(value):
                    parts = [value]
                case _:
                    parts = []
            for each in parts:
                if id(each) not in self.evaluating:
                    self.evaluating.add(id(each))
                    yield from self._folders(each)
                    self.evaluating.discard(id(each))
            return
        yield from map(self._below_root, values)

    def _kind(self, function: ast.expr | None, depth: int = 0) -> str | None:
        """Return which of `_KINDS` a function is, or may be."""
        match function:
            case ast.Name(name):
                module, _, real = self.imported.get(name, "").rpartition(".")
                if real in _KINDS and module.endswith("cpp_extension"):
                    return real
                if name in _KINDS[:2]:
                    return name
                kinds = [self._kind(value, depth + 1) for value in self.assigned.get(name, ()) if depth < 5]
                return min((kind for kind in kinds if kind), key=_KINDS.index, default=None)
            case ast.Attribute(value, name) if name in _KINDS:
                module = ast.unparse(value)
                module = self.imported.get(module, module)
                return name if name in _KINDS[:2] or module.endswith("cpp_extension") else None
            case ast.IfExp(body=body, orelse=orelse):
                kinds = [self._kind(body, depth + 1), self._kind(orelse, depth + 1)]
                return min((kind for kind in kinds if kind), key=_KINDS.index, default=None)
        return None

    def _one(self, node: ast.expr | None) -> str | None:
        try:
            values = self._value(node, {}).values
        except _Unknown:
            return None
        return values[0] if len(values) == 1 else None

    def _sources(self, node: ast.expr | None) -> tuple[PurePath, ...] | None:
        try:
            values = self._value(node, {}).values
        except (_Unknown, RecursionError):
            return None
        found = (self.files.get(self._below_root(value)) for value in values)
        return tuple(dict.fromkeys(path for path in found if path))

    def _below_root(self, value: str) -> str:
        """Return a path of the script relative to the root, as it is where the script runs in its own folder."""
        whole = posixpath.normpath(posixpath.join(_ROOT, self.path.parent.as_posix(), value))
        return posixpath.relpath(whole, _ROOT) if whole.startswith(_ROOT + "/") else whole

    def _value(self, node: ast.expr | None, local: Mapping[str, str]) -> _Strings:  # noqa: C901  # one match over nodes
        self.steps += 1
        if self.steps > _STEPS:
            raise _Unknown
        match node:
            case ast.Constant(str(value)):
                return _Strings((value,))
            case ast.Name("__file__"):
                return _Strings((f"{_ROOT}/{self.path.as_posix()}",))
            case ast.Name(name):
                return _Strings((local[name],)) if name in local else self._named(name, local)
            case ast.JoinedStr(parts):
                return self._joined([self._value(part, local) for part in parts], "".join)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._value(value, local)
            case ast.List(items) | ast.Tuple(items) | ast.Set(items):
                return replace(self._union([self._value(item, local) for item in items]), many=True)
            case ast.Starred(value):
                return self._value(value, local)
            case ast.BinOp(left, ast.Add(), right):
                both = [self._value(left, local), self._value(right, local)]
                return self._union(both) if any(each.many for each in both) else self._joined(both, "".join)
            case ast.BinOp(left, ast.Div(), right):
                return self._joined([self._value(left, local), self._value(right, local)], _join)
            case ast.IfExp(body=body, orelse=orelse):
                return self._union([self._value(body, local), self._value(orelse, local)])
            case ast.BoolOp(values=values):
                return self._union([self._value(value, local) for value in values])
            case ast.Attribute(value, "parent"):
                return self._each(self._value(value, local), posixpath.dirname)
            case ast.ListComp(element, [ast.comprehension(ast.Name(name), iterable)]) | ast.GeneratorExp(
                element, [ast.comprehension(ast.Name(name), iterable)]
            ):
                each = self._value(iterable, local).values
                return replace(self._union([self._value(element, {**local, name: one}) for one in each]), many=True)
            case ast.Call():
                return self._call(node, local)
        raise _Unknown

    def _named(self, name: str, local: Mapping[str, str]) -> _Strings:
        values = self.assigned.get(name)
        if not values:
            raise _Unknown
        found = []
        for value in values:
            # `x = x + […]` adds to what x is anyway.
            if value is not None and id(value) in self.evaluating:
                continue
            self.evaluating.add(id(value))
            try:
                found.append(self._value(value, local))
            finally:
                self.evaluating.discard(id(value))
        return self._union(found)

    def _call(self, node: ast.Call, local: Mapping[str, str]) -> _Strings:
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if isinstance(function, ast.Name):
            name = self.imported.get(name, name).rpartition(".")[2]
        method = function.value if isinstance(function, ast.Attribute) else None
        # A method of a path, not a function of a module.
        if method is not None and ast.unparse(method).split(".")[0] in self.imported:
            method = None
        given = [self._value(argument, local) for argument in node.args] if name not in ("map", "filter") else []
        if method is not None and name != "cwd":
            given.insert(0, self._value(method, local))
        match name, given:
            case "join" | "joinpath" | "Path" | "PurePath" | "PurePosixPath", [_, *_] if not isinstance(
                method, ast.Constant
            ):
                return self._joined(given, _join)
            case "dirname", [path]:
                return self._each(path, posixpath.dirname)
            case (
                "abspath" | "realpath" | "normpath" | "expanduser" | "fspath" | "str" | "resolve" | "absolute"
                | "as_posix" | "relpath" | "relative_to"
            ), [path, *_]:  # fmt: skip
                return path
            case "getcwd" | "cwd", []:
                return _Strings(("",))
            case "glob" | "iglob", [pattern]:
                return self._matching(pattern)
            case "glob", [folder, pattern]:
                return self._matching(self._joined([folder, pattern], _join))
            case "rglob", [folder, pattern]:
                return self._matching(self._joined([folder, _Strings(("**",)), pattern], _join))
            case "sorted" | "list" | "set" | "tuple" | "reversed", [values]:
                return replace(values, many=True)
            case "filter", _ if len(node.args) == 2:
                return self._value(node.args[1], local)
            case "map", _ if len(node.args) == 2:
                return self._mapped(node.args[0], self._value(node.args[1], local), local)
        if name in self.functions and method is None:
            return self._returned(self.functions[name], node, given, local)
        raise _Unknown

    def _mapped(self, function: ast.expr, items: _Strings, local: Mapping[str, str]) -> _Strings:
        match function:
            case ast.Lambda(args=ast.arguments(args=[argument]), body=body):
                results = [self._value(body, {**local, argument.arg: item}) for item in items.values]
                return replace(self._union(results), many=True)
            case ast.Name("str") | ast.Attribute(attr="abspath" | "realpath" | "normpath" | "fspath"):
                return replace(items, many=True)
        raise _Unknown

    def _returned(
        self, function: ast.FunctionDef, call: ast.Call, given: Sequence[_Strings], local: Mapping[str, str]
    ) -> _Strings:
        if call.keywords or len(given) != len(function.args.args) or id(function) in self.evaluating:
            raise _Unknown
        if any(len(each.values) != 1 for each in given):
            raise _Unknown
        inner = {arg.arg: each.values[0] for arg, each in zip(function.args.args, given, strict=True)}
        returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
        self.evaluating.add(id(function))
        try:
            return self._union([self._value(value, {**local, **inner}) for value in returns])
        finally:
            self.evaluating.discard(id(function))

    def _matching(self, patterns: _Strings) -> _Strings:
        found: dict[str, None] = {}
        for pattern in patterns.values:
            glob = Glob(self._below_root(pattern))
            found.update((f"{_ROOT}/{name}", None) for name in self.files if glob.matches(name))
        return _Strings(tuple(found), many=True)

    def _each(self, strings: _Strings, change: Callable[[str], str]) -> _Strings:
        return replace(strings, values=tuple(change(value) for value in strings.values))

    def _union(self, all_of: Iterable[_Strings]) -> _Strings:
        strings = list(all_of)
        values = tuple(dict.fromkeys(value for each in strings for value in each.values))
        if len(values) > _VALUES:
            raise _Unknown
        return _Strings(values, any(each.many for each in strings))

    def _joined(self, parts: Sequence[_Strings], join: Callable[[Sequence[str]], str]) -> _Strings:
        count = 1
        for part in parts:
            count *= len(part.values)
        if count > _VALUES or any(part.many for part in parts):
            raise _Unknown
        values = tuple(dict.fromkeys(map(join, itertools.product(*(part.values for part in parts)))))
        if any(len(value) > _LENGTH for value in values):
            raise _Unknown
        return _Strings(values)


def _join(parts: Sequence[str]) -> str:
    return posixpath.join(*parts)


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[position] if len(call.args) > position else None

# SPDX-License-Identifier: Apache-2.0
"""Find the extensions that a Python script builds. Nothing is executed.

If a script computes its sources in ways that static reading cannot follow, its extensions are not `certain`.
"""

from __future__ import annotations

import contextlib
import itertools
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import libcst as cst

from hipport.core.globs import Glob
from hipport.program.extension_facts import Extension
from hipport.program.script_names import Binding, ScriptNames, called
from hipport.syntax.python_script import Python, literal


def include_folders(script: Python) -> tuple[str, ...]:
    """Return the include folders that a Python script gives to a compiler, as paths from the tree's root."""
    places = (posixpath.normpath(place) for place in ExtensionScript(script, ()).include_folders())
    in_tree = ("." if place == _ROOT else place for place in places)
    return tuple(dict.fromkeys(place for place in in_tree if not posixpath.isabs(place)))


_KINDS = ("CUDAExtension", "CppExtension", "load", "load_inline")
#: Stands for the project's root in evaluated paths.
_ROOT = "/<root>"
#: Limits on steps, values of one expression, and characters of one value; a script that exceeds them is given up.
_STEPS, _VALUES, _LENGTH = 50_000, 4000, 4096


class _Unknown(Exception):
    """An expression whose value static reading cannot find."""


@dataclass(frozen=True)
class _Strings:
    """The possible values of an expression: one of `values`, or (`many`) a list of them."""

    values: tuple[str, ...]
    many: bool = False


class ExtensionScript:
    """A Python script, read for the extensions that it builds.

    Branches are not distinguished: a name stands for everything that is assigned to it in its scope, and both outcomes
    of a condition count, so that an extension has every source that it may have on any machine.
    """

    def __init__(self, source: Python, files: Iterable[PurePath]) -> None:
        self.path = source.path
        self.files = {path.as_posix(): path for path in files}
        self.names = source.fact(_names)
        self.nodes = self.names.nodes if self.names is not None else []
        self.evaluating: set[object] = set()
        self.steps = 0

    def extensions(self) -> Iterator[Extension]:
        """Yield the extensions that the script builds; calls that may be about the same extension are merged."""
        found: dict[str | None, Extension] = {}
        for node in self.nodes:
            if isinstance(node, cst.Call) and (kind := self._kind(node.func)):
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
        """Yield the include folders in the tree that the script gives to a compiler, as paths from its root."""
        texts: list[str] = []
        for node in self.nodes:
            match node:
                case cst.Arg(keyword=cst.Name("include_dirs" | "extra_include_paths"), value=value):
                    for each in _items(value) if isinstance(value, (cst.List, cst.Tuple)) else [value]:
                        yield from self._folders(each)
                case (
                    cst.SimpleString() | cst.ConcatenatedString() | cst.FormattedString()
                    | cst.BinaryOperation(operator=cst.Add())
                ) if _begins_with(node, "-I"):  # fmt: skip
                    with contextlib.suppress(_Unknown, RecursionError):
                        texts += [text for text in self._value(node, {}).values if len(text) > 2]
        yield from (self._below_root(text[2:]) for text in texts)

    def _folders(self, node: cst.BaseExpression) -> Iterator[str]:
        try:
            values = self._value(node, {}).values
        except (_Unknown, RecursionError):
            # Of a sum of lists, the known parts: `include_paths() + ["include"]`.
            match node:
                case cst.Name():
                    parts = [each for each in self._ever(node) if each is not None]
                case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
                    parts = [left, right]
                case cst.List() | cst.Tuple():
                    parts = _items(node)
                case cst.Call(func=cst.Name(name)) if self.names is not None and name in self.names.functions:
                    parts = [each.value for each in self.names.returns(self.names.functions[name]) if each.value]
                case _:
                    parts = []
            for each in parts:
                if each not in self.evaluating:
                    self.evaluating.add(each)
                    yield from self._folders(each)
                    self.evaluating.discard(each)
            return
        yield from map(self._below_root, values)

    def _kind(self, function: cst.CSTNode | None, depth: int = 0) -> str | None:
        """Return which of `_KINDS` a function is, or may be."""
        assert self.names is not None
        match function:
            case cst.Name(name):
                module, _, real = self.names.modules_imported.get(name, "").rpartition(".")
                if real in _KINDS and module.endswith("cpp_extension"):
                    return real
                if name in _KINDS[:2]:
                    return name
                kinds = [self._kind(value, depth + 1) for value in self._ever(function) if depth < 5]
                return min((kind for kind in kinds if kind), key=_KINDS.index, default=None)
            case cst.Attribute(value=value, attr=cst.Name(name)) if name in _KINDS:
                module = self.names.code(value)
                module = self.names.modules_imported.get(module, module)
                return name if name in _KINDS[:2] or module.endswith("cpp_extension") else None
            case cst.IfExp(body=body, orelse=orelse):
                kinds = [self._kind(body, depth + 1), self._kind(orelse, depth + 1)]
                return min((kind for kind in kinds if kind), key=_KINDS.index, default=None)
        return None

    def _one(self, node: cst.CSTNode | None) -> str | None:
        try:
            values = self._value(node, {}).values
        except (_Unknown, RecursionError):
            return None
        return values[0] if len(values) == 1 else None

    def _sources(self, node: cst.CSTNode | None) -> tuple[PurePath, ...] | None:
        try:
            values = self._value(node, {}).values
        except (_Unknown, RecursionError):
            return None
        found = (self.files.get(self._below_root(value)) for value in values)
        return tuple(dict.fromkeys(path for path in found if path))

    def _below_root(self, value: str) -> str:
        """Return a path in the script relative to the root, as it is if the script runs in its own folder."""
        whole = posixpath.normpath(posixpath.join(_ROOT, self.path.parent.as_posix(), value))
        return posixpath.relpath(whole, _ROOT) if whole.startswith(_ROOT + "/") else whole

    def _value(  # one match over nodes
        self, node: cst.CSTNode | None, local: Mapping[str, str]
    ) -> _Strings:
        self.steps += 1
        if self.steps > _STEPS:
            raise _Unknown
        match node:
            case cst.SimpleString() if isinstance(text := literal(node), str):
                return _Strings((text,))
            case cst.ConcatenatedString(left=left, right=right):
                return self._joined([self._value(left, local), self._value(right, local)], "".join)
            case cst.Name("__file__"):
                return _Strings((f"{_ROOT}/{self.path.as_posix()}",))
            case cst.Name(name):
                return _Strings((local[name],)) if name in local else self._named(node, local)
            case cst.FormattedString(parts=parts):
                return self._joined([self._part(node, part, local) for part in parts], "".join)
            case cst.List() | cst.Tuple() | cst.Set():
                return replace(self._union([self._value(item, local) for item in _items(node)]), many=True)
            case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
                both = [self._value(left, local), self._value(right, local)]
                return self._union(both) if any(each.many for each in both) else self._joined(both, "".join)
            case cst.BinaryOperation(left=left, operator=cst.Divide(), right=right):
                return self._joined([self._value(left, local), self._value(right, local)], _join)
            case cst.IfExp(body=one, orelse=other) | cst.BooleanOperation(left=one, right=other):
                return self._union([self._value(one, local), self._value(other, local)])
            case cst.Attribute(value=value, attr=cst.Name("parent")):
                return self._each(self._value(value, local), posixpath.dirname)
            case (
                cst.ListComp(elt=element, for_in=cst.CompFor(target=cst.Name(name), iter=iterable, inner_for_in=None))
                | cst.GeneratorExp(
                    elt=element, for_in=cst.CompFor(target=cst.Name(name), iter=iterable, inner_for_in=None)
                )
            ):
                each = self._value(iterable, local).values
                return replace(self._union([self._value(element, {**local, name: one}) for one in each]), many=True)
            case cst.Call():
                return self._call(node, local)
        raise _Unknown

    def _part(
        self, string: cst.FormattedString, part: cst.BaseFormattedStringContent, local: Mapping[str, str]
    ) -> _Strings:
        """Return the possible values of one part of an f-string."""
        match part:
            case cst.FormattedStringText(value=text):
                prefix = string.start.replace("f", "").replace("F", "")
                whole = cst.SimpleString(f"{prefix}{text.replace('{{', '{').replace('}}', '}')}{string.end}")
                # In `f"\\{x}"` the backslash by itself is not a valid string.
                with contextlib.suppress(SyntaxError, ValueError):
                    return _Strings((str(literal(whole)),))
            case cst.FormattedStringExpression(expression=value, conversion=None, format_spec=None):
                return self._value(value, local)
        raise _Unknown

    def _ever(self, name: cst.Name) -> list[cst.BaseExpression | None]:
        """Return all values that a name may get, and those added to it; None for an unknown value."""
        assert self.names is not None
        bindings = self.names.bound(name) or self.names.bound_anywhere(name.value)
        return [_given(binding, name.value) for binding in bindings]

    def _named(self, name: cst.Name, local: Mapping[str, str]) -> _Strings:
        values = self._ever(name)
        if not values:
            raise _Unknown
        found = []
        for value in values:
            # `x = x + […]` adds to the values that x has anyway.
            if value is not None and value in self.evaluating:
                continue
            self.evaluating.add(value)
            try:
                found.append(self._value(value, local))
            finally:
                self.evaluating.discard(value)
        return self._union(found)

    def _call(self, node: cst.Call, local: Mapping[str, str]) -> _Strings:
        assert self.names is not None
        imported = self.names.modules_imported
        name = called(node)
        if isinstance(node.func, cst.Name):
            name = imported.get(name, name).rpartition(".")[2]
        method = node.func.value if isinstance(node.func, cst.Attribute) else None
        # A method of a path, not a function of a module.
        if method is not None and self.names.code(method).partition(".")[0] in imported:
            method = None
        arguments = [argument.value for argument in node.args if argument.keyword is None and argument.star != "**"]
        given = [self._value(argument, local) for argument in arguments] if name not in ("map", "filter") else []
        if method is not None and name != "cwd":
            given.insert(0, self._value(method, local))
        match name, given:
            case "join" | "joinpath" | "Path" | "PurePath" | "PurePosixPath", [_, *_] if not isinstance(
                method, (cst.SimpleString, cst.ConcatenatedString)
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
            case "filter", _ if len(arguments) == 2:
                return self._value(arguments[1], local)
            case "map", _ if len(arguments) == 2:
                return self._mapped(arguments[0], self._value(arguments[1], local), local)
        function = self.names.functions.get(name)
        if function is not None and method is None:
            return self._returned(function, node, given, local)
        raise _Unknown

    def _mapped(self, function: cst.BaseExpression, items: _Strings, local: Mapping[str, str]) -> _Strings:
        match function:
            case cst.Lambda(params=cst.Parameters(params=[argument]), body=body):
                results = [self._value(body, {**local, argument.name.value: item}) for item in items.values]
                return replace(self._union(results), many=True)
            case cst.Name("str") | cst.Attribute(attr=cst.Name("abspath" | "realpath" | "normpath" | "fspath")):
                return replace(items, many=True)
        raise _Unknown

    def _returned(
        self, function: cst.FunctionDef, call: cst.Call, given: Sequence[_Strings], local: Mapping[str, str]
    ) -> _Strings:
        assert self.names is not None
        parameters = function.params.params
        keywords = any(argument.keyword is not None or argument.star == "**" for argument in call.args)
        if keywords or len(given) != len(parameters) or function in self.evaluating:
            raise _Unknown
        if any(len(each.values) != 1 for each in given):
            raise _Unknown
        inner = {each.name.value: one.values[0] for each, one in zip(parameters, given, strict=True)}
        returned = [node.value for node in self.names.returns(function)]
        self.evaluating.add(function)
        try:
            return self._union([self._value(value, {**local, **inner}) for value in returned])
        finally:
            self.evaluating.discard(function)

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


def _names(source: Python) -> ScriptNames | None:
    return ScriptNames(source) if source.module is not None else None


def _items(row: cst.List | cst.Tuple | cst.Set) -> list[cst.BaseExpression]:
    return [element.value for element in row.elements]


def _begins_with(node: cst.CSTNode, text: str) -> bool:
    """Say whether a string, or the first part of a sum of strings, starts with `text`."""
    match node:
        case cst.SimpleString():
            return node.raw_value.startswith(text)
        case cst.FormattedString(parts=[cst.FormattedStringText(value=first), *_]):
            return first.startswith(text)
        # The left operand of a longer sum is itself a sum.
        case cst.ConcatenatedString(left=left) | cst.BinaryOperation(left=cst.SimpleString() as left):
            return _begins_with(left, text)
    return False


def _given(binding: Binding, name: str) -> cst.BaseExpression | None:
    """Return the value that a name gets: in `a, b = x, y` the one at its position."""
    if binding.how == "parameter":
        return None
    if binding.value is None and isinstance(binding.node, cst.Assign):
        pairs: list[tuple[cst.BaseExpression, cst.BaseExpression]]
        pairs = [(target.target, binding.node.value) for target in binding.node.targets]
        for target, value in pairs:
            match target, value:
                case cst.Name(own), _ if own == name:
                    return value
                case ((cst.Tuple() | cst.List()), (cst.Tuple() | cst.List())) if len(target.elements) == len(
                    value.elements
                ):
                    pairs += zip(_items(target), _items(value), strict=True)
    return binding.value


def _argument(call: cst.Call, position: int, name: str) -> cst.BaseExpression | None:
    for argument in call.args:
        if argument.keyword is not None and argument.keyword.value == name:
            return argument.value
    positional = [argument.value for argument in call.args if argument.keyword is None and argument.star != "**"]
    return positional[position] if len(positional) > position else None

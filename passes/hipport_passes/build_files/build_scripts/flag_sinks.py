# SPDX-License-Identifier: Apache-2.0
"""Where a Python build script passes flags to compilers and linkers: arguments, tables, environment variables.

`flag_groups` follows the flags from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from hipport.core.tables import Words
from hipport.program.script_names import called
from hipport.syntax.build_names import NAMES
from hipport_passes.build_files.build_scripts.script import Script

_OF_KEY = {"nvcc": "nvcc", "cxx": "host", "gcc": "host", "g++": "host"}
_OF_KEYWORD = {
    "extra_cuda_cflags": "jit",
    "extra_cflags": "host",
    "extra_ldflags": "link",
    "extra_link_args": "link",
    "libraries": "library",
    "include_dirs": "folder",
    "library_dirs": "folder",
    "runtime_library_dirs": "folder",
    "extra_include_paths": "folder",
    "define_macros": "macro",
}
_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_NAMED_FLAGS = _WORDS.compile(r"_*(?:\w+_)?(?&nvcc)_?(?:\w+_)?(?&options)|(?&of_cuda)", re.IGNORECASE)
#: Environment variables with flags for compilers and linkers of extensions, and their readers.
_VARIABLES = {"CFLAGS": "host", "CXXFLAGS": "host", "CPPFLAGS": "host", "LDFLAGS": "link"}


class Sink(NamedTuple):
    """A value and its receiver: `nvcc`, `jit` and so on, as in `Group.uses`.

    `split`: whether a string there is split into words. `appended`: whether `node` is a call that appends.
    """

    node: cst.CSTNode
    use: str
    split: bool = False
    appended: bool = False


def sinks(script: Script) -> Iterator[Sink]:
    """Yield the sinks in arguments, tables and variables with such names."""
    for node in script.nodes:
        match node:
            case cst.DictElement():
                yield from _of_entry(script, node)
            case cst.Param(name=cst.Name(name), default=cst.BaseExpression() as default):
                if _NAMED_FLAGS.fullmatch(name):
                    yield Sink(default, "nvcc")
            case cst.Assign() | cst.AugAssign():
                yield from _of_assignment(script, node)
            case cst.Call():
                yield from _of_call(script, node)
            case cst.Arg(keyword=cst.Name(keyword)):
                yield from _of_argument(script, node, keyword)
            case cst.FunctionDef(name=cst.Name(name)) if _NAMED_FLAGS.fullmatch(name):
                for returned in script.returns(node):
                    assert returned.value is not None
                    yield Sink(returned.value, "nvcc")


def _of_entry(script: Script, node: cst.DictElement) -> Iterator[Sink]:
    key = script.text(node.key)
    if key in _OF_KEY:
        yield Sink(node.value, _OF_KEY[key])
    elif _NAMED_FLAGS.fullmatch(key):
        yield Sink(node.value, "nvcc")
    elif key in _OF_KEYWORD and _is_given_by_name(script, script.parent[node]):
        yield Sink(node.value, _OF_KEYWORD[key])


def _of_assignment(script: Script, node: cst.Assign | cst.AugAssign) -> Iterator[Sink]:
    match node:
        case (
            cst.Assign(targets=[cst.AssignTarget(cst.Subscript() as target)])
            | cst.AugAssign(target=cst.Subscript() as target)
        ) if (key := script.key(target)) in _OF_KEY:
            yield Sink(node.value, _OF_KEY[key])
        case cst.Assign(targets=[cst.AssignTarget(cst.Subscript(value=cst.Subscript() as target))]) if (
            key := script.key(target)
        ) in _OF_KEY:
            yield Sink(node.value, _OF_KEY[key])
        # `extension.extra_link_args += …`
        case (
            cst.Assign(targets=[cst.AssignTarget(cst.Attribute(attr=cst.Name(keyword)))])
            | cst.AugAssign(target=cst.Attribute(attr=cst.Name(keyword)))
        ) if keyword in _OF_KEYWORD:
            yield Sink(node.value, _OF_KEYWORD[keyword])
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name) as target)]) if _NAMED_FLAGS.fullmatch(name):
            yield Sink(target, "nvcc")


def _of_call(script: Script, node: cst.Call) -> Iterator[Sink]:
    match node.func:
        case cst.Attribute(value=cst.Subscript() as target, attr=cst.Name(method)):
            use = _OF_KEY.get(script.key(target))
        case cst.Attribute(value=cst.Attribute(attr=cst.Name(keyword)), attr=cst.Name(method)):
            use = _OF_KEYWORD.get(keyword)
        case _:
            return
    if use is None:
        return
    keyed = isinstance(node.func.value, cst.Subscript)
    if method == "extend" and (node.args if keyed else len(node.args) == 1):
        yield Sink(node.args[0].value, use)
    elif (method == "append" or (keyed and method == "insert")) and script.runs(node).both:
        yield Sink(node, use, appended=True)


def _of_argument(script: Script, node: cst.Arg, keyword: str) -> Iterator[Sink]:
    call = script.parent[node]
    assert isinstance(call, (cst.Call, cst.ClassDef))
    if isinstance(call, cst.Call) and called(call) == "dict" and keyword in _OF_KEY:
        yield Sink(node.value, _OF_KEY[keyword])
    elif keyword in _OF_KEYWORD:
        yield Sink(node.value, _OF_KEYWORD[keyword])
    elif _NAMED_FLAGS.fullmatch(keyword):
        yield Sink(node.value, "nvcc")
    elif keyword == "extra_compile_args" and isinstance(call, cst.Call):
        yield Sink(node.value, "host")
        if called(call) not in ("CppExtension", "Pybind11Extension"):
            yield Sink(node.value, "nvcc")


def _is_given_by_name(script: Script, table: cst.CSTNode, depth: int = 0) -> bool:
    """Return whether a table holds keyword arguments of calls: `CUDAExtension(**table)`."""
    match script.parent.get(table):
        case cst.Arg(star="**"):
            return True
        case cst.DictElement() if of_build_ext(script, table):
            return True
        case cst.StarredDictElement() as inside if depth < 4:
            return _is_given_by_name(script, script.parent[inside], depth + 1)
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name) as target)]) if depth < 4:
            uses = [use for use in script.named(name) if use is not target]
            return any(_is_given_by_name(script, use, depth + 1) for use in uses)
    return False


def of_build_ext(script: Script, table: cst.CSTNode) -> bool:
    """Return whether a table has the options of build_ext: `setup(options={"build_ext": …})`."""
    above = script.parent.get(table)
    return isinstance(above, cst.DictElement) and above.value is table and script.text(above.key) == "build_ext"


def variables(script: Script) -> Iterator[Sink]:
    """Yield the values of environment variables that compilers read flags from."""
    for node in script.nodes:
        match node:
            case (
                cst.Assign(targets=[cst.AssignTarget(cst.Subscript() as target)], value=value)
                | cst.AugAssign(target=cst.Subscript() as target, value=value)
            ) if script.code(target.value).endswith("environ") and (use := _use_of(script, script.key(target))):
                yield Sink(value, use, split=True)
            case cst.Call(
                func=cst.Attribute(value=receiver, attr=cst.Name("setdefault")),
                args=[cst.Arg(key_node), cst.Arg(value)],
            ) if script.code(receiver).endswith("environ") and (use := _use_of(script, script.text(key_node))):
                yield Sink(value, use, split=True)


def _use_of(script: Script, variable: str) -> str:
    """Return the receiver of an environment variable if its name shows it, or ""."""
    if _NAMED_FLAGS.fullmatch(variable):
        # A variable that the script itself reads, not nvcc.
        name = rf"[\"']{re.escape(variable)}[\"']"
        read = rf"(?:environ\.get|getenv)\(\s*{name}|environ\[{name}\](?!\s*\+?=)"
        return "nvcc" if re.search(read, script.module.code) else ""
    return _VARIABLES.get(variable, "")

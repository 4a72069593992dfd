# SPDX-License-Identifier: Apache-2.0
"""Requirements in a setup.py: values that reach `install_requires` and the like, through names and functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport.syntax.python_script import Misplaced, Python
from hipport_passes.build_files.build_scripts.script import Script
from hipport_passes.packages.asking import Asking, finding, note, part, says_cuda_index
from hipport_passes.packages.judge import Verdict
from hipport_passes.packages.lists import without

_KEYWORDS = frozenset("install_requires extras_require setup_requires tests_require dependency_links".split())
_Lists = cst.List | cst.Tuple | cst.Set | cst.Call
_LIKE = NAMES.compile(r"[A-Za-z0-9_.-]+\s*(?:\[[^\]]*\])?\s*(?:[@;<>=!~(].*)?|\w+\+\S+|(?&https)://\S+", re.DOTALL)


def in_python(source: Python, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on a setup.py."""
    if source.module is None:
        return
    script = source.fact(Script)
    try:
        yield from _in_script(source, script, asking)
    except Misplaced:
        return  # `cpp_extension` reports that such a file cannot be read.


def _in_script(source: Python, script: Script, asking: Asking) -> Iterator[Finding]:
    for items in _lists(script):
        if not script.runs(items).both:
            continue
        if isinstance(items, cst.Call):
            if _split(script, items):
                yield from _of_text(source, script, items, asking)
            else:
                yield from _of_call(source, items, asking)
            continue
        elements = [element.value for element in items.elements]
        spans = [source.span(element) for element in elements]
        going: dict[int, Verdict] = {}
        for number, element in enumerate(elements):
            if not isinstance(element, cst.SimpleString) or "b" in element.prefix or "\\" in element.raw_value:
                continue
            text = element.raw_value
            span, opening = spans[number], len(element.prefix) + len(element.quote)
            if text.startswith("http") and says_cuda_index(text):
                message = f"{text} has builds for CUDA; pip ignores dependency_links, other tools read them"
                yield Finding(span, "index", message, (), Certainty.MANUAL)
                continue
            verdict = asking.judge(text) if _LIKE.fullmatch(text.strip()) else None
            if verdict is None:
                continue
            if verdict.what == "out":
                going[number] = verdict
            else:
                edit = (part(verdict, text, span.start + opening),) if verdict.what == "edit" else ()
                yield finding(span, verdict, edit)
        notes = {number: note(verdict) for number, verdict in going.items()}
        edits = without(source.text, spans, notes, is_tuple=isinstance(items, cst.Tuple))
        for number, verdict in going.items():
            yield finding(spans[number], verdict, edits[number])


def _of_call(source: Python, call: cst.Call, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on `requires.append("…")`."""
    element = call.args[-1].value
    if not isinstance(element, cst.SimpleString) or "b" in element.prefix or "\\" in element.raw_value:
        return
    text = element.raw_value
    verdict = asking.judge(text) if _LIKE.fullmatch(text.strip()) else None
    if verdict is None:
        return
    span = source.span(element)
    edits: tuple[Edit, ...] = ()
    if verdict.what == "edit":
        edits = (part(verdict, text, span.start + len(element.prefix) + len(element.quote)),)
    elif verdict.what == "out":
        assert isinstance(call.func, cst.Attribute)
        # The statement stays, without effect.
        edits = (Edit(Span(source.span(call.func.attr).start, source.span(call).end), b"extend([])"),)
    yield finding(span, verdict, edits)


def _split(script: Script, call: cst.Call) -> bool:
    """Return whether a call splits a text into a list: `"torch numpy".split()`."""
    match call.func:
        case cst.Attribute(value=text, attr=cst.Name("split" | "splitlines")):
            return HOLE not in _text(script, text)
    return False


def _text(script: Script, node: cst.BaseExpression) -> str:
    """Return the text of a string expression, without blanks that are stripped."""
    match node:
        case cst.Call(func=cst.Attribute(value=text, attr=cst.Name("strip" | "lstrip" | "rstrip")), args=[]):
            return _text(script, text)
        case cst.Call(func=cst.Attribute(attr=cst.Name("dedent")) | cst.Name("dedent"), args=[cst.Arg(text)]):
            return _text(script, text)
    return script.text(node)


def _of_text(source: Python, script: Script, call: cst.Call, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on several requirements in one text, which a person has to change."""
    assert isinstance(call.func, cst.Attribute)
    text = _text(script, call.func.value)
    words = text.splitlines() if "\n" in text else text.split()
    for word in words:
        verdict = asking.judge(word.strip()) if _LIKE.fullmatch(word.strip()) else None
        if verdict is not None:
            said = "" if verdict.what == "manual" else "; hipport cannot edit it in this form; change it by hand"
            yield Finding(source.span(call), verdict.kind, verdict.message + said, (), Certainty.MANUAL)


def required(source: Python) -> Iterator[tuple[int, str]]:
    """Yield the requirements of a package, with their places. Raises Misplaced."""
    script = source.fact(Script)
    for items in _lists(script, frozenset({"install_requires"})):
        if script.runs(items).rocm:
            if isinstance(items, cst.Call) and _split(script, items):
                assert isinstance(items.func, cst.Attribute)
                for word in re.split(r"\s*\n\s*|\s+(?![<>=!~;])", _text(script, items.func.value).strip()):
                    if _LIKE.fullmatch(word):
                        yield source.span(items).start, word
                continue
            values = items.args if isinstance(items, cst.Call) else items.elements
            for value in (each.value for each in values):
                if isinstance(value, cst.SimpleString) and _LIKE.fullmatch(value.raw_value.strip()):
                    yield source.span(value).start, value.raw_value


def _lists(script: Script, keywords: frozenset[str] = _KEYWORDS) -> Iterator[_Lists]:
    """Yield the lists of strings that reach the keywords of a call, each once, and calls that add a string."""
    seen: set[cst.CSTNode] = set()
    names: set[str] = set()
    waiting = list(_given_for(script, keywords))
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        match node:
            case cst.List() | cst.Tuple() | cst.Set():
                yield node
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=("append" | "insert")))) if node.args:
                yield node
                continue
            case cst.Call() if _split(script, node):
                yield node
                continue
            case cst.Name(value=name):
                waiting += _assigned(script, name) if name not in names else ()
                names.add(name)
        waiting += _made_of(script, node)


def _given_for(script: Script, keywords: frozenset[str]) -> Iterator[cst.CSTNode]:
    """Yield the values for keywords in calls and in tables of arguments."""
    for node in script.nodes:
        if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value in keywords:
            yield node.value
        elif isinstance(node, cst.DictElement):
            key = node.key
            if isinstance(key, cst.SimpleString) and key.raw_value in keywords:
                yield node.value


def _made_of(script: Script, node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Return the expressions that an expression consists of, or that a function of the file returns."""
    match node:
        case cst.List() | cst.Tuple() | cst.Set():
            return [each.value for each in node.elements if not isinstance(each.value, cst.SimpleString)]
        case cst.Dict():
            return [each.value for each in node.elements]
        case cst.BinaryOperation():
            return node.left, node.right
        case cst.IfExp():
            return node.body, node.orelse
        case cst.Call(func=cst.Name(value=("list" | "sorted" | "set" | "tuple" | "dict"))):
            return [each.value for each in node.args]
        case cst.Call(func=cst.Name(value=name)) if name in script.functions:
            return [
                each.value
                for each in script.nodes
                if isinstance(each, cst.Return)
                and each.value is not None
                and script.function(each) is script.functions[name]
            ]
    return ()


def _assigned(script: Script, name: str) -> Iterator[cst.CSTNode]:
    """Yield the values that are assigned, added and appended to a name."""
    for node in script.nodes:
        match node:
            case cst.Assign():
                for target in node.targets:
                    if _root(target.target) == name:
                        yield node.value
            case cst.AnnAssign() if node.value is not None and _root(node.target) == name:
                yield node.value
            case cst.AugAssign() if _root(node.target) == name:
                yield node.value
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=("extend" | "update")))) if _root(node.func) == name:
                yield from (each.value for each in node.args)
            case cst.Call(func=cst.Attribute(attr=cst.Name(value=("append" | "insert")))) if _root(node.func) == name:
                yield node


def _root(node: cst.CSTNode) -> str:
    """Return the name in `name`, `name["key"]` and `name.extend`."""
    while isinstance(node, (cst.Subscript, cst.Attribute)):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""

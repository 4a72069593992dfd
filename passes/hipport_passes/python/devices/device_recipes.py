# SPDX-License-Identifier: Apache-2.0
"""Back ends and options that ROCm lacks, by the recipes of the table."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Python

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script

_TABLE = Path(__file__).parent.parent / "device_strings.toml"


@functools.cache
def known_recipes() -> tuple[Mapping[str, Any], ...]:
    return tuple(load(_TABLE)["recipe"])


# Optional prefixes of a recipe's pattern, which a search does not need: in a long line they would be tried from each
# place to the end.
_LEADING = re.compile(r"(?:(?<=\|)|(?<=^)|(?<=\(\?:))(?:\(\?:\.\+\\\.\)\?|\\w\+(?=_))")


@functools.cache
def _quick(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode())


_LINE = re.compile(rb"[^\r\n]+")
_IMPORTING = re.compile(rb"\b(?:import|from)[ \t]+")


def _imports(text: bytes, name: str) -> bool:
    """Whether a line imports the name. A pattern for both would try each of many imports in one line to its end."""
    if name.encode() not in text:
        return False
    named = _quick(rf"\b{name}\b")
    for line in _LINE.finditer(text):
        first = _IMPORTING.search(text, line.start(), line.end())
        if first is not None and named.search(text, first.end(), line.end()):
            return True
    return False


def concerns(recipe: Mapping[str, Any], source: Python) -> bool:
    """Return whether the recipe can find anything in the file; a quick test."""
    if "keyword" in recipe and recipe["keyword"].encode() not in source.text:
        return False
    imports = recipe.get("imports", ())
    if imports and not any(_imports(source.text, name) for name in imports):
        return False
    wanted = recipe.get("string") or recipe.get("attribute") or recipe.get("argument") or recipe.get("call")
    if wanted is not None and not _quick(_LEADING.sub("", wanted)).search(source.text):
        return False
    unless = recipe.get("unless")
    return unless is None or not _quick(unless).search(source.text)


def back_ends(script: Script, recipe: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the places of a recipe, unless the program has decided for ROCm."""
    import libcst as cst

    for node in script.nodes:
        if not _matches(script, node, recipe) or not script.runs(node).both or _tried(script, node):
            continue
        span, why = script.source.span(node), str(recipe["why"])
        if "new" in recipe:
            assert isinstance(node, cst.SimpleString)
            inside = Span(span.start + len(node.prefix) + len(node.quote), span.end - len(node.quote))
            edit = Edit(inside, recipe["new"].encode())
            yield Finding(span, recipe["kind"], why, (edit,), Certainty.REVIEW)
        elif "rocm" in recipe and (text := _chosen(script, node, recipe["rocm"])) and _has_torch(script):
            edit = Edit(span, text.encode("utf-8"))
            yield Finding(span, recipe["kind"], why, (edit,), Certainty.REVIEW)
        else:
            yield Finding(span, recipe["kind"], why, (), Certainty.MANUAL)
        if recipe.get("once"):
            return


def _matches(script: Script, node: cst.CSTNode, recipe: Mapping[str, Any]) -> bool:
    import libcst as cst

    if "call" in recipe:
        if "argument" in recipe:
            # The string is the place, at any index among the arguments.
            above = script.parent.get(node)
            if not (isinstance(node, cst.SimpleString) and isinstance(above, cst.Arg)):
                return False
            call = script.parent[above]
            return (
                isinstance(call, cst.Call)
                and re.fullmatch(recipe["argument"], script.text(node)) is not None
                and re.fullmatch(recipe["call"], script.code(call.func)) is not None
            )
        return isinstance(node, cst.Call) and re.fullmatch(recipe["call"], script.code(node.func)) is not None
    if "keyword" in recipe:
        return (
            (script.text(node) if isinstance(node, cst.SimpleString) else script.constant(node)) in recipe["values"]
            and isinstance(node, cst.SimpleString | cst.Name)
            and _keyed(script, node) == recipe["keyword"]
        )
    if "string" in recipe:
        return (
            isinstance(node, cst.SimpleString)
            and re.fullmatch(recipe["string"], script.text(node)) is not None
            and not script.is_compared(node)
            and isinstance(script.parent[node], (cst.Element, cst.Arg, cst.Assign, cst.Tuple, cst.DictElement))
        )
    return isinstance(node, cst.Attribute) and re.fullmatch(recipe["attribute"], script.code(node)) is not None


def _keyed(script: Script, node: cst.CSTNode) -> str:
    """Return the keyword, the attribute or the key of the value."""
    import libcst as cst

    match script.parent[node]:
        case cst.Arg(keyword=cst.Name(name)):
            return name
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(name)))]):
            return name.lstrip("_")
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)]):
            return script.key(target)
        # `os.environ.setdefault("ATTN_BACKEND", "xformers")`
        case cst.Arg() as argument if isinstance(call := script.parent[argument], cst.Call) and len(call.args) == 2:
            return script.text(call.args[0].value) if script.code(call.func).endswith("environ.setdefault") else ""
        case cst.DictElement(key=key):
            return script.text(key)
    return ""


def _chosen(script: Script, node: cst.CSTNode, rocm: str) -> str:
    """Return an expression that is `rocm` on ROCm, and the original elsewhere."""
    import libcst as cst

    own = script.source[script.source.span(node)].decode("utf-8")
    if isinstance(node, cst.Call):
        function = script.code(node.func)
        head, dot, _ = function.rpartition(".")
        kept = [each for each in node.args if each.keyword is not None and each.keyword.value == "device"]
        if not dot or "\n" in own:
            return ""  # The other class would have to be imported.
        device = ", ".join(f"device={script.code(each.value)}" for each in kept)
        text = f"{head}.{rocm}({device}) if torch.version.hip else {own}"
    else:
        quote = own[0] if own[0] in "\"'" else '"'
        text = rocm.replace('"', quote) + f" if torch.version.hip else {own}"
    above = script.parent[node]
    plain = isinstance(above, (cst.Arg, cst.Assign, cst.AnnAssign, cst.Return, cst.DictElement)) or _bracketed(node)
    return text if plain else f"({text})"


def _bracketed(node: cst.CSTNode) -> bool:
    """Return whether the expression has parentheses of its own."""
    return bool(getattr(node, "lpar", ()))


_IMPORTS_TORCH = NAMES.compile(rb"^import (?&torch)\b(?![. ]+as)", re.MULTILINE)


def _has_torch(script: Script) -> bool:
    return _IMPORTS_TORCH.search(script.source.text) is not None


def _tried(script: Script, node: cst.CSTNode) -> bool:
    """Return whether the file handles a failure of the place: by a `try` with little else in it."""
    import libcst as cst

    return any(
        isinstance(above, cst.Try) and child is above.body and len(above.body.body) <= 3
        for above, child in script.ancestors(node)
    )

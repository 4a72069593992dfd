# SPDX-License-Identifier: Apache-2.0
"""Name the GPU as PyTorch for ROCm names it, and say which back ends only an NVIDIA GPU has.

"cuda" is the right device there, and torch.cuda the right module. "hip", "rocm" and "amd" are no devices of PyTorch's,
though `torch.device("hip")` can be made: nothing can be put on it. They become "cuda" where it is certain that PyTorch
gets them, for review where that device may go to others as well. The same words are right elsewhere (JAX, Blender,
IREE, Triton, a program's own options) and stay.

`RasterizeCudaContext` and the like stay as well: what they stand for is CUDA source, which hipport ports.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipport.finding import Certainty, Finding
from hipport.languages.python import Misplaced, Python
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span
from hipport.tables import load

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_scripts.script import Script

_INVENTED = re.compile(r"(?:hip|rocm|amd|amdgpu)(:\d+)?")
# Cheap: what a file must say at all.
_MENTIONS = re.compile(
    rb"[\"'](?:hip|rocm|amd|amdgpu)(?::\d+|:\{[^\"'\r\n]*)?[\"']|\btorch\.(?:backends\.)?(?:hip|rocm|amd)\b"
    rb"|\btorch import[^\r\n]*\b(?:hip|rocm)\b|\.hip\(\)"
)
# A type of tensors.
_TYPE = re.compile(r"torch\.(hip|rocm|amd)\.(?:sparse\.)?[A-Z]\w*Tensor")
_SHOWS = re.compile(
    r"(?:\w+\.)*(?:print|log|info|debug|warn|warning|error|critical|exception|\w*(?:Error|Exception|Warning))"
)
_MODEL = re.compile(
    r"(?:\w+\.)*\w*(?:model|net|module|tensor|encoder|decoder|inputs?|images?|criterion|labels?|targets?)", re.I
)
# A back end of PyTorch's of that name is somebody's own.
_OWN = re.compile(rb"privateuse_?(?:1|one)", re.IGNORECASE)
_MODULE = re.compile(r"torch\.(?:hip|rocm)|torch\.backends\.(?:hip|rocm)")
# Calls of PyTorch's whose first argument is a device.
_FIRST = re.compile(
    r"torch\.(?:device|Generator|autocast|amp\.autocast|amp\.GradScaler|set_default_device|cuda\.\w+|autocast_mode\.autocast)"
)
_LOADS = re.compile(r"torch\.(?:jit\.)?load")
# Libraries that hand their `device` to PyTorch.
_LIBRARIES = r"transformers|diffusers|accelerate|whisper|sentence_transformers|open_clip|clip|lpips|ultralytics|kornia"
_TORCH = re.compile(rb"(?m)^[ \t]*(?:import|from)[ \t][^\r\n]*\b(?:torch|" + _LIBRARIES.encode() + rb")\b")
_KEYWORDS = frozenset(("device", "map_location", "device_type"))
#: By these, libraries get a device that they hand to PyTorch.
_HANDED_ON = frozenset(("device", "device_map"))


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per device that PyTorch does not have, and per back end that ROCm does not have."""
    invented = (
        _MENTIONS.search(source.text) is not None
        and _TORCH.search(source.text) is not None
        and not _OWN.search(source.text)
    )
    recipes = [recipe for recipe in _recipes() if _concerns(recipe, source)]
    if not (invented or recipes) or source.module is None:
        return
    # Only now: the parser takes longer to load than most trees take to port.
    from hipport_passes.build_scripts.script import Script

    script = source.fact(Script)
    findings: list[Finding] = []
    try:
        if invented:
            findings += _devices(script, project)
            findings += _modules(script)
        for recipe in recipes:
            findings += _backends(script, recipe)
    except Misplaced:
        return  # `cpp_extension` says of such a file that it cannot be read, where it builds something.
    findings.sort(key=lambda finding: finding.span)
    yield from findings


# Devices


def _devices(script: Script, project: Project) -> Iterator[Finding]:
    """Yield the strings that PyTorch gets as a device."""
    import libcst as cst

    for node in script.nodes:
        if not isinstance(node, (cst.SimpleString, cst.FormattedString)):
            continue
        word = script.text(node)
        if _TYPE.fullmatch(word):
            yield from _type_of_tensor(script, node)
            continue
        match = _INVENTED.match(word)
        if match is None or not (match.end() == len(word) or word.startswith(f"{match.group()}:")):
            continue
        span = script.source.span(node)
        if _compared(script, node):
            continue
        certain, names = _gets(script, node)
        name = match.group().partition(":")[0]
        message = f"PyTorch has no device {name!r}; on ROCm, too, the GPU is 'cuda'"
        if certain is None:
            continue
        quote = re.match(rb"[A-Za-z]*(?:\"\"\"|'''|\"|')", script.source[span])
        assert quote is not None
        start = span.start + quote.end()
        if any(_asked(script, each, name) for each in names):
            message += f"; the program compares with {name!r}: change both"
            yield Finding(span, "device", message, (), Certainty.MANUAL)
            continue
        # Other files may read what is no function's own.
        if names and (script.function(node) is None or any(isinstance(each, cst.Attribute) for each in names)):
            asks = re.compile(rf"[\"']{name}\b".encode())
            others = (each for each in project.sources if isinstance(each, Python) and each.path != script.source.path)
            if any(asks.search(each.text) for each in others):
                certain = Certainty.REVIEW
        if certain is Certainty.REVIEW:
            message += "; assumes that it is PyTorch's device wherever else it goes from here"
        yield Finding(span, "device", message, (Edit(Span(start, start + len(name)), b"cuda"),), certain)
    yield from _types(script)


def _type_of_tensor(script: Script, node: cst.SimpleString | cst.FormattedString) -> Iterator[Finding]:
    """`"torch.hip.FloatTensor"`: a type that PyTorch does not have."""
    import libcst as cst

    span, word = script.source.span(node), script.text(node)
    code = script.source[span]
    place = code.find(b"torch.")
    match = _TYPE.fullmatch(word)
    assert match is not None
    message = f"PyTorch has no type {word!r}; on ROCm, too, tensors on the GPU have types of torch.cuda"
    if _compared(script, node):
        message += ", so this is never true; torch.version.hip tells ROCm from CUDA"
        yield Finding(span, "type", message, (), Certainty.MANUAL)
        return
    above = script.parent[node]
    certainty = Certainty.REVIEW
    if isinstance(above, cst.Arg):
        call = script.parent[above]
        function = script.code(call.func) if isinstance(call, cst.Call) else ""
        if _SHOWS.fullmatch(function):
            return
        if function.startswith("torch.") or function.endswith(".type"):
            certainty = Certainty.SAFE
    elif isinstance(above, cst.Expr):
        return
    if certainty is Certainty.REVIEW:
        message += "; assumes that PyTorch gets it"
    start = span.start + place + match.start(1)
    yield Finding(span, "type", message, (Edit(Span(start, start + len(match[1])), b"cuda"),), certainty)


def _gets(script: Script, node: cst.CSTNode) -> tuple[Certainty | None, list[cst.CSTNode]]:
    """Say how certain it is that the value is for PyTorch alone, None if it may not be; and where it is read."""
    import libcst as cst

    value, above = node, script.parent[node]
    while (
        isinstance(above, cst.BooleanOperation)
        or (isinstance(above, cst.IfExp) and value is not above.test)
        or isinstance(above, cst.FormattedStringExpression)
    ):
        value, above = above, script.parent[above]
    match above:
        case cst.Arg():
            if _argument(script, above):
                call = script.parent[above]
                if _code(script, call) != "torch.device":
                    return Certainty.SAFE, []
                # Where the device goes that is made here.
                certain, names = _gets(script, call)
                return (Certainty.REVIEW if certain is None else certain), names
            return (Certainty.REVIEW if _handed_on(script, above) else None), []
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]):
            pass
        case cst.AnnAssign(target=cst.Name() | cst.Attribute() as target):
            pass
        case cst.Param(name=target) if above.default is value:
            pass
        case cst.DictElement() if (of := script.parent.get(script.parent[above])) is not None and _is_location(of):
            # Checkpoints have no such place either.
            return (Certainty.SAFE if value is above.value else Certainty.REVIEW), []
        case cst.Return():
            function = script.function(above)
            uses: list[cst.CSTNode] = list(script.calls(function.name.value)) if function is not None else []
        case _:
            return None, []
    if not isinstance(above, cst.Return):
        uses = [each for each in _uses(script, target) if each is not target]
    passed = [each for each in uses if _passed(script, each)]
    if not passed:
        return None, uses
    # What a function returns may be asked for in other files.
    others = [each for each in uses if each not in passed and not _printed(script, each)]
    return (Certainty.REVIEW if others or isinstance(above, cst.Return) else Certainty.SAFE), uses


def _is_location(node: cst.CSTNode) -> bool:
    """Say whether a table is given as `map_location`."""
    import libcst as cst

    return isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "map_location"


def _printed(script: Script, node: cst.CSTNode) -> bool:
    import libcst as cst

    return isinstance(script.parent.get(node), cst.FormattedStringExpression)


def _handed_on(script: Script, argument: cst.Arg) -> bool:
    """Say whether a library that is built on PyTorch gets the argument as a device."""
    import libcst as cst

    call = script.parent[argument]
    if not isinstance(call, cst.Call) or argument.keyword is None or argument.keyword.value not in _HANDED_ON:
        return False
    if argument.keyword.value == "device_map":
        return re.search(rb"\b(?:transformers|diffusers|accelerate)\b", script.source.text) is not None
    root: cst.BaseExpression = call.func
    while isinstance(root, cst.Attribute):
        root = root.value
    if not isinstance(root, cst.Name):
        return False
    pattern = rf"(?m)^[ \t]*(?:import|from)[ \t]+(?:{_LIBRARIES})\b[^\r\n]*\b{re.escape(root.value)}\b"
    return re.search(pattern, script.module.code) is not None or re.fullmatch(_LIBRARIES, root.value) is not None


def _passed(script: Script, node: cst.CSTNode) -> bool:
    import libcst as cst

    above = script.parent.get(node)
    return isinstance(above, cst.Arg) and _argument(script, above)


def _uses(script: Script, target: cst.Name | cst.Attribute) -> list[cst.CSTNode]:
    """Return where the variable is read: a name in its function, an attribute of `self` in the file."""
    import libcst as cst

    name = target.value if isinstance(target, cst.Name) else target.attr.value
    found: list[cst.CSTNode] = []
    for each in script.named(str(name)):
        above = script.parent[each]
        behind = isinstance(above, cst.Attribute) and above.attr is each
        if isinstance(target, cst.Attribute):
            if behind and script.code(above) == script.code(target):
                found.append(above)
        elif not behind and not isinstance(above, (cst.Param, cst.AssignTarget)):
            function = script.function(target)
            # What is bound in a module is read in its functions too.
            if function is None or script.function(each) is function:
                keyword = isinstance(above, cst.Arg) and above.keyword is each
                if not keyword:
                    found.append(each)
    return found


def _code(script: Script, call: cst.CSTNode) -> str:
    """Return what is called; torch.device also where it was imported by itself."""
    import libcst as cst

    if not isinstance(call, cst.Call):
        return ""
    if isinstance(call.func, cst.Name) and call.func.value == "device" and script.imported(call.func) is not None:
        return "torch.device"
    return script.code(call.func)


def _argument(script: Script, argument: cst.Arg) -> bool:
    """Say whether PyTorch gets the argument as a device."""
    import libcst as cst

    call = script.parent[argument]
    if not isinstance(call, cst.Call):
        return False
    code = _code(script, call)
    keyword = argument.keyword.value if argument.keyword is not None else None
    place = next(i for i, each in enumerate(call.args) if each is argument)
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if keyword is not None:
        if keyword == "type":
            return code == "torch.device"
        if keyword not in _KEYWORDS:
            return False
        return code.startswith("torch.") or keyword == "map_location" or method == "to" or method.startswith("new_")
    if method == "to":
        return place == 0
    return (place == 0 and _FIRST.fullmatch(code) is not None) or (place == 1 and _LOADS.fullmatch(code) is not None)


def _compared(script: Script, node: cst.CSTNode) -> bool:
    import libcst as cst

    for above, _ in script.ancestors(node):
        if isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
            return True
        if isinstance(above, (cst.Arg, cst.BaseSmallStatement)):
            return False
    return False


def _asked(script: Script, use: cst.CSTNode, word: str) -> bool:
    """Say whether the variable is compared with such a string where it is used, or looked up by it."""
    import libcst as cst

    above = script.parent[use]
    if isinstance(above, cst.Attribute) and above.value is use:
        # device.startswith("hip")
        call = script.parent[above]
        return isinstance(call, cst.Call) and any(script.text(each.value).startswith(word) for each in call.args)
    comparison = script.parent[above] if isinstance(above, cst.ComparisonTarget) else above
    return isinstance(comparison, cst.Comparison) and re.search(rf"[\"']{word}\b", script.code(comparison)) is not None


def _types(script: Script) -> Iterator[Finding]:
    """Yield comparisons of a device's type with one that PyTorch does not have, and never says."""
    import libcst as cst

    for node in script.nodes:
        match node:
            case cst.Comparison(
                left=cst.Attribute(value=device, attr=cst.Name("type")) as left,
                comparisons=[cst.ComparisonTarget(cst.Equal() | cst.NotEqual(), cst.SimpleString() as right)],
            ) if _INVENTED.fullmatch(script.text(right)) and re.search(
                r"\bdevice$|\.device\(.*\)$", script.code(device)
            ):
                # Where "cuda" is asked for as well, that is the answer on ROCm.
                asked = rf"{re.escape(script.code(left))}\s*(?:==\s*[\"']cuda|in\s)"
                if re.search(asked, script.module.code):
                    continue
                message = f"a device of PyTorch's never has the type {script.text(right)!r}: on ROCm, too, it is 'cuda'"
                message += "; torch.version.hip tells ROCm from CUDA"
                yield Finding(script.source.span(node), "type", message, (), Certainty.MANUAL)


# Modules


def _modules(script: Script) -> Iterator[Finding]:
    """Yield uses of torch.hip and the like, which do not exist."""
    import libcst as cst

    asks = re.search(r"(?:has|get)attr\(\s*torch(?:\.backends)?\s*,\s*[\"'](?:hip|rocm)[\"']", script.module.code)
    if asks:
        # Never true, which does no harm where torch.cuda is asked, too.
        if "torch.cuda.is_available" not in script.module.code:
            call = next(
                call
                for name in ("hasattr", "getattr")
                for call in script.calls(name)
                if re.search(r"[\"'](?:hip|rocm)[\"']", script.code(call))
            )
            message = "PyTorch has no such module, on ROCm either: torch.cuda is the one to ask"
            yield Finding(script.source.span(call), "module", message, (), Certainty.MANUAL)
        return
    for node in script.nodes:
        match node:
            case cst.Attribute() if _MODULE.fullmatch(script.code(node)) and isinstance(
                script.parent[node], cst.Attribute
            ):
                yield from _module(script, node)
            case cst.ImportAlias() if _imported(script, node) and not _in_try(script, node):
                message = "there is no such module of PyTorch's, on ROCm either: torch.cuda is the one to import"
                yield Finding(script.source.span(node.name), "module", message, (), Certainty.MANUAL)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("hip") as name), args=[]) if is_tensor(
                script, receiver
            ):
                message = "tensors and modules have no hip(); on ROCm, too, it is cuda()"
                span = script.source.span(name)
                yield Finding(span, "method", message, (Edit(span, b"cuda"),))
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("hip") as name), args=[]) if (
                _MODEL.fullmatch(script.code(receiver))
            ):
                message = "tensors and modules have no hip(); on ROCm, too, it is cuda(); assumes that this is one"
                span = script.source.span(name)
                yield Finding(span, "method", message, (Edit(span, b"cuda"),), Certainty.REVIEW)


def _imported(script: Script, alias: cst.ImportAlias) -> bool:
    """Say whether torch.hip or the like is imported."""
    import libcst as cst

    line = script.parent[alias]
    name = script.code(alias.name)
    if isinstance(line, cst.ImportFrom):
        module = script.code(line.module) if line.module is not None else ""
        name = module if _MODULE.fullmatch(module) else f"{module}.{name}"
    return _MODULE.fullmatch(name) is not None


def _in_try(script: Script, node: cst.CSTNode) -> bool:
    import libcst as cst

    return any(isinstance(each, cst.Try) and child is each.body for each, child in script.ancestors(node))


def _module(script: Script, node: cst.Attribute) -> Iterator[Finding]:
    import libcst as cst

    above = script.parent[node]
    assert isinstance(above, cst.Attribute)
    call = script.parent[above]
    assigned = isinstance(call, cst.AssignTarget)
    if assigned or _in_try(script, node):
        return
    code, member = script.code(node), above.attr.value
    message = f"there is no {code}, on ROCm either"
    span = script.source.span(node)
    if member in ("is_available", "is_built") and isinstance(call, cst.Call):
        built = "torch.version.hip is not None"
        text = built if member == "is_built" else f"{built} and torch.cuda.is_available()"
        plain = isinstance(script.parent[call], (cst.If, cst.IfExp, cst.Assign, cst.Return, cst.Arg))
        edit = Edit(script.source.span(call), (text if plain else f"({text})").encode())
        yield Finding(span, "module", f"{message}: this asks for ROCm", (edit,), Certainty.REVIEW)
    elif code == "torch.hip":
        where = script.source.span(node.attr)
        yield Finding(span, "module", f"{message}: it is torch.cuda there", (Edit(where, b"cuda"),))
    else:
        yield Finding(
            span, "module", f"{message}: torch.cuda and torch.backends.cuda are the ones to ask", (), Certainty.MANUAL
        )


def is_tensor(script: Script, node: cst.CSTNode, depth: int = 0) -> bool:
    """Say whether the expression is a tensor or a module for certain: what torch makes, or a method of that."""
    import libcst as cst

    match node:
        case cst.Call(func=cst.Attribute(value=cst.Call() as inner)):
            return is_tensor(script, inner, depth + 1)
        case cst.Call(func=function):
            return re.match(r"(?:torch|nn|F)\.", script.code(function)) is not None
        case cst.Name() if depth < 8:
            found = script.values(node)
            return bool(found) and all(each is not None and is_tensor(script, each, depth + 1) for each in found)
    return False


# Back ends


@functools.cache
def _recipes() -> tuple[Mapping[str, Any], ...]:
    return tuple(load(Path(__file__).with_suffix(".toml"))["recipe"])


@functools.cache
def _quick(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode())


def _concerns(recipe: Mapping[str, Any], source: Python) -> bool:
    """Say, cheaply, whether the recipe can find anything in the file."""
    if "keyword" in recipe and recipe["keyword"].encode() not in source.text:
        return False
    imports = recipe.get("imports", ())
    if imports and not any(
        _quick(rf"\b(?:import|from)[ \t]+[^\r\n]*\b{name}\b").search(source.text) for name in imports
    ):
        return False
    wanted = recipe.get("string") or recipe.get("attribute") or recipe.get("argument") or recipe.get("call")
    if wanted is not None and not _quick(wanted.removeprefix(r"(?:.+\.)?")).search(source.text):
        return False
    unless = recipe.get("unless")
    return unless is None or not _quick(unless).search(source.text)


def _backends(script: Script, recipe: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the places that a recipe is for, where nobody has decided for ROCm."""
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
            # The string is the place, wherever among the arguments it stands.
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
            isinstance(node, cst.SimpleString)
            and script.text(node) in recipe["values"]
            and _keyed(script, node) == recipe["keyword"]
        )
    if "string" in recipe:
        return (
            isinstance(node, cst.SimpleString)
            and re.fullmatch(recipe["string"], script.text(node)) is not None
            and not _compared(script, node)
            and isinstance(script.parent[node], (cst.Element, cst.Arg, cst.Assign, cst.Tuple, cst.DictElement))
        )
    return isinstance(node, cst.Attribute) and re.fullmatch(recipe["attribute"], script.code(node)) is not None


def _keyed(script: Script, node: cst.CSTNode) -> str:
    """Return the keyword, the attribute or the key that the value is given by."""
    import libcst as cst

    match script.parent[node]:
        case cst.Arg(keyword=cst.Name(name)):
            return name
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(name)))]):
            return name.lstrip("_")
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)]):
            return script.key(target)
        case cst.DictElement(key=key):
            return script.text(key)
    return ""


def _chosen(script: Script, node: cst.CSTNode, rocm: str) -> str:
    """Return an expression that is `rocm` on ROCm and what is there elsewhere."""
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
    """Say whether the expression has parentheses of its own."""
    return bool(getattr(node, "lpar", ()))


def _has_torch(script: Script) -> bool:
    return re.search(rb"^import torch\b(?![. ]+as)", script.source.text, re.MULTILINE) is not None


def _tried(script: Script, node: cst.CSTNode) -> bool:
    """Say whether the file has a way out where the place fails: a `try` that is about little else."""
    import libcst as cst

    return any(
        isinstance(above, cst.Try) and child is above.body and len(above.body.body) <= 3
        for above, child in script.ancestors(node)
    )


PASS = Pass(Python, find)

# SPDX-License-Identifier: Apache-2.0
"""Name the GPU as PyTorch for ROCm does, and report back ends that only an NVIDIA GPU has.

"cuda" is the right device there, and torch.cuda the right module. "hip", "rocm" and "amd" are not devices of PyTorch:
`torch.device("hip")` can be constructed, but holds no tensors. They become "cuda" if PyTorch certainly receives them;
the change is REVIEW if other code may receive them as well. The same words are right elsewhere (JAX, Blender, IREE,
Triton, a program's own options) and stay.

`RasterizeCudaContext` and the like stay as well, because they are CUDA sources, which hipport ports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, one_of
from hipport.engine.pipeline import Pass
from hipport.program.dividing import near
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Misplaced, Python

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script
from hipport_passes.python.devices.device_recipes import back_ends, concerns, known_recipes

WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_DEVICES, _MODULES = one_of(WORDS["devices"]), one_of(WORDS["modules"])
_INVENTED = re.compile(rf"{_DEVICES}(:\d+)?")
# A quick test of a file's words.
_MENTIONS = WORDS.compile(
    rf"[\"']{_DEVICES}(?::[^\"'\r\n]*)?[\"']|\b(?&torch)\.(?:(?&backends)\.)?(?:(?&amd_module)|{_MODULES})\b"
    rf"|\b(?&torch) import[^\r\n]*\b{_MODULES}\b|\.(?&hip)\(\)".encode()
)
# A type of tensors.
_TYPE = WORDS.compile(rf"(?&torch)\.((?&amd_module)|{_MODULES})\.(?&sparse)?[A-Z]\w*(?&tensor)")
#: Functions that only print their arguments.
SHOWS = re.compile(rf"(?:\w+\.)*{one_of(WORDS['shows'])}")
_MODEL = re.compile(rf"(?:\w+\.)*\w*{one_of(WORDS['models'])}", re.IGNORECASE)
# A back end of that name that the program registers itself.
_OWN = WORDS.compile(rb"(?&private)(?&private_numbers)", re.IGNORECASE)
_MODULE = WORDS.compile(rf"(?&torch)\.(?:(?&backends)\.)?{_MODULES}")
#: Libraries that pass their `device` to PyTorch.
LIBRARIES = one_of(WORDS["libraries"])
_IMPORT = re.compile(rb"(?m)^[ \t]*(?:import|from)[ \t][^\r\n]*")
# Also files made for PyTorch that get an `import torch` from `python_gates`.
_TORCH = re.compile(
    rb"(?m)^[ \t]*(?:import|from)[ \t][^\r\n]*\b(?:"
    + one_of(WORDS["frameworks"]).encode()
    + rb"|"
    + LIBRARIES.encode()
    + rb")\b"
)


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per device that PyTorch lacks, and per back end that ROCm lacks."""
    project = near(project, source)
    invented = (
        _MENTIONS.search(source.text) is not None
        and (
            _TORCH.search(source.text) is not None
            or any(_readers(source, project))
            or any(_imported_by(source, project))
        )
        and not _OWN.search(source.text)
    )
    recipes = [recipe for recipe in known_recipes() if concerns(recipe, source)]
    if not (invented or recipes) or source.module is None:
        return
    # Imported late: loading the parser takes longer than porting most trees.
    from hipport_passes.build_files.build_scripts.script import Script

    script = source.fact(Script)
    findings: list[Finding] = []
    try:
        if invented:
            findings += _devices(script, project)
            findings += _modules(script)
        for recipe in recipes:
            findings += back_ends(script, recipe)
    except Misplaced:
        return  # `cpp_extension` reports that such a file cannot be read, if it builds extensions.
    findings.sort(key=lambda finding: finding.span)
    yield from findings


# Devices


def _devices(script: Script, project: Project) -> Iterator[Finding]:
    """Yield the strings that PyTorch receives as a device."""
    import libcst as cst

    from hipport_passes.python.devices.receivers import received

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
        if script.is_compared(node):
            continue
        found = received(script, node)
        certain, names = found.certainty, found.reads
        if certain is None:
            certain = _received_elsewhere(script, node, project)
        name = match.group().partition(":")[0]
        message = f"PyTorch has no device {name!r}; on ROCm too the GPU is 'cuda'"
        if certain is None:
            continue
        quote = re.match(rb"[A-Za-z]*(?:\"\"\"|'''|\"|')", script.source[span])
        assert quote is not None
        start = span.start + quote.end()
        if not script.source.text.startswith(match.group().partition(":")[0].encode(), start):
            continue  # The value is a variable, and is handled where it is set.
        if any(_asked(script, each, name) for each in names):
            message += f"; the program compares with {name!r}: change both"
            yield Finding(span, "device", message, (), Certainty.MANUAL)
            continue
        # Other files may read attributes and names outside of functions.
        if names and (script.function(node) is None or any(isinstance(each, cst.Attribute) for each in names)):
            asks = re.compile(rf"[\"']{name}\b".encode())
            others = (each for each in project.sources if isinstance(each, Python) and each.path != script.source.path)
            if any(asks.search(each.text) for each in others):
                certain = Certainty.REVIEW
        if certain is Certainty.REVIEW:
            message += "; assumes that every other use of the value is a PyTorch device"
        yield Finding(span, "device", message, (Edit(Span(start, start + len(name)), b"cuda"),), certain)
    yield from _types(script)


def _readers(source: Python, project: Project) -> Iterator[Python]:
    """Yield the files with PyTorch that import this file, or names of it."""
    if source.path.suffix != ".py":
        return
    name = _called(source)
    imports = re.compile(
        rb"(?m)^[ \t]*(?:from[ \t]+(?:[\w.]*\.)?%b[ \t]+import|(?:from[ \t]+[\w.]+[ \t]+)?import[ \t][^\r\n#]*\b%b\b)"
        % ((re.escape(name.encode()),) * 2)
    )
    for other in project.sources:
        if (
            isinstance(other, Python)
            and other.path != source.path
            and _TORCH.search(other.text)
            and imports.search(other.text)
        ):
            yield other


def _imported_by(source: Python, project: Project) -> Iterator[Python]:
    """Yield the files with PyTorch that this one imports, or whose names it imports."""
    words = {word for line in _IMPORT.findall(source.text) for word in re.findall(rb"\w+", line)}
    for other in project.sources if words else ():
        if (
            isinstance(other, Python)
            and other.path != source.path
            and _called(other).encode() in words
            and _TORCH.search(other.text)
        ):
            yield other


def _called(source: Python) -> str:
    """Return the last part of a file's module name."""
    return source.path.parent.name if source.path.stem == "__init__" else source.path.stem


def _received_elsewhere(script: Script, node: cst.CSTNode, project: Project) -> Certainty | None:
    """Return how certainly PyTorch receives a constant of the module in a file that imports it."""
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script
    from hipport_passes.python.devices.receivers import imported

    value, above = node, script.parent[node]
    while isinstance(above, (cst.IfExp, cst.BooleanOperation)):
        value, above = above, script.parent[above]
    if isinstance(above, cst.Arg):
        return _received_by_function(script, value, above, project)
    match above:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]) | cst.AnnAssign(target=cst.Name(name)):
            pass
        case _:
            return None
    if script.function(above) is not None or script.class_around(above) is not None:
        return None
    module = _called(script.source)
    for other in _readers(script.source, project):
        named = re.search(rb"\b" + name.encode() + rb"\b", other.text) and other.module is not None
        if named and imported(other.fact(Script), name, module).passed:
            return Certainty.REVIEW
    return None


def _received_by_function(script: Script, value: cst.CSTNode, argument: cst.Arg, project: Project) -> Certainty | None:
    """Return how certainly PyTorch receives an argument of a function, or a class, of another file of the tree."""
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script
    from hipport_passes.python.devices.receivers import read_as

    call = script.parent[argument]
    if not isinstance(call, cst.Call):
        return None
    name, module = _from_module(script, call.func)
    if not module:
        return None
    for other in _imported_by(script.source, project):
        if _called(other) != module or other.module is None:
            continue
        there = other.fact(Script)
        for node in other.module.body:
            function: cst.CSTNode | None = node
            if isinstance(node, cst.ClassDef) and node.name.value == name:
                lines = (line for line in node.body.body if isinstance(line, cst.FunctionDef))
                function = next((line for line in lines if line.name.value == "__init__"), None)
            elif not isinstance(node, cst.FunctionDef) or node.name.value != name:
                continue
            if isinstance(function, cst.FunctionDef) and read_as(there, there.given_to(function, call, value)).passed:
                return Certainty.REVIEW
    return None


def _from_module(script: Script, function: cst.BaseExpression) -> tuple[str, str]:
    """Return the name of a called function in the module that it is imported from, and the last part of that module's
    name.
    """
    import libcst as cst

    if isinstance(function, cst.Attribute):
        return function.attr.value, _imported_module(script, script.code(function.value))
    if isinstance(function, cst.Name):
        statement = script.imported(function)
        if statement is not None and not isinstance(statement.names, cst.ImportStar):
            for alias in statement.names:
                spelled = script.code(alias.asname.name) if alias.asname is not None else script.code(alias.name)
                if spelled == function.value and statement.module is not None:
                    return script.code(alias.name), script.code(statement.module).rpartition(".")[2]
    return "", ""


def _imported_module(script: Script, name: str) -> str:
    """Return the last part of the module that a file imports as `name`, or ""."""
    import libcst as cst

    for each in script.nodes:
        if isinstance(each, (cst.Import, cst.ImportFrom)) and not isinstance(each.names, cst.ImportStar):
            for alias in each.names:
                spelled = script.code(alias.asname.name) if alias.asname is not None else script.code(alias.name)
                if spelled == name:
                    return script.code(alias.name).rpartition(".")[2]
    return ""


def _type_of_tensor(script: Script, node: cst.SimpleString | cst.FormattedString) -> Iterator[Finding]:
    """Find `"torch.hip.FloatTensor"`, a type that PyTorch does not have."""
    import libcst as cst

    span, word = script.source.span(node), script.text(node)
    code = script.source[span]
    place = code.find(b"torch.")
    match = _TYPE.fullmatch(word)
    assert match is not None
    message = f"PyTorch has no type {word!r}; on ROCm, too, tensors on the GPU have types of torch.cuda"
    if script.is_compared(node):
        message += ", so this is never true; ask torch.version.hip to tell ROCm from CUDA"
        yield Finding(span, "type", message, (), Certainty.MANUAL)
        return
    above = script.parent[node]
    certainty = Certainty.REVIEW
    if isinstance(above, cst.Arg):
        call = script.parent[above]
        function = script.code(call.func) if isinstance(call, cst.Call) else ""
        if SHOWS.fullmatch(function):
            return
        if function.startswith("torch.") or function.endswith(".type"):
            certainty = Certainty.SAFE
    elif isinstance(above, cst.Expr):
        return
    if certainty is Certainty.REVIEW:
        message += "; assumes that it is passed to PyTorch"
    start = span.start + place + match.start(1)
    yield Finding(span, "type", message, (Edit(Span(start, start + len(match[1])), b"cuda"),), certainty)


def _asked(script: Script, use: cst.CSTNode, word: str) -> bool:
    """Return whether a use of the variable compares it with such a string, or looks it up."""
    import libcst as cst

    above = script.parent[use]
    if isinstance(above, cst.Attribute) and above.value is use:
        # device.startswith("hip")
        call = script.parent[above]
        return isinstance(call, cst.Call) and any(script.text(each.value).startswith(word) for each in call.args)
    comparison = script.parent[above] if isinstance(above, cst.ComparisonTarget) else above
    return isinstance(comparison, cst.Comparison) and re.search(rf"[\"']{word}\b", script.code(comparison)) is not None


def _types(script: Script) -> Iterator[Finding]:
    """Yield comparisons of a device's type with a type that PyTorch lacks and never returns."""
    import libcst as cst

    for node in script.nodes:
        found: tuple[str, str] | None = None
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(comparator=right)]):
                for one, other in ((left, right), (right, left)):
                    # `"rocm" == device.type` as well, and `device.type in ("hip", "rocm")`.
                    told, words = _told(script, one), _words(script, other)
                    if told and words and all(map(_INVENTED.fullmatch, words)):
                        found = told, words[0]
            case cst.Call(func=cst.Attribute(value=text, attr=cst.Name("startswith")), args=[cst.Arg(word)]):
                told, said = _told(script, text), script.text(word)
                if told and _INVENTED.fullmatch(said.rstrip(":")):
                    found = told, said
        # If "cuda" is compared as well, that is the result on ROCm.
        if found is None or re.search(
            rf"{re.escape(found[0])}{_ASKS_CUDA}|{_IN}{re.escape(found[0])}", script.module.code
        ):
            continue
        message = f"a PyTorch device never has the type {found[1]!r}: on ROCm too it is 'cuda'"
        message += "; ask torch.version.hip to tell ROCm from CUDA"
        yield Finding(script.source.span(node), "type", message, (), Certainty.MANUAL)


_ASKS_CUDA = WORDS.composed(r"\s*(?:==\s*|!=\s*|in\s[^\n]*|\.(?&begins)\()[\"'](?&cuda)")
_IN = WORDS.composed(r"[\"'](?&cuda)(?::\d+)?[\"']\s*(?:in|==)\s*")
# Objects with a program's options, devices of objects, patches of PyTorch's modules, and PyTorch's functions.
_OPTIONS = WORDS.compile(r"(?&option_objects)\b")
_DEVICE_OF = WORDS.compile(r"\b(?&device)$|\.(?&device)\(.*\)$")
_PATCHES = WORDS.compile(rf"\w+\(\s*(?&torch)(?:\.(?&backends))?\s*,\s*[\"']{_MODULES}[\"']")
_OF_TORCH = WORDS.compile(r"(?&torch_names)\.")


def _told(script: Script, node: cst.BaseExpression) -> str:
    """Return the code of a device's type or name as PyTorch returns it, `device.type` or `str(device)`, or ""."""
    import libcst as cst

    match node:
        case cst.Attribute(value=device, attr=cst.Name("type")):
            pass
        # An option of the program is already a string, with any value.
        case cst.Call(func=cst.Name("str"), args=[cst.Arg(device)]) if not re.match(
            r"(?:args|opts?|options|cfg|config)\b", script.code(device)
        ):
            pass
        case _:
            return ""
    return script.code(node) if _DEVICE_OF.search(script.code(device)) else ""


def _words(script: Script, node: cst.BaseExpression) -> list[str]:
    """Return a string, or those of a literal list."""
    import libcst as cst

    if isinstance(node, (cst.Tuple, cst.List, cst.Set)):
        return [script.text(each.value) for each in node.elements]
    return [script.text(node)] if isinstance(node, cst.SimpleString) else []


# Modules


def _modules(script: Script) -> Iterator[Finding]:
    """Yield uses of torch.hip and the like, which do not exist."""
    import libcst as cst

    asked = [
        call for name in ("hasattr", "getattr") for call in script.calls(name) if _PATCHES.match(script.code(call))
    ]
    if asked:
        # Never true, which does no harm if torch.cuda is tested, too.
        if "torch.cuda.is_available" not in script.module.code:
            message = "PyTorch has no such module, on ROCm either: ask torch.cuda"
            yield Finding(script.source.span(asked[0]), "module", message, (), Certainty.MANUAL)
        return
    for node in script.nodes:
        match node:
            case cst.Attribute() if _MODULE.fullmatch(script.code(node)) and isinstance(
                script.parent[node], cst.Attribute
            ):
                yield from _module(script, node)
            case cst.ImportAlias() if _imported(script, node) and not _in_try(script, node):
                message = "PyTorch has no such module, on ROCm either: import torch.cuda"
                yield Finding(script.source.span(node.name), "module", message, (), Certainty.MANUAL)
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("hip") as name), args=[]) if is_tensor(
                script, receiver
            ):
                message = "tensors and modules have no hip(); on ROCm too it is cuda()"
                span = script.source.span(name)
                yield Finding(span, "method", message, (Edit(span, b"cuda"),))
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name("hip") as name), args=[]) if (
                _MODEL.fullmatch(script.code(receiver))
            ):
                message = (
                    "tensors and modules have no hip(); on ROCm too it is cuda(); assumes that this is one of them"
                )
                span = script.source.span(name)
                yield Finding(span, "method", message, (Edit(span, b"cuda"),), Certainty.REVIEW)


def _imported(script: Script, alias: cst.ImportAlias) -> bool:
    """Return whether torch.hip or the like is imported."""
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
        yield Finding(span, "module", f"{message}: ask torch.cuda and torch.backends.cuda", (), Certainty.MANUAL)


def is_tensor(script: Script, node: cst.CSTNode, depth: int = 0) -> bool:
    """Return whether the expression is certainly a tensor or a module: torch makes it, or a method of one does."""
    import libcst as cst

    match node:
        case cst.Call(func=cst.Attribute(value=cst.Call() as inner)):
            return is_tensor(script, inner, depth + 1)
        case cst.Call(func=function):
            return _OF_TORCH.match(script.code(function)) is not None
        case cst.Name() if depth < 8:
            found = script.values(node)
            return bool(found) and all(each is not None and is_tensor(script, each, depth + 1) for each in found)
    return False


PASS = Pass(Python, find)

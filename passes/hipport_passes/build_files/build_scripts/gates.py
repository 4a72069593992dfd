# SPDX-License-Identifier: Apache-2.0
"""Conditions in a build script that keep an extension from being built on ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty
from hipport.core.tables import Words
from hipport.program.script_names import called
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport_passes.build_files.build_scripts.no_gpu import unseen
from hipport_passes.build_files.build_scripts.nvcc_probes import SEARCHES, insisted
from hipport_passes.build_files.build_scripts.script import NVCC, Script
from hipport_passes.build_files.build_scripts.script_edits import Said

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_HOME = NAMES.compile(r"(?:\w+\.)*(?&cuda_home)(?: (?:is not|!=) None)?")


def gates(script: Script, kernels: bool) -> Iterator[Said]:
    """Yield the conditions that keep an extension from being built on ROCm; `kernels`: whether it may have kernels."""
    yield from _homes(script)
    if kernels:
        yield from _not_hipified(script)
    yield from unseen(script, lambda asked: _answered(script, asked) or _insists(script, asked))


_LOADS = NAMES.compile(rb"(?&builds_for_cuda)|\b(?&loaders)\(")
_EXTENSION = _WORDS.compile(r"(?&cpp_extension)$|^(?&other_names)$")
_OWN_CHOICE = _WORDS.compile(rb"\((\w[\w.]*)\.(?&cuda_extension) if \1\.(?&hip_extension) else \1\.(?&for_the_host)\)")
# What shows that code asks for nvcc or for its release, and that it builds for CUDA; sources for CUDA.
_ASKS = NAMES.compile(r"\b(?&nvcc)[\"' ]+,? *[\"']?(?:-V|--version)|\b(?&cuda_release)\b|/(?&nvcc)\b")
_FOR_CUDA = NAMES.compile(r"(?&builds_for_cuda)|[\"'](?&nvcc)[\"']|(?&with_cuda)|\.cu\b")
_CUDA_SOURCE = NAMES.compile(r"\.cuh?$|(?&cuda)")


def _insists(script: Script, asked: cst.BaseExpression) -> bool:
    """Return whether a failed search for nvcc ends the build, which is reported as a probe."""
    return isinstance(asked, cst.Call) and called(asked) in SEARCHES and insisted(script, asked)


def _not_hipified(script: Script) -> Iterator[Said]:
    """Report CppExtension with .cu files: PyTorch's hipify does not convert them, so they include headers that ROCm
    lacks.
    """
    # A choice that an earlier run wrote is not the script's own.
    text = _OWN_CHOICE.sub(b"", script.source.text)
    if b"CUDAExtension" in text or not re.search(rb"\.cu[\"']", text):
        return
    for call in script.calls("CppExtension"):
        if not script.runs(call).both or _for_host(script, call):
            continue
        span = script.source.span(call.func)
        message = "PyTorch's hipify converts no sources of a CppExtension: on ROCm it becomes a CUDAExtension"
        said = Said(span, "cpp_extension", message, Certainty.SAFE)
        if isinstance(call.func, cst.Attribute):
            module = script.code(call.func.value)
            new = f"({module}.CUDAExtension if {module}.IS_HIP_EXTENSION else {module}.CppExtension)"
            said.edits = [Edit(span, new.encode())]
        else:
            said.message = "PyTorch's hipify converts no sources of a CppExtension: build with CUDAExtension"
            said.certainty = Certainty.MANUAL
        yield said


def _for_host(script: Script, call: cst.Call) -> bool:
    """Return whether all sources of an extension are literal and none has kernels."""
    sources = next((arg.value for arg in call.args if arg.keyword and arg.keyword.value == "sources"), None)
    if sources is None and len(call.args) > 1 and call.args[1].keyword is None:
        sources = call.args[1].value
    if not isinstance(sources, (cst.List, cst.Tuple)):
        return False
    names = [script.text(each.value) for each in sources.elements]
    return all(name and HOLE not in name and not _CUDA_SOURCE.search(name) for name in names)


def _homes(script: Script) -> Iterator[Said]:
    """Port CUDA_HOME, which is None in a PyTorch for ROCm; ROCM_HOME takes its place."""
    if not _LOADS.search(script.source.text):
        return
    for name in (name for each in _home_names(script) for name in script.named(each)):
        above = script.parent[name]
        home: cst.BaseExpression = name
        if isinstance(above, cst.Attribute) and above.attr is name:
            home = above
        elif isinstance(above, (cst.Attribute, cst.ImportAlias, cst.AsName, cst.AssignTarget)):
            continue
        rocm, imported = _rocm_home(script, home)
        if not script.runs(home).both:
            continue
        use = script.parent[home]
        if not rocm:
            if isinstance(home, cst.Name) and _import_of_home(script, home) and not script.aware:
                yield from _rebound(script, home)
            continue
        span = script.source.span(home)
        if (
            isinstance(use, cst.Comparison)
            and use.left is home
            and script.code(use.comparisons[0].comparator) == "None"
        ):
            negated = isinstance(use.comparisons[0].operator, (cst.Is, cst.Equal))
            yield from _gate(script, use, home, rocm, imported, negated)
        elif _only_asked(script, home):
            yield from _gate(script, home, home, rocm, imported, None)
        elif (kept := _kept(script, home)) is not None:
            yield from _by_other_name(script, home, kept, rocm, imported)
        elif _begins_path(script, home) and not _skipped(script, home):
            bare = isinstance(use, (cst.Arg, cst.FormattedStringExpression))
            either = f"{script.code(home)} or {rocm}"
            message = "CUDA_HOME is None on ROCm: ROCM_HOME instead; assumes that ROCm has the same folders below it"
            edits = [*imported, Edit(span, (either if bare else f"({either})").encode())]
            yield Said(span, "cuda_home", message, Certainty.REVIEW, edits)


def _kept(script: Script, home: cst.BaseExpression) -> cst.Name | None:
    """Return the variable that holds CUDA_HOME, if it never has another value."""
    match script.parent[home]:
        case cst.Assign(targets=[cst.AssignTarget(cst.Name() as target)], value=value) if value is home:
            pass
        case cst.NamedExpr(target=cst.Name() as target, value=value) if value is home:
            pass
        case _:
            return None
    return target if len(script.bound(target)) == 1 else None


def _by_other_name(
    script: Script, home: cst.BaseExpression, kept: cst.Name, rocm: str, imported: list[Edit]
) -> Iterator[Said]:
    """Port a variable with CUDA_HOME that conditions and paths use: on ROCm it becomes ROCm's folder."""
    above = script.parent[home]
    # A walrus stands for the name that it binds.
    places: list[cst.BaseExpression] = [above] if isinstance(above, cst.NamedExpr) else []
    places += [
        use
        for use in script.named(kept.value)
        if use is not kept and script.scope(use, kept.value) is script.scope(kept, kept.value)
    ]
    tests: list[cst.BaseExpression] = []
    for place in places:
        use = script.parent[place]
        if (
            isinstance(use, cst.Comparison)
            and use.left is place
            and script.code(use.comparisons[0].comparator) == "None"
        ):
            tests.append(use)
        elif _only_asked(script, place):
            tests.append(place)
    paths = [place for place in places if _begins_path(script, place)]
    for_nvcc = [place for place in places if not _begins_path(script, place) and NVCC.search(_last_part(script, place))]
    if not (tests or paths or for_nvcc) or any(_answered(script, test) for test in tests):
        return
    span = script.source.span(home)
    message = f"CUDA_HOME is None on ROCm, and so is {kept.value}: ROCM_HOME instead"
    if for_nvcc or any(_asks_nvcc(script, each) for test in tests for each in _guarded_by(script, test)[0]):
        named = re.compile(rf"\b{re.escape(kept.value)}\b")
        unasked = [
            each for each in for_nvcc if not any(named.search(script.code(t)) for t, _ in script.conditions(each))
        ]
        if unasked or any(_stops(script, test) for test in tests):
            yield Said(span, "cuda_home", f"{message}, except where nvcc is looked for there", Certainty.MANUAL)
        return
    message += "; assumes that ROCm has the files that are looked for below it"
    edits = [*imported, Edit(span, f"{script.code(home)} or {rocm}".encode())]
    yield Said(span, "cuda_home", message, Certainty.REVIEW, edits)


def _stops(script: Script, test: cst.BaseExpression) -> bool:
    """Return whether the script stops on a condition."""
    above = script.parent[test]
    while isinstance(above, (cst.BooleanOperation, cst.UnaryOperation)):
        above = script.parent[above]
    return isinstance(above, cst.Assert) or (isinstance(above, cst.If) and script.stops(above.body))


def _last_part(script: Script, place: cst.BaseExpression) -> str:
    """Return the last part of a path that begins with `place`."""
    match script.parent[place]:
        case cst.BinaryOperation(right=last):
            return script.text(last)
        case cst.Arg() as argument if isinstance(call := script.parent[argument], cst.Call):
            return script.text(call.args[-1].value)
    return ""


def _rocm_home(script: Script, home: cst.BaseExpression) -> tuple[str, list[Edit]]:
    """Return the name of ROCM_HOME beside this CUDA_HOME, and the edits that import it; "" if it is not PyTorch's."""
    if isinstance(home, cst.Attribute):
        module = script.code(home.value)
        return (f"{module}.ROCM_HOME", []) if _is_cpp_extension(script, home.value) else ("", [])
    assert isinstance(home, cst.Name)
    mine = _import_of_home(script, home)
    if mine is None:
        return "", []
    # `except ImportError: CUDA_HOME = None`: the other name is None then, too.
    others = [each for each in script.bound(home) if not isinstance(each.node, cst.ImportFrom)]
    lines = [script.statement(each.node) for each in others]
    if not all(isinstance(each.value, cst.Name) and each.value.value == "None" for each in others) or None in lines:
        return "", []
    if any(isinstance(script.parent[other], cst.ImportAlias) for other in script.named("ROCM_HOME")):
        return "ROCM_HOME", []
    text, span = script.source.text, script.source.span(mine.asname.name if mine.asname is not None else mine.name)
    # In the layout of the adjacent names: one per line, or after a blank.
    indent = text[script.source.line_start(span.start) : span.start]
    gap = b" " if indent.strip() else script.source.newline + indent
    edits = [Edit(Span(span.end, span.end), b"," + gap + b"ROCM_HOME")]
    for line in lines:
        assert line is not None
        start, end = script.source.span(line.body[0]).start, script.source.span(line.body[-1]).end
        indent = text[script.source.line_start(start) : start]
        edits.append(Edit(Span(end, end), script.source.newline + indent + b"ROCM_HOME = None"))
    return "ROCM_HOME", edits


def _home_names(script: Script) -> list[str]:
    """Return the names of PyTorch's CUDA_HOME in the script."""
    names = {"CUDA_HOME": None}
    for name in script.named("CUDA_HOME"):
        alias = script.parent[name]
        if isinstance(alias, cst.ImportAlias) and alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            names[alias.asname.name.value] = None
    return list(names)


def _import_of_home(script: Script, home: cst.Name) -> cst.ImportAlias | None:
    """Return where a name is imported as PyTorch's CUDA_HOME, whatever else is assigned to it."""
    for binding in script.bound(home):
        statement = binding.node
        if (
            isinstance(statement, cst.ImportFrom)
            and not isinstance(statement.names, cst.ImportStar)
            and statement.module is not None
            and script.code(statement.module).endswith("cpp_extension")
        ):
            for alias in statement.names:
                name = alias.asname.name if alias.asname is not None else alias.name
                if alias.name.value == "CUDA_HOME" and isinstance(name, cst.Name) and name.value == home.value:
                    return alias
    return None


def _is_cpp_extension(script: Script, module: cst.BaseExpression) -> bool:
    """Return whether an expression is PyTorch's module for building extensions, by its name or by an import."""
    if _EXTENSION.search(script.code(module)):
        return True
    if not isinstance(module, cst.Name):
        return False
    statements = [each.node for each in script.bound(module)]
    return len(statements) == 1 and any(
        script.code(alias.name).endswith("cpp_extension")
        for statement in statements
        if isinstance(statement, (cst.Import, cst.ImportFrom)) and not isinstance(statement.names, cst.ImportStar)
        for alias in statement.names
        if alias.asname is not None and script.code(alias.asname.name) == module.value
    )


def _rebound(script: Script, home: cst.Name) -> Iterator[Said]:
    """Port a gate on a CUDA_HOME that is first PyTorch's and is then rebound."""
    use = script.parent[home]
    test = use if isinstance(use, cst.Comparison) and use.left is home else home
    if not _only_asked(script, home) and (test is home or script.code(use.comparisons[0].comparator) != "None"):  # type: ignore[attr-defined]
        return
    decided = next((above for above, _ in script.ancestors(test) if isinstance(above, (cst.If, cst.IfExp))), None)
    if decided is not None and not _answered(script, test) and _building(script, decided):
        message = "CUDA_HOME is None on ROCm, so nothing behind this condition is built there: test ROCM_HOME too"
        yield Said(script.source.span(test), "cuda_home", message, Certainty.MANUAL)


def _only_asked(script: Script, home: cst.BaseExpression) -> bool:
    """Return whether only the truth of the expression matters at its place."""
    above = script.parent[home]
    if isinstance(above, (cst.If, cst.IfExp, cst.While, cst.Assert)):
        return above.test is home
    if isinstance(above, cst.BooleanOperation):
        return _only_asked(script, above)
    return isinstance(above, cst.UnaryOperation) or (
        isinstance(above, cst.Arg) and script.code(script.parent[above]).startswith("bool(")
    )


def _begins_path(script: Script, home: cst.BaseExpression) -> bool:
    """Return whether the expression is the beginning of a path."""
    above = script.parent[home]
    if isinstance(above, cst.Arg):
        call = script.parent[above]
        assert isinstance(call, (cst.Call, cst.ClassDef))
        if isinstance(call, cst.Call) and call.args[0] is above and script.code(call.func).endswith(("join", "Path")):
            return not any(NVCC.fullmatch(script.text(argument.value)) for argument in call.args)
        return False
    if isinstance(above, cst.BinaryOperation):
        if above.right is home:
            # `"-L" + CUDA_HOME + "/lib64"`
            return isinstance(above.operator, cst.Add) and script.text(above.left).startswith("-")
        return not NVCC.fullmatch(script.text(above.right))
    return isinstance(above, cst.FormattedStringExpression)


def _gate(
    script: Script,
    test: cst.BaseExpression,
    home: cst.BaseExpression,
    rocm: str,
    imported: list[Edit],
    negated: bool | None,
) -> Iterator[Said]:
    """Make a gate on CUDA_HOME test ROCM_HOME as well, unless its body is about CUDA's files."""
    span = script.source.span(test)
    if _answered(script, test):
        return
    guarded, about_cuda = _guarded_by(script, test)
    if about_cuda or _names_unset(script, guarded):
        # The gate should stay shut on ROCm, unless the extension is also behind it.
        if any(_building(script, each) for each in guarded):
            message = (
                "CUDA_HOME is None on ROCm, so nothing behind this condition is built there, and the condition runs "
                "nvcc, which ROCm does not have: accept ROCM_HOME too, and run nvcc only for CUDA"
            )
            yield Said(span, "cuda_home", message, Certainty.MANUAL)
        return
    code, either = script.code(home), "and" if negated else "or"
    if negated is None:
        text = f"{code} or {rocm}"
    else:
        text = f"{code} {(verb := 'is' if negated else 'is not')} None {either} {rocm} {verb} None"
    above = script.parent[test]
    plain = isinstance(above, (cst.If, cst.Assign, cst.Return, cst.While, cst.Arg)) or (
        isinstance(above, cst.BooleanOperation) and isinstance(above.operator, cst.And if negated else cst.Or)
    )
    edit = Edit(span, (text if plain or test.lpar else f"({text})").encode())
    message = "CUDA_HOME is None on ROCm, where ROCM_HOME is set"
    yield Said(span, "cuda_home", message, Certainty.SAFE, [*imported, edit])


def _answered(script: Script, test: cst.BaseExpression) -> bool:
    """Return whether the script has an alternative for ROCm beside this test: `… or is_rocm`, `elif is_rocm:`."""
    node: cst.CSTNode = test
    for above, child in script.ancestors(test):
        if isinstance(above, cst.BooleanOperation):
            other = above.right if child is above.left else above.left
            decisive = isinstance(above.operator, cst.Or)
            if script.truth(other, True) is decisive and script.truth(other, False) is not decisive:
                return True
        elif not isinstance(above, (cst.UnaryOperation, cst.Comparison)):
            node = above
            break
    return isinstance(node, cst.If) and script.turns_to_rocm(node)


def _guarded_by(script: Script, test: cst.BaseExpression) -> tuple[list[cst.CSTNode], bool]:
    """Return the code behind a gate on CUDA_HOME, and whether it is about CUDA's own files or compiler.

    Paths below CUDA_HOME do not count where an extension is built with them: they get counterparts there.
    """
    guarded: list[cst.CSTNode] = []
    for above, child in script.ancestors(test):
        if isinstance(above, cst.BooleanOperation):
            if child is above.left and isinstance(above.operator, cst.And):
                guarded.append(above.right)
        elif isinstance(above, (cst.If, cst.IfExp)):
            if child is above.test:
                guarded.append(above.body)
            break
        elif not isinstance(above, (cst.UnaryOperation, cst.Comparison)):
            break
    names = [name for name in script.named("CUDA_HOME") if any(script.is_inside(name, each) for each in guarded)]
    homes = [above if isinstance(above := script.parent[name], cst.Attribute) else name for name in names]
    uses = [
        home for home in homes if not isinstance(script.parent[home], cst.Comparison) and not _only_asked(script, home)
    ]
    builds = any(_building(script, each) for each in guarded)
    paths = builds and all(_begins_path(script, home) for home in uses)
    return guarded, (bool(uses) and not paths) or any(_asks_nvcc(script, each) for each in guarded)


def _stays_shut(script: Script, test: cst.BaseExpression) -> bool:
    """Return whether a condition on CUDA_HOME stays as it is, because its body is about CUDA's files: false on ROCm."""
    return not _answered(script, test) and _guarded_by(script, test)[1]


def left_out(script: Script, node: cst.CSTNode) -> bool:
    """Return whether a gate on CUDA_HOME stays shut on ROCm and encloses `node`, and nothing is built inside."""
    for test, wanted in script.conditions(node):
        for home in _homes_of(script, test) if wanted else ():
            guarded, about_cuda = _guarded_by(script, home)
            if (
                (about_cuda or _names_unset(script, guarded))
                and not _answered(script, home)
                and not any(_building(script, each) for each in guarded)
            ):
                return True
    return False


def _homes_of(script: Script, test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the conditions on CUDA_HOME that `test` needs to be true."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _homes_of(script, test.left)
        yield from _homes_of(script, test.right)
    elif _HOME.fullmatch(script.code(test)):
        yield test


def set_for_cuda(script: Script) -> dict[tuple[cst.CSTNode | None, str], str]:
    """Return the names that are set only behind gates that stay shut on ROCm, by scope, and the gate."""
    found = {}
    elsewhere = script.bound_elsewhere
    for (scope, name), bindings in script.bindings.items():
        if elsewhere is None or name in elsewhere:
            continue
        gates = {_gate_of(script, each.node) for each in bindings if each.how in ("is", "parameter")}
        gate = gates.pop() if len(gates) == 1 else None
        if gate is not None and name.isidentifier():
            found[scope, name] = gate
    return found


def _gate_of(script: Script, node: cst.CSTNode) -> str | None:
    """Return the condition on CUDA_HOME alone that encloses a statement, if it stays shut on ROCm."""
    for test, wanted in script.conditions(node):
        code = script.code(test)
        if wanted and _HOME.fullmatch(code) and _stays_shut(script, test):
            return code
    return None


def _names_unset(script: Script, guarded: list[cst.CSTNode]) -> bool:
    """Return whether the body of a gate needs names that have no value on ROCm."""
    return any(
        script.scope(use, name) is scope and any(script.is_inside(use, each) for each in guarded)
        for scope, name in set_for_cuda(script)
        for use in script.named(name)
    )


def _asks_nvcc(script: Script, node: cst.CSTNode, depth: int = 0) -> bool:
    """Return whether the code, or a function of the script that it calls, asks nvcc or for CUDA's version."""
    code = script.code(node)
    if _ASKS.search(code):
        return True
    functions = {script.functions[word] for word in re.findall(r"\b(\w+)\(", code) if word in script.functions}
    return depth < 4 and any(_asks_nvcc(script, each, depth + 1) for each in functions if each is not node)


def _skipped(script: Script, home: cst.BaseExpression) -> bool:
    """Return whether a gate on CUDA_HOME that stays shut on ROCm keeps the build from this place."""
    return any(
        _guarded_by(script, each)[1]
        for test, wanted in script.conditions(home)
        if wanted
        for name in script.named("CUDA_HOME")
        if script.is_inside(name, test)
        for each in (name, _whole_expression(script, name))
    )


def _whole_expression(script: Script, name: cst.Name) -> cst.BaseExpression:
    above = script.parent[name]
    return above if isinstance(above, (cst.Comparison, cst.Attribute)) else name


def _building(script: Script, node: cst.CSTNode) -> bool:
    """Return whether the code is about building for a GPU."""
    return bool(_FOR_CUDA.search(script.code(node)))

# SPDX-License-Identifier: Apache-2.0
"""Flags, macros, folders and libraries in a build script."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.program.project import Project
from hipport.program.script_names import called
from hipport.syntax.build_names import NAMES
from hipport.syntax.cpp import Cpp
from hipport.syntax.holes import HOLE
from hipport_passes.build_files.build_scripts import options
from hipport_passes.build_files.build_scripts.flag_groups import FlagGroup, groups
from hipport_passes.build_files.build_scripts.flag_sinks import of_build_ext
from hipport_passes.build_files.build_scripts.gates import left_out
from hipport_passes.build_files.build_scripts.script import NVCC, Script
from hipport_passes.build_files.build_scripts.script_edits import NOBODY_SAYS, Becomes, Said, with_parentheses
from hipport_passes.build_files.build_scripts.stray_flags import OF_TORCH
from hipport_passes.build_files.nvcc_flags import CUDA_FOLDER, FlagChange, library, translate, worded

_BRACED = re.compile(r"\{[^{}\"']*\}")
_WORD = re.compile(rb"(?:\{[^{}\"']*\}|\S)+")
_ABI = NAMES.compile(r"-D(?&abi)=(.+)")
_OF_TORCH = (
    "PyTorch decides which ABI of the C++ library is used: its build passes its own, or the compiler's default is right"
)
_RENAMED = NAMES.compile(r"-D((?:(?!(?&cuda_in_macros))[A-Za-z0-9_])*(?&cuda_in_macros)[A-Za-z0-9_]*)(=.*)?")
# A call that reads a variable of CUDA from the environment.
_READ = NAMES.compile(r"(?&environment)\(\s*[\"'](\w*(?&cuda_in_macros)\w*)|\b((?&cuda_home))\b")
# Functions that join paths or make texts of them, and those that read the environment.
_PATHS = re.compile(r"path\.join$|^join$|Path$|^str$")
_READS = NAMES.compile(r"\b(?&environment)$")


class _Token(NamedTuple):
    """One argument: a whole item, or a word of an item with several.

    `span` is None where bytes and text differ.
    """

    text: str
    item: int
    span: Span | None
    whole: bool


def flags(script: Script, project: Project, torch: bool) -> Iterator[Said]:
    """Yield the findings on strings that compilers and linkers get; `torch`: they go through PyTorch's build."""
    handed_on = groups(script)
    found = _of_groups(script, handed_on, project, torch)
    if torch:
        yield from found
        yield from _stray_abi(script, handed_on)
        yield from _options(script)
        return
    # Nothing tests for ROCm, and only the script itself calls hipcc or nvcc.
    for first in found:
        becomes = worded((first.message, *(said.message for said in found)))
        message = (
            "builds without PyTorch's BuildExtension, which would call hipcc: give the extension to "
            f"BuildExtension, or let the script call hipcc where it calls nvcc now. For hipcc: {becomes}"
        )
        yield Said(first.span, "own_build", message, Certainty.MANUAL)


def _of_groups(script: Script, groups: Sequence[FlagGroup], project: Project, torch: bool) -> Iterator[Said]:
    for group in groups:
        if ("maybe" in group.uses and _compared(script, group)) or left_out(script, group.node):
            continue
        tokens = _tokens(script, group)
        texts = [token.text for token in tokens]
        if group.shape == "comprehension" and (said := _made_in_loop(script, group, project, torch)) is not None:
            yield said
            continue
        if "library" in group.uses:
            changes = _libraries(texts)
        elif "folder" in group.uses:
            changes = [*_folders(texts), *_folders_by_variable(script, group)]
        else:
            of = "nvcc" if group.uses & {"nvcc", "jit", "maybe"} else "link" if "link" in group.uses else "host"
            if of == "host" and not torch:
                continue
            changes = list(translate(texts, torch=torch, of=of, rocm=project.target.rocm).changes)
            if script.decided:
                # hipcc accepts them unchanged, and the CUDA side of the script needs them.
                changes = [change for change in changes if change.kind != "half"]
            elif torch and group.uses & {"nvcc", "jit"} == {"nvcc"}:
                changes += _macros(texts, project)
            if torch:
                changes += _abi(script, group, tokens)
            known = {i for change in changes for i in range(change.start, change.stop)}
            changes += [change for change in _flags_by_variable(script, tokens, group) if change.start not in known]
        yield from _applied(script, group, tokens, sorted(changes, key=lambda change: change.start))


def _made_in_loop(script: Script, group: FlagGroup, project: Project, torch: bool) -> Said | None:
    """Port `f"-l{name}" for name in ("cublas", "cufft")`, whose flags are known only with the loop's words."""
    changes = []
    for text in script.made_in_loop(group.node):
        if "library" in group.uses:
            changes += _libraries([text])
        elif group.uses & {"link", "nvcc", "jit"}:
            of = "link" if "link" in group.uses else "nvcc"
            changes += translate([text], torch=torch, of=of, rocm=project.target.rocm).changes
    if not changes or all(change.kind == "arch" and not change.hip for change in changes):
        return None  # A flag that is dropped whole needs no names.
    said = Said(script.source.span(group.items[0]), changes[0].kind, worded(changes), Certainty.MANUAL)
    said.manual()
    return said


def _compared(script: Script, group: FlagGroup) -> bool:
    """Return whether strings of unknown use are compared with flags, or passed to another program."""
    above = script.parent[group.node]
    if any(NVCC.fullmatch(script.text(item)) for item in group.items):
        return True
    if isinstance(above, cst.Arg):
        return above.keyword is not None and above.keyword.value == "options"
    if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name):
        uses = script.named(above.targets[0].target.value)
        return any(isinstance(script.parent[use], (cst.ComparisonTarget, cst.CompFor, cst.For)) for use in uses)
    return False


def _tokens(script: Script, group: FlagGroup) -> list[_Token]:
    tokens: list[_Token] = []
    for i, item in enumerate(group.items):
        if isinstance(item, cst.Tuple) and not item.elements:
            continue
        if isinstance(item, cst.Tuple) and "macro" in group.uses:
            name = script.text(item.elements[0].value)
            value = [script.constant(element.value) for element in item.elements[1:]]
            tokens.append(_Token(f"-D{name}={value[0]}" if value else f"-D{name}", i, None, True))
            continue
        text = script.text(item)
        if len(text.split()) <= 1 and group.shape != "split":
            tokens.append(_Token(text.strip(), i, _content(script, item), True))
            continue
        content = _content(script, item)
        matches = list(_WORD.finditer(script.source[content])) if content else []
        words = [match.group().decode("utf-8", "replace") for match in matches]
        if isinstance(item, cst.FormattedString):
            words = [_BRACED.sub(HOLE, word) for word in words]
            if len(words) == len(text.split()):
                words = [put if HOLE in word else word for word, put in zip(words, text.split(), strict=True)]
            else:
                # The inserted text may be several words, or none.
                text = " ".join(words)
        if content is not None and words == text.split():
            for word, match in zip(words, matches, strict=True):
                span = Span(content.start + match.start(), content.start + match.end())
                tokens.append(_Token(word, i, span, False))
        else:
            tokens += [_Token(word, i, None, False) for word in text.split()]
    return tokens


def _content(script: Script, item: cst.BaseExpression) -> Span | None:
    """Return the text between the quotes of a literal whose bytes equal its text, without parts in braces."""
    source = script.source
    if isinstance(item, cst.SimpleString) and "b" not in item.prefix:
        start, end = len(item.prefix) + len(item.quote), len(item.quote)
        escaped = "\\" in item.raw_value and "r" not in item.prefix
    elif isinstance(item, cst.FormattedString):
        start, end = len(item.start), len(item.end)
        escaped = "\\" in script.code(item) or "{{" in script.code(item)
    else:
        return None
    span = source.span(item)
    return None if escaped else Span(span.start + start, span.end - end)


def _libraries(names: Sequence[str]) -> list[FlagChange]:
    changes = []
    kept: tuple[str, ...]
    given = set(names)
    for i, name in enumerate(names):
        found = library(name)
        if found is None:
            continue
        hip, why = found
        if why:
            changes.append(FlagChange(i, i + 1, "library", (name,), (name,), why, Certainty.MANUAL))
            continue
        kept, why = (hip,), "ROCm's library"
        if not hip or hip in given:
            kept, why = (), f"{hip} is there" if hip else "not needed"
        given.add(hip)
        changes.append(FlagChange(i, i + 1, "library", (name,), kept, why, Certainty.SAFE))
    return changes


def _folders(paths: Sequence[str]) -> list[FlagChange]:
    why = "ROCm's compiler knows its own folders; with CUDA's before them the build may read CUDA's files"
    return [
        FlagChange(i, i + 1, "cuda_path", (path,), (), why, Certainty.SAFE)
        for i, path in enumerate(paths)
        if CUDA_FOLDER.match(path)
    ]


def _folders_by_variable(script: Script, group: FlagGroup) -> Iterator[FlagChange]:
    """Drop flags that begin with a variable of CUDA's whose default is one of its folders."""
    for i, item in enumerate(group.items):
        start = _start(script, item)
        if start is not None:
            given = (script.code(item),)
            why = (
                f"where {start[0]} is not set, this is {start[1]}, and with CUDA's headers or libraries before "
                "ROCm's the build may read CUDA's files; assumes that it is not set on ROCm, or not needed"
            )
            yield FlagChange(i, i + 1, "cuda_path", given, (), why, Certainty.REVIEW)


def _flags_by_variable(script: Script, tokens: Sequence[_Token], group: FlagGroup) -> Iterator[FlagChange]:
    """Drop `"-L" + CUDA + "/lib64"` and the like, for the same reason."""
    for i, token in enumerate(tokens):
        item = group.items[token.item]
        if not token.whole or not re.match(r"-[LI]", token.text):
            continue
        of: cst.CSTNode | None = None
        match item:
            case cst.FormattedString(
                parts=[cst.FormattedStringText("-L" | "-I"), cst.FormattedStringExpression(of), *_]
            ):
                pass
            case cst.BinaryOperation(operator=cst.Modulo(), left=left, right=right) if re.match(
                r"-[LI]%s", script.text(left).replace(HOLE, "%s")
            ):
                of = right.elements[0].value if isinstance(right, cst.Tuple) and right.elements else right
            case cst.BinaryOperation(operator=cst.Add()):
                first: cst.BaseExpression = item
                while isinstance(first, cst.BinaryOperation) and script.text(first.left) not in ("-L", "-I"):
                    first = first.left
                of = first.right if isinstance(first, cst.BinaryOperation) else None
        start = _start(script, of)
        if start is not None:
            given = (script.code(item),)
            why = (
                f"where {start[0]} is not set, this is in {start[1]}, and with CUDA's headers or libraries before "
                "ROCm's the build may read CUDA's files; assumes that it is not set on ROCm, or not needed"
            )
            yield FlagChange(i, i + 1, "cuda_path", given, (), why, Certainty.REVIEW)


def _start(script: Script, node: cst.CSTNode | None, depth: int = 0) -> tuple[str, str] | None:
    """Return the variable that a path begins with, and its default, a folder of CUDA's."""
    match node:
        case cst.BinaryOperation(left=first) if depth < 5:
            return _start(script, first, depth + 1)
        case cst.FormattedString(parts=[cst.FormattedStringExpression(expression=first), *_]) if depth < 5:
            return _start(script, first, depth + 1)
        case cst.Name() if depth < 5:
            values = script.values(node)
            return _start(script, values[0], depth + 1) if len(values) == 1 else None
        # `os.environ.get("CUDA_PATH") or "/usr/local/cuda"`, `CUDA_HOME or "/usr/local/cuda"`
        case cst.BooleanOperation(left=first, operator=cst.Or(), right=second) if depth < 5:
            folder = script.text(second)
            asked = _READ.search(script.code(first))
            return (asked[1] or asked[2], folder) if asked and CUDA_FOLDER.match(folder) else None
        case cst.Call(func=function, args=[cst.Arg(first), *more]) if depth < 5:
            code = script.code(function)
            if _PATHS.search(code):
                return _start(script, first, depth + 1)
            if more and _READS.search(code):
                variable, folder = script.text(first), script.text(more[0].value)
                if "CUDA" in variable and CUDA_FOLDER.match(folder):
                    return variable, folder
    return None


def _options(script: Script) -> Iterator[Said]:
    """Yield the build_ext options in `setup(options=…)` that are strings with something of CUDA's."""
    for node in script.nodes:
        if isinstance(node, cst.DictElement) and of_build_ext(script, script.parent[node]):
            key = script.text(node.key)
            # Libraries, and a folder by itself, are followed like those of an extension.
            items = [node.value]
            if key == "define" and isinstance(node.value, (cst.List, cst.Tuple)):
                items = [each.value for each in node.value.elements]
            said = [
                each
                for item in items
                if isinstance(item, cst.SimpleString)
                and (key == "define" or (":" in script.text(item) and not CUDA_FOLDER.match(script.text(item))))
                for each in options.changed(key, script.text(item))
            ]
            if said and script.runs(node).both:
                message = (
                    "CUDA and ROCm need different values here: let torch.version.hip choose. On ROCm: "
                    f"{'; '.join(said)}"
                )
                yield Said(script.source.span(node.value), "option", message, Certainty.MANUAL)


def _stray_abi(script: Script, groups: Sequence[FlagGroup]) -> Iterator[Said]:
    """Yield macros for the old ABI in pairs and tables from which a list of macros is made elsewhere."""
    reached = {id(item) for group in groups if "macro" in group.uses for item in group.items}
    for node in script.nodes:
        if not isinstance(node, cst.SimpleString) or script.text(node) != "_GLIBCXX_USE_CXX11_ABI":
            continue
        value: cst.BaseExpression | None = None
        match script.parent[node]:
            case cst.DictElement(key=key, value=value) if key is node:
                pass
            case cst.Element() as first if (
                isinstance(pair := script.parent[first], cst.Tuple) and id(pair) not in reached
            ):
                value = pair.elements[1].value if len(pair.elements) == 2 and pair.elements[0] is first else None
        if value is not None and script.constant(value) == "0" and script.runs(node).both:
            message = f"the old ABI of the C++ library; {_OF_TORCH}: leave it out on ROCm"
            yield Said(script.source.span(node), "abi", message, Certainty.MANUAL)


def _abi(script: Script, group: FlagGroup, tokens: Sequence[_Token]) -> Iterator[FlagChange]:
    """Drop the macro for the ABI of the C++ library, unless its value is 0 or 1, or comes from PyTorch."""
    for i, token in enumerate(tokens):
        match = _ABI.fullmatch(token.text)
        if i and not match and tokens[i - 1].text == "-D" and (match := _ABI.fullmatch(f"-D{token.text}")):
            given = ("-D", token.text)
            if not script.mentions(group.items[token.item], OF_TORCH):
                yield FlagChange(i - 1, i + 1, "abi", given, (), _OF_TORCH, Certainty.SAFE)
            continue
        if match is None or match[1] in ("0", "1"):
            continue
        if HOLE not in match[1]:
            yield FlagChange(i, i + 1, "abi", (token.text,), (), _OF_TORCH, Certainty.SAFE)
        elif not script.mentions(group.items[token.item], OF_TORCH):
            why = f"{_OF_TORCH}; assumes that this is not computed from PyTorch's own ABI"
            yield FlagChange(i, i + 1, "abi", (token.text,), (), why, Certainty.REVIEW)


def _macros(flags: Sequence[str], project: Project) -> Iterator[FlagChange]:
    """Keep macros that the code tests from being renamed.

    BuildExtension replaces the first CUDA by HIP in each `-D…` of `extra_compile_args["nvcc"]`, but not in the code
    that tests the macro. It does not change the second of two arguments.
    """
    for i, flag in enumerate(flags):
        match = _RENAMED.fullmatch(flag)
        if match is None or HOLE in flag:
            continue
        name = match[1].encode()
        asked = re.compile(rb"\b" + name + rb"\b")
        renamed = re.compile(rb"\b" + name.replace(b"CUDA", b"HIP", 1) + rb"\b")
        code = [other.text for other in project.sources if isinstance(other, Cpp)]
        if any(map(asked.search, code)) and not any(map(renamed.search, code)):
            why = "PyTorch's build would rename the macro for HIP, and the code does not ask for that name"
            yield FlagChange(i, i + 1, "renamed_macro", (flag,), ("-D", flag[2:]), why, Certainty.SAFE)


def _applied(
    script: Script, group: FlagGroup, tokens: Sequence[_Token], changes: Sequence[FlagChange]
) -> Iterator[Said]:
    least = Certainty.REVIEW if group.uses == {"maybe"} else Certainty.SAFE
    of_item: dict[int, list[FlagChange]] = defaultdict(list)
    for change in changes:
        part = tokens[change.start : change.stop]
        if change.certainty is Certainty.MANUAL:
            yield _said(script, group, tokens, [change], least)
        elif not part[0].whole and {token.item for token in part} == {part[0].item}:
            of_item[part[0].item].append(change)
        else:
            said = _said(script, group, tokens, [change], least)
            literals = [_literal(script, group, token, part) for token in change.hip]
            written = [literal for literal in literals if literal is not None]
            if len(written) < len(literals) or not all(token.whole for token in part) or group.shape == "split":
                said.manual()
            else:
                said.becomes.append(Becomes(group, part[0].item, part[-1].item, tuple(written)))
            yield said
    for item, parts in of_item.items():
        said = _said(script, group, tokens, parts, least)
        words = _words(script, group, item, tokens, parts)
        if words is None:
            said.manual(*(() if script.asked(group.node) else (NOBODY_SAYS,)))
        else:
            said.becomes.append(Becomes(group, item, item, words))
        yield said


def _said(
    script: Script, group: FlagGroup, tokens: Sequence[_Token], changes: Sequence[FlagChange], least: Certainty
) -> Said:
    """Return the finding on tokens that are all kept or all replaced."""
    first = tokens[changes[0].start]
    span = first.span or script.source.span(group.items[first.item])
    worst = max(changes, key=lambda change: change.certainty)
    message = worded(changes)
    if group.uses == {"maybe"}:
        message += "; assumes that it is given to hipcc"
    return Said(span, worst.kind, message, max(worst.certainty, least))


def _literal(script: Script, group: FlagGroup, flag: str, part: Sequence[_Token]) -> bytes | None:
    """Return the code of a flag: unchanged, or as a literal in the style of the first one that it replaces."""
    for token in part:
        if token.text == flag and token.whole and "macro" not in group.uses:
            node = group.items[token.item]
            return script.source[with_parentheses(script.source, node)]
    if HOLE in flag or re.search(r"[\\\"'{}\n]", flag):
        return None
    node = group.items[part[0].item]
    quote = node.quote if isinstance(node, cst.SimpleString) and len(node.quote) == 1 else '"'
    return f"{quote}{flag}{quote}".encode()


def _words(
    script: Script, group: FlagGroup, item: int, tokens: Sequence[_Token], changes: Sequence[FlagChange]
) -> tuple[bytes, ...] | None:
    """Return the literal for a string of several words with some of them changed; none if no word is left."""
    words = [token for token in tokens if token.item == item]
    node = group.items[item]
    left = sum(len(change.hip) - (change.stop - change.start) for change in changes) + len(words)
    if not left and group.shape != "split":
        return None if group.shape == "alone" and not isinstance(group.node, cst.Call) else ()
    if not left and not _at_blanks(script, node):
        return None
    content = _content(script, node)
    if content is None:
        return None
    code, whole = script.source[content], script.source.span(node)
    for change in reversed(changes):
        first, last = tokens[change.start].span, tokens[change.stop - 1].span
        if first is None or last is None or any(HOLE in flag or re.search(r"[\\\"'{}\n]", flag) for flag in change.hip):
            return None
        start, end = first.start - content.start, last.end - content.start
        before, hip, after = code[:start], " ".join(change.hip).encode(), code[end:]
        if not hip:
            # The removed word takes the blanks on one side with it.
            after, before = (after.lstrip(), before) if after.strip() else (after, before.rstrip())
        code = before + hip + after
    return (script.source.text[whole.start : content.start] + code + script.source.text[content.end : whole.end],)


def _at_blanks(script: Script, node: cst.CSTNode, depth: int = 0) -> bool:
    """Return whether a string is split at any whitespace, so that an empty string gives no item.

    `os.getenv("FLAGS", "-lineinfo").split(" ")` gives one empty item for an empty string, which becomes an argument.
    """
    above = script.parent[node]
    while isinstance(above, (cst.BooleanOperation, cst.BinaryOperation, cst.IfExp, cst.NamedExpr)):
        node, above = above, script.parent[above]
    if depth > 6:
        return False
    match above:
        case cst.Attribute():
            call = script.parent[above]
            if not isinstance(call, cst.Call):
                return True
            return not call.args if above.attr.value == "split" else _at_blanks(script, call, depth + 1)
        case cst.Arg():
            call = script.parent[above]
            if not isinstance(call, cst.Call):
                return True
            uses: list[cst.Name] = script.given(call, node)
            if not uses and called(call) in ("get", "getenv", "pop", "setdefault"):
                return _at_blanks(script, call, depth + 1)
            return all(_at_blanks(script, use, depth + 1) for use in uses)
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name) as target)]):
            uses = [
                use
                for use in script.named(name)
                if use is not target and script.scope(use, name) is script.scope(target, name)
            ]
            return all(_at_blanks(script, use, depth + 1) for use in uses)
    return True

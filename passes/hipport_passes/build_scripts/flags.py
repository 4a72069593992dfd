# SPDX-License-Identifier: Apache-2.0
"""Flags, macros, folders and libraries in a build script."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from hipport.finding import Certainty
from hipport.languages.cpp import Cpp
from hipport.project import Project
from hipport.source import Edit, Span
from hipport_passes.build_scripts.edits import Said
from hipport_passes.build_scripts.script import NVCC, Group, Script
from hipport_passes.nvcc_flags import HOLE, Change, library, translate

_CUDA_FOLDER = re.compile(r"/(?:usr/local|opt)/cuda(?:[-/0-9]|$)")
_RENAMED = re.compile(r"-D((?:(?!CUDA)[A-Za-z0-9_])*CUDA[A-Za-z0-9_]*)(=.*)?")


class _Token(NamedTuple):
    """One argument: the whole of an item, or a word of one that has several. `span` is None where bytes and text
    differ."""

    text: str
    item: int
    span: Span | None
    whole: bool


def flags(script: Script, project: Project) -> Iterator[Said]:
    """Yield what is to be said of the strings that compilers and linkers get."""
    torch = b"torch" in script.source.text
    for group in script.groups():
        if "maybe" in group.uses and _compared(script, group):
            continue
        tokens = _tokens(script, group)
        texts = [token.text for token in tokens]
        if "library" in group.uses:
            changes = _libraries(texts)
        elif "folder" in group.uses:
            changes = _folders(texts)
        else:
            of = "nvcc" if group.uses & {"nvcc", "jit", "maybe"} else "link" if "link" in group.uses else "host"
            if of == "host" and not torch:
                continue
            changes = list(translate(texts, torch=torch, of=of, rocm=project.target.rocm).changes)
            if script.aware:
                # hipcc takes them as they are, and the CUDA side of the script needs them.
                changes = [change for change in changes if change.kind != "half"]
            elif torch and group.uses & {"nvcc", "jit"} == {"nvcc"}:
                changes += _macros(texts, project)
        yield from _applied(script, group, tokens, sorted(changes, key=lambda change: change.start))


def _compared(script: Script, group: Group) -> bool:
    """Say whether strings of unknown use are something that flags are compared with, or given to another program."""
    above = script.parent[group.node]
    if any(NVCC.fullmatch(script.text(item)) for item in group.items):
        return True
    if isinstance(above, cst.Arg):
        return above.keyword is not None and above.keyword.value == "options"
    if isinstance(above, cst.Assign) and isinstance(above.targets[0].target, cst.Name):
        uses = script.named(above.targets[0].target.value)
        return any(isinstance(script.parent[use], (cst.ComparisonTarget, cst.CompFor, cst.For)) for use in uses)
    return False


def _tokens(script: Script, group: Group) -> list[_Token]:
    tokens: list[_Token] = []
    for i, item in enumerate(group.items):
        if isinstance(item, cst.Tuple) and "macro" in group.uses:
            name, *value = [script.text(element.value) for element in item.elements]
            tokens.append(_Token(f"-D{name}={value[0]}" if value else f"-D{name}", i, None, True))
            continue
        text = script.text(item)
        if len(text.split()) <= 1 and group.shape != "split":
            tokens.append(_Token(text.strip(), i, _content(script, item), True))
            continue
        content = _content(script, item)
        words = (
            [(m.group().decode("utf-8", "replace"), m.span()) for m in re.finditer(rb"\S+", script.source[content])]
            if content
            else []
        )
        if content is not None and [word for word, _ in words] == text.split():
            for word, (start, end) in words:
                tokens.append(_Token(word, i, Span(content.start + start, content.start + end), False))
        else:
            tokens += [_Token(word, i, None, False) for word in text.split()]
    return tokens


def _content(script: Script, item: cst.BaseExpression) -> Span | None:
    """Return what is between the quotes of a literal whose bytes are its text."""
    if not isinstance(item, cst.SimpleString) or "b" in item.prefix:
        return None
    if "\\" in item.raw_value and "r" not in item.prefix:
        return None
    span = script.source.span(item)
    return Span(span.start + len(item.prefix) + len(item.quote), span.end - len(item.quote))


def _libraries(names: Sequence[str]) -> list[Change]:
    changes = []
    kept: tuple[str, ...]
    given = set(names)
    for i, name in enumerate(names):
        found = library(name)
        if found is None:
            continue
        hip, why = found
        if why:
            changes.append(Change(i, i + 1, "library", (name,), (name,), why, Certainty.MANUAL))
            continue
        kept, why = (hip,), "the library of ROCm"
        if not hip or hip in given:
            kept, why = (), f"{hip} is there" if hip else "there is no need of it"
        given.add(hip)
        changes.append(Change(i, i + 1, "library", (name,), kept, why, Certainty.SAFE))
    return changes


def _folders(paths: Sequence[str]) -> list[Change]:
    why = "ROCm's compiler knows its own folders; with CUDA's before them it might read those"
    return [
        Change(i, i + 1, "cuda_path", (path,), (), why, Certainty.SAFE)
        for i, path in enumerate(paths)
        if _CUDA_FOLDER.match(path)
    ]


def _macros(flags: Sequence[str], project: Project) -> Iterator[Change]:
    """Keep macros that the code asks for from being renamed.

    BuildExtension puts HIP for the first CUDA in each `-D…` of `extra_compile_args["nvcc"]`, not in the code that
    asks for the macro. It does not look at the second of two arguments.
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
            why = "PyTorch's build would rename the macro to HIP, which the code does not ask for"
            yield Change(i, i + 1, "renamed_macro", (flag,), ("-D", flag[2:]), why, Certainty.SAFE)


def _applied(script: Script, group: Group, tokens: Sequence[_Token], changes: Sequence[Change]) -> Iterator[Said]:
    least = Certainty.REVIEW if group.uses == {"maybe"} else Certainty.SAFE
    several: dict[int, list[Change]] = defaultdict(list)
    for change in changes:
        part = tokens[change.start : change.stop]
        span = part[0].span or script.source.span(group.items[part[0].item])
        message = str(change)
        if group.uses == {"maybe"}:
            message += "; assumes that hipcc gets it"
        said = Said(span, change.kind, message, max(change.certainty, least))
        if change.certainty is Certainty.MANUAL:
            yield said
        elif not part[0].whole and {token.item for token in part} == {part[0].item}:
            several[part[0].item].append(change)
        else:
            _replace(script, group, tokens, change, said)
            yield said
    for item, parts in several.items():
        yield _words(script, group, item, tokens, parts, least)


def _replace(script: Script, group: Group, tokens: Sequence[_Token], change: Change, said: Said) -> None:
    """Work out the edits for a change to whole items."""
    part = list(tokens[change.start : change.stop])
    hip = list(change.hip)
    # `-Xcompiler, -fPIC` → `-fPIC`: what stays is not written again.
    kept = len(hip) if hip and hip == [token.text for token in part[len(part) - len(hip) :]] else 0
    gone = part[: len(part) - kept]
    if not all(token.whole for token in part) or group.shape == "split":
        said.manual()
        return
    if not kept and hip:
        first = gone.pop(0)
        if not _written(script, group, first.item, hip, said):
            said.manual()
            return
    for token in gone:
        said.items.append((group, token.item))
    if group.shape == "comprehension" and said.items:
        said.edits.append(Edit(script.source.span(group.node), b"[]" if _bracketed(group) else b"()"))
        said.items.clear()
    elif group.shape == "alone" and said.items:
        said.manual()


def _bracketed(group: Group) -> bool:
    return not isinstance(group.node, cst.GeneratorExp)


def _written(script: Script, group: Group, item: int, flags: Sequence[str], said: Said) -> bool:
    """Write `flags` in place of an item, as literals like the one that is there."""
    source, node = script.source, group.items[item]
    if any(HOLE in flag or re.search(r"[\\\"'{}]", flag) for flag in flags):
        return False
    content = _content(script, node)
    if len(flags) == 1 and content is not None:
        said.edits.append(Edit(content, flags[0].encode()))
        return True
    quote = node.quote if isinstance(node, cst.SimpleString) else '"'
    literals = [f"{quote}{flag}{quote}".encode() for flag in flags]
    span = source.span(node)
    if len(flags) == 1:
        said.edits.append(Edit(span, literals[0]))
    elif group.shape == "elements":
        line = source.text.rfind(b"\n", 0, span.start) + 1
        indent = source.text[line : span.start]
        alone = not indent.strip() and not source.text[span.end :].lstrip(b" \t").startswith(b"]")
        said.edits.append(Edit(span, (b"," + source.newline + indent if alone and line else b", ").join(literals)))
    elif group.shape == "appended":
        call = script.parent[script.parent[node]]
        assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
        said.edits.append(Edit(source.span(call.func.attr), b"extend"))
        said.edits.append(Edit(span, b"[" + b", ".join(literals) + b"]"))
    else:
        return False
    return True


def _words(
    script: Script, group: Group, item: int, tokens: Sequence[_Token], changes: Sequence[Change], least: Certainty
) -> Said:
    """Say all that is to be said of one string of several words, in one finding: it may be all that is in it."""
    words = [token for token in tokens if token.item == item]
    first, last = changes[0], changes[-1]
    worst = max(changes, key=lambda change: change.certainty)
    span = tokens[first.start].span or script.source.span(group.items[item])
    said = Said(span, worst.kind, "; ".join(map(str, changes)), max(worst.certainty, least))
    hip: list[str] = []
    done = first.start
    for change in changes:
        hip += [token.text for token in tokens[done : change.start]]
        hip += change.hip
        done = change.stop
    before = [token for token in words if token not in tokens[first.start :]]
    after = list(tokens[last.stop : tokens.index(words[-1]) + 1])
    start, end = tokens[first.start].span, tokens[last.stop - 1].span
    if not hip and not before and not after and group.shape != "split":
        if group.shape in ("alone", "comprehension"):
            said.manual()
        else:
            said.items.append((group, item))
    elif start is None or end is None or any(HOLE in flag or re.search(r"[\\\"'{}]", flag) for flag in hip):
        said.manual()
    elif hip:
        said.edits.append(Edit(Span(start.start, end.end), " ".join(hip).encode()))
    elif after and (following := after[0].span):
        said.edits.append(Edit(Span(start.start, following.start), b""))
    elif before and (previous := before[-1].span):
        said.edits.append(Edit(Span(previous.end, end.end), b""))
    else:
        said.edits.append(Edit(Span(start.start, end.end), b""))
    return said

# SPDX-License-Identifier: Apache-2.0
"""Lists with one requirement per line: for pip, for setuptools, and for conda."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport.syntax.packaging import CondaEnvironment, PackageLine, Requirements, SetupCfg, ToxIni
from hipport.syntax.shell import Word
from hipport_passes.packages.asking import Asking, decoded, finding, note, part, says_cuda_index
from hipport_passes.packages.commands import in_commands
from hipport_passes.packages.image_environment import indexes
from hipport_passes.packages.judge import Verdict
from hipport_passes.packages.lists import commented

_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
_OF_NVIDIA = _WORDS.compile(r"(?:(?&https)://[^/]+/)?(?&nvidia)(?:/.*)?")
_EDITABLE = _WORDS.compile(r"^(?&editable)[ =]")
_FOR_CPU = _WORDS.compile(r"(?&cpu_builds)")
_OPTION = re.compile(rf"({one_of(_WORDS['addresses'])})(?:\s*=\s*|\s+)(\S+)", re.DOTALL)
_FOLDER = re.compile(r"(?:\./)*([\w.-]+(?:/[\w.-]+)*)/?")
_CONDA = re.compile(r"(?:(?P<channel>[\w./-]+)::)?(?P<name>[\w.-]+)")
_PYTORCH = (
    "conda has no build of PyTorch for ROCm; assumes that pip installs it, as `hipport deps` says, and that "
    "nothing else comes from NVIDIA's channel"
)


def in_requirements(source: Requirements, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on a requirements file for pip."""
    for line in source.lines:
        options = decoded(source, line.options)
        if len(line.requirement):
            text = decoded(source, line.requirement)
            verdict = asking.judge(text, hashed="--hash" in options)
            if verdict is not None:
                yield _on_line(source, line, verdict, text)
        else:
            yield from _option(source, line, options, asking)


def _on_line(source: Source, line: PackageLine, verdict: Verdict, text: str) -> Finding:
    edits: tuple[Edit, ...] = ()
    if verdict.what == "edit":
        edits = (part(verdict, text, line.requirement.start),)
    elif verdict.what == "out":
        edits = _commented(source, line.span, note(verdict))
    return finding(line.requirement, verdict, edits)


def _commented(source: Source, span: Span, why: str) -> tuple[Edit, ...]:
    """Return the edits that comment out a line and its continuation lines."""
    _, *more = re.finditer(rb"[^\r\n]+", source[span])
    start = span.start + len(source[span]) - len(source[span].lstrip())
    edits = [Edit(Span(start, start), b"# ")]
    edits += [Edit(Span(span.start + each.start(), span.start + each.start()), b"# ") for each in more]
    end = span.start + len(source[span].rstrip())
    if more:
        # A continued line has no place for a note after it.
        edits[0] = Edit(Span(start, start), b"# ROCm: " + why.encode() + source.newline + b"# ")
    else:
        edits.append(Edit(Span(end, end), b"  # ROCm: " + why.encode()))
    return tuple(edits)


def _option(source: Source, line: PackageLine, options: str, asking: Asking) -> Iterator[Finding]:
    match = _OPTION.match(options)
    if match is None:
        return
    option, value = match[1], match[2].strip("\"'")
    if option in ("-e", "--editable"):
        verdict = asking.judge(value)
        if verdict is not None and verdict.what == "edit":
            return
        if verdict is not None:
            yield _on_line(source, PackageLine(line.span, line.options, line.options), verdict, value)
        return
    if not says_cuda_index(value):
        return
    ours = asking.index_for_rocm(value) if option in ("-i", "--index-url") else None
    if ours is not None:
        start = line.options.start + len(options[: match.start(2)].encode()) + match[2].index(value)
        message = (
            f"{value} has builds for CUDA; PyTorch's for ROCm are at {ours}; assumes that the program runs with the "
            "newest there, or with an installed one"
        )
        yield Finding(
            line.options,
            "index",
            message,
            (Edit(Span(start, start + len(value.encode())), ours.encode()),),
            Certainty.REVIEW,
        )
        return
    message = (
        f"{value} has builds for CUDA, which pip would install; assumes that PyTorch for ROCm is installed already"
    )
    edits = _commented(source, line.span, "builds for CUDA; PyTorch for ROCm is installed beforehand")
    yield Finding(line.options, "index", message, edits, Certainty.REVIEW)


def in_setup_cfg(source: SetupCfg, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on setup.cfg."""
    for _, span in source.requirements:
        text = decoded(source, span)
        verdict = asking.judge(re.split(r"\s#", text)[0].rstrip())
        if verdict is None:
            continue
        edits: tuple[Edit, ...] = ()
        if verdict.what == "edit":
            edits = (part(verdict, text, span.start),)
        elif verdict.what == "out":
            start = source.line_start(span.start)
            if source.text[start : span.start].strip():
                # `install_requires = xformers`: the option stays, with an empty value.
                more = re.compile(rb"[ \t]*;[ \t]*").match(source.text, span.end)
                edits = (Edit(Span(span.start, more.end() if more else span.end), b""),)
            else:
                edits = (Edit(Span(span.start, span.start), b"# "),)
        yield finding(span, verdict, edits)


def in_tox(source: ToxIni, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on tox's configuration: the dependencies of its environments, and their commands."""
    for each in source.settings:
        text = decoded(source, each.span)
        if each.option in ("setenv", "set_env"):
            name, _, value = text.partition("=")
            yield from indexes(source, [Word(f"{name.strip()}={value.strip()}", each.span)], asking)
        if each.option != "deps":
            continue
        option = _OPTION.match(text)
        bare = re.split(r"\s#", text)[0].rstrip()
        verdict = asking.judge(bare) if option is None else None
        edits: tuple[Edit, ...] = ()
        line = source.line_start(each.span.start)
        # Before factors, too; after the option there is no place for a comment.
        begin = line + len(source.text[line:]) - len(source.text[line:].lstrip(b" \t"))
        gone = Edit(each.span, b"") if each.first else Edit(Span(begin, begin), b"# ")
        if option is not None and option[1] not in ("-e", "--editable") and says_cuda_index(option[2]):
            message = f"{option[2]} has builds for CUDA; assumes that PyTorch for ROCm comes from {asking.index.url}"
            ours = asking.index_for_rocm(option[2])
            start = each.span.start + len(text[: option.start(2)].encode())
            edit = Edit(Span(start, start + len(option[2].encode())), ours.encode()) if ours else gone
            yield Finding(each.span, "index", message, (edit,), Certainty.REVIEW)
        elif verdict is not None:
            if verdict.what == "edit":
                edits = (part(verdict, text, each.span.start),)
            elif verdict.what == "out":
                edits = (gone,)
            yield finding(each.span, verdict, edits)
    yield from in_commands(source, source.commands, asking)


def in_conda(source: CondaEnvironment, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on a conda environment."""
    asked_by_pip = [item for item in source.items if item[0] == "pip"]
    gone = 0
    for kind, span, line in source.items:
        text = decoded(source, span)
        found: Finding | None = None
        if kind == "channels":
            if _OF_NVIDIA.fullmatch(text):
                edits = _item_out(source, line, "NVIDIA's builds")
                # PyTorch's dependencies from this channel are removed with it.
                message = (
                    f"the channel {text}: {_PYTORCH}"
                    if any(
                        kind not in ("channels", "pip") and _is_pytorch(source, each, asking)
                        for kind, each, _ in source.items
                    )
                    else f"the channel {text} has builds for CUDA; assumes that nothing else comes from it"
                )
                found = Finding(span, "channel", message, edits, Certainty.REVIEW)
        elif kind == "pip":
            found = _pip_item(source, span, line, asking)
            gone += found is not None and len(found.edits) == 2
        else:
            found = _conda_item(source, text, span, line, asking)
        if found is not None and line == span and found.edits:
            # Items in brackets have no line to comment out.
            yield replace(
                found, message=f"{found.message}; take it out of the brackets", edits=(), certainty=Certainty.MANUAL
            )
        elif found is not None:
            yield found
    for kind, span, line in source.going_on:
        if kind == "pip":
            found = _pip_item(source, span, line, asking)
        else:
            found = _conda_item(source, decoded(source, span), span, line, asking) if kind != "channels" else None
        if found is not None:
            message = f"{found.message}; it continues on the lines below: remove it by hand"
            yield replace(found, message=message, edits=(), certainty=Certainty.MANUAL)
    if asked_by_pip and gone == len(asked_by_pip) and source.pip is not None:
        # To conda, a list of comments alone is invalid.
        where = source.pip
        start = where.start + len(source[where]) - len(source[where].lstrip())
        edits = (Edit(Span(start, start), b"# "),)
        yield Finding(Span(start, where.end), "empty", "nothing is left for pip here", edits, Certainty.REVIEW)


def _is_pytorch(source: Source, span: Span, asking: Asking) -> bool:
    match = _CONDA.match(decoded(source, span))
    family = asking.recipes.conda(match["name"]) if match is not None else None
    return family is not None and family.action == "keep"


def _item_out(source: Source, line: Span, why: str) -> tuple[Edit, ...]:
    text = source[line]
    start = line.start + len(text) - len(text.lstrip())
    return commented(Span(start, line.start + len(text.rstrip())), why)


def _pip_item(source: CondaEnvironment, span: Span, line: Span, asking: Asking) -> Finding | None:
    text = decoded(source, span)
    requirement = re.split(r"\s--?[A-Za-z]", text)[0].rstrip()
    option = _OPTION.match(text)
    if option is not None:
        if option[1] in ("-e", "--editable") or not says_cuda_index(option[2]):
            return None
        message = (
            f"{option[2]} has builds for CUDA, which pip would install; assumes that PyTorch for ROCm is installed"
        )
        return Finding(span, "index", message, _item_out(source, line, "builds for CUDA"), Certainty.REVIEW)
    folder = _FOLDER.fullmatch(_EDITABLE.sub("", text).split(" #")[0].strip())
    if folder is not None and asking.builds_with_torch(folder[1]):
        message = (
            f"{text} is built against PyTorch, of which conda has no build for ROCm; assumes that it is installed "
            "afterwards, as `hipport deps` says"
        )
        edits = _item_out(source, line, f"pip install --no-build-isolation ./{folder[1]}, after PyTorch for ROCm")
        return Finding(span, "isolation", message, edits, Certainty.REVIEW)
    verdict = asking.judge(requirement)
    if verdict is None:
        return None
    edits = ()
    if verdict.what == "edit":
        edits = (part(verdict, text, span.start),)
    elif verdict.what == "out":
        edits = _item_out(source, line, note(verdict))
    return finding(span, verdict, edits)


def _conda_item(source: CondaEnvironment, text: str, span: Span, line: Span, asking: Asking) -> Finding | None:
    match = _CONDA.match(text)
    if match is None or _FOR_CPU.search(text):
        return None
    family = asking.recipes.conda(match["name"])
    if family is None:
        if match["channel"] == "nvidia":
            message = f"{text}: the channel has builds for CUDA; assumes that nothing needs it"
            return Finding(span, "cuda_only", message, _item_out(source, line, "for CUDA"), Certainty.REVIEW)
        return None
    if family.action == "keep":
        return Finding(span, "pin", f"{text}: {_PYTORCH}", _item_out(source, line, family.note), Certainty.REVIEW)
    if family.action in ("remove", "separate"):
        safe = family.name == "nvidia-libraries"
        assumed = "" if safe else "; assumes that it is installed as `hipport deps` says, or not needed"
        edits = _item_out(source, line, family.note or family.why)
        kind = "cuda_only" if family.action == "remove" else "separate"
        return Finding(
            span, kind, f"{text}: {family.why}{assumed}", edits, Certainty.SAFE if safe else Certainty.REVIEW
        )
    if family.action == "manual":
        return Finding(span, "no_rocm", f"{text}: {family.why}", (), Certainty.MANUAL)
    return None

# SPDX-License-Identifier: Apache-2.0
"""Commands that install packages, in shell scripts, Dockerfiles and texts, and the base images there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport.syntax.shell import Command, Definition, Dockerfile, DockerInstruction, Markdown, Shell, Word, settings
from hipport_passes.packages.asking import Asking, says_cuda_index, unless_both
from hipport_passes.packages.image_environment import built_for, for_cuda_image, image, indexes
from hipport_passes.packages.install_commands import PROJECTS, pip_install
from hipport_passes.packages.installed_packages import of_one_command
from hipport_passes.packages.recipes import for_rocm

_DECLARE = frozenset(("export", "local", "declare", "readonly", "typeset"))
_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
_CUDA_WORDS = _WORDS.compile(r"(?&for_cuda)", re.IGNORECASE)
_ROCM_WORDS = _WORDS.compile(r"(?&rocm)|(?<![a-z])(?&hip)(?![a-z])|(?<![a-z])(?&amd)(?!64|[a-z])", re.IGNORECASE)
_COPIED = re.compile(rb"--from=([^\s\"']+)")
# A variable of a shell's, or one of Python's that a notebook inserts: `$url`, `{url}`. The latter are stored with
# braces.
_VARIABLE = re.compile(r"\$(?:\{(?P<name>\w+)(?:\[@\])?\}|(?P<bare>\w+))|(?<!\$)\{(?P<python>\w+)\}")
# A heading or an item about AMD's GPUs, or an image of AMD's: hipport's own commands contain none of these.
_FOR_USERS_OF_ROCM = _WORDS.compile(
    rb"^[ \t]*(?:#+|[-*+]|\d+[.)])[ \t][^\r\n]{0,60}\b(?:(?&rocm_users)|(?&amd_users) (?&amd_gpus))\b"
    rb"|\b(?&rocm_images)\b",
    re.MULTILINE,
)


def in_shell(source: Source, asking: Asking, variables: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Yield the findings on a shell script, or on a notebook's shell commands, with Python's `variables`."""
    assert isinstance(source, Shell)
    yield from in_commands(source, source.commands, asking, variables)


def in_dockerfile(source: Dockerfile, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on a Dockerfile."""
    knows_rocm = any(
        each.name == "FROM"
        and any(_ROCM_WORDS.search(word.text) and word.text not in asking.ours for word in each.words)
        for each in source.instructions
    )
    # It may have a stage for each vendor.
    found = _in_dockerfile(source, asking)
    yield from unless_both(found) if knows_rocm else found


def _in_dockerfile(source: Dockerfile, asking: Asking) -> Iterator[Finding]:
    if any(each.name == "FROM" and b"windows" in source[each.span] for each in source.instructions):
        return
    variables = {name for each in source.instructions if each.name == "FROM" for name in _variables(each)}
    for each in source.instructions:
        if each.name == "FROM":
            named = [word for word in each.words if not word.text.startswith("--")]
            if named:
                yield from image(named[0], named[0].text, named[0].start, asking)
        elif each.name == "COPY" and (copied := _COPIED.search(source[each.span])):
            name = copied[1].decode("utf-8", "replace")
            if for_cuda_image(name):
                start = each.span.start + copied.start(1)
                message = f"{name} is an image for CUDA, and AMD's images have ROCm: copy nothing from it"
                yield Finding(Span(start, start + len(copied[1])), "image", message, (), Certainty.MANUAL)
        elif each.name == "ARG":
            for word in each.words:
                name, _, value = word.text.partition("=")
                if name in variables and value:
                    bare = value.strip("\"'")
                    yield from image(word, bare, word.start + word.text.index(bare), asking)
                yield from indexes(source, [word], asking)
        elif each.name == "ENV":
            yield from built_for(each.words, asking)
            yield from indexes(source, each.words, asking)
    settled = {
        name: value
        for each in source.instructions
        if each.name in ("ARG", "ENV")
        for name, value, _ in settings(each.words)
    }
    yield from in_commands(source, source.commands, asking, settled)


def in_definition(source: Definition, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on a definition file of Singularity or Apptainer."""
    images = [word for key, word in source.headers if key == "from"]
    found = _in_definition(source, images, asking)
    both = any(for_rocm(word.text) and word.text not in asking.ours for word in images)
    yield from unless_both(found) if both else found


def _in_definition(source: Definition, images: Sequence[Word], asking: Asking) -> Iterator[Finding]:
    for word in images:
        yield from image(word, word.text, word.start, asking)
    yield from in_commands(source, source.commands, asking)


def _variables(each: DockerInstruction) -> Iterator[str]:
    for word in each.words:
        match = re.fullmatch(r"\$\{?(\w+)\}?", word.text)
        if match:
            yield match[1]


def in_commands(
    source: Source, commands: Sequence[Command], asking: Asking, variables: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Yield the findings on commands that install packages."""
    knows_rocm = any(
        _ROCM_WORDS.search(word.text) and word.text not in asking.ours for command in commands for word in command.words
    ) or any(command.asks(_ROCM_WORDS) for command in commands)
    folder = _Folder()
    known: dict[str, str] = dict(variables or {})
    for command in commands:
        folder.follow(command)
        sets = command.words[1:] if command.words[0].text in _DECLARE else command.words
        if sets and "=" in sets[0].text:
            for word in sets:
                name, _, value = word.text.partition("=")
                if name.isidentifier():
                    known[name] = value
                elif name.endswith("+"):
                    known[name[:-1]] = known.get(name[:-1], "") + (" " if word.items else "") + value
        if command.asks(_ROCM_WORDS):
            continue
        behind = command.asks(_CUDA_WORDS)
        if behind and knows_rocm:
            continue
        of_command = list(of_one_command(source, command, asking, folder.now))
        for found in of_command or _by_variables(command, known, asking):
            if behind and found.kind == "archs":
                continue
            if behind and found.edits:
                message = f"{found.message}. A test for CUDA guards it, which has another result on ROCm"
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            elif found.edits and command.words[0].text in PROJECTS:
                message = (
                    f"{found.message}. {command.words[0].text} takes indexes from a source in the project's settings"
                )
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            elif found.edits and command.listed:
                message = f"{found.message}. It stands in a list: change it by hand"
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            elif any(quote in edit.new.decode(errors="replace") for edit in found.edits for quote in command.quotes):
                message = f"{found.message}. It stands in quotes: change it by hand"
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            yield found


def _by_variables(command: Command, known: Mapping[str, str], asking: Asking) -> Iterator[Finding]:
    """Yield the findings on a pip command whose arguments are variables that the script sets before."""
    install = pip_install(command)
    if install is None:
        return
    for word in install.asked:
        put = _put(word.text, known)
        for text in put.split() if "$" in word.text or put != word.text else ():
            if "://" in text and "@" not in text and says_cuda_index(text):
                message = f"in {word.text}, {text} has builds for CUDA; PyTorch's for ROCm are at {asking.index.url}"
                yield Finding(word.span, "index", message, (), Certainty.MANUAL)
                continue
            verdict = asking.judge(text)
            if verdict is not None:
                message = f"in {word.text}, {verdict.message}; change it where the variable is set"
                yield Finding(word.span, verdict.kind, message, (), Certainty.MANUAL)
    for _, span, url in install.indexes:
        if (put := _put(url, known)) == url and "$" not in url:
            continue
        if says_cuda_index(put):
            message = f"{_told(put)} has builds for CUDA; PyTorch's for ROCm are at {asking.index.url}: set it to that"
            yield Finding(span, "index", message, (), Certainty.MANUAL)


def _put(text: str, known: Mapping[str, str]) -> str:
    """Return a word with its variables replaced by their values, as far as these are known."""
    for _ in range(3):
        text = _VARIABLE.sub(
            lambda m: known.get(f"{{{m['python']}}}" if m["python"] else m["name"] or m["bare"], m[0]).strip("\"'"),
            text,
        )
    return text


def _told(text: str) -> str:
    """Return a text for people, without the parts that are known only at run time."""
    return text.replace(HOLE, "…")


class _Folder:
    """The current folder of a script by its `cd` commands: relative to its first folder, or to an unknown one."""

    def __init__(self) -> None:
        self.now = ""
        self._before: list[str] = []

    def follow(self, command: Command) -> None:
        """Record `cd`, `pushd` and `popd`."""
        name, *words = (word.text for word in command.words)
        where = next((word for word in words if not word.startswith("-") or word == "-"), "")
        if name.lstrip("%") in ("cd", "pushd") and where not in ("", "-"):
            self._before.append(self.now)
            # The value of a variable, and the root, are unknown; builds are identified by the end of the path.
            known = re.sub(r"^.*\$\{?\w+\}?|^.*[)`]", "", where)
            parts = [] if known != where or known.startswith("/") else self.now.split("/")
            for each in known.split("/"):
                if each == "..":
                    parts = parts[:-1]
                elif each not in ("", "."):
                    parts.append(each)
            self.now = "/".join(part for part in parts if part)
        elif name == "popd" or (name.lstrip("%") == "cd" and where == "-"):
            self.now = self._before.pop() if self._before else ""


def in_markdown(source: Markdown, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on commands in a text: one for each with a replacement, and one for the rest."""
    found = _in_markdown(source, asking)
    # The text has instructions for users of ROCm, perhaps beside those for CUDA.
    words = (word.text for command in source.commands for word in command.words)
    knows_rocm = for_rocm(" ".join(word for word in words if word not in asking.ours))
    knows_rocm = knows_rocm or _FOR_USERS_OF_ROCM.search(source.text) is not None
    yield from unless_both(found) if knows_rocm else found


def _in_markdown(source: Markdown, asking: Asking) -> Iterator[Finding]:
    left: list[Command] = []
    folder = _Folder()
    for command in source.commands:
        folder.follow(command)
        findings = list(of_one_command(source, command, asking, folder.now))
        if any(found.kind in BRINGS and not found.edits for found in findings):
            left.append(command)
            continue
        for found in findings:
            if found.edits:
                message = f"{found.message}; and that the text around it is right for ROCm"
                yield Finding(found.span, found.kind, message, found.edits, Certainty.REVIEW)
    if left:
        lines = list(dict.fromkeys(source.line_read(command.span.start) for command in left))
        more = f" (also in lines {', '.join(map(str, lines[1:]))})" if len(lines) > 1 else ""
        message = (
            f"commands that install builds for CUDA{more}: add what users of ROCm have to do; `hipport deps` prints "
            "the commands"
        )
        yield Finding(left[0].span, "told", message, (), Certainty.MANUAL)


#: Findings on a command that installs a build for CUDA.
BRINGS = ("torch", "index", "separate", "cuda_only", "no_rocm", "pin", "own")

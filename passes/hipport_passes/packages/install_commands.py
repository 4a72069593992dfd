# SPDX-License-Identifier: Apache-2.0
"""Read the packages and sources in commands of pip, uv and conda."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hipport.core.edits import Span
from hipport.core.tables import Words
from hipport.syntax.build_names import NAMES
from hipport.syntax.shell import Command, Word

_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
_PIP = _WORDS.compile(r"(?:.*/)?(?&pip)[\d.]*")
_PYTHON = _WORDS.compile(
    r"(?:.*/)?(?&python)[\d.]*|\$\{?\w*(?&python_variables)\w*\}?"
    r"|\$\{?\w*(?&environment_variables)\w*\}?/(?&python_in_environment)|\{(?&interpreter)\}",
    re.IGNORECASE,
)
_CONDA = _WORDS.compile(r"(?:.*/)?(?&conda)")

# Commands that add a package to a project's list, which has an index of its own.
PROJECTS = {"poetry": "add", "pdm": "add", "pipenv": "install"}
_INDEX_OPTIONS = frozenset(
    ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--default-index", "--index")
)
_WITH_VALUE = _INDEX_OPTIONS | frozenset(
    "-r --requirement -c --constraint -e --editable -t --target --prefix --root --python --platform --no-binary "
    "--only-binary --progress-bar --upgrade-strategy --config-settings --global-option --install-option "
    "--trusted-host --cache-dir --timeout --retries -p -C --src --report --log --proxy --abi --implementation".split()
)
_CONDA_VALUES = frozenset("-c --channel -n --name -p --prefix --file -f --solver".split())


@dataclass
class Install:
    """A pip command: the packages that it installs, and their sources."""

    command: Command
    #: Requirements, and paths.
    asked: list[Word] = field(default_factory=list)
    #: For each index or page of links: the words of the option, and the address.
    indexes: list[tuple[str, Span, str]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    editable: list[Word] = field(default_factory=list)
    lists: list[Word] = field(default_factory=list)
    #: The start of the first word after `install`.
    start: int = 0


def pip_install(command: Command) -> Install | None:
    """Read `pip install …` in all of its spellings."""
    words = list(command.words)
    at = 0
    if words[at].text == "uv":
        at += 1
        if at < len(words) and words[at].text == "pip":
            at += 1
        elif at < len(words) and words[at].text != "add":
            return None
        else:
            return _options(command, words, at + 1) if at < len(words) else None
    elif _PYTHON.fullmatch(words[at].text) and len(words) > 2 and words[1].text == "-m":
        at += 2
        if words[at].text == "uv" and at + 1 < len(words) and words[at + 1].text == "pip":
            at += 2
        elif words[at].text == "pip":
            at += 1
        else:
            return None
    elif words[at].text in PROJECTS and len(words) > 2 and words[1].text == PROJECTS[words[at].text]:
        return _options(command, words, 2)
    elif _PIP.fullmatch(words[at].text.lstrip("!%")):
        at += 1
    else:
        return None
    while at < len(words) and words[at].text.startswith("-"):
        at += 1
    if at >= len(words) or words[at].text != "install":
        return None
    return _options(command, words, at + 1)


def _options(command: Command, words: Sequence[Word], at: int) -> Install:
    found = Install(command, start=words[at].span.start if at < len(words) else command.span.end)
    while at < len(words):
        word = words[at]
        text, _, value = word.text.partition("=")
        if not word.text.startswith("-"):
            found.asked.append(word)
        elif text in _WITH_VALUE or text[:2] in ("-r", "-c", "-e", "-i", "-f"):
            behind = word
            if not value and text in _WITH_VALUE and at + 1 < len(words):
                at += 1
                behind = words[at]
                value = behind.text
            elif not value and text not in _WITH_VALUE:
                text, value = text[:2], word.text[2:]
            span = Span(word.span.start, behind.span.end)
            if text in _INDEX_OPTIONS:
                found.indexes.append((text, span, value))
            elif text in ("-e", "--editable"):
                found.editable.append(behind)
            elif text in ("-r", "--requirement"):
                found.lists.append(behind)
        else:
            found.flags.append(word.text)
        at += 1
    return found


def conda_install(command: Command) -> list[Word] | None:
    """Return the packages of `conda install …` and `conda create …`."""
    words = command.words
    if not _CONDA.fullmatch(words[0].text) or len(words) < 3 or words[1].text not in ("install", "create"):
        return None
    asked: list[Word] = []
    at = 2
    while at < len(words):
        text = words[at].text
        if text in _CONDA_VALUES:
            at += 1
        elif not text.startswith("-"):
            asked.append(words[at])
        at += 1
    return asked

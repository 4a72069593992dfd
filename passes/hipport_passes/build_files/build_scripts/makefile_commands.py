# SPDX-License-Identifier: Apache-2.0
"""The commands of a makefile, and its variables that hold compilers or flags for nvcc."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.make import Makefile, MakeLine, without_references
from hipport_passes.build_files.nvcc_flags import telling

_WORD = re.compile(
    rb"(?:\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\$\{[^{}]*\}|\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\[^\r\n]|[^\s\\\"'])+"
)
_WORDS = Words.read(Path(__file__).parents[1] / "makefile.toml", general=NAMES)
NVCC = _WORDS.compile(r"(?:(?:[\w./-]|\$[({]\w+[)}])*/)?(?&nvcc)")
_QUOTED = re.compile(rf"([\"'])({NVCC.pattern}|\$[({{]\w+[)}}])\1")
_QUIET = _WORDS.compile(r"\$[({]\w[)}](?=\$[({]|(?&nvcc)|/)")
# The compiler of NVIDIA's HPC SDK, and the sources besides CUDA that it makes kernels of.
NVCPP = _WORDS.compile(r"(?:(?:[\w./-]|\$[({]\w+[)}])*/)?(?&nvcpp)")
_TARGET_REGIONS = _WORDS.compile(rb"(?<![\w-])-(?:mp=\S*(?&gpus_of_openmp)|acc\b)")

COMPILER = re.compile(r"\$[({](\w+)[)}]")
WHICH = _WORDS.compile(rb"\$\(shell\s+(?:(?&finding)|(?&finding_by_option)\s+-v)\s+((?&nvcc))\b[^()]*\)")

RELOCATABLE = _WORDS.compile(r"(?<!\S)(?:(?&device_code)|(?&device_code_by_value)(?:=|\s+)true)(?!\S)")

# Separators of shell commands, and words in front of a command.
_BETWEEN = frozenset(("&&", "||", ";", "|", "&"))
_IN_FRONT = frozenset(("do", "then", "else", "if", "while", "until", "!", "{", "(", "time", "exec", "env", "ccache"))

_SET = re.compile(r"\w+=")
_SUFFIX_RULE = re.compile(r"\s*(\.\w+)\.\w+\s*:")
_FOR_NVCC = _WORDS.compile(r"(?&nvcc_flags)", re.IGNORECASE)


class MakefileCommands:
    """The commands of a makefile, and the advice for a person."""

    def __init__(self, source: Makefile, project: Project) -> None:
        self.source = source
        self.project = project
        self.rocm = project.target.rocm
        self.reported: list[Finding] = []
        self.tools: dict[str, list[Span]] = defaultdict(list)
        self.relocatable = RELOCATABLE.search(source.text.decode("utf-8", "replace")) is not None
        self.cuda = _TARGET_REGIONS.search(source.text) is None
        # The prerequisites of the rule above each recipe line.
        self.needs: dict[MakeLine, str] = {}
        needs = ""
        for line in source.lines:
            if line.kind == "rule":
                needs = self._needs(line)
            elif line.kind == "recipe":
                self.needs[line] = needs
        self.compilers = {
            line.name
            for line in source.lines
            if line.kind == "assignment" and (self._calls(line) or WHICH.search(source[line.value]))
        }
        # Variables in commands of nvcc, and the variables in their values.
        self.for_nvcc: set[str] = set()
        texts = [self._text(line.value) for line in source.lines if line.kind == "recipe" and self._calls(line)]
        texts += [self._text(line.value) for line in source.lines if line.kind == "assignment" and self._calls(line)]
        # Also in definitions for `eval`, where the compiler may be written `$$(NVCC)`.
        bodies = (self._text(line.value) for line in source.lines if line.kind == "define")
        texts += [text for text in bodies if self.compilers & set(COMPILER.findall(text)) or NVCC.search(text)]
        while texts:
            for name in COMPILER.findall(texts.pop()):
                if name not in self.for_nvcc and name not in self.compilers:
                    self.for_nvcc.add(name)
                    texts += [self._text(each.value) for each in source.lines if each.name == name]

    def _text(self, span: Span) -> str:
        return self.source[span].decode("utf-8", "replace")

    def _needs(self, rule: MakeLine) -> str:
        text = self._text(rule.span)
        if suffix := _SUFFIX_RULE.match(text):
            return f"%{suffix[1]}"
        *_, last = re.finditer(rb":(?!=)", without_references(self.source[rule.span]))
        return self._text(Span(rule.span.start + last.end(), rule.span.end)).split("|")[0].split(";")[0]

    def _expanded(self, text: str) -> str:
        """Return `text` with all values that its variables may have, where they are literal."""
        for _ in range(8):
            expanded = COMPILER.sub(
                lambda match: " ".join(self._text(each.value) for each in self.source.lines if each.name == match[1]),
                text,
            )
            if expanded == text:
                break
            text = expanded
        return text

    def _words(self, line: MakeLine) -> list[tuple[str, Span]]:
        span = line.value
        found = [
            (match.group().decode("utf-8", "replace"), Span(*match.span()))
            for match in _WORD.finditer(self.source.text, span.start, span.end)
        ]
        # Prefixes that make itself removes from a command.
        if line.kind == "recipe" and found:
            word, place = found.pop(0)
            bare = word.lstrip("@-+")
            # `$(Q)`, which is @ or empty.
            if quiet := _QUIET.match(bare):
                bare = bare[quiet.end() :]
            if bare:
                found.insert(0, (bare, Span(place.end - len(bare.encode()), place.end)))
        # A shell removes the quotes from a compiler's name; its replacement is several words.
        for i, (word, place) in enumerate(found):
            first = not i or found[i - 1][0].endswith((";", "&&", "||"))
            if first and (quoted := _QUOTED.fullmatch(word)):
                found[i] = (quoted[2], place)
        # `$(EXEC) $(NVCC)`: empty, or an echo where there is no compiler.
        while line.kind == "recipe" and len(found) > 1 and self._launches(found[0][0], found[1][0]):
            del found[0]
        return found

    def _launches(self, first: str, second: str) -> bool:
        """Return whether the first word of a command is a variable in front of the compiler."""
        variable, compiler = COMPILER.fullmatch(first), COMPILER.fullmatch(second)
        if variable is None or variable[1] in self.compilers:
            return False
        return compiler[1] in self.compilers if compiler else NVCC.fullmatch(second) is not None

    def _commands(self, line: MakeLine) -> list[list[tuple[str, Span]]]:
        """Return the words of each of a recipe's commands, without the shell's own; of another line, its words."""
        words = self._words(line)
        if line.kind != "recipe":
            return [words]
        commands: list[list[tuple[str, Span]]] = [[]]
        for word, span in words:
            if word in _BETWEEN:
                commands.append([])
                continue
            ended = word.endswith(";") and word != ";"
            if ended:
                word, span = word[:-1], Span(span.start, span.end - 1)
            # Words in front of a command: `do`, `NAME=value`.
            if commands[-1] or not (word in _IN_FRONT or _SET.match(word)):
                commands[-1].append((word, span))
            if ended:
                commands.append([])
        return [command for command in commands if command]

    def _calls(self, line: MakeLine) -> bool:
        """Return whether a command, or a value, begins with nvcc, or with a variable for it."""
        return any(self._called(line, words) for words in self._commands(line))

    def _called(self, line: MakeLine, words: Sequence[tuple[str, Span]]) -> bool:
        if not words:
            return False
        compiler = COMPILER.fullmatch(words[0][0])
        if compiler and line.kind == "recipe":
            return compiler[1] in self.compilers
        return self._nvcc(line, words)

    def _nvcc(self, line: MakeLine, words: Sequence[tuple[str, Span]]) -> bool:
        """Return whether the words begin with nvcc where it is a command: flags follow, or nothing."""
        if not words or not (NVCC.fullmatch(words[0][0]) or (self.cuda and NVCPP.fullmatch(words[0][0]))):
            return False
        return line.kind == "recipe" or len(words) == 1 or words[1][0].startswith(("-", "$"))

    def _inputs(self, line: MakeLine, given: Sequence[str]) -> list[str]:
        """Return the words of a command with the files for `$<` and `$^`, where they are literal."""
        needs = self._expanded(self.needs.get(line, "")).split()
        stand_for = needs if {"$^", "$?", "$+"}.intersection(given) else needs[:1] if "$<" in given else []
        return " ".join(self._expanded(word) for word in (*given, *stand_for)).split()

    def _tells(self, words: Sequence[tuple[str, Span]]) -> bool:
        """Return whether the words have options that only nvcc has."""
        return any(telling().fullmatch(word) for word, _ in words)

    def _meant(self, line: MakeLine) -> bool:
        """Return whether an assignment sets flags for nvcc."""
        return line.name in self.for_nvcc or _FOR_NVCC.search(line.name) is not None

    def _report(self, span: Span, kind: str, message: str) -> None:
        self.reported.append(Finding(span, kind, message, (), Certainty.MANUAL))

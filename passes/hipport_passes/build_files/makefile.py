# SPDX-License-Identifier: Apache-2.0
"""Port makefiles that call nvcc: the compiler, its flags and libraries, where they are literal.

`USE_HIP` chooses, and is 1 by default: `make USE_HIP=0` runs the original commands. A line that is wrong for hipcc
stays, in the `else` of a conditional. Questions about the machine, and features of nvcc that hipcc lacks, are reported.
A makefile's own code for HIP is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.enclosing import EnclosingBlock, answered
from hipport.syntax.make import Makefile, MakeLine
from hipport.syntax.shell import commands_in
from hipport_passes.build_files import nvidia_tools, shell_builds
from hipport_passes.build_files.build_scripts.makefile_commands import NVCC, NVCPP, WHICH
from hipport_passes.build_files.build_scripts.makefile_flags import ARCHS, MakefileFlags, prefixed
from hipport_passes.build_files.nvcc_flags import FlagChange, library, worded
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.commands import in_commands
from hipport_passes.packages.recipes import for_rocm

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_MENTIONS = _WORDS.compile(rb"(?&mentions)|-lcu[a-z]|--?x[ =]cu\b|-arch[ =]sm_|--gpus\b|\bcu1\d\d\b", re.IGNORECASE)
# Words in recipes besides compilers: commands that install or start containers, and their subcommands.
_INSTALLS = _WORDS.compile(rb"\b(?&installs)\b")
_OF_RECIPES = frozenset(
    "pin torch index separate cuda_only no_rocm isolation conda channel image container packages".split()
)
_HIP = _WORDS.compile(rb"(?<![A-Za-z0-9])(?&hip)(?![A-Za-z0-9])")
_USES_HIP = _WORDS.compile(rb"(?&use_hip)\)?\s*,\s*1\b")
_DEFINED = re.compile(rb"[ \t]*(?:override[ \t]+|export[ \t]+)*define[ \t]+([\w.-]+)")
_ASSIGNS = re.compile(rb"[ \t]*[\w.-]+[ \t]*(?:[:+?!]|::)?=")
_OWN = b"# hipport: make USE_HIP=0 builds with CUDA, as before the port."

_NAMED = _WORDS.compile(rb"-l\$[({]|(?&addprefix)[ \t]+-l|%[ \t]*,[ \t]*-l%")
_HPC_SDK = ("-gpu=", "-mp", "-acc", "-Minfo", "-cudalib", "-stdpar")
_PROBE = _WORDS.compile(rb"\$\(shell[^)]*\b(?&probes)\b|`[^`]*\b(?&probes_of_shell)\b[^`]*`")
# Compilers and linkers besides nvcc.
_LINKER = _WORDS.compile(r"(?&linkers)[)}]?$")
_HANDED_ON = re.compile(rb"(?<![\w$(])\w+=(\$[({](\w+)[)}])(?![\w\"'])")
# nvcc reads options from these variables ("CUDA Compiler Driver NVCC", 13.0); hipcc, when it compiles, from one.
_NVCC_OPTIONS = one_of(_WORDS["nvcc_options"]).encode()
_NVCC_READS = re.compile(rb"[ \t]*(?:(?:export|override)[ \t]+)*(?P<name>" + _NVCC_OPTIONS + rb")\b")
_NVCC_GIVEN = re.compile(rb"(?<![\w$({])(" + _NVCC_OPTIONS + rb")=")
_HIPCC_READS = "HIPCC_COMPILE_FLAGS_APPEND"
_CALLED = _WORDS.compile(rb"(?:^|[\s;/@])(?&nvcc)[ \t]+[-$]")
_ECHO = _WORDS.compile(rb"[ \t]*[@-]*(?&writing)\b")
_MAKE = _WORDS.compile(r"\$[({](?&make_variable)[)}]|(?&makes)")
_SET_TO_NVCC = _WORDS.compile(r"\w+=[\"']?(?:\S*/)?(?&nvcc)[\"']?")
_CALLS = _WORDS.compile(rb"\b(?&nvcc)\b|\$\((?&nvcc_in_macros)\)")


@dataclass
class _Said:
    """A line for hipcc: `hip` is its text, None where there is none."""

    line: MakeLine
    span: Span
    kind: str
    hip: bytes | None
    messages: list[str] = field(default_factory=list)
    certainty: Certainty = Certainty.SAFE


def find(source: Makefile, project: Project) -> Iterator[Finding]:
    """Yield a finding per block of lines that are for nvcc alone."""
    if not _MENTIONS.search(source.text) and not nvidia_tools.mentioned().search(source.text):
        return
    ported = is_own(source)
    if not ported and _HIP.search(re.sub(rb"#[^\r\n]*", b"", source.text)):
        return
    if source.errors:
        if called := _CALLS.search(source.text):
            message = "calls nvcc, but not in a plain makefile; port it by hand"
            yield Finding(Span(*called.span()), "unread", message, (), Certainty.MANUAL)
        return
    script = _Script(source, project)
    run: list[_Said] = []
    chosen: list[list[_Said]] = []
    inside: list[MakeLine] = []
    for line in source.lines:
        if line.kind in ("define", "endef") and not _decided(source, line):
            inside.append(line)
            opened = sum((each.name == "define") - (each.kind == "endef") for each in inside)
            if opened:
                continue
            said = script.defined(inside)
            inside, run = [], []
            yield from script.reported
            script.reported.clear()
            if said is not None:
                chosen.append([said])
            continue
        if _decided(source, line):
            run = []
            if _for_hip(source, line):
                script.about(line)
                yield from script.reported
                script.reported.clear()
            continue
        said = script.about(line)
        yield from script.reported
        script.reported.clear()
        if said is None:
            run = []
        elif run and run[-1].line.kind == line.kind:
            run.append(said)
        else:
            run = [said]
            chosen.append(run)
    yield from nvidia_tools.reported(script.tools)
    yield from _run_in_recipes(source, project)
    option = _option(source, project)
    if ported and option is not None:
        message = "the lines that choose between HIP and CUDA are missing, perhaps since a merge: restored"
        yield Finding(Span(0, 0), "option", message, (option,))
        option = None
    for stretch in chosen:
        yield _finding(source, stretch, option)


def _run_in_recipes(source: Makefile, project: Project) -> Iterator[Finding]:
    """Yield the packages and containers of recipes, as in a shell script, except for make's variables."""
    recipes = [line for line in source.lines if line.kind == "recipe" and not _decided(source, line)]
    commands = [
        command
        for line in recipes
        if _INSTALLS.search(source[line.value])
        for command in commands_in(source.text, Span(_begin(source, line.value), line.value.end))
    ]
    if not commands or for_rocm(source.path.as_posix()):
        return
    said = [*in_commands(source, commands, Asking(project)), *shell_builds.in_commands(source, commands, project)]
    for each in said:
        if each.kind in _OF_RECIPES:
            by_hand = "; hipport does not edit this in a recipe" if each.edits else ""
            yield Finding(each.span, each.kind, each.message + by_hand, (), Certainty.MANUAL)


def _begin(source: Makefile, command: Span) -> int:
    """Return the start of a command after the prefixes that make removes."""
    text = source[command]
    return command.start + len(text) - len(text.lstrip(b"@-+ \t"))


def _for_hip(source: Makefile, line: MakeLine) -> bool:
    """Return whether a line exists for HIP alone, perhaps from an earlier run, so that its rest is a person's."""

    def of(block: EnclosingBlock[MakeLine]) -> bool | None:
        first, alone = block.first, block.before is None
        return True if (first.kind == "ifeq") == alone and _USES_HIP.search(source[first.span]) else None

    return bool(answered(source.block(line), source.fact(_answers).for_hip, of))


def _decided(source: Makefile, line: MakeLine) -> bool:
    """Return whether the place of a line already implies that the build is not for CUDA, or not for HIP."""

    def asks(block: EnclosingBlock[MakeLine]) -> bool | None:
        return True if b"USE_HIP" in source[block.part.span] else None

    def on_windows(block: EnclosingBlock[MakeLine]) -> bool | None:
        first, alone = block.first, block.before is None
        return True if (first.kind == "ifneq") == (not alone) and b"Windows_NT" in source[first.span] else None

    block, known = source.block(line), source.fact(_answers)
    return bool(answered(block, known.asks, asks, by_part=True) or answered(block, known.on_windows, on_windows))


class _Answers(NamedTuple):
    """Facts about the conditionals of a makefile."""

    for_hip: dict[EnclosingBlock[MakeLine], bool | None]
    asks: dict[EnclosingBlock[MakeLine], bool | None]
    on_windows: dict[EnclosingBlock[MakeLine], bool | None]


def _answers(source: Makefile) -> _Answers:
    return _Answers({}, {}, {})


def is_own(source: Makefile) -> bool:
    """Return whether an earlier run has ported a makefile: by the line at the top, or by nvcc's replacement."""
    return _OWN in source.text or (ARCHS.encode() in source.text and b"ifeq ($(USE_HIP),1)" in source.text)


def _option(source: Makefile, project: Project) -> Edit | None:
    """Return the lines with the option, for the top, so that later lines can use it. None if they are there."""
    archs = " ".join(project.target.archs).encode()
    lines = {b"USE_HIP": b"1", b"HIP_ARCHS": archs, b"ROCM_PATH": b"/opt/rocm"}
    if is_own(source):
        there = {line.name.encode() for line in source.lines if line.kind == "assignment"}
        used = set(re.findall(rb"\$[({](\w+)", source.text))
        if not lines.keys() & (used - there):
            return None
        lines = {name: value for name, value in lines.items() if name not in there}
    put = [_OWN] * (_OWN not in source.text) + [name + b" ?= " + value for name, value in lines.items()]
    return Edit(Span(0, 0), b"".join(line + source.newline for line in put), on_top=True)


def _finding(source: Makefile, stretch: Sequence[_Said], option: Edit | None) -> Finding:
    first, last = stretch[0], stretch[-1]
    newline = source.newline
    # A line with a trailing backslash ends with the next line, which is empty.
    put = [said.hip.rstrip(b"\r") for said in stretch if said.hip is not None]
    hip = [line + newline * _goes_on(line) for line in put]
    begin = newline.join([b"ifeq ($(USE_HIP),1)", *hip, b"else", b""])
    if not hip:
        begin = b"ifneq ($(USE_HIP),1)" + newline
    end = last.line.span.end
    edits = [
        Edit(Span(first.line.span.start, first.line.span.start), begin),
        Edit(Span(end, end), newline * (1 + _goes_on(source.text[:end])) + b"endif"),
    ]
    if option is not None:
        if first.line.span.start == 0:
            # An insertion at the start of another edit's span goes before it.
            edits[0] = Edit(Span(0, 1), begin + source.text[:1])
        edits.append(option)
    message = worded(message for said in stretch for message in said.messages)
    return Finding(first.span, first.kind, message, tuple(edits), max(said.certainty for said in stretch))


def _goes_on(text: bytes) -> bool:
    """Return whether the text ends with a continued line."""
    return re.search(rb"\\\r?\Z", text) is not None


class _Script(MakefileFlags):
    """A makefile, with the variables that are compilers and those that are for nvcc."""

    def about(self, line: MakeLine) -> _Said | None:
        """Return the port of one line, None if it is right for hipcc; work for a person is recorded separately."""
        if line.kind == "recipe":
            self._given(line)
        if (renamed := self._read_by_nvcc(line)) is not None:
            return self._renamed(line, renamed)
        if line.kind in ("assignment", "recipe"):
            for words in self._commands(line):
                if tool := nvidia_tools.run_by([word for word, _ in words]):
                    self.tools[tool[1]].append(words[tool[0]][1])
            return self._commanded(line)
        text = self.source[line.span]
        if line.kind == "other" and b"-gencode" in text and b"eval" in text:
            message = "-gencode → dropped: hipcc compiles for the GPUs of --offload-arch"
            return _Said(line, line.span, "arch", None, [message])
        if (line.kind.startswith("if") or line.kind == "other") and _PROBE.search(text) and self._stops(line):
            message = "make stops here without nvcc, which ROCm does not have: put ifneq ($(USE_HIP),1) around it"
            self._report(line.span, "probe", message)
        if line.kind in ("define", "rule") and _CALLED.search(text) and not _ECHO.match(text):
            message = "this calls nvcc in a form that hipport does not rewrite; write the call of hipcc by hand"
            self._report(line.span, "nvcc", message)
        return None

    def _read_by_nvcc(self, line: MakeLine) -> Span | None:
        """Return the name of a variable that nvcc reads from the environment, where a line sets or exports it."""
        source = self.source
        match = _NVCC_READS.match(source.text, line.span.start, line.span.end)
        if match is None or line.kind not in ("assignment", "other"):
            return None
        name = match["name"]
        # A variable that a command also uses by name reaches it that way; one that is not exported is make's own.
        used = re.search(rb"\$[({]" + name + rb"[)}]", source.text)
        exported = re.search(rb"(?m)^[ \t]*export\b[ \t]*(?:[^\n=]*\b" + name + rb"\b|(?:#|\r?$))", source.text)
        return Span(*match.span("name")) if exported and not used else None

    def _renamed(self, line: MakeLine, name: Span) -> _Said | None:
        """Rename a variable that nvcc reads from the environment to hipcc's ("HIPCC environment variables", 6.4)."""
        source = self.source
        said = source[name].decode(errors="replace")
        if said == "NVCC_PREPEND_FLAGS" and b"NVCC_APPEND_FLAGS" in source.text:
            message = f"only nvcc reads {said}, and hipcc has one such variable: add it to {_HIPCC_READS}"
            self._report(name, "environment", message)
            return None
        before = len(self.reported)
        told = self._ported(line, self._words(line)) if line.kind == "assignment" else ({}, [], [])
        if told is None or any(each.kind != "library" for each in self.reported[before:]):
            return None
        puts, changes, _ = told
        message = (
            f"only nvcc reads {said}, hipcc reads {_HIPCC_READS}; assumes that these flags are for compiling: the "
            "linker's belong in HIPCC_LINK_FLAGS_APPEND"
        )
        put = self._put(line, {name: _HIPCC_READS.encode(), **puts}, changes, [message])
        return None if put is None else replace(put, span=name, kind="environment", certainty=Certainty.REVIEW)

    def _given(self, line: MakeLine) -> None:
        """Report variables that a recipe sets for nvcc in its environment."""
        match = _NVCC_GIVEN.search(self.source.text, line.value.start, line.value.end)
        if match is not None and not _ECHO.match(self.source[line.span]):
            name = match[1].decode()
            message = f"only nvcc reads {name}; hipcc reads {_HIPCC_READS}, with its own flags"
            self._report(Span(*match.span(1)), "environment", message)

    def _stops(self, line: MakeLine) -> bool:
        """Return whether make stops with an error because of a line's condition: in the line or in its branches."""
        text, depth = self.source[line.span], 0
        for other in self.source.lines:
            if other.span.start <= line.span.start or not line.kind.startswith("if"):
                continue
            depth += other.kind.startswith("if") - (other.kind == "endif")
            if depth < 0:
                break
            text += self.source[other.span]
        return b"$(error" in text or b"${error" in text

    def defined(self, lines: Sequence[MakeLine]) -> _Said | None:
        """Port `define … endef`: the commands or flags in it, as a second definition.

        In a definition that is used as a recipe, make does not recognize conditionals.
        """
        source = self.source
        first, *body, last = lines
        if any(line.name for line in body):
            for line in body:
                self.about(line)
            return None
        texts: list[bytes] = [source[first.span]]
        found: list[_Said] = []
        for line in body:
            text = source[line.span]
            tabs = len(text) - len(text.lstrip(b"\t"))
            as_flags = text.lstrip().startswith(b"-")
            kind = "assignment" if as_flags else "recipe"
            name = _DEFINED.match(source[first.span])
            value = Span(line.span.start + tabs, line.span.end)
            part = MakeLine(
                kind, line.span, value, name[1].decode() if name and as_flags else "", "=" if as_flags else ""
            )
            before = len(self.reported)
            said = None if _ASSIGNS.match(text) or _ECHO.match(text) else self.about(part)
            if said is None and before == len(self.reported):
                self.about(line)
            if said is not None:
                found.append(said)
            if said is None or said.hip is not None:
                texts.append(text if said is None or said.hip is None else said.hip)
        if not found:
            return None
        whole = MakeLine("definition", Span(first.span.start, last.span.end), Span(first.span.start, last.span.end))
        hip = source.newline.join([*texts, source[last.span]])
        messages = [message for said in found for message in said.messages]
        return _Said(whole, found[0].span, found[0].kind, hip, messages, max(said.certainty for said in found))

    def _commanded(self, line: MakeLine) -> _Said | None:
        source = self.source
        text = source[line.value]
        puts: dict[Span, bytes] = {}
        messages: list[str] = []
        if which := WHICH.search(source.text, line.value.start, line.value.end):
            found = source[Span(*which.span())].replace(b"nvcc", b"hipcc", 1)
            quotes = (source.text[which.start() - 1 : which.start()], source.text[which.end() : which.end() + 1])
            quoted = quotes in ((b'"', b'"'), (b"'", b"'"))
            puts[Span(which.start() - quoted, which.end() + quoted)] = (
                b"$(patsubst %,% " + ARCHS.encode() + b"," + found + b")"
            )
            messages.append("nvcc → hipcc")
            return self._put(line, puts, [], messages)
        if _PROBE.search(text):
            self._report(
                line.value, "probe", "asks for something that ROCm does not have: put ifneq ($(USE_HIP),1) around it"
            )
            return None
        given = [word for words in self._commands(line) for word, _ in words if _MAKE.fullmatch(words[0][0])]
        if line.kind == "recipe" and any(_SET_TO_NVCC.fullmatch(word) for word in given):
            self._report(
                line.value, "nvcc", "make is told to use nvcc here, whatever the makefile says: leave it out for HIP"
            )
            return None
        if line.kind == "recipe" and not self._calls(line) and (handed := self._handed_on(line)):
            return self._put(line, handed, [], ["the compiler is passed on in quotes, because options follow it"])
        commands = self._commands(line)
        if len(commands) < 2:
            return self._command(line, commands[0] if commands else [])
        # If there are several commands, port those of the compiler.
        changes: list[FlagChange] = []
        for words in commands:
            if self._called(line, words):
                told = self._ported(line, words)
                if told is None:
                    return None
                puts |= told[0]
                changes += told[1]
                messages += told[2]
            elif words[0][0] not in ("echo", "printf") and any(NVCC.fullmatch(word) for word, _ in words):
                self._report(line.value, "nvcc", "another command asks for nvcc: let it ask for hipcc")
        return self._put(line, puts, changes, messages)

    def _command(self, line: MakeLine, words: Sequence[tuple[str, Span]]) -> _Said | None:
        """Return the port of a line with one command, or of an assignment."""
        if not self.cuda and words and NVCPP.fullmatch(words[0][0]):
            message = (
                "hipcc does not compile target regions: amdclang++ -fopenmp --offload-arch=… compiles OpenMP's, no "
                "compiler of ROCm compiles OpenACC's"
            )
            self._report(words[0][1], "target_regions", message)
            return None
        if not self.cuda and any(word.startswith(_HPC_SDK) for word, _ in words):
            # This line is for the compiler that stays.
            return None
        calls, tells = self._called(line, words), self._tells(words)
        if line.kind == "recipe" and not calls and not tells and not (words and _LINKER.search(words[0][0])):
            # A different program.
            return None
        if line.kind == "assignment" and not calls and not self._meant(line):
            flags = words[1:] if self._nvcc(line, words) else words
            if not any(word.startswith("-") for word, _ in flags):
                return self._named(line, flags)
        told = self._ported(line, words)
        return None if told is None else self._put(line, *told)

    def _named(self, line: MakeLine, words: Sequence[tuple[str, Span]]) -> _Said | None:
        """Replace CUDA's libraries that are named without -l, which another line adds to each."""
        if "LIB" not in line.name.upper() or not _NAMED.search(self.source.text):
            return None
        puts: dict[Span, bytes] = {}
        changes: list[FlagChange] = []
        for word, span in words:
            if (hip := prefixed(word)) is not None:
                puts[span] = hip.encode()
                changes.append(FlagChange(0, 0, "library", (word,), (hip,), "ROCm's libraries", Certainty.SAFE))
                continue
            found = library(word)
            if found is None or not word.startswith(("cu", "nv", "nccl", "c10_", "torch_")):
                continue
            hip, why = found
            if why:
                self._report(span, "library", f"{word}: {why}")
                continue
            puts[span] = hip.encode()
            changes.append(FlagChange(0, 0, "library", (word,), (hip,), "ROCm's library", Certainty.SAFE))
        return self._put(line, puts, changes, [])

    def _handed_on(self, line: MakeLine) -> dict[Span, bytes]:
        """Return quotes for compilers that a recipe passes on as `CC=$(CC)`; without them the value ends at a blank."""
        return {
            Span(*match.span(1)): b'"' + match[1] + b'"'
            for match in _HANDED_ON.finditer(self.source.text, line.value.start, line.value.end)
            if match[2].decode("utf-8", "replace") in self.compilers
        }

    def _put(
        self, line: MakeLine, puts: dict[Span, bytes], changes: Sequence[FlagChange], messages: list[str]
    ) -> _Said | None:
        if not puts:
            return None
        source = self.source
        pieces: list[bytes] = []
        done = line.span.start
        for span, new in sorted(puts.items()):
            start = span.start
            if not new:
                while start > done and source.text[start - 1 : start] in (b" ", b"\t") and start > line.value.start:
                    start -= 1
            pieces += (source.text[done:start], new)
            done = span.end
            while not new and start == line.value.start and source.text[done : done + 1] in (b" ", b"\t"):
                done += 1
        hip = b"".join([*pieces, source.text[done : line.span.end]])
        # Remove lines that are empty now.
        hip = re.sub(rb"\\\r?\n[ \t]*(?=\\\r?\n)|[ \t]*\\\r?\n[ \t]*\Z", b"", hip)
        kind = "nvcc" if messages else changes[0].kind
        messages += [str(change) for change in changes]
        certainty = max((change.certainty for change in changes), default=Certainty.SAFE)
        left = hip[line.value.start - line.span.start :].split(b"#")[0].replace(b"\\", b"").strip()
        adds_nothing = line.kind == "assignment" and line.operator == "+=" and not left
        return _Said(
            line, Span(min(puts).start, min(puts).end), kind, None if adds_nothing else hip, messages, certainty
        )


PASS = Pass(Makefile, find)

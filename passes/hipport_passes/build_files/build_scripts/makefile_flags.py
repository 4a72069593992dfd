# SPDX-License-Identifier: Apache-2.0
"""Translate the words of a makefile's commands and variables for hipcc."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport.syntax.holes import HOLE
from hipport.syntax.make import MakeLine
from hipport_passes.build_files.build_scripts.makefile_commands import COMPILER, NVCC, RELOCATABLE, MakefileCommands
from hipport_passes.build_files.build_scripts.standards import settled
from hipport_passes.build_files.nvcc_flags import FlagChange, library, translate

_WORDS = Words.read(Path(__file__).parents[1] / "makefile.toml", general=NAMES)
_REFERENCE = re.compile(r"\$(?:\((?:[^()]|\([^()]*\))*\)|\{[^{}]*\}|[@<^?*+%|])")

_FOLDER = _WORDS.composed(r"(?:\$[({]\w*(?&cuda_in_macros)\w*[)}]|(?&cuda_folders)(?:-[\d.]+)?)")
_HEADERS = _WORDS.compile(
    rf"(?&for_headers)(?:{_FOLDER}/include/?|\$[({{]\w*(?&cuda_in_macros)\w*(?&headers_in_names)\w*[)}}])"
)
_LIBRARIES = _WORDS.compile(
    rf"-L(?:{_FOLDER}/(?&of_libraries)(?:/[\w/-]*)?|\$[({{]\w*(?&cuda_in_macros)\w*(?&libraries_in_names)\w*[)}}])"
)
ARCHS = "$(HIP_ARCHS:%=--offload-arch=%)"

_STANDARD = _WORDS.compile(r"--?std=(?&standards)")

# Options that make nvcc and hipcc stop before linking.
_NOT_LINKED = _WORDS.compile(r"-c|-E|-M+D?|-V|-h|(?&not_linked)")

_LANGUAGE = ("-x", "--x", "--language")
_SOURCE = _WORDS.compile(r"[^\s=]*\.((?&sources))")

# `$(addprefix -Xcompiler ,$(CCFLAGS))`
_ADDED = _WORDS.compile(r"\$\((?&addprefix)[ \t]+(?&for_host)[ \t]*,[ \t]*(\S.*)\)")

_WITH_PREFIX = _WORDS.compile(r"(\$\((?&addprefix)[ \t]+-l[ \t]*,[ \t]*)([^()$]*)\)")
_FLAG = re.compile(r"(?<![\w-])-{1,2}[A-Za-z][\w-]*")


class MakefileFlags(MakefileCommands):
    """Replacements for the flags of compilers and linkers."""

    def _ported(
        self, line: MakeLine, words: Sequence[tuple[str, Span]]
    ) -> tuple[dict[Span, bytes], list[FlagChange], list[str]] | None:
        """Return the replacements for the words of a command or an assignment, the changes, and the messages."""
        puts: dict[Span, bytes] = {}
        messages: list[str] = []
        calls, nvcc = self._called(line, words), self._nvcc(line, words)
        if calls and not nvcc and COMPILER.fullmatch(words[0][0]) and self._text(words[0][1]) != words[0][0]:
            puts[words[0][1]] = words[0][0].encode()
            messages.append("the compiler loses its quotes, because options follow it")
        if nvcc:
            puts[words[0][1]] = f"hipcc {ARCHS}".encode()
            messages.append("nvcc → hipcc" if NVCC.fullmatch(words[0][0]) else "nvc++ → hipcc")
        flags = words[1:] if nvcc or line.kind == "recipe" else words
        of = "nvcc" if calls or self._meant(line) or self._tells(words) else "link"
        before = len(self.reported)
        more = [*self._c(line, words, puts), *self._links(line, words, puts)] if calls and line.kind == "recipe" else []
        changes = self._changes([(word, span) for word, span in flags if span not in puts], of, puts) + more
        if nvcc and any(each.kind != "library" for each in self.reported[before:]):
            return None
        return puts, changes, messages

    def _c(self, line: MakeLine, words: Sequence[tuple[str, Span]], puts: dict[Span, bytes]) -> list[FlagChange]:
        """Port a command in which nvcc passes C to the host's C compiler, and return the changes.

        nvcc does not pass it the standard of C++. clang rejects that option for C, and hipcc names the platform for
        HIP's headers only for C++.
        """
        given = [word for word, _ in words[1:]]
        kinds = {match[1] for name in self._inputs(line, given) if (match := _SOURCE.fullmatch(name))}
        expanded = {word: self._expanded(word) for word in given}
        if "c" not in kinds or any(part.startswith(_LANGUAGE) for text in expanded.values() for part in text.split()):
            return []
        standards = [(word, span) for word, span in words[1:] if _STANDARD.search(expanded[word])]
        if kinds != {"c"}:
            if standards:
                self._report(
                    line.value,
                    "c",
                    "hipcc applies -std=c++… to C as well: compile the C files by a command of their own",
                )
            return []
        first, place = words[0]
        platform = "-D__HIP_PLATFORM_AMD__=1"
        puts[place] = puts.get(place, first.encode()) + f" {platform}".encode()
        why = "hipcc sets the platform of HIP's headers for C++ only"
        found = [FlagChange(0, 0, "c", ("*.c",), ("*.c", platform), why, Certainty.SAFE)]
        for word, span in standards:
            hip = () if _STANDARD.match(word) else (f"$(filter-out -std=c++% -std=gnu++%,{word})",)
            puts[span] = " ".join(hip).encode()
            why = "nvcc does not pass a C++ standard on to C, and clang refuses it"
            found.append(FlagChange(0, 0, "c", (word,), hip, why, Certainty.SAFE))
        return found

    def _links(self, line: MakeLine, words: Sequence[tuple[str, Span]], puts: dict[Span, bytes]) -> list[FlagChange]:
        """Add the options to link kernels of several files, which nvcc does by default; return the changes."""
        inputs = self._inputs(line, [word for word, _ in words[1:]])
        given = " ".join(inputs)
        if not self.relocatable or any(_NOT_LINKED.fullmatch(part) for part in inputs):
            return []
        if any(map(_SOURCE.fullmatch, inputs)) and not any(".o" in part for part in inputs):
            # clang links what it compiled itself.
            return []
        first, place = words[0]
        hip = ("--hip-link",) if RELOCATABLE.search(given) else ("-fgpu-rdc", "--hip-link")
        puts[place] = puts.get(place, first.encode()) + f" {' '.join(hip)}".encode()
        return [FlagChange(0, 0, "rdc", ("linking",), ("linking", *hip), "nvcc does this by default", Certainty.SAFE)]

    def _changes(self, flags: Sequence[tuple[str, Span]], of: str, puts: dict[Span, bytes]) -> list[FlagChange]:
        """Replace flags by hipcc's, and return the changes."""
        rest: list[tuple[str, Span]] = []
        found: list[FlagChange] = []
        new: tuple[str, ...]
        for word, span in flags:
            if _HEADERS.fullmatch(word):
                new = ("-I$(ROCM_PATH)/include", "-D__HIP_PLATFORM_AMD__=1")
            elif _LIBRARIES.fullmatch(word):
                new = ("-L$(ROCM_PATH)/lib",)
            elif word.startswith("$") and set(_FLAG.findall(word)) in ({"-gencode"}, {"--generate-code"}):
                # `$(foreach sm,70 80,-gencode arch=compute_$(sm),code=sm_$(sm))`
                puts[span] = b""
                why = "hipcc compiles for the GPUs of --offload-arch"
                found.append(FlagChange(0, 0, "arch", ("-gencode",), (), why, Certainty.SAFE))
                continue
            elif of == "nvcc" and (added := _ADDED.fullmatch(word)):
                puts[span] = added[1].encode()
                why = "hipcc is also the host compiler"
                found.append(FlagChange(0, 0, "compiler_options", (word,), (added[1],), why, Certainty.SAFE))
                continue
            elif (ours := prefixed(word)) is not None:
                puts[span] = ours.encode()
                found.append(FlagChange(0, 0, "library", (word,), (ours,), "ROCm's libraries", Certainty.SAFE))
                continue
            elif of == "nvcc" and (inside := _inside(word, self.rocm)):
                self._report(
                    span,
                    inside[0].kind,
                    f"make chooses these flags, so change them in the makefile: {'; '.join(map(str, inside))}",
                )
                continue
            else:
                rest.append((word, span))
                continue
            puts[span] = " ".join(new).encode()
            found.append(FlagChange(0, 0, "cuda_path", (word,), new, "ROCm's folder", Certainty.SAFE))
        texts = [_REFERENCE.sub(HOLE, word) for word, _ in rest]
        changes = translate(texts, of=of, rocm=self.rocm, shell=True).changes
        for change in settled(changes, self.project.sources):
            words = rest[change.start : change.stop]
            hip = self._filled(change, [word for word, _ in words])
            if change.certainty is Certainty.MANUAL or hip is None:
                self._report(Span(words[0][1].start, words[-1][1].end), change.kind, str(change))
                continue
            found.append(change)
            puts[Span(words[0][1].start, words[-1][1].end)] = " ".join(hip).encode()
        return found

    def _filled(self, change: FlagChange, words: Sequence[str]) -> list[str] | None:
        parts = [part for word in words for part in _REFERENCE.findall(word)]
        holes = sum(flag.count(HOLE) for flag in change.hip)
        if holes and holes != len(parts):
            return None
        rest = iter(parts)
        return [re.sub(HOLE, lambda _: next(rest), flag) for flag in change.hip]


def prefixed(word: str) -> str | None:
    """Return `$(addprefix -l,cublas m)` with ROCm's libraries; None if none is CUDA's or one has no counterpart."""
    match = _WITH_PREFIX.fullmatch(word)
    names = match[2].split() if match else []
    found = [library(name) for name in names]
    if match is None or not any(found) or any(each is not None and each[1] for each in found):
        return None
    kept = [name if each is None else each[0] for name, each in zip(names, found, strict=True)]
    return f"{match[1]}{' '.join(name for name in kept if name)})"


def _inside(word: str, rocm: tuple[int, int]) -> list[FlagChange]:
    """Translate the flags in a function of make: `$(if $(DEBUG),-G -g,-O3)`."""
    if not re.match(rf"\$[({{]{one_of(_WORDS['functions'])}[ \t]", word):
        return []
    flags = [each for each in re.split(r"[\s,(){}]+", word) if each.startswith("-")]
    return list(translate(flags, of="nvcc", rocm=rocm, shell=True).changes)

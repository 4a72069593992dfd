# SPDX-License-Identifier: Apache-2.0
"""Compilations and goals of a Makefile, read from `make --dry-run` and from make's database.

This runs commands that a Makefile executes while make reads it (`$(shell …)`), in a child process with a time limit.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.building.units import Translate
from hipport.syntax.cpp import UNITS
from hipport.toolchain.processes import run_contained


class CompileCommand(NamedTuple):
    """A compilation in a Makefile.

    `language` is empty if the source's name determines it. `folder` is where the compiler runs. `compiler` is the
    machine's compiler that the Makefile names; empty for hipcc, nvcc, and compilers that the machine does not have.
    """

    source: Path
    language: str
    flags: tuple[str, ...]
    folder: Path
    compiler: str = ""


_COMPILER = re.compile(
    r"(?:.*/)?(?P<name>nvcc|hipcc|mpicc|mpicxx|mpic\+\+|[\w.-]*(?:g\+\+|gcc|clang\+\+|clang|c\+\+|cc))"
)
_ENTER = re.compile(r"make(?:\[\d+\])?: (?P<what>Entering|Leaving) directory '(?P<path>.*)'")
_FOLDER = re.compile(r"(-I|-isystem)(.*)", re.DOTALL)


def sources_elsewhere(folder: Path, env: Mapping[str, str], translate: Translate) -> list[Path]:
    """Return the sources that the Makefile of `folder` compiles, if none of them lies in the folder."""
    if makefile_of(folder) is None or not shutil.which("make", path=env.get("PATH", "")):
        return []
    found = [command.source.resolve() for command in dry_run(folder, env, translate)]
    return [] if any(source.is_relative_to(folder) for source in found) else found


def goals_of(folder: Path, sources: Sequence[Path], env: Mapping[str, str]) -> dict[Path, list[str]]:
    """Return for each of `sources` the goals of a Makefile whose rules name it."""
    if not sources or makefile_of(folder) is None or not shutil.which("make", path=env.get("PATH", "")):
        return {}
    # https://www.gnu.org/software/make/manual/html_node/Options-Summary.html: prints the rules, with variables
    # expanded.
    _, said = run_contained(["make", "--print-data-base", "--question"], folder, _for_make(env), 60.0)
    named: dict[str, list[Path]] = {}
    for path in sources:
        for name in (path.name, f"{path.stem}.o"):
            named.setdefault(name, []).append(path)
    found: dict[Path, dict[str, None]] = {path: {} for path in sources}
    target = ""
    for line in said.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            words = line.split()
        elif line.startswith("#"):
            words = []
        else:
            rule = _RULE.fullmatch(line)
            target = rule["target"] if rule else ""
            words = rule["needs"].split() if rule else []
        for word in words if target else ():
            for path in named.get(PurePath(word).name, ()):
                found[path][target] = None
    return {path: list(goals) for path, goals in found.items() if goals}


def _for_make(env: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in env.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CC", "CXX")}
    return {**kept, "LC_ALL": "C"}


def dry_run(
    folder: Path, env: Mapping[str, str], translate: Translate, goals: Sequence[str] = ()
) -> list[CompileCommand]:
    """Return the compilations of the Makefile of `folder` for `goals`, by default for its first goal."""
    command = ["make", "--dry-run", "--always-make", "--keep-going", "--print-directory", *goals]
    _, said = run_contained(command, folder, _for_make(env), 60.0)
    where = [folder]
    found: dict[tuple[Path, str], CompileCommand] = {}
    for line in said.replace("\\\n", " ").splitlines():
        if moved := _ENTER.match(line):
            if moved["what"] == "Entering":
                where.append(Path(moved["path"]))
            elif len(where) > 1:
                where.pop()
            continue
        here = where[-1]
        for words in _commands(line):
            if words[:1] == ["cd"] and len(words) == 2:
                here = here / words[1]
            elif words and _COMPILER.fullmatch(words[0]):
                for compiles in _compiled(words, here, env, translate):
                    found.setdefault((compiles.source, compiles.language), compiles)
    return list(found.values())


#: A rule in make's database for one goal that is neither a pattern nor special.
_RULE = re.compile(r"(?P<target>[^\s:%#=.][^\s:%#=]*)::?(?!=)(?P<needs>[^=#]*)")


def _commands(line: str) -> Iterator[list[str]]:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return
    command: list[str] = []
    for word in words:
        if word and set(word) <= set("();|&"):
            yield command
            command = []
        elif word.lstrip("@-+") or word in ("-", "--"):
            command.append(word)
    yield command


def _compiled(words: list[str], folder: Path, env: Mapping[str, str], translate: Translate) -> Iterator[CompileCommand]:
    name = PurePath(words[0]).name
    sources: list[Path] = []
    flags: list[str] = []
    language = ""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-o", "-MF", "-MT", "-MQ", "-L"):
            next(rest, None)
        elif word == "-x":
            language = next(rest, "")
        elif word.startswith("-x") and word[2:] in ("cu", "hip", "c++", "c"):
            language = word[2:]
        elif not word.startswith("-") and PurePath(word).suffix in UNITS:
            sources.append(Path(os.path.normpath(folder / word)))
        elif not word.startswith(("-l", "-L", "-Wl,")) and not word.endswith((".o", ".a", ".so")) and word != "-c":
            flags.append(word)
    if not sources:
        return
    if name == "nvcc":
        flags = list(translate(flags))
    for source in sources:
        if not source.is_file():
            continue
        known = {"cu": "hip", "hip": "hip", "c++": "c++", "c": "c"}.get(language, "")
        if name == "hipcc" and not known and source.suffix != ".c":
            known = "hip"
        compiler = ""
        if name in ("nvcc", "hipcc"):
            meant = flags
        elif source.suffix == ".c" and known in ("", "c") and not name.endswith("++") and words[0] == name:
            # clang may reject C that gcc accepts. A path could lead to a program of the tree, or to another system's.
            compiler = shutil.which(name, path=env.get("PATH", "")) or ""
            known, meant = "c", flags if compiler else portable(flags)
        else:
            # Other options are for the other compiler.
            meant = portable(flags)
        yield CompileCommand(source, known, without_places(meant), folder, compiler)


def portable(flags: Sequence[str]) -> list[str]:
    """Keep of a compiler's flags those that affect the meaning of the text."""
    kept: list[str] = []
    rest = iter(flags)
    for flag in rest:
        if flag in ("-Xcompiler", "--compiler-options"):
            kept += portable(next(rest, "").split(","))
        elif flag in ("-I", "-D", "-U", "-isystem", "-include"):
            kept += [flag, next(rest, "")]
        elif flag.startswith(("-I", "-D", "-U", "-std=", "-isystem", "-fopenmp", "-include")):
            kept.append(flag)
        elif flag.startswith(("--include-path=", "--define-macro=")):
            kept.append(("-I" if "include" in flag else "-D") + flag.partition("=")[2])
    return kept


def without_places(arguments: Sequence[str]) -> tuple[str, ...]:
    """Drop arguments for inputs, outputs and targets."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        folder = _FOLDER.fullmatch(argument)
        if argument in ("-o", "-MF", "-MT"):
            next(rest, None)
        elif folder:
            path = folder[2] or next(rest, "")
            # The machine's own headers are searched anyway; named, they would come before the C++ library's.
            if os.path.normpath(path) != "/usr/include":
                kept += [argument] if folder[2] else [argument, path]
        elif argument not in ("-c", "-MD", "-MMD") and not argument.startswith(("--offload-arch", "--amdgpu-target")):
            kept.append(argument)
    return tuple(kept)


def makefile_of(folder: Path) -> Path | None:
    return next((folder / name for name in ("GNUmakefile", "makefile", "Makefile") if (folder / name).is_file()), None)

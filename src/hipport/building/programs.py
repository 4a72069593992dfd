# SPDX-License-Identifier: Apache-2.0
"""The units of programs: the compilations of their Makefiles, or else the sources themselves with guessed flags."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePath

from hipport.building.configured_headers import given as given_headers
from hipport.building.dry_runs import CompileCommand, dry_run, goals_of, makefile_of, sources_elsewhere
from hipport.building.guessed_flags import (
    chosen_on_hip,
    cmake_flags,
    cmake_folders,
    is_cxx20,
    made_by_cmake,
    meant_by_includes,
)
from hipport.building.units import DEVICE, NotBuilt, Translate, Unit
from hipport.core.reading import read_or_nothing
from hipport.program.included import not_included, tree
from hipport.toolchain.toolchains import cache

_KERNEL = re.compile(rb"__global__|__device__|<<<")


def programs(
    root: Path,
    sources: Sequence[Path],
    members: Sequence[Path],
    env: Mapping[str, str],
    translate: Translate,
    *,
    asked: Collection[Path] = (),
    hip: bool = True,
) -> tuple[list[Unit], list[NotBuilt], list[str]]:
    """Return the units of the programs that `sources` make up, what is left out, and which files were run.

    `members` are the files of the tree `root` that includes may mean. `asked` is the path that was given. If it is a
    source that a Makefile compiles for a goal other than its first, that goal is used. If it is a folder whose Makefile
    compiles sources that lie elsewhere, these are compiled accordingly. With guessed flags, and if it is for `hip`, the
    macros by which the program itself selects HIP are defined.
    """
    units: list[Unit] = []
    not_built: list[NotBuilt] = []
    ran: list[str] = []
    folders: dict[Path, list[Path]] = {}
    elsewhere = {
        source: place for place in asked if place.is_dir() for source in sources_elsewhere(place, env, translate)
    }
    for source in sources:
        folders.setdefault(elsewhere.get(source) or _project(source, root), []).append(source)
    among = tree(members, root, folders)
    for folder, own in folders.items():
        owner = folder.name if folder == root else folder.relative_to(root).as_posix()
        commands: list[CompileCommand] = []
        guess = "no Makefile: flags are guessed"
        if makefile_of(folder) is not None:
            if shutil.which("make", path=env.get("PATH", "")):
                commands = dry_run(folder, env, translate)
                others = [
                    path for path in own if path in asked and path not in {command.source for command in commands}
                ]
                if goals := list(
                    dict.fromkeys(goal for each in goals_of(folder, others, env).values() for goal in each)
                ):
                    more = dry_run(folder, env, translate, goals[:20])
                    commands += [command for command in more if command.source in others]
                ran.append((folder / "Makefile").relative_to(root).as_posix())
                guess = "" if commands else "its Makefile calls no compiler here: flags are guessed"
            else:
                guess = "there is no make here to read the Makefile with: flags are guessed"
        if not commands:
            given = cmake_flags(folder)
            guess = "flags are read from CMakeLists.txt" if given is not None else guess
            commands = [CompileCommand(path, "", tuple(given or ()), folder) for path in not_included(own)]
        compiled = {command.source for command in commands}
        for source, language, flags, where, compiler in commands:
            language = language or _language(source)
            folders_meant, reached = meant_by_includes(source, flags, where, among, root)
            flags = (*flags, *folders_meant)
            macros = chosen_on_hip(reached, flags) if guess and hip else []
            flags = (*flags, *(f"-D{name}" for name in macros))
            said = f"{guess}, with {', '.join(macros)} defined, as its branches for HIP ask for" if macros else guess
            if made := made_by_cmake(folder, reached) if guess else []:
                place, lacking = given_headers(cmake_folders(folder), made, cache(env) / "configured")
                if place is not None:
                    flags = (*flags, f"-I{place}")
                    told = ", ".join(path for path in made if path not in lacking)
                    said += f"; {told}: generated from the values in the scripts, and from their options' defaults"
                for why in dict.fromkeys(lacking.values()):
                    named = ", ".join(path for path in lacking if lacking[path] == why)
                    said += f"; {named}: missing: {why}; generate it, and put it beside the sources"
            if language == "c":
                flags = tuple(flag for flag in flags if not flag.startswith(("-std=c++", "-std=gnu++")))
            elif language == "hip" and not any(flag.startswith("-std=") for flag in flags):
                flags = (*flags, "-std=c++20" if any(map(is_cxx20, reached)) else "-std=c++17")
            units.append(Unit(source, language, flags, where, owner, said, compiler))
        left = [source for source in own if source not in compiled and source.suffix in DEVICE]
        left = not_included(left, members)
        may = goals_of(folder, left, env)
        # Beside device code that the first goal compiles, these are other programs; alone, they are what was asked for.
        none = not any(unit.language == "hip" for unit in units if unit.owner == owner)
        for source in left:
            why = "the first goal of its Makefile does not compile it"
            if naming := may.get(source):
                why += f", {' and '.join(naming[:3])} may: hipport build {source.relative_to(root)}"
            not_built.append(NotBuilt(PurePath(source.relative_to(root)), 0, why, needs_person=none))
    return units, not_built, ran


def _language(source: Path) -> str:
    if source.suffix == ".c":
        return "c"
    # nvcc passes these to the host compiler; hipcc takes all of them for HIP.
    return "hip" if source.suffix in DEVICE or _KERNEL.search(read_or_nothing(source)) else "c++"


def _project(source: Path, root: Path) -> Path:
    """Return the nearest folder at or above a source, within the root, with a build script; or the source's own."""
    folder = source.parent
    while True:
        if makefile_of(folder) is not None or (folder / "CMakeLists.txt").is_file():
            return folder
        if folder == root or not folder.is_relative_to(root):
            return source.parent
        folder = folder.parent

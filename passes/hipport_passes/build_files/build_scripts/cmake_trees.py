# SPDX-License-Identifier: Apache-2.0
"""Facts about the CMake scripts of a tree: its top folder, whether it knows HIP, and the libraries that it uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path, PurePath
from typing import NamedTuple

from hipport.core.tables import Words, load, one_of
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.cmake_script import CMake, CMakeCommand
from hipport.syntax.cpp import Cpp
from hipport.syntax.enclosing import EnclosingBlock, answered

_TABLE = load(Path(__file__).parents[1] / "cmake.toml")
#: Words of CMake scripts, by what they are for.
WORDS = Words(_TABLE["words"], NAMES)
#: Words in a script that relate to CUDA.
MENTIONS = WORDS.compile(rb"(?&mentions)|\b(?&mentioned_alone)\b", re.IGNORECASE)
#: Variables that hipport's own scripts set; they do not tell what the tree knew before.
_OWN = NAMES.compile(rb"\$\{(?&hip_or_cuda)\}")
# The text that a first run wrote for a library: `$<IF:$<BOOL:${USE_HIP}>,roc::hipblas,cublas>`.
_EITHER = NAMES.compile(r"\$<IF:\$<(?&bool):\$\{(?&use_hip)\}>,[^,<>]*,(?P<cuda>[^,<>]*)>")
_HIP = WORDS.compile(rb"(?<![A-Za-z0-9])(?&hip)(?![A-Za-z0-9])")
_PROJECT = NAMES.compile(rb"^[ \t]*(?&project)[ \t]*\(", re.IGNORECASE | re.MULTILINE)
#: The packages with imported targets in the table.
PACKAGES = one_of({"CUDA", *(name.partition("::")[0] for name in _TABLE["other"])})
_TARGET = re.compile(rf"\b{PACKAGES}::\w+".encode())
_HIP_PACKAGE = WORDS.compile(r"(?&hip_packages)|roc[a-z]+")
_LIBRARY = re.compile(rf"(?:-l)?{one_of(WORDS['linked'])}")

_LIBRARIES = re.compile(one_of(WORDS["link_variables"]), re.IGNORECASE)

HELPER = "hipport.cmake"
#: The first words of hipport's own scripts.
PUT_HERE = b"# SPDX-License-Identifier: Apache-2.0\n# Put here by hipport."
FIND_CUDA = "find_cuda.cmake"
TORCH = "torch.cmake"
#: Headers that have other names in a PyTorch for ROCm.
_OF_PYTORCH = WORDS.compile(r"(?&of_pytorch)/(?&cuda)/")


def text(source: CMake, command: CMakeCommand, i: int) -> str:
    """Return the text of an argument without quotes; empty if there is no argument."""
    arguments = command.arguments
    return source[arguments[i].content].decode("utf-8", "replace") if -len(arguments) <= i < len(arguments) else ""


def links(source: CMake, command: CMakeCommand) -> int:
    """Return the index of the first library among a command's arguments; 0 if it has none."""
    if command.name in ("target_link_libraries", "link_libraries"):
        return 1
    if command.name in ("set", "list"):
        at = 1 if command.name == "set" else 2
        return at if _LIBRARIES.search(text(source, command, at - 1)) else 0
    return 0


def searched(source: CMake, command: CMakeCommand) -> list[str]:
    """Return the names that find_library or find_path searches for."""
    names: list[str] = []
    for i in range(1, len(command.arguments)):
        said = text(source, command, i)
        if said in ("HINTS", "PATHS", "PATH_SUFFIXES", "DOC", "REQUIRED", "NO_DEFAULT_PATH", "NO_CACHE"):
            break
        if said.startswith(("/", "$")):
            break
        if said not in ("NAMES", "NAMES_PER_DIR"):
            names.append(said)
    return names


def language_variables(source: CMake) -> frozenset[str]:
    """Return the variables whose items become languages in a script: `project(ops ${languages})`."""
    return frozenset(
        reference.name
        for command in source.commands
        if command.name in ("project", "enable_language")
        for argument in command.arguments[1 if command.name == "project" else 0 :]
        for reference in source.references(argument.span)
        if source[argument.span] == source[reference.span] and reference.name != "HIP_OR_CUDA"
    )


def knows_hip(source: CMake, command: CMakeCommand) -> bool:
    """Return whether a command's condition relates to HIP."""
    return _HIP.search(_OWN.sub(b"", source[command.inner])) is not None


def is_helper(source: CMake, command: CMakeCommand) -> bool:
    """Return whether the command is hipport's include, which gives a script the option."""
    return command.name == "include" and text(source, command, 0).endswith("hipport/" + HELPER)


def decided(source: CMake, command: CMakeCommand) -> bool:
    """Return whether the command's place already implies HIP or CUDA."""

    def of(block: EnclosingBlock[CMakeCommand]) -> bool | None:
        asks = block.part.name != "else" and block.first.name in ("if", "while")
        return True if asks and knows_hip(source, block.part) else None

    return bool(answered(source.block(command), source.fact(_answers).decided, of, by_part=True))


def elsewhere(source: CMake, command: CMakeCommand) -> bool:
    """Return whether the command is for a system or compiler that HIP does not support: `if(MSVC)`."""
    return bool(answered(source.block(command), source.fact(_answers).elsewhere, partial(_elsewhere, source)))


def _elsewhere(source: CMake, block: EnclosingBlock[CMakeCommand]) -> bool | None:
    part = block.part
    if part.name == "else" or block.first.name != "if":
        return None
    inner = source[part.inner]
    said = inner.split()
    if b"CMAKE_CUDA_COMPILER_ID" in inner and re.search(rb"\bClang\b", inner):
        return b"NVIDIA" not in inner and b"NOT" not in said
    by_name = b"NOT" not in said and b"MSVC" in (word.strip(b'"') for word in said)
    if said and (said[0] in (b"MSVC", b"WIN32", b"APPLE") or by_name) and b"OR" not in said:
        return True
    return None


class _Answers(NamedTuple):
    """Facts about blocks of a script."""

    decided: dict[EnclosingBlock[CMakeCommand], bool | None]
    elsewhere: dict[EnclosingBlock[CMakeCommand], bool | None]


def _answers(source: CMake) -> _Answers:
    return _Answers({}, {})


@dataclass(frozen=True)
class ScriptFacts:
    """Facts about one script."""

    projects: bool = False
    mentions: bool = False
    includes_helper: bool = False
    #: Contains lines that hipport writes, or is hipport's own.
    written: bool = False
    #: Does something for HIP, or has the option.
    aware: bool = False
    #: Enables the language CUDA.
    language: bool = False
    find_cuda: bool = False
    find_toolkit: bool = False
    #: The libraries it links: `CUDA::cublas`, also where it is written `cublas`.
    targets: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()
    #: The variables that it reads, and those that it sets.
    variables: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    torch: bool = False

    @property
    def links(self) -> frozenset[str]:
        """Return CUDA's libraries that it links, without its own targets of such a name."""
        return _others(self.targets, self.defines)


def _others(targets: frozenset[str], defines: frozenset[str]) -> frozenset[str]:
    return targets - defines - {"CUDA::" + name for name in defines}


def facts(source: CMake) -> ScriptFacts:
    """Read one script."""
    projects = _PROJECT.search(source.text) is not None
    if source.text.startswith(PUT_HERE):
        return ScriptFacts(written=True)
    if not MENTIONS.search(source.text) and not _HIP.search(source.text):
        helped = f"hipport/{HELPER}".encode() in source.text
        return ScriptFacts(projects, includes_helper=helped, torch=b"Torch" in source.text)
    said = _Said(source)
    for command in source.commands:
        said.does(command)
        said.names(command)
    return ScriptFacts(
        projects,
        True,
        said.includes_helper,
        _OWN.search(source.text) is not None,
        said.aware,
        said.language,
        said.find_cuda,
        said.find_toolkit,
        frozenset(said.targets),
        frozenset(said.defines),
        frozenset(said.variables),
        frozenset(said.sets),
        said.torch or b"TORCH_LIBRARIES" in source.text,
    )


class _Said:
    """Facts collected from the commands of a script."""

    def __init__(self, source: CMake) -> None:
        self.source = source
        self.of_languages = source.fact(language_variables)
        self.targets: set[str] = set()
        self.defines: set[str] = set()
        self.variables: set[str] = set()
        self.sets: set[str] = set()
        self.includes_helper = self.language = self.find_cuda = self.find_toolkit = self.torch = self.aware = False

    def does(self, command: CMakeCommand) -> None:
        """Record the effect of a command: languages, packages, targets and libraries."""
        source, name, first = self.source, command.name, text(self.source, command, 0)
        if name in ("project", "enable_language", "check_language"):
            said = _words(source, command)
            self.aware |= "HIP" in said
            self.language |= name != "check_language" and bool(said & {"CUDA", "${HIP_OR_CUDA}"})
        elif name == "include":
            self.includes_helper |= is_helper(source, command)
        elif name == "find_package":
            self.aware |= _HIP_PACKAGE.fullmatch(first) is not None
            self.find_cuda |= first == "CUDA" and not any(
                block[0].name == "function" for block in source.around(command)
            )
            self.find_toolkit |= first == "CUDAToolkit"
            self.torch |= first == "Torch"
        elif name.startswith(("hip_add_", "rocm_")):
            self.aware = True
        elif name in ("if", "elseif"):
            self.aware |= knows_hip(source, command)
        elif name in ("add_library", "cuda_add_library", "add_executable"):
            self.defines.add(first)
        elif name == "find_library":
            names = {each.removeprefix("lib") for each in searched(source, command)}
            self.targets |= {"CUDA::" + each for each in names if _LIBRARY.fullmatch(each)}
        elif links(source, command):
            named = {_EITHER.sub(r"\g<cuda>", each) for each in _words(source, command)}
            self.targets |= {"CUDA::" + each.removeprefix("-l") for each in named if _LIBRARY.fullmatch(each)}
        elif name in ("cuda_add_cublas_to_target", "cuda_add_cufft_to_target"):
            self.targets.add("CUDA::" + name.split("_")[2])

    def names(self, command: CMakeCommand) -> None:
        """Record the variables that a command sets and reads, and the targets that it names."""
        source, name = self.source, command.name
        if name == "set":
            self.sets.add(text(source, command, 0))
        elif name in ("list", "string"):
            self.sets.add(text(source, command, 1))
        if name in ("set", "list") and text(source, command, name == "list") in self.of_languages:
            said = _words(source, command)
            self.aware |= "HIP" in said
            self.language |= bool(said & {"CUDA", "${HIP_OR_CUDA}"})
        if name in ("if", "elseif", "while"):
            self.variables |= _words(source, command)
        if name not in ("message", "option"):
            inner = source.code[command.inner.start : command.inner.end]
            self.targets |= {match.decode() for match in _TARGET.findall(inner)}
        self.variables |= {reference.name for reference in source.references(command.inner)}


def _words(source: CMake, command: CMakeCommand) -> set[str]:
    return {text(source, command, i) for i in range(len(command.arguments))}


class _Below:
    """The facts from the scripts below a folder, ordered for look-up, and computed once for all scripts."""

    def __init__(self, scripts: Sequence[CMake], sources: Sequence[Cpp], home: PurePath) -> None:
        self.home = home
        self.all = [(each.path, each.fact(facts)) for each in scripts if each.path.is_relative_to(home)]
        #: Scripts that may be included anywhere.
        self.modules = [said for path, said in self.all if path.name != "CMakeLists.txt"]
        #: By folder: the facts of all scripts in or below it, of its CMakeLists.txt, and of each CMakeLists.txt in or
        #: below it.
        self.within: dict[PurePath, list[ScriptFacts]] = {}
        self.lists: dict[PurePath, ScriptFacts] = {}
        self.lists_within: dict[PurePath, list[ScriptFacts]] = {}
        #: By the folder of a project: the facts of its own scripts.
        self.of_project: dict[PurePath, list[ScriptFacts]] = {}
        self._sources = sources
        roots = {path.parent for path, said in self.all if said.projects}
        for path, said in self.all:
            above = next((folder for folder in path.parents if folder in roots), home)
            self.of_project.setdefault(above, []).append(said)
            is_list = path.name == "CMakeLists.txt"
            if is_list:
                self.lists[path.parent] = said
            for folder in path.parents:
                self.within.setdefault(folder, []).append(said)
                if is_list:
                    self.lists_within.setdefault(folder, []).append(said)

    @cached_property
    def defines(self) -> frozenset[str]:
        return frozenset().union(*(said.defines for _, said in self.all))

    @cached_property
    def torch_names(self) -> list[str]:
        return [
            each.path.relative_to(self.home).as_posix()
            for each in self._sources
            if each.path.is_relative_to(self.home) and any(_OF_PYTORCH.match(include.path) for include in each.includes)
        ]


class _Scripts:
    """The scripts and the C++ of a project."""

    def __init__(self, project: Project, added: CMake | None = None) -> None:
        self.all = [each for each in project.sources if isinstance(each, CMake)]
        self.sources = [each for each in project.sources if isinstance(each, Cpp)]
        if added is not None:
            self.all.append(added)
        self.lists = {each.path.parent: each for each in self.all if each.path.name == "CMakeLists.txt"}
        self._below: dict[PurePath, _Below] = {}

    def below(self, home: PurePath) -> _Below:
        if home not in self._below:
            self._below[home] = _Below(self.all, self.sources, home)
        return self._below[home]

    @cached_property
    def functions(self) -> dict[str, tuple[CMake, CMakeCommand]]:
        return _functions(self.all)


def _functions(scripts: Sequence[CMake]) -> dict[str, tuple[CMake, CMakeCommand]]:
    return {
        text(script, command, 0).lower(): (script, command)
        for script in scripts
        if not script.text.startswith(PUT_HERE)
        for command in script.commands
        if command.name in ("function", "macro")
    }


class Tree:
    """The scripts that are configured together with one script, judged by their folders."""

    def __init__(self, source: CMake, project: Project) -> None:
        self.source = source
        there = project.by_path.get(source.path)
        #: The facts of the project's text of this script, and those of the given text that replace them.
        self._instead: tuple[ScriptFacts, ScriptFacts] | None = None
        if isinstance(there, CMake) and there.fact(facts).projects == source.fact(facts).projects:
            self._scripts = project.fact(_Scripts)
            if there is not source:
                self._instead = there.fact(facts), source.fact(facts)
        else:
            self._scripts = _Scripts(project, source)
        self.scripts = [source if each is there else each for each in self._scripts.all]
        self.sources = self._scripts.sources

    def _of_this(self, said: list[ScriptFacts]) -> list[ScriptFacts]:
        if self._instead is None:
            return said
        there, own = self._instead
        return [own if each is there else each for each in said]

    @cached_property
    def _tops(self) -> Sequence[PurePath]:
        """The folders of projects that this script is in, the nearest first."""
        lists, own = self._scripts.lists, self.source.path.parent
        # A fixture, or a script given by itself, need not have that name.
        by_itself = own not in lists and bool(self.source.fact(facts).projects)
        above = [folder for folder in (own, *own.parents) if folder in lists or (by_itself and folder == own)]
        tops = [folder for folder in above if lists.get(folder, self.source).fact(facts).projects]
        return tops or above[-1:] or [own]

    @property
    def home(self) -> PurePath:
        """Return the topmost folder, where hipport's scripts are put."""
        return self._tops[-1]

    @cached_property
    def _below(self) -> _Below:
        """The scripts below the topmost folder."""
        return self._scripts.below(self.home)

    @cached_property
    def aware(self) -> bool:
        """Return whether scripts of this project, or of one around it, already handle HIP by themselves."""
        if self.ported:
            return False
        return any(said.aware for said in self._of_projects)

    @cached_property
    def _of_projects(self) -> list[ScriptFacts]:
        """The facts from the scripts of this project, or of one around it: a project below decides for itself."""
        return self._of_this([said for top in self._tops for said in self._below.of_project.get(top, ())])

    @cached_property
    def ported(self) -> bool:
        """Return whether hipport has ported the tree.

        When a person resolves a merge, its include may get lost while the lines that use it stay.
        """
        return any(said.includes_helper or said.written for said in self._of_projects)

    @cached_property
    def below(self) -> list[ScriptFacts]:
        """The facts from the scripts in and below this one's folder."""
        return self._of_this(self._below.within.get(self.source.path.parent, []))

    @cached_property
    def said(self) -> list[ScriptFacts]:
        """Return the facts of the scripts that this one is configured with.

        A script's find and link commands do not affect sibling folders; a module may be included anywhere.
        """
        below, folder = self._below, self.source.path.parent
        if self.source.path.name != "CMakeLists.txt":
            return self._of_this([said for _, said in below.all])
        above = [below.lists[each] for each in folder.parents if each in below.lists]
        return self._of_this([*below.modules, *above, *below.lists_within.get(folder, ())])

    @cached_property
    def torch(self) -> bool:
        """Return whether PyTorch is linked."""
        return any(said.torch for said in self.said)

    @cached_property
    def torch_names(self) -> list[str]:
        """The files below the topmost folder that include PyTorch's headers for CUDA, as paths from there."""
        return self._below.torch_names

    @cached_property
    def language(self) -> bool:
        """Return whether the language CUDA is enabled."""
        return any(said.language for said in self.said)

    @cached_property
    def finds(self) -> bool:
        """Return whether the scripts search for CUDA's libraries."""
        return any(said.find_cuda or said.find_toolkit for said in self.said)

    @cached_property
    def find_cuda(self) -> bool:
        """Return whether FindCUDA is used."""
        return any(said.find_cuda for said in self.said)

    @cached_property
    def targets(self) -> frozenset[str]:
        """Return CUDA's libraries that are linked, without the tree's own targets of such names."""
        return _others(frozenset().union(*(said.targets for said in self.said)), self.defines)

    @cached_property
    def functions(self) -> dict[str, tuple[CMake, CMakeCommand]]:
        """Return the functions and macros that the scripts define, by lower-case name, with their places.

        hipport's replacements of FindCUDA's commands for HIP still count as CUDA's.
        """
        return self._scripts.functions if self._instead is None else _functions(self.scripts)

    def parameter(self, name: str, place: int) -> bytes | None:
        """Return the separator of the words in one argument of a function; None where it may be several arguments.

        A blank where the function puts it into a text, a semicolon where it stands by itself.
        """
        script, definition = self.functions[name]
        if place + 1 >= len(definition.arguments):
            return None
        wanted = text(script, definition, place + 1)
        for command in script.commands:
            if any(block[0] is definition for block in script.around(command)):
                for argument in command.arguments:
                    if any(each.name == wanted for each in script.references(argument.span)):
                        quoted = argument.kind == "quoted" or b" " in script[argument.content]
                        return b" " if quoted else b";"
        return b" "

    @cached_property
    def defines(self) -> frozenset[str]:
        """The targets that the scripts define."""
        if self._instead is None:
            return self._below.defines
        return frozenset().union(*(said.defines for said in self._of_this([said for _, said in self._below.all])))

    @cached_property
    def variables(self) -> frozenset[str]:
        """Return the variables that the scripts read."""
        return frozenset().union(*(said.variables for said in self.said))

    @cached_property
    def sets(self) -> frozenset[str]:
        """Return the variables that the scripts set."""
        return frozenset().union(*(said.sets for said in self.said))

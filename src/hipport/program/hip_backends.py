# SPDX-License-Identifier: Apache-2.0
"""Find a program's existing HIP backend, and how the program selects between it and CUDA.

Facts about the language and the tree decide, not names of projects:

* a condition of the preprocessor with HIP's headers, functions or files in one branch and CUDA's in another: its macro
  is defined on HIP, whatever its name is, and the files that the branches include belong to one side each;
* an include that resolves to a HIP file or a CUDA file, depending on the include folders of a build;
* headers that map CUDA's names, or the program's own names for both, to HIP's: `#define cudaMalloc hipMalloc`;
* HIP files beside CUDA files whose paths differ only in words for the two: `hip/scan.cpp` and `cuda/scan.cu`.

Files of one side alone, and files that use HIP through such a header, are ported by their authors, and no pass changes
them. A file that is merely HIP, with none of these signs, may be hipport's own work: passes look at it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from hipport.core.edits import Span
from hipport.core.source import Source
from hipport.core.tables import Words
from hipport.program.project import Skipped
from hipport.syntax.cmake_script import CMake, CMakeCommand
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import HIP_FOLDER, HIP_START, LIBRARY
from hipport.syntax.preprocessor import Conditional, Conditioned, beside, chosen_between, names_for_hip, side_of

if TYPE_CHECKING:
    from hipport.program.project import Project

_LISTS = Words.read(Path(__file__).with_suffix(".toml"))
# How build scripts define a macro: -DUSE_HIP, ("USE_HIP", None), target_compile_definitions(name PRIVATE USE_HIP).
_DEFINES = _LISTS.compile(
    rb"(?:-D[ \t]*|(?&defines)[ \t]*\([^()#]*?\b)(\w*(?&hip_macros)\w*)\b|"
    rb"(?<!\w)\(\s*[\"'](\w*(?&hip_macros)\w*)[\"']\s*,"
)
# Any code for HIP matches this somewhere.
_SAYS_HIP = _LISTS.compile(
    rb"\b(?&hip)(?:/|::|[ \t]*##|[A-Z_]|(?&cub)|"
    + LIBRARY
    + rb")|\b(?&roc)\w+/|(?&hip_in_macros)|ROC[Mm]|\b"
    + HIP_START
    + rb"|[<\"/]"
    + HIP_FOLDER
    + rb"/"
)
_SAYS_EITHER = _LISTS.compile(HIP_START + rb"|" + HIP_FOLDER + rb"/|(?&either)|cu[dbfrs]")
# `#define cudaMalloc hipMalloc`, `using gpuStream_t = hipStream_t;`, `typedef hipError_t cudaError_t;`
_HIP = _LISTS.composed(rb"(?:(?&hip)(?&libraries_of_hip)?[A-Z]\w*|(?&hip_in_macros)(?&libraries_in_macros)?_\w+)")
_MAPPED = re.compile(
    rb"#[ \t]*define[ \t]+(\w+)(?:\([^()\r\n]*\))?[ \t]+\(?[ \t]*(?:::)?(?:" + _HIP + rb"\b|(?i:hip)\w*[ \t]*##)|"
    rb"\busing\s+(\w+)\s*=\s*(?:::)?" + _HIP + rb"\s*;|\btypedef\s+(?:::)?" + _HIP + rb"\s+(\w+)\s*;"
)
#: The form of CUDA's names.
CUDA_NAME = _LISTS.compile(rb"cu(?:(?&cuda_names)|" + LIBRARY + rb")[A-Z]\w+")
_CUDA_NAME = re.compile(rb"\b" + CUDA_NAME.pattern + rb"\b")
# CMake's words for the two in conditions, and signs that it builds for HIP by itself.
_NAMES_HIP, _NAMES_CUDA = _LISTS.compile(rb"\w*(?&hip_macros)\w*"), _LISTS.compile(rb"\w*(?&cuda_macros)\w*")
_BUILDS_HIP = _LISTS.compile(
    rb"(?i)\b(?&enables)\s*\(\s*(?&hip)|\b(?&language)\s+(?&hip)\b|\b(?&languages)\b[^()]*\b(?&hip)\b|\b(?&adds)\w+\s*\(|(?&target)"
)
# HIP must compile this many times as many files unchanged as it cannot compile: then the code counts as a port.
_MOST = 3
_DEFINED = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
# Words for the two in paths.
_WORDS = (("hip|rocm|amd|hcc", "Hip|HIP|Rocm|ROCm|AMD"), ("cuda|nvidia|nv", "Cuda|CUDA|Nvidia|NV"))
_HIP_WORD, _CUDA_WORD = (
    re.compile(rf"(?<![A-Za-z])(?i:{alone})(?![A-Za-z])|(?<=[a-z])(?:{inside})(?![a-z])") for alone, inside in _WORDS
)


@dataclass
class _Sides:
    """Facts about files, by their paths."""

    project: Project
    files: Mapping[PurePath, Cpp]
    side: dict[PurePath, str] = field(default_factory=dict)
    #: Files that choose between the two sides, or use the names that are mapped to HIP's.
    selectors: set[PurePath] = field(default_factory=set)
    chosen: dict[PurePath, frozenset[bytes]] = field(default_factory=dict)
    #: Macros of the CUDA side alone, next to which there is one for the HIP side.
    unset: dict[PurePath, frozenset[bytes]] = field(default_factory=dict)
    #: Files of the CUDA side that stand beside files of the HIP side.
    paired: set[PurePath] = field(default_factory=set)
    #: Files that includes connect, where at least one of them mentions HIP.
    groups: list[list[Cpp]] = field(default_factory=list)


def known(project: Project) -> Project:
    """Return the project with the side of each C++ file, and the program's macros that are defined on HIP.

    A build script that defines a macro with a name for HIP does so for the files of its folder. A file that chooses
    between the sides by a macro does so for all files that it is connected to by includes.
    """
    if project.asked is None or not all(isinstance(project.by_path[path], Cpp) for path in project.asked):
        return _known(project)
    told = _known(_with_counterparts(project)).by_path
    return project.of(tuple(told.get(source.path, source) for source in project.sources))


def _with_counterparts(project: Project) -> Project:
    """The project with the C++ files that bear on those to be ported: connected to them, or with similar paths."""
    near = project.close
    counterparts = {_without_side(path) for path in near}
    folders = {folder for path in near for folder in path.parents if _HIP_WORD.fullmatch(folder.name)}
    return project.of(
        tuple(
            source
            for source in project.sources
            if not isinstance(source, Cpp)
            or source.path in near
            or _without_side(source.path) in counterparts
            or not folders.isdisjoint(source.path.parents)
        )
    )


def _known(project: Project) -> Project:
    project = _with_chosen(project)
    files = {
        source.path: source
        for source in (*project.context, *project.sources)
        if isinstance(source, Cpp) and not source.is_hipport_header
    }
    says = {path for path, source in files.items() if ".hip" in path.suffixes or _SAYS_HIP.search(source.text)}
    if not says:
        return project
    together = ([files[source.path] for source in group if source.path in files] for group in project.apart())
    sides = _Sides(project, files, groups=[group for group in together if any(file.path in says for file in group)])
    _select(sides)
    _choose(sides)
    _pair(sides)
    _select_paired(sides)
    if not sides.selectors and not sides.side and not sides.unset:
        return project
    _spread(sides)
    _share(sides)
    _by_build(sides)
    unset = _unset(sides)
    return project.of(
        tuple(
            replace(
                source,
                chosen=source.chosen | sides.chosen.get(source.path, frozenset()),
                unset=unset.get(source.path, frozenset()),
                side=sides.side.get(source.path, ""),
            )
            if isinstance(source, Cpp)
            and (source.path in sides.side or source.path in sides.chosen or source.path in unset)
            else source
            for source in project.sources
        )
    )


def mapped(source: Cpp) -> frozenset[bytes]:
    """Return the names that the file defines as HIP's names, in code that HIP sees."""
    if not _SAYS_HIP.search(source.code):
        return frozenset()
    return frozenset(
        match[1] or match[2] or match[3]
        for match in _MAPPED.finditer(source.code)
        if not within(match.start(), source.cuda_only) and not (match[1] or match[2] or match[3]).startswith(b"hip")
    )


# ---- macros


def _with_chosen(project: Project) -> Project:
    """The project in which each file knows the macros with a name for HIP that are defined on HIP."""
    asking = {
        source.path: names
        for source in project.sources
        if isinstance(source, Cpp) and not source.is_hipport_header and (names := names_for_hip(source.text))
    }
    if not asking:
        return project
    known: dict[PurePath, set[bytes]] = {path: set() for path in asking}
    for script in project.sources:
        if not isinstance(script, Cpp) and (
            defined := {found[1] or found[2] for found in _DEFINES.finditer(script.text)}
        ):
            folder = script.path.parent.parent if script.path.parent.name == "cmake" else script.path.parent
            for path, names in asking.items():
                if folder in path.parents:
                    known[path] |= names & defined
    choosing = {
        source.path: source.chosen_on_hip
        for source in (*project.context, *project.sources)
        if isinstance(source, Cpp) and source.chosen_on_hip
    }
    if choosing:
        for path, names in asking.items():
            for other in project.component(project.by_path[path]):
                known[path] |= names & choosing.get(other.path, frozenset())
    return project.of(
        tuple(
            replace(source, chosen=frozenset(known[source.path]))
            if isinstance(source, Cpp) and known.get(source.path)
            else source
            for source in project.sources
        )
    )


def _unset(sides: _Sides) -> Mapping[PurePath, frozenset[bytes]]:
    """Return the macros that are defined for CUDA only, for files in components that select by them."""
    scripts: set[bytes] | None = None
    found: dict[PurePath, frozenset[bytes]] = dict(sides.unset)
    for files in sides.groups:
        if not any(file.path in sides.selectors for file in files):
            continue
        for_cuda: set[bytes] = set()
        for_others: set[bytes] = set()
        for file in files:
            for directive in file.directives:
                match = _DEFINED.match(file.code, directive.start, directive.end)
                if match is not None:
                    (for_cuda if within(directive.start, file.cuda_only) else for_others).add(match[1])
        if for_cuda <= for_others:
            continue
        if scripts is None:
            scripts = _words_of_scripts(sides.project)
        only = frozenset(for_cuda - for_others - scripts)
        for file in files if only else ():
            found[file.path] = found.get(file.path, frozenset()) | only
    return found


def _words_of_scripts(project: Project) -> set[bytes]:
    """Return the words of all files other than C++; after `-D` without a blank, also the word alone."""
    found: set[bytes] = set()
    for source in project.sources:
        if not isinstance(source, Cpp):
            found.update(_WORD.findall(source.text))
    return found | {word[1:] for word in found if word.startswith(b"D")}


# ---- selection


def _content(source: Cpp) -> str:
    """Return whose code both compilers read in the file: `hip`, `cuda`, or none."""
    if ".hip" in source.path.suffixes and source.begun_as_hip:
        return "hip"
    if not _SAYS_EITHER.search(source.text):
        return ""
    spans = sorted((*source.hip_only, *source.cuda_only))
    done, texts, codes = 0, [], []
    for span in (*spans, Span(len(source.text), len(source.text))):
        texts.append(source.text[done : max(done, span.start)])
        codes.append(_MAPPED.sub(b"hipMapped", source.code[done : max(done, span.start)]))
        done = max(done, span.end)
    names = source.fact(mapped)
    code = b"\n".join(codes)
    found = side_of(b"\n".join(texts), code)
    if names and "cuda" in found and {match[0] for match in _CUDA_NAME.finditer(code)} <= names:
        found -= {"cuda"} if not side_of(b"\n".join(texts), b"") & {"cuda"} else set()
    return found.pop() if len(found) == 1 else ""


def _select(sides: _Sides) -> None:
    """Find the conditions and includes that choose between the HIP side and the CUDA side."""
    chosen: dict[PurePath, set[bytes]] = {}
    for source in (file for group in sides.groups for file in group):
        targets = {
            include.directive.start: tuple(sides.project.included(source, include)) for include in source.includes
        }
        for group, names in chosen_between(source.conditionals, partial(_whose, source, targets)):
            if not _in_files(group, targets) and not source.fact(mapped):
                continue  # Headers of the toolkits alone do not port the code.
            sides.selectors.add(source.path)
            chosen.setdefault(source.path, set()).update(names)
            for part, following in pairwise(group):
                branch = Span(part.span.end, following.span.start)
                whose = _whose(source, targets, branch)
                for start, others in targets.items():
                    if len(whose) == 1 and branch.start <= start < branch.end:
                        for other in others:
                            if (
                                isinstance(other, Cpp)
                                and other.path != source.path
                                and other.fact(_content) in (*whose, "")
                            ):
                                sides.side.setdefault(other.path, *whose)
        for others in (each for each in targets.values() if len(each) > 1):
            contents = {other.path: other.fact(_content) for other in others if isinstance(other, Cpp)}
            if len(contents) > 1 and set(contents.values()) == {"hip", "cuda"}:
                sides.selectors.add(source.path)
                sides.side.update(contents)
        if any(CUDA_NAME.fullmatch(name) for name in source.fact(mapped)):
            sides.selectors.add(source.path)
    for together in sides.groups:
        names, unset = _beside(sides, together)
        names |= frozenset(name for source in together for name in chosen.get(source.path, ()))
        sides.chosen |= dict.fromkeys((source.path for source in together), names) if names else {}
        sides.unset |= dict.fromkeys((source.path for source in together), unset) if unset else {}


def _beside(sides: _Sides, files: Sequence[Cpp]) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return the macros of each `#if` for HIP that stands beside one for CUDA: those to be defined for HIP, and CUDA's.

    If the tree's own scripts define the CUDA macro but not the HIP one, nobody builds the HIP side: CUDA's is ported.
    """
    looked_at = []
    for source in files:
        targets = {
            include.directive.start: tuple(sides.project.included(source, include)) for include in source.includes
        }
        looked_at.append(Conditioned(source.conditionals, source.code, partial(_whose, source, targets)))
    hip, cuda = beside(looked_at)
    if cuda and hip:
        scripts = _words_of_scripts(sides.project)
        if hip.isdisjoint(scripts):
            cuda -= scripts
    return (hip, cuda) if cuda else (frozenset(), frozenset())


def _choose(sides: _Sides) -> None:
    """Tell the files which macros select, so that they know which code only one side sees."""
    if not sides.chosen and not sides.unset:
        return
    sides.files = {
        path: replace(
            source,
            chosen=source.chosen | sides.chosen.get(path, frozenset()),
            unset=source.unset | sides.unset.get(path, frozenset()),
        )
        if path in sides.chosen or path in sides.unset
        else source
        for path, source in sides.files.items()
    }
    sides.groups = [[sides.files[source.path] for source in group] for group in sides.groups]


def _whose(source: Cpp, targets: Mapping[int, tuple[Source, ...]], span: Span) -> set[str]:
    code = _MAPPED.sub(b"hipMapped", source.code[span.start : span.end])
    found = side_of(source.text[span.start : span.end], code)
    for start, others in targets.items():
        if span.start <= start < span.end:
            found |= {content for other in others if isinstance(other, Cpp) and (content := other.fact(_content))}
    return found


def _in_files(group: Sequence[Conditional], targets: Mapping[int, tuple[Source, ...]]) -> bool:
    """Whether a branch includes HIP files of the program itself, not only headers of the toolkits."""
    start, end = group[0].span.start, group[-1].span.end
    return any(
        isinstance(other, Cpp) and other.fact(_content) == "hip"
        for place, others in targets.items()
        if start <= place < end
        for other in others
    )


def _pair(sides: _Sides) -> None:
    """Find HIP files beside CUDA files whose paths differ only in words for the two."""
    hip: dict[str, PurePath] = {}
    folders: set[PurePath] = set()
    of_cuda: dict[PurePath, bool] = {}
    contents = {path: source.fact(_content) for path, source in sides.files.items()}
    if "hip" not in contents.values():
        return
    for path, content in contents.items():
        for folder in path.parents:
            of_cuda[folder] = of_cuda.get(folder, False) or content == "cuda"
    for path, content in contents.items():
        if content == "hip":
            hip.setdefault(_without_side(path), path)
            folders.update(
                folder for folder in path.parents if _HIP_WORD.fullmatch(folder.name) and not of_cuda[folder]
            )
    for path, content in contents.items():
        counterpart = hip.get(_without_side(path))
        # A source of CUDA's side may need none of its names. A header like that may be for both.
        plain = content == "cuda" or (content == "" and path.suffix in (".cu", ".cpp", ".cc", ".cxx"))
        if plain and counterpart is not None and _differ(path, counterpart):
            sides.side[path] = "cuda"
            sides.side[counterpart] = "hip"
            sides.paired.add(path)
        elif content != "cuda" and any(folder in folders for folder in path.parents):
            sides.side[path] = "hip"
    # For HIP files that are recognized by their folder, and headers with names of neither side, the paths decide.
    of_hip = {_without_side(path): path for path, side in sides.side.items() if side == "hip"}
    for path, content in contents.items():
        counterpart = of_hip.get(_without_side(path))
        if content != "hip" and path not in sides.side and counterpart is not None and _differ(path, counterpart):
            sides.side[path] = "cuda"
            sides.paired.add(path)


def _select_paired(sides: _Sides) -> None:
    """Find the includes that mean a file of either side, as the include folders of a build say.

    The path that is included ends both paths, and neither file is the one beside the source.
    """
    both: dict[str, list[PurePath]] = {}
    for path in sides.side if sides.paired else ():
        both.setdefault(_without_side(path), []).append(path)
    for source in (file for group in sides.groups for file in group) if both else ():
        for include in source.includes:
            for other in sides.project.included(source, include):
                counterparts = both.get(_without_side(other.path), ())
                ends = [each for each in counterparts if each.as_posix().endswith(f"/{include.path}")]
                beside = source.path.parent / include.path in ends
                if {sides.side[each] for each in ends} == {"hip", "cuda"} and not beside:
                    sides.selectors.add(source.path)


def _without_side(path: PurePath) -> str:
    """The path without its suffixes, and with one word for both sides."""
    plain = path.with_name(path.name.partition(".")[0] or path.name).as_posix()
    return _CUDA_WORD.sub("*", _HIP_WORD.sub("*", plain))


def _differ(one: PurePath, other: PurePath) -> bool:
    """Whether the paths differ in those words, or in a suffix of HIP's own: `scan.hip` beside `scan.cu`."""
    return bool(
        (_CUDA_WORD.search(one.as_posix()) and _HIP_WORD.search(other.as_posix()))
        or (other.suffix == ".hip" or ".hip." in other.name)
    )


# ---- sides that follow from use


def _spread(sides: _Sides) -> None:
    """Assign files that only one side includes to that side, and files that need the CUDA side to CUDA."""
    includers: dict[PurePath, list[tuple[PurePath, str]]] = {}
    for source in sides.files.values():
        for include in source.includes:
            start = include.directive.start
            place = "cuda" if within(start, source.cuda_only) else "hip" if within(start, source.hip_only) else ""
            for other in sides.project.included(source, include):
                if other.path in sides.files and other.path != source.path:
                    includers.setdefault(other.path, []).append((source.path, place))
    changed = True
    while changed:
        changed = False
        for path, places in includers.items():
            if path in sides.side:
                continue
            whose = {place or sides.side.get(of, "") for of, place in places}
            content = sides.files[path].fact(_content)
            if len(whose) == 1 and whose & {"hip", "cuda"} and content in (*whose, ""):
                sides.side[path] = whose.pop()
                changed = True
    # A file in a CUDA folder that includes a header of that side cannot be compiled for HIP unchanged.
    waiting = [path for path, side in sides.side.items() if side == "cuda" and path in sides.paired]
    while waiting:
        path = waiting.pop()
        for of, place in includers.get(path, ()):
            below = path.parent in (of.parent, *of.parents)
            if below and not place and of not in sides.side and of not in sides.selectors:
                sides.side[of] = "cuda"
                waiting.append(of)


def _share(sides: _Sides) -> None:
    """Find the files that use HIP through the program's own names, if these are most of the CUDA names in use.

    Or if most files use no others: then the HIP side does without the rest.
    """
    including: dict[PurePath, set[PurePath]] = {}
    for source in sides.files.values():
        for include in source.includes:
            for other in sides.project.included(source, include):
                including.setdefault(other.path, set()).add(source.path)
    seen = _seen_by_hip(sides)
    for files in sides.groups:
        selectors = [file.path for file in files if file.path in sides.selectors]
        if not selectors:
            continue
        through = _reached(selectors, including)
        shared = [file for file in files if file.path in through and file.path not in sides.side]
        names = frozenset(name for file in files for name in file.fact(mapped))
        # A name that is only defined is not used.
        used = [
            {
                match[0]
                for match in _CUDA_NAME.finditer(_MAPPED.sub(lambda match: b" " * len(match[0]), file.code))
                if not within(match.start(), file.cuda_only)
            }
            for file in shared
        ]
        # One file with a CUDA library that the HIP side omits has more names than all the others together.
        of_any = frozenset[bytes]().union(*used)
        most = len(of_any & names) >= len(of_any - names) or (
            sum(bool(of_file) and of_file <= names for of_file in used)
            >= _MOST * sum(not of_file <= names for of_file in used)
            and bool(names)
        )
        # Functions may hide the names of both sides: then the program selects by files.
        selected = names or any(file.path in sides.side for file in files)
        if selected and most:
            sides.side.update(dict.fromkeys((file.path for file in shared), "both"))
            # Both sides compile the files that these include: passes must not replace a CUDA header there.
            for path in _reached((file.path for file in shared), seen):
                sides.side.setdefault(path, "both")


def _seen_by_hip(sides: _Sides) -> Mapping[PurePath, set[PurePath]]:
    """Return the files that each file includes in code that HIP sees."""
    return {
        source.path: {
            other.path
            for include in source.includes
            if not within(include.directive.start, source.cuda_only)
            for other in sides.project.included(source, include)
            if other.path in sides.files
        }
        for source in sides.files.values()
    }


def _reached(start: Iterable[PurePath], following: Mapping[PurePath, AbstractSet[PurePath]]) -> set[PurePath]:
    waiting = list(start)
    reached = set(waiting)
    while waiting:
        more = following.get(waiting.pop(), frozenset()) - reached
        reached |= more
        waiting += more
    return reached


# ---- files that only the CUDA build compiles


def _by_build(sides: _Sides) -> None:
    """Assign files that CMake compiles only for CUDA to the CUDA side, if it builds the others for HIP by itself."""
    if "both" not in sides.side.values() and "hip" not in sides.side.values():
        return
    scripts = [each for each in sides.project.sources if isinstance(each, CMake)]
    if any(b"hipport.cmake" in each.text or b"hipify" in each.text.lower() for each in scripts):
        return  # What hipport wrote is not the authors' choice, and input for hipify is written for CUDA.
    for_cuda: set[PurePath] = set()
    for_others: set[PurePath] = set()
    for script in scripts:
        if not _BUILDS_HIP.search(script.text):
            continue
        for command in script.commands:
            if command.name in ("if", "elseif", "else", "endif"):
                continue
            only_cuda = any(_is_for_cuda(script, block) for block in script.around(command))
            taken_out = [script[each.content] for each in command.arguments[:1]] == [b"REMOVE_ITEM"]
            for argument in command.arguments if not taken_out else ():
                name = script[argument.content].rpartition(b"}/")[2].decode("utf-8", "replace")
                path = type(script.path)(posixpath.normpath(posixpath.join(script.path.parent.as_posix(), name)))
                if path in sides.files:
                    (for_cuda if only_cuda else for_others).add(path)
    for path in for_cuda - for_others:
        if sides.side.get(path, "both") == "both" and path not in sides.selectors:
            sides.side[path] = "cuda"


def _is_for_cuda(script: CMake, block: Sequence[CMakeCommand]) -> bool:
    """Say whether a branch of CMake is for CUDA only."""
    conditions = [script[each.inner] for each in block if each.name in ("if", "elseif")]
    last = conditions[-1] if block[-1].name != "else" and conditions else b""
    if last:
        return bool(
            (_NAMES_CUDA.search(last) and not _NAMES_HIP.search(last) and not re.search(rb"\bNOT\b", last))
            or re.fullmatch(rb"\s*NOT\s+" + _NAMES_HIP.pattern + rb"\s*", last)
        )
    return len(conditions) == 1 and bool(re.fullmatch(rb"\s*" + _NAMES_HIP.pattern + rb"\s*", conditions[0]))


def counterpart(source: Cpp, project: Project) -> bool:
    """Say whether a file of the CUDA side has a HIP counterpart, or is included only by files that have one."""
    return source.path in project.included_paths or _without_side(source.path) in project.fact(_of_hip)


def _of_hip(project: Project) -> frozenset[str]:
    return frozenset(
        _without_side(each.path) for each in project.sources if isinstance(each, Cpp) and each.side == "hip"
    )


def left(project: Project) -> Iterator[Skipped]:
    """Yield the files that no pass changes, by folders, with the reason."""
    by_folder: dict[tuple[PurePath, str], list[PurePath]] = {}
    for source in project.sources:
        if isinstance(source, Cpp) and source.side:
            by_folder.setdefault((source.path.parent, source.side), []).append(source.path)
    for (folder, side), paths in sorted(by_folder.items()):
        if len(paths) > 1:
            yield Skipped(folder, "ported", f"{len(paths)} files: {_WHY[side]}")
        else:
            yield Skipped(paths[0], "ported", _WHY[side])


_WHY = {
    "hip": "HIP's side of a program that has one",
    "cuda": "CUDA's side of a program that has one for HIP",
    "both": "the program reaches HIP through its own names",
}

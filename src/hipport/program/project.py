# SPDX-License-Identifier: Apache-2.0
"""The input of a pass: the sources of a tree, the target, and facts that depend on several files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, TypeVar, cast

from hipport.core.facts import Facts
from hipport.core.source import Source
from hipport.program.include_graph import Linked, Shared, connected
from hipport.program.include_resolution import Includes
from hipport.syntax.cpp import UNITS, Cpp, within
from hipport.syntax.cpp_text import Include

T = TypeVar("T")

DEFAULT_ARCHS = ("gfx942", "gfx1100")

# A possible #include; it also matches in comments and strings.
_INCLUDE = re.compile(
    rb"include(?:_next)?(?:[ \t]|\\[ \t\f\v]*(?:\r\n?|\n)|/\*(?:[^*]|\*(?!/))*\*/)*([\"<])([^\">\r\n]{1,4096})[\">]",
    re.DOTALL,
)
# The beginning of a program: two files that match belong to two programs.
_MAIN = re.compile(rb"\b(?:int|void|auto|signed)\s+(?:\w+\s+)?(?:w?main|_tmain)\s*\(")

# Major version, minor version, stepping and features, as in LLVM's AMDGPU guide; or a generic target.
_ARCH = re.compile(r"gfx(?P<major>\d{1,2}?)(?:\d[0-9a-f]|(?:-\d)?-generic)(?::(?:xnack|sramecc)[+-])*")
# Device code, and constants that may have to be the same in device code and host code.
_FOR_DEVICES = re.compile(
    rb"__(?:device|global|shared|constant)__|__CUDA_ARCH__|<<<[^;\"\n]{0,200},|\basm\b|\w_sync\b"
    rb"|\b(?:define|const|constexpr|enum)\b[^\n;]{0,200}?(?:[Ww]arp|WARP|[Ll]ane|LANE|[Mm]ask|MASK|0[xX][fF]{8})"
)


#: The processors that compilers for AMD GPUs know, from GCN 3 on: LLVM's AMDGPU guide, releases 15 to 22 (as of January
#: 2026). LLVM 21 no longer has gfx940 and gfx941.
_PROCESSORS = frozenset(
    "gfx801 gfx802 gfx803 gfx805 gfx810 gfx900 gfx902 gfx904 gfx906 gfx908 gfx909 gfx90a gfx90c gfx940 gfx941 gfx942 "
    "gfx950 gfx1010 gfx1011 gfx1012 gfx1013 gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx1100 gfx1101 "
    "gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201 gfx1250 gfx1251 gfx9-generic gfx9-4-generic "
    "gfx10-1-generic gfx10-3-generic gfx11-generic gfx12-generic".split()
)
#: The last release of each complete major version of ROCm (release history and consolidated changelog, as of November
#: 2026). There is no 8 and no 9.
_LAST = {5: 7, 6: 4, 7: 14}
#: The newest major version may have further releases: 10.0 is of August 2026, 10.2 of November.
_NEWEST = 10


@dataclass(frozen=True)
class Target:
    """The target of the port. Raises ValueError for a target that hipport cannot port to.

    `archs` are offload architectures, `rocm` the oldest release the result must build with (major, minor). `warp` says
    how a CUDA warp is mapped: to 32 lanes on every GPU (`logical32`), or to the wavefront (`native`); `native` has
    patterns of paths (as for PurePath.match) whose kernels are native whatever `warp` says. With `device_agnostic`,
    Python that requires a GPU is changed so that it also runs on a CPU.
    """

    archs: tuple[str, ...] = DEFAULT_ARCHS
    rocm: tuple[int, int] = (6, 4)
    dialect: str = "hip"
    warp: str = "logical32"
    native: tuple[str, ...] = ()
    device_agnostic: bool = False

    def __post_init__(self) -> None:
        if not self.archs:
            raise ValueError("no target architecture given; for example: gfx942,gfx1100")
        for arch in self.archs:
            if not _ARCH.fullmatch(arch):
                raise ValueError(f"{arch!r} is not an AMD GPU architecture; for example: gfx942, gfx1100")
            if arch.partition(":")[0] not in _PROCESSORS:
                near = [*get_close_matches(arch.partition(":")[0], sorted(_PROCESSORS), 5, 0.7), *DEFAULT_ARCHS]
                raise ValueError(
                    f"{arch!r} is not a GPU that compilers know; known are, for example: "
                    f"{', '.join(dict.fromkeys(near))}; rocminfo prints the machine's"
                )
        if self.rocm < (5, 2):
            raise ValueError(f"ROCm {self.rocm[0]}.{self.rocm[1]} is too old; hipport ports to ROCm 5.2 and later")
        major, minor = self.rocm
        if major not in (*_LAST, _NEWEST) or minor > _LAST.get(major, minor):
            raise ValueError(
                f"there is no ROCm {major}.{minor}; known are "
                f"{', '.join(f'{each} up to {each}.{last}' for each, last in _LAST.items())}, and {_NEWEST}"
            )
        if self.dialect != "hip":
            raise ValueError(f"dialect {self.dialect!r} is not available; there is: hip")
        if self.warp not in ("logical32", "native"):
            raise ValueError(f"warp mode {self.warp!r} is not available; there are: logical32, native")

    @property
    def wavefronts(self) -> frozenset[int]:
        """The wavefront sizes of the architectures: 64 lanes up to gfx9 (GCN, CDNA), 32 from gfx10 on (RDNA)."""
        majors = (match["major"] for match in map(_ARCH.fullmatch, self.archs) if match)
        return frozenset(64 if int(major) <= 9 else 32 for major in majors)


@dataclass(frozen=True)
class Skipped:
    """A file or folder that is left alone, and why.

    `kind` is `vendored` (third-party code), `refused` (cannot be edited reliably), `ported` (by hipify or by hand),
    `excluded` (by the configuration, although it was given) or `missing` (a submodule that is not checked out).
    """

    path: PurePath
    kind: str
    why: str


class Component(tuple[Source, ...], Facts):
    """Files that are connected by includes, and facts about all of them; valid while the files are the same."""

    def __reduce__(self) -> tuple[type[Component], tuple[tuple[Source, ...]]]:
        return Component, (tuple(self),)


@dataclass(frozen=True)
class Project(Facts):
    """Sources with paths relative to one root, and the target."""

    sources: tuple[Source, ...]
    target: Target = field(default_factory=Target)
    skipped: tuple[Skipped, ...] = ()
    #: The folder that the paths are relative to; None for text that is only in memory.
    root: Path | None = None
    #: Files that `sources` include and that were not given: their declarations are read, they are never changed.
    context: tuple[Source, ...] = ()
    #: For files that are the target of links in other folders: the paths of those links.
    links: Mapping[PurePath, tuple[PurePath, ...]] = field(default_factory=dict)
    #: The user's own rows for the tables of passes, by the name of the pass.
    rules: Mapping[str, Any] = field(default_factory=dict)
    #: The include folders of files, from a compile_commands.json: paths from the root.
    commands: Mapping[PurePath, tuple[str, ...]] = field(default_factory=dict)
    #: The files to be ported, if the others are only read; None for all.
    asked: frozenset[PurePath] | None = None

    def concerns(self, path: PurePath) -> bool:
        """Whether the file is to be ported."""
        return self.asked is None or path in self.asked

    @cached_property
    def by_path(self) -> Mapping[PurePath, Source]:
        """The sources by their path."""
        return {source.path: source for source in self.sources}

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the sources, without their folders."""
        return frozenset(source.path.name for source in self.sources)

    @property
    def vendored(self) -> tuple[Skipped, ...]:
        """The third-party trees that are left alone."""
        return tuple(skipped for skipped in self.skipped if skipped.kind == "vendored")

    def replacing(self, changed: Mapping[PurePath, Source]) -> Project:
        """Return the project with the sources of those paths replaced."""
        if not changed:
            return self
        result = self.of(tuple(changed.get(source.path, source) for source in self.sources))
        # Facts that need all files are kept while they stay true.
        if self.known("_linked") and all(
            self._own_includes(self.by_path[path]) == self._own_includes(changed[path]) for path in changed
        ):
            touched = {self._linked.group_of[path] for path in changed if path in self._linked.group_of}
            untouched = {
                group: known
                for group, known in self._components.items()
                if touched.isdisjoint(self._linked.seen_by[group])
            }
            result.carry({"_linked": self._linked, "_homes": self._homes, "_components": untouched})
        return result

    def of(self, sources: tuple[Source, ...], homes: Mapping[PurePath, PurePath] | None = None) -> Project:
        """Return the project with some of its sources, or with others at their paths.

        The resolution of includes stays that of the whole tree, as it was read. `homes` are the homes of files in the
        whole tree, if other files of their programs are left out.
        """
        result = replace(self, sources=sources)
        result.carry({"includes": self.includes, "_told_homes": self._told_homes if homes is None else homes})
        return result

    @cached_property
    def _told_homes(self) -> Mapping[PurePath, PurePath]:
        return {}

    def _own_includes(self, source: Source) -> list[tuple[str, bool]]:
        """The includes in `source` that may mean a file of the project."""
        includes = source.includes if isinstance(source, Cpp) else ()
        return [(each.path, each.angled) for each in includes if self.includes.has(each.path.rpartition("/")[2])]

    @cached_property
    def _readable(self) -> Mapping[PurePath, Source]:
        return {source.path: source for source in (*self.context, *self.sources)}

    @cached_property
    def includes(self) -> Includes:
        """How includes in the tree resolve."""
        return Includes(
            (source.path for source in (*self.sources, *self.context) if isinstance(source, Cpp)),
            (source for source in self.sources if not isinstance(source, Cpp)),
            self.root,
            units=UNITS,
            commands=self.commands,
            left=(skipped.path for skipped in self.skipped if skipped.kind in ("vendored", "excluded", "refused")),
        )

    def included(self, source: Source, include: Include) -> Iterable[Source]:
        """Return the files of the project that an `#include` in `source` may mean: usually none or one."""
        found = self.includes.meant(source.path, include.path, include.angled)
        # A part of a tree contains all files that its files include.
        return [self._readable[path] for path in found if path in self._readable]

    def finds_in_project(self, source: Source, include: Include) -> bool:
        """Say whether the build finds a file of the project for that `#include`, and not a library's."""
        return self.includes.certain(source.path, include.path, include.angled)

    @cached_property
    def included_paths(self) -> frozenset[PurePath]:
        """The files of the project that its other files include."""
        return frozenset(
            other
            for source in self.sources
            if isinstance(source, Cpp)
            for include in source.includes
            for other in self.includes.meant(source.path, include.path, include.angled)
        )

    def apart(self) -> list[list[Source]]:
        """Return the C++ files in groups that are not connected to each other.

        Every `#include` counts, even in a comment, so that nothing has to be lexed to divide a tree among processes.
        """
        files = [source for source in self._readable.values() if isinstance(source, Cpp)]
        edges = (
            (source.path, other)
            for source in files
            for mark, path in dict.fromkeys(_INCLUDE.findall(source.text))
            for other in self.includes.meant(source.path, path.decode("utf-8", "surrogateescape"), mark == b"<")
        )
        own = self.by_path
        found = (
            [own[path] for path in group if path in own]
            for group in connected((source.path for source in files), edges)
        )
        return [group for group in found if group]

    @cached_property
    def close(self) -> frozenset[PurePath]:
        """The C++ files that are connected to those to be ported, including these."""
        files = {source.path: source for source in self._readable.values() if isinstance(source, Cpp)}
        if self.asked is None:
            return frozenset(files)
        # Most files of a repository are not connected to these, and their includes need not be resolved.
        including = {path: dict.fromkeys(_INCLUDE.findall(source.text)) for path, source in files.items()}
        by_name: dict[bytes, list[tuple[PurePath, bytes, bytes]]] = {}
        for path, found in including.items():
            for mark, written in found:
                by_name.setdefault(written.rpartition(b"/")[2], []).append((path, mark, written))

        def meant(path: PurePath, mark: bytes, written: bytes) -> tuple[PurePath, ...]:
            return self.includes.meant(path, written.decode("utf-8", "surrogateescape"), mark == b"<")

        waiting = [path for path in files if self.concerns(path)]
        reached = set(waiting)
        while waiting:
            path = waiting.pop()
            more = {other for mark, written in including[path] for other in meant(path, mark, written)} & files.keys()
            name = path.name.encode("utf-8", "surrogateescape")
            more.update(
                other
                for other, mark, written in by_name.get(name, ())
                if other not in reached and path in meant(other, mark, written)
            )
            waiting += more - reached
            reached |= more
        return frozenset(reached)

    @cached_property
    def _linked(self) -> Linked:
        """The components: C++ files that are connected by includes.

        hipport's own headers connect nothing, so that components are the same before a port and after it.
        """

        files = [source for source in self._readable.values() if isinstance(source, Cpp)]
        put_there = {source.path for source in files if source.is_hipport_header}
        edges = {
            source.path: tuple(
                dict.fromkeys(
                    other
                    for include in source.includes
                    for other in self.includes.meant(source.path, include.path, include.angled)
                    if other not in put_there and other in self._readable
                )
            )
            for source in files
        }
        included = {other for others in edges.values() for other in others}
        mains = {source.path for source in files if source.path not in included and _has_main(source.text)}
        return Linked(
            edges,
            {source.path: self.includes.program(source.path) for source in files},
            mains,
            lambda path: _FOR_DEVICES.search(self._readable[path].text) is not None,
        )

    def fused(self) -> list[Shared]:
        """Return the shared device code by which several programs are joined: see `Linked.fused`."""
        return self._linked.fused(
            lambda path: path.suffix.lower() in UNITS, lambda path: len(self._readable[path].text)
        )

    @cached_property
    def _components(self) -> dict[int, Component]:
        """The components that were asked for, by the index of their group."""
        return {}

    def component(self, source: Source) -> Component:
        """Return the C++ files that `source` is connected to by includes, including itself and context files.

        A declaration in one of them may be meant in another. Programs that share only host headers (see `Linked`) are
        not connected by them.
        """
        group = self._linked.group_of.get(source.path)
        if group is None:
            return Component((source,))
        known = self._components.get(group)
        if known is None:
            known = self._components[group] = Component(
                self._readable[path] for each in self._linked.seen_by[group] for path in self._linked.groups[each]
            )
        return known

    def without_cuda(self, source: Source) -> frozenset[PurePath]:
        """Return the files in the component of `source` that are included only where there is no CUDA.

        Such includes are under `#ifndef __CUDACC__`, or in the `#else` of its opposite. Their declarations replace
        missing ones, as mocks do.
        """
        component = self.component(source)
        first = component[0].path
        known = self._without_cuda.get(first)
        if known is None:
            always: dict[PurePath, list[PurePath]] = {}
            apart: list[PurePath] = []
            files = [each for each in component if isinstance(each, Cpp)]
            for each in files:
                for include in each.includes:
                    others = self.includes.meant(each.path, include.path, include.angled)
                    under = within(include.target.start, each.without_cuda)
                    (apart if under else always.setdefault(each.path, [])).extend(others)
            # Files may include each other in a cycle, so the search cannot start from files that none includes.
            mocks = _reached(apart, always)
            known = mocks - _reached([each.path for each in files if each.path not in mocks], always)
            self._without_cuda[first] = known
        return known

    @cached_property
    def _without_cuda(self) -> dict[PurePath, frozenset[PurePath]]:
        """The results that were asked for, by the first file of the component."""
        return {}

    def union_over(
        self, source: Source, fact: Callable[[Cpp], frozenset[T]], but: AbstractSet[PurePath] = frozenset()
    ) -> frozenset[T]:
        """Return the union of `fact` over the component of `source`, without the files `but`.

        Computed once for each component if no file is left out.
        """
        component = self.component(source)
        if but:
            others = (other for other in cast("tuple[Cpp, ...]", component) if other.path not in but)
            return frozenset[T]().union(*(other.fact(fact) for other in others))
        known: dict[object, frozenset[T]] = component.fact(_unions)
        try:
            return known[fact]
        except KeyError:
            pass
        union = frozenset().union(*(other.fact(fact) for other in cast("tuple[Cpp, ...]", component)))
        known[fact] = union
        return union

    def declared(
        self, source: Source, fact: Callable[[Cpp], frozenset[T]], but: AbstractSet[PurePath] = frozenset()
    ) -> frozenset[T]:
        """Return the union of `fact` over all files that are compiled together with `source`, without the files `but`.

        These are its includes, and the other files of the translation units that contain it. Declarations in one unit
        are not visible in another, even if both include the same headers.
        """
        found = frozenset[T]()
        numbers = self._linked.units(source.path)
        if not numbers:
            return source.fact(cast("Any", fact)) if source.path not in but else found
        known: dict[object, frozenset[T]] = self._declared
        for number in numbers:
            key = (fact, number, but)
            if key not in known:
                files = (self._readable[path] for path in self._linked.unit(number) if path not in but)
                known[key] = frozenset[T]().union(*(cast("Cpp", other).fact(fact) for other in files))
            found |= known[key]
        return found

    @cached_property
    def _declared(self) -> dict[object, frozenset[Any]]:
        """The declarations of each translation unit, by the function that computes the fact."""
        return {}

    def home(self, source: Source) -> PurePath:
        """Return the deepest folder that contains `source` and all files that it is connected to within its program.

        Context files do not count: nothing is created outside the given tree.
        """
        if source.path in self._told_homes:
            return self._told_homes[source.path]
        family = self._linked.families.get(source.path, (source.path,))
        known = self._homes.get(family[0])
        if known is None:
            own = self.by_path
            folders = {path.parent for path in family if path in own}
            shared = []
            for parts in zip(*(folder.parts for folder in folders), strict=False):
                if len(set(parts)) > 1:
                    break
                shared.append(parts[0])
            known = self._homes[family[0]] = type(source.path)(*shared)
        return known

    @cached_property
    def _homes(self) -> dict[PurePath, PurePath]:
        """The homes that were asked for, by the first file of the family."""
        return {}


def _unions(component: Component) -> dict[object, frozenset[Any]]:
    """The facts that were asked for over the whole component."""
    return {}


def _has_main(text: bytes) -> bool:
    # Few texts contain the word, and searching for it takes a hundredth of the time.
    return b"main" in text and _MAIN.search(text) is not None


def _reached(start: Iterable[PurePath], following: Mapping[PurePath, Iterable[PurePath]]) -> frozenset[PurePath]:
    """Return everything that is reached from `start`, including `start`."""
    waiting = list(start)
    reached = set(waiting)
    while waiting:
        more = set(following.get(waiting.pop(), ())) - reached
        reached |= more
        waiting += more
    return frozenset(reached)

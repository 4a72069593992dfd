# SPDX-License-Identifier: Apache-2.0
"""What a pass may read: the sources of a tree, what they are ported to, and facts that need more than one file."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hipport.source import Source

if TYPE_CHECKING:
    from hipport.languages.cpp import Cpp

T = TypeVar("T")

DEFAULT_ARCHS = ("gfx942", "gfx1100")

# What may be an #include; more than there are, as it looks into comments and strings too.
_INCLUDE = re.compile(rb"include(?:_next)?(?:[ \t]|\\\r?\n|/\*.*?\*/)*[\"<]([^\">\r\n]+)[\">]", re.DOTALL)

# How build scripts define a macro: -DUSE_HIP, ("USE_HIP", None), target_compile_definitions(name PRIVATE USE_HIP).
_DEFINES = re.compile(
    rb"(?:-D[ \t]*|_compile_definitions[ \t]*\([^()#]*?\b)(\w*(?:HIP|ROCM)\w*)\b|"
    rb"(?<!\w)\(\s*[\"'](\w*(?:HIP|ROCM)\w*)[\"']\s*,"
)

# Major version, minor version, stepping and features, as LLVM's AMDGPU guide writes them; or a generic target.
_ARCH = re.compile(r"gfx(?P<major>\d{1,2}?)(?:\d[0-9a-f]|(?:-\d)?-generic)(?::(?:xnack|sramecc)[+-])*")


#: The processors that compilers for AMD GPUs know, from GCN 3 on: LLVM's AMDGPU guide, releases 15 to 22 (seen in
#: January 2026). LLVM 21 no longer has gfx940 and gfx941.
_PROCESSORS = frozenset(
    "gfx801 gfx802 gfx803 gfx805 gfx810 gfx900 gfx902 gfx904 gfx906 gfx908 gfx909 gfx90a gfx90c gfx940 gfx941 gfx942 "
    "gfx950 gfx1010 gfx1011 gfx1012 gfx1013 gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx1100 gfx1101 "
    "gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201 gfx1250 gfx1251 gfx9-generic gfx9-4-generic "
    "gfx10-1-generic gfx10-3-generic gfx11-generic gfx12-generic".split()
)
#: The last release of each major version of ROCm that is complete (rocm.docs.amd.com, release history, January 2026).
_LAST = {5: 7, 6: 4}
#: Of the newest major version there may be more by now.
_NEWEST = 7


@dataclass(frozen=True)
class Target:
    """What the port is for. Raises ValueError for what hipport cannot port to.

    `archs` are offload architectures, `rocm` the oldest release the result must build with (major, minor). `warp` says
    what a warp is to be: 32 lanes on every GPU (`logical32`), or the wavefront (`native`); `native` has patterns of
    paths (as for PurePath.match) whose kernels are native whatever `warp` says. With `device_agnostic`, Python that
    insists on a GPU comes to run on a CPU, too.
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
                alike = [*get_close_matches(arch.partition(":")[0], sorted(_PROCESSORS), 5, 0.7), *DEFAULT_ARCHS]
                raise ValueError(
                    f"{arch!r} is no GPU that compilers know; there are, for example: "
                    f"{', '.join(dict.fromkeys(alike))}; rocminfo says what is in a machine"
                )
        if self.rocm < (5, 2):
            raise ValueError(f"ROCm {self.rocm[0]}.{self.rocm[1]} is too old; hipport ports to ROCm 5.2 and later")
        major, minor = self.rocm
        if major > _NEWEST or minor > _LAST.get(major, minor):
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

    `kind` is `vendored` (third-party code), `refused` (cannot be edited reliably), `ported` (made by hipify),
    `excluded` (by the configuration, though it was given) or `missing` (a submodule that is not checked out).
    """

    path: PurePath
    kind: str
    why: str


class Component(tuple[Source, ...]):
    """Files that are connected by includes, and what is worked out of all of them: known as long as they stay."""

    def fact(self, compute: Callable[[Component], T]) -> T:
        """Return `compute(self)`, computed once."""
        facts: dict[Callable[[Component], T], T] = self.__dict__.setdefault("_facts", {})
        try:
            return facts[compute]
        except KeyError:
            pass
        found = facts[compute] = compute(self)
        return found

    def __reduce__(self) -> tuple[type[Component], tuple[tuple[Source, ...]]]:
        return Component, (tuple(self),)


@dataclass(frozen=True)
class Project:
    """Sources with paths relative to one root, and what they are ported to."""

    sources: tuple[Source, ...]
    target: Target = field(default_factory=Target)
    skipped: tuple[Skipped, ...] = ()
    #: The folder that the paths are relative to; None for text that is only in memory.
    root: Path | None = None
    #: Files that `sources` include and that were not given: read for what they declare, never changed.
    context: tuple[Source, ...] = ()
    #: Of files that links in other folders lead to: the paths of those links.
    links: Mapping[PurePath, tuple[PurePath, ...]] = field(default_factory=dict)
    #: The user's own rows for the tables of passes, by the name of the pass.
    rules: Mapping[str, Any] = field(default_factory=dict)

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
        """The third-party trees that were found."""
        return tuple(skipped for skipped in self.skipped if skipped.kind == "vendored")

    def replacing(self, changed: Mapping[PurePath, Source]) -> Project:
        """Return the project with the sources of those paths replaced."""
        if not changed:
            return self
        result = replace(self, sources=tuple(changed.get(source.path, source) for source in self.sources))
        if "names" in self.__dict__:
            result.__dict__["names"] = self.names
        # What takes all files to work out stays known as long as it stays true.
        if "_by_name" in self.__dict__ and all(type(self.by_path.get(path)) is type(changed[path]) for path in changed):
            result.__dict__["_by_name"] = self._by_name
            if "_groups" in self.__dict__ and all(
                self._own_includes(self.by_path[path]) == self._own_includes(changed[path]) for path in changed
            ):
                result.__dict__["_groups"] = self._groups
                result.__dict__["_homes"] = self._homes
                touched = {group[0] for path in changed if (group := self._groups.get(path)) is not None}
                result.__dict__["_components"] = {
                    leader: known for leader, known in self._components.items() if leader not in touched
                }
        return result

    def _own_includes(self, source: Source) -> list[str]:
        """The includes in `source` that may mean a file of the project."""
        from hipport.languages.cpp import Cpp

        includes = source.includes if isinstance(source, Cpp) else ()
        return [include.path for include in includes if include.path.rpartition("/")[2] in self._by_name]

    @cached_property
    def _readable(self) -> Mapping[PurePath, Source]:
        return {source.path: source for source in (*self.context, *self.sources)}

    @cached_property
    def _by_name(self) -> Mapping[str, list[PurePath]]:
        from hipport.languages.cpp import Cpp

        by_name: dict[str, list[PurePath]] = {}
        for source in (*self.sources, *self.context):
            if isinstance(source, Cpp):
                by_name.setdefault(source.path.name, []).append(source.path)
        return by_name

    def fact(self, compute: Callable[[Project], T]) -> T:
        """Return `compute(self)`, computed once for these sources."""
        facts: dict[Callable[[Project], T], T] = self.__dict__.setdefault("_facts", {})
        if compute not in facts:
            facts[compute] = compute(self)
        return facts[compute]

    def included(self, source: Source, path: str) -> Iterable[Source]:
        """Return the files of the project that `#include` of `path` in `source` may mean: the nearest ones."""
        return [self._readable[found] for found in self._included(source.path, path)]

    def _included(self, of: PurePath, path: str) -> Sequence[PurePath]:
        named = self._by_name.get(path.rpartition("/")[2], ())
        if not named:
            return ()
        # Where a quoted path is looked for first, which is nearly always where it is.
        beside = posixpath.normpath((of.parent / path).as_posix())
        for other in named:
            if other.as_posix() == beside and other != of:
                return (other,)
        # A path may begin with folders that lie above what was given: <faiss/gpu/a.cuh> where faiss/gpu was.
        return _nearest(path, of, named, self.root.parts if self.root is not None else ())

    @cached_property
    def included_paths(self) -> frozenset[PurePath]:
        """The files of the project that others of its files include."""
        from hipport.languages.cpp import Cpp

        return frozenset(
            other
            for source in self.sources
            if isinstance(source, Cpp)
            for include in source.includes
            for other in self._included(source.path, include.path)
        )

    @cached_property
    def _groups(self) -> Mapping[PurePath, tuple[PurePath, ...]]:
        return self._connected(lambda source: [include.path for include in source.includes])

    def knowing_hip(self) -> Project:
        """Return the project with each C++ file knowing the program's own macros that are defined on HIP.

        A build script that defines a macro with a name for HIP does so for the files of its folder; a file that
        chooses between HIP's functions and CUDA's by one does so for all files that it is connected to by includes.
        """
        from hipport.languages.cpp import Cpp
        from hipport.languages.preprocessor import names_for_hip

        asking = {
            source.path: names
            for source in self.sources
            if isinstance(source, Cpp) and (names := names_for_hip(source.text))
        }
        if not asking:
            return self
        known: dict[PurePath, set[bytes]] = {path: set() for path in asking}
        for script in self.sources:
            if not isinstance(script, Cpp) and (
                defined := {found[1] or found[2] for found in _DEFINES.finditer(script.text)}
            ):
                folder = script.path.parent.parent if script.path.parent.name == "cmake" else script.path.parent
                for path, names in asking.items():
                    if folder in path.parents:
                        known[path] |= names & defined
        readable = self._readable
        choosing = {
            source.path: source.chosen_on_hip
            for source in readable.values()
            if isinstance(source, Cpp) and source.chosen_on_hip
        }
        if choosing:
            for group in self.apart():
                chosen = {name for source in group for name in choosing.get(source.path, ())}
                for source in group if chosen else ():
                    if source.path in asking:
                        known[source.path] |= chosen & asking[source.path]
        return replace(
            self,
            sources=tuple(
                replace(source, chosen=frozenset(known[source.path]))
                if isinstance(source, Cpp) and known.get(source.path)
                else source
                for source in self.sources
            ),
        )

    def apart(self) -> list[list[Source]]:
        """Return the C++ files in groups of which no two have to do with each other.

        Every `#include` counts, in a comment too: nothing need be lexed to divide a tree among processes.
        """
        groups = self._connected(
            lambda source: [match.decode("utf-8", "surrogateescape") for match in _INCLUDE.findall(source.text)]
        )
        own = self.by_path
        once = {group[0]: group for group in groups.values()}
        found = ([own[path] for path in group if path in own] for group in once.values())
        return [group for group in found if group]

    def _connected(self, includes: Callable[[Cpp], Iterable[str]]) -> Mapping[PurePath, tuple[PurePath, ...]]:
        """Return, for each C++ file, those that it is connected to by the paths that `includes` tells of a file.

        hipport's own headers connect nothing: what belongs together is the same before a port and after it.
        """
        from hipport.headers import own
        from hipport.languages.cpp import Cpp

        files = [source for source in (*self.sources, *self.context) if isinstance(source, Cpp)]
        put_there = {source.path for source in files if own(source)}
        leader: dict[PurePath, PurePath] = {source.path: source.path for source in files}

        def find(path: PurePath) -> PurePath:
            while leader[path] != path:
                leader[path] = leader[leader[path]]
                path = leader[path]
            return path

        for source in files:
            for include in includes(source):
                for other in self._included(source.path, include):
                    if other not in put_there:
                        leader[find(other)] = find(source.path)
        members: dict[PurePath, list[PurePath]] = {}
        for source in files:
            members.setdefault(find(source.path), []).append(source.path)
        return {path: tuple(group) for group in members.values() for path in group}

    @cached_property
    def _components(self) -> dict[PurePath, Component]:
        """Those that were asked for, by their first file."""
        return {}

    def component(self, source: Source) -> Component:
        """Return the C++ files that `source` is connected to by includes, itself and context among them.

        What one of them declares, another may mean. An include that could be any of several files of the project is
        taken to be the nearest ones.
        """
        group = self._groups.get(source.path)
        if group is None:
            return Component((source,))
        known = self._components.get(group[0])
        if known is None:
            known = self._components[group[0]] = Component(self._readable[path] for path in group)
        return known

    def without_cuda(self, source: Source) -> frozenset[PurePath]:
        """Return the files in the component of `source` that only such code includes as is for where there is no CUDA.

        That is under `#ifndef __CUDACC__` or in the `#else` of its opposite. What they declare makes up for what is not
        there, as mocks do.
        """
        component = self.component(source)
        first = component[0].path
        known = self._without_cuda.get(first)
        if known is None:
            from hipport.languages.cpp import Cpp, within

            always: dict[PurePath, list[PurePath]] = {}
            apart: list[PurePath] = []
            files = [each for each in component if isinstance(each, Cpp)]
            for each in files:
                for include in each.includes:
                    others = [other for other in self._included(each.path, include.path) if other != each.path]
                    under = within(include.target.start, each.without_cuda)
                    (apart if under else always.setdefault(each.path, [])).extend(others)
            # Files may include each other in a circle, so it is not the files that none includes where this begins.
            mocks = _reached(apart, always)
            known = mocks - _reached([each.path for each in files if each.path not in mocks], always)
            self._without_cuda[first] = known
        return known

    @cached_property
    def _without_cuda(self) -> dict[PurePath, frozenset[PurePath]]:
        """Those that were asked for, by the first file of the component."""
        return {}

    def together(
        self, source: Source, fact: Callable[[Cpp], frozenset[T]], but: AbstractSet[PurePath] = frozenset()
    ) -> frozenset[T]:
        """Return the union of `fact` over the component of `source`, without the files `but`.

        Worked out once for each component where no file is left out.
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

    def home(self, source: Source) -> PurePath:
        """Return the deepest folder that `source` and all files it is connected to by includes are in.

        Files that are only context do not count: nothing is to be made outside of what was given.
        """
        first = self._groups.get(source.path, (source.path,))[0]
        known = self._homes.get(first)
        if known is None:
            own = self.by_path
            folders = {other.path.parent for other in self.component(source) if other.path in own}
            shared = []
            for parts in zip(*(folder.parts for folder in folders), strict=False):
                if len(set(parts)) > 1:
                    break
                shared.append(parts[0])
            known = self._homes[first] = type(source.path)(*shared)
        return known

    @cached_property
    def _homes(self) -> dict[PurePath, PurePath]:
        """Those that were asked for, by the first file of their component."""
        return {}


def _unions(component: Component) -> dict[object, frozenset[Any]]:
    """The facts that were asked of the component together."""
    return {}


def _nearest(path: str, of: PurePath, named: Sequence[PurePath], above: Sequence[str]) -> Sequence[PurePath]:
    """Those of the paths `named`, in the folders `above`, that end in `path` and share most folders with `of`."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    if not parts:
        return ()
    found = [other for other in named if [*above, *other.parts][-len(parts) :] == parts and other != of]

    def shared(other: PurePath) -> int:
        count = 0
        for a, b in zip(other.parts, of.parts, strict=False):
            if a != b:
                break
            count += 1
        return count

    nearest = max(map(shared, found), default=0)
    return [other for other in found if shared(other) == nearest]


def _reached(start: Iterable[PurePath], following: Mapping[PurePath, Iterable[PurePath]]) -> frozenset[PurePath]:
    """Return all that is reached from `start` on, with it."""
    waiting = list(start)
    reached = set(waiting)
    while waiting:
        more = set(following.get(waiting.pop(), ())) - reached
        reached |= more
        waiting += more
    return frozenset(reached)

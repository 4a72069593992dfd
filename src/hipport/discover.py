# SPDX-License-Identifier: Apache-2.0
"""Find what there is to port in files and folders. Nothing is executed and nothing is written.

What is left alone is said, with the reason, as `Project.skipped`.

Third-party code is known by marker files alone (`glm/glm.hpp`), not by the names of folders: what people keep in
`third_party` or `external` is as often their own code, and code that is silently not ported is the worst outcome.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath

from hipport import reading
from hipport.extensions import UNITS, Extension, extensions
from hipport.globs import Glob
from hipport.headers import own
from hipport.importing import concerned, imported
from hipport.journal import FOLDER, Journal, refuse_half_done
from hipport.languages.cmake import CMake
from hipport.languages.cpp import Cpp
from hipport.languages.cuda import Cuda
from hipport.languages.json import CMakePresets, Devcontainer
from hipport.languages.make import Makefile
from hipport.languages.notebook import Notebook
from hipport.languages.other_builds import OtherBuild
from hipport.languages.packaging import CondaEnvironment, Lock, Requirements, SetupCfg, ToxIni
from hipport.languages.program_settings import LONGEST, MEANT, ProgramSettings
from hipport.languages.python import Python
from hipport.languages.shell import Definition, Dockerfile, Markdown, Shell
from hipport.languages.toml import Toml
from hipport.languages.yaml import Compose, Manifest, Workflow
from hipport.placing import Refused
from hipport.project import Project, Skipped, Target
from hipport.search_paths import SearchPaths, of_commands
from hipport.source import Source

__all__ = ["Extension", "NotFound", "discover", "extensions", "left_by_tools", "source"]

#: Suffixes of C++ that is included, not compiled by itself.
HEADERS = frozenset(".cuh .h .hh .hpp .hxx .h++ .inl .inc .ipp .tpp .tcc .txx".split())

# What only code for a GPU has: its keywords and functions start with two underscores, a launch has three angle
# brackets (some write them apart), and everything else says cuda somewhere, or hip: what CUDA is ported to is the same
# language still, and what a port puts for a name counts just if the name does (a test holds the tables to that). The
# mark of a port does not, nor a guard that it stands behind, nor what stands for PTX, which other C++ may have.
# Generous on purpose: C++ that is taken for CUDA is parsed by a grammar that knows more.
_GUARD = rb"__\)?(?: && !defined\(__HIP_PLATFORM_AMD__\))? /\* hipport|_PLATFORM_AMD__\) /\* hipport"
_CUDA_WORDS = (
    *(b"cuda", b"CUDA", b"ROCM", b"_TYPES_H__", b"_DESCRIPTOR_H__", b"_FUNCTIONS_H__", b"_INTRINSICS_H__"),
    *(b"_PARAMETERS_H__", b"HOST_DEFINES_H__", b"HOST_CONFIG_H__"),
)
# One by one, and each with the letters first that it begins with: so they are searched for ten times as fast.
_CUDA = tuple(
    map(
        re.compile,
        (
            rb"__[a-z]",
            rb"<<\s*<",
            rb"cu(?:(?<=\bcu)|(?<=_cu))[A-Z]",
            rb"CU(?<=\bCU)(?:(?:GL|GPU)D)?[a-z_]",
            rb"hip(?:(?<=\bhip)|(?<=_hip)|(?<=\bihip))(?:GL)?[A-Z_/]",
            rb"HIP(?:CC|RT)?(?![A-Z])(?!" + _GUARD + rb")",
            rb"hipport/(?!ptx\.h)",
            rb"warpSize\b(?<=\bwarpSize)",
            rb"THC(?<=\bTHC)",
            rb"bfloat16(?:(?<=\bnv_bfloat16)|(?<=\bmake_bfloat16))",
            rb"__NV_(?<=\b__NV_)",
            rb"rtc[A-Z]",
            rb"textureReference\b(?<=\btextureReference)",
            rb"[<\"/](?:cooperative_groups|math_constants|nvrtc|channel_descriptor|host_(?:config|defines)|sm_\d\d_\w+"
            rb"|(?:builtin|common|device|driver|library|math|surface|texture|vector)_\w+)\.h",
        ),
    )
)
# What no port leaves: the sign of a file that is not ported, though not each such file has one.
_UNPORTED = re.compile(rb"\bcuda[A-Z]\w|(?<![\w:])__\w+_sync\b")
# What a Python file says that cares which GPU it runs on, or builds something for one.
_PYTHON = re.compile(
    rb"cuda|nvidia|nvml|nvcc|cpp_extension|cudnn|xformers|flash_attn|triton|\bhip\b|rocm|warp_size"
    rb"|compute_capability|nvdiffrast|tinycudann|spconv|torch_scatter|pytorch3d|gsplat|bitsandbytes|cupy|nvprof|\bnsys\b|\bncu\b"
    rb"|compute-sanitizer|[\"']amd(?:gpu)?[\"':]|torch\.amd\."
    # Packages that a program installs.
    rb"|cu1[0-3]\d\b|\bnox\b|\bpip3?[\"', ]+install|tensorrt"
    # Options of nvcc, which other scripts may take from there.
    rb"|use_fast_math|-lineinfo|--?expt-|extended-lambda|-gencode|=(?:sm|compute)_|ptxas|-Xcompiler|_CXX11_ABI=",
    re.IGNORECASE,
)
# What is neither Python nor C++ is known by its name.
_NAMED: tuple[tuple[re.Pattern[str], type[Source]], ...] = (
    (re.compile(r"CMakeLists\.txt|.+\.cmake"), CMake),
    # NDK's makefiles are for phones.
    (re.compile(r"(?:GNU)?[Mm]akefile(?:\..+)?|(?!(?:Android|Application)\.mk).+\.(?:mk|mak)"), Makefile),
    (re.compile(r".+\.ipynb"), Notebook),
    (re.compile(r"(?:poetry|uv|pdm|Pipfile|pixi)\.lock|pylock(?:\..+)?\.toml|(?:.*[-_.])?conda-lock\.ya?ml"), Lock),
    (re.compile(r"(?:.*[-_.])?(?:requirements?|constraints?|reqs?)(?:[-_.].*)?\.(?:txt|in|pip)"), Requirements),
    (re.compile(r"pyproject\.toml|pixi\.toml|Pipfile"), Toml),
    (re.compile(r"setup\.cfg"), SetupCfg),
    (re.compile(r"tox\.ini"), ToxIni),
    (re.compile(r"(?:.*[-_.])?(?:Dockerfile|Containerfile)(?:[-_.].*)?|.+\.dockerfile", re.IGNORECASE), Dockerfile),
    (re.compile(r".+\.(?:sh|bash)"), Shell),
    (re.compile(r"(?:README|INSTALL)(?:[-_.].*)?\.(?:md|rst)", re.IGNORECASE), Markdown),
    (re.compile(r"(?:.*[-_.])?(?:conda|env|environment)(?:[-_.].*)?\.ya?ml", re.IGNORECASE), CondaEnvironment),
    (re.compile(r"(?:.*[-_.])?(?:docker-)?compose(?:[-_.].*)?\.ya?ml|cog\.ya?ml", re.IGNORECASE), Compose),
    (re.compile(r"\.gitlab-ci\.ya?ml|\.travis\.yml|azure-pipelines(?:[-_.].*)?\.ya?ml"), Workflow),
    (re.compile(r".+\.def|(?:Singularity|Apptainer)(?:[-_.].*)?"), Definition),
    (re.compile(r"\.devcontainer\.json"), Devcontainer),
    (re.compile(r"CMake(?:User)?Presets\.json"), CMakePresets),
    # Any other, if it names what GPUs have in formats of their own.
    (re.compile(r".+\.json"), ProgramSettings),
    (
        re.compile(
            r"meson\.build|BUILD(?:\.bazel)?|.+\.bzl|SCons(?:truct|cript)|xmake\.lua|configure\.(?:ac|in)|build\.rs"
        ),
        OtherBuild,
    ),
    # Any other, if it asks a cluster for GPUs.
    (re.compile(r".+\.ya?ml"), Manifest),
)
# Of folders whose names begin with a point, these are looked into, for these files.
_HIDDEN: tuple[tuple[str, re.Pattern[str], type[Source]], ...] = (
    (".github", re.compile(r"(?:workflows/[^/]+|actions/.+/action)\.ya?ml"), Workflow),
    (".circleci", re.compile(r"[^/]+\.ya?ml"), Workflow),
    (".buildkite", re.compile(r".+\.ya?ml"), Workflow),
    (".devcontainer", re.compile(r"(?:.+/)?[^/]*Dockerfile[^/]*"), Dockerfile),
    (".devcontainer", re.compile(r"(?:.+/)?(?:docker-)?compose[^/]*\.ya?ml"), Compose),
    (".devcontainer", re.compile(r"(?:[^/]+/)?devcontainer\.json"), Devcontainer),
)
# Lists of requirements that their folder says are such: requirements/gpu.txt.
_LISTS = re.compile(r"(?:.*/)?(?:requirements?|reqs?)/[^/]+\.(?:txt|in|pip)")
_LOOKED_INTO = frozenset(folder for folder, _, _ in _HIDDEN)
# Of files that only install packages, those are read that install what has builds for GPUs.
_INSTALLING = (Toml, SetupCfg, ToxIni, CondaEnvironment, Lock, Dockerfile, Definition, Shell, Markdown)
_INSTALLS = re.compile(
    rb"torch|cuda|nvidia|\bcu1\d\d\b|xformers|flash[-_]attn|triton|spconv|cupy|tensorrt|bitsandbytes|gsplat|apex|tinycudann"
    rb"|kaolin|\[build_ext\]|faiss-gpu|onnxruntime-gpu|pynvml|install_requires|install [^\r\n]*\./"
    rb"|nvprof|\bnsys\b|\bncu\b|compute-sanitizer",
    re.IGNORECASE,
)
_RUNS = re.compile(rb"cuda|nvidia|\bgpus?\b", re.IGNORECASE)
# What files of these names say that are meant; `.def` is also a list of a library's names on Windows.
_SAYS: dict[type[Source], re.Pattern[bytes]] = {
    CMakePresets: re.compile(rb"CMAKE_CUDA_"),
    Definition: re.compile(rb"^[ \t]*bootstrap[ \t]*:", re.IGNORECASE | re.MULTILINE),
    Manifest: re.compile(rb"nvidia\.com/|gke-accelerator|runtimeClassName:[ \t]*[\"']?nvidia"),
    OtherBuild: re.compile(rb"cuda|nvcc|\.cu\b|rocm|hip", re.IGNORECASE),
    ProgramSettings: MEANT,
}
# Files that are given by name may be in any language; in one of these nothing is C++.
_OTHER = frozenset(
    ".bat .cfg .cmake .conf .css .csv .diff .f90 .go .html .ini .ipynb .java .js .json .lock .md .mk .patch .proto .rs "
    ".rst .sh .sql .svg .tex .toml .ts .txt .xml .yaml .yml".split()
)

#: What is said first of a file in which a merge was left half-done.
CONFLICT = "has conflict markers of git"
_OURS, _BASE, _THEIRS = (
    re.compile(rb"^%c{7}%b\r?$" % (mark, label), re.MULTILINE)
    for mark, label in ((b"<", rb"(?: [^\r\n]*)?"), (b"=", b""), (b">", rb"(?: [^\r\n]*)?"))
)

_COMMANDS = "compile_commands.json"
_HIPIFIED = b"This is a file automatically generated by hipify"
_WIDE = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)

# What version control, package managers and builds leave in a tree, by name; `build` and the like only when what is in
# it says so too, as some keep their build scripts, or their sources, there.
_LEFT = frozenset(".git .hg .svn .tox .nox __pycache__ node_modules site-packages _skbuild CMakeFiles _deps".split())
_PERHAPS_LEFT = re.compile(r"dist|(?:.*[-_])?build(?:[-_].*)?")
_BUILT = re.compile(
    r"build/lib|.*/(?:CMakeCache\.txt|CMakeFiles|build\.ninja|\.ninja_(?:log|deps)|(?:lib|temp|bdist)\.[a-z]+-.*"
    r"|.*\.(?:whl|o|so|a|obj|tar\.gz))"
)


class NotFound(Exception):
    """A path that was given does not exist."""


def refuse_conflicts(project: Project, asked: Collection[Path] = ()) -> None:
    """Raise Refused for a tree with a merge in it that is not resolved: half of it would be ported, or compiled.

    Only some files may have been `asked` for, by their whole paths.
    """
    # Texts about git have markers of no merge.
    problems = [
        f"{each.path}: {each.why}; or exclude the file"
        for each in project.skipped
        if each.why.startswith(CONFLICT) and each.path.suffix not in (".md", ".rst")
        if not asked or (project.root is not None and project.root / each.path in asked)
    ]
    if problems:
        raise Refused(problems)


def discover(
    paths: Iterable[Path],
    target: Target | None = None,
    *,
    exclude: Sequence[str] = (),
    base: Path | None = None,
    vendored: Mapping[str, tuple[str, ...]] | None = None,
    repository: bool = False,
    staged: bool = False,
) -> Project:
    """Read the sources at `paths`, files and folders, without what builds and tools have left there.

    Paths become relative to one root: the folder that all of `paths` lie in. A file that is given is taken whatever its
    suffix, and what it includes, in quotes or where build scripts say, is read as `Project.context`. `exclude` has
    patterns as in .gitignore, relative to `base` or else the root. `vendored` tells by which files each third-party
    library is known (`NAME`, or `NAME: TEXT` where the file has to begin with something that has TEXT in it); a folder
    of one that is given itself is meant.

    With `repository`, files that are given are looked at with all of the Git repository that they lie in, which is the
    root then: what becomes of them does not depend on which others are given. With `staged`, so are folders, which are
    submodules, and files that would be left alone in a whole repository are.

    Raises NotFound. What cannot be read or edited reliably is in `skipped`.
    """
    asked = list(paths)
    given = [Path(os.path.realpath(path)) for path in asked]
    missing = [str(path) for path, real in zip(asked, given, strict=True) if not real.exists()]
    if missing:
        raise NotFound(f"there is no {', '.join(missing)}")
    root = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in given]))
    # A submodule lies in its repository as a file does.
    around = Path(os.path.commonpath([path.parent for path in given])) if staged else root
    top = _repository(around) if staged or (repository and any(path.is_file() for path in given)) else None
    refuse_half_done(top or root)
    if top is not None:
        return _in_repository(given, top, target, _Walk(top, _Excluded(exclude, base or top), vendored or {}), staged)
    walk = _Walk(root, _Excluded(exclude, base or root), vendored or {})
    for path in given:
        walk.take(path)
    sources, skipped = walk.read()
    context, told = _context(root, sources) if any(path.is_file() for path in given) else ((), {})
    left = _not_given(sorted(context, key=lambda each: str(each.path)))
    commands = {**told, **walk.commands()}
    return Project(sources, target or Target(), (*skipped, *left), root, context, walk.links_to(), commands=commands)


def _repository(folder: Path) -> Path | None:
    """Return the folder of the Git repository that `folder` lies in, if it does."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _in_repository(given: Sequence[Path], top: Path, target: Target | None, walk: _Walk, staged: bool) -> Project:
    """Read a whole repository, of which what is `given` is to be ported."""
    walk.take(top)
    for path in given if not staged else ():
        walk.take(path)
    sources, skipped = walk.read()
    places = frozenset(path.relative_to(top).as_posix() for path in given)
    inside = ("",) if "." in places else tuple(f"{place}/" for place in places)

    def is_given(path: PurePath) -> bool:
        name = path.as_posix()
        return name in places or name.startswith(inside)

    asked = frozenset(source.path for source in sources if is_given(source.path))
    project = Project(sources, target or Target(), (), top, (), walk.links_to(), asked=asked, commands=walk.commands())
    # As third-party code it is read by passes, whatever was given.
    said = tuple(each for each in skipped if each.kind == "vendored" or is_given(each.path))
    return replace(project, skipped=(*said, *_left(project)))


def _left(project: Project) -> Iterator[Skipped]:
    """Yield the files that those to be ported include, and that are CUDA and were not given."""
    waiting = [project.by_path[path] for path in sorted(project.asked or ())]
    seen = {each.path for each in waiting}
    while waiting:
        each = waiting.pop()
        for include in each.includes if isinstance(each, Cpp) else ():
            for other in project.included(each, include):
                if other.path not in seen and isinstance(other, Cpp):
                    seen.add(other.path)
                    waiting.append(other)
    yield from _not_given(project.by_path[path] for path in sorted(seen - (project.asked or frozenset())))


def _not_given(included: Iterable[Source]) -> Iterator[Skipped]:
    for each in included:
        if isinstance(each, Cpp) and not own(each) and _unported(each):
            yield Skipped(each.path, "included", "included, and CUDA; to port it, give it too, or its folder")


def _context(root: Path, sources: Iterable[Source]) -> tuple[tuple[Source, ...], dict[PurePath, tuple[str, ...]]]:
    """Read the files that `sources` include, and those that these include, as far as they are not `sources`.

    A file is where the build scripts above say that it is looked for; in quotes also beside the file, and in each
    folder above it, as far as the repository reaches. Returns the files, and the folders that scripts name for each
    file, relative to `root`.
    """
    known = {os.path.realpath(root / each.path) for each in sources}
    top = _repository(root) or root
    places = SearchPaths(_scripts_above(root, top), {})
    told: dict[PurePath, tuple[str, ...]] = {}
    found: list[Source] = []
    waiting = [each for each in sources if isinstance(each, Cpp)]
    while waiting:
        each = waiting.pop()
        file = Path(os.path.realpath(root / each.path))
        inside = file.is_relative_to(top)
        named = [top / place for place in places.of(file.relative_to(top).as_posix())] if inside else []
        if named:
            told[each.path] = tuple(os.path.relpath(folder, root).replace(os.sep, "/") for folder in named)
        above = [parent for parent in file.parent.parents if parent.is_relative_to(top)]
        for include in each.includes:
            if PurePosixPath(include.path).is_absolute():
                continue
            for start in named if include.angled else (file.parent, *named, *above):
                place = os.path.realpath(start / include.path)
                if place in known:
                    break
                if start in named and not Path(place).is_relative_to(top):
                    continue  # What a script says leads nowhere else.
                try:
                    text = _read(Path(place))
                except _Refused:
                    continue
                known.add(place)
                other = source(PurePosixPath(os.path.relpath(place, root).replace(os.sep, "/")), text)
                if isinstance(other, Cpp):
                    found.append(other)
                    waiting.append(other)
                break
    return tuple(found), told


def _scripts_above(root: Path, top: Path) -> Iterator[Source]:
    """Yield the build scripts in a folder and in those above it, with their paths from the outermost, `top`."""
    for folder in (root, *root.parents):
        for name in ("CMakeLists.txt", "setup.py", "Makefile", "makefile", "GNUmakefile"):
            with contextlib.suppress(_Refused):
                path = PurePosixPath((folder / name).relative_to(top).as_posix())
                yield source(path, _read(folder / name))
        if folder == top:
            return


def _unported(file: Cpp) -> bool:
    return bool(_UNPORTED.search(file.code)) or any(include.path.startswith("cuda") for include in file.includes)


def source(path: PurePath, text: bytes) -> Source:
    """Return a file in its language, by its name and its text; a plain Source for one that hipport does not read."""
    suffix = path.suffix.lower()
    if suffix == ".py":
        return Python(path, text)
    hidden = _hidden(path.as_posix())
    if hidden is not None:
        return hidden(path, text)
    for name, language in _NAMED:
        if name.fullmatch(path.name):
            if language is Manifest and MEANT.search(text) and not _SAYS[Manifest].search(text):
                return ProgramSettings(path, text)
            return language(path, text)
    if _LISTS.fullmatch(path.as_posix()):
        return Requirements(path, text)
    if suffix in (".cu", ".cuh"):
        return Cuda(path, text)
    cuda = any(word in text for word in _CUDA_WORDS) or any(pattern.search(text) for pattern in _CUDA)
    if suffix in UNITS or suffix in HEADERS or (cuda and suffix and suffix not in _OTHER):
        return Cuda(path, text) if cuda else Cpp(path, text)
    return Source(path, text)


def in_memory(texts: Mapping[str, bytes], target: Target | None = None) -> Project:
    """Return a project of texts by their names; what cannot be edited reliably is in `skipped`."""
    kept: list[Source] = []
    skipped: list[Skipped] = []
    for name, text in texts.items():
        if not isinstance(text, bytes):
            raise TypeError(f"{name}: a text is bytes, not {type(text).__name__}")
        if why := _unreliable(text):
            skipped.append(Skipped(PurePosixPath(name), "refused", why))
        else:
            kept.append(source(PurePosixPath(name), text))
    return Project(tuple(kept), target or Target(), tuple(skipped))


def _unreliable(text: bytes) -> str:
    """Say why a text cannot be edited reliably; empty if it can."""
    encoding = next((encoding for mark, encoding in _WIDE if text.startswith(mark)), "")
    if encoding:
        return f"{encoding}; convert it to UTF-8"
    if b"\0" in text:
        return "a binary file: it has NUL bytes"
    line = _conflict(text)
    return f"{CONFLICT} in line {line}: resolve the merge, then run hipport again" if line else ""


def _conflict(text: bytes) -> int:
    """Return the line of the first of git's conflict markers; 0 if there is not a whole conflict."""
    first = _OURS.search(text) if b"<<<<<<<" in text else None
    middle = _BASE.search(text, first.end()) if first else None
    if first is None or middle is None or _THEIRS.search(text, middle.end()) is None:
        return 0
    return text.count(b"\n", 0, first.start()) + 1


def left_by_tools(folder: str | Path, names: Iterable[str]) -> set[str]:
    """Return those of the `names` in a folder that version control, package managers and builds have left there."""
    return {
        name
        for name in names
        if name in _LEFT
        or name.endswith(".egg-info")
        or (
            _PERHAPS_LEFT.fullmatch(name)
            and any(_BUILT.fullmatch(f"{name}/{each}") for each in _names(Path(folder, name)))
        )
    }


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except (OSError, ValueError):  # a name of a tree's own may have a NUL
        return []


class _Refused(Exception):
    """Why a file is not taken."""


class _Walk:
    """One reading of files and folders below a root. Paths are relative to it, and have forward slashes."""

    def __init__(self, root: Path, excluded: _Excluded, vendored: Mapping[str, tuple[str, ...]]) -> None:
        self.root = root
        self.excluded = excluded
        # By its name: what a marker file stands for, the folders that it must lie in, and what it must begin with.
        self.markers: dict[str, list[tuple[str, list[str], bytes]]] = {}
        for library, markers in vendored.items():
            for marker in markers:
                place, _, words = marker.partition(": ")
                *folders, name = place.split("/")
                self.markers.setdefault(name, []).append((library, folders, words.encode()))
        self.meant: list[str] = []  # what was given
        self.seen: set[str] = set()  # folders
        # Python that names no GPU, with what it imports.
        self.unread: dict[str, frozenset[bytes]] = {}
        self.files: dict[str, str] = {}  # with the name that tells the language: that of a link to the file
        self.links: list[tuple[str, Path]] = []
        self.linked: dict[str, list[str]] = {}
        self.libraries: dict[str, str] = {}
        self.skipped: dict[str, Skipped] = {}
        self.of_commands: list[str] = []

    def links_to(self) -> Mapping[PurePath, tuple[PurePath, ...]]:
        """Return the links that lead to files, for each such file."""
        return {PurePosixPath(path): tuple(map(PurePosixPath, links)) for path, links in self.linked.items()}

    def take(self, path: Path) -> None:
        """Take what was given."""
        name = path.relative_to(self.root).as_posix()
        self.meant.append(name)
        if path.is_dir():
            self._take_folder(path, "" if name == "." else name + "/")
        elif self.excluded(path, folder=False):
            self._skip(name, "excluded", "excluded by the configuration")
        else:
            self.files[name] = path.name

    def _skip(self, name: str, kind: str, why: str) -> None:
        self.skipped[name] = Skipped(PurePosixPath(name), kind, why)

    def _take_folder(self, top: Path, name: str) -> None:
        folders = [(str(top), name)]
        while folders:
            folder, name = folders.pop()
            if name in self.seen:
                continue
            self.seen.add(name)
            try:
                with os.scandir(folder) as found:
                    entries = list(found)
            except OSError as error:
                self._skip(name or ".", "refused", reading.said(error))
                continue
            names = {entry.name for entry in entries}
            if {"pyvenv.cfg", "conda-meta"} & names and name.rstrip("/") not in self.meant:
                continue
            left = left_by_tools(folder, names)
            for marker in self.markers.keys() & names if self.markers else ():
                self._mark(Path(folder), top, marker)
            if FOLDER in names and name and Journal(Path(folder)).half_done:
                undo = shlex.join(["hipport", "undo", folder])
                self._skip(name.rstrip("/"), "refused", f"a run of hipport was killed here; first: {undo}")
                continue
            if ".gitmodules" in names:
                self._take_modules(Path(folder), name)
            if _COMMANDS in names:
                self.of_commands.append(name + _COMMANDS)
            for entry in entries:
                if entry.name in left:
                    # What a build has left there says how it was done.
                    if entry.is_dir(follow_symlinks=False) and _COMMANDS in _names(Path(entry.path)):
                        self.of_commands.append(f"{name}{entry.name}/{_COMMANDS}")
                    continue
                path = name + entry.name
                if entry.is_symlink():
                    if not self.excluded(entry.path, folder=False):
                        self.links.append((path, Path(entry.path)))
                elif entry.is_dir(follow_symlinks=False):
                    seen = not entry.name.startswith(".") or entry.name in _LOOKED_INTO
                    if seen and not self.excluded(entry.path, folder=True):
                        folders.append((entry.path, path + "/"))
                elif _wanted(path) and not self.excluded(entry.path, folder=False):
                    self.files.setdefault(path, entry.name)

    def _mark(self, folder: Path, top: Path, marker: str) -> None:
        """Note a third-party library by its marker file, and as much around it as goes by its name."""
        for library, folders, words in self.markers[marker]:
            if list(folder.parts[len(folder.parts) - len(folders) :]) != folders:
                continue
            if words and words not in reading.beginning(folder / marker, 4096):
                continue
            found = folder.parents[len(folders) - 2] if len(folders) > 1 else folder if folders else folder / marker
            like = re.compile(rf"{re.escape(library)}(?:[-_.]?v?\d.*|[-_](?:main|master|src))?", re.IGNORECASE)
            # `cutlass/include/cutlass/cutlass.h`: further up it is no longer the library's name.
            for outer in list(found.parents)[:3]:
                if like.fullmatch(outer.name):
                    found = outer
            if not top.is_relative_to(found):
                self.libraries[found.relative_to(self.root).as_posix()] = library

    def _take_modules(self, folder: Path, name: str) -> None:
        """Note the git submodules that are not checked out."""
        said = reading.read_or_nothing(folder / ".gitmodules", reading.SETTINGS).decode("utf-8", "replace")
        for module in re.findall(r"^\s*path\s*=\s*(.+?)\s*$", said, re.MULTILINE):
            place = PurePosixPath(module)
            if ".." not in place.parts and not place.is_absolute() and not _names(folder / module):
                self._skip(
                    name + module, "missing", "a git submodule that is not checked out: git submodule update --init"
                )

    def read(self) -> tuple[tuple[Source, ...], tuple[Skipped, ...]]:
        """Read the files that were found."""
        self._follow_links()
        self._leave_libraries()
        sources = []
        for name, called in sorted(self.files.items()):
            given = name in self.meant
            try:
                taken = self._source(PurePosixPath(name), called, given)
            except _Refused as refused:
                self._skip(name, "refused", str(refused))
            else:
                if taken is not None:
                    sources.append(taken)
        sources += self._included(sources)
        read = [(each.path, each.text) for each in sources if isinstance(each, Python)]
        for name in concerned(read, self.unread):
            with contextlib.suppress(_Refused):
                taken = self._source(PurePosixPath(name), self.files[name], True)
                sources += [taken] if taken is not None else []
        sources.sort(key=lambda each: str(each.path))
        return tuple(sources), tuple(skipped for _, skipped in sorted(self.skipped.items()))

    def commands(self) -> Mapping[PurePath, tuple[str, ...]]:
        """Return the include folders of files, as builds have written them down."""
        found: dict[str, tuple[str, ...]] = {}
        for path in sorted(self.of_commands):
            real = Path(os.path.realpath(self.root / path))
            if not real.is_relative_to(self.root):
                continue
            with contextlib.suppress(_Refused):
                for file, folders in of_commands(_read(real), posixpath.dirname(path), self.root).items():
                    found[file] = tuple(dict.fromkeys((*found.get(file, ()), *folders)))
        return {PurePosixPath(path): folders for path, folders in found.items()}

    def _included(self, sources: Iterable[Source]) -> Iterator[Source]:
        """Yield the lists of requirements that others read in, whatever they are called."""
        waiting = [source for source in sources if isinstance(source, Requirements)]
        known = {each.path for each in sources}
        while waiting:
            source = waiting.pop()
            for name in source.includes:
                path = PurePosixPath(os.path.normpath(source.path.parent / name))
                if path in known or path.is_absolute() or ".." in path.parts or str(path) in self.skipped:
                    continue
                known.add(path)
                if not Path(os.path.realpath(self.root / path)).is_relative_to(self.root):
                    self._skip(str(path), "refused", "a link that leads out of the tree")
                    continue
                try:
                    found = Requirements(path, _read(self.root / path))
                except _Refused:
                    continue
                waiting.append(found)
                yield found

    def _source(self, path: PurePosixPath, called: str, given: bool) -> Source | None:
        if called.lower().endswith(".json") and not given:
            text = reading.read_or_nothing(self.root / path, LONGEST)  # what is longer is data
        else:
            text = _read(self.root / path)
        if _HIPIFIED in text[:200] and not given:
            self._skip(str(path), "ported", "made by hipify from another file")
            return None
        # A link's name says the language; the source is the file itself.
        typed = source(path.with_name(called), text)
        if isinstance(typed, Python) and not given and path.name != "setup.py" and not _PYTHON.search(text):
            self.unread[str(path)] = imported(text)
            return None
        if isinstance(typed, (Workflow, Compose, Devcontainer)) and not _RUNS.search(text) and not given:
            return None
        if type(typed) in _SAYS and not _SAYS[type(typed)].search(text) and not given:
            return None
        if isinstance(typed, _INSTALLING) and not _INSTALLS.search(text) and not given:
            return None
        if type(typed) is Source:
            raise _Refused("not in a language that hipport reads")
        if why := _unreliable(text):
            raise _Refused(why)
        return type(typed)(path, text)

    def _follow_links(self) -> None:
        """Take the files that links lead to, once; folders are taken where they are."""
        for name, link in sorted(self.links):
            real = Path(os.path.realpath(link))
            if not real.is_relative_to(self.root):
                if real.is_dir() or _wanted(link.name):
                    self._skip(name, "refused", "a link that leads out of the tree")
            elif not real.is_dir() and _wanted(link.name):
                path = real.relative_to(self.root).as_posix()
                folder = path.rpartition("/")[0]
                if not real.exists():
                    self._skip(name, "refused", "a link to a file that does not exist")
                elif path in self.files:
                    self.linked.setdefault(path, []).append(name)
                elif (folder and folder + "/") not in self.seen or self.excluded(real, folder=False):
                    self._skip(name, "refused", f"a link to {path}, which is left alone")
                else:
                    self.files[path] = link.name
                    self.linked.setdefault(path, []).append(name)

    def _leave_libraries(self) -> None:
        """Leave third-party code alone, but for what was given."""
        for folder, library in sorted(self.libraries.items()):
            inside = folder + "/"
            meant = tuple(f"{given}/" for given in self.meant if f"{given}/".startswith(inside))
            files = [name for name in self.files if f"{name}/".startswith(inside) and not f"{name}/".startswith(meant)]
            for name in files:
                del self.files[name]
            if files:
                self._skip(folder, "vendored", f"third-party code: {library}")


class _Excluded:
    """Patterns as in .gitignore, relative to `base`: the last one that matches decides; `!` takes back."""

    def __init__(self, patterns: Sequence[str], base: Path) -> None:
        self.base = Path(os.path.realpath(base))
        self.rules: list[tuple[Glob, bool, bool]] = []
        for pattern in patterns:
            excludes, only_folders = not pattern.startswith("!"), pattern.endswith("/")
            place = pattern.removeprefix("!").rstrip("/")
            # A pattern with a slash in it is about one place, another one about names anywhere.
            anywhere = "" if "/" in place else "**/"
            self.rules.append((Glob(anywhere + place.lstrip("/")), only_folders, excludes))

    def __call__(self, path: str | Path, *, folder: bool) -> bool:
        excluded = False
        if self.rules:
            name = os.path.relpath(path, self.base).replace(os.sep, "/")
            for glob, only_folders, excludes in self.rules:
                if (folder or not only_folders) and glob.matches(name):
                    excluded = excludes
        return excluded


def _hidden(path: str) -> type[Source] | None:
    """Return the language of a file in a folder whose name begins with a point, if hipport reads it."""
    for folder, pattern, language in _HIDDEN:
        *_, below = f"/{path}".partition(f"/{folder}/")
        if below and pattern.fullmatch(below):
            return language
    return None


def _wanted(path: str) -> bool:
    *folders, name = path.split("/")
    if _LOOKED_INTO & set(folders):
        return _hidden(path) is not None
    suffix = PurePosixPath(name).suffix.lower()
    # What is HIP by its name is what the program has beside CUDA's.
    if suffix in UNITS or suffix in HEADERS or suffix in (".py", ".hip"):
        return True
    return _LISTS.fullmatch(path) is not None or any(pattern.fullmatch(name) for pattern, _ in _NAMED)


def _read(path: Path) -> bytes:
    try:
        return reading.read(path)
    except OSError as error:
        raise _Refused(reading.said(error)) from error

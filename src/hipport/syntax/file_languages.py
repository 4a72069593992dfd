# SPDX-License-Identifier: Apache-2.0
"""Which language a file is in, by its name and its text, and whether it has anything to do with GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePath, PurePosixPath

from hipport.core.source import Source
from hipport.core.tables import load, one_of
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import UNITS, Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.json import CMakePresets, Devcontainer
from hipport.syntax.make import Makefile
from hipport.syntax.notebook import Notebook
from hipport.syntax.packaging import CondaEnvironment, Lock, Requirements, SetupCfg, ToxIni
from hipport.syntax.program_settings import MEANT, ProgramSettings
from hipport.syntax.python import Python
from hipport.syntax.shell import Definition, Dockerfile, Markdown, Shell
from hipport.syntax.toml import Toml
from hipport.syntax.unread_builds import OtherBuild
from hipport.syntax.yaml import Compose, Manifest, Workflow

_TABLE = load(Path(__file__).with_suffix(".toml"))

#: Suffixes of C++ that is included, not compiled by itself.
HEADERS = frozenset(".cuh .h .hh .hpp .hxx .h++ .inl .inc .ipp .tpp .tcc .txx".split())

# What only code for a GPU has: its keywords and functions start with two underscores, a launch has three angle
# brackets (some write them apart), and everything else says cuda somewhere, or hip: what CUDA is ported to is the same
# language still, and what a port puts for a name counts just if the name does (a test holds the tables to that). The
# mark of a port does not, nor a guard that it stands behind, nor what stands for PTX, which other C++ may have.
# Generous on purpose: C++ that is taken for CUDA is parsed by a grammar that knows more.
_GUARD = rb"__\)?(?: && !defined\(__HIP_PLATFORM_AMD__\))? /\* hipport|_PLATFORM_AMD__\) /\* hipport"
_CUDA_WORDS = tuple(_TABLE["cuda"]["words"].encode().split())
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
            rb"[<\"/](?:sm_\d\d_\w+|" + one_of(_TABLE["cuda"]["headers"]).encode() + rb")\.h",
        ),
    )
)
# What a Python file says that cares which GPU it runs on, or builds something for one.
_PYTHON = re.compile(
    "|".join(
        (
            one_of(_TABLE["python"]["parts"]),
            one_of(_TABLE["python"]["options"]),
            rf"\b{one_of(_TABLE['python']['words'])}\b",
            rf"[\"']{one_of(_TABLE['python']['quoted'])}[\"':]",
            # Packages that a program installs.
            r"cu1[0-3]\d\b|\bpip3?[\"', ]+install",
        )
    ).encode(),
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
#: Folders whose names begin with a point that have files to be read.
LOOKED_INTO = frozenset(folder for folder, _, _ in _HIDDEN)
# Of files that only install packages, those are read that install what has builds for GPUs.
_INSTALLING = (Toml, SetupCfg, ToxIni, CondaEnvironment, Lock, Dockerfile, Definition, Shell, Markdown)
_INSTALLS = re.compile(
    "|".join(
        (
            one_of(_TABLE["installs"]["parts"]),
            rf"\b{one_of(_TABLE['installs']['words'])}\b",
            r"\bcu1\d\d\b|install [^\r\n]*\./",
            # Options that scripts run with.
            r"(?<![\w-])--(?:gpus|gres|nv)\b|-lcu[a-z]",
        )
    ).encode(),
    re.IGNORECASE,
)
_RUNS = re.compile(rb"cuda|nvidia|nvcc|tensorrt|\bgpus?\b", re.IGNORECASE)
# What files of these names say that are meant; `.def` is also a list of a library's names on Windows.
_SAYS: dict[type[Source], re.Pattern[bytes]] = {
    CMakePresets: re.compile(rb"CMAKE_CUDA_"),
    Definition: re.compile(rb"^[ \t]*bootstrap[ \t]*:", re.IGNORECASE | re.MULTILINE),
    Manifest: re.compile(
        rb"nvidia\.com/|image:[ \t]*[\"']?(?:[\w.-]+/)?nvidia/cuda|gke-accelerator|runtimeClassName:[ \t]*[\"']?nvidia"
    ),
    OtherBuild: re.compile(rb"cuda|nvcc|\.cu\b|rocm|hip", re.IGNORECASE),
    ProgramSettings: MEANT,
}
# Files that are given by name may be in any language; in one of these nothing is C++.
_OTHER = frozenset(
    ".bat .cfg .cmake .conf .css .csv .diff .f90 .go .html .ini .ipynb .java .js .json .lock .md .mk .patch .proto .rs "
    ".rst .sh .sql .svg .tex .toml .ts .txt .xml .yaml .yml".split()
)


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


def _hidden(path: str) -> type[Source] | None:
    """Return the language of a file in a folder whose name begins with a point, if hipport reads it."""
    for folder, pattern, language in _HIDDEN:
        *_, below = f"/{path}".partition(f"/{folder}/")
        if below and pattern.fullmatch(below):
            return language
    return None


def is_read(path: str) -> bool:
    """Whether hipport reads a file of that name, wherever it lies."""
    *folders, name = path.split("/")
    if LOOKED_INTO & set(folders):
        return _hidden(path) is not None
    suffix = PurePosixPath(name).suffix.lower()
    # What is HIP by its name is what the program has beside CUDA's.
    if suffix in UNITS or suffix in HEADERS or suffix in (".py", ".hip"):
        return True
    return _LISTS.fullmatch(path) is not None or any(pattern.fullmatch(name) for pattern, _ in _NAMED)


def is_of_gpus(typed: Source, text: bytes, named: Callable[[bytes], bool] | None = None) -> bool:
    """Whether a file that nobody has named, in its language, says anything of GPUs, or of what has builds for them.

    `named` says whether a file that installs packages names some that passes know.
    """
    if isinstance(typed, Python):
        return _PYTHON.search(text) is not None
    if isinstance(typed, (Workflow, Compose, Devcontainer)) and not _RUNS.search(text):
        return False
    if type(typed) in _SAYS and not _SAYS[type(typed)].search(text):
        return False
    if not isinstance(typed, _INSTALLING) or _INSTALLS.search(text):
        return True
    return named is not None and named(text)

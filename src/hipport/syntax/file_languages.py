# SPDX-License-Identifier: Apache-2.0
"""The language of a file, by its name and text, and whether the file concerns GPUs."""

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
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Definition, Dockerfile, Markdown, Shell
from hipport.syntax.toml import Toml
from hipport.syntax.unread_builds import OtherBuild
from hipport.syntax.yaml import Compose, Manifest, Workflow

_TABLE = load(Path(__file__).with_suffix(".toml"))

#: Suffixes of C++ that is only included.
HEADERS = frozenset(".cuh .h .hh .hpp .hxx .h++ .inl .inc .ipp .tpp .tcc .txx".split())

# Text that only code for a GPU has. Its keywords and functions start with two underscores, and a launch has three angle
# brackets, some with blanks between. Everything else has "cuda" somewhere, or "hip", since HIP is the same language.
# The name that a port writes counts exactly if the name it replaces does (a test checks the tables). hipport's mark
# does not count, nor does the guard before it, nor code that replaces PTX or std::declval: other C++ may have these.
# The test is generous on purpose: C++ that counts as CUDA is parsed by a grammar that knows more.
_GUARD = rb"__\)?(?: && !defined\(__HIP_PLATFORM_AMD__\))? /\* hipport|_PLATFORM_AMD__\) /\* hipport"
_CUDA_WORDS = tuple(_TABLE["cuda"]["words"].encode().split())
# One pattern each, with the possible first letters in front: that makes the search ten times as fast.
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
            rb"hipport/(?!(?:ptx|unevaluated)\.h)",
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
# Text of Python that depends on the kind of GPU, or builds for one.
_PYTHON = re.compile(
    "|".join(
        (
            one_of(_TABLE["python"]["parts"]),
            one_of(_TABLE["python"]["options"]),
            rf"\b{one_of(_TABLE['python']['words'])}\b",
            rf"[\"']{one_of(_TABLE['python']['quoted'])}[\"':]",
            # Packages that a program installs
            r"cu1[0-3]\d\b|\bpip3?[\"', ]+install",
        )
    ).encode(),
    re.IGNORECASE,
)
_FILES: dict[str, str] = _TABLE["files"]


def _files(key: str) -> str:
    """Return a pattern for the names of a row of [files]."""
    return one_of(_FILES[key], ".+")


def _among_words(key: str, suffixes: str) -> str:
    """Return a pattern for these names with other words before and after them, and one of the suffixes."""
    return rf"(?:.*[-_.])?{_files(key)}(?:[-_.].*)?\.{_files(suffixes)}"


# Files other than Python and C++ are recognized by name.
_NAMED: tuple[tuple[re.Pattern[str], type[Source]], ...] = (
    (re.compile(_files("cmake")), CMake),
    (
        re.compile(
            rf"{_files('makefile')}(?:\..+)?|(?!{_files('makefiles_for_phones')}).+\.{_files('makefile_suffixes')}"
        ),
        Makefile,
    ),
    (re.compile(_files("notebook")), Notebook),
    (re.compile(rf"{_files('lock')}|(?:.*[-_.])?{_files('conda_lock')}\.{_files('yaml_suffixes')}"), Lock),
    (re.compile(_among_words("requirements", "requirements_suffixes")), Requirements),
    (re.compile(_files("toml")), Toml),
    (re.compile(_files("setup_cfg")), SetupCfg),
    (re.compile(_files("tox_ini")), ToxIni),
    (re.compile(rf"(?:.*[-_.])?{_files('dockerfile')}(?:[-_.].*)?|.+\.dockerfile", re.IGNORECASE), Dockerfile),
    (re.compile(_files("shell")), Shell),
    (re.compile(rf"{_files('markdown')}(?:[-_.].*)?\.{_files('markdown_suffixes')}", re.IGNORECASE), Markdown),
    (re.compile(_among_words("conda", "yaml_suffixes"), re.IGNORECASE), CondaEnvironment),
    (re.compile(_among_words("compose", "yaml_suffixes") + "|" + _files("cog"), re.IGNORECASE), Compose),
    (re.compile(rf"{_files('workflow')}|{_files('azure')}(?:[-_.].*)?\.{_files('yaml_suffixes')}"), Workflow),
    (re.compile(rf".+\.def|{_files('definition')}(?:[-_.].*)?"), Definition),
    (re.compile(_files("devcontainer")), Devcontainer),
    (re.compile(_files("presets")), CMakePresets),
    # Any other JSON, if it names number formats of GPUs.
    (re.compile(_files("json")), ProgramSettings),
    (re.compile(_files("other_build")), OtherBuild),
    # Any other YAML, if it asks a cluster for GPUs.
    (re.compile(r".+\.ya?ml"), Manifest),
)
# Hidden folders that are searched, and the files in them that are read.
_HIDDEN: tuple[tuple[str, re.Pattern[str], type[Source]], ...] = (
    (".github", re.compile(r"(?:workflows/[^/]+|actions/.+/action)\.ya?ml"), Workflow),
    (".circleci", re.compile(r"[^/]+\.ya?ml"), Workflow),
    (".buildkite", re.compile(r".+\.ya?ml"), Workflow),
    (".devcontainer", re.compile(r"(?:.+/)?[^/]*Dockerfile[^/]*"), Dockerfile),
    (".devcontainer", re.compile(r"(?:.+/)?(?:docker-)?compose[^/]*\.ya?ml"), Compose),
    (".devcontainer", re.compile(r"(?:[^/]+/)?devcontainer\.json"), Devcontainer),
)
# Lists of requirements that are recognized by their folder: requirements/gpu.txt.
_LISTS = re.compile(rf"(?:.*/)?{_files('requirements_folders')}/[^/]+\.{_files('requirements_suffixes')}")
#: Hidden folders that have files to be read.
LOOKED_INTO = frozenset(folder for folder, _, _ in _HIDDEN)
# Files that only install packages: read if they install a package that has builds for GPUs.
_INSTALLING = (Toml, SetupCfg, ToxIni, CondaEnvironment, Lock, Dockerfile, Definition, Shell, Markdown)
_INSTALLS = re.compile(
    "|".join(
        (
            one_of(_TABLE["installs"]["parts"]),
            rf"\b{one_of(_TABLE['installs']['words'])}\b",
            r"\bcu1\d\d\b|install [^\r\n]*\./",
            # Options of commands
            rf"(?<![\w-])--{one_of(_TABLE['installs']['long_options'])}\b|-lcu[a-z]",
        )
    ).encode(),
    re.IGNORECASE,
)
_RUNS = re.compile(rf"{one_of(_TABLE['installs']['runs'])}|\bgpus?\b".encode(), re.IGNORECASE)
# Contents that confirm a name; `.def`, for one, is also a list of a library's symbols on Windows.
_SAYS: dict[type[Source], re.Pattern[bytes]] = {
    CMakePresets: re.compile(rb"CMAKE_CUDA_"),
    Definition: re.compile(rb"^[ \t]*bootstrap[ \t]*:", re.IGNORECASE | re.MULTILINE),
    Manifest: re.compile(
        rb"nvidia\.com/|image:[ \t]*[\"']?(?:[\w.-]+/)?nvidia/cuda|gke-accelerator|runtimeClassName:[ \t]*[\"']?nvidia"
    ),
    OtherBuild: re.compile(rf"{one_of(_TABLE['installs']['builds'])}|\.cu\b".encode(), re.IGNORECASE),
    ProgramSettings: MEANT,
}
# A file that the user names may be in any language; a file in one of these contains no C++.
_OTHER = frozenset(
    ".bat .cfg .cmake .conf .css .csv .diff .f90 .go .html .ini .ipynb .java .js .json .lock .md .mk .patch .proto .rs "
    ".rst .sh .sql .svg .tex .toml .ts .txt .xml .yaml .yml".split()
)


def source(path: PurePath, text: bytes) -> Source:
    """Return a file in its language, by its name and text; a plain Source for one that hipport does not read."""
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
    """Return the language of a file in a hidden folder, if hipport reads it."""
    for folder, pattern, language in _HIDDEN:
        *_, below = f"/{path}".partition(f"/{folder}/")
        if below and pattern.fullmatch(below):
            return language
    return None


def is_read(path: str) -> bool:
    """Whether hipport reads a file of that name, in any folder."""
    *folders, name = path.split("/")
    if LOOKED_INTO & set(folders):
        return _hidden(path) is not None
    suffix = PurePosixPath(name).suffix.lower()
    # A file that is HIP by its name stands beside the CUDA version.
    if suffix in UNITS or suffix in HEADERS or suffix in (".py", ".hip"):
        return True
    return _LISTS.fullmatch(path) is not None or any(pattern.fullmatch(name) for pattern, _ in _NAMED)


def is_of_gpus(typed: Source, text: bytes, named: Callable[[bytes], bool] | None = None) -> bool:
    """Whether a file that was found, not named by the user, concerns GPUs or packages with builds for them.

    `named` says whether a file that installs packages names one that the passes know.
    """
    if isinstance(typed, Python):
        return _PYTHON.search(text) is not None
    text = text[typed.beginning :]
    if isinstance(typed, (Workflow, Compose, Devcontainer)) and not _RUNS.search(text):
        return False
    if type(typed) in _SAYS and not _SAYS[type(typed)].search(text):
        return False
    if not isinstance(typed, _INSTALLING) or _INSTALLS.search(text):
        return True
    return named is not None and named(text)

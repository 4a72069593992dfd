# SPDX-License-Identifier: Apache-2.0
"""Keep package managers from replacing builds for ROCm by builds for CUDA.

An installer installs the builds that a list names: `torch==2.1.0+cu118` replaces the installed PyTorch for ROCm by one
that sees no AMD GPU, and so does any other version. Versions that only another build can satisfy are removed, and the
package stays; packages that are for CUDA only become comments that name the replacement; indexes of CUDA builds become
PyTorch's for ROCm. Requirements files, constraints, pyproject.toml, pixi.toml, Pipfile, setup.py, setup.cfg, tox.ini,
conda environments, Dockerfiles, definition files of Singularity, shell scripts and the commands of notebooks are read;
commands in a README, and tasks in pyproject.toml, are reported. The recipes of packages are in requirements.toml;
`--rules` adds to them. `hipport deps` shows how the rest is installed.

A list for CUDA with a counterpart for ROCm beside it is somebody's own port: both stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from hipport.core.finding import Certainty, Finding
from hipport.core.group import Group
from hipport.core.source import Source
from hipport.core.tables import load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.notebook import Notebook
from hipport.syntax.packaging import CondaEnvironment, Requirements, SetupCfg, ToxIni
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Definition, Dockerfile, Markdown, Shell
from hipport.syntax.toml import Toml
from hipport_passes.packages.recipes import for_rocm

_WORDS: dict[str, str] = load(Path(__file__).with_name("package_words.toml"))["words"]
_PARTS = re.compile(
    rf"(?i)(?<![a-z])(?:{one_of(_WORDS['for_gpus'])}(?:\d+(?:[._]\d+)*)?|cu\d{{2,3}}|\d+(?:\.\d+)*)(?![a-z])"
)
# A list for the CPU, or for another kind of accelerator, is not for CUDA.
_FOR_OTHERS = re.compile(rf"(?i)(?<![a-z]){one_of(_WORDS['for_others'])}(?![a-z])")
_REQUIRES = re.compile(one_of(_WORDS["lists"]).encode())

Reader = Callable[[Any, Any], Iterable[Finding]]


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding per requirement, index, image or command that brings a build for CUDA."""
    reader = _reader(source)
    if reader is None or _is_ported(source, project):
        return
    from hipport_passes.packages.asking import Asking

    asking = Asking(project)
    yield from (replace(found, about=asking.about(found)) for found in reader(source, asking))


def _reader(source: Source) -> Reader | None:
    if isinstance(source, Python):
        if not _REQUIRES.search(source.text):
            return None
        from hipport_passes.packages.python_lists import in_python

        return in_python
    if isinstance(source, (Requirements, SetupCfg, ToxIni, CondaEnvironment)):
        from hipport_passes.packages import pip_lists

        if isinstance(source, ToxIni):
            return pip_lists.in_tox
        if isinstance(source, Requirements):
            return pip_lists.in_requirements
        return pip_lists.in_setup_cfg if isinstance(source, SetupCfg) else pip_lists.in_conda
    if isinstance(source, Notebook):
        return _in_notebook
    if isinstance(source, Toml):
        from hipport_passes.packages.toml_lists import in_toml

        return in_toml
    if isinstance(source, (Shell, Dockerfile, Definition, Markdown)):
        from hipport_passes.packages import commands

        if isinstance(source, Shell):
            return commands.in_shell
        if isinstance(source, Definition):
            return commands.in_definition
        return commands.in_dockerfile if isinstance(source, Dockerfile) else commands.in_markdown
    return None


def _in_notebook(source: Notebook, asking: Any) -> Iterator[Finding]:
    from hipport_passes.packages.commands import in_shell

    for finding in in_shell(source.commands.source, asking, _texts(source)):
        carried = source.commands.carried(finding)
        # A magic has no variables before it: `%pip` is one word.
        if any(not len(e.span) and source.text[e.span.start - 1 : e.span.start] == b"%" for e in carried.edits):
            message = f"{carried.message}; a magic takes no variables, so set them in a cell before it"
            carried = Finding(carried.span, carried.kind, message, (), Certainty.MANUAL)
        yield carried


def _texts(source: Notebook) -> dict[str, str]:
    """Return the values of a notebook's string variables, each as `name` and as `{name}`, for its shell commands."""
    if not re.search(rb"[${]\w", source.commands.source.text):
        return {}
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script

    found: dict[str, str] = {}
    for each in source.embedded:
        assert isinstance(each.source, Python)
        if each.source.module is None:
            continue
        script = each.source.fact(Script)
        for node in script.nodes:
            match node:
                case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=value):
                    # Cells may run in another order: any value for CUDA counts.
                    if text := script.text(value):
                        found[name] = found[f"{{{name}}}"] = f"{found[name]} {text}" if name in found else text
    return found


def _is_ported(source: Source, project: Project) -> bool:
    """Return whether a file's path is for ROCm, or for no GPU, or a file of the same name for ROCm exists."""
    if for_rocm(source.path.as_posix()) or _FOR_OTHERS.search(source.path.as_posix()):
        return True
    bare = _bare(source.path)
    for other in project.sources:
        if type(other) is not type(source) or not for_rocm(other.path.as_posix()):
            continue
        if _bare(other.path) == bare:
            # A list that reads ours and adds to it is not a counterpart; Dockerfiles do not read each other.
            return isinstance(source, Dockerfile) or source.path.name.encode() not in other.text
        for ours, theirs in zip(source.path.parts[:-1], other.path.parts[:-1], strict=False):
            if ours != theirs:
                if for_rocm(theirs) and _bare(PurePath(ours)) == _bare(PurePath(theirs)):
                    return True  # A folder for each.
                break
    return False


def _bare(path: PurePath) -> str:
    """Return a path without a vendor or version: `docker/rocm/Dockerfile` and `docker/Dockerfile` are equal."""
    return re.sub(r"[-_./]+", "/", _PARTS.sub("", path.as_posix())).strip("/")


PASS = Pass(Source, find, Group.PACKAGES)

# SPDX-License-Identifier: Apache-2.0
"""Report steps for CUDA in continuous integration: workflows of GitHub, GitLab and others, and cibuildwheel.

A job that installs CUDA's toolkit, starts from an image for CUDA or waits for a machine with NVIDIA's GPU does not
exclude ROCm, and a job for ROCm is added beside it rather than instead of it. So nothing is edited: a folder of
workflows is reported once, with the lines of the first workflow that has such steps. hipcc compiles without a GPU, so a
job on an ordinary machine can show that the port builds. A folder with a job for ROCm is somebody's own port. Settings
of cibuildwheel in pyproject.toml are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words, load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.toml import Toml
from hipport.syntax.yaml import Workflow, YamlEntry
from hipport_passes.build_files import shell_builds
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.commands import in_commands
from hipport_passes.packages.image_environment import for_cuda_image
from hipport_passes.packages.recipes import for_rocm

_TABLE = Path(__file__).with_suffix(".toml")
# Labels that select machines with NVIDIA's GPUs.
_WORDS = Words.read(_TABLE, general=NAMES)
_RUNNER = _WORDS.compile(r"(?i)(?<![a-z])(?:(?&runners)|[tahl]\d{1,3}s?|(?&numbered)\d*)(?![a-z])")
_MACHINE = frozenset(("runs-on", "tags", "queue", "resource_class", "pool"))
_GIVES_GPU = _WORDS.compile(r"(?&gives_gpus)[ =]|--runtime[ =](?&nvidia)|--device[ =](?&devices)")
_MATRIX = _WORDS.compile(r"(?i)(?&before_cuda)?cu(?:da)?(?:[-_]?(?&releases))?s?")
_RELEASE = re.compile(r"(?i)(?<![\w.])(?:cu)?1[0-3](?:\d|\.\d)(?:\.\d+)?(?![\w.])")
# A version of PyTorch alone does not show CUDA, because the job may run on a CPU.
_SAYS_CUDA = re.compile(rf"(?i)\bcu\d{{2,3}}|{one_of(_WORDS['says_cuda'])}".encode())
_WHEELS_FOR_CUDA = re.compile(rf"(?i)\bcu\d{{2,3}}\b|{one_of(_WORDS['wheels'])}")
_OTHER_SYSTEM = re.compile(rf"(?i)(?<![a-z]){one_of(_WORDS['other_systems'])}(?![a-z])")
_ROCM = _WORDS.compile(rb"(?&rocm)|(?<![a-z])(?&hip)(?![a-z])", re.IGNORECASE)


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding for the first file of a folder with steps for CUDA, with their lines."""
    if isinstance(source, Toml):
        yield from _wheels(source, project)
    elif isinstance(source, Workflow):
        yield from _jobs(source, project)


def _wheels(source: Toml, project: Project) -> Iterator[Finding]:
    """Yield the finding on cibuildwheel's settings, if some install or name CUDA and none ROCm."""
    entries = [each for each in source.entries if each.path[:2] == ("tool", "cibuildwheel")]
    if any(_ROCM.search(source[each.span]) for each in entries):
        return
    told = [each for each in entries if _WHEELS_FOR_CUDA.search(each.value)]
    if not told:
        return
    lines = list(dict.fromkeys(source.line_read(each.span.start) for each in told))
    archs = ";".join(project.target.archs)
    message = (
        f"cibuildwheel builds wheels for CUDA here (line{'s' if len(lines) > 1 else ''} "
        f"{', '.join(map(str, lines[:6]))}): wheels for ROCm need ROCm's packages in a manylinux image, "
        f"PYTORCH_ROCM_ARCH={archs}, and auditwheel told to leave ROCm's libraries out (--exclude libamdhip64.so.*)"
    )
    yield Finding(told[0].span, "wheels", message, (), Certainty.MANUAL)


def _jobs(source: Workflow, project: Project) -> Iterator[Finding]:
    told = project.fact(_told)
    here = sorted(path for path in told if path.parent == source.path.parent)
    if not here or here[0] != source.path:
        return
    parts = []
    for what, spans in told[source.path].items():
        lines = list(dict.fromkeys(source.line_read(span.start) for span in spans))
        parts.append(f"{what} (line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:6]))})")
    archs = ";".join(project.target.archs)
    image = Asking(project).recipes.image(project.target.rocm).name
    others = f"; so are {', '.join(path.name for path in here[1:])}" if here[1:] else ""
    message = (
        f"this is for CUDA: it {', '.join(parts)}{others}. Add a job for ROCm that starts from {image}, with "
        f"PYTORCH_ROCM_ARCH={archs}; to compile, it needs no GPU"
    )
    first = min(span for spans in told[source.path].values() for span in spans)
    yield Finding(first, "cuda", message, (), Certainty.MANUAL, about=shell_builds.INTEGRATION)


def _told(project: Project) -> Mapping[PurePath, Mapping[str, list[Span]]]:
    """Return CUDA's steps in workflows, with their places, for folders without a job for ROCm."""
    workflows = [each for each in project.sources if isinstance(each, Workflow)]
    ported = {each.path.parent for each in workflows if _ROCM.search(each.text) or for_rocm(each.path.as_posix())}
    found: dict[PurePath, dict[str, list[Span]]] = {}
    for each in workflows:
        if each.path.parent in ported or _OTHER_SYSTEM.search(each.path.name):
            continue
        for what, span in sorted(_all(each, project), key=lambda said: said[1].start):
            found.setdefault(each.path, {}).setdefault(what, []).append(span)
    return found


def _all(source: Workflow, project: Project) -> Iterator[tuple[str, Span]]:
    for each in source.entries:
        said = _of_entry(source, each)
        if said:
            yield said, each.value if len(each.value) else each.span
    table = load(_TABLE)["command"]
    commands = source.commands
    for finding in (
        *in_commands(source, commands, Asking(project)),
        *shell_builds.in_commands(source, commands, project),
    ):
        if finding.kind in table and _SAYS_CUDA.search(source[finding.span]):
            yield table[finding.kind], finding.span


def _of_entry(source: Workflow, each: YamlEntry) -> str:
    value = source[each.value].decode("utf-8", "replace")
    if each.key == "uses":
        said = load(_TABLE)["action"].get(value.partition("@")[0])
        return said if isinstance(said, str) else ""
    if each.key in ("image", "container") or (not each.key and each.keys[-1:] == ("docker",)):
        return "starts from an image for CUDA" if for_cuda_image(value) else ""
    if {each.key, *each.keys[-1:]} & _MACHINE:
        return "waits for a machine with an NVIDIA GPU" if _RUNNER.search(value) else ""
    if each.key.startswith("CIBW_"):
        return "builds wheels for CUDA" if _WHEELS_FOR_CUDA.search(value) else ""
    if each.key == "options" and _GIVES_GPU.search(value):
        return "gives a container NVIDIA's GPUs"
    if "matrix" in each.keys and (_MATRIX.fullmatch(each.key) or (not each.key and _MATRIX.fullmatch(each.keys[-1]))):
        return "builds for releases of CUDA" if _RELEASE.search(value) else ""
    return ""


PASS = Pass(Source, find)

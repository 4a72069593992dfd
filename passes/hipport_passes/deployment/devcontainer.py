# SPDX-License-Identifier: Apache-2.0
"""Give the container in which an editor works AMD's GPUs: devcontainer.json.

`--gpus` and NVIDIA's runtime among `runArgs` become AMD's devices and their group, which is REVIEW, because the
container gets all GPUs. An image for CUDA, or a build argument that names one, becomes one for ROCm. With
`hostRequirements.gpu` the tools themselves pass `--gpus all` if they find NVIDIA's runtime (containers.dev, "Dev
Container metadata reference"), and features that install CUDA have no counterpart: both are reported. Commands that
install packages are ported as in a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.json import Devcontainer, JsonEntry
from hipport.syntax.shell import Word, commands_in
from hipport_passes.packages.asking import Asking, knows_rocm, unless_both
from hipport_passes.packages.commands import in_commands
from hipport_passes.packages.image_environment import image

_WORDS = Words.read(Path(__file__).with_name("deployment_words.toml"))
_GIVEN = b'"--device=/dev/kfd", "--device=/dev/dri", "--group-add=video"'
_OWN = re.compile(re.escape(_GIVEN).replace(rb",\ ", rb",\s*"))
_FEATURE = _WORDS.compile(r".*/(?&features)(?::.*)?")


def find(source: Devcontainer, project: Project) -> Iterator[Finding]:
    """Yield a finding per argument for NVIDIA's GPUs, image, feature and command for CUDA."""
    found = list(_find(source, project))
    # The file may be for both vendors.
    both = b"/dev/kfd" in source.text and knows_rocm(source, _OWN, Asking(project))
    yield from unless_both(found) if both else found


def _find(source: Devcontainer, project: Project) -> Iterator[Finding]:
    asking = Asking(project)
    yield from _arguments(source, [each for each in source.entries if each.path[:1] == ("runArgs",)])
    for each in source.entries:
        if each.path == ("image",) or each.path[:2] == ("build", "args"):
            yield from _image(source, each, asking)
        elif each.path == ("hostRequirements", "gpu") and source[each.span] != b"false":
            message = (
                "this makes the tools give the container NVIDIA's GPUs: for AMD's, put --device=/dev/kfd, "
                "--device=/dev/dri and --group-add=video into runArgs"
            )
            yield Finding(each.key, "host_requirements", message, (), Certainty.MANUAL)
        elif each.path[:1] == ("features",) and len(each.path) == 2 and _FEATURE.fullmatch(str(each.path[1])):
            message = "this installs CUDA's toolkit, which is not needed on ROCm, and nvcc on the path misleads hipcc"
            yield Finding(each.key, "feature", message, (), Certainty.MANUAL)
        elif str(each.path[0]).endswith("Command") and source.is_plain(each):
            script = Span(each.span.start + 1, each.span.end - 1)
            commands = [replace(command, quotes='"' + command.quotes) for command in commands_in(source.text, script)]
            yield from in_commands(source, commands, asking)


def _arguments(source: Devcontainer, given: Sequence[JsonEntry]) -> Iterator[Finding]:
    """Yield the arguments of `docker run` that give NVIDIA's GPUs: a pair, or one with its value."""
    asked: list[Span] = []
    for at, each in enumerate(given):
        value = each.value or ""
        following = given[at + 1] if at + 1 < len(given) else None
        if value in ("--gpus", "--runtime") and following is not None:
            if value == "--gpus" or following.value == "nvidia":
                asked.append(Span(each.span.start, following.span.end))
        elif value.startswith(("--gpus=", "--device=nvidia.com/gpu")) or value == "--runtime=nvidia":
            asked.append(each.span)
    if not asked:
        return
    message = (
        "the container gets NVIDIA's GPUs: AMD's are the devices /dev/kfd and /dev/dri, and belong to the group video"
    )
    # Removed arguments take the comma after them along, except the first.
    edits = [Edit(asked[0], _GIVEN)]
    for span in asked[1:]:
        comma = source.text.rfind(b",", 0, span.start)
        edits.append(Edit(Span(comma, span.end), b""))
    if any(source.text[edit.span.start : edit.span.end].count(b"//") for edit in edits):
        yield Finding(asked[0], "gpus", f"{message}: put them there", (), Certainty.MANUAL)
        return
    message += "; assumes that the container may have all GPUs; HIP_VISIBLE_DEVICES selects some"
    yield Finding(asked[0], "gpus", message, tuple(edits), Certainty.REVIEW)


def _image(source: Devcontainer, each: JsonEntry, asking: Asking) -> Iterator[Finding]:
    if each.value and source.is_plain(each):
        word = Word(each.value, each.span, '"')
        yield from image(word, each.value, word.start, asking)


PASS = Pass(Devcontainer, find)

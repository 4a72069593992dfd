# SPDX-License-Identifier: Apache-2.0
"""Give containers in compose files AMD's GPUs instead of NVIDIA's, and images for ROCm.

AMD's GPUs need no runtime of their own: a container gets them as the devices /dev/kfd and /dev/dri, and its user the
group of those. `runtime: nvidia`, `gpus: all` and a reservation of devices with NVIDIA's driver become that. It is
REVIEW, because the container gets all GPUs; HIP_VISIBLE_DEVICES selects the ones to use. A service that already has
devices or groups is left to a person. NVIDIA_VISIBLE_DEVICES and the like have no effect on AMD and stay. Cog
(cog.yaml) builds images for NVIDIA's GPUs only, which is reported.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.shell import Word
from hipport.syntax.yaml import Compose, YamlEntry
from hipport_passes.packages.asking import Asking, knows_rocm, unless_both
from hipport_passes.packages.image_environment import image

# A comment on its own line or after other text; not in a string.
_REMARK = re.compile(rb"^[^\"'\r\n#]*(?:(?<=[ \t])|(?<=^))(#[^\r\n]*)", re.MULTILINE)
_WORDS = Words.read(Path(__file__).with_name("deployment_words.toml"))
_DEVICES = (b"devices:", b"  - /dev/kfd", b"  - /dev/dri", b"group_add:", b"  - video")
_OWN = re.compile(rb"\r?\n[ \t]*".join(re.escape(line.strip()) for line in _DEVICES))
_NVIDIA = _WORDS.compile(rb"\b(?&gpus)\b")
_ARGUMENT = re.compile(r"(?P<name>\w+)=(?P<value>.+)")


def find(source: Compose, project: Project) -> Iterator[Finding]:
    """Yield a finding per service that gets NVIDIA's GPUs, and per image for CUDA."""
    if source.path.name.startswith("cog."):
        yield from _cog(source)
        return
    found = [*_gpus(source)]
    gone = [edit.span for each in found for edit in each.edits]
    # Findings in removed text (which no valid compose file has) are dropped.
    found += (
        each for each in _images(source, project) if not any(span.start <= each.span.start < span.end for span in gone)
    )
    # The file may have a service for each vendor.
    both = b"/dev/kfd" in source.text and knows_rocm(source, _OWN, Asking(project))
    yield from unless_both(found) if both else found


def _cog(source: Compose) -> Iterator[Finding]:
    for each in source.entries:
        if each.keys == ("build",) and each.key == "gpu" and source[each.value] in (b"true", b"yes", b"on"):
            message = (
                "Cog builds images for NVIDIA's GPUs only: write a Dockerfile that starts from AMD's image; "
                "`hipport deps` says what it has to install"
            )
            yield Finding(each.span, "cog", message, (), Certainty.MANUAL)


def _gpus(source: Compose) -> Iterator[Finding]:
    """Yield the entries that give a service NVIDIA's GPUs, once for each service."""
    services: dict[tuple[str, ...], list[YamlEntry]] = {}
    for each in source.entries:
        services.setdefault(each.keys, []).append(each)
    gone: list[Span] = []
    for keys, entries in services.items():
        asked = [each for each in entries if _asks(source, each, services)]
        # Entries in removed text (which no valid compose file has) are dropped.
        if asked and not any(span.start < asked[0].span.start < span.end for span in gone):
            said = _service(source, keys, entries, asked, services)
            gone += [edit.span for edit in said.edits]
            yield said


def _asks(source: Compose, each: YamlEntry, services: dict[tuple[str, ...], list[YamlEntry]]) -> bool:
    value = source[each.value]
    if value and each.key in ("runtime", "gpus") and _inside(source, each):
        return False  # Not YAML.
    if each.key == "runtime":
        return value == b"nvidia"
    if each.key == "gpus":
        return value == b"all" or not value
    return each.key == "deploy" and _reservation(source, each) is not None


def _inside(source: Compose, outer: YamlEntry) -> list[YamlEntry]:
    starts = source.fact(_starts)
    return list(source.entries[bisect_right(starts, outer.span.start) : bisect_left(starts, outer.span.end)])


def _starts(source: Compose) -> list[int]:
    """Return where the entries start, which come in their order."""
    return [each.span.start for each in source.entries]


def _reservation(source: Compose, deploy: YamlEntry) -> YamlEntry | None:
    """Return the list of reserved devices with NVIDIA's driver in a service."""
    below = (*deploy.keys, "deploy", "resources", "reservations")
    for each in _inside(source, deploy):
        if each.key == "devices" and each.keys == below and _NVIDIA.search(source[each.span]):
            return each
    return None


def _service(
    source: Compose,
    keys: tuple[str, ...],
    entries: Sequence[YamlEntry],
    asked: Sequence[YamlEntry],
    services: dict[tuple[str, ...], list[YamlEntry]],
) -> Finding:
    first = asked[0]
    name = keys[-1] if keys else source.path.name
    message = f"{name} gets NVIDIA's GPUs: AMD's are the devices /dev/kfd and /dev/dri, and belong to the group video"
    others = [each.key for each in entries if each.key in ("devices", "group_add", "<<")]
    flow = any(source[each.value].startswith((b"{", b"*", b"&")) for each in asked)
    if others or flow or first.line + first.indent != first.span.start:
        return Finding(first.span, "gpus", f"{message}: add them to its devices and groups", (), Certainty.MANUAL)
    indent = source.text[first.line : first.span.start]
    edits = [Edit(Span(first.line, first.line), b"".join(indent + line + source.newline for line in _DEVICES))]
    for each in asked:
        gone: YamlEntry | None = each
        if each.key == "deploy":
            gone = _reservation(source, each)
            # Parents without other entries are removed with it.
            for name in ("reservations", "resources", "deploy"):
                assert gone is not None
                before = range(bisect_left(source.fact(_starts), gone.span.start) - 1, -1, -1)
                outer = next(
                    other
                    for other in (source.entries[i] for i in before)
                    if other.key == name and other.keys == gone.keys[:-1]
                )
                if sum(other.keys == gone.keys for other in _inside(source, outer)) > 1:
                    break
                gone = outer
        assert gone is not None
        # The text of a block includes its last line.
        end = source.text.find(b"\n", gone.span.end - 1)
        lines = Span(gone.line, len(source.text) if end < 0 else end + 1)
        edits.append(Edit(lines, b"".join(indent + each + source.newline for each in _REMARK.findall(source[lines]))))
    message += "; assumes that the service may have all GPUs; HIP_VISIBLE_DEVICES selects some"
    return Finding(first.span, "gpus", message, _joined(edits), Certainty.REVIEW)


def _joined(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Join an insertion with the removal of lines at the same place."""
    inserted, *gone = edits
    first, *rest = sorted(gone, key=lambda edit: edit.span.start)
    if first.span.start == inserted.span.start:
        return (Edit(first.span, inserted.new + first.new), *rest)
    return (inserted, first, *rest)


def _images(source: Compose, project: Project) -> Iterator[Finding]:
    """Yield the images that services start from, and those that are build arguments of Dockerfiles."""
    asking = Asking(project)
    for each in source.entries:
        value = source[each.value].decode("utf-8", "replace")
        start = each.value.start
        if "args" in each.keys[-2:]:
            match = _ARGUMENT.fullmatch(value)
            if match:
                start += len(value[: match.start("value")].encode())
                value = match["value"]
        elif each.key != "image":
            continue
        yield from image(Word(value, Span(start, start + len(value.encode()))), value, start, asking)


PASS = Pass(Compose, find)

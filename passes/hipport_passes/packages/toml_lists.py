# SPDX-License-Identifier: Apache-2.0
"""Requirements and indexes in pyproject.toml and pixi.toml."""

from __future__ import annotations

import pathlib
import re
from collections import defaultdict
from collections.abc import Iterator

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport.syntax.tasks import tasks
from hipport.syntax.toml import Path, Toml, TomlEntry
from hipport_passes.packages.asking import Asking, finding, note, part, says_cuda_index, unless_both
from hipport_passes.packages.commands import BRINGS, in_commands
from hipport_passes.packages.judge import Verdict, asked, on_linux
from hipport_passes.packages.lists import commented, without
from hipport_passes.packages.recipes import Family, for_rocm, normalised

_WORDS = Words.read(pathlib.Path(__file__).with_suffix(".toml"), general=NAMES)


def _at(where: str, rest: str = "") -> re.Pattern[str]:
    """Return a pattern for places of a document, and the text after them; `*` is any key, `#` an item."""
    return re.compile(one_of(_WORDS[where], "[^/]+").replace(r"\#", r"\d+") + rest)


LISTS = _at("lists")
POETRY = _at("poetry", r"/(?P<name>[^/]+)(?:/\d+)?(?:/(?P<what>version|url|git|source))?")
# Pipenv's tables, in a separate file.
_PIPENV = _at("pipenv", "/(?P<name>[^/]+)(?:/(?P<what>version|file|git))?")
_IN_PIXI = _WORDS.composed("(?&pixi)?(?:(?&features)[^/]+/)?")
_PIXI = _WORDS.compile(
    _IN_PIXI + "(?:(?&platforms)[^/]+/)?(?P<pypi>(?&pypi))?(?&dependencies)(?P<name>[^/]+)(?:/(?P<what>(?&details)))?"
)
# pixi's requirement for a machine: NVIDIA's driver.
_NEEDS_CUDA = _WORDS.compile(_IN_PIXI + "(?&needed_of_system)(?:/(?&release))?")
_CHANNEL = _at("channels")
_URLS = _at("urls")
_OF_NVIDIA = _WORDS.compile(r"(?&nvidia)(?:/.*)?")
_FOR_CPU = _WORDS.compile(r"(?i)(?<![a-z])(?&for_cpu)(?![a-z])")
_LINE_END = re.compile(rb"[^\r\n]*")


def in_toml(source: Toml, asking: Asking) -> Iterator[Finding]:
    """Yield the findings on a TOML file."""
    if source.document is None:
        return
    # A file with both, for example extras with an index each, is somebody's port.
    knows_rocm = any(
        _URLS.fullmatch(joined(entry.path)) and for_rocm(entry.value) and entry.value not in asking.ours
        for entry in source.entries
    )
    found = _in_toml(source, asking)
    yield from unless_both(found) if knows_rocm else found


def _in_toml(source: Toml, asking: Asking) -> Iterator[Finding]:
    assert source.document is not None
    is_pixi = source.path.name == "pixi.toml" or "pixi" in source.document.get("tool", {})
    lists: dict[Path, list[TomlEntry]] = defaultdict(list)
    lines: dict[tuple[int, Path], Finding] = {}
    for entry in source.entries:
        where = joined(entry.path)
        if LISTS.fullmatch(where):
            lists[entry.path[:-1]].append(entry)
        elif _URLS.fullmatch(where):
            yield from _url(source, entry, asking)
        elif poetry := (_PIPENV if source.path.name == "Pipfile" else POETRY).fullmatch(where):
            # Poetry allows several entries for one package, each with a version, an address or a source.
            for each in _poetry(source, entry, poetry, asking) if _on_linux(source, entry) else ():
                lines.setdefault((entry.key, entry.path[:-1] if poetry["what"] else entry.path), each)
        elif is_pixi and _CHANNEL.fullmatch(where) and _OF_NVIDIA.fullmatch(entry.value):
            message = f"the channel {entry.value} has builds for CUDA: conda has no build of PyTorch for ROCm"
            yield Finding(entry.span, "channel", message, (), Certainty.MANUAL)
        elif is_pixi and _NEEDS_CUDA.fullmatch(where):
            message = "requires NVIDIA's driver, without which pixi installs nothing: leave it out for ROCm"
            yield Finding(entry.span, "driver", message, (), Certainty.MANUAL)
        elif is_pixi and (pixi := _PIXI.fullmatch(where)):
            for each in _pixi(source, entry, pixi, asking):
                lines.setdefault((entry.key, ()), each)
    yield from lines.values()
    for task, script in tasks(source):
        for each in in_commands(script, script.commands, asking):
            if each.kind in BRINGS:
                message = f"{each.message}. It stands in a task: change it by hand"
                yield Finding(task.span, each.kind, message, (), Certainty.MANUAL)
    for path, entries in lists.items():
        # An extra, or a group, whose name says that it is for CPUs is for no GPU.
        if not any(isinstance(key, str) and _FOR_CPU.search(key) for key in path[1:]):
            yield from _list(source, path, entries, asking)


def _on_linux(source: Toml, entry: TomlEntry) -> bool:
    """Return whether a Poetry entry is for Linux too, judged by its other keys."""
    beside: object = source.document
    for key in entry.path[:-1]:
        beside = beside[key]  # type: ignore[index]
    if not isinstance(beside, dict) or entry.path[-1] not in ("version", "url", "git", "source"):
        return True
    platform = beside.get("platform")
    return (platform is None or platform == "linux") and on_linux(str(beside.get("markers", "")))


def joined(path: Path) -> str:
    return "/".join(str(key).replace("/", "%") for key in path)


def _list(source: Toml, path: Path, entries: list[TomlEntry], asking: Asking) -> Iterator[Finding]:
    going: dict[int, Verdict] = {}
    for number, entry in enumerate(entries):
        verdict = asking.judge(entry.value)
        if path[:1] == ("build-system",) and normalised(entry.value.split("[")[0]).startswith("torch"):
            isolated = _isolated(entry, asking)
            if isolated is not None:
                yield isolated
                continue
        if verdict is None:
            continue
        if verdict.what == "out":
            going[number] = verdict
        elif verdict.what == "edit" and source.is_plain(entry):
            edit = part(verdict, entry.value, entry.span.start + 1)
            yield finding(entry.span, verdict, (edit,))
        else:
            yield _by_hand(entry, verdict)
    whole = source.document
    for key in path:
        whole = whole[key]  # type: ignore[index]
    edits = without(source.text, [entry.span for entry in entries], {n: note(v) for n, v in going.items()})
    for number, verdict in going.items():
        if len(edits[number]) == 1 and len(whole or ()) != len(entries):
            yield _by_hand(entries[number], verdict)
        else:
            yield finding(entries[number].span, verdict, edits[number])


def _isolated(entry: TomlEntry, asking: Asking) -> Finding | None:
    each = asked(entry.value)
    family = asking.recipes.distribution(each.name) if each is not None else None
    if each is None or family is None or family.action != "keep" or not on_linux(each.marker):
        return None
    message = (
        f"to build this, pip makes an environment with {each.name}{each.version}, a build for CUDA: install with "
        "`pip install --no-build-isolation`, which uses the installed PyTorch (`hipport deps` does)"
    )
    return Finding(entry.span, "build_requires", message, (), Certainty.MANUAL)


def _by_hand(entry: TomlEntry, verdict: Verdict) -> Finding:
    again = "" if verdict.what == "manual" else "; hipport cannot edit it in this form; change it by hand"
    return Finding(entry.span, verdict.kind, verdict.message + again, (), Certainty.MANUAL)


def _url(source: Toml, entry: TomlEntry, asking: Asking) -> Iterator[Finding]:
    if not says_cuda_index(entry.value):
        return
    ours = asking.index_for_rocm(entry.value)
    if ours is None or not source.is_plain(entry):
        message = f"{entry.value} has builds for CUDA; take the packages from elsewhere: `hipport deps` says where"
        yield Finding(entry.span, "index", message, (), Certainty.MANUAL)
        return
    message = (
        f"{entry.value} has builds for CUDA; PyTorch's for ROCm are at {ours}; assumes that the program runs with "
        "one of those"
    )
    yield Finding(
        entry.span, "index", message, (Edit(entry.inside(0, len(entry.value)), ours.encode()),), Certainty.REVIEW
    )


def _poetry(source: Toml, entry: TomlEntry, match: re.Match[str], asking: Asking) -> Iterator[Finding]:
    family = asking.recipes.distribution(match["name"])
    if match["what"] in ("url", "git", "file"):
        family = family or asking.recipes.repository(entry.value)
    elif match["what"] == "source":
        return
    if family is None or for_rocm(entry.value):
        return
    if family.action == "keep" and match["what"] not in ("url", "git", "file"):
        # A caret allows all versions that are compatible by number.
        if re.fullmatch(r"\*|\^.*|>=?[^,<~=]*", entry.value):
            return
        verdict = asking.judge(match["name"] + as_pip(entry.value))
        if verdict is not None and source.is_plain(entry):
            edit = Edit(entry.inside(0, len(entry.value)), b"*")
            yield Finding(entry.span, verdict.kind, verdict.message, (edit,), Certainty.REVIEW)
    elif (verdict := asking.judge(match["name"])) is not None and verdict.kind == "imported":
        yield _by_hand(entry, verdict)
    elif family.action in ("keep", "remove", "separate"):
        yield _key_out(source, entry, family, f"{match['name']}: {family.why}")
    elif family.action == "manual":
        yield Finding(entry.span, "no_rocm", f"{match['name']}: {family.why}", (), Certainty.MANUAL)
    elif family.action == "least" and match["what"] in (None, "version") and source.is_plain(entry):
        verdict = asking.judge(match["name"] + as_pip(entry.value))
        if verdict is not None and verdict.what == "edit":
            edit = Edit(entry.inside(0, len(entry.value)), verdict.new.encode())
            yield Finding(entry.span, verdict.kind, verdict.message, (edit,), Certainty.REVIEW)


def as_pip(version: str) -> str:
    """Return a Poetry version in pip's form; a caret and a tilde as the ranges that they allow."""
    if re.match(r"[\d]", version):
        return f"=={version}"
    if version.startswith("^0."):
        return "~=" + ".".join((version[1:] + ".0").split(".")[:3])
    if re.match(r"~\d", version):
        return "~=" + ".".join((version[1:] + ".0").split(".")[:3])
    return re.sub(r"^\^", ">=", version) if version != "*" else ""


def _key_out(source: Toml, entry: TomlEntry, family: Family, message: str) -> Finding:
    """Remove `name = …` if it is alone on its line."""
    start = source.line_start(entry.key)
    end = _LINE_END.match(source.text, entry.span.end)
    assert end is not None
    inside = source.text[entry.key : entry.span.start]
    alone = not source.text[start : entry.key].strip() and b"\n" not in inside and b"\n" not in source[entry.span]
    if alone and re.fullmatch(rb"[^#{}\[]*(?:\{[^{}]*\})?[ \t]*(?:#.*)?", source.text[entry.key : end.end()]):
        kind = "cuda_only" if family.action == "remove" else "separate"
        said = f"{message}; assumes that it is installed as `hipport deps` says, or not needed"
        line = Span(entry.key, end.end())
        return Finding(entry.span, kind, said, commented(line, family.note or family.why), Certainty.REVIEW)
    by_hand = "hipport cannot edit it in this form; change it by hand"
    return Finding(entry.span, "separate", f"{message}; {by_hand}", (), Certainty.MANUAL)


def _pixi(source: Toml, entry: TomlEntry, match: re.Match[str], asking: Asking) -> Iterator[Finding]:
    if match["pypi"]:
        if match["what"] in (None, "version"):
            verdict = asking.judge(match["name"] + as_pip(entry.value))
            if verdict is not None:
                yield _by_hand(entry, verdict)
        return
    family = asking.recipes.conda(match["name"])
    if family is not None and family.action in ("keep", "remove", "separate"):
        why = "conda has no build of PyTorch for ROCm; install it with pip, as `hipport deps` says"
        said = why if family.action == "keep" else family.why
        yield Finding(entry.span, "conda", f"{match['name']}: {said}", (), Certainty.MANUAL)

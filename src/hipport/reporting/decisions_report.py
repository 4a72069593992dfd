# SPDX-License-Identifier: Apache-2.0
"""Lines for people about the findings that are left to them: by group, the worst first, each decision once."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from hipport.core.finding import Certainty
from hipport.core.group import Group
from hipport.core.terminal import escaped
from hipport.engine.outcomes import Outcome
from hipport.reporting.grouped_findings import SHOWN, Decision

_BY_HAND = "make the manual changes by hand"
#: The title of a group, and what to do about its findings; `{}` stands for the work that there is.
_GROUPS = {
    Group.KERNELS: (
        "kernels and C++",
        "{}. `hipport explain RULE` says why, and `hipport verify` shows whether results differ",
    ),
    Group.BUILD: ("build files", "{}, then compile: `hipport build`"),
    Group.PYTHON: ("Python", "change the code that needs NVIDIA's software by hand, then run the tests on an AMD GPU"),
    Group.PACKAGES: ("packages and images", "look up the replacements and how to install them: `hipport deps`"),
    Group.DOCUMENTS: ("documents and tutorials", "tell users of ROCm what to install; `--all` lists the places"),
}
_PLACES = 4
_FILES = 4


def listed(
    decisions: Sequence[Decision], paint: Callable[[str, str], str], width: int | None, *, whole: bool
) -> list[str]:
    """Return the lines for `decisions`, wrapped to `width`; with `whole`, all places, and those in documents."""
    lines: list[str] = []
    for group, grouped in groupby(decisions, key=lambda decision: decision.group):
        title, next_ = _GROUPS[group]
        lines.append(paint("path", title))
        found = list(grouped)
        lines += (paint("dim", line) for line in wrapped(f"next: {next_.format(_work(found))}", width, "  "))
        if group is Group.DOCUMENTS and not whole:
            lines += wrapped(_collapsed(found), width, "  ")
        else:
            for decision in found:
                lines += _decision(decision, paint, width, whole)
        lines.append("")
    return lines


def table(decisions: Sequence[Decision], paint: Callable[[str, str], str]) -> list[str]:
    """Return a table that counts the rest: MANUAL decisions, decisions to review, and their places."""
    if not decisions:
        return []
    rows = [("left to a person", "manual", "review", "places")]
    groups: dict[Group, list[Decision]] = {}
    for decision in decisions:
        groups.setdefault(decision.group, []).append(decision)
    for group, found in groups.items():
        rows.append((f"  {_GROUPS[group][0]}", *_counted(found)))
    if len(groups) > 1:
        rows.append(("  all", *_counted(decisions)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(size) for cell, size in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    ]
    return [paint("path", lines[0]), *lines[1:], ""]


def _work(decisions: Sequence[Decision]) -> str:
    """Say what there is to do."""
    manual = sum(map(_manual, decisions))
    if not manual:
        return "check what each review assumes"
    return _BY_HAND if manual == len(decisions) else f"{_BY_HAND}; then check what each review assumes"


def _counted(decisions: Sequence[Decision]) -> tuple[str, str, str]:
    manual = sum(_manual(decision) for decision in decisions)
    places = sum(len(_lines(decision)) for decision in decisions)
    return str(manual), str(len(decisions) - manual), str(places)


def _manual(decision: Decision) -> bool:
    """Whether nothing was changed because a person has to act."""
    return decision.certainty is Certainty.MANUAL or decision.outcome is Outcome.DROPPED


def _lines(decision: Decision) -> dict[tuple[str, int], None]:
    """The lines of its places; two findings on one line are one place."""
    return dict.fromkeys((each.path.as_posix(), each.line) for each in decision.places)


def _decision(decision: Decision, paint: Callable[[str, str], str], width: int | None, whole: bool) -> Iterator[str]:
    certainty = str(decision.certainty)
    rules = f"  [{', '.join(decision.rules)}]"
    first, *more = wrapped(decision.message + rules, width, " " * 10, begin=f"  {certainty:<8}")
    yield first.replace(certainty, paint(certainty, certainty), 1)
    yield from more
    if decision.reason:
        yield from (paint("dim", line) for line in wrapped(f"{decision.outcome}: {decision.reason}", width, " " * 10))
    if decision.subjects:
        subjects = decision.subjects if whole else decision.subjects[:SHOWN]
        rest = len(decision.subjects) - len(subjects)
        text = ", ".join(subjects) + (f" and {rest} more" if rest else "")
        yield from wrapped(text, width, " " * 10)
    yield from (paint("dim", line) for line in wrapped(_where(decision, whole), width, " " * 10))


def _where(decision: Decision, whole: bool) -> str:
    files: dict[str, list[int]] = {}
    for path, line in _lines(decision):
        files.setdefault(path, []).append(line)
    texts = []
    for path, lines in files.items() if whole else list(files.items())[:_FILES]:
        shown = lines if whole else lines[:_PLACES]
        rest = len(lines) - len(shown)
        texts.append(f"{path}:{','.join(map(str, shown))}" + (f" and {rest} more" if rest else ""))
    rest = len(files) - len(texts)
    return "; ".join(texts) + (f"; and {rest} more {'file' if rest == 1 else 'files'}" if rest else "")


def _collapsed(decisions: Sequence[Decision]) -> str:
    """One line that summarizes findings in documents."""
    files = Counter(path for decision in decisions for path, _ in _lines(decision))
    shown = ", ".join(f"{path} ({count})" for path, count in files.most_common(_FILES))
    rest = len(files) - _FILES
    return shown + (f" and {rest} more {'file' if rest == 1 else 'files'}" if rest > 0 else "")


def wrapped(text: str, width: int | None, indent: str = "", begin: str | None = None) -> list[str]:
    """Return a text in lines of at most `width`, or in one; the first begins with `begin`, the others with `indent`."""
    begin = indent if begin is None else begin
    # A character that is shown escaped is longer.
    text = escaped(text)
    if width is None:
        return [begin + text]
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=begin,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )

# SPDX-License-Identifier: Apache-2.0
"""Group the findings that are left to a person: each decision once, with all its places.

A message is about one place: `SUBJECT: STATEMENT`, or `WHAT WAS DONE; assumes STATEMENT`. A CUDA function that ROCm
lacks may be called at a hundred places, and a library that it lacks has a hundred functions, but this has to be known
only once. So findings of the same certainty and outcome need one decision if their messages differ only in the subject,
in line numbers, or in how the assumption arises; the decision belongs to the worst of their groups. Messages that are
whole sentences about their place, or quote its code, are not grouped. A package that is imported in one file and listed
in another needs one decision, too: findings with the same `about` are one decision, with all their messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from hipport.core.finding import Certainty
from hipport.core.group import Group
from hipport.core.proof import without_reason
from hipport.engine.outcomes import Outcome, Reported

#: The maximum number of subjects to name for a decision.
SHOWN = 5
# The maximum words of a subject, as in `__CUDA_ARCH__ is not defined on AMD and counts as 0 here: …`
_WORDS = 10
_COLON = re.compile(r": |[()]")
# Quoted code that is more than a name: of one place.
_CODE = re.compile(r"`[^`]*[^\w`.:/+-][^`]*`")
_ASIDE = re.compile(r"\([^()]*\)")
_ASSUMES = re.compile(r"[;,] (?=assum(?:es|ing)\b)")
_LINES = re.compile(
    r" ?\((?:also )?(?:in )?lines? \d+(?:(?:, | and )\d+)*\)"
    r"|\b(?:in |from |of )?lines? \d+(?:(?:, | and )\d+)*(?: of [\w./+-]+\w)?"
    r"|[\w./+-]+\.\w+:\d+"
)
# How an assumption arises, at the end: `assumes that they come together (in the same iteration of the loop)`.
_DETAIL = re.compile(r" \([^()]* [^()]*\)$")
_PLACE = re.compile(r"([\w./+-]+\.\w+):(\d+)")
# Dropped edits, which would have broken the file, come first.
_WORST = {Outcome.DROPPED: 0, Outcome.REPORTED: 1, Outcome.DECLINED: 2, Outcome.APPLIED: 3, Outcome.IGNORED: 4}


@dataclass(frozen=True)
class Decision:
    """A decision for a person, with all places that need it, in order."""

    group: Group
    certainty: Certainty
    outcome: Outcome
    reason: str
    places: tuple[Reported, ...]
    #: Further statements about the same subject, whose places are also in `places`.
    also: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of its findings."""
        return tuple(dict.fromkeys(each.rule for each in self.places))

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """The subjects if there are several, those with most places first; else the subject is in `message`."""
        counts: dict[str, int] = {}
        said = _statement(self.places[0])
        for each in self.places:
            if _statement(each) == said:
                subject = _split_message(each.message)[0]
                counts[subject] = counts.get(subject, 0) + 1
        return tuple(sorted(counts, key=lambda each: -counts[each])) if len(counts) > 1 else ()

    @property
    def message(self) -> str:
        """The statement about all its places."""
        first = self.places[0]
        said = _split_message(first.message)[1] if self.subjects else first.message
        # The detail may differ between places.
        same = [each.message for each in self.places if _statement(each) == _statement(first)]
        details = {message.removeprefix(_core(message)) for message in same}
        return "; ".join((said if len(details) == 1 else _core(said), *self.also))

    @property
    def sentence(self) -> str:
        """The message, with a few of its subjects."""
        shown = ", ".join(self.subjects[:SHOWN])
        more = f" and {len(self.subjects) - SHOWN} more" if len(self.subjects) > SHOWN else ""
        return f"{shown}{more}: {self.message}" if shown else self.message


def decisions(reported: Iterable[Reported]) -> tuple[Decision, ...]:
    """Return the decisions for a person, by group and the worst first, without failures of hipport itself."""
    same: dict[tuple[object, ...], list[Reported]] = {}
    for each in reported:
        if each.needs_person and each.outcome is not Outcome.FAILED:
            said = (each.group is Group.DOCUMENTS, each.certainty, each.outcome, each.reason, _statement(each))
            same.setdefault(said, []).append(each)
    groups = [*Group]
    found = [
        Decision(
            min((each.group for each in places), key=groups.index),
            places[0].certainty,
            places[0].outcome,
            places[0].reason,
            tuple(places),
        )
        for places in same.values()
    ]
    found.sort(key=lambda decision: (groups.index(decision.group), _WORST[decision.outcome]))
    return tuple(_merged(found))


def _merged(found: list[Decision]) -> Iterator[Decision]:
    """Merge two decisions that refer to each other's places, or are about one subject.

    Examples are code that is missing on AMD, and the condition that selects it; or a package that is listed and
    imported.
    """
    at: dict[tuple[str, int], list[int]] = {}
    for number, decision in enumerate(found):
        for each in decision.places:
            at.setdefault((each.path.as_posix(), each.line), []).append(number)
    naming = {
        (number, other)
        for number, decision in enumerate(found)
        for each in decision.places
        for path, line in _PLACE.findall(each.message)
        for other in at.get((path, int(line)), ())
    }
    parts: dict[int, list[int]] = {}
    into: dict[int, int] = {}
    about: dict[tuple[str, bool], int] = {}
    for number, decision in enumerate(found):
        first = next((i for i in range(number) if (i, number) in naming and (number, i) in naming), number)
        for name in dict.fromkeys(each.about for each in decision.places if each.about):
            known = about.setdefault((name, decision.group is Group.DOCUMENTS), number)
            first = known if first == number else first
        into[number] = into.get(first, number)
        parts.setdefault(into[number], []).append(number)
    for first, numbers in parts.items():
        places = tuple(place for number in numbers for place in found[number].places)
        # A decision that names the places of another one includes its statement.
        said = {found[number].sentence: None for number in numbers if found[number].places[0].about}
        also = tuple(sentence for sentence in said if sentence != found[first].sentence)
        yield replace(found[first], places=places, also=also)


def _statement(each: Reported) -> str:
    return _CODE.sub("`…`", _LINES.sub(" …", _core(_split_message(each.message)[1])))


def _core(message: str) -> str:
    """Return a message without how its assumption arises."""
    message = without_reason(message)
    return _DETAIL.sub("", message) if "assum" in message else message


def _split(message: str) -> tuple[str, str, str]:
    """Partition a message at its first colon that is not in parentheses, as that of `(a ? b : c)` is."""
    depth = 0
    for match in _COLON.finditer(message):
        if match[0] == ": ":
            if depth <= 0:
                return message[: match.start()], match[0], message[match.end() :]
        else:
            depth += 1 if match[0] == "(" else -1
    return message, "", ""


def _without_asides(text: str) -> str:
    """Return a text without what is in parentheses."""
    while (shorter := _ASIDE.sub("", text)) != text:
        text = shorter
    return text


def _split_message(message: str) -> tuple[str, str]:
    """Return (subject, statement) of a message; an empty subject if it is a sentence."""
    subject, colon, statement = _split(message)
    assumes = _ASSUMES.search(message)
    named = "→" in subject or ("`" not in subject and len(_without_asides(subject).split()) <= _WORDS)
    if colon and named and not (assumes and assumes.start() < len(subject)):
        return subject, statement
    return (message[: assumes.start()], message[assumes.end() :]) if assumes else ("", message)

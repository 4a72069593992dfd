# SPDX-License-Identifier: Apache-2.0
"""Report what host code decides by a compute capability, which AMD counts otherwise.

`prop.major` of AMD's GPUs is a part of their own number: 9 on gfx90a and gfx942, 11 on gfx1100, 12 on gfx1201. A floor
up to 8, `prop.major >= 7`, holds on all of them, as on new GPUs of NVIDIA's, and is not mentioned. What is meant for
one generation (`== 8`), or for 9 and up, is taken by accident or not at all, and so is what a program chooses by a
number that it makes of both parts: `major * 10 + minor`. That is for a person: text does not show what it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Span
from hipport_passes.lost_code import lost

_PROPERTIES = re.compile(
    rb"\b(?:cuda|hip)DeviceProp(?:_t)?\b(?:\s*>+)?[\s*&]*(?:const\b[\s*&]*)?(\w+)|"
    rb"\b(\w+)\s*=\s*[\w:]*get(?:Current)?DeviceProperties\s*\("
)
_MAJOR = re.compile(
    rb"(?P<object>\b(?P<name>[A-Za-z_]\w*)(?:\s*\[[^\[\]]*\]|\s*\([^()]*\))*)\s*(?:\.|->)\s*major\b(?!\s*(?:=(?!=)|\())"
)
_COMPARED = re.compile(rb"\s*\)?\s*(?P<sign>==|!=|>=|>|<=|<)\s*(?P<number>\d+)\b")
_COMPARED_BEFORE = re.compile(rb"\b(?P<number>\d+)\s*(?P<sign>==|!=|>=|>|<=|<)\s*\(?\s*\Z")
_MADE = re.compile(rb"\s*\)?\s*(?:\*\s*(?:10+|0x10)\b|<<\s*(?:4|8)\b)")
_MADE_BEFORE = re.compile(rb"\b(?:10+|0x10)\s*\*\s*\(?\s*\Z")
_CHOSEN = re.compile(rb"\bswitch\s*\(\s*\Z")
_PRINTED = re.compile(rb"(?i:printf|\bcout\b|\bcerr\b|\bprint\w*|\blog\w*)")
_TURNED = {b"<": b">", b">": b"<", b"<=": b">=", b">=": b"<="}
_ADVICE = (
    "on AMD the number is of another count, gfx90a 9.0, gfx942 9.4, gfx1100 11.0: ask gcnArchName, or for the feature "
    "that is meant"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per decision by the major part of a capability on which AMD is no newer NVIDIA."""
    code = source.code
    if b"major" not in code or source.begun_as_hip:
        return
    names = project.together(source, _properties)
    gone = [each for other in project.component(source) if isinstance(other, Cpp) for each in other.fact(lost)]
    for match in _MAJOR.finditer(code):
        if match["name"] not in names and b"DeviceProperties" not in match["name"]:
            continue
        if source.ported(match.start()):
            continue
        before = code[max(0, match.start() - 200) : match.start()]
        floor = _floor(code, match.end(), before)
        missing = [each for each in gone if floor is not None and each.capability[0] == floor]
        if missing:
            span = Span(*match.span())
            message = (
                f"{source[span].decode('utf-8', 'replace')} chooses here, by a number that AMD GPUs have by accident, "
                f"what has no code there: {missing[0]}; ask for AMD in front of it, or port that code"
            )
            yield Finding(span, "missing_code", message, certainty=Certainty.MANUAL)
        elif _decides(code, match.end(), before):
            span = Span(*match.span())
            yield Finding(
                span,
                "decision",
                f"{source[span].decode('utf-8', 'replace')} decides here: {_ADVICE}",
                certainty=Certainty.MANUAL,
            )


def _properties(source: Cpp) -> frozenset[bytes]:
    """Variables, parameters and members that are the properties of a device."""
    if b"DevicePro" not in source.code:
        return frozenset()
    return frozenset(match[1] or match[2] for match in _PROPERTIES.finditer(source.code))


def _decides(code: bytes, end: int, before: bytes) -> bool:
    after = _COMPARED.match(code, end)
    ahead = _COMPARED_BEFORE.search(before)
    if after is not None:
        return _parts(after["sign"], int(after["number"]))
    if ahead is not None:
        return _parts(_TURNED.get(ahead["sign"], ahead["sign"]), int(ahead["number"]))
    if _CHOSEN.search(before):
        return True
    statement = re.split(rb"[;{}]", before)[-1]
    return (_MADE.match(code, end) or _MADE_BEFORE.search(before)) is not None and not _PRINTED.search(statement)


def _floor(code: bytes, end: int, before: bytes) -> int | None:
    """Return the number that a floor asks for, `major >= 7`, if that is what stands there."""
    after = _COMPARED.match(code, end)
    ahead = _COMPARED_BEFORE.search(before)
    found = after or ahead
    if found is None:
        return None
    sign = found["sign"] if after else _TURNED.get(found["sign"], found["sign"])
    return int(found["number"]) + (sign == b">") if sign in (b">=", b">") else None


def _parts(sign: bytes, number: int) -> bool:
    """Whether AMD's answer is not that of GPUs of NVIDIA's that have all that those before them had."""
    if sign in (b"==", b"!="):
        return number < 100  # 9999 was that of CUDA's emulator.
    return number > (8 if sign in (b">=", b"<") else 7)


PASS = Pass(Cpp, find)

# SPDX-License-Identifier: Apache-2.0
"""Report decisions of host code on a compute capability, which AMD counts differently.

`prop.major` of AMD's GPUs is a part of the architecture's name: 9 on gfx90a and gfx942, 11 on gfx1100, 12 on gfx1201. A
lower bound up to 8, `prop.major >= 7`, holds on all of them, as on new NVIDIA GPUs, and is not mentioned. Code for one
generation (`== 8`), or for 9 and up, is reached by accident or not at all. The same holds for a choice by a number made
of both parts: `major * 10 + minor`. This is left to a person, because the text does not show what the number means. The
number is followed to the place where it decides: through variables, members, arguments, results of functions, pairs and
containers. If it goes to a function that is not among the files, the finding says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from hipport.analysis.functions import function_at
from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, word_before
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import last_name
from hipport_passes.device.lost_code import lost
from hipport_passes.device.value_flow import NO_CALL, Place, reached, ways

_WORDS = Words.read(
    Path(__file__).with_suffix(".toml"),
    general=Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES),
)
_PROPERTIES = _WORDS.compile(
    rb"\b(?&platforms)(?&properties)\b(?:\s*>+)?[\s*&]*(?:const\b[\s*&]*)?(\w+)|"
    rb"\b(\w+)\s*=\s*[\w:]*(?&returns_properties)\s*\("
)
_MAJOR = _WORDS.compile(rb"(?P<closing>\))?\s*(?:\.|->)\s*(?&major)\b(?!\s*(?:=(?!=)|\())")
# A comparison of pairs starts with the first part.
_FIRST = _WORDS.composed(rb"(?:(?:(?&std)\s*::\s*)?(?&pairs)\s*(?:<[^<>;]*>\s*)?[({]\s*)?")
_COMPARED = re.compile(rb"\s*\)?\s*(?P<sign>==|!=|>=|>|<=|<)\s*" + _FIRST + rb"(?P<number>\d+)\b")
# A pair of both parts is compared: `std::tie(major, minor) >= std::make_pair(9, 0)`.
_PAIR = rb"\b%b\s*(?:<[^<>;]*>\s*)?[({]\s*" % one_of(_WORDS["pairs"]).encode()
_IN_PAIR = re.compile(_PAIR + rb"\Z")
_PAIR_COMPARED = re.compile(rb"\s*,[^(){},;]*[)}]" + _COMPARED.pattern)
_PAIR_COMPARED_BEFORE = re.compile(
    rb"[({]\s*(?P<number>\d+)\s*,\s*\d+\s*[)}]\s*(?P<sign>==|!=|>=|>|<=|<)\s*(?:\w+\s*::\s*)?" + _IN_PAIR.pattern
)
# The value is read from a container or a pair: `caps[device]`, `caps.at(device)`, `capability().first`.
_ITEM = re.compile(
    rb"(?:\s*\[[^][]*\]|\s*(?:\.|->)\s*(?:%b\s*\([^()]*\)|%b\b))+"
    % (one_of(_WORDS["items"]).encode(), one_of(_WORDS["heads"]).encode())
)
# Another part than the first one of a pair: `std::get<1>(capability())`.
_OTHER_PART = re.compile(rb"\b%b\s*<\s*[1-9]\s*>\s*\(\s*\Z" % one_of(_WORDS["items"]).encode())
_ARGUMENT = re.compile(rb"\s*[,)]")
# Functions, and macros, that do not decide by the number.
_HARMLESS = re.compile(rf"(?i:{one_of(_WORDS['shows'], '.*')})|{one_of(_WORDS['harmless'])}|[A-Z][A-Z0-9_]*".encode())
_COMPARED_BEFORE = re.compile(rb"\b(?P<number>\d+)\s*(?P<sign>==|!=|>=|>|<=|<)\s*\(?\s*\Z")
_MADE = re.compile(rb"\s*\)?\s*(?:\*\s*(?:10+|0x10)\b|<<\s*(?:4|8)\b)")
_MADE_BEFORE = re.compile(rb"\b(?:10+|0x10)\s*\*\s*\(?\s*\Z")
# A decomposed pair: the number is its first part.
_TAKEN_APART = _WORDS.compile(rb"(?:\bauto\b[\s&]*\[|\b(?&tie)\s*\()\s*(?P<first>\w+)\s*,(?P<others>[\w\s,]+)[\])]")
_NAMES_ARCHITECTURE = _WORDS.compile(rb"\"(?:[^\"\n]*\b)?(?:sm|(?&compute))_?\"")
# The name of a called function in front of its parenthesis.
_CALLED = re.compile(rb"([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?\(\Z")
_DEFINED = re.compile(rb"(?:#[ \t]*define[ \t]+|\b(?:struct|class|enum)\s+|\busing\s+)(\w+)")
_MACRO = re.compile(rb"#[ \t]*define[ \t]+\w+\(([^()]*)\)((?:[^\\\r\n]|\\(?:\r\n?|\n|.))*)")
_CHOSEN = re.compile(rb"\bswitch\s*\(\s*\Z")
_PRINTED = _WORDS.compile(rb"(?i:(?&printf)|\b(?&streams)\b|\b(?&log_words)\w*)")
# `std::greater_equal<>{}(major, 9)`, `std::cmp_less(major, 9)`
_FUNCTION = _WORDS.compile(
    rb"\b(?&cmp)?(?P<name>(?&compares))\s*(?:<[\w\s:]*>\s*)?"
    rb"(?:\(\s*\)\s*|\{\s*\}\s*)?\(\s*(?:(?P<number>\d+)\s*,\s*)?\(?\s*\Z"
)
_SECOND = re.compile(rb"\s*\)?\s*,\s*(?P<number>\d+)\s*\)")
_SIGNS = {
    b"greater": b">",
    b"less": b"<",
    b"greater_equal": b">=",
    b"less_equal": b"<=",
    b"equal": b"==",
    b"not_equal": b"!=",
}
# A table that the number indexes.
_SUBSCRIPT = re.compile(rb"[\w)\]]\s*\[\s*\Z")
_SUBSCRIPT_END = re.compile(rb"\s*(?:-\s*\d+\s*)?\]")
_TURNED = {b"<": b">", b">": b"<", b"<=": b">=", b">=": b"<="}
_ADVICE = (
    "AMD numbers GPUs differently (gfx90a is 9.0, gfx942 9.4, gfx1100 11.0); test gcnArchName, or the feature itself"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per decision by a capability's major part on which AMD differs from newer NVIDIA GPUs."""
    code = source.code
    if source.begun_as_hip:
        return
    gone = project.component(source).fact(lost)
    for span, end in sorted({*_read(source, project), *_followed(source, project)}):
        before = code[max(0, span.start - 200) : span.start]
        what = source[span].decode("utf-8", "replace")
        what = what if "(" in what else what.replace(")", "")  # `(properties).major`, from a macro.
        floor = _floor(code, end, before)
        missing = [each for each in gone if floor is not None and each.capability[0] == floor]
        if missing:
            message = (
                f"{what} selects code here that AMD lacks, and AMD GPUs pass this test by accident: {missing[0]}; test "
                "for AMD first, or port that code"
            )
            yield Finding(span, "missing_code", message, certainty=Certainty.MANUAL)
        elif _decides(code, end, before):
            yield Finding(span, "decision", f"{what} decides here: {_ADVICE}", certainty=Certainty.MANUAL)
        elif _NAMES_ARCHITECTURE.search(source.text, *_statement(code, span.start)):
            message = f"this makes the name of an NVIDIA architecture from {what}; use gcnArchName on AMD"
            yield Finding(span, "arch_name", message, certainty=Certainty.MANUAL)
        elif called := _receiver(source, project, span, end):
            message = f"{what} is passed to {called.decode()}, where hipport could not follow it: {_ADVICE}"
            yield Finding(span, "not_followed", message, certainty=Certainty.MANUAL)


def _receiver(source: Cpp, project: Project, span: Span, end: int) -> bytes:
    """Return the function outside of the files that receives the number; empty if there is none."""
    if _ARGUMENT.match(source.code, end) is None or _OTHER_PART.search(
        source.code, max(0, span.start - 40), span.start
    ):
        return b""
    opening, depth = span.start - 1, 0
    while opening >= max(0, span.start - 400) and (depth or source.code[opening : opening + 1] != b"("):
        character = source.code[opening : opening + 1]
        if character in (b";", b"{", b"}"):
            return b""
        depth += 1 if character in (b")", b"]") else -1 if character in (b"(", b"[") else 0
        opening -= 1
    match = _CALLED.search(source.code, max(0, opening - 200), opening + 1)
    if match is None or match[1] in NO_CALL or _HARMLESS.fullmatch(match[1]) or word_before(source.code, match.start()):
        return b""
    return b"" if match[1] in project.component(source).fact(_named) else match[1]


def _named(component: Component) -> frozenset[bytes]:
    """Return the functions, classes and macros of a program."""
    files = [each for each in component if isinstance(each, Cpp)]
    found = {name for each in files for name in ways(each).named}
    return frozenset(found | {match[1] for each in files for match in _DEFINED.finditer(each.code)})


def _read(source: Cpp, project: Project) -> Iterator[tuple[Span, int]]:
    """Yield the places where the number is read from a device's properties, with their ends."""
    names = project.union_over(source, _properties) if b"major" in source.words else frozenset()
    for span in _majors(source.code, names) if b"major" in source.words else ():
        if not source.ported(span.start):
            yield span, span.end


def _majors(code: bytes, names: AbstractSet[bytes]) -> Iterator[Span]:
    """Yield the places where the number is read, each with its object, of one of those names."""
    for match in _MAJOR.finditer(code):
        name = last_name(code, match.end("closing") if match["closing"] else match.start())
        if name is None and match["closing"]:
            name = last_name(code, match.start())  # `(*properties).major`
        if name is not None and (
            code[name.start : name.end] in names or b"DeviceProperties" in code[name.start : name.end]
        ):
            yield Span(name.start, match.end())


def _statement(code: bytes, offset: int) -> tuple[int, int]:
    ends = [match.end() for match in re.finditer(rb"[;{}]", code[max(0, offset - 200) : offset])]
    after = re.compile(rb"[;{}]").search(code, offset)
    return max(0, offset - 200) + (ends[-1] if ends else 0), after.start() if after else len(code)


def _followed(source: Cpp, project: Project) -> Iterator[tuple[Span, int]]:
    """Yield the places where a name with such a number is read, with their ends."""
    places = project.component(source).fact(_places)
    if not places:
        return
    code, known = source.code, ways(source)
    apart = [*_TAKEN_APART.finditer(code)]
    others = {word for match in apart for word in re.findall(rb"\w+", match["others"])} - {m["first"] for m in apart}
    for span, name in source.names(frozenset(place[1] for place in places)):
        if name in others or source.ported(span.start):
            continue
        member = re.search(rb"(?:\.|->)\s*\Z", code[max(0, span.start - 8) : span.start]) is not None
        opening = re.compile(rb"\s*\(").match(code, span.end)
        closing = source.closing(opening.end() - 1) if opening else None
        if closing is not None:
            place: Place = ("result", name, 0)
        elif member:
            place = ("member", name, 0)
        else:
            place = known.place(function_at(source, span.start), name)
        if place in places and not (member and name == b"major"):
            end = closing + 1 if closing is not None else span.end
            item = _ITEM.match(code, end)
            yield span, item.end() if item else end


def _places(component: Component) -> dict[Place, bool]:
    """Return the places of a program that hold the major part of a capability."""
    files = [each for each in component if isinstance(each, Cpp)]
    names = frozenset[bytes]().union(*(each.fact(_properties) for each in files))
    start: dict[Place, bool] = {}
    for each in files if names or any(b"DeviceProperties" in each.code for each in files) else ():
        for value, target in ways(each).read.get(b"major", ()) if b"major" in each.words else ():
            if any(_majors(value, names)):
                start[target] = True
    return reached(component, start)


def _properties(source: Cpp) -> frozenset[bytes]:
    """Return the variables, parameters and members that are a device's properties."""
    if b"DevicePro" not in source.code:
        return _of_macros(source) if b"major" in source.words else frozenset()
    return frozenset(match[1] or match[2] for match in _PROPERTIES.finditer(source.code)) | _of_macros(source)


def _of_macros(source: Cpp) -> frozenset[bytes]:
    """Return the parameters of macros whose major and minor parts are both read."""
    found = set[bytes]()
    for match in _MACRO.finditer(source.code):
        for name in re.findall(rb"\w+", match[1]):
            parts = re.findall(rb"\b%b\s*\)?\s*(?:\.|->)\s*(major|minor)\b" % name, match[2])
            found |= {name} if len(set(parts)) > 1 else set()
    return frozenset(found)


def _decides(code: bytes, end: int, before: bytes) -> bool:
    if (asked := _asked(code, end, before)) is not None:
        return _differs_on_amd(*asked)
    if _SUBSCRIPT.search(before) and _SUBSCRIPT_END.match(code, end):
        return True
    if _CHOSEN.search(before):
        return True
    statement = re.split(rb"[;{}]", before)[-1]
    return (_MADE.match(code, end) or _MADE_BEFORE.search(before)) is not None and not _PRINTED.search(statement)


def _floor(code: bytes, end: int, before: bytes) -> int | None:
    """Return the number of a lower bound, `major >= 7`, if there is one."""
    sign, number = _asked(code, end, before) or (b"", 0)
    return number + (sign == b">") if sign in (b">=", b">") else None


def _asked(code: bytes, end: int, before: bytes) -> tuple[bytes, int] | None:
    """Return the operator and the number that the expression ending at `end` is compared with, as if it stood on the
    left.
    """
    if _OTHER_PART.search(before):
        return None
    if _IN_PAIR.search(before):
        if (after := _PAIR_COMPARED.match(code, end)) is not None:
            return after["sign"], int(after["number"])
        if (ahead := _PAIR_COMPARED_BEFORE.search(before)) is not None:
            return _TURNED.get(ahead["sign"], ahead["sign"]), int(ahead["number"])
    if (after := _COMPARED.match(code, end)) is not None:
        return after["sign"], int(after["number"])
    if (ahead := _COMPARED_BEFORE.search(before)) is not None:
        return _TURNED.get(ahead["sign"], ahead["sign"]), int(ahead["number"])
    if (function := _FUNCTION.search(before)) is None:
        return None
    sign = _SIGNS[function["name"].removesuffix(b"_to")]
    if function["number"] is not None:
        return _TURNED.get(sign, sign), int(function["number"])
    second = _SECOND.match(code, end)
    return (sign, int(second["number"])) if second is not None else None


def _differs_on_amd(sign: bytes, number: int) -> bool:
    """Return whether AMD's answer differs from that of a newer NVIDIA GPU, which has all earlier features."""
    if sign in (b"==", b"!="):
        return number < 100  # 9999 was the number of CUDA's emulator.
    return number > (8 if sign in (b">=", b"<") else 7)


PASS = Pass(Cpp, find)

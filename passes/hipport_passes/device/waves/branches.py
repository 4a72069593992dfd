# SPDX-License-Identifier: Apache-2.0
"""Numbers of lanes that are the wavefront's in a program's branch for AMD, and a warp's in its branch for CUDA.

    #ifdef USE_ROCM
      sum<64><<<blocks, 128>>>(in, out, 6);
    #else
      sum<32><<<blocks, 128>>>(in, out, 5);
    #endif

The branch for AMD is CUDA's with other numbers: 64 for 32, 63 for 31, 6 for 5. Lines correspond if they are equal
except for numbers. A branch is one of the preprocessor, or of `if (kIsAmd) … else …` and of `kIsAmd ? 64 : 32`. The
name of a number does not matter, so arguments of launches and of templates, variables and members are found as well as
constants. A number that reaches functions with intrinsics of 32 lanes must be CUDA's for AMD, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from hipport.analysis.functions import Function, functions
from hipport.analysis.macros import choices
from hipport.analysis.references import Mentions, NamedDefinition
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES, ON_DEVICE
from hipport_passes.device.waves.kinds import not_on_device, on_wavefronts
from hipport_passes.device.waves.sizes import having_intrinsics

_TOKEN = re.compile(rb"0[xX][0-9a-fA-F]+[uUlL]*|\d[\w.]*|[A-Za-z_]\w*|\\(?:\r\n?|\n)|\S")
_NUMBER = re.compile(rb"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_SIZE_OF_WAVEFRONT = frozenset((b"warpSize", b"__AMDGCN_WAVEFRONT_SIZE", b"__AMDGCN_WAVEFRONT_SIZE__"))
#: The lanes of a wavefront and of a warp, and their bits and masks, which may have other meanings.
_LANES = (64, 32)
_OF_LANES = {(63, 31), (6, 5)}
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_MAY_BE = _WORDS.compile(rb"\b(?:64|0[xX]40|63|0[xX]3[fF]|6)[uUlL]*\b|\b(?&warp_size)\b|\b(?&wavefront_size)")
_ABOUT_LANES = _WORDS.compile(rb"(?i)(?&about_lanes)|(?&thread_index)\s*\.\s*x\s*\)?\s*(?:&|>>)")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_CALLED = re.compile(rb"([A-Za-z_]\w*)\s*[(<]")
_PART = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OF_AMD = frozenset(b"hip rocm amd amdgpu hipcc cdna".split())
_MAY_NAME_AMD = _WORDS.compile(rb"(?i)\w*(?&amd_names)\w*")
_PLURAL = _WORDS.compile(rb"(?i)(?&plural_lanes)")
_ONE_OR_OTHER = re.compile(rb"\?\s*(?P<yes>\w+)\s*:\s*(?P<no>\w+)\b(?!\s*[.(])")
_ASKED = re.compile(rb"[\w:!()\s]*\Z")
_ASSIGNED = re.compile(rb"\b(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>64|0[xX]40)[uUlL]*\s*;")
_TRUTH = re.compile(rb"(?:\b(?P<constant>\w+)\s*(?:=|\{)|#[ \t]*define[ \t]+(?P<macro>\w+))\s*\(?(?:true|1)\b")


class _Number(NamedTuple):
    """A number in code for AMD, and CUDA's number there; `line` is the start of its line."""

    span: Span
    cuda: bytes
    line: Span


class Logical:
    """The definitions of a component that contain or reach intrinsics of 32 lanes."""

    def __init__(self, component: Component) -> None:
        self.mentions = component.fact(Mentions)
        self.having = frozenset(having_intrinsics(self.mentions))
        self._users = self.having | frozenset(self.mentions.transitive_users_of_any(self.having))

    def reached_from(self, definition: NamedDefinition) -> bool:
        return definition in self._users

    def uses(self, definition: NamedDefinition) -> bool:
        """Return whether the definition reaches such intrinsics through its uses, or itself if it is a function.

        Host code may use it in any way. Device code has to pass it on, or to have the intrinsics itself, because it
        also uses other sizes, for example of tiles.
        """
        users = self.mentions.transitive_users(definition)
        names = {name for each in users if each.function is None for name in each.names} | set(definition.names)
        return any(
            user in self.having
            or (self.reached_from(user) and (user is definition or not on_device(user) or self._gives(user, names)))
            for user in users
            if user.function is not None
        )

    def _gives(self, user: NamedDefinition, names: set[bytes]) -> bool:
        """Return whether any of the names is in the arguments of a function that reaches such intrinsics."""
        source = user.source
        for match in user.matches(_CALLED):
            if any(map(self.reached_from, self.mentions.named(match[1]))):
                opening = source.code.find(b"(", match.end() - 1, user.span.end)
                closing = source.closing(opening) if opening >= 0 else None
                if closing is not None and names & set(_WORD.findall(source.code, match.end(), closing)):
                    return True
        return False

    def native(self, definition: NamedDefinition) -> bool:
        """Return whether it reaches a function of whole wavefronts."""
        return any(
            each.function is not None and on_wavefronts(each.function) for each in self.mentions.reached(definition)
        )


def of_branches(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per number in AMD's branch that reaches functions with intrinsics of 32 lanes."""
    if not _MAY_BE.search(source.code):
        return
    numbers = [*_numbers(source, project)]
    if not numbers:
        return
    logical = project.component(source).fact(Logical)
    if not logical.having:
        return
    for number in {each.span: each for each in numbers}.values():
        comes = _comes_to(source, logical, number)
        if comes is None:
            continue
        was, new = source[number.span].decode("utf-8", "replace"), number.cuda.decode("utf-8", "replace")
        fact = "the program's warps, whose intrinsics act on 32 lanes"
        if comes:
            message = f"{was} → {new}, as in the branch for CUDA: assumes that it is of {fact}"
            yield Finding(number.span, "size", message, (Edit(number.span, number.cuda),), Certainty.REVIEW)
        else:
            message = (
                f"{was}, {new} in the branch for CUDA: its uses include functions of the whole wavefront, and "
                "others whose intrinsics act on 32 lanes: give each the number that it needs"
            )
            yield Finding(number.span, "size", message, certainty=Certainty.MANUAL)


def _comes_to(source: Cpp, logical: Logical, number: _Number) -> bool | None:
    """Return whether a number reaches only intrinsics of 32 lanes; False if others as well, None if none."""
    line = source.code[number.line.start : number.line.end]
    around = [each for each in logical.mentions.definitions if each.around(source, number.span.start)]
    if not around:
        # For example the head of a template, whose function the parser does not find behind the branches.
        words = set(_WORD.findall(line))
        here = any(each.source is source for each in logical.having)
        return (
            True if here or any(each in logical.having for w in words for each in logical.mentions.named(w)) else None
        )
    called = [
        each
        for name in dict.fromkeys(_CALLED.findall(line))
        for each in logical.mentions.named(name)
        if each.function is not None and each not in around
    ]
    asked = called if any(map(logical.reached_from, called)) or any(map(logical.native, called)) else around
    if not any(map(logical.reached_from if asked is called else logical.uses, asked)):
        return None
    return not any(map(logical.native, asked))


def on_device(definition: NamedDefinition) -> bool:
    """Say whether it is a device function."""
    return definition.function is not None and re.search(ON_DEVICE, definition.function.head) is not None


# ---- the numbers


def _numbers(source: Cpp, project: Project) -> Iterator[_Number]:
    for hip, cuda in _branches(source, project):
        yield from _differences(source, hip, cuda)
    yield from _chosen(source, project)
    for function in functions(source) if source.hip_only else ():
        yield from _replaced(source, function)


def _branches(source: Cpp, project: Project) -> Iterator[tuple[Span, list[Span]]]:
    """Yield branches that only HIP compiles, with those of the same group that it does not compile."""
    if source.hip_only:
        for group in source.conditionals:
            spans = [Span(part.span.end, following.span.start) for part, following in pairwise(group)]
            of_cuda = [each for each in spans if len(each) and _is_of_cuda(source, each)]
            for each in spans if of_cuda else ():
                if len(each) and within(each.start, source.hip_only):
                    yield each, of_cuda
    names = project.union_over(source, _true_on_hip)
    for function in functions(source) if _may_ask(source, names) else ():
        start = function.body.start_byte
        for choice in choices(function.text(function.body)):
            amd = _asks_for_amd(choice.condition, names)
            if amd is not None:
                yes, no = (Span(start + each[0], start + each[1]) for each in (choice.yes, choice.no))
                yield (yes, [no]) if amd else (no, [yes])


def _is_of_cuda(source: Cpp, branch: Span) -> bool:
    return within(branch.start, source.cuda_only) or within(branch.start, source.fact(not_on_device))


def _chosen(source: Cpp, project: Project) -> Iterator[_Number]:
    """Yield the numbers in `kIsAmd ? 64 : 32`, inside of functions and outside."""
    names = project.union_over(source, _true_on_hip)
    for match in _ONE_OR_OTHER.finditer(source.code) if _may_ask(source, names) else ():
        asked = _ASKED.search(source.code, max(0, match.start() - 120), match.start())
        amd = _asks_for_amd(asked.group(), names) if asked else None
        if amd is None or within(match.start(), source.cuda_only):
            continue
        hip, cuda = ("yes", "no") if amd else ("no", "yes")
        if _is_pair(match[hip], match[cuda]):
            start = source.code.rfind(b"\n", 0, match.start()) + 1
            yield _Number(Span(*match.span(hip)), match[cuda], Span(start, match.end()))


def _replaced(source: Cpp, function: Function) -> Iterator[_Number]:
    """Yield the number in `lanes = 64;` in a branch without `else`, if the variable is 32 before."""
    start, end = function.body.start_byte, function.body.end_byte
    for match in _ASSIGNED.finditer(source.code, start, end):
        before = re.compile(rb"\b" + match["name"] + rb"\s*(?:=|\{)\s*(?P<value>32|0[xX]20)[uUlL]*\s*[;},]")
        if within(match.start(), source.hip_only):
            found = before.search(source.code, start, match.start())
            if found is not None and not source.ported(found.start()):
                yield _Number(Span(*match.span("value")), found["value"], Span(*match.span()))


def _differences(source: Cpp, hip: Span, cuda: list[Span]) -> Iterator[_Number]:
    """Yield the numbers of lines, or of statements on any lines, that are equal in both branches except for them."""
    told: set[Span] = set()
    for parts in (_lines, _statements):
        for number in _differing(source, hip, cuda, parts):
            if number.span not in told:
                told.add(number.span)
                yield number


_Parts = Callable[[Cpp, Span], Iterator[tuple[Span, list[re.Match[bytes]]]]]


def _differing(source: Cpp, hip: Span, cuda: list[Span], parts: _Parts) -> Iterator[_Number]:
    lines: dict[tuple[bytes, ...], list[list[re.Match[bytes]]]] = {}
    for span in cuda:
        for _, tokens in parts(source, span):
            lines.setdefault(_key(tokens), []).append(tokens)
    found: list[tuple[_Number, tuple[bytes, bytes]]] = []
    for line, tokens in parts(source, hip):
        others = lines.get(_key(tokens), ())
        if any([each.group() for each in tokens] == [each.group() for each in other] for other in others):
            continue
        for other in others:
            for mine, theirs in zip(tokens, other, strict=True):
                if mine.group() != theirs.group():
                    found.append((_Number(Span(*mine.span()), theirs.group(), line), (mine.group(), theirs.group())))
            break
    sizes = [number.line for number, pair in found if _is_pair(*pair)]
    for number, pair in found:
        said = source.code[number.line.start : number.line.end]
        about = _ABOUT_LANES.search(said) is not None
        if _is_pair(*pair) or ((sizes or about) and _values(*pair) in _OF_LANES):
            yield number
        elif sizes and _PLURAL.search(said) and None not in _values(*pair):
            yield number  # The greatest number that fits into a block.


def _lines(source: Cpp, span: Span) -> Iterator[tuple[Span, list[re.Match[bytes]]]]:
    """Yield the lines in a span, with their tokens; several statements on one line are one."""
    start = span.start
    for text in source.code[span.start : span.end].splitlines(keepends=True):
        tokens = [each for each in _TOKEN.finditer(source.code, start, start + len(text)) if each.group()[:1] != b"\\"]
        if tokens:
            yield Span(start, start + len(text)), tokens
        start += len(text)


def _statements(source: Cpp, span: Span) -> Iterator[tuple[Span, list[re.Match[bytes]]]]:
    """Yield the statements in a span, up to their semicolon or brace, with their tokens."""
    tokens: list[re.Match[bytes]] = []
    depth = 0
    for each in _TOKEN.finditer(source.code, span.start, span.end):
        if source.directive(each.start()) is not None:
            continue
        tokens.append(each)
        sign = each.group()
        depth = max(0, depth + (sign == b"(") - (sign == b")"))
        if sign in (b"{", b"}") or (sign == b";" and not depth):
            yield Span(tokens[0].start(), each.end()), tokens
            tokens, depth = [], 0
    if tokens:
        yield Span(tokens[0].start(), tokens[-1].end()), tokens


def _key(tokens: list[re.Match[bytes]]) -> tuple[bytes, ...]:
    """Return a line without its numbers."""
    return tuple(
        b"#" if _NUMBER.fullmatch(each.group()) or each.group() in _SIZE_OF_WAVEFRONT else each.group()
        for each in tokens
    )


def _values(hip: bytes, cuda: bytes) -> tuple[int | None, int | None]:
    return _value(hip), _value(cuda)


def _value(text: bytes) -> int | None:
    number = _NUMBER.fullmatch(text)
    return int(number[1], 16 if number[1][:2].lower() == b"0x" else 10) if number else None


def _is_pair(hip: bytes, cuda: bytes) -> bool:
    """Return whether one is the size of a wavefront, and the other that of a warp."""
    return (hip in _SIZE_OF_WAVEFRONT and _value(cuda) == 32) or _values(hip, cuda) == _LANES


# ---- conditions


def _may_ask(source: Cpp, names: frozenset[bytes]) -> bool:
    return not names.isdisjoint(source.words) or any(map(_names_amd, source.matched(_MAY_NAME_AMD)))


def _asks_for_amd(condition: bytes, names: frozenset[bytes]) -> bool | None:
    """Return whether a condition holds on AMD only, or elsewhere only; None if it tests something else."""
    text = b"".join(condition.split())
    while text.startswith(b"(") and text.endswith(b")") and not text.endswith(b"()"):
        text = text[1:-1]
    asked = re.fullmatch(rb"(!?)\(?(?:\w+::)*(\w+)(?:\(\))?\)?", text)
    if asked is None or not (_names_amd(asked[2]) or asked[2] in names):
        return None
    return not asked[1]


def _names_amd(word: bytes) -> bool:
    return not _OF_AMD.isdisjoint(part.lower() for part in _PART.findall(word))


def _true_on_hip(source: Cpp) -> frozenset[bytes]:
    """Return the program's constants and macros that are true in its branches for HIP."""
    if not source.hip_only:
        return frozenset()
    found = (match for match in _TRUTH.finditer(source.code) if within(match.start(), source.hip_only))
    return frozenset(match["constant"] or match["macro"] for match in found)

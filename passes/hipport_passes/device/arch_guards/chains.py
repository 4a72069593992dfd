# SPDX-License-Identifier: Apache-2.0
"""Chains of conditions: the branches that NVIDIA's GPUs, CUDA's releases and AMD take, and edits that change AMD's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeAlias

from hipport.core.edits import Edit, Span
from hipport.core.tables import Words
from hipport.syntax import preprocessor_values
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.own_guards import COMPILERS, EQUALS, MARK
from hipport.syntax.preprocessor import Conditional
from hipport_passes.names import release_comparisons

# nvcc's macros for language features; __NVCC__ is also used for its pragmas and defects.
COMPILER = {name: equal for name, equal in COMPILERS.items() if name != b"__NVCC__"}
# Major versions of the libraries, from the table in the release notes of CUDA 11.2 (read 2026-11-27); cuSOLVER's is one
# higher there, and was this one in 11.0. ROCm's libraries have other macros.
_MAJOR = {b"CUBLAS": 11, b"CUFFT": 10, b"CURAND": 10, b"CUSOLVER": 10, b"CUSPARSE": 11}
# libcu++ 1.1.0 came with CUDA 11.0, according to the table of its releases in CCCL's documentation (read 2026-11-27).
_LIBCUPP = b"LIBCUDACXX_CUDA_API_VERSION"
_LIBCUPP_OLDEST = {b"": 1_001_000, b"_MAJOR": 1, b"_MINOR": 0, b"_PATCH": 0}
# The oldest versions that current programs are built for: CUDA 11.0 and the GPUs that CUDA 12 supports. AMD has none of
# them.
OLDEST = {
    **release_comparisons.OLDEST,
    b"__CUDACC_VER_MINOR__": 0,
    b"__CUDACC_VER_BUILD__": 0,
    b"__CUDART_API_VERSION": 11000,
    b"__CUDA_ARCH_LIST__": 500,  # The first of a list, since CUDA 11.5.
    b"NVTX_VERSION": 2,  # CUDA 11 still has the headers of NVTX 2.
    b"CUDNN_VERSION": 8000,
    b"CUDNN_MAJOR": 8,
    **{under + _LIBCUPP + part: value for under in (b"", b"_") for part, value in _LIBCUPP_OLDEST.items()},
    **dict.fromkeys((b"CUDNN_MINOR", b"CUDNN_PATCHLEVEL"), 0),
    **{name + b"_VERSION": major * 1000 for name, major in _MAJOR.items()},
    **{name + b"_VER_MAJOR": major for name, major in _MAJOR.items()},
    **{name + b"_VER_" + part: 0 for name in _MAJOR for part in (b"MINOR", b"PATCH", b"BUILD")},
    b"__NVCC__": 1,
    **dict.fromkeys(COMPILER, 1),
}
NEWEST = dict.fromkeys(OLDEST, 10**7)
NAME = re.compile(b"|".join(sorted(OLDEST, reverse=True)))
# Macros with numbers that hipcc lacks; for the others it has names of its own.
VERSIONS = OLDEST.keys() - COMPILER.keys() - {b"__NVCC__"}
_RELEASES = VERSIONS - {b"__CUDA_ARCH__"}
ON_DEVICE = b"__HIP_DEVICE_COMPILE__"
# The newest architecture that every feature of hipport's ports covers: features of 9.0 are left to a person.
_ALONE = 800
# The last architecture with such features.
_LAST = 890
_ERRORS = re.compile(rb"\s*(?:#[ \t]*error\b[^\r\n]*(?:[\r\n]\s*|\Z))+")
_ON_AMD = dict.fromkeys((*COMPILER, b"__NVCC__", b"__HIPCC__", b"__HIP_PLATFORM_AMD__", ON_DEVICE), 1)
_NUMBER = rb"\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b"
_COMPARED = re.compile(
    rb"\b(?:%(name)s)\b[\s\\]*(?:[<>]=?|[=!]=)[\s\\]*%(number)s|%(number)s[\s\\]*(?:[<>]=?|[=!]=)[\s\\]*\b(?:%(name)s)\b"
    % {b"name": b"|".join(sorted(VERSIONS)), b"number": _NUMBER}
)
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_THERE = _WORDS.compile(rb"\bdefined[\s\\]*\(?[\s\\]*(?:(?&release_macros)|" + b"|".join(_MAJOR) + rb")_V?\w*")
_CONDITION = re.compile(rb"#[ \t]*(?:el)?if\b(.*)", re.DOTALL)
WORD = re.compile(rb"[A-Za-z_]\w*")
_ARCHITECTURE = _WORDS.compile(rb"\b(?&arch)\b")
_OF_AMD = _WORDS.compile(rb"(?:^|_)(?&of_amd)(?:_|$)")
#: The compiler before hipcc, which no current ROCm has.
_OLD_COMPILER = b"__HIP_PLATFORM_HCC__"
ASKS = re.compile(rb"#[ \t]*ifn?def[\s\\]+$|\bdefined[\s\\]*\(?[\s\\]*$")


class _Chain(NamedTuple):
    """The conditions of an `#if` and its `#elif`s, and the program's macros in them.

    For each condition: its text, its span, and the text that must precede it there, because `#ifdef A` has another
    form.
    """

    parts: tuple[tuple[bytes, Span, bytes], ...]
    others: tuple[bytes, ...]

    def _taken(self, texts: Iterable[bytes], macros: dict[bytes, int], on_hip: bool = False) -> int:
        """Return the index of the branch that is taken."""
        for number, text in enumerate(texts):
            known = macros
            # A test for device code alone is renamed.
            if on_hip and _only_asks(text):
                known = macros | {b"__CUDA_ARCH__": 1}
            if _holds(preprocessor_values.tokens(text), known):
                return number
        return len(self.parts)

    def _assigned(self) -> Iterator[dict[bytes, int]]:
        """Yield the possible values of the program's own macros."""
        for values in product((0, 1), repeat=len(self.others)):
            yield {name: value for name, value in zip(self.others, values, strict=True) if value}

    def taken_now(self) -> set[int]:
        """Return the indices of the branches that AMD takes without a change."""
        texts = [text for text, _, _ in self.parts]
        return {self._taken(texts, given | _ON_AMD, on_hip=True) for given in self._assigned()}

    def taken_on_newest(self) -> set[int]:
        """Return the indices of the branches that the newest CUDA takes for the newest GPU."""
        texts = [text for text, _, _ in self.parts]
        return {self._taken(texts, given | NEWEST) for given in self._assigned()}

    def settled(self, source: Cpp, since: int, until: int) -> tuple[set[int], tuple[Edit, ...]] | None:
        """Return the branches that all those GPUs and releases take, and the edits that make AMD take them."""
        texts = [text for text, _, _ in self.parts]
        if any(_THERE.search(text) for text in texts):
            return None  # The inclusion of a library's header does not depend on CUDA's release.
        those = _from(since, until, b" ".join(texts))
        wanted, *others = ([self._taken(texts, given | known) for given in self._assigned()] for known in those)
        if any(each != wanted for each in others):
            return None
        edits: list[Edit] = []
        changed = []
        for number, (text, span, before) in enumerate(self.parts):
            here = _made_amd(source, text, those) if number <= max(wanted) else []
            if b"__CUDA_ARCH__" in text and (before or _only_asks(text)):
                here = []  # A test for device code alone is renamed.
            new = text
            for each in sorted(here, key=lambda each: each.span.start, reverse=True):
                new = new[: each.span.start] + each.new + new[each.span.end :]
            changed.append(new.replace(MARK, b""))
            if before and here:
                edits.append(Edit(span, before + new))
            else:
                for each in here:
                    at = Span(span.start + each.span.start, span.start + each.span.end)
                    edits.append(Edit(at, each.new))
        if not edits:
            return None  # A test for device code alone is renamed, and the host continues with the next condition.
        if wanted != [self._taken(changed, given | _ON_AMD, on_hip=True) for given in self._assigned()]:
            return None
        return set(wanted), tuple(edits)


def _only_asks(text: bytes) -> bool:
    """Return whether a condition never compares `__CUDA_ARCH__` with a number."""
    return all(ASKS.search(text[: each.start()]) for each in _ARCHITECTURE.finditer(text))


def _from(since: int, until: int, text: bytes) -> list[dict[bytes, int]]:
    """Return GPUs from `since` to `until`, and releases since the oldest, that the conditions may distinguish."""
    low, high = OLDEST | {b"__CUDA_ARCH__": since}, NEWEST | {b"__CUDA_ARCH__": until}
    near = {int(number) + step for number in re.findall(rb"\b[1-9]\d{1,5}\b", text) for step in (-1, 0, 1)}
    return [
        low,
        high,
        *(low | {b"__CUDA_ARCH__": each} for each in sorted(near) if since < each < until),
        *(low | {name: each for name in _RELEASES if each > OLDEST[name]} for each in sorted(near)),
    ]


def chain_of(source: Cpp, group: tuple[Conditional, ...], as_asked: bool = False) -> _Chain | None:
    """Return the conditions of a group, if they can be read; `as_asked`, without what an earlier run added to them."""
    if any(part.tells(source.known_on_hip) for part in group):
        return None
    parts = []
    names: set[bytes] = set()
    for part in group:
        if part.word in (b"else", b"endif"):
            continue
        match = _CONDITION.match(source.code, part.span.start, part.span.end)
        if match is not None:
            parts.append((part.asked if as_asked else match[1], Span(*match.span(1)), b""))
        else:
            # `#ifdef A` becomes an `#if` if the condition gets another operand.
            word = source.code.index(b"if", part.span.start)
            end = part.span.start + len(source.code[part.span.start : part.span.end].rstrip())
            parts.append((part.asked if as_asked else part.condition, Span(word, end), b"if "))
        text = parts[-1][0]
        names.update(WORD.findall(b" ".join(preprocessor_values.tokens(text))))
    others = sorted(name for name in names if name not in OLDEST and name not in _ON_AMD and name != b"defined")
    return _Chain(tuple(parts), tuple(others)) if len(others) <= 4 else None


def branch_of(group: tuple[Conditional, ...], number: int) -> Span | None:
    """Return the contents of the branch with an index; None if there is no such branch."""
    return Span(group[number].span.end, group[number + 1].span.start) if number < len(group) - 1 else None


#: GPUs of one compute capability up to another, both with three digits.
Range: TypeAlias = tuple[int, int]


def only_errors(source: Cpp, group: tuple[Conditional, ...], chain: _Chain) -> bool:
    """Return whether AMD reaches nothing but an `#error`. Raises UnreadableChain."""
    left = (branch_of(group, number) for number in chain.taken_now())
    return all(each is not None and _ERRORS.fullmatch(source.code, each.start, each.end) for each in left)


def ranges_of(source: Cpp, group: tuple[Conditional, ...], instead: bool) -> Iterator[Range]:
    """Yield the GPUs whose branch may be AMD's; `instead` of an error or of nothing, some have to have one."""
    # GPUs before 6.0 have no atomicAdd of double; its substitute is slow on AMD too.
    doubles = b"atomicAdd" in source.code[group[0].span.start : group[-1].span.start]
    yield 600 if doubles else OLDEST[b"__CUDA_ARCH__"], NEWEST[b"__CUDA_ARCH__"]
    if instead:
        yield _ALONE, NEWEST[b"__CUDA_ARCH__"]


def several(group: tuple[Conditional, ...]) -> Iterator[Range]:
    """Yield the GPUs whose branch AMD takes instead of an error where no branch is for all of today's."""
    if group[0].word == b"if" and len(group) > 3:
        yield _LAST, _LAST


class Branches(NamedTuple):
    """Branches that AMD may get: `certain` ones whatever they contain, because it would reach an `#error` otherwise."""

    certain: tuple[Span, ...]
    perhaps: tuple[Span, ...]


def for_amd(source: Cpp) -> Branches:
    """Return the branches that AMD gets, as if no earlier run had decided, if all that they contain can be ported."""
    certain: list[Span] = []
    perhaps: list[Span] = []
    for group in source.conditionals if NAME.search(source.code) else ():
        chain = chain_of(source, group, as_asked=True)
        try:
            if chain is None:
                continue
            is_error = only_errors(source, group, chain)
            alone = len(group) == 2 and [*chain.taken_now()] == [1]
            for since, until in (*ranges_of(source, group, is_error or alone), *(several(group) if is_error else ())):
                settled = chain.settled(source, since, until)
                if settled is not None:
                    found = certain if is_error else perhaps
                    found += filter(None, (branch_of(group, number) for number in settled[0]))
                    break
        except UnreadableChain:
            continue
    return Branches(tuple(sorted(certain)), tuple(sorted(perhaps)))


def _made_amd(source: Cpp, text: bytes, those: list[dict[bytes, int]]) -> list[Edit]:
    """Return the edits to a condition that give AMD the result that all of `those` GPUs and releases have."""
    words = {token for token in preprocessor_values.tokens(text) if WORD.fullmatch(token)} - {
        b"defined",
        *EQUALS.values(),
    }
    if words.isdisjoint(VERSIONS):
        return []
    whole = _with_amd(source, text, 0, text, those)
    if words <= VERSIONS:
        return whole
    parts = [
        edit
        for match in _COMPARED.finditer(text)
        for edit in _with_amd(source, text, match.start(), match.group(), those)
    ]
    return parts or (whole if words <= OLDEST.keys() else [])


def _with_amd(source: Cpp, text: bytes, start: int, part: bytes, those: list[dict[bytes, int]]) -> list[Edit]:
    """Return the edits to a part of a condition that has one result for all GPUs and releases, and another for AMD."""
    condition = preprocessor_values.tokens(part)
    answers = {_holds(condition, known) for known in those}
    if len(answers) > 1 or _holds(condition, _ON_AMD) in answers:
        return []
    names = [ON_DEVICE] if b"__CUDA_ARCH__" in condition else [b"__HIPCC__"]
    if names == [b"__HIPCC__"] and not isinstance(source, Cuda):
        names.append(b"__HIP_PLATFORM_AMD__")  # For a host compiler, to which builds pass this macro.
    sign = b" || defined(" if True in answers else b" && !defined("
    before, after = b"", b"".join(sign + each + b")" for each in names) + MARK
    if part != text:
        before, after = b"(", after + b")"
    elif False in answers and b"||" in condition:
        before, after = b"(", b")" + after
    first, end = start + len(part) - len(part.lstrip()), start + len(part.rstrip())
    return [Edit(Span(first, first), before), Edit(Span(end, end), after)] if before else [Edit(Span(end, end), after)]


def asked_text(source: Cpp, part: Conditional) -> bytes:
    """Return the directive, without what an earlier run has added to its condition."""
    if part.word in (b"if", b"elif"):
        return b"#" + part.word + b" " + part.asked
    return source.code[part.span.start : part.span.end]


def all_ask(code: bytes, directive: Span) -> bool:
    """Return whether the directive only tests whether `__CUDA_ARCH__` is defined, and compares it with nothing."""
    return all(
        ASKS.search(code[directive.start : match.start()])
        for match in _ARCHITECTURE.finditer(code, directive.start, directive.end)
    )


def as_on_the_newest(directive: bytes, given: dict[bytes, int] | None = None) -> bool:
    """Return whether AMD takes the branch of the newest CUDA, for all values of macros that are not `given`."""
    given = given or {}
    match = _CONDITION.match(directive)
    if match is None:
        return False
    condition = preprocessor_values.tokens(match[1])
    names = {token for token in condition if WORD.fullmatch(token) and not NAME.fullmatch(token)}
    others = sorted(names - {b"defined"} - given.keys())
    if len(others) > 4:
        return False
    try:
        for values in product((0, 1), repeat=len(others)):
            known = {name: value for name, value in given.items() if value} | dict(zip(others, values, strict=True))
            newest = NEWEST
            if ON_DEVICE in others and not known[ON_DEVICE]:  # In a host compilation CUDA defines none either.
                newest = {name: value for name, value in NEWEST.items() if name != b"__CUDA_ARCH__"}
            if _holds(condition, known) is not _holds(condition, known | newest):
                return False
    except UnreadableChain:
        return False
    return True


def is_undecided(directive: bytes) -> bool:
    """Return whether a condition that tests for AMD still depends on a release or GPU of NVIDIA's when compiled for
    AMD.
    """
    words = set(WORD.findall(directive))
    of_amd = {word for word in words if _OF_AMD.search(word)}
    if not of_amd or any(b"VERSION" in word for word in of_amd):
        return False
    # Macros that are defined for AMD, without the one that only device compilation defines.
    amd = dict.fromkeys(of_amd - {b"__HIP_DEVICE_COMPILE__"}, 1)
    return not as_on_the_newest(directive, amd | {_OLD_COMPILER: 0})


class UnreadableChain(Exception):
    """A condition that depends on more than the given macros."""


class _Defined(NamedTuple):
    """The defined macros with their values; a program's own macro is absent if it is 0."""

    known: Mapping[bytes, int]

    def defined(self, name: bytes) -> bool:
        return name in self.known if name in OLDEST else bool(self.known.get(name))

    def number(self, name: bytes) -> int:
        return self.known.get(name, 0)


def _holds(condition: list[bytes], known: Mapping[bytes, int]) -> bool:
    """Return whether the condition with these tokens holds. Raises Unreadable."""
    found = preprocessor_values.value(condition, _Defined(known))
    if found is None:
        raise UnreadableChain
    return found != 0

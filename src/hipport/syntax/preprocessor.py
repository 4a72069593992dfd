# SPDX-License-Identifier: Apache-2.0
"""Conditions of the preprocessor, and their values in HIP compilations for AMD and in CUDA compilations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.syntax.cuda_names import HIP_FOLDER, HIP_START, LIBRARY, NEGATION, WITH_HIP_FOLDER
from hipport.syntax.own_guards import MARK, asked, ends_marked
from hipport.syntax.preprocessor_values import tokens, value
from hipport.syntax.vocabulary import IDENTIFIER, WORDS

_CONDITIONAL = re.compile(rb"\#[ \t]*(?P<word>(?:el)?ifn?def|(?:el)?if|else|endif)(?![\w$])(?P<rest>.*)", re.DOTALL)

# Macros that every HIP compilation for AMD defines as 1 (by hipcc, its headers, or, for USE_ROCM, the extension build
# of PyTorch), macros that it defines as something else, and macros that only its device side defines.
_TRUE_ON_HIP = frozenset(b"USE_ROCM __HIP_PLATFORM_AMD__ __HIPCC__ __HIP__".split())
_DEFINED_ON_HIP = _TRUE_ON_HIP | frozenset(b"HIP_VERSION ROCM_VERSION TORCH_HIP_VERSION".split())
_ON_HIP_DEVICE = re.compile(rb"__HIP_DEVICE_COMPILE__|__(?:AMD|GFX|gfx)\w*")
# Families of GPUs by their default wavefront size (LLVM, AMDGPU usage).
_OF_32_LANES = re.compile(rb"__gfx1[0-2]\w+__|__GFX1[0-2]__")
_OF_64_LANES = re.compile(rb"__gfx[6-9]\w+__|__GFX[6-9]__")
_WAVEFRONT_SIZE = re.compile(rb"__AMDGCN_WAVEFRONT_SIZE(?:__)?")
_OF_WAVES = re.compile(rb"__(?:gfx|GFX|AMDGCN_W)")
# Macros that a build may define for HIP, or that HIP defined before ROCm 6. Code that depends on one also has to work
# in the branch without it.
_PERHAPS_ON_HIP = frozenset(b"__HIP_PLATFORM_HCC__ __HCC__ WITH_HIP USE_HIP IS_HIP".split())
# The program's own macros for HIP: BNB_HIP, USE_AMD_ROCM, GGML_USE_HIP. A macro for a feature has more: FOO_HIP_GRAPHS.
_SAYS_HIP = re.compile(
    rb"(?!.*(?:" + NEGATION + rb"|CUDA|NVCC)_)"
    rb"(?:[A-Z][A-Z0-9_]*_(?:HIP|ROCM|HIPCC)|(?:HIP|ROCM)_(?:ENABLED|FOUND|AVAILABLE))"
)
# Headers of either platform, in a program that has both: HIP's, or the program's own with HIP in the name
# ("cuda_to_hip.h", "rocm_compat.h"), and CUDA's or those that hipport replaces.
_OWN_OF_HIP = rb"\"[^\"\r\n]*(?<![A-Za-z])(?:hip|rocm|HIP|ROC[mM])(?![a-z])[^\"\r\n]*\""
_OF_HIP = re.compile(
    rb"#\s*include\s*(?:[<\"](?:(?:"
    + WITH_HIP_FOLDER
    + rb"/)?hip/|hip"
    + LIBRARY
    + rb"/|roc\w+/|"
    + HIP_FOLDER
    + rb"/)|"
    + _OWN_OF_HIP
    + rb")"
)
#: Headers that only code for HIP includes under no condition; paths in the sources of a build may lead to them.
HEADER_OF_HIP = re.compile(rb"(?:(?:.*/)?" + WITH_HIP_FOLDER + rb"/)?hip/.*|" + HIP_FOLDER + rb"/.*")
#: Names that only HIP, PyTorch for HIP and AMD's compiler have.
NAME_OF_HIP = re.compile(rb"\b" + HIP_START)
_OF_CUDA = re.compile(
    rb"#\s*include\s*(?!" + _OWN_OF_HIP + rb")[<\"](?:cu(?:da|b/|" + LIBRARY + rb")|cooperative_groups|nccl)"
)
# Names that only one of the two declares.
_HIP_NAME = re.compile(rb"\bhip(?:" + LIBRARY + rb"|cub)?[A-Z]\w+|\b" + HIP_START + rb"\w+")
_CUDA_NAME = re.compile(rb"\bcu(?:da|dnn|" + LIBRARY + rb")[A-Z]\w+")
# The program's own macros for NVIDIA, where it tells the two apart: HAVE_CUDA, GOOGLE_CUDA, CUDA_FOUND. Not WITH_CUDA:
# extensions of PyTorch define that for ROCm as well, where CUDAExtension builds them.
_SAYS_CUDA = re.compile(
    rb"(?!(?:.*_)?WITH_CUDA)(?!.*(?:" + NEGATION + rb"|HIP|ROCM)_)"
    rb"(?:[A-Z][A-Z0-9_]*_(?:CUDA|NVCC)|CUDA_(?:ENABLED|FOUND|AVAILABLE))"
)
_NEVER_ON_HIP = frozenset(b"__HIP_PLATFORM_NVIDIA__ __HIP_PLATFORM_NVCC__".split())
_DEFINED_BY_NVCC = frozenset(b"__CUDACC__ __NVCC__ __CUDA_ARCH__ CUDA_VERSION CUDART_VERSION USE_CUDA".split())
_WORD = re.compile(rb"[^\s\\]+")
# The right side of a comparison with a macro.
_VALUE = re.compile(rb"[A-Za-z_]\w*|\d+")
# PyTorch's own builds define it, and programs select the CUDA side by it.
_MAY_CHOOSE = frozenset((b"USE_CUDA",))
# Macros that are known already, and a word that is not a macro.
_TOLD = _DEFINED_ON_HIP | _NEVER_ON_HIP | _DEFINED_BY_NVCC | frozenset((b"defined",))

# One macro that says that CUDA, or its compiler, is available.
_THERE_IS_CUDA = re.compile(rb"(?P<not>!)?defined(?:__CUDACC__|__NVCC__|__HIPCC__|(?!NO|\w*_NO_)\w*CUDA\w*)")


@dataclass(frozen=True, slots=True)
class Conditional:
    """`#if`, `#elif`, `#else` or `#endif`. An `#ifdef X` has a `condition` too, `defined(X)`.

    `asked` is the condition without hipport's additions for AMD.
    """

    span: Span
    word: bytes
    condition: bytes
    asked: bytes

    def tells(self, known: AbstractSet[bytes] = frozenset()) -> bool:
        """Whether the condition tells AMD from NVIDIA, by the program's macros in `known` or by HIP's."""
        return any(
            name in _DEFINED_ON_HIP or name in _NEVER_ON_HIP or name in known or _ON_HIP_DEVICE.fullmatch(name)
            for name in IDENTIFIER.findall(self.asked)
        ) or not known.isdisjoint(_compared(tokens(self.asked)))


def grouped(code: bytes, text: bytes, directives: Iterable[Span]) -> tuple[tuple[Conditional, ...], ...]:
    """Return the directives of each `#if` … `#endif`; inner groups precede the group that contains them."""
    groups: list[tuple[Conditional, ...]] = []
    stack: list[list[Conditional]] = []
    for directive in directives:
        match = _CONDITIONAL.fullmatch(code, directive.start, directive.end)
        if match is None:
            continue
        word, rest = match["word"], match["rest"]
        if word.endswith(b"def"):
            # Also if its lines are spliced.
            name = _WORD.search(rest)
            rest = (b"!" if b"n" in word else b"") + b"defined(" + (name[0] if name else b"?") + b")"
        written = slice(*match.span("rest"))
        said = rest + MARK if ends_marked(text[written]) else rest
        before = asked(rest, said if word.endswith(b"def") else text[written])
        part = Conditional(directive, word, rest, before)
        if word.startswith(b"if"):
            stack.append([part])
        elif stack:
            stack[-1].append(part)
            if word == b"endif":
                groups.append(tuple(stack.pop()))
    return tuple(groups)


def without_cuda(groups: Iterable[tuple[Conditional, ...]]) -> tuple[Span, ...]:
    """Return the stretches that no compilation for CUDA sees: `#ifndef __CUDACC__`, and the `#else` of its opposite."""
    found = []
    for group in groups:
        condition = b"".join(group[0].asked.split()).replace(b"defined(", b"defined").rstrip(b")")
        match = _THERE_IS_CUDA.fullmatch(condition)
        if (
            match is None
            or len(group) > 3
            or group[-1].word != b"endif"
            or (len(group) == 3 and group[1].word != b"else")
        ):
            continue
        if match["not"]:
            found.append(Span(group[0].span.end, group[1].span.start))
        elif len(group) == 3:
            found.append(Span(group[1].span.end, group[2].span.start))
    return outermost(found)


def left_to_hip(groups: Iterable[tuple[Conditional, ...]]) -> tuple[Span, ...]:
    """Return the stretches that hipport hid from HIP: they are the program's code, and are ported like the rest."""
    return outermost(
        [
            Span(part.span.end, following.span.start)
            for group in groups
            for part, following in pairwise(group)
            if part.asked != part.condition
            and condition(part.condition, hip=True) is False
            and condition(part.asked, hip=True) is not False
        ]
    )


def chosen_between(
    groups: Iterable[tuple[Conditional, ...]], sides: Callable[[Span], AbstractSet[str]]
) -> Iterator[tuple[tuple[Conditional, ...], frozenset[bytes]]]:
    """Yield the groups that choose between HIP's code and CUDA's, and the macros that must be defined for HIP's.

    `sides` says whose code a branch contains: `hip`, `cuda`, both or none.
    """
    for group in groups:
        if len(group) < 3:
            continue  # there is only one branch
        of = [sides(Span(part.span.end, following.span.start)) for part, following in pairwise(group)]
        if {"hip"} not in of or not any("cuda" in each and "hip" not in each for each in of):
            continue
        number = of.index({"hip"})
        names = {name for part in group for name in IDENTIFIER.findall(part.condition)}
        names |= {each for part in group for each in _compared(tokens(part.condition))}
        yield group, frozenset(name for name in names - _TOLD if _branch_with(name, group) == number)


class Conditioned(NamedTuple):
    """A file as `beside` needs it; `sides` is as for `chosen_between`."""

    groups: Sequence[tuple[Conditional, ...]]
    code: bytes
    sides: Callable[[Span], AbstractSet[str]]


class _Alone(NamedTuple):
    """An `#if` without other branches that depends on one macro."""

    span: Span
    name: bytes
    content: AbstractSet[str]


def beside(files: Iterable[Conditioned]) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Return the macros that choose HIP's code and those that choose CUDA's, each in an `#if` of its own.

    Wherever code depends on CUDA's macro, code that depends on HIP's stands next to it, with only blanks between, and
    no other condition uses CUDA's macro without HIP's: otherwise no backend would cover the code that it guards.
    """
    rows: list[tuple[bytes, list[_Alone]]] = []
    others: list[frozenset[bytes]] = []
    for groups, code, sides in files:
        alone: list[_Alone] = []
        for group in groups:
            branch = Span(group[0].span.end, group[-1].span.start)
            if len(group) == 2 and (name := _asked_alone(group[0])):
                if code[branch.start : branch.end].strip():
                    alone.append(_Alone(Span(group[0].span.start, group[1].span.end), name, sides(branch)))
            else:
                others.append(frozenset(name for part in group for name in IDENTIFIER.findall(part.asked)))
        rows.append((code, sorted(alone)))
    every = [each for _, alone in rows for each in alone]
    hip = {each.name for each in every if each.content == {"hip"}} - {
        each.name for each in every if "cuda" in each.content
    }
    cuda = {each.name for each in every if each.content == {"cuda"}} - hip
    for code, alone in rows:
        for number, (span, name, content) in enumerate(alone):
            near = (alone[other] for other in (number - 1, number + 1) if 0 <= other < len(alone))
            covered = "hip" not in content and any(
                of in hip and not code[min(span.end, place.end) : max(span.start, place.start)].strip()
                for place, of, _ in near
            )
            cuda -= set() if covered else {name}
    for names in others:
        cuda -= set() if names & (hip | _DEFINED_ON_HIP) else names
    return (frozenset(hip - _TOLD), frozenset(cuda - (_TOLD - _MAY_CHOOSE))) if cuda else (frozenset(), frozenset())


def _asked_alone(part: Conditional) -> bytes:
    """Return the one macro that must be defined for a condition to hold; empty for other conditions."""
    names = {name for name in IDENTIFIER.findall(part.asked) if name != b"defined"}
    if len(names) != 1:
        return b""
    (name,) = names
    return name if condition(part.asked, hip=True, chosen=frozenset(names)) else b""


def _branch_with(name: bytes, group: tuple[Conditional, ...]) -> int | None:
    """Return the index of the branch that HIP sees only if the macro is defined, as far as is known."""
    alone = frozenset((name,))
    for number, part in enumerate(group[:-1]):
        if part.word == b"else":
            return None
        if condition(part.condition, hip=True, chosen=alone):
            return number if not condition(part.condition, hip=True) else None
    return None


def side_of(text: bytes, code: bytes) -> set[str]:
    """Return whose headers and functions a text and its code contain: `hip`, `cuda`, both or none."""
    found = set()
    # Most texts have neither, and these tests find that out much faster.
    if (b"#" in text and _OF_HIP.search(text)) or _HIP_NAME.search(code):
        found.add("hip")
    if b"cu" in text and (_OF_CUDA.search(text) or _CUDA_NAME.search(code)):
        found.add("cuda")
    return found


def chosen_on_hip(text: bytes, code: bytes, groups: Iterable[tuple[Conditional, ...]]) -> frozenset[bytes]:
    """Return the program's macros that the text shows every HIP compilation has to define.

    `#ifdef USE_HIP` around HIP's headers or functions and `#else` around CUDA's: without the macro there is no HIP.
    """
    found = set()
    for group in groups:
        for name in {name for part in group for name in names_for_hip(part.condition)}:
            if _chosen_by(name, group, text, code):
                found.add(name)
    return frozenset(found)


def _chosen_by(name: bytes, group: tuple[Conditional, ...], text: bytes, code: bytes) -> bool:
    """Whether HIP gets its branch of the group only if the macro is defined, and CUDA has a branch of its own."""
    alone = frozenset((name,))
    with_hip: list[bool] = []
    live = False
    for part, following in pairwise(group):
        here = Span(part.span.end, following.span.start)
        includes, names = text[here.start : here.end], code[here.start : here.end]
        of_hip = bool(_OF_HIP.search(includes) or _HIP_NAME.search(names))
        of_cuda = bool(_OF_CUDA.search(includes) or _CUDA_NAME.search(names))
        if not live and (part.word == b"else" or condition(part.condition, hip=True, chosen=alone)):
            if not of_hip or _OF_CUDA.search(includes):
                return False
            live = True
        else:
            with_hip += [of_hip] if of_cuda else []
    return live and False in with_hip


def branches(
    groups: Iterable[tuple[Conditional, ...]], chosen: frozenset[bytes], unset: frozenset[bytes] = frozenset()
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the stretches that no HIP compilation for AMD sees, and those that only a HIP compilation sees.

    `chosen` are macros of the program that are defined on HIP, `unset` those that are defined only for CUDA.
    """
    dead: list[Span] = []
    alive: list[Span] = []
    for group in groups:
        told = any(part.tells(chosen) for part in group)
        # Whether HIP and CUDA may still see a branch: not after one that they certainly see.
        hip_may: bool | None = True
        cuda_may: bool | None = True
        for part, following in pairwise(group):
            # Where the author tells the two apart, the whole written condition was intended.
            text = part.condition if told else part.asked
            here_hip = part.word == b"else" or condition(text, hip=True, told=told, chosen=chosen, unset=unset)
            here_cuda = part.word == b"else" or condition(text, hip=False, chosen=chosen)
            if here_hip is False and here_cuda is False:
                # `defined(__CUDACC__) && defined(USE_ROCM)`: PyTorch's hipify turns the former into a macro that hipcc
                # defines.
                here_hip = condition(text, hip=True, chosen=chosen, unset=unset)
            hip, hip_may = _and(hip_may, here_hip), _and(hip_may, _not(here_hip))
            cuda, cuda_may = _and(cuda_may, here_cuda), _and(cuda_may, _not(here_cuda))
            branch = Span(part.span.end, following.span.start)
            if hip is False and cuda is not False:
                dead.append(branch)
            elif cuda is False and hip is not False:
                alive.append(branch)
    return outermost(dead), outermost(alive)


def waves(
    groups: Iterable[tuple[Conditional, ...]], chosen: frozenset[bytes]
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return the stretches that GPUs with wavefronts of 64 lanes never see, and those that GPUs with 32 never see."""
    found: dict[int, list[Span]] = {64: [], 32: []}
    for group in groups:
        if not any(_OF_WAVES.search(part.condition) for part in group):
            continue
        for lanes, unseen in found.items():
            may: bool | None = True
            for part, following in pairwise(group):
                here: bool | None = True
                if part.word != b"else":
                    number = value(tokens(part.condition), _Waves(lanes, chosen))
                    here = None if number is None else number != 0
                if _and(may, here) is False:
                    unseen.append(Span(part.span.end, following.span.start))
                may = _and(may, _not(here))
    return outermost(found[64]), outermost(found[32])


def exclusive(groups: Iterable[tuple[Conditional, ...]], one: int, other: int) -> bool:
    """Whether two places are in different branches of an `#if`, so that no compilation sees both."""
    return any(
        group[0].span.start < min(one, other)
        and max(one, other) < group[-1].span.start
        and any(one < part.span.start <= other or other < part.span.start <= one for part in group)
        for group in groups
    )


def condition(
    text: bytes,
    *,
    hip: bool,
    told: bool = False,
    chosen: frozenset[bytes] = frozenset(),
    unset: frozenset[bytes] = frozenset(),
) -> bool | None:
    """Evaluate a preprocessor condition as a HIP compilation for AMD (or an nvcc one) would; None where unknown.

    `told`: the program tells AMD from NVIDIA here, so macros that only nvcc defines are indeed undefined on HIP.
    Elsewhere `__CUDACC__` marks code for the device, which a port has to keep. `chosen` are macros of the program that
    are defined on HIP, `unset` those that are defined only for CUDA. Any other macro may have any value.
    """
    found = value(_folded(tokens(text), chosen, hip=hip), _Macros(hip, told, chosen, unset))
    return None if found is None else found != 0


def _compared(of: list[bytes]) -> Iterator[bytes]:
    """Yield comparisons of macros, each as one word: `GPU_BACKEND == BACKEND_HIP`, `GPU_BACKEND == 2`."""
    for number, token in enumerate(of[1:-1], 1):
        one, other = of[number - 1], of[number + 1]
        if token in (b"==", b"!=") and IDENTIFIER.fullmatch(one) and _VALUE.fullmatch(other):
            yield one + b"==" + other
            if token == b"!=":
                yield one + b"==!" + other  # any other comparison


def _folded(of: list[bytes], chosen: frozenset[bytes], *, hip: bool) -> list[bytes]:
    """Return the tokens with comparisons evaluated whose macro has a value on HIP that is among the `chosen`.

    For CUDA the macro has another value.
    """
    values = dict(each.split(b"==") for each in chosen if b"==" in each)
    found: list[bytes] = []
    for token in of:
        found.append(token)
        if not values or len(found) < 3 or found[-2] not in (b"==", b"!=") or found[-3] not in values:
            continue
        on_hip, known = values[found[-3]], _VALUE.fullmatch(token)
        if known and (hip or token == on_hip.removeprefix(b"!")):
            equal = (token == on_hip) if hip else (token != on_hip)
            found[-3:] = [b"1" if equal == (found[-2] == b"==") else b"0"]
    return found


class _Macros(NamedTuple):
    """The macros that a compilation for HIP, or for CUDA, knows: see `condition`."""

    hip: bool
    told: bool
    chosen: frozenset[bytes]
    unset: frozenset[bytes] = frozenset()

    def defined(self, name: bytes) -> bool | None:
        if name in _NEVER_ON_HIP or (self.hip and name in self.unset):
            return False
        if name in _DEFINED_ON_HIP or name in self.chosen:
            return self.hip
        if _perhaps_on_hip(name) or _ON_HIP_DEVICE.fullmatch(name):
            return None if self.hip else False
        nvidia = name in _DEFINED_BY_NVCC or _SAYS_CUDA.fullmatch(name)
        return False if self.hip and self.told and nvidia else None

    def number(self, name: bytes) -> int | None:
        if self.defined(name) is False:
            return 0
        return 1 if self.hip and (name in _TRUE_ON_HIP or name in self.chosen) else None


class _Waves(NamedTuple):
    """The macros of a compilation of device code for an AMD GPU with a given wavefront size."""

    lanes: int
    chosen: frozenset[bytes]

    def defined(self, name: bytes) -> bool | None:
        of = 32 if _OF_32_LANES.fullmatch(name) else 64 if _OF_64_LANES.fullmatch(name) else 0
        if of:
            return None if of == self.lanes else False
        if _WAVEFRONT_SIZE.fullmatch(name):
            return True
        return _Macros(True, True, self.chosen).defined(name)

    def number(self, name: bytes) -> int | None:
        if _WAVEFRONT_SIZE.fullmatch(name):
            return self.lanes
        return 0 if self.defined(name) is False else _Macros(True, True, self.chosen).number(name)


def names_for_hip(text: bytes) -> set[bytes]:
    """Return the words of the text that may be the program's own macros for HIP."""
    found = set()
    # Few words contain these, so only those words are looked at.
    parts = (b"HIP", b"ROCM", b"__HCC__") if b"HIP" in text or b"ROCM" in text else ()
    for part in parts:
        start = text.find(part)
        while start >= 0:
            end = start + len(part)
            while start and WORDS[text[start - 1]] != 0x20:
                start -= 1
            while end < len(text) and WORDS[text[end]] != 0x20:
                end += 1
            name = text[start:end].lstrip(b"0123456789")
            if _perhaps_on_hip(name):
                found.add(name)
            start = text.find(part, end)
    return found


def _perhaps_on_hip(name: bytes) -> bool:
    return name in _PERHAPS_ON_HIP or _SAYS_HIP.fullmatch(name) is not None


def _and(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a


def outermost(spans: list[Span]) -> tuple[Span, ...]:
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)

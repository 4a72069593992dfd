# SPDX-License-Identifier: Apache-2.0
"""Rewrite conditions that ask for nvcc or for device code so that hipcc answers them.

`__CUDACC__` becomes `__HIPCC__`, which hipcc defines where nvcc defines the other; `defined(__CUDA_ARCH__)` becomes
`defined(__HIP_DEVICE_COMPILE__)`. Comparisons with CUDA's versions and architectures are reported where AMD, on which
those macros are not defined and count as 0, takes another branch than the newest CUDA and NVIDIA GPU do. Where the
branches mean the same once they are ported, there is nothing to report. Where CUDA 11.0 and all later ones, or GPUs of
compute capability 5.0 and all later ones, take one branch of a chain and nothing in it is CUDA's alone, or AMD would
come to an `#error`, AMD takes that branch too, for review; so it does with code that GPUs up to compute capability 8.0
have, and others none in its place: it would silently be lost. A
condition that tells AMD from NVIDIA already is left alone, with all its branches, except that `USE_ROCM` and its like,
which PyTorch's build defines and hipcc does not, are helped by a macro that hipcc defines, in programs without PyTorch.
Runs last: once a guard names HIP, what it guards looks as if it were ported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product
from typing import NamedTuple

from hipport.finding import Certainty, Finding
from hipport.languages import conditions
from hipport.languages.cpp import Cpp, within
from hipport.languages.cuda import Cuda
from hipport.languages.preprocessor import Conditional
from hipport.pipeline import Pass
from hipport.project import Project
from hipport.source import Edit, Span
from hipport_passes import api_names
from hipport_passes.pytorch_headers import includes_pytorch

# What nvcc says of itself, and hipcc of itself; it takes extended lambdas and constexpr functions without a flag.
_COMPILER = {
    b"__CUDACC__": b"__HIPCC__",
    b"__CUDACC_RTC__": b"__HIPCC_RTC__",
    b"__CUDACC_EXTENDED_LAMBDA__": b"__HIPCC__",
    b"__CUDACC_RELAXED_CONSTEXPR__": b"__HIPCC__",
}
_NAME = re.compile(
    rb"__CUDACC(?:_RTC|_EXTENDED_LAMBDA|_RELAXED_CONSTEXPR)?__|__NVCC__|__CUDA_ARCH__|CUDA_VERSION|CUDART_VERSION|__CUDACC_VER_(?:MAJOR|MINOR|BUILD)__|CUDNN_VERSION"
)
# The oldest that programs of today are built for: CUDA 11.0 and the GPUs that CUDA 12 knows. AMD has none of them.
_OLDEST = {
    b"CUDA_VERSION": 11000,
    b"CUDART_VERSION": 11000,
    b"__CUDACC_VER_MAJOR__": 11,
    b"__CUDACC_VER_MINOR__": 0,
    b"__CUDACC_VER_BUILD__": 0,
    b"CUDNN_VERSION": 8000,
    b"__CUDA_ARCH__": 500,
    b"__NVCC__": 1,
    **dict.fromkeys(_COMPILER, 1),
}
_NEWEST = dict.fromkeys(_OLDEST, 10**7)
# The newest GPU whose features hipport ports throughout: those of 9.0 are for a person.
_ALONE = 800
# The last one whose features are.
_LAST = 890
# Macros that are numbers, and hipcc has none of; it has the others by names of its own.
_VERSIONS = _OLDEST.keys() - _COMPILER.keys() - {b"__NVCC__"}
_RELEASES = (b"CUDA_VERSION", b"CUDART_VERSION")
_ON_DEVICE = b"__HIP_DEVICE_COMPILE__"
_ON_AMD = dict.fromkeys((*_COMPILER, b"__NVCC__", b"__HIPCC__", b"__HIP_PLATFORM_AMD__", _ON_DEVICE), 1)
_NUMBER = rb"\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b"
_COMPARED = re.compile(
    rb"\b(?:%(name)s)\b[ \t]*(?:[<>]=?|[=!]=)[ \t]*%(number)s|%(number)s[ \t]*(?:[<>]=?|[=!]=)[ \t]*\b(?:%(name)s)\b"
    % {b"name": b"|".join(sorted(_VERSIONS)), b"number": _NUMBER}
)
# Code, once directives are gone.
_CODE = re.compile(rb"[;{]")
# Another name for an intrinsic, or a macro that calls one.
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+\w+(?:\([^()\n]*\))?[ \t]+(?:__|hipport::)\w", re.MULTILINE)
_CONDITION = re.compile(rb"#[ \t]*(?:el)?if\b(.*)", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_]\w*")
_ARCHITECTURE = re.compile(rb"\b__CUDA_ARCH__\b")
_DEFINES = re.compile(rb"#[ \t]*(?:define|undef)[ \t]+__CUDACC__")
_BY_BUILD = re.compile(rb"USE_ROCM|USE_HIP|WITH_HIP")
_BY_HIPCC = re.compile(rb"\b(?:__HIP_\w+__|__HIPCC__|__HIP__|HIP_VERSION|__AMDGCN__)\b")
_OF_AMD = re.compile(rb"(?:^|_)(?:HIP|HIPCC|ROCM|AMD|AMDGCN|AMDGPU|HCC)(?:_|$)")
#: The compiler before hipcc, which no ROCm of today has.
_OLD_COMPILER = b"__HIP_PLATFORM_HCC__"
# What is in no branch that is ported as a whole: PTX, and names that look like CUDA's.
_NOT_PORTED = re.compile(
    rb"^[ \t]*#[ \t]*error|\b(?:__)?asm(?:__)?\b|\b(?:cuda\w+|cu[A-Z]\w*|CUDA_\w+|(?:__)?nv\w+)|(?<!::)\bcuda::",
    re.M,
)
_STRING = re.compile(rb"\"[^\"]*\"|'[^']*'")
# A stand-in for __ldg that loads, which is what HIP's does.
_LOADS = re.compile(
    rb"\s*(?:template\s*<[^<>]*>\s*)?[\w\s]*\b__ldg\s*\(\s*(?:const\s+\w+|\w+\s+const)\s*\*\s*(?:__restrict__\s*)?(\w+)\s*\)"
    rb"\s*\{\s*return\s*(?:\*\s*\1|\1\s*\[\s*0\s*\])\s*;\s*\}\s*"
    rb"|\s*#[ \t]*define[ \t]+__ldg(?:\((\w+)\)[ \t]+\(?[ \t]*\*[ \t]*\(?\2\)?[ \t]*\)?|[ \t]+\*)\s*"
)
_ERRORS = re.compile(rb"\s*(?:#[ \t]*error\b[^\n]*\s*)+")
# What compares as it is written: with its bracket the name of a macro that has arguments.
_WRITTEN = re.compile(rb"#[ \t]*define[ \t]+\w+\(?|[\w.]+|::|[^\s\w]")
_INCLUDE = re.compile(rb"\s*#[ \t]*include\b")
_DECLARE = frozenset(f"hip/{name}.h" for name in ("hip_runtime", "hip_runtime_api", "hip_cooperative_groups"))
_BRACKETED = re.compile(rb"(?<=[(,] )\( (?!__VA_ARGS__)(\w+) \)(?= [,)])")
_MASKED = re.compile(rb"hipport :: (all|any|ballot|shfl(?:_up|_down|_xor)?)_sync \( ((?:[^,()]|\( [^,()]* \))+?) , ")
_FULL = re.compile(
    rb"\(*(?:0[xX][fF]{8}[uUlL]*|~0[uUlL]*|(?:\(unsigned(?:int)?\))?-1|4294967295[uUlL]*|UINT(?:32)?_MAX)\)*"
)
_CONSTANT = re.compile(
    rb"#[ \t]*define[ \t]+(\w+)[ \t]+([^\r\n]+)|\b(?:const|constexpr)\b[\w\s:]*?\b(\w+)\s*[={]\s*([^;}]+)"
)
_IFDEF = re.compile(rb"(if)(n?)def[ \t]+$")
_DEFINED = re.compile(rb"\bdefined[ \t]*(?:(\()[ \t]*)?$")
_ASKS = re.compile(rb"#[ \t]*ifn?def[ \t]+$|\bdefined[ \t]*\(?[ \t]*$")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per name that is renamed, and per condition that a person must look at."""
    if not any(word in source.text for word in (b"__CUDA", b"__NVCC__", b"_VERSION", b"USE_", b"WITH_HIP")):
        return
    yield from _build_macros(source, project)
    code = source.code
    told = {
        part.span: not any(before.tells(source.known_on_hip) for before in group[:number])
        for group in source.conditionals
        if any(part.tells(source.known_on_hip) for part in group)
        for number, part in enumerate(group)
    }
    # The host goes on behind what asks for device code, to a release that is asked for, say.
    host_alone = {
        part.span
        for group in source.conditionals
        if _asks_for_device(group[0])
        for number, part in enumerate(group)
        if number and not any(other.tells(source.known_on_hip) for other in group[1 : number + 1])
    }
    parts = {part.span.start: part.span for group in source.conditionals for part in group}
    reported: set[int] = set()
    for span, name in source.names(_NAME):
        directive = source.directive(span.start)
        if name == b"__CUDA_ARCH__" and directive is None:
            compared = api_names.settled(code, span)
            if compared is not None and not within(span.start, source.cuda_only):
                written = code[span.start : compared[0].end].decode(errors="replace")
                yield Finding(
                    compared[0],
                    "value",
                    f"{written} → {compared[1].decode()}, as for every NVIDIA GPU since compute capability 5.0; "
                    "assumes that what is right for all of them is right for AMD",
                    (Edit(*compared),),
                    Certainty.REVIEW,
                )
                continue
            condition = api_names.asserted(source, span)
            if condition is not None and condition.start == span.start and not within(span.start, source.cuda_only):
                yield Finding(
                    condition,
                    "assertion",
                    "holds on AMD, which has other architectures; assumes that what needs the one that is asked for is "
                    "ported, or reported by itself",
                    (Edit(condition, b"true"),),
                    Certainty.REVIEW,
                )
        if directive is None or source.ported(span.start):
            continue
        if directive.start not in parts:
            if name in _COMPILER:
                yield _outside(source, span, name, directive)
            continue
        text = code[directive.start : directive.end]
        if parts[directive.start] in told:
            # Renamed by an earlier run, perhaps: what it compares with is still for a person.
            asked = name not in _COMPILER and told[directive] and _is_undecided(text)
            for_host = (
                directive in host_alone and name in _VERSIONS - {b"__CUDA_ARCH__"} and not _as_on_the_newest(text)
            )
            if (asked or for_host) and directive.start not in reported:
                reported.add(directive.start)
                yield _decide(span, name)
            continue
        asks = _ASKS.search(code[directive.start : span.start]) is not None
        if name in _COMPILER:
            yield _compiler(span, name)
        elif name == b"__NVCC__":
            if b"__CUDACC__" not in text and b"_VER_" not in text:
                yield Finding(
                    span,
                    "compiler",
                    "__NVCC__ → __HIPCC__: right if this is about CUDA's syntax, not about pragmas or defects of nvcc",
                    (Edit(span, b"__HIPCC__"),),
                    Certainty.REVIEW,
                )
        elif name == b"__CUDA_ARCH__" and asks and _all_ask(code, directive):
            yield Finding(
                span,
                "device_code",
                "__CUDA_ARCH__ → __HIP_DEVICE_COMPILE__",
                (Edit(span, b"__HIP_DEVICE_COMPILE__"),),
            )
        elif directive.start not in reported and not _as_on_the_newest(text):
            group = next(each for each in source.conditionals if any(part.span == directive for part in each))
            reported.update(part.span.start for part in group)  # a chain is one thing to decide
            if not _same_branches(source, project, group) and not _only_loads(source, group):
                kind = "architecture" if name == b"__CUDA_ARCH__" else "version"
                yield _chosen(source, project, group, directive, span, kind) or _decide(span, name)


def _asks_for_device(part: Conditional) -> bool:
    """Say whether a condition asks for device code, and for nothing else."""
    return {*_WORD.findall(part.condition)} == {b"defined", _ON_DEVICE}


def _decide(span: Span, name: bytes) -> Finding:
    return Finding(
        span,
        "architecture" if name == b"__CUDA_ARCH__" else "version",
        f"{name.decode()} is not defined on AMD and counts as 0 here: decide which branch AMD takes",
        certainty=Certainty.MANUAL,
    )


def _same_branches(source: Cpp, project: Project, group: tuple[Conditional, ...]) -> bool:
    """Say whether all branches are the same, as calls of hipport's functions with all lanes and without a mask are."""
    if group[-2].word != b"else":
        return False
    constants = project.together(source, _constants)
    full = {name for name, is_full in constants if is_full} - {name for name, is_full in constants if not is_full}

    def unmasked(call: re.Match[bytes]) -> bytes:
        mask = call[2].replace(b" ", b"")
        return b"hipport :: " + call[1] + b" ( " if _FULL.fullmatch(mask) or mask.strip(b"()") in full else call[0]

    branches = set()
    for part, following in pairwise(group):
        text = re.sub(rb"\\\r?\n", b" ", source.code[part.span.end : following.span.start])
        # Where a directive ends counts; other lines are parted as one likes.
        lines = (
            b" ".join(_WRITTEN.findall(line)) + b" \n" * line.lstrip().startswith(b"#")
            for line in text.splitlines()
            if not _INCLUDE.match(line)
        )
        # Code has no paths in it. HIP's own headers only declare, and that one is missing does not go unnoticed.
        included = tuple(
            include.path
            for include in source.includes
            if part.span.end <= include.directive.start < following.span.start and include.path not in _DECLARE
        )
        written = b" ".join(filter(None, lines))
        here = source.text[part.span.end : following.span.start]
        strings = tuple(
            here[slice(*each.span())] for each in _STRING.finditer(source.code[part.span.end : following.span.start])
        )
        branches.add((_MASKED.sub(unmasked, _BRACKETED.sub(rb"\1", written)), strings, included))
    return len(branches) == 1


def _only_loads(source: Cpp, group: tuple[Conditional, ...]) -> bool:
    """Say whether there is nothing but a stand-in for `__ldg`."""
    return len(group) == 2 and _LOADS.fullmatch(source.code, group[0].span.end, group[1].span.start) is not None


def _constants(source: Cpp) -> frozenset[tuple[bytes, bool]]:
    """Return the names of constants of the file, and whether their values are masks of all lanes."""
    return frozenset(
        (match[1] or match[3], _FULL.fullmatch(re.sub(rb"\s", b"", match[2] or match[4])) is not None)
        for match in _CONSTANT.finditer(source.code)
    )


def _chosen(
    source: Cpp, project: Project, group: tuple[Conditional, ...], directive: Span, span: Span, kind: str
) -> Finding | None:
    """Have AMD take the branch that every CUDA of today takes, if hipport has ported all of it."""
    chain = _chain(source, group)
    if chain is None:
        return None
    code = source.code
    whole = code[group[0].span.start : group[-1].span.end]
    try:
        now = chain.taken_now()
    except _Unreadable:
        return None
    left = [_branch(group, each) for each in now]
    is_error = all(each is not None and _ERRORS.fullmatch(code, each.start, each.end) for each in left)
    inside = code[group[0].span.end : group[1].span.start]
    # Where others have nothing, a program is not for them, and AMD would silently do without that code.
    alone = len(group) == 2 and (
        _CODE.search(re.sub(rb"^[ \t]*#.*", b"", inside, flags=re.M))
        # Intrinsics by other names; what else macros of a release say may be of any kind.
        or (kind == "version" and _MACRO.search(inside))
    )
    # GPUs before 6.0 have no atomicAdd of double; what stands in for it is slow on AMD too.
    oldest = 600 if b"atomicAdd" in whole else _OLDEST[b"__CUDA_ARCH__"]
    ranges = [(oldest, _NEWEST[b"__CUDA_ARCH__"])]
    if (alone and left == [None]) or is_error:
        ranges.append((_ALONE, _NEWEST[b"__CUDA_ARCH__"]))
    if is_error and group[0].word == b"if" and len(group) > 3:
        ranges.append((_LAST, _LAST))
    for since, until in ranges:
        try:
            settled = chain.settled(source, since, until)
        except _Unreadable:
            return None
        if settled is None:
            continue
        wanted, edits = settled
        branches = [each for number in wanted if (each := _branch(group, number)) is not None]
        if not is_error and not all(_is_ported(source, project, each) for each in branches):
            return None
        if kind == "version":
            those = "every CUDA since 11.0"
        elif since == until:
            those = f"NVIDIA GPUs of compute capability {since // 100}.{since % 100 // 10}"
        else:
            those = f"every NVIDIA GPU since compute capability {since // 100}.0"
        whose = ""
        if len(group) == 2:
            whose = ", and others have none" if branches else ", which is none"
        message = f"AMD takes the branch of {those}{whose}; assumes that what is right for all of them is right for AMD"
        return Finding(span, kind, message, edits, Certainty.REVIEW)
    return None


class _Chain(NamedTuple):
    """The conditions of an `#if` and its `#elif`s, and macros of the program in them.

    Of each its text, where it stands, and what has to stand in front of it there: `#ifdef A` says the same otherwise.
    """

    parts: tuple[tuple[bytes, Span, bytes], ...]
    others: tuple[bytes, ...]

    def _taken(self, texts: Iterable[bytes], macros: dict[bytes, int], on_hip: bool = False) -> int:
        """Return the number of the branch that is taken."""
        for number, text in enumerate(texts):
            known = macros
            # What only asks for device code is renamed.
            if on_hip and all(_ASKS.search(text[: each.start()]) for each in _ARCHITECTURE.finditer(text)):
                known = macros | {b"__CUDA_ARCH__": 1}
            if _holds(conditions.tokens(text), known):
                return number
        return len(self.parts)

    def _assigned(self) -> Iterator[dict[bytes, int]]:
        """What the program's own macros may be."""
        for values in product((0, 1), repeat=len(self.others)):
            yield {name: value for name, value in zip(self.others, values, strict=True) if value}

    def taken_now(self) -> set[int]:
        """Return the numbers of the branches that AMD takes as it is."""
        texts = [text for text, _, _ in self.parts]
        return {self._taken(texts, given | _ON_AMD, on_hip=True) for given in self._assigned()}

    def settled(self, source: Cpp, since: int, until: int) -> tuple[set[int], tuple[Edit, ...]] | None:
        """Return the branches of all those GPUs and releases, and the edits by which AMD takes them."""
        texts = [text for text, _, _ in self.parts]
        those = _from(since, until, b" ".join(texts))
        wanted, *others = ([self._taken(texts, given | known) for given in self._assigned()] for known in those)
        if any(each != wanted for each in others):
            return None
        edits: list[Edit] = []
        changed = []
        for number, (text, span, before) in enumerate(self.parts):
            here = _made_amd(source, text, those) if number <= max(wanted) else []
            if before and b"__CUDA_ARCH__" in text:
                here = []  # What only asks for device code is renamed.
            new = text
            for each in sorted(here, key=lambda each: each.span.start, reverse=True):
                new = new[: each.span.start] + each.new + new[each.span.end :]
            changed.append(new)
            if before and here:
                edits.append(Edit(span, before + new))
            else:
                for each in here:
                    at = Span(span.start + each.span.start, span.start + each.span.end)
                    edits.append(Edit(at, each.new))
        if not edits:
            return None  # What asks for device code only is renamed, and the host goes on to what is asked next.
        if wanted != [self._taken(changed, given | _ON_AMD, on_hip=True) for given in self._assigned()]:
            return None
        return set(wanted), tuple(edits)


def _from(since: int, until: int, text: bytes) -> list[dict[bytes, int]]:
    """Return GPUs from `since` to `until`, and releases since the oldest, among which conditions may tell."""
    low, high = _OLDEST | {b"__CUDA_ARCH__": since}, _NEWEST | {b"__CUDA_ARCH__": until}
    near = {int(number) + step for number in re.findall(rb"\b[1-9]\d{1,5}\b", text) for step in (-1, 0, 1)}
    return [
        low,
        high,
        *(low | {b"__CUDA_ARCH__": each} for each in sorted(near) if since < each < until),
        *(low | dict.fromkeys(_RELEASES, each) for each in sorted(near) if each > _OLDEST[b"CUDA_VERSION"]),
    ]


def _chain(source: Cpp, group: tuple[Conditional, ...]) -> _Chain | None:
    """Return the conditions of a group, if they can be read."""
    if any(part.tells(source.known_on_hip) for part in group):
        return None
    parts = []
    names: set[bytes] = set()
    for part in group:
        if part.word in (b"else", b"endif"):
            continue
        match = _CONDITION.match(source.code, part.span.start, part.span.end)
        if match is not None:
            parts.append((match[1], Span(*match.span(1)), b""))
        else:
            # `#ifdef A` becomes an `#if` where more is asked.
            word = source.code.index(b"if", part.span.start)
            end = part.span.start + len(source.code[part.span.start : part.span.end].rstrip())
            parts.append((part.condition, Span(word, end), b"if "))
        text = parts[-1][0]
        names.update(_WORD.findall(b" ".join(conditions.tokens(text))))
    others = sorted(name for name in names if name not in _OLDEST and name != b"defined")
    return _Chain(tuple(parts), tuple(others)) if len(others) <= 4 else None


def _branch(group: tuple[Conditional, ...], number: int) -> Span | None:
    """Return what the branch of a number has in it; None: there is none."""
    return Span(group[number].span.end, group[number + 1].span.start) if number < len(group) - 1 else None


def _made_amd(source: Cpp, text: bytes, those: list[dict[bytes, int]]) -> list[Edit]:
    """Return the edits to a condition by which AMD answers it as all of `those` GPUs and releases do."""
    words = {token for token in conditions.tokens(text) if _WORD.fullmatch(token)} - {b"defined"}
    if words.isdisjoint(_VERSIONS):
        return []
    whole = _with_amd(source, text, 0, text, those)
    if words <= _VERSIONS:
        return whole
    parts = [
        edit
        for match in _COMPARED.finditer(text)
        for edit in _with_amd(source, text, match.start(), match.group(), those)
    ]
    return parts or (whole if words <= _OLDEST.keys() else [])


def _with_amd(source: Cpp, text: bytes, start: int, part: bytes, those: list[dict[bytes, int]]) -> list[Edit]:
    """Return the edits to a part of a condition that all GPUs and releases answer alike, and AMD otherwise."""
    condition = conditions.tokens(part)
    answers = {_holds(condition, known) for known in those}
    if len(answers) > 1 or _holds(condition, _ON_AMD) in answers:
        return []
    names = [_ON_DEVICE] if b"__CUDA_ARCH__" in condition else [b"__HIPCC__"]
    if names == [b"__HIPCC__"] and not isinstance(source, Cuda):
        names.append(b"__HIP_PLATFORM_AMD__")  # for a compiler of the host, to which builds say so
    sign = b" || defined(" if True in answers else b" && !defined("
    before, after = b"", b"".join(sign + each + b")" for each in names)
    if part != text:
        before, after = b"(", after + b")"
    elif False in answers and b"||" in condition:
        before, after = b"(", b")" + after
    first, end = start + len(part) - len(part.lstrip()), start + len(part.rstrip())
    return [Edit(Span(first, first), before), Edit(Span(end, end), after)] if before else [Edit(Span(end, end), after)]


def _is_ported(source: Cpp, project: Project, branch: Span) -> bool:
    """Say whether nothing in a branch is CUDA's alone, or depends on which CUDA it is."""
    if _NOT_PORTED.search(source.code, branch.start, branch.end):
        return False
    for group in source.conditionals:
        for part in group:
            inside = branch.start <= part.span.start < branch.end and part.word not in (b"else", b"endif")
            text = source.code[part.span.start : part.span.end]
            if inside and _NAME.search(text) and not _as_on_the_newest(text):
                return False
    return not any(
        each.certainty is Certainty.MANUAL and branch.start <= each.span.start < branch.end
        for each in api_names.find(source, project)
    )


def _build_macros(source: Cpp, project: Project) -> Iterator[Finding]:
    """Add a macro of hipcc's to conditions that only a build for PyTorch, or a flag, would make true."""
    names = [(span, name) for span, name in source.names(_BY_BUILD) if source.directive(span.start)]
    if not names or project.together(source, includes_pytorch):
        return
    if project.together(source, _build_macros_of):
        return
    code = source.code
    for span, name in names:
        directive = source.directive(span.start)
        if directive is None or _BY_HIPCC.search(code, directive.start, directive.end):
            continue
        before = code[directive.start : span.start]
        if match := _IFDEF.search(before):
            start, end = directive.start + match.start(), span.end
            new = b"if %b || %b" if not match[2] else b"if !%b && !%b"
        elif match := _DEFINED.search(before):
            start = directive.start + match.start()
            end = span.end if match[1] is None else code.find(b")", span.end, directive.end) + 1
            # Nothing but the name in the brackets, and no `defined` around this one.
            odd = match[1] is not None and code[span.end : end - 1].strip()
            if not end or odd or _DEFINED.search(code, directive.start, start):
                continue
            new = b"(%b || %b)"
        else:
            continue
        new %= (b"defined(" + name + b")", b"defined(__HIPCC__)")
        message = f"{name.decode()} is for a build to define; __HIPCC__ is what hipcc defines"
        yield Finding(span, "build_macro", message, (Edit(Span(start, end), new),))


def _build_macros_of(source: Cpp) -> frozenset[bytes]:
    """The build macros that the program defines itself."""
    return frozenset(re.findall(rb"#[ \t]*define[ \t]+(" + _BY_BUILD.pattern + rb")\b", source.code))


def _all_ask(code: bytes, directive: Span) -> bool:
    """Say whether the directive only asks whether `__CUDA_ARCH__` is defined, and compares it with nothing."""
    return all(
        _ASKS.search(code[directive.start : match.start()])
        for match in _ARCHITECTURE.finditer(code, directive.start, directive.end)
    )


def _as_on_the_newest(directive: bytes, given: dict[bytes, int] | None = None) -> bool:
    """Say whether AMD takes the branch that the newest CUDA takes, whatever macros that are not `given` are."""
    given = given or {}
    match = _CONDITION.match(directive)
    if match is None:
        return False
    condition = conditions.tokens(match[1])
    names = {token for token in condition if _WORD.fullmatch(token) and not _NAME.fullmatch(token)}
    others = sorted(names - {b"defined"} - given.keys())
    if len(others) > 4:
        return False
    try:
        for values in product((0, 1), repeat=len(others)):
            known = {name: value for name, value in given.items() if value} | dict(zip(others, values, strict=True))
            newest = _NEWEST
            if _ON_DEVICE in others and not known[_ON_DEVICE]:  # the host has no architecture with CUDA either
                newest = {name: value for name, value in _NEWEST.items() if name != b"__CUDA_ARCH__"}
            if _holds(condition, known) is not _holds(condition, known | newest):
                return False
    except _Unreadable:
        return False
    return True


def _is_undecided(directive: bytes) -> bool:
    """Say whether a condition that asks for AMD as well still comes out on AMD by a release or GPU of NVIDIA's."""
    words = set(_WORD.findall(directive))
    of_amd = {word for word in words if _OF_AMD.search(word)}
    if not of_amd or any(b"VERSION" in word for word in of_amd):
        return False
    # What is defined on AMD, but in one of the two compilations only.
    amd = dict.fromkeys(of_amd - {b"__HIP_DEVICE_COMPILE__"}, 1)
    return not _as_on_the_newest(directive, amd | {_OLD_COMPILER: 0})


class _Unreadable(Exception):
    """A condition of which more decides than the macros that are given."""


class _Given(NamedTuple):
    """The macros that are defined, with what stands for them; a program's own is not where it is 0."""

    known: Mapping[bytes, int]

    def defined(self, name: bytes) -> bool:
        return name in self.known if name in _OLDEST else bool(self.known.get(name))

    def number(self, name: bytes) -> int:
        return self.known.get(name, 0)


def _holds(condition: list[bytes], known: Mapping[bytes, int]) -> bool:
    """Say whether a condition holds, of which these are the tokens. Raises _Unreadable."""
    found = conditions.value(condition, _Given(known))
    if found is None:
        raise _Unreadable
    return found != 0


def _compiler(span: Span, name: bytes) -> Finding:
    new = _COMPILER[name]
    return Finding(span, "compiler", f"{name.decode()} → {new.decode()}", (Edit(span, new),))


def _outside(source: Cpp, span: Span, name: bytes, directive: Span) -> Finding:
    if not _DEFINES.match(source.code, directive.start):
        return _compiler(span, name)
    # hipcc defines __HIPCC__ itself, and rocThrust takes a compiler with __CUDACC__ for nvcc.
    return Finding(
        directive,
        "defines_compiler",
        "a compiler of device code says so itself: drop what is said here of __CUDACC__",
        (Edit(directive, b""),),
        Certainty.SAFE if isinstance(source, Cuda) else Certainty.REVIEW,
    )


PASS = Pass(Cpp, find)

# SPDX-License-Identifier: Apache-2.0
"""Decisions on the conditions of a program, which depend on each other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path, PurePath
from typing import NamedTuple, TypeAlias

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax import preprocessor_values
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import member_or_qualified
from hipport.syntax.lexing import SPLICE
from hipport.syntax.own_guards import is_marked
from hipport.syntax.preprocessor import Conditional
from hipport_passes.device.arch_guards.chains import (
    ASKS,
    COMPILER,
    NAME,
    WORD,
    UnreadableChain,
    all_ask,
    as_on_the_newest,
    asked_text,
    branch_of,
    chain_of,
    only_errors,
    ranges_of,
    several,
)
from hipport_passes.device.lost_code import chosen_elsewhere
from hipport_passes.names import api_names

# Macros that become hipcc's.
_HIPCC_SAYS = {*COMPILER, b"__NVCC__", b"__CUDA_ARCH__"}
# Code, after directives are removed.
_CODE = re.compile(rb"[;{]")
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
# Another name for an intrinsic, or a macro that calls one.
_MACRO = _WORDS.compile(rb"^[ \t]*#[ \t]*define[ \t]+\w+(?:\([^()\n]*\))?[ \t]+(?:__|(?&hipport)::)\w", re.MULTILINE)
# Code that prevents a branch from being ported as a whole: #error, PTX, and names that look like CUDA's.
_NOT_PORTED = _WORDS.compile(
    rb"^[ \t]*#[ \t]*error|\b(?:__)?asm(?:__)?\b|\b(?:(?&cuda)\w+|cu[A-Z]\w*|(?&of_cuda)\w+|(?:__)?nv\w+)"
    rb"|(?<!::)\b(?&cuda)::",
    re.M,
)
# An asm statement of AMD's instructions.
_OF_AMD = Words.read(Path(__file__).parent.with_name("inline_ptx.toml")).compile(
    rb"\w*[\s\w]*\(\s*\"\s*(?:(?&of_amd)_|;)"
)
_STRING = re.compile(rb"\"[^\"]*\"|'[^']*'")
# A substitute for __ldg that only loads, as HIP's does.
_LOADS = _WORDS.compile(
    rb"(?:\s*template\s*<[^<>]*>)?[\w\s]*\b(?&ldg)\s*\(\s*(?:const\s+\w+|\w+\s+const)\s*\*\s*(?:(?&restrict)\s*)?(\w+)\s*\)"
    rb"\s*\{\s*return\s*(?:\*\s*\1|\1\s*\[\s*0\s*\])\s*;\s*\}\s*"
    rb"|\s*#[ \t]*define[ \t]+(?&ldg)(?:\((\w+)\)[ \t]+(?:\([ \t]*)?\*[ \t]*\(?\2\)?(?:[ \t]*\))?|[ \t]+\*)\s*"
)
# The tokens that are compared; a macro's name with its parenthesis is one token.
_WRITTEN = re.compile(rb"#[ \t]*define[ \t]+\w+\(?|[\w.]+|::|[^\s\w]")
_SPLICE = re.compile(SPLICE)
_IF = re.compile(rb"#[ \t]*(?:el)?if")
_INCLUDE = re.compile(rb"\s*#[ \t]*include\b")
_SEMICOLON = re.compile(rb"^[ \t]*#[ \t]*include\b[^\r\n]*|;", re.MULTILINE)
_DECLARE = frozenset(f"hip/{name}.h" for name in ("hip_runtime", "hip_runtime_api", "hip_cooperative_groups"))
_BRACKETED = _WORDS.compile(rb"(?<=[(,] )\( (?!(?&any_arguments))(\w+) \)(?= [,)])")
_MASKED = _WORDS.compile(rb"(?&hipport) :: ((?&with_mask))(?&masked) \( ((?:[^,()]|\( [^,()]* \))+?) , ")
_FULL = _WORDS.compile(
    rb"\(*(?:0[xX][fF]{8}[uUlL]*|~0[uUlL]*|(?:\(unsigned(?:int)?\))?-1|4294967295[uUlL]*|(?&full_32))\)*"
)
_CONSTANT = re.compile(
    rb"#[ \t]*define[ \t]+(\w+)[ \t]+([^\r\n]+)|\b(?:const|constexpr)\b[\w\s:]{0,300}?\b(\w+)\s*[={]\s*([^;}]+)"
)
# Declarations that other code may use: macros, functions, types, and initialized variables.
_DECLARES = _WORDS.compile(
    rb"#[ \t]*define[ \t]+(\w+)|\b(?!(?:if|for|while|switch|catch|return)\b)(\w+)\s*\([^(){};]*\)\s*(?:const\b\s*)?\{"
    rb"|\b(?:struct|class|union|enum(?:\s+class)?)\s+(\w+)\s*[:{]|\busing\s+(\w+)\s*=|\btypedef\b[^;{}]{0,1000}\b(\w+)\s*;"
    rb"|\b(?:const|constexpr|static|(?&shared)|(?&constant)|auto|int|float|double|unsigned|bool)\b[\w\s*&]{0,300}\b(\w+)\s*(?:=|;|\[)"
)

_CALLED = re.compile(rb"\s*(?:<[^<>;{}()]*>\s*)?\(")
_NO_TYPES = frozenset(
    b"return case goto else throw co_return new delete sizeof typename and or not struct class union enum using "
    b"const".split()
)
# The group of a variable's name, which may be declared elsewhere too.
_VARIABLE = 5


def decide(span: Span, name: bytes, more: str = "") -> Finding:
    return Finding(
        span,
        "architecture" if name == b"__CUDA_ARCH__" else "version",
        f"{name.decode()}: not defined on AMD, where it counts as 0 here; decide which branch AMD takes{more}",
        certainty=Certainty.MANUAL,
    )


def _same_branches(source: Cpp, project: Project, group: tuple[Conditional, ...]) -> bool:
    """Return whether all branches are the same, for example calls of hipport's functions with all lanes and no mask."""
    if group[-2].word != b"else" or not _as_many_statements(source, group):
        return False
    constants = project.union_over(source, _constants)
    full = {name for name, is_full in constants if is_full} - {name for name, is_full in constants if not is_full}

    def unmasked(call: re.Match[bytes]) -> bytes:
        mask = b"".join(call[2].split())
        return b"hipport :: " + call[1] + b" ( " if _FULL.fullmatch(mask) or mask.strip(b"()") in full else call[0]

    branches = set()
    for part, following in pairwise(group):
        text = _SPLICE.sub(b" ", source.code[part.span.end : following.span.start])
        # The end of a directive counts; other line breaks do not.
        lines = (
            b" ".join(_WRITTEN.findall(line)) + b" \n" * line.lstrip().startswith(b"#")
            for line in text.splitlines()
            if not _INCLUDE.match(line)
        )
        # Tokens contain no paths. HIP's own headers only declare names, and a missing one would be noticed.
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


def _as_many_statements(source: Cpp, group: tuple[Conditional, ...]) -> bool:
    """Return whether all branches have as many semicolons: branches that differ in that need not be read."""
    ends = source.fact(_semicolons)
    return len({len(_between(ends, Span(one.span.end, two.span.start))) for one, two in pairwise(group)}) == 1


def _semicolons(source: Cpp) -> list[int]:
    """Return the places of all semicolons, except those in lines of includes."""
    return [match.start() for match in _SEMICOLON.finditer(source.code) if match[0] == b";"]


def _only_loads(source: Cpp, group: tuple[Conditional, ...]) -> bool:
    """Return whether the group contains only a substitute for `__ldg`."""
    return len(group) == 2 and _LOADS.fullmatch(source.code, group[0].span.end, group[1].span.start) is not None


def _constants(source: Cpp) -> frozenset[tuple[bytes, bool]]:
    """Return the names of the file's constants, and whether their values are masks of all lanes."""
    return frozenset(
        (match[1] or match[3], _FULL.fullmatch(re.sub(rb"\s", b"", match[2] or match[4])) is not None)
        for match in _CONSTANT.finditer(source.code)
    )


def _not_ported(source: Cpp) -> list[int]:
    """Return the places in a file that prevent a branch from being ported as a whole."""
    found = (match.start() for match in _NOT_PORTED.finditer(source.code))
    return [at for at in found if not _OF_AMD.match(source.text, at)]


def _coded(source: Cpp) -> list[int]:
    """Return the places of code outside of directives."""
    plain = re.sub(rb"^[ \t]*#.*", lambda match: b" " * len(match[0]), source.code, flags=re.M)
    return [match.start() for match in _CODE.finditer(plain)]


def _renaming(source: Cpp) -> list[int]:
    """Return the places where a file renames an intrinsic, or defines a macro that calls one."""
    return [match.start() for match in _MACRO.finditer(source.code)]


def _chosen(source: Cpp, guards: Guards, group: tuple[Conditional, ...], span: Span, kind: str) -> _Decided | None:
    """Make AMD take the branch that every current CUDA takes, if hipport has ported all of it."""
    chain = chain_of(source, group)
    if chain is None:
        return None
    try:
        nothing = [branch_of(group, each) for each in chain.taken_now()] == [None]
        is_error = only_errors(source, group, chain)
    except UnreadableChain:
        return None
    inside = Span(group[0].span.end, group[1].span.start)
    # Older GPUs get nothing here, so the program is not for them, and AMD would silently lose that code.
    alone = len(group) == 2 and bool(
        _between(source.fact(_coded), inside)
        # Macros that rename intrinsics; other macros under a test of a release may be anything.
        or (kind == "version" and _between(source.fact(_renaming), inside))
    )
    ranges = [*ranges_of(source, group, (alone and nothing) or is_error), *(several(group) if is_error else ())]
    for since, until in ranges:
        try:
            settled = chain.settled(source, since, until)
        except UnreadableChain:
            return None
        if settled is None:
            continue
        wanted, edits = settled
        branches = [each for number in wanted if (each := branch_of(group, number)) is not None]
        if not is_error and any(guards.has(source, each) for each in branches):
            return None
        if kind == "version":
            those = "every CUDA since 11.0"
        elif since == until:
            those = f"NVIDIA GPUs of compute capability {since // 100}.{since % 100 // 10}"
        else:
            those = f"every NVIDIA GPU since compute capability {since // 100}.0"
        whose = ""
        if len(group) == 2:
            whose = "; there is no other" if branches else "; there is none"
        message, certainty = f"AMD takes the branch of {those}{whose}", Certainty.SAFE
        # Code for every supported release, or for every GPU of today, is the program's code as if it had no condition:
        # what AMD lacks in it is reported there. One GPU among several is a choice.
        if since == until and any(b"__CUDA_ARCH__" in text for text, _, _ in chain.parts):
            message += "; assumes that code for these GPUs is right for AMD"
            certainty = Certainty.REVIEW
        return _Decided(Finding(span, kind, message, edits, certainty), tuple(branches) or (Span(0, 0),))
    return None


#: A chain of conditions, with its file.
_Place: TypeAlias = tuple[Cpp, tuple[Conditional, ...]]
#: Such chains, by their first condition.
_Opened: TypeAlias = dict[tuple[bytes, ...], list[_Place]]


class _Decided(NamedTuple):
    """The finding on a chain of conditions, None if its branches mean the same; `opened` are the branches that AMD
    takes.
    """

    said: Finding | None
    opened: tuple[Span, ...] = ()


def _decided(project: Project) -> dict[PurePath, Guards]:
    """Return the cache of decisions, by the first file of their program."""
    return {}


class Guards:
    """The decisions on all conditions of a program, which depend on each other.

    Outer conditions are decided after inner ones. A ported branch stays closed if it uses a name that only a closed
    branch under the same condition declares.
    """

    def __init__(self, files: Sequence[Cpp], project: Project) -> None:
        self._project = project
        self._decided: dict[tuple[PurePath, int], _Decided] = {}
        self._undecided: dict[PurePath, list[int]] = {}
        self._left: dict[PurePath, list[Span]] = {}
        self._for_a_person: dict[PurePath, list[int]] = {}
        opened, waiting = self._decide_each(files)
        #: The names that CUDA has and AMD lacks, because only such branches declare them, with the condition's place.
        self._missing = _missing(files, self._close(files, opened, waiting))

    def _decide_each(self, files: Sequence[Cpp]) -> tuple[_Opened, list[_Place]]:
        """Decide each chain by itself; return the chains with a branch for AMD, and those that are for a person."""
        opened: _Opened = {}
        waiting: list[_Place] = []
        for source in files:
            undecided = self._undecided[source.path] = []
            left = self._left[source.path] = []
            for group in source.conditionals if NAME.search(source.code) else ():
                if any(is_marked(source[part.span]) for part in group):
                    continue  # Another pass has decided it.
                decided = self._decide(source, group)
                if decided is None or (decided.said is not None and not decided.opened):
                    undecided += (part.span.start for part in group if _is_answered_otherwise(source, part))
                    undecided.sort()
                if decided is None:
                    continue
                self._decided[source.path, group[0].span.start] = decided
                if decided.opened:
                    while left and left[-1].start > group[0].span.start:
                        left.pop()
                    left += _left(group, decided.opened)
                    opened.setdefault(_condition(group), []).append((source, group))
                elif decided.said is not None:
                    waiting.append((source, group))
        return opened, waiting

    def _close(self, files: Sequence[Cpp], opened: _Opened, waiting: list[_Place]) -> list[_Place]:
        """Close the branches that use names which only closed ones declare, and return all that are closed."""
        lacking: dict[tuple[bytes, ...], dict[bytes, tuple[Cpp, Span]]] = {}
        closed: list[_Place] = []
        all_closed: list[_Place] = []
        users: dict[bytes, list[_Place]] | None = None

        def close(place: _Place, used: bytes, by: tuple[Cpp, Span], same: bool) -> None:
            source, group = place
            opened[_condition(group)].remove(place)
            self._decided[source.path, group[0].span.start] = self._closed(source, group, used, *by, same)
            waiting.append(place)

        while waiting and opened:
            source, group = waiting.pop()
            condition = _condition(group)
            names = lacking.setdefault(condition, {})
            for name in _lacking(source, group) - names.keys():
                names[name] = (source, group[0].span)
            for other, twin in list(opened.get(condition, ())) if names else ():
                branches = self._decided[other.path, twin[0].span.start].opened
                used = next((name for name in sorted(names) if _uses(other, branches, name)), None)
                if used is not None:
                    close((other, twin), used, names[used], True)
            closed.append((source, group))
            all_closed.append((source, group))
            if waiting:
                continue
            # The same conditions are done; now close branches under others that use the removed names.
            if users is None:
                users = self._users(opened)
                declared = _everywhere(files)
            for name, by in _gone(declared, closed):
                for place in users.pop(name, ()):
                    if place in opened.get(_condition(place[1]), ()):
                        close(place, name, by, False)
        return [*all_closed, *waiting]

    def missing(self, source: Cpp) -> Iterator[Finding]:
        """Yield a finding per name without a declaration for AMD, at its first use in code that AMD compiles."""
        wanted = source.words & self._missing.keys()
        told: set[bytes] = set()
        for span, name in source.names(wanted) if wanted else ():
            if name in told or source.directive(span.start) or source.ported(span.start):
                continue
            if member_or_qualified(source.code, span.start) or not self._compiled(source, span.start):
                continue
            if not _CALLED.match(source.code, span.end) and _is_variable(source, name):
                continue
            told.add(name)
            other, where = self._missing[name]
            place = f"{other.path.as_posix()}:{other.line_read(where.start)}"
            message = (
                f"{name.decode()}: its only declarations are under a condition on CUDA that AMD does not "
                f"meet, so this does not compile there; decide on the condition ({place})"
            )
            yield Finding(span, "missing", message, certainty=Certainty.MANUAL)

    def _compiled(self, source: Cpp, at: int) -> bool:
        """Return whether AMD compiles the code at a place, as far as conditions on CUDA decide that."""
        for group in source.conditionals:
            if not group[0].span.start < at < group[-1].span.start:
                continue
            decided = self._decided.get((source.path, group[0].span.start))
            if decided is not None and decided.opened:
                if not within(at, decided.opened):
                    return False
                continue
            chain = chain_of(source, group)
            try:
                taken = chain.taken_now() if chain is not None else set()
            except UnreadableChain:
                taken = set()
            branches = [branch_of(group, number) for number in taken]
            if taken and not any(each is not None and each.start <= at < each.end for each in branches):
                return False
        return True

    def _users(self, opened: _Opened) -> dict[bytes, list[_Place]]:
        """Return the conditions whose opened branches contain a name."""
        users: dict[bytes, list[_Place]] = {}
        for source, group in (each for groups in opened.values() for each in groups):
            branches = self._decided[source.path, group[0].span.start].opened
            for name in {word for each in branches for word in WORD.findall(source.code, each.start, each.end)}:
                users.setdefault(name, []).append((source, group))
        return users

    @staticmethod
    def of(source: Cpp, project: Project) -> Guards:
        """Return the decisions for the program of a file, from a cache."""
        known = project.fact(_decided)
        component = project.component(source)
        if component[0].path not in known:
            files = [each for each in component if isinstance(each, Cpp) and not each.is_hipport_header]
            known[component[0].path] = Guards(files, project)
        return known[component[0].path]

    def on(self, source: Cpp, group: tuple[Conditional, ...]) -> Finding | None:
        """Return the finding on a chain of conditions."""
        decided = self._decided.get((source.path, group[0].span.start))
        return decided.said if decided is not None else None

    def _decide(self, source: Cpp, group: tuple[Conditional, ...]) -> _Decided | None:
        """Decide a chain of conditions; None if there is nothing to decide, or somebody has decided it."""
        asked = _asked(source, group)
        if asked is None:
            return None
        span, name = asked
        if _same_branches(source, self._project, group) or _only_loads(source, group):
            return _Decided(None)
        kind = "architecture" if name == b"__CUDA_ARCH__" else "version"
        chosen = _chosen(source, self, group, span, kind)
        return chosen or _Decided(decide(span, name, chosen_elsewhere(source, self._project, group)))

    @staticmethod
    def _closed(
        source: Cpp, group: tuple[Conditional, ...], used: bytes, other: Cpp, where: Span, same: bool = True
    ) -> _Decided:
        asked = _asked(source, group)
        assert asked is not None
        finding = decide(*asked)
        place = f"{other.path.as_posix()}:{other.line_read(where.start)}"
        why = "is under the same condition" if same else "has its only declaration"
        message = f"{finding.message}, here and at {place}, where {used.decode()} {why}"
        return _Decided(replace(finding, message=message))

    def has(self, source: Cpp, branch: Span) -> bool:
        """Return whether a branch has code that is for CUDA only, or that depends on CUDA's version."""
        left = self._left[source.path]
        here = tuple(left[bisect_left(left, branch) : bisect_left(left, Span(branch.end, branch.end))])

        def any_of(places: Iterable[int]) -> bool:
            return any(not within(at, here) and not source.ported(at) for at in places)

        # Inner conditions are decided separately.
        if any_of(at for at in _between(source.fact(_not_ported), branch) if not _is_condition(source, at)):
            return True
        if any_of(_between(self._undecided[source.path], branch)):
            return True
        if source.path not in self._for_a_person:
            found = api_names.find(source, self._project)
            manual = sorted(each.span.start for each in found if each.certainty is Certainty.MANUAL)
            self._for_a_person[source.path] = manual
        return any_of(_between(self._for_a_person[source.path], branch))


def _left(group: tuple[Conditional, ...], opened: tuple[Span, ...]) -> Iterable[Span]:
    """Return the branches that AMD does not take if it takes the `opened` ones."""
    branches = (Span(part.span.end, following.span.start) for part, following in pairwise(group))
    return [branch for branch in branches if branch not in opened]


def _is_condition(source: Cpp, at: int) -> bool:
    directive = source.directive(at)
    return directive is not None and _IF.match(source.code, directive.start) is not None


def _is_answered_otherwise(source: Cpp, part: Conditional) -> bool:
    """Return whether a condition tests CUDA's release or architecture with another result on AMD than on the newest."""
    if part.word in (b"else", b"endif"):
        return False
    # Tests for a CUDA compiler or for device code become tests of hipcc.
    if set(NAME.findall(part.asked)) <= _HIPCC_SAYS and all_ask(source.code, part.span):
        return False
    text = asked_text(source, part)
    return bool(NAME.search(text)) and not as_on_the_newest(text)


def _asked(source: Cpp, group: tuple[Conditional, ...]) -> tuple[Span, bytes] | None:
    """Return the first name of a chain of conditions that needs a decision."""
    if any(part.tells(source.known_on_hip) for part in group):
        return None
    for part in group:
        if part.word in (b"else", b"endif") or source.ported(part.span.start):
            continue
        for match in NAME.finditer(source.code, part.span.start, part.span.end):
            span, name = Span(*match.span()), match.group()
            asks = ASKS.search(source.code[part.span.start : span.start]) is not None
            if name in COMPILER or name == b"__NVCC__" or not _is_whole(source.code, span):
                continue
            if name == b"__CUDA_ARCH__" and asks and all_ask(source.code, part.span):
                continue
            if _is_answered_otherwise(source, part):
                return span, name
    return None


def _is_whole(code: bytes, span: Span) -> bool:
    match = WORD.match(code, span.start)
    before = code[span.start - 1 : span.start]
    return match is not None and match.end() == span.end and not (before.isalnum() or before == b"_")


def _condition(group: tuple[Conditional, ...]) -> tuple[bytes, ...]:
    return tuple(preprocessor_values.tokens(group[0].condition))


def _lacking(source: Cpp, group: tuple[Conditional, ...]) -> set[bytes]:
    """Return the names that AMD lacks with the chain unchanged: those that only other branches declare."""
    chain = chain_of(source, group)
    try:
        taken = chain.taken_now() if chain is not None else set()
    except UnreadableChain:
        taken = set()
    there: set[bytes] = set()
    elsewhere: set[bytes] = set()
    for number in range(len(group) - 1):
        branch = branch_of(group, number)
        if branch is not None:
            (there if number in taken else elsewhere).update(_declared(source, branch))
    return elsewhere - there


def _missing(files: Sequence[Cpp], closed: list[_Place]) -> dict[bytes, tuple[Cpp, Span]]:
    """Return the names that the newest CUDA has and AMD lacks, because only such branches declare them."""
    if not closed:
        return {}
    # A program's substitute for older GPUs is CUDA's own function on newer ones.
    newest = [_declared(source, each) for source, group in closed for each in _branches_of_newest(source, group)]
    having = frozenset[bytes]().union(*newest)
    return {name: place for name, place in _gone(_everywhere(files), closed) if name in having} if having else {}


def _branches_of_newest(source: Cpp, group: tuple[Conditional, ...]) -> list[Span]:
    chain = chain_of(source, group)
    try:
        taken = chain.taken_on_newest() if chain is not None else set()
    except UnreadableChain:
        taken = set()
    return [each for number in taken if (each := branch_of(group, number)) is not None]


def _is_variable(source: Cpp, name: bytes) -> bool:
    """Return whether the file has a variable or a parameter of that name."""
    found = re.finditer(rb"\b(\w+)\s*(?:>\s*)?[\s*&]+" + name + rb"\s*[;=,)\[({:]", source.code)
    return any(match[1] not in _NO_TYPES for match in found)


def _everywhere(files: Iterable[Cpp]) -> dict[bytes, list[tuple[PurePath, int]]]:
    """Return where a program declares functions, macros and types."""
    places: dict[bytes, list[tuple[PurePath, int]]] = {}
    for source in files:
        for name, at in source.fact(_declared_at):
            places.setdefault(name, []).append((source.path, at))
    return places


def _declared_at(source: Cpp) -> list[tuple[bytes, int]]:
    return [
        (name, match.start())
        for match in _DECLARES.finditer(source.code)
        for name in filter(None, match.groups()[:_VARIABLE])
    ]


def _gone(
    declared: dict[bytes, list[tuple[PurePath, int]]], closed: list[_Place]
) -> list[tuple[bytes, tuple[Cpp, Span]]]:
    """Return the names that only branches without AMD declare, with their places; empties `closed`."""
    found = []
    for source, group in closed:
        for name in sorted(_lacking(source, group) & declared.keys()):
            first, end = group[0].span.start, group[-1].span.end
            left = [(path, at) for path, at in declared[name] if path != source.path or not first <= at < end]
            declared[name] = left
            if not left:
                del declared[name]
                found.append((name, (source, group[0].span)))
    closed.clear()
    return found


def _declared(source: Cpp, branch: Span) -> set[bytes]:
    found = _DECLARES.finditer(source.code, branch.start, branch.end)
    return {name for match in found for name in match.groups() if name}


def _uses(source: Cpp, branches: Iterable[Span], name: bytes) -> bool:
    """Return whether branches use a name that they do not declare."""
    word = re.compile(rb"\b" + name + rb"\b")
    return any(
        word.search(source.code, branch.start, branch.end) and name not in _declared(source, branch)
        for branch in branches
    )


def _between(places: list[int], span: Span) -> list[int]:
    return places[bisect_left(places, span.start) : bisect_left(places, span.end)]

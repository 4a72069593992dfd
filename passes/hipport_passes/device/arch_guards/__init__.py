# SPDX-License-Identifier: Apache-2.0
"""Rewrite conditions that ask for nvcc or for device code so that hipcc answers them.

`__HIPCC__`, which hipcc defines where nvcc defines `__CUDACC__`, is added beside it, and
`defined(__HIP_DEVICE_COMPILE__)` beside `defined(__CUDA_ARCH__)`. Comparisons with CUDA's versions and architectures
are reported where AMD takes another branch than the newest CUDA and NVIDIA GPU; AMD does not define those macros, and
they count as 0. Nothing is reported where the branches mean the same after the port.

AMD takes a branch of a chain for review if CUDA 11.0 and all later releases, or GPUs of compute capability 5.0 and all
later ones, take that branch, and either nothing in it is CUDA's only or AMD would reach an `#error`. The same holds
for code that GPUs up to compute capability 8.0 have and the others replace by nothing: it would be lost silently. A
condition that already tells AMD from NVIDIA is left alone, with all its branches, except that `USE_ROCM` and its like,
which PyTorch's build defines and hipcc does not, get a macro that hipcc defines, in programs without PyTorch.

Inner conditions are decided before outer ones. A branch stays closed, too, if it uses names that only a closed branch
under the same condition declares. Code that AMD compiles in any case, and that uses names which only closed branches
declare, is reported as well. Conditions that hipport wrote do not count as somebody's decision in a later run, which
ports code that was added to a branch since (`hipport.syntax.own_guards`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.own_guards import EQUALS, is_paired
from hipport.syntax.preprocessor import Conditional
from hipport_passes.device.arch_guards.chains import (
    ASKS,
    COMPILER,
    NAME,
    ON_DEVICE,
    VERSIONS,
    WORD,
    all_ask,
    as_on_the_newest,
    asked_text,
    is_undecided,
)
from hipport_passes.device.arch_guards.deciding import Guards, decide
from hipport_passes.device.arch_guards.without_marks import Bare
from hipport_passes.names import release_comparisons
from hipport_passes.names.pytorch_headers import includes_pytorch

_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_DEFINES = _WORDS.compile(rb"#[ \t]*(?:define|undef)[ \t]+(?&cudacc)")
_BY_BUILD = _WORDS.compile(rb"(?&by_build)")
_BY_HIPCC = _WORDS.compile(rb"\b(?:(?&of_hip_in_macros)\w+__|(?&by_hipcc))\b")
# In a directive, `\s` also matches line ends, which stand after a backslash or in a comment.
_IFDEF = re.compile(rb"(if)(n?)def[\s\\]+$")
# Operators that bind no tighter than the inserted `||` or `&&`.
_LEFT = re.compile(rb"(?:(?:if|(?P<sign>\|\||&&)|\()[\s\\]*|^)(?P<not>!)?[\s\\]*$")
_RIGHT = re.compile(rb"[\s\\]*(?:(?P<sign>\|\||&&)|\)|$)")
_CLOSING = re.compile(rb"[\s\\]*\)")
# Text after the name in an `#ifdef`, or after an `#else`, is not part of the condition; compilers only warn about it.
_PASSED_OVER = re.compile(rb"#[ \t]*(?:ifn?def[\s\\]+\w+|else|endif)\b")
_DEFINED = re.compile(rb"\bdefined[\s\\]*(?:(\()[\s\\]*)?$")
# `#ifdef defined(NAME)` asks for a macro of that name, and is an error.
_WITH_CONDITION = re.compile(rb"#\s*(?:el)?if\b")


# Code that is for the compiler, not part of the program: pragmas, attributes, and comments on defects.
_TO_NVCC = _WORDS.compile(
    rb"#[ \t]*(?:pragma|error|warning)|\b_*[Pp]ragma\b|\basm\b|(?&attribute)|(?&declspec)|\[\["
    rb"|(?&builtin)|\b(?&of_nvcc)"
    rb"|(?i:\b(?&compiler_beginnings)|\b(?&compiler_words)\b|work around|(?&compiler_parts))"
)


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per name that is renamed, and per condition that a person must judge."""
    bare = project.fact(Bare)
    yield from bare.carried(source, _find(bare.of(source), bare.project))


def _find(source: Cpp, project: Project) -> Iterator[Finding]:
    yield from Guards.of(source, project).missing(source)
    if not any(
        word in source.text for word in (b"__CUDA", b"__NVCC__", b"_VERSION", b"_VER_", b"CUDNN_", b"USE_", b"WITH_HIP")
    ):
        return
    by_build = [*_build_macros(source, project)]
    yield from by_build
    # Text after `#ifdef NAME` is ignored by compilers, and is removed.
    gone = tuple(sorted(edit.span for each in by_build for edit in each.edits))
    conditions = _Conditions(source, project)
    for span, name in source.names(NAME):
        if within(span.start, gone):
            continue
        directive = source.directive(span.start)
        if directive is None:
            yield from _in_code(source, span) if name == b"__CUDA_ARCH__" else ()
        elif not source.ported(span.start):
            yield from conditions.asked(span, name, directive)


def _in_code(source: Cpp, span: Span) -> Iterator[Finding]:
    """Yield the findings on `__CUDA_ARCH__` outside of directives: comparisons and assertions have known results."""
    compared = release_comparisons.settled(source.code, span)
    if compared is not None and not within(span.start, source.cuda_only):
        written = source.code[span.start : compared[0].end].decode(errors="replace")
        yield Finding(
            compared[0],
            "value",
            f"{written} → {compared[1].decode()}, as for every NVIDIA GPU since compute capability 5.0",
            (Edit(*compared),),
            Certainty.SAFE,
        )
        return
    condition = release_comparisons.asserted(source, span)
    if condition is not None and condition.start == span.start and not within(span.start, source.cuda_only):
        yield Finding(
            condition,
            "assertion",
            "the assertion is about NVIDIA's architectures, so it is true on AMD; what AMD lacks of the code for them "
            "is reported where it stands",
            (Edit(condition, b"true"),),
            Certainty.SAFE,
        )


class _Conditions:
    """The conditions of a file, and those that have been reported."""

    def __init__(self, source: Cpp, project: Project) -> None:
        self.source, self.project = source, project
        groups = source.conditionals
        self._parts = {part.span.start: (part, group) for group in groups for part in group}
        # For each condition of such a group: whether no earlier branch distinguishes AMD.
        self._told = {
            part.span: not any(before.tells(source.known_on_hip) for before in group[:number])
            for group in groups
            if any(part.tells(source.known_on_hip) for part in group)
            for number, part in enumerate(group)
        }
        # After a test for device code the host compiler reads the next branches, for example a test of a release.
        self._host_alone = {
            part.span
            for group in groups
            if _asks_for_device(group[0])
            for number, part in enumerate(group)
            if number and not any(other.tells(source.known_on_hip) for other in group[1 : number + 1])
        }
        self._reported: set[int] = set()

    def asked(self, span: Span, name: bytes, directive: Span) -> Iterator[Finding]:
        """Yield the findings on a name in a directive."""
        if directive.start not in self._parts:
            if name in COMPILER:
                yield _outside(self.source, span, name, directive)
            return
        part, group = self._parts[directive.start]
        if directive in self._told:
            yield from self._by_amd(span, name, part)
        elif not _PASSED_OVER.match(self.source.code, directive.start, span.start):
            yield from self._untold(span, name, part, group)

    def _by_amd(self, span: Span, name: bytes, part: Conditional) -> Iterator[Finding]:
        """Yield the finding on a condition that distinguishes AMD: AMD evaluates all conditions before it."""
        directive, text = part.span, asked_text(self.source, part)
        asked = name not in COMPILER and self._told[directive] and is_undecided(text)
        of_host = name in VERSIONS - {b"__CUDA_ARCH__"} and not as_on_the_newest(text)
        if (asked or (directive in self._host_alone and of_host)) and directive.start not in self._reported:
            self._reported.add(directive.start)
            yield decide(span, name)

    def _untold(self, span: Span, name: bytes, part: Conditional, group: tuple[Conditional, ...]) -> Iterator[Finding]:
        """Yield the findings on a condition of a chain that never tests for AMD."""
        source, directive, text = self.source, part.span, asked_text(self.source, part)
        code = source.code
        asks = ASKS.search(code[directive.start : span.start]) is not None
        done = is_paired(code[span.end : directive.end])
        if name in COMPILER:
            if not done:
                yield _beside(code, directive, span, name, "compiler")
        elif name == b"__NVCC__":
            if not done and b"__CUDACC__" not in text and b"_VER_" not in text:
                # Code for nvcc is the program's code, except for directions to nvcc itself.
                inside = source.text[group[0].span.end : group[-1].span.start]
                about = "assumes that the condition is about CUDA's syntax, not about pragmas or defects of nvcc"
                yield _beside(code, directive, span, name, "compiler", about if _TO_NVCC.search(inside) else "")
        elif name == b"__CUDA_ARCH__" and asks and all_ask(code, directive):
            if not done:
                yield _beside(code, directive, span, name, "device_code")
        elif directive.start not in self._reported and not as_on_the_newest(text):
            self._reported.update(part.span.start for part in group)  # A chain is decided as a whole.
            if (said := Guards.of(source, self.project).on(source, group)) is not None:
                yield said


def _asks_for_device(part: Conditional) -> bool:
    """Return whether a condition only tests for device code."""
    return {*WORD.findall(part.condition)} == {b"defined", ON_DEVICE}


def _build_macros(source: Cpp, project: Project) -> Iterator[Finding]:
    """Add one of hipcc's macros to conditions that only a build for PyTorch, or a flag, would make true."""
    names = [
        (span, name)
        for span, name in source.names(_BY_BUILD)
        # A definition of nvcc's macro is removed as a whole.
        if (directive := source.directive(span.start)) and not _DEFINES.match(source.code, directive.start)
    ]
    if not names or project.union_over(source, includes_pytorch):
        return
    if project.union_over(source, _build_macros_of):
        return
    code = source.code
    done = 0
    for span, name in names:
        directive = source.directive(span.start)
        if span.start < done or directive is None or _BY_HIPCC.search(code, directive.start, directive.end):
            continue
        before = code[directive.start : span.start]
        if match := _IFDEF.search(before):
            start, end = directive.start + match.start(), _asked_up_to(code, directive, span)
            new = b"if %b || %b" if not match[2] else b"if !%b && !%b"
        elif (match := _DEFINED.search(before)) and _WITH_CONDITION.match(before):
            start = directive.start + match.start()
            end = span.end if match[1] is None else code.find(b")", span.end, directive.end) + 1
            # Only the name may be in the parentheses, and no other `defined` around this one.
            odd = match[1] is not None and code[span.end : end - 1].strip()
            if not end or odd or _DEFINED.search(code, directive.start, start):
                continue
            new = b"(%b || %b)"
        else:
            continue
        done = end
        new %= (b"defined(" + name + b")", b"defined(__HIPCC__)")
        message = f"only some builds define {name.decode()}; hipcc always defines __HIPCC__"
        yield Finding(span, "build_macro", message, (Edit(Span(start, end), new),))


def _asked_up_to(code: bytes, directive: Span, name: Span) -> int:
    """Return the end of the name in an `#ifdef`, with the ignored text after it, which an `#if` would not accept."""
    rest = code[name.end : directive.end]
    if rest.count(b'"') % 2 or rest.count(b"'") % 2:
        return directive.end  # The contents of a literal are blank in the code, and this one has no end.
    return name.end + len(rest.rstrip()) if rest.strip() else name.end


def _build_macros_of(source: Cpp) -> frozenset[bytes]:
    """Return the build macros that the program defines itself."""
    return frozenset(re.findall(rb"#[ \t]*define[ \t]+(" + _BY_BUILD.pattern + rb")\b", source.code))


def _beside(code: bytes, directive: Span, span: Span, name: bytes, kind: str, assumes: str = "") -> Finding:
    """Make a test for one of nvcc's names test for hipcc's too: it does not distinguish them."""
    equal = EQUALS[name]
    before = code[directive.start : span.start]
    if match := _IFDEF.search(before):
        sign, either = (b"!", b" && ") if match[2] else (b"", b" || ")
        new = match[1] + b" " + either.join(sign + b"defined(" + each + b")" for each in (name, equal))
        edits = [Edit(Span(directive.start + match.start(), _asked_up_to(code, directive, span)), new)]
    elif match := _DEFINED.search(before):
        closing = _CLOSING.match(code, span.end, directive.end) if match[1] else None
        if match[1] and closing is None:
            message = f"`defined({name.decode()}` has no closing parenthesis in its line: close it there"
            return Finding(span, kind, message, certainty=Certainty.MANUAL)
        end = closing.end() if closing else span.end
        start = directive.start + match.start()
        left, right = _LEFT.search(before, 0, match.start()), _RIGHT.match(code, end, directive.end)
        inserted = b"defined(" + equal + b")"
        if left and right and left["not"]:
            edits = [Edit(Span(end, end), b" && !" + inserted)]
        elif left and right and b"&&" not in (left["sign"], right["sign"]):
            edits = [Edit(Span(end, end), b" || " + inserted)]
        else:
            edits = [Edit(Span(start, start), b"("), Edit(Span(end, end), b" || " + inserted + b")")]
    else:
        edits = [Edit(Span(span.start, span.start), b"("), Edit(Span(span.end, span.end), b" || " + equal + b")")]
    message = f"{name.decode()}, or {equal.decode()}, which hipcc defines"
    if assumes:
        return Finding(span, kind, f"{message}: {assumes}", tuple(edits), Certainty.REVIEW)
    return Finding(span, kind, message, tuple(edits))


def _outside(source: Cpp, span: Span, name: bytes, directive: Span) -> Finding:
    if not _DEFINES.match(source.code, directive.start):
        equal = COMPILER[name]
        return Finding(span, "compiler", f"{name.decode()} → {equal.decode()}", (Edit(span, equal),))
    # hipcc itself defines __HIPCC__, and rocThrust treats a compiler with __CUDACC__ as nvcc.
    return Finding(
        directive,
        "defines_compiler",
        "a device compiler defines __CUDACC__ itself: remove this definition",
        (Edit(directive, b""),),
        Certainty.SAFE if isinstance(source, Cuda) else Certainty.REVIEW,
    )


PASS = Pass(Cpp, find)

# SPDX-License-Identifier: Apache-2.0
"""After the first port: hipport's own output is never taken for a person's decision.

Laws over all fixtures. A second run says what the first has left to a person, and offers again what was declined. What
upstream adds to a file that was ported, merged by Git, comes out as if it had been there from the beginning. And what
hipport writes about AMD is known as its own.
"""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from hipport.finding import Certainty
from hipport.languages.asked import MARK, asked
from hipport.languages.cmake import CMake
from hipport.languages.cpp import Cpp
from hipport.languages.make import Makefile
from hipport.languages.python import Python
from hipport.pipeline import Outcome, Ported, run
from hipport.project import Project, Target
from hipport.source import Source
from hipport.testing import Fixture, fixtures
from hipport_passes import PASSES
from hipport_passes.build_scripts.cmake_trees import Tree
from hipport_passes.build_scripts.conditions import Conditions
from upstream import merged, upstream

FOLDER = Path(__file__).parent.parent / "fixtures"
CASES = [case for folder in sorted(FOLDER.iterdir()) for case in fixtures(folder)]
CPP = [case for case in CASES if isinstance(case.before, Cpp)]

# Where a merge comes out otherwise: known, and no more than these.
_DECIDED = "what a first run has decided for review stays decided, as a person has accepted it"
_HALF = "half of what belongs together is upstream's again: an argument is CUDA's, and the macro it is given to HIP's"
_NATIVE = "a kernel that was given native wavefronts has them, and one that was not has none, whatever calls it since"
_GPU = "the condition was opened to ROCm while nothing behind it asked the GPU; what does so since raises there"
_AWAY = "code behind what a first run has kept from ROCm is reached by CUDA alone, and needs no port"
_NAME = "the function that chooses a device keeps its name and its place"
KNOWN = {
    "arch_guards/chosen_together": _DECIDED,
    "builtin_declarations/declared": "empty lines of what is left out",
    "cmake/compiler": "upstream's lines take the place of whole commands that had been moved there",
    "cmake/languages_listed": "a package is looked for in each of the blocks for HIP",
    "cooperative_groups/coalesced": "HIP's header of groups stays beside hipport's",
    "cooperative_groups/one_thread": "HIP's header of groups stays beside hipport's",
    "cpp_extension/gpu_decides": _GPU,
    "cpp_extension/gpu_or_toolkit": _GPU,
    "cpp_extension/homes_kept": _DECIDED,
    "cpp_extension/stops_and_looks": _GPU,
    "cpp_extension/without_gpu": _AWAY,
    "device_agnostic/everything": _NAME,
    "device_agnostic/moves_like_a_tensor": _NAME,
    "device_agnostic/own_cuda": _NAME,
    "device_agnostic/scripted": _NAME,
    "header_macros/own_macros": "an include in front of a macro's default, which stands elsewhere by then",
    "headers/cstdint_in_a_macro": "the place of an include in a file whose header guard is none any more",
    "inline_ptx/async_copies": "hipport/device.h comes with hipport/ptx.h and more",
    "inline_ptx/carry": _HALF,
    "inline_ptx/families": _HALF,
    "inline_ptx/lanes": "an include of hipport's stays, where another one brings it by now",
    "inline_ptx/macros_by_macros": _HALF,
    "inline_ptx/narrow": _HALF,
    "inline_ptx/written_out": _HALF,
    "inline_ptx/written_out_whole": _HALF,
    "math_names/program": "the place of an include of the runtime",
    "native_waves/by_number": _NATIVE,
    "native_waves/loop_in_memory": _NATIVE,
    "native_waves/macros": _NATIVE,
    "native_waves/parts_of_warps": _NATIVE,
    "native_waves/rounded_up": _NATIVE,
    "native_waves/shared": _NATIVE,
    "python_gates/capabilities_as_text": _AWAY,
    "spin_locks/rows": "the place of an include",
    "vector_types/operators": "an operator with upstream's code in it is not HIP's any more",
    "warp_intrinsics/overload": "a function of the program's by an intrinsic's name",
    "warp_intrinsics/template_numbers": "an include of hipport's stays, which nothing needs by now",
    "warp_intrinsics/template_numbers_unseen": "an include of hipport's stays, which nothing needs by now",
    "warp_size/half_ported": "the place of an include",
    "warp_synchronous/step_macros": _HALF,
}
# What is left of changes for review that a first run did not make, where what they change is another thing by then.
OTHERWISE = {
    "cooperative_groups/alike": "HIP's header of groups, which is certain where nothing is assumed of calls",
    "cooperative_groups/apart": "the same",
    "cooperative_groups/several_tiles": "the same",
    "cooperative_groups/trips": "the same",
    "cpp_extension/release_decides": "the flags behind it, which make the script one that asks for ROCm",
    "inline_ptx/macros_by_macros": "macros that were written out at their uses, which nothing uses by then",
    "inline_ptx/written_out": "asm that the macro was written out from",
    "inline_ptx/written_out_whole": "the macro that was written out at its uses, which nothing uses by then",
}
_RUNTIME = re.compile(rb"^#[ \t]*include <hip/hip_runtime\.h>[ \t]*\r?\n", re.MULTILINE)


_MADE: dict[str, type[Source]] = {".cmake": CMake, ".mk": Makefile}


def port(case: Fixture, text: bytes, accept: Certainty = Certainty.REVIEW) -> Ported:
    before = type(case.before)(case.before.path, text)
    return run(Project((before, *case.beside), Target(), case.skipped), PASSES, accept)


def again(case: Fixture, first: Ported, text: bytes, accept: Certainty = Certainty.REVIEW) -> Ported:
    """Port what a first run has made, as it is read from a disk, with another text for the case's file."""
    one, *rest = first.project.sources
    made = (_MADE.get(file.path.suffix, Cpp)(file.path, file.text) for file in first.created)
    sources: tuple[Source, ...] = (
        type(one)(one.path, text),
        *(type(each)(each.path, each.text) for each in rest),
        *made,
    )
    return run(Project(sources, Target(), case.skipped), PASSES, accept)


def left(ported: Ported) -> Counter[tuple[str, str, str]]:
    """What is left to a person: numbers of lines, and names that are HIP's by then, count for nothing.

    A kernel that cannot have native wavefronts has warps of 32 lanes after the first run: that is decided.
    """
    found = (
        (str(each.path), each.rule, re.sub(r" \(and [^()]* more of [^()]*\)|\d+|cuda|hip", "", each.message))
        for each in ported.reported
        if each.outcome is Outcome.REPORTED and each.rule != "native_waves/refused"
    )
    return Counter(found)


def declined(ported: Ported) -> Counter[str]:
    # A kernel that was not given native wavefronts has warps of 32 lanes, which is certain.
    rules = (each.rule for each in ported.reported if each.outcome is Outcome.DECLINED)
    return Counter(rule for rule in rules if rule != "native_waves/native")


_FOR_AMD = re.compile(rb"__HIP(?:CC|CC_RTC|_PLATFORM_AMD|_DEVICE_COMPILE)__")
_SAYS_AMD = re.compile(rb"\w*(?:HIP|ROCM|AMD)\w*")


def persons(ported: Source, before: Source) -> list[bytes]:
    """Return what of a port would be taken for a person's decision about AMD by the next run, and was not there."""
    read = type(ported)(ported.path, ported.text)
    if isinstance(read, Cpp) and isinstance(before, Cpp):
        return [
            part.condition
            for group in read.conditionals
            for part, following in pairwise(group)
            if _FOR_AMD.search(part.asked)
            # What a person has asked beside it is a decision.
            and before.words.isdisjoint(_SAYS_AMD.findall(part.asked))
            # Where hipport's own lines stand alone, there is nothing to take for anybody's.
            and not _DIRECTIVES.fullmatch(read.code, part.span.end, following.span.start)
        ]
    if isinstance(read, Python) and isinstance(before, Python) and read.module is not None:
        return [b"..."] if Conditions(read).decided and not Conditions(before).decided else []
    if isinstance(read, CMake) and isinstance(before, CMake):
        aware = [Tree(each, Project((each,))).aware for each in (read, before)]
        return [b"..."] if aware[0] and not aware[1] else []
    return []


_DIRECTIVES = re.compile(rb"(?:\s*#[^\n]*)*\s*")


def same(after: bytes, wanted: bytes) -> bool:
    """Say whether two texts are the same, but for which of HIP's headers has the mark, and the runtime's twice.

    An include of the runtime that a first run needed stays, where another header brings it by now.
    """
    bare, other = (text.replace(MARK, b"") for text in (after, wanted))
    if (MARK in after) != (MARK in wanted):
        return False
    return bare == other or (
        len(_RUNTIME.findall(bare)) > len(_RUNTIME.findall(other))
        and _RUNTIME.sub(b"", bare) == _RUNTIME.sub(b"", other)
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_after_the_first_port(case: Fixture, tmp_path: Path) -> None:
    first = port(case, case.before.text)
    ours = first.project.sources[0].text
    if first.changed or first.created:
        second = again(case, first, ours)
        assert left(second) == left(first)
        if any(each.certainty is Certainty.REVIEW and each.outcome is Outcome.APPLIED for each in first.reported):
            careful = port(case, case.before.text, Certainty.SAFE)
            later = again(case, careful, careful.project.sources[0].text, Certainty.SAFE)
            missed = declined(careful) - declined(later)
            assert (not missed) == (case.name not in OTHERWISE), missed
        assert not persons(first.project.sources[0], case.before)
    else:
        assert case.name not in OTHERWISE
    change = upstream(case.before, ours)
    if ours == case.before.text or change == case.before.text:
        assert case.name not in KNOWN
        return
    both = merged(tmp_path, case.before, ours, change)
    after, wanted = again(case, first, both), port(case, change)
    assert not after.failures and not wanted.failures
    TRIED["merged" if both != change else "theirs"] += 1
    one, other = after.project.sources[0].text, wanted.project.sources[0].text
    if case.name in KNOWN:
        assert not (same(one, other) and left(after) == left(wanted)), f"no longer: {KNOWN[case.name]}"
    else:
        if not same(one, other):
            assert one.decode(errors="replace") == other.decode(errors="replace")
        assert left(after) == left(wanted)


TRIED: Counter[str] = Counter()


def test_most_merges_have_both() -> None:
    """Where upstream's text is all that is left, a merge shows nothing here: most are none, of those tried so far."""
    assert TRIED["merged"] >= 3 * TRIED["theirs"]


@pytest.mark.parametrize(
    ("written", "before"),
    [
        (b"defined(__CUDACC__) || defined(__HIPCC__)", b"defined ( __CUDACC__ )"),
        (b"!defined(__NVCC__) && !defined(__HIPCC__)", b"! defined ( __NVCC__ )"),
        (b"(defined __CUDACC__ || defined(__HIPCC__)) && X", b"( defined __CUDACC__ ) && X"),
        (b"!(__CUDACC__ || __HIPCC__)", b"! __CUDACC__"),
        (b"defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)", b"defined ( __CUDA_ARCH__ )"),
        (b"(CUDA_VERSION >= 9000 || defined(__HIPCC__) /* hipport */) && X", b"(CUDA_VERSION >= 9000) && X"),
        (b"CUDA_VERSION < 9000 && !defined(__HIPCC__) && !defined(__HIP_PLATFORM_AMD__) /* hipport */",
         b"CUDA_VERSION < 9000"),
        # As formatters leave them.
        (b"CUDA_VERSION >= 9000 || \\\n    defined(__HIPCC__) /*hipport*/", b"CUDA_VERSION >= 9000"),
        (b"defined(__CUDACC__)||  defined( __HIPCC__ )", b"defined ( __CUDACC__ )"),
        (b"!defined(__HIPCC__) && \\\r\n  !defined(__HIP_PLATFORM_AMD__)   /* hipport */", b"1"),
    ],
)  # fmt: skip
def test_own_forms_are_read_as_what_they_were(written: bytes, before: bytes) -> None:
    assert asked(re.sub(rb"/\*.*?\*/", lambda comment: b" " * len(comment[0]), written), written) == before


@pytest.mark.parametrize(
    "written",
    [
        b"defined(USE_ROCM) || defined(__HIPCC__)",
        b"defined(__HIPCC__)",
        b"CUDA_VERSION >= 9000 || defined(__HIPCC__)",
        b"CUDA_VERSION >= 9000 && !defined(__HIPCC__)",
        # Not the same: && binds closer.
        b"FAST && defined(__CUDACC__) || defined(__HIPCC__)",
        b"defined(__CUDACC__) && defined(__HIPCC__)",
    ],
)
def test_a_persons_conditions_stay_a_decision(written: bytes) -> None:
    assert b"".join(asked(written, written).split()) == b"".join(written.split())

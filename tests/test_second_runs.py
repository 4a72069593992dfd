# SPDX-License-Identifier: Apache-2.0
"""After the first port: hipport's own output is never taken for a person's decision.

Two laws over all fixtures. A second run says what the first has left to a person. And what upstream adds to a file that
was ported, merged by Git, comes out as if it had been there from the beginning.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hipport.finding import Certainty
from hipport.languages.asked import asked
from hipport.languages.cpp import Cpp
from hipport.languages.cuda import Cuda
from hipport.pipeline import Outcome, Ported, run
from hipport.project import Project, Target
from hipport.source import Source
from hipport.testing import Fixture, fixtures
from hipport_passes import PASSES

FOLDER = Path(__file__).parent.parent / "fixtures"
CASES = [case for folder in sorted(FOLDER.iterdir()) for case in fixtures(folder)]
CPP = [case for case in CASES if isinstance(case.before, Cpp)]

KERNEL = b"""
__global__ void upstream_added(int *out, const int *in) {
    int v = in[threadIdx.x];
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    if (threadIdx.x % warpSize == 0) atomicAdd(out, v);
}
void upstream_call(int *p) {
    cudaMemset(p, 0, 4);
    upstream_added<<<1, 32>>>(p, p);
    cudaDeviceSynchronize();
}
"""
HOST = b"""
inline int upstream_added(void *p) {
    return cudaMemset(p, 0, 4) != cudaSuccess;
}
"""
# Where a merge comes out otherwise: known, and no more than these.
KNOWN = {
    "api_names/version": "which header has the mark",
    "arch_guards/chosen_together": "a branch that was chosen for AMD stays chosen",
    "cub_thrust/versions": "the order of includes",
    "half_types/casts": "a name of the new code's has another type",
    "header_macros/own_macros": "the order of includes",
    "headers/brought_by_nvcc": "an include of the runtime, where another header brings it by now",
    "headers/chosen_no_header_of_hip": "which header has the mark",
    "headers/conditional": "an include of the runtime, where another header brings it by now",
    "headers/cstdint_in_a_macro": "the place of an include",
    "host_math/classes": "the order of includes",
    "nested_includes/in_a_namespace": "the order of includes",
    "pytorch_api/thc": "the order of includes",
    "pytorch_api/thc_unsupported": "the order of includes",
}


def port(case: Fixture, text: bytes, accept: Certainty = Certainty.REVIEW) -> Ported:
    before = type(case.before)(case.before.path, text)
    return run(Project((before, *case.beside), Target(), case.skipped), PASSES, accept)


def again(case: Fixture, first: Ported, text: bytes, accept: Certainty = Certainty.REVIEW) -> Ported:
    """Port what a first run has made, as it is read from a disk, with another text for the case's file."""
    one, *rest = first.project.sources
    made = (Cpp(file.path, file.text) for file in first.created)
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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_second_run_says_what_is_left_to_a_person(case: Fixture) -> None:
    first = port(case, case.before.text)
    second = again(case, first, first.project.sources[0].text)
    assert left(second) == left(first)


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


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_second_run_offers_what_was_declined(case: Fixture) -> None:
    """What is for review, and was not accepted, is not lost by what was."""
    first = port(case, case.before.text, Certainty.SAFE)
    second = again(case, first, first.project.sources[0].text, Certainty.SAFE)
    missed = declined(first) - declined(second)
    assert (not missed) == (case.name not in OTHERWISE), missed


def declined(ported: Ported) -> Counter[str]:
    # A kernel that was not given native wavefronts has warps of 32 lanes, which is certain.
    rules = (each.rule for each in ported.reported if each.outcome is Outcome.DECLINED)
    return Counter(rule for rule in rules if rule != "native_waves/native")


def merged(folder: Path, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Return what Git makes of two changes, None where they are in conflict."""
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_bytes(text)
    done = subprocess.run(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True)
    assert 0 <= done.returncode < 128, done.stderr
    return done.stdout if done.returncode == 0 else None


def upstream(source: Cpp) -> Iterator[bytes]:
    """Yield the file with a kernel more at its end, with a header more, and with code more in each of its branches."""
    text = source.text
    yield text + b"\n" * (not text.endswith(b"\n")) + (KERNEL if isinstance(source, Cuda) else HOST)
    if source.includes and not source.ported(source.includes[-1].directive.start):
        end = text.find(b"\n", source.includes[-1].directive.end) + 1
        if end:
            yield text[:end] + b"#include <cuda_fp16.h>\n" + text[end:]
    for group in source.conditionals:
        for part in group[:-1]:
            end = text.find(b"\n", part.span.end) + 1
            piece = added(source, part.span.start)
            # In a branch that a person has written for one of the two, new code is that person's as well.
            if end and piece and not source.ported(end):
                yield text[:end] + piece + text[end:]


def added(source: Cpp, offset: int) -> bytes:
    """Return what can be added there: a statement in a body, a function elsewhere, nothing within declarations."""
    node = source.tree.root_node.descendant_for_byte_range(offset, offset)
    while node is not None:
        if node.type == "compound_statement":
            return b"    (void)__shfl_sync(0xffffffffu, 1, 0);\n"
        if node.type.endswith("_list") or node.type == "ERROR":
            return b""
        node = node.parent
    return b"inline void upstream_in_branch(void *p) { (void)cudaFree(p); }\n"


TRIED: Counter[str] = Counter()


@pytest.mark.parametrize("case", CPP, ids=str)
def test_what_upstream_adds_is_ported(case: Fixture, tmp_path: Path) -> None:
    assert isinstance(case.before, Cpp)
    first = port(case, case.before.text)
    differ = False
    for change in upstream(case.before):
        both = merged(tmp_path, first.project.sources[0].text, case.before.text, change)
        TRIED["conflict" if both is None else "merged"] += 1
        if both is None:
            continue
        after, wanted = again(case, first, both).project.sources[0].text, port(case, change).project.sources[0].text
        if case.name not in KNOWN:
            assert after.decode(errors="replace") == wanted.decode(errors="replace")
        differ = differ or after != wanted
    assert differ == (case.name in KNOWN), f"no longer: {KNOWN.get(case.name)}"


def test_most_changes_were_merged() -> None:
    """A change in conflict is for a person to merge, and shows nothing here: most are none."""
    print(dict(TRIED))
    # Of those that this process of the tests has tried, perhaps none.
    assert TRIED["merged"] >= TRIED["conflict"]


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

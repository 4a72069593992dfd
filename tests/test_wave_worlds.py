# SPDX-License-Identifier: Apache-2.0
"""Where 32 lanes and the wavefront's size meet, something is said; where they do not, nothing is: wave_worlds.txt."""

from __future__ import annotations

import re

import pytest

import hipport
from hipport.analysis.wave_sizes import Size, WaveSizes, World, worlds
from hipport.syntax.cpp import Cpp
from hipport.workspace import discovery
from wave_worlds import PROGRAMS, mistaken, said


@pytest.mark.parametrize("name", PROGRAMS)
def test_worlds_that_meet(name: str) -> None:
    program = PROGRAMS[name]
    assert not mistaken(program, hipport.rewrite(program.files, jobs=1))


def test_many_of_both() -> None:
    meeting = [each for each in PROGRAMS.values() if each.meet]
    assert len(meeting) >= 60
    assert len(PROGRAMS) - len(meeting) >= 30


def test_silence_and_noise_are_mistakes() -> None:
    """The judge itself: a port of no passes is silent, and one that reports is noisy for a look-alike."""
    meets, agrees = PROGRAMS["logarithm_of_both"], PROGRAMS["cuda_only_constant"]
    assert "nothing is said" in mistaken(meets, hipport.rewrite(meets.files, passes=(), jobs=1))
    ported = hipport.rewrite(meets.files, jobs=1)
    assert said(ported)
    assert "lane_masks/size" in mistaken(agrees, ported)


#: What the values have to be: an expression in the program, behind its first `__shfl`, and its sizes.
VALUES = {
    ("macro_of_both", b"1024 / WARP_SIZE"): [(32, 16, 16)],
    ("logarithm_of_both", b"WARP - 1"): [(31, 63, 63)],
    ("half_of_both", b"3 * kHalf"): [(48, 96, 96)],
    ("chosen_by_arithmetic", b"WARP_SIZE == 64"): [(0, 1, 1)],
    ("specialised_trait", b"(int)w"): [(32, 64, 64)],
    ("traits_as_an_argument", b"T::kLog"): [(5, 6, 6)],
    ("integral_constant_of_both", b"static_cast<int>(Width::value)"): [(32, 64, 64)],
    ("by_family_of_gpus", b"WIDTH"): [(32, 32, 64)],
    ("argument_through_two_calls", b"w / 2"): [(16, 32, 32)],
    ("template_argument_of_both", b"W"): [(None, 64, 64), (32, None, None)],
    ("kernel_of_any_width", b"W"): [(8, 8, 8), (16, 16, 16), (32, 32, 32)],
    ("warp_size_of_pytorch", b"lanes"): [(32, 32, 64)],
    ("hip_by_warp_size_throughout", b"warpSize / 2"): [(16, 16, 32)],
    ("device_variable_returned", b"warpSize"): [(32, 32, 32)],
    ("cuda_only_constant", b"unknown + 1"): [(None, None, None)],
}


@pytest.mark.parametrize(("name", "text"), VALUES)
def test_values(name: str, text: bytes) -> None:
    project = discovery.in_memory(PROGRAMS[name].files, None)
    source = next(each for each in project.sources if isinstance(each, Cpp) and b"__shfl" in each.text)
    found = project.component(source).fact(WaveSizes).of(source, text, source.code.index(b"__shfl"))
    assert [size[:3] for size in found] == VALUES[name, text]


def test_the_way_is_told() -> None:
    project = discovery.in_memory(PROGRAMS["argument_through_two_calls"].files, None)
    (source,) = project.sources
    assert isinstance(source, Cpp)
    (size,) = project.component(source).fact(WaveSizes).of(source, b"w", source.code.index(b"__shfl"))
    assert [(each.name, each.text) for each in size.way] == [
        (b"w", b"lanes"),
        (b"lanes", b"2 * kHalfWidth"),
        (b"kHalfWidth", b"32"),
    ]
    assert size.pair == (32, 64)
    assert not size.is_same
    assert Size(7, 7, 7).is_same


def test_who_sees_what() -> None:
    text = b"#if defined(__GFX9__)\nint a;\n#else\nint b;\n#endif\n"
    text += b"#ifdef USE_ROCM\nint c;\n#else\nint d;\n#endif\nint e;\n"
    (source,) = discovery.in_memory({"a.cu": text}, None).sources
    assert isinstance(source, Cpp)
    seen = {match[1]: worlds(source, match.start()) for match in re.finditer(rb"int (\w)", text)}
    assert seen == {
        b"a": {World.WAVE64},
        b"b": set(World),  # There are others with 64 lanes.
        b"c": {World.WAVE32, World.WAVE64},
        b"d": {World.CUDA},
        b"e": set(World),
    }

# SPDX-License-Identifier: Apache-2.0
"""pitfalls.toml: all entries, and their statements about passes and fixtures.

Each entry that passes rewrite or report has a fixture with it, one that only resembles it, and a place where it comes
through a macro or a template. Each entry that needs nothing has a program with it that stays unchanged.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hip_header
import hipport
from hipport.core.finding import Certainty
from hipport.core.tables import load
from hipport.toolchain.toolchains import find
from hipport_passes import PASSES

ROOT = Path(__file__).parent.parent
ENTRIES: list[dict[str, Any]] = load(ROOT / "passes/hipport_passes/pitfalls.toml")["entry"]
NAMES = {each.name for each in PASSES}
LEFT = ROOT / "tests/needs_nothing"
#: Changes in programs that need nothing: names and headers alone, and nvcc's implicit include of the runtime.
RENAMING = {("api_names", "name"), ("headers", "mapped")}
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\\\n|[^\n])*", re.MULTILINE)
_TEMPLATE = re.compile(r"^[ \t]*template[ \t]*<", re.MULTILINE)
#: Functions and variables of Python, CMake and shells.
_SCRIPTED = re.compile(
    r"^(?:[ \t]*def \w+\((?:.*\n)(?:[ \t]+.*\n|\n)*|[ \t]*(?:export[ \t]+)?\w+[ \t]*\+?=[^=].*|[ \t]*set\(\w+.*"
    r"|\w+\(\)[ \t]*\{\n(?:.*\n)*?\})",
    re.MULTILINE,
)


def of_fixture(name: str) -> tuple[Path, list[tuple[int, str]], bool]:
    """Return the text before, the line and certainty of each finding, and whether the text changes."""
    folder, _, case = name.partition("/")
    before = list((ROOT / "fixtures" / folder).glob(f"{case}.before.*"))
    assert before, f"no fixture {name}"
    said = before[0].parent / f"{case}.findings"
    found = [line.split() for line in said.read_text().splitlines()] if said.exists() else []
    stated = [(int(words[0].partition(":")[0]), words[2]) for words in found if words and words[0][0] != "#"]
    return before[0], stated, bool(list(before[0].parent.glob(f"{case}.after.*")))


def indirect(path: Path) -> set[int]:
    """Return the lines of a fixture that are in a macro or a template, or use one of its macros."""
    text = path.read_text()

    def lines(start: int, end: int) -> range:
        return range(text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 2)

    if path.suffix in (".py", ".cmake", ".sh"):
        return {line for match in _SCRIPTED.finditer(text) for line in lines(match.start(), match.end() - 1)}
    found = {line for match in _DEFINE.finditer(text) for line in lines(*match.span())}
    macros = "|".join(match[1] for match in _DEFINE.finditer(text))
    if macros:
        found |= {line for match in re.finditer(rf"\b(?:{macros})\b", text) for line in lines(*match.span())}
    for match in _TEMPLATE.finditer(text):
        depth, at = 0, text.find("{", match.end()) - 1
        while at + 1 < len(text):
            at += 1
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                break
        found |= set(lines(match.start(), at))
    return found


def test_all_entries_in_order() -> None:
    assert [entry["number"] for entry in ENTRIES] == list(range(1, 65))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["number"]))
def test_entry(entry: dict[str, Any]) -> None:
    assert entry["title"] and entry["says"]
    named = set(entry) - {"number", "title", "ends", "says"}
    if entry["ends"] == "nothing":
        assert not named
        return
    assert named == {"passes", "fixtures", "look_alikes", "through"}
    assert entry["ends"] in ("rewritten", "reported")
    assert set(entry["passes"]) <= NAMES
    rewritten = reported = False
    for fixture in entry["fixtures"]:
        assert fixture.partition("/")[0] in entry["passes"]
        _, findings, changes = of_fixture(fixture)
        rewritten |= changes
        reported |= any(certainty == "manual" for _, certainty in findings)
    assert rewritten if entry["ends"] == "rewritten" else reported


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["number"]))
def test_entry_has_a_look_alike_and_a_macro(entry: dict[str, Any]) -> None:
    if entry["ends"] == "nothing":
        return
    assert entry["look_alikes"] and entry["through"]
    for fixture in entry["look_alikes"]:
        assert fixture.partition("/")[0] in entry["passes"]
        assert of_fixture(fixture)[1:] == ([], False), f"{fixture} is no look-alike: something is found in it"
    for place in entry["through"]:
        fixture, _, line = place.partition(":")
        assert fixture.partition("/")[0] in entry["passes"]
        path, findings, _ = of_fixture(fixture)
        assert int(line) in {found for found, _ in findings}, f"nothing is found at {place}"
        assert int(line) in indirect(path), f"{place} is in no macro or template"


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry["ends"] == "nothing"], ids=lambda entry: str(entry["number"])
)
def test_nothing_needs_to_be_done(entry: dict[str, Any]) -> None:
    (path,) = LEFT.glob(f"{entry['number']}_*")
    files = {each.name: each.read_bytes() for each in (sorted(path.iterdir()) if path.is_dir() else [path])}
    ported = hipport.rewrite(files)
    for reported in ported.reported:
        assert (reported.rule.partition("/")[0], reported.rule.partition("/")[2]) in RENAMING, reported
        assert reported.certainty is Certainty.SAFE, reported
    # No file is renamed or added, and nothing but names changes.
    assert {source.path.name for source in ported.project.sources} == set(files)
    for source in ported.project.sources:
        before, after = (
            text.replace(b"hip/hip_runtime.h", b"cuda_runtime.h").replace(b"> /* hipport */", b">")
            for text in (source.first.text, source.text)
        )
        assert re.sub(rb"\bhip([A-Z])", rb"cuda\1", after) == before.replace(b"CUDART_CB ", b"")
    # A second run of hipport changes nothing.
    again = hipport.rewrite({source.path.name: source.text for source in ported.project.sources})
    assert not again.changed


@pytest.mark.toolchain
def test_programs_that_need_nothing_compile(tmp_path: Path) -> None:
    toolchain = next((each for each in find(os.environ, Path(sys.executable)) if each.hip[:2] >= (6, 4)), None)
    if toolchain is None:
        pytest.skip("NOT CHECKED with a real compiler: no hipcc (hipport toolchain install)")
    for path in sorted([*LEFT.glob("*.cu"), *LEFT.glob("*/*.cu")]):
        files = {each.name: each.read_bytes() for each in path.parent.iterdir() if path.parent != LEFT}
        ported = hipport.rewrite(files or {path.name: path.read_bytes()})
        folder = tmp_path / path.stem
        folder.mkdir()
        for source in ported.project.sources:
            (folder / source.path.name).write_bytes(source.text)
        # For a device, a compiler checks the host's functions as well.
        own = ["-x", "hip", "--cuda-device-only", "-fsyntax-only", "-std=c++17", "--offload-arch=gfx942"]
        command = [toolchain.hipcc, *own, path.name]
        done = hip_header.run(command, cwd=folder, env=toolchain.environment(os.environ))
        assert done.returncode == 0, f"{path.name}: {done.stderr}"


@pytest.mark.toolchain
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_operations_that_cuda_never_fuses_are_not_fused(target: str, tmp_path: Path) -> None:
    toolchain = next((each for each in find(os.environ, Path(sys.executable)) if each.hip[:2] >= (6, 4)), None)
    if toolchain is None:
        pytest.skip("NOT CHECKED with a real compiler: no hipcc (hipport toolchain install)")
    (tmp_path / "sums.cu").write_text(
        "#include <cuda_runtime.h>\n"
        "#define PRODUCT(a, b) __fmul_rn(a, b)\n"
        'extern "C" __global__ void apart(float *out, float a, float b, double c) {\n'
        "  out[threadIdx.x] = __fadd_rn(PRODUCT(out[threadIdx.x], a), b);\n"
        "  out[threadIdx.x + 64] = __dadd_rn(__dmul_rn(c, out[threadIdx.x]), c);\n"
        "}\n"
        'extern "C" __global__ void fused(float *out, float a, float b) {\n'
        "  out[threadIdx.x] = out[threadIdx.x] * a + b;\n"
        "}\n"
    )
    hipport.save(hipport.rewrite([tmp_path]))
    options = ["-x", "hip", "--cuda-device-only", "-S", "-O2", f"--offload-arch={target}", "sums.cu", "-o", "sums.s"]
    subprocess.run([toolchain.hipcc, *options], cwd=tmp_path, env=toolchain.environment(os.environ), check=True)
    code = (tmp_path / "sums.s").read_text()
    apart, fused = (code.partition(f"\n{name}:")[2].partition("s_endpgm")[0] for name in ("apart", "fused"))
    assert re.search(r"v_(?:dual_)?(?:fma|fmac|mad)", fused), "the other check would not see it"
    assert "mul" in apart and not re.search(r"v_(?:dual_)?(?:fma|fmac|mad)", apart)

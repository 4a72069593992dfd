# SPDX-License-Identifier: Apache-2.0
"""`hipport explain`: its answers about passes, rules, pitfalls and names, and about unknown ones."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import hipport
from hipport.cli import main
from hipport.core.tables import load
from hipport.reporting import report
from hipport.reporting.explainer import Explanation, Unknown, rule_texts
from hipport.testing import fixtures
from hipport_passes import PASSES
from reported_rules import PASSES_FOLDER, importers, kinds_by_module, known_rules, rules_of_engine, shown_rules

ROOT = Path(__file__).parent.parent


def text(explanation: Explanation) -> str:
    return report.explanation_as_text(explanation)


@pytest.mark.parametrize(
    ("name", "rule", "certainty", "after"),
    [
        ("cudaMallocAsync", "api_names/name", "safe", "    hipMallocAsync(a, b);"),
        ("cudnnCreate", "api_names/unsupported", "manual", None),
        ("__shfl_down_sync", "warp_intrinsics/helper", "safe", "    p[0] = hipport::shfl_down_sync(~0u, p[0], 1);"),
        ("tex2D", "textures/fetch", "manual", None),
        ("cublas_v2.h", "headers/mapped", "safe", "#include <hipblas/hipblas.h>"),
        ("cudnn.h", "headers/unsupported", "manual", None),
        ("lop3.b32", "inline_ptx/instruction", "safe", ""),
        ("mma.sync", "inline_ptx/matrix", "manual", None),
        ("torch.cuda.get_device_capability", "python_gates/capability", "review", ""),
        ("CUDA::cublas", "cmake/target", "safe", ""),
        ("cub::WarpReduce", "namespaces/cub", "safe", "    hipcub::WarpReduce(a, b);"),
    ],
)
def test_a_name_is_shown_in_a_program(name: str, rule: str, certainty: str, after: str | None) -> None:
    said = hipport.explain(name)
    assert said.kind == "name"
    example = next(each for each in said.examples if each.rule == rule)
    assert example.certainty == certainty and name in example.before and example.message
    # "" stands for any change.
    assert example.after != example.before if after == "" else example.after == (after or example.before)
    assert rule.partition("/")[0] in said.passes


def test_general_remarks_are_not_repeated_for_a_name() -> None:
    said = hipport.explain("cudaMallocAsync")
    # The header of the programs is ported too, and was not asked for.
    assert [example.rule for example in said.examples] == ["api_names/name"]
    with pytest.raises(Unknown):
        hipport.explain("foo.bar")


def test_options_of_nvcc_and_their_spellings() -> None:
    for name in ("-use_fast_math", "--use_fast_math"):
        said = hipport.explain(name)
        assert {example.rule for example in said.examples} == {"cpp_extension/fast_math"}
        assert any("NaN" in row.values.get("why", "") for row in said.rows)
    # An option with a value is shown with one.
    assert ["dropped" in each.message for each in hipport.explain("--maxrregcount").examples] == [True]


def test_rows_of_tables_show_releases_and_reasons() -> None:
    since = hipport.explain("cublasLtMatmul").rows
    assert [(row.table, row.section, dict(row.values)) for row in since] == [
        ("api_names.toml", "blas", {"is": "hipblasLtMatmul", "since": "5.5"})
    ]
    assert "ROCm has no library with the interface of cuDNN" in text(hipport.explain("cudnn.h"))


def test_the_target_counts() -> None:
    new = hipport.explain("tex2D", target=hipport.Target(archs=("gfx1100",)))
    assert new.examples == () and new.rows


def test_a_pitfall() -> None:
    for name in ("17", "#17", "pitfall 17", "Pitfall 17"):
        said = hipport.explain(name)
        assert said.kind == "pitfall" and [each.number for each in said.pitfalls] == [17]
        assert "warp_synchronous" in said.passes
    with pytest.raises(Unknown):
        hipport.explain("640")


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_every_pass_and_its_rules(each: "hipport.Pass[object]") -> None:
    said = hipport.explain(each.name)
    assert said.kind == "pass" and said.text == each.doc
    stated = {line.split()[1] for case in fixtures(ROOT / "fixtures" / each.name) for line in case.findings}
    shown = {f"{each.name}/{kind}" for kind in stated}
    assert {example.rule for example in said.examples} == shown
    assert set(said.rules) == {rule for rule in known_rules() if rule.partition("/")[0] == each.name} >= shown
    assert text(said)


def test_every_rule_that_code_can_report_is_explained() -> None:
    """A rule whose findings need a target, a folder or a merge is in no fixture: it has a text in rules.toml."""
    known, owners = known_rules(), {each.find.__module__: each.name for each in PASSES}
    reach = importers(PASSES_FOLDER, owners)
    missing = rules_of_engine(ROOT / "src/hipport/engine") - known
    assert len(rules_of_engine(ROOT / "src/hipport/engine")) >= 3
    kinds = kinds_by_module(PASSES_FOLDER)
    assert sum(map(len, kinds.values())) > 250
    for module, names in kinds.items():
        for kind in names:
            # A shared module's finding is one of a pass that imports it.
            may = (owners[module],) if module in owners else sorted(reach.get(module) or owners.values())
            if known.isdisjoint(f"{each}/{kind}" for each in may):
                missing |= {f"{'|'.join(may)}/{kind}"}
    assert not missing


def test_every_flag_is_reported_by_an_explained_rule() -> None:
    """The passes about build files share a table of flags, of which each reports those that can occur in its files."""
    texts: dict[str, bytes] = {}
    for number, row in enumerate(load(PASSES_FOLDER / "build_files/nvcc_flags.toml")["flag"]):
        flag, values = row["names"][0], (next(iter(row.get("by", {})), "3"), "x")
        for place, value in enumerate(values if row.get("value", "no") != "no" else ("",)):
            given = f"{flag}={value}" if value else flag
            texts |= {
                f"{number}/{place}/Makefile": f"one: one.cu\n\tnvcc {given} -o one one.cu\n".encode(),
                f"{number}/{place}/CMakeLists.txt": (
                    "cmake_minimum_required(VERSION 3.18)\nproject(one LANGUAGES CXX CUDA)\n"
                    f'string(APPEND CMAKE_CUDA_FLAGS " {given}")\nadd_library(one one.cu)\n'
                ).encode(),
                f"{number}/{place}/setup.py": (
                    "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
                    f'setup(ext_modules=[CUDAExtension("x", ["x.cu"], extra_compile_args={{"nvcc": ["{given}"]}})])\n'
                ).encode(),
            }
    reported = {each.rule for each in hipport.rewrite(texts).reported}
    assert len(reported) > 40
    assert not reported - known_rules()


def test_rules_with_a_text_are_in_no_fixture_and_in_the_code() -> None:
    texts = rule_texts(PASSES_FOLDER)
    assert not texts.keys() & shown_rules()
    reported = {kind for kinds in kinds_by_module(PASSES_FOLDER).values() for kind in kinds}
    of_engine = rules_of_engine(ROOT / "src/hipport/engine")
    assert not [rule for rule in texts if rule.partition("/")[2] not in reported and rule not in of_engine]
    for rule, row in texts.items():
        said = hipport.explain(rule)
        assert said.kind == "rule" and said.rules == (rule,) and row.says in text(said) and row.certainty in text(said)


def test_a_rule_by_both_its_names() -> None:
    whole = hipport.explain("wide_shifts/shift")
    assert whole.kind == "rule" and whole.examples
    assert {example.rule for example in whole.examples} == {"wide_shifts/shift"}
    assert all(example.source.startswith("wide_shifts/") for example in whole.examples)
    half = hipport.explain("fetch")
    assert half.rules == ("textures/fetch",)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("cudaMallocAsyn", "cudaMallocAsync"),
        ("cudamallocasync", "cudaMallocAsync"),
        ("-use_fastmath", "-use_fast_math"),
        ("barrierss", "barriers"),
        ("warp_intrinsics/helpers", "warp_intrinsics/helper"),
    ],
)
def test_unknown_names_and_similar_ones(name: str, near: str) -> None:
    with pytest.raises(Unknown) as raised:
        hipport.explain(name)
    assert near in raised.value.near
    assert f"{name}: no pass, rule, pitfall or fault" in str(raised.value) and near in str(raised.value)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = CliRunner().invoke(main, ["explain", "-use_fast_math", "--format", "json"])
    assert asked.exit_code == 0, asked.output
    document = json.loads(asked.output)
    assert document["kind"] == "name" and document["examples"][0]["rule"] == "cpp_extension/fast_math"
    asked = CliRunner().invoke(main, ["explain", "--target=gfx1100", "tex2D"])
    assert asked.exit_code == 0 and "textures/fetch" not in asked.output
    asked = CliRunner().invoke(main, ["explain", "cudaMallocAsyn"])
    assert asked.exit_code == 2 and "cudaMallocAsync" in asked.output
    assert CliRunner().invoke(main, ["explain"]).exit_code == 2
    assert "option of nvcc" in " ".join(CliRunner().invoke(main, ["explain", "--help"]).output.split())


def test_rows_show_when_they_were_checked() -> None:
    said = hipport.explain("cupy")
    rows = {row.table: row.checked for row in said.rows}
    assert re.fullmatch(r"20\d\d-\d\d-\d\d, ROCm \d+\.\d+", rows["python_gates.toml"])
    assert f"(last seen to hold: {rows['python_gates.toml']})" in text(said)


def test_every_kind_of_fault_is_explained() -> None:
    said = set()
    for path in (ROOT / "src/hipport/executor").rglob("*"):
        if path.suffix in (".h", ".cpp", ".hpp", ".cuh"):
            code = path.read_text()
            said |= set(re.findall(r"\b(?:fault|fault_with|warning|warning_at)\(\s*\"([a-z-]+)\"", code))
            said |= {kind for kind in CHOSEN if f'"{kind}"' in code}
    known = load(ROOT / "src/hipport/executor/faults.toml")["fault"]
    assert said == set(known)
    for kind in known:
        found = hipport.explain(kind)
        assert found.rows[-1].values == known[kind] and set(known[kind]) == {"is", "instead"}
    assert hipport.explain("no-progress").kind == "fault" and hipport.explain("trap").examples
    assert "--races" in text(hipport.explain("race"))


#: Kinds that no call has as its first argument.
CHOSEN = ("division", "stack-overflow", "segmentation-fault", "no-progress", "deadlock", "time-limit")


def test_a_file_that_a_run_on_the_tree_leaves_alone(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    kernel = b"#include <cuda_runtime.h>\nvoid f() { cudaDeviceSynchronize(); }\n"
    places = {
        "own.cu": "",
        "generated/a.cu": "generated: excluded by the configuration",
        "lib/glm/glm/b.cu": "lib/glm: third-party code: glm",
        "build/lib/c.cu": "build: a build, a package manager or version control made this folder",
        ".hidden/d.cu": ".hidden: a hidden folder",
        "made.hip": "made by hipify from another file",
    }
    for path in places:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(kernel)
    (tmp_path / "lib/glm/glm/glm.hpp").write_bytes(b"")
    (tmp_path / "made.hip").write_bytes(b"// !!! This is a file automatically generated by hipify!!!\n" + kernel)
    for path, why in places.items():
        explained = hipport.explain_place(tmp_path / path, 2, exclude=["generated/"], exclude_base=tmp_path)
        assert explained.set_aside == why
        assert ("A run on the whole tree leaves this file alone" in report.place_as_text(explained)) == bool(why)
    (tmp_path / "x.cu").write_bytes(kernel)
    with pytest.raises(ValueError, match=r"x\.cu: hipport does not read this file: excluded by the configuration"):
        hipport.explain_place(tmp_path / "x.cu", 2, exclude=["x.cu"], exclude_base=tmp_path)
    (tmp_path / "notes.txt").write_bytes(b"cuda\n\n")
    with pytest.raises(ValueError, match="hipport does not read this file: not in a language that hipport reads"):
        hipport.explain_place(tmp_path / "notes.txt", 1)


def test_a_range_of_lines_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cu").write_bytes(b"\n\n\n")
    asked = CliRunner().invoke(main, ["explain", "k.cu:1-3"])
    assert asked.exit_code == 2
    assert "one line, not a range of lines; ask for each line: k.cu:1" in " ".join(asked.output.split())


def test_a_stand_in_for_a_header_of_cuda_is_not_the_programs_own(tmp_path: Path) -> None:
    # Like hipport's own repository: the file is in a folder that no build script names for the program.
    (tmp_path / ".git").mkdir()
    (tmp_path / "src/include").mkdir(parents=True)
    header = b"#pragma once\ninline int cudaDeviceSynchronize() { return 0; }\n"
    (tmp_path / "src/include/cuda_runtime.h").write_bytes(header)
    (tmp_path / "a.cu").write_bytes(b"#include <cuda_runtime.h>\nvoid f() { cudaDeviceSynchronize(); }\n")
    (renamed,) = hipport.explain_place(tmp_path / "a.cu", 2).reported
    assert renamed.rule == "api_names/name"
    (tmp_path / "Makefile").write_bytes(b"a.o: a.cu\n\tnvcc -Isrc/include -c a.cu\n")
    assert hipport.explain_place(tmp_path / "a.cu", 2).reported == ()

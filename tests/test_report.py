# SPDX-License-Identifier: Apache-2.0
"""Reports are true: a diff applies, JSON has the same content as the objects, and colour is only used on request."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hipport
from hipport.cli import main
from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.group import Group
from hipport.core.source import Source
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import Pass, run
from hipport.program.project import Project, Skipped
from hipport.reporting import report
from hipport.reporting.grouped_findings import decisions
from hipport.reporting.report import as_diff, as_json, as_text, summary
from hipport.syntax.cuda import Cuda


def ported(text: bytes = b"a b\nc\n", certainty: Certainty = Certainty.REVIEW) -> Ported:
    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        for name, new in ((b"a", b"x"), (b"c", b"zz\n")):
            start = source.text.find(name)
            if start >= 0:
                span = Span(start, start + 1)
                yield Finding(span, "kind", f"{name.decode()} is old", (Edit(span, new),), certainty)
        yield Finding(Span(0, 0), "left", "do it by hand", certainty=Certainty.MANUAL)

    skipped = (Skipped(PurePosixPath("glm"), "vendored", "glm is third-party"),)
    return run(Project((Cuda(PurePosixPath("d/a.cu"), text),), skipped=skipped), (Pass(Cuda, find),))


def test_text_names_place_reason_and_rule() -> None:
    text = as_text(ported())
    assert text.startswith("kernels and C++\n  next: ")
    assert "  manual  do it by hand  [test_report/left]\n          d/a.cu:1\n" in text
    assert "  review  a is old  [test_report/kind]\n          d/a.cu:1\n" in text
    assert text.index("manual  do it") < text.index("review  a is old")  # The worst first.
    assert "left to a person   manual  review  places\n  kernels and C++       1       2       3\n" in text
    assert "glm is third-party" in text
    assert text.endswith("1 file changed: 2 places, 2 of them to review; 1 place needs a person (1 file read)\n")


def test_safe_changes_are_counted_not_listed() -> None:
    text = as_text(ported(certainty=Certainty.SAFE))
    assert "a is old" not in text and "  2  test_report/kind" in text


def test_colour_only_when_asked() -> None:
    assert "\x1b[" not in as_text(ported())
    assert "\x1b[33mreview\x1b[0m" in as_text(ported(), colour=True)


def test_summary_of_nothing() -> None:
    assert summary(run(Project(()), ())) == "nothing to change (0 files read)"


def test_unwritten_files_are_not_called_changed() -> None:
    document = json.loads(as_json(ported(), would=True))
    assert [(file["changed"], file["would_change"]) for file in document["files"]] == [(False, True)]
    assert document["summary"].startswith("1 file would change")
    document = json.loads(as_json(ported()))
    assert [(file["changed"], file["would_change"]) for file in document["files"]] == [(True, False)]
    assert document["summary"].startswith("1 file changed")


@pytest.mark.parametrize(
    ("words", "written"),
    [(["scan"], False), (["rewrite", "--check"], False), (["rewrite", "--diff"], False), (["rewrite"], True)],
)
def test_json_of_each_command_says_whether_anything_was_written(
    tmp_path: Path, words: list[str], written: bool
) -> None:
    (tmp_path / "a.cu").write_text("void f() { cudaFree(p); }\n")
    document = json.loads(CliRunner().invoke(main, [*words, str(tmp_path), "--format", "json"]).output)
    (file,) = document["files"]
    assert (document["written"], file["changed"], file["would_change"]) == (written, written, not written)
    assert ("would change" in document["summary"]) is not written


def test_json_is_stable_and_complete() -> None:
    document = json.loads(as_json(ported(), root="/r"))
    assert document["root"] == "/r" and document["schema"] == 1
    assert document["target"] == {"archs": ["gfx942", "gfx1100"], "dialect": "hip", "rocm": "6.4", "warp": "logical32"}
    (file,) = document["files"]
    assert file["path"] == "d/a.cu" and file["changed"] and file["sha256_before"] != file["sha256_after"]
    assert [(f["line"], f["rule"], f["outcome"]) for f in document["findings"]] == [
        (1, "test_report/left", "reported"),
        (1, "test_report/kind", "applied"),
        (2, "test_report/kind", "applied"),
    ]
    assert as_json(ported(), root="/r") == as_json(ported(), root="/r")


lines = st.lists(st.sampled_from([b"a", b"b", b"", b"a\r", b"\xff", b"same"]), max_size=12)


@example(old=[b"a", b"a", b"a", b"a", b"b", b"a"], new=[b"b", b"a", b"a", b"a", b"b", b"a"], ends=(False, False))
@settings(max_examples=60, deadline=None)
@given(old=lines, new=lines, ends=st.tuples(st.booleans(), st.booleans()))
def test_git_applies_the_diff(
    tmp_path_factory: object, old: list[bytes], new: list[bytes], ends: tuple[bool, bool]
) -> None:
    folder = tmp_path_factory.mktemp("diff")  # type: ignore[attr-defined]
    before, after = (b"\n".join(x) + (b"\n" if e and x else b"") for x, e in zip((old, new), ends, strict=True))
    source = Source(PurePosixPath("d/a.cu"), before)
    changed = source.apply([Edit(Span(0, len(before)), after)] if after != before else [])
    made = (NewFile(PurePosixPath("d/hipport/new.h"), b"one\ntwo"),)
    patch = as_diff(Ported(Project((source,)), Project((changed,)), (), made))
    root = Path(folder)
    (root / "d").mkdir()
    (root / "d/a.cu").write_bytes(before)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=root, check=True)
    assert (root / "d/a.cu").read_bytes() == after
    assert (root / "d/hipport/new.h").read_bytes() == b"one\ntwo"


# --- one decision, many places ----------------------------------------------------------------------------------------

KERNELS = {
    f"{name}.cu": b"void g() { cudaDeviceFlushGPUDirectRDMAWrites(a, b);\n cudnnCreate(&h);\n cudnnDestroy(h);\n}\n" * 3
    for name in ("a", "b", "c", "d", "e", "f")
}


def test_a_fact_is_reported_once_with_its_subjects_and_places() -> None:
    found = decisions(hipport.rewrite(KERNELS).reported)
    (cudnn,) = [decision for decision in found if "cuDNN" in decision.message]
    assert set(cudnn.subjects) == {"cudnnCreate", "cudnnDestroy"} and len(cudnn.places) == 36
    text = as_text(hipport.rewrite(KERNELS))
    assert text.count("the interface of cuDNN") == 1 and text.count("cudnnCreate") == 1
    assert "a.cu:2,3,6,7 and 2 more; b.cu:2,3,6,7 and 2 more;" in text and "; and 2 more files\n" in text
    whole = as_text(hipport.rewrite(KERNELS), whole=True)
    assert "a.cu:2,3,6,7,10,11; b.cu" in whole and "f.cu:2,3" in whole and "more" not in whole


def test_a_fact_is_not_one_with_another_of_its_rule() -> None:
    """Decisions are distinct if they differ in more than the name that they are about, or in lines; so are outcomes."""

    def find(source: Cuda, project: Project) -> Iterator[Finding]:
        for start, message in enumerate(messages):
            yield Finding(Span(start, start + 1), "kind", message, certainty=Certainty.MANUAL)

    def said(*given: str) -> list[str]:
        messages[:] = given
        return [decision.sentence for decision in decisions(run(project, (Pass(Cuda, find),)).reported)]

    messages: list[str] = []
    project = Project((Cuda(PurePosixPath("a.cu"), b"abcdef"),))
    assert said("f: HIP has no equivalent", "g: HIP has no equivalent") == ["f, g: HIP has no equivalent"]
    assert said("f: HIP has no equivalent", "g: use h instead") == ["f: HIP has no equivalent", "g: use h instead"]
    assert said("f → g; assumes that it is so", "h → i; assumes that it is so") == [
        "f → g, h → i: assumes that it is so"
    ]
    # A remark in parentheses on a name belongs to it.
    assert len(said("a/b.h (and 4 more of a/): it is not there", "a/c.h (and 2 more of a/): it is not there")) == 1
    assert len(said("threads part at `a` in line 3: they wait", "threads part at `a` in line 9: they wait")) == 1
    assert len(said("threads of a block part at `a`: they wait", "threads of a block part at `b`: they wait")) == 2


@pytest.mark.parametrize(
    ("choice", "pair"),
    [
        ("allow_fp16 = capability >= 75", "capability = major * 10 + minor\n"),
        ("if torch.cuda.get_device_capability() < (7, 5):\n    slow = True", ""),
        ("gemm(allow_fp16=torch.cuda.get_device_capability() >= (7, 5))", ""),
        ("options = {'fp16': torch.cuda.get_device_capability() >= (7, 5)}", ""),
        ("def run():\n    p = torch.cuda.get_device_properties(0)\n    return (p.major, p.minor) >= (7, 5)", ""),
    ],
)
@pytest.mark.parametrize(
    "code",
    [
        '#if __CUDA_ARCH__ >= 750\n  c[0] = 1;\n#else\n  printf("too old");\n  assert(false);\n#endif\n',
        '#if __CUDA_ARCH__ < 750\n  asm volatile("trap;");\n#else\n  c[0] = 1;\n#endif\n',
        "#if __CUDA_ARCH__ < 750\n  return;\n#endif\n  c[0] = 1;\n",
    ],
)
def test_missing_code_and_its_choice_are_one_fact(choice: str, pair: str, code: str) -> None:
    pair = pair and f"major, minor = torch.cuda.get_device_capability()\n{pair}"
    texts = {
        "k.cu": f"__global__ void gemm(float* c) {{\n{code}}}\n".encode(),
        "ops.py": f"import torch\n{pair}{choice}\n".encode(),
    }
    (decision,) = decisions(hipport.rewrite(texts).reported)
    assert {place.path.as_posix() for place in decision.places} == {"k.cu", "ops.py"}
    assert set(decision.rules) == {"arch_guards/architecture", "python_gates/missing_code"}
    assert decision.group is Group.KERNELS and decision.certainty is Certainty.MANUAL


def test_facts_of_which_one_alone_names_a_place_of_the_other_stay_apart() -> None:
    guard = (
        b"#if __CUDA_ARCH__ == 860\n#define TAG 86\n"
        b"#elif __CUDA_ARCH__ >= 750\n#define TAG 75\n#else\n#error old\n#endif\n"
        b"__global__ void g(float* c) {\n  c[0] = TAG;\n}\n"
    )
    choice = b"import torch\nnew = torch.cuda.get_device_capability() >= (9, 0)\n"
    assert len(decisions(hipport.rewrite({"k.cu": guard, "ops.py": choice}).reported)) == 2


@pytest.mark.parametrize(
    ("listed", "imported", "said"),
    [
        ("spconv-cu118", "import spconv.pytorch as spconv", ["spconv has no builds", "spconv-cu118: its kernels"]),
        ("nvidia-ml-py", "import pynvml", ["pynvml asks", "nvidia-ml-py: it asks"]),
        (
            "nvidia-cutlass-dsl==4.2",
            "import cutlass.cute as cute",
            ["cutlass compiles", "nvidia-cutlass-dsl: it binds CUDA"],
        ),
        (
            "git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch",
            "import tinycudann",
            ["tinycudann needs"],
        ),
        ("warp-lang", "import warp as wp", ["warp is NVIDIA's Warp", "warp-lang: it has no build"]),
    ],
)
def test_a_package_that_is_listed_and_imported_is_one_fact(listed: str, imported: str, said: list[str]) -> None:
    texts = {"requirements.txt": f"{listed}\n".encode(), "net.py": f"{imported}\n".encode()}
    found = decisions(hipport.rewrite(texts).reported)
    assert len(found) == 1 and {place.path.as_posix() for place in found[0].places} == set(texts)
    assert all(each in found[0].sentence for each in said) and found[0].certainty is Certainty.MANUAL
    # Other packages are other decisions, whatever they share.
    texts["other.py"] = b"import cudf\n"
    assert len(decisions(hipport.rewrite(texts).reported)) == 2


def test_scripts_that_workflows_alone_run_are_part_of_them() -> None:
    texts = {
        ".github/workflows/ci.yml": b"jobs:\n  build:\n    steps:\n      - uses: Jimver/cuda-toolkit@v0.2\n"
        b"      - run: ./ci/install.sh\n",
        "ci/install.sh": b"apt-get install -y cuda-toolkit-12-4\nnvcc --version\n",
    }
    (decision,) = decisions(hipport.rewrite(texts).reported)
    assert {place.path.as_posix() for place in decision.places} == set(texts) and decision.certainty is Certainty.MANUAL
    assert "installs CUDA's toolkit" in decision.sentence and "ROCm does not need" in decision.sentence
    # A script that others run as well is for them to decide.
    texts["Makefile"] = b"deps:\n\t./ci/install.sh\n"
    assert len(decisions(hipport.rewrite(texts).reported)) > 1


def test_environment_of_an_image_is_assumed_of_the_image() -> None:
    install = b"RUN pip install torch==1.10.0+cu113 -f https://download.pytorch.org/whl/torch_stable.html\n"
    cuda = b"FROM nvidia/cuda:11.3.1-devel-ubuntu20.04\nENV CUDA_HOME=/usr/local/cuda\n" + install
    assert len(decisions(hipport.rewrite({"Dockerfile": cuda}).reported)) == 1
    assert (
        "program runs with the PyTorch"
        in hipport.rewrite({"Dockerfile": b"FROM python:3.12\n" + install}).reported[0].message
    )


def test_one_thing_is_one_fact_across_passes_and_files() -> None:
    """A guard on a release and one on an architecture, a header and its declarations, pins of one build."""
    texts = {
        "a.cu": b"#include <mma.h>\nusing namespace nvcuda;\n",
        "b.cu": b"#if CUDA_VERSION > 13000\nint a;\n#else\nint b;\n#endif\n"
        b"__global__ void k(int* a) {\n#if __CUDA_ARCH__ >= 900\n*a = 1;\n#else\n*a = 2;\n#endif\n}\n",
        "requirements.txt": b"torch==2.1\ntorchvision==0.16\n",
    }
    assert [len(decision.places) for decision in decisions(hipport.rewrite(texts).reported)] == [2, 2, 2]


def test_groups_are_the_next_steps() -> None:
    texts = {
        "k.cu": b"void g() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n",
        "README.md": b"```\npip install torch --index-url https://download.pytorch.org/whl/cu121\n```\n",
        "docs/t.py": b"import pynvml\n",
        "run.py": b"import pynvml\n",
        "requirements.txt": b"torch==2.1\n",
        "setup.py": b"from torch.utils.cpp_extension import CUDAExtension, BuildExtension\n"
        b"from setuptools import setup\n"
        b"setup(ext_modules=[CUDAExtension('k', ['k.cu'], extra_compile_args={'nvcc': ['--use_fast_math']})])\n",
    }
    ported = hipport.rewrite(texts)
    groups = {(each.path.as_posix(), str(each.group)) for each in ported.reported if each.needs_person}
    assert groups == {
        ("k.cu", "kernels"), ("setup.py", "build"), ("run.py", "python"), ("requirements.txt", "packages"),
        ("README.md", "documents"), ("docs/t.py", "documents"),
    }  # fmt: skip
    text = as_text(ported)
    titles = [
        "kernels and C++\n",
        "\nbuild files\n",
        "\nPython\n",
        "\npackages and images\n",
        "\ndocuments and tutorials\n",
    ]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)
    collapsed = text.partition("\ndocuments and tutorials\n")[2].partition("\n\n")[0]
    assert "README.md (1)" in collapsed and "docs/t.py (1)" in collapsed and "pynvml" not in collapsed
    assert "pynvml" in as_text(ported, whole=True).partition("\ndocuments and tutorials\n")[2]


def test_text_is_wrapped_to_a_width_and_only_then() -> None:
    ported = hipport.rewrite(KERNELS)
    assert max(map(len, as_text(ported, width=60).splitlines())) <= 60
    assert as_text(ported, width=60).split() == as_text(ported).split()
    assert "\nwould change: a.cu, b.cu, c.cu, d.cu,\n  e.cu, f.cu\n" in as_text(ported, width=40, would=True)
    assert any(len(line) > 120 for line in as_text(ported).splitlines())


def test_json_has_facts_and_groups_beside_findings() -> None:
    document = json.loads(as_json(hipport.rewrite(KERNELS)))
    (cudnn,) = [decision for decision in document["decisions"] if "cuDNN" in decision["message"]]
    assert (cudnn["group"], cudnn["certainty"], cudnn["rules"]) == ("kernels", "manual", ["api_names/unsupported"])
    assert len(cudnn["places"]) == 36
    assert cudnn["places"][0] == {"path": "a.cu", "line": 2, "column": 2, "rule": "api_names/unsupported"}
    assert sum(each["needs_person"] for each in document["findings"]) == sum(
        len(decision["places"]) for decision in document["decisions"]
    )
    assert {each["group"] for each in document["findings"]} == {"kernels"}


def test_sarif_has_a_fact_once_with_its_other_places() -> None:
    document = sarif({name: text.decode() for name, text in KERNELS.items()})
    check(document["runs"], "runs")
    (result,) = [each for each in document["runs"][0]["results"] if "cuDNN" in each["message"]["text"]]
    assert result["message"]["text"].startswith("cudnnCreate, cudnnDestroy: ") and result["level"] == "error"
    assert len(result["relatedLocations"]) == 35
    regions = [each["physicalLocation"]["region"] for each in result["relatedLocations"]]
    assert {region["startLine"] for region in regions} == {2, 3, 6, 7, 10, 11}


def test_noise_is_measured(tmp_path: Path) -> None:
    for name, text in KERNELS.items():
        (tmp_path / name).write_bytes(text)
    bench = Path(__file__).parents[1] / "bench" / "noise.py"
    command = [sys.executable, str(bench), str(tmp_path), "--draw", "1", "--seed", "3"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "1 repositories: 2 findings need a person, and 0 in documents; 54 places, 3 distinct messages" in said
    assert "      2  kernels\n" in said and "\n1. " in said and "\n2. " not in said


# --- SARIF ------------------------------------------------------------------------------------------------------------

#: The required properties of the objects written here by the schema of SARIF 2.1.0, and the values of its enumerations.
REQUIRED = {
    "runs": {"tool"},
    "driver": {"name"},
    "rules": {"id"},
    "results": {"message"},
    "invocations": {"executionSuccessful"},
    "toolExecutionNotifications": {"message"},
    "suppressions": {"kind"},
    "message": {"text"},
}
LEVELS = {"none", "note", "warning", "error"}
SARIF = {
    "a b/kérnel.cu": "#include <cuda_runtime.h>\n/* é𝄞 */ void f() { cudaMalloc(&p, 1); }\r\n"
    "void g() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n"
    "void h() { cudaFree(p); } // hipport: ignore[api_names] not ours\n",
}


def sarif(texts: dict[str, str]) -> dict[str, Any]:
    ported = hipport.rewrite({name: text.encode() for name, text in texts.items()})
    document: dict[str, Any] = json.loads(report.as_sarif(ported, {"api_names": "Rename."}))
    return document


def check(value: Any, name: str = "") -> None:
    """Check the schema's requirements for each object, by the name of the property that contains it."""
    if isinstance(value, list):
        for each in value:
            check(each, name)
    elif isinstance(value, dict):
        assert REQUIRED.get(name, set()) <= set(value), name
        if "level" in value:
            assert value["level"] in LEVELS
        if name == "region":
            assert all(value[each] >= 1 for each in ("startLine", "startColumn", "endLine", "endColumn"))
            assert value["byteOffset"] >= 0 and value["byteLength"] >= 0
        for key, inner in value.items():
            check(inner, key)


def test_sarif_follows_its_schema() -> None:
    document = sarif(SARIF)
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-schema-2.1.0.json")
    check(document["runs"], "runs")
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {"id": "api_names/name", "fullDescription": {"text": "Rename."}} in rules


def test_sarif_has_positions_in_code_points() -> None:
    results = sarif(SARIF)["runs"][0]["results"]
    malloc = next(each for each in results if "cudaMalloc" in each["message"]["text"])
    place = malloc["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/k%C3%A9rnel.cu", "uriBaseId": "%SRCROOT%"}
    line = SARIF["a b/kérnel.cu"].split("\n")[1]
    start = line.index("cudaMalloc")
    region = place["region"]
    assert (region["startLine"], region["startColumn"], region["endColumn"]) == (2, start + 1, start + 11)
    assert SARIF["a b/kérnel.cu"].encode()[region["byteOffset"] :][: region["byteLength"]] == b"cudaMalloc"


def test_sarif_distinguishes_open_and_applied_changes() -> None:
    results = sarif(SARIF)["runs"][0]["results"]
    levels = {each["ruleId"]: each["level"] for each in results if "suppressions" not in each}
    assert levels["api_names/name"] == "note" and levels["api_names/unsupported"] == "error"
    (ignored,) = [each for each in results if "suppressions" in each]
    assert ignored["suppressions"] == [{"kind": "inSource", "justification": "not ours"}] and ignored["level"] == "note"


def test_sarif_recognizes_a_result_after_lines_were_added() -> None:
    def prints(texts: dict[str, str]) -> list[str]:
        return [each["partialFingerprints"]["hipport/v1"] for each in sarif(texts)["runs"][0]["results"]]

    (name, text), *_ = SARIF.items()
    twice = text + "void h() { cudaFree(p); }\nvoid h() { cudaFree(p); }\n"
    assert prints({name: twice}) == prints({name: "\n\n" + twice})
    assert len(set(prints({name: twice}))) == len(prints({name: twice}))


def test_sarif_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("void g() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n")
    (tmp_path / "binary.cu").write_bytes(b"cudaMalloc\0\xff")
    for command in (["scan"], ["rewrite", "--check"]):
        asked = CliRunner().invoke(main, [*command, str(tmp_path), "--format", "sarif"])
        assert asked.exit_code == 1, asked.output
        (run,) = json.loads(asked.output)["runs"]
        assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": tmp_path.as_uri() + "/"}}
        (notice,) = run["invocations"][0]["toolExecutionNotifications"]
        assert notice["level"] == "warning"
        assert any(rule.get("fullDescription") for rule in run["tool"]["driver"]["rules"])

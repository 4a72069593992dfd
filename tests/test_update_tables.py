# SPDX-License-Identifier: Apache-2.0
"""The generator of the name tables: one row per fact, and no name that HIPIFY invented."""

import runpy
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hipport.core.tables import load

TOOL = Path(__file__).parent.parent / "tools" / "update_tables.py"

# In the form of HIPIFY's files: a map of names, and maps of the releases of the HIP names.
RUNTIME = """
const std::map<llvm::StringRef, hipCounter> CUDA_RUNTIME_FUNCTION_MAP {
  // {"cudaCommented",   {"hipCommented",  "", CONV_DEVICE, API_RUNTIME, SEC::DEVICE}},
  {"cudaOld",            {"hipOld",        "", CONV_DEVICE, API_RUNTIME, SEC::EXECUTION_DEPRECATED, CUDA_DEPRECATED}},
  {"cudaNew",            {"hipNew",        "rocNew", CONV_DEVICE, API_RUNTIME, SEC::DEVICE, ROC_UNSUPPORTED}},
  {"cudaGone",           {"hipGone",       "", CONV_DEVICE, API_RUNTIME, 1}},
  {"cudaNone",           {"hipInvented",   "", CONV_DEVICE, API_RUNTIME, SEC::DEVICE, HIP_UNSUPPORTED | CUDA_REMOVED}},
  {"cudaVoid",           {"void*",         "", CONV_DEVICE, API_RUNTIME, SEC::DEVICE}},
  {"same",               {"same",          "", CONV_DEVICE, API_RUNTIME, 1}},
};
const std::map<llvm::StringRef, hipAPIversions> HIP_RUNTIME_FUNCTION_VER_MAP {
  {"hipOld",             {HIP_1060, HIP_5070, HIP_0   }},
  {"hipNew",             {HIP_7000, HIP_0,    HIP_0,  HIP_LATEST}},
  {"hipGone",            {HIP_5070, HIP_0,    HIP_7000}},
};
"""
ROW = """
  {{"cuda{0}Thing", {{"hip{0}Thing", "", CONV_TYPE, API_{0}, 1}}}},
  {{"cudaNone", {{"hipX", "", CONV_TYPE, API_X, 1}}}},
"""
HEADERS = """
  {"cuda_runtime.h",  {"hip/hip_runtime.h", "", CONV_INCLUDE_CUDA_MAIN_H, API_RUNTIME, 0}},
  {"caffe2/x.h",      {"caffe2/hip/x.h",    "", CONV_INCLUDE, API_CAFFE2, 0}},
  {"dropped.h",       {"",                  "", CONV_INCLUDE, API_RUNTIME, 0}},
"""


@pytest.fixture
def tool() -> dict[str, Any]:
    return runpy.run_path(str(TOOL))


@pytest.fixture
def sources(tool: dict[str, Any], tmp_path: Path) -> Path:
    folder = tmp_path / "HIPIFY-rocm-6.5.4"
    (folder / "src").mkdir(parents=True)
    for area in tool["AREAS"]:
        text = RUNTIME if area == "Runtime" else ROW.format(area).replace('  {"cudaNone"', '  // {"cudaNone"')
        (folder / "src" / f"CUDA2HIP_{area}_API_functions.cpp").write_text(text)
    (folder / "src" / "CUDA2HIP.cpp").write_text(HEADERS)
    return folder


@pytest.fixture
def run(tool: dict[str, Any], tmp_path: Path) -> Callable[..., int]:
    (tmp_path / "tables").mkdir()
    return lambda *arguments: tool["main"]([*map(str, arguments), "--out", str(tmp_path / "tables")])


def test_tables(sources: Path, run: Callable[..., int], tmp_path: Path) -> None:
    assert run(sources) == 0
    text = (tmp_path / "tables" / "api_names.toml").read_text()
    table = load(tmp_path / "tables" / "api_names.toml")
    assert table["runtime"] == {
        "cudaOld": "hipOld",
        "5.7": {"cudaGone": {"hip": "hipGone", "until": "7.0"}},
        "7.0": {"cudaNew": "hipNew"},
    }
    assert table["fft"] == {"cudaFFTThing": "hipFFTThing"}
    assert table["unsupported"]["runtime"].split() == ["cudaNone", "cudaVoid"]
    assert "dnn" not in table and table["unsupported"]["dnn"].split() == ["cudaDNNThing"]
    assert "Invented" not in text and "Commented" not in text and "HIPIFY 6.5.4 (MIT)" in text
    headers = load(tmp_path / "tables" / "headers.toml")["headers"]
    assert headers == {"cuda_runtime.h": "hip/hip_runtime.h", "dropped.h": ""}


def test_names_of_one_map_are_not_unsupported(sources: Path, run: Callable[..., int], tmp_path: Path) -> None:
    (sources / "src" / "CUDA2HIP_FFT_API_functions.cpp").write_text(ROW.format("FFT"))
    assert run(sources) == 0
    table = load(tmp_path / "tables" / "api_names.toml")
    assert table["fft"]["cudaNone"] == "hipX"
    assert table["unsupported"]["runtime"].split() == ["cudaVoid"]


def test_archive_gives_the_same(sources: Path, run: Callable[..., int], tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "hipify_6.5.4.orig.tar.xz", "w:xz") as archive:
        archive.add(sources, sources.name)
    assert run(sources) == 0
    assert run(tmp_path / "hipify_6.5.4.orig.tar.xz", "--check") == 0


def test_check_sees_a_change(sources: Path, run: Callable[..., int], tmp_path: Path) -> None:
    assert run(sources, "--check") == 1
    assert run(sources) == 0
    assert run(sources, "--check") == 0
    table = tmp_path / "tables" / "api_names.toml"
    table.write_text(table.read_text().replace("hipOld", "hipOther"))
    changed = table.read_bytes()
    assert run(sources, "--check") == 1
    assert table.read_bytes() == changed


def test_without_sources_nothing_is_reported_as_checked(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--check") == 0
    assert "SKIPPED" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run()


def test_other_sources_are_refused(run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other-1.0" / "src").mkdir(parents=True)
    assert run(tmp_path / "other-1.0") == 2
    assert "not the sources of HIPIFY" in capsys.readouterr().err
    assert not list((tmp_path / "tables").iterdir())


def test_release_of_a_checkout_is_in_its_change_log(sources: Path, run: Callable[..., int], tmp_path: Path) -> None:
    checkout = sources.rename(tmp_path / "HIPIFY")
    (checkout / "CHANGELOG.md").write_text("# Changes\n\n## HIPIFY for ROCm 9.8.0\n\n## HIPIFY for ROCm 9.7.0\n")
    assert run(checkout) == 0
    assert "HIPIFY 9.8.0" in (tmp_path / "tables" / "headers.toml").read_text()

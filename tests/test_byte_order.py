# SPDX-License-Identifier: Apache-2.0
"""A byte-order mark belongs to no line: every kind of file reads the same behind one."""

from pathlib import Path, PurePosixPath

import pytest

from hipport.core.source import BYTE_ORDER_MARK
from hipport.engine.pipeline import run
from hipport.program.project import Project
from hipport.syntax.file_languages import is_of_gpus, source

# The beginning of a file of each kind, which its first line decides.
_FIRST_LINES = {
    "Makefile": b"ifdef A\nNVCC = nvcc\nendif\n",
    "CMakeLists.txt": b"if(A)\nenable_language(CUDA)\nendif()\n",
    "a.def": b"Bootstrap: docker\nFrom: nvidia/cuda:12\n",
    "a.cu": b"#if A\n#endif\n",
    "setup.py": b"if a: import torch.cuda\n",
    "requirements.txt": b"torch==2.0+cu118\n",
    "docker-compose.yml": b"services: {a: {image: 'nvidia/cuda'}}\n",
    "pyproject.toml": b"[project]\ndependencies = ['cupy-cuda12x']\n",
    "Dockerfile": b"FROM nvidia/cuda:12\n",
    "poetry.lock": b"[[package]]\nname = 'nvidia-nccl-cu12'\n",
}


@pytest.mark.parametrize("name", _FIRST_LINES)
@pytest.mark.parametrize("marks", (1, 2))
def test_a_file_reads_the_same_behind_a_mark(name: str, marks: int) -> None:
    path, text = PurePosixPath(name), _FIRST_LINES[name]
    plain, marked = source(path, text), source(path, BYTE_ORDER_MARK * marks + text)
    assert type(marked) is type(plain)
    assert is_of_gpus(marked, marked.text) == is_of_gpus(plain, plain.text)
    assert marked.beginning == 3 * marks
    if marks == 1:
        assert marked.errors == plain.errors == 0


@pytest.mark.parametrize("marks", (1, 2))
def test_marks_stay_where_they_are(marks: int) -> None:
    from hipport_passes import PASSES

    text = b"NVCC = nvcc\n"
    (plain,) = run(Project((source(PurePosixPath("Makefile"), text),)), PASSES).project.sources
    marked = source(PurePosixPath("Makefile"), BYTE_ORDER_MARK * marks + text)
    ported = run(Project((marked,)), PASSES)
    assert ported.project.sources[0].text == BYTE_ORDER_MARK * marks + plain.text != marked.text
    assert all(each.span.start >= 3 * marks for each in ported.reported)


def test_only_one_place_knows_the_bytes_of_the_mark() -> None:
    root = Path(__file__).parents[1]
    own = [path for folder in ("src", "passes") for path in (root / folder).rglob("*.py")]
    assert [path.name for path in own if rb'b"\xef\xbb\xbf"' in path.read_bytes()] == ["source.py"]

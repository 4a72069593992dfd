# SPDX-License-Identifier: Apache-2.0
"""Keys and items of YAML with their places, and the files of a tree that are read as such."""

from pathlib import Path, PurePosixPath

import pytest

from hipport.syntax.json import Devcontainer
from hipport.syntax.packaging import Lock
from hipport.syntax.shell import Definition
from hipport.syntax.unread_builds import OtherBuild
from hipport.syntax.yaml import Compose, Manifest, Workflow, Yaml
from hipport.workspace.discovery import discover

TEXT = b"""\
on: [push]  # a list
jobs:
  build:
    runs-on: "ubuntu 22"
    steps:
    - uses: actions/checkout@v4
    - name: all of it
      run: |
        make CUDA=1

        ./test.sh
    - run: make clean
  tags:
  - gpu
  - 'nvidia'
"""


def test_keys_have_what_stands_below_them() -> None:
    entries = Yaml(PurePosixPath("ci.yml"), TEXT).entries
    said = [(each.key, each.keys, TEXT[each.value.start : each.value.end].decode()) for each in entries]
    assert said[0] == ("on", (), "[push]")
    assert said[3] == ("runs-on", ("jobs", "build"), "ubuntu 22")
    assert ("uses", ("jobs", "build", "steps", ""), "actions/checkout@v4") in said
    assert ("run", ("jobs", "build", "steps", ""), "        make CUDA=1\n\n        ./test.sh\n") in said
    assert said[-2:] == [("", ("jobs", "tags"), "gpu"), ("", ("jobs", "tags"), "nvidia")]
    steps = next(each for each in entries if each.key == "steps")
    assert TEXT[steps.span.start : steps.span.end].endswith(b"make clean")


def test_commands_are_those_that_a_shell_gets() -> None:
    commands = Workflow(PurePosixPath("ci.yml"), TEXT).commands
    assert [" ".join(word.text for word in each.words) for each in commands] == [
        "make CUDA=1",
        "./test.sh",
        "make clean",
    ]


@pytest.mark.parametrize(
    "text", [b"", b"- ", b"a:\n- - b: |\n", b"\t\n:\n", b"--- # x\n...\n", b"a: 'b\n", b'"a": [\n']
)
def test_odd_text_is_read_without_an_error(text: bytes) -> None:
    for each in Yaml(PurePosixPath("odd.yml"), text).entries:
        assert 0 <= each.span.start <= each.span.end <= len(text)


def test_workflows_are_found_in_folders_with_a_point(tmp_path: Path) -> None:
    files = {
        ".github/workflows/gpu.yml": "runs-on: gpu\n",
        ".github/workflows/lint.yml": "runs-on: ubuntu\n",
        ".github/scripts/setup.py": "import torch.cuda\n",
        ".venv/lib/docker-compose.yml": "gpus: all\n",
        ".gitlab-ci.yml": "image: nvidia/cuda\n",
        "docker/docker-compose.gpu.yaml": "runtime: nvidia\n",
        "configs/model.yaml": "gpus: all\n",
        "deploy/train.yaml": "limits: {nvidia.com/gpu: 1}\n",
        "deploy/web.yaml": "limits: {cpu: 1}\n",
        ".devcontainer/gpu/devcontainer.json": '{"runArgs": ["--gpus=all"]}',
        ".devcontainer/devcontainer.json": '{"image": "ubuntu"}',
        "image.def": "Bootstrap: docker\nFrom: nvidia/cuda:12\n",
        "windows.def": "EXPORTS\n  cuda_begin\n",
        "meson.build": "add_languages('cuda')\n",
        "lib/meson.build": "project('lib', 'c')\n",
        "uv.lock": '[[package]]\nname = "torch"\n',
        "docs/uv.lock": '[[package]]\nname = "sphinx"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {source.path.as_posix(): type(source) for source in discover([tmp_path]).sources}
    assert found == {
        ".github/workflows/gpu.yml": Workflow,
        ".gitlab-ci.yml": Workflow,
        "docker/docker-compose.gpu.yaml": Compose,
        "deploy/train.yaml": Manifest,
        ".devcontainer/gpu/devcontainer.json": Devcontainer,
        "image.def": Definition,
        "meson.build": OtherBuild,
        "uv.lock": Lock,
    }

# SPDX-License-Identifier: Apache-2.0
"""A repository's own distributions are not third-party packages, and imports of its build script stay in its lists."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

import hipport
from hipport.engine.outcomes import Ported

SETUP = {
    "setup.py": b'from setuptools import setup\nNAME = "gsplat"\nsetup(name=NAME)\n',
    "setup.cfg": b"[metadata]\nversion = 1\nname = gsplat\n",
    "pyproject.toml": b'[project]\nname = "gsplat"\n',
    "poetry/pyproject.toml": b'[tool.poetry]\nname = "GSplat"\n',
}
LISTS = {
    "requirements.txt": b"gsplat==1.5.3\n",
    "examples/requirements.txt": b"git+https://github.com/nerfstudio-project/gsplat.git@v1\n",
    "install.sh": b"pip install gsplat\npip install git+https://github.com/nerfstudio-project/gsplat.git\n",
    "README.md": b"```\ngit clone https://github.com/nerfstudio-project/gsplat\npip install gsplat\n```\n",
    "environment.yml": b"dependencies:\n  - pip:\n    - gsplat==1.5.3\n",
}


def ported(files: dict[str, bytes]) -> Ported:
    return hipport.rewrite(files)


@pytest.mark.parametrize("script", SETUP)
@pytest.mark.parametrize("listed", LISTS)
def test_the_repository_itself_is_no_foreign_package(script: str, listed: str) -> None:
    files = {script: SETUP[script], listed: LISTS[listed]}
    result = ported(files)
    assert not [each for each in result.reported if each.path == PurePosixPath(listed)]
    assert result.project.by_path[PurePosixPath(listed)].text == LISTS[listed]
    # Elsewhere it is one.
    assert ported({listed: LISTS[listed]}).reported


def test_a_package_beside_the_script_is_the_repositorys_own() -> None:
    files = {
        "setup.py": b"from setuptools import setup\nsetup(**read())\n",
        "src/gsplat/__init__.py": b"",
        "requirements.txt": b"gsplat\nxformers==0.0.20\n",
    }
    assert [each.line for each in ported(files).reported] == [2]


def test_a_copy_of_anothers_sources_is_not() -> None:
    files = {"third_party/gsplat/setup.py": SETUP["setup.py"], "requirements.txt": b"gsplat\n"}
    assert ported(files).reported


def test_a_build_of_it_for_cuda_is_reported() -> None:
    files = {"setup.py": SETUP["setup.py"], "requirements.txt": b"gsplat==1.5.3+pt24cu121\n"}
    (found,) = ported(files).reported
    assert found.rule == "requirements/own" and "pip install --no-build-isolation ." in found.message


def test_imports_of_the_build_script_stay() -> None:
    project = b'[build-system]\nrequires = ["setuptools", "triton", "pynvml"]\n[project]\ndependencies = ["xformers"]\n'
    script = (
        b"from setuptools import setup\nimport triton\ndef f():\n    import pynvml\n    from xformers import ops\n"
        b"setup()\n"
    )
    result = ported({"pyproject.toml": project, "setup.py": script})
    assert result.project.by_path[PurePosixPath("pyproject.toml")].text == project
    said = [each.rule for each in result.reported if each.path.name == "pyproject.toml"]
    assert said == ["requirements/imported"] * 3
    tries = b"from setuptools import setup\ntry:\n    import triton\nexcept ImportError:\n    triton = None\nsetup()\n"
    result = ported({"pyproject.toml": b'[project]\ndependencies = ["triton"]\n', "setup.py": tries})
    assert [each.rule for each in result.reported] == ["requirements/cuda_only"]
    # A program's import of a package that comes with PyTorch for ROCm does not keep it in a list.
    result = ported({"pyproject.toml": b'[project]\ndependencies = ["triton"]\n', "kernels.py": b"import triton\n"})
    assert [each.rule for each in result.reported] == ["requirements/cuda_only"]

# SPDX-License-Identifier: Apache-2.0
"""The install plan: the ROCm release, removed packages and the order; its script runs with a pip that only records."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import hipport
from hipport.cli import main
from hipport.toolchain import install_plan

#: The replacement of `python3` in scripts: it records calls of pip, `hipport`, `git` and `conda`, and runs all else.
FAKE = """#!/bin/sh
case "$1" in */hipport_pip.py)
    shift
    echo "pip $*" >> "$LOG"
    [ -n "${{PIP_CONSTRAINT-}}" ] && echo "  constrained: $(tr '\\n' ' ' < "$PIP_CONSTRAINT")" >> "$LOG"
    for word in "$@"; do
        case "$word" in
            *.txt) sed 's/^/  | /' "$word" >> "$LOG" ;;
            *"$FAIL"*) exit 1 ;;
        esac
    done
    exit 0
esac
exec {python} "$@"
"""


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def torch_at(folder: Path, hip: str | None = "6.4.3", version: str = "2.6.0+rocm6.4.3") -> Path:
    """Make a PyTorch that only reports its version."""
    lay(
        folder,
        {
            "torch/__init__.py": f"from torch import version\n__version__ = {version!r}\n",
            "torch/version.py": f"hip = {hip!r}\n",
            f"torch-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        },
    )
    return folder


def run_script(
    plan: install_plan.Plan, root: Path, tmp_path: Path, fail: str = "nothing-fails"
) -> tuple[subprocess.CompletedProcess[str], str]:
    programs = tmp_path / "bin"
    programs.mkdir(parents=True)
    (programs / "python3").write_text(FAKE.format(python=sys.executable))
    for name in ("git", "conda", "hipport"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "$LOG"\n')
    for each in programs.iterdir():
        each.chmod(0o755)
    script = tmp_path / "install.sh"
    script.write_text(install_plan.as_script(plan))
    log = tmp_path / "log"
    log.touch()
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(tmp_path / "packages"),
        "LOG": str(log),
        "FAIL": fail,
        "CONDA_PREFIX": "/conda",
    }
    result = subprocess.run(["bash", str(script), str(root)], env=env, capture_output=True, text=True)
    return result, log.read_text()


SCENE = {
    "requirements.txt": (
        "torch==2.1.0+cu118\nnumpy\nxformers==0.0.22\n-r more.txt\n./encoder\n"
        "git+https://github.com/KAIR-BAIR/nerfacc.git@v0.5.2\nspconv-cu118\ncupy-cuda11x\n"
    ),
    "more.txt": "tqdm\nnvidia-cublas-cu11\n",
    "encoder/setup.py": (
        "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
        "setup(name='encoder', ext_modules=[CUDAExtension('encoder', ['e.cu'])])\n"
    ),
    "encoder/e.cu": "__global__ void k() {}\n",
}


def test_the_script_keeps_the_installed_pytorch(tmp_path: Path) -> None:
    plan = hipport.deps([lay(tmp_path / "scene", SCENE)])
    torch_at(tmp_path / "packages")
    result, log = run_script(plan, tmp_path / "scene", tmp_path)
    assert "torch 2.6.0+rocm6.4.3 stays" in result.stdout, result.stderr
    lines = log.splitlines()
    installs = [line for line in lines if line.startswith("pip ")]
    constrained = [line for line in lines if "constrained" in line]
    assert len(constrained) == len(installs) and all("torch==2.6.0+rocm6.4.3" in line for line in constrained)
    assert "pip install --no-build-isolation git+https://github.com/ZJLi2013/spconv_rocm.git@rocm" in installs
    # The list as it is installed: complete, without packages for CUDA or with a step of their own.
    listed = [line[4:] for line in lines if line.startswith("  | ")]
    assert [line for line in listed if not line.startswith("#")] == ["torch", "numpy", "tqdm"]
    assert "cupy-cuda11x: " in result.stdout
    assert any(line.startswith("git clone --recursive -- https://github.com/KAIR-BAIR/nerfacc") for line in lines)
    assert any(line.startswith("git -C ") and line.endswith("checkout --recurse-submodules v0.5.2") for line in lines)
    assert any(line.startswith("hipport rewrite ") and line.endswith("/nerfacc") for line in lines)
    assert installs[-1] == "pip install --no-build-isolation --no-deps ./encoder"
    # The checks run, and there is no GPU.
    assert result.returncode == 1
    assert "== spconv" in result.stdout


def test_work_for_a_person_is_not_installed(tmp_path: Path) -> None:
    """In each kind of list, and with continued lines; similar packages are installed."""
    hashed = "tensorrt==8.6.1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n"
    files = {
        "requirements.txt": f"torch\n{hashed}jax[cuda12]\njax[cpu]\n-r more.txt\n./tools\n./plain\ncupyx-docs\n",
        "more.txt": "tqdm\ncupy-cuda12x  # arrays\n",
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["cupy-cuda12x>=12", "einops"]\n',
        "tools/setup.py": "from setuptools import setup\nsetup(install_requires=['tensorrt', 'rich'])\n",
        "plain/setup.py": "from setuptools import setup\nsetup(install_requires=['rich'])\n",
    }
    plan = hipport.deps([lay(tmp_path / "tree", files)])
    torch_at(tmp_path / "packages")
    result, log = run_script(plan, tmp_path / "tree", tmp_path)
    listed = [line[4:] for line in log.splitlines() if line.startswith("  | ")]
    assert [each for each in listed if not each.startswith("#")] == [
        "torch", "jax[cpu]", "tqdm", "cupyx-docs", "einops", "rich",
    ]  # fmt: skip
    installs = [line for line in log.splitlines() if line.startswith("pip ")]
    assert "pip install --no-build-isolation --no-deps ./tools" in installs
    assert "pip install --no-build-isolation ./plain" in installs
    assert any(each.startswith("# cupy-cuda12x: left to a person, ") for each in listed)
    said = result.stdout.partition("== left to a person, and not installed\n")[2].splitlines()
    assert [each.partition(":")[0] for each in said[:5]] == [
        "tensorrt==8.6.1", "jax[cuda12]", "cupy-cuda12x", "cupy-cuda12x>=12", "tensorrt",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kept", "left_out"),
    [
        (
            "dependencies:\n  - scipy\n  - cupy\n  - pip:\n    - tensorrt\n    - tqdm\n",
            "dependencies:\n  - scipy\n  - pip:\n    - tqdm\n",
            ["cupy", "tensorrt"],
        ),
        ("dependencies:\n  - scipy\n  - pip:\n    - tensorrt\n", "dependencies:\n  - scipy\n", ["tensorrt"]),
        ("dependencies: [python=3.10, 'cupy', numpy]\n", "dependencies: [numpy]\n", ["cupy"]),
    ],
)
def test_work_for_a_person_is_not_installed_by_conda(tmp_path: Path, text: str, kept: str, left_out: list[str]) -> None:
    plan = hipport.deps([lay(tmp_path, {"environment.yml": text})])
    (step,) = [each for each in plan.steps if each.files]
    assert step.files["environment.yml"] == kept
    assert [each.text for each in plan.left_out] == left_out


def test_work_for_a_person_is_not_installed_by_scripts(tmp_path: Path) -> None:
    plan = hipport.deps([lay(tmp_path, {"install.sh": "pip install tensorrt rich\n"})])
    assert plan.steps[-1].commands == ("pip install rich",)
    assert [each.text for each in plan.left_out] == ["tensorrt"]


def test_a_pytorch_that_is_missing_is_installed_from_the_index_for_rocm(tmp_path: Path) -> None:
    plan = hipport.deps([lay(tmp_path / "scene", {"requirements.txt": "torch\nxformers\n"})])
    lay(tmp_path / "packages", {"torch.py": "raise ImportError\n"})
    result, log = run_script(plan, tmp_path / "scene", tmp_path)
    assert log.splitlines()[0] == (
        "pip install torch torchvision torchaudio xformers --index-url https://download.pytorch.org/whl/rocm6.4"
    )
    assert result.returncode != 0  # It still cannot be imported.
    assert len(log.splitlines()) == 1


def test_a_pytorch_for_cuda_ends_the_script(tmp_path: Path) -> None:
    plan = hipport.deps([lay(tmp_path / "scene", SCENE)])
    torch_at(tmp_path / "packages", hip=None, version="2.6.0+cu124")
    result, log = run_script(plan, tmp_path / "scene", tmp_path)
    assert result.returncode == 1 and not log
    assert "torch 2.6.0+cu124 is a build for CUDA or the CPU" in result.stderr


def test_optional_steps_may_fail_and_others_end_the_script(tmp_path: Path) -> None:
    plan = hipport.deps([lay(tmp_path / "scene", {"requirements.txt": "xformers\nspconv\ntqdm\n"})])
    torch_at(tmp_path / "packages")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "packages").symlink_to(tmp_path / "packages")
    (tmp_path / "b" / "packages").symlink_to(tmp_path / "packages")
    result, log = run_script(plan, tmp_path / "scene", tmp_path / "a", fail="xformers")
    assert "goes on without it" in result.stdout and "tqdm" in log
    result, log = run_script(plan, tmp_path / "scene", tmp_path / "b", fail="spconv_rocm")
    assert result.returncode == 1 and "tqdm" not in log


@pytest.mark.parametrize(
    ("files", "rocm"),
    [
        ({"requirements.txt": "torch\ntqdm\n"}, "6.4"),
        ({"requirements.txt": "xformers\nflash-attn\n"}, "6.4"),
        ({"requirements.txt": "gsplat\n"}, "6.4"),
        ({"pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["pytorch3d"]\n'}, "6.4"),
        ({"requirements.txt": "flash-attn\n"}, "7.2"),
        ({"run.py": "import torch\nfrom flash_attn import flash_attn_func\n"}, "7.2"),
    ],
)
def test_the_release_is_the_one_that_suits_the_packages(tmp_path: Path, files: dict[str, str], rocm: str) -> None:
    plan = hipport.deps([lay(tmp_path, files)])
    assert plan.rocm == rocm
    assert f"rocm{rocm}" in plan.image and plan.index.endswith(f"rocm{rocm}")


def test_a_release_that_is_asked_for_is_planned_for(tmp_path: Path) -> None:
    plan = hipport.deps([lay(tmp_path, {"requirements.txt": "xformers\ngsplat\n"})], rocm=(7, 2))
    assert plan.rocm == "7.2" and plan.index.endswith("rocm7.2")
    assert not any("xformers" in command for step in plan.steps for command in step.commands)
    assert any(note.startswith("xformers: no build is known for ROCm 7.2") for note in plan.notes)
    assert [each.package for each in plan.checks] == ["torch"]


def test_packages_are_reported_with_their_places(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "setup.py": "from setuptools import setup\nsetup(install_requires=['torch', 'bitsandbytes==0.39.0'])\n",
            "environment.yml": "dependencies:\n  - pytorch-cuda=12.1\n  - pip:\n    - flash-attn\n",
            "docker/Dockerfile": "FROM ubuntu\nRUN pip install spconv-cu120\n",
            "README.md": "Run `pip install kaolin==0.15`.\n",
            "render.py": "import torch\n\ndef f():\n    import nvdiffrast.torch as dr\n",
            "bitsandbytes_like.py": "import torch\nx = 'import xformers'\n",
        },
    )
    plan = hipport.deps([tmp_path])
    said = {each.name: [(m.path.as_posix(), m.line) for m in each.mentions] for each in plan.packages}
    assert said == {
        "torch": [("setup.py", 2)],
        "flash-attn": [("environment.yml", 4)],
        "spconv": [("docker/Dockerfile", 2)],
        "nvdiffrast": [("render.py", 4)],
        "bitsandbytes": [("setup.py", 2)],
        "cuda-only": [("README.md", 1)],
    }
    assert plan.needs_person
    optional = {step.why.partition(":")[0]: step.optional for step in plan.steps}
    assert optional["flash-attn"] and optional["nvdiffrast"] and optional["spconv"]
    text = install_plan.as_text(plan)
    assert "docker/Dockerfile:2" in text and "PYTORCH_ROCM_ARCH=gfx942;gfx1100" in text


def test_modules_of_the_repository_are_no_packages(tmp_path: Path) -> None:
    plan = hipport.deps(
        [lay(tmp_path, {"gsplat/a.py": "import torch\n", "run.py": "import torch, gsplat\nimport gsplat\n"})]
    )
    assert [each.name for each in plan.packages] == []


def test_packages_in_missing_submodules_are_ported_once_they_are_there(tmp_path: Path) -> None:
    modules = '[submodule "knn"]\n\tpath = submodules/knn\n\turl = x\n'
    lay(tmp_path, {".gitmodules": modules, "requirements.txt": "torch\n./submodules/knn\n-e ./elsewhere\n"})
    commands = [command for step in hipport.deps(tmp_path).steps for command in step.commands]
    rewritten = commands.index("hipport rewrite ./submodules/knn || test $? = 1")
    assert commands[rewritten + 1] == "pip install --no-build-isolation --no-deps ./submodules/knn"
    assert commands.index("git submodule update --init --recursive") < rewritten
    assert not any("elsewhere" in command for command in commands)


def test_missing_submodules_come_first(tmp_path: Path) -> None:
    lay(tmp_path, {".gitmodules": '[submodule "glm"]\n\tpath = glm\n\turl = x\n', "requirements.txt": "torch\n"})
    plan = hipport.deps([tmp_path])
    assert plan.missing == ("glm",) and plan.needs_person
    assert plan.steps[0].commands == ("git submodule update --init --recursive",)


def test_unreadable_lists_are_reported(tmp_path: Path) -> None:
    lay(tmp_path, {"setup.py": "import setuptools\n"})
    (tmp_path / "requirements.txt").write_bytes("torch==2.1.0+cu118\n".encode("utf-16"))
    (tmp_path / "image.cu").write_bytes(b"\0")
    found = hipport.deps([tmp_path])
    assert [(str(change.path), change.manual) for change in found.changes] == [("requirements.txt", True)]
    assert found.needs_person and "UTF-16" in found.changes[0].message


def test_folders_of_the_repository_have_steps_of_their_own(tmp_path: Path) -> None:
    """Also if they are written without a dot, as pip accepts them."""
    extension = (
        "from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, CUDAExtension\n"
        'setup(name="r", ext_modules=[CUDAExtension("r", ["r.cu"])], cmdclass={"build_ext": BuildExtension})\n'
    )
    python = "import torch\nfrom setuptools import setup\nsetup(name='p', install_requires=['torch'])\n"
    listed = "    - submodules/rasterizer\n    - submodules/tools/\n    - tqdm\n"
    files = {
        "environment.yml": f"name: x\ndependencies:\n  - pytorch=1.12\n  - pip:\n{listed}",
        "submodules/rasterizer/setup.py": extension,
        "submodules/rasterizer/r.cu": "__global__ void k() {}\n",
        "submodules/tools/setup.py": python,
    }
    plan = hipport.deps([lay(tmp_path, files)])
    (step,) = [each for each in plan.steps if each.files]
    kept = [line for line in step.files["environment.yml"].splitlines() if not line.lstrip().startswith("#")]
    assert kept == ["name: x", "dependencies:", "  - pip:", "    - tqdm"]
    assert [each.commands[0] for each in plan.steps[-2:]] == [
        "pip install --no-build-isolation --no-deps ./submodules/rasterizer",
        "pip install --no-build-isolation ./submodules/tools",
    ]


def test_an_environment_of_conda(tmp_path: Path) -> None:
    text = "name: x\ndependencies:\n  - python=3.8\n  - pytorch=2.1\n  - scipy\n  - pip:\n    - ./ext\n    - tqdm\n"
    plan = hipport.deps([lay(tmp_path, {"environment.yml": text})])
    (step,) = [each for each in plan.steps if each.files]
    kept = [line for line in step.files["environment.yml"].splitlines() if not line.lstrip().startswith("#")]
    assert kept == ["name: x", "dependencies:", "  - scipy", "  - pip:", "    - tqdm"]
    # Conda packages depend on PyTorch, too, and must not get conda's.
    script = install_plan.as_script(plan)
    assert script.index("export CONDA_PINNED_PACKAGES=") < script.index("conda env update")
    line = next(line for line in script.splitlines() if line.startswith("export CONDA_PINNED_PACKAGES"))
    for before, after in (("", "pytorch-cuda<0"), ("python=3.12", "pytorch-cuda<0&python=3.12")):
        said = subprocess.run(
            ["bash", "-c", f"set -u; CONDA_PINNED_PACKAGES={before}\n{line}\nenv"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert f"CONDA_PINNED_PACKAGES=pytorch<0&libtorch<0&{after}\n" in said
    assert any("conda's own" in note for note in plan.notes)


def test_checks_are_run_and_their_evidence_shown(tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text(
        '[[requirements.family]]\nname = "torch"\ncheck = "print(\'torch is real\')"\n'
        '[[requirements.family]]\nname = "xformers"\ncheck = "raise SystemExit(\'no operator\')"\n'
        '[[requirements.family]]\nname = "spconv"\ncheck = "import os; print(os.environ[\'SPCONV_ALGO\'])"\n'
    )
    tree = lay(tmp_path / "tree", {"requirements.txt": "xformers\nspconv\n"})
    result = CliRunner().invoke(main, ["deps", str(tree), "--check", "--rules", str(rules)])
    assert (
        result.output == "ok       torch     torch is real\nwithout  xformers  no operator\nok       spconv    native\n"
    )
    assert result.exit_code == 0
    rules.write_text('[[requirements.family]]\nname = "torch"\ncheck = "import time; time.sleep(60)"\n')
    plan = hipport.deps(
        [tree], rules={"requirements": {"family": [{"name": "torch", "check": "import time\ntime.sleep(60)"}]}}
    )
    first = install_plan.check(plan, python=Path(sys.executable), env=os.environ, seconds=0.2)[0]
    assert not first.ok and "did not end" in first.said
    rules.write_text('[[requirements.family]]\nname = "torch"\ncheck = "raise SystemExit(1)"\n')
    assert CliRunner().invoke(main, ["deps", str(tree), "--check", "--rules", str(rules)]).exit_code == 1


def test_the_command_line(tmp_path: Path) -> None:
    tree = lay(tmp_path / "tree", {"requirements.txt": "torch==2.1.0\n"})
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(main, ["deps", str(tree), "--format", "json", "--rocm", "6.2"])
    document = json.loads(result.output)
    assert result.exit_code == 0 and document["rocm"] == "6.2" and document["schema"] == 1
    assert document["changes"][0]["path"] == "requirements.txt" and document["needs_person"] is False
    script = CliRunner().invoke(main, ["deps", str(tree), "--script", "--target", "gfx1201"])
    assert script.exit_code == 0 and "export PYTORCH_ROCM_ARCH=gfx1201\n" in script.output
    assert subprocess.run(["bash", "-n"], input=script.output, text=True).returncode == 0
    assert CliRunner().invoke(main, ["deps", str(tree), "--script", "--check"]).exit_code == 2
    assert CliRunner().invoke(main, ["deps", str(tmp_path / "none")]).exit_code == 2
    (tree / "requirements.txt").write_text("cupy-cuda12x\n")
    assert CliRunner().invoke(main, ["deps", str(tree)]).exit_code == 1
    assert sorted(tmp_path.rglob("*")) == before


HOSTILE = (
    "$(touch PWNED)",
    "`touch PWNED`",
    "'; touch PWNED; '",
    '"; touch PWNED; "',
    "x\ntouch PWNED\n",
    "x\n::error::PWNED\x1b[31m\xe9",
    "a b; touch PWNED",
)
ENDS = "HIPPORT_EOF\ntouch PWNED\ncat <<'HIPPORT_EOF'\n"


@pytest.mark.parametrize("word", HOSTILE)
def test_names_of_files_are_no_commands_of_the_script(word: str, tmp_path: Path) -> None:
    """Names of lists, of folders with extensions and packages, of submodules, of conda's environments."""
    extension = SCENE["encoder/setup.py"]
    files = {
        f"requirements-{word}.txt": f"torch==2.1.0+cu118\ntqdm\n{ENDS}",
        f"e{word}/setup.py": extension,
        f"e{word}/e.cu": SCENE["encoder/e.cu"],
        "pyproject.toml": '[project]\nname="x"\nversion="1"\ndependencies=["a\\nHIPPORT_EOF\\ntouch PWNED"]\n',
    }
    check_script(lay(tmp_path / "tree", files), tmp_path)
    conda = {f"environment-{word}.yml": f"dependencies:\n  - cupy\n  - scipy\n#\n{ENDS}"}
    check_script(lay(tmp_path / "other", conda), tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        *ENDS.split("\n")[:-1],
        "git+https://github.com/x/gsplat$(touch${IFS}PWNED)#egg=diff-gaussian-rasterization",
        "git+https://github.com/x/gsplat`touch${IFS}PWNED`#egg=diff-gaussian-rasterization",
        'git+https://github.com/x/gsplat";touch${IFS}PWNED;"#egg=diff-gaussian-rasterization',
        "git+--upload-pack=touch${IFS}PWNED;#egg=diff-gaussian-rasterization",
        "git+ext::sh%20-c%20touch%20PWNED#egg=diff-gaussian-rasterization",
        "git+https://github.com/x/..#egg=diff-gaussian-rasterization",
        "git+https://github.com/x/y@--orphan#egg=diff-gaussian-rasterization",
        "git+https://github.com/x/y#egg=diff-gaussian-rasterization&subdirectory=../../../outside",
        "xformers==0.1; touch PWNED",
        "tensorrt $(touch PWNED)",
        "-e ./$(touch PWNED)",
        "./../../outside",
    ],
)  # fmt: skip
def test_requirements_are_no_commands_of_the_script(line: str, tmp_path: Path) -> None:
    files = {"requirements.txt": f"torch==2.1.0+cu118\n{line}\ntqdm\n", "install.sh": f"pip install {line!r} rich\n"}
    log = check_script(lay(tmp_path / "tree", files), tmp_path)
    assert "outside" not in "".join(each for each in log.splitlines() if not each.startswith("  | "))
    for each in log.splitlines():
        # An option or a command of git in place of an address.
        assert not each.startswith("git clone") or each.startswith("git clone --recursive -- https://"), each


def check_script(tree: Path, tmp_path: Path) -> str:
    """Check a tree's script with bash, then run it: nothing else happens. Returns the calls."""
    plan = hipport.deps([tree])
    text = os.fsencode(install_plan.as_script(plan))
    # CI systems parse a log that shows the script.
    assert not re.search(rb"^\s*::|[\x00-\x08\x0b-\x1f\x7f]", text, re.MULTILINE)
    read = subprocess.run(["bash", "-n"], input=text, capture_output=True)
    assert (read.returncode, read.stderr) == (0, b"")
    scratch = tmp_path / f"scratch-{tree.name}"
    torch_at(scratch / "packages")
    result, log = run_script(plan, tree, scratch)
    assert "== PyTorch is the same" in result.stdout, result.stderr
    assert not list(tmp_path.rglob("PWNED"))
    # Each list is installed unchanged.
    for step in plan.steps:
        for each in step.files.values():
            kept = "".join(f"  | {line}\n" for line in each.strip("\n").split("\n"))
            assert kept in log or "conda" in "".join(step.commands)
    return log


def test_the_script_runs_no_module_of_the_repository(tmp_path: Path) -> None:
    """Neither as pip, nor in checks that import PyTorch: only installed modules count."""
    here = "open('PWNED', 'w')\n"
    tree = lay(tmp_path / "tree", {"requirements.txt": "tqdm\n", "pip.py": here, "torch.py": here, "apex.py": here})
    torch_at(tmp_path / "packages")
    lay(
        tmp_path,
        {"packages/pip/__init__.py": "", "packages/pip/__main__.py": "import sys; print('pip', sys.argv[1:])\n"},
    )
    script = tmp_path / "install.sh"
    script.write_text(install_plan.as_script(hipport.deps([tree])))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "packages"), "PYTHON": sys.executable}
    result = subprocess.run(["bash", str(script)], cwd=tree, env=env, capture_output=True, text=True)
    assert "pip ['install', '-r', 'requirements.txt']" in result.stdout, result.stderr
    assert "== torch" in result.stdout and not (tree / "PWNED").exists()

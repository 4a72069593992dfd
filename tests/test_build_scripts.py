# SPDX-License-Identifier: Apache-2.0
"""Rewritten build scripts are run: for CUDA they declare the same as before, for ROCm arguments that hipcc accepts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import hipport
from hipport.core.finding import Certainty
from hipport.testing import Fixture, fixtures, port
from hipport.toolchain import toolchains
from hipport_passes import PASSES
from hipport_passes.build_files import cpp_extension
from recorded_builds import ENVIRONMENTS, record, untranslated

ROOT = Path(__file__).parent.parent
#: Fixtures that are not whole scripts: Python 2.
INCOMPLETE = {"python_2"}
FIXTURES = [f for f in fixtures(ROOT / "fixtures" / "cpp_extension") if str(f).partition("/")[2] not in INCOMPLETE]
EXAMPLES = sorted(script.parent for script in (ROOT / "ext_examples").glob("*/setup.py"))
#: Scripts whose authors handle ROCm themselves, and scripts that build nothing.
OWN_PORTS = {"cpp_extension/rocm_aware", "cpp_extension/gpu_decides_answered", "cpp_extension/stops_for_rocm"}
FOR_OTHERS = {"cpp_extension/strays", "cpp_extension/flags_by_modules", "cpp_extension/flags_of_other_programs"}
#: Scripts that stop for a reason that another pass handles.
OPENED_BY_OTHERS = {"cpp_extension/stops_opened"}
#: Programs that build extensions at run time.
PROGRAMS = {"cpp_extension/needs_gpu_to_run"}
#: A machine that builds packages has no GPU: the user names the GPUs to build for.
NAMED = {"PYTORCH_ROCM_ARCH": "gfx942;gfx1100"}
#: Scripts that ask for a GPU and for nothing else that ROCm lacks.
ASK_FOR_A_GPU = ("gpu_decides", "gpu_counted", "environment_imported", "environment_by_name")


@pytest.fixture(params=FIXTURES, ids=str)
def fixture(request: pytest.FixtureRequest) -> Fixture:
    found: Fixture = request.param
    return found


@pytest.mark.parametrize("gpu", [True, False], ids=["gpu", "no gpu"])
def test_for_cuda_a_rewritten_script_declares_what_it_did(fixture: Fixture, gpu: bool, tmp_path: Path) -> None:
    script = tmp_path / "setup.py"
    _beside(fixture, tmp_path)
    for environment in ENVIRONMENTS:
        script.write_bytes(fixture.before.text)
        before = record(script, rocm=False, gpu=gpu, env=environment)
        script.write_bytes(fixture.after)
        assert record(script, rocm=False, gpu=gpu, env=environment) == before


def _beside(fixture: Fixture, folder: Path) -> None:
    for other in fixture.beside:
        (folder / other.path).write_bytes(other.text)


def test_for_rocm_a_rewritten_script_declares_what_hipcc_takes(fixture: Fixture, tmp_path: Path) -> None:
    ported = port(cpp_extension.PASS, fixture.before, beside=fixture.beside)
    left = [r for r in ported.reported if r.certainty is Certainty.MANUAL]
    script = tmp_path / "setup.py"
    _beside(fixture, tmp_path)
    script.write_bytes(fixture.after)
    if str(fixture) in OPENED_BY_OTHERS:
        assert record(script, rocm=True, gpu=True, env={}).error
        (ported,) = hipport.rewrite({"setup.py": fixture.before.text}).project.sources
        script.write_bytes(ported.text)
    for environment in ENVIRONMENTS:
        recorded = record(script, rocm=True, gpu=str(fixture) in PROGRAMS, env={**environment, **NAMED})
        if not left and str(fixture) not in OWN_PORTS:
            assert recorded.error == ""
            assert recorded.extensions or str(fixture) in FOR_OTHERS
            assert untranslated(recorded) == []
            seen = record(script, rocm=True, gpu=True, env=environment)
            assert [each["sources"] for each in seen.extensions] == [each["sources"] for each in recorded.extensions]


@pytest.mark.parametrize("case", ASK_FOR_A_GPU)
def test_for_rocm_without_a_gpu_nothing_changes_unless_the_user_names_gpus(case: str, tmp_path: Path) -> None:
    (fixture,) = (each for each in FIXTURES if each.name == f"cpp_extension/{case}")
    script = tmp_path / "setup.py"

    def built(text: bytes, *, gpu: bool, named: bool) -> tuple[str, list[list[str]]]:
        script.write_bytes(text)
        recorded = record(script, rocm=True, gpu=gpu, env=NAMED if named else {})
        return recorded.error, [each["sources"] for each in recorded.extensions]

    with_gpu = built(fixture.before.text, gpu=True, named=False)
    without = built(fixture.before.text, gpu=False, named=False)
    assert without != with_gpu
    assert built(fixture.after, gpu=False, named=False) == without
    assert built(fixture.after, gpu=True, named=False) == with_gpu
    assert built(fixture.after, gpu=False, named=True) == with_gpu


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the examples after all passes."""
    folder = tmp_path_factory.mktemp("examples")
    for example in EXAMPLES:
        shutil.copytree(example, folder / example.name)
    ported = hipport.rewrite([folder])
    scripts = [source for source in ported.project.sources if source.path.name == "setup.py"]
    for source in scripts:
        (folder / source.path).write_bytes(source.text)
    assert len(scripts) == len(EXAMPLES) > 10
    return folder


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_builds_for_both(example: Path, rewritten: Path) -> None:
    script = rewritten / example.name / "setup.py"
    for environment in ENVIRONMENTS:
        before = record(example / "setup.py", rocm=False, env=environment)
        assert before.extensions and not before.error
        assert record(script, rocm=False, env=environment) == before
        hip = record(script, rocm=True, env={**environment, **NAMED})
        assert hip.error == "" and untranslated(hip) == []
        # A script may look for a GPU first; a PyTorch for ROCm is also sufficient to build kernels.
        seen = record(example / "setup.py", rocm=False, gpu=True, env=environment)
        assert [each["sources"] for each in hip.extensions] == [each["sources"] for each in seen.extensions]


@pytest.mark.toolchain
def test_hipcc_takes_the_flags(rewritten: Path, tmp_path: Path) -> None:
    """Each set of flags is tried once, on an empty file: from fixtures without work for a person, and from examples."""
    try:
        hipcc = toolchains.choose(toolchains.find(os.environ), ["gfx942"])
    except toolchains.NoToolchain as missing:
        pytest.skip(f"no hipcc: the flags were not tried: {missing}")
    sets: dict[tuple[str, ...], str] = {}
    for fixture in FIXTURES:
        ported = port(cpp_extension.PASS, fixture.before, beside=fixture.beside)
        if str(fixture) not in OWN_PORTS and all(r.certainty is not Certainty.MANUAL for r in ported.reported):
            script = tmp_path / "setup.py"
            script.write_bytes(fixture.after)
            _beside(fixture, tmp_path)
            for environment in ENVIRONMENTS:
                for flags in record(script, rocm=True, env=environment).flags()["nvcc"]:
                    sets.setdefault(flags, str(fixture))
    for script in rewritten.glob("*/setup.py"):
        for flags in record(script, rocm=True).flags()["nvcc"]:
            sets.setdefault(flags, script.parent.name)
    assert len(sets) > 20
    empty = tmp_path / "empty.hip"
    empty.touch()
    options = ["-fsyntax-only", "--offload-arch=gfx942", "--cuda-device-only", "-nogpuinc", "-nogpulib"]
    tried: list[set[str]] = []
    for flags, where in sorted(sets.items(), key=lambda item: -len(item[0])):
        # A flag of a combination is accepted if the combination is.
        if any(set(flags) <= others for others in tried):
            continue
        tried.append(set(flags))
        done = subprocess.run(
            [hipcc.hipcc, "-x", "hip", *options, *flags, empty],
            env=hipcc.environment(os.environ),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (where, flags, done.stderr)


def test_the_recorder_tells_versions_of_a_script_apart(tmp_path: Path) -> None:
    """The other tests rely on this: each kind of difference is noticed."""
    script = tmp_path / "setup.py"
    text = (
        "import os, torch\n"
        "from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension\n"
        "from setuptools import setup\n"
        "class Build(BuildExtension.with_options(use_ninja=False)):\n"
        "    def build_extensions(self):\n"
        "        for each in self.extensions:\n"
        "            each.extra_compile_args['nvcc'].append('-O2')\n"
        "e = CUDAExtension('a', ['a.cu'], extra_compile_args={'nvcc': ['-O3']})\n"
        "CUDAExtension('unused', [])\n"
        "setup(name='a', ext_modules=[e], cmdclass={'build_ext': Build})\n"
    )
    script.write_text(text)
    recorded = record(script, rocm=False)
    assert [each["name"] for each in recorded.extensions] == ["a"] and not recorded.error
    assert recorded.flags()["nvcc"] == {("-O3", "-O2"), ()}
    for old, new in [("'-O3'", "'-O1'"), ("'-O2'", "'-Os'"), ("'a.cu'", "'b.cu'"), ("e = CUDA", "e = Cpp")]:
        script.write_text(text.replace(old, new).replace("import CUDA_HOME", "import CppExtension, CUDA_HOME"))
        assert record(script, rocm=False) != recorded
    script.write_text(text + "assert CUDA_HOME\n")
    assert record(script, rocm=False) == recorded
    assert record(script, rocm=True).error == "AssertionError: "


def test_all_passes_together_leave_the_script_the_same_for_cuda(fixture: Fixture, tmp_path: Path) -> None:
    ported = hipport.engine.pipeline.run(hipport.program.project.Project((fixture.before,)), PASSES)
    script = tmp_path / "setup.py"
    script.write_bytes(fixture.before.text)
    before = record(script, rocm=False)
    script.write_bytes(ported.project.sources[0].text)
    assert record(script, rocm=False) == before

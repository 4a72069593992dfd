# SPDX-License-Identifier: Apache-2.0
"""PyTorch extensions on the CPU executor: devices in their C++ and Python, builds, faults in tensors.

The first build compiles PyTorch's headers, which takes a minute and is cached.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path, PurePath
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

import verifying
from hipport.building.compiler_messages import SourcePlaces
from hipport.building.digests import Digests
from hipport.engine.pipeline import run
from hipport.executor import torch_devices, torch_extension, torch_installed, torch_units
from hipport.program.project import Project
from hipport.syntax.cuda import Cuda
from hipport.verifying import extension_verifier, recordings
from hipport.workspace.discovery import discover
from hipport_passes import PASSES


def devices(text: str, *others: str) -> str:
    """Rewrite `text`, one of the files of a project."""
    sources = [Cuda(PurePath(f"{n}.cu"), each.encode()) for n, each in enumerate((text, *others))]
    findings = torch_devices.find(sources[0], Project(tuple(sources)))
    return sources[0].apply([edit for finding in findings for edit in finding.edits]).text.decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.is_cuda()", "x.is_cpu()"),
        ("x->is_cuda ()", "x->is_cpu ()"),
        ("x.device().is_cuda()", "x.device().is_cpu()"),
        ("x.type().is_cuda()", "x.is_cpu()"),
        ("x.to(torch::kCUDA)", "x.to(torch::kCPU)"),
        ("at::device(at::kCUDA).dtype(at::kInt)", "at::device(at::kCPU).dtype(at::kInt)"),
        ("c10::DeviceType::CUDA", "c10::DeviceType::CPU"),
        ("c10::DispatchKey::CUDA", "c10::DispatchKey::CPU"),
        ("x.cuda()", "x.cpu()"),
        ("cudaSetDevice(x.get_device())", "cudaSetDevice(x.device().has_index())"),
        ("x.device().index()", "x.device().has_index()"),
        ("auto device = x.device(); int n = device.index();", "auto device = x.device(); int n = device.has_index();"),
        ('torch::Device device("cuda:0");', 'torch::Device device("cpu");'),
        ('torch::Device("cuda")', 'torch::Device("cpu")'),
        ("torch::cuda::is_available()", "::simt::torch_cuda::is_available()"),
        ("TORCH_LIBRARY_IMPL(ops, CUDA, m)", "TORCH_LIBRARY_IMPL(ops, CPU, m)"),
        ("TORCH_LIBRARY_IMPL(ops, CPU, m)", "TORCH_LIBRARY_IMPL(ops, CPU, m)"),
        ("f(x.operator __half(), 1)", "f(static_cast<__half>(x), 1)"),
    ],
)
def test_devices_become_the_cpu(before: str, after: str) -> None:
    assert devices(before + "\n") == after + "\n"


@pytest.mark.parametrize(
    "text",
    [
        "is_cuda(x)",
        "// x.is_cuda()",
        '"x.is_cuda()"',
        "x.cuda(0)",
        "x.index()",
        'say("cuda")',
        "c10::cuda::set_device(0)",
        "mykCUDA",
    ],
)
def test_other_strings_stay(text: str) -> None:
    assert devices(text + "\n") == text + "\n"


def test_the_gpus_registration_replaces_the_cpus() -> None:
    gpu = "TORCH_LIBRARY_IMPL(ops, CUDA, m) {}\n"
    assert "(ops, Vulkan, m)" in devices("TORCH_LIBRARY_IMPL(ops, CPU, m) {}\n", gpu)
    assert "(ops, CPU, m)" in devices("TORCH_LIBRARY_IMPL(ops, CPU, m) {}\n", "int x;\n")


def run_python(text: str) -> str:
    folder = torch_installed.HERE.parent
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\nimport pretend_gpu, torch\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_sees_a_gpu() -> None:
    pytest.importorskip("torch")
    said = run_python(
        """
        with pretend_gpu.gpu("hip", 64, {}):
            assert torch.cuda.is_available() and torch.version.hip and torch.version.cuda is None
            assert torch.cuda.get_device_properties(0).warp_size == 64
            device = torch.device("cuda")
            x = torch.randn(3, device=device, requires_grad=True)
            assert x.is_cuda and not x.is_cpu and x.device == torch.device("cuda:0") and x.get_device() == 0
            assert x.device.type == "cuda" and torch.zeros(2, device=x.device).is_cuda
            assert x.to("cuda:0").to(0).cuda(0, non_blocking=True) is not None
            assert torch.empty(2, pin_memory=True).is_pinned()
            y = torch.tensor([1.0], device="cuda")
            copied = y.cpu()
            copied.add_(1)
            assert y.item() == 1.0 and copied.item() == 2.0
            assert y.type() == "torch.cuda.FloatTensor" and y.type("torch.cuda.DoubleTensor").dtype == torch.float64
            with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record(); end.record(); torch.cuda.synchronize()
                assert start.elapsed_time(end) >= 0
            with torch.autocast("cuda", dtype=torch.float16):
                (x * x).sum().backward()
            assert torch.equal(x.grad, 2 * x)
            model = torch.nn.Linear(2, 2).cuda().to(device)
            assert next(model.parameters()).is_cuda
            assert torch.arange(3, device="cuda", dtype=torch.int64).sum().item() == 3
            assert torch.Generator(device="cuda").manual_seed(1) is not None
            torch.set_default_device("cuda")
            assert torch.zeros(1).is_cuda
        print("fine")
        """
    )
    assert said == "fine\n"


SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="small-sums", version="1.5", packages=["small"],
      ext_modules=[CUDAExtension("small._C", ["small.cu", "bindings.cpp"])],
      cmdclass={"build_ext": BuildExtension})
"""
KERNEL = """\
#include <torch/extension.h>
#include <ATen/cuda/CUDAApplyUtils.cuh>
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <ATen/native/SharedReduceOps.h>

template <typename T>
__global__ void add(torch::PackedTensorAccessor32<T, 1, torch::RestrictPtrTraits> x, T* sum, int beyond) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.size(0) + beyond) {
    gpuAtomicAdd(sum, x[i]);
  }
}

torch::Tensor add_up(torch::Tensor x, int beyond) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  auto sum = torch::zeros({1}, x.options());
  auto unset = torch::empty({4}, torch::dtype(torch::kInt).device(torch::kCUDA));
  // The executor's, which PyTorch's own memory is not.
  if (std::getenv("SIMT_WAVE")) TORCH_CHECK(unset[0].item<int>() == -1, "memory that was not written is full of ones");
  const int n = x.numel() + beyond;
  if (n == 0) return sum;
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "add", [&] {
    add<scalar_t><<<at::cuda::ATenCeilDiv(n, 64), 64, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(), sum.data_ptr<scalar_t>(), beyond);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  return sum;
}
"""
BINDINGS = """\
#include <torch/extension.h>
torch::Tensor add_up(torch::Tensor x, int beyond);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add_up", &add_up); }
"""
CASES = """
import numpy as np
PACKAGE = "small"
CASES = {
    "empty": {"n": 0},
    "some": {"n": 100},
    "beyond": {"n": 64, "beyond": 1},
    "half": {"n": 10, "dtype": "float16"},
    "raises": {"n": 3, "dtype": "int32"},
    "double": {"n": 65, "dtype": "float64"},
}
GRADIENTS = {"slope": ("sum", None, "x")}
def inputs(rng, n, beyond=0, dtype="float32"):
    return {"x": rng.integers(-4, 5, n).astype(dtype), "beyond": beyond}
def call(small, x, beyond):
    import os, torch
    assert os.environ["SIMT_WAVE"]
    x = x.to(torch.device("cuda"))
    assert x.is_cuda and x.device.type == "cuda"
    return {"sum": small.add_up(x, beyond), "slope": torch.ones_like(x)}
def reference(x, beyond):
    return {"sum": x.sum(keepdims=True, dtype=x.dtype), "slope": np.ones_like(x)}
"""


def test_every_header_of_cuda_has_its_counterpart_of_hip() -> None:
    shims = torch_installed.HERE / "include/torch_shims"
    names = [path.relative_to(shims) for folder in shims.glob("*/**/cuda") for path in folder.rglob("*.*")]
    assert len(names) > 20
    for name in names:
        hip = str(name).replace("/cuda", "/hip").replace("CUDA", "HIP").replace("cuda_cmake", "hip_cmake")
        assert (shims / hip).is_file(), hip


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="PyTorch is not installed: no extension was built for the executor")
    tree = tmp_path_factory.mktemp("extension") / "small"
    (tree / "small").mkdir(parents=True)
    (tree / "setup.py").write_text(SETUP)
    (tree / "small.cu").write_text(KERNEL)
    (tree / "bindings.cpp").write_text(BINDINGS)
    (tree / "cases.py").write_text(CASES)
    (tree / "small/__init__.py").write_text(
        # Packages read their version from the installed files.
        "import importlib.metadata\nimport torch\nfrom small._C import add_up\n"
        "assert importlib.metadata.version('small-sums') == '1.5'\n"
    )
    return tree


def test_an_extension_runs_and_its_faults_are_found(small: Path) -> None:
    verified = verifying.extension(small, env=os.environ, python=Path(sys.executable), orders=("forward", "reverse"))
    assert {path.name for path in small.iterdir()} == {"setup.py", "small.cu", "bindings.cpp", "cases.py", "small"}
    for ran in verified.ran:
        outcomes = {outcome.case: outcome for outcome in ran.outcomes}
        for case in ("empty", "some", "half", "double"):
            assert outcomes[case].ok, outcomes[case]
            assert {output.name for output in outcomes[case].outputs} == {"sum", "slope"}
        against = {d.against for o in outcomes["double"].outputs for d in o.differences if o.name == "slope"}
        # One order of threads is sufficient to check gradients.
        assert ("differences" in against) == (ran.configuration.order == "forward")
        # Code after a fault runs all the same.
        fault = outcomes["beyond"].faults[-1]
        assert outcomes["beyond"].status == "fault"
        assert (fault.kind, fault.path, fault.line) == ("out-of-bounds", PurePath("small.cu"), 12), fault
        assert fault.kernel.startswith("add<scalar_t>")
        assert outcomes["raises"].status == "error" and "not implemented for 'Int'" in outcomes["raises"].message
    assert not verified.ok


def test_one_changed_kernel_is_compiled_in_seconds(small: Path) -> None:
    driver = verifying.driver(small)
    driver.build("original")
    assert driver.build("original").seconds == {}
    # Nothing that an earlier run of the tests has compiled.
    (small / "small.cu").write_text(KERNEL.replace("x.size(0)", "(int)x.size(0)") + f"// {time.time_ns()}\n")
    start = time.process_time()
    before = os.times().children_user
    assert len(driver.build("original").seconds) == 1
    # Processor time: wall time depends more on other load on the machine.
    assert time.process_time() - start + os.times().children_user - before < 30


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("gpuAtomicAdd(sum, x[i], );", "expected primary-expression"),
        # It may be of PyTorch's, so the unit is compiled with all its headers, in vain, for twenty seconds. That a unit
        # gets them is tested below.
        pytest.param("gpuAtomicAdd(sum, no_such_thing);", "no_such_thing", marks=pytest.mark.further),
    ],
)
def test_compile_errors_are_at_the_users_line(written: str, says: str, small: Path) -> None:
    (small / "small.cu").write_text(KERNEL.replace("gpuAtomicAdd(sum, x[i]);", written))
    with pytest.raises(torch_installed.NotBuildable, match=rf"small\.cu:12: .*{says}"):
        verifying.driver(small).build("original")


WAVES = """\
#include <torch/extension.h>
template <int W>
__device__ int place(int t) { return t / W * W + t % W; }
__global__ void places(int* out) {
  constexpr int kWave = C10_WARP_SIZE;
  out[threadIdx.x] = place<kWave>(threadIdx.x) + place<C10_WARP_SIZE>(threadIdx.x);
}
torch::Tensor add_up(torch::Tensor x, int) {
  auto out = torch::zeros({128}, x.options().dtype(torch::kInt));
  places<<<1, 128>>>(out.data_ptr<int>());
  return out;
}
"""
WAVES_CASES = """
PACKAGE = "small"
CASES = {"one": {}}
def inputs(rng):
    return {"x": rng.integers(-4, 5, 3).astype("float32")}
def call(small, x):
    return {"places": small.add_up(x.cuda(), 0)}
"""


def test_the_size_of_a_wavefront_is_a_constant_where_there_is_one(small: Path, tmp_path: Path) -> None:
    tree = shutil.copytree(small, tmp_path / "small")
    (tree / "small.cu").write_text(WAVES)
    (tree / "cases.py").write_text(WAVES_CASES)

    def verified(*waves: int) -> extension_verifier.Verified:
        return verifying.extension(
            tree,
            env=os.environ,
            python=Path(sys.executable),
            port=lambda places: run(discover(places), PASSES),
            orders=("forward",),
            waves=waves,
        )

    with pytest.raises(torch_installed.NotBuildable, match="give --wave 32, then --wave 64"):
        verified(32, 64)
    ran = verified(64).ran
    assert [each.configuration.lanes for each in ran] == [32, 64]
    assert all(outcome.ok for each in ran for outcome in each.outcomes)


@pytest.mark.parametrize(
    ("said", "device", "tries"),
    [
        ("x.cpp:1:8: error: 'nn' is not a member of 'torch'", False, ["light", "whole"]),
        ("x.cu:1:8: error: 'nn' is not a member of 'torch'", True, ["tensors", "light", "whole"]),
        ("x.cu:1:8: error: 'Slice' was not declared in this scope", True, ["tensors", "light"]),
        ("x.cpp:1:8: error: expected ';' before 'int'", True, ["tensors"]),
        (
            "x.cu:1:8: error: call to non-'constexpr' function 'int simt::wave_size()'\n"
            "x.cu:2:3: error: no matching function for call to 'place<kWave>(int)'",
            True,
            ["tensors"],
        ),
    ],
)
def test_a_unit_that_needs_more_of_pytorch_gets_all_its_headers(
    said: str, device: bool, tries: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def limited(command: list[str], *_: object) -> tuple[int, str]:
        commands.append(command)
        if light in command:
            return 1, said
        Path(command[command.index("-MF") + 1]).write_text("out: x.cpp")
        Path(command[command.index("-o") + 1]).touch()
        return 0, ""

    light = f"-I{torch_units._TORCH_LIGHT}"
    monkeypatch.setattr(torch_units, "limited", limited)
    compiler = SimpleNamespace(
        _command=lambda unit, headers: [headers, *([light] if headers != "whole" else [])],
        _is_of_host=lambda source: False,
        _made=lambda path: path,
        session=SimpleNamespace(digests=Digests()),
        options=torch_units.ExtensionOptions({}, tmp_path, Path(sys.executable), timeout=1),
        torch=SimpleNamespace(include=Path("/torch")),
        places=SourcePlaces(tmp_path),
    )
    unit = torch_units.TorchUnit(tmp_path / "x.cpp", device, (), tmp_path, "x")
    made = torch_units.UnitCompiler.compile(cast(torch_units.UnitCompiler, compiler), unit)
    assert [command[0] for command in commands] == tries
    assert made.path.exists() == (tries[-1] == "whole") and bool(made.messages) == (tries[-1] != "whole")


def test_calls_are_recorded_and_replayed(small: Path, tmp_path: Path) -> None:
    # Functions of any build can be recorded: here the executor's, on another machine nvcc's.
    (small / "small.cu").write_text(KERNEL)
    built = verifying.driver(small).build("original")
    program = tmp_path / "train.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import sys
            sys.path[:0] = {[str(path) for path in built.paths]!r}
            import torch
            from small import add_up
            for n in range(1, 9):
                add_up(torch.arange(n, dtype=torch.float32), 0)
            """
        )
    )
    out = tmp_path / "calls.json"
    env = {**os.environ, "LD_PRELOAD": f"libstdc++.so.6 {built.libraries[0]}"}
    command = [sys.executable, str(program)]
    assert recordings.record(command, out, env=env, folder=tmp_path, modules=("small._C",), calls=3) == 0
    (verified,) = verifying.replay(small, out, env=os.environ, python=Path(sys.executable), orders=("forward",))
    assert verified.ok and verified.package == "small._C"
    assert [outcome.case for outcome in verified.ran[0].outcomes] == [f"small._C.add_up#{n}" for n in range(3)]
    # A training script calls more extensions than the ported one.
    whole = json.loads(out.read_text())
    for each in whole["calls"][1:]:
        each["module"] = "other._C"
    out.with_name("two.json").write_text(json.dumps(whole))
    shutil.copy(out.with_suffix(".npz"), out.with_name("two.npz"))
    (verified,) = verifying.replay(
        small, out.with_name("two.json"), env=os.environ, python=Path(sys.executable), orders=("forward",)
    )
    assert [outcome.case for outcome in verified.ran[0].outcomes] == ["small._C.add_up#0"]
    assert "calls of other._C: they belong to another extension" in verified.not_checked
    whole["calls"][0]["module"] = "other._C"
    out.with_name("two.json").write_text(json.dumps(whole))
    with pytest.raises(extension_verifier.BadCases, match=r"calls of other._C; .* builds small._C"):
        verifying.replay(small, out.with_name("two.json"), env=os.environ, python=Path(sys.executable))
    # A recording with other values is noticed.
    (small / "small.cu").write_text(KERNEL.replace("gpuAtomicAdd(sum, x[i])", "gpuAtomicAdd(sum, x[i] + T(1))"))
    (verified,) = verifying.replay(small, out, env=os.environ, python=Path(sys.executable), orders=("forward",))
    assert not verified.ok


# Like a rasterizer: the data from forward for backward begins at an aligned address, which varies.
SCRATCH = """
import torch
START = {start}
def forward(x):
    scratch = torch.full((START + x.numel() * 8,), 255, dtype=torch.uint8)
    scratch[START:] = (x.double() * {factor}).view(torch.uint8)
    return x.sum(), scratch
def backward(x, scratch):
    return scratch[START:].view(torch.float64) + x
"""


@pytest.mark.parametrize(("factor", "wrong"), [(2, []), (3, ["made.backward#0", "made.backward#1"])])
def test_scratch_memory_is_passed_on_and_not_compared(
    factor: int, wrong: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: replays of scratch memory were NOT checked")
    from hipport.executor import record_calls, run_cases

    recording = record_calls.Recording(tmp_path / "calls.json", calls=4, most=1 << 20)
    original = ModuleType("made")
    exec(SCRATCH.format(start=8, factor=2), vars(original))
    forward, backward = (recording.wrap("made", name, getattr(original, name)) for name in ("forward", "backward"))
    for n in (4, 6):
        x = torch.arange(n, dtype=torch.float32)
        backward(x, forward(x)[1])
    recording.save()
    monkeypatch.setenv("HIPPORT_REPLAY", str(tmp_path / "calls.json"))
    monkeypatch.setenv("HIPPORT_REPLAY_MODULE", "made")
    cases: Any = run_cases._load(str(Path(run_cases.__file__).with_name("replay_cases.py")), "cases_of_calls")
    port = ModuleType("made")
    exec(SCRATCH.format(start=24, factor=factor), vars(port))
    differ = []
    for name in reversed(cases.CASES):
        given = {key: run_cases._on_device(value) for key, value in cases.inputs(None, name).items()}
        outputs, expected = cases.call(port, **given), cases.reference(name)
        assert set(outputs) == set(expected) and not any(array.dtype == "uint8" for array in expected.values())
        differ += [name for key in expected if not (outputs[key].numpy() == expected[key]).all()]
    assert sorted(differ) == wrong
    assert json.loads((tmp_path / "calls.json").read_text())["scratch"] == {
        "made.forward#0": ["result.1"],
        "made.forward#1": ["result.1"],
    }


def test_code_of_the_host_is_compiled_by_a_clang_that_can(tmp_path: Path) -> None:
    programs, include = tmp_path / "bin", tmp_path / "include"
    programs.mkdir()
    shared = include / "pybind11/conduit/pybind11_platform_abi_id.h"
    shared.parent.mkdir(parents=True)
    shared.touch()
    torch = torch_installed.PyTorch(Path(sys.executable), "2.13", include, tmp_path, tmp_path, True)

    def chosen(version: str, *, library: bool = True, **more: str) -> str:
        clang = programs / "clang++"
        compiles = "exit 0" if library else "exit 1"
        clang.write_text(
            f'#!/bin/sh\ncase "$1" in --version|-dump*) echo "clang version {version}";; *) {compiles};; esac\n'
        )
        clang.chmod(0o755)
        # Nor is there a toolchain with one. The answer is cached by environment.
        home = tmp_path / f"{version}{library}{more}"
        env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), **more}
        return torch_installed.host_compiler(torch, env).path

    own = str(programs / "clang++")
    assert chosen("21.1.0") == own
    assert chosen("15.0.6") != own
    assert chosen("21.1.0", library=False) != own
    assert chosen("21.1.0", CXX="g++") != own
    # Before pybind11 3, modules compiled by clang did not know the types of a PyTorch compiled by g++.
    shared.unlink()
    assert chosen("21.1.1") != own


def test_a_package_in_a_folder_of_another_name_is_imported_by_its_own(tmp_path: Path) -> None:
    """setup.py's package_dir: `{"ops": "functions"}`."""
    tree, links = tmp_path / "tree", tmp_path / "links"
    places = {
        "ops._C": ("functions/_C.so", links),
        "deep.er._C": ("src/er/_C.so", links),
        "spaces.in_it._C": ("other/_C.so", links),
        "plain._C": ("lib/plain/_C.so", tree / "lib"),
        "alone": ("alone.so", tree),
    }
    for name, (file, path) in places.items():
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_text(name)
        for _ in range(2):
            assert torch_extension._import_path(torch_extension.Module(name, tree / file), links) == path
        assert path.joinpath(*name.split(".")).with_suffix(".so").read_text() == name

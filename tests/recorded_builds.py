# SPDX-License-Identifier: Apache-2.0
"""Run a build script with a stand-in for PyTorch, and return the builds that it would have started.

The script runs in a child process, on a copy of its tree, with little of the environment, limits on time and memory,
and no compiler. The child is forked from a process that has already imported the slow modules. `torch` is a stand-in,
once for ROCm and once for CUDA, with a GPU or, as on most machines that build packages, without one. The script's
arguments for CUDAExtension, CppExtension, `load` and the like are recorded; a subclass of BuildExtension runs up to the
point where it would build. PyTorch itself is not needed.

The relevant facts on PyTorch are from torch/utils/cpp_extension.py of 2.13: CUDA_HOME is None in a PyTorch for
ROCm, and ROCM_HOME in one for CUDA.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

_NVCC = "Cuda compilation tools, release 12.8, V12.8.93"
_HIPCC = "HIP version: 6.4.43482"

#: If these are set, scripts with their own options take the other branch.
ENVIRONMENTS: list[dict[str, str]] = [
    {},
    dict.fromkeys(("DEBUG", "FORCE_CUDA", "FORCE_ONLY_CUDA", "WITH_CUDA", "USE_NINJA", "FUSED_ACT_DEBUG"), "1"),
]


@dataclass(frozen=True)
class Recorded:
    """The declarations of a script: each extension with its arguments, and the reason why the script stopped, or ""."""

    extensions: tuple[dict[str, Any], ...]
    error: str

    def flags(self) -> dict[str, set[tuple[str, ...]]]:
        """Return the flags of all extensions, by receiver: `nvcc` (hipcc's on ROCm), `host`, `link`."""
        found: dict[str, set[tuple[str, ...]]] = {"nvcc": set(), "host": set(), "link": set()}
        for each in self.extensions:
            given = each.get("extra_compile_args") or {}
            # One list is for both compilers: it contains nvcc's flags only if there is none for the other.
            given = given if isinstance(given, dict) else {"nvcc": given}
            cuda = each["function"] in ("CUDAExtension", "load", "load_inline")
            if cuda:
                found["nvcc"].add(words(given.get("nvcc", ())))
                found["nvcc"].add(words(each.get("extra_cuda_cflags") or ()))
            found["host"].add(words(given.get("cxx", ())))
            found["host"].add(words(each.get("extra_cflags") or ()))
            found["link"].add(words(each.get("extra_link_args") or each.get("extra_ldflags") or ()))
        return found

    @property
    def libraries(self) -> set[str]:
        """Return the libraries of all extensions."""
        return {name for each in self.extensions for name in each.get("libraries") or ()}


def words(flags: Any) -> tuple[str, ...]:
    """Return the arguments that a compiler gets from a list of flags."""
    # PyTorch's build and `load` write flags into a file that a shell reads: a flag with a blank becomes two.
    return tuple(word for flag in ([flags] if isinstance(flags, str) else flags) for word in str(flag).split())


def record(
    script: Path, *, rocm: bool, tree: Path | None = None, gpu: bool = False, env: Mapping[str, str] | None = None
) -> Recorded:
    """Run `script`, which lies in `tree` (by default: its folder), as `python setup.py build_ext` would."""
    tree = tree or script.parent
    with tempfile.TemporaryDirectory() as scratch:
        # The working folder is the same for every version of a script, because paths get into the record.
        copy = Path(scratch) / "tree"
        shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        home = Path(scratch) / ("rocm" if rocm else "cuda")
        for name, said in (("hipcc", _HIPCC),) if rocm else (("nvcc", _NVCC),):
            compiler = home / "bin" / name
            compiler.parent.mkdir(parents=True, exist_ok=True)
            compiler.write_text(f"#!/bin/sh\necho '{said}'\n")
            compiler.chmod(0o755)
        for folder in ("include", "lib64", "lib"):
            (home / folder).mkdir()
        output = Path(scratch) / "recorded.json"
        request = {
            "script": str(copy / script.relative_to(tree)),
            "scratch": scratch,
            "rocm": rocm,
            "gpu": gpu,
            "home": str(home),
            "output": str(output),
        }
        environment = {
            "PATH": f"{home}/bin:/usr/bin:/bin",
            "HOME": scratch,
            "TMPDIR": scratch,
            "ROCM_HOME" if rocm else "CUDA_HOME": str(home),
            **(env or {}),
        }
        status = _of_server({**request, "folder": str(Path(str(request["script"])).parent), "env": environment})
        if not output.exists():
            said = (Path(scratch) / "stderr").read_text(errors="replace")
            return Recorded((), f"it ended with {status}: {said[-500:]}")
        answer = json.loads(output.read_text())
    return Recorded(tuple(answer["extensions"]), answer["error"])


@cache
def _server() -> subprocess.Popen[str]:
    command = [sys.executable, "-I", "-B", str(Path(__file__).resolve())]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={})


def _of_server(request: dict[str, Any]) -> int:
    """Run a script, and return how its process ended, in the form of `subprocess`."""
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def untranslated(recorded: Recorded) -> list[str]:
    """Return the arguments that a script declared for ROCm and that are not for hipcc or its linker."""
    # The child, which runs this file too, has neither.
    from hipport_passes.build_files.nvcc_flags import library, translate

    changes = [
        change
        for of, sets in recorded.flags().items()
        for flags in sets
        for change in translate(flags, torch=True, of=of).changes
        # These are for the other compilers too; and PyTorch's own ABI flag is right.
        if change.kind not in ("standard", "half", "abi")
    ]
    return [*map(str, changes), *(name for name in recorded.libraries if library(name) is not None)]


# --- In the child -----------------------------------------------------------------------------------------------------


class _Kind(type):
    """Makes a stand-in usable as a class, as a function, and as a value."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything

    def __iter__(cls) -> Any:
        return iter(())

    def __lt__(cls, other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __str__(cls) -> str:
        return "anything"

    def __fspath__(cls) -> str:
        return "anything"


class _Anything(metaclass=_Kind):
    """Stands for objects that are not recorded: it can be called, read, subclassed and iterated over."""

    def __init__(self, *_: Any, **__: Any) -> None: ...
    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything

    def __iter__(self) -> Any:
        return iter(())

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __fspath__(self) -> str:
        return "anything"

    def __str__(self) -> str:
        return "anything"


class _Module(ModuleType):
    """A module with anything in it, and any submodules."""

    __path__: Any = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything


class _Finder:
    """Finds stand-in modules: for PyTorch, and for other modules that a build script may import."""

    def __init__(self, *packages: str) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return ModuleSpec(name, self) if name.partition(".")[0] in self.packages else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: Any) -> ModuleType:
        return _Module(spec.name)

    @staticmethod
    def exec_module(module: ModuleType) -> None: ...


def _plain(value: Any) -> Any:
    """Return a value in JSON's form, with types distinguished that a script may confuse."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(str(_plain(each)) for each in value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return str(value) if isinstance(value, os.PathLike) else type(value).__name__


class _Child:
    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.rocm: bool = request["rocm"]
        self.found: list[Any] = []

    def extension(self, function: str) -> Callable[..., Any]:
        def declare(name: Any = None, sources: Any = (), *_: Any, **options: Any) -> Any:
            made = SimpleNamespace(function=function, name=name, sources=sources, **options)
            for option in ("include_dirs", "library_dirs", "libraries", "define_macros", "extra_link_args"):
                if function in ("CUDAExtension", "CppExtension", "Extension"):
                    made.__dict__.setdefault(option, [])
            if function in ("CUDAExtension", "CppExtension"):
                made.__dict__.setdefault("extra_compile_args", {})
            self.found.append(made)
            return made

        return declare

    def of_gpu(self, answer: Any) -> Any:
        """Return a GPU's answer, if there is one."""
        if not self.request["gpu"]:
            raise RuntimeError("No HIP GPUs are available" if self.rocm else "No CUDA GPUs are available")
        return answer

    def torch(self) -> None:
        rocm, home = self.rocm, self.request["home"]
        torch: Any = importlib.import_module("torch")
        torch.__version__ = "2.9.0+rocm6.4" if rocm else "2.9.0+cu128"
        torch.__file__, torch.__path__ = (
            f"{self.request['scratch']}/torch/__init__.py",
            [f"{self.request['scratch']}/torch"],
        )
        version: Any = importlib.import_module("torch.version")
        version.hip, version.cuda = ("6.4.43482", None) if rocm else (None, "12.8")
        version.__version__ = torch.__version__
        cuda: Any = importlib.import_module("torch.cuda")
        cuda.is_available = lambda: self.request["gpu"]
        cuda.device_count = lambda: int(self.request["gpu"])
        cuda.get_device_capability = lambda device=None: self.of_gpu((9, 4) if rocm else (8, 0))
        cuda.get_arch_list = lambda: ["gfx942", "gfx1100"] if rocm else ["sm_80", "sm_90"]
        # Like PyTorch: for ROCm there is no underscore to split at.
        cuda.get_gencode_flags = lambda: " ".join(
            f"-gencode compute=compute_{arch},code={kind}_{arch}"
            for kind, arch in (each.split("_") for each in cuda.get_arch_list())
        )
        cuda.get_device_properties = lambda device=None: self.of_gpu(
            SimpleNamespace(name="GPU", major=9 if rocm else 8, minor=0, gcnArchName="gfx942", multi_processor_count=1)
        )
        torch._C = SimpleNamespace(
            _GLIBCXX_USE_CXX11_ABI=True, _get_cxx11_abi=lambda: True, _cuda_getDeviceCount=cuda.device_count
        )
        torch.compiled_with_cxx11_abi = lambda: True
        extension: Any = importlib.import_module("torch.utils.cpp_extension")
        extension.CUDA_HOME, extension.ROCM_HOME = (None, home) if rocm else (home, None)
        extension.IS_HIP_EXTENSION, extension.IS_WINDOWS = rocm, False
        extension.CUDNN_HOME = None
        extension.TORCH_LIB_PATH = f"{self.request['scratch']}/torch/lib"
        for function in ("CUDAExtension", "CppExtension", "SyclExtension", "load", "load_inline"):
            setattr(extension, function, self.extension(function))
        extension.BuildExtension = _build_extension()
        for function in ("include_paths", "library_paths"):
            setattr(extension, function, lambda *_, **__: [f"{self.request['scratch']}/torch/include"])
        extension.is_ninja_available = lambda: True
        extension.check_compiler_abi_compatibility = lambda compiler: True
        torch.version, torch.cuda, torch.utils = version, cuda, importlib.import_module("torch.utils")
        torch.utils.cpp_extension = extension
        hipify: Any = importlib.import_module("torch.utils.hipify.hipify_python")
        hipify.hipify = lambda *_, **__: {}
        torch.utils.hipify = importlib.import_module("torch.utils.hipify")
        torch.utils.hipify.hipify_python = hipify

    def setuptools(self) -> None:
        for name in ("setuptools", "distutils.core", "setuptools.extension", "distutils.extension"):
            module: Any = importlib.import_module(name)
            module.setup = self.setup
            module.Extension = self.extension("Extension")
            module.find_packages = module.find_namespace_packages = lambda *_, **__: []
            module.Command = _Anything

        settings: Any = importlib.import_module("distutils.sysconfig")
        settings.get_config_vars, settings.get_config_var = sysconfig.get_config_vars, sysconfig.get_config_var

    def setup(self, **attributes: Any) -> None:
        modules = attributes.get("ext_modules") or []
        # A declared extension that is not passed on is not built; one that is made elsewhere is not recorded here.
        kept = [each for each in modules if any(each is ours for ours in self.found)]
        others = [each for each in self.found if each.function.startswith("load")]
        self.found[:] = [*others, *kept]
        command = (attributes.get("cmdclass") or {}).get("build_ext")
        if isinstance(command, type) and getattr(command, "of_pytorch", False) is True:
            build = command()
            build.extensions = kept
            build.compiler = SimpleNamespace(
                compiler_type="unix", compiler_so=["g++"], src_extensions=[".cpp"], set_executable=lambda *_, **__: None
            )
            build.build_extensions()


def _build_extension() -> type:
    class BuildExtension:
        of_pytorch = True
        user_options = ()

        def __init__(self, *_: Any, **__: Any) -> None: ...
        def initialize_options(self) -> None: ...
        def finalize_options(self) -> None: ...
        def run(self) -> None: ...
        def build_extensions(self) -> None: ...
        def build_extension(self, extension: Any) -> None: ...

        @classmethod
        def with_options(cls, **_: Any) -> type:
            return type("with_options", (cls,), {})

    return BuildExtension


def _main(request: dict[str, Any]) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    child = _Child(request)
    sys.meta_path.insert(0, _Finder("torch", "setuptools", "distutils"))
    # In case they are not installed.
    sys.meta_path.append(_Finder("numpy", "pybind11", "Cython", "wheel", "pkg_resources", "packaging"))
    error = ""
    child.torch()
    child.setuptools()
    script = Path(request["script"])
    sys.argv = [script.name, "build_ext"]
    sys.path.insert(0, str(script.parent))
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as stopped:
        error = f"it stopped with {stopped.code}" if stopped.code else ""
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"
    answer = {"extensions": [_plain(vars(each)) for each in child.found], "error": error}
    text = json.dumps(answer).replace(request["scratch"], "<scratch>")
    Path(request["output"]).write_text(text)


def _in_place(request: dict[str, Any]) -> None:
    """Become the process that was started for the request."""
    signal.alarm(60)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    for descriptor, place in enumerate((os.devnull, os.devnull, f"{request['scratch']}/stderr")):
        os.dup2(os.open(place, os.O_RDWR | os.O_CREAT), descriptor)


def _serve() -> None:
    """Run the requested scripts, each in a fork of this process, until there are no more requests."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                _in_place(request)
                _main(request)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            # Not the rest of the server's input.
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()

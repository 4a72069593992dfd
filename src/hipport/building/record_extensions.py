# SPDX-License-Identifier: Apache-2.0
"""Run a build up to the point where it would call compilers, and record these calls.

A script that a child process runs with the interpreter that the extension is built with. It must not need hipport. Its
argument is a JSON file: what to do in `kind` (see `_KINDS`) with its parameters, and the path `output` of the result,
also JSON:

    commands   [{extension, source, language, arguments}, ...], in order; paths are absolute
    modules    {extension: its path if it were built in place}
    renamed    {file: the file that PyTorch's hipify made of it}
    about      {distribution: its metadata, as PKG-INFO has it}
    error      why it stopped, or ""

PyTorch's own code runs, and takes itself for a PyTorch for ROCm, or for CUDA if the request has a CUDA version in
`cuda`. So its hipify (unless `hipify` is false), its flags and everything that a setup.py makes of them are as in a
real build. No compiler runs, nothing is linked, no GPU is queried.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import shlex
import sys
import sysconfig
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class _Recorder:
    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.commands: list[dict[str, Any]] = []
        self.extension = ""
        self.modules: dict[str, str] = {}
        #: The extensions that setup() was given, in case their build fails before a compiler is called.
        self.declared: list[str] = []
        self.about: dict[str, str] = {}

    def command(self, source: str, language: str, arguments: list[str]) -> None:
        self.commands.append(
            {
                "extension": self.extension,
                "source": str(Path(source).resolve()),
                "folder": str(Path.cwd()),
                "language": language,
                "arguments": [str(argument) for argument in arguments],
            }
        )


def _language(source: str) -> str:
    return {".cu": "hip", ".hip": "hip", ".c": "c"}.get(Path(source).suffix.lower(), "c++")


def _pretend(recorder: _Recorder) -> None:
    """Make PyTorch take itself for one built for ROCm, and record instead of compiling. Without PyTorch, do nothing."""
    try:
        torch: Any = import_module("torch")
    except ImportError:
        return
    archs = recorder.request["archs"]
    major, minor = {"gfx9": (9, 4), "gfx1": (11, 0)}.get(archs[0][:4], (9, 4))
    version = recorder.request.get("cuda")
    if torch.version.hip is None or version:
        name, major, minor = ("NVIDIA", 8, 0) if version else ("AMD", major, minor)
        torch.version.hip = None if version else recorder.request["hip"]
        torch.version.cuda = version
        cuda = torch.cuda
        cuda._is_compiled = lambda: True
        cuda.is_available = lambda: True
        cuda.device_count = lambda: 1
        cuda.current_device = lambda: 0
        cuda.get_arch_list = lambda: list(archs)
        cuda.get_device_capability = lambda device=None: (major, minor)
        cuda.get_device_name = lambda device=None: name
        cuda.get_device_properties = lambda device=None: SimpleNamespace(
            name=name, major=major, minor=minor, gcnArchName=archs[0], multi_processor_count=1, total_memory=1 << 34
        )
        torch.backends.cuda.is_built = lambda: True
    cpp_extension: Any = import_module("torch.utils.cpp_extension")

    def write_ninja_file(*_: object, **given: Any) -> None:
        for source in given["sources"]:
            if _language(source) == "hip":
                arguments = [*(given["cuda_cflags"] or ()), *(given["cuda_post_cflags"] or ())]
            else:
                arguments = [*(given["cflags"] or ()), *(given["post_cflags"] or ())]
                if cpp_extension.IS_HIP_EXTENSION:
                    # PyTorch's own function adds these when it writes the file.
                    arguments += cpp_extension.COMMON_HIP_FLAGS
            recorder.command(source, _language(source), shlex.split(" ".join(arguments)))

    cpp_extension._write_ninja_file = write_ninja_file
    cpp_extension._run_ninja_build = lambda *_, **__: None
    cpp_extension._check_cuda_version = lambda *_, **__: None
    if not recorder.request.get("hipify", True):
        hipify: Any = import_module("torch.utils.hipify.hipify_python")
        hipify.hipify = lambda *_, **__: {}
    cpp_extension._import_module_from_library = lambda *_, **__: None
    cpp_extension.verify_ninja_availability = lambda: None
    cpp_extension.is_ninja_available = lambda: True


def _intercept(recorder: _Recorder) -> None:
    """Record instead of compiling in setuptools, and run no command but build_ext."""
    setuptools: Any = import_module("setuptools")
    build_ext = import_module("setuptools.command.build_ext").build_ext
    unix = import_module("distutils.unixccompiler").UnixCCompiler
    core: Any = import_module("distutils.core")

    def compile_one(
        self: Any, obj: str, src: str, ext: str, cc_args: list[str], extra_postargs: Any, pp_opts: list[str]
    ) -> None:
        by_language = {"hip": "nvcc", "c++": "cxx", "c": "cxx"}
        if isinstance(extra_postargs, dict):
            extra_postargs = extra_postargs.get(by_language[_language(src)], [])
        recorder.command(src, _language(src), [*self.compiler_so[1:], *cc_args, *extra_postargs])

    def build_extension(self: Any, extension: Any) -> None:
        recorder.extension = extension.name
        inplace, self.inplace = self.inplace, True
        recorder.modules[extension.name] = str(Path(self.get_ext_fullpath(extension.name)).resolve())
        self.inplace = inplace
        original(self, extension)

    def setup(**attributes: Any) -> Any:
        # It would install packages.
        attributes.pop("setup_requires", None)
        distribution = setuptools.dist.Distribution(attributes)
        distribution.script_name = sys.argv[0]
        with contextlib.suppress(Exception):
            distribution.parse_config_files()
        if distribution.ext_modules:
            recorder.declared += [extension.name for extension in distribution.ext_modules]
            # Invalid metadata does not matter here.
            with contextlib.suppress(Exception):
                about = io.StringIO()
                distribution.metadata.write_pkg_file(about)
                recorder.about[distribution.get_name()] = about.getvalue()
            command = distribution.get_command_obj("build_ext")
            # A source above the folder, `../x.cu`, has its object above this one.
            command.build_temp = str(Path(recorder.request["scratch"], *["below"] * 16))
            command.build_lib = recorder.request["scratch"]
            command.force = True
            command.ensure_finalized()
            command.run()
        return distribution

    original = build_ext.build_extension
    build_ext.build_extension = build_extension
    unix._compile = compile_one
    unix.link = lambda *_, **__: None
    for name in (".cu", ".cuh", ".hip"):
        if name not in unix.src_extensions:
            unix.src_extensions = [*unix.src_extensions, name]
    setuptools.setup = core.setup = setup


def _setup_script(recorder: _Recorder) -> None:
    script = Path(recorder.request["script"]).resolve()
    sys.argv = [script.name, "build_ext"]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    if not recorder.declared:
        raise RuntimeError("it declares no extension")


def _extension(recorder: _Recorder) -> None:
    """Build an extension of the given sources, of which only include folders are known."""
    cpp_extension = import_module("torch.utils.cpp_extension")
    extension = cpp_extension.CUDAExtension(
        recorder.request["name"], recorder.request["sources"], include_dirs=recorder.request["include_dirs"]
    )
    import_module("setuptools").setup(
        name="extension", ext_modules=[extension], cmdclass={"build_ext": cpp_extension.BuildExtension}
    )


def _just_in_time(recorder: _Recorder) -> None:
    """Do what `torch.utils.cpp_extension.load` or `load_inline` does."""
    recorder.extension = recorder.request["arguments"]["name"]
    if hooks := recorder.request.get("hooks"):
        exec(compile(hooks, recorder.request["script"], "exec"), {"__file__": recorder.request["script"]})
    function = getattr(import_module("torch.utils.cpp_extension"), recorder.request["function"])
    function(**{**recorder.request["arguments"], "build_directory": recorder.request["scratch"], "verbose": False})


_KINDS: dict[str, Callable[[_Recorder], None]] = {
    "setup": _setup_script,
    "extension": _extension,
    "jit": _just_in_time,
}


def main(path: str) -> None:
    """Execute the request in the file `path`."""
    request = json.loads(Path(path).read_text(encoding="utf-8"))
    recorder = _Recorder(request)
    Path(request["scratch"]).mkdir(parents=True, exist_ok=True)
    error = ""
    try:
        # A real stream, because build scripts reconfigure theirs, or ask for its file descriptor.
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            _pretend(recorder)
            _intercept(recorder)
            _KINDS[request["kind"]](recorder)
    except SystemExit as stopped:
        if stopped.code:
            error = f"it stopped with {stopped.code}"
    except BaseException as failure:
        frames = [frame for frame in traceback.extract_tb(failure.__traceback__) if request["tree"] in frame.filename]
        where = (
            f" ({os.path.relpath(frames[-1].filename, request['tree'])}, line {frames[-1].lineno})" if frames else ""
        )
        error = f"{type(failure).__name__}: {failure}{where}"
    hipify = sys.modules.get("torch.utils.hipify.hipify_python")
    results = hipify.HIPIFY_FINAL_RESULT if hipify else {}
    # PyTorch before 2.0 has dicts.
    made = {
        name: result["hipified_path"] if isinstance(result, dict) else result.hipified_path
        for name, result in results.items()
    }
    python_h = Path(sysconfig.get_path("include"), "Python.h")
    answer = {
        "commands": recorder.commands,
        "modules": recorder.modules,
        "renamed": {name: path for name, path in made.items() if path not in (None, name)},
        "about": recorder.about,
        "error": error,
        "missing": "" if python_h.exists() else str(python_h),
    }
    Path(request["output"]).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    # This folder, so that a setup.py does not import its modules.
    del sys.path[0]
    main(sys.argv[1])

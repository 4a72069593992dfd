# SPDX-License-Identifier: Apache-2.0
"""The headers that only a PyTorch for ROCm has, for use with another PyTorch.

Compiling an extension for ROCm needs `ATen/hip`, `c10/hip` and the like. PyTorch generates them from its CUDA headers
with its own hipify, and every PyTorch wheel has both. So they are generated here, once for each PyTorch, in a separate
folder that precedes PyTorch's include folder. They serve only for compiling, not for linking or running.

Which headers are converted follows `includes` of PyTorch's tools/amd_build/build_amd.py, as of release 2.13.

This file is also run as a script, by the interpreter that has PyTorch: it must not need hipport.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

# Folders of the include tree whose headers are converted under another name, and the folder that is converted in place.
_RENAMED = (
    "ATen/cuda",
    "ATen/cudnn",
    "ATen/native/cuda",
    "ATen/native/cudnn",
    "ATen/native/nested/cuda",
    "ATen/native/quantized/cuda",
    "ATen/native/quantized/cudnn",
    "ATen/native/sparse/cuda",
    "ATen/native/transformers/cuda",
    "c10/cuda",
)
_IN_PLACE = "torch"
_HEADERS = (".h", ".cuh", ".hpp")

# CMake generates these when PyTorch is built; only builds for a GPU ship them. The second is that of a ROCm build.
_WRITTEN_BY_CMAKE = {
    "c10/hip/impl/hip_cmake_macros.h": "#define C10_CUDA_BUILD_SHARED_LIBS\n",
    "ATen/hip/HIPConfig.h": (
        "#define AT_CUDNN_ENABLED() 0\n#define AT_CUSPARSELT_ENABLED() 0\n#define AT_HIPSPARSELT_ENABLED() 1\n"
        '#define AT_ROCM_ENABLED() 1\n#define AT_MAGMA_ENABLED() 1\n#define NVCC_FLAGS_EXTRA ""\n'
    ),
}


class NoOverlay(Exception):
    """The headers could not be generated. The message says why."""


def overlay(python: Path, include: Path, cache: Path) -> Path:
    """Return the folder of converted headers for the PyTorch headers in `include`, generating it if necessary.

    `python` is the interpreter of this PyTorch. Raises NoOverlay. Several processes may call it at the same time: one
    creates the folder, completely or not at all.
    """
    torch = include.parent
    made_from = hashlib.sha256(Path(__file__).read_bytes())
    for name in ("version.py", "utils/hipify/version.py", "utils/hipify/cuda_to_hip_mappings.py"):
        file = torch / name
        made_from.update(file.read_bytes() if file.is_file() else b"")
    made_from.update(os.fsencode(include))
    folder = cache / "torch-headers" / made_from.hexdigest()[:24]
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        command = [str(python.absolute()), str(Path(__file__).resolve()), str(include), str(partial)]
        done = subprocess.run(command, cwd="/", capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            shutil.rmtree(partial, ignore_errors=True)
            raise NoOverlay(f"PyTorch's hipify failed on PyTorch's headers: {said[-1] if said else 'no message'}")
        partial.rename(folder)
    return folder


def _make(include: Path, folder: Path) -> None:
    """Convert the headers of `include` into `folder`, in this process."""
    # Without importing PyTorch, which is slow and may need libraries that are missing here.
    sys.path.insert(0, str(include.parent / "utils"))
    hipify_python = import_module("hipify.hipify_python")
    # The older hipify depends on the layout of PyTorch's source tree.
    tree = folder / "tree"
    aten = tree / "aten/src"
    text = re.compile(rb"cuda|cudnn|cublas|cufft|curand|cusparse|cusolver|nccl|nvrtc|nvtx|\bcub\b", re.IGNORECASE)
    for path in include.rglob("*"):
        name = path.relative_to(include).as_posix()
        # A renamed header is included by its new name, even if nothing in it was converted.
        renamed = name.startswith(tuple(f"{each}/" for each in _RENAMED))
        if path.suffix in _HEADERS and (
            renamed or (name.startswith(f"{_IN_PLACE}/") and text.search(path.read_bytes()))
        ):
            copy = (aten if name.startswith("ATen/") else tree) / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        results = hipify_python.hipify(
            project_directory=str(tree),
            output_directory=str(tree),
            includes=[str(tree / "*")],
            extensions=_HEADERS,
            show_progress=False,
            hip_clang_launch=True,
            is_pytorch_extension=False,
        )
    for result in results.values():
        # PyTorch before 2.0 has dicts.
        path = result["hipified_path"] if isinstance(result, dict) else result.hipified_path
        if path is not None:
            made = Path(path)
            place = folder / made.relative_to(aten if made.is_relative_to(aten) else tree)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made, place)
    shutil.rmtree(tree)
    for name, text_of in _WRITTEN_BY_CMAKE.items():
        written = folder / name
        # The result for a CUDA build says that there is cuDNN and no ROCm.
        if name.endswith("Config.h") or not written.exists():
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(f"#pragma once\n{text_of}")


if __name__ == "__main__":
    # This folder, so that no module is imported from it.
    del sys.path[0]
    _make(Path(sys.argv[1]), Path(sys.argv[2]))

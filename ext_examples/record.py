# SPDX-License-Identifier: Apache-2.0
"""Build the examples unchanged and record the results of their cases on the NVIDIA GPU of this machine.

    python ext_examples/record.py [EXAMPLE...]

Needs a CUDA PyTorch, nvcc and a GPU. Writes `recorded.npz` and `recorded.json` beside each example's `cases.py`; an
example whose outputs do not agree with its own reference is not recorded. README.md describes `cases.py`.
Imported, it needs only NumPy: others read cases and recordings with its functions.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent


def examples() -> list[str]:
    """Return the names of the examples: the folders here that have cases."""
    return sorted(path.parent.name for path in HERE.glob("*/cases.py"))


def load_cases(example: str) -> ModuleType:
    """Import the example's cases.py without its package."""
    spec = importlib.util.spec_from_file_location(f"cases_of_{example}", HERE / example / "cases.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def inputs_of(cases: ModuleType, case: str) -> dict[str, Any]:
    """Return the case's inputs; the seed is the CRC-32 of its name."""
    rng = np.random.default_rng(zlib.crc32(case.encode()))
    inputs: dict[str, Any] = cases.inputs(rng, **cases.CASES[case])
    return inputs


def checksum(inputs: Mapping[str, Any]) -> int:
    """Return the CRC-32 of the bytes of all arrays, to notice inputs that differ from a recording's."""
    crc = 0
    for name in sorted(inputs):
        value = inputs[name]
        data = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        crc = zlib.crc32(data, zlib.crc32(name.encode(), crc))
    return crc


def difference(output: Any, expected: Any, tolerance: tuple[float, float] | None) -> str:
    """Return how two arrays differ; empty if they do not.

    `tolerance` is (relative, absolute) as in `numpy.allclose`; None requires equal values of equal types. NaN equals
    NaN.
    """
    output, expected = np.asarray(output), np.asarray(expected)
    if output.shape != expected.shape:
        return f"shape {output.shape}, not {expected.shape}"
    if tolerance is None and output.dtype != expected.dtype:
        return f"type {output.dtype}, not {expected.dtype}"
    relative, absolute = tolerance or (0.0, 0.0)
    if np.issubdtype(output.dtype, np.floating):
        close = np.isclose(output.astype("float64"), expected.astype("float64"), relative, absolute, equal_nan=True)
    else:
        close = output == expected
    if close.all():
        return ""
    worst = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"{int((~close).sum())} of {close.size} values differ, first at {worst}: {output[worst]}, not {expected[worst]}"


# Flags of such scripts that CUDA 13 and current PyTorch no longer accept.
def _current_flags(flags: list[str], left_out: list[str]) -> list[str]:
    kept: list[str] = []
    after_gencode = False
    for flag in flags:
        if after_gencode or flag.startswith("-gencode") or flag == "-std=c++14":
            left_out.append(flag)
        else:
            kept.append(flag)
        after_gencode = flag == "-gencode"
    return kept


def _build_here() -> None:
    """Run setup.py of the working folder, build in place, and print the flags that were left out as the last line."""
    import setuptools

    left_out: list[str] = []
    setup = setuptools.setup

    def current_setup(**arguments: Any) -> None:
        for extension in arguments["ext_modules"]:
            for kind, flags in extension.extra_compile_args.items():
                extension.extra_compile_args[kind] = _current_flags(flags, left_out)
        setup(**arguments)

    setuptools.setup = current_setup
    sys.argv = ["setup.py", "build_ext", "--inplace"]
    runpy.run_path("setup.py", run_name="__main__")
    print(json.dumps(sorted(set(left_out))))


def _run(example: str, folder: Path, about: dict[str, Any]) -> list[str]:
    import torch

    cases = load_cases(example)
    sys.path.insert(0, str(folder))
    package = importlib.import_module(cases.PACKAGE)
    arrays: dict[str, Any] = {}
    checksums: dict[str, int] = {}
    problems: list[str] = []
    for case, parameters in cases.CASES.items():
        inputs = inputs_of(cases, case)
        on_device = {k: torch.from_numpy(v).cuda() if isinstance(v, np.ndarray) else v for k, v in inputs.items()}
        outputs = {k: v.detach().cpu().numpy() for k, v in cases.call(package, **on_device).items()}
        expected = cases.reference(**inputs)
        tolerance = cases.tolerance(**parameters)
        if set(outputs) != set(expected):
            problems.append(f"{case}: outputs {sorted(outputs)}, not {sorted(expected)}")
        for name in sorted(set(outputs) & set(expected)):
            problem = difference(outputs[name], expected[name], tolerance.get(name))
            if problem:
                problems.append(f"{case}: {name}: {problem}")
        arrays |= {f"{case}/{name}": value for name, value in outputs.items()}
        checksums[case] = checksum(inputs)
    if not problems:
        np.savez_compressed(HERE / example / "recorded.npz", **arrays)
        about = {**about, "inputs": checksums}
        (HERE / example / "recorded.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    return problems


def _record(names: list[str]) -> int:
    import torch

    about = {
        "gpu": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        builds = {}
        for name in names:
            folder = Path(scratch, name)
            shutil.copytree(HERE / name, folder)
            builds[name] = subprocess.Popen(
                [sys.executable, __file__, "--build"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        for name, build in builds.items():
            said, _ = build.communicate()
            if build.returncode:
                print(f"{name}: does not build\n{said}")
                failed += 1
                continue
            left_out = json.loads(said.splitlines()[-1])
            problems = _run(name, Path(scratch, name), {**about, "flags_left_out": left_out})
            failed += bool(problems)
            print(f"{name}: " + ("\n  ".join(["not recorded", *problems]) if problems else "recorded"))
    return min(failed, 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("example", nargs="*", help=f"default: all, which are {', '.join(examples())}")
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.build:
        _build_here()
        return 0
    unknown = set(arguments.example) - set(examples())
    if unknown:
        parser.error(f"no such example: {', '.join(sorted(unknown))}")
    os.environ.setdefault("MAX_JOBS", "4")
    return _record(arguments.example or examples())


if __name__ == "__main__":
    sys.exit(main())

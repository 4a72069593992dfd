# SPDX-License-Identifier: Apache-2.0
"""Run the cases of an extension in every configuration, and compare their outputs.

A script, run in a child process by the interpreter that has PyTorch; it must not need hipport. Its argument is the
request, a JSON file (written by `extension_verifier.py`); the answer goes to the file that the request names.

PyTorch is loaded once. Each configuration has its own process, forked from this one before any extension is loaded,
with limits on time and memory. If such a process ends early (a fault of the executor, a crash, a timeout), that is the
outcome of the current case; another process continues with the next case.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

#: The exit status of a process in which the executor found a fault.
FAULT = 97


def _load(path: str, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


numpy: Any = importlib.import_module("numpy")
torch: Any = importlib.import_module("torch")
pretend_gpu, arrays = (
    _load(str(Path(__file__).with_name(f"{name}.py")), f"hipport_{name}") for name in ("pretend_gpu", "compare_arrays")
)


def inputs_of(cases: Any, case: str) -> dict[str, Any]:
    """Return the inputs of a case; the seed is the CRC-32 of its name."""
    rng = numpy.random.default_rng(zlib.crc32(case.encode()))
    inputs: dict[str, Any] = cases.inputs(rng, **cases.CASES[case])
    return inputs


def _check(cases: Any, asked: Iterable[str] = ()) -> None:
    """Raise TypeError, with an explanation, for names of a cases.py that have a wrong type.

    ValueError if there is nothing to run: no case at all, or none of those that were `asked` for.
    """
    if not isinstance(cases.CASES, dict) or not all(isinstance(each, dict) for each in cases.CASES.values()):
        raise TypeError("CASES must be a dict: the name of each case -> a dict of parameters of inputs()")
    gradients = getattr(cases, "GRADIENTS", {})
    if not isinstance(gradients, dict) or not all(
        isinstance(each, tuple | list) and len(each) == 3 for each in gradients.values()
    ):
        raise TypeError(
            "GRADIENTS must be a dict: the output that is a gradient -> (the output that it is the gradient of, "
            "the input that weights that output or None, the input that it is the derivative by)"
        )
    unknown = sorted(set(getattr(cases, "GRADIENT_CASES", ())) - set(cases.CASES))
    if unknown:
        raise ValueError(f"GRADIENT_CASES has names that CASES does not have: {', '.join(map(str, unknown))}")
    if not cases.CASES:
        raise ValueError("CASES is empty, so nothing would run; add a case")
    if missing := [name for name in asked if name not in cases.CASES]:
        raise ValueError(f"there is no case {', '.join(missing)}; CASES has {', '.join(map(str, cases.CASES))}")


def checksum(inputs: Mapping[str, Any]) -> int:
    """Return the CRC-32 of all arrays, which recordings contain."""
    crc = 0
    for name in sorted(inputs):
        value = inputs[name]
        array = isinstance(value, numpy.ndarray)
        data = numpy.ascontiguousarray(value).tobytes() if array else repr(value).encode()
        crc = zlib.crc32(data, zlib.crc32(name.encode(), crc))
    return crc


def _on_device(value: Any, device: str = "cpu") -> Any:
    if not isinstance(value, numpy.ndarray):
        return value
    # A copy, which has a guard page behind it, unlike NumPy's memory.
    return torch.from_numpy(value).clone() if device == "cpu" else torch.from_numpy(value).to(device)


def _array(value: Any) -> Any:
    """A tensor as an array; types that NumPy lacks, such as bfloat16, become 32 bits."""
    if not isinstance(value, torch.Tensor):
        return numpy.asarray(value)
    value = value.detach().cpu()
    if value.is_floating_point() and not hasattr(numpy, arrays.type_of(value)):
        value = value.float()
    return value.resolve_conj().resolve_neg().numpy()


# --- Running ----------------------------------------------------------------------------------------------------------


def _end_with_parent() -> None:
    """End with the parent: a process in its own session would outlive hipport (prctl(2), PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _run_child(request: Mapping[str, Any], run: Mapping[str, Any], names: list[str], folder: Path, say: int) -> None:
    """In a separate process: run cases, and report each through the pipe `say`."""
    os.setsid()
    _end_with_parent()
    said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    if request.get("memory"):
        resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.update(run["env"])
    side = request["sides"][run["side"]]
    torch.set_num_threads(1)
    launches: Any = int
    for library in side["libraries"]:
        loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        launches = getattr(loaded, "simt_launches", launches)
    if side["allocator"]:
        ctypes.CDLL(side["allocator"], mode=ctypes.RTLD_GLOBAL).simt_guard_tensors()
    sys.path[:0] = side["paths"]
    lanes = int(run["env"].get("SIMT_WAVE", "32"))
    pretended = side["dialect"] in ("cuda", "hip")
    device = side.get("device", "cpu")
    with pretend_gpu.gpu(side["dialect"], lanes, side["modules"]) if pretended else contextlib.nullcontext():
        cases: Any = _load(request["cases"], "hipport_cases")
        package = importlib.import_module(cases.PACKAGE)
        _tell(say, "ready")
        for name in names:
            _tell(say, f"start {name}")
            start, before = time.monotonic(), launches()
            try:
                outputs, types = _one(cases, package, name, device)
                if run.get("gradients"):
                    slopes = _slopes(cases, package, name, device)
                    numpy.savez(folder / f"{_file(name)}.slopes.npz", **slopes)
                numpy.savez(folder / f"{_file(name)}.npz", **outputs)
            except Exception as error:
                frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
                where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
                text = str(error).partition("\nException raised from")[0].strip()
                _tell(say, "error " + json.dumps([name, f"{type(error).__name__}: {text}{where}"]))
            else:
                launched = launches() - before if side["dialect"] != "gpu" else None
                _tell(say, f"end {json.dumps([name, time.monotonic() - start, launched, types])}")
    _tell(say, "done")


def _one(cases: Any, package: Any, name: str, device: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Run a case; return its outputs as arrays, and their types."""
    arguments = {key: _on_device(value, device) for key, value in inputs_of(cases, name).items()}
    outputs = cases.call(package, **arguments)
    found = {key: _array(value) for key, value in outputs.items()}
    for key, array in found.items():
        # None if a tensor has no gradient; or a list of tensors.
        if array.dtype == object:
            raise TypeError(f"call() must return tensors and numbers, but {key} is {outputs[key]!r:.60}")
    types = {
        key: arrays.type_of(value if isinstance(value, torch.Tensor) else found[key]) for key, value in outputs.items()
    }
    return found, types


def _slopes(cases: Any, package: Any, name: str, device: str) -> dict[str, Any]:
    """Gradients by central differences, at a few places of each input that the cases name in GRADIENTS.

    GRADIENTS is {gradient: (output, weight, input)}: the output called `gradient` is the gradient with respect to the
    input `input` of the sum of `output` times the input `weight` (None: plain sum). GRADIENT_CASES, if it exists, names
    the cases that are small and smooth enough.
    """
    slopes: dict[str, Any] = {}
    if name not in getattr(cases, "GRADIENT_CASES", cases.CASES):
        return slopes
    given = inputs_of(cases, name)
    for gradient, (output, weight, by) in getattr(cases, "GRADIENTS", {}).items():
        if by not in given or not numpy.issubdtype(given[by].dtype, numpy.floating) or not given[by].size:
            continue
        if given[by].dtype.itemsize < 4 or not numpy.isfinite(given[by]).all():
            continue
        step = 1e-6 if given[by].dtype == numpy.float64 else 1e-2
        places = numpy.random.default_rng(0).choice(given[by].size, min(12, given[by].size), replace=False)
        found = []
        for place in places:
            ends = []
            for sign in (1, -1):
                moved = {
                    key: value.copy() if isinstance(value, numpy.ndarray) else value for key, value in given.items()
                }
                moved[by].flat[place] += sign * step
                outputs = cases.call(package, **{key: _on_device(value, device) for key, value in moved.items()})
                if output not in outputs or gradient not in outputs:
                    break
                values = _array(outputs[output]).astype("float64")
                ends.append((float((values * (moved[weight] if weight else 1)).sum()), float(moved[by].flat[place])))
            if len(ends) == 2:
                found.append((ends[0][0] - ends[1][0]) / (ends[0][1] - ends[1][1]))
        # A sum that is not finite has no gradient.
        if len(found) == len(places) and numpy.isfinite(found).all():
            slopes[f"{gradient}/places"] = places
            slopes[f"{gradient}/values"] = numpy.asarray(found)
    return slopes


def _tell(pipe: int, line: str) -> None:
    os.write(pipe, (line + "\n").encode())


def _file(case: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):02x}" for c in case)


def _run(request: Mapping[str, Any], run: Mapping[str, Any], names: list[str], folder: Path) -> dict[str, Any]:
    """Run cases in one configuration, in as many processes as necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    left = list(names)
    while left:
        report = folder / "report"
        report.unlink(missing_ok=True)
        (folder / "said").unlink(missing_ok=True)
        env = {**run["env"], "SIMT_REPORT": str(report)}
        if request.get("trace"):
            env["SIMT_TRACE"] = str(folder / "trace")
            (folder / "trace").unlink(missing_ok=True)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            failed = 1
            try:
                _run_child(request, {**run, "env": env}, left, folder, write)
                failed = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(failed)
        os.close(write)
        current, status, seen = _watch(read, child, request, results, report)
        os.close(read)
        said = (folder / "said").read_text(errors="replace") if (folder / "said").exists() else ""
        faults = _faults(report)[seen:]
        if current is None and status != 0:
            # It did not reach a case, and the others would not either.
            outcome = _outcome(status, said, faults)
            results.update({name: outcome for name in left if name not in results})
        elif current is not None:
            results[current] = _outcome(status, said, faults)
        left = [name for name in left if name not in results]
    return results


def _watch(
    read: int, child: int, request: Mapping[str, Any], results: dict[str, Any], report: Path
) -> tuple[str | None, int | None, int]:
    """Follow a child; return the case during which it ended, if any, and its status (None: timeout).

    Also return the number of lines of its `report` that belong to completed cases.
    """
    current: str | None = None
    seen = 0
    rest = b""
    limit = request["seconds"] * 3  # while it loads modules
    ready = False
    while True:
        readable, _, _ = select.select([read], [], [], limit)
        if not readable:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return current, None, seen
        data = os.read(read, 65536)
        if not data:
            _, status = os.waitpid(child, 0)
            return current, os.waitstatus_to_exitcode(status), seen
        rest += data
        *lines, rest = rest.split(b"\n")
        for line in lines:
            word, _, text = line.decode().partition(" ")
            if word == "ready":
                ready = True
            elif word == "start":
                current = text
            elif word == "end":
                name, seconds, launches, types = json.loads(text)
                said = _faults(report)
                results[name] = {"status": "ok", "seconds": seconds, "launches": launches, "types": types}
                results[name]["faults"] = said[seen:]
                current, seen = None, len(said)
            elif word == "error":
                name, message = json.loads(text)
                said = _faults(report)
                results[name] = {"status": "error", "message": message, "faults": said[seen:]}
                current, seen = None, len(said)
        if ready:
            limit = request["seconds"]


def _outcome(status: int | None, said: str, faults: list[dict[str, Any]]) -> dict[str, Any]:
    last = "\n".join(said.strip().splitlines()[-6:])
    if status is None:
        return {"status": "timeout", "message": "it did not end in time", "faults": faults}
    if status == FAULT:
        message = faults[-1]["message"] if faults else last
        return {"status": "fault", "message": message, "faults": faults}
    if status < 0:
        name = signal.Signals(-status).name
        return {"status": "crash", "message": f"{name}: {last}" if last else name, "faults": faults}
    return {"status": "crash", "message": last or f"the process ended with status {status}", "faults": faults}


def _faults(report: Path) -> list[dict[str, Any]]:
    try:
        lines = report.read_text(errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


# --- The whole --------------------------------------------------------------------------------------------------------


def _references(request: Mapping[str, Any], cases: Any, names: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """Return case → reference → outputs: those that the cases compute themselves, and recorded ones."""
    found: dict[str, Any] = {name: {} for name in names}
    unchecked = []
    recorded: dict[str, Any] = {}
    about: dict[str, Any] = {}
    if request.get("recorded"):
        with numpy.load(request["recorded"]) as kept:
            for key in kept.files:
                case, _, output = key.rpartition("/")
                recorded.setdefault(case, {})[output] = kept[key]
        about = json.loads(Path(request["recorded"]).with_suffix(".json").read_text())
    for name in found:
        if hasattr(cases, "reference"):
            found[name]["reference"] = {
                k: numpy.asarray(v) for k, v in cases.reference(**inputs_of(cases, name)).items()
            }
        if name in recorded:
            if about.get("inputs", {}).get(name) == checksum(inputs_of(cases, name)):
                found[name]["recorded"] = recorded[name]
            else:
                unchecked.append(f"{name}: its inputs differ from the recorded ones")
        elif request.get("recorded"):
            unchecked.append(f"{name}: nothing of it was recorded")
        if request.get("originals"):
            with contextlib.suppress(OSError), numpy.load(Path(request["originals"], f"{_file(name)}.npz")) as kept:
                found[name]["original"] = {key: kept[key] for key in kept.files}
    return found, unchecked


class _Case:
    """The references for the outputs of a case, by name, and their tolerances."""

    def __init__(self, cases: Any, name: str, references: Mapping[str, Mapping[str, Any]]) -> None:
        self.references = dict(references)
        self.tolerances = cases.tolerance(**cases.CASES[name]) if hasattr(cases, "tolerance") else None
        given = [value for value in inputs_of(cases, name).values() if isinstance(value, numpy.ndarray)]
        self.about = {
            "terms": max((value.size for value in given), default=1),
            "scale": max(map(arrays.largest, given), default=0.0),
        }
        cased = name in getattr(cases, "GRADIENT_CASES", cases.CASES)
        self.sloped = set(getattr(cases, "GRADIENTS", {})) if cased else set()
        #: The types of the original's outputs, and their differences in other orders of its threads.
        self.types: dict[str, str] = {}
        self.spreads: dict[str, Any] = {}

    def compared(self, outputs: Mapping[str, Any], types: Mapping[str, str], side: str) -> dict[str, Any]:
        """Return output → reference → difference; an output that only one side has counts as a difference."""
        result: dict[str, Any] = {}
        for against, expected in self.references.items():
            for key in sorted({*outputs, *expected}):
                # A reference need not contain gradients that finite differences check.
                if against == "reference" and key in self.sloped - set(expected):
                    continue
                difference: dict[str, Any] = {"absolute": 0.0, "relative": 0.0, "where": None, "count": 0, "size": 0}
                if key not in outputs or key not in expected:
                    why = "there is no such output" if key not in outputs else f"{against} has no such output"
                    difference["why"] = why
                elif against == "original" and types.get(key) != self.types.get(key, types.get(key)):
                    difference["why"] = f"type {types[key]}, not {self.types[key]}"
                else:
                    tolerance = self.tolerance(key, types.get(key, ""), expected[key], against, side)
                    difference = arrays.compare(outputs[key], expected[key], tolerance)
                result.setdefault(key, {})[against] = difference
        return result

    def tolerance(self, key: str, kind: str, expected: Any, against: str, side: str) -> Any:
        """Return the tolerance of an output for an expected value."""
        of_case = self.tolerances is not None
        given = self.tolerances.get(key) if self.tolerances is not None else None
        there = self.types.get(key, kind) if against == "original" else str(expected.dtype)
        spread = self.spreads.get(key) if against == "original" and side != "original" else None
        # Sums in the order of threads differ in each run; others have the order of the code.
        by_order = side == "original" or (spread is not None and spread.any())
        same_code = against == "original" and side != "gpu" and not by_order
        found = arrays.tolerance_for(given, (kind, there), expected, self.about, of_case=of_case, same_code=same_code)
        return arrays.with_spread(found, spread)

    def keep_original(self, outputs: Mapping[str, Any], types: Mapping[str, str]) -> None:
        """Keep the original's first outputs; for later runs, their differences from these, if allowed."""
        first = self.references.get("original")
        if first is None:
            self.references["original"], self.types = outputs, dict(types)
            return
        for key, values in outputs.items():
            if (
                key not in first
                or values.shape != first[key].shape
                or not numpy.issubdtype(values.dtype, numpy.inexact)
            ):
                continue
            tolerance = self.tolerance(key, types[key], first[key], "original", "original")
            if not arrays.compare(values, first[key], tolerance)["why"]:
                spread = arrays.spread_of(values, first[key])
                self.spreads[key] = numpy.maximum(self.spreads.get(key, 0.0), spread)


def _checked_slopes(cases: Any, outputs: Mapping[str, Any], path: Path) -> dict[str, Any]:
    result = {}
    with numpy.load(path) as slopes:
        for key in slopes.files:
            gradient, _, what = key.rpartition("/")
            if what != "values" or gradient not in outputs:
                continue
            places, expected = slopes[f"{gradient}/places"], slopes[key]
            given = numpy.asarray(outputs[gradient]).flatten()[places]
            relative = 1e-5 if given.dtype == numpy.float64 else 2e-2
            scale = float(numpy.abs(outputs[gradient]).max(initial=0))
            tolerance = arrays.ArrayTolerance(
                relative, relative * max(scale, 1e-3), "finite differences, which are coarse"
            )
            own = (tolerance.relative, tolerance.absolute)
            difference = arrays.compare(given, expected, tolerance._replace(own=own))
            result[gradient] = {"differences": difference}
    return result


def main(path: str) -> None:
    """Execute the request in the file `path`."""
    request = json.loads(Path(path).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    cases: Any = _load(request["cases"], "hipport_cases")
    try:
        _check(cases, request.get("names") or ())
    except (TypeError, ValueError) as wrong:
        sys.exit(str(wrong))
    names = [name for name in cases.CASES if not request.get("names") or name in request["names"]]
    folder = Path(request["folder"])
    references, unchecked = _references(request, cases, names)
    about = {name: _Case(cases, name, references[name]) for name in names}
    answer: list[dict[str, Any]] = []
    for number, run in enumerate(request["runs"]):
        place = folder / str(number)
        results = _run(request, run, names, place)
        for name in names:
            result = results[name]
            if result["status"] != "ok":
                continue
            with numpy.load(place / f"{_file(name)}.npz") as kept:
                outputs = {key: kept[key] for key in kept.files}
            types = result.pop("types")
            result["outputs"] = about[name].compared(outputs, types, run["side"])
            result["shapes"] = {key: [types[key], list(value.shape)] for key, value in outputs.items()}
            slopes = place / f"{_file(name)}.slopes.npz"
            if slopes.exists():
                for gradient, checked in _checked_slopes(cases, outputs, slopes).items():
                    result["outputs"].setdefault(gradient, {}).update(checked)
            # Later runs are compared with the first one.
            if run.get("is_reference") or (run["side"] == "original" and "original" in about[name].references):
                about[name].keep_original(outputs, types)
        answer.append({"name": run["name"], "cases": results})
    Path(request["output"]).write_text(
        json.dumps({"runs": answer, "not_checked": unchecked, "cases": names}), encoding="utf-8"
    )


if __name__ == "__main__":
    # This folder, so that an extension's package does not import its modules.
    del sys.path[0]
    _end_with_parent()
    main(sys.argv[1])

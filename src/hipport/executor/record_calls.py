# SPDX-License-Identifier: Apache-2.0
"""Record the arguments and results of an extension's functions, in another program's process.

`hipport record -- python train.py` runs the command with this file as `sitecustomize.py` on its path. Environment
variables control it: HIPPORT_RECORD, the file to write (arrays go beside it, as .npz); HIPPORT_RECORD_MODULES, names of
extension modules separated by `:` (empty: all that are not part of Python, PyTorch or NumPy); HIPPORT_RECORD_CALLS, the
maximum number of calls of each function, and HIPPORT_RECORD_BYTES, the maximum size of one call.

The functions of a module are replaced when it is imported. Bytes that one function leaves for another, as rasterizers
pass scratch memory from forward to backward, are recognized by their contents: they have no meaning of their own, so a
replay passes on what the port left there, and does not compare it. Calls with arguments other than tensors, numbers,
strings or lists of these are skipped and counted. Operators that are called as `torch.ops.…` are not seen.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO, Any

_NOT = ("torch", "numpy", "scipy", "pandas", "PIL", "triton", "functorch", "torchgen")


class NotRecordable(Exception):
    """A value that a recording cannot hold."""


class Recording:
    """The calls so far."""

    def __init__(self, file: Path, calls: int, most: int) -> None:
        self.file, self.calls, self.most = file, calls, most
        self.made: list[dict[str, Any]] = []
        self.left_out: dict[str, str] = {}
        self.arrays: dict[str, Any] = {}
        self.counts: dict[str, int] = {}
        self.busy = False
        #: Outputs of bytes: module, shape and contents → the first call that returned them, and the name of the output.
        self.bytes: dict[tuple[str, tuple[int, ...], bytes], tuple[str, str]] = {}
        #: Those of them that another function took as argument, by their call.
        self.scratch: dict[str, set[str]] = {}

    def wrap(self, module: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that records the first calls of another."""

        @functools.wraps(function, assigned=("__name__", "__doc__"))
        def recorded(*arguments: Any, **named: Any) -> Any:
            full = f"{module}.{name}"
            count = self.counts.get(full, 0)
            if self.busy or count >= self.calls:
                return function(*arguments, **named)
            self.counts[full] = count + 1
            self.busy = True
            try:
                return self._call(module, name, f"{full}#{count}", function, arguments, named)
            finally:
                self.busy = False

        return recorded

    def _call(self, module: str, name: str, call: str, function: Callable[..., Any], arguments: Any, named: Any) -> Any:
        arrays: dict[str, Any] = {}
        try:
            given = {str(n): each for n, each in enumerate(arguments)} | named
            forms = {key: self._form(each, f"{call}/in/{key}", arrays, module) for key, each in given.items()}
            if sum(array.nbytes for array in arrays.values()) > self.most:
                raise NotRecordable(f"it has more than {self.most} bytes")
        except NotRecordable as why:
            self.left_out[call] = str(why)
            return function(*arguments, **named)
        before = {key: _array(tensor) for key, tensor in _tensors([arguments, named], "after")}
        result = function(*arguments, **named)
        after = {
            key: array
            for key, tensor in _tensors([arguments, named], "after")
            if (array := _array(tensor)).tobytes() != before[key].tobytes()
        }
        outputs = {key: _array(value) for key, value in _tensors(result, "result")}
        for key, array in {**outputs, **after}.items():
            arrays[f"{call}/out/{key}"] = array
        for key, array in outputs.items():
            if array.dtype == "uint8" and array.size:
                self.bytes.setdefault((module, array.shape, _digest(array)), (call, key))
        self.arrays.update(arrays)
        self.made.append(
            {
                "name": call,
                "module": module,
                "function": name,
                "arguments": [forms[str(n)] for n in range(len(arguments))],
                "named": {key: forms[key] for key in named},
                "after": sorted(after),
            }
        )
        return result

    def _form(self, value: Any, key: str, arrays: dict[str, Any], module: str) -> list[Any]:
        torch: Any = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            arrays[key] = _array(value)
            contiguous = value.is_contiguous() or any(stride == 0 for stride in value.stride())
            strides = None if contiguous else list(value.stride())
            dtype = str(value.dtype).removeprefix("torch.")
            form: dict[str, Any] = {"key": key, "dtype": dtype, "shape": list(value.shape), "strides": strides}
            if dtype == "uint8" and arrays[key].size:
                source = self.bytes.get((module, arrays[key].shape, _digest(arrays[key])))
                if source is not None:
                    self.scratch.setdefault(source[0], set()).add(source[1])
                    form["from"] = source
            return ["tensor", form]
        if value is None or isinstance(value, (bool, int, float, str)):
            return ["value", value]
        if isinstance(value, (list, tuple)):
            kind = "list" if isinstance(value, list) else "tuple"
            return [kind, [self._form(each, f"{key}.{n}", arrays, module) for n, each in enumerate(value)]]
        if isinstance(value, dict) and all(isinstance(each, str) for each in value):
            return ["dict", {name: self._form(each, f"{key}.{name}", arrays, module) for name, each in value.items()}]
        if torch is not None and isinstance(value, torch.dtype):
            return ["dtype", str(value).removeprefix("torch.")]
        if torch is not None and isinstance(value, torch.device):
            return ["device", str(value)]
        raise NotRecordable(f"one of its arguments is a {type(value).__name__}")

    def save(self) -> None:
        """Write the recording."""
        numpy: Any = importlib.import_module("numpy")
        torch: Any = sys.modules.get("torch")
        gpu = torch.cuda.get_device_name() if torch is not None and torch.cuda.is_available() else ""
        about = {"gpu": gpu, "torch": str(torch.__version__) if torch else "", "python": sys.version.split()[0]}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        arrays, text = (self.file.with_suffix(f".{os.getpid()}.{kind}") for kind in ("npz", "json"))
        with _new(arrays) as file:
            numpy.savez_compressed(file, **self.arrays)
        scratch = {call: sorted(outputs) for call, outputs in self.scratch.items()}
        whole = {"about": about, "calls": self.made, "left_out": self.left_out, "scratch": scratch}
        with _new(text) as file:
            file.write((json.dumps(whole, indent=1) + "\n").encode())
        # Existing files are replaced, including a link that the program may have put there.
        arrays.replace(self.file.with_suffix(".npz"))
        text.replace(self.file)


def _new(path: Path) -> IO[bytes]:
    """Open a file that does not exist; a link counts as existing."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666), "wb")


def _digest(array: Any) -> bytes:
    return hashlib.sha256(array.tobytes()).digest()


def _array(value: Any) -> Any:
    if not hasattr(value, "detach"):
        return importlib.import_module("numpy").asarray(value)
    value = value.detach().cpu()
    if str(value.dtype) == "torch.bfloat16":
        value = value.float()
    # A copy, because the function may change it.
    return value.resolve_conj().resolve_neg().contiguous().clone().numpy()


def _tensors(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the tensors in a value, with their numbers as text, by their place in it."""
    if hasattr(value, "data_ptr") or (isinstance(value, (int, float, bool)) and path.startswith("result")):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _tensors(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            yield from _tensors(each, f"{path}.{number}")


def install(recording: Recording, modules: tuple[str, ...]) -> None:
    """Record the functions of extension modules that are imported from now on."""
    original = importlib.machinery.ExtensionFileLoader.exec_module
    own = tuple(str(Path(path).resolve()) for path in (sys.base_prefix,))

    def wanted(module: ModuleType) -> bool:
        if modules:
            return module.__name__ in modules
        if module.__name__.partition(".")[0] in _NOT:
            return False
        file = str(getattr(module, "__file__", "") or "")
        return not (file.startswith(own) and "site-packages" not in file)

    def exec_module(self: Any, module: ModuleType) -> None:
        original(self, module)
        if not wanted(module):
            return
        for name, value in list(vars(module).items()):
            # pybind11's functions are built-in functions of Python, nanobind's have their own type.
            if not name.startswith("__") and callable(value) and not isinstance(value, type):
                setattr(module, name, recording.wrap(module.__name__, name, value))

    importlib.machinery.ExtensionFileLoader.exec_module = exec_module  # type: ignore[method-assign]
    atexit.register(recording.save)


def main() -> None:
    """Do what the environment requests, if this file is `sitecustomize`."""
    file = os.environ.get("HIPPORT_RECORD")
    if file:
        names = tuple(name for name in os.environ.get("HIPPORT_RECORD_MODULES", "").split(":") if name)
        calls = int(os.environ.get("HIPPORT_RECORD_CALLS", "4"))
        install(Recording(Path(file), calls, int(os.environ.get("HIPPORT_RECORD_BYTES", str(64 << 20)))), names)


if __name__ in ("__main__", "sitecustomize"):
    main()

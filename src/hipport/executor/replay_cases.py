# SPDX-License-Identifier: Apache-2.0
"""Cases made from recorded calls: `extension_verifier.replay` runs them like any others.

Loaded by run_cases.py, in the child process; HIPPORT_REPLAY names the recording (see record_calls.py).
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RECORDING = Path(os.environ["HIPPORT_REPLAY"])
_WHOLE: dict[str, Any] = json.loads(_RECORDING.read_text())
_CALLS: dict[str, Any] = {each["name"]: each for each in _WHOLE["calls"]}
numpy: Any = importlib.import_module("numpy")
_ARRAYS: Any = numpy.load(_RECORDING.with_suffix(".npz"))

PACKAGE = os.environ["HIPPORT_REPLAY_MODULE"]
CASES: dict[str, dict[str, Any]] = {name: {"name": name} for name, call in _CALLS.items() if call["module"] == PACKAGE}


#: Outputs that hold bytes for another function, by the call that returns them; see record_calls.py.
_SCRATCH: dict[str, list[str]] = _WHOLE.get("scratch", {})
#: The results of calls in this process.
_given: dict[str, dict[str, Any]] = {}


def inputs(rng: Any, name: str) -> dict[str, Any]:
    """Return the arguments of a call that are arrays, and its description."""
    wanted = (key for key in _ARRAYS.files if key.startswith(f"{name}/in/"))
    return {"name": name, **{key: _ARRAYS[key] for key in wanted}}


def call(package: Any, name: str, **arrays: Any) -> dict[str, Any]:
    """Repeat the call; return its results, and the contents of its arguments afterwards.

    Scratch memory among its arguments is what the previous function left here.
    """
    torch: Any = importlib.import_module("torch")
    recorded = _CALLS[name]

    def value(form: Any) -> Any:
        kind, what = form
        if kind == "tensor":
            if what.get("from"):
                source, output = what["from"]
                if source not in _given:
                    own = inputs(None, source)
                    device = arrays[what["key"]].device
                    del own["name"]
                    call(package, source, **{key: torch.from_numpy(own[key]).to(device).clone() for key in own})
                return _given[source][output].clone()
            tensor = arrays[what["key"]]
            if what["dtype"] == "bfloat16":
                tensor = tensor.bfloat16()
            if what["strides"] is not None:
                strided = torch.empty_strided(
                    what["shape"], what["strides"], dtype=tensor.dtype, device=tensor.device
                )  # fmt: skip
                tensor = strided.copy_(tensor)
            return tensor
        if kind in ("list", "tuple"):
            return (list if kind == "list" else tuple)(value(each) for each in what)
        if kind == "dict":
            return {key: value(each) for key, each in what.items()}
        if kind == "dtype":
            return getattr(torch, what)
        return torch.device(what) if kind == "device" else what

    arguments = [value(each) for each in recorded["arguments"]]
    named = {key: value(each) for key, each in recorded["named"].items()}
    result = getattr(package, recorded["function"])(*arguments, **named)
    outputs = dict(_tensors(result, "result"))
    after = dict(_tensors([arguments, named], "after"))
    _given[name] = {key: outputs[key] for key in _SCRATCH.get(name, ())}
    kept = {key: tensor for key, tensor in outputs.items() if key not in _given[name]}
    return {**kept, **{key: tensor for key, tensor in after.items() if key in recorded["after"]}}


def reference(name: str, **_: Any) -> dict[str, Any]:
    """Return the recorded results of the call."""
    start = f"{name}/out/"
    found = {key.removeprefix(start): _ARRAYS[key] for key in _ARRAYS.files if key.startswith(start)}
    return {key: array for key, array in found.items() if key not in _SCRATCH.get(name, ())}


def _tensors(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the tensors in a value, with its numbers, by their place in it."""
    if hasattr(value, "data_ptr") or isinstance(value, (int, float, bool)):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _tensors(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value):
            yield from _tensors(each, f"{path}.{number}")

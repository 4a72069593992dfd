# SPDX-License-Identifier: Apache-2.0
"""Give Python code that asks PyTorch for a GPU the CPU instead, with tensors that report the device `cuda:0`.

Only for the process that runs an extension on the executor; it must not need hipport. Tensors of the executor are CPU
tensors. A mode of PyTorch's `__torch_function__` protocol maps devices in arguments and results, for calls from Python
on the thread that entered it; the functions of `torch.cuda` are replaced one by one.

Limits: every tensor reports the GPU, even one that was moved to the CPU, and `cuda()` does not copy. Code under
`torch.jit.script` and other Python threads see CPU tensors. CUDA generators give the CPU's numbers. cuBLAS, cuDNN,
graphs, peer access and memory statistics are missing or return nothing.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any

torch: Any = import_module("torch")
_TorchFunctionMode: Any = import_module("torch.overrides").TorchFunctionMode

_CPU = torch.device("cpu")
_GPU = torch.device("cuda", 0)


def _is_gpu(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type in ("cuda", "hip")
    return isinstance(value, str) and value.partition(":")[0] in ("cuda", "hip")


def _device(value: Any) -> Any:
    """Map a device argument. A number means a GPU."""
    number = isinstance(value, int) and not isinstance(value, bool)
    return _CPU if number or _is_gpu(value) else value


def _type_name(value: Any) -> Any:
    return value.replace("torch.cuda.", "torch.") if isinstance(value, str) else value


def _type(tensor: Any, dtype: Any = None, *arguments: Any, **named: Any) -> Any:
    if dtype is None:
        return torch.Tensor.type(tensor).replace("torch.", "torch.cuda.", 1)
    return torch.Tensor.type(tensor, _type_name(dtype), *arguments, **named)


def _to(tensor: Any, *arguments: Any, **named: Any) -> Any:
    first = arguments[0] if arguments else None
    if isinstance(first, (str, torch.device)) or (isinstance(first, int) and not isinstance(first, bool)):
        arguments = (_device(first), *arguments[1:])
    return torch.Tensor.to(tensor, *arguments, **_named(named))


def _named(named: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: _device(value) if name == "device" else value for name, value in named.items()}
    # Needs an accelerator.
    kept.pop("pin_memory", None)
    return kept


#: Replacements for methods and properties of tensors, by PyTorch's functions and property getters.
_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.is_cuda.__get__: lambda tensor: True,
    torch.Tensor.is_cpu.__get__: lambda tensor: False,
    torch.Tensor.device.__get__: lambda tensor: _GPU,
    torch.Tensor.get_device: lambda tensor: 0,
    torch.Tensor.cuda: lambda tensor, *_, **__: tensor,
    # A change of the copy in CPU memory must not be visible on the GPU.
    torch.Tensor.cpu: lambda tensor, *_, **__: tensor.clone(),
    torch.Tensor.pin_memory: lambda tensor, *_, **__: tensor,
    torch.Tensor.is_pinned: lambda tensor, *_, **__: True,
    torch.Tensor.record_stream: lambda tensor, stream: None,
    torch.Tensor.type: _type,
    torch.Tensor.to: _to,
}


class _Mode(_TorchFunctionMode):  # type: ignore[misc]  # PyTorch is not there when types are checked
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **named)
        if named:
            named = _named(named)
        return func(*(_CPU if isinstance(a, torch.device) and _is_gpu(a) else a for a in args), **named)


class _Stream:
    """A stream: all work is done when a call returns."""

    cuda_stream = 0
    stream_id = 0
    device = _GPU
    device_index = 0
    priority = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...
    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: Any) -> None: ...
    def synchronize(self) -> None: ...
    def wait_event(self, event: Any) -> None: ...
    def wait_stream(self, stream: Any) -> None: ...
    def query(self) -> bool:
        return True

    def record_event(self, event: Any = None) -> Any:
        event = event or _Event()
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Stream)

    def __hash__(self) -> int:
        return 0


class _Event:
    """An event, with this machine's clock."""

    cuda_event = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        self.at = time.perf_counter()

    def wait(self, stream: Any = None) -> None: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool:
        return True

    def elapsed_time(self, end: _Event) -> float:
        return (end.at - self.at) * 1e3


class _Device:
    """`torch.cuda.device(…)` and similar contexts, which do nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.idx = 0

    def __enter__(self) -> _Device:
        return self

    def __exit__(self, *_: Any) -> None: ...


def _cuda(dialect: str, lanes: int) -> dict[str, Any]:
    """Return replacements for the functions of `torch.cuda`."""
    name = "AMD Instinct" if dialect == "hip" else "NVIDIA A100"
    capability = (9, 4) if dialect == "hip" else (8, 0)
    properties = SimpleNamespace(
        name=f"{name} (hipport's executor)",
        major=capability[0],
        minor=capability[1],
        multi_processor_count=16,
        total_memory=16 << 30,
        warp_size=lanes,
        gcnArchName="gfx942" if lanes == 64 else "gfx1100",
        max_threads_per_multi_processor=2048,
        shared_memory_per_block=65536 if dialect == "hip" else 49152,
        is_integrated=False,
        is_multi_gpu_board=False,
    )
    zeros = (
        "memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached "
        "utilization temperature power_draw current_device"
    ).split()
    nothing = (
        "synchronize empty_cache ipc_collect reset_peak_memory_stats reset_max_memory_allocated set_device init "
        "_lazy_init set_stream reset_accumulated_memory_stats set_per_process_memory_fraction"
    ).split()
    return {
        **{each: lambda *_, **__: 0 for each in zeros},
        **{each: lambda *_, **__: None for each in nothing},
        "is_available": lambda: True,
        "_is_compiled": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "device_count": lambda: 1,
        "get_device_name": lambda device=None: properties.name,
        "get_device_capability": lambda device=None: capability,
        "get_device_properties": lambda device=None: properties,
        "get_arch_list": lambda: [properties.gcnArchName] if dialect == "hip" else ["sm_80"],
        "mem_get_info": lambda device=None: (8 << 30, 16 << 30),
        "memory_stats": lambda device=None: {},
        "current_stream": lambda device=None: _Stream(),
        "default_stream": lambda device=None: _Stream(),
        "stream": lambda stream=None: stream or contextlib.nullcontext(),
        "Stream": _Stream,
        "ExternalStream": _Stream,
        "Event": _Event,
        "device": _Device,
        "device_of": _Device,
        "manual_seed": torch.manual_seed,
        "manual_seed_all": torch.manual_seed,
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "set_rng_state": lambda state, device=None: torch.set_rng_state(state),
        "can_device_access_peer": lambda *_: False,
    }


@contextlib.contextmanager
def gpu(dialect: str, lanes: int, modules: Mapping[str, str]) -> Iterator[None]:
    """Pretend that there is a GPU, for the rest of the process and for this thread's code inside the context.

    `modules` are the existing extensions by name; `torch.utils.cpp_extension.load` returns these.
    """
    for name, value in _cuda(dialect, lanes).items():
        setattr(torch.cuda, name, value)
    torch.version.cuda = None if dialect == "hip" else "12.4"
    torch.version.hip = "6.4.3" if dialect == "hip" else None
    torch.backends.cuda.is_built = lambda: True
    torch.backends.cudnn.is_available = lambda: False
    for name in ("range_push", "range_pop", "mark"):
        setattr(torch.cuda.nvtx, name, lambda *_, **__: None)
    default_device, default_type, load = torch.set_default_device, torch.set_default_tensor_type, torch.load
    generator = torch.Generator
    torch.set_default_device = lambda device: default_device(_device(device))
    torch.set_default_tensor_type = lambda kind: default_type(_type_name(kind))
    torch.load = lambda *a, **k: load(*a, **{**k, "map_location": "cpu"})
    torch.Generator = lambda device="cpu": generator(_device(device))
    for name in ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Byte", "Char", "Bool"):
        setattr(torch.cuda, f"{name}Tensor", getattr(torch, f"{name}Tensor"))
    extensions: Any = import_module("torch.utils.cpp_extension")

    def built(name: str, *_: Any, **__: Any) -> Any:
        if name not in modules:
            raise ImportError(
                f"{name} was not built for the executor: it is not one of the extension's modules; give `load` one of "
                "their names"
            )
        return import_module(name)

    extensions.load = extensions.load_inline = built
    with _Mode():
        yield


def main() -> None:
    """Report whether this works here, to test the mode by itself."""
    with gpu("cuda", 32, {}):
        x = torch.ones(2, device="cuda").to("cuda:0").cuda()
        sys.stdout.write(f"{x.is_cuda} {x.device} {x.type()} {torch.zeros(1, device=x.device).cpu().sum().item()}\n")


if __name__ == "__main__":
    main()

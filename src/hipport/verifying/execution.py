# SPDX-License-Identifier: Apache-2.0
"""Options for compiling and running an original and its port: inputs, rights and configurations."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hipport.engine.knowledge import Knowledge
from hipport.engine.pipeline import Progress
from hipport.verifying.amd_gpus import Hardware
from hipport.verifying.results import Configuration

ORDERS = ("forward", "reverse", "random:1")
WAVES = (32, 64)


@dataclass(frozen=True)
class Limits:
    """The limits of one run: seconds, and bytes of address space of its process (0: no limit)."""

    seconds: float = 120.0
    memory: int = 24 << 30


@dataclass(frozen=True)
class Execution:
    """The options with which both sides are compiled and run.

    `env` is the environment, `python` the interpreter that has PyTorch, `jobs` the maximum number of concurrent
    compilers or runs.
    """

    env: Mapping[str, str]
    knowledge: Knowledge = field(default_factory=Knowledge)
    python: Path = Path(sys.executable)
    limits: Limits = Limits()
    jobs: int = 1
    on_progress: Callable[[Progress], None] | None = None

    def tell(self, name: str, done: int, total: int) -> None:
        """Report the progress of the run."""
        if self.on_progress is not None:
            self.on_progress(Progress(name, done, total))


@dataclass(frozen=True)
class Matrix:
    """The configurations: the original with 32 lanes and the port with each of `waves`, in each of `orders`.

    The port also runs on `gpu`, unless that is the reason why not; `gpu_python` is the interpreter with a PyTorch for
    ROCm, if it is not the one that extensions are built with.
    """

    waves: Sequence[int] = WAVES
    orders: Sequence[str] = ORDERS
    gpu: Hardware | str = "it was not asked for"
    gpu_python: Path | None = None

    def configurations(self, *, ported: bool) -> Iterator[Configuration]:
        """Yield the configurations on the CPU, the original's first."""
        yield from (Configuration("original", 32, order) for order in self.orders)
        if ported:
            yield from (Configuration("ported", lanes, order) for lanes in self.waves for order in self.orders)

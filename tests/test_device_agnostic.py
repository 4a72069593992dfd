# SPDX-License-Identifier: Apache-2.0
"""Programs made independent of the device do the same as before with a GPU, and run without one.

With a GPU they run against a PyTorch of a few lines that has two GPUs and records the device of each operation; without
one, against PyTorch's CPU build.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hipport import rewrite
from hipport.cli import main
from hipport.core.finding import Certainty
from hipport.engine.outcomes import Outcome, Ported
from hipport.program.project import Target
from hipport.workspace import config
from hipport_passes.python import device_agnostic

PROGRAMS = {
    "tensors": """
import torch

x = torch.ones(4, device="cuda")
y = torch.ones(4).cuda()
z = torch.zeros(4).to("cuda:0")
w = torch.zeros(4, device="cuda:0").cuda(0)
torch.cuda.synchronize()
note((x + y + z + w).sum().item())
for each in (x, y, z, w):
    note(str(each.device))
""",
    "current": """
import torch

torch.cuda.set_device(1)
a = torch.ones(2).cuda()
b = torch.ones(2, device="cuda")
c = torch.ones(2, device="cuda:0").cuda()
d = torch.ones(2).cuda(1).to(torch.device("cuda", 1))
for each in (a, b, c, d):
    note(each.device.index)
""",
    "names": """
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
options = parser.parse_args([])
KERNELS = {"cuda": "fast", "cpu": "slow"}
settings = {"device": "cuda:0", "kernel": "cuda"}


class Runner:
    device: str = "cuda"

    def __init__(self, device="cuda", name=f"runs on cuda"):
        self.where = torch.device(device)
        note(name)

    def run(self, x, given=None):
        given = given or "cuda"
        if x.device != torch.device("cuda:0"):
            x = x.to(torch.device("cuda:0"))
        if self.where.type == "cuda" and options.device != "cpu":
            note(f"{options.device}, not cpu")
        elif options.device in ("cpu",):
            note("cpu")
        note(KERNELS[given], "cuda" in given, given == "cuda", settings["kernel"])
        return x


runner = Runner()
note(str(runner.run(torch.ones(3)).device), settings["device"].startswith("cuda"), Runner.device)
""",
    "numbers": """
import torch

for rank in range(2):
    places = [f"cuda:{rank}", "cuda:{}".format(rank), "cuda:%d" % rank, "cuda:" + str(rank)]
    device = f"cuda:{rank}"
    for each in (
        torch.device(f"cuda:{rank}"),
        torch.device("cuda:{}".format(rank)),
        torch.device("cuda:%d" % rank),
        torch.device("cuda:" + str(rank)),
        torch.device("cuda", rank),
        torch.device(device),
        torch.ones(2).cuda(rank).device,
        torch.ones(2).cuda(device=rank, non_blocking=True).device,
    ):
        note(str(each))
    note(places)
""",
    "own classes": """
import torch


class Batch:
    def __init__(self):
        self.x = torch.ones(3)
        self.moved = False

    def cuda(self, index=None):
        self.x = self.x.cuda(index)
        self.moved = torch.cuda.is_available()
        return self


def step(batch, again, index):
    batch.cuda()
    again = again.cuda(index)
    return batch.x.cuda().sum().item(), again


note(str(step(Batch(), Batch(), 1)[1].x.device), step(Batch(), Batch(), 1)[1].moved)
""",
    "libraries": """
import torch
from torch.utils.data import DataLoader

torch.cuda.empty_cache()
torch.cuda.reset_peak_memory_stats()
torch.cuda.manual_seed_all(0)
generator = torch.Generator("cuda")
other = torch.Generator(device="cuda")
with torch.autocast("cuda", enabled=False):
    x = torch.ones(3, device="cuda", generator=generator) if note is None else torch.ones(3, device="cuda")
note(str(x.device), torch.cuda.max_memory_allocated() >= 0, generator.device.type, other.device.type)
note(len(DataLoader([1, 2, 3], pin_memory=True)))
if torch.cuda.is_available():
    note(str(x.cuda().device))
""",
}


def agnostic(text: str, **options: Any) -> Ported:
    return rewrite({"program.py": text.encode()}, passes=(device_agnostic.PASS,), device_agnostic=True, **options)


def after(text: str) -> str:
    return agnostic(text).project.sources[0].text.decode()


class Device:
    """torch.device, with two GPUs."""

    def __init__(self, kind: Any, index: int | None = None) -> None:
        name, _, number = str(kind).partition(":")
        self.type = name
        self.index = int(number) if number else index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]


class Torch:
    """The parts of PyTorch that the programs need. `events` lists the operations with their devices."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.current = 0
        self.module = types.ModuleType("torch")
        self.module.__dict__.update(
            device=Device,
            ones=lambda *shape, device="cpu", generator=None: self.tensor("ones", device),
            zeros=lambda *shape, device="cpu": self.tensor("zeros", device),
            Generator=lambda device="cpu": types.SimpleNamespace(device=self.place("generator", device)),
            autocast=self.autocast,
        )
        cuda = types.ModuleType("torch.cuda")
        for name in ("synchronize", "empty_cache", "reset_peak_memory_stats", "manual_seed_all"):
            cuda.__dict__[name] = lambda *args, name=name: self.events.append(f"{name}{args}")
        cuda.__dict__.update(
            is_available=lambda: True,
            max_memory_allocated=lambda: 0,
            set_device=lambda index: setattr(self, "current", index),
        )
        self.module.__dict__["cuda"] = cuda
        data = types.ModuleType("torch.utils.data")
        data.__dict__["DataLoader"] = self.loader
        self.modules = {"torch": self.module, "torch.utils": types.ModuleType("torch.utils"), "torch.utils.data": data}

    def place(self, what: str, device: Any) -> Device:
        found = Device(device)
        if found.type == "cuda" and found.index is None:
            found.index = self.current
        self.events.append(f"{what} on {found}")
        return found

    def tensor(self, what: str, device: Any) -> Any:
        tensor = types.SimpleNamespace(device=self.place(what, device))
        tensor.to = lambda device, **options: self.tensor(f"move {options}", device)
        tensor.cuda = lambda device=None, **options: self.tensor(
            f"move {options}", "cuda" if device is None else f"cuda:{device}"
        )
        tensor.sum = lambda: types.SimpleNamespace(item=lambda: 0)
        return _Sum(tensor)

    @contextmanager
    def autocast(self, kind: str, **options: Any) -> Iterator[None]:
        self.events.append(f"autocast {kind} {options}")
        yield

    def loader(self, data: list[int], pin_memory: bool = False) -> list[int]:
        self.events.append(f"loader {pin_memory}")
        return data


class _Sum:
    def __init__(self, tensor: Any) -> None:
        self.__dict__.update(vars(tensor))

    def __add__(self, other: Any) -> _Sum:
        return self


def with_gpus(text: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    torch = Torch()
    for name, module in torch.modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(text, "program.py", "exec"), {"note": lambda *args: torch.events.append(repr(args)), "__name__": "p"})
    return torch.events


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_changes_where_there_is_a_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAMS[name]
    changed = after(text)
    assert changed != text
    before = with_gpus(text, monkeypatch)
    assert before
    assert with_gpus(changed, monkeypatch) == before


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_where_there_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not here: nothing was run without a GPU")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    notes: list[Any] = []
    text = after(PROGRAMS[name])
    exec(compile(text, "program.py", "exec"), {"note": lambda *args: notes.extend(args), "__name__": "p"})
    assert notes
    assert not any(str(each).startswith("cuda:") for each in notes)


def test_programs_that_run_without_a_gpu_did_not_before() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not here: nothing was run without a GPU")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    for text in PROGRAMS.values():
        with pytest.raises((AssertionError, RuntimeError, AttributeError)):
            exec(compile(text, "program.py", "exec"), {"note": lambda *args: None, "__name__": "p"})


def test_it_is_off_unless_asked_for() -> None:
    for text in PROGRAMS.values():
        ported = rewrite({"program.py": text.encode()}, passes=(device_agnostic.PASS,))
        assert not ported.changed
        assert not ported.reported


def test_a_second_run_adds_to_the_same_function() -> None:
    once = after("import torch\n\nx = torch.ones(3).cuda()\n")
    more = after(once + 'y = torch.ones(3, device="cuda:1")\n')
    assert more.count("def pick_device") == 1
    assert more.endswith("y = torch.ones(3, device=pick_device(1))\n")


LIBRARY = b"""import torch


def ones(device="cuda"):
    place = torch.device("cuda")
    return torch.ones(3, device="cuda")
"""


@pytest.mark.parametrize(
    ("program", "kinds"),
    [
        (b"import torch\nfrom lib import ones\n", ["device safe", "device safe", "device safe"]),
        # Before all other code is early enough.
        (
            b'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\nimport torch\nfrom lib import ones\n',
            ["device safe", "device safe", "device safe"],
        ),
        (
            b'import os\nimport torch\nfrom lib import ones\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"\n',
            ["too_early manual", "device review", "device safe"],
        ),
        (
            b"import torch\nfrom multiprocessing import Process\nfrom lib import ones\n",
            ["too_early manual", "device review", "device safe"],
        ),
        (
            b'import torch.multiprocessing as mp\nmp.set_start_method("spawn")\nmp.Process(target=print).start()\n',
            ["device safe", "device safe", "device safe"],
        ),
    ],
)
def test_when_pytorch_may_be_asked_for_gpus(program: bytes, kinds: list[str]) -> None:
    ported = rewrite(
        {"program.py": program, "lib.py": LIBRARY}, passes=(device_agnostic.PASS,), target=Target(device_agnostic=True)
    )
    found = [each for each in ported.reported if each.path.name == "lib.py"]
    assert [f"{each.rule.partition('/')[2]} {each.certainty}" for each in found] == kinds


def test_only_what_is_certain_is_accepted() -> None:
    text = "import torch\n\n\ndef run(x):\n    return x.float().cuda()\n"
    ported = agnostic(text, accept=Certainty.SAFE)
    assert not ported.changed
    assert [each.outcome for each in ported.reported] == [Outcome.DECLINED]


def test_the_command_and_the_configuration_enable_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text('import torch\n\nx = torch.ones(3, device="cuda")\n')
    plain = CliRunner().invoke(main, ["rewrite", "--diff", str(tmp_path)])
    assert "pick_device" not in plain.output
    asked = CliRunner().invoke(main, ["rewrite", "--diff", "--device-agnostic", str(tmp_path)])
    assert "+x = torch.ones(3, device=pick_device())" in asked.output
    (tmp_path / "hipport.toml").write_text("device_agnostic = true\n")
    assert config.read(tmp_path).target.device_agnostic
    configured = CliRunner().invoke(main, ["rewrite", "--diff", str(tmp_path)])
    assert "+x = torch.ones(3, device=pick_device())" in configured.output
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "hipport.toml").write_text('device_agnostic = "yes"\n')
    with pytest.raises(config.BadConfig, match="true or false"):
        config.read(tmp_path / "other")


def test_a_notebook_is_one_program() -> None:
    cells = [
        ["import os\n", "import torch\n", "!nvidia-smi -L\n"],
        ['early = dict(device="cuda")\n', 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"\n', 'device = "cuda"\n'],
    ]
    text = json.dumps(
        {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]}, indent=1
    )
    ported = rewrite({"a.ipynb": text.encode()}, passes=(device_agnostic.PASS,), device_agnostic=True)
    assert [each.rule.partition("/")[2] for each in ported.reported] == ["too_early", "device"]
    first, second = ("".join(cell["source"]) for cell in json.loads(ported.project.sources[0].text)["cells"])
    assert "def pick_device(index=None):" in first
    assert second.endswith("device = pick_device()\n")

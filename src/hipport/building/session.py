# SPDX-License-Identifier: Apache-2.0
"""A copy of a tree in which it is built: by hipcc for AMD GPUs, for the executor, and by its own setup.py.

Whoever builds the same tree in the same folder at the same time waits. What setup.py would have compiled is recorded
in the copy (see `record_extensions`): code of the tree runs there, contained, and writes nowhere else.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hipport.building.digests import Digests
from hipport.building.locks import locked
from hipport.core import reading
from hipport.engine.outcomes import Ported
from hipport.toolchain.processes import Box, run_script
from hipport.workspace.copies import copy_tree, reached, write_port

#: Runs a build up to its compilers, in a process of its own.
_SCRIPT = Path(__file__).with_name("record_extensions.py")
#: What would have a build script take another toolkit than it is told of, or ask make for options.
_DROPPED = ("CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH", "MAKEFLAGS")


@dataclass(frozen=True)
class Toolkit:
    """The toolkit that a build script is to find: the folder, and what it says of itself.

    `hip` is the version of HIP, `cuda` that of CUDA for a build by nvcc. Without a `gpu`, scripts find none of both.
    With `hipify`, PyTorch's own converts sources, as it does where PyTorch is for ROCm.
    """

    home: Path
    hip: str
    archs: tuple[str, ...]
    cuda: str | None = None
    gpu: bool = True
    hipify: bool = True

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the environment with which scripts find it."""
        kept = {name: value for name, value in env.items() if name not in _DROPPED}
        # PyTorch would run the machine's own compiler, and puts sources through a set.
        kept |= {"TORCH_DONT_CHECK_COMPILER_ABI": "1", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        home = str(self.home)
        if self.cuda:
            return {**kept, "CUDA_HOME": home, "TORCH_CUDA_ARCH_LIST": "8.0"}
        if self.gpu:
            archs = ";".join(self.archs)
            return {**kept, "HIP_PLATFORM": "amd", "ROCM_HOME": home, "ROCM_PATH": home, "PYTORCH_ROCM_ARCH": archs}
        return kept


@dataclass(frozen=True)
class BuildSession:
    """A copy of `tree`, which nobody else uses meanwhile, in the folder `kept`.

    `top` is what is copied: the tree, or the repository that it lies in, where it needs more of that.
    """

    kept: Path
    tree: Path
    top: Path
    digests: Digests = field(default_factory=Digests, compare=False)

    @property
    def whole(self) -> Path:
        """The copy of `top`."""
        return self.kept / self.top.name

    @property
    def copy(self) -> Path:
        """The copy of the tree."""
        return self.whole / self.tree.relative_to(self.top)

    @property
    def scratch(self) -> Path:
        """A folder for what a build would write."""
        return self.kept / ".scratch"

    def fill(self, ported: Ported | None = None) -> None:
        """Copy the tree as it is now, or as it was ported. Raises Refused where a link leads out of it."""
        copy_tree(self.top, self.whole)
        if ported is not None:
            write_port(ported, self.top, self.whole)

    def copied(self, path: Path) -> Path:
        """Return the place in the copy of a path of the tree; other paths stay."""
        return self.whole / path.relative_to(self.top) if path.is_relative_to(self.top) else path

    def original(self, path: Path) -> Path:
        """Return the place in the tree of a path of the copy; other paths stay."""
        return self.top / path.relative_to(self.whole) if path.is_relative_to(self.whole) else path

    def record(
        self,
        request: Mapping[str, Any],
        folder: Path,
        python: Path,
        toolkit: Toolkit,
        env: Mapping[str, str],
        timeout: float,
    ) -> tuple[dict[str, Any], str]:
        """Do what is requested of `record_extensions` in a folder of the copy; return what it says and what went wrong.

        Runs code of the tree with the interpreter `python`.
        """
        self.scratch.mkdir(parents=True, exist_ok=True)
        asked, answer = self.scratch / "request.json", self.scratch / "answer.json"
        answer.unlink(missing_ok=True)
        whole = {
            "scratch": str(self.scratch),
            **request,
            "archs": list(toolkit.archs),
            "hip": toolkit.hip,
            "cuda": toolkit.cuda,
            "hipify": toolkit.hipify,
            "output": str(answer),
            "tree": str(self.copy),
        }
        asked.write_text(json.dumps(whole), encoding="utf-8")
        box = Box((self.scratch, self.whole))
        status, said = run_script(python, _SCRIPT, [str(asked)], folder, toolkit.environment(env), timeout, box)
        try:
            recorded: dict[str, Any] = json.loads(reading.read(answer))
        except (OSError, ValueError):
            if status is None:
                return {}, f"it did not end within {timeout:.0f} s"
            return {}, said.strip().splitlines()[-1] if said.strip() else f"it ended with status {status}"
        problem = recorded["error"].replace(str(self.copy) + os.sep, "")
        return recorded, problem.replace(str(self.whole) + os.sep, "")

    def clear(self) -> None:
        """Remove what builds have written beside the copy."""
        shutil.rmtree(self.scratch, ignore_errors=True)


@contextmanager
def build_session(kept: Path, tree: Path, members: Iterable[Path]) -> Iterator[BuildSession]:
    """Hold the copy of a tree in the folder `kept`; `members` are the files by which it is known what has to be copied.

    The copy is what it was: see `BuildSession.fill`.
    """
    with locked(kept):
        yield BuildSession(kept, tree, reached(tree, members))

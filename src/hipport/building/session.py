# SPDX-License-Identifier: Apache-2.0
"""A copy of a tree for builds: by hipcc for AMD GPUs, for the executor, and by its own setup.py.

Processes that build the same tree in the same folder wait for each other. The compilations of a setup.py are recorded
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
#: Variables that would make a build script use another toolkit, or options for make.
_DROPPED = ("CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH", "MAKEFLAGS")


@dataclass(frozen=True)
class Toolkit:
    """The toolkit that a build script is to find: its folder, and its version.

    `hip` is the version of HIP, `cuda` that of CUDA for a build by nvcc. Without a `gpu`, scripts find neither. With
    `hipify`, PyTorch's hipify converts sources, as in a PyTorch for ROCm.
    """

    home: Path
    hip: str
    archs: tuple[str, ...]
    cuda: str | None = None
    gpu: bool = True
    hipify: bool = True

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the environment in which scripts find it."""
        kept = {name: value for name, value in env.items() if name not in _DROPPED}
        # PyTorch would run the machine's compiler; and it iterates over a set of sources, so the order must be fixed.
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
    """A copy of `tree` in the folder `kept`, for exclusive use.

    `top` is the copied folder: the tree, or its repository if the build needs more of that.
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
        """A folder for the outputs of builds."""
        return self.kept / ".scratch"

    def fill(self, ported: Ported | None = None) -> None:
        """Copy the tree as it is now, or its port. Raises Refused if a link leads out of it."""
        copy_tree(self.top, self.whole)
        if ported is not None:
            write_port(ported, self.top, self.whole)

    def copied(self, path: Path) -> Path:
        """Return the place in the copy of a path of the tree; other paths are returned unchanged."""
        return self.whole / path.relative_to(self.top) if path.is_relative_to(self.top) else path

    def original(self, path: Path) -> Path:
        """Return the place in the tree of a path of the copy; other paths are returned unchanged."""
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
        """Execute a request for `record_extensions` in a folder of the copy; return its result, and what went wrong.

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
        """Remove the outputs of builds beside the copy."""
        shutil.rmtree(self.scratch, ignore_errors=True)


@contextmanager
def build_session(kept: Path, tree: Path, members: Iterable[Path]) -> Iterator[BuildSession]:
    """Hold the copy of a tree in the folder `kept`; `members` are the files that decide which folder has to be copied.

    The copy has its old contents: see `BuildSession.fill`.
    """
    with locked(kept):
        yield BuildSession(kept, tree, reached(tree, members))

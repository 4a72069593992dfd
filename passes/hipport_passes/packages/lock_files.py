# SPDX-License-Identifier: Apache-2.0
"""Report lock files whose pins restore builds for CUDA, with the command that regenerates them.

A lock file holds the versions and hashes that an installer chose when PyTorch for CUDA was required, also of NVIDIA's
libraries; `uv sync` or `poetry install` installs these instead of PyTorch for ROCm, whatever the ported lists require.
Such a file is generated, and is not edited.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.packaging import Lock, Locked
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.recipes import for_rocm

_TABLE = Path(__file__).with_suffix(".toml")


def find(source: Lock, project: Project) -> Iterator[Finding]:
    """Yield a finding for a lock file that pins builds for CUDA, and none for ROCm."""
    if any(for_rocm(f"{each.name} {each.version}") for each in source.packages):
        return
    asking = Asking(project)
    pinned = [each for each in source.packages if _for_cuda(source, each, asking)]
    if not pinned:
        return
    named = [f"{each.name} {each.version}".strip() for each in pinned]
    more = f" and {len(named) - 3} more" if len(named) > 4 else ""
    relock = load(_TABLE)["relock"]
    command = next((relock[name] for name in relock if source.path.name.endswith(name)), None)
    again = f"lock again by `{command}`" if command else "lock again by the tool that wrote it"
    what = ", ".join(named[:3] if more else named) + more
    message = (
        f"it pins packages for CUDA: {what}. After the lists that it is made from are ported, {again}, or install "
        "from these lists as `hipport deps` says"
    )
    yield Finding(pinned[0].span, "pins", message, (), Certainty.MANUAL)


def _for_cuda(source: Lock, each: Locked, asking: Asking) -> bool:
    if source.of_conda:
        family = asking.recipes.conda(each.name)
        if family is not None and family.action in ("keep", "remove"):
            return True
    return asking.judge(f"{each.name}=={each.version}" if each.version else each.name) is not None


PASS = Pass(Lock, find)

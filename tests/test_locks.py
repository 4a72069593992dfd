# SPDX-License-Identifier: Apache-2.0
"""Critical sections stay in the loops that wait for their locks, in hipcc's code for the fixtures of spin_locks."""

import os
import re
import sys
from pathlib import Path

import pytest

import compiled
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.testing import fixtures
from hipport.toolchain.toolchains import find
from hipport_passes.device import spin_locks

FOLDER = Path(__file__).parent.parent / "fixtures" / "spin_locks"
#: The newest and the oldest release, each for one of the wavefront sizes.
TOOLCHAINS = sorted({each.hip: each for each in find(os.environ, Path(sys.executable))}.items(), reverse=True)
COMPILERS = [
    (each.hipcc, arch)
    for (_, each), arch in zip(TOOLCHAINS[:: max(1, len(TOOLCHAINS) - 1)], ("gfx90a", "gfx1030"), strict=False)
]
_KERNEL = re.compile(r"^(_Z\w+):.*?^\s*s_endpgm", re.MULTILINE | re.DOTALL)


def assembly(folder: Path, text: bytes, hipcc: Path, arch: str) -> dict[str, str]:
    source = folder / "a.cu"
    source.write_bytes(text)
    command = [str(hipcc), "-w", "--cuda-device-only", "-S", "-O3", f"--offload-arch={arch}", source.name]
    done = compiled.run([*command, "-o", "a.s"], cwd=folder, env={**os.environ, "HIP_PLATFORM": "amd"})
    assert not done.returncode, done.stderr
    return {match[1]: match[0] for match in _KERNEL.finditer((folder / "a.s").read_text())}


def ends_in_loop(kernel: str) -> bool:
    """Return whether control may go from the last store, which releases the lock, to the place where it is taken."""
    lines = kernel.splitlines()
    stores = [i for i, line in enumerate(lines) if re.match(r"\s*(global|flat)_(store|atomic_swap)", line)]
    labels = {line.split(":")[0]: i for i, line in enumerate(lines) if re.match(r"\.LBB\w+:", line)}
    # The branch back may follow a label before it, at which the blocks join.
    seen: set[int] = set()
    todo = [stores[-1] + 1]
    while todo:
        at = todo.pop()
        if at in seen or at >= len(lines):
            continue
        seen.add(at)
        branch = re.match(r"\s*s_(c?branch)\w*\s+(\.LBB\w+)", lines[at])
        if branch:
            todo.append(labels[branch[2]])
        if "s_endpgm" not in lines[at] and not (branch and branch[1] == "branch"):
            todo.append(at + 1)
    return any(re.match(r"\s*(global|flat)_atomic_(cmpswap|swap)", lines[i]) for i in seen)


@pytest.mark.skipif(not COMPILERS, reason="there is no hipcc: what compilers make of locks was not checked")
@pytest.mark.parametrize("case", ["around", "inside", "by_functions"])
@pytest.mark.parametrize(("hipcc", "arch"), COMPILERS, ids=[arch for _, arch in COMPILERS])
def test_the_unlock_is_in_the_loop(hipcc: Path, case: str, arch: str, tmp_path: Path) -> None:
    (fixture,) = (each for each in fixtures(FOLDER) if str(each).endswith("/" + case))
    ported = run(Project((fixture.before,), Target()), (spin_locks.PASS,))
    for file in ported.created:
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_bytes(file.text)
    after = assembly(tmp_path, ported.project.sources[0].text, hipcc, arch)
    # The last of `functions` are for one thread, and in no loop.
    wrong = [name for name, kernel in after.items() if not ends_in_loop(kernel) and "functions" not in name]
    assert after and not wrong
    if case == "inside":
        # The check distinguishes them: with a flag that the compiler sees, the loop hangs.
        before = assembly(tmp_path, fixture.before.text, hipcc, arch)
        assert sum(not ends_in_loop(kernel) for kernel in before.values()) >= 3

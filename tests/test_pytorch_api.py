# SPDX-License-Identifier: Apache-2.0
"""The installed PyTorch accepts the code that `pytorch_api` writes, and the code that it leaves alone."""

import importlib.util
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from endless import ENDLESS
from hipport import executor

FIXTURES = Path(__file__).parent.parent / "fixtures" / "pytorch_api"
#: Fixtures that compile without CUDA's headers, and without work for a person.
NAMES = ["dispatch.after.cu", "dispatch_look_alikes.before.cu", "macros.after.cpp", "macros_own.before.cpp"]


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or shutil.which("g++") is None,
    reason="torch or g++ is not installed: that PyTorch takes what is written was NOT checked",
)
def test_pytorch_accepts_the_replacements(tmp_path: Path) -> None:
    # One unit, because PyTorch's headers take nearly all of the time.
    text = "#include <torch/extension.h>\n"
    for number, name in enumerate(NAMES):
        body = (FIXTURES / name).read_text()
        text += f"namespace n{number} {{\n{body}}}\n"
        text += "".join(f"#undef {macro}\n" for macro in re.findall(r"#define (\w+)", body))
    (tmp_path / "unit.cpp").write_text(text)
    torch = importlib.util.find_spec("torch")
    assert torch is not None and torch.submodule_search_locations
    headers = Path(torch.submodule_search_locations[0], "include")
    # Tensors and operators, without the other includes of torch/extension.h: a third of the time.
    light = Path(executor.__file__).parent / "native/include/torch_light"
    folders = [light, headers, headers / "torch/csrc/api/include", sysconfig.get_path("include")]
    command = [
        "g++",
        "-std=c++20",
        "-fsyntax-only",
        "-w",
        "-DSIMT_TORCH_KERNELS=1",
        *(f"-I{folder}" for folder in folders),
        "unit.cpp",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr[-4000:]

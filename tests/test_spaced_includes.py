# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own hipify on includes with blanks after the `#`, before and after the pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pytorch_hipify
from hipport.testing import fixtures

HIPIFY = pytorch_hipify.folder("NOT CHECKED that PyTorch's hipify reads the includes: it is not here")
FIELD = next(
    each
    for each in fixtures(Path(__file__).parent.parent / "fixtures" / "spaced_includes")
    if str(each).endswith("/field")
)
CONVERT = """\
import sys
sys.path.insert(0, sys.argv[2])
from hipify.hipify_python import hipify
hipify(project_directory=sys.argv[1], output_directory=sys.argv[1], includes=[sys.argv[1] + "/*"],
       extra_files=[sys.argv[1] + "/field.cu"], is_pytorch_extension=True, hipify_extra_files_only=True)
"""


@pytest.mark.parametrize("ported", [False, True])
def test_hipify_converts_an_include_only_without_more_blanks(ported: bool, tmp_path: Path) -> None:
    for source in FIELD.beside:
        (tmp_path / source.path).write_bytes(source.text)
    (tmp_path / "field.cu").write_bytes(FIELD.after if ported else FIELD.before.text)
    done = subprocess.run(
        [sys.executable, "-c", CONVERT, str(tmp_path), str(HIPIFY)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # An unchanged file is not written again.
    converted = tmp_path / "field.hip"
    made = converted.read_text() if converted.exists() else ""
    assert ("include <ATen/hip/HIPContext.h>" in made) == ported
    assert ('#include "common_hip.h"' in made) == ported
    assert (tmp_path / "common_hip.h").exists() == ported

# SPDX-License-Identifier: Apache-2.0
"""Start a pass: `python tools/new_pass.py NAME` writes the module and the folder of its fixtures."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MODULE = '''# SPDX-License-Identifier: Apache-2.0
"""Say in one imperative sentence what the pass does.

Say here why the result means the same, on wavefronts of 32 and of 64 lanes.
"""

from __future__ import annotations

from collections.abc import Iterator

from hipport.finding import Certainty, Finding
from hipport.languages.cpp import Cpp
from hipport.pipeline import Pass
from hipport.project import Project


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per ..."""
    yield from ()


PASS = Pass(Cpp, find)
'''


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not re.fullmatch(r"[a-z][a-z0-9_]*", arguments[0]):
        print(__doc__, file=sys.stderr)
        return 2
    name = arguments[0]
    module = ROOT / "passes" / "hipport_passes" / f"{name}.py"
    folder = ROOT / "fixtures" / name
    if module.exists() or folder.exists():
        print(f"there is a pass named {name} already", file=sys.stderr)
        return 2
    module.write_text(MODULE, encoding="utf-8")
    folder.mkdir()
    print(
        f"1. write {module.relative_to(ROOT)}\n"
        f"2. write {folder.relative_to(ROOT)}/CASE.before.cu, .after.cu, .findings, and a look-alike that must stay\n"
        "3. put it in the tuple of passes/hipport_passes/__init__.py, with a word on why it stands there\n"
        "4. make test"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: Apache-2.0
"""Start a pass: `python tools/new_pass.py FOLDER/NAME` writes the module and the folder of its fixtures.

FOLDER is one of passes/hipport_passes: device, names, compatibility, python, build_files, packages or deployment.
"""

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

from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per ..."""
    yield from ()


PASS = Pass(Cpp, find)
'''


def main(arguments: list[str]) -> int:
    passes = ROOT / "passes" / "hipport_passes"
    match = re.fullmatch(r"([a-z_]+)/([a-z][a-z0-9_]*)", arguments[0]) if len(arguments) == 1 else None
    if match is None or not (passes / match[1] / "__init__.py").is_file():
        print(__doc__, file=sys.stderr)
        return 2
    name = match[2]
    module = passes / match[1] / f"{name}.py"
    folder = ROOT / "fixtures" / name
    if any(passes.rglob(f"{name}.py")) or folder.exists():
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

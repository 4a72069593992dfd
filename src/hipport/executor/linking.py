# SPDX-License-Identifier: Apache-2.0
"""Link units as nvcc and hipcc do without relocatable device code: each has device variables of its own.

Two sources may each define a `__constant__` variable of one name, or a header that both include. For a C++ linker that
is one symbol, defined twice. So where it says that, the symbols become local in every object that has them, and each
unit goes on with its own: the value that a program copies to one does not show in the other.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

# GNU ld's and lld's words, with names as they are in the objects.
_TWICE = re.compile(r"multiple definition of [`']([^'`]+)'|duplicate symbol: (\S+)")

#: Has the linker keep what refers to what: the runtime reads there which shared memory a kernel has.
KEEP_USES = "-Wl,--emit-relocs"
#: Runs a command and returns its status and what it said.
Run = Callable[[Sequence[str]], tuple[int | None, str]]


def link(command: Callable[[Sequence[Path]], list[str]], objects: Sequence[Path], run: Run) -> tuple[int | None, str]:
    """Run the `command` of the objects; where they define the same, once more, with copies in which it is local.

    Returns the status of the last run and what it said.
    """
    status, said = run(command(objects))
    if status == 0 or not _TWICE.search(said):
        return status, said
    _, mangled = run([*command(objects), "-Wl,--no-demangle"])
    twice = {match[1] or match[2] for match in _TWICE.finditer(mangled)}
    # A program has one `main`: with two, there are two programs.
    if "main" in twice:
        return status, said
    with tempfile.TemporaryDirectory(prefix="hipport-") as folder:
        names = Path(folder, "twice.txt")
        names.write_text("".join(f"{name}\n" for name in sorted(twice)), encoding="utf-8")
        own: list[Path] = []
        for number, each in enumerate(objects):
            own.append(Path(folder, f"{number}.o"))
            status, problem = run(["objcopy", f"--localize-symbols={names}", str(each), str(own[-1])])
            if status:
                return status, f"{said}\nobjcopy (of binutils) gives each unit its own of these, but failed: {problem}"
        return run(command(own))

# SPDX-License-Identifier: Apache-2.0
"""Link units as nvcc and hipcc do without relocatable device code: each has its own device variables.

Two sources, or a header that both include, may each define a `__constant__` variable of one name. For a C++ linker that
is a duplicate symbol. If it reports that, the symbols become local in every object that defines them, and each unit has
its own: a value that a program copies to one is not visible in the other.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

# Messages of GNU ld and lld, with names as they are in the objects.
_TWICE = re.compile(r"multiple definition of [`']([^'`]+)'|duplicate symbol: (\S+)")

#: Makes the linker keep relocations: the runtime reads from them which shared memory a kernel uses.
KEEP_USES = "-Wl,--emit-relocs"
#: Runs a command and returns its status and output.
Run = Callable[[Sequence[str]], tuple[int | None, str]]


def link(command: Callable[[Sequence[Path]], list[str]], objects: Sequence[Path], run: Run) -> tuple[int | None, str]:
    """Run the `command` for the objects; if there are duplicate symbols, again with copies in which these are local.

    Returns the status of the last run and its output.
    """
    status, said = run(command(objects))
    if status == 0 or not _TWICE.search(said):
        return status, said
    _, mangled = run([*command(objects), "-Wl,--no-demangle"])
    twice = {match[1] or match[2] for match in _TWICE.finditer(mangled)}
    # Two `main` functions mean two programs.
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

# SPDX-License-Identifier: Apache-2.0
"""Print the figures of the code: long and complex functions, many parameters, import cycles, modules per folder.

python tools/house_figures.py [FOLDER…]     of these folders; by default of src and passes
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
#: The greatest complexity, and number of parameters, of a function that is not counted; pyproject.toml allows more.
COMPLEXITY, PARAMETERS = 10, 7
_OF = re.compile(r"\((\d+) > \d+\)")


class Figures(NamedTuple):
    """The figures of some folders."""

    #: The longest functions: lines, and place.
    longest: list[tuple[int, str]]
    #: Complexity of each function that is above COMPLEXITY (ruff C901), and its parameters (PLR0913).
    complexity: list[int]
    parameters: list[int]
    #: Modules that import each other.
    cycles: list[list[str]]
    #: The number of modules directly in each folder.
    modules: dict[str, int]


def figures(folders: Sequence[Path]) -> Figures:
    """Return the figures of the modules below folders, each of which contains packages."""
    files = {path: folder for folder in folders for path in sorted(folder.rglob("*.py"))}
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    found = ((node, path) for path, tree in trees.items() for node in ast.walk(tree))
    functions = [each for each in found if isinstance(each[0], (ast.FunctionDef, ast.AsyncFunctionDef))]
    lengths = [(_lines(node), f"{path.relative_to(files[path])}: {_name(node)}") for node, path in functions]
    names = {_dotted(path.relative_to(folder)): trees[path] for path, folder in files.items()}
    imports = {name: set(_imported(tree, names)) - {name} for name, tree in names.items()}
    modules = Counter(path.parent.relative_to(files[path]).as_posix() for path in files if path.name != "__init__.py")
    complexity, parameters = (_above(folders, rule) for rule in ("C901", "PLR0913"))
    return Figures(sorted(lengths, reverse=True), complexity, parameters, list(_cycles(imports)), dict(modules))


def _lines(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", 0)) - int(getattr(node, "lineno", 0)) + 1


def _name(node: ast.AST) -> str:
    return str(getattr(node, "name", ""))


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, names: Mapping[str, ast.Module]) -> Iterator[str]:
    """Yield the modules that a module imports when it is imported: not in functions, nor for types alone."""
    open_: list[ast.AST] = [tree]
    while open_:
        node = open_.pop()
        if isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                yield from (name for name in [whole if whole in names else node.module] if name in names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            open_ += node.orelse
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            open_ += ast.iter_child_nodes(node)


def _cycles(imports: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Yield the groups of modules that reach each other by imports."""
    reach = {name: _reached(name, imports) for name in imports}
    done: set[str] = set()
    for name in sorted(imports):
        group = {name} | {other for other in reach[name] if name in reach[other]}
        if len(group) > 1 and name not in done:
            done |= group
            yield sorted(group)


def _reached(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    open_ = [name]
    while open_:
        more = imports[open_.pop()] - seen
        seen |= more
        open_ += more
    return seen


def _above(folders: Sequence[Path], rule: str) -> list[int]:
    """Return the values that ruff finds above the limits, the greatest first."""
    limits = (f"lint.mccabe.max-complexity={COMPLEXITY}", f"lint.pylint.max-args={PARAMETERS}")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero", "--ignore-noqa"]
    command += ["--select", rule, "--output-format", "json", *(f"--config={limit}" for limit in limits)]
    done = subprocess.run([*command, *map(str, folders)], capture_output=True, text=True, check=True)
    found = (_OF.search(each["message"]) for each in json.loads(done.stdout))
    return sorted((int(match[1]) for match in found if match is not None), reverse=True)


def main(arguments: Sequence[str]) -> int:
    """Print the figures."""
    made = figures([Path(each) for each in arguments] or [ROOT / "src", ROOT / "passes"])
    print("longest functions:", *(f"  {lines:4}  {place}" for lines, place in made.longest[:10]), sep="\n")
    for what, limit, values in (
        ("complexity (C901)", COMPLEXITY, made.complexity),
        ("parameters (PLR0913)", PARAMETERS, made.parameters),
    ):
        print(f"{what} above {limit}: {len(values)} functions, at most {max(values, default=0)}")
    print(f"import cycles: {len(made.cycles)}", *(f"  {' '.join(each)}" for each in made.cycles), sep="\n")
    print(
        "modules per folder:", *(f"  {count:4}  {folder}" for folder, count in sorted(made.modules.items())), sep="\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

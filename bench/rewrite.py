# SPDX-License-Identifier: Apache-2.0
"""The speed of `hipport rewrite` and its peers, on the same files in the same run.

    python bench/rewrite.py                                   2,000 generated files
    python bench/rewrite.py --package torch-scatter==2.1.2    a source package, downloaded by pip
    python bench/rewrite.py --tree DIR                        any tree

Every run of every tool is a process of its own on a fresh copy of the tree, rewritten in place. The tools take turns,
and one round before the first is not counted. README.md beside this explains the columns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import synthetic
from hipport.toolchain.processors import processors

# The kinds of files that the tools read; counting other files would flatter all of them.
SUFFIXES = {".cu", ".cuh", ".h", ".hpp", ".inl", ".cc", ".cpp", ".py"}

# The script that this Python's pip installed, else the one on PATH: what users start.
_HIPPORT = shutil.which("hipport", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or ""

_TORCH_HIPIFY = """\
import sys
from torch.utils.hipify.hipify_python import hipify
hipify(project_directory=sys.argv[1], output_directory=sys.argv[1], includes=[sys.argv[1] + "/*"],
       extensions=(".cu", ".cuh", ".c", ".cc", ".cpp", ".h", ".in", ".hpp"),
       show_detailed=False, show_progress=False, is_pytorch_extension=True)
"""


@dataclass(frozen=True)
class Tool:
    """A tool and the command that rewrites a tree in place. It succeeds with any of `statuses`."""

    name: str
    command: Callable[[Path], Sequence[str | Path]]
    statuses: frozenset[int] = frozenset({0})


@dataclass(frozen=True)
class Run:
    """The cost of one process: wall and CPU seconds, and the peak memory of it and its children together."""

    wall: float
    cpu: float
    peak_mb: float


@dataclass(frozen=True)
class Row:
    """The medians of a tool's runs over one tree."""

    tool: str
    wall_s: float
    wall_min_s: float
    wall_max_s: float
    cpu_s: float
    files_per_s: float
    mb_per_s: float
    peak_mb: float
    files_changed: int
    runs: int


def measure(command: Sequence[str | Path], statuses: frozenset[int] = frozenset({0})) -> Run:
    """Run `command` to its end. Raises RuntimeError with the end of its output if it fails."""
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command], stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        watch = _Watch(process.pid)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        watch.done.set()
        watch.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in statuses:
            said.seek(0)
            raise RuntimeError(
                f"{command[0]} ended with {process.returncode}: {said.read()[-2000:].decode(errors='replace')}"
            )
    # ru_maxrss is in bytes on macOS and in KiB elsewhere, and that of the largest process alone.
    largest = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return Run(wall, usage.ru_utime + usage.ru_stime, max(largest, watch.peak_mb))


class _Watch(threading.Thread):
    """Samples the memory of a process session: resident pages, those that processes share divided among them."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self.session = session
        self.peak_mb = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.1):
            kib = 0
            for folder in Path("/proc").glob("[0-9]*"):
                # Processes may end while they are read.
                with contextlib.suppress(OSError):
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) == self.session:
                        pss = re.search(r"^Pss:\s+(\d+) kB", (folder / "smaps_rollup").read_text(), re.MULTILINE)
                        kib += int(pss[1]) if pss else 0
            self.peak_mb = max(self.peak_mb, kib / (1 << 10))


def tools(hipify_perl: str | None) -> tuple[list[Tool], list[str]]:
    """Return the available tools, and why others are missing."""
    found = [Tool("hipport", lambda tree: [_HIPPORT, "rewrite", tree], frozenset({0, 1}))]
    missing = []
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
        found.append(Tool("torch.utils.hipify", lambda tree: [sys.executable, "-c", _TORCH_HIPIFY, tree]))
    else:
        missing.append("torch.utils.hipify was not measured: torch is not installed")
    perl = hipify_perl or shutil.which("hipify-perl")
    if perl is None:
        missing.append("hipify-perl was not measured: it is not on PATH (give --hipify-perl)")
    else:
        jobs = str(processors())

        def convert(tree: Path) -> list[str | Path]:
            # Like its own hipconvertinplace, with a process for each core; stdout has warnings.
            find = (
                'find "$1" -type f \\( -name "*.cu" -o -name "*.cuh" -o -name "*.h" -o -name "*.hpp" -o -name "*.inl"'
            )
            find += ' -o -name "*.cc" -o -name "*.cpp" \\) -print0'
            script = f'{find} | xargs -0 -n 32 -P {jobs} "$2" -inplace -quiet-warnings'
            return ["/bin/sh", "-c", script, "sh", tree, str(perl)]

        found.append(Tool("hipify-perl", convert))
    return found, missing


def compare(tree: Path, tools: Sequence[Tool], runs: int) -> tuple[list[Row], int, int]:
    """Return a row for each tool, and how many files and bytes of source the tree has."""
    sources = [path for path in tree.rglob("*") if path.is_file() and path.suffix in SUFFIXES]
    size = sum(path.stat().st_size for path in sources)
    taken: dict[str, list[Run]] = {tool.name: [] for tool in tools}
    changed: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for round_ in range(runs + 1):
            for tool in tools:
                copy = Path(scratch, "tree")
                shutil.copytree(tree, copy)
                before = _contents(copy)
                run = measure(tool.command(copy), tool.statuses)
                # An exit status alone does not show that the work was done.
                changed[tool.name] = len(_contents(copy).items() - before.items())
                if not changed[tool.name]:
                    raise RuntimeError(f"{tool.name} changed nothing")
                if round_:
                    taken[tool.name].append(run)
                shutil.rmtree(copy)
    rows = []
    for name, each in taken.items():
        wall = statistics.median(run.wall for run in each)
        rows.append(
            Row(
                name,
                wall,
                min(run.wall for run in each),
                max(run.wall for run in each),
                statistics.median(run.cpu for run in each),
                len(sources) / wall,
                size / wall / 1e6,
                statistics.median(run.peak_mb for run in each),
                changed[name],
                len(each),
            )
        )
    return rows, len(sources), size


def _contents(tree: Path) -> dict[Path, int]:
    """Return a checksum of each source, original or made by a tool."""
    sources = (path for path in tree.rglob("*") if path.is_file() and path.suffix in {*SUFFIXES, ".hip"})
    return {path: zlib.crc32(path.read_bytes()) for path in sources}


def start_up(runs: int) -> float:
    """Return the median seconds of `hipport --help`."""
    measure([_HIPPORT, "--help"])
    return statistics.median(measure([_HIPPORT, "--help"]).wall for _ in range(runs))


def download(package: str, into: Path) -> Path:
    """Return the folder of the unpacked source package. pip runs its setup.py, which may need torch."""
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"),
            *("--no-binary=:all:", "--dest", str(into), package),
        ],
        check=True,
    )
    (archive,) = into.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        # Python 3.11.2, which Debian 12 has, knows no filters yet.
        if hasattr(tarfile, "data_filter"):
            tar.extractall(into / "unpacked", filter="data")
        else:
            tar.extractall(into / "unpacked")
    (folder,) = (into / "unpacked").iterdir()
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--tree", type=Path, help="measure over a copy of this folder")
    what.add_argument("--package", help="measure over this source package, such as torch-scatter==2.1.2")
    parser.add_argument("--files", type=int, default=2000, help="files to generate (2000)")
    parser.add_argument("--size", type=int, default=10_000, help="bytes of each generated file, about (10000)")
    parser.add_argument("--runs", type=int, default=5, help="rounds that count (5)")
    parser.add_argument("--hipify-perl", metavar="PATH", help="default: the one on PATH")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()

    if not _HIPPORT:
        parser.error("hipport is not installed for this Python: pip install -e .")
    found, missing = tools(arguments.hipify_perl)
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.tree:
            name, tree = str(arguments.tree), arguments.tree
        elif arguments.package:
            name, tree = arguments.package, download(arguments.package, Path(scratch))
        else:
            name, tree = "generated", Path(scratch, "generated")
            synthetic.write(tree, arguments.files, arguments.size)
        rows, files, size = compare(tree, found, arguments.runs)
    help_s = start_up(20)

    if arguments.format == "json":
        machine = {"cores": processors(), "machine": platform.machine(), "python": platform.python_version()}
        result = {"tree": name, "files": files, "bytes": size, "rows": [asdict(row) for row in rows]}
        print(json.dumps({**result, "help_s": help_s, "not_measured": missing, "machine": machine}, indent=2))
        return 0
    print(f"{name}: {files} files, {size / 1e6:.2f} MB; {processors()} cores; median of {arguments.runs} runs\n")
    print(
        f"{'tool':20} {'wall s':>8} {'(min':>7} {'max)':>7} {'CPU s':>8} {'files/s':>9} {'MB/s':>7} {'peak MB':>8}"
        f" {'changed':>8}"
    )
    for row in rows:
        print(
            f"{row.tool:20} {row.wall_s:8.2f} {row.wall_min_s:7.2f} {row.wall_max_s:7.2f} {row.cpu_s:8.2f}"
            f" {row.files_per_s:9.1f} {row.mb_per_s:7.2f} {row.peak_mb:8.0f}"
            f" {row.files_changed:8}"
        )
    print(f"\nhipport --help: {help_s:.3f} s")
    for line in missing:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())

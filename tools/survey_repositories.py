# SPDX-License-Identifier: Apache-2.0
"""hipport's results for whole repositories: the tables of docs/repositories.md, with a row for each clone.

    python tools/survey_repositories.py CLONE… [--build gfx942,gfx1100] [--jobs N] [--keep DIR]

Nothing is written to the clones. With --build, the clone and a ported copy of it are compiled, both as a PyTorch for
ROCm builds extensions (its own conversion to HIP, then hipcc), which runs their build scripts. --keep leaves the ported
copies there; a second run then compiles only what failed or changed.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import hipport
from hipport.building.builder import Built
from hipport.core.edits import Span
from hipport.core.finding import Certainty
from hipport.core.tables import load
from hipport.engine.outcomes import Outcome, Ported
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport_passes.device import warp_intrinsics
from hipport_passes.device.ptx.statements import statements


def commit_of(clone: Path) -> str:
    """Return the commit that is checked out, shortened, or nothing for a folder that is no clone."""
    asked = ["git", "-C", str(clone), "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


@dataclass(frozen=True)
class Row:
    """The results for one clone; `surveyed` is the day. Counts of warp code are found, rewritten and reported."""

    name: str
    commit: str
    surveyed: str
    read: int
    cuda: int
    places: int
    files: int
    review: int
    left: int
    rules: tuple[str, ...] = ()
    warp: str = ""
    asm: str = ""
    packages: str = ""
    compiled: tuple[str, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)


def tables(rows: Sequence[Row]) -> str:
    """Return the tables of `rows`, in Markdown."""
    ported = [
        "| repository | commit | surveyed | files read (CUDA) | places rewritten (files) | to review | left "
        "| most of what is left |",
        "|---|---|---|---|---|---|---|---|",
    ]
    warp = ["| repository | warp intrinsics | asm statements |", "|---|---|---|"]
    packages = ["| repository | packages |", "|---|---|"]
    compiled = ["| repository | before | after |", "|---|---|---|"]
    failed = ["| repository | unit | first message |", "|---|---|---|"]
    for row in rows:
        left = ", ".join(f"`{rule}`" for rule in row.rules) or "–"
        ported.append(
            f"| {row.name} | {row.commit} | {row.surveyed} | {row.read} ({row.cuda}) | {row.places} ({row.files}) "
            f"| {row.review} | {row.left} | {left} |"
        )
        if row.warp or row.asm:
            warp.append(f"| {row.name} | {row.warp or 'none'} | {row.asm or 'none'} |")
        if row.packages:
            packages.append(f"| {row.name} | {row.packages} |")
        if row.compiled:
            compiled.append(f"| {row.name} | {' | '.join(row.compiled)} |")
        failed += [f"| {row.name} | {unit} | {why} |" for unit, why in row.failures.items()]
    headed = (
        ("Rewritten and left", ported),
        ("Warp code: found, rewritten, reported", warp),
        ("Packages", packages),
        ("Units compiled", compiled),
        ("Not compiled", failed),
    )
    return "\n\n".join(f"### {title}\n\n" + "\n".join(lines) for title, lines in headed if len(lines) > 2) + "\n"


def became(ported: Ported, places: Sequence[tuple[Path, Span]]) -> str:
    """Return the number of places, and of those rewritten and reported."""
    applied: dict[Path, list[Span]] = {}
    said: dict[Path, list[Span]] = {}
    for found in ported.reported:
        kind = applied if found.outcome is Outcome.APPLIED else said
        kind.setdefault(Path(found.path), []).append(found.span)

    def touched(path: Path, span: Span, by: dict[Path, list[Span]]) -> bool:
        return any(other.start < span.end and span.start < other.end for other in by.get(path, ()))

    rewritten = sum(touched(path, span, applied) for path, span in places)
    told = sum(touched(path, span, said) and not touched(path, span, applied) for path, span in places)
    return f"{len(places)}, {rewritten}, {told}"


def warp_code(ported: Ported) -> tuple[str, str]:
    """Return the counts of warp intrinsics and of asm statements; empty if there are none."""
    names = load(Path(warp_intrinsics.__file__).with_suffix(".toml"))["helper"]
    pattern = re.compile(rb"(?<![\w:])(?:%s)\b" % b"|".join(sorted((n.encode() for n in names), reverse=True)))
    sources = [source for source in ported.before.sources if isinstance(source, Cpp)]
    intrinsics = [
        (Path(source.path), Span(*match.span())) for source in sources for match in pattern.finditer(source.code)
    ]
    asm = [(Path(source.path), each.span) for source in sources for each in statements(source, ported.before)]
    return (
        became(ported, intrinsics) if intrinsics else "",
        became(ported, asm) if asm else "",
    )


def survey(clone: Path, archs: str, jobs: int | None, keep: Path | None) -> Row:
    """Return the row of one clone."""
    scanned = hipport.scan([clone])
    ported = scanned.ported
    before = ported.before
    cuda = [source for source in before.sources if isinstance(source, Cuda) and source.path.suffix in (".cu", ".cuh")]
    applied = [each for each in ported.reported if each.outcome is Outcome.APPLIED]
    left = Counter(each.rule for each in ported.reported if each.outcome not in (Outcome.APPLIED, Outcome.IGNORED))
    plan = hipport.deps([clone])
    actions: dict[str, list[str]] = {}
    for package in plan.packages:
        if package.action not in ("keep", "leave"):
            actions.setdefault(package.action, []).append(package.name)
    packages = "; ".join(f"{action}: {', '.join(names)}" for action, names in actions.items())
    warp, asm = warp_code(ported)
    built, failed = compiled(clone, archs.split(","), jobs, keep) if archs else ((), {})
    return Row(
        clone.name,
        commit_of(clone),
        datetime.date.today().isoformat(),
        len(before.sources),
        len(cuda),
        len(applied),
        len(ported.changed),
        sum(each.certainty is Certainty.REVIEW for each in applied),
        sum(left.values()),
        tuple(f"{rule} {count}" for rule, count in left.most_common(4)),
        warp,
        asm,
        f"{packages} (ROCm {plan.rocm})" if packages else "",
        built,
        failed,
    )


def compiled(
    clone: Path, archs: Sequence[str], jobs: int | None, keep: Path | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Compile the clone and a ported copy; return how many units of each compiled, and why others did not."""
    target = hipport.Target(tuple(archs))
    with nullcontext(str(keep)) if keep else tempfile.TemporaryDirectory() as folder:
        out = Path(folder, clone.name)
        if not out.exists():
            hipport.save(hipport.rewrite([clone], target=target), out)
        counts: list[str] = []
        failed: dict[str, str] = {}
        for tree in (clone, out):
            try:
                built = hipport.build([tree], target=target, env=os.environ, jobs=jobs)
            except Exception as error:
                counts.append(f"not: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
            counts.append(units(built))
            failed = failures(built)
        return tuple(counts), failed


def units(built: Built) -> str:
    """Return the number of compiled units for each target."""
    device = {(each.path, each.owner) for each in built.compiled if each.target != "host"}
    done: dict[str, list[bool]] = {}
    for each in built.compiled:
        if (each.path, each.owner) in device:
            done.setdefault(each.target, []).append(each.ok)
    text = ", ".join(f"{target} {sum(oks)} of {len(oks)}" for target, oks in done.items())
    hosts = [each.ok for each in built.compiled if (each.path, each.owner) not in device]
    return ", ".join(filter(None, (text, f"C++ {sum(hosts)} of {len(hosts)}" if hosts else ""))) or "no units"


def failures(built: Built) -> dict[str, str]:
    """Return the units that did not compile, each with the compiler's first error."""
    found = {str(each.path): each.why for each in built.not_built}
    for each in built.compiled:
        errors = [message for message in each.messages if message.severity == "error"]
        if not each.ok:
            why = f"{errors[0].path}:{errors[0].line}: {errors[0].text}" if errors else "no message"
            found.setdefault(str(each.path), f"{each.target}: {why}")
    return found


def main() -> None:
    """Print the tables of all clones."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--build", metavar="GFX,…", default="", help="compile the units that hipcc can be found for")
    parser.add_argument("--jobs", type=int, help="compilers at once; as many as processors if not given")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where ported copies are left")
    given = parser.parse_args()
    rows = []
    for clone in given.clones:
        print(f"{clone.name} …", file=sys.stderr)
        rows.append(survey(clone.resolve(), given.build, given.jobs, given.keep))
    print(tables(rows), end="")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Measure hipport's results for whole repositories: rows of docs/repositories.md, one for each clone.

    python tools/survey_repositories.py CLONE… [--write] [--build gfx942,gfx1100] [--jobs N] [--keep DIR]

The rows are printed; --write puts them into tools/repositories.toml and the page. Nothing is written to the clones.
With --build, the clone and a ported copy of it are compiled, both as a PyTorch for ROCm builds extensions (its own
conversion to HIP, then hipcc), which runs their build scripts. --keep leaves the ported copies there; a second run
then compiles only what failed or changed.
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
from pathlib import Path

import hipport
import repository_tables as page
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


def survey(clone: Path) -> page.Survey:
    """Return hipport's results for one clone; nothing is compiled."""
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
    return page.Survey(
        clone.name,
        commit_of(clone),
        datetime.date.today().isoformat(),
        read=len(before.sources),
        cuda=len(cuda),
        places=len(applied),
        files=len(ported.changed),
        review=sum(each.certainty is Certainty.REVIEW for each in applied),
        left=sum(left.values()),
        rules=tuple(f"{rule} {count}" for rule, count in left.most_common(4)),
        warp=warp,
        asm=asm,
        packages=f"{packages} (ROCm {plan.rocm})" if packages else "",
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
    """Print the rows of all clones, and write them if that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="put the rows into the data and the page")
    parser.add_argument("--build", metavar="GFX,…", default="", help="compile the units that hipcc can be found for")
    parser.add_argument("--jobs", type=int, help="compilers at once; as many as processors if not given")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where ported copies are left")
    given = parser.parse_args()
    surveys: list[page.Survey] = []
    counts: dict[str, tuple[str, ...]] = {}
    for clone in map(Path.resolve, given.clones):
        print(f"{clone.name} …", file=sys.stderr)
        surveys.append(survey(clone))
        if given.build:
            counts[clone.name], failed = compiled(clone, given.build.split(","), given.jobs, given.keep)
            for unit, why in failed.items():
                print(f"{clone.name}: {unit} does not compile: {why}", file=sys.stderr)
    new = page.Data((page.Table(page.COMPILED, ("Repository", "Before", "After", page.DATE), ()),), ())
    print("\n".join(str(each) for each in new.with_surveys(surveys, counts).all_tables().values() if each.rows), end="")
    if given.write:
        page.write(page.read().with_surveys(surveys, counts))


if __name__ == "__main__":
    main()

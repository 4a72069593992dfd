# SPDX-License-Identifier: Apache-2.0
"""What hipport makes of whole repositories: a section of Markdown for each clone, as in docs/repositories.md.

    python tools/survey_repositories.py CLONE… [--build gfx942,gfx1100] [--jobs N] [--keep DIR]

Nothing is written to the clones. With --build, the clone and a ported copy of it are compiled, both as a PyTorch for
ROCm builds extensions (its own conversion to HIP, then hipcc), which runs their build scripts. --keep leaves the ported
copies there; a second run then compiles only what failed or changed.
"""

from __future__ import annotations

import argparse
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


def counted(rules: Counter[str]) -> str:
    """Return rules and how often they were found, most first."""
    return ", ".join(f"{rule} {count}" for rule, count in rules.most_common()) or "nothing"


def became(ported: Ported, places: Sequence[tuple[Path, Span]]) -> str:
    """Return how many places there are, and how many were rewritten, reported and left as they are."""
    applied: dict[Path, list[Span]] = {}
    said: dict[Path, list[Span]] = {}
    for found in ported.reported:
        kind = applied if found.outcome is Outcome.APPLIED else said
        kind.setdefault(Path(found.path), []).append(found.span)

    def touched(path: Path, span: Span, by: dict[Path, list[Span]]) -> bool:
        return any(other.start < span.end and span.start < other.end for other in by.get(path, ()))

    rewritten = sum(touched(path, span, applied) for path, span in places)
    told = sum(touched(path, span, said) and not touched(path, span, applied) for path, span in places)
    left = len(places) - rewritten - told
    return f"{len(places)}, rewritten {rewritten}, reported {told}" + (f", left as they are {left}" if left else "")


def warp_code(ported: Ported) -> list[str]:
    """Return a line on warp intrinsics and one on asm statements, if there are any."""
    names = load(Path(warp_intrinsics.__file__).with_suffix(".toml"))["helper"]
    pattern = re.compile(rb"(?<![\w:])(?:%s)\b" % b"|".join(sorted((n.encode() for n in names), reverse=True)))
    sources = [source for source in ported.before.sources if isinstance(source, Cpp)]
    intrinsics = [
        (Path(source.path), Span(*match.span())) for source in sources for match in pattern.finditer(source.code)
    ]
    asm = [(Path(source.path), each.span) for source in sources for each in statements(source, ported.before)]
    return [
        f"* {what}: {became(ported, places)}"
        for what, places in (("warp intrinsics", intrinsics), ("asm statements", asm))
        if places
    ]


def survey(clone: Path, archs: str, jobs: int | None, keep: Path | None) -> str:
    """Return the section of one clone."""
    scanned = hipport.scan([clone])
    ported = scanned.ported
    before = ported.before
    cuda = [source for source in before.sources if isinstance(source, Cuda) and source.path.suffix in (".cu", ".cuh")]
    changed: Counter[str] = Counter()
    review: Counter[str] = Counter()
    manual: Counter[str] = Counter()
    for found in ported.reported:
        name = found.rule.partition("/")[0]
        if found.outcome is Outcome.APPLIED:
            changed[name] += 1
            if found.certainty is Certainty.REVIEW:
                review[found.rule] += 1
        elif found.outcome is not Outcome.IGNORED:
            manual[found.rule] += 1
    kinds = Counter(extension.kind for extension in scanned.extensions)
    lines = [
        f"* read: {len(before.sources)} files, {len(cuda)} of them .cu and .cuh; "
        f"{', '.join(f'{count} {kind}' for kind, count in kinds.items()) or 'no extension'}",
        f"* rewritten: {sum(changed.values())} places in {len(ported.changed)} files ({counted(changed)})",
        f"* to be looked at: {counted(review)}",
        f"* left for a person: {counted(manual)}",
        *warp_code(ported),
    ]
    alone = Counter(skipped.kind for skipped in before.skipped)
    if alone:
        names = ", ".join(sorted({f"{each.path} ({each.kind})" for each in before.skipped})[:6])
        lines.append(f"* left alone: {sum(alone.values())}, as {names}")
    plan = hipport.deps([clone])
    actions: dict[str, list[str]] = {}
    for package in plan.packages:
        actions.setdefault(package.action, []).append(package.name)
    packages = "; ".join(f"{action}: {', '.join(names)}" for action, names in actions.items())
    lines.append(f"* packages (ROCm {plan.rocm}): {packages or 'none that matter'}")
    if archs:
        lines += compiled(clone, archs.split(","), jobs, keep)
    commit = commit_of(clone)
    return "\n".join([f"### {clone.name}{f' ({commit})' if commit else ''}", "", *lines, ""])


def compiled(clone: Path, archs: Sequence[str], jobs: int | None, keep: Path | None) -> list[str]:
    """Compile the clone and a ported copy; say how many units went through for each target, and why others did not."""
    target = hipport.Target(tuple(archs))
    with nullcontext(str(keep)) if keep else tempfile.TemporaryDirectory() as folder:
        out = Path(folder, clone.name)
        if not out.exists():
            hipport.save(hipport.rewrite([clone], target=target), out)
        lines = []
        for what, tree in (("before", clone), ("after", out)):
            try:
                built = hipport.build([tree], target=target, env=os.environ, jobs=jobs)
            except Exception as error:
                lines.append(f"* compiled {what}: not: {type(error).__name__}: {str(error).splitlines()[0]}")
                continue
            lines.append(f"* compiled {what}: {units(built)}")
            if what == "after":
                lines += [f"  * {unit}: {why}" for unit, why in failures(built).items()]
        return lines


def units(built: Built) -> str:
    """Return of how many units each target was compiled."""
    device = {(each.path, each.owner) for each in built.compiled if each.target != "host"}
    done: dict[str, list[bool]] = {}
    for each in built.compiled:
        if (each.path, each.owner) in device:
            done.setdefault(each.target, []).append(each.ok)
    text = ", ".join(f"{target} {sum(oks)} of {len(oks)}" for target, oks in done.items())
    hosts = [each.ok for each in built.compiled if (each.path, each.owner) not in device]
    return ", ".join(filter(None, (text, f"C++ {sum(hosts)} of {len(hosts)}" if hosts else ""))) or "no units"


def failures(built: Built) -> dict[str, str]:
    """Return what did not compile, each with the first error of the compiler."""
    found = {str(each.path): each.why for each in built.not_built}
    for each in built.compiled:
        errors = [message for message in each.messages if message.severity == "error"]
        if not each.ok:
            why = f"{errors[0].path}:{errors[0].line}: {errors[0].text}" if errors else "no message"
            found.setdefault(str(each.path), f"{each.target}: {why}")
    return found


def main() -> None:
    """Print a section for each clone."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--build", metavar="GFX,…", default="", help="compile the units that hipcc can be found for")
    parser.add_argument("--jobs", type=int, help="compilers at once; as many as processors if not given")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where ported copies are left")
    given = parser.parse_args()
    for clone in given.clones:
        print(f"{clone.name} …", file=sys.stderr)
        print(survey(clone.resolve(), given.build, given.jobs, given.keep), flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What hipport makes of whole repositories: a section of Markdown for each clone, as in docs/repositories.md.

    python tools/survey_repositories.py CLONE… [--build gfx942,gfx1100]

Nothing is written to the clones. With --build, a ported copy of each is compiled, which runs its build scripts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import hipport
from hipport.finding import Certainty
from hipport.languages.cuda import Cuda
from hipport.pipeline import Outcome


def commit_of(clone: Path) -> str:
    """Return the commit that is checked out, shortened, or nothing for a folder that is no clone."""
    asked = ["git", "-C", str(clone), "rev-parse", "--short=10", "HEAD"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def counted(rules: Counter[str]) -> str:
    """Return rules and how often they were found, most first."""
    return ", ".join(f"{rule} {count}" for rule, count in rules.most_common()) or "nothing"


def survey(clone: Path, archs: str) -> str:
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
        lines.append(f"* compiled: {compiled(clone, archs)}")
    commit = commit_of(clone)
    return "\n".join([f"### {clone.name}{f' ({commit})' if commit else ''}", "", *lines, ""])


def compiled(clone: Path, archs: str) -> str:
    """Port a copy, compile it, and say how many units went through for each target."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "ported")
        hipport.save(hipport.rewrite([clone]), out)
        try:
            built = hipport.build([out], target=hipport.Target(tuple(archs.split(","))), env=os.environ)
        except Exception as error:
            return f"not: {type(error).__name__}: {str(error).splitlines()[0]}"
        done: dict[str, list[bool]] = {}
        for unit in built.units:
            for result in unit:
                done.setdefault(result.target, []).append(result.ok)
        return ", ".join(f"{target} {sum(oks)} of {len(oks)}" for target, oks in done.items()) or "no units"


def main() -> None:
    """Print a section for each clone."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="+", type=Path)
    parser.add_argument("--build", metavar="GFX,…", default="", help="compile the units that hipcc can be found for")
    given = parser.parse_args()
    for clone in given.clones:
        print(f"{clone.name} …", file=sys.stderr)
        print(survey(clone.resolve(), given.build), flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The work that `hipport scan` leaves to a person in public repositories, with a random sample for judging.

    python bench/noise.py CLONE…                 counts, and the decisions that need a person, by group and by rule
    python bench/noise.py CLONE… --draw 30       30 of them at random besides, to be judged one by one
    python bench/noise.py CLONE… --seed 7        with another seed

Decisions are counted as users see them, one for each of the JSON's `decisions`, for each repository: another place
is not another decision. Decisions in documents are counted separately: they are one line. README.md has the results.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hipport import api
from hipport.core.group import Group
from hipport.reporting.grouped_findings import Decision, decisions


def main(arguments: Sequence[str] | None = None) -> None:
    """Scan, count and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="+", type=Path, help="folders of repositories")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="print N decisions at random, for judging")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn by")
    asked = parser.parse_args(arguments)
    found: list[tuple[str, Decision]] = []
    places, messages = 0, set()
    for clone in asked.clones:
        reported = api.scan(clone).ported.reported
        left = decisions(reported)
        lines = {(each.path, each.line, each.rule, each.message) for each in reported if each.needs_person}
        messages |= {message for *_, message in lines}
        places += len(lines)
        found += [(clone.name, decision) for decision in left]
        print(f"{len(left):>5} {len(lines):>6}  {clone.name}", flush=True)
    print(report(found, places, len(messages), len(asked.clones)))
    # Documents are a line in each report, and nobody has to read them one by one.
    judged = [each for each in found if each[1].group is not Group.DOCUMENTS]
    for number, (name, decision) in enumerate(drawn(judged, asked.draw, asked.seed), 1):
        first = decision.places[0]
        print(
            f"\n{number}. {name} {first.path.as_posix()}:{first.line} {decision.certainty} "
            f"[{', '.join(decision.rules)}]"
        )
        print(f"   {len(decision.places)} times: {decision.sentence}")


def report(found: Sequence[tuple[str, Decision]], places: int, messages: int, repositories: int) -> str:
    """Return the result: the work for a person, by group and by rule."""
    groups = Counter(decision.group for _, decision in found)
    rules = Counter(decision.rules[0] for _, decision in found)
    asked = len(found) - groups[Group.DOCUMENTS]
    lines = [
        f"{repositories} repositories: {asked} findings need a person, and {groups[Group.DOCUMENTS]} in documents; "
        f"{places} places, {messages} distinct messages"
    ]
    lines += [f"  {groups[group]:>5}  {group}" for group in Group]
    return "\n".join([*lines, "by rule", *(f"  {count:>5}  {rule}" for rule, count in rules.most_common())])


def drawn(found: Sequence[tuple[str, Decision]], count: int, seed: int) -> Sequence[tuple[str, Decision]]:
    """Return a sample of the findings: the same for the same seed."""
    return random.Random(seed).sample(list(found), min(count, len(found)))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Try inputs for a while, in processes, and print how many; keep the smallest of each kind that breaks a law.

python tests/fuzz/fuzz.py --seconds 600 --jobs 2 [--seed N] [--found FOLDER]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from inputs import trees
from laws import broken


def signature(problem: str) -> str:
    """What stays the same of a problem in another input: no offsets, no names that were made up."""
    return re.sub(r"\d+|b'.*|'.*'", "", problem)[:120]


def smallest(tree: dict[str, bytes], wanted: str, seconds: float) -> dict[str, bytes]:
    """Return a smaller tree that breaks the same law: lines are left out, then bytes, while time is left."""
    until = time.monotonic() + seconds

    def still(candidate: dict[str, bytes]) -> bool:
        return any(signature(each) == wanted for each in broken(candidate))

    for name in tree:
        for cut in (lambda t: t.splitlines(keepends=True), lambda t: re.findall(rb"\w+|\s+|.", t, re.DOTALL), _bytes):
            tree = {**tree, name: _without(cut(tree[name]), lambda text, n=name: still({**tree, n: text}), until)}
    return tree


def _bytes(text: bytes) -> list[bytes]:
    return [text[i : i + 1] for i in range(len(text))]


def _without(pieces: list[bytes], still: Callable[[bytes], bool], until: float) -> bytes:
    size = max(1, len(pieces) // 2)
    while size and time.monotonic() < until:
        at = 0
        while at < len(pieces) and time.monotonic() < until:
            fewer = pieces[:at] + pieces[at + size :]
            if still(b"".join(fewer)):
                pieces = fewer
            else:
                at += size
        size //= 2
    return b"".join(pieces)


def work(number: int, until: float, found: Path, tried, known) -> None:  # type: ignore[no-untyped-def]
    """Try inputs until it is time, and count them."""
    round_ = 0
    while time.time() < until:
        round_ += 1

        @seed(hash((number, round_)))
        @settings(
            max_examples=500, phases=[Phase.generate], database=None, deadline=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(trees())
        def one(tree: dict[str, bytes]) -> None:
            if time.time() > until:
                return
            start = time.process_time()
            problems = broken(tree)
            if (spent := time.process_time() - start) > 5:
                problems.append(f"slow: {sorted(tree)}: {spent:.0f} s")
            tried.value += 1
            for problem in problems:
                what = signature(problem)
                if what not in known:
                    known[what] = problem
                    least = smallest(tree, what, 20)
                    folder = found / f"{len(known):03}"
                    for name, text in least.items():
                        (folder / name).parent.mkdir(parents=True, exist_ok=True)
                        (folder / name).write_bytes(text)
                    print(f"{folder}: {problem}", flush=True)

        one()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"))
    options = parser.parse_args()
    until = time.time() + options.seconds
    with multiprocessing.Manager() as manager:
        known = manager.dict()
        counts = [multiprocessing.Value("q", 0, lock=False) for _ in range(options.jobs)]
        processes = [
            multiprocessing.Process(target=work, args=(options.seed * 1000 + i, until, options.found, counts[i], known))
            for i in range(options.jobs)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        inputs = sum(count.value for count in counts)
        print(f"seed {options.seed}: {inputs} inputs, {len(known)} kinds of broken laws")
        sys.exit(1 if known or any(process.exitcode for process in processes) else 0)


if __name__ == "__main__":
    main()

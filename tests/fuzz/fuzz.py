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
from itertools import product
from pathlib import Path
from typing import Any

from inputs import Random, tree
from laws import broken

#: Seconds of CPU time that no small input may take.
_SLOW = 5


def signature(problem: str) -> str:
    """What stays the same of a problem in another input: no offsets, no names that were made up."""
    return re.sub(r"\d+|b'.*|'.*'", "", problem)[:120]


def smallest(least: dict[str, bytes], wanted: str, seconds: float) -> dict[str, bytes]:
    """Return a smaller tree that breaks the same law: lines are left out, then bytes, while time is left."""
    until = time.monotonic() + seconds
    for name, cut in product(least, (_lines, _tokens, _bytes)):
        others = {other: text for other, text in least.items() if other != name}

        def breaks(text: bytes, name: str = name, others: dict[str, bytes] = others) -> bool:
            return any(signature(each) == wanted for each in broken({name: text, **others}))

        least = {name: _without(cut(least[name]), breaks, until), **others}
    return least


def _lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def _tokens(text: bytes) -> list[bytes]:
    return re.findall(rb"\w+|\s+|.", text, re.DOTALL)


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


def work(number: int, until: float, found: Path, tried: Any, known: Any) -> None:
    """Try inputs until it is time, and count them."""
    chance = Random(number)
    while time.time() < until:
        start = time.process_time()
        given = tree(chance)
        problems = broken(given)
        if (spent := time.process_time() - start) > _SLOW:
            problems.append(f"slow: {', '.join(given)}: {spent:.0f} s")
        tried.value += 1
        for problem in problems:
            what = signature(problem)
            if what in known:
                continue
            known[what] = problem
            folder = found / f"{len(known):03}"
            for name, text in smallest(given, what, 20).items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(text)
            print(f"{folder}: {problem}", flush=True)


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

# SPDX-License-Identifier: Apache-2.0
"""Try inputs for a while, in processes, and print their number; keep the smallest of each kind that breaks a law.

    python tests/fuzz/fuzz.py --seconds 600 --processes 2 [--seed-from N] [--found FOLDER]

Each process has a seed of its own: N, N + 1, and so on. With the same seed a process makes the same inputs.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from inputs import Random, tree
from laws import TARGETS, Tree, broken, suspects

from hipport import Target

#: The number of inputs that are ported side by side.
_TOGETHER = 16
#: The CPU seconds that a small input may take, and the limit for any input.
_SLOW, _ENDLESS = 5, 60
#: So many new objects trigger Python's garbage collector.
_COLLECTED = 200_000
#: Seconds between two lines of progress.
_TOLD = 30


def signature(problem: str) -> str:
    """Return the part of a problem that is the same for other inputs: without offsets and invented names."""
    return re.sub(r"\d+|b'.*|'.*'", "", problem)[:120]


def smallest(least: Tree, target: Target, wanted: str, seconds: float) -> Tree:
    """Return a smaller tree that breaks the same law: files, then lines and bytes are left out, while time is left."""
    until = time.process_time() + seconds

    def breaks(tree: Tree) -> bool:
        return any(signature(each) == wanted for each in problems(tree, target))

    for name in [*least]:
        if breaks(fewer := {other: text for other, text in least.items() if other != name}):
            least = fewer
    for name, cut in product(least, (_lines, _tokens, _bytes)):
        others = {other: text for other, text in least.items() if other != name}

        def still(text: bytes, name: str = name, others: Tree = others) -> bool:
            return breaks({name: text, **others})

        least = {name: _without(cut(least[name]), still, until), **others}
    return least


def _lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def _tokens(text: bytes) -> list[bytes]:
    return re.findall(rb"\w+|\s+|.", text, re.DOTALL)


def _bytes(text: bytes) -> list[bytes]:
    return [text[i : i + 1] for i in range(len(text))]


def _without(pieces: list[bytes], still: Callable[[bytes], bool], until: float) -> bytes:
    size = max(1, len(pieces) // 2)
    while size and time.process_time() < until:
        at = 0
        while at < len(pieces) and time.process_time() < until:
            fewer = pieces[:at] + pieces[at + size :]
            if still(b"".join(fewer)):
                pieces = fewer
            else:
                at += size
        size //= 2
    return b"".join(pieces)


def problems(tree: Tree, target: Target) -> list[str]:
    """Return the laws that a tree breaks; the time limit is one of them."""
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, _ENDLESS)
    try:
        found = broken(tree, target)
    except _Endless:
        found = []
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    slow = time.process_time() - start > _SLOW
    return [*found, f"slow: {', '.join(tree)}"] if slow else found


class _Endless(BaseException):
    """A time limit is exceeded. Not an ordinary exception, so that it does not count as a pass's failure."""


def _end(number: int, frame: object) -> None:
    raise _Endless


def work(number: int, until: float, found: Path, tried: Any, known: Any, places: Any) -> None:
    """Try inputs until the time is over, and count them, and the breaks of each kind."""
    signal.signal(signal.SIGVTALRM, _end)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Most objects of a run die together: looking for cycles among them more often only costs time.
    gc.set_threshold(_COLLECTED, 20, 20)
    chance = Random(number)
    own = 0
    while time.time() < until:
        name = chance.choice(_TARGETS)
        target = TARGETS[name]
        given: list[Tree] = [tree(chance) for _ in range(_TOGETHER)]
        start = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, _ENDLESS)
        try:
            suspected = suspects(given, target)
        except _Endless:
            suspected = given
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        for each in given if time.process_time() - start > _SLOW else suspected:
            for problem in problems(each, target):
                what = signature(problem)
                if what in known:
                    known[what] += 1
                    continue
                known[what] = 1
                own += 1
                folder = found / f"{number}-{own:03}{'@' * bool(name)}{name}"
                for path, text in smallest(each, target, what, 20).items():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(text)
                places[what] = str(folder)
                print(f"{folder}: {problem}", flush=True)
        tried.value += len(given)


# Most inputs are for the most frequent settings.
_TARGETS = (*TARGETS, *[""] * 6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed-from", type=int, default=int(time.time()) * 1000, metavar="N")
    parser.add_argument("--found", type=Path, default=Path("fuzz-found"))
    options = parser.parse_args()
    # Whoever ends this process must end its children: daemons end with it, but not by a signal alone.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(2))
    start = time.time()
    until = start + options.seconds
    with multiprocessing.Manager() as manager:
        known, places = manager.dict(), manager.dict()
        counts = [multiprocessing.Value("q", 0, lock=False) for _ in range(options.processes)]
        processes = [
            multiprocessing.Process(
                target=work, args=(options.seed_from + i, until, options.found, count, known, places), daemon=True
            )
            for i, count in enumerate(counts)
        ]
        for process in processes:
            process.start()
        running = True
        while running:
            wait = time.time() + _TOLD
            for process in processes:
                process.join(max(0.0, wait - time.time()))
            running = any(process.is_alive() for process in processes)
            inputs = sum(count.value for count in counts)
            spent = time.time() - start
            print(
                f"{inputs} inputs in {spent:.0f} s, {inputs / spent:.0f} per second; "
                f"{len(known)} kinds of broken laws, {sum(known.values())} inputs",
                flush=True,
            )
        tell(dict(known), dict(places))
        last = options.seed_from + options.processes - 1
        print(f"total: {inputs} inputs with the seeds {options.seed_from} to {last}, {len(known)} kinds of broken laws")
        ended = [process.exitcode for process in processes if process.exitcode]
        if ended:
            print(f"{len(ended)} processes failed")
        sys.exit(1 if known or ended else 0)


def tell(known: dict[str, int], places: dict[str, str]) -> None:
    """Print each kind of break, with its smallest input."""
    for what, times in sorted(known.items(), key=lambda each: -each[1]):
        print(f"\n{what}: {times} inputs; {places.get(what, 'not reduced')}")
        folder = Path(places.get(what, ""))
        for path in sorted(folder.rglob("*")) if what in places else ():
            if path.is_file():
                print(f"    {path.relative_to(folder).as_posix()}: {path.read_bytes()[:2000]!r}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Print lines, reports and progress."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from hipport.core.terminal import joined, json_for_logs

# Seconds of silence after which the reader of a log may think that hipport hangs.
SILENCE = 30


def colour() -> bool:
    """Whether to print in colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def as_shown() -> dict[str, Any]:
    """Options for a report: in colour and wrapped only on a terminal, since readers of logs need whole lines."""

    return {"colour": colour(), "width": shutil.get_terminal_size().columns if sys.stdout.isatty() else None}


def say(line: str, *, err: bool = False) -> None:
    """Print a line, which may contain names from a tree."""
    click.echo(joined([line]), nl=False, err=err)


def warn(problem: str) -> None:
    """Print a problem, prefixed by the name of the program."""
    say(f"hipport: {problem}", err=True)


def print_json(text: str) -> None:
    """Print JSON, with characters escaped that could control a terminal."""
    click.echo(json_for_logs(text), nl=False)


def listed(paths: tuple[Any, ...]) -> str:
    """Name the first few of some files, and the number of the others."""
    names = [str(path) for path in paths]
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more files"


@contextmanager
def progress_shown() -> Iterator[Callable[[Any], None] | None]:
    """For long work: a progress bar on a terminal; elsewhere an occasional line, for logs."""
    import time

    if not sys.stderr.isatty():
        last = time.monotonic()

        def say(progress: Any) -> None:
            nonlocal last
            if time.monotonic() - last >= SILENCE:
                last = time.monotonic()
                warn(f"{progress.name}, {progress.done} of {progress.total}")

        yield say
        return

    start = time.monotonic()
    bar: Any = None
    task: Any = None

    def tell(progress: Any) -> None:
        nonlocal bar, task
        if bar is None:
            # Loading the progress bar takes longer than most runs.
            if time.monotonic() - start < 0.7:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            bar = Bar(console=Console(stderr=True), transient=True)
            bar.start()
            task = bar.add_task(progress.name, total=progress.total)
        bar.update(task, completed=progress.done, description=progress.name)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def sentences() -> dict[str, str]:
    """Return the first sentence about each pass."""
    from hipport.reporting.explainer import first_sentence
    from hipport_passes import PASSES

    return {each.name: first_sentence(each.doc) for each in PASSES}

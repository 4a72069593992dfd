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

# Seconds after which somebody who only sees a log may take hipport for stuck.
SILENCE = 30


def colour() -> bool:
    """Whether to print in colour."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def as_shown() -> dict[str, Any]:
    """Show a report, in colour and wrapped only on a terminal; readers of logs need whole lines."""

    return {"colour": colour(), "width": shutil.get_terminal_size().columns if sys.stdout.isatty() else None}


def say(line: str, *, err: bool = False) -> None:
    """Print a line, which may have names in it."""
    click.echo(joined([line]), nl=False, err=err)


def warn(problem: str) -> None:
    """Print a problem, with the name of the program."""
    say(f"hipport: {problem}", err=True)


def print_json(text: str) -> None:
    """Print JSON, with names escaped that could control a terminal."""
    click.echo(json_for_logs(text), nl=False)


def listed(paths: tuple[Any, ...]) -> str:
    """Name the first few of some files, and how many there are besides."""
    names = [str(path) for path in paths]
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more files"


@contextmanager
def progress_shown() -> Iterator[Callable[[Any], None] | None]:
    """For work that takes a while, a bar on the terminal; elsewhere a line now and then, for logs of machines."""
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
            # Loading the bar takes longer than most runs.
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
    """Return a sentence about each pass."""
    from hipport.reporting.explainer import first_sentence
    from hipport_passes import PASSES

    return {each.name: first_sentence(each.doc) for each in PASSES}

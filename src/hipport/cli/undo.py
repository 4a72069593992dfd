# SPDX-License-Identifier: Apache-2.0
"""The command `hipport undo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import DONE, PERSON, failing
from hipport.cli.output import listed, say, warn
from hipport.cli.parameters import (
    PATH,
)

if TYPE_CHECKING:
    pass


@click.command()
@click.argument("path", default=".", type=PATH)
def undo(path: Path) -> None:
    """Undo the last rewrite of a tree, byte for byte.

    PATH is the tree, or a file or folder in it; the current folder if not given.
    """
    from hipport import api

    with failing():
        written = api.undo(path)
    for problem in written.lost:
        warn(problem)
    if written.killed:
        what = f"put back {listed(written.recovered)}" if written.recovered else "it had replaced nothing"
        say(f"undid a run of hipport that had been killed: {what}")
    elif written.paths or not written.lost:
        say(f"put back {listed(written.paths)}" if written.paths else "all files were unchanged already")
    sys.exit(PERSON if written.lost else DONE)

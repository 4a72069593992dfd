# SPDX-License-Identifier: Apache-2.0
"""The command `hipport record`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import DONE, FAILED, PERSON, failing
from hipport.cli.output import say
from hipport.cli.parameters import (
    PATH,
    WithProgram,
)

if TYPE_CHECKING:
    pass


@click.command(cls=WithProgram)
@click.argument("out", type=PATH)
@click.option(
    "--module", "modules", multiple=True, metavar="NAME", help="Record only this extension module (repeat for more)."
)
@click.option(
    "--calls",
    type=click.IntRange(min=1),
    default=4,
    help="The number of calls to record for each function; 4 if not given.",
)
@click.pass_context
def record(ctx: click.Context, out: Path, modules: tuple[str, ...], calls: int) -> None:
    """Run a Python program, and record its calls of extensions.

    hipport writes the arguments and results of each call to OUT, a .json file, and to an .npz file beside it. For
    example, on a machine with an NVIDIA GPU: hipport record calls.json -- python train.py. On any other machine,
    `hipport verify EXTENSION --replay calls.json` compares a port with the recording.
    """
    from hipport import api

    command: list[str] = ctx.meta.get("arguments", [])
    if not command:
        raise click.UsageError("no program is given; for example: hipport record OUT -- python train.py")
    with failing():
        status = api.record(command, out, env=os.environ, modules=modules, calls=calls)
    if status != 0:
        click.echo(f"hipport: the program ended with status {status}", err=True)
    if not out.is_file():
        click.echo("hipport: nothing was recorded: no extension module was called", err=True)
        sys.exit(FAILED)
    say(f"wrote {out}")
    sys.exit(DONE if status == 0 else PERSON)

# SPDX-License-Identifier: Apache-2.0
"""The command `hipport doctor`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import DONE, PERSON, failing
from hipport.cli.output import colour, print_json
from hipport.cli.parameters import (
    FORMAT,
    INTERPRETER,
)

if TYPE_CHECKING:
    pass


@click.command()
@click.option("--python", type=INTERPRETER, help="The Python whose PyTorch is checked.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path("/"),
    help="A folder with sys, proc, dev and etc of another machine; hipport reads files and runs nothing.",
)
@FORMAT
def doctor(python: Path | None, root: Path, form: str) -> None:
    """Find what on this machine would break a run on an AMD GPU.

    For each problem, hipport says why and what to do. It checks GPUs, drivers, access, settings and toolchains, and
    adds numbers with PyTorch in a child process.
    """
    from hipport import api
    from hipport.reporting import report

    with failing():
        diagnosis = api.doctor(env=os.environ, root=root, python=python or Path(sys.executable))
    if form == "json":
        print_json(report.diagnosis_as_json(diagnosis))
    else:
        click.echo(report.diagnosis_as_text(diagnosis, colour=colour()), nl=False)
    sys.exit(DONE if diagnosis.ok else PERSON)

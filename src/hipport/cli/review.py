# SPDX-License-Identifier: Apache-2.0
"""The command `hipport review`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import DONE, PERSON, as_options, configured, failing
from hipport.cli.output import as_shown, print_json
from hipport.cli.parameters import (
    ALL,
    FORMAT,
    PATH,
    ROCM,
    RULES,
    TARGET,
    WARP,
)

if TYPE_CHECKING:
    pass


@click.command()
@click.argument("paths", nargs=-1, type=PATH)
@TARGET
@ROCM
@WARP
@RULES
@ALL
@FORMAT
def review(
    paths: tuple[Path, ...],
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    whole: bool,
    form: str,
) -> None:
    """List the assumptions of an earlier rewrite.

    PATHS are trees that `rewrite` has rewritten in place; the current folder if not given. The lines are today's. Give
    the options of the rewrite again. When you have checked an assumption, write the comment `hipport: ignore[RULE] why`
    on its line in the rewritten tree; in a source that is not rewritten yet, that comment keeps the line as it is.
    This command writes nothing.
    """
    from hipport import api
    from hipport.reporting import report

    paths = paths or (Path(),)
    with failing():
        said = as_options(configured(paths, None, target, rocm, warp, rules))
        reviewed = api.review(paths, **said)
    if form == "json":
        print_json(report.reviewed_as_json(reviewed))
    else:
        click.echo(report.reviewed_as_text(reviewed, whole=whole, **as_shown()), nl=False)
    sys.exit(PERSON if any(each.reported for each in reviewed) else DONE)

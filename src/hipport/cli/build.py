# SPDX-License-Identifier: Apache-2.0
"""The command `hipport build`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import DONE, PERSON, configured, failing, say_if_not_contained
from hipport.cli.output import colour, print_json, progress_shown, warn
from hipport.cli.parameters import (
    ENV,
    FORMAT,
    INTERPRETER,
    PATHS,
    TARGET,
)

if TYPE_CHECKING:
    pass


@click.command()
@PATHS
@TARGET
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="The number of parallel compilers; the number of processors if not given.",
)
@click.option(
    "--prove",
    is_flag=True,
    help="Ask LLVM's uniformity analysis which lanes reach collectives and barriers, and compare with the "
    "rewrite's proofs.",
)
@click.option("--python", type=INTERPRETER, help="The Python whose PyTorch the extensions are built against.")
@ENV
@FORMAT
def build(
    paths: tuple[Path, ...],
    target: str | None,
    jobs: int | None,
    prove: bool,
    python: Path | None,
    pass_on: tuple[str, ...],
    form: str,
) -> None:
    """Compile every unit for every target with hipcc.

    To learn the units, this command runs setup.py files and `make --dry-run`.

    That code sees only the environment variables that build tools need (and --env). It cannot write outside of
    hipport's copies. It has limits on memory and time, and leaves no process behind. It can read
    files and use the network. If the machine has neither Landlock nor bubblewrap, writing is not contained, and hipport
    says so. See docs/explanation/security.md.
    """
    from hipport import api
    from hipport.reporting import report

    with failing():
        config = configured(paths, None, target, None)
        say_if_not_contained()
        with progress_shown() as tell:
            built = api.build(
                paths,
                target=config.target,
                exclude=config.exclude,
                exclude_base=config.path.parent if config.path else None,
                env=os.environ,
                pass_on=pass_on,
                python=python or Path(sys.executable),
                jobs=jobs,
                prove=prove,
                accept=config.accept,
                rules=api.read_rules(config.rules, config.given) if prove else None,
                on_progress=tell,
            )
        left = api.not_ported(built, target=config.target, accept=config.accept) if form == "text" else ()
    if form == "json":
        print_json(report.built_as_json(built))
    else:
        click.echo(report.built_as_text(built, colour=colour()), nl=False)
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        warn(f"{left[0]}{more} failed and is not ported, or not all of it: `hipport rewrite` first, or `hipport port`")
    if built.not_kept:
        warn(f"{built.not_kept}; these results are not kept, and the next build compiles again")
    # A user who asks for a proof must not mistake its absence for success.
    asked = not (prove and built.oracle is not None and (built.oracle.why_not or built.oracle.not_judged))
    sys.exit(DONE if built.ok and asked else PERSON)

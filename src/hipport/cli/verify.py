# SPDX-License-Identifier: Apache-2.0
"""The command `hipport verify`."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.outcome import DONE, PERSON, configured, failing, say_if_not_contained
from hipport.cli.output import colour, print_json, progress_shown
from hipport.cli.parameters import (
    ENV,
    FORMAT,
    INTERPRETER,
    JOBS,
    PATH,
    PATHS,
    PYTHON,
    REPLAY,
    ROCM,
    TARGET,
    TIMEOUT,
    WARP,
    WithProgram,
)

if TYPE_CHECKING:
    pass


def _orders(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Reject an invalid order of threads."""
    for value in values:
        if re.fullmatch(r"forward|reverse|random(:[0-9]{1,18})?", value) is None:
            raise click.BadParameter(f"{value!r} is not forward, reverse or random:SEED, a number of up to 18 digits")
    return values


@click.command(cls=WithProgram)
@PATHS
@click.option("--cases", type=PATH, help="The cases of an extension; cases.py beside its setup.py if not given.")
@REPLAY
@click.option("--case", "names", multiple=True, metavar="NAME", help="Run only this case (repeat for more).")
@click.option(
    "--wave",
    "waves",
    type=click.Choice(["32", "64"]),
    multiple=True,
    help="Lanes of a wavefront; both if not given.",
)
@click.option(
    "--order",
    "orders",
    multiple=True,
    metavar="ORDER",
    callback=_orders,
    help="The order of threads and blocks: forward, reverse or random:SEED (repeat for more); forward, reverse and "
    "random:1 if not given.",
)
@click.option("--original-only", is_flag=True, help="Do not port: run the sources as CUDA, with 32 lanes.")
@click.option(
    "--mutation-score",
    is_flag=True,
    help="Print the mutation score: how many wrong ports the cases notice.",
)
@click.option(
    "--sanitize",
    type=click.Choice(["address", "undefined", "bounds"]),
    multiple=True,
    help="Compile with a sanitizer (programs only).",
)
@click.option("--races", is_flag=True, help="Look for data races; this is slow (programs only).")
@TIMEOUT
@JOBS
@PYTHON
@ENV
@click.option("--no-gpu", is_flag=True, help="Do not run the port on this machine's AMD GPU, if there is one.")
@click.option(
    "--gpu-python",
    type=INTERPRETER,
    help="The Python that has PyTorch for ROCm, for extensions on the GPU; that of --python if not given.",
)
@TARGET
@ROCM
@WARP
@FORMAT
@click.pass_context
def verify(
    ctx: click.Context,
    paths: tuple[Path, ...],
    cases: Path | None,
    recording: Path | None,
    names: tuple[str, ...],
    waves: tuple[str, ...],
    orders: tuple[str, ...],
    original_only: bool,
    mutation_score: bool,
    sanitize: tuple[str, ...],
    races: bool,
    timeout: float,
    jobs: int | None,
    python: Path | None,
    pass_on: tuple[str, ...],
    no_gpu: bool,
    gpu_python: Path | None,
    target: str | None,
    rocm: str | None,
    warp: str | None,
    form: str,
) -> None:
    """Run original and port on the CPU, and report differences.

    The original runs with 32 lanes, and the port with 32 and 64. If the machine has an AMD GPU that works, the port is
    also built with hipcc and runs there.

    PATHS are the sources of one program, run with ARGUMENTS, or the folder of a PyTorch extension that has cases.py.
    hipport ports them in memory and writes nothing. If the tree was rewritten in place, the original is the one that
    hipport saved, and the port is the tree as it is now. This command runs code of the tree.

    That code sees only the environment variables that build tools need (and --env). It cannot write outside of
    hipport's copies and, for a program, the current folder. It has limits on memory and time, and leaves no process
    behind. It can read files and use the network. If the machine has neither Landlock nor bubblewrap, writing is not
    contained, and hipport says so. See docs/explanation/security.md.
    """
    from hipport import api
    from hipport.reporting import verify_report
    from hipport.verifying.extension_verifier import BadCases

    arguments: list[str] = ctx.meta.get("arguments", [])
    checks = (*sanitize, "thread") if races else sanitize
    if races and "address" in sanitize:
        raise click.UsageError(
            "--races and --sanitize address exclude each other: a compiler can use only one of them; give one"
        )
    if checks and mutation_score:
        raise click.UsageError("--mutation-score runs without --races and --sanitize; give one of them")
    with failing():
        config = configured(paths, None, target, rocm, warp)
        options: dict[str, Any] = {
            "env": os.environ,
            "pass_on": pass_on,
            "target": config.target,
            "exclude": config.exclude,
            "port": not original_only,
            "waves": [int(wave) for wave in waves] or None,
            "orders": list(orders) or None,
            "seconds": timeout,
            "jobs": jobs,
        }
        is_program = recording is None and (bool(arguments) or not api.has_cases(paths, cases))
        if recording is not None and (mutation_score or cases or names or arguments or len(paths) != 1):
            raise BadCases("--replay is for one extension, and takes the place of cases")
        if is_program and (cases or names):
            raise BadCases("--cases and --case are for extensions, not for programs")
        if not is_program:
            if checks:
                raise BadCases("--races and --sanitize are for programs, not for extensions")
            options |= {"cases": cases, "names": names, "python": python or Path(sys.executable)}
        say_if_not_contained()
        with progress_shown() as tell:
            if recording is not None:
                options |= {"gpu": not no_gpu, "gpu_python": gpu_python}
                replayed = api.replay(paths[0], recording, on_progress=tell, **options)
            elif mutation_score:
                biting = api.mutation_score(paths, arguments, on_progress=tell, **options)
            elif is_program:
                options["gpu"] = not no_gpu
                verified = api.verify_program(paths, arguments, sanitize=checks, on_progress=tell, **options)
            else:
                options |= {"gpu": not no_gpu, "gpu_python": gpu_python}
                verified = api.verify(paths[0], on_progress=tell, **options)
    if mutation_score:
        if form == "json":
            print_json(verify_report.mutation_score_as_json(biting))
        else:
            click.echo(verify_report.mutation_score_as_text(biting, colour=colour()), nl=False)
        sys.exit(PERSON if biting.weak else DONE)
    if recording is not None:
        if form == "json":
            values = [verify_report.as_values(each) for each in replayed]
            print_json(json.dumps(values, indent=2, allow_nan=False) + "\n")
        else:
            click.echo("\n".join(verify_report.as_text(each, colour=colour()) for each in replayed), nl=False)
        sys.exit(DONE if replayed and all(each.ok for each in replayed) else PERSON)
    if form == "json":
        print_json(verify_report.as_json(verified))
    else:
        click.echo(verify_report.as_text(verified, colour=colour()), nl=False)
    sys.exit(DONE if verified.ok else PERSON)

# SPDX-License-Identifier: Apache-2.0
"""The command `hipport rewrite`."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.outcome import as_options, configured, failing, leave
from hipport.cli.output import as_shown, listed, print_json, progress_shown, say, sentences, warn
from hipport.cli.parameters import (
    ACCEPT,
    ALL,
    FORMAT_OF_FINDINGS,
    OUT,
    PATHS,
    ROCM,
    RULES,
    TARGET,
    WARP,
)
from hipport.core.terminal import joined

if TYPE_CHECKING:
    pass


@click.command()
@PATHS
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change or needs a person.")
@click.option("--diff", is_flag=True, help="Write nothing; print the changes as a patch.")
@OUT
@ACCEPT
@TARGET
@ROCM
@WARP
@RULES
@click.option(
    "--device-agnostic",
    is_flag=True,
    help="Let Python that requires a GPU also run on a CPU; with a GPU nothing changes. The comment "
    "`hipport: device-agnostic` does so for one file.",
)
@click.option(
    "--staged",
    is_flag=True,
    help="The paths are staged files, as in a Git hook. hipport skips files that it does not read, and fails if "
    "a helper "
    "header is not in Git. It asks Git.",
)
@ALL
@FORMAT_OF_FINDINGS
def rewrite(
    paths: tuple[Path, ...],
    check: bool,
    diff: bool,
    out: Path | None,
    accept: str | None,
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    device_agnostic: bool,
    staged: bool,
    whole: bool,
    form: str,
) -> None:
    """Port files and folders, in place: all files or none.

    `hipport undo` restores the originals. A second run changes nothing.
    """
    from hipport import api
    from hipport.reporting import report

    # A rewrite creates many small objects that live to its end: garbage collection takes a sixth of its time.
    gc.disable()
    if out is not None and (check or diff):
        raise click.UsageError("--out writes, and --check and --diff do not: give one of them")
    if out is not None and staged:
        raise click.UsageError("--staged is for the files of a commit, and --out writes a copy: leave --out out")
    with failing():
        config = configured(paths, accept, target, rocm, warp, rules)
        would = check or diff
        recovered = () if would or out else api.recover([path for path in paths if path.exists()], warn)
        with progress_shown() as tell:
            ported = api.rewrite(
                paths,
                **as_options(config),
                device_agnostic=device_agnostic or None,
                repository=out is None,
                staged=staged,
                on_progress=tell,
            )
        # Asked before anything is written: Git may fail.
        left_out = api.left_out(ported, os.environ) if staged else {}
        # If a pass failed, nothing is written, and the report says so first.
        would = would or bool(ported.failures)
        if not would:
            api.save(ported, out, paths)
    if form == "sarif":
        print_json(report.as_sarif(ported, sentences(), would=would))
    elif diff and form == "text":
        patch = report.as_diff(ported)
        if sys.stdout.isatty():
            shown = patch.decode("utf-8", "surrogateescape").split("\n")[:-1]
            click.echo(joined(line.expandtabs() for line in shown), nl=False)
        else:
            sys.stdout.buffer.write(patch)
            sys.stdout.buffer.flush()
    elif form == "json":
        more: dict[str, Any] = {"root": str(ported.before.root), "written": not would}
        if diff:
            more["diff"] = report.as_diff(ported).decode("utf-8", "surrogateescape")
        print_json(report.as_json(ported, would=would, **more))
    else:
        click.echo(report.as_text(ported, would=would, whole=whole, **as_shown()), nl=False)
        if not would and out is None and any(report.assumed(each) for each in ported.reported):
            say("`hipport review` lists the assumptions again")
    if recovered:
        say(f"first restored the files that a killed run had left half-written: {listed(recovered)}", err=True)
    for header, path in left_out.items():
        say(f"{path} includes {header}, which is not in Git: git add {shlex.quote(str(header))}", err=True)
    leave(ported, changes_count=check or staged, person=bool(left_out))

# SPDX-License-Identifier: Apache-2.0
"""The command `hipport deps`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import DONE, PERSON, as_options, configured, failing
from hipport.cli.output import print_json
from hipport.cli.parameters import (
    FORMAT,
    INTERPRETER,
    PATHS,
    RULES,
    TARGET,
)

if TYPE_CHECKING:
    pass


@click.command()
@PATHS
@click.option(
    "--script", is_flag=True, help="Print a shell script that installs the packages and never replaces PyTorch."
)
@click.option(
    "--check",
    is_flag=True,
    help="Run each package's smallest operator and say which back end it uses; installs nothing.",
)
@click.option("--python", type=INTERPRETER, help="The Python that --check runs; this one if not given.")
@click.option("--rocm", metavar="X.Y", help="The ROCm to plan for; the one that suits the packages if not given.")
@TARGET
@RULES
@FORMAT
def deps(
    paths: tuple[Path, ...],
    script: bool,
    check: bool,
    python: Path | None,
    rocm: str | None,
    target: str | None,
    rules: tuple[Path, ...],
    form: str,
) -> None:
    """Plan how to install a repository's packages on ROCm.

    The plan has the release of ROCm, the packages to leave out, commands and checks. PATHS is the repository. This
    command installs nothing and writes nothing.
    """
    from hipport import api
    from hipport.toolchain import install_plan
    from hipport.workspace.config import parse_rocm

    if script and (check or form == "json"):
        raise click.UsageError("--script prints only the script; leave out --check and --format json")
    evidence: tuple[install_plan.Checked, ...] | None = None
    with failing():
        options = as_options(configured(paths, None, target, None, None, rules))
        del options["accept"]
        plan = api.deps(paths, rocm=parse_rocm(rocm) if rocm else None, **options)
        if check:
            evidence = install_plan.check(plan, python=python or Path(sys.executable), env=os.environ)
    if script:
        # Names of files are written as their bytes, UTF-8 or not.
        click.echo(os.fsencode(install_plan.as_script(plan)), nl=False)
    elif form == "json":
        print_json(install_plan.as_json(plan, evidence))
    elif evidence is not None:
        click.echo(install_plan.evidence_as_text(evidence), nl=False)
    else:
        click.echo(install_plan.as_text(plan), nl=False)
    if evidence is not None:
        sys.exit(DONE if all(each.ok or each.optional for each in evidence) else PERSON)
    sys.exit(PERSON if plan.needs_person else DONE)

# SPDX-License-Identifier: Apache-2.0
"""The command `hipport port`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import DONE, PERSON, as_options, configured, failing, say_if_not_contained
from hipport.cli.output import colour, print_json, progress_shown, warn
from hipport.cli.parameters import (
    ACCEPT,
    ENV,
    FILE,
    FORMAT,
    JOBS,
    OUT,
    PATH,
    PATHS,
    PYTHON,
    REPLAY,
    ROCM,
    RULES,
    TARGET,
    TIMEOUT,
    WARP,
    WithProgram,
)

if TYPE_CHECKING:
    pass


@click.command(cls=WithProgram)
@PATHS
@OUT
@click.option(
    "--manifest",
    metavar="FILE",
    type=PATH,
    help="Write the evidence to FILE as JSON, and beside it as text (.txt); with --out, DIR/hipport-port.json if not "
    "given.",
)
@click.option("--cases", type=FILE, help="The cases of the extension; cases.py beside its setup.py if not given.")
@REPLAY
@click.option("--no-build", is_flag=True, help="Do not compile.")
@click.option("--no-prove", is_flag=True, help="Do not ask LLVM which lanes reach collectives and barriers.")
@click.option("--no-verify", is_flag=True, help="Do not run anything on the CPU.")
@TIMEOUT
@JOBS
@PYTHON
@ENV
@ACCEPT
@TARGET
@ROCM
@WARP
@RULES
@FORMAT
@click.pass_context
def port(
    ctx: click.Context,
    paths: tuple[Path, ...],
    out: Path | None,
    manifest: Path | None,
    cases: Path | None,
    recording: Path | None,
    no_build: bool,
    no_prove: bool,
    no_verify: bool,
    timeout: float,
    jobs: int | None,
    python: Path | None,
    pass_on: tuple[str, ...],
    accept: str | None,
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    form: str,
) -> None:
    """Rewrite, verify and build, and report the evidence.

    This command runs code of the tree. Before it writes anything, it runs original and port on the CPU: the cases of
    an extension or, with ARGUMENTS, a program. It runs setup.py to learn how to compile. The report also says
    what was not checked. The exit status is 1 if a step was not possible.

    That code sees only the environment variables that build tools need (and --env). It cannot write outside of
    hipport's copies and, for a program, the current folder. It has limits on memory and time, and leaves no process
    behind. It can read files and use the network. If the machine has neither Landlock nor bubblewrap, writing is not
    contained, and hipport says so. See docs/explanation/security.md.
    """
    from hipport import api
    from hipport.core import placing, reading
    from hipport.reporting import evidence

    with failing("`hipport undo` takes back whatever was written"):
        config = configured(paths, accept, target, rocm, warp, rules)
        if out is None:
            api.recover([path for path in paths if path.exists()], warn)
        file = manifest or (out / "hipport-port.json" if out else None)
        # The text for people goes beside the manifest, unless that is a device or a pipe.
        beside = file.with_suffix(".txt") if file and (file.is_file() or not file.exists()) else None
        for each in (file, beside):
            if each is not None:
                placing.check_named(each, paths, coming=out)
                if manifest is not None and not evidence.is_manifest(reading.read_or_nothing(each)):
                    raise placing.Refused([f"{each}: exists, and is not a manifest of hipport's; give another file"])
        # The copy contains the tree's files, and a link of one of these names would lead elsewhere.
        for path in (each for each in paths if out and manifest is None and each.is_dir()):
            for suffix in (".json", ".txt"):
                placing.check_named(path / f"hipport-port{suffix}", [path])
        if not (no_build and no_verify):
            say_if_not_contained()
        with progress_shown() as tell:
            found = api.port(
                paths,
                out,
                ctx.meta.get("arguments", ()),
                **as_options(config),
                env=os.environ,
                pass_on=pass_on,
                python=python or Path(sys.executable),
                cases=cases,
                recording=recording,
                declined=[
                    name for name, left in (("build", no_build), ("prove", no_prove), ("verify", no_verify)) if left
                ],
                seconds=timeout,
                jobs=jobs,
                on_progress=tell,
            )
        if file is not None:
            trees = [found.source, found.root]
            try:
                placing.write_named(file, evidence.as_json(found).encode(), trees)
                if beside is not None:
                    placing.write_named(beside, evidence.as_text(found).encode("utf-8", "replace"), trees)
            except placing.Refused as error:
                where = f"in {out}" if out else "written; `hipport undo` takes it back"
                raise placing.Refused(
                    [*error.problems, f"only the evidence is lacking: the port is {where}"]
                ) from error
    if form == "json":
        print_json(evidence.as_json(found))
    else:
        click.echo(evidence.as_text(found, colour=colour()), nl=False)
    sys.exit(DONE if found.ok else PERSON)

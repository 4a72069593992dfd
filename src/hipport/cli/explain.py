# SPDX-License-Identifier: Apache-2.0
"""The command `hipport explain`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from hipport.cli.outcome import as_options, configured, failing
from hipport.cli.output import colour, print_json
from hipport.cli.parameters import (
    FORMAT,
    ROCM,
    RULES,
    TARGET,
    WARP,
)

# No file has lines with longer numbers, and Python converts none of more than 4300 digits.
_PLACE = re.compile(r"(.+?):0*([0-9]{1,9})[0-9]*(?::[0-9]+|(?P<range>-[0-9]+))?")


class _AboutOptions(click.Command):
    """A command whose argument may look like an option: `-use_fast_math` must not be parsed as `-h`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = {option for parameter in self.get_params(ctx) for option in parameter.opts}
        theirs = [arg for arg in args if re.match(r"--?\w", arg) and arg.partition("=")[0] not in ours]
        rest = [arg for arg in args if arg not in theirs and arg != "--"]
        return super().parse_args(ctx, [*rest, "--", *theirs] if theirs else args)


@click.command(cls=_AboutOptions)
@click.argument("name")
@TARGET
@ROCM
@WARP
@RULES
@FORMAT
def explain(
    name: str, target: str | None, rocm: str | None, warp: str | None, rules: tuple[Path, ...], form: str
) -> None:
    """Explain what hipport does with a name or a line, and why.

    NAME is a pass, a rule (the words in brackets after a message), the number of a pitfall, a name of CUDA, a header, a
    PTX instruction, or an option of nvcc. With FILE:LINE, hipport shows the findings in that line, the collectives and
    barriers that stay as they are, and the proof of each.
    """
    from hipport import api
    from hipport.reporting import explainer, report
    from hipport.workspace.discovery import NotFound

    if not name.strip():
        raise click.BadParameter("an empty name; for example: hipport explain cudaMalloc", param_hint="'NAME'")
    place = _PLACE.fullmatch(name)
    if place and place["range"] and Path(place[1]).is_file():
        raise click.BadParameter(
            f"{name}: hipport explains one line, not a range of lines; ask for each line: {place[1]}:{place[2]}. "
            f"All findings of the file: hipport scan {place[1]}",
            param_hint="'NAME'",
        )
    if place and Path(place[1]).is_file():
        with failing():
            said = as_options(configured((Path(place[1]),), None, target, rocm, warp, rules))
            options = {key: said[key] for key in ("target", "exclude", "exclude_base", "rules") if key in said}
            explained = api.explain_place(place[1], int(place[2]), **options)
        if form == "json":
            print_json(report.place_as_json(explained))
        else:
            click.echo(report.place_as_text(explained, colour=colour()), nl=False)
        return
    with failing():
        said = as_options(configured((Path(),), None, target, rocm, warp, rules))
        try:
            explanation = api.explain(name, target=said["target"], rules=said["rules"])
        except explainer.Unknown as unknown:
            if place is None:
                raise
            what = "not a regular file" if os.path.lexists(place[1]) else "there is no such file"
            raise NotFound(f"{place[1]}: {what}, and {name} is not a known name either") from unknown
    if form == "json":
        print_json(report.explanation_as_json(explanation))
    else:
        click.echo(report.explanation_as_text(explanation, colour=colour()), nl=False)

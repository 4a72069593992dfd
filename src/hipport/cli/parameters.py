# SPDX-License-Identifier: Apache-2.0
"""Arguments and options that several commands share."""

from __future__ import annotations

import math
import os
import re
import shutil
from pathlib import Path
from typing import Any

import click

from hipport.core.reading import is_file


class _Path(click.Path):
    """A path. An empty one, from an unset variable, must not mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty path; the current folder is .", param, ctx)
        return super().convert(value, param, ctx)


class _File(_Path):
    """A file that is read later, perhaps after minutes, and that must exist already."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if not is_file(path):
            self.fail(
                f"{path}: {'not a regular file' if os.path.lexists(path) else 'there is no such file'}", param, ctx
            )
        return path


class _Seconds(click.FloatRange):
    """A time limit: a number that clocks can compare with, so not `nan` or `inf`."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a number of seconds; the largest is {self.max:.0f}", param, ctx)
        return seconds


def _names(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Reject names of variables that would pass nothing on."""
    for value in values:
        if not re.fullmatch(r"[^=\0]+", value):
            raise click.BadParameter(f"{value!r} is not a name; set the variable before, and give its name alone")
        if value not in os.environ:
            raise click.BadParameter(f"{value} is not set, so there is nothing to pass on")
    return values


class _Interpreter(_Path):
    """A Python interpreter, checked when the command line is parsed, not when it is needed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        # As a shell finds it. In a virtual environment it is a link, whose place decides which packages it has.
        found = shutil.which(path)
        if found is None:
            what = "it cannot be executed" if path.exists() else "there is no such file"
            self.fail(f"{path}: {what}; give the path of a Python, for example venv/bin/python", param, ctx)
        return Path(found).absolute()


PATH = _Path(path_type=Path)


FILE = _File(path_type=Path)


INTERPRETER = _Interpreter(path_type=Path)


PATHS = click.argument("paths", nargs=-1, required=True, type=PATH)


TARGET = click.option("--target", metavar="GFX,…", help="The GPUs that the result is for; gfx942,gfx1100 if not given.")


ROCM = click.option("--rocm", metavar="X.Y", help="The oldest ROCm that must build the result; 6.4 if not given.")


WARP = click.option(
    "--warp",
    type=click.Choice(["logical32", "native"]),
    help="The warp on AMD: 32 lanes on every GPU (logical32, if not given), or the whole wavefront (native). The "
    "comment `hipport: warp=native` selects native for a kernel, or at the top of a file for the file.",
)


ACCEPT = click.option(
    "--accept",
    type=click.Choice(["safe", "review"]),
    help="Make only safe changes, or those for review too; review if not given.",
)


RULES = click.option(
    "--rules",
    multiple=True,
    type=PATH,
    help="A TOML file with your own rows for the tables of passes (repeat for more).",
)


OUT = click.option("--out", metavar="DIR", type=PATH, help="Write a ported copy to the new folder DIR.")


REPLAY = click.option(
    "--replay",
    "recording",
    type=FILE,
    help="Use calls that `hipport record` recorded, instead of cases.",
)


TIMEOUT = click.option(
    "--timeout", type=_Seconds(1, 1_000_000), default=120.0, help="Seconds for one run; 120 if not given."
)


JOBS = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="The number of parallel runs and compilers; the number of processors if not given.",
)


PYTHON = click.option("--python", type=INTERPRETER, help="For extensions: the Python that has PyTorch.")


ENV = click.option(
    "--env",
    "pass_on",
    multiple=True,
    metavar="NAME",
    callback=_names,
    help="An environment variable that code of the tree may see, in addition to those that build tools need "
    "(repeat for "
    "more).",
)


FORMAT = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Text for people, or JSON for programs.",
)


ALL = click.option("--all", "whole", is_flag=True, help="Show every place of each finding, and findings in documents.")


FORMAT_OF_FINDINGS = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="Text for people, JSON for programs, or SARIF for code hosts and editors.",
)


class WithProgram(click.Command):
    """A command whose arguments after `--` are for the program that it runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta["arguments"] = args[:at], args[at + 1 :]
            if not ctx.meta["arguments"]:
                raise click.UsageError(
                    "the arguments of the program are missing after `--`. Leave `--` out for a "
                    "program without arguments, and name its source files in place of its folder",
                    ctx,
                )
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGUMENTS…]"]

# SPDX-License-Identifier: Apache-2.0
"""Start and end a command: its configuration, its errors, and its exit status."""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.output import warn
from hipport.core.terminal import block, joined

if TYPE_CHECKING:
    from hipport.engine.outcomes import Ported
    from hipport.workspace.config import Config

DONE, PERSON, FAILED = 0, 1, 2


@contextmanager
def failing(state: str = "nothing was changed") -> Iterator[None]:
    """Turn expected errors into a message and exit status 2. `state` describes the tree after an interruption."""
    from hipport.workspace import config, discovery, writing

    problems: tuple[str, ...]
    try:
        yield
        return
    except writing.Refused as error:
        problems = error.problems
    except (config.BadConfig, discovery.NotFound, ValueError) as error:
        problems = (str(error),)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else "" if _is_here() else "the current folder: "
        problems = (f"{what}{error.strerror or error}",)
    except Exception as error:
        # Compared by name, because only some commands load the modules that raise these.
        if type(error).__name__ in (
            "NoToolchain",
            "NoCompiler",
            "NoPyTorch",
            "NoTorch",
            "BadCases",
            "NotBuildable",
            "NoOriginal",
            "NotARecording",
            "Unknown",
            "Impossible",
        ):
            problems = tuple(block(str(error)))
        elif type(error).__name__ == "NotCompiled":
            problems = tuple(dict.fromkeys(_compiler_said(error))) or tuple(block(str(error)))
        else:
            click.echo(joined(traceback.format_exc().splitlines()), nl=False, err=True)
            problems = (f"this is a defect of hipport; {state}. Please report it with the lines above",)
    except KeyboardInterrupt:
        problems = (f"interrupted; {state}",)
    for problem in problems:
        warn(problem)
    sys.exit(FAILED)


def _is_here() -> bool:
    """Whether the current folder is still there."""
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def _compiler_said(error: Exception) -> Iterator[str]:
    """The first errors of a compiler, at the user's lines."""
    messages = [each for each in getattr(error, "messages", ()) if each.severity == "error"]
    for each in messages[:10]:
        yield f"{each.path}:{each.line}: {each.text}" if each.line else each.text
    if len(messages) > 10:
        yield f"and {len(messages) - 10} more errors"
    left = getattr(error, "left", ())
    for each in left[:10]:
        yield f"left to a person: {each.path}:{each.line}: {each.message} [{each.rule}]"
    if len(left) > 10:
        yield f"and {len(left) - 10} more that are left to a person"
    absent = getattr(error, "absent", "")
    if absent and not left:
        yield absent
    if messages:
        yield f"the executor could not compile {getattr(error, 'of', '') or 'this'}: nothing was run"


def say_if_not_contained() -> None:
    """Print a warning if code of the tree can write wherever the user can."""
    from hipport.toolchain.processes import guarded_by

    if not guarded_by():
        click.echo(
            "hipport: code of the tree runs, and can write wherever you can: this machine has neither Landlock (Linux "
            "5.13 or later) nor bubblewrap. Install bubblewrap, or use a container, if you do not trust the tree",
            err=True,
        )


def configured(
    paths: tuple[Path, ...],
    accept: str | None,
    target: str | None,
    rocm: str | None,
    warp: str | None = None,
    rules: tuple[Path, ...] = (),
) -> Config:
    """Return the nearest configuration, overridden by the options of the command line."""
    from hipport.workspace import config

    first = paths[0].resolve()
    settings = config.read(first if first.is_dir() else first.parent)
    if target is not None:
        settings = replace(settings, target=replace(settings.target, archs=config.parse_archs(target)))
    if rocm is not None:
        settings = replace(settings, target=replace(settings.target, rocm=config.parse_rocm(rocm)))
    if warp is not None:
        settings = replace(settings, target=replace(settings.target, warp=warp))
    if accept is not None:
        settings = replace(settings, accept=config.parse_accept(accept))
    return replace(settings, given=rules)


def as_options(config: Config) -> dict[str, Any]:
    """Return a configuration as arguments for the library's functions."""
    from hipport.api import read_rules

    base = config.path.parent if config.path else None
    return {
        "target": config.target,
        "accept": config.accept,
        "exclude": config.exclude,
        "exclude_base": base,
        "rules": read_rules(config.rules, config.given),
    }


def leave(ported: Ported, *, changes_count: bool, person: bool = False) -> None:
    """Exit with the status that the result of a port requires."""
    if ported.failures:
        sys.exit(FAILED)
    person = person or any(reported.needs_person for reported in ported.reported)
    # What hipport could not read is not ported.
    person = person or any(skipped.kind == "refused" for skipped in ported.before.skipped)
    changed = bool(ported.changed or ported.created)
    # Python collects garbage at exit: frozen objects are not traversed.
    gc.freeze()
    sys.exit(PERSON if person or (changes_count and changed) else DONE)

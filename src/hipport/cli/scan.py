# SPDX-License-Identifier: Apache-2.0
"""The command `hipport scan`."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import as_options, configured, failing, leave
from hipport.cli.output import as_shown, print_json, progress_shown, sentences
from hipport.cli.parameters import (
    ALL,
    FORMAT_OF_FINDINGS,
    PATHS,
    ROCM,
    RULES,
    TARGET,
    WARP,
)
from hipport.core.terminal import joined

if TYPE_CHECKING:
    from hipport.engine.outcomes import Scanned


def scanned_text(scanned: Scanned) -> str:
    """Return the extensions, with the signs that they are for ROCm, as text for people."""
    lines = []
    for extension in scanned.extensions:
        lines.append(str(extension))
        lines += [f"  knows ROCm: {evidence}" for evidence in extension.rocm]
    return joined([*lines, ""]) if lines else ""


@click.command()
@PATHS
@TARGET
@ROCM
@WARP
@RULES
@ALL
@FORMAT_OF_FINDINGS
def scan(
    paths: tuple[Path, ...],
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    whole: bool,
    form: str,
) -> None:
    """Show what would change, and what cannot be ported.

    It also lists the PyTorch extensions. This command writes nothing.
    """
    from hipport import api
    from hipport.reporting import report

    # As for a rewrite: objects live to the end, and garbage collection takes a sixth of the time.
    gc.disable()
    with failing():
        config = configured(paths, None, target, rocm, warp, rules)
        with progress_shown() as tell:
            scanned = api.scan(paths, **as_options(config), on_progress=tell)
    if form == "sarif":
        print_json(report.as_sarif(scanned.ported, sentences(), would=True))
    elif form == "json":
        extensions = [extension.as_json() for extension in scanned.extensions]
        root = str(scanned.ported.before.root)
        print_json(report.as_json(scanned.ported, would=True, written=False, extensions=extensions, root=root))
    else:
        click.echo(scanned_text(scanned), nl=False)
        click.echo(report.as_text(scanned.ported, would=True, whole=whole, **as_shown()), nl=False)
    leave(scanned.ported, changes_count=False)

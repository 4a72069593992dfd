# SPDX-License-Identifier: Apache-2.0
"""The commands `hipport toolchain install`, `list` and `remove`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.outcome import failing

if TYPE_CHECKING:
    pass


@click.group("toolchain")
def toolchains() -> None:
    """Install or remove a hipcc on Debian, without root.

    It compiles for AMD GPUs; the machine needs none.
    """


#: The names in install_toolchain.RECIPES, repeated so that it need not be loaded; the first is the default.
TOOLCHAINS = ("hipcc-7.0", "hipcc-5.2")


_NAMED = click.argument("name", type=click.Choice(TOOLCHAINS), default=TOOLCHAINS[0])


def _address(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Reject a value that apt would refuse as an address only after downloading an index."""
    if value is not None and not re.fullmatch(r"(?:https?|ftp|file|copy):\S*/\S*", value):
        raise click.BadParameter(f"{value!r} is not an address; for example: http://mirror.example/debian")
    return value


@toolchains.command("install")
@_NAMED
@click.option("--mirror", metavar="URL", callback=_address, help="The Debian archive to use if /etc/apt names none.")
def toolchain_install(name: str, mirror: str | None) -> None:
    """Install the toolchain NAME; hipcc-7.0 if not given.

    hipcc-7.0 has clang 21 and the headers of HIP 6.4. hipport unpacks Debian's packages into its cache (1 to 4 GB) and
    changes nothing else on the machine.
    """
    from hipport.toolchain import install_toolchain

    with failing():
        hipcc, now = install_toolchain.ensure(name, os.environ, mirror, lambda text: click.echo(text, err=True))
    click.echo(f"{'installed' if now else f'{name} is installed'}: {hipcc}")


@toolchains.command("list")
def toolchain_list() -> None:
    """List the toolchains, and each hipcc on this machine."""
    from hipport.toolchain import install_toolchain, toolchains
    from hipport.workspace.environment import from_anywhere

    with failing():
        here = install_toolchain.installed(os.environ)
        found = toolchains.find(from_anywhere(os.environ), Path(sys.executable))
    for name in TOOLCHAINS:
        click.echo(f"{name}  {f'installed: {here[name]}' if name in here else f'hipport toolchain install {name}'}")
    for each in found:
        if each.hipcc not in here.values():
            click.echo(f"found by {each.found}: {each}")


@toolchains.command("remove")
@click.argument("name", type=click.Choice(TOOLCHAINS))
def toolchain_remove(name: str) -> None:
    """Remove a toolchain that `hipport toolchain install` made."""
    from hipport.toolchain import install_toolchain

    with failing():
        place = install_toolchain.remove(name, os.environ)
    click.echo(f"removed {place}")

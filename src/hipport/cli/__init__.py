# SPDX-License-Identifier: Apache-2.0
"""The command line: arguments in, exit status out.

0: done, and nothing is left for a person. 1: done, and a person is needed (with --check: something would change).
2: hipport failed; nothing was changed.
"""

from __future__ import annotations

import click

from hipport.cli.build import build
from hipport.cli.deps import deps
from hipport.cli.doctor import doctor
from hipport.cli.explain import explain
from hipport.cli.port import port
from hipport.cli.record import record
from hipport.cli.review import review
from hipport.cli.rewrite import rewrite
from hipport.cli.scan import scan
from hipport.cli.toolchain import toolchains
from hipport.cli.undo import undo
from hipport.cli.verify import verify


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="hipport", prog_name="hipport")
def main() -> None:
    """Port CUDA repositories to AMD GPUs.

    Exit status: 0 done, nothing left for a person; 1 done, and a person is needed; 2 hipport failed.
    """


for command in (rewrite, scan, undo, review, build, verify, port, record, deps, doctor, toolchains, explain):
    main.add_command(command)

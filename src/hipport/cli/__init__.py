# SPDX-License-Identifier: Apache-2.0
"""The command line: arguments in, exit status out.

0: done, and nothing is left for a person. 1: done, and a person is needed (with --check: something would change).
2: hipport failed; nothing was changed.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from hipport.cli.build import build
from hipport.cli.deps import deps
from hipport.cli.doctor import doctor
from hipport.cli.explain import explain
from hipport.cli.output import warn
from hipport.cli.port import port
from hipport.cli.record import record
from hipport.cli.review import review
from hipport.cli.rewrite import rewrite
from hipport.cli.scan import scan
from hipport.cli.toolchain_command import toolchains
from hipport.cli.undo import undo
from hipport.cli.verify import verify
from hipport.core.reading import said

# The errors that writing to a file or a device may end with.
_OF_OUTPUT = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))


def _whole(stream: Any) -> Any:
    """Return a standard stream that writes all that it is given, or fails.

    Without buffers, as PYTHONUNBUFFERED asks, Python drops what the system did not take at once: at a limit of the size
    of files, or on a disk that gets full, the end of the output would be missing without an error.
    """
    if stream is None:  # closed by the caller, who wants none
        return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.RawIOBase):
        return stream
    encoding, errors = stream.encoding, stream.errors
    stream.detach()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)


class _Commands(click.Group):
    """The commands. If output cannot be written, as on a full disk, a command fails with a message, not a traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        for name in ("stdout", "stderr"):
            setattr(sys, name, _whole(getattr(sys, name)))
        try:
            Path.cwd()
        except OSError:
            warn("the current folder does not exist any more; go to another one")
            sys.exit(2)
        try:
            try:
                return super().main(*arguments, **options)
            finally:
                # Otherwise Python writes the rest when it exits, and if that fails, it exits with a status of its own.
                sys.stdout.flush()
        except OSError as error:
            if error.errno == errno.EPIPE:  # a reader that has seen enough, such as `head`
                sys.exit(1)
            if error.filename or error.errno not in _OF_OUTPUT:
                raise
            with suppress(OSError):  # nothing can be said where standard error has no room either
                warn(f"standard output: {said(error)}; the output is not complete, and files that were written stay")
            # At exit, Python would try to write the rest again.
            os._exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="hipport", prog_name="hipport")
def main() -> None:
    """Port CUDA repositories to AMD GPUs.

    Exit status: 0 done, nothing left for a person; 1 done, and a person is needed; 2 hipport failed.
    """


for command in (rewrite, scan, undo, review, build, verify, port, record, deps, doctor, toolchains, explain):
    main.add_command(command)

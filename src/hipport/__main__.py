# SPDX-License-Identifier: Apache-2.0
"""`python -m hipport` is the same as `hipport`."""

import sys
from contextlib import suppress
from pathlib import Path

# Python searches the current folder first, which may be a tree with its own click.py or torch.py, or be gone.
with suppress(OSError):
    if sys.path and Path(sys.path[0] or ".").resolve() == Path.cwd() and not getattr(sys.flags, "safe_path", False):
        del sys.path[0]

from hipport.cli import main

main(prog_name="hipport")

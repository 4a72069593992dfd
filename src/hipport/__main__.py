# SPDX-License-Identifier: Apache-2.0
"""`python -m hipport` is `hipport`."""

import sys
from pathlib import Path

# Python puts the current folder first, which may be a tree with a click.py or a torch.py of its own.
if sys.path and Path(sys.path[0] or ".").resolve() == Path.cwd() and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

from hipport.cli import main

main(prog_name="hipport")

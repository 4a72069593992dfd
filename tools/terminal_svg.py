# SPDX-License-Identifier: Apache-2.0
"""Run commands and draw their output as a terminal: the picture of the README.

    python tools/terminal_svg.py docs/pictures/demo.svg 'hipport rewrite …' 'hipport verify …'

The picture shows standard output unchanged, except for the current folder, which becomes ~/hipport.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text


def drawn(commands: list[str], width: int = 100) -> str:
    """Return the picture of a terminal with `commands` and their output."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    for command in commands:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        console.print(Text(f"$ {command}", style="bold green"))
        console.print(Text.from_ansi(done.stdout.replace(str(Path.cwd()), "~/hipport")))
    svg = console.export_svg(title="hipport", theme=MONOKAI)
    # Rich names a font on a server: the reader's own is sufficient.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", "monospace")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(drawn(sys.argv[2:]), encoding="utf-8")

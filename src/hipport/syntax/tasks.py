# SPDX-License-Identifier: Apache-2.0
"""Commands that tools run by a name that pyproject.toml gives them: PDM's scripts, poe's, hatch's and pixi's tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.syntax.shell import Shell
from hipport.syntax.toml import Toml, TomlEntry

# A string, or a table's value for one of these keys. An array is a sequence of commands, except for PDM's `cmd`.
_TASK = re.compile(
    r"tool/(?:pdm/scripts|poe/tasks|pixi/(?:feature/[^/]+/)?tasks|hatch/envs/[^/]+/scripts)/[^/]+"
    r"(?:/(?:cmd|shell|composite|sequence))?(?:/\d+)?|(?:feature/[^/]+/)?tasks/[^/]+(?:/cmd)?"
)
_WORDS = re.compile(r"(?P<task>tool/pdm/scripts/[^/]+/cmd)/\d+")


def tasks(source: Toml) -> Iterator[tuple[TomlEntry, Shell]]:
    """Yield the commands of tasks, each with its place; a list of words has the place of its first word."""
    words: dict[str, list[TomlEntry]] = {}
    for entry in source.entries if source.document is not None else ():
        where = "/".join(str(key) for key in entry.path)
        if (word := _WORDS.fullmatch(where)) is not None:
            words.setdefault(word["task"], []).append(entry)
        elif _TASK.fullmatch(where):
            yield entry, Shell(source.path, entry.value.encode())
    for entries in words.values():
        yield entries[0], Shell(source.path, " ".join(entry.value for entry in entries).encode())

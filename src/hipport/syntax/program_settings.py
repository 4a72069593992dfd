# SPDX-License-Identifier: Apache-2.0
"""Settings that programs read at run time, in JSON or YAML: the words in them that concern the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hipport.core.edits import Span
from hipport.core.group import Group
from hipport.core.source import Source

#: The words that such a file is read for: number formats that differ between GPUs.
MEANT = re.compile(rb"(?<![A-Za-z0-9_])(?:float8|fp8)_e[45]m[23](?:fn)?(?![A-Za-z0-9_])")
#: Longer files are data.
LONGEST = 1 << 20
_COMMENT = re.compile(rb"[ \t]*//|(?:.*[ \t])?#|[ \t]*#")


@dataclass(frozen=True)
class ProgramSettings(Source):
    """A file of settings that a program reads."""

    group: ClassVar[Group] = Group.PYTHON

    def words(self, pattern: re.Pattern[bytes]) -> Iterator[Span]:
        """Yield the matches of the pattern outside comments."""
        for match in pattern.finditer(self.text):
            line = self.text.rfind(b"\n", 0, match.start()) + 1
            if not _COMMENT.match(self.text, line, match.start()):
                yield Span(*match.span())

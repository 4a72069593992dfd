# SPDX-License-Identifier: Apache-2.0
"""Names that may be those of macros which no file defines: their text, and where they lead, are unknown."""

from __future__ import annotations

import re
from pathlib import Path

from hipport.analysis.functions import functions
from hipport.core.tables import load, one_of
from hipport.syntax.cpp import Cpp

_STEADY = one_of(load(Path(__file__).with_suffix(".toml"))["steady"]["names"])
#: A name that is written as macros are, but for those of libraries by which no thread leaves.
WRITTEN_AS_MACRO = re.compile(rf"(?!{_STEADY}\Z)[A-Z][A-Z0-9_]*[A-Z0-9]".encode())


def declares_other(source: Cpp, name: bytes) -> bool:
    """Whether a file has a function, a class or a type of that name."""
    if name not in source.words:
        return False
    word = re.escape(name)
    type_ = rb"\b(?:struct|class|union|enum|using)\s+%b\b|\btypedef\b[^;{}]*\b%b\s*;" % (word, word)
    return re.search(type_, source.code) is not None or any(each.name == name for each in functions(source))

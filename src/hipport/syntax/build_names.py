# SPDX-License-Identifier: Apache-2.0
"""Names that several modules search for in build scripts, setup scripts and commands; they are in build_names.toml."""

from __future__ import annotations

from pathlib import Path

from hipport.core.tables import Words

#: The lists of the table, for patterns: `NAMES.compile(rb"\\b(?&nvcc)\\b")`.
NAMES = Words.read(Path(__file__).with_suffix(".toml"))

# SPDX-License-Identifier: Apache-2.0
"""The fields of rows in hipport's own tables: a misspelled one would be ignored without a word.

Nothing is checked when tables are loaded for work: these tests check their rows. The user's rows are checked when they
are read (`recipes.merged`).
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hipport.core.tables import load
from hipport_passes.names.api_names import NameRow
from hipport_passes.packages.recipes import Family, Image, Index

ROOT = Path(__file__).parent.parent
TABLES = {
    path.name: path for folder in ("src/hipport", "passes/hipport_passes") for path in (ROOT / folder).rglob("*.toml")
}
#: Tables that a tool writes.
GENERATED = {"api_names.toml", "headers.toml"}
_NAME = set(NameRow._fields) - {"area"} | {"checked"}


def _fields(of: type) -> set[str]:
    return {each.name for each in dataclasses.fields(of)}


#: For each table, the fields of the rows in its sections.
FIELDS: dict[str, dict[str, set[str]]] = {
    "api_names.own.toml": {"areas": {"why", "instead"}, "names": _NAME, "group": _NAME | {"names"}},
    "cmake.toml": {"target": {"package", "target", "why", "link"}, "other": {"package", "target", "why"}},
    "device_strings.toml": {
        "recipe": {"kind", "call", "imports", "rocm", "why", "argument", "keyword", "values", "string", "unless",
                   "once", "attribute", "new"}
    },
    "diagnosis.toml": {"driver": {"release", "runs"}},
    "faults.toml": {"fault": {"is", "instead"}},
    "fp8_formats.toml": {"names": {"ocp", "fnuz"}},
    "headers.own.toml": {
        "headers": {"hip", "since", "sure", "sure_since", "why", "instead", "review", "checked"},
        "steering": {"header", "macro", "names", "why"},
        "colliding": {"header", "whole", "names"},
        "brought": {"header", "names", "brought_by", "had_by", "on_host", "why"},
        "transitive": {"header", "names", "brought_by"},
    },
    "inline_ptx.toml": {"registers": {"is", "why", "type"}, "refused": {"opcodes", "why", "instead"}},
    "kernel_arguments.toml": {"constant": {"index", "type"}, "typed": {"index", "type"}},
    "known_faults.toml": {"fault": {"file", "text", "advice"}, "script": {"text", "advice"}},
    "loaded_libraries.toml": {"libraries": {"rocm", "names"}},
    "member_names.toml": {"structure": {"names", "members", "lacks"}},
    "mutants.toml": {"mutations": {"what", "pattern", "replacement"}},
    "nvcc_flags.toml": {
        "flag": {"kind", "names", "value", "common", "why", "torch", "by", "swallowed", "hip", "before", "certainty",
                 "unless", "host", "only", "once", "link", "since"},
        "library": {"why"},
    },
    "pitfalls.toml": {"entry": {"number", "title", "ends", "says", "passes", "fixtures", "look_alikes", "through"}},
    "pytorch_api.toml": {"names": {"gone", "becomes", "header", "without", "form"}, "reported": {"names", "why"}},
    "requirements.toml": {"family": _fields(Family), "index": _fields(Index), "image": _fields(Image)},
    "rules.toml": {"rule": {"certainty", "says"}},
    "unknown_names.toml": {"family": {"of", "names", "used", "shared", "headers", "instead"}},
}  # fmt: skip
#: Entries that are tables and no rows: of more tables, or of names.
OTHERS = {("headers.own.toml", "runtime"), ("namespaces.toml", "cub"), ("namespaces.toml", "libcupp")}


def rows(section: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a section, with what identifies each."""
    if isinstance(section, list):
        for number, row in enumerate(section, 1):
            if isinstance(row, dict):
                yield str(row.get("name") or row.get("names") or f"number {number}").split()[0], row
    elif isinstance(section, dict):
        yield from ((name, row) for name, row in section.items() if isinstance(row, dict))


def unknown(name: str, table: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the fields of a table."""
    found = []
    for section, content in table.items():
        if (name, section) in OTHERS:
            continue
        for row, fields in rows(content):
            known = FIELDS.get(name, {}).get(section, set())
            found += [
                f"{name}, [{section}], row {row}: unknown field `{field}`; known are: {', '.join(sorted(known))}"
                for field in fields
                if field not in known
            ]
    return found


@pytest.mark.parametrize("name", sorted(TABLES.keys() - GENERATED))
def test_every_field_of_a_row_is_known(name: str) -> None:
    assert unknown(name, load(TABLES[name])) == []


def test_a_misspelled_field_is_told_with_its_row_and_those_that_are_known() -> None:
    table = {"family": [{"of": "x", "names": "cudaX* cudaY*", "used": "a", "insted": "b"}]}
    assert unknown("unknown_names.toml", table) == [
        "unknown_names.toml, [family], row cudaX*: unknown field `insted`; known are: "
        "headers, instead, names, of, shared, used"
    ]


def test_every_section_is_read_by_name() -> None:
    written = _strings()
    # A pass may read all sections of its table.
    whole = {"missing_names.toml", "other_builds.toml", "device_code.toml"}
    missing = [
        f"{name}: [{section}]"
        for name in sorted(TABLES.keys() - GENERATED - whole)
        for section in load(TABLES[name])
        if section not in written
    ]
    assert missing == [], "no module of hipport asks a table for this section"


@cache
def _strings() -> frozenset[str]:
    """Return the words in quotes in hipport's modules."""
    folders = (ROOT / "src/hipport", ROOT / "passes/hipport_passes")
    texts = (path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    return frozenset(word for text in texts for word in re.findall(r"[\"'](\w+)[\"']", text))

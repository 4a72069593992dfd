# SPDX-License-Identifier: Apache-2.0
"""Advice in hipport's tables has a date and a release, and is checked once a year.

If the age fails: look the rows up in the sources that their comments name, correct the changes, and set `checked` at
the top of the table (`date` of a row of requirements.toml) to that day. A row that changes more often than its table
has a `checked`, or a `date` and `rocm`, of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import hipport_passes
from hipport.core import tables

FOLDER = Path(hipport_passes.__file__).parent
# Generated from HIPIFY, whose release is in their first lines; and tables that only name fixtures.
GENERATED = {"api_names.toml", "headers.toml", "pitfalls.toml"}
BY_HAND = sorted(path for path in FOLDER.glob("**/*.toml") if path.name not in GENERATED)
OLDEST = timedelta(days=365)


def rows(path: Path) -> Iterator[tuple[str, tables.LastChecked | None]]:
    """Yield the rows of a table with their own dates, or the table for all others."""
    table = tables.load(path)
    if path.name == "requirements.toml":
        for kind in ("index", "image", "family"):
            for row in table[kind]:
                where = f"{kind} {row.get('name', row.get('rocm'))}"
                said = {"date": row["date"], "rocm": row.get("rocm") or "any"} if "date" in row else None
                yield where, tables.as_checked(said, where) if said else None
        return
    if table.keys() == {"words"}:
        return  # Search words are not advice.
    yield "all rows", tables.checked(path)
    yield from inside(table, "")


def inside(table: dict[str, Any], where: str) -> Iterator[tuple[str, tables.LastChecked | None]]:
    for name, value in table.items():
        if isinstance(value, dict):
            if "checked" in value:
                yield f"{where}{name}", tables.as_checked(value["checked"], name)
            yield from inside(value, f"{where}{name}.")


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.name)
def test_advice_has_a_date_and_a_release(path: Path) -> None:
    missing = [where for where, said in rows(path) if said is None]
    assert not missing, f"{path.name}: no `checked = {{ date = …, rocm = … }}` (or `date`): {missing}"


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.name)
def test_advice_is_no_older_than_a_year(path: Path) -> None:
    today = date.today()
    old = [f"{where} ({said.date})" for where, said in rows(path) if said and today - said.date > OLDEST]
    assert not old, f"{path.name}: older than a year: {', '.join(old)}.\n{__doc__}"
    assert not [where for where, said in rows(path) if said and said.date > today + timedelta(days=1)], "not yet"


@pytest.mark.parametrize(
    "said",
    [
        'checked = "2026-11-26"',
        "checked = { date = 2026-11-26 }",
        'checked = { date = "2026-11-26", rocm = "7.2" }',
        'checked = { date = 2026-11-26, rocm = "seven" }',
        'checked = { date = 2026-11-26T10:00:00, rocm = "7.2" }',
    ],
)
def test_a_table_with_a_bad_date_is_refused(said: str, tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(f"{said}\n[rows]\na = 1\n")
    with pytest.raises(ValueError, match=r"table\.toml"):
        tables.load(path)


def test_the_date_itself_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text('checked = { date = 2026-11-26, rocm = "any" }\n[rows]\na = 1\n')
    assert tables.load(path) == {"rows": {"a": 1}}
    assert tables.checked(path) == (date(2026, 11, 26), "any")

# SPDX-License-Identifier: Apache-2.0
"""Write the tables of docs/repositories.md from tools/repositories.toml, where each row has its date.

    python tools/repository_tables.py            write the tables into the page
    python tools/repository_tables.py --check    say whether the page and the data agree; exit status 1 if not

The page has the prose. Each of its tables stands between `<!-- table: NAME -->` and `<!-- end -->`. The data has two
kinds of tables: a person adds the rows under `table` after a measurement; tools/survey_repositories.py measures and
writes the rows under `surveyed`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hipport.core import tables as toml_tables

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "repositories.md"
DATA = ROOT / "tools" / "repositories.toml"

_HEADER = """\
# SPDX-License-Identifier: Apache-2.0
# What hipport found, rewrote and left in public repositories: the tables of docs/repositories.md, which
# tools/repository_tables.py writes. Each row has the day or the month in which it was measured: its last cell, or
# `surveyed`. Who changes a result changes the date.
"""
_PLACE = re.compile(r"(?P<start><!-- table: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->\n)", re.DOTALL)
#: The heading of the column of dates.
DATE = "measured"
#: The table of units that compile before and after a port.
COMPILED = "compiled"


@dataclass(frozen=True)
class Survey:
    """hipport's results for one clone on the day `surveyed`. Counts of warp code are found, rewritten and reported.

    `warp_note` and `asm_note` are remarks of a person.
    """

    name: str
    commit: str
    surveyed: str
    read: int | None = None
    cuda: int = 0
    places: int = 0
    files: int = 0
    review: int = 0
    left: int = 0
    rules: tuple[str, ...] = ()
    warp: str = ""
    warp_note: str = ""
    asm: str = ""
    asm_note: str = ""
    packages: str = ""


@dataclass(frozen=True)
class Table:
    """A table: its columns, of which the last is the date, and its rows."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        first, rule, *rest = (f"| {' | '.join(line)} |" for line in lines)
        return "\n".join([first, rule.replace(" ", ""), *rest]) + "\n"


@dataclass(frozen=True)
class Data:
    """The contents of tools/repositories.toml."""

    tables: tuple[Table, ...]
    surveys: tuple[Survey, ...]

    def all_tables(self) -> Mapping[str, Table]:
        """Return every table of the page by its name. Raises ValueError for a row that is not complete."""
        found = {each.name: each for each in (*self.tables, *_of_surveys(self.surveys))}
        for table in found.values():
            for row in table.rows:
                if len(row) != len(table.columns) or any("|" in cell or "\n" in cell for cell in row):
                    raise ValueError(f"{table.name}: a row does not fit the columns {table.columns}: {row}")
                if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])(-\d\d)?", row[table.columns.index(DATE)]):
                    raise ValueError(f"{table.name}: a row has no date (YYYY-MM or YYYY-MM-DD): {row}")
        return found

    def with_surveys(self, new: Sequence[Survey], compiled: Mapping[str, tuple[str, ...]]) -> Data:
        """Return the data with new surveys, and with new counts of compiled units, before and after, by name.

        Those of the same names are replaced. Remarks of a person stay.
        """
        known = {each.name: each for each in self.surveys}
        for each in new:
            if (old := known.get(each.name)) is not None:
                each = replace(each, warp_note=old.warp_note, asm_note=old.asm_note)
            known[each.name] = each
        tables = []
        for table in self.tables:
            if table.name == COMPILED:
                rows = {row[0].partition(" (")[0]: row for row in table.rows}
                for name, counts in compiled.items():
                    rows[name] = (f"{name} ({known[name].commit[:7]})", *counts, known[name].surveyed)
                table = replace(table, rows=tuple(rows.values()))
            tables.append(table)
        return Data(tuple(tables), tuple(sorted(known.values(), key=lambda each: each.name.lower())))


def _of_surveys(surveys: Sequence[Survey]) -> Iterator[Table]:
    """Yield the tables of the surveys; a survey without the counts of a table is not in it."""
    columns = ("repository", "commit", DATE)

    def noted(value: str, note: str) -> str:
        return f"{value or 'none'} ({note})" if note else value or "none"

    yield Table(
        "rewritten",
        (*columns, "files read (CUDA)", "places rewritten (files)", "to review", "left", "most of what is left"),
        tuple(
            (
                *(each.name, each.commit, each.surveyed, f"{each.read} ({each.cuda})"),
                *(f"{each.places} ({each.files})", str(each.review), str(each.left)),
                ", ".join(f"`{rule}`" for rule in each.rules) or "–",
            )
            for each in surveys
            if each.read is not None
        ),
    )
    yield Table(
        "warp_code",
        (*columns, "warp intrinsics", "asm statements"),
        tuple(
            (each.name, each.commit, each.surveyed, noted(each.warp, each.warp_note), noted(each.asm, each.asm_note))
            for each in surveys
            if each.warp or each.asm
        ),
    )
    yield Table(
        "packages",
        (*columns, "packages"),
        tuple((each.name, each.commit, each.surveyed, each.packages) for each in surveys if each.packages),
    )


def read(path: Path = DATA) -> Data:
    """Return the data of a file such as tools/repositories.toml. Raises ValueError for entries that are not known."""
    raw: dict[str, Any] = toml_tables.read(path)
    tables = (
        Table(each["name"], (*each["columns"], DATE), tuple(map(tuple, each["rows"]))) for each in raw.pop("table")
    )
    surveys = map(_survey, raw.pop("surveyed"))
    if raw:
        raise ValueError(f"{path.name}: unknown entries: {', '.join(raw)}")
    return Data(tuple(tables), tuple(surveys))


def _survey(row: Mapping[str, Any]) -> Survey:
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Survey(**given)


def as_toml(data: Data) -> str:
    """Return the text of tools/repositories.toml for the data."""
    parts = [_HEADER]
    for table in data.tables:
        rows = "".join(f"    {_toml(row)},\n" for row in table.rows)
        parts.append(
            f"[[table]]\nname = {_toml(table.name)}\ncolumns = {_toml(table.columns[:-1])}\nrows = [\n{rows}]\n"
        )
    for survey in data.surveys:
        given = ((each.name, getattr(survey, each.name), each.default) for each in fields(Survey))
        lines = (f"{name} = {_toml(value)}\n" for name, value, default in given if value != default)
        parts.append(f"[[surveyed]]\n{''.join(lines)}")
    return "\n".join(parts)


def _toml(value: str | int | Sequence[str]) -> str:
    # Strings, numbers and lists of strings look the same in JSON.
    return json.dumps(value, ensure_ascii=False)


def written(page: str, data: Data) -> str:
    """Return the page with its tables from the data. Raises ValueError unless the page has each table once."""
    tables = data.all_tables()
    named = [place["name"] for place in _PLACE.finditer(page)]
    if sorted(named) != sorted(tables):
        raise ValueError(f"{PAGE.name} has the tables {sorted(named)}, and {DATA.name} has {sorted(tables)}")
    return _PLACE.sub(lambda place: f"{place['start']}\n{tables[place['name']]}\n{place['end']}", page)


def by_hand(page: str) -> list[str]:
    """Return the lines of tables that stand outside of the generated ones."""
    return [line for line in _PLACE.sub("", page).splitlines() if line.lstrip().startswith("|")]


def write(data: Data) -> None:
    """Write the data and the page. Raises ValueError, and writes nothing, if the page has not each table once."""
    text = written(PAGE.read_text(encoding="utf-8"), data)
    DATA.write_text(as_toml(data), encoding="utf-8")
    PAGE.write_text(text, encoding="utf-8")


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if something would change")
    data = read()
    if not parser.parse_args().check:
        write(data)
    elif written(page := PAGE.read_text(encoding="utf-8"), data) != page:
        print(f"{PAGE.name} does not have the tables of {DATA.name}; run python tools/repository_tables.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

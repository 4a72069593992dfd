# SPDX-License-Identifier: Apache-2.0
"""docs/repositories.md has the tables of tools/repositories.toml: none is kept by hand, and each row has its date."""

import datetime
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "tools"))

import repository_tables as tables
import survey_repositories


def test_the_page_has_the_tables_of_the_data() -> None:
    page, data = tables.PAGE.read_text(encoding="utf-8"), tables.read()
    assert len(data.tables) >= 10 and len(data.surveys) >= 20
    assert tables.written(page, data) == page, "run python tools/repository_tables.py"
    assert tables.by_hand(page) == []
    assert tables.as_toml(data) == tables.DATA.read_text(encoding="utf-8")


def test_each_row_has_its_date_and_none_is_to_come() -> None:
    today = datetime.date.today().isoformat()
    for table in tables.read().all_tables().values():
        assert table.rows, table.name
        at = table.columns.index(tables.DATE)
        assert all(row[at] <= today for row in table.rows), table.name


@pytest.mark.parametrize("row", [("a", "b"), ("a", "b", "soon"), ("a | b", "c", "2026-11"), ("a", "b", "2026-13")])
def test_a_row_that_is_not_complete_is_refused(row: tuple[str, ...]) -> None:
    data = tables.Data((tables.Table("one", ("What", "Result", tables.DATE), (row,)),), ())
    with pytest.raises(ValueError, match="a row "):
        data.all_tables()


def test_a_page_without_a_table_is_refused() -> None:
    page, data = tables.PAGE.read_text(encoding="utf-8"), tables.read()
    with pytest.raises(ValueError, match="has the tables"):
        tables.written(page.replace("<!-- table: executor -->", ""), data)
    assert tables.by_hand(page + "\n| a | b |\n") == ["| a | b |"]


def test_a_survey_writes_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a clone that the data has: the new counts and the new day, and a person's remark stays."""
    clone = tmp_path / "gsplat"
    clone.mkdir()
    (clone / "a.cu").write_text("__global__ void k(int *x) { *x = __shfl_sync(0xffffffffu, *x, 0); }\n")
    subprocess.run(["git", "init", "--quiet", str(clone)], check=True)
    known = tables.read()
    old = next(each for each in known.surveys if each.name == "gsplat")
    known = replace(known, surveys=(*(each for each in known.surveys if each is not old), replace(old, warp_note="x")))
    for name in ("PAGE", "DATA"):
        place = tmp_path / getattr(tables, name).name
        monkeypatch.setattr(tables, name, place)
    tables.DATA.write_text(tables.as_toml(known), encoding="utf-8")
    names = known.all_tables()
    tables.PAGE.write_text("".join(f"<!-- table: {name} -->\n<!-- end -->\n" for name in names), encoding="utf-8")
    measured = survey_repositories.survey(clone)
    assert (measured.read, measured.cuda, measured.warp) == (1, 1, "1, 1, 0")
    tables.write(tables.read(tables.DATA).with_surveys([measured], {"gsplat": ("0 of 1", "1 of 1")}))
    page, today = tables.PAGE.read_text(encoding="utf-8"), datetime.date.today().isoformat()
    assert f"| gsplat |  | {today} | 1 (1) |" in page and f"| gsplat |  | {today} | 1, 1, 0 (x) | none |" in page
    assert f"| 0 of 1 | 1 of 1 | {today} |" in page and "37 of 44" not in page
    assert tables.written(page, tables.read(tables.DATA)) == page

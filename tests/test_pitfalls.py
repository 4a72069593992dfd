# SPDX-License-Identifier: Apache-2.0
"""pitfalls.toml: all entries, and what each says of passes and fixtures is so."""

from pathlib import Path
from typing import Any

import pytest

from hipport.tables import load
from hipport_passes import PASSES

ROOT = Path(__file__).parent.parent
ENTRIES: list[dict[str, Any]] = load(ROOT / "passes/hipport_passes/pitfalls.toml")["entry"]
NAMES = {each.name for each in PASSES}


def test_all_entries_in_order() -> None:
    assert [entry["number"] for entry in ENTRIES] == list(range(1, 65))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["number"]))
def test_entry(entry: dict[str, Any]) -> None:
    assert entry["title"] and entry["says"]
    named = set(entry) - {"number", "title", "ends", "says"}
    if entry["ends"] == "nothing":
        assert not named
        return
    assert named == {"passes", "fixtures"}
    assert entry["ends"] in ("rewritten", "reported")
    assert set(entry["passes"]) <= NAMES
    rewritten = reported = False
    for fixture in entry["fixtures"]:
        folder, _, case = fixture.partition("/")
        assert folder in entry["passes"]
        assert list((ROOT / "fixtures" / folder).glob(f"{case}.before.*")), f"no fixture {fixture}"
        rewritten |= bool(list((ROOT / "fixtures" / folder).glob(f"{case}.after.*")))
        found = ROOT / "fixtures" / folder / f"{case}.findings"
        reported |= found.exists() and any(line.split()[2:3] == ["manual"] for line in found.read_text().splitlines())
    assert rewritten if entry["ends"] == "rewritten" else reported

# SPDX-License-Identifier: Apache-2.0
"""JSON with and without comments: the values, and their places."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipport.syntax.json import Json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_each_value_is_found_where_it_stands(value: Any, ascii_only: bool, indent: int | None) -> None:
    read = Json(PurePosixPath("a.json"), json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode())
    assert read.errors == (1 if value is None else 0)
    for entry in read.entries:
        here = at(value, entry.path)
        assert entry.value == (here if isinstance(here, str) else None)
        if isinstance(here, str):
            assert json.loads(read[entry.span]) == here
        if isinstance(entry.path[-1], str):
            assert json.loads(read[entry.key]) == entry.path[-1]


def count(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(1 + count(each) for each in inner)


@given(VALUES)
def test_every_value_is_found(value: Any) -> None:
    assert len(Json(PurePosixPath("a.json"), json.dumps(value).encode()).entries) == count(value)


def test_comments_and_trailing_commas_are_no_errors() -> None:
    text = b'\xef\xbb\xbf// "a": "x"\n{"a": ["//b", // ]\n/* , ] */ "c", // d]\n], /* , */ }\n'
    read = Json(PurePosixPath("a.json"), text)
    assert read.document == {"a": ["//b", "c"]}
    assert [(entry.path, entry.value) for entry in read.entries] == [
        (("a",), None),
        (("a", 0), "//b"),
        (("a", 1), "c"),
    ]
    assert [read[entry.span] for entry in read.entries[1:]] == [b'"//b"', b'"c"']


@pytest.mark.parametrize("text", ["", "{", '{"a" "b"}', '{"a": nvidia}', "[1,,2]", '"\\"'])
def test_invalid_json_has_no_entries(text: str) -> None:
    read = Json(PurePosixPath("a.json"), text.encode())
    assert (read.errors, read.entries) == (1, ())

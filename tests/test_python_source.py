# SPDX-License-Identifier: Apache-2.0
"""Spans of Python nodes are exact in every encoding, or are not returned."""

import asyncio.base_events
import dataclasses
import inspect
import pickle
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import libcst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipport.core.edits import Span
from hipport.syntax.python_script import Misplaced, Python, children


def _python(text: bytes) -> Python:
    return Python(PurePosixPath("setup.py"), text)


def _nodes(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _strings(source: Python) -> list[tuple[Span, bytes]]:
    assert source.module is not None
    spans = [source.span(node) for node in _nodes(source.module) if isinstance(node, libcst.SimpleString)]
    return [(span, source[span]) for span in spans]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("é = 'ü'; x = 'y'\n".encode(), id="utf-8"),
        pytest.param(b"\xef\xbb\xbf" + "é = 'ü'; x = 'y'\n".encode(), id="byte-order mark"),
        pytest.param("# -*- coding: latin-1 -*-\né = 'ü'; x = 'y'\n".encode("latin-1"), id="latin-1"),
        pytest.param("# -*- coding: gbk -*-\né = '中'; x = 'y'\n".encode("gbk", "replace"), id="gbk"),
        pytest.param(b"a = 'u'\r\n\x0c\nx = 'y'\r", id="form feed, mixed line ends"),
        pytest.param(b"\xef\xbb\xbf\r\n\x0c\r\nx = (\n  ('y')  # 'no'\n)\r\n", id="parentheses"),
    ],
)
def test_span_is_the_text_of_the_node(text: bytes) -> None:
    found = _strings(_python(text))
    assert found[-1][1] == b"'y'"
    # The text has one 'y', so a span with this text is the right one.
    assert text.count(b"'y'") == 1


def test_children_are_those_of_libcst_in_their_order() -> None:
    """For every node of files of the standard library that use the whole language, and of files with unusual forms."""
    odd = (
        "@d\n@e(1)\nasync def f(a, /, b: int = 2, *c, k=3, **d) -> None:\n  'x'\n  await g(*a, **d)\n"
        "with a as b, c: pass\ntry: pass\nexcept* E as e: pass\nelse: pass\nfinally: pass\n"
        "match a:\n  case {'k': [1, *_], **r} | C(x=1) if y: pass\ndel a, b[1:2, ...]\nlambda *, a=1: (yield)\n"
    )
    texts = [Path(module.__file__ or "").read_bytes() for module in (dataclasses, typing, inspect, asyncio.base_events)]
    count = 0
    for text in (*texts, odd.encode(), b"", b"# only a comment\n"):
        module = _python(text).module
        assert module is not None
        for node in _nodes(module):
            assert [*map(id, children(node))] == [*map(id, node.children)], type(node)
            count += 1
    assert count > 50_000


def test_span_of_a_node_over_several_lines_of_an_indented_block() -> None:
    source = _python(b"def f():\r\n    return g([\r\n        'a',  # b\r\n        # c\r\n\t'd',\r\n    ])\r\n")
    assert source.module is not None
    (found,) = (node for node in _nodes(source.module) if isinstance(node, libcst.List))
    assert source[source.span(found)] == source.text[source.text.index(b"[") : source.text.index(b"]") + 1]


@given(
    st.text(alphabet="aäÿß \t'\"é", max_size=8).map(repr),
    st.sampled_from(["utf-8", "latin-1", "cp1252"]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\r", "\n\x0c", "\r\n\x0c\n"]),
)
def test_every_node_is_where_its_span_says_or_misplaced(literal: str, encoding: str, mark: bool, newline: str) -> None:
    lines = [f"a = {literal} + 'b'", f"if a:{newline}    f(a, {literal}, 'end')"]
    text = f"# coding: {encoding}\n{newline.join(lines)}".encode(encoding)
    source = _python(b"\xef\xbb\xbf" + text if mark and encoding == "utf-8" else text)
    assert source.module is not None
    reference = _strings(_python(source.text.decode(encoding).lstrip("\ufeff").replace(encoding, "utf-8").encode()))
    found = _strings(source)
    assert [value.decode(encoding) for _, value in found] == [value.decode() for _, value in reference]
    assert found == sorted(found)
    for node in _nodes(source.module):
        try:
            span = source.span(node)
        except Misplaced:
            continue
        assert source[span].decode(encoding) in source.text.decode(encoding)


def test_a_stateful_encoding_is_misplaced_not_wrong() -> None:
    text = b"# coding: iso-2022-jp\nx = '" + "日本".encode("iso-2022-jp") + b"'; y = 'a'\n"
    source = _python(text)
    assert source.module is not None
    with pytest.raises(Misplaced):
        _strings(source)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"# coding: nonsense\nx = 1\n", id="unknown coding"),
        pytest.param(b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", id="mark against coding line"),
        pytest.param(b"x = '\xff'\n", id="not utf-8"),
        pytest.param(b"# coding: cp1252\nx = '\x81'\n", id="no such character"),
        pytest.param(b"print 'Python 2'\n", id="python 2"),
    ],
)
def test_unparsable_text_is_one_error_and_no_exception(text: bytes) -> None:
    assert _python(text).module is None
    assert _python(text).errors == 1
    with pytest.raises(Misplaced):
        _python(text).span(libcst.Name("x"))


@pytest.mark.parametrize("piece", ["(", "-", "not ", "x if x else ", "lambda: ", "[", "{1:"])
def test_deep_nesting_does_not_end_the_process(piece: str) -> None:
    # In a child process: a stack overflow, which this prevents, would end the process.
    program = (
        "from pathlib import PurePosixPath; from hipport.syntax.python_script import Python;"
        f"print(Python(PurePosixPath('x.py'), b'x = ' + {piece.encode()!r} * 100_000 + b'1').errors)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr


def test_a_long_file_is_not_a_deep_one() -> None:
    assert _python(b"x = [\n" + b"    ('a', [1]),\n" * 5000 + b"]\n").errors == 0


def test_pickled_without_its_tree() -> None:
    source = _python(b"x = 'y'\n")
    assert source.module is not None
    copy = pickle.loads(pickle.dumps(source))
    assert copy == source
    assert "_parsed" not in copy.__dict__
    assert _strings(copy) == _strings(source)


def test_a_node_of_another_tree_is_misplaced() -> None:
    other = _python(b"x = 'z'\n").module
    assert other is not None
    with pytest.raises(Misplaced):
        _python(b"x = 'y'\n").span(other.body[0])


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (b"print(f\"{x['a']}\")\n", 0),
        (b'print(f"{x["a"]}")\n', 1),
        (b"print(f\"{'a\\n'}\")\n", 1),
        (b'print(f"""{x["a"]}""")\n', 0),
        (b"print(f'{f\"{x}\"}')\n", 0),
        (b'print("{x["a"]}" if 0 else f"{1}")\n'.replace(b'["a"]', b"[a]"), 0),
    ],
)
def test_strings_that_only_a_newer_python_reads_are_errors(text: bytes, errors: int) -> None:
    assert _python(text).errors == errors


def test_pythons_warnings_about_a_tree_are_hidden(tmp_path: Path) -> None:
    """`"\\d"` is a SyntaxWarning since Python 3.12, and older versions warn of `1or 2`."""
    text = 'import torch\nfrom torch.utils.cpp_extension import CUDAExtension, load\nx = 1or 2\ny = "\\d"\n'
    (tmp_path / "setup.py").write_text(
        text + 'e = CUDAExtension("a", ["a.cu"])\nload("b", ["b.cu"])\nt = y.cuda()\n'
        'major = torch.cuda.get_device_capability()[0]\nif major == "\\d": pass\n'
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-m", "hipport", "scan", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.returncode in (0, 1) and "Warning" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"a = 1\nX", b""),
        (b"from a import \\\n    X", b"from a import \\\n    "),
        (b"from a import \\\r\n  b, \\\r\n  X", b"from a import \\\r\n  b, \\\r\n  "),
        (b"\\\rX", b"\\\r"),
        (b"a = 1\n# C:\\\nX", b""),
        (b"if a: \\\n  b; X", b"if a: \\\n  b; "),
    ],
)
def test_a_line_goes_on_behind_a_backslash(text: bytes, line: bytes) -> None:
    at = text.index(b"X")
    assert text[_python(text).line_start(at) : at] == line


@pytest.mark.parametrize("text", [b"\\\nX\n", b"a\n\\\r\n\\\r\n(X)\n", b"if a:\n  b\n\\\n  X\n", b'"""\n\\\n"""\nX'])
def test_empty_lines_that_go_on_move_no_spans(text: bytes) -> None:
    """libcst leaves them out."""
    source = _python(text)
    assert source.module is not None
    spans = [source.span(node) for node in _nodes(source.module) if isinstance(node, libcst.Name) and node.value == "X"]
    assert [span.start for span in spans] == [text.index(b"X")]

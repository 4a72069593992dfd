# SPDX-License-Identifier: Apache-2.0
"""Names belong in tables: names inside of regular expressions become fewer, and never more.

A name is a word with three letters or more in a pattern that is not a word of C++ or Python. `python
tests/test_pattern_names.py` prints their number in each file.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: The present number; whoever removes some writes the new number.
MOST = 2831
_FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
# Syntax of patterns that is no text: escapes, sets of characters, names of groups, flags, places of formatted text.
_SYNTAX = re.compile(
    r"\\x[0-9a-fA-F]{2}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P[<=]\w+|\(\?\(\w+\)|\(\?[aiLmsux-]+[:)]|%\(\w+\)[bs]",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_LANGUAGES = {
    *keyword.kwlist,
    *"""alignas alignof asm auto bool break case catch char class const const_cast consteval constexpr constinit
    continue co_await co_return co_yield decltype default define defined delete double dynamic_cast elif elifdef
    else endif enum error explicit export extern false final float for friend goto ifdef ifndef include inline
    int line long mutable namespace new noexcept nullptr operator override pragma private protected public
    register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename undef union unsigned using virtual void
    volatile warning wchar_t while""".split(),
}


def names_in_patterns(path: Path) -> Iterator[str]:
    """Yield the names inside the patterns of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value) if isinstance(value, (ast.Constant, ast.BinOp)):
                texts[name] = value
    seen: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("re"), attr=name), args=[pattern, *_]) if (
                name in _FUNCTIONS
            ):
                for text in _texts(pattern, texts, seen):
                    yield from (word for word in _WORD.findall(_SYNTAX.sub(" ", text)) if word not in _LANGUAGES)


def _texts(pattern: ast.AST, texts: Mapping[str, ast.expr], seen: set[ast.AST]) -> Iterator[str]:
    """Yield the strings that a pattern consists of, each once."""
    for mapping in ast.walk(pattern):
        if isinstance(mapping, ast.Dict):
            seen.update(key for key in mapping.keys if key is not None)  # names of places in a format
    for node in ast.walk(pattern):
        if node in seen:
            continue
        seen.add(node)
        match node:
            case ast.Constant(str(text)):
                yield text
            case ast.Constant(bytes(text)):
                yield text.decode("latin-1")
            case ast.Name(name) if name in texts:
                yield from _texts(texts[name], texts, seen)


def by_file() -> Counter[str]:
    """Return the number of names in each file's patterns."""
    files = (*(ROOT / "src").rglob("*.py"), *(ROOT / "passes").rglob("*.py"))
    return Counter({path.relative_to(ROOT).as_posix(): sum(1 for _ in names_in_patterns(path)) for path in files})


def test_there_are_no_more_names_in_patterns() -> None:
    found = by_file()
    assert found.total() <= MOST, f"names belong in tables (hipport.core.tables.one_of): {found.most_common(20)}"


def test_names_are_recognized(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "import re\n_MORE = r'cublas\\w+'\n_A = re.compile(rb'(?P<name>\\bconst\\s+cuda|hip)' + b'x')\n"
        "_B = re.compile(_MORE + 'fft')\nprint('printed')\n"
    )
    assert sorted(names_in_patterns(path)) == ["cublas", "cuda", "fft", "hip"]


def test_sets_of_characters_and_places_of_formatted_text_are_no_names(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "import re\n_A = re.compile(rb'[uUlL]*\\[abc[^\\]xyz]%(gap)b\\.def' % {b'gap': b'nvcc'})\n"
        "_B = re.compile(rb'[]xyz][a-z]rocm')\n"
    )
    assert sorted(names_in_patterns(path)) == ["abc", "nvcc", "rocm"]


if __name__ == "__main__":
    for each, count in by_file().most_common():
        print(count, each)
    print(by_file().total())

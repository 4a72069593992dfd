# SPDX-License-Identifier: Apache-2.0
"""Names belong in tables: names inside of regular expressions become fewer, and never more.

A name is a word with three letters or more in a pattern that is not a word of C++ or Python. A pattern is the first
argument of a function of `re`, or of a `compile` or `composed` of `hipport.core.tables.Words`, with the values of the
module's names that it uses. Keys of tables are no names in a pattern, and neither are the places of lists, `(?&hosts)`.
What `syntax` searches for is counted for itself: grammar belongs there. `python tests/test_pattern_names.py` prints the
number in each file.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: The present numbers, outside of `syntax` and in it; whoever removes some writes the new numbers.
MOST = 855
MOST_IN_SYNTAX = 223
_SYNTAX_FOLDER = "src/hipport/syntax/"
_COMPOSED = {"compile", "composed"}
# Methods whose arguments are no part of a pattern: names of encodings and of files.
_OTHER_ARGUMENTS = {"encode", "decode", "get", "with_name", "with_suffix"}
_FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
# Syntax of patterns that is no text: escapes, sets of characters, names of groups, flags, places of formatted text.
_SYNTAX = re.compile(
    r"\\x[0-9a-fA-F]{2}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P[<=]\w+|\(\?\(\w+\)|\(\?[aiLmsux-]+[:)]|%\(\w+\)[bs]|\(\?&\w+\)",
    re.DOTALL,
)
_PLACE = re.compile(r"\(\?&\w+\)")
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
    values: dict[str, ast.expr] = {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(name)], value=value)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            ) if not _is_path(value):
                values[name] = value
    seen: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr=name), args=[pattern, *_]) if name in (
                _FUNCTIONS if isinstance(of, ast.Name) and of.id == "re" else _COMPOSED
            ):
                for text in _texts(pattern, values, seen):
                    yield from (word for word in _WORD.findall(_SYNTAX.sub(" ", text)) if word not in _LANGUAGES)


def _is_path(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)


def _texts(node: ast.AST, values: Mapping[str, ast.expr], seen: set[ast.AST]) -> Iterator[str]:
    """Yield the strings that a pattern consists of, each once; keys are none."""
    if node in seen:
        return
    seen.add(node)
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.Constant(bytes(text)):
            yield text.decode("latin-1")
        case ast.Name(name):
            parts = [values[name]] if name in values else []
        case ast.Subscript(value=table):
            parts = [table]
        case ast.Dict(values=of_keys):
            parts = of_keys
        case ast.Call(func=ast.Attribute(value=of, attr=name)) if name in _OTHER_ARGUMENTS:
            parts = [of]
    for part in parts:
        yield from _texts(part, values, seen)


def by_file() -> Counter[str]:
    """Return the number of names in each file's patterns."""
    return Counter({path.relative_to(ROOT).as_posix(): sum(1 for _ in names_in_patterns(path)) for path in _files()})


def _files() -> tuple[Path, ...]:
    return (*(ROOT / "src").rglob("*.py"), *(ROOT / "passes").rglob("*.py"))


def total(found: Mapping[str, int], *, in_syntax: bool) -> int:
    """Return the number of names in the files of `syntax`, or in all others."""
    return sum(number for path, number in found.items() if path.startswith(_SYNTAX_FOLDER) == in_syntax)


def test_there_are_no_more_names_in_patterns() -> None:
    found = by_file()
    most = found.most_common(20)
    assert total(found, in_syntax=False) <= MOST, f"names belong in tables (hipport.core.tables.Words): {most}"
    assert total(found, in_syntax=True) <= MOST_IN_SYNTAX, f"names belong in tables (hipport.core.tables.Words): {most}"


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


def test_keys_and_places_of_lists_are_no_names_and_values_of_names_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(
        "import re\n_TABLE = Path() / 'table.toml'\n_HEAD = f'cuda{1}'\n_TAIL: str = one_of('nvrtc hiprtc')\n"
        "_A = re.compile(one_of(load(_TABLE)['words']['hosts']).encode('ascii') + _HEAD + _TAIL)\n"
        "_B = _WORDS.compile(rb'(?&hosts)|github' % {b'gitlab': b'nvcc'})\n_C = some.other('printed')\n"
    )
    assert sorted(names_in_patterns(path)) == ["cuda", "github", "hiprtc", "nvcc", "nvrtc"]


def test_places_of_lists_are_filled() -> None:
    """Python's `re` does not know `(?&hosts)`: such text is an argument of a method of `Words`."""
    for path in _files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        filled = {
            part
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _COMPOSED
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re")
            for part in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and _PLACE.search(str(node.value)) and node not in filled:
                assert path.name == "tables.py" or _is_documentation(node, tree), f"{path}:{node.lineno}"


def _is_documentation(node: ast.Constant, tree: ast.Module) -> bool:
    return any(isinstance(each, ast.Expr) and each.value is node for each in ast.walk(tree))


if __name__ == "__main__":
    for each, count in by_file().most_common():
        print(count, each)
    print(total(by_file(), in_syntax=False), "and in syntax", total(by_file(), in_syntax=True))

# SPDX-License-Identifier: Apache-2.0
"""CMake scripts: every byte is in one token, and commands are those that CMake sees."""

import json
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endless import ENDLESS
from hipport.syntax.cmake_script import CMake, CMakeCommand, GeneratorExpression


def _cmake(text: str | bytes) -> CMake:
    return CMake(PurePosixPath("CMakeLists.txt"), text.encode() if isinstance(text, str) else text)


def _said(source: CMake) -> list[tuple[str, list[str]]]:
    return [
        (command.name, [source[argument.span].decode() for argument in command.arguments])
        for command in source.commands
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("project(a CXX)", [("project", ["a", "CXX"])], id="plain"),
        pytest.param("Set ( A\t b;c\n)", [("set", ["A", "b;c"])], id="case, blanks and line ends"),
        pytest.param('set(A "b ) # c\n d" e)', [("set", ["A", '"b ) # c\n d"', "e"])], id="quoted"),
        pytest.param(r'set(A "b\" c\\" \( \")', [("set", ["A", r'"b\" c\\"', r"\(", r"\""])], id="escapes"),
        pytest.param('set(A "b\\\nc")', [("set", ["A", '"b\\\nc"'])], id="continued line"),
        pytest.param("set(A [==[ ]] ) ${B} ]==] c)", [("set", ["A", "[==[ ]] ) ${B} ]==]", "c"])], id="bracket"),
        pytest.param("set(A [b] =])", [("set", ["A", "[b]", "=]"])], id="no bracket"),
        pytest.param("set(A # (\n b) # c()\n#[[ d()\n ]]\n#[= e()", [("set", ["A", "b"])], id="comments"),
        pytest.param("set(A #[[ ( ]] b)", [("set", ["A", "b"])], id="comment inside"),
        pytest.param(
            "if(A AND (NOT B))\nendif()",
            [("if", ["A", "AND", "(", "NOT", "B", ")"]), ("endif", [])],
            id="parentheses",
        ),
        pytest.param('set(A -Da="b c"  $(OUT)/d)', [("set", ["A", '-Da="b c"', "$(OUT)/d"])], id="as old scripts do"),
        pytest.param("\ufeffset(A b)\r\nset(C d)\r\n", [("set", ["A", "b"]), ("set", ["C", "d"])], id="mark and CR LF"),
    ],
)
def test_commands(text: str, said: list[tuple[str, list[str]]]) -> None:
    source = _cmake(text)
    assert _said(source) == said
    assert source.errors == 0


@pytest.mark.parametrize(
    "text",
    [
        'set(A "b)\n',
        "set(A [[ b)\n",
        "#[[ b",
        "set(A b\nset(C d)\n",
        "@PACKAGE_INIT@\n",
        "set(A b))\n",
        "set(A b) set(C d)\n",
        "if(A)\n",
        "endif()\n",
        "else()\n",
        "foreach(a b)\nendif()\n",
    ],
)
def test_text_that_cmake_rejects_is_an_error(text: str) -> None:
    assert _cmake(text).errors > 0


def test_after_an_error_the_next_command_is_read() -> None:
    assert _said(_cmake("@INIT@\nset(A b)\nset(C (d\nset(E f)\n")) == [("set", ["A", "b"]), ("set", ["E", "f"])]


_WORDS = 'set( if(A) else() endif() ( ) " [[ ]] [=[ ]=] # #[[ \\" \\ ; ${A} $<B:c> $<$<C:D>: > $(E) é A = [ ] @B@'
_PIECES = st.sampled_from([*_WORDS.split(), "\r\n", "\n", " ", "\t", "\0"])


@given(st.lists(_PIECES).map("".join))
def test_tokens_are_all_of_the_text_and_spans_are_in_it(text: str) -> None:
    source = _cmake(text)
    assert b"".join(source[token.span] for token in source.tokens) == source.text
    assert len(source.code) == len(source.text)
    end = 0
    for command in source.commands:
        assert end <= command.span.start < command.inner.start <= command.inner.end == command.span.end - 1
        assert source[command.written].decode().lower() == command.name
        for argument in command.arguments:
            assert command.inner.start <= argument.span.start <= argument.content.start
            assert argument.content.end <= argument.span.end <= command.inner.end
        end = command.span.end
        source.around(command)


_WORD = st.text(alphabet='ab;${}<>:,=[]#()" \\\n\té', min_size=1, max_size=8)


@given(st.lists(st.tuples(st.sampled_from(["quoted", "bracket", "unquoted"]), _WORD), min_size=1))
def test_arguments_that_are_written_are_read_again(words: list[tuple[str, str]]) -> None:
    written = []
    for kind, word in words:
        if kind == "quoted":
            written.append('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"')
        elif kind == "bracket":
            written.append(f"[=====[{word}]=====]")
        else:
            written.append("x" + "".join(c if c.isalnum() or c in ";<>:," else f"\\{c}" for c in word if c not in "\n"))
    source = _cmake(f"set({' '.join(written)})\nproject(a)\n")
    (command, after) = source.commands
    assert [source[argument.span].decode() for argument in command.arguments] == written
    assert [argument.kind for argument in command.arguments] == [kind for kind, _ in words]
    assert after.name == "project" and not source.errors


def test_blocks() -> None:
    text = "if(A)\n a()\n foreach(x y)\n  b()\n endforeach()\nelseif(B)\n c()\nelse()\n d()\nendif()\ne()\n"
    source = _cmake(text)

    def around(name: str) -> list[list[str]]:
        (command,) = (each for each in source.commands if each.name == name)
        return [[part.name for part in block] for block in source.around(command)]

    assert around("a") == [["if"]]
    assert around("b") == [["if"], ["foreach"]]
    assert around("c") == [["if", "elseif"]]
    assert around("d") == [["if", "elseif", "else"]]
    assert around("else") == around("e") == []


def test_references_and_expressions() -> None:
    text = (
        'f(${A} $ENV{B} \\${no} # ${no} $<no:x>\n "${${C}}" [[${no}]] $<$<COMPILE_LANGUAGE:CUDA>:-a\n -b:$<D>> $<open:)'
    )
    source = _cmake(text)
    (command,) = source.commands
    found = [(each.of, each.name) for each in source.references(command.inner)]
    assert ("", "A") in found and ("ENV", "B") in found and ("", "C") in found
    (expression,) = source.expressions(command.inner)

    def shown(each: GeneratorExpression) -> tuple[str, str | None, list[object]]:
        content = source[each.content].decode() if each.content else None
        return source[each.head].decode(), content, [shown(inside) for inside in each.inside]

    test: tuple[str, str | None, list[object]] = ("COMPILE_LANGUAGE", "CUDA", [])
    assert shown(expression) == ("$<COMPILE_LANGUAGE:CUDA>", "-a\n -b:$<D>", [test, ("D", None, [])])


_SCRIPT = """\
macro(a)
  message("x ${A}" [==[y ) ]] ]==] z;w \\( -Dk="v w" $(M))  # c ()
endmacro()
#[[ b() ]]
If(A AND (NOT B))
  a ( 1
    2 )
endif()
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake here to compare with")
def test_commands_are_those_that_cmake_runs(tmp_path: Path) -> None:
    script = tmp_path / "script.cmake"
    script.write_text("set(A 1)\n" + _SCRIPT)
    trace = tmp_path / "trace"
    command = ["cmake", "--trace-format=json-v1", f"--trace-redirect={trace}", "-P", str(script)]
    subprocess.run(command, check=True, capture_output=True, timeout=ENDLESS)
    ran = [json.loads(line) for line in trace.read_text().splitlines()[1:]]
    source = _cmake(script.read_bytes())
    mine: dict[int, CMakeCommand] = {source.position(each.span.start)[0]: each for each in source.commands}
    lines = {each["line"]: each for each in ran if "cmd" in each}
    assert lines.keys() <= mine.keys() and len(lines) >= 4
    for line, each in lines.items():
        arguments = [argument for argument in mine[line].arguments if each["cmd"] in ("if", "a")]
        if each["cmd"] in ("if", "a"):
            assert [source[argument.content].decode() for argument in arguments] == each["args"]
        assert mine[line].name == each["cmd"].lower()

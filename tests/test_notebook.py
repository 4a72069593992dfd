# SPDX-License-Identifier: Apache-2.0
"""A notebook's cells are one program of Python; an edit of the program edits the file, and changes nothing else."""

import json
import pickle
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Embedded
from hipport.engine.outcomes import Outcome
from hipport.engine.pipeline import Pass, run
from hipport.program.project import Project, Target
from hipport.syntax.notebook import Notebook
from hipport.syntax.python_script import Python
from hipport_passes import PASSES

PATH = PurePosixPath("demo.ipynb")

# Cells of Python, with characters that JSON has to escape, and characters of one to four bytes.
LINES = st.sampled_from(
    [
        "x = 1",
        'y = "\\t"',
        "z = 'é\\n\U0001f680'",
        "",
        "# ü",
        "if x:\n    y = 2",
        "\ty = 3",
        'w = """',
        "%time x = 2",
        "!ls",
    ]
)
CELLS = st.lists(st.lists(LINES, max_size=4).map("\n".join), min_size=1, max_size=4)
STYLES = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 2, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : ")]),
    }
)


def notebook(*cells: object, style: dict[str, Any] | None = None, **metadata: object) -> Notebook:
    return Notebook(PATH, written(*cells, style=style, **metadata).encode())


def written(*cells: object, style: dict[str, Any] | None = None, **metadata: object) -> str:
    made = [
        {"cell_type": "markdown", "source": ["# `x = 1`\n"]},
        *({"cell_type": "code", "metadata": {}, "outputs": [{"text": ["x = 1\n"]}], "source": cell} for cell in cells),
    ]
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4}, **(style or {"indent": 1}))


def program(source: Notebook) -> Embedded:
    (embedded,) = source.embedded
    return embedded


def text(source: Notebook) -> bytes:
    return program(source).source.text


def sources(source: Notebook) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(source.text)["cells"] if cell["cell_type"] == "code"]


@given(CELLS, STYLES, st.booleans(), st.data())
def test_an_edit_of_the_program_is_that_edit_of_the_cell(
    cells: list[str], style: dict[str, Any], in_lines: bool, data: st.DataObject
) -> None:
    source = notebook(*(cell.splitlines(keepends=True) if in_lines else cell for cell in cells), style=style)
    if not source.embedded:
        return
    found = program(source)
    code = found.source.text
    start = data.draw(st.integers(0, len(code)))
    end = data.draw(st.integers(start, len(code)))
    new = data.draw(st.sampled_from(["", "a", 'b = "\n"\n', "\n", "é\U0001f680\\", "c\n\nd"]))
    try:
        code[start:end].decode()
        code[:start].decode()
    except UnicodeDecodeError:
        return  # No finding is about half of a character.
    edit = found.layout.edit(Edit(Span(start, end), new.encode()))
    if edit is None:
        return
    after = source.apply([edit])
    before, now = sources(source), sources(after)
    changed = [i for i, (one, other) in enumerate(zip(before, now, strict=True)) if one != other]
    assert len(changed) <= 1
    assert after._cells is not None
    # Parts outside of cells' sources are unchanged.
    one, other = json.loads(source.text), json.loads(after.text)
    for cell in (*one["cells"], *other["cells"]):
        assert isinstance(cell["source"], (str, list))
        if cell["cell_type"] == "code":
            if isinstance(cell["source"], list):
                assert all("\n" not in line[:-1] for line in cell["source"])
            del cell["source"]
    assert one == other
    for i in changed:
        old, longer = code[start:end].decode(), len(now[i]) - len(before[i])
        # The end of a cell's last line is not in the file, and is added and removed without an edit.
        without = len(new.removesuffix("\n")) - len(old.removesuffix("\n"))
        assert longer == len(new) - len(old) or (old.endswith("\n") and longer == without)
        assert new.removesuffix("\n") in now[i]


@given(CELLS, STYLES, st.booleans())
def test_positions_of_code_are_those_of_the_file(cells: list[str], style: dict[str, Any], in_lines: bool) -> None:
    source = notebook(*(cell.splitlines(keepends=True) if in_lines else cell for cell in cells), style=style)
    for found in source.embedded:
        code = found.source.text
        for at, byte in enumerate(code):
            if bytes([byte]) in b"xyzw123":
                span = found.layout.span(Span(at, at + 1))
                assert source[span] in (bytes([byte]), b"!ls", b"%time ")


def test_cells_are_one_program() -> None:
    source = notebook("import torch\n", ["x = 1\n", "y = 2"], "", "z = 3")
    assert text(source) == b"import torch\n\nx = 1\ny = 2\nz = 3\n"
    assert program(source).source.path == PATH
    assert isinstance(program(source).source, Python)
    assert pickle.loads(pickle.dumps(source)) == source


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%matplotlib inline", "get_ipython().run_line_magic('matplotlib', 'inline')"),
        ("!pip install \\\n  'torch'\nx", "get_ipython().system(\"pip install \\\\\\n  'torch'\")\nx"),
        (
            "if x:\n  !ls -l\n  %cd ..",
            "if x:\n  get_ipython().system('ls -l')\n  get_ipython().run_line_magic('cd', '..')",
        ),
        ("a, b = !nvidia-smi -L", "a, b = get_ipython().getoutput('nvidia-smi -L')"),
        ("e = %env CUDA_HOME", "e = get_ipython().run_line_magic('env', 'CUDA_HOME')"),
        ("%time x = f(\n  %y)", None),
        ("%time x = f()\n%timeit -n 3 g()", "x = f()\nget_ipython().run_line_magic('timeit', '-n 3 g()')"),
        ("%%time\nx = 1", "x = 1"),
        ("\n%%capture out\nx = 1", "x = 1"),
        ("torch.cuda?\n?torch\n%time?", "pass\npass\npass"),
        ("pip install torch", "get_ipython().system('pip install torch')"),
        # Python, whatever it looks like.
        ("x = (3\n% 2)", "x = (3\n% 2)"),
        ("x = 5 \\\n% 3", "x = 5 \\\n% 3"),
        ('x = """\n!ls\n%cd\n"""', 'x = """\n!ls\n%cd\n"""'),
        ("x != y\nx %= 2\ny = x %2", "x != y\nx %= 2\ny = x %2"),
        ("cd = 1\nrm (x)", "cd = 1\nrm (x)"),
    ],
)
def test_ipythons_syntax_becomes_calls(cell: str, said: str | None) -> None:
    source = notebook(cell, "last")
    assert text(source).decode() == ("" if said is None else said + "\n") + "last\n"
    assert source.errors == (said is None)


@pytest.mark.parametrize("cell", ["%%bash\nls", "%%writefile x.py\nx = 1", "%%cu\n__global__ void k();", "%%html\n<p>"])
def test_cells_in_other_languages_are_left_out(cell: str) -> None:
    source = notebook(cell, "x = 1")
    assert text(source) == b"x = 1\n"
    assert source.errors == 0


@pytest.mark.parametrize(
    "metadata",
    [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}}, {"kernelspec": {"language": "C++17"}}],
)
def test_notebooks_in_other_languages_have_no_program(metadata: dict[str, object]) -> None:
    assert notebook("x = 1", **metadata).embedded == ()
    assert notebook("x = 1", kernelspec={"name": "python3"}, language_info={"name": "python"}).embedded


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[]", b"{}", b'{"cells": 1}', b'{"cells": [1]}', b"\xff\xfe", b'{"cells": []} x', b"[" * 10**5]
)
def test_other_json_has_no_program(said: bytes) -> None:
    assert Notebook(PATH, said).embedded == ()


def test_an_edit_that_breaks_a_notebook_is_more_errors() -> None:
    source = notebook("x = 1", "y = = 2")
    assert source.errors == 1
    assert source.apply([Edit(Span(0, 1), b"")]).errors > source.errors


def test_notebooks_of_format_3_with_a_mark() -> None:
    cell = {"cell_type": "code", "input": ["x = 1"], "language": "python"}
    said = "\ufeff" + json.dumps({"metadata": {}, "nbformat": 3, "worksheets": [{"cells": [cell]}]})
    source = Notebook(PATH, said.encode())
    assert text(source) == b"x = 1\n"
    edit = program(source).layout.edit(Edit(Span(4, 5), b"2"))
    assert edit is not None
    assert source.apply([edit]).text == said.replace("x = 1", "x = 2").encode()


def test_a_line_that_goes_takes_its_string_with_it() -> None:
    source = notebook(["x = 1\n", "y = 2\n", "z = 3"])
    edit = program(source).layout.edit(Edit(Span(6, 12), b""))
    assert edit is not None
    assert source.apply([edit]).text == notebook(["x = 1\n", "z = 3"]).text


def test_lines_that_come_get_strings_of_their_own() -> None:
    source = notebook(["x = 1\n", "y = 2"])
    for place, new, after in (
        (6, b"a\nb\n", ["x = 1\n", "a\n", "b\n", "y = 2"]),
        (11, b"\nc", ["x = 1\n", "y = 2\n", "c"]),
        (11, b"\nc\n", ["x = 1\n", "y = 2\n", "c\n"]),
        (0, b"d\n", ["d\n", "x = 1\n", "y = 2"]),
    ):
        edit = program(source).layout.edit(Edit(Span(place, place), new))
        assert edit is not None
        assert source.apply([edit]).text == notebook(after).text


def test_a_line_behind_the_last_one_gets_a_string_of_its_own() -> None:
    source = notebook(["x = 1\n"])
    edit = program(source).layout.edit(Edit(Span(6, 6), b"y = 2"))
    assert edit is not None
    assert sources(source.apply([edit])) == ["x = 1\ny = 2"]
    assert json.loads(source.apply([edit]).text)["cells"][1]["source"] == ["x = 1\n", "y = 2"]


def test_ipythons_syntax_is_not_edited() -> None:
    source = notebook("!ls\nx = 1", "y = 2")
    layout = program(source).layout
    code = text(source)
    assert layout.edit(Edit(Span(0, 3), b"")) is None
    assert layout.edit(Edit(Span(3, 3), b"x")) is None
    # Nor edits that span two cells.
    assert layout.edit(Edit(Span(code.index(b"x"), code.index(b"y =")), b"")) is not None
    assert layout.edit(Edit(Span(code.index(b"x"), code.index(b"y =") + 1), b"")) is None
    finding = Finding(
        Span(0, 3), "gone", "goes", (Edit(Span(0, 3), b""), Edit(Span(len(code) - 6, len(code) - 5), b""))
    )
    carried = program(source).carried(finding)
    assert (carried.edits, carried.certainty) == ((), Certainty.MANUAL)
    assert carried.message == "goes (cell 2, line 1); hipport cannot edit it in this form; change it by hand"


def test_a_comment_ignores_the_findings_on_its_line_alone() -> None:
    def find(source: Python, project: Project) -> Any:
        for at in range(len(source.text)):
            if source.text[at : at + 1] == b"x":
                yield Finding(Span(at, at + 1), "x", "an x", (Edit(Span(at, at + 1), b"y"),))

    source = notebook("x = 1  # hipport: ignore[*] mine\nx = 2")
    ported = run(Project((source,), Target()), (Pass(Python, find),))
    assert [each.outcome for each in ported.reported] == [Outcome.IGNORED, Outcome.APPLIED]
    assert ported.reported[0].reason == "mine"
    assert sources(ported.project.sources[0]) == ["x = 1  # hipport: ignore[*] mine\ny = 2"]  # type: ignore[arg-type]
    assert [each.message for each in ported.reported] == ["an x (cell 2, line 1)", "an x (cell 2, line 2)"]


def test_passes_over_python_run_over_notebooks() -> None:
    source = notebook(
        ["from torch.utils.cpp_extension import load\n", "import torch"],
        [
            "k = load(\n",
            '    "k", ["k.cu"],\n',
            '    extra_cuda_cflags=["-O3", "-lineinfo"],\n',
            ")\n",
            'major = int(torch.version.cuda.split(".")[0])',
        ],
    )
    ported = run(Project((source,), Target()), PASSES)
    assert {each.rule.partition("/")[0] for each in ported.reported} == {"cpp_extension", "python_gates"}
    after = Notebook(PATH, ported.project.sources[0].text)
    first, second = sources(after)
    assert first == "from torch.utils.cpp_extension import load\nimport torch"
    assert "-gline-tables-only" in second
    assert second.endswith('major = int((torch.version.cuda or "12.8").split(".")[0])')
    # The same code in a separate file.
    alone = run(Project((Python(PurePosixPath("demo.py"), text(source)),), Target()), PASSES)
    assert text(after) == alone.project.sources[0].text

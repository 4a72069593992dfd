# SPDX-License-Identifier: Apache-2.0
"""The tools that measure the code, and that compare what two versions of hipport make."""

from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))


def test_the_figures_of_a_small_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ruff", reason="ruff is not installed: the figures were not counted")
    import house_figures

    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "a.py").write_text(
        "from one.b import y\n\n\ndef long(a, b, c, d, e, f, g, h, i):\n" + "    a += 1\n" * 20
    )
    branches = "".join(f"    if x == {n}:\n        return {n}\n" for n in range(12))
    (folder / "b.py").write_text(f"import one.a\n\ny = 1\n\n\ndef many(x):\n{branches}")
    (folder / "c.py").write_text("def late():\n    from one import d\n    return d\n")
    (folder / "d.py").write_text("from one import c\n")
    made = house_figures.figures([tmp_path])
    assert made.longest[0] == (25, "one/b.py: many") and made.longest[1] == (21, "one/a.py: long")
    assert (made.complexity, made.parameters) == ([13], [9])
    # An import in a function is none between modules.
    assert made.cycles == [["one.a", "one.b"]] and made.modules == {"one": 4}
    assert house_figures.main([str(tmp_path)]) == 0
    assert "import cycles: 1\n  one.a one.b\n" in capsys.readouterr().out


def test_two_trees_that_differ_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import compare_ports

    # No fixtures: they are compared in the same way, and take long.
    (tmp_path / "fixtures").mkdir()
    monkeypatch.setattr(compare_ports, "FIXTURES", tmp_path / "fixtures")
    records = []
    for name, call in (("before", "cudaMalloc(p, 8)"), ("after", "cudaFree(p)"), ("same", "cudaMalloc(p, 8)")):
        tree = tmp_path / name / "tree"
        tree.mkdir(parents=True)
        (tree / "k.cu").write_text(f"#include <cuda_runtime.h>\nvoid f(void **p) {{ {call}; }}\n")
        records.append(str(tmp_path / f"{name}.json.gz"))
        assert compare_ports.main(["record", records[-1], str(tree)]) == 0
    before, after, same = records
    assert compare_ports.main(["compare", before, same]) == 0
    assert capsys.readouterr().out == "0 of 1 differ\n"
    assert compare_ports.main(["compare", before, after]) == 1
    printed = capsys.readouterr().out
    assert "tree tree: k.cu comes out otherwise" in printed and "+void f(void **p) { hipFree(p); }" in printed
    assert printed.endswith("1 of 1 differ\n")
    # The same place and rule: only the words differ.
    assert "api_names/name" not in printed
    assert compare_ports.main(["compare", before, after, "--messages"]) == 1
    assert "api_names/name" in capsys.readouterr().out

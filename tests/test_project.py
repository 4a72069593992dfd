# SPDX-License-Identifier: Apache-2.0
"""Targets, and facts that need more than one file."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipport.api import rewrite
from hipport.core.edits import Edit, Span
from hipport.program import hip_backends
from hipport.program.project import Project, Skipped, Target
from hipport.syntax.cpp import Cpp
from hipport.syntax.file_languages import source


def project(files: dict[str, str], root: Path | None = None) -> Project:
    return Project(tuple(source(PurePosixPath(name), text.encode()) for name, text in files.items()), root=root)


def component(files: dict[str, str], name: str) -> list[str]:
    whole = project(files)
    return sorted(str(other.path) for other in whole.component(whole.by_path[PurePosixPath(name)]))


@pytest.mark.parametrize(
    ("arch", "lanes"),
    [
        ("gfx803", 64),
        ("gfx906", 64),
        ("gfx90a", 64),
        ("gfx90a:xnack-:sramecc+", 64),
        ("gfx942", 64),
        ("gfx950", 64),
        ("gfx9-generic", 64),
        ("gfx9-4-generic", 64),
        ("gfx1030", 32),
        ("gfx10-3-generic", 32),
        ("gfx1100", 32),
        ("gfx11-generic", 32),
        ("gfx1153", 32),
        ("gfx1201", 32),
    ],
)
def test_the_size_of_a_wavefront(arch: str, lanes: int) -> None:
    assert Target((arch,)).wavefronts == {lanes}


def test_a_port_for_both_sizes() -> None:
    assert Target().wavefronts == {32, 64}
    assert Target(("gfx1030", "gfx1100")).wavefronts == {32}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"archs": ()}, "no target architecture"),
        ({"archs": ("sm_90",)}, "'sm_90' is not an AMD GPU"),
        ({"archs": ("gfx942", "gfx")}, "'gfx' is not"),
        ({"archs": ("gfx94z",)}, "'gfx94z' is not"),
        ({"archs": ("gfx942,gfx1100",)}, "is not an AMD GPU"),
        ({"archs": ("gfx942:fast+",)}, "is not an AMD GPU"),
        ({"archs": ("gfx942\n",)}, "is not an AMD GPU"),
        ({"rocm": (5, 1)}, "ROCm 5.1 is too old"),
        ({"dialect": "cuda"}, "dialect 'cuda'"),
        ({"warp": "64"}, "warp mode '64'"),
    ],
)
def test_targets_that_hipport_does_not_support(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Target(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "of", "expected"),
    [
        ({"a.cu": '#include "x.h"', "x.h": "", "b.cu": ""}, "a.cu", ["a.cu", "x.h"]),
        # An include by two files connects them, at any depth.
        ({"a.cu": '#include "x.h"', "b.cu": '#include "y.h"', "x.h": '#include "y.h"', "y.h": ""}, "b.cu",
         ["a.cu", "b.cu", "x.h", "y.h"]),
        # Beside the file first; with .. and . too.
        ({"p/a.cu": '#include "x.h"', "p/x.h": "", "x.h": ""}, "p/a.cu", ["p/a.cu", "p/x.h"]),
        ({"p/a.cu": '#include "../q/x.h"', "p/x.h": "", "q/x.h": ""}, "p/a.cu", ["p/a.cu", "q/x.h"]),
        ({"p/a.cu": '#include "./x.h"', "p/x.h": "", "q/x.h": ""}, "p/a.cu", ["p/a.cu", "p/x.h"]),
        ({"p/q/a.cu": '#include "../x.h"', "p/q/r/x.h": "", "p/x.h": ""}, "p/q/a.cu", ["p/q/a.cu", "p/x.h"]),
        # By the end of the path, like with an unknown -I; the nearest files.
        ({"p/src/a.cu": "#include <x/y.h>", "p/inc/x/y.h": "", "q/inc/x/y.h": "", "p/y.h": ""}, "p/src/a.cu",
         ["p/inc/x/y.h", "p/src/a.cu"]),
        ({"p/a.cu": '#include "x.h"', "q/x.h": "", "r/x.h": ""}, "p/a.cu", ["p/a.cu", "q/x.h", "r/x.h"]),
        ({"p/a.cu": '#include "../../x.h"', "q/x.h": ""}, "p/a.cu", ["p/a.cu", "q/x.h"]),
        # In comments, strings and inactive code; itself; missing files; other files than C++.
        ({"a.cu": '// #include "x.h"\nauto s = "#include <x.h>";', "x.h": ""}, "a.cu", ["a.cu"]),
        ({"a.cu": '#if 0\n#include "x.h"\n#endif', "x.h": ""}, "a.cu", ["a.cu", "x.h"]),
        ({"a.h": '#include "a.h"\n#include <vector>\n#include "."\n#include ""', "b.h": ""}, "a.h", ["a.h"]),
        ({"a.cu": '#include "setup.py"', "setup.py": ""}, "setup.py", ["setup.py"]),
    ],
)  # fmt: skip
def test_files_that_include_each_other_belong_together(files: dict[str, str], of: str, expected: list[str]) -> None:
    assert component(files, of) == expected


def test_headers_of_hipport_connect_nothing() -> None:
    files = {
        "a/k.cu": '#include "../hipport/warp.h"\n',
        "b/k.cu": '#include "../hipport/warp.h"\n',
        "hipport/warp.h": "// Put here by hipport.\n",
    }
    assert component(files, "a/k.cu") == ["a/k.cu"]


def test_includes_may_begin_above_what_was_given(tmp_path: Path) -> None:
    whole = replace(project({"u/a.cuh": "#include <lib/gpu/u/b.cuh>", "u/b.cuh": ""}), root=tmp_path / "lib" / "gpu")
    elsewhere = replace(whole, root=tmp_path / "other" / "gpu")
    assert [len(each.component(each.sources[0])) for each in (whole, elsewhere)] == [2, 1]


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_belonging_together_is_mutual(includes: list[list[int]]) -> None:
    """Compared with the slow method: add the files one include away, until nothing is new."""
    whole = project(
        {f"{i}.h": "".join(f'#include "{other}.h"\n' for other in others) for i, others in enumerate(includes)}
    )
    for i in range(8):
        reached = {i}
        while True:
            more = {j for j in range(8) for k in reached if j in includes[k] or k in includes[j]} - reached
            if not more:
                break
            reached |= more
        found = whole.component(whole.by_path[PurePosixPath(f"{i}.h")])
        assert {str(other.path) for other in found} == {f"{j}.h" for j in reached}


def test_no_file_includes_itself() -> None:
    whole = project({"a.h": '#include "a.h"', "p/a.h": '#include "../a.h"'})
    found = [
        [whole.included(each, include) for include in each.includes] for each in whole.sources if isinstance(each, Cpp)
    ]
    assert found == [[[whole.sources[1]]], [[whole.sources[0]]]]
    assert whole.included_paths == {each.path for each in whole.sources}


def test_facts_of_a_component_are_computed_once() -> None:
    asked: list[str] = []

    def words(source: Cpp) -> frozenset[bytes]:
        asked.append(str(source.path))
        return frozenset(source.text.split())

    whole = project({"a.cu": '#include "x.h"\none', "x.h": "two", "b.cu": "three"})
    a, x, b = whole.sources
    assert whole.union_over(a, words) == whole.union_over(x, words) == {b"#include", b'"x.h"', b"one", b"two"}
    assert whole.union_over(b, words) == {b"three"}
    assert sorted(asked) == ["a.cu", "b.cu", "x.h"]


CHOICE = "#ifdef FAST_HIP\nhipError_t e;\n#else\ncudaError_t e;\n#endif\n"
ASKS = "#ifdef FAST_HIP\n#else\nfirst\n#endif\n"


@pytest.mark.parametrize(
    ("files", "known"),
    [
        ({"a.h": CHOICE, "b.cu": '#include "a.h"\n' + ASKS}, True),
        ({"a.cu": '#include "b.h"\n' + CHOICE, "b.h": ASKS}, True),
        ({"a.h": CHOICE, "b.cu": ASKS}, False),
        ({"setup.py": "macros = [('FAST_HIP', None)]", "src/b.cu": ASKS}, True),
        ({"setup.py": "macros = ['-DFAST_HIP']", "src/b.cu": ASKS}, True),
        ({"setup.py": "x = ('FAST_HIP')", "src/b.cu": ASKS}, False),
        ({"setup.py": "x = os.getenv('FAST_HIP', '0')", "src/b.cu": ASKS}, False),
        ({"other/setup.py": "macros = [('FAST_HIP', None)]", "src/b.cu": ASKS}, False),
        ({"CMakeLists.txt": "add_definitions(-DFAST_HIP)", "src/b.cu": ASKS}, True),
        ({"CMakeLists.txt": "target_compile_definitions(a PRIVATE A\n  FAST_HIP)", "src/b.cu": ASKS}, True),
        ({"cmake/hip.cmake": "add_compile_definitions(FAST_HIP=1)", "src/b.cu": ASKS}, True),
        ({"CMakeLists.txt": "option(FAST_HIP x ON)", "src/b.cu": ASKS}, False),
        ({"Makefile": "FLAGS = -DFAST_HIP", "src/b.cu": ASKS}, True),
        ({"Makefile": "FLAGS = -DFAST_HIP_GRAPHS", "src/b.cu": ASKS}, False),
    ],
)
def test_macros_for_hip_are_known_from_other_files_and_build_scripts(files: dict[str, str], known: bool) -> None:
    whole = hip_backends.known(project(files))
    (asking,) = (source for source in whole.sources if ASKS.encode() in source.text)
    assert isinstance(asking, Cpp)
    assert [asking[span].strip() for span in asking.cuda_only] == ([b"first"] if known else [])
    again = pickle.loads(pickle.dumps(asking))
    assert again.known_on_hip == asking.known_on_hip
    changed = asking.apply([Edit(Span(0, 0), b"// HIP\n")])
    assert changed.known_on_hip == asking.known_on_hip


def test_files_without_hip_stay_the_same_objects() -> None:
    whole = project({"a.cu": "cudaFree(p);", "setup.py": "-DFAST_HIP"})
    assert hip_backends.known(whole) is whole


def test_home_is_the_common_folder_of_a_component() -> None:
    whole = project({"p/src/a.cu": '#include "../inc/x.h"', "p/inc/x.h": "", "p/src/deep/b.cu": "", "c.cu": ""})
    homes = {str(each.path): str(whole.home(each)) for each in whole.sources}
    assert homes == {"p/src/a.cu": "p", "p/inc/x.h": "p", "p/src/deep/b.cu": "p/src/deep", "c.cu": "."}


def test_replacing_keeps_everything_else() -> None:
    skipped = (
        Skipped(PurePosixPath("glm"), "vendored", "third-party"),
        Skipped(PurePosixPath("x"), "refused", "binary"),
    )
    files = project({"a.cu": '#include "x.h"', "x.h": "", "b.cu": ""}).sources
    before = Project(files, Target(("gfx942",)), skipped, Path("/somewhere"))
    assert [str(each.path) for each in before.vendored] == ["glm"]
    assert len(before.component(files[0])) == 2
    changed = source(PurePosixPath("a.cu"), b"")
    after = before.replacing({changed.path: changed})
    assert after.sources == (changed, *files[1:])
    assert (after.target, after.skipped, after.root) == (before.target, skipped, before.root)
    assert len(after.component(changed)) == 1
    assert before.replacing({}) is before


def test_a_project_can_be_pickled() -> None:
    whole = project({"a.cu": '#include "x.h"', "x.h": ""}, root=Path("/somewhere"))
    whole.component(whole.sources[0])
    assert pickle.loads(pickle.dumps(whole)) == whole


@pytest.mark.parametrize(
    "include",
    [
        '#include "h.h"',
        "# include <h.h>",
        '#include \\\n "h.h"',
        '#include /* "x.h" */ "h.h"',
        '#if 0\n#include "h.h"\n#endif',
        '??=include "h.h"',
        '%:include "h.h"',
    ],
)
def test_files_that_include_each_other_are_not_taken_apart(include: str) -> None:
    """The division of a tree among processes must connect all files that the lexer connects."""
    tree = project({"a.cu": include, "h.h": "", "b.cu": ""})
    together = {frozenset(str(source.path) for source in tree.component(each)) for each in tree.sources}
    apart = [{str(source.path) for source in group} for group in tree.apart()]
    assert frozenset({"a.cu", "h.h"}) in together or not include.startswith(('#include "', "# include"))
    assert all(any(group <= other for other in apart) for group in together)
    assert {"b.cu"} in apart


def test_files_that_affect_each_other_are_given_to_one_process() -> None:
    """Memory that one file pins, and to which another's kernel writes: the result does not depend on the number of
    processes.
    """
    tree = {f"u{i}.cu": b"__global__ void f%d() {}\n" % i for i in range(6)} | {
        "k.cu": b"__global__ void count(int *n) { atomicMax(n, 1); }\nvoid launch(int *n) { count<<<1, 32>>>(n); }\n",
        "b.cpp": b"void launch(int *n);\nvoid run() { int *p; cudaMallocManaged(&p, 4); launch(p); }\n",
    }
    one, four = (rewrite(tree, jobs=jobs).reported for jobs in (1, 4))
    assert one == four
    assert [each.path.name for each in four if each.rule == "atomics/host_memory"] == ["k.cu"]

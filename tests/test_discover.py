# SPDX-License-Identifier: Apache-2.0
"""The files of a tree that are read, and those that are left alone, with the reasons."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hipport
from further import further
from hipport.core import reading
from hipport.core.source import Source
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.cmake_script import CMake
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.file_languages import source
from hipport.syntax.make import Makefile
from hipport.syntax.notebook import Notebook
from hipport.syntax.packaging import CondaEnvironment, Requirements, SetupCfg
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Dockerfile, Markdown, Shell
from hipport.syntax.toml import Toml
from hipport.workspace.discovery import NotFound, discover, left_by_tools

ROOT_USER = os.geteuid() == 0
GIT = shutil.which("git")


def lay(root: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def names(project: Project) -> list[str]:
    return [str(source.path) for source in project.sources]


def skipped(project: Project) -> dict[str, tuple[str, str]]:
    return {str(each.path): (each.kind, each.why) for each in project.skipped}


# ---- Paths -----------------------------------------------------------------------------------------------------------


def test_paths_are_relative_to_the_folder_that_all_lie_in(tmp_path: Path) -> None:
    lay(tmp_path, {"a/x.cu": "", "a/b/y.cu": "", "a/c/z.cu": "", "other.cu": ""})
    a = tmp_path / "a"
    for given_paths, root, found in [
        ([a], a, ["b/y.cu", "c/z.cu", "x.cu"]),
        ([a / "b"], a / "b", ["y.cu"]),
        ([a / "b/y.cu"], a / "b", ["y.cu"]),
        ([a / "b", a / "c"], a, ["b/y.cu", "c/z.cu"]),
        ([a / "b/y.cu", a / "c/z.cu"], a, ["b/y.cu", "c/z.cu"]),
        ([a, a / "b", a / "b/y.cu", a / "b/../x.cu"], a, ["b/y.cu", "c/z.cu", "x.cu"]),
        ([a / "b", tmp_path / "other.cu"], tmp_path, ["a/b/y.cu", "other.cu"]),
    ]:
        project = discover(given_paths)
        assert (project.root, names(project), project.skipped) == (root, found, ())


def test_relative_paths_and_links_to_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, {"real/a.cu": ""})
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    for path in ("link", "real", "./link/../real"):
        project = discover([Path(path)])
        assert (project.root, names(project)) == (tmp_path / "real", ["a.cu"])


def test_what_does_not_exist_is_an_error_that_names_it(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": ""})
    (tmp_path / "broken.cu").symlink_to("nowhere")
    with pytest.raises(NotFound, match=r"there is no .*b\.cu, .*broken\.cu"):
        discover([tmp_path / "a.cu", tmp_path / "b.cu", tmp_path / "broken.cu"])


def test_the_order_is_that_of_the_paths(tmp_path: Path) -> None:
    lay(tmp_path, dict.fromkeys(("b.cu", "a/z.cu", "a.cu", "a-b/x.cu", "B.cu", "a/b/c.cu"), ""))
    assert names(discover([tmp_path])) == ["B.cu", "a-b/x.cu", "a.cu", "a/b/c.cu", "a/z.cu", "b.cu"]


def test_the_target_is_passed_on(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": ""})
    target = Target(("gfx90a",))
    assert discover([tmp_path], target).target is target
    assert discover([tmp_path]).target == Target()


# ---- Kinds of files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("a.cu", "", Cuda),
        ("a.cuh", "int x;", Cuda),
        ("a.CU", "", Cuda),
        ("a.h", "int x;", Cpp),
        ("a.h", "__device__ int x;", Cuda),
        ("a.hpp", "void f() { k<<<1, 2>>>(); }", Cuda),
        ("a.inl", "void f() { k << <1, 2 >> >(); }", Cuda),
        ("a.inc", "x = __shfl_xor_sync(M, x, 1);", Cuda),
        ("a.h", "#include <cuda_runtime.h>", Cuda),
        ("a.cpp", "#define USE_CUDA 1", Cuda),
        ("a.cpp", "std::cout << x << std::endl;", Cpp),
        ("a.c", "", Cpp),
        ("a.cc", "", Cpp),
        ("a.cxx", "", Cpp),
        ("a.tpp", "", Cpp),
        ("a.hip", "__global__ void k() {}", Cuda),
        ("setup.py", "", Python),
        ("kernel.cu.in", "__global__ void @NAME@() {}", Cuda),
        ("CMakeLists.txt", "find_package(CUDAToolkit)", CMake),
        ("find_cuda.cmake", "", CMake),
        ("NOTES.md", "`k<<<1, 2>>>()`", Source),
        ("notes.txt", "cuda", Source),
        ("Makefile", "nvcc a.cu # cuda", Makefile),
        ("rules.mk", "", Makefile),
        ("demo.ipynb", "{}", Notebook),
        ("README.md", "pip install torch", Markdown),
        ("docker/x.Dockerfile", "FROM nvidia/cuda", Dockerfile),
        ("install.sh", "pip install torch", Shell),
        ("pyproject.toml", "torch", Toml),
        ("setup.cfg", "torch", SetupCfg),
        ("environment-gpu.yaml", "torch", CondaEnvironment),
        ("requirements.txt", "torch", Requirements),
        ("requirements-dev.txt", "torch", Requirements),
        ("requirements/gpu.txt", "torch", Requirements),
        ("Pipfile", "torch", Toml),
        ("cuda_requirements.in", "torch", Requirements),
        ("data.bin", "", Source),
    ],
)
def test_the_language_of_a_file(name: str, text: str, language: type[Source]) -> None:
    assert type(source(PurePosixPath(name), text.encode())) is language


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ('import os\nos.system("pip install torch==2.1.0")\n', True),
        ('import nox\n\ndef t(session):\n    session.install("torch==2.1.0")\n', True),
        ('INDEX = "https://download.pytorch.org/whl/cu118"\n', True),
        ('import os\nos.system("make install")\n', False),
    ],
)
def test_python_files_that_install_packages_are_taken(tmp_path: Path, text: str, taken: bool) -> None:
    (tmp_path / "a.py").write_text(text)
    assert bool(discover([tmp_path]).sources) is taken


def test_python_files_that_build_extensions_or_care_for_the_gpu_are_taken(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "setup.py": "",
            "pkg/setup.py": "",
            "jit.py": "from torch.utils.cpp_extension import load",
            "build_ext.py": "CUDAExtension",
            "gate.py": "torch.cuda.is_available()",
            "model.py": "import torch",
            "notes.txt": "CUDAExtension",
        },
    )
    assert names(discover([tmp_path])) == ["build_ext.py", "gate.py", "jit.py", "pkg/setup.py", "setup.py"]
    assert names(discover([tmp_path / "model.py"])) == ["model.py"]


def test_python_files_that_import_a_capability_are_taken(tmp_path: Path) -> None:
    """Also through a package that re-exports it; constants that they compare it with are read in their modules."""
    lay(
        tmp_path,
        {
            "pkg/__init__.py": "from .gpu import (\n    arch,\n)\n",
            "pkg/gpu.py": "import limits, torch\narch = torch.cuda.get_device_capability() >= limits.HOPPER",
            "limits.py": "HOPPER = (9, 0)",
            "use.py": "from pkg import arch\n",
            "near.py": "import pkg.gpu as g\n",
            "other.py": "import limits, os\n",
            "text.py": "'''gpu'''\n# import gpu\n",
        },
    )
    taken = names(discover([tmp_path]))
    assert taken == ["limits.py", "near.py", "pkg/__init__.py", "pkg/gpu.py", "use.py"]


def test_files_that_are_given_are_taken_when_they_are_cuda_at_all(tmp_path: Path) -> None:
    lay(tmp_path, {"k.cu.in": "__global__ void k();", "NOTES.md": "cudaMalloc", "notes.txt": "nvcc", "x.foo": "hello"})
    assert names(discover([tmp_path])) == []
    project = discover(sorted(tmp_path.iterdir()))
    assert names(project) == ["k.cu.in"]
    assert skipped(project) == dict.fromkeys(
        ["NOTES.md", "notes.txt", "x.foo"], ("refused", "not in a language that hipport reads")
    )


def test_files_left_by_tools_are_left_alone(tmp_path: Path) -> None:
    kept = ["a.cu", "build/b.cu", "dist/c.cu", "build_tools/lib/l.cu", "deps/d.cu", "env/e.cu", "my.build/f.cu"]
    left = [
        *(".git/x.cu", ".hipport/x.cu", ".tox/x.cu", ".hidden/x.cu", "__pycache__/x.cu", "node_modules/p/x.cu"),
        *("p.egg-info/x.cu", "venv/lib/x.cu", "conda/x.cu", "a/build/x.cu", "b/build/x.cu", "c/build/lib/x.cu"),
        *("d/build/x.cu", "cmake-build-debug/x.cu", "out-build/x.cu", "e/dist/x.cu", "CMakeFiles/x.cu"),
    ]
    lay(tmp_path, dict.fromkeys([*kept, *left], ""))
    lay(tmp_path, {"venv/pyvenv.cfg": "", "conda/conda-meta/x": "", "a/build/CMakeCache.txt": "", "b/build/x.o": ""})
    lay(tmp_path, {"d/build/temp.linux-x86_64-3.11/x": "", "cmake-build-debug/CMakeFiles/x": ""})
    lay(tmp_path, {"out-build/build.ninja": "", "e/dist/p-1.whl": ""})
    project = discover([tmp_path])
    assert names(project) == sorted(kept)
    assert project.skipped == ()
    # Unless they are given.
    assert names(discover([tmp_path / "a/build"])) == ["x.cu"]
    assert names(discover([tmp_path / ".hidden", tmp_path / "venv"])) == [".hidden/x.cu", "venv/lib/x.cu"]
    assert left_by_tools(tmp_path, ["a", "b", "build", ".git", "cmake-build-debug"]) == {".git", "cmake-build-debug"}


def test_output_of_hipify_is_left_alone(tmp_path: Path) -> None:
    """The mark of torch.utils.hipify decides; without the mark the file is a person's."""
    mark = "// !!! This is a file automatically generated by hipify!!!\n"
    lay(
        tmp_path,
        {
            "k.cu": "",
            "k.hip": mark,
            "hip/k.h": mark,
            "ext_hip.cpp": mark + "x",
            "own_hip.cpp": "\n" * 200 + mark,
            "b.hip": "",
        },
    )
    project = discover([tmp_path])
    assert names(project) == ["b.hip", "k.cu", "own_hip.cpp"]
    assert skipped(project) == dict.fromkeys(
        ["ext_hip.cpp", "hip/k.h", "k.hip"], ("ported", "made by hipify from another file")
    )
    assert names(discover([tmp_path / "k.hip"])) == ["k.hip"]


# ---- Refused files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("int x;".encode("utf-16"), "UTF-16"),
        ("int x;".encode("utf-16-be"), "a binary file"),
        (b"\xfe\xff" + "int x;".encode("utf-16-be"), "UTF-16"),
        ("int x;".encode("utf-32"), "UTF-32"),
        (b"\x00\x00\xfe\xff" + "int x;".encode("utf-32-be"), "UTF-32"),
        (b"int x;\0", "a binary file: it has NUL bytes"),
        (b"\x7fELF\x02\x01\x01\x00", "a binary file"),
    ],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_files_that_are_not_text_are_refused(tmp_path: Path, text: bytes, why: str, by_name: bool) -> None:
    lay(tmp_path, {"a.cu": text, "b.cu": ""})
    project = discover([tmp_path / "a.cu", tmp_path / "b.cu"] if by_name else [tmp_path])
    assert names(project) == ["b.cu"]
    [(name, (kind, said))] = skipped(project).items()
    assert (name, kind) == ("a.cu", "refused")
    assert said.startswith(why)


@given(st.binary(max_size=40).map(lambda text: text.replace(b"\0", b"0")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_other_text_comes_out_as_it_went_in(tmp_path: Path, text: bytes) -> None:
    """Any encoding, byte-order mark or line ending: without a pass nothing changes."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    lay(tmp_path, {"a.cu": text, "setup.py": text})
    ported = run(discover([tmp_path]), ())
    assert [each.text for each in ported.project.sources] == [text, text]
    assert ported.changed == ()


@pytest.mark.parametrize("megabytes", further([20, 100], [100]))
def test_a_large_file(tmp_path: Path, megabytes: int) -> None:
    rows = b"0.123456789f, 1.5e-3f, 0x1p3f,\n" * 1000 + b"/* c */\n"
    text = b"float t[] = {\n" + rows * (33 * megabytes) + b"};\n"
    assert len(text) > megabytes * 1_000_000
    lay(tmp_path, {"a.cu": text})
    ported = run(discover([tmp_path]), ())
    [large] = ported.project.sources
    assert large.text == text
    assert ported.changed == ()
    assert isinstance(large, Cuda)
    assert large.code == text.replace(b"/* c */", b"       ")


def test_files_beyond_all_measure_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST", 5 << 20)
    lay(tmp_path, {"a.cu": "x"})
    (tmp_path / "b.cu").touch()
    os.truncate(tmp_path / "b.cu", (5 << 20) + 1)
    assert skipped(discover([tmp_path])) == {"b.cu": ("refused", "larger than 5 MB")}


def test_pipes_and_sockets_are_refused_without_waiting(tmp_path: Path) -> None:
    lay(tmp_path, {"a.cu": ""})
    os.mkfifo(tmp_path / "pipe.cu")
    os.mkfifo(tmp_path / "pipe")
    for given_paths in ([tmp_path], [tmp_path / "a.cu", tmp_path / "pipe.cu"]):
        project = discover(given_paths)
        assert names(project) == ["a.cu"]
        assert skipped(project) == {"pipe.cu": ("refused", "not a regular file")}


def test_unreadable_files_are_refused() -> None:
    root = Path(tempfile.mkdtemp())
    try:
        root.chmod(0o755)
        lay(root, {"a.cu": "", "b.cu": "", "c/d.cu": ""})
        (root / "b.cu").chmod(0)
        (root / "c").chmod(0)
        if ROOT_USER:
            os.seteuid(65534)  # Root may read everything.
        try:
            project = discover([root])
        finally:
            if ROOT_USER:
                os.seteuid(0)
        assert names(project) == ["a.cu"]
        assert skipped(project) == dict.fromkeys(["b.cu", "c"], ("refused", "permission denied"))
    finally:
        (root / "c").chmod(0o755)
        shutil.rmtree(root)


# ---- Links -----------------------------------------------------------------------------------------------------------


def test_a_link_inside_the_tree_is_the_file_it_leads_to(tmp_path: Path) -> None:
    root = lay(tmp_path / "root", {"src/a.cu": "a", "impl.txt": "b", "src/folder/c.cu": "c"})
    (root / "a.cu").symlink_to("src/a.cu")
    (root / "b.cu").symlink_to("impl.txt")
    (root / "folder").symlink_to("src/folder")
    (root / "loop").symlink_to(".")
    (root / "absolute.cu").symlink_to(root / "src/a.cu")
    (root / "notes.md").symlink_to("nowhere")
    project = discover([root])
    assert names(project) == ["impl.txt", "src/a.cu", "src/folder/c.cu"]
    assert type(project.sources[0]) is Cuda
    assert project.skipped == ()
    # Given by name, it is also that file.
    by_name = discover([root / "a.cu", root / "folder/c.cu"])
    assert (by_name.root, names(by_name)) == (root / "src", ["a.cu", "folder/c.cu"])


def test_links_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {"outside/b.cu": "", "root/a.cu": "", "root/.git/g.cu": "", "root/glm/glm.hpp": "", "root/no/x.cu": ""},
    )
    root = tmp_path / "root"
    (root / "b.cu").symlink_to("../outside/b.cu")
    (root / "folder").symlink_to("../outside")
    (root / "data").symlink_to("/dev/null")
    (root / "broken.cu").symlink_to("nowhere.cu")
    (root / "git.cu").symlink_to(".git/g.cu")
    (root / "excluded.cu").symlink_to("no/x.cu")
    (root / "shown.cu").symlink_to("hidden.cu")
    lay(root, {"hidden.cu": ""})
    project = discover([root], exclude=["no", "hidden.cu"])
    assert names(project) == ["a.cu", "glm/glm.hpp"]
    assert skipped(project) == {
        "b.cu": ("refused", "a link that leads out of the tree"),
        "folder": ("refused", "a link that leads out of the tree"),
        "broken.cu": ("refused", "a link to a file that does not exist"),
        "git.cu": ("refused", "a link to .git/g.cu, which is left alone"),
        "excluded.cu": ("refused", "a link to no/x.cu, which is left alone"),
        "shown.cu": ("refused", "a link to hidden.cu, which is left alone"),
    }


# ---- Third-party code ------------------------------------------------------------------------------------------------

MARKERS = {
    "glm": ("glm/glm.hpp",),
    "cutlass": ("cutlass/cutlass.h",),
    "eigen": ("Eigen/Core",),
    "stb": ("stb_image.h",),
    "json": ("nlohmann/detail/value_t.hpp", "nlohmann/json.hpp"),
}


@pytest.mark.parametrize(
    ("files", "left", "kept"),
    [
        (
            ["third_party/glm/glm/glm.hpp", "third_party/glm/glm/vec.inl", "third_party/glm/test/t.cpp"],
            "third_party/glm",
            [],
        ),
        (["include/glm/glm.hpp", "include/mine.h"], "include/glm", ["include/mine.h"]),
        (["libs/cutlass-3.5.1/include/cutlass/cutlass.h", "libs/cutlass-3.5.1/test/t.cu"], "libs/cutlass-3.5.1", []),
        (["ext/cutlass/include/cutlass/cutlass.h", "ext/cute/mine.cu"], "ext/cutlass", ["ext/cute/mine.cu"]),
        (["eigen/Eigen/Core", "eigen/Eigen/src/x.h"], "eigen", []),
        (["src/stb_image.h", "src/a.cu"], "src/stb_image.h", ["src/a.cu"]),
        (["inc/nlohmann/detail/value_t.hpp", "inc/nlohmann/json.hpp"], "inc/nlohmann", []),
        (["glm/glm.hpp", "glm/x/glm/glm.hpp"], "glm", []),
        (["third_party/own/k.cu", "external/k.cu"], None, ["external/k.cu", "third_party/own/k.cu"]),
        (["glm/mine.hpp", "src/glm.hpp"], None, ["glm/mine.hpp", "src/glm.hpp"]),
        (["glmtools/glm/glm.hpp", "glmtools/a.cu"], "glmtools/glm", ["glmtools/a.cu"]),
    ],
)
def test_third_party_code_is_known_by_its_files(
    tmp_path: Path, files: list[str], left: str | None, kept: list[str]
) -> None:
    project = discover([lay(tmp_path, dict.fromkeys(files, ""))], vendored=MARKERS)
    assert names(project) == kept
    assert [str(each.path) for each in project.vendored] == ([left] if left else [])
    assert len(project.skipped) == len(project.vendored)


def test_third_party_code_may_be_known_by_the_beginning_of_its_file(tmp_path: Path) -> None:
    """Many libraries, and many programs, have a file named `json.hpp`."""
    theirs, mine = "// JSON for Modern C++, https://github.com/nlohmann/json\n", '#include "parse.h" // of our own\n'
    root = lay(tmp_path, {"deps/json/json.hpp": theirs, "inc/json.hpp": theirs, "src/json/json.hpp": mine})
    project = discover([root], vendored={"json": ("nlohmann/json.hpp", "json.hpp: nlohmann")})
    assert names(project) == ["src/json/json.hpp"]
    assert [str(each.path) for each in project.vendored] == ["deps/json", "inc/json.hpp"]


def test_third_party_code_that_is_given_is_meant(tmp_path: Path) -> None:
    root = lay(tmp_path, {"a.cu": "", "t/cutlass/include/cutlass/cutlass.h": "", "t/cutlass/test/t.cu": ""})
    library = root / "t/cutlass"
    everything = ["include/cutlass/cutlass.h", "test/t.cu"]
    assert names(discover([library], vendored=MARKERS)) == everything
    assert names(discover([library / "include"], vendored=MARKERS)) == ["cutlass/cutlass.h"]
    assert names(discover([library / "test/t.cu", root / "a.cu"], vendored=MARKERS)) == ["a.cu", "t/cutlass/test/t.cu"]
    both = discover([root, library], vendored=MARKERS)
    assert names(both) == ["a.cu", *(f"t/cutlass/{name}" for name in everything)]
    assert both.skipped == ()
    part = discover([root, library / "test"], vendored=MARKERS)
    assert names(part) == ["a.cu", "t/cutlass/test/t.cu"]
    assert names(discover([root / "t"], vendored=MARKERS)) == []


def test_a_project_may_lie_below_a_folder_with_the_name_of_a_library(tmp_path: Path) -> None:
    root = lay(tmp_path / "glm/work/code/project", {"inc/glm/glm.hpp": "", "a.cu": ""})
    project = discover([root], vendored=MARKERS)
    assert names(project) == ["a.cu"]
    assert [str(each.path) for each in project.vendored] == ["inc/glm"]


def test_submodules_that_are_not_checked_out_are_reported(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {"pkg/.gitmodules": '[submodule "x"]\n\tpath = third_party/glm\n\turl = u\n[submodule "y"]\n  path=b b\n'},
    )
    lay(tmp_path, {"pkg/third_party/x": "", "pkg/b b/a.cu": ""})
    (tmp_path / "pkg/third_party/glm").mkdir()
    assert skipped(discover([tmp_path])) == {
        "pkg/third_party/glm": ("missing", "a git submodule that is not checked out: git submodule update --init")
    }


# ---- Exclusion -------------------------------------------------------------------------------------------------------


def test_excluded_paths_are_not_read(tmp_path: Path) -> None:
    lay(tmp_path, dict.fromkeys(("a.cu", "tests/a.cu", "src/tests/b.cu", "src/c.cu", "src/gen/d.cu"), ""))
    for patterns, left in [
        (["tests"], ["a.cu", "src/c.cu", "src/gen/d.cu"]),
        (["/tests"], ["a.cu", "src/c.cu", "src/gen/d.cu", "src/tests/b.cu"]),
        (["src/gen/"], ["a.cu", "src/c.cu", "src/tests/b.cu", "tests/a.cu"]),
        (["a.cu/"], ["a.cu", "src/c.cu", "src/gen/d.cu", "src/tests/b.cu", "tests/a.cu"]),
        (["*.cu", "!c.cu"], ["src/c.cu"]),
        (["src/**/*.cu"], ["a.cu", "tests/a.cu"]),
        (["src/*"], ["a.cu", "tests/a.cu"]),
        (["**/gen"], ["a.cu", "src/c.cu", "src/tests/b.cu", "tests/a.cu"]),
    ]:
        assert names(discover([tmp_path], exclude=patterns)) == left, patterns
    # Relative to the folder of the configuration.
    assert names(discover([tmp_path / "src"], exclude=["src/gen"], base=tmp_path)) == ["c.cu", "tests/b.cu"]
    assert names(discover([tmp_path / "src"], exclude=["/gen"], base=tmp_path)) == ["c.cu", "gen/d.cu", "tests/b.cu"]
    # Also files given by name, for example by a hook that passes every file; that is reported.
    project = discover([tmp_path / "a.cu", tmp_path / "tests/a.cu"], exclude=["tests/*"])
    assert names(project) == ["a.cu"]
    assert skipped(project) == {"tests/a.cu": ("excluded", "excluded by the configuration")}


PARTS = st.sampled_from(["a", "b", "ab", "*", "?", "a*", "*b", "[ab]", "[!a]", "[^b]*", "[a-b]b", "**"])
PATTERNS = st.builds(
    lambda parts, lead, tail, back: (
        ("!" if back else "") + ("/" if lead else "") + "/".join(parts) + ("/" if tail else "")
    ),
    st.lists(PARTS, min_size=1, max_size=3),
    *[st.booleans()] * 2,
    st.sampled_from([False, False, True]),
)


@pytest.mark.skipif(GIT is None, reason="NOT CHECKED: patterns against git's own, as there is no git here")
@given(st.lists(PATTERNS, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_patterns_mean_what_they_mean_to_git(tmp_path: Path, patterns: list[str]) -> None:
    root = tmp_path / "tree"
    files = [
        f"{folder}{name}.cu"
        for folder in ("", "a/", "b/", "ab/", "a/b/", "a/ab/", "b/a/b/")
        for name in ("a", "b", "ab")
    ]
    if not root.exists():
        lay(root, dict.fromkeys(files, ""))
        subprocess.run([str(GIT), "init", "-q", root], check=True)
    patterns = [pattern + (".cu" if pattern[-1] != "/" and i % 2 else "") for i, pattern in enumerate(patterns)]
    (root / ".git/info/exclude").write_text("\n".join(patterns) + "\n")
    said = subprocess.run(
        [str(GIT), "-C", root, "-c", "core.excludesFile=/dev/null", "ls-files", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    assert names(discover([root], exclude=patterns)) == sorted(said)


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("Makefile", "x: src/x.cu\n\tnvcc -Icommon/inc -o x src/x.cu\n"),
        ("CMakeLists.txt", "project(x CUDA)\ninclude_directories(${CMAKE_SOURCE_DIR}/common/inc)\n"),
        ("src/CMakeLists.txt", "target_include_directories(x PRIVATE ../common/inc)\n"),
        ("setup.py", "from torch.utils.cpp_extension import CUDAExtension\n"
         "CUDAExtension('x', ['src/x.cu'], include_dirs=['common/inc'])\n"),
    ],
)  # fmt: skip
def test_a_given_file_finds_what_its_build_finds(tmp_path: Path, script: str, text: str) -> None:
    """As in the whole tree: NVIDIA's helper is the repository's own, and so is a name that a header declares."""
    (tmp_path / ".git").mkdir()
    for name, said in {
        script: text,
        "src/x.cu": "#include <helper_cuda.h>\n#include <deep/two.h>\n__global__ void k() { __syncwarp(); }\n",
        "common/inc/helper_cuda.h": '#pragma once\n#include "helper_string.h"\n',
        "common/inc/helper_string.h": "#pragma once\n",
        "common/inc/deep/two.h": "#define __syncwarp() mine()\n__device__ void mine();\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(said)
    alone = hipport.rewrite(tmp_path / "src/x.cu")
    whole = hipport.rewrite(tmp_path)
    assert {each.path.name for each in alone.before.context} == {"helper_cuda.h", "helper_string.h", "two.h"}
    assert alone.project.sources[0].text == whole.project.by_path[PurePosixPath("src/x.cu")].text
    folder = hipport.rewrite(tmp_path / "src")
    assert {each.path.name for each in folder.before.context} == {"helper_cuda.h", "helper_string.h", "two.h"}
    assert folder.project.by_path[PurePosixPath("x.cu")].text == alone.project.sources[0].text
    assert b"<helper_cuda.h>" in alone.project.sources[0].text


def test_includes_of_a_given_file_are_read_as_context(tmp_path: Path) -> None:
    tree = {
        ".git/HEAD": "",
        "src/kernel.cu": '#include "own.h"\n#include "include/far.h"\n#include <angled.h>\nint i = cudaFree(0);\n',
        "src/own.h": '#include "../deep/deep.h"\n#include "missing.h"\n',
        "deep/deep.h": '#pragma once\n#include "../src/kernel.cu"\ninline int cudaFree(int) { return 1; }\n',
        "include/far.h": "struct Far {};\n",
        "src/angled.h": "int angled;\n",
    }
    lay(tmp_path, tree)
    project = discover([tmp_path / "src/kernel.cu"])
    assert [source.path.as_posix() for source in project.sources] == ["kernel.cu"]
    assert {source.path.as_posix() for source in project.context} == {"own.h", "../deep/deep.h", "../include/far.h"}
    # It declares that function itself, in a file that was not given.
    assert b"hipFree" not in hipport.rewrite([tmp_path / "src/kernel.cu"]).project.sources[0].text
    # Files that should be ported with it are reported; files that are not CUDA, or already ported, are not.
    assert [(each.path.as_posix(), each.kind) for each in project.skipped] == [("../deep/deep.h", "included")]
    (tmp_path / "deep/deep.h").write_text("#pragma once\n")
    assert b"hipFree" in hipport.rewrite([tmp_path / "src/kernel.cu"]).project.sources[0].text
    # A folder of the repository has the context of its files.
    assert {source.path.as_posix() for source in discover([tmp_path / "src"]).context} == {
        "../deep/deep.h",
        "../include/far.h",
    }


def test_text_in_memory_that_cannot_be_edited_reliably_is_refused() -> None:
    texts = {"a.cu": b"cudaFree(0);\0", "b.cu": "cudaFree(0);".encode("utf-16"), "c.cu": b"void f() { cudaFree(0); }"}
    ported = hipport.rewrite(texts)
    assert [str(source.path) for source in ported.changed] == ["c.cu"]
    assert [(str(each.path), each.kind) for each in ported.before.skipped] == [("a.cu", "refused"), ("b.cu", "refused")]
    with pytest.raises(TypeError, match=r"a\.cu: a text is bytes, not str"):
        hipport.rewrite({"a.cu": "cudaFree(0);"})  # type: ignore[dict-item]


def test_one_path_is_no_list_of_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "k.cu").write_bytes(b"void f() { cudaFree(0); }")
    monkeypatch.chdir(tmp_path / "inner")
    # `..` is the parent folder, not this one twice.
    for above in ("..", Path(".."), [".."]):
        assert [str(source.path) for source in hipport.rewrite(above).changed] == ["k.cu"]


def test_only_files_connected_to_a_given_file_are_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "Makefile").write_text("main: main.cu\n\tnvcc main.cu\n")
        (folder / "sum.cuh").write_text("__device__ int sum(int v) { return __shfl_xor_sync(~0u, v, 1); }\n")
        (folder / "main.cu").write_text('#include "sum.cuh"\n__global__ void k(int* p) { p[0] = sum(p[1]); }\n')
    ported = hipport.rewrite([tmp_path / "one" / "main.cu"], repository=True, jobs=1)
    lexed = {source.path.as_posix() for source in ported.project.sources if "_lexed" in source.first.__dict__}
    assert "one/sum.cuh" in lexed
    assert lexed.isdisjoint({"other/main.cu", "other/sum.cuh"})

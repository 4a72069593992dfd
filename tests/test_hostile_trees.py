# SPDX-License-Identifier: Apache-2.0
"""Malicious trees: nothing is written outside of them, nothing waits, and names stay names."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner

from endless import ENDLESS
from hipport.building.blocking_files import refuse_blocking
from hipport.building.units import Unit
from hipport.cli import main
from hipport.core import placing, reading
from hipport.core.edits import NewFile
from hipport.core.placing import Refused
from hipport.core.source import Source
from hipport.engine.outcomes import Ported
from hipport.program.project import Project
from hipport.workspace import copies, writing
from hipport.workspace.copies import copy_tree, write_port

#: A file that is rewritten, and includes one of hipport's headers.
KERNEL = b"#include <cuda_runtime.h>\n__global__ void k(int* x) { x[0] = __shfl_down_sync(0xffffffffu, x[0], 1); }\n"


def hipport(*words: str | Path, cwd: Path) -> tuple[int, str]:
    """Run hipport, and return its status and its output. There is a time limit."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"{words} took more than {ENDLESS} s")

    here = Path.cwd()
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(ENDLESS)
    os.chdir(cwd)
    try:
        result = CliRunner().invoke(main, [str(word) for word in words])
    finally:
        os.chdir(here)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def found(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree with a kernel, beside a folder that must not change."""
    (tmp_path / "elsewhere").mkdir()
    for name in ("warp.h", "report.json", "report.txt", "calls.json", "calls.npz"):
        (tmp_path / "elsewhere" / name).write_bytes(b"mine")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.cu").write_bytes(KERNEL)
    return tmp_path / "tree"


@pytest.fixture
def elsewhere(tree: Path) -> Iterator[Path]:
    """Return the folder, which must be unchanged in the end."""
    folder = tree.parent / "elsewhere"
    before = found(folder)
    yield folder
    assert found(folder) == before


NOT_RUN = ("--no-verify", "--no-build")


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        ("rewrite", "."),
        ("rewrite", ".", "--out", "../o"),
        ("port", ".", *NOT_RUN),
        ("port", ".", "--out", "../o", *NOT_RUN),
    ],
    ids=" ".join,
)
def test_headers_are_not_written_through_a_link(
    tree: Path, elsewhere: Path, words: tuple[str, ...], relative: bool
) -> None:
    (tree / "hipport").symlink_to("../elsewhere" if relative else elsewhere)
    status, said = hipport(*words, cwd=tree)
    assert status == 2 and "hipport/warp.h: lies outside of" in said
    assert (tree / "a.cu").read_bytes() == KERNEL and not (tree.parent / "o").exists()


@pytest.mark.parametrize("words", [("rewrite",), ("rewrite", "--staged"), ("port", *NOT_RUN)], ids=" ".join)
def test_a_path_that_leads_out_of_its_tree_is_not_rewritten(
    tree: Path, elsewhere: Path, words: tuple[str, ...]
) -> None:
    """A hook passes the names in a commit, and a shell those that match its pattern: links among them."""
    (elsewhere / "x.cu").write_bytes(KERNEL)
    try:
        (tree / "x.cu").symlink_to(elsewhere / "x.cu")
        (tree / "chain").symlink_to("folder")
        (tree / "folder").symlink_to("../elsewhere")
        for given in ("x.cu", "chain/x.cu"):
            status, said = hipport(*words, "a.cu", given, cwd=tree)
            assert status == 2 and f"leads somewhere else through a link; if that is meant, give {elsewhere}" in said
        subprocess.run(["git", "init", "-q", str(tree)], check=True)
        for given in ("folder", tree / "chain", tree / "x.cu"):
            status, said = hipport(*words, given, cwd=tree)
            assert status == 2 and "leads somewhere else through a link" in said
        assert found(elsewhere)["x.cu"] == KERNEL and not (elsewhere / ".hipport").exists()
        # A folder that the user names by a link, and a link that stays in its tree.
        (tree.parent / "mine").symlink_to(tree)
        (tree / "b.cu").symlink_to("a.cu")
        assert hipport(*words, "mine/b.cu" if words[0] == "rewrite" else "mine", cwd=tree.parent)[0] in (0, 1)
        assert (tree / "a.cu").read_bytes() != KERNEL
    finally:
        (elsewhere / "x.cu").unlink()


def test_a_link_inside_of_the_tree_is_followed_also_in_a_copy(tree: Path) -> None:
    (tree / "shared").mkdir()
    (tree / "hipport").symlink_to("shared")
    assert hipport("rewrite", ".", "--out", "../o", cwd=tree)[0] == 0
    assert (tree.parent / "o/hipport").is_symlink() and (tree.parent / "o/shared/warp.h").is_file()
    assert not (tree / "shared/warp.h").exists()


@pytest.mark.parametrize("suffix", [".json", ".txt"])
@pytest.mark.parametrize("named", [True, False])
def test_manifests_are_not_written_through_a_link(tree: Path, elsewhere: Path, suffix: str, named: bool) -> None:
    name = "report" if named else "hipport-port"
    (tree / f"{name}{suffix}").symlink_to(elsewhere / f"report{suffix}")
    more = ("--manifest", "report.json") if named else ()
    status, said = hipport("port", ".", "--out", "../o", *NOT_RUN, *more, cwd=tree)
    assert status == 2 and f"{name}{suffix}: not a regular file; give another file" in said
    assert named or not (tree.parent / "o").exists()


@pytest.mark.parametrize("name", ["nowhere/report.json", "."])
def test_a_manifest_that_cannot_be_written_is_told_first(tree: Path, name: str) -> None:
    status, said = hipport("port", ".", "--out", "../o", *NOT_RUN, "--manifest", name, cwd=tree)
    assert status == 2 and "give another file" in said
    assert not (tree.parent / "o").exists()


def test_manifests_are_not_written_into_a_linked_folder(tree: Path, elsewhere: Path) -> None:
    (tree / "reports").symlink_to(elsewhere)
    status, said = hipport("port", ".", *NOT_RUN, "--manifest", "reports/report.json", cwd=tree)
    assert status == 2 and "leads somewhere else through a link" in said
    assert (tree / "a.cu").read_bytes() == KERNEL


def test_a_manifest_goes_where_the_user_says(tree: Path) -> None:
    status, said = hipport("port", ".", "--out", "../o", *NOT_RUN, "--manifest", "/dev/null", cwd=tree)
    assert status in (0, 1), said
    assert not Path("/dev/null.txt").exists()
    assert hipport("port", ".", "--out", "../p", *NOT_RUN, cwd=tree)[0] in (0, 1)
    assert json.loads((tree.parent / "p/hipport-port.json").read_bytes())["schema"] == 1


def test_a_copy_is_not_made_behind_a_link_of_the_tree(tree: Path, elsewhere: Path) -> None:
    (tree / "src").mkdir()
    (tree / "a.cu").rename(tree / "src/a.cu")
    (tree / "out").symlink_to(elsewhere)
    status, said = hipport("rewrite", "src", "--out", "out/o", cwd=tree)
    assert status == 2 and "leads somewhere else through a link" in said


@pytest.mark.parametrize("link", ["sub", "sub/b.cu"])
def test_a_copy_where_two_names_are_one_leads_nowhere(
    tree: Path, elsewhere: Path, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a case-insensitive file system, the copy has the link `Sub` in place of the folder `sub`."""
    (tree / "sub").mkdir()
    (tree / "sub/b.cu").write_bytes(KERNEL)
    made = placing.make_new_folder

    def make(path: Path, *, parents: bool = False) -> None:
        if path.name == "sub" and link == "sub":
            path.symlink_to(elsewhere)
        made(path, parents=parents)
        if path.name == "sub" and link != "sub":
            (path / "b.cu").symlink_to(elsewhere / "new.cu")

    for module in (writing, copies):
        monkeypatch.setattr(module, "make_new_folder", make)
    status, said = hipport("rewrite", ".", "--out", "../o", cwd=tree)
    assert status == 2 and "upper and lower case" in said and not (tree.parent / "o").exists()
    with pytest.raises(OSError, match="upper and lower case"):
        copy_tree(tree, tree.parent / "copy")


def test_a_path_given_twice_is_copied_once(tree: Path) -> None:
    (tree / "sub").mkdir()
    (tree / "sub/b.cu").write_bytes(KERNEL)
    assert hipport("rewrite", "sub", ".", "sub/b.cu", "sub", "--out", "../o", cwd=tree)[0] == 0
    assert {"a.cu", "sub/b.cu"} <= set(found(tree.parent / "o"))


@pytest.mark.parametrize("name", ["calls.json", "calls.npz"])
def test_recordings_are_not_written_through_a_link(tree: Path, elsewhere: Path, name: str) -> None:
    (tree / name).symlink_to(elsewhere / name)
    status, said = hipport("record", "calls.json", "--", sys.executable, "-c", "", cwd=tree)
    assert status == 2 and f"{name}: not a regular file" in said


@pytest.mark.parametrize("link", [".gitignore", "lock", "runs", "runs/1.staging", "runs/1.replacing"])
def test_a_journal_of_the_trees_own_leads_nowhere(tree: Path, elsewhere: Path, link: str) -> None:
    place = tree / ".hipport" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere / ("new" if link in (".gitignore", "lock") else "."))
    assert hipport("rewrite", ".", cwd=tree)[0] in (0, 2)
    assert hipport("undo", ".", cwd=tree)[0] in (0, 2)


def test_builds_are_not_written_through_a_link(tree: Path, elsewhere: Path) -> None:
    (tree / "hipport").symlink_to(elsewhere)
    copy = tree.parent / "copy"
    copy_tree(tree, copy)
    before = Project((Source(PurePosixPath("a.cu"), KERNEL),), root=tree)
    made = (NewFile(PurePosixPath("hipport/warp.h"), b"theirs"),)
    with pytest.raises(Refused, match="a link leads out of the tree"):
        write_port(Ported(before, before, (), made), tree, copy)


def test_remains_of_killed_copies_are_not_searched_behind_links(tree: Path, elsewhere: Path) -> None:
    elsewhere.chmod(0o500)
    (tree.parent / ".hipport-99999999~").symlink_to(elsewhere)
    assert hipport("rewrite", ".", "--out", "../o", cwd=tree)[0] == 0
    assert elsewhere.stat().st_mode & 0o777 == 0o500


def test_a_list_of_requirements_outside_of_the_tree_is_none_of_it(tree: Path, elsewhere: Path) -> None:
    (tree / "requirements.txt").write_text("torch==2.1.0+cu118\n-r more/list\n")
    (tree / "more").symlink_to(elsewhere)
    (elsewhere / "list").write_text("torch==2.1.0+cu118\n")
    try:
        status, said = hipport("rewrite", ".", cwd=tree)
        assert status == 1 and "more/list  a link that leads out of the tree" in said
        assert (elsewhere / "list").read_text() == "torch==2.1.0+cu118\n" and (tree / "a.cu").read_bytes() != KERNEL
    finally:
        (elsewhere / "list").unlink()


# --- Nothing waits ----------------------------------------------------------------------------------------------------

READING = [
    ("scan", "."), ("rewrite", ".", "--check"), ("rewrite", ".", "--diff"), ("rewrite", "."), ("deps", "."),
    ("rewrite", ".", "--out", "../o"), ("port", ".", *NOT_RUN), ("undo",),
]  # fmt: skip
#: Files that are searched for by name.
LOOKED_FOR = [
    "hipport.toml", "pyproject.toml", ".gitmodules", "setup.py", "CMakeLists.txt", "Makefile", "b.cuh", "cases.py",
    "requirements.txt", "glm/glm.hpp", ".hipport/runs/1.replacing/manifest.json", ".hipport/runs/1/manifest.json",
    ".hipport/lock", ".hipport", "hipport/warp.h", "README.md", ".github/workflows/ci.yml", "tox.ini", "rules.toml",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["pipe", "zero"])
@pytest.mark.parametrize("name", LOOKED_FOR)
def test_nothing_waits_for_pipes_and_devices(tree: Path, name: str, kind: str) -> None:
    (tree / "a.cu").write_bytes(KERNEL + b'#include "b.cuh"\n')
    (tree / "list").write_text("-r requirements.txt\n")
    if name == "rules.toml":
        (tree / "hipport.toml").write_text('rules = ["rules.toml"]\n')
    place = tree / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero")
    for words in READING:
        status, said = hipport(*words, cwd=tree)
        assert status in (0, 1, 2) and "Traceback" not in said, said


@pytest.mark.parametrize("read", [reading.read, reading.opened, reading.digest])
def test_pipes_and_devices_are_not_opened(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """Not even for a moment: opening a device may have an effect, and an endless one fills the memory."""
    os.mkfifo(tmp_path / "pipe")
    for name, leads in (("zero", "/dev/zero"), ("null", "/dev/null"), ("link", "pipe"), ("folder", ".")):
        (tmp_path / name).symlink_to(leads)
    for name in ("pipe", "zero", "null", "link", "folder"):
        with pytest.raises(OSError, match="not a regular file"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["b.cuh", "wait.inc", "odd"])
def test_no_compiler_waits_for_a_pipe(tree: Path, name: str) -> None:
    (tree / "a.cu").write_bytes(f'#include "{name}"\n'.encode() + KERNEL)
    os.mkfifo(tree / name)
    status, said = hipport("build", ".", cwd=tree)
    assert status == 2 and f"{name}: not a regular file; a compiler would wait for it" in said


@pytest.mark.parametrize(
    ("given", "pipe", "source", "flags"),
    [("src/a.cu", "src/h.h", '#include "h.h"', ""), ("src", "inc/sub/h.h", "#include <sub/h.h>", "-I../inc")],
)
def test_no_compiler_waits_for_a_pipe_elsewhere(tree: Path, given: str, pipe: str, source: str, flags: str) -> None:
    (tree / "src").mkdir()
    (tree / "inc/sub").mkdir(parents=True)
    (tree / "src/a.cu").write_text(f"{source}\n" + KERNEL.decode())
    (tree / "src/Makefile").write_text(f"a: a.cu\n\thipcc {flags} a.cu -o a\n")
    os.mkfifo(tree / pipe)
    status, said = hipport("build", given, cwd=tree)
    assert status == 2 and f"{pipe}: not a regular file; a compiler would wait for it" in said, said


@pytest.mark.parametrize(
    ("pipe", "source", "flags"),
    [
        ("src/wait", '#include "wait"', ()),
        ("src/wait", '#if 0\n#include "wait"\n#endif', ()),
        ("src/wait", '#include /*\n*/ "wait"', ()),
        ("inc/wait", '#include "../inc/wait"', ()),
        ("inc/wait", '#include "../src/../src/../inc/wait"', ()),
        ("inc/wait", '%:include "wait"', ("-I../inc",)),
        ("inc/wait", "#include_next <wait>", ("-isystem", "../inc")),
        ("inc/sub/wait", "#include <sub/wait>", ("-idirafter../inc",)),
        ("src/wait", "#define H(x) #x\n#include H(wait)", ()),
        ("src/wait", "#define WHAT \\\n  <wait>\n#include WHAT", ("-I.",)),
        ("src/wait", "#include WHAT", ('-DWHAT="wait"',)),
        ("src/wait", "", ("-include", "wait")),
        ("inc/wait", "", ("-I../inc", "-includewait")),
        ("inc/wait", "", ("-Wp,-imacros,../inc/wait",)),
        ("inc/wait", "", ("-fprofile-use=../inc/wait",)),
        ("inc/wait", "", ("@../inc/wait",)),
        ("inc/wait", '#if __has_include("../inc/wait")\n#endif', ()),
        ("inc/wait", 'asm(".incbin \\"../inc/wait\\"");', ()),
        ("inc/wait", "const char a[] = {\n#embed <wait>\n};", ("--embed-dir=../inc",)),
        ("inc/wait", '#include "../inc/b.cuh"', ()),
        ("inc/wait", "", ("-include", "../inc/b.cuh")),
    ],
)
def test_what_a_compiler_would_wait_for_is_found(tree: Path, pipe: str, source: str, flags: tuple[str, ...]) -> None:
    (tree / "src").mkdir()
    (tree / "inc/sub").mkdir(parents=True)
    (tree / "src/a.cu").write_text(f"{source}\n")
    (tree / "inc/b.cuh").write_text('#include "a.cuh"\n#include "wait"\n')
    (tree / "inc/a.cuh").write_text('#include "../inc/b.cuh"\n')
    unit = Unit(tree / "src/a.cu", "hip", flags, tree / "src", "a")
    for kind in ("pipe", "zero", "nothing", "file"):
        if kind == "pipe":
            os.mkfifo(tree / pipe)
        elif kind == "zero":
            (tree / pipe).symlink_to("/dev/zero")
        elif kind == "file":
            (tree / pipe).write_text("int x;\n")
        if kind in ("pipe", "zero"):
            with pytest.raises(Refused, match=f"/{pipe}: not a regular file; a compiler would wait for it"):
                refuse_blocking([unit], {}, Path("/toolchain"))
            (tree / pipe).unlink()
        else:
            refuse_blocking([unit], {}, Path("/toolchain"))


def test_a_pipe_that_no_compiler_opens_is_no_fault(tree: Path) -> None:
    os.mkfifo(tree / "wait")
    (tree / "a.cu").write_text('#include "b.h"\n// wait\nint main() { open("wait"); }\n')
    (tree / "b.h").write_text('#define NAME "wait"\n')
    flags = ("-I.", "-include", "/dev/null")
    refuse_blocking([Unit(tree / "a.cu", "hip", flags, tree, "a")], {}, Path("/toolchain"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('rules = ["/dev/zero"]', "/dev/zero: not a regular file"),
        ('rules = ["nothing"]', "nothing: no such file or directory"),
        ("rules = " + "[" * 100_000, "hipport.toml: "),
        ('exclude = ["' + "a" * 5000 + '"]', "more than 4096 characters"),
        ("#" * (5 << 20), "hipport.toml: larger than 4 MB"),
        ('rules = ["a\\u0000b"]', "such a path cannot exist"),
    ],
    ids=["device", "missing", "deep", "long", "large", "nul"],
)
def test_settings_that_cannot_be_used_are_named_at_once(tree: Path, settings: str, said: str) -> None:
    (tree / "hipport.toml").write_text(settings)
    status, output = hipport("scan", ".", cwd=tree)
    assert status == 2 and said in output and "Traceback" not in output


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*a*ax", "**/" * 40 + "x", "*" * 1000 + "b"])
def test_no_pattern_of_a_tree_takes_long(tree: Path, pattern: str) -> None:
    (tree / ("a" * 200 + ".cu")).write_bytes(KERNEL)
    deep = tree / Path(*"d" * 40)
    deep.mkdir(parents=True)
    (deep / "b.cu").write_bytes(KERNEL)
    (tree / "hipport.toml").write_text(f"exclude = [{json.dumps(pattern)}]\n")
    start = time.monotonic()
    assert hipport("scan", ".", cwd=tree)[0] in (0, 1)
    assert time.monotonic() - start < 15


def test_a_submodule_is_looked_for_in_the_tree_alone(tree: Path) -> None:
    (tree / ".gitmodules").write_text(
        '[submodule "x"]\npath = /proc/nothing\n[submodule "y"]\npath = a\0b\npath = in\n'
    )
    status, said = hipport("scan", ".", cwd=tree)
    assert status in (0, 1) and "in  a git submodule" in said and "/proc" not in said


@pytest.mark.parametrize("depth", [700, 10_000])
def test_deep_folders_end_in_no_traceback(depth: int) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        (tree / "a.cu").write_bytes(KERNEL)
        make_deep(tree, depth)
        try:
            for words in (("scan", "."), ("deps", "."), ("rewrite", ".", "--out", "../o"), ("rewrite", "."), ("undo",)):
                status, said = hipport(*words, cwd=tree)
                assert status in (0, 1, 2) and "Traceback" not in said and "defect" not in said, said[-2000:]
                if depth == 700:
                    assert status == 0, said
        finally:
            for each in Path(folder).iterdir():
                subprocess.run(["rm", "-rf", "--", str(each)], check=True)


def make_deep(top: Path, depth: int) -> None:
    descriptor = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


# --- Killed runs ------------------------------------------------------------------------------------------------------


def killed_rewrite(root: Path) -> None:
    """Rewrite, and be killed after all replacements and before the record of their end."""
    code = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from hipport import api\nfrom hipport.workspace import writing\n"
        "ported = api.rewrite(sys.argv[1])\n"
        "at = lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == 'settled' else None\n"
        "writing.write(ported.before.root, api.changes(ported), at=at)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_undo_after_a_kill_says_what_it_did(tree: Path) -> None:
    killed_rewrite(tree)
    assert (tree / "a.cu").read_bytes() != KERNEL
    status, said = hipport("undo", cwd=tree)
    assert (status, said) == (
        0,
        "undid a run of hipport that had been killed: put back a.cu, hipport/warp.h\n",
    )
    assert found(tree) == {"a.cu": KERNEL}
    status, said = hipport("undo", cwd=tree)
    assert status == 2 and "has changed nothing here" in said


READ_ONLY = [
    ("scan", "."), ("rewrite", ".", "--check"), ("rewrite", ".", "--diff"), ("rewrite", ".", "--out", "../../o"),
    ("build", "."), ("deps", "."),
]  # fmt: skip


@pytest.mark.parametrize("below", [False, True])
def test_remains_of_a_killed_run_are_not_read_as_the_tree(tree: Path, below: bool) -> None:
    (tree / "sub").mkdir()
    (tree / "sub/b.cu").write_bytes(KERNEL)
    killed_rewrite(tree)
    half = found(tree)
    for words in READ_ONLY:
        status, said = hipport(*words, cwd=tree / "sub" if below else tree)
        assert status == 2 and f"left files half-written; first: hipport undo {tree}" in said, words
        assert found(tree) == half, words


def test_a_rewrite_below_takes_back_what_was_killed_above(tree: Path) -> None:
    (tree / "sub").mkdir()
    (tree / "sub/b.cu").write_bytes(KERNEL)
    killed_rewrite(tree)
    status, said = hipport("rewrite", "sub", cwd=tree)
    assert status == 0 and "first restored the files that a killed run had left half-written: ../a.cu" in said
    assert (tree / "a.cu").read_bytes() == KERNEL != (tree / "sub/b.cu").read_bytes()


def test_a_killed_run_further_down_is_reported(tree: Path) -> None:
    (tree / "sub").mkdir()
    (tree / "sub/b.cu").write_bytes(KERNEL)
    killed_rewrite(tree / "sub")
    status, said = hipport("scan", ".", cwd=tree)
    assert status == 1 and f"sub  a run of hipport was killed here; first: hipport undo {tree / 'sub'}" in said


# --- Names ------------------------------------------------------------------------------------------------------------

NAMES = {
    "github": "x\n::error::owned.cu",
    "github, without a newline": "::error::owned.cu",
    "runner": "##[error]owned.cu",
    "azure": "##vso[task.setvariable variable=a]b.cu",
    "teamcity": "##teamcity[buildStop]b.cu",
    "escape": "a\x1b]0;owned\x07\x1b[2Kb.cu",
    "c1": "a\x9b31mb.cu",
    "return": "a.cu\r0 files.cu",
    "direction": "a\u202euc.b.cu",
    "lines": "a\u2028b\x0bc\x85d.cu",
    "bytes": "a\udcffb.cu",
}


def assert_harmless(said: str) -> None:
    """Check that the output contains nothing that a terminal or a CI acts on."""
    assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029\udc80-\udcff]", said) is None, ascii(said)
    assert re.search(r"^\s*::|##(vso|teamcity)?\[", said, re.MULTILINE) is None, said


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_stay_names(tree: Path, name: str) -> None:
    # Work for a person, a refused file, a skipped one, a script, a folder of the name.
    (tree / name).write_bytes(KERNEL + b"void f() { cudaDeviceFlushGPUDirectRDMAWrites(a, b); }\n")
    (tree / f"{name[:-3]}.h").write_bytes(b"\0")
    (tree / f"d{name}").mkdir()
    (tree / f"d{name}/setup.py").write_text(
        "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension('x', ['k.cu'])\n"
    )
    (tree / f"d{name}/k.cu").write_bytes(KERNEL)
    (tree / "requirements.txt").write_text("-r nothing\ntorch==2.1.0+cu118\n")
    for words in (
        ("scan", "."), ("rewrite", ".", "--check"), ("scan", ".", "--format", "json"),
        ("scan", ".", "--format", "sarif"), ("deps", "."), ("deps", ".", "--format", "json"),
        ("rewrite", f"{name}.nothing"), ("port", ".", "--out", "../o", *NOT_RUN), ("rewrite", name), ("undo",),
        ("rewrite", f"./{name}"), ("undo", "."), ("verify", name, "--case", "x"),
    ):  # fmt: skip
        _, said = hipport(*words, cwd=tree)
        assert_harmless(said)
    assert_harmless((tree.parent / "o/hipport-port.txt").read_text())


def test_text_of_a_file_stays_on_its_line(tree: Path) -> None:
    (tree / "hipport.toml").write_text('"a\\n::error::x\\u001b" = 1\n')
    status, said = hipport("scan", ".", cwd=tree)
    assert status == 2
    assert_harmless(said)
    (tree / "hipport.toml").unlink()
    (tree / "a.cu").write_bytes(b"void f() { cudaFree(p); } // hipport: ignore \x1b[2K ##vso[x]\n")
    for form in ("text", "json", "sarif"):
        assert_harmless(hipport("scan", ".", "--format", form, cwd=tree)[1])


def test_git_applies_the_diff_of_any_name(tree: Path) -> None:
    others = ("a b.cu", 'q"uote.cu', "back\\slash.cu", "tab\t.cu", "é.cu", " .cu", "a b 2020-01-01.cu")
    for name in (*NAMES.values(), *others):
        folder = tree / f"d{name}"
        folder.mkdir()
        (folder / name).write_bytes(KERNEL)
    patch = subprocess.run(
        [sys.executable, "-m", "hipport", "rewrite", ".", "--diff"], cwd=tree, stdout=subprocess.PIPE, check=True
    ).stdout
    copy = tree.parent / "copy"
    shutil.copytree(tree, copy)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=copy, check=True)
    assert hipport("rewrite", ".", cwd=tree)[0] == 0
    shutil.rmtree(tree / ".hipport")
    assert found(copy) == found(tree)


# --- A merge that is not resolved -------------------------------------------------------------------------------------

CONFLICT = b"<<<<<<< HEAD\nvoid f() { cudaFree(p); }\n=======\nvoid g() { cudaFree(p); }\n>>>>>>> theirs\n"


@pytest.mark.parametrize("name", ["b.cu", "setup.py", "CMakeLists.txt", "requirements.txt"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_tree_with_a_conflict_is_refused_as_a_whole(tree: Path, name: str, end: bytes) -> None:
    (tree / name).write_bytes(b"# cuda torch find_package(CUDA)\n".replace(b"\n", end) + CONFLICT.replace(b"\n", end))
    before = found(tree)
    commands = (("rewrite", "."), ("rewrite", ".", "--check"), ("scan", "."), ("port", ".", *NOT_RUN))
    for words in (*commands, ("build", "."), ("verify", "."), ("deps", ".")):
        status, said = hipport(*words, cwd=tree)
        assert status == 2 and f"{name}: has conflict markers of git in line 2: resolve the merge" in said
    assert found(tree) == before


@pytest.mark.parametrize(
    "text",
    [
        b"// <<<<<<< a\n=======\n>>>>>>> b\n",
        b"<<<<<<< a\n>>>>>>> b\n",
        b"=======\n<<<<<<< a\n",
        b"<<<<<<<< a\n=======\n>>>>>>> b\n",
        b"k<<<<<<< a\n=======\n>>>>>>> b\n",
    ],
)
def test_text_that_only_looks_like_a_conflict_is_none(tree: Path, text: bytes) -> None:
    (tree / "b.cu").write_bytes(b"/*\n" + text + b"*/\n")
    assert hipport("rewrite", ".", "--check", cwd=tree)[0] == 1


def test_a_text_about_git_keeps_nothing_from_being_ported(tree: Path) -> None:
    (tree / "README.md").write_bytes(b"pip install torch\n" + CONFLICT)
    status, said = hipport("rewrite", ".", cwd=tree)
    assert status == 1 and "README.md  has conflict markers of git in line 2" in said
    assert (tree / "README.md").read_bytes().endswith(CONFLICT)


def test_evidence_that_cannot_be_written_is_told_with_what_was_written(tree: Path) -> None:
    code, said = hipport("port", ".", *NOT_RUN, "--manifest", "/dev/full", cwd=tree)
    assert code == 2 and "no space left on device" in said and "hipport undo" in said
    assert b"hipport::shfl_down_sync" in (tree / "a.cu").read_bytes()
    code, said = hipport("port", ".", *NOT_RUN, "--out", "../o", "--manifest", "/dev/full", cwd=tree)
    assert code == 2 and "the port is in ../o" in said and (tree.parent / "o/a.cu").exists()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_ends_early_is_a_failure(tree: Path, unbuffered: str) -> None:
    """A limit of the size of files takes a part of what is written; Python without buffers drops the rest."""
    command = [sys.executable, "-m", "hipport", "scan", ".", "--format", "json"]
    with (tree.parent / "out.json").open("wb") as out:
        done = subprocess.run(
            command,
            cwd=tree,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)),
        )
    assert (tree.parent / "out.json").stat().st_size == 1024
    assert done.returncode == 2 and done.stderr.startswith("hipport: standard output: file too large")


def test_what_has_no_room_in_a_copy_is_named(tree: Path) -> None:
    (tree / "large.cu").write_bytes(b"// a line\n" * 1000)
    before = sorted(tree.parent.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "hipport", "rewrite", ".", "--out", "../o"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert (done.returncode, done.stderr) == (2, f"hipport: {tree.parent / 'o' / 'large.cu'}: file too large\n")
    assert sorted(tree.parent.iterdir()) == before


@pytest.mark.parametrize("words", [("scan", "."), ("rewrite", "--diff", ".")])
def test_output_that_cannot_be_written_is_a_failure(tree: Path, words: tuple[str, ...]) -> None:
    """On a full disk; if nobody reads it, there is nothing to say; a closed output is meant."""
    command = [sys.executable, "-m", "hipport", *words]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, cwd=tree, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("hipport: standard output: no space left on device")
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    done = subprocess.run(command, cwd=tree, stdout=writing_end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing_end)
    assert (done.returncode, done.stderr) == (1, "")
    if words[0] == "scan":
        closed = subprocess.run(
            ["/bin/sh", "-c", '"$@" >&-', "sh", *command], cwd=tree, stderr=subprocess.PIPE, text=True
        )
        assert (closed.returncode, closed.stderr) == (0, "")


def test_a_current_folder_that_is_gone_is_named(tree: Path) -> None:
    file = tree / "a.cu"
    command = ["/bin/sh", "-c", 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "sh"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "hipport", "rewrite", "--check", str(file)],
        cwd=tree, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "") and "the current folder does not exist" in done.stderr
    assert file.read_bytes() == KERNEL

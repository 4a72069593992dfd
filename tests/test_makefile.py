# SPDX-License-Identifier: Apache-2.0
"""Makefiles: lines are those that make sees; ported, they run the same as before with CUDA, and hipcc without it."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endless import ENDLESS
from hipport.building.dry_runs import dry_run
from hipport.core.finding import Certainty
from hipport.engine.pipeline import run
from hipport.program.project import Project
from hipport.syntax.make import Makefile
from hipport.testing import fixtures
from hipport_passes.build_files import makefile
from hipport_passes.build_files.nvcc_flags import translate

FIXTURES = list(fixtures(Path(__file__).parent.parent / "fixtures" / "makefile"))


def _make(text: str) -> Makefile:
    return Makefile(PurePosixPath("Makefile"), text.encode())


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("A = b # c\nB:=$(A:.c=.o)\nC ?= d \\\n e\nexport D += f\n", ["assignment"] * 4),
        (
            "a: b c\n\td\n\t@e \\\n\tf\n\n\tg\nX = y\n\th\n",
            ["rule", *["recipe"] * 2, "blank", "recipe", "assignment", "other"],
        ),
        ("a: X = y\na: X += y\n", ["assignment"] * 2),
        ("$(A): b\n\tc\n%.o: %.c | d\n\te\n", ["rule", "recipe", "rule", "recipe"]),
        (
            "# a\nifeq (a,b)\n  A = b\nelse ifdef C\nelse\nendif\n",
            ["comment", "ifeq", "assignment", "else", "else", "endif"],
        ),
        ("define a\n\tb = c\nifeq\nendef\ninclude d\n", ["define", "define", "define", "endef", "include"]),
        ("$(foreach a,b,$(eval c := d))\n$(eval e: f)\n", ["other", "other"]),
        ("a: $(B:.c=.o)\n\tc\na: D := $(B:.c=)\n", ["rule", "recipe", "assignment"]),
        ("$(B:.c=.o): %.o: %.c\n\td\n$(E)/$(F:=.d) : g\n\th\n", ["rule", "recipe", "rule", "recipe"]),
    ],
)
def test_lines(text: str, kinds: list[str]) -> None:
    source = _make(text)
    assert [line.kind for line in source.lines] == kinds
    assert source.errors == 0


def test_values() -> None:
    source = _make("override A  := b\\#c \\\n  d  # e\r\nt:\n\t@f # g\n")
    (a, _, recipe) = source.lines
    assert (a.name, a.operator, source[a.value]) == ("A", ":=", b"b\\#c \\\n  d")
    assert source[recipe.value] == b"@f # g"


@pytest.mark.parametrize("text", ["endif\n", "ifdef A\n", "else\n", "define a\n", "endef\n", "if A\nendif\n"])
def test_unbalanced_text_is_an_error(text: str) -> None:
    assert _make(text).errors > 0


_PIECES = st.sampled_from(
    [*"a: b = += := # \\ $(A) $< ifeq else endif define endef nvcc".split(), "\n", "\t", "\\\n", "\r\n", " "]
)


@given(st.lists(_PIECES).map("".join))
def test_lines_are_all_of_the_text(text: str) -> None:
    source = _make(text)
    rest = source.text
    for line in source.lines:
        start = rest.index(source[line.span])
        assert not rest[:start].strip()
        rest = rest[start + len(line.span) :]
        assert line.span.start <= line.value.start <= line.value.end <= line.span.end
        source.around(line)
    assert not rest.strip()


def _dry_run(folder: Path, text: bytes, *options: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / "Makefile").write_bytes(text)
    for name in re.findall(rb"[\w/]+\.(?:cu|cpp|h|c)\b", text):
        (folder / name.decode()).touch()
    command = ["make", "--dry-run", "--always-make", "--keep-going", *options]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "CUDA", "CXX"))}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=ENDLESS, check=False, env=env)
    return done.stdout.replace("\\\n", " ").splitlines()


CHANGED = [each for each in FIXTURES if each.after != each.before.text]


@pytest.mark.skipif(shutil.which("make") is None, reason="NOT CHECKED: there is no make here")
@pytest.mark.parametrize("case", CHANGED, ids=str)
def test_with_cuda_nothing_changes(case: object, tmp_path: Path) -> None:
    (fixture,) = (each for each in CHANGED if each is case)
    before = _dry_run(tmp_path / "before", fixture.before.text)
    after = _dry_run(tmp_path / "after", fixture.after, "USE_HIP=0")
    assert before == after and any("nvcc" in line or "nvc++" in line for line in before)


@pytest.mark.skipif(shutil.which("make") is None, reason="NOT CHECKED: there is no make here")
@pytest.mark.parametrize("case", CHANGED, ids=str)
def test_hipcc_gets_no_flag_of_nvcc(case: object, tmp_path: Path) -> None:
    (fixture,) = (each for each in CHANGED if each is case)
    text = re.sub(rb".*(?:-ptx|&&).*\n|-lcudnn", b"", fixture.after)
    commands = [shlex.split(line) for line in _dry_run(tmp_path / "tree", text) if "hipcc" in line]
    assert commands
    # Those that are left to a person stay.
    reported = any(" manual " in each for each in fixture.findings)
    for command in commands:
        changes = translate(command[1:]).changes
        assert all(reported and each.certainty is Certainty.MANUAL for each in changes)
        assert "--offload-arch=gfx942" in command


@pytest.mark.skipif(shutil.which("make") is None, reason="NOT CHECKED: there is no make here")
def test_hipports_builds_follow_the_ported_makefile(tmp_path: Path) -> None:
    (fixture,) = (each for each in FIXTURES if str(each) == "makefile/program")
    _dry_run(tmp_path / "tree", fixture.after)
    commands = dry_run(tmp_path / "tree", os.environ, lambda flags: flags)
    found = {each.source.name: each.flags for each in commands}
    assert {"-O3", "-gline-tables-only", "-fgpu-rdc"} <= set(found["field.cu"])


def test_a_second_run_leaves_new_lines_alone_that_are_right_and_ports_those_that_are_not() -> None:
    (source,) = run(Project((_make("NVCC = nvcc\n"),)), (makefile.PASS,)).project.sources
    more = _make(source.text.decode() + "NVCCFLAGS = -O2\nNVCCFLAGS += -lineinfo\n")
    (again,) = run(Project((more,)), (makefile.PASS,)).project.sources
    assert again.text.count(b"USE_HIP ?= 1") == 1
    assert b"\nNVCCFLAGS = -O2\nifeq ($(USE_HIP),1)\nNVCCFLAGS += -gline-tables-only\nelse\n" in again.text


def test_flags_show_that_a_compiler_from_elsewhere_is_nvcc() -> None:
    """As in a makefile that gets its compiler from its caller."""
    (source,) = run(
        Project((_make("CC = cc\nCFLAGS = -O3 --x cu\n.c.o:\n\t$(CC) -c $(CFLAGS) $<\n"),)), (makefile.PASS,)
    ).project.sources
    assert b"CFLAGS = -O3 -x hip\n" in source.text and b"CC = cc\n" in source.text


@pytest.mark.parametrize(("last", "behind"), [("\\", b""), ("\\\r", b"\r")])
def test_a_last_line_that_goes_on_does_not_take_the_next_one_of_the_port(last: str, behind: bytes) -> None:
    given_ = Makefile(PurePosixPath("Makefile"), f"NVCCFLAGS=-Xcompiler c{last}".encode())
    text = run(Project((given_,)), (makefile.PASS,)).project.sources[0].text
    wanted = b"ifeq ($(USE_HIP),1)\nNVCCFLAGS=c\\\n\nelse\nNVCCFLAGS=-Xcompiler c\\\n\nendif"
    assert text.endswith(wanted + behind)

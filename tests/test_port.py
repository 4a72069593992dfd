# SPDX-License-Identifier: Apache-2.0
"""`hipport port`: the steps in one command, and a report without unproven claims."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import hipport
from hipport.building import builder
from hipport.cli import main
from hipport.core import reading
from hipport.executor.torch_installed import NotBuildable
from hipport.reporting import evidence
from hipport.reporting.evidence import Evidence
from hipport.toolchain.toolchains import NoToolchain, Toolchain
from hipport.verifying import extension_verifier, program_verifier
from hipport.verifying.results import CaseOutcome, Configuration, Ran, Verified
from test_build import FAKE

SUMS = Path(__file__).parent / "verified/sums.cu"
PROGRAM = """\
#include <cuda_runtime.h>
#include <cstdio>
__global__ void k(int *p) { p[threadIdx.x] = __shfl_down_sync(0xffffffff, p[0], 1); }
int main() { k<<<1, 32>>>(nullptr); cudaDeviceSynchronize(); }
"""
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(name="x", ext_modules=[CUDAExtension("x", ["x.cu"])], cmdclass={"build_ext": BuildExtension})
"""


def verified(*faults: str, root: Path = Path("/tree")) -> Verified:
    """Return a result with a case in the usual configurations, in which the port fails where `faults` say so."""
    names = [Configuration("original", 32), Configuration("ported", 32), Configuration("ported", 64)]
    ran = (Ran(c, (CaseOutcome("a case", "fault" if str(c).split()[0] in faults else "ok"),)) for c in names)
    return Verified(root, "x", tuple(ran), ("the port on an AMD GPU: there is none", "gradients: there are none"))


class Desk:
    """A tree to port, with a fake compiler, and verifications with scripted results."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tree = folder / "tree"
        self.tree.mkdir()
        self.folder = folder
        # A shared home: a Python that has loaded PyTorch is kept for each home, and takes seconds to start.
        home = str(folder.parent / "home")
        self.env = {"PATH": "/usr/bin:/bin", "HOME": home, "XDG_CACHE_HOME": str(folder / "cache")}
        hipcc = folder / "rocm/bin/hipcc"
        hipcc.parent.mkdir(parents=True)
        hipcc.write_text(FAKE.format(python=sys.executable, log=str(folder / "said/log")))
        (folder / "said").mkdir()
        self.env["CCACHE_DIR"] = str(folder / "said")
        hipcc.chmod(0o755)
        self.toolchains = [Toolchain(hipcc, (6, 4, 0), "21", frozenset({"gfx942", "gfx1100"}), "given")]
        self.comes: Callable[[], Verified] = verified
        #: The inputs of each verification: the texts of the original and of the port, by name.
        self.asked: list[dict[str, tuple[str, str]]] = []
        monkeypatch.setattr(builder, "find", lambda env, python: self.toolchains)
        monkeypatch.setattr(extension_verifier, "extension", lambda path, how, *, port, **_: self._verify(path, port))
        monkeypatch.setattr(
            program_verifier, "program", lambda what, how, *, port, **_: self._verify(what.paths[0], port(what.paths))
        )

    def _verify(self, path: Path, port: hipport.Ported) -> Verified:
        folder = path if path.is_dir() else path.parent
        self.asked.append(
            {p.name: ((folder / p).read_text(), t) for p, t in texts(port).items() if (folder / p).exists()}
        )
        return replace(self.comes(), root=folder)

    def write(self, name: str, text: str) -> Path:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def port(self, *paths: Path, **options: object) -> Evidence:
        return hipport.port(paths or [self.tree], env=self.env, jobs=1, **options)  # type: ignore[arg-type]

    def command(self, *arguments: object) -> Result:
        env = {**self.env, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        return CliRunner().invoke(main, ["port", *map(str, arguments)], env=env)


def texts(ported: hipport.Ported) -> dict[Path, str]:
    return {Path(source.path): source.text.decode() for source in ported.project.sources}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def has(lines: tuple[str, ...], *parts: str) -> bool:
    return any(all(part in line for part in parts) for line in lines)


def test_a_program_in_place(desk: Desk) -> None:
    main_cu = desk.write("main.cu", PROGRAM)
    found = desk.port(main_cu)
    assert "hipport::shfl_down_sync" in main_cu.read_text()
    # The original ran beside the port before it was overwritten.
    ((before, after),) = [each["main.cu"] for each in desk.asked]
    assert before == PROGRAM and after == main_cu.read_text()
    assert has(found.shown, "rewritten: 3 places in 1 file")
    assert has(found.shown, "all 1 units for host, gfx942, gfx1100", "HIP 6.4.0")
    assert has(found.shown, "the program main.cu, 1 case, with wavefronts of 32 and 64 lanes", "agrees")
    assert found.ok
    # Never more than was seen.
    assert has(found.not_checked, "run on an AMD GPU: nothing")
    assert has(found.not_checked, "the program main.cu: gradients")
    assert sum("AMD GPU" in line for line in found.not_checked) == 1
    assert "it runs" not in evidence.as_text(found)


def test_a_copy_and_its_manifest(desk: Desk, tmp_path: Path) -> None:
    desk.write("src/main.cu", PROGRAM)
    asked = desk.command(desk.tree, "--out", tmp_path / "out", "--", "12", "big")
    assert asked.exit_code == 0, asked.output
    assert (desk.tree / "src/main.cu").read_text() == PROGRAM
    assert "hipport::shfl_down_sync" in (tmp_path / "out/src/main.cu").read_text()
    document = json.loads((tmp_path / "out/hipport-port.json").read_text())
    assert document["ok"] is True and document["root"] == str(tmp_path / "out")
    (file,) = document["rewritten"]["files"]
    assert file["path"] == "src/main.cu" and file["sha256_before"] != file["sha256_after"]
    assert {"rule", "message", "line", "certainty"} <= set(document["rewritten"]["findings"][0])
    assert (
        document["compiled"]["targets"] == ["gfx942", "gfx1100"] and document["compiled"]["toolchain"]["hip"] == "6.4.0"
    )
    (one,) = document["verified"]
    assert one["inputs"] == "12 big" and one["result"]["ok"] is True
    text = (tmp_path / "out/hipport-port.txt").read_text()
    assert text == asked.output and "\nnot checked\n" in text


def test_a_recording_takes_the_place_of_cases(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("ext/setup.py", SETUP)
    desk.write("ext/x.cu", PROGRAM.replace("int main", "int f"))
    recording = tmp_path / "calls.json"
    recording.write_text("{}")
    asked: list[tuple[Path, Path, str]] = []

    def replay(path: Path, calls: Path, how: object, *, port: hipport.Ported, **_: object) -> tuple[Verified, ...]:
        asked.append((path, calls, texts(port)[Path("x.cu")]))
        return (replace(verified(), root=path, package="x"),)

    monkeypatch.setattr(extension_verifier, "replay", replay)
    out = tmp_path / "out"
    said = desk.command(desk.tree, "--replay", recording, "--out", out)
    assert said.exit_code == 0, said.output
    ((path, calls, text),) = asked
    assert (path, calls) == (desk.tree / "ext", recording) and "hipport::shfl_down_sync" in text
    (one,) = json.loads((out / "hipport-port.json").read_text())["verified"]
    assert one["what"] == "the extension in ext, x" and one["inputs"] == "calls.json" and one["result"]["ok"] is True
    assert "the extension in ext, x, 1 case" in said.output
    # It is of one extension.
    desk.write("other/setup.py", SETUP)
    assert desk.command(desk.tree, "--replay", recording, "--out", tmp_path / "two").exit_code == 2


def test_without_a_compiler_or_anything_to_run_little_is_said(desk: Desk) -> None:
    desk.write("src/main.cu", PROGRAM)
    desk.write("ext/setup.py", SETUP)
    desk.write("ext/x.cu", PROGRAM.replace("int main", "int f"))
    desk.toolchains = []
    found = desk.port()
    assert found.built is None and desk.asked == [] and not found.ok
    assert [line.split(":")[0] for line in found.shown] == ["rewritten"]
    assert has(found.not_checked, "compiled: nothing", "no hipcc")
    assert has(found.not_checked, "not the extension in ext", "there are no cases")
    assert has(found.not_checked, "src/main.cu", "hipport port … -- ARGUMENTS")
    assert "hipport::shfl_down_sync" in (desk.tree / "src/main.cu").read_text()


def test_disabled_steps(desk: Desk) -> None:
    desk.write("main.cu", PROGRAM)
    asked = desk.command(desk.tree / "main.cu", "--no-build", "--no-verify", "--format", "json")
    assert asked.exit_code == 0, asked.output
    document = json.loads(asked.output)
    assert document["compiled"] is None and document["verified"] == [] and not (desk.folder / "said/log").exists()
    assert any("compiled: nothing: it was not asked for" in line for line in document["not_checked"])


def test_failures_are_not_shown_as_good(desk: Desk) -> None:
    desk.write("main.cu", PROGRAM + "//! 3: error: no\n//! 4: warning: hm\n")
    desk.comes = lambda: verified("ported@64")
    found = desk.port(desk.tree / "main.cu")
    assert not found.ok
    assert has(found.shown, "0 of 1 units") and has(found.not_checked, "not without errors: main.cu")
    assert has(found.shown, "DIFFERS") and not has(found.shown, "agrees")
    assert "error: no" in evidence.as_text(found) and "warning: hm" not in evidence.as_text(found)
    assert "1 warning of the compiler" in evidence.as_text(found) and "hm" in evidence.as_json(found)
    # At the line of the original.
    assert (
        [(str(m.path), m.line) for m, _ in found.built.messages] == [("main.cu", 5), ("main.cu", 6)]
        if found.built
        else False
    )


def test_extensions_with_cases(desk: Desk) -> None:
    for name in ("one", "two"):
        desk.write(f"{name}/setup.py", SETUP)
        desk.write(f"{name}/x.cu", PROGRAM)
    desk.write("one/cases.py", "CASES = {}\n")
    found = desk.port(declined=["build"])
    assert [(v.what, v.verified is not None, v.inputs) for v in found.verifications] == [
        ("the extension in one", True, "cases.py"),
        ("the extension in two", False, ""),
    ]
    assert found.verifications[0].digest == reading.digest(desk.tree / "one/cases.py")
    # The verified port is the written one.
    assert desk.asked[0]["x.cu"] == (PROGRAM, (desk.tree / "one/x.cu").read_text())
    assert has(found.not_checked, "compiled: nothing")
    with pytest.raises(extension_verifier.BadCases, match="here are 2"):
        desk.port(cases=desk.tree / "one/cases.py")


def test_code_that_cannot_be_run_does_not_stop_the_port(desk: Desk) -> None:
    desk.write("setup.py", SETUP)
    desk.write("x.cu", PROGRAM)
    desk.write("cases.py", "CASES = {}\n")

    def breaks() -> Verified:
        raise RuntimeError("a defect")

    desk.comes = breaks
    with pytest.raises(RuntimeError, match="a defect"):
        desk.port(declined=["build"])
    # A failure before anything is written leaves all files unchanged.
    assert (desk.tree / "x.cu").read_text() == PROGRAM

    def fails() -> Verified:
        raise NotBuildable("x.cu:3: no such thing\nand more")

    desk.comes = fails
    found = desk.port(declined=["build"])
    assert not found.ok and has(found.not_checked, "not the extension", "x.cu:3: no such thing")
    assert "hipport::" in (desk.tree / "x.cu").read_text()


def test_a_second_run_has_the_evidence_of_the_originals(desk: Desk) -> None:
    main_cu = desk.write("main.cu", PROGRAM)
    first = desk.port(desk.tree, arguments=["1"])
    ported = main_cu.read_text()
    second = desk.port(desk.tree, arguments=["1"])
    assert main_cu.read_text() == ported and second.earlier and not first.earlier
    assert desk.asked[1]["main.cu"] == desk.asked[0]["main.cu"] == (PROGRAM, ported)
    assert (second.shown, second.not_checked) == (first.shown, first.not_checked)
    assert second.verifications[0].verified and second.verifications[0].verified.root == desk.tree
    # A later manual change is not hipport's result for the original.
    main_cu.write_text(ported.replace("nullptr", "0"))
    third = desk.port(desk.tree, arguments=["1"])
    assert len(desk.asked) == 2 and not third.ok
    assert has(third.not_checked, "changed since hipport rewrote it: main.cu")
    # Files beside a single file are not copied.
    assert has(desk.port(main_cu).not_checked, "hipport undo") and len(desk.asked) == 2


def test_status_and_messages(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("main.cu", PROGRAM)
    assert desk.command(tmp_path / "none").exit_code == 2
    desk.comes = lambda: verified("ported@32")
    asked = desk.command(desk.tree / "main.cu", "--manifest", tmp_path / "seen.json")
    assert asked.exit_code == 1 and "DIFFERS" in asked.output
    assert json.loads((tmp_path / "seen.json").read_text())["ok"] is False
    assert (tmp_path / "seen.txt").read_text() == asked.output
    # An error after the port was written does not lose it.

    def interrupted(*_: object, **__: object) -> builder.Built:
        raise KeyboardInterrupt

    monkeypatch.setattr(builder, "build", interrupted)
    desk.write("other.cu", PROGRAM)
    asked = desk.command(desk.tree / "other.cu", "--no-verify")
    assert asked.exit_code == 1 and "compiled: nothing: interrupted" in asked.output
    monkeypatch.setattr(builder, "build", lambda *_, **__: (_ for _ in ()).throw(NoToolchain("none that can")))
    asked = desk.command(desk.tree / "other.cu", "--no-verify")
    assert asked.exit_code == 1 and "compiled: nothing: none that can" in asked.output, asked.output


def test_with_the_executor(tmp_path: Path) -> None:
    found = hipport.port([SUMS], tmp_path / "out", ["775"], env=os.environ, declined=["build"])
    assert has(found.shown, "run on the CPU: the program sums.cu, 1 case", "agrees"), evidence.as_text(found)
    assert has(found.not_checked, "the program sums.cu: times", "in 1 of 3 lines")
    assert sum("AMD GPU" in line for line in found.not_checked) == 1

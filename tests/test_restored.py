# SPDX-License-Identifier: Apache-2.0
"""A tree that was rewritten in place is verified against the originals that hipport saved."""

import os
import re
from pathlib import Path, PurePath
from typing import Any

import pytest
from click.testing import CliRunner

from hipport import api
from hipport.cli import main
from hipport.engine.outcomes import Ported
from hipport.toolchain import toolchains
from hipport.verifying import extension_verifier, restored
from hipport.verifying.results import Configuration, MutationScore, Ran, Verified
from hipport.workspace import discovery, writing
from hipport.workspace.copies import copy_tree

PROGRAM = """#include <cuda_runtime.h>
#include <cstdio>
__global__ void k(int *p) { p[threadIdx.x] = __shfl_xor_sync(0xffffffffu, p[threadIdx.x], 1); }
int main() {
    int *p;
    cudaMallocManaged(&p, 64 * sizeof(int));
    for (int i = 0; i < 64; i++) p[i] = i;
    k<<<1, 64>>>(p);
    cudaDeviceSynchronize();
    for (int i = 0; i < 64; i++) printf("%d ", p[i]);
}
"""
SETUP = """from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="x", ext_modules=[CUDAExtension("x", ["x.cu"])], cmdclass={"build_ext": BuildExtension})
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A separate cache, except for the executor, which is the same for all.
    executor, kept = toolchains.cache(os.environ) / "simt", tmp_path / "cache/hipport/simt"
    for path in (executor, kept.parent):
        path.mkdir(parents=True, exist_ok=True)
    kept.symlink_to(executor)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "main.cu").write_text(PROGRAM)
    (folder / "README").write_text("nothing to port")
    return folder


def env(tree: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tree.parent / "cache"), "PATH": "/usr/bin:/bin"}


def rewrite(tree: Path) -> None:
    api.save(api.rewrite(tree))


def verify(*paths: Path) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["verify", *map(str, paths), "--no-gpu", "--wave", "64", "--order", "forward"])
    return done.exit_code, " ".join(done.output.split())


def test_a_program_is_compared_with_the_saved_original(tree: Path) -> None:
    rewrite(tree)
    code, said = verify(tree)
    assert code == 0 and "the original is the one that hipport saved when it rewrote" in said
    assert "1 file of .hipport" in said and "cache" not in said
    # The port is the present tree, with a person's changes.
    main_cu = tree / "main.cu"
    main_cu.write_text(main_cu.read_text().replace(", 1);", ", 2);"))
    code, said = verify(main_cu)
    assert code == 1 and "differs" in said


class Asked:
    """Stands for the runner of an extension: records what it is asked to compare."""

    def __init__(self) -> None:
        self.path = Path()
        self.port: Ported | None = None

    def __call__(self, path: Path, *_: Any, port: Any, **__: Any) -> Verified:
        self.path, self.port = path, port([path])
        return Verified(path, "x", (Ran(Configuration("original", 32), ()),), ())


def texts(ported: Ported | None) -> dict[PurePath, str]:
    assert ported is not None
    return {source.path: source.text.decode() for source in ported.changed}


def test_an_extension_is_compared_with_the_saved_original(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(extension_verifier, "extension", asked)
    (tree / "setup.py").write_text(SETUP)
    (tree / "x.cu").write_text(PROGRAM)
    rewrite(tree)
    rewritten = (tree / "x.cu").read_text() + "// by hand\n"
    (tree / "x.cu").write_text(rewritten)
    found = api.verify(tree, env=env(tree))
    assert found.root == tree and "2 files" in found.original and (asked.path / "x.cu").read_text() == PROGRAM
    assert texts(asked.port)[PurePath("x.cu")] == rewritten
    # Lines are those of the user's files.
    (source,) = [each for each in asked.port.changed if each.path.name == "x.cu"] if asked.port else []
    assert source.first.text.decode() == PROGRAM

    # Recordings are replayed in the same way, and mutants are made there.
    def replay(path: Path, recording: Path, how: object, **more: Any) -> tuple[Verified, ...]:
        return (asked(path, **more),)

    def mutation_score(path: Path, how: object, **more: Any) -> MutationScore:
        asked(path, **more)
        return MutationScore(())

    monkeypatch.setattr(extension_verifier, "replay", replay)
    monkeypatch.setattr(extension_verifier, "mutation_score", mutation_score)
    (tree / "cases.py").write_text("")
    assert all(each.original and each.root == tree for each in api.replay(tree, "calls.json", env=env(tree)))
    assert api.mutation_score([tree], env=env(tree)).original and (asked.path / "x.cu").read_text() == PROGRAM


def test_restored_cuda_is_its_own_original(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(extension_verifier, "extension", asked)
    (tree / "x.cu").write_text(PROGRAM)
    rewrite(tree)
    (tree / "x.cu").write_text(PROGRAM.replace("int main", "int newer; int main"))
    api.verify(tree, env=env(tree))
    assert "newer" in (asked.path / "x.cu").read_text() and (asked.path / "main.cu").read_text() == PROGRAM
    (tree / "main.cu").write_text(PROGRAM)
    assert not api.verify(tree, env=env(tree)).original and asked.path == tree


def _forget(tree: Path) -> None:
    for path in sorted((tree / ".hipport").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tree / ".hipport").rmdir()


def _other_files(tree: Path) -> None:
    # A clone that was rewritten again: the record has the clone's originals.
    text = (tree / "main.cu").read_text()
    _forget(tree)
    (tree / "more.cu").write_text(PROGRAM.replace("int main()", "int more()"))
    rewrite(tree)
    (tree / "more.cu").write_text(PROGRAM.replace("int main()", "int more()"))
    (tree / "main.cu").write_text(text)


@pytest.mark.parametrize(
    ("lose", "said"),
    [
        (_forget, "hipport has no record of a rewrite here (.hipport, which git does not commit)"),
        (_other_files, "have no originals of them"),
    ],
)
def test_a_missing_original_is_requested(tree: Path, lose: Any, said: str) -> None:
    rewrite(tree)
    lose(tree)
    code, output = verify(tree)
    assert code == 2 and said in output
    assert (
        "this command needs the CUDA original" in output
        and "main.cu:1" in output
        and "hipport verify ../original" in output
    )


def test_a_damaged_original_is_named(tree: Path) -> None:
    rewrite(tree)
    (saved,) = [each for each in (tree / ".hipport/runs").rglob("*") if each.name == "0"]
    saved.write_text("something else")
    code, output = verify(tree)
    assert code == 2 and "damaged" in output


def test_cuda_that_does_not_compile_is_no_hip(tree: Path) -> None:
    (tree / "main.cu").write_text("#ifdef USE_HIP\n#include <hip/hip_runtime.h>\n#endif\n" + PROGRAM + "int x = y;\n")
    code, output = verify(tree)
    assert code == 2 and "needs the CUDA original" not in output


def test_a_failure_in_the_port_is_reported_for_the_port(tree: Path) -> None:
    rewrite(tree)
    main_cu = tree / "main.cu"
    main_cu.write_text(main_cu.read_text() + "int x = y;\n")
    code, output = verify(main_cu)
    assert code == 2 and "main.cu" in output and "needs the CUDA original" not in output


def test_hipports_cache_in_the_tree_is_in_no_copy(tree: Path, tmp_path: Path) -> None:
    """The tree may be the user's home folder. A copy of the cache in itself would not end."""
    here = {"XDG_CACHE_HOME": str(tree / ".cache"), "PATH": "/usr/bin:/bin"}
    cached = ["compiled/0a/x.cu", "trees/0/tree/main.cu", "toolchains/hipcc-7.0/bin/hipcc", "simt/objects/0/x.cu"]
    for name in (*cached, "../other/data"):
        file = toolchains.cache(here) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PROGRAM)
    rewrite(tree)
    copied = restored.copied(tree, [PurePath()], [], here)
    writing.write_tree(tree, tmp_path / "out", [PurePath()], [])
    copy_tree(tree, toolchains.cache(here) / "trees/1/tree")
    for copy in (copied, tmp_path / "out", toolchains.cache(here) / "trees/1/tree"):
        names = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
        assert names >= {"main.cu", "README", "hipport/warp.h", ".cache/other/data"}, copy
        assert not any(".cache/hipport" in name for name in names), copy
    # Another folder of that name is somebody's own.
    (toolchains.cache(here) / "a.cu").write_text(PROGRAM)
    writing.write_tree(tree, tmp_path / "other", [PurePath()], [])
    assert (tmp_path / "other/.cache/hipport/a.cu").exists()


def test_the_folders_of_the_cache_are_known() -> None:
    """Those that are named where the cache is asked for, and those that are there."""
    text = "".join(path.read_text() for path in Path(api.__file__).parent.rglob("*.py"))
    made = set(re.findall(r'\bcache\([\w.]+\)(?:\.resolve\(\))? / "([\w-]+)"', text))
    assert made >= {"configured", "hardware", "originals", "simt", "toolchains"}
    kept = toolchains.cache(os.environ)
    assert made | {each.name for each in (kept.iterdir() if kept.exists() else ())} <= discovery._OF_THE_CACHE

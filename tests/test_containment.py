# SPDX-License-Identifier: Apache-2.0
"""The permissions of a tree's code that hipport runs, and the cases in which it runs none: see
docs/explanation/security.md.
"""

import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from endless import ENDLESS
from hipport.building.dry_runs import dry_run
from hipport.cli import main
from hipport.executor.compilers import run_compiler
from hipport.toolchain import contained, machine, processes
from hipport.toolchain.processes import Box
from hipport.toolchain.toolchains import cache
from hipport.workspace import environment

PYTHON = Path(sys.executable)
landlock = pytest.mark.skipif(not contained.landlock(), reason="no Landlock: that files are guarded was NOT checked")

SECRETS = {
    "GITHUB_TOKEN": "ghp", "AWS_SECRET_ACCESS_KEY": "k", "AWS_ACCESS_KEY_ID": "i", "HF_TOKEN": "hf", "NPM_TOKEN": "n",
    "SSH_AUTH_SOCK": "/s", "TORCH_HUB_TOKEN": "t", "CMAKE_PASSWORD": "p", "PIP_INDEX_URL": "https://me:pw@h/",
    "CCACHE_REMOTE_STORAGE": "redis://:pw@h", "CMAKE_TOOLCHAIN_FILE": "https://ghp_0123456789abcdef@h/x",
    "NVIDIA_CREDS": "c", "TRITON_COOKIE": "c", "TORCH_OAUTH2": "o", "HIP_SESSION": "s", "ROCM_PW": "p",
    "CMAKE_ARGS": "-DX=ghp_0123456789abcdefghij", "NCCL_SETTING": "AKIAIOSFODNN7EXAMPLE", "CXXFLAGS_": "Bearer x",
    "CCACHE_SECONDARY_STORAGE": "http://h/x|bearer-token=0123", "TORCH_INDEX": "https://h/?api-key=0123",
    "HTTPS_PROXY": "http://me:pw@h", "OPENAI_API_KEY": "o", "KUBECONFIG": "/k", "DATABASE_URL": "d",
}  # fmt: skip
TOLD = {
    "PATH": "/usr/bin:/bin", "HOME": "/home/me", "ROCM_PATH": "/opt/rocm", "LD_LIBRARY_PATH": "/opt/lib",
    "CC": "ccache gcc", "CCACHE_DIR": "/ccache", "HIP_VISIBLE_DEVICES": "0", "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
    "PYTHONPATH": "/src",
    "TORCH_CUDA_ARCH_LIST": "8.0", "MAX_JOBS": "4", "CMAKE_PREFIX_PATH": "/x", "CXXFLAGS": "-O2", "LC_ALL": "C",
    "HIPCC_COMPILE_FLAGS_APPEND": "-g", "PYTORCH_ROCM_ARCH": "gfx942", "OMP_NUM_THREADS": "1", "FORCE_CUDA": "1",
    "VIRTUAL_ENV": "/venv", "CPATH": "/include", "TORCH_URL": "https://h:80/a@b",
    "MAKEFLAGS": "-j8 --no-print-directory",
    "CFLAGS": "-DMAX_TOKENS=512 -I/sk-learn/include", "CCACHE_REMOTE_ONLY": "http://h/x|layout=bazel",
}  # fmt: skip


def test_the_environment_is_what_build_tools_ask_for() -> None:
    assert environment.allowed({**SECRETS, **TOLD}) == TOLD
    for flags in ("-j8 -- TOKEN=t", "-j8 TOKEN=t"):
        assert environment.allowed({"MAKEFLAGS": flags}) == {"MAKEFLAGS": "-j8"}
    assert environment.allowed({**SECRETS, **TOLD}, ["HF_TOKEN"]) == {**TOLD, "HF_TOKEN": "hf"}


def test_programs_of_the_current_folder_are_not_those_of_the_machine() -> None:
    env = {"PATH": ":/usr/bin:.:bin:/bin", "LD_LIBRARY_PATH": "/lib::"}
    assert environment.allowed(env) == {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/lib"}


Runner = Callable[..., tuple[int | None, str]]


@pytest.fixture(scope="module")
def with_pytorch() -> Iterator[processes._Loaded]:
    """Return a process that has loaded PyTorch, which takes seconds."""
    pytest.importorskip(
        "torch", reason="PyTorch is not installed: that scripts in a fork are contained was NOT checked"
    )
    loaded = processes._Loaded(PYTHON, dict(os.environ))
    yield loaded
    if loaded.process is not None and loaded.process.stdin is not None:
        loaded.process.stdin.close()
        loaded.process.wait()


@pytest.fixture(params=["alone", "loaded", "bubblewrap"])
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """Run Python as a command of a tree: in a new process, or in one that has loaded PyTorch."""
    if request.param == "bubblewrap":
        monkeypatch.setattr(contained, "landlock", lambda: 0)
        processes._bubblewrap.cache_clear()
        if not processes._bubblewrap():
            processes._bubblewrap.cache_clear()
            pytest.skip("no bubblewrap: that it guards files where there is no Landlock was NOT checked")
    loaded: processes._Loaded | None = None
    if request.param == "loaded":
        loaded = request.getfixturevalue("with_pytorch")

    def run(text: str, box: Box | None = None, seconds: float = ENDLESS) -> tuple[int | None, str]:
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(text))
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
        if loaded is None:
            return processes.run_contained([str(PYTHON), str(script)], tmp_path, env, seconds, box)
        answer = loaded.run(script, (), tmp_path, env, seconds, box)
        assert answer is not None
        return answer

    yield run
    processes._bubblewrap.cache_clear()


def running(*words: str) -> bool:
    """Return whether a command runs on this machine, or starts within a second."""
    wanted = b"".join(word.encode() + b"\0" for word in words)
    end = time.monotonic() + 1
    while any(_read(each) == wanted for each in Path("/proc").glob("[0-9]*/cmdline")):
        if time.monotonic() > end:
            return True
        time.sleep(0.05)
    return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("then", ["", "time.sleep(60)", "os.kill(os.getpid(), 9)"])
def test_no_process_is_left(run: Runner, tmp_path: Path, then: str) -> None:
    """Neither in another session nor with another parent, however the command ends."""
    seconds = f"300.{os.getpid()}"
    status, said = run(
        f"""
        import os, time
        def begin(depth):
            reading, writing = os.pipe()
            if os.fork() == 0:
                os.setsid()
                if depth:
                    begin(depth - 1)
                    os._exit(0)
                if os.fork():
                    os._exit(0)
                os.write(writing, b"%d" % os.getpid())
                os.execvp("sleep", ["sleep", "{seconds}"])
            print(os.read(reading, 20).decode() if not depth else "", flush=True)
        begin(0)
        begin(2)
        time.sleep(0.5)
        {then}
        """,
        seconds=4,
    )
    assert status == {"": 0, "os.kill(os.getpid(), 9)": -9}.get(then)
    assert len(said.split()) == 2, said
    assert not running("sleep", seconds)


@landlock
def test_files_are_written_only_where_that_is_allowed(run: Runner, tmp_path: Path) -> None:
    for name in ("mine", "other", "home/.cache/hipport"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "other/file").write_text("before")
    (tmp_path / "mine/link").symlink_to(tmp_path / "other/file")
    # Older versions do not contain signals; in bubblewrap there are no other processes, and /dev is its own.
    signals = contained.landlock() >= 6
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"\0{tmp_path}")
    listening.listen()
    status, said = run(
        f"""
        import os, pathlib, socket, stat, tempfile
        here = pathlib.Path({str(tmp_path)!r})
        def tried(what, *arguments):
            try:
                what(*arguments)
            except OSError:
                return
            print("done:", what, *arguments)
        # Nothing of hipport's is open, such as what answers are written to.
        for number in range(3, 40):
            tried(os.fstat, number)
        for name in "other/file other/new home/.cache/hipport/new home/.bashrc new script.py mine/link".split():
            tried((here / name).write_text, "x")
        tried(os.remove, here / "other/file")
        tried(os.truncate, here / "other/file", 0)
        tried(os.rename, here / "other/file", here / "mine/file")
        tried(os.link, here / "other/file", here / "mine/hard")
        tried(os.mkdir, here / "other/folder")
        tried(os.symlink, "/", here / "other/symbolic")
        if {signals}:
            tried(os.kill, os.getppid(), 15)
            outside = socket.socket(socket.AF_UNIX)
            tried(outside.connect, chr(0) + {str(tmp_path)!r})
        # What root could: a device is a way around folders, and a disk is all of them.
        tried(os.mknod, here / "mine/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        if {signals}:
            tried(pathlib.Path("/dev/hipport-new").write_text, "x")
        for path in pathlib.Path("/dev").iterdir():
            if path.is_block_device() or path.name in ("mem", "kmsg", "console", "ttyS0", "fuse"):
                tried(os.open, path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        # Not the environment and the memory of hipport, where the user's tokens are.
        for process in ({os.getpid()}, *([os.getppid()] if {signals} else [])):
            for name in ("environ", "mem", "maps"):
                tried(pathlib.Path("/proc", str(process), name).read_bytes)
            tried(os.listdir, pathlib.Path("/proc", str(process), "cwd"))
        (here / "mine/new").write_text("x")
        for name in ("/dev/stdout", "/dev/stderr"):
            open(name, "a").close()
        tempfile.TemporaryFile().write(b"x")
        pathlib.Path(os.environ["XDG_CACHE_HOME"], "a").mkdir(parents=True)
        open("/dev/null", "w").write("x")
        """,
        Box((tmp_path / "mine",)),
    )
    listening.close()
    assert (status, said) == (0, "")
    assert (tmp_path / "other/file").read_text() == "before"


@landlock
def test_the_cache_is_not_written_where_it_lies_in_a_folder_that_may_be(run: Runner, tmp_path: Path) -> None:
    cache = tmp_path / "home/.cache/hipport"
    (cache / "compiled").mkdir(parents=True)
    (tmp_path / "home/.cache/other").mkdir()
    text = f"""
        import pathlib
        home = pathlib.Path({str(tmp_path / "home")!r})
        (home / ".cache/other/file").write_text("x")
        for name in ("compiled/file", "file", "../hipport/compiled/file"):
            try:
                (home / ".cache/hipport" / name).write_text("x")
                print("written", name)
            except OSError:
                pass
        """
    assert run(text, Box((tmp_path,), kept=cache)) == (0, "")


def test_memory_is_limited(run: Runner) -> None:
    text = "try:\n    bytearray(4 << 30)\n    print('got it')\nexcept MemoryError:\n    print('refused')\n"
    assert run(text, Box(memory=3 << 30)) == (0, "refused\n")
    assert 4 << 30 < processes.MEMORY < 1 << 45


def test_limits_that_the_user_has_set_stay(tmp_path: Path) -> None:
    """A limit that is lower than hipport's own stays, without an error."""
    code = (
        "import sys; from pathlib import Path; from hipport.toolchain.processes import *\n"
        "command = ['/bin/sh', '-c', 'ulimit -v']\n"
        "for run in (run_contained, limited): print(run(command, Path('/'), {}, 60.0))\n"
    )
    command = ["/bin/sh", "-c", 'ulimit -v 6000000; exec "$@"', "sh", str(PYTHON), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "(0, '6000000\\n')\n" * 2


LARGE = "import sys\nfor _ in range(3): sys.stdout.write('x' * (1 << 24)); sys.stdout.flush()\nprint('end')\n"


def test_no_more_output_of_a_command_is_read_than_is_used(run: Runner, tmp_path: Path) -> None:
    status, said = run(LARGE)
    assert status == 0 and len(said) < 34 << 20 and said.endswith("xend\n") and "\n[…]\n" in said
    status, said = processes.limited([str(PYTHON), "-c", LARGE], tmp_path, os.environ, ENDLESS)
    assert status == 0 and len(said) < 34 << 20 and said.endswith("xend\n")


def test_compilers_have_limits_from_their_beginning(tmp_path: Path) -> None:
    """Also the limits of their children: g++'s children start before they could be limited from outside."""
    text = "import resource as r; print(*(r.getrlimit(x)[0] for x in (r.RLIMIT_AS, r.RLIMIT_FSIZE, r.RLIMIT_CPU)))"
    status, said = processes.limited(["/bin/sh", "-c", f'{PYTHON} -c "{text}"; true'], tmp_path, os.environ, ENDLESS)
    assert (status, said.split()) == (0, [str(processes.MEMORY), str(1 << 30), str(ENDLESS + 1)])


def test_a_compiler_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    start = time.monotonic()
    words = ["/bin/sh", "-c", f"sleep 313.{os.getpid()}; true"]
    status, said, _ = run_compiler(words, os.environ, 0.5, tmp_path)
    assert status == 1 and "did not end within" in said and time.monotonic() - start < 30
    assert not running("sleep", f"313.{os.getpid()}")


def test_missing_protection_of_files_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contained, "landlock", lambda: 0)
    monkeypatch.setattr(processes, "_bubblewrap", lambda: "")
    (tmp_path / "Makefile").write_text("all:\n\techo\n")
    result = CliRunner().invoke(main, ["build", str(tmp_path)])
    assert "can write wherever you can" in result.stderr


@landlock
def test_a_makefile_that_is_asked_what_it_compiles_is_contained(tmp_path: Path) -> None:
    """`make --dry-run` runs `$(shell …)`, makes the included files, and runs lines that begin with `+`."""
    (tmp_path / "x.cu").touch()
    (tmp_path / "Makefile").write_text(
        "X := $(shell touch shelled; setsid sleep 311 >/dev/null 2>&1 & )\n-include made.mk\n"
        "all:\n\tnvcc -DSEEN_$(GITHUB_TOKEN)_$(ROCM_PATH) x.cu\n\t+touch plus\nmade.mk:\n\ttouch made.mk\n"
    )
    env = environment.allowed({**SECRETS, **os.environ, "GITHUB_TOKEN": "ghp", "ROCM_PATH": "r"})
    ((source, _, flags, *_),) = dry_run(tmp_path, env, tuple)
    assert source.name == "x.cu" and flags == ("-DSEEN__r",)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["Makefile", "x.cu"]
    assert not running("sleep", "311")


HOSTILE = """\
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
int main() {
  std::string wrong;
  if (getenv("GITHUB_TOKEN")) wrong += " token";
  if (!getenv("MY_SETTING")) wrong += " setting";
  if (FILE* file = fopen(getenv("POISON"), "w")) wrong += " cache";
  if (FILE* file = fopen("result.txt", "w")) fclose(file); else wrong += " here";
  if (fork() == 0) { setsid(); if (fork() == 0) execlp("sleep", "sleep", "312", nullptr); _exit(0); }
  if (!wrong.empty()) { printf("wrong:%s\\n", wrong.c_str()); return 1; }
  puts("contained");
}
"""


@landlock
def test_a_program_that_is_verified_is_contained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.cu").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    # In the tests' shared cache: in a new one, the executor would be compiled again.
    poison = cache(os.environ) / f"poison-{os.getpid()}"
    for name, value in {**SECRETS, "POISON": str(poison), "MY_SETTING": "1"}.items():
        monkeypatch.setenv(name, value)
    command = ["verify", "p.cu", "--original-only", "--order", "forward", "--no-gpu", "--format", "json"]
    try:
        result = CliRunner().invoke(main, [*command, "--env", "POISON", "--env", "MY_SETTING"])
        assert not poison.exists()
    finally:
        poison.unlink(missing_ok=True)
    assert result.exit_code == 0, result.output
    assert all(each["cases"][0]["status"] == "ok" for each in json.loads(result.stdout)["configurations"])
    assert (tmp_path / "result.txt").exists()
    assert not running("sleep", "312")


HERE = "open('PWNED', 'w')\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a current folder with modules and programs whose names hipport looks for."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("torch", "numpy", "json", "click", "pip", "hipport_passes", "sitecustomize"):
        (tree / f"{name}.py").write_text(HERE)
    for name in ("hipcc", "rocminfo", "rocm-smi", "amd-smi", "g++", "python3"):
        (tree / name).write_text("#!/bin/sh\ntouch PWNED\n")
        (tree / name).chmod(0o755)
    (tree / "requirements.txt").write_text("torch\n")
    monkeypatch.chdir(tree)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}:")
    monkeypatch.setenv("PYTHONPATH", f".:{os.environ.get('PYTHONPATH', '')}")
    return tree


@pytest.mark.parametrize("command", [["doctor"], ["deps", "--check", "."], ["scan", "."], ["explain", "cudaMalloc"]])
def test_commands_that_read_run_nothing_of_the_current_folder(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """Like the script that pip installs, whose folder Python searches first."""
    monkeypatch.delenv("PYTHONPATH")
    code = "import sys; del sys.path[0]; from hipport.cli import main; main()"
    done = subprocess.run([PYTHON, "-c", code, *command], capture_output=True, text=True)
    assert "defect" not in done.stderr and done.returncode in (0, 1), done.stderr
    assert not list(checkout.rglob("PWNED"))


def test_hipport_as_a_module_runs_nothing_of_the_current_folder(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH")
    (checkout / "json.py").unlink()  # Python's own module, which it loads to look up others.
    done = subprocess.run([PYTHON, "-m", "hipport", "scan", "."], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    assert not (checkout / "PWNED").exists()


def test_a_python_is_asked_in_a_folder_of_its_own(checkout: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: that it is asked elsewhere was NOT checked")
    assert machine.torch_of(PYTHON, os.environ).version != ""
    assert not list(checkout.rglob("PWNED"))


@pytest.mark.parametrize(
    "row",
    [
        "install = ['touch PWNED']", "check = \"open('PWNED', 'w')\"", "environment = { LD_PRELOAD = '/x.so' }",
        "fallback = { 'X;touch PWNED' = '1' }", "renamed = { xformers = '$(touch PWNED)' }", "with_torch = true",
    ],
)  # fmt: skip
@pytest.mark.parametrize("named_in", ["hipport.toml", "pyproject.toml"])
def test_rules_that_a_tree_names_have_nothing_that_is_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, named_in: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("xformers\n")
    (tmp_path / "r.toml").write_text(f"[[requirements.family]]\nname = 'xformers'\n{row}\n")
    (tmp_path / named_in).write_text(
        f"{'[tool.hipport]' if named_in == 'pyproject.toml' else ''}\nrules = ['r.toml']\n"
    )
    for command in (["deps", "--check"], ["deps", "--script"], ["deps"], ["rewrite"], ["scan"], ["port"]):
        result = CliRunner().invoke(main, [*command, "."])
        assert result.exit_code == 2 and "--rules" in result.stderr, result.output
        assert f"`{row.partition(' ')[0]}`" in result.stderr
    assert not (tmp_path / "PWNED").exists()
    # The user may set it.
    if row.startswith(("install", "with_torch")):
        result = CliRunner().invoke(main, ["deps", "--script", ".", "--rules", "r.toml"])
        assert result.exit_code in (0, 1), result.output


@pytest.mark.parametrize("url", ["https://h/$(touch PWNED)", "https://h/ --extra", "x;touch PWNED", "`x`"])
def test_an_address_of_rules_is_a_word(tmp_path: Path, url: str) -> None:
    (tmp_path / "requirements.txt").write_text("xformers\n")
    (tmp_path / "r.toml").write_text(f"[[requirements.index]]\nrocm = '6.4'\nurl = '{url}'\n")
    (tmp_path / "hipport.toml").write_text("rules = ['r.toml']\n")
    result = CliRunner().invoke(main, ["deps", "--script", str(tmp_path)])
    assert result.exit_code == 2 and "characters that no address contains" in result.stderr

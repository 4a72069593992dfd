# SPDX-License-Identifier: Apache-2.0
"""Finding a hipcc, and installing one."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.cli import main
from hipport.cli.toolchain_command import TOOLCHAINS
from hipport.toolchain import install_toolchain
from hipport.toolchain.toolchains import NoToolchain, Toolchain, cache, choose, find, probe, remember

# Answers like hipcc; the facts about it are in a file beside it, which also records its arguments.
FAKE = """#!/bin/sh
here=$(dirname "$0")
echo "$HIP_PLATFORM $ROCM_PATH $*" >> "$here/calls"
. "$here/facts"
case "$*" in
*--version*) echo "HIP version: $hip-0"; echo "Debian clang version 21.1.8 (13)"; exit 0;;
*-###*)
    if [ -d "$here/bitcode" ]; then
        echo " \\"clang\\" \\"-mlink-builtin-bitcode\\" \\"$here/bitcode/oclc_isa_version_900.bc\\"" >&2; exit 0
    fi
    for arch in $archs; do case "$*" in *--offload-arch=$arch*) echo ok >&2; exit 0;; esac; done
    echo "clang++: error: invalid target ID" >&2; exit 1;;
esac
exit 1
"""


def fake(folder: Path, hip: str = "6.4.43484", archs: str = "gfx942 gfx1100", bitcode: bool = True) -> Path:
    hipcc = folder / "bin" / "hipcc"
    hipcc.parent.mkdir(parents=True)
    hipcc.write_text(FAKE)
    hipcc.chmod(0o755)
    (hipcc.parent / "facts").write_text(f"hip={hip}\narchs='{archs}'\n")
    if bitcode:
        (hipcc.parent / "bitcode").mkdir()
        for arch in archs.split():
            (hipcc.parent / "bitcode" / f"oclc_isa_version_{arch.removeprefix('gfx')}.bc").touch()
        (hipcc.parent / "bitcode" / "ockl.bc").touch()
    return hipcc


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home")}


def found(env: dict[str, str]) -> list[Path]:
    """Return the compilers that are found, without those of the machine itself, which tests cannot hide."""
    machine = (Path("/opt"), Path("/usr"))
    return [each.hipcc for each in find(env) if not any(each.hipcc.is_relative_to(folder) for folder in machine)]


@pytest.mark.parametrize("bitcode", [True, False])
def test_a_hipcc_is_asked_for_its_release_and_targets(tmp_path: Path, env: dict[str, str], bitcode: bool) -> None:
    hipcc = fake(tmp_path, archs="gfx90a gfx1030", bitcode=bitcode)
    toolchain = probe(hipcc, {**env, "ROCM_PATH": "/elsewhere"})
    assert toolchain is not None
    assert (toolchain.hip, toolchain.rocm, toolchain.clang) == ((6, 4, 43484), (6, 4), "21.1.8")
    assert toolchain.archs == {"gfx90a", "gfx1030"}
    assert toolchain.targets(["gfx90a:xnack+"]) and not toolchain.targets(["gfx90a", "gfx942"])
    # Without the first it would choose NVIDIA if there is an nvcc, without the second another installation's headers.
    assert {line.split(" -")[0] for line in (hipcc.parent / "calls").read_text().splitlines()} == {"amd "}


def test_other_programs_are_not_hipcc(tmp_path: Path, env: dict[str, str]) -> None:
    silent = tmp_path / "hipcc"
    silent.write_text("#!/bin/sh\nexit 1\n")
    silent.chmod(0o755)
    broken = tmp_path / "broken"
    broken.touch()
    assert probe(silent, env) is None and probe(broken, env) is None


def test_the_environment_goes_first_then_the_newest(tmp_path: Path, env: dict[str, str]) -> None:
    named = fake(tmp_path / "rocm", hip="6.0.1")
    older = fake(cache(env) / "toolchains" / "older", hip="5.2.21153")
    newer = fake(cache(env) / "toolchains" / "newer", hip="7.1.0")
    assert found({**env, "ROCM_PATH": str(tmp_path / "rocm")}) == [named, newer, older]
    assert found({**env, "PATH": f"{named.parent}:/usr/bin:/bin"}) == [newer, named, older]


def test_the_pip_sdk_of_the_interpreter_is_found(tmp_path: Path, env: dict[str, str]) -> None:
    hipcc = fake(tmp_path / "venv/lib/python3.12/site-packages/_rocm_sdk_devel")
    assert hipcc in [each.hipcc for each in find(env, tmp_path / "venv/bin/python")]


def test_the_first_that_can_do_all_targets_is_chosen() -> None:
    def toolchain(name: str, *archs: str) -> Toolchain:
        return Toolchain(Path(name), (6, 4, 0), "21", frozenset(archs), "given")

    both, one = toolchain("both", "gfx942", "gfx1100"), toolchain("one", "gfx942")
    assert choose([one, both], ["gfx942", "gfx1100"]) is both
    assert choose([one, both], ["gfx942"]) is one
    with pytest.raises(NoToolchain, match=r"one .* lacks gfx1100.*hipport toolchain install"):
        choose([one], ["gfx942", "gfx1100"])
    with pytest.raises(NoToolchain, match=r"no hipcc here.*hipport toolchain install"):
        choose([], ["gfx942"])


# --- The installer ----------------------------------------------------------------------------------------------------


def test_the_mirror_is_the_one_that_apt_is_set_up_with(
    tmp_path: Path,
) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://commented/debian bookworm main\n"
        "deb-src http://sources/debian bookworm main\n"
        "deb http://security/debian bookworm-security main\n"
        "deb [arch=amd64 signed-by=/keys/a.gpg] http://first/debian bookworm main contrib\n"
    )
    (parts / "other.list").write_text("deb https://packages.example/apt stable main\n")
    (parts / "debian.sources").write_text(
        "Types: deb\n# http://snapshot/debian\nURIs: http://second/debian\nSuites: bookworm bookworm-updates\n"
        "Components: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"
        "\n"
        "Types: deb\nURIs: http://third/debian\nSuites: trixie\nComponents: main\n"
    )
    found = list(install_toolchain.mirrors(tmp_path, "bookworm"))
    assert [mirror.uri for mirror in found] == ["http://first/debian", "http://second/debian"]
    assert found[0].signed_by == "/keys/a.gpg"
    assert found[1].signed_by.splitlines() == ["", " -----BEGIN PGP PUBLIC KEY BLOCK-----", " .", " abc"]


def test_an_installed_toolchain_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it went on to install")

    monkeypatch.setattr(install_toolchain, "install", never)
    hipcc = tmp_path / "hipport/toolchains/hipcc-7.0/bin/hipcc"
    hipcc.parent.mkdir(parents=True)
    hipcc.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for words in (["hipcc-7.0"], []):
        result = CliRunner().invoke(main, ["toolchain", "install", *words])
        assert (result.exit_code, result.stdout) == (0, f"hipcc-7.0 is installed: {hipcc}\n")
    listed = CliRunner().invoke(main, ["toolchain", "list"]).stdout.splitlines()
    assert listed[:2] == [f"hipcc-7.0  installed: {hipcc}", "hipcc-5.2  hipport toolchain install hipcc-5.2"]
    result = CliRunner().invoke(main, ["toolchain", "remove", "hipcc-7.0"])
    assert (result.exit_code, result.stdout) == (0, f"removed {hipcc.parents[1]}\n")
    assert [each.name for each in hipcc.parents[2].iterdir()] == [".hipcc-7.0.lock"]
    result = CliRunner().invoke(main, ["toolchain", "remove", "hipcc-7.0"])
    assert result.exit_code == 2 and "hipcc-7.0 is not installed" in result.stderr
    assert tuple(install_toolchain.RECIPES)[::-1] == TOOLCHAINS


def test_an_installed_hipcc_is_asked_once(tmp_path: Path, env: dict[str, str]) -> None:
    env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    hipcc = fake(tmp_path / "cache/hipport/toolchains/hipcc-7.0")
    calls = hipcc.with_name("calls")

    def is_asked(**more: str) -> bool:
        """Whether it is run to be found, which has the same result."""
        calls.unlink(missing_ok=True)
        (toolchain,) = (each for each in find({**env, **more}) if each.hipcc == hipcc)
        assert (toolchain.rocm, toolchain.archs) == ((6, 4), {"gfx942", "gfx1100"})
        return calls.exists()

    remember(hipcc, env)
    assert not is_asked()
    # `hipport doctor` asks, to say what works.
    assert hipcc in {each.hipcc for each in find(env, anew=True)} and calls.exists()
    # One that is named in the environment may depend on more of it, and another one has other answers.
    assert is_asked(ROCM_PATH=str(hipcc.parents[1]))
    hipcc.write_text(f"{hipcc.read_text()}\n")
    assert is_asked()
    remember(hipcc, env)
    assert not is_asked()
    # Without its libraries it cannot compile for any processor.
    shutil.rmtree(hipcc.with_name("bitcode"))
    assert is_asked()


def test_two_toolchains_are_installed_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env, names = {"XDG_CACHE_HOME": str(tmp_path)}, []

    def ensure(name: str) -> None:
        install_toolchain.ensure(name, env, "http://a.mirror/debian", print)

    def install(name: str, *_: object) -> None:
        names.append(name)
        fake(tmp_path / "hipport/toolchains" / name)
        if name == "hipcc-7.0":
            other = threading.Thread(target=ensure, args=["hipcc-5.2"], daemon=True)
            other.start()
            other.join(20)
            assert not other.is_alive(), "the second waits for the first"

    monkeypatch.setattr(install_toolchain, "install", install)
    ensure("hipcc-7.0")
    assert names == ["hipcc-7.0", "hipcc-5.2"]
    # Each was asked for its answers.
    assert len(list(tmp_path.glob("hipport/toolchains/*/answers.json"))) == 2


def test_a_failed_or_killed_installation_leaves_nothing_and_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / ".hipcc-7.0.partial" / "root" / "usr"
    left.mkdir(parents=True)

    def nothing(recipe: object, mirror: object, work: Path) -> list[Path]:
        assert not left.exists()
        raise install_toolchain.Impossible("no network")

    monkeypatch.setattr(install_toolchain, "download", nothing)
    with pytest.raises(install_toolchain.Impossible):
        install_toolchain.install("hipcc-7.0", install_toolchain.Mirror("http://nowhere", ""), tmp_path)
    assert not (tmp_path / "hipcc-7.0").exists()


@pytest.mark.parametrize(("lacks", "says"), [("apt-get", "there is no apt-get here"), ("", "not Debian")])
def test_an_impossible_installation_is_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lacks: str,
    says: str,
) -> None:
    monkeypatch.setattr(install_toolchain.shutil, "which", lambda name: None if name == lacks else f"/usr/bin/{name}")
    release = tmp_path / "os-release"
    release.write_text('ID=fedora\nVERSION_CODENAME=""\n')
    monkeypatch.setattr(install_toolchain, "OS_RELEASE", release)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["toolchain", "install"])
    assert result.exit_code == 2 and says in result.stderr


def test_a_cache_that_hipcc_could_not_run_from_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
    result = CliRunner().invoke(main, ["toolchain", "install"])
    assert result.exit_code == 2 and "my cache" in result.stderr


# --- With a real one --------------------------------------------------------------------------------------------------


def real(*archs: str) -> Toolchain:
    try:
        return choose(find(os.environ, Path(sys.executable)), archs)
    except NoToolchain as why:
        pytest.skip(f"NOT CHECKED with a real compiler: {why}")


@pytest.mark.toolchain
def test_a_real_hipcc_compiles_anywhere_and_several_times_at_once(tmp_path: Path) -> None:
    toolchain = real("gfx942", "gfx1100")
    assert toolchain.rocm >= (6, 0) and "gfx90a" in toolchain.archs
    headers = tmp_path / "some where" / "include"
    headers.mkdir(parents=True)
    (headers / "by.h").write_text("#define BY 2.0f\n")
    compilers = []
    for arch in ("gfx942", "gfx1100"):
        source = tmp_path / f"{arch}.hip"
        source.write_text(
            "#include <hip/hip_runtime.h>\n#include <vector>\n#include <by.h>\n"
            "__global__ void scale(float* x) { x[threadIdx.x] *= BY; }\n"
            "int main() { std::vector<float> x(64); scale<<<1, 64>>>(x.data()); return hipDeviceSynchronize(); }\n"
        )
        command = [toolchain.hipcc, "-c", f"--offload-arch={arch}", "-I", headers, source, "-o", tmp_path / f"{arch}.o"]
        env = toolchain.environment(os.environ)
        compilers.append(subprocess.Popen(command, env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    for compiler in compilers:
        said, _ = compiler.communicate()
        assert compiler.returncode == 0, said.decode()
    assert all((tmp_path / f"{arch}.o").stat().st_size > 1000 for arch in ("gfx942", "gfx1100"))


@pytest.mark.toolchain
def test_an_installed_hipcc_needs_no_rights_and_reads_its_own_headers(tmp_path: Path) -> None:
    installed = [each for each in find(os.environ) if each.found == "installed"]
    if not installed:
        pytest.skip("NOT CHECKED: hipport toolchain install has installed nothing here")
    for toolchain in installed:
        for path in (toolchain.hipcc, toolchain.root / "root/usr/bin"):
            assert not path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
        listing = tmp_path / "read"
        source = tmp_path / "a.hip"
        source.write_text("#include <hip/hip_runtime.h>\n#include <vector>\n#include <math.h>\n")
        command = [toolchain.hipcc, "--offload-arch=gfx90a", "--cuda-host-only", "-M", "-MF", listing, source]
        subprocess.run(command, env=toolchain.environment(os.environ), check=True, capture_output=True)
        read = [word for word in listing.read_text().split() if word.startswith("/")]
        assert len(read) > 100
        assert [name for name in read if not name.startswith((str(toolchain.root), str(source)))] == []


def test_asking_a_compiler_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """clang -### creates the temporary folders that it names."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    hipcc = tmp_path / "hipcc"
    hipcc.write_text(
        "#!/bin/sh\nmkdir ${TMPDIR:-/nowhere}/null-$$ || exit 1\n"
        "echo HIP version: 7.0.2\necho clang version 20.0\necho '\"oclc_isa_version_900.bc\"'\n"
    )
    hipcc.chmod(0o755)
    assert probe(hipcc, {"PATH": os.environ["PATH"]}) is not None
    assert not list((tmp_path / "tmp").iterdir())


def test_the_cache_lies_in_no_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder may be a tree with its own `.cache`."""
    assert cache({"XDG_CACHE_HOME": ".cache", "HOME": "/home/me"}) == Path("/home/me/.cache/hipport")
    assert cache({"XDG_CACHE_HOME": "/x", "HOME": "."}) == Path("/x/hipport")
    assert cache({"HOME": ""}).is_absolute() and cache({}).is_absolute()
    for home in (".", "home", "../me"):
        with pytest.raises(ValueError, match="not an absolute path"):
            cache({"HOME": home})

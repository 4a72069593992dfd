# SPDX-License-Identifier: Apache-2.0
"""The libraries of the CPU executor act like CUDA's and AMD's: groups, CUB, Thrust, random numbers, textures."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from endless import ENDLESS
from executor_names import not_refused
from further import further_rows
from hipport.executor import compile as compiling
from hipport.executor import compilers, run_time_compiler, thrust
from hipport.executor.compile import Builder, CompileOptions, program
from hipport.executor.messages import NotCompiled

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")

HERE = Path(__file__).parent / "simt_libraries"
ORDERS = ("forward", "reverse", "random:1", "random:2")
#: Lanes in a wavefront: as CUDA, as HIP.
CONFIGURATIONS = (("cuda", 32), ("hip", 32), ("hip", 64))
#: 32 lanes as CUDA and 64 as HIP cover both dialects and both numbers.
FURTHER = (("hip", 32),)
#: Libraries for the host, which do not depend on lanes; blas shows that HIP's names exist too.
NO_LANES = ("fft", "solver", "sparse", "sobol", "cubemap")
SELF_CHECKING = (
    "async blocks groups device numbered textures thrust blas fft graphs solver sparse sobol run_time cubemap".split()
)
OPTIONS = CompileOptions(env=dict(os.environ), optimize="-O0")


@cache
def built(name: str, dialect: str, *define: str) -> Path:
    with not_refused():
        return program([HERE / f"{name}.cu"], dialect, replace(OPTIONS, flags=define)).path  # type: ignore[arg-type]


def run(name: str, dialect: str, wave: int, order: str = "forward", *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [built(name, dialect), *arguments],
        env={**os.environ, "SIMT_WAVE": str(wave), "SIMT_ORDER": order, **run_time_compiler.variables(os.environ)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ENDLESS, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("dialect", "wave", "name"), [
    pytest.param(*each, name, id=f"{each[0]}-{each[1]}-{name}",
                 marks=[pytest.mark.further] if each in FURTHER or (each[0] == "hip" and name in NO_LANES) else [])
    for each in CONFIGURATIONS for name in SELF_CHECKING
])  # fmt: skip
def test_programs_that_check_themselves(dialect: str, wave: int, name: str) -> None:
    if name == "thrust" and thrust.find(os.environ, dialect).folder is None:  # type: ignore[arg-type]
        pytest.skip("there is no Thrust")
    # Compilers take most of the time of run-time compilation, which does not depend on orders.
    orders = {"blocks": ORDERS, "groups": ORDERS, "run_time": ORDERS[:1]}.get(name, ORDERS[::2])
    for order in orders:
        status, out, errors = run(name, dialect, wave, order)
        assert status == 0, (order, out, errors)
        counted = re.search(r"(\d+) checks, 0 failures", out)
        assert counted, (order, out)
        assert int(counted[1]) > 80
        # Handles, and memory of all kinds, are valid arguments of a kernel.
        assert "host-memory" not in errors, errors


def test_a_clang_takes_rocthrust_for_code_of_processors(tmp_path: Path) -> None:
    clang = next(compilers.of_toolchains(os.environ), None)
    compiler = compilers.probe(clang, os.environ) if clang else None
    if compiler is None or thrust.find(os.environ, "hip").folder is None:
        pytest.skip("NOT CHECKED: there is no clang of a ROCm, or no Thrust")
    source = tmp_path / "sorted.cu"
    source.write_text(
        "#include <thrust/sort.h>\n#include <thrust/device_vector.h>\nint main() { thrust::device_vector<int> v(2);"
        " v[0] = 7; v[1] = 3; thrust::sort(thrust::hip::par, v.begin(), v.end()); return v[0] - 3; }\n"
    )
    builder = Builder(replace(OPTIONS, compiler=compiler), "hip")
    command = [compiler.path, *builder.flags(), *builder.includes, "-include", "simt/prelude.h", "-fsyntax-only"]
    done = subprocess.run([*command, "-x", "c++", str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_groups_of_hipport() -> None:
    """hipport/groups.h gives CUDA's groups also on a wavefront of 64 lanes."""
    for wave in (32, 64):
        for order in ORDERS[::2]:
            done = subprocess.run(
                [built("groups", "hip", "-DHIPPORT_GROUPS")],
                env={**os.environ, "SIMT_WAVE": str(wave), "SIMT_ORDER": order},
                capture_output=True, text=True, timeout=ENDLESS, check=False,
            )  # fmt: skip
            assert done.returncode == 0, (wave, order, done.stdout, done.stderr)
            assert " checks, 0 failures" in done.stdout


def test_random_numbers_are_those_of_curand() -> None:
    """random.txt was recorded with cuRAND 10.3.10: its device functions compiled for the host, its host generators."""
    want = (HERE / "random.txt").read_text().splitlines()
    for dialect, wave in CONFIGURATIONS:
        status, out, errors = run("random", dialect, wave)
        assert status == 0, errors
        got = out.splitlines()
        assert len(got) == len(want)
        for line, recorded in zip(got, want, strict=True):
            same_numbers(line.split(), recorded.split())
        # rocRAND has other numbers, so a port gets a note about their source.
        assert ("random-numbers" in errors) == (dialect == "hip")


def test_sobols_vectors_are_those_of_joe_and_kuo() -> None:
    """SciPy has their table: the first vectors must equal its results, in its order of the points."""
    qmc = pytest.importorskip("scipy.stats").qmc
    status, out, errors = run("sobol", "cuda", 32, "forward", "points")
    assert status == 0, errors
    rows = [list(map(int, line.split())) for line in out.splitlines()]
    points = qmc.Sobol(len(rows), scramble=False, bits=32).random(64)
    for d, (*vectors, last) in enumerate(rows):
        x = 0
        for i in range(64):
            assert points[i][d] == x / 2**32, (d, i)
            x ^= vectors[(~i & (i + 1)).bit_length() - 1]
        assert last % 2 == 1


@pytest.mark.parametrize(("dialect", "wave"), further_rows(CONFIGURATIONS, FURTHER))
@pytest.mark.parametrize(
    ("what", "says"),
    [
        (
            "scrambled",
            "not-supported: scrambled direction vectors and scramble constants, which are a table of cuRAND's",
        ),
        ("dimensions", "not-supported: Sobol's sequences of 20000 dimensions: the executor has the first 53"),
        ("beyond", r"out-of-bounds: \w+Memcpy of 2560000 bytes"),
    ],
)
def test_missing_sobol_sequences(what: str, says: str, dialect: str, wave: int) -> None:
    status, _, errors = run("sobol", dialect, wave, "forward", what)
    assert status == 97 and re.search(says, errors), errors
    assert re.search(r"sobol\.cu:\d+", errors), errors


def same_numbers(got: list[str], want: list[str]) -> None:
    kind = "name"
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        if other in ("bits", "uniform", "normal"):
            kind = other
        if kind == "normal" and one != other:  # By another logarithm and another sine.
            assert float(one) == pytest.approx(float(other), rel=2e-6, abs=2e-6), want[:4]
        else:
            assert one == other, (kind, want[:4])


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
def test_undefined_behaviour_is_a_fault(dialect: str) -> None:
    faults = {
        "wrong_shape": ("block-shape", "blocks of 128 x 1 x 1 threads in one of 64 x 1 x 1"),
        "exited": ("exited-thread", "of 64 threads is reached by 40"),
        **({"short_warp": ("inactive-lane", "cub::WarpReduce")} if dialect == "hip" else {}),
        "not_cooperative": ("not-cooperative", "not cooperative"),
        "destroyed": ("invalid-handle", "was destroyed"),
        "other_type": ("texture-type", "fetches integers"),
    }
    for name, (kind, said) in faults.items():
        status, _, errors = run("misuse", dialect, 32, "forward", name)
        assert status == 97, name
        assert kind in errors, name
        assert said in errors, name
        # The line is the user's.
        assert "misuse.cu:" in errors, name


@pytest.mark.parametrize("order", ORDERS)
def test_a_part_of_a_warp_has_the_results_of_an_nvidia_gpu(order: str) -> None:
    status, out, errors = run("partial", "cuda", 32, order)
    assert (status, out) == (0, (HERE / "partial.txt").read_text())
    assert (
        "warning: inactive-lane: reduce is an operation of 32 threads, but thread 10 of them did not reach it" in errors
    )


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
def test_reads_from_a_missing_thread_are_0_and_reported(dialect: str) -> None:
    status, out, errors = run("misuse", dialect, 32, "forward", "short_tile")
    assert (status, out) == (0, "0\n")
    assert "warning: inactive-lane" in errors and "shuffles from thread 31" in errors and "misuse.cu:" in errors


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
def test_an_incomplete_graph_is_a_fault(dialect: str) -> None:
    status, _, errors = run("misuse", dialect, 32, "forward", "captured")
    assert status == 97
    assert "not-recorded" in errors
    assert "DeviceReduce" in errors


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
def test_memory_that_a_graph_has_freed_is_invalid(dialect: str) -> None:
    status, _, errors = run("graphs", dialect, 32, "forward", "uses_freed")
    assert status == 97, errors
    text = (HERE / "graphs.cu").read_text().splitlines()
    line = next(number for number, each in enumerate(text, 1) if each.endswith("// here: uses-freed"))
    assert f"launched at {HERE / 'graphs.cu'}:{line}" in errors, errors
    assert "out-of-bounds" in errors and "of released memory of 128 bytes" in errors, errors


@pytest.mark.parametrize(
    ("name", "what", "fails"),
    [
        ("async", "warps", [("hip", 64)]),
        ("async", "lanes", [("hip", 32), ("hip", 64)]),
        ("numbered", "warps", [("hip", 64)]),
    ],
)
def test_lanes_that_wait_for_others_of_their_wavefront_are_found(
    name: str, what: str, fails: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA's lanes continue independently; the port ends on AMD only if they are of several wavefronts."""
    for dialect, wave in CONFIGURATIONS:
        monkeypatch.setenv("SIMT_WATCHDOG", "0.3" if (dialect, wave) in fails else "10")
        for order in ORDERS[:3]:
            status, out, errors = run(name, dialect, wave, order, what)
            if (dialect, wave) in fails:
                assert (status, "no-progress" in errors) == (97, True), (wave, order, out)
                assert "__builtin_amdgcn_wave_barrier at" in errors
                assert "spin at" in errors
            else:
                assert status == 0, (dialect, wave, order, errors)


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
def test_an_index_outside_of_a_sparse_matrix_is_a_fault(dialect: str) -> None:
    status, _, errors = run("sparse", dialect, 32, "forward", "misuse")
    assert status == 97
    assert "out-of-bounds" in errors
    assert "number 1 of a sparse matrix of 2 x 2 is at row 1, column 5" in errors


def test_only_the_first_thread_has_the_sum() -> None:
    for dialect, wave in CONFIGURATIONS:
        _, out, _ = run("misuse", dialect, wave, "forward", "only_the_first")
        assert out == "64 -1 -1\n"


def test_storage_used_again_without_a_barrier_shows() -> None:
    for dialect, wave in CONFIGURATIONS:
        for order in ORDERS:
            _, out, _ = run("misuse", dialect, wave, order, "used_again")
            assert int(out.split()[0]) > 0, (dialect, wave, order)


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
def test_headers_have_no_warnings(dialect: str, tmp_path: Path) -> None:
    headers = ["cooperative_groups.h", "cub/cub.cuh", "hipcub/hipcub.hpp", "hip/hip_cooperative_groups.h"]
    headers += ["hiprand/hiprand_kernel.h"] if dialect == "hip" else ["curand_kernel.h"]
    source = tmp_path / "all.cpp"
    source.write_text("".join(f"#include <{header}>\n" for header in headers))
    compiler = Builder(OPTIONS, dialect).compiler  # type: ignore[arg-type]
    done = subprocess.run(
        [compiler.path, "-std=c++17", "-Wall", "-Wextra", *compiling.dialect_defines(dialect),  # type: ignore[arg-type]
         f"-I{compiling.INCLUDE}", "-include", "simt/core.h", "-fsyntax-only", source],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    own = [line for line in done.stderr.splitlines() if re.search(r"simt/(groups|together|cub_|random|textures)", line)]
    assert not [line for line in own if "warning" in line or "error" in line]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#include <rocprim/rocprim.hpp>\n", "does not have rocPRIM"),
        ("#include <rocrand/rocrand_kernel.h>\n", "does not have rocRAND"),
        ("#include <curand_mtgp32_kernel.h>\n", "does not have the generator MTGP32"),
        (
            "#include <cooperative_groups.h>\n__global__ void k() { cooperative_groups::this_cluster(); }\n",
            "no clusters of blocks",
        ),
        ("#include <curand_kernel.h>\n__global__ void k() { curandStateMtgp32 s; }\n", "curandStateMtgp32"),
    ],
)
def test_missing_functions_are_named(text: str, said: str, tmp_path: Path) -> None:
    source = tmp_path / "missing.cu"
    source.write_text(text + "int main() { return 0; }\n")
    with pytest.raises(NotCompiled) as raised:
        program([source], "cuda", OPTIONS)
    assert said in raised.value.said + str(raised.value)


def test_headers_include_the_same_headers_as_cudas(tmp_path: Path) -> None:
    source = tmp_path / "unasked.cu"
    text = "#include <cub/cub.cuh>\nvoid say() { std::cout << 1; }\n"
    if thrust.find(os.environ, "cuda").folder is not None:
        text += "#include <thrust/sort.h>\nvoid sorted(int* p) { thrust::sort(thrust::seq, p, p + 2); }\n"
    source.write_text(text + "int main() { return 0; }\n")
    program([source], "cuda", OPTIONS)


def test_the_error_for_a_missing_thrust_has_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if Path("/usr/include/thrust").exists() or Path("/usr/local/include/thrust").exists():
        pytest.skip("the compiler's own path has Thrust")
    monkeypatch.setattr(thrust, "find", lambda *_: thrust.Thrust(None, (), ""))
    source = tmp_path / "sort.cu"
    source.write_text("#include <thrust/sort.h>\nint main() { return 0; }\n")
    with pytest.raises(NotCompiled) as raised:
        program([source], "cuda", OPTIONS)
    assert "Thrust headers are needed: " in raised.value.said + str(raised.value)


def test_an_installed_thrust_is_found(tmp_path: Path) -> None:
    toolkit, rocm = tmp_path / "toolkit", tmp_path / "rocm"
    for folder in ("thrust", "cuda/std", "cuda/atomic", "cublas"):
        (toolkit / "include" / folder).mkdir(parents=True)
    (toolkit / "include/thrust/version.h").touch()
    env = {"HOME": str(tmp_path), "CUDA_HOME": str(toolkit), "PATH": ""}
    if not any(Path("/opt").glob("rocm*")):
        found = thrust.find(env, system=())
        assert found.folder == toolkit / "include"
        define, first, _, shown = found.flags
        assert define == "-DSIMT_LIBCUDACXX"
        assert [each.name for each in Path(shown).iterdir()] == ["thrust"]  # Nothing else of the toolkit.
        assert [each.name for each in (Path(first[2:]) / "cuda").iterdir()] == ["std"]
        assert thrust.find(env, system=()) == found
        assert thrust.find(env, "hip", system=()).folder is None

    (rocm / "include/thrust").mkdir(parents=True)
    (rocm / "include/thrust/version.h").touch()
    env["ROCM_PATH"] = str(rocm)
    for dialect in ("cuda", "hip"):
        found = thrust.find(env, dialect, system=())  # type: ignore[arg-type]
        assert found.folder == rocm / "include"
        assert (Path(found.flags[1]) / "thrust/version.h").exists()

    own = thrust.find(env, system=(toolkit / "include",))
    assert own.folder == toolkit / "include"
    assert own.flags == ()

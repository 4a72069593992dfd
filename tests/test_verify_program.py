# SPDX-License-Identifier: Apache-2.0
"""Programs run as CUDA and ported, and are compared by their output and exit status."""

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import verifying
from endless import ENDLESS
from further import further
from hipport import api
from hipport.cli import main
from hipport.core.edits import Edit, Span
from hipport.engine.outcomes import Ported
from hipport.executor.messages import NotCompiled
from hipport.reporting import verify_report
from hipport.toolchain import contained, toolchains
from hipport.verifying import execution, results
from hipport_passes.device import inline_ptx

SUMS = Path(__file__).parent / "verified/sums.cu"
ENV = {**os.environ}


def broken(old: bytes, new: bytes):  # type: ignore[no-untyped-def]
    """Return a function that makes a port in which `old` is `new`."""

    def port(paths: Sequence[Path]) -> Ported:
        ported = api.rewrite(paths)
        (source,) = [each for each in ported.project.sources if each.path.name == SUMS.name]
        start = source.text.index(old)
        changed = source.apply([Edit(Span(start, start + len(old)), new)])
        return replace(ported, project=ported.project.replacing({source.path: changed}))

    return port


def test_a_port_that_is_right() -> None:
    verified = verifying.program([SUMS], ["775"], env=ENV, port=lambda paths: api.rewrite(paths))
    assert verified.ok
    assert [str(each.configuration) for each in verified.ran] == [
        f"{side} {order}" for side in ("original@32", "ported@32", "ported@64") for order in execution.ORDERS
    ]
    # Parts that are not compared are reported.
    assert any("1 of 3 lines" in each for each in verified.not_checked)


def test_asynchronous_copies_are_immediate() -> None:
    """The program itself checks the copies."""
    copies = SUMS.with_name("async_copies.cu")
    verified = verifying.program(
        [copies], [], env=ENV, port=lambda paths: api.rewrite(paths), passes=(inline_ptx.PASS,)
    )  # fmt: skip
    assert verified.ok


def test_collective_instructions_follow_their_definitions() -> None:
    """The program itself checks the results; also if only some lanes reach them in an iteration of a loop."""
    collectives = SUMS.with_name("ptx_collectives.cu")
    verified = verifying.program(
        [collectives], [], env=ENV, port=lambda paths: api.rewrite(paths), passes=(inline_ptx.PASS,)
    )
    assert verified.ok and all(each.ok for each in verified.ran)


def test_changes_of_the_original_are_reported(tmp_path: Path) -> None:
    """If the executor runs another text than the user's, both sides may be wrong in the same way."""
    program = """#include <cstdio>
__device__ unsigned lane() { unsigned r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__device__ unsigned place() { unsigned r; asm volatile("mov.u32 %0, %%smid;" : "=r"(r)); return r; }
__global__ void k(unsigned *out) { out[threadIdx.x] = lane() + 0 * place(); }
int main() {
  unsigned *d, h[40];
  cudaMalloc(&d, sizeof h);
  k<<<1, 40>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  std::printf("%u %u\\n", h[31], h[39]);
}
"""
    (tmp_path / "main.cu").write_text(program)
    verified = verifying.program(
        [tmp_path / "main.cu"],
        env=ENV,
        port=lambda paths: api.rewrite(paths),
        passes=(inline_ptx.PASS,),
        orders=["forward"],
    )
    assert verified.ok
    said = [each for each in verified.not_checked if "original as" in each or "original and port" in each]
    assert said[0].endswith("2 places changed as in the port (inline_ptx 2)")
    (assumed,) = said[1:]
    assert "main.cu:3: " in assumed and "assumes" in assumed
    assert [each.line for each in verified.assumed] == [3] and not verified.left


def test_open_findings_and_assumptions_are_reported(tmp_path: Path) -> None:
    """A difference may come from an assumption; and the executor may run functions that HIP lacks."""
    (tmp_path / "main.cu").write_text(
        "#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n__device__ __nv_fp8_e4m3 a;\n"
        "__device__ float f(float x) { return __float2bfloat16_ru(x); }\n"
    )
    findings = results.for_a_person(api.rewrite([tmp_path / "main.cu"]))
    good = results.Ran(results.Configuration("ported", 32), ())
    for ran, differs in (((good,), False), ((), True)):
        verified = results.Verified(tmp_path, "main", ran, (), for_a_person=findings)
        text = verify_report.as_text(verified)
        assert "left to a person in the port:\n  main.cu:4: __float2bfloat16_ru: HIP has no such" in text
        assert ("assumed in the port:\n  main.cu:3: __nv_fp8_e4m3 → " in text) is differs
        values = verify_report.as_values(verified)
        assert [[each["line"] for each in values[kind]] for kind in ("left_to_a_person", "assumed")] == [[4], [3]]


def test_cudas_functions_follow_their_documentation() -> None:
    """The program itself reports errors: device functions, vectors in memory, votes of a block, groups."""
    verified = verifying.program(
        [SUMS.with_name("stand_ins.cu")], [], env=ENV, port=lambda paths: api.rewrite(paths), passes=(inline_ptx.PASS,)
    )
    assert verified.ok and all(each.ok for each in verified.ran)


def test_sines_of_great_angles_are_near_the_sine() -> None:
    verified = verifying.program(
        [SUMS.with_name("great_angles.cu")], [], env=ENV, port=lambda paths: api.rewrite(paths)
    )
    assert verified.ok and not verified.without_reference


def test_functions_of_both_sides_take_the_side_that_they_are_called_on() -> None:
    """The program itself reports errors."""
    verified = verifying.program([SUMS.with_name("sides.cu")], env=ENV, port=lambda paths: api.rewrite(paths))
    assert verified.ok and all(each.ok for each in verified.ran)


def test_a_port_that_does_not_compile_names_the_work_for_a_person(tmp_path: Path) -> None:
    program = """__global__ void k() {}
int main() {
  cudaLaunchConfig_t how{};
  how.gridDim = how.blockDim = dim3(1);
  return cudaLaunchKernelEx(&how, k) != cudaSuccess;
}
"""
    (tmp_path / "main.cu").write_text(program)
    done = CliRunner().invoke(main, ["verify", str(tmp_path / "main.cu"), "--order", "forward"])
    assert done.exit_code == 2
    said = [line for line in done.stderr.splitlines() if "left to a person" in line]
    assert [line.partition(" (hip")[0].rpartition("main.cu:")[2] for line in said] == [
        "3: cudaLaunchConfig_t",
        "5: cudaLaunchKernelEx",
    ]
    assert done.stderr.splitlines()[-1] == "hipport: the executor could not compile the port: nothing was run"


def test_a_side_of_the_host_that_is_not_taken_is_not_checked(tmp_path: Path) -> None:
    sides = "#ifdef __CUDA_ARCH__\n#define SIDE 1\n#else\n#define SIDE 2\n#endif\n"
    (tmp_path / "main.cu").write_text(f'#include <cstdio>\n{sides}int main() {{ std::printf("%d\\n", SIDE); }}\n')
    verified = verifying.program([tmp_path / "main.cu"], env=ENV, orders=["forward"])
    (said,) = [each for each in verified.not_checked if "side" in each]
    assert said == "the host's side of conditions on __CUDA_ARCH__, where the device's side is used: main.cu:2"


def test_a_program_may_have_the_name_of_pytorchs_warp_size(tmp_path: Path) -> None:
    program = """#include <cstdio>
#define C10_WARP_SIZE 32
__global__ void k(int *out) {
  __shared__ int sums[C10_WARP_SIZE];
  sums[threadIdx.x % C10_WARP_SIZE] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = sums[C10_WARP_SIZE - 1 - threadIdx.x];
}
int main() {
  int *d, h[32];
  cudaMalloc(&d, sizeof h);
  k<<<1, 32>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  std::printf("%d %d\\n", h[0], h[31]);
  return h[0] != 31 || h[31] != 0;
}
"""
    (tmp_path / "main.cu").write_text(program)
    verified = verifying.program(
        [tmp_path / "main.cu"], env=ENV, port=lambda paths: api.rewrite(paths), orders=("forward",)
    )
    assert verified.ok and all(each.ok for each in verified.ran)


def test_atomic_objects_mean_the_same_when_ported() -> None:
    verified = verifying.program(
        [SUMS.with_name("atomic_objects.cu")], env=ENV, port=lambda paths: api.rewrite(paths), orders=("forward",)
    )
    assert verified.ok and all(each.ok for each in verified.ran)


def test_includes_of_a_program_are_ported_with_it(tmp_path: Path) -> None:
    main = tmp_path / "app/main.cu"
    files = {
        "app/Makefile": "main: main.cu\n\tnvcc -I../inc -o main main.cu\n",
        "app/main.cu": '#include "../common/check.h"\n#include <lane.cuh>\n#include <cnpy.h>\n'
        "__global__ void k(unsigned* o) { o[lane()] = __ballot_sync(~0u, cnpy(lane()) & 1); }\n"
        "int main() { unsigned* o; CHECK(cudaMallocManaged(&o, 128)); k<<<1, 32>>>(o);\n"
        "  CHECK(cudaDeviceSynchronize()); return o[7] != 0xaaaaaaaa; }\n",
        "common/check.h": "#include <cuda_runtime.h>\n#include <cstdlib>\n#define CHECK(e) if (e) std::abort()\n"
        "inline cudaError_t last() { return cudaGetLastError(); }\n",
        "inc/lane.cuh": "__device__ inline unsigned lane() { unsigned l; asm("
        '"mov.u32 %0, %%laneid;"'
        ' : "=r"(l)); return l; }\n',
        "inc/cnpy.h": "__device__ inline unsigned cnpy(unsigned x) { return x; }\n",
        "elsewhere/data.txt": "",
    }
    for name, text in files.items():
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    ported = []

    def port(paths: Sequence[Path]) -> Ported:
        ported.extend(sorted(path.name for path in paths))
        return api.rewrite(paths)

    verified = verifying.program(
        [main], env=ENV, port=port, orders=("forward",), passes=(inline_ptx.PASS,), vendored={"cnpy": ("cnpy.h",)}
    )
    assert verified.ok
    assert ported == ["check.h", "lane.cuh", "main.cu"]


def test_openmp_is_enabled_without_a_build_script(tmp_path: Path) -> None:
    main = tmp_path / "main.cu"
    main.write_text(
        "#include <cstdio>\n#include <omp.h>\n"
        "__global__ void k(int* p) { p[threadIdx.x] = threadIdx.x; }\n"
        "int main() {\n  int* d; int h[128]; cudaMalloc(&d, sizeof(h));\n"
        "  int threads = 0, sum = 0;\n"
        "#pragma omp parallel num_threads(4) reduction(+ : threads)\n"
        "  { threads += 1; k<<<1, 32>>>(d + 32 * omp_get_thread_num()); cudaDeviceSynchronize(); }\n"
        "  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);\n"
        "#pragma omp parallel for reduction(+ : sum)\n"
        "  for (int i = 0; i < 128; ++i) sum += h[i];\n"
        '  printf("%d %d\\n", threads, sum);\n  return threads != 4 || sum != 4 * 496;\n}\n'
    )
    verified = verifying.program([main], env=ENV, port=api.rewrite, orders=("forward",))
    assert verified.ok, verified


@pytest.mark.parametrize("folder", ["include", "inc"])
def test_sources_find_headers_in_the_folder_beside_theirs(tmp_path: Path, folder: str) -> None:
    """If the sources of a program are named one by one, its build script is not read."""
    files = {
        "src/lanes.cu": '#include "lanes.h"\n#include "lane.cuh"\n'
        "__global__ void k(unsigned* o) { o[lane()] = __ballot_sync(~0u, lane() & 1); }\n"
        "void lanes(unsigned* o) { k<<<1, 32>>>(o); cudaDeviceSynchronize(); }\n",
        "src/main.cpp": '#include <cuda_runtime.h>\n#include "lanes.h"\n'
        "int main() { unsigned* o; cudaMallocManaged((void**)&o, 128, 1); lanes(o); return o[7] != 0xaaaaaaaa; }\n",
        f"{folder}/lanes.h": "void lanes(unsigned* o);\n",
        f"{folder}/lane.cuh": "__device__ inline unsigned lane() { return threadIdx.x % warpSize; }\n",
    }
    for name, text in files.items():
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    sources = [tmp_path / "src/lanes.cu", tmp_path / "src/main.cpp"]
    verified = verifying.program(sources, env=ENV, port=lambda paths: api.rewrite(paths), orders=("forward",))
    assert verified.ok and len(verified.ran) == 3


def test_a_port_sees_the_programs_own_branch_for_hip(tmp_path: Path) -> None:
    """And the original sees the one for CUDA: a difference between the two is found."""
    program = """#ifdef USE_HIP
#include <hip/hip_runtime.h>
#define gpuMalloc hipMalloc
#define gpuDeviceSynchronize hipDeviceSynchronize
#define START 1
#else
#include <cuda_runtime.h>
#define gpuMalloc cudaMalloc
#define gpuDeviceSynchronize cudaDeviceSynchronize
#define START 1
#endif
#include <cstdio>
__global__ void k(int *p) { p[threadIdx.x] = threadIdx.x + START; }
int main() {
  int *p, sum = 0;
  if (gpuMalloc((void **)&p, 256)) return 1;
  k<<<1, 64>>>(p);
  if (gpuDeviceSynchronize()) return 2;
  for (int i = 0; i < 64; ++i) sum += p[i];
  printf("%d\\n", sum);
}
"""
    for text, ok in ((program, True), (program.replace("START 1", "START 2", 1), False)):
        path = tmp_path / "main.cu"
        path.write_text(text)
        verified = verifying.program([path], [], env=ENV, port=lambda paths: api.rewrite(paths))
        assert verified.ok is ok
        assert all(each.ok is (ok or "original" in str(each.configuration)) for each in verified.ran)


def test_each_unit_has_device_variables_of_its_own(tmp_path: Path) -> None:
    """Without relocatable device code, as CUDA's documentation and clang's for HIP state."""
    first = """#include <cstdio>
__constant__ int weights[2];
__device__ int start = 5;
__global__ void first(int *out) { out[threadIdx.x] = weights[threadIdx.x] + start; }
void run(int *out);
int main() {
  int w[2] = {10, 20}, one[2], other[2], *d;
  cudaMemcpyToSymbol(weights, w, sizeof w);
  cudaMalloc(&d, 8);
  run(d);
  cudaMemcpy(other, d, 8, cudaMemcpyDeviceToHost);
  first<<<1, 2>>>(d);
  cudaMemcpy(one, d, 8, cudaMemcpyDeviceToHost);
  return one[0] != 15 || one[1] != 25 || other[0] != 107 || other[1] != 207;
}
"""
    second = """__constant__ int weights[2];
__device__ int start = 7;
__global__ void second(int *out) { out[threadIdx.x] = weights[threadIdx.x] + start; }
void run(int *out) {
  int w[2] = {100, 200};
  cudaMemcpyToSymbol(weights, w, sizeof w);
  second<<<1, 2>>>(out);
}
"""
    (tmp_path / "a.cu").write_text(first)
    (tmp_path / "b.cu").write_text(second)
    assert verifying.program([tmp_path], [], env=ENV, port=lambda paths: api.rewrite(paths)).ok
    # Two programs are no units of one.
    (tmp_path / "b.cu").write_text(second + "int main() {}\n")
    with pytest.raises(NotCompiled, match="several programs"):
        verifying.program([tmp_path], [], env=ENV, port=lambda paths: api.rewrite(paths))


def test_a_folder_whose_makefile_compiles_sources_of_another(tmp_path: Path) -> None:
    main = '#include "lanes.h"\n'
    main += "__global__ void k(unsigned* o) { o[threadIdx.x] = __ballot_sync(~0u, threadIdx.x & 1); }\n"
    main += "int main() { unsigned* o; cudaMallocManaged(&o, 4 * LIMIT); k<<<1, LIMIT>>>(o);\n"
    main += "  cudaDeviceSynchronize(); return o[LIMIT - 1] != 0xaaaaaaaa; }\n"
    files = {
        "shared/src/main.cu": main,
        "shared/src/lanes.h": "#define LIMIT (COUNT * 2)\n",
        "app-cuda/Makefile": "main: ../shared/src/main.cu\n\tnvcc -DCOUNT=32 -o main ../shared/src/main.cu\n",
        "other/main.cu": "int main() { return 1; }\n",
    }
    for name, text in files.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    verified = verifying.program(
        [tmp_path / "app-cuda"], env=ENV, port=lambda paths: api.rewrite(paths), orders=("forward",)
    )
    assert verified.ok and all(each.ok for each in verified.ran)


@pytest.mark.parametrize(
    ("old", "new", "lanes"),
    [
        (b"hipport::ballot_sync(0xffffffff, ", b"(unsigned)__ballot(", {64}),
        (b"lanes > 0", b"lanes > 1", {32, 64}),
        (b"total += result[2 * w];", b"total += result[2 * w] * 1.01;", {32, 64}),
    ],
    ids=["ballots of the whole wavefront", "a step is missing", "only what is printed is wrong"],
)
def test_a_port_that_is_wrong(old: bytes, new: bytes, lanes: set[int]) -> None:
    verified = verifying.program([SUMS], ["775"], env=ENV, port=broken(old, new), orders=("forward",))
    assert not verified.ok
    assert {each.configuration.lanes for each in verified.ran if not each.ok} == lanes
    assert {each.configuration.side for each in verified.ran if not each.ok} == {"ported"}
    # The first responsible kernel is named; the host's code is not a kernel.
    line = 1 + next(i for i, text in enumerate(SUMS.read_text().splitlines()) if "sums<<<" in text)
    kernels = [(first.kernel, str(first.path), first.line) for first in verified.first_differences]
    assert kernels == ([] if b"total" in old else [("sums", SUMS.name, line)])


def test_a_fault_of_the_port_is_named_at_the_line_of_the_user() -> None:
    port = broken(b"if (lane == 0) {", b"if (lane == 0) { out[1000000] = 0;")
    verified = verifying.program([SUMS], ["775"], env=ENV, port=port, orders=("forward",))
    outcomes = [outcome for ran in verified.ran for outcome in ran.outcomes]
    assert [outcome.status for outcome in outcomes] == ["ok", "fault", "fault"]
    (fault,) = outcomes[1].faults
    line = SUMS.read_text().splitlines().index("  if (lane == 0) {") + 1
    assert (fault.kind, str(fault.path), fault.line, fault.kernel) == ("out-of-bounds", SUMS.name, line, "sums")


def test_mutation_score() -> None:
    score = verifying.program_mutation_score([SUMS], ["775"], env=ENV, port=lambda paths: api.rewrite(paths), most=2)
    first, *others = score.mutants
    assert (first.what, len(first.noticed)) == ("the original, with 64 lanes", 1)
    assert others
    assert not score.weak


def test_the_command() -> None:
    done = CliRunner().invoke(main, ["verify", str(SUMS), "--order", "forward", "--format", "json", "--", "100"])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert answer["ok"]
    assert [each["name"] for each in answer["configurations"]] == [
        "original@32 forward", "ported@32 forward", "ported@64 forward",
    ]  # fmt: skip


def test_output_about_the_device_is_not_compared(tmp_path: Path) -> None:
    main = tmp_path / "query.cu"
    text = (
        "#include <cstdio>\nint main(int, char** argv) { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);\n"
        'printf("%s on %s, sm_%d%d, %zu bytes shared\\n", argv[0], p.name, p.major, p.minor, p.sharedMemPerBlock);\n'
        'printf("warp size: %d\\nlanes: %d\\n", p.warpSize, LANES); return 0; }\n'
    )
    answers = {}
    for lanes in ("32", "p.warpSize"):
        main.write_text(text.replace("LANES", lanes))
        verified = verifying.program([main], env=ENV, port=lambda paths: api.rewrite(paths), orders=("forward",))
        answers[lanes] = [each.ok for each in verified.ran]
        assert any("1 of 3 lines" in each and each.endswith(": 1") for each in verified.not_checked)
    # Output that is not marked as about the device is compared.
    assert answers == {"32": [True, True, True], "p.warpSize": [True, True, False]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int main() { return nowhere; }\n", "bad.cu:1: "),
        ("__global__ void k() {}\n", "nothing here defines main"),
        (None, "there is no "),
    ],
)
def test_code_that_cannot_be_run_is_an_error(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "bad.cu"
    if text is not None:
        file.write_text(text)
    done = CliRunner().invoke(main, ["verify", str(file)])
    assert done.exit_code == 2
    assert said in done.output


WAYS = SUMS.with_name("ways.cu")
WRONG, RIGHT = range(38), range(18)


@functools.cache
def port_of_ways() -> Ported:
    return api.rewrite([WAYS])


def way(kind: str, number: int) -> results.Verified:
    orders = ("forward", "reverse")
    return verifying.program([WAYS], [kind, str(number)], env=ENV, port=lambda _paths: port_of_ways(), orders=orders)


@pytest.mark.parametrize("number", further(WRONG, set(WRONG) - {0, 6, 13, 20, 23, 30, 33}))
def test_a_port_that_is_wrong_in_one_of_many_ways_is_not_verified(number: int) -> None:
    verified = way("wrong", number)
    assert not verified.ok
    # The port's behaviour shows it, not chance; the original equals itself.
    for each in verified.ran:
        assert each.ok is (each.configuration.side == "original"), verify_report.as_text(verified)


@pytest.mark.parametrize("number", further(RIGHT, set(RIGHT) - {2, 3, 4, 9}))
def test_a_harmless_difference_is_verified(number: int) -> None:
    verified = way("right", number)
    assert verified.ok, verify_report.as_text(verified)


def test_other_values_have_their_own_status() -> None:
    """Other values end with a status of their own, on both sides."""
    for kind, numbers in (("wrong", WRONG), ("right", RIGHT)):
        assert WAYS.read_text().count("case", *_part(kind)) == len(numbers)


def _part(kind: str) -> tuple[int, int]:
    text = WAYS.read_text()
    start = text.index(f"int {kind}(int way)")
    return start, text.index("return 9;", start)


OVERRUN = """#include <cstdio>
__global__ void last(int* out, int n) {
  int kept[8];
  for (int i = 0; i < 8; ++i) kept[i] = i;
  out[threadIdx.x] = kept[(threadIdx.x + n) % 8LIMIT];
}
int main() {
  int *out, sum = 0;
  cudaMallocManaged(&out, 32 * sizeof(int));
  last<<<1, 32>>>(out, 1);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  for (int i = 0; i < 32; ++i) sum += out[i];
  printf("%d\\n", sum);
}
"""


FAILING = """#include <cstdio>
__global__ void reversed(int* out) {
  __shared__ SPACE int some[64];
  some[threadIdx.x] = threadIdx.x;
  BARRIER
  out[threadIdx.x] = some[63 - threadIdx.x];
}
int main() {
  int *d, h[64];
  cudaMalloc(&d, sizeof h);
  reversed<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  return h[0] != EXPECTED;
}
"""


@pytest.mark.parametrize(
    ("space", "barrier", "expected", "kinds"),
    [
        ("", "", 63, {"race", "uninitialized"}),
        ("", "__syncthreads();", 62, set()),
        ("volatile", "__syncthreads();", 62, set()),
    ],
)
def test_an_original_that_fails_its_own_check_is_looked_at_for_races(
    tmp_path: Path, space: str, barrier: str, expected: int, kinds: set[str]
) -> None:
    text = FAILING.replace("SPACE", space).replace("BARRIER", barrier).replace("EXPECTED", str(expected))
    (tmp_path / "main.cu").write_text(text)
    verified = verifying.program([tmp_path / "main.cu"], env=ENV, port=None, orders=["reverse", "forward"])
    found = {fault.kind: fault for each in verified.ran for outcome in each.outcomes for fault in outcome.faults}
    assert not verified.ok and set(found) == kinds
    assert all((each.kernel, each.line in (4, 6)) == ("reversed", True) for each in found.values())


@pytest.mark.parametrize("kind", ["address", "bounds"])
def test_sanitizers(tmp_path: Path, kind: str) -> None:
    """The address sanitizer's memory map is larger than a run's usual limit of address space."""
    source = tmp_path / "overrun.cu"
    command = ["verify", str(source), "--order", "forward", "--sanitize", kind, "--format", "json"]
    source.write_text(OVERRUN.replace("LIMIT", ""))
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, json.loads(result.stdout)["ok"]) == (0, True), result.output
    source.write_text(OVERRUN.replace("LIMIT", " + 8"))
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    for configuration in json.loads(result.stdout)["configurations"]:
        ((fault,),) = [each["faults"] for each in configuration["cases"]]
        assert (fault["path"], fault["line"]) == ("overrun.cu", 5)
        assert fault["rule"] == ("simt/address" if kind == "address" else "simt/undefined")


def _is_ours(exe: Path) -> bool:
    """Return whether a process runs a program of the executor; a compiler may have ended meanwhile."""
    try:
        return exe.readlink().is_relative_to(toolchains.cache(os.environ))
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_nothing_goes_on_when_hipport_is_ended(tmp_path: Path) -> None:
    source = tmp_path / "endless.cu"
    source.write_text(
        "__global__ void k(float* out) { for (long i = 0; i < 1L << 50; ++i) *out = *out * 1.5f + threadIdx.x; }\n"
        "int main() { float* out; cudaMalloc(&out, 4); k<<<1, 1>>>(out); cudaDeviceSynchronize(); }\n"
    )
    command = [sys.executable, "-m", "hipport", "verify", str(source), "--original-only", "--order", "forward"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        running: list[Path] = []
        end = time.monotonic() + ENDLESS
        while not running and time.monotonic() < end:
            time.sleep(0.2)
            ran = [Path("/proc", str(pid)) for pid in contained._below(process.pid)]
            running = [each for each in ran if _is_ours(each / "exe")]
        assert running
        process.terminate()
        process.wait(ENDLESS)
    end = time.monotonic() + ENDLESS
    while any((each / "exe").exists() for each in running) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any((each / "exe").exists() for each in running)

# SPDX-License-Identifier: Apache-2.0
"""Kernels of generated_values, judged by hipport, by LLVM's uniformity analysis, and by executing the port.

By hand, for any number; contradictions are reduced and printed:

    python tests/value_judges.py llvm FIRST_SEED BATCHES [KERNELS]
    python tests/value_judges.py run FIRST_SEED BATCHES [KERNELS]
    python tests/value_judges.py gpu FIRST_SEED BATCHES [KERNELS]

`gpu` needs nvcc and an NVIDIA GPU, which says what the originals give; `run` takes the executor's word for it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from endless import ENDLESS
from generated_values import COMMON, made
from hipport import api
from hipport.analysis.device_program import Proofs
from hipport.analysis.functions import called_name, nodes
from hipport.analysis.kernels import Kernels
from hipport.analysis.uniform_values import BLOCK, WARP, WAVEFRONT
from hipport.executor import compile as compiling
from hipport.executor.compile import CompileOptions
from hipport.executor.messages import NotCompiled
from hipport.program.project import Project
from hipport.syntax.cuda import Cuda
from kernel_parts import Form, Made
from llvm_uniformity import Judge, judge

Place = tuple[int, int]
#: The number of kernels in one file for hipport.
_TOGETHER = 10

#: CUDA's names for clang alone, without HIP's headers; LLVM knows that shuffles and votes are uniform.
_FOR_LLVM = """#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
struct Coordinates_ { unsigned x, y, z; };
#define ASKED_(f_) Coordinates_{__builtin_amdgcn_##f_##_x(), __builtin_amdgcn_##f_##_y(), __builtin_amdgcn_##f_##_z()}
__device__ Coordinates_ of_64_(Coordinates_ c) { return Coordinates_{c.x & 63, c.y, c.z}; }
#define threadIdx (of_64_(ASKED_(workitem_id)))
#define blockIdx (ASKED_(workgroup_id))
#define blockDim (Coordinates_{64, 1, 1})
__device__ int min(int a, int b) { return a < b ? a : b; }
__device__ int max(int a, int b) { return a > b ? a : b; }
__device__ int abs(int a) { return a < 0 ? -a : a; }
#define __syncthreads() __builtin_amdgcn_s_barrier()
__device__ int atomicMax(int *p, int v) { return __atomic_fetch_max(p, v, __ATOMIC_RELAXED); }
__device__ int atomicOr(int *p, int v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }
__device__ int atomicExch(int *p, int v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }
#define __shfl_sync(m_, v_, l_) __builtin_amdgcn_readlane(v_, __builtin_amdgcn_readfirstlane(l_))
#define __ballot_sync(m_, p_) (unsigned)__builtin_amdgcn_ballot_w64((bool)(p_))
#define __any_sync(m_, p_) (__builtin_amdgcn_ballot_w64((bool)(p_)) != 0)
#define __syncthreads_or(p_) (__builtin_amdgcn_ballot_w64((bool)(p_)) != 0)
#define __syncthreads_count(p_) __builtin_popcountll(__builtin_amdgcn_ballot_w64((bool)(p_)))
"""
_PROBE = "__device__ void probe(int, int);\n"
# Lanes that a GPU has not made converge, as behind a recursive call, meet in the barriers here at different times.
_OBSERVE = """__device__ void observe(int *seen, int number, int value) {
  __shared__ int first;
#ifdef ON_A_GPU_
  if (__activemask() != ~0u) atomicOr(&seen[number], 4);
#endif
  if (value != __shfl_sync(~0u, value, 0)) atomicOr(&seen[number], 1);
  __syncthreads();
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) first = value;
  __syncthreads();
  if (value != first) atomicOr(&seen[number], 2);
  __syncthreads();
}
"""
_MAIN = """
int main(int argc, char **argv) {
  int *in, *out, *seen;
  cudaMallocManaged(&in, 64 * 4);
  cudaMallocManaged(&out, 128 * 4);
  cudaMallocManaged(&seen, 99 * 4);
  for (int i = 0; i < 64; ++i) in[i] = i * 7 %% 23 %% (i %% 5 + 2);
  for (int i = atoi(argv[1]); i < %d; ++i) {
    for (int k = 0; k < 99; ++k) seen[k] = 0;
    switch (i) {
%s
    }
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    printf("%%d", i);
    unsigned sum = 0;
    for (int k = 0; k < 128; ++k) sum = sum * 16777619u ^ out[k];
    printf(" %%u", sum);
    for (int k = 0; k < 99; ++k) if (seen[k]) printf(" %%d:%%d", k, seen[k]);
    printf("\\n");
    fflush(stdout);
  }
}
"""


@dataclass(frozen=True)
class Answer:
    """The number of neighbouring threads for which hipport calls a value uniform: by the new analysis alone, and by
    both.
    """

    alone: int
    both: int
    why: str


def asked_of_hipport(kernels: Mapping[int, Made], both: bool = True, *, shaped: bool = False) -> dict[Place, Answer]:
    """Return hipport's answers by kernel and probe; `shaped`: blocks have the kernels' own shapes.

    LLVM assumes one row of 64 threads.
    """
    every = list(kernels.items())
    found: dict[Place, Answer] = {}
    # Large files take more than proportionally long.
    for i in range(0, len(every), _TOGETHER):
        found |= _answers(dict(every[i : i + _TOGETHER]), both, shaped)
    return found


def _answers(kernels: Mapping[int, Made], both: bool, shaped: bool) -> dict[Place, Answer]:
    text = _PROBE + COMMON + "".join(each.text(number, Form.ASKED) for number, each in kernels.items())
    text += "void launch(int *in, int *out, int n, int m) {\n"
    shapes = {i: each.shape if shaped else "64" for i, each in kernels.items()}
    text += "".join(f"  q{i}_::k{i}<<<2, {shape}>>>(in, out, n, m);\n" for i, shape in shapes.items()) + "}\n"
    project = Project((Cuda(PurePosixPath("a.cu"), text.encode()),))
    known = Kernels.of(project)
    (source,) = project.sources
    assert isinstance(source, Cuda)
    proofs = Proofs(known, source)
    found: dict[Place, Answer] = {}
    for function in known.functions(source):
        if not function.kernel:
            continue
        kernel = int(function.name[1:])
        for node in nodes(function.body):
            if node.type != "call_expression" or called_name(node, source.code) != b"probe":
                continue
            given = node.child_by_field_name("arguments")
            assert given is not None
            number, value = given.named_children
            alone = proofs.value(function, value)
            level = known.uniformity(function, value) if both else alone.level
            why = alone.why.text if alone.why is not None else ""
            found[kernel, int(function.text(number))] = Answer(alone.level, level, why)
    return found


def asked_of_llvm(llvm: Judge, kernels: Mapping[int, Made], folder: Path) -> dict[Place, bool | None]:
    """Return whether values vary according to LLVM, by kernel and probe; None if it cannot know.

    Kernels that do not compile are left out.
    """
    kernels = dict(kernels)
    while kernels:
        lines = [_FOR_LLVM + _PROBE + COMMON]
        starts = [(lines[0].count("\n") + 1, -1)]
        for number, each in kernels.items():
            lines.append(each.text(number, Form.ASKED))
            starts.append((starts[-1][0] + lines[-2].count("\n"), number) if len(lines) > 2 else (starts[0][0], number))
        path = folder / "kernels.hip"
        path.write_text("".join(lines))
        flags = ["-nogpuinc", "-nogpulib", "-ferror-limit=0"]
        result, errors = llvm.compiled(path, flags, llvm.clang)
        if not errors:
            break
        wrong = set()
        for match in re.finditer(r"kernels\.hip:(\d+):\d+: (?:fatal )?error", errors):
            wrong.add(max((start, number) for start, number in starts if start <= int(match[1]))[1])
        wrong &= kernels.keys()
        if not wrong:
            raise AssertionError(errors[:2000])
        kernels = {number: each for number, each in kernels.items() if number not in wrong}
    else:
        return {}
    found: dict[Place, bool | None] = {}
    for said in llvm.said(result):
        named = re.search(r"q(\d+)_\d+k\1", said.function)
        if named is not None and said.probe is not None:
            key = int(named[1]), said.probe
            if said.varies and said.hidden:
                found.setdefault(key, None)
            else:
                found[key] = bool(found.get(key)) or said.varies
    return found


@dataclass(frozen=True)
class Ran:
    """The results of executed kernels, by their numbers.

    `differ`: ports with other results without a finding; `said`: those with other results for which hipport has a
    finding for a person; `unfit`: originals that do not end, or depend on the order of threads; `seen`: values that
    differed between lanes of a warp (1) or threads of a block (2), or where some lanes came alone (4), by kernel and
    probe.
    """

    right: tuple[int, ...]
    differ: Mapping[int, str]
    said: tuple[int, ...]
    unfit: Mapping[int, str]
    seen: Mapping[Place, int]
    asked: int


#: What an original, or a port, gives for each kernel, and else why not.
Printed = Sequence[tuple[str, str]]


def run(kernels: Mapping[int, Made], folder: Path, *, gpu: bool = False) -> Ran:
    """Port the kernels, and run originals and ports; `gpu`: the originals on an NVIDIA GPU."""
    source = folder / "kernels.cu"
    numbers = list(kernels)
    lines = ["#include <cstdio>\n#include <cstdlib>\n" + COMMON + _OBSERVE]
    starts = []
    for i, number in enumerate(numbers):
        starts.append(sum(map(_newlines, lines)) + 1)
        lines.append(kernels[number].text(i, Form.RUN))
    ends = [*starts[1:], sum(map(_newlines, lines)) + 1]
    cases = "\n".join(
        f"    case {i}: q{i}_::k{i}<<<2, {kernels[number].shape}>>>(in, out, 7, 12, seen); break;"
        for i, number in enumerate(numbers)
    )
    source.write_text("".join(lines) + _MAIN % (len(numbers), cases))
    options = CompileOptions(os.environ, optimize="-O1", jobs=1)
    ported = api.rewrite([source])
    port = compiling.program(ported, "hip", options, given=[source]).path
    asked = [each.line for each in ported.reported if each.needs_person]
    ways = [(32, "forward", "maximal"), (64, "forward", "maximal"), (64, "random:2", "minimal")]
    runs = {way: _printed(port, len(numbers), *way) for way in ways}
    told = [any(start <= line < end for line in asked) for start, end in zip(starts, ends, strict=True)]
    originals = [_of_gpu(source, len(numbers))] if gpu else _of_executor(source, options, len(numbers))
    if gpu and not all(
        said or _sum(ran[i][0]) == _sum(originals[0][i][0]) for ran in runs.values() for i, said in enumerate(told)
    ):
        # The executor tells what depends on the order of threads.
        originals += _of_executor(source, options, len(numbers))
    first, *others = originals
    right, said = [], []
    differ: dict[int, str] = {}
    unfit: dict[int, str] = {}
    seen: dict[Place, int] = {}
    for i, number in enumerate(numbers):
        if not first[i][0] or any(other[i] != first[i] for other in others):
            unfit[number] = first[i][1] or str([each[i] for each in originals])
            continue
        for probe, how in re.findall(r" (\d+):(\d+)", first[i][0]):
            seen[number, int(probe)] = int(how)
        wrong = [
            f"{way}: {ran[i][0] or ran[i][1]}" for way, ran in runs.items() if _sum(ran[i][0]) != _sum(first[i][0])
        ]
        if not wrong:
            right.append(number)
        elif told[i]:
            said.append(number)
        else:
            differ[number] = wrong[0]
    return Ran(tuple(right), differ, tuple(said), unfit, seen, len(asked))


def _of_executor(source: Path, options: CompileOptions, count: int) -> list[Printed]:
    """What the originals give on the executor, in several orders of threads."""
    original = compiling.program([source], "cuda", options).path
    ways = [(32, "forward", "maximal"), (32, "reverse", "minimal"), (32, "random:1", "maximal")]
    return [_printed(original, count, *way) for way in ways]


def _of_gpu(source: Path, count: int) -> Printed:
    path = source.with_suffix(".nvcc")
    flags = ["-O1", "-std=c++17", "-arch=native", "-w", "-DON_A_GPU_"]
    command = ["nvcc", *flags, str(source), "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
    return _printed(path, count, 32, "forward", "maximal")


def _newlines(text: str) -> int:
    return text.count("\n")


def _sum(line: str) -> str:
    return " ".join(line.split()[:2])


def _printed(path: Path, count: int, lanes: int, order: str, convergence: str) -> list[tuple[str, str]]:
    """Return each kernel's output, or the reason why there is none."""
    env = {**os.environ, "SIMT_WAVE": str(lanes), "SIMT_ORDER": order, "SIMT_CONVERGENCE": convergence}
    found: list[tuple[str, str]] = []
    while len(found) < count:
        command = [str(path), str(len(found))]
        try:
            ran = subprocess.run(
                command, env=env, capture_output=True, text=True, errors="replace", timeout=ENDLESS, check=False
            )
            printed, why = ran.stdout, ran.stderr[-300:]
        except subprocess.TimeoutExpired as late:
            printed, why = (late.stdout or b"").decode(), "did not end"
        found += [(line, "") for line in printed.splitlines()[: count - len(found)]]
        if len(found) < count:
            found.append(("", why))
    return found


def small(kernel: Made, wrong: Callable[[Mapping[int, Made]], set[int]]) -> Made:
    """Remove statements from a kernel while it stays wrong, which `wrong` tests for several kernels at once."""
    while True:
        tried = dict(enumerate(kernel.smaller()))
        found = wrong(tried) if tried else set()
        if not found:
            return kernel
        kernel = min((tried[i] for i in found), key=lambda each: len(each.text(0, Form.ASKED)))


def contradictions(
    hipport: Mapping[Place, Answer], llvm: Mapping[Place, bool | None], both: bool
) -> tuple[set[Place], set[Place]]:
    """Return the values uniform to hipport and varying to LLVM, and those varying to hipport alone.

    LLVM has wavefronts of 64 lanes here: what a warp of 32 votes on is no alarm.
    """
    levels = {place: answer.both if both else answer.alone for place, answer in hipport.items()}
    bold = {place for place, level in levels.items() if level >= WAVEFRONT and llvm.get(place) is True}
    alarms = {place for place, level in levels.items() if level < WARP and llvm.get(place) is False}
    return bold, alarms


def disproved(ran: Ran, kernels: Mapping[int, Made]) -> dict[Place, Answer]:
    """Return hipport's answers for values that it took for uniform, and that an execution saw differ."""
    asked = {kernel: kernels[kernel] for kernel in sorted({kernel for kernel, _ in ran.seen})}
    answers = asked_of_hipport(asked, both=False, shaped=True)
    return {
        place: answers[place]
        for place, how in ran.seen.items()
        if not how & 4 and place in answers and answers[place].alone >= (WARP if how & 1 else BLOCK)
    }


def _by_llvm(llvm: Judge, seeds: Sequence[int], folder: Path, kept: int) -> Counter[str]:
    kernels = {seed: made(seed) for seed in seeds}
    said = asked_of_llvm(llvm, kernels, folder)
    answers = asked_of_hipport(kernels)
    count: Counter[str] = Counter(kernels=len({kernel for kernel, _ in said}), probes=len(said))
    count["varying"] = sum(1 for each in said.values() if each)
    for both in (False, True):
        name = "both" if both else "alone"
        bold, alarms = contradictions(answers, said, both)
        count[f"bold {name}"], count[f"alarms {name}"] = len(bold), len(alarms)
        if both:
            continue
        for place in alarms:
            count["alarm: " + re.sub(r"\w*\d\w*|`.*`", "_", answers[place].why)] += 1
        for what, places in (("BOLD", bold), ("ALARM", alarms)):
            wrong = partial(_wrong, llvm, folder, what)
            for kernel in sorted({kernel for kernel, _ in places})[: kept if what == "BOLD" else kept // 4]:
                _show(what, kernel, small(kernels[kernel], wrong))
    return count


def _wrong(llvm: Judge, folder: Path, what: str, tried: Mapping[int, Made]) -> set[int]:
    said = asked_of_llvm(llvm, tried, folder)
    compiled = {kernel: tried[kernel] for kernel, _ in said}
    found = contradictions(asked_of_hipport(compiled, both=False), said, both=False)
    return {kernel for kernel, _ in found[0 if what == "BOLD" else 1]}


def _show(what: str, seed: int, kernel: Made) -> None:
    answers = asked_of_hipport({0: kernel})
    print(f"---- {what} seed {seed}\n{kernel.text(0, Form.ASKED)}")
    for (_, probe), answer in sorted(answers.items()):
        print(f"   probe {probe}: {answer}")
    sys.stdout.flush()


def _run_those_that_compile(kernels: dict[int, Made], folder: Path, *, gpu: bool) -> Ran:
    """Run kernels without those that a compiler rejects, which the generator makes now and then."""
    while True:
        try:
            return run(kernels, folder, gpu=gpu)
        except (NotCompiled, subprocess.CalledProcessError) as error:
            if isinstance(error, NotCompiled):
                lines = {each.line for each in error.messages if each.severity == "error"}
            else:
                lines = {int(line) for line in re.findall(r"kernels\.cu\((\d+)\): error", str(error.stderr))}
            text = (folder / "kernels.cu").read_text().splitlines()
            # Each kernel is in a namespace of its own, with its number among the kernels.
            rejected = {
                max((int(m[1]) for each in text[:line] if (m := re.match(r"namespace q(\d+)_ ", each))), default=-1)
                for line in lines
            } - {-1}
            if not rejected:
                raise
            kernels = {seed: each for i, (seed, each) in enumerate(kernels.items()) if i not in rejected}


def _main(how: str, first: int, batches: int, size: int = 200, kept: int = 3) -> None:
    llvm = judge()
    total: Counter[str] = Counter()
    for batch in range(batches):
        seeds = range(first + batch * size, first + (batch + 1) * size)
        with tempfile.TemporaryDirectory() as folder:
            if how == "llvm":
                assert llvm is not None, "no hipcc with an opt"
                total += _by_llvm(llvm, seeds, Path(folder), kept)
                varying, alarms = total["varying"], total["alarms alone"]
                print(f"varying {varying}, unseen {total['bold alone']}", end="; ")
                print(f"uniform {total['probes'] - varying}, alarms {alarms}")
            else:
                kernels = {seed: made(seed) for seed in seeds}
                ran = _run_those_that_compile(kernels, Path(folder), gpu=how == "gpu")
                wrong = disproved(ran, kernels)
                total += Counter(right=len(ran.right), differ=len(ran.differ), said=len(ran.said), unfit=len(ran.unfit))
                total += Counter(disproved=len(wrong))
                for (seed, probe), answer in wrong.items():
                    print("DISPROVED", seed, probe, answer, flush=True)
                for what, found in (("DIFFERS", ran.differ), ("UNFIT", ran.unfit)):
                    for seed, why in found.items():
                        print(what, seed, why, flush=True)
        print(seeds, dict(total), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], *map(int, sys.argv[2:]))

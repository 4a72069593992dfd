# SPDX-License-Identifier: Apache-2.0
"""Ported device code computes min and max of two types of integers with nvcc's results."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import compiled
import hipport
import verifying
from hipport import api
from hipport.core.edits import Edit, Span
from hipport.engine.outcomes import Ported
from hipport.toolchain.toolchains import find

# The types of these calls with nvcc 13.0; it accepts this text unchanged.
TYPES = b"""#include <cuda_runtime.h>
#include <type_traits>
#define IS(type, call) static_assert(std::is_same<decltype(call), type>::value, #call)
__global__ void k(unsigned *o, int n, long l, long long ll, short s, unsigned char c) {
  IS(unsigned, min(n, 3u));
  IS(unsigned, max(3u, n));
  IS(unsigned long, min(l, 3ul));
  IS(unsigned long long, max(3ull, ll));
  IS(int, min(s, n));
  IS(int, max(0, c));
  IS(unsigned, max(s, 1u));
  IS(int, max(n, 1));
  IS(float, max(1.f, 2.f));
  IS(double, max(1.f, 2.0));
  o[min(n, 3u)] = max(c, 2) % 2;
}
int main() { return 0; }
"""


def test_types_are_those_of_cuda(tmp_path: Path) -> None:
    toolchains = find(os.environ, Path(sys.executable))
    if not toolchains:
        pytest.skip("NOT CHECKED with a real compiler: no hipcc (hipport toolchain install)")
    ported = hipport.rewrite({"main.cu": TYPES})
    for file in (*ported.project.sources, *ported.created):
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_bytes(file.text)
    unported = ported.project.sources[0].text.replace(b'#include "hipport/min_max.h"', b"")
    (tmp_path / "unported.cu").write_bytes(unported)
    for toolchain in toolchains:
        said = {}
        for name in ("main.cu", "unported.cu"):
            command = [toolchain.hipcc, "-w", "-x", "hip", "-std=c++17", "-fsyntax-only"]
            command += [f"--offload-arch={max(toolchain.archs)}", name]
            environment = toolchain.environment(os.environ)
            done = compiled.run(command, cwd=tmp_path, env=environment)
            said[name] = done.stderr
        assert "error" not in said["main.cu"], (toolchain.hip, said["main.cu"])
        # The reason for this pass: HIP's own results are doubles.
        assert "error" in said["unported.cu"], toolchain.hip


VALUES = r"""#include <cstdio>
__global__ void k(unsigned long long *o, int n, long long wide, unsigned limit) {
  o[0] = min(n, limit);
  o[1] = max(n, limit);
  o[2] = max(wide, 9007199254740992ull);
  o[3] = min(static_cast<unsigned char>(200), n + 300);
}
int main() {
  unsigned long long *d, h[4];
  cudaMalloc(&d, sizeof h);
  k<<<1, 1>>>(d, -2, 9007199254740993ll, 5);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  std::printf("%llu %llu %llu %llu\n", h[0], h[1], h[2], h[3]);
  return !(h[0] == 5 && h[1] == 4294967294u && h[2] == 9007199254740993ull && h[3] == 200);
}
"""


@pytest.mark.parametrize("with_header", [True, False])
def test_values_are_those_of_cuda(with_header: bool, tmp_path: Path) -> None:
    """Also on the executor, whose HIP has HIP's functions: without the header it reports the difference."""

    def port(paths: Sequence[Path]) -> Ported:
        ported = api.rewrite(paths)
        (source,) = (each for each in ported.project.sources if each.path.name == "main.cu")
        include = b'#include "hipport/min_max.h"\n'
        start = source.text.index(include)
        other = source.apply([] if with_header else [Edit(Span(start, start + len(include)), b"")])
        return replace(ported, project=ported.project.replacing({source.path: other}))

    (tmp_path / "main.cu").write_text(VALUES)
    verified = verifying.program([tmp_path / "main.cu"], env={**os.environ}, port=port, orders=["forward"])
    assert verified.ran[0].ok and verified.ok == with_header

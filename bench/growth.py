# SPDX-License-Identifier: Apache-2.0
"""Measure how the cost of a rewrite grows with its input: each kind at doubling sizes, and the exponent.

python bench/growth.py [KIND …] [--sizes 50,100,200]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence

from hipport import rewrite

_SHUFFLE = "v += __shfl_xor_sync(~0u, v, 1)"


def _calls(size: int) -> bytes:
    """A chain of device functions, each called under a condition."""
    functions = (
        f"__device__ int f{i}(int v, int l) {{ if (l < {i}) {f'v += f{i - 1}(v, l)' if i else _SHUFFLE}; return v; }}\n"
        for i in range(size)
    )
    return f"{''.join(functions)}__global__ void k(int *p) {{ p[0] = f{size - 1}(p[1], threadIdx.x); }}\n".encode()


def _calls_and_shuffles(size: int) -> bytes:
    """The same with a shuffle in the other branch of each."""
    return _calls(size).replace(b"; return", f"; else {_SHUFFLE}; return".encode())


def _nested(size: int) -> bytes:
    """Conditions within conditions, with a shuffle in each."""
    inside = "".join(f"if (x > {i}) {{ {_SHUFFLE};\n" for i in range(size))
    return f"__global__ void k(int *p, int x) {{ int v = p[0];\n{inside}{'}' * size}\np[0] = v; }}\n".encode()


KINDS: dict[str, Callable[[int], bytes]] = {
    "calls": _calls,
    "calls_and_shuffles": _calls_and_shuffles,
    "nested": _nested,
}


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of the line through the logarithms, by least squares."""
    xs, ys = [math.log(size) for size in sizes], [math.log(each) for each in seconds]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def measured(make: Callable[[int], bytes], sizes: Sequence[int]) -> list[float]:
    """Return the CPU seconds that each size takes."""
    rewrite({"a.cu": make(2)}, jobs=1)
    seconds = []
    for size in sizes:
        start = time.process_time()
        rewrite({"a.cu": make(size)}, jobs=1)
        seconds.append(time.process_time() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--sizes", default="50,100,200")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    for kind in options.kinds:
        seconds = measured(KINDS[kind], sizes)
        took = ", ".join(f"{size}: {each:.2f} s" for size, each in zip(sizes, seconds, strict=True))
        print(f"{kind}: n^{exponent(sizes, seconds):.2f} ({took})")


if __name__ == "__main__":
    main()

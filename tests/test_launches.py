# SPDX-License-Identifier: Apache-2.0
"""Launches of kernels, read from text."""

from pathlib import PurePosixPath

from hipport.syntax.cuda import Cuda, launches


def test_parts() -> None:
    source = Cuda(
        PurePosixPath("a.cu"),
        b"""
#define RUN(k, n) k<<<(n + 255) / 256, 256>>>(n)
void f(dim3 g) {
    // k<<<0, 0>>>()
    plain<<<g, dim3(8, 8), 4 * sizeof(float), stream>>>(a, b[1, 2]);
    space::templated<float, 4><<<1, g.x>>>();
    (*pointer)<<<1, 2>>>(x);
    int shifted = 1 << 2;
    std::vector<std::vector<std::vector<int>>> nested;
}
""",
    )
    found = [
        (
            launch.kernel,
            [source[part] for part in launch.configuration],
            [source[part] for part in launch.arguments],
        )
        for launch in launches(source)
    ]
    assert found == [
        (b"k", [b"(n + 255) / 256", b"256"], [b"n"]),
        (b"plain", [b"g", b"dim3(8, 8)", b"4 * sizeof(float)", b"stream"], [b"a", b"b[1, 2]"]),
        (b"templated", [b"1", b"g.x"], []),
        (b"", [b"1", b"2"], [b"x"]),
    ]

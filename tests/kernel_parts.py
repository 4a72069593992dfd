# SPDX-License-Identifier: Apache-2.0
"""Kernels as nested statements, so that one can be removed: see generated_values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum


class Form(Enum):
    """The form of a probe: a call, or collectives on both sides of a condition."""

    ASKED = 1
    RUN = 2


@dataclass(frozen=True)
class Part:
    """A statement: its text, or the text before and after the statements in it. A probe has its form at run time."""

    head: str
    inner: tuple[Part, ...] = ()
    tail: str = ""
    probe: int | None = None
    run: str = ""

    def lines(self, form: Form, depth: int = 1) -> Iterator[str]:
        """Yield the lines of the statement."""
        blank = "  " * depth
        if self.probe is not None:
            if form is Form.ASKED:
                yield f"{blank}probe({self.probe}, {self.head});"
            else:
                yield blank + _RUN[self.run].replace("#", str(self.probe)).replace("@", self.head)
            return
        yield blank + self.head
        for each in self.inner:
            yield from each.lines(form, depth + 1)
        if self.tail:
            yield blank + self.tail


#: The run-time form of a probe: `@` is its value, `#` its number.
_RUN = {
    "none": "r = (r * 5 + (@)) & 0xffffff;",
    "shuffle": "{ const int q_ = @; observe(seen, #, q_); if (q_) r += __shfl_sync(~0u, r + lane, 3); "
    "else r ^= __shfl_sync(~0u, r, 5); }",
    "direct": "if (@) r += __shfl_sync(~0u, r + lane, 3); else r ^= __shfl_sync(~0u, r, 5);",
    "vote": "{ const int q_ = @; observe(seen, #, q_); if (q_) r += __popc(__ballot_sync(~0u, r & 1)); "
    "else r += 9 * __popc(__ballot_sync(~0u, r & 2)); }",
    "sum": "{ const int q_ = @; observe(seen, #, q_); if (q_) r += __reduce_add_sync(~0u, r & 255); "
    "else r += __reduce_add_sync(~0u, lane) & 255; }",
    "barrier": "{ const int q_ = @; observe(seen, #, q_); if (q_) { met[thread] = r; __syncthreads(); } "
    "else { met[thread] = r + 1; __syncthreads(); } r = (r + met[thread ^ 1]) & 0xffffff; __syncthreads(); }",
}
_NAME = re.compile(r"\b[a-zA-Z]\d+\b")


@dataclass(frozen=True)
class Made:
    """A kernel: its functions and classes, its statements, and the shape of its blocks."""

    before: tuple[Part, ...]
    body: tuple[Part, ...]
    shape: str

    def text(self, number: int, form: Form) -> str:
        """Return the kernel `k<number>` in a namespace of its own."""
        lines = [f"namespace q{number}_ {{"]
        for part in self.before:
            lines += part.lines(form, 0)
        more = ", int *seen" if form is Form.RUN else ""
        lines.append(f"__global__ void K(const int *in, int *out, int n, int m{more}) {{")
        lines.append("  __shared__ int sh[64], met[64];")
        lines.append("  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;")
        lines.append("  const int lane = thread & 31; int r = thread;")
        for part in self.body:
            lines += part.lines(form)
        lines += ["  out[blockIdx.x * 64 + thread] = r + met[thread] * 0;", "}", "}"]
        # Names are also looked up without namespaces: no two kernels share one.
        text = _NAME.sub(rf"\g<0>_{number}", "\n".join(lines) + "\n")
        return text.replace(" K(", f" k{number}(")

    def probes(self) -> list[Part]:
        """Return its probes."""
        found: list[Part] = []
        waiting = list(self.body)
        while waiting:
            each = waiting.pop()
            waiting += each.inner
            found += [each] if each.probe is not None else []
        return found

    def smaller(self) -> Iterator[Made]:
        """Yield the kernel without one of its statements, or with a block in place of a compound statement."""
        for less in _smaller(self.before):
            yield replace(self, before=less)
        for less in _smaller(self.body):
            yield replace(self, body=less)


def _smaller(parts: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    for i, part in enumerate(parts):
        yield parts[:i] + parts[i + 1 :]
        if part.inner:
            yield parts[:i] + part.inner + parts[i + 1 :]
            for inner in _smaller(part.inner):
                yield (*parts[:i], replace(part, inner=inner), *parts[i + 1 :])

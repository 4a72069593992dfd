# SPDX-License-Identifier: Apache-2.0
"""Lanes that leave a loop, a lambda or a function early make no call less, or more, than hipport sees."""

from __future__ import annotations

import pytest

from hipport import Certainty, rewrite

_KERNEL = """__global__ void k(int *out, int n) {
    int x = threadIdx.x, v = out[x];
    @
    out[x] = v;
}
void launch(int *out, int n) { k<<<4, 64>>>(out, n); }
"""
_SHUFFLE, _BARRIER = "v += __shfl_sync(~0u, v, 0);", "__syncthreads();"
#: A lane that leaves goes on elsewhere, and comes back in another iteration.
_LOOP = "for (int i = 0; i < n; ++i) {"
#: The text before the kernel, and its text, with `!` for a call that lanes make together.
COME_BACK = {
    "in a loop": ("", f"{_LOOP} if (out[i + x] < 0) continue; ! }}"),
    "in a loop of a lambda": ("", f"auto f = [&] {{ {_LOOP} if (out[i + x] < 0) continue; ! }} }}; f();"),
    "a lambda in a loop": ("", f"{_LOOP} auto f = [&] {{ if (out[i + x] < 0) return; ! }}; f(); }}"),
    "a lambda that is called at once": ("", f"{_LOOP} [&](int j) {{ if (out[j + x] < 0) return; ! }}(i); }}"),
    "a lambda that a loop calls": ("", f"auto f = [&](int j) {{ if (out[j + x] < 0) return; ! }}; {_LOOP} f(i); }}"),
    "a branch of such a lambda": ("", f"auto f = [&](int j) {{ if (out[j + x] < 0) {{ ! }} }}; {_LOOP} f(i); }}"),
    "a lambda that reads a counter": (
        "",
        f"int j = 0; auto f = [&] {{ if (out[j + x]) return; ! }}; {_LOOP} f(); ++j; }}",
    ),
    "a function that a loop calls": (
        "__device__ void f(int *out, int j, int &v) { if (out[j] < 0) return; ! }",
        f"{_LOOP} f(out, i + x, v); }}",
    ),
    "a statement in an expression": ("", f"{_LOOP} ({{ if (out[i + x] < 0) continue; }}); ! }}"),
}
#: Two calls, and lanes that leave before the first make the second.
ELSEWHERE = {
    "a loop in a kernel": ("", f"{_LOOP} if (x < 7) break; ! }} if (x < 7) {{ ! }}"),
    "a lambda": ("", "auto f = [&] { if (x < 7) return; ! }; f(); if (x < 7) { ! }"),
    "a function": (
        "__device__ void f(int x, int &v) { if (x < 7) return; ! }",
        "f(x, v); if (x < 7) { ! }",
    ),
}
#: All lanes come, or those that leave make no such call.
TOGETHER = {
    "lanes leave the kernel": ("", "if (x < 7) return; !"),
    "lanes leave a loop for good": ("", f"{_LOOP} if (x < 7) break; ! }}"),
    "all lanes leave a lambda": ("", f"auto f = [&](int j) {{ if (j == 3) return; ! }}; {_LOOP} f(i); }}"),
    "a lambda in front": ("", f"{_LOOP} auto f = [&] {{ if (x < 7) return; v = 1; }}; f(); ! }}"),
    "all lanes go on": ("", f"auto f = [&] {{ {_LOOP} if (i == 3) continue; ! }} }}; f();"),
}


def _found(of: tuple[str, str], call: str, rule: str) -> set[Certainty]:
    before, body = (each.replace("!", call) for each in of)
    done = rewrite({"a.cu": f"{before}\n{_KERNEL.replace('@', body)}".encode()}, jobs=1)
    return {each.certainty for each in done.reported if each.rule.startswith(rule)}


@pytest.mark.parametrize("name", COME_BACK)
def test_lanes_that_come_back_in_another_iteration_are_seen(name: str) -> None:
    assert _found(COME_BACK[name], _SHUFFLE, "warp_intrinsics") == {Certainty.REVIEW}
    assert _found(COME_BACK[name], _BARRIER, "barriers/turns") == {Certainty.MANUAL}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_lanes_that_call_elsewhere_are_seen(name: str) -> None:
    assert _found(ELSEWHERE[name], _SHUFFLE, "warp_intrinsics") == {Certainty.REVIEW}


@pytest.mark.parametrize("name", TOGETHER)
def test_nothing_is_said_of_lanes_that_come_together(name: str) -> None:
    assert _found(TOGETHER[name], _SHUFFLE, "warp_intrinsics") == {Certainty.SAFE}
    assert _found(TOGETHER[name], _BARRIER, "barriers") == set()


def test_votes_of_blocks_count_the_threads_that_a_lambda_leaves() -> None:
    assert _found(("", "auto f = [&] { if (x < 7) return; ! }; f();"), "v = __syncthreads_count(v);", "barriers/vote")
    assert not _found(
        ("", "auto f = [&] { if (x < 7) return; }; f(); !"), "v = __syncthreads_count(v);", "barriers/vote"
    )

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
for _seen in (True, False):
    _before = "#define SKIP_IF(c) if (c) continue\n#define RETURN_IF(c) {{ if (c) {{ return; }} }}" if _seen else ""
    _before, _by = _before.replace("{{", "{").replace("}}", "}"), "a macro that is seen" if _seen else "an unseen macro"
    _skip = "SKIP_IF(out[i + x] < 0);" if _seen else "SKIP_IF(out[i + x] < 0)"
    COME_BACK |= {
        f"{_by} in a loop": (_before, f"{_LOOP} SKIP_IF(out[i + x] < 0); ! }}"),
        f"{_by} without a semicolon": (
            _before,
            f"{_LOOP}\n if (n > 2)\n RETURN_IF(n > 5);\n SKIP_IF(out[i + x] < 0);\n ! }}",
        ),
        f"{_by} in a lambda": (_before, f"{_LOOP} auto f = [&] {{ RETURN_IF(out[i + x] < 0); ! }}; f(); }}"),
        f"{_by} in a branch": (_before, f"{_LOOP} if (out[i + x] < 0) {{ SKIP_IF(n > 3); }} ! }}"),
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
ELSEWHERE |= {
    "a macro in a function": (
        "#define RETURN_IF(c) do { if (c) return; } while (0)\n"
        "__device__ void f(int x, int &v) { RETURN_IF(x < 7); ! }",
        "f(x, v); if (x < 7) { ! }",
    ),
    "an unseen macro in a function": (
        "__device__ void f(int x, int &v) { RETURN_IF(x < 7); ! }",
        "f(x, v); if (x < 9) { ! }",
    ),
    "a macro with another in it": (
        "#define LEAVE return\n#define RETURN_IF(c) if (c) { LEAVE; }\n"
        "__device__ void f(int x, int &v) { RETURN_IF(x < 7); ! }",
        "f(x, v); if (x < 7) { ! }",
    ),
}
#: All lanes come, or those that leave make no such call.
TOGETHER = {
    "lanes leave the kernel": ("", "if (x < 7) return; !"),
    "lanes leave a loop for good": ("", f"{_LOOP} if (x < 7) break; ! }}"),
    "all lanes leave a lambda": ("", f"auto f = [&](int j) {{ if (j == 3) return; ! }}; {_LOOP} f(i); }}"),
    "a lambda in front": ("", f"{_LOOP} auto f = [&] {{ if (x < 7) return; v = 1; }}; f(); ! }}"),
    "a macro by which lanes leave the kernel": ("#define RETURN_IF(c) if (c) return", "RETURN_IF(x < 7); !"),
    "an unseen macro in a kernel": ("", "RETURN_IF(x < 7); !"),
    "a macro with the same condition for all": ("#define SKIP_IF(c) if (c) continue", f"{_LOOP} SKIP_IF(i == 3); ! }}"),
    "a macro with a loop": (
        "#define SUM(v) for (int j = 0; j < x; ++j) { if (v > 9) break; ++v; if (v > j) continue; --v; }",
        f"{_LOOP} SUM(v) ! }}",
    ),
    "a macro that checks": ("", f"{_LOOP} CUDA_KERNEL_ASSERT(out[i + x] < 0); ! }}"),
    "a lane that leaves in each iteration": ("#define SKIP_IF(c) if (c) continue", f"{_LOOP} SKIP_IF(x < 7); ! }}"),
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


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("__device__ int f(int x) { RETURN_IF(x < 3, 1); return 2; }", "int q = f(x);"),
        ("__device__ int f(int x) { RETURN_IF; return 2; }", "int q = f(x);"),
        ("", "int q = 0; for (; q < n; ++q) { BREAK_IF(x < q); }"),
        ("", "int q = 0; for (int i = 0; i < n; ++i) { CONTINUE_IF(x < i); ++q; }"),
        ("", "int q = 0; LOAD(q, out + x);"),
        ("", "int a[2] = {0, 0}; LOAD(a[1], out + x); int q = a[1];"),
        ("", "auto f = [&]() -> int { RETURN_IF(x < 3, 1); return 2; }; int q = f();"),
    ],
)
def test_values_behind_macros_that_are_not_seen_are_unknown(before: str, body: str) -> None:
    both = f"{body} if (q == 1) {{ ! }} else {{ ! }}"
    assert _found((before, both), _SHUFFLE, "warp_intrinsics") == {Certainty.REVIEW}


def test_an_unseen_macro_is_named() -> None:
    done = rewrite({"a.cu": _KERNEL.replace("@", f"{_LOOP} SKIP_IF(out[i + x]); {_SHUFFLE} }}").encode()}, jobs=1)
    (said,) = (each.message for each in done.reported if each.certainty is Certainty.REVIEW)
    assert "not proven: hipport does not see the macro `SKIP_IF`" in said


def test_votes_of_blocks_count_the_threads_that_a_lambda_leaves() -> None:
    assert _found(("", "auto f = [&] { if (x < 7) return; ! }; f();"), "v = __syncthreads_count(v);", "barriers/vote")
    assert not _found(
        ("", "auto f = [&] { if (x < 7) return; }; f(); !"), "v = __syncthreads_count(v);", "barriers/vote"
    )

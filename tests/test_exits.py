# SPDX-License-Identifier: Apache-2.0
"""Lanes that leave a loop, a lambda or a function early make no call less, or more, than hipport sees."""

from __future__ import annotations

import re

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
_OF_A_RANGE = (
    "struct R { int n; struct It { int i; __device__ int operator*() const { @ return i; } "
    "__device__ void operator++() { ++i; } __device__ bool operator!=(It o) const { return i != o.i; } }; "
    "__device__ It begin() const { # return {0}; } __device__ It end() const { return {n}; } };"
)
#: What stands for a call of a shuffle, and what is declared for it.
BY_OPERATORS = {
    "an arrow": (
        "struct I { int w; }; struct A { I i; __device__ I *operator->() { i.w = !; return &i; } };",
        "A a{{v}}; if (x & 1) v = a->w; else v = a->w + 1;",
    ),
    "a literal": (
        '__device__ int operator""_s(unsigned long long x) { return !; }',
        "if (x & 1) v = 3_s; else v = 4_s;",
    ),
    "a comma": (
        "struct A { int v; __device__ int operator,(A o) { return !; } };",
        "A a{v}, b{n}; if (x & 1) v = (a, b); else v = (b, a);",
    ),
    "an element of a range": (
        _OF_A_RANGE.replace("@", "return !;").replace("#", ""),
        "R r{n}; if (x & 1) for (int q : r) v += q; else for (int q : r) v -= q;",
    ),
    "the begin of a range": (
        _OF_A_RANGE.replace("#", "int n = !;").replace("@", ""),
        "R r{n}; if (x & 1) for (int q : r) v += q; else for (int q : r) v -= q;",
    ),
}
#: Lanes come in different iterations, where no statement around the call is a loop.
OTHER_LOOPS = {
    "a goto": ("", "int i = 0; again: if (out[x + i] < 0) goto skip; ! skip: if (++i < n) goto again;"),
    "a switch that enters a loop": (
        "",
        "int c = n; switch (x & 3) { do { case 0: ! case 1: v += 1; case 2: v += 2; } while (--c > 0); }",
    ),
    "recursion": (
        "__device__ void f(int *o, int i, int n, int &v) "
        "{ if (i >= n) return; if (o[i] > 0) { ! } f(o, i + 1, n, v); }",
        "f(out + x, 0, n, v);",
    ),
    "recursion of two functions": (
        "__device__ void g(int *o, int i, int n, int &v);\n"
        "__device__ void f(int *o, int i, int n, int &v) { if (i >= n) return; if (o[i] > 0) { ! } g(o, i, n, v); }\n"
        "__device__ void g(int *o, int i, int n, int &v) { f(o, i + 1, n, v); }",
        "f(out + x, 0, n, v);",
    ),
    "a lambda that calls itself": (
        "",
        "auto f = [&](auto self, int i) -> void { if (i >= n) return; if (out[i + x] > 0) { ! } self(self, i + 1); }; "
        "f(f, 0);",
    ),
    "a loop in a macro": (
        f"#define ALL() {_LOOP} if (out[i + x] > 0) continue; ! }}",
        "ALL()",
    ),
    "a loop by a macro": (
        "#define EACH(i, n) for (int i = 0; i < (n); ++i)",
        "EACH(i, n) { if (out[i + x] > 0) continue; ! }",
    ),
    "a break in a loop of one iteration": ("", f"{_LOOP} do {{ if (out[i + x] > 0) break; ! }} while (0); }}"),
    "a break in a switch": ("", f"{_LOOP} switch (n) {{ default: if (out[i + x] > 0) break; ! }} }}"),
    "an inner loop": ("", f"{_LOOP} for (bool q = out[i + x] > 0; q; q = false) {{ ! }} }}"),
    "a lambda that another function calls": (
        "template <class F> __device__ void each(int *o, int n, F f) { for (int i = 0; i < n; ++i) f(o[i]); }",
        "each(out + x, n, [&](int q) { if (q > 0) return; ! });",
    ),
    "a branch of such a lambda": (
        "template <class F> __device__ void each(int *o, int n, F f) { for (int i = 0; i < n; ++i) f(o[i]); }",
        "auto f = [&](int q) { if (q > 0) { ! } }; each(out + x, n, f);",
    ),
}
#: A function calls what may skip the call in each iteration.
CALLED_IN_LOOPS = {
    "a constructor": (
        "struct A { __device__ A(int q, int &v) { if (q > 0) return; ! } };",
        f"{_LOOP} A a(out[i + x], v); }}",
    ),
    "an operator": (
        "struct A { int *p; __device__ void operator<<(int q) { int &v = *p; if (q > 0) return; ! } };",
        f"A a{{&v}}; {_LOOP} a << out[i + x]; }}",
    ),
    "a pointer to a function": (
        "__device__ void up(int q, int &v) { if (q > 0) return; ! }",
        f"void (*p)(int, int &) = up; {_LOOP} p(out[i + x], v); }}",
    ),
    "a function through another": (
        "__device__ void in(int q, int &v) { if (q > 0) return; ! }\n__device__ void mid(int q, int &v) { in(q, v); }",
        f"{_LOOP} mid(out[i + x], v); }}",
    ),
    "a function object": (
        "struct S { int *p; __device__ void operator()(int q) const { int &v = *p; if (q > 0) return; ! } };\n"
        "template <class F> __device__ void each(int *o, int n, F f) { for (int i = 0; i < n; ++i) f(o[i]); }",
        "S s{&v}; each(out + x, n, s);",
    ),
    "a goto": ("", f"{_LOOP} if (out[i + x] > 0) goto next; ! next:; }}"),
}
#: Barriers there are not found.
COLLECTIVES_ONLY = frozenset(
    (
        "a switch that enters a loop",
        "recursion",
        "recursion of two functions",
        "a lambda that calls itself",
        "a loop in a macro",
    )
)
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
    "names in capitals that are no statements": (
        "template <class T> struct Of { enum { SIZE = T::SIZE }; };",
        f"enum {{ COLS = Of<int>::COLS }}; {_LOOP} int q = i > 3 ? n : MOST_LANES; enum {{ ROWS = T::ROWS }}; ! }}",
    ),
    "all lanes of an inner loop": ("", f"{_LOOP} for (int j = i; j < n; ++j) {{ ! }} }}"),
    "threads of an inner loop in step": ("", f"{_LOOP} for (int j = x; j < n + x; ++j) {{ ! }} }}"),
    "all lanes by a goto": ("", "int i = 0; again: ! if (++i < n) goto again;"),
    "all lanes of a recursion": (
        "__device__ void f(int i, int n, int &v) { if (i >= n) return; ! f(i + 1, n, v); }",
        "f(0, n, v);",
    ),
    "a break of all lanes": ("", f"{_LOOP} do {{ if (i == 3) break; ! }} while (0); }}"),
    "all lanes go on": ("", f"auto f = [&] {{ {_LOOP} if (i == 3) continue; ! }} }}; f();"),
}


def _found(of: tuple[str, str], call: str, rule: str) -> set[Certainty]:
    before, body = (re.sub("!(?!=)", call, each) for each in of)
    done = rewrite({"a.cu": f"{before}\n{_KERNEL.replace('@', body)}".encode()}, jobs=1)
    return {each.certainty for each in done.reported if each.rule.startswith(rule)}


@pytest.mark.parametrize("name", COME_BACK)
def test_lanes_that_come_back_in_another_iteration_are_seen(name: str) -> None:
    assert _found(COME_BACK[name], _SHUFFLE, "warp_intrinsics") == {Certainty.REVIEW}
    assert _found(COME_BACK[name], _BARRIER, "barriers/iterations") == {Certainty.MANUAL}


@pytest.mark.parametrize("name", BY_OPERATORS)
def test_calls_that_are_not_written_as_calls_are_seen(name: str) -> None:
    assert _found(BY_OPERATORS[name], "__shfl_sync(~0u, 3, 0)", "warp_intrinsics") == {Certainty.REVIEW}
    before, body = BY_OPERATORS[name]
    uniform = before, body.replace("x & 1", "n & 1")
    assert _found(uniform, "__shfl_sync(~0u, 3, 0)", "warp_intrinsics") == {Certainty.SAFE}


@pytest.mark.parametrize("name", OTHER_LOOPS)
def test_lanes_that_come_again_are_seen(name: str) -> None:
    assert _found(OTHER_LOOPS[name], _SHUFFLE, "warp_intrinsics") == {Certainty.REVIEW}
    if name not in COLLECTIVES_ONLY:
        assert _found(OTHER_LOOPS[name], _BARRIER, "barriers/iterations") == {Certainty.MANUAL}


@pytest.mark.parametrize("name", CALLED_IN_LOOPS)
def test_calls_in_loops_of_what_may_skip_are_seen(name: str) -> None:
    assert _found(CALLED_IN_LOOPS[name], _SHUFFLE, "warp_intrinsics") == {Certainty.REVIEW}
    assert _found(CALLED_IN_LOOPS[name], _BARRIER, "barriers/iterations") == {Certainty.MANUAL}
    before, body = CALLED_IN_LOOPS[name]
    if name in ("a function through another", "a goto"):  # other functions have no call that is written as one
        assert _found((before, body.replace("out[i + x]", "i")), _BARRIER, "barriers") == set()


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

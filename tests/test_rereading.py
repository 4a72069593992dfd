# SPDX-License-Identifier: Apache-2.0
"""C++ that the parser does not understand is read once more, with what it does not know replaced."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from hipport import Certainty, rewrite
from hipport.analysis.functions import functions
from hipport.core.edits import Edit, Span
from hipport.syntax.cuda import Cuda

#: Valid C++ that the grammar does not know, as programs for CUDA have it.
UNKNOWN = {
    "a macro before the type of a function": b"HD inline int f(int n) { return n; }\n",
    "a macro before constexpr": b"HD constexpr unsigned f(int n) { return n; }\n",
    "a macro after static": b"struct S {\n  static HD int f(int n) { return n; }\n};\n",
    "a macro before a constructor": b"struct S {\n  HD S(const int &a = 0) : a(a) {}\n  int a;\n};\n",
    "a macro before an explicit constructor": b"struct S {\n  HD explicit S(int a) : a(a) {}\n  int a;\n};\n",
    "a macro before a destructor": b"struct S {\n  HD ~S() {}\n};\n",
    "a macro before an operator": b"struct S {\n  HD S &operator+=(const S &o) { return *this; }\n};\n",
    "a macro before the call operator": b"struct S {\n  HD int operator()(const int &a) const { return a; }\n};\n",
    "a macro after a template's parameters": b"template <class T>\nHD T *f(T *a) { return a; }\n",
    "macros that bring their semicolons": b"void f(int n) {\n  STEP(n) int x = 1; STEP(x) return; }\n",
    "such a macro alone in braces": b"void f(int n) {\n  for (int i = 0; i < n; i += 2) { STEP(i) }\n}\n",
    "such a macro before else": b"void f(int n) {\n  if (n) STEP(n) else g();\n}\n",
    "such a macro on a line of its own": b"DEFINE(1 + 2, 640)\nDEFINE(3, 640)\nint x;\n",
    "macros that declare": b"DEFINE(f, ns::of::g)\nDEFINE(g, ns::h)\n\nstatic inline int k(int n) { return n; }\n",
    "a loop of a macro": b"void f(int n, int m) {\n  KERNEL_LOOP(i, n * m * 2) {\n    g(i);\n  }\n}\n",
    "a statement given to a macro": b"void f(int n) {\n  DISPATCH(n, k<<<n, n>>>(n););\n  g();\n}\n",
    "a braced default": b"void f(int n, float3 a = {}, dim3 b = {1, 2}) { g(n); }\n",
    "a pointer to a member": b"auto p = (void (ns::S::*)(int, float))&ns::S::f;\nint x;\n",
    "an explicit instantiation": b"template class A<B<n::C>>;\ntemplate class A<B<n::D>>;\nint x;\n",
    "words for operators": b"#if defined(A) and not defined(B)\nint x;\n#endif\n",
    "a part of a statement under a condition": (
        b"void f(int n) {\n  if (n) {\n    g();\n#ifdef A\n  } else if (n > 1) {\n    h();\n#endif\n  }\n}\n"
    ),
    "bodies under a condition": (
        b"void f(int n) {\n  for (int i = 0; i < n; i++)\n#ifdef A\n    g(i);\n#elif B\n  { h(i); }\n  #else\n    "
        b"g(i +\n      1);\n#endif\n  if (n) // why\n#if A\n    g(n);\n#else\n    h(n);\n#endif\n  else\n    g(0);\n}\n"
    ),
    "an else under a condition": (
        b"void f(int n) {\n  if (n) {\n    g();\n  }\n#ifdef A\n  else {\n    h();\n  }\n#endif\n  h();\n}\n"
    ),
    "the call of a conversion": b"float f(S s, T *t) { return s.operator float() + t->operator half(); }\n",
    "a macro without a semicolon on several lines": (
        b'void f(int n) {\n  CHECK(n,\n    "text")  // no end\n    // either\n\n  // Next.\n  void *a[] = {&n};\n}\n'
    ),
    "a part of an expression under a condition": b"int a = f(1)\n#ifdef A\n  .g()\n#endif\n  .h();\nint x;\n",
}


@pytest.mark.parametrize("code", UNKNOWN.values(), ids=UNKNOWN)
def test_it_is_understood(code: bytes) -> None:
    """The first reading has errors, the second none."""
    source = Cuda(PurePosixPath("a.cu"), code)
    assert source._read.root_node.has_error
    assert not source.errors
    assert not source.guessed


@pytest.mark.parametrize("code", UNKNOWN.values(), ids=UNKNOWN)
def test_it_is_understood_after_an_edit(code: bytes) -> None:
    """An edited text is read like the same text without a past."""
    first = Cuda(PurePosixPath("a.cu"), b"int before;\n" + code)
    assert not first.errors
    edited = first.apply([Edit(Span(0, 10), b"int changed")])
    fresh = Cuda(PurePosixPath("a.cu"), edited.text)
    assert not edited.errors
    assert str(edited.tree.root_node) == str(fresh.tree.root_node)


WRONG = {
    "a semicolon is missing": b"void f() {\n  a = b\n  c = d;\n}\n",
    "a semicolon is missing after a function": b"void f() {\n  g(1)\n  c = d;\n}\n",
    "a type in capitals is not a macro": b"struct S {\n  FLOAT T(int a) : b {}\n};\n",
    "brackets": b"int f(int a { return a; }\n",
}


@pytest.mark.parametrize("code", WRONG.values(), ids=WRONG)
def test_errors_stay_errors(code: bytes) -> None:
    assert Cuda(PurePosixPath("a.cu"), code).errors


def test_a_type_in_capitals_stays_the_type() -> None:
    """Without an error there, a name in capitals is what the parser takes it for."""
    source = Cuda(PurePosixPath("a.cu"), b"__device__ FLOAT f(int n) { return n; }\n\nHD int g(int n) { return n; }\n")
    assert not source.errors
    first, _ = functions(source)
    assert first.text(first.node).startswith(b"__device__ FLOAT f")


def test_functions_behind_a_macro_are_seen() -> None:
    code = b"#define HD __host__ __device__\n\nstruct S {\n  HD inline bool f(int n) const { return n; }\n};\n"
    (found,) = functions(Cuda(PurePosixPath("a.cu"), code))
    assert found.name == b"f"
    assert found.text(found.node).startswith(b"inline bool f")


_FIRST, _SECOND = "v = __shfl_sync(~0u, v, 0);", "v = __shfl_sync(~0u, v, 1);"
_LOOP = "#define LOOP(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)\n"
_IF = "#define IF(c) if (c)\n"
#: Statements after which lanes diverge, in forms that the grammar does not know; and what the macros in them are.
DIVERGING = {
    "a loop of a macro": (_LOOP, f"LOOP(i, n * m * 2) {{ if (i % 3 == 0) {_FIRST} }}"),
    "a loop of a macro, on its own line": (_LOOP, f"LOOP(i, n * m * 2)\n  {{ if (i % 3 == 0) {_FIRST} }}"),
    "a loop of an unseen macro": ("", f"LOOP(i, n * m * 2) {{ if (i % 3 == 0) {_FIRST} }}"),
    "a loop of an unseen macro without an error": ("", f"LOOP(i, n) {{ if (i % 3 == 0) {_FIRST} }}"),
    "an if of a macro": (_IF, f"IF(threadIdx.x < n) {{ {_FIRST} }}\n  IF(threadIdx.x >= n) {{ {_SECOND} }}"),
    "an if of an unseen macro": ("", f"IF(threadIdx.x < n) {{ {_FIRST} }}\n  IF(threadIdx.x >= n) {{ {_SECOND} }}"),
    "an if of a macro without braces": (_IF, f"IF(threadIdx.x < n) {_FIRST}\n  IF(threadIdx.x >= n) {_SECOND}"),
    "an if of a macro, on lines of their own": (
        _IF,
        f"IF(threadIdx.x < n)\n    {_FIRST}\n  IF(threadIdx.x >= n)\n    {_SECOND}",
    ),
    "an if of a macro with else": (_IF, f"IF(threadIdx.x < n) {{ {_FIRST} }} else {{ {_SECOND} }}"),
    "a body under a condition": (
        "",
        f"if (threadIdx.x < n)\n#ifdef A\n    {_FIRST}\n#else\n    {_SECOND}\n#endif\n  else {_SECOND}",
    ),
    "a body under a condition that has no other branch": (
        "",
        f"if (threadIdx.x < n)\n#ifdef A\n    o[1] = 1;\n#endif\n    {_FIRST}\n  if (threadIdx.x >= n) {_SECOND}",
    ),
    "a body under a condition that jumps": (
        "",
        f"for (int i = 0; i < m; i++) {{\n    if (threadIdx.x == i)\n#ifdef A\n    continue;\n#else\n      o[1] = 1;\n"
        f"#endif\n    {_FIRST}\n  }}",
    ),
    "an else under a condition": (
        "",
        f"if (threadIdx.x < n) {{\n    {_FIRST}\n  }}\n#ifdef A\n  else {{\n    {_SECOND}\n  }}\n#endif\n  o[1] = v;",
    ),
    "a block that ends under a condition": (
        "",
        f"if (threadIdx.x < n) {{\n    o[1] = 1;\n#ifdef A\n  }}\n  if (m) {{\n#endif\n    {_FIRST}\n"
        f"  }} else {{ {_SECOND} }}",
    ),
    "a block that ends and begins under a condition": (
        "",
        f"if (threadIdx.x < n) {{\n    m = 1;\n#ifdef A\n  }}\n  {{\n#endif\n    {_FIRST}\n  }}\n"
        f"  if (threadIdx.x >= n) {_SECOND}",
    ),
}


@pytest.mark.parametrize(("macro", "body"), DIVERGING.values(), ids=DIVERGING)
def test_lanes_that_diverge_are_seen(macro: str, body: str) -> None:
    """What is not understood is not taken for code that all lanes reach."""
    code = (
        f"{macro}__global__ void k(float *o, int n, int m) {{\n  float v = o[threadIdx.x];\n  {body}\n  o[0] = v;\n}}\n"
    )
    found = [each for each in rewrite({"a.cu": code.encode()}).reported if each.rule == "warp_intrinsics/helper"]
    assert {each.certainty for each in found} == {Certainty.REVIEW}


@pytest.mark.parametrize("body", ["LOOP(i, n * m * 2)", "LOOP(i, n)"])
def test_barriers_in_a_loop_of_an_unseen_macro_are_seen(body: str) -> None:
    code = f"__global__ void k(float *o, int n, int m) {{\n  {body} {{ if (i % 3) __syncthreads(); o[i] = 1; }}\n}}\n"
    assert "barriers/iterations" in {each.rule for each in rewrite({"a.cu": code.encode()}).reported}


def test_barriers_in_a_text_that_is_not_understood_are_told() -> None:
    code = (
        "__global__ void k(float *o, int n) {\n  IF(threadIdx.x < n) { o[0] = 1; __syncthreads(); }\n"
        "  ELSE { o[1] = 1; __syncthreads(); }\n  o[2] = o[0] + o[1];\n}\n"
    )
    assert "barriers/divergent" in {each.rule for each in rewrite({"a.cu": code.encode()}).reported}


#: Values that depend on a condition of the preprocessor around a part of a statement.
CHOSEN = {
    "bodies": "int x = 0;\n  if (n)\n#ifdef A\n    x = threadIdx.x;\n#else\n    x = 1;\n#endif\n",
    "bodies that call": "int x = 0;\n  if (n)\n#ifdef A\n    set(x, threadIdx.x);\n#else\n    set(x, 1);\n#endif\n",
    "an else": "int x = threadIdx.x;\n  if (n) {\n    x = 1;\n  }\n#ifdef A\n  else {\n    x = 2;\n  }\n#endif\n",
    "a block that goes on": (
        "int x = threadIdx.x;\n  if (n) {\n    x = 1;\n#ifdef A\n  } else {\n    x = 2;\n#endif\n  }\n"
    ),
    "an operand": "int x = threadIdx.x\n#ifdef A\n    / 32\n#endif\n    ;\n",
}


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
def test_values_that_a_condition_chooses_are_not_known(chosen: str) -> None:
    """The second reading leaves out the directives, and so the choice."""
    code = (
        f"__device__ void set(int &x, int y) {{ x = y; }}\n__global__ void k(float *o, int n) {{\n"
        f"  float v = o[threadIdx.x];\n  {chosen}  if (x == 1) {{ {_FIRST} }} else {{ {_SECOND} }}\n  o[0] = v;\n}}\n"
    )
    found = [each for each in rewrite({"a.cu": code.encode()}).reported if each.rule == "warp_intrinsics/helper"]
    assert {each.certainty for each in found} == {Certainty.REVIEW}


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
def test_values_that_a_condition_chooses_are_not_known_to_callers(chosen: str) -> None:
    code = (
        f"__device__ void set(int &x, int y) {{ x = y; }}\n__device__ int f(int n) {{\n  {chosen}  return x;\n}}\n"
        f"__global__ void k(float *o, int n) {{\n  float v = o[threadIdx.x];\n"
        f"  if (f(n) == 1) {{ {_FIRST} }} else {{ {_SECOND} }}\n  o[0] = v;\n}}\n"
    )
    found = [each for each in rewrite({"a.cu": code.encode()}).reported if each.rule == "warp_intrinsics/helper"]
    assert {each.certainty for each in found} == {Certainty.REVIEW}


def test_whole_statements_under_a_condition_keep_it() -> None:
    """Only around a part of a statement are directives removed: behind `return;`, nothing would run."""
    code = b"void f(int n) {\n#ifdef A\n  return;\n#endif\n  a = b c = d;\n  g();\n}\n"
    source = Cuda(PurePosixPath("a.cu"), code)
    assert "preproc_ifdef" in str(source.tree.root_node)


def test_a_simple_error_hides_no_condition() -> None:
    code = f"__device__ float f(float v) {{\n  a = b c = d;\n  {_FIRST}\n  {_SECOND}\n  return v;\n}}\n"
    found = [each for each in rewrite({"a.cu": code.encode()}).reported if each.rule == "warp_intrinsics/helper"]
    assert {each.certainty for each in found} == {Certainty.SAFE}


_WARP = (
    "__global__ void k(float *o, int n, int m) {\n  __shared__ volatile float s[64];\n  int t = threadIdx.x;\n"
    "  s[t] = o[t];\n  __syncthreads();\n  if (t < 16) {\n    %s\n  }\n}\n"
)


@pytest.mark.parametrize(
    "body",
    [
        "LOOP(i, n) { s[t] += s[t + 16];\n s[t] += s[t + 8]; }",
        "LOOP(i, n * 2) { s[t] += s[t + 16];\n s[t] += s[t + 8]; }",
        "s[t] += s[t + 16];\n#ifdef A\n  } else if (t < 20) {\n    o[0] = 1;\n#endif\n    s[t] += s[t + 8];",
    ],
)
def test_steps_of_a_warp_are_seen(body: str) -> None:
    """In the block of a macro, and where a branch ends only under a condition of the preprocessor."""
    ported = rewrite({"a.cu": (_WARP % body).encode()})
    assert "warp_synchronous/lockstep" in {each.rule for each in ported.reported}
    assert b"syncwarp();\n" in ported.project.sources[0].text


@pytest.mark.parametrize(("begin", "end"), [("#ifdef A\n", "#endif\n"), ("", "")])
def test_only_whole_branches_are_divided(begin: str, end: str) -> None:
    """Without the part under `#ifdef`, the text of the branch would run for all."""
    code = (
        "__global__ void k(float *o, int n) {\n  if (threadIdx.x < n) {\n    o[0] = 1;\n    __syncthreads();\n"
        f"{begin}  }} else {{\n    o[1] = 1;\n    __syncthreads();\n{end}  }}\n}}\n"
    )
    (found,) = (each for each in rewrite({"a.cu": code.encode()}).reported if each.rule == "barriers/divergent")
    assert found.certainty is (Certainty.MANUAL if begin else Certainty.SAFE)

# SPDX-License-Identifier: Apache-2.0
"""Small kernels with an argument of `probe`, and whether it is varying; C++ of all kinds may hide it.

`EXPRESSIONS` end with the tested expression, for tests that wrap it once more.
"""

from __future__ import annotations

from typing import NamedTuple


class Kernel(NamedTuple):
    """A kernel: the text before it, its body, and whether the argument of `probe` is varying."""

    varying: bool
    body: str
    before: str = ""


KERNELS: dict[str, Kernel] = {
    "plain": Kernel(
        True,
        "probe(threadIdx.x & 1);",
    ),
    "param": Kernel(
        False,
        "probe(n);",
    ),
    "lambda_ref": Kernel(
        True,
        "auto odd = [&](int i) { return (i + threadIdx.x) & 1; }; probe(odd(n));",
    ),
    "lambda_uniform": Kernel(
        False,
        "auto odd = [&](int i) { return (i + n) & 1; }; probe(odd(n));",
    ),
    "lambda_value": Kernel(
        True,
        "int t = threadIdx.x; auto f = [=]() { return t; }; probe(f());",
    ),
    "lambda_value_before": Kernel(
        False,
        "int t = n; auto f = [=]() { return t; }; t = threadIdx.x; probe(f());",
    ),
    "lambda_ref_after": Kernel(
        True,
        "int t = n; auto f = [&]() { return t; }; t = threadIdx.x; probe(f());",
    ),
    "lambda_sets": Kernel(
        True,
        "int t = n; auto f = [&]() { t = threadIdx.x; }; f(); probe(t);",
    ),
    "lambda_init": Kernel(
        True,
        "auto f = [i = threadIdx.x]() { return i; }; probe(f());",
    ),
    "functor": Kernel(
        True,
        "F f; probe(f(n));",
        "struct F { __device__ int operator()(int i) const { return i + threadIdx.x; } };",
    ),
    "functor_u": Kernel(
        False,
        "F f; probe(f(n));",
        "struct F { __device__ int operator()(int i) const { return i + 1; } };",
    ),
    "functor_member": Kernel(
        True,
        "F f{(int)threadIdx.x}; probe(f(n));",
        "struct F { int a; __device__ int operator()(int i) const { return i + a; } };",
    ),
    "functor_member_u": Kernel(
        False,
        "F f{n}; probe(f(n));",
        "struct F { int a; __device__ int operator()(int i) const { return i + a; } };",
    ),
    "fpointer": Kernel(
        True,
        "int (*p)(int) = odd; probe(p(n));",
        "__device__ int odd(int i) { return i ^ threadIdx.x; }",
    ),
    "fpointer_u": Kernel(
        False,
        "int (*p)(int) = odd; probe(p(n));",
        "__device__ int odd(int i) { return i ^ 1; }",
    ),
    "ctor": Kernel(
        True,
        "S s(n); probe(s.a);",
        "struct S { int a; __device__ S(int x) : a(x + threadIdx.x) {} };",
    ),
    "ctor_u": Kernel(
        False,
        "S s(n); probe(s.a);",
        "struct S { int a; __device__ S(int x) : a(x) {} };",
    ),
    "ctor_body": Kernel(
        True,
        "S s(n); probe(s.a);",
        "struct S { int a; __device__ S(int x) { a = x; if (threadIdx.x > 3) a = 1; } };",
    ),
    "setter": Kernel(
        True,
        "S s; s.set(threadIdx.x); probe(s.get());",
        "struct S { int a = 0; __device__ void set(int x) { a = x; } __device__ int get() const { return a; } };",
    ),
    "setter_u": Kernel(
        False,
        "S s; s.set(n); probe(s.get());",
        "struct S { int a = 0; __device__ void set(int x) { a = x; } __device__ int get() const { return a; } };",
    ),
    "default_member": Kernel(
        True,
        "S s; probe(s.a);",
        "struct S { int a = threadIdx.x; };",
    ),
    "default_member_u": Kernel(
        False,
        "S s; probe(s.a);",
        "struct S { int a = 3; };",
    ),
    "op_shift": Kernel(
        True,
        "S s{n}; s << 1; probe(s.a);",
        "struct S { int a; }; __device__ S& operator<<(S& s, int k) { s.a = threadIdx.x << k; return s; }",
    ),
    "op_plus_u": Kernel(
        False,
        "S s{n}; S t = s + s; probe(t.a);",
        "struct S { int a; }; __device__ S operator+(S x, S y) { return S{x.a + y.a}; }",
    ),
    "op_plus": Kernel(
        True,
        "S s{n}; S t = s + S{(int)threadIdx.x}; probe(t.a);",
        "struct S { int a; }; __device__ S operator+(S x, S y) { return S{x.a + y.a}; }",
    ),
    "ref_brace": Kernel(
        True,
        "int a = n; int& q{a}; q = threadIdx.x; probe(a);",
    ),
    "ref_u": Kernel(
        False,
        "int a = n; int& q{a}; q = n + 1; probe(a);",
    ),
    "ref_eq": Kernel(
        True,
        "int a = n; int& q = a; q = threadIdx.x; probe(a);",
    ),
    "ptr": Kernel(
        True,
        "int a = n; int* q = &a; *q = threadIdx.x; probe(a);",
    ),
    "ptr_u": Kernel(
        False,
        "int a = n; int* q = &a; *q = n; probe(a);",
    ),
    "array_callee": Kernel(
        True,
        "int a[2]; fill(a); probe(a[1]);",
        "__device__ void fill(int* a) { a[0] = 1; a[1] = threadIdx.x; }",
    ),
    "array_callee_other": Kernel(
        False,
        "int a[2]; fill(a); probe(a[0]);",
        "__device__ void fill(int* a) { a[0] = 1; a[1] = threadIdx.x; }",
    ),
    "ref_param": Kernel(
        True,
        "int a = n; fill(a); probe(a);",
        "__device__ void fill(int& a) { a = threadIdx.x; }",
    ),
    "ref_param_u": Kernel(
        False,
        "int a = n; fill(a); probe(a);",
        "__device__ void fill(int& a) { a += 2; }",
    ),
    "macro_decl": Kernel(
        True,
        "DECL(a); probe(a);",
        "#define DECL(V_) int V_ = threadIdx.x",
    ),
    "macro_cond": Kernel(
        True,
        "probe(ODD(n));",
        "#define ODD(V_) (((V_) + threadIdx.x) & 1)",
    ),
    "macro_u": Kernel(
        False,
        "probe(ODD(n));",
        "#define ODD(V_) (((V_) + 3) & 1)",
    ),
    "macro_tid": Kernel(
        True,
        "probe(TID);",
        "#define TID threadIdx.x",
    ),
    "macro_loop": Kernel(
        True,
        "int s = 0; FOR(i, n) { s += i; } probe(s);",
        "#define FOR(i, n) for (int i = threadIdx.x; i < (n); i += 4)",
    ),
    "break_after": Kernel(
        True,
        "int i = 0; for (;; ++i) { if (i == threadIdx.x) break; } probe(i);",
    ),
    "break_u": Kernel(
        False,
        "int i = 0; for (;; ++i) { if (i == n) break; out[i] = 1; } probe(i);",
    ),
    "goto_after": Kernel(
        True,
        "int i = 0; again: if (i < threadIdx.x) { ++i; goto again; } probe(i);",
    ),
    "goto_u": Kernel(
        False,
        "int i = 0; again: if (i < n) { ++i; out[i] = 2; goto again; } probe(i);",
    ),
    "goto_skip": Kernel(
        True,
        "int i = 0; if (threadIdx.x > 3) goto end; i = 1; end: probe(i);",
    ),
    "while_div": Kernel(
        True,
        "int i = 0; while (i < threadIdx.x) i += 2; probe(i);",
    ),
    "do_div": Kernel(
        True,
        "int i = 0; do { i += 2; } while (i < threadIdx.x); probe(i);",
    ),
    "for_u": Kernel(
        False,
        "int s = 0; for (int i = 0; i < n; ++i) s += out[i]; probe(s);",
    ),
    "if_phi": Kernel(
        True,
        "int x = 0; if (threadIdx.x > 3) x = 1; probe(x);",
    ),
    "if_phi_else": Kernel(
        True,
        "int x; if (threadIdx.x > 3) x = n; else x = n + 1; probe(x);",
    ),
    "if_same": Kernel(
        False,
        "int x = n; if (threadIdx.x > 3) out[0] = 1; probe(x);",
    ),
    "ternary": Kernel(
        True,
        "int x = threadIdx.x > 3 ? n : 1; probe(x);",
    ),
    "ternary_u": Kernel(
        False,
        "int x = n > 3 ? n : 1; probe(x);",
    ),
    "switch_div": Kernel(
        True,
        "int x = 0; switch (threadIdx.x) { case 0: x = 1; break; case 1: x = 2; break; default: x = 3; } probe(x);",
    ),
    "switch_u": Kernel(
        False,
        "int x = 0; switch (n) { case 0: x = 1; break; case 1: x = 2; break; default: x = 3; } probe(x);",
    ),
    "switch_fall": Kernel(
        True,
        "int x = 0; switch (n) { case 0: x = threadIdx.x; case 1: x += 2; break; default: x = 3; } probe(x);",
    ),
    "early_return_fn": Kernel(
        True,
        "probe(f(n));",
        "__device__ int f(int i) { if (threadIdx.x == 3) return 1; return i; }",
    ),
    "early_return_u": Kernel(
        False,
        "probe(f(n));",
        "__device__ int f(int i) { if (i == 3) return 1; return i; }",
    ),
    "shared_load": Kernel(
        False,
        "__shared__ int s[4]; if (threadIdx.x == 0) s[0] = n; __syncthreads(); probe(s[0]);",
    ),
    "shared_load_v": Kernel(
        True,
        "__shared__ int s[64]; s[threadIdx.x] = n + threadIdx.x; __syncthreads(); probe(s[threadIdx.x ^ 1]);",
    ),
    "global_u": Kernel(
        False,
        "probe(out[n]);",
    ),
    "global_v": Kernel(
        True,
        "probe(out[threadIdx.x]);",
    ),
    "blockidx": Kernel(
        False,
        "probe(out[blockIdx.x]);",
    ),
    "struct_field_u": Kernel(
        False,
        "S s; s.a = threadIdx.x; s.b = n; probe(s.b);",
        "struct S { int a, b; };",
    ),
    "struct_field_v": Kernel(
        True,
        "S s; s.a = threadIdx.x; s.b = n; probe(s.a);",
        "struct S { int a, b; };",
    ),
    "struct_copy": Kernel(
        True,
        "S s; s.a = threadIdx.x; s.b = n; S t = s; probe(t.a);",
        "struct S { int a, b; };",
    ),
    "struct_copy_u": Kernel(
        False,
        "S s; s.a = threadIdx.x; s.b = n; S t = s; probe(t.b);",
        "struct S { int a, b; };",
    ),
    "struct_return": Kernel(
        True,
        "probe(make(n).a);",
        "struct S { int a, b; }; __device__ S make(int n) { S s; s.a = threadIdx.x; s.b = n; return s; }",
    ),
    "struct_return_u": Kernel(
        False,
        "probe(make(n).b);",
        "struct S { int a, b; }; __device__ S make(int n) { S s; s.a = threadIdx.x; s.b = n; return s; }",
    ),
    "struct_ptr": Kernel(
        True,
        "S s; S* p = &s; p->a = threadIdx.x; probe(s.a);",
        "struct S { int a, b; };",
    ),
    "nested_struct": Kernel(
        True,
        "O o; o.s.a = threadIdx.x; o.s.b = n; probe(o.s.a);",
        "struct S { int a, b; }; struct O { S s; };",
    ),
    "nested_struct_u": Kernel(
        False,
        "O o; o.s.a = threadIdx.x; o.s.b = n; probe(o.s.b);",
        "struct S { int a, b; }; struct O { S s; };",
    ),
    "array_local": Kernel(
        True,
        "int a[4] = {0, 1, 2, 3}; probe(a[threadIdx.x & 3]);",
    ),
    "array_local_u": Kernel(
        False,
        "int a[4] = {0, 1, 2, 3}; probe(a[1]);",
    ),
    "array_weak": Kernel(
        True,
        "int a[4] = {0, 1, 2, 3}; a[n & 3] = threadIdx.x; probe(a[1]);",
    ),
    "template_val": Kernel(
        False,
        "probe(f<3>(n));",
        "template <int N> __device__ int f(int i) { return i * N; }",
    ),
    "template_val_v": Kernel(
        True,
        "probe(f<3>(n));",
        "template <int N> __device__ int f(int i) { return i * N + threadIdx.x; }",
    ),
    "template_functor": Kernel(
        True,
        "probe(apply(n, [](int i) { return i + threadIdx.x; }));",
        "template <class F> __device__ int apply(int i, F f) { return f(i); }",
    ),
    "template_functor_u": Kernel(
        False,
        "probe(apply(n, [](int i) { return i + 1; }));",
        "template <class F> __device__ int apply(int i, F f) { return f(i); }",
    ),
    "template_functor_obj": Kernel(
        True,
        "probe(apply(n, G()));",
        "struct G { __device__ int operator()(int i) const { return i + threadIdx.x; } }; "
        "template <class F> __device__ int apply(int i, F f) { return f(i); }",
    ),
    "default_arg": Kernel(
        True,
        "probe(f(n));",
        "__device__ int f(int i, int j = threadIdx.x) { return i + j; }",
    ),
    "default_arg_u": Kernel(
        False,
        "probe(f(n));",
        "__device__ int f(int i, int j = 4) { return i + j; }",
    ),
    "comma": Kernel(
        True,
        "int x; probe((x = threadIdx.x, x + 1));",
    ),
    "assign_in_cond": Kernel(
        True,
        "int x; if ((x = threadIdx.x) > 3) out[0] = 1; probe(x);",
    ),
    "compound_assign": Kernel(
        True,
        "int x = n; x += threadIdx.x; probe(x);",
    ),
    "increment": Kernel(
        False,
        "int x = n; x++; ++x; probe(x);",
    ),
    "swap": Kernel(
        True,
        "int a = n, b = threadIdx.x; int t = a; a = b; b = t; probe(a);",
    ),
    "swap_u": Kernel(
        False,
        "int a = n, b = threadIdx.x; int t = a; a = b; b = t; probe(b);",
    ),
    "overwrite_u": Kernel(
        False,
        "int a = threadIdx.x; out[a] = 1; a = n; probe(a);",
    ),
    "logical_short": Kernel(
        True,
        "bool b = n && f(); probe(b);",
        "__device__ bool f() { return threadIdx.x > 3; }",
    ),
    "logical_plain": Kernel(
        True,
        "bool b = n > 2 && threadIdx.x > 3; probe(b);",
    ),
    "recursion": Kernel(
        True,
        "probe(f(n));",
        "__device__ int f(int i) { return i <= 0 ? threadIdx.x : f(i - 1); }",
    ),
    "atomic": Kernel(
        True,
        "probe(atomicAdd(out, 1));",
    ),
    "asm_lane": Kernel(
        True,
        'unsigned l; asm volatile("v_mbcnt_lo_u32_b32 %0, -1, 0" : "=v"(l)); probe(l);',
    ),
    "conv_op": Kernel(
        True,
        "S s{n}; int x = s; probe(x);",
        "struct S { int a; __device__ operator int() const { return a + threadIdx.x; } };",
    ),
    "conv_op_u": Kernel(
        False,
        "S s{n}; int x = s; probe(x);",
        "struct S { int a; __device__ operator int() const { return a; } };",
    ),
    "base_method": Kernel(
        True,
        "D d; probe(d.get());",
        "struct B { __device__ int get() { return threadIdx.x; } }; struct D : B {};",
    ),
    "base_ctor": Kernel(
        True,
        "D d(n); probe(d.a);",
        "struct B { int a; __device__ B(int x) : a(x + threadIdx.x) {} }; "
        "struct D : B { __device__ D(int x) : B(x) {} };",
    ),
    "virtual": Kernel(
        True,
        "D d; B* b = &d; probe(b->get());",
        "struct B { __device__ virtual int get() { return 0; } }; "
        "struct D : B { __device__ int get() override { return threadIdx.x; } };",
    ),
    "ret_ref": Kernel(
        True,
        "S s{n}; s.at() = threadIdx.x; probe(s.a);",
        "struct S { int a; __device__ int& at() { return a; } };",
    ),
    "ret_ref_u": Kernel(
        False,
        "S s{n}; s.at() = n + 1; probe(s.a);",
        "struct S { int a; __device__ int& at() { return a; } };",
    ),
    "ret_ref_bound": Kernel(
        True,
        "S s{n}; int& r = s.at(); r = threadIdx.x; probe(s.a);",
        "struct S { int a; __device__ int& at() { return a; } };",
    ),
    "chain_this": Kernel(
        True,
        "S s{n}; s.set(threadIdx.x).noop(); probe(s.a);",
        "struct S { int a; __device__ S& set(int x) { a = x; return *this; } __device__ void noop() {} };",
    ),
    "global_var": Kernel(
        False,
        "probe(g);",
        "__device__ int g;",
    ),
    "const_global": Kernel(
        False,
        "probe(g);",
        "__constant__ int g;",
    ),
    "tid_helper": Kernel(
        True,
        "probe(tid());",
        "__device__ int tid() { return threadIdx.x; }",
    ),
    "tid_namespace": Kernel(
        True,
        "probe(ns::tid());",
        "namespace ns { __device__ int tid() { return threadIdx.x; } }",
    ),
    "static_method": Kernel(
        True,
        "probe(S::tid());",
        "struct S { __device__ static int tid() { return threadIdx.x; } };",
    ),
    "range_for": Kernel(
        True,
        "int a[3] = {1, (int)threadIdx.x, 2}; int s = 0; for (int x : a) s += x; probe(s);",
    ),
    "range_for_ref": Kernel(
        True,
        "int a[3] = {1, 2, 2}; for (int& x : a) x = threadIdx.x; probe(a[1]);",
    ),
    "range_for_u": Kernel(
        False,
        "int a[3] = {1, n, 2}; int s = 0; for (int x : a) s += x; probe(s);",
    ),
    "struct_binding": Kernel(
        True,
        "auto [a, b] = make(n); probe(a);",
        "struct S { int a, b; }; __device__ S make(int n) { S s; s.a = threadIdx.x; s.b = n; return s; }",
    ),
    "loop_carried": Kernel(
        True,
        "int a = 0, b = 0; for (int i = 0; i < n; ++i) { a = b; b = threadIdx.x; } probe(a);",
    ),
    "loop_carried_u": Kernel(
        False,
        "int a = 0, b = 0; for (int i = 0; i < n; ++i) { a = b; b = i; } probe(a);",
    ),
    "temporal_inner": Kernel(
        True,
        "int last = 0; for (int i = 0; i < 100; ++i) { last = out[i]; if (last > threadIdx.x) break; } probe(last);",
    ),
    "nested_loop": Kernel(
        True,
        "int c = 0; for (int i = 0; i < n; ++i) for (int j = 0; j < threadIdx.x; ++j) c++; probe(c);",
    ),
    "continue_v": Kernel(
        True,
        "int c = 0; for (int i = 0; i < n; ++i) { if (i == threadIdx.x) continue; c += out[i]; } probe(c);",
    ),
    "continue_u": Kernel(
        False,
        "int c = 0; for (int i = 0; i < n; ++i) { if (i == 3) continue; c += out[i]; } probe(c);",
    ),
    "div_region_inner_u": Kernel(
        False,
        "if (threadIdx.x > 3) { int x = 0; if (n > 2) x = 1; probe(x); }",
    ),
    "ballot": Kernel(
        False,
        "probe(__ballot(threadIdx.x & 1) != 0);",
    ),
    "memcpy_like": Kernel(
        True,
        "int a = threadIdx.x, b = n; copy(&b, &a); probe(b);",
        "__device__ void copy(int* d, const int* s) { *d = *s; }",
    ),
    "copy_u": Kernel(
        False,
        "int a = n, b = threadIdx.x; copy(&b, &a); probe(b);",
        "__device__ void copy(int* d, const int* s) { *d = *s; }",
    ),
    "ptr_arith": Kernel(
        True,
        "int a[4] = {0, 0, 0, 0}; int* p = a; *(p + 1) = threadIdx.x; probe(a[1]);",
    ),
    "ptr_choice": Kernel(
        True,
        "int a = n, b = 2; int* p = threadIdx.x > 3 ? &a : &b; probe(*p);",
    ),
    "ptr_ptr": Kernel(
        True,
        "int a = n; int* p = &a; int** q = &p; **q = threadIdx.x; probe(a);",
    ),
    "ptr_member": Kernel(
        True,
        "int a = n; S s{&a}; *s.p = threadIdx.x; probe(a);",
        "struct S { int* p; };",
    ),
    "union_pun": Kernel(
        True,
        "U u; u.i = threadIdx.x; probe(u.f > 0.f);",
        "union U { int i; float f; };",
    ),
    "float4": Kernel(
        True,
        "float4 v; v.x = threadIdx.x; v.y = n; probe(v.x > 2.f);",
    ),
    "float4_u": Kernel(
        False,
        "float4 v; v.x = threadIdx.x; v.y = n; probe(v.y > 2.f);",
    ),
    "make_float2_u": Kernel(
        False,
        "float2 v = make_float2(threadIdx.x, n); probe(v.y > 2.f);",
    ),
    "make_float2": Kernel(
        True,
        "float2 v = make_float2(threadIdx.x, n); probe(v.x > 2.f);",
    ),
    "min_u": Kernel(
        False,
        "probe(min(n, 4));",
    ),
    "min_v": Kernel(
        True,
        "probe(min(n, (int)threadIdx.x));",
    ),
    "if_init": Kernel(
        True,
        "if (int k = threadIdx.x; k > 3) out[0] = k; int z = 0; if (int k = threadIdx.x) z = k; probe(z);",
    ),
    "functor_array": Kernel(
        True,
        "F f[2]; f[1].a = threadIdx.x; probe(f[1](n));",
        "struct F { int a = 0; __device__ int operator()(int i) const { return i + a; } };",
    ),
    "index_op": Kernel(
        True,
        "V v; v[1] = threadIdx.x; probe(v[1]);",
        "struct V { int a[4]; __device__ int& operator[](int i) { return a[i]; } };",
    ),
    "index_op_u": Kernel(
        False,
        "V v; v[1] = n; probe(v[1]);",
        "struct V { int a[4]; __device__ int& operator[](int i) { return a[i]; } };",
    ),
    "call_op_ref": Kernel(
        True,
        "int a = n; G g; g(a); probe(a);",
        "struct G { __device__ void operator()(int& x) const { x = threadIdx.x; } };",
    ),
    "lambda_ref_param": Kernel(
        True,
        "int a = n; auto g = [](int& x) { x = threadIdx.x; }; g(a); probe(a);",
    ),
    "lambda_nested": Kernel(
        True,
        "auto f = [&] { auto g = [&] { return (int)threadIdx.x + n; }; return g(); }; probe(f());",
    ),
    "lambda_generic": Kernel(
        True,
        "auto f = [](auto x) { return x + threadIdx.x; }; probe(f(n));",
    ),
    "inherit_using": Kernel(
        False,
        "D d; d.set(n); probe(d.a);",
        "struct B { int a; __device__ void set(int x) { a = x; } }; struct D : B {};",
    ),
    "inherit_v": Kernel(
        True,
        "D d; d.set(threadIdx.x); probe(d.a);",
        "struct B { int a; __device__ void set(int x) { a = x; } }; struct D : B {};",
    ),
    "enum_u": Kernel(
        False,
        "enum { A, B }; probe(A + n);",
    ),
    "sizeof_u": Kernel(
        False,
        "probe(sizeof(threadIdx.x) + n);",
    ),
    "cond_lambda_assign": Kernel(
        True,
        "int x = 0; auto f = [&](bool c) { if (c) x = 1; }; f(threadIdx.x > 3); probe(x);",
    ),
    "pre_if": Kernel(
        True,
        "int x = n;\n#if FOO\nx = 3;\n#else\nx = threadIdx.x;\n#endif\nprobe(x);",
    ),
    "pass_fn": Kernel(
        True,
        "probe(call(tid, n));",
        "__device__ int tid(int i) { return i + threadIdx.x; "
        "} __device__ int call(int (*f)(int), int i) { return f(i); }",
    ),
    "pass_fn_u": Kernel(
        False,
        "probe(call(one, n));",
        "__device__ int one(int i) { return i + 1; } __device__ int call(int (*f)(int), int i) { return f(i); }",
    ),
    "member_named_like_a_constant": Kernel(
        True,
        "S s; s.kN = threadIdx.x; probe(s.f());",
        "constexpr int kN = 3; struct S { int kN; __device__ int f() { if (kN) return 1; return 2; } };",
    ),
    "constant_or_thread_by_condition": Kernel(
        True,
        "probe(N_);",
        "#if A\n#define N_ 3\n#else\n#define N_ threadIdx.x\n#endif",
    ),
    "macro_declares_a_constants_name": Kernel(
        True,
        "DECL(kN); probe(kN);",
        "constexpr int kN = 3;\n#define DECL(V_) int V_ = threadIdx.x",
    ),
    "unseen_base": Kernel(
        True,
        "S s; probe(s.f());",
        "struct S : Unseen { __device__ int f() { return own_ > 1; } };",
    ),
    "closure_to_unseen": Kernel(
        True,
        "int x = 0; unseen([&] { x = threadIdx.x; }); probe(x);",
    ),
    "closure_by_auto_to_unseen": Kernel(
        True,
        "int x = 0; auto f = [&] { x = threadIdx.x; }; unseen(f); probe(x);",
    ),
    "declared_constructor": Kernel(
        True,
        "S s(n); probe(s.a);",
        "struct S { int a; __device__ S(int); };",
    ),
    "declared_default_constructor": Kernel(
        True,
        "S s; probe(s.a);",
        "struct S { int a; __device__ S(); };",
    ),
    "declared_method_value": Kernel(
        True,
        "S s{n}; probe(s.value());",
        "struct S { int a; __device__ int value() const; };",
    ),
    "declared_get": Kernel(
        True,
        "probe(get(n));",
        "__device__ int get(int n);",
    ),
    "declared_clamp": Kernel(
        True,
        "probe(clamp(n, 1, 2));",
        "__device__ int clamp(int, int, int);",
    ),
    "virtual_from_base": Kernel(
        True,
        "D d; probe(d.f());",
        "struct B { __device__ virtual int get() { return 0; } __device__ int f() { return get(); } }; "
        "struct D : B { __device__ int get() override { return threadIdx.x; } };",
    ),
    "escaped": Kernel(
        True,
        "__shared__ int* t[4]; int a = n; t[0] = &a; *t[0] = threadIdx.x; probe(a);",
    ),
    "escaped_to_unseen_struct": Kernel(
        True,
        "int a = n; Unseen u; u.p = &a; u.set(threadIdx.x); probe(a);",
    ),
    "static_local": Kernel(
        True,
        "probe(f());",
        "__device__ int f() { static thread_local int a; return a + threadIdx.x; }",
    ),
    "assign_in_condition_hidden": Kernel(
        True,
        "int x = n; if (n > 2 && (x = threadIdx.x)) out[0] = 1; probe(x);",
    ),
    "pointer_to_member_function": Kernel(
        True,
        "S s{n}; int (S::*p)() = &S::f; probe((s.*p)());",
        "struct S { int a; __device__ int f() { return a + threadIdx.x; } };",
    ),
    "int_array_index_by_tid_store": Kernel(
        True,
        "int a[4] = {0,0,0,0}; a[threadIdx.x & 3] = 1; probe(a[0]);",
    ),
    "2d_array": Kernel(
        True,
        "int a[2][2] = {{0,0},{0,0}}; a[1][0] = threadIdx.x; probe(a[1][0]);",
    ),
    "2d_array_fill": Kernel(
        True,
        "int a[2][2]; for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) a[i][j] = threadIdx.x; probe(a[1][0]);",
    ),
    "memcpy": Kernel(
        True,
        "int a = threadIdx.x, b = 0; memcpy(&b, &a, 4); probe(b);",
    ),
    "char_cast_div": Kernel(
        True,
        "unsigned char c = threadIdx.x * 8; probe(c / 128);",
    ),
    "unsigned_wrap": Kernel(
        True,
        "probe(threadIdx.x - 32 < 2000u);",
    ),
    "try_other_order": Kernel(
        True,
        "int x = 0; for (int i = 0; i < 4; ++i) { if (i > 0) probe(x); x = threadIdx.x; }",
    ),
    "asm_no_outputs_memory": Kernel(
        True,
        'int x = n; asm volatile("mov.u32 %0, %%laneid;" : "=r"(x)); probe(x);',
    ),
    "conditional_operator_address": Kernel(
        True,
        "int a = n, b = n; (n > 1 ? a : b) = threadIdx.x; probe(a);",
    ),
    "comma_ref": Kernel(
        True,
        "int a = n; int &r = (out[0], a); r = threadIdx.x; probe(a);",
    ),
    "preinc_ref": Kernel(
        True,
        "int a = n; (++a) += threadIdx.x; probe(a);",
    ),
    "return_ref_chain_free": Kernel(
        True,
        "int a = n; pick(a) = threadIdx.x; probe(a);",
        "__device__ int& pick(int& x) { return x; }",
    ),
    "ref_member": Kernel(
        True,
        "int a = n; R r{a}; r.x = threadIdx.x; probe(a);",
        "struct R { int& x; };",
    ),
    "ref_member_ctor": Kernel(
        True,
        "int a = n; R r(a); r.set(); probe(a);",
        "struct R { int& x; __device__ R(int& y) : x(y) {} __device__ void set() { x = threadIdx.x; } };",
    ),
    "function_try_goto_out_of_loop": Kernel(
        True,
        "int x = 0; for (int i = 0; i < n; ++i) { for (;;) { if (i == threadIdx.x) goto out_; break; } "
        "x = i; } out_: probe(x);",
    ),
    "duff": Kernel(
        True,
        "int x = 0; switch (threadIdx.x & 1) { do { case 0: x++; default: x += 2; } while (x < n); } probe(x);",
    ),
    "pointer_param_swap": Kernel(
        True,
        "int a = n, b = threadIdx.x; swap(a, b); probe(a);",
        "__device__ void swap(int& x, int& y) { int t = x; x = y; y = t; }",
    ),
    "std_swap": Kernel(
        True,
        "int a = n, b = threadIdx.x; std::swap(a, b); probe(a);",
    ),
    "auto_ref_lambda_param": Kernel(
        True,
        "int a = n; auto g = [](auto& x) { x = threadIdx.x; }; g(a); probe(a);",
    ),
    "mutable_lambda_counter": Kernel(
        True,
        "auto g = [c = 0]() mutable { return c += threadIdx.x; }; g(); probe(g());",
    ),
    "lambda_returned": Kernel(
        True,
        "auto g = make(threadIdx.x); probe(g());",
        "__device__ auto make(int v) { return [v] { return v; }; }",
    ),
    "functor_returned": Kernel(
        True,
        "auto g = make(threadIdx.x); probe(g());",
        "struct G { int v; __device__ int operator()() const { return v; } }; __device__ G make(int v) "
        "{ return G{v}; }",
    ),
    "function_template_pointer": Kernel(
        True,
        "probe(call<tid>(n));",
        "__device__ int tid(int i) { return threadIdx.x; } template <int (*F)(int)> __device__ int "
        "call(int n) { return F(n); }",
    ),
    "type_param_static": Kernel(
        True,
        "probe(call<T1>(n));",
        "struct T1 { __device__ static int f(int) { return threadIdx.x; } }; template <class P> "
        "__device__ int call(int n) { return P::f(n); }",
    ),
    "template_spec_value": Kernel(
        True,
        "probe(W<int>::f(n));",
        "template <class P> struct W { __device__ static int f(int n) { return threadIdx.x; } };",
    ),
    "array_of_functions": Kernel(
        True,
        "int (*t[2])(int) = {one, tid}; probe(t[1](n));",
        "__device__ int one(int i) { return 1; } __device__ int tid(int i) { return threadIdx.x; }",
    ),
    "global_reference_var": Kernel(
        True,
        "probe(g());",
        '__device__ int g() { int lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane; }',
    ),
    "bitfield": Kernel(
        True,
        "S s; s.a = threadIdx.x; probe(s.a);",
        "struct S { unsigned a : 4, b : 4; };",
    ),
    "inherited_ctor_via_using": Kernel(
        True,
        "D d(threadIdx.x); probe(d.a);",
        "struct B { int a; __device__ B(int x) : a(x) {} }; struct D : B { using B::B; };",
    ),
    "copy_ctor": Kernel(
        True,
        "S s(n); S t = s; probe(t.a);",
        "struct S { int a; __device__ S(int x) : a(x) {} __device__ S(const S& o) : a(o.a + threadIdx.x) {} };",
    ),
    "assignment_operator": Kernel(
        True,
        "S s{n}, t{n}; t = s; probe(t.a);",
        "struct S { int a; __device__ S& operator=(const S& o) { a = threadIdx.x; return *this; } };",
    ),
    "compound_operator": Kernel(
        True,
        "S s{n}; s += 1; probe(s.a);",
        "struct S { int a; __device__ S& operator+=(int o) { a = threadIdx.x; return *this; } };",
    ),
    "unary_operator": Kernel(
        True,
        "S s{n}; probe(!s);",
        "struct S { int a; __device__ bool operator!() const { return threadIdx.x > 3; } };",
    ),
    "inc_operator": Kernel(
        True,
        "S s{n}; ++s; probe(s.a);",
        "struct S { int a; __device__ S& operator++() { a = threadIdx.x; return *this; } };",
    ),
    "deref_operator": Kernel(
        True,
        "S s{n}; probe(*s);",
        "struct S { int a; __device__ int operator*() const { return threadIdx.x; } };",
    ),
    "arrow_operator": Kernel(
        True,
        "P p; probe(p->a);",
        "struct S { int a; }; struct P { S s; __device__ S* operator->() { s.a = threadIdx.x; return &s; } };",
    ),
    "index_operator_value": Kernel(
        True,
        "S s; probe(s[n]);",
        "struct S { __device__ int operator[](int i) const { return threadIdx.x; } };",
    ),
    "bool_conversion_in_if": Kernel(
        True,
        "S s{n}; int x = 0; if (s) x = 1; probe(x);",
        "struct S { int a; __device__ operator bool() const { return threadIdx.x > 3; } };",
    ),
    "compare_operator": Kernel(
        True,
        "S s{n}; probe(s == s);",
        "struct S { int a; __device__ bool operator==(const S& o) const { return threadIdx.x > 3; } };",
    ),
    "destructor": Kernel(
        True,
        "int a = n; { S s{&a}; } probe(a);",
        "struct S { int* p; __device__ ~S() { *p = threadIdx.x; } };",
    ),
    "friend_operator": Kernel(
        True,
        "S s{n}; probe(s * 2);",
        "struct S { int a; __device__ friend int operator*(S s, int k) { return threadIdx.x; } };",
    ),
    "optional_default_member_call": Kernel(
        True,
        "S s; probe(s.a);",
        "__device__ int tid() { return threadIdx.x; } struct S { int a = tid(); };",
    ),
    "range_object": Kernel(
        True,
        "R r{n}; int c = 0; for (int i : r) c++; probe(c);",
        "struct R { int n; __device__ int* begin() const { return nullptr; } __device__ int* end() "
        "const { return begin() + threadIdx.x; } };",
    ),
    "nested_value_capture": Kernel(
        True,
        "int t = threadIdx.x; auto f = [=] { auto g = [=] { return t + n; }; return g(); }; probe(f());",
    ),
    "lambda_in_struct": Kernel(
        True,
        "auto l = [](int i) { return i + (int)threadIdx.x; }; Holder<decltype(l)> h{l}; probe(h.run(n));",
        "template <class F> struct Holder { F f; __device__ int run(int n) { return f(n); } };",
    ),
    "crtp": Kernel(
        True,
        "D d; probe(d.f(n));",
        "template <class T> struct B { __device__ int f(int n) { return static_cast<T*>(this)->g(n); } "
        "}; struct D : B<D> { __device__ int g(int n) { return threadIdx.x; } };",
    ),
    "class_template_member": Kernel(
        True,
        "V<int> v(threadIdx.x); probe(v.x);",
        "template <class T> struct V { T x; __device__ V(T y) : x(y) {} };",
    ),
    "functor_as_member": Kernel(
        True,
        "A a; probe(a.op(n));",
        "struct Op { __device__ int operator()(int i) const { return threadIdx.x; } }; struct A { Op op; };",
    ),
    "ref_to_element": Kernel(
        True,
        "int a[2] = {0, 0}; int& r = a[1]; r = threadIdx.x; probe(a[1]);",
    ),
    "chain_assign": Kernel(
        True,
        "int a, b; a = b = threadIdx.x; probe(a);",
    ),
    "chain_assign_b": Kernel(
        True,
        "int a, b; a = b = threadIdx.x; probe(b);",
    ),
    "designated": Kernel(
        True,
        "S s{.a = (int)threadIdx.x, .b = 1}; probe(s.a);",
        "struct S { int a, b; };",
    ),
    "binding_ref": Kernel(
        True,
        "S s{n, n}; auto& [a, b] = s; a = threadIdx.x; probe(s.a);",
        "struct S { int a, b; };",
    ),
    "binding_array": Kernel(
        True,
        "int q[2] = {n, (int)threadIdx.x}; auto [a, b] = q; probe(b);",
    ),
    "fold": Kernel(
        True,
        "probe(sum(n, threadIdx.x));",
        "template <class... T> __device__ int sum(T... t) { return (t + ...); }",
    ),
    "variadic_forward": Kernel(
        True,
        "probe(call(tid, n));",
        "__device__ int tid(int i) { return threadIdx.x; } template <class F, class... A> __device__ "
        "int call(F f, A&&... a) { return f(a...); }",
    ),
    "if_constexpr": Kernel(
        True,
        "int x = 0; if constexpr (sizeof(int) == 4) x = threadIdx.x; probe(x);",
    ),
    "switch_break_loop": Kernel(
        True,
        "int x = 0; for (int i = 0; i < n; ++i) { switch (i & 1) { case 0: if (threadIdx.x > 2) "
        "continue; break; default: break; } x += i; } probe(x);",
    ),
    "do_continue": Kernel(
        True,
        "int x = 0, i = 0; do { ++i; if (threadIdx.x == i) continue; x += i; } while (i < n); probe(x);",
    ),
    "lambda_early_return": Kernel(
        True,
        "auto f = [&](int i) { if (threadIdx.x > 3) return 1; return i; }; probe(f(n));",
    ),
    "macro_do_while": Kernel(
        True,
        "int x = 0; SET(x); probe(x);",
        "#define SET(V_) do { V_ = threadIdx.x; } while (0)",
    ),
    "statement_expression": Kernel(
        True,
        "int x = ({ int y = threadIdx.x; y + 1; }); probe(x);",
    ),
    "conditional_fpointer": Kernel(
        True,
        "int (*p)(int) = threadIdx.x > 3 ? one : two; probe(p(n));",
        "__device__ int one(int) { return 1; } __device__ int two(int) { return 2; }",
    ),
    "pointer_to_pointer_out": Kernel(
        True,
        "int a = 0; int* p; get(&p, &a); *p = threadIdx.x; probe(a);",
        "__device__ void get(int** o, int* i) { *o = i; }",
    ),
    "alias": Kernel(
        True,
        "int a = n; int *p = &a, *q = p; *q = threadIdx.x; probe(*p);",
    ),
    "struct_array": Kernel(
        True,
        "S s[2]; s[0].a = n; s[1].a = threadIdx.x; probe(s[1].a);",
        "struct S { int a; };",
    ),
    "struct_array_pointer": Kernel(
        True,
        "S s[2]; S* p = s; p[1].a = threadIdx.x; probe(s[1].a);",
        "struct S { int a; };",
    ),
    "struct_array_walk": Kernel(
        True,
        "S s[2]; for (S* p = s; p != s + 2; ++p) p->a = threadIdx.x; probe(s[0].a);",
        "struct S { int a; };",
    ),
    "slice": Kernel(
        True,
        "D d; d.a = threadIdx.x; B b = d; probe(b.a);",
        "struct B { int a; }; struct D : B { int c; };",
    ),
    "const_cast": Kernel(
        True,
        "const int a = n; const_cast<int&>(a) = threadIdx.x; probe(a);",
    ),
    "cast_pointer_write": Kernel(
        True,
        "int a = n; *(unsigned*)&a = threadIdx.x; probe(a);",
    ),
    "reinterpret_write": Kernel(
        True,
        "float f = n; *reinterpret_cast<int*>(&f) = threadIdx.x; probe(f > 1.f);",
    ),
    "reinterpret_struct": Kernel(
        True,
        "S s{n, n}; reinterpret_cast<int*>(&s)[1] = threadIdx.x; probe(s.b);",
        "struct S { int a, b; };",
    ),
    "reinterpret_array_vec": Kernel(
        True,
        "int a[4]; *reinterpret_cast<int4*>(a) = make_int4(threadIdx.x, 0, 0, 0); probe(a[0]);",
    ),
    "vector_index": Kernel(
        True,
        "float4 v = make_float4(n, n, n, n); (&v.x)[1] = threadIdx.x; probe(v.y > 1.f);",
    ),
    "placement_new": Kernel(
        True,
        "S s{n}; new (&s) S{(int)threadIdx.x}; probe(s.a);",
        "struct S { int a; };",
    ),
    "mutual_ref_recursion": Kernel(
        True,
        "int a = n; f(a, 2); probe(a);",
        "__device__ void g(int& x, int k); __device__ void f(int& x, int k) { if (k) g(x, k - 1); else "
        "x = threadIdx.x; } __device__ void g(int& x, int k) { f(x, k); }",
    ),
    "volatile_local": Kernel(
        True,
        "volatile int a = threadIdx.x; probe(a);",
    ),
    "logical_operator": Kernel(
        True,
        "S s{n}; probe(s && s);",
        "struct S { int a; __device__ bool operator&&(const S& o) const { return threadIdx.x > 3; } };",
    ),
    "explicit_conversion": Kernel(
        True,
        "S s{n}; probe(static_cast<bool>(s));",
        "struct S { int a; __device__ explicit operator bool() const { return threadIdx.x > 3; } };",
    ),
    "conversion_passed": Kernel(
        True,
        "S s{n}; probe(take(s));",
        "struct S { int a; __device__ operator int() const { return threadIdx.x; } }; __device__ int "
        "take(int x) { return x; }",
    ),
    "conversion_ctor_passed": Kernel(
        True,
        "probe(take(n));",
        "struct S { int a; __device__ S(int x) : a(threadIdx.x) {} }; __device__ int take(S s) { return s.a; }",
    ),
    "conversion_returned": Kernel(
        True,
        "probe(f(n));",
        "struct S { int a; __device__ operator int() const { return threadIdx.x; } }; __device__ int "
        "f(int n) { S s{n}; return s; }",
    ),
    "ctor_returned": Kernel(
        True,
        "probe(f(n).a);",
        "struct S { int a; __device__ S(int x) : a(threadIdx.x) {} }; __device__ S f(int n) { return n; }",
    ),
    "delegating_ctor": Kernel(
        True,
        "S s; probe(s.a);",
        "struct S { int a; __device__ S(int x) : a(x) {} __device__ S() : S(threadIdx.x) {} };",
    ),
    "member_array_init": Kernel(
        True,
        "S s; probe(s.a[1]);",
        "struct S { int a[2]; __device__ S() : a{0, (int)threadIdx.x} {} };",
    ),
    "nested_object_method": Kernel(
        True,
        "O o; o.s.set(threadIdx.x); probe(o.s.a);",
        "struct S { int a = 0; __device__ void set(int x) { a = x; } }; struct O { S s; };",
    ),
    "nested_object_default": Kernel(
        True,
        "O o; probe(o.s.a);",
        "struct S { int a = threadIdx.x; }; struct O { S s; };",
    ),
    "base_default": Kernel(
        True,
        "D d; probe(d.a);",
        "struct B { int a = threadIdx.x; }; struct D : B { int c = 1; };",
    ),
    "array_of_objects_ctor": Kernel(
        True,
        "S s[2]; probe(s[1].a);",
        "struct S { int a; __device__ S() { a = threadIdx.x; } };",
    ),
    "enum_conversion": Kernel(
        True,
        "E e = threadIdx.x ? E::A : E::B; probe((int)e);",
        "enum class E { A, B };",
    ),
    "tuple_like_get": Kernel(
        True,
        "P p{n, (int)threadIdx.x}; probe(get<1>(p));",
        "struct P { int a, b; }; template <int I> __device__ int get(const P& p) { return I ? p.b : p.a; }",
    ),
    "range_for_struct": Kernel(
        True,
        "S s[2] = {{1}, {(int)threadIdx.x}}; int c = 0; for (auto& e : s) c += e.a; probe(c);",
        "struct S { int a; };",
    ),
    "loop_bound_member": Kernel(
        True,
        "S s{(int)threadIdx.x}; int c = 0; for (int i = 0; i < s.n; ++i) ++c; probe(c);",
        "struct S { int n; };",
    ),
    "goto_into_loop": Kernel(
        True,
        "int i = 0; goto in_; for (; i < n; ++i) { in_: if (i > threadIdx.x) break; } probe(i);",
    ),
    "label_in_switch": Kernel(
        True,
        "int x = 0; switch (n) { case 0: again: x++; if (x < threadIdx.x) goto again; break; default: x "
        "= 7; } probe(x);",
    ),
    "param_modified": Kernel(
        True,
        "n += threadIdx.x; probe(n);",
    ),
    "param_by_callee_pointer": Kernel(
        True,
        "f(&n); probe(n);",
        "__device__ void f(int* p) { *p = threadIdx.x; }",
    ),
    "inline_asm_in_out_ref": Kernel(
        True,
        "int l = 0; lane(l); probe(l);",
        '__device__ void lane(int& r) { asm("mov.u32 %0, %%laneid;" : "=r"(r)); }',
    ),
    "multi_decl_macro": Kernel(
        True,
        "TWO(a, b); probe(b);",
        "#define TWO(X_, Y_) int X_ = 0, Y_ = threadIdx.x",
    ),
    "macro_function_body": Kernel(
        True,
        "probe(f(n));",
        "#define BODY return threadIdx.x;\n__device__ int f(int) { BODY }",
    ),
    "macro_pastes_name": Kernel(
        True,
        "probe(CALL(ti)(n));",
        "__device__ int tid_(int) { return threadIdx.x; }\n#define CALL(X_) X_##d_",
    ),
    "using_alias_functor": Kernel(
        True,
        "G g; probe(g(n));",
        "struct F { __device__ int operator()(int i) const { return threadIdx.x; } }; using G = F;",
    ),
    "typedef_functor": Kernel(
        True,
        "G g; probe(g(n));",
        "struct F { __device__ int operator()(int i) const { return threadIdx.x; } }; typedef F G;",
    ),
    "namespace_alias": Kernel(
        True,
        "namespace m = q; probe(m::tid());",
        "namespace q { __device__ int tid() { return threadIdx.x; } }",
    ),
    "using_declaration": Kernel(
        True,
        "using q::tid; probe(tid());",
        "namespace q { __device__ int tid() { return threadIdx.x; } }",
    ),
    "friend_function": Kernel(
        True,
        "S s{n}; probe(f(s));",
        "struct S { int a; __device__ friend int f(S s) { return threadIdx.x; } };",
    ),
    "out_of_line_method": Kernel(
        True,
        "S s{n}; probe(s.f());",
        "struct S { int a; __device__ int f(); }; __device__ int S::f() { return threadIdx.x; }",
    ),
    "out_of_line_template": Kernel(
        True,
        "S<int> s{n}; probe(s.f());",
        "template <class T> struct S { T a; __device__ int f(); }; template <class T> __device__ int "
        "S<T>::f() { return threadIdx.x; }",
    ),
    "local_struct": Kernel(
        True,
        "struct L { __device__ int f() { return threadIdx.x; } }; L l; probe(l.f());",
    ),
    "local_struct_member": Kernel(
        True,
        "struct L { int a; } l; l.a = threadIdx.x; probe(l.a);",
    ),
    "anonymous_union": Kernel(
        True,
        "S s; s.i = threadIdx.x; probe(s.f > 0.f);",
        "struct S { union { int i; float f; }; };",
    ),
    "comma_operator_order": Kernel(
        True,
        "int x = n; int y = (x = threadIdx.x, x); probe(y);",
    ),
    "ternary_side_effect": Kernel(
        True,
        "int x = n; n > 1 ? (x = threadIdx.x) : 0; probe(x);",
    ),
    "and_side_effect": Kernel(
        True,
        "int x = n; n > 1 && (x = threadIdx.x, true); probe(x);",
    ),
    "nested_call_args": Kernel(
        True,
        "probe(f(g(threadIdx.x)));",
        "__device__ int g(int x) { return x; } __device__ int f(int x) { return x; }",
    ),
    "declaration_like_comparison": Kernel(
        True,
        "ns::Tile<32> first = ns::tile<32>(n); ns::Tile<32> t = ns::made(threadIdx.x); probe(t.v);",
        "namespace ns { template <int N> struct Tile { int v; }; template <int N> __device__ Tile<N> tile(int x) { "
        "Tile<N> made; made.v = x; return made; } __device__ Tile<32> made(int x) { return tile<32>(x); } }",
    ),
    "declaration_like_comparison_u": Kernel(
        False,
        "ns::Tile<32> first = ns::tile<32>(threadIdx.x); ns::Tile<32> t = ns::made(n); probe(t.v);",
        "namespace ns { template <int N> struct Tile { int v; }; template <int N> __device__ Tile<N> tile(int x) { "
        "Tile<N> made; made.v = x; return made; } __device__ Tile<32> made(int x) { return tile<32>(x); } }",
    ),
    "lane_of_2d": Kernel(
        True,
        "probe((threadIdx.x + threadIdx.y * 8) / 32 * 0 + threadIdx.y);",
    ),
    "shift_by_tid": Kernel(
        True,
        "probe(n >> threadIdx.x);",
    ),
    "mod_3": Kernel(
        True,
        "probe(threadIdx.x % 3 == 0);",
    ),
    "div_48": Kernel(
        True,
        "probe(threadIdx.x / 48 % 2);",
    ),
}

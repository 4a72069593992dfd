# SPDX-License-Identifier: Apache-2.0
"""Small programs in which lanes wait for lanes of their own wavefront, and look-alikes.

`WAITS` hang on a wavefront of 64 lanes, or on one of 32, although CUDA's independent threads end. `FINE` end there too.
A text with a `@` is the body of a kernel with the parameters of `_HEAD`, after the text before the `@`.
"""

from __future__ import annotations

_HEAD = "__global__ void k(volatile int *flag, int *word, int *out, int n) {\n    const int t = threadIdx.x;\n    "
_RAISE = " if (t == 32) *flag = 1;"
_LAUNCH = "void launch(int *flag, int *word, int *out, int n) { k<<<4, 256>>>(flag, word, out, n); }\n"


def _program(text: str) -> str:
    if "@" not in text:
        return text.strip() + "\n"
    before, _, body = text.partition("@")
    return f"{before.strip()}\n{_HEAD}{body.strip()}\n}}\n{_LAUNCH}".lstrip()


_WAITS = {
    # Loops of every form: 32 lanes wait before another lane of their wavefront of 64 lanes sets the flag.
    "while": "@ if (t < 32) { while (*flag == 0); }" + _RAISE,
    "while not": "@ if (t < 32) { while (!*flag) {} }" + _RAISE,
    "while reversed": "@ if (t < 32) { while (1 != *flag); }" + _RAISE,
    "while true": "@ if (t < 32) { while (true) { if (*flag) break; } }" + _RAISE,
    "do": "@ if (t < 32) { do { } while (*flag == 0); }" + _RAISE,
    "do work": "@ if (t < 32) { do { out[t] += 1; } while (*flag == 0); }" + _RAISE,
    "for": "@ if (t < 32) { for (; *flag == 0;); }" + _RAISE,
    "for break": "@ if (t < 32) { for (;;) { if (*flag != 0) break; } }" + _RAISE,
    "for else": "@ if (t < 32) { for (;;) { if (*flag == 0) continue; else break; } }" + _RAISE,
    "for counts": "@ int turns = 0; if (t < 32) { for (; *flag == 0; ++turns); } out[t] = turns;" + _RAISE,
    "for return": """
        __device__ int seen(volatile int *f) { for (;;) { if (*f != 0) return *f; } }
        @ if (t < 32) out[t] = seen(flag);"""
    + _RAISE,
    "goto": "@ if (t < 32) { again: if (*flag == 0) goto again; }" + _RAISE,
    "goto out": "@ if (t < 32) { for (;;) { if (*flag) goto out; } } out:;" + _RAISE,
    "switch": "@ if (t < 32) { for (bool on = true; on;) { switch (*flag) { case 0: break; default: on = false; } } }"
    + _RAISE,
    "macro": "#define WAIT(p) while (*(p) == 0)\n@ if (t < 32) { WAIT(flag); }" + _RAISE,
    "macro do": "#define WAIT(p) do { if (*(p)) break; } while (1)\n@ if (t < 32) { WAIT(flag); }" + _RAISE,
    "recursion": """
        __device__ void wait(volatile int *f) { if (*f == 0) wait(f); }
        @ if (t < 32) wait(flag);"""
    + _RAISE,
    "mutual recursion": """
        __device__ void again(volatile int *f);
        __device__ void look(volatile int *f) { if (*f == 0) again(f); }
        __device__ void again(volatile int *f) { __nanosleep(10); look(f); }
        @ if (t < 32) look(flag);"""
    + _RAISE,
    "variable": "@ if (t < 32) { int now = 0; while (now == 0) now = *flag; }" + _RAISE,
    "done": "@ bool done = t >= 32; while (!done) { if (*flag != 0) done = true; }" + _RAISE,
    "choice": "@ bool on = t < 32; while (on) { on = *flag ? false : true; }" + _RAISE,
    "both": "@ if (t < 32) { while (n > 0 && *flag == 0); }" + _RAISE,
    "sleeps": "@ if (t < 32) { int ns = 8; while (*flag == 0) { __nanosleep(ns); if (ns < 256) ns *= 2; } }" + _RAISE,
    "fences": "@ if (t < 32) { while (*flag == 0) __threadfence(); }" + _RAISE,
    "in a loop": "@ for (int i = 1; i < n; ++i) { if (t < 32) { while (*flag < i); } if (t == 32) *flag = i; }",
    "with work": "@ if (t < 32) { float x = t; while (*flag == 0) { x = x * 0.5f + 1; } out[t] = x; }" + _RAISE,
    # The memory that is read, and how.
    "volatile cast": "@ if (t < 32) { while (*(volatile int *)word == 0); } if (t == 32) *word = 1;",
    "volatile reference": "@ volatile int &f = *word; if (t < 32) { while (f == 0); } if (t == 32) f = 1;",
    "plain": "@ if (t < 32) { while (word[0] == 0) __threadfence_block(); } if (t == 32) word[0] = 1;",
    "atomicAdd": "@ if (t < 32) { while (atomicAdd(word, 0) == 0); } if (t == 32) atomicAdd(word, 1);",
    "atomicCAS": "@ if (t < 32) { while (atomicCAS(word, 1, 1) == 0); } if (t == 32) atomicExch(word, 1);",
    "atomicOr": "@ if (t < 32) { for (;;) { if (atomicOr(word, 0)) break; } } if (t == 32) atomicOr(word, 1);",
    "atomicMax": "@ if (t < 32) { while (atomicMax(word, 0) < 1); } if (t == 32) atomicMax(word, 1);",
    "token": "@ if (t < 32) { while (atomicExch(word, 0) == 0); atomicExch(word, 1); } if (t == 32) *flag = *word = 1;",
    "atomic_ref": """
        #include <cuda/atomic>
        @ cuda::atomic_ref<int, cuda::thread_scope_device> seen(*word);
        if (t < 32) { while (seen.load(cuda::memory_order_acquire) == 0); }
        if (t == 32) seen.store(1, cuda::memory_order_release);""",
    "atomic": """
        #include <cuda/atomic>
        __global__ void k(cuda::atomic<int> *at, int *out) {
            if (threadIdx.x < 32) { while (!at->load()) {} }
            if (threadIdx.x == 32) at->store(1);
        }""",
    "ldcg": "@ if (t < 32) { while (__ldcg(word) == 0); } if (t == 32) __stcg(word, 1);",
    "ldcv": "@ if (t < 32) { int v; do { v = __ldcv(word); } while (v == 0); } if (t == 32) __stwt(word, 1);",
    "ptx volatile": """
        @ if (t < 32) { int v; do { asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(v) : "l"(word)); }
        while (v == 0); } if (t == 32) asm volatile("st.volatile.global.s32 [%0], %1;" :: "l"(word), "r"(1) : "memory");
        """,
    "ptx acquire": """
        __device__ int seen(const int *p) {
            int v; asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v;
        }
        __device__ void raise(int *p) {
            asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(p), "r"(1) : "memory");
        }
        @ if (t < 32) { while (seen(word) == 0); } if (t == 32) raise(word);""",
    "ptx for": """
        __device__ int seen(const int *p) {
            int v; asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v;
        }
        @ if (t < 32) { for (;;) { if (seen(word)) break; } } if (t == 32) *flag = *word = 1;""",
    # The place of the wait.
    "helper": "__device__ void wait(volatile int *f) { while (*f == 0); }\n@ if (t < 32) wait(flag);" + _RAISE,
    "helper raises": """
        __device__ void wait(volatile int *f) { while (*f == 0); }
        __device__ void raise(volatile int *f) { *f = 1; }
        @ if (t < 32) wait(flag);
        if (t == 32) raise(flag);""",
    "helper with the condition": """
        __device__ void step(volatile int *f, int t) { if (t < 32) { while (*f == 0); } if (t == 32) *f = 1; }
        @ step(flag, t);""",
    "reader": """
        __device__ bool up(volatile int *f) { return *f != 0; }
        @ if (t < 32) { while (!up(flag)); }"""
    + _RAISE,
    "method": """
        struct Flag {
            volatile int *at;
            __device__ void wait() { while (*at == 0); }
            __device__ void raise() { *at = 1; }
        };
        @ Flag f{flag}; if (t < 32) f.wait(); if (t == 32) f.raise();""",
    "lambda": "@ auto wait = [&] { while (*flag == 0); }; if (t < 32) wait();" + _RAISE,
    "lambda asks": "@ auto up = [=] { return *flag != 0; }; if (t < 32) { while (!up()); }" + _RAISE,
    "functor": """
        struct Up { volatile int *f; __device__ bool operator()() const { return *f != 0; } };
        template <class P> __device__ void until(P p) { while (!p()); }
        @ if (t < 32) until(Up{flag});"""
    + _RAISE,
    "template": """
        template <typename T> __device__ void wait(volatile T *f, T value) { while (*f != value); }
        @ if (t < 32) wait<int>(flag, 1);"""
    + _RAISE,
    "pointer in a struct": """
        struct Queue { volatile int *ready; int *data; };
        __global__ void k(Queue q) {
            if (threadIdx.x < 32) { while (!*q.ready); q.data[threadIdx.x] = 1; }
            if (threadIdx.x == 32) *q.ready = 1;
        }""",
    "volatile member": """
        struct Queue { volatile int ready; int data[32]; };
        __global__ void k(Queue *q) {
            if (threadIdx.x < 32) { while (q->ready == 0) {} q->data[threadIdx.x] = 1; }
            if (threadIdx.x == 32) q->ready = 1;
        }""",
    "static shared": """
        @ __shared__ volatile int up;
        if (t == 0) up = 0;
        __syncthreads();
        if (t < 32) { for (;;) { if (up) break; } }
        if (t == 32) up = 1;""",
    "plain shared": """
        @ __shared__ int up;
        if (t == 0) up = 0;
        __syncthreads();
        if (t < 32) { while (atomicAdd(&up, 0) == 0); }
        if (t == 32) atomicExch(&up, 1);""",
    "dynamic shared": """
        extern __shared__ int memory[];
        @ volatile int *up = memory;
        if (t == 0) up[0] = 0;
        __syncthreads();
        if (t < 32) { while (up[0] == 0); }
        if (t == 32) up[0] = 1;""",
    "global": "__device__ volatile int up;\n@ if (t < 32) { while (up == 0); } if (t == 32) up = 1;",
    "global atomic": "__device__ int up;\n@ if (t < 32) { while (!atomicOr(&up, 0)); } if (t == 32) atomicOr(&up, 1);",
    "array of flags": "@ if (t < 32) { while (flag[t] == 0); } if (t >= 32) flag[t - 32] = 1;",
    "flag of the block": "@ if (t < 32) { while (flag[blockIdx.x] == 0); } if (t == 32) flag[blockIdx.x] = 1;",
    "other side": "@ if (t < 32) { while (*flag == 0); } else { *flag = 1; }",
    "other side waits": "@ if (t >= 32) { while (*flag == 0); } else { out[t] = 1; if (t == 0) *flag = 1; }",
    "one lane waits": "@ if (t == 0) { while (*flag == 0); } if (t == 1) *flag = 1;",
    "one lane of a warp": "@ if (t == 0) { while (*flag == 0); } if (t == 32) { out[0] = 1; *flag = 1; }",
    "behind a return": "@ if (t >= 32) { *out = 1; if (t == 40) *flag = 1; return; } while (*flag == 0);",
    "leader and followers": "@ if (t % 32 != 0) { while (*flag == 0); } else { out[t] = n; *flag = 1; }",
    "counts arrivals": "@ if (t == 0) { while (*word != 63) __threadfence(); } else { atomicAdd(word, 1); }",
    "arrives and waits": "@ if (t == 0) { while (atomicAdd(word, 0) < 2); } if (t > 30) atomicAdd(word, 1);",
    "stored where it is not seen": """
        __device__ void work(volatile int *f);
        @ if (t < 32) { while (*flag == 0); }
        if (t == 32) work(flag);""",
    "no caller": """
        __device__ void wait(volatile int *f) { if (threadIdx.x % 64 < 32) { while (*f == 0); } else *f = 1; }""",
    # Locks.
    # What ends the loop, or begins it, is code of a class, a template or a lambda.
    "constructor": """
        struct W { __device__ W(volatile int *f) { while (*f == 0); } };
        @ if (t < 32) { W w(flag); }"""
    + _RAISE,
    "conversion": """
        struct W { volatile int *f; __device__ operator bool() const { return *f != 0; } };
        @ W w{flag}; if (t < 32) { while (!w); }"""
    + _RAISE,
    "operators of an iterator": """
        struct W {
            volatile int *f;
            __device__ bool operator!=(int) const { return *f == 0; }
            __device__ void operator++() {}
        };
        @ if (t < 32) { for (W w{flag}; w != 0; ++w); }"""
    + _RAISE,
    "a class that is a template's argument": """
        struct Spin { static __device__ void go(volatile int *f) { while (*f == 0); } };
        template <class P> __device__ void hold(volatile int *f) { P::go(f); }
        @ if (t < 32) hold<Spin>(flag);"""
    + _RAISE,
    "member that is a reference": """
        struct W { volatile int &f; __device__ void go() { while (f == 0); } };
        @ W w{*flag}; if (t < 32) w.go();"""
    + _RAISE,
    "member that is a reference, bound by a constructor": """
        struct W { volatile int &f; __device__ W(volatile int &g) : f(g) {} __device__ void go() { while (f == 0); } };
        @ W w(*flag); if (t < 32) w.go();"""
    + _RAISE,
    "lambda that calls itself": """
        @ auto f = [&](auto self) -> void { if (*flag == 0) self(self); }; if (t < 32) f(f);"""
    + _RAISE,
    "statements in a condition": "@ if (t < 32 && ({ while (*flag == 0); true; })) out[t] = 1;" + _RAISE,
    "wait of an atomic": """
        #include <cuda/atomic>
        __device__ cuda::atomic<int> up;
        @ if (t < 32) up.wait(0); if (t == 32) { up.store(1); up.notify_one(); }""",
    "wait of an atomic_ref": """
        #include <cuda/atomic>
        @ cuda::atomic_ref<int, cuda::thread_scope_device> up(*word);
        if (t < 32) up.wait(0); if (t == 32) { up.store(1); up.notify_all(); }""",
    "test of an atomic_flag": """
        #include <cuda/std/atomic>
        __device__ cuda::std::atomic_flag up;
        @ if (t < 32) { while (!up.test()); } if (t == 32) up.test_and_set();""",
    "semaphore": """
        #include <cuda/semaphore>
        __device__ cuda::binary_semaphore<cuda::thread_scope_device> s(0);
        @ if (t < 32) s.acquire(); if (t == 32) s.release(32);""",
    "lock": "@ while (atomicCAS(word, 0, 1) != 0); *out += 1; atomicExch(word, 0);",
    "lock by exchange": "@ while (atomicExch(word, 1)); *out += 1; __threadfence(); *word = 0;",
    "lock by for": """
        @ for (bool mine = false; !mine;) { mine = atomicCAS(word, 0, 1) == 0; } *out += 1; atomicExch(word, 0);""",
    "lock by for and a flag": """
        @ for (int done = 0; done == 0;) { if (atomicCAS(word, 0, 1) == 0) { *out += 1; atomicExch(word, 0);
        done = 1; } }
        """,
    "lock by for with a step": """
        @ int got = 0;
        for (int i = 0; !got; ++i) { got = atomicCAS(word, 0, 1) == 0; }
        *out += 1; atomicExch(word, 0);""",
    "lock by break": "@ for (;;) { if (atomicCAS(word, 0, 1) == 0) break; } *out += 1; atomicExch(word, 0);",
    "lock by goto": "@ again: if (atomicCAS(word, 0, 1) != 0) goto again; *out += 1; atomicExch(word, 0);",
    "lock by min": "@ while (atomicMin(word, 0) == 0); *out += 1; atomicExch(word, 1);",
    "lock of shared memory": """
        @ __shared__ int lock;
        if (t == 0) lock = 0;
        __syncthreads();
        for (;;) { if (!atomicExch(&lock, 1)) break; }
        *out += 1;
        atomicExch(&lock, 0);""",
    "backoff": """
        @ int ns = 8;
        while (atomicCAS(word, 0, 1)) { __nanosleep(ns); ns = min(2 * ns, 256); }
        *out += 1; atomicExch(word, 0);""",
    "ticket": """
        @ int mine = atomicAdd(&word[0], 1);
        while (atomicAdd(&word[1], 0) != mine);
        *out += 1; __threadfence(); atomicAdd(&word[1], 1);""",
    "ticket by for": """
        @ int mine = atomicAdd(word, 1);
        for (;;) { if (flag[0] == mine) break; }
        *out += 1; __threadfence(); flag[0] = mine + 1;""",
    "try": """
        __device__ bool attempt(int *l) { return atomicCAS(l, 0, 1) == 0; }
        @ while (!attempt(word)); *out += 1; atomicExch(word, 0);""",
    "try by for": """
        __device__ bool attempt(int *l) { return atomicCAS(l, 0, 1) == 0; }
        @ for (;;) { if (attempt(word)) break; } *out += 1; atomicExch(word, 0);""",
    "mutex": """
        struct Mutex {
            int *at;
            __device__ void lock() { while (atomicCAS(at, 0, 1) != 0); }
            __device__ void unlock() { atomicExch(at, 0); }
        };
        @ Mutex m{word}; m.lock(); *out += 1; m.unlock();""",
    "mutex by for": """
        struct Mutex {
            int *at;
            __device__ void lock() { for (;;) { if (atomicExch(at, 1) == 0) return; } }
            __device__ void unlock() { atomicExch(at, 0); }
        };
        @ Mutex m{word}; m.lock(); *out += 1; m.unlock();""",
    "guard": """
        struct Guard {
            int *at;
            __device__ explicit Guard(int *l) : at(l) { while (atomicCAS(at, 0, 1) != 0); }
            __device__ ~Guard() { __threadfence(); atomicExch(at, 0); }
        };
        @ { Guard g(word); *out += 1; }""",
    "guard by for": """
        struct Guard {
            int *at;
            __device__ explicit Guard(int *l) : at(l) { for (;;) { if (!atomicExch(at, 1)) break; } }
            __device__ ~Guard() { __threadfence(); atomicExch(at, 0); }
        };
        @ Guard g(word); *out += 1;""",
    "lock of a bucket": """
        @ int b = out[t] % n;
        for (bool done = false; !done;) { if (!atomicExch(&word[b], 1)) { out[b] += 1; word[b] = 0; done = true; } }""",
    "reader and writer": """
        @ if (t % 2) { for (;;) { int s = *flag; if (s >= 0 && atomicCAS(word, s, s + 1) == s) break;
        } atomicSub(word, 1); }
        else { for (;;) { if (atomicCAS(word, 0, -1) == 0) break; } *out += 1; atomicExch(word, 0); }""",
    "dekker": """
        @ if (t == 0) { flag[0] = 1; while (flag[1]) {} *out += 1; flag[0] = 0; }
        if (t == 1) { flag[1] = 1; while (flag[0]) {} *out += 1; flag[1] = 0; }""",
    "ping pong": """
        @ for (int i = 0; i < n; ++i) {
            if (t == 0) { for (;;) { if (*flag == 2 * i) break; } *flag = 2 * i + 1; }
            else if (t == 1) { for (;;) { if (*flag == 2 * i + 1) break; } *flag = 2 * i + 2; }
        }""",
    "chain of lanes": "@ if (t > 0) { for (;;) { if (flag[t - 1]) break; } } out[t] = 1; __threadfence(); flag[t] = 1;",
    "turns": "@ for (;;) { if (*flag == t) break; } *out += t; __threadfence(); *flag = t + 1;",
}

_FINE = {
    # No memory that others write decides, or the lane itself makes progress.
    "counts": "@ for (int i = 0; i < n; ++i) out[i] += 1;",
    "counts by an operator": """
        struct C {
            int i;
            __device__ void operator++() { ++i; }
            __device__ bool operator<(int n) const { return i < n; }
        };
        @ for (C c{0}; c < n; ++c) out[c.i] += 1; if (t == 32) *flag = 1;""",
    "wait of other wavefronts": """
        #include <cuda/atomic>
        __device__ cuda::atomic<int> up;
        @ if (t < 64) up.wait(0); if (t == 64) { up.store(1); up.notify_one(); }""",
    "counts down": "@ int i = out[t]; while (i > 0) { i -= 2; out[t] = i; }",
    "bounded": "@ int turns = 0; while (*flag == 0 && turns < 1000) ++turns; if (t == 32) *flag = 1;",
    "bounded by break": "@ for (int i = 0; i < n; ++i) { if (*flag) break; } if (t == 32) *flag = 1;",
    "bounded by a clock": """
        @ long long start = clock64();
        while (*flag == 0) { if (clock64() - start > 1000000) break; }
        if (t == 32) *flag = 1;""",
    "data": "@ int i = 0; while (word[i] != 0) ++i; out[t] = i;",
    "data by pointer": "@ const int *p = word; while (*p) ++p; out[t] = p - word;",
    "volatile data": "@ int i = t; while (flag[i] != 0) i += 32; out[t] = i; flag[t] = 0;",
    "list": """
        struct Node { Node *next; int key; };
        __global__ void k(Node *head, int key, int *out) {
            Node *at = head;
            while (at != nullptr && at->key != key) at = at->next;
            *out = at ? at->key : 0;
        }""",
    "volatile list": """
        struct Node { Node *volatile next; int key; };
        __global__ void k(Node *head, int key, int *out) {
            Node *at = head;
            for (;;) { if (!at || at->key == key) break; at = at->next; }
            *out = at ? at->key : 0;
        }""",
    "union find": "@ int x = t; while (flag[x] != x) x = flag[x]; flag[t] = x;",
    "chase": "@ int i = word[t]; while (i != word[i]) { i = word[i]; } word[t] = i;",
    "binary search": """
        @ int low = 0, high = n;
        while (low < high) { int middle = (low + high) / 2; if (word[middle] < t) low = middle + 1;
        else high = middle; }
        out[t] = low;""",
    "collatz": "@ int x = word[t]; while (x != 1) x = x % 2 ? 3 * x + 1 : x / 2; out[t] = x;",
    "newton": "@ float x = 1, old; do { old = x; x = 0.5f * (x + n / x); } while (fabsf(x - old) > 1e-6f); out[t] = x;",
    "compares and swaps": """
        __device__ float most(float *at, float value) {
            int *bits = (int *)at;
            int old = *bits, assumed;
            do { assumed = old; old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed)))); }
            while (assumed != old);
            return __int_as_float(old);
        }
        @ most((float *)word, t);""",
    "compares and swaps by break": """
        @ int seen = *flag;
        for (;;) { int now = atomicCAS(word, seen, seen + t); if (now == seen) break; seen = now; }""",
    "compares and swaps what it loads": """
        @ while (true) { int old = *(volatile int *)word; if (atomicCAS(word, old, old + 1) == old) break; }""",
    "compare_exchange": """
        #include <cuda/atomic>
        @ cuda::atomic_ref<int> at(*word);
        int seen = at.load();
        while (!at.compare_exchange_weak(seen, seen + t)) {}""",
    "exchanges": """
        @ float v = t; do { v += atomicExch((float *)word, 0.0f); v = atomicExch((float *)word, v);
        } while (v != 0);""",
    "pushes": """
        struct Node { Node *next; };
        __global__ void k(Node **head, Node *nodes) {
            Node *own = nodes + threadIdx.x, *old;
            do { old = *head; own->next = old; }
            while (atomicCAS((unsigned long long *)head, (unsigned long long)old, (unsigned long long)own)
                != (unsigned long long)old);
        }""",
    "inserts": "@ int slot = t % n; while (atomicCAS(&word[slot], -1, t) != -1) slot = (slot + 1) % n;",
    "inserts by for": """
        @ for (int i = t % n;; i = (i + 1) % n) { int old = atomicCAS(&word[i], -1, t);
        if (old == -1 || old == t) break; }""",
    "cuckoo": "@ int key = t; while (key != -1) { key = atomicExch(&word[key % n], key); }",
    "draws": "@ for (;;) { int i = atomicAdd(word, 1); if (i >= n) break; out[i] = t; }",
    "takes": "@ int left; while ((left = atomicSub(word, 1)) > 0) out[left] = t;",
    # All threads loop together.
    "rounds": """
        @ __shared__ int left;
        if (t == 0) left = n;
        __syncthreads();
        while (left > 0) { __syncthreads(); if (t == 0) --left; __syncthreads(); }""",
    "changed": """
        @ __shared__ int changed;
        do { __syncthreads(); if (t == 0) changed = 0; __syncthreads(); if (out[t] > word[t]) { out[t] = word[t];
        changed = 1; }
        __syncthreads(); } while (changed);""",
    "stack": """
        @ __shared__ volatile int depth;
        if (t == 0) depth = 1;
        __syncthreads();
        while (depth > 0) { __syncthreads(); if (t == 0) depth = depth - 1; __syncthreads(); }""",
    "local": "@ volatile int left = 8; while (left > 0) left = left - 1; out[t] = left;",
    "own element": "@ while (word[t] > 0) { word[t] -= 1; out[t] += 1; }",
    # Threads of other wavefronts end the wait.
    "grid barrier": """
        @ __syncthreads();
        if (t == 0) { atomicAdd(word, 1); while (atomicAdd(word, 0) < gridDim.x); }
        __syncthreads();
        out[t] = 1;""",
    "grid barrier volatile": """
        __device__ volatile int arrived;
        __device__ int count;
        @ for (int i = 0; i < n; ++i) {
            __syncthreads();
            if (threadIdx.x == 0) {
                __threadfence();
                if (atomicAdd(&count, 1) == gridDim.x - 1) { count = 0; __threadfence(); arrived = i + 1; }
                else { while (arrived <= i); }
            }
            __syncthreads();
        }""",
    "grid barrier by functions": """
        __device__ void barrier(volatile int *count, int goal) {
            __syncthreads();
            if (threadIdx.x == 0) { atomicAdd((int *)count, 1); while (*count != goal); }
            __syncthreads();
        }
        @ barrier(flag, n); out[t] = 1; barrier(flag, 2 * n);""",
    "a flag for each block": """
        @ if (t == 0) { while (flag[blockIdx.x - 1] == 0); }
        __syncthreads();
        out[t] = 1;
        __threadfence();
        if (t == 0) flag[blockIdx.x] = 1;""",
    "a flag for each block, by all": """
        @ if (blockIdx.x > 0) { while (flag[blockIdx.x - 1] == 0); }
        __syncthreads();
        if (t == 0) flag[blockIdx.x] = 1;""",
    "a lane for each block": """
        @ if (blockIdx.x == 0) { for (int i = t; i < gridDim.x; i += blockDim.x) { while (flag[i] == 0); } }
        else { __syncthreads(); if (t == 0) flag[blockIdx.x] = 1; }""",
    "all wait for one thing": "@ while (*flag == 0); out[t] = 1; if (t == 5) *flag = 2;",
    "blocks take turns": """
        @ while (*flag < blockIdx.x); __syncthreads(); if (t == 0) { *out += 1; __threadfence();
        *flag = blockIdx.x + 1; }""",
    "the host": "@ if (t < 32) { while (*flag == 0); } out[t] = 1;",
    "the host, in a persistent kernel": """
        @ for (;;) { if (t == 0) { while (*flag == 0); } __syncthreads(); if (*flag == 2) return; out[t] += 1;
        __syncthreads(); }""",
    "stored before": "@ if (t == 32) *flag = 1; if (t < 32) { while (*flag == 0); } out[t] = 1;",
    "wavefronts apart": "@ if (t < 64) { while (*flag == 0); } if (t == 64) *flag = 1;",
    "wavefronts apart by number": """
        @ int w = t / 64;
        if (w == 0) { while (*flag == 0); } else if (w == 1) { if (t % 64 == 0) *flag = 1; }""",
    "wavefronts apart by else": "@ if (t >= 128) { for (;;) { if (*flag) break; } } else if (t == 0) { *flag = 1; }",
    "other blocks": "@ if (blockIdx.x == 0) { if (t == 0) { while (*flag == 0); } } else if (t == 0) { *flag = 1; }",
    "one thread, before and behind": "@ if (t == 0) { *flag = 0; while (*flag == 0); *flag = 0; }",
    "ticket of one thread": """
        @ __shared__ int turn;
        if (t == 0) { turn = atomicAdd(word, 1); while (atomicAdd(word + 1, 0) != turn); }
        __syncthreads();
        out[t] += 1;
        __syncthreads();
        if (t == 0) atomicAdd(word + 1, 1);""",
    "lock of one thread": """
        @ if (t == 0) { for (;;) { if (atomicCAS(word, 0, 1) == 0) break; } *out += 1; atomicExch(word, 0); }""",
    "turns that are taken": """
        #include <hipport/lock.h>
        @ for (bool done = false; !hipport::opaque(done);) if (atomicCAS(word, 0, 1) == 0) {
            __threadfence(); *out += 1; __threadfence(); atomicExch(word, 0); done = true;
        }""",
    "turns of lanes": """
        #include <hipport/lock.h>
        struct Mutex {
            int *at;
            __device__ void lock() { for (;;) { if (atomicExch(at, 1) == 0) return; } }
            __device__ void unlock() { atomicExch(at, 0); }
        };
        @ Mutex m{word};
        for (hipport::one_by_one turn; turn; turn.next()) if (turn.mine()) { m.lock(); *out += 1; m.unlock(); }""",
    "another memory": "@ if (t < 32) { while (*flag == 0); } if (t == 32) *word = 1;",
    "tries once": "@ if (atomicCAS(word, 0, 1) == 0) { *out += 1; atomicExch(word, 0); }",
    "look-back": """
        #define WARP_ANY(p) __any_sync(0xffffffff, p)
        __device__ int look(volatile int *state, int tile, int *sum) {
            int lane = threadIdx.x & 31, at = tile - 1 - lane, seen;
            do { seen = at >= 0 ? state[at] : 2; } while (WARP_ANY(seen == 0));
            *sum += seen;
            return seen;
        }
        @ const int tile = blockIdx.x;
        if (t == 0) flag[tile] = 1;
        if (t < 32) { int sum = 0; look(flag, tile, &sum); if (t == 0) flag[tile] = 2; }""",
}

WAITS = {name: _program(text) for name, text in _WAITS.items()}
FINE = {name: _program(text) for name, text in _FINE.items()}

# SPDX-License-Identifier: Apache-2.0
"""A varying value is never called uniform, in any disguise; LLVM's uniformity analysis is the reference."""

import re
from pathlib import Path, PurePosixPath

import pytest

import hipport
from hidden_values import HIDDEN
from hipport.analysis.device_program import Proofs
from hipport.analysis.functions import called_name, nodes
from hipport.analysis.kernels import Kernels
from hipport.analysis.uniform_values import WARP, Value
from hipport.core.finding import Certainty
from hipport.program.project import Project
from hipport.syntax.cuda import Cuda
from llvm_uniformity import judge
from varying_kernels import KERNELS, Kernel

#: Code between a value and its test: text before the kernel, text in its body, and the tested expression. None of them
#: may make a varying value uniform.
WRAPPERS: dict[str, tuple[str, str, str]] = {
    "lambda": ("", "auto w_ = [&] { return @; };", "w_()"),
    "lambda by value": ("", "int v_ = @; auto w_ = [=](int i) { return v_ + i; };", "w_(n)"),
    "functor": (
        "struct W_ { int v; __device__ int operator()(int i) const { return v + i; } };",
        "W_ w_{(int)(@)};",
        "w_(1)",
    ),
    "constructor": ("struct W_ { int v; __device__ explicit W_(int x) : v(x) {} };", "W_ w_(@);", "w_.v"),
    "setter": ("struct W_ { int v = 0; __device__ void set(int x) { v = x; } };", "W_ w_; w_.set(@);", "w_.v"),
    "pointer": ("", "int v_ = @; int *p_ = &v_;", "*p_"),
    "pointer stored through": ("", "int v_ = 0; int *p_ = &v_; *p_ = @;", "v_"),
    "reference": ("", "int v_ = @; int &r_{v_};", "r_"),
    "reference stored through": ("", "int v_ = 0; int &r_ = v_; r_ = @;", "v_"),
    "array": ("", "int a_[2] = {0, 0}; a_[1] = @;", "a_[1]"),
    "array of a callee": ("__device__ void w_(int *a, int x) { a[1] = x; }", "int a_[2]; w_(a_, @);", "a_[1]"),
    "macro": ("#define W_(x) ((x) + 1)", "", "W_(@)"),
    "template": ("template <class T> __device__ T w_(T x) { return x; }", "", "w_(@)"),
    "function pointer": ("__device__ int w_(int x) { return x + 1; }", "int (*p_)(int) = w_;", "p_(@)"),
    "operator": (
        "struct W_ { int v; }; __device__ W_ &operator<<(W_ &w, int x) { w.v = x; return w; }",
        "W_ w_{0}; w_ << (@);",
        "w_.v",
    ),
    "conversion": (
        "struct W_ { int v; __device__ operator int() const { return v; } };",
        "W_ w_{(int)(@)};",
        "int(w_) + n",
    ),
    "branch": ("", "int v_ = 0; if (@) v_ = 1;", "v_"),
    "loop": ("", "int v_ = 0; for (int i_ = 0; i_ < (@); ++i_) v_ = i_ + 1;", "v_"),
    "break": ("", "int v_ = 0; for (;;) { if (v_ >= (@)) break; ++v_; }", "v_"),
    "goto": ("", "int v_ = 0; if (@) goto end_; v_ = 1; end_:;", "v_"),
    "early return": ("__device__ int w_(int x) { if (x) return 1; return 2; }", "", "w_(@)"),
    "switch": ("", "int v_; switch (@) { case 0: v_ = 1; break; case 1: v_ = 2; break; default: v_ = 3; }", "v_"),
    "recursion": ("__device__ int w_(int x) { return x < 2 ? x : w_(x - 1); }", "", "w_(@)"),
}
_PROBE = re.compile(r"probe\((.*)\);")


def text_of(kernel: Kernel, name: str = "k") -> str:
    return f"{kernel.before}\n__global__ void {name}(int *out, int n) {{\n{kernel.body}\n}}\n"


def wrapped(kernel: Kernel, wrapper: tuple[str, str, str]) -> Kernel | None:
    """Return the kernel with its argument of `probe` wrapped once more; None if the call is inside something."""
    match = _PROBE.search(kernel.body.replace("probe((x = threadIdx.x, x + 1))", ""))
    if match is None or kernel.body[match.end() :].strip():
        return None
    before, statement, asked = (each.replace("@", f"({match[1]})") for each in wrapper)
    return kernel._replace(
        before=f"{kernel.before}\n{before}", body=f"{kernel.body[: match.start()]}\n{statement}\nprobe({asked});"
    )


def value_of(kernel: Kernel) -> Value:
    text = f"__device__ void probe(int);\n{text_of(kernel)}"
    project = Project((Cuda(PurePosixPath("a.cu"), text.encode()),))
    kernels = Kernels.of(project)
    (source,) = project.sources
    (function,) = (each for each in kernels.functions(source) if each.kernel)
    proofs = Proofs(kernels, source)
    values = [
        proofs.value(function, node.child_by_field_name("arguments").named_children[0])
        for node in nodes(function.body)
        if node.type == "call_expression" and called_name(node, source.code) == b"probe"
    ]
    return min(values, key=lambda value: value.level)


@pytest.mark.parametrize("name", KERNELS)
def test_exactly_the_varying_values_are_found(name: str) -> None:
    value = value_of(KERNELS[name])
    assert (value.level < WARP) == KERNELS[name].varying, value
    if KERNELS[name].varying:
        assert value.why is not None and value.why.text


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_no_wrapper_makes_a_value_more_uniform(wrapper: str) -> None:
    asked = {name: wrapped(kernel, WRAPPERS[wrapper]) for name, kernel in KERNELS.items() if kernel.varying}
    values = {name: value_of(kernel) for name, kernel in asked.items() if kernel is not None}
    assert len(values) > 60
    assert [name for name, value in values.items() if value.level >= WARP] == []


@pytest.mark.parametrize("wrapper", [each for each in WRAPPERS if each != "recursion"])
def test_uniform_values_stay_uniform_behind_a_wrapper(wrapper: str) -> None:
    asked = {name: wrapped(kernel, WRAPPERS[wrapper]) for name, kernel in KERNELS.items() if not kernel.varying}
    values = {name: value_of(kernel) for name, kernel in asked.items() if kernel is not None}
    assert len(values) > 30
    assert {name: value.why for name, value in values.items() if value.level < WARP} == {}


def found(kernel: Kernel, statement: str, rule: str) -> set[Certainty]:
    """Return the findings on a statement that depends on the kernel's argument of `probe`, for which `@` stands."""
    match = _PROBE.search(kernel.body)
    assert match is not None
    body = kernel.body[: match.start()] + statement.replace("@", match[1]) + kernel.body[match.end() :]
    text = text_of(kernel._replace(body=body)) + "void launch(int *out, int n) { k<<<4, 64>>>(out, n); }\n"
    done = hipport.rewrite({"a.cu": text.encode()}, jobs=1)
    return {each.certainty for each in done.reported if each.rule.startswith(rule)}


#: Values that vary in blocks with more dimensions than those that `found` launches.
UNIFORM_IN_A_ROW = frozenset(("lane_of_2d",))


@pytest.mark.parametrize("name", KERNELS)
def test_collectives_in_both_branches_are_safe_only_without_divergence(name: str) -> None:
    statement = "if (@) out[n] = __shfl_sync(~0u, n, 0); else out[n] = __shfl_sync(~0u, -n, 0);"
    safe = found(KERNELS[name], statement, "warp_intrinsics") == {Certainty.SAFE}
    assert safe == (not KERNELS[name].varying or name in UNIFORM_IN_A_ROW)


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "ballot"])  # which is the warp's, not the block's
def test_barriers_in_both_branches_are_reported_or_joined_only_if_threads_diverge(name: str) -> None:
    statement = "if (@) { out[0] = 1; __syncthreads(); } else { out[1] = 2; __syncthreads(); } out[2] = out[n];"
    told = bool(found(KERNELS[name], statement, "barriers"))
    assert told == (KERNELS[name].varying and name not in UNIFORM_IN_A_ROW)


#: Kernels with unknown names, on purpose, or with names that only the host has: no compiler accepts them.
NOT_COMPILED = frozenset(
    "unseen_base closure_to_unseen closure_by_auto_to_unseen escaped_to_unseen_struct std_swap".split()
)
#: Kernels for which LLVM's result differs, with reasons.
OTHERWISE = {
    "range_for_u": "LLVM keeps the array in memory of the lane's own, all of which it takes for varying",
    "asm_no_outputs_memory": "LLVM knows assembly for AMD, and this is PTX",
    "inline_asm_in_out_ref": "LLVM knows assembly for AMD, and this is PTX",
    "global_reference_var": "LLVM knows assembly for AMD, and this is PTX",
}


#: Uniform values that the analysis cannot prove: arrays in functions' results, recursion of templates and packs,
#: constants that are template parameters, unevaluated code, classes without names.
HIDDEN_ALARMS = frozenset(
    "template_recursion_u unnamed_struct_local_u variadic_recursive_u loop_invariant_u "
    "uniform_template_bool noexcept_no_eval_u".split()
)


def test_values_hidden_on_purpose_are_found() -> None:
    said = {name: value_of(kernel).level < WARP for name, kernel in HIDDEN.items()}
    assert [name for name, varies in said.items() if HIDDEN[name].varying and not varies] == []
    assert {name for name, varies in said.items() if varies and not HIDDEN[name].varying} == HIDDEN_ALARMS
    assert sum(1 for kernel in HIDDEN.values() if kernel.varying) > 400 and len(HIDDEN) > 600


#: What an expression is of names that no variable has, with what is declared in front of the kernel.
NAMES = {
    "a macro of a header that is not seen": ("", "LANE_ID == 0", True),
    "another function's variable": (
        "__device__ int f() { int hidden = threadIdx.x; return hidden; }",
        "hidden == n",
        True,
    ),
    "another function's parameter": ("__device__ int f(int hidden) { return hidden; }", "hidden == n", True),
    "a constant's initializer": ("constexpr int kSize = hidden;", "hidden == n", True),
    "a macro that is seen": ("#ifndef SIZE\n#define SIZE threadIdx.x\n#endif", "n < SIZE", True),
    "a macro of the build": ("#ifdef SIZE\n#endif", "n < SIZE", False),
    "an enumerator": ("enum Mode { FAST = sizeof(int), SLOW };", "n == SLOW", False),
    "an enumerator of a class": ("struct S { enum Mode { FAST, SLOW }; };", "n == S::SLOW", False),
    "a constant": ("constexpr int kSize = sizeof(int);", "n == kSize", False),
    "a constant of a function": (
        "__device__ int f() { static constexpr int kSize = sizeof(int); return 1; }",
        "kSize",
        False,
    ),
    "memory of the device": (
        "__constant__ float table[4], other; __device__ int first, *second;",
        "other + *second",
        False,
    ),
    "a parameter of a class template": ("template <int N> struct S { int at[N]; };", "N == n", False),
    "constants of libraries": ("", "n < INT_MAX && n > FLT_MIN && n != cudaSuccess && M_PI > n", False),
    "constants with a scope": ("", "n == std::numeric_limits<int>::max() || n == nvcuda::wmma::mem_row_major", False),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_name_is_that_no_variable_has(name: str) -> None:
    before, asked, varying = NAMES[name]
    value = value_of(Kernel(varying, f"probe({asked});", before))
    assert (value.level < WARP) == varying, value


@pytest.mark.parametrize(
    ("file", "text", "known"),
    [
        ("Makefile", "k: k.cu\n\tnvcc -DSIZE=32 k.cu\n", True),
        ("Makefile", "k: k.cu\n\tnvcc -DSIZE='threadIdx.x' k.cu\n", False),
        ("CMakeLists.txt", "target_compile_definitions(k PRIVATE SIZE=32)\n", True),
        ("CMakeLists.txt", "set(SIZE 32)\n", False),
        ("setup.py", 'CUDAExtension("k", ["k.cu"], define_macros=[("OTHER", None), ("SIZE", "32")])\n', True),
        ("setup.py", 'print("SIZE", 32)\n', False),
        ("other.h", "#define SIZE 32\n", True),
        ("other.h", "#define SIZE threadIdx.x\n", False),
    ],
)
def test_macros_that_builds_define_are_the_same_for_all_threads(file: str, text: str, known: bool) -> None:
    statement = "if (n < SIZE) out[n] = __shfl_sync(~0u, n, 0); else out[n] = __shfl_sync(~0u, -n, 0);"
    kernel = f"__global__ void k(int *out, int n) {{ {statement} }} void f(int *o) {{ k<<<4, 64>>>(o, 1); }}\n"
    done = hipport.rewrite({"k.cu": kernel.encode(), file: text.encode()}, jobs=1)
    safe = {each.certainty for each in done.reported if each.rule.startswith("warp_intrinsics")} == {Certainty.SAFE}
    assert safe == known


#: Kernels for which LLVM's result differs, with reasons.
HIDDEN_OTHERWISE = {
    "clock": "HIP's clock is the wavefront's; CUDA has one for each warp, but says that it may be read apart",
    "memset_u": "LLVM keeps the array in memory of the lane's own, all of which it takes for varying",
    "uniform_iterator": "LLVM keeps the array in memory of the lane's own, all of which it takes for varying",
    "uniform_array_class": "LLVM keeps the array in memory of the lane's own, all of which it takes for varying",
    "listu": "LLVM keeps the list in memory of the lane's own, all of which it takes for varying",
    "boundforu": "LLVM keeps the array in memory of the lane's own, all of which it takes for varying",
    "arrayendu": "LLVM keeps the array in memory of the lane's own, all of which it takes for varying",
    "object_of_a_template_made_in_parentheses_u": "LLVM keeps it in memory of the lane's own: varying",
    "volatile_pointer_uu": "LLVM keeps the variable in memory of the lane's own, all of which it takes for varying",
    "element_of_the_warp_u": "a warp of 32 lanes is half of a wavefront for LLVM",
    "uniform_recursion": "LLVM takes what a function gives that is not expanded for varying",
}


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("kernels", "otherwise"),
    [
        pytest.param(KERNELS, OTHERWISE, id="kernels"),
        pytest.param(HIDDEN, HIDDEN_OTHERWISE, id="hidden", marks=pytest.mark.further),
    ],
)
def test_llvm_has_the_same_result(kernels: dict[str, Kernel], otherwise: dict[str, str], tmp_path: Path) -> None:
    """LLVM's UniformityAnalysis, of hipcc's clang, over all kernels in one file."""
    llvm = judge()
    if llvm is None:
        pytest.skip("NOT CHECKED against LLVM: no hipcc with an opt (hipport toolchain install)")
    parts = ['#include <hip/hip_runtime.h>\nextern "C" __device__ void probe(int);\n']
    for number, (name, kernel) in enumerate(kernels.items()):
        if name in NOT_COMPILED:
            continue
        parts.append(f"namespace q{number}_ {{\n{text_of(kernel)}}}\n")
        parts += [f"#undef {macro}\n" for macro in re.findall(r"#define (\w+)", kernel.before)]
    source = tmp_path / "kernels.hip"
    source.write_text("".join(parts))
    made, errors = llvm.compiled(source, ["-fgpu-rdc"])
    assert not errors, errors
    said: dict[str, bool] = {}
    for each in llvm.said(made):
        if match := re.match(r"_ZN\d+q(\d+)_\w+", each.function):
            name = list(kernels)[int(match[1])]
            said[name] = said.get(name, False) or each.varies
    assert len(said) > 0.9 * len(kernels)
    different = {name for name, varies in said.items() if varies != kernels[name].varying}
    assert different == set(otherwise)


_ARRAYS = """struct J { int a = threadIdx.x % 3; int b = 2; };
struct O { J in, other[2]; int k = 3; };
struct P { J other[2]; int k; __device__ P() { k = 2; } };
struct C { int v; __device__ C() : v(threadIdx.x) {} };
struct D { C c[3]; };
"""


@pytest.mark.parametrize(
    ("statement", "asked", "varies"),
    [
        ("O s;", "s.other[1].a", True),
        ("O s;", "s.other[1].b", False),
        ("O s{J{1, 2}};", "s.other[1].a", True),
        ("P s;", "s.other[n].a", True),
        ("D s[2];", "s[1].c[2].v", True),
        ("J t[2]{};", "t[0].a", True),
        ("J t[2] = {{1, 2}};", "t[1].a", True),
        ("J t[2] = {{1, 2}};", "t[0].a", False),
    ],
)
def test_elements_that_no_initializer_names_have_their_default_values(statement: str, asked: str, varies: bool) -> None:
    assert (_asked(f"{_ARRAYS}__global__ void k(int n) {{ {statement} probe({asked}); }}") < WARP) == varies


@pytest.mark.parametrize(
    ("pointer", "use", "varies"),
    [
        ("int *p = nullptr", "if (n) p = &u", True),
        ("int *p = 0", "for (int i = 0; i < n; ++i) p = &u", True),
        ("int *p = o", "if (n) p = &u", True),
        ("int *p = n ? o : &u", "n += 1", True),
        ("int *p = o", "if (n) set(&p, &u)", True),
        # A store by a pointer that may be another one leaves the variable as it may be.
        ("int *p = o", "if (n) p = &u; *p = n", True),
        ("int *p = o", "if (n) p = &w", False),
    ],
)
def test_a_pointer_that_may_be_unknown_still_points_to_the_known(pointer: str, use: str, varies: bool) -> None:
    text = "__device__ void set(int **p, int *q) { *p = q; }\n__global__ void k(int *o, int n) { "
    text += f"int u = threadIdx.x, w = n; {pointer}; {use}; probe({'u' if '*p = n' in use else '*p'}); }}"
    assert (_asked(text) < WARP) == varies


def test_a_constant_of_another_function_says_nothing_where_a_text_is_not_understood() -> None:
    other = "__global__ void other(int *o) { const int q = 5; o[q] = 1; }\n"
    kernel = "__global__ void k(int n) { const int q = threadIdx.x & 1; auto [a, b] = f(n) +; probe(q); }"
    assert _asked(other + kernel) < WARP


def _asked(text: str) -> int:
    project = Project((Cuda(PurePosixPath("a.cu"), f"__device__ void probe(int);\n{text}".encode()),))
    kernels = Kernels.of(project)
    (source,) = project.sources
    function = next(each for each in kernels.functions(source) if each.name == b"k")
    (asked,) = (
        node.child_by_field_name("arguments").named_children[0]
        for node in nodes(function.body)
        if node.type == "call_expression" and called_name(node, source.code) == b"probe"
    )
    return Proofs(kernels, source).value(function, asked).level

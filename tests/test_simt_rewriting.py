# SPDX-License-Identifier: Apache-2.0
"""The executor's passes on launches, shared memory, and trees."""

from pathlib import Path, PurePosixPath

import pytest

import hipport
from hipport.executor.prepare import PASSES, Dialect, _run, prepare
from hipport.executor.shared import aliases
from hipport.program.project import Project
from hipport.syntax.cuda import Cuda
from hipport.syntax.file_languages import source
from hipport.workspace.discovery import discover
from hipport_passes import BEFORE_EXECUTOR


def made(text: str, dialect: Dialect = "cuda", **others: str) -> str:
    """Return `text` as the executor's C++; `others` are files beside it."""
    files = {"a.cu": text, **{name.replace("_", "."): other for name, other in others.items()}}
    sources = tuple(source(PurePosixPath(name), each.encode()) for name, each in files.items())
    after, reported, _, created = _run(Project(sources), PASSES[dialect])
    assert not reported and not created
    result = after.by_path[PurePosixPath("a.cu")].text.decode()
    assert result.count("\n") == text.count("\n"), "lines stay where they are"
    return result


def in_kernel(text: str) -> str:
    """Return the port of statements in a kernel, without blanks."""
    result = made(f"template <typename T> __global__ void k(T* p) {{ {text} }}")
    return " ".join(result[result.index("{") + 1 : -1].split())


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("k<<<g, b>>>(x, 0);", 'SIMT_LAUNCH("k", (g, b), k)(x, 0);'),
        ("k<T, 3><<<g, b, n * 4, st>>>(x);", 'SIMT_LAUNCH("k<T, 3>", (g, b, n * 4, st), k<T, 3>)(x);'),
        ("k << <g, b >> > (x);", 'SIMT_LAUNCH("k", (g, b ), k) (x);'),
        ("ns::k<A<B>, (1 > 2)><<<1, 2>>>();", 'SIMT_LAUNCH("ns::k<A<B>, (1 > 2)>", (1, 2), ns::k<A<B>, (1 > 2)>)();'),
        ("::k<<<1, 2>>>();", 'SIMT_LAUNCH("::k", (1, 2), ::k)();'),
        ("this->k_<<<f(a, b), 2>>>(x);", 'SIMT_LAUNCH("this->k_", (f(a, b), 2), this->k_)(x);'),
        ("if (a) (*p)<<<1, 2>>>(x);", 'if (a) SIMT_LAUNCH("(*p)", (1, 2), (*p))(x);'),
        ("else kernels[i].f<<<1, 2>>>(x);", 'else SIMT_LAUNCH("kernels[i].f", (1, 2), kernels[i].f)(x);'),
        ("S<T>::template f<2><<<1, 2>>>(x);", 'SIMT_LAUNCH("S<T>::template f<2>", (1, 2), S<T>::template f<2>)(x);'),
        ("k<<<1, x << 3>>>(a < b, c >> d);", 'SIMT_LAUNCH("k", (1, x << 3), k)(a < b, c >> d);'),
        ("k<<<g<h<3>>(), 1>>>(x);", 'SIMT_LAUNCH("k", (g<h<3>>(), 1), k)(x);'),
        ("NAME(a, b)<<<1, 1>>>();", 'SIMT_LAUNCH("NAME(a, b)", (1, 1), NAME(a, b))();'),
        ("CHECK(k<<<1, 1>>>(x));", 'CHECK(SIMT_LAUNCH("k", (1, 1), k)(x));'),
        ("k\n  <T\n  ><<<g, // one\n b>>>\n(x);", 'SIMT_LAUNCH("k <T >", (\n\ng, // one\n b), k <T >)\n(x);'),
        ('std::cout << < "a";  // k<<<1, 2>>>(x)', 'std::cout << < "a";  // k<<<1, 2>>>(x)'),
    ],
)
def test_a_launch_becomes_a_call_of_the_executor(launch: str, expected: str) -> None:
    assert made(f"void f() {{ {launch} }}\n") == f"void f() {{ {expected} }}\n"


def test_a_kernel_that_is_cast_to_an_address_is_remembered() -> None:
    kernels = "__global__ void __launch_bounds__(64, 2) a(int n) {}\nstatic __global__ void b(int (*f)(int)) {}\n"
    text = "void* f = n ? (void*)a : (const void *)&b;\ncudaLaunchKernel((void*)a, g, t, x);\n(void*)c; (void*)a(1);\n"
    assert made(kernels + text) == kernels + text.replace(
        "(void*)a : (const void *)&b", "(void*)::simt::host::known(a) : (const void *)::simt::host::known(&b)"
    )


@pytest.mark.parametrize(
    "kernel", ["a", "&a", "t<int, (4 > 2)>", "n::a", "&::n::t<n::T<int>, 2>"], ids=lambda kernel: kernel.split("<")[0]
)
@pytest.mark.parametrize(
    "cast",
    ["(void*){}", "(const void *) {}", "(void*)({})", "reinterpret_cast<const void*>({})", "static_cast<void *>( {} )"],
)
def test_kernels_are_remembered_however_they_are_named_and_cast(kernel: str, cast: str) -> None:
    kernels = "__global__ void a(int n) {}\ntemplate <class T, int N> __global__ void t(T n) {}\n"
    before, after = (f"f({cast.format(each)}, 1);\n" for each in (kernel, f"::simt::host::known({kernel})"))
    assert made(kernels + before) == kernels + after
    assert "known" not in made(kernels + f"f({cast.format(kernel + '->b')}, {cast.format('b')});\n")


def test_launches_in_macros_take_their_parameters() -> None:
    assert made("#define GO(k, ...) k<<<grid, \\\n  block>>>(__VA_ARGS__)\n") == (
        "#define GO(k, ...) SIMT_LAUNCH(#k, (grid, \\\n  block), k)(__VA_ARGS__)\n"
    )
    assert made("#define GO(T, args) k_##T<T>\\\n<<<1, 2>>> args\n") == (
        '#define GO(T, args) SIMT_LAUNCH("k_##T<T>", (\\\n1, 2), k_##T<T>) args\n'
    )


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("__shared__ float s[32], n;", 'float (&s)[32] = SIMT_SHARED("s"), (&n) = SIMT_SHARED("n");'),
        ("__shared__ T a[N][M + 1];", 'T (&a)[N][M + 1] = SIMT_SHARED("a");'),
        (
            "__shared__ char a[C10_WARP_SIZE * sizeof(T)];",
            'char (&a)[SIMT_C10_WARP_SIZE_BOUND * sizeof(T)] = SIMT_SHARED("a");',
        ),
        ("static __shared__ int a;", 'int (&a) = SIMT_SHARED("a");'),
        ("volatile __shared__ int a, b[3];", 'volatile int (&a) = SIMT_SHARED("a"), (&b)[3] = SIMT_SHARED("b");'),
        ("__shared__ volatile T a[2];", 'volatile T (&a)[2] = SIMT_SHARED("a");'),
        ("float __shared__ a[3];", 'float (&a)[3] = SIMT_SHARED("a");'),
        ("unsigned long long __shared__ a;", 'unsigned long long (&a) = SIMT_SHARED("a");'),
        ("__shared__ __align__(16) char a[3];", 'char (&a)[3] = SIMT_SHARED_ALIGNED("a", 16);'),
        ("__shared__ alignas(double) char a[3];", 'char (&a)[3] = SIMT_SHARED_ALIGNED("a", alignof(double));'),
        ("alignas(64) __shared__ T a;", 'T (&a) = SIMT_SHARED_ALIGNED("a", 64);'),
        (
            "__shared__ T a[3] __attribute__((aligned(8)));",
            'T (&a)[3] = SIMT_SHARED_ALIGNED("a", 8) ;',
        ),
        ("__shared__ T *a, **b, c;", 'T *(&a) = SIMT_SHARED("a"), **(&b) = SIMT_SHARED("b"), (&c) = SIMT_SHARED("c");'),
        ("__shared__ int (*p)[4];", 'int (*(&p))[4] = SIMT_SHARED("p");'),
        ("__shared__ void (*p)(int, T);", 'void (*(&p))(int, T) = SIMT_SHARED("p");'),
        ("__shared__ struct { int a; T b[4]; } s;", 'struct { int a; T b[4]; } (&s) = SIMT_SHARED("s");'),
        (
            "__shared__ union U : B { int a, b; } s[2], t;",
            'union U : B { int a, b; } (&s)[2] = SIMT_SHARED("s"), (&t) = SIMT_SHARED("t");',
        ),
        (
            "__shared__ typename cub::BlockReduce<T, (128 > 3)>::template X<1, 2>::TempStorage t;",
            'typename cub::BlockReduce<T, (128 > 3)>::template X<1, 2>::TempStorage (&t) = SIMT_SHARED("t");',
        ),
        ("__shared__ Counter<T, 1 << 3> c;", 'Counter<T, 1 << 3> (&c) = SIMT_SHARED("c");'),
        ("__shared__ decltype(f(p)) c;", 'decltype(f(p)) (&c) = SIMT_SHARED("c");'),
        ("extern __shared__ T d[];", "T (&d)[] = SIMT_DYNAMIC_PLACE;"),
        ("extern volatile __shared__ T d[][4];", "volatile T (&d)[][4] = SIMT_DYNAMIC_PLACE;"),
        (
            "__shared__ extern __align__(16) char d[], e[];",
            "char (&d)[] = SIMT_DYNAMIC_PLACE, (&e)[] = SIMT_DYNAMIC_PLACE;",
        ),
        ("__syncthreads(); __shared__ int a;", '__syncthreads(); int (&a) = SIMT_SHARED("a");'),
        ("case 3: __shared__ int a;", 'case 3: int (&a) = SIMT_SHARED("a");'),
        ("if (x) { __shared__ int a; }", 'if (x) { int (&a) = SIMT_SHARED("a"); }'),
        ("f((__shared__ int*)p);", "f(( int*)p);"),
    ],
)  # fmt: skip
def test_a_shared_variable_becomes_a_reference(declaration: str, expected: str) -> None:
    assert in_kernel(declaration) == expected


def test_words_for_shared_are_known_from_other_files() -> None:
    header = "#define LOCAL __shared__\n#define DYNAMIC(T) extern __shared__ T\n#define PLAIN int\n"
    assert made(
        '#include "k.h"\n__global__ void k() {\nLOCAL float s[3], n;\nDYNAMIC(int) d[];\nPLAIN i;\n}\n', k_h=header
    ) == (
        '#include "k.h"\n__global__ void k() {\nLOCAL float (&s)[3] = SIMT_SHARED("s"), (&n) = SIMT_SHARED("n");\n'
        "DYNAMIC(int) (&d)[] = SIMT_DYNAMIC_PLACE;\nPLAIN i;\n}\n"
    )
    assert made(header) == "#define LOCAL \n#define DYNAMIC(T)   T\n#define PLAIN int\n"
    assert {alias.name for alias in aliases(Cuda(PurePosixPath("k.cuh"), header.encode()))} == {b"LOCAL", b"DYNAMIC"}


def test_a_macro_may_have_a_whole_declaration() -> None:
    assert made("#define DECLARE(T, n) \\\n  __shared__ T s_##n[n]\n") == (
        '#define DECLARE(T, n) \\\n   T (&s_##n)[n] = SIMT_SHARED("s_##n")\n'
    )


def test_conditions_and_definitions_of_the_word_stay() -> None:
    text = (
        '#ifndef __shared__\n#define __shared__\n#endif\n// __shared__ int x;\nconst char* s = "__shared__ int x;";\n'
    )
    assert made(text) == text


def test_outside_of_functions_they_are_set_by_every_block() -> None:
    assert made("namespace a {\nextern __shared__ float d[], e[][3];\n}\n") == (
        "namespace a {\nstatic __thread  float (*d), (*e)[3]; SIMT_DYNAMIC_SETS(d); SIMT_DYNAMIC_SETS(e);\n}\n"
    )
    assert made("__shared__ int s[3];\n") == "static __thread int s[3]; SIMT_SHARED_OUTSIDE(s);\n"
    # If its address is taken, that is the address of the target.
    assert made("extern __shared__ int d[];\nvoid f() { g(&d, (char*)&d + 1, &d[2], a & d, x && d); }\n").endswith(
        "void f() { g(&*d, (char*)&*d + 1, &d[2], a & d, x && d); }\n"
    )
    # The parameters of this function end after a condition.
    assert "SIMT_DYNAMIC_PLACE" in made("void f(int a\n#ifdef B\n, int b\n#endif\n) {\nextern __shared__ int d[];\n}\n")


def test_lambdas_do_not_copy_shared_memory() -> None:
    def captures(head: str, body: str = "s[0] = o.n;") -> str:
        result = in_kernel("__shared__ int s[3], n; auto f = " + head + " (int i) { " + body + " };")
        return result[result.index("auto f = ") + 9 : result.index(" (int i)")]

    assert captures("[=]") == "[=, &s]"
    assert captures("[=]", "return s[n];") == "[=, &s, &n]"
    assert captures("[]") == "[&s]"
    assert captures("[i, this]") == "[i, this, &s]"
    assert captures("[&]") == "[&]"
    assert captures("[s]") == "[s]"
    assert captures("[=]", "x.s = p->n;") == "[=]"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for (; a; i++) { if (i) continue; n += __ballot(1); }", "for (; a; i++, SIMT_ITERATION_END) {"),
        ("for (;;) if (i) { n = __activemask(); }", "for (;; SIMT_ITERATION_END) if"),
        ("while (a[(i)]) { if (i) n += g(i); }", "for (; a[(i)]; SIMT_ITERATION_END) {"),
        ("do { if (i) n += g(i); } while (f());", "} while (SIMT_ITERATION_END, f());"),
        ("for (int i = 0; i < 5; i++) { n += __shfl(n, i); }", "for (int i = 0; i < 5; i++) {"),
        ("while (i) { if (i) f(); }", "while (i) {"),
        ("for (auto x : y) { if (x) n += __ballot(1); }", "for (auto x : y) {"),
        ("do f(); while (i);", "do f(); while (i);"),
    ],
)
def test_lanes_wait_at_the_end_of_an_iteration(loop: str, expected: str) -> None:
    others = "int f() { return 1; }\nint h(int i) { return i ? __ballot(i) : 0; }\nint g(int i) { return h(i); }\n"
    for dialect in ("cuda", "hip"):
        assert expected in made(f"{others}void k() {{ {loop} }}\n", dialect)
    # With a mask, the mask decides which lanes take part, as in CUDA.
    masked = "void k() { while (i) { if (i) __shfl_sync(m, n, 1); } }\n"
    assert made(masked) == masked
    assert "SIMT_ITERATION_END" in made(masked, "hip")


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for (; a; i++) { if (i) n = s[1]; }", "for (; a; i++, SIMT_LOCKSTEP_ITERATION) {"),
        ("while (a) { tail(s); }", "for (; a; SIMT_LOCKSTEP_ITERATION) {"),
        ("do if (i) *q = 1; while (a);", "do if (i) *q = 1; while (a);"),  # No braces.
        ("do { if (i) *q = 1; } while (a);", "} while (SIMT_LOCKSTEP_ITERATION, a);"),
        ("for (; a; i++) { if (i) m->n = 0; }", "for (; a; i++, SIMT_LOCKSTEP_ITERATION) {"),
        ("for (; a; i++) { if (i) *(volatile int*)t = 0; }", "for (; a; i++, SIMT_LOCKSTEP_ITERATION) {"),
        ("while (a) { if (i) n = reinterpret_cast<const volatile int&>(t); }", "for (; a; SIMT_LOCKSTEP_ITERATION) {"),
        ("for (; a; i++) { if (i) n = __activemask() + s[0]; }", "for (; a; i++, SIMT_ITERATION_END) {"),
        ("for (; a; i++) n = s[i];", "for (; a; i++) n"),
        ("for (; a; i++) { if (i) n = t[1]; }", "for (; a; i++) {"),
    ],
)
def test_lanes_in_lockstep_wait_there_too(loop: str, expected: str) -> None:
    before = "__device__ void tail(volatile float* p) { p[0] += p[1]; }\n"
    before += "__device__ void k(int volatile* const q, volatile ns::M<int> *m, float* t) {\n"
    after = 'asm volatile("" ::: "memory"); }\n'
    for dialect in ("cuda", "hip"):
        assert expected in made(f"{before} __shared__ volatile float s[2]; {loop} {after}", dialect)
    # A macro in front of a function is not one.
    macro = "#define F(a) g(a)\n#define G(a) (a)\n"
    assert expected in made(f"{macro}{before} __shared__ volatile float s[2]; {loop} {after}")
    # Nothing is shared, so the code does not rely on lockstep.
    assert "SIMT" not in made(f"{before} volatile float s[2]; while (a) {{ if (i) n = s[1]; }} {after}")


def test_unported_assembly_is_a_fault() -> None:
    assert made('void f() { asm volatile("mma.sync.x %0,\\n"\n "%1;" : "=r"(a[b ? 1 : 0]) : "r"(c)); }\n') == (
        'void f() { ::simt::fault("unsupported", {__FILE__, __LINE__}, "%s", "assembly: mma.sync.x %0, %1;")\n; }\n'
    )
    assert '"assembly: shfl."' in made('#define S(T) asm("shfl." #T)\n')
    assert "\"assembly: mov.u32 t, 'x';\"" in made('void f() { asm(R"a(\n  mov.u32 t, "x";\n)a"); }\n')
    assert "::simt::barrier_of(1, 64, false" in made('void f() { asm(R"(bar.sync 1, 64;)"); }\n')
    for amd in ("s_nop 0", "s_waitcnt vmcnt(0)", "v_mov_b32 %0, %1"):
        assert f'"assembly: {amd}"' in made(f'void f() {{ asm volatile("{amd}" : "=v"(a) : "v"(b)); }}\n', "hip")
    cpu = 'void f() { asm("rdtsc" : "=a"(lo)); asm volatile("" ::: "memory"); asm("1: jmp 1b\\n .align 4"); }\n'
    assert made(cpu) == cpu


def test_unknown_forms_are_reported() -> None:
    text = b"__global__ void k() { __shared__ int a[3 }\n"
    _, reported, _, _ = _run(Project((source(PurePosixPath("a.cu"), text),)), PASSES["cuda"])
    assert [(each.rule, each.line, each.column) for each in reported] == [("shared/unknown", 1, 23)]


# --------------------------------------------------------------------------------------------------------------- trees


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_tree_mirrors_the_given_files_and_their_includes(tmp_path: Path) -> None:
    write(
        tmp_path,
        a__main_cu='#include "../b/k.h"\n#include <deep.h>\n#include "data.txt"\nint main() { k<<<1, 1>>>(); }\n',
        a__data_txt="3",
        a__sub__other_bin="4",
        b__k_h='#include "deeper/x.h"\ninline void k() { __shared__ int s; }\n',
        b__deeper__x_h="// __shared__\n",
        b__unused_h="#error\n",
        c__deep_h="// __shared__\n",
    )
    prepared = prepare([tmp_path / "a"], tmp_path / "out", "cuda", folders=[tmp_path / "c"])
    assert prepared.base == tmp_path.resolve() and prepared.root == (tmp_path / "a").resolve()
    main = prepared.made(tmp_path / "a" / "main.cu")
    assert main == tmp_path / "out" / "a" / "main.cu"
    assert main.read_text().splitlines()[0] == f'#line 1 "{(tmp_path / "a" / "main.cu").resolve()}"'
    assert 'SIMT_LAUNCH("k", (1, 1), k)()' in main.read_text()
    assert 'SIMT_SHARED("s")' in (tmp_path / "out" / "b" / "k.h").read_text()
    assert (tmp_path / "out" / "c" / "deep.h").is_file()
    assert (tmp_path / "out" / "b" / "deeper" / "x.h").is_file()
    assert (tmp_path / "out" / "a" / "sub" / "other.bin").read_text() == "4"
    assert not (tmp_path / "out" / "b" / "unused.h").exists()
    assert prepared.made(Path("/usr/include")) == Path("/usr/include")
    # A second run writes only new files, and removes files that are gone.
    before = main.stat().st_mtime_ns
    (tmp_path / "a" / "sub" / "other.bin").unlink()
    prepare([tmp_path / "a"], tmp_path / "out", "cuda", folders=[tmp_path / "c"])
    assert main.stat().st_mtime_ns == before
    assert not (tmp_path / "out" / "a" / "sub" / "other.bin").is_symlink()


def test_lines_of_a_port_in_memory_are_those_that_the_user_wrote(tmp_path: Path) -> None:
    tree = write(
        tmp_path / "t",
        main_cu="__global__ void k(unsigned* p) {\n  *p = __ballot_sync(~0u, 1);\n}\nint main() { k<<<1, 1>>>(0); }\n",
    )
    ported = hipport.rewrite([tree])
    prepared = prepare(ported.project, tmp_path / "out", "hip")
    lines = (tmp_path / "out" / "main.cu").read_text().splitlines()
    number = 0
    places = {}
    for line in lines:
        if line.startswith("#line "):
            number = int(line.split()[1]) - 1
        else:
            number += 1
            places[line] = number
    assert next(n for line, n in places.items() if "ballot" in line) == 2
    assert next(n for line, n in places.items() if "SIMT_LAUNCH" in line) == 4
    assert next(n for line, n in places.items() if "__global__" in line) == 1
    assert prepared.root == tree.resolve()


def test_a_link_leads_to_the_ported_file(tmp_path: Path) -> None:
    tree = write(
        tmp_path / "t",
        core_h="#include <cuda_runtime.h>\nvoid run(cudaStream_t stream);\n",
        core_cu='#include "core.h"\n__global__ void k() {}\nvoid run(cudaStream_t s) { k<<<1, 1, 0, s>>>(); }\n',
    )
    (tree / "binding").mkdir()
    for name in ("core.h", "core.cu"):
        (tree / "binding" / name).symlink_to(Path("..") / name)
    (tree / "binding" / "main.cpp").write_text('#include "core.h"\nint main() { run(nullptr); }\n')
    prepared = prepare(hipport.rewrite([tree]), tmp_path / "out", "hip")
    for name, word in (("core.h", "hipStream_t stream"), ("core.cu", 'SIMT_LAUNCH("k"')):
        text = prepared.made(tree / "binding" / name).read_text()
        assert word in text and "cuda" not in text


def test_an_original_for_an_old_pytorch_gets_current_names(tmp_path: Path) -> None:
    text = """\
#include <torch/extension.h>
void f(torch::Tensor x) {
  AT_CHECK(x.dim() == 1, "one dimension");
  AT_DISPATCH_FLOATING_TYPES(x.type(), "f", [&] {});
}
"""
    tree = write(tmp_path / "t", f_cu=text)
    prepare([tree], tmp_path / "out", "cuda", passes=BEFORE_EXECUTOR)
    made = (tmp_path / "out" / "f.cu").read_text()
    assert "x.scalar_type()" in made and "TORCH_CHECK" in made and "AT_CHECK" not in made


def test_missing_files_of_a_project_in_memory_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="memory"):
        prepare(Project((source(PurePosixPath("a.cu"), b""),)), tmp_path, "cuda")


def test_every_fixture_is_understood() -> None:
    fixtures = Path(__file__).parent.parent / "fixtures"
    project = discover([fixtures])
    after, reported, _, _ = _run(project, PASSES["hip"])
    assert not [each for each in reported if "shared/" in each.rule]
    for each in after.changed if hasattr(after, "changed") else after.sources:
        assert each.text.count(b"\n") == each.first.text.count(b"\n"), each.path


def sided(body: str, head: str = "__host__ __device__ int f(int x)") -> str:
    """Return the host's version of a function's body; the device's version stays in its place."""
    text = f"{head} {{{body}}}\n"
    result = made(text)
    before, _, host = result.rpartition("} else {")
    assert before == f"{head} {{ if (SIMT_ON_DEVICE) {{{body}"
    return " ".join(host.removesuffix("}}\n").split())


@pytest.mark.parametrize(
    ("body", "host"),
    [
        (
            "\n#ifdef __CUDA_ARCH__\n  return __popc(x);  // device\n#else\n  return bits(x);\n#endif\n",
            "return bits(x);",
        ),
        ("\n#if !defined(__CUDA_ARCH__)\n  x++;\n#endif\n  return x;\n", "x++; return x;"),
        (
            "\n#if __CUDA_ARCH__ >= 700\n  int a = x;\n#else\n  int a = 2 * x;\n#endif\n  return a;",
            "int a = 2 * x; return a;",
        ),
        ("\n#ifdef __CUDA_ARCH__\n#if __CUDA_ARCH__ > 750\n  x = 1;\n#endif\n#endif\n  return x;", "return x;"),
        (
            '\n#pragma unroll\n  for (;;) puts("a // b");  /* c\n */\n#ifndef __CUDA_ARCH__\n  x = \'"\';\n#endif\n',
            'for (;;) puts("a // b"); x = \'"\';',
        ),
    ],
)
def test_a_body_with_a_host_side_is_written_twice(body: str, host: str) -> None:
    assert sided(body) == host


def test_lambdas_and_methods_have_bodies_of_their_own() -> None:
    lambda_ = "[] __host__ __device__(int x) "
    text = f"void g() {{ auto f = {lambda_}{{\n#ifdef __CUDA_ARCH__\n return 1;\n#else\n return 2;\n#endif\n}}; }}\n"
    assert f"{lambda_}{{ if (SIMT_ON_DEVICE) {{\n#ifdef" in made(text)
    assert " ".join(made(text).partition("} else {")[2].split()) == "return 2; }}; }"
    text = "struct S { int n; __host__ __device__ S() : n(0) {\n#ifdef __CUDA_ARCH__\n n = 1;\n#endif\n } };\n"
    assert "S() : n(0) { if (SIMT_ON_DEVICE) {" in made(text)


def test_conditions_on_more_than_the_side_are_kept_for_the_host() -> None:
    text = "__host__ __device__ int f() {\n#if FAST && !defined(__CUDA_ARCH__)\n return 1;\n#endif\n return 0;\n}\n"
    after, reported, _, _ = _run(Project((source(PurePosixPath("a.cu"), text.encode()),)), PASSES["cuda"])
    _, _, host = after.sources[0].text.decode().partition("} else {")
    assert "#if FAST && !0\n return 1;\n#endif\n return 0;" in host and not reported


@pytest.mark.parametrize(
    "text",
    [
        "__device__ int f() {\n#ifdef __CUDA_ARCH__\n return 1;\n#else\n return 2;\n#endif\n}\n",
        "__global__ void k() {\n#if __CUDA_ARCH__ >= 900\n a();\n#else\n b();\n#endif\n}\n",
        # Both sides are in one branch.
        "__host__ __device__ int f() {\n#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600\n return 1;\n#endif\n}\n",
        "#if __CUDA_ARCH__ < 600\n__device__ double atomicAdd(double* p, double x) { return 0; }\n#endif\n",
        "#ifdef __CUDA_ARCH__\n#include <a.h>\n#endif\n",
    ],
)
def test_device_code_alone_has_one_side(text: str) -> None:
    assert made(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef __CUDA_ARCH__\n#define POP(x) __popc(x)\n#else\n#define POP(x) bits(x)\n#endif\n",
        "#ifndef __CUDA_ARCH__\nint f() { return 1; }\n#endif\n",
        "int f(int x) {\n#ifdef __CUDA_ARCH__\n if (x) {\n#else\n if (!x) {\n#endif\n x++; }\n return x;\n}\n",
        "int f(int x) {\n#ifdef __CUDA_ARCH__\n goto end;\n#endif\n x++;\nend:\n return x;\n}\n",
    ],
)
def test_a_host_side_that_is_not_used_is_reported(text: str) -> None:
    after, reported, _, _ = _run(Project((source(PurePosixPath("a.cu"), text.encode()),)), PASSES["cuda"])
    assert [each.rule for each in reported] == ["sides/left"]
    assert "SIMT_ON_DEVICE" not in after.sources[0].text.decode()


def test_ported_functions_have_a_side_for_the_host() -> None:
    text = "int f() {\n#ifdef __HIP_DEVICE_COMPILE__\n return 1;\n#else\n return 2;\n#endif\n}\n"
    assert " ".join(made(text, "hip").partition("} else {")[2].split()) == "return 2; }}"

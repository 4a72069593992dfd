# SPDX-License-Identifier: Apache-2.0
"""Calls that lanes may make separately: cases that fixtures of one file do not cover."""

import cProfile
import re
from pathlib import PurePosixPath

from hipport.analysis.collective_summary import MORE, Collectives, _most
from hipport.analysis.convergence import meetings
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda

COLLECTIVES = Collectives(re.compile(rb"vote|move"), re.compile(rb"here"), re.compile(rb"barrier"))


def found(files: dict[str, str], path: str) -> dict[int, str]:
    """Return the lines of calls in the file `path` that lanes may make separately, with their kind."""
    sources = tuple(Cuda(PurePosixPath(name), text.encode()) for name, text in files.items())
    project = Project(sources)
    source = project.by_path[PurePosixPath(path)]
    assert isinstance(source, Cpp)
    return {
        source.position(offset)[0]: meeting.kind
        for offset, meeting in sorted(meetings(source, project, COLLECTIVES).items())
    }


def kernel(body: str, before: str = "") -> dict[int, str]:
    return found({"a.cu": f"{before}__global__ void k(int* p, int n) {{\n{body}\n}}\n"}, "a.cu")


HELPER = "#pragma once\n__device__ int helper(unsigned m, int v) {\n  return vote(m, v);\n}\n"
CALLER = '#include "helper.h"\n__global__ void k(int* p) {\n  %s\n}\n'


def test_a_function_in_a_header_is_called_from_both_branches() -> None:
    both = "p[0] = p[threadIdx.x] ? helper(1, 2) : helper(1, 3);"
    files = {"helper.h": HELPER, "a.cu": CALLER % "helper(1, 1);", "b.cu": CALLER % both}
    assert found(files, "helper.h") == {3: "branch"}
    assert found({**files, "b.cu": CALLER % "helper(1, 1);"}, "helper.h") == {}
    # Each branch itself passes the mask of its lanes.
    assert found({**files, "b.cu": CALLER % both.replace("(1", "(here()")}, "helper.h") == {}


def test_a_file_that_does_not_include_it_is_another_program() -> None:
    both = "p[0] = p[threadIdx.x] ? helper(1, 2) : helper(1, 3);"
    unrelated = CALLER.partition("\n")[2] % both
    assert found({"helper.h": HELPER, "a.cu": unrelated}, "helper.h") == {}


def test_values_that_a_loop_cannot_change_hold_in_every_iteration() -> None:
    assert kernel("for (int i = 0; i < n; ++i)\nif (threadIdx.x % 4 == n) vote(n);") == {}
    assert kernel("for (int i = 0; i < n; ++i)\nif (threadIdx.x % 4 == i) vote(n);") == {3: "iteration"}
    assert kernel("for (int i = 0; i < n; ++i)\nif (threadIdx.x % 4 == i) vote(here());") == {}


def test_lanes_of_a_host_loop_are_not_in_it() -> None:
    host = "void f(int* p) {\nfor (;;) k<<<1, 32>>>(p, 1);\n}\n"
    text = "__global__ void k(int* p, int n) {\nif (p[threadIdx.x]) vote(n);\n}\n"
    assert found({"a.cu": text + host}, "a.cu") == {}


def test_functions_that_call_each_other_end() -> None:
    text = "__device__ int g(int n);\n__device__ int f(int n) { return n ? g(n) : vote(n); }\n"
    text += "__device__ int g(int n) { return n ? f(n - 1) : vote(n); }\n#define A() B()\n#define B() A() vote(1)\n"
    assert found({"a.cu": text + "__global__ void k(int n) { f(n); A(); }\n"}, "a.cu") == {}


def test_different_collectives_do_not_meet() -> None:
    assert kernel("if (p[threadIdx.x]) vote(n);\nelse move(n);") == {}
    assert kernel("if (p[threadIdx.x]) vote(n);\nelse vote(n);") == {2: "branch", 3: "branch"}


def test_conditions_that_exclude_each_other() -> None:
    one_behind_the_other = "if ({}) vote(n);\nif ({}) vote(n);"
    for first, second, apart in [
        ("threadIdx.x < n", "threadIdx.x >= n", True),
        ("threadIdx.x < n", "threadIdx.x > 9", True),
        ("threadIdx.x == 1", "threadIdx.x == 2", True),
        ("p[threadIdx.x]", "!p[threadIdx.x]", True),
        ("(threadIdx.x & 1) == 0", "1 == (threadIdx.x & 1)", True),
        ("threadIdx.x < n", "n <= threadIdx.x", True),
        ("p[threadIdx.x] > 0", "0 >= p[threadIdx.x]", True),
        ("p[threadIdx.x] == true", "p[threadIdx.x] == false", True),
        ("!(threadIdx.x & 1)", "!(threadIdx.x & 2)", False),
        ("threadIdx.x == n", "p[threadIdx.x] == n", False),
        ("n < threadIdx.x", "n <= threadIdx.x", False),
        ("threadIdx.x < n", "threadIdx.x < 9", False),
        ("threadIdx.x < n", "threadIdx.x < n", False),
        ("p[threadIdx.x]", "n", False),
    ]:
        expected = {2: "apart", 3: "apart"} if apart else {}
        assert kernel(one_behind_the_other.format(first, second)) == expected, (first, second)
        assert kernel(one_behind_the_other.format(first, second).replace("\n", "\nbarrier();")) == {}


def test_nothing_is_known_of_members() -> None:
    body = "__device__ void f(int n) {{\nif ({}) vote(n);\nelse vote(n);\n}}"
    for condition, apart in [("flag_", True), ("this->flag", True), ("kWidth > WIDTH", False)]:
        constants = "constexpr int kWidth = width(), WIDTH = width(); "
        text = constants + "struct S { " + body.format(condition) + " };\n"
        assert found({"a.cu": text}, "a.cu") == ({2: "branch", 3: "branch"} if apart else {}), condition
    assert found({"a.cu": "__constant__ int flag_; " + body.format("flag_") + "\n"}, "a.cu") == {}
    # A header that is not seen may have a macro of that name.
    assert found({"a.cu": body.format("flag_") + "\n"}, "a.cu") == {2: "branch", 3: "branch"}


def test_values_of_unknown_origin_may_vary() -> None:
    body = "__device__ void f(int n) {{\n{}\nif ({}) vote(n);\nelse vote(n);\n}}\n"
    apart = {3: "branch", 4: "branch"}
    for before, condition, expected in [
        ("", "n", apart),  # Without a visible caller.
        ("int x; get(x);", "x", apart),
        ("", "rank() < 3", apart),
        ("int x = 3;", "x", {}),
        ("", "blockIdx.x", {}),
    ]:
        assert found({"a.cu": body.format(before, condition)}, "a.cu") == expected, condition
    called = body.format("", "n") + "__global__ void k(int m) { f(m); }\n"
    assert found({"a.cu": called}, "a.cu") == {}
    assert found({"a.cu": called.replace("f(m)", "f(threadIdx.x)")}, "a.cu") == apart


def test_a_ballot_of_the_condition_is_the_mask_of_the_branch() -> None:
    asked = "unsigned m = here(p[threadIdx.x]);\nif ({}) vote(m);\nelse vote(n);"
    assert kernel(asked.format("p[threadIdx.x]")) == {}
    assert kernel(asked.format("p[threadIdx.x + 1]")) == {3: "branch", 4: "branch"}


def calls_for(count: int) -> int:
    """Return the number of Python calls for analyzing so many files that include each other."""
    files = {"common.h": "#pragma once\n"}
    for i in range(count):
        files["common.h"] += f'#include "f{i}.h"\n'
        files[f"f{i}.h"] = (
            f"struct S{i} {{ int v; __device__ int operator()(int a, int b) const {{ return vote(a, b); }} }};\n"
            f"__device__ S{i} operator+(S{i} a, S{i} b) {{ vote(1, a.v); return b; }}\n"
            f"__device__ int step(S{i} s, int n) {{ S{i} t = s + s; return n ? reduce(s, n - 1) : vote(1, t.v); }}\n"
            f"template <class F> __device__ int apply(F f, S{i} s) {{ return f(1, 2) + move(1, s.v); }}\n"
            f"__device__ int reduce(S{i} s, int n) {{ if (n > 1) return step(s, n); else return apply(s, s); }}\n"
        )
    profile = cProfile.Profile()
    profile.enable()
    found(files, "f0.h")
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def test_many_files_with_functions_of_the_same_names_take_no_time_like_the_cube_of_their_number() -> None:
    few, more, many = map(calls_for, (4, 8, 16))
    # What any number takes cancels in the differences: the square grows by 4, the cube by 8.
    assert many - more < 5 * (more - few)


def test_left_out_conditions_are_not_forgotten() -> None:
    """A left-out condition may exclude another call's: its existence is not forgotten."""
    few, many = (frozenset(b"a%d" % i for i in range(count)) for count in (16, 17))
    assert _most(frozenset(), few) == few
    cut = _most(frozenset(), many)
    assert MORE in cut and len(cut) == 17 and cut < many | {MORE}
    # It is passed on, and takes no space.
    assert MORE in _most(frozenset((b"b",)), cut) and len(_most(frozenset((b"b",)), cut)) == 17


def test_calls_under_more_conditions_than_are_followed_may_exclude_each_other() -> None:
    count = 20
    functions = ["__device__ int f0(int v, int p) { if (p) v = vote(~0u, v); return v; }"]
    for i in range(1, count + 1):
        given = ", ".join([*(f"a{k}" for k in range(1, i)), "p"])
        taken = ", ".join(f"int a{k}" for k in range(1, i + 1))
        functions.append(
            f"__device__ int f{i}(int v, {taken}, int p) {{ if (a{i}) v = f{i - 1}(v, {given}); return v; }}"
        )
    given, taken = (", ".join(f"{kind}b{k}" for k in range(1, count + 1)) for kind in ("", "int "))
    body = f"int v = o[threadIdx.x], x = v % 7; v = f{count}(v, {given}, x > 0); v = f{count}(v, {given}, x <= 0);"
    text = "\n".join([*functions, f"__global__ void k(int* o, {taken}) {{ {body} o[threadIdx.x] = v; }}"])
    assert set(found({"a.cu": text}, "a.cu")) == {1}


def test_calls_that_are_too_far_to_follow_are_reported() -> None:
    def through(count: int, mask: str = "1") -> dict[int, str]:
        chain = "".join(f"__device__ int f{i + 1}(int v) {{ return f{i}(v); }}\n" for i in range(count))
        first = f"__device__ int f0(int v) {{\nreturn vote({mask}, v);\n}}\n"
        return kernel(f"p[0] = f{count}(n);", first + chain)

    assert through(20) == {}
    assert through(40) == {2: "far"}
    # A call that passes the mask of its lanes needs no others.
    assert through(40, "here()") == {}


def test_calls_among_too_many_to_compare_are_reported() -> None:
    apart = "\n".join(f"if (threadIdx.x < {i}) vote(n);" for i in range(300))
    assert set(kernel(apart).values()) == {"far"}
    assert kernel("\n".join("vote(n);" for _ in range(300))) == {}
    cases = "\n".join(f"case {i}: vote(n); break;" for i in range(600))
    assert set(kernel(f"switch (threadIdx.x) {{\n{cases}\n}}").values()) == {"far"}
    nested = "\n".join(f"if (n > {i}) {{ vote(n);" for i in range(300))
    assert len(kernel(nested + "}" * 300)) == 300

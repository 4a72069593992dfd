# SPDX-License-Identifier: Apache-2.0
"""Classes of generated_values: objects with members, operators, bases and conversions through which values flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_parts import Part

if TYPE_CHECKING:
    from generated_values import Maker


def object_of(maker: Maker) -> list[Part]:
    """Return the declaration of an object of a new class, and tell the maker about its values."""
    kinds = (_plain, _whole, _whole, _derived, _guard, _referring, _generic, _union, _bits, _several, _nested, _range)
    return maker.random.choice(kinds)(maker)


def _plain(maker: Maker) -> list[Part]:
    c, s, t = maker.name("S"), maker.name("s"), maker.name("t")
    maker.before.append(Part(f"struct {c} {{ int a, b; }};"))
    found = [Part(f"{c} {s}{{{maker.value()}, {maker.value()}}};")]
    how = maker.random.choice(("= *", "& ", "* ", "f ", ""))
    if how == "= *":
        found.append(Part(f"{c} {t} = {s};"))
    elif how == "& ":
        found.append(Part(f"{c} &{t} = {s};"))
    elif how == "f ":
        f = maker.name("f")
        with maker.function("s.a", "s.b", "x", write=["s.a", "s.b"]):
            inner = (*maker.statements(1), Part("return s;"))
        # The value of an early return is an object, too.
        inner = tuple(
            Part(part.head.partition("return ")[0] + "return s;")
            if "return " in part.head and not part.inner and "[" not in part.head.partition("return ")[0]
            else part
            for part in inner
        )
        if any("return" in line for part in inner[:-1] for line in _deep(part)):
            inner = (Part("s.a = x;"), inner[-1])
        maker.before.append(Part(f"__device__ {c} {f}({c} s, int x) {{", inner, "}"))
        found.append(Part(f"{c} {t} = {f}({s}, {maker.value()});"))
    else:
        t = s
        if how == "* ":
            p = maker.name("p")
            found.append(Part(f"{c} *{p} = &{s}; {p}->b = {maker.value()};"))
            maker.scope.write.append(f"{p}->a")
            maker.scope.read.append(f"{p}->a")
    maker.scope.read += [f"{s}.a", f"{s}.b", f"{t}.a", f"{t}.b"]
    maker.scope.write += [f"{s}.a", f"{s}.b", f"{t}.a"]
    return found


def _deep(part: Part) -> list[str]:
    return [part.head, *(line for inner in part.inner for line in _deep(inner))]


def _whole(maker: Maker) -> list[Part]:
    """Make a class with constructors, methods and operators."""
    c, s, t = maker.name("S"), maker.name("s"), maker.name("t")
    with maker.function():
        members: list[Part] = [Part(f"int a, b = {maker.source()};")]
    # `b` has no value yet where `a` is initialized.
    with maker.function("x"):
        members.append(Part(f"__device__ {c}(int x) : a({maker.value(1)}) {{ if (x & 1) b = {maker.value(1)}; }}"))
    with maker.function("a", "b", "x"):
        for text in (
            "__device__ int get(int x) const { return @; }",
            "__device__ void set(int x) { a = @; }",
            "__device__ int operator()(int x) const { return @; }",
            f"__device__ {c} &operator+=(int x) {{ b = @; return *this; }}",
            f"__device__ {c} &operator<<(int x) {{ a = @; return *this; }}",
            f"__device__ {c} &operator++() {{ const int x = 1; a = @; return *this; }}",
            "__device__ int operator[](int x) const { return x ? a : @; }",
            "__device__ int &at(int x) { return x ? a : b; }",
            "__device__ int operator*() const { const int x = 2; return @; }",
            "__device__ explicit operator bool() const { const int x = 0; return @ > 3; }",
            "__device__ bool operator!() const { const int x = 0; return @ > 3; }",
            f"__device__ int operator<(const {c} &o) const {{ const int x = o.b; return @; }}",
            f"__device__ friend {c} operator+({c} l, {c} r) {{ const int x = r.b; {c} o(x); o.a = l.a; return o; }}",
            "static __device__ int of(int x) { return x * 5 & 63; }",
            f"__device__ {c} &self() {{ return *this; }}",
        ):
            members.append(Part(maker.filled(text)))
        members.append(
            Part(f"__device__ {c} &operator=(const {c} &o) {{ a = o.a; b = {maker.source()}; return *this; }}")
        )
    members.append(Part(f"__device__ {c}(const {c} &o) : a(o.a), b(o.b) {{}}"))
    maker.before.append(Part(f"struct {c} {{", tuple(members), "};"))
    found = [Part(f"{c} {s}({maker.value()}), {t}{{{maker.value()}}};")]
    scope = maker.scope
    scope.read += [f"{s}.a", f"{s}.b", f"{t}.a"]
    scope.write += [f"{s}.a", f"{t}.b"]
    scope.calls += [
        f"{s}.get(@)", f"{s}(@)", f"{s}[@ & 1]", f"*{s}", f"{c}::of(@)", f"({s} < {t})", f"({s} + {t}).a", f"(!{s})",
        f"({s} ? @ : @)", f"{s}.self().get(@)", f"{c}(@).get(@)", f"{s}.at(@ & 1)", f"(int)(bool){t}",
    ]  # fmt: skip
    scope.does += [
        f"{s}.set(@);", f"{s} += @;", f"{s} << @ << @;", f"++{s};", f"{s}.at(@ & 1) = @;", f"{t} = {s};",
        f"{s}.self().set(@);", f"{s}.self() = {t};", f"{t}.set(@);",
    ]  # fmt: skip
    return found


def _derived(maker: Maker) -> list[Part]:
    b, d, s, p = maker.name("B"), maker.name("D"), maker.name("s"), maker.name("p")
    with maker.function("a", "x"):
        one, two, three, four = maker.value(), maker.value(), maker.value(), maker.source()
    virtual = maker.random.choice(("virtual ", ""))
    override = " override" if virtual else ""
    maker.before += [
        Part(f"struct {b} {{ int a = 1; __device__ {virtual}int get(int x) const {{ return {one}; }} "
             f"__device__ int both(int x) const {{ return (get(x) + {two}) & 63; }} "
             f"__device__ void set(int x) {{ a = x; }} }};"),
        Part(f"struct {d} : {b} {{ int c = {four}; __device__ int get(int x) const{override} "
             f"{{ return (c + {three}) & 63; }} }};"),
    ]  # fmt: skip
    scope = maker.scope
    scope.read += [f"{s}.a", f"{s}.c"]
    scope.write += [f"{s}.a", f"{s}.c", f"{p}->a"]
    scope.calls += [f"{s}.get(@)", f"{p}->get(@)", f"{s}.both(@)", f"{p}->both(@)"]
    scope.does += [f"{s}.set(@);", f"{p}->set(@);"]
    return [Part(f"{d} {s}; {b} *{p} = &{s};")]


def _guard(maker: Maker) -> list[Part]:
    """Make a destructor that stores."""
    c, g = maker.name("G"), maker.name("g")
    maker.before.append(
        Part(
            f"struct {c} {{ int *p; int v; __device__ {c}(int *q, int x) : p(q), v(x) {{}} "
            f"__device__ ~{c}() {{ *p = v; }} }};"
        )
    )
    if not maker.scope.write:
        return []
    made = Part(f"{c} {g}(&{maker.target()}, {maker.value()});")
    return [Part("{", (made, *maker.block(most=1)), "}")] if maker.depth < 3 else [Part("{", (made,), "}")]


def _referring(maker: Maker) -> list[Part]:
    """Make a member that is a reference or a pointer."""
    if not maker.scope.write:
        return []
    c, s = maker.name("R"), maker.name("s")
    with maker.function("x"):
        value = maker.value()
    kind = maker.random.choice("&*")
    star = "*" if kind == "*" else ""
    maker.before.append(
        Part(f"struct {c} {{ int {kind}p; __device__ void set(int x) {{ {star}p = {value}; }} "
             f"__device__ int get() const {{ return {star}p; }} }};")
    )  # fmt: skip
    made = Part(f"{c} {s}{{{'&' if star else ''}{maker.target()}}};")
    maker.scope.calls.append(f"{s}.get()")
    maker.scope.does.append(f"{s}.set(@);")
    maker.scope.write.append(f"{star}{s}.p")
    return [made]


def _generic(maker: Maker) -> list[Part]:
    """Make class templates: one whose argument is its own derived class, one that holds a value."""
    c, d, s = maker.name("B"), maker.name("D"), maker.name("s")
    with maker.function("x"):
        one = maker.value()
    if maker.random.random() < 0.5:
        maker.before += [
            Part(
                f"template <class T> struct {c} {{ __device__ int run(int x) "
                "{ return static_cast<T *>(this)->own(x); } };"
            ),
            Part(f"struct {d} : {c}<{d}> {{ int k = 2; __device__ int own(int x) {{ return ({one} + k) & 63; }} }};"),
        ]
        maker.scope.calls.append(f"{s}.run(@)")
        maker.scope.write.append(f"{s}.k")
        return [Part(f"{d} {s};")]
    maker.before.append(
        Part(f"template <class T, int N> struct {c} {{ T v[N]; __device__ {c}(T x) {{ for (int i = 0; i < N; ++i) "
             f"v[i] = (x + i) & 63; v[0] = {one}; }} __device__ T &operator[](int i) {{ return v[i & (N - 1)]; }} }};")
    )  # fmt: skip
    found = [Part(f"{c}<int, 2> {s}({maker.value()});")]
    maker.scope.read += [f"{s}[1]", f"{s}.v[0]"]
    maker.scope.write += [f"{s}[1]", f"{s}.v[1]"]
    maker.scope.calls.append(f"{s}[@]")
    return found


def _union(maker: Maker) -> list[Part]:
    c, u = maker.name("U"), maker.name("u")
    maker.before.append(Part(f"union {c} {{ int i; unsigned u; unsigned char c[4]; }};"))
    found = [Part(f"{c} {u}; {u}.u = {maker.value()};")]
    maker.scope.read += [f"(int){u}.u", f"(int){u}.c[0]", f"{u}.i"]
    maker.scope.write.append(f"{u}.i")
    maker.scope.does.append(f"{u}.u = @;")
    return found


def _bits(maker: Maker) -> list[Part]:
    c, s = maker.name("S"), maker.name("s")
    maker.before.append(Part(f"struct {c} {{ unsigned a : 6, b : 6; }};"))
    found = [Part(f"{c} {s}; {s}.a = {maker.value()}; {s}.b = {maker.value()};")]
    maker.scope.read += [f"(int){s}.a", f"(int){s}.b"]
    # A reference to one is impossible.
    maker.scope.does += [f"{s}.a = @;", f"{s}.b = @ & 31;"]
    return found


def _several(maker: Maker) -> list[Part]:
    """Make an array of objects."""
    c, s, e, k = maker.name("S"), maker.name("s"), maker.name("e"), maker.name("k")
    maker.before.append(Part(f"struct {c} {{ int a, b; }};"))
    found = [Part(f"{c} {s}[2] = {{{{{maker.value()}, {maker.value()}}}, {{{maker.value()}, {maker.value()}}}}};")]
    if maker.random.random() < 0.5:
        found.append(
            Part(f"int {k} = 0; for (auto &{e} : {s}) {{ {e}.b = {maker.value()}; {k} = ({k} + {e}.a) & 63; }}")
        )
        maker.scope.read.append(k)
    maker.scope.read += [f"{s}[0].a", f"{s}[1].b", f"{s}[{maker.value()} & 1].a"]
    maker.scope.write += [f"{s}[0].b", f"{s}[1].a", f"{s}[{maker.value()} & 1].a"]
    return found


def _nested(maker: Maker) -> list[Part]:
    i, o, s = maker.name("I"), maker.name("O"), maker.name("s")
    with maker.function():
        one, two = maker.source(), maker.source()
    maker.before += [
        Part(f"struct {i} {{ int a = {one}; int b[2] = {{1, {two}}}; "
             f"__device__ void set(int x) {{ a = x; b[x & 1] = x; }} }};"),
        Part(f"struct {o} {{ {i} in, other[2]; int k = 3; }};"),
    ]  # fmt: skip
    maker.scope.read += [f"{s}.in.a", f"{s}.in.b[1]", f"{s}.other[1].a", f"{s}.k"]
    maker.scope.write += [f"{s}.in.a", f"{s}.in.b[0]", f"{s}.other[1].a", f"{s}.k"]
    maker.scope.does += [f"{s}.in.set(@);", f"{s}.other[0].set(@);", f"{s}.in = {s}.other[0];"]
    return [Part(f"{o} {s};")]


def _range(maker: Maker) -> list[Part]:
    """Make a range with its own iterators."""
    c, r, k = maker.name("R"), maker.name("r"), maker.name("k")
    found = [
        Part(f"{c} {r}{{{maker.value()} & 3}}; int {k} = 0;"),
        Part(f"for (int i_ : {r}) {k} = ({k} + i_ + {maker.value()}) & 63;"),
    ]
    maker.before.append(
        Part(f"struct {c} {{ int n; struct It {{ int i; __device__ int operator*() const {{ return i; }} "
             "__device__ It &operator++() { ++i; return *this; } "
             "__device__ bool operator!=(const It &o) const { return i != o.i; } }; "
             "__device__ It begin() const { return It{0}; } __device__ It end() const { return It{n}; } };")
    )  # fmt: skip
    maker.scope.read.append(k)
    return found


def functor_of(maker: Maker) -> list[Part]:
    """Make a function object, perhaps passed to a function template."""
    c, f, g = maker.name("F"), maker.name("f"), maker.name("g")
    with maker.function("x", "k"):
        value = maker.value()
    maker.before.append(Part(f"struct {c} {{ int k; __device__ int operator()(int x) const {{ return {value}; }} }};"))
    found = [Part(f"{c} {f}{{{maker.value()}}};")]
    maker.scope.calls.append(f"{f}(@)")
    maker.scope.write.append(f"{f}.k")
    if maker.random.random() < 0.6:
        more = maker.random.choice(("F f", "F &f", "F &&f", "const F &f"))
        maker.before.append(Part(f"template <class F> __device__ int {g}({more}, int x) {{ return (f(x) + 1) & 63; }}"))
        if more != "F &&f" and more != "F &f":
            maker.scope.calls.append(f"{g}([=](int y) {{ return (y + {maker.value(1)}) & 63; }}, @)")
        maker.scope.calls.append(f"{g}({f}, @)")
    return found

# SPDX-License-Identifier: Apache-2.0
"""Random kernels in which values flow through all kinds of C++ to places that test whether they vary.

A kernel passes a value to `probe` in several places. Most inputs are uniform; up to three are varying. LLVM, hipport
and an execution decide which of them reach a probe, and are compared (value_judges). Every loop ends, there are no
races, and numbers stay small.

    kernel = made(seed)
    kernel.text(number, Form.ASKED)     # gives `probe(number, value)` each value
    kernel.text(number, Form.RUN)       # collectives and barriers on both sides of what depends on them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from generated_classes import functor_of, object_of
from generated_forms import form_of
from kernel_parts import Made, Part

_SHAPES = ("64", "64", "64", "dim3(32, 2)", "dim3(8, 8)")


@dataclass
class _Scope:
    """The usable names: values to read, variables to write, objects to call; and the form of a return."""

    read: list[str] = field(default_factory=list)
    write: list[str] = field(default_factory=list)
    #: Calls with a number as result: `@` is an argument.
    calls: list[str] = field(default_factory=list)
    #: Statements for an object or lambda: `@` is an argument.
    does: list[str] = field(default_factory=list)
    #: The expression of a `return`, if it is a function.
    returns: bool = False
    #: Whether `break` and `continue` are allowed, in a loop.
    loop: bool = False
    #: Whether all threads reach this place together.
    top: bool = False

    def inner(self) -> _Scope:
        return _Scope(self.read[:], self.write[:], self.calls[:], self.does[:], self.returns, self.loop, False)


class Maker:
    """The generation of one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.before: list[Part] = []
        self.names = 0
        self.probes = 0
        #: The number of varying inputs that it may still have.
        self.own = self.random.choice((0, 1, 2, 3, 5, 8))
        self.functions: list[str] = []
        self.scope = _Scope()
        self.depth = 0

    def name(self, stem: str) -> str:
        """Return an unused name."""
        self.names += 1
        return f"{stem}{self.names}"

    @contextmanager
    def inside(self, *, loop: bool = False, top: bool = False) -> Iterator[None]:
        """Open a scope for declarations."""
        outer, self.scope = self.scope, self.scope.inner()
        self.scope.loop, self.scope.top = loop or self.scope.loop, top
        self.depth += 1
        try:
            yield
        finally:
            self.scope = outer
            self.depth -= 1

    @contextmanager
    def function(self, *parameters: str, write: Sequence[str] = ()) -> Iterator[None]:
        """Enter another function with these parameters."""
        outer, depth = self.scope, self.depth
        self.scope = _Scope([*parameters, *write], [*write], returns=True)
        self.depth = 2
        try:
            yield
        finally:
            self.scope, self.depth = outer, depth

    # ---- expressions

    def source(self) -> str:
        """Return an input: a uniform or a varying one."""
        r = self.random
        if self.own and r.random() < 0.4:
            self.own -= 1
            return r.choice(
                ("(int)threadIdx.x", "((int)threadIdx.x & 31)", "((int)threadIdx.x >> 4)", "(threadIdx.x < 40)",
                 "((int)threadIdx.x & 1)", "own()", "TID", "((int)threadIdx.x % 3)", "WHO(1)", "Own::id()")
            )  # fmt: skip
        inside = "n" not in self.scope.read
        return r.choice(
            ("1", "2", "6", "17", "(int)blockIdx.x", "((int)blockDim.x & 63)", "given", "given", "FIVE", "same(2)")
            if inside
            else ("2", "5", "(int)blockIdx.x", "n", "m", "n", "m", "in[n & 7]", "in[m & 63]", "in[blockIdx.x]", "given")
        )

    def value(self, depth: int = 2) -> str:
        """Return an expression with a value from 0 to 63."""
        r, scope = self.random, self.scope
        choice = r.random()
        if depth <= 0 or choice < 0.35:
            return r.choice(scope.read) if scope.read and r.random() < 0.7 else self.source()
        if choice < 0.5:
            sign = r.choice("+-*^|&")
            return f"(({self.value(depth - 1)} {sign} {self.value(depth - 1)}) & 63)"
        if choice < 0.62:
            return f"({self.value(depth - 1)} {r.choice(('<', '==', '>=', '!='))} {self.value(depth - 1)})"
        if choice < 0.68:
            return f"({self.value(depth - 1)} {r.choice(('>> 1', '% 5', '& 3', '/ 3'))})"
        if choice < 0.74:
            return f"({self.value(depth - 1)} ? {self.value(depth - 1)} : {self.value(depth - 1)})"
        if choice < 0.8:
            return f"({self.value(depth - 1)} {r.choice(('&&', '||'))} {self.value(depth - 1)})"
        if choice < 0.84:
            return r.choice(("!{}", "min({}, 9)", "abs({})", "max({}, 2)")).format(self.value(depth - 1))
        if scope.calls and choice < 0.95:
            return self.filled(r.choice(scope.calls), depth - 1)
        return self.helper(depth - 1)

    def filled(self, text: str, depth: int = 1) -> str:
        """Return a text with arguments in its gaps."""
        while "@" in text:
            text = text.replace("@", self.value(depth), 1)
        return text

    def helper(self, depth: int) -> str:
        """Return a call of a function, perhaps a new one."""
        if not self.functions or (len(self.functions) < 3 and self.random.random() < 0.6):
            if self.scope.returns:
                return self.source()
            self.functions.append(self.random.choice((self._plain, self._recursive, self._template, self._folded))())
        return self.filled(self.random.choice(self.functions), depth)

    def _plain(self) -> str:
        f = self.name("f")
        with self.function("x", "y"):
            start = Part(f"int z = {self.value()};")
            self.scope.read.append("z")
            self.scope.write.append("z")
            body = (start, *self.statements(self.random.randrange(0, 3)))
            self.before.append(
                Part(f"__device__ int {f}(int x, int y) {{", (*body, Part(f"return {self.value()};")), "}")
            )
        return f"{f}(@, @)"

    def _recursive(self) -> str:
        f = self.name("f")
        with self.function("x", "y"):
            again = f"if (k > 0) return ({f}({self.value()}, {self.value()}, k - 1) + {self.value()}) & 63;"
            body = (*self.statements(self.random.randrange(0, 2)), Part(again), Part(f"return {self.value()};"))
            self.before.append(Part(f"__device__ int {f}(int x, int y, int k) {{", body, "}"))
        return f"{f}(@, @, @ & 3)"

    def _template(self) -> str:
        f = self.name("f")
        with self.function("x", "N"):
            start = Part(f"T z = {self.value()};")
            self.scope.read.append("z")
            self.scope.write.append("z")
            choose = Part(f"if constexpr (N > 2) {{ z = {self.value()}; }} else {{ z = {self.value()}; }}")
            body = (start, choose, *self.statements(1), Part(f"return {self.value()};"))
            self.before.append(Part(f"template <int N, class T> __device__ T {f}(T x) {{", body, "}"))
        return f"{f}<{self.random.choice('1234')}>((int)(@))"

    def _folded(self) -> str:
        f = self.name("f")
        sign = self.random.choice(("+", "^", "|"))
        self.before.append(Part(f"template <class... T> __device__ int {f}(T... t) {{ return (t {sign} ...) & 63; }}"))
        return f"{f}(@, @, @)"

    # ---- statements

    def statements(self, count: int) -> tuple[Part, ...]:
        """Return a number of statements, with their declarations."""
        found: list[Part] = []
        for _ in range(count):
            kinds: list[Callable[[], list[Part]]] = [
                self.assign, self.assign, self.declare, self.compound, self.lambda_, self.pointer, self.reference,
                self.array, self.conditional_place, self.swapped, self.by_callee, self.macro, self.do, self.do,
                self.form, self.form, self.form, self.form, self.form,
            ]  # fmt: skip
            if not self.scope.returns:
                kinds += [self.object, self.object, self.functor, self.bound, self.pointer_to_function]
            if self.depth < 3:
                kinds += [self.branch, self.branch, self.loop, self.again, self.repeated, self.cases, self.skipped]
                kinds += [self.jumped]
            if self.scope.loop:
                kinds += [self.leave]
            if self.scope.returns:
                kinds += [self.early]
            if self.scope.top:
                kinds += [self.shared, self.together, self.rounds]
            found += self.random.choice(kinds)()
            if not self.scope.returns and self.random.random() < 0.25:
                found.append(self.probe())
        return tuple(found)

    def probe(self) -> Part:
        """Return a probe of a value."""
        self.probes += 1
        run = "none"
        if self.scope.top:
            run = self.random.choice(("shuffle", "shuffle", "direct", "vote", "sum", "barrier"))
        asked = self.random.choice(self.scope.read) if self.random.random() < 0.6 else self.value()
        return Part(asked, probe=self.probes, run=run)

    def target(self) -> str:
        """Return a variable to write, of several kinds."""
        return self.random.choice(self.scope.write)

    def assign(self) -> list[Part]:
        if not self.scope.write:
            return self.declare()
        return [Part(f"{self.target()} = {self.value()};")]

    def compound(self) -> list[Part]:
        if not self.scope.write:
            return self.declare()
        r = self.random
        to = self.target()
        texts = [
            f"{to} ^= {self.value()};",
            f"{to} |= {self.value()};",
            f"{to} = {self.target()} = {self.value()};",
            f"{self.target()} = (({to} = {self.value()}), {self.value()});",
            f"({to} &= 31) ^= {self.value()};",
            f"{to} >>= ({self.value()} & 1);",
            f"{self.value()} && ({to} = {self.value()});",
        ]
        return [Part(r.choice(texts))]

    def declare(self) -> list[Part]:
        v = self.name("v")
        kind = self.random.choice(("int", "int", "auto", "unsigned", "unsigned char", "float", "volatile int"))
        value = self.value()
        part = Part(f"{kind} {v} = {value};" if kind != "auto" else f"auto {v} = (int)({value});")
        read = f"(int){v}"
        self.scope.read.append(read)
        if kind in ("int", "auto"):
            self.scope.write.append(v)
        return [part]

    def lambda_(self) -> list[Part]:
        f = self.name("f")
        if self.scope.returns or self.random.random() < 0.4:
            capture = self.random.choice(("[&]", "[=]"))
            text = f"auto {f} = {capture}(int x) {{ return (x + {self.value()}) & 63; }};"
            self.scope.calls.append(f"{f}(@)")
            return [Part(text)]
        if self.random.random() < 0.3:
            i = self.name("i")
            text = f"auto {f} = [{i} = {self.value()}](int x) mutable {{ {i} = ({i} + x) & 63; return {i}; }};"
            self.scope.calls.append(f"{f}(@)")
            return [Part(text)]
        outer = self.scope
        with self.inside():
            self.scope.read.append("x")
            self.scope.returns, self.scope.loop = True, False
            inner = (*self.statements(self.random.randrange(1, 3)), Part(f"return (int)({self.value()});"))
        outer.calls.append(f"{f}(@)")
        outer.does.append(f"{f}(@);")
        return [Part(f"auto {f} = [&](int x) -> int {{", inner, "};")]

    def pointer(self) -> list[Part]:
        if not self.scope.write:
            return self.declare()
        p = self.name("p")
        one, two = self.target(), self.target()
        text = f"int *{p} = &{one};" if self.random.random() < 0.5 else f"int *{p} = {self.value()} ? &{one} : &{two};"
        self.scope.read.append(f"*{p}")
        self.scope.write.append(f"*{p}")
        return [Part(text)]

    def reference(self) -> list[Part]:
        if not self.scope.write:
            return self.declare()
        p = self.name("r")
        one, two = self.target(), self.target()
        text = self.random.choice((f"int &{p} = {one};", f"int &{p}{{{one}}};", f"auto &{p} = {one};",
                                   f"int &{p} = {self.value()} ? {one} : {two};"))  # fmt: skip
        self.scope.read.append(p)
        self.scope.write.append(p)
        return [Part(text)]

    def array(self) -> list[Part]:
        a = self.name("a")
        made = [Part(f"int {a}[4] = {{{', '.join(self.value() for _ in range(4))}}};")]
        if self.random.random() < 0.3:
            i = self.name("i")
            made.append(Part(f"for (int {i} = 0; {i} < 4; ++{i}) {a}[{i}] = ({a}[{i}] + {self.value()}) & 63;"))
        if self.random.random() < 0.3:
            e, s = self.name("e"), self.name("s")
            made.append(Part(f"int {s} = 0; for (int {e} : {a}) {s} = ({s} * 3 + {e}) & 63;"))
            self.scope.read.append(s)
        for i in (self.random.choice("0123"), f"({self.value()} & 3)"):
            self.scope.read.append(f"{a}[{i}]")
            self.scope.write.append(f"{a}[{i}]")
        return made

    def conditional_place(self) -> list[Part]:
        if not self.scope.write:
            return self.declare()
        return [Part(f"({self.value()} ? {self.target()} : {self.target()}) = {self.value()};")]

    def swapped(self) -> list[Part]:
        if len(self.scope.write) < 2:
            return self.declare()
        one, two = self.random.sample(self.scope.write, 2)
        t = self.name("t")
        return [Part(f"{{ const int {t} = {one}; {one} = {two}; {two} = {t}; }}")]

    def by_callee(self) -> list[Part]:
        """Return a call of a function that changes its argument."""
        if not self.scope.write:
            return self.declare()
        if self.scope.returns:
            return [Part(f"put({self.target()}, {self.value()});")]
        f = self.name("f")
        kind = self.random.choice(("&", "*"))
        with self.function("x", write=["o" if kind == "&" else "*o"]):
            inner = self.statements(self.random.randrange(1, 3))
        # It has no result.
        text = tuple(_without_value(part) for part in inner)
        self.before.append(Part(f"__device__ void {f}(int {kind}o, int x) {{", text, "}"))
        self.scope.does.append(f"{f}({'&' if kind == '*' else ''}{self.target()}, @);")
        return [Part(self.filled(self.scope.does[-1]))]

    def macro(self) -> list[Part]:
        if not self.scope.write:
            return self.declare()
        if self.random.random() < 0.4:
            # The variable has no value in its own initializer.
            v, value = self.name("v"), self.value()
            self.scope.read.append(v)
            self.scope.write.append(v)
            return [Part(f"NEW({v}, {value});")]
        if self.random.random() < 0.5:
            return [Part(f"SET({self.target()}, {self.value()});")]
        return [Part(f"TIMES(({self.value()} & 3)) {{ {self.target()} = {self.value()}; }}")]

    def do(self) -> list[Part]:
        if not self.scope.does:
            return self.assign()
        return [Part(self.filled(self.random.choice(self.scope.does)))]

    # ---- control flow

    def block(self, *, loop: bool = False, most: int = 2) -> tuple[Part, ...]:
        """Return statements in braces."""
        with self.inside(loop=loop):
            return self.statements(self.random.randrange(1, most + 1))

    def branch(self) -> list[Part]:
        yes = self.block()
        made = [Part(f"if ({self.value()}) {{", yes, "}")]
        if self.random.random() < 0.5:
            made = [Part(made[0].head, yes, ""), Part("} else {", self.block(), "}")]
            return [Part("{", tuple(made), "}")]
        return made

    def loop(self) -> list[Part]:
        i = self.name("i")
        with self.inside(loop=True):
            self.scope.read.append(i)
            inner = self.statements(self.random.randrange(1, 3))
        count = self.random.choice(("3", f"({self.value()} & 3)", f"({self.value()} & 3)"))
        return [Part(f"for (int {i} = 0; {i} < {count}; ++{i}) {{", inner, "}")]

    def again(self) -> list[Part]:
        k = self.name("k")
        inner = (Part(f"--{k};"), *self.block(loop=True))
        return [Part(f"int {k} = {self.value()} & 3;"), Part(f"while ({k} > 0) {{", inner, "}")]

    def repeated(self) -> list[Part]:
        k = self.name("k")
        inner = self.block(loop=True)
        return [Part(f"int {k} = 0;"), Part("do {", inner, f"}} while (++{k} < ({self.value()} & 3));")]

    def cases(self) -> list[Part]:
        inner: list[Part] = []
        for label in ("case 0:", "case 1:", "default:"):
            falls = label != "default:" and self.random.random() < 0.4
            inner.append(Part(f"{label} {{", self.block(), "}" if falls else "} break;"))
        return [Part(f"switch ({self.value()} & 3) {{", tuple(inner), "}")]

    def skipped(self) -> list[Part]:
        label = self.name("l")
        inner = (Part(f"if ({self.value()}) goto {label};"), Part("{", self.block(), "}"), Part(f"{label}:;"))
        return [Part("{", inner, "}")]

    def jumped(self) -> list[Part]:
        label, k = self.name("l"), self.name("k")
        inner = (Part(f"{label}: {{", self.block(), "}"), Part(f"if (++{k} < ({self.value()} & 3)) goto {label};"))
        return [Part(f"int {k} = 0;"), Part("{", inner, "}")]

    def leave(self) -> list[Part]:
        return [Part(f"if ({self.value()}) {self.random.choice(('break', 'continue'))};")]

    def early(self) -> list[Part]:
        return [Part(f"if ({self.value()}) return {self.value()};")]

    # ---- collectives

    def shared(self) -> list[Part]:
        v = self.name("v")
        at = self.random.choice(("threadIdx.x == 0", f"thread == ({self.value()} & 63)", "thread == 3"))
        write = self.random.choice((f"if ({at}) sh[thread] = {self.value()};", f"sh[thread] = {self.value()};"))
        index = self.random.choice(("3", "0", f"{self.value()} & 63"))
        start = "sh[thread] = 1; __syncthreads(); "
        self.scope.read.append(v)
        return [Part(f"__syncthreads(); {start}{write} __syncthreads(); int {v} = sh[{index}]; __syncthreads();")]

    def together(self) -> list[Part]:
        v = self.name("v")
        call = self.random.choice(
            ("__shfl_sync(~0u, @, 3)", "__shfl_sync(~0u, @, n & 31)", "(__ballot_sync(~0u, @) & 63)",
             "(__any_sync(~0u, @) ? 3 : 4)", "(__syncthreads_count(@) & 63)", "(__syncthreads_or(@) ? 1 : 0)")
        )  # fmt: skip
        made = Part(f"int {v} = {self.filled(call)};")
        self.scope.read.append(v)
        self.scope.write.append(v)
        return [made]

    def rounds(self) -> list[Part]:
        i = self.name("i")
        with self.inside(top=True):
            self.scope.read.append(i)
            inner = self.statements(self.random.randrange(1, 4))
        return [Part(f"for (int {i} = 0; {i} < 3; ++{i}) {{", inner, "}")]

    # ---- classes

    def object(self) -> list[Part]:
        return object_of(self)

    def functor(self) -> list[Part]:
        return functor_of(self)

    def form(self) -> list[Part]:
        return form_of(self)

    def bound(self) -> list[Part]:
        """Return structured bindings of a function's result."""
        f, s = self.name("f"), self.name("S")
        a, b = self.name("a"), self.name("b")
        with self.function("x", "y"):
            made = Part(f"__device__ {s} {f}(int x, int y) {{ return {s}{{{self.value()}, {self.value()}}}; }}")
        self.before += [Part(f"struct {s} {{ int a, b; }};"), made]
        given = f"{f}({self.value()}, {self.value()})"
        self.scope.read += [a, b]
        self.scope.write += [a, b]
        return [Part(f"auto [{a}, {b}] = {given};")]

    def pointer_to_function(self) -> list[Part]:
        f, g, p = self.name("f"), self.name("g"), self.name("p")
        with self.function("x"):
            for name in (f, g):
                self.before.append(Part(f"__device__ int {name}(int x) {{ return {self.value()}; }}"))
        if self.random.random() < 0.4:
            self.scope.calls.append(f"{p}[@ & 1](@)")
            return [Part(f"int (*{p}[2])(int) = {{{f}, {g}}};")]
        start = self.random.choice((f, f"{self.value()} ? {f} : {g}"))
        self.scope.calls.append(f"{p}(@)")
        return [Part(f"int (*{p})(int) = {start};")]


def _without_value(part: Part) -> Part:
    """Return a statement in which `return` has no value."""
    head = part.head
    if "return " in head and "[" not in head.partition("return ")[0]:
        head = head.partition("return ")[0] + "return;"
    inner = part.inner if "[&]" in head and part.tail == "};" else tuple(map(_without_value, part.inner))
    return replace(part, head=head, inner=inner)


def made(seed: int) -> Made:
    """Return the kernel with that number."""
    maker = Maker(seed)
    scope = maker.scope
    scope.top = True
    scope.read = ["n", "m"]
    start = []
    for name in "abc":
        start.append(Part(f"int {name} = {maker.value(1)};"))
        scope.read.append(name)
        scope.write.append(name)
    body = (*start, *maker.statements(maker.random.randrange(2, 6)), maker.probe(), maker.probe())
    return Made(tuple(maker.before), body, maker.random.choice(_SHAPES))


#: The text before all kernels, and its form for CUDA.
COMMON = """__device__ int given = 3;
#define TID (int)threadIdx.x
#define FIVE 5
#define WHO(x_) (((x_) + (int)threadIdx.x) & 63)
#define NEW(v_, e_) int v_ = (e_)
#define SET(v_, e_) do { v_ = (e_); } while (0)
#define TIMES(n_) for (int i_ = 0; i_ < (n_); ++i_)
struct Own { static __device__ int id() { return threadIdx.x; } };
__device__ int own() { return threadIdx.x & 15; }
__device__ int same(int x) { return x * 3 & 63; }
__device__ void put(int &x, int y) { x = y; }
"""

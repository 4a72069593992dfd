# SPDX-License-Identifier: Apache-2.0
"""The distinction of code and comments, and the values of conditions.

Compared with a lexer written differently, clang's own lexer, and a real preprocessor.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hipport.analysis.functions import functions
from hipport.core.edits import Conflict, Edit, Span
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.declarators import declarators
from hipport.syntax.preprocessor import condition, names_for_hip

CLANG = next(
    (c for c in ("clang", *(f"clang-{n}" for n in range(25, 12, -1)), "/opt/rocm/llvm/bin/clang") if shutil.which(c)),
    None,
)
GCC = shutil.which("gcc") or shutil.which("clang")


def cpp(text: bytes) -> Cpp:
    return Cpp(PurePosixPath("a.cu"), text)


def code(text: bytes) -> bytes:
    return cpp(text).code


# ---- code -----------------------------------------------------------------------------------------------------------

# Pieces that are difficult for lexers. Each is whole, so that any sequence of them is a text that compilers agree on.
# fmt: off
PIECES = [
    b"a", b"b1", b"u8", b"L", b"R", b"uR", b"xR", b" 0 ", b" 1'0 ", b" 0x1'fF ", b" .5e'3 ", b"\xc3\xa9",
    b" ", b" ", b"\t", b"\n", b"\n", b"\r\n", b"(", b")", b"<", b">", b"/", b"*", b"#",
    b"\\", b"\\\n", b"\\\r\n", b"\\ \n", b"'", b'"', b"//", b"/*", b"*/", b"// c", b"/* d */", b"/* e\n f */",
    b"'x'", b"'\\''", b"'\"'", b'"s"', b'"\\""', b'"//"', b'"\\\\"', b'"t\\\nu"',
    b'R"(r)"', b'R"x(")y" //)x"', b'u8R"(\n")"', b'R"(\\\n)"',
    b"\n#define m(x) #x\n", b"\n#if 0\n", b"\n#endif\n",
]
# fmt: on
# No program splices inside a token other than a literal or a comment.
TEXTS = (
    st.lists(st.sampled_from(PIECES), max_size=14)
    .map(b"".join)
    .filter(lambda text: not re.search(rb"[\w/*\x80-\xff]\\[ \t]*[\r\n]", text))
)


@dataclass
class Model:
    """A lexer written like the standard: first the splices are removed, then tokens are read one byte at a time."""

    text: bytes

    def __post_init__(self) -> None:
        self.bytes: list[tuple[str, int]] = []
        i = 0
        text = self.text.decode("latin-1")
        while i < len(text):
            if text[i] == "\\":
                j = i + 1
                while text[j : j + 1] and text[j] in " \t\f\v":
                    j += 1
                if text[j : j + 1] and text[j] in "\r\n":
                    i = j + (2 if text[j : j + 2] == "\r\n" else 1)
                    continue
            self.bytes.append((text[i], i))
            i += 1
        self.bytes.append(("", len(text)))

    def at(self, i: int, word: str) -> bool:
        return "".join(c for c, _ in self.bytes[i : i + len(word)]) == word

    def blanks(self) -> list[tuple[int, int]]:
        """Return the blank parts of the code, as offsets in the text."""
        found = []
        i = 0
        end = len(self.bytes) - 1
        word = ""  # The end of the identifier or number.
        while i < end:
            c = self.bytes[i][0]
            start = i
            if self.at(i, "//"):
                while i < end and self.bytes[i][0] not in "\r\n":
                    i += 1
            elif self.at(i, "/*"):
                i += 2
                while i < end and not self.at(i, "*/"):
                    i += 1
                i = min(end, i + 2)
            elif c == '"' and word in ("R", "LR", "uR", "UR", "u8R") and (raw := self.raw(self.bytes[i][1])):
                found.append((self.bytes[i][1] + 1, raw - 1))
                while i < end and self.bytes[i][1] < raw:
                    i += 1
                word = ""
                continue
            elif c == "'" and word[:1].isdigit() and re.fullmatch("[0-9A-Za-z_]", self.bytes[i + 1][0]):
                word += c
                i += 1
                continue
            elif c in "\"'":
                i += 1
                while i < end and self.bytes[i][0] not in ("\r", "\n", c):
                    i += 2 if self.bytes[i][0] == "\\" and self.bytes[i + 1][0] not in ("\r", "\n", "") else 1
                closed = i < end and self.bytes[i][0] == c
                if c == "'" and not closed:
                    i = start + 1  # A lone apostrophe is unchanged.
                else:
                    found.append((self.bytes[start][1] + 1, self.bytes[i][1]))
                    i += closed
                word = ""
                continue
            else:
                joined = re.fullmatch(r"\w|[\x80-\xff]", c) or (c == "." and word[:1].isdigit())
                word = word + c if joined else ""
                i += 1
                continue
            found.append((self.bytes[start][1], self.bytes[i][1]))
            word = ""
        return found

    def raw(self, offset: int) -> int | None:
        opening = re.compile(rb'"([^()\\\s]{0,16})\(').match(self.text, offset)
        if opening is None:
            return None
        end = self.text.find(b")" + opening[1] + b'"', opening.end())
        return None if end < 0 else end + len(opening[1]) + 2

    def code(self) -> bytes:
        out = bytearray(self.text)
        for start, end in self.blanks():
            for i in range(start, end):
                if out[i] not in b"\r\n":
                    out[i] = 0x20
        return bytes(out)


@given(TEXTS)
@example(b"// c \\\\\nd")
@example(b"'\\\\\n'' a")
@example(b'R"x(" a')
@example(b"u8'a' 1'0 'b")
@settings(max_examples=600)
def test_code_is_that_of_the_standards_lexer(text: bytes) -> None:
    assert code(text) == Model(text).code()


@given(TEXTS | st.binary(max_size=60))
def test_code_has_the_bytes_and_lines_of_the_text(text: bytes) -> None:
    blanked = code(text)
    assert len(blanked) == len(text)
    assert all(a == b or (b == 0x20 and a not in b"\r\n") for a, b in zip(text, blanked, strict=True))


def clang_tokens(path: Path, text: bytes) -> list[tuple[int, str]]:
    """Return the tokens of clang's raw lexer: their starts in the text, and their kinds."""
    path.write_bytes(text)
    command = [str(CLANG), "-cc1", "-std=c++20", "-dump-raw-tokens", str(path)]
    said = subprocess.run(command, capture_output=True, check=False).stderr
    lines = [0, *(match.end() for match in re.finditer(rb"\r\n?|\n", text))]
    tokens = []
    done = 0
    for match in re.finditer(rb"\tLoc=<[^\n]*?:(\d+):(\d+)>$", said, re.MULTILINE):
        kind = said[done : match.start()].split(b" ", 1)[0].decode()
        tokens.append((lines[int(match[1]) - 1] + int(match[2]) - 1, kind))
        done = match.end() + 1
    return tokens


def against_clang(path: Path, text: bytes) -> None:
    blanked = code(text)
    tokens = clang_tokens(path, text)
    for (start, kind), (end, _) in pairwise([*tokens, (len(text), "")]):
        splices = re.match(rb"(?:\\[ \t]*\r?\n)*", text[start:end])  # clang counts them as part of the next token.
        start += splices.end() if splices else 0
        if kind == "comment":
            assert not blanked[start:end].strip(), (kind, text[start:end])
        elif kind.endswith(("string_literal", "char_constant")):
            inside = re.fullmatch(
                rb"(?:u8|[uUL])?R?([\"'])(.*)\1(?:[\w\x80-\xff]|\\\s*)*", blanked[start:end], re.DOTALL
            )
            assert inside is not None, (kind, text[start:end])
            assert not inside[2].strip(), (kind, text[start:end])
        elif kind != "unknown":
            assert blanked[start:end] == text[start:end], (kind, text[start:end])
        elif text[start:end].strip():
            return  # A literal without an end: no compiler accepts this text, and its end is undefined.


@pytest.mark.skipif(CLANG is None, reason="NOT CHECKED: Cpp.code against clang's lexer, as there is no clang here")
@given(text=TEXTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_code_is_that_of_clangs_lexer(tmp_path: Path, text: bytes) -> None:
    against_clang(tmp_path / "a.cpp", text)


@pytest.mark.skipif(
    CLANG is None, reason="NOT CHECKED: the examples' code against clang's lexer, as there is no clang here"
)
def test_code_of_the_examples_is_that_of_clangs_lexer(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    files = [
        path
        for folder in ("ext_examples", "fixtures", "src/hipport/include")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in {".cu", ".cuh", ".h", ".cpp"}
    ]
    assert len(files) > 10
    texts = [text for path in files if b"__has_include" not in (text := path.read_bytes())]
    # Raw tokens have no header names and no prose, so such lines cannot be compared.
    together = re.sub(rb"(?m)^[ \t]*#[ \t]*(include|import|error|warning)\b.*", b"", b"\n".join(texts))
    against_clang(tmp_path / "a.cpp", together)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"#include <a//b.h> // c", b"#include <      >     "),
        (b"/* c\n */ # include \"it's.h\" // '", b'    \n    # include "      "     '),
        (b"  #  import <a>", b"  #  import < >"),
        (b"#include NAME(x)", b"#include NAME(x)"),
        (b"#error don't call f() /* c\n d */ g()", b"#error" + b" " * 20 + b"\n      g()"),
        (b"#define m(error) f(#error, x)", b"#define m(error) f(#error, x)"),
        (b"a \\\n#error it's\n", b"a \\\n#error it's\n"),
        (b"\\\n\n#error it's\n", b"\\\n\n#error     \n"),
        (b"#if __has_include(<cub/cub.cuh>) && a < b", b"#if __has_include(<           >) && a < b"),
        (b"\xef\xbb\xbf#include <a>", b"   #include < >"),
        (b"case'a': return'b';", b"case' ': return' ';"),
        (b"don't f() // can't", b"don'            't"),
    ],
)
def test_code_of_directives_and_prose(text: bytes, expected: bytes) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    "unit", [b"\\\n", b"\\ \n", b"\\\\\n", b"'\\\n", b"\\x", b"*", b"/*", b'"', b'R"(', b"1'0", b"#error '\\\n", b"#"]
)
def test_no_text_takes_forever(unit: bytes) -> None:
    """Patterns that backtrack would not finish on these texts."""
    for lead in (b"", b"'", b'"', b"//", b"/*", b"#define x '", b"#error "):
        source = cpp(lead + unit * 20_000)
        assert len(source.code) == len(source.text)
        assert source.directives is not None


# ---- directives and conditions --------------------------------------------------------------------------------------


def directives(text: bytes) -> list[bytes]:
    source = cpp(text)
    return [source[span] for span in source.directives]


def test_directives_end_where_their_line_does() -> None:
    assert directives(b"#a \\\n b\n  # c // d \\\n e\n/* f */#g\nh #i\n#j \\\\\n k\r#l\n") == [
        b"#a \\\n b",
        b"# c // d \\\n e",
        b"#g",
        b"#j \\\\\n k",
        b"#l",
    ]
    # A line end inside a comment is not the end of a directive.
    assert directives(b"#if A /* b\n c */ && D\n#e\n") == [b"#if A /* b\n c */ && D", b"#e"]
    assert directives(b"#a /*\n*/ /*\n*/ \\\n b\nc") == [b"#a /*\n*/ /*\n*/ \\\n b"]
    assert directives(b"#a /*\n*/ #b\n#c") == [b"#a /*\n*/ #b", b"#c"]
    assert directives(b'"\\\n#a"\nb \\\n#c\nR"(\n#d\n)"') == []
    source = cpp(b"a\n#b c\nd")
    assert [source.directive(offset) for offset in (1, 2, 5, 6, 7)] == [None, *[Span(2, 6)] * 2, None, None]


def test_includes() -> None:
    text = b'#include <a.h> // <b.h>\n # include_next/**/"c d.h"\n// #include <e>\n#if 0\n#import <f>\n#endif\n'
    text += b"#include NAME\n"
    source = cpp(text)
    assert [
        (include.path, include.angled, source[include.target], source[include.directive]) for include in source.includes
    ] == [
        ("a.h", True, b"<a.h>", b"#include <a.h>"),
        ("c d.h", False, b'"c d.h"', b'# include_next/**/"c d.h"'),
        ("f", True, b"<f>", b"#import <f>"),
    ]


HIP = ("USE_ROCM", "__HIP_PLATFORM_AMD__", "__HIPCC__")
OTHERS = ("A", "B")
NAMES = st.sampled_from(HIP + OTHERS)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    """Return the text of a condition in C and (with other operators) in Python."""
    kind = draw(st.integers(0, 9 if depth else 4))
    name = draw(NAMES)
    if kind < 2:
        return draw(st.sampled_from([f"defined({name})", f"defined {name}", f"defined( {name} )", f"!defined({name})"]))
    if kind == 2:
        return name
    if kind == 3:
        return draw(st.sampled_from(["0", "1", "2", "0x10u", "010", "1'000L"]))
    if kind == 4:
        return f"({name} {draw(st.sampled_from(['>=', '==', '<', '!=']))} {draw(st.integers(0, 2))})"
    a, b = draw(conditions(depth - 1)), draw(conditions(depth - 1))
    if kind == 5:
        return f"!({a})"
    if kind == 6:
        return f"({a}) ? ({b}) : {draw(conditions(depth - 1))}"
    gap = draw(st.sampled_from([" ", " ", " /* x */ ", " \\\n"]))
    return f"{a}{gap}{draw(st.sampled_from(['&&', '||', '==', '+', '|']))} {b}"


@st.composite
def conditionals(draw: st.DrawFn, depth: int = 3) -> list[str]:
    """Return lines with nested conditionals; each place with its own visibility has a line `@`."""
    lines = ["@"]
    for _ in range(draw(st.integers(0, 2 if depth else 0))):
        name = draw(NAMES)
        lines.append(
            draw(st.sampled_from([f"#ifdef {name}", f"#ifndef {name} // c", f"# if {draw(conditions())}", "#if 0"]))
        )
        lines += draw(conditionals(depth - 1))
        for _ in range(draw(st.integers(0, 2))):
            lines.append(f"  #elif {draw(conditions())} /* e */")
            lines += draw(conditionals(depth - 1))
        if draw(st.booleans()):
            lines += ["#else", *draw(conditionals(depth - 1))]
        lines += ["#endif // x", "@"]
    return lines


def seen(text: str, macros: dict[str, str]) -> set[int]:
    """Return the numbers of the places that a real preprocessor keeps."""
    command = [
        str(GCC),
        "-E",
        "-P",
        "-w",
        "-x",
        "c",
        "-std=c2x",
        *(f"-D{name}={value}" for name, value in macros.items()),
        "-",
    ]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return {int(number) for number in re.findall(rb"@(\d+)", done.stdout)}


@pytest.mark.skipif(GCC is None, reason="NOT CHECKED: conditions against a real preprocessor, as there is none here")
@given(lines=conditionals(), values=st.tuples(*[st.sampled_from([None, "0", "1", "2"])] * len(OTHERS)))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_code_for_hip_or_cuda_alone_is_that_of_a_preprocessor(lines: list[str], values: tuple[str | None, ...]) -> None:
    text = "\n".join(line.replace("@", f"@{number}") for number, line in enumerate(lines)) + "\n"
    source = cpp(text.encode())
    others = {name: value for name, value in zip(OTHERS, values, strict=True) if value is not None}
    on_hip = seen(text, others | dict.fromkeys(HIP, "1"))
    on_cuda = seen(text, others)
    for match in re.finditer(r"@(\d+)", text):
        number, offset = int(match[1]), match.start()
        if any(span.start <= offset < span.end for span in source.cuda_only):
            assert number not in on_hip
        if any(span.start <= offset < span.end for span in source.hip_only):
            assert number not in on_cuda


@given(conditions())
@settings(max_examples=300)
def test_a_condition_on_known_macros_is_decided(text: str) -> None:
    """No condition is unknown without a reason: only a macro that is not known makes it so."""
    known = re.sub(r"\b[AB]\b", "USE_ROCM", text).encode()
    known = re.sub(rb"/\*.*?\*/", b" ", known)
    assert condition(known, hip=True) is not None
    assert condition(known, hip=False) is not None


@pytest.mark.parametrize(
    ("text", "hip", "cuda"),
    [
        ("defined(USE_ROCM)", True, False),
        ("!defined USE_ROCM", False, True),
        ("USE_ROCM", True, False),
        ("!USE_ROCM", False, True),
        ("defined(A)", None, None),
        ("A", None, None),
        ("defined(A) && !defined(USE_ROCM)", False, None),
        ("defined(A) || defined(USE_ROCM)", True, None),
        ("defined(USE_ROCM) ? A : 0", None, False),
        ("HIP_VERSION >= 50200", None, False),
        ("defined(HIP_VERSION) && HIP_VERSION >= 50200", None, False),
        ("TORCH_HIP_VERSION < 100", None, True),
        ("defined(__HIP_PLATFORM_NVIDIA__)", False, False),
        ("defined(__HIP_DEVICE_COMPILE__)", None, False),
        ("__gfx90a__ || defined(__GFX9__)", None, False),
        ("defined(__HIP_PLATFORM_HCC__)", None, False),
        ("defined(WITH_HIP)", None, False),
        ("BNB_HIP && defined(USE_AMD_ROCM)", None, False),
        ("!defined(HAVE_ROCM) || ROCM_FOUND", None, True),
        ("FOO_NO_HIP || FOO_HIP_GRAPHS || CUDA_OR_HIP || SHIP", None, None),
        ("__has_include(<   >) && !defined(USE_ROCM)", False, None),
        ("TORCH_VERSION_AT_LEAST(2, (1)) || 1", True, True),
        ("not defined(USE_ROCM) and 1", False, True),
        ("7 - 2 - 3 == 2 && 1 - (2 - 3) == 2 && 1 << 1 << 1 == 4", True, True),
        ("(1 + 2) * 2 == 6 && 1 << 3 > 7 && 0x1F == 037 && -1 < 0 && 1'0 == 10UL", True, True),
        ("defined(__CUDACC__)", None, None),
        ("", None, None),
        ("(USE_ROCM", None, None),
        ("USE_ROCM)", None, None),
        ("USE_ROCM '", None, None),
        ("A / 0", None, None),
        ("defined(", None, None),
        ("09", None, None),
        ("(" * 5000, None, None),
    ],
)
def test_conditions(text: str, hip: bool | None, cuda: bool | None) -> None:
    assert condition(text.encode(), hip=True) is hip
    assert condition(text.encode(), hip=False) is cuda


def only(text: str) -> tuple[list[str], list[str]]:
    """Return the words that only CUDA, and that only HIP, sees."""
    source = cpp(text.encode())
    return tuple(
        [word for span in spans for word in source[span].decode().split()]
        for spans in (source.cuda_only, source.hip_only)
    )  # type: ignore[return-value]


def test_a_macro_that_chooses_headers_of_hip_is_defined_there() -> None:
    choice = "#ifdef USE_HIP\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n#endif\n"
    later = "#if !defined(USE_HIP)\nfirst\n#endif\n#if USE_HIP && A\nsecond\n#else\nthird\n#endif\n"
    assert only(choice + later) == (
        ["#include", "<cuda_runtime.h>", "first"],
        ["#include", "<hip/hip_runtime.h>", "second"],
    )
    by_value = choice.replace("#ifdef", "#if")
    assert only(by_value) == (["#include", "<cuda_runtime.h>"], ["#include", "<hip/hip_runtime.h>"])
    # It may be another's name, not about CUDA, or the same for both.
    for other in (
        choice.replace("USE_HIP", "FAST"),
        choice.replace("<cuda_runtime.h>", "<vector>"),
        choice.replace("<hip/hip_runtime.h>", "<vector>"),
        choice.replace("#else", "#include <cuda.h>\n#else"),
        choice.replace("#ifdef USE_HIP", "#if defined(USE_HIP) && A"),
    ):
        assert "first" not in only(other + later)[0], other


@pytest.mark.parametrize(
    "choice",
    [
        "#ifdef USE_HIP\n#include <hip/hip_runtime.h>\n#elif defined(A)\n#include <cuda_runtime.h>\n#endif\n",
        "#if GOOGLE_CUDA\n#include <cuda.h>\n#elif USE_HIP\n#include <hip/hip_runtime.h>\n#endif\n",
        "#ifndef USE_HIP\ncudaError_t e;\n#else\nhipError_t e;\n#endif\n",
        "#ifdef USE_HIP\n#define gpuFree hipFree\n#else\n#define gpuFree cudaFree\n#endif\n",
        "#ifdef USE_HIP\nhipblasHandle_t e;\n#elif A\n#elif B\ncublasHandle_t e;\n#else\n#error neither\n#endif\n",
    ],
)
def test_a_macro_that_chooses_functions_of_hip_is_defined_there(choice: str) -> None:
    assert "first" in only(choice + "#if USE_HIP\n#else\nfirst\n#endif\n")[0]
    # Both have them, or they are only in comments and strings.
    for other in (
        "#ifdef USE_HIP\nhipError_t e;\n#else\nhipError_t g; cudaError_t f;\n#endif\n",
        "#ifdef USE_HIP\n// hipFree\n#else\ncudaError_t f;\n#endif\n",
        '#ifdef USE_HIP\nchar s[] = "hipFree";\n#else\ncudaError_t f;\n#endif\n',
        "#ifdef USE_HIP\nhipError_t e;\n#endif\ncudaError_t f;\n",
        "#ifdef USE_HIPPO\nhipError_t e;\n#else\ncudaError_t f;\n#endif\n",
    ):
        assert "first" not in only(other + "#if USE_HIP\n#else\nfirst\n#endif\n")[0]


def test_a_name_for_nvidia_is_not_defined_where_a_program_tells_the_two_apart() -> None:
    assert only("#if GOOGLE_CUDA\na\n#elif defined(USE_ROCM)\nb\n#endif") == (["a"], ["b"])
    assert only("#ifdef HAVE_CUDA\na\n#else\nb\n#endif\n#ifdef WITHOUT_CUDA\nc\n#elif USE_ROCM\n#endif") == ([], [])
    # A PyTorch for ROCm has these defined, too.
    for name in ("WITH_CUDA", "MMCV_WITH_CUDA"):
        assert only(f"#ifdef {name}\na\n#elif defined(USE_ROCM)\nb\n#endif") == ([], ["b"])


@pytest.mark.parametrize(
    ("text", "cuda", "hip"),
    [
        ("#ifdef USE_ROCM\na\n#else\nb\n#endif\nc", ["b"], ["a"]),
        ("#ifndef USE_ROCM\na\n#endif\nb", ["a"], []),
        ("#if A\na\n#elif defined(USE_ROCM)\nb\n#else\nc\n#endif", ["c"], ["b"]),
        ("#if defined(USE_ROCM)\na\n#elif A\nb\n#else\nc\n#endif", ["b", "c"], ["a"]),
        ("#if A\na\n#elif 0\nb\n#else\nc\n#endif", [], []),
        ("#if 1\na\n#elif defined(USE_ROCM)\nb\n#else\nc\n#endif", [], []),
        ("#if !defined(USE_ROCM) && \\\n   A // x\na\n#endif", ["a"], []),
        ("#if !defined(USE_ROCM) /* x\n y */ || A\na\n#endif", [], []),
        ("#ifdef USE_ROCM\n#ifdef A\na\n#else\nb\n#endif\n#endif", [], ["#ifdef", "A", "a", "#else", "b", "#endif"]),
        ("#ifdef A\n#ifdef USE_ROCM\na\n#else\nb\n#endif\n#else\nc\n#endif", ["b"], ["a"]),
        ("#ifdef A\na\n#elifdef USE_ROCM\nb\n#elifndef __HIPCC__\nc\n#endif", ["c"], ["b"]),
        ("#ifdef __HIP_PLATFORM_HCC__\na\n#else\nb\n#endif", [], ["a"]),
        ("#ifdef __CUDACC__\na\n#endif", [], []),
        ("#ifdef __CUDACC__\na\n#elif defined(__HIPCC__)\nb\n#else\nc\n#endif", ["a", "c"], ["b"]),
        ("#if defined(__CUDA_ARCH__)\na\n#elif defined(__HIP_DEVICE_COMPILE__)\nb\n#endif", ["a"], ["b"]),
        ("#if defined(__CUDACC__) || defined(__HIPCC__)\na\n#endif", [], []),
        # A person's branch for HIP, in text in which PyTorch's hipify replaces the first by `__HIPCC__`.
        ("#if defined(__CUDACC__) && defined(USE_ROCM)\na\n#else\nb\n#endif", [], ["a"]),
        ("#if defined(USE_ROCM) && defined(__HIP_PLATFORM_NVIDIA__)\na\n#endif", [], []),
        ("#else\na\n#endif\n#ifdef USE_ROCM\nb\n#endif", [], ["b"]),
        ("#ifdef USE_ROCM\na", [], []),
        ("#ifdef\na\n#endif", [], []),
        ("/*\n#ifdef USE_ROCM\n*/ a\n// #else\n#endif", [], []),
        ("#define m \\\n#ifdef USE_ROCM\na\n#endif", [], []),
        ("#ifdef \\\n USE_ROCM\na\n#else\nb\n#endif", ["b"], ["a"]),
        ("#ifndef /* a\n */ USE_ROCM\na\n#endif", ["a"], []),
        ("#ifdef$USE_ROCM\na\n#endif", [], []),
        ("#ifdef USE_ROCM\r\na\r\n#else\r\nb\r\n#endif\r\n", ["b"], ["a"]),
        ("#ifdef USE_ROCM\ra\r#else\rb\r#endif\r", ["b"], ["a"]),
    ],
)
def test_code_that_only_one_of_them_sees(text: str, cuda: list[str], hip: list[str]) -> None:
    assert only(text) == (cuda, hip)


# ---- harmless edits -------------------------------------------------------------------------------------------------


def test_edits_called_harmless_leave_the_syntax_errors_as_they_are() -> None:
    text = b"#include <a.h>\nint f(int x) { return ++x; }\nf<<<1, 2>>>(x);\nint }; class {"
    source = cpp(text)
    names = [b"y", b"int", b"class", b"hipF", b"<b/c.h>", b'"d.h"', b"1", b""]
    harmless = 0
    for start, end in combinations(range(len(text) + 1), 2):
        if end - start > 8:
            continue
        for new in names:
            edit = Edit(Span(start, end), new)
            if source.harmless(edit):
                harmless += 1
                assert source.apply([edit]).errors == source.errors, edit
    assert harmless > 10


@given(
    st.lists(
        st.sampled_from(
            [*'a cuda error include # " \' / * // /* */ \\ \n R"( )" < > 1 1\'0 . <a.h> "b.h" ( ) ; x'.split(" "), " "]
        ),
        max_size=24,
    ).map(lambda words: "".join(words).encode()),
    st.lists(
        st.tuples(
            st.integers(0, 60),
            st.integers(0, 6),
            st.sampled_from(
                [b"hip", b"h::f(", b"", b'#include "c.h"\n', b'"d.h"', b"<e.h>", b"2", b"include", b"(v*)k"]
            ),
        ),
        max_size=3,
    ),
)
@settings(max_examples=1500)
def test_facts_kept_across_an_edit_are_right_after_it(text: bytes, places: list[tuple[int, int, bytes]]) -> None:
    source = Cpp(PurePosixPath("a.cu"), text)
    spans = [Span(min(a, len(text)), min(a + n, len(text))) for a, n, _ in places]
    edits = [Edit(span, new) for span, (_, _, new) in zip(spans, places, strict=True)]
    # Places for includes, and renamed names, are known without lexing again.
    edits += [Edit(Span(source.include_point, source.include_point), b'#include "hipport/warp.h"\n')]
    edits += [Edit(include.target, b"<hip/f.h>") for include in source.includes]
    edits += [Edit(span, b"renamed") for span, name in source.names() if name == b"cuda"]
    kept: list[Edit] = []
    for edit in edits:
        try:
            source.apply([*kept, edit])
        except Conflict:
            continue
        kept.append(edit)
    _ = source.code
    after = source.apply(kept)
    assert after._lexed == Cpp(after.path, after.text)._lexed
    assert source.apply(kept[:1])._lexed == Cpp(after.path, source.apply(kept[:1]).text)._lexed


@pytest.mark.parametrize(
    ("opens", "rest"),
    [
        (b"#ifndef A_H\n#define A_H\n", b"#include <x>\nint a;\n#endif  // A_H\n"),
        # If the build gives the size of a block, none of the code between these is compiled.
        (b"#ifndef BLOCK\n#define BLOCK 256\n#endif\n", b"#include <x>\n"),
        (b"#ifndef A_H\n#define A_H\n#ifndef BLOCK\n#define BLOCK 256\n#endif\n", b"int a;\n#endif\n"),
        (b"#define A\n#ifndef __CUDACC__\n#define __CUDACC__\n#endif\n#undef B\n\n", b"int a;\n"),
        (b"", b"#ifndef A\n#define A\n#include <x>\n#endif\nint a;\n"),
        (b"", b"#ifndef A\n#include <x>\n#endif\n"),
    ],
)
def test_needed_lines_go_into_a_guard_and_not_into_a_default(opens: bytes, rest: bytes) -> None:
    assert Cpp(PurePosixPath("a.cuh"), opens + rest).include_point == len(opens)


@pytest.mark.parametrize(
    "pattern", [rb"f(oo|oob)", rb"(?i)LANE\w*", rb"(?P<a>b)\w(?!x)", rb"\w*warp\w*", rb"(?!fo)\w+", rb"[^\W\d]{2}"]
)
def test_words_are_matched_whole_however_many_are_tried_at_once(pattern: bytes) -> None:
    wanted = re.compile(pattern)
    for text in (b"foo foob foobar laneid LANE lane", b"bar bxx baz my_warp warps ab a1 b", b"foo lane_2"):
        source = cpp(text)
        assert source.matched(wanted) == {word for word in source.words if wanted.fullmatch(word)}


@given(
    st.lists(st.sampled_from([b"USE_HIP", b"HIP", b"1WITH_HIP", b"__HCC__", b"MY_ROCM", b"_HIP_", b" ", b"x", b"\n"]))
)
def test_macros_for_hip_are_those_among_all_words(parts: list[bytes]) -> None:
    text = b"".join(parts)
    words = re.findall(rb"[A-Za-z_][A-Za-z0-9_]*", text) if b"HIP" in text or b"ROCM" in text else []
    assert names_for_hip(text) == {word for word in words if names_for_hip(b"HIP " + word)}


def test_macros_for_hip_are_recognized_by_their_names() -> None:
    text = b"#if USE_HIP || 1WITH_HIP || MY_ROCM || __HCC__ // IS_HIP\nHIP_CHECK(NO_HIP, USE_HIPS, xUSE_HIP);"
    assert names_for_hip(text) == {b"USE_HIP", b"WITH_HIP", b"MY_ROCM", b"__HCC__", b"IS_HIP"}
    assert names_for_hip(b"__HCC__") == set()


def test_edits_of_a_condition_are_harmless() -> None:
    source = Cpp(PurePosixPath("a.h"), b"#if A >= 2\nint x = {;\n#endif\nint y = (1 + 2);\n")
    assert source.harmless(Edit(Span(10, 10), b" || defined(B)"))
    assert source.harmless(Edit(Span(4, 4), b"("))
    assert not source.harmless(Edit(Span(10, 10), b"\nint z;"))
    at = source.text.index(b"1 + 2")
    assert not source.harmless(Edit(Span(at, at), b"("))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b"int a, *p = f(x, y), b[n] = {0, 1}, c{3}, d(4, 5), **q, &r = a;", "a *p b[] c d **q &r"),
        (b"int a, float b)", "a"),
        (b"int f(int a, int b);", "f"),
        (b"int a[2] [3], *const p = &x, e;", "a[] *constp e"),
        (b"int x = (a, b), y = [=]{ return 1; }(), z;", "x y z"),
        (b"int x = f<a, b>(c);", "x"),
    ],
)
def test_declarators_behind_a_type(text: bytes, names: str) -> None:
    found = [each.made + each.name + b"[]" * each.array for each in declarators(text, text.index(b" "))]
    assert b" ".join(found).decode() == names


@pytest.mark.parametrize(
    "directive",
    [
        b"#define NOTHING // a remark",
        b"#define NOTHING(x)\t",
        b"#define NOTHING \\\n /* a\n remark */",
        b"#define NOTHING \\\n",
        b"#error // a remark",
        b"#define FOLDER sources/ // a remark",
        b"#define OVER(x) x /",
        b"#ifdef A // a remark\n#else B\n#endif GUARD_H",
        b"#ifndef A B\n#endif A\\\n B",
        b'#include "a.h" a remark',
        b"#include <a.h> // a remark",
    ],
)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_a_directive_ends_with_its_line(directive: bytes, newline: bytes) -> None:
    """To the parser the text after it is not part of it; compilers only warn about it."""
    source = cpp((directive + b"\nint x;\nint y;\n").replace(b"\n", newline))
    last = source.tree.root_node.children[-2:]
    assert source.errors == 0
    assert [source.text[each.start_byte : each.end_byte] for each in last] == [b"int x;", b"int y;"]
    assert [each.start_point[1] for each in last[1:]] == [0]
    assert last[0].start_point[0] == directive.count(b"\n") + 1


@pytest.mark.parametrize(
    "body",
    [
        b"x = typename T::Scan(storage).Sum(x);",
        b"typename T::template Load<4, A<3>>::Type{}(storage);",
        b"__shared__ __align__(16) char storage[8];",
        b"[[maybe_unused]] __align__(16) __shared__ float2 sums[2][4];",
        b"__align__(sizeof(float4)) float4 row[4] = {zero()};",
        b"PRAGMA_UNROLL\n  for (int i = 0; i < n; ++i) f(i);",
        b"CUTLASS_UNROLL(4) while (f()) {}",
        b'_Pragma("unroll") for (int i = 0; i < n; ++i) f(i);',
        b"auto f = [](float &__restrict__ x) {};",
        b"#if A\n  if (x) {\n#ifdef B\n    f(1);\n#else\n    f(2);\n#endif\n  } else\n#endif\n  { f(3); }",
    ],
)
def test_words_that_the_grammar_lacks_leave_the_code_around_them_readable(body: bytes) -> None:
    source = Cuda(PurePosixPath("a.cu"), b"template <class T> __global__ void k() {\n  " + body + b"\n  last();\n}\n")
    (function,) = functions(source)
    assert not source.tree.root_node.has_error
    assert function.text(function.body.named_children[-1]) == b"last();"


@pytest.mark.parametrize(
    "declaration",
    [
        b"typename T::Item (&items)[4] = all;",
        b"typename T::Item (*made)(int) = all;",
        b'#define UNROLL _Pragma("unroll")\n',
    ],
)
def test_what_the_grammar_knows_is_read_as_it_is_written(declaration: bytes) -> None:
    source = Cuda(PurePosixPath("a.cu"), b"template <class T> void k() {\n" + declaration + b"\n  last();\n}\n")
    (function,) = functions(source)
    assert not source.tree.root_node.has_error
    kinds = [each.type for each in function.body.named_children]
    assert kinds == ["preproc_def" if b"#" in declaration else "declaration", "expression_statement"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"/*\n*/ #if 1\n#endif\n", [b"#if 1", b"#endif"]),
        (b"/*\n*/ /* a\n b */ #if 1\n", [b"#if 1"]),
        (b"#define A /*\n*/ 1\n#endif\n", [b"#define A /*\n*/ 1", b"#endif"]),
        # A comment is a blank: the line goes on behind it.
        (b"x; /*\n*/ #if 1\n", []),
        (b"x; /*\n*/ /*\n*/ #if 1\n/*\n*/ #endif\n", [b"#endif"]),
    ],
)
def test_a_line_goes_on_behind_a_comment_that_ends_on_another(text: bytes, found: list[bytes]) -> None:
    each = Cuda(PurePosixPath("a.cu"), text)
    assert [each[span] for span in each.directives] == found

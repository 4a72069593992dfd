# SPDX-License-Identifier: Apache-2.0
"""Give 8-bit floating point numbers the format of the target's GPUs.

CUDA's formats are those of the Open Compute Project (OCP). gfx950, gfx12 and later have them too; GPUs without
instructions for them convert in software, to either format. gfx940 to gfx942 have FNUZ numbers only: a different
exponent bias, no infinity, no negative zero, and 240 instead of 448 as the greatest E4M3. So the names follow
`--target`; where they become FNUZ's, the greatest number changes with them, in C++ and in Python (`fp8_python`). Types
of PyTorch's C++ are treated in the same way. Where a list of targets has GPUs of both kinds, no source is right for
both, and a person has to choose.

Even in the same format HIP differs from CUDA in one respect: GPUs with instructions convert an infinity to NaN, while
CUDA's saturation gives the greatest number. Each rewrite assumes that this does not matter.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hipport.analysis.functions import function_at
from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.python_script import Python, syntax_tree

TABLE = load(Path(__file__).with_suffix(".toml"))

_WORDS: dict[str, str] = TABLE["words"]
#: Names in a file or a line that relate to numbers of 8 bits.
ABOUT = re.compile(rf"(?i){one_of(_WORDS['about'])}".encode())
#: Code that chooses between the formats at run time or compile time.
CHOOSES = re.compile(
    rb"gcnArchName|\bHIP_FP8_TYPE_|\b__gfx9\w*|(?i:\b(?!_{0,2}(?:hip_)?k?float8_|_{0,2}hip_fp8|_{0,2}hip_e[45]|hip_r_8f)\w*fnuz\w*)"
)
_WORD_ABOUT = re.compile(rf"(?i)\w*{one_of(_WORDS['about'])}\w*".encode())
_NUMBER = re.compile(
    rb"(?<![\w.])(?:0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][-+]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?P<suffix>[fFlLuU]*)(?![\w.])"
)
_MAYBE = re.compile(rb"448|4\.48|0x1\.[cC]|0x43[eE]0|0x5[fF]00|0\.00223|2\.23\d*[eE]-0*3|4480")
_FLOATING = re.compile(rb"[.eEpP]|\A(?!0[xX]).*[\d.][fF]\b", re.DOTALL)
# An expression of numbers; and the text before one that is a whole argument, value or macro.
_OPERAND = rb"(?:\(\s{0,99})*\d[\w.]*(?:\s{0,99}\))*"
_ARITHMETIC = re.compile(
    rb"(?<![\w.])%b(?:\s{0,99}(?:[-+*/]|<<)\s{0,99}%b){1,8}(?=\s*(?:[;,)}:#]|\Z))" % (_OPERAND, _OPERAND)
)
_ALL_OF_IT = re.compile(rb"(?:[(,{?:]|(?<![=<>!+*/%&|^-])=|\breturn|#[ \t]*define[ \t]+\w+(?:\([^()]*\))?)\s*\Z")
_SUFFIX = re.compile(rb"(?<!\w)(\d[\d.]*(?:[eE][-+]?\d+)?)(?i:f|l|u)+\b")
_SIGNS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda one, other: one * 2**other,
}
_HEX = re.compile(rb"(?<!\w)0[xX]([0-9a-fA-F]{2})[uU]?(?!\w)")
#: Types of such numbers, in CUDA, HIP and PyTorch, and functions that make and read their bytes.
_OF_TYPES = re.compile(
    rb"__(?:nv|hip)_(?:cvt_\w*)?fp8\w*|__(?:NV|HIP)_E[45]M\w+|(?:CUDA|HIP)_R_8F_\w+|k?Float8_\w+|\w*float8_\w+"
)
_ABOUT_TYPE = re.compile(rf"(?i){one_of(_WORDS['mentions'])}".encode())
_BYTE = re.compile(rb"(?:\.|->)\s*__x\b")
_LIMIT = re.compile(rf"(?i){one_of(_WORDS['limits'])}|inf\b".encode())
_INCLUDE = {f"c10/util/{name}.h": f"c10/util/{other}.h" for name, other in TABLE["torch"].items()}
_ENDS = re.compile(rb"[;{}]")
GREATEST = "the largest E4M3 number is 448 in OCP's format, and 240 in FNUZ, which {archs} {have}"
_INFINITY = "assumes that no infinity is converted: these GPUs make it NaN, and CUDA makes it the largest number"
_FNUZ = (
    "{archs} {have} FNUZ numbers only: E4M3 reaches 240 instead of 448, and bytes stand for other numbers; assumes "
    "that all its values are made by this program (in values from a checkpoint, 0x80 becomes 0 and the scale doubles)"
)


class Formats(NamedTuple):
    """The targets with only FNUZ numbers, and those with only OCP's; the others convert to both in software."""

    fnuz: tuple[str, ...]
    ocp: tuple[str, ...]

    @property
    def shared(self) -> str:
        """Return the format that all targets can have, `ocp` if that is one; empty if there is none."""
        if self.fnuz and self.ocp:
            return ""
        return "fnuz" if self.fnuz else "ocp"

    def said(self, text: str) -> str:
        """Return a text with the names of the GPUs that have FNUZ numbers."""
        return text.format(archs=" and ".join(self.fnuz), have="have" if len(self.fnuz) > 1 else "has")

    @property
    def refusal(self) -> str:
        """Return why no source is right for all targets, and what to do."""
        ocp, fnuz = ", ".join(self.ocp), ", ".join(self.fnuz)
        return (
            f"{fnuz} has FNUZ numbers only, {ocp} OCP's only: types, limits and bytes differ, and host code is "
            f"compiled once for both; port twice, with --target {self.fnuz[0]} and with --target {self.ocp[0]}"
        )


def formats(archs: Iterable[str]) -> Formats:
    """Return the formats of the architectures."""
    names = [arch.partition(":")[0] for arch in archs]
    fnuz = tuple(name for name in names if name in TABLE["gpus"]["fnuz"].split())
    either = tuple(TABLE["gpus"]["either"].split())
    return Formats(fnuz, tuple(name for name in names if name not in fnuz and not name.startswith(either)))


@cache
def _cuda() -> LibraryNames:
    return LibraryNames(frozenset(name.encode() for name in TABLE["names"]))


@cache
def _torch() -> frozenset[bytes]:
    return frozenset(name.encode() for name in TABLE["torch"])


@cache
def _hip(of: str) -> frozenset[bytes]:
    """Return HIP's names for one format."""
    return frozenset(row[of].encode() for row in TABLE["names"].values())


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for the names of a file, and one for each number that changes with them."""
    about = source.fact(_about)
    if not about and not (project.union_over(source, _about) and _MAYBE.search(source.code)):
        return
    has = formats(project.target.archs)
    yield from _ported_for_others(source, has)
    types = [*_types(source, project, has)]
    yield from types
    if has.shared != "ocp" and not CHOOSES.search(source.code):
        numbers = _numbers(source, has, bool(about), _typed(source, project))
        yield from numbers if has.shared or not types else ()


def _about(source: Cpp) -> frozenset[bytes]:
    """Return the words of the file that relate to numbers of 8 bits."""
    return frozenset(source.matched(_WORD_ABOUT))


def _types(source: Cpp, project: Project, has: Formats) -> Iterator[Finding]:
    chooses = CHOOSES.search(source.code) is not None
    uses = [*_cuda().uses(source, project)]
    if has.shared != "ocp" and not chooses:
        of_torch = [(span, name) for span, name in source.names(_torch()) if not source.ported(span.start)]
        uses += [
            each for each in of_torch if b"fnuz" not in source.code[slice(*_statement(source.code, each[0].start))]
        ]
    uses.sort()
    if not uses:
        return
    first, name = uses[0]
    if not has.shared:
        yield Finding(first, "mixed", f"{name.decode()}: {has.refusal}", certainty=Certainty.MANUAL)
        return
    release = TABLE["since"][has.shared]
    if any(each.decode() in TABLE["names"] for _, each in uses) and project.target.rocm < _release(release):
        new = _new(name, has.shared)
        message = f"{name.decode()}: {new} is new in ROCm {release}; pass --rocm {release}, or do without it"
        yield Finding(first, "too_new", message, certainty=Certainty.MANUAL)
        return
    edits = [Edit(span, _new(each, has.shared).encode()) for span, each in uses]
    if has.shared == "fnuz":
        for include in source.includes:
            if include.path in _INCLUDE and not source.ported(include.directive.start):
                inside = Span(include.target.start + 1, include.target.end - 1)
                edits.append(Edit(inside, _INCLUDE[include.path].encode()))
    more = len({each for _, each in uses}) - 1
    others = f" (and {more} more such name{'s' if more > 1 else ''})" if more else ""
    why = has.said(_FNUZ) if has.shared == "fnuz" else f"the same format; {_INFINITY}"
    message = f"{name.decode()} → {_new(name, has.shared)}{others}: {why}"
    yield Finding(first, "format", message, tuple(edits), Certainty.REVIEW)


def _new(name: bytes, of: str) -> str:
    row = TABLE["names"].get(name.decode())
    new: str = row[of] if row else TABLE["torch"][name.decode()]
    return new


def _release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _ported_for_others(source: Cpp, has: Formats) -> Iterator[Finding]:
    """Report HIP's names in a format that a target lacks, where no code chooses between both."""
    used = {of: next(iter(source.names(_hip(of))), None) for of in ("ocp", "fnuz")}
    if CHOOSES.search(source.code) or (used["ocp"] and used["fnuz"]):
        return
    for of, lacking in (("fnuz", has.ocp), ("ocp", has.fnuz)):
        found = used[of]
        if found is None or not lacking:
            continue
        span, name = found
        trap = "; HIP 6.4 compiles it there, and the kernel traps" if of == "ocp" and b"__hip_fp8" in name else ""
        message = (
            f"{name.decode()} is {of.upper()}, which {', '.join(lacking)} {('do' if len(lacking) > 1 else 'does')} "
            f"not have{trap}: choose the type by HIP_FP8_TYPE_FNUZ, or by the target"
        )
        yield Finding(span, "other_format", message, certainty=Certainty.MANUAL)


def _statement(code: bytes, offset: int) -> tuple[int, int]:
    """Return the span of the statement, or of the macro's line, around `offset`."""
    before = [match.end() for match in _ENDS.finditer(code, max(0, offset - 400), offset)]
    after = _ENDS.search(code, offset)
    return before[-1] if before else max(0, offset - 400), after.start() if after else len(code)


def _typed(source: Cpp, project: Project) -> bool:
    """Return whether the program has types of 8-bit numbers, in C++ or in Python, and not just bytes of its own."""
    return bool(project.union_over(source, _type_words)) or any(
        b"float8_" in other.text for other in project.sources if isinstance(other, Python)
    )


def _type_words(source: Cpp) -> frozenset[bytes]:
    return frozenset(source.matched(_OF_TYPES))


def _about_bytes(source: Cpp, offset: int, start: int, end: int) -> bool:
    """Return whether the statement from `start` to `end` handles bytes of 8-bit numbers."""
    code = source.code
    if ABOUT.search(code, start, end) or _BYTE.search(code, start, end):
        return True
    return _of_such_type(source, offset)


def _of_such_type(source: Cpp, offset: int) -> bool:
    """Return whether a place is in a function, or in a structure, that is made for 8-bit numbers by its head."""
    code = source.code
    function = function_at(source, offset)
    if function is not None:
        head = code[function.node.start_byte : function.body.start_byte]
        return not function.kernel and _ABOUT_TYPE.search(head) is not None
    # A member of a structure that is specialized for such a type.
    opening = code.rfind(b"{", 0, offset)
    before = max(code.rfind(each, 0, max(opening, 0)) for each in (b";", b"}", b"{"))
    outer = code[before + 1 : opening] if opening > 0 else b""
    return re.search(rb"\b(?:struct|class)\b", outer) is not None and _ABOUT_TYPE.search(outer) is not None


def _written(code: bytes, about: bool) -> Iterator[tuple[Span, bytes, str]]:
    """Yield the numbers that have another value in FNUZ, and how that is written."""
    for match in _NUMBER.finditer(code) if about or _MAYBE.search(code) else ():
        new = replaced(match[0].decode())
        if new is not None:
            yield Span(*match.span()), match[0], new


def _computed(code: bytes) -> Iterator[tuple[Span, bytes, str]]:
    """Yield the constant expressions that have the value 448: `1.75f * 256.0f`, `(1 << 9) - (1 << 6)`."""
    for match in _ARITHMETIC.finditer(code):
        start, end = match.span()
        text = code[start:end]
        # A bracket at an end, or at both, may belong to a call or a macro around it.
        while text.startswith(b"(") and text.count(b"(") > text.count(b")"):
            text = text[1:].lstrip()
            start = end - len(text)
        while text.endswith(b")") and text.count(b")") > text.count(b"("):
            text = text[:-1].rstrip()
        while text.startswith(b"(") and text.endswith(b")") and _worked_out(text[1:-1]) is not None:
            text = text[1:-1].strip()
            start = code.index(text, start)
        if _worked_out(text) == 448 and _ALL_OF_IT.search(code, max(0, start - 200), start):
            new = replaced("448.0f" if b"f" in text.lower() else "448.0" if b"." in text else "448")
            assert new is not None
            yield Span(start, start + len(text)), text, new


def _worked_out(text: bytes) -> float | None:
    """Return the value of an expression of numbers, signs and brackets."""
    try:
        (statement,) = syntax_tree(_SUFFIX.sub(rb"\1", b"".join(text.split()))).body
        return _value_of(statement.value) if isinstance(statement, ast.Expr) else None
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _value_of(node: ast.expr) -> float:
    match node:
        case ast.Constant(int() | float() as number):
            return float(number)
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            one, other = _value_of(left), _value_of(right)
            if isinstance(sign, ast.LShift) and not 0 <= other < 32:
                raise ValueError
            return float(_SIGNS[type(sign)](one, other))
    raise ValueError


def _numbers(source: Cpp, has: Formats, about: bool, typed: bool) -> Iterator[Finding]:
    code = source.code
    lines: set[int] = set()
    for span, text, new in (*_written(code, about), *(_computed(code) if about else ())):
        if source.ported(span.start):
            continue
        start, end = _statement(code, span.start)
        directive = source.directive(span.start)
        statement = code[directive.start : directive.end] if directive else code[start:end]
        near = ABOUT.search(statement) is not None or (typed and _of_such_type(source, span.start))
        floating = _FLOATING.search(text) is not None
        limit = _LIMIT.search(statement) is not None
        # 448 is also a common image size: a number that stands neither beside such a name nor beside a limit is
        # ignored.
        if not near and not (limit if not floating or not about else about):
            continue
        if not has.shared:
            yield Finding(span, "mixed", f"{text.decode()}: {has.refusal}", certainty=Certainty.MANUAL)
            return
        edits: tuple[Edit, ...] = ()
        if not typed:
            message = (
                f"{text.decode()}: {has.said(GREATEST)}; the program has no type of such numbers, and may make "
                f"their bytes itself: write {new} if a GPU's instructions or a library read them, else leave it"
            )
        elif near or (about and floating):
            message = f"{text.decode()} → {new}: {has.said(GREATEST)}; assumes that it is this limit here"
            edits = (Edit(span, new.encode()),)
        else:
            message = f"{text.decode()}: {has.said(GREATEST)}; write {new} if it is this limit"
        yield Finding(span, "greatest", message, edits, Certainty.REVIEW if edits else Certainty.MANUAL)
    if not about or not has.shared or not typed:
        return
    values = frozenset(value[2:].encode() for value in TABLE["bytes"]["values"].split())
    for match in _HEX.finditer(code):
        line = source.position(match.start())[0]
        if match[1].lower() not in values or line in lines or source.ported(match.start()):
            continue
        start, end = _statement(code, match.start())
        if not _about_bytes(source, match.start(), start, end):
            continue
        lines.add(line)
        message = has.said(
            f"{match[0].decode()}: this byte is another number in FNUZ, which {{archs}} {{have}} (0x7f is 240, 0x80 is "
            "the only NaN; there is no negative zero and no infinity): write the byte of that format"
        )
        yield Finding(Span(*match.span()), "bits", message, certainty=Certainty.MANUAL)


def replaced(text: str) -> str | None:
    """Return FNUZ's counterpart of a number for OCP's E4M3: of 448, of 1/448, and of 448 as it is stored."""
    bare = text.rstrip("fFlLuU") if not text.lower().startswith("0x") else text.rstrip("lLuU")
    suffix = text[len(bare) :]
    if text.lower().startswith("0x") and "p" not in text.lower():
        stored = {old.lower(): new for old, new in TABLE["stored"].items()}.get(bare.lower())
        return f"{stored}{suffix}" if stored else None
    if text.lower().startswith("0x"):
        plain = bare.rstrip("fF")
        return f"240.0{bare[len(plain) :]}" if float.fromhex(plain) == 448 else None
    try:
        value = float(bare)
    except ValueError:
        return None
    whole = re.fullmatch(r"\d+", bare) is not None
    if value == 448:
        return f"240{suffix}" if whole else f"240.0{suffix}"
    # 0.00223 is 1/448, and 0.002 is not.
    if not whole and abs(value * 448 - 1) < 2e-3 and len(bare.replace(".", "").lstrip("0")) >= 3:
        return f"(1.0{suffix} / 240.0{suffix})"
    return None


PASS = Pass(Cpp, find)

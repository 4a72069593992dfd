# SPDX-License-Identifier: Apache-2.0
"""Replace inline PTX by calls of hipport's functions, one per instruction, and report instructions that AMD lacks.

`asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c))` becomes `d = hipport::ptx::bfe_u32(a, b, c)`.
Several instructions in one statement become a block, with a variable for each register that the text declares. Reads
of lanes, threads and blocks become plain C++. A CPU's assembly stays, and so does an empty statement that only keeps
the compiler from moving memory accesses. Code under a condition on `__CUDA_ARCH__` that is false on AMD stays as well;
`arch_guards` reports it. If all of a branch can be ported, and `arch_guards` then makes AMD take it, it is rewritten.

A macro may make the text of a statement from its arguments. If no function name can be made there, the statement is
expanded at the macro's uses.

A statement is replaced as a whole or not at all. Its outputs are assigned last, and its inputs read first, wherever
one could alias the other. A carry flag that one asm statement passes to the next becomes a variable of their function,
unless it is passed through calls.

Approximations (`ex2.approx.f32`, `rcp.approx.f32`) are SAFE where hipport's functions are within the bounds of PTX's
manual and return what the GPU returns for zeros, infinities, NaNs and flushed values: a program that compares their
last bits with those of an NVIDIA GPU finds differences. Sines and cosines have no bounds beyond a turn, so they are
REVIEW.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import cast

from hipport.analysis.collective_summary import Collectives
from hipport.analysis.convergence import meetings
from hipport.analysis.functions import DEVICE, function_at
from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words, load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, with_included_headers
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.ptx import carry
from hipport_passes.device.ptx.families import families, has_families
from hipport_passes.device.ptx.later_uses import later_uses
from hipport_passes.device.ptx.operations import TABLE, Untranslated, expanded
from hipport_passes.device.ptx.pasted_keyword import pasted_keywords
from hipport_passes.device.ptx.ptx_assembly import Unparsed, opcodes, parse
from hipport_passes.device.ptx.statements import Statement, Template, Unreadable, perhaps_taken, statements
from hipport_passes.device.ptx.translate import PtxPlace, Translation, translate
from hipport_passes.device.ptx.written_out import TOGETHER, WrittenAsm, WrittenOut, written_out
from hipport_passes.device.written_out_macros import mark

_WORDS = Words.read(
    Path(__file__).with_suffix(".toml"),
    general=Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES),
)
_TYPED = _WORDS.compile(rb"\.(?:(?&predicate)|[busf](?:8|16|32|64)|b?f16(?:x2)?|b128)\b")
_VIDEO = re.compile(rb"v" + one_of(_WORDS["video"]).encode() + rb"[24]?")
_WORD = re.compile(rb"\w+")
# How many opcodes of one statement a message names.
_LISTED = 12
# Collectives, by the names of hipport's functions. In macros, the rest of a name may be pasted to it.
COLLECTIVES = Collectives(
    re.compile(one_of(_WORDS["of_masks"]).encode()),
    re.compile(one_of(_WORDS["of_lanes"], r"\w+").encode()),
    re.compile(one_of(_WORDS["of_blocks"]).encode()),
    position=lambda name: 3 if name.startswith(b"shfl") else 0 if name.startswith((b"elect", b"bar")) else 1,
)
# Functions that hipport/warp.h does not have.
_MORE_THAN_LANES = _WORDS.compile(rb"(?&hipport)::(?:(?&of_ptx)::|(?&numbered))")
# Short names of CPU instructions: `add.s` is one of MIPS, `fence.i` of RISC-V, `b.ne` of ARM.
_SHORT = re.compile(rb"[a-z]{1,2}|\d?[sdhbqw](?:\.\w)?|tso")
# Prefixes of AMD's own instructions, and of directives of its assembler.
_OF_AMD = _WORDS.compile(rb"(?&of_amd)_|\.(?&directives)")
_DIRECTIVE = re.compile(rb"\s*(\.[a-z]\w*)")
_CARRY_BEGINS = _WORDS.compile(rb"((?&carry) = 0;)(?=\S)")
# The beginning or the end of a block, in a statement of its own.
_BLOCK = _WORDS.compile(rb"\s*(?:\{\s*)?(?&register)\s|\s*[{}]\s*\Z")
_AFTER = re.compile(rb"[ \t]*;(?!(?:\s|\\)*else\b)")


@cache
def _headers(header: NewFile) -> tuple[NewFile, ...]:
    """Return one of hipport's headers with its included headers."""
    return with_included_headers(header)


@cache
def _known() -> frozenset[bytes]:
    """Return the first words of PTX's opcodes."""
    table = load(TABLE)
    words = set(table["others"]["opcodes"].split())
    for row in table["refused"].values():
        words |= {word.split(".")[0] for word in row["opcodes"].split()}
    for key in table["instructions"]:
        words |= {word.split(".")[0] for word in expanded(re.split(r"\.", key, maxsplit=1)[0])}
    return frozenset(word.encode() for word in words)


@cache
def _refusals() -> tuple[tuple[bytes, str, str, str], ...]:
    """Return the prefixes of opcodes that AMD lacks, longest first, with kind, reason and advice."""
    rows = load(TABLE)["refused"].items()
    found = [(word.encode(), kind, row["why"], row["instead"]) for kind, row in rows for word in row["opcodes"].split()]
    return tuple(sorted(found, key=lambda row: -len(row[0])))


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per asm statement with PTX, and per argument and function that change with one."""
    apart = _separate_statements(source, project)
    for finding in _findings(source, project):
        if finding.span in apart:
            word = " and that " if finding.certainty is Certainty.REVIEW else "; assumes that "
            message = finding.message + word + apart[finding.span]
            finding = replace(finding, message=message, certainty=Certainty.REVIEW)
        yield finding


class _Known:
    """The results for the files of a component, and the files after the change."""

    def __init__(self, component: Component) -> None:
        self.findings: dict[PurePath, list[Finding]] = {}
        self.after: Project | None = None


def _findings(source: Cpp, project: Project) -> list[Finding]:
    known = project.component(source).fact(_Known).findings
    if source.path not in known:
        known[source.path] = _with_headers(source, project, _whole(source, list(_find(source, project))))
    return known[source.path]


def _whole(source: Cpp, findings: list[Finding]) -> list[Finding]:
    """Return the findings without those in branches that AMD does not get, because not all of them can be ported.

    `arch_guards` reports such a branch.
    """
    left = tuple(
        branch
        for branch in source.fact(perhaps_taken)
        if any(not each.edits and within(each.span.start, (branch,)) for each in findings)
    )
    return [each for each in findings if not within(each.span.start, left)]


def _with_headers(source: Cpp, project: Project, findings: list[Finding]) -> list[Finding]:
    """Include one header instead of ten in a file that only needs functions of lanes."""
    helped = [finding for finding in findings if finding.creates]
    lanes = all(b"hipport::" in f.edits[0].new and not _MORE_THAN_LANES.search(f.edits[0].new) for f in helped)
    if not helped or not lanes or families(source, project).statements:
        return findings
    need, header = include(source, project, "warp.h")
    return [
        replace(finding, edits=(finding.edits[0], *((need,) if need else ())), creates=_headers(header))
        if finding.creates
        else finding
        for finding in findings
    ]


def _find(source: Cpp, project: Project) -> Iterator[Finding]:
    out = _written_out(source, project)
    passes = bool(project.union_over(source, carry.reads_first)) and _passes_flag(source, project, out)
    yield from _variables(source, project, carry.flags(source, project) or () if passes else ())
    given = families(source, project)
    for edit in given.arguments.get(source.path, ()):
        was, new = source[edit.span].decode(errors="replace"), edit.new.decode(errors="replace")
        said = f"{was} → {new}: the function that the macro now calls"
        yield Finding(edit.span, "argument", said, (edit,))
    for span, instead in later_uses(source, project):
        yield _later_use(source, span, instead)
    yield from _pasted(source)
    for use in out.uses.get(source.path, ()):
        yield _at_use(source, project, use)
    for directive in out.users.get(source.path, ()):
        yield _removed_macro(source, directive, directive)
    for statement in statements(source, project):
        start = statement.span.start
        if not statement.matters:
            continue
        if start in out.macros.get(source.path, ()):
            directive = out.macros[source.path][start]
            if not len(directive):
                continue  # The first statement of the macro has the declaration.
            yield _removed_macro(source, statement.span, directive)
            continue
        text = statement.template.text
        words = opcodes(text)
        family = given.statements.get((source.path, start))
        if family is not None:
            yield _written(source, project, statement, *family)
            continue
        if not any(_is_ptx(word, source) for word in words) and not _BLOCK.match(text):
            # `"min." TYPE`, `"add" ROUNDING ".f32"`: only a part of an opcode is known.
            open_ended = all(word.endswith(b".") or word + b"\0" in text for word in words)
            if statement.template.holes and isinstance(source, Cuda) and open_ended:
                yield _manual(statement, "unreadable", _unknown_text(statement))
                continue
            named = _DIRECTIVE.match(text)
            words = words or ([named[1]] if named is not None else [])
            # A semicolon begins a comment in AMD's assembler.
            amd = any(map(_OF_AMD.match, words)) or text.lstrip().startswith(b";")
            if words and not amd and _for_device_alone(source, start):
                advice = next((row for word in words if (row := load(TABLE)["advice"].get(word.decode()))), "")
                message = f"not rewritten, because hipport does not know {words[0].decode(errors='replace')}"
                yield _manual(statement, "unknown", f"{message}: {advice or 'write it in C++'}")
            continue
        if statement.conditional:
            message = "preprocessor conditions stand in this asm statement: write a statement for each branch"
            yield _manual(statement, "unreadable", message)
        elif b"\0" in source[statement.span]:
            yield _manual(
                statement, "unreadable", "there is a NUL byte in this asm statement, which C++ does not allow"
            )
        else:
            yield _refused(statement, words) or _translated(source, project, statement)


def _pasted(source: Cpp) -> Iterator[Finding]:
    for span in pasted_keywords(source) if isinstance(source, Cuda) else ():
        said = source[span].decode(errors="replace")
        message = f"{said}: it makes the word asm, and hipport does not rewrite such statements; write asm itself"
        yield Finding(span, "unreadable", message, certainty=Certainty.MANUAL)


def _passes_flag(source: Cpp, project: Project, out: WrittenOut) -> bool:
    """Return whether a remaining statement passes the carry flag on; expanded ones have a flag of their own."""
    return any(
        carry.passes_on(each.template.text) and each.span.start not in out.macros.get(file.path, ())
        for file in project.component(source)
        if isinstance(file, Cpp)
        for each in statements(file, project)
    )


def _removed_macro(source: Cpp, span: Span, directive: Span) -> Finding:
    """Remove a macro that nothing uses any more; a comment records that for `written_out_macros`."""
    message = "all uses of the macro are written out, and its definition is removed; assumes that nothing else uses it"
    named = re.compile(rb"#[ \t]*define[ \t]+(\w+)").match(source.code, directive.start)
    new = mark(named[1]) if named is not None else b""
    if new in source.text:
        rest = re.compile(rb"[ \t]*(?:\r\n?|\n)?").match(source.code, directive.end)
        directive, new = Span(directive.start, rest.end() if rest is not None else directive.end), b""
    return Finding(span, "macro", message, (Edit(directive, new),), Certainty.REVIEW)


def _written_out(source: Cpp, project: Project) -> WrittenOut:
    """Return the macros to expand: they make the text of statements, and no other method works."""
    if not project.union_over(source, has_families):
        return WrittenOut()
    given = families(source, project)

    def left(file: Cpp, statement: Statement) -> bool:
        if not statement.matters or (file.path, statement.span.start) in given.statements or statement.conditional:
            return False
        return _translated(file, project, statement).certainty is Certainty.MANUAL

    def port(text: Cpp) -> tuple[bytes, Translation] | None:
        if b".cc." in text.text:
            return _with_flag(text, project)
        alone = Project((text,), project.target)
        found = [_translated(text, alone, each) if _is_plain(each, text) else None for each in statements(text, alone)]
        edits = [finding.edits[0] for finding in found if finding is not None and finding.edits]
        if not edits or len(edits) != len(found):
            return None
        assumes = [
            finding.message.partition("; assumes that ")[2]
            for finding in found
            if finding is not None and finding.certainty is Certainty.REVIEW
        ]
        helped = any(finding is not None and finding.creates for finding in found)
        return text.apply(edits).text, Translation((), tuple(dict.fromkeys(assumes)), helped, False)

    return written_out(source, project, left, _is_pointer_at, port)


def _with_flag(text: Cpp, project: Project) -> tuple[bytes, Translation] | None:
    """Replace the statements of a text that pass a carry flag only to each other."""
    begin = b"__device__ void use() {"
    function = Cuda(PurePath("use.cu"), begin + text.text + b"}")
    alone = Project((function,), project.target)
    every = list(statements(function, alone))
    words = [word for each in every for word in opcodes(each.template.text)]
    found = list(_find(function, alone))
    if not all(each.edits for each in found) or not all(_is_plain(each, function) for each in every):
        return None
    if not words or b".cc." in words[-1]:
        return None  # A statement elsewhere may read it.
    inner = function.apply([each.edits[0] for each in found]).text[len(begin) : -1].strip()
    assumes = ("only such statements set the carry flag",)
    inner = _CARRY_BEGINS.sub(rb"\1 ", inner)
    return b"do { " + inner.rstrip(b"; \n") + b"; } while (0)", Translation((), assumes, True, False)


def _is_plain(statement: Statement, source: Cpp) -> bool:
    """Return whether a statement is PTX with a known text that AMD does not lack."""
    words = opcodes(statement.template.text)
    known = statement.matters and not statement.template.holes and any(_is_ptx(word, source) for word in words)
    return known and _refused(statement, words) is None


def _at_use(source: Cpp, project: Project, use: WrittenAsm) -> Finding:
    """Write the C++ of an asm statement at a use of the macro that made it."""
    if use.text:
        return _whole_at_use(source, project, use)
    span, lines = use.span, use.translation.lines
    after = _AFTER.match(source.code, span.end)
    if len(lines) == 1:
        new = lines[0] + (b"" if source.code[span.end :].lstrip()[:1] == b";" else b";")
    else:
        opening, closing = (b"{ ", b" }") if after is not None else (b"do { ", b" } while (0)")
        new = opening + b" ".join(line + b";" for line in lines) + closing
        if after is not None:
            span = Span(span.start, after.end())
        elif source.code[span.end :].lstrip()[:1] != b";":
            new += b";"
    said = _listed(use.opcodes)
    shown = lines[0].decode(errors="replace") if len(lines) == 1 else "a block"
    message = f"{said} → {shown}: the macro's result here"
    certainty = Certainty.REVIEW if use.translation.assumes else Certainty.SAFE
    if use.translation.assumes:
        message += f"; assumes that {' and that '.join(use.translation.assumes)}"
    if not use.translation.helped:
        return Finding(use.span, "instruction", message, (Edit(span, new),), certainty)
    need, header = include(source, project, "ptx.h")
    edits = (Edit(span, new), *((need,) if need else ()))
    return Finding(use.span, "instruction", message, edits, certainty, _headers(header))


def _whole_at_use(source: Cpp, project: Project, use: WrittenAsm) -> Finding:
    """Replace a use of a macro by the ported expansion."""
    message = "the macro's result is written out here, with C++ for its asm statements"
    certainty = Certainty.SAFE
    if use.translation.assumes:
        message += f"; assumes that {' and that '.join(use.translation.assumes)}"
        certainty = Certainty.REVIEW
    edit = Edit(use.span, use.text.replace(b"\r\n", b"\n").replace(b"\n", source.newline))
    if not use.translation.helped:
        return Finding(use.span, "written_out", message, (edit,), certainty)
    need, header = include(source, project, "ptx.h")
    edits = (edit, *((need,) if need else ()))
    return Finding(use.span, "written_out", message, edits, certainty, _headers(header))


def _is_ptx(opcode: bytes, source: Cpp) -> bool:
    """Return whether an opcode is PTX's: its words have types and the like after dots, unlike those of CPUs."""
    root, dot, rest = opcode.partition(b".")
    if not dot:
        return root in (b"trap", b"brkpt", b"exit") and isinstance(source, Cuda)
    types = len(_TYPED.findall(opcode))
    if root not in _known():
        return types > 0 and isinstance(source, Cuda)
    # ARM's `vadd.u32` has one type, PTX's has three.
    if _VIDEO.fullmatch(root):
        return types > 1
    return types > 0 or opcode == b"membar.gl" or (bool(rest) and not _SHORT.fullmatch(rest))


def _for_device_alone(source: Cpp, offset: int) -> bool:
    """Return whether a place is in a function for the device only, whose asm cannot be for a CPU."""
    function = function_at(source, offset)
    if function is None or not isinstance(source, Cuda):
        return False
    head = source.code[function.node.start_byte : function.body.start_byte]
    return DEVICE.search(head) is not None and b"__host__" not in head


def _refused(statement: Statement, words: list[bytes]) -> Finding | None:
    for word in words:
        for opcode, kind, why, instead in _refusals():
            if word == opcode or word.startswith(opcode + b"."):
                if kind == "flow" and len(words) == 1 and word == b"exit":
                    instead = "return from the kernel"
                return _manual(statement, kind, f"{word.decode()}: {why}; {instead}")
        if b"shared::cluster" in word:
            row = load(TABLE)["refused"]["cluster"]
            return _manual(statement, "cluster", f"{word.decode()}: {row['why']}; {row['instead']}")
    return None


def _manual(statement: Statement, kind: str, message: str) -> Finding:
    return Finding(statement.span, kind, message, certainty=Certainty.MANUAL)


def _unknown_text(statement: Statement) -> str:
    names: list[str] = []
    depth = 0
    for hole in statement.template.holes:
        text = hole.decode(errors="replace")
        # The arguments of a macro belong to its use.
        if names and (depth or text == "("):
            names[-1] += text + " " * (text == ",")
        else:
            names.append(text)
        depth = max(0, depth + (text == "(") - (text == ")"))
    said = ", ".join(dict.fromkeys(names))
    return f"{said} makes the text of this asm statement: write the PTX out, or its C++"


def _translated(source: Cpp, project: Project, statement: Statement) -> Finding:
    """Translate a statement; one with macros that have several definitions if all of these mean the same."""
    first, *others = (_translated_as(each, source, project, statement) for each in statement.templates)
    if all((each.edits, each.certainty) == (first.edits, first.certainty) for each in others):
        return first
    return _manual(statement, "unreadable", _unknown_text(statement))


def _translated_as(template: Template, source: Cpp, project: Project, statement: Statement) -> Finding:
    try:
        outputs, inputs = statement.outputs, statement.inputs
        program = parse(template.text, [operand.name for operand in (*outputs, *inputs)])
        place = PtxPlace(
            statement.parameters,
            in_macro=statement.macro is not None,
            is_pointer=lambda text: _is_pointer_at(source, statement.span.start, text),
            carry_escapes=bool(project.union_over(source, carry.reads_first)),
            flag=_flag(source, project, template.text),
        )
        translation = translate(program, outputs, inputs, template.holes, place)
    except Unreadable as problem:
        return _manual(statement, "unreadable", f"not rewritten, because {problem}: write it in C++")
    except Unparsed as problem:
        if template.holes:
            return _manual(statement, "unreadable", _unknown_text(statement))
        return _manual(statement, "unreadable", f"hipport could not read this PTX {problem}: write it in C++")
    except Untranslated as problem:
        advice = {
            "carry": "put the whole chain into one asm statement, or write it in C++ with wider integers",
            "open_block": "put it into one asm statement, or write it in C++",
        }.get(problem.kind, "write it in C++")
        if problem.kind == "unknown":
            parts = [part.decode(errors="replace") for word in opcodes(template.text) for part in word.split(b".")]
            advice = next((row for part in parts if (row := load(TABLE)["advice"].get(part))), advice)
        refused = problem.kind in load(TABLE)["refused"]
        return _manual(
            statement, problem.kind, str(problem) if refused else f"not rewritten, because {problem}: {advice}"
        )
    assumes = list(translation.assumes)
    if translation.flagged:
        assumes.append("only such statements set the carry flag")
    if any(TOGETHER.match(each.opcode) and each.guard is not None for each in program.instructions):
        assumes.append("the lanes for which the predicate holds take part")
    instructions = tuple(dict.fromkeys(each.opcode for each in program.instructions))
    return _written(source, project, statement, replace(translation, assumes=tuple(assumes)), instructions)


def _listed(opcodes: Sequence[bytes]) -> str:
    """Name opcodes, and of many the first: a statement that a compiler wrote has hundreds."""
    said = ", ".join(word.decode(errors="replace") for word in opcodes[:_LISTED])
    return said if len(opcodes) <= _LISTED else f"{said} and {len(opcodes) - _LISTED} more"


def _written(
    source: Cpp, project: Project, statement: Statement, translation: Translation, words: tuple[bytes, ...]
) -> Finding:
    """Write C++ in place of the statement. `words` are the opcodes that it replaces."""
    assumes = list(translation.assumes)
    certainty = Certainty.REVIEW if assumes else Certainty.SAFE
    shown = translation.lines[0].decode(errors="replace") if len(translation.lines) == 1 else "a block"
    message = f"{_listed(words)} → {shown}"
    if assumes:
        message += f"; assumes that {' and that '.join(assumes)}"
    edit = _edit(source, statement, list(translation.lines))
    if not translation.helped:
        return Finding(statement.span, "instruction", message, (edit,), certainty)
    need, header = include(source, project, "ptx.h")
    edits = (edit, *((need,) if need else ()))
    return Finding(statement.span, "instruction", message, edits, certainty, _headers(header))


def _edit(source: Cpp, statement: Statement, lines: list[bytes]) -> Edit:
    """Write `lines` in place of the statement: a single line as it is, several as a block."""
    span, code = statement.span, source.code
    start = max(code.rfind(b"\n", 0, span.start), code.rfind(b"\r", 0, span.start)) + 1
    first = not code[start : span.start].strip()
    indent = source.text[start : span.start] if first else re.match(rb"[ \t]*", source.text[start:])[0]  # type: ignore[index]
    several = b"\n" in source.text[span.start : span.end] or b"\r" in source.text[span.start : span.end]
    head = b""
    for comment in (*statement.comments, *statement.comments_within):
        if comment.startswith(b"//") and first and statement.macro is None:
            head += comment.rstrip() + source.newline + indent
        elif comment.startswith(b"//"):
            head += b"/*" + comment[2:].rstrip().replace(b"*/", b"* /") + b" */ "
        else:
            head += comment + b" "
    if len(lines) == 1:
        return Edit(span, head + lines[0])
    after = _AFTER.match(code, span.end)
    if after is not None and statement.macro is None:
        span = Span(span.start, after.end())
        opening, closing = b"{", b"}"
    else:
        opening, closing = b"do {", b"} while (0)"
    if not several and (statement.macro is not None or not first):
        return Edit(span, head + b" ".join([opening, *(line + b";" for line in lines), closing]))
    end = (b" \\" if statement.macro is not None else b"") + source.newline
    step = b"\t" if indent.endswith(b"\t") else b"    " if len(indent) % 4 == 0 and indent else b"  "
    body = b"".join(end + indent + step + line + b";" for line in lines)
    return Edit(span, head + opening + body + end + indent + closing)


def _later_use(source: Cpp, span: Span, new: bytes) -> Finding:
    was = source[span].decode(errors="replace")
    if new:
        said = (
            f"{was} → {new.decode()}: the function that the macro calls; assumes that the macro passes the operands "
            "in PTX's order"
        )
        return Finding(span, "argument", said, (Edit(span, new),), Certainty.REVIEW)
    said = f"{was} is passed to a macro that calls it: give the macro its PTX statement back, and port again"
    return Finding(span, "argument", said, certainty=Certainty.MANUAL)


def _flag(source: Cpp, project: Project, text: bytes) -> bytes:
    """Return the name of the variable for the carry flag if a statement with that text can use it."""
    return carry.VARIABLE if carry.passes_on(text) and carry.flags(source, project) is not None else b""


_CARRY = b"unsigned " + carry.VARIABLE + b" = 0;"


def _variables(source: Cpp, project: Project, flags: Iterable[tuple[PurePath, int]]) -> Iterator[Finding]:
    """Declare the variable for the carry flag in the functions of this file that need it."""
    needed = {brace for path, brace in flags if path == source.path}
    for brace in sorted(needed.union(carry.undeclared(source, project))):
        # It already exists if an earlier run left some of the statements to a person.
        if not source.code[brace + 1 :].lstrip().startswith(_CARRY):
            yield _variable(source, brace)


def _variable(source: Cpp, brace: int) -> Finding:
    end = re.compile(rb"[^\r\n]*").match(source.code, brace + 1)
    rest = source.code[brace + 1 : end.end()] if end else b""
    if rest.strip():
        text = b" " + _CARRY
    else:
        below = re.compile(rb"\s*[\r\n]([ \t]*)").match(source.code, brace + 1)
        text = source.newline + (below[1] if below else b"  ") + _CARRY
    return Finding(
        Span(brace, brace + 1),
        "carry_flag",
        f"{_CARRY.decode()} holds the carry flag that asm statements of this function pass on; assumes that only "
        "they set it",
        (Edit(Span(brace + 1, brace + 1), text),),
        Certainty.REVIEW,
    )


def _is_pointer_at(source: Cpp, start: int, text: bytes) -> bool:
    """Return whether an operand is a pointer, as far as the text before the statement shows."""
    if text.startswith(b"&") or re.match(rb"\([^()]*\*\s*\)|reinterpret_cast\s*<[^<>]*\*\s*>", text):
        return True
    if not _WORD.fullmatch(text):
        return False
    type_end = rb"[\w>](\s*[*&]\s*|\s+)(?:(?:const|volatile|__restrict__|__restrict)\s+)*"
    declared = re.findall(type_end + text + rb"\s*[,)=;\[{]", source.code[max(0, start - 4000) : start])
    # The nearest declaration; `return x;` looks like one, but not like one of a pointer.
    return bool(declared) and b"*" in declared[-1]


def _separate_statements(source: Cpp, project: Project) -> dict[Span, str]:
    """Return the statements that lanes may reach separately, and the assumption that they do not.

    Collectives are recognized by the names of calls, so the text after the change is analyzed.
    """
    findings = _findings(source, project)
    if not any(COLLECTIVES.names.search(edit.new) for finding in findings for edit in finding.edits):
        return {}
    after = _after(source, project)
    ported = cast("Cpp", after.by_path[source.path])
    found = {}
    for offset, meeting in meetings(ported, after, COLLECTIVES).items():
        start = ported.origin(Span(offset, offset + 1)).start
        for finding in findings:
            if finding.edits and finding.span.start <= start < finding.span.end:
                found[finding.span] = (
                    "all lanes that its mask names reach this call together (in the same iteration of the loop)"
                    if meeting.kind == "iteration"
                    else "all lanes that its mask names reach this call together (none is at another such statement)"
                )
    return found


def _after(source: Cpp, project: Project) -> Project:
    """Return the component of `source` with all asm statements replaced."""
    component = project.component(source)
    known = component.fact(_Known)
    if known.after is None:
        files: list[Source] = []
        for each in component:
            if isinstance(each, Cpp) and (each is source or each.path in project.by_path):
                edits = [edit for finding in _findings(each, project) for edit in finding.edits]
                # A new text, so that its positions map back to the present one.
                files.append(type(each)(each.path, each.text).apply(edits))
            else:
                files.append(each)
        known.after = Project(tuple(files), project.target)
    return known.after


PASS = Pass(Cpp, find)

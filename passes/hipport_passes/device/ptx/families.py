# SPDX-License-Identifier: Apache-2.0
"""Follow instructions into macros that write one function or statement for each instruction in their arguments.

    #define UNARY(name, ptx) __device__ unsigned name(unsigned a) { unsigned d; asm(ptx " %0, %1;" : ...); return d; }
    UNARY(ones, "popc.b32")

In C++ the argument is the function: the statement becomes `d = ptx(a)`, and `"popc.b32"` at the macro's uses becomes
`hipport::ptx::popc_b32`. A macro that makes a string of its argument (`"popc." #type`) pastes the function's name
together instead. All uses must be known, and must lead to the same statement except for the function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from hipport.core.edits import Edit, Span
from hipport.core.tables import load
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.ptx.operations import NAMESPACE, TABLE, Operation, Untranslated, function_name, operation
from hipport_passes.device.ptx.ptx_assembly import PtxProgram, Register, Unparsed, parse
from hipport_passes.device.ptx.statements import Statement, Unreadable, hole, statements, text_of
from hipport_passes.device.ptx.translate import PtxPlace, Translation, translate

_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)(\([^()]*\))?")
_NAME = re.compile(rb"\w+")
_CALL = re.compile(rb"\s*\(")


@dataclass(frozen=True)
class Families:
    """Results for the macros of a component."""

    #: The statements in macros, by file and place, with the opcodes of their uses.
    statements: Mapping[tuple[PurePath, int], tuple[Translation, tuple[bytes, ...]]] = field(default_factory=dict)
    #: By file: the edits of arguments at the macros' uses.
    arguments: Mapping[PurePath, tuple[Edit, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Use:
    """A use of a macro: the arguments that fill the holes of a statement, and the resulting program."""

    source: Cpp
    arguments: Mapping[bytes, Span]
    given: tuple[bytes, ...]
    program: PtxProgram
    does: Operation


def has_families(source: Cpp) -> frozenset[bytes]:
    """Return a non-empty set if a macro of the file has an asm statement whose text contains an argument."""
    if b"asm" not in source.code or b"define" not in source.code:
        return frozenset()
    found = (each for each in statements(source, Project((source,))) if each.macro is not None)
    return frozenset({b"has"} if any(each.template.holes for each in found) else ())


def _known(project: Project) -> dict[PurePath, Families]:
    """Return the cache of families, by the first file of their component."""
    return {}


def families(source: Cpp, project: Project) -> Families:
    """Return the results for the macros in `source` and its component."""
    if not project.union_over(source, has_families):
        return Families()
    known = project.fact(_known)
    files = [other for other in project.component(source) if isinstance(other, Cpp)]
    key = files[0].path
    if key not in known:
        found: dict[tuple[PurePath, int], tuple[Translation, tuple[bytes, ...]]] = {}
        arguments: dict[PurePath, set[Edit]] = {}
        for file in files:
            for statement in statements(file, project):
                if statement.macro is None or not statement.template.holes:
                    continue
                if not statement.matters or _is_known(statement):
                    continue
                try:
                    uses = list(_uses(statement, statement.macro, files))
                    translation, edits = _family(statement, statement.macro, uses)
                except (Unparsed, Unreadable, Untranslated):
                    continue
                opcodes = dict.fromkeys(use.program.instructions[0].opcode for use in uses)
                found[file.path, statement.span.start] = translation, tuple(opcodes)
                for path, edit in edits:
                    arguments.setdefault(path, set()).add(edit)
        known[key] = Families(found, {path: tuple(sorted(edits)) for path, edits in arguments.items()})
    return known[key]


def _is_known(statement: Statement) -> bool:
    """Return whether all filled holes are numbers, which are the same in C++."""
    try:
        symbols = [operand.name for operand in (*statement.outputs, *statement.inputs)]
        program = parse(statement.template.text, symbols)
        translate(program, statement.outputs, statement.inputs, statement.template.holes, PtxPlace(flag=b"flag"))
    except (Unparsed, Unreadable, Untranslated):
        return False
    return True


def _family(statement: Statement, macro: Span, uses: list[_Use]) -> tuple[Translation, list[tuple[PurePath, Edit]]]:
    """Return the translation of a statement in a macro, and of its arguments. Raises Untranslated and the like."""
    holes = statement.template.holes
    given = dict.fromkeys(each.lstrip(b"# \t") for each in holes)
    strings = [each for each in holes if not each.startswith(b"#")]
    if not uses or not set(given) <= statement.parameters or (strings and len(holes) > 1):
        raise Unreadable("the macro's argument is not known")
    edits: list[tuple[PurePath, Edit]] = []
    if strings:
        callee = strings[0]
        if len(re.findall(rb"\b" + callee + rb"\b", statement.source.code[macro.start : macro.end])) != 2:
            raise Unreadable("the macro uses the string for more than the name")
        edits = [(use.source.path, Edit(use.arguments[callee], function(use.does))) for use in uses]
    else:
        callee = _pasted(statement, uses)
        if statement.parameters & {b"hipport", b"ptx"}:
            raise Unreadable("a parameter is part of the name")
    every = [
        translate(use.program, statement.outputs, statement.inputs, (), PtxPlace(statement.parameters), callee=callee)
        for use in uses
    ]
    if any(each.lines != every[0].lines for each in every):
        raise Unreadable("the operands differ between uses")
    assumes = dict.fromkeys(why for each in every for why in each.assumes)
    return Translation(every[0].lines, tuple(assumes), True, False), edits


def _uses(statement: Statement, macro: Span, files: list[Cpp]) -> Iterator[_Use]:
    head = _DEFINE.match(statement.source.code, macro.start)
    if head is None or head[2] is None:
        raise Unreadable("the macro has no parameters")
    parameters = _NAME.findall(head[2])
    symbols = [operand.name for operand in (*statement.outputs, *statement.inputs)]
    for source in files:
        for span, _ in source.names({head[1]}, _CALL):
            directive = source.directive(span.start)
            defined = _DEFINE.match(source.code, directive.start) if directive is not None else None
            if defined is not None and defined.start(1) == span.start:
                if (source.path, span.start) != (statement.source.path, head.start(1)):
                    raise Unreadable("the macro is defined more than once")
                continue
            spans = source.arguments(source.code.index(b"(", span.end))
            if spans is None or len(spans) != len(parameters):
                raise Unreadable("the macro is used with another number of arguments")
            arguments = dict(zip(parameters, spans, strict=True))
            given = []
            text = statement.template.text
            for i, each in enumerate(statement.template.holes):
                argument = arguments.get(each.lstrip(b"# \t"))
                if argument is None:
                    raise Unreadable("the macro's argument is not known")
                string = text_of(source, argument, statement.macros)
                if not each.startswith(b"#") and string.holes:
                    raise Unreadable("the macro's argument is not a string")
                given.append(b" ".join(source[argument].split()) if each.startswith(b"#") else string.text)
                text = text.replace(hole(i), given[-1])
            program = parse(text, symbols)
            if len(program.instructions) != 1 or program.instructions[0].guard is not None or program.depth:
                raise Unreadable("it is more than one instruction")
            does = operation(program.instructions[0], lambda _: b"")
            yield _Use(source, arguments, tuple(given), program, does)


def function(does: Operation) -> bytes:
    """Return a function that does the same as an instruction, as an argument of a macro. Raises Unreadable."""
    if does.before or does.after or does.carry or does.result is None:
        raise Unreadable("the instruction writes more than one value")
    names = [b"x%d" % i for i in range(len(does.sources))]
    text = does.call(names)
    name = function_name(does)
    return name or b"[](" + b", ".join(b"auto " + each for each in names) + b") { return " + text + b"; }"


def _pasted(statement: Statement, uses: list[_Use]) -> bytes:
    """Return the function's name, pasted together from the macro's arguments. Raises Unreadable and Unparsed."""
    template = statement.template
    marks = [b"mark%dmark" % i for i in range(len(template.holes))]
    text = template.text
    for i, mark in enumerate(marks):
        text = text.replace(hole(i), mark)
    (instruction,) = parse(text, [operand.name for operand in (*statement.outputs, *statement.inputs)]).instructions
    name = instruction.opcode.replace(b".", b"_")
    pasted = name
    for mark, each in zip(marks, template.holes, strict=True):
        pasted = pasted.replace(mark, b"##" + each.lstrip(b"# \t") + b"##")
    pasted = pasted.replace(b"####", b"##").removeprefix(b"##").removesuffix(b"##")
    registers = load(TABLE)["registers"]
    if instruction.opcode.startswith(b"mov.") and instruction.operands[1:] == (Register(marks[0]),):
        # The special registers have functions of the same names.
        for use in uses:
            register = registers.get(use.given[0].decode(errors="replace"))
            if register is None or not _NAME.fullmatch(use.given[0]) or not register["is"].startswith("hipport::"):
                raise Unreadable("it is a register without a function")
        return NAMESPACE + template.holes[0].lstrip(b"# \t")
    for use in uses:
        expected = name
        for mark, each in zip(marks, use.given, strict=True):
            if not _NAME.fullmatch(each):
                raise Unreadable("the macro's argument is not part of a name")
            expected = expected.replace(mark, each)
        if function_name(use.does) != NAMESPACE + expected:
            raise Unreadable("the function's name differs from the instruction's")
    return NAMESPACE + pasted

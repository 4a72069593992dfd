# SPDX-License-Identifier: Apache-2.0
"""Find asm statements in C++ and parse them: the text of the assembly, the operands, the comments.

Source of the form: GCC manual, "Extended Asm"; constraints that CUDA knows: "Inline PTX Assembly in CUDA", 13.0.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from math import prod
from pathlib import Path, PurePath

from hipport.analysis.build_defaults import with_defaults
from hipport.core.edits import Span
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.own_guards import COMPILERS
from hipport.syntax.preprocessor import condition
from hipport_passes.device.arch_guards.chains import for_amd
from hipport_passes.device.ptx.expansions import AsmMacro, Unexpanded, choices, expand, with_strings

_KEYWORDS = frozenset((b"asm", b"__asm__", b"__asm"))
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_KEYWORD = _WORDS.composed(rb"(?&asm)")
_QUALIFIER = _WORDS.composed(rb"(?&asm_qualifiers)")
_GAP = rb"(?:\s|\\(?=[ \t]*[\r\n]))*"
_OPENING = re.compile(rb"(?:%s%s\b)*%s\(" % (_GAP, _QUALIFIER, _GAP))
_ALIAS = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\(\))?[ \t]+%s(?:[ \t]+%s)*[ \t]*" % (_KEYWORD, _QUALIFIER))
_STRING_MACRO = re.compile(rb"#[ \t]*define[ \t]+(\w+)(?:\s|\\(?=[\r\n]))+(.*)", re.DOTALL)
_QUOTING_MACRO = re.compile(
    rb"#[ \t]*define[ \t]+(\w+)\([ \t]*(\w+)[ \t]*\)[ \t]+(?:#[ \t]*\2|(\w+)[ \t]*\([ \t]*\2[ \t]*\))[ \t]*"
)
_VALUE_MACRO = re.compile(rb"#[ \t]*define[ \t]+(\w+)[ \t]+\(?[ \t]*(\w+)[ \t]*\)?[ \t]*")
_CALLED = re.compile(rb"\s*\(")
_QUOTED = re.compile(rb"\s*\(\s*([\w.]+)\s*\)")
_MACRO_HEAD = re.compile(rb"#[ \t]*define[ \t]+\w+(?P<parameters>\([^()]*\))?(?:\s|\\)*", re.DOTALL)
_STATEMENT_BEFORE = re.compile(rb"(?:[;{}):]|\b(?:else|do))\Z")
_PIECE = re.compile(
    rb"""
      (?P<gap>(?:\s|\\(?=[ \t]*[\r\n]))+)
    | (?:u8|[uUL])?(?P<raw>R)?"(?P<text>[^"]*)"
    | \#[ \t]*\w+
    | (?P<name>\w+)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|[ \t]*(\r\n?|\n)|(.))", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b", b"0": b"\0"}
_OPERAND = re.compile(rb"(?:\[\s*(?P<name>\w+)\s*\])?(?:\s|\\)*(?P<constraint>[^()\[\]]*?)(?:\s|\\)*\(", re.DOTALL)
_COMMENT = re.compile(rb"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STEP = re.compile(rb"\"[^\"]*\"|[()\[\]{},:]")
_CARRIES = re.compile(rb"\.cc\b")
_COMPILERS = re.compile(rb"\b(?:" + b"|".join(COMPILERS) + rb")\b")
_VERSION = _WORDS.compile(rb"(?<!defined\()(?<!defined )\b(?&versions)\b(?!\))")
_SPACE = re.compile(rb"(?:\s|\\(?=[ \t]*[\r\n]))+")


#: A statement with more texts, by the definitions of its macros, is not translated.
_MOST_TEXTS = 8
#: A constraint that is an unknown macro: the operand may be an address.
UNKNOWN = b"?"


class Unreadable(Exception):
    """An asm statement that is not completely known. The message names the missing part."""


@dataclass(frozen=True, slots=True)
class AsmMacros:
    """The text that the program's macros put into a statement: strings, and strings made of arguments."""

    strings: Mapping[bytes, bytes]
    #: Macros that make a string of their argument, and whether the argument is expanded first.
    quoting: Mapping[bytes, bool]
    #: The expansions of other macros, if they are one word.
    values: Mapping[bytes, bytes]
    #: All macros: some make strings of their arguments in other ways.
    all: Mapping[bytes, AsmMacro | None]
    #: The macros with several definitions, and those.
    choices: Mapping[bytes, tuple[AsmMacro, ...]]

    @staticmethod
    def of(source: Cpp, project: Project) -> AsmMacros:
        quoting: dict[bytes, bool] = {}
        made = project.union_over(source, _quoting_macros)
        while more := {name for name, by in made if (not by or by in quoting) and name not in quoting}:
            quoting |= {name: (name, b"") not in made for name in more}
        defaults = project.union_over(source, with_defaults)
        values = _values(project.union_over(source, _value_macros), defaults) if quoting else {}
        every = choices(each for each in project.component(source) if isinstance(each, Cpp))
        one = {name: each[0] if len(each) == 1 else None for name, each in every.items()}
        several = {name: each for name, each in every.items() if len(each) > 1}
        strings = _values(project.union_over(source, _string_macros), defaults)
        return AsmMacros(strings, quoting, values, one, several)

    def with_choices(self, names: Sequence[bytes]) -> Iterator[AsmMacros]:
        """Yield these macros with each of the definitions that some of them have."""
        for chosen in product(*(self.choices[name] for name in names)):
            strings: dict[bytes, bytes] = {}
            for name, macro in zip(names, chosen, strict=True):
                made = Cpp(PurePath("use.cu"), macro.text)
                template = text_of(made, Span(0, len(made.code)), _NO_MACROS)
                if macro.parameters is None and not template.holes:
                    strings[name] = template.text
            every = {**self.all, **dict(zip(names, chosen, strict=True))}
            yield replace(self, all=every, strings={**self.strings, **strings})

    def quoted(self, name: bytes, argument: bytes) -> bytes | None:
        """Return the string that macro `name` makes of `argument`; None if it depends on the argument's expansion."""
        text = self.values.get(argument, argument) if self.quoting[name] else argument
        return text if text[:1].isdigit() else None

    def knows(self, name: bytes, argument: bytes) -> bool:
        """Whether the program says what `argument` is where macro `name` makes a string of it.

        A name that the program does not define may come from the command line, and is then written in capitals.
        """
        return not self.quoting[name] or argument in self.all or argument == argument.lower()


_NO_MACROS = AsmMacros({}, {}, {}, {}, {})


@dataclass(frozen=True, slots=True)
class Operand:
    """`[name] "constraint" (expression)`; the expression is on one line, without its comments."""

    name: bytes
    constraint: bytes
    expression: bytes


@dataclass(frozen=True)
class Statement:
    """An asm statement, from its keyword to its closing parenthesis. `macro` is the `#define` that contains it."""

    source: Cpp
    span: Span
    macro: Span | None
    #: The sections between the colons, without the comments at their ends.
    sections: tuple[Span, ...]
    macros: AsmMacros

    @cached_property
    def template(self) -> Template:
        """Return the text of the assembly, as far as it is known."""
        return text_of(self.source, self.sections[0], self.macros)

    @cached_property
    def templates(self) -> tuple[Template, ...]:
        """Return the texts of the assembly with each definition of its macros that have several."""
        template = self.template
        several = [each for each in dict.fromkeys(template.holes) if each in self.macros.choices]
        if not several or prod(len(self.macros.choices[each]) for each in several) > _MOST_TEXTS:
            return (template,)
        every = self.macros.with_choices(several)
        return tuple(dict.fromkeys(text_of(self.source, self.sections[0], macros) for macros in every))

    @cached_property
    def outputs(self) -> tuple[Operand, ...]:
        """Return the outputs. Raises Unreadable."""
        return self._operands(1)

    @cached_property
    def inputs(self) -> tuple[Operand, ...]:
        """Return the inputs. Raises Unreadable."""
        return self._operands(2)

    @cached_property
    def parameters(self) -> frozenset[bytes]:
        """Return the parameters of the macro that contains the statement."""
        match = _MACRO_HEAD.match(self.source.code, self.macro.start) if self.macro else None
        return frozenset(re.findall(rb"\w+", match["parameters"] or b"")) if match else frozenset()

    @property
    def matters(self) -> bool:
        """Return whether a HIP compiler may read it, and nobody has ported it yet."""
        source, start = self.source, self.span.start
        branches = (source.hip_only, source.cuda_only, source.fact(_not_taken))
        return not any(within(start, each) for each in branches)

    @property
    def conditional(self) -> bool:
        """Return whether it contains preprocessor directives."""
        directives = self.source.directives
        i = bisect_right(directives, self.span.start, key=lambda span: span.start)
        return i < len(directives) and directives[i].start < self.span.end

    @property
    def comments(self) -> tuple[bytes, ...]:
        """Return the comments of the C++ text in the statement."""
        code, text = self.source.code, self.source.text
        found = []
        i = self.span.start
        while i < self.span.end:
            comment = _COMMENT.match(text, i) if code[i : i + 1].isspace() else None
            if code[i : i + 1] == b'"':
                # The quotes of a string are code, the text between them is blank.
                i = code.find(b'"', i + 1, self.span.end) + 1 or self.span.end
            elif comment is not None:
                found.append(comment.group())
                i = comment.end()
            else:
                i += 1
        return tuple(found)

    @property
    def comments_within(self) -> tuple[bytes, ...]:
        """Return the comments of the assembly that are on one line and completely known."""
        found = (match.group() for match in _COMMENT.finditer(self.template.text))
        return tuple(comment for comment in found if b"\0" not in comment and b"\n" not in comment)

    def _operands(self, section: int) -> tuple[Operand, ...]:
        if section >= len(self.sections):
            return ()
        return tuple(
            _operand(self.source, span, self.macros) for span in _split(self.source, self.sections[section], b",")
        )


@dataclass(frozen=True, slots=True)
class Template:
    """The text of an asm statement.

    Unknown parts, `{0}`, `{1}` … between NUL bytes, are in `holes`. `#parameter` in a macro is such a hole, and so is a
    name that is not a string of the program.
    """

    text: bytes
    holes: tuple[bytes, ...]


def hole(index: int) -> bytes:
    """Return the text in a template that represents hole number `index`."""
    return b"\0%d\0" % index


def statements(source: Cpp, project: Project) -> Iterator[Statement]:
    """Yield the asm statements of `source`, wherever they are: in macros and inactive branches too."""
    if b"asm" not in source.text and not project.union_over(source, _aliases):
        return
    code = source.code
    macros: AsmMacros | None = None
    end = 0
    for span, _ in source.names(_KEYWORDS | project.union_over(source, _aliases)):
        opening = _OPENING.match(code, span.end)
        if opening is None or span.start < end or not _is_statement(source, span.start):
            continue
        closing = source.closing(opening.end() - 1)
        macro = source.directive(span.start)
        if closing is None or (macro is not None and closing >= macro.end):
            continue
        if macros is None:
            macros = AsmMacros.of(source, project)
        end = closing + 1
        inside = Span(opening.end(), closing)
        yield Statement(source, Span(span.start, end), macro, tuple(_split(source, inside, b":")), macros)


def _not_taken(source: Cpp) -> tuple[Span, ...]:
    """Return the branches that HIP skips because CUDA's versions and architectures count as 0; `arch_guards` reports
    them.

    A branch that AMD gets if all that it contains can be ported is none of them.
    """
    if b"__CUDA_ARCH__" not in source.code and b"_VER" not in source.code:
        return ()
    kept = {*source.fact(for_amd).certain, *source.fact(perhaps_taken)}
    found: list[Span] = []
    for group in source.conditionals:
        taken, by_version = False, False
        for part, following in pairwise(group):
            # `arch_guards` adds hipcc's macros beside these.
            asked = _COMPILERS.sub(lambda match: COMPILERS[match[0]], part.asked)
            text = _VERSION.sub(b"0", asked)
            by_version = by_version or text != asked
            here = part.word == b"else" or condition(text, hip=True)
            branch = Span(part.span.end, following.span.start)
            if by_version and (taken or here is False) and branch not in kept:
                found.append(branch)
            taken = taken or here is True
    outermost: list[Span] = []
    for span in sorted(found):
        if not outermost or span.start >= outermost[-1].end:
            outermost.append(span)
    return tuple(outermost)


def perhaps_taken(source: Cpp) -> tuple[Span, ...]:
    """Return the branches that AMD gets if each of their asm statements can be ported by itself."""
    branches = source.fact(for_amd).perhaps if b"asm" in source.text else ()
    return tuple(
        each
        for each in branches
        if not any(
            # In macros, statements belong to those at their uses, and a carry flag connects them.
            _CARRIES.search(source.text, at.start, at.end) if at.start == each.start else source.directive(at.start)
            for at in (each, *(span for span, _ in source.names(_KEYWORDS) if within(span.start, (each,))))
        )
    )


def _is_statement(source: Cpp, start: int) -> bool:
    macro = source.directive(start)
    if macro is not None:
        head = _MACRO_HEAD.match(source.code, macro.start, start)
        if head is not None and head.end() == start:
            return True
    before = source.code[max(0, start - 400) : start].rstrip(b" \t\r\n\\\f\v")
    if not before or _STATEMENT_BEFORE.search(before):
        return True
    i = start - 1
    while i > 0 and source.code[i : i + 1].isspace():
        i -= 1
    return macro is None and source.directive(i) is not None


def _aliases(source: Cpp) -> frozenset[bytes]:
    """Return the macros that expand to the keyword: `#define ASM asm volatile`."""
    if b"asm" not in source.code or b"define" not in source.code:
        return frozenset()
    found = (_ALIAS.fullmatch(source.code, span.start, span.end) for span in source.directives)
    return frozenset(match[1] for match in found if match)


def _string_macros(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the macros that are strings: their names and texts."""
    found = set()
    for span in source.directives:
        match = _STRING_MACRO.match(source.code, span.start, span.end)
        if match is not None and match[2].lstrip(b" (\t\r\n").startswith((b'"', b"R")):
            value = source.trimmed(Span(*match.span(2)))
            while source.code[value.start : value.start + 1] == b"(" and source.closing(value.start) == value.end - 1:
                value = source.trimmed(Span(value.start + 1, value.end - 1))
            template = text_of(source, value, _NO_MACROS)
            if not template.holes:
                found.add((match[1], template.text))
    return frozenset(found)


def _quoting_macros(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return macros that make a string of their argument, `#define STR(x) #x`, directly or through another macro."""
    if b"define" not in source.code:
        return frozenset()
    found = (_QUOTING_MACRO.fullmatch(source.code, span.start, span.end) for span in source.directives)
    return frozenset((match[1], match[3] or b"") for match in found if match)


def _value_macros(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    """Return the macros whose expansion is one word."""
    if b"define" not in source.code:
        return frozenset()
    found = (_VALUE_MACRO.fullmatch(source.code, span.start, span.end) for span in source.directives)
    return frozenset((match[1], match[2]) for match in found if match)


def _values(macros: Iterable[tuple[bytes, bytes]], defaults: frozenset[bytes]) -> Mapping[bytes, bytes]:
    """Return the values of macros that have only one value, which is not a default."""
    values: dict[bytes, bytes] = {}
    for name, value in sorted(macros):
        if name in values:
            values[name] = b"\0"
        else:
            values[name] = value
    return {name: value for name, value in values.items() if value != b"\0" and name not in defaults}


def _split(source: Cpp, span: Span, at: bytes) -> Iterator[Span]:
    """Split `span` at the commas, or colons, outside of brackets, and trim the parts."""
    start, depth = span.start, 0
    for match in _STEP.finditer(source.code, span.start, span.end):
        sign = match.group()
        if sign in b"([{":
            depth += 1
        elif sign in b")]}":
            depth -= 1
        elif sign == at and not depth:
            yield _trimmed(source, Span(start, match.start()))
            start = match.end()
    last = _trimmed(source, Span(start, span.end))
    if at == b":" or len(last) or start > span.start:
        yield last


def _trimmed(source: Cpp, span: Span) -> Span:
    piece = source.code[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip(b" \t\r\n\f\v\\"))
    return Span(start, max(start, span.start + len(piece.rstrip(b" \t\r\n\f\v\\"))))


def text_of(source: Cpp, span: Span, macros: AsmMacros) -> Template:
    text = bytearray()
    holes: list[bytes] = []
    end = span.start
    for match in _PIECE.finditer(source.code, span.start, span.end):
        of_macro: tuple[bytes, int] | None
        if match["gap"] is not None or match.start() < end:
            continue
        quoted = _QUOTED.match(source.code, match.end(), span.end) if match["name"] in macros.quoting else None
        if match["text"] is not None:
            inside = source.text[match.start("text") : match.end("text")]
            text += _raw(inside) if match["raw"] else _unescaped(inside)
        elif quoted is not None:
            end = quoted.end()
            made = macros.quoted(match["name"], quoted[1])
            if made is None and macros.knows(match["name"], quoted[1]):
                of_macro = _made(source, match, span.end, macros)
                made = of_macro[0] if of_macro is not None else None
            text += hole(len(holes)) if made is None else made
            holes += [b"#" + quoted[1]] if made is None else []
        elif match["name"] in macros.strings:
            text += macros.strings[match["name"]]
        elif match["name"] in macros.all and (of_macro := _made(source, match, span.end, macros)) is not None:
            text += of_macro[0]
            end = of_macro[1]
        else:
            text += hole(len(holes))
            holes.append(match.group())
    return Template(bytes(text), tuple(holes))


def _made(source: Cpp, match: re.Match[bytes], limit: int, macros: AsmMacros) -> tuple[bytes, int] | None:
    """Return the string that a macro makes of its argument, and its end; None if it is not known."""
    opening = _CALLED.match(source.code, match.end(), limit)
    closing = source.closing(opening.end() - 1) if opening is not None else None
    if closing is None or closing >= limit:
        return None
    use = with_strings(source, match.start(), closing + 1)
    directive = source.directive(match.start())
    head = _MACRO_HEAD.match(source.code, directive.start) if directive is not None else None
    # The argument of a macro is known at its uses.
    parameters = re.findall(rb"\w+", head["parameters"] or b"") if head is not None else []
    if not set(parameters).isdisjoint(re.findall(rb"\w+", use)):
        return None
    try:
        made = Cpp(source.path, expand(use, macros.all))
    except Unexpanded:
        return None
    template = text_of(made, Span(0, len(made.code)), _NO_MACROS)
    return None if template.holes else (template.text, closing + 1)


def _raw(inside: bytes) -> bytes:
    delimiter, _, rest = inside.partition(b"(")
    return rest[: len(rest) - len(delimiter) - 1]


def _unescaped(inside: bytes) -> bytes:
    def value(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 8) & 255])
        if match[2]:
            return bytes([int(match[2], 16) & 255])
        if match[3]:
            return b""
        return _ESCAPES.get(match[4], match[4])

    return _ESCAPE.sub(value, inside)


def _operand(source: Cpp, span: Span, macros: AsmMacros) -> Operand:
    code = source.code
    match = _OPERAND.match(code, span.start, span.end)
    if match is None or source.closing(match.end() - 1) != span.end - 1:
        raise Unreadable(
            f'its operand {_line(code[span.start : span.end])} is not of the form "constraint"(expression)'
        )
    constraint = text_of(source, Span(*match.span("constraint")), macros)
    text = constraint.text.strip()
    if constraint.holes:
        # A macro that is "r" or "l", depending on the size of a pointer.
        if constraint.holes[1:] or not re.fullmatch(rb"\w+", constraint.holes[0]) or text != hole(0):
            names = ", ".join(name.decode("utf-8", "replace") for name in constraint.holes)
            raise Unreadable(f"its constraint {names} is a macro that may be more than one string")
        text = UNKNOWN
    inside = _trimmed(source, Span(match.end(), span.end - 1))
    if source.code[inside.start : inside.end].count(b'"') or b"'" in source.code[inside.start : inside.end]:
        expression = source.text[inside.start : inside.end]
    else:
        expression = code[inside.start : inside.end]
    return Operand(match["name"] or b"", text, _SPACE.sub(b" ", expression))


def _line(text: bytes) -> str:
    return _SPACE.sub(b" ", text).decode("utf-8", "replace")

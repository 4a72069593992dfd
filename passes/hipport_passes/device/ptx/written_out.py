# SPDX-License-Identifier: Apache-2.0
"""Expand macros that make the text of asm statements from arguments.

    #define TWO(op, then, d, a, b) asm(#op ".u32 %0, %1, %2; " #then ".u32 %0, %0, %2;" : "=r"(d) : "r"(a), "r"(b))

The text of such a statement is known only at the macro's uses: there it is assembled like by the preprocessor, and
translated. A macro with more than the statement, for example a whole function, is expanded as a whole, with all of its
statements; so are the macros that use it. All uses are expanded or none: the macros are then unused, and are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from hipport.core.edits import Span
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.ptx.expansions import AsmMacro, Unexpanded, definitions, expand, with_strings
from hipport_passes.device.ptx.operations import Untranslated
from hipport_passes.device.ptx.ptx_assembly import Unparsed, opcodes, parse
from hipport_passes.device.ptx.statements import Statement, Unreadable, statements
from hipport_passes.device.ptx.translate import PtxPlace, Translation, translate

_DEFINE = re.compile(rb"#[ \t]*define[ \t]+(\w+)\(([^()]*)\)")
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
#: Instructions that are collectives.
TOGETHER = _WORDS.compile(rb"(?&together)\b")
_KEPT = _WORDS.compile(rb"##\s*(?&any_arguments)|\b(?&conditional_arguments)\b|'\"'|//|/\*")
_CALL = re.compile(rb"\s*\(")
_NAME = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
_DEFINES = re.compile(rb"#[ \t]*(?:define|undef)\b")
_GETS = re.compile(rb"(?P<name>[A-Za-z_]\w*)\((?:[^();{}]*,)?\s*\Z")
_LINES = re.compile(rb"\s*\n\s*")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_TOKEN = re.compile(rb'"(?:\\.|[^"\\])*"|(?P<paste>\s*##\s*)|(?P<made>#\s*(\w+))|(?P<word>\b[A-Za-z_]\w*)')
#: The largest size of a macro's expansions, in bytes.
_MOST = 1 << 16
_AROUND = {b"": (b"", b";"), b"{": (b"}", b";}"), b"do{": (b"}while(0)", b";}while(0)", b";}while(0);")}


@dataclass(frozen=True)
class WrittenAsm:
    """A use of a macro, with its parentheses, and its replacement: `text` if the macro is more than a statement."""

    span: Span
    translation: Translation
    opcodes: tuple[bytes, ...]
    text: bytes = b""


@dataclass(frozen=True)
class WrittenOut:
    """By file: the expanded uses, and the removed macros, by the places of their asm statements.

    If a macro has several statements, it is listed with the first, and the others have an empty span. `users` are
    macros that are removed with them and have no statements of their own.
    """

    uses: Mapping[PurePath, tuple[WrittenAsm, ...]] = field(default_factory=dict)
    macros: Mapping[PurePath, Mapping[int, Span]] = field(default_factory=dict)
    users: Mapping[PurePath, tuple[Span, ...]] = field(default_factory=dict)


def _known(project: Project) -> dict[PurePath, WrittenOut]:
    """Return the cache of results, by the first file of the component."""
    return {}


def written_out(
    source: Cpp,
    project: Project,
    left: Callable[[Cpp, Statement], bool],
    is_pointer: Callable[[Cpp, int, bytes], bool],
    port: Callable[[Cpp], tuple[bytes, Translation] | None],
) -> WrittenOut:
    """Return the expansions in the component of `source`.

    `left`: whether nothing else can be done with a statement in a macro; `is_pointer`: whether an expression, at a
    place in a file, is a pointer; `port`: the text with all of its statements replaced, None if one cannot be.
    """
    known = project.fact(_known)
    files = [other for other in project.component(source) if isinstance(other, Cpp)]
    key = files[0].path
    if key not in known:
        writing = _Writing(files, project, left, is_pointer, port)
        waiting = writing.macros_alone()
        if waiting:
            writing.macros_together(waiting)
        known[key] = writing.result()
    return known[key]


class _Writing:
    """The expanded uses in a component, and the macros that are removed."""

    def __init__(
        self,
        files: list[Cpp],
        project: Project,
        left: Callable[[Cpp, Statement], bool],
        is_pointer: Callable[[Cpp, int, bytes], bool],
        port: Callable[[Cpp], tuple[bytes, Translation] | None],
    ) -> None:
        self.files, self.project = files, project
        self.left, self.is_pointer, self.port = left, is_pointer, port
        self._uses: dict[PurePath, list[WrittenAsm]] = {}
        self._macros: dict[PurePath, dict[int, Span]] = {}
        self._users: dict[PurePath, tuple[Span, ...]] = {}

    def result(self) -> WrittenOut:
        return WrittenOut({path: tuple(each) for path, each in self._uses.items()}, self._macros, self._users)

    def macros_alone(self) -> dict[bytes, None]:
        """Expand the macros that need no other one; return the names of those that may need one."""
        waiting: dict[bytes, None] = {}
        for file in self.files:
            for statement in statements(file, self.project) if b"define" in file.code else ():
                macro = statement.macro
                if macro is None or not statement.template.holes or not self.left(file, statement):
                    continue
                if statement.span.start in self._macros.get(file.path, {}):
                    continue
                others = [each for each in statements(file, self.project) if each.macro == macro]
                if any(each.template.holes and not self.left(file, each) for each in others):
                    continue
                try:
                    if len(others) > 1 or not _is_whole(statement, macro):
                        found = list(_whole(statement, macro, self.files, self.port))
                    else:
                        found = list(_uses(statement, macro, self.files, self.project, self.is_pointer))
                except (Unexpanded, Unparsed, Unreadable, Untranslated):
                    name = _NAME.match(file.code, macro.start)
                    waiting |= {name[1]: None} if name is not None else {}
                    continue
                if found:
                    self._goes(file, macro, [each.span.start for each in others])
                    self._put(found)
        return waiting

    def macros_together(self, waiting: Iterable[bytes]) -> None:
        """Expand the macros that are made of others, together with those."""
        for names in _together(waiting, definitions(self.files)):
            try:
                made = list(_through_others(names, self.files, self.port))
            except (Unexpanded, Unreadable):
                continue
            self._put(made)
            for file in self.files if made else ():
                for directive in _defining(file, names):
                    starts = [each.span.start for each in statements(file, self.project) if each.macro == directive]
                    if starts:
                        self._goes(file, directive, starts)
                    else:
                        self._users[file.path] = (*self._users.get(file.path, ()), directive)

    def _goes(self, file: Cpp, macro: Span, starts: Sequence[int]) -> None:
        """List a removed macro with the first of its statements, and an empty span with the others."""
        gone = self._macros.setdefault(file.path, {})
        gone |= {start: Span(macro.start, macro.start) for start in starts}
        gone[starts[0]] = macro

    def _put(self, made: Iterable[tuple[PurePath, WrittenAsm]]) -> None:
        for path, written in made:
            self._uses.setdefault(path, []).append(written)


def _together(names: Iterable[bytes], macros: Mapping[bytes, AsmMacro | None]) -> Iterator[frozenset[bytes]]:
    """Yield the macros to expand, each with its users; overlapping sets are joined."""
    users: dict[bytes, set[bytes]] = {}
    for name, macro in macros.items():
        for word in set(_WORD.findall(macro.text)) & macros.keys() if macro is not None else ():
            users.setdefault(word, set()).add(name)
    found: list[set[bytes]] = []
    for name in names:
        reached, waiting = {name}, [name]
        while waiting:
            more = users.get(waiting.pop(), set()) - reached
            reached |= more
            waiting += more
        for other in [each for each in found if not each.isdisjoint(reached)]:
            found.remove(other)
            reached |= other
        found.append(reached)
    yield from map(frozenset, found)


def _defining(source: Cpp, names: frozenset[bytes]) -> Iterator[Span]:
    for directive in source.directives:
        match = _NAME.match(source.code, directive.start, directive.end)
        if match is not None and match[1] in names and not source.ported(directive.start):
            yield directive


def _through_others(
    names: frozenset[bytes], files: list[Cpp], port: Callable[[Cpp], tuple[bytes, Translation] | None]
) -> Iterator[tuple[PurePath, WrittenAsm]]:
    """Yield the uses of macros that use each other, each with its result. Raises Unreadable and Unexpanded."""
    macros = definitions(files)
    length = 0
    for source in files:
        end = 0
        for span, name in source.names(names):
            directive = source.directive(span.start)
            if directive is not None:
                if _DEFINES.match(source.code, directive.start) is None:
                    raise Unreadable("a condition tests the macro")
                continue
            if span.start < end:
                continue
            if source.ported(span.start):
                raise Unreadable("a HIP compiler does not read it")
            use, wanted = _use(source, span, name, macros)
            end = use.end
            if b"#" in source.code[use.start : use.end]:
                raise Unreadable("hipport does not understand the macro's arguments")
            text = expand(with_strings(source, use.start, use.end), macros, names | wanted)
            length += len(text)
            if length > _MOST:
                raise Unreadable("its expansion is too long")
            ported = port(Cuda(PurePath("use.cu"), assembled(text, macros)))
            if ported is None:
                raise Unreadable("one of its statements is not rewritten")
            # The expanded text is one line, and so is its port.
            yield source.path, WrittenAsm(use, ported[1], (), _LINES.sub(b" ", ported[0]))


def _use(
    source: Cpp, span: Span, name: bytes, macros: Mapping[bytes, AsmMacro | None]
) -> tuple[Span, frozenset[bytes]]:
    """Return a use of a macro, with its parentheses; if the macro is an argument, the use of the macro that receives
    it.
    """
    macro = macros.get(name)
    if macro is None:
        raise Unreadable("the macro has several definitions")
    if macro.parameters is None:
        return span, frozenset()
    opening = _CALL.match(source.code, span.end)
    if opening is not None:
        closing = source.closing(opening.end() - 1)
        if closing is None:
            raise Unreadable("hipport does not understand the macro's arguments")
        return Span(span.start, closing + 1), frozenset()
    outer = _GETS.search(source.code, max(0, span.start - 400), span.start)
    closing = source.closing(outer.end("name")) if outer is not None else None
    if outer is None or closing is None or macros.get(outer["name"]) is None:
        raise Unreadable("the macro is not called")
    return Span(outer.start("name"), closing + 1), frozenset((outer["name"],))


def assembled(text: bytes, macros: Mapping[bytes, AsmMacro | None]) -> bytes:
    """Return a text with the macros in its asm statements expanded. Raises Unexpanded."""
    alone = Cuda(PurePath("use.cu"), text)
    for statement in reversed(list(statements(alone, Project((alone,))))):
        if statement.template.holes:
            section = statement.sections[0]
            text = text[: section.start] + expand(text[section.start : section.end], macros) + text[section.end :]
    return text


def _uses(
    statement: Statement,
    macro: Span,
    files: list[Cpp],
    project: Project,
    is_pointer: Callable[[Cpp, int, bytes], bool],
) -> Iterator[tuple[PurePath, WrittenAsm]]:
    for source, span, bound in _places(statement, macro, files):
        text = statement.source[statement.span].replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
        if b"##" in text:
            raise Unreadable("it pastes names together")
        yield source.path, _written(source, span, _expanded(text, bound), project, is_pointer)


def _whole(
    statement: Statement,
    macro: Span,
    files: list[Cpp],
    port: Callable[[Cpp], tuple[bytes, Translation] | None],
) -> Iterator[tuple[PurePath, WrittenAsm]]:
    head = _DEFINE.match(statement.source.code, macro.start)
    body = statement.source[Span(head.end(), macro.end)] if head else b""
    lines = re.sub(rb"[ \t]*\\\r?\n", b"\n", body).split(b"\n")
    # Remove the macro's indentation: the first line starts where the macro is used.
    indent = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    body = b"\n".join([lines[0], *(line[indent:] for line in lines[1:])]).strip()
    if _KEPT.search(body):
        raise Unreadable("hipport does not expand the macro here")
    length = 0
    for source, span, bound in _places(statement, macro, files):
        text = _expanded(body, bound)
        length += len(text)
        if length > _MOST:
            raise Unreadable("its expansion is too long")
        ported = port(Cuda(PurePath("use.cu"), text))
        if ported is None:
            raise Unreadable("one of its statements is not rewritten")
        yield source.path, WrittenAsm(span, ported[1], (), ported[0])


def _places(statement: Statement, macro: Span, files: list[Cpp]) -> Iterator[tuple[Cpp, Span, Mapping[bytes, bytes]]]:
    """Yield the uses of a macro, with its arguments. Raises Unreadable for one that is not a plain use."""
    head = _DEFINE.match(statement.source.code, macro.start)
    if head is None:
        raise Unreadable("the macro has no parameters")
    parameters = [each.strip() for each in head[2].split(b",")]
    for source in files:
        for span, _ in source.names({head[1]}):
            if (source.path, span.start) == (statement.source.path, head.start(1)):
                continue
            opening = _CALL.match(source.code, span.end)
            directive = source.directive(span.start)
            if directive is not None and re.match(rb"#[ \t]*undef\b", source.code[directive.start : directive.end]):
                continue
            if opening is None or directive is not None:
                raise Unreadable("another macro uses it")
            if source.ported(span.start):
                raise Unreadable("a HIP compiler does not read it")
            given = source.arguments(opening.end() - 1)
            closing = source.closing(opening.end() - 1)
            if given is None or closing is None or b"#" in source.code[span.start : closing]:
                raise Unreadable("hipport does not understand the macro's arguments")
            yield source, Span(span.start, closing + 1), _bound(source, parameters, given)


def _is_whole(statement: Statement, macro: Span) -> bool:
    """Return whether a macro consists of the statement."""
    head = _DEFINE.match(statement.source.code, macro.start)
    return head is not None and _is_all(statement.source.code, head.end(), macro.end, statement.span)


def _is_all(code: bytes, start: int, end: int, statement: Span) -> bool:
    """Return whether a macro consists of the statement, perhaps in `do { } while (0)`."""
    before, behind = (
        b"".join(part.replace(b"\\", b" ").split())
        for part in (code[start : statement.start], code[statement.end : end])
    )
    return behind in _AROUND.get(before, ())


def _bound(source: Cpp, parameters: list[bytes], given: tuple[Span, ...]) -> dict[bytes, bytes]:
    texts = [b" ".join(source[each].split()) for each in given]
    if any(b"//" in each or b"/*" in each for each in texts):
        raise Unreadable("there are comments in the macro's arguments")
    bound = dict(zip(parameters, texts, strict=False))
    if parameters[-1] == b"...":
        rest = given[len(parameters) - 1 :]
        bound[b"__VA_ARGS__"] = b" ".join(source[Span(rest[0].start, rest[-1].end)].split()) if rest else b""
        bound.pop(b"...", None)
        parameters = [*parameters[:-1], b"__VA_ARGS__"]
    elif len(given) != len(parameters):
        raise Unreadable("the macro is used with another number of arguments")
    if set(bound) != set(parameters):
        raise Unreadable("the macro is used with another number of arguments")
    return bound


def _expanded(text: bytes, bound: Mapping[bytes, bytes]) -> bytes:
    """Return the text of a macro with the preprocessor's expansion of its arguments."""

    def put(match: re.Match[bytes]) -> bytes:
        if match["paste"]:
            return b""
        if match["made"]:
            if match[3] not in bound:
                raise Unreadable("the macro's argument is not known")
            return b'"' + bound[match[3]].replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
        return bound.get(match["word"], match.group()) if match["word"] else match.group()

    return _TOKEN.sub(put, text)


def _written(
    source: Cpp, span: Span, text: bytes, project: Project, is_pointer: Callable[[Cpp, int, bytes], bool]
) -> WrittenAsm:
    alone = Cuda(PurePath("use.cu"), b"__device__ void use() { " + text + b"; }")
    found = list(statements(alone, Project((alone,), project.target)))
    if len(found) != 1 or found[0].template.holes:
        raise Unreadable("its text is not known")
    (statement,) = found
    outputs, inputs = statement.outputs, statement.inputs
    program = parse(statement.template.text, [operand.name for operand in (*outputs, *inputs)])
    translation = translate(
        program, outputs, inputs, (), PtxPlace(is_pointer=lambda each: is_pointer(source, span.start, each))
    )
    return WrittenAsm(span, translation, tuple(dict.fromkeys(opcodes(statement.template.text))))

# SPDX-License-Identifier: Apache-2.0
"""Compiler options in the commands of a CMake script, and their replacements for HIP's compiler.

They stand in generator expressions that ask for the language CUDA, in variables that CMake reads for that language
(CMAKE_CUDA_FLAGS), and in lists that all languages share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty
from hipport.core.tables import one_of
from hipport.syntax.cmake_script import Argument, CMake, CMakeCommand, GeneratorExpression
from hipport_passes.build_files.build_scripts.cmake_branches import BranchSaid, split
from hipport_passes.build_files.build_scripts.cmake_flags import (
    LANGUAGE,
    FlagCopy,
    copied,
    leaves,
    stands_alone,
    tells,
    values,
)
from hipport_passes.build_files.build_scripts.cmake_trees import WORDS, Tree, text
from hipport_passes.build_files.nvcc_flags import worded

#: The variables with options for the language CUDA, for all configurations or for one.
OF_LANGUAGE = WORDS.compile(r"(?&flags_of_language)(?:_\w+)?|(?&flags_of_environment)")
# Questions about the CUDA compiler in a generator expression.
_ABOUT_NVCC = re.compile(rb"\$<CUDA_COMPILER_(?:ID:(?P<ids>[\w,]+)|VERSION)>")
# Commands that only read flags, or remove some.
_LOOKING = frozenset(("if", "elseif", "while", "message", "foreach"))
_REMOVING = frozenset(("REPLACE", "REGEX", "REMOVE_ITEM", "FIND"))
_SCOPES = frozenset((b"PUBLIC", b"PRIVATE", b"INTERFACE", b"BEFORE", b"SYSTEM"))


@dataclass
class _Place:
    """The flags of a command: the arguments from `first` on, or those after each of its `properties`."""

    first: int
    #: The variable that receives the flags, and its place if the command sets it.
    variable: str = ""
    made: int = -1
    properties: Sequence[int] = ()
    #: Whether each flag is an item of a list.
    listed: bool = False


class CMakeOptions:
    """Findings on the options in a script's commands; `rocm` is the oldest release that must accept them."""

    def __init__(self, source: CMake, tree: Tree, rocm: tuple[int, int]) -> None:
        self.source = source
        self.tree = tree
        self.rocm = rocm

    def about(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Yield the findings on generator expressions and lists of flags in a command."""
        if b"COMPILE_LANG" in self.source[command.inner]:
            yield from self._expressions(command)
        if command.name == "foreach":
            yield from self._loop(command)
        yield from self._flags(command)

    def _loop(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port `foreach(flag -lineinfo --keep)`: a loop over nvcc's flags is copied for HIP."""
        source, variable = self.source, text(self.source, command, 0)
        if not tells(source, command.arguments[1:], False):
            return
        uses = [
            each
            for each in source.commands
            if any(block[0] is command for block in source.around(each))
            and any(reference.name == variable for reference in source.references(each.inner))
        ]
        if any(each.name not in _LOOKING and text(source, each, 0) not in _REMOVING for each in uses):
            copy = copied(source, [each.content for each in command.arguments[1:]], self.tree, self.rocm)
            if self._plain_loop(command):
                yield self._by_list(command, copy)
                return
            message = (
                f"a loop over flags of nvcc: let it go through the flags for HIP where USE_HIP is ON. {_changed(copy)}"
            )
            yield BranchSaid(command.written, "loop", message, Certainty.MANUAL)

    def _plain_loop(self, command: CMakeCommand) -> bool:
        """Return whether a loop goes through literal words and does not test them."""
        source, variable = self.source, text(self.source, command, 0)
        items = _items(source, command)
        if not items or any(
            each.kind not in ("unquoted", "quoted")
            or not source[each.content]
            or b";" in source[each.content]
            or b"$" in source[each.content]
            or b"\\" in source[each.content]
            for each in items
        ):
            return False
        copy = copied(source, [each.content for each in items], self.tree, self.rocm)
        asking = (
            each
            for each in source.commands
            if (each.name in ("if", "elseif", "while") or text(source, each, 0) in _REMOVING)
            and any(block[0] is command for block in source.around(each))
            and re.search(rb"(?<!\w)" + variable.encode() + rb"(?!\w)", source[each.inner])
        )
        return not copy.manual and next(asking, None) is None

    def _by_list(self, command: CMakeCommand, copy: FlagCopy) -> BranchSaid:
        """Port `foreach(flag -lineinfo -O3)`: the words of a variable, of which HIP has others."""
        source = self.source
        items = _items(source, command)
        region = Span(items[0].span.start, items[-1].span.end)
        name = b"hipport_" + text(source, command, 0).encode()
        start = command.span.start
        before = source.text[source.line_start(start) : start]
        indent = before if not before.strip() else b""
        inner = indent + (b"\t" if indent.startswith(b"\t") else b"  ")
        for_hip = re.sub(rb"\s+", b" ", re.sub(rb"#[^\n]*", b"", copy.text(source, region))).strip()
        lines = (
            b"if(USE_HIP)",
            inner + b"set(" + name + (b" " + for_hip if for_hip else b"") + b")",
            indent + b"else()",
            inner + b"set(" + name + b" " + source[region] + b")",
            indent + b"endif()",
            indent,
        )
        first = command.arguments[1]
        edits = (
            Edit(Span(start, start), source.newline.join(lines)),
            Edit(Span(first.span.start, region.end), b"IN LISTS " + name),
        )
        message = f"a loop over flags of nvcc: with HIP it goes through HIP's flags. {_changed(copy)}"
        return BranchSaid(command.written, "loop", message, copy.certainty, edits)

    def _looped(self, command: CMakeCommand, references: set[str]) -> bool:
        """Return whether an argument of a command comes from a loop over nvcc's flags."""
        loops = [block[0] for block in self.source.around(command) if block[0].name == "foreach"]
        return any(
            text(self.source, each, 0) in references
            and tells(self.source, each.arguments[1:], False)
            and not self._plain_loop(each)
            for each in loops
        )

    def with_loops(self, command: CMakeCommand, said: list[BranchSaid]) -> list[BranchSaid]:
        """Return the findings on a command, as REVIEW where they rely on a loop that is REVIEW.

        `${CMAKE_HIP_FLAGS} ${flag}` would contain nvcc's flags without the loop's words for HIP.
        """
        source = self.source
        used = {reference.name for reference in source.references(command.inner)} if said else set()
        for block in source.around(command) if used else ():
            loop = block[0]
            if loop.name == "foreach" and text(source, loop, 0) in used and tells(source, loop.arguments[1:], False):
                copy = copied(source, [each.content for each in _items(source, loop)], self.tree, self.rocm)
                if copy.certainty is Certainty.REVIEW and self._plain_loop(loop):
                    because = "; with the flags of the loop around it"
                    return [
                        replace(each, certainty=Certainty.REVIEW, message=each.message + because)
                        if each.certainty is Certainty.SAFE
                        else each
                        for each in said
                    ]
        return said

    def _for_hip(self, copy: FlagCopy, command: CMakeCommand) -> bytes:
        """Return a command with HIP's variables, and with HIP's flags for those of the language CUDA.

        CMake takes flags from HIPFLAGS in the environment, too.
        """
        source = self.source
        more: dict[Span, bytes] = {}
        for expression in source.expressions(command.inner):
            if self._asks(expression):
                more |= copied(source, leaves(source, expression), self.tree, self.rocm, gap=b";").puts
        apart = [
            (span, new)
            for span, new in more.items()
            if all(span.end <= place.start or place.end <= span.start for place in copy.puts)
        ]
        text = _of_hip(copy.text(source, command.span, apart))
        # Also in the replacements, because the words of an argument are one text.
        return LANGUAGE.sub(lambda match: b"$<COMPILE_LANGUAGE:HIP>" if _for_cuda(match) else match.group(), text)

    def _asks(self, expression: GeneratorExpression) -> bool:
        """Return whether a generator expression asks for the language CUDA."""
        tests = LANGUAGE.finditer(self.source.code, expression.span.start, expression.span.end)
        return any(_for_cuda(match) for match in tests)

    def of_result(self, command: CMakeCommand, following: CMakeCommand | None, variable: str) -> Iterator[BranchSaid]:
        """Port CMAKE_CUDA_FLAGS as the result of a command: list(JOIN …), string(REPLACE …)."""
        source = self.source
        ours = _of_hip(variable.encode())
        if following and re.search(rb"(?<!\w)" + re.escape(ours) + rb"(?!\w)", source[following.inner]):
            return
        copy = copied(source, self._made_of(command), self.tree, self.rocm)
        yield from self._left(command, copy)
        if copy.manual:
            return
        line = self._for_hip(copy, command)
        message = f"the same for HIP: {_changed(copy)}" if copy.changes else "the same for HIP"
        yield BranchSaid(command.written, "flags", message, copy.certainty, after=tuple(split(source, command, line)))

    def _made_of(self, command: CMakeCommand) -> list[Span]:
        """Return the input texts of list() or string(), without patterns and separators."""
        words = [text(self.source, command, i) for i in range(2)]
        places = {"JOIN": (3,), "STRIP": (1, 2), "REPLACE": (2, 4), "REGEX": (3, 5)}.get(words[0], ())
        if command.name != "string" or not places or words == ["REGEX", "MATCH"]:
            return []
        arguments = command.arguments[places[0] :]
        if words[0] != "JOIN":
            rest = command.arguments[places[1] :] if words[0] != "STRIP" else ()
            arguments = (*arguments[:1], *rest)
        return [each.content for each in arguments if each.kind in ("unquoted", "quoted")]

    def of_language(self, command: CMakeCommand, following: CMakeCommand | None, variable: str) -> Iterator[BranchSaid]:
        """Port commands that set CMAKE_CUDA_FLAGS: the same command for HIP follows."""
        source = self.source
        if command.name == "list" and text(source, command, 0) not in ("APPEND", "PREPEND"):
            return
        if command.name == "string" and text(source, command, 0) not in ("APPEND", "PREPEND", "CONCAT"):
            return
        if following and any(text(source, following, i).encode() == _of_hip(variable.encode()) for i in (0, 1)):
            return
        given = values(source, command, 1 if command.name == "set" else 2)
        # The content of a test for the language CUDA is a list of its own.
        asked = [each for argument in given for each in source.expressions(argument.content) if self._asks(each)]
        copy = copied(source, [part for argument in given for part in _but(argument, asked)], self.tree, self.rocm)
        copy.kept += len(asked)
        yield from self._left(command, copy)
        if self._looped(command, copy.references):
            return
        if copy.manual:
            return  # A person decides about the whole command; in a copy, the parts to decide would be hidden.
        own = sum(source[argument.content].count(f"${{{variable}}}".encode()) for argument in given)
        if copy.kept - own <= 0:
            return
        line = self._for_hip(copy, command)
        message = f"the same for HIP: {_changed(copy)}" if copy.changes else "the same for HIP"
        yield BranchSaid(command.written, "flags", message, copy.certainty, after=tuple(split(source, command, line)))

    def _left(self, command: CMakeCommand, copy: FlagCopy) -> Iterator[BranchSaid]:
        for change in copy.manual:
            yield BranchSaid(command.written, change.kind, str(change), Certainty.MANUAL)

    def _expressions(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port `$<$<COMPILE_LANGUAGE:CUDA>:…>`: the chosen language, or the same for HIP beside it."""
        source = self.source
        inner = source[command.inner]
        if b"COMPILE_LANGUAGE:HIP" in inner or b"COMPILE_LANG_AND_ID:HIP" in inner:
            for expression in source.expressions(command.inner) if self.tree.ported else ():
                yield from self._alone(command, expression)
            return
        for expression in source.expressions(command.inner):
            yield from self._expression(command, expression)

    def _alone(self, command: CMakeCommand, expression: GeneratorExpression) -> Iterator[BranchSaid]:
        """Yield options that an earlier run gave to both languages, and that a merge restored for CUDA only."""
        for said in self._expression(command, expression):
            if said.edits and all(edit.new == b"${HIP_OR_CUDA}" for edit in said.edits):
                message = (
                    "this is for CUDA only, beside code for HIP, perhaps since a merge: write ${HIP_OR_CUDA} "
                    "instead if HIP needs it too"
                )
                yield BranchSaid(said.span, "expression", message, Certainty.MANUAL)

    def _expression(self, command: CMakeCommand, expression: GeneratorExpression) -> Iterator[BranchSaid]:
        source = self.source
        tests = [
            match
            for match in LANGUAGE.finditer(source.code, expression.span.start, expression.span.end)
            if _for_cuda(match)
        ]
        if not tests:
            return
        head = [match for match in tests if match.end() <= expression.head.end]
        if (
            not head
            and expression.head.start < tests[0].start()
            and expression.content
            and not self._whole(expression, tests[0])
        ):
            # `$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:…>>`: the inner expression counts.
            for inside in expression.inside:
                yield from self._expression(command, inside)
            return
        first = Span(*tests[0].span())
        copy = copied(source, leaves(source, expression), self.tree, self.rocm, gap=b";")
        # They have no value where CUDA is not a language.
        about_nvcc = list(_ABOUT_NVCC.finditer(source.code, expression.span.start, expression.span.end))
        plain = all(match["languages"] for match in tests) and not about_nvcc
        if not copy.changes and plain:
            edits = tuple(Edit(self._name(match), b"${HIP_OR_CUDA}") for match in tests)
            unknown = sorted(
                name for name in copy.references if ("CUDA" in name or "NVCC" in name) and name not in self.tree.sets
            )
            message, certainty = "HIP's files where USE_HIP is ON", Certainty.SAFE
            if unknown and command.name.endswith("compile_options"):
                message += f"; assumes that hipcc accepts the flags in {', '.join(unknown)}"
                certainty = Certainty.REVIEW
            yield BranchSaid(first, "expression", message, certainty, edits)
            return
        if copy.manual or not head or b"NOT:" in source[expression.head] or not stands_alone(source, expression):
            changes = copy.manual or copy.changes
            why = _changed(FlagCopy(changes=changes)) if changes else "give the same to HIP by hand"
            yield BranchSaid(first, changes[0].kind if changes else "expression", why, Certainty.MANUAL)
            return
        if not copy.kept:
            return
        puts = [(Span(*match.span()), b"$<COMPILE_LANGUAGE:HIP>") for match in tests]
        puts += [(Span(*match.span()), b"1" if match["ids"] else b"11.0") for match in about_nvcc]
        new = copy.text(source, expression.span, puts)
        edit = self._beside(command, expression, new)
        message = f"the same for HIP: {_changed(copy)}" if copy.changes else "the same for HIP"
        yield BranchSaid(first, "expression", message, copy.certainty, (edit,))

    def _whole(self, expression: GeneratorExpression, test: re.Match[bytes]) -> bool:
        """Return whether the expression is the test itself, or joins it with others: `$<AND:…>`."""
        return expression.span == Span(*test.span()) or self.source[expression.head] in (b"AND", b"OR", b"NOT", b"IF")

    def _name(self, match: re.Match[bytes]) -> Span:
        start, end = match.span("languages")
        names = self.source.text[start:end].split(b",")
        at = start + len(b",".join([*names[: names.index(b"CUDA")], b""]))
        return Span(at, at + 4)

    def _beside(self, command: CMakeCommand, expression: GeneratorExpression, new: bytes) -> Edit:
        source, at = self.source, expression.span.end
        for argument in command.arguments:
            if argument.kind == "quoted" and argument.span.start < at <= argument.span.end:
                if argument.content == expression.span:
                    return Edit(Span(argument.span.end, argument.span.end), b' "' + new + b'"')
                gap = b";" if command.name.endswith(("options", "properties")) else b" "
                return Edit(Span(at, at), gap + new)
        if not any(each.span == expression.span for each in source.expressions(command.inner)):
            return Edit(Span(at, at), b";" + new)
        line = source.line_start(expression.span.start)
        indent = source.text[line : expression.span.start]
        gap = source.newline + indent if not indent.strip() else b" "
        return Edit(Span(at, at), gap + new)

    def _flags(self, command: CMakeCommand) -> Iterator[BranchSaid]:
        """Port nvcc's flags among the arguments of other commands; USE_HIP chooses."""
        place = self._place(command)
        if place is None or OF_LANGUAGE.fullmatch(place.variable) or "HELP" in place.variable:
            return
        source, given = self.source, self._given(command, place)
        for_nvcc = re.search(one_of(WORDS["nvcc_flags"]), place.variable) is not None
        if not for_nvcc and not tells(source, given, self.tree.torch):
            return
        of = "nvcc" if for_nvcc or tells(source, given, False) else "host"
        # An option is an item of a list, except where flags are one string.
        gap = b";" if command.name.endswith("_options") or command.name == "list" or place.listed else b" "
        copy = copied(source, [argument.content for argument in given], self.tree, self.rocm, of, gap)
        copy.changes = [change for change in copy.changes if change.kind != "standard" or for_nvcc or of == "nvcc"]
        if not copy.changes:
            return
        if len(place.properties) > 1 and any(len(change.hip) > 1 for change in copy.changes):
            # Options are list items in one property, and words of a string in the other.
            message = worded(copy.changes)
            yield BranchSaid(command.written, copy.changes[0].kind, message, Certainty.MANUAL)
            return
        yield from self._left(command, copy)
        if not copy.manual:
            yield self._chosen(command, place, given, copy)

    def _place(self, command: CMakeCommand) -> _Place | None:
        """Return the place of the flags in a command, or None if the command can have none."""
        name = command.name
        said = [self.source[argument.content] for argument in command.arguments]
        place: _Place | None = None
        if name == "set":
            place = _Place(1, text(self.source, command, 0), 0)
        elif name in ("list", "string") and said[:1] in ([b"APPEND"], [b"PREPEND"]):
            place = _Place(2, text(self.source, command, 1))
        elif name == "string" and said[:1] == [b"REPLACE"]:
            # In other variables, only their literal texts are flags.
            place = _Place(4, text(self.source, command, 3), 3)
        elif name == "separate_arguments":
            place = _Place(2, text(self.source, command, 0), 0)
        elif name in ("add_compile_options", "add_definitions", "add_compile_definitions"):
            place = _Place(0)
        elif name in ("target_compile_options", "target_compile_definitions"):
            place = _Place(1)
        elif name.startswith("cuda_") and b"OPTIONS" in said:
            place = _Place(said.index(b"OPTIONS") + 1)
        elif name in self.tree.functions:
            place = _Place(0)
        elif name in ("set_target_properties", "set_source_files_properties", "set_property"):
            properties = [i for i, each in enumerate(said) if each in (b"COMPILE_FLAGS", b"COMPILE_OPTIONS")]
            place = _Place(properties[0] + 1, properties=properties) if properties else None
        if place is None or len(said) <= place.first:
            return None
        place.listed = b"COMPILE_OPTIONS" in said
        return place

    def _given(self, command: CMakeCommand, place: _Place) -> list[Argument]:
        """Return the arguments that are flags, without those for one language, which are handled separately."""
        given = values(self.source, command, place.first)
        if command.name.endswith("properties"):
            count = len(command.arguments)
            given = [command.arguments[i + 1] for i in place.properties if i + 1 < count]
        expressions = list(self.source.expressions(command.inner))
        return [
            argument
            for argument in given
            if not any(
                each.span.start < argument.span.end and argument.span.start < each.span.end for each in expressions
            )
        ]

    def _chosen(self, command: CMakeCommand, place: _Place, given: Sequence[Argument], copy: FlagCopy) -> BranchSaid:
        """Return the finding that gives a command other flags for HIP, or none."""
        source, arguments, first = self.source, command.arguments, place.first
        kind = copy.changes[0].kind
        message, certainty = _changed(copy), copy.certainty
        own_function = command.name in self.tree.functions
        if own_function:
            message += f"; assumes that {command.name} gives them to the compiler of .cu files"
            certainty = Certainty.REVIEW
        # A function may count its arguments.
        pairs = own_function or command.name.endswith("_properties")
        gone = [argument for argument in given if copy.puts.get(argument.content) == b""]
        drops = [(argument.span, b'""') if pairs else (self._with_gap(argument), b"") for argument in gone]
        for argument in gone:
            copy.puts.pop(argument.content, None)
        if own_function:
            self._as_one(command, copy)
        variable, made = place.variable, place.made
        own = sum(source[argument.content].count(f"${{{variable}}}".encode()) for argument in given) if variable else 0
        scopes = sum(source[argument.content] in _SCOPES for argument in given)
        nothing = copy.kept == scopes and not command.name.startswith("cuda_") and made < 0
        if (nothing and (not pairs or own_function)) or 0 < copy.kept == own:
            return BranchSaid(arguments[first].span, kind, message, certainty, instead=())
        puts = [*copy.puts.items(), *drops]
        if not copy.kept and made >= 0:
            at = arguments[first - 1 if made else made].span.end
            puts.append((Span(at, at), b' ""'))
        return BranchSaid(arguments[first].span, kind, message, certainty, copy=tuple(puts))

    def _as_one(self, command: CMakeCommand, copy: FlagCopy) -> None:
        """Keep the argument for one parameter of a function one argument."""
        for place, argument in enumerate(command.arguments):
            new = copy.puts.get(argument.content, b"")
            gap = self.tree.parameter(command.name, place)
            if gap is not None and b" " in new:
                new = gap.join(new.split())
                copy.puts[argument.content] = b'"' + new + b'"' if argument.kind == "unquoted" else new

    def _with_gap(self, argument: Argument) -> Span:
        start = argument.span.start
        while self.source.text[start - 1 : start].isspace():
            start -= 1
        # A comment in front has its own line.
        commented = any(
            token.kind == "comment" and token.span.end == start
            for command in self.source.commands
            if command.inner.start <= start < command.inner.end
            for token in self.source.tokens_in(command.inner)
        )
        return argument.span if commented else Span(start, argument.span.end)


def _of_hip(text: bytes) -> bytes:
    """Return text with HIP's variables instead of CUDA's."""
    return text.replace(b"CMAKE_CUDA_", b"CMAKE_HIP_").replace(b"ENV{CUDAFLAGS}", b"ENV{HIPFLAGS}")


def _but(argument: Argument, expressions: Iterable[GeneratorExpression]) -> Iterator[Span]:
    """Yield the parts of an argument outside the given expressions, which are in order."""
    start = argument.content.start
    for each in expressions:
        if argument.content.start <= each.span.start < argument.content.end:
            yield Span(start, each.span.start)
            start = each.span.end
    yield Span(start, argument.content.end)


def _for_cuda(match: re.Match[bytes]) -> bool:
    return b"CUDA" in (match["languages"] or match["language"]).split(b",")


def _changed(copy: FlagCopy) -> str:
    return worded(copy.changes)


def _items(source: CMake, command: CMakeCommand) -> list[Argument]:
    """Return the literal items of a `foreach`: none where it iterates over lists or numbers."""
    words = [source[each.span] for each in command.arguments[1:3]]
    if words[:2] == [b"IN", b"ITEMS"]:
        items = list(command.arguments[3:])
    elif words[:1] in ([b"IN"], [b"RANGE"]):
        items = []
    else:
        items = list(command.arguments[1:])
    return [] if any(source[each.span] in (b"LISTS", b"ITEMS", b"ZIP_LISTS") for each in items) else items

# SPDX-License-Identifier: Apache-2.0
"""C and C++ text: which bytes are code, which are names, and how the parser reads them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from hipport.core.edits import Edit, Span
from hipport.core.group import Group
from hipport.core.source import ANY_LINE_END, Source
from hipport.syntax.lexing import first_on_line, lex, lexed_apart
from hipport.syntax.own_guards import MARK
from hipport.syntax.parsing import parsed_tree
from hipport.syntax.preprocessor import (
    HEADER_OF_HIP,
    NAME_OF_HIP,
    Conditional,
    branches,
    chosen_on_hip,
    grouped,
    left_to_hip,
    names_for_hip,
    outermost,
    waves,
    without_cuda,
)
from hipport.syntax.rereading import faults_in, reads_over_conditions, reread
from hipport.syntax.vocabulary import IDENTIFIER, IN_WORD, WORDS, words_of

if TYPE_CHECKING:
    import tree_sitter
from hipport.syntax.cpp_text import BRACKET, BRACKETS, DIRECTIVE, CppText, Include

_QUALIFIED = re.compile(rb"(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*")
_CALLED = re.compile(rb"[ \t]*\(")
# Precedes an operand: an operator, an opening bracket, a comma, or the end of a statement.
_OPERAND = re.compile(rb"[-+*/%=(,;{}!<|^?:\[]\s*$")
_INCLUDE_LINES = re.compile(
    rb"(?:[ \t]*#[ \t]*include[ \t]*(?:<[^<>\r\n]+>|\"[^\"\r\n]+\")(?:%b)?[ \t]*(?:\r\n|\n|\r))+" % re.escape(MARK)
)
_INCLUDED = re.compile(rb"([<\"])([^<>\"\r\n]+)([>\"])(%b)?" % re.escape(MARK))
#: Suffixes of translation units.
UNITS = frozenset(".cu .hip .c .cc .cpp .cxx .c++".split())
# An include of a HIP header that hipport wrote into a CUDA file.
_MARKED_INCLUDE = re.compile(rb"include[ \t]*<[^<>\r\n]+>[ \t]*/\*[ \t]*hipport[ \t]*\*/")
# Neither blanks nor digits at its ends, which could join with the text beside it.
_ENDED = re.compile(rb"/\*.*\*/", re.DOTALL)
_TOUCHY = bytes(byte >= 0x80 or chr(byte) in "\"'/*\\#" or chr(byte).isalnum() or byte == 0x5F for byte in range(256))

# Words that the grammars do not treat as plain identifiers: replacing one, or by one, may change the parse.
_KEYWORDS = frozenset(
    b"alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield "
    b"compl concept const const_cast consteval constexpr constinit continue decltype default defined delete do "
    b"double dynamic_cast else enum explicit export extern false final float for friend goto if inline int long "
    b"mutable namespace new noexcept not not_eq nullptr NULL operator or or_eq override private protected public "
    b"register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
    b"struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual "
    b"void volatile while xor xor_eq offsetof TRUE FALSE".split()
)
# Conditions that ask for a GPU, or for the number of lanes of its wavefronts.
_BY_WAVES = re.compile(rb"__(?:gfx|GFX|AMDGCN_W)")
_IF = re.compile(rb"#[ \t]*(?:el)?if(?:n?def)?\b")
_IF_LINE = re.compile(rb"#if(?:n?def)?[ \t][^\\\r\n]*(?:\r\n|\n|\r)")
_ENDIF_LINE = re.compile(rb"(?:\r\n|\n|\r)#endif")
# Text that needs its own line, or takes the rest of one.
_LINES_APART = re.compile(rb"(?:^|[\r\n])[ \t]*#|\\[\r\n]|//|/\*")
_IN_CONDITION = re.compile(rb"\(|\)?(?: (?:\|\||&&) !?(?:defined\(\w+\)|\w+))*(?:%b)?\)?" % re.escape(MARK))


CppT = TypeVar("CppT", bound="Cpp")
_PATHLESS = re.compile(rb"#[ \t]*(?:include(?:_next)?|import)\s*")


@dataclass(frozen=True)
class Cpp(CppText):
    """C++ (or C) source text."""

    group: ClassVar[Group] = Group.KERNELS

    #: Macros of the program that every HIP compilation defines, as its other files show.
    chosen: frozenset[bytes] = field(default=frozenset(), repr=False)
    #: Macros of the program that are defined only in code that CUDA alone sees.
    unset: frozenset[bytes] = field(default=frozenset(), repr=False)
    #: The side of the whole file, in a program that has backends for both: "hip", "cuda", "both"; else "".
    side: str = field(default="", repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"chosen": self.chosen, "unset": self.unset, "side": self.side}

    lasting = (*Source.lasting, "includes")

    line_end = ANY_LINE_END

    def apply(self: CppT, edits: Iterable[Edit]) -> CppT:
        """Return the source with `edits` made. Raises Conflict; with no edits, returns itself."""
        result = super().apply(edits)
        if result is self:
            return self
        if self.known("_lexed"):
            lexed = self._lexed_after(result.edits)
            if lexed is not None:
                # Nearly every text needs its includes, and those of the next text are derived from these.
                _ = self.includes
                result.carry({"_lexed": lexed, **self._known_after(result.edits)})
        result.carry({"_parsed": (self, self._read) if self.known("_read") else self._parsed})
        return result

    def _lexed_after(self, edits: Sequence[Edit]) -> tuple[bytes, tuple[Span, ...]] | None:
        """Return `_lexed` after `edits`; None if that is not obvious, and the text has to be lexed again."""
        code, long = self._lexed
        pieces: list[bytes] = []
        shifted: list[Span] = []
        done = shift = comment = 0
        for edit in edits:
            new = self._code_of(edit)
            if new is None:
                return None
            while comment < len(long) and long[comment].end <= edit.span.start:
                shifted.append(Span(long[comment].start + shift, long[comment].end + shift))
                comment += 1
            pieces += (code[done : edit.span.start], new)
            done = edit.span.end
            shift += len(edit.new) - len(edit.span)
        pieces.append(code[done:])
        shifted += (Span(span.start + shift, span.end + shift) for span in long[comment:])
        return b"".join(pieces), tuple(shifted)

    def _known_after(self, edits: Sequence[Edit]) -> dict[str, object]:
        """Return the known facts of the text after edits that need no new lexing."""
        known: dict[str, object] = {}
        if self.known("words"):
            known["words"] = self.words.union(*(words_of(edit.new) for edit in edits))
        if not self.known("directives"):
            return known
        ends = [edit.span.end for edit in edits]
        shifts = [0, *accumulate(len(edit.new) - len(edit.span) for edit in edits)]

        def moved(span: Span) -> Span:
            if span.end < ends[0]:
                return span
            return Span(
                span.start + shifts[bisect_right(ends, span.start)], span.end + shifts[bisect_right(ends, span.end)]
            )

        gone = tuple(edit.span for edit in edits if not edit.new)
        directives = [moved(directive) for directive in self.directives if not within(directive.start, gone)]
        inserted = [
            Span(edit.span.start + shift + match.start(), edit.span.start + shift + match.end())
            for edit, shift in zip(edits, shifts, strict=False)
            if not len(edit.span)  # includes
            for match in DIRECTIVE.finditer(edit.new)
        ]
        known["directives"] = tuple(sorted(directives + inserted) if inserted else directives)
        if self.known("includes") and not any(edit.new[:1] in (b"", b"#", b'"', b"<", b" ", b"\t") for edit in edits):
            known["includes"] = tuple(
                Include(moved(each.directive), moved(each.target), each.path, each.angled) for each in self.includes
            )
        return known

    def _code_of(self, edit: Edit) -> bytes | None:
        """The code of the text that `edit` writes, if it does not change how the rest is lexed; else None."""
        start, end = edit.span.start, edit.span.end
        old = self.text[start:end]
        if (
            old
            and old == self.code[start:end]
            and lexed_apart(old)
            and lexed_apart(edit.new)
            and not (start and _TOUCHY[self.text[start - 1]])
            and not (end < len(self.text) and _TOUCHY[self.text[end]])
        ):
            return edit.new
        if _INCLUDE_LINES.fullmatch(edit.new) and not old and self._takes_includes(start):
            return _INCLUDED.sub(_blanked, edit.new)
        if not edit.new and self._is_include_lines(edit.span):
            return b""
        if edit.new in (b"<<<", b">>>") and old.translate(None, b" \t") == edit.new and old == self.code[start:end]:
            return edit.new
        if _INCLUDED.fullmatch(edit.new) and any(edit.span == include.target for include in self.includes):
            return _INCLUDED.sub(_blanked, edit.new)
        return None

    def _takes_includes(self, offset: int) -> bool:
        """Whether `offset` is at the include point, or directly behind the includes there."""
        point = self.include_point
        return offset == point or _INCLUDE_LINES.fullmatch(self.text, point, offset) is not None

    def _is_include_lines(self, span: Span) -> bool:
        """Whether `span` is whole lines, each an `#include` of a plain path."""
        lines = self[span]
        if span.end == len(self.text) and not lines.endswith((b"\n", b"\r")):
            lines += b"\n"  # The last line of a file may have no end.
        return (
            _INCLUDE_LINES.fullmatch(lines) is not None
            and any(span.start <= include.directive.start < span.end for include in self.includes)
            and (not span.start or self.text[span.start - 1 : span.start] in (b"\n", b"\r"))
        )

    @cached_property
    def include_point(self) -> int:
        """The place of an `#include` that the whole file needs: the start of a line.

        It lies before the first include, condition or declaration, and after the prologue of the file: comments,
        `#pragma once`, a header guard, macros that configure later headers, defaults of such macros, and pragmas
        against warnings of clang.
        """
        code = self.code
        point = 0
        ends = {group[0].span: group[-1].span for group in self.conditionals}
        closed: Span | None = None
        for i, span in enumerate(self.directives):
            if code[point : span.start].strip():
                break
            if span == closed:
                point = span.end
                continue
            words = code[span.start + 1 : span.end].split()
            opens = words[:1] in ([b"define"], [b"undef"]) or words == [b"pragma", b"once"]
            opens = opens or words[:4] == [b"pragma", b"clang", b"diagnostic", b"ignored"]
            if words[:1] == [b"ifndef"] and i + 1 < len(self.directives):
                following = self.directives[i + 1]
                opens = code[following.start + 1 : following.end].split()[:2] == [b"define", *words[1:2]]
                end = ends.get(span)
                if opens and end is not None and code[end.end :].strip():
                    # This is not a header guard but the default of a macro, `#ifndef BLOCK`, `#define BLOCK 256`,
                    # `#endif`. An include inside it would be skipped where a build defines the macro.
                    opens = code[following.end : end.start].strip() == b""
                    closed = end
            if not opens:
                break
            point = span.end
        rest = code[point:]
        start = self._line_start(point + len(rest) - len(rest.lstrip()))
        # The last line of a directive, without another directive after it. The last line may be empty.
        spliced = self.directive(start) if start < point else None
        if (start == point and not first_on_line(code, start)) or code.count(b'"', 0, start) % 2:
            # Or the line is part of a raw string, and not code.
            spliced = self.directive_before(start)
        if spliced is not None:
            start = self._line_start(spliced.start)
        # A comment may end on that line, or not at all: then the include goes before the comment.
        for comment in reversed(self._lexed[1]):
            ended = comment.end if _ENDED.fullmatch(self[comment]) else comment.end + 1
            if comment.start < start < ended:
                start = self._line_start(comment.start)
        # A comment that never ends may begin on a further line of a directive.
        around = self.directive(start)
        if around is not None and around.start < start:
            start = self._line_start(around.start)
        return start or self.beginning

    @cached_property
    def cuda_only(self) -> tuple[Span, ...]:
        """The stretches that no HIP compilation for AMD sees, such as those under `#ifndef USE_ROCM`.

        Their author has already decided what AMD gets, so a port leaves them alone.
        """
        return self._branches[0]

    @cached_property
    def hip_only(self) -> tuple[Span, ...]:
        """The stretches that only a HIP compilation sees: they are already ported."""
        return self._branches[1]

    def ported(self, offset: int) -> bool:
        """Say whether only CUDA or only HIP sees the code at `offset`: then somebody has ported it already."""
        return within(offset, self.hip_only) or within(offset, self.cuda_only)

    @cached_property
    def conditionals(self) -> tuple[tuple[Conditional, ...], ...]:
        """The directives of each `#if` … `#endif`; inner groups precede the group that contains them."""
        return grouped(self.code, self.text, self.directives)

    @cached_property
    def conditional(self) -> tuple[Span, ...]:
        """The stretches under an `#if` that is not a header guard."""
        found = []
        for group in self.conditionals:
            name = b"".join(group[0].asked.split()).removeprefix(b"!defined(").rstrip(b")")
            guard = self.code[group[0].span.end :].split(None, 3)[:2] == [b"#define", name]
            if not guard or len(group) > 2:
                found.append(Span(group[0].span.start, group[-1].span.end))
        return outermost(found)

    @cached_property
    def _groups_at(self) -> tuple[tuple[int, ...], tuple[Span, ...]]:
        """Where the directives of conditions begin, in order, and the extent of the group of each."""
        found = sorted(
            (part.span.start, Span(group[0].span.start, group[-1].span.end))
            for group in self.conditionals
            for part in group
        )
        return tuple(start for start, _ in found), tuple(extent for _, extent in found)

    def parts(self, span: Span) -> bool:
        """Say whether an `#if` … `#endif` is only partly in a span: then the text there depends on the condition."""
        starts, extents = self._groups_at
        inside = extents[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        return any(each.start < span.start or each.end > span.end for each in inside)

    @cached_property
    def without_cuda(self) -> tuple[Span, ...]:
        """The stretches that no compilation for CUDA sees: `#ifndef __CUDACC__`, and the `#else` of its opposite."""
        return without_cuda(self.conditionals)

    @cached_property
    def left_to_hip(self) -> tuple[Span, ...]:
        """The stretches that hipport hid from HIP because HIP has the same functions itself."""
        return left_to_hip(self.conditionals)

    @cached_property
    def chosen_on_hip(self) -> frozenset[bytes]:
        """The program's macros that the text shows every HIP compilation has to define."""
        return chosen_on_hip(self.text, self.code, self.conditionals) if names_for_hip(self.text) else frozenset()

    @property
    def for_host(self) -> bool:
        """Whether the suffix names a source of the host compiler, which has no device code in CUDA."""
        return self.path.suffix in (".c", ".cc", ".cpp", ".cxx")

    @cached_property
    def ported_before(self) -> bool:
        """Whether hipport put a HIP header into the file, in an earlier run or in this one."""
        return self.marked_include is not None

    @cached_property
    def marked_include(self) -> re.Match[bytes] | None:
        """The first include with hipport's mark, from its word on; a comment may quote one."""
        for match in _MARKED_INCLUDE.finditer(self.text):
            directive = self.directive(match.start()) if self.code.startswith(b"include", match.start()) else None
            if directive is not None and not self.code[directive.start : match.start()].strip(b"# \t"):
                return match
        return None

    @cached_property
    def begun_as_hip(self) -> bool:
        """Whether the file was HIP before hipport: then, for example, maskless names mean the whole wavefront.

        HIP's headers, AMD's builtins and the suffix `.hip` show it. A merge may lose the line with hipport's mark. So a
        file that also includes a CUDA header under no condition was CUDA.
        """
        first = self.first
        if not isinstance(first, Cpp) or first.ported_before:
            return False
        headers = [
            each for each in first.includes if HEADER_OF_HIP.fullmatch(each.path.encode("utf-8", "surrogateescape"))
        ]
        return (
            any(each.path.startswith(("hip/", "hipcub/")) for each in headers)
            or any(not within(each.directive.start, first.conditional) for each in headers)
            or ".hip" in first.path.suffixes
            or any(not within(at.start(), first.conditional) for at in NAME_OF_HIP.finditer(first.code))
        ) and not any(
            each.angled
            and each.path.startswith(("cuda_", "cuda."))
            and not within(each.directive.start, first.conditional)
            for each in first.includes
        )

    @property
    def known_on_hip(self) -> frozenset[bytes]:
        """The program's macros that are known to be defined on HIP, from this file or from others."""
        return self.chosen | self.chosen_on_hip

    @cached_property
    def _branches(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        dead, alive = branches(self.conditionals, self.known_on_hip, self.unset)
        whole = (Span(0, len(self.code)),)
        # In a program with backends for both, the whole file may belong to one.
        return (whole, ()) if self.side == "cuda" else (dead, whole) if self.side == "hip" else (dead, alive)

    @cached_property
    def by_waves(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        """The stretches that only GPUs with wavefronts of 32 lanes see, and those that only GPUs with 64 see."""
        return waves(self.conditionals, self.known_on_hip) if _BY_WAVES.search(self.code) else ((), ())

    @cached_property
    def _parsed(self) -> tuple[Cpp, tree_sitter.Tree] | None:
        """The latest ancestor of this text that was parsed, with the tree that the parser made of it at first."""
        return None

    @cached_property
    def _read(self) -> tree_sitter.Tree:
        """The syntax tree that the parser makes of the text at first."""
        # With the tree of an ancestor, only the text that the edits touched is parsed again.
        before, tree = self._parsed or (self, None)
        return parsed_tree(self, before, tree)

    @cached_property
    def tree(self) -> tree_sitter.Tree:
        """The syntax tree of the text."""
        return reread(self, self._read)

    def reads_over_conditions(self, start: int, end: int) -> bool:
        """Say whether the second reading left out directives of conditions in a span; see `rereading`."""
        return self.tree is not self._read and reads_over_conditions(self, self.tree, Span(start, end))

    @property
    def grammar(self) -> str:
        """The tree-sitter grammar that parses this file."""
        return "cpp"

    @cached_property
    def errors(self) -> int:
        """The number of places that the parser does not understand."""
        return len(faults_in(self, self.tree)) if self.tree.root_node.has_error else 0

    @property
    def guessed(self) -> bool:
        """Whether the tree is a guess: the parser finds errors, or misses what every compiler rejects.

        The latter is an unbalanced bracket, a number sign in the middle of a line, or an `#include` without a path, for
        which the parser takes the next line.
        """
        if self.errors or not self.balanced:
            return True
        return bool(self._stray_signs) or any(
            _PATHLESS.fullmatch(self.code, each.start, each.end) for each in self.directives
        )

    @cached_property
    def _stray_signs(self) -> tuple[int, ...]:
        """The number signs outside of directives: in prose between `#if 0` and `#endif`, or in no program at all."""
        signs = (match.start() for match in re.finditer(rb"#", self.code))
        return tuple(sign for sign in signs if self.directive(sign) is None)

    def _frees_a_sign(self, edit: Edit) -> bool:
        """Whether `edit` changes what is before a stray number sign on its line, which may begin a directive then."""
        i = bisect_left(self._stray_signs, edit.span.end)
        return i < len(self._stray_signs) and self.line_start(self._stray_signs[i]) <= edit.span.end

    @cached_property
    def balanced(self) -> bool:
        """Whether every bracket in the code has a partner."""
        return not _open(self.code)

    def reads_the_same(self, result: Source) -> bool:
        """Say whether the code outside the edits of `result` is the same as before, with the same directives."""
        if not isinstance(result, Cpp) or result.before is not self:
            return True
        before, after = self.code, result.code
        done = shift = 0
        for edit in (*result.edits, Edit(Span(len(before), len(before)), b"")):
            start = edit.span.start
            if before[done:start] != after[done + shift : start + shift]:
                return False
            if self._directives_in(done, start) != result._directives_in(done + shift, start + shift):
                return False
            done = edit.span.end
            shift += len(edit.new) - len(edit.span)
        return True

    def _directives_in(self, start: int, end: int) -> list[int]:
        """Return where directives begin between two places, counted from the first."""
        starts = self._directive_starts
        return [at - start for at in starts[bisect_left(starts, start) : bisect_left(starts, end)]]

    def harmless(self, edit: Edit) -> bool:
        """An identifier replaced by an identifier, or a path by a path, gives the parser the same tree.

        So do includes that are removed line by line or inserted at the include point, and a qualified name in the place
        of a name that an expression calls. Joining the brackets of a launch removes an error. Text in the
        condition of an `#if` is not part of the program's syntax, but a parser that was lost before it finds other
        errors behind it.
        """
        if self._frees_a_sign(edit):
            return False
        old = self[edit.span]
        if self._in_condition(edit.span) and (
            _IN_CONDITION.fullmatch(edit.new) if not old else self.same_shape([edit])
        ):
            return True
        if _is_identifier(old) and _is_identifier(edit.new):
            whole = not _part_of_word(self.text, edit.span.start - 1) and not _part_of_word(self.text, edit.span.end)
            return whole and old not in _KEYWORDS and edit.new not in _KEYWORDS
        if not edit.new or _INCLUDE_LINES.fullmatch(edit.new):
            if not old:
                return self._takes_includes(edit.span.start)
            return not edit.new and self._is_include_lines(edit.span)
        if _QUALIFIED.fullmatch(edit.new) and IDENTIFIER.fullmatch(old):
            return (
                _CALLED.match(self.code, edit.span.end) is not None
                and _OPERAND.search(self.code, max(0, edit.span.start - 8), edit.span.start) is not None
            )
        if edit.new in (b"<<<", b">>>"):
            return old.translate(None, b" \t\r\n\\") == edit.new
        return any(edit.span == include.target for include in self.includes) and bool(_INCLUDED.fullmatch(edit.new))

    def _in_condition(self, span: Span) -> bool:
        """Whether `span` lies in a directive with a condition: `#if`, `#ifdef`, `#ifndef`, `#elif`."""
        directive = self.directive(span.start) or (self.directive(span.start - 1) if span.start else None)
        return directive is not None and span.end <= directive.end and bool(_IF.match(self.code, directive.start))

    def same_shape(self, edits: Sequence[Edit]) -> bool:
        """Brackets open and close as before, and the preprocessor lines in the edits are complete.

        Such lines are includes, and conditions that begin and end around lines with balanced brackets.
        """
        if any(self._frees_a_sign(edit) for edit in edits):
            return False
        ordered = []
        opened: list[int] = []
        for edit in sorted(edits, key=lambda edit: edit.span):
            start = edit.span.start
            if not len(edit.span) and self.line_start(start) == start:
                if _INCLUDE_LINES.fullmatch(edit.new):
                    continue
                if _IF_LINE.fullmatch(edit.new):
                    opened.append(start)
                    continue
            if not len(edit.span) and opened and _ENDIF_LINE.fullmatch(edit.new) and self._ends_line(start):
                if _open(self.code[opened.pop() : start]):
                    return False
                continue
            ordered.append(edit)
        if opened:
            return False
        old = b" ".join(self.code[edit.span.start : edit.span.end] for edit in ordered)
        new = b" ".join(lex(edit.new)[0] for edit in ordered)
        return not _LINES_APART.search(old) and not _LINES_APART.search(new) and _open(old) == _open(new)

    def _ends_line(self, offset: int) -> bool:
        return self.text[offset : offset + 1] in (b"", b"\r", b"\n")


def _open(code: bytes) -> bytes:
    """The brackets of some code that have no partner in it."""
    left = bytearray()
    for match in BRACKET.finditer(code):
        bracket = match.group()
        if left and BRACKETS.get(bytes(left[-1:])) == bracket:
            left.pop()
        else:
            left += bracket
    return bytes(left)


def _blanked(path: re.Match[bytes]) -> bytes:
    """The code of an include's path, with hipport's mark behind it."""
    return path[1] + b" " * len(path[2]) + path[3] + b" " * len(path[4] or b"")


def within(offset: int, spans: tuple[Span, ...]) -> bool:
    """Say whether `offset` lies in one of `spans`, which are sorted and do not overlap."""
    if not spans:
        return False
    i = bisect_right(spans, offset, key=lambda span: span.start) - 1
    return i >= 0 and offset < spans[i].end


def template_arguments(code: bytes, opening: int) -> tuple[Span, ...] | None:
    """Return the template arguments in the brackets at `opening`, trimmed; None if they do not end."""
    depth = brackets = 0
    cuts = [opening]
    for i in range(opening, min(len(code), opening + 2000)):
        byte = code[i : i + 1]
        if byte in (b"(", b"[", b"{"):
            brackets += 1
        elif byte in (b")", b"]", b"}"):
            brackets -= 1
        elif brackets:
            continue
        elif byte == b"<":
            depth += 1
        elif byte == b">":
            depth -= 1
        elif byte == b"," and depth == 1:
            cuts.append(i)
        elif byte == b";":
            return None
        if brackets < 0:
            return None
        if not depth:
            cuts.append(i)
            pieces = [(a + 1, b, code[a + 1 : b]) for a, b in pairwise(cuts)]
            if any(not piece.strip() for _, _, piece in pieces):
                return None
            return tuple(
                Span(a + len(piece) - len(piece.lstrip()), b - len(piece) + len(piece.rstrip()))
                for a, b, piece in pieces
            )
    return None


def word_before(code: bytes, offset: int) -> bytes:
    """Return the word before `offset`, with optional white space between them; b"" if there is none."""
    before = code[max(0, offset - 200) : offset].rstrip()
    start = len(before)
    while start and WORDS[before[start - 1]] != 0x20:
        start -= 1
    return before[start:].lstrip(b"0123456789")


@lru_cache(maxsize=1 << 14)
def _is_identifier(text: bytes) -> bool:
    return IDENTIFIER.fullmatch(text) is not None


def _part_of_word(text: bytes, offset: int) -> bool:
    return 0 <= offset < len(text) and bool(IN_WORD[text[offset]])

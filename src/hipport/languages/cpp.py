# SPDX-License-Identifier: Apache-2.0
"""C and C++ text: which bytes are code, which are names, and what the parser makes of it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hipport.source import Edit, Source, Span

if TYPE_CHECKING:
    import tree_sitter

# What a search for names steps over. Every alternative starts with one of  " ' / # or a digit.
_NOT_CODE = re.compile(
    rb"""
      //(?:[^\\\r\n]|\\(?:\r\n|.))*                                         # to the end of the line, spliced ones too
    | /\*.*?(?:\*/|\Z)
    | (?:(?<=\bR)|(?<=\buR)|(?<=\bUR)|(?<=\bLR)|(?<=\bu8R))"(?P<d>[^()\\\s"]{0,16})\(.*?(?:\)(?P=d)"|\Z)
    | "(?:[^"\\\r\n]|\\(?:\r\n|.))*"?
    | \b[0-9][0-9A-Za-z_.]*(?:'[0-9A-Za-z_.]+)+                             # 1'000'000: no character literals here
    | '(?:[^'\\\r\n]|\\.)+'
    | \#[ \t]*(?:include(?:_next)?|import)\b(?P<path>(?:[ \t]|/\*[^\r\n]*?\*/)*(?:<[^>\r\n]*>|"[^"\r\n]*"))
    | \#[ \t]*(?:error|warning)\b(?:[^\\\r\n]|\\(?:\r\n|.))*                # prose, with its lone apostrophes
    """,
    re.VERBOSE | re.DOTALL,
)
_BOM = b"\xef\xbb\xbf"
_NOT_NEWLINE = re.compile(rb"[^\r\n]")
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_INCLUDE = re.compile(
    rb"^[ \t]*(?P<directive>\#[ \t]*(?:include(?:_next)?|import))\b[ \t]*"
    rb"(?P<path>[<\"])(?P<blank>[ \t]*)(?P<close>[>\"])",
    re.MULTILINE,
)
_BRACKETS = {b"(": b")", b"[": b"]", b"{": b"}"}
_CLOSING = {close: open_ for open_, close in _BRACKETS.items()}
_BRACKET = re.compile(rb"[()\[\]{}]")
_CONDITIONAL = re.compile(
    rb"^[ \t]*\#[ \t]*(?P<word>ifdef|ifndef|if|elif|else|endif)\b(?P<rest>(?:[^\\\r\n]|\\(?:\r\n|.))*)",
    re.MULTILINE | re.DOTALL,
)

_DIRECTIVE = re.compile(rb"^[ \t]*(?P<all>\#(?:[^\\\r\n]|\\(?:\r\n|.))*)", re.MULTILINE | re.DOTALL)

# Words that the grammars treat as more than an identifier: replacing one, or by one, may change the parse.
_KEYWORDS = frozenset(
    b"alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield "
    b"compl concept const const_cast consteval constexpr constinit continue decltype default defined delete do "
    b"double dynamic_cast else enum explicit export extern false final float for friend goto if inline int long "
    b"mutable namespace new noexcept not not_eq nullptr NULL operator or or_eq override private protected public "
    b"register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
    b"struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual "
    b"void volatile while xor xor_eq offsetof TRUE FALSE".split()
)

# Macros that a HIP compilation for AMD defines (hipcc, PyTorch's extension build), and ones that it never does.
_DEFINED_ON_HIP = frozenset(
    b"USE_ROCM __HIP_PLATFORM_AMD__ __HIP_PLATFORM_HCC__ __HIPCC__ __HIP__ __HCC__ HIP_VERSION ROCM_VERSION "
    b"TORCH_HIP_VERSION __AMDGCN__ WITH_HIP USE_HIP IS_HIP".split()
)
_NEVER_ON_HIP = frozenset(b"__HIP_PLATFORM_NVIDIA__ __HIP_PLATFORM_NVCC__".split())
_DEFINED_BY_NVCC = frozenset(b"__CUDACC__ __NVCC__ __CUDA_ARCH__ CUDA_VERSION CUDART_VERSION USE_CUDA".split())


@dataclass(frozen=True, slots=True)
class Include:
    """An `#include` of a plain path. `target` has the delimiters in it; `directive` is from `#` to its end."""

    directive: Span
    target: Span
    path: str
    angled: bool


@dataclass(frozen=True, slots=True)
class Conditional:
    """`#if`, `#elif`, `#else` or `#endif`; that of an `#ifdef X` is a `condition` too, `defined(X)`."""

    span: Span
    word: bytes
    condition: bytes

    @property
    def tells(self) -> bool:
        """Whether the condition tells AMD from NVIDIA."""
        return any(name in _DEFINED_ON_HIP or name in _NEVER_ON_HIP for name in _IDENTIFIER.findall(self.condition))


@dataclass(frozen=True)
class Cpp(Source):
    """C++ (or C) source text."""

    @cached_property
    def code(self) -> bytes:
        """The text with comments, literals and include paths blanked: same length, same line endings.

        Quotes stay, so that an argument that is a string is still an argument.
        """
        # A byte-order mark is no code either, and what follows it is at the start of a line.
        text = b"   " + self.text[3:] if self.text.startswith(_BOM) else self.text
        pieces: list[bytes] = []
        done = 0
        for match in _NOT_CODE.finditer(text):
            start, end = match.span()
            lead = text[start : start + 1]
            if lead.isdigit():
                continue
            if match["path"] is not None:
                start = match.start("path")
                lead = text[start : start + 1]
                while lead in b" \t/":
                    start += 1
                    lead = text[start : start + 1]
            elif lead == b"#":
                start += len(b"#error")
            keep = 1 if lead in (b'"', b"'", b"<") else 0
            tail = keep if end - start > 1 and text[end - 1 : end] in (b'"', b"'", b">") else 0
            pieces.append(text[done : start + keep])
            inner = text[start + keep : end - tail]
            if b"\n" in inner or b"\r" in inner:
                pieces.append(_NOT_NEWLINE.sub(b" ", inner))
            else:
                pieces.append(b" " * len(inner))
            done = end - tail
        if not done:
            return text
        pieces.append(text[done:])
        return b"".join(pieces)

    def names(self, pattern: re.Pattern[bytes] = _IDENTIFIER) -> Iterator[tuple[Span, bytes]]:
        """Yield the identifiers in code that `pattern` matches whole, macro bodies and inactive branches included.

        The pattern must match identifiers only; a match that is part of a longer identifier is not one.
        """
        code = self.code
        for match in pattern.finditer(code):
            start, end = match.span()
            if _part_of_word(code, start - 1) or _part_of_word(code, end):
                continue
            yield Span(start, end), match.group()

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        """The `#include` directives with a plain path, in inactive branches too."""
        found = []
        for match in _INCLUDE.finditer(self.code):
            target = Span(match.start("path"), match.end("close"))
            path = self.text[target.start + 1 : target.end - 1].decode("utf-8", "surrogateescape")
            found.append(Include(Span(match.start("directive"), target.end), target, path, match["path"] == b"<"))
        return tuple(found)

    @cached_property
    def directives(self) -> tuple[Span, ...]:
        """The preprocessor directives, each from its `#` to the end of its last spliced line."""
        return tuple(Span(*match.span("all")) for match in _DIRECTIVE.finditer(self.code))

    def directive(self, offset: int) -> Span | None:
        """Return the directive that `offset` is in, or None."""
        i = bisect_right(self.directives, offset, key=lambda span: span.start) - 1
        return self.directives[i] if i >= 0 and offset < self.directives[i].end else None

    @cached_property
    def include_point(self) -> int:
        """Where an `#include` that the whole file needs goes: the start of a line.

        That is before the first include, condition or declaration, and after what a file may open with: comments,
        `#pragma once`, a header guard, and macros that steer the headers included later.
        """
        code = self.code
        point = 0
        for i, span in enumerate(self.directives):
            if code[point : span.start].strip():
                break
            words = code[span.start + 1 : span.end].split()
            opens = words[:1] in ([b"define"], [b"undef"]) or words == [b"pragma", b"once"]
            if words[:1] == [b"ifndef"] and i + 1 < len(self.directives):
                following = self.directives[i + 1]
                opens = code[following.start + 1 : following.end].split()[:2] == [b"define", *words[1:2]]
            if not opens:
                break
            point = span.end
        rest = code[point:]
        point += len(rest) - len(rest.lstrip())
        start = max(self.text.rfind(b"\n", 0, point), self.text.rfind(b"\r", 0, point)) + 1
        return start or (len(_BOM) if self.text.startswith(_BOM) else 0)

    def closing(self, offset: int, limit: int | None = None) -> int | None:
        """Return the offset of the bracket that closes the one at `offset`, or None; at most `limit` bytes on."""
        code = self.code
        stack: list[bytes] = []
        for match in _BRACKET.finditer(code, offset, min(len(code), offset + (limit or len(code)))):
            bracket = match.group()
            if bracket in _BRACKETS:
                stack.append(_BRACKETS[bracket])
            elif not stack or stack.pop() != bracket:
                return None
            if not stack:
                return match.start()
        return None

    def arguments(self, opening: int) -> tuple[Span, ...] | None:
        """Split what stands between the bracket at `opening` and its partner at top-level commas.

        Spans are trimmed of white space and comments at both ends. Template arguments are not understood:
        `f(g<a, b>(c))` has two. Returns None when the bracket is not closed.
        """
        end = self.closing(opening)
        if end is None:
            return None
        code = self.code
        cuts = [opening]
        depth = 0
        for match in re.compile(rb"[()\[\]{},]").finditer(code, opening + 1, end):
            token = match.group()
            if token == b",":
                if not depth:
                    cuts.append(match.start())
            else:
                depth += 1 if token in _BRACKETS else -1
        cuts.append(end)
        spans = tuple(self.trimmed(Span(a + 1, b)) for a, b in pairwise(cuts))
        return () if len(spans) == 1 and not len(spans[0]) else spans

    def trimmed(self, span: Span) -> Span:
        """Return `span` without white space and comments at its ends."""
        piece = self.code[span.start : span.end]
        start = span.start + len(piece) - len(piece.lstrip())
        return Span(start, max(start, span.start + len(piece.rstrip())))

    @cached_property
    def cuda_only(self) -> tuple[Span, ...]:
        """The stretches that no HIP compilation for AMD sees: under `#ifndef USE_ROCM`, say.

        Whoever wrote them has already said what AMD gets, so a port leaves them alone.
        """
        return self._branches[0]

    @cached_property
    def hip_only(self) -> tuple[Span, ...]:
        """The stretches that only a HIP compilation sees: what is in them is already ported."""
        return self._branches[1]

    @cached_property
    def conditionals(self) -> tuple[tuple[Conditional, ...], ...]:
        """The directives of each `#if` … `#endif`, inner ones before the one that they are in."""
        groups: list[tuple[Conditional, ...]] = []
        stack: list[list[Conditional]] = []
        for match in _CONDITIONAL.finditer(self.code):
            word, rest = match["word"], match["rest"]
            if word in (b"ifdef", b"ifndef"):
                rest = (b"!" if word == b"ifndef" else b"") + b"defined(" + (rest.split() or [b"?"])[0] + b")"
            part = Conditional(Span(self.code.index(b"#", match.start()), match.end()), word, rest)
            if word in (b"if", b"ifdef", b"ifndef"):
                stack.append([part])
            elif stack:
                stack[-1].append(part)
                if word == b"endif":
                    groups.append(tuple(stack.pop()))
        return tuple(groups)

    @cached_property
    def _branches(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        dead: list[Span] = []
        alive: list[Span] = []
        for group in self.conditionals:
            told = any(part.tells for part in group)
            # What HIP and CUDA make of a branch, and whether an earlier one of the group was taken for certain.
            hip: bool | None = False
            cuda: bool | None = False
            hip_taken = cuda_taken = False
            for part, following in pairwise(group):
                here_hip = True if part.word == b"else" else condition(part.condition, hip=True, told=told)
                here_cuda = True if part.word == b"else" else condition(part.condition, hip=False)
                # An #else is taken for certain only when every branch before it is certainly not.
                hip = False if hip_taken else _else(hip, here_hip)
                cuda = False if cuda_taken else _else(cuda, here_cuda)
                hip_taken, cuda_taken = hip_taken or hip is True, cuda_taken or cuda is True
                branch = Span(part.span.end, following.span.start)
                if hip is False and cuda is not False:
                    dead.append(branch)
                elif cuda is False and hip is not False:
                    alive.append(branch)
        return _outermost(dead), _outermost(alive)

    @cached_property
    def tree(self) -> tree_sitter.Tree:
        """The syntax tree of the text."""
        return _parser(self.grammar).parse(self.text)

    @property
    def grammar(self) -> str:
        """The tree-sitter grammar that parses this file."""
        return "cpp"

    @cached_property
    def errors(self) -> int:
        """How many ERROR and MISSING nodes the tree has."""
        root = self.tree.root_node
        if not root.has_error:
            return 0
        count = 0
        stack = [root]
        while stack:
            node = stack.pop()
            if node.is_error or node.is_missing:
                count += 1
            stack.extend(child for child in node.children if child.has_error or child.is_missing)
        return count

    def harmless(self, edit: Edit) -> bool:
        """An identifier put for an identifier, or a path for a path, gives the parser the same tree."""
        old = self[edit.span]
        if _IDENTIFIER.fullmatch(old) and _IDENTIFIER.fullmatch(edit.new):
            whole = not _part_of_word(self.text, edit.span.start - 1) and not _part_of_word(self.text, edit.span.end)
            return whole and old not in _KEYWORDS and edit.new not in _KEYWORDS
        return any(edit.span == include.target for include in self.includes) and bool(
            re.fullmatch(rb"<[^<>\r\n]+>|\"[^\"\r\n]+\"", edit.new)
        )


def condition(text: bytes, *, hip: bool, told: bool = False) -> bool | None:
    """Evaluate a preprocessor condition as a HIP compilation for AMD (or an nvcc one) would; None where unknown.

    `told`: the program tells AMD from NVIDIA here, so what only nvcc defines is indeed not defined on HIP. Elsewhere
    `__CUDACC__` says that code is for the device, which a port has to keep.
    """
    tokens = re.findall(rb"\w+|&&|\|\||[!()]|[^\s\w]", text.replace(b"\\\n", b" ").replace(b"\\\r\n", b" "))
    value, rest = _either(tokens, hip, told)
    return value if not rest else None


def _either(tokens: list[bytes], hip: bool, told: bool) -> tuple[bool | None, list[bytes]]:
    value, tokens = _both(tokens, hip, told)
    while tokens[:1] == [b"||"]:
        other, tokens = _both(tokens[1:], hip, told)
        value = True if value is True or other is True else (None if None in (value, other) else False)
    return value, tokens


def _both(tokens: list[bytes], hip: bool, told: bool) -> tuple[bool | None, list[bytes]]:
    value, tokens = _single(tokens, hip, told)
    while tokens[:1] == [b"&&"]:
        other, tokens = _single(tokens[1:], hip, told)
        value = False if value is False or other is False else (None if None in (value, other) else True)
    return value, tokens


def _single(tokens: list[bytes], hip: bool, told: bool) -> tuple[bool | None, list[bytes]]:
    match tokens:
        case [b"!", *rest]:
            value, rest = _single(rest, hip, told)
            return (None if value is None else not value), rest
        case [b"(", *rest]:
            value, rest = _either(rest, hip, told)
            return value, rest[1:]
        case [b"defined", b"(", name, b")", *rest]:
            return _known(name, hip, told), _operand(rest)
        case [b"defined", name, *rest]:
            return _known(name, hip, told), _operand(rest)
        case [name, *rest] if not rest or rest[0] in (b"&&", b"||", b")"):
            if name.isdigit():
                return name.strip(b"0") != b"", rest
            # A macro that is not defined counts as 0; one that is may have any value.
            return (False if _known(name, hip, told) is False else (_known(name, hip, told) if _flag(name) else None)), rest
        case [*_]:
            return None, _operand(tokens)
    raise AssertionError(tokens)


def _operand(tokens: list[bytes]) -> list[bytes]:
    """Skip a comparison that is not understood, up to what ends it."""
    depth = 0
    for i, token in enumerate(tokens):
        if token == b"(":
            depth += 1
        elif token == b")":
            if not depth:
                return tokens[i:]
            depth -= 1
        elif not depth and token in (b"&&", b"||"):
            return tokens[i:]
    return []


def _flag(name: bytes) -> bool:
    return name in _DEFINED_ON_HIP and not name.endswith(b"_VERSION")


def _known(name: bytes, hip: bool, told: bool) -> bool | None:
    if name in _DEFINED_ON_HIP:
        return hip
    if name in _DEFINED_BY_NVCC and hip and told:
        return False
    return False if name in _NEVER_ON_HIP else None


def _else(before: bool | None, here: bool | None) -> bool | None:
    if here is False:
        return False
    return here if before is False else None


def _outermost(spans: list[Span]) -> tuple[Span, ...]:
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)


def within(offset: int, spans: tuple[Span, ...]) -> bool:
    """Say whether `offset` lies in one of `spans`, which are sorted and do not overlap."""
    i = bisect_right(spans, offset, key=lambda span: span.start) - 1
    return i >= 0 and offset < spans[i].end


def _part_of_word(text: bytes, offset: int) -> bool:
    if not 0 <= offset < len(text):
        return False
    byte = text[offset]
    # 0-9 A-Z _ a-z, and any byte of a longer UTF-8 character, which an identifier may have.
    return 48 <= byte <= 57 or 65 <= byte <= 90 or byte == 95 or 97 <= byte <= 122 or byte >= 128


_parsers: dict[str, Any] = {}


def _parser(grammar: str) -> tree_sitter.Parser:
    # tree-sitter is loaded only when a file really has to be parsed: start-up is part of the product.
    if grammar not in _parsers:
        import tree_sitter

        language = import_module(f"tree_sitter_{grammar}").language()
        _parsers[grammar] = tree_sitter.Parser(tree_sitter.Language(language))
    parser: tree_sitter.Parser = _parsers[grammar]
    return parser

# SPDX-License-Identifier: Apache-2.0
"""Syntax trees of C++, by tree-sitter, from a form of the text that its grammars parse correctly."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hipport.core.edits import Span
from hipport.core.source import Source
from hipport.core.tables import one_of
from hipport.syntax.cuda_names import VARIABLE
from hipport.syntax.vocabulary import WORDS

if TYPE_CHECKING:
    import tree_sitter


_ENDS_TYPE = bytes(byte in b"*&>" or WORDS[byte] != 0x20 for byte in range(256))
_IN_NAME = bytes(byte == 0x3A or WORDS[byte] != 0x20 for byte in range(256))

# The head of a statement that contains another; a bracket, and pragmas after it.
_HEAD = re.compile(rb"\b(?:for|while|if)\s*(?:constexpr\s*)?\(")
# `<`, up to a `>` that could end template arguments, before text that could follow these or be an operand.
_LESS = re.compile(
    rb"<(?<!<<)(?![<=])(?P<between>(?:->|[^<>;{}])*)>(?:>(?![>=])\s*(?P<shift>[\w(])|\s*(?P<next>[-(*&:{]))"
)
_NAME_BEFORE = re.compile(rb"(?:[A-Za-z_]\w*\s*(?:\.|->)\s*)*[A-Za-z_]\w*\s*\Z")
_INDEX = re.compile(VARIABLE + rb"\s*\.\s*[xyz]")
_PARTS = re.compile(rb"\.|->")
# After a name that is assigned; after a parameter with its type before it; after and before the name of a macro.
_GIVEN = re.compile(rb"\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")
_LISTED = re.compile(rb"\s*[,)]")
_APART = frozenset((b" ", b"\t", b"\n", b"\r", b"\f", b"\v", b"*", b"&"))
_DEFINED = re.compile(rb"[ \t]+\S")
# A macro before the type of a declaration: `SHARED int n;`. Apart from types, only macros look like this.
_BEFORE_TYPE = re.compile(
    rb"\b(?P<macro>[A-Z][A-Z0-9_]+)\s+(?:(?:const|volatile|unsigned|signed|static)\s+)*"
    rb"(?!(?:const|volatile|static|__\w+)\b)[A-Za-z_][\w:]*(?:<[^;<>(){}]*>)?(?:\s+|\s*[*&]+\s*)[A-Za-z_]\w*"
    rb"\s*[;=,\[]"
)
# Two macros or more before a function: `HD INLINE T sum(T x)`. One is read as the type, and changes nothing else.
_BEFORE_FUNCTION = re.compile(
    rb"\b(?P<macros>[A-Z][A-Z0-9_]+(?:\s{1,80}[A-Z][A-Z0-9_]+){1,5})(?=\s{1,80}(?:~|operator\b|"
    rb"(?!(?:return|else|case|goto|throw|new)\b)[A-Za-z_][\w:]*(?:<[^;(){}]{0,300}>)?[\s*&])"
    rb"[^;(){}=\[\]#,\"']{0,300}(?:\(\s{0,80}\)\s{0,80})?\()"
)
_ALONE = re.compile(rb"\r(?!\n)")
# The grammar takes a slash at the end of a directive as a splice.
_BLANK = b" \t\f\v\r\n/"
# A directive that only comments may follow.
_WHOLE = re.compile(
    rb"#[ \t]*(?:(?:endif|else)\b|(?:ifdef|ifndef)[\s\\]+\w+|include[ \t]*(?:<[^<>\r\n]*>|\"[^\"\r\n]*\"))"
)
_LINE_END = re.compile(rb"\r\n|\n|\r")
# In code, where the contents of literals are blank.
_LITERAL = re.compile(rb"\"[ \r\n]*\"|'[ \r\n]*'")
_UNENDED = re.compile(
    rb"^[ \t]*[A-Z][A-Z0-9_]*[ \t]*\([^();{}\r\n]*(?:\([^();{}\r\n]*\)[^();{}\r\n]*)*\)[ \t]*\r?\n"
    rb"(?P<blank>[ \t])[ \t]*\([ \t]*void[ \t]*\)",
    re.MULTILINE,
)
# `typename` in front of a type that makes an object in an expression: `typename T::Scan(storage).Sum(x)`. Types of
# pointers and references to functions and arrays, `typename T::Item (&items)[4]`, are declarations.
_ARGUMENTS = rb"(?:<[^;<>(){}]*(?:<[^;<>(){}]*>[^;<>(){}]*)*>)?"
_MAKES = re.compile(
    rb"\b(?P<word>typename)(?=\s+(?:::\s*)?(?:[A-Za-z_]\w*\s*%b\s*::\s*(?:template\s+)?)+[A-Za-z_]\w*\s*%b\s*(?:\{|\((?!\s*[*&])))"
    % (_ARGUMENTS, _ARGUMENTS)
)
# `#if … if (x) { … } else #endif { … }`: a condition of the preprocessor that contains a part of a statement.
_ELSE_OUTSIDE = re.compile(rb"\belse\s*(?P<end>#[ \t]*endif)\b")
BEGINS = re.compile(rb"#[ \t]*if")
BRANCHES = re.compile(rb"#[ \t]*el")
ENDS_BRANCHES = re.compile(rb"#[ \t]*endif\b")
# A macro for a pragma in front of a loop: `PRAGMA_UNROLL for (…)`.
_PRAGMA = re.compile(
    rb"\b(?P<word>(?=\w*(?:PRAGMA|UNROLL))[A-Z_][A-Z0-9_]*(?:[ \t]*\([\w ]*\))?)(?=\s+(?:for|while|do)\b)"
)
# `float &__restrict__ sum`
_RESTRICTED = re.compile(rb"&\s*(?P<word>__restrict(?:__)?)\b")
# Specifiers with arguments that the grammar does not know, where a compiler takes them; they decide no structure.
_SPECIFIERS = frozenset(
    b"__align__ __builtin_align__ __maxnreg__ __cluster_dims__ __block_size__ __declspec _Pragma __attribute__".split()
)
# `(n * (m))` in an expression: the grammar takes it for a type in `(n * (m)) - 1`, a function that returns a pointer.
_PRODUCT = re.compile(rb"\(\s*[A-Za-z_][\w:]*\s*(?P<sign>&&|[*&])(?:\s*[*&])*\s*(?=\()")
_BEFORE_VALUE = re.compile(rb"\b(?:return|case)\Z|[^\w\s]\Z|\A\Z")
_OPERAND_OR_SIGN = re.compile(rb"\s*\)\s*[*&+-]")
# Between the captures of a lambda and its parameters.
_IN_LAMBDA = one_of("__host__ __device__ __global__ __forceinline__ __noinline__").encode()
_LAMBDA = re.compile(rb"\](?P<space>\s*(?:" + _IN_LAMBDA + rb"\s*)+)(?=[({])")
_SPACES = frozenset((b"__host__", b"__device__"))
# Before an attribute behind a name that is declared.
_DECLARED = re.compile(rb"[\w\]]\s*\Z")
_BEHIND_NAME = re.compile(rb"\s*[=;,\[{]")
_PRAGMAS_IN = re.compile(rb"\)((?:\s*?[\r\n][ \t]*#[ \t]*pragma\b(?!\s+omp\b)[^\r\n]*)+)")


class Lexed(Source):
    """C++ whose code is known: the parser's input is made from it."""

    @property
    def grammar(self) -> str:
        """The tree-sitter grammar that parses the text."""
        raise NotImplementedError

    @property
    def code(self) -> bytes:
        """The text with comments, literals and similar tokens blanked."""
        raise NotImplementedError

    @property
    def words(self) -> AbstractSet[bytes]:
        """The words of the code."""
        raise NotImplementedError

    @property
    def long_comments(self) -> Sequence[Span]:
        """The comments that extend over a line end."""
        raise NotImplementedError

    def closing(self, offset: int, limit: int | None = None) -> int | None:
        """Return the partner of the bracket at `offset`."""
        raise NotImplementedError

    def directive(self, offset: int) -> Span | None:
        """Return the directive that contains `offset`."""
        raise NotImplementedError

    @property
    def directives(self) -> Sequence[Span]:
        """The preprocessor directives."""
        raise NotImplementedError


def parsed_tree(source: Lexed, before: Lexed, tree: tree_sitter.Tree | None) -> tree_sitter.Tree:
    """Return the tree of a source; `tree` is that of `before`, a text that edits turned into `source`."""
    parser = _parser(source.grammar)
    if tree is None or _ALONE.search(source.text) or _ALONE.search(before.text):
        return parser.parse(text_to_parse(source))
    steps: list[Source] = []
    step: Source = source
    while step is not before:
        steps.append(step)
        assert step.before is not None
        step = step.before
    # Code outside the edits must be unchanged, because the parser is told only about the edits.
    if not all(step.before is not None and step.before.reads_the_same(step) for step in steps):
        return parser.parse(text_to_parse(source))
    tree = tree.copy()
    for step in reversed(steps):
        _edit(tree, step)
    return parser.parse(text_to_parse(source), tree)


def tree_of(source: Lexed, text: bytes) -> tree_sitter.Tree:
    """Return the tree of `text`, a form of a source of the same length."""
    return _parser(source.grammar).parse(text)


def text_to_parse(source: Lexed) -> bytes:
    """Return the text for the parser: without comments, and with constructs replaced that the grammar misreads.

    A comment is a node of its own to the grammar, beside arguments, operands and statements, and changes which errors
    it finds. To a compiler it is a blank.

    Pragmas between the head of a loop or an `if` and its body are removed: the grammar would take the head for a
    statement without a body. Macros before the type of a declaration or a function are removed: it would take the type
    for the name. `typename` before `T::Scan(storage).Sum(x)`, `__restrict__` of a reference, macros for pragmas before
    a loop, and the directives around a part of a statement that ends in `else` are removed, too. A macro on a line of
    its own, `STEP(2)`, before `(void)f();` gets a semicolon: the grammar would read a call of its result. Specifiers
    such as `__align__(16)` and `_Pragma("unroll")`, and the `__device__` of a lambda, are removed, because it does not
    know them there. In `i < n >> 1` and `i < n && j > (k)`, which it would take for templates, `<` becomes `>`: the
    operator is read from the text. So it is in `(n * (m)) - 1` and `(n & (m)) & 1`, which it would take for casts: no
    pass concludes anything from the `^` that it gets there. A lone carriage return, which ends no line for the grammar,
    becomes a line feed.
    """
    interrupted = {match.start(): Span(*match.span(1)) for match in _PRAGMAS_IN.finditer(source.code)}
    unended = [match.start("blank") for match in _UNENDED.finditer(source.code)] if b"void" in source.words else []
    compared, products = list(_compared(source)), list(_products(source))
    removed = [*_before_types(source), *_specifiers(source), *_unknown(source), *_around_parts(source)]
    if not (interrupted or unended or compared or products or removed):
        return _without_comments(source)
    text = bytearray(_without_comments(source))
    for span in removed:
        text[span.start : span.end] = re.sub(rb"[^\r\n]", b" ", text[span.start : span.end])
    for place in compared:
        text[place] = 0x3E  # `>`
    for span in products:
        text[span.start : span.end] = b"^" if len(span) == 1 else b">="
    for place in unended:
        text[place] = 0x3B  # `;`
    for head in _HEAD.finditer(source.code):
        closing = source.closing(head.end() - 1)
        if closing is not None and (pragmas := interrupted.get(closing)) is not None:
            piece = bytes(text[pragmas.start : pragmas.end])
            text[pragmas.start : pragmas.end] = re.sub(rb"[^\r\n]", b" ", piece)
    return bytes(text)


def _without_comments(source: Lexed) -> bytes:
    """The code with its literals; a comment that continues a directive on the next line becomes a splice.

    Blanks at the end of a directive move behind the line end: after `#define NOTHING // a remark`, the grammar would
    take the next line for the value. Text that compilers ignore with a warning is blanked, such as the name in `#endif
    GUARD_H`.
    """
    code, text = source.code, source.text
    pieces: list[bytes] = []
    done = 0
    for match in _LITERAL.finditer(code):
        if match.end() - match.start() > 2:
            pieces += (code[done : match.start()], text[match.start() : match.end()])
            done = match.end()
    found = b"".join([*pieces, code[done:]])
    if spliced := [end for comment in source.long_comments for end in _ends_in(source, comment)]:
        changed = bytearray(found)
        for end in spliced:
            changed[end - 1 : end] = b"\\"
        found = bytes(changed)
    found = _ALONE.sub(b"\n", found)
    tails = [(tail, each.end) for each in source.directives if (tail := _tail(found, each)) < each.end]
    if not tails:
        return found
    changed = bytearray(found)
    for start, last in tails:
        end = last + (2 if found.startswith(b"\r\n", last) else found.startswith(b"\n", last))
        ends = found.count(b"\n", start, end)
        changed[start:end] = b"\n" * ends + b" " * (end - start - ends)
    return bytes(changed)


def _tail(code: bytes, directive: Span) -> int:
    """Return where the contents of a directive end."""
    whole = _WHOLE.match(code, directive.start, directive.end)
    if whole is not None:
        return whole.end()
    end = directive.end
    while code[end - 1] in _BLANK:
        end -= 1
        if code[end] in b"\r\n":
            # After a backslash, perhaps with blanks between.
            while code[end - 1] in b" \t\f\v\r":
                end -= 1
            end -= code[end - 1] == 0x5C
    return end


def _ends_in(source: Lexed, comment: Span) -> Iterator[int]:
    """Yield the line ends inside a comment that belongs to a directive."""
    if source.directive(comment.start) is not None:
        yield from (match.start() for match in _LINE_END.finditer(source.text, comment.start, comment.end))


def _before_types(source: Lexed) -> Iterator[Span]:
    """Yield the macros before the types of declarations, and before functions."""
    code = source.code
    for match in _BEFORE_TYPE.finditer(code):
        last = skipped(code, match.start())
        if is_end(source, last, b";{}"):
            yield Span(*match.span("macro"))
    for match in _BEFORE_FUNCTION.finditer(code):
        # After a template's parameters, and after `public:`.
        if source.directive(match.start()) is None and is_end(source, skipped(code, match.start()), b";{}>:"):
            yield Span(*match.span("macros"))


def is_end(source: Lexed, last: int, ends: bytes) -> bool:
    """Return whether a declaration may begin after the text that ends at `last`."""
    if not last or source.code[last - 1] in ends:
        return True
    directive = source.directive(last - 1)
    # A comment may follow the directive.
    return directive is not None and not source.code[last : directive.end].strip()


def _around_parts(source: Lexed) -> Iterator[Span]:
    """Yield the directives around a part of a statement that ends in `else`.

    Without them it is read as if the part were always there: the statement after it then seems to be under a condition
    that it may not have. Nothing conditional seems unconditional.
    """
    ends = {match.start("end") for match in _ELSE_OUTSIDE.finditer(source.code)} if b"endif" in source.words else set()
    opened: list[tuple[Span, bool]] = []
    for each in source.directives if ends else ():
        if BEGINS.match(source.code, each.start):
            opened.append((each, False))
        elif opened and BRANCHES.match(source.code, each.start):
            opened[-1] = (opened[-1][0], True)
        elif opened and ENDS_BRANCHES.match(source.code, each.start):
            first, has_branches = opened.pop()
            if each.start in ends and not has_branches:
                yield from (first, each)


def _unknown(source: Lexed) -> Iterator[Span]:
    """Yield the words that the grammar does not accept where they stand."""
    code, words = source.code, source.words
    found: list[re.Match[bytes]] = []
    if b"typename" in words:
        found += _MAKES.finditer(code)
    if b"__restrict__" in words or b"__restrict" in words:
        found += _RESTRICTED.finditer(code)
    if b"PRAGMA" in code or b"UNROLL" in code:
        found += _PRAGMA.finditer(code)
    for match in found:
        # The grammar reads a directive as plain text; one that ends in blanks would take in the next line.
        if source.directive(match.start("word")) is None:
            yield Span(*match.span("word"))


def _specifiers(source: Lexed) -> Iterator[Span]:
    """Yield the specifiers that the grammar does not accept where they stand."""
    code = source.code
    if not _SPACES.isdisjoint(source.words):
        yield from (Span(*match.span("space")) for match in _LAMBDA.finditer(code))
    for word in sorted(_SPECIFIERS & source.words):
        for match in re.finditer(rb"\b%s\s*\(" % word, code):
            closing = source.closing(match.end() - 1)
            if closing is None or source.directive(match.start()) is not None:
                continue
            # The grammar knows attributes before declarators.
            if word == b"__attribute__" and not (
                _DECLARED.search(code, max(0, match.start() - 80), match.start())
                and _BEHIND_NAME.match(code, closing + 1)
            ):
                continue
            yield Span(match.start(), closing + 1)


def _compared(source: Lexed) -> Iterator[int]:
    """Yield each `<` that compares, but that the grammar would take for the beginning of template arguments."""
    code = source.code
    values: dict[bytes, bool] = {}
    for match in _LESS.finditer(code):
        between, shift = match["between"], match["shift"]
        joined = b"&&" in between or b"||" in between
        if (shift is None and not joined) or not _balanced(between):
            continue
        name = _NAME_BEFORE.search(code, max(0, match.start() - 80), match.start())
        if name is None:
            continue
        if shift is not None and shift.isdigit():
            yield match.start()
            continue
        # `map<int, pair<int, int>> x`
        if shift is not None and code[max(0, name.start() - 8) : name.start()].rstrip()[-1:] in (b"<", b",", b":"):
            continue
        last = _PARTS.split(name.group())[-1].strip()
        if last not in values:
            values[last] = _is_value(code, last)
        if values[last] or _INDEX.match(name.group()):
            yield match.start()


def _products(source: Lexed) -> Iterator[Span]:
    """Yield the operators of products, and of their like, that the grammar would take for types in casts."""
    code = source.code
    for match in _PRODUCT.finditer(code):
        closing = source.closing(match.end())
        if closing is None or not _OPERAND_OR_SIGN.match(code, closing + 1):
            continue
        before = skipped(code, match.start())
        if _BEFORE_VALUE.search(code, max(0, before - 8), before):
            yield Span(*match.span("sign"))


def _is_value(code: bytes, name: bytes) -> bool:
    """Whether the file assigns to something of this name, or has a parameter of this name: then it is no template."""
    start = code.find(name)
    while start >= 0:
        end, last = start + len(name), code[start - 1 : start]
        if _GIVEN.match(code, end) and not (last and _IN_NAME[last[0]]):
            return True
        # `float *name,`
        if last in _APART and _LISTED.match(code, end):
            before = skipped(code, start - 1)
            if before and _ENDS_TYPE[code[before - 1]]:
                return True
        if last in (b" ", b"\t") and _DEFINED.match(code, end):
            word = skipped(code, start)
            if code.endswith(b"define", 0, word) and code.endswith(b"#", 0, skipped(code, word - 6)):
                return True
        start = code.find(name, start + 1)
    return False


def _edit(tree: tree_sitter.Tree, source: Source) -> None:
    """Tell the tree of the text before `source` about the edits between them."""
    assert source.before is not None
    # A parser counts only line feeds.
    ends = [-1, *(match.start() for match in re.finditer(rb"\n", source.before.text))]
    for edit in reversed(source.edits):
        start, end = edit.span.start, edit.span.end
        row, last = bisect_left(ends, start) - 1, bisect_left(ends, end) - 1
        column, lines = start - ends[row] - 1, edit.new.count(b"\n")
        width = len(edit.new) - edit.new.rfind(b"\n") - 1 + (0 if lines else column)
        tree.edit(
            start,
            end,
            start + len(edit.new),
            (row, column),
            (last, end - ends[last] - 1),
            (row + lines, width),
        )


_parsers: dict[str, Any] = {}


def skipped(code: bytes, offset: int) -> int:
    """Return where the white space before `offset` begins."""
    while offset > 0 and code[offset - 1] in b" \t\n\r\f\v":
        offset -= 1
    return offset


def _balanced(code: bytes) -> bool:
    depth = 0
    for byte in code:
        if byte in b"([":
            depth += 1
        elif byte in b")]":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _parser(grammar: str) -> tree_sitter.Parser:
    # tree-sitter is loaded only when a file has to be parsed, to keep the start fast.
    if grammar not in _parsers:
        import tree_sitter

        language = import_module(f"tree_sitter_{grammar}").language()
        _parsers[grammar] = tree_sitter.Parser(tree_sitter.Language(language))
    parser: tree_sitter.Parser = _parsers[grammar]
    return parser

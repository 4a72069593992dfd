# SPDX-License-Identifier: Apache-2.0
"""Python text and its concrete syntax tree, with spans that are checked against the bytes."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, cast

from hipport.core.edits import Span
from hipport.core.group import Group
from hipport.core.source import ANY_LINE_END, Source

if TYPE_CHECKING:
    import libcst
    from libcst.metadata import CodeSpan

_BRACKET = re.compile(rb"[()\[\]{}]")
_JOINED = re.compile(rb"\\(?:\r\n|\n|\r)\Z")
_EMPTY = re.compile(r"(?:(?<=[\r\n\f])|\A)\\(?:\r\n|\n|\r)")
_REST = re.compile(rb"(?:[^\\\r\n#]|\\(?:\r\n|[\s\S]|\Z))*(?:#[^\r\n]*)?")
_INDENT = re.compile(rb"(?<=[\r\n])[ \t\f]+")
_DEEPEST = 200  # CPython's own limit on brackets within brackets; libcst overflows the stack some way beyond
_LONGEST = 256  # parts of a chain of calls, subscripts and attributes; libcst's time grows with the square of it
_LINK = re.compile(rb"(?:\s|\\\r?\n)*(?:\.\s*\w+\s*)*")
_NAMES = re.compile(rb"(?:\.[A-Za-z_]\w*){%d}" % (_LONGEST + 1))


class Misplaced(ValueError):
    """The parser's span of a node is not where the node's text is."""


@dataclass(frozen=True)
class Python(Source):
    """Python source text."""

    group: ClassVar[Group] = Group.PYTHON
    line_end = ANY_LINE_END
    parsed = ("module", "_placed", "_offsets", "errors")

    @classmethod
    def prepare(cls) -> None:
        """Load libcst, which takes longer than parsing a dozen files."""
        import libcst.metadata.span_provider  # noqa: F401

    @cached_property
    def module(self) -> libcst.Module | None:
        """The syntax tree, or None if libcst cannot parse the text."""
        import libcst

        if _too_deep(self.text):
            return None
        try:
            return libcst.parse_module(self.text)
        # A wrong coding line is a SyntaxError; libcst's own ParserSyntaxError is not a subclass of it.
        except (libcst.ParserSyntaxError, SyntaxError, UnicodeDecodeError, LookupError, RecursionError):
            return None

    @cached_property
    def _placed(self) -> tuple[str, Mapping[libcst.CSTNode, CodeSpan]]:
        """The tree's code, and the places of nodes in its UTF-8 bytes. Only files with findings need it."""
        from libcst.metadata import ByteSpanPositionProvider
        from libcst.metadata.span_provider import SpanProvidingCodegenState, byte_length_in_utf8

        module = self.module
        assert module is not None
        # Like ByteSpanPositionProvider, but without a MetadataWrapper, which walks through the tree once more. It also
        # returns the generated code, which `Module.code` would generate again.
        positions = ByteSpanPositionProvider()
        state = SpanProvidingCodegenState(
            default_indent=module.default_indent,
            default_newline=module.default_newline,
            provider=positions,
            get_length=byte_length_in_utf8,
        )
        module._codegen(state)
        return "".join(state.tokens), cast("Mapping[libcst.CSTNode, CodeSpan]", positions._computed)

    @property
    def _encoding(self) -> str:
        assert self.module is not None
        # The byte-order mark stands once at the start of a file; this codec would put it before every piece.
        return self.module.encoding.replace("utf-8-sig", "utf-8")

    @cached_property
    def _offsets(self) -> Sequence[int]:
        """The place in this text of each byte of the tree's UTF-8 code, which libcst counts.

        That code has no byte-order mark, no form feed at the start of a line, no empty line with a backslash at its
        end, and not always the last line end, and it is UTF-8 whatever the coding line says. Empty if the code cannot
        be aligned with the text.
        """
        code = self._placed[0]
        encoded = code.encode("utf-8")
        if encoded == self.text:
            return range(len(encoded) + 1)
        start = self.beginning
        characters = self.text[start:].decode(self._encoding)
        offsets: list[int] = []
        expected = iter(code)
        wanted, end = next(expected, ""), start
        joined = {match.start(): match.end() for match in _EMPTY.finditer(characters)}
        left_out = 0
        for place, character in enumerate(characters):
            width = len(character.encode(self._encoding))
            if place in joined and wanted != "\\":
                left_out = joined[place]
            if place < left_out:
                pass
            elif character == wanted:
                offsets += [start] * len(character.encode("utf-8"))
                wanted, end = next(expected, ""), start + width
            elif character != "\f" and (wanted or not character.isspace()):
                return ()
            start += width
        return (*offsets, end) if not wanted else ()

    def span(self, node: libcst.CSTNode) -> Span:
        """Return the place of `node`, without parentheses around it.

        Raises Misplaced unless the text there is exactly the node's own.
        """
        module = self.module
        if module is None:
            raise Misplaced(f"{self.path} was not parsed")
        where = self._placed[1].get(node)
        offsets = self._offsets
        if where is None or not offsets:
            raise Misplaced(f"{self.path}: the place of a {type(node).__name__} is not known")
        start = where.start
        end = start + where.length
        if end >= len(offsets):
            raise Misplaced(f"{self.path}: a {type(node).__name__} lies beyond the end")
        span = Span(offsets[start], offsets[end])
        # The span of an expression excludes the parentheses around it, but its code includes them.
        # (The `lpar` of an import is a single bracket, and belongs to its span.)
        around = getattr(node, "lpar", ())
        own = node.with_changes(lpar=(), rpar=()) if isinstance(around, Sequence) and around else node
        # The span also excludes the semicolon between two statements of a line.
        if hasattr(own, "semicolon"):
            import libcst

            own = own.with_changes(semicolon=libcst.MaybeSentinel.DEFAULT)
        code = module.code_for_node(own).strip().encode(self._encoding, "replace")
        if self[span] != code and _unindented(self[span]) != _unindented(code):
            raise Misplaced(f"{self.path}: a {type(node).__name__} is not at {span.start}")
        return span

    def line_start(self, offset: int) -> int:
        """Return where the line of `offset` starts, including the lines that a backslash joins to it.

        A comment ends with its line, so one after code is taken not to continue it.
        """
        start = super().line_start(offset)
        while joined := _JOINED.search(self.text, max(0, start - 3), start):
            before = super().line_start(joined.start())
            if self.text[before : joined.start()].lstrip().startswith(b"#"):
                break
            start = before
        return start

    def line_end_behind(self, statement: int) -> int:
        """Return where the line at the end of a statement ends, including the lines that a backslash joins to it."""
        rest = _REST.match(self.text, statement)
        assert rest is not None
        return rest.end()

    @cached_property
    def errors(self) -> int:
        """1 when the text does not parse, else 0.

        In Python before 3.12, expressions in an f-string cannot contain its quotes or backslashes; for many users such
        a text is not Python.
        """
        # Python's own parser is many times as fast, but it reads only the grammar of its own version.
        if compiles(self.text):
            return int(sys.version_info >= (3, 12) and _FORMATTED.search(self.text) is not None and self._is_newer)
        return int(self.module is None or self._is_newer)

    @property
    def _is_newer(self) -> bool:
        """Whether the expressions of an f-string contain what only Python 3.12 and later allows."""
        import libcst

        stack: list[libcst.CSTNode] = [self.module] if self.module is not None else []
        while stack:
            node = stack.pop()
            stack += children(node)
            if isinstance(node, libcst.FormattedString) and self.module is not None:
                for part in node.parts:
                    if isinstance(part, libcst.FormattedStringExpression):
                        code = self.module.code_for_node(part.expression)
                        if node.end in code or "\\" in code:
                            return True
        return False


_FORMATTED = re.compile(rb"(?i)\b(?:f|fr|rf)[\"']")
#: For each class of nodes, a function that returns the values of its fields.
_fields: dict[type, Callable[[object], tuple[Any, ...]]] = {}
#: For each class of nodes and set of fields that contain nodes, the order of these fields in the text.
_orders: dict[tuple[type, int], tuple[int, ...] | None] = {}
#: For each type of a field's value: a node (1), perhaps several (2), or something else (0).
_kinds: dict[type, int] = {list: 2, tuple: 2, str: 0}


def children(node: libcst.CSTNode) -> Sequence[libcst.CSTNode]:
    """Return `node.children` in the order of the text, in less than half the time.

    libcst finds the children of a node by rebuilding it. This function does that once for each class and set of fields
    that contain nodes; other nodes of that kind have the same order.
    """
    fields = _fields.get(type(node))
    if fields is None:
        # One more name, so that a class with one field gives a tuple, too.
        names = tuple(node.__dataclass_fields__)
        fields = _fields[type(node)] = attrgetter(*names, "__class__")
    values: list[Sequence[libcst.CSTNode]] = []
    present = 0
    bit = 1
    for value in fields(node):
        kind = _kinds.get(type(value))
        if kind is None:
            kind = _kind(value)
        if kind == 1:
            values.append((value,))
            present |= bit
        elif kind and value and _kind(value[0]) == 1:
            values.append(value)
            present |= bit
        bit += bit
    if not values:
        return ()
    key = (type(node), present)
    if key not in _orders:
        _orders[key] = _order(node.children, values)
    order = _orders[key]
    if order is None:
        return node.children
    return [child for i in order for child in values[i]]


def _kind(value: object) -> int:
    import libcst

    kind = _kinds.get(type(value))
    if kind is None:
        kind = _kinds[type(value)] = int(isinstance(value, libcst.CSTNode))
    return kind


def _order(inside: Sequence[libcst.CSTNode], values: Sequence[Sequence[libcst.CSTNode]]) -> tuple[int, ...] | None:
    """Return the order in which `values` make up `inside`, each in one piece; None if they do not."""
    order = []
    place = 0
    while place < len(inside):
        found = [i for i, value in enumerate(values) if value[0] is inside[place]]
        if len(found) != 1 or [*map(id, inside[place : place + len(values[found[0]])])] != [*map(id, values[found[0]])]:
            return None
        order.append(found[0])
        place += len(values[found[0]])
    return tuple(order) if len(order) == len(values) else None


def _unindented(code: bytes) -> bytes:
    """Return code as libcst generates it for a node by itself: without the indentation of its block."""
    return _INDENT.sub(b"", code)


def _too_deep(text: bytes) -> bool:
    """Say whether the text nests so deeply that parsing it might crash the process: libcst's parser is recursive.

    Python itself rejects such text with an error. Long text does not nest, but a chain of calls and subscripts does,
    `f()()…` or `f[a].b[a].b…`: each part contains the one before it.
    """
    depth = 0
    chains = [0]
    closed = -1
    for match in _BRACKET.finditer(text):
        start = match.start()
        if match.group() in b"([{":
            going_on = closed >= 0 and _LINK.fullmatch(text, closed, start) is not None
            chains[depth] = chains[depth] + 1 + text.count(b".", closed, start) if going_on else 0
            depth += 1
            if depth > _DEEPEST or chains[depth - 1] > _LONGEST:
                return True
            chains[depth:] = [0]
            closed = -1
        else:
            depth, closed = max(0, depth - 1), match.end()
    if _NAMES.search(text):
        return True
    return compiles(text) is None


def syntax_tree(text: bytes) -> ast.Module:
    """Parse a text with Python's own parser. Its warnings, such as that about "\\d", are suppressed.

    Raises SyntaxError, ValueError, RecursionError and MemoryError, as that parser does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def literal(node: libcst.SimpleString | libcst.Integer) -> str | bytes | int:
    """Return the value of a literal, without Python's warnings about its escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return node.evaluated_value


def compiles(text: bytes) -> bool | None:
    """Say whether the running Python parses the text; None if it nests too deeply."""
    try:
        syntax_tree(text)
    except (RecursionError, MemoryError):
        return None
    except (SyntaxError, ValueError):
        return False  # another version of Python may parse it: libcst decides
    return True

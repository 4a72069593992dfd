# SPDX-License-Identifier: Apache-2.0
"""Python text and its concrete syntax tree, with spans that are checked against the bytes."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hipport.source import Source, Span

if TYPE_CHECKING:
    import libcst

_MARK = b"\xef\xbb\xbf"
_BRACKET = re.compile(rb"[()\[\]{}]")
_INDENT = re.compile(rb"(?<=[\r\n])[ \t\f]+")
_DEEPEST = 200  # CPython's own limit on brackets within brackets; libcst overflows the stack some way beyond


class Misplaced(ValueError):
    """The parser's span of a node is not where the node's text is."""


@dataclass(frozen=True)
class Python(Source):
    """Python source text."""

    @cached_property
    def _parsed(self) -> tuple[libcst.Module, Mapping[libcst.CSTNode, object]] | None:
        import libcst
        from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

        if _too_deep(self.text):
            return None
        try:
            wrapper = MetadataWrapper(libcst.parse_module(self.text), unsafe_skip_copy=True)
            return wrapper.module, wrapper.resolve(ByteSpanPositionProvider)
        # An unknown or contradicted coding line is a SyntaxError; what libcst cannot parse is no subclass of it.
        except (libcst.ParserSyntaxError, SyntaxError, UnicodeDecodeError, LookupError, RecursionError):
            return None

    @property
    def module(self) -> libcst.Module | None:
        """The syntax tree, or None when the text is not Python that libcst can parse."""
        return self._parsed[0] if self._parsed else None

    @property
    def _encoding(self) -> str:
        assert self._parsed is not None
        # The mark stands once at the start of a file; this codec would put it before every piece.
        return self._parsed[0].encoding.replace("utf-8-sig", "utf-8")

    @cached_property
    def _offsets(self) -> Sequence[int]:
        """Where in this text each byte of the tree's code, as UTF-8, comes from: libcst counts those.

        The code has no byte-order mark, no form feed at the start of a line, not always the last line ending, and is
        in UTF-8 whatever the coding line says. Empty when the code cannot be laid over the text.
        """
        assert self._parsed is not None
        module = self._parsed[0]
        encoded = module.code.encode("utf-8")
        if encoded == self.text:
            return range(len(encoded) + 1)
        start = len(_MARK) if self.text.startswith(_MARK) else 0
        characters = self.text[start:].decode(self._encoding)
        offsets: list[int] = []
        expected = iter(module.code)
        wanted, end = next(expected, ""), start
        for character in characters:
            width = len(character.encode(self._encoding))
            if character == wanted:
                offsets += [start] * len(character.encode("utf-8"))
                wanted, end = next(expected, ""), start + width
            elif character != "\f" and (wanted or not character.isspace()):
                return ()
            start += width
        return (*offsets, end) if not wanted else ()

    def span(self, node: libcst.CSTNode) -> Span:
        """Return where `node` stands, without parentheses around it.

        Raises Misplaced unless exactly the node's own text is there.
        """
        if self._parsed is None:
            raise Misplaced(f"{self.path} was not parsed")
        module, positions = self._parsed
        where = positions.get(node)
        offsets = self._offsets
        if where is None or not offsets:
            raise Misplaced(f"{self.path}: it is not known where a {type(node).__name__} is")
        start = int(where.start)  # type: ignore[attr-defined]
        end = start + int(where.length)  # type: ignore[attr-defined]
        if end >= len(offsets):
            raise Misplaced(f"{self.path}: a {type(node).__name__} lies beyond the end")
        span = Span(offsets[start], offsets[end])
        # The parentheses around an expression are no part of its span, but of its code.
        # (An import's `lpar` is one bracket, and belongs to its span.)
        around = getattr(node, "lpar", ())
        own = node.with_changes(lpar=(), rpar=()) if isinstance(around, Sequence) and around else node
        code = module.code_for_node(own).strip().encode(self._encoding, "replace")
        if self[span] != code and _unindented(self[span]) != _unindented(code):
            raise Misplaced(f"{self.path}: a {type(node).__name__} is not at {span.start}")
        return span

    @cached_property
    def errors(self) -> int:
        """1 when the text does not parse, else 0."""
        # Python's own parser is many times as fast, but reads the Python of its own version only.
        return 0 if compiles(self.text) or self._parsed else 1


def _unindented(code: bytes) -> bytes:
    """Return code as libcst gives it for a node by itself: without the indentation of the block it stands in."""
    return _INDENT.sub(b"", code)


def _too_deep(text: bytes) -> bool:
    """Say whether the text nests so deeply that parsing it might end the process: libcst's parser is recursive.

    Python refuses such text itself, in its own time; what is merely long does not nest.
    """
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        depth = depth + 1 if match.group() in b"([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        return True
    return compiles(text) is None


def compiles(text: bytes) -> bool | None:
    """Say whether this Python's own parser reads the text; None where it nests too deeply for it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (RecursionError, MemoryError):
        return None
    except (SyntaxError, ValueError):
        return False  # another version of Python may read it: libcst decides
    return True

# SPDX-License-Identifier: Apache-2.0
"""Python text and its concrete syntax tree, with spans that are checked against the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hipport.source import Source, Span

if TYPE_CHECKING:
    import libcst


class Misplaced(ValueError):
    """The parser's span of a node is not where the node's text is."""


@dataclass(frozen=True)
class Python(Source):
    """Python source text."""

    @cached_property
    def _parsed(self) -> tuple[libcst.Module, Mapping[libcst.CSTNode, object]] | None:
        import libcst
        from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

        try:
            wrapper = MetadataWrapper(libcst.parse_module(self.text), unsafe_skip_copy=True)
        except (libcst.ParserSyntaxError, UnicodeDecodeError, LookupError, RecursionError):
            return None
        return wrapper.module, wrapper.resolve(ByteSpanPositionProvider)

    @property
    def module(self) -> libcst.Module | None:
        """The syntax tree, or None when the text is not Python that libcst can parse."""
        return self._parsed[0] if self._parsed else None

    def span(self, node: libcst.CSTNode) -> Span:
        """Return where `node` stands. Raises Misplaced unless exactly the node's own text is there.

        libcst's byte spans are off in files with a byte-order mark and in ones with a coding line other than UTF-8.
        """
        if self._parsed is None:
            raise Misplaced(f"{self.path} was not parsed")
        module, positions = self._parsed
        where = positions[node]
        start = int(where.start)  # type: ignore[attr-defined]
        for shift in (0, 3 if self.text.startswith(b"\xef\xbb\xbf") else 0):
            span = Span(start + shift, start + shift + int(where.length))  # type: ignore[attr-defined]
            if self[span] == module.code_for_node(node).strip().encode(module.encoding, "replace"):
                return span
        raise Misplaced(f"{self.path}: a {type(node).__name__} is not at {span.start}")

    @property
    def errors(self) -> int:
        """1 when the text does not parse, else 0."""
        return 0 if self._parsed else 1

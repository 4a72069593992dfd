# SPDX-License-Identifier: Apache-2.0
"""The state of a function whose warps are widened to the wavefront, which all steps share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hipport.analysis import constant_values
from hipport.analysis.functions import Function
from hipport.analysis.value_propagation import span
from hipport.core.edits import Span
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport_passes.device.wide_warps.masks import Masks, inner_nodes

if TYPE_CHECKING:
    from tree_sitter import Node

_FULL = re.compile(rb"0[xX][fF]{8}[uUlL]*|~\s*0[uU]?|-1|UINT_MAX|\(unsigned(?:\s+int)?\)\s*-1|(?:u?int32_t)\(-1\)")
NATIVE = b"hipport::native::"
SIZE = NATIVE + b"wave_size()"


@dataclass
class Work:
    """The result of widening a function: edits by file, or places that cannot be widened."""

    edits: dict[Cpp, dict[Span, bytes]] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def edit(self, source: Cpp, where: Span, new: bytes) -> None:
        self.edits.setdefault(source, {})[where] = new


class Notes:
    """The work on one function so far, and the places that are handled."""

    def __init__(self, function: Function, flow: Masks, project: Project) -> None:
        self.function = function
        self.flow = flow
        self.project = project
        self.code = function.source.code
        self.done = Work()
        self.settled: set[int] = set()

    def edit(self, where: Span, new: bytes) -> None:
        if not self.function.source.ported(where.start):
            self.done.edit(self.function.source, where, new)

    def settle(self, node: Node, new: bytes) -> None:
        self.settled.update(child.start_byte for child in (node, *inner_nodes(node)))
        self.edit(span(node), new)

    def refuse(self, node: Node, why: str) -> None:
        text = b" ".join(self.function.text(node).split()).decode("utf-8", "replace")
        self.settled.update(child.start_byte for child in (node, *inner_nodes(node)))
        self.refuse_at(node.start_byte, f"`{text[:60]}`" + (f", {why}" if why else ""))

    def refuse_at(self, offset: int, text: str) -> None:
        source = self.function.source
        line = source.line_read(offset)
        self.done.places.append(f"line {line}: {text}")

    def is_full(self, node: Node) -> bool:
        text = self.function.text(node)
        return _FULL.fullmatch(text) is not None or (
            node.type == "identifier"
            and self.function.locals.named(text, node.start_byte) is None
            and constant_values.value(self.function.source, self.project, text) in (0xFFFFFFFF, -1)
        )

    def uniformity(self, node: Node) -> int:
        return self.flow.kernels.uniformity(self.function, node)

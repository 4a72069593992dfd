# SPDX-License-Identifier: Apache-2.0
"""Put lines into a build script that change the options of PyTorch's hipify, for extensions built for ROCm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hipport.core.edits import Edit, Span
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Misplaced, Python, children

if TYPE_CHECKING:
    import libcst as cst

#: Modules that build with PyTorch, and so run hipify.
BUILDS = NAMES.compile(rb"\b(?&cuda_extension)\b|\b(?&cpp_extension)\b[^#]*?\b(?&loaders)\b", re.DOTALL)
_TORCH = NAMES.compile(r"\b(?&torch)\b")


def edit(source: Python, lines: str) -> tuple[Span, Edit] | None:
    """Return the import of PyTorch's build, and the edit that inserts `lines` after the imports.

    None if the script has no such import, or cannot be read.
    """
    try:
        place = _place(source)
    except Misplaced:
        return None
    if place is None:
        return None
    span, offset, indent = place
    if indent:
        lines = lines.replace("\n\n\n", "\n\n")
    text = "\n" + "".join(f"\n{line and indent + line}" for line in lines.splitlines())
    if re.match(rb"\r?\n" + indent.encode() + rb"\S", source.text[offset:]):
        text += "\n"
    return span, Edit(Span(offset, offset), text.encode().replace(b"\n", source.newline))


def _place(source: Python) -> tuple[Span, int, str] | None:
    """Return the import of PyTorch's build, the end of it and of the imports that follow, and their indentation."""
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script

    script = source.fact(Script)
    brings = [node for node in script.nodes if isinstance(node, (cst.Import, cst.ImportFrom))]
    brings = [node for node in brings if _TORCH.search(script.code(node))]
    if not brings:
        return None
    first = min(brings, key=lambda node: "cpp_extension" not in script.code(node))
    block, last = next(
        (above, child) for above, child in script.ancestors(first) if isinstance(above, (cst.Module, cst.IndentedBlock))
    )
    body: list[cst.CSTNode] = list(block.body)
    for following in body[body.index(last) + 1 :]:
        if not isinstance(following, cst.SimpleStatementLine):
            break
        if not isinstance(following.body[0], (cst.Import, cst.ImportFrom)):
            break
        last = following
    indents = [
        each.indent if each.indent is not None else script.module.default_indent
        for each, _ in script.ancestors(last)
        if isinstance(each, cst.IndentedBlock)
    ]
    return source.span(first), _end(source, last), "".join(reversed(indents))


def _end(source: Python, statement: cst.CSTNode) -> int:
    """Return the end of the line on which a statement ends."""
    import libcst as cst

    node = statement
    while not isinstance(node, cst.BaseSmallStatement):
        parts = (cst.BaseSmallStatement, cst.BaseStatement, cst.BaseSuite, cst.ExceptHandler, cst.Else, cst.Finally)
        node = [child for child in children(node) if isinstance(child, parts)][-1]
    return source.line_end_behind(source.span(node).end)

# SPDX-License-Identifier: Apache-2.0
"""Find code that still counts warps of 32 lanes when a function is widened: numbers, data, and launches.

A function that partly assumes 32 lanes and partly 64 is worse than one that assumes either. So every 32 without a known
reason prevents the widening; known reasons are only bits in words of data, sizes of shared arrays and mixing of bits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis import constant_values
from hipport.analysis.functions import Function, arguments, called_name
from hipport.analysis.uniform_values import BLOCK, WARP
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import launches
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.wide_warps.masks import SHUFFLE, Masks, inner_nodes, returned

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_THREAD = _WORDS.compile(rb"(?&thread_index)\s*\.\s*[xyz]")
_BLOCK = _WORDS.compile(rb"(?&block_index)\s*\.\s*[xyz]")
_GRID = _WORDS.compile(rb"(?&grid_size)\.[xyz]")
_MEMORY = _WORDS.compile(rb"(?&memory)|(?&textures)[123]D")
_DIVIDED = re.compile(rb"/\s*\(?\s*(\w+)|>>\s*(5)\b")
_WORD = re.compile(rb"[A-Za-z_]\w*|\d\w*")
_REAL = re.compile(rb"(?:3[12]\.0*|0?\.03125)[fF]?")
_WHOLE = _WORDS.compile(rb"(?:(?&dim3)\s*)?[({](.*)[)}]", re.S)
_SIZE = _WORDS.compile(rb"(?&block_size)\.[xyz]")
_THREADS = _WORDS.compile(rb"(?&of_threads)\.[xyz]")
_WRAPPED = ("parenthesized_expression", "cast_expression", "unary_expression")


def remaining(function: Function, flow: Masks, project: Project, settled: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield the code of the function that still counts warps of 32 lanes; `settled` are widened places."""
    found = _Remaining(function, flow, project, settled)
    for node in inner_nodes(function.body):
        if node.type in ("number_literal", "identifier"):
            yield from found.number(node)
        elif node.type == "field_expression":
            yield from found.member(node)
        elif node.type == "binary_expression":
            yield from found.warp_of_the_grid(node)
        elif node.type == "subscript_expression" and function.kernel:
            yield from found.entry(node)


class _Remaining:
    def __init__(self, function: Function, flow: Masks, project: Project, settled: Collection[int]) -> None:
        self.function = function
        self.flow = flow
        self.project = project
        self.settled = settled

    # -- numbers

    def number(self, node: Node) -> Iterator[tuple[int, str]]:
        text = self.function.text(node)
        if node.start_byte in self.settled or text == b"warpSize":
            return
        if node.type == "identifier" and self._counts_warps(node, text) and not self._sizes(node):
            yield node.start_byte, f"`{text.decode(errors='replace')}` counts warps of 32"
            return
        value = self.flow.number(self.function, node)
        if _REAL.fullmatch(text) and node.type == "number_literal":
            yield from self._real(node)
        if value not in (31, 32, 5):
            return
        whole = node
        while whole.parent is not None and whole.parent.type in _WRAPPED:
            whole = whole.parent
        if whole.start_byte in self.settled:
            return
        outer = whole.parent
        if value == 5 and not (outer is not None and _sign(outer) in ("<<", ">>") and _right(outer) == whole):
            return
        if outer is None or self._of_data(outer, whole) or self._sizes(node):
            return
        shown = outer.parent if outer.type == "argument_list" and outer.parent is not None else outer
        yield whole.start_byte, f"`{self._shown(shown)}`"

    def _real(self, node: Node) -> Iterator[tuple[int, str]]:
        """Report `sum / 32.f`, which may be the mean of a warp; `ceilf((blockDim.x + 31.f) / 32.f)`."""
        outer = node.parent
        divides = outer is not None and _sign(outer) in ("/", "/=") and _right(outer) == node
        whole = node
        while whole.parent is not None and whole.parent.type in (*_WRAPPED, "binary_expression"):
            whole = whole.parent
        if divides or b"0.03125" in self.function.text(node) or self._from(whole, _THREADS):
            yield node.start_byte, f"`{self._shown(outer if divides and outer is not None else whole)}`"

    def _counts_warps(self, node: Node, name: bytes) -> bool:
        """Return whether it is a constant that is defined as a quotient by 32."""
        if self.function.locals.named(name, node.start_byte) is not None:
            return False
        body = constant_values.definition(self.function.source, self.project, name)
        if body is None:
            return False
        return any(
            five or constant_values.value(self.function.source, self.project, by) == 32
            for by, five in _DIVIDED.findall(body)
        )

    def _sizes(self, node: Node) -> bool:
        """Return whether it is in the size of a shared array, which may have room for more."""
        outer = node.parent
        while outer is not None and outer != self.function.body:
            if outer.type == "array_declarator":
                declaration = outer.parent
                while declaration is not None and declaration.type != "declaration":
                    declaration = declaration.parent
                return declaration is not None and b"__shared__" in self.function.text(declaration)
            outer = outer.parent
        return False

    def _of_data(self, outer: Node, node: Node) -> bool:
        """Return whether `node` is about bits or words of data: `1 << (v & 31)`, `words[v >> 5]`, `h ^= h << 5`."""
        sign, left, right = _sign(outer), _left(outer), _right(outer)
        if left is None or right != node:
            return False
        if sign in ("<<", ">>") and self.flow.number(self.function, node) == 32:
            return True  # Half of 64 bits.
        if sign == "<<" and outer.parent is not None:
            whole = outer
            while whole.parent is not None and whole.parent.type == "parenthesized_expression":
                whole = whole.parent
            around = whole.parent
            if around is None:
                return False
            other = _left(around) if _right(around) == whole else _right(around)
            mixed = _sign(around) in ("^", "^=", "+", "+=", "-")
            return mixed and other is not None and self.function.text(other) == self.function.text(left)
        if sign not in ("&", "%", "/", ">>"):
            return False
        return self.flow.kernels.uniformity(self.function, left) < WARP and not self._from(left, _THREAD)

    # -- data

    def member(self, node: Node) -> Iterator[tuple[int, str]]:
        """Report `slab.keys`, which has 32 entries."""
        field = node.child_by_field_name("field")
        if field is None:
            return
        name = self.function.text(field)
        for declared in self.flow.members_named(name):
            size = declared.declarator.child_by_field_name("size") if declared.declarator is not None else None
            text = declared.source.code[size.start_byte : size.end_byte] if size is not None else b""
            if text and constant_values.value(declared.source, self.project, text) == 32:
                yield node.start_byte, f"`{self._shown(node)}` has 32 entries"
                return

    def warp_of_the_grid(self, node: Node) -> Iterator[tuple[int, str]]:
        """Report `(blockIdx.x * blockDim.x + threadIdx.x) / 32` and `blockIdx.x * 8 + warp`: the launch fixes their
        number.
        """
        left, right, sign = _left(node), _right(node), _sign(node)
        if left is None or right is None:
            return
        if sign in ("/", ">>"):
            by = self.flow.number(self.function, right)
            ours = by == (32 if sign == "/" else 5) and self._from(left, _BLOCK) and self._from(left, _THREAD)
        elif sign == "+":
            ours = any(
                self._from(one, _BLOCK) and not self._from(one, _THREAD) and self._is_warp(other)
                for one, other in ((left, right), (right, left))
            )
        else:
            return
        if ours and not self._strides(node):
            yield node.start_byte, f"`{self._shown(node)}`, a warp for each item of the grid"

    def entry(self, node: Node) -> Iterator[tuple[int, str]]:
        """Report `out[warp]` and `rows[warp * n + lane]` of the program's memory."""
        array, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        if array is None or indices is None or self.function.text(array) not in self.function.parameters:
            return
        stack = list(indices.named_children)
        while stack:
            part = stack.pop()
            if self._counts_block(part):
                yield node.start_byte, f"`{self._shown(node)}`, sized by the number of warps of a block"
                return
            if self._is_warp(part) and not any(self._goes_on(each, each.start_byte) for each in _names(part)):
                yield node.start_byte, f"`{self._shown(node)}`, an entry for each warp"
                return
            sign, right = _sign(part), _right(part)
            whole = self.flow.kernels.uniformity(self.function, indices)
            if sign in ("*", "<<") and right is not None and whole < WARP and right.start_byte in self.settled:
                continue
            if part.type not in ("subscript_expression", "call_expression"):
                stack += part.named_children

    def _counts_block(self, node: Node, depth: int = 3) -> bool:
        """Return whether it is the number of warps in a block, `blockDim.x / warpSize`, or computed from that."""
        left, right = _left(node), _right(node)
        if left is not None and right is not None and _sign(node) in ("/", ">>"):
            by = self.flow.number(self.function, right)
            sized = self._from(left, _SIZE) and not self._from(left, _THREAD)
            return sized and by == (32 if _sign(node) == "/" else 5)
        if node.type == "identifier" and depth:
            variable = self.function.locals.named(self.function.text(node), node.start_byte)
            definitions = self.function.locals.definitions.get(variable, []) if variable is not None else []
            # `row += warps` moves to the next item.
            definitions = [each for each in definitions if _sign(each.node) != "+="]
            return any(self._counts_block(value, depth - 1) for each in definitions for value in each.values)
        if node.type in (*_WRAPPED, "binary_expression"):
            return any(self._counts_block(child, depth) for child in node.named_children)
        return False

    def _is_warp(self, node: Node) -> bool:
        """Return whether it is, or is computed from, a warp's number in its block; not a warp's first thread."""
        while node.type == "parenthesized_expression" and node.named_children:
            node = node.named_children[0]
        right = _right(node)
        if _sign(node) in ("*", "<<") and right is not None and right.start_byte in self.settled:
            return False
        left = _left(node)
        if _sign(node) == "*" and left is not None and left.start_byte in self.settled:
            return False
        return WARP <= self.flow.kernels.uniformity(self.function, node) < BLOCK and self._from(node, _THREAD)

    def _strides(self, node: Node) -> bool:
        """Return whether it initializes a variable with a grid stride: then any number of warps reaches all items."""
        outer = node.parent
        while outer is not None and outer.type in (*_WRAPPED, "binary_expression"):
            outer = outer.parent
        if outer is None or outer.type not in ("init_declarator", "assignment_expression"):
            return False
        target = outer.child_by_field_name("declarator") or _left(outer)
        if target is None:
            return False
        return self._goes_on(target, outer.end_byte)

    def _goes_on(self, name: Node, offset: int) -> bool:
        variable = self.function.locals.named(self.function.text(name), offset)
        definitions = self.function.locals.definitions.get(variable, []) if variable is not None else []
        return any(
            _sign(each.node) == "+=" and any(self._from(value, _GRID) for value in each.values) for each in definitions
        )

    # -- where values come from

    def _from(self, node: Node, pattern: re.Pattern[bytes]) -> bool:
        """Return whether the value is computed from a match of `pattern`: by arithmetic, not through memory."""
        seen: set[tuple[Function, int]] = set()
        stack = [(self.function, node)]
        while stack:
            function, each = stack.pop()
            if (function, each.id) in seen:
                continue
            seen.add((function, each.id))
            if each.type == "subscript_expression":
                continue
            if each.type == "field_expression" and pattern.fullmatch(b"".join(function.text(each).split())):
                return True
            if each.type == "identifier":
                name = function.text(each)
                variable = function.locals.named(name, each.start_byte)
                if variable is None:
                    continue
                stack += [(function, v) for a in function.locals.definitions.get(variable, ()) for v in a.values]
                if name in function.parameters and not function.kernel:
                    at = function.parameters.index(name)
                    calls = self.flow.kernels.callers(function)
                    stack += [(c.function, c.arguments[at]) for c in calls if at < len(c.arguments)]
            elif each.type == "call_expression":
                name = called_name(each, function.source.code)
                if _MEMORY.match(name):
                    continue
                known = self.flow.kernels.definitions(function.source, name)
                stack += [(other, value) for other in known for value in returned(other.body)]
                given = arguments(each)
                if SHUFFLE.fullmatch(name):
                    given = given[1:2] if name.endswith(b"_sync") else given[:1]
                stack += [(function, value) for value in given] if not known else []
            else:
                stack += [(function, child) for child in each.named_children]
        return False

    def _shown(self, node: Node) -> str:
        return b" ".join(self.function.text(node).split()).decode("utf-8", "replace")[:60]


def _names(node: Node) -> Iterator[Node]:
    return (each for each in (node, *inner_nodes(node)) if each.type == "identifier")


def _sign(node: Node) -> str:
    sign = node.child_by_field_name("operator")
    return sign.type if sign is not None else ""


def _left(node: Node) -> Node | None:
    return node.child_by_field_name("left")


def _right(node: Node) -> Node | None:
    return node.child_by_field_name("right")


# ---- launches


def launches_that_count(kernel: Function, project: Project) -> Iterator[str]:
    """Yield the kernel's launches whose blocks are not whole wavefronts, or whose grid counts warps of 32."""
    for source in project.component(kernel.source):
        if not isinstance(source, Cpp) or source.is_hipport_header or kernel.name not in source.words:
            continue
        for launch in launches(source):
            name = re.split(rb"\s*<", launch.kernel)[0].rpartition(b"::")[2].strip()
            if name != kernel.name or len(launch.configuration) < 2:
                continue
            line = source.line_read(launch.brackets.start)
            grid, block = (source.code[each.start : each.end] for each in launch.configuration[:2])
            where = f"its launch in line {line}" + ("" if source is kernel.source else f" of {source.path.name}")
            sizes = [
                constant_values.value(source, project, each) for each in _sizes(source, block, launch.brackets.start)
            ]
            if sizes and sizes[0] is not None and sizes[0] % 64:
                shown = " x ".join(str(size) if size is not None else "?" for size in sizes)
                yield f"{where}: blocks of {shown} threads"
            elif any(_counts(source, project, each) for each in _sizes(source, grid, launch.brackets.start)):
                yield f"{where}: the grid `{b' '.join(grid.split()).decode('utf-8', 'replace')[:60]}` counts by 32"


def _sizes(source: Cpp, text: bytes, before: int) -> list[bytes]:
    """Return the dimensions of `text`: of `dim3(a, b)`, a number, or a variable that is set once."""
    text = text.strip()
    if re.fullmatch(rb"[A-Za-z_]\w*", text):
        name = re.escape(text)
        declared = _WORDS.compile(
            rb"\b(?:(?&dim3)|auto|int|unsigned|(?&size_type)|u?int32_t|(?&uint))\s+(?:[^;{}]*?,\s*)?"
            + name
            + rb"\s*([({=][^;]*);"
        )
        set_again = re.compile(rb"(?<![\w.])" + name + rb"\s*(?:\.\s*[xyz]\s*)?[-+*/]?=(?!=)")
        found = declared.findall(source.code, 0, before)
        if not found or len(set_again.findall(source.code)) > (1 if found[-1].startswith(b"=") else 0):
            return [text]
        return _sizes(source, _divided(found[-1])[0].lstrip(b"= \t\r\n"), before)
    whole = _WHOLE.fullmatch(text)
    return _divided(whole[1]) if whole is not None and _closes(text) else [text]


def _closes(text: bytes) -> bool:
    """Return whether the last bracket closes the first one."""
    depth = 0
    for at, byte in enumerate(text):
        depth += {40: 1, 123: 1, 41: -1, 125: -1}.get(byte, 0)
        if depth == 0 and byte in (41, 125):
            return at == len(text) - 1
    return False


def _divided(text: bytes) -> list[bytes]:
    parts, depth, start = [], 0, 0
    for at, byte in enumerate(text):
        depth += {40: 1, 91: 1, 123: 1, 41: -1, 93: -1, 125: -1}.get(byte, 0)
        if byte == 44 and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _counts(source: Cpp, project: Project, text: bytes) -> bool:
    if constant_values.value(source, project, text) is not None:
        return False
    return any(constant_values.value(source, project, word) in (31, 32) for word in _WORD.findall(text))

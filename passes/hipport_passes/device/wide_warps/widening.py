# SPDX-License-Identifier: Apache-2.0
"""Widen a function's warps to the wavefront: edits, or the places that prevent it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis import constant_values
from hipport.analysis.functions import arguments, called_name
from hipport.analysis.uniform_values import BLOCK, WARP
from hipport.analysis.value_propagation import Declared, result_of, span
from hipport.core.edits import Span
from hipport.core.tables import Words
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.wide_warps.lane_arithmetic import Arithmetic
from hipport_passes.device.wide_warps.masks import (
    SHUFFLE,
    helpers,
    inner_nodes,
    macro_bodies,
    macros_of_warps,
    returned,
)
from hipport_passes.device.wide_warps.remaining import remaining
from hipport_passes.device.wide_warps.widening_notes import NATIVE, SIZE, Work

if TYPE_CHECKING:
    from tree_sitter import Node

_OF_MASKS = {b"__popc": b"popc", b"__ffs": b"ffs"}
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
#: Code without a meaning on wavefronts of 64 lanes.
_REFUSED = _WORDS.compile(
    rb"\b(?P<asm>(?&gnu_asm))\b|\b(?&tile)\s*\([^;]*?,\s*(?:32|\w*[A-Za-z]\w*)\s*\)|\b(?&gathered)\b"
    rb"|\b(?&cubs)\s*::\s*(?&of_warps_in_cub)\w+|\b(?&macros_of_pytorch)\b|\b(?&hipport)::(?!(?&native)\b)\w+|\b(?&refused)\b"
)
_OF_WAVES = _WORDS.compile(rb"\b(?&wave_sizes)\b")
_TILE = _WORDS.compile(rb"\b(?&tiles)\s*<\s*([^<>;]+?)\s*(?:,[^<>;]*)?>")
_NUMBER_OR_NAME = re.compile(rb"(?<![\w.])(?:[A-Za-z_]\w*|\d\w*)(?![\w.])")
# So many levels of macros in macros are followed.
_MACROS_DEEP = 4
_BY_FIVE = re.compile(rb"(?:<<|>>)\s*5\b")
_WARP_SIZE = _WORDS.compile(rb"(?<![\w.>:])(?&warp_size)\b")
_LAST_BIT = _WORDS.compile(rb"31\s*-\s*(?&count_zeros)")
_ONE_SHUFFLE = _WORDS.compile(rb"(?&one_shuffle)(?&masked)?")
_INTEGERS = _WORDS.compile(rb"(?:unsigned|int|signed|(?&std)::|\s|u?int32_t|(?&uint))+")
#: Indices of threads in other rows, unless they number all threads of a block.
_ROWS = _WORDS.compile(
    rb"(?<!(?&block_size)\.x \* )(?<!(?&block_size)\.x\*)\b(?&thread_index)\s*\.\s*[yz]\b"
    rb"(?!\s*\*\s*\(?(?&block_size)\.x)(?!\s*\*\s*(?&block_size)\.y)"
)


class Widening(Arithmetic):
    """The work on one function."""

    def work(self) -> Work:
        function = self.function
        if NATIVE in function.text(function.body):
            return self.done
        self.texts()
        nodes = list(inner_nodes(function.body))
        for steps in (
            {"call_expression": self.call, "for_statement": self.loop},
            {
                "binary_expression": self.binary,
                "assignment_expression": self.assignment,
                "init_declarator": self.initialized,
                "declaration": self.array,
                "subscript_expression": self.piece,
            },
        ):
            for node in nodes:
                if (step := steps.get(node.type)) is not None:
                    step(node)
        for match in _WARP_SIZE.finditer(function.text(function.body)):
            start = function.body.start_byte + match.start()
            if start not in self.settled and function.locals.named(b"warpSize", start) is None:
                self.edit(Span(start, start + 8), SIZE)
        self.macros()
        self.types()
        for offset, text in remaining(function, self.flow, self.project, self.settled):
            self.refuse_at(offset, text)
        return self.done

    def texts(self) -> None:
        """Refuse all code without a meaning on wavefronts of 64 lanes."""
        function = self.function
        for match in _REFUSED.finditer(self.code, function.body.start_byte, function.body.end_byte):
            self.refuse_at(match.start(), match.group().decode("utf-8", "replace"))
        for match in _TILE.finditer(self.code, function.body.start_byte, function.body.end_byte):
            size = constant_values.value(function.source, self.project, match[1])
            if size is None or size >= 32:
                self.refuse_at(match.start(), match.group().decode("utf-8", "replace"))
        for match in _ROWS.finditer(self.code, function.body.start_byte, function.body.end_byte):
            self.refuse_at(match.start(), f"{match.group().decode(errors='replace')}: rows of threads as warps")

    def initialized(self, node: Node) -> None:
        self.given(node.child_by_field_name("declarator"), node.child_by_field_name("value"))
        self.variable(node)

    # -- calls

    def call(self, node: Node) -> None:
        name, given = called_name(node, self.code), arguments(node)
        callee = node.child_by_field_name("function")
        if callee is None:
            return
        helper = helpers().get(name)
        if helper is not None and callee.end_byte - len(name) in self.flow.library(self.function.source):
            self.edit(span(callee), NATIVE + helper)
            masked = name.endswith(b"_sync") or name == b"__syncwarp"
            if masked and given:
                self.mask(given[0])
            if SHUFFLE.fullmatch(name):
                self.shuffle(name, given[int(masked) :])
            return
        if name in _OF_MASKS and given and self.flow.carries(self.function, given[0]):
            self.edit(span(callee), NATIVE + _OF_MASKS[name])
            return
        if name == b"__clz" and given and self.flow.carries(self.function, given[0]):
            outer = node.parent
            left = outer.child_by_field_name("left") if outer is not None else None
            if outer is not None and left is not None and _LAST_BIT.match(self.function.text(outer)):
                self.settled.add(left.start_byte)
                self.edit(Span(outer.start_byte, callee.end_byte), NATIVE + b"last_lane")
                return
        known = self.flow.kernels.definitions(self.function.source, name)
        sizes = re.findall(rb"<([^<>]*)>", self.function.text(callee)) if known else []
        if known and any(constant_values.value(self.function.source, self.project, each) == 32 for each in sizes):
            self.refuse(node, "32 is passed on")
        for argument in given if known else ():
            if self.flow.number(self.function, argument) in (16, 31, 32):
                self.refuse(node, f"{self.function.text(argument).decode(errors='replace')} is passed on")
        for argument in given:
            if (
                not known
                and self.flow.carries(self.function, argument)
                and self.flow.conversion(self.function, node) is None
            ):
                self.refuse(node, f"a mask is passed to {name.decode()}")

    def mask(self, node: Node) -> None:
        """Widen an argument that is a mask of lanes."""
        if self.is_full(node):
            self.settled.update(child.start_byte for child in (node, *inner_nodes(node)))
            self.edit(span(node), NATIVE + b"full_mask()")
        elif not self.flow.carries(self.function, node):
            self.refuse(node, "a mask that names lanes by number")

    def shuffle(self, name: bytes, given: tuple[Node, ...]) -> None:
        """Widen the arguments of a shuffle after its mask: value, lane or distance, width."""
        if len(given) > 1:
            number = self.flow.number(self.function, given[1])
            by = not _ONE_SHUFFLE.fullmatch(name)
            if number == 31 and not by:
                self.settle(given[1], SIZE + b" - 1")
            elif by and number is not None and number >= 16:
                self.refuse(given[1], f"{name.decode()} by {number}: write the steps as a loop")
            elif by and number is None and not self.steps(given[1]):
                width = self.flow.number(self.function, given[2]) if len(given) > 2 else 32
                if width not in (2, 4, 8, 16):
                    self.refuse(given[1], "the range of shuffles")
        if len(given) > 2 and self.flow.number(self.function, given[2]) == 32:
            self.settle(given[2], SIZE)

    def steps(self, distance: Node) -> bool:
        """Return whether a `for` loop counts a distance, which `loop` handles, or it is a parameter of the function."""
        name = self.function.text(distance)
        if name in self.function.parameters:
            return True
        outer = distance.parent
        while outer is not None and outer != self.function.body:
            start = outer.child_by_field_name("initializer") if outer.type == "for_statement" else None
            if start is not None and re.search(rb"(?<!\w)" + re.escape(name) + rb"\s*=", self.function.text(start)):
                return True
            outer = outer.parent
        return False

    # -- loops

    def loop(self, node: Node) -> None:
        """Widen `for (o = 16; o; o /= 2)` and `for (o = 1; o < 32; o *= 2)` where a shuffle uses `o`."""
        start, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
        declarator = start.child_by_field_name("declarator") if start is not None else None
        target = declarator or start
        if target is None:
            return
        variable = target.child_by_field_name("declarator") or target.child_by_field_name("left")
        value = target.child_by_field_name("value") or target.child_by_field_name("right")
        if variable is None or value is None:
            return
        shuffles = list(self.shuffles_by(variable, node))
        if not shuffles:
            return
        limit = None
        if condition is not None and condition.type == "binary_expression":
            limit = condition.child_by_field_name("right")
        for each in (value, limit):
            known = each is None or self.flow.number(self.function, each) is not None
            if each is not None and not known and not _OF_WAVES.search(self.function.text(each)):
                # `kLanes / 2`, perhaps of a template's parameter.
                self.refuse(each, "the range of shuffles")
                return
        widths = {self.flow.number(self.function, given[2]) if len(given) > 2 else 32 for _, given in shuffles}
        if widths <= {2, 4, 8, 16}:
            return  # Parts of a warp, which stay unchanged.
        if widths != {32}:
            self.refuse(value, "the range of shuffles")
        else:
            self.bounds(value, condition, limit, all(by for by, _ in shuffles))

    def bounds(self, value: Node, condition: Node | None, limit: Node | None, by_distance: bool) -> None:
        """Widen the first and the last value of a loop over the distances of shuffles, or over the lanes."""
        start_at = self.flow.number(self.function, value)
        end_at = self.flow.number(self.function, limit) if limit is not None else None
        if not by_distance:
            # A loop over the lanes themselves.
            if end_at == 32 and start_at == 0:
                assert limit is not None
                self.settle(limit, SIZE)
            elif 16 in (start_at, end_at):
                self.refuse(condition or value, "some of the lanes by number")
        elif start_at == 16:
            self.settle(value, SIZE + b" / 2")
        elif limit is not None and end_at in (16, 32):
            sign = condition.child_by_field_name("operator") if condition is not None else None
            if end_at == 32:
                self.settle(limit, SIZE)
            elif sign is not None and sign.type == "<=":
                self.settle(limit, SIZE + b" / 2")

    def shuffles_by(self, variable: Node, loop: Node) -> Iterator[tuple[bool, tuple[Node, ...]]]:
        """Yield the shuffles in a loop by `variable`: whether it is a distance, and the operands.

        The operands are the value, the lane or distance, and the width.
        """
        name = re.compile(rb"(?<!\w)" + re.escape(self.function.text(variable)) + rb"(?!\w)")
        for call in inner_nodes(loop):
            called = called_name(call, self.code) if call.type == "call_expression" else b""
            if not SHUFFLE.fullmatch(called):
                continue
            given = arguments(call)[called.endswith(b"_sync") :]
            if len(given) > 1 and name.search(self.function.text(given[1])):
                yield _ONE_SHUFFLE.fullmatch(called) is None, given

    # -- variables and assignments

    def assignment(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return
        if sign.type == "+=" and self.flow.number(self.function, right) == 32 and left.type == "identifier":
            # A step over the work of a warp's lanes. A varying value is not certainly numbered by lane.
            if self.uniformity(left) < BLOCK:
                if self.of_a_lane(left, threads=True):
                    self.settle(right, SIZE)
                else:
                    self.refuse(node, "")
            return
        if sign.type == "+=" and (self.flow.number(self.function, right) or 0) > 32 and self.of_a_lane(left):
            self.refuse(node, "the work of a warp per step")
        elif sign.type in ("=", "|=", "&=", "^="):
            self.given(left, right)

    def of_a_lane(self, node: Node, depth: int = 3, *, threads: bool = False) -> bool:
        """Return whether it is computed from the number of a lane, or with `threads` of a thread: `lane * 4`."""
        for each in (node, *inner_nodes(node)):
            if each.type == "subscript_expression":
                return False
            if self.flow.is_lane(self.function, each) or (threads and self.flow.is_thread(self.function, each)):
                return True
            if each.type == "identifier" and depth:
                variable = self.function.locals.named(self.function.text(each), each.start_byte)
                definitions = self.function.locals.definitions.get(variable, []) if variable is not None else []
                if any(
                    self.of_a_lane(value, depth - 1, threads=threads) for one in definitions for value in one.values
                ):
                    return True
        return False

    def piece(self, node: Node) -> None:
        """Refuse `part[warp][lane * 4]`, in shared memory with room for 32 lanes."""
        array, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        while array is not None and array.type == "subscript_expression":
            array = array.child_by_field_name("argument")
        if array is None or indices is None or array.type != "identifier":
            return
        if self.function.locals.named(self.function.text(array), array.start_byte) not in self.function.locals.shared:
            return
        for each in inner_nodes(indices):
            left, sign = each.child_by_field_name("left"), each.child_by_field_name("operator")
            right = each.child_by_field_name("right")
            if left is None or right is None or sign is None or sign.type not in ("*", "<<"):
                continue
            if any(self.flow.is_lane(self.function, one) for one in (left, right)):
                self.refuse(node, "an element for each lane")
                return

    def variable(self, node: Node) -> None:
        """Widen `int size = 32;`, which is not a constant."""
        value = node.child_by_field_name("value")
        outer = node.parent
        if value is None or outer is None or value.start_byte in self.settled:
            return
        if self.flow.number(self.function, value) in (31, 32) and b"const" not in self.function.text(outer):
            self.refuse(node, "")

    def given(self, target: Node | None, value: Node | None) -> None:
        """Widen a number that is assigned to a mask."""
        if target is None or value is None or value.start_byte in self.settled:
            return
        node: Node | None = target
        while node is not None and node.type not in ("identifier", "field_expression"):
            node = node.child_by_field_name("argument") or node.child_by_field_name("declarator")
        if node is None or not self.carried(node):
            return
        if self.is_full(value):
            self.settle(value, NATIVE + b"full_mask()")
        elif not self.flow.carries(self.function, value) and self.flow.number(self.function, value) not in (0, 1):
            self.refuse(value, "a mask of 32 bits")

    def carried(self, node: Node) -> bool:
        name = self.function.text(node)
        variable = self.function.locals.named(name, node.start_byte) or self.function.locals.named(name, node.end_byte)
        if node.type == "identifier" and variable is not None:
            return variable in self.flow.variables.get(self.function, ())
        return self.flow.carries(self.function, node)

    # -- arrays

    def array(self, node: Node) -> None:
        """Give arrays of the block with an entry for each lane room for 64."""
        if b"__shared__" not in self.code[node.start_byte : node.end_byte].split(b"=", 1)[0]:
            return
        for declarator in node.children_by_field_name("declarator"):
            sizes: list[Node | None] = []
            inner: Node | None = declarator
            while inner is not None and inner.type == "array_declarator":
                size = inner.child_by_field_name("size")
                sizes.insert(0, size)
                inner = inner.child_by_field_name("declarator")
            if inner is None:
                continue
            name = self.function.text(inner)
            for indices in self.subscripts(name):
                for size, index in zip(sizes, indices, strict=False):
                    # `s[threadIdx.x]` of the threads of the first warp.
                    thread = self.flow.is_thread(self.function, index) and len(sizes) == 1
                    if size is not None and (thread or self.flow.is_lane(self.function, index)):
                        if self.flow.number(self.function, size) == 32:
                            self.settle(size, NATIVE + b"max_lanes")
                        elif (33 if thread else 0) <= (self.flow.number(self.function, size) or 64) < 64:
                            self.refuse(size, "an array with an entry for each lane")
                    elif (
                        size is not None
                        and size.type == "identifier"
                        and self.flow.number(self.function, size) is None
                        and self.uniformity(index) == WARP
                    ):
                        self.refuse(size, "the number of warps that the kernel is given")

    def subscripts(self, name: bytes) -> Iterator[list[Node]]:
        for node in inner_nodes(self.function.body):
            if node.type != "subscript_expression" or (node.parent and node.parent.type == "subscript_expression"):
                continue
            indices: list[Node] = []
            inner: Node | None = node
            while inner is not None and inner.type == "subscript_expression":
                given = inner.child_by_field_name("indices")
                indices = [*(given.named_children if given is not None else ()), *indices]
                inner = inner.child_by_field_name("argument")
            if inner is not None and self.function.text(inner) == name:
                yield indices

    # -- macros and types

    def macros(self) -> None:
        """Refuse macros that contain intrinsics, because their other users need them unchanged."""
        words = set(re.findall(rb"\w+", self.function.text(self.function.body)))
        for name in sorted(words & self.project.union_over(self.function.source, macros_of_warps)):
            self.done.places.append(f"{name.decode()} is a macro with intrinsics: make it a function")
        bodies: dict[bytes, list[bytes]] = {}
        for name, body in self.project.union_over(self.function.source, macro_bodies):
            bodies.setdefault(name, []).append(body)
        self.places_of_32(sorted(words & bodies.keys()), bodies)

    def places_of_32(self, names: Iterable[bytes], bodies: Mapping[bytes, list[bytes]]) -> None:
        """Refuse macros that are not constants and contain 32, `#define WARPS(n) (n / 32)`."""
        source = self.function.source

        def counts(name: bytes) -> bool:
            # Each macro once: one that names itself many times would take forever.
            reached, found = {name}, {name}
            for _ in range(_MACROS_DEEP):
                words: set[bytes] = set()
                for body in (body for each in found if known(each) is None for body in bodies[each]):
                    words.update(_NUMBER_OR_NAME.findall(body))
                    if _BY_FIVE.search(body):
                        return True
                if any(known(word) in (31, 32) for word in words):
                    return True
                found = (words & bodies.keys()) - reached
                reached |= found
            return False

        def known(word: bytes) -> int | None:
            return constant_values.value(source, self.project, word)

        for name in names:
            if counts(name):
                self.done.places.append(f"{name.decode()} is a macro that counts by 32: make it a function")

    def types(self) -> None:
        function, flow = self.function, self.flow
        for node in inner_nodes(function.node):
            if node.type == "optional_parameter_declaration":
                value = node.child_by_field_name("default_value")
                if value is not None and flow.number(function, value) in (16, 31, 32):
                    self.refuse(node, "")
            elif node == function.body:
                break
        # In the order of the source: reports must not depend on the order of a set.
        for variable in sorted(flow.variables.get(function, ()), key=lambda each: (each.start, each.name)):
            declared = flow.declared(function, variable)
            if declared is None:
                self.done.places.append(f"the type of {variable.name.decode()} is not known")
            elif variable.name in function.parameters and (
                function.kernel or (declared.declarator is not None and declared.declarator.type != "identifier")
            ):
                self.refuse(declared.declarator or declared.type, "a mask in the program's memory")
            else:
                self.widen(declared)
        if function.name in flow.results:
            declared = result_of(function)
            if declared is not None and any(flow.carries(function, value) for value in returned(function.body)):
                self.widen(declared)
        for name in sorted(flow.members):
            if re.search(rb"(?:\.|->)\s*" + re.escape(name) + rb"\b", function.text(function.body)):
                for declared in flow.members_named(name):
                    self.widen(declared)

    def widen(self, declared: Declared) -> None:
        text = declared.source.code[declared.type.start_byte : declared.type.end_byte]
        bits = self.flow.bits(declared)
        if bits in (0, 64) or text.startswith(NATIVE):
            return
        outer = declared.type.parent
        others = outer.children_by_field_name("declarator") if outer is not None else []
        alone = len(others) <= 1 or declared.source is not self.function.source or all(map(self.is_mask, others))
        if bits == 32 and alone and _INTEGERS.fullmatch(text):
            self.done.edit(declared.source, span(declared.type), NATIVE + b"lane_mask")
        else:
            line = declared.source.line_read(declared.type.start_byte)
            self.done.places.append(f"line {line}: the type {text.decode('utf-8', 'replace')} of a mask")

    def is_mask(self, declarator: Node) -> bool:
        node: Node | None = declarator
        while node is not None and node.type != "identifier":
            node = node.child_by_field_name("declarator")
        return node is not None and self.carried(node)

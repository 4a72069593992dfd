# SPDX-License-Identifier: Apache-2.0
"""Repair masks of lanes and warp sizes where a program mixes AMD's 64 lanes with CUDA's 32.

CUDA's own code does not need this: `warp_intrinsics` keeps its masks at 32 bits, and with them all their uses. Code
that a person began to port does. HIP's `__ballot` has 64 bits on every GPU; a variable, parameter, member or result of
32 bits, `__popc`, `__ffs` and a shift of `1` lose half of them. The ballot is replaced by that of a warp's 32 lanes,
which such code means, and so is its value wherever it flows. A full mask of 64 bits for an intrinsic of 32 lanes, and a
warp size that is 64 for HIP, become those of a warp. Shuffles over the wavefront get the width 32 in a function that
counts 32 lanes. A function that uses 64 lanes in other places is reported instead. Code that is consistently for HIP,
with 64 bits everywhere, stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis import constant_values, grounds
from hipport.analysis.functions import Function, arguments, called_name, function_at, nodes
from hipport.analysis.library_names import LibraryNames
from hipport.analysis.value_propagation import Flow, Kind, result_of
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.proof import Ground, Scope
from hipport.core.tables import Words, one_of
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import declarations, member_or_qualified
from hipport.syntax.preprocessor import exclusive
from hipport_passes.device.waves.branches import of_branches
from hipport_passes.device.waves.kinds import Wavefronts, hip_throughout
from hipport_passes.device.waves.pytorch_sizes import of_pytorch
from hipport_passes.device.waves.sizes import HELPERS, MASKED, OF_WARPS, of_hip
from hipport_passes.device.waves.split_sizes import of_roles

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(
    Path(__file__).with_suffix(".toml"),
    general=Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES),
)
_MASKED_NAMES = LibraryNames(MASKED)
#: Functions with 64 bits in HIP and 32 in CUDA: HIP's, and a macro of PyTorch for both.
_WIDE = re.compile(one_of(_WORDS["wide"]).encode())
_ALWAYS_WIDE = frozenset((b"WARP_BALLOT",))
_HANDED = ((re.compile(one_of(_WORDS["handed"]).encode()), 0),)
#: Functions that take 32 bits.
_OF_32_BITS = re.compile(one_of(_WORDS["of_32_bits"]).encode())
_FULL_64 = _WORDS.compile(
    rb"~\s*\(?\s*0[uU]?[lL]{1,2}[uU]?\s*\)?|0[xX][fF]{16}(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU])|-1[lL]{1,2}|(?&full_64)"
)
#: `\bconst` in a form that starts with a literal letter, which makes the search many times faster.
_CONST = rb"c(?<!\wc)onst(?:expr)?\b"
#: The numbers in these.
_WIDE_NUMBER = _WORDS.compile(rb"0[uU]?[lL]\w*|0[xX][fF]{16}\w*|1[lL]\w*|(?&full_64)\w*")
_FULL_DEFINED = _WORDS.compile(
    rb"(?:#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+\(?[ \t]*(?:\([ \t]*(?:unsigned long long|(?&uint64))[ \t]*\)[ \t]*)?|"
    + _CONST
    + rb"[\w\s:]*?\b(?P<constant>\w+)\s*(?:=|\{)\s*)(?P<value>"
    + _FULL_64.pattern
    + rb")"
)
#: Counts of 64 lanes, and a named size that may be 64.
_NATIVE = _WORDS.compile(
    rb"[&]\s*(?:0x3[fF]|63|32|0x20)[uU]?\b|>>\s*(?:32|6)\b|[%/]\s*64\b|\b1[uU]?[lL]{1,2}[uU]?\s*<<|"
    rb"\b(?:(?&lane_id)|(?&builtin_amd)(?&counts_lanes)\w+)\s*\(|[%/&]\s*\(*\s*(?P<size>(?!(?&warp_size))\w*(?i:(?&of_warp_size))\w*)"
)
#: Counts of 32 lanes.
_LOGICAL = re.compile(rb"[&]\s*(?:0x1[fF]|31)[uU]?\b|[%/]\s*32[uU]?\b|>>\s*5\b")
#: A branch for one wavefront size.
_ASKS_SIZE = re.compile(rb"\w\)?\s*(?:==|!=|>=?|<=?)\s*(?:32|64)[uU]?\b|\bsizeof\b")
#: Lanes counted by `warpSize`, which `warp_size` replaces by 32 unless all code is for wavefronts.
_BY_SIZE = _WORDS.compile(rb"[%]\s*(?&sizes)\b|[&]\s*\(\s*(?&sizes)\s*-\s*1")
#: HIP's shuffles, and PyTorch's for both, whose third argument is the width.
_SHUFFLES = re.compile(one_of(_WORDS["shuffles"]).encode())
#: All of these. A file without any has nothing to do with masks.
_OF_LANES = re.compile(b"|".join((MASKED.pattern, OF_WARPS, _WIDE.pattern, _SHUFFLES.pattern)))
_NARROW_SHIFT = re.compile(rb"\(*\s*-?\s*[12][uU]?\s*\)*")
_WORD = re.compile(rb"[A-Za-z_]\w*")


class _Cut(NamedTuple):
    """A place where a 64-bit mask is narrowed to 32 bits, and its receiver."""

    function: Function
    node: Node
    taker: str


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield findings of full masks, warp sizes, and 64-bit masks that are cut."""
    if source.is_hipport_header or not project.union_over(source, _concerned):
        return
    if source.matched(MASKED) or source.fact(_full_masks):
        yield from _full(source, project)
    known: list[Finding] = []
    for find_sizes in (of_hip, of_branches, of_roles):
        # Each of them may find a size that one before has found, or a part of its value.
        for each in find_sizes(source, project):
            if not any(each.span.start < other.span.end and other.span.start < each.span.end for other in known):
                known.append(each)
                yield each
    yield from of_pytorch(source, project)
    if source.matched(_WIDE):
        yield from _cut(source, project)
    if source.matched(_SHUFFLES):
        yield from _widths(source, project)


def _concerned(source: Cpp) -> frozenset[bool]:
    """Return whether the file relates to masks: the first test of all files."""
    ported = b"hipport" in source.words and HELPERS.search(source.code)
    return frozenset({True}) if ported or source.matched(_OF_LANES) else frozenset()


# ---- full masks


def _full(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find full masks of 64 bits that are passed to CUDA's intrinsics, and their definitions."""
    if source.begun_as_hip and hip_throughout(source, project):
        return  # There the intrinsics are for the whole wavefront.
    defined = project.union_over(source, _full_masks)
    only_masks = {name for name in defined if not project.union_over(source, _other_uses) & {name}}
    for span, _ in _MASKED_NAMES.uses(source, project):
        given = source.given(span.end)
        if given and (_FULL_64.fullmatch(source[given[0]]) or source[given[0]] in defined - only_masks):
            yield _full_mask(source, given[0], source[given[0]])
    for match in _FULL_DEFINED.finditer(source.code) if only_masks else ():
        name = match["macro"] or match["constant"]
        if name in only_masks and name in project.union_over(source, _mask_arguments):
            yield _full_mask(source, Span(*match.span("value")), match["value"])


def _full_mask(source: Cpp, span: Span, text: bytes) -> Finding:
    reason = f"CUDA's masks have 32 bits, all of which are set in {grounds.quoted(text)}"
    where = grounds.place(source, span.start)
    return Finding(
        span,
        "full",
        f"{text.decode(errors='replace')} → 0xffffffffu: CUDA's masks have 32 bits",
        (Edit(span, b"0xffffffffu"),),
        proof=(Ground("the mask names all lanes of a warp, and no others", Scope.WARP, reason, *where),),
    )


def _full_masks(source: Cpp) -> frozenset[bytes]:
    if not source.matched(_WIDE_NUMBER):
        return frozenset()
    return frozenset(match["macro"] or match["constant"] for match in _FULL_DEFINED.finditer(source.code))


def _mask_arguments(source: Cpp) -> frozenset[bytes]:
    """Return the names that are passed to CUDA's intrinsics as masks."""
    return frozenset(name for name, _ in _first_arguments(source))


def _first_arguments(source: Cpp) -> Iterator[tuple[bytes, int]]:
    for span, _ in source.names(MASKED):
        given = source.given(span.end)
        if given:
            yield source[given[0]], given[0].start


def _other_uses(source: Cpp) -> frozenset[bytes]:
    """Return the names that are used for other things than masks of CUDA's intrinsics, among all words of the file."""
    places = {start for _, start in _first_arguments(source)}
    places |= {
        start
        for match in _FULL_DEFINED.finditer(source.code)
        for start in (match.start("macro"), match.start("constant"))
    }
    return frozenset(match.group() for match in _WORD.finditer(source.code) if match.start() not in places)


# ---- shuffles


def _widths(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find shuffles over the wavefront in functions that count 32 lanes."""
    hip = source.begun_as_hip
    own_names = project.declared(source, _own_shuffles)
    wavefronts = project.component(source).fact(Wavefronts)
    for span, name in source.names(_SHUFFLES):
        if name in own_names or within(span.start, source.cuda_only) or source.directive(span.start):
            continue
        if not (name.startswith(b"WARP") or hip or within(span.start, source.hip_only)):
            continue
        given = source.given(span.end)
        function = function_at(source, span.start)
        if given is None or len(given) != 2 or function is None or member_or_qualified(source.code, span.start):
            continue
        body = function.text(function.body)
        stays = b"warpSize" in body and wavefronts.of(function)
        if b"C10_WARP_SIZE" in body or stays or _counts_64(function, project):
            continue
        if not _LOGICAL.search(body) and not _BY_SIZE.search(body):
            continue
        message = (
            f"{name.decode()} acts on the whole wavefront on AMD, and the function counts lanes to 32: a width of "
            "32; assumes that this means the program's warps, which have 32 lanes"
        )
        end = given[1].end
        yield Finding(span, "width", message, (Edit(Span(end, end), b", 32"),), Certainty.REVIEW)


def _own_shuffles(source: Cpp) -> frozenset[bytes]:
    return frozenset(
        declaration.name
        for declaration in declarations(source, source.names(_SHUFFLES))
        if declaration.scope is None and not declaration.conditional
    )


# ---- masks that are cut


def _cut(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find HIP's 64-bit masks that are narrowed to 32 bits."""
    made = _made(source, project.union_over(source, _own))
    if not made:
        return
    flow = Flow(project, source, Kind(_WIDE, _HANDED, 64))
    cut: dict[Function, list[_Cut]] = {}
    for function in flow.functions:
        found = list(_narrowed_places(function, flow))
        if found:
            cut[function] = found
    for span, name in made:
        for function in _users(source, span, flow):
            reached = _reached(function, flow, cut, source, span)
            if reached is not None:
                # If another branch keeps all bits, the program considers GPUs with 64 lanes.
                kept = any(
                    function.body.start_byte <= other.start < function.body.end_byte
                    and exclusive(source.conditionals, other.start, span.start)
                    and _reached(function, flow, cut, source, other) is None
                    for other, _ in made
                )
                yield _narrowed(source, project, span, name, reached, kept or _counts_64(function, project))
                break


def _counts_64(function: Function, project: Project) -> bool:
    """Return whether a function counts 64 lanes."""
    for match in _NATIVE.finditer(function.source.code, function.body.start_byte, function.body.end_byte):
        if not match["size"] or constant_values.value(function.source, project, match["size"]) != 32:
            return True
    return False


def _users(source: Cpp, span: Span, flow: Flow) -> Iterator[Function]:
    """Yield the functions that use the mask made at `span`: the function around it, or the users of its macro."""
    macro = source.directive(span.start)
    words = _WORD.findall(source.code, macro.start, macro.end) if macro is not None else []
    for function in flow.functions:
        if macro is not None:
            if len(words) > 1 and re.search(rb"\b" + words[1] + rb"\b", function.text(function.body)):
                yield function
        elif function.source is source and function.body.start_byte <= span.start < function.body.end_byte:
            yield function


def _own(source: Cpp) -> frozenset[bytes]:
    """Return the functions with such names that the program itself declares; conditional macros only if of 32 lanes."""
    return frozenset(
        declaration.name
        for declaration in declarations(source, source.names(_WIDE))
        if declaration.scope is None and (not declaration.conditional or HELPERS.search(declaration.text))
    )


def _made(source: Cpp, own: frozenset[bytes]) -> tuple[tuple[Span, bytes], ...]:
    """Return the calls in the file with a 64-bit result: HIP's, where the program means HIP."""
    hip = source.begun_as_hip
    found = []
    for span, name in source.names(_WIDE):
        directive = source.directive(span.start)
        if directive is not None and source.code[directive.start + 1 : span.start].split() == [b"define"]:
            continue
        if within(span.start, source.cuda_only) or name in own or member_or_qualified(source.code, span.start):
            continue
        if within(span.start, source.by_waves[0]):
            continue  # If it has 64 bits here, the upper half is 0.
        # In a HIP file, `warp_intrinsics` replaces the functions with a mask by hipport's.
        maskless = not name.endswith((b"_sync", b"mask"))
        if name in _ALWAYS_WIDE or within(span.start, source.hip_only) or (hip and maskless):
            found.append((span, name))
    return tuple(found)


def _narrowed(source: Cpp, project: Project, span: Span, name: bytes, cut: _Cut, native: bool) -> Finding:
    of = cut.function.source
    line = of.line_read(cut.node.start_byte)
    where = f"line {line}" if of.path == source.path else f"{of.path.as_posix()}, line {line}"
    said = f"{name.decode()} has 64 bits on AMD, and {cut.taker} on {where} takes 32"
    if native:
        return Finding(
            span,
            "mixed",
            f"{said}, in a function that counts 64 lanes: keep the mask in `unsigned long long`, with __popcll, "
            "__ffsll and 1ull, or count lanes to 32",
            certainty=Certainty.MANUAL,
        )
    helper = b"hipport::" + {b"WARP_BALLOT": b"ballot"}.get(name, name[2:])
    need, header = include(source, project, "warp.h")
    edits = [Edit(span, helper), *((need,) if need else ())]
    if name == b"WARP_BALLOT":
        given = source.given(span.end) or ()
        if len(given) == 2:
            swapped = source[given[1]] + b", " + source[given[0]]
            edits[0] = Edit(span, helper + b"_sync")
            edits.append(Edit(Span(given[0].start, given[1].end), swapped))
    message = (
        f"{name.decode()} → {helper.decode()}: {said}; assumes that this means the program's warps, which have 32 lanes"
    )
    return Finding(span, "cut", message, tuple(edits), Certainty.REVIEW, (header,))


def _reached(function: Function, flow: Flow, cuts: dict[Function, list[_Cut]], source: Cpp, made: Span) -> _Cut | None:
    """Return the first place at which the function's mask is narrowed: in itself, or in a function that receives it."""
    for cut in cuts.get(function, ()):
        if function.source is not source or not exclusive(source.conditionals, made.start, cut.node.start_byte):
            return cut
    called = {call.name for call in function.calls()}
    for other, found in cuts.items():
        if other is function:
            continue
        if other.name in called or (
            function.name in flow.results and any(c.name == function.name for c in other.calls())
        ):
            return found[0]
    return None


def _narrowed_places(function: Function, flow: Flow) -> Iterator[_Cut]:
    """Yield the places where 64 bits are narrowed to 32, with their receivers."""
    code = function.source.code
    for node in nodes(function.body):
        if within(node.start_byte, function.source.cuda_only) or within(node.start_byte, function.source.by_waves[0]):
            continue
        if node.type == "init_declarator" or node.type == "assignment_expression":
            target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            if flow.carries(function, value) and _bits_of(function, flow, target) == 32:
                yield _Cut(function, node, f"`{_short(code, target)}`")
        elif (converted := flow.conversion(function, node)) is not None:
            if converted[0] == 32 and flow.carries(function, converted[1]) and not _chosen(function, converted[1]):
                yield _Cut(function, node, "a conversion")
        elif node.type == "call_expression":
            yield from _given(function, flow, node)
        elif node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            sign = node.child_by_field_name("operator")
            if sign is not None and sign.type == "&" and left is not None and right is not None:
                for one, other in ((left, right), (right, left)):
                    if flow.carries(function, one) and _narrow_shift(function, other):
                        yield _Cut(function, node, f"`{_short(code, other)}`")
        elif node.type == "return_statement":
            declared = result_of(function)
            for value in node.named_children:
                if declared is not None and flow.bits(declared) == 32 and flow.carries(function, value):
                    yield _Cut(function, node, "the result")


def _by_size(function: Function, node: Node) -> bool:
    """Return whether a place is reached with only one wavefront size: `size == 64 ? __popcll(m) : __popc(m)`."""
    conditions = (function.text(each.expression) for each in function.conditions(node))
    return any(_ASKS_SIZE.search(condition) for condition in conditions)


def _given(function: Function, flow: Flow, node: Node) -> Iterator[_Cut]:
    name = called_name(node, function.source.code)
    given = arguments(node)
    if _OF_32_BITS.fullmatch(name) and given and flow.carries(function, given[0]) and not _by_size(function, node):
        yield _Cut(function, node, name.decode())
    if name in (b"printf", b"sprintf", b"snprintf"):
        form = function.source.text[node.start_byte : node.end_byte]
        carried = [each for each in given[1:] if each.type == "call_expression" and flow.carries(function, each)]
        if carried and not re.search(rb"%[-+ #0-9]*(?:ll|j|\" *PRI\w64)", form):
            yield _Cut(function, node, "printf")
    for called in flow.kernels.definitions(function.source, name) if name else ():
        for parameter, argument in zip(called.parameters, given, strict=False):
            if parameter and flow.carries(function, argument):
                variable = called.locals.named(parameter, called.body.start_byte)
                declared = flow.declared(called, variable) if variable is not None else None
                if declared is not None and flow.bits(declared) == 32:
                    yield _Cut(function, node, f"`{parameter.decode()}` of {name.decode()}")


def _bits_of(function: Function, flow: Flow, target: Node | None) -> int | None:
    """Return the number of bits of the target of an assignment, by its declaration."""
    node = target
    while node is not None:
        if node.type == "identifier":
            name = function.text(node)
            variable = function.locals.named(name, node.start_byte) or function.locals.named(name, node.end_byte)
            declared = flow.declared(function, variable) if variable is not None else None
            if declared is not None:
                return flow.bits(declared)
            widths = {flow.bits(member) for member in flow.members_named(name)}
            return widths.pop() if len(widths) == 1 else None
        if node.type == "field_expression":
            field = node.child_by_field_name("field")
            widths = {flow.bits(member) for member in flow.members_named(function.text(field))} if field else set()
            return widths.pop() if len(widths) == 1 else None
        node = node.child_by_field_name("argument") or node.child_by_field_name("declarator")
    return None


def _narrow_shift(function: Function, node: Node) -> bool:
    """Return whether the expression shifts a 32-bit number by a lane: `1 << lane`, `(1u << lane) - 1`."""
    stack = [node]
    while stack:
        each = stack.pop()
        if each.type == "binary_expression":
            sign, left = each.child_by_field_name("operator"), each.child_by_field_name("left")
            right = each.child_by_field_name("right")
            if (
                sign is not None
                and left is not None
                and sign.type == "<<"
                and _NARROW_SHIFT.fullmatch(function.text(left))
            ):
                return right is not None and right.type != "number_literal"
        if each.type in ("binary_expression", "unary_expression", "parenthesized_expression"):
            stack.extend(each.named_children)
    return False


def _chosen(function: Function, node: Node) -> bool:
    """Return whether one half of the mask is selected on purpose."""
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    sign, right = node.child_by_field_name("operator"), node.child_by_field_name("right")
    if sign is None or right is None:
        return False
    return sign.type == ">>" or (sign.type == "&" and function.text(right).lower().startswith(b"0xffffffff"))


def _short(code: bytes, node: Node | None) -> str:
    text = b" ".join(code[node.start_byte : node.end_byte].split()).decode("utf-8", "replace") if node else ""
    return text if len(text) < 40 else text[:36] + " …"


PASS = Pass(Cpp, find, proves=frozenset(("full",)))

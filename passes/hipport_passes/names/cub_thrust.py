# SPDX-License-Identifier: Apache-2.0
"""Write out CUB's default of 32 lanes for warp classes: hipCUB's default is the wavefront, up to 64.

`cub::WarpReduce<float>` becomes `cub::WarpReduce<float, 32>`, so that each warp of the program keeps its own
`TempStorage`. Block loads and stores that transpose by warps transpose by the block instead if the block is not a
multiple of 64 threads, which rocPRIM does not compile; the items end up in the same places. `cub::LaneId()`, the masks
of lanes and the votes, which act on the wavefront in hipCUB, become hipport's for 32 lanes. Sums over a whole array
start from `T{}` in CUB and from `T(0)` in hipCUB, which a structure may not have: such sums become reductions and scans
with `cub::Sum()` and `T{}`. Runs before `namespaces`.

The lanes of a logical warp wait for each other in CUB, wherever they are. With hipCUB a call of its methods has the
active lanes of one branch and one iteration of a loop. Calls that lanes of one logical warp may make separately are
reported, and so are calls of a block's classes in branches at which the threads of a wavefront diverge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.collective_summary import Collectives
from hipport.analysis.constant_values import value
from hipport.analysis.convergence import meetings
from hipport.analysis.functions import Function, function_at
from hipport.analysis.implicit_calls import aliases
from hipport.analysis.library_names import LibraryNames
from hipport.analysis.uniform_values import WARP
from hipport.analysis.word_index import leading_to
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include, line_of, with_included_headers
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp, template_arguments
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import member_or_qualified
from hipport_passes.device.warp_intrinsics import assumption

if TYPE_CHECKING:
    from tree_sitter import Node

_TABLE = Path(__file__).with_suffix(".toml")

_LISTS = Words.read(_TABLE, general=NAMES)
_CLASS_NAME = _LISTS.compile(rb"(?&of_warps)[A-Z]\w+|(?&of_blocks)")
_LANE_NAME = _LISTS.compile(rb"(?&lane_masks)\w\w|(?&lane_macros)\w+|(?&lane_names)")
_NAME = re.compile(rb"(?:(?P<root>\b\w+)(?P<colons>\s*::\s*))?\b(?P<name>" + _CLASS_NAME.pattern + rb")\s*<(?!<)")
_LANES = re.compile(
    rb"(?:::\s*)?\b(?P<root>\w+)\s*::\s*"
    rb"(?P<name>" + _LANE_NAME.pattern + rb")\b"
)
_DETAIL = re.compile(rb"(?:::\s*)?\b(?P<root>\w+)\s*::\s*(?P<name>%s)\b" % one_of(load(_TABLE)["detail"]).encode())
_ALIAS = re.compile(
    rb"namespace(?<!\wnamespace)\s+(\w+)\s*=\s*(?:(?:\w+\s*)?::\s*)*(\w+)\s*;|"
    rb"#[ \t]*define[ \t]+(\w+)[ \t]+(?:(?:\w+[ \t]*)?::[ \t]*)*(\w+)[ \t]*[\r\n]"
)
_DECLARED = re.compile(rb"\b(?:struct|class)\s+(" + _CLASS_NAME.pattern + rb")\b(?!\s*[;<])")
_OPENED = re.compile(rb"using(?<!\wusing)\s+(?:namespace\s+(?:::\s*)?(\w+)\s*;|(?:::\s*)?(\w+)\s*::\s*(\w+)\s*;)")
_USING = re.compile(rb"\busing\s+(?:::\s*)?\Z")
_ALGORITHM = re.compile(rb"(?:\w+\s*::\s*)*(\w+)")
# Sums over an array that hipCUB starts from `T(0)` (device_reduce.hpp, device_scan.hpp of ROCm 7.0), and CUB from
# `T{}`.
_SUM = _LISTS.compile(
    rb"(?P<space>(?:::\s*)?\b(?P<root>\w+)\s*::\s*)(?P<device>(?&device_classes))\s*::\s*(?P<name>(?&sums))\s*"
    rb"(?=\()"
)
_SUM_NAMES = _LISTS.compile(rb"(?&device_classes)\s*::\s*(?&sums)\s*(?=\()")
_STRUCTURE = _LISTS.compile(
    rb"\b(?:struct|class)\s+(?:(?:(?&align)|alignas)\s*\([^()]*\)\s*)?(\w+)\s*(?:final\s*)?[:{]"
)
# After a closing brace: `typedef struct { … } name;`
_TYPEDEF = re.compile(rb"\btypedef\s+struct\b[^;{}]*\{[^{}]*\}\s*(\w+)\s*;")
_WORDS = re.compile(rb"[A-Za-z_]\w*")
#: The text after the parameters of a constructor.
_BODY = re.compile(rb"\s*(?:noexcept\s*)?(?:\{|:(?!:)|=\s*default\b)")
# Classes whose methods are collectives of lanes or threads.
_TOGETHER = _LISTS.compile(rb"(?&warps)|(?&of_block)[A-Z]\w+")
_OF_LANES = _LISTS.compile(rb"(?&of_warps)[A-Z]\w+")
_OF_CUB = re.compile(rb"(?:\b(\w+)\s*::\s*)?\b(" + _TOGETHER.pattern + rb")\s*<(?!<)")
_IN_FRONT = rb"([\w:]+(?:\s*<[^;(){}]*>)?(?:\s*::\s*\w+)*)\s*(?:const\b\s*)?&{0,2}\s*\b%s\s*[,)=;{(\[]"
_NO_TYPES = (b"return", b"const", b"else", b"new", b"typename", b"in", b"case")
# The text before a macro in a test of its definition.
_ASKED = re.compile(rb"(?:\bdefined[\s\\]*\(?|#[ \t]*ifn?def)[\s\\]*$")
#: All names of a namespace.
_ALL = b"*"


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per warp class without a width, and per block that cannot be transposed by warps."""
    code = source.code
    yield from _versions(source, project)
    if not source.words.isdisjoint((b"DeviceReduce", b"DeviceScan")):
        yield from _sums(source, project, _roots(source, project))
    if not source.words.isdisjoint(_methods()) and project.union_over(source, _classes):
        yield from _apart(source, project)
    if not any(word in code for word in (b"Lane", b"W", b"Shuffle", b"warp_threads")):
        return
    roots = _roots(source, project)
    opened = _opened(source, project, roots)
    yield from _lanes(source, project, roots, _ALL in opened)
    yield from _constants(source, roots)
    if b"Warp" not in code and b"WARP" not in code:
        return
    own = project.declared(source, _declared) if opened else frozenset()
    for match in _NAME.finditer(code) if source.matched(_CLASS_NAME) else ():
        start = match.start("name")
        if match["root"]:
            if match["root"] not in roots:
                continue
        elif opened.isdisjoint((_ALL, match["name"])) or match["name"] in own or member_or_qualified(code, start):
            continue
        if _for_amd(source, start):
            continue
        arguments = template_arguments(code, match.end() - 1)
        if arguments is None:
            continue
        name = match["name"].decode()
        space = match["root"] + match["colons"] if match["root"] else b""
        if name in load(_TABLE)["width"]:
            yield from _warp(source, name, Span(*match.span("name")), space, arguments)
        elif len(arguments) > 3:
            yield from _block(source, project, arguments)


@cache
def _version_names() -> LibraryNames:
    return LibraryNames(frozenset(name.encode() for name in load(_TABLE)["versions"]), macros=True)


def _versions(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find CUB's version numbers: hipCUB has none, so that conditions on them take the oldest branch."""
    new: dict[str, str] = load(_TABLE)["versions"]
    includes = any(include.path == "thrust/version.h" for include in source.includes)
    for span, name in _version_names().uses(source, project):
        edits = [Edit(span, new[name.decode()].encode())]
        directive = source.directive(span.start)
        asks = directive is not None and _ASKED.search(source.code, directive.start, span.start) is not None
        if asks:
            edits = [Edit(span, b"THRUST_VERSION")]
        if not includes:
            at = line_of(source, "thrust/version.h")
            edits.append(Edit(Span(at, at), b"#include <thrust/version.h>" + source.newline, on_top=True))
        message = (
            f"{name.decode()} → {edits[0].new.decode()}: hipCUB does not define CUB's release, so this would count "
            "as 0; assumes that it has the features of the CUB that came with rocThrust's Thrust"
        )
        yield Finding(span, "version", message, tuple(edits), Certainty.REVIEW)


def _roots(source: Cpp, project: Project) -> frozenset[bytes]:
    """Return the names for CUB's namespace: its own, and the program's aliases."""
    roots = frozenset((b"cub", b"hipcub"))
    return roots | leading_to(roots, ((name, {of}) for name, of in project.declared(source, _aliases)))


def _aliases(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    if b"cub" not in source.code:
        return frozenset()
    return frozenset((match[1] or match[3], match[2] or match[4]) for match in _ALIAS.finditer(source.code))


def _opened(source: Cpp, project: Project, roots: frozenset[bytes]) -> frozenset[bytes]:
    """Return CUB's names that may be used unqualified, in this file or one that includes it."""
    return frozenset(name for space, name in project.declared(source, _usings) if space in roots)


def _usings(source: Cpp) -> frozenset[tuple[bytes, bytes]]:
    if b"using" not in source.code:
        return frozenset()
    return frozenset((match[1] or match[2], match[3] or _ALL) for match in _OPENED.finditer(source.code))


def _declared(source: Cpp) -> frozenset[bytes]:
    """Return the program's own classes with names of CUB's."""
    return frozenset(match[1] for match in _DECLARED.finditer(source.code))


def _for_amd(source: Cpp, offset: int) -> bool:
    """Return whether a person wrote the code for AMD: then the default is intended."""
    return source.begun_as_hip or source.ported(offset)


def _sums(source: Cpp, project: Project, roots: frozenset[bytes]) -> Iterator[Finding]:
    """Find sums of structures that cannot be constructed from 0."""
    if source.words.isdisjoint((b"DeviceReduce", b"DeviceScan")):
        return
    for match in _sums_written(source.code):
        if match["root"] not in roots or _for_amd(source, match.start()):
            continue
        given = source.arguments(match.end())
        if given is None or len(given) < 5 or (match["device"] == b"DeviceReduce") != (match["name"] == b"Sum"):
            continue
        items = _items(source, given[2]) or _items(source, given[3])
        if items is None or items not in project.union_over(source, _structures):
            continue
        if items in project.union_over(source, _made_of_one):
            continue
        space, what = source.code[slice(*match.span("space"))], items.decode(errors="replace")
        start = space + b"Sum(), " + items + b"{}"
        if match["name"] == b"Sum":
            new, edit = b"Reduce", Edit(Span(given[4].end, given[4].end), b", " + start)
        else:
            new, edit = b"ExclusiveScan", Edit(Span(given[4].start, given[4].start), start + b", ")
        name = Span(*match.span("name"))
        message = f"{source[name].decode()} → {new.decode()} from {what}{{}}: hipCUB starts from {what}(0)"
        yield Finding(name, "start", message, (Edit(name, new), edit))


def _sums_written(code: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the matches of `_SUM`, searched from its few names: the words before them are frequent."""
    done = 0
    for called in _SUM_NAMES.finditer(code):
        # None of these characters is in `::space::DeviceReduce`.
        start = max(code.rfind(each, done, called.start()) for each in (b";", b"{", b"}", b"(", b",", b"="))
        match = _SUM.search(code, max(start + 1, done), called.end() + 1)
        if match is not None:
            yield match
        done = called.end()


def _items(source: Cpp, argument: Span) -> bytes | None:
    """Return the declared element type of a pointer, or of a container whose pointer is passed."""
    for name in _WORDS.findall(source.code, argument.start, argument.end):
        if name in (b"thrust", b"raw_pointer_cast", b"data", b"get"):
            continue
        declared = _LISTS.compile(
            rb"\b(\w+)\s*(?:const\s*)?\*+\s*(?:const\s+|(?&restrict)\s+)*(?:\w+\s*,\s*\*\s*)*"
            + re.escape(name)
            + rb"\b|"
            rb"\b(?&device_types)\s*<\s*(\w+)\s*>\s*&?\s*" + re.escape(name) + rb"\b"
        )
        found = {match[1] or match[2] for match in declared.finditer(source.code)} - {b"return"}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _structures(source: Cpp) -> frozenset[bytes]:
    """Return the types that the file declares."""
    if source.words.isdisjoint((b"struct", b"class")):
        return frozenset()
    return frozenset(_STRUCTURE.findall(source.code)) | frozenset(_TYPEDEF.findall(source.code))


def _made_of_one(source: Cpp) -> frozenset[bytes]:
    """Return the types with a constructor that accepts one number: hipCUB can start from these."""
    names = _structures(source)
    if not names:
        return frozenset()
    declared = _LISTS.compile(rb"(?<![\w~:.>])(" + b"|".join(map(re.escape, sorted(names))) + rb")\s*(?=\()")
    found = set()
    for match in declared.finditer(source.code):
        closing = source.closing(match.end())
        given = source.arguments(match.end())
        if closing is None or not given or not _BODY.match(source.code, closing + 1):
            continue
        needed = [each for each in given if b"=" not in source.code[each.start : each.end]]
        copied = match[1] in _WORDS.findall(source.code, given[0].start, given[0].end)
        if len(needed) <= 1 and not copied:
            found.add(match[1])
    return frozenset(found)


def _constants(source: Cpp, roots: frozenset[bytes]) -> Iterator[Finding]:
    """Find CUB's names for the size of a warp: macros, some of which take an architecture, and constants."""
    table = load(_TABLE)
    for name, number in table["constant"].items():
        for span, _ in source.names({name.encode()}):
            directive = source.directive(span.start)
            words = source.code[directive.start : span.start].replace(b"\\", b" ").split() if directive else []
            if not _for_amd(source, span.start) and words[-1:] not in (
                [b"#define"],
                [b"define"],
                [b"#ifdef"],
                [b"#ifndef"],
            ):
                closing = source.closing(span.end) if source.code.startswith(b"(", span.end) else None
                whole = Span(span.start, span.end if closing is None else closing + 1)
                yield Finding(whole, "constant", f"{name} → {number}, as in CUDA", (Edit(whole, number.encode()),))
    for match in _DETAIL.finditer(source.code):
        name, span = match["name"].decode(), Span(*match.span())
        if match["root"] in roots and not _for_amd(source, span.start):
            number = table["detail"][name]
            yield Finding(span, "constant", f"{name} → {number}, as in CUDA", (Edit(span, number.encode()),))


def _lanes(source: Cpp, project: Project, roots: frozenset[bytes], opened: bool) -> Iterator[Finding]:
    """Find CUB's functions for lanes, masks and votes."""
    table = load(_TABLE)
    found = [
        match
        for match in (_LANES.finditer(source.code) if source.matched(_LANE_NAME) else ())
        if match["root"] in roots and not _for_amd(source, match.start())
    ]
    # One header for all: the one with the warp's number includes the one for lanes.
    need, header = include(source, project, "ptx.h" if any(match["name"] == b"WarpId" for match in found) else "warp.h")
    if opened:
        for span, word in _lane_names().uses(source, project):
            if not _for_amd(source, span.start) and not member_or_qualified(source.code, span.start):
                yield _not_qualified(span, word.decode())
    for match in found:
        name, span = match["name"].decode(), Span(*match.span())
        if _USING.search(source.code, 0, match.start()):
            yield _not_qualified(span, name)
            continue
        opening = source.code.find(b"(", match.end())
        given = source.arguments(opening) if opening >= 0 else None
        if name in table["by_hand"]:
            if given is None or len(given) != 4 or not _is_bound(source, project, match, given[2]):
                yield Finding(span, "lanes", table["by_hand"][name], certainty=Certainty.MANUAL)
            continue
        function = table["lanes"].get(name) or table["votes"].get(name)
        if function is None:
            continue
        edits = [Edit(span, f"hipport::{function}".encode()), *((need,) if need else ())]
        message, certainty = f"{name} → hipport::{function}: hipCUB's acts on the wavefront", Certainty.SAFE
        if name in table["votes"]:
            if given is None or len(given) != 2 or source.code[match.end() : opening].strip():
                message = f"{name} acts on the wavefront with hipCUB: call hipport::{function}(mask, predicate)"
                yield Finding(span, "lanes", message, certainty=Certainty.MANUAL)
                continue
            predicate, mask = given
            edits.append(Edit(Span(predicate.start, predicate.start), source[mask] + b", "))
            edits.append(Edit(Span(predicate.end, mask.end), b""))
        if name == "WarpId":
            message, certainty = f"{message}; assumes that warps are counted in the order of threads", Certainty.REVIEW
        yield Finding(span, "lanes", message, tuple(edits), certainty, with_included_headers(header))


@cache
def _lane_names() -> LibraryNames:
    table = load(_TABLE)
    words = (*table["lanes"], *table["votes"], *table["by_hand"])
    return LibraryNames(frozenset(word.encode() for word in words), re.compile(rb"\s*[(<]"))


def _not_qualified(span: Span, name: str) -> Finding:
    message = f"{name} of hipCUB acts on the wavefront: call cub::{name} directly, which hipport ports"
    return Finding(span, "lanes", message, certainty=Certainty.MANUAL)


def _is_bound(source: Cpp, project: Project, match: re.Match[bytes], given: Span) -> bool:
    """Return whether hipCUB interprets the third argument of a shuffle in the same way."""
    bound = value(source, project, source[given])
    opening = source.code.find(b"<", match.end())
    width = template_arguments(source.code, opening) if opening >= 0 else None
    if match["name"] == b"ShuffleUp" or bound is None:
        return bound == 0
    lanes = value(source, project, source[width[0]]) if width else None
    return lanes is not None and bound == lanes - 1


def _warp(source: Cpp, name: str, span: Span, space: bytes, arguments: tuple[Span, ...]) -> Iterator[Finding]:
    index: int = load(_TABLE)["width"][name]
    # A parameter pack may be anything.
    if len(arguments) > index or b"..." in source.code[arguments[0].start : arguments[-1].end]:
        return
    missing = [space + load(_TABLE)["before"].get(name, "").encode()] * (index - len(arguments)) + [b"32"]
    if name not in load(_TABLE)["before"] and len(missing) > 1:
        return
    edit = Edit(Span(arguments[-1].end, arguments[-1].end), b"".join(b", " + each for each in missing))
    yield Finding(span, "width", f"{name} of 32 lanes, as in CUDA: hipCUB's default is the wavefront", (edit,))


@cache
def _methods() -> frozenset[bytes]:
    return frozenset(load(_TABLE)["together"]["methods"].encode().split()) | _functions()


@cache
def _functions() -> frozenset[bytes]:
    return frozenset(load(_TABLE)["together"]["functions"].encode().split())


class _Objects:
    """The expressions of a component that are objects of CUB's warp or block classes."""

    def __init__(self, source: Cpp, project: Project) -> None:
        self._project = project
        self._roots = _roots(source, project)
        self._opened = _opened(source, project, self._roots)
        self._own = project.declared(source, _declared) if self._opened else frozenset()
        self._aliases: dict[bytes, list[bytes]] = {}
        self.files = [each for each in project.component(source) if isinstance(each, Cpp)]
        for file in self.files:
            for each in aliases(file):
                self._aliases.setdefault(each.name, []).append(file.code[each.start : each.end])
        names = b"|".join(sorted(_methods()))
        self.collectives = Collectives(
            re.compile(names), re.compile(rb"(?!)"), _LISTS.compile(rb"(?&block_barrier)\w*"), self.group
        )

    def group(self, function: Function, name: Node) -> tuple[Node | None, int]:
        """Return the object of a method call, and the number of lanes that call it together; 0 if it is not CUB's."""
        called = name.parent
        while called is not None and called.type in ("template_method", "dependent_name", "template_function"):
            called = called.parent
        if function.text(name) in _functions():
            space = called.child_by_field_name("scope") if called and called.type == "qualified_identifier" else None
            return None, WARP if space is not None and function.text(space) in self._roots else 0
        if called is None or called.type != "field_expression":
            return None, 0
        thing = called.child_by_field_name("argument")
        return (thing, self._lanes(function, thing)) if thing is not None else (None, 0)

    def in_macro(self, source: Cpp, offset: int) -> bool:
        """Return whether the macro definition around `offset` contains a class of CUB's."""
        directive = source.directive(offset)
        return directive is not None and self._of_text(source, source.code[directive.start : directive.end]) > 0

    def _lanes(self, function: Function, thing: Node) -> int:
        while thing.type == "parenthesized_expression" and thing.named_children:
            thing = thing.named_children[0]
        if thing.type in ("call_expression", "compound_literal_expression"):
            made = thing.child_by_field_name("function") or thing.child_by_field_name("type")
            return 0 if made is None else self._of_text(function.source, function.text(made) + b"<")
        root = re.compile(rb"\w+").findall(function.text(thing))
        if not root:
            return 0
        if thing.type == "identifier":
            code = function.source.code[function.node.start_byte : function.body.end_byte]
            found = self._types(code, root[0])
            if found:
                return max(self._declared(function, each) for each in found)
        # A member of the class or of an object.
        last = root[-1]
        codes = (file.code for file in self.files if last in file.words)
        types = {each for code in codes for each in self._types(code, last)}
        return max((self._declared(function, each) for each in types), default=0)

    @staticmethod
    def _types(code: bytes, name: bytes) -> set[bytes]:
        found = re.compile(_IN_FRONT % re.escape(name)).findall(code)
        return {each for each in found if each not in _NO_TYPES}

    def _declared(self, function: Function, type_: bytes) -> int:
        """Return the number of lanes that together call methods of an object that is declared with that type."""
        if not function.template_parameters.isdisjoint(_WORDS.findall(type_)) or type_ == b"auto":
            known = self._of_text(function.source, type_ + b"<")
            # An object of a template's parameter type, or a function's result, may be one.
            return known or (WARP if b"<" not in type_ else 0)
        return self._of_text(function.source, type_ + b"<")

    def _of_text(self, source: Cpp, text: bytes, depth: int = 4) -> int:
        """Return the number of lanes that together call methods of the first CUB class in a type; 0 if it has none."""
        for match in _OF_CUB.finditer(text):
            if (
                match[1] in self._roots
                if match[1]
                else (not self._opened.isdisjoint((_ALL, match[2])) and match[2] not in self._own)
            ):
                return self._width(source, text, match)
        if not depth:
            return 0
        found = [
            self._of_text(source, other + b"<", depth - 1)
            for word in _WORDS.findall(text)
            for other in self._aliases.get(word, ())
        ]
        return max(found, default=0)

    def _width(self, source: Cpp, text: bytes, match: re.Match[bytes]) -> int:
        name = match[2].decode()
        if not _OF_LANES.fullmatch(match[2]):
            # For a block, only the wavefront counts, whose lanes may diverge.
            return 2 * WARP
        arguments = template_arguments(text, match.end() - 1)
        index = load(_TABLE)["width"].get(name, 1)
        if not arguments or len(arguments) <= index:
            return WARP
        lanes = value(source, self._project, text[arguments[index].start : arguments[index].end])
        # Other sizes than powers of two may cross any boundary.
        return lanes if lanes and lanes <= WARP and not lanes & (lanes - 1) else WARP


def _apart(source: Cpp, project: Project) -> Iterator[Finding]:
    """Report method calls that lanes of a logical warp, or threads of a block, may make separately."""
    known = project.component(source).fact(_objects)
    if not known:
        known.append(_Objects(source, project))
    objects = known[0]
    for offset, meeting in sorted(meetings(source, project, objects.collectives).items()):
        end = _WORDS.match(source.code, offset)
        # If warps are not the program's logical warps, CUB's are not, either.
        if _for_amd(source, offset) or meeting.unless or end is None:
            continue
        if source.directive(offset) is not None and not objects.in_macro(source, offset):
            continue
        function = function_at(source, offset)
        node = function.body.descendant_for_byte_range(offset, end.end()) if function is not None else None
        lanes = objects.group(function, node)[1] if function is not None and node is not None else WARP
        if lanes > WARP and meeting.kind == "iteration":
            continue  # For a block, as for a barrier, different iterations do not matter on AMD.
        of = "of a block" if lanes > WARP else "of a logical warp"
        why = assumption(source, project, meeting, offset, of)
        message = (
            f"lanes {of} do not wait for each other on AMD: make sure that {why}, or move the call out of the branch "
            "or loop"
        )
        yield Finding(Span(offset, end.end()), "apart", message, certainty=Certainty.MANUAL)


def _objects(component: Component) -> list[_Objects]:
    """Return the cache of CUB's objects in these files."""
    return []


def _classes(source: Cpp) -> frozenset[bytes]:
    """Return the names of CUB's collective classes in a file, and of functions of such names."""
    return frozenset(source.matched(_TOGETHER) | source.words & _functions()) if b"cub" in source.code else frozenset()


def _block(source: Cpp, project: Project, arguments: tuple[Span, ...]) -> Iterator[Finding]:
    algorithm = _ALGORITHM.fullmatch(source.code, arguments[3].start, arguments[3].end)
    new = load(_TABLE)["transposed"].get(algorithm[1].decode()) if algorithm else None
    if algorithm is None or new is None:
        return
    span = Span(*algorithm.span(1))
    given = source.code[arguments[1].start : arguments[1].end]
    threads = value(source, project, given)
    if threads is None and len(arguments) == 4 and re.fullmatch(rb"\w+", given):
        # A template's parameter: the compiler knows its value.
        whole = source.text[arguments[3].start : arguments[3].end]
        block = whole.replace(algorithm[1], new.encode())
        choice = b"(" + given + b" % 64 == 0 ? " + whole + b" : " + block + b")"
        message = (
            f"{algorithm[1].decode()} → {new} where the block is not a multiple of 64 threads, which rocPRIM requires"
        )
        yield Finding(arguments[3], "transpose", message, (Edit(arguments[3], choice),))
    if threads is None or threads % 64 == 0:
        return
    message = f"{algorithm[1].decode()} → {new}: rocPRIM has the former only for blocks of a multiple of 64 threads"
    yield Finding(span, "transpose", message, (Edit(span, new.encode()),))


PASS = Pass(Cpp, find)

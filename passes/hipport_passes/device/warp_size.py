# SPDX-License-Identifier: Apache-2.0
"""Replace `warpSize` by the 32 that CUDA code means.

On AMD `warpSize` is the size of the wavefront: 64 on CDNA, where the program's warps still have 32 lanes, and since
ROCm 7 it is not a constant expression. `hipport::warp_size` is 32 everywhere, and a constant. The member of the
device's properties changes too where host code computes with it; where it is only printed, it stays. A query of the
attribute, `cudaDeviceGetAttribute(&size, cudaDevAttrWarpSize, device)`, becomes an assignment of 32. In a file that
includes HIP's headers `warpSize` means the wavefront's size and stays, unless the file's intrinsics now act on 32
lanes. It also stays if the program's own code for AMD uses the whole wavefront, except in functions of 32 lanes and
their callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from hipport.analysis.functions import function_at
from hipport.analysis.library_names import LibraryNames
from hipport.core.edits import Edit, NewFile, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import NAMES
from hipport.syntax.declarations import last_name, member_of
from hipport_passes.device.waves.kinds import Wavefronts
from hipport_passes.device.waves.marks import asked
from hipport_passes.names.helper_includes import USE, declaring

_WARP_SIZE = LibraryNames(frozenset((b"warpSize",)))
_WORD = re.compile(rb"\w")
# The text before the name of a member.
_MEMBER = re.compile(rb"(?:\.|->)\s*\Z")
# A query of the attribute. The edit drops the device expression, so that must have no side effects.
_SIMPLE = rb"(?:[^(),;{}=+-]|->)*"
_WORDS = Words.read(
    Path(__file__).with_suffix(".toml"),
    general=Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES),
)
_ATTRIBUTE = _WORDS.compile(
    rb"\b(?P<function>(?&functions))\s*\(\s*(?P<place>" + _SIMPLE + rb"?)\s*,"
    rb"\s*(?P<attribute>(?&attributes))\s*,\s*" + _SIMPLE + rb"\)"
)
_ASKS = frozenset((b"cudaDevAttrWarpSize", b"CU_DEVICE_ATTRIBUTE_WARP_SIZE", b"hipDeviceAttributeWarpSize"))
_SUCCESS = {b"cudaDeviceGetAttribute": b"cudaSuccess", b"hipDeviceGetAttribute": b"hipSuccess"}
_ADDRESS = re.compile(rb"&\s*(?P<variable>[A-Za-z_](?:[\w.\[\]]|->)*)")
_STATEMENT_BEFORE = re.compile(rb"[;{}]\s*\Z")
_STATEMENT_AFTER = re.compile(rb"\s*;")
_OWN_MEMBER = _WORDS.compile(
    rb"\b(?:int|unsigned|(?&size_type)|u?int\d+_t|long|short)\s+(?:\w+\s*(?:=[^,;(){}]*)?,\s*)*((?&warp_size))\s*[;={,]"
)
#: Properties of a device, in programs that may also have structures of their own with such a member.
_PROPERTIES = _WORDS.compile(rb"\b(?&property_types)\b(?:\s*const\b)?\s*>?")
_ALIASES = re.compile(
    rb"\busing\s+(\w+)\s*=\s*(?:::)?" + _PROPERTIES.pattern + rb"\s*;|"
    rb"\btypedef\s+(?:struct\s+)?(?:::)?" + _PROPERTIES.pattern + rb"\s+(\w+)\s*;"
)
_DECLARED = re.compile(
    rb"[&*\s]*([A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]|\{[^{}]*\})*(?:=(?:\{[^{}]*\}|(?!\{[^{}]*\})[^,;()]|\([^()]*\))*)?\s*(,|[;)])"
)
_GOT = _WORDS.compile(rb"\b(\w+)\s*=\s*\*?\s*(?:\w+::)*get\w*(?&of_properties)\w*\s*\(")
_RETURNED = _WORDS.compile(rb"get(?:\w*(?&of_properties))|(?&torch_properties)\Z")
_SIZE = _WORDS.compile(rb"\b(?<!::)(?<!\.)(?<!->)(?&warp_size)\b")
_DEFINE = re.compile(rb"#[ \t]*define\b")
# `int Params::`, before the name of a method.
_OF_CLASS = re.compile(rb"(\w+)\s*(?:<[^<>]*>\s*)?::\s*\Z")
# `&cudaDeviceProp::`, in front of the name.
_BY_MEMBER = re.compile(rb"&\s*(?:::\s*)?" + _PROPERTIES.pattern + rb"\s*::\s*\Z")
_ASSIGNED = re.compile(rb"\s*=[^=]")
# A print is not a launch, not a shift of a number, and not a logarithm.
_PRINTS = _WORDS.compile(
    rb"(?i:(?&printf)|\b(?&streams)\b|\b(?&prints)\w*)|\b(?:LOG(?!2|10)\w*|Log\w*|log(?:ger|ging|_(?!2)\w*))\b|(?<!<)(?<![\duUlL])(?<![\duUlL]\s)<<(?!<)"
)
# A directly printed value: an argument, or an operand between two `<<`, perhaps under a cast.
_ALONE_BEFORE = re.compile(rb"(?:,|<<|[\w]\s*\(|static_cast\s*<[^<>]*>\s*\()\s*(?:\(\s*[a-z_ ]+\)\s*)?\Z")
_ALONE_AFTER = re.compile(rb"\s*\)?\s*(?:,|<<|\)|;)")
_MACRO = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
# `constexpr int kWarps = 256 / `, before the place.
_CONSTANT = re.compile(rb"\b(?:constexpr|const)\b[^;{}()<>=]*?\b(\w+)\s*(?:=|\{)[^;{}=]*\Z")
_SHARED = (
    "outside of functions, in a program that has functions of the whole wavefront and may have others of 32 lanes: "
    "warpSize is the wavefront's size there, and not a constant since ROCm 7; give each kind a constant of its own "
    "(hipport::warp_size is 32)"
)

_ASKED_FOR_BOTH = (
    "the wavefront's size, in a program with functions of the whole wavefront (PyTorch's WARP_SHFL and its like, "
    "or branches of its own for AMD) and others of 32 lanes: give each kind the size that it needs "
    "(hipport::warp_size is 32)"
)
_NOT_SEEN = (
    "hipport could not tell whose size this is: if it means the program's warps, which have 32 lanes, write "
    "hipport::warp_size"
)
_BY_POINTER = (
    "code that reads the member warpSize through this pointer gets the wavefront's size, 64 on gfx9: if that code "
    "means the program's warps, which have 32 lanes, write hipport::warp_size there"
)
_USED_BY_BOTH = (
    "some callers need the wavefront's size here, and others 32: take the number of lanes as an argument, or write the "
    "function twice (hipport::warp_size is 32)"
)
#: The edits that include hipport's header, and the header.
_Helper: TypeAlias = tuple[tuple[Edit, ...], NewFile]


# Operators that change a variable.
_CHANGES = re.compile(rb"\+\+|--|(?<![=!<>])=(?!=)")

#: Kinds of findings whose edits replace a whole expression.
_WHOLE = ("property", "attribute")


def _declared(code: bytes, offset: int, directive: Span | None) -> bytes | None:
    """Return the name of the macro or the constant whose value contains `offset`."""
    if directive is not None:
        macro = _MACRO.match(code, directive.start)
        return macro[1] if macro is not None else None
    constant = _CONSTANT.search(code, max(0, offset - 400), offset)
    return constant[1] if constant is not None else None


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per `warpSize` that is CUDA's."""
    found = [*_found(source, project)]
    # A query of a device is replaced as a whole: `props[threadIdx.x / warpSize].warpSize`.
    whole = {e.span for each in found if each.kind in _WHOLE for e in each.edits if len(e.span)}
    outer = tuple(sorted(span for span in whole if not any(_is_part(span, other) for other in whole)))
    yield from (
        each for each in found if not within(each.span.start, outer) or any(edit.span in outer for edit in each.edits)
    )


def _is_part(span: Span, other: Span) -> bool:
    return other.start <= span.start and span.end <= other.end and span != other


def _found(source: Cpp, project: Project) -> Iterator[Finding]:
    if b"warpSize" not in source.text and source.words.isdisjoint(_ASKS):
        return
    need, header = include(source, project, "warp.h")
    helper = ((need,) if need else (), header)
    # Names of hipport's header count too, because the include may have been lost.
    if source.begun_as_hip and not _includes(source, "hipport/warp.h") and not _of_logical_warps(source):
        return
    wavefronts = project.component(source).fact(Wavefronts)
    yield from _in_device_code(source, project, wavefronts, helper)
    of_pytorch, logical = project.component(source).fact(asked)
    both = (bool(wavefronts) or of_pytorch) and logical
    if (wavefronts or of_pytorch) and not logical:
        return  # The host's query is for the wavefronts of these functions.
    yield from _attributes(source, both, helper)
    for span, _ in source.names(frozenset((b"warpSize",))):
        pointer = _BY_MEMBER.search(source.code, max(0, span.start - 60), span.start)
        if pointer is not None:
            whole = Span(pointer.start(), span.end)
            yield Finding(whole, "property", _BY_POINTER, (), Certainty.MANUAL)
        if _MEMBER.search(source.code, max(0, span.start - 40), span.start):
            yield from _property(source, project, span, both, helper)


def _in_device_code(source: Cpp, project: Project, wavefronts: Wavefronts, helper: _Helper) -> Iterator[Finding]:
    """Replace the variable in device code, except in functions for the whole wavefront."""
    code, makes, header = source.code, *helper
    owners = project.union_over(source, _owners)
    for span, _ in _WARP_SIZE.uses(source, project):
        directive = source.directive(span.start)
        if directive is not None and not _DEFINE.match(code, directive.start):
            continue  # `#ifdef warpSize` only tests for it.
        method = function_at(source, span.start) if owners or wavefronts else None
        if wavefronts and method is None:
            constant = _declared(code, span.start, directive) or b""
            if not wavefronts.names_in_logical(constant) or wavefronts.names_in_others(constant):
                # The value of a macro depends on its uses.
                if directive is None or wavefronts.names_in_logical(constant):
                    yield Finding(span, "shared", _SHARED, (), Certainty.MANUAL)
                continue
        elif wavefronts.shared(method):
            yield Finding(span, "shared", _USED_BY_BOTH, (), Certainty.MANUAL)
            continue
        elif wavefronts.of(method):
            continue
        of_class = _OF_CLASS.search(method.head) if method is not None else None
        if of_class is not None and of_class[1] in owners:
            continue
        message = "warpSize → hipport::warp_size, which is 32"
        certainty = Certainty.SAFE
        if source.begun_as_hip or wavefronts:
            message += "; assumes that this means the program's warps, which have 32 lanes"
            certainty = Certainty.REVIEW
        edits = (Edit(span, b"hipport::warp_size"), *makes)
        yield Finding(span, "logical", message, edits, certainty, creates=(header,))


def _attributes(source: Cpp, both: bool, helper: _Helper) -> Iterator[Finding]:
    """Replace queries of the attribute; `both`: the program has functions of 32 lanes and of the wavefront."""
    code, makes, header = source.code, *helper
    for match in _ATTRIBUTE.finditer(code):
        span = Span(*match.span())
        # HIP's name of the attribute shows that an earlier run left the query to a person.
        if source.ported(span.start) or (source.begun_as_hip and match["attribute"].startswith(b"hip")):
            continue
        if source.directive(span.start) != source.directive(span.end - 1):
            continue  # A directive interrupts it, so it is not a plain call.
        address = _ADDRESS.fullmatch(match["place"])
        place = _SIZE.sub(b"hipport::warp_size", address["variable"] if address else b"*(" + match["place"] + b")")
        answer = place + b" = hipport::warp_size"
        if not (
            _STATEMENT_BEFORE.search(code[max(0, span.start - 200) : span.start])
            and _STATEMENT_AFTER.match(code, span.end)
        ):
            success = _SUCCESS.get(match["function"], b"CUDA_SUCCESS")
            answer = b"((" + answer + b"), " + success + b")"
        said = match["attribute"].decode()
        if both:
            yield Finding(span, "shared", f"{said}: {_ASKED_FOR_BOTH}", (), Certainty.MANUAL)
            continue
        yield Finding(
            span,
            "attribute",
            f"{said} is 32: assumes that this means the program's warps, which have 32 lanes",
            (Edit(span, answer), *makes),
            Certainty.REVIEW,
            (header,),
        )


def _instead(code: bytes, of: Span, span: Span, gap: bytes) -> tuple[Edit, ...]:
    """Write the size of a warp in the place of a question to a device: `props[i++].warpSize` still changes `i`.

    `of` is the device; `span` begins with it.
    """
    size = b"hipport::warp_size"
    if not _CHANGES.search(code, of.start, of.end):
        return (Edit(span, gap + size),)
    end = of.start + len(code[of.start : of.end].rstrip())
    before = Edit(Span(of.start, of.start), gap + b"(static_cast<void>(")
    # The device stays as it is, with questions of its own: `props[sizes[i++].warpSize]`.
    return (before, Edit(Span(end, span.end), b"), " + size + b")"))


def _property(source: Cpp, project: Project, name: Span, both: bool, helper: _Helper) -> Iterator[Finding]:
    """Yield the finding on a member of that name, if it is a device's property."""
    code, makes, header = source.code, *helper
    of = member_of(code, name.start)
    span = Span(of.start if of is not None else name.start, name.end)
    if source.ported(span.start) or source.directive(span.start) != source.directive(span.end - 1):
        return  # What begins in a directive ends with it.
    statement = re.split(rb"[;{}]", code[max(0, span.start - 200) : span.start])[-1]
    printed = _PRINTS.search(statement) and _ALONE_BEFORE.search(statement) and _ALONE_AFTER.match(code, span.end)
    if printed or _ASSIGNED.match(code, span.end):
        return
    if project.union_over(source, _members) and (of is None or not _is_of_device(source, project, of)):
        return
    said = source[span].decode("utf-8", "replace")
    if both:
        yield Finding(span, "shared", f"{said}: {_ASKED_FOR_BOTH}", (), Certainty.MANUAL)
    elif of is None:
        message = f"{said}: {_NOT_SEEN}"
        yield Finding(span, "property", message, (), Certainty.MANUAL)
    else:
        message = f"{said} → hipport::warp_size: assumes that this means the program's warps, which have 32 lanes"
        # `return(*p).warpSize`
        gap = b" " if _WORD.fullmatch(code, span.start - 1, span.start) else b""
        edits = (*_instead(code, of, span, gap), *makes)
        yield Finding(span, "property", message, edits, Certainty.REVIEW, (header,))


def _of_logical_warps(source: Cpp) -> bool:
    """Return whether a file uses names of hipport's warp.h. Other helpers do not show the size of its warps."""
    return any(declaring().get(b"".join(match.group().split())) == "warp.h" for match in USE.finditer(source.code))


def _includes(source: Source, part: str) -> bool:
    return isinstance(source, Cpp) and any(part in include.path for include in source.includes)


def _is_of_device(source: Cpp, project: Project, of: Span) -> bool:
    """Return whether an object is the properties of a device, by its declaration or by the function that returns it."""
    # `(*props)`
    while source.code.startswith(b"(", of.start) and source.closing(of.start) == of.end - 1:
        of = source.trimmed(Span(of.start + 1, of.end - 1))
    last = last_name(source.code, of.end)
    if last is None or last.start < of.start:
        return False
    name = source.code[last.start : last.end]
    if _RETURNED.search(name) and source.code[last.end : of.end].lstrip().startswith(b"("):
        return True
    if name not in project.union_over(source, _properties):
        return False
    # The last visible declaration of that name.
    before = re.compile(rb"\b(\w+)\s*>?[&*\s]+" + name + rb"\s*[;,)={\[]")
    declared = [match[1] for match in before.finditer(source.code, 0, of.start)]
    types = [each for each in declared if each not in (b"return", b"else", b"case", b"const")]
    return not types or types[-1] in (
        b"cudaDeviceProp",
        b"hipDeviceProp_t",
        b"auto",
        *project.union_over(source, _other_names),
    )


def _other_names(source: Cpp) -> frozenset[bytes]:
    """The program's own names for the type of a device's properties."""
    found = (match[1] or match[2] for match in _ALIASES.finditer(source.code))
    return frozenset(found)


def _properties(source: Cpp) -> frozenset[bytes]:
    """Return the names that are declared as properties of a device."""
    found = {match[1] for match in _GOT.finditer(source.code)}
    others = source.fact(_other_names)
    places = [match.end() for match in _PROPERTIES.finditer(source.code)]
    places += [span.end for span, _ in source.names(others)] if others else []
    for place in places:
        declared = _DECLARED.match(source.code, place)
        while declared is not None:
            found.add(declared[1])
            declared = _DECLARED.match(source.code, declared.end()) if declared[2] == b"," else None
    return frozenset(found)


def _members(source: Cpp) -> frozenset[bytes]:
    """Return a non-empty set if the program itself has a member of that name: `int warpSize;` in a structure."""
    return frozenset(match[1] for match in _OWN_MEMBER.finditer(source.code) if _is_member(source, match.start(1)))


def _owners(source: Cpp) -> frozenset[bytes]:
    """Return the program's structures that have a member of that name."""
    found = set()
    for match in _OWN_MEMBER.finditer(source.code):
        node = source.tree.root_node.descendant_for_byte_range(match.start(1), match.start(1))
        while node is not None and node.type not in ("struct_specifier", "class_specifier", "compound_statement"):
            node = node.parent
        name = node.child_by_field_name("name") if node is not None else None
        if name is not None:
            found.add(source.code[name.start_byte : name.end_byte])
    return frozenset(found)


def _is_member(source: Cpp, offset: int) -> bool:
    """Return whether the declaration is in a structure: a variable of that name is not a member."""
    node = source.tree.root_node.descendant_for_byte_range(offset, offset)
    while node is not None and node.type not in ("declaration", "field_declaration", "compound_statement"):
        node = node.parent
    return node is not None and node.type == "field_declaration"


PASS = Pass(Cpp, find)

# SPDX-License-Identifier: Apache-2.0
"""The operands that each PTX instruction reads and writes, and the function of hipport/ptx.h that replaces it.

Sources: PTX ISA 9.0, "Instruction Set"; the first comment of hipport/ptx.h, which explains its names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from hipport.core.tables import Words, load
from hipport_passes.device.ptx.ptx_assembly import (
    Address,
    Changed,
    Number,
    Pair,
    PtxInstruction,
    Register,
    Value,
    Vector,
)

TABLE = Path(__file__).parent.parent / "inline_ptx.toml"
NAMESPACE = b"hipport::ptx::"
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"))
# Instructions of video whose result needs the third operand.
_VIDEO = _WORDS.compile(rb"v(?&video)[24]\b")

#: The C++ type of each PTX type.
CPP = {
    b"pred": b"bool",
    b"b8": b"unsigned char",
    b"u8": b"unsigned char",
    b"s8": b"signed char",
    b"b16": b"unsigned short",
    b"u16": b"unsigned short",
    b"s16": b"short",
    b"f16": b"unsigned short",
    b"bf16": b"unsigned short",
    b"b32": b"unsigned",
    b"u32": b"unsigned",
    b"s32": b"int",
    b"u16x2": b"unsigned",
    b"s16x2": b"unsigned",
    b"f16x2": b"unsigned",
    b"bf16x2": b"unsigned",
    b"tf32": b"unsigned",
    b"f32": b"float",
    b"b64": b"unsigned long long",
    b"u64": b"unsigned long long",
    b"s64": b"long long",
    b"f64": b"double",
}
BITS = {b"pred": 1, b"b8": 8, b"u8": 8, b"s8": 8, b"b16": 16, b"u16": 16, b"s16": 16, b"f16": 16, b"bf16": 16} | {
    name: 64 if b"64" in name else 32 for name in CPP if b"64" in name or b"32" in name or b"x2" in name
}
_WIDER = {b"u16": b"u32", b"s16": b"s32", b"u32": b"u64", b"s32": b"s64"}
_SPACES = frozenset(b"global const param local shared shared::cta".split())
_NO_VALUE = frozenset(b"aligned noftz weak".split())
_NO_ACCESS = frozenset(b"nc ca cs lu wb".split())
_ORDERS = frozenset(b"relaxed acquire release acq_rel volatile cg cv wt cta gpu sys".split())
_OPERATIONS = frozenset(b"add min max and or xor exch cas inc dec".split())
_COMPARISONS = frozenset(b"eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan".split())
_SET = frozenset(b"pred u16 s16 f16 u32 s32 f32".split())
_COMBINED = {b"and": b"%b && %b", b"or": b"%b || %b", b"xor": b"%b != %b"}


class Untranslated(Exception):
    """A statement that C++ cannot express. `kind` is that of the finding, the message names the obstacle."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction's operation: `result = call(sources)`, where `call` gets the sources as C++ expressions.

    Outputs by reference come `before` the sources, or `after` them.
    """

    call: Callable[[Sequence[bytes]], bytes]
    sources: tuple[tuple[Value, bytes], ...] = ()
    result: tuple[Value, bytes] | None = None
    before: tuple[tuple[Value, bytes], ...] = ()
    after: tuple[tuple[Value, bytes], ...] = ()
    #: The carry flag: b"r" if it is read, b"w" if it is written.
    carry: bytes = b""
    #: Whether it has a side effect.
    effect: bool = False
    #: Whether variables may have other values after it: it writes memory, or waits for others to do so.
    changes: bool = False
    assumes: str = ""

    @property
    def written(self) -> Iterator[tuple[Value, bytes]]:
        if self.result is not None:
            yield self.result
        yield from self.before
        yield from self.after


@cache
def _signatures() -> Mapping[bytes, tuple[tuple[re.Pattern[bytes], bytes], ...]]:
    """Return the rows of the table, as patterns, by the first word of the opcodes."""
    found: dict[bytes, list[tuple[re.Pattern[bytes], bytes]]] = {}
    for key, types in load(TABLE)["instructions"].items():
        row = re.compile(pattern(key)), types.encode()
        for root in expanded(re.split(r"[.\[]", key, maxsplit=1)[0]):
            found.setdefault(root.encode(), []).append(row)
    return {root: tuple(rows) for root, rows in found.items()}


def pattern(key: str) -> bytes:
    """Return the regular expression for a key of the table."""
    text = re.escape(key).replace(r"\[", "(?:").replace(r"\]", ")?").replace(r"\{", "(?:").replace(r"\}", ")")
    return text.replace(",", "|").encode()


def expanded(key: str) -> Iterator[str]:
    """Yield the opcodes that a key of the table stands for."""
    match = re.search(r"\[([^\[\]]*)\]|\{([^{}\[\]]*)\}", key)
    if match is None:
        yield key
        return
    for each in ("", match[1]) if match[1] is not None else match[2].split(","):
        yield from expanded(key[: match.start()] + each + key[match.end() :])


@cache
def review() -> tuple[tuple[re.Pattern[bytes], str], ...]:
    """Return the patterns of opcodes that are right under an assumption, each with that assumption."""
    return tuple((re.compile(pattern(key) + rb"\b"), why) for key, why in load(TABLE)["review"].items())


def signature(opcode: bytes) -> tuple[tuple[bytes, ...], tuple[bytes, ...]] | None:
    """Return the types of the result and the arguments of an instruction, and of its other outputs."""
    for row, types in _signatures().get(opcode.split(b".")[0], ()):
        if row.fullmatch(opcode):
            first, _, other = types.partition(b"|")
            of = [part for part in opcode.split(b".") if part in CPP]
            letters = dict(zip((b"X", b"Y", b"Z"), of, strict=False))
            if of:
                letters |= {b"T": of[-1], b"W": _WIDER.get(of[-1], of[-1])}
            return (
                tuple(letters.get(each, each) for each in first.split()),
                tuple(letters.get(each, each) for each in other.split()),
            )
    return None


def called(function: bytes) -> Callable[[Sequence[bytes]], bytes]:
    """Return a function that writes a call of `function`."""
    return lambda sources: function + b"(" + b", ".join(sources) + b")"


def _function(opcode: bytes) -> Callable[[Sequence[bytes]], bytes]:
    return called(NAMESPACE + opcode.replace(b"::", b"_").replace(b".", b"_"))


def _format(text: bytes) -> Callable[[Sequence[bytes]], bytes]:
    return lambda sources: text % tuple(sources)


def function_name(does: Operation) -> bytes:
    """Return the name of the function if the operation is a plain call with its sources as arguments; else nothing."""
    names = [b"x%d" % i for i in range(len(does.sources))]
    name, _, arguments = does.call(names).partition(b"(")
    return name if arguments == b", ".join(names) + b")" and re.fullmatch(rb"[\w:]+", name) else b""


def operation(instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    """Return the operation of `instruction`. Raises Untranslated."""
    parts = [part for part in instruction.parts if part not in _NO_VALUE]
    root = parts[0]
    special = _SPECIAL.get(root)
    found = special(parts, instruction, type_of) if special is not None else None
    if found is None:
        found = _plain(b".".join(parts), instruction)
    if root.startswith(b"mov") or found.assumes:
        return found
    for row, why in review():
        if row.match(instruction.opcode):
            return replace(found, assumes=why)
    return found


def _unknown(instruction: PtxInstruction) -> Untranslated:
    return Untranslated("unknown", f"hipport knows no equivalent of the PTX instruction {instruction.opcode.decode()}")


def _operands(instruction: PtxInstruction, message: str = "") -> Untranslated:
    return Untranslated(
        "unknown", f"{instruction.opcode.decode()} is unknown with {message or 'operands of this kind'}"
    )


def _plain(opcode: bytes, instruction: PtxInstruction, name: bytes = b"") -> Operation:
    """Return the operation of an instruction in the table."""
    known = signature(opcode)
    if known is None:
        raise _unknown(instruction)
    (result_type, *types), others = known
    operands = list(instruction.operands)
    result: tuple[Value, bytes] | None = None
    after: list[tuple[Value, bytes]] = []
    carry = b""
    if b"cc" in others:
        words = opcode.split(b".")
        carry = (b"r" if words[0] in (b"addc", b"subc", b"madc") else b"") + (b"w" if b"cc" in words else b"")
        others = ()
    if result_type != b"-":
        if not operands:
            raise _operands(instruction, "no operands")
        first = operands.pop(0)
        if isinstance(first, Pair):
            if not others:
                raise _operands(instruction)
            result = first.first, result_type
            after = [(first.second, others[0])]
        else:
            result = first, result_type
            if others and opcode.startswith((b"match", b"elect")):
                after = [(Register(b"_"), others[0])]
    if len(operands) != len(types):
        raise _operands(instruction, f"{len(instruction.operands)} operands")
    root = opcode.split(b".")[0]
    waits = root in (b"bar", b"barrier")
    return Operation(
        _function(name or opcode),
        tuple(zip(operands, types, strict=True)),
        result,
        after=tuple(after),
        carry=carry,
        effect=waits or root in (b"fence", b"membar", b"trap", b"brkpt", b"nanosleep"),
        changes=waits,
    )


def _mov(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    if len(instruction.operands) != 2 or len(parts) != 2 or (parts[1] not in CPP and parts[1] != b"b128"):
        raise _operands(instruction)
    to, of = instruction.operands
    kind = parts[1]
    if isinstance(to, Vector) or isinstance(of, Vector):
        vector = to if isinstance(to, Vector) else of
        assert isinstance(vector, Vector)
        bits = 128 if kind == b"b128" else BITS[kind]
        if bits % len(vector.items) or kind == b"b128":
            raise _operands(instruction)
        element = b"b%d" % (bits // len(vector.items))
        elements = tuple((item, element) for item in vector.items)
        call = _function(b"mov.b%d" % bits)
        if isinstance(to, Vector):
            return Operation(call, ((of, kind),), before=elements)
        return Operation(call, elements, (to, kind))
    if isinstance(of, Register):
        special = load(TABLE)["registers"].get(of.name.decode())
        if special is not None and not type_of(of):
            text = special["is"].encode()
            return Operation(
                lambda _: text, (), (to, special.get("type", "u32").encode()), assumes=special.get("why", "")
            )
    # Registers have no types: a float stays a float.
    have = type_of(of)
    if have in BITS and BITS[have] == BITS.get(kind) and kind != b"pred":
        kind = have
    return Operation(lambda sources: sources[0], ((of, kind),), (to, kind))


def _setp(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    rest = parts[1:]
    compare = rest.pop(0) if rest else b""
    combined = rest.pop(0) if rest and rest[0] in _COMBINED else b""
    ftz = [rest.pop(0)] if rest and rest[0] == b"ftz" else []
    of = rest.pop() if rest else b""
    result_type = b"pred"
    if parts[0] == b"set":
        result_type = rest.pop() if rest else b""
    if rest or compare not in _COMPARISONS or of not in CPP or of.endswith(b"x2") or result_type not in _SET:
        raise _unknown(instruction)
    if len(instruction.operands) != (4 if combined else 3):
        raise _operands(instruction, f"{len(instruction.operands)} operands")
    to, a, b, *third = instruction.operands
    call = NAMESPACE + b"_".join([b"setp", compare, *ftz, of]) + b"(%b, %b)"
    text = _COMBINED[combined] % (call, b"%b") if combined else call
    sources = ((a, of), (b, of), *((c, b"pred") for c in third))
    if isinstance(to, Pair):
        # The second output is the complement of the comparison, combined in the same way.
        complement = _COMBINED[combined] % (b"!" + call, b"%b") if combined else b"!" + call
        if result_type != b"pred":
            raise _operands(instruction)
        return Operation(
            lambda s: text % tuple(s) + b"\0" + complement % tuple(s),
            sources,
            (to.first, b"pred"),
            after=((to.second, b""),),
        )
    if result_type != b"pred":
        text = NAMESPACE + b"set_" + result_type + b"(" + text + b")"
    return Operation(_format(text), sources, (to, result_type))


def _logic(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation | None:
    """Return the operation of `and.pred` and the like."""
    if parts[1:] != [b"pred"]:
        return None
    text = {b"and": b"%b && %b", b"or": b"%b || %b", b"xor": b"%b != %b", b"not": b"!%b"}[parts[0]]
    count = 2 if parts[0] == b"not" else 3
    if len(instruction.operands) != count:
        raise _operands(instruction)
    to, *sources = instruction.operands
    return Operation(_format(text), tuple((each, b"pred") for each in sources), (to, b"pred"))


@dataclass(slots=True)
class _Access:
    """The parts of the opcode of a load, a store or an atomic operation."""

    root: bytes
    space: bytes = b""
    kind: bytes = b""
    vector: bytes = b""
    order: list[bytes] = field(default_factory=list)
    done: bytes = b""
    #: Whether an operand is a cache policy, which changes no value.
    hint: bool = False

    @property
    def atomic(self) -> bool:
        return self.root in (b"atom", b"red")

    @property
    def small(self) -> bool:
        return self.kind in (b"f16", b"bf16", b"f16x2", b"bf16x2")

    @property
    def function(self) -> bytes:
        """Return the function of hipport/ptx.h."""
        order, vector = self.order, [self.vector] if self.vector else []
        if self.atomic and self.small:
            return NAMESPACE + b"_".join([self.root, *order, self.done, self.kind, *vector])
        words = [self.root, *order, *([self.done] if self.done else []), *vector]
        return NAMESPACE + b"_".join(words) + b"<" + CPP[self.kind] + b">"


def _access(parts: list[bytes], instruction: PtxInstruction) -> _Access:
    """Read the parts of an opcode. Raises Untranslated."""
    found = _Access(parts[0])
    for part in parts[1:]:
        if part in _SPACES:
            found.space = part
        elif part in _NO_ACCESS and not found.atomic:
            continue
        elif part.startswith((b"L1::", b"L2::", b"level::")):
            found.hint = found.hint or part.endswith(b"cache_hint")
        elif part == b"cluster":
            found.order.append(b"gpu")
        elif part in (b"v2", b"v4"):
            found.vector = part
        elif part in _ORDERS and not (found.atomic and part in (b"volatile", b"cg", b"cv", b"wt")):
            found.order.append(part)
        elif part in _OPERATIONS and found.atomic and not found.done:
            found.done = part
        elif part in CPP and part != b"pred" and not found.kind:
            found.kind = part
        else:
            raise _unknown(instruction)
    # Each element is added separately, in any order.
    by_element = found.done == b"add" and (found.small or found.kind == b"f32")
    nothing_done = found.atomic and (not found.done or (found.vector and not by_element))
    if not found.kind or nothing_done or (found.root == b"ldu" and found.order):
        raise _unknown(instruction)
    return found


def _memory(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    access = _access(parts, instruction)
    root, kind, count = access.root, access.kind, int(access.vector[1:] or b"1")
    operands = list(instruction.operands)
    to = operands.pop(0) if root in (b"ld", b"ldu", b"atom") and operands else None
    address = operands.pop(0) if operands else None
    if not isinstance(address, Address):
        raise _operands(instruction)
    wanted = {b"ld": 0, b"ldu": 0, b"st": 1, b"red": 1, b"atom": 2 if access.done == b"cas" else 1}[root]
    if access.hint and len(operands) == wanted + 1:
        operands.pop()
    if len(operands) != wanted:
        raise _operands(instruction, f"{len(instruction.operands)} operands")
    values: list[tuple[Value, bytes]] = []
    for each in operands:
        if isinstance(each, Vector) != bool(access.vector):
            raise _operands(instruction)
        values += [(item, kind) for item in each.items] if isinstance(each, Vector) else [(each, kind)]
    if (root == b"st" or (access.atomic and access.vector)) and len(values) != count:
        raise _operands(instruction)
    call, places = _on_address(access, address)
    sources = (*places, *values)
    if root in (b"st", b"red"):
        return Operation(call, sources, effect=True, changes=True)
    assert to is not None
    does = access.atomic or bool(access.order)
    if access.vector:
        if not isinstance(to, Vector) or len(to.items) != count:
            raise _operands(instruction)
        return Operation(call, sources, before=tuple((item, kind) for item in to.items), effect=does, changes=does)
    if isinstance(to, (Vector, Pair)):
        raise _operands(instruction)
    return Operation(call, sources, (to, kind), effect=does, changes=does)


def _on_address(
    access: _Access, address: Address
) -> tuple[Callable[[Sequence[bytes]], bytes], list[tuple[Value, bytes]]]:
    """Return a function that writes the call, whose first sources are the address, and those sources."""
    where = NAMESPACE + (b"shared" if access.space.startswith(b"shared") else b"generic")
    sources: list[tuple[Value, bytes]] = [(address.base, b"address")]
    if address.offset is not None:
        sources.append((address.offset, b"s32"))
    function, of_place = access.function, len(sources)

    def call(given: Sequence[bytes]) -> bytes:
        place, others = b", ".join(given[:of_place]), given[of_place:]
        return function + b"(" + b", ".join([where + b"(" + place + b")", *others]) + b")"

    return call, sources


def _prefetch(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    if len(instruction.operands) != 1 or not isinstance(instruction.operands[0], Address):
        raise _operands(instruction)
    base = instruction.operands[0].base
    return Operation(_function(b"prefetch"), ((base, b"address"),))


def _hint(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    """Return an operation without effect: a hint, a cache policy or `discard`, which change no value."""
    if not instruction.operands:
        raise _operands(instruction, "no operands")
    first = instruction.operands[0]
    if parts[0] == b"createpolicy":
        return Operation(lambda _: b"0", (), (first, b"u64"))
    if not isinstance(first, Address):
        raise _operands(instruction)
    return Operation(_format(b"(void)(%b)"), ((first.base, b"address"),))


def _copy(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    """Return the operation of `cp.async`: the copy may be immediate, and commits and waits then do nothing."""
    operands = list(instruction.operands)
    if parts[2:] in ([b"commit_group"], [b"wait_all"], [b"wait_group"]):
        if len(operands) != (parts[2] == b"wait_group"):
            raise _operands(instruction, f"{len(operands)} operands")
        # The number of groups that may be pending.
        sources = tuple((each, b"u32") for each in operands)
        return Operation(_function(b".".join(parts)), sources, effect=True, changes=True)
    shared, hints = parts[3:4], parts[5:]
    known = parts[2:3] in ([b"ca"], [b"cg"]) and shared in ([b"shared"], [b"shared::cta"]) and parts[4:5] == [b"global"]
    if not known or any(not part.startswith(b"L2::") for part in hints):
        raise _unknown(instruction)
    if b"L2::cache_hint" in hints and len(operands) > 3:
        operands.pop()  # The cache policy, which changes no value.
    if len(operands) not in (3, 4) or not (isinstance(operands[0], Address) and isinstance(operands[1], Address)):
        raise _operands(instruction)
    far = [address for address in operands[:2] if isinstance(address, Address)]
    sources_of: list[tuple[Value, bytes]] = []
    for address in far:
        sources_of.append((address.base, b"address"))
        if address.offset is not None:
            sources_of.append((address.offset, b"s32"))
    sources_of.append((operands[2], b"u32"))
    unless = len(operands) == 4 and type_of(operands[3]) == b"pred"
    if len(operands) == 4:
        sources_of.append((operands[3], b"pred" if unless else b"u32"))
    function = NAMESPACE + (b"cp_async_unless" if unless else b"cp_async")

    def call(sources: Sequence[bytes]) -> bytes:
        at, places = 0, []
        for address, where in zip(far, (b"shared", b"generic"), strict=True):
            count = 1 if address.offset is None else 2
            places.append(NAMESPACE + where + b"(" + b", ".join(sources[at : at + count]) + b")")
            at += count
        return function + b"(" + b", ".join([*places, *sources[at:]]) + b")"

    return Operation(call, tuple(sources_of), effect=True, changes=True)


def _barrier(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation | None:
    if b"warp" in parts:
        return None
    operands = list(instruction.operands)
    at = 1 if b"red" in parts else 0
    if operands[at : at + 1] == [Number(b"0")] and len(operands) == (3 if at else 1) and b"arrive" not in parts:
        del operands[at]
        return _plain(b".".join(parts), PtxInstruction(instruction.opcode, tuple(operands)))
    # `bar.sync 0, n` counts threads, which may be fewer than the block has.
    known = [part for part in parts[1:] if part != b"cta"]
    if (
        known not in ([b"sync"], [b"arrive"])
        or len(operands) not in (1, 2)
        or (known == [b"arrive"] and len(operands) == 1)
    ):
        row = load(TABLE)["refused"]["named_barrier"]
        raise Untranslated(
            "named_barrier",
            f"{instruction.opcode.decode()} of a barrier with a number or a count of threads: {row['why']}; "
            f"{row['instead']}",
        )
    if known == [b"arrive"] and operands[0] == Number(b"0"):
        row = load(TABLE)["refused"]["arrive_at_syncthreads"]
        raise Untranslated("arrive_at_syncthreads", f"{instruction.opcode.decode()} 0: {row['why']}; {row['instead']}")
    return Operation(
        called(b"hipport::numbered_" + known[0]),
        tuple((each, b"u32") for each in operands),
        effect=True,
        changes=True,
        assumes=load(TABLE)["named_barriers"]["why"],
    )


def _video(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation | None:
    opcode = b".".join(parts)
    operands = list(instruction.operands)
    if not operands or _VIDEO.match(opcode):
        return None
    to = operands[0]
    name = opcode
    if isinstance(to, Changed) and to.part:
        if parts[-1] in (b"add", b"min", b"max"):
            raise _operands(instruction)
        # A merged part has the types of a second operation.
        name = opcode + b"." + to.part
        opcode += b".add"
        operands[0] = to.of
    known = signature(opcode)
    if known is None or len(operands) != len(known[0]):
        raise (
            _unknown(instruction) if known is None else _operands(instruction, f"{len(instruction.operands)} operands")
        )
    signs = b""
    for i, operand in enumerate(operands[1:], 1):
        if isinstance(operand, Changed) and operand.sign == b"-" and parts[0] == b"vmad":
            signs += b"c" if i == 3 else b"p"
            operands[i] = operand.of
        inner = operands[i]
        if isinstance(inner, Changed) and inner.part and i > 2:
            raise _operands(instruction)
    if signs:
        word = {b"p": b"neg", b"pp": b"", b"c": b"negc"}.get(signs)
        if word is None:
            raise _operands(instruction, "these signs")
        name = b".".join([b"vmad", *([word] if word else []), name.split(b".", 1)[1]])
    types = known[0]
    emulated = load(TABLE)["emulated"]
    return Operation(
        _function(name),
        tuple(zip(operands[1:], types[1:], strict=True)),
        (operands[0], types[0]),
        assumes=emulated["why"] if re.fullmatch(emulated["forms"].encode(), name) else "",
    )


def _cvta(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation | None:
    named = [b"shared" if part == b"shared::cta" else part for part in parts]
    if named[1:] in ([b"u64"], [b"u32"]):
        return None
    return _plain(b".".join(named), instruction)


def _scoped(parts: list[bytes], instruction: PtxInstruction, type_of: Callable[[Value], bytes]) -> Operation:
    named = [b"gpu" if part == b"cluster" else part for part in parts]
    return _plain(b".".join(named), instruction)


_SPECIAL: Mapping[bytes, Callable[[list[bytes], PtxInstruction, Callable[[Value], bytes]], Operation | None]] = {
    b"mov": _mov,
    b"setp": _setp,
    b"set": _setp,
    **dict.fromkeys((b"and", b"or", b"xor", b"not"), _logic),
    **dict.fromkeys((b"ld", b"ldu", b"st", b"atom", b"red"), _memory),
    **dict.fromkeys((b"prefetch", b"prefetchu"), _prefetch),
    **dict.fromkeys((b"createpolicy", b"applypriority", b"discard"), _hint),
    b"cp": _copy,
    **dict.fromkeys((b"bar", b"barrier"), _barrier),
    **dict.fromkeys((b"vadd", b"vsub", b"vabsdiff", b"vmin", b"vmax", b"vset", b"vmad", b"vshl", b"vshr"), _video),
    b"cvta": _cvta,
    b"isspacep": _cvta,
    b"fence": _scoped,
}

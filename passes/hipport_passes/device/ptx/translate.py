# SPDX-License-Identifier: Apache-2.0
"""Translate an asm statement's PTX to C++ calls of the functions in hipport/ptx.h.

An asm statement reads all its operands first and writes them last. C++ written in its place does the same: an input is
read where it is used only if nothing before could have changed it, and an output is assigned at once only if nothing
that is read later could be another name of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipport.core.tables import Words, load
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.ptx.operations import BITS, CPP, NAMESPACE, TABLE, Operation, Untranslated, called, operation
from hipport_passes.device.ptx.ptx_assembly import (
    Address,
    Changed,
    Hole,
    Number,
    Pair,
    Placeholder,
    PtxInstruction,
    PtxProgram,
    Register,
    Value,
    Vector,
)
from hipport_passes.device.ptx.statements import UNKNOWN, Operand

#: The type of the register for a constraint.
_CONSTRAINTS = {
    UNKNOWN: b"?",
    b"h": b"b16",
    b"r": b"b32",
    b"l": b"b64",
    b"f": b"f32",
    b"d": b"f64",
    b"n": b"",
    b"i": b"",
}
_LITERAL = re.compile(rb"[-+~]?[0-9][\w.]*|\([-+~]?[0-9][\w.]*\)")
_WORDS = Words.read(Path(__file__).parent.with_name("device_words.toml"), general=NAMES)
_CAST = _WORDS.compile(rb"\b(?&casts_of_pointers)\s*<[^<>]*>")
_CHANGE = re.compile(rb"\+\+|--|[^=!<>]=[^=]")
_QUALIFIED = _WORDS.compile(rb"(?&hipport)(?:::\w+)+")
_CLUSTER = _WORDS.compile(rb"n?(?&cluster)|(?&clusters)")
_INTEGER = re.compile(rb"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*")
_CALL = re.compile(rb"[\w>\]]\s*\(")


@dataclass(frozen=True, slots=True)
class Translation:
    """C++ statements, without the semicolons of the last; more than one belong in a block."""

    lines: tuple[bytes, ...]
    #: Assumptions under which they are right.
    assumes: tuple[str, ...]
    #: Whether they contain a name of hipport's.
    helped: bool
    #: Whether they contain the variable for the carry flag.
    flagged: bool


@dataclass(frozen=True)
class PtxPlace:
    """The place of an asm statement, and the variable for the carry flag there."""

    #: The parameters of the macro that contains it, if any.
    parameters: frozenset[bytes] = frozenset()
    in_macro: bool = False
    #: Whether an operand is a pointer.
    is_pointer: Callable[[bytes], bool] = lambda _: False
    #: Whether a later asm statement may read the carry flag that this one sets.
    carry_escapes: bool = True
    #: The variable for a carry flag that is passed on, if there is one.
    flag: bytes = b""


_ANYWHERE = PtxPlace()


def translate(
    program: PtxProgram,
    outputs: Sequence[Operand],
    inputs: Sequence[Operand],
    holes: Sequence[bytes] = (),
    place: PtxPlace = _ANYWHERE,
    *,
    callee: bytes = b"",
) -> Translation:
    """Translate an asm statement.

    `callee`: the function to call instead of the instruction's. Raises Untranslated.
    """
    translator = _Translator(program, outputs, inputs, holes, place)
    if callee:
        translator.operations = [replace(each, call=called(callee)) for each in translator.operations]
    result = translator.translation(place.carry_escapes, place.flag)
    names = b" ".join(result.lines).replace(callee, b"") if callee else b" ".join(result.lines)
    clash = place.parameters & {word for name in _QUALIFIED.findall(names) for word in name.split(b"::")}
    if clash:
        word = min(clash).decode()
        raise Untranslated("unreadable", f"{word}, a parameter of the macro, is also part of a name in hipport/ptx.h")
    return result


@dataclass
class _Uses:
    """The reads and writes of an operand, or a register, by the numbers of the instructions."""

    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)
    #: Whether the first write is by reference.
    referred: bool = False


class _Translator:
    def __init__(
        self,
        program: PtxProgram,
        outputs: Sequence[Operand],
        inputs: Sequence[Operand],
        holes: Sequence[bytes],
        place: PtxPlace,
    ) -> None:
        self.program = program
        self.outputs = outputs
        self.operands = [*outputs, *inputs]
        self.holes = holes
        self.parameters = place.parameters
        self.is_pointer = place.is_pointer
        self.prefix = b"ptx_" if place.in_macro else b""
        self.types = [self.constraint(i) for i in range(len(self.operands))]
        self.assumes: list[str] = []
        self.operations = [operation(each, self.type_of) for each in program.instructions]
        self.instructions = list(program.instructions)
        self.uses: dict[Value, _Uses] = {}
        words = {word for operand in self.operands for word in re.findall(rb"\w+", operand.expression)}
        self.taken = words | place.parameters
        self.names: dict[Value, bytes] = {}
        self.declared: set[Value] = set()

    def constraint(self, index: int) -> bytes:
        letters = self.operands[index].constraint.lstrip(b"=+&")
        if letters.isdigit() and index >= len(self.outputs) and int(letters) < len(self.outputs):
            raise Untranslated("unreadable", 'one of its inputs shares a register with an output: write "+" instead')
        if letters not in _CONSTRAINTS or (letters == UNKNOWN and index < len(self.outputs)):
            raise Untranslated(
                "unreadable", f'hipport does not know its constraint "{letters.decode(errors="replace")}"'
            )
        return _CONSTRAINTS[letters]

    def type_of(self, value: Value) -> bytes:
        if isinstance(value, Placeholder):
            if value.index >= len(self.operands):
                raise Untranslated("unreadable", f"it has no operand %{value.index}")
            return self.types[value.index]
        if isinstance(value, Register):
            return self.program.registers.get(value.name, b"")
        return b""

    def translation(self, carry_escapes: bool, flag: bytes) -> Translation:
        if self.program.depth:
            raise Untranslated("open_block", "its block { } continues in another asm statement")
        self.gather()
        while self.drop_dead():
            self.gather()
        passed_on = self.passes_on(carry_escapes)
        if passed_on and not flag:
            raise Untranslated("carry", passed_on)
        self.name()
        self.carry = flag if passed_on else self.fresh(b"carry")
        lines = [*self.declarations(flag)]
        for i in range(len(self.operations)):
            lines += self.instruction(i)
        for i in range(len(self.outputs)):
            name = self.names.get(Placeholder(i))
            if name is not None and self.uses[Placeholder(i)].writes:
                lines.append(self.lvalue(i) + b" = " + name)
        helped = any(b"hipport::" in line for line in lines)
        lines = lines or [b"static_cast<void>(0)"]
        return Translation(tuple(lines), tuple(dict.fromkeys(self.assumes)), helped, bool(passed_on))

    # ---- reads and writes

    def drop_dead(self) -> bool:
        """Remove instructions without effect; return whether there were any."""
        alive = [
            each.effect
            or bool(each.carry)
            or each.result is None
            or not all(self.unread(leaf) for value, _ in each.written for leaf in _leaves(value))
            for each in self.operations
        ]
        self.operations = [each for each, kept in zip(self.operations, alive, strict=True) if kept]
        self.instructions = [each for each, kept in zip(self.instructions, alive, strict=True) if kept]
        return not all(alive)

    def gather(self) -> None:
        self.uses, self.assumes = {}, []
        for i, (each, instruction) in enumerate(zip(self.operations, self.instructions, strict=True)):
            if each.assumes:
                self.assumes.append(each.assumes)
            self.gather_reads(i, each, instruction)
            self.gather_writes(i, each, instruction)
        for leaf, uses in self.uses.items():
            if isinstance(leaf, Register) and self.type_of(leaf) and not uses.writes:
                raise Untranslated("unreadable", f"it reads {leaf.name.decode()}, which it does not set")
        for i in range(len(self.operands)):
            self.uses.setdefault(Placeholder(i), _Uses())

    def gather_reads(self, number: int, each: Operation, instruction: PtxInstruction) -> None:
        read = [value for value, _ in each.sources]
        if any(not kind for _, kind in each.after):
            # The complement is computed from the sources again.
            if each.result is not None and set(_leaves(each.result[0])) & {x for v in read for x in _leaves(v)}:
                raise Untranslated("unknown", f"{instruction.opcode.decode()} reads a predicate that it sets")
            read *= 2
        if instruction.guard is not None:
            read.append(instruction.guard)
        for value in read:
            for leaf in _leaves(value):
                self.checked(leaf)
                self.uses.setdefault(leaf, _Uses()).reads.append(number)

    def gather_writes(self, number: int, each: Operation, instruction: PtxInstruction) -> None:
        for value, kind in each.written:
            for leaf in _leaves(value):
                if leaf == Register(b"_"):
                    continue
                if isinstance(leaf, Placeholder) and leaf.index >= len(self.outputs):
                    raise Untranslated("unreadable", f"it writes %{leaf.index}, which is not an output")
                self.checked(leaf)
                uses = self.uses.setdefault(leaf, _Uses())
                uses.referred |= not uses.writes and kind != b"" and (each.result is None or each.result[0] != value)
                uses.writes.append(number)
        for value, _ in each.written:
            if isinstance(value, (Address, Number, Hole, Changed)):
                raise Untranslated(
                    "unknown", f"hipport does not know {instruction.opcode.decode()} with such a destination"
                )

    def checked(self, leaf: Value) -> None:
        """Raise Untranslated if the leaf is unknown."""
        if isinstance(leaf, Placeholder):
            self.type_of(leaf)
        elif isinstance(leaf, Register) and not self.type_of(leaf) and self.special(leaf) is None:
            if _CLUSTER.match(leaf.name):
                row = load(TABLE)["refused"]["cluster"]
                raise Untranslated("cluster", f"%{leaf.name.decode()}: {row['why']}; {row['instead']}")
            name = leaf.name.decode(errors="replace")
            if re.fullmatch(load(TABLE)["others"]["registers"], name):
                raise Untranslated("unknown", f"AMD has no equivalent of PTX's register %{name}")
            raise Untranslated("unreadable", f"it uses {name}, which its text does not declare")

    @staticmethod
    def special(register: Register) -> Mapping[str, str] | None:
        found: Mapping[str, str] | None = load(TABLE)["registers"].get(register.name.decode(errors="replace"))
        return found

    def passes_on(self, carry_escapes: bool) -> str:
        """Return how the carry flag is passed between this asm statement and others; nothing if it is not."""
        known = pending = False
        for each in self.operations:
            if b"r" in each.carry and not known:
                return "it reads the carry flag of another asm statement"
            if b"r" in each.carry:
                pending = False
            if b"w" in each.carry:
                known = pending = True
        return "it passes the carry flag to another asm statement" if pending and carry_escapes else ""

    # ---- names

    def name(self) -> None:
        """Choose the values that get names of their own in the block; the others are written where they are used."""
        guards = [instruction.guard for instruction in self.instructions]
        changes = [i for i, each in enumerate(self.operations) if each.changes]
        for leaf in list(self.uses):
            if isinstance(leaf, Register) and self.type_of(leaf):
                self.names[leaf] = self.fresh(leaf.name.replace(b"$", b"_").replace(b".", b"_"))
        inputs = range(len(self.outputs), len(self.operands))
        for i in inputs:
            uses, text = self.uses[Placeholder(i)], self.operands[i].expression
            if not uses.reads or self.constant(i):
                continue
            late = any(e < uses.reads[-1] for e in changes)
            fleeting = text in self.parameters or _does_something(text)
            once = len(uses.reads) == 1 and guards[uses.reads[0]] is None
            if late or (fleeting and not once):
                self.names[Placeholder(i)] = self.fresh(b"in%d" % (i - inputs.start) if len(inputs) > 1 else b"in")
        for i, operand in enumerate(self.outputs):
            leaf = Placeholder(i)
            uses = self.uses[leaf]
            if not uses.writes:
                continue
            first = uses.writes[0]
            # Operands that are read after this output is assigned, and so must not alias it.
            later = [
                other
                for other, its in self.uses.items()
                if other not in self.names and other != leaf and isinstance(other, Placeholder)
                if not self.constant(other.index) and any(read > first for read in its.reads)
            ]
            touched = len(uses.writes) > 1 or bool(uses.reads)
            simple = not _does_something(operand.expression)
            again = any(read > first for read in uses.reads) or len(uses.writes) > 1
            if later or (touched and not simple) or (again and any(e > first for e in changes)):
                self.names[leaf] = self.fresh(b"out%d" % i if len(self.outputs) > 1 else b"out")
        self.check_outputs()

    def constant(self, index: int) -> bool:
        return not self.types[index] or _LITERAL.fullmatch(self.operands[index].expression) is not None

    def check_outputs(self) -> None:
        """Raise Untranslated if writing one output changes the address of another one."""
        texts = [(operand.expression, operand) for operand in self.outputs]
        for i, (text, operand) in enumerate(texts):
            if operand.constraint.startswith(b"+") and _CHANGE.search(text):
                raise Untranslated("unreadable", "an operand that it reads and writes has a side effect")
            for j, (other, _) in enumerate(texts):
                if i != j and text != other and re.search(rb"(?<!\w)" + re.escape(text) + rb"(?!\w)", other):
                    raise Untranslated(
                        "unreadable",
                        f"the address of its output {other.decode()} depends on {text.decode(errors='replace')}",
                    )

    def fresh(self, name: bytes) -> bytes:
        name = self.prefix + name
        while name in self.taken or name in _RESERVED:
            name += b"_"
        self.taken.add(name)
        return name

    # ---- text

    def declarations(self, flag: bytes) -> Iterator[bytes]:
        for leaf, name in self.names.items():
            uses = self.uses[leaf]
            if self.unread(leaf) and not uses.referred:
                continue
            if isinstance(leaf, Placeholder):
                text = self.operands[leaf.index].expression
                cpp = CPP[self.types[leaf.index]]
                if leaf.index >= len(self.outputs):
                    # A pointer stays a pointer.
                    kind = b"auto" if self.types[leaf.index] == b"b64" and self.only_address(leaf) else cpp
                    yield b"const " + kind + b" " + name + b" = " + text
                    self.declared.add(leaf)
                    continue
                if self.outputs[leaf.index].constraint.startswith(b"+"):
                    yield cpp + b" " + name + b" = " + text
                    self.declared.add(leaf)
                    continue
            else:
                cpp = CPP[self.type_of(leaf)]
            guarded = self.instructions[uses.writes[0]].guard is not None
            early = any(read <= uses.writes[0] for read in uses.reads)
            if uses.referred or guarded or early:
                yield cpp + b" " + name + (b" = 0" if guarded or early else b"")
                self.declared.add(leaf)
        for i in range(len(self.outputs), len(self.operands)):
            text = self.operands[i].expression
            if not self.uses[Placeholder(i)].reads and _does_something(text):
                yield b"static_cast<void>(" + text + b")"
        if any(each.carry for each in self.operations) and self.carry != flag:
            yield b"unsigned " + self.carry + b" = 0"

    def only_address(self, leaf: Placeholder) -> bool:
        return all(
            kind == b"address" for each in self.operations for value, kind in each.sources if leaf in _leaves(value)
        )

    def instruction(self, i: int) -> Iterator[bytes]:
        each, instruction = self.operations[i], self.instructions[i]
        guard = b"if (" + self.read(instruction.guard, b"pred") + b") " if instruction.guard is not None else b""
        sources = [self.read(value, kind) for value, kind in each.sources]
        before = [self.reference(value) for value, _ in each.before]
        after = [self.reference(value) for value, kind in each.after if kind]
        if each.carry:
            after.append(self.carry)
        text, _, complement = each.call(sources).partition(b"\0")
        if before or after:
            text = _with(text, before, after)
        if each.result is not None and not self.unread(each.result[0]):
            text = self.written(each.result[0], each.result[1], text, guard, i)
        else:
            text = guard + text if not complement else b""
        other = b""
        if complement and not self.unread(each.after[0][0]):
            other = self.written(each.after[0][0], b"pred", complement, guard, i)
        if guard and text and other:
            # The first statement may change the guard's condition.
            yield guard + b"{ " + text.removeprefix(guard) + b"; " + other.removeprefix(guard) + b"; }"
        else:
            yield from filter(None, (text, other))

    def unread(self, value: Value) -> bool:
        """Return whether nothing reads the written value."""
        return isinstance(value, Register) and (value == Register(b"_") or not self.uses[value].reads)

    def written(self, to: Value, kind: bytes, text: bytes, guard: bytes, i: int) -> bytes:
        if not isinstance(to, (Register, Placeholder)):
            raise Untranslated(
                "unknown", f"hipport does not know {self.instructions[i].opcode.decode()} with such a destination"
            )
        text = self.converted(text, kind, self.type_of(to))
        name = self.names.get(to)
        if name is None:
            assert isinstance(to, Placeholder)
            expression = self.operands[to.index].expression
            if self.types[to.index] == b"b64" and self.is_pointer(expression):
                text = NAMESPACE + b"as<decltype(" + expression + b")>(" + text + b")"
            return guard + self.lvalue(to.index) + b" = " + text
        if to in self.declared:
            return guard + name + b" = " + text
        self.declared.add(to)
        const = b"const " if len(self.uses[to].writes) == 1 else b""
        return const + CPP[self.type_of(to)] + b" " + name + b" = " + text

    def lvalue(self, index: int) -> bytes:
        return _bracketed(self.operands[index].expression)

    def reference(self, value: Value) -> bytes:
        if value == Register(b"_"):
            raise Untranslated("unknown", "it drops a part of its result")
        if not isinstance(value, (Register, Placeholder)):
            raise Untranslated("unknown", "it has a destination of an unknown kind")
        return self.names.get(value) or self.lvalue(value.index)  # type: ignore[union-attr]

    def read(self, value: Value, kind: bytes) -> bytes:
        if isinstance(value, Changed):
            if value.sign == b"!" and kind == b"pred":
                return b"!" + self.read(value.of, kind)
            if re.fullmatch(rb"b[0-3]|h[01]", value.part) and kind in (b"u32", b"s32"):
                return NAMESPACE + value.part + b"_" + kind + b"(" + self.read(value.of, kind) + b")"
            raise Untranslated(
                "unknown", f"hipport does not know an operand with {(value.sign or value.part).decode()} here"
            )
        if isinstance(value, Number):
            return _literal(value.text, kind)
        if isinstance(value, Hole):
            text = self.holes[value.index]
            if not text.startswith(b"#"):
                raise Untranslated(
                    "unreadable",
                    f"its text contains {text.decode(errors='replace')}, which may be more than one string",
                )
            return text.lstrip(b"# \t")
        if isinstance(value, Register) and not self.type_of(value):
            special = self.special(value)
            assert special is not None
            if "why" in special:
                self.assumes.append(special["why"])
            return special["is"].encode()
        if not isinstance(value, (Register, Placeholder)):
            raise Untranslated("unknown", "it has a source of an unknown kind")
        have = self.type_of(value)
        name = self.names.get(value)
        if name is not None:
            return self.converted(name, have, kind)
        assert isinstance(value, Placeholder)
        text = _bracketed(self.operands[value.index].expression)
        if have == b"b64" and kind != b"address" and self.is_pointer(self.operands[value.index].expression):
            text = NAMESPACE + b"as<unsigned long long>(" + text + b")"
        return self.converted(text, have, kind)

    def converted(self, text: bytes, have: bytes, want: bytes) -> bytes:
        """Return an expression of type `have` converted to the type `want`, both of PTX."""
        if have == b"?" and want != b"address":
            raise Untranslated("unreadable", "one of its constraints is a macro that may be more than one string")
        if not have or have == want or want == b"address":
            if want == b"address" and have in (b"f32", b"f64", b"pred"):
                raise Untranslated("unknown", "an address is not a number")
            return text
        floating = (b"f32", b"f64")
        if (have == b"pred") != (want == b"pred"):
            raise Untranslated("unknown", "a predicate is not a number")
        if have in floating or want in floating:
            if BITS[have] != BITS[want]:
                raise Untranslated(
                    "unknown", f"its registers of {have.decode()} and {want.decode()} are of different sizes"
                )
            if want in floating and (number := _INTEGER.fullmatch(text)):
                text = number[1] + (b"u" if want == b"f32" else b"ull")
            return NAMESPACE + b"as<" + CPP[want] + b">(" + text + b")"
        if BITS[have] > 32 >= BITS[want]:
            return b"static_cast<" + CPP[want] + b">(" + text + b")"
        return text


_RESERVED = frozenset(
    b"asm auto bool break case char class const default delete do double else enum explicit extern false "
    b"float for friend goto if inline int long namespace new operator private public register return short "
    b"signed sizeof static struct switch template this true typedef union unsigned using void volatile "
    b"while and or not xor".split()
)


def _does_something(expression: bytes) -> bool:
    """Return whether evaluating an expression twice may differ from once: it has a side effect, or a call."""
    text = _CAST.sub(b"", expression)
    return _CHANGE.search(text) is not None or _CALL.search(text) is not None


def _leaves(value: Value) -> Iterator[Value]:
    if isinstance(value, Vector):
        for item in value.items:
            yield from _leaves(item)
    elif isinstance(value, Pair):
        yield from _leaves(value.first)
        yield from _leaves(value.second)
    elif isinstance(value, Address):
        yield from _leaves(value.base)
        if value.offset is not None:
            yield from _leaves(value.offset)
    elif isinstance(value, Changed):
        yield from _leaves(value.of)
    elif isinstance(value, (Placeholder, Register)):
        yield value


def _with(call: bytes, before: Sequence[bytes], after: Sequence[bytes]) -> bytes:
    """Return a call with arguments before and after the given ones."""
    name, _, rest = call.partition(b"(")
    inside = rest[:-1]
    return name + b"(" + b", ".join([*before, *([inside] if inside else []), *after]) + b")"


def _bracketed(expression: bytes) -> bytes:
    """Return an expression in parentheses if it has a comma outside of brackets."""
    depth = 0
    for i in range(len(expression)):
        byte = expression[i : i + 1]
        depth += byte in (b"(", b"[", b"{")
        depth -= byte in (b")", b"]", b"}")
        if byte == b"," and not depth:
            return b"(" + expression + b")"
    return expression


def _literal(text: bytes, kind: bytes) -> bytes:
    if kind == b"address":
        raise Untranslated("unknown", "hipport does not support a number as an address")
    if kind == b"pred":
        return b"false" if text.strip(b"()") == b"0" else b"true"
    if text.startswith(b"-") and BITS.get(kind, 32) < 32:
        return b"static_cast<" + CPP[kind] + b">(" + text + b")"
    return text

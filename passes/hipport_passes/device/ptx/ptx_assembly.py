# SPDX-License-Identifier: Apache-2.0
"""Parse the text of an asm statement as PTX.

Source: PTX ISA 9.0, "Syntax", "Instruction Statements", "Instruction Operands"; the meaning of `%` in front of digits
and names: "Inline PTX Assembly in CUDA", 13.0.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hipport_passes.device.ptx.ptx_constants import evaluate

_TOKEN = re.compile(
    rb"""
      (?P<gap>(?:\s|//[^\n]*|/\*.*?\*/)+)
    | %(?P<index>\d+)
    | %\[(?P<symbol>\w+)\]
    | \0(?P<hole>\d+)\0
    | (?P<number>0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b | 0[xX][0-9a-fA-F]+U?\b | 0[bB][01]+U?\b
        | (?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)? | \d+[eE][-+]?\d+ | \d+U?\b)
    | (?P<register>%%?[A-Za-z_$][\w$]*(?:\.[A-Za-z]\w*)?|%%?=)
    | (?P<directive>\.[A-Za-z]\w*)
    | (?P<word>(?:[A-Za-z_$][\w$]*|%%?\w*=)(?:(?:\.|::)\w+)*)
    | (?P<selector>\.(?=[bh]\d))
    | (?P<sign>[-+*/()<>|&^~!@:;,=?\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_SELECTED = re.compile(rb"(?P<of>.*)\.(?P<part>[bh]\d+)")
# The number of registers in a declaration, and the number of one of them.
_COUNT = re.compile(rb"\d{1,9}")
_NUMBERED = re.compile(rb"0|[1-9]\d{0,8}")
_TYPES = frozenset(b"pred b8 u8 s8 b16 u16 s16 f16 f16x2 bf16 bf16x2 b32 u32 s32 f32 b64 u64 s64 f64 b128".split())


class Unparsed(Exception):
    """Text that is not PTX, as far as this parser knows. The message names the place."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`%0`: an operand of the asm statement, by its number."""

    index: int


@dataclass(frozen=True, slots=True)
class Register:
    """A register, declared in the text or one of PTX's own, without `%`."""

    name: bytes


@dataclass(frozen=True, slots=True)
class Number:
    """An immediate, as C++ writes it."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of the text that a macro fills in."""

    index: int


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b}`"""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`a|b`"""

    first: Value
    second: Value


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`"""

    base: Value
    offset: Value | None


@dataclass(frozen=True, slots=True)
class Changed:
    """`-a` or `!p` (`sign`), or `a.h0` (`part`)."""

    of: Value
    sign: bytes = b""
    part: bytes = b""


Value: TypeAlias = "Placeholder | Register | Number | Hole | Vector | Pair | Address | Changed"


@dataclass(frozen=True, slots=True)
class PtxInstruction:
    """An instruction. `guard` is the predicate after `@`."""

    opcode: bytes
    operands: tuple[Value, ...] = ()
    guard: Value | None = None

    @property
    def parts(self) -> list[bytes]:
        """Return the words of the opcode; `L2::128B` is one."""
        return self.opcode.split(b".")


@dataclass(frozen=True, slots=True)
class PtxProgram:
    """The instructions of an asm statement and the types of the registers that it declares.

    `depth` is the number of blocks that stay open; negative if more are closed than opened.
    """

    instructions: tuple[PtxInstruction, ...]
    registers: Mapping[bytes, bytes] = field(default_factory=dict)
    depth: int = 0


def opcodes(text: bytes) -> list[bytes]:
    """Return the first word of each statement in `text`, whether or not the rest can be parsed."""
    plain = re.sub(rb"//[^\n]*|/\*.*?\*/", b" ", text, flags=re.DOTALL)
    found = []
    for piece in re.split(rb"[;{}\n]", plain):
        match = re.match(rb"\s*(?:@!?[%\w$\0]+\s+)?([A-Za-z_][\w.:]*(?:\s+\.[\w.:]+)*)", piece)
        if match is not None:
            found.append(re.sub(rb"\s", b"", match[1]).rstrip(b":"))
    return found


def parse(text: bytes, symbols: Sequence[bytes] = ()) -> PtxProgram:
    """Parse `text`. `symbols` are the names of the operands, by their number. Raises Unparsed."""
    return _Parser(text, symbols).program()


class _Parser:
    def __init__(self, text: bytes, symbols: Sequence[bytes]) -> None:
        self.symbols = symbols
        self.tokens: list[tuple[str, bytes]] = []
        end = 0
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                raise Unparsed(f"at {_shown(text[end:])}")
            end = match.end()
            kind = match.lastgroup or ""
            if kind == "directive" and (selected := re.fullmatch(rb"\.([bh]\d+)", match.group())):
                # `%0.h1`, but `.b32` after `.reg`.
                self.tokens.append(("part", selected[1]))
            elif kind != "gap":
                self.tokens.append((kind, match[kind]))
        self.at = 0
        #: The names in the text, without a leading `%`, each once.
        named = (each.lstrip(b"%") for kind, each in self.tokens if kind in ("word", "register"))
        self.names = list(dict.fromkeys(named))

    def peek(self, ahead: int = 0) -> bytes:
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else b""

    def kind(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else ""

    def accept(self, sign: bytes) -> bool:
        if self.kind() == "sign" and self.peek() == sign:
            self.at += 1
            return True
        return False

    def expect(self, sign: bytes) -> None:
        if not self.accept(sign):
            raise Unparsed(f"at {_shown(self.peek()) or 'its end'}, where {sign.decode()} is expected")

    def program(self) -> PtxProgram:
        instructions: list[PtxInstruction] = []
        registers: dict[bytes, bytes] = {}
        depth = 0
        while self.at < len(self.tokens):
            if self.accept(b"{"):
                depth += 1
            elif self.accept(b"}"):
                depth -= 1
            elif self.accept(b";"):
                continue
            elif self.kind() == "directive":
                self.declaration(registers)
            else:
                instructions.append(self.instruction())
        return PtxProgram(tuple(instructions), registers, depth)

    def declaration(self, registers: dict[bytes, bytes]) -> None:
        word = self.peek()
        if word != b".reg":
            raise Unparsed(f"at the directive {word.decode()}")
        self.at += 1
        kind = self.peek().lstrip(b".")
        if kind not in _TYPES:
            raise Unparsed(f"at the type {_shown(kind)}")
        self.at += 1
        while True:
            if self.kind() not in ("word", "register"):
                raise Unparsed(f"at {_shown(self.peek()) or 'its end'} in a declaration")
            name = self.peek().lstrip(b"%")
            self.at += 1
            names = [name]
            if self.accept(b"<"):
                count = self.peek()
                if self.kind() != "number" or not _COUNT.fullmatch(count):
                    raise Unparsed(f"at {_shown(count)} in a declaration")
                self.at += 1
                self.expect(b">")
                names = self.numbered(name, int(count))
            for each in names:
                if registers.setdefault(each, kind) != kind:
                    raise Unparsed(f"at {each.decode()}, which two blocks declare with different types")
            if not self.accept(b","):
                break
        self.expect(b";")

    def numbered(self, name: bytes, count: int) -> list[bytes]:
        """Return those of the registers `name0`, `name1` … below `count` that the text has: compilers declare many."""
        return [
            each
            for each in self.names
            if each.startswith(name)
            and (number := _NUMBERED.fullmatch(each, len(name))) is not None
            and int(number[0]) < count
        ]

    def instruction(self) -> PtxInstruction:
        guard: Value | None = None
        if self.accept(b"@"):
            negated = self.accept(b"!")
            guard = self.atom()
            if negated:
                guard = Changed(guard, sign=b"!")
        if self.kind() != "word":
            raise Unparsed(f"at {_shown(self.peek()) or 'its end'}, where an instruction is expected")
        opcode = self.peek()
        self.at += 1
        while self.kind() in ("directive", "part"):
            # `lop3 .b32`
            opcode += b"." + self.peek().lstrip(b".")
            self.at += 1
        if self.accept(b":"):
            raise Unparsed(f"at the label {_shown(opcode)}")
        operands: list[Value] = []
        if self.at < len(self.tokens) and not self.ends():
            operands.append(self.operand())
            while self.accept(b","):
                operands.append(self.operand())
        if self.at < len(self.tokens) and not self.accept(b";") and self.peek() != b"}":
            raise Unparsed(f"at {_shown(self.peek())} in {opcode.decode()}")
        return PtxInstruction(opcode, tuple(operands), guard)

    def ends(self) -> bool:
        return self.kind() == "sign" and self.peek() in b";}"

    def operand(self) -> Value:
        first = self.single()
        return Pair(first, self.single()) if self.accept(b"|") else first

    def single(self) -> Value:
        if self.accept(b"{"):
            items = [self.single()]
            while self.accept(b","):
                items.append(self.single())
            self.expect(b"}")
            return Vector(tuple(items))
        if self.accept(b"["):
            base = self.atom()
            offset: Value | None = None
            if self.accept(b"+") or self.peek() == b"-":
                offset = self.signed()
            self.expect(b"]")
            return Address(base, offset)
        return self.signed()

    def signed(self) -> Value:
        constant = self.constant()
        if constant is not None:
            return constant
        for sign in (b"-", b"!", b"+", b"~"):
            if self.accept(sign):
                of = self.signed()
                if isinstance(of, Number) and sign != b"!":
                    return Number(sign + of.text) if sign != b"+" else of
                return Changed(of, sign=sign)
        if self.accept(b"("):
            return self.expression()
        return self.atom()

    def constant(self) -> Value | None:
        """Return the value of an integer expression; 32-bit C++ would evaluate some operators differently."""
        depth, end = 0, self.at
        while end < len(self.tokens):
            kind, token = self.tokens[end]
            if kind not in ("number", "sign") or token in b",;{}[]@":
                break
            depth += {b"(": 1, b")": -1}.get(token, 0)
            if depth < 0:
                break
            end += 1
        tokens = [token for _, token in self.tokens[self.at : end]]
        if not any(token in (b"<", b">", b"&", b"^", b"|", b"=", b"?", b"!", b"~") for token in tokens[1:]):
            return None
        try:
            value = evaluate(tokens)
        except ValueError:
            return None
        self.at = end
        return Number(b"%d" % value)

    def expression(self) -> Value:
        """Return a constant expression in parentheses, unchanged."""
        text, depth = b"(", 1
        while depth:
            if self.kind() not in ("number", "sign") or self.ends():
                raise Unparsed(f"at {_shown(self.peek()) or 'its end'} in a constant expression")
            token = self.peek()
            depth += {b"(": 1, b")": -1}.get(token, 0)
            text += token
            self.at += 1
        return Number(text)

    def atom(self) -> Value:
        kind, token = self.kind(), self.peek()
        self.at += 1
        value: Value
        if kind == "index":
            value = Placeholder(int(token))
        elif kind == "symbol":
            if token not in self.symbols:
                raise Unparsed(f"at %[{token.decode()}], which names no operand")
            value = Placeholder(self.symbols.index(token))
        elif kind == "hole":
            value = Hole(int(token))
        elif kind == "number":
            text = _number(token)
            # `32-2`: an expression of constants.
            while self.peek() in (b"-", b"+", b"*", b"/") and self.kind(1) == "number":
                text += self.peek() + self.peek(1)
                self.at += 2
            return Number(text)
        elif kind in ("register", "word"):
            name = token.lstrip(b"%")
            selected = _SELECTED.fullmatch(name)
            if selected is not None:
                return Changed(Register(selected["of"]), part=selected["part"])
            value = Register(name)
        else:
            raise Unparsed(f"at {_shown(token) or 'its end'}, where an operand is expected")
        if self.kind() == "part":
            part = self.peek()
            self.at += 1
            return Changed(value, part=part)
        return value


def _number(token: bytes) -> bytes:
    if token[:2] in (b"0f", b"0F"):
        value = struct.unpack(">f", bytes.fromhex(token[2:].decode()))[0]
        # repr is exact for every double, and so for the float with this value.
        return (repr(value) + "f").encode() if _finite(value) else b"hipport::ptx::as<float>(0x%bu)" % token[2:]
    if token[:2] in (b"0d", b"0D"):
        value = struct.unpack(">d", bytes.fromhex(token[2:].decode()))[0]
        return repr(value).encode() if _finite(value) else b"hipport::ptx::as<double>(0x%bull)" % token[2:]
    return token


def _finite(value: float) -> bool:
    return value - value == 0


def _shown(text: bytes) -> str:
    words = re.sub(rb"\0\d+\0", b"...", text).split()
    return b" ".join(words[:3]).decode("utf-8", "replace")[:40]

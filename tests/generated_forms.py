# SPDX-License-Identifier: Apache-2.0
"""Forms of C++ through which generated_values sends values: pointers, control flow, lambdas, classes.

They are in generated_forms.txt, which says how they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_parts import Part

if TYPE_CHECKING:
    from generated_values import Maker

#: The place of other statements in a statement.
_OTHERS = "{ ... }"


@dataclass
class Form:
    """A form: its statements, each with the names and statements for those inside it, and its other lines."""

    kind: str
    statements: list[tuple[str, Inside]] = field(default_factory=list)
    #: Code in front of the kernel, with the names that values in it may use.
    before: list[tuple[str, str]] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=dict)

    def all(self, *words: str) -> list[str]:
        """Return the lines that begin with these words."""
        return [line for word in words for line in self.lines.get(word, ())]

    def fits(self, maker: Maker) -> bool:
        """Whether the statements can be at this place."""
        scope = maker.scope
        if ("top" in self.lines and not scope.top) or ("kernel" in self.lines and scope.returns):
            return False
        texts = [
            *self.all("write", "then"),
            *(part for text, inside in self.statements for part in (text, inside.first)),
        ]
        writes = any("`" in text for text in texts)
        return (scope.write != [] or not writes) and (
            maker.depth < 3 or not any(_OTHERS in text for text, _ in self.statements)
        )

    def made(self, maker: Maker) -> list[Part]:
        """Return the statements, and tell the maker about their values."""
        names = _Names(maker)
        for text, readable in self.before:
            with maker.function(*names.own(readable).split()):
                maker.before.append(Part(names.filled(text)))
        found = [names.statement(text, inside) for text, inside in self.statements]
        scope = maker.scope
        places = [names.filled(text) for text in self.all("write")]
        scope.read += [names.filled(text) for text in self.all("read")] + places
        scope.write += places
        scope.calls += [names.own(text) for text in self.all("call")]
        scope.does += [names.written(text) for text in self.all("then")]
        return found


@dataclass(frozen=True)
class Inside:
    """What statements inside another one may read, whether they are in a loop, and what comes before them."""

    read: str = ""
    loop: bool = False
    first: str = ""


class _Names:
    """The texts of a form with its own names."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.names: dict[str, str] = {}

    def own(self, text: str) -> str:
        for stem in re.findall(r"\$([a-zA-Z])", text):
            if stem not in self.names:
                self.names[stem] = self.maker.name(stem)
        return re.sub(r"\$([a-zA-Z])", lambda match: self.names[match[1]], text)

    def written(self, text: str) -> str:
        text = self.own(text)
        while "`" in text:
            text = text.replace("`", self.maker.target(), 1)
        return text

    def filled(self, text: str) -> str:
        return self.maker.filled(self.written(text))

    def statement(self, text: str, inside: Inside) -> Part:
        """Return a statement, with others inside it if it has a place for them."""
        head, others, tail = text.partition(_OTHERS)
        head, tail = self.filled(head), self.filled(tail)
        if not others:
            return Part(head)
        maker = self.maker
        with maker.inside(loop=inside.loop):
            maker.scope.read += self.own(inside.read).split()
            first = (Part(self.filled(inside.first)),) if inside.first else ()
            inner = (*first, *maker.statements(maker.random.randrange(1, 3)))
        return Part(f"{head}{{", inner, f"}}{tail}")


@cache
def forms() -> tuple[Form, ...]:
    """Return all forms."""
    return tuple(_read(Path(__file__).with_suffix(".txt").read_text()))


def _read(text: str) -> Iterator[Form]:
    for part in text.split("\n@ ")[1:]:
        kind, *lines = part.splitlines()
        form, readable, inside = Form(kind), "", Inside()
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "with":
                readable = rest
            elif word == "before":
                form.before.append((rest, readable))
                readable = ""
            elif word in ("loop", "block"):
                inside = Inside(rest, word == "loop")
            elif word == "first":
                inside = Inside(inside.read, inside.loop, rest)
            elif word == "do":
                form.statements.append((rest, inside))
                inside = Inside()
            elif word in ("top", "kernel", "read", "write", "call", "then"):
                form.lines.setdefault(word, []).append(rest)
            elif word and word != "#":
                raise ValueError(f"not a line of a form: {line}")
        yield form


def form_of(maker: Maker) -> list[Part]:
    """Return the statements of a form that fits here."""
    kind = maker.random.choice(("pointer", "flow", "lambda", "class"))
    fitting = [each for each in forms() if each.kind == kind and each.fits(maker)]
    return maker.random.choice(fitting).made(maker)

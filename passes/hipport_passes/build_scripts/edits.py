# SPDX-License-Identifier: Apache-2.0
"""Take items out of lists in a Python script, and statements out of blocks, without touching what stands around them.

How an item is best taken out depends on what else goes: with its line, with the comma before or after it, with the
statement. So findings first say what goes, and `resolved` works out the edits of all of them together: none touch
another's, whichever of the findings are then accepted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import libcst as cst

from hipport.finding import Certainty, Finding
from hipport.languages.python import Python
from hipport.source import Edit, Span
from hipport_passes.build_scripts.script import Group, Script

# What follows an item, or a statement: the end of its line, or a comment.
_REST = re.compile(rb"[ \t]*(?:(\r?\n)|(#))?")


@dataclass(eq=False)
class Said:
    """A finding whose edits are not worked out yet: those depend on what else goes from the same list or block."""

    span: Span
    kind: str
    message: str
    certainty: Certainty
    edits: list[Edit] = field(default_factory=list)
    items: list[tuple[Group, int]] = field(default_factory=list)
    statements: list[cst.SimpleStatementLine] = field(default_factory=list)

    def manual(self) -> None:
        """Leave it to a person."""
        self.certainty = Certainty.MANUAL
        self.message += "; as it is written here, change it by hand"
        self.edits, self.items, self.statements = [], [], []

    def join(self, other: Said) -> None:
        """Say and do what `other` would as well."""
        self.message += f"; {other.message}"
        self.certainty = max(self.certainty, other.certainty)
        self.edits += other.edits


def resolved(script: Script, all_said: Sequence[Said]) -> Iterator[Finding]:
    """Turn what goes into edits, none of which touch each other, whichever of the findings are accepted."""
    all_said = list(all_said)
    going: dict[Group, dict[int, Said]] = defaultdict(dict)
    for said in all_said:
        for group, item in said.items:
            going[group][item] = said
    for group, items in going.items():
        if group.shape == "appended":
            for item, said in items.items():
                said.statements.append(group.statements[item])
        elif len(items) < len(group.items):
            _drop_some(script, group, items)
        else:
            first = items[0]
            for other in dict.fromkeys(items.values()):
                if other is not first:
                    first.join(other)
                    all_said.remove(other)
            _drop_all(script, group, first)
    statements = {id(line) for said in all_said for line in said.statements}
    for said in all_said:
        for line in said.statements:
            said.edits.append(_without(script, line, statements))
        edits = tuple(edit for edit in said.edits if edit.new or len(edit.span))
        yield Finding(said.span, said.kind, said.message, edits, said.certainty)


def _drop_all(script: Script, group: Group, said: Said) -> None:
    """Empty a list, or drop the statement that adds it to another, if no comment goes with it."""
    line = script.statement(group.node)
    if b"#" in script.source[script.source.span(group.node)]:
        line = None
    match line:
        case cst.SimpleStatementLine(body=[cst.AugAssign(value=value)]) if value is group.node:
            said.statements.append(line)
        case cst.SimpleStatementLine(
            body=[cst.Expr(value=cst.Call(func=cst.Attribute(attr=cst.Name("extend")), args=[cst.Arg(value=value)]))]
        ) if value is group.node:
            said.statements.append(line)
        case _:
            _drop_some(script, group, dict.fromkeys(range(len(group.items)), said))


def _drop_some(script: Script, group: Group, going: dict[int, Said]) -> None:
    """Take items out of a list, tuple or set: whole lines where all of a line goes, and no comment with them."""
    source, text = script.source, script.source.text
    assert isinstance(group.node, (cst.List, cst.Tuple, cst.Set))
    spans = [_with_parentheses(source, element.value) for element in group.node.elements]
    place = {id(element.value): i for i, element in enumerate(group.node.elements)}
    limits = [*(span.start for span in spans[1:]), source.span(group.node).end]
    ends = [_after_comma(text, span.end, limit) for span, limit in zip(spans, limits, strict=True)]
    same_line = [b"\n" not in text[end : b.start] for end, (_, b) in zip(ends, pairwise(spans), strict=False)] + [False]
    said_of = {place[id(group.items[item])]: said for item, said in going.items()}
    lone = isinstance(group.node, cst.Tuple) and len(spans) - len(said_of) == 1
    if lone and len(spans) - 1 not in said_of and ends[-1] == spans[-1].end:
        # What remains of a tuple of one is a tuple by its comma.
        for said in said_of.values():
            said.edits.append(Edit(Span(ends[-1], ends[-1]), b","))
    for run in _runs(sorted(said_of), same_line):
        first, last = run[0], run[-1]
        begin, stop = spans[first].start, ends[last]
        line = text.rfind(b"\n", 0, begin) + 1
        rest = _REST.match(text, stop)
        assert rest is not None
        if same_line[last]:
            stop = spans[last + 1].start
        elif not text[line:begin].strip() and rest[1]:
            begin, stop = line, rest.end()
        elif not text[line:begin].strip() and rest[2]:
            stop = rest.start(2)
        elif first and same_line[first - 1]:
            bare = last == len(spans) - 1 and stop == spans[last].end
            ours = len({id(said_of[i]) for i in run}) == 1
            begin = spans[first - 1].end if bare and ours and not lone else ends[first - 1]
        for i in run:
            cut = Span(begin if i == first else spans[i].start, stop if i == last else spans[i + 1].start)
            said_of[i].edits.append(Edit(cut, b""))


def _runs(items: Sequence[int], same_line: Sequence[bool]) -> Iterator[list[int]]:
    """Split the numbers of items where others stand between them, or a line ends."""
    run: list[int] = []
    for i in items:
        if run and (run[-1] != i - 1 or not same_line[i - 1]):
            yield run
            run = []
        run.append(i)
    if run:
        yield run


def _with_parentheses(source: Python, node: cst.BaseExpression) -> Span:
    span = source.span(node)
    start, end = span.start, span.end
    for _ in node.lpar:
        start = source.text.rindex(b"(", 0, start)
        end = source.text.index(b")", end) + 1
    return Span(start, end)


def _after_comma(text: bytes, end: int, limit: int) -> int:
    """Return where the comma after an item ends, or where the item does."""
    for match in re.compile(rb"#[^\r\n]*|,").finditer(text, end, limit):
        if match.group() == b",":
            return match.end()
    return end


def _without(script: Script, line: cst.SimpleStatementLine, going: set[int]) -> Edit:
    """Return the edit that drops a statement; a block that nothing is left of gets a `pass`."""
    source = script.source
    span = source.span(line.body[0])
    block = list(getattr(script.parent[line], "body", ()))
    if line is block[0] and all(id(each) in going for each in block):
        return Edit(span, b"pass")
    start = source.text.rfind(b"\n", 0, span.start) + 1
    rest = _REST.match(source.text, span.end)
    assert rest is not None
    if source.text[start : span.start].strip() or not (rest[1] or rest[2]):
        return Edit(span, b"pass")
    # A comment behind it stays, on a line of its own.
    return Edit(Span(start, rest.end()) if rest[1] else Span(span.start, rest.start(2)), b"")

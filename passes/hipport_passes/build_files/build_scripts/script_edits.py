# SPDX-License-Identifier: Apache-2.0
"""Give compilers other strings where PyTorch is for ROCm, and keep a build for CUDA the same, byte for byte.

The original text stays and gets a condition: `*(["-g", "-O0"] if torch.version.hip else ["-G"])`. So edits only insert.
Adjacent strings share one condition. So findings first record what their strings become, and `resolved` computes the
edits, which do not touch each other, whichever findings are accepted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.program.script_names import called, lone_call
from hipport.syntax.python_script import Python
from hipport_passes.build_files.build_scripts.flag_groups import FlagGroup
from hipport_passes.build_files.build_scripts.script import Script
from hipport_passes.build_files.nvcc_flags import worded

#: The reason why a person has to choose.
NOBODY_SAYS = "nothing here tells whether PyTorch is for ROCm: let this depend on torch.version.hip"
# The rest of an item's line, if it is empty or a comment.
_REST = re.compile(rb"[ \t]*(?:#[^\r\n]*)?(?=\r?\n)")
_OPENING = {cst.List: (b"[", b"]"), cst.Tuple: (b"(", b")"), cst.Set: (b"{", b"}")}


@dataclass(frozen=True)
class Becomes:
    """The literals that items of a group, from `first` to `last`, become on ROCm."""

    group: FlagGroup
    first: int
    last: int
    literals: tuple[bytes, ...]


@dataclass(eq=False)
class Said:
    """A finding whose edits may still be open: they depend on what adjacent strings become."""

    span: Span
    kind: str
    message: str
    certainty: Certainty
    edits: list[Edit] = field(default_factory=list)
    becomes: list[Becomes] = field(default_factory=list)

    def assume(self, what: str) -> None:
        """Record an assumption, if there is one."""
        if what:
            self.certainty = max(self.certainty, Certainty.REVIEW)
            self.message += f"; assumes that {what}"

    def manual(self, why: str = "hipport cannot edit it in this form; change it by hand") -> None:
        """Leave it to a person."""
        self.certainty = Certainty.MANUAL
        self.message += f"; {why}"
        self.edits, self.becomes = [], []


def resolved(script: Script, all_said: Sequence[Said]) -> Iterator[Finding]:
    """Turn the new strings into edits that do not touch each other, whichever findings are accepted."""
    of_group: dict[FlagGroup, list[Said]] = defaultdict(list)
    for said in all_said:
        for each in said.becomes:
            of_group[each.group].append(said)
    gone: set[Said] = set()
    for group, sayings in of_group.items():
        for run in _runs(group, sayings):
            first = run[0]
            first.message = worded(said.message for said in run)
            for other in run[1:]:
                first.becomes += other.becomes
                gone.add(other)
            asked = script.asked(group.node)
            if asked is None:
                first.manual(NOBODY_SAYS)
                continue
            first.assume(asked[2])
            edits = _Writer(script, group, asked[0].encode()).edits(first.becomes)
            if edits is None:
                first.manual()
            else:
                first.edits += [*asked[1], *edits]
    for said in all_said:
        if said not in gone:
            yield Finding(said.span, said.kind, said.message, tuple(said.edits), said.certainty)


def _runs(group: FlagGroup, sayings: Sequence[Said]) -> Iterator[list[Said]]:
    """Split the findings of a group at items between them, and where the certainty changes."""
    places = group.places
    run: list[Said] = []
    for said in sorted(dict.fromkeys(sayings), key=lambda said: said.becomes[0].first):
        if run and (
            places[run[-1].becomes[-1].last] + 1 != places[said.becomes[0].first]
            or run[-1].certainty is not said.certainty
        ):
            yield run
            run = []
        run.append(said)
    if run:
        yield run


class _Writer:
    """Writes the condition around items of one group."""

    def __init__(self, script: Script, group: FlagGroup, hip: bytes) -> None:
        self.script, self.group, self.hip = script, group, hip
        self.source: Python = script.source
        self.text = self.source.text

    def edits(self, becomes: Sequence[Becomes]) -> list[Edit] | None:
        """Return the edits, or None if the condition cannot be written."""
        literals = [literal for each in becomes for literal in each.literals]
        script, node = self.script, self.group.node
        match self.group.shape:
            case "elements":
                return self._elements(becomes[0].first, becomes[-1].last, literals)
            case "appended":
                return self._statements(becomes)
            case "comprehension" if not literals:
                empty, opening = (b"()", b"(") if isinstance(node, cst.GeneratorExp) else (b"[]", b"[")
                if isinstance(node, cst.SetComp):
                    empty, opening = b"set()", b"{"
                span = with_parentheses(self.source, node) if opening == b"(" else self.source.span(node)
                bare = not self.text[span.start : span.end].startswith(opening)
                return either(script, node, self.hip, empty, span, around=bare or None)
            case "comprehension" if len(literals) == 1:
                return either(script, self.group.items[0], self.hip, literals[0], around=False)
            case "split" | "alone" if isinstance(node, cst.Call) and self.group.shape == "alone":
                return self._handed(node, literals)
            case "split" | "alone" if len(literals) == 1:
                return either(script, self.group.items[0], self.hip, literals[0])
        return None

    def _elements(self, first: int, last: int, literals: Sequence[bytes]) -> list[Edit] | None:
        node = self.group.node
        assert isinstance(node, (cst.List, cst.Tuple, cst.Set))
        i, j = self.group.places[first], self.group.places[last]
        if isinstance(node, cst.Tuple) and not node.lpar:
            return None
        if (i, j) == (0, len(node.elements) - 1):
            opening, closing = _OPENING[type(node)]
            literal = opening + b", ".join(literals) + (b",)" if literals and closing == b")" else closing)
            if literal == b"{}":
                literal = b"set()"
            return either(
                self.script, node, self.hip, literal, with_parentheses(self.source, node) if closing == b")" else None
            )
        spans = [with_parentheses(self.source, element.value) for element in node.elements]
        start, end = spans[i].start, spans[j].end
        limit = spans[j + 1].start if j + 1 < len(spans) else self.source.span(node).end
        opening = b"*([" + b", ".join(literals) + b"] if " + self.hip + b" else ["
        line = self.source.line_start(start)
        indent = self.text[line:start]
        comma = _after_comma(self.text, end, limit)
        rest = _REST.match(self.text, comma)
        if indent.strip() or not line or rest is None or b"\n" not in self.text[start:end]:
            return [Edit(Span(start, start), opening), Edit(Span(end, end), b"])")]
        newline, unit = self.source.newline, self.script.module.default_indent.encode()
        closing = newline + indent + (b"])," if comma > end else b"])")
        edits = [Edit(Span(start, start), opening + newline + indent + unit)]
        for begin in (match.end() for match in re.finditer(rb"\n", self.text[start:end])):
            place = Span(start + begin, start + begin)
            blank = re.match(rb"[ \t]*\r?\n", self.text[place.start :])
            if not blank and not any(span.start < place.start < span.end for span in spans):
                edits.append(Edit(place, unit))
        return [*edits, Edit(Span(rest.end(), rest.end()), closing)]

    def _statements(self, becomes: Sequence[Becomes]) -> list[Edit] | None:
        """Put dropped statements behind `if not torch.version.hip:`, and a choice into the replaced ones."""
        edits: list[Edit] = []
        dropped: list[int] = []
        for each in becomes:
            # Where several statements become one, it is the last of them.
            dropped += range(each.first, each.last + (not each.literals))
            if each.literals:
                edits += self._only_for_cuda(dropped)
                dropped = []
                call = lone_call(self.group.statements[each.last])
                changed = self._handed(call, each.literals) if call is not None else None
                if changed is None:
                    return None
                edits += changed
        return edits + self._only_for_cuda(dropped)

    def _only_for_cuda(self, items: Sequence[int]) -> list[Edit]:
        starts = [self.source.span(self.group.statements[item].body[0]).start for item in items]
        unit = self.script.module.default_indent.encode()
        return [Edit(Span(start, start), unit if i else self._unless(start)) for i, start in enumerate(starts)]

    def _unless(self, start: int) -> bytes:
        """Return the text that makes the statement there, and the lines indented like it, run only for CUDA."""
        indent = self.text[self.source.line_start(start) : start]
        unit = self.script.module.default_indent.encode()
        return b"if not " + self.hip + b":" + self.source.newline + indent + unit

    def _handed(self, call: cst.Call, literals: Sequence[bytes]) -> list[Edit] | None:
        """Make `x.append(…)` append another item, or several."""
        item = call.args[-1].value
        if len(literals) == 1:
            return either(self.script, item, self.hip, literals[0], with_parentheses(self.source, item), around=False)
        if called(call) == "append" and isinstance(call.func, cst.Attribute):
            span = with_parentheses(self.source, item)
            before = b"[" + b", ".join(literals) + b"] if " + self.hip + b" else ["
            return [
                Edit(self.source.span(call.func.attr), b"extend"),
                Edit(Span(span.start, span.start), before),
                Edit(Span(span.end, span.end), b"]"),
            ]
        line = self.script.statement(call)
        if line is not None and lone_call(line) is call and not literals:
            start = self.source.span(line.body[0]).start
            return [Edit(Span(start, start), self._unless(start))]
        return None


def either(
    script: Script, node: cst.CSTNode, hip: bytes, code: bytes, span: Span | None = None, around: bool | None = None
) -> list[Edit]:
    """Put `code if torch.version.hip else ` before the expression at `node`, in parentheses where they are needed.

    `around` says whether that expression needs parentheses of its own instead.
    """
    whole = span or script.source.span(node)
    before, after = code + b" if " + hip + b" else ", b""
    if around:
        before, after = before + b"(", b")"
    elif around is None and not _stands_alone(script, node, whole):
        before, after = b"(" + before, b")"
    edits = [Edit(Span(whole.start, whole.start), before)]
    return [*edits, Edit(Span(whole.end, whole.end), after)] if after else edits


def _stands_alone(script: Script, node: cst.CSTNode, span: Span) -> bool:
    """Return whether a conditional expression may replace the node without parentheses."""
    if span == script.source.span(node) and list(getattr(node, "lpar", ())):
        return True
    above = script.parent[node]
    if isinstance(above, cst.IfExp):
        return above.orelse is node
    alone = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Arg, cst.Element, cst.DictElement)
    return isinstance(above, (*alone, cst.Lambda, cst.NamedExpr))


def with_parentheses(source: Python, node: cst.CSTNode) -> Span:
    """Return the span of an expression with the parentheses around it."""
    span = source.span(node)
    start, end = span.start, span.end
    for _ in getattr(node, "lpar", ()):
        start = source.text.rindex(b"(", 0, start)
        end = source.text.index(b")", end) + 1
    return Span(start, end)


def _after_comma(text: bytes, end: int, limit: int) -> int:
    """Return the end of the comma after an item, or the end of the item."""
    for match in re.compile(rb"#[^\r\n]*|,").finditer(text, end, limit):
        if match.group() == b",":
            return match.end()
    return end

# SPDX-License-Identifier: Apache-2.0
"""Find code inside a loop's text that GPU compilers move after the loop: exits, which do not lead to its condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import LOOPS, nodes
from hipport.executor import waits

if TYPE_CHECKING:
    from tree_sitter import Node

_BARE = re.compile(rb"(?:break|return|continue)\s*;|goto\s+\w+\s*;|return\s+[\w.\->]+\s*;")
_ONWARDS = frozenset(("continue_statement", "goto_statement"))
_INNER = LOOPS | {"lambda_expression"}
# A condition that ends a loop when a flag has a value: `!done`, `todo != 0`.
_NOT = re.compile(rb"\s*!\s*(?P<flag>[A-Za-z_]\w*)\s*")
_IS = re.compile(rb"\s*(?P<flag>[A-Za-z_]\w*)\s*(?:(?P<how>[!=]=)\s*(?P<value>0|1|true|false)\s*)?")
_TRUE = (b"1", b"true")
# Text that may stand between the flag and the loop's condition: it is short, and the compiler copies it.
_SHORT = re.compile(waits.FENCES.pattern + rb"[^()]*\)\s*;|\s*;")


class WayOut(NamedTuple):
    """The beginning of an exit of a loop; `closes` is its end if it is one statement without braces."""

    at: int
    closes: int | None = None


def of_loop(loop: Node, code: bytes, volatile: frozenset[bytes]) -> Iterator[WayOut]:
    """Yield the exits of a loop that do more than leave it."""
    body = loop.child_by_field_name("body")
    if body is None:
        return
    found: dict[int, WayOut] = {}
    for each in (*_in(body, code, whole=True, breaks=True), *_by_flag(loop, body, code, volatile)):
        found.setdefault(each.at, each)
    yield from found.values()


def of_label(last: Node, label: Node, code: bytes) -> WayOut | None:
    """Return the branch that does not lead back to a label, in the statement that jumps back."""
    name = code[label.start_byte : label.end_byte]
    back = re.compile(rb"\bgoto\s+" + re.escape(name) + rb"\s*;")
    branch = next((each for each in nodes(last) if each.type == "if_statement"), None)
    taken = branch.child_by_field_name("consequence") if branch is not None else None
    other = branch.child_by_field_name("alternative") if branch is not None else None
    if taken is None or other is None or branch is None or branch.end_byte != last.end_byte:
        return None
    if back.search(code, taken.start_byte, taken.end_byte) or not back.search(code, other.start_byte, other.end_byte):
        return None
    return _begins(taken, code)


def _statements(compound: Node) -> list[Node]:
    return [each for each in compound.named_children if each.type != "comment"]


def _begins(statement: Node, code: bytes) -> WayOut | None:
    if statement.type == "compound_statement":
        inside = _statements(statement)
        return _before(inside, code) if inside else None
    if _BARE.fullmatch(code, statement.start_byte, statement.end_byte):
        return None
    return WayOut(statement.start_byte, statement.end_byte)


def _before(statements: Sequence[Node], code: bytes) -> WayOut | None:
    first = statements[0]
    return None if _BARE.fullmatch(code, first.start_byte, first.end_byte) else WayOut(first.start_byte)


def _leaves(statement: Node, breaks: bool) -> bool:
    """Whether a statement always leaves the loop; `breaks`: whether a `break` in it does."""
    if statement.type in ("return_statement", "throw_statement"):
        return True
    if statement.type == "break_statement":
        return breaks
    if statement.type == "compound_statement":
        inside = _statements(statement)
        return bool(inside) and _leaves(inside[-1], breaks)
    if statement.type == "if_statement":
        branches = _branches(statement)
        return len(branches) == 2 and all(_leaves(each, breaks) for each in branches)
    return False


def _branches(statement: Node) -> list[Node]:
    taken, other = statement.child_by_field_name("consequence"), statement.child_by_field_name("alternative")
    if other is not None and other.type == "else_clause":
        other = other.named_children[-1]
    return [each for each in (taken, other) if each is not None]


def _continues(statement: Node, code: bytes) -> bool:
    """Whether a statement may lead to the loop's condition before its end: by `continue`, or perhaps by `goto`."""
    for each in nodes(statement, _ONWARDS):
        if each.type == "goto_statement":
            return True
        around = each.parent
        while around is not None and around.type not in LOOPS:
            around = around.parent
        if around is None or not (statement.start_byte <= around.start_byte and around.end_byte <= statement.end_byte):
            return True
    return False


def _in(statement: Node, code: bytes, *, whole: bool, breaks: bool) -> Iterator[WayOut]:
    """Yield the exits in a statement of the loop's body; `whole`: the statement is the whole body."""
    if statement.type == "compound_statement":
        inside = _statements(statement)
        start = _way_out(inside, code, breaks)
        if start is not None and (start or not whole):
            if (way_out := _before(inside[start:], code)) is not None:
                yield way_out
            inside = inside[:start]
        for each in inside:
            yield from _in(each, code, whole=False, breaks=breaks)
    elif statement.type == "if_statement":
        for branch in _branches(statement):
            if branch.type not in ("compound_statement", "if_statement") and _leaves(branch, breaks):
                if (way_out := _begins(branch, code)) is not None:
                    yield way_out
            else:
                yield from _in(branch, code, whole=False, breaks=breaks)
    elif statement.type in LOOPS or statement.type == "switch_statement":
        body = statement.child_by_field_name("body")
        if body is not None:
            yield from _in(body, code, whole=False, breaks=False)
    elif statement.type == "case_statement":
        for each in _statements(statement):
            yield from _in(each, code, whole=False, breaks=breaks)


def _way_out(statements: Sequence[Node], code: bytes, breaks: bool) -> int | None:
    """Return the index of the first of the statements that only lead out of the loop; None if the last does not."""
    if not statements or not _leaves(statements[-1], breaks):
        return None
    start = max((i + 1 for i, each in enumerate(statements) if _continues(each, code)), default=0)
    return start if start < len(statements) else None


def _flags(loop: Node, code: bytes, volatile: frozenset[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the flags that end a loop, with the value that does."""
    condition = loop.child_by_field_name("condition")
    if condition is None or loop.child_by_field_name("update") is not None:
        return
    text = code[condition.start_byte : condition.end_byte].strip()
    while text.startswith(b"(") and text.endswith(b")"):
        text = text[1:-1].strip()
    whole = code[loop.start_byte : loop.end_byte]
    for part in text.split(b"&&"):
        match, value = _NOT.fullmatch(part), True
        if match is None and (match := _IS.fullmatch(part)) is not None:
            value = match["how"] is not None and (match["how"] == b"!=") == (match["value"] in _TRUE)
        if match is None or match["flag"] in volatile:
            continue
        if not re.search(rb"(?<!&)&\s*" + match["flag"] + rb"\b", whole):
            yield match["flag"], value


def _by_flag(loop: Node, body: Node, code: bytes, volatile: frozenset[bytes]) -> Iterator[WayOut]:
    """Yield the code of lanes for which a flag then ends the loop."""
    if body.type != "compound_statement":
        return
    inside = _statements(body)
    for flag, value in _flags(loop, code, volatile):
        sets = _sets(flag, value)
        for number, each in enumerate(inside):
            if each.type == "if_statement" and each.child_by_field_name("alternative") is None:
                yield from _in_branch(each, inside[number + 1 :], flag, value, code)
            elif sets.fullmatch(code, each.start_byte, each.end_byte) and all(
                _is_short(e, code) for e in inside[number + 1 :]
            ):
                start = max((i + 1 for i, e in enumerate(inside[:number]) if _continues(e, code)), default=0)
                way_out = _before(inside[start:], code) if start else None
                if way_out is not None:
                    yield way_out


def _sets(flag: bytes, value: bool) -> re.Pattern[bytes]:
    return re.compile(rb"\s*" + re.escape(flag) + rb"\s*=\s*(?:" + (rb"true|1" if value else rb"false|0") + rb")\s*;")


def _is_short(statement: Node, code: bytes) -> bool:
    return _SHORT.fullmatch(code, statement.start_byte, statement.end_byte) is not None


def _in_branch(branch: Node, rest: Sequence[Node], flag: bytes, value: bool, code: bytes) -> Iterator[WayOut]:
    taken = branch.child_by_field_name("consequence")
    condition = branch.child_by_field_name("condition")
    if taken is None or condition is None or taken.type != "compound_statement" or _continues(taken, code):
        return
    asked = code[condition.start_byte : condition.end_byte].strip(b"() \t\r\n")
    passed_on = re.compile(rb"\s*" + re.escape(flag) + rb"\s*=\s*" + re.escape(asked) + rb"\s*;")
    given = [each for each in rest if value and passed_on.fullmatch(code, each.start_byte, each.end_byte)]
    if not all(each in given or _is_short(each, code) for each in rest):
        return
    inside = _statements(taken)
    assigns = re.compile(rb"\b" + re.escape(flag) + rb"\s*(?:[-+*/|&^]?=(?!=)|\+\+|--)")
    assigned = [each for each in inside if assigns.search(code, each.start_byte, each.end_byte)]
    is_flag = asked == (flag if value else b"!" + flag) or re.match(re.escape(flag) + rb"\s*=(?!=)", asked)
    known = bool(given or (is_flag and value)) and not assigned
    sets = _sets(flag, value)
    if known or (assigned and sets.fullmatch(code, assigned[-1].start_byte, assigned[-1].end_byte)):
        way_out = _before(inside, code) if inside else None
        if way_out is not None:
            yield way_out

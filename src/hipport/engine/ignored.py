# SPDX-License-Identifier: Apache-2.0
"""Findings that a comment ignores: `// hipport: ignore[rule] reason`."""

from __future__ import annotations

import re

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import BYTE_ORDER_MARK, Source

_IGNORE = re.compile(rb"(?://|/\*|#)[^\r\n]*?\bhipport:[ \t]*ignore\b(?:\[([^\]\r\n]*)\])?[ \t]*([^\r\n]*)")


def _has_notes(source: Source) -> bool:
    return b"hipport:" in source.text


def ignored(source: Source, span: Span, rule: str) -> str | None:
    """Return the reason if a comment at a place ignores a rule there; else None."""
    name, _, kind = rule.partition("/")
    return reason_to_ignore(source, Finding(span, kind, "", certainty=Certainty.MANUAL), name)


def reason_to_ignore(source: Source, finding: Finding, name: str) -> str | None:
    """Return the reason if a comment on the finding's first line ignores it: `// hipport: ignore[rule] reason`.

    Without brackets all rules are ignored. Comments that stand alone on the lines before count as well.
    """
    first = source.first
    if not first.fact(_has_notes):
        return None
    number = first.position(source.origin(finding.span).start)[0]
    match = _note(first, number)
    reason = _reason(match, finding, name)
    while reason is None and (number := number - 1) > 0 and (match := _note(first, number)) and _alone(first, match):
        reason = _reason(match, finding, name)
    return reason


def _note(source: Source, number: int) -> re.Match[bytes] | None:
    """Return the comment for hipport on a line."""
    begin = source.offset(number, 1)
    end = begin + len(source.line(number))
    match = _IGNORE.search(source.text, begin, end)
    while match is not None and source.quoted(match.start()):
        match = _IGNORE.search(source.text, match.start() + 1, end)
    return match


def _alone(source: Source, match: re.Match[bytes]) -> bool:
    """Whether a comment stands alone on its line."""
    start = source.text.rfind(b"\n", 0, match.start()) + 1
    code_before = source.text[start : match.start()].strip(b" \t" + BYTE_ORDER_MARK)
    code_behind = match.group().startswith(b"/*") and match.group().partition(b"*/")[2].strip()
    return not code_before and not code_behind


def _reason(match: re.Match[bytes] | None, finding: Finding, name: str) -> str | None:
    if match is None:
        return None
    named: bytes = b"*" if match.group(1) is None else match.group(1)
    rules = {rule.strip() for rule in named.decode("utf-8", "replace").split(",")}
    if rules & {name, f"{name}/{finding.kind}", "*"}:
        return match.group(2).decode("utf-8", "replace").strip().removesuffix("*/").strip() or "no reason given"
    return None

# SPDX-License-Identifier: Apache-2.0
"""What holds of every input, however odd: five laws, checked with all passes together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from hipport import Target, rewrite
from hipport.discover import source
from hipport.pipeline import Outcome, Ported
from hipport.source import Conflict, Source

#: A tree: the bytes of its files by their paths.
Tree = Mapping[str, bytes]


def broken(tree: Tree, target: Target | None = None) -> list[str]:
    """Say which laws a tree breaks, each with the rule or file at fault; empty where it breaks none."""
    try:
        ported = rewrite(tree, target=target, jobs=1)
    except Conflict as conflict:
        return [f"conflict: {conflict}"]
    except Exception as error:
        return [f"exception: {type(error).__name__}"]
    return [
        *_fails_nowhere(ported),
        *_drops_nothing(ported),
        *_adds_no_errors(ported),
        *_leaves_the_rest(ported),
        *_converges(ported, target),
    ]


def _fails_nowhere(ported: Ported) -> Iterator[str]:
    """No pass raises, and no edits of a pass conflict."""
    for each in ported.failures:
        yield f"exception: {each.rule}: {each.reason}"


def _drops_nothing(ported: Ported) -> Iterator[str]:
    """In text without errors of syntax, no edit is taken back for the errors that it makes."""
    before = ported.before.by_path
    for each in ported.reported:
        if each.outcome is Outcome.DROPPED and not before[each.path].errors:
            yield f"dropped: {each.rule}"


def _adds_no_errors(ported: Ported) -> Iterator[str]:
    """No file without errors of syntax has some after, and each that was text is text.

    In C++ with errors, what a parser makes of a place depends on all others, and their number says nothing.
    """
    for before, after in _pairs(ported):
        if not _fresh(before).errors and _fresh(after).errors:
            yield f"syntax: {before.path}"
        if _is_text(before.text) and not _is_text(after.text):
            yield f"undecodable: {before.path}"
        if before.text.startswith(_BOM) != after.text.startswith(_BOM) or (
            _BOM in after.text[1:] and _BOM not in before.text
        ):
            yield f"byte-order mark: {before.path}"


def _leaves_the_rest(ported: Ported) -> Iterator[str]:
    """What lies outside of edits is there as it was, in order, and with the edits taken back all is."""
    for before, after in _pairs(ported):
        steps: list[Source] = []
        step: Source = after
        while step.before is not None:
            steps.append(step)
            step = step.before
        text = after.text
        for step in steps:
            assert step.before is not None
            pieces, done, shift = [], 0, 0
            for edit in step.edits:
                start = edit.span.start + shift
                pieces += [text[done:start], step.before.text[edit.span.start : edit.span.end]]
                done = start + len(edit.new)
                shift += len(edit.new) - len(edit.span)
            text = b"".join([*pieces, text[done:]])
        if text != before.text:
            yield f"not undone: {before.path}"


def _converges(ported: Ported, target: Target | None) -> Iterator[str]:
    """A second run changes nothing."""
    texts = {str(each.path): each.text for each in ported.project.sources}
    texts |= {str(each.path): each.text for each in ported.created}
    again = rewrite(texts, target=target, jobs=1)
    changed = {each.path for each in again.changed}
    for each in again.reported:
        if each.outcome is Outcome.APPLIED:
            yield f"not idempotent: {each.rule}"
            changed.discard(each.path)
    for each in again.failures:
        yield f"exception: {each.rule}: {each.reason}"
    for path in sorted(changed):
        yield f"not idempotent: {path}"


_BOM = b"\xef\xbb\xbf"


def _pairs(ported: Ported) -> Iterator[tuple[Source, Source]]:
    return zip(ported.before.sources, ported.project.sources, strict=True)


def _fresh(each: Source) -> Source:
    """The same text without what was derived of it on the way."""
    return source(PurePosixPath(each.path), each.text)


def _is_text(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

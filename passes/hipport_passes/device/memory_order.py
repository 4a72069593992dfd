# SPDX-License-Identifier: Apache-2.0
"""Replace loads and stores with a cache operator by hipport's helpers, and order loads after a wait.

`__ldcs(p)`, which HIP does not declare, becomes `hipport::ldcs(p)`. Operators that only advise the caches become plain
accesses. Those with which code reads other blocks' writes (`__ldcg`, `__ldcv`, `__stcg`, `__stwt`) become relaxed
atomic accesses at the scope of the device, which also bypass the cache of one multiprocessor.

A loop that waits for a `volatile` flag in global memory and has no fence after it gets `__threadfence()`, if the next
loads read data that the function, and so other blocks, stores. Without the fence the compiler, and the cache of a
compute unit, may take the data from before the flag was set. A fence breaks nothing. That the flag guards this data is
an assumption, so the change is REVIEW. The code that sets the flag needs a fence in front of it, in CUDA too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.analysis.functions import Function
from hipport.analysis.kernels import Kernels
from hipport.analysis.library_names import helper_rows
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.own_headers import include
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES, SLEEP

if TYPE_CHECKING:
    from tree_sitter import Node

_TABLE = Path(__file__).with_suffix(".toml")
_LOOPS = frozenset(("while_statement", "do_statement", "for_statement"))
_WORDS = Words.read(Path(__file__).with_name("device_words.toml"), general=NAMES)
# The body of a loop that only waits.
_WAITS = _WORDS.compile(rb"(?:\s|[;{}]|(?:(?&hipport)::)?(?:__)?" + SLEEP + rb"\s*\([^()]*\)\s*;)*")
_BEHIND_POINTER = _WORDS.composed(rb"\*\s*(?:const\s+|(?&restrict)\s+)*")
_FENCE = _WORDS.compile(rb"\w*(?&fence)\w*|\basm\b|\b__(?&compiler_atomics)_\w+")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_ELEMENT = re.compile(rb"\b([A-Za-z_]\w*)\s*\[")
_STORED = re.compile(rb"\s*(?:=(?!=)|(?:[-+*/|&^]|<<|>>)=)")
_PLAIN_STORE = re.compile(rb"\s*=(?!=)")


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per use of such a load or store."""
    names, helpers = helper_rows(_TABLE)
    for span, name in names.uses(source, project):
        need, header = include(source, project, "memory.h")
        yield Finding(
            span,
            "cache",
            f"{name.decode()} → {helpers[name].decode()}",
            (Edit(span, helpers[name]), *((need,) if need else ())),
            creates=(header,),
        )
    yield from _waits(source, project)


def _waits(source: Cpp, project: Project) -> Iterator[Finding]:
    """Find loops that wait for a volatile flag, without a fence that orders the loads after them."""
    if b"volatile" not in source.code:
        return
    for function in Kernels.of(project).functions(source):
        start = function.body.start_byte
        if source.ported(start):
            continue
        if b"volatile" not in source.code[function.node.start_byte : function.body.end_byte]:
            continue
        for loop in _loops(function.body):
            data = _data_behind(function, loop) if _waits_for_flag(function, loop) else b""
            if data:
                newline, indent = source.newline, source.indent(loop.start_byte)
                alone = loop.parent is not None and loop.parent.type != "compound_statement"
                apart = b" " if indent is None or alone else newline + indent
                edits = [Edit(Span(loop.end_byte, loop.end_byte), apart + b"__threadfence();" + b" }" * alone)]
                if alone:
                    edits.append(Edit(Span(loop.start_byte, loop.start_byte), b"{ "))
                message = (
                    f"__threadfence() after the wait: assumes that {data.decode()} must have the value that it had "
                    "when the flag was set; make sure that a fence precedes the store of the flag, too"
                )
                head = loop.child_by_field_name("condition")
                end = loop.end_byte if head is None or loop.type == "do_statement" else head.end_byte
                yield Finding(Span(loop.start_byte, end), "wait", message, tuple(edits), Certainty.REVIEW)


def _waits_for_flag(function: Function, loop: Node) -> bool:
    """Return whether a loop only reads a volatile variable in global memory."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if condition is None or body is None or _WAITS.fullmatch(function.text(body)) is None:
        return False
    asked = function.text(condition)
    if b"atomic" in asked or b"(volatile" in b"".join(asked.split()):
        return b"atomic" not in asked
    text = function.text(function.node)
    shared = {variable.name for variable in function.locals.shared}
    return any(
        re.search(rb"\bvolatile\b[^;,(){}=]*\*[^;,(){}=]*\b" + word + rb"\b", text)
        for word in set(_WORD.findall(asked)) - shared
    )


def _data_behind(function: Function, loop: Node) -> bytes:
    """Return the array that is loaded after the loop without a fence, and that the function may store to."""
    code, end = function.source.code, function.body.end_byte
    fence = _FENCE.search(code, loop.end_byte, end)
    local = {variable.name for variable in function.locals.variables} - set(function.parameters)
    head = function.text(function.node)
    stored, loaded = set(), []
    for match in _ELEMENT.finditer(code, function.body.start_byte, end):
        name = match[1]
        closing = function.source.closing(match.end() - 1)
        # An array that belongs to the thread or the block; a pointer may lead elsewhere.
        own = name in local and not re.search(_BEHIND_POINTER + name + rb"\s*[=;,]", head)
        if closing is None or own or re.search(rb"\bvolatile\b[^;,(){}=]*\b" + name + rb"\b", head):
            continue
        if _STORED.match(code, closing + 1):
            stored.add(name)
        if not _PLAIN_STORE.match(code, closing + 1) and loop.end_byte <= match.start() < (
            fence.start() if fence else end
        ):
            loaded.append(name)
    return next((name for name in loaded if name in stored or _writable(function, name)), b"")


def _writable(function: Function, name: bytes) -> bool:
    """Return whether an array is a parameter through which other code may store, for example another kernel."""
    if name not in function.parameters:
        return False
    head = function.source.code[function.node.start_byte : function.body.start_byte]
    return re.search(rb"\bconst\b[^,()]*\b" + name + rb"\b", head) is None


def _loops(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        if current.type in _LOOPS:
            yield current
        stack += reversed(current.named_children)


PASS = Pass(Cpp, find)

# SPDX-License-Identifier: Apache-2.0
"""Code that takes a lock, waits for it and releases it: in loops, functions, methods, and by tickets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hipport.analysis.functions import Call, Function, arguments, called_name, contains, nodes
from hipport.analysis.kernels import Kernels
from hipport.core.edits import Span
from hipport.core.tables import Words, one_of
from hipport.syntax import cuda_names
from hipport.syntax.cuda_names import NAMES
from hipport_passes.device.spin_locks.lock_attempts import WAITS, is_last

if TYPE_CHECKING:
    from tree_sitter import Node

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_SCOPE = _WORDS.composed(rb"(?&scopes)?")


def _names(key: str) -> bytes:
    return one_of(_WORDS[key]).encode()


# Functions, and methods of atomic objects, that may take a lock.
METHODS = re.compile(_names("methods"))
ATOMICS = re.compile(_names("takes") + _SCOPE + rb"|" + METHODS.pattern)
_GIVES = re.compile(_names("gives"))
_LOOPS = frozenset(("while_statement", "do_statement", "for_statement"))
# Reads of the lock until it seems free, before the next attempt.
LOOKS = re.compile(rb"\bwhile\s*\((?:[^(){};=]|[!=]=|\([^(){};=]*\))*\)\s*(?:;|\{[\s;]*\})")
SLEEP = re.compile(rb"(?:__)?" + cuda_names.SLEEP)
ZERO = re.compile(rb"\s*(?:0[uU]?|false|\w*(?i:" + _names("free") + rb"))\s*")
LOOP = re.compile(rb"\b(?:while|for|do)\b")
# An assignment of zero to what may be a lock, and functions that may read a lock.
_SET_FREE = _WORDS.compile(rb"(?:\*\s*\w+|\]|\b(?&locks)\w*)\s*=\s*0\s*;")
_CHANGES = _WORDS.compile(rb"(?&changes)\w*")
#: Other operations that may take a lock than `ATOMICS`; additions count or draw a number.
_OTHER_SWAPS = re.compile(_names("others") + _SCOPE)
_TAKES_NUMBER = re.compile(rb"\s*" + _names("counts") + _SCOPE + rb"\s*\(")
NAME = re.compile(rb"[A-Za-z_]\w*")
#: A value that neither a free nor a taken lock has.
_NEITHER = b"2000000011"


class Acquire(NamedTuple):
    """A call that takes the lock `lock` unless it is taken; `lock` is the code of a pointer without white space."""

    call: Node
    lock: bytes
    free: bytes  # the result of the call if the lock was free
    #: Whether any value but that of a taken lock ends the loop, while that of a free lock does not.
    two_valued: bool = False


def waits_for(function: Function, loop: Node) -> Acquire | None:
    """Return the lock that a loop only waits for; its waits may get longer."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    acquire = acquire_in(function, condition) if condition is not None and loop.type != "for_statement" else None
    if acquire is None and condition is not None and loop.type != "for_statement":
        acquire = _by_bits(function, condition)
    if acquire is None:
        return _taken_in_body(function, loop)
    if body is None or any(
        releases(function, node, acquire) for node in nodes(body) if node.type == "expression_statement"
    ):
        return None
    text = function.text(body)
    if METHODS.fullmatch(called_name(acquire.call, function.source.code)) and not acquire.free:
        # The expected value is set again in each iteration.
        expected = re.escape(function.text(arguments(acquire.call)[0]))
        text = re.sub(rb"\b" + expected + rb"\s*=\s*(?:\w+|\{\s*\w*\s*\})\s*;", b"", text)
    if WAITS.fullmatch(LOOKS.sub(b"", text)):
        return acquire
    # `while (atomicCAS(&table[slot], EMPTY, key) != EMPTY) slot = …;` searches for a place.
    names = set(NAME.findall(function.text(acquire.call)))
    changed = {
        each.variable.name for each in function.locals.assignments if contains(body, each.node) and not each.declares
    }
    sleeps = any(SLEEP.fullmatch(called_name(call, function.source.code)) for call in calls_in(body))
    return acquire if sleeps and not names & changed else None


def swaps_otherwise(function: Function, condition: Node) -> str:
    """Return the atomic operation with which a condition changes memory, if it is none of locks; empty if there is
    none.
    """
    for call in calls_in(condition):
        name, given = called_name(call, function.source.code), arguments(call)
        if _OTHER_SWAPS.fullmatch(name) and given:
            last = b"".join(function.text(given[-1]).split())
            if last.rstrip(b"uUlL") not in (b"0", b"~0", b"0xffffffff", b"-1"):
                return name.decode()
    return ""


def _by_bits(function: Function, condition: Node) -> Acquire | None:
    """Return the lock of `while (atomicOr(&word, bit) & bit)`, which is a bit of a word."""
    for call in calls_in(condition):
        outer, given = call.parent, arguments(call)
        if called_name(call, function.source.code) != b"atomicOr" or len(given) != 2 or outer is None:
            continue
        sign = outer.child_by_field_name("operator") if outer.type == "binary_expression" else None
        whole = bare(function.text(condition)).removesuffix(b"!=0")
        if sign is not None and sign.type == "&" and bare(whole) == b"".join(function.text(outer).split()):
            return Acquire(call, _pointer(b"".join(function.text(given[0]).split())), b"|")
    return None


def _taken_in_body(function: Function, loop: Node) -> Acquire | None:
    """Return the lock of a loop that tries to take it in its body, and ends by `break` or a variable once it has it."""
    body = loop.child_by_field_name("body")
    if body is None or (loop.type == "for_statement" and loop.child_by_field_name("update") is not None):
        return None
    for call in calls_in(body):
        acquire = acquire_in(function, call)
        if acquire is None or acquire.call != call or not acquire.free or innermost_loop(call) != loop:
            continue
        last = b"".join(function.text(arguments(call)[-1]).split())
        leaves = [is_last(function, loop, call, acquire.free, _number(result)) for result in (acquire.free, last)]
        if leaves != [True, False]:
            return None
        return acquire._replace(two_valued=is_last(function, loop, call, acquire.free, _NEITHER) is not False)
    return None


def _number(text: bytes) -> bytes:
    """Return a literal without its suffix."""
    return text.rstrip(b"uUlL") if text[:1].isdigit() else text


def gives_back_a_lock(function: Function) -> bool:
    """Return whether the function releases a lock, whatever else it does."""
    text = function.text(function.body)
    for each in function.calls(_GIVES):
        if _method_of(function, each.node) and (
            each.name == b"clear" or (each.arguments and ZERO.fullmatch(function.text(each.arguments[0])))
        ):
            return True
    return any(
        each.arguments and ZERO.fullmatch(function.text(each.arguments[-1]))
        for each in function.calls(ATOMICS)
        if not METHODS.fullmatch(each.name)
    ) or bool(_SET_FREE.search(text))


def ticket(function: Function, loop: Node) -> bytes:
    """Return the variable that a loop compares with its ticket, `while (serving != ticket);`, if any."""
    condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
    if condition is None or body is None or loop.type == "for_statement" or not WAITS.fullmatch(function.text(body)):
        return b""
    for node in nodes(condition):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None or sign.type != "!=":
            continue
        for looked, number in ((left, right), (right, left)):
            given = [
                value
                for each in function.locals.assignments
                if number.type == "identifier" and each.variable.name == function.text(number)
                for value in each.values
            ]
            if len(given) == 1 and _TAKES_NUMBER.match(function.text(given[0])) and is_look(function, looked):
                names = NAME.findall(re.sub(rb"\[[^\]]*\]", b"", function.text(looked).split(b",")[0]))
                return names[-1] if names else b""
    return b""


def _serves(function: Function, name: bytes) -> bool:
    """Return whether the function lets the next number continue, `atomicAdd(&serving, 1)` or `serving++`."""
    text, word = function.text(function.body), re.escape(name) + rb"\b\s*(?:\[[^\]]*\]\s*)?"
    added = rb"\batomicAdd(?:_block|_system)?\s*\([&*\w.\->\s()]*?\b" + word + rb",\s*1[uUlL]*\s*\)"
    counted = rb"\b" + word + rb"(?:\+\+|\+=\s*1\s*;)|\+\+[\w.\->]*\b" + word
    return bool(re.search(added + rb"|" + counted, text))


def takes(function: Function, tries: bool) -> bool:
    """Return whether the function takes a lock and keeps it: in one attempt (`tries`), or else after waiting."""
    if not function.mentions(ATOMICS):
        return not tries and any(ticket(function, loop) for loop in loops_in(function))
    if gives_back_a_lock(function):
        return False
    loops = [loop for loop in loops_in(function) if waits_for(function, loop) is not None]
    return bool(loops) != tries and acquire_in(function, function.body) is not None


def _method_of(function: Function, call: Node) -> bytes:
    """Return the code of the object whose method is called, without white space; empty if it is not a method."""
    called = call.child_by_field_name("function")
    node = called.child_by_field_name("argument") if called is not None and called.type == "field_expression" else None
    return b"".join(function.text(node).split()) if node is not None else b""


def object(function: Function, call: Node) -> bytes:
    """Return the lock of a lock's function: the object of a method, or the first argument."""
    called = call.child_by_field_name("function")
    node = called.child_by_field_name("argument") if called is not None and called.type == "field_expression" else None
    node = node or next(iter(arguments(call)), None)
    return b"".join(function.text(node).split()) if node is not None else b""


def is_lock(call: Call, kernels: Kernels) -> bool:
    definitions = kernels.definitions(call.function.source, call.name)
    return bool(definitions) and all(takes(definition, tries=False) for definition in definitions)


def unlocks(function: Function, node: Node, lock: bytes, kernels: Kernels, taker: bytes = b"") -> bool:
    """Return whether `node` releases the lock that the function `taker` takes."""
    takers = kernels.definitions(function.source, taker) if taker else ()
    numbers = {number for each in takers for loop in loops_in(each) if (number := ticket(each, loop))}
    for call in calls_in(node):
        definitions = kernels.definitions(function.source, called_name(call, function.source.code))
        if object(function, call) != lock or not definitions:
            continue
        if all(gives_back_a_lock(each) or any(_serves(each, name) for name in numbers) for each in definitions):
            return True
    return False


def bare(text: bytes) -> bytes:
    text = b"".join(text.split())
    while text.startswith(b"(") and text.endswith(b")"):
        text = text[1:-1]
    return text


def acquire_in(function: Function, node: Node) -> Acquire | None:
    """Return how `node` takes a lock: with a compare-and-swap of constants, or by storing a constant."""
    for call in calls_in(node):
        name = called_name(call, function.source.code)
        if not ATOMICS.fullmatch(name):
            continue
        given = [b"".join(function.text(each).split()) for each in arguments(call)]
        if METHODS.fullmatch(name):
            of = _method_of(function, call)
            swaps = name.startswith(b"compare")
            value = given[1:2] if swaps else given[:1] if name == b"exchange" else [b"1"]
            # `compare_exchange_weak(seen, seen + 1)` computes the new value from the old one: it is an update, unless
            # the expected value is set back to that of a free lock.
            if swaps and value and set(NAME.findall(given[0])) & set(NAME.findall(value[0])):
                if of and _set_back(function, given[0], call):
                    return Acquire(call, of, b"")
                continue
            if of and value and value[0] not in (b"0", b"0u", b"false") and _constant(function, value[0], call):
                return Acquire(call, of, b"" if swaps else b"0")
            continue
        if len(given) != (3 if name.startswith(b"atomicCAS") else 2) or b"++" in given[0] or b"--" in given[0]:
            continue
        free = given[1] if len(given) == 3 else b"0"
        # A swap that compares with a loaded value is an update, and holds no lock.
        constants = given[1:2] if len(given) == 3 else given[1:]
        if all(_constant(function, each, call) for each in constants) and given[-1] not in (b"0", b"0u", b"false"):
            return Acquire(call, _pointer(given[0]), free)
    return None


def _set_back(function: Function, name: bytes, call: Node) -> bool:
    """Return whether the loop around a call sets a variable to something else than a loaded value."""
    loop = innermost_loop(call)
    if loop is None:
        return False
    for each in nodes(loop, frozenset({"assignment_expression"})):
        left, right = each.child_by_field_name("left"), each.child_by_field_name("right")
        if left is not None and right is not None and function.text(left) == name and not any(calls_in(right)):
            return True
    return False


def _pointer(text: bytes) -> bytes:
    """Return the code of a pointer, without casts and outer parentheses."""
    text = re.sub(rb"^(?:\((?:unsigned|int|volatile|long|uint32_t|u?int)[\w*]*\))+", b"", text)
    while text.startswith(b"(") and text.endswith(b")"):
        text = text[1:-1]
    return text


def _constant(function: Function, text: bytes, at: Node) -> bool:
    """Return whether an expression has the same value each time: numbers, macros, and constant variables."""
    text = re.sub(rb"^\((?:unsigned|int|long|uint|u?int\d+_t|\s)+\)", b"", text)  # A cast.
    if b"[" in text or b"*" in text or b"(" in text or b"->" in text:
        return False
    for name in NAME.findall(text):
        variable = function.locals.named(name, at.start_byte)
        if variable is None:
            continue
        definitions = function.locals.definitions.get(variable, [])
        if not definitions or any(not each.declares or not each.values for each in definitions):
            return False
        if not all(_constant(function, function.text(value), value) for each in definitions for value in each.values):
            return False
    return True


def when_taken(function: Function, condition: Node | None, acquire: Acquire) -> bytes | None:
    """Return the condition under which the lock was taken, given the condition under which the loop continues."""
    source = function.source
    if condition is None or not contains(condition, acquire.call):
        return source[Span(acquire.call.start_byte, acquire.call.end_byte)] + b" == " + acquire.free
    node: Node | None = condition
    while node is not None and node.type in ("condition_clause", "parenthesized_expression") and node.named_children:
        node = node.named_children[0]
    if node is None:
        return None
    if acquire.free == b"|":
        return b"!(" + source[Span(node.start_byte, node.end_byte)] + b")"
    if not acquire.free and METHODS.fullmatch(called_name(acquire.call, source.code)):
        # The result tells whether the lock was taken.
        refused = node.type == "unary_expression" and node.child_by_field_name("argument") == acquire.call
        return source[Span(acquire.call.start_byte, acquire.call.end_byte)] if refused else None
    if node == acquire.call:
        return source[Span(node.start_byte, node.end_byte)] + b" == " + (acquire.free or b"0")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    sign = node.child_by_field_name("operator")
    if node.type != "binary_expression" or left is None or right is None or sign is None:
        return None
    if acquire.call not in (left, right) or sign.type not in ("!=", "=="):
        return None
    other = {"!=": b"==", "==": b"!="}[sign.type]
    return source.text[node.start_byte : sign.start_byte] + other + source.text[sign.end_byte : node.end_byte]


def releases(function: Function, node: Node, acquire: Acquire) -> bool:
    """Return whether a statement releases the lock."""
    # `*(volatile int*)lock = 0;`
    text = re.sub(
        rb"^\*\((?:volatile|unsigned|int|uint32_t|long)[\w*]*\*\)", b"*", b"".join(function.text(node).split())
    )
    lock = acquire.lock
    plain = lock[1:] if lock.startswith(b"&") else b"*" + lock
    for call in calls_in(node) if node.type == "expression_statement" else ():
        name = called_name(call, function.source.code)
        if _GIVES.fullmatch(name) and _method_of(function, call) == lock:
            return call != acquire.call
        given = [b"".join(function.text(each).split()) for each in arguments(call)]
        if name.startswith(b"atomic") and given and _pointer(given[0]) == lock:
            return call != acquire.call and (acquire.free != b"|" or name != b"atomicOr")
    return node.type == "expression_statement" and (
        text.startswith((plain + b"=", b"(" + plain + b")=", lock + b"[0]=", lock + b"=false;", lock + b"=0;"))
        and not text.startswith(plain + b"==")
    )


def is_look(function: Function, node: Node) -> bool:
    """Return whether an expression only reads memory that other threads change."""
    while node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
        node = node.named_children[-1]
    if node.type == "call_expression":
        name = called_name(node, function.source.code)
        if name == b"load":
            return bool(_method_of(function, node))
        return bool(_CHANGES.fullmatch(name)) and not changes(function, arguments(node))
    named = re.match(rb"\W*(\w+)", function.text(node))
    if named is None or node.type not in ("pointer_expression", "subscript_expression", "identifier"):
        return False
    if b"volatile" in function.text(node):
        return True
    of_file = function.locals.named(named[1], node.start_byte) is None
    head = function.source.code[0 if of_file else function.node.start_byte : function.body.end_byte]
    return bool(re.search(rb"\bvolatile\b[^;,(){}=]*\b" + named[1] + rb"\b", head))


def changes(function: Function, given: tuple[Node, ...]) -> bool:
    return any(b"".join(function.text(each).split()) not in (b"0", b"0u", b"0U", b"0.0f") for each in given[1:])


def is_flag(function: Function, name: Node, body: Node, acquire: Acquire) -> bool:
    """Return whether a variable tells that the lock was taken: it is set to constants, or to the call's result."""
    variable = function.locals.named(function.text(name), name.start_byte)
    given = [
        each
        for each in function.locals.assignments
        if each.variable == variable and not each.declares and contains(body, each.node)
    ]
    return (
        all(each.values for each in given)
        and bool(given)
        and all(
            value.type in ("true", "false", "number_literal") or contains(value, acquire.call)
            for each in given
            for value in each.values
        )
    )


def innermost_loop(node: Node, breaks: bool = False) -> Node | None:
    outer = node.parent
    while outer is not None and outer.type not in (
        *_LOOPS,
        "for_range_loop",
        *(("switch_statement",) if breaks else ()),
    ):
        outer = outer.parent
    return outer


def loops_in(function: Function) -> Iterator[Node]:
    for match in LOOP.finditer(function.source.code, function.body.start_byte, function.body.end_byte):
        word = function.body.descendant_for_byte_range(match.start(), match.end())
        loop = word.parent if word is not None else None
        if loop is not None and loop.type in _LOOPS and loop.start_byte == match.start():
            yield loop


def calls_in(node: Node) -> Iterator[Node]:
    return nodes(node, frozenset(("call_expression",)))

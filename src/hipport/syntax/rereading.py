# SPDX-License-Identifier: Apache-2.0
"""A second reading of C++ where the parser is lost, with the constructs replaced that it does not know.

Only constructs at which the parser reports an error are replaced, so a text that it understands is read as it stands.
Of two readings, the one with fewer errors counts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from hipport.core.edits import Span
from hipport.syntax.cpp_text import BRACKET, BRACKETS
from hipport.syntax.parsing import BEGINS, BRANCHES, ENDS_BRANCHES, Lexed, is_end, skipped, text_to_parse, tree_of
from hipport.syntax.vocabulary import WORDS

if TYPE_CHECKING:
    import tree_sitter
    from tree_sitter import Node

#: After the first replacements, the parser may find errors that others hid.
_MOST_READINGS = 4
#: A text with more errors is no C++.
_MOST_ERRORS = 400
#: A longer argument of a macro is not searched for.
_LONGEST_ARGUMENT = 2_000
#: A longer text between directives is taken for whole statements.
_LONGEST_PART = 20_000

# A macro before a function: before its type or other specifiers, a destructor, or a constructor (`made`).
_BEFORE_FUNCTION = re.compile(
    rb"\b(?P<macro>[A-Z][A-Z0-9_]+)(?=\s{1,80}(?:~|(?P<made>[A-Za-z_]\w*)\s{0,80}\(|"
    rb"(?!(?:return|else|case|goto|throw|new|operator)\b)[A-Za-z_][\w:]*(?:<[^;(){}]{0,300}>)?[\s*&]"
    rb"(?:[^;(){}=\[\]#,\"']{0,300}\boperator\s{0,80}[^\s\w;{}]{1,3}?|[^;(){}=\[\]#,\"']{0,300})"
    rb"(?:\(\s{0,80}\)\s{0,80})?\())"
)
_SPECIFIERS_BEFORE = re.compile(rb"\b(?:(?:static|inline|explicit|virtual|constexpr|friend)\s+)+\Z")
# A statement as the last argument of a macro: `DISPATCH(type, kernel<<<grid, block>>>(x);)`.
_STATEMENT_GIVEN = re.compile(rb";\s*(?=\))")
# The end of a declaration, or an empty body: behind it, the parser may miss a semicolon.
_BODY = re.compile(rb"\{\s*\}|[;{}]")
_CLASS = re.compile(rb"\b(?:struct|class)\s+(?:[A-Z][A-Z0-9_]*\s+)?([A-Za-z_]\w*)")
# A braced default of a parameter: `float3 scale = {}`, `stride = {1, 1})`.
_DEFAULT = re.compile(rb"=\s*(?P<braces>\{[^{};()]*\})(?=\s*[,)])")
# The class in a pointer to a member: `(void (Points::*)(int))`.
_MEMBER = re.compile(rb"\(\s*(?P<of>[A-Za-z_][\w:]*(?:<[^;<>(){}]*>)?\s*::\s*)\*\s*\w*\s*\)")
# The call of a conversion by its name: `value.operator float()`.
_CONVERSION = re.compile(rb"(?:\.|->)\s{0,80}operator(?P<blank>[ \t]{1,8})(?=[A-Za-z_]\w*\s{0,80}\()")
# An explicit instantiation, before a name with template arguments that are themselves templates'.
_INSTANTIATION = re.compile(rb"\b(?P<word>template)\s+(?:class|struct)\s[^;{}<>]{1,200}<")
_CONDITION = re.compile(rb"#[ \t]*(?:el)?if\b")
# What conditions of the preprocessor may contain and the grammar does not know there, and what it means.
_SIGNS = {b"and": b"&& ", b"or": b"||", b"not": b"!  ", b"::": b"__"}
_SIGN = re.compile(rb"\b(?:and|or|not)\b|::")
_ELSE = re.compile(rb"\s*else\b")
_PLAIN_ELSE = re.compile(rb"#[ \t]*else\b")
# The head of a statement before its bracket, a statement that jumps, and what a simple statement does not contain.
_HEAD = re.compile(rb"\b(?:for|if|while|switch)\s*\Z")
_JUMP = re.compile(rb"\b(?:return|break|continue|goto)\b")
_INNER = re.compile(rb"[;{}#]|\b(?:if|else|for|while|do|switch|case)\b")
_LINE_WITH_CODE = re.compile(rb"\s*[^\r\n]*")
# A macro with arguments that begins a line; the end of its line, before another declaration.
_ALONE = re.compile(rb"^[A-Z][A-Z0-9_]*[ \t]*\(", re.MULTILINE)
_LINE_ENDS = re.compile(rb"[ \t]*(?:[\r\n]\s*(?=[\w#}]|\Z)|\Z)")
# A macro with arguments; what may precede it, and follow it, if it is a statement.
_MACRO_USED = re.compile(rb"\b[A-Z][A-Z0-9_]*[ \t]*\(")
_BEFORE_STATEMENT = re.compile(rb"\b(?:else|do)\Z")
# On the same line: where the statement ends, passes write.
_FOLLOWING_STATEMENT = re.compile(rb"(?P<blank>[ \t])\s*[\w}#]")
_FOLLOWING_DECLARATION = re.compile(
    rb"(?!(?:return|goto|case|else|delete|throw|new|using|co_return|co_yield)\b)"
    rb"(?:const\s+)?[A-Za-z_][\w:]*(?:<[^;{}()]{0,200}>)?(?:\s*[*&]+\s*|\s+)[A-Za-z_]\w*\s*[=;\[]"
)
_BLOCK = re.compile(rb"\s*\{")
# The arguments of a macro before a block that the parser takes for parameters: words.
_PARAMETER = re.compile(rb"\s*[A-Za-z_]\w*(?:\s+[A-Za-z_]\w*)?\s*\Z")
# What of a program's structure an error may take away; the bracket of a block that the parser misses.
_STRUCTURE = re.compile(rb"[{}]|\b(?:if|else|for|while|do|switch|case|return|break|continue|goto)\b")
_MISSING = frozenset(("}", "else", "#endif"))
_MACRO_CALLED = re.compile(rb"\b(?P<name>[A-Z][A-Z0-9_]*)[ \t]*\Z")


def reread(source: Lexed, tree: tree_sitter.Tree) -> tree_sitter.Tree:
    """Return the tree of a text that the parser read as `tree`: another one, if it can be read with fewer errors."""
    faults = _all_faults(tree) if tree.root_node.has_error else []
    if not 0 < len(faults) <= _MOST_ERRORS:
        return tree
    text = text_to_parse(source)
    for replaced in (_replaced, _bodies, _around_parts):
        for _ in range(_MOST_READINGS):
            changed = bytearray(text)
            for span, new in replaced(source, faults):
                changed[span.start : span.end] = new
            if changed == text:
                break
            other = tree_of(source, bytes(changed))
            left = _all_faults(other)
            if len(left) >= len(faults):
                break
            tree, faults, text = other, left, bytes(changed)
    return tree


def faults_in(source: Lexed, tree: tree_sitter.Tree) -> list[Span]:
    """Return the places, in order, that the parser does not understand."""
    nodes = _faulty(tree.root_node)
    return sorted(Span(each.start_byte, each.end_byte) for each in nodes if not _lacks_only_its_end(source, each))


def hides_conditions(source: Lexed, node: Node, heads: Mapping[bytes, bool]) -> bool:
    """Return whether text in a node that the parser does not understand may decide which statements run.

    `heads`: whether a macro that is seen is the head of a statement, such as `if (x)`, and not a whole one. One that is
    not seen may be, if a statement follows on its line.
    """
    return any(_hides(source, each, heads) for each in _faulty(node)) if node.has_error else False


def reads_over_conditions(source: Lexed, tree: tree_sitter.Tree, span: Span) -> bool:
    """Return whether a tree lacks directives of conditions in a span.

    What stands between them is in the tree as if each branch were always there, one after the other. Which statements
    there are is seen, but not which values they leave: `x = threadIdx.x;` may be there instead of `x = 1;`.
    """
    first = bisect_left(source.directives, span)
    for each in source.directives[first:]:
        if each.start >= span.end:
            return False
        if any(word.match(source.code, each.start) for word in (BEGINS, BRANCHES, ENDS_BRANCHES)):
            leaf = tree.root_node.descendant_for_byte_range(each.start, each.start + 1)
            around = (leaf, leaf.parent) if leaf is not None else ()
            if not any(node is not None and node.type.startswith(("preproc", "#")) for node in around):
                return True
    return False


def _hides(source: Lexed, fault: Node, heads: Mapping[bytes, bool]) -> bool:
    code, start = source.code, fault.start_byte
    if fault.is_missing:
        # The body of a statement may stand behind a directive.
        return fault.type in _MISSING or _lacks_its_body(source, skipped(code, start))
    found = _STRUCTURE.finditer(code, start, fault.end_byte)
    if any(source.directive(match.start()) is None for match in found):
        return True
    # `IF(x) y = 1;`
    last = skipped(code, start)
    macro = _macro_used(source, last - 1) if code[last - 1 : last] == b")" else None
    if (
        macro is None
        or not _begins_statement(source, macro.start())
        or not code[start : start + 1].translate(WORDS).strip()
    ):
        return False
    return heads.get(macro["name"], source.line_start(last) == source.line_start(start))


def _macro_used(source: Lexed, closing: int) -> re.Match[bytes] | None:
    """Return the macro whose arguments end at a bracket."""
    opening = source.fact(_openings).get(closing)
    return _MACRO_CALLED.search(source.code, max(0, opening - 80), opening) if opening is not None else None


def _all_faults(tree: tree_sitter.Tree) -> list[Span]:
    return sorted(Span(each.start_byte, each.end_byte) for each in _faulty(tree.root_node))


def _faulty(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            yield node
        waiting.extend(child for child in node.children if child.has_error or child.is_missing)


def _lacks_only_its_end(source: Lexed, node: Node) -> bool:
    """Whether a node is the semicolon that the parser misses after the call of a macro, which brings its own."""
    if not node.is_missing or node.type != ";":
        return False
    last = skipped(source.code, node.start_byte)
    return source.code[last - 1 : last] == b")" and _macro_used(source, last - 1) is not None


def _replaced(source: Lexed, faults: Sequence[Span]) -> Iterator[tuple[Span, bytes]]:
    """Yield the places to be replaced, with texts of the same length."""
    blanked = (_before_functions, _classes_of_members, _declaring_macros)
    for span in chain.from_iterable(each(source, faults) for each in blanked):
        yield span, re.sub(rb"[^\r\n]", b" ", source.code[span.start : span.end])
    yield from _statements(source, faults)
    yield from _braced_defaults(source, faults)
    for match in _CONVERSION.finditer(source.code):
        if _any_in(faults, Span(match.start(), source.code.find(b"(", match.end()))):
            yield Span(*match.span("blank")), b"_" * len(match["blank"])
    for each in source.directives:
        if _CONDITION.match(source.code, each.start) and _any_in(faults, each):
            for match in _SIGN.finditer(source.code, each.start, each.end):
                yield Span(*match.span()), _SIGNS[match.group()]


def _before_functions(source: Lexed, faults: Sequence[Span]) -> Iterator[Span]:
    """Yield macros before functions, and the `template` of explicit instantiations."""
    code = source.code
    for match in _BEFORE_FUNCTION.finditer(code):
        span = Span(*match.span("macro"))
        body = _BODY.search(code, match.end())
        if not _any_in(faults, Span(span.start, body.end() if body else len(code))) or source.directive(span.start):
            continue
        if match["made"] is not None and match["made"] not in source.fact(_classes):
            continue  # The macro may be the type of the function.
        first = _SPECIFIERS_BEFORE.search(code, max(0, span.start - 80), span.start)
        if is_end(source, skipped(code, first.start() if first else span.start), b";{}>:)"):
            yield span
    for match in _INSTANTIATION.finditer(code):
        if _any_in(faults, Span(match.start(), code.find(b";", match.end()) + 1 or len(code))):
            yield Span(*match.span("word"))


def _classes_of_members(source: Lexed, faults: Sequence[Span]) -> Iterator[Span]:
    """Yield the classes in the types of pointers to members."""
    for match in _MEMBER.finditer(source.code):
        if _any_in(faults, Span(source.line_start(match.start()), match.end() + 1)):
            yield Span(*match.span("of"))


def _declaring_macros(source: Lexed, faults: Sequence[Span]) -> Iterator[Span]:
    """Yield macros that stand for a declaration, on lines of their own: `DEFINE(f, detail::g)`, without a semicolon."""
    code = source.code
    for match in _ALONE.finditer(code):
        closing = source.closing(match.end() - 1)
        if closing is None or not _LINE_ENDS.match(code, closing + 1) or source.directive(match.start()):
            continue
        body = _BODY.search(code, closing)
        near = Span(match.start(), body.start() if body else len(code))
        if _any_over(faults, near) and is_end(source, skipped(code, match.start()), b";{})"):
            yield Span(match.start(), closing + 1)


def _statements(source: Lexed, faults: Sequence[Span]) -> Iterator[tuple[Span, bytes]]:
    """Yield where a macro that is a statement gets its semicolon, and semicolons of statements given to macros.

    Before a block, a macro is the head of a loop, or of an `if`. Without arguments that are no words, the parser takes
    it for a function, as it does with `LOOP(i, n) { … }`.
    """
    code, partners = source.code, source.fact(_partners)
    for match in _MACRO_USED.finditer(code):
        closing = partners.get(match.end() - 1)
        if closing is None or not _begins_statement(source, match.start()):
            continue
        block, following = _BLOCK.match(code, closing + 1), _FOLLOWING_STATEMENT.match(code, closing + 1)
        if block is not None and _any_in(faults, Span(match.start(), block.end())):
            for span in _no_parameters(code, match.end(), closing):
                yield span, re.sub(rb"[^\r\n]", b" ", code[span.start : span.end])
        elif following is not None and block is None:
            # A declaration is no body of an `if` or a loop that the macro may be.
            declared = _FOLLOWING_DECLARATION.match(code, following.end() - 1)
            if _any_over(faults, Span(match.start(), (declared or match).end())):
                yield Span(*following.span("blank")), b";"
    for match in _STATEMENT_GIVEN.finditer(code):
        # The parser reports the error anywhere in the argument.
        near = _any_in(faults, Span(max(0, match.start() - _LONGEST_ARGUMENT), match.end()))
        opening = source.fact(_openings).get(match.end()) if near else None
        if opening is not None and _MACRO_CALLED.search(code, max(0, opening - 80), opening):
            yield Span(*match.span()), b" " + code[match.start() + 1 : match.end()]


def _braced_defaults(source: Lexed, faults: Sequence[Span]) -> Iterator[tuple[Span, bytes]]:
    """Yield braced defaults of parameters, with parentheses, or with a number for an empty one."""
    code = source.code
    for match in _DEFAULT.finditer(code):
        span = Span(*match.span("braces"))
        if _any_in(faults, Span(source.line_start(match.start()), span.end + 1)):
            inner = code[span.start + 1 : span.end - 1]
            yield span, b"(%s)" % inner if inner.strip() else b"0 " + inner


def _partners(source: Lexed) -> Mapping[int, int]:
    """Return where each bracket closes that does."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for match in BRACKET.finditer(source.code):
        bracket = match.group()
        if bracket in BRACKETS:
            opened.append(match.start())
        elif opened and BRACKETS[source.code[opened[-1] : opened[-1] + 1]] == bracket:
            found[opened.pop()] = match.start()
        else:
            opened.clear()
    return found


def _openings(source: Lexed) -> Mapping[int, int]:
    return {closing: opening for opening, closing in source.fact(_partners).items()}


def _begins_statement(source: Lexed, start: int) -> bool:
    """Whether a macro stands where a statement begins."""
    before = skipped(source.code, start)
    begins = is_end(source, before, b";{})") or _BEFORE_STATEMENT.search(source.code, max(0, before - 8), before)
    return bool(begins) and source.directive(start) is None


def _no_parameters(code: bytes, start: int, end: int) -> Iterator[Span]:
    """Yield the arguments of a macro that are no words, with a comma beside them."""
    depth, first, kept = 0, start, False
    for i in range(start, end + 1):
        if i < end and (depth or code[i] not in b","):
            depth += (code[i] in b"([{") - (code[i] in b")]}")
            continue
        if _PARAMETER.match(code[first:i]):
            kept = True
        else:
            yield Span(first - 1, i) if kept else Span(first, min(i + 1, end))
        first = i + 1


def _bodies(source: Lexed, faults: Sequence[Span]) -> Iterator[tuple[Span, bytes]]:
    """Yield the directives around the body of a statement, such as `for (…)` before `#ifdef`, a body, `#else`, a body.

    They are read as the braces of a block of all bodies. Each branch has to be one statement, which does not leave the
    block, and there has to be an `#else`: otherwise the next statement may be the body.
    """
    code = source.code
    opened: list[list[Span]] = []
    for each in source.directives:
        if BEGINS.match(code, each.start):
            opened.append([each])
        elif opened:
            opened[-1].append(each)
            if not ENDS_BRANCHES.match(code, each.start):
                continue
            group = opened.pop()
            head = skipped(code, group[0].start)
            inside = [Span(one.end, two.start) for one, two in pairwise(group)]
            if (
                _PLAIN_ELSE.match(code, group[-2].start)
                and _any_in(faults, Span(head, group[-1].end))
                and head < group[0].start
                and _lacks_its_body(source, head)
                and all(_is_one_statement(source, part) for part in inside)
            ):
                for directive in group:
                    yield directive, re.sub(rb"[^\r\n]", b" ", code[directive.start : directive.end])
                yield Span(group[0].start - 1, group[0].start), b"{"
                yield Span(group[-1].start, group[-1].start + 1), b"}"


def _lacks_its_body(source: Lexed, end: int) -> bool:
    """Whether the text before `end` is the head of a statement whose body follows."""
    code = source.code
    if code[end - 1 : end] != b")":
        return _BEFORE_STATEMENT.search(code, max(0, end - 8), end) is not None
    opening = source.fact(_openings).get(end - 1)
    return opening is not None and _HEAD.search(code, max(0, opening - 80), opening) is not None


def _is_one_statement(source: Lexed, inside: Span) -> bool:
    """Whether text is one statement, a simple one or a block, that jumps nowhere."""
    code = source.code
    start = len(code[: inside.end]) - len(code[inside.start : inside.end].lstrip())
    end = skipped(code, inside.end)
    if start >= end or _JUMP.search(code, start, end):
        return False
    if code[start : start + 1] == b"{":
        return source.fact(_partners).get(start) == end - 1
    return code[end - 1 : end] == b";" and not _INNER.search(code, start, end - 1)


def _around_parts(source: Lexed, faults: Sequence[Span]) -> Iterator[tuple[Span, bytes]]:
    """Yield the directives around a part of a statement, such as `} else if (x) {` between `#ifdef` and `#endif`.

    Without them the part is read as if it were always there. A group with several branches is left as it is, and so is
    a group of whole statements, or one that ends a block without an `else`: what is conditional without the part would
    seem unconditional.
    """
    code = source.code
    opened: list[tuple[Span, bool]] = []
    for each in source.directives:
        if BEGINS.match(code, each.start):
            opened.append((each, False))
        elif opened and BRANCHES.match(code, each.start):
            opened[-1] = (opened[-1][0], True)
        elif opened and ENDS_BRANCHES.match(code, each.start):
            first, has_branches = opened.pop()
            near = (_with_neighbours(source, first), _with_neighbours(source, each))
            near_fault = any(_any_in(faults, span) for span in near)
            if not has_branches and near_fault and _is_part(source, Span(first.end, each.start), first.start):
                for directive in (first, each):
                    yield directive, re.sub(rb"[^\r\n]", b" ", code[directive.start : directive.end])


def _is_part(source: Lexed, inside: Span, start: int) -> bool:
    """Whether the text between directives is a part of a statement, and ends no block without an `else`."""
    code = source.code
    if len(inside) > _LONGEST_PART:
        return False
    depth = ended = 0
    for match in BRACKET.finditer(code, inside.start, inside.end):
        depth += 1 if match.group() in b"([{" else -1
        if depth < 0 and match.group() == b"}" and not _ELSE.match(code, match.end(), inside.end):
            return False
        ended += depth < 0
        depth = max(depth, 0)
    # Without the part, the next statement would be the body.
    if _lacks_its_body(source, skipped(code, start)):
        return False
    whole = not depth and not ended and is_end(source, skipped(code, inside.end), b";}")
    if whole and _ELSE.match(code, inside.start, inside.end):
        return True
    return not whole or not is_end(source, skipped(code, start), b";{}")


def _with_neighbours(source: Lexed, span: Span) -> Span:
    """The lines of a directive, and the ones before and after it that have code."""
    code = source.code
    after = _LINE_WITH_CODE.match(code, span.end)
    return Span(source.line_start(skipped(code, source.line_start(span.start))), after.end() if after else span.end)


def _classes(source: Lexed) -> frozenset[bytes]:
    return frozenset(_CLASS.findall(source.code))


def _any_in(faults: Sequence[Span], span: Span) -> bool:
    """Whether an error begins in a span."""
    i = bisect_left(faults, Span(span.start, span.start))
    return i < len(faults) and faults[i].start <= span.end


def _any_over(faults: Sequence[Span], span: Span) -> bool:
    """Whether an error is, or begins or ends, at a span."""
    return any(each.start <= span.end and each.end >= span.start for each in faults)

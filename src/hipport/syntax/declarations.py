# SPDX-License-Identifier: Apache-2.0
"""Declarations in C++ text: the program's own names, their places, and the kind of declaration.

They are derived from tokens and brackets, so this works in headers that need their includer, under conditions, and in
code of several dialects. It is asked only about given names: which names of a library does the program declare too?
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hipport.core.edits import Span
from hipport.syntax.cpp import Cpp, within, word_before
from hipport.syntax.lexing import opening_of

_MACRO = re.compile(rb"#[ \t]*define[ \t]+(\w+)")
# The last byte of `a.`, `a->` and `a::`, or of blanks behind them.
_MAY_QUALIFY = b".>: \t\n\r\f\v"
# Precedes, on the same line, a name that is used, and never one that is declared.
_IN_EXPRESSIONS = b"(=!|?<+-/%[^~"
# The head of a function is searched up to this many bytes before an arrow.
_LONGEST = 4000
# Text between parameters and an arrow: `auto f() const -> T`.
_BEHIND_PARAMETERS = re.compile(
    rb"\s*(?:\b(?P<word>const|volatile|mutable|constexpr|consteval|static|noexcept|throw\s*\(\s*\))|&&?|\[\[[^\[\]]*\]\])\s*\Z"
)
# `[=]`, also with template parameters, where no value precedes it that it would index.
_LAMBDA = re.compile(
    rb"(?:(?:\A|[^\w\])\s])|(?<!\w)(?:return|case|co_return|co_yield|else|do|and|or|not))\s*\[[^\[\]]*\]\s*(?:<[^;{}()]*>\s*)?\Z"
)
# A function with a trailing return type: `auto C<T>::f`, `auto operator()`, `auto (*)`.
_DEDUCED = re.compile(
    rb"\bauto\b(?:[^;{}()=:]|::|\boperator\s*(?:\(\s*\)|[-+*/%^&|<>!=]{0,2}=)|"
    rb"\(\s*(?:[\w:]+\s*)?[*&]+\s*(?:\w+\s*)?\))*\Z"
)
# The whole text of a macro.
_NAMED_BY_MACRO = re.compile(rb"#[ \t]*define[ \t]+\w+[ \t]*\Z")
_BRACE = re.compile(rb"[{}]")
_ANY_BRACKET = re.compile(rb"[()\[\]{}]")
# Before the name of a member; between the parts of its object; the last word of a text.
_MEMBER_SIGN = re.compile(rb"\s*(?:\.|->)\s*\Z")
_JOINED = re.compile(rb"\s*(?:\.|->|::)\s*\Z")
_LAST_WORD = re.compile(rb"\b[A-Za-z_]\w*\Z")
#: Words that brackets may follow without a call.
_NO_CALL = frozenset(
    b"return else case throw if while for switch do and or not xor in co_return co_yield co_await new delete "
    b"sizeof alignof typedef using goto".split()
)
_PARENTHESIS = re.compile(rb"[()]")
_NEXT = re.compile(rb"\s*(::|==|final\b|[^\s\w])")
_NAMESPACE = re.compile(rb"\b(?:inline\s+)?namespace\b[\s\w:]*$|\bextern\s*\"[^\"]*\"\s*$")
_NAMED = re.compile(rb"\bnamespace\b\s+(\w[\w:\s]*)$")
_TYPE = re.compile(rb"\b(struct|class|union|enum(?:\s+(?:class|struct))?)\b[^;{}()=]*$")
_TYPE_WORDS = (b"struct", b"class", b"union", b"enum")
_BODY = re.compile(rb"\s*(?:(?:const|noexcept|override|final)\b\s*)*\{")
_MEMBER = re.compile(rb"\s*(?:(?:const|noexcept|override|final|&)\s*)*(?:;|=\s*(?:0|default|delete)\b)")
_ANY_BODY = re.compile(rb"[^;{}]*\{")
# Precedes a declarator that does not directly follow a word: `T* x`, `const T& x`, `T<U> x`.
_TYPE_BEFORE = re.compile(
    rb"^\s*(?:template\s*<[^;{}()]*>\s*)?"
    rb"(?:(?:const|static|extern|volatile|typedef|typename|constexpr|inline|thread_local|struct|__\w+__)\s+)*"
    rb"(?:(?:unsigned|signed|long|short)\s+)*[A-Za-z_][\w:]*(?:\s*<[^;{}()]*>)?(?:\s*const)?[\s*&]*$"
)
_BUILT_IN = re.compile(
    rb"\b(?:void|bool|char|short|int|long|float|double|unsigned|signed|size_t|u?int\d+_t|auto)\b[\s*&]*$"
)
# The first of several declarators, and the text up to the comma before the last: `int a = 1, b`.
_DECLARATORS = re.compile(
    rb"^\s*(?:(?:const|static|extern|volatile|constexpr|inline|thread_local|register|struct|__\w+__)\s+)*"
    rb"(?:(?:unsigned|signed|long|short)\s+)*(?P<type>[A-Za-z_][\w:]*)(?:\s*<[^;{}()]*>)?[\s*&]+"
    rb"[A-Za-z_]\w*\s*(?:[=\[,({].*)?,[\s*&]*$",
    re.DOTALL,
)
# A name behind one of these is used, not declared.
_NO_TYPE = frozenset(
    b"return else case goto throw delete new sizeof alignof typename const static extern inline volatile constexpr "
    b"struct class union enum friend register mutable virtual explicit operator using namespace typedef and or not "
    b"xor co_return co_await co_yield do public private protected decltype noexcept template if while for switch "
    b"thread_local __host__ __device__ __global__ __shared__ __constant__ __forceinline__ __inline__ __noinline__ "
    b"__restrict__ __managed__".split()
)


class Declaration(NamedTuple):
    """A place where `name` is declared.

    `text` is the declared entity as far as it is written there: the body of a macro, the type of an alias, a function
    from its return type to the end of its body; empty for types, enumerators and variables. The name has this meaning
    in `scope`; None means from there on in every file that is connected to this one. `conditional`: it is under an
    `#if` that is not a header guard. `within` are the enclosing named namespaces, the outermost first.
    """

    name: bytes
    text: bytes
    scope: Span | None
    conditional: bool
    within: tuple[bytes, ...] = ()


class _Block(NamedTuple):
    span: Span
    parent: int


def declarations(source: Cpp, names: Iterable[tuple[Span, bytes]]) -> Iterator[Declaration]:
    """Yield a declaration for each of the occurrences `names` that declares its name."""
    for span, name in names:
        directive = source.directive(span.start)
        if directive is not None:
            macro = _MACRO.match(source.code, directive.start)
            if macro is not None and macro.start(1) == span.start:
                yield Declaration(
                    name, source.code[span.end : directive.end], None, within(span.start, source.conditional)
                )
            elif macro is not None and _declared_in_macro(source, macro, span):
                yield Declaration(name, b"", directive, within(span.start, source.conditional))
            continue
        found = _declared(source, span)
        if found is not None:
            spaces = namespaces(source, span.start) if found[1] is None else ()
            yield Declaration(name, *found, within(span.start, source.conditional), spaces)


def namespaces(source: Cpp, offset: int) -> tuple[bytes, ...]:
    """Return the names of the namespaces around `offset`, outermost first."""
    if b"namespace" not in source.words:
        return ()
    found: list[bytes] = []
    block = _innermost(source, offset)
    while block is not None:
        if _kind(source, block) == b"namespace":
            named = _NAMED.search(source.code, _statement(source, block.span.start), block.span.start)
            found = [*re.findall(rb"\w+", named[1] if named else b""), *found]
        block = source.fact(_blocks)[block.parent] if block.parent >= 0 else None
    return tuple(found)


def block_around(source: Cpp, offset: int) -> int | None:
    """Return where the innermost braces around `offset` open that are not a namespace's; None if there are none."""
    block = _innermost(source, offset)
    while block is not None and _kind(source, block) == b"namespace":
        block = source.fact(_blocks)[block.parent] if block.parent >= 0 else None
    return None if block is None else block.span.start


def _declared_in_macro(source: Cpp, macro: re.Match[bytes], span: Span) -> bool:
    """Whether `span` is a parameter of the macro, or a variable that the macro's text declares."""
    opening = macro.end()
    if source.code[opening : opening + 1] == b"(":
        closing = source.closing(opening)
        if closing is not None and span.start < closing:
            return True
    following = _NEXT.match(source.code, span.end)
    return following is not None and following[1] in (b";", b"=") and _declared(source, span) is not None


def member_or_qualified(code: bytes, start: int) -> bool:
    """Say whether the name at `start` is a member (`a.b`, `a->b`) or in a namespace (`a::b`, but not `::b`).

    A trailing return type follows an arrow as well, and is neither: `auto f() -> b`.
    """
    if start and code[start - 1] not in _MAY_QUALIFY:
        return False
    before = code[max(0, start - 200) : start].rstrip()
    if before.endswith(b"->"):
        return not _gives_back(code[max(0, start - _LONGEST) : start].rstrip()[:-2].rstrip())
    if before.endswith(b"."):
        return not before.endswith(b"..")
    if not before.endswith(b"::"):
        return False
    before = before[:-2].rstrip()
    word = word_before(before, len(before))
    return before.endswith(b">") or (word != b"" and word not in _NO_TYPE)


def _gives_back(before: bytes) -> bool:
    """Say whether an arrow after `before` precedes the return type of a function or a lambda."""
    while match := _BEHIND_PARAMETERS.search(before):
        before = before[: match.start()]
        if match["word"] and not before.endswith((b".", b">", b"::")):
            return True
    if _LAMBDA.search(before):
        return True
    if not before.endswith(b")"):
        return _NAMED_BY_MACRO.search(before) is not None
    opening = opening_of(before, len(before) - 1)
    if opening is None:
        return False
    head = before[:opening].rstrip()
    if head.endswith((b"noexcept", b"__attribute__")):
        return True
    return _LAMBDA.search(head) is not None or _DEDUCED.search(head) is not None


def heads(source: Cpp, offset: int) -> Iterator[Span]:
    """Yield the text before each pair of braces around `offset`, the innermost first; namespaces are left out.

    For a function it is the template's head, qualifiers, name and parameters. It ends at the brace.
    """
    block = _innermost(source, offset)
    while block is not None:
        if _kind(source, block) != b"namespace":
            yield source.trimmed(Span(_statement(source, block.span.start), block.span.start))
        block = source.fact(_blocks)[block.parent] if block.parent >= 0 else None


def _declared(source: Cpp, span: Span) -> tuple[bytes, Span | None] | None:
    code = source.code
    match = _NEXT.match(code, span.end)
    following = match[1] if match else b""
    if following in (b"", b"::", b"=="):
        return None
    before_name = span.start - 1
    while before_name >= 0 and code[before_name] in b" \t":
        before_name -= 1
    # The common case: an argument, or an operand of a comparison or an assignment.
    if before_name >= 0 and code[before_name] in _IN_EXPRESSIONS:
        return None
    start = _statement(source, span.start)
    before = code[start : span.start]
    word = word_before(before, len(before))
    if following == b"(" and (word in _NO_TYPE if word else not _is_type(before, b"=")):
        return None  # the common case: a call
    block = _innermost(source, span.start)
    kind = _kind(source, block) if block else b"namespace"
    if word in (b"struct", b"class", b"union", b"enum"):
        return (b"", _scope(source, block)) if following in (b"{", b":", b"final") else None
    if word in (b"namespace", b"using"):
        if following != b"=" and (word, following) != (b"namespace", b"{"):
            return None
        return (b"" if following == b"{" else _rest(code, span.end)), _scope(source, block)
    if kind.startswith(b"enum"):
        entry = code[: span.start].rstrip()[-1:] in (b"{", b",") and following in (b"=", b",", b"}")
        return (b"", _scope(source, block)) if entry else None
    if following == b"(":
        text = _function(source, span, start, kind)
        return None if text is None else (text, _scope(source, block))
    if following not in (b";", b"=", b",", b")", b"[", b"{"):
        return None
    if not before.strip() and code[start - 1 : start] == b"}":
        return _after_braces(source, start - 1, block) if following in (b";", b",", b"=", b"[") else None
    inner = opened_before(code, start, span.start)
    if inner is not None:
        # In parentheses: a parameter or an expression.
        before = code[max(inner, code.rfind(b",", inner, span.start)) + 1 : span.start]
    if inner is None and not word and _is_next(before):
        return b"", _scope(source, block)
    if word in _NO_TYPE if word else not _is_type(before, following):
        return None
    text = before if before.lstrip().startswith(b"typedef") else b""
    return text, (_scope(source, block) if inner is None else _parameter(source, inner))


def _is_type(before: bytes, following: bytes) -> bool:
    """Say whether `before`, which does not end in a word, is a type, and not the left operand of `*`, `&` or `>`."""
    if before.rstrip()[-1:] not in (b"*", b"&", b">") or not _TYPE_BEFORE.match(before):
        return False
    # `(a * b)`, `f(a > b, c)`
    return following in (b";", b"=", b"[", b"{") or _BUILT_IN.search(before) is not None


def _is_next(before: bytes) -> bool:
    """Say whether `before` is a declaration up to the comma before another declarator."""
    match = _DECLARATORS.match(before)
    return match is not None and match["type"] not in _NO_TYPE


def _after_braces(source: Cpp, closing: int, block: _Block | None) -> tuple[bytes, Span | None] | None:
    """`struct { … } name;`, with or without `typedef`."""
    for other in source.fact(_blocks):
        if other.span.end == closing + 1:
            return (b"", _scope(source, block)) if _kind(source, other) in (b"type", b"enum", b"enum class") else None
    return None


def _function(source: Cpp, span: Span, start: int, kind: bytes) -> bytes | None:
    """Return the text of the function whose name is at `span`, if it is defined, or declared in a class or namespace.

    A function that is only declared at global scope may be the library's.
    """
    code = source.code
    closing = source.closing(code.index(b"(", span.end))
    if closing is None:
        return None
    body = _BODY.match(code, closing + 1)
    if body is None:
        own = kind == b"type" or (kind == b"namespace" and namespaces(source, span.start))
        return b"" if own and _MEMBER.match(code, closing + 1) else None
    end = source.closing(body.end() - 1)
    return code[start : span.start] + code[span.end : body.end() if end is None else end]


def _statement(source: Cpp, offset: int) -> int:
    """Return where the statement around `offset` begins."""
    floor = 0
    directive = source.directive_before(offset)
    if directive is not None:
        macro = _MACRO.match(source.code, directive.start, offset) if offset < directive.end else None
        floor = macro.end() if macro else min(offset, directive.end)
    return max(floor, *(source.code.rfind(end, floor, offset) + 1 for end in (b";", b"{", b"}")))


def _rest(code: bytes, offset: int) -> bytes:
    end = code.find(b";", offset)
    return code[offset : end if end >= 0 else len(code)]


def opened_before(code: bytes, start: int, offset: int) -> int | None:
    """Return the innermost parenthesis that is open at `offset`, searching back to `start`."""
    depth = 0
    for match in reversed(list(_PARENTHESIS.finditer(code, start, offset))):
        if match.group() == b")":
            depth += 1
        elif depth:
            depth -= 1
        else:
            return match.start()
    return None


def member_of(code: bytes, offset: int) -> Span | None:
    """Return the object of the member named at `offset`: `f().props[0]` or `(*p)`; None if there is none.

    Where the object starts with template arguments, or with the result of a call of a call, its beginning is not known.
    """
    sign = _MEMBER_SIGN.search(code, max(0, offset - 40), offset)
    if sign is None:
        return None
    start = end = sign.start()
    while True:
        at = len(code[:start].rstrip())
        if code[at - 1 : at] in (b")", b"]") and at:
            opening = _opening(code, at - 1)
            if opening is None:
                return None
            start = opening
            before = len(code[:opening].rstrip())
            if code[opening : opening + 1] == b"(":
                word = _LAST_WORD.search(code, max(0, before - 100), before)
                if code[before - 1 : before] in (b">", b"]") and before:
                    return None
                if word is None or word.group() in _NO_CALL:
                    return Span(start, end)  # in brackets, perhaps after a cast
            continue
        word = _LAST_WORD.search(code, max(0, at - 100), at)
        if word is None or word.group() in _NO_CALL:
            return None
        start = word.start()
        joined = _JOINED.search(code, max(0, start - 40), start)
        if joined is None:
            return Span(start, end)
        start = joined.start()
        if joined.group().strip() == b"::" and not _LAST_WORD.search(code, max(0, start - 100), start):
            return Span(start + len(joined.group()) - len(joined.group().lstrip()), end)


def last_name(code: bytes, end: int, brackets: bytes = b")]") -> Span | None:
    """Return the last name of the expression that ends at `end`: `props` of `f().props[i[0]]`; None if there is none.

    After it only brackets may follow that close with one of `brackets`, with any text in them.
    """
    at = len(code[:end].rstrip())
    while at and code[at - 1] in brackets:
        opening = _opening(code, at - 1)
        if opening is None:
            return None
        at = len(code[:opening].rstrip())
    word = _LAST_WORD.search(code, max(0, at - 100), at)
    return Span(*word.span()) if word is not None and word.group() not in _NO_CALL else None


def _opening(code: bytes, closing: int) -> int | None:
    """Return the partner of the bracket at `closing`."""
    depth = 0
    for match in reversed(list(_ANY_BRACKET.finditer(code, max(0, closing - 2000), closing + 1))):
        depth += 1 if match.group() in b")]}" else -1
        if not depth:
            return match.start()
    return None


def _parameter(source: Cpp, opening: int) -> Span:
    """Return the scope of a name declared in the parentheses at `opening`: to the end of the body, if there is one."""
    closing = source.closing(opening)
    if closing is None:
        return Span(opening, len(source.code))
    body = _ANY_BODY.match(source.code, closing + 1)
    end = source.closing(body.end() - 1) if body else None
    return Span(opening, closing if end is None else end)


def _scope(source: Cpp, block: _Block | None) -> Span | None:
    """Return the part of the file in which a name declared in `block` has that meaning."""
    while block is not None and _kind(source, block) == b"enum":
        block = source.fact(_blocks)[block.parent] if block.parent >= 0 else None
    return None if block is None or _kind(source, block) == b"namespace" else block.span


def _innermost(source: Cpp, offset: int) -> _Block | None:
    blocks = source.fact(_blocks)
    i = bisect_right(source.fact(_openings), offset) - 1
    while i >= 0 and blocks[i].span.end <= offset:
        i = blocks[i].parent
    return blocks[i] if i >= 0 else None


def _openings(source: Cpp) -> list[int]:
    return [block.span.start for block in source.fact(_blocks)]


def _blocks(source: Cpp) -> tuple[_Block, ...]:
    """The braces of the file, by the place where they open.

    Braces of a macro pair up within it. Each branch of a condition may open the same brace: `f(int x) {` in one and
    `f(long x) {` in the other.
    """
    code = source.code
    opened: list[list[int]] = []  # start, end, parent
    stack: list[int] = []
    around: list[int] = []  # while in a directive: the braces that are open around it
    kept: dict[int, list[int]] = {}  # the braces that are open at an `#if`
    first = {part.span.start: group[0].span.start for group in source.conditionals for part in group[:-1]}
    marks = [(match.start(), match.group()) for match in _BRACE.finditer(code)]
    for directive in source.directives:
        marks += ((directive.start, b"#"), (directive.end, b""))
    for offset, mark in sorted(marks):
        if mark in (b"#", b""):
            # A directive, or a branch, ends: the braces that it opened are dropped.
            before = around if not mark else kept.setdefault(first.get(offset, offset), [*stack])
            for i in set(stack).difference(before):
                opened[i][1] = offset
            stack, around = [*before], [] if not mark else before
        elif mark == b"{":
            opened.append([offset, len(code), stack[-1] if stack else -1])
            stack.append(len(opened) - 1)
        elif len(stack) > len(around):
            opened[stack.pop()][1] = offset + 1
    return tuple(_Block(Span(start, end), parent) for start, end, parent in opened)


def _kinds(source: Cpp) -> dict[int, bytes]:
    """The kinds of those blocks that were asked about."""
    return {}


def _kind(source: Cpp, block: _Block) -> bytes:
    """Return "namespace", "enum", "enum class", "type", or "" for bodies of functions and the like."""
    kinds = source.fact(_kinds)
    offset = block.span.start
    if offset not in kinds:
        header = source.code[_statement(source, offset) : offset]
        kind = _TYPE.search(header) if any(word in header for word in _TYPE_WORDS) else None
        if (b"namespace" in header or b"extern" in header) and _NAMESPACE.search(header):
            kinds[offset] = b"namespace"
        elif kind is None:
            kinds[offset] = b""
        else:
            words = b" ".join(kind[1].split())
            kinds[offset] = words.replace(b"struct", b"class") if words.startswith(b"enum") else b"type"
    return kinds[offset]

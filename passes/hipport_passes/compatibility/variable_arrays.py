# SPDX-License-Identifier: Apache-2.0
"""Clear arrays of variable length by a separate statement, because clang allows no initializer for them.

nvcc and g++ accept `T a[n] = {0}` where `n` is not a constant (nvcc 13.0 with g++ 12); clang 21 reports that a
variable-sized object may not be initialized. For numbers and pointers that are all set to zero, a memset after the
declaration does the same. Other initializers are left to a person. Only sizes that are certainly variable count: those
from a parameter, or from a variable that is not const. Only host code is affected: device code has no such arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hipport.analysis.constant_values import value
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda_names import NAMES, ON_DEVICE
from hipport.syntax.declarations import declarations, opened_before

_ARRAY = re.compile(
    rb"(?:(?<=[;{}:])\s*|^[ \t]*)(?P<const>const\s+)?"
    rb"(?P<type>(?:(?:unsigned|signed|long|short|struct)\s+)*(?:[A-Za-z_]\w*\s*::\s*)*"
    rb"[A-Za-z_]\w*(?:\s*<[^<>;{}()]*>)?[\s*]*?[\s*])(?P<name>[A-Za-z_]\w*)\s*(?P<sizes>(?:\[[^\[\];{}]+\]\s*)+)"
    rb"(?P<equals>=\s*)?(?P<opening>[{\"])",
    re.MULTILINE,
)
# A declarator after others: `int k, *a[n] = {}`.
_LATER = re.compile(rb"(?P<stars>[\s*]*)(?P<name>[A-Za-z_]\w*)\s*(?P<sizes>(?:\s*\[[^\[\];{}]+\])+)")
# A quick test that every such declaration passes.
_INITIALIZED = re.compile(rb"\]\s*(?:=\s*)?[{\"]")
#: The longest text of a declaration before its initializer.
_LONGEST = 1000
_NUMBER = NAMES.compile(
    rb"(?:unsigned|signed|bool|char|short|int|long|float|double|(?:(?&std)\s*::\s*)?(?:(?&sizes)|(?&ptrdiff)|u?int(?:8|16|32|64)_t)"
    rb"|\s)+|[^*]*\*[\s*]*"
)
_ZERO = NAMES.compile(rb"[\s{}]*(?:0|0x0|0?\.0*f?|0\.0*f?|(?&null)|nullptr|false)?[\s{},]*")
_NO_TYPE = re.compile(rb"\b(?:return|else|case|goto|new|delete|using|typedef|static|constexpr|extern|auto)\b")
_NAME = re.compile(rb"(?<![\w.:>])[A-Za-z_]\w*(?!\s*(?:[(<\w]|::))")
_CONSTANT = re.compile(rb"\b(?:const|constexpr|enum|static|define)\b")
_TEMPLATE = re.compile(rb"\btemplate\s*<[^;{}()]*\Z")
_DEVICE = re.compile(ON_DEVICE)


class _Array(NamedTuple):
    """An array with an initializer: the start of its declarator, or of its declaration; its parts."""

    start: int
    type: bytes
    constant: bool
    name: Span
    sizes: Span
    opening: int
    #: Whether a statement may follow the declaration.
    alone: bool = True


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per initialized array whose size is certainly variable."""
    code = source.code
    if source.for_host or source.path.suffix == ".c":
        return
    for array in _arrays(source):
        at = array.name.start
        if _NO_TYPE.search(array.type) or source.ported(at) or source.directive(at) is not None:
            continue
        sizes = _NAME.finditer(code, array.sizes.start, array.sizes.end)
        if not any(_is_variable(source, project, word, at) for word in sizes):
            continue
        said = f"{source[array.name].decode()}: clang accepts no initializer for an array of variable length"
        end = source.closing(array.opening) if code[array.opening : array.opening + 1] == b"{" else None
        zero = end is not None and _ZERO.fullmatch(code, array.opening + 1, end) is not None
        # If the elements are pointers, `const` belongs to their targets.
        constant = array.constant and b"*" not in array.type
        plain = _NUMBER.fullmatch(array.type.strip()) is not None and not constant and array.alone
        if end is None or not zero or not plain or code[end + 1 :].lstrip()[:1] != b";":
            said += "; declare it without initializer, and set its elements, or make it a std::vector"
            yield Finding(Span(array.start, array.opening + 1), "initialized", said, certainty=Certainty.MANUAL)
            continue
        new = b"; __builtin_memset(%b, 0, sizeof(%b))" % (source[array.name], source[array.name])
        yield Finding(
            Span(array.start, end + 1),
            "cleared",
            f"{said}: a statement after it clears it",
            (Edit(Span(array.sizes.end, end + 1), new),),
        )


def _arrays(source: Cpp) -> Iterator[_Array]:
    """Yield the initialized arrays: the first of each declaration, and later ones."""
    code = source.code
    for braces in _INITIALIZED.finditer(code):
        begin = max(
            braces.start() - _LONGEST, 0, *(code.rfind(each, 0, braces.start()) + 1 for each in (b";", b"{", b"}"))
        )
        if match := _ARRAY.search(code, begin, braces.end()):
            start = match.start("const") if match["const"] else match.start("type")
            sizes = Span(match.start("sizes"), match.start("sizes") + len(match["sizes"].rstrip()))
            name, opening = Span(*match.span("name")), match.start("opening")
            yield _Array(start, match["type"], match["const"] is not None, name, sizes, opening)
        elif (array := _behind_others(source, braces.start())) is not None:
            yield array


def _behind_others(source: Cpp, bracket: int) -> _Array | None:
    """Return the array whose last size ends at `bracket`, if other declarators precede it."""
    node = source.tree.root_node.descendant_for_byte_range(bracket, bracket + 1)
    while node is not None and node.type != "init_declarator":
        if node.type.endswith("statement") or node.type in ("initializer_list", "declaration"):
            return None
        node = node.parent
    whole = node.parent if node is not None else None
    if node is None or whole is None or whole.type != "declaration":
        return None
    declared, given, of = (
        each.child_by_field_name(field) for each, field in ((node, "declarator"), (node, "value"), (whole, "type"))
    )
    match = _LATER.match(source.code, node.start_byte, bracket + 1)
    if (
        declared is None
        or given is None
        or of is None
        or match is None
        or whole.child_by_field_name("declarator") == node
    ):
        return None
    type_ = source.code[of.start_byte : of.end_byte] + b" " + match["stars"]
    constant = _CONSTANT.search(source.code, whole.start_byte, of.start_byte) is not None
    alone = whole.parent is not None and whole.parent.type == "compound_statement"
    name, sizes = Span(*match.span("name")), Span(*match.span("sizes"))
    return _Array(node.start_byte, type_, constant, name, sizes, given.start_byte, alone)


def _is_variable(source: Cpp, project: Project, word: re.Match[bytes], offset: int) -> bool:
    """Return whether a name in the size of an array at `offset` is certainly a variable and no constant."""
    name = word.group()
    places = [(span, name) for span, _ in source.names({name}) if span.start < offset]
    for span, _ in reversed(places):
        found = next(iter(declarations(source, [(span, name)])), None)
        if found is None:
            continue
        if found.scope is None or not found.scope.start <= offset < found.scope.end:
            if found.scope is None:
                return False  # A global variable or a macro: it may be a constant.
            continue
        code = source.code
        begin = max(code.rfind(each, 0, span.start) for each in (b";", b"{", b"}"))
        before = code[begin + 1 : span.start]
        opening = opened_before(code, begin + 1, span.start)
        if opening is None and (_TEMPLATE.search(before) or _CONSTANT.search(before)):
            return False
        if opening is not None and _DEVICE.search(before):
            return False
        return opening is not None or value(source, project, name) is None
    return False


PASS = Pass(Cpp, find)

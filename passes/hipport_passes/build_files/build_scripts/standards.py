# SPDX-License-Identifier: Apache-2.0
"""Find code that C++17 treats differently from an older standard.

Sources: annex C.4 of C++17 (N4659) for removed features and changed meanings, read 2026-11; clang's page "C++ Support
in Clang" for the behaviour of compilers under each standard. Decision 0121 says which changes
count, and why.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hipport.core.finding import Certainty
from hipport.core.tables import load, one_of
from hipport.syntax.cpp import Cpp
from hipport_passes.build_files.nvcc_flags import FlagChange

#: The assumption where this cannot be decided.
ASSUMED = "; assumes that the code uses nothing that C++17 removed or changed"

_OLDER = re.compile(r"(?:gnu\+\+|c\+\+)?(0x|11|1y|14)")
# Patterns that are evidence by themselves, and their descriptions.
_SHOWN = tuple(
    (re.compile(pattern), said)
    for pattern, said in (
        (rb"\bregister\b", "register"),
        (rb"\busing\s+(?:\w+\s*::\s*)*(\w+)(?:\s*<[^<>;]*>)?\s*::\s*\1\s*;", "inherited constructors"),
        (rb"\)\s*(?:const\s*)?throw\s*\(", "throw() after a function"),
        # A program's own `byte`, `size` or `data` may conflict with std's.
        (rb"\busing\s+namespace\s+std\s*;", "using namespace std"),
        (
            rb"\bstd\s*::\s*(?:auto_ptr|random_shuffle|bind[12](?:st|nd)|(?:ptr|mem)_fun\w*|(?:unary|binary)_function"
            rb"|(?:unary|binary)_negate|not[12]\b|unexpected\b|(?:set|get)_unexpected|unexpected_handler"
            rb"|uncaught_exception\b|binder[12](?:st|nd)|pointer_to_\w+_function)",
            "names removed from std",
        ),
        # emplace() returns a reference since C++17.
        (rb"\breturn\s+[\w.>\[\]-]+\.emplace(?:_back|_front)?\s*\(", "what emplace() returns"),
        # The right side is evaluated first since C++17 (P0145).
        (rb"\b(\w+)\s*\[[^\[\];=]{0,200}\]\s*=[^=;][^;]{0,200}?(?<![\w.>])\1\s*\.\s*(?:size|count|empty|find)\s*\(",
         "a container's size assigned to one of its own elements"),
    )
)  # fmt: skip
_WORDS: dict[str, str] = load(Path(__file__).with_suffix(".toml"))["words"]
# Since C++17, std has templates of these names, which an argument of a std type finds by lookup.
_NEW_NAME = re.compile(rf"(?<![\w:~.]){one_of(_WORDS['new_names'])}\s*\(".encode())
# A template for the device only is not called with such arguments.
_HOST_TEMPLATE = re.compile(rb"\btemplate\s*<[^;{}()]*>\s*(?![^;{}()]*\b__(?:global|device)__)[^;{}()=.]*\Z")
_TRIGRAPH = re.compile(rb"\?\?[=/'()!<>-]")
_COUNTED = re.compile(rb"\bbool\s*&?\s*(\w+)")
_STEPPED = re.compile(rb"(\w+)\s*\+\+|\+\+\s*(\w+)")
_ASKED = re.compile(rb"(?:\A|(?<=[\r\n]))[ \t]*#[ \t]*(?:el)?if\b[^\r\n]*")
_COMPARED = re.compile(rb"__cplusplus\s*([<>]=?|[=!]=)\s*(\d+)")
# Feature-test macros, without those that no standard has changed.
_FEATURE = re.compile(rf"\b__cpp_(?!{one_of(_WORDS['unchanged'])}\b)\w+".encode())
_VERSIONS = {"11": 201103, "14": 201402, "17": 201703}
_COMPARE: dict[bytes, Callable[[int, int], bool]] = {
    b"<": operator.lt,
    b"<=": operator.le,
    b">": operator.gt,
    b">=": operator.ge,
    b"==": operator.eq,
    b"!=": operator.ne,
}
_SIZED_DELETE = re.compile(rb"\boperator\s+delete\s*(?:\[\s*\]\s*)?\(\s*void\s*\*\s*\w*\s*,\s*(?:std\s*::\s*)?size_t\b")
_CONSTEXPR_MEMBER = re.compile(
    rb"(?<!static )\bconstexpr\s+(?!static\b)[\w:<>,&*\s]*?\b(\w+)\s*\([^(){}]*\)\s*(?:noexcept\s*)?\{"
)

_DERIVED = re.compile(
    rb"\b(struct|class)\s+(?:(?:alignas|__align__)\s*\([^()]*\)\s*)?(\w+)\s*(?:final\s*)?:(?!:)([^;{}()=]{0,400})\{"
)
_CLASS = re.compile(rb"\b(?:struct|class)\s+(\w+)[^;{}()=]{0,400}\{")
_HEAD = re.compile(rb"\b(?:struct|class|union|enum|namespace)\b")
# The words before a brace: a type, with its arguments, and perhaps a variable's name.
_BRACED = re.compile(rb"(\w+)\s*(?:<[^<>;{}()]{0,200}>)?(?:\s+(\w+)\s*(?:\[[^\[\]]*\])?)?\s*=?\Z")
_BRACE = re.compile(rb"[{}]")
# A longer class is not searched: it counts as evidence.
_LONG = 20000
_DATA = re.compile(rb"[\w\]}]\s*;")
_PART = re.compile(rb"\b(private|protected|public)\s*:(?!:)")
_BEHIND = re.compile(rb"\s*=\s*(?:default|delete)\b")
_NOEXCEPT = re.compile(rb"\)\s*(?:const\b\s*)?(?:&{1,2}\s*)?noexcept\b")
_CALLED = re.compile(rb"(\w+)\s*$")
_VALUE = re.compile(rb"(?<![=&])[(,=&{]\s*(?:\w+\s*::\s*)*(\w+)\s*(?=[,);}])")
# Code that decomposes or compares the type of a function.
_TYPE_ASKED = re.compile(
    rb"\b(?:struct|class)\s+\w+\s*<[^;{}]{0,200}?\([^;{}]{0,200}?\)\s*(?:const\s*)?>|\bis_"
    + one_of(_WORDS["traits"]).encode()
    + rb"\w*\s*<"
)
_TEMPLATE = re.compile(rb"\btemplate\s*<[^;{}()]{0,100}>\s*[^;{}()=<>]{0,100}?\b(\w+)\s*\(")
_TAKES_FUNCTION = re.compile(rb"\b(\w+)\s*\(\s*(?:[^();{}]*,)?\s*[\w:]+[\s*&]+\(\s*\*\s*\w*\s*\)\s*\(")
_MUTABLE = re.compile(rb"\b(\w+)\s*\(\s*char\s*\*")
_CONSTANT = re.compile(rb"\b(\w+)\s*\(\s*(?:const\s+char|char\s+const)\s*\*")
_STRING = re.compile(rb"\bstring\b")
_DATA_OF = re.compile(rb"\.\s*data\s*\(")
_NEW = re.compile(rb"\boperator\s+new\b")
_ALIGNED = re.compile(rb"\b(?:alignas|__align__)\b")


@dataclass(frozen=True)
class _Seen:
    """Evidence in a file: some counts by itself, some only together with another file's."""

    shown: tuple[str, ...] = ()
    shown_by_eleven: tuple[str, ...] = ()
    derived: frozenset[bytes] = frozenset()
    braced: frozenset[bytes] = frozenset()
    without_exceptions: frozenset[bytes] = frozenset()
    values: frozenset[bytes] = frozenset()
    asks_types: bool = False
    templates: frozenset[bytes] = frozenset()
    takes_functions: frozenset[bytes] = frozenset()
    for_text: frozenset[bytes] = frozenset()
    data_of_strings: bool = False


def nothing_gone(sources: Iterable[object], older: str = "11") -> bool:
    """Return whether there are C++ files, and all mean the same in C++17 as in the standard `older`."""
    return found(sources, older) == ()


def found(sources: Iterable[object], older: str) -> tuple[str, ...] | None:
    """Return what C++17 removed from or changed in the meaning of C++ files; None if there are no such files.

    None also if `older` is not C++11 or C++14, because that is not known.
    """
    code = [each for each in sources if isinstance(each, Cpp)]
    match = _OLDER.fullmatch(older)
    if not code or match is None:
        return None
    seen = [each.fact(_seen) for each in code]

    def together(name: str) -> frozenset[bytes]:
        return frozenset[bytes]().union(*(getattr(each, name) for each in seen))

    shown = [said for each in seen for said in each.shown]
    if match[1] in ("0x", "11"):
        shown += [said for each in seen for said in each.shown_by_eleven]
    if together("derived") & together("braced"):
        shown.append("a class with a base class, initialized with braces: it is an aggregate since C++17")
    if together("without_exceptions") & together("values") and (
        any(each.asks_types for each in seen) or together("templates") & together("takes_functions")
    ):
        shown.append("noexcept as part of function types")
    if together("for_text") and any(each.data_of_strings for each in seen):
        shown.append("data() of a string, and functions for both kinds of char *")
    return tuple(dict.fromkeys(shown))


def assumed(sources: Iterable[object], older: str) -> str:
    """Return what is assumed if C++17 replaces the standard `older`: nothing if there is no evidence of a change."""
    shown = found(sources, older)
    if shown == ():
        return ""
    return ASSUMED + (f" ({'; '.join(shown[:3])})" if shown else "")


def settled(changes: Sequence[FlagChange], sources: Iterable[object]) -> list[FlagChange]:
    """Return the changes; those of the standard are certain where the sources give no evidence against them."""
    if not any(each.why.endswith(ASSUMED) for each in changes):
        return list(changes)
    sources = tuple(sources)
    return [_settled(each, sources) if each.why.endswith(ASSUMED) else each for each in changes]


def _settled(change: FlagChange, sources: Iterable[object]) -> FlagChange:
    said = assumed(sources, re.split("[= ]", " ".join(change.flags))[-1])
    certainty = change.certainty if said else Certainty.SAFE
    return replace(change, why=change.why.removesuffix(ASSUMED) + said, certainty=certainty)


def _seen(source: Cpp) -> _Seen:
    code = source.code
    shown = [said for pattern, said in _SHOWN if pattern.search(code)]
    if _TRIGRAPH.search(source.text):
        shown.append("trigraphs")
    flags = {match[1] for match in _COUNTED.finditer(code)} - {b"operator"}
    if flags and any(name in flags for pair in _STEPPED.findall(code) for name in pair if name):
        shown.append("++ of a bool")
    conditions = b"\n".join(_ASKED.findall(code))
    if _FEATURE.search(conditions) or _differs(conditions, "14"):
        shown.append("conditions that ask for the standard")
    by_eleven = []
    if _differs(conditions, "11"):
        by_eleven.append("conditions that ask for the standard")
    if _SIZED_DELETE.search(code):
        by_eleven.append("operator delete with a size")
    if _constant_by_eleven(source):
        by_eleven.append("constexpr members, which are const in C++11 only")
    if any(_HOST_TEMPLATE.search(_statement(code, match.start())) for match in _NEW_NAME.finditer(code)):
        shown.append("templates with names that std has since C++17")
    # C++17 calls the overloads of operator new for aligned memory, if there are any.
    if _NEW.search(code) and _ALIGNED.search(code):
        shown.append("operator new, and types with an alignment")
    return _Seen(
        tuple(shown),
        tuple(by_eleven),
        frozenset(_derived(source)),
        frozenset(_braced(code)),
        frozenset(_without_exceptions(code)),
        frozenset(_VALUE.findall(code)),
        _TYPE_ASKED.search(code) is not None,
        frozenset(_TEMPLATE.findall(code)),
        frozenset(_TAKES_FUNCTION.findall(code)),
        frozenset(_MUTABLE.findall(code)) & frozenset(_CONSTANT.findall(code)),
        _STRING.search(code) is not None and _DATA_OF.search(code) is not None,
    )


def _differs(conditions: bytes, older: str) -> bool:
    """Return whether a comparison with the standard has another result in C++17."""
    return any(
        _COMPARE[how](_VERSIONS[older], int(number[:9])) != _COMPARE[how](_VERSIONS["17"], int(number[:9]))
        for how, number in _COMPARED.findall(conditions)
    )


def _derived(source: Cpp) -> Iterator[bytes]:
    """Yield the classes with bases that are aggregates in C++17, or may be."""
    code = source.code
    closed = source.fact(_braces)
    for match in _DERIVED.finditer(code):
        keyword, name, bases = match.groups()
        end = closed.get(match.end() - 1)
        if end is None or re.search(rb"\b(?:virtual|private|protected)\b", bases):
            continue
        if keyword == b"class" and not re.search(rb"\bpublic\b", bases):
            continue
        if end - match.start() > _LONG:
            yield name
            continue
        body = code[match.end() : end]
        if re.search(rb"\bvirtual\b", body) or _has_constructor(source, name, match.end(), end):
            continue
        parts = _PART.split(body)
        hidden = [parts[0]] if keyword == b"class" else []
        hidden += [text for word, text in zip(parts[1::2], parts[2::2], strict=True) if word != b"public"]
        if not any(_DATA.search(text) for text in hidden):
            yield name


def _has_constructor(source: Cpp, name: bytes, start: int, end: int) -> bool:
    """Return whether a class has a user-provided constructor."""
    for match in re.compile(rb"(?<![~\w.>])%b\s*\(" % name).finditer(source.code, start, end):
        before = source.code[max(start, match.start() - 16) : match.start()].rstrip()
        closed = source.closing(match.end() - 1, 1000)
        if re.search(rb"(?:\b(?:return|new|throw)|[-+*/%=(,<!?&|])\Z", before) or closed is None:
            continue
        if not _BEHIND.match(source.code, closed + 1):
            return True
    return False


def _statement(code: bytes, end: int) -> bytes:
    """Return the part of a statement before `end`."""
    before = code[max(0, end - 300) : end]
    return before[max(map(before.rfind, (b";", b"{", b"}"))) + 1 :]


def _braced(code: bytes) -> Iterator[bytes]:
    """Yield the words in front of braces that may be types which are initialized."""
    for match in re.finditer(rb"\{", code):
        before = _statement(code, match.start())
        if not _HEAD.search(before) and (words := _BRACED.search(before.rstrip())):
            yield from filter(None, words.groups())


def _without_exceptions(code: bytes) -> Iterator[bytes]:
    """Yield the names of functions that are noexcept."""
    for match in _NOEXCEPT.finditer(code):
        depth = 0
        for at in range(match.start(), max(-1, match.start() - 1000), -1):
            depth += (code[at] == ord(")")) - (code[at] == ord("("))
            if not depth:
                if name := _CALLED.search(code, max(0, at - 100), at):
                    yield name[1]
                break


def _constant_by_eleven(source: Cpp) -> bool:
    """Return whether a class has constexpr members that are const only in C++11."""
    code = source.code
    functions = {match.start(): match[1] for match in _CONSTEXPR_MEMBER.finditer(code)}
    if not functions:
        return False
    classes = {match.end() - 1: match[1] for match in _CLASS.finditer(code)}
    opened: list[bytes | None] = []
    for at in sorted({*functions, *(match.start() for match in _BRACE.finditer(code))}):
        if at in functions:
            if opened and opened[-1] not in (None, functions[at]):
                return True
        elif code[at] == ord("{"):
            opened.append(classes.get(at))
        elif opened:
            opened.pop()
    return False


def _braces(source: Cpp) -> dict[int, int]:
    """Return the position where each brace is closed."""
    opened: list[int] = []
    closed = {}
    for match in _BRACE.finditer(source.code):
        if match.group() == b"{":
            opened.append(match.start())
        elif opened:
            closed[opened.pop()] = match.start()
    return closed

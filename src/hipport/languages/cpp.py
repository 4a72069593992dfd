# SPDX-License-Identifier: Apache-2.0
"""C and C++ text: which bytes are code, which are names, and what the parser makes of it."""

from __future__ import annotations

import operator
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from hipport.source import Edit, Source, Span

if TYPE_CHECKING:
    import tree_sitter

# A backslash at the end of a line joins it to the next one, before anything else is looked at: also in comments, also
# after another backslash, and (gcc, clang) also with white space behind it.
_SPLICE = rb"\\[ \t\f\v]*(?:\r\n?|\n)"
# What a search for names steps over starts with one of these.
_LEAD = re.compile(
    rb"""
      //[^\\\r\n]*(?:(?:%(splice)s|\\)[^\\\r\n]*)*
    | /\*
    | "(?P<text>[^"\\\r\n]*(?:(?:%(splice)s|\\(?:%(splice)s)*[^\r\n])[^"\\\r\n]*)*\\?)"?
    | '(?P<character>[^'\\\r\n]*(?:(?:%(splice)s|\\(?:%(splice)s)*[^\r\n])[^'\\\r\n]*)*)'
    | \#[ \t]*(?:(?P<include>include(?:_next)?|import)|error|warning)\b
    """
    % {b"splice": _SPLICE},
    re.VERBOSE | re.DOTALL,
)
_RAW_PREFIX = re.compile(rb"(?:\A|[^0-9A-Za-z_\x80-\xff])(?:u8|[uUL])?R\Z")
_RAW_OPENING = re.compile(rb"\"([^()\\\s]{0,16})\(")
_NUMBER_BEFORE = re.compile(rb"(?:\A|[^0-9A-Za-z_.\x80-\xff])\.?[0-9][0-9A-Za-z_.\x80-\xff]*\Z")
_NUMBER_AFTER = re.compile(rb"(?:'[0-9A-Za-z_]|[0-9A-Za-z_.\x80-\xff])+")
_PATH = re.compile(rb"(?:[ \t]|/\*[^\r\n]*?\*/)*(?:<([^>\r\n]*)>|\"([^\"\r\n]*)\")")
_TESTED_PATH = re.compile(rb"\b__has_include(?:_next)?[ \t]*\([ \t]*<([^>\r\n]*)>")
# The message of an #error is prose, with lone apostrophes.
_PROSE = re.compile(rb"(?:[^\\\r\n/]|/(?![/*])|%s|\\)*" % _SPLICE)
# Everything but the two bytes that end lines becomes a space.
_BLANK = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_BOM = b"\xef\xbb\xbf"
_IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_QUALIFIED = re.compile(rb"(?:[A-Za-z_]\w*::)+[A-Za-z_]\w*")
_CALLED = re.compile(rb"[ \t]*\(")
# In front of an operand: an operator, an opening bracket, a comma, or the end of a statement.
_OPERAND = re.compile(rb"[-+*/%=(,;{}!<|^?:\[]\s*$")
_INCLUDE = re.compile(rb"\#[ \t]*(?:include(?:_next)?|import)\b[ \t]*(?P<path>[<\"][ \t]*[>\"])")
_INCLUDE_LINES = re.compile(rb"(?:[ \t]*#[ \t]*include[ \t]*(?:<[^<>\r\n]+>|\"[^\"\r\n]+\")[ \t]*(?:\r\n|\n|\r))+")
_INCLUDED = re.compile(rb"([<\"])([^<>\"\r\n]+)([>\"])")
# What starts or ends comments, literals, directives and lines, and names that decide how what follows is read.
_LEXICAL = re.compile(
    rb"[\"'/\\#\r\n]|\b(?:include|include_next|import|error|warning|__has_include|__has_include_next)\b"
)
# Neither blank at an end nor a number at one, which could become part of what is beside it.
_ENDED = re.compile(rb"/\*.*\*/", re.DOTALL)
_WHOLE_TOKENS = re.compile(rb"[^\s0-9](?:.*[^\s])?")
_TOUCHY = bytes(byte >= 0x80 or chr(byte) in "\"'/*\\#" or chr(byte).isalnum() or byte == 0x5F for byte in range(256))
_BRACKETS = {b"(": b")", b"[": b"]", b"{": b"}"}
_BRACKET = re.compile(rb"[()\[\]{}]")
_LINE = rb"[^\\\r\n]*(?:(?:%s|\\)[^\\\r\n]*)*" % _SPLICE
_REST_OF_LINE = re.compile(_LINE)
_DIRECTIVE = re.compile(rb"\#" + _LINE)
_CONDITIONAL = re.compile(rb"\#[ \t]*(?P<word>(?:el)?ifn?def|(?:el)?if|else|endif)\b(?P<rest>.*)", re.DOTALL)
_SPLICED = re.compile(_SPLICE)
_SPLICED_BEFORE = re.compile(_SPLICE + rb"\Z")
_TOKEN = re.compile(rb"[0-9](?:'?\w)*|\w+|&&|\|\||[<>=!]=|<<|>>|[^\s\w]")
_STRENGTH = {
    sign: strength
    for strength, signs in enumerate(
        (b"|| or", b"&& and", b"|", b"^", b"&", b"== !=", b"< > <= >=", b"<< >>", b"+ -", b"*"), 1
    )
    for sign in signs.split()
}
_OPERATIONS: dict[bytes, Callable[[int, int], int]] = {
    b"|": operator.or_,
    b"^": operator.xor,
    b"&": operator.and_,
    b"==": operator.eq,
    b"!=": operator.ne,
    b"<": operator.lt,
    b">": operator.gt,
    b"<=": operator.le,
    b">=": operator.ge,
    b"<<": lambda a, b: a << b % 64,
    b">>": lambda a, b: a >> b % 64,
    b"+": operator.add,
    b"-": operator.sub,
    b"*": operator.mul,
}

# A space for every byte that words have not, and whether a byte is part of one: 0-9 A-Z _ a-z, and any byte of a longer
# UTF-8 character, which an identifier may have.
_WORDS = bytes(byte if (chr(byte).isalnum() and byte < 128) or byte == 0x5F else 0x20 for byte in range(256))
_ENDS_TYPE = bytes(byte in b"*&>" or _WORDS[byte] != 0x20 for byte in range(256))
_IN_NAME = bytes(byte == 0x3A or _WORDS[byte] != 0x20 for byte in range(256))
_IN_WORD = bytes(_WORDS[byte] != 0x20 or byte >= 128 for byte in range(256))
# How many words are remembered before others are begun with.
_MOST_WORDS = 1 << 18

# Words that the grammars treat as more than an identifier: replacing one, or by one, may change the parse.
_KEYWORDS = frozenset(
    b"alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield "
    b"compl concept const const_cast consteval constexpr constinit continue decltype default defined delete do "
    b"double dynamic_cast else enum explicit export extern false final float for friend goto if inline int long "
    b"mutable namespace new noexcept not not_eq nullptr NULL operator or or_eq override private protected public "
    b"register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
    b"struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual "
    b"void volatile while xor xor_eq offsetof TRUE FALSE".split()
)

# Macros that every HIP compilation for AMD defines as 1 (hipcc and its headers; PyTorch's extension build adds
# USE_ROCM), ones that it defines as something else, and ones that only its device side has.
_TRUE_ON_HIP = frozenset(b"USE_ROCM __HIP_PLATFORM_AMD__ __HIPCC__ __HIP__".split())
_DEFINED_ON_HIP = _TRUE_ON_HIP | frozenset(b"HIP_VERSION ROCM_VERSION TORCH_HIP_VERSION".split())
_ON_HIP_DEVICE = re.compile(rb"__HIP_DEVICE_COMPILE__|__(?:AMD|GFX|gfx)\w*")
# Ones that somebody's build may define for HIP, or that HIP had before ROCm 6. Whoever counts on them has a branch
# without them that has to work too.
_PERHAPS_ON_HIP = frozenset(b"__HIP_PLATFORM_HCC__ __HCC__ WITH_HIP USE_HIP IS_HIP".split())
# What a program's own name for it says: BNB_HIP, USE_AMD_ROCM, GGML_USE_HIP. That of a feature goes on: FOO_HIP_GRAPHS.
_SAYS_HIP = re.compile(
    rb"(?!.*(?:NO|NOT|NON|WITHOUT|DISABLED?|SKIP|CUDA|NVCC)_)"
    rb"(?:[A-Z][A-Z0-9_]*_(?:HIP|ROCM|HIPCC)|(?:HIP|ROCM)_(?:ENABLED|FOUND|AVAILABLE))"
)
# Headers of the two, as a program that has both chooses between them: HIP's, and CUDA's or what hipport knows under it.
_OF_HIP = re.compile(rb"#\s*include\s*[<\"](?:hip/|hip(?:cub|blas|fft|rand|sparse|solver)/|roc\w+/|rccl/)")
_OF_CUDA = re.compile(rb"#\s*include\s*[<\"](?:cu(?:da|rand|blas|fft|sparse|solver|b/)|cooperative_groups|nccl)")
# Names that only one of the two declares.
_HIP_NAME = re.compile(rb"\bhip(?:blas|fft|rand|sparse|solver|cub)?[A-Z]\w+")
_CUDA_NAME = re.compile(rb"\bcu(?:da|blas|fft|rand|sparse|solver|dnn)[A-Z]\w+")
# Where a program tells the two apart, what its own name for NVIDIA says: HAVE_CUDA, GOOGLE_CUDA, CUDA_FOUND. Not
# WITH_CUDA: extensions of PyTorch define that for ROCm as well, where CUDAExtension builds them.
_SAYS_CUDA = re.compile(
    rb"(?!(?:.*_)?WITH_CUDA)(?!.*(?:NO|NOT|NON|WITHOUT|DISABLED?|SKIP|HIP|ROCM)_)"
    rb"(?:[A-Z][A-Z0-9_]*_(?:CUDA|NVCC)|CUDA_(?:ENABLED|FOUND|AVAILABLE))"
)
_NEVER_ON_HIP = frozenset(b"__HIP_PLATFORM_NVIDIA__ __HIP_PLATFORM_NVCC__".split())
_DEFINED_BY_NVCC = frozenset(b"__CUDACC__ __NVCC__ __CUDA_ARCH__ CUDA_VERSION CUDART_VERSION USE_CUDA".split())

# The head of a statement that has another in it; a bracket, and pragmas behind it.
_HEAD = re.compile(rb"\b(?:for|while|if)\s*(?:constexpr\s*)?\(")
# `<`, up to a `>` that a template's arguments could end with, in front of what could follow those or be compared.
_LESS = re.compile(
    rb"<(?<!<<)(?![<=])(?P<between>(?:->|[^<>;{}])*)>(?:>(?![>=])\s*(?P<shift>[\w(])|\s*(?P<next>[-(*&:{]))"
)
_NAME_BEFORE = re.compile(rb"(?:[A-Za-z_]\w*\s*(?:\.|->)\s*)*[A-Za-z_]\w*\s*\Z")
_INDEX = re.compile(rb"(?:threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*[xyz]")
_PARTS = re.compile(rb"\.|->")
# Behind what is given a value, and behind a parameter with its type in front; behind and in front of a macro's name.
_GIVEN = re.compile(rb"\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")
_LISTED = re.compile(rb"\s*[,)]")
_APART = frozenset((b" ", b"\t", b"\n", b"\r", b"\f", b"\v", b"*", b"&"))
_DEFINED = re.compile(rb"[ \t]+\S")
_IF = re.compile(rb"#[ \t]*(?:el)?if\b")
_IN_CONDITION = re.compile(rb"\(|\)?(?: (?:\|\||&&) !?defined\(\w+\))*\)?")
_PRAGMAS_IN = re.compile(rb"\)((?:\s*?\n[ \t]*#[ \t]*pragma\b(?!\s+omp\b)[^\n]*)+)")


@dataclass(frozen=True, slots=True)
class Include:
    """An `#include` of a plain path. `target` has the delimiters in it; `directive` is from `#` to its end."""

    directive: Span
    target: Span
    path: str
    angled: bool


# One macro that says that CUDA's compiler, or CUDA, is there.
_THERE_IS_CUDA = re.compile(rb"(?P<not>!)?defined(?:__CUDACC__|__NVCC__|__HIPCC__|(?!NO|\w*_NO_)\w*CUDA\w*)")


@dataclass(frozen=True, slots=True)
class Conditional:
    """`#if`, `#elif`, `#else` or `#endif`; that of an `#ifdef X` is a `condition` too, `defined(X)`."""

    span: Span
    word: bytes
    condition: bytes

    def tells(self, known: AbstractSet[bytes] = frozenset()) -> bool:
        """Whether the condition tells AMD from NVIDIA, by macros of the program's that are known to, or by HIP's."""
        return any(
            name in _DEFINED_ON_HIP or name in _NEVER_ON_HIP or name in known or _ON_HIP_DEVICE.fullmatch(name)
            for name in _IDENTIFIER.findall(self.condition)
        )


class _Vocabulary:
    """The words of many files, and which of them match a pattern: each word is tried once."""

    def __init__(self) -> None:
        self._words: set[bytes] = set()
        #: The words that came together, each between line feeds: searched many times as fast as one by one.
        self._lines: list[bytes] = []
        #: For each pattern, how many of the words it was tried on, and which it matches.
        self._tried: dict[tuple[bytes, int], tuple[int, set[bytes]]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def add(self, words: frozenset[bytes]) -> None:
        new = words - self._words
        if new:
            self._lines.append(b"\n%s\n" % b"\n".join(new))
            self._words |= new

    def matched(self, pattern: re.Pattern[bytes]) -> AbstractSet[bytes]:
        """Return the words that the pattern matches whole."""
        # The hash of a pattern is worked out each time, that of its text once.
        key = pattern.pattern, pattern.flags
        tried, matched = self._tried.get(key, (0, set[bytes]()))
        if tried < len(self._lines):
            search = _of_lines(*key).finditer
            for lines in self._lines[tried:]:
                matched.update(found.group()[1:] for found in search(lines))
            self._tried[key] = len(self._lines), matched
        return matched


@lru_cache(maxsize=1024)
def _of_lines(pattern: bytes, flags: int) -> re.Pattern[bytes]:
    """A pattern that finds the lines which `pattern` matches whole, with the line feed in front of each."""
    return re.compile(rb"\n(?:" + pattern.removeprefix(b"(?i)") + rb")(?=\n)", flags)


#: The one that words are added to.
_vocabularies = [_Vocabulary()]

CppT = TypeVar("CppT", bound="Cpp")


@dataclass(frozen=True)
class Cpp(Source):
    """C++ (or C) source text."""

    #: The program's own macros of which other files of it show that every HIP compilation defines them.
    chosen: frozenset[bytes] = field(default=frozenset(), repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"chosen": self.chosen}

    lasting = (*Source.lasting, "includes")

    @cached_property
    def code(self) -> bytes:
        """The text with comments, literals and include paths blanked: same length, same line endings.

        Quotes stay, so that an argument that is a string is still an argument. What is not certainly one of these
        stays too: a lone apostrophe, a raw string without an end, a comment whose `//` is spliced.
        """
        return self._lexed[0]

    def apply(self: CppT, edits: Iterable[Edit]) -> CppT:
        """Return the source with `edits` made. Raises Conflict; with no edits, returns itself."""
        result = super().apply(edits)
        if result is self:
            return self
        if "_lexed" in self.__dict__:
            lexed = self._lexed_after(result.edits)
            if lexed is not None:
                # They are asked of nearly every text, and where they stand in the next one is told from this one.
                _ = self.includes
                result.__dict__["_lexed"] = lexed
                result.__dict__.update(self._known_after(result.edits))
        tree = self.__dict__.get("tree")
        result.__dict__["_parsed"] = (self, tree) if tree is not None else self.__dict__.get("_parsed")
        return result

    def _lexed_after(self, edits: Sequence[Edit]) -> tuple[bytes, tuple[Span, ...]] | None:
        """What `_lexed` is with `edits` made; None where that is not plain to see, and it has to be lexed again."""
        code, long = self._lexed
        pieces: list[bytes] = []
        shifted: list[Span] = []
        done = shift = comment = 0
        for edit in edits:
            new = self._code_of(edit)
            if new is None:
                return None
            while comment < len(long) and long[comment].end <= edit.span.start:
                shifted.append(Span(long[comment].start + shift, long[comment].end + shift))
                comment += 1
            pieces += (code[done : edit.span.start], new)
            done = edit.span.end
            shift += len(edit.new) - len(edit.span)
        pieces.append(code[done:])
        shifted += (Span(span.start + shift, span.end + shift) for span in long[comment:])
        return b"".join(pieces), tuple(shifted)

    def _known_after(self, edits: Sequence[Edit]) -> dict[str, object]:
        """What is known of the text, with edits made after which nothing has to be lexed again."""
        known: dict[str, object] = {}
        if "words" in self.__dict__:
            known["words"] = self.words.union(*(_words(edit.new) for edit in edits))
        if "directives" not in self.__dict__:
            return known
        ends = [edit.span.end for edit in edits]
        shifts = [0, *accumulate(len(edit.new) - len(edit.span) for edit in edits)]

        def moved(span: Span) -> Span:
            if span.end < ends[0]:
                return span
            return Span(
                span.start + shifts[bisect_right(ends, span.start)], span.end + shifts[bisect_right(ends, span.end)]
            )

        gone = tuple(edit.span for edit in edits if not edit.new)
        directives = [moved(directive) for directive in self.directives if not within(directive.start, gone)]
        inserted = [
            Span(edit.span.start + shift + match.start(), edit.span.start + shift + match.end())
            for edit, shift in zip(edits, shifts, strict=False)
            if not len(edit.span)  # includes
            for match in _DIRECTIVE.finditer(edit.new)
        ]
        known["directives"] = tuple(sorted(directives + inserted) if inserted else directives)
        if "includes" in self.__dict__ and not any(
            edit.new[:1] in (b"", b"#", b'"', b"<", b" ", b"\t") for edit in edits
        ):
            known["includes"] = tuple(
                Include(moved(each.directive), moved(each.target), each.path, each.angled) for each in self.includes
            )
        return known

    def _code_of(self, edit: Edit) -> bytes | None:
        """The code of what `edit` writes, if that changes nothing about how the rest is lexed; else None."""
        start, end = edit.span.start, edit.span.end
        old = self.text[start:end]
        if (
            old
            and old == self.code[start:end]
            and _lexed_apart(old)
            and _lexed_apart(edit.new)
            and not (start and _TOUCHY[self.text[start - 1]])
            and not (end < len(self.text) and _TOUCHY[self.text[end]])
        ):
            return edit.new
        if _INCLUDE_LINES.fullmatch(edit.new) and not old and start == self.include_point:
            return _INCLUDED.sub(lambda path: path[1] + b" " * len(path[2]) + path[3], edit.new)
        if not edit.new and self._is_include_lines(edit.span):
            return b""
        if edit.new in (b"<<<", b">>>") and old.translate(None, b" \t") == edit.new and old == self.code[start:end]:
            return edit.new
        if _INCLUDED.fullmatch(edit.new) and any(edit.span == include.target for include in self.includes):
            return edit.new[:1] + b" " * (len(edit.new) - 2) + edit.new[-1:]
        return None

    def _is_include_lines(self, span: Span) -> bool:
        """Whether whole lines stand there, and on each an `#include` of a plain path."""
        return (
            _INCLUDE_LINES.fullmatch(self.text, span.start, span.end) is not None
            and any(span.start <= include.directive.start < span.end for include in self.includes)
            and (not span.start or self.text[span.start - 1 : span.start] in (b"\n", b"\r"))
        )

    @cached_property
    def _lexed(self) -> tuple[bytes, tuple[Span, ...]]:
        """The code, and the comments that reach over the end of a line."""
        text = self.text
        code = bytearray(b"   " + text[3:] if text.startswith(_BOM) else text)
        long: list[Span] = []
        endless: set[bytes] = set()  # delimiters of raw strings that no raw string from here on ends with
        search = _LEAD.search
        match = search(text)
        while match is not None:
            start, end = match.span()
            lead = text[start]
            if lead == 0x2F:  # a slash
                if text[start + 1] == 0x2A:
                    close = text.find(b"*/", end)
                    end = len(text) if close < 0 else close + 2
                blank = text[start:end].translate(_BLANK)
                if b"\n" in blank or b"\r" in blank:
                    long.append(Span(start, end))
                code[start:end] = blank
            elif lead == 0x22:  # a double quote
                inside = match.span("text")
                if text[start - 1 : start] == b"R" and _RAW_PREFIX.search(text[max(0, start - 4) : start]):
                    opening = _RAW_OPENING.match(text, start)
                    if opening and opening[1] not in endless:
                        close = text.find(b")" + opening[1] + b'"', opening.end())
                        if close < 0:
                            endless.add(opening[1])
                        else:
                            end = close + len(opening[1]) + 2
                            inside = start + 1, end - 1
                code[inside[0] : inside[1]] = text[inside[0] : inside[1]].translate(_BLANK)
            elif lead == 0x27:  # an apostrophe
                number = _NUMBER_AFTER.match(text, start) if text[start - 1 : start].isalnum() else None
                if number and _NUMBER_BEFORE.search(text[max(0, start - 64) : start]):
                    end = number.end()
                else:
                    inside = match.span("character")
                    code[inside[0] : inside[1]] = text[inside[0] : inside[1]].translate(_BLANK)
            elif _first_on_line(code, start):
                found = (_PATH if match["include"] else _PROSE).match(text, end)
                if found is not None:
                    inside = found.span(found.lastindex or 0)
                    if match["include"]:
                        code[end : inside[0] - 1] = b" " * (inside[0] - 1 - end)
                    code[inside[0] : inside[1]] = text[inside[0] : inside[1]].translate(_BLANK)
                    end = found.end()
            match = search(text, end)
        if b"__has_include" in text:
            for match in _TESTED_PATH.finditer(code):
                code[match.start(1) : match.end(1)] = b" " * len(match[1])
        return bytes(code), tuple(long)

    @cached_property
    def words(self) -> frozenset[bytes]:
        """The identifiers of the code, and more: other words, and some that edits took away.

        What to ask before the code is searched: most files have nothing of what a pass looks for.
        """
        return frozenset(_words(self.code))

    def matched(self, pattern: re.Pattern[bytes]) -> AbstractSet[bytes]:
        """Return those of `words` that `pattern` matches whole."""
        return self.words & self._vocabulary.matched(pattern)

    @cached_property
    def _vocabulary(self) -> _Vocabulary:
        """The one that has all of `words`."""
        if len(_vocabularies[-1]) > _MOST_WORDS:
            _vocabularies[:] = [_Vocabulary()]
        _vocabularies[-1].add(self.words)
        return _vocabularies[-1]

    def names(
        self, wanted: re.Pattern[bytes] | AbstractSet[bytes] = _IDENTIFIER, behind: re.Pattern[bytes] | None = None
    ) -> Iterator[tuple[Span, bytes]]:
        """Yield the identifiers in code that are `wanted`, in order, macro bodies and inactive branches included.

        A pattern must match them whole, and identifiers only. `behind` matches what has to follow.
        """
        found = self.matched(wanted) if isinstance(wanted, re.Pattern) else self.words & wanted
        if not found:
            return
        code = self.code
        for start, name in _places(code, found):
            if behind is None or behind.match(code, start + len(name)):
                yield Span(start, start + len(name)), name

    @cached_property
    def includes(self) -> tuple[Include, ...]:
        """The `#include` directives with a plain path, in inactive branches too."""
        found = []
        for directive in self.directives:
            match = _INCLUDE.match(self.code, directive.start, directive.end)
            if match is not None:
                target = Span(*match.span("path"))
                path = self.text[target.start + 1 : target.end - 1].decode("utf-8", "surrogateescape")
                angled = self.text[target.start] == 0x3C
                found.append(Include(Span(directive.start, target.end), target, path, angled))
        return tuple(found)

    @cached_property
    def directives(self) -> tuple[Span, ...]:
        """The preprocessor directives, each from its `#` to the end of its last line, however it is spliced."""
        code, long = self._lexed
        found: list[Span] = []
        for match in _DIRECTIVE.finditer(code):
            start, end = match.span()
            if (found and start < found[-1].end) or not _first_on_line(code, start):
                continue
            # Inside a comment the end of a line does not end a directive.
            while (i := bisect_right(long, end, key=lambda span: span.start) - 1) >= 0 and end < long[i].end:
                rest = _REST_OF_LINE.match(code, long[i].end)
                end = rest.end() if rest else long[i].end
            found.append(Span(start, end))
        return tuple(found)

    def directive(self, offset: int) -> Span | None:
        """Return the directive that `offset` is in, or None."""
        directive = self.directive_before(offset)
        return directive if directive is not None and offset < directive.end else None

    def directive_before(self, offset: int) -> Span | None:
        """Return the last directive that starts at `offset` or before it, or None."""
        i = bisect_right(self._directive_starts, offset) - 1
        return self.directives[i] if i >= 0 else None

    @cached_property
    def _directive_starts(self) -> list[int]:
        return [directive.start for directive in self.directives]

    @cached_property
    def include_point(self) -> int:
        """Where an `#include` that the whole file needs goes: the start of a line.

        That is before the first include, condition or declaration, and after what a file may open with: comments,
        `#pragma once`, a header guard, macros that steer the headers included later, and defaults of such.
        """
        code = self.code
        point = 0
        ends = {group[0].span: group[-1].span for group in self.conditionals}
        closed: Span | None = None
        for i, span in enumerate(self.directives):
            if code[point : span.start].strip():
                break
            if span == closed:
                point = span.end
                continue
            words = code[span.start + 1 : span.end].split()
            opens = words[:1] in ([b"define"], [b"undef"]) or words == [b"pragma", b"once"]
            if words[:1] == [b"ifndef"] and i + 1 < len(self.directives):
                following = self.directives[i + 1]
                opens = code[following.start + 1 : following.end].split()[:2] == [b"define", *words[1:2]]
                end = ends.get(span)
                if opens and end is not None and code[end.end :].strip():
                    # No guard of the file but a macro's default, `#ifndef BLOCK`, `#define BLOCK 256`, `#endif`: what
                    # stands in it is not there where the macro is given.
                    opens = code[following.end : end.start].strip() == b""
                    closed = end
            if not opens:
                break
            point = span.end
        rest = code[point:]
        start = self._line_start(point + len(rest) - len(rest.lstrip()))
        # A comment may end on that line, or never: then in front of the comment.
        for comment in reversed(self._lexed[1]):
            ended = comment.end if _ENDED.fullmatch(self[comment]) else comment.end + 1
            if comment.start < start < ended:
                start = self._line_start(comment.start)
        return start or (len(_BOM) if self.text.startswith(_BOM) else 0)

    def _line_start(self, offset: int) -> int:
        return max(self.text.rfind(b"\n", 0, offset), self.text.rfind(b"\r", 0, offset)) + 1

    def closing(self, offset: int, limit: int | None = None) -> int | None:
        """Return the offset of the bracket that closes the one at `offset`, or None; at most `limit` bytes on."""
        code = self.code
        stack: list[bytes] = []
        for match in _BRACKET.finditer(code, offset, min(len(code), offset + (limit or len(code)))):
            bracket = match.group()
            if bracket in _BRACKETS:
                stack.append(_BRACKETS[bracket])
            elif not stack or stack.pop() != bracket:
                return None
            if not stack:
                return match.start()
        return None

    def arguments(self, opening: int) -> tuple[Span, ...] | None:
        """Split what stands between the bracket at `opening` and its partner at top-level commas.

        Spans are trimmed of white space and comments at both ends. Template arguments are not understood:
        `f(g<a, b>(c))` has two. Returns None when the bracket is not closed.
        """
        end = self.closing(opening)
        if end is None:
            return None
        code = self.code
        cuts = [opening]
        depth = 0
        for match in re.compile(rb"[()\[\]{},]").finditer(code, opening + 1, end):
            token = match.group()
            if token == b",":
                if not depth:
                    cuts.append(match.start())
            else:
                depth += 1 if token in _BRACKETS else -1
        cuts.append(end)
        spans = tuple(self.trimmed(Span(a + 1, b)) for a, b in pairwise(cuts))
        return () if len(spans) == 1 and not len(spans[0]) else spans

    def trimmed(self, span: Span) -> Span:
        """Return `span` without white space and comments at its ends."""
        piece = self.code[span.start : span.end]
        start = span.start + len(piece) - len(piece.lstrip())
        return Span(start, max(start, span.start + len(piece.rstrip())))

    @cached_property
    def cuda_only(self) -> tuple[Span, ...]:
        """The stretches that no HIP compilation for AMD sees: under `#ifndef USE_ROCM`, say.

        Whoever wrote them has already said what AMD gets, so a port leaves them alone.
        """
        return self._branches[0]

    @cached_property
    def hip_only(self) -> tuple[Span, ...]:
        """The stretches that only a HIP compilation sees: what is in them is already ported."""
        return self._branches[1]

    @cached_property
    def conditionals(self) -> tuple[tuple[Conditional, ...], ...]:
        """The directives of each `#if` … `#endif`, inner ones before the one that they are in."""
        groups: list[tuple[Conditional, ...]] = []
        stack: list[list[Conditional]] = []
        for directive in self.directives:
            match = _CONDITIONAL.fullmatch(self.code, directive.start, directive.end)
            if match is None:
                continue
            word, rest = match["word"], match["rest"]
            if word.endswith(b"def"):
                rest = (b"!" if b"n" in word else b"") + b"defined(" + (rest.split() or [b"?"])[0] + b")"
            part = Conditional(directive, word, rest)
            if word.startswith(b"if"):
                stack.append([part])
            elif stack:
                stack[-1].append(part)
                if word == b"endif":
                    groups.append(tuple(stack.pop()))
        return tuple(groups)

    @cached_property
    def conditional(self) -> tuple[Span, ...]:
        """The stretches that stand under an `#if`, other than a header guard."""
        found = []
        for group in self.conditionals:
            name = group[0].condition.removeprefix(b"!defined(").rstrip(b")")
            guard = self.code[group[0].span.end :].split(None, 3)[:2] == [b"#define", name]
            if not guard or len(group) > 2:
                found.append(Span(group[0].span.start, group[-1].span.end))
        return _outermost(found)

    @cached_property
    def without_cuda(self) -> tuple[Span, ...]:
        """The stretches that no compilation for CUDA sees: `#ifndef __CUDACC__`, and the `#else` of its opposite."""
        found = []
        for group in self.conditionals:
            condition = b"".join(group[0].condition.split()).replace(b"defined(", b"defined").rstrip(b")")
            match = _THERE_IS_CUDA.fullmatch(condition)
            if (
                match is None
                or len(group) > 3
                or group[-1].word != b"endif"
                or (len(group) == 3 and group[1].word != b"else")
            ):
                continue
            if match["not"]:
                found.append(Span(group[0].span.end, group[1].span.start))
            elif len(group) == 3:
                found.append(Span(group[1].span.end, group[2].span.start))
        return _outermost(found)

    @cached_property
    def chosen_on_hip(self) -> frozenset[bytes]:
        """The program's own macros that every HIP compilation of it has to define, as the text shows.

        `#ifdef USE_HIP` before HIP's headers or functions and `#else` before CUDA's: without it there is no HIP.
        """
        found = set()
        for group in self.conditionals if names_for_hip(self.text) else ():
            for name in {name for part in group for name in names_for_hip(part.condition)}:
                if self._chosen_by(name, group):
                    found.add(name)
        return frozenset(found)

    @property
    def known_on_hip(self) -> frozenset[bytes]:
        """The program's own macros that are known to be defined on HIP, from this file or from others."""
        return self.chosen | self.chosen_on_hip

    def _chosen_by(self, name: bytes, group: tuple[Conditional, ...]) -> bool:
        """Whether HIP has its branch of the group with the macro defined, and CUDA has one of its own."""
        alone = frozenset((name,))
        with_hip: list[bool] = []
        live = False
        for part, following in pairwise(group):
            here = Span(part.span.end, following.span.start)
            includes, code = self[here], self.code[here.start : here.end]
            of_hip = bool(_OF_HIP.search(includes) or _HIP_NAME.search(code))
            of_cuda = bool(_OF_CUDA.search(includes) or _CUDA_NAME.search(code))
            if not live and (part.word == b"else" or condition(part.condition, hip=True, chosen=alone)):
                if not of_hip or _OF_CUDA.search(includes):
                    return False
                live = True
            else:
                with_hip += [of_hip] if of_cuda else []
        return live and False in with_hip

    @cached_property
    def _branches(self) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
        dead: list[Span] = []
        alive: list[Span] = []
        chosen = self.known_on_hip
        for group in self.conditionals:
            told = any(part.tells(chosen) for part in group)
            # Whether HIP and CUDA may still see a branch: not after one that they see for certain.
            hip_may: bool | None = True
            cuda_may: bool | None = True
            for part, following in pairwise(group):
                here_hip = part.word == b"else" or condition(part.condition, hip=True, told=told, chosen=chosen)
                here_cuda = part.word == b"else" or condition(part.condition, hip=False)
                hip, hip_may = _and(hip_may, here_hip), _and(hip_may, _not(here_hip))
                cuda, cuda_may = _and(cuda_may, here_cuda), _and(cuda_may, _not(here_cuda))
                branch = Span(part.span.end, following.span.start)
                if hip is False and cuda is not False:
                    dead.append(branch)
                elif cuda is False and hip is not False:
                    alive.append(branch)
        return _outermost(dead), _outermost(alive)

    @cached_property
    def tree(self) -> tree_sitter.Tree:
        """The syntax tree of the text."""
        parser = _parser(self.grammar)
        # Of a text before that was parsed, only what the edits since have touched is parsed again.
        before, tree = self.__dict__.get("_parsed") or (self, None)
        if tree is None:
            return parser.parse(self._to_parse)
        steps: list[Source] = []
        step: Source = self
        while step is not before:
            steps.append(step)
            assert step.before is not None
            step = step.before
        tree = tree.copy()
        for step in reversed(steps):
            _edit(tree, step)
        return parser.parse(self._to_parse, tree)

    @property
    def _to_parse(self) -> bytes:
        """The text without the pragmas between the head of a loop or an `if` and what belongs to it.

        The grammar would take the head for a statement with nothing in it, and what follows for another one. And where
        it would take `i < n >> 1` and `i < n && j > (k)` for templates, `<` is `>`: what an operator is, the text says.
        """
        parted = {match.start(): Span(*match.span(1)) for match in _PRAGMAS_IN.finditer(self.code)}
        compared = list(self._compared())
        if not parted and not compared:
            return self.text
        text = bytearray(self.text)
        for place in compared:
            text[place] = 0x3E  # `>`
        for head in _HEAD.finditer(self.code):
            closing = self.closing(head.end() - 1)
            if closing is not None and (pragmas := parted.get(closing)) is not None:
                piece = bytes(text[pragmas.start : pragmas.end])
                text[pragmas.start : pragmas.end] = re.sub(rb"[^\r\n]", b" ", piece)
        return bytes(text)

    def _compared(self) -> Iterator[int]:
        """Yield where a `<` compares, and the grammar would take it for the beginning of a template's arguments."""
        code = self.code
        values: dict[bytes, bool] = {}
        for match in _LESS.finditer(code):
            between, shift = match["between"], match["shift"]
            joined = b"&&" in between or b"||" in between
            if (shift is None and not joined) or not _balanced(between):
                continue
            name = _NAME_BEFORE.search(code, max(0, match.start() - 80), match.start())
            if name is None:
                continue
            if shift is not None and shift.isdigit():
                yield match.start()
                continue
            # `map<int, pair<int, int>> x`
            if shift is not None and code[max(0, name.start() - 8) : name.start()].rstrip()[-1:] in (b"<", b",", b":"):
                continue
            last = _PARTS.split(name.group())[-1].strip()
            if last not in values:
                values[last] = self._is_value(last)
            if values[last] or _INDEX.match(name.group()):
                yield match.start()

    def _is_value(self, name: bytes) -> bool:
        """Whether something that has this name is given a value in the file, or is a parameter: no template is."""
        code = self.code
        start = code.find(name)
        while start >= 0:
            end, last = start + len(name), code[start - 1 : start]
            if _GIVEN.match(code, end) and not (last and _IN_NAME[last[0]]):
                return True
            # `float *name,`
            if last in _APART and _LISTED.match(code, end):
                before = _skipped(code, start - 1)
                if before and _ENDS_TYPE[code[before - 1]]:
                    return True
            if last in (b" ", b"\t") and _DEFINED.match(code, end):
                word = _skipped(code, start)
                if code.endswith(b"define", 0, word) and code.endswith(b"#", 0, _skipped(code, word - 6)):
                    return True
            start = code.find(name, start + 1)
        return False

    @property
    def grammar(self) -> str:
        """The tree-sitter grammar that parses this file."""
        return "cpp"

    @cached_property
    def errors(self) -> int:
        """How many ERROR and MISSING nodes the tree has."""
        root = self.tree.root_node
        if not root.has_error:
            return 0
        count = 0
        stack = [root]
        while stack:
            node = stack.pop()
            if node.is_error or node.is_missing:
                count += 1
            stack.extend(child for child in node.children if child.has_error or child.is_missing)
        return count

    def harmless(self, edit: Edit) -> bool:
        """An identifier put for an identifier, or a path for a path, gives the parser the same tree.

        So do includes taken away line by line, or put where includes go, and a qualified name for one that is called in
        an expression. The brackets of a launch that are joined were an error before. What is put into the condition of
        an `#if` is no syntax of the program's; where the parser has lost its way before, it finds other errors behind.
        """
        old = self[edit.span]
        if not old and _IN_CONDITION.fullmatch(edit.new):
            directive = self.directive(edit.span.start) or self.directive(edit.span.start - 1)
            if directive is not None and _IF.match(self.code, directive.start):
                return True
        if _is_identifier(old) and _is_identifier(edit.new):
            whole = not _part_of_word(self.text, edit.span.start - 1) and not _part_of_word(self.text, edit.span.end)
            return whole and old not in _KEYWORDS and edit.new not in _KEYWORDS
        if not edit.new or _INCLUDE_LINES.fullmatch(edit.new):
            start = edit.span.start
            return (not old and start == self.include_point) or (not edit.new and self._is_include_lines(edit.span))
        if _QUALIFIED.fullmatch(edit.new) and _IDENTIFIER.fullmatch(old):
            return (
                _CALLED.match(self.code, edit.span.end) is not None
                and _OPERAND.search(self.code, max(0, edit.span.start - 8), edit.span.start) is not None
            )
        if edit.new in (b"<<<", b">>>"):
            return old.translate(None, b" \t\r\n\\") == edit.new
        return any(edit.span == include.target for include in self.includes) and bool(
            re.fullmatch(rb"<[^<>\r\n]+>|\"[^\"\r\n]+\"", edit.new)
        )


def _edit(tree: tree_sitter.Tree, source: Source) -> None:
    """Tell the tree of the text before `source` of the edits that made it."""
    assert source.before is not None
    # For a parser, nothing else ends a line.
    ends = [-1, *(match.start() for match in re.finditer(rb"\n", source.before.text))]
    for edit in reversed(source.edits):
        start, end = edit.span.start, edit.span.end
        row, last = bisect_left(ends, start) - 1, bisect_left(ends, end) - 1
        column, lines = start - ends[row] - 1, edit.new.count(b"\n")
        width = len(edit.new) - edit.new.rfind(b"\n") - 1 + (0 if lines else column)
        tree.edit(
            start,
            end,
            start + len(edit.new),
            (row, column),
            (last, end - ends[last] - 1),
            (row + lines, width),
        )


def condition(text: bytes, *, hip: bool, told: bool = False, chosen: frozenset[bytes] = frozenset()) -> bool | None:
    """Evaluate a preprocessor condition as a HIP compilation for AMD (or an nvcc one) would; None where unknown.

    `told`: the program tells AMD from NVIDIA here, so what only nvcc defines is indeed not defined on HIP. Elsewhere
    `__CUDACC__` says that code is for the device, which a port has to keep. `chosen` are macros of the program's own
    that are defined on HIP. Any other macro may be anything.
    """
    try:
        value = _Condition(_TOKEN.findall(_SPLICED.sub(b"", text)), hip, told, chosen).value()
    except (IndexError, ValueError, RecursionError):
        return None
    return None if value is None else value != 0


class _Condition:
    """The value of a condition's tokens: a number, or None where it is not known. Raises for what is no condition."""

    def __init__(self, tokens: list[bytes], hip: bool, told: bool, chosen: frozenset[bytes]) -> None:
        self.tokens = tokens[::-1]
        self.chosen = chosen
        self.hip = hip
        self.told = told

    def value(self) -> int | None:
        value = self.ternary()
        if self.tokens:
            raise ValueError(self.tokens[-1])
        return value

    def next(self, expected: bytes = b"") -> bytes:
        token = self.tokens.pop()
        if expected and token != expected:
            raise ValueError(token)
        return token

    def ternary(self) -> int | None:
        value = self.binary(1)
        if self.tokens[-1:] != [b"?"]:
            return value
        self.next()
        yes = self.ternary()
        self.next(b":")
        no = self.ternary()
        if value is None:
            return yes if yes == no else None
        return yes if value else no

    def binary(self, weakest: int) -> int | None:
        left = self.unary()
        while self.tokens and (strength := _STRENGTH.get(self.tokens[-1], 0)) >= weakest:
            left = _combined(self.next(), left, self.binary(strength + 1))
        return left

    def unary(self) -> int | None:
        token = self.next()
        if token in (b"!", b"not"):
            value = self.unary()
            return None if value is None else int(not value)
        if token == b"-":
            value = self.unary()
            return None if value is None else -value
        if token == b"(":
            value = self.ternary()
            self.next(b")")
            return value
        if token == b"defined":
            name = self.next()
            if name == b"(":
                name = self.next()
                self.next(b")")
            known = self.defined(name)
            return None if known is None else int(known)
        if token[:1].isdigit():
            digits = token.replace(b"'", b"").lower().rstrip(b"ul")
            return int(digits, 8 if digits.isdigit() and digits.startswith(b"0") else 0)
        if not _IDENTIFIER.fullmatch(token):
            raise ValueError(token)
        if self.tokens[-1:] == [b"("]:  # a macro with arguments, or __has_include
            depth = 0
            while True:
                depth += {b"(": 1, b")": -1}.get(self.next(), 0)
                if not depth:
                    return None
        if token in (b"true", b"false"):
            return int(token == b"true")
        if self.defined(token) is False:
            return 0  # A macro that is not defined counts as 0.
        return 1 if self.hip and (token in _TRUE_ON_HIP or token in self.chosen) else None

    def defined(self, name: bytes) -> bool | None:
        if name in _NEVER_ON_HIP:
            return False
        if name in _DEFINED_ON_HIP or name in self.chosen:
            return self.hip
        if _perhaps_on_hip(name) or _ON_HIP_DEVICE.fullmatch(name):
            return None if self.hip else False
        nvidia = name in _DEFINED_BY_NVCC or _SAYS_CUDA.fullmatch(name)
        return False if self.hip and self.told and nvidia else None


def names_for_hip(text: bytes) -> set[bytes]:
    """Return the words of the text that may be a program's own macros for HIP."""
    found = set()
    # Few words have these in them: they are looked at, not all words.
    parts = (b"HIP", b"ROCM", b"__HCC__") if b"HIP" in text or b"ROCM" in text else ()
    for part in parts:
        start = text.find(part)
        while start >= 0:
            end = start + len(part)
            while start and _WORDS[text[start - 1]] != 0x20:
                start -= 1
            while end < len(text) and _WORDS[text[end]] != 0x20:
                end += 1
            name = text[start:end].lstrip(b"0123456789")
            if _perhaps_on_hip(name):
                found.add(name)
            start = text.find(part, end)
    return found


def _perhaps_on_hip(name: bytes) -> bool:
    return name in _PERHAPS_ON_HIP or _SAYS_HIP.fullmatch(name) is not None


def _combined(sign: bytes, left: int | None, right: int | None) -> int | None:
    if sign in (b"&&", b"and"):
        return 0 if 0 in (left, right) else None if None in (left, right) else 1
    if sign in (b"||", b"or"):
        return 1 if left or right else None if None in (left, right) else 0
    return None if left is None or right is None else int(_OPERATIONS[sign](left, right))


def _and(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a


def _first_on_line(code: bytes | bytearray, offset: int) -> bool:
    """Say whether only white space stands in front of `offset` on its line, and the line is not part of another."""
    start = code.rfind(b"\n", 0, offset) + 1
    start = code.rfind(b"\r", start, offset) + 1 or start
    return not code[start:offset].strip() and not _SPLICED_BEFORE.search(code, max(0, start - 80), start)


def _outermost(spans: list[Span]) -> tuple[Span, ...]:
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return tuple(kept)


def within(offset: int, spans: tuple[Span, ...]) -> bool:
    """Say whether `offset` lies in one of `spans`, which are sorted and do not overlap."""
    if not spans:
        return False
    i = bisect_right(spans, offset, key=lambda span: span.start) - 1
    return i >= 0 and offset < spans[i].end


def word_before(code: bytes, offset: int) -> bytes:
    """Return the word that stands in front of `offset`, with white space between them perhaps; b"" if none does."""
    before = code[max(0, offset - 200) : offset].rstrip()
    start = len(before)
    while start and _WORDS[before[start - 1]] != 0x20:
        start -= 1
    return before[start:].lstrip(b"0123456789")


@lru_cache(maxsize=1 << 14)
def _lexed_apart(text: bytes) -> bool:
    """Whether it is whole tokens, with nothing in them that decides how what is around them is lexed."""
    return _WHOLE_TOKENS.fullmatch(text) is not None and not _LEXICAL.search(text)


@lru_cache(maxsize=1 << 14)
def _is_identifier(text: bytes) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None


def _part_of_word(text: bytes, offset: int) -> bool:
    return 0 <= offset < len(text) and bool(_IN_WORD[text[offset]])


def _words(code: bytes) -> Collection[bytes]:
    return code.translate(_WORDS).split()


def _places(code: bytes, words: Iterable[bytes]) -> list[tuple[int, bytes]]:
    """Return where each of the words stands by itself, in order."""
    find, size, inside = code.find, len(code), _IN_WORD
    places = []
    for word in words:
        width = len(word)
        start = find(word)
        while start >= 0:
            end = start + width
            if not (start and inside[code[start - 1]]) and not (end < size and inside[code[end]]):
                places.append((start, word))
            start = find(word, end)
    places.sort()
    return places


_parsers: dict[str, Any] = {}


def _skipped(code: bytes, offset: int) -> int:
    """Return where the white space in front of `offset` begins."""
    while offset > 0 and code[offset - 1] in b" \t\n\r\f\v":
        offset -= 1
    return offset


def _balanced(code: bytes) -> bool:
    depth = 0
    for byte in code:
        if byte in b"([":
            depth += 1
        elif byte in b")]":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def _parser(grammar: str) -> tree_sitter.Parser:
    # tree-sitter is loaded only when a file really has to be parsed: start-up is part of the product.
    if grammar not in _parsers:
        import tree_sitter

        language = import_module(f"tree_sitter_{grammar}").language()
        _parsers[grammar] = tree_sitter.Parser(tree_sitter.Language(language))
    parser: tree_sitter.Parser = _parsers[grammar]
    return parser

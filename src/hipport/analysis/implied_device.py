# SPDX-License-Identifier: Apache-2.0
"""Functions that are device code although no text that hipport sees says so: `CUTLASS_DEVICE void reduce() { … }`.

A host compiler knows no `__shfl_sync`. So a function that calls one, itself or by a macro, is device code, and an
unknown macro before it stands for `__device__`, there and before other functions; unless it also stands before a
function that only a host runs. A function behind another unknown macro that calls such a function is device code, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property

from hipport.analysis.functions import DEVICE, HOST, Function, functions
from hipport.analysis.macros import defined
from hipport.analysis.word_index import leading_to
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp, within
from hipport.syntax.cuda_names import MATCH, NAMES, ON_GPU, PARTITION, SHUFFLE, WHOLE_GROUP, WHOLE_GROUP_TYPE

_CALL = NAMES.compile(
    rb"(?:\b__%b(?&masked)?|\b(?&hipport)::%b(?&masked)?|\b(?&hipport)::(?&ptx_space)::(?&ptx_collectives)\w*|"
    rb"\b%b|\b%b|(?:\.|->)\s*(?:template\s+)?(?:%b|%b))\s*\(" % (ON_GPU, ON_GPU, PARTITION, WHOLE_GROUP, SHUFFLE, MATCH)
)
# Parameters and variables that are groups of threads.
_GROUP = NAMES.compile(
    rb"\b(?&tile_type)\s*<|\b(?:(?&lane_group_types)|%b)\s*(?:\s|&)\s*\w+\s*[,)=;]" % WHOLE_GROUP_TYPE
)
_ASM = NAMES.compile(rb"\b(?&gnu_asm)\b\s*(?:(?&volatile_asm)\b\s*)?\(")
_PTX = NAMES.compile(rb"\b(?&ptx_collectives)\.\w")
# A launch, and a call of CUDA's runtime.
_ON_HOST = NAMES.compile(rb"<<<|\b(?&cuda)[A-Z]\w*\s*\(")
_WORD = re.compile(rb"[A-Za-z_]\w*")
# In the text before a function's name: macros are written in capitals, or begin with an underscore.
_MACRO = re.compile(rb"\b(?:[A-Z][A-Z0-9_]+|_\w+)\b")


class Implied:
    """What the text of connected files implies about which functions are device code."""

    def __init__(self, component: Component) -> None:
        self._files = [source for source in component if isinstance(source, Cpp)]
        macros = component.fact(defined)
        self._seen = macros.keys()
        texts = {name: {word for macro in of for word in _WORD.findall(macro.text)} for name, of in macros.items()}
        found = {name for name, of in macros.items() if any(_CALL.search(macro.text) for macro in of)}
        found |= leading_to(found, texts.items()) if found else set()
        # In another branch of the preprocessor, a macro may be for the host.
        self._calling = frozenset(
            name
            for name in found
            if all(
                _CALL.search(macro.text) or not found.isdisjoint(_WORD.findall(macro.text)) for macro in macros[name]
            )
        )
        unmarked = [each for source in self._files for each in self._that_call(source) if not _is_marked(each)]
        words = frozenset(word for each in unmarked for word in _MACRO.findall(each.head))
        #: The words before functions that may be macros for `__device__`, as those are device code.
        self.macros = words - self._before_host_functions if words else words
        # Where all device code that is seen is marked, only its files may have such code behind other macros.
        self._may_call = [
            source for source in self._files if unmarked or self._mentions(source) or DEVICE.search(source.code)
        ]
        self._names = self._calling_them()

    @cached_property
    def _before_host_functions(self) -> frozenset[bytes]:
        return frozenset[bytes]().union(*(source.fact(_before_host_functions) for source in self._files))

    def may_run(self, source: Cpp) -> bool:
        """Return whether functions of the file may be device code by what they call."""
        return self._mentions(source) or not self._names.isdisjoint(source.words)

    def runs(self, function: Function) -> bool:
        """Return whether the function calls what only a GPU has: itself, not a lambda in it."""
        return self._runs(function) or self._calls_one(function, self._names)

    def _mentions(self, source: Cpp) -> bool:
        return source.fact(_mentions) or not self._calling.isdisjoint(source.words)

    def _that_call(self, source: Cpp) -> Iterator[Function]:
        return (each for each in functions(source) if self._runs(each)) if self._mentions(source) else iter(())

    def _runs(self, function: Function) -> bool:
        if within(function.body.start_byte, function.source.without_cuda):
            return False
        return function.fact(_calls) or any(_is_own(function, start) for start in _calls_of(function, self._calling))

    def _calls_one(self, function: Function, names: AbstractSet[bytes]) -> bool:
        """Whether a function behind an unknown macro calls one of these functions."""
        return (
            not names.isdisjoint(function.called)
            and any(word not in self._seen for word in _MACRO.findall(function.head))
            and not within(function.body.start_byte, function.source.without_cuda)
            and any(_is_own(function, start) for start in _calls_of(function, names))
            and not function.mentions(_ON_HOST)
            and not self._before_host_functions.issuperset(set(_MACRO.findall(function.head)) - self._seen)
        )

    def _calling_them(self) -> frozenset[bytes]:
        """Return the names of functions that are device code, and of those behind unknown macros that call them."""
        every = [each for source in self._files if self._mentions(source) for each in functions(source)]
        device = {each.name for each in every if not each.kernel and not HOST.search(each.head) and self._runs(each)}
        found = frozenset(device - {each.name for each in every if not _is_marked(each) and not self._runs(each)})
        new: AbstractSet[bytes] = found
        while new:
            files = [source for source in self._may_call if not new.isdisjoint(source.words)]
            callers = (each for source in files for each in functions(source) if not _is_marked(each))
            new = {each.name for each in callers if each.name not in found and self._calls_one(each, new)}
            found |= new
        return found


def _is_marked(function: Function) -> bool:
    return DEVICE.search(function.head) is not None


def _calls_of(function: Function, names: AbstractSet[bytes]) -> Iterator[int]:
    """Yield the places where the function may call one of these."""
    if not names.isdisjoint(function.called):
        code = function.source.code
        for match in _WORD.finditer(code, function.body.start_byte, function.body.end_byte):
            # Not a method of an object.
            if match.group() in names and code[match.start() - 1 : match.start()] not in (b".", b">"):
                yield match.start()


def _before_host_functions(source: Cpp) -> frozenset[bytes]:
    """Return the words before functions that launch kernels or call CUDA's runtime."""
    if not _ON_HOST.search(source.code):
        return frozenset()
    found = (each for each in functions(source) if not _is_marked(each) and each.mentions(_ON_HOST))
    return frozenset(word for each in found for word in _MACRO.findall(each.head))


def _mentions(source: Cpp) -> bool:
    code = source.code
    return (
        _CALL.search(code) is not None
        or _GROUP.search(code) is not None
        or (_ASM.search(code) is not None and _PTX.search(source.text) is not None)
    )


def _calls(function: Function) -> bool:
    code, start, end = function.source.code, function.node.start_byte, function.body.end_byte
    if _GROUP.search(code, start, function.body.start_byte):
        return True
    return any(
        _is_own(function, match.start())
        for pattern in (_CALL, _GROUP, _ASM)
        for match in pattern.finditer(code, start, end)
        if pattern is not _ASM or _is_ptx(function, match)
    )


def _is_ptx(function: Function, asm: re.Match[bytes]) -> bool:
    closing = function.source.closing(asm.end() - 1)
    return closing is not None and _PTX.search(function.source.text, asm.end(), closing) is not None


def _is_own(function: Function, offset: int) -> bool:
    """Whether a place belongs to the function, not to a lambda in it."""
    outer = function.node
    node = outer.descendant_for_byte_range(offset, offset + 1)
    while node is not None and node.id != outer.id and node.type != "lambda_expression":
        node = node.parent
    return node is not None and node.id == outer.id

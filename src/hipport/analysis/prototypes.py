# SPDX-License-Identifier: Apache-2.0
"""Device functions that are only declared: another translation unit defines them, so their effects are unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hipport.analysis.functions import DEVICE
from hipport.program.project import Component
from hipport.syntax.cpp import Cpp

#: The text between `__device__` and the parameter list of a function; its last word is the name.
_HEAD = re.compile(rb"[\w\s:*&<>,]*?\b([A-Za-z_]\w*)\s*\(")
_ATTRIBUTE = re.compile(rb"__launch_bounds__|__attribute__|alignas|__declspec")
_END = re.compile(rb"\s*(?:const\b\s*)?(?:noexcept\b\s*)?;")


def prototypes(component: Component) -> Mapping[bytes, tuple[tuple[bytes, ...], ...]]:
    """Return the parameters of each declaration of a device function in the files of `component`, by its name."""
    found: dict[bytes, list[tuple[bytes, ...]]] = {}
    for source in component:
        if isinstance(source, Cpp):
            for name, parameters in source.fact(_prototypes):
                found.setdefault(name, []).append(parameters)
    return {name: tuple(each) for name, each in found.items()}


def _prototypes(source: Cpp) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    code = source.code
    found = []
    for match in DEVICE.finditer(code):
        head = _HEAD.match(code, match.end())
        if head is None or _ATTRIBUTE.fullmatch(head[1]):
            continue
        closing = source.closing(head.end() - 1)
        if closing is None or not _END.match(code, closing + 1):
            continue
        parameters = source.arguments(head.end() - 1) or ()
        declared = tuple(code[each.start : each.end] for each in parameters)
        found.append((head[1], () if declared == (b"void",) else declared))
    return tuple(found)

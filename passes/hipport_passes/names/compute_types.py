# SPDX-License-Identifier: Apache-2.0
"""Give hipBLAS's matrix products a compute type where cuBLAS also takes the type of data.

`cublasGemmEx(…, CUDA_R_32F, algo)` is how programs for CUDA 10 wrote it. In C++, cuBLAS overloads the function for it.
hipBLAS takes a `hipblasComputeType_t` alone, so the call does not compile. A constant becomes the compute type that
cuBLAS takes for it; hipBLAS has no other one for the same numbers. A value of type `cudaDataType` is reported. Runs
after `api_names`: the calls are HIP's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from hipport.analysis.macros import Macro, calls, defined
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Component, Project
from hipport.syntax.cpp import Cpp

_SINCE = (6, 0)  # hipBLAS 2.0, the first with hipblasComputeType_t
_CALL = re.compile(rb"\s*\(")
_WORDS = load(Path(__file__).with_suffix(".toml"))["words"]
_DATA = (one_of(_WORDS["data"], r"\w+") + r"\b").encode()
_DATA_TYPE = re.compile(rb"(?<![\w.])" + _DATA)
# Text whose type is not the value of the argument: a comparison, and arguments of a function.
_ASIDE = re.compile(rb"[\w:]*\s*[=!]=\s*[\w:]*|[\w>]\s*\([^()]*\)")
# The last name of `c`, `this->c`, `of.c`, `Type<T>::value`, `types[i]`.
_NAME = re.compile(rb"(?:[\w\s:.<>,*&()-]*[.>:\s*&])?([A-Za-z_]\w*)(?:\[[^\[\]]*\])?")
_TYPES = one_of(f"{_WORDS['types_of_data']} {_WORDS['types_of_computing']}").encode()
_DECLARED = rb"\b(?P<type>" + _TYPES + rb")\b[^;(){}]*?\b%s\b"
_AUTO = rb"\bauto\b[^;(){}=]*\b%s\s*[=({][^;]*?(?<![\w.])(?P<type>" + _DATA + rb")"


@cache
def _table() -> tuple[dict[bytes, int], dict[bytes, bytes]]:
    rows = load(Path(__file__).with_suffix(".toml"))
    index = {name.encode(): int(each) for name, each in rows["index"].items()}
    return index, {name.encode(): each.encode() for name, each in rows["types"].items()}


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per argument that is a type of data where HIP takes a compute type."""
    if project.target.rocm < _SINCE:
        return
    component = project.component(source)
    taking = component.fact(_taking)
    for span, name in source.names(taking.keys()):
        opening = _CALL.match(source.code, span.end)
        arguments = source.arguments(opening.end() - 1) if opening else None
        if arguments is not None and taking[name] < len(arguments) and not source.ported(span.start):
            finding = _argument(source, component, name, arguments[taking[name]])
            if finding is not None:
                yield finding


def _taking(component: Component) -> Mapping[bytes, int]:
    """Return the functions, and the macros that pass a parameter on to them, with the index of the compute type."""
    found = dict(_table()[0])
    for name, of in component.fact(defined).items():
        for index in (each for macro in of if b"Ex" in macro.text for each in _handed_on(macro)):
            found[name] = index
    return found


def _handed_on(macro: Macro) -> Iterator[int]:
    """Yield the index of the parameter that a macro gives one of the functions as the compute type."""
    for function, index in _table()[0].items():
        for name in (function, function.replace(b"hip", b"cu", 1)):
            for given in calls(macro.text, name) or ():
                if macro.parameters and index < len(given) and given[index].strip(b" ()") in macro.parameters:
                    yield macro.parameters.index(given[index].strip(b" ()"))


def _argument(source: Cpp, component: Component, function: bytes, place: Span) -> Finding | None:
    text = source.code[place.start : place.end]
    aside = [match.span() for match in _ASIDE.finditer(text)]
    constants = [
        match for match in _DATA_TYPE.finditer(text) if not any(start <= match.start() < end for start, end in aside)
    ]
    if constants:
        edits = [
            Edit(Span(place.start + match.start(), place.start + match.end()), _table()[1][_of_hip(match.group())])
            for match in constants
            if _of_hip(match.group()) in _table()[1]
        ]
        if len(edits) == len(constants):
            message = f"{function.decode()} takes a compute type, and cuBLAS takes this one for the type of data"
            return Finding(place, "constant", message, tuple(edits))
    else:
        name = _NAME.fullmatch(text)
        if name is None or _is_parameter(source, name[1], place.start):
            return None
        if not _is_data(source, component, name[1], place.start):
            return None
        macros = component.fact(defined).get(name[1], ())
        if len(macros) == 1 and (found := _table()[1].get(_of_hip(macros[0].text.strip(b" ()")))):
            message = f"{function.decode()} takes a compute type, and cuBLAS takes this one for {name[1].decode()}"
            return Finding(place, "constant", message, (Edit(place, found),))
    return Finding(
        place,
        "value",
        f"{source[place].decode('utf-8', 'replace')}: hipBLAS takes a hipblasComputeType_t here, and no type of data: "
        "HIPBLAS_COMPUTE_32F for CUDA_R_32F, HIPBLAS_COMPUTE_16F for CUDA_R_16F",
        certainty=Certainty.MANUAL,
    )


def _is_parameter(source: Cpp, name: bytes, at: int) -> bool:
    """Whether a name is a parameter of the macro that is defined there; the macro's uses are checked instead."""
    line = source.directive(at)
    defines = re.match(rb"#[ \t]*define[ \t]+\w+\(([^()]*)\)", source.code[line.start :]) if line else None
    return defines is not None and name in defines[1].replace(b" ", b"").split(b",")


def _of_hip(name: bytes) -> bytes:
    return name.replace(b"CUDA", b"HIP", 1)


def _is_data(source: Cpp, component: Component, name: bytes, before: int) -> bool:
    """Whether a name is a type of data, by its nearest declaration or its definition as a macro."""
    macros = component.fact(defined).get(name, ())
    if macros:
        return any(_DATA_TYPE.fullmatch(macro.text.strip(b" ()")) for macro in macros)
    patterns = [re.compile(text % re.escape(name)) for text in (_DECLARED, _AUTO)]
    others = [other for other in component if isinstance(other, Cpp) and other is not source and name in other.words]
    for code in (source.code[:before], source.code[before:], *(other.code for other in others)):
        found = [match for pattern in patterns for match in pattern.finditer(code)]
        if found:
            return (
                max(found, key=lambda match: match.start())["type"].decode() not in _WORDS["types_of_computing"].split()
            )
    return False


PASS = Pass(Cpp, find)

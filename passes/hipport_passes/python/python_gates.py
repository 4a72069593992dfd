# SPDX-License-Identifier: Apache-2.0
"""Port Python code that depends on CUDA's release, compute capabilities, and NVIDIA's names, tools and libraries.

On ROCm `torch.version.cuda` is None, a compute capability is the gfx number of an AMD GPU, and NVIDIA's tools and
libraries are missing. Code that only looks like CUDA is right and stays: `torch.cuda`, the device "cuda",
`torch.backends.cudnn` (MIOpen's switches there), CUDA_VISIBLE_DEVICES (which HIP honours), `torch.cuda.amp`,
`torch.cuda.nvtx` (roctx there), and warps of 32 lanes, which ported kernels keep. Nothing changes on a machine with
CUDA: edits depend on `torch.version.hip`, or take effect where the release of CUDA is None. Code that already tests for
ROCm, or handles the missing parts, stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.tables import Words, load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.dividing import near
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.cpp import Cpp
from hipport.syntax.python_script import Misplaced, Python
from hipport_passes.build_files import nvidia_tools
from hipport_passes.device.lost_code import of_project

#: Words in the names of NVIDIA's GPUs.
_TABLE = load(Path(__file__).with_suffix(".toml"))
WORDS = Words(_TABLE["words"], NAMES)
PRODUCT = re.compile(
    rf"(?i){one_of(WORDS['product_parts'])}|\b(?:[abhlpv]|gb)\d{{2,3}}s?\b|\b{one_of(WORDS['products'])}\b"
    r"|\b[2345]0[6789]0\b".encode()
)
_MODULES = "|".join(sorted({re.escape(name.partition(".")[0]) for name in _TABLE["modules"]}))
_IMPORTS = re.compile(
    rf"^[ \t]*(?:import|from)[ \t][^#\n]*?\b(?:{_MODULES})\b[^#\n]*"
    rf"|\b{one_of(WORDS['imports'])}\([ \t]*[\"']({_MODULES})\b".encode(),
    re.MULTILINE,
)
# A line may import several modules.
_NAMED = re.compile(rf"\b(?:{_MODULES})\b".encode())
_QUESTIONS = {
    "versions": WORDS.compile(rb"(?&version)[ \t]*\.[ \t]*(?&cuda)\b|(?&torch)\.(?&version)[ \t]+import\b"),
    "capabilities": WORDS.compile(
        rb"\b(?&capabilities)\b|\A(?=(?s:.*)\b(?&properties)\b)(?s:.*)(?:\.|[\"'])(?&parts_of_capability)\b"
    ),
    "device_names": re.compile(rf"\b{one_of(WORDS['device_names'])}\b".encode()),
    "nvidia_smi": WORDS.compile(rb"(?&nvidia_smi)"),
    "tools": nvidia_tools.mentioned(),
    "installs": WORDS.compile(
        rb"\b(?&installers)\b(?s:.{0,40}?)\b(?&installs)\b|\b(?&session_runner)\b(?s:.*)\.(?&session_installs)\("
    ),
    "arch_lists": re.compile(rf"\b{one_of(WORDS['arch_lists'])}\b".encode()),
    "warp_sizes": WORDS.compile(rb"\b(?&warp_size)\b|(?i:(?&lanes))\w*[ \t]*(?::[^=\n]*)?=[^=\n]*\b64\b"),
    "switches": WORDS.compile(rb"\b(?&switches)\b|(?&cudnn_release)\b"),
    "homes": re.compile(rf"\b{one_of(WORDS['homes'])}\b".encode()),
    "removed": WORDS.compile(
        rb"\b(?&utils)[ \t]*\.[ \t]*(?&removed_module)\b"
        rb"|\b(?&torch)\.(?&utils)[ \t]+import[ \t][^\n]*\b(?&removed_module)\b"
    ),
    "libraries": WORDS.compile(rb"\b(?&loads)\b[^\n]*(?&libraries_of_nvidia)"),
    "sources": re.compile(rf"\b{one_of(WORDS['sources'])}\b".encode()),
    "kernels": WORDS.compile(
        rb"\b(?&kernels)\b|\b(?&kernel_prefixes)|\b(?&most_registers)\b[\"']?[ \t]*[=:]"
        rb"|\b(?&warps)[\"']?[ \t]*[=:][ \t]*(?:32|64|\d{3})|\b(?&blocks)[\"']?[ \t]*[=:][ \t]*(?:[2-9]|\d\d|[A-Za-z_])"
        rb"|\b(?&bitcode)[\w.]*\.bc\b|\b(?&compiled_for)[ \t]*=[ \t]*\([ \t]*[\"'](?&cuda)"
    ),
}
# Other signs of a capability.
_TOLD = WORDS.compile(rb"\b(?&told)\b|\A(?=(?s:.*)\b(?&others)\b)(?s:.*)\b(?&capability_of_others)\b")
# A count of warps that is not a literal, and numbers of warps that AMD's GPUs do not have.
_COUNTED = re.compile(rf"\b{one_of(WORDS['counts'])}[\"']?[ \t]*[=:][ \t]*[A-Za-z_(]".encode())
_MANY = re.compile(rb"(?<![\w.])(?:32|64|\d{3})(?![\w.])")
# A comparison with a name that is usual for a capability.
_LOST = re.compile(rf"(?i){one_of(WORDS['compared'])}(?:\(\))?(?:\[[^\]\n]*\])?[ \t]*(?:[=<>!]=|[<>]|in\b)".encode())
# Names of functions and values that test for Hopper and later GPUs.
_NAMED_FOR = WORDS.compile(
    rb"(?i)\b_*(?&asking)_\w*?(?:sm_?(?:9|1[0-2])\d|(?&generations))|sm(?:9|1[0-2])\d(?&or_later)"
)
_INTRINSICS = WORDS.compile(rb"\w+(?&masked)")
_FROM = re.compile(rb"(?m)^from[ \t]+[\w.]*?\.?(\w+)[ \t]+import[ \t]*(\([^()]*\)|[^\n#]*)")
# Code that is wrong on ROCm in any context.
_FAILS = WORDS.compile(
    rb"(?&cuda_release)[ \t]*(?:\.|\[|[<>])|(?&converts)\([\w.]*(?&cuda_release)\b"
    rb"|(?&capabilities)\([^()\n]*\)(?:\[0\])?[ \t]*(?:[=<>!]=|[<>]|in)[ \t]*[(\[]?[ \t]*(?:9|1[0-2])\b"
)


# The words of a name that builds for ROCm lack: a file that uses it has all of them.
_LACKING = [tuple(name.encode().split(b".")) for name in (*_TABLE["lacking"], *_TABLE["properties"])]


def _asked(source: Python, project: Project) -> set[str]:
    """Return the questions that a file may ask; a quick test."""
    text = source.text
    asked = {name for name, pattern in _QUESTIONS.items() if pattern.search(text)}
    if "capabilities" not in asked and any(
        owner.encode() in text and name.encode() in text for owner, name in project.fact(_capability_functions)
    ):
        asked.add("capabilities")
    if "capabilities" not in asked and _TOLD.search(text):
        asked.add("capabilities")
    if "capabilities" not in asked and _LOST.search(text) and project.fact(_asks_for_capabilities):
        asked.add("capabilities")
    if _NAMED_FOR.search(text):
        asked.add("told")
    if any(all(word in text for word in words) for words in _LACKING):
        asked.add("lacking")
    if "device_names" in asked and not PRODUCT.search(text):
        asked.discard("device_names")
    if b"triton" not in text:
        asked.discard("kernels")
    elif _COUNTED.search(text) and (_MANY.search(text) or any(name.encode() in text for name in project.fact(_counts))):
        asked.add("kernels")
    return asked


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per question that an AMD GPU, or ROCm, answers differently, or not at all."""
    project = near(project, source)
    text = source.text
    asked = _asked(source, project)
    modules = {
        name.decode(errors="replace") for match in _IMPORTS.finditer(text) for name in _NAMED.findall(match.group())
    }
    modules = {name for name in modules if not _own(name, project)}
    if not asked and not modules:
        return
    if source.module is None:
        match = _FAILS.search(text)
        if match is not None:
            message = "hipport cannot read this Python reliably; port it by hand"
            yield Finding(Span(*match.span()), "unread", message, (), Certainty.MANUAL)
        return
    # Imported late: loading the parser takes longer than porting most trees.
    from hipport_passes.packages import recipes
    from hipport_passes.python.runtime import (
        capability,
        capability_kinds,
        imports,
        installs,
        lacking,
        probes,
        sources,
        told_by_packages,
        triton,
        versions,
        warp_sizes,
    )
    from hipport_passes.python.runtime.python_program import PythonProgram

    program = source.fact(PythonProgram)
    known = {name: said for name, said in _TABLE["modules"].items() if name.partition(".")[0] in modules}
    answers: dict[str, Callable[[], Iterator[Finding]]] = {
        "versions": lambda: versions.versions(program),
        "capabilities": lambda: capability.capabilities(
            program,
            capability_kinds.Elsewhere(project.fact(_capability_functions), project.fact(_constants)),
            project.fact(_missing_code),
        ),
        "told": lambda: told_by_packages.told(program, lambda name: not name or _own(name, project)),
        "device_names": lambda: probes.device_names(program),
        "nvidia_smi": lambda: probes.nvidia_smi(program),
        "tools": lambda: probes.tools(program),
        "installs": lambda: installs.installs(program, project),
        "arch_lists": lambda: probes.arch_lists(program),
        "warp_sizes": lambda: warp_sizes.warp_sizes(program, project.fact(_has_logical_warps)),
        "lacking": lambda: lacking.lacking(program, _TABLE["lacking"], _TABLE["properties"]),
        "switches": lambda: probes.switches(program),
        "homes": lambda: probes.homes(program),
        "removed": lambda: imports.imports(program, _TABLE["removed"]),
        "libraries": lambda: imports.libraries(program, _TABLE["libraries"]),
        "sources": lambda: sources.sources(program),
        "kernels": lambda: triton.kernels(program, project.fact(_constants)),
    }
    try:
        findings = [finding for name, answer in answers.items() if name in asked for finding in answer()]
        imported = [*imports.imports(program, known), *imports.imported_by_name(program, known)]
    except Misplaced:
        return  # Such a file cannot be changed.
    yield from findings
    for found in imported:
        # A finding in a list on the same package is about the same fact.
        yield replace(found, about=recipes.of(project).imported(found.message.partition(" ")[0]))


def _capability_functions(project: Project) -> dict[tuple[str, str], str]:
    """Return the compute capabilities, and functions that return one, by module or class and name, with their kind."""
    found: dict[tuple[str, str], str] = {}
    packages: list[Python] = []
    for source in project.sources:
        if not isinstance(source, Python):
            continue
        if source.path.stem == "__init__":
            packages.append(source)
        if _QUESTIONS["capabilities"].search(source.text) and source.module is not None:
            from hipport_passes.python.runtime import capability
            from hipport_passes.python.runtime.elsewhere import module
            from hipport_passes.python.runtime.python_program import PythonProgram

            try:
                of_file = capability.functions(source.fact(PythonProgram))
            except Misplaced:
                continue
            found |= {(owner or module(source.path), name): kind for (owner, name), kind in of_file.items()}
    # A package passes on its imports.
    for source in packages if found else ():
        for match in _FROM.finditer(source.text):
            for name in re.findall(rb"\w+", match[2]):
                kind = found.get((match[1].decode(errors="replace"), name.decode(errors="replace")))
                if kind is not None:
                    found.setdefault((source.path.parent.name, name.decode()), kind)
    return found


def _missing_code(project: Project) -> dict[tuple[int, int], str]:
    """Return, by capability, the functions without code on AMD."""
    found: dict[tuple[int, int], list[str]] = {}
    for each in project.fact(of_project):
        if str(each) not in found.setdefault(each.capability, []):
            found[each.capability].append(str(each))
    return {
        capability: ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
        for capability, places in found.items()
    }


def _asks_for_capabilities(project: Project) -> bool:
    return any(isinstance(each, Python) and _QUESTIONS["capabilities"].search(each.text) for each in project.sources)


def _has_logical_warps(project: Project) -> bool:
    """Say whether the program's C++ has intrinsics of 32 lanes that are not for CUDA alone."""
    return any(
        not each.ported(span.start)
        for each in project.sources
        if isinstance(each, Cpp)
        for span, _ in each.names(_INTRINSICS)
    )


def _constants(project: Project) -> dict[tuple[str, str], object]:
    """Return the constants of the tree's modules and classes."""
    from hipport_passes.python.runtime import elsewhere

    return elsewhere.constants(project)


def _counts(project: Project) -> frozenset[str]:
    """Return the names of constants that may be more warps than AMD's GPUs have."""
    constants = project.fact(_constants).items()
    return frozenset(name for (_, name), value in constants if isinstance(value, int) and value >= 32)


def _own(module: str, project: Project) -> bool:
    """Return whether a module of that name is part of the tree."""
    return any(module in source.path.parts[:-1] or source.path.name == f"{module}.py" for source in project.sources)


PASS = Pass(Python, find)

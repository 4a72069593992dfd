# SPDX-License-Identifier: Apache-2.0
"""Port the build scripts of PyTorch extensions: flags for nvcc, gates on CUDA_HOME, probes of nvcc, libraries.

PyTorch's build passes the flags for nvcc to hipcc unchanged, and CUDA_HOME is None there: many scripts then silently
build nothing. Where PyTorch is for ROCm, the flags become hipcc's. A build for CUDA stays the same, and so does code
that is already for ROCm alone, or for CUDA only. The facts on PyTorch are from torch/utils/cpp_extension.py of 2.13.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePath

from hipport.core.edits import Span
from hipport.core.finding import Certainty, Finding
from hipport.core.group import Group
from hipport.core.placing import walk
from hipport.core.tables import Words
from hipport.engine.pipeline import Pass
from hipport.program.dividing import near
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Misplaced, Python
from hipport_passes.build_files.nvcc_flags import Translated, translate

__all__ = ["PASS", "Translated", "find", "translate"]

# Words of a script that builds something for a GPU, or asks for nvcc.
_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_MENTIONS = _WORDS.compile(rb"(?&mentions)|[\"'](?&nvcc)[\"' ]|\.cu[\"']|-D(?!(?&of_cmake))\w*(?&cuda_in_macros)\w*=")
#: Flags that a script may keep for another script that builds.
_FLAGS = _WORDS.compile(rb"(?&flags)")
_COMMENT = re.compile(rb"(?<!\S)#[^\r\n]*")
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+(\S+)[ \t]+)?import[ \t]+(\([^)]*\)|[^\r\n#]*)", re.MULTILINE)
_RELEASE = _WORDS.compile(rb"version[ \t]*\.[ \t]*(?&cuda)\b")
_BUILDS = _WORDS.compile(rb"\b(?&builds)\b")


def find(source: Python, project: Project) -> Iterator[Finding]:
    """Yield a finding per flag, gate, probe or library that is for CUDA."""
    project = near(project, source)
    shared = _FLAGS.search(source.text) is not None and source.path in project.fact(_of_builds)
    if not shared and not _MENTIONS.search(source.text):
        return
    if source.module is None:
        if _BUILDS.search(source.text):
            yield _unread(source)
        return
    # Imported late: loading the parser takes longer than porting most trees.
    from hipport_passes.build_files.build_scripts.extension_flags import flags
    from hipport_passes.build_files.build_scripts.gates import gates
    from hipport_passes.build_files.build_scripts.no_gpu import openings
    from hipport_passes.build_files.build_scripts.nvcc_probes import probes
    from hipport_passes.build_files.build_scripts.script import Script
    from hipport_passes.build_files.build_scripts.script_edits import resolved
    from hipport_passes.build_files.build_scripts.unset import unset
    from hipport_passes.python.runtime import versions
    from hipport_passes.python.runtime.python_program import PythonProgram

    script = source.fact(Script)
    script.modules = project.fact(_modules)
    torch = shared or b"torch" in _COMMENT.sub(b"", source.text)
    try:
        # `python_gates` runs later and opens these; the code behind them is then for both.
        if _RELEASE.search(source.text):
            script.open_to_rocm(dict.fromkeys(versions.gates(source.fact(PythonProgram)), False))
        # First, because the code behind them is then for ROCm, too.
        opened = list(openings(script))
        shut = list(unset(script))
        # Code that ROCm no longer reaches needs no other finding.
        bodies = [body for each in shut for body in each.bodies]
        said = list(flags(script, project, torch))
        said = [each for each in said if not any(body.start <= each.span.start < body.end for body in bodies)]
        said += [each.said for each in shut]
        findings = list(resolved(script, [*opened, *said, *gates(script, _kernels(source, project)), *probes(script)]))
    except Misplaced:
        findings = [_unread(source)]
    yield from findings


def _modules(project: Project) -> frozenset[str]:
    """Return the names of the Python modules in the tree."""
    return frozenset(map(_module, _programs(project)))


def _of_builds(project: Project) -> frozenset[PurePath]:
    """Return the Python files that build with PyTorch, those that they import, and those that import them."""
    programs = _programs(project)
    of_name: dict[str, list[Python]] = defaultdict(list)
    for each in programs:
        of_name[_module(each)].append(each)
    builders = [each for each in programs if _BUILDS.search(each.text)]
    names = set(map(_module, builders))
    found = {each.path for each in programs if names & _imported(each)} if builders else set()
    waiting = builders
    while waiting:
        each = waiting.pop()
        found.add(each.path)
        waiting += [other for name in _imported(each) for other in of_name.get(name, ()) if other.path not in found]
    return frozenset(found)


def _programs(project: Project) -> list[Python]:
    return [source for source in project.sources if isinstance(source, Python)]


def _module(source: Python) -> str:
    return source.path.parent.name if source.path.name == "__init__.py" else source.path.stem


def _imported(source: Python) -> frozenset[str]:
    """Return the words in the file's imports: modules, and the names imported from them."""
    lines = (b".".join(part for part in match.groups() if part) for match in _IMPORT.finditer(source.text))
    return frozenset(word.decode("utf-8", "replace") for line in lines for word in re.findall(rb"\w+", line))


def _kernels(source: Python, project: Project) -> bool:
    """Return whether there may be kernels beside the script or below it: always, if files are not on disk."""
    if project.root is None or b"CppExtension" not in source.text:
        return True
    found = (name for _, _, others in walk(project.root / source.path.parent) for name in others)
    return any(name.endswith(".cu") for name in found)


def _unread(source: Python) -> Finding:
    match = _BUILDS.search(source.text)
    span = Span(*match.span()) if match else Span(0, 0)
    return Finding(span, "unread", "hipport cannot read this Python reliably; port it by hand", (), Certainty.MANUAL)


PASS = Pass(Python, find, Group.BUILD)

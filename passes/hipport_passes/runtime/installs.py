# SPDX-License-Identifier: Apache-2.0
"""Packages that a program installs when it runs: a PyTorch for CUDA would take the place of the one for ROCm."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import libcst as cst

from hipport.finding import Finding
from hipport.languages.shell import Shell
from hipport.project import Project
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.commands import BRINGS, in_commands
from hipport_passes.runtime.probes import RUNS
from hipport_passes.runtime.program import Program, finding


def installs(program: Program, project: Project) -> Iterator[Finding]:
    """Yield the calls that run pip, uv or conda for what is only built for CUDA."""
    asking = Asking(project)
    for node in program.nodes:
        if not isinstance(node, cst.Call) or not node.args or not RUNS.search(program.code(node.func)):
            continue
        command = _command(program, node)
        if program.by_notebook(node) or not program.runs(node).both:
            continue
        script = Shell(program.source.path, command.encode())
        found = [each for each in in_commands(script, script.commands, asking) if each.kind in BRINGS]
        if found:
            says = found[0].message.partition("; ")[0].partition(": pip install")[0]
            message = f"{says}; install what is there for ROCm before the program runs (`hipport deps` has commands)"
            yield finding(program, node, "installs", message)


def _command(program: Program, call: cst.Call) -> str:
    """Return the command that a call runs, as a shell would be given it, as far as it is written out."""
    first = call.args[0].value
    if isinstance(first, (cst.List, cst.Tuple)):
        return " ".join(_word(program, each.value) for each in first.elements)
    if len(call.args) > 1 and all(arg.keyword is None and arg.star == "" for arg in call.args[:2]):
        # `create_subprocess_exec` and the like, which take the words one by one.
        words = [arg.value for arg in call.args if arg.keyword is None and arg.star == ""]
        if all(isinstance(word, (cst.SimpleString, cst.Attribute)) for word in words):
            return " ".join(_word(program, word) for word in words)
    return program.text(first)


def _word(program: Program, value: cst.BaseExpression) -> str:
    if program.code(value) == "sys.executable":
        return "python"
    text = program.text(value)
    return shlex.quote(text) if text else "''"

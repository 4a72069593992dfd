# SPDX-License-Identifier: Apache-2.0
"""Packages that a program installs at run time: a PyTorch for CUDA would replace the one for ROCm."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import libcst as cst

from hipport.core.finding import Finding
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.notebook import Notebook
from hipport.syntax.shell import Shell
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.commands import BRINGS, in_commands
from hipport_passes.python.runtime.probes import RUNS
from hipport_passes.python.runtime.python_program import PythonProgram, finding

# `get_ipython().run_line_magic("pip", "install …")`, and its form in exports of older notebooks.
_WORDS = Words.read(Path(__file__).with_suffix(".toml"))
_MAGIC = _WORDS.compile(r"(?:(?&shell)\(\)|\w*(?&shell_names))\.((?&magics))")
_NOX = _WORDS.compile(rb"(?m)^(?:import|from) (?&session_runner)\b")
_SESSION = _WORDS.compile(r"\w+\.((?&of_conda))?(?&session_installs)")


def installs(program: PythonProgram, project: Project) -> Iterator[Finding]:
    """Yield the calls that run pip, uv or conda for packages that are only built for CUDA."""
    asking = Asking(project)
    notebook = project.by_path.get(program.source.path)
    given = notebook.commands.source.text if isinstance(notebook, Notebook) else b""
    # nox sessions install by methods.
    nox = _NOX.search(program.source.text) is not None
    for node in program.nodes:
        if not isinstance(node, cst.Call) or not node.args:
            continue
        of_nox = _SESSION.fullmatch(program.code(node.func)) if nox else None
        if of_nox:
            words = [arg.value for arg in node.args if arg.keyword is None and not arg.star]
            command = " ".join(["conda" if of_nox[1] else "pip", "install", *(_word(program, each) for each in words)])
        elif magic := _MAGIC.fullmatch(program.code(node.func)):
            command = _of_magic(program, node, magic[1])
        elif RUNS.search(program.code(node.func)):
            command = _command(program, node)
        else:
            continue
        # Commands in a cell are read as commands.
        if (command.encode() in given and given) or not program.runs(node).both:
            continue
        script = Shell(program.source.path, command.encode())
        found = [each for each in in_commands(script, script.commands, asking) if each.kind in BRINGS]
        if found:
            says = found[0].message.partition("; ")[0].partition(": pip install")[0]
            message = (
                f"{says}; install the packages for ROCm before the program runs (`hipport deps` prints the commands)"
            )
            yield finding(program, node, "installs", message)


def _of_magic(program: PythonProgram, call: cst.Call, kind: str) -> str:
    """Return the command that IPython runs: by a magic for the shell, or for a package manager."""
    words = [program.text(each.value) for each in call.args]
    if kind == "magic":
        return words[0].lstrip("%!")
    if words[0] in ("bash", "sh", "script", "system", "sx", "!"):
        return words[-1]
    return " ".join(words)


def _command(program: PythonProgram, call: cst.Call) -> str:
    """Return the command that a call runs, in shell syntax, as far as it is literal."""
    first = call.args[0].value
    if isinstance(first, (cst.List, cst.Tuple)):
        return " ".join(_word(program, each.value) for each in first.elements)
    if len(call.args) > 1 and all(arg.keyword is None and arg.star == "" for arg in call.args[:2]):
        # `create_subprocess_exec` and the like, which take the words as separate arguments.
        words = [arg.value for arg in call.args if arg.keyword is None and arg.star == ""]
        if all(isinstance(word, (cst.SimpleString, cst.Attribute)) for word in words):
            return " ".join(_word(program, word) for word in words)
    return program.text(first)


def _word(program: PythonProgram, value: cst.BaseExpression) -> str:
    if program.code(value) == "sys.executable":
        return "python"
    text = program.text(value)
    return shlex.quote(text) if text else "''"

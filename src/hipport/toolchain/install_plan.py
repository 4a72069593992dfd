# SPDX-License-Identifier: Apache-2.0
"""The plan to install a repository's packages around an existing PyTorch for ROCm.

The contents of a plan come from outside. This module shows it, writes it as a shell script, and checks an installation
by running small programs that prove which back end runs. Importing a package does not prove that.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Any

from hipport.core.terminal import joined
from hipport.toolchain.processes import ask_python
from hipport.workspace.environment import from_anywhere

#: The version of the JSON that `as_json` writes; a field is never renamed or removed within one.
SCHEMA = 1


@dataclass(frozen=True)
class PackageMention:
    """A place that requires a package, or imports it: `at_once`, or only in code that runs later."""

    path: PurePath
    line: int
    text: str
    imported: bool = False
    at_once: bool = False


@dataclass(frozen=True)
class Package:
    """A family of packages that was found, and its treatment: `action` and `why` are those of its recipe."""

    name: str
    action: str
    why: str
    mentions: tuple[PackageMention, ...]
    date: str = ""
    rocm: str = ""
    source: str = ""


@dataclass(frozen=True)
class PlannedChange:
    """A part of a list or command that is invalid on ROCm. A `manual` one is left to a person."""

    path: PurePath
    line: int
    message: str
    manual: bool


@dataclass(frozen=True)
class Step:
    """Commands, the reason for them, and a file that they read, with its text: see `in_work`.

    Parts of a command that come from a tree are quoted; the name of a file never comes from one. An `optional` step may
    fail; then `fallback` are the environment variables for a program that runs without it.
    """

    why: str
    commands: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    optional: bool = False
    fallback: Mapping[str, str] = field(default_factory=dict)


def quoted(text: str) -> str:
    """Return a text as one word of a bash command, on one line, because programs may read a log of the script."""
    if text.isprintable():
        return shlex.quote(text)
    plain = {"\\": "\\\\", "'": "\\'"}
    written = (
        plain.get(each, each) if each.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(each))
        for each in text
    )
    return f"$'{''.join(written)}'"


def in_work(name: str) -> str:
    """Return a file of a step, or a folder that a command creates, as a word of the script."""
    return f'"$WORK"/{quoted(name)}'


@dataclass(frozen=True)
class LeftOut:
    """A required package that no step installs, because a person has to decide, with the reason."""

    text: str
    why: str


@dataclass(frozen=True)
class InstallCheck:
    """A program that proves which back end of a package runs: it prints evidence, or fails."""

    package: str
    code: str
    #: the package's module; whether the program can do without it
    module: str
    optional: bool = False


@dataclass(frozen=True)
class Checked:
    """The result of a check. `said` is its output, or its error."""

    package: str
    ok: bool
    said: str
    optional: bool = False


@dataclass(frozen=True)
class Plan:
    """The plan to install a repository on ROCm.

    `rocm` is the most suitable release and `reason` says why, `image` is a container image with it and `index` the
    index of PyTorch's wheels for it. `torch` are the packages that are installed with PyTorch if it is missing.
    """

    root: str
    rocm: str
    reason: str
    image: str
    index: str
    torch: tuple[str, ...]
    packages: tuple[Package, ...]
    changes: tuple[PlannedChange, ...]
    missing: tuple[str, ...]
    steps: tuple[Step, ...]
    environment: Mapping[str, str]
    checks: tuple[InstallCheck, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def needs_person(self) -> bool:
        """Whether something is left that no command does: missing sources, or packages without a build."""
        by_hand = any(each.action == "manual" for each in self.packages)
        return by_hand or bool(self.missing) or any(change.manual for change in self.changes)


def check(
    plan: Plan,
    *,
    python: Path,
    env: Mapping[str, str],
    seconds: float = 300.0,
    on_progress: Callable[[str], None] | None = None,
) -> tuple[Checked, ...]:
    """Run the plan's checks with `python`, each in a child process, and return their results."""
    found = []
    for each in plan.checks:
        if on_progress is not None:
            on_progress(each.package)
        try:
            status, said, wrong = ask_python(python, each.code, from_anywhere({**plan.environment, **env}), seconds)
        except OSError as problem:
            status, said, wrong = 1, "", f"{python} does not run: {problem.strerror}"
        if status is None:
            found.append(Checked(each.package, False, f"did not end within {seconds:g} seconds", each.optional))
            continue
        lines = (said if status == 0 else wrong or said).strip().splitlines()
        last = lines[-1].strip() if lines else f"ended with status {status}"
        found.append(Checked(each.package, status == 0, last, each.optional))
    return tuple(found)


def as_json(plan: Plan, evidence: Iterable[Checked] | None = None) -> str:
    """Return the plan as JSON, with sorted keys."""
    document: dict[str, Any] = {"schema": SCHEMA, **asdict(plan), "needs_person": plan.needs_person}
    if evidence is not None:
        document["evidence"] = [asdict(each) for each in evidence]
    return json.dumps(document, indent=1, sort_keys=True, default=_plain) + "\n"


def _plain(value: object) -> str:
    assert isinstance(value, PurePath)
    return value.as_posix()


def as_text(plan: Plan) -> str:
    """Return the plan as text for people."""
    return joined(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    yield f"ROCm {plan.rocm}: {plan.reason}"
    yield f"image  {plan.image}"
    yield f"or     pip install {' '.join(plan.torch)} --index-url {plan.index}"
    if plan.missing:
        yield from ("", "missing submodules: git submodule update --init --recursive")
        yield from (f"  {path}" for path in plan.missing)
    if plan.packages:
        yield from ("", "packages whose usual build is for CUDA")
        width = max(len(each.name) for each in plan.packages)
        for each in plan.packages:
            first = each.mentions[0]
            more = f" and {len(each.mentions) - 1} more" if len(each.mentions) > 1 else ""
            yield f"  {each.name:<{width}}  {each.action}: {each.why}"
            where = f"{first.path.as_posix()}:{first.line}{more}"
            yield f"  {'':<{width}}  {first.text}, {where}; recipe of {each.date}, ROCm {each.rocm}"
    for title, manual in (("the changes, and why (hipport rewrite)", False), ("left to a person", True)):
        changes = [each for each in plan.changes if each.manual is manual]
        if changes:
            yield from ("", title)
            yield from (f"  {each.path.as_posix()}:{each.line}  {each.message}" for each in changes)
    yield from ("", "in this order (hipport deps --script writes a script that keeps PyTorch)")
    for number, step in enumerate(plan.steps, 1):
        yield f"  {number}. {step.why}{' (optional)' if step.optional else ''}"
        for command in step.commands:
            prefix = "".join(f"{name}={quoted(value)} " for name, value in step.environment.items())
            yield f"     {prefix}{command}"
        for name, value in step.fallback.items():
            yield f"     without it: {name}={value}"
    if plan.environment:
        yield from ("", "environment, when installing and when running")
        yield from (f"  {name}={value}" for name, value in plan.environment.items())
    if plan.notes:
        yield from ("", "to know")
        yield from (f"  {note}" for note in plan.notes)
    if plan.checks:
        named = ", ".join(each.package for each in plan.checks)
        yield from ("", f"hipport deps --check proves which back end runs: {named}")


def evidence_as_text(evidence: Iterable[Checked]) -> str:
    """Return the results of checks as text for people."""
    rows = [
        (("ok" if each.ok else "without" if each.optional else "FAILED"), each.package, each.said) for each in evidence
    ]
    width = max((len(name) for _, name, _ in rows), default=0)
    return joined(f"{state:<7}  {name:<{width}}  {said}" for state, name, said in rows)


_HEAD = """\
#!/usr/bin/env bash
# Installs what this repository needs on ROCm {rocm}, around the PyTorch for ROCm that is there. By hipport deps.
# usage: bash THIS [ROOT]        ROOT: the repository, the current folder if not given; PYTHON=python3
set -euo pipefail
PYTHON="${{PYTHON:-python3}}"
unset CDPATH
cd -- "${{1:-.}}"
ROOT="$PWD"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
pip() {{ "$PYTHON" "$WORK/hipport_pip.py" "$@"; }}
python() {{ "$PYTHON" "$@"; }}
{environment}
# `python -m pip` would look for pip in the repository first.
cat > "$WORK/hipport_pip.py" <<'HIPPORT_EOF'
import runpy
import sys
del sys.path[0]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
HIPPORT_EOF
echo "== PyTorch for ROCm"
cat > "$WORK/hipport_which.py" <<'HIPPORT_EOF'
import sys
try:
    import torch
except ImportError:
    sys.exit(3)
if not isinstance(torch.version.hip, str):
    print(f"torch {{torch.__version__}} is a build for CUDA or the CPU: use an environment without it", file=sys.stderr)
    sys.exit(4)
print(torch.__version__)
HIPPORT_EOF
status=0
"$PYTHON" "$WORK/hipport_which.py" > "$WORK/torch.before" || status=$?
if [ "$status" = 3 ]; then
    pip install {torch} --index-url {index}
    "$PYTHON" "$WORK/hipport_which.py" > "$WORK/torch.before"
elif [ "$status" != 0 ]; then
    exit 1
fi
echo "torch $(cat "$WORK/torch.before") stays"

# Every pip below may install anything but another one of these, also where it builds in an environment of its own.
cat > "$WORK/hipport_pins.py" <<'HIPPORT_EOF'
from importlib.metadata import PackageNotFoundError, version
for name in ("torch", "torchvision", "torchaudio", "triton", "pytorch-triton-rocm", "triton-rocm"):
    try:
        print(f"{{name}}=={{version(name)}}")
    except PackageNotFoundError:
        pass
HIPPORT_EOF
"$PYTHON" "$WORK/hipport_pins.py" > "$WORK/constraints.txt"
export PIP_CONSTRAINT="$WORK/constraints.txt" PIP_BUILD_CONSTRAINT="$WORK/constraints.txt"
export UV_CONSTRAINT="$WORK/constraints.txt" UV_BUILD_CONSTRAINT="$WORK/constraints.txt"
# Nor may conda, which does not know of PyTorch from pip, bring its own: of these there is no such version.
export CONDA_PINNED_PACKAGES="pytorch<0&libtorch<0&pytorch-cuda<0${{CONDA_PINNED_PACKAGES:+&$CONDA_PINNED_PACKAGES}}"
"""

_TAIL = """
echo "== PyTorch is the same"
"$PYTHON" "$WORK/hipport_which.py" > "$WORK/torch.after"
cmp "$WORK/torch.before" "$WORK/torch.after"
failed=0
"""


def as_script(plan: Plan) -> str:
    """Return the plan as a bash script, which never replaces PyTorch, and which ends with the checks."""
    environment = "".join(_exports(plan.environment))
    torch = " ".join(map(quoted, plan.torch))
    parts = [_HEAD.format(rocm=plan.rocm, environment=environment, torch=torch, index=quoted(plan.index))]
    parts += [_step(step) for step in plan.steps]
    if plan.left_out:
        parts.append("\n" + _echo("== left to a person, and not installed"))
        parts += [_echo(f"{each.text}: {each.why}") for each in plan.left_out]
    parts.append(_TAIL)
    for number, each in enumerate(plan.checks, 1):
        after = "echo 'goes on without it'" if each.optional else "failed=1"
        # In a file, because a program read from stdin would import modules from the current folder, the repository.
        name = f"check-{number}.py"
        parts.append(f'{_echo("== " + each.package)}{_file(name, each.code)}"$PYTHON" {in_work(name)} || {after}\n')
    parts.append("exit $failed\n")
    return "".join(parts)


def _step(step: Step) -> str:
    lines = "\n" + _echo("== " + step.why)
    lines += "".join(_file(name, text) for name, text in step.files.items())
    lines += "".join(_exports(step.environment))
    if not step.optional:
        return lines + "\n".join(step.commands) + "\n"
    without = "".join(f"    {line}" for line in _exports(step.fallback))
    together = " && ".join(step.commands)
    return f"{lines}\nif ! {{ {together}; }}; then\n    echo 'goes on without it'\n{without}fi\n"


def _exports(variables: Mapping[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(f"{name!r} is not a name of an environment variable: correct the rules that have it")
        yield f"export {name}={quoted(value)}\n"


def _echo(text: str) -> str:
    """Return the command that prints `text`, on one line and without control characters."""
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return f"printf '%s\\n' {quoted(shown)}\n"


def _file(name: str, text: str) -> str:
    """Return the commands that write a file. Each line is prefixed by a bar, so that none can end the heredoc."""
    lines = "".join(f"|{line}\n" for line in text.strip("\n").split("\n"))
    return f"LC_ALL=C sed 's/^|//' > {in_work(name)} <<'HIPPORT_EOF'\n{lines}HIPPORT_EOF\n"

# SPDX-License-Identifier: Apache-2.0
"""Find the places where a repository requires packages with a recipe, or imports them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core.edits import Span
from hipport.core.source import Source
from hipport.program.project import Project
from hipport.syntax.notebook import Notebook
from hipport.syntax.packaging import CondaEnvironment, Requirements, SetupCfg
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Command, Dockerfile, Markdown, Shell
from hipport.syntax.toml import Toml
from hipport.toolchain.install_plan import PackageMention
from hipport_passes.packages.asking import decoded
from hipport_passes.packages.install_commands import conda_install, pip_install
from hipport_passes.packages.judge import EDITABLE, asked, family_of
from hipport_passes.packages.recipes import Family, Recipes
from hipport_passes.packages.toml_lists import LISTS, POETRY, joined

_IMPORT = re.compile(rb"^([ \t]*)(?:import|from)[ \t]+(\w+)", re.MULTILINE)


def found_families(project: Project, rules: Recipes) -> dict[str, list[PackageMention]]:
    """Return the families that are required or imported, in the order of the table, with the places."""
    found: dict[str, list[PackageMention]] = {}
    for source in project.sources:
        for offset, text, family in _mentions(source, rules):
            mention = PackageMention(source.path, source.line_read(offset), text)
            if mention not in found.setdefault(family.name, []):
                found[family.name].append(mention)
    modules = {family.imports: family for family in rules.families if family.imports and family.action != "keep"}
    for source in project.sources:
        if isinstance(source, Python):
            for match in _IMPORT.finditer(source.text):
                imported = modules.get(match[2].decode(errors="replace"))
                if imported is not None and not _is_own(project, imported.imports):
                    line = source.line_read(match.start(2))
                    mention = PackageMention(
                        source.path, line, match.group().decode(errors="replace").strip(), True, not match[1]
                    )
                    found.setdefault(imported.name, []).append(mention)
    order = [family.name for family in rules.families]
    return {
        name: found[name] for name in order if name in found and name not in ("nvidia-libraries", "triton", "numpy")
    }


def _is_own(project: Project, module: str) -> bool:
    """Return whether a module is the repository's own."""
    places = (module, f"src/{module}", f"{module}.py")
    return project.root is not None and any((project.root / place).exists() for place in places)


def _mentions(source: Source, rules: Recipes) -> Iterator[tuple[int, str, Family]]:
    """Yield the requirements in a file: the place, the text, and the family."""
    match source:
        case Requirements():
            for line in source.lines:
                span = line.requirement if len(line.requirement) else line.options
                text = EDITABLE.sub("", decoded(source, span))
                yield from _of_text(span.start, text, rules)
        case SetupCfg():
            for _, span in source.requirements:
                yield from _of_text(span.start, decoded(source, span), rules)
        case CondaEnvironment():
            yield from _of_environment(source, rules)
        case Toml():
            yield from _of_toml(source, rules)
        case Notebook():
            inside = source.commands
            for offset, text, found in _mentions(inside.source, rules):
                yield inside.layout.span(Span(offset, offset)).start, text, found
        case Shell() | Dockerfile() | Markdown():
            for command in source.commands:
                yield from _of_command(command, rules)
        case Python() if source.path.name == "setup.py":
            for offset, text in of_setup(source):
                yield from _of_text(offset, text, rules)


def _of_environment(source: CondaEnvironment, rules: Recipes) -> Iterator[tuple[int, str, Family]]:
    for kind, span, _ in source.items:
        text = decoded(source, span)
        if kind == "pip":
            yield from _of_text(span.start, re.split(r"\s--?[A-Za-z]", text)[0], rules)
        elif kind == "dependencies" and (family := rules.conda(re.split(r"[=<>! ]", text.rpartition("::")[2])[0])):
            yield span.start, text, family


def _of_toml(source: Toml, rules: Recipes) -> Iterator[tuple[int, str, Family]]:
    for entry in source.entries:
        where = joined(entry.path)
        poetry = POETRY.fullmatch(where)
        if LISTS.fullmatch(where) and not where.startswith("build-system"):
            yield from _of_text(entry.span.start, entry.value, rules)
        elif poetry and (of := rules.distribution(poetry["name"])):
            yield entry.span.start, f"{poetry['name']} {entry.value}", of


def _of_command(command: Command, rules: Recipes) -> Iterator[tuple[int, str, Family]]:
    install = pip_install(command)
    for word in (*install.asked, *install.editable) if install else ():
        yield from _of_text(word.span.start, word.text, rules)
    for word in conda_install(command) or ():
        if family := rules.conda(re.split(r"[=<>!]", word.text.rpartition("::")[2])[0]):
            yield word.span.start, word.text, family


def _of_text(offset: int, text: str, rules: Recipes) -> Iterator[tuple[int, str, Family]]:
    each = asked(text)
    family = family_of(each, rules) if each is not None else None
    if family is not None:
        yield offset, text, family


def of_setup(source: Python) -> Iterator[tuple[int, str]]:
    """Yield the requirements that a setup.py installs with its package, with their places."""
    if b"_require" not in source.text or source.module is None:
        return
    from hipport.syntax.python_script import Misplaced
    from hipport_passes.packages.python_lists import required

    try:
        yield from required(source)
    except Misplaced:
        return

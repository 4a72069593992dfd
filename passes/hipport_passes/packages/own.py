# SPDX-License-Identifier: Apache-2.0
"""Names of a repository's own distributions: no recipe applies to them, although others may have builds of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from hipport.core.source import Source
from hipport.core.tables import Words, one_of
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.packaging import SetupCfg
from hipport.syntax.python_script import Python
from hipport.syntax.toml import Toml

_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
# Folders in which trees keep third-party sources.
_OF_OTHERS = re.compile(rf"(?i){one_of(_WORDS['third_party'])}")
_NAME = _WORDS.compile(rb"\b(?&key_of_name)[ \t]*=[ \t]*(?:[\"']([\w.-]+)[\"']|([A-Za-z_]\w*)\b(?![ \t]*[(.\[]))")
_SETUP = _WORDS.compile(rb"\b(?&setup)[ \t]*\(")
_IN_CFG = _WORDS.compile(rb"(?m)^\[(?&metadata)\][^\[]*?^(?&key_of_name)[ \t]*=[ \t]*([\w.-]+)", re.DOTALL)
_CLONED = _WORDS.compile(
    rb"(?:(?&git)[ \t]+clone|(?&git)\+)[^\n]*?(?&hosts)[/:]([\w.-]+/[\w.-]+?)(?&git_suffix)?(?=[/@#?\s\"'`]|$)"
)
_TABLES = (("project",), ("tool", "poetry"), ("tool", "flit", "metadata"))


def names(project: Project) -> frozenset[str]:
    """Return the normalised names of the distributions that the project's own scripts build. A fact of the project."""
    return frozenset(
        re.sub(r"[-_.]+", "-", name).lower()
        for source in project.sources
        if _is_own(source.path)
        for name in (*_declared(source), *_packages(source, project))
    )


def repositories(project: Project) -> frozenset[str]:
    """Return `owner/name` of the repositories that the tree's README tells users to clone, if they are the tree.

    In lower case. A repository is the tree itself if its name is that of one of its distributions, or of a package in
    it.
    """
    found = set()
    for source in project.sources:
        if len(source.path.parts) == 1 and source.path.name.lower().startswith("readme"):
            found |= {match[1].decode().lower() for match in _CLONED.finditer(source.text)}
    own = project.fact(names)
    return frozenset(each for each in found if re.sub(r"[-_.]+", "-", each.partition("/")[2]) in own)


def _is_own(path: PurePath) -> bool:
    return not any(_OF_OTHERS.fullmatch(part) for part in path.parts[:-1])


def _declared(source: Source) -> Iterator[str]:
    if isinstance(source, Python) and source.path.name == "setup.py" and (setup := _SETUP.search(source.text)):
        match = _NAME.search(source.text, setup.end())
        if match is not None and match[1]:
            yield match[1].decode()
        elif match is not None:
            # `name=PACKAGE`, with a string assigned above.
            assigned = re.search(rb"(?m)^" + match[2] + rb"[ \t]*=[ \t]*[\"']([\w.-]+)[\"']", source.text)
            if assigned is not None:
                yield assigned[1].decode()
    elif isinstance(source, SetupCfg) and (match := _IN_CFG.search(source.text)):
        yield match[1].decode()
    elif isinstance(source, Toml) and source.path.name == "pyproject.toml" and source.document is not None:
        for path in _TABLES:
            table: object = source.document
            for key in path:
                table = table.get(key) if isinstance(table, dict) else None
            if isinstance(table, dict) and isinstance(name := table.get("name", table.get("module")), str):
                yield name


def _packages(source: Source, project: Project) -> Iterable[str]:
    """Yield the packages beside a build script: a module of their name is the tree's own."""
    if source.path.name not in ("setup.py", "pyproject.toml"):
        return ()
    folder = source.path.parent
    inits = (each.path for each in project.sources if each.path.name == "__init__.py")
    return (
        path.parent.name
        for path in inits
        if path.parent.parent in (folder, folder / "src", folder / "python") and _is_own(path)
    )

# SPDX-License-Identifier: Apache-2.0
"""The recipes for packages whose usual build is for CUDA. The facts are in requirements.toml."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase, translate
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from hipport.core.tables import Words, load
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport_passes.packages import own

_TABLE = Path(__file__).parent / "requirements.toml"
_ACTIONS = ("keep", "remove", "separate", "least", "relax", "manual", "leave")
#: Fields of a row that become part of a command or its environment. Rules in a tree may not have them.
EXECUTED = ("install", "check", "environment", "fallback", "renamed", "with_torch")
# Text that is one word of a command anywhere: an address, or the name of an image.
_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+~-]+")
_REPOSITORY = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES).compile(
    r"(?&hosts)[/:]([\w.-]+)/([\w.-]+?)(?&git_suffix)?(?=[/@#?\s\"']|$)"
)
_WORDS = re.compile(rb"[a-z0-9][\w.-]*").findall
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CUDA = NAMES.compile(
    r"(?:^|[^a-z0-9])(?:pt\d+|(?&torch)[\d.]*)?cu(?:da)?[-_]?(?:\$\{?\w+\}?|\d{2,3}x?|\d\d?\.\d)", re.IGNORECASE
)
_ROCM = NAMES.compile(r"(?&rocm)|(?:^|[^a-z])(?:(?&hip)|(?&amd)(?!64))(?:$|[^a-z])", re.IGNORECASE)


class BadRules(ValueError):
    """A recipe that cannot be used; the message says which, and why."""


@dataclass(frozen=True)
class Family:
    """Packages with a common recipe for ROCm. The fields are those of a row in requirements.toml."""

    name: str
    action: str
    why: str
    distributions: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    imports: str = ""
    #: The modules of packages whose import names differ, for packages that only share a recipe.
    modules: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    install: tuple[str, ...] = ()
    with_torch: bool = False
    optional: bool = False
    releases: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    fallback: Mapping[str, str] = field(default_factory=dict)
    check: str = ""
    least: str = ""
    below: str = ""
    upper: str = ""
    date: str = ""
    rocm: str = ""
    source: str = ""

    def is_for(self, rocm: str) -> bool:
        return not self.releases or rocm in self.releases


@dataclass(frozen=True)
class Index:
    """PyTorch's wheels for a release of ROCm."""

    rocm: str
    url: str
    torch: str = ""
    date: str = ""
    source: str = ""


@dataclass(frozen=True)
class Image:
    """A container image with PyTorch for ROCm."""

    rocm: str
    name: str
    python: str = ""
    date: str = ""
    source: str = ""


RowT = TypeVar("RowT", Index, Image)
#: Families by their full names, and by patterns, for each kind of name.
_Patterns: TypeAlias = dict[str, tuple[dict[str, Family], list[tuple[str, Family]]]]


class FamilyNames:
    """The names of families. Finding their patterns takes a while, and is done once for all trees."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    @cached_property
    def patterns(self) -> _Patterns:
        """Families by their full names, and by patterns, for each kind of name."""
        return _patterns(self._families)


@dataclass(frozen=True)
class Recipes:
    """All rows, and the look-up of packages in them."""

    families: tuple[Family, ...]
    indexes: tuple[Index, ...]
    images: tuple[Image, ...]
    names: FamilyNames = field(repr=False, compare=False)
    #: The names of the tree's own distributions, and its repositories: those are being ported.
    own: frozenset[str] = frozenset()
    own_repositories: frozenset[str] = frozenset()

    def is_own(self, name: str, address: str = "") -> bool:
        """Return whether a distribution, or the repository at an address, is the tree's own."""
        if address and (repository := _repository(address)):
            return repository in self.own_repositories or normalised(repository.partition("/")[2]) in self.own
        return bool(name) and normalised(name) in self.own

    def distribution(self, name: str) -> Family | None:
        """Return the family of a distribution."""
        return self._found(normalised(name), "distributions")

    def conda(self, name: str) -> Family | None:
        """Return the family of a conda package."""
        return self._found(name.lower(), "conda") or self._found(normalised(name), "distributions")

    def repository(self, url: str) -> Family | None:
        """Return the family of sources, by the address of their repository."""
        name = _repository(url)
        return self._found(name, "repositories") if name and not self.is_own("", url) else None

    def package(self, name: str, family: Family) -> str:
        """Return one name for a package of a family, whether `name` is a distribution or a module."""
        if not family.modules:
            return family.name
        for pattern, module in family.modules.items():
            if fnmatchcase(normalised(name), pattern):
                return module
        return normalised(name)

    def imported(self, module: str) -> str:
        """Return the same name for an imported module."""
        name = module.partition(".")[0]
        family = next((each for each in self.families if each.imports == name), None) or self.distribution(name)
        return self.package(name, family) if family is not None else normalised(name)

    def _found(self, name: str, where: str) -> Family | None:
        if where != "repositories" and normalised(name) in self.own:
            return None
        named, patterns = self.names.patterns[where]
        # A full name takes precedence over a pattern with `*`.
        found = named.get(name)
        return found or next((family for pattern, family in patterns if fnmatchcase(name, pattern)), None)

    def with_own(self, names: frozenset[str], repositories: frozenset[str]) -> Recipes:
        """Return the same recipes for a tree with these distributions and repositories of its own."""
        return replace(self, own=names, own_repositories=repositories)

    def index(self, rocm: tuple[int, int]) -> Index:
        """Return PyTorch's wheels for a release: of the newest release that is not newer, or the oldest."""
        return _nearest(self.indexes, rocm)

    def image(self, rocm: tuple[int, int]) -> Image:
        """Return an image for a release, in the same way."""
        return _nearest(self.images, rocm)


def _patterns(families: Iterable[Family]) -> _Patterns:
    found: _Patterns = {}
    for where in ("distributions", "conda", "repositories"):
        named, patterns = found[where] = ({}, [])
        for family in families:
            for pattern in getattr(family, where):
                if re.search(r"[*?\[]", pattern):
                    patterns.append((pattern.lower(), family))
                else:
                    named.setdefault(pattern.lower(), family)
    return found


def _repository(url: str) -> str:
    """Return `owner/name` of a repository by its address, in lower case; empty for other addresses."""
    match = _REPOSITORY.search(url)
    return f"{match[1]}/{match[2]}".lower() if match is not None else ""


def _nearest(rows: tuple[RowT, ...], rocm: tuple[int, int]) -> RowT:
    ordered = sorted(rows, key=lambda row: release(row.rocm))
    return next((row for row in reversed(ordered) if release(row.rocm) <= rocm), ordered[0])


def release(text: str) -> tuple[int, int]:
    """Return (major, minor) of `6.4`."""
    major, _, minor = text.partition(".")
    return int(major), int(minor or 0)


def normalised(name: str) -> str:
    """Return a distribution's name in the form that indexes compare."""
    return re.sub(r"[-_.]+", "-", name).lower()


def for_cuda(text: str) -> bool:
    """Return whether an address, a version or a file name belongs to a build for CUDA: `cu121`, `cuda12x`."""
    return _CUDA.search(text) is not None and not for_rocm(text)


def for_rocm(text: str) -> bool:
    """Return whether an address, a path or a version mentions ROCm."""
    return _ROCM.search(text) is not None


def of(project: Project) -> Recipes:
    """Return the recipes for a project: hipport's, overridden by the user's, without those for its own packages."""
    return project.fact(_of)


def _of(project: Project) -> Recipes:
    recipes = merged(project.rules.get("requirements", {})) if project.rules else _own()
    return recipes.with_own(project.fact(own.names), own.repositories(project))


@cache
def _own() -> Recipes:
    return merged({})


def executed(rows: Mapping[str, Any]) -> str:
    """Return a field of `rows` that is executed, in the form for messages; empty if there is none."""
    for row in rows.get("family", ()):
        for key in EXECUTED:
            if isinstance(row, Mapping) and key in row:
                return f"`{key}` of requirements.family {row.get('name')!r}"
    return ""


def merged(user: Mapping[str, Any]) -> Recipes:
    """Return hipport's rows, overridden by the user's. Raises BadRules."""
    table = load(_TABLE)
    unknown = set(user) - {"family", "index", "image"}
    if unknown:
        raise BadRules(f"requirements.{min(unknown)}: unknown table; known are: family, index, image")
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for kind, key in (("family", "name"), ("index", "rocm"), ("image", "rocm")):
        named: dict[str, dict[str, Any]] = {row[key]: dict(row) for row in table[kind]}
        for row in user.get(kind, ()):
            if not isinstance(row, Mapping) or not isinstance(row.get(key), str):
                raise BadRules(f"requirements.{kind}: a row has no `{key}`")
            named[row[key]] = {**named.get(row[key], {}), **row}
        rows[kind] = named
    families = tuple(_row(Family, row, f"family {name!r}") for name, row in rows["family"].items())
    return Recipes(
        families,
        tuple(_row(Index, row, f"index {name!r}") for name, row in rows["index"].items()),
        tuple(_row(Image, row, f"image {name!r}") for name, row in rows["image"].items()),
        FamilyNames(families),
    )


def naming(user: Mapping[str, Any]) -> Callable[[bytes], bool]:
    """Return a function that tests whether a text names a package of a family. Raises BadRules."""
    names: set[str] = set()
    for family in merged(user).families:
        names.update((*family.distributions, *family.conda))
        for each in family.repositories:
            owner, _, name = each.partition("/")
            names.add(owner if name == "*" else name)
    exact = {normalised(name).encode() for name in names if "*" not in name}
    pattern = re.compile("|".join(translate(normalised(name)) for name in names if "*" in name).encode())

    def named(text: bytes) -> bool:
        words = {re.sub(rb"[-_.]+", b"-", word).strip(b"-").removesuffix(b"-git") for word in _WORDS(text.lower())}
        return not exact.isdisjoint(words) or any(map(pattern.fullmatch, words))

    return named


def _row(kind: Any, row: Mapping[str, Any], where: str) -> Any:
    known = {each.name: each for each in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in row.items():
        if key not in known:
            raise BadRules(f"requirements.{where}: unknown key `{key}`; known are: {', '.join(known)}")
        values[key] = _typed(key, str(value) if key == "date" else value, str(known[key].type), where)
    missing = [name for name in ("action", "why", "url", "name") if name in known and not values.get(name)]
    if missing:
        raise BadRules(f"requirements.{where}: `{missing[0]}` is missing")
    _check(kind, values, where)
    return kind(**values)


def _typed(key: str, value: Any, wanted: str, where: str) -> Any:
    """Return a value of a row with the field's type. Raises BadRules for other types."""
    if wanted.startswith("tuple"):
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise BadRules(f"requirements.{where}: `{key}` must be a list of strings")
        return tuple(value)
    if not isinstance(value, {"str": str, "bool": bool}.get(wanted, Mapping)):
        raise BadRules(f"requirements.{where}: `{key}` has a value of the wrong type")
    return value


def _check(kind: Any, values: Mapping[str, Any], where: str) -> None:
    """Raise BadRules for values that a row may not have."""
    if "action" in values and values["action"] not in _ACTIONS:
        raise BadRules(f"requirements.{where}: {values['action']!r} is not an action; known are: {', '.join(_ACTIONS)}")
    if "action" in values and values["action"] == "least" and not values.get("least"):
        raise BadRules(f"requirements.{where}: `least` is missing")
    for key in ("rocm", "releases"):
        given = values.get(key, ())
        for each in (given,) if isinstance(given, str) else given:
            if each not in ("", "any") and not re.fullmatch(r"\d+\.\d+", each):
                raise BadRules(f"requirements.{where}: {each!r} is not a ROCm release; for example: 6.4")
    for key in ("url", "name") if kind in (Index, Image) else ():
        if key in values and not _PLAIN.fullmatch(values[key]):
            raise BadRules(f"requirements.{where}: `{key}` has characters that no address contains")
    for key in ("environment", "fallback"):
        for name, value in values.get(key, {}).items():
            if not _VARIABLE.fullmatch(name) or not isinstance(value, str):
                raise BadRules(f"requirements.{where}: `{key}` must map names of variables to texts")


def importing(project: Project, module: str) -> Iterable[str]:
    """Yield the Python files of a project that import a module, except optional imports.

    In a build script, which needs the module to build, imports in functions count, too.
    """
    if not module:
        return
    imports = re.compile(
        rb"^(?P<indent>[ \t]*)(?:import|from)[ \t]+" + re.escape(module.encode()) + rb"\b", re.MULTILINE
    )
    # Build scripts first.
    for source in sorted(project.sources, key=lambda each: each.path.name != "setup.py"):
        if source.path.suffix != ".py" or module.encode() not in source.text:
            continue
        for match in imports.finditer(source.text):
            before = source.text[: match.start()].rstrip().rpartition(b"\n")[2].strip()
            if not match["indent"] or (source.path.name == "setup.py" and before != b"try:"):
                yield source.path.as_posix()
                break

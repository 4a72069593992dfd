# SPDX-License-Identifier: Apache-2.0
"""Judge one requirement for ROCm in any form: a version, a repository, a wheel's address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from hipport.core.finding import Certainty
from hipport.core.tables import Words
from hipport.syntax.build_names import NAMES
from hipport_passes.packages.recipes import Family, Recipes, for_cuda, for_rocm, normalised

_NAMED = re.compile(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(\[[^\]]*\])?\s*")
_CLAUSES = re.compile(r"\(?\s*((?:(?:===|==|~=|!=|<=|>=|<|>)\s*[^\s,;()#]+\s*,?\s*)*)\)?\s*")
_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>)\s*([^\s,;()#]+)")
_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
_ADDRESS = _WORDS.compile(
    r"(?:@\s*)?((?&version_control)\+\S+|(?&https)://\S+|(?:(?&git)@|ssh://)\S+"
    r"|(?:(?&file):|\.{0,2}/)\S*/[^/\s]+\.(?&wheel_suffixes)(?=[\s;#]|$))"
)
#: The option of a package that stays where it is.
EDITABLE = _WORDS.compile(r"^(?&editable)[ =]+")
_EXTRA = _WORDS.compile(r"(?&extra)\s*==\s*[\"']([^\"']*)[\"']")
_FOR_CPU = _WORDS.compile(r"\+(?&cpu)\b|/(?&cpu)(?:/|$)")
_EGG = _WORDS.compile(r"[#&](?&egg)=([\w.-]+)")
_WHEEL = _WORDS.compile(r"/([A-Za-z0-9_.]+?)-(\d[^/-]*)-[^/]*\.(?:(?&wheel_suffixes)|(?&archive_suffixes))")
_EXTRA_CUDA = _WORDS.compile(r"\b(?:and-)?(?&cuda)(?:\d+[xa-z_]*)?\b|\bcu\d{2}x?\b")
_NAME_CUDA = _WORDS.compile(r".*[-_](?:cu|(?&cuda))(?:\d{2,3}x?)")

#: The highest versions of a distribution that its users would call compatible.
_LAST = {"torch": "2.999", "torchvision": "0.999", "torchaudio": "2.999"}
_PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a requirement: `out` of the list, `edit` for a part of it, or `manual`.

    `start` and `end` are the part, as characters of the text, and `new` its replacement.
    """

    what: str
    kind: str
    message: str
    certainty: Certainty
    family: Family | None = None
    start: int = 0
    end: int = 0
    new: str = ""


@dataclass(frozen=True)
class AskedPackage:
    """A requirement in its parts; positions are in its text."""

    name: str
    extras: str
    clauses: tuple[tuple[str, str], ...]
    #: From the end of the name and extras to the end of the last clause.
    start: int
    end: int
    marker: str
    address: str

    @property
    def version(self) -> str:
        """Return the required versions, in their usual form."""
        return ",".join(operator + version for operator, version in self.clauses)


def asked(text: str) -> AskedPackage | None:
    """Read a requirement as pip does; None for a path, and for other text."""
    address = _ADDRESS.match(text)
    if address is not None:
        url = address[1]
        egg, wheel = _EGG.search(url), _WHEEL.search(unquote(url))
        name = egg[1] if egg else wheel[1] if wheel else ""
        return AskedPackage(name, "", (), 0, len(text), "", url)
    match = _NAMED.match(text)
    if match is None or text.startswith((".", "/")) or text[match.end() :].startswith(("/", "\\", ":")):
        return None
    rest = text[match.end() :]
    address = _ADDRESS.match(rest)
    if address is not None:
        marker = rest[address.end() :].lstrip()
        return AskedPackage(match[1], match[2] or "", (), match.end(), len(text), marker.lstrip("; "), address[1])
    clauses = _CLAUSES.match(rest)
    assert clauses is not None
    marker = rest[clauses.end() :]
    if marker and not marker.startswith(";"):
        return None
    start = match.end(2) if match[2] else match.end(1)
    end = match.end() + len(rest[: clauses.end()].rstrip())
    found = tuple((each[1], each[2]) for each in _CLAUSE.finditer(clauses[1]))
    return AskedPackage(match[1], match[2] or "", found, start, max(start, end), marker[1:].strip(), "")


def family_of(each: AskedPackage, recipes: Recipes) -> Family | None:
    """Return the family of a requirement."""
    found = recipes.distribution(each.name) if each.name else None
    if found is None and each.address:
        found = recipes.repository(each.address)
    return found


def on_linux(marker: str) -> bool:
    """Return whether a marker can hold on Linux on x86-64, with some Python."""
    if not marker:
        return True
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

    known = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"}
    try:
        parsed = Marker(marker)
        extras = ["", *_EXTRA.findall(marker)]
        return any(
            parsed.evaluate({**known, "python_version": python, "python_full_version": python + ".0", "extra": extra})
            for python in _PYTHONS
            for extra in extras
        )
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
        return True


def judge(
    text: str, recipes: Recipes, imported: Mapping[str, str] | None = None, *, hashed: bool = False
) -> Verdict | None:
    """Return the verdict on a requirement; None if it is right unchanged.

    `imported` tells which modules the program imports unconditionally, and where. A requirement with hashes needs a
    version.
    """
    each = asked(text)
    if each is None or for_rocm(each.version) or for_rocm(each.address) or for_rocm(each.name):
        return None
    if not on_linux(each.marker):
        return None
    if _FOR_CPU.search(f"{each.version} {unquote(each.address)}"):
        return None  # Intentionally for no GPU.
    if recipes.is_own(each.name, each.address):
        return _own(each)
    family = family_of(each, recipes)
    if family is None:
        return _unknown(each)
    called = each.name or each.address
    if family.action == "keep":
        return _kept(each, family, text, hashed)
    if family.action in ("remove", "separate"):
        module = recipes.package(each.name, family).replace("-", "_") if family.modules else family.imports
        where = _imported(each, module, imported) if imported is not None else None
        if where and (family.action == "remove" or where.endswith("setup.py")):
            message = f"{called}: {family.why}; {where} imports it, so make the program work without it first"
            return Verdict("manual", "imported", message, Certainty.MANUAL, family)
        certainty = Certainty.SAFE if family.name == "nvidia-libraries" else Certainty.REVIEW
        kind = "cuda_only" if family.action == "remove" else "separate"
        return Verdict("out", kind, f"{called}: {family.why}{_assumed(family)}", certainty, family)
    if family.action == "least":
        return _least(each, family)
    if family.action == "relax":
        return _relaxed(each, family)
    if family.action == "manual":
        return Verdict("manual", "no_rocm", f"{called}: {family.why}", Certainty.MANUAL, family)
    return None


def _imported(each: AskedPackage, module: str, imported: Mapping[str, str]) -> str | None:
    """Return the file that imports a package: a build script under any name, which needs it to build, or a program."""
    found = imported.get(module)
    if found is None or not found.endswith("setup.py"):
        script = imported.get(re.sub(r"[-.]+", "_", each.name)) if each.name else None
        if script is not None and script.endswith("setup.py"):
            return script
    return found


def _own(each: AskedPackage) -> Verdict | None:
    """Judge the tree's own package: a build of it for CUDA does not contain the port."""
    if not (for_cuda(each.version) or for_cuda(unquote(each.address)) or _NAME_CUDA.fullmatch(each.name.lower())):
        return None
    message = (
        f"{each.name or each.address} is this repository's own package, as a build for CUDA: on ROCm, build it from "
        "this repository by `pip install --no-build-isolation .`"
    )
    return Verdict("manual", "own", message, Certainty.MANUAL)


def _assumed(family: Family) -> str:
    if family.action == "separate":
        return "; assumes that it is installed as `hipport deps` says, or not needed"
    return "" if family.name == "nvidia-libraries" else "; assumes that nothing needs it"


def _unknown(each: AskedPackage) -> Verdict | None:
    """Judge a package without a recipe by its name."""
    said = each.name + each.extras
    if for_cuda(each.version) or (each.address and for_cuda(unquote(each.address.rpartition("/")[2]))):
        what = f"{each.name or each.address} is requested as a build for CUDA"
    elif _EXTRA_CUDA.search(each.extras):
        message = f"{said}: that extra installs libraries for CUDA; look for an extra for ROCm, or do without"
        return Verdict("manual", "no_rocm", message, Certainty.MANUAL)
    elif _NAME_CUDA.fullmatch(each.name.lower()):
        what = f"{each.name} is a build for CUDA, as its name says"
    else:
        return None
    message = (
        f"{what}: look for a build for ROCm, or build its sources with PYTORCH_ROCM_ARCH set and without build "
        "isolation"
    )
    return Verdict("manual", "no_rocm", message, Certainty.MANUAL)


def _kept(each: AskedPackage, family: Family, text: str, hashed: bool) -> Verdict | None:
    """Remove a version that the installed build cannot satisfy."""
    if each.address:
        wheel = unquote(each.address)
        if "+cpu" in wheel or "/cpu/" in wheel or not (_WHEEL.search(wheel) or for_cuda(wheel)):
            return None
        message = f"{each.name} from {each.address} replaces PyTorch for ROCm{_anyone()}"
        return Verdict("out", "pin", message, Certainty.REVIEW, family)
    if "+cpu" in each.version or not each.clauses:
        return None
    from packaging.specifiers import InvalidSpecifier, Specifier

    last = _LAST.get(normalised(each.name), "999")

    def stays(operator: str, version: str) -> bool:
        try:
            return Specifier(operator + version.rstrip(",")).contains(last, prereleases=True)
        except InvalidSpecifier:
            return False

    kept = [operator + version for operator, version in each.clauses if stays(operator, version)]
    if len(kept) == len(each.clauses):
        return None
    build = "a build for CUDA" if for_cuda(each.version) else "another build"
    message = f"{each.name}{each.version}: pip would replace PyTorch for ROCm by {build}{_anyone()}"
    if hashed:
        return Verdict("out", "pin", message, Certainty.REVIEW, family)
    new = (" " if text[each.start : each.start + 1] == " " and kept else "") + ",".join(kept)
    return Verdict("edit", "pin", message, Certainty.REVIEW, family, each.start, each.end, new)


def _anyone() -> str:
    return "; assumes that the program runs with the installed one"


def _least(each: AskedPackage, family: Family) -> Verdict | None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    if each.address or not each.clauses:
        return None
    try:
        wanted = SpecifierSet(each.version.rstrip(","))
        least = Version(family.least)
        named = [Version(version.rstrip(".*")) for _, version in each.clauses]
    except (InvalidSpecifier, InvalidVersion):
        return None
    if any(
        wanted.contains(version, prereleases=True)
        for version in (family.least, "999", *map(str, named))
        if Version(version) >= least
    ):
        return None
    message = (
        f"{each.name}{each.version}: {family.why}; assumes that the program runs with version {family.least} or newer"
    )
    return Verdict("edit", "pin", message, Certainty.REVIEW, family, each.start, each.end, f">={family.least}")


def _relaxed(each: AskedPackage, family: Family) -> Verdict | None:
    from packaging.version import InvalidVersion, Version

    if each.address or len(each.clauses) != 1 or each.clauses[0][0] not in ("==", "~=", "==="):
        return None
    version = each.clauses[0][1].removesuffix(".*")
    try:
        if not Version(version) < Version(family.below):
            return None
    except InvalidVersion:
        return None
    message = (
        f"{each.name}{each.version}: {family.why}; assumes that the program runs with a newer version below "
        f"{family.upper}"
    )
    new = f">={version},<{family.upper}"
    return Verdict("edit", "old", message, Certainty.REVIEW, family, each.start, each.end, new)

# SPDX-License-Identifier: Apache-2.0
"""Files that list the packages to install, except those in TOML, Python and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hipport.core.edits import Span
from hipport.core.source import ANY_LINE_END, Source
from hipport.syntax.json import Json
from hipport.syntax.shell import Command, commands_in
from hipport.syntax.toml import Toml
from hipport.syntax.yaml import Yaml

_LINE = re.compile(rb"(?:[^\r\n\\]|\\(?!\r?\n|\Z)|\\\r?\n|\\\Z)*")
_CONTINUED = re.compile(rb"\\(?:\r?\n|\Z)")
_COMMENT = re.compile(rb"(?:^|(?<=\s))#.*")
_OPTIONS = re.compile(rb"(?:^|\s)(?=--?[A-Za-z])")
_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)(?:\s*=\s*|\s+|(?<=-r)|(?<=-c))(\S+)")


@dataclass(frozen=True)
class PackageLine:
    """A line of requirements, with its continuation lines.

    `span` is the whole line. `requirement` is the requirement, or an empty span. `options` is the rest, from the first
    option, or the whole line if it starts with one.
    """

    span: Span
    requirement: Span
    options: Span


@dataclass(frozen=True)
class Requirements(Source):
    """A file of requirements or constraints for pip."""

    line_end = ANY_LINE_END

    @cached_property
    def lines(self) -> tuple[PackageLine, ...]:
        """The lines that are neither empty nor comments."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[PackageLine]:
        at = self.beginning
        while at < len(self.text):
            first = re.compile(rb"[ \t]*#[^\r\n]*").match(self.text, at)
            # A comment ends with its line, even after a backslash.
            match = first or _LINE.match(self.text, at)
            assert match is not None
            start, end = match.span()
            at = end + 1
            if first is None:
                # Joined lines keep their length, so places in them stay valid.
                text = _CONTINUED.sub(lambda m: b" " * len(m.group()), self.text[start:end])
                yield from _parts(start, text)

    @property
    def includes(self) -> tuple[str, ...]:
        """The files that this one includes, as paths relative to it."""
        said = (self[line.options].decode("utf-8", "replace") for line in self.lines)
        return tuple(match[1] for text in said if (match := _INCLUDE.match(text)))


def _parts(start: int, text: bytes) -> Iterator[PackageLine]:
    comment = _COMMENT.search(text)
    said = text[: comment.start()] if comment else text
    if not said.strip():
        return
    options = _OPTIONS.search(said)
    middle = options.end() if options else len(said)
    requirement = said[: options.start()] if options else said
    yield PackageLine(
        Span(start, start + len(text)),
        _stripped(start, requirement),
        _stripped(start + middle, said[middle:]),
    )


def _stripped(start: int, text: bytes) -> Span:
    left = len(text) - len(text.lstrip())
    return Span(start + left, start + left + len(text.strip()))


_SEMICOLON = re.compile(rb";(?!\s*\(?\s*(?:python_|platform_|sys_platform|os_name|implementation_|extra\b|[\"']))")


@dataclass(frozen=True)
class SetupCfg(Source):
    """The declarative configuration of setuptools, setup.cfg."""

    line_end = ANY_LINE_END

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The lines of the values of its options."""
        return tuple(_settings(self.text))

    @cached_property
    def requirements(self) -> tuple[tuple[str, Span], ...]:
        """The requirements, each with its option (`install_requires`, an extra)."""
        return tuple(self._requirements())

    def _requirements(self) -> Iterator[tuple[str, Span]]:
        section = option = ""
        at = 0
        for line in self.text.splitlines(keepends=True):
            start, at = at, at + len(line)
            text = line.strip()
            if not text or text[:1] in b"#;":
                continue
            line_is_more = line[:1] in b" \t"
            if not line_is_more:
                option = ""
                if text.startswith(b"["):
                    section = text.strip(b"[]").decode("utf-8", "replace").strip()
                    continue
                name, separator, value = (
                    re.compile(rb"([:=])").split(line, maxsplit=1) if re.search(rb"[:=]", line) else (line, b"", b"")
                )
                key = name.strip().decode("utf-8", "replace")
                wanted = (section == "options" and key in ("install_requires", "setup_requires", "tests_require")) or (
                    section == "options.extras_require"
                )
                option = key if wanted else ""
                start += len(name) + len(separator)
                text = value.strip()
                line = value
            if option and text:
                left = len(line) - len(line.lstrip())
                first = start + left
                # Several may follow the option, separated by semicolons, which also precede markers.
                for part in [text] if line_is_more else _SEMICOLON.split(text):
                    at_part = self.text.index(part, first)
                    first = at_part + len(part)
                    bare = part.strip()
                    if bare:
                        begin = at_part + len(part) - len(part.lstrip())
                        yield option, Span(begin, begin + len(bare))


@dataclass(frozen=True)
class Setting:
    """A line of an option's value in an INI file, trimmed; `first` if it follows the option on its line."""

    section: str
    option: str
    span: Span
    first: bool


def _settings(text: bytes) -> Iterator[Setting]:
    """Yield the lines of the options of an INI file, as Python's configparser reads them."""
    section = option = ""
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        bare = line.strip()
        if not bare or bare[:1] in b"#;":
            continue
        if line[:1] not in b" \t":
            option = ""
            if bare.startswith(b"["):
                section = bare.strip(b"[]").decode("utf-8", "replace").strip()
                continue
            name = re.compile(rb"[^=:\r\n]*[=:]?").match(line)
            assert name is not None
            option = name.group().rstrip(b"=:").strip().decode("utf-8", "replace").lower()
            start += name.end()
            line = line[name.end() :]
            bare = line.strip()
            if not bare:
                continue
            yield Setting(section, option, _stripped(start, line), True)
        elif option:
            yield Setting(section, option, _stripped(start, line), False)


_FACTORS = re.compile(rb"[\w{},!.-]+:[ \t]+")
_ENVIRONMENT = re.compile(r"testenv(?::.*)?|env(?::.*)?|base|\.?(?:pkgenv)")


@dataclass(frozen=True)
class ToxIni(Source):
    """tox's configuration, tox.ini."""

    line_end = ANY_LINE_END

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The lines of its environments' options, each without its factors, `py310: `."""
        return tuple(
            replace(each, span=Span(match.end() if match else each.span.start, each.span.end))
            for each in _settings(self.text)
            if _ENVIRONMENT.fullmatch(each.section)
            for match in (_FACTORS.match(self.text, each.span.start, each.span.end),)
        )

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands that it runs, in order."""
        found: list[Command] = []
        lines: list[Span] = []
        for each in self.settings:
            if not each.option.startswith("commands") and each.option != "install_command":
                continue
            # A backslash continues a line; a dash means that the command may fail.
            if lines and self[lines[-1]].endswith(b"\\") and not each.first:
                lines[-1] = Span(lines[-1].start, each.span.end)
                continue
            sign = re.compile(rb"[-!][ \t]*").match(self.text, each.span.start, each.span.end)
            lines.append(Span(sign.end() if sign else each.span.start, each.span.end))
        for line in lines:
            found += commands_in(self.text, line)
        return tuple(found)


@dataclass(frozen=True)
class CondaEnvironment(Source):
    """A conda environment, environment.yml."""

    @cached_property
    def items(self) -> tuple[tuple[str, Span, Span], ...]:
        """The items of its lists: the list (`channels`, `dependencies` or `pip`), the text of the item, its line."""
        return tuple(self._items())

    @cached_property
    def going_on(self) -> tuple[tuple[str, Span, Span], ...]:
        """The items that continue in deeper lines, by their first line: the text there, and that line."""
        return tuple(self._items(going_on=True))

    @cached_property
    def pip(self) -> Span | None:
        """The line `- pip:`."""
        match = re.compile(rb"^[ \t]*-[ \t]+pip[ \t]*:[ \t]*(?:#[^\r\n]*)?$", re.MULTILINE).search(
            self.text.replace(b"\r\n", b" \n")
        )
        return Span(*match.span()) if match else None

    def _items(self, *, going_on: bool = False) -> Iterator[tuple[str, Span, Span]]:
        inside, deep = "", 0
        at = 0
        going: int | None = None
        lines = self.text.splitlines(keepends=True)
        deeper = _indents_behind(lines)
        for number, line in enumerate(lines):
            start, at = at, at + len(line)
            bare = line.rstrip(b"\r\n")
            if going is not None and (said := bare.strip()) and not said.startswith(b"#"):
                if len(bare) - len(bare.lstrip(b" \t")) > going:
                    continue
                going = None
            match = re.compile(rb"([ \t]*)([A-Za-z_-]+)[ \t]*:").match(bare)
            if match:
                # `pip` is an item of the dependencies, not a key at the top level.
                known = not match[1] and match[2] in (b"channels", b"dependencies")
                if known and not going_on:
                    yield from self._in_brackets(match[2].decode(), start + match.end())
                inside = match[2].decode() if known else ""
                continue
            # Without a blank after its dash it is a word that begins with a dash, not an item.
            match = re.compile(rb"([ \t]*)-([ \t]+)(\"[^\"]*\"|'[^']*'|[^#\s](?:[^#]|(?<=\S)#)*)").match(bare)
            if match is None:
                # A line without indentation that is neither ends the list.
                if re.match(rb"[^\s#]", bare):
                    inside = ""
                continue
            indent = len(match[1])
            if inside == "pip" and indent <= deep:
                inside = "dependencies"
            if re.fullmatch(rb"pip[ \t]*:[ \t]*", match[3]) and inside == "dependencies":
                inside, deep = "pip", indent
                continue
            # A deeper next line belongs to the item, however it begins.
            goes_on = deeper[number] > indent
            going = indent if goes_on else None
            if goes_on == going_on and inside in ("channels", "dependencies", "pip"):
                left = match.start(3)
                text = match[3].rstrip()
                if goes_on and text[:1] in b"\"'|>":
                    left, text = left + 1, text[1:]
                if text[:1] in b"\"'" and len(text) > 1:
                    left, text = left + 1, text[1:-1]
                yield inside, Span(start + left, start + left + len(text)), Span(start, start + len(bare))

    def _in_brackets(self, kind: str, at: int) -> Iterator[tuple[str, Span, Span]]:
        """Yield the items of a list in brackets, which have no lines of their own."""
        listed = re.compile(rb"\s*\[([^\[\]{}]*)\]").match(self.text, at)
        if listed is not None:
            for item in re.compile(rb"[^,\s\"'][^,\"']*(?<!\s)").finditer(self.text, *listed.span(1)):
                span = Span(*item.span())
                yield kind, span, span


def _indents_behind(lines: Sequence[bytes]) -> list[int]:
    """Return, for each line, the indentation of the next line that is neither empty nor a comment."""
    found: list[int] = []
    behind = 0
    for line in reversed(lines):
        found.append(behind)
        if said := line.strip():
            behind = 0 if said.startswith(b"#") else len(line) - len(line.lstrip(b" \t"))
    return found[::-1]


@dataclass(frozen=True)
class Locked:
    """A package that a lock file pins to one version; `span` is its name there."""

    name: str
    version: str
    span: Span


# A table of packages in a lock file, and its members. All tools write each member on a line of its own.
_TABLE = re.compile(rb"^\[\[packages?\]\][ \t]*\r?$", re.MULTILINE)
_ANY_TABLE = re.compile(rb"^\[", re.MULTILINE)
_TABLE_NAME = re.compile(rb'^name[ \t]*=[ \t]*"([^"\r\n]+)"', re.MULTILINE)
_TABLE_VERSION = re.compile(rb'^version[ \t]*=[ \t]*"([^"\r\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Lock(Source):
    """A lock file: in TOML (Poetry, uv, PDM, pylock.toml), in JSON (Pipenv) or in YAML (conda-lock, pixi).

    A tool generates it from lists of requirements, with hashes, so it is never edited.
    """

    @cached_property
    def of_conda(self) -> bool:
        """Whether packages are, or may be, conda packages: such files are in YAML."""
        return re.search(rb"^[\w-]+:", self.text, re.MULTILINE) is not None and not _TABLE.search(self.text)

    @cached_property
    def packages(self) -> tuple[Locked, ...]:
        """The packages, in order; empty for a file that does not match its beginning."""
        if self.text.lstrip()[:1] == b"{":
            return tuple(self._in_json())
        if self.of_conda:
            return tuple(self._in_yaml())
        return tuple(self._in_toml()) if Toml(self.path, self.text).document is not None else ()

    def _in_toml(self) -> Iterator[Locked]:
        for table in _TABLE.finditer(self.text):
            following = _ANY_TABLE.search(self.text, table.end())
            end = following.start() if following else len(self.text)
            name = _TABLE_NAME.search(self.text, table.end(), end)
            version = _TABLE_VERSION.search(self.text, table.end(), end)
            if name:
                yield Locked(
                    name[1].decode(errors="replace"),
                    version[1].decode(errors="replace") if version else "",
                    Span(*name.span(1)),
                )

    def _in_json(self) -> Iterator[Locked]:
        for entry in Json(self.path, self.text).entries:
            if len(entry.path) == 3 and entry.path[0] in ("default", "develop") and entry.path[2] == "version":
                yield Locked(str(entry.path[1]), (entry.value or "").lstrip("="), entry.key)

    def _in_yaml(self) -> Iterator[Locked]:
        names: dict[int, tuple[str, Span]] = {}
        for entry in Yaml(self.path, self.text).entries:
            value = self[entry.value].decode("utf-8", "replace")
            if entry.key == "name":
                names[entry.indent] = value, entry.value
            elif entry.key == "version" and entry.indent in names:
                name, span = names.pop(entry.indent)
                yield Locked(name, value, span)
            elif entry.key in ("conda", "pypi") and "packages" in entry.keys:
                # pixi: the URL of the package; that of a conda package has the version in its name
                part = re.match(r"(?:.*/)?([A-Za-z0-9_.-]+?)-(\d[^-/]*)(?:-[^/]*)?(?:\.conda|\.whl|\.tar\.\w+)$", value)
                if part:
                    yield Locked(part[1], part[2], entry.value)

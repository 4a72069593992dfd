# SPDX-License-Identifier: Apache-2.0
"""The steps that install a repository's requirements on ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty
from hipport.core.source import Source
from hipport.core.tables import Words, one_of
from hipport.engine.outcomes import Ported
from hipport.program.extensions import extensions
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.packaging import CondaEnvironment, Requirements, SetupCfg
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Shell
from hipport.syntax.toml import Toml
from hipport.toolchain.install_plan import PackageMention, Step, in_work, quoted
from hipport_passes.packages import recipes as table
from hipport_passes.packages.asking import Asking, decoded
from hipport_passes.packages.family_mentions import of_setup
from hipport_passes.packages.install_commands import pip_install
from hipport_passes.packages.installed_packages import filled
from hipport_passes.packages.judge import EDITABLE, asked, family_of
from hipport_passes.packages.pip_lists import in_conda, in_requirements
from hipport_passes.packages.recipes import Family, Recipes
from hipport_passes.packages.toml_lists import as_pip

_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
# A path with a slash and without a scheme is a folder to pip.
_PYTHON = _WORDS.compile(r"(?&python)\b(?!-)")
_SUBDIRECTORY = _WORDS.compile(r"(?&subdirectory)=([\w./-]+)")
_INCLUDED = _WORDS.compile(r"(?&included_lists)(?:\s*=\s*|\s*)(\S+)")
_SETUP = _WORDS.compile(rb"\b(?&setup)\(")
_LOCAL = _WORDS.compile(
    r"(?:-e\s+|--(?&editable_long)[ =])?(?:(?&file):(?://)?)?(\.[/\\]?[\w./-]*|[\w.-]+(?:/[\w.-]+)+/?)(?:\[[^\]]*\])?\s*(?:#.*)?"
)
_BUILT_BY = ("setup.py", "pyproject.toml", "setup.cfg")
_NOT_FOR_USE = re.compile(rf"(?i)(?:^|[-_/]){one_of(_WORDS['not_for_use'])}(?:[-_./]|$)")
_BASE = _WORDS.compile(r"(?&requirements)/(?&base)\.(?&list_suffixes)")

#: The name of a conda environment's file that is installed; conda decides by its suffix.
_ENVIRONMENT = "environment.yml"
#: A repository that git clones: an address, not a word that git could read as an option or a command.
_CLONED = _WORDS.compile(r"(?&git)\+((?&clone_schemes)://\S+?)(?:@((?!-)[\w./-]+))?(?:#(\S*))?", re.ASCII)


def conflict(found: Mapping[str, list[PackageMention]]) -> bool:
    """Return whether other wheels require a version of PyTorch that conflicts with the newest xformers."""
    return bool({"gsplat", "pytorch3d"} & found.keys())


@dataclass
class ByHand:
    """The packages that the script leaves to a person, each with the reason, as far as the steps have asked."""

    asking: Asking
    said: dict[str, str] = field(default_factory=dict)

    def takes(self, text: str) -> bool:
        """Return whether a requirement is left to a person, and record it."""
        verdict = self.asking.judge(EDITABLE.sub("", re.split(r"\s#", text)[0]).strip())
        return verdict is not None and verdict.what == "manual" and self.note(text, verdict.message)

    def note(self, text: str, why: str) -> bool:
        """Record a requirement that is left out; return True."""
        self.said.setdefault(" ".join(text.split()), _bare(text, why))
        return True

    def lines(self, source: Requirements | CondaEnvironment) -> dict[int, str]:
        """Return the reasons why requirements of a list are left to a person, by their starts."""
        found = (
            in_requirements(source, self.asking) if isinstance(source, Requirements) else in_conda(source, self.asking)
        )
        return {each.span.start: each.message for each in found if each.certainty is Certainty.MANUAL}


def _bare(text: str, why: str) -> str:
    """Return the reason without the package's name, which the message already contains."""
    name, colon, rest = why.partition(": ")
    return rest if colon and text.startswith(name) else why


class InstallSteps:
    """The steps for one repository; what they leave to a person is noted in `by_hand`."""

    def __init__(
        self, project: Project, ported: Ported, found: Mapping[str, list[PackageMention]], by_hand: ByHand
    ) -> None:
        self.project, self.ported, self.found, self.by_hand = project, ported, found, by_hand
        self.rules = table.of(project)
        self.lists = list(_lists_to_install(project))
        #: Requirements that are extensions, which are built against the installed PyTorch.
        self.built: dict[str, None] = {}

    def all(self, separate: Sequence[Family], index: str, rocm: str) -> Iterator[Step]:
        """Yield the steps in order; families with a step of their own are installed from `index`."""
        missing = [each.path for each in self.project.skipped if each.kind == "missing"]
        if missing:
            yield Step("submodules that are missing", ("git submodule update --init --recursive",))
        yield Step("tools that build extensions", ("pip install ninja packaging setuptools wheel",))
        yield from self._families(separate, index, rocm)
        later = [*self._of_lists(), *self._of_package()]
        for mention in self.found.get("extensions", ()):
            each = asked(mention.text)
            if each is not None and each.address and mention.path.suffix != ".md":
                self.built.setdefault(mention.text)
        yield from later
        for text in self.built:
            yield _built(text)
        yield from self._of_folders(missing)
        if _is_package(self.project):
            yield Step("the package itself", ("pip install --no-build-isolation --no-deps -e .",))

    def _families(self, separate: Sequence[Family], index: str, rocm: str) -> Iterator[Step]:
        for family in separate:
            if (family.with_torch and conflict(self.found)) or not family.is_for(rocm):
                continue
            mentions = self.found[family.name]
            names = _distributions(family, mentions)
            renamed = list(dict.fromkeys(family.renamed.get(name, name) for name in names))
            commands = tuple(filled(family, index, list(map(quoted, renamed))))
            if commands:
                why = f"{family.name}: {family.note or family.why}"
                optional = family.optional or not _is_required(mentions)
                yield Step(why, commands, {}, family.environment, optional, family.fallback)

    def _of_lists(self) -> Iterator[Step]:
        """Yield the steps that install the lists, without packages for CUDA and without extensions."""
        after = self.ported.project.by_path
        for number, path in enumerate(self.lists, 1):
            source = after[path]
            assert isinstance(source, Requirements)
            lines = list(_flat(source, after, set(), self.by_hand))
            text = "".join(line for line in lines if not _is_built(line, self.rules))
            self.built |= dict.fromkeys(line.strip() for line in lines if _is_built(line, self.rules))
            name = path.as_posix()
            if text == self.project.by_path[path].text.decode("utf-8", "replace"):
                yield Step(name, (f"pip install -r {quoted(name)}",))
            else:
                file = f"list-{number}.txt"
                command = f"pip install -r {in_work(file)}"
                yield Step(f"{name}, without the packages for CUDA", (command,), {file: text})

    def _of_package(self) -> Iterator[Step]:
        """Yield the steps that install the package's requirements, or, without these and lists, others'."""
        own = [text for text in map(_on_a_line, _own_requirements(self.ported)) if not self.by_hand.takes(text)]
        self.built |= dict.fromkeys(text for text in own if _is_built(text, self.rules))
        own = [text for text in own if not _is_built(text, self.rules)]
        if own:
            command = f"pip install -r {in_work('package.txt')}"
            yield Step("the package's own dependencies", (command,), {"package.txt": "\n".join(own)})
        elif not self.lists:
            yield from _of_conda(self.ported, self.rules, self.by_hand) or _of_scripts(
                self.project, self.rules, self.by_hand
            )

    def _of_folders(self, missing: Sequence[PurePath]) -> Iterator[Step]:
        """Yield the steps that install the extensions and packages in the repository's folders."""
        folders = _folders(self.project)
        for folder in folders:
            if folder != ".":
                command = f"pip install --no-build-isolation --no-deps ./{quoted(folder)}"
                yield Step(f"the extension in {folder}, after it is ported", (command,))
        for number, folder in enumerate(_local(self.project, self.lists), 1):
            if any(PurePosixPath(folder).is_relative_to(each) for each in missing):
                # Its contents are known only once it is cloned.
                rewrite = f"hipport rewrite ./{quoted(folder)} || test $? = 1"
                command = f"pip install --no-build-isolation --no-deps ./{quoted(folder)}"
                yield Step(f"the package in {folder}, after it is cloned and ported", (rewrite, command))
            elif folder not in folders and _has_package(self.project, folder):
                yield self._of_local(folder, number)

    def _of_local(self, folder: str, number: int) -> Step:
        """Return the step that installs a package in a folder which the lists require."""
        needs = list(map(_on_a_line, _own_requirements(self.ported, folder)))
        kept = [text for text in needs if not self.by_hand.takes(text)]
        if kept == needs:
            command = f"pip install --no-build-isolation ./{quoted(folder)}"
            return Step(f"the package in {folder}", (command,))
        # pip would install all requirements of the package.
        file = f"folder-{number}.txt"
        commands: tuple[str, ...] = (f"pip install -r {in_work(file)}",) if kept else ()
        commands += (f"pip install --no-build-isolation --no-deps ./{quoted(folder)}",)
        return Step(f"the package in {folder}", commands, {file: "\n".join(kept)} if kept else {})


def _local(project: Project, lists: Sequence[PurePath]) -> list[str]:
    """Return the folders of the repository that its lists, or its conda environment, require."""
    asked_for: list[str] = []
    for source in project.sources:
        if isinstance(source, Requirements) and source.path in lists:
            asked_for += [decoded(source, line.span) for line in source.lines]
        elif isinstance(source, CondaEnvironment) and source.path.parent == PurePosixPath(".") and not lists:
            asked_for += [decoded(source, span) for kind, span, _ in source.items if kind == "pip"]
    found = [match[1] for text in asked_for if (match := _LOCAL.fullmatch(text.strip()))]
    folders = dict.fromkeys(PurePosixPath(re.sub(r"^(?:\./)+", "", text)).as_posix() for text in found)
    return [folder for folder in folders if folder != "." and ".." not in PurePosixPath(folder).parts]


def _has_package(project: Project, folder: str) -> bool:
    return any(each.path.parent.as_posix() == folder and each.path.name in _BUILT_BY for each in project.sources)


def _is_required(mentions: Sequence[PackageMention]) -> bool:
    """Return whether the program needs a package: its root requires it, or it is imported unconditionally."""
    return any(
        mention.path.suffix != ".md"
        and (mention.at_once if mention.imported else len(mention.path.parts) == 1)
        and not {"third_party", "thirdparty", "external", "tests", "examples"} & set(mention.path.parts)
        for mention in mentions
    )


def _of_conda(ported: Ported, rules: Recipes, by_hand: ByHand) -> list[Step]:
    """Return the steps that install a conda environment at the root into the active one."""
    for source in ported.project.sources:
        if not isinstance(source, CondaEnvironment) or source.path.parent != PurePosixPath("."):
            continue
        left_out: list[Span] = []
        gone = 0
        manual = by_hand.lines(source)
        for kind, span, line in source.items:
            text = decoded(source, span)
            why = manual.get(span.start, "") if kind != "channels" else ""
            # The Python with PyTorch stays, and the repository's own packages have separate steps.
            if (
                (why and by_hand.note(text, why))
                or (kind == "dependencies" and _PYTHON.match(text))
                or (kind == "pip" and (_LOCAL.fullmatch(text) or _is_built(text, rules)))
            ):
                left_out.append(_whole(source, span, line))
                gone += kind == "pip"
        if gone and gone == sum(kind == "pip" for kind, _, _ in source.items) and source.pip is not None:
            left_out.append(_whole(source, Span(0, 0), source.pip))  # To conda, a list without items is invalid.
        text = source.apply(Edit(span, b"") for span in left_out).text.decode("utf-8", "replace")
        name = source.path.as_posix()
        command = f'conda env update --prefix "$CONDA_PREFIX" --file {in_work(_ENVIRONMENT)}'
        why = f"{name}, without the packages for CUDA, into the active environment"
        return [Step(why, (command,), {_ENVIRONMENT: text})]
    return []


def _whole(source: CondaEnvironment, span: Span, line: Span) -> Span:
    """Return the span to remove with an item: its line, or, in brackets, the comma after it."""
    more = re.compile(rb"[\"']?[ \t]*(?:,\s*)?" if line == span else rb"[^\r\n]*\r?\n?").match(source.text, line.end)
    assert more is not None
    quoted = line == span and source.text[span.start - 1 : span.start] in (b'"', b"'")
    return Span(line.start - quoted, more.end())


def _is_built(text: str, rules: Recipes) -> bool:
    """Return whether a requirement is an extension that is built against the installed PyTorch."""
    each = asked(re.split(r"\s#", text.strip())[0].strip())
    family = family_of(each, rules) if each is not None and each.name + each.address else None
    return family is not None and family.name == "extensions"


def _built(text: str) -> Step:
    """Return the step that installs such an extension: from a ported copy, if its source is a repository."""
    each = asked(text)
    assert each is not None
    match = _CLONED.fullmatch(each.address)
    if match is None:
        command = f"pip install --no-build-isolation {quoted(text)}"
        return Step(f"{each.name}, built against that PyTorch", (command,))
    named = match[1].rstrip("/").rpartition("/")[2].removesuffix(".git")
    name = named if re.fullmatch(r"\w[\w.-]*", named, re.ASCII) else "repository"
    inside = _SUBDIRECTORY.search(match[3] or "")
    # Not beside the script's own programs: a clone could replace a module there.
    place = f"sources/{name}"
    commands = [f"git clone --recursive -- {quoted(match[1])} {in_work(place)}"]
    if match[2]:
        commands.append(f"git -C {in_work(place)} checkout --recurse-submodules {quoted(match[2])}")
    commands.append(f"hipport rewrite {in_work(place)} || test $? = 1")
    below = PurePosixPath(inside[1]) if inside and ".." not in PurePosixPath(inside[1]).parts else PurePosixPath()
    where = in_work(f"{place}/{below}" if below.parts and not below.is_absolute() else place)
    commands.append(f"pip install --no-build-isolation --no-deps {where}")
    return Step(f"{name}, from a ported copy of its sources", tuple(commands))


def _of_scripts(project: Project, rules: Recipes, by_hand: ByHand) -> Iterator[Step]:
    """Yield the steps that install packages named in scripts at the root and right for ROCm, if there is no list."""
    for source in project.sources:
        if not isinstance(source, Shell) or source.path.parent != PurePosixPath("."):
            continue
        words: dict[str, None] = {}
        for command in source.commands:
            install = pip_install(command)
            if install is None or install.indexes or "$" in "".join(word.text for word in install.asked):
                continue
            for word in install.asked:
                each = asked(word.text)
                if each is None or by_hand.takes(word.text):
                    continue
                if family_of(each, rules) is None:
                    words[word.text] = None
        if words:
            command_line = "pip install " + " ".join(map(quoted, words))
            yield Step(f"the packages of {source.path.as_posix()} that are right on ROCm", (command_line,))


def _distributions(family: Family, mentions: Sequence[PackageMention]) -> list[str]:
    """Return the required distributions of a family, or the one that is imported."""
    names: list[str] = []
    for mention in mentions:
        each = asked(mention.text) if not mention.imported else None
        name = table.normalised(each.name or "") if each else ""
        if mention.imported:
            name = family.imports.replace("_", "-")
        name = name if name in family.renamed or not family.renamed else family.distributions[0]
        if name and name not in names:
            names.append(name)
    return names


def _lists_to_install(project: Project) -> Iterator[PurePath]:
    lists = [source.path for source in project.sources if isinstance(source, Requirements)]
    first = PurePosixPath("requirements.txt")
    if first in lists:
        yield first
        return
    top = [path for path in lists if path.parent == PurePosixPath(".") and not _NOT_FOR_USE.search(path.name)]
    if top:
        yield top[0]
        return
    yield from (path for path in lists if _BASE.fullmatch(path.as_posix()))


def _flat(
    source: Requirements, after: Mapping[PurePath, Source], seen: set[PurePath], by_hand: ByHand
) -> Iterator[str]:
    """Yield the lines of a list and of the lists that it reads, without the repository's extensions.

    Requirements that are left to a person become comments.
    """
    seen.add(source.path)
    lines = {line.span.start: line for line in source.lines}
    manual = by_hand.lines(source)
    at = 0
    while at < len(source.text):
        line = lines.get(at)
        end = source.text.find(b"\n", line.span.end if line is not None else at) + 1 or len(source.text)
        text = decoded(source, Span(at, end))
        at = end
        spans = (line.requirement, line.options) if line is not None else ()
        for span in spans:
            if len(span) and span.start in manual:
                said = " ".join(decoded(source, span).split())
                by_hand.note(said, manual[span.start])
                text = f"# {said}: left to a person, {_bare(said, manual[span.start])}\n"
        options = decoded(source, line.options) if line is not None else ""
        include = _INCLUDED.match(options)
        if line is not None and not len(line.requirement) and include:
            path = PurePosixPath(
                re.sub(r"(?:^|/)[^/]+/\.\./", "/", (source.path.parent / include[1]).as_posix()).lstrip("/")
            )
            other = after.get(path)
            if isinstance(other, Requirements) and path not in seen:
                if options.startswith(("-c", "--constraint")):
                    yield f"# constraints of {path.as_posix()} are not used: PyTorch's own are\n"
                else:
                    yield from _flat(other, after, seen, by_hand)
                continue
        if _LOCAL.fullmatch(text.strip()):
            continue  # Separate steps install it.
        yield text if text.endswith("\n") else text + "\n"


def _own_requirements(ported: Ported, folder: str = ".") -> Iterator[str]:
    """Yield the requirements of the package in a folder, as ported."""
    inside = PurePosixPath(folder)
    pyproject = ported.project.by_path.get(inside / "pyproject.toml")
    if isinstance(pyproject, Toml) and pyproject.document is not None:
        document = pyproject.document
        for text in document.get("project", {}).get("dependencies", ()):
            yield str(text)
        for name, value in document.get("tool", {}).get("poetry", {}).get("dependencies", {}).items():
            version = value.get("version") if isinstance(value, dict) else value
            extras = ",".join(map(str, value.get("extras", ()))) if isinstance(value, dict) else ""
            if name != "python" and isinstance(version, str):
                yield name + (f"[{extras}]" if extras else "") + as_pip(version)
        if "dependencies" in document.get("project", {}):
            return
    configuration = ported.project.by_path.get(inside / "setup.cfg")
    if isinstance(configuration, SetupCfg):
        for option, span in configuration.requirements:
            if option == "install_requires":
                yield re.split(r"\s#", decoded(configuration, span))[0].rstrip()
    setup = ported.project.by_path.get(inside / "setup.py")
    if isinstance(setup, Python):
        yield from (text for _, text in of_setup(setup))


def _on_a_line(text: str) -> str:
    """Return a requirement as a line of a list; a line break inside it could start an option."""
    return " ".join(text.split())


def _is_package(project: Project) -> bool:
    pyproject = project.by_path.get(PurePosixPath("pyproject.toml"))
    document = pyproject.document if isinstance(pyproject, Toml) else None
    if document is not None and ("project" in document or "poetry" in document.get("tool", {})):
        return True
    setup = project.by_path.get(PurePosixPath("setup.py"))
    return setup is not None and _SETUP.search(setup.text) is not None


def _folders(project: Project) -> list[str]:
    """Return the folders with extensions that a setup.py builds."""
    found = {
        each.path.parent.as_posix()
        for each in extensions(project)
        if each.path is not None and each.path.name == "setup.py" and each.kind in ("CUDAExtension", "CppExtension")
    }
    return sorted(found)

# SPDX-License-Identifier: Apache-2.0
"""Commands that install packages, in shell scripts, Dockerfiles and texts, and the images that those start from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.syntax.shell import Command, Definition, Dockerfile, Instruction, Markdown, Shell, Word, settings
from hipport_passes.build_files.nvcc_flags import HOLE
from hipport_passes.packages.asking import Asking, note, says_cuda_index, unless_both
from hipport_passes.packages.judge import Verdict
from hipport_passes.packages.lists import commented
from hipport_passes.packages.recipes import Family, for_rocm

_PIP = re.compile(r"(?:.*/)?pip[\d.]*")
_PYTHON = re.compile(
    r"(?:.*/)?python[\d.]*|\$\{?\w*PYTHON\w*\}?|\$\{?\w*VENV\w*\}?/bin/python|\{sys\.executable\}", re.IGNORECASE
)
_CONDA = re.compile(r"(?:.*/)?(?:conda|mamba|micromamba)")
_DECLARE = frozenset(("export", "local", "declare", "readonly", "typeset"))
# What puts a package into a project's list, which has an index of its own.
_PROJECTS = {"poetry": "add", "pdm": "add", "pipenv": "install"}
_INDEX_OPTIONS = frozenset(
    ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--default-index", "--index")
)
_WITH_VALUE = _INDEX_OPTIONS | frozenset(
    "-r --requirement -c --constraint -e --editable -t --target --prefix --root --python --platform --no-binary "
    "--only-binary --progress-bar --upgrade-strategy --config-settings --global-option --install-option "
    "--trusted-host --cache-dir --timeout --retries -p -C --src --report --log --proxy --abi --implementation".split()
)
_CONDA_VALUES = frozenset("-c --channel -n --name -p --prefix --file -f --solver".split())
_CUDA_WORDS = re.compile(r"cuda|nvidia|nvcc", re.IGNORECASE)
_ROCM_WORDS = re.compile(r"rocm|(?<![a-z])hip(?![a-z])|(?<![a-z])amd(?!64|[a-z])", re.IGNORECASE)
_IMAGE = re.compile(
    r"(?P<ours>(?:(?:docker\.io|nvcr\.io)/)?nvidia/cuda(?::.*)?|(?:docker\.io/)?pytorch/pytorch:.*cuda.*|nvcr\.io/nvidia/pytorch:.*)"
    r"|(?:docker\.io/)?nvidia/.*|nvcr\.io/.*|.*(?:cuda\d|:.*-gpu\b).*"
)
_COPIED = re.compile(rb"--from=([^\s\"']+)")
_OTHER_SYSTEM = re.compile(r"centos|rockylinux|ubi\d|opensuse|windows", re.IGNORECASE)
# Where pip and uv take an index or a page of links from besides their options
# (docs.astral.sh/uv, "Environment variables" and "Using uv with PyTorch").
_INDEX_VARIABLE = re.compile(
    r"PIP_(?:(?:EXTRA_)?INDEX_URL|FIND_LINKS)|UV_(?:(?:EXTRA_)?INDEX_URL|(?:DEFAULT_)?INDEX|FIND_LINKS)"
)
_RELEASE = re.compile(rb"\bcu\d{2,3}\b")
_URL = re.compile(rb"https?://(?:\$\([^)]*\)|[^\s\"'])+")
# A variable of a shell's, or one of Python's that a notebook puts: `$url`, `{url}`. The latter are known with braces.
_VARIABLE = re.compile(r"\$(?:\{(?P<name>\w+)(?:\[@\])?\}|(?P<bare>\w+))|(?<!\$)\{(?P<python>\w+)\}")
_UNKNOWN_RELEASE = re.compile(r"/whl/(?:nightly/|test/)?(?:cu)?\$")
# A heading or an item on AMD's GPUs, or an image of AMD's: no command that hipport writes has these.
_FOR_USERS_OF_ROCM = re.compile(
    rb"^[ \t]*(?:#+|[-*+]|\d+[.)])[ \t][^\r\n]{0,60}\b(?:ROCm|AMD GPUs?)\b|\brocm/(?:pytorch|dev)\b", re.MULTILINE
)


@dataclass
class Install:
    """A command of pip's: what it installs, and from where."""

    command: Command
    #: requirements, and paths
    asked: list[Word] = field(default_factory=list)
    #: of each index or page of links: the words of the option, and the address
    indexes: list[tuple[str, Span, str]] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    editable: list[Word] = field(default_factory=list)
    lists: list[Word] = field(default_factory=list)
    #: where the first word behind `install` is
    start: int = 0


def pip_install(command: Command) -> Install | None:
    """Read `pip install …` in any of its spellings."""
    words = list(command.words)
    at = 0
    if words[at].text == "uv":
        at += 1
        if at < len(words) and words[at].text == "pip":
            at += 1
        elif at < len(words) and words[at].text != "add":
            return None
        else:
            return _options(command, words, at + 1) if at < len(words) else None
    elif _PYTHON.fullmatch(words[at].text) and len(words) > 2 and words[1].text == "-m":
        at += 2
        if words[at].text == "uv" and at + 1 < len(words) and words[at + 1].text == "pip":
            at += 2
        elif words[at].text == "pip":
            at += 1
        else:
            return None
    elif words[at].text in _PROJECTS and len(words) > 2 and words[1].text == _PROJECTS[words[at].text]:
        return _options(command, words, 2)
    elif _PIP.fullmatch(words[at].text.lstrip("!%")):
        at += 1
    else:
        return None
    while at < len(words) and words[at].text.startswith("-"):
        at += 1
    if at >= len(words) or words[at].text != "install":
        return None
    return _options(command, words, at + 1)


def _options(command: Command, words: Sequence[Word], at: int) -> Install:
    found = Install(command, start=words[at].span.start if at < len(words) else command.span.end)
    while at < len(words):
        word = words[at]
        text, _, value = word.text.partition("=")
        if not word.text.startswith("-"):
            found.asked.append(word)
        elif text in _WITH_VALUE or text[:2] in ("-r", "-c", "-e", "-i", "-f"):
            behind = word
            if not value and text in _WITH_VALUE and at + 1 < len(words):
                at += 1
                behind = words[at]
                value = behind.text
            elif not value and text not in _WITH_VALUE:
                text, value = text[:2], word.text[2:]
            span = Span(word.span.start, behind.span.end)
            if text in _INDEX_OPTIONS:
                found.indexes.append((text, span, value))
            elif text in ("-e", "--editable"):
                found.editable.append(behind)
            elif text in ("-r", "--requirement"):
                found.lists.append(behind)
        else:
            found.flags.append(word.text)
        at += 1
    return found


def conda_install(command: Command) -> list[Word] | None:
    """Return the packages of `conda install …` and `conda create …`."""
    words = command.words
    if not _CONDA.fullmatch(words[0].text) or len(words) < 3 or words[1].text not in ("install", "create"):
        return None
    asked: list[Word] = []
    at = 2
    while at < len(words):
        text = words[at].text
        if text in _CONDA_VALUES:
            at += 1
        elif not text.startswith("-"):
            asked.append(words[at])
        at += 1
    return asked


def in_shell(source: Source, asking: Asking, variables: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Yield what is to be said of a shell script, or of what a notebook gives to a shell, with Python's `variables`."""
    assert isinstance(source, Shell)
    yield from in_commands(source, source.commands, asking, variables)


def in_dockerfile(source: Dockerfile, asking: Asking) -> Iterator[Finding]:
    """Yield what is to be said of a Dockerfile."""
    knows_rocm = any(
        each.name == "FROM"
        and any(_ROCM_WORDS.search(word.text) and word.text not in asking.ours for word in each.words)
        for each in source.instructions
    )
    # Perhaps it has a stage for each vendor.
    found = _in_dockerfile(source, asking)
    yield from unless_both(found) if knows_rocm else found


def _in_dockerfile(source: Dockerfile, asking: Asking) -> Iterator[Finding]:
    if any(each.name == "FROM" and b"windows" in source[each.span] for each in source.instructions):
        return
    variables = {name for each in source.instructions if each.name == "FROM" for name in _variables(each)}
    for each in source.instructions:
        if each.name == "FROM":
            named = [word for word in each.words if not word.text.startswith("--")]
            if named:
                yield from image(named[0], named[0].text, named[0].start, asking)
        elif each.name == "COPY" and (copied := _COPIED.search(source[each.span])):
            name = copied[1].decode("utf-8", "replace")
            if for_cuda_image(name):
                start = each.span.start + copied.start(1)
                message = f"{name} is an image for CUDA, and AMD's images have ROCm: copy nothing of it"
                yield Finding(Span(start, start + len(copied[1])), "image", message, (), Certainty.MANUAL)
        elif each.name == "ARG":
            for word in each.words:
                name, _, value = word.text.partition("=")
                if name in variables and value:
                    bare = value.strip("\"'")
                    yield from image(word, bare, word.start + word.text.index(bare), asking)
                yield from indexes(source, [word], asking)
        elif each.name == "ENV":
            yield from _environment(each.words, asking)
            yield from indexes(source, each.words, asking)
    settled = {
        name: value
        for each in source.instructions
        if each.name in ("ARG", "ENV")
        for name, value, _ in settings(each.words)
    }
    yield from in_commands(source, source.commands, asking, settled)


def in_definition(source: Definition, asking: Asking) -> Iterator[Finding]:
    """Yield what is to be said of a definition file of Singularity or Apptainer."""
    images = [word for key, word in source.headers if key == "from"]
    found = _in_definition(source, images, asking)
    both = any(for_rocm(word.text) and word.text not in asking.ours for word in images)
    yield from unless_both(found) if both else found


def _in_definition(source: Definition, images: Sequence[Word], asking: Asking) -> Iterator[Finding]:
    for word in images:
        yield from image(word, word.text, word.start, asking)
    yield from in_commands(source, source.commands, asking)


def _variables(each: Instruction) -> Iterator[str]:
    for word in each.words:
        match = re.fullmatch(r"\$\{?(\w+)\}?", word.text)
        if match:
            yield match[1]


def for_cuda_image(name: str) -> bool:
    """Say whether a container's image is one for CUDA, by its name."""
    return _IMAGE.fullmatch(name) is not None and not for_rocm(name)


def image(word: Word, name: str, start: int, asking: Asking) -> Iterator[Finding]:
    """Yield what becomes of an image that a container starts from, whose `name` begins at `start`."""
    match = _IMAGE.fullmatch(name)
    if match is None or for_rocm(name):
        return
    ours = asking.recipes.image(asking.project.target.rocm)
    # Of what is no text, the name is not as long as what stands there.
    if match["ours"] is None or _OTHER_SYSTEM.search(name) or not word.plain or "\ufffd" in name:
        message = f"{name} is an image for CUDA; start from one for ROCm, for example {ours.name}"
        yield Finding(word.span, "image", message, (), Certainty.MANUAL)
        return
    message = f"{name} is an image for CUDA; {of_image(asking)}"
    edit = Edit(Span(start, start + len(name.encode())), ours.name.encode())
    yield Finding(word.span, "image", message, (edit,), Certainty.REVIEW)


def of_image(asking: Asking) -> str:
    """Say what is assumed of AMD's image that takes the place of one for CUDA."""
    ours = asking.recipes.image(asking.project.target.rocm)
    return (
        f"assumes that {ours.name} contains what is used here (Ubuntu, Python {ours.python} with PyTorch for ROCm and "
        "what builds extensions)"
    )


def _in_image(source: Source, asking: Asking) -> bool:
    """Say whether a file makes an image from one of AMD's, or from one that becomes one."""
    if isinstance(source, Dockerfile):
        words = [word for each in source.instructions if each.name in ("FROM", "ARG") for word in each.words]
    elif isinstance(source, Definition):
        words = [word for key, word in source.headers if key == "from"]
    else:
        return False
    names = [word.text.rpartition("=")[2].strip("\"'") for word in words]
    return any(
        name in asking.ours
        or (
            (match := _IMAGE.fullmatch(name))
            and match["ours"]
            and not for_rocm(name)
            and not _OTHER_SYSTEM.search(name)
        )
        for name in names
    )


def _environment(words: Sequence[Word], asking: Asking) -> Iterator[Finding]:
    """Yield the GPUs that variables have PyTorch build for."""
    for name, _, span in settings(words):
        if name != "TORCH_CUDA_ARCH_LIST":
            continue
        archs = ";".join(asking.project.target.archs)
        message = (
            f"PYTORCH_ROCM_ARCH has the GPUs that the port is for ({archs}): PyTorch builds for those that it names, "
            "and in a build of an image for none without it"
        )
        edit = Edit(span, f'PYTORCH_ROCM_ARCH="{archs}"'.encode())
        yield Finding(span, "archs", message, (edit,), Certainty.SAFE)


def indexes(source: Source, words: Sequence[Word], asking: Asking) -> Iterator[Finding]:
    """Yield the indexes of builds for CUDA that variables give pip and uv."""
    for name, value, span in settings(words):
        if name in ("UV_TORCH_BACKEND", "--torch-backend") and _RELEASE.fullmatch(value.encode()):
            yield from _backend(source, span, asking)
        if not _INDEX_VARIABLE.fullmatch(name):
            continue
        found = [
            (Span(*match.span()), match.group().decode(errors="replace"))
            for match in _URL.finditer(source.text, span.start, span.end)
        ]
        cuda = [(place, url) for place, url in found if says_cuda_index(url) or _UNKNOWN_RELEASE.search(url)]
        ours = [asking.index_for_rocm(url) for _, url in cuda]
        edits = tuple(Edit(place, new.encode()) for (place, _), new in zip(cuda, ours, strict=True) if new)
        if cuda and len(edits) == len(cuda):
            message = f"{name} has builds for CUDA; assumes that the program runs with PyTorch's for ROCm"
            yield Finding(span, "index", message, edits, Certainty.REVIEW)
        elif cuda:
            message = f"{name} has builds for CUDA; PyTorch's for ROCm are at {asking.index.url}"
            yield Finding(span, "index", message, (), Certainty.MANUAL)


def _backend(source: Source, span: Span, asking: Asking) -> Iterator[Finding]:
    """Yield the release of CUDA that uv is to take PyTorch for."""
    match = _RELEASE.search(source.text, span.start, span.end)
    if match is not None:
        release = asking.index.url.rpartition("/")[2]
        message = f"uv takes a build of PyTorch for CUDA; assumes that uv knows {release}, and that its build will do"
        yield Finding(span, "index", message, (Edit(Span(*match.span()), release.encode()),), Certainty.REVIEW)


def in_commands(
    source: Source, commands: Sequence[Command], asking: Asking, variables: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Yield what is to be said of commands that install something."""
    knows_rocm = any(
        _ROCM_WORDS.search(word.text) and word.text not in asking.ours for command in commands for word in command.words
    ) or any(command.asks(_ROCM_WORDS) for command in commands)
    folder = _Folder()
    known: dict[str, str] = dict(variables or {})
    for command in commands:
        folder.follow(command)
        sets = command.words[1:] if command.words[0].text in _DECLARE else command.words
        if sets and "=" in sets[0].text:
            for word in sets:
                name, _, value = word.text.partition("=")
                if name.isidentifier():
                    known[name] = value
                elif name.endswith("+"):
                    known[name[:-1]] = known.get(name[:-1], "") + (" " if word.items else "") + value
        if command.asks(_ROCM_WORDS):
            continue
        behind = command.asks(_CUDA_WORDS)
        if behind and knows_rocm:
            continue
        of_command = list(_of_command(source, command, asking, folder.now))
        for found in of_command or _by_variables(command, known, asking):
            if behind and found.kind == "archs":
                continue
            if behind and found.edits:
                message = f"{found.message}. It is behind a test for CUDA, which comes out otherwise on ROCm"
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            elif found.edits and command.words[0].text in _PROJECTS:
                message = f"{found.message}. {command.words[0].text} takes indexes from a source of the project's"
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            elif found.edits and command.listed:
                message = f"{found.message}. As it stands in a list, change it by hand"
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            elif any(quote in edit.new.decode(errors="replace") for edit in found.edits for quote in command.quotes):
                message = f"{found.message}. As it stands in quotes, change it by hand"
                found = Finding(found.span, found.kind, message, (), Certainty.MANUAL)
            yield found


def _by_variables(command: Command, known: Mapping[str, str], asking: Asking) -> Iterator[Finding]:
    """Yield what a command of pip's installs by variables that the script sets before."""
    install = pip_install(command)
    if install is None:
        return
    for word in install.asked:
        put = _put(word.text, known)
        for text in put.split() if "$" in word.text or put != word.text else ():
            if "://" in text and "@" not in text and says_cuda_index(text):
                message = f"in {word.text}, {text} has builds for CUDA; PyTorch's for ROCm are at {asking.index.url}"
                yield Finding(word.span, "index", message, (), Certainty.MANUAL)
                continue
            verdict = asking.judge(text)
            if verdict is not None:
                message = f"in {word.text}, {verdict.message}; change it where it is set"
                yield Finding(word.span, verdict.kind, message, (), Certainty.MANUAL)
    for _, span, url in install.indexes:
        if (put := _put(url, known)) == url and "$" not in url:
            continue
        if says_cuda_index(put):
            message = f"{_told(put)} has builds for CUDA; PyTorch's for ROCm are at {asking.index.url}: set it to that"
            yield Finding(span, "index", message, (), Certainty.MANUAL)


def _put(text: str, known: Mapping[str, str]) -> str:
    """Return a word with what variables in it stand for, as far as that is known."""
    for _ in range(3):
        text = _VARIABLE.sub(
            lambda m: known.get(f"{{{m['python']}}}" if m["python"] else m["name"] or m["bare"], m[0]).strip("\"'"),
            text,
        )
    return text


def _told(text: str) -> str:
    """Return a text for people, with what is known only when it runs left out."""
    return text.replace(HOLE, "…")


class _Folder:
    """Where a script is, as far as its own `cd` tells: below the folder that it started in, or below an unknown one."""

    def __init__(self) -> None:
        self.now = ""
        self._before: list[str] = []

    def follow(self, command: Command) -> None:
        """Take note of `cd`, `pushd` and `popd`."""
        name, *words = (word.text for word in command.words)
        where = next((word for word in words if not word.startswith("-") or word == "-"), "")
        if name.lstrip("%") in ("cd", "pushd") and where not in ("", "-"):
            self._before.append(self.now)
            # What a variable or the root stands for is not known; builds are looked for by the end of the path.
            known = re.sub(r"^.*\$\{?\w+\}?|^.*[)`]", "", where)
            parts = [] if known != where or known.startswith("/") else self.now.split("/")
            for each in known.split("/"):
                if each == "..":
                    parts = parts[:-1]
                elif each not in ("", "."):
                    parts.append(each)
            self.now = "/".join(part for part in parts if part)
        elif name == "popd" or (name.lstrip("%") == "cd" and where == "-"):
            self.now = self._before.pop() if self._before else ""


def _of_command(source: Source, command: Command, asking: Asking, folder: str = "") -> Iterator[Finding]:
    if command.words[0].text == "export" or all("=" in word.text for word in command.words):
        # On a machine with a GPU, PyTorch builds for that one; a build of an image sees none.
        assigned = [word for word in command.words if "=" in word.text]
        if isinstance(source, (Dockerfile, Definition)):
            yield from _environment(assigned, asking)
        yield from indexes(source, assigned, asking)
        return
    yield from indexes(source, command.assigned, asking)
    install = pip_install(command)
    if install is not None:
        options = [word for word in command.words if word.text.startswith("--torch-backend=")]
        yield from indexes(source, options, asking)
        yield from _of_pip(source, install, asking)
        yield from _isolated(install, asking, folder, in_image=_in_image(source, asking))
        return
    packages = conda_install(command)
    if packages:
        yield from _of_conda(source, command, packages, asking)


def _of_pip(source: Source, install: Install, asking: Asking) -> Iterator[Finding]:
    if any(for_rocm(url) or re.search(r"(?:^|[/_-])cpu(?:$|[/_.-])", url) for _, _, url in install.indexes):
        return
    # PyTorch's page of links has builds for CPUs, too: `torch==1.6.0+cpu` says which one is meant.
    asked = [word.text for word in install.asked if _is_torch(word.text, asking)]
    if any("+cpu" in text for text in asked) and not any("+cu" in text for text in asked):
        return
    judged = [(word, asking.judge(word.text)) for word in install.asked]
    torch = [(word, verdict) for word, verdict in judged if _is_torch(word.text, asking)]
    others = [(word, verdict) for word, verdict in judged if not _is_torch(word.text, asking)]
    cuda = [(option, span, url) for option, span, url in install.indexes if says_cuda_index(url)]
    pinned = [(word, verdict) for word, verdict in torch if verdict is not None]
    if torch and (cuda or pinned):
        foreign = [word for word, verdict in others if verdict is None or verdict.what != "out"]
        if (cuda and foreign) or len(cuda) != len(install.indexes) or not all(w.plain for w, _ in torch):
            message = (
                f"this installs a build of PyTorch for CUDA; install it by a command of its own: pip install "
                f"{' '.join(_bare(word.text) for word, _ in torch)} --index-url {asking.index.url}"
            )
            yield Finding(install.command.span, "torch", message, (), Certainty.MANUAL)
            return
        yield _torch(source, install, torch, cuda, bool(foreign), asking)
        others = [(word, verdict) for word, verdict in others if verdict is not None]
    elif cuda and not torch:
        yield from _from_index(source, install, others, cuda, asking)
        return
    yield from _others(source, install, others, len(torch), asking)


def _is_torch(text: str, asking: Asking) -> bool:
    family = asking.recipes.distribution(_bare(text)) if re.match(r"[A-Za-z]", text) else None
    return family is not None and family.action == "keep"


def _bare(text: str) -> str:
    return re.split(r"[^\w.-]", text)[0]


def _torch(
    source: Source,
    install: Install,
    torch: list[tuple[Word, Verdict | None]],
    cuda: list[tuple[str, Span, str]],
    mixed: bool,
    asking: Asking,
) -> Finding:
    """Port the command that installs PyTorch itself."""
    edits: list[Edit] = []
    for word, verdict in torch:
        if verdict is not None:
            kept = word.text[: verdict.start] + verdict.new + word.text[verdict.end :]
            quote = word.quote or ('"' if re.search(r"[<>\[\]!*;\s]", kept) else "")
            if kept != word.text:
                edits.append(Edit(word.span, (quote + kept + quote).encode()))
    option = f"--index-url {asking.index.url}".encode()
    if cuda:
        edits.append(Edit(cuda[0][1], option))
        edits += [Edit(span, b"") for _, span, _ in cuda[1:]]
        edits += _without_no_index(source, install)
    elif not mixed:
        last = max(word.span.end for word, _ in torch)
        edits.append(Edit(Span(last, last), b" " + option))
    where = (
        "that is installed, or the newest there"
        if not mixed
        else "that is installed; without one, pip brings that for CUDA"
    )
    assumed = f"assumes that the program runs with the PyTorch for ROCm {where}"
    if not mixed and _in_image(source, asking):
        assumed = of_image(asking)
    message = f"this installs a build of PyTorch for CUDA; {assumed}"
    return Finding(install.command.span, "torch", message, tuple(edits), Certainty.REVIEW)


def _from_index(
    source: Source,
    install: Install,
    asked: list[tuple[Word, Verdict | None]],
    cuda: list[tuple[str, Span, str]],
    asking: Asking,
) -> Iterator[Finding]:
    """Say what is to be said of other packages that come from an index of builds for CUDA."""
    known = [(_normal(word.text), asking.recipes.distribution(_bare(word.text))) for word, _ in asked]
    families = list({family.name: family for _, family in known if family is not None}.values())
    if (
        len(asked) == 1
        and families
        and (replaced := _replaced(source, install, asked[0][0], families[0], cuda, asking))
    ):
        yield replaced
        return
    advice = _advice(families, asking, [name for name, _ in known])
    message = (
        f"{cuda[0][2]} has builds for CUDA; {advice or 'build the package from its sources, with --no-build-isolation'}"
    )
    yield Finding(install.command.span, "index", message, (), Certainty.MANUAL)


def _advice(families: Sequence[Family], asking: Asking, asked: Sequence[str]) -> str:
    """Return what installs, on ROCm, what of `asked` is of the families."""
    commands = [
        line
        for family in families
        for line in filled(family, asking.index.url, [family.renamed[name] for name in asked if name in family.renamed])
        if line
    ]
    return "on ROCm: " + "; ".join(commands) if commands else ""


def filled(family: Family, index: str, found: Sequence[str]) -> list[str]:
    """Return the commands of a recipe, with what is known put in."""
    return [line.replace("{index}", index).replace("{found}", " ".join(found)) for line in family.install]


def _with_space(source: Source, span: Span) -> Span:
    """Return a span with the space in front of it."""
    start = span.start
    while source.text[start - 1 : start] in (b" ", b"\t"):
        start -= 1
    return Span(start, span.end)


def _gone(source: Source, command: Command, note: str) -> tuple[Edit, ...]:
    """Return the edits that make a comment of an instruction that only runs `command`; none for another."""
    if isinstance(source, Dockerfile):
        for each in source.instructions:
            if each.commands == (command,) and b"\n" not in source[each.span]:
                return commented(each.span, note)
    return ()


def _replaced(
    source: Source, install: Install, word: Word, family: Family, cuda: Sequence[tuple[str, Span, str]], asking: Asking
) -> Finding | None:
    """Put what a recipe installs in the place of the only package of a command."""
    found = [family.renamed.get(_normal(word.text), "")] if family.renamed else []
    lines = filled(family, asking.index.url, found)
    if family.action != "separate" or len(lines) != 1 or not lines[0].startswith("pip install ") or "" in found:
        return None
    if len(install.asked) != 1 or install.editable or install.lists or len(cuda) != len(install.indexes):
        return None
    new = [part for part in lines[0].removeprefix("pip install ").split(" ") if part not in install.flags]
    edits = [Edit(word.span, " ".join(new).encode())]
    edits += [Edit(_with_space(source, span), b"") for _, span, _ in cuda]
    edits += _without_no_index(source, install)
    variables = "".join(f"{name}={value} " for name, value in family.environment.items() if name.endswith("_ENABLE"))
    set_already = {each.text.partition("=")[0] for each in install.command.assigned}
    if variables and not any(name in set_already for name in family.environment):
        start = install.command.span.start
        edits.append(Edit(Span(start, start), (f"env {variables}" if install.command.wrapped else variables).encode()))
    message = f"{word.text}: {family.why}; assumes that the program runs with what `{lines[0]}` installs"
    return Finding(install.command.span, "separate", message, tuple(edits), Certainty.REVIEW)


def _without_no_index(source: Source, install: Install) -> list[Edit]:
    """Take away what keeps pip from looking anywhere but where links to builds for CUDA were."""
    words = [word for word in install.command.words if word.text == "--no-index"]
    return [Edit(_with_space(source, word.span), b"") for word in words]


def _normal(text: str) -> str:
    return re.sub(r"[-_.]+", "-", _bare(text)).lower()


def _others(
    source: Source, install: Install, asked: list[tuple[Word, Verdict | None]], more: int, asking: Asking
) -> Iterator[Finding]:
    judged = [
        (word, verdict)
        for word, verdict in asked
        if verdict is not None and not (verdict.family and _is_asked_for_rocm(source, install, verdict.family))
    ]
    staying = more + len(install.asked) - more + len(install.editable) + len(install.lists)
    staying -= sum(1 for _, verdict in asked if verdict is not None and verdict.what == "out")
    for word, verdict in judged:
        if verdict.what == "out" and staying:
            edit = Edit(_with_space(source, word.span), b"")
            yield Finding(word.span, verdict.kind, verdict.message, (edit,), verdict.certainty)
        elif verdict.what == "out":
            assert verdict.family is not None
            replaced = _replaced(source, install, word, verdict.family, (), asking)
            if replaced is not None:
                yield replaced
                continue
            gone = _gone(source, install.command, note(verdict)) if verdict.family.action == "remove" else ()
            if gone:
                yield Finding(word.span, verdict.kind, verdict.message, gone, verdict.certainty)
                continue
            advice = _advice([verdict.family], asking, [_normal(word.text)]) or "leave it out"
            yield Finding(
                word.span, verdict.kind, f"{_called(word)}: {verdict.family.why}; {advice}", (), Certainty.MANUAL
            )
        elif verdict.what == "edit" and word.plain:
            kept = word.text[: verdict.start] + verdict.new + word.text[verdict.end :]
            quote = word.quote or ('"' if re.search(r"[<>\[\]!*;\s]", kept) else "")
            edit = Edit(word.span, (quote + kept + quote).encode())
            yield Finding(word.span, verdict.kind, verdict.message, (edit,), verdict.certainty)
        else:
            yield Finding(word.span, verdict.kind, verdict.message, (), Certainty.MANUAL)


def _is_asked_for_rocm(source: Source, install: Install, family: Family) -> bool:
    """Say whether the file sets what makes the family's installation one for ROCm, if not in front of another."""
    others = [
        word.text.partition("=")[0]
        for command in (source.commands if isinstance(source, (Shell, Dockerfile, Definition, Markdown)) else ())
        if command.span != install.command.span
        for word in command.assigned
    ]
    return any(
        name.endswith("_ENABLE") and source.text.count(name.encode()) > others.count(name)
        for name in family.environment
    )


def _called(word: Word) -> str:
    return word.text if len(word.text) < 60 else word.text[:57] + "…"


def _isolated(install: Install, asking: Asking, folder: str, *, in_image: bool) -> Iterator[Finding]:
    """Say where an extension of this repository is built in an environment of pip's own. `folder` is where pip runs."""
    if "--no-build-isolation" in install.flags:
        return
    for word in (*install.asked, *install.editable):
        path = re.sub(r"\[[^\]]*\]$", "", word.text).rstrip("/")
        # A folder, by its beginning or by a slash in it: a bare name is a package's.
        if not re.fullmatch(r"\.\.?(?:/.*)?|[\w.-]+(?:/[\w.-]+)+", path) or not word.plain:
            continue
        parts = [part for part in folder.split("/") if part]
        for part in path.split("/"):
            parts = parts[:-1] if part == ".." else [*parts, *([part] if part != "." else [])]
        # A path that begins in a folder which is not known may have its beginning above the repository.
        paths = ["/".join(parts[i:]) for i in range(len(parts))] or ["."]
        if any(asking.builds_with_torch(each) for each in paths):
            message = (
                f"pip builds {path if parts == [] or path != '.' else '/'.join(parts)} in an environment of its own, "
                "where PyTorch is missing or the build for CUDA; "
            )
            # In an image it is what the image has.
            message += (
                of_image(asking)
                if in_image
                else "assumes that what else it needs to build (setuptools, ninja) is installed"
            )
            edit = Edit(Span(install.start, install.start), b"--no-build-isolation ")
            yield Finding(install.command.span, "isolation", message, (edit,), Certainty.REVIEW)
            return


def _of_conda(source: Source, command: Command, packages: Sequence[Word], asking: Asking) -> Iterator[Finding]:
    named = [re.split(r"[=<>!]", word.text.rpartition("::")[2])[0] for word in packages]
    families = [asking.recipes.conda(name) for name in named]
    if not any(family is not None and family.action in ("keep", "remove", "separate", "manual") for family in families):
        return
    keep = [
        name for name, family in zip(named, families, strict=True) if family is not None and family.action == "keep"
    ]
    remove = [
        name for name, family in zip(named, families, strict=True) if family is not None and family.action == "remove"
    ]
    torch = [{"pytorch": "torch"}.get(name, name) for name in keep if name in ("pytorch", "torchvision", "torchaudio")]
    if torch and len(keep) + len(remove) == len(named) and command.words[1].text == "install" and not _chooses(command):
        new = f"pip install {' '.join(torch)} --index-url {asking.index.url}"
        message = (
            "conda has no build of PyTorch for ROCm, pip has; assumes that the program runs with the PyTorch for ROCm "
            "that is installed, or the newest there"
        )
        yield Finding(command.span, "torch", message, (Edit(command.span, new.encode()),), Certainty.REVIEW)
        return
    if torch:
        advice = f"install it by itself: pip install {' '.join(torch)} --index-url {asking.index.url}"
        yield Finding(command.span, "torch", f"conda has no build of PyTorch for ROCm; {advice}", (), Certainty.MANUAL)
    elif remove:
        what = ", ".join(remove)
        gone = _gone(source, command, "NVIDIA's libraries are for CUDA")
        if gone and len(remove) == len(named):
            message = f"{what}: libraries of NVIDIA's are not needed on ROCm, and nvcc on the path misleads hipcc"
            yield Finding(command.span, "cuda_only", message, gone, Certainty.REVIEW)
            return
        message = (
            f"{what}: NVIDIA's libraries are not needed on ROCm, and nvcc on the path misleads hipcc; leave them out"
        )
        yield Finding(command.span, "cuda_only", message, (), Certainty.MANUAL)
    else:
        family = next(family for family in families if family is not None)
        message = f"{family.name}: {family.why}; {_advice([family], asking, named) or 'leave it out'}"
        yield Finding(command.span, "separate", message, (), Certainty.MANUAL)


def _chooses(command: Command) -> bool:
    """Say whether the command names the environment that it installs into."""
    return any(word.text in ("-n", "--name", "-p", "--prefix") for word in command.words)


def in_markdown(source: Markdown, asking: Asking) -> Iterator[Finding]:
    """Yield what is to be said of commands in a text: each that there is another for, and one finding for the rest."""
    found = _in_markdown(source, asking)
    # It tells users of ROCm what to do, perhaps beside those of CUDA.
    words = (word.text for command in source.commands for word in command.words)
    knows_rocm = for_rocm(" ".join(word for word in words if word not in asking.ours))
    knows_rocm = knows_rocm or _FOR_USERS_OF_ROCM.search(source.text) is not None
    yield from unless_both(found) if knows_rocm else found


def _in_markdown(source: Markdown, asking: Asking) -> Iterator[Finding]:
    left: list[Command] = []
    folder = _Folder()
    for command in source.commands:
        folder.follow(command)
        findings = list(_of_command(source, command, asking, folder.now))
        if any(found.kind in BRINGS and not found.edits for found in findings):
            left.append(command)
            continue
        for found in findings:
            if found.edits:
                message = f"{found.message}; and that the text around it holds for ROCm"
                yield Finding(found.span, found.kind, message, found.edits, Certainty.REVIEW)
    if left:
        lines = list(dict.fromkeys(source.position(command.span.start)[0] for command in left))
        more = f" (also in lines {', '.join(map(str, lines[1:]))})" if len(lines) > 1 else ""
        message = f"commands that install builds for CUDA{more}: say what users of ROCm do; `hipport deps` has commands"
        yield Finding(left[0].span, "told", message, (), Certainty.MANUAL)


#: Findings on a command that brings a build for CUDA.
BRINGS = ("torch", "index", "separate", "cuda_only", "no_rocm", "pin", "own")

# SPDX-License-Identifier: Apache-2.0
"""The packages for CUDA in one install command, and their replacements for ROCm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.syntax.shell import Command, Definition, Dockerfile, Markdown, Shell, Word
from hipport_passes.packages.asking import Asking, note, says_cuda_index
from hipport_passes.packages.image_environment import built_for, indexes, makes_image_for_rocm, of_image
from hipport_passes.packages.install_commands import Install, conda_install, pip_install
from hipport_passes.packages.judge import Verdict
from hipport_passes.packages.lists import commented
from hipport_passes.packages.recipes import Family, for_rocm


def of_one_command(source: Source, command: Command, asking: Asking, folder: str = "") -> Iterator[Finding]:
    if command.words[0].text == "export" or all("=" in word.text for word in command.words):
        # On a machine with a GPU, PyTorch builds for that GPU; while an image is built there is none.
        assigned = [word for word in command.words if "=" in word.text]
        if isinstance(source, (Dockerfile, Definition)):
            yield from built_for(assigned, asking)
        yield from indexes(source, assigned, asking)
        return
    yield from indexes(source, command.assigned, asking)
    install = pip_install(command)
    if install is not None:
        options = [word for word in command.words if word.text.startswith("--torch-backend=")]
        yield from indexes(source, options, asking)
        yield from _of_pip(source, install, asking)
        yield from _isolated(install, asking, folder, in_image=makes_image_for_rocm(source, asking))
        return
    packages = conda_install(command)
    if packages:
        yield from _of_conda(source, command, packages, asking)


def _of_pip(source: Source, install: Install, asking: Asking) -> Iterator[Finding]:
    if any(for_rocm(url) or re.search(r"(?:^|[/_-])cpu(?:$|[/_.-])", url) for _, _, url in install.indexes):
        return
    # PyTorch's page of links has builds for CPUs, too: `torch==1.6.0+cpu` names one.
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
                "this installs a build of PyTorch for CUDA; install PyTorch by a command of its own: pip install "
                f"{' '.join((_bare(word.text) for word, _ in torch))} --index-url {asking.index.url}"
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
        "that is installed, or the newest of that index"
        if not mixed
        else "that is installed; without one, pip installs the build for CUDA"
    )
    assumed = f"assumes that the program runs with the PyTorch for ROCm {where}"
    if not mixed and makes_image_for_rocm(source, asking):
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
    """Yield the findings on other packages that come from an index of builds for CUDA."""
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
    """Return the commands that install the families' packages in `asked` on ROCm."""
    commands = [
        line
        for family in families
        for line in filled(family, asking.index.url, [family.renamed[name] for name in asked if name in family.renamed])
        if line
    ]
    return "on ROCm: " + "; ".join(commands) if commands else ""


def filled(family: Family, index: str, found: Sequence[str]) -> list[str]:
    """Return the commands of a recipe with known values inserted."""
    return [line.replace("{index}", index).replace("{found}", " ".join(found)) for line in family.install]


def _with_space(source: Source, span: Span) -> Span:
    """Return a span with the space in front of it."""
    start = span.start
    while source.text[start - 1 : start] in (b" ", b"\t"):
        start -= 1
    return Span(start, span.end)


def _gone(source: Source, command: Command, note: str) -> tuple[Edit, ...]:
    """Return the edits that comment out an instruction that only runs `command`; none for others."""
    if isinstance(source, Dockerfile):
        for each in source.instructions:
            if each.commands == (command,) and b"\n" not in source[each.span]:
                return commented(each.span, note)
    return ()


def _replaced(
    source: Source, install: Install, word: Word, family: Family, cuda: Sequence[tuple[str, Span, str]], asking: Asking
) -> Finding | None:
    """Replace the only package of a command by the recipe's packages."""
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
    message = f"{word.text}: {family.why}; assumes that the program runs with the result of `{lines[0]}`"
    return Finding(install.command.span, "separate", message, tuple(edits), Certainty.REVIEW)


def _without_no_index(source: Source, install: Install) -> list[Edit]:
    """Remove options that restrict pip to links to builds for CUDA."""
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
    """Return whether the file sets the variables for the family's ROCm build, other than before another command."""
    asked = [name for name in family.environment if name.endswith("_ENABLE") and name.encode() in source.text]
    if not asked:
        return False
    others = [
        word.text.partition("=")[0]
        for command in (source.commands if isinstance(source, (Shell, Dockerfile, Definition, Markdown)) else ())
        if command.assigned and command.span != install.command.span
        for word in command.assigned
    ]
    return any(source.text.count(name.encode()) > others.count(name) for name in asked)


def _called(word: Word) -> str:
    return word.text if len(word.text) < 60 else word.text[:57] + "…"


def _isolated(install: Install, asking: Asking, folder: str, *, in_image: bool) -> Iterator[Finding]:
    """Yield the finding if pip builds an extension of this repository in isolation. `folder`: where pip runs."""
    if "--no-build-isolation" in install.flags:
        return
    for word in (*install.asked, *install.editable):
        path = re.sub(r"\[[^\]]*\]$", "", word.text).rstrip("/")
        # A folder, recognized by its beginning or by a slash in it: a bare name is a package's.
        if not re.fullmatch(r"\.\.?(?:/.*)?|[\w.-]+(?:/[\w.-]+)+", path) or not word.plain:
            continue
        parts = [part for part in folder.split("/") if part]
        for part in path.split("/"):
            parts = parts[:-1] if part == ".." else [*parts, *([part] if part != "." else [])]
        # If the first folder of the path is unknown, it may lie above the repository.
        paths = ["/".join(parts[i:]) for i in range(len(parts))] or ["."]
        if any(asking.builds_with_torch(each) for each in paths):
            message = (
                f"pip builds {path if parts == [] or path != '.' else '/'.join(parts)} in an isolated environment, "
                "where PyTorch is missing or is the build for CUDA; "
            )
            # In an image, only the image's packages are installed.
            message += (
                of_image(asking)
                if in_image
                else "assumes that its other build requirements (setuptools, ninja) are installed"
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
            "conda has no build of PyTorch for ROCm, but pip has; assumes that the program runs with the PyTorch "
            "for ROCm that is installed, or the newest of that index"
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
            message = f"{what}: NVIDIA's libraries are not needed on ROCm, and nvcc on the path misleads hipcc"
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
    """Return whether the command names the environment that it installs into."""
    return any(word.text in ("-n", "--name", "-p", "--prefix") for word in command.words)

# SPDX-License-Identifier: Apache-2.0
"""Base images, and the variables that select the builds for pip and PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport.syntax.shell import Definition, Dockerfile, Word, settings
from hipport_passes.packages.asking import Asking, says_cuda_index
from hipport_passes.packages.recipes import for_rocm

_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
_IMAGE = _WORDS.compile(
    r"(?P<ours>(?:(?&registries)/)?(?&cuda_images)(?::.*)?|(?:(?&docker)/)?(?&torch_images):.*(?&cuda).*"
    r"|(?&registry_of_nvidia)/(?&torch_images_of_nvidia):.*)"
    r"|(?:(?&docker)/)?(?&nvidia)/.*|(?&registry_of_nvidia)/.*|.*(?:(?&cuda)\d|:.*-(?&gpu)\b).*"
)

_OTHER_SYSTEM = _WORDS.compile(r"(?&other_systems)|(?&numbered_systems)\d", re.IGNORECASE)
# Variables in which pip and uv find an index or a page of links (docs.astral.sh/uv, "Environment variables" and "Using
# uv with PyTorch").
_INDEX_VARIABLE = re.compile(one_of(_WORDS["index_variables"]))
_RELEASE = re.compile(rb"\bcu\d{2,3}\b")
_URL = _WORDS.compile(rb"(?&https)://(?:\$\([^)]*\)|[^\s\"'])+")

_UNKNOWN_RELEASE = _WORDS.compile(r"/(?&indexes)/(?:(?&before_release)/)?(?:cu)?\$")


def for_cuda_image(name: str) -> bool:
    """Return whether a container image is for CUDA, judged by its name."""
    return _IMAGE.fullmatch(name) is not None and not for_rocm(name)


def image(word: Word, name: str, start: int, asking: Asking) -> Iterator[Finding]:
    """Yield the finding on a container's base image, whose `name` begins at `start`."""
    match = _IMAGE.fullmatch(name)
    if match is None or for_rocm(name):
        return
    ours = asking.recipes.image(asking.project.target.rocm)
    # In text that is not UTF-8, the name's length differs from its length in the file.
    if match["ours"] is None or _OTHER_SYSTEM.search(name) or not word.plain or "\ufffd" in name:
        message = f"{name} is an image for CUDA; start from an image for ROCm, for example {ours.name}"
        yield Finding(word.span, "image", message, (), Certainty.MANUAL)
        return
    message = f"{name} is an image for CUDA; {of_image(asking)}"
    edit = Edit(Span(start, start + len(name.encode())), ours.name.encode())
    yield Finding(word.span, "image", message, (edit,), Certainty.REVIEW)


def of_image(asking: Asking) -> str:
    """Return the assumption about AMD's image that replaces one for CUDA."""
    ours = asking.recipes.image(asking.project.target.rocm)
    return (
        f"assumes that {ours.name} contains what this image uses (Ubuntu, Python {ours.python} with PyTorch for "
        "ROCm and the tools to build extensions)"
    )


def makes_image_for_rocm(source: Source, asking: Asking) -> bool:
    """Return whether a file builds an image from one of AMD's, or from one that becomes one."""
    return any(
        name in asking.ours
        or (
            (match := _IMAGE.fullmatch(name))
            and match["ours"]
            and not for_rocm(name)
            and not _OTHER_SYSTEM.search(name)
        )
        for name in source.fact(_named_images)
    )


def _named_images(source: Source) -> tuple[str, ...]:
    """Return the images that a file names, and the values of its arguments."""
    words: list[Word] = []
    if isinstance(source, Dockerfile):
        words = [word for each in source.instructions if each.name in ("FROM", "ARG") for word in each.words]
    elif isinstance(source, Definition):
        words = [word for key, word in source.headers if key == "from"]
    return tuple(word.text.rpartition("=")[2].strip("\"'") for word in words)


def built_for(words: Sequence[Word], asking: Asking) -> Iterator[Finding]:
    """Yield the GPUs for which variables make PyTorch build."""
    for name, _, span in settings(words):
        if name != "TORCH_CUDA_ARCH_LIST":
            continue
        archs = ";".join(asking.project.target.archs)
        message = (
            f"PYTORCH_ROCM_ARCH names the GPUs of the port ({archs}): PyTorch builds for these, and without it for "
            "none when an image is built"
        )
        edit = Edit(span, f'PYTORCH_ROCM_ARCH="{archs}"'.encode())
        yield Finding(span, "archs", message, (edit,), Certainty.SAFE)


def indexes(source: Source, words: Sequence[Word], asking: Asking) -> Iterator[Finding]:
    """Yield the indexes of builds for CUDA in variables of pip and uv."""
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
            message = f"{name} has builds for CUDA; assumes that the program runs with PyTorch's builds for ROCm"
            yield Finding(span, "index", message, edits, Certainty.REVIEW)
        elif cuda:
            message = f"{name} has builds for CUDA; PyTorch's for ROCm are at {asking.index.url}"
            yield Finding(span, "index", message, (), Certainty.MANUAL)


def _backend(source: Source, span: Span, asking: Asking) -> Iterator[Finding]:
    """Yield the release of CUDA for which uv installs PyTorch."""
    match = _RELEASE.search(source.text, span.start, span.end)
    if match is not None:
        release = asking.index.url.rpartition("/")[2]
        message = (
            f"uv installs a build of PyTorch for CUDA; assumes that uv knows {release}, and that this release suits"
        )
        yield Finding(span, "index", message, (Edit(Span(*match.span()), release.encode()),), Certainty.REVIEW)

# SPDX-License-Identifier: Apache-2.0
"""The parts that judge the entries of package lists, and their messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.core.source import Source
from hipport.core.tables import Words
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport_passes.packages import recipes as table
from hipport_passes.packages.judge import Verdict, judge
from hipport_passes.packages.recipes import Recipes, for_cuda

_WORDS = Words.read(Path(__file__).with_name("package_words.toml"), general=NAMES)
# A build script that needs PyTorch to run; one that only requires its installation does not.
_BUILDS_WITH_TORCH = _WORDS.compile(rb"^[ \t]*(?:import|from)[ \t]+(?&torch)\b|(?&builds_with_torch)", re.MULTILINE)
_SAYS_ROCM = _WORDS.compile(
    rb"(?&for_amd)|(?<![a-z])(?:(?&hip_alone)|gfx\d\w+)(?![a-z])|(?<![a-z])(?&amd)(?!64|[a-z])", re.IGNORECASE
)
_ASCII = bytes(byte if byte < 0x80 else 0x3F for byte in range(256))
_INDEX = _WORDS.compile(r"(?&https)://[^\s\"'/]+/(?&indexes)/(?:(?&before_release)/)?(cu\d+)(?=[/\s\"']|$)")


class Asking:
    """The context for judging requirements: the recipes, the target's release, and the imports of the program."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.recipes: Recipes = table.of(project)
        self.index = self.recipes.index(project.target.rocm)
        self.imported: Mapping[str, str] = _Imports(project)

    def judge(self, text: str, *, hashed: bool = False) -> Verdict | None:
        """Return the verdict on a requirement."""
        return judge(text, self.recipes, self.imported, hashed=hashed)

    def about(self, found: Finding) -> str:
        """Return the package that a finding is about, judged by its message; empty if it is about none."""
        if "conda has no build of PyTorch" in found.message:
            return "PyTorch of conda's"
        for family in self.recipes.families:
            called, said, _ = found.message.partition(f": {family.why}")
            if said:
                return self.recipes.package((called.split() or [""])[-1], family)
        return ""

    def builds_with_torch(self, folder: str) -> bool:
        """Return whether a folder of the repository, by its name in scripts, builds a PyTorch extension."""
        for source in self.project.sources:
            inside = source.path.parent.as_posix()
            if source.path.name == "setup.py" and (inside == folder or inside.endswith("/" + folder)):
                return _BUILDS_WITH_TORCH.search(source.text) is not None
        return False

    @cached_property
    def ours(self) -> frozenset[str]:
        """Return the words that hipport writes for ROCm, which a ported file contains."""
        installs = [word for family in self.recipes.families for each in family.install for word in each.split()]
        named = [name for family in self.recipes.families for name in family.renamed.values()]
        images = (each.name for each in self.recipes.images)
        return frozenset((self.index.url, *installs, *named, *images))

    def index_for_rocm(self, url: str) -> str | None:
        """Return PyTorch's index of wheels for ROCm in place of one of wheels for CUDA."""
        match = _INDEX.match(url)
        return url[: match.start(1)] + self.index.url.rpartition("/")[2] + url[match.end(1) :] if match else None


class _Imports(Mapping[str, str]):
    """The places that import a module; searched only on demand."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def __getitem__(self, module: str) -> str:
        for path in table.importing(self.project, module):
            return path
        raise KeyError(module)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def knows_rocm(source: Source, own: re.Pattern[bytes], asking: Asking) -> bool:
    """Return whether a file mentions ROCm in words that hipport does not write; `own` are those that it writes there.

    Text that a merge brings into a ported file must be ported like the rest.
    """
    ours = rb"|".join(re.escape(each.encode()) for each in sorted(asking.ours, key=len, reverse=True))
    return _SAYS_ROCM.search(re.sub(ours, b"", own.sub(b"", source.text))) is not None


def unless_both(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings for a person in a file that knows ROCm; nothing if it intentionally has both ways.

    hipport leaves nothing for CUDA that it could change: such a part was left on purpose.
    """
    findings = list(found)
    if not any(each.edits for each in findings):
        yield from findings


def part(verdict: Verdict, text: str, start: int) -> Edit:
    """Return the edit of a verdict, for a requirement that starts at `start` in its file."""
    before, inside = text[: verdict.start], text[verdict.start : verdict.end]
    at = start + len(before.encode())
    return Edit(Span(at, at + len(inside.encode())), verdict.new.encode())


def finding(span: Span, verdict: Verdict, edits: tuple[Edit, ...], where: str = "") -> Finding:
    """Return the finding of a verdict."""
    return Finding(span, verdict.kind, verdict.message + where, edits, verdict.certainty)


def note(verdict: Verdict) -> str:
    """Return the note that a list keeps about a removed entry."""
    assert verdict.family is not None
    return verdict.family.note or verdict.family.why


def decoded(source: Source, span: Span) -> str:
    """Return the text of a span with the same length in UTF-8: `?` for each byte if it is not valid UTF-8."""
    try:
        return source[span].decode()
    except UnicodeDecodeError:
        return source[span].translate(_ASCII).decode()


def says_cuda_index(url: str) -> bool:
    """Return whether an index or a page of links has builds for CUDA."""
    return (
        for_cuda(url)
        or url.rstrip("/").endswith("/whl/torch_stable.html")
        or "developer.download.nvidia" in url
        or ("pypi.nvidia.com" in url or "pypi.ngc.nvidia.com" in url)
    )

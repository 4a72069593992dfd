# SPDX-License-Identifier: Apache-2.0
"""The steps of a port that run code: compiling what was written, and running originals beside their ports.

If a step is not possible, its reason is reported; the port is written all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from hipport.core import reading
from hipport.engine.outcomes import Ported, Scanned
from hipport.verifying.execution import Execution, Matrix
from hipport.verifying.restored import copied
from hipport.workspace import writing

if TYPE_CHECKING:
    from hipport.building.builder import Built
    from hipport.reporting.evidence import Verification


@dataclass(frozen=True)
class Porting:
    """Options of porting, compiling and running a tree.

    `options` are the arguments of `scan` and `rewrite`: the target, excluded paths and so on.
    """

    how: Execution
    options: Mapping[str, Any]
    scan: Callable[..., Scanned]
    rewrite: Callable[..., Ported]

    def originals(self, root: Path, paths: Sequence[Path]) -> tuple[Scanned | None, str]:
        """Restore a tree that hipport rewrote in place, in a copy, or say why not.

        The port is the same if porting the copy gives the present tree.
        """
        base: Path | None = self.options["exclude_base"]
        outside = self.options["exclude"] and base is not None and not base.resolve().is_relative_to(root)
        # A file's includes may lie around it, in folders of other owners, and are not copied.
        if outside or not all(path.is_dir() for path in paths):
            return None, writing.undo_first(writing.find_root(root) or root)
        back = []
        for journal in {each for path in paths for each in writing.find_roots(path.resolve())}:
            for name, text in writing.originals(journal).items():
                place = journal / name
                if place.is_relative_to(root):
                    now = _bytes(place)
                    back.append(writing.Change(PurePath(place.relative_to(root)), now, text))
        inside = [PurePath(path.resolve().relative_to(root)) for path in paths]
        here = [each for each in back if any(each.path.is_relative_to(path) for path in inside)]
        copy = copied(root, inside, [change for change in here if change.before is not None], self.how.env)
        moved = {**self.options, "exclude_base": copy / base.resolve().relative_to(root) if base is not None else None}
        scanned = self.scan([copy / path for path in inside], **moved)
        made = {source.path: source.text for source in scanned.ported.project.sources}
        made |= {file.path: file.text for file in scanned.ported.created}
        other = sorted(path.as_posix() for path, text in made.items() if _bytes(root / path) != text)
        if other:
            return None, f"changed since hipport rewrote it: {', '.join(other)}; undo that first: hipport undo"
        return scanned, ""

    def built(
        self, paths: Sequence[Path], root: Path, ported: Ported, archs: Sequence[str], *, prove: bool
    ) -> tuple[Built | None, str]:
        """Compile the written port for `archs`, or say why that is impossible; with `prove`, also ask LLVM about it."""
        from hipport.building import builder
        from hipport.building.oracle import Oracle, compared
        from hipport.building.proving import UnitProof
        from hipport.building.recorder import NoPyTorch
        from hipport.toolchain.toolchains import NoToolchain

        def judge(proofs: Sequence[UnitProof], built_at: Path) -> Oracle:
            return compared(proofs, built_at, root, ported)

        options = builder.BuildOptions(
            self.how.env,
            self.how.knowledge,
            python=self.how.python,
            sources={root / source.path: source for source in ported.changed},
            exclude=self.options["exclude"],
            exclude_base=root,
            jobs=self.how.jobs,
            on_progress=self.how.on_progress,
            judge=judge if prove else None,
        )
        try:
            built = builder.build(paths, archs, options)
        except (NoToolchain, NoPyTorch, writing.Refused) as problem:
            return None, str(problem)
        except OSError as problem:
            return None, f"{problem.filename or root}: {problem.strerror or problem}"
        except KeyboardInterrupt:
            return None, "interrupted"
        return built, ""

    def verifications(
        self,
        scanned: Scanned,
        paths: Sequence[Path],
        arguments: Sequence[str],
        *,
        why_not: str = "",
        cases: Path | None = None,
        recording: Path | None = None,
    ) -> Iterator[Verification]:
        """Run each extension and program beside its port, or say why not, with the reason `why_not` if given.

        Raises extension_verifier.BadCases if `cases` or a `recording` are given and there is not exactly one extension.
        """
        from hipport.building.recorder import setup_script
        from hipport.reporting.evidence import Verification
        from hipport.verifying import extension_verifier
        from hipport.verifying.amd_gpus import hardware

        ported, root = scanned.ported, scanned.ported.before.root
        assert root is not None
        matrix = Matrix(gpu=hardware(self.how.env))
        built = [e.path for e in scanned.extensions if e.path is not None]
        scripts = dict.fromkeys(path for path in built if setup_script(root / path.parent) == root / path)
        if (cases or recording) and len(scripts) != 1:
            raise extension_verifier.BadCases(f"cases and recordings are for one extension; here are {len(scripts)}")
        for script in scripts:
            yield from self._of_extension(ported, script, matrix, why_not, cases, recording)
        programs = [extension for extension in scanned.extensions if extension.kind == "program"]
        asked = bool(arguments) or all(path.is_file() for path in paths)
        if programs and asked:
            names = ", ".join(dict.fromkeys(program.sources[0].as_posix() for program in programs))
            about = Verification(f"the program {names}", programs[0].sources[0], " ".join(arguments) or "no arguments")
            yield (
                replace(about, why_not=why_not)
                if why_not
                else self._of_program(about, ported, paths, arguments, matrix)
            )
        for extension in scanned.extensions:
            what = str(extension).partition(":")[0]
            if extension.kind == "program" and not asked:
                why = "no arguments to run it with were given: hipport port … -- ARGUMENTS"
                yield Verification(f"the {what} {extension.sources[0].as_posix()}", extension.sources[0], why_not=why)
            elif extension.kind != "program" and extension.path not in scripts:
                why = "hipport runs only programs, and extensions that have a setup.py"
                yield Verification(what, extension.path or extension.sources[0], why_not=why)

    def _of_extension(
        self,
        ported: Ported,
        script: PurePath,
        matrix: Matrix,
        why_not: str,
        cases: Path | None,
        recording: Path | None,
    ) -> Iterator[Verification]:
        from hipport.reporting.evidence import Verification
        from hipport.verifying import extension_verifier

        assert ported.before.root is not None
        folder = ported.before.root / script.parent
        name = f"the extension in {script.parent.as_posix()}" if script.parent.parts else "the extension"
        inputs = recording or cases or folder / "cases.py"
        about = Verification(name, script.parent, inputs.name, reading.digest(inputs) if inputs.is_file() else "")
        if not inputs.is_file():
            why = "there are no cases (cases.py beside setup.py), and no recording (hipport record)"
            yield Verification(name, script.parent, why_not=why)
            return
        part = why_not or self._part(ported, folder)
        try:
            if isinstance(part, str):
                yield replace(about, why_not=part)
            elif recording is not None:
                for verified in extension_verifier.replay(folder, recording, self.how, port=part, matrix=matrix):
                    yield replace(about, what=f"{name}, {verified.package}", verified=verified)
            else:
                verified = extension_verifier.extension(folder, self.how, port=part, cases=cases, matrix=matrix)
                yield replace(about, verified=verified)
        except Exception as problem:
            yield replace(about, why_not=_not_run(problem))

    def _of_program(
        self,
        about: Verification,
        ported: Ported,
        paths: Sequence[Path],
        arguments: Sequence[str],
        matrix: Matrix,
    ) -> Verification:
        from hipport.verifying import program_verifier

        what = program_verifier.ProgramToRun(paths, arguments, exclude=self.options["exclude"])
        try:
            verified = program_verifier.program(what, self.how, port=lambda _: ported, matrix=matrix)
            return replace(about, verified=verified)
        except Exception as problem:
            return replace(about, why_not=_not_run(problem))

    def _part(self, ported: Ported, folder: Path) -> Ported | str:
        """The port of one folder; a text if it differs from its part in the port of the whole tree."""
        assert ported.before.root is not None
        root = ported.before.root
        if folder == root:
            return ported
        part = self.rewrite([folder], **self.options)
        assert part.before.root is not None
        whole = {root / source.path: source.text for source in ported.project.sources}
        whole |= {root / file.path: file.text for file in ported.created}
        own = {part.before.root / source.path: source.text for source in part.project.sources}
        other = sorted(path.relative_to(root).as_posix() for path, text in own.items() if whole.get(path) != text)
        return (
            (
                "with this extension or program alone it comes out differently than with the whole tree: "
                f"{', '.join(other)}"
            )
            if other
            else part
        )


def _bytes(path: Path) -> bytes | None:
    try:
        return reading.read(path)
    except OSError:
        return None


def _not_run(problem: Exception) -> str:
    """Return why an executor gave up. An unexpected exception is a defect, and is raised again."""
    if type(problem).__name__ not in ("BadCases", "NotBuildable", "NotCompiled", "NoCompiler"):
        raise problem
    return str(problem).strip().splitlines()[0]

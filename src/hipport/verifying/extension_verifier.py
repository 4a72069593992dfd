# SPDX-License-Identifier: Apache-2.0
"""Run an extension and its port on the CPU, in every configuration, and report where their outputs differ.

A case is a few lines of Python in `cases.py` (see ext_examples/README.md): inputs from a seed, a call, a tolerance, and
perhaps a reference. The matrix is the original with CUDA's 32 lanes, and the port with wavefronts of 32 and of 64
lanes, each with threads and blocks in several orders. Outputs are compared with those of the original, with the cases'
`reference`, and with those recorded on a GPU (`recorded.npz`). The result includes what was not checked.

Runs code of the tree, in child processes with limits. Neither PyTorch nor NumPy is loaded here.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from hipport.building.recorder import setup_scripts
from hipport.core import reading
from hipport.engine.outcomes import Ported
from hipport.executor import torch_extension as building
from hipport.executor import torch_installed, torch_units
from hipport.syntax.cpp import UNITS
from hipport.syntax.python_script import syntax_tree
from hipport.toolchain.machine import torch_of
from hipport.toolchain.processes import Box, run_script
from hipport.toolchain.toolchains import cache
from hipport.verifying import amd_gpus, recordings
from hipport.verifying.amd_gpus import Hardware
from hipport.verifying.execution import Execution, Matrix
from hipport.verifying.mutants import mutations
from hipport.verifying.results import (
    CaseOutcome,
    Configuration,
    Difference,
    Fault,
    FirstDifference,
    Mutant,
    MutationScore,
    Output,
    Ran,
    Verified,
    edited_original,
    for_a_person,
    not_on_gpu,
    sides_of_host,
)
from hipport.verifying.traces import first_changed, outputs_changed

_SCRIPTS = Path(__file__).parents[1] / "executor"
_RUN_CASES, _REPLAY_CASES = (_SCRIPTS / f"{name}.py" for name in ("run_cases", "replay_cases"))


#: How to write cases for an extension.
HOW = (
    "Cases say what to run of an extension. Write them, in cases.py beside its setup.py: PACKAGE is the name of "
    "its module, CASES a dict of keyword arguments by name; inputs(rng, **arguments) returns a dict of NumPy "
    "arrays and numbers, call(module, **inputs), which gets tensors for arrays, returns a dict of results. Or "
    "record them where the extension runs, and replay them: hipport record calls.json -- python train.py; hipport "
    "verify EXTENSION --replay calls.json"
)


class BadCases(Exception):
    """The cases cannot be used; the message says why."""


@dataclass(frozen=True)
class Driver:
    """Builds and runs both sides of one extension.

    `path` is the folder with its setup.py. `cases` is a file like cases.py, by default the one there. `port` is a port,
    or a function that ports a folder and files that it includes from elsewhere. `names` are the cases to run (by
    default all). `only` selects extensions of the setup.py by name.
    """

    path: Path
    how: Execution
    port: Callable[[Sequence[Path]], Ported] | Ported | None = None
    cases: Path | None = None
    names: Sequence[str] = ()
    only: Callable[[str], bool] | None = None

    @property
    def root(self) -> Path:
        """The folder, with links resolved."""
        return self.path.resolve()

    @property
    def file(self) -> Path:
        """The file with the cases. Raises BadCases if there is none."""
        file = (self.cases or self.root / "cases.py").resolve()
        if not file.is_file():
            raise BadCases(f"{file} is {'not a regular file' if os.path.lexists(file) else 'not there'}. {HOW}")
        return file

    @property
    def kept(self) -> Path:
        """The folder for results that are kept between runs."""
        return cache(self.how.env).resolve() / "simt"

    def ported(self, around: Sequence[Path] = ()) -> Ported | None:
        """Return the port of the tree, and of files around it, if it is to be verified."""
        return self.port([self.root, *around]) if callable(self.port) else self.port

    def build(self, side: str, ported: Ported | None = None, wave: int | None = None) -> building.BuiltExtension:
        """Build one side, perhaps only for wavefronts of `wave` lanes. Raises torch_installed.NotBuildable."""
        self.how.tell(f"building {side}", 0, 1)
        hip = side == "ported"
        passes = () if hip else self.how.knowledge.before_executor
        options = torch_units.ExtensionOptions(
            self.how.env, self.kept, self.how.python, passes, self.only, wave, self.how.jobs
        )
        return building.build(self.root, "hip" if hip else "cuda", options, ported if hip else None)

    def run(
        self,
        configurations: Sequence[Configuration],
        built: Mapping[str, building.BuiltExtension],
        *,
        recorded: Path | None = None,
        gradients: bool = False,
        names: Sequence[str] = (),
        folder: Path | None = None,
        trace: bool = False,
    ) -> tuple[tuple[Ran, ...], tuple[str, ...]]:
        """Run cases in `configurations`, and compare each with references; return also what was not checked.

        Outputs are left in `folder`, in a folder for each configuration; with `trace`, also the contents of memory
        after each launch.
        """
        sides = {side: _side(each) for side, each in built.items()}
        # Gradients are checked by finite differences in one order of threads; in other orders they are compared with
        # that one.
        first: dict[tuple[str, int], str] = {}
        runs = [
            {
                "name": str(c),
                "side": c.side,
                "env": _environment(c, built[c.side]),
                "is_reference": not number,
                "gradients": gradients and first.setdefault((c.side, c.lanes), c.order) == c.order,
            }
            for number, c in enumerate(configurations)
        ]
        with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
            answered = self._ask(
                self.how.python,
                folder or Path(scratch),
                {"sides": sides, "runs": runs, "trace": trace, "memory": self.how.limits.memory},
                recorded,
                names,
            )
        ran = tuple(
            Ran(configuration, tuple(self._outcome(case, result, built) for case, result in each["cases"].items()))
            for configuration, each in zip(configurations, answered["runs"], strict=True)
        )
        return _with_trust(ran), tuple(answered["not_checked"])

    def run_on_gpu(
        self, ported: Ported, gpu: Hardware, python: Path, originals: Path, recorded: Path | None = None
    ) -> Ran | str:
        """Run the cases on this machine's GPUs, against the outputs in the folder `originals`; or say why not.

        `python` is the interpreter with a PyTorch for ROCm.
        """
        there = Configuration("gpu", gpu.lanes, ",".join(gpu.archs))
        torch = torch_of(python, gpu.toolchain.environment(self.how.env))
        if not torch.hip or torch.failed or not torch.ran:
            why = torch.problem or torch.failed or ("it sees no GPU" if torch.hip else "it is not for ROCm")
            return f"PyTorch of {python}: {why}"
        self.how.tell("building the port for the GPU", 0, 1)
        try:
            built = amd_gpus.extension(self.root, ported, gpu, env=self.how.env, python=python)
        except amd_gpus.NotBuiltForGpu as problem:
            return f"setup.py of the port does not build it here: {problem}"
        side: dict[str, Any] = {
            "paths": [str(built)], "libraries": [], "allocator": None, "modules": {}, "dialect": "gpu", "device": "cuda"
        }  # fmt: skip
        run = {"name": str(there), "side": "gpu", "env": {}, "is_reference": False}
        asked = {"sides": {"gpu": side}, "runs": [run], "memory": 0, "originals": str(originals)}
        with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
            answered = self._ask(python, Path(scratch), asked, recorded, ())
        cases = answered["runs"][0]["cases"]
        return Ran(there, tuple(self._outcome(case, result, {}) for case, result in cases.items()))

    def _ask(
        self, python: Path, folder: Path, asked: Mapping[str, Any], recorded: Path | None, names: Sequence[str]
    ) -> dict[str, Any]:
        """Let run_cases.py do what `asked` requests, and return its answer. Raises BadCases if there is none."""
        self.how.tell("running", 0, 1)
        answer, request = folder / "answer.json", folder / "request.json"
        own = {
            "cases": str(self.file),
            "names": list(names or self.names),
            "folder": str(folder),
            "seconds": self.how.limits.seconds,
            "recorded": str(recorded) if recorded else None,
            "output": str(answer),
        }
        request.write_text(json.dumps({**own, **asked}), encoding="utf-8")
        count = len(names or self.names) or 50
        patience = 120 + self.how.limits.seconds * count * max(1, len(asked["runs"]))
        status, said = run_script(
            python,
            _RUN_CASES,
            [str(request)],
            self.root,
            _clean(self.how.env),
            patience,
            Box((folder,), asked["memory"]),
        )
        try:
            answered: dict[str, Any] = json.loads(reading.read(answer))
        except (OSError, ValueError):
            last = "\n".join(said.strip().splitlines()[-4:]) or f"the process ended with status {status}"
            raise BadCases(f"{self.file.name}: {last}") from None
        return answered

    def first_difference(
        self, case: str, one: Configuration, other: Configuration, built: Mapping[str, building.BuiltExtension]
    ) -> FirstDifference | None:
        """Return the first launch after which two configurations differ, or None if none does."""
        with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
            self.run((one, other), built, names=(case,), folder=Path(scratch), trace=True)
            found = first_changed(*(Path(scratch, str(number), "trace") for number in range(2)))
        if found is None:
            return None
        number, launch, what = found
        path, line = self._place(launch, built)
        return FirstDifference(case, other, number, launch["kernel"], path, line, what)

    def _outcome(
        self, case: str, result: Mapping[str, Any], built: Mapping[str, building.BuiltExtension]
    ) -> CaseOutcome:
        faults = []
        for each in result.get("faults", ()):
            path, line = self._place(each, built)
            faults.append(Fault.read(each, path, line))
        outputs = []
        for name, differences in result.get("outputs", {}).items():
            dtype, shape = result.get("shapes", {}).get(name, ("", []))
            found = tuple(Difference.read(against, values) for against, values in differences.items())
            outputs.append(Output(name, dtype, tuple(shape), found))
        return CaseOutcome(
            case,
            result["status"],
            result.get("message", ""),
            result.get("seconds", 0.0),
            tuple(dict.fromkeys(faults)),
            tuple(outputs),
            result.get("launches"),
        )

    def _place(self, each: Mapping[str, Any], built: Mapping[str, building.BuiltExtension]) -> tuple[PurePath, int]:
        file, line = each.get("file", ""), int(each.get("line", 0))
        if not file:
            return PurePath(), 0
        path = Path(os.path.normpath(file))
        for one in built.values():
            for folder in (one.tree, one.tree.parent / "made"):
                if path.is_relative_to(folder):
                    path = self.root / path.relative_to(folder)
        return (path.relative_to(self.root) if path.is_relative_to(self.root) else path), line


def extension(
    path: Path,
    how: Execution,
    *,
    port: Callable[[Sequence[Path]], Ported] | Ported | None = None,
    cases: Path | None = None,
    names: Sequence[str] = (),
    matrix: Matrix | None = None,
    only: Callable[[str], bool] | None = None,
) -> Verified:
    """Verify the extension in the folder `path`: the original with 32 lanes, its port as `matrix` says.

    See Driver for the other parameters. Raises torch_installed.NotBuildable for a side that does not
    compile, and BadCases.
    """
    driver, matrix = Driver(path, how, port, cases, names, only), matrix or Matrix()
    file = driver.file
    package, has = _declared(file, names)
    sides = {"original": driver.build("original")}
    ported = driver.ported(sides["original"].around)
    if ported is not None:
        sides["ported"] = driver.build("ported", ported, matrix.waves[0] if len(matrix.waves) == 1 else None)
    configurations = list(matrix.configurations(ported=ported is not None))
    recorded = file.with_name("recorded.npz")
    gradients = "GRADIENTS" in has
    kept = recorded if recorded.is_file() else None
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        folder = Path(scratch)
        ran, unchecked = driver.run(configurations, sides, recorded=kept, gradients=gradients, folder=folder)
        there: Ran | str = matrix.gpu if isinstance(matrix.gpu, str) else "there is no port"
        if ported is not None and isinstance(matrix.gpu, Hardware):
            there = driver.run_on_gpu(ported, matrix.gpu, matrix.gpu_python or how.python, folder / "0", kept)
    left = _left_out(has, kept, ported, driver, there if isinstance(there, str) else matrix.gpu)
    original = sides["original"]
    not_checked = [*left, *unchecked, *_without_kernels(ran)]
    not_checked += [*edited_original(original.edited), *sides_of_host(original.reported)]
    if isinstance(there, Ran):
        ran = _with_trust((*ran, there))
    first = tuple(_first_differences(driver, ran, sides))
    compiled = {f"{side}: {path}": s for side, each in sides.items() for path, s in each.seconds.items()}
    return Verified(driver.root, package, ran, tuple(not_checked), first, compiled, for_a_person(ported))


def _first_differences(
    driver: Driver, ran: Sequence[Ran], sides: Mapping[str, building.BuiltExtension]
) -> Iterator[FirstDifference]:
    """Yield, for each case in which a port differs from the original, the first launch after which it does."""
    found: set[str] = set()
    for each in ran:
        for outcome in each.outcomes if each.configuration.side == "ported" else ():
            wrong = any(d.against == "original" and not d.ok for o in outcome.outputs for d in o.differences)
            if wrong and outcome.case not in found:
                first = driver.first_difference(outcome.case, ran[0].configuration, each.configuration, sides)
                if first is not None:
                    found.add(outcome.case)
                    yield first


def mutation_score(
    path: Path,
    how: Execution,
    *,
    port: Callable[[Sequence[Path]], Ported] | Ported,
    cases: Path | None = None,
    names: Sequence[str] = (),
    most: int = 8,
    only: Callable[[str], bool] | None = None,
) -> MutationScore:
    """Run deliberate errors and say which cases notice them: the original with 64 lanes, and up to `most` mutants.

    Parameters and exceptions are those of `extension`.
    """
    driver = Driver(path, how, port, cases, names, only)
    recorded = driver.file.with_name("recorded.npz")
    kept = recorded if recorded.is_file() else None
    sides = {"original": driver.build("original")}
    ported = driver.ported(sides["original"].around)
    assert ported is not None
    first = Configuration("original", 32)
    ran, _ = driver.run((first, Configuration("original", 64)), sides, recorded=kept)
    mutants = [_judged("the original, with 64 lanes", PurePath(), 0, ran[1:])]
    places = tuple(Matrix().configurations(ported=True))
    own = sum(each.side == "original" for each in places)
    with tempfile.TemporaryDirectory(prefix="hipport-") as scratch:
        right, wrong = Path(scratch, "right"), Path(scratch, "wrong")
        for what, mutant, where, line in mutations(ported, driver.root, most):
            try:
                sides["ported"] = driver.build("ported", mutant)
            except torch_installed.NotBuildable as problem:
                mutants.append(Mutant(what, where, line, why_not=str(problem).splitlines()[0]))
                continue
            wrong.mkdir()
            ran, _ = driver.run(places, sides, recorded=kept, folder=wrong)
            judged = _judged(what, where, line, ran[own:])
            if not judged.noticed:
                if not right.is_dir():
                    right.mkdir()
                    driver.run(places, {**sides, "ported": driver.build("ported", ported)}, folder=right)
                judged = replace(judged, changes=outputs_changed(right, wrong, tuple(map(str, places))))
            mutants.append(judged)
            shutil.rmtree(wrong)
    return MutationScore(tuple(mutants))


_TORCH = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10)/", re.MULTILINE)
_MAIN = re.compile(rb"\bmain\s*\(")


def refuse_extension(paths: Sequence[Path]) -> None:
    """Raise BadCases if `paths`, which are to be run as a program, are an extension of PyTorch."""
    for path in paths:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        texts = [reading.read_or_nothing(each) for each in files if each.suffix in UNITS and each.is_file()]
        builds = path.is_dir() and any(b"torch" in reading.read_or_nothing(each) for each in setup_scripts(files))
        if (builds or any(map(_TORCH.search, texts))) and not any(map(_MAIN.search, texts)):
            raise BadCases(f"{path} is a PyTorch extension, not a program, and has no cases. {HOW}")


def replay(
    path: Path,
    recording: Path,
    how: Execution,
    *,
    port: Callable[[Sequence[Path]], Ported] | Ported | None = None,
    matrix: Matrix | None = None,
    only: Callable[[str], bool] | None = None,
) -> tuple[Verified, ...]:
    """Verify the extension in the folder `path` by the calls in `recording`: one result for each of its modules.

    The recorded results are the reference; tolerances follow from types and sizes. Calls of other extensions are
    skipped. The other parameters, and the exceptions, are as for `extension`.
    """
    recorded = recordings.read(recording)
    modules = dict.fromkeys(each["module"] for each in recorded["calls"])
    driver = Driver(path, how, only=only)
    built = {module.name for module in driver.build("original").modules}
    own = [module for module in modules if module in built]
    if not own:
        raise BadCases(f"{recording} has calls of {', '.join(modules)}; {path} builds {', '.join(sorted(built))}")
    others = tuple(f"calls of {module}: they belong to another extension" for module in modules if module not in built)
    results = []
    for module in own:
        whole = {**how.env, "HIPPORT_REPLAY": str(recording.resolve()), "HIPPORT_REPLAY_MODULE": module}
        told = replace(how, env=whole)
        verified = extension(path, told, port=port, cases=_REPLAY_CASES, matrix=matrix, only=only)
        kept = [each for each in verified.not_checked if "recorded.npz" not in each]
        kept += (
            f"{call} was not recorded: {why}"
            for call, why in recorded["left_out"].items()
            if call.startswith(f"{module}.")
        )
        kept += (
            f"{', '.join(outputs)} of {call}: bytes for another function, to which they are passed on"
            for call, outputs in recorded.get("scratch", {}).items()
            if call.startswith(f"{module}.")
        )
        results.append(replace(verified, package=module, not_checked=(*kept, *others)))
    return tuple(results)


def _judged(what: str, path: PurePath, line: int, ran: Sequence[Ran]) -> Mutant:
    outcomes = [outcome for each in ran for outcome in each.outcomes]
    noticed = dict.fromkeys(outcome.case for outcome in outcomes if not outcome.ok)
    passed = dict.fromkeys(outcome.case for outcome in outcomes if outcome.case not in noticed)
    return Mutant(what, path, line, tuple(noticed), tuple(passed))


# --- Parts ------------------------------------------------------------------------------------------------------------


def _side(built: building.BuiltExtension) -> dict[str, Any]:
    return {
        "paths": [str(path) for path in built.paths],
        "libraries": [str(path) for path in built.libraries],
        "allocator": str(built.allocator) if built.allocator else None,
        "modules": {module.name: str(module.path) for module in built.modules},
        "dialect": built.dialect,
    }


def _environment(configuration: Configuration, built: building.BuiltExtension) -> dict[str, str]:
    lanes = str(configuration.lanes)
    env = {"SIMT_ORDER": configuration.order, "SIMT_WAVE": lanes}
    if built.dialect == "cuda" and configuration.lanes != 32:
        # CUDA has no such warps: this shows what an unported source would do.
        env["SIMT_FORCE_WAVE"] = lanes
    return env


def _clean(env: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in env.items() if not name.startswith("SIMT_")}
    # PyTorch, which is loaded first, uses up the static TLS space that the executor's thread variables, and those of
    # libstdc++, need.
    preload = " ".join(each for each in (env.get("LD_PRELOAD"), "libstdc++.so.6") if each)
    tunables = [each for each in (env.get("GLIBC_TUNABLES"), "glibc.rtld.optional_static_tls=16384") if each]
    # Sums in PyTorch itself must be the same in each run.
    own = {
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GLIBC_TUNABLES": ":".join(tunables),
        "LD_PRELOAD": preload,
    }
    return {**kept, **own}


def _with_trust(ran: Sequence[Ran]) -> tuple[Ran, ...]:
    """Mark differences from an original that itself differs from a known result."""
    first = {outcome.case: outcome for outcome in ran[0].outcomes} if ran else {}
    wrong = {case for case, outcome in first.items() if any(d.why for o in outcome.outputs for d in o.differences)}

    def judged(outcome: CaseOutcome) -> CaseOutcome:
        if outcome.case not in wrong:
            return outcome
        outputs = tuple(
            replace(o, differences=tuple(replace(d, trusted=d.against != "original") for d in o.differences))
            for o in outcome.outputs
        )
        return replace(outcome, outputs=outputs)

    return tuple(replace(each, outcomes=tuple(map(judged, each.outcomes))) for each in ran)


def _declared(file: Path, asked: Sequence[str] = ()) -> tuple[str, frozenset[str]]:
    """Return the package that cases belong to, and the names that their file defines, without running it.

    Raises BadCases if a required name is missing, or if a case that was `asked` for clearly does not exist.
    """
    try:
        tree = syntax_tree(reading.read(file))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise BadCases(f"{file}: {error}") from None
    package, names = "", set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    names.add(target.id)
                    if target.id == "PACKAGE" and isinstance(node.value, ast.Constant):
                        package = str(node.value.value)
                    if target.id == "CASES" and isinstance(node.value, ast.Dict):
                        cases = {each.value if isinstance(each, ast.Constant) else None for each in node.value.keys}
                        unknown = [name for name in asked if name not in cases]
                        if unknown and None not in cases:
                            has = ", ".join(map(str, cases))
                            raise BadCases(f"{file}: there is no case {', '.join(unknown)}; CASES has {has}")
    missing = {"PACKAGE", "CASES", "inputs", "call"} - names
    if missing:
        raise BadCases(f"{file} does not define {', '.join(sorted(missing))}")
    return package, frozenset(names)


def _left_out(
    has: Iterable[str], recorded: Path | None, ported: Ported | None, driver: Driver, gpu: Hardware | str
) -> Iterator[str]:
    yield from not_on_gpu(gpu)
    if ported is None:
        yield "a port: none was given"
    if "tolerance" not in has:
        yield "the tolerance: the cases give none; it follows from the types and the sizes of the inputs"
    if "GRADIENTS" not in has:
        yield "gradients by finite differences: the cases do not name the outputs that are gradients (GRADIENTS)"
    if recorded is None:
        yield "results of a real GPU: there is no recorded.npz beside the cases"
    if driver.names:
        yield f"other cases than {', '.join(driver.names)}"


def _without_kernels(ran: Sequence[Ran]) -> Iterator[str]:
    """Name the cases without a kernel launch: a case that runs on the CPU does not test GPU code."""
    launched: dict[str, int] = {}
    for each in ran:
        for outcome in each.outcomes:
            if outcome.launches is not None:
                launched[outcome.case] = max(launched.get(outcome.case, 0), outcome.launches)
    idle = [case for case, count in launched.items() if count == 0]
    if idle and len(idle) == len(launched):
        yield "the kernels: no case launches one"
    elif idle:
        yield f"kernels in {', '.join(idle)}: no case launches them"


def forget(env: Mapping[str, str]) -> None:
    """Remove everything that verification keeps between runs."""
    shutil.rmtree(cache(env) / "simt", ignore_errors=True)

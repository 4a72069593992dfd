# SPDX-License-Identifier: Apache-2.0
"""Verify in one call: build the objects for what is run, how, and in which configurations, from keywords."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hipport.engine.knowledge import Knowledge
from hipport.engine.outcomes import Ported
from hipport.verifying import extension_verifier, program_verifier
from hipport.verifying.execution import Execution, Limits, Matrix
from hipport.verifying.program_runs import ProgramRun, Runner
from hipport.verifying.results import Configuration, MutationScore, Verified

_OF_MATRIX = ("waves", "orders", "gpu", "gpu_python")
_OF_KNOWLEDGE = {"passes": "before_executor", "vendored": "vendored", "translate": "translate"}
_OF_EXECUTION = ("limits", "jobs", "on_progress")
_OF_PROGRAM = ("folder", "exclude", "flags", "sanitize")


def execution(env: Mapping[str, str], python: Path = Path(sys.executable), **words: Any) -> Execution:
    known = {name: words[word] for word, name in _OF_KNOWLEDGE.items() if word in words}
    return Execution(env, Knowledge(**known), python, **{word: words[word] for word in _OF_EXECUTION if word in words})


def _matrix(words: Mapping[str, Any]) -> Matrix:
    return Matrix(**{word: words[word] for word in _OF_MATRIX if word in words})


def _program(
    paths: Sequence[Path], arguments: Sequence[str], words: Mapping[str, Any]
) -> program_verifier.ProgramToRun:
    own = {word: words[word] for word in _OF_PROGRAM if word in words}
    return program_verifier.ProgramToRun(paths, arguments, **own)


def _all_known(words: Mapping[str, Any], *groups: Any) -> None:
    unknown = set(words) - {word for group in groups for word in group}
    assert not unknown, f"nothing takes {unknown}"


def program(
    paths: Sequence[Path],
    arguments: Sequence[str] = (),
    *,
    env: Mapping[str, str],
    port: Callable[[Sequence[Path]], Ported] | None = None,
    **words: Any,
) -> Verified:
    _all_known(words, _OF_MATRIX, _OF_KNOWLEDGE, _OF_EXECUTION, _OF_PROGRAM)
    what = _program(paths, arguments, words)
    return program_verifier.program(what, execution(env, **words), port=port, matrix=_matrix(words))


def program_mutation_score(
    paths: Sequence[Path], arguments: Sequence[str] = (), *, env: Mapping[str, str], port: Any, most: int, **words: Any
) -> MutationScore:
    _all_known(words, _OF_KNOWLEDGE, _OF_EXECUTION, _OF_PROGRAM)
    return program_verifier.mutation_score(
        _program(paths, arguments, words), execution(env, **words), port=port, most=most
    )


def extension(path: Path, *, env: Mapping[str, str], python: Path, **words: Any) -> Verified:
    own = {word: words[word] for word in ("port", "cases", "names", "only") if word in words}
    _all_known(words, own, _OF_MATRIX, _OF_KNOWLEDGE, _OF_EXECUTION)
    return extension_verifier.extension(path, execution(env, python, **words), matrix=_matrix(words), **own)


def extension_mutation_score(path: Path, *, env: Mapping[str, str], python: Path, **words: Any) -> MutationScore:
    own = {word: words[word] for word in ("port", "cases", "names", "only", "most") if word in words}
    _all_known(words, own, _OF_KNOWLEDGE, _OF_EXECUTION)
    return extension_verifier.mutation_score(path, execution(env, python, **words), **own)


def replay(path: Path, recording: Path, *, env: Mapping[str, str], python: Path, **words: Any) -> tuple[Verified, ...]:
    own = {word: words[word] for word in ("port", "only") if word in words}
    _all_known(words, own, _OF_MATRIX, _OF_KNOWLEDGE, _OF_EXECUTION)
    return extension_verifier.replay(path, recording, execution(env, python, **words), matrix=_matrix(words), **own)


def driver(path: Path, env: Mapping[str, str] = os.environ, **words: Any) -> extension_verifier.Driver:
    own = {word: words[word] for word in ("port", "cases", "names", "only") if word in words}
    _all_known(words, own, _OF_KNOWLEDGE, _OF_EXECUTION)
    return extension_verifier.Driver(path, execution(env, **words), **own)


def run(
    path: Path,
    arguments: Sequence[str],
    configuration: Configuration,
    env: Mapping[str, str],
    folder: Path,
    limits: Limits,
    root: Path,
) -> ProgramRun:
    return Runner(env, folder, root, arguments, limits).run(path, configuration)

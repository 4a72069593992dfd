# SPDX-License-Identifier: Apache-2.0
"""Run compilers, or repeat their output for the same bytes from an earlier run of the tests.

A compiler gives the same result for the same arguments, files and environment. All that a command may read is part of
the key: the files that it names, all files below the folders that it names or runs in, and all files beside the sources
it names. For files elsewhere, such as a toolchain's headers and PyTorch's, the key has sizes and times, and the
compiler's own. The targets of `-o`, `-MF` and `-dependency-file` are not part of the key.
"""

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path

_FORMAT = 1
#: Files that compilers and builds leave beside sources, and that are never read as sources.
_MADE = {".o", ".so", ".a", ".d", ".s", ".ll", ".pch", ".gch", ".pyc", ".part", ".lock", ".log", ".failed", ".ninja"}
_SOURCES = {".cu", ".hip", ".cpp", ".cc", ".c", ".cxx"}
_WRITES = ("-o", "-MF", "-dependency-file")
_FOLDERS = ("-I", "-isystem", "-idirafter", "-include")
_ENVIRONMENT = ("HIP", "ROCM", "CPATH", "CPLUS", "C_INCLUDE", "LIBRARY_PATH", "COMPILER_PATH", "GCC_", "LANG", "LC_")
#: Seconds after which unused entries are removed: compiler output, and precompiled headers, which are large.
_AGE, _AGE_OF_HEADERS = 14 * 86400, 2 * 86400
#: Folders that do not change during a run: sizes and times are sufficient.
_STILL = ("/usr/", "/opt/", "/site-packages/", "/dist-packages/", "/toolchains/", "/torch-headers/")


def kept() -> Path:
    """Return the folder for saved output, inside hipport's own cache.

    HIPPORT_KEPT names it for contained compilers, which have another cache.
    """
    if said := os.environ.get("HIPPORT_KEPT"):
        return Path(said)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "hipport/tests"


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    trees: Sequence[Path] = (),
    running: Callable[[Sequence[str]], subprocess.CompletedProcess[str]] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a compiler and capture its output.

    It may also read the files below `trees`. `running` runs the command, if it has to be run.
    """
    words = [str(word) for word in command]
    folder = (cwd or Path()).resolve()
    environment = os.environ if env is None else env
    place = kept() / _key(words, folder, environment, [*trees, *([folder] if cwd else [])])
    written = [folder / words[at] for at in written_by(words)]
    try:
        state = json.loads((place / "said.json").read_text())
        for number, path in enumerate(written):
            if state["written"][number]:
                shutil.copyfile(place / str(number), path)
                path.chmod(0o755 if state["written"][number] == "program" else 0o644)
        os.utime(place / "said.json")
        return subprocess.CompletedProcess(words, state["status"], state["out"], state["errors"])
    except (OSError, ValueError):
        pass
    if running is None:
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
    else:
        done = running(words)
    # A compiler that a signal ended, for example without memory, gave no result on the source.
    if done.returncode >= 0 and all(path.is_file() or not path.exists() for path in written):
        _save(place, done, written)
    return done


def _save(place: Path, done: subprocess.CompletedProcess[str], written: Sequence[Path]) -> None:
    part = place.with_name(f"{place.name}.{os.getpid()}")
    part.mkdir(parents=True)
    kinds = []
    for number, path in enumerate(written):
        kinds.append(("program" if os.access(path, os.X_OK) else "file") if path.exists() else "")
        if kinds[-1]:
            shutil.copyfile(path, part / str(number))
    state = {"status": done.returncode, "out": done.stdout, "errors": done.stderr, "written": kinds}
    (part / "said.json").write_text(json.dumps(state))
    try:
        part.rename(place)
    except OSError:
        # Another process was faster.
        shutil.rmtree(part, ignore_errors=True)


def prune() -> None:
    """Remove entries that were not used for long."""
    for pattern, age in (("*/said.json", _AGE), ("precompiled/*/used", _AGE_OF_HEADERS)):
        for each in kept().glob(pattern):
            with suppress(OSError):
                if time.time() - each.stat().st_mtime > age:
                    shutil.rmtree(each.parent)


def _key(words: Sequence[str], folder: Path, env: Mapping[str, str], trees: Sequence[Path]) -> str:
    compiler = shutil.which(words[0], path=env.get("PATH")) or words[0]
    state = Path(compiler).resolve().stat()
    parts: list[object] = [_FORMAT, compiler, state.st_size, state.st_mtime_ns]
    # The location of the compiled file does not matter.
    places = {str(path): f"@{number}" for number, path in enumerate(sorted({folder, *trees}, key=str, reverse=True))}
    written = written_by(words)
    for at, word in enumerate(words[1:], 1):
        if at in written:
            word = "@written"
        for path, name in places.items():
            word = word.replace(path, name)
        parts.append(word)
    said = {name: value for name, value in env.items() if name.startswith(_ENVIRONMENT)}
    # The tests' own files, and files that linkers read.
    left_out = {"LIBRARY_PATH"} if "-c" in words else set()
    left_out |= {name for name in said if name.startswith("HIPPORT_")}
    parts += sorted(f"{name}={value}" for name, value in said.items() if name not in left_out)
    read = list(trees)
    for at, word in enumerate(words[1:], 1):
        for option in _FOLDERS:
            word = word.removeprefix(option)
        # An option whose value is the next word; the working folder is then not read for that value.
        if not word:
            continue
        named = folder / word
        if at in written or word.startswith("-") or not named.exists():
            continue
        if named.is_dir():
            read.append(named)
        elif named.is_file() and named.suffix not in _MADE:
            parts.append(hashlib.sha256(named.read_bytes()).hexdigest())
            read += [named.parent] if named.suffix in _SOURCES else []
    # A folder within another one of the list is read with it.
    whole = [tree for tree in dict.fromkeys(read) if not any(other in tree.parents for other in read)]
    parts += [_fingerprint(str(tree)) for tree in whole]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def stamp(path: str | Path) -> str:
    """Return the size and the time of a file, empty if it does not exist."""
    with suppress(OSError):
        state = Path(path).stat()
        return f"{path} {state.st_size} {state.st_mtime_ns}"
    return ""


def _fingerprint(tree: str) -> str:
    return _still(tree) if any(part in f"{tree}/" for part in _STILL) else digest(Path(tree))


def written_by(words: Sequence[str]) -> list[int]:
    """Return which words are paths that the compiler writes to, including those passed by `-Xclang`."""
    plain = [at for at, word in enumerate(words) if word != "-Xclang"]
    return [at for option, at in pairwise(plain) if words[option] in _WRITES]


@cache
def _still(tree: str) -> str:
    """Return a hash of the names, sizes and times in folders that do not change while tests run."""
    states = ((path, path.stat()) for path in _files(Path(tree)))
    return _hash(f"{path} {state.st_size} {state.st_mtime_ns}" for path, state in states)


def digest(tree: Path) -> str:
    """Return a hash of the names and bytes of the files below a folder."""
    lines = []
    for path in _files(tree):
        # A file that another, concurrent compiler removes is not an input of this one.
        with suppress(FileNotFoundError):
            lines.append(f"{path.relative_to(tree)} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    return _hash(lines)


def _files(tree: Path) -> list[Path]:
    found = [Path(folder, name) for folder, _, names in os.walk(tree, followlinks=True) for name in names]
    return sorted(each for each in found if each.suffix not in _MADE and not _is_ninja(each) and each.is_file())


def _is_ninja(path: Path) -> bool:
    return path.name.startswith(".ninja")


def _hash(lines: Iterable[str]) -> str:
    total = hashlib.sha256()
    for line in lines:
        total.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return total.hexdigest()

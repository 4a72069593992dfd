# SPDX-License-Identifier: Apache-2.0
"""What there is to compile in a tree, and with which flags.

Extensions say it by being built: their setup.py is run, up to the compilers (see `record_extensions`). Programs say
it in a Makefile, which `make --dry-run` reads; where there is none, the sources say it themselves.

This runs code of the tree. It does so in child processes, with a time limit, on a copy where it is a setup.py.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from hipport.diagnostics import Embedded
from hipport.discover import left_by_tools
from hipport.extensions import UNITS
from hipport.languages.cpp import Cpp, Include
from hipport.pipeline import Ported
from hipport.toolchain import Toolchain

#: Turns the arguments of an nvcc command into those of a hipcc command.
Translate = Callable[[Sequence[str]], Sequence[str]]

_DEVICE = frozenset((".cu", ".hip"))

_TESTS = frozenset(("test", "tests", "testing", "unittest", "unittests", "benchmark", "benchmarks", "examples", "docs"))

#: Files beyond this size are data, and are not copied with the tree that a setup.py is run in.
_LARGEST = 32 << 20


@dataclass(frozen=True)
class Unit:
    """One translation unit and how it is compiled.

    `source` is absolute; `language` is `hip` (device and host), `c++` or `c`; `flags` are for clang, without the
    source, the target and the output; `folder` is where the compiler runs; `owner` is the extension's or program's
    name. `guess` says what is guessed about it, if anything.
    """

    source: Path
    language: str
    flags: tuple[str, ...]
    folder: Path
    owner: str
    guess: str = ""


@dataclass(frozen=True)
class NotBuilt:
    """Something that is not compiled, and why. `path` is relative to the tree's root; `line` may be 0.

    `needs_person` is false where the tree's own build leaves it out as well.
    """

    path: PurePath
    line: int
    why: str
    needs_person: bool = True


@dataclass(frozen=True)
class Found:
    """The units of a tree, what is left out, and which of its files were run as code to learn it.

    `made` tells which file a file of the copy was made from, `embedded` which stood in a string.
    """

    units: tuple[Unit, ...] = ()
    not_built: tuple[NotBuilt, ...] = ()
    ran: tuple[str, ...] = ()
    made: Mapping[Path, Path] = field(default_factory=dict)
    embedded: Mapping[Path, tuple[Embedded, ...]] = field(default_factory=dict)


# --- Trees ------------------------------------------------------------------------------------------------------------


def copy_tree(root: Path, to: Path) -> None:
    """Copy `root` to `to`, without what no build reads; what was at `to` is gone."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        out = {".hipport", *left_by_tools(folder, names)} & set(names)
        for name in set(names) - out:
            path = Path(folder, name)
            if path.is_symlink() or path.is_dir():
                continue
            if not path.is_file() or path.stat().st_size > _LARGEST:
                out.add(name)
        return out

    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root, to, symlinks=True, ignore=left_out)
    for folder, names, found in os.walk(to):
        for name in (*names, *found):
            link = Path(folder, name)
            if link.is_symlink():
                target = Path(os.path.normpath(root / Path(folder).relative_to(to) / link.readlink()))
                # A link within the tree still is one; any other has to be followed from where it was.
                if not target.is_relative_to(root):
                    link.unlink()
                    link.symlink_to(target)


def write_port(ported: Ported, tree: Path, copy: Path) -> None:
    """Put what hipport made of the folder `tree` into a copy of it."""
    root = ported.before.root
    assert root is not None, "text in memory is not built"
    for source in ported.changed:
        if (root / source.path).is_relative_to(tree):
            (copy / (root / source.path).relative_to(tree)).write_bytes(source.text)
    for file in ported.created:
        if (root / file.path).is_relative_to(tree):
            place = copy / (root / file.path).relative_to(tree)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.text)


# --- PyTorch extensions -----------------------------------------------------------------------------------------------

#: What a script that builds extensions is called; beside a `setup.py`, others are other ways to the same.
_SETUP = re.compile(r"setup(?:[-_]\w+)?\.py|\w+_setup\.py")


def setup_scripts(paths: Iterable[Path]) -> list[Path]:
    """Return those of `paths` that build extensions by setuptools: `setup.py`, or else `setup_cuda.py` and its like."""
    found = [path for path in paths if _SETUP.fullmatch(path.name) and b"Extension" in _read(path)]
    named = {path.parent for path in found if path.name == "setup.py"}
    return [
        path
        for path in found
        if path.name == "setup.py" or (path.parent not in named and re.search(rb"(?<!def )\bsetup\s*\(", _read(path)))
    ]


def setup_script(folder: Path) -> Path | None:
    """Return the script in a folder that builds extensions: `setup.py` whatever it has in it, or else the first."""
    named = folder / "setup.py"
    return named if named.is_file() else next(iter(setup_scripts(sorted(folder.glob("*setup*.py")))), None)


@dataclass(frozen=True)
class Recorder:
    """Runs `record_extensions` for one tree and toolchain.

    `copy` is the copy of the tree `root`, `scratch` a folder for what a build would write, `members` the files of the
    tree that are its own.
    """

    python: Path
    toolchain: Toolchain
    archs: tuple[str, ...]
    env: Mapping[str, str]
    root: Path
    copy: Path
    scratch: Path
    members: tuple[Path, ...]
    timeout: float = 300.0

    def setup(self, script: Path) -> Found:
        """Run a setup.py, or what stands for one, of the tree; where that fails, guess."""
        folder = self.copy / script.parent.relative_to(self.root)
        name = PurePath(script.relative_to(self.root))
        recorded, problem = self._run({"kind": "setup", "script": script.name}, folder)
        ran = (name.as_posix(),)
        if not problem:
            found = self._found(recorded, folder)
            return replace(found, ran=ran)
        found = self.guess(script.parent, f"{name} could not be run ({problem})")
        why = NotBuilt(name, 0, f"it could not be run: {problem}")
        return replace(found, not_built=(why, *found.not_built), ran=ran)

    def guess(self, folder: Path, why: str) -> Found:
        """Take every source below a folder of the tree, but for tests, for one extension; `why` nobody says better."""
        sources = [
            path
            for path in self.members
            if path.suffix in UNITS
            and path.is_relative_to(folder)
            and not _TESTS.intersection(path.relative_to(folder).parts[:-1])
        ]
        sources = _not_included(sources)
        if not any(path.suffix in _DEVICE for path in sources):
            return Found()
        request = {
            "kind": "extension",
            "name": folder.name,
            "sources": [path.relative_to(folder).as_posix() for path in sources],
            "include_dirs": [],
        }
        found = self._jit(
            request, self.copy / folder.relative_to(self.root), PurePath(folder.relative_to(self.root)), 0
        )
        guess = f"{why}; so this is every source below it"
        return replace(found, units=tuple(replace(unit, guess=guess) for unit in found.units))

    def call(self, script: Path, call: JustInTime) -> Found:
        """Do what a `load` or `load_inline` call in a file of the tree does."""
        folder = self.copy / script.parent.relative_to(self.root)
        arguments = dict(call.arguments)
        for name in ("sources", "extra_include_paths"):
            if name in arguments:
                values = [arguments[name]] if isinstance(arguments[name], str) else arguments[name]
                arguments[name] = [self._copied(value, script.parent) for value in values]
        place = PurePath(script.relative_to(self.root))
        written = self.scratch / f"{'-'.join(place.with_suffix('').parts)}-{call.line}"
        request = {
            "kind": "jit",
            "function": call.function,
            "arguments": arguments,
            "scratch": str(written),
            "hooks": call.hooks,
            "script": str(self.copy / place),
        }
        found = self._jit(request, folder, place, call.line)
        embedded: dict[Path, tuple[Embedded, ...]] = {}
        for file in sorted(written.glob("*.c*")) if call.function == "load_inline" else ():
            lines = _read(file).decode("utf-8", "replace").splitlines()
            # Line 0 stands for the file.
            whole = Embedded(0, 1, self.copy / place, call.line)
            embedded[file] = (whole, *_embedded(lines, self.copy / place, call.texts))
        return replace(found, embedded=embedded)

    def _copied(self, path: str, folder: Path) -> str:
        absolute = Path(os.path.normpath(folder / path))
        return str(self.copy / absolute.relative_to(self.root)) if absolute.is_relative_to(self.root) else str(absolute)

    def _jit(self, request: dict[str, Any], folder: Path, name: PurePath, line: int) -> Found:
        recorded, problem = self._run(request, folder)
        if problem:
            return Found((), (NotBuilt(name, line, problem),))
        return self._found(recorded, folder)

    def _found(self, recorded: dict[str, Any], folder: Path) -> Found:
        units = tuple(
            Unit(
                Path(each["source"]),
                each["language"],
                _compiling(each["arguments"]),
                Path(each["folder"]),
                each["extension"],
            )
            for each in recorded["commands"]
        )
        made = {Path(after): Path(before) for before, after in recorded["renamed"].items()}
        missing = recorded["missing"]
        not_built = (
            (NotBuilt(PurePath(folder.relative_to(self.copy)), 0, f"{missing} is missing: Python's headers"),)
            if missing
            else ()
        )
        return Found(units, not_built, (), made)

    def _run(self, request: dict[str, Any], folder: Path) -> tuple[dict[str, Any], str]:
        """Return what was recorded, and what went wrong."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        asked, answer = self.scratch / "request.json", self.scratch / "answer.json"
        answer.unlink(missing_ok=True)
        request = {
            **request,
            "archs": self.archs,
            "hip": ".".join(map(str, self.toolchain.hip)),
            "output": str(answer),
            "scratch": request.get("scratch", str(self.scratch)),
            "tree": str(self.copy),
        }
        asked.write_text(json.dumps(request), encoding="utf-8")
        env = {name: value for name, value in self.env.items() if name not in ("CUDA_HOME", "CUDA_PATH", "MAKEFLAGS")}
        env.update(
            HIP_PLATFORM="amd",
            ROCM_HOME=str(self.toolchain.root),
            ROCM_PATH=str(self.toolchain.root),
            PYTORCH_ROCM_ARCH=";".join(self.archs),
            # Would run the machine's own compiler.
            TORCH_DONT_CHECK_COMPILER_ABI="1",
            # PyTorch puts sources through a set.
            PYTHONHASHSEED="0",
        )
        script = Path(__file__).with_name("record_extensions.py")
        status, said = limited([str(self.python), str(script), str(asked)], folder, env, self.timeout)
        try:
            recorded = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            if status is None:
                return {}, f"it did not end within {self.timeout:.0f} s"
            return {}, said.strip().splitlines()[-1] if said.strip() else f"it ended with status {status}"
        return recorded, recorded["error"].replace(str(self.copy) + os.sep, "")


def limited(command: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float) -> tuple[int | None, str]:
    """Run `command` with limits on time and on the size of files; return its status (None: out of time) and output."""

    with subprocess.Popen(
        command,
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        for what, most in ((resource.RLIMIT_CPU, int(timeout) + 1), (resource.RLIMIT_FSIZE, 1 << 30)):
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process.pid, what, (most, most))
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # Its children too: the session is its own.
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            return None, said.decode("utf-8", "replace")
    return process.returncode, said.decode("utf-8", "replace")


# --- Extensions built when they are first used ------------------------------------------------------------------------


@dataclass(frozen=True)
class JustInTime:
    """A call of `torch.utils.cpp_extension.load` or `load_inline` whose arguments could be read.

    `texts` are the strings that are compiled, with the line that each begins on, `hooks` what the file has PyTorch's
    hipify do besides.
    """

    function: str
    line: int
    arguments: Mapping[str, Any]
    texts: tuple[tuple[str, int], ...] = ()
    hooks: str = ""


class _Unreadable(Exception):
    pass


def just_in_time(path: Path, root: Path) -> tuple[list[JustInTime], list[NotBuilt]]:
    """Return the calls in a Python file that build an extension, without running the file.

    Arguments are read where they are literals, paths made from `__file__`, or names bound once to one of these.
    """
    text = _read(path)
    if b"cpp_extension" not in text:
        return [], []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return [], []
    bound: dict[str, list[ast.expr]] = {}
    functions = {f"torch.utils.cpp_extension.{each}": each for each in ("load", "load_inline")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "torch.utils.cpp_extension":
            functions.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                if module + alias.name == "torch.utils.cpp_extension":
                    name = alias.asname or alias.name
                    functions.update({f"{name}.{each}": each for each in ("load", "load_inline")})
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            bound.setdefault(node.targets[0].id, []).append(node.value)
    calls: list[JustInTime] = []
    not_built: list[NotBuilt] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = functions.get(ast.unparse(node.func), "")
        if function not in ("load", "load_inline"):
            continue
        positional = ("name", "sources") if function == "load" else ("name", "cpp_sources", "cuda_sources")
        given = {**dict(zip(positional, node.args, strict=False)), **{k.arg: k.value for k in node.keywords if k.arg}}
        arguments: dict[str, Any] = {}
        for name, value in given.items():
            if name in ("verbose", "build_directory", "is_python_module", "keep_intermediates"):
                continue
            try:
                arguments[name] = _value(value, bound, path, 0)
            except (_Unreadable, TypeError) as what:
                why = f"{function}({name}=…) is worked out when it runs: {what}"
                not_built.append(NotBuilt(PurePath(path.relative_to(root)), node.lineno, why))
                break
        else:
            if any(keyword.arg is None for keyword in node.keywords):
                why = f"{function}(**…) is worked out when it runs"
                not_built.append(NotBuilt(PurePath(path.relative_to(root)), node.lineno, why))
            else:
                texts = [text for each in ("cpp_sources", "cuda_sources") for text in _texts(given.get(each), bound)]
                calls.append(JustInTime(function, node.lineno, arguments, tuple(texts), _hooks(tree)))
    return sorted(calls, key=lambda call: call.line), sorted(not_built, key=lambda each: each.line)


def _hooks(tree: ast.Module) -> str:
    """Return the statements that put something in the place of PyTorch's hipify, as `hipify_reach` writes them."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign))
        and (
            re.search(r"\bhipify_python\.hipify\b|\bimport hipify_python\b", ast.unparse(node))
            or (isinstance(node, ast.Import) and ast.unparse(node) == "import os")
        )
        # A function that has such statements in it is not one that stands in.
        and not (isinstance(node, ast.FunctionDef) and any(isinstance(each, ast.ImportFrom) for each in node.body))
    ]
    replaces = any(isinstance(node, ast.Assign) for node in found)
    return "\n".join(ast.unparse(node) for node in found) if replaces else ""


def _texts(node: ast.expr | None, bound: Mapping[str, list[ast.expr]]) -> Iterator[tuple[str, int]]:
    match node:
        case ast.Constant(value=str(text)):
            yield text, node.lineno
        case ast.List() | ast.Tuple():
            for each in node.elts:
                yield from _texts(each, bound)
        case ast.Name() if len(bound.get(node.id, ())) == 1:
            yield from _texts(bound[node.id][0], {})


def _embedded(lines: Sequence[str], script: Path, texts: Iterable[tuple[str, int]]) -> Iterator[Embedded]:
    """Find `texts`, whole lines of a file, among its `lines`."""
    for text, line in texts:
        wanted = text.splitlines()
        for first in range(len(lines) - len(wanted) + 1 if text.strip() else 0):
            if lines[first : first + len(wanted)] == wanted:
                yield Embedded(first + 1, len(wanted), script, line)
                break


def _value(node: ast.expr, bound: Mapping[str, list[ast.expr]], path: Path, depth: int) -> Any:
    def value(inner: ast.expr) -> Any:
        return _value(inner, bound, path, depth + 1)

    if depth > 20:
        raise _Unreadable("it refers to itself")
    match node:
        case ast.Constant():
            return node.value
        case ast.List() | ast.Tuple():
            items: list[Any] = []
            for each in node.elts:
                items += value(each.value) if isinstance(each, ast.Starred) else [value(each)]
            return items
        case ast.IfExp(test=test) if (hip := _for_hip(test)) is not None:
            return value(node.body if hip else node.orelse)
        case ast.BinOp(op=ast.Add()):
            return value(node.left) + value(node.right)
        case ast.BinOp(op=ast.Div()):
            return str(Path(value(node.left)) / value(node.right))
        case ast.JoinedStr():
            return "".join(str(value(each)) for each in node.values)
        case ast.FormattedValue(conversion=-1, format_spec=None):
            return value(node.value)
        case ast.ListComp(generators=[ast.comprehension(target=ast.Name(id=name), ifs=[], iter=over)]):
            given = value(over)
            if not isinstance(given, list):
                raise _Unreadable(ast.unparse(over)[:60])
            turns: list[dict[str, list[ast.expr]]] = [{**bound, name: [ast.Constant(item)]} for item in given]
            return [_value(node.elt, names, path, depth + 1) for names in turns]
        case ast.Name(id="__file__"):
            return str(path)
        case ast.Name() if len(bound.get(node.id, ())) == 1:
            return value(bound[node.id][0])
        case ast.Attribute(attr="parent"):
            return str(Path(value(node.value)).parent)
        case ast.Call(keywords=[]):
            module, _, called = ast.unparse(node.func).rpartition(".")
            arguments = [value(each) for each in node.args]
            if called == "join" and module in ("os.path", "osp", "path"):
                return str(Path(*arguments))
            if called == "dirname":
                return str(Path(*arguments).parent)
            if called in ("glob", "iglob") and module in ("glob", "") and len(arguments) == 1:
                return sorted(glob(str(Path(path.parent, arguments[0])), recursive="**" in arguments[0]))  # noqa: PTH207
            if called in ("abspath", "realpath", "Path", "str", "normpath") and len(arguments) == 1:
                return arguments[0]
            if called in ("resolve", "absolute") and not arguments and isinstance(node.func, ast.Attribute):
                return value(node.func.value)
    raise _Unreadable(ast.unparse(node)[:60])


def _for_hip(test: ast.expr) -> bool | None:
    """Return what a condition is with a PyTorch for ROCm, as far as it asks just that."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            asked = _for_hip(operand)
            return None if asked is None else not asked
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.Is() as sign], comparators=[ast.Constant(value=None)]):
            asked = _for_hip(left)
            return asked if asked is None else asked == isinstance(sign, ast.IsNot)
    return True if re.fullmatch(r"torch\.version\.hip|(?:[\w.]+\.)?IS_HIP_EXTENSION", ast.unparse(test)) else None


# --- Programs ---------------------------------------------------------------------------------------------------------

#: What a command compiles: the source, its language (empty: by its name), the flags, where the compiler runs.
Command = tuple[Path, str, tuple[str, ...], Path]

_COMPILER = re.compile(
    r"(?:.*/)?(?P<name>nvcc|hipcc|mpicc|mpicxx|mpic\+\+|[\w.-]*(?:g\+\+|gcc|clang\+\+|clang|c\+\+|cc))"
)
_ENTER = re.compile(r"make(?:\[\d+\])?: (?P<what>Entering|Leaving) directory '(?P<path>.*)'")
_FOLDER = re.compile(r"(-I|-isystem)(.*)", re.DOTALL)
_KERNEL = re.compile(rb"__global__|__device__|<<<")
#: What no compiler takes before C++20. Where no build script says a standard, text that has it was made for that one.
_CXX20 = re.compile(
    rb"\bconcept\s+\w+\s*=|\brequires\s*(?:[({!]|(?:\w+\s*::\s*)*\w+\s*<)|\b(?:consteval|constinit|co_(?:await|yield))\b|<=>"
    rb"|\]\s*<\s*(?:typename|class|auto|unsigned|int|bool|(?:std\s*::\s*)?size_t)\s+\.{0,3}\w"
    rb"|\bstd\s*::\s*(?:span|ranges|numbers|bit_cast|popcount|source_location)\b"
)
#: The same of headers.
_CXX20_HEADERS = frozenset("bit compare concepts coroutine numbers ranges source_location span".split())


def programs(
    root: Path,
    sources: Sequence[Path],
    members: Sequence[Path],
    env: Mapping[str, str],
    translate: Translate,
    *,
    asked: Collection[Path] = (),
    hip: bool = True,
) -> tuple[list[Unit], list[NotBuilt], list[str]]:
    """Return the units of the programs that `sources` make up, what is left out, and which files were run.

    `members` are the files of the tree `root` that includes may mean. `asked` is what was asked for: where that is a
    source that a Makefile compiles for another goal than its first, that goal is asked for; where it is a folder whose
    Makefile compiles sources that lie elsewhere, these are compiled as it says. Where flags are guessed and it is
    for `hip`, the macros are defined that the program itself chooses HIP by.
    """
    units: list[Unit] = []
    not_built: list[NotBuilt] = []
    ran: list[str] = []
    folders: dict[Path, list[Path]] = {}
    elsewhere = {
        source: place for place in asked if place.is_dir() for source in sources_elsewhere(place, env, translate)
    }
    for source in sources:
        folders.setdefault(elsewhere.get(source) or _project(source, root), []).append(source)
    for folder, own in folders.items():
        owner = folder.name if folder == root else folder.relative_to(root).as_posix()
        commands: list[Command] = []
        guess = "no Makefile: flags are guessed"
        if _makefile(folder) is not None:
            if shutil.which("make", path=env.get("PATH", "")):
                commands = dry_run(folder, env, translate)
                others = [path for path in own if path in asked and path not in {command[0] for command in commands}]
                if goals := list(dict.fromkeys(goal for each in _goals(folder, others, env).values() for goal in each)):
                    more = dry_run(folder, env, translate, goals[:20])
                    commands += [command for command in more if command[0] in others]
                ran.append((folder / "Makefile").relative_to(root).as_posix())
                guess = "" if commands else "its Makefile calls no compiler here: flags are guessed"
            else:
                guess = "there is no make here to read the Makefile with: flags are guessed"
        if not commands:
            given = _cmake_flags(folder)
            guess = "flags are read from CMakeLists.txt" if given is not None else guess
            commands = [(path, "", tuple(given or ()), folder) for path in _not_included(own)]
        compiled = {source for source, _, _, _ in commands}
        for source, language, flags, where in commands:
            language = language or _language(source)
            folders_meant, reached = _inferred(source, flags, where, members, root)
            flags = (*flags, *folders_meant)
            macros = _chosen_on_hip(reached, flags) if guess and hip else []
            flags = (*flags, *(f"-D{name}" for name in macros))
            said = f"{guess}, with {', '.join(macros)} defined, as its branches for HIP ask" if macros else guess
            if language == "c":
                flags = tuple(flag for flag in flags if not flag.startswith(("-std=c++", "-std=gnu++")))
            elif language == "hip" and not any(flag.startswith("-std=") for flag in flags):
                flags = (*flags, "-std=c++20" if any(map(_is_cxx20, reached)) else "-std=c++17")
            units.append(Unit(source, language, flags, where, owner, said))
        left = [
            source
            for source in own
            if source not in compiled and source.suffix in _DEVICE and not _is_included(source, members)
        ]
        may = _goals(folder, left, env)
        # Beside device code that the first goal compiles, these are other programs; alone, they are what was meant.
        none = not any(unit.language == "hip" for unit in units if unit.owner == owner)
        for source in left:
            why = "the first goal of its Makefile does not compile it"
            if naming := may.get(source):
                why += f", {' and '.join(naming[:3])} may: hipport build {source.relative_to(root)}"
            not_built.append(NotBuilt(PurePath(source.relative_to(root)), 0, why, needs_person=none))
    return units, not_built, ran


def sources_elsewhere(folder: Path, env: Mapping[str, str], translate: Translate) -> list[Path]:
    """Return the sources that the Makefile of `folder` compiles, where it compiles none that lies in the folder."""
    if _makefile(folder) is None or not shutil.which("make", path=env.get("PATH", "")):
        return []
    found = [source.resolve() for source, _, _, _ in dry_run(folder, env, translate)]
    return [] if any(source.is_relative_to(folder) for source in found) else found


def _goals(folder: Path, sources: Sequence[Path], env: Mapping[str, str]) -> dict[Path, list[str]]:
    """Return for each of `sources` the goals of a Makefile whose rules name it."""
    if not sources or _makefile(folder) is None or not shutil.which("make", path=env.get("PATH", "")):
        return {}
    # https://www.gnu.org/software/make/manual/html_node/Options-Summary.html: the rules, with their variables put in.
    _, said = limited(["make", "--print-data-base", "--question"], folder, _for_make(env), 60.0)
    named: dict[str, list[Path]] = {}
    for path in sources:
        for name in (path.name, f"{path.stem}.o"):
            named.setdefault(name, []).append(path)
    found: dict[Path, dict[str, None]] = {path: {} for path in sources}
    target = ""
    for line in said.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            words = line.split()
        elif line.startswith("#"):
            words = []
        else:
            rule = _RULE.fullmatch(line)
            target = rule["target"] if rule else ""
            words = rule["needs"].split() if rule else []
        for word in words if target else ():
            for path in named.get(PurePath(word).name, ()):
                found[path][target] = None
    return {path: list(goals) for path, goals in found.items() if goals}


def _for_make(env: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in env.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CC", "CXX")}
    return {**kept, "LC_ALL": "C"}


def dry_run(folder: Path, env: Mapping[str, str], translate: Translate, goals: Sequence[str] = ()) -> list[Command]:
    """Return what the Makefile of `folder` compiles: source, language (or nothing), flags, folder of the command.

    It is asked for `goals`, by default for its first.
    """
    command = ["make", "--dry-run", "--always-make", "--keep-going", "--print-directory", *goals]
    _, said = limited(command, folder, _for_make(env), 60.0)
    where = [folder]
    found: dict[tuple[Path, str], Command] = {}
    for line in said.replace("\\\n", " ").splitlines():
        if moved := _ENTER.match(line):
            if moved["what"] == "Entering":
                where.append(Path(moved["path"]))
            elif len(where) > 1:
                where.pop()
            continue
        here = where[-1]
        for words in _commands(line):
            if words[:1] == ["cd"] and len(words) == 2:
                here = here / words[1]
            elif words and _COMPILER.fullmatch(words[0]):
                for source, language, flags in _compiled(words, here, translate):
                    found.setdefault((source, language), (source, language, flags, here))
    return list(found.values())


#: A rule of make's database for one goal that is no pattern and no special one.
_RULE = re.compile(r"(?P<target>[^\s:%#=.][^\s:%#=]*)::?(?!=)(?P<needs>[^=#]*)")


def _commands(line: str) -> Iterator[list[str]]:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return
    command: list[str] = []
    for word in words:
        if word and set(word) <= set("();|&"):
            yield command
            command = []
        elif word.lstrip("@-+") or word in ("-", "--"):
            command.append(word)
    yield command


def _compiled(words: list[str], folder: Path, translate: Translate) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
    name = PurePath(words[0]).name
    sources: list[Path] = []
    flags: list[str] = []
    language = ""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-o", "-MF", "-MT", "-MQ", "-L"):
            next(rest, None)
        elif word == "-x":
            language = next(rest, "")
        elif word.startswith("-x") and word[2:] in ("cu", "hip", "c++", "c"):
            language = word[2:]
        elif not word.startswith("-") and PurePath(word).suffix in UNITS:
            sources.append(Path(os.path.normpath(folder / word)))
        elif not word.startswith(("-l", "-L", "-Wl,")) and not word.endswith((".o", ".a", ".so")) and word != "-c":
            flags.append(word)
    if not sources:
        return
    if name == "nvcc":
        flags = list(translate(flags))
    elif name != "hipcc":
        # What else other compilers are told is for them.
        flags = _portable(flags)
    for source in sources:
        if source.is_file():
            known = {"cu": "hip", "hip": "hip", "c++": "c++", "c": "c"}.get(language, "")
            if name == "hipcc" and not known and source.suffix != ".c":
                known = "hip"
            yield source, known, _compiling(flags)


def _portable(flags: Sequence[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(flags)
    for flag in rest:
        if flag in ("-I", "-D", "-U", "-isystem", "-include"):
            kept += [flag, next(rest, "")]
        elif flag.startswith(("-I", "-D", "-U", "-std=", "-isystem", "-fopenmp", "-include")):
            kept.append(flag)
    return kept


def _compiling(arguments: Sequence[str]) -> tuple[str, ...]:
    """Drop what says where from, where to and for what."""
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        folder = _FOLDER.fullmatch(argument)
        if argument in ("-o", "-MF", "-MT"):
            next(rest, None)
        elif folder:
            path = folder[2] or next(rest, "")
            # The machine's own headers are on the path already; named, they come before the C++ library's.
            if os.path.normpath(path) != "/usr/include":
                kept += [argument] if folder[2] else [argument, path]
        elif argument not in ("-c", "-MD", "-MMD") and not argument.startswith(("--offload-arch", "--amdgpu-target")):
            kept.append(argument)
    return tuple(kept)


def _language(source: Path) -> str:
    if source.suffix == ".c":
        return "c"
    # nvcc gives these to the host's compiler; hipcc takes all of them for HIP.
    return "hip" if source.suffix in _DEVICE or _KERNEL.search(_read(source)) else "c++"


def _makefile(folder: Path) -> Path | None:
    return next((folder / name for name in ("GNUmakefile", "makefile", "Makefile") if (folder / name).is_file()), None)


def _project(source: Path, root: Path) -> Path:
    """Return the nearest folder at or above a source, within the root, that says how to build; or the source's own."""
    folder = source.parent
    while True:
        if _makefile(folder) is not None or (folder / "CMakeLists.txt").is_file():
            return folder
        if folder == root or not folder.is_relative_to(root):
            return source.parent
        folder = folder.parent


def _cmake_flags(folder: Path) -> list[str] | None:
    """Read include folders, definitions and the standard from CMakeLists.txt, as far as they are written out."""
    text = re.sub(r"#[^\n]*", "", _read(folder / "CMakeLists.txt").decode("utf-8", "replace"))
    if not text:
        return None
    variables = {name: str(folder) for name in ("CMAKE_SOURCE_DIR", "CMAKE_CURRENT_SOURCE_DIR", "PROJECT_SOURCE_DIR")}
    # What a ported script says, and what it means here.
    variables["HIP_OR_CUDA"] = "HIP"
    flags: list[str] = []

    def expanded(words: str) -> list[str]:
        for _ in range(5):
            words = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m[1], m[0]), words)
        return [
            word
            for word in re.split(r"[\s;]+", words.replace('"', " "))
            if word and "${" not in word and "$<" not in word
        ]

    for match in re.finditer(r"(\w+)\s*\(([^()]*)\)", text):
        command, words = match[1].lower(), match[2]
        if command == "set":
            name, *values = expanded(words) or [""]
            variables[name] = " ".join(values)
            if re.fullmatch(r"CMAKE_(?:CXX|CUDA|HIP)_FLAGS|(?:CUDA|HIP)_(?:NVCC|HIPCC)_FLAGS", name):
                flags += (value for value in values if re.fullmatch(r"-D\w+(?:=[\w.]*)?", value))
            if name in ("CMAKE_CXX_STANDARD", "CMAKE_HIP_STANDARD", "CMAKE_CUDA_STANDARD") and values:
                flags.append(f"-std=c++{values[0]}")
        elif command in ("set_target_properties", "set_property", "target_compile_features"):
            asked = re.search(r"\b(?:(?:CXX|CUDA|HIP)_STANDARD\s+|(?:cxx|cuda|hip)_std_)(\d+)", words)
            if asked:
                flags.append(f"-std=c++{asked[1]}")
        elif command in ("include_directories", "target_include_directories"):
            skip = 0 if command == "include_directories" else 1
            for word in expanded(words)[skip:]:
                if (folder / word).is_dir():
                    flags.append(f"-I{folder / word}")
        elif command in ("add_definitions", "add_compile_definitions", "target_compile_definitions"):
            for word in expanded(words)[1 if command.startswith("target") else 0 :]:
                if word not in ("PUBLIC", "PRIVATE", "INTERFACE"):
                    flags.append(word if word.startswith("-D") else f"-D{word}")
    return list(_compiling(list(dict.fromkeys(flags))))


def _inferred(
    source: Path, flags: Sequence[str], folder: Path, members: Sequence[Path], root: Path
) -> tuple[list[str], set[Path]]:
    """Return -I for folders of the tree that the includes of `source` can only mean and that nothing names yet.

    Where the tree is part of a repository, folders above it count for includes in quotes.

    With them, the files of the tree that it consists of, itself among them.
    """
    named = [Path(os.path.normpath(folder / flag[2:])) for flag in flags if flag.startswith("-I") and len(flag) > 2]
    named += [Path(os.path.normpath(folder / after)) for flag, after in pairwise(flags) if flag == "-I"]
    added: list[Path] = []
    seen: set[Path] = set()
    queue = [source]
    while queue:
        path = queue.pop()
        if path in seen:
            continue
        seen.add(path)
        for include in includes(path):
            places = ([] if include.angled else [path.parent]) + named + added
            found = next((place / include.path for place in places if (place / include.path).is_file()), None)
            if found is None:
                ends = tuple(part for part in PurePath(include.path).parts if part != "..")
                meant = [header for header in members if header.parts[-len(ends) :] == ends]
                if len(meant) == 1 and meant[0].is_relative_to(root):
                    found = meant[0]
                    if ".." not in include.path:
                        added.append(Path(*meant[0].parts[: -len(ends)]))
                elif not meant and not include.angled and ".." not in include.path:
                    # Of one file of a repository that was asked for, its folders above are not among the members.
                    above = next((place for place in _above(root) if (place / include.path).is_file()), None)
                    if above is not None:
                        found = above / include.path
                        added.append(above)
            if found is not None:
                queue.append(Path(os.path.normpath(found)))
    return [f"-I{place}" for place in dict.fromkeys(added)], seen


def _above(root: Path) -> list[Path]:
    """Return the folders above `root` that belong to its repository; none where it is in no repository."""
    folders: list[Path] = []
    for folder in (root, *root.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            return folders[1:]
    return []


def _is_cxx20(path: Path) -> bool:
    text = Cpp(PurePath(path), _read(path))
    return bool(_CXX20.search(text.code)) or any(include.path in _CXX20_HEADERS for include in text.includes)


def _chosen_on_hip(files: Iterable[Path], flags: Sequence[str]) -> list[str]:
    """Return the macros that the files want defined for HIP, and that no flag does."""
    names = {name.decode() for path in files for name in Cpp(PurePath(path), _read(path)).chosen_on_hip}
    return sorted(name for name in names if not any(re.match(rf"-[DU] ?{name}\b", flag) for flag in flags))


def includes(path: Path) -> tuple[Include, ...]:
    """Return what a file includes."""
    return Cpp(PurePath(path), _read(path)).includes


def _not_included(sources: Sequence[Path]) -> list[Path]:
    """Return `sources` without those that another of them includes."""
    included = {
        Path(os.path.normpath(source.parent / include.path))
        for source in sources
        for include in includes(source)
        if not include.angled
    }
    return [source for source in sources if source not in included]


def _is_included(source: Path, others: Iterable[Path]) -> bool:
    return any(PurePath(include.path).name == source.name for other in others for include in includes(other))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""

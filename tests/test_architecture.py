# SPDX-License-Identifier: Apache-2.0
"""Allowed imports, and the cost of importing."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ENGINE = sorted((ROOT / "src" / "hipport").rglob("*.py"))
#: The only files of the engine that know the passes: the command line, and the one-call library functions.
MAY_KNOW_PASSES = {"cli", "api.py"}
#: Modules that run in child processes, which have an environment of their own.
SCRIPTS = {
    "loaded_python.py",
    "record_extensions.py",
    "run_cases.py",
    "record_calls.py",
    "replay_cases.py",
    "run_time_compiler.py",
}
HEAVY = {"torch", "numpy", "libcst", "clang", "tree_sitter", "rich", "click"}


#: Functions that open or write files directly. Other code uses `reading` and `placing`, which handle anything that a
#: tree may have in place of a file, or `placing.walk`, which handles folders of any depth.
BARE = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "copytree", "rmtree", "copyfileobj"}
BARE_OF_OS = {"walk", "open", "fdopen", "scandir", "listdir", "mkdir", "link", "symlink", "unlink", "replace", "rename"}
#: The files that may use them, and for whose files. None of these is a tree's.
MAY_OPEN = {
    "reading.py": "reads what is a tree's",
    "placing.py": "writes what is a tree's",
    "journal.py": "looks whether the lock of a journal is held, and follows no link",
    "builder.py": "the cache, and lists that the compiler writes there",
    "configured_headers.py": "headers in the cache, at paths that lead nowhere else",
    "explainer.py": "fixtures of hipport's own",
    "amd_gpus.py": "folders for the builds of a run, in the cache",
    "own_headers.py": "hipport's headers",
    "kept.py": "the cache",
    "locks.py": "the cache",
    "loaded_python.py": "descriptors of a child process",
    "overlay.py": "PyTorch's headers, and copies of them in the cache",
    "restored.py": "a copy in the cache, which is removed",
    "processes.py": "what a child printed, which `reading` has opened",
    "program_runs.py": "what a program prints goes to files in a folder made for it",
    "record_calls.py": "runs inside of a program that the user runs; makes new files only",
    "record_extensions.py": "runs in a child process, with a request from hipport",
    "session.py": "a request to a child process, in a folder made for it",
    "run_time_compiler.py": "what a program gave NVRTC or hipRTC, in the cache or a folder for its tree",
    "run_cases.py": "runs in a child process, with a request from hipport",
    "replay_cases.py": "runs in a child process, with a recording",
    "compile.py": "the executor's own headers, and the cache",
    "digests.py": "the executor's own files, and the cache",
    "torch_extension.py": "the cache",
    "torch_installed.py": "PyTorch's version, the executor's own source, and the cache",
    "torch_units.py": "the executor's own headers, and the cache",
    "linking.py": "the cache",
    "precompiled.py": "the executor's own headers, and the cache",
    "prepare.py": "the mirror of a program, in the cache",
    "tables.py": "tables of hipport's own",
    "testing.py": "fixtures of hipport's own",
    "extension_verifier.py": "a request to a child process, in a folder made for it; the cache",
    "cmake.py": "a module of hipport's own",
    "contained.py": "folders that a child may write to, and /proc",
    "discovery.py": "lists folders",
    "install_toolchain.py": "packages of Debian's, in the cache",
    "toolchains.py": "the answers of an installed hipcc, in the cache",
    "uniformity_analysis.py": "texts for LLVM's opt, in a folder made for it",
}


@dataclass
class Read:
    """What the tests ask of a module: its imports, its calls, and its attributes of names, with their lines."""

    #: Of `import`, the modules; of `from`, the module and the name.
    imports: list[tuple[str, str | None]] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)
    attributes: list[tuple[str, str, int]] = field(default_factory=list)
    #: The calls that open or write files directly.
    bare: set[str] = field(default_factory=set)


@cache
def read(path: Path) -> Read:
    """Read a module, once for all tests: parsing takes longer than looking."""
    found = Read()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                found.imports += [(alias.name, None) for alias in node.names]
            case ast.ImportFrom():
                found.imports += [(node.module or "", alias.name) for alias in node.names]
            case ast.Attribute(value=ast.Name(id=of), attr=name):
                found.attributes.append((of, name, node.lineno))
            case ast.Call(func=ast.Name(id=name)):
                found.calls.append((name, node.lineno))
                found.bare |= {name} & {"open"}
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in BARE_OF_OS:
                    found.bare.add(f"os.{name}")
                case ast.Attribute(value=ast.Name(id="reading" | "placing" | "below")):
                    pass
                case ast.Attribute(attr=name) if name in BARE:
                    found.bare.add(name)
    return found


@pytest.mark.parametrize(
    "path", [*ENGINE, *sorted((ROOT / "passes").rglob("*.py"))], ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_files_of_a_tree_are_read_and_written_in_one_place(path: Path) -> None:
    found = read(path).bare
    assert not found or path.name in MAY_OPEN, f"{found}: take `reading` or `placing`"


def test_every_file_with_a_permission_to_open_files_uses_it() -> None:
    opening = {path.name for path in (*ENGINE, *(ROOT / "passes").rglob("*.py")) if read(path).bare}
    assert set(MAY_OPEN) == opening


def imported(path: Path) -> set[str]:
    return {module for module, _ in read(path).imports}


#: The packages of the engine, each of which may import the ones above it, and none below.
LAYERS = (
    "core",
    "syntax",
    "program",
    "analysis",
    "engine",
    "testing",
    "workspace",
    "toolchain",
    "building",
    "executor",
    "verifying",
    "reporting",
    "porting",
    "api",
    "cli",
    "__main__",
)


def modules() -> dict[str, Path]:
    """Return the modules of the engine, by their import names."""
    base = ROOT / "src"
    return {".".join(p.relative_to(base).with_suffix("").parts).removesuffix(".__init__"): p for p in ENGINE}


def imports(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the engine's modules that one module imports, also within functions and for types."""
    for module, name in read(path).imports:
        inner = f"{module}.{name}"
        # Every module may know the version.
        if module in known and (inner in known or name != "__version__"):
            yield inner if inner in known else module


def layer(name: str) -> int:
    """Return the layer of a module; the package itself, which names the public imports, is above all."""
    return LAYERS.index(name.split(".")[1]) if "." in name else len(LAYERS)


def test_imports_go_down_the_layers() -> None:
    known = modules()
    upwards = [(name, to) for name, path in known.items() for to in imports(path, known) if layer(to) > layer(name)]
    assert upwards == []


def test_the_page_shows_these_layers_and_the_folders_of_passes() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    shown, below = page.partition("Imports go downward only: ")[2].split(". ", 1)
    assert tuple(re.findall(r"`(\w+)`", shown)) == LAYERS[:-1]
    described = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", below, re.MULTILINE)))
    assert tuple(described) == LAYERS[:-1]
    picture = (ROOT / "docs/pictures/layers.svg").read_text(encoding="utf-8")
    boxes = re.findall(r'font-weight="bold" fill="#111">([^<]*)</text>', picture)
    drawn = [word for box in boxes for word in reversed(box.split(" · "))]
    assert tuple(word for word in reversed(drawn) if word in LAYERS) == LAYERS[:-1]
    folders = {path.parent.name for path in (ROOT / "passes/hipport_passes").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)/` \|", below, re.MULTILINE)) - {"include"} == folders


def test_no_modules_import_each_other() -> None:
    known = modules()
    left = {name: set(imports(path, known)) - {name} for name, path in known.items()}
    # A module without remaining imports is in no cycle.
    while free := {name for name, to in left.items() if not to & left.keys()}:
        left = {name: to for name, to in left.items() if name not in free}
    assert left == {}


def test_no_two_public_classes_have_one_name() -> None:
    classes = Counter(
        node.name
        for path in (*ENGINE, *(ROOT / "passes").rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in classes.items() if count > 1] == []


def test_no_two_modules_have_one_name() -> None:
    """One name identifies one module: in a stack trace, in a search, in conversation."""
    names = Counter(p.stem for p in (*ENGINE, *(ROOT / "passes/hipport_passes").rglob("*.py")) if p.stem[:2] != "__")
    # Layers, folders of passes, and passes with several files are modules, too.
    names += Counter(
        path.name
        for folder in ("src/hipport", "passes/hipport_passes")
        for path in (ROOT / folder).rglob("*")
        if (path / "__init__.py").is_file()
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_the_engine_does_not_know_the_passes(path: Path) -> None:
    knows = any(name.split(".")[0] == "hipport_passes" for name in imported(path))
    assert not knows or {path.name, path.parent.name} & MAY_KNOW_PASSES


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_the_library_does_not_print_exit_or_read_the_environment(path: Path) -> None:
    if path.parent.name == "cli" or path.name in SCRIPTS:
        return
    for name, line in read(path).calls:
        assert name not in ("print", "exit", "input"), f"line {line}"
    for of, name, line in read(path).attributes:
        assert (of, name) not in {("os", "environ"), ("os", "getenv"), ("sys", "exit")}, f"line {line}"


@pytest.mark.parametrize("module", ["hipport", "hipport.engine.pipeline", "hipport_passes"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


#: The modules that start processes without `processes`, and which: this machine's tools, and commands of the user.
BEGIN = {
    "processes.py": "all others",
    "contained.py": "what it contains",
    "loaded_python.py": "forks of it, contained",
    "pipeline.py": "passes, in processes of hipport's own",
    "run_cases.py": "forks of it, inside",
    "toolchains.py": "hipcc, to ask what it is",
    "compilers.py": "g++ and clang, with flags of hipport's",
    "machine.py": "ROCm's tools",
    "overlay.py": "PyTorch's hipify on PyTorch's headers",
    "torch_units.py": "a compiler on PyTorch's headers",
    "recordings.py": "hipport record: the user's own program",
    "install_toolchain.py": "apt-get and dpkg-deb",
    "staged.py": "the user's Git, for --staged alone",
}


def test_python_of_a_tree_is_parsed_in_one_place() -> None:
    """In one place, Python's warnings about a tree's code are kept from users."""
    folders = (ROOT / "src/hipport", ROOT / "passes/hipport_passes")
    parsing = {
        path.name
        for folder in folders
        for path in folder.rglob("*.py")
        if re.search(r"\bast\.(?:parse|literal_eval)\(|\.evaluated_value\b", path.read_text(encoding="utf-8"))
    }
    assert parsing == {"python_script.py"}


@pytest.mark.parametrize("path", ENGINE, ids=lambda path: path.name)
def test_processes_are_begun_in_few_places(path: Path) -> None:
    """Processes for a tree are contained: other modules that start one give the reason here."""
    begins = {"subprocess", "multiprocessing", "pty"} & imported(path)
    for of, name, _ in read(path).attributes:
        if of == "os":
            begins |= set(re.findall(r"fork\w*|system|popen|(?:posix_)?spawn\w*|exec\w*", name))
    assert not begins or path.name in BEGIN


def test_modules_that_are_loaded_by_path_have_the_names_that_are_asked_of_them() -> None:
    # To mypy they are `Any`.
    folder = ROOT / "src/hipport/executor"
    loaded = {"pretend_gpu": "pretend_gpu.py", "arrays": "compare_arrays.py"}
    tree = ast.parse((folder / "run_cases.py").read_text(encoding="utf-8"))
    asked = {
        (loaded[each.value.id], each.attr)
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id in loaded
    }
    defined = {
        (name, each.name)
        for name in loaded.values()
        for each in ast.parse((folder / name).read_text(encoding="utf-8")).body
        if isinstance(each, (ast.FunctionDef, ast.ClassDef))
    }
    assert asked
    assert asked <= defined, asked - defined


def test_no_text_has_a_call_in_braces_that_is_not_made() -> None:
    # A string, or a part of one, that lacks its `f`; docstrings and programs in strings have several lines, or a
    # statement of their own.
    found = []
    for path in sorted((*(ROOT / "src/hipport").rglob("*.py"), *(ROOT / "passes/hipport_passes").rglob("*.py"))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        alone = {each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        found += [
            (path.relative_to(ROOT).as_posix(), each.lineno)
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and each not in alone
            if "\n" not in each.value and re.search(r"\{\w+\(\w*\)\}", each.value)
        ]
    assert found == []


def test_no_code_writes_into_the_attributes_of_an_object() -> None:
    """`vars(each)["_cached"] = …` caches a fact where nothing invalidates it; `core/facts.py` keeps facts."""
    writing = [
        path.name
        for path in (*ENGINE, *(ROOT / "passes/hipport_passes").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)
        if re.fullmatch(r"vars\(.*\)|.*\.__dict__", ast.unparse(node.value))
    ]
    assert not writing

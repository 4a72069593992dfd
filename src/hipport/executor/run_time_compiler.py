# SPDX-License-Identifier: Apache-2.0
"""Compile for NVRTC or hipRTC in a program of the executor, in a process that the program starts.

`variables` are the environment variables that a program needs for that. The process reads a request from its input and
writes the result to its output: `compiled` with the path of a library, or the kind of error, and the log. Sources are
data: they are written to a folder of the cache, rewritten and compiled like those of programs. If the cache cannot be
written, everything goes to a temporary folder. Verified programs have one for their tree (`folder_for`).
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tree_sitter import Node

from hipport.building.digests import digest_of
from hipport.building.locks import locked
from hipport.building.units import Unit
from hipport.core.edits import Edit, Span
from hipport.core.finding import Finding
from hipport.engine.pipeline import Pass
from hipport.executor.compile import Builder, CompileOptions
from hipport.executor.compilers import NoCompiler
from hipport.executor.messages import NotCompiled
from hipport.executor.prepare import Dialect, prepare
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.toolchain.toolchains import cache

#: The variable with the command line of this process, one argument on each line.
VARIABLE = "SIMT_RTC"
#: The limit in seconds for one compiler.
_SECONDS = 300.0
# Isolated: nothing is imported from the folder in which the program runs.
_START = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_module(sys.argv[2], run_name='__main__')"


def variables(env: Mapping[str, str], kept: Path | None = None) -> dict[str, str]:
    """Return the environment variables for a program that compiles while it runs; `env` is hipport's environment.

    `kept` is the folder for results, by default the cache.
    """
    place = kept or cache(env).resolve() / "simt"
    words = [sys.executable, "-I", "-c", _START, str(Path(__file__).parents[2]), __name__, str(place)]
    return {VARIABLE: "\n".join(words)}


@functools.cache
def folder_for(root: Path) -> Path:
    """Return a folder for the results of programs of one tree, which may not write to the cache; it is temporary.

    There is one for each tree, so that a program's files affect only its own tree.
    """
    folder = tempfile.TemporaryDirectory(prefix="hipport-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@dataclass(frozen=True)
class Request:
    """A program's request. `runtime` is the executor's library to which the program is linked."""

    dialect: Dialect
    sanitize: tuple[str, ...]
    runtime: Path
    name: str
    source: bytes
    options: tuple[str, ...] = ()
    headers: tuple[tuple[str, bytes], ...] = ()
    expressions: tuple[str, ...] = ()


class RefusedRequest(Exception):
    """The request is refused. `kind` is `option`, `input` or `source`; the text is the log."""

    def __init__(self, kind: str, log: str) -> None:
        super().__init__(log)
        self.kind = kind


@dataclass
class Flags:
    """A compiler's flags for options of NVRTC or hipRTC; macros are directives.

    These follow the executor's headers, because they may redefine the names there.
    """

    kept: list[str] = field(default_factory=list)
    macros: list[str] = field(default_factory=list)
    standard: int = 17


# Names of the C library that sources for NVRTC, which has none, define themselves.
_FIXED = re.compile(
    rb"\btypedef\b[^;{}]*?\b(?P<typedef>u?int(?:_least|_fast)?(?:8|16|32|64|ptr|max)_t)\s*;"
    rb"|\busing\s+(?P<using>u?int(?:_least|_fast)?(?:8|16|32|64|ptr|max)_t)\s*="
)
_VALUED = ("-I", "-D", "-U")
#: Options of NVRTC (CUDA 12.4, "Supported Compile Options") that have no effect here, without their `=` and value.
_OF_NVRTC = frozenset(
    "-arch --gpu-architecture -dc --device-c -rdc --relocatable-device-code -ewp --extensible-whole-program -G "
    "--device-debug -lineinfo --generate-line-info -dopt --dopt -Xptxas --ptxas-options -maxrregcount --maxrregcount "
    "-ftz --ftz -prec-sqrt --prec-sqrt -prec-div --prec-div -fmad --fmad -use_fast_math --use_fast_math "
    "-extra-device-vectorization --extra-device-vectorization -modify-stack-limit --modify-stack-limit -dlto "
    "--dlink-time-opt -no-source-include --no-source-include -default-device --device-as-default-execution-space "
    "-device-int128 --device-int128 -optimization-info --optimization-info -builtin-move-forward "
    "--builtin-move-forward -builtin-initializer-list --builtin-initializer-list -w --disable-warnings -restrict "
    "--restrict -diag-error --diag-error -diag-suppress --diag-suppress -diag-warn --diag-warn -err-no "
    "--display-error-number -no-err-no --no-display-error-number -split-compile --split-compile".split()
)
#: Options whose value may be the next argument.
_SEPARATE = frozenset(
    "-arch --gpu-architecture -maxrregcount --maxrregcount -Xptxas --ptxas-options -dopt --dopt "
    "--diag-suppress -diag-suppress".split()
)
_GPU = re.compile(r"gfx[0-9a-f]+(?:-generic)?(?::(?:xnack|sramecc)[+-])*")
#: Options of clang that have no effect here.
_OF_CLANG = re.compile(r"-O[0-3s]|-Ofast|-g\w*|-W[\w=+-]*|-w|-f[\w=,.-]+|-m(?!llvm$)[\w=,.-]+|-pthread|-munsafe[\w-]+")


def flags_of(options: Sequence[str], dialect: Dialect) -> Flags:
    """Return a compiler's flags for options. Raises RefusedRequest for those that NVRTC, or hipRTC's clang, rejects."""
    flags = Flags()
    words = [word for option in options for word in option.replace("\n", " ").split(" ") if word]
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in _VALUED or name in ("--include-path", "--define-macro", "--undefine-macro"):
            flag = {"--include-path": "-I", "--define-macro": "-D", "--undefine-macro": "-U"}.get(name, word)
            if flag != word and dialect == "hip":
                raise RefusedRequest("option", _unknown(word, dialect))
            _keep(flags, flag, value if equals and flag != word else next(rest, ""))
        elif word[:2] in _VALUED:
            _keep(flags, word[:2], word[2:])
        elif name in ("-std", "--std"):
            asked = re.fullmatch(r"(?:c|gnu)\+\+(03|11|14|17|20|23|2a|2b)", value)
            if asked is None:
                raise RefusedRequest("option", _unknown(word, dialect))
            flags.standard = max(17, {"03": 3, "2a": 20, "2b": 23}.get(asked[1]) or int(asked[1]))
        elif dialect == "cuda" and name in ("-include", "--pre-include"):
            flags.kept += ["-include", value if equals else next(rest, "")]
        elif dialect == "cuda" and name in _OF_NVRTC:
            if not equals and name in _SEPARATE:
                next(rest, "")
        elif dialect == "hip" and name in ("--offload-arch", "--gpu-architecture"):
            # hipRTC treats the second form like the first.
            if not _GPU.fullmatch(value):
                raise RefusedRequest("source", f"error: invalid target ID '{value}': {word}")
        elif dialect == "hip" and word in ("-include", "-mllvm"):
            following = next(rest, "")
            flags.kept += ["-include", following] if word == "-include" else []
        elif dialect == "hip" and (_OF_CLANG.fullmatch(word)):
            continue
        else:
            raise RefusedRequest("option", _unknown(word, dialect))
    return flags


def _keep(flags: Flags, flag: str, value: str) -> None:
    name, equals, text = value.partition("=")
    if flag == "-I":
        flags.kept.append(f"-I{os.path.normpath(Path.cwd() / value)}")
    elif flag == "-D":
        flags.macros.append(f"#define {name} {text if equals else '1'}")
    else:
        flags.macros.append(f"#undef {value}")


def _unknown(option: str, dialect: Dialect) -> str:
    if dialect == "cuda":
        return f"nvrtc: error: unrecognized option '{option}'"
    return f"error: unknown argument: '{option}'"


def known_kernels(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding for each kernel, which inserts a record of its address and type after it."""
    if b"__global__" not in source.words:
        return
    waiting = [source.tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.type == "template_declaration":
            continue  # known by name expressions
        body = node.child_by_field_name("body") if node.type == "function_definition" else None
        if body is None:
            waiting += node.children
            continue
        head = source.code[node.start_byte : body.start_byte]
        name = _name(node)
        if name and b"__global__" in head:
            end = Span(body.end_byte, body.end_byte)
            edit = Edit(end, b" SIMT_KNOWN_KERNEL(%d, %s)" % (node.start_byte, name))
            yield Finding(Span(node.start_byte, body.start_byte), "kernel", name.decode(), (edit,))


def _name(function: Node) -> bytes:
    node = function.child_by_field_name("declarator")
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator")
    name = node.child_by_field_name("declarator") if node is not None else None
    return name.text or b"" if name is not None and name.type == "identifier" else b""


KERNELS = Pass(Cpp, known_kernels)


def compiled(request: Request, kept: Path, env: Mapping[str, str]) -> tuple[Path, str]:
    """Return the library for the request's source, and the log. Raises RefusedRequest, and NoCompiler."""
    flags = flags_of(request.options, request.dialect)
    for header, _ in request.headers:
        place = PurePosixPath(header)
        if place.is_absolute() or ".." in place.parts or not place.parts:
            raise RefusedRequest(
                "input", f"error: a header cannot be named {header!r}: it would lie outside of its folder"
            )
    whole = _may_write(kept)
    if not whole:
        kept = Path(tempfile.mkdtemp(prefix="hipport-"))
    options = CompileOptions(env, sanitize=request.sanitize, precompile=whole, timeout=_SECONDS)
    builder = _Builder(options, request.dialect, kept, request.runtime)
    key = digest_of(request.dialect, request.name, request.source.hex(), [(n, t.hex()) for n, t in request.headers])
    entry = kept / "trees" / f"run-time-{key[:24]}"
    with locked(entry):
        folder = entry / "source"
        name = re.sub(r"[^\w.+-]", "_", PurePosixPath(request.name).name) or "program"
        name = name if name.endswith(".cu") else f"{name}.cu"
        _write(folder / name, request.source)
        for each, text in request.headers:
            _write(folder / each, text)
        unit = folder / f"unit-{digest_of(request.expressions, flags.macros)[:16]}" / "unit.cu"
        _write(unit, _unit(name, request, flags.macros))
        given = [Path(flag[2:]) for flag in flags.kept if flag.startswith("-I")]
        rtc = ("-D__CUDACC_RTC__",) if request.dialect == "cuda" else ("-D__HIPCC_RTC__",)
        own = (*rtc, f"-I{folder}", *flags.kept, f"-std=c++{flags.standard}")
        prepared = prepare(
            [folder], entry / f"tree-{request.dialect}", request.dialect, passes=(KERNELS,), folders=[folder, *given]
        )
        (made,) = builder.compile([Unit(unit, "hip", own, folder, name)], prepared)
        log = "".join(
            f"{request.name if each.path.name == name else each.path.name}({each.line}): {each.severity}: {each.text}\n"
            for each in made.messages
            if each.severity in ("error", "warning")
        )
        if not made.ok:
            raise RefusedRequest("source", log or made.said)
        path, _ = builder.link([made], shared=True, name="module.so")
    return path, log


@dataclass(frozen=True)
class _Builder(Builder):
    """A builder that keeps results in a given folder, and links the runtime of the program that asks."""

    folder: Path
    loaded: Path

    @property
    def kept(self) -> Path:
        return self.folder

    def runtime(self) -> Path:
        return self.loaded


def _may_write(folder: Path) -> bool:
    """Whether files can be created in a folder: a guard of files shows only when tried."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != text:
        path.write_bytes(text)


def _unit(name: str, request: Request, macros: Sequence[str]) -> bytes:
    """Return the unit: the source, followed by a record of the addresses that name expressions mean."""
    fixed = {
        match["typedef"] or match["using"] for match in _FIXED.finditer(Cuda(PurePosixPath(name), request.source).code)
    }
    lines = [b"#define %s simt_own_%s" % (each, each) for each in sorted(fixed)]
    lines += [b'#line 1 "options"', *(os.fsencode(macro) for macro in macros)]
    lines.append(b'#include "%s"' % name.encode())
    for number, expression in enumerate(request.expressions):
        text = json.dumps(expression, ensure_ascii=False).encode()
        # Without parentheses a name would be declared.
        said = b"static const bool simt_expression_%d = ::simt::modules::Of{%s}((%s));"
        lines += [b'#line 1 "name expression"', said % (number, text, expression.encode())]
    return b"\n".join(lines) + b"\n"


def _fields(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline():
        yield file.read(int(line))


def read_request(file: BinaryIO) -> Request:
    """Read a request that the runtime has written (runtime/run_time.cpp)."""
    fields = _fields(file)
    dialect, sanitize, runtime, name, source = (next(fields) for _ in range(5))
    options = tuple(os.fsdecode(next(fields)) for _ in range(int(next(fields))))
    headers = tuple((os.fsdecode(next(fields)), next(fields)) for _ in range(int(next(fields))))
    expressions = tuple(next(fields).decode("utf-8", "replace") for _ in range(int(next(fields))))
    return Request(
        "hip" if dialect == b"hip" else "cuda",
        tuple(sanitize.decode().split()),
        Path(os.fsdecode(runtime)),
        name.decode("utf-8", "replace"),
        source,
        options,
        headers,
        expressions,
    )


def answer(request: Request, kept: Path, env: Mapping[str, str]) -> str:
    """Return the answer to the program: a word, the library's path, and the log."""
    try:
        path, log = compiled(request, kept, env)
    except RefusedRequest as why:
        return f"{why.kind}\n\n{why}\n"
    except (NotCompiled, NoCompiler) as why:
        return f"source\n\n{why}\n"
    return f"compiled\n{path}\n{log}"


if __name__ == "__main__":
    sys.stdout.write(answer(read_request(sys.stdin.buffer), Path(sys.argv[-1]), os.environ))

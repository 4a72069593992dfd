# SPDX-License-Identifier: Apache-2.0
"""Report uses of NVIDIA's tools in scripts, descriptions of images and notebooks; port the ABI and folders they name.

`hipport build` reads makefiles and setup.py files. A compiler that is called by hand must be called by hand on ROCm
too, with the flags in the message. PyTorch's builds for ROCm have the new ABI of the C++ library, like ROCm's own
libraries: code that asks for the old one by `-D_GLIBCXX_USE_CXX11_ABI=0` cannot be linked with them. CUDA in the cells
of a notebook is not in a file that hipport reads.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path, PurePath

from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.core.source import Source
from hipport.core.tables import Words, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.build_names import NAMES
from hipport.syntax.notebook import Notebook
from hipport.syntax.packaging import ToxIni
from hipport.syntax.python_script import Python
from hipport.syntax.shell import Command, Definition, Dockerfile, DockerInstruction, Markdown, Shell, Word, settings
from hipport.syntax.tasks import tasks
from hipport.syntax.toml import Toml
from hipport.syntax.yaml import Workflow
from hipport_passes.build_files import nvidia_tools
from hipport_passes.build_files.nvcc_flags import ABI_BY_VARIABLE, OLD_ABI, translate, worded
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.image_environment import of_image

_WORDS = Words.read(Path(__file__).with_suffix(".toml"), general=NAMES)
_NVCC = _WORDS.compile(r"(?:\S*/)?(?&nvcc)(?:-[\d.]+)?|\$\{?\w*(?&nvcc_in_macros)\w*\}?", re.IGNORECASE)
_SMI = _WORDS.compile("(?&nvidia_smi)")
_SINGULARITIES = frozenset(_WORDS["singularities"].split())
_SINGULARITY_COMMANDS = frozenset(_WORDS["singularity_commands"].split())
_SINGULARITY_FLAGS = frozenset(_WORDS["singularity_flags"].split())
_CLOSING = re.compile(rb"^[ \t]*\}|[;\s]\}", re.MULTILINE)
_SUBSTITUTED = re.compile(rb"(?:\$\([ \t]*|`)([\w-]+)")
_FUNCTION = re.compile(rb"^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*(?:\([ \t]*\))?[ \t\r\n]*\{", re.MULTILINE)
_ROCM_WORDS = _WORDS.compile(r"(?&rocm)|(?<![a-z])(?:(?&rocm_alone)(?![a-z])|(?&amd)(?!64|[a-z]))", re.IGNORECASE)
_CUDA_WORDS = _WORDS.compile(r"(?&cuda)", re.IGNORECASE)
_SOURCE = _WORDS.compile(r".*\.(?&cuda_suffixes)")
# The arguments of these are printed or searched for; they are not flags.
_PRINTS = frozenset({"echo", "printf", "grep", "egrep", "awk", "log", "info", "warn", "die"})
# The pattern excludes nvcc itself and folders that lie elsewhere in ROCm (stubs, targets, compat).
_FOLDER = re.compile(
    rb"/usr/local/cuda(?:-[\d.]+\d)?(?:(?P<lib>/lib64)(?!/)|(?=/bin(?!/)|/include|/lib(?!\w|/)|/?(?:[\s:\"']|$)))"
)
_PYTHON = _WORDS.compile(r"(?:.*/)?(?&pythons)[\d.]*|\$\{?(?&python_variables)\w*\}?|\{(?&interpreters)\}")
# A quick test whether Python code can have a finding.
_ASKS = _WORDS.compile(r"(?&python)")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_WHOLE = re.compile(r"\$\{?(\w+)(?:\[[@*]\])?\}?")
_DECLARES = frozenset(("declare", "local", "readonly", "typeset", "export"))
# nvcc reads options from these ("CUDA Compiler Driver NVCC", 13.0).
_NVCC_OPTIONS = _WORDS.compile(r"(?&nvcc_options)")
_NVIDIA_SMI = _WORDS.compile(r"(?:.*/)?(?&nvidia_smi)")
# The host's compilers, and tests for a tool or a folder of NVIDIA's.
_HOSTS = _WORDS.compile(r"(?:.*/)?(?&host_compilers)(?:-[\d.]+)?|\$\{?(?&compiler_variables)\}?")
_LOOKS, _TOOLS, _FOLDERS = (one_of(_WORDS[each]).encode() for each in ("looks", "tools", "folders"))
_LOOKED_FOR = re.compile(
    rb"(?P<not>![ \t]*)?(?:\[\[?[ \t]+(?:-x[ \t]+)?\"?\$\()?[ \t]*\b(?:command[ \t]+-v|" + _LOOKS + rb")[ \t]+"
    rb"[\"']?(?:[\w./${}]+/)?(?P<tool>" + _TOOLS + rb")\b"
    rb"|(?:\[\[?|\btest)[ \t]+(?P<negated>![ \t]+)?-(?P<how>[zndexf])[ \t]+"
    rb"[\"']?\$\{?(?P<variable>" + _FOLDERS + rb")\b"
)
_IF_OR_FI = re.compile(rb"(?:^|[;\s])(if|fi)\b")
_STOPS = _WORDS.compile(rb"\b(?&stops)\b|\breturn[ \t]+[1-9]")
_INSTEAD = {
    "nvcc": "hipcc is the compiler there",
    "nvidia-smi": "rocm-smi and amd-smi report the GPUs there",
    "CUDA_HOME": "ROCm's counterpart is ROCM_PATH, by default /opt/rocm",
    "CUDA_PATH": "ROCm's counterpart is ROCM_PATH, by default /opt/rocm",
    "CUDA_ROOT": "ROCm's counterpart is ROCM_PATH, by default /opt/rocm",
}
_ARCHS = _WORDS.compile(r"\$\{?\w*(?&archs)\w*\}?", re.IGNORECASE)
_NVIDIA_CONTAINER = _WORDS.compile(r"--gpus(?:=|$)|(?&runtimes)\b|(?&container)")
# Package managers of Linux distributions.
_INSTALLERS = frozenset(("apt", "apt-get", "aptitude", "yum", "dnf", "microdnf", "tdnf", "zypper"))
# NVIDIA's module names on clusters; NVIDIA's installers and their addresses.
_MODULE = _WORDS.compile(r"(?i)(?:.*/)?(?&modules)(?:[-/_.]*\d[\w./-]*)?")
_INSTALLER = _WORDS.compile(r"(?:^|/)(?&installers)[\d.]+_[\w.]*\.run$|(?&addresses)|(?&keyrings)[\w.-]+\.deb$")
#: NVIDIA's compiler, libraries and drivers in Debian's and NVIDIA's repositories.
_DEBIAN = re.compile(one_of(_WORDS["debian"], r"[\w.-]*") + "(?:[=:].*)?")
#: Magics of notebook extensions that pass a cell to nvcc: nvcc4jupyter's, old and new.
_CELLS = frozenset({"cu", "cuda", "cuda_run", "cuda_group_save", "cuda_group_run", "nvcc", "nvcc_plugin"})
# Names of files that hipport ports, and words in such files that are for CUDA only.
_READ = _WORDS.compile(r"(?:.*/)?(?:.+\.(?&suffixes)|(?&files)|[\w-]*(?&requirements)[\w-]*\.txt)")
_WRITTEN = _WORDS.compile(
    rb"(?&written)|\b(?&written_alone)\b|\b(?&images):"
    rb"|\bcu1[12]\d\b|LANGUAGES[^\n)]*(?&cuda_in_macros)|(?&cuda_release)\b"
)


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding per call of NVIDIA's tools or container runtime, flag for the old ABI, and cell with CUDA."""
    found = _find(source, project)
    if isinstance(source, Shell) and source.path in project.fact(_run_by_workflows):
        # These belong to the decision about the workflow.
        found = (replace(each, about=INTEGRATION) if each.certainty is Certainty.MANUAL else each for each in found)
    yield from found


def _run_by_workflows(project: Project) -> frozenset[PurePath]:
    """Return the scripts that jobs of continuous integration run, and that no other file of the tree names."""
    workflows = [each for each in project.sources if isinstance(each, Workflow)]
    words = {word.text.removeprefix("./") for each in workflows for command in each.commands for word in command.words}
    run = {each.path for each in project.sources if isinstance(each, Shell) and words and each.path.as_posix() in words}
    if not run:
        return frozenset()
    names = re.compile(b"|".join(re.escape(path.name.encode()) for path in sorted(run)))
    named = {
        match.group().decode(errors="replace")
        for each in project.sources
        if not isinstance(each, (Workflow, Markdown)) and each.path not in run
        for match in names.finditer(each.text)
    }
    return frozenset(path for path in run if path.name not in named)


def _find(source: Source, project: Project) -> Iterator[Finding]:
    match source:
        case Shell():
            yield from in_commands(source, source.commands, project)
            yield from _written_by(source)
        case Definition():
            yield from in_commands(source, source.commands, project)
            if any(_ROCM_WORDS.search(word.text) for _, word in source.headers):
                for command in source.commands:
                    if command.words[0].text == "export" or "=" in command.words[0].text:
                        yield from _folders(source, command.span, project)
        case Dockerfile():
            yield from in_commands(source, source.commands, project)
            yield from _in_image(source, project)
        case ToxIni():
            yield from in_commands(source, source.commands, project)
        case Toml():
            for entry, script in tasks(source):
                # Judged without its workflow: a task may be for another machine, and its text is in a string.
                for finding in in_commands(script, script.commands, project):
                    yield Finding(entry.span, finding.kind, finding.message, (), Certainty.MANUAL)
        case Notebook():
            commands = source.commands
            assert isinstance(commands.source, Shell)
            for finding in in_commands(commands.source, commands.source.commands, project):
                yield commands.carried(finding)
            yield from _in_cells(source)


def _written_by(source: Shell) -> Iterator[Finding]:
    """Yield the files for CUDA that a script writes."""
    for name, text in source.written:
        if _READ.fullmatch(name) and (written := _WRITTEN.search(source[text])) is not None:
            span = Span(text.start + written.start(), text.start + written.end())
            message = (
                f"writes the file {name}, which is CUDA (`{written.group().decode()}`), and hipport ports files "
                "only: make it a file of the repository and port that"
            )
            yield Finding(span, "written", message, (), Certainty.MANUAL)


def _in_image(source: Dockerfile, project: Project) -> Iterator[Finding]:
    """Yield the findings on an image's environment, and on its commands."""
    on_rocm = set(_on_rocm(source))
    for each in source.instructions:
        if each.name in ("ENV", "ARG"):
            yield from _abi(source, each.span)
        if each.name == "ENV" and each in on_rocm:
            compilers = list(_compilers(each.words, project, image=True))
            yield from compilers
            yield from _folders(source, each.span, project, [edit.span for c in compilers for edit in c.edits])
        elif each.name in ("CMD", "ENTRYPOINT", "HEALTHCHECK"):
            if b"nvidia-smi" in source[each.span]:
                yield _asks_nvidia(each.span)
            listed = [word for word in re.split(r"[\s\[\],\"']+", source[each.span].decode(errors="replace")) if word]
            if found := nvidia_tools.run_by(listed[1:]):
                yield from nvidia_tools.reported({found[1]: [each.span]})


def _in_cells(source: Notebook) -> Iterator[Finding]:
    """Yield the cells of a notebook that are CUDA, or that write files for it."""
    for name, rest, span, code in source.magics:
        writes = name in ("writefile", "file")
        file = rest.split(" ")[-1]
        if name in _CELLS or (writes and _SOURCE.fullmatch(file)):
            message = (
                "this cell is CUDA, and hipport ports files only: put it into a file, port that, and compile it "
                "with hipcc"
            )
            yield Finding(span, "cell", message, (), Certainty.MANUAL)
        elif writes and _READ.fullmatch(file) and (written := _WRITTEN.search(code)) is not None:
            message = (
                f"this cell writes a file that is CUDA (`{written.group().decode()}`), and hipport ports files "
                "only: make it a file of the repository and port that"
            )
            yield Finding(span, "cell", message, (), Certainty.MANUAL)


#: The subject of findings in workflows, and in scripts that only workflows run.
INTEGRATION = "continuous integration"


def in_commands(source: Source, commands: Sequence[Command], project: Project) -> Iterator[Finding]:
    """Yield the findings on commands that are NVIDIA's, and on flags for the old ABI in commands."""
    # `requirements` also inserts lines that name ROCm, for the source of packages.
    knows_rocm = any(
        _ROCM_WORDS.search(word.text)
        for command in commands
        if not any(word.text == "install" for word in command.words)
        for word in command.words
    )
    tools: dict[str, list[Span]] = defaultdict(list)
    given = _given_to_nvcc(commands)
    for command in commands:
        # A branch for ROCm, or a branch for CUDA in a script that has another one for ROCm.
        if command.asks(_ROCM_WORDS) or (knows_rocm and command.asks(_CUDA_WORDS)):
            continue
        words = [word.text for word in command.words]
        set_here = command.words[1:] if words[0] == "export" else command.words if "=" in words[0] else command.assigned
        yield from _settings(source, command, set_here, given, project)
        for word in set_here:
            # `PROFILER="nsys profile"`, which precedes later commands.
            if name := _tool(source, command, word.text.partition("=")[2].split()):
                tools[name].append(word.span)
        if name := _tool(source, command, words):
            tools[name].append(command.span)
        while words[0] in ("sudo", "exec", "time", "watch") and len(words) > 1:
            del words[0]
        yield from _python(source, command, words, project)
        yield from _program(source, command, words, project)
    yield from nvidia_tools.reported(tools)
    if not knows_rocm:
        yield from _insisted(source, commands)


def _settings(
    source: Source, command: Command, set_here: Sequence[Word], given: frozenset[str], project: Project
) -> Iterator[Finding]:
    """Yield the findings on flags for the ABI, and on variables that a command sets or declares."""
    name = command.words[0].text
    if (
        name not in _PRINTS
        or re.match(rb"[ \t]*>", source.text[command.span.end : command.span.end + 9])
        or _is_returned(source, command)
    ):
        first = [*command.assigned, *command.words][0]
        yield from _abi(source, Span(first.span.start, command.span.end))
    yield from _compilers([word for word in set_here if "=" in word.text], project)
    declared = command.words[1:] if name in _DECLARES else set_here
    yield from _flags([word for word in declared if word.text.partition("=")[0].rstrip("+") in given], project)


def _program(source: Source, command: Command, words: Sequence[str], project: Project) -> Iterator[Finding]:
    """Yield the findings on the program that a command runs."""
    program = words[0]
    if _NVCC.fullmatch(program):
        yield _compiled(words[1:], command, project)
    elif _HOSTS.fullmatch(program) and (linked := _linked(words[1:], project)):
        message = f"its options name files of CUDA, which ROCm does not have: {linked}"
        yield Finding(command.span, "host_compiler", message, (), Certainty.MANUAL)
    elif _NVIDIA_SMI.fullmatch(program) and not command.asks(_SMI) and not _may_fail(source, command):
        yield _asks_nvidia(command.span)
    elif not _SINGULARITIES.isdisjoint(words) and "--nv" in words and program not in _PRINTS:
        yield from _in_container(command)
    elif program in ("nvidia-docker", "nvidia-docker2") or (
        program in ("docker", "podman")
        and (any(map(_NVIDIA_CONTAINER.match, words)) or ("--runtime", "nvidia") in pairwise(words))
    ):
        message = (
            "NVIDIA's container runtime gives containers NVIDIA's GPUs: for AMD's, docker run --device=/dev/kfd "
            "--device=/dev/dri --group-add=video --ipc=host"
            if not {"build", "pull"} & set(words[1:2])
            else "nvidia-docker is for NVIDIA's GPUs: docker builds images"
        )
        yield Finding(command.span, "container", message, (), Certainty.MANUAL)
    elif program in _INSTALLERS and {"install", "in"} & set(words[1:]):
        names = [word for word in words[1:] if _DEBIAN.fullmatch(word)]
        if names:
            message = (
                f"{', '.join(names)}: NVIDIA's packages, which ROCm does not need, and nvcc on the path misleads "
                "hipcc; leave them out, because AMD's images have ROCm's libraries"
            )
            yield Finding(command.span, "packages", message, (), Certainty.MANUAL)
    elif program in ("module", "ml") and (named := [each for each in words[1:] if _MODULE.fullmatch(each)]):
        message = (
            f"loads {', '.join(named)}, for NVIDIA's GPUs: `module avail rocm` lists the cluster's modules for AMD's"
        )
        yield Finding(command.span, "module", message, (), Certainty.MANUAL)
    elif program not in _PRINTS and any(map(_INSTALLER.search, words)):
        message = "installs NVIDIA's toolkit or driver, which ROCm does not need, and nvcc on the path misleads hipcc"
        yield Finding(command.span, "packages", message, (), Certainty.MANUAL)


def _in_container(command: Command) -> Iterator[Finding]:
    """Make Singularity give a container AMD's GPUs instead of NVIDIA's."""
    options = list(_singularity_options(command))
    # With --rocm too, AMD's GPUs are already requested.
    if any(option.text == "--rocm" for option in options):
        return
    given = [option for option in options if option.text == "--nv"]
    if given:
        message = "--nv gives a container NVIDIA's GPUs, --rocm AMD's; assumes that its image is for ROCm"
        edits = tuple(Edit(option.span, b"--rocm") for option in given)
        yield Finding(given[0].span, "container", message, edits, Certainty.REVIEW)


def _singularity_options(command: Command) -> Iterator[Word]:
    """Yield the options before the image. Those of the program in it are its own."""
    number = next(i for i, word in enumerate(command.words) if word.text in _SINGULARITIES)
    may_have_value = False
    for word in command.words[number + 1 :]:
        if word.text.startswith("-"):
            may_have_value = word.text not in _SINGULARITY_FLAGS and "=" not in word.text
            yield word
        elif may_have_value:
            may_have_value = False
        # A variable may have options.
        elif word.text not in _SINGULARITY_COMMANDS and not word.text.startswith("$"):
            return


def _python(source: Source, command: Command, words: Sequence[str], project: Project) -> Iterator[Finding]:
    """Yield the first finding on Python code in a command, `python -c "…"`, for a person."""
    if not _PYTHON.fullmatch(words[0]) or _may_fail(source, command):
        return
    # Options after a script's name belong to the script.
    at = next((i for i, word in enumerate(words[1:], 1) if not word.startswith("-") or word.endswith("c")), 0)
    code = words[at + 1] if at + 1 < len(words) and words[at].startswith("-") else ""
    if not at or not _ASKS.search(code):
        return
    from hipport_passes.python import device_strings, python_gates

    script = Python(source.path.with_suffix(".py"), code.encode())
    said = [each for find_in in (python_gates.find, device_strings.find) for each in find_in(script, project)]
    if said:
        message = f"in the Python that is run here: {'; '.join(dict.fromkeys(each.message for each in said))}"
        yield Finding(command.span, said[0].kind, message, (), Certainty.MANUAL)


def _linked(words: Sequence[str], project: Project) -> str:
    """Return the text about CUDA's folders and libraries in a host compiler's command; "" if there are none."""
    changes = translate(words, of="link", rocm=project.target.rocm, shell=True).changes
    return worded(change for change in changes if change.kind in ("library", "cuda_path"))


def _insisted(source: Source, commands: Sequence[Command]) -> Iterator[Finding]:
    """Yield the places where a script stops if a tool or a folder of NVIDIA's is missing."""
    if not commands:
        return
    text, said = source.text, set()
    starts = sorted((each.span.start, each.span.end) for each in commands)
    ends = list(accumulate((_end_of(text, end) for _, end in starts), max))
    for match in _LOOKED_FOR.finditer(text):
        line = text.rfind(b"\n", 0, match.start()) + 1
        name = (match["tool"] or match["variable"]).decode()
        head = text[line : match.start()]
        if name in said or b"#" in head or not _on_line_of_any(match.end(), starts, ends):
            continue
        negations = (match["not"] or head.rstrip().endswith(b"!"), match["how"] == b"z", match["negated"])
        absent = sum(map(bool, negations)) % 2 == 1
        if _stops(text, match.end(), re.search(rb"(?:^|[;\s])(?:el)?if\b", head) is not None, absent):
            said.add(name)
            message = f"stops without {name}, which ROCm does not have: {_INSTEAD[name]}"
            yield Finding(Span(*match.span()), "insisted", message, (), Certainty.MANUAL)


def _on_line_of_any(at: int, commands: Sequence[tuple[int, int]], ends: Sequence[int]) -> bool:
    """Return whether the place lies on the lines of a command, from its beginning to the end of its last line."""
    before = bisect_right(commands, at, key=lambda each: each[0]) - 1
    return before >= 0 and at <= ends[before]


def _end_of(text: bytes, at: int) -> int:
    """Return the end of the line at a position."""
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


def _stops(text: bytes, at: int, condition: bool, absent: bool) -> bool:
    """Return whether the script stops if something is missing; `absent`: the condition asks for its absence."""
    if condition:
        end = _IF_OR_FI.search(text, at)
        if end is not None and end[1] == b"if":
            return False  # A nested `if`.
        body = text[at : end.start() if end else len(text)]
        then, _, otherwise = body.partition(b"else")
        return _STOPS.search(then if absent else otherwise) is not None
    line = re.compile(rb"(?:\\\r?\n|[^\n])*").match(text, at)
    rest = line.group() if line else b""
    joined = re.search(rb"&&|\|\|", re.sub(rb"[\d&]?>&?[ \t]*(?:/dev/null|\d)", b"", rest))
    if joined is None or (joined.group() == b"&&") is not absent:
        return False
    behind = text[at + rest.index(joined.group()) :]
    block = re.match(rb"(?:&&|\|\|)[ \t]*[{(](?P<inside>[^})]*)[})]", behind)
    return _STOPS.search(block["inside"] if block else rest) is not None


def _tool(source: Source, command: Command, words: Sequence[str]) -> str:
    """Return the tool of NVIDIA's that a command runs and needs, or ""."""
    found = nvidia_tools.run_by(words)
    if found is None or _may_fail(source, command):
        return ""
    # Under `if command -v nsys`; a test of a user's argument does not count.
    asked = re.compile(rf"(?:(?<!\S)-[vVx]|\b{_LOOKS.decode()})\b[^&|]*{re.escape(words[found[0]])}")
    return "" if command.asks(asked) else found[1]


def _may_fail(source: Source, command: Command) -> bool:
    """Return whether the script continues if the command is missing: `… || true`."""
    end = command.span.end
    return re.match(rb"[^\n;&]*?\|\|", source.text[end : end + 200]) is not None


def _asks_nvidia(span: Span) -> Finding:
    message = "ROCm has no nvidia-smi: `rocm-smi`, or `amd-smi` from ROCm 6 on, reports GPUs, in another format"
    return Finding(span, "nvidia_smi", message, (), Certainty.MANUAL)


def _is_returned(source: Source, command: Command) -> bool:
    """Return whether a function returns the command's output: `flags() { echo …; }`, `$(flags)`."""
    functions, ends = source.fact(_functions)
    number = bisect_left(ends, command.span.end)
    if number == len(ends):
        return False
    inside, name = functions[number]
    return inside <= command.span.start and name in source.fact(_substituted)


def _functions(source: Source) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Return the starts of a script's function bodies with their names, and their ends, in order."""
    found = list(_FUNCTION.finditer(source.text))
    ends, end = [], 0
    for match in found:
        if end <= match.end():
            closing = _CLOSING.search(source.text, match.end())
            end = closing.start() if closing is not None else len(source.text)
        ends.append(end)
    return [(match.end(), match[1]) for match in found], ends


def _substituted(source: Source) -> frozenset[bytes]:
    """Return the commands whose output a script substitutes."""
    return frozenset(_SUBSTITUTED.findall(source.text))


def _abi(source: Source, span: Span) -> Iterator[Finding]:
    for match in ABI_BY_VARIABLE.finditer(source.text, span.start, span.end):
        # `OLD=0`, but not `OLD=$(python -c …)`, which asks PyTorch.
        if re.search(
            rb"^[ \t]*(?:export[ \t]+)?" + match[1] + rb"=([\"']?)0\1[ \t]*(?:[;#\r\n]|\Z)", source.text, re.MULTILINE
        ):
            name = match[1].decode()
            message = (
                f"the old ABI of the C++ library, where {name} is 0: PyTorch for ROCm and ROCm's libraries have the "
                f"new one; set {name} to 1"
            )
            yield Finding(Span(*match.span()), "abi", message, certainty=Certainty.MANUAL)
    for match in OLD_ABI.finditer(source.text, span.start, span.end):
        message = (
            "the old ABI of the C++ library: PyTorch for ROCm and ROCm's libraries have the new one; assumes that "
            "this is linked with them"
        )
        edit = Edit(Span(match.end() - 1, match.end()), b"1")
        yield Finding(Span(*match.span()), "abi", message, (edit,), Certainty.REVIEW)


def _on_rocm(source: Dockerfile) -> Iterator[DockerInstruction]:
    """Yield the instructions of stages that start from an image for ROCm."""
    arguments: dict[str, str] = {}
    rocm = False
    for each in source.instructions:
        if each.name == "ARG":
            arguments |= dict(word.text.split("=", 1) for word in each.words if "=" in word.text)
        elif each.name == "FROM":
            said = [word.text for word in each.words]
            said += [arguments.get(name, "") for text in said for name in _VARIABLE.findall(text)]
            rocm = any(map(_ROCM_WORDS.search, said))
        elif rocm:
            yield each


def _folders(source: Source, span: Span, project: Project, replaced: Sequence[Span] = ()) -> Iterator[Finding]:
    """Yield CUDA's folders in an image's environment: in paths, and as CUDA_HOME and the like.

    Without those in text that is `replaced` as a whole.
    """
    edits = []
    for match in _FOLDER.finditer(source.text, span.start, span.end):
        if any(each.start <= match.start() < each.end for each in replaced):
            continue
        new = b"/opt/rocm" + (b"/lib" if match["lib"] else b"")
        edits.append(Edit(Span(*match.span()), new))
    if edits:
        message = f"AMD's images have ROCm in /opt/rocm; {of_image(Asking(project))}"
        yield Finding(span, "folder", message, tuple(edits), Certainty.REVIEW)


def _compilers(words: Sequence[Word], project: Project, *, image: bool = False) -> Iterator[Finding]:
    """Yield the variables that name nvcc to CMake or set its options; in an image for ROCm they become HIP's."""
    for name, value, span in settings(words):
        if name == "CUDACXX":
            # cmake-env-variables(7): HIPCXX is a clang++ that compiles HIP, and must not be hipcc.
            message = "CMake reads HIP's compiler, which is ROCm's clang++, from HIPCXX and not from CUDACXX"
            if image and _NVCC.fullmatch(value):
                edit = Edit(span, b"HIPCXX=/opt/rocm/llvm/bin/clang++")
                message += "; assumes that ROCm is in /opt/rocm"
                yield Finding(span, "compiler", message, (edit,), Certainty.REVIEW)
            else:
                yield Finding(span, "compiler", message, (), Certainty.MANUAL)
        elif _NVCC_OPTIONS.fullmatch(name):
            kept = translate(value.split(), rocm=project.target.rocm, shell=True).kept
            if kept:
                message = f"only nvcc reads {name}; for hipcc: HIPCC_COMPILE_FLAGS_APPEND={_quoted(' '.join(kept))}"
                yield Finding(span, "compiler", message, (), Certainty.MANUAL)


def _given_to_nvcc(commands: Sequence[Command]) -> frozenset[str]:
    """Return the variables and arrays that are whole arguments of nvcc, as flags: `$FLAGS`, `"${FLAGS[@]}"`."""
    found = set()
    for command in commands:
        words = [word.text for word in command.words]
        while words[0] in ("sudo", "exec", "time") and len(words) > 1:
            del words[0]
        if _NVCC.fullmatch(words[0]):
            found |= {
                match[1] for word in words[1:] if (match := _WHOLE.fullmatch(word)) and not _ARCHS.fullmatch(word)
            }
    return frozenset(found)


def _flags(words: Sequence[Word], project: Project) -> Iterator[Finding]:
    """Yield the variables with flags for nvcc that differ for hipcc."""
    for word in words:
        name, _, value = word.text.partition("=")
        flags = [item.text for item in word.items] or value.split()
        translated = translate(flags, rocm=project.target.rocm, shell=True)
        if translated.changes:
            kept = " ".join(map(_quoted, translated.kept))
            message = (
                f"nvcc is given {name.rstrip('+')}; hipcc's counterpart: `{kept}`"
                if kept
                else f"nvcc is given {name.rstrip('+')}, and hipcc takes none of these flags"
            )
            open_ = [str(change) for change in translated.changes if change.certainty is Certainty.MANUAL]
            yield Finding(word.span, "flags", "; ".join([message, *open_]), (), Certainty.MANUAL)


def _compiled(flags: Sequence[str], command: Command, project: Project) -> Finding:
    """Return the finding that shows the command for hipcc."""
    if {"--version", "-V"} & set(flags):
        message = "asks nvcc for its version, which ROCm does not have: `hipcc --version` gives the compiler's"
        return Finding(command.span, "version", message, (), Certainty.MANUAL)
    # A variable with architectures is for nvcc: the message names the GPUs.
    flags = [flag for flag in flags if not _ARCHS.fullmatch(flag)]
    translated = translate(flags, rocm=project.target.rocm, shell=True)
    archs = [f"--offload-arch={arch}" for arch in project.target.archs]
    instead = " ".join(["hipcc", *archs, *(_quoted(flag) for flag in translated.kept)])
    message = f"runs nvcc, which ROCm does not have, and hipport does not edit such calls: `{instead}`"
    open_ = [str(change) for change in translated.changes if change.certainty is Certainty.MANUAL]
    if open_:
        message += f"; {'; '.join(open_)}"
    return Finding(command.span, "nvcc", message, (), Certainty.MANUAL)


def _quoted(flag: str) -> str:
    return f'"{flag}"' if re.search(r"[\s;&|<>()]", flag) and not flag.startswith("$(") else flag


PASS = Pass(Source, find)

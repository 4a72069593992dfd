# SPDX-License-Identifier: Apache-2.0
"""Report what scripts, descriptions of images and notebooks do with NVIDIA's tools; port the ABI and folders they name.

`hipport build` reads makefiles and setup.py files; a compiler that is called by hand is to be called by hand on ROCm
too, with the flags that the message has. PyTorch's builds for ROCm have the new ABI of the C++ library, as ROCm's own
libraries have: what asks for the old one by `-D_GLIBCXX_USE_CXX11_ABI=0` cannot be linked with them. CUDA in the cells
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
from hipport.core.tables import load, one_of
from hipport.engine.pipeline import Pass
from hipport.program.project import Project
from hipport.syntax.notebook import Notebook
from hipport.syntax.packaging import ToxIni
from hipport.syntax.python import Python
from hipport.syntax.shell import Command, Definition, Dockerfile, DockerInstruction, Markdown, Shell, Word, settings
from hipport.syntax.tasks import tasks
from hipport.syntax.toml import Toml
from hipport.syntax.yaml import Workflow
from hipport_passes.build_files import nvidia_tools
from hipport_passes.build_files.nvcc_flags import ABI_BY_VARIABLE, OLD_ABI, translate, worded
from hipport_passes.packages.asking import Asking
from hipport_passes.packages.image_environment import of_image

_WORDS = load(Path(__file__).with_suffix(".toml"))["words"]
_NVCC = re.compile(r"(?:\S*/)?nvcc(?:-[\d.]+)?|\$\{?\w*NVCC\w*\}?", re.IGNORECASE)
_SMI = re.compile("nvidia-smi")
_CLOSING = re.compile(rb"^[ \t]*\}|[;\s]\}", re.MULTILINE)
_SUBSTITUTED = re.compile(rb"(?:\$\([ \t]*|`)([\w-]+)")
_FUNCTION = re.compile(rb"^[ \t]*(?:function[ \t]+)?([\w-]+)[ \t]*(?:\([ \t]*\))?[ \t\r\n]*\{", re.MULTILINE)
_ROCM_WORDS = re.compile(r"rocm|(?<![a-z])hip(?:cc)?(?![a-z])|(?<![a-z])amd(?!64|[a-z])", re.IGNORECASE)
_CUDA_WORDS = re.compile(one_of(_WORDS["cuda"]), re.IGNORECASE)
_SOURCE = re.compile(r".*\.(?:cu|cuh)")
# What these are given is said, or looked for, and no flag.
_PRINTS = frozenset({"echo", "printf", "grep", "egrep", "awk", "log", "info", "warn", "die"})
# What lies elsewhere in ROCm (stubs, targets, compat), and nvcc itself, are not in these folders.
_FOLDER = re.compile(
    rb"/usr/local/cuda(?:-[\d.]+\d)?(?:(?P<lib>/lib64)(?!/)|(?=/bin(?!/)|/include|/lib(?!\w|/)|/?(?:[\s:\"']|$)))"
)
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*|\$\{?PYTHON\w*\}?|\{sys\.executable\}")
# Cheap: what Python must say at all for a pass to have something to say.
_ASKS = re.compile(one_of(_WORDS["python"]))
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_WHOLE = re.compile(r"\$\{?(\w+)(?:\[[@*]\])?\}?")
_DECLARES = frozenset(("declare", "local", "readonly", "typeset", "export"))
# nvcc reads options from these ("CUDA Compiler Driver NVCC", 13.0).
_NVCC_OPTIONS = re.compile(r"NVCC_(?:PREPEND|APPEND)_FLAGS")
_NVIDIA_SMI = re.compile(r"(?:.*/)?nvidia-smi")
# Compilers of the host's, and the question whether a tool or a folder of NVIDIA's is there.
_HOSTS = re.compile(rf"(?:.*/)?{one_of(_WORDS['host_compilers'])}(?:-[\d.]+)?|\$\{{?(?:CXX|CC)\}}?")
_LOOKED_FOR = re.compile(
    rb"(?P<not>![ \t]*)?(?:\[\[?[ \t]+(?:-x[ \t]+)?\"?\$\()?[ \t]*\b(?:command[ \t]+-v|which|type|hash)[ \t]+"
    rb"[\"']?(?:[\w./${}]+/)?(?P<tool>nvcc|nvidia-smi)\b"
    rb"|(?:\[\[?|\btest)[ \t]+(?P<negated>![ \t]+)?-(?P<how>[zndexf])[ \t]+"
    rb"[\"']?\$\{?(?P<variable>CUDA_(?:HOME|PATH|ROOT))\b"
)
_IF_OR_FI = re.compile(rb"(?:^|[;\s])(if|fi)\b")
_STOPS = re.compile(rb"\b(?:exit|die|abort|fail)\b|\breturn[ \t]+[1-9]")
_INSTEAD = {
    "nvcc": "hipcc is the compiler there",
    "nvidia-smi": "rocm-smi and amd-smi tell of GPUs there",
    "CUDA_HOME": "ROCM_PATH is its counterpart, by default /opt/rocm",
    "CUDA_PATH": "ROCM_PATH is its counterpart, by default /opt/rocm",
    "CUDA_ROOT": "ROCM_PATH is its counterpart, by default /opt/rocm",
}
_ARCHS = re.compile(r"\$\{?\w*(?:ARCH|GENCODE)\w*\}?", re.IGNORECASE)
_NVIDIA_CONTAINER = re.compile(r"--gpus(?:=|$)|--runtime=nvidia\b|--device=/dev/nvidia|nvidia\.com/gpu")
# Package managers of systems.
_INSTALLERS = frozenset(("apt", "apt-get", "aptitude", "yum", "dnf", "microdnf", "tdnf", "zypper"))
# Modules of clusters by NVIDIA's names; and NVIDIA's installers, and where they come from.
_MODULE = re.compile(rf"(?i)(?:.*/)?{one_of(_WORDS['modules'])}(?:[-/_.]*\d[\w./-]*)?")
_INSTALLER = re.compile(
    r"(?:^|/)cuda_[\d.]+_[\w.]*\.run$|developer\.download\.nvidia\.com/compute|cuda-keyring_[\w.-]+\.deb$"
)
#: What Debian's and NVIDIA's repositories call NVIDIA's compiler, libraries and drivers.
_DEBIAN = re.compile(one_of(_WORDS["debian"], r"[\w.-]*") + "(?:[=:].*)?")
#: Magics of extensions for notebooks that give a cell to nvcc: nvcc4jupyter's, old and new.
_CELLS = frozenset({"cu", "cuda", "cuda_run", "cuda_group_save", "cuda_group_run", "nvcc", "nvcc_plugin"})
# Files that hipport ports, where they are files; and what such a file has for CUDA alone.
_READ = re.compile(
    rf"(?:.*/)?(?:.+\.{one_of(_WORDS['suffixes'])}|{one_of(_WORDS['files'])}|[\w-]*requirements[\w-]*\.txt)"
)
_WRITTEN = re.compile(
    rf"{one_of(_WORDS['written'])}|\b{one_of(_WORDS['written_alone'])}\b|\b{one_of(_WORDS['images'])}:"
    r"|\bcu1[12]\d\b|LANGUAGES[^\n)]*CUDA|version\.cuda\b".encode()
)


def find(source: Source, project: Project) -> Iterator[Finding]:
    """Yield a finding per call of NVIDIA's tools or container runtime, flag for the old ABI, and cell with CUDA."""
    found = _find(source, project)
    if isinstance(source, Shell) and source.path in project.fact(_run_by_workflows):
        # Part of what is to be decided of the workflow.
        found = (replace(each, about=INTEGRATION) if each.certainty is Certainty.MANUAL else each for each in found)
    yield from found


def _run_by_workflows(project: Project) -> frozenset[PurePath]:
    """The scripts that jobs of continuous integration run, and that nothing else of the tree names."""
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
                # What it is on its own: a task may well be for another machine, and stands in a string.
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
                f"the file {name} that is written here is for CUDA (`{written.group().decode()}`), and hipport "
                "ports files: let it be one of the repository, and have that ported"
            )
            yield Finding(span, "written", message, (), Certainty.MANUAL)


def _in_image(source: Dockerfile, project: Project) -> Iterator[Finding]:
    """Yield what is to be said of an image's environment, and of what it runs."""
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
                "the cell is CUDA, and hipport ports files: put it into one, have that ported, and compile it "
                "with hipcc"
            )
            yield Finding(span, "cell", message, (), Certainty.MANUAL)
        elif writes and _READ.fullmatch(file) and (written := _WRITTEN.search(code)) is not None:
            message = (
                f"the file that the cell writes is for CUDA (`{written.group().decode()}`), and hipport ports "
                "files: let it be one of the repository, and have that ported"
            )
            yield Finding(span, "cell", message, (), Certainty.MANUAL)


#: What the findings of workflows, and of scripts that they alone run, are about.
INTEGRATION = "continuous integration"


def in_commands(source: Source, commands: Sequence[Command], project: Project) -> Iterator[Finding]:
    """Yield what is to be said of commands that are NVIDIA's, or flags for the old ABI in them."""
    # Where packages come from is what `requirements` puts there, too.
    knows_rocm = any(
        _ROCM_WORDS.search(word.text)
        for command in commands
        if not any(word.text == "install" for word in command.words)
        for word in command.words
    )
    tools: dict[str, list[Span]] = defaultdict(list)
    given = _given_to_nvcc(commands)
    for command in commands:
        # A branch for ROCm, or one of a script that has another for ROCm.
        if command.asks(_ROCM_WORDS) or (knows_rocm and command.asks(_CUDA_WORDS)):
            continue
        words = [word.text for word in command.words]
        set_here = command.words[1:] if words[0] == "export" else command.words if "=" in words[0] else command.assigned
        yield from _settings(source, command, set_here, given, project)
        for word in set_here:
            # `PROFILER="nsys profile"`, which is in front of commands later on.
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
    """Yield what is to be said of flags for the ABI, and of the variables that a command sets or declares."""
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
    """Yield what is to be said of the program that a command runs."""
    program = words[0]
    if _NVCC.fullmatch(program):
        yield _compiled(words[1:], command, project)
    elif _HOSTS.fullmatch(program) and (linked := _linked(words[1:], project)):
        message = f"its options name files of CUDA, which ROCm does not have: {linked}"
        yield Finding(command.span, "host_compiler", message, (), Certainty.MANUAL)
    elif _NVIDIA_SMI.fullmatch(program) and not command.asks(_SMI) and not _may_fail(source, command):
        yield _asks_nvidia(command.span)
    elif {"singularity", "apptainer"} & set(words) and "--nv" in words and program not in _PRINTS:
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
                f"{', '.join(names)}: NVIDIA's, which are not needed on ROCm, and nvcc on the path misleads hipcc; "
                "leave them out, AMD's images have ROCm's libraries"
            )
            yield Finding(command.span, "packages", message, (), Certainty.MANUAL)
    elif program in ("module", "ml") and (named := [each for each in words[1:] if _MODULE.fullmatch(each)]):
        message = (
            f"loads {', '.join(named)}, for NVIDIA's GPUs: `module avail rocm` says what the cluster has for AMD's"
        )
        yield Finding(command.span, "module", message, (), Certainty.MANUAL)
    elif program not in _PRINTS and any(map(_INSTALLER.search, words)):
        message = "brings NVIDIA's toolkit or driver, which ROCm does not need, and nvcc on the path misleads hipcc"
        yield Finding(command.span, "packages", message, (), Certainty.MANUAL)


def _in_container(command: Command) -> Iterator[Finding]:
    """Have Singularity give a container AMD's GPUs for NVIDIA's."""
    said = [word.text for word in command.words]
    if "--rocm" in said[: said.index("--nv")]:
        return  # it is given both, or a second --nv: AMD's are asked for
    option = command.words[said.index("--nv")]
    message = "--nv gives a container NVIDIA's GPUs, --rocm AMD's; assumes that its image is one for ROCm"
    edit = Edit(option.span, b"--rocm")
    yield Finding(option.span, "container", message, (edit,), Certainty.REVIEW)


def _python(source: Source, command: Command, words: Sequence[str], project: Project) -> Iterator[Finding]:
    """Yield what is to be said of Python that a command has in it, `python -c "…"`: the first of it, for a person."""
    if not _PYTHON.fullmatch(words[0]) or _may_fail(source, command):
        return
    # Behind a script's name, options are the script's.
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
    """Say what becomes of CUDA's folders and libraries among the words of a compiler for the host; "" if none."""
    changes = translate(words, of="link", rocm=project.target.rocm, shell=True).changes
    return worded(change for change in changes if change.kind in ("library", "cuda_path"))


def _insisted(source: Source, commands: Sequence[Command]) -> Iterator[Finding]:
    """Yield where a script stops if a tool or a folder of NVIDIA's is not there."""
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
            message = f"stops where there is no {name}, as on ROCm; {_INSTEAD[name]}"
            yield Finding(Span(*match.span()), "insisted", message, (), Certainty.MANUAL)


def _on_line_of_any(at: int, commands: Sequence[tuple[int, int]], ends: Sequence[int]) -> bool:
    """Say whether a command begins before a place, and the line that one of those ends on goes on to there."""
    before = bisect_right(commands, at, key=lambda each: each[0]) - 1
    return before >= 0 and at <= ends[before]


def _end_of(text: bytes, at: int) -> int:
    """Return where the line ends that a command ends on."""
    end = text.find(b"\n", at)
    return len(text) if end < 0 else end


def _stops(text: bytes, at: int, condition: bool, absent: bool) -> bool:
    """Say whether the script stops where what it looks for is not there; `absent`: what is asked is that it is not."""
    if condition:
        end = _IF_OR_FI.search(text, at)
        if end is not None and end[1] == b"if":
            return False  # one inside of another
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
    """Return the tool of NVIDIA's that a command runs, and has to have, or ""."""
    found = nvidia_tools.run_by(words)
    if found is None or _may_fail(source, command):
        return ""
    # Under `if command -v nsys`; the word of a user who asks for it is no such thing.
    asked = re.compile(rf"(?:(?<!\S)-[vVx]|\b(?:which|type|hash))\b[^&|]*{re.escape(words[found[0]])}")
    return "" if command.asks(asked) else found[1]


def _may_fail(source: Source, command: Command) -> bool:
    """Say whether the script goes on by itself where the command is not there: `… || true`."""
    end = command.span.end
    return re.match(rb"[^\n;&]*?\|\|", source.text[end : end + 200]) is not None


def _asks_nvidia(span: Span) -> Finding:
    message = "there is no nvidia-smi on ROCm; `rocm-smi`, or `amd-smi` from ROCm 6 on, reports GPUs, in another format"
    return Finding(span, "nvidia_smi", message, (), Certainty.MANUAL)


def _is_returned(source: Source, command: Command) -> bool:
    """Say whether what the command prints is what a function returns: `flags() { echo …; }`, `$(flags)`."""
    functions, ends = source.fact(_functions)
    number = bisect_left(ends, command.span.end)
    if number == len(ends):
        return False
    inside, name = functions[number]
    return inside <= command.span.start and name in source.fact(_substituted)


def _functions(source: Source) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Return where the bodies of a script's functions begin, with their names, and where they end, in order."""
    found = list(_FUNCTION.finditer(source.text))
    ends, end = [], 0
    for match in found:
        if end <= match.end():
            closing = _CLOSING.search(source.text, match.end())
            end = closing.start() if closing is not None else len(source.text)
        ends.append(end)
    return [(match.end(), match[1]) for match in found], ends


def _substituted(source: Source) -> frozenset[bytes]:
    """Return the commands whose output a script puts in their place."""
    return frozenset(_SUBSTITUTED.findall(source.text))


def _abi(source: Source, span: Span) -> Iterator[Finding]:
    for match in ABI_BY_VARIABLE.finditer(source.text, span.start, span.end):
        # `OLD=0`, and not `OLD=$(python -c …)`, which asks PyTorch.
        if re.search(
            rb"^[ \t]*(?:export[ \t]+)?" + match[1] + rb"=([\"']?)0\1[ \t]*(?:[;#\r\n]|\Z)", source.text, re.MULTILINE
        ):
            name = match[1].decode()
            message = (
                f"the old ABI of the C++ library, where {name} is 0: PyTorch for ROCm, and ROCm's libraries, have the "
                f"new one; make it 1 where {name} is set"
            )
            yield Finding(Span(*match.span()), "abi", message, certainty=Certainty.MANUAL)
    for match in OLD_ABI.finditer(source.text, span.start, span.end):
        message = (
            "the old ABI of the C++ library: PyTorch for ROCm, and ROCm's libraries, have the new one; assumes that "
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
    """Yield the folders of CUDA's that an image's environment names: in paths, and as CUDA_HOME and its like.

    Not those in what is `replaced` as a whole.
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
    """Yield the variables that name nvcc to CMake, or give it options; in an image for ROCm the first are HIP's."""
    for name, value, span in settings(words):
        if name == "CUDACXX":
            # cmake-env-variables(7): HIPCXX is a clang++ that compiles HIP, and must not be hipcc.
            message = "CMake asks HIPCXX for HIP's compiler, ROCm's clang++, and not CUDACXX"
            if image and _NVCC.fullmatch(value):
                edit = Edit(span, b"HIPCXX=/opt/rocm/llvm/bin/clang++")
                message += "; assumes that ROCm is in /opt/rocm"
                yield Finding(span, "compiler", message, (edit,), Certainty.REVIEW)
            else:
                yield Finding(span, "compiler", message, (), Certainty.MANUAL)
        elif _NVCC_OPTIONS.fullmatch(name):
            kept = translate(value.split(), rocm=project.target.rocm, shell=True).kept
            if kept:
                message = f"nvcc alone reads {name}; hipcc: HIPCC_COMPILE_FLAGS_APPEND={_quoted(' '.join(kept))}"
                yield Finding(span, "compiler", message, (), Certainty.MANUAL)


def _given_to_nvcc(commands: Sequence[Command]) -> frozenset[str]:
    """Return the variables and arrays that nvcc is given whole, as flags: `$FLAGS`, `"${FLAGS[@]}"`."""
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
    """Yield the variables that nvcc is given whose flags are others for hipcc."""
    for word in words:
        name, _, value = word.text.partition("=")
        flags = [item.text for item in word.items] or value.split()
        translated = translate(flags, rocm=project.target.rocm, shell=True)
        if translated.changes:
            kept = " ".join(map(_quoted, translated.kept))
            message = (
                f"nvcc is given {name.rstrip('+')}; hipcc: `{kept}`"
                if kept
                else (f"nvcc is given {name.rstrip('+')}, of which hipcc takes nothing")
            )
            open_ = [str(change) for change in translated.changes if change.certainty is Certainty.MANUAL]
            yield Finding(word.span, "flags", "; ".join([message, *open_]), (), Certainty.MANUAL)


def _compiled(flags: Sequence[str], command: Command, project: Project) -> Finding:
    """Say what is called in nvcc's place."""
    if {"--version", "-V"} & set(flags):
        message = "asks nvcc for its version, which ROCm does not have; `hipcc --version` says what its compiler is"
        return Finding(command.span, "version", message, (), Certainty.MANUAL)
    # What such a variable holds is for nvcc: the GPUs are named in the message.
    flags = [flag for flag in flags if not _ARCHS.fullmatch(flag)]
    translated = translate(flags, rocm=project.target.rocm, shell=True)
    archs = [f"--offload-arch={arch}" for arch in project.target.archs]
    instead = " ".join(["hipcc", *archs, *(_quoted(flag) for flag in translated.kept)])
    message = f"runs nvcc, which ROCm does not have; hipport does not edit such calls: `{instead}`"
    open_ = [str(change) for change in translated.changes if change.certainty is Certainty.MANUAL]
    if open_:
        message += f"; {'; '.join(open_)}"
    return Finding(command.span, "nvcc", message, (), Certainty.MANUAL)


def _quoted(flag: str) -> str:
    return f'"{flag}"' if re.search(r"[\s;&|<>()]", flag) and not flag.startswith("$(") else flag


PASS = Pass(Source, find)

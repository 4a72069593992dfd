# SPDX-License-Identifier: Apache-2.0
"""The command line: words in, exit status out.

0: done, and nothing is left for a person. 1: done, and a person is needed (with --check: something would change).
2: hipport failed; nothing was changed.
"""

from __future__ import annotations

import gc
import json
import os
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.terminal import block, joined, json_for_logs

if TYPE_CHECKING:
    from hipport.api import Scanned
    from hipport.config import Config
    from hipport.pipeline import Ported

DONE, PERSON, FAILED = 0, 1, 2

# Seconds after which somebody who only sees a log may take hipport for stuck.
_SILENCE = 30


class _Path(click.Path):
    """A path. An empty one, of a variable that is not set, is not the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("an empty path; the current folder is .", param, ctx)
        return super().convert(value, param, ctx)


class _Interpreter(_Path):
    """A Python that can be run: what is wrong with it is said at once, not when it is needed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        # As a shell finds it; a virtual environment's is a link, which says where its packages are.
        found = shutil.which(path)
        if found is None:
            what = "it cannot be executed" if path.exists() else "there is no such file"
            self.fail(f"{path}: {what}; give the path of a Python, as venv/bin/python", param, ctx)
        return Path(found).absolute()


_PATH = _Path(path_type=Path)
_INTERPRETER = _Interpreter(path_type=Path)
_PATHS = click.argument("paths", nargs=-1, required=True, type=_PATH)
_TARGET = click.option(
    "--target", metavar="GFX,…", help="The GPUs that the result is for; gfx942,gfx1100 if not given."
)
_ROCM = click.option("--rocm", metavar="X.Y", help="The oldest ROCm that the result must build with; 6.4 if not given.")
_WARP = click.option(
    "--warp",
    type=click.Choice(["logical32", "native"]),
    help="What a warp is on AMD: 32 lanes everywhere (logical32, if not given), or the wavefront. "
    "A comment `hipport: warp=native` says it of a kernel, or at the top of a file.",
)
_ACCEPT = click.option(
    "--accept", type=click.Choice(["safe", "review"]), help="Which changes to make; review if not given."
)
_RULES = click.option(
    "--rules",
    multiple=True,
    type=_PATH,
    help="A TOML file with rows of your own for the tables of passes (again for more).",
)
_OUT = click.option("--out", metavar="DIR", type=_PATH, help="Write a ported copy to the new folder DIR.")
_REPLAY = click.option(
    "--replay",
    "recording",
    type=_PATH,
    help="Make the calls that `hipport record` kept, in place of cases.",
)
_TIMEOUT = click.option(
    "--timeout", type=click.FloatRange(min=1), default=120.0, help="Seconds for one run; 120 if not given."
)
_JOBS = click.option("--jobs", type=click.IntRange(min=1), help="Runs and compilers at once; as many as processors.")
_PYTHON = click.option("--python", type=_INTERPRETER, help="The Python that has PyTorch, for extensions.")
_ENV = click.option(
    "--env",
    "pass_on",
    multiple=True,
    metavar="NAME",
    help="A variable of the environment that code of the tree may see, beside those that build tools ask for (again "
    "for more).",
)
_FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="For people or for programs."
)
_ALL = click.option("--all", "whole", is_flag=True, help="Show every place, and what is said of documents, too.")
_FORMAT_OF_FINDINGS = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="For people, for programs, or for code hosts and editors.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="hipport", prog_name="hipport")
def main() -> None:
    """Port CUDA repositories to AMD GPUs.

    Exit status: 0 done, nothing left for a person; 1 done, and a person is needed; 2 hipport failed.
    """


@main.command()
@_PATHS
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if something would change or needs a person.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change as a patch.")
@_OUT
@_ACCEPT
@_TARGET
@_ROCM
@_WARP
@_RULES
@click.option(
    "--device-agnostic",
    is_flag=True,
    help="Let Python that insists on a GPU run on a CPU, too; where there is a GPU, nothing changes. A comment "
    "`hipport: device-agnostic` says it of one file.",
)
@click.option(
    "--staged",
    is_flag=True,
    help="The paths are what is to be committed, as a hook of Git's gets them: what hipport does not read is left "
    "alone, and a header of hipport's that Git does not know is an error. Asks Git.",
)
@_ALL
@_FORMAT_OF_FINDINGS
def rewrite(
    paths: tuple[Path, ...],
    check: bool,
    diff: bool,
    out: Path | None,
    accept: str | None,
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    device_agnostic: bool,
    staged: bool,
    whole: bool,
    form: str,
) -> None:
    """Port files and folders, in place: all files or none.

    `hipport undo` takes it back. A second run changes nothing.
    """
    from hipport import api, report

    # A rewrite makes many small objects that live to its end: looking for garbage is a sixth of its time.
    gc.disable()
    if out is not None and (check or diff):
        raise click.UsageError("--out writes, --check and --diff do not: give one of them")
    if out is not None and staged:
        raise click.UsageError("--staged is about what is to be committed, not about a copy: leave --out away")
    with _failing():
        config = _config(paths, accept, target, rocm, warp, rules)
        would = check or diff
        recovered = () if would or out else api.recover([path for path in paths if path.exists()], _warn)
        with _progress() as tell:
            ported = api.rewrite(
                paths,
                **_said(config),
                device_agnostic=device_agnostic or None,
                repository=out is None,
                staged=staged,
                on_progress=tell,
            )
        # Nothing is written where a pass failed: the report says it first.
        would = would or bool(ported.failures)
        if not would:
            api.save(ported, out, paths)
        left_out = api.left_out(ported, os.environ) if staged else {}
    if form == "sarif":
        _json(report.as_sarif(ported, _sentences()))
    elif diff and form == "text":
        patch = report.as_diff(ported)
        if sys.stdout.isatty():
            shown = patch.decode("utf-8", "surrogateescape").split("\n")[:-1]
            click.echo(joined(line.expandtabs() for line in shown), nl=False)
        else:
            sys.stdout.buffer.write(patch)
            sys.stdout.buffer.flush()
    elif form == "json":
        more: dict[str, Any] = {"root": str(ported.before.root), "written": not would}
        if diff:
            more["diff"] = report.as_diff(ported).decode("utf-8", "surrogateescape")
        _json(report.as_json(ported, would=would, **more))
    else:
        click.echo(report.as_text(ported, would=would, whole=whole, **_shown()), nl=False)
        if not would and out is None and any(report.assumed(each) for each in ported.reported):
            _say("`hipport review` shows again what was assumed")
    if recovered:
        _say(f"put back first what a killed run had left half-done: {_listed(recovered)}", err=True)
    for header, path in left_out.items():
        _say(f"{path} includes {header}, which is not in Git: git add {shlex.quote(str(header))}", err=True)
    _leave(ported, changes_count=check or staged, person=bool(left_out))


@main.command()
@_PATHS
@_TARGET
@_ROCM
@_WARP
@_RULES
@_ALL
@_FORMAT_OF_FINDINGS
def scan(
    paths: tuple[Path, ...],
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    whole: bool,
    form: str,
) -> None:
    """Say what is there, what would change and what cannot be ported. Writes nothing."""
    from hipport import api, report

    with _failing():
        config = _config(paths, None, target, rocm, warp, rules)
        with _progress() as tell:
            scanned = api.scan(paths, **_said(config), on_progress=tell)
    if form == "sarif":
        _json(report.as_sarif(scanned.ported, _sentences()))
    elif form == "json":
        extensions = [extension.as_json() for extension in scanned.extensions]
        root = str(scanned.ported.before.root)
        _json(report.as_json(scanned.ported, would=True, written=False, extensions=extensions, root=root))
    else:
        click.echo(_scanned_text(scanned), nl=False)
        click.echo(report.as_text(scanned.ported, would=True, whole=whole, **_shown()), nl=False)
    _leave(scanned.ported, changes_count=False)


@main.command()
@click.argument("path", default=".", type=_PATH)
def undo(path: Path) -> None:
    """Take back the last rewrite in the tree that PATH lies in: the bytes that were there."""
    from hipport import api

    with _failing():
        written = api.undo(path)
    for problem in written.lost:
        _warn(problem)
    if written.killed:
        what = f"put back {_listed(written.recovered)}" if written.recovered else "it had replaced nothing"
        _say(f"took back a run of hipport that had been killed: {what}")
    elif written.paths or not written.lost:
        _say(f"put back {_listed(written.paths)}" if written.paths else "all files were as before already")
    sys.exit(PERSON if written.lost else DONE)


@main.command()
@click.argument("paths", nargs=-1, type=_PATH)
@_TARGET
@_ROCM
@_WARP
@_RULES
@_ALL
@_FORMAT
def review(
    paths: tuple[Path, ...],
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    whole: bool,
    form: str,
) -> None:
    """List what `rewrite` assumed in a tree that it has rewritten in place, at the lines of today.

    PATHS are the current folder if not given. A comment `hipport: ignore[RULE] why` at a place says that what is
    assumed there was checked. Writes nothing. Give the options of the rewrite again.
    """
    from hipport import api, report

    paths = paths or (Path(),)
    with _failing():
        said = _said(_config(paths, None, target, rocm, warp, rules))
        reviewed = api.review(paths, **said)
    if form == "json":
        _json(report.reviewed_as_json(reviewed))
    else:
        click.echo(report.reviewed_as_text(reviewed, whole=whole, **_shown()), nl=False)
    sys.exit(PERSON if any(each.reported for each in reviewed) else DONE)


@main.command()
@_PATHS
@_TARGET
@click.option("--jobs", type=click.IntRange(min=1), help="Compilers at once; as many as processors if not given.")
@click.option("--python", type=_INTERPRETER, help="The Python whose PyTorch extensions are built against.")
@_ENV
@_FORMAT
def build(
    paths: tuple[Path, ...],
    target: str | None,
    jobs: int | None,
    python: Path | None,
    pass_on: tuple[str, ...],
    form: str,
) -> None:
    """Compile every unit for every target with hipcc. Runs setup.py files and `make --dry-run` to learn the units.

    What is run for that sees of the environment only what build tools ask for (and --env), cannot write outside the
    copies that hipport makes, has limits on memory and time, and leaves no process behind. It can read files and
    use the network. Where the machine has neither Landlock nor bubblewrap, writing is not contained: hipport then says
    so. See docs/explanation/security.md.
    """
    from hipport import api, report

    with _failing():
        config = _config(paths, None, target, None)
        _say_if_not_contained()
        with _progress() as tell:
            built = api.build(
                paths,
                target=config.target,
                exclude=config.exclude,
                exclude_base=config.path.parent if config.path else None,
                env=os.environ,
                pass_on=pass_on,
                python=python or Path(sys.executable),
                jobs=jobs,
                on_progress=tell,
            )
    if form == "json":
        _json(report.built_as_json(built))
    else:
        click.echo(report.built_as_text(built, colour=_colour()), nl=False)
    sys.exit(DONE if built.ok else PERSON)


class _WithProgram(click.Command):
    """A command whose words after `--` are for the program that it runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, ctx.meta["arguments"] = args[:at], args[at + 1 :]
            if not ctx.meta["arguments"]:
                raise click.UsageError(
                    "nothing stands behind `--`, where the arguments of the program go. Leave `--` out for a program "
                    "that takes none, and name its source files in place of its folder",
                    ctx,
                )
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGUMENTS…]"]


def _orders(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what is no order of threads."""
    for value in values:
        if re.fullmatch(r"forward|reverse|random(:\d+)?", value) is None:
            raise click.BadParameter(f"{value!r} is not forward, reverse or random:SEED")
    return values


@main.command(cls=_WithProgram)
@_PATHS
@click.option("--cases", type=_PATH, help="The cases of an extension; cases.py beside its setup.py.")
@_REPLAY
@click.option("--case", "names", multiple=True, metavar="NAME", help="Run only this case (may be given again).")
@click.option(
    "--wave",
    "waves",
    type=click.Choice(["32", "64"]),
    multiple=True,
    help="Lanes of a wavefront; both if not given.",
)
@click.option(
    "--order",
    "orders",
    multiple=True,
    metavar="ORDER",
    callback=_orders,
    help="forward, reverse or random:SEED: how threads and blocks run; forward, reverse and random:1 if not given.",
)
@click.option("--original-only", is_flag=True, help="Do not port: run the sources as CUDA, with 32 lanes.")
@click.option(
    "--teeth", is_flag=True, help="Say which cases notice the unported source with 64 lanes, and broken ports."
)
@click.option(
    "--sanitize",
    type=click.Choice(["address", "undefined", "bounds"]),
    multiple=True,
    help="Compile with a sanitizer (programs only).",
)
@click.option("--races", is_flag=True, help="Look for data races; slow (programs only).")
@_TIMEOUT
@_JOBS
@_PYTHON
@_ENV
@click.option("--no-gpu", is_flag=True, help="Do not run the port on this machine's AMD GPU, should there be one.")
@click.option(
    "--gpu-python",
    type=_INTERPRETER,
    help="The Python that has PyTorch for ROCm, for extensions on the GPU; that of --python if not given.",
)
@_TARGET
@_ROCM
@_WARP
@_FORMAT
@click.pass_context
def verify(
    ctx: click.Context,
    paths: tuple[Path, ...],
    cases: Path | None,
    recording: Path | None,
    names: tuple[str, ...],
    waves: tuple[str, ...],
    orders: tuple[str, ...],
    original_only: bool,
    teeth: bool,
    sanitize: tuple[str, ...],
    races: bool,
    timeout: float,
    jobs: int | None,
    python: Path | None,
    pass_on: tuple[str, ...],
    no_gpu: bool,
    gpu_python: Path | None,
    target: str | None,
    rocm: str | None,
    warp: str | None,
    form: str,
) -> None:
    """Run the original with 32 lanes and its port with 32 and 64 on this machine's CPU, and say where they differ.

    PATHS are the sources of one program, run with ARGUMENTS, or the folder of a PyTorch extension that has cases.py.
    Where there is an AMD GPU that works, the port is also built with hipcc, and runs there.
    The port is made on the fly; nothing is written. Runs code of the tree. Of a tree that was rewritten in place, the
    original is what hipport saved of it, and the port is what is there now.

    What is run for that sees of the environment only what build tools ask for (and --env), cannot write outside the
    copies that hipport makes and, a program, the current folder, has limits on memory and time, and leaves no process
    behind. It can read files and use the network. Where the machine has neither Landlock nor bubblewrap, writing is not
    contained: hipport then says so. See docs/explanation/security.md.
    """
    from hipport import api, verify_report
    from hipport.verifier import BadCases

    arguments: list[str] = ctx.meta.get("arguments", [])
    checks = (*sanitize, "thread") if races else sanitize
    if races and "address" in sanitize:
        raise click.UsageError("--races and --sanitize address exclude each other: the compiler has one or the other")
    if checks and teeth:
        raise click.UsageError("--teeth looks for no races and has no sanitizers: give one or the other")
    with _failing():
        config = _config(paths, None, target, rocm, warp)
        options: dict[str, Any] = {
            "env": os.environ,
            "pass_on": pass_on,
            "target": config.target,
            "exclude": config.exclude,
            "port": not original_only,
            "waves": [int(wave) for wave in waves] or None,
            "orders": list(orders) or None,
            "seconds": timeout,
            "jobs": jobs,
        }
        is_program = recording is None and (bool(arguments) or not api.has_cases(paths, cases))
        if recording is not None and (teeth or cases or names or arguments or len(paths) != 1):
            raise BadCases("--replay is for one extension, and takes the place of cases")
        if is_program and (cases or names):
            raise BadCases("--cases and --case are for extensions, not for programs")
        if not is_program:
            if checks:
                raise BadCases("--races and --sanitize are for programs, not for extensions")
            options |= {"cases": cases, "names": names, "python": python or Path(sys.executable)}
        _say_if_not_contained()
        with _progress() as tell:
            if recording is not None:
                options |= {"gpu": not no_gpu, "gpu_python": gpu_python}
                replayed = api.replay(paths[0], recording, on_progress=tell, **options)
            elif teeth:
                biting = api.verify_teeth(paths, arguments, on_progress=tell, **options)
            elif is_program:
                options["gpu"] = not no_gpu
                verified = api.verify_program(paths, arguments, sanitize=checks, on_progress=tell, **options)
            else:
                options |= {"gpu": not no_gpu, "gpu_python": gpu_python}
                verified = api.verify(paths[0], on_progress=tell, **options)
    if teeth:
        if form == "json":
            _json(verify_report.teeth_as_json(biting))
        else:
            click.echo(verify_report.teeth_as_text(biting, colour=_colour()), nl=False)
        sys.exit(PERSON if biting.weak else DONE)
    if recording is not None:
        if form == "json":
            values = [verify_report.as_values(each) for each in replayed]
            _json(json.dumps(values, indent=2, allow_nan=False) + "\n")
        else:
            click.echo("\n".join(verify_report.as_text(each, colour=_colour()) for each in replayed), nl=False)
        sys.exit(DONE if replayed and all(each.ok for each in replayed) else PERSON)
    if form == "json":
        _json(verify_report.as_json(verified))
    else:
        click.echo(verify_report.as_text(verified, colour=_colour()), nl=False)
    sys.exit(DONE if verified.ok else PERSON)


@main.command(cls=_WithProgram)
@_PATHS
@_OUT
@click.option(
    "--manifest",
    metavar="FILE",
    type=_PATH,
    help="Write the evidence to FILE, as JSON, and for people beside it (.txt); DIR/hipport-port.json with --out.",
)
@click.option("--cases", type=_PATH, help="The cases of the extension; cases.py beside setup.py.")
@_REPLAY
@click.option("--no-build", is_flag=True, help="Do not compile.")
@click.option("--no-verify", is_flag=True, help="Do not run anything on the CPU.")
@_TIMEOUT
@_JOBS
@_PYTHON
@_ENV
@_ACCEPT
@_TARGET
@_ROCM
@_WARP
@_RULES
@_FORMAT
@click.pass_context
def port(
    ctx: click.Context,
    paths: tuple[Path, ...],
    out: Path | None,
    manifest: Path | None,
    cases: Path | None,
    recording: Path | None,
    no_build: bool,
    no_verify: bool,
    timeout: float,
    jobs: int | None,
    python: Path | None,
    pass_on: tuple[str, ...],
    accept: str | None,
    target: str | None,
    rocm: str | None,
    warp: str | None,
    rules: tuple[Path, ...],
    form: str,
) -> None:
    """Rewrite, verify and build, and say what is known of the port and what was not checked.

    Runs code of the tree: cases or, with ARGUMENTS, a program, the original and its port on this machine's CPU, before
    anything is written; setup.py to learn how to compile. Exit status 1 where a step could not be made.

    What is run for that sees of the environment only what build tools ask for (and --env), cannot write outside the
    copies that hipport makes and, a program, the current folder, has limits on memory and time, and leaves no process
    behind. It can read files and use the network. Where the machine has neither Landlock nor bubblewrap, writing is not
    contained: hipport then says so. See docs/explanation/security.md.
    """
    from hipport import api, evidence, placing

    with _failing("`hipport undo` takes back what was written, if anything was"):
        config = _config(paths, accept, target, rocm, warp, rules)
        if out is None:
            api.recover([path for path in paths if path.exists()], _warn)
        file = manifest or (out / "hipport-port.json" if out else None)
        # What is for people goes beside the manifest; a device or a pipe has nothing beside it.
        beside = file.with_suffix(".txt") if file and (file.is_file() or not file.exists()) else None
        for each in (file, beside):
            if each is not None:
                placing.check_named(each, paths)
        if not (no_build and no_verify):
            _say_if_not_contained()
        with _progress() as tell:
            found = api.port(
                paths,
                out,
                ctx.meta.get("arguments", ()),
                **_said(config),
                env=os.environ,
                pass_on=pass_on,
                python=python or Path(sys.executable),
                cases=cases,
                recording=recording,
                declined=[name for name, left in (("build", no_build), ("verify", no_verify)) if left],
                seconds=timeout,
                jobs=jobs,
                on_progress=tell,
            )
        if file is not None:
            trees = [found.source, found.root]
            placing.write_named(file, evidence.as_json(found).encode(), trees)
            if beside is not None:
                placing.write_named(beside, evidence.as_text(found).encode("utf-8", "replace"), trees)
    if form == "json":
        _json(evidence.as_json(found))
    else:
        click.echo(evidence.as_text(found, colour=_colour()), nl=False)
    sys.exit(DONE if found.ok else PERSON)


@main.command(cls=_WithProgram)
@click.argument("out", type=_PATH)
@click.option("--module", "modules", multiple=True, metavar="NAME", help="Only this extension module (again for more).")
@click.option("--calls", type=click.IntRange(min=1), default=4, help="Calls kept of each function; 4 if not given.")
@click.pass_context
def record(ctx: click.Context, out: Path, modules: tuple[str, ...], calls: int) -> None:
    """Run a Python program, and write what extension modules were given and gave to OUT, a .json and an .npz.

    On any machine, one with an NVIDIA GPU say: hipport record calls.json -- python train.py. Elsewhere
    `hipport verify EXTENSION --replay calls.json` compares the port with it.
    """
    from hipport import api

    command: list[str] = ctx.meta.get("arguments", [])
    if not command:
        raise click.UsageError("say what to run: hipport record OUT -- python train.py")
    with _failing():
        status = api.record(command, out, env=os.environ, modules=modules, calls=calls)
    if status != 0:
        click.echo(f"hipport: the program ended with status {status}", err=True)
    if not out.is_file():
        click.echo("hipport: nothing was recorded: no extension module was called", err=True)
        sys.exit(FAILED)
    _say(f"wrote {out}")
    sys.exit(DONE if status == 0 else PERSON)


@main.command()
@_PATHS
@click.option("--script", is_flag=True, help="Print a shell script that installs it all and never replaces PyTorch.")
@click.option("--check", is_flag=True, help="Prove which back end of each package found runs here; installs nothing.")
@click.option("--python", type=_INTERPRETER, help="The Python that --check runs; this one if not given.")
@click.option("--rocm", metavar="X.Y", help="The ROCm to plan for; the one that suits the packages if not given.")
@_TARGET
@_RULES
@_FORMAT
def deps(
    paths: tuple[Path, ...],
    script: bool,
    check: bool,
    python: Path | None,
    rocm: str | None,
    target: str | None,
    rules: tuple[Path, ...],
    form: str,
) -> None:
    """Plan how what a repository needs is installed on ROCm: the release, what goes, commands, checks.

    PATHS is the repository. Nothing is installed and nothing is written.
    """
    from hipport import api, install_plan
    from hipport.config import parse_rocm

    if script and (check or form == "json"):
        raise click.UsageError("--script prints the script and nothing else")
    evidence: tuple[install_plan.Checked, ...] | None = None
    with _failing():
        options = _said(_config(paths, None, target, None, None, rules))
        del options["accept"]
        plan = api.deps(paths, rocm=parse_rocm(rocm) if rocm else None, **options)
        if check:
            evidence = install_plan.check(plan, python=python or Path(sys.executable), env=os.environ)
    if script:
        # With the bytes that files' names have, UTF-8 or not.
        click.echo(os.fsencode(install_plan.as_script(plan)), nl=False)
    elif form == "json":
        _json(install_plan.as_json(plan, evidence))
    elif evidence is not None:
        click.echo(install_plan.evidence_as_text(evidence), nl=False)
    else:
        click.echo(install_plan.as_text(plan), nl=False)
    if evidence is not None:
        sys.exit(DONE if all(each.ok or each.optional for each in evidence) else PERSON)
    sys.exit(PERSON if plan.needs_person else DONE)


@main.command()
@click.option("--python", type=_INTERPRETER, help="The Python whose PyTorch is looked at.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path("/"),
    help="A folder with another machine's sys, proc, dev and etc: files are read, and nothing is run.",
)
@_FORMAT
def doctor(python: Path | None, root: Path, form: str) -> None:
    """Say what of this machine would break a run on an AMD GPU, why, and what to do.

    Looks at GPUs, drivers, access, settings and toolchains; adds numbers with PyTorch, in a child process.
    """
    from hipport import api, report

    with _failing():
        diagnosis = api.doctor(env=os.environ, root=root, python=python or Path(sys.executable))
    if form == "json":
        _json(report.diagnosis_as_json(diagnosis))
    else:
        click.echo(report.diagnosis_as_text(diagnosis, colour=_colour()), nl=False)
    sys.exit(DONE if diagnosis.ok else PERSON)


@main.group("toolchain")
def toolchains() -> None:
    """Install a hipcc to compile with on Debian, without root and without an AMD GPU, or remove it."""


#: Those of install_toolchain.RECIPES, which need not be loaded to know them; the first is the usual one.
_TOOLCHAINS = ("hipcc-7.0", "hipcc-5.2")
_NAMED = click.argument("name", type=click.Choice(_TOOLCHAINS), default=_TOOLCHAINS[0])


@toolchains.command("install")
@_NAMED
@click.option("--mirror", metavar="URL", help="A Debian archive, where /etc/apt does not name one.")
def toolchain_install(name: str, mirror: str | None) -> None:
    """Install the toolchain NAME; hipcc-7.0 if not given: clang 21 and the headers of HIP 6.4.

    Debian's packages are unpacked into hipport's cache, 1 to 4 GB; nothing else of the machine is touched.
    """
    from hipport import install_toolchain

    with _failing():
        hipcc, now = install_toolchain.ensure(name, os.environ, mirror, lambda text: click.echo(text, err=True))
    click.echo(f"{'installed' if now else f'{name} is installed'}: {hipcc}")


@toolchains.command("list")
def toolchain_list() -> None:
    """Say which toolchains there are to install, and which hipcc hipport finds on this machine."""
    from hipport import install_toolchain, toolchain
    from hipport.environment import from_anywhere

    with _failing():
        here = install_toolchain.installed(os.environ)
        found = toolchain.find(from_anywhere(os.environ), Path(sys.executable))
    for name in _TOOLCHAINS:
        click.echo(f"{name}  {f'installed: {here[name]}' if name in here else f'hipport toolchain install {name}'}")
    for each in found:
        if each.hipcc not in here.values():
            click.echo(f"found by {each.found}: {each}")


@toolchains.command("remove")
@click.argument("name", type=click.Choice(_TOOLCHAINS))
def toolchain_remove(name: str) -> None:
    """Remove the toolchain NAME that `hipport toolchain install` made."""
    from hipport import install_toolchain

    with _failing():
        place = install_toolchain.remove(name, os.environ)
    click.echo(f"removed {place}")


class _AboutOptions(click.Command):
    """A command whose argument may be an option of another program: `-use_fast_math` is no `-h` of ours."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours = {option for parameter in self.get_params(ctx) for option in parameter.opts}
        theirs = [arg for arg in args if re.match(r"--?\w", arg) and arg.partition("=")[0] not in ours]
        rest = [arg for arg in args if arg not in theirs and arg != "--"]
        return super().parse_args(ctx, [*rest, "--", *theirs] if theirs else args)


@main.command(cls=_AboutOptions)
@click.argument("name")
@_TARGET
@_ROCM
@_WARP
@_RULES
@_FORMAT
def explain(
    name: str, target: str | None, rocm: str | None, warp: str | None, rules: tuple[Path, ...], form: str
) -> None:
    """Say what is done with NAME, and why.

    NAME is a pass, a rule (the words in brackets behind a message), the number of a pitfall, a name of CUDA, a header,
    a PTX instruction, or an option of nvcc.
    """
    from hipport import api, report

    if not name.strip():
        raise click.BadParameter("an empty name; for example: hipport explain cudaMalloc", param_hint="'NAME'")
    with _failing():
        said = _said(_config((Path(),), None, target, rocm, warp, rules))
        explanation = api.explain(name, target=said["target"], rules=said["rules"])
    if form == "json":
        _json(report.explanation_as_json(explanation))
    else:
        click.echo(report.explanation_as_text(explanation, colour=_colour()), nl=False)


@contextmanager
def _failing(state: str = "nothing was changed") -> Iterator[None]:
    """Turn what may go wrong into a message and exit status 2. `state` is how things are after an interruption."""
    from hipport import config, discover, write

    problems: tuple[str, ...]
    try:
        yield
        return
    except write.Refused as error:
        problems = error.problems
    except (config.BadConfig, discover.NotFound, ValueError) as error:
        problems = (str(error),)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        problems = (f"{what}{error.strerror or error}",)
    except Exception as error:
        # Not imported: only some commands load what raises these.
        if type(error).__name__ in (
            "NoToolchain",
            "NoCompiler",
            "NoPyTorch",
            "NoTorch",
            "BadCases",
            "NotBuildable",
            "NoOriginal",
            "Unknown",
            "Impossible",
        ):
            problems = tuple(block(str(error)))
        elif type(error).__name__ == "NotCompiled":
            problems = tuple(dict.fromkeys(_compiler_said(error))) or tuple(block(str(error)))
        else:
            click.echo(joined(traceback.format_exc().splitlines()), nl=False, err=True)
            problems = (f"this is a defect of hipport; {state}. Please report it with the lines above",)
    except KeyboardInterrupt:
        problems = (f"interrupted; {state}",)
    for problem in problems:
        _warn(problem)
    sys.exit(FAILED)


def _say_if_not_contained() -> None:
    """Say it where code of the tree can write wherever the user can."""
    from hipport.processes import guarded_by

    if not guarded_by():
        click.echo(
            "hipport: code of the tree runs, and can write wherever you can: this machine has neither Landlock (Linux "
            "5.13 or later) nor bubblewrap. Install bubblewrap, or use a container, if you do not trust the tree",
            err=True,
        )


def _compiler_said(error: Exception) -> Iterator[str]:
    """The errors of a compiler, at the user's lines; the first few."""
    messages = [each for each in getattr(error, "messages", ()) if each.severity == "error"]
    for each in messages[:10]:
        yield f"{each.path}:{each.line}: {each.text}" if each.line else each.text
    if len(messages) > 10:
        yield f"and {len(messages) - 10} more errors"
    left = getattr(error, "left", ())
    for each in left[:10]:
        yield f"left to a person: {each.path}:{each.line}: {each.message} [{each.rule}]"
    if len(left) > 10:
        yield f"and {len(left) - 10} more that are left to a person"
    absent = getattr(error, "absent", "")
    if absent and not left:
        yield absent
    if messages:
        yield f"the executor could not compile {getattr(error, 'of', '') or 'this'}: nothing was run"


def _config(
    paths: tuple[Path, ...],
    accept: str | None,
    target: str | None,
    rocm: str | None,
    warp: str | None = None,
    rules: tuple[Path, ...] = (),
) -> Config:
    """What the nearest configuration says, and over it what the command line says."""
    from hipport import config

    first = paths[0].resolve()
    settings = config.read(first if first.is_dir() else first.parent)
    if target is not None:
        settings = replace(settings, target=replace(settings.target, archs=config.parse_archs(target)))
    if rocm is not None:
        settings = replace(settings, target=replace(settings.target, rocm=config.parse_rocm(rocm)))
    if warp is not None:
        settings = replace(settings, target=replace(settings.target, warp=warp))
    if accept is not None:
        settings = replace(settings, accept=config.parse_accept(accept))
    return replace(settings, given=rules)


def _said(config: Config) -> dict[str, Any]:
    from hipport.api import read_rules

    base = config.path.parent if config.path else None
    return {
        "target": config.target,
        "accept": config.accept,
        "exclude": config.exclude,
        "exclude_base": base,
        "rules": read_rules(config.rules, config.given),
    }


def _sentences() -> dict[str, str]:
    """What each pass does, in a sentence."""
    from hipport.explainer import first_sentence
    from hipport_passes import PASSES

    return {each.name: first_sentence(each.doc) for each in PASSES}


def _leave(ported: Ported, *, changes_count: bool, person: bool = False) -> None:
    if ported.failures:
        sys.exit(FAILED)
    person = person or any(reported.needs_person for reported in ported.reported)
    # What hipport could not read, it did not port.
    person = person or any(skipped.kind == "refused" for skipped in ported.before.skipped)
    changed = bool(ported.changed or ported.created)
    # Python looks for garbage once more when it ends: it need not look through all that was ported.
    gc.freeze()
    sys.exit(PERSON if person or (changes_count and changed) else DONE)


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _shown() -> dict[str, Any]:
    """How a report is shown: in colour and wrapped on a terminal alone; what reads logs wants whole lines."""
    import shutil

    return {"colour": _colour(), "width": shutil.get_terminal_size().columns if sys.stdout.isatty() else None}


def _say(line: str, *, err: bool = False) -> None:
    """Print a line, which may have names in it."""
    click.echo(joined([line]), nl=False, err=err)


def _warn(problem: str) -> None:
    _say(f"hipport: {problem}", err=True)


def _json(text: str) -> None:
    click.echo(json_for_logs(text), nl=False)


def _listed(paths: tuple[Any, ...]) -> str:
    names = [str(path) for path in paths]
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more files"


def _scanned_text(scanned: Scanned) -> str:
    lines = []
    for extension in scanned.extensions:
        lines.append(str(extension))
        lines += [f"  knows ROCm: {evidence}" for evidence in extension.rocm]
    return joined([*lines, ""]) if lines else ""


@contextmanager
def _progress() -> Iterator[Callable[[Any], None] | None]:
    """For work that takes a while, a bar on the terminal; elsewhere a line now and then, for logs of machines."""
    import time

    if not sys.stderr.isatty():
        last = time.monotonic()

        def say(progress: Any) -> None:
            nonlocal last
            if time.monotonic() - last >= _SILENCE:
                last = time.monotonic()
                _warn(f"{progress.name}, {progress.done} of {progress.total}")

        yield say
        return

    start = time.monotonic()
    bar: Any = None
    task: Any = None

    def tell(progress: Any) -> None:
        nonlocal bar, task
        if bar is None:
            # Loading the bar takes longer than most runs.
            if time.monotonic() - start < 0.7:
                return
            from rich.console import Console
            from rich.progress import Progress as Bar

            bar = Bar(console=Console(stderr=True), transient=True)
            bar.start()
            task = bar.add_task(progress.name, total=progress.total)
        bar.update(task, completed=progress.done, description=progress.name)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()

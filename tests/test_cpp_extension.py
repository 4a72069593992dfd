# SPDX-License-Identifier: Apache-2.0
"""Build scripts, ported: executed with a stand-in for PyTorch, and with PyTorch's own code where there is one."""

import ast
import importlib.util
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hipport.finding import Certainty
from hipport.languages.cpp import Cpp
from hipport.languages.cuda import Cuda
from hipport.languages.python import Python
from hipport.pipeline import Ported, run
from hipport.project import Project, Target
from hipport.source import Source
from hipport.testing import Fixture, fixtures
from hipport_passes import cpp_extension
from hipport_passes.cpp_extension import translate

FIXTURES = list(fixtures(Path(__file__).parent.parent / "fixtures" / "cpp_extension"))
BY_NAME = {str(fixture).partition("/")[2]: fixture for fixture in FIXTURES}


def _port(text: bytes | str, *others: Source, target: Target | None = None) -> Ported:
    source = Python(PurePosixPath("setup.py"), text.encode() if isinstance(text, str) else text)
    return run(Project((source, *others), target or Target()), (cpp_extension.PASS,))


def _text(ported: Ported) -> str:
    return ported.project.sources[0].text.decode()


# What the scripts hand to compilers, when they are run


class _Recorded(dict[str, dict[str, Any]]):
    def extension(self, name: str, sources: list[str], **options: Any) -> SimpleNamespace:
        self[name] = options
        return SimpleNamespace(name=name)

    def load_inline(self, name: str, **options: Any) -> None:
        self[name] = options


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that runs a script and returns the options of each extension that it builds."""

    def execute(text: bytes, **environment: str) -> _Recorded:
        recorded = _Recorded()
        modules = {
            name: ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.cpp_extension", "setuptools")
        }
        extension: Any = modules["torch.utils.cpp_extension"]
        extension.CUDAExtension = extension.CppExtension = extension.load = recorded.extension
        extension.load_inline = recorded.load_inline
        extension.BuildExtension = object
        extension.CUDA_HOME, extension.ROCM_HOME, extension.IS_HIP_EXTENSION = None, "/opt/rocm", True
        torch: Any = modules["torch"]
        torch.utils = SimpleNamespace(cpp_extension=extension)
        torch.version = SimpleNamespace(hip="6.4.0", cuda=None)
        torch.__version__ = "2.9.0+rocm6.4"
        torch.cuda = SimpleNamespace(is_available=lambda: False)
        setuptools: Any = modules["setuptools"]
        setuptools.setup = lambda **options: None
        with monkeypatch.context() as patched:
            for name, module in modules.items():
                patched.setitem(sys.modules, name, module)
            for name, value in environment.items():
                patched.setenv(name, value)
            patched.setattr("builtins.print", lambda *args, **options: None)
            exec(compile(text, "setup.py", "exec"), {"__name__": "__main__", "__file__": "/x/setup.py"})
        return recorded

    yield execute


def _arguments(flags: Any) -> list[str]:
    # PyTorch's `load` writes them into a file that a shell reads: what has a blank in it is two.
    return [word for flag in flags for word in flag.split()]


@pytest.mark.parametrize("environment", [{}, {"DEBUG": "1", "CC": "gcc-12"}], ids=["plain", "debug"])
@pytest.mark.parametrize("case", ["flags_in_lists", "flags_assembled", "load", "rocm_aware"])
def test_script_hands_on_what_its_flags_translate_to(executed: Any, case: str, environment: dict[str, str]) -> None:
    fixture = BY_NAME[case]
    before = executed(fixture.before.text, **environment)
    after = executed(fixture.after, **environment)
    assert before.keys() == after.keys() and before
    for name in before:
        compared = 0
        for keyword, of in (("extra_cuda_cflags", "nvcc"), ("extra_cflags", "host"), ("extra_ldflags", "link")):
            if keyword in before[name]:
                expected = translate(_arguments(before[name][keyword]), torch=True, of=of).kept
                assert _arguments(after[name][keyword]) == list(expected), (name, keyword)
                compared += 1
        ours = before[name].get("extra_compile_args")
        for key in ("nvcc", "cxx") if isinstance(ours, dict) else ("nvcc",) if ours else ():
            flags, result = (
                (
                    each[name]["extra_compile_args"].get(key, [])
                    if isinstance(ours, dict)
                    else each[name]["extra_compile_args"]
                )
                for each in (before, after)
            )
            if case == "rocm_aware":
                assert list(flags) == list(result)
            else:
                expected = translate(_arguments(flags), torch=True, of="nvcc" if key == "nvcc" else "host").kept
                assert _arguments(result) == list(expected), (name, key)
            compared += 1
        assert compared


def test_a_script_with_gates_builds_on_rocm_what_it_would_build_for_cuda(executed: Any) -> None:
    fixture = BY_NAME["gates"]
    # CUDA_HOME is None: before, the path that it is the beginning of stops the script, at the latest.
    with pytest.raises((RuntimeError, TypeError)):
        executed(fixture.before.text)
    after = executed(fixture.after)
    assert after["boxes"]["define_macros"] == [("WITH_CUDA", None)]
    assert after["extra"]["include_dirs"] == ["/opt/rocm/include"]


# Whichever findings are accepted


@pytest.mark.parametrize("fixture", [f for f in FIXTURES if f.after != f.before.text], ids=str)
def test_any_choice_of_findings_leaves_python_and_its_tuples(fixture: Fixture) -> None:
    source = fixture.before
    assert isinstance(source, Python)
    findings = [f for f in cpp_extension.find(source, Project((source,))) if f.edits]
    whole = ast.dump(ast.parse(fixture.after))
    tuples = sum(isinstance(node, ast.Tuple) for node in ast.walk(ast.parse(source.text)))
    dice = random.Random(7)
    choices = [[f] for f in findings] + [[g for g in findings if g is not f] for f in findings]
    choices += [[f for f in findings if dice.random() < 0.5] for _ in range(30)]
    for choice in choices:
        text = source.apply(edit for finding in choice for edit in finding.edits).text
        tree = ast.parse(text)
        # A tuple of one that loses its comma is no tuple; one that goes with its statement is gone from the result too.
        now = sum(isinstance(node, ast.Tuple) for node in ast.walk(tree))
        assert now == tuples or now == sum(isinstance(node, ast.Tuple) for node in ast.walk(ast.parse(fixture.after)))
    text = source.apply(edit for finding in findings for edit in finding.edits).text
    assert ast.dump(ast.parse(text)) == whole


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('["-O3", "--keep"]', '["-O3"]'),
        ('["--keep", "-O3"]', '["-O3"]'),
        ('["--keep"]', "[]"),
        ('["-O3", "--keep",]', '["-O3",]'),
        ('["-O3", "--keep", "--keep-dir", "x"]', '["-O3",]'),
        ('["--keep", "-res-usage"]', "[]"),
        ('("-O3", "--keep")', '("-O3",)'),
        ('("--keep", "-O3")', '("-O3",)'),
        ('("--keep", "-O3", "-res-usage")', '("-O3",)'),
        ('("--keep", "-res-usage")', "()"),
        ('("-O3", "-G")', '("-O3", "-g", "-O0")'),
        ('[("--keep"), ("-O3")]', '[("-O3")]'),
        ('["-O3", *more, "--keep"]', '["-O3", *more]'),
        ('["-O3",\n    "--keep"]', '["-O3",\n    ]'),
        ('["-O3",\n    "--keep",\n    "-g",\n]', '["-O3",\n    "-g",\n]'),
        ('[\n    "-O3",  # a\n    "--keep",  # b\n]', '[\n    "-O3",  # a\n    # b\n]'),
        ("['-O3', u'-lineinfo', r'-lineinfo']", "['-O3', u'-gline-tables-only', r'-gline-tables-only']"),
        ('["-O3" "-g", "--ke" "ep"]', '["-O3" "-g"]'),
        ('["-D" + name, "-arch=" + arch]', '["-D" + name]'),
        ('["-arch=sm_%d" % 70, "-arch={}".format(arch)]', "[]"),
        ('{"-O3", "--keep"}', '{"-O3"}'),
        ('"-O3 --keep -g".split()', '"-O3 -g".split()'),
        ('"--keep".split()', '"".split()'),
        ('"-O3 --keep".split()', '"-O3".split()'),
        ('"""-O3\n  -lineinfo""".split()', '"""-O3\n  -gline-tables-only""".split()'),
        ('(["-G"] if debug else ["--keep"])', '(["-g", "-O0"] if debug else [])'),
        ('list(("--keep", "-O3"))', 'list(("-O3",))'),
        ('[*["--keep"], "-O3"]', '[*[], "-O3"]'),
        ('["-arch=" + a for a in archs] + ["-O3"]', '[] + ["-O3"]'),
        ('os.getenv("F", "--keep -O3").split()', 'os.getenv("F", "-O3").split()'),
    ],
)
def test_what_goes_leaves_what_stands_around_it(before: str, after: str) -> None:
    script = 'CUDAExtension("a", ["a.cu"], extra_compile_args={{"nvcc": {}}})\nimport torch\n'
    assert _text(_port(script.format(before))) == script.format(after)


# With the code of the project, and with PyTorch's


SETUP = """\
from torch.utils.cpp_extension import CUDAExtension
CUDAExtension("a", ["a.cu"], extra_compile_args={"cxx": ["-DWITH_CUDA"], "nvcc": ["-O3", "-DWITH_CUDA", "-DOF_CUDA=2"]})
"""
ASKS = Cuda(PurePosixPath("a.cu"), b"#ifdef WITH_CUDA\n__global__ void k() {}\n#endif\n")


def test_macro_that_the_code_asks_for_is_not_renamed() -> None:
    ported = _port(SETUP, ASKS)
    assert '"nvcc": ["-O3", "-D", "WITH_CUDA", "-DOF_CUDA=2"]' in _text(ported)
    assert '"cxx": ["-DWITH_CUDA"]' in _text(ported)
    assert [reported.certainty for reported in ported.reported] == [Certainty.SAFE]


@pytest.mark.parametrize(
    "code",
    [
        Cuda(PurePosixPath("a.cu"), b"__global__ void k() {}\n"),
        # Whoever wrote this relies on the name that PyTorch makes of it.
        Cpp(PurePosixPath("a.h"), b"#if defined(WITH_CUDA) || defined(WITH_HIP)\n#endif\n"),
    ],
    ids=["nobody asks", "asked for by both names"],
)
def test_macro_is_left_to_pytorch(code: Source) -> None:
    assert not _port(SETUP, code).reported


def test_macro_reaches_load_under_its_own_name() -> None:
    script = 'from torch.utils.cpp_extension import load\nload("a", ["a.cu"], extra_cuda_cflags=["-DWITH_CUDA"])\n'
    assert not _port(script, ASKS).reported


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None,
    reason="torch is not installed: what its build makes of macros was NOT checked",
)
def test_pytorchs_own_build_renames_the_macro_and_not_the_result() -> None:
    program = (
        "import sys, torch.utils.cpp_extension as e\n"
        "from types import SimpleNamespace as N\n"
        "for flags in (['-DWITH_CUDA'], ['-D', 'WITH_CUDA']):\n"
        "    extension = N(extra_compile_args={'nvcc': flags})\n"
        "    e.BuildExtension._hipify_compile_flags(None, extension)\n"
        "    print(*extension.extra_compile_args['nvcc'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-DWITH_HIP", "-D WITH_CUDA"]


def test_release_decides_the_spelling() -> None:
    script = SETUP.replace("-O3", "--use_fast_math")
    assert "-fcuda-approx-transcendentals" in _text(_port(script, target=Target(rocm=(5, 2))))
    assert "-fgpu-approx-transcendentals" in _text(_port(script, target=Target(rocm=(6, 4))))


# Files that are not plain


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: b"# coding: latin-1\n" + text.encode("latin-1"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: ("\f\n" + text).encode(),
    ],
    ids=["byte-order mark", "latin-1", "CR LF", "form feed"],
)
def test_edits_are_in_their_place_in_every_encoding(encode: Any) -> None:
    script = 'from torch.utils.cpp_extension import CUDAExtension\nä = "ö"\nnvcc_flags = [ä, "-lineinfo", "ü"]\n'
    assert _port(encode(script)).project.sources[0].text == encode(script.replace("-lineinfo", "-gline-tables-only"))


def test_places_that_are_not_known_are_said_not_guessed() -> None:
    text = b"# coding: iso-2022-jp\nx = '" + "日本".encode("iso-2022-jp") + b"'\n"
    text += b"CUDAExtension('a', ['a.cu'], extra_compile_args={'nvcc': ['-lineinfo']})\n"
    ported = _port(text)
    assert not ported.changed
    assert [(r.rule, r.certainty) for r in ported.reported] == [("cpp_extension/unread", Certainty.MANUAL)]


def test_other_python_is_not_even_parsed() -> None:
    source = Python(PurePosixPath("model.py"), b"import torch\nx = torch.zeros(3, device='cuda')\n")
    assert not list(cpp_extension.find(source, Project((source,))))
    assert "_parsed" not in source.__dict__


def test_passes_are_imported_without_the_parser() -> None:
    program = "import sys, hipport_passes; sys.exit('libcst' in sys.modules or 'torch' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    assert subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode == 0


# Conditions


CONDITIONS = {
    # condition: whether what it guards is nobody's port yet
    "debug": True,
    "torch.cuda.is_available()": True,
    "torch.version.hip is None": False,
    "torch.version.hip": False,
    "not torch.version.hip": False,
    "torch.version.cuda is not None": False,
    "IS_HIP_EXTENSION": False,
    "not IS_HIP_EXTENSION and debug": False,
    "debug or not is_rocm_pytorch": True,
    "bool(torch.version.hip)": False,
    "hasattr(torch.version, 'hip') and torch.version.hip is not None": False,
    "getattr(torch.version, 'hip', None)": False,
    "os.environ.get('USE_ROCM', '0') == '1'": False,
    "target == 'rocm'": False,
    "'rocm' in torch.__version__": False,
    "ROCM_HOME is None": False,
    "is_rocm()": False,
    "os.name == 'nt'": False,
    "os.name != 'nt'": True,
    "os.name == 'posix'": True,
    "sys.platform.startswith('win')": False,
    "platform.system() == 'Linux'": True,
    "torch_ver < [1, 7]": False,
    "parse(torch.__version__) >= parse('1.12')": True,
    "parse(torch.__version__) >= parse('2.1')": True,
    "ship_it": True,
    "amount": True,
    "hipster": True,
}


@pytest.mark.parametrize(("condition", "ours"), CONDITIONS.items())
def test_branches_that_somebody_has_decided_about_stay(condition: str, ours: bool) -> None:
    for pattern in (
        'if {}:\n    nvcc_flags += ["-lineinfo"]\n',
        'nvcc_flags += ["-lineinfo"] if {} else []\n',
        'def f():\n    if not ({}):\n        return\n    nvcc_flags.append("-lineinfo")\nf()\n',
        'def f():\n    nvcc_flags.append("-lineinfo")\nif {}:\n    f()\n',
    ):
        script = "import torch\nnvcc_flags = []\n" + pattern.format(condition)
        script += 'CUDAExtension("a", ["a.cu"], extra_compile_args={"nvcc": nvcc_flags})\n'
        assert bool(_port(script).changed) is ours, script


def test_a_variable_says_what_it_was_set_to() -> None:
    for value, name in itertools.product(("torch.version.hip is not None", "is_rocm()"), ("amd_build", "flag")):
        script = (
            f'import torch\n{name} = {value}\nnvcc_flags = ["-O3"]\nif not {name}:\n    nvcc_flags.append("--keep")\n'
            'CUDAExtension("a", ["a.cu"], extra_compile_args={"nvcc": nvcc_flags})\n'
        )
        assert not _port(script).changed

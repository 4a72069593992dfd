# SPDX-License-Identifier: Apache-2.0
"""Build scripts, ported: executed with a stand-in for PyTorch, and with PyTorch's own code where there is one."""

import ast
import importlib.util
import itertools
import os
import random
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import pytest

import hipport
from hipport.core.finding import Certainty
from hipport.core.source import Source
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.cpp import Cpp
from hipport.syntax.cuda import Cuda
from hipport.syntax.python_script import Python
from hipport.testing import Fixture, fixtures
from hipport_passes.build_files import cpp_extension
from hipport_passes.build_files.cpp_extension import translate
from recorded_builds import Recorded, record, words

FIXTURES = list(fixtures(Path(__file__).parent.parent / "fixtures" / "cpp_extension"))
BY_NAME = {str(fixture).partition("/")[2]: fixture for fixture in FIXTURES}


def _port(text: bytes | str, *others: Source, target: Target | None = None) -> Ported:
    source = Python(PurePosixPath("setup.py"), text.encode() if isinstance(text, str) else text)
    return run(Project((source, *others), target or Target()), (cpp_extension.PASS,))


def _text(ported: Ported) -> str:
    return ported.project.sources[0].text.decode()


# The scripts' arguments for compilers at run time


@pytest.mark.parametrize("environment", [{}, {"DEBUG": "1", "CC": "gcc-12"}], ids=["plain", "debug"])
@pytest.mark.parametrize("case", ["flags_in_lists", "flags_assembled", "load", "rocm_aware"])
def test_a_script_passes_the_translations_of_its_flags(case: str, environment: dict[str, str], tmp_path: Path) -> None:
    before, after = (
        _recorded(tmp_path / name / "setup.py", text, rocm=True, env=environment)
        for name, text in (("before", BY_NAME[case].before.text), ("after", BY_NAME[case].after))
    )
    assert not before.error and not after.error
    for of, flags in before.flags().items():
        if case != "rocm_aware":
            flags = {translate(each, torch=True, of=of).kept for each in flags}
        assert flags == after.flags()[of]
    assert len(before.extensions) == len(after.extensions) > 1


def _recorded(script: Path, text: bytes, **options: Any) -> Recorded:
    script.parent.mkdir(exist_ok=True)
    script.write_bytes(text)
    return record(script, **options)


def test_a_script_with_gates_builds_on_rocm_what_it_would_build_for_cuda(tmp_path: Path) -> None:
    fixture = BY_NAME["gates"]
    assert "needs nvcc" in _recorded(tmp_path / "setup.py", fixture.before.text, rocm=True).error
    named = {"PYTORCH_ROCM_ARCH": "gfx942"}
    boxes, extra = _recorded(tmp_path / "setup.py", fixture.after, rocm=True, env=named).extensions
    assert boxes["function"] == "CUDAExtension" and boxes["define_macros"] == [["WITH_CUDA", None]]
    assert extra["include_dirs"] == ["<scratch>/rocm/include"]


# Any accepted subset of findings


@pytest.mark.parametrize("fixture", [f for f in FIXTURES if f.after != f.before.text], ids=str)
def test_any_choice_of_findings_leaves_python_that_builds_the_same_for_cuda(fixture: Fixture, tmp_path: Path) -> None:
    source = fixture.before
    assert isinstance(source, Python)
    findings = [f for f in cpp_extension.find(source, Project((source,))) if f.edits]
    dice = random.Random(7)
    choices = [[f] for f in findings] + [[g for g in findings if g is not f] for f in findings]
    choices += [[f for f in findings if dice.random() < 0.5] for _ in range(30)]
    texts = {source.apply(edit for finding in choice for edit in finding.edits).text for choice in choices}
    for text in texts:
        ast.parse(text)
    expected = _recorded(tmp_path / "setup.py", source.text, rocm=False)
    for text in sorted(texts)[:3]:
        assert _recorded(tmp_path / "setup.py", text, rocm=False) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('["-O3", "--keep"]', '["-O3", *([] if H else ["--keep"])]'),
        ('["--keep", "-O3"]', '[*([] if H else ["--keep"]), "-O3"]'),
        ('["--keep"]', '[] if H else ["--keep"]'),
        ('["-O3", "--keep",]', '["-O3", *([] if H else ["--keep"]),]'),
        ('["-O3", "--keep", "--keep-dir", "x"]', '["-O3", *([] if H else ["--keep", "--keep-dir", "x"])]'),
        ('["--keep", "-O3", "-res-usage"]', '[*([] if H else ["--keep"]), "-O3", *([] if H else ["-res-usage"])]'),
        ('("-O3", "--keep")', '("-O3", *([] if H else ["--keep"]))'),
        ('("--keep", "-res-usage")', '() if H else ("--keep", "-res-usage")'),
        ('("-O3", "-G")', '("-O3", *(["-g", "-O0"] if H else ["-G"]))'),
        ('("-lineinfo",)', '("-gline-tables-only",) if H else ("-lineinfo",)'),
        ('[("--keep"), ("-O3")]', '[*([] if H else [("--keep")]), ("-O3")]'),
        ('["-O3", *more, "--keep"]', '["-O3", *more, *([] if H else ["--keep"])]'),
        ('["--keep", *more, "--keep"]', '[*([] if H else ["--keep"]), *more, *([] if H else ["--keep"])]'),
        ('["-O3",\n    "--keep"]', '["-O3",\n    *([] if H else ["--keep"])]'),
        (
            '["-O3",\n    "--keep",\n    "-G",  # g\n]',
            '["-O3",\n    *(["-g", "-O0"] if H else [\n        "--keep",\n        "-G",  # g\n    ]),\n]',
        ),
        (
            '[\n    "-O3",\n    "--keep",\n\n    # a\n    "-G"\n]',
            '[\n    "-O3",\n    *(["-g", "-O0"] if H else [\n        "--keep",\n\n        # a\n        "-G"\n    ])\n]',
        ),
        ('[\n    "-O3",  # a\n    "--keep",  # b\n]', '[\n    "-O3",  # a\n    *([] if H else ["--keep"]),  # b\n]'),
        (
            "['-O3', u'-lineinfo', r'-lineinfo']",
            "['-O3', *(['-gline-tables-only', '-gline-tables-only'] if H else [u'-lineinfo', r'-lineinfo'])]",
        ),
        ('["-O3" "-g", "--ke" "ep"]', '["-O3" "-g", *([] if H else ["--ke" "ep"])]'),
        ('["-Xcompiler", "-D" + name]', '["-D" + name] if H else ["-Xcompiler", "-D" + name]'),
        ('["-D" + name, "-arch=" + arch]', '["-D" + name, *([] if H else ["-arch=" + arch])]'),
        ('["-arch=sm_%d" % 70, "-arch={}".format(arch)]', '[] if H else ["-arch=sm_%d" % 70, "-arch={}".format(arch)]'),
        ('{"-O3", "--keep"}', '{"-O3", *([] if H else ["--keep"])}'),
        ('{"--keep"}', 'set() if H else {"--keep"}'),
        ('"-O3 --keep -g".split()', '("-O3 -g" if H else "-O3 --keep -g").split()'),
        ('"--keep".split()', '("" if H else "--keep").split()'),
        ('f"-O3 --keep -DN={name}".split()', '(f"-O3 -DN={name}" if H else f"-O3 --keep -DN={name}").split()'),
        (
            '"""-O3\n  -lineinfo""".split()',
            '("""-O3\n  -gline-tables-only""" if H else """-O3\n  -lineinfo""").split()',
        ),
        (
            '(["-G"] if debug else ["--keep"])',
            '((["-g", "-O0"] if H else ["-G"]) if debug else [] if H else ["--keep"])',
        ),
        ('list(("--keep", "-O3"))', 'list((*([] if H else ["--keep"]), "-O3"))'),
        ('[*["--keep"], "-O3"]', '[*([] if H else ["--keep"]), "-O3"]'),
        ('["-arch=" + a for a in archs] + ["-O3"]', '([] if H else ["-arch=" + a for a in archs]) + ["-O3"]'),
        ('list("-arch=" + a for a in archs)', 'list(() if H else ("-arch=" + a for a in archs))'),
        ('os.getenv("F", "--keep -O3").split()', 'os.getenv("F", "-O3" if H else "--keep -O3").split()'),
        ('(os.getenv("F") or "--keep -O3").split()', '(os.getenv("F") or ("-O3" if H else "--keep -O3")).split()'),
        ('["--keep"] * debug', '([] if H else ["--keep"]) * debug'),
    ],
)
def test_the_choice_keeps_adjacent_text_and_cudas_flags(before: str, after: str) -> None:
    after = re.sub(r"\bH\b", "torch.version.hip", after)
    script = 'import torch\nCUDAExtension("a", ["a.cu"], extra_compile_args={{"nvcc": {}}})\n'
    assert _text(_port(script.format(before))) == script.format(after)
    known = {"os": os, "more": ["-g"], "name": "X", "arch": "sm_70", "archs": ["sm_70", "sm_80"], "debug": True}
    for known["debug"], hip in itertools.product((True, False), (None, "6.4.0")):
        known["torch"] = SimpleNamespace(version=SimpleNamespace(hip=hip))
        flags, result = eval(before, known), eval(after, known)
        assert type(flags) is type(result) or "GeneratorExp" in ast.dump(ast.parse(after))
        if hip is None:
            assert flags == result
        elif isinstance(flags, set):
            assert result == flags - {"--keep"}
        else:
            assert words(result) == translate(words(flags), torch=True).kept


# With the code of the project, and with PyTorch's


SETUP = """\
from torch.utils.cpp_extension import CUDAExtension
CUDAExtension("a", ["a.cu"], extra_compile_args={"cxx": ["-DWITH_CUDA"], "nvcc": ["-O3", "-DWITH_CUDA", "-DOF_CUDA=2"]})
"""
ASKS = Cuda(PurePosixPath("a.cu"), b"#ifdef WITH_CUDA\n__global__ void k() {}\n#endif\n")


def test_macro_that_the_code_asks_for_is_not_renamed() -> None:
    ported = _port(SETUP, ASKS)
    expected = '"nvcc": ["-O3", *(["-D", "WITH_CUDA"] if IS_HIP_EXTENSION else ["-DWITH_CUDA"]), "-DOF_CUDA=2"]'
    assert expected in _text(ported)
    assert '"cxx": ["-DWITH_CUDA"]' in _text(ported)
    assert [reported.certainty for reported in ported.reported] == [Certainty.SAFE]


@pytest.mark.parametrize(
    "code",
    [
        Cuda(PurePosixPath("a.cu"), b"__global__ void k() {}\n"),
        # The author relies on PyTorch's renaming.
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


# Unusual files


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
    script = 'import torch  # CUDAExtension\nä = "ö"\nnvcc_flags = [ä, "-lineinfo", "ü"]\n'
    ported = '*(["-gline-tables-only"] if torch.version.hip else ["-lineinfo"])'
    assert _port(encode(script)).project.sources[0].text == encode(script.replace('"-lineinfo"', ported))


def test_unknown_places_are_reported_not_guessed() -> None:
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
    # condition: whether its body is nobody's port yet
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
    "'PYTORCH_ROCM_ARCH' in os.environ": False,
    "torch.cuda.is_available() or (torch.version.hip is not None and 'PYTORCH_ROCM_ARCH' in os.environ)": True,
    "debug or 'ROCM_HOME' not in os.environ": True,
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
def test_branches_with_a_decision_about_rocm_stay(condition: str, ours: bool) -> None:
    for pattern in (
        'if {}:\n    nvcc_flags += ["-lineinfo"]\n',
        'nvcc_flags += ["-lineinfo"] if {} else []\n',
        'def f():\n    if not ({}):\n        return\n    nvcc_flags.append("-lineinfo")\nf()\n',
        'def f():\n    nvcc_flags.append("-lineinfo")\nif {}:\n    f()\n',
    ):
        script = "import torch\nnvcc_flags = []\n" + pattern.format(condition)
        script += 'CUDAExtension("a", ["a.cu"], extra_compile_args={"nvcc": nvcc_flags})\n'
        assert bool(_port(script).changed) is ours, script


def test_a_variable_has_its_assigned_value() -> None:
    for value, name in itertools.product(("torch.version.hip is not None", "is_rocm()"), ("amd_build", "flag")):
        script = (
            f'import torch\n{name} = {value}\nnvcc_flags = ["-O3"]\nif not {name}:\n    nvcc_flags.append("--keep")\n'
            'CUDAExtension("a", ["a.cu"], extra_compile_args={"nvcc": nvcc_flags})\n'
        )
        assert not _port(script).changed


def test_a_cpp_extension_that_could_have_kernels_stays(tmp_path: Path) -> None:
    """Scripts that are copied from one extension to the next ask for .cu files although there are none."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.cpp").write_text("int a;\n")
    (tmp_path / "setup.py").write_text(
        "import os\nfrom setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, CppExtension\n"
        "sources = [f for f in os.listdir('src') if f.endswith('.cpp') or f.endswith('.cu')]\n"
        "setup(name='q', ext_modules=[CppExtension('q', sources)], cmdclass={'build_ext': BuildExtension})\n"
    )
    assert not hipport.scan([tmp_path]).ported.reported
    (tmp_path / "src/a.cu").write_text("__global__ void k() {}\n")
    assert [found.rule for found in hipport.scan([tmp_path]).ported.reported if found.needs_person] == [
        "cpp_extension/cpp_extension"
    ]

# SPDX-License-Identifier: Apache-2.0
"""Lists of packages: the influence of a file's place, of the program and of the user's own rules."""

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import tomllib
from click.testing import CliRunner

from hipport import api
from hipport.cli import main
from hipport.engine.outcomes import Ported
from hipport.engine.pipeline import run
from hipport.program.project import Project, Target
from hipport.syntax.file_languages import is_of_gpus, source
from hipport.syntax.packaging import Requirements
from hipport.syntax.shell import Command, Dockerfile, Shell
from hipport.syntax.toml import Toml
from hipport.workspace import config
from hipport_passes.packages import recipes, requirements
from hipport_passes.packages.judge import asked, judge

PINNED = b"torch==2.1.0+cu118\n"


def ported(tmp_path: Path, files: dict[str, str], **options: Any) -> Ported:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return api.rewrite([tmp_path], passes=(requirements.PASS,), **options)


def text_of(result: Ported, name: str) -> str:
    return result.project.by_path[PurePosixPath(name)].text.decode()


@pytest.mark.parametrize(
    ("ours", "other"),
    [
        ("requirements/cuda.txt", "requirements/rocm.txt"),
        ("requirements.txt", "requirements-rocm.txt"),
        ("requirements_cuda.txt", "requirements_amd.txt"),
        ("envs/cuda/requirements.txt", "envs/rocm/requirements.txt"),
    ],
)
def test_a_list_with_a_counterpart_for_rocm_is_left_alone(tmp_path: Path, ours: str, other: str) -> None:
    result = ported(tmp_path, {ours: "torch==2.1.0+cu118\n", other: "torch==2.6.0+rocm6.2.4\nxformers\n"})
    assert not result.reported


def test_lists_of_a_folder_and_of_pipenv_are_ported(tmp_path: Path) -> None:
    pipfile = (
        '[[source]]\nurl = "https://download.pytorch.org/whl/cu118"\nname = "pytorch"\n\n'
        '[packages]\ntorch = {version = "==2.1.0+cu118", index = "pytorch"}\nxformers = "*"\n'
    )
    files = {"requirements/gpu.txt": "torch==2.1.0+cu118\n", "Pipfile": pipfile, "data/gpu.txt": "torch==2.1.0+cu118\n"}
    result = ported(tmp_path, files)
    assert text_of(result, "requirements/gpu.txt") == "torch\n"
    packages = tomllib.loads(text_of(result, "Pipfile"))
    assert packages["packages"] == {"torch": {"version": "*", "index": "pytorch"}}
    assert packages["source"][0]["url"].endswith("/whl/rocm6.4")
    assert {reported.path.as_posix() for reported in result.reported} == {"requirements/gpu.txt", "Pipfile"}


def test_a_list_that_its_counterpart_reads_in_is_ported(tmp_path: Path) -> None:
    files = {"requirements.txt": "torch==2.1.0\n", "requirements-rocm.txt": "-r requirements.txt\namdsmi\n"}
    assert text_of(ported(tmp_path, files), "requirements.txt") == "torch\n"


def test_a_dockerfile_beside_one_for_rocm_is_left_alone(tmp_path: Path) -> None:
    files = {
        "docker/Dockerfile": "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n",
        "docker/rocm7_1.Dockerfile": "# as in Dockerfile\nFROM rocm/pytorch:rocm7.1\n",
    }
    assert not ported(tmp_path, files).reported


def test_extensions_in_an_environment_of_conda_wait_for_pytorch(tmp_path: Path) -> None:
    listed = "    - submodules/knn\n    - ./tools\n    - tqdm\n"
    files = {
        "environment.yml": f"dependencies:\n  - pytorch=1.12\n  - pip:\n{listed}",
        "submodules/knn/setup.py": "from torch.utils.cpp_extension import CUDAExtension\n",
        "tools/setup.py": "from setuptools import setup\n",
    }
    result = ported(tmp_path, files)
    lines = text_of(result, "environment.yml").splitlines()
    assert [line for line in lines if line.startswith("    - ")] == ["    - ./tools", "    - tqdm"]
    assert "    # - submodules/knn  # ROCm: pip install --no-build-isolation ./submodules/knn" in "\n".join(lines)
    assert not [each for each in ported(tmp_path, {"environment.yml": "\n".join(lines)}).reported if each.edits]


def test_lists_that_are_read_in_are_found_whatever_their_name(tmp_path: Path) -> None:
    files = {"requirements.txt": "-r deps/gpu\n", "deps/gpu": "--constraint=pins\n", "deps/pins": "torch==2.1.0\n"}
    assert text_of(ported(tmp_path, files), "deps/pins") == "torch\n"


def test_a_package_that_the_program_imports_is_not_taken_away(tmp_path: Path) -> None:
    files = {"requirements.txt": "pynvml\n", "watch.py": "import pynvml\nimport torch\nprint(torch.cuda)\n"}
    (reported,) = ported(tmp_path, files).reported
    assert reported.rule == "requirements/imported" and "watch.py imports it" in reported.message
    # Another package of the same recipe is not the imported one.
    both = {**files, "requirements.txt": "nvidia-ml-py\ngpustat\n"}
    assert text_of(ported(tmp_path, both), "requirements.txt").startswith("nvidia-ml-py\n# gpustat")
    files["watch.py"] = (
        "try:\n    import pynvml\nexcept ImportError:\n    pynvml = None\nimport torch\ntorch.cuda.init()\n"
    )
    assert text_of(ported(tmp_path, files), "requirements.txt").startswith("# pynvml")


@pytest.mark.parametrize(
    ("rocm", "index"), [((6, 4), "rocm6.4"), ((7, 0), "rocm6.4"), ((7, 9), "rocm7.2"), ((5, 2), "rocm6.1")]
)
def test_the_index_is_that_of_the_release(rocm: tuple[int, int], index: str) -> None:
    source = Requirements(PurePosixPath("requirements.txt"), b"-i https://example.org/whl/nightly/cu128\n")
    result = run(Project((source,), Target(rocm=rocm)), (requirements.PASS,))
    assert result.project.sources[0].text.decode() == f"-i https://example.org/whl/nightly/{index}\n"


@pytest.mark.parametrize(
    ("text", "name", "version", "address"),
    [
        ("torch", "torch", "", ""),
        ("torch [x]>=1 , <2 ; python_version < '3.9'", "torch", ">=1,<2", ""),
        ("torch(>=1)", "torch", ">=1", ""),
        ("a @ git+https://github.com/b/c@d", "a", "", "git+https://github.com/b/c@d"),
        (
            "git+ssh://git@github.com/b/c.git#egg=d&subdirectory=e",
            "d",
            "",
            "git+ssh://git@github.com/b/c.git#egg=d&subdirectory=e",
        ),
        ("https://a.b/c_d-1.0-py3-none-any.whl", "c_d", "", "https://a.b/c_d-1.0-py3-none-any.whl"),
    ],
)
def test_how_requirements_are_read(text: str, name: str, version: str, address: str) -> None:
    each = asked(text)
    assert each is not None
    assert (each.name, each.version.replace(" ", ""), each.address) == (name, version, address)


@pytest.mark.parametrize(
    "text", ["./torch", "../x", "torch/", "/a/torch", "torch is here", "C:\\torch", "--hash=1", "=="]
)
def test_other_text_is_no_requirement(text: str) -> None:
    each = asked(text)
    assert each is None or judge(text, recipes.merged({})) is None


def test_rules_replace_rows_field_by_field_and_add_some(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(
        '[[requirements.family]]\nname = "xformers"\naction = "leave"\n'
        '[[requirements.family]]\nname = "ours"\ndistributions = ["our-kernels*"]\n'
        'action = "remove"\nwhy = "ours is for CUDA"\n'
        '[[requirements.index]]\nrocm = "6.4"\nurl = "https://mirror.example.org/whl/rocm6.4.1"\n'
    )
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "requirements.txt").write_text("-i https://example.org/whl/cu121\nxformers\nour-kernels-cu12\n")
    result = CliRunner().invoke(main, ["rewrite", str(tree), "--rules", str(own)])
    assert result.exit_code == 1, result.output
    wanted = "-i https://example.org/whl/rocm6.4.1\nxformers\n# our-kernels-cu12  # ROCm: ours is for CUDA\n"
    assert (tree / "requirements.txt").read_text() == wanted
    (tree / "requirements.txt").write_text("xformers\n")
    (tree / "hipport.toml").write_text('rules = ["../mine.toml"]\n')
    assert CliRunner().invoke(main, ["rewrite", str(tree), "--check"]).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[requirements.family]]\nname = "x"\naction = "remove"\n', "`why` is missing"),
        ('[[requirements.family]]\nname = "x"\nwhy = "y"\naction = "burn"\n', "'burn' is not an action"),
        ('[[requirements.family]]\nname = "xformers"\nwrong = 1\n', "unknown key `wrong`"),
        ('[[requirements.family]]\nname = "xformers"\ninstall = "pip"\n', "must be a list of strings"),
        ('[[requirements.family]]\naction = "keep"\n', "has no `name`"),
        ('[[requirements.image]]\nrocm = "six"\nname = "x"\n', "'six' is not a ROCm release"),
        ('[[requirements.other]]\nname = "x"\n', "unknown table"),
        ("[[launch_syntax.x]]\na = 1\n", "no pass of that name takes rules"),
        ("requirements = 1\n", "rules are rows"),
        ("[[", "mine.toml"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "requirements.txt").write_text("torch\n")
    result = CliRunner().invoke(main, ["rewrite", str(tmp_path), "--rules", str(tmp_path / "mine.toml")])
    assert result.exit_code == 2
    assert said in result.output
    with pytest.raises(config.BadConfig):
        config.read_rules([tmp_path / "none.toml"])


def test_every_row_is_dated_and_has_a_source() -> None:
    rows = recipes.merged({})
    for row in (*rows.families, *rows.indexes, *rows.images):
        assert row.date and row.source, row
        assert row.rocm, row
    for family in rows.families:
        if family.action in ("remove", "separate"):
            assert family.note, family.name
        if family.check:
            compile(family.check, family.name, "exec")


@pytest.mark.parametrize(
    "text",
    [
        'a = "x"\n[b]\nc = ["y", { d = "z" }, 1]\n[[e.f]]\ng = "1"\n[[e.f]]\ng = "2"\n[e.f.h]\ni = "3"\n',
        'a.b."c d" = \'x\'\ne = """\ny"""\n'
        "f = '''z'''\n[g.'h'] # i\nj = 1979-05-27T07:32:00Z\nk = [ # l\n \"m\" , # n\n]\n",
        'a = "\\u0041"\r\nb = [\r\n  "c",\r\n]\r\n',
        "\ufeffa = 'x'\n",
        "a = {b = 'c', d = ['e', {f = 'g'}]}\nh = [[], ['i']]\n",
    ],
)
def test_strings_in_toml_have_exact_places(text: str) -> None:
    source = Toml(PurePosixPath("pyproject.toml"), text.encode())
    assert source.errors == 0 and source.entries
    for entry in source.entries:
        assert tomllib.loads("v = " + source[entry.span].decode())["v"] == entry.value
        value: Any = source.document
        for key in entry.path:
            value = value[key]
        assert value == entry.value


@pytest.mark.parametrize("text", ["a = ", "a = [", "[a", 'a = "x', "a = 1\na = 2\n", "\x00", "= 1"])
def test_invalid_toml_is_left_alone(text: str) -> None:
    source = Toml(PurePosixPath("pyproject.toml"), text.encode())
    assert source.errors == 1 and not source.entries
    result = run(Project((source,)), (requirements.PASS,))
    assert not result.reported


def test_requirements_in_their_lines() -> None:
    text = b"\xef\xbb\xbfa==1 \\\r\n  --hash=x\r\n# b \\\r\nc # d\n\n  -r e.txt\n-cf.txt\n--requirement=g\nh \\"
    source = Requirements(PurePosixPath("requirements.txt"), text)
    said = [(source[line.requirement], source[line.options].split(b"\n")[0]) for line in source.lines]
    assert [each for each, _ in said] == [b"a==1", b"c", b"", b"", b"", b"h"]
    assert source.includes == ("e.txt", "f.txt", "g")


def test_a_folder_for_each_vendor_is_left_alone(tmp_path: Path) -> None:
    run_it = "RUN pip install torch==2.1.0 --index-url https://download.pytorch.org/whl/cu121\n"
    files = {
        "docker/docker-cuda/Dockerfile.base": "FROM ubuntu\n" + run_it,
        "docker/docker-rocm/Dockerfile": "FROM rocm/pytorch\n" + run_it,
    }
    assert not ported(tmp_path, files).reported
    assert ported(tmp_path, {"docker/other/Dockerfile": "FROM ubuntu\n" + run_it}).reported


def test_an_extension_of_the_repository_is_built_with_the_installed_pytorch(tmp_path: Path) -> None:
    files = {
        "scripts/install_ext.sh": "pip install ./encoder\npip install -e ./plain --no-cache-dir\n",
        "encoder/setup.py": "from torch.utils.cpp_extension import CUDAExtension\n",
        "plain/setup.py": "from setuptools import setup\nsetup()\n",
    }
    files["scripts/install_ext.sh"] += "pip install -e './encoder[x]'\n"
    files["scripts/install_ext.sh"] += "pip install --no-build-isolation ./encoder\n"
    text = text_of(ported(tmp_path, files), "scripts/install_ext.sh").splitlines()
    assert text[0] == "pip install --no-build-isolation ./encoder"
    assert text[1] == "pip install -e ./plain --no-cache-dir"
    assert text[2] == "pip install --no-build-isolation -e './encoder[x]'"
    assert text[3] == "pip install --no-build-isolation ./encoder"


def test_where_an_extension_is_built_follows_cd(tmp_path: Path) -> None:
    script = """cd ext/encoder
pip install .
cd ../..
pip install .
pushd "$ROOT/ext/encoder" && pip install -v -e .
popd
(cd other; pip install .)
cd - && pip install .
cd /app/ext && pip install encoder/
pip install ./encoder ../ext/encoder
pip install ext/encoder encoder git+https://host/ext/encoder
"""
    setup = "from torch.utils.cpp_extension import CUDAExtension\n"
    files = {"install.sh": script, "ext/encoder/setup.py": setup, "other/setup.py": "import setuptools\n"}
    lines = text_of(ported(tmp_path, files), "install.sh").splitlines()
    built = [number for number, line in enumerate(lines, 1) if "--no-build-isolation" in line]
    assert built == [2, 5, 10, 11]
    # The folder that the script starts in.
    files["setup.py"] = setup
    lines = text_of(ported(tmp_path / "other", files), "install.sh").splitlines()
    assert "--no-build-isolation" in lines[3]


def test_commands_in_a_text_are_ported_if_they_have_counterparts(tmp_path: Path) -> None:
    text = """```
pip install torch==2.1.0+cu118 --index-url https://download.pytorch.org/whl/cu118
pip install submodules/rasterizer
pip install kaolin==0.15.0 -f https://nvidia-kaolin.s3.us-east-2.amazonaws.com/torch-2.1.0_cu118.html
```
"""
    setup = "from torch.utils.cpp_extension import CUDAExtension\n"
    result = ported(tmp_path, {"README.md": text, "submodules/rasterizer/setup.py": setup})
    lines = text_of(result, "README.md").splitlines()
    assert lines[1] == "pip install torch --index-url https://download.pytorch.org/whl/rocm6.4"
    assert lines[2] == "pip install --no-build-isolation submodules/rasterizer"
    assert [(r.line, r.rule.partition("/")[2], r.certainty.name) for r in result.reported] == [
        (2, "torch", "REVIEW"),
        (3, "isolation", "REVIEW"),
        (4, "told", "MANUAL"),
    ]


@pytest.mark.parametrize(
    ("text", "words", "under"),
    [
        ("a 'b c' \"d $e\" f\\ g h#i # j", [["a", "b c", "d $e", "f g", "h#i"]], [""]),
        ("X=1 a b=c; d && e | f & g", [["a", "b=c"], ["d"], ["e"], ["f"], ["g"]], [""] * 5),
        ("a \\\n  b\nc", [["a", "b"], ["c"]], ["", ""]),
        ("a $(b c) `d e` ${f g}", [["a", "$(b c)", "`d e`", "${f g}"], ["b", "c"], ["d", "e"]], [""] * 3),
        ("a=\"b $(c | d)\"; e '$(f)'", [["a=b $(c | d)"], ["c"], ["d"], ["e", "$(f)"]], [""] * 4),
        ('if a "$(b)"; then c; fi', [["a", "$(b)"], ["b"], ["c"]], ["a $(b)"] * 3),
        ("a <<E\npip install x\nE\nb > c 2>&1 d", [["a"], ["b", "d"]], ["", ""]),
        ("if a b; then c; elif d; then e; else f; fi; g", [["a", "b"], ["c"], ["d"], ["e"], ["f"], ["g"]], None),
        ("case $x in\n a|b) c ;;\n (d) e;;\nesac\nf", [["c"], ["e"], ["f"]], ["$x a b", "$x a b d", ""]),
        (
            "for i in a b; do c $i; done; while d; do e; done",
            [["for", "i", "in", "a", "b"], ["c", "$i"], ["d"], ["e"]],
            None,
        ),
        ("f() { a; }", [["f"], ["a"]], None),
        ("a 'never closed", [["a"], ["never", "closed"]], None),
    ],
)
def test_commands_of_a_shell_script(text: str, words: list[list[str]], under: list[str] | None) -> None:
    source = Shell(PurePosixPath("x.sh"), text.encode())
    said = [[word.text for word in command.words] for command in source.commands]
    if text.endswith("closed"):
        assert said[0][0] == "a"
        return
    assert said == words
    for command in source.commands:
        for word in command.words:
            if word.plain:
                assert source.text[word.start :].decode().startswith(word.text)
    if under is not None:
        assert [conditions_of(command) for command in source.commands] == under


def conditions_of(command: Command) -> str:
    """Return all conditions of a command, outermost first."""
    texts = []
    condition = command.under
    while condition is not None:
        texts.append(condition.text)
        condition = condition.before
    return " ".join(reversed(texts))


def test_conditions_around_a_command() -> None:
    source = Shell(PurePosixPath("x.sh"), b"if a b; then c; elif d; then e; if f; then g; fi; else h; fi\ni\n")
    under = {command.words[0].text: conditions_of(command) for command in source.commands}
    assert under["c"] == "a b"
    assert under["e"] == under["h"] == "a b d"
    assert under["g"] == "a b d f"
    assert under["i"] == ""


def test_instructions_of_a_dockerfile() -> None:
    text = b'# c\nFROM a AS b\r\nRUN --mount=type=x,y=z c && \\\n# d\n\n  e f\\\n  g\nENV A=1 \\\n B="2"\nCMD ["x"]'
    source = Dockerfile(PurePosixPath("Dockerfile"), text)
    assert [each.name for each in source.instructions] == ["FROM", "RUN", "ENV", "CMD"]
    assert [[word.text for word in command.words] for command in source.commands] == [["c"], ["e", "f", "g"]]
    assert [word.text for word in source.instructions[2].words] == ["A=1", "B=2"]


@pytest.mark.parametrize(
    "name", ["build.sh", "Dockerfile", "README.md", "pyproject.toml", "tox.ini", "environment.yml"]
)
def test_every_package_with_a_recipe_is_searched_in_a_tree(name: str) -> None:
    """Many files install packages, and only those that name a package with a recipe are read."""
    named = recipes.naming({})
    texts = {
        "build.sh": "pip install {}\n",
        "Dockerfile": "FROM ubuntu\nRUN pip install {}\n",
        "README.md": "```bash\npip install {}\n```\n",
        "pyproject.toml": '[project]\nname = "q"\ndependencies = ["{}"]\n',
        "tox.ini": "[testenv]\ndeps = {}\n",
        "environment.yml": "dependencies:\n  - {}\n",
    }
    for family in recipes.merged({}).families:
        packages = [*family.distributions, *(f"git+https://github.com/{each}.git" for each in family.repositories)]
        for each in (*packages, *(family.conda if name == "environment.yml" else ())):
            text = texts[name].format(each.replace("*", "x")).encode()
            assert is_of_gpus(source(PurePosixPath(name), text), text, named), each
    assert not is_of_gpus(source(PurePosixPath(name), b"x"), texts[name].format("matplotlib").encode(), named)


def test_a_package_of_a_family_is_found_in_a_tree(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM ubuntu\nRUN pip install vllm\n")
    (tmp_path / "build.sh").write_text("nvcc -o a a.cu\n")
    rules = {reported.rule for reported in api.rewrite([tmp_path]).reported}
    assert {"requirements/no_rocm", "shell_builds/nvcc"} <= rules

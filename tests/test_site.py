# SPDX-License-Identifier: Apache-2.0
"""The documents: the site builds without a warning, needs no network, has a page for each rule, and has no dead links.

Its outputs of commands are the real ones.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

import pytest

import hipport
import quick_hipcc
from hipport.toolchain import toolchains
from hipport_passes import PASSES
from reported_rules import known_rules
from source_packages import without_cuda

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: Attributes of a page that load something, rather than link to it.
_LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_FENCE = re.compile(r"^( *)```(\w+)?([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!`)!?\[[^\]\n]*\]\(([^)\s]+)\)")
_TESTS = sorted((ROOT / "tests").glob("test_*.py"))
PAGES = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "passes/README.md"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed: the site was not built")
    out = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


class _Loaded(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") in ("canonical", "prev", "next"):
            return
        if url := given.get(_LOADS.get(tag, "")):
            self.urls.append(url)


def test_a_page_loads_nothing_from_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = _Loaded()
        loaded.feed(page.read_text(encoding="utf-8"))
        assert not [url for url in loaded.urls if re.match(r"(https?:)?//", url)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet


def test_every_pass_and_every_rule_has_a_page(site: Path) -> None:
    pages = site / "reference/rules"
    rules = known_rules()
    assert len(rules) > 400
    missing = {rule for rule in rules if rule not in (pages / f"{rule}.html").read_text(encoding="utf-8")}
    assert not missing
    assert all((pages / each.name / "index.html").is_file() for each in PASSES)


def test_every_table_is_listed_with_what_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import site_pages

    listed = dict(re.findall(r"^\* `([^`]+)`: (.*)$", site_pages.tables(), re.MULTILINE))
    assert listed.keys() == {path.name for path in (ROOT / "passes/hipport_passes").rglob("*.toml")}
    assert all(len(about) > 20 for about in listed.values()), [name for name in listed if len(listed[name]) <= 20]


def test_a_rule_shows_before_and_after(site: Path) -> None:
    page = (site / "reference/rules/launch_syntax/spaced.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", "", page)
    assert "&lt;&lt; &lt;" in text and "&lt;&lt;&lt;" in text and "becomes" in text


def test_every_example_shows_a_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import site_pages

    for each in PASSES:
        for kind, (fixture, reported) in site_pages._examples(each).items():
            before, after = fixture.before.text.decode("utf-8", "replace"), fixture.after.decode("utf-8", "replace")
            was, now = site_pages.excerpts(before, after, min(one.line for one in reported))
            gone = Counter(was.split("\n")) - Counter([*after.split("\n"), "…", "…"])
            new = Counter(now.split("\n")) - Counter([*before.split("\n"), "…", "…"])
            # A line that only moves is seen where both texts are shown as a whole.
            whole = (was, now) == (before, after)
            assert before == after or gone or new or whole, f"{each.name}/{kind}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_to_files(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            continue
        path = PurePosixPath(link.partition("#")[0])
        target = page.parent / path
        generated = DOCS in target.resolve().parents and _generated(target.resolve().relative_to(DOCS).as_posix())
        assert target.exists() or generated, f"{page.name}: {link}"


def _generated(path: str) -> bool:
    """Return the pages that tools/site_pages.py makes; mkdocs itself checks links to them."""
    return path.startswith("reference/rules/") or path in (
        "reference/commands.md",
        "reference/pitfalls.md",
        "reference/tables.md",
        "decisions/index.md",
    )


def _fences(page: Path) -> Iterator[tuple[str, str, str]]:
    """Yield each block of code: its language, the text after that, and its contents."""
    for indent, language, more, text in _FENCE.findall(page.read_text(encoding="utf-8")):
        yield language, more.strip(), re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)


@pytest.fixture
def shell(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment for commands of pages: with this hipport, and the tests' hipcc."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    try:
        hipcc = toolchains.choose(toolchains.find(os.environ), ("gfx942", "gfx1100"))
    except toolchains.NoToolchain as missing:
        pytest.skip(f"no hipcc: {missing}")
    quick = quick_hipcc.environment(hipcc, {**without_cuda(), "PATH": env["PATH"]}, tmp_path_factory)
    return {**env, **quick}


@pytest.mark.toolchain
def test_the_tutorial_has_the_shown_results(tmp_path: Path, shell: dict[str, str]) -> None:
    """All commands in their order, from the top of the checkout; their output files go elsewhere."""
    pytest.importorskip("torch", reason="PyTorch is not installed: the tutorial was not run")
    printed, ran = "", 0
    for language, more, text in _fences(DOCS / "tutorial.md"):
        if language == "bash" and more != "no-test":
            command = re.sub(r"\bported\b", shlex.quote(str(tmp_path / "ported")), text)
            done = subprocess.run(["bash", "-ec", command], cwd=ROOT, env=shell, capture_output=True, text=True)
            expected = int(more.removeprefix("exits ")) if more else 0
            assert done.returncode == expected, f"{text}{done.stdout}{done.stderr}"
            printed, ran = done.stdout, ran + 1
        elif language == "text":
            # All shown lines, together and in order; the command may print more around them.
            assert text in printed, f"the page shows\n{text}\nbut the command prints\n{printed}"
    assert ran >= 6


def test_the_example_of_the_readme_prints_the_shown_output(tmp_path: Path) -> None:
    blocks = list(_fences(ROOT / "README.md"))
    before = next(text for language, more, text in blocks if more == "title=count.cu")
    after = next(text for language, more, text in blocks if more == "title=ported/count.cu")
    (tmp_path / "count.cu").write_text(before)
    commands = [(text, blocks[at + 1][2]) for at, (_, _, text) in enumerate(blocks) if "rewrite count.cu" in text]
    command, shown = commands[0]
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == shown
    assert (tmp_path / "ported/count.cu").read_text() == after


def test_the_json_has_the_schema_that_is_documented(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    import json

    schema = json.loads((DOCS / "reference/rewrite.schema.json").read_text(encoding="utf-8"))
    shutil.copytree(ROOT / "ext_examples/ballot_compact", tmp_path / "example")
    for options in (["rewrite", "--check"], ["rewrite", "--diff"], ["scan"]):
        command = [sys.executable, "-m", "hipport", *options, str(tmp_path), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        document = json.loads(done.stdout)
        assert document["findings"] and document["decisions"]
        jsonschema.validate(document, schema)
        page = (DOCS / "reference/json.md").read_text(encoding="utf-8")
        assert not [field for field in document if f"`{field}`" not in page]


def test_every_setting_is_documented() -> None:
    from hipport.workspace.config import _SETTINGS, Config, read

    page = DOCS / "reference/configuration.md"
    text = page.read_text(encoding="utf-8")
    assert not [name for name in _SETTINGS if f"| `{name}` |" not in text]
    assert isinstance(read(DOCS), Config)


@pytest.mark.parametrize("page", ["configuration.md", "../how-to/your-own-rules.md"])
def test_settings_and_rules_that_pages_show_are_read(page: str, tmp_path: Path) -> None:
    from hipport.workspace import config

    for language, _, text in _fences(DOCS / "reference" / page):
        if language == "toml":
            name = re.match(r"# (\S+)\n", text)
            assert name is not None
            (tmp_path / name[1]).write_text(text)
    assert config.read(tmp_path).path == tmp_path / "hipport.toml"
    if (tmp_path / "rules.toml").exists():
        (tmp_path / "requirements.txt").write_text("our-kernels\n")
        ported = hipport.rewrite([tmp_path], rules=config.read_rules([tmp_path / "rules.toml"]))
        assert any("build it from source" in each.message for each in ported.reported)


def test_cases_that_a_page_shows_can_be_used() -> None:
    np = pytest.importorskip("numpy", reason="numpy is not installed")
    code = next(text for language, _, text in _fences(DOCS / "how-to/write-cases.md") if language == "python")
    cases: dict[str, object] = {}
    exec(code, cases)
    for parameters in cases["CASES"].values():  # type: ignore[attr-defined]
        arguments = cases["inputs"](np.random.default_rng(1), **parameters)  # type: ignore[operator]
        given = cases["reference"](**arguments)  # type: ignore[operator]
        assert set(given) == set(cases["tolerance"](**parameters))  # type: ignore[operator]


def test_the_names_of_the_python_reference_exist() -> None:
    shown = set(re.findall(r"^::: hipport\.(\w+)$", (DOCS / "reference/python.md").read_text(encoding="utf-8"), re.M))
    # `report` is a module, whose functions print what the others return.
    assert shown == {*hipport.__all__, "testing"} - {"report"}


def test_decisions_have_an_area_and_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import decisions

    found = list(decisions.pages())
    numbers = [path.name[:4] for path, _ in found]
    titles = [head["title"] for _, head in found]
    assert len(found) == len(list((DOCS / "decisions").iterdir())) > 100
    assert len(set(numbers)) == len(set(titles)) == len(found)
    for path, head in found:
        later = head["status"].removeprefix("superseded by ")
        assert later == "accepted" or later in numbers, path.name
        text = path.read_text(encoding="utf-8")
        assert "**Decision.**" in text, path.name
        assert path.name == decisions.file_name(path.name[:4], head["title"]), "run: python tools/decisions.py rename"
        # One that replaces another is named there.
        for other in re.findall(r"[Rr]eplaces (?:what )?(?:decision )?(\d{4})", text):
            assert _status(found, other) == f"superseded by {path.name[:4]}", path.name


def _status(found: list[tuple[Path, re.Match[str]]], number: str) -> str:
    return next(head["status"] for path, head in found if path.name.startswith(number))


def test_decisions_are_renamed_to_their_titles_with_the_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import decisions

    (tmp_path / "docs/decisions").mkdir(parents=True)
    page = tmp_path / "docs/decisions/0001-old-title.md"
    page.write_text("# What's new\n\nArea: Engine · Status: accepted\n\n**Decision.** See [2](0002-other.md).\n")
    (tmp_path / "README.md").write_text("[why](docs/decisions/0001-old-title.md), 0001-old-title\n")
    assert decisions.rename(tmp_path) == {"0001-old-title.md": "0001-whats-new.md"}
    assert not page.exists() and page.with_name("0001-whats-new.md").is_file()
    assert (tmp_path / "README.md").read_text() == "[why](docs/decisions/0001-whats-new.md), 0001-old-title\n"
    assert decisions.rename(tmp_path) == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_exist(page: Path) -> None:
    """Modules, tests, tools and tables, by their path or the end of it."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(
        r"`((?:src|tests|tools|bench|passes|core|syntax|program|analysis|engine|workspace|toolchain|"
        r"building|executor|verifying|reporting)/[\w/]+\.(?:py|toml|h|cpp))`",
        text,
    )
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "src/hipport" / name).exists()]
    assert not missing
    tests = re.findall(r"`(test_\w+)`", text)
    source = "".join(path.read_text(encoding="utf-8") for path in _TESTS) if tests else ""
    assert not [name for name in tests if f"def {name}(" not in source and f"{name}.py" not in source]


def test_the_changelog_has_releases_with_dates_and_no_entry_twice() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert releases and all(
        re.fullmatch(r"\d+\.\d+\.\d+ \((?:unreleased|20\d\d-\d\d-\d\d)\)", each) for each in releases
    )
    # An entry above the first heading is of no release.
    assert "\n* " not in text.partition("\n## ")[0]
    entries = [" ".join(each.split()) for each in re.split(r"^(?=\* |#)", text, flags=re.MULTILINE) if each[:1] == "*"]
    assert [each for each in entries if entries.count(each) > 1] == []

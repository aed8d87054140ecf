"""What the READMEs say is true: commands, targets, links, verbs, devices and notebooks that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ascend_workbook.cli.main import build_parser, verb_names
from ascend_workbook.findings.report import TIERS
from tests.conftest import ROOT

READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
#: What the READMEs hand on to.
HANDED_ON = ("devices", "machines", "modelarts-notebook", "teaching")
PAGES = [path for name in HANDED_ON for path in sorted((ROOT / "docs").glob(f"{name}*.md"))]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.fixture(params=READMES, ids=lambda path: path.name)
def readme(request: pytest.FixtureRequest) -> str:
    path: Path = request.param
    return path.read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """Lines of code blocks and code spans, without their comments."""
    blocks = [line for block in re.findall(r"```bash\n(.*?)```", text, re.S) for line in block.splitlines()]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    return [re.split(r"\s+#", line)[0].strip() for line in blocks + spans]


def test_it_is_short(readme: str) -> None:
    assert len(readme.splitlines()) < 150


def test_links_lead_somewhere(readme: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize(
    "page", [*READMES, *sorted(ROOT.glob("CONTRIBUTING*.md")), ROOT / "CHANGELOG.md"], ids=lambda path: path.name
)
def test_paths_that_are_named_exist(page: Path) -> None:
    spans = re.findall(r"`([\w./*-]+)`", page.read_text(encoding="utf-8"))
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {
        "runs",
        "build",
    }
    paths = [
        span
        for span in spans
        if "/" in span and span.partition("/")[0] in folders and not {"NAME", "MIG180"} & {*re.split("[/.]", span)}
    ]
    assert paths or page in READMES
    assert not [path for path in paths if not list(ROOT.glob(path))]


def test_make_targets_exist(readme: str) -> None:
    named = {match for line in commands(readme) for match in re.findall(r"^make ([a-z-]+)", line)}
    assert {"run", "test"} <= named
    assert named <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))


@pytest.mark.parametrize("page", [*READMES, *PAGES], ids=lambda path: path.name)
def test_commands_parse(page: Path) -> None:
    named = commands(page.read_text(encoding="utf-8"))
    lines = [line.removeprefix("ascend-workbook ") for line in named if line.startswith("ascend-workbook ")]
    assert lines
    for line in lines:
        build_parser().parse_args(line.split())


def test_links_of_the_pages_lead_somewhere() -> None:
    links = [
        (page, target)
        for page in (ROOT / "docs").rglob("*.md")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 20
    assert not [(page.name, target) for page, target in links if not (page.parent / target).exists()]


def test_all_verbs_are_named(readme: str) -> None:
    for name in verb_names():
        assert f"`{name}`" in readme, name


def test_the_table_of_commands_is_whole(readme: str) -> None:
    named = re.findall(r"^\| `([a-z-]+)` \|", readme, re.M)
    assert sorted(named) == verb_names()


def test_devices_and_notebooks_are_the_real_ones(readme: str) -> None:
    assert all(f"`{name}`" in readme for name in ("auto", *TIERS))
    lang = "zh" if "昇腾" in readme.splitlines()[0] else "en"
    linked = re.findall(rf"\(notebooks/{lang}/(\w+)\.ipynb\)", readme)
    assert linked == sorted(path.stem for path in (ROOT / "notebooks" / "source").glob("*.py"))
    assert f"(notebooks/course/{lang})" in readme


def test_the_languages_show_the_same_commands() -> None:
    en, zh = (set(re.findall(r"```bash\n(.*?)```", path.read_text(encoding="utf-8"), re.S)) for path in READMES)
    plain = [
        {re.sub(r"\s*#.*|--lang zh ", "", line).strip() for block in blocks for line in block.splitlines()}
        for blocks in (en, zh)
    ]
    assert plain[0] == plain[1]


def test_make_help_lists_every_target() -> None:
    for target in re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.M)[0].split():
        assert re.search(rf"^{target}:.*## ", MAKEFILE, re.M) or target == "setup-dev", target


def test_no_placeholder_is_left(readme: str) -> None:
    assert not re.search(r"@\w+@", readme)


def test_the_project_speaks_of_itself_alone() -> None:
    """No committed text names somebody's machine or folders."""
    files = [
        path
        for folder in ("ascend_workbook", "ascend_simulator", "course", "helpers", "tests", "notebooks", "benchmarks")
        for path in (ROOT / folder).rglob("*")
    ]
    texts = [path for path in files if path.suffix in (".py", ".md", ".json", ".ipynb", ".cpp", ".h", ".in", ".cfg")]
    private = re.compile(r"/wo" + r"rk/|/fa" + r"rm/|/tmp/d" + r"ev\b|/ro" + r"ot/")
    bad = [str(path.relative_to(ROOT)) for path in texts if private.search(path.read_text(encoding="utf-8"))]
    assert not bad

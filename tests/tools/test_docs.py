"""The stages' pages are what rules, commands and docstrings say today. About 3 s."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ascend_workbook.cli.main import verb_names
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.rules import rules_of
from ascend_workbook.findings.sentence import load_catalogue
from tests.conftest import ROOT
from tools.docs import page, rules
from tools.docs.__main__ import main, report_gaps, stale_pages
from tools.docs.stages import STAGES


@pytest.fixture(scope="module")
def made() -> dict[Path, str]:
    return page.make_pages()


@pytest.fixture
def rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A rule's module of its own."""
    (tmp_path / "one_rule.py").write_text(
        '"""ENV999: is it so? More.\n\nSee https://example.org/page.\n"""\n'
        "from ascend_workbook.findings.finding import Finding, Status\n"
        "from ascend_workbook.findings.rules import CannotCheck\n"
        "CODE = 'ENV999'\nMUCH = 3\n"
        "def check(facts):\n    if facts is Status.FIX:\n        raise CannotCheck('x')\n    return _made()\n"
        "def _made():\n    return [Finding(CODE, Status.LOOK, 'x')]\ndef unused():\n    return Status.NOTE\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    import one_rule  # type: ignore[import-not-found]

    yield one_rule
    del sys.modules["one_rule"]


def test_the_committed_pages_are_up_to_date(made: dict[Path, str]) -> None:
    assert not [path.name for path in stale_pages(made)], "run python -m tools.docs"


def test_a_changed_page_and_one_too_many_are_found(
    made: dict[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.docs.__main__.FOLDER", tmp_path)
    moved = {tmp_path / path.name: text for path, text in made.items()}
    assert len(stale_pages(moved)) == len(moved)
    for path, text in moved.items():
        path.write_text(text, encoding="utf-8")
    assert not stale_pages(moved)
    (tmp_path / "profiling.md").write_text("older", encoding="utf-8")
    (tmp_path / "gone.md").write_text("a stage that is no more", encoding="utf-8")
    assert sorted(path.name for path in stale_pages(moved)) == ["gone.md", "profiling.md"]


def test_every_folder_of_rules_is_on_a_page(made: dict[Path, str]) -> None:
    folders = {path.parent for path in (ROOT / "ascend_workbook").rglob("rules/__init__.py")}
    packages = {str(folder.relative_to(ROOT)).replace("/", ".") for folder in folders}
    assert packages == {package for stage in STAGES for package, _ in stage.rules}
    for stage in STAGES:
        for lang, ending in page.ENDINGS.items():
            text = made[page.FOLDER / f"{stage.name}{ending}"]
            for package, _ in stage.rules:
                module = __import__(package, fromlist=["x"])
                assert all(f"| [{code}](" in text for code in rules_of(module)), (package, lang)


def test_every_verb_is_on_one_page() -> None:
    verbs = [verb for stage in STAGES for verb in stage.verbs]
    assert sorted(verbs) == verb_names()


def test_no_page_names_this_machine(made: dict[Path, str]) -> None:
    assert not [path.name for path, text in made.items() if str(ROOT) in text or sys.prefix in text]


def test_a_rule_is_read_from_its_module(rule: ModuleType) -> None:
    found = rules._make_rule(rule, "ENV999")
    assert found.title == "rule.ENV999.title"
    assert found.statuses == [
        Status.NOT_LOOKED,
        Status.LOOK,
    ]  # what is compared with, and what nobody calls, is not given
    assert found.numbers == {"MUCH": 3} and found.sources == ["https://example.org/page"]


def test_every_rule_says_what_it_rests_on(made: dict[Path, str]) -> None:
    """A page, or in words; and its line on the page is its own."""
    for rule in rules.all_rules():
        assert rule.sources or rule.basis, rule.code
        for lang in ("en", "zh"):
            line = page._row_of_rule(rule, lang)[-1]
            assert not rule.basis or rules.describe_basis(rule.basis, lang) in line
            assert all(f"({address})" in line for address in rule.sources)
            assert any(page._escape_cell(line) in text for text in made.values()), rule.code


def test_a_rule_that_rests_on_nothing_is_no_rule(
    rule: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rules.find_basis(rule, "ENV999", ["https://example.org/page"]) == ""
    rule.__doc__ = "Is it so?"
    with pytest.raises(rules.NoBasis, match="ENV999: name the page"):
        rules._make_rule(rule, "ENV999")
    rule.BASIS = "reasoned"  # type: ignore[attr-defined]
    assert rules.describe_basis(rules._make_rule(rule, "ENV999").basis, "zh").startswith(
        "没有页面作为来源：本项目自己的推理"
    )
    rule.BASIS = "guessed"  # type: ignore[attr-defined]
    with pytest.raises(rules.NoBasis, match="'guessed' is none of defined, facts"):
        rules._make_rule(rule, "ENV999")
    monkeypatch.setattr("tools.docs.__main__.all_rules", lambda: iter([rules._make_rule(rule, "ENV999")]))
    assert main(["--check"]) == 1 and "tools.docs: ENV999" in capsys.readouterr().err


def test_statuses_are_those_of_known_rules() -> None:
    from ascend_workbook.environment.rules import host, python
    from ascend_workbook.migration.rules import third_party
    from ascend_workbook.profiling.rules import communication

    assert rules.statuses_of(host, "check_open_files") == [Status.GOOD, Status.NOT_LOOKED, Status.LOOK]
    assert rules.statuses_of(python, "check_torch_pair") == [Status.GOOD, Status.NOT_LOOKED, Status.FIX]
    assert rules.statuses_of(third_party, "check") == [Status.NOTE, Status.LOOK]
    assert rules.statuses_of(communication, "check_accumulation") == [Status.GOOD, Status.NOTE, Status.NOT_LOOKED]


def test_a_rule_without_a_title_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    known = {key: words for key, words in load_catalogue().items() if key != "rule.MIG126.title"}
    monkeypatch.setattr("tools.docs.__main__.load_catalogue", lambda: known)
    assert main(["--check"]) == 1
    assert "ascend_workbook/locale has no 'rule.MIG126.title'" in capsys.readouterr().err


def test_no_title_is_left_over() -> None:
    titles = {key for key in load_catalogue() if key.startswith("rule.") and key.endswith(".title")}
    assert titles == {rule.title for rule in rules.all_rules()}


def test_the_words_of_a_function_are_those_of_one_on_a_page() -> None:
    functions = {f"help.function.{name}" for stage in STAGES for name in stage.functions}
    assert {key for key in load_catalogue() if key.startswith("help.function.")} == functions


def test_every_rule_gives_some_status() -> None:
    assert not [rule.code for rule in rules.all_rules() if not rule.statuses]


def test_every_rule_has_its_words_and_both_languages() -> None:
    """ACC202 speaks with the sentences of what reads the files; nothing else may lack its own."""
    lacking = [line for line in report_gaps() if "no page named" not in line and "without a page" not in line]
    assert [line.split(":")[0] for line in lacking] == ["ACC202"]

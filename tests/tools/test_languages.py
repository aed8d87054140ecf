"""Both languages say the same: every cell of every notebook source, every page, every sentence. About 4 s."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.languages import pairs
from tools.languages.__main__ import main, render_line
from tools.languages.differences import find_differences

FILES = [
    *pairs.list_sources(),
    *(page for page in pairs.list_pages() if str(page.relative_to(ROOT)) not in pairs.ENGLISH_ONLY),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_cells_and_sections_agree(file: Path) -> None:
    found = list(pairs.pairs_in_notebook(file) if file.suffix == ".py" else pairs.pairs_in_page(file))
    assert found
    assert not [render_line(pair) for pair in found if pair.differences], "see python -m tools.languages --differences"


def test_the_catalogue_agrees() -> None:
    found = list(pairs.pairs_in_catalogue())
    assert len(found) > 3000
    assert not [render_line(pair) for pair in found if pair.differences]


def test_everything_is_looked_at() -> None:
    assert {"01_environment", "03_divergence"} <= {source.stem for source in pairs.list_sources()}
    assert {"README.md", "docs/batch.md"} <= {str(page.relative_to(ROOT)) for page in pairs.list_pages()}
    chinese = list(ROOT.glob(f"docs/**/*{pairs.CHINESE_PAGE}"))
    assert all(page.with_name(page.name.replace(pairs.CHINESE_PAGE, ".md")).is_file() for page in chinese)
    assert all((ROOT / page).is_file() for page in pairs.ENGLISH_ONLY)


ALIKE = [
    ("# A\n\nTwo `a.py` and [b](x.md).", "# 甲\n\n两个 `a.py` 和[乙](x.zh-CN.md)。"),
    ("Give `--html FILE` or `runs/<name>/x`, `STAGE.NAME`.", "给出 `--html 文件` 或 `runs/<名称>/x`、`阶段.名称`。"),
    ("295,000 rounds on 22 November 2026", "2026 年 11 月 22 日共 29.5 万次"),
    ("```bash\nmake run  # all\n```\nIt runs `make`.", "```bash\nmake run  # 全部\n```\n执行 make。"),
    ("import torch", "import torch"),
    ("[中文](a.zh-CN.md) SHA-256", "[English](a.md) 校验 SHA-256"),
]
PARTED = [
    ("headings", "# A\ntext", "## 甲\n正文"),
    ("list items", "- one\n- two", "- 一与二"),
    ("table cells by row", "| a | b |\n|---|---|\n| 1 | 2 |", "| 甲 | 乙 |\n|---|---|"),
    ("code blocks", "```bash\nmake run\n```", "```bash\nmake test\n```\n中文"),
    ("code", "Run `make run` now.", "现在执行 `make test`。"),
    ("code", "Level `3.0` of `STAGE.NAME`.", "级别 `阶段.名称`。"),
    ("names", "Set TASK_QUEUE_ENABLE to that", "请设置 TASK_QUEUE 为该值"),
    ("names", "as PRF301 tells", "见 PRF302 所述"),
    ("links", "[a](x.md)", "[甲](y.md)"),
    ("numbers", "within 1.5 %", "在 15 % 以内"),
    ("numbers", "12 of 12", "12 个"),
    ("Chinese in the English text", "the word 损失 stands here", "此处有“损失”一词"),
    ("no Chinese", "Nobody wrote this in the other language", "Nobody wrote this in the other language"),
    ("half-width", "One, two and three", "一, 二与三"),
]


@pytest.mark.parametrize(("english", "chinese"), ALIKE)
def test_what_says_the_same(english: str, chinese: str) -> None:
    assert find_differences(english, chinese) == []


@pytest.mark.parametrize(("what", "english", "chinese"), PARTED)
def test_what_does_not_is_found(what: str, english: str, chinese: str) -> None:
    assert any(found.startswith(what) for found in find_differences(english, chinese))


def test_cells_of_one_language_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "ROOT", tmp_path)
    source = tmp_path / "a.py"
    zh, en, code = '# %% [markdown] lang="zh"\n# 一\n\n', '# %% [markdown] lang="en"\n# One\n\n', "# %%\nx = 1\n\n"
    source.write_text(zh + en + code + en + code + zh, encoding="utf-8")
    found = [pair.differences for pair in pairs.pairs_in_notebook(source)]
    assert found == [[], ["no text in Chinese"], ["no text in English"]]


def test_a_page_without_its_partner_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "ROOT", tmp_path)
    (tmp_path / "a.md").write_text("# One\n\n```bash\n# no heading\n```\n\n## Two\n")
    assert [pair.differences for pair in pairs.pairs_in_page(tmp_path / "a.md")] == [["no text in Chinese"]] * 2


def test_the_report_lists_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert any(row.startswith("same     notebooks/source/01_environment.py | markdown cell 1") for row in shown)
    assert shown[-1].endswith("compared, 0 differ")

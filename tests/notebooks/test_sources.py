"""Both languages are built from one source, with equal code; the notebooks keep the project's conventions."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ascend_workbook.batch.stages import ALL_STAGES, NOTEBOOK_NAMES, declared_parameters
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "notebooks"))
import build

SOURCES = build.sources()
PAIRS = [(source, lang) for source in SOURCES for lang in build.LANGUAGES]
LONGEST_CELL = 14


def stem(value: Any) -> str:
    return build.name_of(value) if isinstance(value, Path) else str(value)


def code(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook: Any) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_there_is_a_notebook_for_every_stage_and_the_rest_are_courses() -> None:
    courses = [source for source in SOURCES if source.parent.name == "course"]
    notebooks = tuple(NOTEBOOK_NAMES.get(stage, stage) for stage in ALL_STAGES)
    assert tuple(source.stem[3:] for source in SOURCES if source not in courses) == notebooks and courses


@pytest.mark.parametrize(("source", "lang"), PAIRS, ids=stem)
def test_the_build_is_up_to_date(source: Path, lang: str) -> None:
    fresh, committed = build.build(source, lang), nbformat.read(build.built(source, lang), 4)
    cells = [(cell.cell_type, cell.source) for cell in fresh.cells]
    assert [(cell.cell_type, cell.source) for cell in committed.cells] == cells, "run `make notebooks`"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("损失没有变，\n也不报错", "损失没有变，也不报错"),
        ("原因在于\n梯度", "原因在于梯度"),
        ("- 一项，\n  接着说。\n- 两项。\n1. 三", "- 一项，接着说。\n- 两项。\n1. 三"),
        ("看（下面）。\n`rate` 或\n`data`", "看（下面）。`rate` 或\n`data`"),
        ("中文。\n**先预测**", "中文。**先预测**"),
    ],
)
def test_a_broken_line_of_chinese_shows_no_space(source: str, shown: str) -> None:
    assert build.joined(source) == shown


@pytest.mark.parametrize(
    "text",
    [
        "# 标题，\n正文",
        "第一段。\n\n第二段",
        "```\n打印，\n再打印，\n```\n",
        "| 表，\n| 行，",
        "一行，  \n另一行",
        "结尾。\n<details>",
        "结尾：\n- 项",
        "结尾：\n2. 项",
        "梯度\nfloat16",
        "见下：\n```\nx\n```",
        "NPU\n上",
        "",
    ],
)
def test_other_lines_stay(text: str) -> None:
    assert build.joined(text) == text


@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_the_reference_is_up_to_date(source: Path) -> None:
    reference = nbformat.read(ROOT / "tests" / "reference" / f"{build.name_of(source)}.ipynb", 4)
    injected = [cell for cell in reference.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    kept = [cell for cell in reference.cells if cell not in injected]
    assert code(nbformat.v4.new_notebook(cells=kept)) == code(build.build(source, "en")), "run `make references`"


@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_the_languages_differ_only_in_prose(source: Path) -> None:
    """And in captions, which are said in both."""
    zh, en = build.build(source, "zh"), build.build(source, "en")
    different = [(a, b) for a, b in zip(code(zh), code(en)) if a != b]
    assert len(code(zh)) == len(code(en))
    for a, b in different:
        first, same = (re.match(r"# .*\n", cell) for cell in (a, b))
        if first and same:
            assert re.search("[\u4e00-\u9fff]", first[0]) and same[0].isascii()
        rest = a[first.end() :] if first else a
        assert rest.replace('lang: str = "zh"', 'lang: str = "en"') == (b[same.end() :] if same else b)
    assert len(re.findall("[\u4e00-\u9fff]", prose(zh))) > 100 and not re.search("[\u4e00-\u9fff]", prose(en))
    assert sum(c.cell_type == "markdown" for c in zh.cells) == sum(c.cell_type == "markdown" for c in en.cells)


#: Words of what a collapsed cell is for, in the languages' order: the bar shows the cell's first line.
CAPTIONS = {"zh": ("参数", "准备", "表单", "开始"), "en": ("Parameters", "Set-up", "Form", "Start")}


@pytest.mark.parametrize("lang", build.LANGUAGES)
@pytest.mark.parametrize("source", [source for source in SOURCES if source.parent == build.SOURCE], ids=stem)
def test_a_stage_opens_with_title_form_and_verdict(source: Path, lang: str) -> None:
    title, *bars = build.build(source, lang).cells[: 1 + len(CAPTIONS[lang])]
    heading, _, sentence = title.source.partition("\n\n")
    assert heading.startswith("# ") and len(re.findall(r"[。？！]|[.?!](?:\s|$)", sentence)) <= 3
    for bar, caption in zip(bars, CAPTIONS[lang]):
        assert bar.metadata["jupyter"]["source_hidden"] and bar.source.startswith(f"# {caption}"), bar.source
    assert "form_box(globals(), " in bars[2].source and bars[3].source.endswith("run.place_card()")
    assert (
        code(build.build(source, lang))[-2:][0].count("run.conclude(report)")
        + code(build.build(source, lang))[-1].count("run.conclude(report)")
        == 1
    )


@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_parameters_are_typed_and_explained(source: Path) -> None:
    notebook = build.build(source, "en")
    cells = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(cells) == 1
    lines = [line for line in cells[0].source.splitlines() if not line.startswith("# ")]
    for line in lines:
        assert re.match(r"\w+: (str|int|float|bool) = .+  # .+", line), line
    known = declared_parameters(build.built(source, "en")).keys()
    # papermill leaves out a line with a second "=", in its comment too: `run -p` would not know that parameter
    assert known == {line.partition(":")[0] for line in lines} >= {"lang", "device", "run_dir"}


@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_cells_are_short_and_speak_of_no_machine(source: Path) -> None:
    notebook = build.build(source, "en")
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")
    for cell in notebook.cells:  # parameters are a list, to be as long as there are
        listed = cell.cell_type != "code" or "parameters" in cell.metadata.get("tags", [])
        assert listed or len(cell.source.splitlines()) <= LONGEST_CELL, cell.source
    for text in code(notebook):
        assert not re.search(r"/home/|/ro" + r"ot/|/tmp/", text), text


def test_a_baseline_that_was_given_is_what_every_cell_takes() -> None:
    cells = code(build.build(build.SOURCE / "03_precision.py", "en"))
    own = [cell for cell in cells if 'run.folder / "baseline"' in cell]
    assert len(own) == 1 and 'run.place(baseline) if baseline else run.folder / "baseline"' in own[0]


def bare_powers(text: str) -> list[str]:
    """Powers such as 2**8 that are not marked as code: two of them in a paragraph are shown as bold."""
    return re.findall(r"\w\*\*\d+", re.sub(r"`[^`]*`", "", text))


@pytest.mark.parametrize("source", SOURCES, ids=stem)
def test_no_power_is_shown_as_bold(source: Path) -> None:
    assert bare_powers("from 2**4 to `2**8`") == ["2**4"]
    for lang in build.LANGUAGES:
        assert bare_powers(prose(build.build(source, lang))) == []

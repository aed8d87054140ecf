"""What makes a lesson one: a prediction is asked for before it is judged, both languages have the same cells, and what
is unanswered is said to be so and stops nothing."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import pytest

from course.lessons.quiz import QUIZZES, quiz
from tests.conftest import ROOT
from tests.notebooks.test_course import printed
from tests.notebooks.test_sources import build

COURSE = [source for source in build.sources() if source.parent.name == "course"]
#: Lessons of this shape; the others have tests of their own.
LESSONS = [source for source in COURSE if source.stem in ("01_environment", "02_migration")]
ASKS = {"zh": "先预测", "en": "Predict"}
LEARNT = {"zh": "## 学到了什么", "en": "## What was learnt"}
#: What the two languages of a cell must have the same number of.
SHAPE = {
    "headings": r"^#{1,4} ",
    "rows of tables": r"^\|",
    "items": r"^(?:\d+\.|-) ",
    "answers": r"<details>",
    "links": r"\]\(",
    "code blocks": r"^```",
}


def name(source: Path) -> str:
    return source.stem


def cells(source: Path, lang: str) -> list[Any]:
    return list(build.build(source, lang).cells)


def markdown_pairs(source: Path) -> list[tuple[Any, Any]]:
    """Markdown cells of the source two by two, as they stand: Chinese, then English."""
    found = [cell for cell in jupytext.read(source).cells if cell.cell_type == "markdown"]
    return list(zip(found[::2], found[1::2]))


def misshapen(zh: str, en: str) -> list[str]:
    """What the two texts have a different number of."""
    return [what for what, form in SHAPE.items() if len(re.findall(form, zh, re.M)) != len(re.findall(form, en, re.M))]


@pytest.mark.parametrize("source", COURSE, ids=name)
def test_each_cell_of_prose_has_its_twin_of_the_same_shape(source: Path) -> None:
    for zh, en in markdown_pairs(source):
        assert (zh.metadata.get("lang"), en.metadata.get("lang")) == ("zh", "en"), zh.source[:60]
        assert not misshapen(zh.source, en.source), (zh.source, en.source)


def test_a_twin_of_another_shape_is_seen() -> None:
    assert misshapen("## 甲\n- 一\n- 二", "## A\n- one") == ["items"]
    assert misshapen("| a |\n[x](y)", "text") == ["rows of tables", "links"]


def judged(code: str) -> dict[str, int]:
    """Names of predictions that a cell judges: the first two arguments of `predicted` are a parameter and its name."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "predicted"]
    return {call.args[0].value: call.lineno for call in named if call.args[0].value == call.args[1].id}


@pytest.mark.parametrize("lang", build.LANGUAGES)
@pytest.mark.parametrize("source", LESSONS, ids=name)
def test_a_prediction_is_asked_for_before_it_is_judged(source: Path, lang: str) -> None:
    asked, found = "", set()
    for cell in cells(source, lang):
        if cell.cell_type == "markdown":
            asked += cell.source if ASKS[lang] in cell.source else ""
            continue
        if "parameters" in cell.metadata.get("tags", []):
            continue
        for prediction in judged(cell.source):
            assert f"`{prediction}`" in asked, f"{prediction} is judged before it was asked for"
            found.add(prediction)
    empty = re.findall(r"^(\w+): (?:str = \"\"|int = 0) ", "\n".join(parameters(source)), re.M)
    assert found == set(empty) and len(found) >= 3


def parameters(source: Path) -> list[str]:
    tagged = [cell for cell in cells(source, "en") if "parameters" in cell.metadata.get("tags", [])]
    return str(tagged[0].source).splitlines()


@pytest.mark.parametrize("lang", build.LANGUAGES)
@pytest.mark.parametrize("source", LESSONS, ids=name)
def test_a_lesson_opens_with_a_failing_run_and_ends_with_what_was_learnt(source: Path, lang: str) -> None:
    outputs = [cell for cell in committed(source, lang).cells if cell.cell_type == "code"]
    said = ["".join(output.get("text", "") for output in cell.outputs) for cell in outputs]
    fails = next(number for number, text in enumerate(said) if "exit code: 1" in text)
    judges = next(number for number, cell in enumerate(outputs) if judged(cell.source))
    assert fails < judges
    assert LEARNT[lang] in cells(source, lang)[-1].source and 25 <= len(cells(source, lang)) <= 60
    assert re.search(r"\| (?:时间|time) \| (?:硬件|hardware) ", cells(source, lang)[0].source)


def committed(source: Path, lang: str) -> Any:
    return nbformat.read(build.built(source, lang), 4)


@pytest.mark.parametrize(("lang", "words"), [("zh", "未完成"), ("en", "not yet")])
@pytest.mark.parametrize("source", [*LESSONS, *(one for one in COURSE if one.stem == "00_start")], ids=name)
def test_what_was_not_predicted_or_answered_is_said_to_be_so(source: Path, lang: str, words: str) -> None:
    said = printed(committed(source, lang))
    count = len(QUIZZES["start"].answers) if source.stem == "00_start" else 3
    assert said.count(words) >= count


def test_the_quiz_of_the_first_lesson_is_answered_under_the_names_it_asks_for() -> None:
    source = next(one for one in COURSE if one.stem == "00_start")
    cell = next(cell.source for cell in cells(source, "en") if cell.source.startswith("answers = {"))
    given = ast.literal_eval(cell.removeprefix("answers = "))
    assert given == dict.fromkeys(quiz("start").answers, "")


@pytest.mark.parametrize("lang", build.LANGUAGES)
@pytest.mark.parametrize("source", COURSE, ids=name)
def test_links_within_the_course_lead_somewhere(source: Path, lang: str) -> None:
    text = "\n".join(cell.source for cell in cells(source, lang) if cell.cell_type == "markdown")
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (build.built(source, lang).parent / target).is_file(), target


def test_scripts_that_lessons_name_are_there() -> None:
    named = {name for source in COURSE for name in re.findall(r"notebooks/course/scripts/\w+\.py", source.read_text())}
    assert named and all((ROOT / name).is_file() for name in named)

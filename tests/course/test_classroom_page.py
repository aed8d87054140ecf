"""The class at a glance: read from a table of grades in either language, hostile names and damaged tables included."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from course.exercises.task import load_tasks
from course.grading.attempt import Grade
from course.grading.classroom import lesson_of, read_grades, show_class
from course.grading.sheet import write_sheet

TASKS = load_tasks()
STATES = {
    "李雷": ("done", "done", "partly", "not_yet", "not_yet", ""),
    "ann": ("done", "done", "done", "done", "not_yet", "done"),
    "<script>alert(1)</script>": ("done", "not_yet", "not_yet", "", "not_yet", ""),
}


def write_grades(path: Path, lang: str = "en", states: dict[str, tuple[str, ...]] | None = None) -> Path:
    grades = [
        Grade(
            f"{name}.ipynb",
            name,
            "",
            status=dict(zip(TASKS, words)),
            tries={"env": 1, "ranks": 5},
            trouble=Sentence("grading.no_answers") if name.startswith("<") else None,
        )
        for name, words in (STATES if states is None else states).items()
    ]
    path.write_text(write_sheet(grades, dict.fromkeys(TASKS, 1.0), lang), encoding="utf-8")
    return path


class Cells(HTMLParser):
    """The text of every cell, row by row, and each element that could run or load something."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        names = {name for name, _ in attrs}
        if tag in ("script", "iframe", "img", "link") or names & {"src", "href"} or any(n[:2] == "on" for n in names):
            self.active.append(tag)

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += f" {data.strip()}"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("table", ["en", "zh"])
def test_the_page_has_a_row_for_each_student(tmp_path: Path, lang: str, table: str) -> None:
    report = show_class(write_grades(tmp_path / "grades.csv", table), tmp_path / "class.html", lang=lang)
    page = (tmp_path / "class.html").read_text(encoding="utf-8")
    cells = Cells()
    cells.feed(page)
    assert cells.active == [] and "default-src 'none'" in page and not re.search(r"https?://", page)
    heading, *rows, foot = cells.rows
    assert [row[0].strip() for row in rows] == list(STATES) and len(heading) == len(rows[0]) == len(TASKS) + 3
    words = {"en": ("done", "partly", "not yet", "Not judged"), "zh": ("完成", "部分完成", "未完成", "未评判")}[lang]
    ranks = list(TASKS).index("ranks")
    assert [words[0] in cell.split() for cell in rows[1][1:7]] == [status == "done" for status in STATES["ann"]]
    assert words[1] in rows[0][3] and words[3] in rows[2][4] and words[2] in rows[0][1 + ranks]
    assert "5" in rows[0][1 + ranks] and "1" not in rows[0][1], "tries stand where something is left to do"
    assert TASKS["fault"].title(lang) in rows[0][-1] and TASKS["ranks"].title(lang) in rows[1][-1]
    assert {"en": "stuck", "zh": "卡住"}[lang] in rows[1][-1] and foot[1].split() == ["3", "/", "3"]
    assert report.text(lang) and report.facts["page"] == str(tmp_path / "class.html")


def test_what_was_missed_most_is_told_with_its_lesson(tmp_path: Path) -> None:
    report = show_class(write_grades(tmp_path / "grades.csv"), tmp_path / "class.html", lang="en")
    headline, stuck = report.findings
    assert headline.key == "CRS006.class" and headline.args["percent"] == 44 and headline.args["missed"] == 3
    assert headline.message("en").endswith("missed most: E. Two ranks that do not train together, not done by 3")
    assert "03_divergence" in headline.hint("en") and stuck.args["names"] == list(STATES)
    assert report.table is not None
    counts = {row[0]: row[2:7] for row in report.table.rows}
    assert counts["env"] == (3, 0, 0, 0, 1.0) and counts["fault"] == (1, 1, 1, 0, None) and counts["half"][3] == 2
    shown = re.findall(r"<li><b>(.*?)</b>", (tmp_path / "class.html").read_text(encoding="utf-8"))
    assert [text[0] for text in shown] == ["E", "C", "D"], "the worst first, then in the course's order"


def test_a_class_that_has_done_all_goes_on(tmp_path: Path) -> None:
    grades = write_grades(tmp_path / "grades.csv", states={"ann": ("done",) * 6})
    report = show_class(grades, tmp_path / "class.html", lang="en")
    assert [finding.key for finding in report.findings] == ["CRS006.all_done"]
    assert "<li>" not in (tmp_path / "class.html").read_text(encoding="utf-8")


def test_every_task_has_a_lesson() -> None:
    lessons = {path.stem for path in (Path(__file__).parents[2] / "notebooks/source/course").glob("*.py")}
    assert {lesson_of(task) for task in TASKS.values()} <= lessons


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "submission,student\n", "submission,env_status\n"])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(content)
    with pytest.raises(WorkbookError) as caught:
        show_class(path, tmp_path / "class.html")
    assert caught.value.key == "grading.no_grades" and not (tmp_path / "class.html").exists()


def test_a_short_row_or_an_odd_status_is_not_judged(tmp_path: Path) -> None:
    path = write_grades(tmp_path / "grades.csv", states={"ann": ("done", "great", "", "", "", "")})
    with path.open("a", encoding="utf-8") as stream:
        stream.write("short.ipynb,short\r\n")
    _, (ann, short) = read_grades(path)
    assert ann.status["script"] == "" and ann.done == 1 and set(short.status.values()) == {""} and short.tries == {}


def test_the_grades_are_not_written_over(tmp_path: Path) -> None:
    path = write_grades(tmp_path / "grades.csv")
    with pytest.raises(WorkbookError, match="grades"):
        show_class(path, path)
    assert read_grades(path)

"""The barcode to click: the culprit is done, its victims partly, the innocent told why; hostile names do no harm."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.precision.compare import compare
from course.exercises.outcome import DONE, NOT_YET, PARTLY
from course.lessons.parting import MOST, NAMES, judge_part, list_bars, part_box
from tests.precision.networks import convolutions
from tests.precision.views.test_modules import add_modules

GUILTY, VICTIM = "Functional.conv2d.1.forward", "Functional.relu.2.backward"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("parting")
    left = add_modules(convolutions(folder / "a"))
    faults = {name: lambda value: value * 1.01 for name in (GUILTY, VICTIM)}
    return compare(left, add_modules(convolutions(folder / "b", faults=faults)))


@pytest.mark.parametrize(
    ("answer", "status", "key"),
    [
        (GUILTY, DONE, "course.part.found"),
        (f" `{GUILTY}` ", DONE, "course.part.found"),
        ("conv2d.1.forward", DONE, "course.part.found"),
        ("Conv2d.1.Forward", DONE, "course.part.found"),
        (VICTIM, PARTLY, "course.part.later"),
        ("Functional.batch_norm.1.forward", NOT_YET, "course.part.rounding"),
        ("Functional.batch_norm.2.backward", NOT_YET, "course.part.explained"),
        ("Functional.conv2d.0.forward", NOT_YET, "course.part.equal"),
        ("conv2d", NOT_YET, "course.part.unknown"),
        ("forward", NOT_YET, "course.part.unknown"),
        ("", NOT_YET, "course.part.none"),
        (None, NOT_YET, "course.part.none"),
        (["a"], NOT_YET, "course.part.unknown"),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_answer_is_judged(report: Report, answer: object, status: str, key: str, lang: str) -> None:
    assert report.facts["first_divergence"] == GUILTY
    outcome = judge_part(report, answer, lang)
    assert (outcome.status, [point["say"] for point in (*outcome.right, *outcome.missing)]) == (status, [key])
    assert GUILTY not in str(outcome) or status == DONE, "the answer is not given away"
    assert outcome.lines(lang) and outcome._repr_html_()


def test_every_operator_is_a_bar_once(report: Report) -> None:
    bars = list_bars(report)
    assert report.table is not None
    assert [bar.name for bar in bars] == list(dict.fromkeys(report.table.column_values("operator")))
    heights = {bar.name: bar.height for bar in bars}
    assert heights["Functional.conv2d.0.forward"] == 2 < heights[GUILTY] < 100
    for bar in bars:  # an operator of several outputs has the worst of their errors
        errors = zip(*map(report.table.column_values, ("operator", "error_out")))
        assert bar.error_out == max(error or 0.0 for name, error in errors if name == bar.name)  # type: ignore[type-var]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_box_has_a_frame_a_list_and_a_line(report: Report, lang: str) -> None:
    box = part_box(report, lang)
    shown = box._repr_html_()
    frame = html.unescape(re.findall(r'srcdoc="(.*?)"', shown, re.DOTALL)[0])
    options = re.findall(r'role="option".*?data-name="(.*?)"', frame, re.DOTALL)
    assert options == [bar.name for bar in list_bars(report)] and frame.count('tabindex="0"') == 1
    assert 'sandbox="allow-scripts"' in shown and "default-src 'none'" in frame and "://" not in shown
    still = shown.partition("</iframe>")[2]
    assert "<script" not in still and still.count("<li>") == len(options) and "(block.1.0)" in still
    assert repr(box) == box.text and "\n" not in repr(box) and "diverges" not in frame, "the verdict is not in it"


def test_hostile_names_are_text() -> None:
    names = ['"><img src=x onerror=alert(1)>', "</script><script>alert(1)</script>", "`${alert(1)}`"]
    rows = [(0, 0, name, name, 0.0, "nan", Sentence("precision.agrees"), None) for name in names]
    shown = part_box(
        Report("precision", "compare", (), Table(tuple(map(Column, NAMES)), tuple(rows))), "en"
    )._repr_html_()
    frame = html.unescape(re.findall(r'srcdoc="(.*?)"', shown, re.DOTALL)[0])
    assert frame.count("<script>") == 1 and "<img" not in frame and "<img" not in shown
    assert [bar.height for bar in list_bars(Report("precision", "compare", (), None))] == []


def test_a_report_without_modules_is_drawn() -> None:
    names = tuple(name for name in NAMES if name not in ("module", "mean_diff"))
    row = (0, 0, "Torch.add.0.forward", 0.0, 1.0, Sentence("precision.diverges"))
    (bar,) = list_bars(Report("precision", "compare", (), Table(tuple(map(Column, names)), (row,))))
    assert (bar.title, bar.height) == ("Torch.add.0.forward", 100)


def test_only_values_are_called_equal_to_the_last_bit(report: Report) -> None:
    """Of statistics and of a report without the column nobody knows it."""
    equal = [bar for bar in list_bars(report) if bar.error_out == 0]
    assert equal and all("last bit" in bar.remark.text("en") for bar in equal)
    assert not any("last bit" in replace(bar, read=False).remark.text("en") for bar in equal)


def test_of_many_the_first_are_drawn() -> None:
    rows = [(0, 0, f"Torch.add.{at}.forward", None, None, None, None, None) for at in range(MOST + 9)]
    report = Report("precision", "compare", (), Table(tuple(map(Column, NAMES)), tuple(rows)))
    assert len(list_bars(report)) == MOST

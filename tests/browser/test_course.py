"""The course's own parts in a running JupyterLab: by keyboard, in both languages and themes, and without trust."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.precision.compare import compare
from course.grading.classroom import show_class
from course.lessons.drawings import CORE
from course.lessons.parting import list_bars
from course.lessons.quiz import OPTIONS, quiz
from tests.browser import axe, moves
from tests.browser.lab import Lab
from tests.browser.notebook import KERNEL, Opened, made, shown
from tests.browser.pages import faults
from tests.browser.screen import opened
from tests.course.test_classroom_page import write_grades
from tests.precision.networks import convolutions

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame

CODE = {
    "drawing": "from course.lessons.drawings import drawing\ndrawing('core', {lang!r})",
    "quiz": "from course.lessons.quiz_box import quiz_box\nanswers = {{}}\nquiz_box('start', answers, {lang!r})",
    "part": "from pathlib import Path\nfrom ascend_workbook.findings.report import Report\n"
    "from course.lessons.parting import part_box\n"
    "part_box(Report.from_json(Path({folder!r}, 'comparison.json').read_text()), {lang!r})",
}
GUILTY = "Functional.conv2d.1.forward"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("course")
    target = convolutions(where / "b", faults={GUILTY: lambda value: value * 1.01})
    report = compare(convolutions(where / "a"), target)
    (where / "comparison.json").write_text(report.to_json(), encoding="utf-8")
    return where


def move(kind: str, seen: Opened, folder: Path, lang: str) -> None:
    page, output = seen.screen.page, seen.output(0)
    inside = output.frame_locator("iframe").locator("body")
    if kind == "drawing":
        moves.expect(inside, CORE.caption(1, lang))
        inside.locator("#on").focus()
        page.keyboard.press("ArrowRight")
        moves.expect(inside, CORE.caption(2, lang))
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        moves.expect(inside, CORE.caption(len(CORE.steps), lang))
    elif kind == "part":
        inside.locator("[role=option]").first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        moves.expect(inside, f'answer = "{GUILTY}"')
        inside.locator("[role=option]").nth(1).click()
        moves.expect(inside, "Functional.batch_norm.0.forward")
    else:
        asked = quiz("start")
        output.locator("input[type=radio]").nth(1).check()
        output.locator("button").first.focus()
        page.keyboard.press("Enter")
        moves.expect(output, say("course.quiz.score", lang, right=1, count=len(asked.answers)))


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("kind", CODE)
def test_it_is_moved_by_keys(
    kind: str, lang: str, server: Lab, chromium: Browser, folder: Path, pictures: Path
) -> None:
    file = made(server.folder, f"course-{kind}-{lang}", CODE[kind].format(folder=str(folder), lang=lang), lang=lang)
    with shown(chromium, server, file, dark=lang == "zh") as seen:
        seen.run(120)
        assert seen.wrong() == []
        move(kind, seen, folder, lang)
        seen.picture(pictures, f"course-{kind}-{lang}")
        assert (seen.screen.asked, seen.screen.complaints) == ([], [])


@pytest.mark.parametrize("kind", CODE)
def test_without_trust_the_same_is_read(
    kind: str, server: Lab, chromium: Browser, folder: Path, pictures: Path
) -> None:
    with shown(
        chromium,
        server,
        made(server.folder, f"course-{kind}", CODE[kind].format(folder=str(folder), lang="en"), lang="en"),
    ) as seen:
        seen.run(120)
        cells = [{name: value for name, value in cell.items() if value is not None} for cell in seen.cells()]
    saved = nbformat.v4.new_notebook(cells=[nbformat.from_dict(cell) for cell in cells])
    saved.metadata["kernelspec"] = KERNEL
    file = server.folder / f"course-{kind}-read.ipynb"
    nbformat.write(saved, file)
    with shown(chromium, server, file) as seen:
        details = seen.screen.page.locator("details").last
        details.locator("summary").click()
        if kind == "drawing":
            assert details.locator("img").evaluate("image => image.complete && image.naturalWidth") > 600
            assert CORE.caption(3, "en") in moves.text_of(details)
        elif kind == "part":
            report_bars = list_bars(compare(folder / "a", folder / "b"))
            assert details.locator("li").count() == len(report_bars)
        else:
            assert "[matmul]" in moves.text_of(details)
        assert seen.screen.page.locator(".jp-OutputArea iframe").count() == 0, "nothing of it runs"
        seen.picture(pictures, f"course-{kind}-untrusted")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_class_opens_offline(lang: str, dark: bool, chromium: Browser, pictures: Path, tmp_path: Path) -> None:
    show_class(write_grades(tmp_path / "grades.csv", lang), tmp_path / "班级.html", lang=lang)
    assert faults(chromium, tmp_path / "班级.html", dark, pictures, f"class-{lang}") == []


def frame_of(seen: Opened) -> Frame:
    """The frame of the piece in the first cell's output."""
    frame = seen.output(0).locator("iframe").element_handle().content_frame()
    assert frame is not None
    return frame


@axe.needed
@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("kind", CODE)
def test_axe_finds_nothing_in_a_piece(kind: str, lang: str, server: Lab, chromium: Browser, folder: Path) -> None:
    """As it is drawn and after it was used, in both themes."""
    file = made(server.folder, f"axe-{kind}-{lang}", CODE[kind].format(folder=str(folder), lang=lang), lang=lang)
    with shown(chromium, server, file) as seen:
        seen.run(120)
        assert seen.wrong() == []
        for dark in (False, True):
            seen.theme(dark)
            for used in (False, True):
                if used:
                    if kind == "drawing":
                        frame_of(seen).press("#on", "Home")  # where a use before it left it
                    move(kind, seen, folder, lang)
                seen.screen.page.wait_for_timeout(300)
                assert axe.find_violations(seen.screen.page, ".jp-Cell-outputArea") == [], (dark, used)
                if kind != "quiz":
                    assert axe.find_violations(frame_of(seen)) == [], (dark, used)


@pytest.mark.parametrize("kind", ["drawing", "part"])
def test_each_control_of_a_piece_is_reached_by_tab_and_works(
    kind: str, server: Lab, chromium: Browser, folder: Path
) -> None:
    file = made(server.folder, f"keys-{kind}", CODE[kind].format(folder=str(folder), lang="en"))
    with shown(chromium, server, file) as seen:
        seen.run(120)
        page, frame = seen.screen.page, frame_of(seen)
        seen.output(0).locator("summary").focus()
        page.keyboard.press("Shift+Tab")
        held = "() => document.activeElement.id || document.activeElement.getAttribute('role')"
        if kind == "drawing":
            reached = [frame.evaluate(held)]
            for _ in range(2):
                page.keyboard.press("Shift+Tab")
                reached.append(frame.evaluate(held))
            assert reached == ["on", "play", "back"]
            inside = frame.locator("body")
            for key, step in (("Enter", len(CORE.steps)), ("Tab", 0), ("Space", 1), ("Tab", 0), ("Enter", 2)):
                page.keyboard.press(key)
                if step:
                    moves.expect(inside, CORE.caption(step, "en"))
            assert frame.get_attribute("#play", "aria-pressed") == "false", "a step by hand stops the play"
            return
        assert frame.evaluate(held) == "option"
        names = frame.locator("[role=option]").evaluate_all("all => all.map(one => one.dataset.name)")
        for key, at in (("End", -1), ("ArrowLeft", -2), ("Home", 0), ("ArrowRight", 1)):
            page.keyboard.press(key)
            assert frame.evaluate("document.activeElement.dataset.name") == names[at]
            page.keyboard.press("Space")
            moves.expect(frame.locator("#told"), f'answer = "{names[at]}"')


def test_a_quiz_is_answered_by_keys_alone(server: Lab, chromium: Browser) -> None:
    with shown(chromium, server, made(server.folder, "keys-quiz", CODE["quiz"].format(lang="en"), "answers")) as seen:
        seen.run(120)
        page, output, asked = seen.screen.page, seen.output(0), quiz("start")
        output.locator("input[type=radio]").first.focus()
        for right in asked.answers.values():  # each option is a stop: ipywidgets makes no group of them
            for letter in OPTIONS:
                if letter == right:
                    page.keyboard.press("Space")
                page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "BUTTON"
        page.keyboard.press("Enter")
        moves.expect(output, say("course.quiz.score", "en", right=len(asked.answers), count=len(asked.answers)))


@axe.needed
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_axe_finds_nothing_on_the_class_page_and_its_table_is_moved_by_keys(
    lang: str, dark: bool, chromium: Browser, tmp_path: Path
) -> None:
    show_class(write_grades(tmp_path / "grades.csv", lang), tmp_path / "class.html", lang=lang)
    with opened(chromium, dark=dark) as seen:
        seen.page.goto((tmp_path / "class.html").as_uri())
        assert axe.find_violations(seen.page) == []
        seen.page.set_viewport_size({"width": 320, "height": 600})
        seen.page.keyboard.press("Tab")
        region = seen.page.locator("[role=region]")
        assert region.evaluate("one => one === document.activeElement")
        for _ in range(3):
            seen.page.keyboard.press("ArrowRight")
        seen.page.wait_for_timeout(500)
        assert region.evaluate("one => one.scrollLeft") > 0
        assert axe.find_violations(seen.page) == [], "also where the table is wider than the window"

"""An exercise put back: its cells and run folder, nothing else; what the student had is kept under a number."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest

from ascend_workbook.findings.errors import WorkbookError
from course.exercises.listing import exercises
from course.exercises.outcome import DONE, Outcome
from course.exercises.record import keep_outcome, read_record
from course.exercises.resetting import _build_notebook, _find_source, reset_exercise
from course.exercises.task import load_tasks
from tests.conftest import ROOT

FIRST = next(iter(load_tasks()))
SOURCE = f"""# %% tags=["parameters"]
lang: str = "en"  # language
student: str = ""  # you

# %% [markdown] lang="zh"
# # 练习

# %% [markdown] lang="en"
# # Exercises

# %% tags=["task-{FIRST}"]
answer = None  # TODO

# %%
check_task("{FIRST}", answer)

# %% tags=["task-other"]
other = None  # TODO

# %%
check_task("other", other)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("notebooks/source/course", "notebooks/course/en", "notebooks/course/zh"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "notebooks/source/course/05_exercises.py").write_text(SOURCE, encoding="utf-8")
    for file in (ROOT / "notebooks").glob("*.py"):
        shutil.copy(file, tmp_path / "notebooks")
    return tmp_path


@pytest.fixture
def book(project: Path) -> Path:
    """The notebook as handed out."""
    path = project / "notebooks/course/en/05_exercises.ipynb"
    path.write_text(json.dumps(_build_notebook(project, _find_source(project), "en")))
    return path


def sources(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def work(path: Path, **changes: str) -> None:
    told: dict[str, Any] = json.loads(path.read_text())
    for cell in told["cells"]:
        text = "".join(cell["source"])
        cell["source"] = next((new for old, new in changes.items() if text.startswith(old)), cell["source"])
    told["cells"].insert(
        3,
        {
            "cell_type": "code",
            "source": "mine = 1",
            "metadata": {},
            "outputs": [],
            "id": "mine",
            "execution_count": None,
        },
    )
    path.write_text(json.dumps(told))


def test_one_exercise_goes_back_and_the_rest_stays(project: Path, book: Path, tmp_path: Path) -> None:
    handed_out = sources(book)
    work(book, answer="answer = 7", other="other = 8", lang='lang: str = "en"\nstudent: str = "ann"')
    before = book.read_bytes()
    (tmp_path / "run" / "course" / FIRST).mkdir(parents=True)
    report = reset_exercise(FIRST, book, run_dir=tmp_path / "run", project=project)
    now = sources(book)
    assert "answer = None  # TODO" in now and "other = 8" in now and "mine = 1" in now
    assert now[0].endswith('student: str = "ann"')
    assert (book.parent / "05_exercises.backup-1.ipynb").read_bytes() == before
    assert (tmp_path / "run" / "course" / f"{FIRST}.backup-1").is_dir()
    assert report.findings[0].key == "CRS003.reset" and report.facts["cells"] == 1
    assert reset_exercise(FIRST, book, run_dir=tmp_path / "run", project=project).findings[0].key == "CRS003.as_it_was"
    (tmp_path / "run" / "course" / FIRST).mkdir()
    moved = reset_exercise(FIRST, book, run_dir=tmp_path / "run", project=project)
    assert moved.findings[0].key == "CRS003.folder" and (moved.facts["moved"], moved.facts["backup"]) == ([FIRST], "")
    work(book, answer="answer = 9")
    reset_exercise(FIRST, book, run_dir=tmp_path / "run", project=project)
    assert (book.parent / "05_exercises.backup-2.ipynb").is_file()
    assert len(sources(book)) == len(handed_out) + 2  # two cells of the student's own


def test_the_list_says_not_yet_after_a_reset_and_the_tries_stay(project: Path, book: Path, tmp_path: Path) -> None:
    for name in (FIRST, FIRST, "loop"):
        keep_outcome(tmp_path, "李", Outcome(name, DONE, simulated=True), {"a": 1})
    report = reset_exercise(FIRST, book, run_dir=tmp_path, project=project)
    assert [each.key for each in report.findings] == ["CRS003.as_it_was", "CRS003.not_yet"]
    assert report.facts["not_yet"] == [FIRST]
    for lang, state in (("en", "not yet again"), ("zh", "恢复为未完成")):
        assert state in report.findings[1].message(lang) and FIRST in report.findings[1].message(lang)
    table = exercises(tmp_path).table
    assert table is not None
    seen = {row[0]: (row[3]["say"], row[4]) for row in table.rows}  # type: ignore[index, call-overload]
    assert seen[FIRST] == ("course.status.not_yet", 2) and seen["loop"] == ("course.status.done", 1)
    record = read_record(tmp_path)
    assert record.student == "李" and record.tasks[FIRST].answer is None and record.tasks["loop"].answer == {"a": 1}
    assert "CRS003.not_yet" not in [
        each.key for each in reset_exercise(FIRST, book, run_dir=tmp_path, project=project).findings
    ]
    assert keep_outcome(tmp_path, "李", Outcome(FIRST, DONE), {})[0] == 3


def test_a_state_that_cannot_be_taken_back_is_told(project: Path, book: Path, tmp_path: Path) -> None:
    (tmp_path / "course.json").write_text("[]")
    work(book, answer="answer = 7")
    report = reset_exercise(FIRST, book, run_dir=tmp_path, project=project)
    assert [each.key for each in report.findings] == ["CRS003.reset", "CRS003.state_stays"]
    assert str(tmp_path / "course.json") in report.findings[1].message("zh") and report.findings[1].hint("en")
    assert (tmp_path / "course.json").read_text() == "[]"


def test_the_capstone_goes_back_too(project: Path, tmp_path: Path) -> None:
    """Its cells are tagged by stage, its run folders called by task."""
    source = (ROOT / "notebooks/source/course/06_capstone.py").read_text(encoding="utf-8")
    (project / "notebooks/source/course/06_capstone.py").write_text(source, encoding="utf-8")
    book = project / "notebooks/course/en/06_capstone.ipynb"
    book.write_text(json.dumps(_build_notebook(project, _find_source(project, "capstone"), "en")))
    handed_out = sources(book)
    folder = tmp_path / "run" / "course_capstone" / "course" / "capstone_migration"
    folder.mkdir(parents=True)
    keep_outcome(tmp_path / "run" / "course_capstone", "", Outcome("capstone_migration", DONE), {})
    for exercise, cells in (("capstone_migration", 1), ("capstone", 2)):
        work(book, **{"def where()": "where = 1", "def script_changes()": "script_changes = 2"})
        report = reset_exercise(exercise, run_dir=tmp_path / "run", lang="en", project=project)
        assert report.facts["cells"] == cells
        assert ("where = 1" in sources(book)) == (exercise != "capstone") and "script_changes = 2" not in sources(book)
    stage = read_record(tmp_path / "run" / "course_capstone").tasks["capstone_migration"]
    assert (stage.status, stage.tries) == ("not_yet", 1)
    assert folder.with_name("capstone_migration.backup-1").is_dir() and not folder.exists()
    assert [text for text in sources(book) if text != "mine = 1"] == handed_out


def test_the_exercises_on_planning_go_back_in_their_own_notebook(project: Path, tmp_path: Path) -> None:
    source = (ROOT / "notebooks/source/course/07_planning.py").read_text(encoding="utf-8")
    (project / "notebooks/source/course/07_planning.py").write_text(source, encoding="utf-8")
    book = project / "notebooks/course/en/07_planning.ipynb"
    book.write_text(json.dumps(_build_notebook(project, _find_source(project, "planning"), "en")))
    handed_out = sources(book)
    folder = tmp_path / "run" / "course" / "launches"
    folder.mkdir(parents=True)
    keep_outcome(tmp_path / "run", "", Outcome("launches", DONE), {})
    for exercise, cells in (("launches", 1), ("planning", 2)):
        work(book, **{"def why_not()": "why_not = 1", "def arguments()": "arguments = 2"})
        report = reset_exercise(exercise, run_dir=tmp_path / "run", lang="en", project=project)
        assert report.facts["cells"] == cells
        assert ("why_not = 1" in sources(book)) == (exercise != "planning") and "arguments = 2" not in sources(book)
        assert "planning" in report.verdict("en") or exercise == "launches"
    assert read_record(tmp_path / "run").tasks["launches"].status == "not_yet"
    assert folder.with_name("launches.backup-1").is_dir() and not folder.exists()
    assert [text for text in sources(book) if text != "mine = 1"] == handed_out


def test_a_deleted_cell_comes_back_in_its_place(project: Path, book: Path, tmp_path: Path) -> None:
    handed_out = sources(book)
    told = json.loads(book.read_text())
    told["cells"] = [cell for cell in told["cells"] if "".join(cell["source"])[:6] != "answer"]
    book.write_text(json.dumps(told))
    reset_exercise(FIRST, book, run_dir=tmp_path, project=project)
    assert sources(book) == handed_out


def test_a_cell_that_became_prose_is_code_again(project: Path, book: Path, tmp_path: Path) -> None:
    handed_out = sources(book)
    told = json.loads(book.read_text())
    for cell in told["cells"]:
        if "".join(cell["source"]).startswith("answer"):
            cell["cell_type"] = "markdown"
            del cell["outputs"], cell["execution_count"]
    book.write_text(json.dumps(told))
    assert reset_exercise(FIRST, book, run_dir=tmp_path, project=project).findings[0].key == "CRS003.reset"
    assert sources(book) == handed_out
    nbformat.validate(nbformat.read(book, 4))


def test_a_notebook_behind_a_link_is_put_back_where_the_link_leads(project: Path, book: Path, tmp_path: Path) -> None:
    handed_out = sources(book)
    work(book, answer="answer = 7")
    before = book.read_bytes()
    (tmp_path / "mine").mkdir()
    mine = tmp_path / "mine" / "my.ipynb"
    mine.symlink_to(book)
    reset_exercise(FIRST, mine, run_dir=tmp_path, project=project)
    assert [text for text in sources(mine) if text != "mine = 1"] == handed_out and mine.is_symlink()
    assert (tmp_path / "mine" / "my.backup-1.ipynb").read_bytes() == before
    assert [each.name for each in book.parent.iterdir()] == [book.name]


def test_what_cannot_be_put_back(project: Path, book: Path, tmp_path: Path) -> None:
    with pytest.raises(
        WorkbookError, match="no exercise nope\nName one of env, .*, all, fit, launches, planning, capstone, "
    ):
        reset_exercise("nope", book, project=project)
    with pytest.raises(WorkbookError, match="no notebook"):
        reset_exercise(FIRST, tmp_path / "none.ipynb", project=project)
    book.write_text("[]")
    with pytest.raises(WorkbookError, match="cannot be read as a notebook"):
        reset_exercise(FIRST, book, project=project)
    (project / "notebooks/source/course/05_exercises.py").unlink()
    with pytest.raises(WorkbookError, match="sources of exercises"):
        reset_exercise(FIRST, book, project=project)

"""Grading: the answers decide, whatever a notebook prints, patches or writes; every submission has its row."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import versions
from course.exercises import machines
from course.exercises.task import load_tasks
from course.grading import attempt, grade, grade_submissions, limits
from course.grading.attempt import Grade, Left, Work, _judge_answers, grade_one
from course.grading.child import CELL_CUT
from course.grading.limits import Limits
from course.grading.sheet import earlier_submissions, make_plain, write_sheet
from course.grading.summary import Beside, make_report
from course.tasks import env

CHECK = 'from course import check_task\ncheck_task("env", answer, run_dir=run_dir, student=student)'
PATCH = """import course.exercises.checking as checking, course.exercises.task as task
checking.judge = lambda *given: task.Found(right=({"say": "course.env.ready", "args": {}},))
print("完成")"""
FORGE = """import json, pathlib
pathlib.Path(run_dir).mkdir(parents=True, exist_ok=True)
entry = {"status": "done", "tries": 1, "time": "", "simulated": False, "right": 9, "missing": 0, "answer": {"a": "1"}}
told = {"format": 1, "student": student, "tasks": {name: entry for name in ("env", "script")}}
pathlib.Path(run_dir, "course.json").write_text(json.dumps(told))"""
NOTHING = 'answer = {"torch": "1", "torch_npu": "2", "command": "x"}'


def solved(student: str) -> str:
    """A cell that answers the first task for this student."""
    torch = env.machine(student).python.packages["torch"]
    near = [torch, *(f"{torch}.post{number}" for number in range(1, 7))]
    fits = (each for each in near if versions.pair_cann(each, machines.CANN) in ("recommended", "compatible"))
    npu = next(each for each in fits if versions.pair_torch(torch, each) == "matches")
    told = {"torch": torch, "torch_npu": npu, "command": f"pip install --no-deps torch_npu=={npu}"}
    return f"answer = {told!r}"


def handed_in(folder: Path, name: str, *cells: str, student: str | None = None) -> None:
    folder.mkdir(exist_ok=True)
    whose = Path(name).stem if student is None else student
    first = f'lang: str = "en"\nrun_dir: str = "runs/notebook"\nstudent: str = "{whose}"'
    made = [nbformat.v4.new_code_cell(each) for each in (first, *cells)]
    made[0].metadata.tags = ["parameters"]
    (folder / name).write_text(nbformat.writes(nbformat.v4.new_notebook(cells=made)))


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return {row["submission"]: row for row in csv.DictReader(stream)}


def test_an_answer_counts_and_a_patched_checker_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    monkeypatch.setenv("ASCEND_WORKBOOK_MIRROR", "https://me:secret@index.example")
    leak = "import os, pathlib\npathlib.Path(run_dir + '.env').write_text(repr(dict(os.environ)))"
    handed_in(tmp_path / "in", "ann.ipynb", "1 / 0", solved("ann"), leak, CHECK)
    handed_in(tmp_path / "in", "eve.ipynb", PATCH, NOTHING, CHECK)
    handed_in(tmp_path / "in", "王五 (1).ipynb", solved(""), CHECK, student="")
    (tmp_path / "in" / "bad.ipynb").write_text("{")
    told: list[str] = []
    report = grade_submissions(tmp_path / "in", tmp_path / "grades.csv", worth={"env": 2}, tell=told.append, lang="en")
    table = rows(tmp_path / "grades.csv")
    assert [table[name]["env_points"] for name in ("ann.ipynb", "bad.ipynb", "eve.ipynb")] == ["2", "0", "0"]
    nameless = table["王五 (1).ipynb"]
    assert (nameless["env_points"], nameless["error"]) == ("2", "")  # everybody's questions
    told_of = {each.key: each.args for each in report.findings}
    assert told_of["CRS001.unnamed"]["names"] == ["王五 (1).ipynb"] and "CRS001.kept" not in told_of
    assert table["eve.ipynb"]["env_status"] == "not_yet" and table["ann.ipynb"]["env_status"] == "done"
    assert "breaks off" in table["bad.ipynb"]["error"] and not table["ann.ipynb"]["error"]
    assert report.status is Status.LOOK and told[:2] == ["[1/4] ann.ipynb", "[2/4] bad.ipynb"]
    seen = next((tmp_path / "grades.csv.work").glob("ann*/home/run.env")).read_text()
    assert "secret" not in seen and str(tmp_path) in seen
    began = time.monotonic()
    again = grade_submissions(tmp_path / "in", tmp_path / "grades.csv", worth={"env": 4}, lang="zh")
    assert time.monotonic() - began < 2  # nothing ran
    chinese = (tmp_path / "grades.csv").read_text("utf-8-sig").splitlines()
    assert [line.split(",")[:3] for line in chinese] == [
        ["提交", "学生", "得分"],
        ["ann.ipynb", "ann", "4"],
        ["bad.ipynb", "bad", "0"],
        ["eve.ipynb", "eve", "0"],
        ["王五 (1).ipynb", "王五 (1)", "4"],
    ]
    kept = {each.key: each for each in again.findings}
    assert kept["CRS001.kept"].args["kept"] == 3 and "--force" in kept["CRS001.kept"].hint("zh")
    assert kept["CRS001.unnamed"].args["names"] == ["王五 (1).ipynb"]
    text = again.text("zh")
    assert all(kept[key].message("zh") in text for key in ("CRS001.kept", "CRS001.unnamed"))


@pytest.mark.full
def test_tricks_earn_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    handed_in(folder, "forge.ipynb", FORGE)
    friend = next(name for name in map(str, range(20)) if solved(name) != solved("copy"))
    handed_in(folder, "copy.ipynb", solved(friend), CHECK, student=friend)
    handed_in(folder, "kill.ipynb", "import os\nos.kill(os.getppid(), 9)")
    handed_in(folder, "loop.ipynb", "while True: pass", solved("loop"), CHECK)
    handed_in(folder, "=1+1.ipynb", "pass")
    grade_submissions(folder, tmp_path / "grades.csv", cell_timeout_s=4, limits=Limits(seconds=60), lang="en")
    table = rows(tmp_path / "grades.csv")
    assert {name: row["env_points"] for name, row in table.items()} == {
        "'=1+1.ipynb": "0",
        "copy.ipynb": "0",
        "forge.ipynb": "0",
        "kill.ipynb": "0",
        "loop.ipynb": "1",
    }
    assert f"under the name {friend}" in table["copy.ipynb"]["error"]
    assert "ended with code" in table["kill.ipynb"]["error"]
    assert "no answer" in table["'=1+1.ipynb"]["error"]


STAGE = """from course.exercises.capstone import check_stage
from helpers.notebook import begin
run = begin("course_capstone", lang, run_dir, "auto")
check_stage("{stage}", {answer!r}, run)"""


@pytest.mark.full
def test_a_capstone_is_judged_stage_by_stage(tmp_path: Path) -> None:
    """The first stage is right; the third is not judged before the second has left a script."""
    good = {"device": "npu-simulated", "dtype": "bfloat16"}
    design = {"arguments": ["--seed", "0"], "dump_steps": [0], "aligned": True}
    handed_in(
        tmp_path / "in",
        "ann.ipynb",
        STAGE.format(stage="environment", answer=good),
        STAGE.format(stage="precision", answer=design),
    )
    handed_in(tmp_path / "in", "eve.ipynb", solved("eve"), CHECK)
    grade_submissions(
        tmp_path / "in", tmp_path / "grades.csv", notebook="capstone", worth={"capstone_environment": 2}, lang="en"
    )
    table = rows(tmp_path / "grades.csv")
    assert (table["ann.ipynb"]["points"], table["ann.ipynb"]["of"]) == ("2", "5") and not table["ann.ipynb"]["error"]
    assert table["ann.ipynb"]["capstone_precision_status"] == "not_yet"
    assert table["eve.ipynb"]["points"] == "0" and "no answer" in table["eve.ipynb"]["error"]


@pytest.mark.full
def test_whose_submission_it_is(tmp_path: Path) -> None:
    handed_in(tmp_path / "in", "2041_late.ipynb", solved("ann"), CHECK, student="ann")
    (tmp_path / "names.csv").write_text("2041_late,ann\n", encoding="utf-8-sig")
    grade_submissions(tmp_path / "in", tmp_path / "grades.csv", names=tmp_path / "names.csv")
    assert rows(tmp_path / "grades.csv")["2041_late.ipynb"]["points"] == "1"


def test_what_cannot_be_graded_at_all(tmp_path: Path) -> None:
    handed_in(tmp_path / "in", "a.ipynb")
    with pytest.raises(WorkbookError, match="there is no task nope"):
        grade_submissions(tmp_path / "in", worth={"nope": 1})
    with pytest.raises(WorkbookError, match="there is no task env"):
        grade_submissions(tmp_path / "in", notebook="capstone", worth={"env": 1})
    with pytest.raises(WorkbookError, match="no notebook lesson"):
        grade_submissions(tmp_path / "in", notebook="lesson")
    with pytest.raises(WorkbookError, match="no folder"):
        grade_submissions(tmp_path / "nothing")
    (tmp_path / "names.csv").write_text("a,ann\nb\n")
    with pytest.raises(WorkbookError, match="line 2"):
        grade_submissions(tmp_path / "in", names=tmp_path / "names.csv")


def test_two_of_one_student_are_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("ann.ipynb", "ann.zip"):
        (tmp_path / "in" / name).write_text("{")
    report = grade_submissions(tmp_path / "in", tmp_path / "grades.csv")
    assert [each.args["student"] for each in report.findings if each.key == "CRS001.twice"] == ["ann"]


def test_what_is_no_submission_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in (("ann.ipynb", "{"), ("copycat.py", ""), ("readme.txt", ""), (".hidden", ""), ("names.csv", "")):
        (folder / name).write_text(text)
    for _ in range(2):  # the table itself lies there the second time
        report = grade_submissions(folder, folder / "grades.csv", names=folder / "names.csv")
    assert list(rows(folder / "grades.csv")) == ["ann.ipynb"]
    told = [each for each in report.findings if each.key == "CRS001.not_graded"]
    assert [each.args["name"] for each in told] == ["copycat.py", "readme.txt"]
    assert {each.status for each in told} == {Status.LOOK}


def test_equal_submissions_and_missing_names_are_told() -> None:
    given = [
        ("ann.zip", "ann", "x", False),
        ("ben.zip", "ben", "x", True),
        ("cy.ipynb", "cy", "y", False),
        ("cy.zip", "cy", "y", False),
        ("d", "d", "", False),
        ("e", "e", "", False),
    ]
    grades = [Grade(name, student, digest, unnamed=unnamed) for name, student, digest, unnamed in given]
    told = {each.key: each for each in make_report(grades, Beside(), {}, 0.0, Path("x.csv")).findings}
    assert told["CRS001.alike"].args["names"] == ["ann.zip", "ben.zip"] and told["CRS001.alike"].status is Status.LOOK
    assert told["CRS001.unnamed"].args["names"] == ["ben.zip"] and told["CRS001.unnamed"].status is Status.NOTE
    rest = {each.key for each in make_report(grades[2:], Beside(), {}, 0.0, Path("x.csv")).findings}
    assert not {"CRS001.alike", "CRS001.unnamed"} & rest


def child(tmp_path: Path, code: str, told: Limits) -> limits.Ended:
    return limits.run_limited([sys.executable, "-c", code], dict(os.environ), tmp_path, tmp_path / "log", told)


def test_time_and_memory_end_a_child(tmp_path: Path) -> None:
    assert child(tmp_path, "import time; time.sleep(60)", Limits(seconds=0.5)).cut == "time"
    grow = "import time; kept = b'x' * (300 << 20); time.sleep(60)"
    assert child(tmp_path, grow, Limits(seconds=30, memory_mib=200)).cut == "memory"
    good = child(tmp_path, "print('x')", Limits(seconds=30, memory_mib=200))
    assert (good.code, good.cut) == (0, "")


def test_an_enclosure_that_is_late_is_stopped_and_its_account_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listing what was written took longer than it may: that ends this submission, not the grading of all."""
    monkeypatch.setattr(limits, "LISTING_S", -29.0)
    ended = child(tmp_path, "import time; time.sleep(60)", Limits(seconds=30))
    assert ended.code and ended.seconds < 20


@pytest.mark.parametrize(
    ("why", "kept"), [("disk", False), ("memory", False), ("cell_time", False), ("no_answers", True)]
)
def test_what_the_machine_ended_is_graded_again(tmp_path: Path, why: str, kept: bool) -> None:
    args = {"disk": {"mib": 8}, "memory": {"mib": 8}, "cell_time": {"seconds": 8}}.get(why, {})
    earlier = Grade("a.zip", "a", "d", trouble=Sentence(f"grading.{why}", **args))
    (tmp_path / "grade.json").write_text(json.dumps({"key": "k", **asdict(earlier)}))
    assert grade._before(tmp_path, "k") == (earlier if kept else None)


def test_the_memory_of_one_that_lost_its_parent_counts(tmp_path: Path) -> None:
    grow = (
        "import os, time\n"
        "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  kept = b'x' * (300 << 20)\n  time.sleep(60)\n"
        " os._exit(0)\n"
        "time.sleep(20)"
    )
    assert child(tmp_path, grow, Limits(seconds=30, memory_mib=200)).cut == "memory"


def lives(mark: str) -> bool:
    """Whether a process of this command line is on the machine."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                return True
    return False


def test_nothing_lives_on(tmp_path: Path) -> None:
    """A process that left its session and lost its parent ends with the submission all the same."""
    code = (
        f"# {tmp_path}\nimport os, sys, time\n"
        "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
        "  open('alive', 'w').write(str(os.getpid()))\n  time.sleep(60)\n os._exit(0)\n"
        "while not os.path.exists('alive') or not open('alive').read(): time.sleep(0.01)"
    )
    assert child(tmp_path, code, Limits(seconds=30)).code == 0
    assert (tmp_path / "alive").read_text() and not lives(f"# {tmp_path}")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "  =1", "＝1", " ＠A1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert make_plain(text).startswith("'")


def test_the_sheet_is_one_line_a_submission() -> None:
    name = next(iter(load_tasks()))
    died = {"say": "grading.no_answers", "args": {}}
    told = Grade("张三.zip", "张三", "", {name: "partly"}, {name: 3}, 1.5, died)
    lines = write_sheet([told], {name: 3.0}, "zh").splitlines()
    first = "\ufeff提交,学生,得分,满分,用时（秒）,问题"
    assert lines[0] == f"{first},{name} 结果,{name} 得分,{name} 次数,error_code,{name}_status"
    said = "笔记本已运行，但没有向检查器交出任何答案。请确认它是练习笔记本，并查看开头的单元格是否出错。"
    assert lines[1] == f"张三.zip,张三,0,3,1.5,{said},部分完成,0,3,grading.no_answers,partly"
    assert write_sheet([told], {name: 3.0}, "zh", 0.5).splitlines()[1].split(",")[7] == "1.5"
    assert make_plain("a\nb\x00c-1") == "a b c-1"


def test_both_languages_have_the_same_columns_and_codes() -> None:
    given = [Grade("a", "a", "", {"env": status}) for status in ("done", "partly", "not_yet")]
    zh, en = (list(csv.reader(write_sheet(given, {"env": 1.0}, lang)[1:].splitlines())) for lang in ("zh", "en"))
    assert [len(row) for row in zh] == [len(row) for row in en] and [row[-2:] for row in zh] == [row[-2:] for row in en]
    assert [row[6] for row in zh[1:]] == ["完成", "部分完成", "未完成"]
    assert [row[6] for row in en[1:]] == ["done", "partly", "not yet"]
    assert not {*"".join(zh[0][:-2])} & {*"rstuw"}  # of English only the task's name and the codes are left


def test_a_table_is_read_in_either_language_and_from_excel(tmp_path: Path) -> None:
    told = [Grade("张三.zip", "张三", ""), Grade("=1+1.zip", "x", "")]
    path = tmp_path / "grades.csv"
    assert earlier_submissions(path, {"env": 1.0}) == []
    for lang in ("zh", "en"):
        for encoding, separator in (("utf-8", ","), ("gb18030", ","), ("utf-16", "\t")):
            path.write_text(write_sheet(told, {"env": 1.0}, lang)[1:].replace(",", separator), encoding=encoding)
            assert earlier_submissions(path, {"env": 1.0}) == ["张三.zip", "=1+1.zip"]
    path.write_text("name,phone\n张三,1\n")
    with pytest.raises(WorkbookError, match="no table of grades"):
        earlier_submissions(path, {"env": 1.0})


def test_the_table_of_another_notebook_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(write_sheet([Grade("张三.zip", "张三", "")], {"env": 1.0, "loop": 1.0}, "zh"))
    before = path.read_bytes()
    with pytest.raises(WorkbookError, match="of another notebook, with env, loop"):
        grade_submissions(empty(tmp_path / "in", "张三.ipynb"), path, notebook="capstone")
    assert path.read_bytes() == before and earlier_submissions(path, {"env": 1.0}) == ["张三.zip"]


def test_who_stops_a_run_loses_no_row_of_those_graded_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["course.grading.grade"]
    monkeypatch.setattr(module, "grade_one", lambda work, *_: Grade(work.name, work.student, work.digest))
    for name in ("ann", "ben", "cy"):
        handed_in(tmp_path / "in", f"{name}.ipynb", CHECK)
    grade_submissions(tmp_path / "in", tmp_path / "grades.csv")
    handed_in(tmp_path / "in", "ben.ipynb", NOTHING, CHECK)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "grade_one", stopped)
    with pytest.raises(KeyboardInterrupt):
        grade_submissions(tmp_path / "in", tmp_path / "grades.csv")
    assert [*rows(tmp_path / "grades.csv")] == ["ann.ipynb", "cy.ipynb"]


@pytest.mark.parametrize("told", ["null", "1", '{"key": "k", "trouble": "x"}', "{"])
def test_a_grade_of_before_that_is_none_is_made_anew(tmp_path: Path, told: str) -> None:
    (tmp_path / "grade.json").write_text(told)
    assert sys.modules["course.grading.grade"]._before(tmp_path, "k") is None


def test_a_table_behind_a_link_is_written_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "grades.csv").symlink_to(tmp_path / "disk" / "class.csv")
    grade_submissions(empty(tmp_path / "in", "张三.ipynb"), tmp_path / "grades.csv")
    assert [each.name for each in (tmp_path / "disk").iterdir()] == ["class.csv"]
    assert [*rows(tmp_path / "grades.csv")] == ["张三.ipynb"]


def empty(folder: Path, *names: str) -> Path:
    """Submissions that are broken: each has its row, and nothing runs."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(b"")
    return folder


def test_a_broken_submission_is_named_once_with_the_next_step(tmp_path: Path) -> None:
    folder = empty(tmp_path / "in", "张三.ipynb")
    (folder / "李四.zip").write_bytes(b"PK")
    for lang, said in (("zh", "是空的"), ("en", "is empty")):
        made = grade_submissions(folder, tmp_path / f"{lang}.csv", lang=lang)
        text = made.text(lang)
        assert text.count("张三.ipynb: ") == 1 and said in text and "JSONDecodeError" not in text
        found = next(each for each in made.findings if each.key == "CRS001.trouble")
        assert "Jupyter" in found.hint(lang) and str(found.place) == "张三.ipynb"
        row = (tmp_path / f"{lang}.csv").read_text("utf-8-sig").splitlines()[1].split(",")
        assert said in row[5] and "Jupyter" in row[5] and row[-7] == "grading.book_empty"


def test_rows_that_went_are_told(tmp_path: Path) -> None:
    folder = empty(tmp_path / "in", "张三.ipynb", "李四.ipynb", "'=1.ipynb", " 'x.ipynb")
    grade_submissions(folder, tmp_path / "grades.csv", lang="zh")
    (folder / "李四.ipynb").unlink()
    made = grade_submissions(folder, tmp_path / "grades.csv", lang="en")
    assert [each.args["names"] for each in made.findings if each.key == "CRS001.gone"] == [["李四.ipynb"]]
    (tmp_path / "other.csv").write_text("my notes\n")
    with pytest.raises(WorkbookError, match="not written over"):
        grade_submissions(folder, tmp_path / "other.csv")
    assert (tmp_path / "other.csv").read_text() == "my notes\n"


def test_who_is_absent_or_not_listed_is_told(tmp_path: Path) -> None:
    folder = empty(tmp_path / "in", "1.ipynb", "2.ipynb")
    (tmp_path / "names.csv").write_text("提交,学生\n1.ipynb,张三\n3,王五\n", encoding="gbk")
    made = {
        each.key: each.args
        for each in grade_submissions(folder, tmp_path / "g.csv", names=tmp_path / "names.csv").findings
    }
    assert made["CRS001.absent"]["names"] == ["3"] and made["CRS001.unlisted"]["names"] == ["2.ipynb"]
    assert [row["student"] for row in rows(tmp_path / "g.csv").values()] == ["张三", "2"]


def test_the_same_code_under_two_names_is_told() -> None:
    given = [
        ("a", "x", "done"),
        ("b", "x", "done"),
        ("c", "y", "not_yet"),
        ("d", "y", "not_yet"),
        ("e", "", "done"),
        ("f", "", "done"),
    ]
    grades = [Grade(name, name, name, {"env": status}, code=code) for name, code, status in given]
    told = [
        each.args["names"]
        for each in make_report(grades, Beside(), {}, 0.0, Path("x.csv")).findings
        if each.key == "CRS001.same_code"
    ]
    assert told == [["a", "b"]]


def test_a_grade_without_a_simulated_npu_is_made_again_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from course.grading.grade import _make_key, simulator

    monkeypatch.setattr(simulator, "simulator_location", lambda: tmp_path)
    before = _make_key("x", "a", "exercises", 180)
    assert _make_key("x", "a", "exercises", 180.0) == before != _make_key("x", "b", "exercises", 180)
    (tmp_path / "version.cfg").write_text("built")
    assert _make_key("x", "a", "exercises", 180) != before


def test_what_a_grade_rests_on_is_in_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["course.grading.grade"]
    monkeypatch.setattr(module, "SCRIPTS", tmp_path / "course" / "scripts")
    keys = [module._make_key("x", "a", "exercises", 180.0), module._make_key("x", "a", "exercises", 600.0)]
    for place in ("scripts", "course/scripts"):
        (tmp_path / place).mkdir(parents=True)
        for text in ("1", "2"):
            (tmp_path / place / "a.py").write_text(text)
            keys.append(module._make_key("x", "a", "exercises", 180.0))
    for name in ("torch", "numpy", "nbclient", "ipykernel"):
        other = {name: [SimpleNamespace(version="9.9")]}
        monkeypatch.setattr(module.metadata, "distributions", lambda name, other=other: other.get(name, []))
        keys.append(module._make_key("x", "a", "exercises", 180.0))
    assert len({*keys}) == len(keys) == 10


class Stopped(Exception):
    """What ends a run from outside."""


@pytest.mark.parametrize("put", ["nothing", "file", "folder", "link"])
def test_no_list_of_cells_or_answers_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put: str) -> None:
    """Whatever stands in its place in the end, and however the run ends."""
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "kept").touch()
    handed: list[object] = []

    def run(command: list[str], env: object, home: Path, *_: object, **__: object) -> limits.Ended:
        place = home / "plan.json"
        assert str(place) == command[-1]
        handed.append(json.loads(place.read_text()))
        if put == "file":
            raise WorkbookError("sandbox.no_account")
        place.unlink()
        if put == "folder":
            (place / "below").mkdir(parents=True)
            (place / "below" / "x").touch()
        if put == "link":
            place.symlink_to(tmp_path / "else")
        raise Stopped

    monkeypatch.setattr(limits, "run_limited", run)
    work, left = Work("a", "a", "d", []), Left("a", {"env": {"torch": "2"}}, "a")
    with pytest.raises((WorkbookError, Stopped)):
        grade_one(work, tmp_path / "out", "en", 5, Limits())
    with pytest.raises((WorkbookError, Stopped)):
        _judge_answers(tmp_path / "out", "exercises", left, Limits())
    assert len(handed) == 2 and isinstance(handed[1], dict) and handed[1]["answers"] == {"env": {"torch": "2"}}
    assert not [*(tmp_path / "out").rglob("plan.json")] and (tmp_path / "else" / "kept").exists()


@pytest.mark.parametrize(
    ("code", "cut", "answers", "expected"),
    [
        (CELL_CUT, "", {}, "cell_time"),
        (CELL_CUT, "", {"env": {}}, "cell_time"),
        (CELL_CUT, "memory", {}, "memory"),
        (1, "", {}, "died"),
        (0, "", {}, "no_answers"),
    ],
)
def test_a_cell_that_was_cut_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, cut: str, answers: dict[str, object], expected: str
) -> None:
    ended, none = limits.Ended(code, 1.0, cut), Sentence("grading.no_answers")
    monkeypatch.setattr(limits, "run_limited", lambda *_, **__: ended)
    monkeypatch.setattr(attempt, "_read_answers", lambda *_: Left("a", answers, "a", None if answers else none))
    monkeypatch.setattr(attempt, "_judge_answers", lambda *_: ({}, limits.Ended(0, 1.0)))
    made = grade_one(Work("a", "a", "d", []), tmp_path / "out", "en", 5.0, Limits())
    assert made.trouble and made.trouble.key == f"grading.{expected}"
    (tmp_path / "grade.json").write_text(json.dumps({"key": "k", **asdict(made)}))
    assert (grade._before(tmp_path, "k") is None) is (expected != "no_answers")


@pytest.mark.full
def test_a_cell_at_its_limit_is_the_childs_exit_code(tmp_path: Path) -> None:
    plan = {
        "cells": [{"source": "import time; time.sleep(60)", "tags": []}, {"source": "print(1)", "tags": []}],
        "cell_timeout_s": 1,
        "notebook": str(tmp_path / "executed.ipynb"),
        "parameters": {},
    }
    for number, expected in enumerate((CELL_CUT, 0)):
        (tmp_path / "plan.json").write_text(json.dumps({**plan, "cells": plan["cells"][number:]}))  # type: ignore[index]
        ended = subprocess.run([sys.executable, attempt.CHILD, tmp_path / "plan.json"], check=False)
        assert ended.returncode == expected
    assert '"1\\n"' in (tmp_path / "executed.ipynb").read_text()


def test_the_record_of_a_grade_is_checked(tmp_path: Path) -> None:
    """A grade.json that is broken, or of another checker, is not taken over."""
    from course.grading.grade import _before

    told = asdict(Grade("a", "a", "x", {"env": "done"}))
    (tmp_path / "grade.json").write_text(json.dumps({"key": "k", **told}))
    assert _before(tmp_path, "k") == Grade("a", "a", "x", {"env": "done"})
    assert _before(tmp_path, "other") is None
    ended = asdict(Grade("a", "a", "x", {}, trouble={"say": "grading.died", "args": {"code": 1}}))
    (tmp_path / "grade.json").write_text(json.dumps({"key": "k", **ended}))
    assert _before(tmp_path, "k") is None
    (tmp_path / "grade.json").write_text("{")
    assert _before(tmp_path, "k") is None

"""What a dishonest notebook leaves behind earns nothing, stops nobody else's grading, and is told."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import show
from course.exercises.record import NAME
from course.grading import attempt, grade_submissions, limits
from course.grading.judging import MARK, read_verdict, sign_verdict
from course.grading.limits import Limits
from tests.course.test_grading import CHECK, NOTHING, handed_in, lives, rows, solved

KEY = b"k" * 32


def left(home: Path, text: str, student: str = "张三") -> attempt.Left:
    """What is read of a course.json of this text, which a run left."""
    (home / "run").mkdir(parents=True, exist_ok=True)
    (home / "run" / NAME).write_text(text, encoding="utf-8")
    return attempt._read_answers(home / "run", home, student)


def record(answer: str, student: str = '"张三"') -> str:
    entry = '"status": "done", "tries": 1, "time": "", "simulated": false, "right": 9, "missing": 0'
    return f'{{"format": 1, "student": {student}, "tasks": {{"env": {{{entry}, "answer": {answer}}}}}}}'


@pytest.mark.parametrize("answer", ["[" * 400 + "]" * 400, "NaN", "[1e999]", json.dumps("x" * 300_000), "null"])
def test_an_answer_that_no_checker_wrote_is_none(tmp_path: Path, answer: str) -> None:
    assert left(tmp_path, record('{"torch": "1"}')).answers == {"env": {"torch": "1"}}
    assert not left(tmp_path, record(answer)).answers


def test_half_a_character_in_a_name_reaches_no_file(tmp_path: Path) -> None:
    told = left(tmp_path, record("1", r'"\ud800"'))
    broken = left(tmp_path, record("1").replace('"env"', r'"\udfff"').replace('"tries": 1', '"tries": []'))
    for one in (told, broken):
        assert one.trouble and json.dumps(one.trouble, ensure_ascii=False).encode("utf-8")
    assert told.trouble and told.trouble["say"] == "grading.other_name"


@pytest.mark.parametrize("linked", [f"run/{NAME}", "run"])
def test_a_record_that_is_a_link_to_anothers_is_not_read(tmp_path: Path, linked: str) -> None:
    left(tmp_path / "friend", record('{"torch": "1"}'))
    mine = tmp_path / "mine"
    (mine / linked).parent.mkdir(parents=True)
    (mine / linked).symlink_to(tmp_path / "friend" / linked)
    told = attempt._read_answers(mine / "run", mine, "张三")
    assert not told.answers and told.trouble and told.trouble["say"] == "grading.link"


def test_a_record_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / NAME)
    told = attempt._read_answers(tmp_path / "run", tmp_path, "张三")
    assert told.trouble and told.trouble["say"] == "course.record"


def test_only_what_the_judge_signed_is_a_verdict() -> None:
    told = {"task": "env", "status": "done"}
    assert read_verdict(sign_verdict(told, KEY) + b"\n", KEY) == told
    plain = json.dumps(told).encode()
    other = sign_verdict({"task": "env", "status": "not_yet"}, KEY)
    moved = other.rpartition(b" {")[0] + b" " + plain
    unsigned = (b"judged " + plain, MARK + b"0" * 64 + b" " + plain, MARK, b"\xff\n", b"")
    for forged in (*unsigned, sign_verdict(told, b"x" * 32), moved):
        assert read_verdict(forged, KEY) is None


def test_a_folder_made_before_the_judge_is_removed(tmp_path: Path) -> None:
    """Python would import the judge from the folder in which it is started."""
    fake = tmp_path / "judging" / "course" / "grading"
    fake.mkdir(parents=True)
    for folder in (fake, fake.parent):
        (folder / "__init__.py").touch()
    (fake / "judging.py").write_text("print('judged {}')")
    (tmp_path / "judging" / "closed").mkdir(mode=0)
    (tmp_path / "judging" / "away").symlink_to(tmp_path.parent)
    (tmp_path / "judging.log").symlink_to(tmp_path / "elsewhere")
    wrong = attempt.Left("张三", {"env": {"torch": "1", "torch_npu": "2", "command": "x"}}, "张三")
    found, ended = attempt._judge_answers(tmp_path, "exercises", wrong, Limits(seconds=60))
    assert (found["env"]["status"], [*found], ended.code) == ("not_yet", ["env"], 0)
    assert not (tmp_path / "judging" / "course").exists() and not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="prctl(2)")
def test_a_judged_script_reads_no_key_and_lends_no_module(tmp_path: Path) -> None:
    """While tasks are judged nobody else of this user reads the judge's memory, and it imports nothing from its
    folder."""
    (tmp_path / "plan.json").write_text(json.dumps({"notebook": "exercises"}))
    code = (
        "import ctypes, sys\nfrom course.grading import judging\n"
        "def asked(_):\n open('told', 'w').write(repr((ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), '' in sys.path)))\n"
        " return {}\n"
        "judging.tasks_of = asked\nsys.argv = ['judging', 'plan.json']\njudging.main()"
    )
    assert child(tmp_path, code, Limits(seconds=30)).code == 0
    assert (tmp_path / "told").read_text() == "(0, False)"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove what is closed")
def test_a_folder_closed_to_its_owner_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "one" / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "one" / "closed").chmod(0)
    assert not list(attempt._make_folder(tmp_path / "one").iterdir())


def child(tmp_path: Path, code: str, told: Limits) -> limits.Ended:
    return limits.run_limited([sys.executable, "-c", code], dict(os.environ), tmp_path, tmp_path / "log", told)


def test_many_processes_end_a_child(tmp_path: Path) -> None:
    code = "import os, time\nfor _ in range(30):\n if os.fork() == 0: break\ntime.sleep(60)"
    assert child(tmp_path, code, Limits(seconds=30, processes=20)).cut == "processes"


def test_a_process_that_starts_itself_again_ends_too(tmp_path: Path) -> None:
    """Each lives for a moment, in a session of its own, and has a successor before it ends."""
    code = (
        f"# {tmp_path}\nimport os, time\nif os.fork():\n while not os.path.exists('alive'): time.sleep(0.01)\n"
        " os._exit(0)\nfor _ in range(4000):\n if os.fork(): os._exit(0)\n"
        " os.setsid()\n open('alive', 'w').write(str(os.getpid()))\n time.sleep(0.005)"
    )
    assert child(tmp_path, code, Limits(seconds=30)).code == 0
    assert (tmp_path / "alive").exists() and not lives(f"# {tmp_path}")


RUIN = """import pathlib, shutil
shutil.rmtree({submissions!r})
for path in pathlib.Path({work!r}).glob("zoe*"): shutil.rmtree(path)"""


@pytest.mark.full
def test_who_deletes_the_others_takes_nothing_from_them(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    ruin = RUIN.format(submissions=str(folder), work=str(tmp_path / "grades.csv.work"))
    handed_in(folder, "eve.ipynb", ruin, NOTHING, CHECK)
    handed_in(folder, "zoe.ipynb", solved("zoe"), CHECK)
    grade_submissions(folder, tmp_path / "grades.csv", lang="en")
    table = rows(tmp_path / "grades.csv")
    assert {name: row["points"] for name, row in table.items()} == {"eve.ipynb": "0", "zoe.ipynb": "1"}


def test_a_submission_that_changes_the_workbook_stops_the_grading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = sys.modules["course.grading.grade"]
    (tmp_path / "in").mkdir()
    handed_in(tmp_path / "in", "eve.ipynb", "pass")

    def own_code() -> str:
        return "as it began"

    own_code.__wrapped__ = lambda: "another"  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "own_code", own_code)
    monkeypatch.setattr(module, "grade_one", lambda work, *_: attempt.Grade(work.name, work.student, work.digest))
    with pytest.raises(WorkbookError, match=r"while eve\.ipynb was graded"):
        grade_submissions(tmp_path / "in", tmp_path / "grades.csv", lang="en")
    assert not list((tmp_path / "grades.csv.work").rglob("grade.json"))


def test_a_check_that_could_not_judge_is_told(tmp_path: Path) -> None:
    """Not yet without a word would be the answer's fault."""
    (tmp_path / "plan.json").write_text(
        json.dumps({"notebook": "", "student": "", "folder": str(tmp_path), "answers": {"env": 1, "loop": 1}})
    )
    code = (
        "import sys\nfrom course.grading import judging\n"
        "from course.exercises.task import Found, Task\n"
        "from ascend_workbook.findings.sentence import Sentence\n"
        "def broken(*_): raise PermissionError(13, 'closed', '/closed/bin')\n"
        "def wrong(*_): return Found(missing=(Sentence('course.env.ready'),))\n"
        "judging.tasks_of = lambda _: {'env': Task('env', '', wrong), 'loop': Task('loop', '', broken)}\n"
        "sys.argv = ['judging', 'plan.json']\njudging.main()"
    )
    limits.run_limited(
        [sys.executable, "-c", code], dict(os.environ), tmp_path, tmp_path / "log", Limits(seconds=30), sent=KEY
    )
    told = list(filter(None, (read_verdict(line, KEY) for line in (tmp_path / "log").read_bytes().splitlines())))
    found = attempt._find_broken({one["task"]: one for one in told})
    assert [one["status"] for one in told] == ["not_yet", "not_yet"] and not told[0]["broke"]
    assert found and found["say"] == "grading.not_judged" and show(found, "en").startswith("the check of loop broke")
    assert "/closed/bin" in show(found, "zh") and attempt._find_broken({"env": told[0]}) is None

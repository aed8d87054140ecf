"""`run`, `run PLAN`, `baseline`, `check --save` and `course grade` are cut off at each thing that they write."""

from __future__ import annotations

import csv
import json
import sys
import zipfile
from pathlib import Path

import pytest

from ascend_workbook.machine.sandbox import GUARD_VARIABLE
from tests.conftest import ROOT
from tests.course.test_grading import CHECK, handed_in, solved
from tests.faults.points import DISKS, FAULTS, Attack, attack_points
from tests.faults.test_batch import CAMPAIGN, RUN

TINY = ROOT / "tests" / "precision" / "data" / "tiny_net.py"
#: Within name spaces a child has a layer of its own, and so what it writes could not be counted.
UNGUARDED = {GUARD_VARIABLE: "none"}


def check_archive(here: Path) -> None:
    with zipfile.ZipFile(here / "gpu.zip") as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("baseline.json"))["schema"] == "ascend-workbook/baseline/1"


def check_no_half_archive(here: Path) -> None:
    """It has its name when it is whole."""
    if (here / "gpu.zip").exists():
        check_archive(here)


def check_settings(here: Path) -> None:
    assert json.loads((here / "s.json").read_text(encoding="utf-8"))["packages"]
    assert json.loads((here / "o.json").read_text(encoding="utf-8"))["verb"] == "environment_check"
    assert (here / "o.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def check_no_half_settings(here: Path) -> None:
    for name in ("s.json", "o.json"):
        assert not (here / name).exists() or json.loads((here / name).read_text(encoding="utf-8"))


def hand_in(here: Path) -> None:
    handed_in(here / "in", "ann.ipynb", solved("ann"), CHECK)


def check_grades(here: Path) -> None:
    with (here / "grades.csv").open(encoding="utf-8-sig", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["submission"], row["env_points"], row["error"]) == ("ann.ipynb", "1", "")


def check_no_half_grade(here: Path) -> None:
    """A table that is there has the row; a grade that is kept is whole."""
    if (here / "grades.csv").exists():
        check_grades(here)
    for path in here.glob("grades.csv.work/*/grade.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["name"] == "ann.ipynb"


BASELINE = ("baseline", "--device", "cpu", "--no-statistics", "--steps", "2", "--timing-steps", "0")
ATTACKS = {
    "run": RUN,
    "plan": CAMPAIGN,
    "baseline": Attack(
        # a bundle is never written over another: the second start is made only where there is none
        ("sh", "-c", "test -e '{here}/gpu.zip' || TMPDIR='{here}/tmp' exec \"$0\" \"$@\"")
        + (sys.executable, "-m", "ascend_workbook", *BASELINE, "--out", "{here}/gpu.zip", str(TINY)),
        lambda here: (here / "tmp").mkdir(),
        check_archive,
        check_no_half_archive,
        env=UNGUARDED,
    ),
    "settings": Attack(
        (
            *("ascend-workbook", "check", "--no-compute", "--save", "{here}/s.json"),
            *("--json", "{here}/o.json", "--html", "{here}/o.html"),
        ),
        lambda here: None,
        check_settings,
        check_no_half_settings,
    ),
    "grade": Attack(
        ("ascend-workbook", "course", "grade", "{here}/in", "--out", "{here}/grades.csv"),
        hand_in,
        check_grades,
        check_no_half_grade,
        ("in/*",),
    ),
}
#: How many points of each, for a kill and for a fault of the disk
MOST = {"run": (24, 10), "plan": (20, 8), "baseline": (10, 5), "settings": (6, 4), "grade": (12, 6)}


@pytest.mark.full
@pytest.mark.parametrize("fault", FAULTS[1:])
@pytest.mark.parametrize("name", ATTACKS)
def test_cut_off(tmp_path: Path, name: str, fault: str) -> None:
    hits = attack_points(ATTACKS[name], tmp_path, fault, MOST[name][fault in DISKS])
    print(f"{name}: {hits} points hit by {fault}")

"""`capture`, `compare` and `verify` are cut off, or meet a full or broken disk, at each thing that they write."""

from __future__ import annotations

import atexit
import csv
import json
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.sandbox import GUARD_VARIABLE
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.capturing.manifest import choose_folder
from ascend_workbook.precision.compare import compare
from tests.faults.points import DISKS, KILLS, Attack, attack_points
from tests.precision.dumps import Dump

DATA = Path(__file__).parent / "data"
STEPS = ("--device", "cpu", "--steps", "2", "--no-estimate", "--task", "fingerprints")
#: Within name spaces a child has a layer of its own, and so what it writes could not be counted.
UNGUARDED = {GUARD_VARIABLE: "none"}


def check_capture(here: Path) -> None:
    """Whole, and as its manifest says; nothing half stands beside it."""
    about = manifest.load_manifest(here / "out")
    assert about is not None and about.complete and not about.changed_files(), about
    assert about.sides["rank0"]["status"] == "stopped_after" and len(about.sides["rank0"]["batches"]) == 2
    assert not list((here / "out").rglob("*.part"))


def check_not_half(here: Path) -> None:
    """What calls itself complete is; anything else is refused by `compare`."""
    about = manifest.load_manifest(here / "out")
    if about is not None and about.complete:
        check_capture(here) if not (here / "out" / manifest.UNFINISHED).exists() else None
    elif (here / "out").is_dir():
        with pytest.raises((WorkbookError, OSError)):
            compare(here / "out", here / "out", replaying=False)


@cache
def earlier(task: str) -> Path:
    """A whole capture, made once."""
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    options = {"device": "cpu", "steps": 2, "estimate": False, "task": task}
    capture(DATA / "tiny_net.py", out=folder / task, **options)  # type: ignore[arg-type]
    return folder / task


def capture_again(here: Path) -> None:
    shutil.copytree(earlier("fingerprints"), here / "out")


def make_two_dumps(here: Path) -> None:
    values = torch.arange(12.0).reshape(3, 4)
    for name, last in (("a", 1.0), ("b", 1.01)):
        dump = Dump(here / name)
        dump.forward("Functional.relu", [values], [values])
        dump.forward("Functional.linear", [values, values], [values @ values.T * last])
        dump.save()


def check_comparison(here: Path) -> None:
    """Each file that was asked for is whole and tells the same."""
    facts = json.loads((here / "o.json").read_text(encoding="utf-8"))["facts"]
    assert facts["first_divergence"] == "Functional.linear.0.forward"
    assert (here / "o.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert ET.parse(here / "o.xml").getroot().tag == "testsuites"
    rows = list(csv.reader((here / "o.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 6 and len({len(row) for row in rows}) == 1
    check_no_half_output(here)
    assert facts["attempt"] == len(list((here / "run" / "attempts").glob("*.json")))


def check_no_half_output(here: Path) -> None:
    """A file with a final name is whole; of the attempts none is unreadable."""
    if (here / "o.json").exists():
        assert json.loads((here / "o.json").read_text(encoding="utf-8"))["verb"] == "compare"
    if (here / "o.html").exists():
        assert (here / "o.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    if (here / "o.xml").exists():
        ET.parse(here / "o.xml")
    for path in (here / "run").rglob("*.json"):
        assert not path.stat().st_size or json.loads(path.read_text(encoding="utf-8"))["first"]


MODELS = """
import torch

def model():
    torch.manual_seed(0)
    return torch.nn.Linear(4, 4)

def inputs():
    return [torch.ones(2, 4), torch.zeros(3, 4)]
"""


def make_models(here: Path) -> None:
    (here / "tmp").mkdir()
    (here / "models.py").write_text(MODELS)


def check_verification(here: Path) -> None:
    facts = json.loads((here / "o.json").read_text(encoding="utf-8"))["facts"]
    assert (facts["inputs"], facts["passed"]) == (2, 2)


def check_no_half_report(here: Path) -> None:
    if (here / "o.json").exists():
        check_verification(here)


OUTPUTS = ("--json", "{here}/o.json", "--html", "{here}/o.html", "--junit", "{here}/o.xml", "--csv", "{here}/o.csv")
MODEL, INPUTS = "{here}/models.py:model", "{here}/models.py:inputs"
VERIFY = (
    "verify",
    MODEL,
    MODEL,
    "--inputs",
    INPUTS,
    "--device-a",
    "cpu",
    "--device-b",
    "cpu",
    "--json",
    "{here}/o.json",
)
FIRST = Attack(
    ("ascend-workbook", "capture", *STEPS, "--out", "{here}/out", str(DATA / "tiny_net.py")),
    lambda here: None,
    check_capture,
    check_not_half,
    env=UNGUARDED,
)
ATTACKS = {
    "capture": FIRST,
    "capture again": Attack(FIRST.words, capture_again, check_capture, check_not_half, env=UNGUARDED),
    "compare": Attack(
        ("ascend-workbook", "compare", "{here}/a", "{here}/b", "--no-replay", "--attempts", "{here}/run", *OUTPUTS),
        make_two_dumps,
        check_comparison,
        check_no_half_output,
        ("a/**/*", "b/**/*"),
        good=(1,),
        refused=(2,),
    ),
    "verify": Attack(
        ("env", "TMPDIR={here}/tmp", sys.executable, "-m", "ascend_workbook", *VERIFY),
        make_models,
        check_verification,
        check_no_half_report,
        ("models.py",),
        env=UNGUARDED,
    ),
}
#: How many points of each, for kills and for faults of the disk
MOST = {"capture": (12, 6), "capture again": (10, 4), "compare": (14, 8), "verify": (10, 5)}


def run_attack(name: str, root: Path, fault: str, most: int) -> None:
    hits = attack_points(ATTACKS[name], root, fault, most)
    print(f"{name}: {hits} points hit by {fault}")


@pytest.mark.full
@pytest.mark.parametrize("fault", KILLS)
@pytest.mark.parametrize("name", ATTACKS)
def test_cut_off(tmp_path: Path, name: str, fault: str) -> None:
    run_attack(name, tmp_path, fault, MOST[name][0])


@pytest.mark.full
@pytest.mark.parametrize("fault", DISKS)
@pytest.mark.parametrize("name", ATTACKS)
def test_disk(tmp_path: Path, name: str, fault: str) -> None:
    run_attack(name, tmp_path, fault, MOST[name][1])


@pytest.mark.parametrize("fault", [KILLS[0], DISKS[0]])
def test_a_comparison_loses_nothing(tmp_path: Path, fault: str) -> None:
    """The shortest of them, at few points."""
    run_attack("compare", tmp_path, fault, 3)


CUTS: dict[str, Callable[[Path, Path], None]] = {
    "before the old one was taken away": lambda new, old: None,
    "when nothing was moved": lambda new, old: shutil.rmtree(old / manifest.DUMP),
    "when the dump was moved": lambda new, old: (new / "side.rank0.json").replace(old / "side.rank0.json") and None,
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_capture_whose_replacing_was_cut_off_is_not_lost(tmp_path: Path, cut: str) -> None:
    """Neither one is taken for whole meanwhile, and the next capture puts the newer one in its place first."""
    old, new = tmp_path / "out", tmp_path / "out" / manifest.UNFINISHED
    sides = {"rank0": {"iterations": [0]}}
    for folder, seed in ((old, 1), (new, 2)):
        (folder / manifest.DUMP).mkdir(parents=True)
        (folder / manifest.DUMP / "dump.json").write_text(str(seed))
        (folder / "side.rank0.json").write_text(str(seed))
        about = {"tier": "cpu", "root": "r", "script": "s.py", "args": [], "seed": seed}
        manifest.Manifest(folder, True, about, manifest.list_files(folder), sides).write_file()
    if cut != "before the old one was taken away":
        manifest.Manifest(old, False, {}).write_file()
    CUTS[cut](new, old)
    if cut != "before the old one was taken away":
        with pytest.raises(WorkbookError, match="(?i)complete|killed"):
            compare(old, old)
    target = choose_folder(old, {"tier": "cpu", "root": "r", "script": "s.py", "args": []}, force=False)
    there = manifest.load_manifest(old)
    assert there is not None and there.complete and there.about["seed"] == 2 and not there.changed_files()
    assert (old / "side.rank0.json").read_text() == "2" and target == new and list(new.iterdir()) == []

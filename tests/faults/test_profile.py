"""`profile` and `analyse` are cut off at each thing that they write: nobody is left, nothing half is taken as good."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.faults.points import DISKS, FAULTS, KILLS, Attack, attack_points

TRACE = ROOT / "tests" / "data" / "profiling" / "cuda.pt.trace.json"
SCRIPT = """
import torch

model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.DataLoader(torch.ones(64, 8), batch_size=4, num_workers=1)
for batch in data:
    optimizer.zero_grad()
    model(batch.cuda()).sum().backward()
    optimizer.step()
"""


def prepare_trace(here: Path) -> None:
    shutil.copy(TRACE, here / "a.pt.trace.json")


def check_files(here: Path) -> None:
    report = json.loads((here / "o.json").read_text(encoding="utf-8"))
    assert report["verb"] == "analyse" and report["parts"]
    for name, begin in (("o.html", "<!doctype html>"), ("t.html", "<!doctype html>"), ("flame.txt", "host;")):
        assert (here / name).read_text(encoding="utf-8").lower().startswith(begin), name
    events = json.loads((here / "p.json").read_text(encoding="utf-8"))["traceEvents"]
    assert len(events) > 80


def check_whole_or_absent(here: Path) -> None:
    """A file under its final name is whole whenever the command dies."""
    for name, end in (
        ("o.json", "}"),
        ("o.html", "</html>"),
        ("t.html", "</html>"),
        ("p.json", "]}"),
        ("flame.txt", ""),
    ):
        path = here / name
        assert not path.exists() or path.read_text(encoding="utf-8").rstrip().endswith(end), name


ANALYSE = Attack(
    (
        *("ascend-workbook", "analyse", "{here}/a.pt.trace.json", "--json", "{here}/o.json", "--html", "{here}/o.html"),
        *("--timeline", "{here}/t.html", "--perfetto", "{here}/p.json", "--flame", "{here}/flame.txt"),
    ),
    prepare_trace,
    check_files,
    check_whole_or_absent,
    originals=("a.pt.trace.json",),
)


def prepare_script(here: Path) -> None:
    (here / "train.py").write_text(SCRIPT, encoding="utf-8")


def check_profile(here: Path) -> None:
    record = json.loads((here / "out" / "data" / "collected.json").read_text(encoding="utf-8"))
    assert record["status"] == "complete"
    assert any((here / "out" / "data").glob("rank0*"))


def check_no_half_profile(here: Path) -> None:
    """What was cut off does not say that it is complete, unless it is."""
    path = here / "out" / "data" / "collected.json"
    if path.exists() and json.loads(path.read_text(encoding="utf-8"))["status"] == "complete":
        check_profile(here)


def profile_on(device: str) -> Attack:
    words = ("ascend-workbook", "profile", "--device", device, "--steps", "2", "--out", "{here}/out", "{here}/train.py")
    return Attack(words, prepare_script, check_profile, check_no_half_profile, originals=("train.py",))


@pytest.mark.parametrize("fault", FAULTS[1:])
@pytest.mark.parametrize("most", [2, pytest.param(13, marks=pytest.mark.full)])
def test_analyse(tmp_path: Path, fault: str, most: int) -> None:
    attack_points(ANALYSE, tmp_path, fault, most)


@pytest.mark.full
@pytest.mark.parametrize("device", ["cpu", "npu-simulated"])
@pytest.mark.parametrize(("fault", "most"), [*((kill, 10) for kill in KILLS), *((disk, 5) for disk in DISKS)])
def test_profile(tmp_path: Path, device: str, fault: str, most: int) -> None:
    attack_points(profile_on(device), tmp_path, fault, most)

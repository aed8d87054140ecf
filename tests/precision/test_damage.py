"""Damaged and hostile dumps: each is one clear finding, the rest is compared, nothing in a file is ever run."""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any, Callable

import pytest
import torch

from ascend_workbook import storage
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.precision.compare import compare
from ascend_workbook.precision.tensors import workers
from tests.precision.networks import convolutions
from tests.precision.test_compare import scaled

FAULT = "Functional.conv2d.1.forward"
TENSOR = "Functional.relu.1.forward.output.0.pt"
NOISE = random.Random(0).randbytes(3000)


class Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch harmed",)


def hostile(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", pickle.dumps(Harm(), protocol=2))


def legacy(path: Path) -> None:
    path.write_bytes(pickle.dumps(Harm()))


def compressed(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, bytes(1 << 20) if name.endswith("data/0") else data)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


TENSORS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:400]), "not a zip"),
    "missing": (lambda path: path.unlink(), "No such file"),
    "of no bytes": (lambda path: path.write_bytes(b""), "not a zip"),
    "random bytes": (lambda path: path.write_bytes(NOISE), "not a zip"),
    "hostile pickle": (hostile, "refused: the file names"),
    "hostile, as torch saved before 1.6": (legacy, "not a zip"),
    "other shape": (lambda path: torch.save(torch.ones(3), path), "dump.json says"),
    "several tensors": (lambda path: torch.save({"a": torch.ones(3)}, path), "not one plain tensor"),
    "a compressed bomb": (compressed, "compressed"),
    "a folder": (folder, "not a regular file"),
}


def spoiled(key: str, value: Any) -> Callable[[Path], Any]:
    """dump.json with one tensor's entry changed."""

    def change(path: Path) -> None:
        content = json.loads(path.read_text())
        content["data"]["Functional.relu.1.forward"]["output"][0][key] = value
        path.write_text(json.dumps(content))

    return change


FILES: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "dump.json half written": ("dump.json", lambda path: path.write_text(path.read_text()[:-900]), "cut short"),
    "dump.json cut in its first entry": ("dump.json", lambda path: path.write_text(path.read_text()[:300]), "damaged"),
    "dump.json missing": ("dump.json", lambda path: path.unlink(), "cannot be read"),
    "dump.json random bytes": ("dump.json", lambda path: path.write_bytes(NOISE), "cannot be read"),
    "dump.json says NaN": ("dump.json", lambda path: path.write_text("NaN"), "not a dump"),
    "a shape of NaN": ("dump.json", spoiled("shape", [float("nan")]), "not a dump"),
    "nested too deep": ("dump.json", lambda path: path.write_text('{"a":' * 100_000), "cannot be read"),
    "a path out of the folder": ("dump.json", spoiled("data_name", "../../../../etc/passwd"), "leaves the folder"),
    "stack.json half written": ("stack.json", lambda path: path.write_text(path.read_text()[:-9]), "cut short"),
    "stack.json of another shape": ("stack.json", lambda path: path.write_text("[1]"), "not a dump"),
    "construct.json random bytes": ("construct.json", lambda path: path.write_bytes(NOISE), "cannot be read"),
    "construct.json of another shape": ("construct.json", lambda path: path.write_text("3"), "not a dump"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks; the second has a fault that must be found whatever happens to the first."""
    folder = tmp_path_factory.mktemp("whole")
    for rank in ("rank0", "rank1"):
        convolutions(folder / "a", rank=rank)
        convolutions(folder / "b", rank=rank, faults={FAULT: scaled(1.2)} if rank == "rank1" else {})
    return folder


@pytest.fixture
def sides(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A copy to be damaged."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "a", tmp_path / "b"


def rest_is_compared(report: Any) -> None:
    assert report.status is Status.FIX and report.facts["first_divergence"] == FAULT
    assert 1 in report.table.column_values("rank") and not Path("harmed").exists()
    assert json.loads(report.to_json()) and report.text("zh")


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("case", TENSORS)
def test_a_broken_tensor(sides: tuple[Path, Path], case: str, side: int) -> None:
    change, said = TENSORS[case]
    change(sides[side] / "step0" / "rank0" / "dump_tensor_data" / TENSOR)
    report = compare(*sides, replaying=False)
    (told,) = (one for one in report.findings if one.key == "ACC215.unreadable")
    # relu's output is read as the input of the next operator too, from a file of its own
    assert told.args["count"] == 1 and TENSOR in str(told.args["first"]) and said in str(told.args["first"])
    rest_is_compared(report)


@pytest.mark.parametrize("case", FILES)
def test_a_broken_file_of_a_rank(sides: tuple[Path, Path], case: str) -> None:
    name, change, said = FILES[case]
    path = sides[1] / "step0" / "rank0" / name
    change(path)
    report = compare(*sides, replaying=False)
    (told,) = (one for one in report.findings if one.rule == "ACC202")
    assert str(path) in told.message("en") and said in told.message("en") and told.status is Status.FIX
    whole_entries = name != "dump.json" or told.key == "precision.json_salvaged"
    assert (0 in report.table.column_values("rank")) == whole_entries  # type: ignore[union-attr]
    rest_is_compared(report)


def test_other_rank_counts(sides: tuple[Path, Path], tmp_path: Path) -> None:
    convolutions(tmp_path / "b", rank="rank2")
    report = compare(*sides, replaying=False)
    (told,) = (one for one in report.findings if one.key == "ACC201.one_sided")
    assert told.args["where"] == ["step 0 rank 2"]
    (ranks,) = (one for one in report.findings if one.key == "ACC201.ranks")
    assert ranks.args == {"baseline": [0, 1], "target": [0, 1, 2]} and ranks.status is Status.LOOK
    rest_is_compared(report)


def test_a_rank_that_neither_side_has(sides: tuple[Path, Path]) -> None:
    """And a run without a process group beside one with: its only process is rank 0."""
    for side in sides:
        (side / "step0" / "rank1").rename(side / "step0" / "rank2")
    (sides[0] / "step0" / "rank0").rename(sides[0] / "step0" / "proc77")
    report = compare(*sides, replaying=False)
    (gap,) = (one for one in report.findings if one.key == "ACC201.gap")
    assert gap.args["ranks"] == [1] and not {"ACC201.ranks", "ACC201.one_sided"} & {one.key for one in report.findings}
    assert report.facts["first_divergence"] == FAULT


def test_several_processes_of_one_rank(sides: tuple[Path, Path]) -> None:
    shutil.copytree(sides[1] / "step0" / "rank0", sides[1] / "step0" / "proc5")
    report = compare(*sides, replaying=False)
    (told,) = (one for one in report.findings if one.rule == "ACC202")
    assert told.key == "precision.same_rank" and "proc5" in told.message("en") and told.status is Status.FIX
    assert 0 not in report.table.column_values("rank")  # type: ignore[union-attr]
    rest_is_compared(report)


def test_a_cut_dump_is_compared_up_to_the_cut(sides: tuple[Path, Path]) -> None:
    """Operators run again or not: what came after the cut is not called a difference of the runs."""
    path = sides[1] / "step0" / "rank0" / "dump.json"
    path.write_text(path.read_text()[: len(path.read_text()) // 2])
    report = compare(*sides)
    (told,) = (one for one in report.findings if one.key == "precision.json_salvaged")
    count = told.args["count"]
    assert isinstance(count, int) and 3 < count < 18 and f"the {count} entries" in told.message("en")
    (alone,) = (one for one in report.findings if one.key == "ACC210.only")
    assert "the other side's record is damaged there" in alone.message("en")
    assert alone.args["count"] == 18 - count
    rest_is_compared(report)


def test_a_folder_full_of_random_bytes(sides: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("dump.json", "stack.json", "x.pt", "step0"):
        (tmp_path / "noise" / "step0" / "rank0").mkdir(parents=True, exist_ok=True)
        (tmp_path / "noise" / "step0" / "rank0" / name).write_bytes(NOISE)
    with pytest.raises(WorkbookError, match=r"noise.*dump\.json: cannot be read"):
        compare(sides[0], tmp_path / "noise")
    (tmp_path / "noise" / "step0").rename(tmp_path / "noise" / "other")
    with pytest.raises(WorkbookError, match=r"noise: no tensor dump .*found: other/"):
        compare(sides[0], tmp_path / "noise")


@pytest.mark.parametrize("kind", ["csv", "html", "json", "junit"])
def test_a_full_disk(
    sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """The file that was there stays, nothing half-written is left beside it, and it is said in words."""
    name = f"out.{kind}"
    Path(name).write_text("old")

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)

    monkeypatch.setattr(storage.os, "fdopen", full)
    code = main(["compare", str(sides[0]), str(sides[1]), "--no-replay", f"--{kind}", name])
    assert code == 2 and name in capsys.readouterr().err and Path(name).read_text() == "old"
    assert not list(Path().glob(f".{name}*"))


def test_tensors_without_elements_agree_and_the_rest_is_compared(sides: tuple[Path, Path]) -> None:
    for side in sides:
        torch.save(torch.ones(0, 6), side / "step0" / "rank0" / "dump_tensor_data" / TENSOR)
        spoiled("shape", [0, 6])(side / "step0" / "rank0" / "dump.json")
    report = compare(*sides, replaying=False)
    assert "ACC215.unreadable" not in {one.key for one in report.findings}
    rest_is_compared(report)


def test_workers_that_die(sides: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair is measured by a worker; the one that reads a certain file dies each time."""
    ask = workers.Worker.request_answers

    def dying(self: workers.Worker, jobs: Any, sample: Any, *rest: Any) -> Any:
        if any(job.target.name == TENSOR and "rank0" in str(job.target) for job in jobs):
            self.process.kill()
        return ask(self, jobs, sample, *rest)

    monkeypatch.setattr(workers, "ALONE", 0)
    monkeypatch.setattr(workers.Worker, "request_answers", dying)
    report = compare(*sides, replaying=False)
    (told,) = (one for one in report.findings if one.key == "ACC215.unreadable")
    assert told.args["count"] == 1 and TENSOR in str(told.args["first"]) and "ended" in str(told.args["first"])
    rest_is_compared(report)
    workers.dismiss_workers()

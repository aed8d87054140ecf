"""Captures and verifications of code that would harm: nothing of the user changes; the report says what it tried."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import sandbox
from ascend_workbook.precision.baselines.packing import pack_capture
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.capturing.manifest import hold_folder
from ascend_workbook.precision.verify import verify
from tests.conftest import ROOT

SCRIPT = Path(__file__).parent / "data" / "tiny_net.py"
MODELS = """
import pathlib
import torch

def model():
    {harm}
    torch.manual_seed(0)
    return torch.nn.Linear(4, 4)

def inputs():
    return [torch.ones(2, 4)]
"""

with_name_spaces = pytest.mark.skipif(
    sandbox.find_guard() != sandbox.NAMESPACES, reason="this machine allows no name spaces"
)


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of the user's, beside a folder for what he asks for."""
    path = tmp_path / "elsewhere" / "weights.pt"
    path.parent.mkdir()
    path.write_text("mine")
    return path


@pytest.fixture
def guard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The guard of this name, while the test runs."""
    monkeypatch.setenv(sandbox.GUARD_VARIABLE, request.param)
    sandbox.find_guard.cache_clear()
    yield request.param
    sandbox.find_guard.cache_clear()


def take(tmp_path: Path, harm: str, **options: object) -> Report:
    script = tmp_path / "repository" / "train.py"
    script.parent.mkdir()
    script.write_text(f"import pathlib, socket\n{harm}\n{SCRIPT.read_text()}")
    chosen = {"device": "cpu", "task": "fingerprints", "estimate": False, **options}
    return capture(script, out=tmp_path / "out", **chosen)  # type: ignore[arg-type]


def keys_of(report: Report) -> dict[str, Status]:
    return {finding.key: finding.status for finding in report.findings if finding.rule == "ACC219"}


@with_name_spaces
def test_what_a_script_deletes_and_leaves_behind_is_told_and_nothing_of_it_happened(
    tmp_path: Path, precious: Path
) -> None:
    beside = tmp_path / "repository" / "checkpoint.pt"
    harm = f"pathlib.Path({str(precious)!r}).unlink(); pathlib.Path({str(beside)!r}).write_text('x')"
    report = take(tmp_path, harm)
    assert precious.read_text() == "mine" and not beside.exists()
    assert keys_of(report) == {"ACC219.guard": Status.GOOD, "ACC219.tried": Status.LOOK}
    tried = next(finding for finding in report.findings if finding.key == "ACC219.tried").message("en")
    assert f"{precious} (deleted)" in tried
    about = manifest.load_manifest(tmp_path / "out")
    assert about is not None and about.complete and (tmp_path / "out" / "output.log").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [], "the layers are gone"


@with_name_spaces
def test_the_dump_arrives_from_a_folder_whose_name_msprobe_refuses(tmp_path: Path) -> None:
    report = capture(SCRIPT, out=tmp_path / "采集 a b", device="cpu")
    about = manifest.load_manifest(tmp_path / "采集 a b")
    assert about is not None and not about.changed_files() and len(about.files) > 10
    assert keys_of(report) == {"ACC219.guard": Status.GOOD}


def test_what_the_script_printed_is_marked_as_its_own(tmp_path: Path) -> None:
    take(tmp_path, "print('token=abc')", enclosed=False)
    printed = json.loads((tmp_path / "out" / "capture.json").read_text())["user_output"]
    assert printed == ["output.log"] and "token=abc" in (tmp_path / "out" / printed[0]).read_text()
    assert not any("output" in name or b"token=abc" in data for name, data in pack_capture(tmp_path / "out").items())


def test_a_script_that_is_not_enclosed_keeps_its_results(tmp_path: Path) -> None:
    beside = tmp_path / "checkpoint.pt"
    report = take(tmp_path, f"pathlib.Path({str(beside)!r}).write_text('x')", enclosed=False)
    assert beside.read_text() == "x" and keys_of(report) == {}


@with_name_spaces
def test_a_capture_that_fails_for_want_of_the_network_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as failure:
        take(tmp_path, "socket.create_connection(('192.0.2.1', 80), 2)")
    assert failure.value.key == "precision.network_refused" and "--network" in failure.value.hint("en")


@pytest.mark.parametrize("guard", ["none"], indirect=True)
def test_without_a_guard_it_is_said_before_and_after(tmp_path: Path, guard: str) -> None:
    said: list[str] = []
    report = take(tmp_path, "", progress=said.append)
    assert keys_of(report) == {"ACC219.guard": Status.NOTE}
    assert "is not enclosed" in said[0] and "copy" not in said[0] + report.text("en")


@pytest.mark.skipif(sandbox.find_guard() == sandbox.NONE, reason="this machine has no Landlock")
@pytest.mark.parametrize("guard", ["landlock"], indirect=True)
def test_landlock_refuses_a_write_and_the_error_names_the_way_out(tmp_path: Path, precious: Path, guard: str) -> None:
    said: list[str] = []
    with pytest.raises(WorkbookError) as failure:
        take(tmp_path, f"pathlib.Path({str(precious)!r}).write_text('gone')", progress=said.append)
    assert precious.read_text() == "mine"
    assert failure.value.key == "precision.write_refused" and "ASCEND_WORKBOOK_GUARD=none" in failure.value.hint("en")
    assert "no name spaces" in said[0]


@with_name_spaces
def test_verify_runs_both_sides_enclosed(tmp_path: Path, precious: Path) -> None:
    models = tmp_path / "models.py"
    models.write_text(MODELS.format(harm=f"pathlib.Path({str(precious)!r}).unlink(missing_ok=True)"))
    report = verify(f"{models}:model", f"{models}:model", f"{models}:inputs", device_a="cpu", device_b="cpu")
    assert report.facts["passed"] == 1 and precious.read_text() == "mine"
    assert keys_of(report) == {"ACC219.guard": Status.GOOD, "ACC219.tried": Status.LOOK}


@pytest.mark.parametrize("guard", ["none"], indirect=True)
def test_verify_without_a_guard_says_so_before(tmp_path: Path, guard: str) -> None:
    models, said = tmp_path / "models.py", list[str]()
    models.write_text(MODELS.format(harm="pass"))
    place = f"{models}:model"
    report = verify(place, place, f"{models}:inputs", device_a="cpu", device_b="cpu", progress=said.append)
    assert "is not enclosed" in said[0] and keys_of(report) == {"ACC219.guard": Status.NOTE}


def test_a_second_capture_into_one_folder_is_refused_before_it_touches_anything(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with hold_folder(out):
        (out / "capture.json").write_text("as it was")
        with pytest.raises(WorkbookError) as refusal:
            capture(SCRIPT, out=out, device="cpu", task="fingerprints")
        assert refusal.value.key == "precision.in_use" and str(out) in refusal.value.message("en")
        assert [path.name for path in out.iterdir()] == ["capture.json"]
        assert (out / "capture.json").read_text() == "as it was"
    with hold_folder(out):  # given back
        pass


def test_a_killed_capture_leaves_no_lock(tmp_path: Path) -> None:
    code = "import sys, time; from ascend_workbook.precision.capturing.manifest import hold_folder\n"
    code += "with hold_folder(__import__('pathlib').Path(sys.argv[1])):\n    print(flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT)
    assert holder.stdout is not None and holder.stdout.readline()
    with pytest.raises(WorkbookError), hold_folder(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with hold_folder(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with hold_folder(tmp_path / "nfs"):
        assert (tmp_path / "nfs").is_dir()


@with_name_spaces
@pytest.mark.full
def test_what_the_enclosure_costs(tmp_path: Path) -> None:
    """Not more than seconds, whatever the script: figures are printed."""
    seconds = {}
    for enclosed in (True, False):
        began = time.monotonic()
        capture(SCRIPT, out=tmp_path / str(enclosed), device="cpu", task="fingerprints", enclosed=enclosed)
        seconds[enclosed] = time.monotonic() - began
    print(seconds)
    assert seconds[True] < 3 * seconds[False] + 10

"""The boot file in its own process: work, transfers, exit codes, signals; and what must not happen silently."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.modelarts import boot, imitation, work
from ascend_workbook.modelarts.mark import Mark
from ascend_workbook.storage.transfer import upload
from tests.conftest import ROOT
from tests.storage.conftest import Service, server, service

__all__ = ["server", "service"]  # fixtures of the storage's own tests


def start(tmp_path: Path, *parameters: str, variables: dict[str, str] | None = None) -> subprocess.Popen[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ASCEND_WORKBOOK_LANG": "en", **(variables or {})}
    disk = tmp_path / "disk"
    disk.mkdir(exist_ok=True)
    command = [sys.executable, str(ROOT / "modelarts_job.py"), f"--scratch={disk}", *parameters]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def script(tmp_path: Path, text: str) -> str:
    """A training script that torchrun would start, started as the one rank that the platform made."""
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    return f"--script={path}"


RANK = {
    "MA_VJ_NAME": "j",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}


@pytest.mark.parametrize(
    ("text", "code"),
    [("open('result', 'w').write('1')", 0), ("raise SystemExit(1)", 1), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_exit_code_is_the_works(tmp_path: Path, text: str, code: int) -> None:
    process = start(tmp_path, script(tmp_path, text), f"--train_url={tmp_path / 'out'}", variables=RANK)
    said = process.communicate(timeout=60)[0]
    assert process.returncode == code, said
    assert (tmp_path / "out" / "result").exists() is (code == 0) and f"ended with {code}" in said


def test_a_job_that_is_stopped_hands_it_on_and_says_so(tmp_path: Path) -> None:
    ready = tmp_path / "out" / "ready"
    text = f"import pathlib, time\npathlib.Path({str(ready)!r}).write_text('')\ntime.sleep(60)"
    process = start(tmp_path, script(tmp_path, text), f"--train_url={tmp_path / 'out'}", variables=RANK)
    end = time.monotonic() + 30
    while not ready.exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=30)[0]
    assert process.returncode == 128 + signal.SIGTERM and "ended with 143" in said


def test_a_host_without_a_lead_is_not_green(tmp_path: Path) -> None:
    """Cards 4 and 5 alone: nobody is card 0, so nobody works, and the job must not end well."""
    variables = {**imitation.job_starts("rtf", 1, 8, tmp_path)[4].variables}
    process = start(tmp_path, "--wait_for_lead=0.3", "--command=scan x.py", variables=variables)
    said = process.communicate(timeout=30)[0]
    assert process.returncode == 2 and "no process of this host has begun" in said
    with Mark.for_job(work.choose_scratch(variables, str(tmp_path / "disk")).folder, variables).hold_folder():
        process = start(tmp_path, "--wait_for_lead=0.3", "--command=scan x.py", variables=variables)
        assert process.communicate(timeout=30)[0].count("\n") == 2 and process.returncode == 0


@pytest.mark.parametrize(("method", "name"), [("torchrun", ""), ("rtf", "j")])
def test_the_lead_of_an_earlier_job_is_none(tmp_path: Path, method: str, name: str) -> None:
    """Same host, same rank table, same names: it ended before this process was started, however shortly."""
    variables = {**imitation.job_starts(method, 1, 8, tmp_path)[4].variables, "MA_VJ_NAME": name}
    (tmp_path / "disk").mkdir()
    mark = Mark.for_job(work.choose_scratch(variables, str(tmp_path / "disk")).folder, variables)
    with mark.hold_folder():
        assert mark.wait_for_lead(0)
    assert mark.wait_for_lead(0), "it has ended in this process's time"
    process = start(tmp_path, "--wait_for_lead=0.3", "--command=scan x.py", variables=variables)
    assert "no process of this host has begun" in process.communicate(timeout=30)[0] and process.returncode == 2


def test_a_lead_that_died_or_is_another_jobs_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_workbook.modelarts.mark.PATIENCE_S", 0.0)
    monkeypatch.setattr("ascend_workbook.modelarts.mark.CLEARING_S", 0.0)
    mark = Mark.for_job(tmp_path, {"MA_VJ_NAME": "j"})
    with pytest.raises(RuntimeError), mark.hold_folder():
        raise RuntimeError
    assert not mark.wait_for_lead(0)
    with mark.hold_folder():
        assert mark.wait_for_lead(0) and not Mark.for_job(tmp_path, {"MA_VJ_NAME": "k"}).wait_for_lead(0)
        for shared in (False, True):
            with (
                pytest.raises(WorkbookError) as raised,
                Mark.for_job(tmp_path, {"MA_VJ_NAME": "k"}).hold_folder(shared=shared),
            ):
                pass
            assert raised.value.key == "modelarts.taken"


def test_what_an_earlier_job_left_is_not_this_jobs(tmp_path: Path) -> None:
    for name in ("data", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "old").write_text(name)
    mark = Mark.for_job(tmp_path, {})
    with mark.hold_folder() as left:
        assert left == ["data", "out"] and not (tmp_path / "data").exists() and not (tmp_path / "out").exists()
    assert [path.read_text() for path in tmp_path.glob("out-*/old")] == ["out"], "results nobody took are kept"


def test_ranks_of_a_job_share_what_the_first_of_them_cleared(tmp_path: Path) -> None:
    mark = Mark.for_job(tmp_path, {"MASTER_PORT": "1"})
    with mark.hold_folder(shared=True):
        (tmp_path / "data").mkdir()
        with mark.hold_folder(shared=True) as left:
            assert not left and (tmp_path / "data").exists()


def test_scratch_is_what_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "CACHE", str(tmp_path / "none"))
    found = work.choose_scratch({"MA_LOG_DIR": str(tmp_path), "MA_VJ_NAME": "modelarts-job-1"})
    assert (found.folder, found.source) == (tmp_path / "ascend-workbook-modelarts-job-1", "MA_LOG_DIR")
    assert (
        work.choose_scratch({"MA_LOG_DIR": str(tmp_path), "MA_VJ_NAME": "../evil"}).folder.name == "ascend-workbook-job"
    )
    with pytest.raises(WorkbookError) as raised:
        work.choose_scratch({}, str(tmp_path / "none"))
    assert raised.value.key == "modelarts.scratch"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (["--command=scan 'x"], "taken apart"),
        (["--script=t.py", "--command=scan x"], "both"),
        (["--data_url=/none/here", "--command=scan x.py"], "no data at /none/here"),
        (["--setup=never", "--command=run --name x"], "forbids"),
    ],
)
def test_what_cannot_go_on_is_said_and_ends_with_2(
    tmp_path: Path,
    parameters: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "missing_packages", lambda verb: ["papermill"] if verb.startswith("run") else [])
    assert boot.main([*parameters, f"--scratch={tmp_path}"], {}) == 2
    written = capsys.readouterr()
    assert said in written.err and "next step" in written.err


def test_parameters_of_the_platform_are_named_not_swallowed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert boot.main(["--num_gpus=8", "--dry_run", "--command=scan x", f"--scratch={tmp_path}"], {}) == 0
    assert "--num_gpus" in capsys.readouterr().out


class Bucket:
    """ModelArts' moxing, as far as it is used, over a folder."""

    def __init__(self, folder: Path, loses: str = "") -> None:
        self.folder, self.loses = folder, loses

    def copy_parallel(self, source: str, target: str) -> None:
        here, there = (self.folder / one[6:] if one.startswith("obs:") else Path(one) for one in (source, target))
        for path in here.rglob("*"):
            if path.is_file() and path.name != self.loses:
                aim = there / path.relative_to(here)
                aim.parent.mkdir(parents=True, exist_ok=True)
                aim.write_bytes(path.read_bytes())

    def list_directory(self, place: str, recursive: bool = False) -> list[str]:
        root = self.folder / place[6:]
        return [path.relative_to(root).as_posix() for path in root.rglob("*")]


def test_moxing_brings_and_takes_where_it_is_the_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket = tmp_path / "bucket" / "in"
    bucket.mkdir(parents=True)
    (bucket / "a.txt").write_text("1")
    monkeypatch.setitem(sys.modules, "moxing", SimpleNamespace(file=Bucket(tmp_path), __spec__=SimpleNamespace()))
    brought = work.bring_data("obs://bucket/in", tmp_path / "data")
    assert (brought / "a.txt").read_text() == "1"
    assert work.send_results(brought, "obs://bucket/out") == 1 and (tmp_path / "bucket" / "out" / "a.txt").exists()
    (brought / "npu").mkdir()
    for name in ("npu/output.log", ".env"):
        (brought / name).write_text("token=planted")
    (brought / "link").symlink_to("/etc/hostname")
    assert work.send_results(brought, "obs://bucket/more") == 1 and "npu/output.log" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "bucket" / "more").iterdir()] == ["a.txt"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".sending")] == []
    with pytest.raises(WorkbookError) as nothing:
        work.bring_data("obs://bucket/none", tmp_path / "data2")
    assert nothing.value.key == "modelarts.no_data"
    lossy = SimpleNamespace(file=Bucket(tmp_path, loses="a.txt"), __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "moxing", lossy)
    with pytest.raises(WorkbookError) as raised:
        work.send_results(brought, "obs://bucket/other")
    assert raised.value.key == "modelarts.not_sent"


OTHERS = (SimpleNamespace(), SimpleNamespace(file=None), SimpleNamespace(file=SimpleNamespace()))


@pytest.mark.parametrize("other", OTHERS)
def test_another_moxing_is_left_alone(monkeypatch: pytest.MonkeyPatch, other: SimpleNamespace) -> None:
    other.__spec__ = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "moxing", other)
    assert work.find_moxing() is None


def test_results_that_cannot_be_taken_away_are_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(folder: Path, place: str) -> int:
        raise WorkbookError("modelarts.not_sent", count=1, of=1, first="a", place=place)

    monkeypatch.setattr(work, "send_results", refuse)
    monkeypatch.setattr(work, "run_child", lambda words, environ, folder: codes.pop())
    given = ["--command=scan x", "--train_url=obs://bucket/out", f"--scratch={tmp_path}"]
    codes = [1, 0]
    assert boot.main(given, {}) == 2 and boot.main(given, {}) == 1
    assert "not at obs://bucket/out" in capsys.readouterr().err


def test_data_and_results_travel_over_obs(service: Service, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """By the workbook's storage, where there is no moxing; with several hosts each has a folder of its own."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "train.py").write_text("import torch\ntorch.zeros(1).cuda()\n")
    (tmp_path / "in" / "output.log").write_text("token=planted")
    upload.send_files(tmp_path / "in", f"{service.place}/data")
    (tmp_path / "disk").mkdir()
    given = [f"--data_url={service.place}/data", f"--train_url={service.place}/out", f"--scratch={tmp_path / 'disk'}"]
    job = {**os.environ, "ASCEND_WORKBOOK_LANG": "en"}
    assert boot.main([*given, "--command=scan {data}/train.py --json {out}/scan.json"], job) == 0
    assert (
        "out/scan.json" in service.held()
        and "data/output.log" not in service.held()
        and "files taken to" in capfd.readouterr().out
    )
    assert boot.main([*given, "--command=scan {data}/none.py"], job) == 2
    assert boot.main([given[0] + "/none", *given[1:], "--command=scan x"], job) == 2
    assert "next step" in capfd.readouterr().err


def test_set_up_that_would_show_another_torch_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = {sys.executable: {"torch": "2.7.1", "torch_npu": "2.7.1"}}
    monkeypatch.setattr(
        work, "pair_versions", lambda python: seen.get(python, {"torch": "2.13.0", "torch_npu": "2.7.1"})
    )
    done = SimpleNamespace(returncode=0)
    monkeypatch.setattr(work.subprocess, "run", lambda *words, **more: done)
    with pytest.raises(WorkbookError) as raised:
        work.make_ready(tmp_path)
    assert raised.value.key == "modelarts.torch_changed" and raised.value.arguments["names"] == ["torch"]
    done.returncode = 2
    with pytest.raises(WorkbookError) as failed:
        work.make_ready(tmp_path)
    assert failed.value.key == "modelarts.set_up"


def test_the_pair_is_told_from_the_metadata() -> None:
    from importlib import metadata

    assert work.pair_versions(sys.executable)["torch"] == metadata.version("torch")

"""The rounds without a training: what the runs came to is given, and what the loop makes of it is looked at."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import ChildError, LaunchResult, RunLog, Step
from ascend_workbook.migration.dry_run.sides import Plan
from ascend_workbook.migration.loop import migrate
from ascend_workbook.migration.loop import rounds as module
from ascend_workbook.migration.loop.repository import Result
from ascend_workbook.migration.loop.rounds import Loop, judge_outcome

LOSSES: dict[str, list[float | None]] = {"baseline": [2.0, 1.0], "target": [2.0, 1.0]}
SCRIPT = "import torch\n\nbig = torch.cuda.get_device_capability()[0] >= 8\nagain = torch.version.cuda.split('.')\n"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("find", "find_baseline"):
        monkeypatch.setattr(devices, name, lambda wanted, python: Device(wanted, "named by the test", 1))
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "train.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path / "user" / "train.py"


def run(script: Path, **options: Any) -> Report:
    return migrate(script, out=script.parents[1] / "out", device="npu-simulated", baseline="cpu", **options)


def give(
    monkeypatch: pytest.MonkeyPatch,
    results: Iterator[tuple[str, int] | None],
    found: Status = Status.GOOD,
    *,
    losses: Mapping[str, Sequence[float | None]] = LOSSES,
    on: Sequence[str] = ("npu:0",),
) -> list[tuple[Loop, Plan]]:
    """Let each launch end as given: an error with its line of the script as it is then, or well; return the launches.

    `losses` are those of each side, `on` is where the target's parameters lie."""
    launched: list[tuple[Loop, Plan]] = []

    def launch(loop: Loop, plan: Plan, side: str, where: Device) -> tuple[LaunchResult, float]:
        loop.runs += 1
        launched.append((loop, plan))
        given = next(results)
        error, trouble, logs = None, None, ()
        if given is not None:
            message, line = given
            error = ChildError("TypeError", message, str(plan.out / side / "work" / "train.py"), line)
            trouble = Sentence("launch.no_steps")
        else:
            steps = tuple(Step(number, loss, None, None, 0.0) for number, loss in enumerate(losses[side], 1))
            logs = (RunLog(plan.out, "finished", {"parameter_devices": on if side == "target" else ["cpu"]}, steps),)
        return LaunchResult("failed", 1, plan.out / side, logs, 0.0, error, trouble), 0.1

    def report(*_: Any) -> Report:
        return Report("migration", "dry_run", (Finding("MIG140", found, "MIG140.no_loss", {"steps": 0}),))

    monkeypatch.setattr(module.Loop, "_launch", launch)
    monkeypatch.setattr(module, "report_runs", report)
    return launched


def outcomes(report: Report) -> list[str]:
    return [entry["outcome"] for entry in report.facts["rounds"]]


def run_git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


NONE = "'NoneType' object is not subscriptable"
NO_SPLIT = ("'NoneType' object has no attribute 'split'", 4)
ODD = ("odd", 5)


def test_one_round_is_a_run_of_the_result(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, (NONE, 5)]))
    report = run(script, rounds=1)
    assert report.facts["verdict"] == "rounds" and outcomes(report) == ["failed"]
    assert f"1 round(s) so far there is no verdict; the last cause (train.py:5): TypeError: {NONE}" in report.verdict(
        "en"
    )
    give(monkeypatch, iter([None, None]))
    assert run(script, rounds=1).facts["verdict"] == "agrees"


def test_without_a_cause_none_is_named(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def edit_while_it_runs() -> Iterator[tuple[str, int] | None]:
        yield None
        (script.parents[1] / "out" / "notes.txt").write_text("mine", encoding="utf-8")
        yield None

    give(monkeypatch, edit_while_it_runs())
    report = run(script, rounds=1)
    assert outcomes(report) == ["agrees", "edited"]
    assert "after the 2 round(s) so far there is no verdict. The copy" in report.verdict("en")


LAUNCH = "export WIDTH=4\npython train.py --lr 1\n"


@pytest.fixture
def launcher(script: Path) -> Path:
    file = script.with_name("run.sh")
    file.write_text(LAUNCH, encoding="utf-8")
    return file


def test_a_launch_that_a_person_edited_is_what_runs(launcher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, ODD]))
    assert run(launcher).facts["verdict"] == "failed"
    out = launcher.parents[1] / "out"
    (out / "run.sh").write_text("export WIDTH=8\npython train.py --lr 2 --bf16\n", encoding="utf-8")
    launched = give(monkeypatch, iter([None, None]))
    report = run(launcher)
    baseline, target = (plan.original for _, plan in launched)
    assert report.facts["verdict"] == "agrees" and outcomes(report) == ["failed", "edited", "agrees"]
    assert (baseline.args, baseline.environment) == (("--lr", "1"), {"WIDTH": "4"})
    assert (target.args, target.environment) == (("--lr", "2", "--bf16"), {"WIDTH": "8"})
    assert not any(found.key == "MIG303.not_run" for found in report.findings)


@pytest.mark.parametrize(
    "text", ["python other.py\n", "torchrun --nproc_per_node=4 train.py\n", "echo nothing\n", None]
)
def test_a_launch_of_another_training_is_named_as_not_run(
    launcher: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    launcher.with_name("other.py").write_text("import torch\n", encoding="utf-8")
    give(monkeypatch, iter([None, ODD]))
    run(launcher)
    file = launcher.parents[1] / "out" / "run.sh"
    file.unlink()
    if text is not None:
        file.write_text(text, encoding="utf-8")
    launched = give(monkeypatch, iter([None, None]))
    report = run(launcher)
    assert report.facts["verdict"] == "unproven" and "run.sh" in report.verdict("en")
    assert launched[1][1].original.args == ("--lr", "1")


def test_a_shell_script_that_launches_nothing_here_is_named(launcher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = launcher.with_name("train.py")
    give(monkeypatch, iter([None, ODD]))
    run(script)
    (launcher.parents[1] / "out" / "run.sh").write_text("python train.py --lr 9\n", encoding="utf-8")
    give(monkeypatch, iter([None, None]))
    (found,) = (found for found in run(script).findings if found.key == "MIG303.not_run")
    assert found.args["names"] == ["run.sh"] and found.status is Status.LOOK


def test_links_out_of_the_copy_are_named(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (script.parent / "__pycache__").mkdir()
    (script.parent / "lib").mkdir()
    (script.parent / "lib" / "a.py").write_text("x = 1\n", encoding="utf-8")
    links = {"in": "lib", "file": "lib/a.py", "aside": "__pycache__/x", "up": "../user/lib", "whole": script}
    for name, leads in links.items():
        (script.parent / name).symlink_to(leads)
    give(monkeypatch, iter([None, None]))
    (found,) = (found for found in run(script).findings if found.key == "MIG303.links")
    assert found.args["names"] == ["aside", "up", "whole"]


def test_the_same_cause_again_is_for_a_person(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script.write_text("import torch\n\nopt = torch.optim.SGD(p, 0.1, fused=True)\nopt.step()\n", encoding="utf-8")
    again = ("momentum must be positive, but got 0", 6)
    give(monkeypatch, iter([None, again, again, again]))
    report = run(script)
    assert report.facts["verdict"] == "came_back" and report.status is Status.FIX
    assert [entry["cure"] for entry in report.facts["rounds"]] == ["fused", ""]
    assert report.facts["rounds"][1]["code"] == "opt.step()"


def test_an_error_that_the_program_catches_itself_is_read_from_its_output(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: Iterator[tuple[str, int] | None] = iter([None, None, None])
    launched = give(monkeypatch, results)
    ordinary = module.Loop._launch

    def launch(loop: Loop, plan: Plan, side: str, where: Device) -> tuple[LaunchResult, float]:
        ran, seconds = ordinary(loop, plan, side, where)
        if len(launched) != 2:
            return ran, seconds
        ran.out.mkdir(parents=True)
        work = ran.out / "work" / "train.py"
        text = f'ERROR - Traceback (most recent call last):\n  File "{work}", line 5, in f\n    big = x[0]\n'
        ran.output_path.write_text(f"{text}TypeError: {NONE}\nbye\n", encoding="utf-8")
        return replace(ran, outcome="finished", trouble=Sentence("launch.no_steps")), seconds

    monkeypatch.setattr(module.Loop, "_launch", launch)
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert [entry["cure"] for entry in report.facts["rounds"]] == ["capability", ""]
    assert report.facts["rounds"][0]["place"]["line"] == 5


def test_a_cure_that_is_refused_is_not_applied(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, (NONE, 5)]))
    report = run(script, skip=("capability",))
    assert report.facts["verdict"] == "failed" and not report.facts["rounds"][0]["commit"]


def test_what_nothing_proved_is_never_called_good(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for found, verdict in ((Status.NOT_LOOKED, "unproven"), (Status.LOOK, "differs"), (Status.FIX, "differs")):
        give(monkeypatch, iter([None, None]), found)
        report = run(script)
        assert report.facts["verdict"] == verdict and report.status is Status.FIX


def test_a_training_off_the_npu_proves_nothing() -> None:
    off = Finding("MIG140", Status.LOOK, "MIG140.off_npu", {"devices": ["cpu"]})
    apart = Finding("MIG140", Status.LOOK, "MIG140.no_loss", {"steps": 0})
    assert judge_outcome(Report("migration", "dry_run", (off,))) == "unproven"
    assert judge_outcome(Report("migration", "dry_run", (apart,))) == "differs"


def test_the_baseline_is_mended_before_the_rewrite(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([("'NoneType' object has no attribute 'split'", 4), None, None]))
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert [(entry["side"], entry["cure"]) for entry in report.facts["rounds"]] == [
        ("baseline", "versions"),
        ("target", ""),
    ]
    out = Result(Path(report.facts["out"]))
    baseline = out.read_file("baseline", "train.py") or b""
    assert b'(torch.version.cuda or "0.0")' in baseline and b"torch_npu" not in baseline
    assert b"torch_npu" in (out.folder / "train.py").read_bytes()


def test_a_call_that_ends_while_it_writes_is_undone(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary = Result.commit_changes

    def stop(result: Result, contents: Any, message: str) -> str:
        ordinary(result, contents, message)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        give(patched, iter([None, (NONE, 5)]))
        patched.setattr(Result, "commit_changes", stop)
        with pytest.raises(KeyboardInterrupt):
            run(script)
    out = script.parents[1] / "out"
    assert "or (8, 0)" in (out / "train.py").read_text(encoding="utf-8")
    give(monkeypatch, iter([None, (NONE, 5), None]))
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert [entry["cure"] for entry in report.facts["rounds"]] == ["capability", ""]
    assert (out / "train.py").read_text(encoding="utf-8").count("or (8, 0)") == 1


def test_what_a_person_edited_is_a_commit_of_its_own(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, ("odd", 5)]))
    assert run(script).facts["verdict"] == "failed"
    out = script.parents[1] / "out"
    text = (out / "train.py").read_text(encoding="utf-8")
    (out / "train.py").write_text(text.replace(SCRIPT.splitlines()[3], "print('by hand')"), encoding="utf-8")
    give(monkeypatch, iter([None, None]))
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert [entry["outcome"] for entry in report.facts["rounds"]] == ["failed", "edited", "agrees"]
    assert "by hand" in report.facts["rounds"][1]["diff"]
    assert [place[:10] for place in report.facts["by_hand"]] == ["train.py:3"]  # the other is done


def test_a_persons_own_commit_outlives_a_baseline_that_fails(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([ODD]))
    assert run(script).facts["verdict"] == "baseline"
    out = script.parents[1] / "out"
    for number in (1, 2):
        with (out / "train.py").open("a", encoding="utf-8") as stream:
            stream.write(f"print('by hand {number}')\n")
        run_git(out, "commit", "-q", "-a", "-m", "mine")
    give(monkeypatch, iter([NO_SPLIT]))
    report = run(script)
    assert report.facts["verdict"] == "baseline" and outcomes(report) == ["failed", "edited", "edited", "failed"]
    assert "+print('by hand 1')" in report.facts["rounds"][1]["diff"]
    assert list(report.facts["rounds"][2]["files"]) == ["train.py"]
    assert "by hand 2" in (out / "train.py").read_text(encoding="utf-8")


def test_a_history_that_a_person_set_back_is_taken_as_it_is(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, ODD]))
    run(script)
    out = script.parents[1] / "out"
    run_git(out, "reset", "-q", "--hard", "original")
    launched = give(monkeypatch, iter([None, None]))
    report = run(script)
    assert outcomes(report) == ["failed", "edited", "agrees"] and report.facts["rounds"][1]["diff"] == ""
    assert launched[1][1].migrated == {}  # the original, and nothing of the rewrite


def test_what_is_edited_while_the_baseline_runs_stays(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = script.parents[1] / "out"

    def edit_and_fail() -> Iterator[tuple[str, int] | None]:
        (out / "notes.txt").write_text("mine", encoding="utf-8")
        yield NO_SPLIT

    give(monkeypatch, iter([ODD]))
    run(script)
    give(monkeypatch, edit_and_fail())
    report = run(script)
    assert report.facts["verdict"] == "baseline" and outcomes(report) == ["failed", "edited", "failed"]
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_only_the_commit_that_ran_agrees(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = script.parents[1] / "out"

    def edit_while_it_runs() -> Iterator[tuple[str, int] | None]:
        yield None
        (out / "notes.txt").write_text("mine", encoding="utf-8")
        yield None
        (out / "train.py").write_text("broken", encoding="utf-8")
        run_git(out, "commit", "-q", "-a", "-m", "mine")
        yield (NONE, 5)  # is mended where the lines are those that failed
        yield None

    launched = give(monkeypatch, edit_while_it_runs())
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert outcomes(report) == ["agrees", "edited", "failed", "edited", "agrees"]
    assert not any(entry["cure"] for entry in report.facts["rounds"])
    assert launched[-1][1].migrated == {script.parent / "notes.txt": b"mine", script: b"broken"}


def test_what_is_undone_is_never_lost(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = script.parents[1] / "out"
    own = out / ".git" / "ascend-workbook" / "migrate.json"
    give(monkeypatch, iter([None, ODD]))
    run(script)
    told: list[str] = []
    for number in (1, 2):
        content = json.loads(own.read_text(encoding="utf-8"))
        own.write_text(json.dumps({**content, "writing": True}), encoding="utf-8")
        (out / "notes.txt").write_text(f"mine {number}", encoding="utf-8")
        give(monkeypatch, iter([None, ODD]))
        report = run(script, tell=told.append)
    assert [run_git(out, "show", f"undone-{number}:notes.txt") for number in (1, 2)] == ["mine 1", "mine 2"]
    assert any("undone-1" in line for line in told) and any("undone-2" in line for line in told)
    assert any(found.key == "MIG303.undone" and found.args["count"] == 2 for found in report.findings)


def test_what_runs_is_what_the_result_has(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gone.py", "other.py", "moved.py"):
        (script.parent / name).write_text("import torch\n", encoding="utf-8")
    give(monkeypatch, iter([NO_SPLIT, None, ODD]))
    run(script)
    out = script.parents[1] / "out"
    (out / "gone.py").unlink()
    (out / "moved.py").rename(out / "there.py")
    (out / "train.py").write_text(SCRIPT, encoding="utf-8")  # the cure of the baseline is taken back too
    launched = give(monkeypatch, iter([None, None]))
    assert run(script).facts["verdict"] == "agrees"
    baseline, target = (plan for _, plan in launched)
    assert b'or "0.0"' in baseline.mended[script] and not baseline.gone
    assert target.gone == {script.parent / "gone.py", script.parent / "moved.py"}
    assert target.migrated is not None and set(target.migrated) == {script.parent / "there.py"}
    (out / "linked.py").symlink_to("other.py")
    give(monkeypatch, iter([None, None]))
    report = run(script)
    assert report.facts["verdict"] == "unproven" and "linked.py" in report.verdict("en")
    (out / "linked.py").unlink()
    (out / "train.py").unlink()
    give(monkeypatch, iter([None, None]), Status.LOOK)
    report = run(script)
    assert report.facts["verdict"] == "unproven" and "train.py" in report.verdict("zh")


def test_a_notebook_is_read_from_the_commit(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = script.with_name("train.ipynb")

    def write(path: Path, *cells: str) -> None:
        every = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
        content = {"cells": every, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path.write_text(json.dumps(content), encoding="utf-8")

    write(file, "import torch\n", "%%writefile old.py\nx = 1\n")
    launched = give(monkeypatch, iter([None, ODD]))
    run(file)
    out = script.parents[1] / "out"
    write(out / "train.ipynb", "print('committed')\n", "%%writefile new.py\nx = 2\n")
    run_git(out, "commit", "-q", "-a", "-m", "mine")
    write(out / "train.ipynb", "print('later')\n")
    overlay = launched[0][0]._overlay("HEAD")
    script_of_cells = file.with_name("train.ipynb.py")
    assert b"committed" in overlay.contents[script_of_cells]
    assert overlay.contents[file.with_name("new.py")].strip() == b"x = 2"
    assert overlay.gone == {file.with_name("old.py")}


def test_nothing_compared_or_seen_on_the_npu_proves_nothing(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    five: list[float | None] = [1.0, 2.0, 3.0, 4.0, 5.0]
    none: list[float | None] = [None] * 4
    give(monkeypatch, iter([None, None]), losses={"baseline": [None, *none], "target": five})
    report = run(script)
    assert report.facts["verdict"] == "unproven" and "both sides" in report.verdict("en")
    give(monkeypatch, iter([None, None]), losses={"baseline": five, "target": five}, on=())
    report = run(script)
    assert report.facts["verdict"] == "unproven" and "NPU was used" in report.verdict("en")
    give(monkeypatch, iter([None, None]), losses={"baseline": [1.0, *none], "target": five})
    report = run(script)
    assert report.facts["verdict"] == "agrees"
    assert report.headline is not None and report.headline.args["steps"] == 1


def test_another_interpreter_is_run_anew(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, iter([None, None]))
    first = run(script)
    give(monkeypatch, iter([]))
    assert run(script).created == first.created
    launched = give(monkeypatch, iter([None, None]))
    run(script, python="/another/python")
    assert len(launched) == 2
    for name in ("find", "find_baseline"):
        monkeypatch.setattr(devices, name, lambda wanted, python: Device(wanted, "", 1, {"torch": "9.9"}))
    launched = give(monkeypatch, iter([None, None]))
    run(script, python="/another/python")
    assert len(launched) == 2


def test_a_release_is_written_for_and_the_one_that_ran_is_said(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script.write_text("import torch\n\nstate = torch.load('a.pt', map_location='cuda')\n", encoding="utf-8")
    for name in ("find", "find_baseline"):
        monkeypatch.setattr(devices, name, lambda wanted, python: Device(wanted, "", 1, {"torch_npu": "2.13.0"}))
    launched = give(monkeypatch, iter([None, None]))
    report = run(script, torch_npu="2.1.0")
    assert launched[1][1].migrated is not None and b"map_location='npu'" in launched[1][1].migrated[script]
    (other,) = (found for found in report.findings if found.key == "MIG303.other_release")
    assert other.args == {"release": "2.1.0", "ran": "2.13.0"} and other.status is report.status is Status.LOOK
    assert report.verdict("en").startswith("the result trains on the NPU")
    with pytest.raises(WorkbookError) as refused:
        run(script, torch_npu="2.6.0")
    assert refused.value.key == "loop.other_source"
    give(monkeypatch, iter([None, None]))
    report = migrate(script, out=script.parents[1] / "new", device="npu-simulated", baseline="cpu")
    assert report.facts["torch_npu"]["why"] == "installed" and report.facts["torch_npu"]["version"] == "2.13.0"
    assert not any(found.rule == "MIG162" or found.key == "MIG303.other_release" for found in report.findings)


def test_a_colon_in_a_name_is_no_line(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script.with_name("a:b.py").write_text(SCRIPT, encoding="utf-8")
    give(monkeypatch, iter([None, None]))
    assert [place.rpartition(":")[0] for place in run(script).facts["by_hand"]] == [
        *("a:b.py:3", "a:b.py:4", "train.py:3", "train.py:4")
    ]


def test_what_is_cut_holds_no_half_of_a_secret(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ghp_" + "a1B2" * 9
    script.write_text(f"import torch\n\nf({'1' * 130}, '{secret}')\n", encoding="utf-8")
    give(monkeypatch, iter([("x" * 280 + f" {secret}", 3)]))
    report = run(script)
    assert "***" in report.facts["rounds"][0]["code"]
    own = script.parents[1] / "out" / ".git" / "ascend-workbook"
    for text in (
        report.to_json(),
        *((own / name).read_text(encoding="utf-8") for name in ("migrate.json", "report.json")),
    ):
        assert "ghp_" not in text

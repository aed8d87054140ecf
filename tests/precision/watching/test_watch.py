"""A script is watched as it is; its file is judged again, compared, and read after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.child.watch_rules import Rules
from ascend_workbook.precision.curves import curves
from ascend_workbook.precision.watching import watch
from ascend_workbook.precision.watching.findings import read_device_words
from ascend_workbook.precision.watching.reading import read_watched

SCRIPT = """
import torch
torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1, 41):
    loss = (model(torch.randn(32, 8, device=device)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    if step == 25:
        model[2].weight.grad.mul_(80)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step == 30:
        model[0].weight.data[0, 0] += 1
    if step == 40:
        model[2].bias.grad[1] = float("nan")
        optimizer.step()
open("result.txt", "w").write("kept")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("watched")
    (place / "train.py").write_text(SCRIPT)
    return place


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return watch(folder / "train.py", ["--name", "x"], out=folder / "out", device="cpu", cwd=folder)


def test_each_fault_has_its_finding_with_step_parameter_and_next_command(report: Report) -> None:
    keys = [(finding.key, finding.args.get("step"), finding.args.get("names")) for finding in report.findings[1:4]]
    assert keys == [
        ("ACC242.one", 25, ["2.weight"]),
        ("ACC246.silent", 31, ["0.weight"]),
        ("ACC241.gradient", 41, ["2.bias"]),
    ]
    assert report.status is Status.FIX
    for finding in report.findings[1:4]:
        assert "ascend-workbook capture --steps" in finding.hint("en") and "train.py --name x" in finding.hint("zh")


def test_the_results_of_the_script_stay(report: Report, folder: Path) -> None:
    assert (folder / "result.txt").read_text() == "kept"
    assert report.facts["steps"] == 41


def test_the_state_before_an_alarm_can_be_loaded(report: Report, folder: Path) -> None:
    state = torch.load(folder / "out" / "states" / report.facts["states"][0], weights_only=False)
    assert state["step"] == 0 and set(state["random"]) >= {"python", "numpy", "torch"}
    assert [tuple(value.shape) for value in state["models"][0].values()] == [(16, 8), (16,), (4, 16), (4,)]


def test_a_finished_file_says_the_same(report: Report, folder: Path) -> None:
    again = watch(folder / "out")
    assert [(finding.key, finding.args) for finding in again.findings] == [
        (finding.key, finding.args) for finding in report.findings
    ]


def test_a_killed_run_leaves_a_readable_file(report: Report, folder: Path, tmp_path: Path) -> None:
    text = (folder / "out" / "watch.jsonl").read_text()
    cut = tmp_path / "watch.jsonl"
    cut.write_text(text[: text.index('{"step":31') + 40])
    watched = read_watched(cut)
    assert (len(watched.records), watched.cut, watched.end) == (30, 1, {})
    assert {finding.key for finding in watch(cut).findings} >= {"ACC249.killed", "ACC249.cut", "ACC242.one"}


def test_two_watched_runs_are_compared(report: Report, folder: Path) -> None:
    compared = curves(folder / "out", folder / "out")
    assert compared.facts["formats"] == ["watch", "watch"] and compared.facts["steps_compared"] == 40
    assert not any("gradient/" in name for name in compared.facts["final"])


def test_the_command_judges_a_file_and_exits_with_1(
    report: Report, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", str(folder / "out"), "--lang", "zh"]) == 1
    assert "ACC242" in capsys.readouterr().out


def test_a_class_can_be_made_a_failure(tmp_path: Path) -> None:
    quiet = tmp_path / "watch.jsonl"
    lines = [{"schema": "ascend-workbook/watch/1", "parameters": ["a"], "exact": "all"}]
    quiet.write_text("\n".join(json.dumps(line) for line in [*lines, {"step": 1, "gradients": [1.0]}]) + "\n")
    assert watch(quiet).status is Status.NOT_LOOKED
    assert watch(quiet, fail_on=["incomplete"]).status is Status.FIX


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{}\n", "watch.no_head"),
        ('{"schema": "ascend-workbook/watch/9"}\n', "watch.other_schema"),
        (
            '{"schema": "ascend-workbook/watch/1", "parameters": ["a"]}\n{"step": 1, "gradients": ["x"]}\n',
            "watch.bad_record",
        ),
    ],
)
def test_a_file_that_is_none_is_one_clear_error(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "watch.jsonl"
    path.write_text(text)
    with pytest.raises(WorkbookError) as error:
        watch(path)
    assert error.value.key == key


def test_a_folder_without_a_file_and_a_wrong_number_are_told(tmp_path: Path) -> None:
    for arguments, key in (({}, "watch.no_file"), ({"update_every": 0}, "watch.not_positive")):
        with pytest.raises(WorkbookError) as error:
            watch(tmp_path, **arguments)
        assert error.value.key == key


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("[W] feature detection detects abnormal results", "ACC247.feature"),
        ("The result of Matmul checksum is abnormal", "ACC247.checksum"),
        ("A grad-norm spike may happen", "ACC247.event"),
        ("nothing", "ACC247.silent"),
    ],
)
def test_torch_npus_own_words_are_read(tmp_path: Path, line: str, key: str) -> None:
    (tmp_path / "output.log").write_text(f"step 1\n{line}\n")
    assert [finding.key for finding in read_device_words(tmp_path / "output.log", True)] == [key]


def test_updates_that_are_lost_or_too_large_are_alarms() -> None:
    rules = Rules(["a"])
    for step in range(1, 8):
        assert rules.see({"step": step, "lr": 1.0, "gradients": [1.0], "updates": [(0, 0.001, 1.0, True)]}) == []
    (large,) = rules.see({"step": 8, "lr": 1.0, "gradients": [1.0], "updates": [(0, 0.5, 1.0, True)]})
    assert (large["kind"], large["step"]) == ("large", 8)
    seen = [rules.see({"step": step, "gradients": [1.0], "updates": [(0, 0.0, 1.0, True)]}) for step in (20, 21, 22)]
    assert [[alarm["kind"] for alarm in alarms] for alarms in seen] == [[], [], ["still"]]


def test_the_watching_changes_no_bit_of_the_training(tmp_path: Path) -> None:
    from tests.precision.watching import trainings

    kept = []
    for state_mib, every in ((0, 0), (64, 1)):
        torch.manual_seed(1)
        model = trainings.perceptron()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
        watcher = None
        if every:
            from helpers import watch_training

            options = {"update_every": 1, "activation_every": 1, "state_mib": state_mib}
            watcher = watch_training(model, optimizer, out=tmp_path, quiet=True, **options)
        for _ in range(5):
            optimizer.zero_grad()
            trainings.loss_of(model, 8).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
        kept.append([value.detach().clone() for value in model.parameters()])
        if watcher is not None:
            assert watcher.close().facts["steps"] == 5
    assert all(torch.equal(left, right) for left, right in zip(*kept))


def test_events_of_tensorboard_are_written_beside(report: Report, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    watch(folder / "out", tensorboard=tmp_path / "events")
    from ascend_workbook.precision.curves.readers import read

    assert len(read(tmp_path / "events").series["loss"].values) == 40  # the last update had no loss

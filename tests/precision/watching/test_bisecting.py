"""An alarm's step is run again from the kept state: what is of one run alone, and where the rest begins."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.child import watch_states
from ascend_workbook.precision.record import BACKWARD, FORWARD, Operator, Run, TensorRecord
from ascend_workbook.precision.watching import origins, replaying, watch
from ascend_workbook.precision.watching.reading import Watched

SCRIPT = """
import os, pathlib, sys, torch
torch.manual_seed(0)
fault, at, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
once = fault.startswith("once") and not os.environ.get("SECOND")
device = "cuda" if torch.cuda.is_available() else "cpu"

class Net(torch.nn.Module):
    wrong = False
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU())
        self.head = torch.nn.Linear(16, 4)
    def forward(self, x):
        x = self.inner(x)
        if self.wrong and fault == "nan":
            x = torch.sqrt(x - x.abs().max() - 1)  # nan
        if self.wrong and fault == "leap":
            x = torch.mul(x, 200)  # leap
        if self.wrong and fault == "softplus":
            x = torch.nn.functional.softplus(x)  # softplus
        return self.head(x)

model = Net().to(device)
own = torch.Generator().manual_seed(os.getpid() if fault == "once, other data" else 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1, steps + 1):
    model.wrong = step == at
    x = torch.randn(32, 8, generator=own)
    if model.wrong and fault == "batch":
        x *= 300
    loss = (model(x.to(device)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    if model.wrong and (fault == "x80" or once and fault in ("once gradient", "once, other data")):
        model.head.weight.grad.mul_(80)  # x80
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = 1.0 if model.wrong and fault == "rate" else 1e-3
    optimizer.step()
    if step == at - 1 and once and fault == "once weight":
        model.head.weight.data[0, 0] += 1
    if step == at - 1 and once and fault == "once state":
        optimizer.state[model.inner[0].weight]["exp_avg"].mul_(1e8)
pathlib.Path("result.txt").write_text("second" if os.environ.get("SECOND") else "first")
"""


def line_of(word: str) -> int:
    return next(number for number, line in enumerate(SCRIPT.splitlines(), 1) if f"# {word}" in line)


def bisect(
    folder: Path, fault: str, monkeypatch: pytest.MonkeyPatch, *, at: int = 24, steps: int = 27, **options: Any
) -> Report:
    script = folder / "train.py"
    script.write_text(SCRIPT)
    place = {"device": "cpu", **options}
    baseline = place.pop("baseline", "")
    watch(script, [fault, str(at), str(steps)], out=folder / "out", cwd=folder, **place)
    monkeypatch.setenv("SECOND", "1")
    return watch(folder / "out", bisect=True, baseline=baseline)


def finding_of(report: Report, rule: str) -> Finding:
    return next(finding for finding in report.findings if finding.rule == rule)


def test_an_operator_that_leaps_is_named_with_its_module_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = bisect(tmp_path, "leap", monkeypatch)
    assert finding_of(report, "ACC275").key == "ACC275.again"
    origin = finding_of(report, "ACC276")
    assert origin.key == "ACC276.made" and origin.args["operator"] == "Torch.mul.0.forward"
    assert report.facts["bisect"]["origin"]["module"] == "Net"
    assert origin.place is not None and (origin.place.line, origin.place.path) == (line_of("leap"), "train.py")
    assert (tmp_path / "result.txt").read_text() == "first"  # the second runs write nothing outside
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "bisect").rglob("*.json*")}
    again = watch(tmp_path / "out", bisect=True)
    assert [finding.key for finding in again.findings if finding.rule != "ACC219"] == [
        finding.key for finding in report.findings if finding.rule != "ACC219"
    ]
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "bisect").rglob("*.json*")}


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "verdict", "origin", "told"),
    [
        ("nan", "again", "nonfinite", {"operator": "Torch.sqrt.0.forward"}),
        ("batch", "again", "data", {"operator": "Functional.linear.0.forward"}),
        ("x80", "again", "written", {"names": ["head.weight"]}),
        ("rate", "again", "rate", {"step": 74}),
        ("once gradient", "not_again", "", {}),
        ("once weight", "not_again", "", {}),
        ("once state", "not_again", "", {}),
        ("once, other data", "other", "", {}),
    ],
)
def test_each_fault_has_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, verdict: str, origin: str, told: dict[str, Any]
) -> None:
    """From a state in the midst of the run, before which the model is not run again."""
    report = bisect(tmp_path, fault, monkeypatch, at=74, steps=77)
    assert finding_of(report, "ACC275").key == f"ACC275.{verdict}"
    assert report.facts["bisect"]["compared"] == (0 if verdict == "other" else report.facts["bisect"]["step"] - 51)
    assert report.facts["bisect"]["skipped_forwards"] == 49
    if origin:
        cause = finding_of(report, "ACC276")
        assert cause.key == f"ACC276.{origin}" and {name: cause.args[name] for name in told} == told
    if fault == "x80":
        assert cause.args["place"] == f"train.py:{line_of('x80')}"


@pytest.mark.full
def test_both_sides_name_the_operator_of_a_faulty_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_SIM_FAULT", "softplus:scale=100")
    report = bisect(tmp_path, "softplus", monkeypatch, at=60, steps=62, device="npu-simulated", baseline="baseline")
    assert report.simulated and finding_of(report, "ACC276").args["operator"] == "Functional.softplus.0.forward"
    sides = finding_of(report, "ACC277")
    assert sides.key == "ACC277.parts" and report.facts["bisect"]["sides"]["first_divergence"].startswith(
        "Functional.softplus"
    )
    assert sides.place is not None and sides.place.line == line_of("softplus")


# What a second run says


def run_of(losses: list[float], alarm: int = 0, first: int = 1) -> Watched:
    watched = Watched(Path("watch.jsonl"), head={"parameters": ["a", "b"]})
    for step, loss in enumerate(losses, first):
        norm = 100.0 if step == alarm else 1.0 + 0.1 * loss
        watched.records.append({"step": step, "loss": loss, "lr": 1.0, "gradients": [norm, norm]})
    return watched


LOSSES = [1.0 + 0.02 * (step % 7) for step in range(30)]


@pytest.mark.parametrize(
    ("again", "outcome", "parted"),
    [
        (run_of(LOSSES[10:], 30, 11), "again", 0),
        (run_of(LOSSES[10:], 0, 11), "not_again", 0),
        (run_of([*LOSSES[10:20], *[9.0 + step for step in range(10)]], 0, 11), "parted", 21),
        (run_of([9.0 + step for step in range(20)], 0, 11), "other", 11),
        (run_of(LOSSES[10:25], 0, 11), "unproven", 0),
        (run_of(LOSSES[29:], 0, 30), "unproven", 0),
    ],
)
def test_a_second_run_is_held_against_the_first(again: Watched, outcome: str, parted: int) -> None:
    verdict = replaying.hold_against(run_of(LOSSES, 30), again, {"key": "spike", "step": 30})
    assert (verdict.outcome, verdict.parted) == (outcome, parted)


def test_two_second_runs_are_one_another_or_not() -> None:
    assert replaying.is_reproduced(run_of(LOSSES), run_of(LOSSES), 30)
    assert not replaying.is_reproduced(run_of(LOSSES), run_of([*LOSSES[:20], *[9.0] * 10]), 30)
    assert not replaying.is_reproduced(run_of([]), run_of([]), 30)


# Where a step goes wrong first


def call(
    order: int, name: str, inputs: list[float | None], outputs: list[float | None], direction: str = FORWARD
) -> Operator:
    def records(kind: str, sizes: list[float | None]) -> tuple[TensorRecord, ...]:
        return tuple(
            TensorRecord(f"{kind}.{at}", "float32", (1,), size, size, size, size) for at, size in enumerate(sizes)
        )

    head = f"Torch.{name}"
    return Operator(
        f"{head}.0.{direction}", head, 0, direction, order, records("input", inputs), records("output", outputs)
    )


def run_from(*operators: Operator) -> Run:
    return Run(Path(), 0, 0, "statistics", "L1", operators)


NAN = float("nan")
SHIFTED = call(2, "gelu", [99.0], [90.0])
USUAL = run_from(call(0, "linear", [1.0, 0.5], [1.1]), call(1, "gelu", [1.1], [0.9]), call(2, "sum", [0.9], [0.8]))


@pytest.mark.parametrize(
    ("key", "run", "kind", "name"),
    [
        ("spike", run_from(call(0, "linear", [1.0, 0.5], [1.1]), call(1, "gelu", [1.1], [90.0])), "made", "gelu"),
        ("spike", run_from(call(0, "linear", [50.0, 0.5], [55.0]), call(1, "gelu", [55.0], [50.0])), "data", "linear"),
        ("spike", run_from(call(0, "linear", [1.0, 0.5], [5.0]), call(1, "gelu", [5.0], [9.0])), "grown", "gelu"),
        ("gone", run_from(call(0, "linear", [1.0, 0.5], [1.1]), call(1, "gelu", [1.1], [0.0])), "made", "gelu"),
        (
            "spike",
            run_from(call(0, "linear", [1.0, 0.5], [1.1]), call(1, "mul", [1.1], [99.0]), SHIFTED),
            "made",
            "mul",
        ),
        ("nonfinite", run_from(call(0, "linear", [1.0], [1.1]), call(1, "gelu", [1.1], [NAN])), "made", "gelu"),
        ("nonfinite", run_from(call(0, "linear", [NAN], [NAN])), "data", "linear"),
        ("spike", USUAL, "nowhere", None),
        ("nonfinite", USUAL, "nowhere", None),
    ],
)
def test_the_first_odd_operator_is_told_from_what_only_shows_it(
    key: str, run: Run, kind: str, name: str | None
) -> None:
    origin = origins.find_origin(key, ["a"], {4: USUAL, 5: run}, {}, 5)
    assert (origin.kind, origin.operator.api if origin.operator else None) == (kind, name)


def test_a_mask_of_minus_infinity_is_no_overflow() -> None:
    mask = TensorRecord("output.0", "float32", (4,), 0.0, float("-inf"), None, None)
    masked = Operator("Torch.add.0.forward", "Torch.add", 0, FORWARD, 0, (), (mask,))
    run = run_from(masked, call(1, "exp", [1.0], [NAN], BACKWARD))
    origin = origins.find_origin("nonfinite", [], {5: run}, {}, 5)
    assert origin.operator is not None and origin.operator.api == "exp"


# What cannot be


def test_what_cannot_be_run_again_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    arguments = ["leap", "24", "27"]
    watch(script, [*arguments, "--api-key=abcdefgh12345"], out=tmp_path / "out", device="cpu", cwd=tmp_path)

    def key_of(folder: Path) -> str:
        finding = finding_of(watch(folder, bisect=True), "ACC278")
        assert finding.status == Status.NOT_LOOKED
        return finding.key

    assert key_of(tmp_path / "out") == "ACC278.secret"
    about = json.loads((tmp_path / "out" / "watch.json").read_text())
    for number, (changes, key) in enumerate(
        [({"path": ""}, "no_script"), ({"nproc": 8}, "ranks"), ({"sha256": "0", "args": arguments}, "changed")]
    ):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "out", folder)
        (folder / "watch.json").write_text(json.dumps({**about, **changes}))
        assert key_of(folder) == f"ACC278.{key}"
    shutil.rmtree(tmp_path / "out" / "states")
    assert key_of(tmp_path / "out") == "ACC278.no_state"


def test_a_state_is_read_without_running_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (print, ("ran",))

    torch.save({"schema": watch_states.SCHEMA, "step": Evil()}, tmp_path / "state.pt")
    with pytest.raises(Exception, match="(?i)weights"):
        watch_states.load_state(tmp_path / "state.pt")


def test_a_state_put_back_goes_on_as_it_went(tmp_path: Path) -> None:
    def make() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
        return model, torch.optim.Adam(model.parameters())

    def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[float]:
        losses = []
        for _ in range(5):
            loss = model(torch.randn(8, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        return losses

    model, optimizer = make()
    train(model, optimizer)
    state = watch_states.read_state(5, 0, [model], [optimizer], None)
    watch_states.write_state(state, tmp_path / "state.pt")
    wanted = train(model, optimizer)
    other, fresh = make()
    assert watch_states.put_back(watch_states.load_state(tmp_path / "state.pt"), [other], [fresh], None) == []
    assert train(other, fresh) == wanted

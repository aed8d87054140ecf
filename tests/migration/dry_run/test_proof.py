"""What a dry run proves: losses that nothing reads are not looked at; gradients, parameters and saved files agree."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, Plugin
from ascend_workbook.machine.launch.result import RunLog, Step
from ascend_workbook.migration import dry_run as module
from ascend_workbook.migration.dry_run import WATCH, dry_run
from ascend_workbook.migration.dry_run.judge import judge_worst_step, pair_losses
from ascend_workbook.migration.dry_run.original import prepare_training
from ascend_workbook.migration.dry_run.proof import Proof, find_void, judge_proof, read_proof
from ascend_workbook.migration.dry_run.sides import Plan, run_side

CPU = Device("cpu", "named by the test", 1)
SCRIPT = """
import torch
torch.manual_seed(0)
xs = torch.randn(3, 8, 4, requires_grad=True)
model, other = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
SGD, lr, params = torch.optim.SGD, 0.1, None
{setting}
optimizer = SGD(params or model.parameters(), lr=lr)
for step in range(3):
    loss = model(xs[step]).square().mean() + 1
    {body}
    print("loss:", float(loss))
"""
LEARN = "optimizer.zero_grad(); loss.backward(); optimizer.step()"
#: A training -> its setting, its body, why its losses prove nothing (empty: they do), whether they are read as printed.
KINDS = {
    "healthy": ("", LEARN, "", False),
    "healthy, Adam and clipping": (
        "SGD = torch.optim.Adam",
        "loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1); optimizer.step()",
        "",
        False,
    ),
    "healthy, a frozen part": ("model.weight.requires_grad_(False)", LEARN, "", False),
    "healthy, without an optimizer": (
        "",
        "loss.backward(); [p.data.sub_(0.1 * p.grad) for p in model.parameters()]; model.zero_grad()",
        "",
        True,
    ),
    "constant loss": ("", "loss = (model(xs[step]) * 0 + 2).mean(); " + LEARN, "constant", False),
    "zero loss": ("", "loss = (model(xs[step]) * 0).mean(); " + LEARN, "zero", False),
    "computed under no_grad": (
        "",
        "with torch.no_grad(): loss = model(xs[step]).square().mean(); optimizer.step()",
        "no_gradient",
        True,
    ),
    "optimizer never stepped": ("", "loss.backward()", "no_update", True),
    "optimizer of other parameters": ("params = list(other.parameters())", LEARN, "no_gradient", False),
    "frozen parameters": ("model.requires_grad_(False)", LEARN, "no_gradient", False),
    "learning rate 0": ("lr = 0.0", LEARN, "unchanged", False),
    "printed but detached": ("", "loss.detach().requires_grad_().backward(); optimizer.step()", "no_gradient", False),
    "gradients of no number": (
        "",
        "loss = (model(xs[step]) * 0).sum().sqrt() + (step + 1 if step < 1 else 1); " + LEARN,
        "gradient_not_finite",
        False,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_baseline_shows(tmp_path: Path, kind: str) -> None:
    setting, body, void, printed = KINDS[kind]
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(setting=setting, body=body), encoding="utf-8")
    regex = r"loss: ([\d.]+)" if printed else None
    plan = Plan(prepare_training(script, (), 1), tmp_path / "out", 3, 1, module.sys.executable, None, regex)
    result = run_side(plan, "baseline", CPU, None, [Plugin(WATCH, {"device": "cpu"})])
    assert result.ok, result.output_path.read_text("utf-8")
    proof = read_proof(result)
    assert find_void(proof) == void, (proof.losses, proof.norms, proof.moved)
    verdict = judge_proof(
        result, result, "float32", [judge_worst_step(pair_losses(proof.losses, proof.losses), "float32", CPU)]
    )
    assert [finding.status for finding in verdict] == [Status.NOT_LOOKED if void else Status.GOOD]
    if void:
        assert verdict[0].key == f"MIG157.{void}"
        assert all(verdict[0].message(lang) and verdict[0].hint(lang) for lang in ("en", "zh"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_losses_that_are_no_number_are_not_looked_at(value: float) -> None:
    finding = judge_worst_step(pair_losses([value] * 3, [value] * 3), "float32", CPU)
    assert (finding.key, finding.status) == ("MIG140.not_finite", Status.NOT_LOOKED)


def _side(folder: Path, losses: list[float], norms: list[float | None], **proof: Any) -> LaunchResult:
    folder.mkdir()
    steps = tuple(Step(n, loss, 0.1, norm, 0.1) for n, (loss, norm) in enumerate(zip(losses, norms), 1))
    (folder / "proof.json").write_text(json.dumps({"begin": {}, "end": {}, "saved": {}, **proof}))
    log = RunLog(folder / "gpulog.json", "finished", {}, steps)
    fields: dict[str, Any] = {"out": folder, "logs": (log,), "outcome": "finished", "exit_code": 0, "elapsed_s": 1.0}
    return LaunchResult(**fields)


OK = Finding("MIG140", Status.GOOD, "MIG140.within")
BEGIN, END = {"w": [1.0, 2.0]}, {"w": [1.5, 2.5]}


def _judge(
    tmp_path: Path, right: dict[str, Any], norms: list[float | None] | None = None, **left: Any
) -> dict[str, Finding]:
    both = {"begin": BEGIN, "end": END}
    before = _side(tmp_path / "a", [2.0, 1.0], [4.0, 2.0], **both, **left)
    after = _side(tmp_path / "b", [2.0, 1.0], norms or [4.0, 2.0], **{**both, **left, **right})
    return {finding.key: finding for finding in judge_proof(before, after, "float32", [OK])}


@pytest.mark.parametrize(
    ("norms", "key", "status"),
    [
        ([4.0, 2.0001999], "", None),  # 1e-4 of 2 allowed
        ([4.0, 2.0003], "MIG158.gradients", Status.LOOK),
        ([4.0, 2.21], "MIG158.gradients", Status.FIX),  # beyond a thousand times: 0.1
        ([4.0, math.nan], "MIG158.gradients", Status.FIX),
        ([None, None], "MIG158.no_gradient", Status.FIX),
        ([0.0, 0.0], "MIG158.no_gradient", Status.FIX),
    ],
)
def test_gradients_are_compared(tmp_path: Path, norms: list[float | None], key: str, status: Status | None) -> None:
    judged = _judge(tmp_path, {}, norms)
    assert set(judged) == {"MIG140.within", *([key] if key else [])}
    if key:
        assert judged[key].status is status and judged[key].message("zh") and judged[key].hint("en")


@pytest.mark.parametrize(
    ("end", "key", "status"),
    [
        ([1.5, 2.53], "", None),  # 0.03 apart of sqrt(0.5) moved: 4.2 %
        ([1.5, 2.54], "MIG158.parameters", Status.LOOK),  # 5.7 %
        ([1.5, 2.9], "MIG158.parameters", Status.FIX),  # 57 %
        ([1.0, 2.0], "MIG158.unchanged", Status.FIX),
    ],
)
def test_parameters_are_compared(tmp_path: Path, end: list[float], key: str, status: Status | None) -> None:
    judged = _judge(tmp_path, {"end": {"w": end}})
    assert set(judged) == {"MIG140.within", *([key] if key else [])} and (not key or judged[key].status is status)


def test_a_movement_within_rounding_is_not_compared(tmp_path: Path) -> None:
    little = {"begin": {"w": [1.0]}, "end": {"w": [1.0 + 5e-6]}}  # a hundred roundings are 6e-6
    before, after = (_side(tmp_path / name, [2.0, 1.0], [4.0, 2.0], **little) for name in "ab")
    (tmp_path / "b" / "proof.json").write_text(json.dumps({**little, "end": {"w": [1.0 - 5e-6]}, "saved": {}}))
    assert [finding.key for finding in judge_proof(before, after, "float32", [OK])] == ["MIG140.within"]


@pytest.mark.parametrize(
    ("saved", "key", "status"),
    [
        ({"m.pt": {"w": [[2], [3.0, 4.0]]}}, "", None),
        ({"m.pt": {"w": [[2], [3.0, 4.004]]}}, "", None),  # 0.004 of 5: 8e-4
        ({"m.pt": {"w": [[2], [3.0, 4.02]]}}, "MIG158.file", Status.LOOK),  # 4e-3
        ({"m.pt": {"w": [[2], [3.0, 4.3]]}}, "MIG158.file", Status.FIX),  # 6e-2
        ({"m.pt": {"w": [[1, 2], [3.0, 4.0]]}}, "MIG158.other_file", Status.FIX),
        ({"m.pt": {"v": [[2], [3.0, 4.0]]}}, "MIG158.other_file", Status.FIX),
        ({}, "MIG158.other_file", Status.FIX),
    ],
)
def test_saved_files_are_compared(tmp_path: Path, saved: dict[str, Any], key: str, status: Status | None) -> None:
    judged = _judge(tmp_path, {"saved": saved}, saved={"m.pt": {"w": [[2], [3.0, 4.0]]}})
    assert set(judged) == {"MIG140.within", *([key] if key else [])}
    if key:
        assert judged[key].status is status and "m.pt" in judged[key].message("en") and judged[key].hint("zh")


def test_a_red_verdict_stays_where_nothing_else_was_proven(tmp_path: Path) -> None:
    before = _side(tmp_path / "a", [1.0, 1.0], [4.0, 2.0])
    red = Finding("MIG140", Status.FIX, "MIG140.beyond")
    assert judge_proof(before, before, "float32", [red]) == [red]
    after = _side(tmp_path / "b", [1.0, 2.0], [4.0, 3.0])
    judged = judge_proof(before, after, "float32", [replace(red, weight=1000.0)])
    assert [finding.key for finding in judged] == ["MIG140.beyond", "MIG158.gradients"]
    assert judged[0].weight > judged[1].weight, "what the losses say stays the verdict"
    assert [each.key for each in judge_proof(before, before, "float32", [OK])] == ["MIG157.constant"]
    plain = Proof([1.0], [0.5], False, {}, {}, {})
    assert find_void(plain) == "", "of one step nothing is constant"
    for value, void in ((2.0, "constant"), (0.0, "zero")):  # a first step that overflows makes no number of the others
        assert find_void(replace(plain, losses=[math.nan, value, value])) == void
        assert find_void(replace(plain, losses=[math.inf, value, value + 1])) == ""


FAULTS = {
    "healthy": ("x = m(x)", "m.state_dict()", set()),
    "wrong gradient": ("x = Wrong.apply(m(x))", "m.state_dict()", {"MIG158.gradients", "MIG158.parameters"}),
    "wrong checkpoint": (
        "x = m(x)",
        "{k: v + (v.device.type == 'npu') for k, v in m.state_dict().items()}",
        {"MIG158.file"},
    ),
}
NPU = """
import torch
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x.clone()
    @staticmethod
    def backward(ctx, g): return g * (3 if g.device.type == "npu" else 1)
torch.manual_seed(0)
m = torch.nn.Linear(4, 1).cuda()
o = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(1):
    x = torch.ones(2, 4).cuda()
    {forward}
    loss = x.square().mean()
    loss.backward(); o.step()
    torch.save({{"model": {saved}, "step": step}}, "last.pt")
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_behind_equal_losses_is_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulator_env: dict[str, str], fault: str
) -> None:
    forward, saved, keys = FAULTS[fault]
    monkeypatch.setattr(module.devices, "find", lambda wanted, python: Device(wanted, "named by the test", 1))
    monkeypatch.setattr(module.devices, "find_baseline", lambda wanted, python: CPU)
    script = tmp_path / "train.py"
    script.write_text(NPU.format(forward=forward, saved=saved), encoding="utf-8")
    # the file is written behind the update that ends the run at its last step
    report: Report = dry_run(script, device="npu-simulated", baseline="cpu", steps=2, out=tmp_path / "out")
    told = {finding.key for finding in report.findings if finding.rule == "MIG158"}
    if keys:
        assert told >= keys and report.status is Status.FIX, report.text("en")
    else:
        assert not told and report.status is Status.GOOD, report.text("en")
    facts: Any = report.facts["proof"]
    assert facts["void"] is None and set(facts["saved"]) == {"last.pt"} and facts["parameters"] == 2
    assert (facts["gradient_error"] > 1) == (fault == "wrong gradient")
    assert Report.from_json(report.to_json()).facts["proof"]["parameters"] == 2

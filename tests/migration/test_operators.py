"""Operator support: what a step calls, from which line, what torch_npu has for it; the table is the dispatcher's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import device
from ascend_workbook.machine.device import Device
from ascend_workbook.migration.operators import operators
from ascend_workbook.migration.operators.rows import find_document, load_states

SCRIPT = """import torch
net = torch.nn.Sequential(torch.nn.Embedding(10, 8), torch.nn.Linear(8, 4)).cuda()
best = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.arange(10).view(2, 5).cuda()  # 数据
    y = net(x)
    scale = torch.linalg.det(torch.eye(3, device=y.device))
    z = torch.zeros_like(y) + y.softmax(-1)
    loss = z.mean() * scale
    best.zero_grad(); loss.backward(); best.step()
    print(f"{loss.item():.3f}")
"""


def _script(tmp_path: Path, text: str = SCRIPT) -> Path:
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


def _rows(report: Report) -> dict[str, dict[str, Any]]:
    return {row["operator"]: row for row in report.facts["operators"]}


def _keys(report: Report) -> dict[str, Any]:
    return {finding.key: finding for finding in report.findings}


@pytest.fixture(autouse=True)
def known_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices a test names are taken as found: each question to a child costs a second import of torch."""
    monkeypatch.setattr(device, "find", lambda wanted, python: Device(wanted, "named by the test", 1))


def test_a_step_on_the_simulated_npu(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    report = operators(_script(tmp_path), device="npu-simulated")
    rows = _rows(report)
    assert report.simulated and report.facts["steps"] == [2] and report.facts["read_from"] == "dispatcher"
    assert rows["aten::addmm"]["support"] == "native" and rows["aten::addmm"]["place"] == "train.py:6"
    fallen = rows["aten::_linalg_det.result"]
    assert (fallen["support"], fallen["calls_per_step"], fallen["place"]) == ("fallback", 1, "train.py:7")
    backward = rows["aten::_softmax_backward_data"]
    assert backward["parts"] == ["backward"] and backward["of_forward"] and backward["place"] == "train.py:8"
    assert rows["aten::zeros_like"]["support"] == "composite"
    assert "aten::zero_" in rows["aten::zeros_like"]["made_of"]
    assert rows["aten::arange"]["support"] == "host", "the script makes it on the CPU"
    assert report.status is Status.LOOK and _keys(report)["MIG171.fallback"].place.line == 7
    assert "not shown" in report.text("en") and "未说明" in report.text("zh")
    assert report.facts["state_bytes"] == {"parameters": 464, "gradients": 464, "optimizer": 0}


def test_without_an_npu_the_table_answers_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the device is really looked for, in a child."""
    monkeypatch.undo()
    with pytest.raises(WorkbookError) as absent:
        operators(_script(tmp_path), device="cpu", python=str(tmp_path / "no_python"))
    assert absent.value.key == "device.absent" and "no_python" in absent.value.message("en")
    report = operators(_script(tmp_path), device="cpu", warmup=0)
    assert report.tier == "cpu"
    rows = _rows(report)
    assert not report.simulated and report.facts["read_from"] == "table" and report.facts["steps"] == [1]
    assert rows["aten::_linalg_det.result"]["support"] == "fallback"
    assert rows["aten::addmm"]["support"] == "native" and rows["aten::addmm"]["parts"] == ["forward"]
    assert {"MIG175.table", "MIG177.cpu"} <= _keys(report).keys() or "MIG175.other" in _keys(report)
    assert Report.from_json(report.to_json()).text("en") == report.text("en")


def test_a_model_without_values(tmp_path: Path) -> None:
    large = SCRIPT.replace("(10, 8)", "(10, 99000)").replace("(8, 4)", "(99000, 99000)")
    report = operators(_script(tmp_path, large), device="meta", warmup=0)
    assert report.facts["steps"] == [1] and report.facts["state_bytes"]["parameters"] == 4 * 99000 * (10 + 99000 + 1)
    assert _rows(report)["aten::addmm"]["place"] == "train.py:6" and "MIG177.values" in _keys(report)


@pytest.mark.full
def test_a_script_that_ends_early_or_fails_is_not_clean(tmp_path: Path) -> None:
    early = operators(_script(tmp_path, SCRIPT.replace("range(3)", "range(1)")), device="cpu")
    assert early.status is Status.FIX and "MIG174.no_step" in _keys(early)
    broken = SCRIPT.replace("    z = ", "    step and y.view(7)\n    z = ")
    failed = operators(_script(tmp_path, broken), device="cpu", out=tmp_path / "out")
    assert failed.status is Status.FIX and "aten::addmm" in _rows(failed)
    assert _keys(failed)["MIG174.partly"].place.line == 8


def test_bad_input_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match=r"gone\.py"):
        operators(tmp_path / "gone.py")
    with pytest.raises(WorkbookError, match="steps"):
        operators(_script(tmp_path), steps=0)


@pytest.mark.parametrize(
    ("operator", "api", "supported"),
    [
        ("aten::add_.Tensor", "torch.Tensor.add_", True),
        ("aten::convolution", "torch.nn.functional.conv2d", True),
        ("aten::std_mean.correction", "torch.std_mean", False),
    ],
)
def test_operators_find_their_page(operator: str, api: str, supported: bool) -> None:
    said = find_document(operator)
    assert said is not None and (said.api, said.supported) == (api, supported)


def test_backward_operators_and_strangers_have_none() -> None:
    assert find_document("aten::_softmax_backward_data") is None and find_document("npu::npu_linear") is None


COMPARE = """
import importlib.util, json, sys, torch
spec = importlib.util.spec_from_file_location("trace", sys.argv[1])
trace = importlib.util.module_from_spec(spec)
spec.loader.exec_module(trace)
support = trace.Support({}, False)
support.read_record()
print("RESULT " + json.dumps({name: support.find_state(name) for name in json.load(sys.stdin)}))
"""


def test_the_table_is_what_the_dispatcher_says(simulator_env: dict[str, str]) -> None:
    import torch

    if torch.__version__.partition("+")[0] != "2.13.0":
        pytest.skip("the table is of torch 2.13.0")
    plugin = Path(sys.modules[operators.__module__].__file__ or "").parents[1] / "child" / "operator_trace.py"
    done = subprocess.run(
        [sys.executable, "-c", COMPARE, str(plugin)],
        input=json.dumps(list(load_states())),
        env=simulator_env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr
    live = json.loads(lines[0])
    made = {"explicit": "parts", "out": "parts", "out_fallback": "parts"}  # one may be registered as both
    plain = {name: made.get(state, state) for name, state in load_states().items()}
    differ = {name: (state, live[name]) for name, state in plain.items() if made.get(live[name], live[name]) != state}
    # the simulator registers these itself, in the place of torch_npu's fused attention
    attention = {name: differ.pop(name) for name in list(differ) if name.startswith("aten::_scaled_dot_product_f")}
    assert len(plain) == 3110 and not differ
    assert len(attention) == 4 and {live for _, live in attention.values()} == {"native"}


ATTENTION = """import torch
layer = torch.nn.Linear(8, 8).cuda()
best = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(2):
    q = layer(torch.ones(1, 2, 4, 8).cuda())
    torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
    best.step()
"""


@pytest.mark.full
def test_the_npus_own_attention_is_named_in_a_script_that_says_npu_itself(
    tmp_path: Path, simulator_env: dict[str, str]
) -> None:
    out = tmp_path / "out"
    report = operators(_script(tmp_path, ATTENTION), device="npu-simulated", mode="explicit", out=out)
    row = _rows(report)["npu::npu_fusion_attention_v3"]
    assert row["support"] == "native" and row["place"] == "train.py:6" and row["documents"]["supported"]
    assert not [name for name in _rows(report) if name.endswith("_for_cpu")]
    text = (out / "npu" / "work" / "train.py").read_text(encoding="utf-8")
    assert report.facts["mode"] == "explicit" and ".npu()" in text and "transfer_to_npu" not in text


def test_a_mode_that_is_none_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="inject"):
        operators(_script(tmp_path), mode="other")


@pytest.mark.full
def test_a_long_list_of_values_that_are_not_there_takes_no_time(tmp_path: Path) -> None:
    text = ATTENTION.replace("range(2)", "torch.randperm(3_000_000).tolist()")
    report = operators(_script(tmp_path, text), device="meta", warmup=0, timeout_s=60)
    assert report.facts["steps"] == [1], report.text("en")

"""Operators that crash or hang cost their own case only; losses against the committed ones; the profiler's trace."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.finding import Status
from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.selftest import parts
from ascend_workbook.selftest.child import operators as child
from ascend_workbook.selftest.child import same_text

CPU = device.Device("cpu", "a CPU", 1)
FAKE = """
import faulthandler, json, os, sys, time
start, limit = int(sys.argv[2]), int(sys.argv[3])
print(json.dumps({"total": 5}), flush=True)
for number in range(start, 5):
    print(json.dumps({"begin": number, "operator": f"op{number}", "dtype": "float32"}), flush=True)
    faulthandler.dump_traceback_later(limit, exit=True)
    if number == 1:
        os.kill(os.getpid(), 11)
    if number == 3:
        time.sleep(60)
    row = {"number": number, "operator": f"op{number}", "dtype": "float32", "forward_error": 0.0, "finite": True}
    print(json.dumps(row), flush=True)
    faulthandler.cancel_dump_traceback_later()
print(json.dumps({"done": True}), flush=True)
"""
ROW = {"operator": "conv2d", "dtype": "float32", "forward_error": 1e-7, "backward_error": 1e-6, "finite": True}


def test_a_crash_and_a_hang_cost_their_own_case(tmp_path: Path) -> None:
    path = tmp_path / "child.py"
    path.write_text(FAKE)
    made = parts.check_operators(CPU, child=path, limit_s=2)
    assert made.table and made.table.column_values("operator") == [f"op{number}" for number in range(5)]
    assert made.table.column_values("status") == ["Good", "Fix", "Good", "Fix", "Good"]
    assert "signal 11" in made.findings[2].message("en") and "no end within 2 s" in made.findings[4].message("en")
    assert "2 of 5 cases" in made.verdict("en")


def test_when_the_budget_is_spent_the_rows_until_then_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "child.py"
    slow = FAKE.replace("if number == 1:", "if number == 2:\n        time.sleep(60)\n    if number == 9:")
    path.write_text(slow.replace("dump_traceback_later(limit, exit=True)", "cancel_dump_traceback_later()"))
    made = parts.check_operators(CPU, 3.0, child=path)
    assert made.table and made.table.column_values("operator") == ["op0", "op1"]
    assert made.status is Status.NOT_LOOKED and "2 of 5 cases were run" in made.verdict("en")


def test_a_device_that_cannot_be_imported_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "child.py"
    path.write_text("raise ImportError('libhccl.so')")
    made = parts.check_operators(CPU, child=path)
    assert made.status is Status.FIX and "libhccl.so" in made.verdict("en")


@pytest.mark.parametrize(
    ("change", "key", "status"),
    [
        ({}, "ok", Status.GOOD),
        ({"forward_error": 1e-3}, "reduced", Status.NOTE),
        ({"operator": "add", "forward_error": 1e-3}, "wrong", Status.FIX),
        ({"backward_error": 0.1}, "wrong", Status.FIX),
        ({"dtype": "bfloat16", "backward_error": 2e-2}, "ok", Status.GOOD),
        ({"finite": False}, "not_finite", Status.FIX),
        ({"forward_error": "inf"}, "wrong", Status.FIX),
        ({"error": "RuntimeError: 561103"}, "error", Status.FIX),
    ],
)
def test_one_case(change: dict[str, Any], key: str, status: Status) -> None:
    found = parts.judge_operator({**ROW, **change})
    assert (found.key, found.status) == (f"SLF011.{key}", status)


def test_the_operators_own_measure_on_the_cpu() -> None:
    """A few operators are right; one that returns something else is seen, in value and in gradient."""
    torch = pytest.importorskip("torch")
    known = {case[0]: case for case in child.torch_cases(torch)}
    assert len(known) > 40
    for name in ("layer_norm", "cross_entropy", "gather", "sort"):
        _, shapes, run, backward = known[name]
        row = child.measure_case(torch, shapes, run, run, backward, "float16", "cpu")
        assert parts.judge_operator({"operator": name, "dtype": "float16", **row}).status is Status.GOOD
    _, shapes, run, _ = known["exp"]
    off = child.measure_case(torch, shapes, lambda a: run(a) * 1.001, run, True, "float32", "cpu")
    assert 5e-4 < off["forward_error"] < 2e-3 and off["backward_error"] > 5e-4
    assert "error" in child.measure_case(torch, shapes, lambda a: a @ a, run, False, "float32", "cpu")


def test_the_simulated_npus_own_operators_agree(simulator_env: dict[str, str]) -> None:
    """From the first of torch_npu's own operators on."""
    torch = pytest.importorskip("torch")
    start = 3 * len(child.torch_cases(torch))
    found = device.Device("npu-simulated", "Ascend910B2", 2)
    command: list[list[str]] = []
    original = parts.bounded.run_bounded

    def run(line: list[str], **options: Any) -> Any:
        command.append(line)
        return original([*line[:3], str(start), line[4]], **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts.bounded, "run_bounded", run)
        made = parts.check_operators(found)
    assert made.simulated and made.table and len(made.table.rows) == 8
    assert set(made.table.column_values("status")) == {"Good"}, made.text("en")
    assert made.status is Status.NOT_LOOKED and len(command) == 1  # the others were left out, and that is said


CASE = {"script": "resnet_digits.py", "dtype": "float32", "steps": 2, "losses": [2.0, 1.0]}
TOLERANCE = {"float32": 1e-5, "hf32": 4e-3, "float16": 4e-3}


@pytest.mark.parametrize(
    ("losses", "dtype", "key", "status"),
    [
        ([2.0, 1.0], "float32", "ok", Status.GOOD),
        ([2.0, 1.001], "float32", "reduced", Status.NOTE),
        ([2.0, 1.01], "float32", "beyond", Status.FIX),
        ([2.0, 1.01], "float16", "beyond", Status.LOOK),
        ([2.0, 1.2], "float16", "beyond", Status.FIX),
        ([2.0, float("nan")], "float16", "beyond", Status.FIX),
        ([2.0], "float32", "no_loss", Status.FIX),
        ([], "float32", "no_loss", Status.FIX),
    ],
)
def test_losses_against_the_committed_ones(losses: list[float], dtype: str, key: str, status: Status) -> None:
    result = LaunchResult("finished", 0, Path(), (), 1.0, log_losses=tuple(losses))
    found = parts.judge_script({**CASE, "dtype": dtype}, result, TOLERANCE)
    assert (found.key, found.status) == (f"SLF021.{key}", status)


def test_the_committed_losses_are_the_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One script again: the file is not older than the script."""
    known = json.loads(parts.BASELINES.read_text(encoding="utf-8"))
    assert {case["dtype"] for case in known["cases"]} == {"float32", "float16"}
    known["cases"] = [case for case in known["cases"] if case["script"] == "gpt_text.py"][:1]
    (tmp_path / "baselines.json").write_text(json.dumps(known))
    monkeypatch.setattr(parts, "BASELINES", tmp_path / "baselines.json")
    made = parts.check_scripts(CPU)
    assert made.status is Status.GOOD, made.text("en")
    known["cases"][0]["losses"][1] *= 1.01
    (tmp_path / "baselines.json").write_text(json.dumps(known))
    losses = tuple(made.facts["runs"][0]["losses"])
    again = parts.judge_script(
        known["cases"][0], LaunchResult("finished", 0, Path(), (), 1.0, log_losses=losses), TOLERANCE
    )
    assert again.status is Status.FIX and "step 2" in again.message("en")


def test_scripts_that_are_not_here_were_not_looked_at(tmp_path: Path) -> None:
    assert parts.check_scripts(CPU, scripts=tmp_path).status is Status.NOT_LOOKED
    assert parts.check_profiler(CPU, scripts=tmp_path).status is Status.NOT_LOOKED


def test_the_text_is_the_same_everywhere() -> None:
    digest = hashlib.sha256(same_text.make_text()).hexdigest()
    assert digest == "8414ed699b834cc319ee44db5cae7bb326737b1f0e46ad96688cb309da1f318b"
    assert len(set(same_text.make_text().split())) > 8


def test_the_profilers_trace_is_read_back() -> None:
    made = parts.check_profiler(CPU)
    assert made.status < Status.FIX and "read back: 3 steps" in made.findings[0].message("en"), made.text("en")


def test_one_device_cannot_sum_with_itself() -> None:
    made = parts.check_collectives(device.Device("npu", "Ascend910B2", 1))
    assert made.status is Status.NOT_LOOKED and "two are needed" in made.verdict("en")

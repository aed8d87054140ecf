"""Benchmarks really run: of an unmodified script in children, and of models, functions and loaders in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec
from ascend_workbook.machine.launch.result import ChildError
from ascend_workbook.profiling import benchmark
from ascend_workbook.profiling.benchmark import resources, runs

SCRIPT = """
import sys, torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
rows = int(sys.argv[sys.argv.index("--rows") + 1])
if rows > 4: raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
model = nn.Embedding(50, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
words = torch.randint(50, (200, 7))
loader = DataLoader(TensorDataset(words, words.roll(-1, 1)), rows, False, None, None, 0)
print("workers", loader.num_workers, "pinned", loader.pin_memory)
for x, y in loader:
    out = model(x.cuda())
    assert out.dtype == torch.float32
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def rows(report: Report) -> list[dict[str, Any]]:
    return list(report.facts["benchmark"]["configurations"])


def test_a_scripts_batch_size_doubles_until_out_of_memory(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    report = benchmark(
        script, device="cpu", steps=6, warmup=2, sweep=["rows=4..16"], loader=["workers=1"], out=tmp_path / "out"
    )
    assert [row["outcome"] for row in rows(report)] == ["measured", "out_of_memory", "not_run"]
    first = rows(report)[0]
    assert (first["samples_per_step"], first["steps"]) == (4.0, 6)
    assert first["tokens_per_s"] == pytest.approx(7 * first["rate_per_s"])
    assert first["p50_ms"] <= first["p90_ms"] <= first["p99_ms"]
    assert first["host_peak_mib"] > 50 and first["device_peak_mib"] is None and first["power_w"] is None
    assert first["loading_percent"] > 0
    assert "workers 1 pinned" in (tmp_path / "out" / "runs" / "0.0" / "output.log").read_text()
    assert "PRF372.out" in {found.key for found in report.findings}
    assert report.tier == "cpu"


@pytest.mark.parametrize(("said", "why"), [("CUDA out of memory", "beyond"), ("shape [3, 4]", "beyond_failed")])
def test_a_doubling_ends_at_a_failure_and_says_which(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, why: str
) -> None:
    def failing(spec: LaunchSpec, on_progress: Any) -> LaunchResult:
        return LaunchResult("failed", 1, spec.out, (), 1.0, ChildError("RuntimeError", said), {"say": "x"})

    monkeypatch.setattr(runs, "launch", failing)
    report = benchmark(tmp_path / "train.py", device="cpu", sweep=["rows=4..8"], out=tmp_path / "out")
    assert rows(report)[1]["why"] == {"say": f"benchmark.{why}", "args": {"name": "rows=4"}}


@pytest.mark.full
def test_loading_is_seen_beside_torch_npus_own_iterators(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    report = benchmark(script, ["--rows", "4"], device="npu-simulated", steps=4, warmup=1, out=tmp_path / "out")
    (row,) = rows(report)
    assert row["samples_per_step"] == 4.0 and row["loading_percent"] > 0 and row["device_peak_mib"] > 0
    assert report.facts["benchmark"]["no_power"] == {"say": "benchmark.power.simulated", "args": {}}
    assert "PRF370.simulated_one" in {found.key for found in report.findings}


def test_bad_numbers_are_refused_before_anything_runs(tmp_path: Path) -> None:
    for wrong in ({"steps": 1}, {"warmup": 0}, {"repeats": 0}):
        with pytest.raises(WorkbookError, match="must be at least"):
            benchmark(tmp_path / "none.py", **wrong)
    for few in ({"steps": 0}, {"steps": 1}, {"warmup": -1}):
        with pytest.raises(WorkbookError, match="must be at least"):
            benchmark(lambda: None, device="cpu", **few)
    with pytest.raises(WorkbookError, match="is no script's path"):
        benchmark(3)


def test_a_model_by_batch_size_and_precision() -> None:
    import torch

    model = torch.nn.Linear(4, 2)
    before = model.weight.clone()
    report = benchmark(
        model,
        torch.randn(3, 4),
        loss=lambda out: out.float().sum(),
        optimizer=torch.optim.SGD,
        batch_sizes=(2, 8),
        autocast=True,
        device="cpu",
        steps=6,
        warmup=1,
        seconds=0.01,
    )
    assert [row["name"] for row in rows(report)][:2] == ["batch=2, autocast=off", "batch=2, autocast=on"]
    assert [row["samples_per_step"] for row in rows(report)] == [2, 2, 8, 8]
    assert report.facts["benchmark"]["kind"] == "training"
    assert torch.equal(model.weight, before), "a copy is trained"


def test_inference_runs_in_evaluation_and_out_of_memory_is_a_row() -> None:
    import torch

    class Hungry(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            assert not self.training and not torch.is_grad_enabled()
            if len(x) > 2:
                raise torch.OutOfMemoryError("out of memory")
            return x

    report = benchmark(Hungry(), torch.randn(1, 4), batch_sizes=(2, 4), device="cpu", steps=3, seconds=0.01)
    assert [row["outcome"] for row in rows(report)] == ["measured", "out_of_memory"]
    with pytest.raises(RuntimeError, match="another error"):
        benchmark(broken, device="cpu", steps=3, seconds=0.01)


def test_the_hosts_peak_is_told_where_it_rose_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = iter((100.0, 150.0, 150.0, 150.0))
    monkeypatch.setattr(resources, "host_mib", lambda: next(peaks))
    import torch

    report = benchmark(
        torch.nn.Linear(4, 1), torch.randn(1, 4), batch_sizes=(8, 2), device="cpu", steps=2, seconds=0.01
    )
    assert [row["host_peak_mib"] for row in rows(report)] == [150.0, None]
    assert [row["host_at_most_mib"] for row in rows(report)] == [None, 150.0]
    found = next(one for one in report.findings if one.key == "PRF372.host_unknown")
    assert found.args == {"names": ["batch=2"], "most": 150}


def broken() -> None:
    raise RuntimeError("another error")


def test_a_function_counts_calls_and_bad_inputs_are_told() -> None:
    import torch

    report = benchmark(lambda: sum(range(100)), device="cpu", steps=3, seconds=0.01)
    assert report.facts["benchmark"]["unit"] == "calls"
    with pytest.raises(WorkbookError, match="first dimension"):
        benchmark(torch.nn.Linear(1, 1), 3, batch_sizes=(2,), device="cpu", steps=3)
    with pytest.raises(WorkbookError, match="needs a torch module"):
        benchmark(sum, loss=sum, device="cpu")


def test_a_loader_by_its_workers_keeps_its_batches() -> None:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    dataset = TensorDataset(torch.arange(40.0))
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=1, multiprocessing_context="fork")
    report = benchmark(loader, loader=["workers=0,1", "prefetch_factor=2"], device="cpu", steps=4, warmup=1)
    assert [row["samples_per_step"] for row in rows(report)] == [4, 4]
    assert report.facts["benchmark"]["kind"] == "loading"
    assert report.facts["benchmark"]["no_power"] == {"say": "benchmark.power.loading"}
    short = benchmark(DataLoader([1, 2], batch_size=1), device="cpu", steps=4, warmup=1)
    assert rows(short)[0]["outcome"] == "failed"

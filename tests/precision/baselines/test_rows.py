"""What a recorded baseline says of itself: the machine, what stood in, and what is missing."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.cli.main import build_parser
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.precision.baselines.bundle import Bundle
from ascend_workbook.precision.baselines.verb import make_report

RUN = {
    "steps": 2,
    "dump_steps": [0, 1],
    "losses_apart": 0.0,
    "level": "L1",
    "seed": 7,
    "nproc": 2,
    "script": "train.py",
    "args": ["--name", "a b"],
}
SPEED = {"median": 12.5, "low": 10.0, "high": 14.0, "count": 9, "samples_per_s": 800.0}
RECORDED = Report("precision", "capture", facts={"losses": [2.0, None, 1.5]})


def told(tier: str, *, asked: str = "baseline", **facts: Any) -> Report:
    hardware = {"tier": tier, "name": "NVIDIA H200", "count": 2}
    known: dict[str, Any] = {"recorded": "2026-11-01", "statistics": True, "throughput": SPEED, "memory": {}}
    bundle = Bundle(**{**known, "hardware": hardware, "run": RUN, **facts})
    second = LaunchResult("finished", 0, Path("timed"), (), 1.0)
    return make_report(bundle, RECORDED, second, Path("gpu.zip"), 2048, asked=asked, why={"say": "baseline.asked"})


def keys(shown: Report) -> dict[str, Status]:
    return {found.key: found.status for found in shown.findings}


def test_a_withheld_argument_is_named_and_asked_for_by_the_next_command() -> None:
    words = ["--api-key", "***", "--hf_token=***", "https://***@host/x", "--lr", "0.1", "a b"]
    shown = told("cuda", metrics={"loss": {"value": 1.0, "step": 2, "ended": True}}, run={**RUN, "args": words})
    (said,) = [found for found in shown.findings if found.key == "ACC280.withheld"]
    assert said.args == {"count": 3, "names": ["--api-key", "--hf_token", "https://***@host/x"]}
    assert said.status is Status.NOTE and "--api-key、--hf_token" in said.message("zh")
    line = shown.table.rows[-1][1] if shown.table else ""
    asked = (
        """--api-key "${API_KEY:?withheld}" --hf_token="${HF_TOKEN:?withheld}" https://"${HTTPS:?withheld}"@host/x"""
    )
    assert isinstance(line, str) and line.endswith(f"train.py {asked} --lr 0.1 'a b'")
    script = line.replace("ascend-workbook capture", "printf '%s\\n'")
    refused = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env={})
    assert refused.returncode and not refused.stdout and "API_KEY: withheld" in refused.stderr
    known = {"API_KEY": "k 1", "HF_TOKEN": "t", "HTTPS": "me:pw"}
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=known)
    assert ran.stdout.splitlines()[-6:] == ["k 1", "--hf_token=t", "https://me:pw@host/x", "--lr", "0.1", "a b"]


def test_a_whole_record_on_a_gpu_is_good() -> None:
    metrics = {"accuracy": {"value": 0.93, "step": 100, "ended": True}}
    shown = told("cuda", metrics=metrics, memory={"allocated_mib": 900.04})
    assert keys(shown) == {"ACC280.recorded": Status.GOOD} and shown.tier == "cuda"
    text = shown.text("en")
    for part in (
        "2 x NVIDIA H200",
        "2 steps, 2 to 1.5",
        "12.5 steps/s",
        "800 samples/s",
        "900 MiB",
        "0.93 at step 100",
    ):
        assert part in text
    assert shown.text("zh") and shown.findings[0].hint("en").count("--dump-steps 0,1") == 1


@pytest.mark.parametrize("tier", ["cuda", "cpu"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_how_to_capture_the_target_is_told_to_copy(tier: str, lang: str) -> None:
    """Whatever the verdict; and the command takes it."""
    expected = (
        "ascend-workbook capture --device npu --task statistics --steps 2 --dump-steps 0,1 --level L1 --seed 7"
        " --nproc 2 --out runs/npu train.py --name 'a b'"
    )
    assert expected in told(tier).text(lang)
    taken = build_parser("capture").parse_args(shlex.split(expected)[1:])
    assert (taken.steps, taken.dump_steps, taken.args) == (2, [0, 1], ["--name", "a b"])
    assert "--task fingerprints" in told(tier, statistics=False).text(lang)
    drawn = told(tier, run={**RUN, "draws": "host", "rm_dropout": True}).text(lang)
    assert "--out runs/npu --draws host --rm-dropout train.py" in drawn


@pytest.mark.parametrize(("asked", "status"), [("baseline", Status.LOOK), ("cpu", Status.NOTE)])
def test_a_cpu_in_its_place_is_said(asked: str, status: Status) -> None:
    assert keys(told("cpu", asked=asked))["ACC280.cpu"] is status


def test_what_is_missing_is_said() -> None:
    metrics = {"accuracy": {"value": 0.5, "step": 3, "ended": False}}
    found = keys(told("cuda", statistics=False, throughput=None, metrics=metrics))
    assert {name for name, status in found.items() if status is Status.NOT_LOOKED} == {
        "ACC281.left_out",
        "ACC282.too_few",
        "ACC283.no_final",
    }

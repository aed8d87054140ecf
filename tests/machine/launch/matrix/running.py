"""Runs cases of this folder in every way asked for, side by side, and reads what their steps told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchSpec
from ascend_workbook.storage.names import read_user_output

HERE = Path(__file__).resolve().parent
PLAIN, TOLD, BASELINE = "plain", "told", "baseline"


@dataclass(frozen=True)
class Way:
    """One way to run a case: `spec` are the launch's options, None as Python would run it."""

    name: str
    spec: dict[str, Any] | None = None
    told: bool = False
    words: tuple[str, ...] = ()


WAYS = {
    PLAIN: Way(PLAIN),
    TOLD: Way(TOLD, told=True),
    BASELINE: Way(BASELINE, {"transform": "baseline_cpu"}),
}


def run_all(out: Path, wanted: Sequence[tuple[str, Way]], timeout_s: float = 600.0) -> None:
    """Run pairs of a case's name and a way, each in a folder of its own below `out`."""
    jobs = []
    for case, way in wanted:
        folder = out / case / way.name
        folder.mkdir(parents=True, exist_ok=True)
        args, spec_path = [case, *way.words], None
        if way.spec is not None:
            spec = LaunchSpec(out=folder, script=HERE / "case.py", args=args, **way.spec)
            spec_path = str(folder / "launch.json")
            Path(spec_path).write_text(json.dumps(spec.for_child()), encoding="utf-8")
        paths = {"cwd": str(folder), "output": str(folder / "output.log"), "spec": spec_path}
        jobs.append(
            {"script": str(HERE / "case.py"), "args": args, **paths, "environment": {"TOLD": str(int(way.told))}}
        )
    jobs_path = out / "jobs.json"
    jobs_path.write_text(json.dumps(jobs), encoding="utf-8")
    env = {**device.child_environment("cpu"), "CUDA_VISIBLE_DEVICES": "", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    env["MSPROBE_LOG_LEVEL"] = "4"
    command = [sys.executable, str(HERE / "forks.py"), str(jobs_path)]
    subprocess.run(command, env={**env, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True, timeout=timeout_s)


def steps(folder: Path) -> list[dict[str, str]]:
    """The digests of each step, by what was digested."""
    lines = read_user_output(folder / "output.log").splitlines()
    return [dict(word.split("=") for word in line.split()[2:]) for line in lines if line.startswith("STEP")]


def notes(folder: Path) -> set[str]:
    content = json.loads((folder / "gpulog.json").read_text(encoding="utf-8"))
    return {str(note["code"]) for note in content["notes"]}


def compare(left: Path, right: Path, *, without: Sequence[str] = ()) -> dict[str, int]:
    """What differs between two runs, with the first step at which it does; both must have told steps."""
    pairs = list(zip(steps(left), steps(right)))
    assert pairs and len(steps(left)) == len(steps(right)), (output(left), output(right))
    different: dict[str, int] = {}
    for number, (a, b) in enumerate(pairs):
        for name in sorted(a):
            if name not in without and a[name] != b[name]:
                different.setdefault(name, number)
    return different


def output(folder: Path) -> str:
    return read_user_output(folder / "output.log")[-2000:]

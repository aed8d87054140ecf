"""How long a plan of many runs takes to be listed and checked, by the whole command with Python's start.

    python benchmarks/batch.py [--plan 1000] [--rounds 5] [--json FILE]

Three plans of as many runs: a matrix over parameters, a matrix over as many scripts, and a list of runs with scripts,
tags and patterns of their own. Of each the median of several rounds, and the processor's seconds, which other work on
the machine disturbs less. Bar: 2 s for 1,000 runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
BAR_S = 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", type=int, default=1000, metavar="RUNS", help="runs of each plan (default: 1000)")
    parser.add_argument("--rounds", type=int, default=5, help="times each is listed (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    args = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in plans(Path(folder), args.plan).items():
            path = Path(folder, f"{name}.yaml")
            path.write_text(text, encoding="utf-8")
            figures[name] = timed(path, args.plan, args.rounds)
            told = figures[name]
            print(f"{name:<10} {args.plan} runs: {told['seconds']:.2f} s, of the processor {told['cpu_seconds']:.2f} s")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1))
    return 0 if max(told["seconds"] for told in figures.values()) <= BAR_S * max(1, args.plan / 1000) else 1


def plans(folder: Path, count: int) -> dict[str, str]:
    """Name -> text of a plan of `count` runs."""
    for number in range(count):
        (folder / f"train{number}.py").write_text("x = 1\n")
    steps = ", ".join(map(str, range(1, count + 1)))
    scripts = ", ".join(f"train{number}.py" for number in range(count))
    runs = "".join(
        f"  - {{name: run{number}, script: train{number}.py, device: cpu, parameters: {{steps: {number + 1}}}, "
        f"tags: [t{number % 7}], timeout: 30m, memory: 4GB}}\n"
        for number in range(count)
    )
    patterns = 'tags: {nine: ["*9"]}\nskip: [{run: "run1", reason: known}]\n'
    return {
        "parameters": f"matrix: {{steps: [{steps}]}}\nstages: precision\n",
        "scripts": f"matrix:\n  script: [{scripts}]\n  device: [auto]\n",
        "listed": f"runs:\n{runs}{patterns}",
    }


def timed(path: Path, count: int, rounds: int) -> dict[str, float]:
    """Seconds of the command; it must have listed all runs."""
    seconds, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
    report = path.with_suffix(".json")
    command = [sys.executable, "-m", "ascend_workbook", "run", str(path), "--list", "--json", str(report)]
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, cwd=ROOT, env={**os.environ}, stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - began)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = len(json.loads(report.read_text(encoding="utf-8"))["table"]["rows"])
    if rows != count:
        raise SystemExit(f"{path.name}: {rows} runs were listed, expected {count}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": median(seconds), "cpu_seconds": cpu / rounds}


if __name__ == "__main__":
    sys.exit(main())

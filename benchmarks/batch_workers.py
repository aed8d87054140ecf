"""What a plan gains from a second worker, and what is redone after a start was killed at half.

    python benchmarks/batch_workers.py [--runs 12] [--seconds 3] [--json FILE]

Each run is a notebook that computes for so many seconds of one core and saves a report; it has a process and a kernel
of its own, as every run of a plan. One worker and two do the same runs, each in a folder and a process of its own. Then
a start on two workers is killed (SIGKILL) once half of the runs have ended, and started again. The bars: two workers
are at least 1.7 times as fast, and the second start does only what had not ended.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

BAR = 1.7
PARAMETERS = """lang: str = "en"  # language
device: str = "auto"  # device
run_dir: str = "runs/x"  # results
seconds: float = 3.0  # of one core
seed: int = 0  # a run's own
"""
LOAD = """import time
from pathlib import Path
from ascend_workbook.findings.finding import Finding, Status
from helpers.notebook import begin
from ascend_workbook.findings.report import Report
run = begin("environment", lang, run_dir, device)
with Path(run_dir, "times").open("a") as stream:
    stream.write("x")
until, total = time.process_time() + seconds, 0
while time.process_time() < until:
    total += sum(value * value for value in range(10_000))
found = Finding("RUN400", Status.GOOD, "RUN400.good", {"verdict": str(total)})
run.save(Report("environment", "run", (found,), tier="cpu")).or_raise()
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12, help="(default: 12)")
    parser.add_argument("--seconds", type=float, default=3, help="of one core, that a run computes (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(Path(args.child[0]), int(args.child[1]))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        lay(place, args.runs, args.seconds)
        figures = {
            "runs": args.runs,
            "cores": os.cpu_count() or 0,
            "load_average": os.getloadavg()[0],
            **speed(place),
            **redone(place, args.runs),
        }
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")
    good = figures["ratio"] >= BAR and figures["redone"] == args.runs - figures["ended_before"]
    print("within the bars" if good else "over a bar")
    return int(not good)


def lay(place: Path, runs: int, seconds: float) -> None:
    """The notebook and the plan."""
    import nbformat

    tagged = nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(cells=[tagged, nbformat.v4.new_code_cell(LOAD)])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    (place / "books" / "en").mkdir(parents=True)
    nbformat.write(book, place / "books" / "en" / "01_environment.ipynb")
    seeds = list(range(runs))
    (place / "plan.yaml").write_text(
        f"name: night\nstages: [environment]\nparameters: {{device: cpu, seconds: "
        f"{seconds}}}\nmatrix: {{seed: {seeds}}}\n"
    )


def child(root: Path, workers: int) -> int:
    from ascend_workbook.batch import run_plan

    place = root.parent
    report = run_plan(place / "plan.yaml", workers=workers, root=root, lang="en", notebooks=place / "books")
    return int(report.status.json == "Fix")


def start(root: Path, workers: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--child", str(root), str(workers)], stderr=subprocess.DEVNULL)


def speed(place: Path) -> dict[str, float]:
    """Seconds of the plan with one worker and with two."""
    seconds = {}
    for workers in (1, 2):
        began = time.perf_counter()
        code = start(place / f"workers{workers}", workers).wait()
        if code:
            raise SystemExit(f"the plan was red with {workers} workers")
        seconds[workers] = time.perf_counter() - began
        print(f"{workers} worker(s): {seconds[workers]:.1f} s")
    ratio = seconds[1] / seconds[2]
    print(f"two workers are {ratio:.2f} times as fast as one (bar: {BAR})")
    return {"one_s": seconds[1], "two_s": seconds[2], "ratio": ratio}


def redone(place: Path, runs: int) -> dict[str, int]:
    """How many runs had ended when the start was killed, and how many the second start did."""
    root = place / "killed"
    first = start(root, 2)
    while len(good(root)) < runs // 2:
        if first.poll() is not None:
            raise SystemExit("the plan ended before it was killed")
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = good(root)
    if start(root, 2).wait() or len(good(root)) != runs:
        raise SystemExit("the second start did not end all runs")
    again = [name for name in before if (root / "night" / name / "times").read_text() != "x"]
    done = runs - len(before) + len(again)
    print(f"killed with {len(before)} of {runs} ended: the second start did {done}, {len(again)} of them again")
    return {"ended_before": len(before), "redone": done}


def good(root: Path) -> list[str]:
    found = []
    for path in (root / "night").glob("*/ended.json"):
        if json.loads(path.read_text())["state"] == "good":
            found.append(path.parent.name)
    return found


if __name__ == "__main__":
    sys.exit(main())

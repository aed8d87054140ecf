"""What reading a log costs: `explain` on 27 MB of log, against the plain loop of every pattern over every line.

    python benchmarks/explain.py [--megabytes 27] [--json FILE]

The logs are made here, each with one known error near its end: an ordinary training log; one whose every line says
"error"; and a plog in which every line is an ERROR. CPU seconds of this process, user and system; the plain loop runs
over a tenth of the first log and is scaled. Bar: 0.6 s for the training log, and the same error found by both. The
command's own start is measured beside it: a child that explains an empty log.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

BAR_S = 0.6
ERROR = "[rank3]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 3; 60.97 GiB total capacity)\n"
LINES: dict[str, Callable[[int], str]] = {
    "training": lambda n: (
        f"[rank{n % 8}]: 2026-11-20 10:{n // 60 % 60:02d}:{n % 60:02d},{n % 1000:03d} - INFO - train.py:212 - step {n} "
        f"loss {2 + 1 / (n + 1):.6f} lr 3.0e-04 grad_norm {n % 97 / 50:.4f} tokens/s 8123.4 mem 31.2GB\n"
    ),
    "says error": lambda n: (
        f"epoch {n // 100} step {n} train error: {1 / (n + 1):.5f} val_error={n % 7 / 9:.5f} errors 0\n"
    ),
    "error storm": lambda n: (
        f"[ERROR] RUNTIME({n % 8},python3):2026-11-20-10:00:{n % 60:02d}.{n % 1000:03d}.001 [task_info.cc:{n % 900}]"
        f"{n % 8} PrintErrorInfo: something odd happened at address 0x{n:012x}, retry {n}\n"
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=27.0, help="size of each log (default: 27)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    args = parser.parse_args()
    figures: dict[str, float] = {"start_s": start_up()}
    print(f"{'start of the command':<28} {figures['start_s']:6.2f} s CPU")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, line in LINES.items():
            path = make(Path(folder) / f"{name}.log", line, int(args.megabytes * 1e6))
            seconds, found = explained(path)
            good &= found == "oom"
            figures[f"{name}_s"] = seconds
            print(f"explain, {name:<19} {seconds:6.2f} s CPU  {path.stat().st_size / 1e6:.1f} MB, first error: {found}")
        plain = plain_loop(Path(folder) / "training.log")
    figures["plain_s"] = plain
    ratio = plain / figures["training_s"]
    print(f"{'plain loop, training':<28} {plain:6.2f} s CPU  ({ratio:.0f} times as long)")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")
    good &= figures["training_s"] <= BAR_S
    print("within the bar" if good else "over the bar, or another error found")
    return int(not good)


def make(path: Path, line: Callable[[int], str], size: int) -> Path:
    """A log of so many bytes, the error 1000 lines before its end."""
    lines, written, number = [], 0, 0
    while written < size:
        lines.append(line(number))
        written += len(lines[-1])
        number += 1
    lines.insert(-1000, ERROR)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def explained(path: Path) -> tuple[float, str | None]:
    """CPU seconds, the best of three, and what was found. The report as text is part of it."""
    from ascend_workbook.diagnose import explain
    from ascend_workbook.diagnose.known import find_matches, load_known

    load_known()
    best, found = float("inf"), None
    for _ in range(3):
        find_matches.cache_clear()
        began = time.process_time()
        report = explain(path)
        report.text("en")
        best = min(best, time.process_time() - began)
        found = report.facts["first"]["id"]
    return best, found


def plain_loop(path: Path) -> float:
    """CPU seconds of every pattern on every line, from a tenth of the log."""
    from ascend_workbook.diagnose.known import load_known

    text = path.read_text(encoding="utf-8")
    part = text[: len(text) // 10].split("\n")
    patterns = [entry.pattern for entry in load_known()]
    began = time.process_time()
    for line in part:
        for pattern in patterns:
            pattern.search(line)
    return (time.process_time() - began) * 10


def start_up() -> float:
    """CPU seconds of `ascend-workbook explain` on next to nothing, the best of three."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "ascend_workbook", "explain", "step 1\n"]
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


if __name__ == "__main__":
    sys.exit(main())

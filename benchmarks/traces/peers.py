"""The tools that answer the same question, each run by an interpreter of its own; and what any process costs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: https://hta.readthedocs.io: idle, computing and other time of the device, over all steps
HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
found = TraceAnalysis({0: sys.argv[1]}, "/", include_last_profiler_step=True).get_temporal_breakdown(visualize=False)
print(found.to_dict("records"))
"""
MSPROF = "import sys; from msprof_analyze.cli.entrance import msprof_analyze_cli; sys.exit(msprof_analyze_cli())"


@dataclass(frozen=True)
class Cost:
    """A whole process with its start and all that it started: CPU seconds, the peak MiB of the largest."""

    cpu_s: float
    peak_mib: float


def run(command: Sequence[str], log: Path) -> Cost:
    """Ends the benchmark with the last that the command printed where it fails."""
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def msprof_compare(interpreter: str, folder: Path, baseline: Path, out: Path, *only: str) -> Cost:
    """msprof-analyze's comparison of the folder with a small one: it always compares two. `only`: what of it, as its
    option says (`--enable_profiling_compare`: the breakdown); without, all that it compares unless told otherwise.

    It exits with 0 also where it failed, so what counts is the table that it writes; `out` must not exist.
    """
    out.mkdir()
    command = [interpreter, "-c", MSPROF, "compare", "-d", str(folder), "-bp", str(baseline)]
    cost = run([*command, *only, "-o", str(out)], out / "msprof.log")
    if not list(out.glob("*.xlsx")):
        raise SystemExit(f"msprof-analyze wrote no table:\n{(out / 'msprof.log').read_text(errors='replace')[-2000:]}")
    return cost


def hta_breakdown(interpreter: str, trace: Path, out: Path) -> Cost:
    """HTA reads the trace and breaks its time down, the last step with it: neither operators nor advice."""
    return run([interpreter, "-c", HTA, str(trace)], out / "hta.log")

"""What removing each planted fault really saves: the fault and its twin run in turn, without a profiler.

    python -m tests.profiling.planted.measure --repeats 5 [--write] [NAME ...]

Prints a row per fault: milliseconds of a step of either, the saving of the median pair, and its spread over the pairs;
`--write` keeps them in measured.json. It takes minutes, and a machine that does nothing else: no test runs it."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import fmean, median

from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchSpec, launch

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
#: Steps that a script warms up in, and those that are timed
WARM, TIMED = 6, 20
#: Faults between processes
PAIRS = {"small_allreduces": 2, "unequal_ranks": 2}


def list_faults() -> list[str]:
    """Return the names of all planted faults."""
    return sorted(script.stem for script in (HERE / "faults").glob("*.py"))


def time_step(script: Path, nproc: int) -> float:
    """Return the milliseconds of the mean step of one run on the simulated NPU."""
    simulated = device.find("npu-simulated")
    with tempfile.TemporaryDirectory() as folder:
        spec = LaunchSpec(
            out=Path(folder), script=script, nproc=nproc, steps=WARM + TIMED, timeout_s=120, grad_norm=False
        )
        result = launch(spec.on(simulated))
    times = [step.time_s for step in result.steps][WARM:]
    if result.trouble is not None or len(times) < TIMED:
        raise RuntimeError(f"{script}: {result.trouble}, {len(times)} steps")
    return 1000 * fmean(times)


def measure_fault(name: str, repeats: int) -> dict[str, object]:
    """Run a fault and its twin in turn; return the milliseconds of a step, and the median saving with its spread."""
    pairs = [
        tuple(time_step(HERE / folder / f"{name}.py", PAIRS.get(name, 1)) for folder in ("faults", "twins"))
        for _ in range(repeats)
    ]
    savings = sorted(fault - twin for fault, twin in pairs)
    return {
        "fault_ms": round(median(fault for fault, _ in pairs), 3),
        "twin_ms": round(median(twin for _, twin in pairs), 3),
        "saving_ms": round(median(savings), 3),
        "least_ms": round(savings[0], 3),
        "most_ms": round(savings[-1], 3),
        "repeats": repeats,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    measured = json.loads(MEASURED.read_text()) if MEASURED.is_file() else {}
    print(f"{'fault':26} {'fault ms':>9} {'twin ms':>9} {'saving':>9}  least .. most")
    for name in asked.names or list_faults():
        row = measure_fault(name, asked.repeats)
        print(
            f"{name:26} {row['fault_ms']:9} {row['twin_ms']:9} {row['saving_ms']:9}  "
            f"{row['least_ms']} .. {row['most_ms']}",
            flush=True,
        )
        measured[name] = row
        if asked.write:
            MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

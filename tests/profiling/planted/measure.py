"""What removing each planted fault really saves: the fault and its twin run in turn, without a profiler.

    python -m tests.profiling.planted.measure --repeats 5 [--write] [--set PLACE] [NAME ...]

Prints a row per fault: milliseconds of a step of either, the saving of the median pair, and its spread over the pairs;
`--write` keeps them in measured.json. A step's time is that of the median step without what other programs had of the
cores meanwhile (steps_plugin.py). It takes minutes: no test runs it."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from ascend_workbook.machine import device
from ascend_workbook.machine.launch import LaunchSpec, Plugin, launch
from ascend_workbook.profiling.readers.lines import find_lost_times

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
PLUGIN = HERE / "steps_plugin.py"
#: Steps that a script warms up in, and those that are timed
WARM, TIMED = 6, 30
#: Scripts of several processes ask for their rank
SEVERAL, PROCESSES = "init_process_group", 2


def find_scripts(place: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return the faults and their twins by name: in folders of their own, or beside each other as NAME.py and
    NAME_healthy.py."""
    if (place / "faults").is_dir():
        faults, twins = ({path.stem: path for path in (place / part).glob("*.py")} for part in ("faults", "twins"))
    else:
        twins = {path.stem[: -len("_healthy")]: path for path in place.glob("*_healthy.py")}
        faults = {name: place / f"{name}.py" for name in twins}
    return dict(sorted(faults.items())), twins


def list_faults() -> list[str]:
    """Return the names of the first set of planted faults."""
    return list(find_scripts(HERE)[0])


def count_processes(script: Path) -> int:
    """Return how many processes a script runs in."""
    return PROCESSES if SEVERAL in script.read_text(encoding="utf-8") else 1


def time_step(script: Path) -> float:
    """Return the milliseconds of the median step of one run on the simulated NPU."""
    simulated = device.find("npu-simulated")
    with tempfile.TemporaryDirectory() as folder:
        spec = LaunchSpec(
            out=Path(folder),
            script=script,
            nproc=count_processes(script),
            steps=WARM + TIMED,
            timeout_s=180,
            grad_norm=False,
            plugins=[Plugin(PLUGIN, {"path": str(Path(folder) / "steps.json")})],
        )
        result = launch(spec.on(simulated))
        if result.trouble is not None:
            raise RuntimeError(f"{script}: {result.trouble}")
        told = json.loads((Path(folder) / "steps.json").read_text())
    ends = np.array(told["steps"], np.int64)[WARM:]
    if ends.size < TIMED // 2:
        raise RuntimeError(f"{script}: {ends.size} steps")
    lost = find_lost_times(told["delays"])
    return float(np.median(np.diff(ends - lost.before_ns(ends)))) / 1e6


def measure_fault(fault: Path, twin: Path, repeats: int) -> dict[str, object]:
    """Run a fault and its twin in turn; return the milliseconds of a step, and the median saving with its spread."""
    pairs = [(time_step(fault), time_step(twin)) for _ in range(repeats)]
    savings = sorted(fault_ms - twin_ms for fault_ms, twin_ms in pairs)
    return {
        "fault_ms": round(median(fault_ms for fault_ms, _ in pairs), 3),
        "twin_ms": round(median(twin_ms for _, twin_ms in pairs), 3),
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
    parser.add_argument("--set", type=Path, default=HERE)
    asked = parser.parse_args()
    faults, twins = find_scripts(asked.set)
    kept = asked.set / MEASURED.name
    measured = json.loads(kept.read_text()) if kept.is_file() else {}
    print(f"{'fault':26} {'fault ms':>9} {'twin ms':>9} {'saving':>9}  least .. most")
    for name in asked.names or faults:
        row = measure_fault(faults[name], twins[name], asked.repeats)
        print(
            f"{name:26} {row['fault_ms']:9} {row['twin_ms']:9} {row['saving_ms']:9}  "
            f"{row['least_ms']} .. {row['most_ms']}",
            flush=True,
        )
        measured[name] = row
        if asked.write:
            kept.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

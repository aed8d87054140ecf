"""What the analysis says of the planted faults, their healthy twins and other healthy scripts, held against the labels.

    python -m tests.profiling.planted.judge record FOLDER [--half working] [NAME ...]
    python -m tests.profiling.planted.judge tell FOLDER [--half working]

`record` profiles each script on the simulated NPU into a folder of its own, `tell` reads the profiles: a row per script
with the first two causes, whether one of them is the label's, at its line, and how near its predicted saving comes to
the measured one (measured.json). Of a healthy script any cause is a false alarm, `computing` apart."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.causes import Cause
from ascend_workbook.machine import device
from ascend_workbook.profiling.collecting import profile, runs
from ascend_workbook.profiling.facts import load_profile
from tests.profiling.planted.measure import HERE, MEASURED, PAIRS, list_faults

LABELS = HERE / "labels.json"
FOLDERS = ("faults", "twins", "healthy")
#: No cause that asks for a change: what the device computes, and that nothing can be told
QUIET = ("computing", "untold", "healthy")


def list_samples() -> list[Path]:
    """Return the scripts that the notebooks migrate."""
    return sorted((HERE.parents[2] / "notebooks" / "scripts").glob("*.py"))


def record_scripts(folder: Path, scripts: Sequence[Path]) -> None:
    """Profile each script into FOLDER/{faults,twins,healthy}/NAME; what device there is, is asked once."""
    simulated = device.find("npu-simulated")
    runs.devices.find = lambda *_, **__: simulated
    for script in scripts:
        out = folder / (script.parent.name if script.parent.parent == HERE else "healthy") / script.stem
        shutil.rmtree(out, ignore_errors=True)
        try:
            report = profile(script, device="npu-simulated", out=out, nproc=PAIRS.get(script.stem, 1), timeout_s=180)
            print(f"{script.parent.name}/{script.stem}: {report.status}", flush=True)
        except WorkbookError as error:
            print(f"{script.parent.name}/{script.stem}: {error}", flush=True)


def find_profile_causes(data: Path) -> tuple[tuple[Cause, ...], float]:
    """Return the causes of the first rank's profile, and the milliseconds of its mean step."""
    profiles = sorted(data.glob("rank0*_ascend_pt"))
    loaded = load_profile(profiles[0] if profiles else data)
    return loaded.causes, loaded.breakdown.step_ns / 1e6


def is_named(cause: Cause, label: dict[str, list[str]]) -> tuple[bool, bool]:
    """Return whether a cause has the label's kind, and whether its line."""
    place = cause.where.replace(" ", ":").split(":")
    line = ":".join(place[:2]).rpartition("/")[2]
    return cause.kind in label["first"], line in label["where"]


def describe_cause(cause: Cause) -> str:
    """Return a cause in a few words."""
    return f"{cause.kind} {100 * cause.share:.0f}% {cause.where.rpartition('/')[2]} [{cause.confidence}]"


def tell_faults(folder: Path, names: Sequence[str]) -> None:
    """Print a row per fault, and the figures."""
    labels, measured = (json.loads(path.read_text()) if path.is_file() else {} for path in (LABELS, MEASURED))
    right, with_line, apart = 0, 0, []
    for name in names:
        data = folder / "faults" / name / "data"
        if not data.is_dir():
            print(f"{name:24} not recorded")
            continue
        try:
            causes, step_ms = find_profile_causes(data)
        except WorkbookError as error:
            print(f"{name:24} {error.key}")
            continue
        told = [is_named(cause, labels[name]) for cause in causes[:2]]
        kind, line = any(kind for kind, _ in told), any(kind and line for kind, line in told)
        right, with_line = right + kind, with_line + line
        saving = ""
        for cause, (fits, _) in zip(causes, told):
            if fits and cause.predicted and name in measured:
                predicted = (cause.predicted.least_ns + cause.predicted.most_ns) / 2e6
                share, share_measured = predicted / step_ms, measured[name]["saving_ms"] / measured[name]["fault_ms"]
                apart.append(abs(share / share_measured - 1))
                saving = f"predicted {predicted:.1f} ms ({100 * share:.0f} %), measured {100 * share_measured:.0f} %"
                break
        mark = "ok  " if line else "kind" if kind else "MISS"
        print(f"{mark} {name:24} {step_ms:7.1f} ms  " + "; ".join(map(describe_cause, causes[:3])) + f"  {saving}")
    print(f"named first or second: {right} of {len(names)}; with file:line: {with_line}")
    if apart:
        print(f"predicted against measured saving, median apart: {100 * median(apart):.0f} % of {len(apart)}")


def tell_healthy(data: Path, name: str) -> bool:
    """Print what is said of a healthy script, and return whether that is a false alarm."""
    causes, step_ms = find_profile_causes(data)
    alarms = [cause for cause in causes if cause.kind not in QUIET]
    print(f"{'ALARM' if alarms else 'ok   '} {name:30} {step_ms:7.1f} ms  " + "; ".join(map(describe_cause, causes[:3])))
    return bool(alarms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("record", "tell"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--half", choices=("working", "held"))
    parser.add_argument("--of", nargs="*", choices=FOLDERS, default=FOLDERS)
    asked = parser.parse_args()
    labels = json.loads(LABELS.read_text())
    faults = [name for name in list_faults() if asked.half in (None, labels[name]["half"])]
    faults = [name for name in faults if not asked.names or name in asked.names]
    if asked.action == "record":
        scripts = [HERE / part / f"{name}.py" for part in ("faults", "twins") if part in asked.of for name in faults]
        scripts += list_samples() if "healthy" in asked.of and not asked.names else []
        record_scripts(asked.folder, scripts)
        return
    if "faults" in asked.of:
        tell_faults(asked.folder, faults)
    places = [(asked.folder / "twins" / name / "data", name) for name in faults] if "twins" in asked.of else []
    if "healthy" in asked.of:
        places += [(place / "data", place.name) for place in sorted((asked.folder / "healthy").glob("*"))]
    healthy = [(data, name) for data, name in places if data.is_dir()]
    alarms = sum(tell_healthy(data, name) for data, name in healthy)
    print(f"false alarms: {alarms} of {len(healthy)}")


if __name__ == "__main__":
    main()

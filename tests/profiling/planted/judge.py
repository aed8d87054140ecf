"""What the analysis says of the planted faults, their healthy twins and other healthy scripts, held against the labels.

    python -m tests.profiling.planted.judge record FOLDER [--half working] [--set PLACE] [NAME ...]
    python -m tests.profiling.planted.judge tell FOLDER [--half working] [--set PLACE]

`record` profiles each script on the simulated NPU into a folder of its own, `tell` reads the profiles: a row per script
with the first two causes, whether one of them is the label's, at its line, and how near its predicted saving comes to
the measured one (measured.json). Of a healthy script any cause is a false alarm, `computing` apart."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.answers import analyse
from ascend_workbook.profiling.causes import Cause, Range
from ascend_workbook.profiling.causes.lines import Lines
from ascend_workbook.machine import device
from ascend_workbook.profiling.collecting import profile, runs
from ascend_workbook.profiling.facts import load_profile
from tests.profiling.planted.measure import HERE, MEASURED, count_processes, find_scripts

LABELS = HERE / "labels.json"
#: Of the step: a smaller saving cannot be told from the noise of two runs
LEAST_SHARE = 0.05
PARTS = ("faults", "twins", "healthy")
#: No cause that asks for a change: what the device computes, and that nothing can be told
QUIET = ("computing", "untold", "healthy")


def list_healthy(place: Path) -> list[Path]:
    """Return healthy scripts beside the twins: those that the notebooks migrate, of another set its own."""
    return sorted((place / "healthy" if place != HERE else HERE.parents[2] / "notebooks" / "scripts").glob("*.py"))


def record_scripts(folder: Path, scripts: Mapping[str, Path]) -> None:
    """Profile each script into FOLDER/PART/NAME, its key; what device there is, is asked once."""
    simulated = device.find("npu-simulated")
    runs.devices.find = lambda *_, **__: simulated
    for key, script in scripts.items():
        out = folder / key
        shutil.rmtree(out, ignore_errors=True)
        try:
            report = profile(script, device="npu-simulated", out=out, nproc=count_processes(script), timeout_s=180)
            print(f"{key}: {report.status}", flush=True)
        except WorkbookError as error:
            print(f"{key}: {error}", flush=True)


def find_profile_causes(data: Path) -> tuple[tuple[Cause, ...], float]:
    """Return the causes that the analysis of all ranks names, and the milliseconds of a mean step that is not recorded:
    of such a one savings are told."""
    profiles = [load_profile(path) for path in sorted(data.glob("rank*_ascend_pt")) or [data]]
    causes = profiles[0].causes
    if len(profiles) > 1:
        facts: Any = analyse(data).facts
        causes = tuple(map(_read_cause, facts["causes"]))
    places = {(cause.kind, cause.where) for cause in causes}  # the causes are those of one rank
    told = [sum((cause.kind, cause.where) in places for cause in profile.causes) for profile in profiles]
    return causes, Lines(profiles[told.index(max(told))].calm).calm_step_ns / 1e6


def _read_cause(told: dict[str, Any]) -> Cause:
    saving = told["predicted_saving_ns"]
    cause = Cause(told["kind"], told["spent_ns"], told["share"], told["where"], told["evidence"], told["confidence"])
    return replace(cause, predicted=Range(*saving) if saving else None)


def is_named(cause: Cause, label: Mapping[str, Any]) -> tuple[bool, bool]:
    """Return whether a cause has the label's kind, and whether its line."""
    lines = [label["where"]] if isinstance(label["where"], str) else label["where"]
    place = cause.where.replace(" ", ":").split(":")
    line = ":".join(place[:2]).rpartition("/")[2]
    return cause.kind in label["first"], line in lines


def read_saving(
    measured: Mapping[str, Any] | None, label: Mapping[str, Any], recorded_ms: tuple[float, float] | None = None
) -> float | None:
    """Return which part of the step removing a fault saves: as measured here, else by the steps of the recordings of
    the fault and its twin, else as its author measured it without the simulator, by the seconds of CPU; None where that
    is not known, or less than the noise."""
    share = label.get("saved_share_cpu")
    if recorded_ms:
        share = 1 - recorded_ms[1] / recorded_ms[0]
    if measured:
        share = measured["saving_ms"] / measured["fault_ms"]
    return share if share is not None and share >= LEAST_SHARE else None


def read_step_ms(data: Path) -> float | None:
    """Return the milliseconds of a mean step that is not recorded, None where there is none that can be read."""
    profiles = sorted(data.glob("rank*_ascend_pt"))
    if len(profiles) != 1:
        return None
    try:
        return Lines(load_profile(profiles[0]).calm).calm_step_ns / 1e6
    except WorkbookError:
        return None


def describe_cause(cause: Cause) -> str:
    """Return a cause in a few words."""
    return f"{cause.kind} {100 * cause.share:.0f}% {cause.where.rpartition('/')[2]} [{cause.confidence}]"


def tell_faults(folder: Path, place: Path, names: Sequence[str]) -> None:
    """Print a row per fault, and the figures."""
    paths = (place / LABELS.name, place / MEASURED.name)
    labels, measured = (json.loads(path.read_text()) if path.is_file() else {} for path in paths)
    right, with_line, apart, apart_by_steps = 0, 0, [], []
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
            twin_ms = read_step_ms(folder / "twins" / name / "data")
            median_ms = read_step_ms(data)
            pair = (median_ms, twin_ms) if median_ms and twin_ms else None
            share_measured = read_saving(measured.get(name), labels[name], pair)
            by_steps = read_saving(None, {}, pair)
            if fits and cause.predicted and share_measured:
                ends = cause.predicted.least_ns / 1e6, cause.predicted.most_ns / 1e6
                share = sum(ends) / 2 / step_ms
                apart.append(abs(share / share_measured - 1))
                saving = f"predicted {ends[0]:.1f} to {ends[1]:.1f} ms ({100 * share:.0f} %), measured "
                saving += f"{100 * share_measured:.0f} %"
                if by_steps:
                    apart_by_steps.append(abs(share / by_steps - 1))
                    saving += f", by the steps of both {100 * by_steps:.0f} %"
                break
        mark = "ok  " if line else "kind" if kind else "MISS"
        print(f"{mark} {name:24} {step_ms:7.1f} ms  " + "; ".join(map(describe_cause, causes[:3])) + f"  {saving}")
    print(f"named first or second: {right} of {len(names)}; with file:line: {with_line}")
    if apart:
        print(f"predicted against measured saving, median apart: {100 * median(apart):.0f} % of {len(apart)}")
    if apart_by_steps:
        print(f"the same, by the steps of both: {100 * median(apart_by_steps):.0f} % of {len(apart_by_steps)}")


def tell_healthy(data: Path, name: str) -> bool:
    """Print what is said of a healthy script, and return whether that is a false alarm."""
    try:
        causes, step_ms = find_profile_causes(data)
    except WorkbookError as error:
        print(f"none  {name:30} {error.key}")
        return False
    alarms = [cause for cause in causes if cause.kind not in QUIET]
    print(f"{'ALARM' if alarms else 'ok   '} {name:30} {step_ms:7.1f} ms  " + "; ".join(map(describe_cause, causes[:3])))
    return bool(alarms)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("record", "tell"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", type=Path, default=HERE, help="where the faults, their twins and labels.json are")
    parser.add_argument("--half", choices=("working", "held"))
    parser.add_argument("--of", nargs="*", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    labels = json.loads((asked.set / LABELS.name).read_text())
    faults, twins = find_scripts(asked.set)
    names = [name for name in faults if asked.half in (None, labels[name].get("half"))]
    names = [name for name in names if not asked.names or name in asked.names]
    healthy = {} if asked.names else {script.stem: script for script in list_healthy(asked.set)}
    scripts = {f"faults/{name}": faults[name] for name in names} | {f"twins/{name}": twins[name] for name in names}
    scripts |= {f"healthy/{name}": script for name, script in healthy.items()}
    scripts = {key: script for key, script in scripts.items() if key.partition("/")[0] in asked.of}
    if asked.action == "record":
        record_scripts(asked.folder, scripts)
        return
    if "faults" in asked.of:
        tell_faults(asked.folder, asked.set, names)
    places = {key: asked.folder / key / "data" for key in scripts if not key.startswith("faults/")}
    there = {key: place for key, place in places.items() if place.is_dir()}
    alarms = sum(tell_healthy(place, key) for key, place in there.items())
    print(f"false alarms: {alarms} of {len(there)}")


if __name__ == "__main__":
    main()

"""`watch`: a script runs as it is and is watched step by step, or a finished file is judged."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table, parse_fail_on
from ascend_workbook.findings.sentence import Scalar, say
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from ascend_workbook.precision.child.watch_rules import REMARKS
from ascend_workbook.precision.watching import tensorboard as events
from ascend_workbook.precision.watching.bisecting import bisect_alarm, describe_script
from ascend_workbook.precision.watching.findings import (
    CLASSES,
    fail_classes,
    find_unlooked,
    judge_watched,
    read_device_words,
)
from ascend_workbook.precision.watching.reading import (
    ABOUT,
    FILE,
    Watched,
    find_files,
    read_about,
    read_watched,
)
from ascend_workbook.redaction.exits import redact_file, redact_words
from ascend_workbook.show.bar import Step

PLUGIN = Path(__file__).parents[1] / "child" / "watch.py"
MIB = 1 << 20
#: Of 10,000 steps of a model with 60 parameters a tenth; near it fewer norms are kept.
FILE_MIB = 48
UPDATE_EVERY, ACTIVATION_EVERY, STATE_MIB = 20, 50, 1024
#: torch_npu's feature value detection: the variable of 7.1 and later, and that of 7.0 and before, which logs alone.
FEATURE_VALUES = {"NPU_ASD_CONFIG": "enable:true", "NPU_ASD_ENABLE": "1"}
#: Rows of a report.
MOST = 1500
AROUND = 10
COLUMNS = (
    Column("step"),
    Column("loss"),
    Column("lr"),
    Column("grad_norm"),
    Column("loss_scale"),
    Column("largest_update"),
    Column("alarm", wrap=44),
)


def make_config(update_every: int, activation_every: int, state_mib: int) -> dict[str, int]:
    """Make the configuration of child/watch.py."""
    numbers = {"update_every": update_every, "activation_every": activation_every, "state_mib": state_mib}
    for name, value in numbers.items():
        if value < (1 if name == "update_every" else 0):
            raise WorkbookError("watch.not_positive", name=name, value=value)
    return {
        "update_every": update_every,
        "activation_every": activation_every,
        "every": 0,
        "limit_bytes": FILE_MIB * MIB,
        "state_bytes": state_mib * MIB,
    }


def watch(
    script: str | Path,
    args: Sequence[str] = (),
    *,
    out: str | Path = "runs/watch",
    device: str = "auto",
    steps: int | None = None,
    nproc: int = 1,
    update_every: int = UPDATE_EVERY,
    activation_every: int = ACTIVATION_EVERY,
    state_mib: int = STATE_MIB,
    tensorboard: str | Path | None = None,
    feature_values: bool = True,
    bisect: bool = False,
    baseline: str = "",
    fail_on: Iterable[str] = (),
    timeout_s: float | None = None,
    cwd: str | Path | None = None,
    python: str = sys.executable,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Runs a training script as it is and watches every step; or judges `script` where it is a watched run's folder or
    its `watch.jsonl`.

    Each weight's update is measured once in `update_every` steps, activations every `activation_every` (0: never).
    `state_mib` bounds the states in memory of which the last before an alarm is written (0: none). `tensorboard` is a
    folder for events. `feature_values` switches on torch_npu's own detection on an NPU. Where `bisect`, the step of the
    first alarm is run again from the kept state, enclosed: what does not come again is of that run alone, of what does
    module and operator are named; on `baseline` (a device) too, where one is given. `fail_on` are classes that make
    the status Fix. Raises WorkbookError where the script took no step."""
    wanted = parse_fail_on(fail_on, CLASSES)
    config = make_config(update_every, activation_every, state_mib)
    if tensorboard is not None:
        events.check_package()
    place = Path(script)

    def look_closer(folder: Path, report: Report, words: Sequence[str] | None) -> Report:
        if not (bisect or baseline):
            return report
        ways: dict[str, Any] = {"python": python, "timeout_s": timeout_s, "tell": progress}
        about, first = read_about(folder), read_watched(find_files(folder)[0])
        findings, facts = bisect_alarm(first, folder, about, config=config, baseline=baseline, args=words, **ways)
        return replace(report, findings=(*report.findings, *findings), facts={**report.facts, **facts})

    if place.is_dir() or place.suffix == ".jsonl":
        report = report_run(place, wanted, None, tier="")
        if tensorboard is not None:
            events.write_events(find_files(place)[0], Path(tensorboard))
        return look_closer(place if place.is_dir() else place.parent, report, None)
    chosen = devices.find_baseline(python=python) if device == "baseline" else devices.find(device, python=python)
    folder = Path(out).absolute()
    environment = devices.child_environment(chosen.tier)
    on_npu = chosen.tier == "npu" and feature_values
    if on_npu:
        environment = {**FEATURE_VALUES, **environment}
    folder.mkdir(parents=True, exist_ok=True)
    for stale in (*folder.glob("watch*.json*"), *folder.glob("states/step*.pt")):
        stale.unlink()
    about: dict[str, Any] = {"script": str(script), "args": redact_words(list(map(str, args))), "tier": chosen.tier}
    about |= {"feature_values": on_npu, **describe_script(place, cwd, nproc)}
    (folder / ABOUT).write_text(redact_file(ABOUT, json.dumps(about, indent=1)), encoding="utf-8")
    spec = LaunchSpec(folder, place, args=tuple(map(str, args)), cwd=Path(cwd) if cwd else None, python=python)
    spec = replace(spec, nproc=nproc, env=environment, steps=steps, timeout_s=timeout_s)
    spec = replace(spec.on(chosen), grad_norm=False, counts_only=True, plugins=[Plugin(PLUGIN, config)])
    follower = _Follower(folder / FILE, progress, tensorboard)
    try:
        result = launch(spec, follower.tell)
    finally:
        follower.finish()
    if not any(folder.glob("watch*.jsonl")):
        trouble: Scalar = result.trouble or ""
        raise WorkbookError("watch.nothing", trouble=trouble, path=str(result.output_path))
    return look_closer(folder, report_run(folder, wanted, result, tier=chosen.tier), tuple(map(str, args)))


class _Follower:
    """Tells alarms as soon as the training has written them, and hands new lines to TensorBoard."""

    def __init__(self, path: Path, progress: Callable[[str], None] | None, tensorboard: str | Path | None) -> None:
        self.path, self.progress = path, progress
        self.events = events.Writer(Path(tensorboard)) if tensorboard is not None else None
        self._offset = 0
        self._told_at = 0.0
        self._step = -1

    def tell(self, state: Progress) -> None:
        for record in self._read_new():
            if self.events is not None:
                self.events.add(record)
            if "alarm" in record and self.progress:
                self.progress(describe_alarm(record["alarm"]))
        now = time.monotonic()
        if self.progress and state.step != self._step and now - self._told_at > 1.0:
            self._told_at, self._step = now, state.step
            self.progress(Step(say("watch.told_step", None, step=state.step), state.step, state.steps or 0))

    def finish(self) -> None:
        for record in self._read_new():
            if self.events is not None:
                self.events.add(record)
            if "alarm" in record and self.progress:
                self.progress(describe_alarm(record["alarm"]))
        if self.events is not None:
            self.events.close()

    def _read_new(self) -> list[dict[str, Any]]:
        try:
            with self.path.open("rb") as stream:
                stream.seek(self._offset)
                whole, newline, _ = stream.read().rpartition(b"\n")
        except OSError:
            return []  # not there yet
        self._offset += len(whole) + len(newline)
        records = []
        for line in whole.splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                continue
        return [record for record in records if isinstance(record, dict)]


def describe_alarm(alarm: dict[str, Any], lang: str | None = None) -> str:
    """One line for a terminal, while the training goes on."""
    names = ", ".join(alarm.get("names", ())) or "-"
    return say(f"watch.alarm.{alarm['key']}", lang, step=alarm["step"], names=names)


def report_run(place: Path, wanted: Sequence[str], result: LaunchResult | None, *, tier: str) -> Report:
    """What a watched run's files say. `result` is of a launch that has just ended."""
    ranks = [read_watched(path) for path in find_files(place)]
    first = ranks[0]
    if not first.records and result is not None and result.trouble:
        raise WorkbookError("watch.nothing", trouble=result.trouble, path=str(result.output_path))
    folder = place if place.is_dir() else place.parent
    about = read_about(folder)
    tier = tier or str(about.get("tier", ""))
    findings = [finding for watched in ranks for finding in judge_watched(watched, about)]
    findings += find_unlooked(first)
    if about.get("feature_values") or (folder / "output.log").is_file():
        findings += read_device_words(folder / "output.log", bool(about.get("feature_values")))
    if result is not None and result.trouble is not None:
        findings.append(Finding("ACC240", Status.FIX, "ACC240.failed", {"trouble": result.trouble}, weight=400))
    findings.insert(0, _sum_up(first, findings))
    findings = fail_classes(findings, wanted)
    marks = tuple(sorted({float(alarm["step"]) for alarm in first.alarms}))
    chart = Chart("lines", "step", ("loss",), mark=marks[0] if marks else None, below=("grad_norm",), marks=marks)
    return Report(
        "precision",
        "watch",
        tuple(findings),
        _make_table(first),
        chart,
        facts=_collect_facts(ranks, result, folder),
        tier=tier,
    )


def _sum_up(watched: Watched, findings: Sequence[Finding]) -> Finding:
    """The result; what was not looked at lowers it."""
    worst = max((finding.status for finding in findings), default=Status.GOOD)
    size = watched.path.stat().st_size / MIB
    args: dict[str, Scalar] = {"steps": len(watched.records), "parameters": len(watched.names), "mib": round(size, 2)}
    alarms = sum(alarm.get("kind") not in REMARKS for alarm in watched.alarms)
    if alarms:
        return Finding("ACC240", Status.NOTE, "ACC240.alarms", {**args, "alarms": alarms}, weight=200)
    status = worst if worst < Status.LOOK else Status.NOTE
    return Finding("ACC240", status, "ACC240.quiet", args, weight=200)


def _make_table(watched: Watched) -> Table:
    by_step: dict[int, list[str]] = {}
    for alarm in watched.alarms:
        by_step.setdefault(int(alarm["step"]), []).append(str(alarm["key"]))
    rows = []
    for at in _choose_rows(watched, set(by_step)):
        record = watched.records[at]
        ratios = [(float(ratio), int(place)) for place, ratio, *_ in record.get("updates") or () if ratio is not None]
        update: Scalar = f"{max(ratios)[0]:.2e} {watched.names[max(ratios)[1]]}" if ratios else None
        alarm_names = ", ".join(by_step.get(int(record["step"]), ()))
        numbers = (record.get(name) for name in ("loss", "lr", "grad_norm", "loss_scale"))
        rows.append((int(record["step"]), *numbers, update, alarm_names or None))
    return Table(COLUMNS, tuple(rows))


def _choose_rows(watched: Watched, alarms: set[int]) -> list[int]:
    """All steps; of more than MOST some in even distances, and all about an alarm."""
    count = len(watched.records)
    if count <= MOST:
        return list(range(count))
    chosen = {round(at * (count - 1) / (MOST - 1)) for at in range(MOST)}
    for at, record in enumerate(watched.records):
        if int(record["step"]) in alarms:
            chosen |= set(range(max(0, at - AROUND), min(count, at + AROUND + 1)))
    return sorted(chosen)


def _collect_facts(ranks: Sequence[Watched], result: LaunchResult | None, folder: Path) -> dict[str, object]:
    first = ranks[0]
    return {
        "folder": str(folder),
        "file": str(first.path),
        "steps": len(first.records),
        "parameters": len(first.names),
        "bytes": first.path.stat().st_size,
        "seconds": first.end.get("seconds"),
        "elapsed_s": round(result.elapsed_s, 3) if result else None,
        "alarms": [{**alarm, "rank": watched.rank} for watched in ranks for alarm in watched.alarms],
        "states": [name for watched in ranks for name in watched.end.get("kept", ())],
        "skipped": first.end.get("skipped"),
        "standing_in": result.standing_in if result else None,
        "simulator": result.simulator if result else {},
    }

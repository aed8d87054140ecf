"""What a capture wrote, against what it said it would, and what it cost the run."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.machine.sandbox import LANDLOCK
from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.layouts import read_dump

#: The simulated NPU says on a line of its own which of its settings it cannot take; what torch_npu raises names none.
REFUSED = re.compile(r"NPU simulator: cannot start: (ASCEND_WORKBOOK_SIM_\w+: .+)")

#: Errors of programs that found no network.
OF_NETWORK = re.compile(r"URLError|HTTP|gaierror|resolve|[Nn]etwork|ConnectionRefused|offline|unreachable")


def check_ran(result: LaunchResult, tier: str, output: Path | None = None) -> None:
    """Raises WorkbookError where the run failed. `output` is what it printed, where it was put elsewhere."""
    if result.trouble is None:
        return
    text = result.output_path.read_text(encoding="utf-8", errors="replace")
    if refused := REFUSED.search(text):
        raise WorkbookError("precision.simulator_refused", message=refused.group(1).strip())
    kind, message = (result.error.type, result.error.message) if result.error else ("", "")
    key = "precision.file_missing" if kind == "FileNotFoundError" else "precision.capture_failed"
    # torchrun and its ranks ask for the name of the machine in any case
    several = len(result.logs) > 1 and not OF_NETWORK.search(f"{kind} {message}")
    if result.account and result.account.refused_sends and not several:
        key = "precision.network_refused"
    elif result.account and result.account.guard == LANDLOCK and "Permission denied" in message:
        key = "precision.write_refused"
    raise WorkbookError(key, tier=tier, trouble=result.trouble, path=str(output or result.output_path))


CODE = "ACC200"
SHOWN = 3


@dataclass(frozen=True)
class Part:
    """One rank's folder of one step."""

    step: int
    rank: int
    folder: Path
    operators: int
    tensors: int


def read_parts(dump: Path, about: dict[str, Any]) -> list[Part]:
    """Read all parts of a dump; raises WorkbookError where nothing was recorded, saying which option left everything
    out."""
    if about["level"] == "debug":  # what the script gave to PrecisionDebugger.save
        saved_parts = []
        for path in sorted(dump.glob("step*/*/debug.json")):
            try:
                count = len(json.loads(path.read_text(encoding="utf-8"))["data"])
            except (OSError, ValueError, KeyError, TypeError) as cause:
                raise WorkbookError("precision.json_unreadable", path=str(path), error=str(cause)) from cause
            step, place = path.parent.parent.name[4:], path.parent.name
            rank = int(place[4:]) if place.startswith("rank") else 0
            saved_parts.append(Part(int(step), rank, path.parent, count, count))
        if not any(part.tensors for part in saved_parts):
            raise WorkbookError("precision.debug_silent", script=about["script"])
        return sorted(saved_parts, key=lambda part: (part.step, part.rank))
    runs = read_dump(dump)
    selected = [str(name) for key in ("scope", "list", "data_mode") for name in about.get(key, ())]
    if selected and not any(run.operators for run in runs):
        raise WorkbookError("precision.selected_nothing", names=selected, path=str(dump))
    tensors = [sum(len(op.inputs) + len(op.outputs) for op in run.operators) for run in runs]
    return [Part(run.step, run.rank, run.folder, len(run.operators), n) for run, n in zip(runs, tensors)]


def read_budget(folder: Path) -> dict[str, Any]:
    """Read what the ranks said before they started: {"bytes", "step_bytes", "plain_s"}, or {"error"}; empty where
    nothing was said. Each rank knows its own share and takes the others' to be as large."""
    files = sorted(folder.glob("budget.rank*.json"))
    estimates: list[dict[str, Any]] = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    broken = [estimate for estimate in estimates if "error" in estimate]
    return (broken or sorted(estimates, key=lambda estimate: -int(estimate["bytes"])) or [{}])[0]


def measure_overhead(result: LaunchResult, whole: Manifest) -> dict[str, float]:
    """Seconds of a step {"captured_s", "plain_s"}: medians of rank 0, the plain ones after msprobe's hooks were out,
    else from the copy that ran before. Without what was not measured."""
    wanted = set(whole.about["dump_steps"])
    skipped = result.logs and result.logs[0].skipped_steps
    times = {} if skipped else {at: step.time_s for at, step in enumerate(result.steps)}
    captured = [time for at, time in times.items() if at in wanted]
    plain = [time for at, time in times.items() if at > max(wanted)]
    dry = read_budget(whole.folder).get("plain_s")
    seconds = {"captured_s": statistics.median(captured)} if captured else {}
    if plain:
        seconds["plain_s"] = statistics.median(plain)
    elif dry is not None:
        seconds["plain_s"] = float(dry)
    return seconds


def make_findings(whole: Manifest, estimate: dict[str, Any], cost: dict[str, float], size: int) -> Iterator[Finding]:
    """Yield what is to be said of the budget, the overhead, and whether msprobe's hooks are out."""
    if "error" in estimate:
        yield Finding(CODE, Status.NOTE, "ACC200.unestimated", {"why": str(estimate["error"])}, weight=20)
    elif estimate:
        args: dict[str, Scalar] = {"would_mib": _to_mib(estimate["bytes"]), "wrote_mib": _to_mib(size)}
        yield Finding(CODE, Status.GOOD, "ACC200.budget", args, weight=20)
    if {"captured_s", "plain_s"} <= cost.keys() and cost["plain_s"] > 0:
        args = {name: round(seconds, 4) for name, seconds in cost.items()}
        args["ratio"] = round(cost["captured_s"] / cost["plain_s"], 1)
        yield Finding(CODE, Status.GOOD, "ACC200.overhead", args, weight=10)
    else:
        yield Finding(CODE, Status.GOOD, "ACC200.overhead_unknown", weight=10)
    hooks = [side["hooks"] for side in whole.sides.values() if side.get("hooks", {}).get("replaced")]
    left = [name for hook in hooks for name in hook["left"]]
    if left:
        yield Finding(CODE, Status.NOTE, "ACC200.hooks_left", {"count": len(left), "names": left[:SHOWN]}, weight=15)
    elif hooks:
        args = {"replaced": hooks[0]["replaced"], "hooks": hooks[0]["hooks"]}
        yield Finding(CODE, Status.GOOD, "ACC200.hooks_out", args, weight=5)


def ended_early(whole: Manifest, result: LaunchResult) -> Iterator[Finding]:
    """Note where the script came to its own end before the steps that were asked for."""
    asked, ran = int(whole.about["steps"]), len(result.steps)
    if result.outcome == "finished" and ran < asked:
        yield Finding(CODE, Status.NOTE, "ACC200.ended_early", {"asked": asked, "ran": ran}, weight=25)


def name_differences(result: LaunchResult) -> Iterator[Finding]:
    """Yield why this side's numbers are not those of the script as it is, run on the CPU."""
    for sentence in result.differences:
        status = Status.GOOD if sentence.key.endswith("side_assumed") else Status.NOTE
        yield Finding(CODE, status, sentence.key, sentence.args, weight=4)


def _to_mib(size: int) -> float:
    return round(size / (1 << 20), 2)

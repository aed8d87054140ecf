"""Plans whose runs have ended, made without running anything: what stands in their folders is real in form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.batch.campaign.ended import DIED, GOOD, NOT_RUN, RED, TIMED_OUT, Ended
from ascend_workbook.batch.execute import Outcome
from ascend_workbook.batch.plan.model import Item, LeftOut, Plan
from ascend_workbook.batch.workbook import summarize_run
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.storage import open_storage

OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity)"
STAGES = ("environment", "migration", "precision", "profiling")


def stage_report(stage: str, status: Status = Status.GOOD, key: str = "RUN400.stopped", tier: str = "npu") -> Report:
    """A stage's report with one finding."""
    return Report(stage, "run", (Finding("RUN400", status, key, {"stages": 4, "doubts": ""}),), tier=tier)


def run_folder(folder: Path, name: str, outcomes: list[Outcome], tier: str = "npu") -> None:
    """A run's folder with its stages' reports and its own, as `workbook.run` leaves them."""
    for outcome in outcomes:
        storage = open_storage(str(folder / outcome.stage))
        if outcome.state in ("good", "red"):
            status = Status.GOOD if outcome.state == "good" else Status.FIX
            key = "RUN400.green" if outcome.state == "good" else "RUN400.stopped"
            storage.write_text("report.json", stage_report(outcome.stage, status, key, tier).to_json())
        storage.write_text("notebook.ipynb", "{}")
    report = summarize_run(name, folder, outcomes, STAGES, tier)
    open_storage(str(folder)).write_text("report.json", report.to_json())
    open_storage(str(folder)).write_text("index.html", "<html></html>")
    open_storage(str(folder)).write_text("log.txt", "")


def item(name: str, *, tags: tuple[str, ...] = ()) -> Item:
    return Item(name, STAGES, {"script": f"{name}.py", "steps": "3"}, "en", tags=tags)


def ended(folder: Path, name: str, how: str, *, tier: str = "npu", seconds: float = 60.0, **more: Any) -> Ended:
    """`how`: good, red, oom, error, died, timed_out, not_run."""
    at = {"good": 4, "red": 3, "oom": 3, "error": 4}.get(how, 2)
    outcomes = [Outcome(stage, "good", "k", seconds / 4) for stage in STAGES[: at - (how != "good")]]
    if how == "red":
        outcomes.append(Outcome(STAGES[at - 1], "red", "k", 3.5, 7, "stopped"))
    elif how in ("oom", "error"):
        error = OOM if how == "oom" else f"ValueError: {name} <script>alert(1)</script> at 0x7f{len(name)}"
        outcomes.append(Outcome(STAGES[at - 1], "cell_failed", "k", 3.5, 7, error))
    if how != "not_run":
        run_folder(folder / name, name, outcomes, tier)
    state = {"good": GOOD, "died": DIED, "timed_out": TIMED_OUT, "not_run": NOT_RUN}.get(how, RED)
    verdict = {"say": "RUN400.green", "args": {"stages": 4}} if how == "good" else {"say": "RUN400.stopped"}
    status = "Good" if how == "good" else "Fix"
    return Ended(name, state, status, verdict, tier, tier == "npu-simulated", seconds, **more)


def night(folder: Path, how: dict[str, str], **plan: Any) -> tuple[Plan, dict[str, Ended]]:
    """A plan of runs that ended as told: {"a": "good", "b": "red"}."""
    done = {name: ended(folder, name, state) for name, state in how.items() if state != "not_run"}
    return Plan("night", tuple(map(item, how)), **plan), done


__all__ = ["LeftOut", "ended", "item", "night", "run_folder", "stage_report"]

"""Starts a run's process, waits for it, and says what became of it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from helpers import report as reports
from helpers.batch.campaign import child
from helpers.batch.campaign.ended import DIED, GOOD, RED, STOPPED, Ended, save
from helpers.batch.plan.model import Item
from helpers.finding import Status
from helpers.report import Report

ROOT = Path(__file__).resolve().parents[3]


def run_item(item: Item, root: Path, notebooks: Path, *, force: bool = False) -> Ended:
    """The run in a process of its own; its end is written before (as stopped) and after."""
    folder = root / item.name
    folder.mkdir(parents=True, exist_ok=True)
    save(folder, Ended(item.name, STOPPED, "FAIL", {"say": "RUN400.stopped"}))
    order = folder / "order.json"
    order.write_text(child.order(item, root, notebooks, force=force), encoding="utf-8")
    began = time.monotonic()
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        command = [sys.executable, "-m", "helpers.batch.campaign.child", str(order)]
        done = subprocess.run(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=ROOT, check=False)
    ended = _judged(item, folder, done.returncode, round(time.monotonic() - began, 1))
    save(folder, ended)
    return ended


def _judged(item: Item, folder: Path, code: int, seconds: float) -> Ended:
    report = _report(folder)
    if code < 0 or report is None:
        return Ended(item.name, DIED, "FAIL", {"say": "plan.died", "args": {"code": code}}, seconds=seconds)
    headline = report.headline
    verdict = {"say": headline.key, "args": headline.args} if headline else ""
    state = RED if code or report.status is Status.FAIL else GOOD
    return Ended(item.name, state, report.status.name, verdict, report.tier, report.simulated, seconds)


def _report(folder: Path) -> Report | None:
    path = folder / "report.json"
    return reports.load(path) if path.is_file() else None

"""`run plan.yaml`: the runs side by side, the page and the summary after each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from helpers.batch.campaign.ended import Ended
from helpers.batch.campaign.summary import publish
from helpers.batch.campaign.worker import run_item
from helpers.batch.plan import Selection, chosen
from helpers.batch.workbook import NOTEBOOKS, folder_of
from helpers.report import Report
from helpers.words import language, say


def run_plan(
    path: str | os.PathLike[str],
    *,
    workers: int = 0,
    root: str | os.PathLike[str] = "runs",
    lang: str | None = None,
    force: bool = False,
    selection: Selection | None = None,
    notebooks: Path = NOTEBOOKS,
    say_progress: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> Report:
    """Runs all of a plan below `root`/its name, `workers` side by side (0: as the plan says); a row per run.

    Raises WorkbookError, before anything starts, for what is wrong with the plan.
    """
    lang = language(lang)
    plan = chosen(path, selection, lang=lang, notebooks=notebooks)
    folder = folder_of(plan.name, root)
    ended: dict[str, Ended] = {}
    report = publish(plan, ended, folder, lang)
    with ThreadPoolExecutor(max_workers=workers or plan.workers) as pool:
        futures = [pool.submit(run_item, item, folder, notebooks, force=force) for item in plan.items]
        for future in as_completed(futures):
            one = future.result()
            ended[one.name] = one
            report = publish(plan, ended, folder, lang)
            say_progress(say("plan.run_ended", lang, number=len(ended), of=len(plan.items), run=one.name,
                             state={"say": f"plan.state.{one.state}"}, seconds=one.seconds))  # fmt: skip
    return report

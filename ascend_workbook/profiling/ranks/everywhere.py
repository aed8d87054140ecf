"""Every rank read where there is room: in processes on all cores, or on the machines of a Dask cluster.

What comes back is JSON text, the same from both: of two ways to hand over a result one would be wrong one day.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple, Union

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.scheduler import connect_client, explain_loss, wait_for
from ascend_workbook.profiling.ranks.facts import RankFacts

#: (path, rank) -> what `answer_to_json` gives; a function that processes and machines can share
Answer = Callable[[str, int], str]


class RankAnswer(NamedTuple):
    """What one rank's profile says; `report` is None where only tables are there."""

    facts: RankFacts
    report: Report | None


Outcome = Union[RankAnswer, WorkbookError]


def answer_to_json(read: Callable[[], RankAnswer]) -> str:
    """Return an answer as JSON text; an error as its key and arguments."""
    try:
        facts, report = read()
    except WorkbookError as error:
        return json.dumps({"error": error.key, "args": error.arguments})
    return json.dumps({"facts": facts.to_dict(), "report": report.to_json() if report else None})


def read_ranks_in_parallel(profiles: Mapping[int, Path], answer: Answer, scheduler: str = "") -> dict[int, Outcome]:
    """Read every rank and return its answer by rank. Raises WorkbookError where the cluster cannot be used."""
    paths = {rank: str(path.resolve()) for rank, path in profiles.items()}
    texts = _on_cluster(paths, answer, scheduler) if scheduler else _in_processes(paths, answer)
    return {rank: _parse_outcome(text) for rank, text in texts.items()}


def _in_processes(paths: Mapping[int, str], answer: Answer) -> dict[int, str]:
    with ProcessPoolExecutor(min(len(paths), os.cpu_count() or 1)) as processes:
        futures = {rank: processes.submit(answer, path, rank) for rank, path in paths.items()}
    texts = {}
    for rank, future in futures.items():
        try:
            texts[rank] = future.result()
        except BrokenProcessPool:  # one that is killed takes the others' with it, so each of these is read alone
            texts[rank] = _answer_alone(answer, paths[rank], rank)
    return texts


def _answer_alone(answer: Answer, path: str, rank: int) -> str:
    with ProcessPoolExecutor(1) as process:
        try:
            return process.submit(answer, path, rank).result()
        except BrokenProcessPool as cause:
            return json.dumps({"error": "ranks.process_lost", "args": {"rank": rank, "error": str(cause)}})


def _on_cluster(paths: Mapping[int, str], answer: Answer, address: str) -> dict[int, str]:
    with connect_client(address) as client:
        futures = client.map(answer, list(paths.values()), list(paths), pure=False)
        wait_for(client, address, futures)
        texts = {}
        for rank, future in zip(paths, futures):
            why = explain_loss(address, future)
            lost = json.dumps({"error": "ranks.machine_lost", "args": {"rank": rank, "error": why}})
            texts[rank] = str(future.result()) if why is None else lost
        return texts


def _parse_outcome(text: str) -> Outcome:
    content = json.loads(text)
    if "error" in content:
        return WorkbookError(content["error"], **content["args"])
    report = Report.from_json(content["report"]) if content["report"] else None
    return RankAnswer(RankFacts.from_dict(content["facts"]), report)

"""The command line of `rehearse`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb, progress_line
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine.launch import Progress
from ascend_workbook.machine.launch.enclosed import announce_guard
from ascend_workbook.machine.sandbox import find_guard
from ascend_workbook.planning.rehearsal import rehearse


def run_rehearsal(call: partial[Report], lang: str | None) -> Report:
    """Run the verb, a line for each step of a rank; first of all, where the script is not enclosed, that it is not."""
    remaining = announce_guard(find_guard(), copied=True)
    if remaining is not None:
        progress_line(say(remaining.key, lang, **remaining.args))
    return call(on_progress=partial(print_step, lang=lang))


def print_step(rank: int, progress: Progress, *, lang: str | None = None) -> None:
    """Print a line for a step of a rank."""
    progress_line(say("rehearsal.step", lang, rank=rank, step=progress.step, steps=progress.steps))


VERBS = {
    "rehearse": Verb(
        rehearse,
        {
            "chip": "NAME",
            "memory": "SIZE",
            "ranks": "WHICH",
            "assume": Row(metavar="PLACE=VALUE"),
            "basis": "FILE",
            "out": "FOLDER",
            "profile": "FOLDER",
            "timeout_s": Row("--timeout", metavar="S"),
            "seed": None,
            **dict.fromkeys(("cards", "nodes", "steps"), "N"),
        },
        run_rehearsal,
    ),
}

"""The command lines of `dry-run`, `operators` and `migrate`, which run a script."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb, progress_line
from ascend_workbook.findings.report import TIERS, Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine.launch import Progress
from ascend_workbook.machine.launch.enclosed import announce_guard
from ascend_workbook.machine.launch.spec import DRAWS
from ascend_workbook.machine.sandbox import find_guard
from ascend_workbook.migration.dry_run import dry_run
from ascend_workbook.migration.loop import migrate
from ascend_workbook.migration.operators import operators
from ascend_workbook.migration.rewrite.change import MODES


def run_script(call: partial[Report], lang: str | None) -> Report:
    """Run the verb, a line for each step of a side; first of all, where the script is not enclosed, that it is not."""
    remaining = announce_guard(find_guard(), copied=True)
    if remaining is not None:
        progress_line(say(remaining.key, lang, **remaining.args))
    return call(on_progress=partial(print_step, lang=lang))


def print_step(side: str, progress: Progress, *, lang: str | None = None) -> None:
    """Print a line for a step; a side that is neither the baseline nor the target goes by its device's name."""
    if progress.loss is not None:
        name: Scalar = Sentence(f"migration.side.{side}") if side in ("baseline", "target") else side
        loss = f"{progress.loss:.6g}"
        line = say("migration.step", lang, side=name, step=progress.step, steps=progress.steps, loss=loss)
        progress_line(line)


VERBS = {
    "dry-run": Verb(
        dry_run,
        {
            "mode": Row(choices=MODES),
            "draws": Row(choices=DRAWS),
            "out": "FOLDER",
            "timeout_s": Row("--timeout", metavar="S"),
            "loss_regex": "PATTERN",
        },
        run_script,
    ),
    "operators": Verb(
        operators,
        {
            "device": Row(choices=("auto", *TIERS, "meta")),
            "mode": Row(choices=MODES),
            "draws": Row(choices=DRAWS),
            "out": "FOLDER",
            "timeout_s": Row("--timeout", metavar="S"),
            "seed": None,
            **dict.fromkeys(("steps", "warmup", "nproc"), "N"),
        },
        run_script,
    ),
    "migrate": Verb(
        migrate,
        {
            "mode": Row(choices=MODES),
            **dict.fromkeys(("out", "root"), "FOLDER"),
            "branch": "NAME",
            "skip": Row(metavar="CURE"),
            "torch_npu": "VERSION",
            "timeout_s": Row("--timeout", metavar="S"),
            "loss_regex": "PATTERN",
            **dict.fromkeys(("steps", "nproc", "rounds", "seed"), "N"),
        },
        run_script,
    ),
}

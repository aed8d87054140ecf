"""The command line of `dry-run`."""

from __future__ import annotations

from functools import partial

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.cli.progress import progress_line
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine.launch import Progress
from ascend_workbook.migration.dry_run import dry_run
from ascend_workbook.migration.rewrite.work import MODES


def run(call: partial[Report], lang: str | None) -> Report:
    """Run both sides, a line for each step."""
    return call(on_progress=partial(print_step, lang=lang))


def print_step(side: str, progress: Progress, *, lang: str | None = None) -> None:
    """Print a line for a step; a side that is neither the baseline nor the target goes by its device's name."""
    if progress.loss is not None:
        name: Scalar = Sentence(f"migration.side.{side}") if side in ("baseline", "target") else side
        loss = f"{progress.loss:.6g}"
        line = say("migration.step", lang, side=name, step=progress.step, steps=progress.steps, loss=loss)
        progress_line(line)


ROWS = {
    "mode": Row(choices=MODES),
    "out": Row(metavar="FOLDER"),
    "timeout_s": Row("--timeout", metavar="S"),
    "loss_regex": Row(metavar="PATTERN"),
}
EXAMPLES = """
  ascend-workbook dry-run train.py
  ascend-workbook dry-run --steps 20 --device npu-simulated train.py --epochs 1 --batch-size 8
  ascend-workbook dry-run torchrun --nproc_per_node=2 train.py --epochs 1
  ascend-workbook dry-run train.ipynb
  ascend-workbook dry-run bash scripts/run.sh 8
  ascend-workbook dry-run --meta train.py --layers 80
"""
VERB = Verb(dry_run, ROWS, run, examples=EXAMPLES)

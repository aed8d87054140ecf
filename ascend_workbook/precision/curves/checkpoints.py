"""From which saved state a run can go on: what its log tells, and what lies beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ascend_workbook.precision.curves.series import Checkpoint, Curve

#: checkpoint-500 (Trainer), iter_0000500 (Megatron-LM, mmengine: iter_500.pth), global_step500 (DeepSpeed),
#: epoch=0-step=500.ckpt (Lightning), step_500.pt, ckpt_500.pt
NAME = re.compile(r"(?:checkpoint[-_]|ckpt[-_]|iter[-_]|global_?step[-_]?|step[=_-])0*(\d{1,15})(?![\d])", re.I)
MOST = 10_000


def find_checkpoints(curve: Curve, folder: Path | None = None) -> list[Checkpoint]:
    """Find the checkpoints in order of steps: told by the log, and found in `folder`, or in the log's own folder."""
    place = folder or (curve.path if curve.path.is_dir() else curve.path.parent)
    by_step = {checkpoint.step: checkpoint for checkpoint in (*curve.checkpoints, *_checkpoints_in_folder(place))}
    return [by_step[step] for step in sorted(by_step)]


def last_before(known: Iterable[Checkpoint], step: int) -> Checkpoint | None:
    """The last state that has not seen the batch of this step."""
    return max(
        (checkpoint for checkpoint in known if checkpoint.step < step),
        key=lambda checkpoint: checkpoint.step,
        default=None,
    )


def _checkpoints_in_folder(place: Path) -> Iterable[Checkpoint]:
    try:
        names = [entry.name for entry, _ in zip(os.scandir(place), range(MOST))]
    except OSError:
        return
    for name in names:
        if match := NAME.search(name):
            yield Checkpoint(int(match[1]), str(place / name))

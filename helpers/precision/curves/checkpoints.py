"""From which saved state a run can go on: what its log tells, and what lies beside it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from helpers.precision.curves.series import Checkpoint, Curve

#: checkpoint-500 (Trainer), iter_0000500 (Megatron-LM, mmengine: iter_500.pth), global_step500 (DeepSpeed),
#: epoch=0-step=500.ckpt (Lightning), step_500.pt, ckpt_500.pt
NAME = re.compile(r"(?:checkpoint[-_]|ckpt[-_]|iter[-_]|global_?step[-_]?|step[=_-])0*(\d{1,15})(?![\d])", re.I)
MOST = 10_000


def checkpoints(curve: Curve, folder: Path | None = None) -> list[Checkpoint]:
    """In order of steps: told by the log, and found in `folder`, or in the log's own folder where none is given."""
    place = folder or (curve.path if curve.path.is_dir() else curve.path.parent)
    found = {one.step: one for one in (*curve.checkpoints, *_beside(place))}
    return [found[step] for step in sorted(found)]


def last_before(known: Iterable[Checkpoint], step: int) -> Checkpoint | None:
    """The last state that has not seen the batch of this step."""
    return max((one for one in known if one.step < step), key=lambda one: one.step, default=None)


def _beside(place: Path) -> Iterable[Checkpoint]:
    try:
        names = [entry.name for entry, _ in zip(os.scandir(place), range(MOST))]
    except OSError:
        return
    for name in names:
        if found := NAME.search(name):
            yield Checkpoint(int(found[1]), str(place / name))

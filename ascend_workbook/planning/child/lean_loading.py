"""A launch plugin: data is loaded by the training's own process, as it asks for it.

A rehearsal takes a few batches: a dozen workers that prepare two more batches each would take the time and the host's
memory of hundreds. What the device gets is the same. Runs in the user's process by path and imports nothing of the
workbook."""

from __future__ import annotations

import functools
from typing import Any

from torch.utils.data import DataLoader

#: This file's frames stand between the program and torch; whose line it is must not change by that.
PASSES_THROUGH = True
#: Options that go with workers alone, and what they are without.
WITHOUT_WORKERS = {
    "num_workers": 0,
    "prefetch_factor": None,
    "persistent_workers": False,
    "multiprocessing_context": None,
    "timeout": 0,
}
#: Where num_workers stands among what is given by place: behind dataset, batch_size, shuffle and two samplers.
PLACE = 5


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Let no DataLoader start workers from now on."""
    ordinary = DataLoader.__init__

    @functools.wraps(ordinary)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        by_place = list(args)
        if len(by_place) > PLACE:
            by_place[PLACE] = 0
        kwargs = {name: WITHOUT_WORKERS.get(name, value) for name, value in kwargs.items()}
        ordinary(self, *by_place, **kwargs)

    DataLoader.__init__ = init

"""Dumps of a training's operators beside its states, and a fault in one of their calls."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ascend_workbook.precision.capturing import manifest
from benchmarks.matrix import faults
from benchmarks.matrix.recorder import Call, Recorder, Tampering

#: What these trainings call besides, by the names that msprobe gives it.
CALLED = {
    Tensor.__matmul__: "Tensor.__matmul__",
    Tensor.__add__: "Tensor.__add__",
    Tensor.__mul__: "Tensor.__mul__",
    Tensor.__truediv__: "Tensor.__truediv__",
    Tensor.softmax: "Tensor.softmax",
    torch.nn.functional.leaky_relu: "Functional.leaky_relu",
    torch.nn.functional.embedding_bag: "Functional.embedding_bag",
    torch.nn.functional.conv_transpose2d: "Functional.conv_transpose2d",
    torch.nn.functional.adaptive_avg_pool2d: "Functional.adaptive_avg_pool2d",
    torch.nn.functional.binary_cross_entropy_with_logits: "Functional.binary_cross_entropy_with_logits",
}
#: Beside a capture: which calls each kind of fault can strike, and by how much a fault changed what it struck.
SITES, SIZES = "sites.json", "sizes.json"


#: What records and what makes noise calls operators too, which are none of the training's.
NOT_RECORDED = ("/precision/child/", "/tests/precision/state/running.py", "/machine/launch/")


class Training(Recorder):
    """Records what the training calls, and not what watches it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        caller = sys._getframe(1).f_code.co_filename
        if any(part in caller for part in NOT_RECORDED):
            return func(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs)


class Dumps:
    """Records each step from its first forward to its first update, by `task`; strikes `call` ("" for none) with a
    fault of `kind` from step `start` on."""

    def __init__(self, task: str, kind: str = "", call: str = "", start: int = 0, seed: int = 0) -> None:
        self.task, self.kind, self.call, self.start, self.seed = task, kind, call, start, seed
        self.recorder: Recorder | None = None
        self.waiting: Path | None = None
        self.entered = False
        self.sizes: list[float] = []
        self.sites: dict[str, list[str]] = {}

    def begin_step(self, folder: Path, step: int, rank: int) -> None:
        """Wait for the step's first forward."""
        if self.recorder is None:
            register_module_forward_pre_hook(lambda *_: self._begin())
            register_optimizer_step_pre_hook(lambda *_: self.end_forward())
        self.end_step()
        self.folder, self.step = folder, step
        self.waiting = folder / manifest.DUMP / f"step{step}" / f"rank{rank}"
        self.recorder = Training(self.waiting if self.task == "tensor" else None, self._tamper(step))
        self.recorder.known = {**self.recorder.known, **CALLED}

    def _tamper(self, step: int) -> Tampering:
        if not self.call or step < self.start:
            return Tampering()
        head, _, number = self.call.rpartition(".")
        made = faults.tamper(self.kind, Call(head, int(number), True, (), {}), random.Random(self.seed))
        made.sizes = self.sizes
        return made

    def _begin(self) -> None:
        if self.recorder is not None and self.waiting is not None and not self.entered:
            self.entered = True
            self.recorder.__enter__()

    def end_forward(self) -> None:
        """The update is not recorded, as a capture does not."""
        if self.entered and self.recorder is not None and self.waiting is not None:
            self.recorder.__exit__(None, None, None)
            self.entered = False
            self._save(self.recorder, self.waiting)
            self.waiting = None

    def end_step(self) -> None:
        """Save what was recorded; a step without an update too."""
        self.end_forward()
        if self.recorder is not None and self.recorder.calls:
            (self.folder / SIZES).write_text(json.dumps(self.sizes), encoding="utf-8")
            (self.folder / SITES).write_text(json.dumps(self.sites), encoding="utf-8")

    def _save(self, recorder: Recorder, where: Path) -> None:
        recorder.save(where)
        seen: Counter[str] = Counter(call.name for call in recorder.calls)
        for kind in faults.KINDS if not self.call else ():
            # a stack is made by clipping alone
            calls = [call for call in faults.sites(kind, recorder.calls) if call.api != "stack"]
            names = [call.name for call in calls if seen[call.name] == 1]
            earlier = self.sites.get(kind)
            self.sites[kind] = [name for name in names if earlier is None or name in earlier]


def read_sites(folder: Path) -> dict[str, list[str]]:
    """Which calls of a recorded training each kind of fault can strike in every step."""
    sites: dict[str, list[str]] = json.loads((folder / SITES).read_text(encoding="utf-8"))
    return sites


def read_size(folder: Path) -> float | None:
    """By how much the fault changed what it struck, relative L2; None where that was not measured."""
    sizes: list[Any] = json.loads((folder / SIZES).read_text(encoding="utf-8"))
    return max(sizes, default=None)

"""Three lines for a script that watches itself.

watcher = watch_training(model, optimizer, out="runs/watch")
...
watcher.log(loss=loss)          # in the loop, behind backward; optional
print(watcher.close())          # the report
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_workbook.findings.report import Report
from ascend_workbook.precision.child.watch_rules import Alarm
from ascend_workbook.precision.watching.reading import FILE
from ascend_workbook.precision.watching.verb import (
    ACTIVATION_EVERY,
    STATE_MIB,
    UPDATE_EVERY,
    describe_alarm,
    make_config,
    report_run,
)
from ascend_workbook.redaction.known import known_values

if TYPE_CHECKING:
    import torch


def watch_training(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    *more: torch.optim.Optimizer,
    out: str | Path = "runs/watch",
    scaler: Any = None,
    update_every: int = UPDATE_EVERY,
    activation_every: int = ACTIVATION_EVERY,
    state_mib: int = STATE_MIB,
    quiet: bool = False,
) -> Watcher:
    """Watch a model from inside its own script: every `optimizer.step` is a step; of several the last one's ends it.

    `scaler` is a GradScaler, whose scale is noted. Alarms are printed unless `quiet`. The file is `out`/watch.jsonl."""
    config = make_config(update_every, activation_every, state_mib)
    return Watcher(model, (optimizer, *more), Path(out), config, scaler, quiet)


class Watcher:
    """What watches; `close` ends it and gives the report."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        out: Path,
        config: dict[str, int],
        scaler: Any,
        quiet: bool,
    ) -> None:
        from ascend_workbook.precision.child import watch as child

        rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        self.folder = out
        self.recorder = child.Recorder(out, config, rank, world, sorted(known_values()))  # type: ignore[arg-type]
        self.recorder.scaler = scaler if scaler is not None and scaler.is_enabled() else None
        self.recorder.on_alarm = None if quiet else _print_alarm
        self._loss: Any = None
        self._last = optimizers[-1]
        self._hooks = [self.recorder.watch_clipping()]
        self.recorder.add_model(model)
        for optimizer in optimizers:
            self._hooks.append(optimizer.register_step_pre_hook(self._begin).remove)
            self._hooks.append(optimizer.register_step_post_hook(self._end).remove)

    def log(self, loss: Any) -> None:
        """Note the loss of the step that goes on; it stays on its device until it is written."""
        self._loss = loss

    def close(self) -> Report:
        """End the watching and report it."""
        self.detach()
        self.recorder.finish("finished")
        return report_run(self.folder, (), None, tier="")

    def detach(self) -> None:
        """Take every hook away."""
        for remove in self._hooks:
            remove()
        self._hooks = []

    @property
    def alarms(self) -> list[Alarm]:
        """What was found so far."""
        return list(self.recorder.alarms)

    @property
    def path(self) -> Path:
        return self.folder / FILE

    def _begin(self, optimizer: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        self.recorder.begin_update(optimizer)

    def _end(self, optimizer: torch.optim.Optimizer, args: object, kwargs: object) -> None:
        self.recorder.end_update(optimizer)
        if optimizer is self._last:
            rate = optimizer.param_groups[0].get("lr")
            loss, self._loss = self._loss, None
            self.recorder.end_step(loss, None if rate is None else float(rate))


def _print_alarm(alarm: Alarm) -> None:
    print(f"[watch] {describe_alarm(alarm)}", flush=True)

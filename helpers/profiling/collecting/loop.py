"""`recording`: the same profiler, options and account around a training loop of the caller's own.

    with recording("out", steps=5) as recorder:
        for batch in loader:
            train(batch)
            recorder.step()
    recorder.report

Under torchrun each rank records itself into the one folder (`ranks=(0,)`: only some do).
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from helpers.device import Device
from helpers.errors import WorkbookError
from helpers.profiling.collecting import account, folder, here
from helpers.profiling.collecting.options import Options, for_child, remarks
from helpers.report import Report
from helpers.words import Scalar


def recording(
    out: str | os.PathLike[str] = "profile", *, device: str = "auto", model: Any = None, **options: Any
) -> Recorder:
    """A context manager that profiles `wait + warmup + steps` calls of its `step()`; `options` are those of Options.

    `model`, a torch module, lets the room on the disk be estimated before. Raises WorkbookError where an option makes
    no sense, the device is not this process's, or the folder is somebody else's.
    """
    return Recorder(Path(out).absolute() / "data", Options.of(options), here.device(device), model)


class Recorder:
    """Told of each step; `report` says what came, once the block has ended."""

    def __init__(self, where: Path, plan: Options, found: Device, model: Any) -> None:
        self.rank, self.nproc = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        plan.check_ranks(self.nproc)
        folder.check(where)
        self._where, self._plan, self._found, self._model = where, plan, found, model
        self._remarks = tuple(remarks(plan, found))
        self._times: list[float] = []
        self._profiler: Any = None
        self._mark = 0.0
        self._report: Report | None = None

    @property
    def done(self) -> bool:
        """Whether all that was asked for is recorded: the loop may go on, or end here."""
        return len(self._times) >= self._plan.total

    @property
    def report(self) -> Report:
        """A row per kind of data of this rank. Raises WorkbookError inside the block, and on a rank not recorded."""
        if self._report is None:
            raise WorkbookError("profiling.not_ended", rank=self.rank)
        return self._report

    def __enter__(self) -> Recorder:
        ranks = self._plan.recorded_ranks(self.nproc)
        if self.rank not in ranks:
            return self
        if self.rank == ranks[0]:
            folder.begin(self._where, self._record())
        folder.clear(self._where, self.rank)
        config = for_child(self._plan, self._found.accelerator, str(self._where))
        self._profiler = _profiler(config, self.rank, self.nproc, self._model)
        self._profiler.start()
        self._mark = time.perf_counter()
        return self

    def step(self) -> None:
        """Call it at the end of each step. Nothing waits for the device here: it would show in the profile."""
        if self.done or self._profiler is None:
            return
        self._times.append(time.perf_counter() - self._mark)
        self._profiler.step()
        self._mark = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._profiler is None:
            return
        self._profiler.stop()  # steps that did not come are missing; nothing more after the last
        said: dict[str, Scalar] = {"error": f"{kind.__name__}: {error}" if kind else ""}
        trouble: dict[str, Scalar] | None = {"say": "profiling.loop_failed", "args": said} if kind else None
        ranks = self._plan.recorded_ranks(self.nproc)
        if self.rank == ranks[0]:
            complete = kind is None and self.done
            folder.end(self._where, {**self._record(), "simulator": here.simulator(self._found)}, complete=complete)
        facts = {"rank": self.rank, "simulator": here.simulator(self._found)}
        about = (self._plan, self._found, self._where, [self.rank], self._times, self.nproc)
        self._report = account.report(account.Recording(*about, trouble, self._remarks, facts))

    def _record(self) -> dict[str, Any]:
        plan = self._plan
        schedule = {"steps": plan.steps, "warmup": plan.warmup, "wait": plan.wait}
        ranks = plan.recorded_ranks(self.nproc)
        about = folder.about(self._found, os.environ)
        return {**about, "script": "", "args": [], "nproc": self.nproc, **schedule, "ranks": ranks}


def _profiler(config: dict[str, Any], rank: int, nproc: int, model: Any) -> Any:
    from helpers.profiling.child import recorder

    if model is not None:
        told = recorder.room(model, config, rank, nproc)
        if told["refused"]:
            raise WorkbookError("PRF300.room", **told, path=config["folder"])
    return recorder.make(config, rank)

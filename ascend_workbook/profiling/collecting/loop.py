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

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling.collecting import account, folder, here
from ascend_workbook.profiling.collecting.options import Options, for_child, list_remarks


def recording(
    out: str | os.PathLike[str] = "profile", *, device: str = "auto", model: Any = None, **options: Any
) -> Recorder:
    """Return a context manager that profiles `wait + warmup + steps` calls of its `step()`; `options` are those of
    Options.

    `model`, a torch module, lets the room on the disk be estimated before. Raises WorkbookError where an option makes
    no sense, the device is not this process's, or the folder is somebody else's.
    """
    return Recorder(Path(out).absolute() / "data", Options.from_mapping(options), here.find_device(device), model)


class Recorder:
    """Told of each step; `report` says what came, once the block has ended."""

    def __init__(self, where: Path, plan: Options, device: Device, model: Any) -> None:
        self.rank, self.nproc = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        plan.check_ranks(self.nproc)
        folder.check(where)
        self._where, self._plan, self._device, self._model = where, plan, device, model
        self._remarks = tuple(list_remarks(plan, device))
        self._times: list[float] = []
        self._profiler: Any = None
        self._mark = 0.0
        self._report: Report | None = None

    @property
    def done(self) -> bool:
        """Return whether all that was asked for is recorded: the loop may go on, or end here."""
        return len(self._times) >= self._plan.total

    @property
    def report(self) -> Report:
        """Return the report, a row per kind of data of this rank. Raises WorkbookError inside the block, and on a rank
        not recorded.
        """
        if self._report is None:
            raise WorkbookError("profiling.not_ended", rank=self.rank)
        return self._report

    def __enter__(self) -> Recorder:
        ranks = self._plan.recorded_ranks(self.nproc)
        if self.rank not in ranks:
            return self
        if self.rank == ranks[0]:
            folder.begin_record(self._where, self._make_record())
        folder.clear_recording(self._where, self.rank)
        config = for_child(self._plan, self._device.accelerator, str(self._where))
        self._profiler = _make_profiler(config, self.rank, self.nproc, self._model)
        self._profiler.start()
        self._mark = time.perf_counter()
        return self

    def step(self) -> None:
        """Mark the end of a step: call it at the end of each. Nothing waits for the device here: it would show in the
        profile.
        """
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
        arguments: dict[str, Scalar] = {"error": f"{kind.__name__}: {error}" if kind else ""}
        trouble: Sentence | None = Sentence("profiling.loop_failed", **arguments) if kind else None
        ranks = self._plan.recorded_ranks(self.nproc)
        if self.rank == ranks[0]:
            complete = kind is None and self.done
            folder.end_record(
                self._where,
                {**self._make_record(), "simulator": here.describe_simulator(self._device)},
                complete=complete,
            )
        facts = {"rank": self.rank, "simulator": here.describe_simulator(self._device)}
        about = (self._plan, self._device, self._where, [self.rank], self._times, self.nproc)
        self._report = account.report_recording(account.Recording(*about, trouble, self._remarks, facts))

    def _make_record(self) -> dict[str, Any]:
        """Return the record of what this loop was asked to record."""
        plan = self._plan
        schedule = {"steps": plan.steps, "warmup": plan.warmup, "wait": plan.wait}
        ranks = plan.recorded_ranks(self.nproc)
        about = folder.describe_run(self._device, os.environ)
        return {**about, "script": "", "args": [], "nproc": self.nproc, **schedule, "ranks": ranks}


def _make_profiler(config: dict[str, Any], rank: int, nproc: int, model: Any) -> Any:
    """Make the profiler; raises WorkbookError where its recording would need more room than there is."""
    from ascend_workbook.profiling.child import recorder

    if model is not None:
        estimate = recorder.room(model, config, rank, nproc)
        if estimate["refused"]:
            raise WorkbookError("PRF300.room", **estimate, path=config["folder"])
    return recorder.make(config, rank)

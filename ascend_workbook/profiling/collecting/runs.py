"""What is recorded: steps of an unmodified script in a child (`profile`), or of the caller's own loop (`recording`).

The script runs on an NPU under torch_npu's transfer_to_npu, on CUDA as it is, and on the CPU with CUDA mapped to it.
A loop tells of its steps:

    with recording("out", steps=5) as recorder:
        for batch in loader:
            train(batch)
            recorder.step()
    recorder.report

Under torchrun each rank records itself into the one folder (`ranks=(0,)`: only some do)."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine import cann
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchSpec, Plugin, Progress, launch
from ascend_workbook.profiling.collecting import account
from ascend_workbook.profiling.collecting.options import Options, for_child, list_remarks

if TYPE_CHECKING:
    import torch

PLUGIN = Path(__file__).parents[1] / "child" / "profiler_plugin.py"
#: Behind the recording on a simulated NPU: what a step takes without it is told by more than the few before it
MORE_STEPS = 6


def profile(
    script: str | os.PathLike[str],
    args: Sequence[str] = (),
    *,
    device: str = "auto",
    out: str | os.PathLike[str] = "profile",
    cwd: str | os.PathLike[str] | None = None,
    nproc: int = 1,
    timeout_s: float | None = None,
    python: str = sys.executable,
    on_progress: Callable[[Progress], None] | None = None,
    **options: object,
) -> Report:
    """Profile training steps of the script into the folder `out`; `options` are those of Options. The report has a row
    per kind of data; `facts["profile"]` is the path to give to `analyse` (the first recorded rank's),
    `facts["overhead"]` the milliseconds of a step without and with the profiler. It FAILs where the script failed or
    where data that the device must give is absent. Raises WorkbookError where the device is not here or an option makes
    no sense."""
    plan = Options.from_mapping(options)
    plan.check_ranks(nproc)
    where = Path(out).absolute() / "data"
    account.check_folder(where)
    chosen_device = devices.find(device, python=python)
    notes = list_remarks(plan, chosen_device)
    if notes and on_progress:
        on_progress(Progress(0, plan.total, None, tuple(say(key, None, **args) for key, args in notes)))
    # one rank cannot go on without the others; a device's own times need no steps beside them
    more_steps = MORE_STEPS if chosen_device.simulated and nproc == 1 else 0
    spec = LaunchSpec(
        out=Path(out) / "launch",
        script=Path(script),
        args=tuple(args),
        cwd=None if cwd is None else Path(cwd),
        python=python,
        nproc=nproc,
        steps=plan.total,
        timeout_s=timeout_s,
        plugins=[Plugin(PLUGIN, {**for_child(plan, chosen_device.accelerator, str(where)), "more_steps": more_steps})],
        grad_norm=False,  # its kernels are none of the script's
    ).on(chosen_device)
    record = {
        **account.describe_run(chosen_device, spec.env or os.environ),
        "script": str(script),
        "args": list(args),
        "nproc": nproc,
        "transform": spec.transform,
        **_describe_plan(plan, nproc),
    }
    account.write_record(where, record)
    account.clear_recording(where)
    result = launch(spec, on_progress)
    account.write_record(
        where, {**record, "simulator": result.simulator}, "complete" if result.trouble is None else "failed"
    )
    facts = {
        "losses": result.losses[: plan.total],
        "elapsed_s": round(result.elapsed_s, 1),
        "simulator": result.simulator,
    }
    times, ranks = [step.time_s for step in result.steps[: plan.total]], plan.recorded_ranks(nproc)
    about = (plan, chosen_device, where, ranks, times, nproc, result.trouble)
    return account.report_recording(account.Recording(*about, tuple(notes), facts))


def _describe_plan(plan: Options, nproc: int) -> dict[str, object]:
    """Return for the record which steps were asked for, of which ranks."""
    return {"steps": plan.steps, "warmup": plan.warmup, "wait": plan.wait, "ranks": plan.recorded_ranks(nproc)}


def recording(
    out: str | os.PathLike[str] = "profile",
    *,
    device: str = "auto",
    model: torch.nn.Module | None = None,
    **options: object,
) -> Recorder:
    """Return a context manager that profiles `wait + warmup + steps` calls of its `step()`; `options` are those of
    Options. `model`, a torch module, lets the room on the disk be estimated before. Raises WorkbookError where an
    option makes no sense, the device is not this process's, or the folder is somebody else's."""
    return Recorder(Path(out).absolute() / "data", Options.from_mapping(options), find_device(device), model)


class Recorder:
    """Told of each step; `report` says what came, once the block has ended."""

    def __init__(self, where: Path, plan: Options, device: Device, model: torch.nn.Module | None) -> None:
        self.rank, self.nproc = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        plan.check_ranks(self.nproc)
        account.check_folder(where)
        self._where, self._plan, self._device, self._model = where, plan, device, model
        self._remarks = tuple(list_remarks(plan, device))
        self._times: list[float] = []
        self._profiler: torch.profiler.profile | None = None
        self._mark = 0.0
        self._report: Report | None = None

    @property
    def done(self) -> bool:
        """Return whether all that was asked for is recorded: the loop may go on, or end here."""
        return len(self._times) >= self._plan.total

    @property
    def report(self) -> Report:
        """Return the report of this rank's data. Raises WorkbookError inside the block and on a rank not recorded."""
        if self._report is None:
            raise WorkbookError("profiling.not_ended", rank=self.rank)
        return self._report

    def __enter__(self) -> Recorder:
        ranks = self._plan.recorded_ranks(self.nproc)
        if self.rank not in ranks:
            return self
        if self.rank == ranks[0]:
            account.write_record(self._where, self._make_record())
        account.clear_recording(self._where, self.rank)
        config = for_child(self._plan, self._device.accelerator, str(self._where))
        from ascend_workbook.profiling.child import profiler_plugin

        if self._model is not None:
            estimate = profiler_plugin.room(self._model, config, self.rank, self.nproc)
            if estimate["refused"]:
                raise WorkbookError("PRF300.room", **estimate, path=config["folder"])
        self._profiler = profiler_plugin.make(config, self.rank)
        self._profiler.start()
        self._mark = time.perf_counter()
        return self

    def step(self) -> None:
        """Mark the end of a step: call it at each. Nothing waits for the device here: the profile would show it."""
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
        simulator = describe_simulator(self._device)
        if self.rank == self._plan.recorded_ranks(self.nproc)[0]:
            status = "complete" if kind is None and self.done else "failed"
            account.write_record(self._where, {**self._make_record(), "simulator": simulator}, status)
        facts = {"rank": self.rank, "simulator": simulator}
        about = (self._plan, self._device, self._where, [self.rank], self._times, self.nproc)
        self._report = account.report_recording(account.Recording(*about, trouble, self._remarks, facts))

    def _make_record(self) -> dict[str, object]:
        """Return the record of what this loop was asked to record."""
        plan = self._plan
        about = account.describe_run(self._device, os.environ)
        return {**about, "script": "", "args": [], "nproc": self.nproc, **_describe_plan(plan, self.nproc)}


def find_device(wanted: str = "auto") -> Device:
    """Return the accelerator that this process's torch sees, else the CPU, which can always be asked for. Raises
    WorkbookError where another one is wanted."""
    import torch

    loaded = ((name, sys.modules.get(name)) for name in ("torch", "torch_npu"))
    versions = {name: str(getattr(module, "__version__", "")) for name, module in loaded if module is not None}
    chosen = Device("cpu", platform.processor() or platform.machine(), 1, versions)
    for name in ("cuda", "npu") if wanted != "cpu" else ():
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            active = cann.find_cann() if name == "npu" else None
            tier = "npu-simulated" if active and active.simulated else name
            chosen = Device(tier, module.get_device_name(0), module.device_count(), versions)
    if wanted not in ("auto", chosen.tier):
        raise WorkbookError("profiling.not_here", wanted=wanted, tier=chosen.tier)
    return chosen


def describe_simulator(chosen_device: Device) -> dict[str, object]:
    """Return what LaunchResult.simulator says, of this process: faults on purpose, numerics; empty elsewhere."""
    if not chosen_device.simulated:
        return {}
    from ascend_workbook.machine.launch.child import simulator as child_simulator

    return dict(child_simulator.describe_simulator())

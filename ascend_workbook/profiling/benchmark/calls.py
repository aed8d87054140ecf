"""A model, a function or a DataLoader of this very process: for notebooks, and where there is no script.

Throughput is torch.utils.benchmark's (Timer.blocked_autorange: blocks of calls, the device waited for at their ends);
percentiles are of single calls, each waited for."""

from __future__ import annotations

import copy
import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.benchmark import answer
from ascend_workbook.profiling.benchmark import facts as benchmark_facts
from ascend_workbook.profiling.benchmark.configurations import AUTOCAST, Axis, Configuration, combine_axes, parse_axes
from ascend_workbook.profiling.benchmark.facts import LEAST_STEPS, Bench, Measured, describe_hardware, load_baseline
from ascend_workbook.profiling.benchmark.resources import MEMORY, Peak, Power
from ascend_workbook.profiling.collecting import runs

if TYPE_CHECKING:
    import torch
    from torch.utils.data import DataLoader

Call = Callable[[], object]


def of_calls(
    target: object,
    inputs: object = (),
    *,
    loss: Callable[..., torch.Tensor] | None = None,
    optimizer: Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer] | None = None,
    batch_sizes: Sequence[int] = (),
    autocast: bool = False,
    tokens: float | None = None,
    loader: Sequence[str] = (),
    device: str = "auto",
    steps: int = 50,
    warmup: int = 5,
    seconds: float = 0.5,
    baseline: str | os.PathLike[str] | None = None,
) -> Report:
    """Time `target`: a torch module called with `inputs` (a tensor, a tuple of them, or a function that makes them of a
    batch size), a function without arguments, or a DataLoader (`loader`: what to vary of it). Inference, unless `loss`
    is given (output -> scalar tensor): then forward, backward and, with an `optimizer` such as torch.optim.AdamW, the
    update, on a copy of the model. `steps` calls are timed one by one after `warmup`, `seconds` of calls in blocks.
    tokens: of one sample. Runs where the model's parameters are. Raises WorkbookError for fewer than two steps and for
    what cannot be called."""
    from torch.utils.data import DataLoader

    for name, value, least in (("steps", steps, LEAST_STEPS), ("warmup", warmup, 0)):
        if value < least:
            raise WorkbookError("profiling.too_few", name=name, value=value, least=least)
    before = None if baseline is None else load_baseline(baseline)
    chosen_device = runs.find_device(device)
    shared = describe_hardware(chosen_device)
    facts: dict[str, object] = {"script": "", "args": [], "nproc": 1, "steps": steps, "warmup": warmup}
    facts |= {"simulator": runs.describe_simulator(chosen_device)}
    if isinstance(target, DataLoader):
        axes = parse_axes((), loader)
        measured = tuple(
            _measure_configuration(target, configuration, steps, warmup) for configuration in combine_axes(axes)
        )
        names = tuple(axis.name for axis in axes)
        unasked = Sentence("benchmark.power.loading")
        facts["kind"] = "loading"
        return answer.report_benchmark(Bench(measured, "samples", shared, names, 1, before, unasked, facts))
    work = _Work(target, inputs, loss, optimizer)
    axes = [Axis("batch", "argument", tuple(batch_sizes))] if batch_sizes else []
    axes += [Axis(AUTOCAST, "autocast", (False, True))] if autocast else []
    counts, accelerator = (steps, warmup, seconds), chosen_device.accelerator
    with Power(chosen_device) as power:
        rows = [_measure_call(work, configuration, accelerator, counts, tokens) for configuration in combine_axes(axes)]
    unit = "samples" if rows and all(configuration.samples for configuration in rows if configuration.done) else "calls"
    kind = "training" if loss else "inference"
    names = tuple(axis.name for axis in axes)
    return answer.report_benchmark(
        Bench(tuple(rows), unit, shared, names, 1, before, power.why, {**facts, "kind": kind})
    )


def _measure_call(
    work: _Work, configuration: Configuration, accelerator: str, counts: tuple[int, int, float], tokens: float | None
) -> Measured:
    """Time the work in one configuration, with the most memory it took."""
    name, settings = configuration.name or "-", configuration.settings
    peak = Peak(accelerator)
    try:
        # as it was given: whole numbers of any kind, and what is none is refused by _make_inputs
        batch: Any = settings.get("batch")
        call, samples = work.make_call(batch, accelerator if configuration.autocast else "")
        times, blocks = _time_calls(call, accelerator, *counts)
    except (RuntimeError, MemoryError) as error:
        if not MEMORY.search(f"{type(error).__name__}: {error}") and not isinstance(error, MemoryError):
            raise
        return Measured(
            name, settings, benchmark_facts.OUT_OF_MEMORY, str(error).splitlines()[0] if str(error) else "MemoryError"
        )
    many = tokens * samples if tokens and samples else None
    host, at_most = peak.host_mib()
    return Measured(
        name,
        settings,
        runs_s=(times,),
        rate_s=(blocks,),
        samples=samples,
        tokens=many,
        device_peak_mib=peak.device_mib(),
        host_peak_mib=host,
        host_at_most_mib=at_most,
    )


def _time_calls(
    call: Call, accelerator: str, steps: int, warmup: int, seconds: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the seconds of single calls, and of calls within blocks."""
    import torch
    from torch.utils.benchmark import Timer

    def read_clock() -> float:
        if accelerator != "cpu":
            getattr(torch, accelerator).synchronize()
        return time.perf_counter()

    for _ in range(warmup):
        call()
    single = []
    for _ in range(steps):
        start = read_clock()
        call()
        single.append(read_clock() - start)
    timer = Timer("call()", globals={"call": call}, timer=read_clock)
    return tuple(single), tuple(timer.blocked_autorange(min_run_time=seconds).times)


class _Work:
    """What one call does, for a batch size and a precision."""

    def __init__(
        self,
        target: object,
        inputs: object,
        loss: Callable[..., torch.Tensor] | None,
        optimizer: Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer] | None,
    ) -> None:
        import torch

        self._module: torch.nn.Module = target if isinstance(target, torch.nn.Module) else None
        if not callable(target):
            raise WorkbookError("benchmark.not_callable", type=type(target).__name__)
        if self._module is None and (loss or optimizer):
            raise WorkbookError("benchmark.no_model", option="loss, optimizer", type=type(target).__name__)
        self._target, self._inputs, self._loss, self._optimizer = target, inputs, loss, optimizer

    def make_call(self, batch: int | None, autocast: str) -> tuple[Call, float | None]:
        """Make the call, and say how many samples it works on where its inputs tell."""
        import torch

        inputs = self._make_inputs(batch)
        samples = next(
            (tensor.shape[0] for tensor in inputs if isinstance(tensor, torch.Tensor) and tensor.dim()), None
        )
        precision = torch.autocast(autocast or "cpu", dtype=torch.bfloat16, enabled=bool(autocast))
        if self._loss is not None:
            return self._make_training(inputs, precision, self._loss), samples
        if self._module is not None:
            self._module.eval()

        def infer_batch() -> object:
            with torch.inference_mode(), precision:
                return self._target(*inputs)

        return infer_batch, samples

    def _make_training(
        self, inputs: tuple[object, ...], precision: torch.autocast, loss_of: Callable[..., torch.Tensor]
    ) -> Call:
        """Make the call of one training step on a copy of the model."""
        model = copy.deepcopy(self._module).train()
        optimizer = self._optimizer(model.parameters()) if self._optimizer else None

        def train_batch() -> None:
            model.zero_grad(set_to_none=True)
            with precision:
                loss = loss_of(model(*inputs))
            loss.backward()
            if optimizer is not None:
                optimizer.step()

        return train_batch

    def _make_inputs(self, batch: int | None) -> tuple[object, ...]:
        """Return the inputs, or their rows over and over until the batch is full."""
        import torch

        try:
            value = self._inputs(batch) if callable(self._inputs) else self._inputs
            inputs = value if isinstance(value, tuple) else (value,)
            if batch is None or callable(self._inputs):
                return inputs
            rows = [item for item in inputs if isinstance(item, torch.Tensor) and item.dim()]
            if not rows:
                raise ValueError("there is no tensor")
            return tuple(
                item[torch.arange(batch, device=item.device) % len(item)] if any(item is row for row in rows) else item
                for item in inputs
            )
        except (TypeError, ValueError, IndexError) as error:
            raise WorkbookError("benchmark.inputs", batch=batch, error=str(error)) from error


#: What a DataLoader made anew takes over from the one that was given
KEPT = ("batch_sampler", "collate_fn", "worker_init_fn", "multiprocessing_context", "generator", "timeout")
OF_WORKERS = ("multiprocessing_context", "timeout")


def _measure_configuration(
    target: DataLoader[object], configuration: Configuration, steps: int, warmup: int
) -> Measured:
    """Time the batches of the loader with one configuration's settings."""
    batches = iter(_copy_loader(target, configuration.loader))
    times, samples = [], 0
    start = time.perf_counter()
    for batch in itertools.islice(batches, warmup + steps):
        now = time.perf_counter()
        times.append(now - start)
        samples = samples or _count_samples(batch)
        start = time.perf_counter()
    steady = tuple(times[warmup:])
    if len(steady) < LEAST_STEPS:
        few_steps = Sentence("benchmark.few_steps", done=len(times), wanted=warmup + LEAST_STEPS)
        return Measured(configuration.name or "-", configuration.settings, benchmark_facts.FAILED, few_steps)
    return Measured(configuration.name or "-", configuration.settings, runs_s=(steady,), samples=samples or None)


def _copy_loader(target: DataLoader[object], settings: Mapping[str, object]) -> DataLoader[object]:
    """Make the same loader with these settings; prefetching goes with workers only."""
    workers = settings.get("num_workers", target.num_workers)
    arguments: dict[str, Any] = {name: getattr(target, name) for name in KEPT if workers or name not in OF_WORKERS}
    if target.batch_sampler is None:  # batches that the dataset makes itself
        arguments |= {"batch_size": target.batch_size, "sampler": target.sampler}
        del arguments["batch_sampler"]
    arguments |= {"num_workers": workers, "pin_memory": settings.get("pin_memory", target.pin_memory)}
    if workers:
        arguments["prefetch_factor"] = settings.get("prefetch_factor", target.prefetch_factor or 2)
    return type(target)(target.dataset, **arguments)


def _count_samples(batch: object) -> int:
    """Count the rows of the batch's first tensor."""
    if hasattr(batch, "shape"):
        return int(batch.shape[0]) if len(batch.shape) else 0
    inner = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return next((count for count in map(_count_samples, inner) if count), 0)

"""`verify`: two models on many inputs; how many inputs agree, and which module is furthest off."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.launch import together
from helpers.number_lists import numbers
from helpers.precision.capturing.options import SETTINGS
from helpers.precision.verify.findings import findings
from helpers.precision.verify.layers import Comparing, Layer
from helpers.precision.verify.local import Inputs, LocalSide
from helpers.precision.verify.process import Order, ProcessSide
from helpers.precision.verify.taken import Side, Taken
from helpers.precision.verify.tally import Row, Tally, wilson
from helpers.report import Chart, Column, Report, Table
from helpers.words import Scalar, say

COLUMNS = ("order", "layer", "kind", "dtype", "shape", "max_absolute", "relative_l2", "cosine", "ulp", "allowed",
           "passed", "worst_input", "baseline_truth", "target_truth", "judgement")  # fmt: skip
SUFFIXES = (".pt", ".pth")
MODES = ("", "eval", "train")


def verify(
    model_a: Any,
    model_b: Any,
    inputs: Any,
    *,
    factory: str = "",
    device_a: str = "baseline",
    device_b: str = "auto",
    mode: str = "",
    seed: int = 0,
    tolerance: float | None = None,
    required: float = 1.0,
    reference: bool = False,
    only: str | Sequence[int] = (),
    limit: int | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Runs every input through both models and compares what each module gives out, by module path.

    In this process: `model_a` (the baseline) and `model_b` (the target) are torch.nn.Module on any device, `inputs` an
    iterable; an input is a tensor, a tuple of arguments or a dictionary of named ones, of any shape and dtype the
    models take. Inputs are moved to each model's device, and floats cast where a model has one floating dtype alone,
    which is told. In two processes: all three are texts; models and inputs are `path.py:function` (called without
    arguments, gives a model on the CPU, or an iterable), or a model is a checkpoint (.pt of a state_dict) for
    `factory`, inputs a .pt of a list; `device_a` and `device_b` are tiers, auto or baseline, `settings` variables of
    the target's process (faults of the simulated NPU), `mode` train or eval ("" keeps the factory's).

    Input N runs with the generators at `seed` + N on both sides. Models in this process keep their mode, buffers and
    generators; nothing is put into eval mode silently: what training mode does is told. `reference` runs the baseline
    in float64 on the CPU too. `only` are numbers of inputs to run ([0, 3] or "0,3-5"), `limit` the most to take. One
    input's tensors are held at a time. An input passes where no module is off by more than rounding and its inputs
    explain (or by more than `tolerance`, a relative L2 error); FAIL where fewer than `required` of them do. Raises
    WorkbookError where a side cannot be made, an option cannot be, or there is no input.
    """
    only = numbers(only or (), "only")
    _check(tolerance, required, mode, only, limit, settings)
    wanted = only or (count() if limit is None else range(limit))
    if not (isinstance(model_a, str) or isinstance(model_b, str) or isinstance(inputs, str)):
        if mode or settings:
            raise WorkbookError("verify.own_models", option="mode" if mode else "settings")
        given = Inputs(inputs)
        sides: list[Side] = [LocalSide("baseline", _module(model_a), given, seed),
                             LocalSide("target", _module(model_b), given, seed)]  # fmt: skip
        if reference:
            sides.append(LocalSide.reference(model_a, given, seed))
        return _report(sides, wanted, bool(only), tolerance, required, progress)
    orders = [Order("baseline", *_factory(model_a, inputs, factory), device_a, mode, seed),
              Order("target", *_factory(model_b, inputs, factory), device_b, mode, seed,
                    settings=tuple((settings or {}).items()))]  # fmt: skip
    if reference:
        orders.append(replace(orders[0], name="reference", device="cpu", double=True))
    with _processes(orders) as started:
        return _report(started, wanted, bool(only), tolerance, required, progress)


def _check(tolerance: float | None, required: float, mode: str, only: Sequence[int], limit: int | None,
           settings: Mapping[str, str] | None) -> None:  # fmt: skip
    if tolerance is not None and not (tolerance >= 0 and math.isfinite(tolerance)):
        raise WorkbookError("precision.tolerance", given=tolerance)
    known: list[tuple[str, Any, tuple[Any, ...]]] = [("mode", mode, MODES)]
    known += [("settings", name, SETTINGS) for name in settings or ()]
    for name, value, allowed in known:
        if value not in allowed:
            raise WorkbookError("precision.option", name=name, value=value, known=[one or '""' for one in allowed])
    if not 0 < required <= 1:
        raise WorkbookError("verify.required", given=required)
    if any(one < 0 for one in only) or limit is not None and limit < 1:
        raise WorkbookError("verify.numbers", given=[*only, *([] if limit is None else [limit])])


def _module(model: Any) -> Any:
    if not hasattr(model, "named_modules"):
        raise WorkbookError("verify.no_module", found=type(model).__name__)
    return model


def _factory(model: Any, inputs: Any, factory: str) -> tuple[str, str, str]:
    """(factory, inputs, checkpoint) with absolute paths. Raises WorkbookError where a text is no such thing."""
    for given in (model, inputs):
        if not isinstance(given, str):
            raise WorkbookError("verify.mixed", found=type(given).__name__)
    checkpoint = str(_file(model)) if model.endswith(SUFFIXES) else ""
    if checkpoint and not factory:
        raise WorkbookError("verify.no_factory", path=model)
    maker = _function(factory if checkpoint else model)
    return maker, str(_file(inputs)) if inputs.endswith(SUFFIXES) else _function(inputs), checkpoint


def _function(given: str) -> str:
    path, separator, name = given.rpartition(":")
    if not (separator and name.isidentifier() and path.endswith(".py")):
        raise WorkbookError("verify.target", given=given)
    return f"{_file(path)}:{name}"


def _file(path: str) -> Path:
    if not Path(path).is_file():
        raise WorkbookError("verify.missing", path=path)
    return Path(path).resolve()


@contextmanager
def _processes(orders: list[Order]) -> Iterator[list[Side]]:
    """All sides started together, ended whatever happens."""
    with tempfile.TemporaryDirectory(prefix="verify-") as folder:
        started: list[ProcessSide] = []
        try:
            for order in orders:
                started.append(ProcessSide(order, Path(folder)))
            for side in started:
                side.ready()
            yield list(started)
        finally:
            for side in started:
                side.kill()


def _report(sides: list[Side], wanted: Iterable[int], exact: bool, limit: float | None, required: float,
            progress: Callable[[str], None] | None) -> Report:  # fmt: skip
    """Runs and reports. `exact`: every wanted input must be there."""
    tally = Tally()
    formats = {kind: sides[1].about.formats.get(kind) or sides[0].about.formats.get(kind, "")
               for kind in ("conv", "matmul")}  # fmt: skip
    comparing = Comparing(limit, formats)
    for index in wanted:
        if not _input(sides, index, comparing, tally):
            if exact:
                raise WorkbookError("verify.no_input", index=index)
            break
        if progress:
            progress(say("verify.told", None, index=index, passed=tally.passed, of=tally.inputs))
    if not tally.inputs:
        raise WorkbookError("verify.empty")
    simulated = together({"simulator": told} for told in [side.close() for side in sides])
    abouts = [side.about for side in sides]
    found = findings(tally, abouts[:2], required)
    rows = sorted(tally.rows.values(), key=lambda row: row.layer.order)
    worst = tally.worst
    table = Table(tuple(map(Column, COLUMNS)), tuple(_row(row) for row in rows))
    mark = worst.layer.order if worst and worst.passed < worst.seen else None
    return Report(
        "precision", "verify", tuple(found), table,
        Chart("lines", "order", ("relative_l2", "allowed"), mark=mark, log=any(row.layer.error for row in rows)),
        facts={**_facts(tally, worst), "numerics": formats, "tiers": [one.tier for one in abouts],
               "models": [one.model for one in abouts], "simulator": simulated},
        tier=next((one.tier for one in abouts[:2] if one.tier.startswith("npu")), abouts[1].tier),
    )  # fmt: skip


def _input(sides: list[Side], index: int, comparing: Comparing, tally: Tally) -> bool:
    """One input on every side; False where there is none of this number. A side that has it while another has not is
    an input that is not the same."""
    for side in sides:
        side.begin(index)
    taken = [side.end(index) for side in sides]
    if all(one is None for one in taken[:2]):
        return False
    if taken[0] is None or taken[1] is None:
        tally.other.append(index)
        tally.add(index, [], sound=False)
        return False
    tally.add(index, *_compared(index, taken[0], taken[1], taken[2] if len(taken) > 2 else None, comparing, tally))
    for side in sides:
        side.forget(index)
    return True


def _compared(index: int, baseline: Taken, target: Taken, truth: Taken | None, comparing: Comparing,
              tally: Tally) -> tuple[list[Layer], bool]:  # fmt: skip
    """The modules compared, and whether the input itself was in order on both sides."""
    if baseline.fingerprint != target.fingerprint:
        tally.other.append(index)
        return [], False
    for name, one in (("baseline", baseline), ("target", target)):
        if one.error:
            tally.errors.append((index, name, one.at, one.error))
        if one.cast:
            tally.casts.add((name, one.cast))
    if baseline.drew or target.drew:
        tally.drew.append(index)
    if truth is not None and (truth.error or truth.fingerprint != baseline.fingerprint):
        tally.no_reference = truth.error or "other inputs"
        truth = None
    return comparing.layers(baseline, target, truth), not (baseline.error or target.error)


def _row(row: Row) -> tuple[Scalar, ...]:
    layer = row.layer
    judgement = layer.problem or ("agrees" if row.passed == row.seen else "apart")
    truth: tuple[Scalar, ...] = layer.truth or (None, None)
    who = (layer.order, layer.call.name, layer.call.kind, " / ".join(layer.dtypes), list(layer.shape))
    limits = (None, None) if row.uncompared else (_finite(layer.allowed), f"{row.passed}/{row.seen}")
    return (*who, row.max_absolute, _finite(layer.error), row.cosine, row.ulp, *limits, row.worst, *truth,
            {"say": f"verify.{judgement}"})  # fmt: skip


def _finite(value: float | None) -> Scalar:
    """JSON has no infinity: it is kept as the word."""
    return value if value is None or math.isfinite(value) else str(value)


def _facts(tally: Tally, worst: Row | None) -> dict[str, Any]:
    first = tally.first
    return {
        "inputs": tally.inputs, "passed": tally.passed, "rate": tally.passed / tally.inputs,
        "interval": list(wilson(tally.passed, tally.inputs)), "failed_inputs": tally.failed,
        "worst": worst and {"layer": worst.layer.call.name, "input": worst.worst, "error": _finite(worst.layer.error),
                            "allowed": _finite(worst.layer.allowed), "problem": worst.layer.problem},
        "first": first and {"layer": first.layer.call.name, "input": first.worst},
        "not_compared": [row.layer.call.name for row in tally.rows.values() if row.uncompared],
        "raised": [list(one) for one in tally.errors[:20]], "other_inputs": tally.other[:20],
    }  # fmt: skip

"""`verify`: two models on many inputs; how many inputs agree, and which module is furthest off."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine.launch import join_simulator_parts
from ascend_workbook.machine.launch.enclosed import announce_guard, report_accounts
from ascend_workbook.machine.number_lists import parse_numbers
from ascend_workbook.machine.sandbox import GUARDS
from ascend_workbook.precision.capturing.options import SETTINGS
from ascend_workbook.precision.verify.findings import collect_findings
from ascend_workbook.precision.verify.layers import Comparing, Layer, Row, Tally, wilson_interval
from ascend_workbook.precision.verify.process import Order, ProcessSide
from ascend_workbook.precision.verify.sides import Inputs, LocalSide, Side, Taken
from ascend_workbook.precision.views.questions import infinity_as_word

# ruff: noqa: SIM905 - a column of names reads better without quotes
COLUMNS = """
order layer kind dtype shape max_absolute relative_l2 cosine ulp allowed passed worst_input baseline_truth
target_truth judgement
""".split()
SUFFIXES = (".pt", ".pth")
MODES = ("", "eval", "train")


def verify(
    model_a: object,
    model_b: object,
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
    network: bool = False,
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
    the target's process (faults of the simulated NPU), `mode` train or eval ("" keeps the factory's). Both run enclosed
    where the machine allows it (ACC219 says how), without a network unless `network`.

    Input N runs with the generators at `seed` + N on both sides. Models in this process keep their mode, buffers and
    generators; nothing is put into eval mode silently: what training mode does is told. `reference` runs the baseline
    in float64 on the CPU too. `only` are numbers of inputs to run ([0, 3] or "0,3-5"), `limit` the most to take. One
    input's tensors are held at a time. An input passes where no module is off by more than rounding and its inputs
    explain (or by more than `tolerance`, a relative L2 error); Fix where fewer than `required` of them do. Raises
    WorkbookError where a side cannot be made, an option cannot be, or there is no input."""
    only = parse_numbers(only or (), "only")
    _check_options(tolerance, required, mode, only, limit, settings)
    wanted = only or (count() if limit is None else range(limit))
    if not (isinstance(model_a, str) or isinstance(model_b, str) or isinstance(inputs, str)):
        if mode or settings:
            raise WorkbookError("verify.own_models", option="mode" if mode else "settings")
        reader = Inputs(inputs)
        sides: list[Side] = [
            LocalSide("baseline", _require_module(model_a), reader, seed),
            LocalSide("target", _require_module(model_b), reader, seed),
        ]
        if reference:
            sides.append(LocalSide.make_reference(model_a, reader, seed))
        return _report_verification(sides, wanted, bool(only), tolerance, required, progress)
    variables = tuple((settings or {}).items())
    orders = [
        Order("baseline", *_resolve_factory(model_a, inputs, factory), device_a, mode, seed),
        Order("target", *_resolve_factory(model_b, inputs, factory), device_b, mode, seed, settings=variables),
    ]
    if reference:
        orders.append(replace(orders[0], name="reference", device="cpu", double=True))
    with _start_processes(orders, network, progress) as started:
        report = _report_verification(list(started), wanted, bool(only), tolerance, required, progress)
        accounts = [side.account for side in started if side.account]
        guard = report_accounts(accounts, ("ACC219", "ACC219"), network=network, copied=False)
        return replace(report, findings=(*report.findings, *guard))


def _check_options(
    tolerance: float | None,
    required: float,
    mode: str,
    only: Sequence[int],
    limit: int | None,
    settings: Mapping[str, str] | None,
) -> None:
    if tolerance is not None and not (tolerance >= 0 and math.isfinite(tolerance)):
        raise WorkbookError("precision.tolerance", given=tolerance)
    for name, value, allowed in (("mode", mode, MODES), *(("settings", name, SETTINGS) for name in settings or ())):
        if value not in allowed:
            raise WorkbookError("precision.option", name=name, value=value, known=[word or '""' for word in allowed])
    if not 0 < required <= 1:
        raise WorkbookError("verify.required", given=required)
    if any(number < 0 for number in only) or limit is not None and limit < 1:
        raise WorkbookError("verify.numbers", given=[*only, *([] if limit is None else [limit])])


def _require_module(model: object) -> object:
    if not hasattr(model, "named_modules"):
        raise WorkbookError("verify.no_module", found=type(model).__name__)
    return model


def _resolve_factory(model: Any, inputs: Any, factory: str) -> tuple[str, str, str]:
    """Return (factory, inputs, checkpoint) with absolute paths. Raises WorkbookError where a text is no such thing."""
    for name in (model, inputs):
        if not isinstance(name, str):
            raise WorkbookError("verify.mixed", found=type(name).__name__)
    checkpoint = str(_resolve_file(model)) if model.endswith(SUFFIXES) else ""
    if checkpoint and not factory:
        raise WorkbookError("verify.no_factory", path=model)
    maker = _resolve_function(factory if checkpoint else model)
    return maker, str(_resolve_file(inputs)) if inputs.endswith(SUFFIXES) else _resolve_function(inputs), checkpoint


def _resolve_function(place: str) -> str:
    path, separator, name = place.rpartition(":")
    if not (separator and name.isidentifier() and path.endswith(".py")):
        raise WorkbookError("verify.target", given=place)
    return f"{_resolve_file(path)}:{name}"


def _resolve_file(path: str) -> Path:
    if not Path(path).is_file():
        raise WorkbookError("verify.missing", path=path)
    return Path(path).resolve()


@contextmanager
def _start_processes(
    orders: list[Order], network: bool, progress: Callable[[str], None] | None
) -> Iterator[list[ProcessSide]]:
    """Start all sides together, and end them whatever happens."""
    with tempfile.TemporaryDirectory(prefix="verify-") as folder, ExitStack() as stack:
        started = [ProcessSide(order, Path(folder).resolve(), network, stack) for order in orders]
        remaining = announce_guard(max((side.guard for side in started), key=GUARDS.index))
        if progress and remaining:
            progress(say(remaining.key, **remaining.args))
        for side in started:
            side.wait_ready()
        yield started


def _report_verification(
    sides: list[Side],
    wanted: Iterable[int],
    exact: bool,
    limit: float | None,
    required: float,
    progress: Callable[[str], None] | None,
) -> Report:
    """Run every wanted input and report. `exact`: every wanted input must be there."""
    tally = Tally()
    formats = {
        kind: sides[1].about.formats.get(kind) or sides[0].about.formats.get(kind, "") for kind in ("conv", "matmul")
    }
    comparing = Comparing(limit, formats)
    for index in wanted:
        if not _run_input(sides, index, comparing, tally):
            if exact:
                raise WorkbookError("verify.no_input", index=index)
            break
        if progress:
            progress(say("verify.told", None, index=index, passed=tally.passed, of=tally.inputs))
    if not tally.inputs:
        raise WorkbookError("verify.empty")
    simulated = join_simulator_parts({"simulator": part} for part in [side.close() for side in sides])
    abouts = [side.about for side in sides]
    all_findings = collect_findings(tally, abouts[:2], required)
    rows = sorted(tally.rows.values(), key=lambda row: row.layer.order)
    worst = tally.worst
    table = Table(tuple(map(Column, COLUMNS)), tuple(_make_row(row) for row in rows))
    mark = worst.layer.order if worst and worst.passed < worst.seen else None
    return Report(
        "precision",
        "verify",
        tuple(all_findings),
        table,
        Chart("lines", "order", ("relative_l2", "allowed"), mark=mark, log=any(row.layer.error for row in rows)),
        facts={
            **_collect_facts(tally, worst),
            "numerics": formats,
            "tiers": [about.tier for about in abouts],
            "models": [about.model for about in abouts],
            "simulator": simulated,
        },
        tier=next((about.tier for about in abouts[:2] if about.tier.startswith("npu")), abouts[1].tier),
    )


def _run_input(sides: list[Side], index: int, comparing: Comparing, tally: Tally) -> bool:
    """Run one input on every side; False where there is none of this number. A side that has it while another has not
    is an input that is not the same."""
    for side in sides:
        side.begin_input(index)
    taken = [side.finish_input(index) for side in sides]
    if all(side_result is None for side_result in taken[:2]):
        return False
    if taken[0] is None or taken[1] is None:
        tally.other.append(index)
        tally.add_input(index, [], sound=False)
        return False
    truth = taken[2] if len(taken) > 2 else None
    tally.add_input(index, *_compare_input(index, taken[0], taken[1], truth, comparing, tally))
    for side in sides:
        side.forget_input(index)
    return True


def _compare_input(
    index: int, baseline: Taken, target: Taken, truth: Taken | None, comparing: Comparing, tally: Tally
) -> tuple[list[Layer], bool]:
    """The modules compared, and whether the input itself was in order on both sides."""
    if baseline.fingerprint != target.fingerprint:
        tally.other.append(index)
        return [], False
    for name, side_result in (("baseline", baseline), ("target", target)):
        if side_result.error:
            tally.errors.append((index, name, side_result.at, side_result.error))
        if side_result.cast:
            tally.casts.add((name, side_result.cast))
    if baseline.drew or target.drew:
        tally.drew.append(index)
    if truth is not None and (truth.error or truth.fingerprint != baseline.fingerprint):
        tally.no_reference = truth.error or "other inputs"
        truth = None
    return comparing.compare_layers(baseline, target, truth), not (baseline.error or target.error)


def _make_row(row: Row) -> tuple[Scalar, ...]:
    layer = row.layer
    judgement = layer.problem or ("agrees" if row.passed == row.seen else "apart")
    truth: tuple[Scalar, ...] = layer.truth or (None, None)
    who = (layer.order, layer.call.name, layer.call.kind, " / ".join(layer.dtypes), list(layer.shape))
    limits = (None, None) if row.is_uncompared else (infinity_as_word(layer.allowed), f"{row.passed}/{row.seen}")
    numbers = (row.max_absolute, infinity_as_word(layer.error), row.cosine, row.ulp, *limits, row.worst, *truth)
    return (*who, *numbers, Sentence(f"verify.{judgement}"))


def _collect_facts(tally: Tally, worst: Row | None) -> dict[str, object]:
    first = tally.first
    place, other = (row and {"layer": row.layer.call.name, "input": row.worst} for row in (worst, first))
    limits = {name: infinity_as_word(getattr(worst.layer, name)) for name in ("error", "allowed")} if worst else {}
    return {
        "inputs": tally.inputs,
        "passed": tally.passed,
        "rate": tally.passed / tally.inputs,
        "interval": list(wilson_interval(tally.passed, tally.inputs)),
        "failed_inputs": tally.failed,
        "worst": worst and {**(place or {}), **limits, "problem": worst.layer.problem},
        "first": other,
        "not_compared": [row.layer.call.name for row in tally.rows.values() if row.is_uncompared],
        "raised": [list(error) for error in tally.errors[:20]],
        "other_inputs": tally.other[:20],
    }

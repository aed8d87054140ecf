"""Trials: which settings are faster than the script as it is, which are not, and what was seen beside their speed."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling.benchmark import facts
from ascend_workbook.profiling.benchmark.deciding import FASTER
from ascend_workbook.profiling.benchmark.facts import Bench, Measured

BASIS = {"PRF379": "facts", "PRF389": "facts"}
#: A device's or the host's memory that grows by more, as a share, is told
GROWN = 0.10


def check_trials(bench: Bench) -> Iterator[Finding]:
    """Which settings are faster than the script as it is? Runs in turns, until each is decided: with a chance of at
    most 5 % that any of them is called faster or slower though it is not."""
    if not bench.trial:
        return
    decided = [row for row in bench.successful if row.tried]
    best = find_best(bench)
    if best is not None and best.tried is not None:
        args = {**_args_of(best), "lines": list(best.tried.lines)}
        yield Finding("PRF379", Status.NOTE, "PRF379.best", args, weight=50)
    for row in decided:
        if row.tried is not None:
            key = f"PRF379.{row.tried.verdict}" if row.tried.low is not None else "PRF379.few"
            status = Status.NOT_LOOKED if bench.simulated else Status.GOOD
            yield Finding("PRF379", status, "PRF379.simulated" if bench.simulated else key, _args_of(row))
    for row in bench.measured[1:]:
        if row.outcome == facts.NOT_RUN:
            yield Finding("PRF379", Status.NOT_LOOKED, "PRF379.refused", {"name": row.name, "why": row.why})
    if bench.facts.get("interrupted"):
        yield Finding("PRF379", Status.NOTE, "PRF379.interrupted", {"ran": len(decided)})


def find_best(bench: Bench) -> Measured | None:
    """Return the fastest setting that is faster beyond doubt and trains as the script does; None where none is, and on
    a simulated NPU, whose times are the CPU's."""
    if bench.simulated:
        return None
    faster = [row for row in bench.successful if row.tried and row.tried.verdict == FASTER]
    sound = [row for row in faster if row.tried and not row.tried.loss_differs]
    return max(sound, key=lambda row: row.tried.ratio if row.tried else 0.0, default=None)


def _args_of(row: Measured) -> dict[str, Scalar]:
    tried = row.tried
    assert tried is not None
    bounds = {"low": tried.low, "high": tried.high}
    shares = {name: None if bound is None else round(100 * (bound - 1), 1) for name, bound in bounds.items()}
    return {"name": row.name, "gain": round(100 * (tried.ratio - 1), 1), **shares, "rounds": tried.rounds}


def check_guards(bench: Bench) -> Iterator[Finding]:
    """Does a setting train as the script does, in as much memory? A faster run with other losses is no gain."""
    base = next(iter(bench.measured), None)
    decided = [row for row in bench.successful if row.tried]
    if not bench.trial or base is None or not decided:
        return
    differences = [finding for row in decided for finding in (*_compare_losses(row), *_compare_memory(base, row))]
    yield from differences
    compared = [row for row in decided if row.tried and row.tried.loss_apart is not None]
    if not differences and compared:
        yield Finding("PRF389", Status.GOOD, "PRF389.same", {"count": len(compared)})
    elif not differences:
        raise CannotCheck("PRF389.untold")


def _compare_losses(row: Measured) -> Iterator[Finding]:
    tried = row.tried
    if tried is not None and tried.loss_differs:
        args: dict[str, Scalar] = {"name": row.name, "apart": round(100 * (tried.loss_apart or 0.0), 2)}
        args["spread"] = round(100 * (tried.loss_spread or 0.0), 2)
        yield Finding("PRF389", Status.LOOK, "PRF389.loss", args)


def _compare_memory(base: Measured, row: Measured) -> Iterator[Finding]:
    for where in ("device", "host"):
        before, after = (getattr(measured, f"{where}_peak_mib") for measured in (base, row))
        if before and after and abs(after / before - 1) > GROWN:
            key = "PRF389.more" if after > before else "PRF389.less"
            memory: Scalar = Sentence(f"benchmark.memory.{where}")
            sizes: dict[str, Scalar] = {"before": _round_mib(before), "after": _round_mib(after), "memory": memory}
            yield Finding("PRF389", Status.NOTE, key, {"name": row.name, **sizes})


def _round_mib(size: float) -> float:
    """Round to whole MiB, less than ten to the kilobyte."""
    return round(size) if size >= 10 else round(size, 3)


RULES = {"PRF379": check_trials, "PRF389": check_guards}

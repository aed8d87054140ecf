"""What the losses of both sides come to: step by step, rank by rank, and with what a device drew at random."""

from __future__ import annotations

from dataclasses import replace

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.migration.dry_run import random_draws
from ascend_workbook.migration.dry_run.losses import (
    FAR,
    TOLERANCE,
    LossPair,
    drifts_apart,
    find_worst_step,
    pair_losses,
)
from ascend_workbook.migration.dry_run.sides import Plan

#: Of the verdict among a report's findings.
WEIGHT = random_draws.WEIGHT


def judge_losses(plan: Plan, pairs: list[LossPair], dtype: str, base: Device, after: LaunchResult) -> list[Finding]:
    """Judge the losses; where the device drew at random and losses are not the very same, that is the verdict, as they
    prove less then, unless they part where no draw accounts for it."""
    drawn = random_draws.judge_random_draws(plan, pairs, after, _is_beyond_tolerance(find_worst_step(pairs), dtype))
    if drawn is None or drawn.status is Status.OK:
        return [judge_worst_step(pairs, dtype, base), *([drawn] if drawn is not None else [])]
    held = random_draws.select_unexcused_pairs(pairs, after)
    if _is_beyond_tolerance(find_worst_step(held), dtype):
        return [judge_worst_step(held, dtype, base), replace(drawn, weight=WEIGHT - 1)]
    return [drawn]


def _is_beyond_tolerance(far: LossPair | None, dtype: str) -> bool:
    return far is not None and (far.error or 0.0) > TOLERANCE[dtype]


def judge_worst_step(pairs: list[LossPair], dtype: str, base: Device) -> Finding:
    """Judge the worst step against the tolerance of the narrowest type: the verdict."""
    far = find_worst_step(pairs)
    if far is None or far.error is None:
        if any(entry.both_broken for entry in pairs):
            return Finding("MIG140", Status.WARN, "MIG140.not_finite", {"steps": len(pairs)}, weight=WEIGHT)
        return Finding("MIG140", Status.SKIPPED, "MIG140.no_loss", {"steps": len(pairs)}, weight=WEIGHT)
    allowed = TOLERANCE[dtype]
    status = Status.OK if far.error <= allowed else Status.WARN if far.error <= FAR * allowed else Status.FAIL
    args: dict[str, Scalar] = {
        "steps": sum(entry.error is not None for entry in pairs),
        "worst": f"{far.error:.2g}",
        "step": far.step,
        "tolerance": f"{allowed:g}",
        "dtype": dtype,
        "baseline": Sentence("migration.standing_in" if base.tier == "cpu" else "migration.on_cuda"),
    }
    outcome = "within" if status is Status.OK else "drift" if drifts_apart(pairs, allowed) else "beyond"
    return Finding(
        "MIG140", status, f"MIG140.{outcome}", {**args, "first": f"{pairs[0].error or 0.0:.2g}"}, weight=WEIGHT
    )


def step_counts(before: LaunchResult, after: LaunchResult) -> list[Finding]:
    left, right = len(before.losses), len(after.losses)
    if left == right:
        return []
    return [Finding("MIG140", Status.FAIL, "MIG140.steps_differ", {"baseline": left, "target": right})]


def judge_ranks(before: LaunchResult, after: LaunchResult, dtype: str) -> list[Finding]:
    """Judge the ranks' losses; the table has rank 0, and what parts once a device drew at random is no fault."""
    if len(before.logs) < 2 and len(after.logs) < 2:
        return []
    if len(before.logs) != len(after.logs):
        rank_counts: dict[str, Scalar] = {"baseline": len(before.logs), "target": len(after.logs)}
        return [Finding("MIG140", Status.FAIL, "MIG140.ranks_differ", rank_counts)]
    every = [pair_losses(left.losses, right.losses) for left, right in zip(before.logs, after.logs)]
    rank, far = _worst_rank([random_draws.select_unexcused_pairs(pairs, after) for pairs in every])
    excused = not _is_beyond_tolerance(far, dtype)
    if excused:
        rank, far = _worst_rank(every)
    if far is None or far.error is None:
        return []
    allowed = TOLERANCE[dtype]
    rounding = far.error <= FAR * allowed or excused
    status = Status.OK if far.error <= allowed else Status.WARN if rounding else Status.FAIL
    args: dict[str, Scalar] = {
        "ranks": len(every),
        "rank": rank,
        "worst": f"{far.error:.2g}",
        "step": far.step,
        "tolerance": f"{allowed:g}",
    }
    return [Finding("MIG140", status, "MIG140.ranks", args)]


def _worst_rank(every: list[list[LossPair]]) -> tuple[int, LossPair | None]:
    def error_of(rank_and_pair: tuple[int, LossPair | None]) -> float:
        pair = rank_and_pair[1]
        return -1.0 if pair is None or pair.error is None else pair.error

    return max(enumerate(map(find_worst_step, every)), key=error_of)

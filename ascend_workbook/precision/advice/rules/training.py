"""Known causes in the optimizer: its form, the loss scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.advice.evidence import Seen, describe_places, in_half, recorded_fact, recorded_settings
from ascend_workbook.precision.curves.scale import judge_scale, scale_history_of
from ascend_workbook.precision.curves.series import Curve
from ascend_workbook.precision.rules.uncompared import check_update, pair_following_steps

LOSS_SCALE_SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_004.html"
AMP = "https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling"
#: The variable that makes an NPU saturate; this one forces it on newer hardware.
SATURATES = (("INF_NAN_MODE_ENABLE", "0"), ("INF_NAN_MODE_FORCE_DISABLE", "1"))
OPTIMIZER_FORM_SOURCE = "https://docs.pytorch.org/docs/stable/optim.html#algorithms"
FUSED = "https://www.hiascend.com/document/detail/zh/Pytorch/700/apiref/apilist/ptaoplist_000655.html"


def check_loss_scale(seen: Seen) -> Iterator[Finding]:
    """ACC262: is the loss scale in trouble: at its minimum, falling or skipping steps more often than the baseline's,
    overflow hidden by saturation, or float16 gradients without one?"""
    for log in seen.logs:
        if isinstance(log, WorkbookError):
            raise CannotCheck(log.key, **log.arguments)
    baseline, target = (log if isinstance(log, Curve) else None for log in seen.logs)
    scaler = recorded_fact(seen.comparison.target, "scaler")
    scaled = target is not None and scale_history_of(target) is not None
    if target is None and scaler is None:
        raise CannotCheck("ACC262.no_log")
    for finding in judge_scale(baseline, target) if baseline and target else ():
        args: dict[str, Scalar] = {**finding.args, "source": AMP}
        key, status = f"ACC262.{finding.key.partition('.')[2]}", min(finding.status, Status.LOOK)
        yield Finding("ACC262", status, key, args, finding.place, weight=70)
    # the logs tell where this cannot look
    half = [operator for operator in seen.forward_operators() if in_half(operator) == "float16"]
    record = recorded_settings(seen.comparison.target)
    saturating = [name for name, value in SATURATES if record and record.environment.get(name) == value]
    if saturating and (half or scaled):
        args = {"name": saturating[0], "source": LOSS_SCALE_SOURCE}
        yield Finding("ACC262", Status.LOOK, "ACC262.saturated", args, weight=75)
    if half and scaler is not None and not scaler.get("enabled") and not scaled:
        args = {"count": len(half), "names": describe_places(half), "source": AMP}
        yield Finding("ACC262", Status.LOOK, "ACC262.without", args, half[0].place, weight=55)


def check_optimizer_form(seen: Seen) -> Iterator[Finding]:
    """ACC268: do the two sides compute the update in another form: fused, foreach, or one tensor after the other? Each
    rounds in another order, and a fused kernel is code of its own that may be wrong by itself."""
    sides = seen.comparison.baseline, seen.comparison.target
    optimizers = [recorded_fact(side, "optimizers") for side in sides]
    if not optimizers[0] or not optimizers[1]:
        raise CannotCheck("ACC268.no_record")
    tiers = [side.about.tier if side.about else "" for side in sides]
    forms = [[_optimizer_form(optimizer, tier) for optimizer in some] for some, tier in zip(optimizers, tiers)]
    differ = [(left, right, optimizer) for left, right, optimizer in zip(*forms, optimizers[1]) if left != right]
    if not differ:
        return
    left, right, optimizer = differ[0]
    parted = any(finding.key == "ACC235.parted" for finding in check_update(seen.comparison))
    key = "parted" if parted else "differ" if pair_following_steps(seen.comparison) else "unseen"
    name = str(optimizer["class"])
    args: dict[str, Scalar] = {"name": name, "baseline": left, "target": right, "count": len(differ)}
    args["plain"] = name.replace("NpuFused", "")
    args["source"] = FUSED if name.startswith("NpuFused") else OPTIMIZER_FORM_SOURCE
    yield Finding("ACC268", Status.LOOK if parted else Status.NOTE, f"ACC268.{key}", args, weight=65)


def _optimizer_form(optimizer: dict[str, Any], tier: str) -> str:
    """fused, foreach or for-loop; where the script leaves it open torch takes foreach on an accelerator."""
    name, group = str(optimizer["class"]), (optimizer.get("groups") or [{}])[0]
    if name.startswith(("NpuFused", "Fused")) or group.get("fused"):
        return "fused"
    if group.get("foreach") is None:
        return "for-loop" if tier == "cpu" or "foreach" not in group else "foreach"
    return "foreach" if group["foreach"] else "for-loop"


RULES = {"ACC262": check_loss_scale, "ACC268": check_optimizer_form}

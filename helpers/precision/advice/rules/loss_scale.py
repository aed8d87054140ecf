"""ACC262: is the loss scale in trouble: at its minimum, falling or skipping steps more often than the baseline's,
overflow hidden by saturation, or float16 gradients without one?
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, in_half, places, settings, told
from helpers.precision.curves.scale import history, judge_scale
from helpers.precision.curves.series import Curve
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC262"
SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_004.html"
AMP = "https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling"
#: The variable that makes an NPU saturate; this one forces it on newer hardware.
SATURATES = (("INF_NAN_MODE_ENABLE", "0"), ("INF_NAN_MODE_FORCE_DISABLE", "1"))


def check(seen: Seen) -> Iterator[Finding]:
    for log in seen.logs:
        if isinstance(log, WorkbookError):
            raise CannotCheck(log.key, **log.arguments)
    baseline, target = (log if isinstance(log, Curve) else None for log in seen.logs)
    scaler = told(seen.comparison.target, "scaler")
    scaled = target is not None and history(target) is not None
    if target is None and scaler is None:
        raise CannotCheck("ACC262.no_log")
    for found in judge_scale(baseline, target) if baseline and target else ():
        args: dict[str, Scalar] = {**found.args, "source": AMP}
        key, status = f"{CODE}.{found.key.partition('.')[2]}", min(found.status, Status.WARN)
        yield Finding(CODE, status, key, args, found.place, weight=70)
    half = [one for one in seen.operators() if in_half(one) == "float16"]  # the logs tell where this cannot look
    record = settings(seen.comparison.target)
    saturating = [name for name, value in SATURATES if record and record.environment.get(name) == value]
    if saturating and (half or scaled):
        yield Finding(CODE, Status.WARN, "ACC262.saturated", {"name": saturating[0], "source": SOURCE}, weight=75)
    if half and scaler is not None and not scaler.get("enabled") and not scaled:
        args = {"count": len(half), "names": places(half), "source": AMP}
        yield Finding(CODE, Status.WARN, "ACC262.without", args, half[0].place, weight=55)

"""Targets as a command line gives them: `loss=1%`, `val_loss=0.02`, `throughput=80%`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from helpers.batch.plan.model import MetricTarget, Targets
from helpers.errors import WorkbookError

FORM = re.compile(r"\s*([^=<>\s][^=<>]*?)\s*=\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%?)\s*")
THROUGHPUT = "throughput"


def parse(texts: Iterable[str]) -> Targets:
    """A metric's target is how far it may be from the baseline's: a share with `%`, else as it is; throughput's is the
    least share of the baseline's. Raises WorkbookError for any other form."""
    metrics: list[MetricTarget] = []
    least: float | None = None
    for text in texts:
        found = FORM.fullmatch(text)
        if found is None or not math.isfinite(float(found[2])):
            raise WorkbookError("accept.target", text=text)
        value = float(found[2]) / (100 if found[3] else 1)
        if found[1] == THROUGHPUT:
            least = value
        else:
            metrics.append(MetricTarget(found[1], value, bool(found[3])))
    return Targets(tuple(metrics), least)

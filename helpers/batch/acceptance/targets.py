"""Targets: as a command line gives them (`loss=1%`, `val_loss=0.02`, `throughput=80%`), and kept beside a run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from helpers.batch.plan.model import MetricTarget, Targets
from helpers.errors import WorkbookError
from helpers.storage import open_storage

FORM = re.compile(r"\s*([^=<>\s][^=<>]*?)\s*=\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%?)\s*")
THROUGHPUT = "throughput"
FILE = "targets.json"


def parse(texts: Iterable[str]) -> Targets:
    """A metric's target is how far it may be from the baseline's: a share with `%`, else as it is; throughput's is the
    least share of the baseline's, above 0 and told once. Raises WorkbookError for any other form."""
    metrics: list[MetricTarget] = []
    least: float | None = None
    for text in texts:
        found = FORM.fullmatch(text)
        if found is None or not math.isfinite(float(found[2])):
            raise WorkbookError("accept.target", text=text)
        value = float(found[2]) / (100 if found[3] else 1)
        if found[1] == THROUGHPUT and value and least is None:
            least = value
        elif found[1] == THROUGHPUT:  # nothing would miss an aim of 0, and of two one would be forgotten
            raise WorkbookError("accept.target", text=text)
        else:
            metrics.append(MetricTarget(found[1], value, bool(found[3])))
    return Targets(tuple(metrics), least)


def save(folder: Path, targets: Targets) -> None:
    """Keeps what a plan aims at in the folder of one of its runs; the file goes where it aims at nothing."""
    if targets == Targets():
        (folder / FILE).unlink(missing_ok=True)
    else:
        open_storage(str(folder)).write_text(FILE, json.dumps(asdict(targets), indent=1))


def load(folder: Path) -> Targets:
    """What is kept in the folder; none where nothing is. Raises WorkbookError for a file of another form."""
    path = folder / FILE
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return Targets(tuple(MetricTarget(**one) for one in told["metrics"]), told["throughput_at_least"])
    except FileNotFoundError:
        return Targets()
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("accept.summary", path=str(path), error=str(cause)) from cause

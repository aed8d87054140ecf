"""Targets: as a command line gives them (`loss=1%`, `val_loss=0.02`, `throughput=80%`), and kept beside a run."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from ascend_workbook.batch.plan.model import MetricTarget, Targets
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage import open_storage

FORM = re.compile(r"\s*([^=<>\s][^=<>]*?)\s*=\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%?)\s*")
THROUGHPUT = "throughput"
FILE = "targets.json"


def parse_targets(texts: Iterable[str]) -> Targets:
    """Parse targets as the command line gives them. A metric's target is how far it may be from the baseline's: a share
    with `%`, else as it is; throughput's is the least share of the baseline's, above 0 and told once. Raises
    WorkbookError for any other form."""
    metrics: list[MetricTarget] = []
    least: float | None = None
    for text in texts:
        match = FORM.fullmatch(text)
        if match is None or not math.isfinite(float(match[2])):
            raise WorkbookError("accept.target", text=text)
        value = float(match[2]) / (100 if match[3] else 1)
        if match[1] == THROUGHPUT and value and least is None:
            least = value
        elif match[1] == THROUGHPUT:  # nothing would miss an aim of 0, and of two one would be forgotten
            raise WorkbookError("accept.target", text=text)
        else:
            metrics.append(MetricTarget(match[1], value, bool(match[3])))
    return Targets(tuple(metrics), least)


def save_targets(folder: Path, targets: Targets) -> None:
    """Keep the targets of a plan in the folder of one of its runs. The file goes where the plan aims at nothing."""
    if targets == Targets():
        (folder / FILE).unlink(missing_ok=True)
    else:
        open_storage(str(folder)).write_text(FILE, json.dumps(asdict(targets), indent=1))


def load_targets(folder: Path) -> Targets:
    """Read the targets kept in a folder. There are none where nothing is kept. Raises WorkbookError for a file of
    another form.
    """
    path = folder / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Targets(tuple(MetricTarget(**metric) for metric in content["metrics"]), content["throughput_at_least"])
    except FileNotFoundError:
        return Targets()
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise WorkbookError("accept.summary", path=str(path), error=str(cause)) from cause

"""Fixed limits beside the comparison's own judgement: cosine below 0.99, and |a - b| <= atol + rtol * |b| everywhere.

Both are in wide use, and both err: a scale leaves the cosine at 1, and a limit per element knows neither rounding of a
reduced format nor an inherited error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.comparison import read_side
from ascend_workbook.precision.divergence import CONTAINER, NOT_COMPARED, PARTING
from ascend_workbook.precision.tensors.tensorfile import read_tensor
from ascend_workbook.precision.views.outcomes import read_outcome

COSINE, ATOL, RTOL = 0.99, 1e-5, 1e-3
COLUMNS = (
    Column("operator"),
    Column("step"),
    Column("cosine", digits=7),
    Column("by_cosine"),
    Column("beyond"),
    Column("by_elements"),
    Column("error_out"),
    Column("allowed"),
    Column("by_noise"),
)


def fixed_limits(comparison: Report, *, cosine: float = COSINE, atol: float = ATOL, rtol: float = RTOL) -> Report:
    """List each output that was compared and saved on both sides in a row: the three verdicts, pass or FAIL.

    `beyond` is the share of elements that the limits per element reject. Raises WorkbookError where a capture is gone.
    """
    left, right = (read_side(Path(comparison.facts[name])) for name in ("baseline", "target"))
    rows: list[tuple[Scalar, ...]] = []
    names = ("step", "rank", "operator", "tensor", "cosine", "error_out", "allowed", "judgement")
    for step, rank, name, slot, near, error, allowed, judgement in zip(
        *map(_table_of(comparison).column_values, names)
    ):
        operator_outcome = read_outcome(judgement)
        files = [
            _find_tensor_file(side.runs.get((int(str(step)), int(str(rank)))), str(name), str(slot))
            for side in (left, right)
        ]
        if operator_outcome in (CONTAINER, NOT_COMPARED) or error is None or not all(files):
            continue
        beyond = _share_beyond([path for path in files if path], atol, rtol)
        far = isinstance(near, (int, float)) and near < cosine
        rows.append(
            (
                name,
                step,
                near,
                _say_verdict(far),
                beyond,
                _say_verdict(beyond > 0),
                error,
                allowed,
                _say_verdict(operator_outcome in PARTING),
            )
        )
    return Report(
        "precision", "fixed_limits", (_count_verdicts(rows),), Table(COLUMNS, tuple(rows)), tier=comparison.tier
    )


def _table_of(comparison: Report) -> Table:
    return comparison.table or Table((), ())


def _find_tensor_file(run: object, name: str, slot: str) -> Path | None:
    operator = getattr(run, "by_name", {}).get(name)
    return next((record.file for record in operator.outputs if record.slot == slot), None) if operator else None


def _share_beyond(files: list[Path], atol: float, rtol: float) -> float:
    """Return the share of elements of the target beyond the limits; NaN in one place alone is beyond."""
    b, a = (np.asarray(read_tensor(path), dtype=np.float64) for path in files)
    near = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    return 1.0 - float(near.mean()) if near.size else 0.0


def _say_verdict(failed: bool) -> Scalar:
    return Sentence("layer.failed" if failed else "layer.passed")


def _count_verdicts(rows: list[tuple[Scalar, ...]]) -> Finding:
    counts: dict[str, Scalar] = {
        name: sum(row[at] == _say_verdict(True) for row in rows)
        for name, at in (("cosine", 3), ("elements", 5), ("noise", 8))
    }
    if not rows:
        return Finding("ACC294", Status.SKIPPED, "ACC294.nothing")
    return Finding("ACC294", Status.NOTE, "ACC294.counts", {**counts, "of": len(rows)})

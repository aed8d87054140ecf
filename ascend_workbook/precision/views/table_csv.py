"""A comparison as the CSV that `msprobe compare` writes: the same names, columns and numbers, so that what reads the
one reads the other. Source: mindstudio-probe 26.2.0, msprobe/core/compare (columns, rounding to 12 decimals)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

import numpy as np

from ascend_workbook.precision.pairing import Pairing
from ascend_workbook.precision.record import PARAMETERS, TensorRecord
from ascend_workbook.precision.tensors.agreement import NONFINITE, SHAPE, Agreement, TensorAgreement
from ascend_workbook.precision.tensors.metrics import Metrics

METRICS = ("Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio")
_OF_SIDES = ("NPU Name", "Bench Name", "NPU Dtype", "Bench Dtype", "NPU Tensor Shape", "Bench Tensor Shape")
COLUMNS = (*_OF_SIDES, *METRICS, "RelativeL2Err", "MaxUlpErr", "NPU l2norm", "Bench l2norm", "Err_message")
NOT_THERE, UNSUPPORTED = "N/A", "unsupported"
#: Cosines above this are rounded to 6 decimals, everything else to 12.
NEAR_ONE = 0.9999


def render_csv(steps: Iterable[tuple[Pairing, Iterable[Agreement]]]) -> str:
    """Render all steps and ranks as CSV, a row a tensor; what one side alone has gets `N/A` and an Err_message."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for pairing, agreements in steps:
        for agreement in agreements:
            writer.writerows(map(_neutralise_cells, _tensor_rows(agreement)))
        rest = [(operator.name, NOT_THERE, "NPU") for operator in pairing.only_target]
        rest += [(NOT_THERE, operator.name, "Bench") for operator in pairing.only_baseline]
        for *names, side in rest:
            rest_of_row = (*((NOT_THERE,) * (4 + len(METRICS))), None, None, None, None, f"only in {side}")
            writer.writerow(_neutralise_cells((*names, *rest_of_row)))
    return stream.getvalue()


#: What a spreadsheet takes for a formula where a text begins with it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _neutralise_cells(cells: Iterable[object]) -> list[object]:
    """Put an apostrophe before a text that a spreadsheet would run; numbers stay as they are."""
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in cells]


def format_metrics(metrics: Metrics) -> tuple[object, ...]:
    """Return six metrics as msprobe tells them, `unsupported` where it has none: for empty tensors and, but for the
    largest errors, for scalars."""
    if metrics.size == 0:
        return (UNSUPPORTED,) * len(METRICS)
    if metrics.nonfinite_places:
        return (NOT_THERE,) * len(METRICS)
    cosine = _format_cosine(metrics) if metrics.size > 1 else UNSUPPORTED
    ratios = (round(metrics.within_thousandth, 12), round(metrics.within_five_thousandths, 12))
    return (cosine, metrics.euclidean, *map(_round_number, (metrics.max_absolute, metrics.max_relative)), *ratios)


def _format_cosine(metrics: Metrics) -> object:
    small = [norm <= float(np.finfo(float).eps) for norm in (metrics.norm_target, metrics.norm_baseline)]
    if any(small):
        return 1.0 if all(small) else "NaN"
    if metrics.cosine is None:
        return "NaN"
    cosine = _round_number(metrics.cosine)
    return round(cosine, 6) if cosine > NEAR_ONE else cosine


def _round_number(value: float) -> float:
    return float(f"{value:.12f}")


def _tensor_rows(agreement: Agreement) -> Iterator[tuple[object, ...]]:
    pair = agreement.pair
    left, right = ({t.slot: t for t in (*side.inputs, *side.outputs)} for side in (pair.target, pair.baseline))
    for tensor in (*agreement.inputs, *agreement.outputs):
        target_record, baseline_record = left.get(tensor.slot), right.get(tensor.slot)
        # msprobe's name of a tensor: parameter gradients go by the parameter's name alone
        slot = tensor.slot[len("output.") :] if pair.target.direction == PARAMETERS else tensor.slot
        sides = ((pair.target, target_record), (pair.baseline, baseline_record))
        names = [f"{side.name}.{slot}" if record else NOT_THERE for side, record in sides]
        shapes = [list(record.shape) if record else NOT_THERE for record in (target_record, baseline_record)]
        yield (*names, _dtype_name(target_record), _dtype_name(baseline_record), *shapes, *_tensor_columns(tensor))


def _dtype_name(record: TensorRecord | None) -> str:
    return f"torch.{record.dtype}" if record else NOT_THERE


def _tensor_columns(tensor: TensorAgreement) -> tuple[object, ...]:
    message = " ".join(filter(None, (tensor.problem, tensor.detail)))
    if tensor.metrics is None:
        word = SHAPE if tensor.problem == SHAPE else NOT_THERE
        return (*((word,) * len(METRICS)), tensor.error, None, None, None, message)
    metrics = tensor.metrics
    odd = f"{NONFINITE}: {metrics.nonfinite_places}" if metrics.nonfinite_places else message
    norms = metrics.norm_target, metrics.norm_baseline
    return (*format_metrics(metrics), metrics.relative_l2, metrics.max_ulp, *norms, odd)

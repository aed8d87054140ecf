"""Which kernels compute, on which unit, in which dtype and format."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.profiling import savings
from ascend_workbook.profiling.attribution import nest_by_lane
from ascend_workbook.profiling.device.units import bound_masks
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.readers.tables import KernelTable
from ascend_workbook.profiling.savings import advise_change, needs_device, needs_npu, share_computing_by

BASIS = {"PRF323": "facts", "PRF331": "reasoned"}
MUCH = 0.30
AI_CPU_SOURCE = "https://gitcode.com/Ascend/msprof-analyze"
UNITS = ("AI_CPU", "KERNEL_AICPU")
FALLBACKS_SOURCE = "https://gitcode.com/Ascend/pytorch"
MARK = "aten::_to_cpu"
AMP = "https://docs.pytorch.org/docs/stable/amp.html"
CASTS_TYPES = ("Cast",)
CASTS_OPERATORS = ("aten::_to_copy", "npu::_npu_dtype_cast", "aclnnCast", "Cast")
FORMATS_SOURCE = "https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/apilist/ptaoplist_000224.html"
FORMATS_TYPES = ("TransData",)
FORMATS_OPERATORS = (
    *("TransData", "trans_TransData*", "aclnnNpuFormatCast*", "npu::npu_format_cast*", "npu::_npu_format_cast*"),
)
CUBE = ("AI_CORE", "AI_CUBE_CORE", "MIX_AIC")


def check_dominant(profile: Profile) -> Iterator[Finding]:
    """Does one computing operator cost more than the others? Making it free is the most that work on it can bring.
    Collectives and copies are not among these: PRF312 and PRF315 judge what they cost."""
    if not profile.conclusive:
        raise CannotCheck("PRF331.blind")
    if profile.simulated:
        raise CannotCheck("PRF331.simulated")
    computing = [operator for operator in profile.operators if operator.kind in ("compute", "host_op")]
    if not computing:
        raise CannotCheck("PRF331.no_operators")
    first = computing[0]
    per_step = first.self_ns / len(profile.breakdown.steady)
    share = per_step / profile.breakdown.step_ns
    args: dict[str, Scalar] = {"operator": first.name, "share": to_percent(share)}
    whole = sum(operator.self_ns for operator in computing)
    args["computing_share"] = round(100 * first.self_ns / whole, 1) if whole else None
    args["gain_ms"] = profile.to_ms(min(per_step, profile.breakdown.step_ns))  # several streams can exceed the step
    much = share >= MUCH
    status, key = (Status.NOTE, "PRF331.one") if much else (Status.GOOD, "PRF331.many")
    yield Finding("PRF331", status, key, args, weight=100 * share)


def check_kernel_metrics(profile: Profile) -> Iterator[Finding]:
    """What holds the kernels up, arithmetic or memory? Needs the metrics that CANN records from Level1 on."""
    if profile.tier != "npu":
        raise CannotCheck("PRF323.no_npu")
    table = profile.kernels
    if table is None:
        raise CannotCheck("PRF323.no_table")
    args: dict[str, Scalar] = {"path": str(table.path), "kernels": len(table)}
    if table.bad_rows:
        yield Finding("PRF323", Status.LOOK, "PRF323.rows", {**args, "rows": table.bad_rows, "line": table.bad_line})
    if table.bad_cells:
        yield Finding("PRF323", Status.LOOK, "PRF323.cells", {**args, "cells": table.bad_cells, "cell": table.bad_cell})
    yield _judge_bounds(table)


def _judge_bounds(table: KernelTable) -> Finding:
    masks = bound_masks(table)
    total = table.total_ns()
    if masks is None or not total:
        return Finding("PRF323", Status.NOT_LOOKED, "PRF323.no_metrics")
    computing, memory = (round(100 * table.total_ns(mask) / total, 1) for mask in masks)
    args: dict[str, Scalar] = {"computing": computing, "memory": memory}
    args["neither"] = round(100 - computing - memory, 1)
    return Finding("PRF323", Status.GOOD, "PRF323.bounds", args)


def check_ai_cpu(profile: Profile) -> Iterator[Finding]:
    """Do operators run on the AI CPU? It is some hundred times slower than the cores, and these mostly wait for it."""
    needs_npu(profile, "PRF365")
    table, trace = profile.kernels, profile.trace
    if table is not None and table.has_columns("unit"):
        on_it = table.mask_where("unit", UNITS.__contains__)
        part = table.share_of(on_it)
        names = table.distinct_texts("type" if "type" in table.texts else "name", on_it)
    elif any(trace.engines):
        rows = trace.where(("compute",)) & (trace.step >= 0)
        on_it = np.isin(trace.engine, [at for at, unit in enumerate(trace.engines) if unit in UNITS]) & rows
        total = int(trace.duration_ns[rows].sum())
        part = int(trace.duration_ns[on_it].sum()) / total if total else 0.0
        names = sorted({trace.names[at] for at in np.unique(trace.name[on_it]).tolist()})
    else:
        raise CannotCheck("advice.no_units", topic=Sentence("PRF365.topic"))
    share = part * profile.breakdown.share_of("computing")
    yield advise_change(profile, "PRF365.change", share, AI_CPU_SOURCE, worth=1e-9, operators=list(names[:6]))


def check_fallbacks(profile: Profile) -> Iterator[Finding]:
    """Did operators fall back to the CPU? Each copies its inputs to the host and its results back. torch marks it: a
    fallback calls aten::_to_cpu on what it takes."""
    trace = profile.trace
    if profile.tier in ("cpu", ""):
        raise CannotCheck("advice.no_accelerator", topic=Sentence("PRF366.topic"))
    if not trace.count_events("host_op"):
        raise CannotCheck("advice.no_host", topic=Sentence("PRF366.topic"))
    at = np.flatnonzero(trace.mask_of_names(MARK.__eq__) & (trace.step >= 0))
    callers = _find_enclosing(profile, at) if at.size else at
    spent = int(trace.duration_ns[callers].sum()) / len(trace.steps) / profile.breakdown.step_ns
    share = min(spent, profile.breakdown.share_of("free") + profile.breakdown.share_of("copy")) if callers.size else 0.0
    names = sorted({trace.names[trace.name[row]] for row in callers.tolist()})[:6]
    where = savings.find_caller(profile, int(callers[0])) if callers.size else ""
    worth = 0.0 if callers.size else 1.0
    yield advise_change(
        profile, "PRF366.change", share, FALLBACKS_SOURCE, worth=worth, operators=list(names), where=where or None
    )


def _find_enclosing(profile: Profile, marks: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the operators that directly enclose the marks, each once."""
    trace = profile.trace
    hosts = np.flatnonzero(trace.where(("host_op",)))
    threads = nest_by_lane(trace.lane[hosts], trace.start_ns[hosts], trace.duration_ns[hosts], hosts)
    enclosing = []
    for thread in threads.values():
        rows, parent = np.asarray(thread.rows), np.asarray(thread.parent)
        above = parent[np.isin(rows, marks)]
        enclosing.append(rows[above[above >= 0]])
    return np.unique(np.concatenate(enclosing))


def check_casts(profile: Profile) -> Iterator[Finding]:
    """Do kernels only change the dtype? Values that are kept in the dtype they are used in need no cast."""
    needs_device(profile, "PRF367")
    if profile.kernels is not None and profile.kernels.has_columns("type"):
        share, calls = share_computing_by(profile, CASTS_TYPES, ())
    else:
        share, calls = savings.share_launched_within(profile, CASTS_OPERATORS)
    yield advise_change(profile, "PRF367.change", share, AMP, calls=round(calls))


def check_formats(profile: Profile) -> Iterator[Finding]:
    """Do kernels only change the memory format? Private ones (NC1HWC0, FRACTAL_NZ) need TransData at their borders. A
    transpose is the model's own: it changes the order of the elements whatever the format."""
    needs_npu(profile, "PRF368")
    share, calls = share_computing_by(profile, FORMATS_TYPES, FORMATS_OPERATORS)
    yield advise_change(profile, "PRF368.change", share, FORMATS_SOURCE, calls=round(calls))


def check_precision(profile: Profile) -> Iterator[Finding]:
    """Do matrix products and convolutions run in float32? The cube unit is made for half precision. HF32 keeps float32
    tensors and multiplies with fewer bits; the table tells which kernels may use it."""
    needs_npu(profile, "PRF369")
    table = profile.kernels
    if table is None or not table.has_columns("unit", "inputs"):
        raise CannotCheck("advice.no_dtypes", topic=Sentence("PRF369.topic"))
    cube = table.mask_where("unit", CUBE.__contains__)
    single = cube & table.mask_where("inputs", lambda inputs: inputs.split()[:1] == ["float32"])
    hf32 = table.mask_where("hf32", "YES".__eq__)
    share = table.share_of(single) * profile.breakdown.share_of("computing")
    args = {"kernels": int(single.sum()), "cube": int(cube.sum()), "hf32": int((single & hf32).sum())}
    yield advise_change(profile, "PRF369.change", share, AMP, **args)


RULES = {
    "PRF323": check_kernel_metrics,
    "PRF331": check_dominant,
    "PRF365": check_ai_cpu,
    "PRF366": check_fallbacks,
    "PRF367": check_casts,
    "PRF368": check_formats,
    "PRF369": check_precision,
}

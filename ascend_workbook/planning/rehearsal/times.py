"""How long the step of one rank would take on the chip: kernels, collectives, launches; each as a range."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ascend_workbook.estimates.basis import Basis
from ascend_workbook.estimates.collectives import estimate_collective
from ascend_workbook.estimates.kernels import Kernel, estimate_kernels
from ascend_workbook.estimates.launches import NO, YES, estimate_launches, judge_host_bound
from ascend_workbook.estimates.loads import measure_kernel
from ascend_workbook.estimates.operators import Operand, kernels_of
from ascend_workbook.estimates.ranges import ZERO, Range, add_ranges
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.planning.rehearsal.settings import Cluster
from ascend_workbook.planning.rehearsal.work import Call, Collective, Work


@dataclass(frozen=True)
class KernelShare:
    """All kernels of one CANN type in a step; microseconds."""

    type: str
    count: int
    time: Range
    flops: float


@dataclass(frozen=True)
class CollectiveShare:
    """All collectives of one kind and group in a step; bytes are those of the tensors."""

    name: str
    group: str
    count: int
    bytes: int
    ranks: int
    time: Range


@dataclass(frozen=True)
class StepTime:
    """One step of one rank, in microseconds, if no rank waits for another.

    exposed: what collectives would hold up kernels, None where the order of streams was not recorded; host_bound: True
    where launches alone would take longer than the device, None where that cannot be told."""

    compute: Range
    communication: Range
    launches: Range
    step: Range
    flops: float
    kernels: tuple[KernelShare, ...]
    collectives: tuple[CollectiveShare, ...]
    families: Mapping[str, Range]
    host_bound: bool | None
    exposed: Range | None = None


def estimate_step(work: Work, cluster: Cluster, basis: Basis) -> StepTime:
    """Estimate a step of this work on the cluster's chip: collectives hidden behind compute at best, not at worst."""
    kernels: Counter[Kernel] = Counter()
    for call, times_called in Counter(work.calls).items():
        for kernel in list_kernels(call):
            kernels[kernel] += times_called
    total = estimate_kernels(kernels.elements(), cluster.chip, basis)
    shares = _share_kernels(kernels, cluster, basis)
    collectives = _share_collectives(work, cluster)
    communication = add_ranges([share.time for share in collectives]) if collectives else ZERO
    launched = sum(kernels.values()) + len(work.collectives)
    launches = estimate_launches(launched, basis)
    low = max(total.range.low, communication.low, launches.low)
    high = max(total.range.high + communication.high, launches.high)
    middle = max(total.range.middle + communication.middle / 2, launches.middle)
    step = Range(low, min(max(middle, low), high), high)
    host_bound = {YES: True, NO: False}.get(judge_host_bound(launched, total.range, basis))
    flops = sum(share.flops for share in shares)
    return StepTime(total.range, communication, launches, step, flops, shares, collectives, total.by_family, host_bound)


#: Operators of which CANN multiplies transposed matrices without copying them
PRODUCTS = ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::matmul", "aten::linear")


def list_kernels(call: Call) -> tuple[Kernel, ...]:
    """Return the CANN kernels that an operator becomes. Of products tables have operands as they lie in memory."""
    inputs = [Operand(shape, kind) for shape, kind in zip(call.inputs, call.input_types)]
    outputs = [Operand(shape, kind) for shape, kind in zip(call.outputs, call.output_types)]
    if call.turned and call.name.split(".")[0] in PRODUCTS:
        inputs = [
            operand._replace(shape=(*operand.shape[:-2], operand.shape[-1], operand.shape[-2]))
            if number in call.turned
            else operand
            for number, operand in enumerate(inputs)
        ]
    return kernels_of(call.name, inputs, outputs)


def _share_kernels(kernels: Counter[Kernel], cluster: Cluster, basis: Basis) -> tuple[KernelShare, ...]:
    by_type: dict[str, Counter[Kernel]] = {}
    for kernel, count in kernels.items():
        by_type.setdefault(kernel.type, Counter())[kernel] = count
    shares = []
    for kind, own in by_type.items():
        time = estimate_kernels(own.elements(), cluster.chip, basis).range
        flops = sum(count * (measure_kernel(kernel).operations or 0) for kernel, count in own.items())
        shares.append(KernelShare(kind, sum(own.values()), time, flops))
    return tuple(sorted(shares, key=lambda share: -share.time.middle))


#: Bytes of an element, by HCCL's names of data types.
ITEM = {
    "int8": 1,
    "uint8": 1,
    "fp16": 2,
    "bfp16": 2,
    "int16": 2,
    "fp32": 4,
    "int32": 4,
    "int64": 8,
    "uint64": 8,
    "fp64": 8,
}


def count_bytes(collective: Collective) -> int:
    """Return the bytes of the whole tensor: of an allgather the gathered one, of a reduce-scatter what is given."""
    tensor = collective.count * ITEM.get(collective.data_type.lower(), 4)
    spread = "reduceScatter" in collective.name or "allGather" in collective.name
    return tensor * (collective.peers + 1) if spread else tensor


def estimate_one_collective(collective: Collective, cluster: Cluster) -> Range:
    """Estimate a collective in microseconds; nothing for one that moves no data, such as a barrier."""
    ranks = collective.peers + 1
    nodes = 1 if ranks <= cluster.node_cards else -(-ranks // cluster.node_cards)
    try:
        return estimate_collective(collective.name, count_bytes(collective), ranks, nodes, cluster.chip)
    except WorkbookError:
        return ZERO


def _share_collectives(work: Work, cluster: Cluster) -> tuple[CollectiveShare, ...]:
    groups: dict[tuple[str, str], list[Collective]] = {}
    for collective in work.collectives:
        groups.setdefault((collective.name, collective.group), []).append(collective)
    shares = []
    for (name, group), own in groups.items():
        ranks = max(collective.peers for collective in own) + 1
        size = sum(count_bytes(collective) for collective in own)
        time = add_ranges([estimate_one_collective(collective, cluster) for collective in own], together=1.0)
        shares.append(CollectiveShare(name, group, len(own), size, ranks, time))
    return tuple(sorted(shares, key=lambda share: -share.bytes))


def count_tokens(work: Work) -> int:
    """Return the tokens of one step of one rank: the indices into the largest embedding of integers, 0 without one."""
    embeddings = [call for call in work.calls if call.name.startswith("aten::embedding") and len(call.inputs) == 2]
    largest = max((call.inputs[0] for call in embeddings), default=None, key=lambda shape: shape[0] if shape else 0)
    return sum(
        math.prod(call.inputs[1]) for call in embeddings if call.inputs[0] == largest and "backward" not in call.name
    )

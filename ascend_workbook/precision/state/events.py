"""Two captures' recordings of their steps, held against each other with what is known of the two runs."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.experiment import measure_start, shared_draws
from ascend_workbook.precision.experiment.told import Discrepancy
from ascend_workbook.precision.state.judge import Conditions, Judged
from ascend_workbook.precision.state.judging import judge_rank
from ascend_workbook.precision.state.reading import States
from ascend_workbook.precision.tensors.tolerance import CONVOLUTIONS, MATMULS, reduced_unit

#: Facts of the experiment that make other gradients, from the step that they name on.
OF_DATA = ("batches", "batch_shapes", "samples", "order")
OF_WEIGHTS = ("weights", "weights_missing", "dtype", "shape", "module", "modules")
HALVES = ("float16", "bfloat16")


def known_conditions(
    left: Manifest | None,
    right: Manifest | None,
    discrepancies: tuple[Discrepancy, ...],
    parted_from: float = math.inf,
    states: tuple[States, ...] = (),
) -> Conditions:
    """What the two manifests tell of their runs, and their recorded `states` of the device's random numbers."""
    sides = [next(iter(side.sides.values()), {}).get("experiment") or {} if side else {} for side in (left, right)]
    dtypes = {str(name) for side in sides for name in side.get("dtypes") or ()}
    dtypes |= {str(name) for side in sides for enabled, name in side.get("autocast") or () if enabled}
    steps = [int(part.name) for part in discrepancies if part.fact in OF_DATA and part.name.isdigit()]
    begun = any(part.fact in OF_WEIGHTS for part in discrepancies)
    tiers = {_kind_of(side) for side in (left, right) if side}
    modules = [[kind for kind, _ in (side.get("modules") or {}).values()] for side in sides]
    drops = any("Dropout" in str(kind) for kinds in modules for kind in kinds) or any(map(_draws_on_device, states))
    seeds = any(part.fact in ("seed", "option") for part in discrepancies)
    # the wrappers of a divided model may hide its modules: the longer list is the model's
    reduced = [_reduced_layers(side, max(modules, key=len)) for side in (left, right) if side]
    return Conditions(
        coarse=any(name in HALVES for name in dtypes),
        data_from=min([math.inf, *steps, *([0] if begun else [])]),
        parted_from=parted_from,
        draws_differ=seeds or (len(tiers) > 1 and drops and not shared_draws(left, right)),
        same_streams=(len(tiers) == 1 or shared_draws(left, right)) and not seeds,
        noise=measure_start(left, right),
        reduced=max((reduced_unit(form) for layers in reduced for form in layers), default=0.0),
        depth=max([1, *(sum(layers.values()) for layers in reduced)]),
    )


def _reduced_layers(side: Manifest, modules: list[Any]) -> Counter[str]:
    """The formats that this side rounds inputs to, each with in how many modules; of convolutions only where the model
    has one."""
    layers: Counter[str] = Counter()
    for kind, names in (("conv", CONVOLUTIONS), ("matmul", MATMULS)):
        form, count = side.numerics.get(kind, ""), sum(str(module) in names for module in modules)
        if form and (count or kind != "conv"):
            layers[form] += max(1, count)
    return layers


def _draws_on_device(states: States) -> bool:
    """Whether the device's own stream moved on from one step to the next: a dropout that is no module's, for one."""
    for steps in states.ranks.values():
        for kind in ("cuda", "npu"):
            streams = [step.random[kind] for _, step in sorted(steps.items()) if kind in step.random]
            if len(set(streams)) > 1:
                return True
    return False


def _kind_of(side: Manifest) -> str:
    """What draws random numbers on this side; the CPU draws in the place of CUDA with a stream of its own."""
    return "npu" if side.tier.startswith("npu") else side.tier


def judge_states(baseline: States, target: States, known: Conditions) -> list[Judged]:
    """Hold every rank that both sides recorded against its like."""
    ranks = sorted(baseline.ranks.keys() & target.ranks.keys())
    return [judge_rank(rank, baseline.ranks[rank], target.ranks[rank], known) for rank in ranks]

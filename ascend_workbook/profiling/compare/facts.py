"""What the rules of a comparison judge: two sides, and their costs as rows whose differences add up.

What one side does with one fused operator and the other with several is held together, or each is alone. Sources:
https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html,
https://www.hiascend.com/document (torch_npu's fused operators: npu_fusion_attention, npu_rms_norm, npu_swiglu,
npu_rotary_mul), https://pytorch.org/docs/stable/torch.compiler.html."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ascend_workbook.profiling.compare.costs import (
    FREE,
    HIDDEN,
    LOADING,
    NAMESPACED,
    REST,
    Cost,
    Costs,
    Side,
    compute_side,
)
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.families import FAMILIES as KERNEL_FAMILIES
from ascend_workbook.profiling.families import family_of


class Family(NamedTuple):
    """`fused`: parts of names of the operators that do it at once; `pieces`: those that do it step by step, by whole
    name without namespace (empty: every operator)."""

    name: str
    fused: tuple[str, ...]
    pieces: tuple[str, ...]


FAMILIES = (
    Family(
        "attention",
        ("scaled_dot_product", "fusion_attention", "flash_attn", "_fmha"),
        ("softmax", "bmm", "baddbmm", "matmul", "dropout", "masked_fill", "masked_fill_", "einsum"),
    ),
    Family("rms_norm", ("rms_norm",), ("pow", "mean", "rsqrt", "mul")),
    Family("swiglu", ("swiglu",), ("silu", "chunk", "split", "mul")),
    Family("rotary", ("rotary",), ("neg", "cat", "mul", "add")),
    Family("compiled", ("CompiledFunction", "CompiledFxGraph", "Torch-Compiled Region"), ()),
)

#: Rows that are no operator's, or one row whatever the device
NO_OPERATORS = ("row.", "collective ", "copy", "Optimizer")
#: What the name of a join of kernels begins with
KERNELS = "kernels_"


def find_joins(baseline: Costs, target: Costs) -> dict[str, tuple[str, ...]]:
    """Find the families of which one side alone has the fused operator, by name with the operators that make one row:
    fused ones and those that the side with these calls less often; each operator in one family at most. Kernels that no
    operator launched are joined by what they compute (families.family_of)."""
    taken: set[str] = set()
    names_of_family: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        fused_names = [
            [name for name in costs if any(part in name for part in family.fused)] for costs in (baseline, target)
        ]
        if bool(fused_names[0]) == bool(fused_names[1]):
            continue
        with_it, without = (baseline, target) if fused_names[0] else (target, baseline)
        fewer = [
            name
            for name in without
            if name not in taken
            and not name.startswith(NO_OPERATORS)
            and (not family.pieces or name.rpartition("::")[2] in family.pieces)
            and _count_calls(with_it, name) < 0.999 * _count_calls(without, name)
        ]
        if fewer:
            names_of_family[family.name] = (*(fused_names[0] or fused_names[1]), *fewer)
            taken |= set(names_of_family[family.name])
    return names_of_family | _join_kernels(baseline, target, taken)


def _join_kernels(baseline: Costs, target: Costs, taken: set[str]) -> dict[str, tuple[str, ...]]:
    """Join the kernels without an operator that one side alone has, by what they compute: each maker names its own."""
    names_of_family: dict[str, tuple[str, ...]] = {}
    one_sided = [name for name in (*baseline, *target) if (name in baseline) != (name in target) and name not in taken]
    kernels = [name for name in one_sided if not name.startswith(NO_OPERATORS) and not NAMESPACED.match(name)]
    for family in KERNEL_FAMILIES:
        names = tuple(name for name in kernels if family_of(name) == family)
        if len({name in baseline for name in names}) == 2:
            names_of_family[f"{KERNELS}{family}"] = names
    return names_of_family


def _count_calls(costs: Costs, name: str) -> float:
    return costs[name].calls if name in costs else 0.0


ALIKE, CHANGED, ONLY_BASELINE, ONLY_TARGET, JOINED = "alike", "changed", "only_baseline", "only_target", "joined"
OTHERS = (LOADING, FREE, HIDDEN, REST)


@dataclass(frozen=True)
class Row:
    """Of one name, nanoseconds and calls a step on both sides; `names`: what a joined row is made of. `pairing` is one
    of the words above: calls or shapes alike, changed, or one side alone."""

    name: str
    baseline: Cost
    target: Cost
    pairing: str
    names: tuple[str, ...] = ()

    @property
    def difference_ns(self) -> float:
        return self.target.ns - self.baseline.ns


def pair_rows(baseline: Costs, target: Costs, joins: Mapping[str, tuple[str, ...]] | None = None) -> list[Row]:
    """Return a row for each name of either side, the greatest difference first; those of find_joins together."""
    paired = []
    taken: set[str] = set()
    for family, names in (joins or {}).items():
        left, right = (_sum_costs(costs, names) for costs in (baseline, target))
        paired.append(Row(f"family.{family}", left, right, JOINED, names))
        taken |= set(names)
    for name in dict.fromkeys([*baseline, *target]):
        if name not in taken:
            left, right = (costs.get(name) or Cost(0.0, 0.0, {}) for costs in (baseline, target))
            paired.append(Row(name, left, right, _classify_pair(name, baseline, target)))
    return sorted(paired, key=lambda row: (-abs(row.difference_ns), row.name))


def _sum_costs(costs: Costs, names: tuple[str, ...]) -> Cost:
    """Sum the costs of these names."""
    total = Cost(0.0, 0.0, {})
    for name in names:
        if name in costs:
            total.add_spent(costs[name].calls, costs[name].ns)
    return total


def _classify_pair(name: str, baseline: Costs, target: Costs) -> str:
    """Say how the two sides of a name go together: alike, changed, or on one side alone."""
    if name in OTHERS:
        return ALIKE
    if name not in target:
        return ONLY_BASELINE
    if name not in baseline:
        return ONLY_TARGET
    left, right = baseline[name], target[name]
    same_calls = abs(left.calls - right.calls) <= 0.01 * max(left.calls, right.calls)
    same_shapes = not (left.shapes and right.shapes) or left.shapes.keys() == right.shapes.keys()
    return ALIKE if same_calls and same_shapes else CHANGED


@dataclass(frozen=True)
class Comparison:
    """`operators` and, where both sides recorded the same kind of it, `modules` (else empty): rows whose differences
    add up to `difference_ns`, the target's mean step less the baseline's."""

    baseline: Side
    target: Side
    operators: tuple[Row, ...]
    modules: tuple[Row, ...]

    @classmethod
    def from_profiles(cls, baseline: Profile, target: Profile) -> Comparison:
        """Make the comparison of two profiles."""
        left, right = compute_side(baseline), compute_side(target)
        operators = pair_rows(left.operators, right.operators, find_joins(left.operators, right.operators))
        same = left.module_kind == right.module_kind != ""
        return cls(left, right, tuple(operators), tuple(pair_rows(left.modules, right.modules) if same else []))

    @property
    def difference_ns(self) -> float:
        return self.target.step_ns - self.baseline.step_ns

    @property
    def simulated(self) -> bool:
        return self.baseline.profile.simulated or self.target.profile.simulated

    @property
    def real_rows(self) -> tuple[Row, ...]:
        """Return the rows of operators, without those for what is no operator's."""
        return tuple(row for row in self.operators if row.name not in OTHERS)

    def spread_ns(self) -> float:
        """Return half the distance between the steady steps of the side that varies more; 0 for single steps."""
        totals = [
            [step.total_ns for step in compared_side.profile.breakdown.steady]
            for compared_side in (self.baseline, self.target)
        ]
        return max((max(some) - min(some)) / 2 for some in totals)

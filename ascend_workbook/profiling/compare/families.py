"""What one side does with one fused operator and the other with several: held together, or each is alone.

Sources: https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html,
https://www.hiascend.com/document (torch_npu's fused operators: npu_fusion_attention, npu_rms_norm, npu_swiglu,
npu_rotary_mul), https://pytorch.org/docs/stable/torch.compiler.html.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ascend_workbook.profiling.compare.costs import Costs


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


class Join(NamedTuple):
    """Names that make one row: those of the baseline and of the target, and what the row is called."""

    family: str
    names: tuple[str, ...]


def find_joins(baseline: Costs, target: Costs) -> list[Join]:
    """Find the families of which one side alone has the fused operator, with the operators that it calls less often for
    it; each operator in one family at most."""
    taken: set[str] = set()
    families_joined = []
    for family in FAMILIES:
        fused_names = [_names_with(family.fused, costs) for costs in (baseline, target)]
        if bool(fused_names[0]) == bool(fused_names[1]):
            continue
        with_it, without = (baseline, target) if fused_names[0] else (target, baseline)
        fewer = [
            name
            for name in without
            if name not in taken
            and _is_piece(name, family)
            and _count_calls(with_it, name) < 0.999 * _count_calls(without, name)
        ]
        if fewer:
            names = (*(fused_names[0] or fused_names[1]), *fewer)
            taken |= set(names)
            families_joined.append(Join(family.name, names))
    return families_joined


def _names_with(parts: Iterable[str], costs: Costs) -> list[str]:
    """Return the names that contain one of the parts."""
    return [name for name in costs if any(part in name for part in parts)]


def _is_piece(name: str, family: Family) -> bool:
    """Return whether an operator can be a piece of the family's fused one."""
    if name.startswith(("row.", "collective ", "copy", "Optimizer")):
        return False
    return not family.pieces or name.rpartition("::")[2] in family.pieces


def _count_calls(costs: Costs, name: str) -> float:
    return costs[name].calls if name in costs else 0.0

"""What one side does with one fused operator and the other with several: held together, or each is alone.

Sources: https://pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html,
https://www.hiascend.com/document (torch_npu's fused operators: npu_fusion_attention, npu_rms_norm, npu_swiglu,
npu_rotary_mul), https://pytorch.org/docs/stable/torch.compiler.html.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from helpers.profiling.compare.costs import Costs


class Family(NamedTuple):
    """`fused`: parts of names of the operators that do it at once; `pieces`: those that do it step by step, by whole
    name without namespace (empty: every operator)."""

    name: str
    fused: tuple[str, ...]
    pieces: tuple[str, ...]


FAMILIES = (
    Family("attention", ("scaled_dot_product", "fusion_attention", "flash_attn", "_fmha"),
           ("softmax", "bmm", "baddbmm", "matmul", "dropout", "masked_fill", "masked_fill_", "einsum")),
    Family("rms_norm", ("rms_norm",), ("pow", "mean", "rsqrt", "mul")),
    Family("swiglu", ("swiglu",), ("silu", "chunk", "split", "mul")),
    Family("rotary", ("rotary",), ("neg", "cat", "mul", "add")),
    Family("compiled", ("CompiledFunction", "CompiledFxGraph", "Torch-Compiled Region"), ()),
)  # fmt: skip


class Join(NamedTuple):
    """Names that make one row: those of the baseline and of the target, and what the row is called."""

    family: str
    names: tuple[str, ...]


def joins(baseline: Costs, target: Costs) -> list[Join]:
    """The families of which one side alone has the fused operator, with the operators that it calls less often for
    it; each operator in one family at most."""
    taken: set[str] = set()
    found = []
    for family in FAMILIES:
        there = [_having(family.fused, costs) for costs in (baseline, target)]
        if bool(there[0]) == bool(there[1]):
            continue
        with_it, without = (baseline, target) if there[0] else (target, baseline)
        fewer = [name for name in without if name not in taken and _is_piece(name, family) and
                 _calls(with_it, name) < 0.999 * _calls(without, name)]  # fmt: skip
        if fewer:
            names = (*(there[0] or there[1]), *fewer)
            taken |= set(names)
            found.append(Join(family.name, names))
    return found


def _having(parts: Iterable[str], costs: Costs) -> list[str]:
    return [name for name in costs if any(part in name for part in parts)]


def _is_piece(name: str, family: Family) -> bool:
    if name.startswith(("row.", "collective ", "copy", "Optimizer")):
        return False
    return not family.pieces or name.rpartition("::")[2] in family.pieces


def _calls(costs: Costs, name: str) -> float:
    return costs[name].calls if name in costs else 0.0

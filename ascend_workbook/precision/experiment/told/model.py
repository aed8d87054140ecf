"""The model: initial weights (which differ, and by how much), dtypes of parameters, settings of modules."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.experiment.discrepancy import Discrepancy
from ascend_workbook.precision.experiment.told import experiment_part

SHOWN = 3
#: Values of a scaled weight have one ratio; low precision rounds each.
EVEN = {"bfloat16": 1e-2, "float16": 2e-3}
FINGERPRINT = re.compile(r"(?P<dtype>\w+)\[(?P<shape>.*)\]:(?P<digest>\w+)")


def compare_models(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    left_weights, other = left.get("weights") or {}, right.get("weights") or {}
    if left_weights and other:
        yield from _compare_weights(
            left_weights, other, experiment_part(left, "weights") or {}, experiment_part(right, "weights") or {}
        )
    yield from _compare_modules(experiment_part(left, "modules") or {}, experiment_part(right, "modules") or {})


def _compare_weights(
    left_prints: dict[str, str], right_prints: dict[str, str], left: Any, right: Any
) -> Iterator[Discrepancy]:
    common = [name for name in left_prints if name in right_prints and left_prints[name] != right_prints[name]]
    retyped = [name for name in common if _dtype_of(left_prints[name]) != _dtype_of(right_prints[name])]
    reshaped = [name for name in common if _shape_of(left_prints[name]) != _shape_of(right_prints[name])]
    changed = [name for name in common if name not in retyped and name not in reshaped]
    for fact, names, read in (("dtype", retyped, _dtype_of), ("shape", reshaped, _shape_of)):
        if names:
            name = names[0]
            yield Discrepancy(fact, name, read(left_prints[name]), read(right_prints[name]), {"count": len(names)})
    if changed:
        amounts = sorted(
            ((_relative_distance(left.get(name), right.get(name)), name) for name in changed), reverse=True
        )
        name, worst = amounts[0][1], [weight for _, weight in amounts[:SHOWN]]
        how = _describe_change(left.get(name), right.get(name), _dtype_of(left_prints[name]))
        args: dict[str, Scalar] = {"count": len(changed), "of": len(left_prints), "names": [*worst], "how": how}
        yield Discrepancy("weights", name, _norm_of(left.get(name)), _norm_of(right.get(name)), args)
    yield from _find_one_sided(left_prints, right_prints)


def _find_one_sided(left_side: dict[str, str], right_side: dict[str, str]) -> Iterator[Discrepancy]:
    """A weight under another name is no other weight."""
    only = [name for name in left_side if name not in right_side]
    lacking = [name for name in right_side if name not in left_side]
    renamed = Counter(left_side[name] for name in only) & Counter(right_side[name] for name in lacking)
    spare = Counter(renamed)
    alone: list[list[str]] = []
    for side, names in ((left_side, only), (right_side, lacking)):
        spare, left = Counter(renamed), []
        for name in names:
            spare[side[name]] -= 1
            if spare[side[name]] < 0:
                left.append(name)
        alone.append(left)
    if any(alone):
        args: dict[str, Scalar] = {"count": len(alone[0]) + len(alone[1])}
        yield Discrepancy(
            "weights_missing", next(iter(alone[0] + alone[1])), alone[0][:SHOWN] or "-", alone[1][:SHOWN] or "-", args
        )
    if renamed:
        args = {"count": sum(renamed.values())}
        yield Discrepancy("weights_renamed", only[0], only[0], lacking[0], args, decides=False)


def _compare_modules(left_modules: dict[str, list[str]], right_modules: dict[str, list[str]]) -> Iterator[Discrepancy]:
    """The same class with other settings is another experiment. Another class, or another place, may be the migration's
    own doing (a fused module): the pairing of operators copes with that."""
    for name in left_modules.keys() & right_modules.keys():
        if left_modules[name][0] == right_modules[name][0] and left_modules[name][1] != right_modules[name][1]:
            left, right = (f"{kind}({text})" for kind, text in (left_modules[name], right_modules[name]))
            yield Discrepancy("module", name or "-", left, right)
    moved = [
        name
        for name in (*left_modules, *right_modules)
        if left_modules.get(name, [None])[0] != right_modules.get(name, [None])[0]
    ]
    if left_modules and right_modules and moved:
        name, count = moved[0], len(set(moved))
        left, right = (side[name][0] if name in side else "-" for side in (left_modules, right_modules))
        yield Discrepancy("modules", name, left, right, {"count": count}, decides=False)


def _describe_change(left: list[float | None] | None, right: list[float | None] | None, dtype: str) -> Scalar:
    """Scaled, and by what; or apart, and how far."""
    ratios = _value_ratios(left, right)
    if not ratios:
        return Sentence("ACC205.how_unknown")
    factor = sorted(ratios)[len(ratios) // 2]
    if len(ratios) > 1 and all(abs(ratio / factor - 1) <= EVEN.get(dtype, 1e-4) for ratio in ratios) and factor != 1:
        return Sentence("ACC205.how_scaled", factor=round(factor, 6))
    return Sentence("ACC205.how_apart", apart=_relative_distance(left, right))


def _value_ratios(left: list[float | None] | None, right: list[float | None] | None) -> list[float]:
    """Of the kept values (the norm comes first); empty where a zero met something else, or nothing is known."""
    pairs = list(zip(left or (), right or ()))
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if len(known) < len(pairs) or any((a == 0) != (b == 0) for a, b in known):
        return []
    return [b / a for a, b in known if a]


def _relative_distance(left: list[float | None] | None, right: list[float | None] | None) -> float:
    """Relative distance of the kept values, an estimate of the tensors'; infinite where nothing is known of it."""
    pairs = list(zip((left or ())[1:], (right or ())[1:]))
    if not pairs or any(a is None or b is None for a, b in pairs):
        return math.inf
    size = math.sqrt(sum(a * a for a, _ in pairs if a is not None))
    apart = math.sqrt(sum((a - b) ** 2 for a, b in pairs if a is not None and b is not None))
    return apart / size if size else (0.0 if apart == 0 else math.inf)


def _norm_of(numbers: list[float | None] | None) -> Any:
    return numbers[0] if numbers else None


def _dtype_of(text: str) -> str:
    match = FINGERPRINT.fullmatch(text)
    return match["dtype"] if match else ""


def _shape_of(text: str) -> str:
    match = FINGERPRINT.fullmatch(text)
    return f"[{match['shape']}]" if match else ""

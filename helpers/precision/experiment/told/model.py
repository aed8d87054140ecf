"""The model: initial weights (which differ, and by how much), dtypes of parameters, settings of modules."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from helpers.precision.experiment.discrepancy import Discrepancy
from helpers.precision.experiment.told import part
from helpers.words import Scalar

SHOWN = 3
#: Values of a scaled weight have one ratio; low precision rounds each.
EVEN = {"bfloat16": 1e-2, "float16": 2e-3}
FINGERPRINT = re.compile(r"(?P<dtype>\w+)\[(?P<shape>.*)\]:(?P<digest>\w+)")


def look(left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[Discrepancy]:
    one, other = left.get("weights") or {}, right.get("weights") or {}
    if one and other:
        yield from _weights(one, other, part(left, "weights") or {}, part(right, "weights") or {})
    yield from _modules(part(left, "modules") or {}, part(right, "modules") or {})


def _weights(one: dict[str, str], other: dict[str, str], left: Any, right: Any) -> Iterator[Discrepancy]:
    common = [name for name in one if name in other and one[name] != other[name]]
    retyped = [name for name in common if _dtype(one[name]) != _dtype(other[name])]
    reshaped = [name for name in common if _shape(one[name]) != _shape(other[name])]
    changed = [name for name in common if name not in retyped and name not in reshaped]
    for fact, names, read in (("dtype", retyped, _dtype), ("shape", reshaped, _shape)):
        if names:
            name = names[0]
            yield Discrepancy(fact, name, read(one[name]), read(other[name]), {"count": len(names)})
    if changed:
        amounts = sorted(((_apart(left.get(name), right.get(name)), name) for name in changed), reverse=True)
        name, worst = amounts[0][1], [each for _, each in amounts[:SHOWN]]
        how = _how(left.get(name), right.get(name), _dtype(one[name]))
        args: dict[str, Scalar] = {"count": len(changed), "of": len(one), "names": [*worst], "how": how}
        yield Discrepancy("weights", name, _norm(left.get(name)), _norm(right.get(name)), args)
    yield from _one_sided(one, other)


def _one_sided(one: dict[str, str], other: dict[str, str]) -> Iterator[Discrepancy]:
    """A weight under another name is no other weight."""
    only = [name for name in one if name not in other]
    lacking = [name for name in other if name not in one]
    renamed = Counter(one[name] for name in only) & Counter(other[name] for name in lacking)
    spare = Counter(renamed)
    alone: list[list[str]] = []
    for side, names in ((one, only), (other, lacking)):
        spare, left = Counter(renamed), []
        for name in names:
            spare[side[name]] -= 1
            if spare[side[name]] < 0:
                left.append(name)
        alone.append(left)
    if any(alone):
        args: dict[str, Scalar] = {"count": len(alone[0]) + len(alone[1])}
        yield Discrepancy("weights_missing", next(iter(alone[0] + alone[1])), alone[0][:SHOWN] or "-",
                          alone[1][:SHOWN] or "-", args)  # fmt: skip
    if renamed:
        args = {"count": sum(renamed.values())}
        yield Discrepancy("weights_renamed", only[0], only[0], lacking[0], args, decides=False)


def _modules(one: dict[str, list[str]], other: dict[str, list[str]]) -> Iterator[Discrepancy]:
    """The same class with other settings is another experiment. Another class, or another place, may be the migration's
    own doing (a fused module): the pairing of operators copes with that."""
    for name in one.keys() & other.keys():
        if one[name][0] == other[name][0] and one[name][1] != other[name][1]:
            left, right = (f"{kind}({text})" for kind, text in (one[name], other[name]))
            yield Discrepancy("module", name or "-", left, right)
    moved = [name for name in (*one, *other) if one.get(name, [None])[0] != other.get(name, [None])[0]]
    if one and other and moved:
        name, count = moved[0], len(set(moved))
        left, right = (side[name][0] if name in side else "-" for side in (one, other))
        yield Discrepancy("modules", name, left, right, {"count": count}, decides=False)


def _how(one: list[float | None] | None, other: list[float | None] | None, dtype: str) -> Scalar:
    """Scaled, and by what; or apart, and how far."""
    ratios = _ratios(one, other)
    if not ratios:
        return {"say": "ACC205.how_unknown"}
    factor = sorted(ratios)[len(ratios) // 2]
    if len(ratios) > 1 and all(abs(ratio / factor - 1) <= EVEN.get(dtype, 1e-4) for ratio in ratios) and factor != 1:
        return {"say": "ACC205.how_scaled", "args": {"factor": round(factor, 6)}}
    return {"say": "ACC205.how_apart", "args": {"apart": _apart(one, other)}}


def _ratios(one: list[float | None] | None, other: list[float | None] | None) -> list[float]:
    """Of the kept values (the norm comes first); empty where a zero met something else, or nothing is known."""
    pairs = list(zip(one or (), other or ()))
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if len(known) < len(pairs) or any((a == 0) != (b == 0) for a, b in known):
        return []
    return [b / a for a, b in known if a]


def _apart(one: list[float | None] | None, other: list[float | None] | None) -> float:
    """Relative distance of the kept values, an estimate of the tensors'; infinite where nothing is known of it."""
    pairs = list(zip((one or ())[1:], (other or ())[1:]))
    if not pairs or any(a is None or b is None for a, b in pairs):
        return math.inf
    size = math.sqrt(sum(a * a for a, _ in pairs if a is not None))
    apart = math.sqrt(sum((a - b) ** 2 for a, b in pairs if a is not None and b is not None))
    return apart / size if size else (0.0 if apart == 0 else math.inf)


def _norm(told: list[float | None] | None) -> Any:
    return told[0] if told else None


def _dtype(text: str) -> str:
    found = FINGERPRINT.fullmatch(text)
    return found["dtype"] if found else ""


def _shape(text: str) -> str:
    found = FINGERPRINT.fullmatch(text)
    return f"[{found['shape']}]" if found else ""

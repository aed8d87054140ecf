"""Are two captures the same experiment? What differs, what could not be looked at, and what else is to be known.

Nothing here looks at a dumped tensor: all comes from the manifests, which hold what experiment_facts.py read in each
training process. `differences` are the verdict where there are any; `remarks` differ without making another experiment.
"""

from __future__ import annotations

from typing import Any

from helpers.precision.capturing.manifest import Manifest
from helpers.precision.capturing.portable import portable
from helpers.precision.capturing.withheld import alike
from helpers.precision.experiment.discrepancy import Discrepancy
from helpers.precision.experiment.told import amp, data, hyper, model, seeds
from helpers.settings import Difference, Settings, compare, risks

#: Options that both sides must share for their tensors to be comparable.
OPTIONS = ("args", "seed", "level")
#: Groups of settings that make no other experiment, but may make other numbers.
AROUND = ("flags", "environment", "packages", "machine")
#: What a side's `experiment` tells, and the part of it without which that cannot be told.
FACTS = {"seeds": "seeds", "modules": "modules", "weight values": "weights", "samples": "batches",
         "optimizer": "optimizers", "learning rates": "rates", "loss function": "loss"}  # fmt: skip


def differences(baseline: Manifest | None, target: Manifest | None) -> tuple[Discrepancy, ...]:
    """What makes them other experiments, causes before their consequences. Empty where nothing does, and where a
    side has no manifest: then it is not known (`unlooked`)."""
    if baseline is None or target is None:
        return ()
    found = [Discrepancy("option", key, one, other) for key in OPTIONS
             if not _same(one := _option(baseline, key), other := _option(target, key))]  # fmt: skip
    found += [Discrepancy("setting", one.name, one.left, one.right, {"why": {"say": f"settings.why.{one.why}"}})
              for one in _settings(baseline, target) if _decides(one, baseline, target)]  # fmt: skip
    for rank in sorted(baseline.sides.keys() & target.sides.keys()):
        sides = baseline.sides[rank], target.sides[rank]
        parts = [part for look in LOOKS for part in look(*sides) if part.decides]
        seen = {(one.fact, one.name) for one in found}
        found += [part.on(rank) for part in parts if (part.fact, part.name) not in seen]
    return tuple(found)


#: Each holds two sides of one rank against each other and yields discrepancies, deciding ones and others.
LOOKS = (seeds.look, model.look, data.look, hyper.look, amp.look)


def remarks(baseline: Manifest | None, target: Manifest | None) -> tuple[Discrepancy, ...]:
    """What differs on the first common rank without making another experiment."""
    if baseline is None or target is None:
        return ()
    for rank in sorted(baseline.sides.keys() & target.sides.keys()):
        sides = baseline.sides[rank], target.sides[rank]
        return tuple(part for look in LOOKS for part in look(*sides) if not part.decides)
    return ()


def unlooked(baseline: Manifest | None, target: Manifest | None) -> list[str]:
    """Facts that a side did not record: not looked at, which is not the same as equal."""
    sides = [next(iter(side.sides.values()), {}) for side in (baseline, target) if side is not None]
    if len(sides) < 2:
        return ["options", "settings", "weights", "batches", *FACTS]
    found = [name for name in ("settings", "weights", "batches") if not all(side.get(name) for side in sides)]
    return found + [name for name, part in FACTS.items()
                    if not all((side.get("experiment") or {}).get(part) for side in sides)]  # fmt: skip


def surroundings(baseline: Manifest | None, target: Manifest | None) -> list[Difference]:
    """Settings that differ at high or medium risk without deciding, riskiest first. Without the reduced formats, which
    the tolerances already allow for; empty where a side has no record of its settings."""
    if baseline is None or target is None:
        return []
    return [one for one in _settings(baseline, target) if one.risk in (risks.HIGH, risks.MEDIUM)
            and not _decides(one, baseline, target)]  # fmt: skip


def _settings(baseline: Manifest, target: Manifest) -> list[Difference]:
    left, right = (Settings.of_capture(side.about, side.sides) for side in (baseline, target))
    return [one for one in compare(left, right) if one.group in AROUND and one.why != "format"]


def _decides(one: Difference, baseline: Manifest, target: Manifest) -> bool:
    """A package that both imported in another release, the default dtype, the choice of deterministic kernels. What
    an NPU and a GPU differ in by nature is of no high risk, or set on one side only."""
    if one.risk != risks.HIGH or one.left is None or one.right is None:
        return False
    if one.group == "packages":
        return one.name == "torch" or all(one.name in _imported(side) for side in (baseline, target))
    return one.group == "flags"


def _imported(side: Manifest) -> list[str]:
    first: dict[str, Any] = next(iter(side.sides.values()), {})
    return list((first.get("experiment") or {}).get("imported", ()))


def _same(one: Any, other: Any) -> bool:
    """Arguments that one side withholds are not known to differ."""
    return bool(one == other) or (isinstance(one, list) and isinstance(other, list) and alike(one, other))


def _option(side: Manifest, name: str) -> Any:
    """Arguments without the folders of one machine: what lies in them, the batches' fingerprints tell."""
    value = side.about.get(name)
    return portable(value) if name == "args" and isinstance(value, list) else value

"""Are two captures the same experiment? What differs, what could not be looked at, and what else is to be known.

Nothing here looks at a dumped tensor: all comes from the manifests, which hold what experiment_facts.py read in each
training process. What `differences` finds is the verdict, where there is any; what `find_remarks` finds differs without
making another experiment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine.settings import Difference, Settings, find_differences, risks
from ascend_workbook.precision.capturing.manifest import Manifest
from ascend_workbook.precision.capturing.withheld import make_portable, same_arguments
from ascend_workbook.precision.experiment import told
from ascend_workbook.precision.experiment.told import Discrepancy, Told

#: Options that both sides must share for their tensors to be comparable.
OPTIONS = ("args", "seed", "level", "draws", "rm_dropout")
#: What an option is where a manifest does not name it.
UNNAMED = {"draws": "device", "rm_dropout": False}
#: Groups of settings that make no other experiment, but may make other numbers.
AROUND = ("flags", "environment", "packages", "machine")
#: What a side's `experiment` tells, and the part of it without which that cannot be told.
FACTS = {
    "seeds": "seeds",
    "modules": "modules",
    "weight values": "weights",
    "samples": "batches",
    "optimizer": "optimizers",
    "learning rates": "rates",
    "loss function": "loss",
}


def differences(baseline: Manifest | None, target: Manifest | None) -> tuple[Discrepancy, ...]:
    """What makes them other experiments, causes before their consequences. Empty where nothing does, and where a
    side has no manifest: then it is not known (`list_unrecorded`)."""
    if baseline is None or target is None:
        return ()
    discrepancies = []
    for key in OPTIONS:
        left, right = (side.about.get(key, UNNAMED.get(key)) for side in (baseline, target))
        if key == "args" and isinstance(left, list) and isinstance(right, list):
            # without the folders of one machine: what lies in them, the batches' fingerprints tell
            left, right = make_portable(left), make_portable(right)
            right = left if same_arguments(left, right) else right  # what one side withholds is not known to differ
        if left != right:
            discrepancies.append(Discrepancy("option", key, left, right))
    discrepancies += [
        Discrepancy("setting", value.name, value.left, value.right, {"why": Sentence(f"settings.why.{value.why}")})
        for value in _compare_settings(baseline, target)
        if _decides_experiment(value, baseline, target)
    ]
    for rank, sides in _sides_by_rank(baseline, target):
        parts = [part for look in LOOKS for part in look(*sides) if part.decides]
        known = {(value.fact, value.name) for value in discrepancies}
        discrepancies += [part.with_rank(rank) for part in parts if (part.fact, part.name) not in known]
    return tuple(discrepancies)


#: Each holds two sides of one rank against each other and yields discrepancies, deciding ones and others.
LOOKS = (told.compare_seeds, told.compare_models, told.compare_data, told.compare_hyperparameters, told.compare_amp)


def shared_draws(baseline: Manifest | None, target: Manifest | None) -> bool:
    """Return whether both sides drew their random numbers on the host, so that they are the same."""
    return all(side is not None and side.about.get("draws") == "host" for side in (baseline, target))


def find_remarks(baseline: Manifest | None, target: Manifest | None) -> tuple[Discrepancy, ...]:
    """What differs on the first common rank without making another experiment."""
    first = next(_sides_by_rank(baseline, target), None) if baseline and target else None
    return tuple(part for look in LOOKS for part in look(*first[1]) if not part.decides) if first else ()


def measure_start(baseline: Manifest | None, target: Manifest | None) -> float:
    """Measure by how much the initial weights differ where that is rounding: the noise that a first step begins
    with."""
    sides = _sides_by_rank(baseline, target) if baseline and target else ()
    return max((told.measure_start_noise(*pair) for _, pair in sides), default=0.0)


#: Facts that part the very first operator.
AT_START = ("weights", "weights_missing", "dtype", "shape", "batches", "batch_shapes", "samples", "order")


def other_start(discrepancies: Iterable[Discrepancy]) -> bool:
    """Return whether the first step begins with other weights or other data, so that its first operator parts."""
    return any(discrepancy.fact in AT_START for discrepancy in discrepancies)


def _sides_by_rank(baseline: Manifest, target: Manifest) -> Iterator[tuple[str, tuple[Told, Told]]]:
    for rank in sorted(baseline.sides.keys() & target.sides.keys()):
        yield rank, (Told.of_side(baseline.sides[rank]), Told.of_side(target.sides[rank]))


def list_unrecorded(baseline: Manifest | None, target: Manifest | None) -> list[str]:
    """Facts that a side did not record: not looked at, which is not the same as equal."""
    if baseline is None or target is None:
        return ["options", "settings", "weights", "batches", *FACTS]
    sides = [next(iter(side.sides.values()), {}) for side in (baseline, target)]
    facts = [side.get("experiment") or {} for side in sides]
    missing = [name for name in ("settings", "weights", "batches") if not all(side.get(name) for side in sides)]
    return missing + [name for name, part in FACTS.items() if not all(side.get(part) for side in facts)]


def compare_surroundings(baseline: Manifest | None, target: Manifest | None) -> list[Difference]:
    """Settings that differ at high or medium risk without deciding, riskiest first. Without the reduced formats, which
    the tolerances already allow for; empty where a side has no record of its settings."""
    if baseline is None or target is None:
        return []
    return [
        difference
        for difference in _compare_settings(baseline, target)
        if difference.risk in (risks.HIGH, risks.MEDIUM) and not _decides_experiment(difference, baseline, target)
    ]


def _compare_settings(baseline: Manifest, target: Manifest) -> list[Difference]:
    left, right = (Settings.of_capture(side.about, side.sides) for side in (baseline, target))
    return [
        difference
        for difference in find_differences(left, right)
        if difference.group in AROUND and difference.why != "format"
    ]


def _decides_experiment(difference: Difference, baseline: Manifest, target: Manifest) -> bool:
    """A package that both imported in another release, the default dtype, the choice of deterministic kernels. What
    an NPU and a GPU differ in by nature is of no high risk, or set on one side only."""
    if difference.risk != risks.HIGH or difference.left is None or difference.right is None:
        return False
    if difference.group == "packages":
        facts = [next(iter(side.sides.values()), {}).get("experiment") or {} for side in (baseline, target)]
        return difference.name == "torch" or all(difference.name in side.get("imported", ()) for side in facts)
    return difference.group == "flags"

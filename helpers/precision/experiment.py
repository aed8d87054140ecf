"""What makes two captures different experiments: options, initial weights, batches of data."""

from __future__ import annotations

from helpers.precision.manifest import Manifest

#: Options that both sides must share for their tensors to be comparable.
OPTIONS = ("args", "seed", "level", "task")


def differences(baseline: Manifest | None, target: Manifest | None) -> dict[str, list[str]]:
    """What differs: an option's name (with an empty list), or `weights` and `batches` with the names of those that
    do. Empty where nothing does, and where a side has no manifest: then it is not known."""
    if baseline is None or target is None:
        return {}
    found: dict[str, list[str]] = {key: [] for key in OPTIONS if baseline.about.get(key) != target.about.get(key)}
    for kind in ("weights", "batches"):
        names = _different(baseline, target, kind)
        if names:
            found[kind] = names
    return found


def _different(baseline: Manifest, target: Manifest, kind: str) -> list[str]:
    """Names of weights, or steps of batches, whose fingerprints differ on a rank that both have."""
    found = []
    for rank in sorted(baseline.sides.keys() & target.sides.keys()):
        left, right = (side.sides[rank].get(kind, {}) for side in (baseline, target))
        if kind == "batches":  # a step that one side did not take is another question: completeness asks it
            common = left.keys() & right.keys()
            left, right = ({name: told for name, told in side.items() if name in common} for side in (left, right))
        found += [str(name) for name in left if name not in right or left[name] != right[name]]
        found += [str(name) for name in right if name not in left]
    return found

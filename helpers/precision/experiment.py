"""What makes two captures different experiments: options, initial weights, batches of data; and what else differs."""

from __future__ import annotations

from typing import Any

from helpers.precision.manifest import Manifest
from helpers.precision.portable import portable
from helpers.settings import Difference, Settings, compare, fingerprints, risks

#: Options that both sides must share for their tensors to be comparable.
OPTIONS = ("args", "seed", "level")
#: Groups of settings that make no other experiment, but may make other numbers.
AROUND = ("flags", "environment", "packages", "machine")


def differences(baseline: Manifest | None, target: Manifest | None) -> dict[str, list[str]]:
    """What differs: an option's name (with an empty list), or `weights` and `batches` with the names of those that
    do. Empty where nothing does, and where a side has no manifest: then it is not known."""
    if baseline is None or target is None:
        return {}
    found: dict[str, list[str]] = {key: [] for key in OPTIONS if _option(baseline, key) != _option(target, key)}
    for kind in fingerprints.KINDS:
        names = fingerprints.different(baseline.sides, target.sides, kind)
        if names:
            found[kind] = names
    return found


def _option(side: Manifest, name: str) -> Any:
    """Arguments without the folders of one machine: what lies in them, the batches' fingerprints tell."""
    value = side.about.get(name)
    return portable(value) if name == "args" and isinstance(value, list) else value


def surroundings(baseline: Manifest | None, target: Manifest | None) -> list[Difference]:
    """Settings that differ at high or medium risk, riskiest first. Without the reduced formats, which the tolerances
    already allow for; empty where a side has no record of its settings."""
    if baseline is None or target is None:
        return []
    left, right = (Settings.of_capture(side.about, side.sides) for side in (baseline, target))
    return [one for one in compare(left, right)
            if one.group in AROUND and one.why != "format" and one.risk in (risks.HIGH, risks.MEDIUM)]  # fmt: skip

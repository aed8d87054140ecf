"""Operators that are computed in parts though one fused operator does the same: what their parts cost."""

from __future__ import annotations

from dataclasses import dataclass

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice, computing_by, needs_device

Names = tuple[str, ...]


@dataclass(frozen=True)
class Fusion:
    """`types` and `operators` are the parts, whose time is the bound. They are taken for the pattern only where each
    group of the marks occurs at least once a step; `fused` are the operators that do it at once."""

    types: Names
    operators: Names
    mark_types: tuple[Names, ...]
    mark_operators: tuple[Names, ...]
    fused: Names


def unfused(profile: Profile, key: str, fusion: Fusion, source: str) -> Finding:
    """The finding of the rule whose sentence is `key`. Raises CannotCheck without times of a real device."""
    needs_device(profile, key.partition(".")[0])
    share, calls = computing_by(profile, fusion.types, fusion.operators)
    seen = [computing_by(profile, *names)[1] for names in zip(fusion.mark_types, fusion.mark_operators)]
    _, fused = computing_by(profile, fusion.fused, fusion.fused)
    if min(seen) < 1:
        share, calls = 0.0, 0.0
    return advice(profile, key, share, source, calls=round(calls), fused=round(fused))

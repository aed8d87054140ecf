"""Fingerprints of initial weights and of batches, as captures keep them per rank, held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Kinds of fingerprints that a capture's side holds.
KINDS = ("weights", "batches")


def differing_names(left: Mapping[str, Any], right: Mapping[str, Any], kind: str) -> list[str]:
    """Return the names of weights, or steps of batches, whose fingerprints differ on a rank that both have.

    `left` and `right` map a rank (`rank0`) to {"weights": {name: fingerprint}, "batches": {step: [fingerprint]}}.
    """
    return [name for _, name in differing_places(left, right, kind)]


def differing_places(left: Mapping[str, Any], right: Mapping[str, Any], kind: str) -> list[tuple[str, str]]:
    """Return (rank, name) of each weight or batch whose fingerprints differ."""
    places = []
    for rank in sorted(left.keys() & right.keys()):
        left_prints, right_prints = (side[rank].get(kind, {}) for side in (left, right))
        if kind == "batches":  # a step that one side did not take is another question: completeness asks it
            common = left_prints.keys() & right_prints.keys()
            left_prints, right_prints = (
                {name: fingerprint for name, fingerprint in side.items() if name in common}
                for side in (left_prints, right_prints)
            )
        places += [
            (rank, str(name))
            for name in left_prints
            if name not in right_prints or left_prints[name] != right_prints[name]
        ]
        places += [(rank, str(name)) for name in right_prints if name not in left_prints]
    return places


def are_comparable(left: Mapping[str, Any], right: Mapping[str, Any], kind: str) -> bool:
    """Return whether a rank has fingerprints of this kind on both sides; of batches, of the same step."""
    ranks = ((left[rank].get(kind, {}), right[rank].get(kind, {})) for rank in left.keys() & right.keys())
    return any(
        left_prints.keys() & right_prints.keys() if kind == "batches" else left_prints and right_prints
        for left_prints, right_prints in ranks
    )

"""Fingerprints of initial weights and of batches, as captures keep them per rank, held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Kinds of fingerprints that a capture's side holds.
KINDS = ("weights", "batches")


def different(left: Mapping[str, Any], right: Mapping[str, Any], kind: str) -> list[str]:
    """Names of weights, or steps of batches, whose fingerprints differ on a rank that both have.

    `left` and `right` map a rank (`rank0`) to {"weights": {name: fingerprint}, "batches": {step: [fingerprint]}}.
    """
    return [name for _, name in places(left, right, kind)]


def places(left: Mapping[str, Any], right: Mapping[str, Any], kind: str) -> list[tuple[str, str]]:
    """As `different`, each with its rank: (rank, name)."""
    found = []
    for rank in sorted(left.keys() & right.keys()):
        one, other = (side[rank].get(kind, {}) for side in (left, right))
        if kind == "batches":  # a step that one side did not take is another question: completeness asks it
            common = one.keys() & other.keys()
            one, other = ({name: told for name, told in side.items() if name in common} for side in (one, other))
        found += [(rank, str(name)) for name in one if name not in other or one[name] != other[name]]
        found += [(rank, str(name)) for name in other if name not in one]
    return found


def comparable(left: Mapping[str, Any], right: Mapping[str, Any], kind: str) -> bool:
    """Whether a rank has fingerprints of this kind on both sides; of batches, of the same step."""
    ranks = ((left[rank].get(kind, {}), right[rank].get(kind, {})) for rank in left.keys() & right.keys())
    return any(one.keys() & other.keys() if kind == "batches" else one and other for one, other in ranks)

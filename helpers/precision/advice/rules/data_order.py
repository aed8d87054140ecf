"""ACC267: do both sides see the same data in the same order? Fingerprints of the batches tell, of their samples too
where the capture has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from helpers.finding import Finding, Status
from helpers.precision.advice.seen import Seen, told
from helpers.rules import CannotCheck
from helpers.words import Scalar

CODE = "ACC267"
SOURCE = "https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader"


def check(seen: Seen) -> Iterator[Finding]:
    abouts = seen.comparison.baseline.about, seen.comparison.target.about
    if abouts[0] is None or abouts[1] is None:
        raise CannotCheck("ACC267.no_record")
    left, right = (side.sides for side in abouts if side)
    ranks = sorted(
        rank for rank in left.keys() & right.keys() if left[rank].get("batches") and right[rank].get("batches")
    )
    if not ranks:
        raise CannotCheck("ACC267.no_record")
    for rank in ranks:
        one, other = left[rank]["batches"], right[rank]["batches"]
        differ = [step for step in one if step in other and one[step] != other[step]]
        if differ:
            yield _finding(seen, rank, differ, one, other)
            return  # the first rank stands for all: their loaders are one piece of code


def _finding(seen: Seen, rank: str, differ: list[str], one: Mapping[str, Any], other: Mapping[str, Any]) -> Finding:
    step = differ[0]
    elsewhere = next((at for at, batch in other.items() if batch == one[step]), None)
    args: dict[str, Scalar] = {"count": len(differ), "step": step, "rank": rank, "at": elsewhere, "source": SOURCE,
                               "loader": _loader(seen)}  # fmt: skip
    if elsewhere is not None:
        return Finding(CODE, Status.WARN, "ACC267.steps", args, weight=85)
    samples = [_samples(told(side, "batches"), step) for side in (seen.comparison.baseline, seen.comparison.target)]
    if samples[0] and samples[1] and Counter(samples[0]) == Counter(samples[1]):
        return Finding(CODE, Status.WARN, "ACC267.within", args, weight=85)
    return Finding(CODE, Status.WARN, "ACC267.other", args, weight=85)


def _samples(batches: Any, step: str) -> list[str]:
    """Fingerprints of the samples of a batch's first tensor; empty where the capture has none."""
    tensors = (batches or {}).get(step) or [{}]
    return list(tensors[0].get("samples") or [])


def _loader(seen: Seen) -> str:
    """How the target's first DataLoader chooses: sampler and generator; `-` where that was not recorded."""
    first = next(iter(told(seen.comparison.target, "loaders") or ()), None)
    return f"{first.get('sampler')}, generator {first.get('generator')}" if first else "-"

"""ACC205: are the two runs the same experiment? Another seed, other weights or another batch make every tensor
differ, and then no operator is to blame: the difference here is the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding, Status
from helpers.precision.comparison import Comparison, Side
from helpers.words import Scalar

CODE = "ACC205"
SHOWN = 3


def check(facts: Comparison) -> Iterator[Finding]:
    if not (facts.baseline.about and facts.target.about):
        yield Finding(CODE, Status.NOTE, "ACC205.no_manifest")
        return
    for key in ("args", "seed", "level", "task"):
        left, right = (str(side.about.about.get(key)) for side in (facts.baseline, facts.target) if side.about)
        if left != right:
            args: dict[str, Scalar] = {"what": key, "baseline": left, "target": right}
            yield Finding(CODE, Status.FAIL, "ACC205.option", args, weight=500)
    if facts.baseline.about.about.get("script_sha256") != facts.target.about.about.get("script_sha256"):
        yield Finding(CODE, Status.NOTE, "ACC205.script")
    for kind in ("weights", "batches"):
        different = _different(facts.baseline, facts.target, kind)
        if different:
            yield Finding(CODE, Status.FAIL, f"ACC205.{kind}", {"count": len(different), "names": different[:SHOWN]},
                          weight=500)  # fmt: skip


def _different(baseline: Side, target: Side, kind: str) -> list[str]:
    """Names of weights, or numbers of batches, whose fingerprints differ; only what step 0 began with."""
    assert baseline.about and target.about
    found = []
    for rank in sorted(baseline.about.sides.keys() & target.about.sides.keys()):
        left, right = (about.sides[rank].get(kind, {}) for about in (baseline.about, target.about))
        found += [str(name) for name in left if name not in right or left[name] != right[name]]
        found += [str(name) for name in right if name not in left]
    return found

"""A cause of lost time, and the words for its kinds."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_workbook.findings.sentence import Sentence

#: What keeps a step from being shorter. `untold`: the trace cannot say.
KINDS = (
    "loading",
    "preprocessing",
    "blocked_copy",
    "synchronisation",
    "tiny_kernels",
    "python",
    "lazy_loading",
    "start_up",
    "midflight",
    "profiler",
    "compiling",
    "garbage",
    "checkpoint",
    "logging",
    "contention",
    "rank_computing",
    "rank_host",
    "shapes_differ",
    "communication",
    "allocation",
    "fallback",
    "layout",
    "casting",
    "computing",
    "untold",
)
#: A rest can be taken away, work only made shorter: of these so much counts when causes are ordered
COUNTS = {"computing": 0.3, "layout": 0.5, "casting": 0.5, "communication": 0.7, "untold": 0.6}
#: Work that is done a second time, or for nothing, can be taken away as a rest can
NEEDLESS = (*("PRF316.again", "PRF316.unused", "PRF316.recomputed", "PRF316.forward_again", "PRF316.forward_same"),)
#: How much of a cause counts that is told with this confidence
TRUST = {"sure": 1.0, "likely": 0.9, "unsure": 0.4}


@dataclass(frozen=True)
class Range:
    """What a change saves, in nanoseconds a step: from the least to the most."""

    least_ns: float
    most_ns: float


@dataclass(frozen=True)
class Cause:
    """One cause over the steady steps. `spent_ns`: nanoseconds of the mean step, `share` of it, 0 to 1; `where`: the
    place in the script (`train.py:41 save`), else the operator or call, empty where none is told; `predicted`: what the
    step would be shorter without it, None where that was not computed."""

    kind: str
    spent_ns: float
    share: float
    where: str
    evidence: Sentence
    confidence: str = "sure"
    predicted: Range | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.confidence not in TRUST:
            raise ValueError(f"no cause is called {self.kind!r}, or {self.confidence!r} is no confidence")

    @property
    def weight(self) -> float:
        """Return what orders causes: the percent of the step, of work a part."""
        trust = TRUST[self.confidence]
        return 100 * self.share * (trust if self.evidence.key in NEEDLESS else COUNTS.get(self.kind, trust))

    @property
    def predicted_saving_ns(self) -> Range | None:
        """Return what the step would be shorter without it."""
        return self.predicted

"""What may part two runs in a step, and what a judge of it knows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision.state.reading import Step

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: The kinds of events, in the order of a step.
KINDS = """
data random restored scale count recompute gradient unscale clip changed skipped parameters rate decay rule update
buffer copy
""".split()
RESTORED, SCALE, COUNT, RECOMPUTE, GRADIENT, UNSCALE, CLIP, CHANGED, SKIPPED = KINDS[2:11]
PARAMETERS, RATE, DECAY, RULE, UPDATE, BUFFER, COPY = KINDS[11:]
RANDOM = "random"
#: Judged on each side by itself: not a consequence of what came before in the step.
BY_ITSELF = (RECOMPUTE, UNSCALE, CLIP, CHANGED, SKIPPED, PARAMETERS, RATE, DECAY, RULE, COUNT)
#: Relative difference of a gradient that rounding explains at the first step and at later ones, of float32 and of
#: 16-bit formats; beyond CEILING it is none whatever the others do; between them it must stand out from the others
#: by OUTSTANDING.
FLOOR, LATER, CEILING, OUTSTANDING = (2e-4, 0.15), (1e-3, 0.5), (2e-2, 0.6), 20.0
#: A gradient's size is taken as at least this share of the average of all: what cancels to nothing is noise.
SMALLEST = (1e-2, 0.2)
#: So many units of a reduced format are a gradient's floor: what it moves across the kink of a relu grows.
REDUCED = 20.0
#: A gradient may be off by so many times the square root of what a reduced format and the weights' own difference do to
#: each layer: about that share of a relu's numbers falls on its other side, and takes its part of the gradient along.
#: Measured on about 120 pairs of 2 to 20 convolutions: at most 4.8 at the first step; later, deep plain networks differ
#: by more.
FOLDED, MOST_FOLDED = 5.0, 0.9
#: What 20 of them were seen to do is the most, beyond so many times the median of all gradients: the kinks of a deep
#: network move every gradient (at most 4 times the median, of 20 to 154 convolutions), a fault moves few.
MEASURED, OVER_MEDIAN = 0.35, 5.0
#: A gradient below this share of the average of all is nothing but rounding.
NOTHING = 1e-4
#: Where operators compute in a coarser format than their tensors have (HF32), what cancels keeps more noise: that share
#: is then so many times the median error, WIDEST at most.
WIDER, WIDEST = 200.0, 0.05
#: Noise grows from step to step by so much at most.
GROWTH = 30.0
#: Gradients as the optimizer reads them may differ by so much, or by so many times what they do after backward.
READ, READ_TIMES = (4e-4, 0.1), 30.0
#: A factor that all gradients share.
ONE_FACTOR = 0.02


@dataclass(frozen=True)
class Event:
    """Something that parts the runs at one step. `detail` ends the sentence's key; `names` are tensors, worst first."""

    step: int
    kind: str
    detail: str = ""
    names: tuple[str, ...] = ()
    args: Mapping[str, Scalar] = field(default_factory=dict)
    place: str = ""
    side: str = "target"


@dataclass(frozen=True)
class Row:
    """One stage of one step: how many tensors were compared, the worst of them, and what was allowed."""

    step: int
    stage: str
    count: int
    worst: str
    error: float
    allowed: float


@dataclass(frozen=True)
class Judged:
    """All events of one rank, the earliest first, and what was compared."""

    rank: int
    events: tuple[Event, ...]
    rows: tuple[Row, ...]

    @property
    def first(self) -> Event | None:
        return self.events[0] if self.events else None


@dataclass
class Conditions:
    """What is known of the runs from elsewhere: `coarse` that they compute in a 16-bit format; `data_from` the step
    from which their batches differ, `parted_from` that from which an operator does; `draws_differ` that their masks do
    by nature; `same_streams` that both draw from the same kind of device; `noise` of the initial weights; `reduced` the
    rounding unit of a reduced format that a side may round inputs of its convolutions or products to, and `depth` how
    many layers it does so in."""

    coarse: bool = False
    data_from: float = math.inf
    parted_from: float = math.inf
    draws_differ: bool = False
    same_streams: bool = True
    noise: float = 0.0
    reduced: float = 0.0
    depth: int = 1


class Judge:
    """What is known while a rank's steps are judged one after another: the step before on both sides, the noise seen
    so far, and what was told."""

    def __init__(self, known: Conditions) -> None:
        self.known = known
        self.events: list[Event] = []
        self.rows: list[Row] = []
        self.level = 1 if known.coarse else 0
        self.noise = 0.0  # of the gradients of the step before
        self.left: Step | None = None
        self.right: Step | None = None
        self.parted = False
        self.backward_errors: dict[str, float] = {}

    def tell(self, step: int, kind: str, detail: str = "", names: Iterable[str] = (), **rest: Any) -> None:
        place, side = rest.pop("place", ""), rest.pop("side", "target")
        self.events.append(Event(step, kind, detail, tuple(names), rest, place, side))

    def add_row(self, number: int, stage: str, errors: Mapping[str, float], allowed: float) -> None:
        worst = max(errors, key=lambda name: errors[name], default="")
        self.rows.append(Row(number, stage, len(errors), worst, errors.get(worst, 0.0), allowed))

    def floor_at(self, number: int) -> float:
        first = self.left is None
        reduced = REDUCED * self.known.reduced * (1 if first else 5)
        return max((FLOOR if first else LATER)[self.level], reduced)

    def folded_floor(self, carried: float, middle: float) -> float:
        """What a reduced format makes of one gradient in a network with kinks, whose weights differ by `carried`, and
        whose gradients by `middle` in the median."""
        share = self.known.depth * (self.known.reduced + carried) if self.known.reduced else 0.0
        return min(FOLDED * math.sqrt(share), max(MEASURED, OVER_MEDIAN * middle), MOST_FOLDED)

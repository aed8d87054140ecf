"""What a plan holds once it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ascend_workbook.batch.plan.document import Entry
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.redaction.known import remember_arguments


@dataclass(frozen=True)
class Item:
    """One run: the notebooks of `stages` with `parameters` as texts, below the plan's folder under its `name`.
    `timeout_s` limits a cell, `run_timeout_s` the whole run (0: no limit); `retries` is how often it is tried again
    after a kernel died; `require` is the tier below which the run is red; `memory_mb` what its processes may take
    together (0: no bound); `cards` how many NPUs or GPUs it needs."""

    name: str
    stages: tuple[str, ...]
    parameters: dict[str, str]
    lang: str
    timeout_s: int = 1800
    run_timeout_s: int = 0
    retries: int = 1
    require: str = ""
    memory_mb: int = 0
    cards: int = 1
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        remember_arguments(word for pair in self.parameters.items() for word in ("-p", *pair))


@dataclass(frozen=True)
class LeftOut:
    """A run that the plan has and this start leaves out; `why` is a sentence or the text of `skip:`."""

    name: str
    why: Scalar


@dataclass(frozen=True)
class Expected:
    """A failure that is known: runs whose name matches the pattern `run` may fail so up to and with the day `until`
    (YYYY-MM-DD): at `stage` alone, as `state`, with an error or verdict that has the text `says` (* and ? stand for
    anything). Empty: not bound by it; never all three."""

    run: str
    until: str
    reason: str
    stage: str = ""
    state: str = ""
    says: str = ""


@dataclass(frozen=True)
class MetricTarget:
    """The metric `name` of the target may be `within` of the baseline's: a share of it if `relative`, else as it is."""

    name: str
    within: float
    relative: bool = False


@dataclass(frozen=True)
class Targets:
    """What makes a migration accepted. `throughput_at_least` is a share of the baseline's (0.8: 80 %); None: no aim."""

    metrics: tuple[MetricTarget, ...] = ()
    throughput_at_least: float | None = None


@dataclass(frozen=True)
class Plan:
    """The runs of a plan. `workers` is how many go side by side; `card_ids` are the cards that may be given out;
    `disk_mb` what the plan's folder may take (0: no bound); `given` has each run's parameters as the file has them, in
    its order. `digest` is equal for starts of one plan with one choice of runs; `shard`, (2, 4), is the part of it."""

    name: str
    items: tuple[Item, ...]
    workers: int = 1
    card_ids: tuple[int, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    expect: tuple[Expected, ...] = ()
    targets: Targets = Targets()
    disk_mb: int = 0
    digest: str = ""
    shard: tuple[int, int] | None = None
    given: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict, repr=False, compare=False)

"""What a plan holds once it is read."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """One run: the notebooks of `stages` with `parameters` as texts, below the plan's folder under its `name`.

    `timeout_s` limits a cell; `retries` is how often it is tried again after a kernel died; `require` is the tier below
    which the run is red; `memory_mb` what its processes may take together (0: no bound); `cards` how many NPUs or GPUs
    it needs.
    """

    name: str
    stages: tuple[str, ...]
    parameters: dict[str, str]
    lang: str
    timeout_s: int = 1800
    retries: int = 1
    require: str = ""
    memory_mb: int = 0
    cards: int = 1
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All runs of a plan. `workers` is how many go side by side; `card_ids` are the cards that may be given out."""

    name: str
    items: tuple[Item, ...]
    workers: int = 1
    card_ids: tuple[int, ...] = field(default=())

"""The rows of a comparison by module, and the data flow between them, for those who draw them.

Both need what a capture records of modules and sources (construct.json, edges.json); of one that lacks it neither list
has an entry."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_workbook.findings.report import Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.precision import divergence
from ascend_workbook.precision.comparison import Comparison, StepComparison
from ascend_workbook.precision.record import BACKWARD, FORWARD, Module
from ascend_workbook.precision.views.questions import infinity_as_word, read_outcome

#: Rows up to which all edges are told; of more, those between so many rows about the first divergence.
MOST_NODES = 200
ONLY = ("only_target_why", "only_baseline_why")
#: Outcomes of rows from good to bad: a module has the worst of what ran in it.
SEVERITY = (
    *("", divergence.NOT_COMPARED, divergence.CONTAINER, divergence.AGREES, divergence.EXPLAINED, divergence.ALLOWED),
    *("cancelled", divergence.POSSIBLE, divergence.DRAWN, *ONLY),
    *(divergence.JUMP, divergence.ARGUMENT, divergence.STRUCTURE, divergence.DIVERGES),
)


@dataclass
class Tally:
    """What the rows of a module come to, those of the modules inside it with it."""

    rows: list[int] = field(default_factory=list)
    ratio: float = 0.0
    compared: bool = False
    outcome: str = ""

    def add_row(self, number: int, ratio: float | None, outcome: str) -> None:
        self.rows.append(number)
        if ratio is not None:
            self.ratio, self.compared = max(self.ratio, ratio), True
        self.outcome = max(self.outcome, outcome, key=SEVERITY.index)


def collect_modules(facts: Comparison, table: Table) -> list[dict[str, object]]:
    """Collect per module, each before those inside it: `name`, `class`, `parent` (the name of the module around it),
    `rows` (how many), `first_row`, `worst_ratio` (error by what is allowed) and `outcome`, the worst."""
    around: dict[Module, Module | None] = {}
    for step in facts.steps:
        for run in (step.pairing.target, step.pairing.baseline):
            for module, outer in run.around.items():
                around.setdefault(module, outer)
    tallies: dict[Module, Tally] = {}
    columns = map(table.column_values, ("error_out", "own_error", "allowed", "judgement"))
    for number, (inside, *cells) in enumerate(zip(_modules_of_rows(facts, table), *columns)):
        seen = set[Module]()
        while inside is not None and inside not in seen:
            seen.add(inside)
            tally = tallies.setdefault(inside, Tally())
            tally.add_row(number, _ratio_of_row(*cells[:3]), read_outcome(cells[3]))
            inside = around.get(inside)
    order = sorted(tallies, key=lambda module: (tallies[module].rows[0], _depth_of(module, around)))
    return [
        {
            "name": module.path,
            "class": module.kind,
            "parent": outer.path if (outer := around.get(module)) else None,
            "rows": len(tallies[module].rows),
            "first_row": tallies[module].rows[0],
            "worst_ratio": infinity_as_word(tallies[module].ratio) if tallies[module].compared else None,
            "outcome": tallies[module].outcome,
        }
        for module in order
    ]


def _ratio_of_row(error: Scalar, own: Scalar, allowed: Scalar) -> float | None:
    """Where an operator was run again, `allowed` is held against what it adds itself."""
    value = error if own is None else own
    if not isinstance(value, (int, float, str)) or not isinstance(allowed, (int, float, str)):
        return None
    value, allowed = float(value), float(allowed)
    if math.isnan(value) or math.isnan(allowed):
        return math.inf
    return value / allowed if 0 < allowed < math.inf else 0.0 if value <= allowed else math.inf


def _depth_of(module: Module, around: Mapping[Module, Module | None]) -> int:
    seen = set[Module]()
    outer: Module | None = module
    while outer is not None and outer not in seen:
        seen.add(outer)
        outer = around.get(outer)
    return len(seen)


def _modules_of_rows(facts: Comparison, table: Table) -> list[Module | None]:
    known: dict[tuple[object, ...], Module | None] = {}
    for step in facts.steps:
        for alone in (*step.pairing.only_target, *step.pairing.only_baseline):
            known[step.step, step.rank, alone.name] = alone.module
        for pair in step.pairing.pairs:
            known[step.step, step.rank, pair.target.name] = pair.module
    return [known.get(where) for where in zip(*map(table.column_values, ("step", "rank", "operator")))]


def find_edges(facts: Comparison, table: Table, centre: int | None) -> list[tuple[int, int]]:
    """Find the pairs of rows (from, to) between which data flows: forward as recorded, backward the other way round,
    and from a last forward call to its backward. An operator of several rows is known by its first.

    Of more than MOST_NODES rows, the edges between as many, the nearest to `centre`; to the worst row without one."""
    first_rows: dict[tuple[object, ...], int] = {}
    names = ("step", "rank", "operator", "judgement")
    for number, (step, rank, name, judgement) in enumerate(zip(*map(table.column_values, names))):
        if read_outcome(judgement) != ONLY[1]:
            first_rows.setdefault((step, rank, name), number)
    edges: list[tuple[int, int]] = []
    for compared in facts.steps:
        rows = {name: row for (*at, name), row in first_rows.items() if at == [compared.step, compared.rank]}
        edges += [(rows[maker], rows[taker]) for maker, taker in _flow_of_step(compared, rows)]
    edges = sorted(set(edges))
    if len(table.rows) <= MOST_NODES or not edges:
        return edges
    if centre is None:
        errors = zip(*map(table.column_values, ("error_out", "own_error", "allowed")))
        ratios = [_ratio_of_row(*cells) or 0.0 for cells in errors]
        centre = ratios.index(max(ratios))
    near = _nearest_nodes(edges, centre)
    return [edge for edge in edges if near.issuperset(edge)]


def _flow_of_step(step: StepComparison, rows: Collection[Any]) -> Iterator[tuple[str, str]]:
    """Yield (maker, taker) by the target's names, of the calls that have a row."""
    names = {pair.baseline.name: pair.target.name for pair in step.pairing.pairs}
    sources = step.pairing.target.sources
    if not sources:  # the target was captured by something else
        translated = step.pairing.baseline.sources.items()
        sources = {names.get(taker, taker): tuple(names.get(m, m) for m in makers) for taker, makers in translated}
    if not sources:
        return
    yield from _bridge_gaps(sources, rows)
    turned: dict[str, tuple[str, ...]] = {}
    for taker, makers in sources.items():
        for maker in makers:
            turned[_turn(maker)] = (*turned.get(_turn(maker), ()), _turn(taker))
    back = [(maker, taker) for maker, taker in _bridge_gaps(turned, rows) if maker.endswith(BACKWARD)]
    yield from back
    begun = {taker for _, taker in back}
    for name in rows:
        if name.endswith(f".{BACKWARD}") and name not in begun and _turn(name) in rows:
            yield _turn(name), name


def _bridge_gaps(sources: Mapping[str, Sequence[str]], rows: Collection[Any]) -> Iterator[tuple[str, str]]:
    """Yield the edges between calls that have a row, past those that have none."""
    for taker in sources:
        if taker not in rows:
            continue
        waiting, seen = list(sources[taker]), set[str]()
        while waiting:
            maker = waiting.pop()
            if maker in seen:
                continue
            seen.add(maker)
            if maker in rows:
                yield maker, taker
            else:
                waiting += sources.get(maker, ())


def _turn(name: str) -> str:
    """The same call's other direction."""
    head, _, direction = name.rpartition(".")
    return f"{head}.{BACKWARD if direction == FORWARD else FORWARD}"


def _nearest_nodes(edges: Iterable[tuple[int, int]], centre: int) -> set[int]:
    """The rows that are reached from the centre in the fewest steps, either way along the edges."""
    beside: dict[int, set[int]] = {}
    for maker, taker in edges:
        beside.setdefault(maker, set()).add(taker)
        beside.setdefault(taker, set()).add(maker)
    near, ring = {centre}, [centre]
    while ring and len(near) < MOST_NODES:
        ring = sorted({other for node in ring for other in beside.get(node, ())} - near)[: MOST_NODES - len(near)]
        near.update(ring)
    return near

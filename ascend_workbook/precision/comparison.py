"""Two captures held against each other: the facts that the precision rules judge."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from ascend_workbook.precision import divergence
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.capturing.options import FINGERPRINTS
from ascend_workbook.precision.divergence import Judgement, formats
from ascend_workbook.precision.divergence.replay import (
    Budget,
    Replays,
    count_replayable,
    estimate_seconds,
    replay_pairs,
)
from ascend_workbook.precision.experiment import differences, measure_start, other_start, shared_draws, start
from ascend_workbook.precision.experiment.start import Start
from ascend_workbook.precision.experiment.told import Discrepancy
from ascend_workbook.precision.layouts import read_runs
from ascend_workbook.precision.pairing import Pairing, pair_runs
from ascend_workbook.precision.ranks.reading import read_records
from ascend_workbook.precision.ranks.sides import Joined, join_sides
from ascend_workbook.precision.record import BACKWARD, FORWARD, Operator, Run
from ascend_workbook.precision.state.events import judge_states, known_conditions
from ascend_workbook.precision.state.judge import Judged
from ascend_workbook.precision.state.makers import pick_maker
from ascend_workbook.precision.state.reading import States, read_states
from ascend_workbook.precision.tensors import tolerance
from ascend_workbook.precision.tensors.agreement import compare_pairs as compare_all
from ascend_workbook.precision.tensors.agreement import verify_files
from ascend_workbook.precision.tensors.measuring import WHOLE, Sample
from ascend_workbook.precision.tensors.workers import Measure, measure_all
from ascend_workbook.show.bar import Step

if TYPE_CHECKING:
    from ascend_workbook.precision.divergence.devices import Confirmation


@dataclass(frozen=True)
class Selection:
    """`names` are shell patterns of operator names; a plain word stands for every name that holds it
    (`layer1`, `*conv2d.*.forward`). Empty: every operator."""

    names: tuple[str, ...] = ()
    sample: Sample = WHOLE
    #: The baseline's names of the target's modules, where they have others (pairing/cells.py).
    cells: Mapping[str, str] = field(default_factory=dict)

    def select_pairs(self, pairing: Pairing) -> Pairing:
        """Return the pairing with the operators that are asked for. Raises WorkbookError where there is none."""
        if not self.names:
            return pairing
        pairs = tuple(
            pair for pair in pairing.pairs if self.matches_operator(pair.target) or self.matches_operator(pair.baseline)
        )
        if not pairs:
            raise WorkbookError(
                "precision.nothing_selected",
                names=list(self.names),
                known=[pair.target.name for pair in pairing.pairs[:3]],
            )
        left, right = (
            tuple(filter(self.matches_operator, side)) for side in (pairing.only_target, pairing.only_baseline)
        )
        return replace(pairing, pairs=pairs, only_target=left, only_baseline=right)

    def matches_operator(self, operator: Operator) -> bool:
        """Return whether a pattern names the operator."""
        return any(
            fnmatchcase(operator.name, name if any(sign in name for sign in "*?[") else f"*{name}*")
            for name in self.names
        )


#: No selection.
EVERYTHING = Selection()


@dataclass(frozen=True)
class Side:
    """One capture: its runs by (step, rank), its manifest where it has one (a plain msprobe dump has none), and what of
    it could not be read."""

    folder: Path
    runs: dict[tuple[int, int], Run]
    about: manifest.Manifest | None
    troubles: tuple[WorkbookError, ...] = ()
    #: What its steps did besides their operators; empty of plain dumps.
    states: States = States({})

    @property
    def bare(self) -> bool:
        """Return whether only fingerprints were recorded, no operators."""
        return self.about is not None and self.about.about.get("task") == FINGERPRINTS


@dataclass(frozen=True)
class StepComparison:
    """One step on one rank, judged in the target's order of execution."""

    pairing: Pairing
    judged: tuple[Judgement, ...]
    replays: Replays

    @property
    def step(self) -> int:
        return self.pairing.target.step

    @property
    def rank(self) -> int:
        return self.pairing.target.rank


@dataclass(frozen=True)
class Comparison:
    """All steps and ranks that both sides have, by step and rank."""

    baseline: Side
    target: Side
    steps: tuple[StepComparison, ...]
    numerics: dict[str, str]
    differences: tuple[Discrepancy, ...]
    selection: Selection = EVERYTHING
    #: Judge tensors of different experiments too.
    anyway: bool = False
    confirmation: Confirmation | None = None
    #: What the steps did besides their operators, held against each other, a rank each.
    states: tuple[Judged, ...] = ()
    #: What is known of the ranks of both sides, and how they were merged where their numbers differ.
    joined: Joined | None = None

    @property
    def stopped(self) -> bool:
        """Return whether the runs are different experiments: that is the verdict, and no tensor was looked at."""
        return bool(self.differences) and not self.anyway

    @cached_property
    def first(self) -> tuple[StepComparison, Judgement] | None:
        """Find the first parting operator: of the earliest step, and there of the earliest in execution. None where
        there is none, and where the runs are different experiments: then no operator is to blame."""
        if self.stopped:
            return None
        partings = [(step, divergence.first_parting(step.judged)) for step in self.steps]
        parted = [(step, judged) for step, judged in partings if judged is not None]
        first = min(parted, key=lambda pair: (pair[0].step, pair[1].agreement.pair.order), default=None)
        return None if first and self.start and first[1].outcome == divergence.JUMP else first

    @cached_property
    def start(self) -> Start:
        """Find what the first step began with otherwise, where no record of both experiments tells: of two captures
        labels and other data that no module was given, of which they have no fingerprint."""
        firsts = [step for step in self.steps if step.step == 0]
        if not firsts:
            return Start((), 0, ())
        result = start.compare_start([judged.agreement for judged in firsts[0].judged])
        if self.baseline.about is not None and self.target.about is not None:
            return replace(result, weights=())
        return result

    @cached_property
    def named(self) -> list[str]:
        """Name who is to blame: the first parting operator, or those that made the wrong gradient it was handed."""
        if self.first is None:
            return []
        step, judged = self.first
        jumps = judged.outcome == divergence.JUMP
        handed = divergence.find_makers(step.judged, judged) or self.missing_forward_calls if jumps else []
        makers = handed or list(judged.handed_by) or [judged.name]
        sides = [side.states.ranks.get(step.rank, {}).get(step.step) for side in (self.baseline, self.target)]
        if len(makers) > 1 and sides[0] is not None and sides[1] is not None and makers != self.missing_forward_calls:
            return pick_maker(makers, (sides[0], sides[1]), step.judged)
        return makers

    @cached_property
    def proves_nothing(self) -> list[str]:
        """List why what was compared is equal in any case, where none of it could tell two devices apart: whole
        numbers, nothing in it, no finite number, zeros, one constant. Empty where a tensor could, or none was
        compared."""
        if self.stopped or self.first is not None or self.start:
            return []
        whys: list[str] = []
        for step in self.steps:
            for judged in step.judged:
                sides = (judged.agreement.pair.target, judged.agreement.pair.baseline)
                records = [{record.slot: record for record in side.outputs} for side in sides]
                for tensor in judged.agreement.outputs:
                    if tensor.error is not None and tensor.slot in records[0] and tensor.slot in records[1]:
                        whys.append(tensor.why_equal(*(side[tensor.slot] for side in records)))
        return sorted(set(whys)) if all(whys) else []

    @cached_property
    def shows_gradients(self) -> bool:
        """Return whether what parts first was handed a wrong gradient of which no recorded operator is the maker, or
        reads gradients behind the last backward of its step: then those of the parameters tell more."""
        if self.first is None or self.first[1].outcome != divergence.JUMP or self.named != [self.first[1].name]:
            return False
        step, judged = self.first
        here = step.judged.index(judged)
        turns = [at for at, other in enumerate(step.judged) if other.agreement.pair.target.direction == BACKWARD]
        return bool(turns) and (here in turns or here > turns[-1])

    @property
    def missing_forward_calls(self) -> list[str]:
        """Forward calls of the baseline alone that stand just before the first parting operator, which reads what they
        would have made."""
        if self.first is None or self.first[1].outcome != divergence.JUMP:
            return []
        pairing, here = self.first[0].pairing, self.first[1].agreement.pair.baseline
        paired = [earlier.baseline.order for earlier in pairing.pairs if earlier.baseline.order < here.order]
        return [
            earlier.name
            for earlier in pairing.only_baseline
            if max(paired, default=-1) < earlier.order < here.order and earlier.direction == FORWARD
        ]

    @property
    def bare(self) -> bool:
        """Return whether a side holds no operators because none were asked for: then there is nothing to pair."""
        return self.baseline.bare or self.target.bare

    @property
    def only(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return the (step, rank) that only the baseline has, and those that only the target has."""
        if self.bare:
            return [], []
        left, right = self.baseline.runs.keys(), self.target.runs.keys()
        return sorted(left - right), sorted(right - left)


def read_side(folder: Path) -> Side:
    """Read a capture's folder, or a plain msprobe dump. Raises WorkbookError where it cannot be read."""
    about = manifest.load_manifest(folder)
    if about is not None and not about.complete:
        raise WorkbookError("precision.incomplete", path=str(folder))
    states = read_states(folder) if about is not None else States({})
    if about is not None and about.about.get("task") == FINGERPRINTS:
        return Side(folder, {}, about, states=states)
    runs, troubles = read_runs(folder / manifest.DUMP, about.root) if about else read_runs(folder)
    return Side(folder, {(run.step, run.rank): run for run in runs}, about, tuple(troubles), states)


def examine_captures(
    baseline: Path,
    target: Path,
    *,
    replaying: bool = True,
    selection: Selection = EVERYTHING,
    anyway: bool = False,
    replay_seconds: float | None = None,
    tell: Callable[[str], None] | None = None,
    measure: Measure = measure_all,
) -> Comparison:
    """Reads both sides, pairs and judges them, step after step; different experiments only where `anyway`. `measure`
    reads the tensors. Sides of another number of ranks are merged to one rank each. `replay_seconds` bounds what
    running operators again may take in all."""
    records = (read_records(baseline), read_records(target))
    joined = join_sides(read_side(baseline), read_side(target), records)
    budget = Budget(replay_seconds) if replaying else None
    return _examine_sides(joined, budget=budget, selection=selection, anyway=anyway, tell=tell, measure=measure)


def _examine_sides(
    joined: Joined,
    *,
    budget: Budget | None,
    selection: Selection,
    anyway: bool,
    tell: Callable[[str], None] | None,
    measure: Measure,
) -> Comparison:
    left, right = joined.left, joined.right
    different, numerics = differences(left.about, right.about), dict[str, str]()
    if joined.merged:  # arguments say how a training is divided; what else they say shows in data and weights
        different = tuple(part for part in different if (part.fact, part.name) != ("option", "args"))
    for about in filter(None, (left.about, right.about)):  # the reduced formats that either side allowed
        numerics = {**about.numerics, **{kind: form for kind, form in numerics.items() if form}}
    recorded = left.about is not None and right.about is not None
    alike = shared_draws(left.about, right.about)
    steps: list[StepComparison] = []
    common = sorted(left.runs.keys() & right.runs.keys())
    if not common and not (left.bare or right.bare or joined.merged):
        raise WorkbookError("precision.nothing_common", baseline=str(left.folder), target=str(right.folder))
    for number, key in enumerate(common if anyway or not different else ()):
        if tell:
            tell(Step(say("precision.told.compare", None, step=key[0], rank=key[1]), number, len(common)))
        # later steps begin with weights that updates have parted, by how much is not known; nor is it known what
        # error the selected operators begin with
        began = math.inf if other_start(different) else measure_start(left.about, right.about)
        reached = began if key[0] == 0 and not selection.names else math.inf
        steps.append(
            _compare_step(
                right.runs[key],
                left.runs[key],
                numerics,
                recorded,
                budget,
                reached,
                selection,
                measure,
                alike,
                all(key[0] in side.states.ranks.get(key[1], {}) for side in (left, right)),
                tell,
            )
        )
    compared = Comparison(left, right, tuple(steps), numerics, different, selection, anyway, joined=joined)
    known = known_conditions(left.about, right.about, different, _find_parting(compared), (left.states, right.states))
    parted = compared.first[0].step if compared.first else math.inf
    states = [joined.drop_consequences(judged, parted) for judged in judge_states(left.states, right.states, known)]
    return replace(compared, states=tuple(states))


def _find_parting(compared: Comparison) -> float:
    """The first step in which an operator parts the runs or draws other numbers: gradients follow from that."""
    steps = [step.step for step in compared.steps if any(judged.outcome == divergence.DRAWN for judged in step.judged)]
    first = [compared.first[0].step + compared.shows_gradients] if compared.first else []
    return min([math.inf, *steps, *first])


def _compare_step(
    target: Run,
    baseline: Run,
    numerics: dict[str, str],
    recorded: bool,
    budget: Budget | None,
    reached: float,
    selection: Selection,
    measure: Measure,
    alike: bool,
    gradients: bool,
    tell: Callable[[str], None] | None,
) -> StepComparison:
    """Pair and judge one step; `budget` is what may be spent on running operators again, None where none is.
    `gradients`: those of the step's parameters were recorded by themselves."""
    began = time.monotonic()
    pairing = selection.select_pairs(pair_runs(target, baseline, selection.cells))
    agreements = compare_all(pairing.pairs, selection.sample, measure)
    # where everything agrees to rounding there is nothing to look at again
    doubtful = frozenset(
        agreement.pair.target.name
        for agreement in agreements
        if max(agreement.error_in, agreement.error_out or 0.0) > tolerance.rounding_floor(agreement.dtypes)
    )
    replays = Replays({})
    if budget is not None:
        budget.compared += time.monotonic() - began
    if budget is not None and doubtful:
        replays = _replay_step(pairing, numerics, recorded, doubtful, budget, tell)
    numerics = {**numerics, **replays.seen}
    # in backward, where an API's entry is its last autograd node only, a module around nothing but APIs tells more
    # than they: the whole gradient
    more = [op.name for op in target.operators if op.name in target.leaves and op.direction == BACKWARD]
    containers = target.containers - set(more)
    possible = formats.possible_kinds(agreements, numerics, recorded=recorded)
    later = target.step > 0 and not selection.names
    conditions = (replays.found, numerics, containers, reached, possible, alike, later, gradients)
    judged = divergence.judge_operators(agreements, *conditions)
    while (guilty := divergence.first_parting(judged)) and (
        sound := verify_files(guilty.agreement)
    ) is not guilty.agreement:
        agreements = [sound if agreement is guilty.agreement else agreement for agreement in agreements]
        judged = divergence.judge_operators(agreements, *conditions)
    return StepComparison(pairing, tuple(judged), replays)


def _replay_step(
    pairing: Pairing,
    numerics: dict[str, str],
    recorded: bool,
    doubtful: frozenset[str],
    budget: Budget,
    tell: Callable[[str], None] | None,
) -> Replays:
    """Run the operators of a step again within the budget; what that takes is told first."""
    count, size = count_replayable(pairing)
    low, high = estimate_seconds(count, size)
    if tell and count:
        sizes = {"count": count, "low": round(low), "high": round(high), "left": round(budget.left)}
        tell(say("precision.told.replay", None, step=pairing.target.step, rank=pairing.target.rank, **sizes))
    replays = replay_pairs(pairing, numerics, recorded=recorded, doubtful=doubtful, seconds=budget.left)
    budget.spent += replays.seconds
    return replays

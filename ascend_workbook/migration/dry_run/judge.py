"""What the losses of both sides come to: step by step, rank by rank, and with what a device drew at random."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.migration.dry_run.sides import Plan
from ascend_workbook.migration.reading.source import Source, decode_bytes, parse_text
from ascend_workbook.migration.reading.undecoded import Unreadable

#: Relative tolerance by the narrowest type a training computes in. float32: the order of additions differs by
#: a few units in the last place (6e-8) and steps compound it. Half types: about four times their epsilon
#: (float16 9.8e-4, bfloat16 7.8e-3), since every rounding of an activation may fall the other way.
TOLERANCE = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
#: Significant digits of a loss in a table.
LOSS_DIGITS = 6
#: Beyond this many times the tolerance it is no rounding.
FAR = 1000.0


@dataclass(frozen=True)
class LossPair:
    """One step of both runs. `error` is |target - baseline| / |baseline|; None where one side has no loss, and where
    neither has a finite one: two NaNs agree in nothing."""

    step: int
    baseline: float | None
    target: float | None

    @property
    def error(self) -> float | None:
        if self.baseline is None or self.target is None:
            return None
        if not (math.isfinite(self.baseline) and math.isfinite(self.target)):
            return None if self.both_broken else math.inf
        difference = abs(self.target - self.baseline)
        return difference / abs(self.baseline) if self.baseline else (0.0 if not difference else math.inf)

    @property
    def both_broken(self) -> bool:
        """Return whether both sides have the same broken value: NaN, inf or -inf."""
        if self.baseline is None or self.target is None:
            return False
        return str(self.baseline) == str(self.target) and not math.isfinite(self.baseline)

    @property
    def one_broken(self) -> bool:
        """NaN or inf where the other side has a number, or another of them."""
        values = [value for value in (self.baseline, self.target) if value is not None]
        return len(values) == 2 and not all(map(math.isfinite, values)) and not self.both_broken


def pair_losses(baseline: Sequence[float | None], target: Sequence[float | None]) -> list[LossPair]:
    """Pair the losses step by step; the longer run's extra steps have no partner."""
    return [LossPair(step, *losses) for step, losses in enumerate(zip_longest(baseline, target), 1)]


def find_worst_step(pairs: Iterable[LossPair]) -> LossPair | None:
    """Find the step with the largest relative error among those that both runs have."""
    both = [entry for entry in pairs if entry.error is not None]
    return max(both, key=lambda entry: entry.error or 0.0, default=None)


def drifts_apart(pairs: Sequence[LossPair], allowed: float) -> bool:
    """Return whether the first step agrees and a later one does not: a difference that grew."""
    first = pairs[0].error if pairs else None
    return first is not None and first <= allowed


def choose_narrowest_type(dtypes: Iterable[str]) -> str:
    """Choose the type that sets the tolerance."""
    return max(dtypes, key=lambda name: TOLERANCE.get(name, 0.0), default="float32")


def which_loss(run: LaunchResult, loss_regex: str | None) -> list[Finding]:
    """Which loss was compared, where it can differ from the one that the script prints."""
    if loss_regex:
        return [Finding("MIG140", Status.GOOD, "MIG140.of_output")]
    most = max((step.micro_batches for step in run.steps), default=1)
    return [Finding("MIG140", Status.GOOD, "MIG140.of_backward", {"count": most})] if most > 1 else []


SHOWN = 8
#: By resolved name: what draws from the generator of the device that its tensors are on.
DRAWS = re.compile(
    r"torch\.(?:nn\.(?:functional\.)?(?:(?:Alpha|FeatureAlpha)?Dropout[123]?d?|\w*dropout[123]?d?_?|rrelu_?|RReLU)"
    r"|nn\.init\.(?!zeros_|ones_|constant_|eye_|dirac_)\w+_$|bernoulli|multinomial|normal|poisson|dropout\w*"
    r"|rand|randn|randint|randperm|rand_like|randn_like|randint_like)$"
)
METHODS = {"normal_", "uniform_", "bernoulli_", "bernoulli", "random_", "exponential_", "log_normal_"}
METHODS |= {"cauchy_", "geometric_", "multinomial"}
#: Take the probability of a dropout of their own as an argument.
CHANCE = {"dropout", "dropout_p", "attn_dropout", "attention_dropout", "drop_rate", "drop_path_rate", "p"}
ON_CPU = re.compile(r"^(?:torch\.)?(?:rand|randn|randint|randperm|normal)$")


def read_draws_log(after: LaunchResult | None) -> dict[str, Any] | None:
    """Return what training_watch.py kept of the rank that drew first (ranks share gradients); None where none did."""
    logs = after.logs if after is not None else ()
    draw_logs = [dict(log.meta["random"]) for log in logs if log.meta.get("random")]
    drew = [draw_log for draw_log in draw_logs if draw_log["first_step"] is not None]
    return min(drew, key=lambda draw_log: int(draw_log["first_step"]), default=None)


def select_unexcused_pairs(pairs: Sequence[LossPair], after: LaunchResult) -> list[LossPair]:
    """The steps that nothing drawn on the device accounts for: those before the first draw, and where one side alone
    has no finite loss. All of them where nothing was drawn."""
    draws_log = read_draws_log(after)
    if draws_log is None:
        return list(pairs)
    # a printed loss may be a later step's
    losses_by_step = not after.log_losses or len(after.log_losses) == len(after.steps)
    first = draws_log["first_step"] if losses_by_step else 0
    return [loss_pair for loss_pair in pairs if loss_pair.step < first or loss_pair.one_broken]


def judge_random_draws(plan: Plan, pairs: list[LossPair], after: LaunchResult, parted: bool) -> Finding | None:
    """Judge what was drawn on the device (None: nothing). Losses that part with it are no verdict on the migration."""
    draws_log = read_draws_log(after)
    if draws_log is None:
        return None
    draw_places = list(_find_draw_places(plan, before_steps=not draws_log["first_step"]))
    places = [str(place) for place in draw_places]
    shown_places: list[Scalar] = [*places[:SHOWN], *(["…"] if len(places) > SHOWN else [])]
    if draws_log["count"]:
        names = ", ".join(map(str, draws_log["modules"]))
        names += " …" if draws_log["count"] > len(draws_log["modules"]) else ""
        shown_places.append(Sentence("MIG149.modules", names=names, count=draws_log["count"]))
    first = draws_log["first_step"]
    far = find_worst_step(pairs)
    args: dict[str, Scalar] = {
        "when": Sentence("MIG149.step", step=first) if first else Sentence("MIG149.before"),
        "places": shown_places or [Sentence("MIG149.nowhere")],
        "steps": len(pairs),
    }
    if far is None or not far.error:
        return Finding("MIG149", Status.GOOD, "MIG149.drawn", args)
    args |= {"worst": f"{far.error:.2g}", "step": far.step}
    place = draw_places[0] if draw_places else None
    if parted:
        return Finding("MIG149", Status.LOOK, "MIG149.parted", args, place, WEIGHT)
    return Finding("MIG149", Status.NOTE, "MIG149.within", args, place, WEIGHT)


def _find_draw_places(plan: Plan, *, before_steps: bool) -> Iterator[Place]:
    """Lines that may draw on the device, as the user has them; `before_steps`: the model's first values too."""
    original = plan.original
    for file, data in original.texts.items():
        name = file.relative_to(original.layout.root)
        try:
            source = parse_text(decode_bytes(data)[0], name.as_posix(), file=file) if file.suffix == ".py" else None
        except Unreadable:
            continue
        for line in sorted(set(find_draw_lines(source, initial=before_steps))) if source else ():
            yield original.place_of_line(name, line)


def find_draw_lines(source: Source, *, initial: bool = True) -> Iterator[int]:
    """Find lines that draw on a device, not on the CPU; `initial`: those that give a model its first values too."""
    for call in source.nodes_of_type(ast.Call):
        name = source.names.resolve_call(call) or ""
        # `x.normal_()`, and what is given a dropout of its own: `TransformerEncoderLayer(..., dropout=0.1)`
        chances = (_read_number(word.value) != 0 for word in call.keywords if word.arg in CHANCE - {"p"})
        if DRAWS.match(name):
            # a device that is not the CPU; without one torch.rand and its kin draw on the CPU
            devices = [getattr(word.value, "value", "") for word in call.keywords if word.arg == "device"]
            chance_values = [*call.args, *(word.value for word in call.keywords if word.arg in CHANCE)]
            chance = next((number for value in chance_values if (number := _read_number(value)) is not None), None)
            if chance == 0 or ON_CPU.match(name) and devices[:1] in ([], ["cpu"]):
                continue
            if initial or not name.startswith("torch.nn.init."):
                yield call.lineno
        elif getattr(call.func, "attr", "") in METHODS or (name.startswith("torch.") and any(chances)):
            yield call.lineno


def _read_number(node: ast.AST) -> float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    return None


#: Of the verdict among a report's findings.
WEIGHT = 1000.0


def judge_losses(plan: Plan, pairs: list[LossPair], dtype: str, base: Device, after: LaunchResult) -> list[Finding]:
    """Judge the losses; where the device drew at random and losses are not the very same, that is the verdict, as they
    prove less then, unless they part where no draw accounts for it."""
    drawn = judge_random_draws(plan, pairs, after, _is_beyond_tolerance(find_worst_step(pairs), dtype))
    if drawn is None or drawn.status is Status.GOOD:
        return [judge_worst_step(pairs, dtype, base), *([drawn] if drawn is not None else [])]
    held = select_unexcused_pairs(pairs, after)
    if _is_beyond_tolerance(find_worst_step(held), dtype):
        return [judge_worst_step(held, dtype, base), replace(drawn, weight=WEIGHT - 1)]
    return [drawn]


def _is_beyond_tolerance(far: LossPair | None, dtype: str) -> bool:
    return far is not None and (far.error or 0.0) > TOLERANCE[dtype]


def judge_worst_step(pairs: list[LossPair], dtype: str, base: Device) -> Finding:
    """Judge the worst step against the tolerance of the narrowest type: the verdict."""
    far = find_worst_step(pairs)
    if far is None or far.error is None:
        if any(entry.both_broken for entry in pairs):
            return Finding("MIG140", Status.NOT_LOOKED, "MIG140.not_finite", {"steps": len(pairs)}, weight=WEIGHT)
        return Finding("MIG140", Status.NOT_LOOKED, "MIG140.no_loss", {"steps": len(pairs)}, weight=WEIGHT)
    allowed = TOLERANCE[dtype]
    status = Status.GOOD if far.error <= allowed else Status.LOOK if far.error <= FAR * allowed else Status.FIX
    args: dict[str, Scalar] = {
        "steps": sum(entry.error is not None for entry in pairs),
        "worst": f"{far.error:.2g}",
        "step": far.step,
        "tolerance": f"{allowed:g}",
        "dtype": dtype,
        "baseline": Sentence("migration.standing_in" if base.tier == "cpu" else "migration.on_cuda"),
    }
    outcome = "within" if status is Status.GOOD else "drift" if drifts_apart(pairs, allowed) else "beyond"
    args["first"] = f"{pairs[0].error or 0.0:.2g}"
    return Finding("MIG140", status, f"MIG140.{outcome}", args, weight=WEIGHT)


def step_counts(before: LaunchResult, after: LaunchResult) -> list[Finding]:
    left, right = len(before.losses), len(after.losses)
    if left == right:
        return []
    return [Finding("MIG140", Status.FIX, "MIG140.steps_differ", {"baseline": left, "target": right})]


def judge_ranks(before: LaunchResult, after: LaunchResult, dtype: str) -> list[Finding]:
    """Judge the ranks' losses; the table has rank 0, and what parts once a device drew at random is no fault."""
    if len(before.logs) < 2 and len(after.logs) < 2:
        return []
    if len(before.logs) != len(after.logs):
        rank_counts: dict[str, Scalar] = {"baseline": len(before.logs), "target": len(after.logs)}
        return [Finding("MIG140", Status.FIX, "MIG140.ranks_differ", rank_counts)]
    every = [pair_losses(left.losses, right.losses) for left, right in zip(before.logs, after.logs)]
    rank, far = _worst_rank([select_unexcused_pairs(pairs, after) for pairs in every])
    excused = not _is_beyond_tolerance(far, dtype)
    if excused:
        rank, far = _worst_rank(every)
    if far is None or far.error is None:
        return []
    allowed = TOLERANCE[dtype]
    rounding = far.error <= FAR * allowed or excused
    status = Status.GOOD if far.error <= allowed else Status.LOOK if rounding else Status.FIX
    args: dict[str, Scalar] = {
        "ranks": len(every),
        "rank": rank,
        "worst": f"{far.error:.2g}",
        "step": far.step,
        "tolerance": f"{allowed:g}",
    }
    return [Finding("MIG140", status, "MIG140.ranks", args)]


def _worst_rank(every: list[list[LossPair]]) -> tuple[int, LossPair | None]:
    def error_of(rank_and_pair: tuple[int, LossPair | None]) -> float:
        pair = rank_and_pair[1]
        return -1.0 if pair is None or pair.error is None else pair.error

    return max(enumerate(map(find_worst_step, every)), key=error_of)

"""What two training processes told of their experiment, held against each other, before any tensor is looked at.

Each `compare_` function takes two sides of one rank, as a manifest's `sides` hold them, and yields a Discrepancy for
each fact that differs. What a side did not tell is not compared; experiment.list_unrecorded says so."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional, TypedDict, TypeVar

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.precision.tensors import tolerance

LONGEST = 200


@dataclass(frozen=True)
class Discrepancy:
    """`fact` ends the sentence ACC205.<fact>; `name` says which (a weight, a step, an option). `decides`: it makes
    another experiment; else it is only to be known. `args` are what else its sentence says."""

    fact: str
    name: str
    baseline: object
    target: object
    args: dict[str, Scalar] = field(default_factory=dict)
    decides: bool = True

    def with_rank(self, rank: str) -> Discrepancy:
        """Return the same discrepancy, told of a rank."""
        return replace(self, args={**self.args, "rank": rank})

    @property
    def words(self) -> dict[str, Scalar]:
        """The arguments of its sentence."""
        left, right = (
            text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
            for text in map(str, (self.baseline, self.target))
        )
        return {"name": self.name, "baseline": left, "target": right, **self.args}


#: Numbers that went through float32 on one side.
RELATIVE = 1e-6


#: Norm and kept values of a tensor; None for one that is not finite.
Numbers = Sequence[Optional[float]]
Optimizer = TypedDict("Optimizer", {"class": str, "groups": list[dict[str, object]]})


class Batch(TypedDict):
    """A tensor of a batch: a hash per sample, and its numbers."""

    samples: list[str]
    numbers: Numbers


@dataclass(frozen=True)
class Told:
    """What one training process told, as the plugin wrote it (experiment_facts.py); empty where it told nothing."""

    weight_prints: dict[str, str]
    batch_prints: dict[str, list[str]]
    weights: dict[str, Numbers]
    batches: dict[str, list[Batch]]
    sketches: dict[str, Numbers]
    seeds: dict[str, object]
    seed_calls: list[dict[str, object]]
    modules: dict[str, list[str]]
    loaders: list[dict[str, object]]
    optimizers: list[Optimizer]
    schedulers: list[dict[str, object]]
    rates: dict[str, list[object]]
    loss: str
    autocast: list[tuple[bool, str]] | None
    scaler: dict[str, object]

    @classmethod
    def of_side(cls, side: Mapping[str, Any]) -> Told:
        """Of one rank, as a manifest's `sides` hold it."""
        experiment = side.get("experiment")
        facts = experiment if isinstance(experiment, Mapping) else {}
        known: dict[str, Any] = {name: facts.get(name) or [] for name in ("loaders", "optimizers", "schedulers")}
        for name in ("weights", "batches", "sketches", "seeds", "modules", "rates", "scaler"):
            known[name] = facts.get(name) or {}
        prints = side.get("weights") or {}, side.get("batches") or {}
        calls, loss = known["seeds"].get("calls", []), facts.get("loss") or ""
        return cls(*prints, **known, seed_calls=calls, loss=loss, autocast=facts.get("autocast"))


def same_values(left: object, right: object) -> bool:
    """Equality of values as JSON has them; numbers to RELATIVE."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same_values(item, other) for item, other in zip(left, right))
    numbers = (int, float)
    if isinstance(left, numbers) and isinstance(right, numbers) and not isinstance(left, bool):
        return math.isclose(left, right, rel_tol=RELATIVE)
    return bool(left == right)


#: Streams that do not tell their seed: only a hash of their state is known, which draws change too.
STATES = ("python", "numpy")


def compare_seeds(left: Told, right: Told) -> Iterator[Discrepancy]:
    mine, other = left.seeds, right.seeds
    if not (mine and other):
        return
    if mine.get("torch") != other.get("torch"):
        yield Discrepancy("seed", "torch.initial_seed()", mine.get("torch"), other.get("torch"))
    calls: dict[str, list[object]] = defaultdict(list)
    others: dict[str, list[object]] = defaultdict(list)
    for side, seeds in ((left, calls), (right, others)):
        for entry in side.seed_calls:  # seeds by the function that took them, in order
            seeds[str(entry["call"])].append(entry["seed"])
    different = [name for name in calls if name in others and calls[name] != others[name]]
    for name in different:
        yield Discrepancy("seed", name, calls[name], others[name])
    for name in STATES:
        if name in mine and name in other and mine[name] != other[name] and not different:
            yield Discrepancy("random_state", name, mine[name], other[name], decides=False)


SHOWN = 3
#: Values of a scaled weight have one ratio; low precision rounds each.
EVEN = {"bfloat16": 1e-2, "float16": 2e-3}
FINGERPRINT = re.compile(r"(?P<dtype>\w+)\[(?P<shape>.*)\]:(?P<digest>\w+)")


def compare_models(left: Told, right: Told) -> Iterator[Discrepancy]:
    if left.weight_prints and right.weight_prints:
        yield from _compare_weights(left, right)
    yield from _compare_modules(left.modules, right.modules)


def _compare_weights(left: Told, right: Told) -> Iterator[Discrepancy]:
    prints, others = left.weight_prints, right.weight_prints
    common = [name for name in prints if name in others and prints[name] != others[name]]
    kinds = {name: (_read_print(prints[name]), _read_print(others[name])) for name in common}
    args: dict[str, Scalar]
    differ = [[name for name in common if kinds[name][0][at] != kinds[name][1][at]] for at in (0, 1)]
    for at, fact in enumerate(("dtype", "shape")):
        for name in differ[at][:1]:
            yield Discrepancy(fact, name, kinds[name][0][at], kinds[name][1][at], {"count": len(differ[at])})
    changed = [name for name in common if name not in differ[0] and name not in differ[1]]
    noise = measure_start_noise(left, right)
    if changed and noise:
        args = {"count": len(changed), "of": len(prints), "apart": noise}
        yield Discrepancy("weights_near", changed[0], None, None, args, decides=False)
    elif changed:
        values = {name: (left.weights.get(name, ()), right.weights.get(name, ())) for name in changed}
        worst = [name for _, name in sorted(((_relative_distance(*values[n]), n) for n in changed), reverse=True)]
        mine, theirs = values[worst[0]]
        how = _describe_change(mine, theirs, kinds[worst[0]][0][0])
        args = {"count": len(changed), "of": len(prints), "names": [*worst[:SHOWN]], "how": how}
        norm, other = (side[0] if side else None for side in (mine, theirs))
        yield Discrepancy("weights", worst[0], norm, other, args)
    yield from _find_one_sided(prints, others)


def measure_start_noise(left: Told, right: Told) -> float:
    """Measure the largest relative difference of initial weights where it is rounding in every one of them; 0 where
    there is none, or more than rounding in one."""
    largest = 0.0
    for name, text in left.weight_prints.items():
        other = right.weight_prints.get(name)
        if other is None or other == text:
            continue
        kinds = _read_print(text), _read_print(other)
        apart = _measure_distance(name, left, right)
        if kinds[0] != kinds[1] or apart > tolerance.start_floor(kinds[0][0]):
            return 0.0
        largest = max(largest, apart)
    return largest


def _measure_distance(name: str, left: Told, right: Told) -> float:
    """Measure how far a weight's two sides are apart: by their sketches, else by the kept values and the norms."""
    sides = left.weights.get(name, ()), right.weights.get(name, ())
    sketches = left.sketches.get(name, ()), right.sketches.get(name, ())
    if any(None in side for side in (*sides, *sketches)) or not all(sides):
        return math.inf
    if all(sketches) and len(sketches[0]) == len(sketches[1]):  # the first number is left out: there the norm stands
        return _relative_distance((None, *sketches[0]), (None, *sketches[1]))
    norms = [side[0] or 0.0 for side in sides]
    apart = abs(norms[0] - norms[1]) / max(norms) if max(norms) else 0.0
    return max(_relative_distance(*sides), apart)


def _find_one_sided(left_side: dict[str, str], right_side: dict[str, str]) -> Iterator[Discrepancy]:
    """A weight under another name is no other weight."""
    only = [name for name in left_side if name not in right_side]
    lacking = [name for name in right_side if name not in left_side]
    renamed = Counter(left_side[name] for name in only) & Counter(right_side[name] for name in lacking)
    alone: list[list[str]] = []
    for side, names in ((left_side, only), (right_side, lacking)):
        spare, left = Counter(renamed), []
        for name in names:
            spare[side[name]] -= 1
            if spare[side[name]] < 0:
                left.append(name)
        alone.append(left)
    mine, theirs = (names[:SHOWN] or "-" for names in alone)
    if any(alone):
        args: dict[str, Scalar] = {"count": len(alone[0]) + len(alone[1])}
        yield Discrepancy("weights_missing", (alone[0] + alone[1])[0], mine, theirs, args)
    if renamed:
        args = {"count": sum(renamed.values())}
        yield Discrepancy("weights_renamed", only[0], only[0], lacking[0], args, decides=False)


def _compare_modules(left_modules: dict[str, list[str]], right_modules: dict[str, list[str]]) -> Iterator[Discrepancy]:
    """The same class with other settings is another experiment. Another class, or another place, may be the migration's
    own doing (a fused module): the pairing of operators copes with that."""
    for name in left_modules.keys() & right_modules.keys():
        if left_modules[name][0] == right_modules[name][0] and left_modules[name][1] != right_modules[name][1]:
            left, right = (f"{kind}({text})" for kind, text in (left_modules[name], right_modules[name]))
            yield Discrepancy("module", name or "-", left, right)
    names = dict.fromkeys((*left_modules, *right_modules))
    kinds = {name: [side.get(name, ["-"])[0] for side in (left_modules, right_modules)] for name in names}
    moved = [name for name, (left, right) in kinds.items() if left != right]
    if left_modules and right_modules and moved:
        left, right = kinds[moved[0]]
        yield Discrepancy("modules", moved[0], left, right, {"count": len(moved)}, decides=False)


def _describe_change(left: Numbers, right: Numbers, dtype: str) -> Scalar:
    """Scaled, and by what; or apart, and how far."""
    known = [(a, b) for a, b in zip(left, right) if a is not None and b is not None]
    whole = len(known) == min(len(left), len(right)) and all((a == 0) == (b == 0) for a, b in known)
    ratios = [b / a for a, b in known if a] if whole else []  # of the kept values; the norm comes first
    if not ratios:
        return Sentence("ACC205.how_unknown")
    factor = sorted(ratios)[len(ratios) // 2]
    if len(ratios) > 1 and all(abs(ratio / factor - 1) <= EVEN.get(dtype, 1e-4) for ratio in ratios) and factor != 1:
        return Sentence("ACC205.how_scaled", factor=round(factor, 6))
    return Sentence("ACC205.how_apart", apart=_relative_distance(left, right))


def _relative_distance(left: Numbers, right: Numbers) -> float:
    """Relative distance of the kept values, an estimate of the tensors'; infinite where nothing is known of it."""
    known = [(a, b) for a, b in zip(left[1:], right[1:]) if a is not None and b is not None]
    if not known or len(known) < min(len(left), len(right)) - 1:
        return math.inf
    size, apart = math.sqrt(sum(a * a for a, _ in known)), math.sqrt(sum((a - b) ** 2 for a, b in known))
    return apart / size if size else (0.0 if apart == 0 else math.inf)


def _read_print(text: str) -> tuple[str, str]:
    """(dtype, [shape]) of a fingerprint; empty where it is none."""
    match = FINGERPRINT.fullmatch(text)
    return (match["dtype"], f"[{match['shape']}]") if match else ("", "")


#: A batch that was computed on the device differs by rounding, which is no other data.
ROUNDING = 1e-3
LOADER = ("dataset", "length", "sampler", "batch_size", "drop_last", "seed", "generator")


def compare_data(left: Told, right: Told) -> Iterator[Discrepancy]:
    for at, (loader, other) in enumerate(zip(left.loaders, right.loaders)):
        for name in LOADER:
            if name in loader and name in other and not same_values(loader[name], other[name]):
                yield Discrepancy("loader", f"{at}.{name}", loader[name], other[name])
    if len(left.loaders) != len(right.loaders):
        yield Discrepancy("loaders", "-", len(left.loaders), len(right.loaders), decides=False)
    common = sorted(left.batch_prints.keys() & right.batch_prints.keys(), key=lambda s: int(s) if s.isdigit() else 0)
    differ = [step for step in common if left.batch_prints[step] != right.batch_prints[step]]
    near = [step for step in differ if _differ_by_rounding(step, left, right)]
    if near:
        yield Discrepancy("batches_near", near[0], None, None, {"count": len(near), "of": len(common)}, decides=False)
    differ = [step for step in differ if step not in near]
    if differ:
        yield _describe_difference(differ, common, left, right)


def _describe_difference(differ: list[str], common: list[str], left: Told, right: Told) -> Discrepancy:
    step = differ[0]
    args: dict[str, Scalar] = {"count": len(differ), "of": len(common)}
    prints = left.batch_prints[step], right.batch_prints[step]
    kinds = [[text.rpartition(":")[0] for text in side] for side in prints]
    if kinds[0] != kinds[1]:
        return Discrepancy("batch_shapes", step, kinds[0], kinds[1], args)
    # each sample's fingerprints over all tensors of the batch that have one row per sample
    rows, others = ([_sample_rows(side.batches.get(name, [])) for name in common] for side in (left, right))
    if not all(rows) or not all(others):
        return Discrepancy("batches", step, *prints, args)
    at = common.index(step)
    within = Counter(rows[at]) == Counter(others[at])
    whole, whole_right = (Counter(row for batch in side for row in batch) for side in (rows, others))
    args["shared"] = sum((whole & whole_right).values())
    args["samples"] = sum(whole.values())
    if within or whole == whole_right:
        args["where"] = Sentence(f"ACC205.order_{'within' if within else 'across'}")
        return Discrepancy("order", step, *prints, args)
    return Discrepancy("samples", step, *prints, args)


def _sample_rows(batch: list[Batch]) -> list[tuple[str, ...]]:
    columns = [tensor["samples"] for tensor in batch if tensor["samples"]]
    most = max(map(len, columns), default=0)
    return list(zip(*(column for column in columns if len(column) == most)))


def _differ_by_rounding(step: str, left: Told, right: Told) -> bool:
    """Whether floating tensors alone differ: by rounding, or in a later step beside others that are the same, as what
    a model hands on from step to step (a hidden state) does."""
    prints, others = left.batch_prints[step], right.batch_prints[step]
    if len(prints) != len(others):
        return False
    differ = [at for at in range(len(prints)) if prints[at] != others[at]]
    kinds, kinds_of_others = ([text.rpartition(":")[0] for text in side] for side in (prints, others))
    if kinds != kinds_of_others or any("float" not in kinds[at] for at in differ):
        return False
    if step != "0" and 0 not in differ:
        return True
    mine, theirs = ([tensor["numbers"] for tensor in side.batches.get(step, ())] for side in (left, right))
    return len(mine) == len(theirs) == len(prints) and all(_are_close(mine[at], theirs[at]) for at in differ)


def _are_close(left: Numbers, right: Numbers) -> bool:
    """Norm and kept values within ROUNDING of the largest of them, the norm within its own."""
    if not left or len(left) != len(right) or None in left or None in right:
        return False
    values = [(a, b) for a, b in zip(left, right) if a is not None and b is not None]
    largest = max(abs(a) for a, _ in values[1:]) if len(values) > 1 else 0.0
    norm = abs(values[0][0] - values[0][1]) <= ROUNDING * abs(values[0][0])
    return norm and all(abs(a - b) <= ROUNDING * largest for a, b in values[1:])


#: How an update is computed, not which; `initial_lr` is a scheduler's copy of lr.
IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable", "initial_lr")
FUSED = re.compile(r"^(Npu)?Fused")
LOSS = re.compile(r"Loss|CrossEntropy|KlDiv|Mse")
#: Its learning rates follow from losses, and so from what is to be compared.
FOLLOWS = "ReduceLROnPlateau"


def compare_hyperparameters(left: Told, right: Told) -> Iterator[Discrepancy]:
    left, right = _leave_out_unseen(left, right), _leave_out_unseen(right, left)
    discrepancies = [*_compare_optimizers(left.optimizers, right.optimizers)]
    yield from discrepancies
    classes = [[scheduler["class"] for scheduler in side.schedulers] for side in (left, right)]
    if classes[0] != classes[1]:
        yield Discrepancy("schedule", "-", classes[0] or "-", classes[1] or "-")
    for scheduler, other in zip(left.schedulers, right.schedulers) if classes[0] == classes[1] else ():
        for key in scheduler:
            if key in other and not same_values(scheduler[key], other[key]):
                yield Discrepancy("schedule", f"{scheduler['class']}.{key}", scheduler[key], other[key])
    if not discrepancies and not any(scheduler["class"] == FOLLOWS for scheduler in left.schedulers):
        steps = sorted((step for step in left.rates.keys() & right.rates.keys() if step.isdigit()), key=int)
        first = next((step for step in steps if not same_values(left.rates[step], right.rates[step])), None)
        if first is not None:
            yield Discrepancy("rate", first, left.rates[first], right.rates[first])
    if left.loss and right.loss and left.loss != right.loss:
        decides = bool(LOSS.search(left.loss) and LOSS.search(right.loss))
        yield Discrepancy("loss", "-", left.loss, right.loss, decides=decides)


def _leave_out_unseen(side: Told, other: Told) -> Told:
    """Return a side without the last optimizers and schedulers that the other one, which left updates out, never came
    to use: each is seen at its first update."""
    if not side.rates.keys() - other.rates.keys():
        return side
    optimizers = _take_seen(side.optimizers, other.optimizers)
    return replace(side, optimizers=optimizers, schedulers=_take_seen(side.schedulers, other.schedulers))


_Facts = TypeVar("_Facts", bound=Mapping[str, Any])


def _take_seen(own: list[_Facts], seen: Sequence[_Facts]) -> list[_Facts]:
    """Return as many as the other side has seen, where those are of the same classes."""
    first = own[: len(seen)]
    return first if [each["class"] for each in first] == [each["class"] for each in seen] else own


def _compare_optimizers(left: list[Optimizer], right: list[Optimizer]) -> Iterator[Discrepancy]:
    if left and right and len(left) != len(right):
        names = [[optimizer["class"] for optimizer in side] for side in (left, right)]
        yield Discrepancy("optimizer", "-", names[0], names[1])
        return
    for at, (optimizer, other) in enumerate(zip(left, right)):
        name = f"{at} {optimizer['class']}"
        if FUSED.sub("", optimizer["class"]) != FUSED.sub("", other["class"]):
            yield Discrepancy("optimizer", name, optimizer["class"], other["class"])
        elif optimizer["class"] != other["class"]:
            yield Discrepancy("optimizer_form", name, optimizer["class"], other["class"], decides=False)
        groups, others = optimizer["groups"], other["groups"]
        if len(groups) != len(others):
            yield Discrepancy("hyper", f"{name}: groups", len(groups), len(others))
            continue
        both = [(n, key, pair) for n, pair in enumerate(zip(groups, others)) for key in pair[0] if key in pair[1]]
        for number, key, (group, theirs) in both:
            if not same_values(group[key], theirs[key]):
                decides = key not in IMPLEMENTATION
                fact = "hyper" if decides else "optimizer_form"
                yield Discrepancy(fact, f"{name}: group {number} {key}", group[key], theirs[key], decides=decides)


def compare_amp(left: Told, right: Told) -> Iterator[Discrepancy]:
    """Mixed precision: which autocast was entered, in which dtype, and how a GradScaler that is on began."""
    if left.autocast is None or right.autocast is None:
        return
    dtypes = [sorted(dtype for enabled, dtype in entered if enabled) for entered in (left.autocast, right.autocast)]
    if dtypes[0] != dtypes[1]:
        yield Discrepancy("autocast", "-", dtypes[0] or "off", dtypes[1] or "off")
    scaler, other = (side.scaler if side.scaler.get("enabled") else {} for side in (left, right))
    if bool(scaler) != bool(other):
        yield Discrepancy("scaler", "enabled", bool(scaler), bool(other))
        return
    for name in scaler:
        if name in other and not same_values(scaler[name], other[name]):
            yield Discrepancy("scaler", name, scaler[name], other[name])

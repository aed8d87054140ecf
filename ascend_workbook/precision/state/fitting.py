"""Which rule an optimizer computes: candidates of its family computed again from what was recorded of each parameter.

An update is elementwise, so that some values of each tensor tell the rule: weight, gradient and state before, the
update and the state after. What the state became is judged first (moments, with their coefficients), then the update
that was made of it. A rule is known by the names of its departures from what torch computes: none is torch's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ascend_workbook.precision.state.reading import Floats, Tensor, Update
from ascend_workbook.precision.tensors.tolerance import unit_roundoff

ADAM, SGD, RMSPROP = "adam", "sgd", "rmsprop"
#: Relative rounding of the arithmetic beside that of the weights themselves.
ARITHMETIC = 2e-5
#: So many elements at least, and such a share of them, must be as the rule says.
FEWEST, SHARE = 2, 0.97
#: A coefficient that is so near to what was declared is that one.
NEAR = 0.01


@dataclass(frozen=True)
class Values:
    """The kept values of some parameters of one group, end to end."""

    weight: Floats
    gradient: Floats
    update: Floats
    before: Mapping[str, Floats]
    after: Mapping[str, Floats]
    owner: tuple[str, ...]
    unit: float

    @property
    def rounding(self) -> Floats:
        """What rounding of the weights leaves of the update's exactness."""
        return 2.0 * self.unit * (np.abs(self.weight) + np.abs(self.weight + self.update)) + 1e-12

    def select(self, names: set[str]) -> Values:
        """Return the same of some parameters alone."""
        keep = np.array([name in names for name in self.owner], dtype=bool)
        before, after = ({key: value[keep] for key, value in side.items()} for side in (self.before, self.after))
        owner = tuple(name for name in self.owner if name in names)
        return Values(self.weight[keep], self.gradient[keep], self.update[keep], before, after, owner, self.unit)


@dataclass(frozen=True)
class Fit:
    """What a group's update is: the sets of departures that explain it, simplest first; none where nothing does.

    `odd` are parameters that another weight decay explains (0 or that of another group), `frozen` those that did not
    move. `factor` is the scale that the declared rule's update would need."""

    family: str
    rules: tuple[frozenset[str], ...] = ()
    odd: Mapping[str, float] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    factor: float | None = None
    coefficients: Mapping[str, float] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        return bool(self.rules)


def family_of(update: Update) -> str:
    """The family whose state the optimizer keeps; empty where it is none of these."""
    slots = {key for state in update.after.values() for key in state}
    if {"exp_avg", "exp_avg_sq"} <= slots:
        return ADAM
    if "square_avg" in slots:
        return RMSPROP
    keys = {key for group in update.groups for key in group}
    return SGD if "momentum" in keys and "square_avg" not in slots and "alpha" not in keys else ""


def fit_update(update: Update, number: int) -> Fit:
    """Explain what one group's update did by a rule of its family."""
    family, group = family_of(update), update.groups[number]
    if not family:
        return Fit("")
    values = gather_values(update, [name for name in group["names"] if name in update.updates])
    if values is None or len(values.owner) < FEWEST:
        return Fit(family)
    frozen = tuple(
        name for name in dict.fromkeys(values.owner) if update.updates[name].norm == 0.0 and update.gradients[name].norm
    )
    if frozen:
        values = values.select(set(values.owner) - set(frozen))
        if not len(values.owner):
            return Fit(family, frozen=frozen)
    others = {float(other.get("weight_decay") or 0.0) for other in update.groups} | {0.0}
    step = _step_of(update, values.owner[0])
    fits = {ADAM: _fit_adam, SGD: _fit_sgd, RMSPROP: _fit_rmsprop}[family]
    fit = fits(values, group, step, update.kind)
    if not fit.known:
        fit = _fit_odd(fits, values, group, step, update.kind, others) or fit
    return Fit(family, fit.rules, fit.odd, frozen, fit.factor, fit.coefficients)


def _fit_odd(
    fits: Any, values: Values, group: dict[str, Any], step: float, kind: str, others: set[float]
) -> Fit | None:
    """Explain a group in which some parameters decay otherwise than they are declared to."""
    declared, odd, rules = float(group.get("weight_decay") or 0.0), {}, []
    for name in dict.fromkeys(values.owner):
        own = values.select({name})
        if len(own.owner) < FEWEST:
            continue
        for decay in (declared, *sorted(others - {declared})):
            fit = fits(own, {**group, "weight_decay": decay}, step, kind)
            if frozenset() in fit.rules:
                if decay != declared:
                    odd[name] = decay
                break
        else:
            return None
        rules.append(fit)
    return Fit("", (frozenset({"decay of some"}),), odd) if odd else None


def gather_values(update: Update, names: list[str]) -> Values | None:
    """Lay the kept values of these parameters end to end; None where one of them is not finite."""
    parts: list[tuple[str, dict[str, Floats]]] = []
    slots = {key for name in names for key, value in update.after[name].items() if isinstance(value, Tensor)}
    slots |= {
        key
        for name in names
        for key, value in update.after[name].items()
        if key not in ("step",) and isinstance(value, (int, float)) and update.weights[name].size == 1
    }
    for name in names:
        tensors = update.weights[name], update.gradients.get(name), update.updates[name]
        if any(tensor is None or not tensor.finite for tensor in tensors):
            continue
        sizes = [len(tensor.sample) for tensor in tensors if tensor is not None]
        if len(set(sizes)) != 1:
            continue
        part = {"weight": tensors[0].sample, "gradient": tensors[1].sample, "update": tensors[2].sample}  # type: ignore[union-attr]
        for key in slots:
            for side, states in (("before", update.before), ("after", update.after)):
                value = states[name].get(key)
                if isinstance(value, Tensor):
                    part[f"{side} {key}"] = value.sample
                elif isinstance(value, (int, float)) and sizes[0] == 1:
                    part[f"{side} {key}"] = np.array([float(value)])
                else:
                    part[f"{side} {key}"] = np.full(sizes[0], 0.0)
        parts.append((name, part))
    if not parts:
        return None
    whole = {key: np.concatenate([part[key] for _, part in parts]) for key in parts[0][1]}
    owner = tuple(name for name, part in parts for _ in part["weight"])
    before, after = ({key: whole[f"{side} {key}"] for key in slots} for side in ("before", "after"))
    unit = max(unit_roundoff(update.weights[name].dtype) for name, _ in parts)
    return Values(whole["weight"], whole["gradient"], whole["update"], before, after, owner, unit)


def _step_of(update: Update, name: str) -> float:
    value = update.after[name].get("step")
    return float(value) if isinstance(value, (int, float)) else 1.0


def agrees(update: Floats, candidate: Floats, rounding: Floats) -> bool:
    """Return whether a candidate explains the update to within rounding."""
    with np.errstate(all="ignore"):
        off = np.abs(update - candidate) > rounding + ARITHMETIC * np.abs(candidate)
    return bool(np.isfinite(candidate).all() and off.mean() <= 1 - SHARE)


def _solve(target: Floats, columns: dict[str, Floats]) -> dict[str, float] | None:
    """The coefficients of the columns that make the target; None where no such make it exactly."""
    used = {name: column for name, column in columns.items() if np.abs(column).max(initial=0.0) > 0}
    if not used or len(target) <= len(used):
        return None
    scale = {name: float(np.linalg.norm(column)) for name, column in used.items()}
    matrix = np.stack([column / scale[name] for name, column in used.items()], 1)
    solution, *_ = np.linalg.lstsq(matrix, target, rcond=None)
    rest = np.linalg.norm(matrix @ solution - target)
    if rest > 1e-4 * max(float(np.linalg.norm(target)), 1e-30):
        return None
    return {name: float(value) / scale[name] for name, value in zip(used, solution)}


def _follows(after: Floats, candidate: Floats, unit: float, *terms: Floats) -> bool:
    """Return whether a state is what a rule makes of its terms."""
    size = sum((np.abs(term) for term in terms), np.zeros_like(after))
    with np.errstate(all="ignore"):
        off = np.abs(after - candidate) > 32 * max(unit, 2.0**-24) * size + 1e-30
    return bool(off.mean() <= 1 - SHARE)


def _fit_adam(values: Values, group: dict[str, Any], step: float, kind: str) -> Fit:
    beta1, beta2 = group.get("betas") or (0.9, 0.999)
    rate, eps, decay = float(group["lr"]), float(group.get("eps") or 0.0), float(group.get("weight_decay") or 0.0)
    decoupled = "AdamW" in kind or bool(group.get("decoupled_weight_decay"))
    sign = -1.0 if group.get("maximize") else 1.0
    first, second = values.after["exp_avg"], values.after["exp_avg_sq"]
    old_first, old_second = values.before["exp_avg"], values.before["exp_avg_sq"]
    plain = sign * values.gradient
    departures: set[str] = set()
    coefficients: dict[str, float] = {}
    # the moments: does the decay go into the gradient or not, and are the betas those that are declared?
    coupled: list[bool] = []
    for into in (not decoupled, decoupled) if decay else (not decoupled,):
        gradient = plain + decay * values.weight if into else plain
        if _follows(first, beta1 * old_first + (1 - beta1) * gradient, values.unit, beta1 * old_first, gradient):
            coupled.append(into)
    if not coupled:
        solved = _solve(first, {"old": old_first, "gradient": plain, "weight": values.weight})
        if solved is None:
            return Fit(ADAM, factor=None)
        share = solved.get("gradient", 0.0)
        coefficients["beta1"] = solved.get("old", 1 - share)
        coefficients["decay"] = solved.get("weight", 0.0) / share if share else 0.0
        departures.add("beta1" if abs(share - (1 - beta1)) > NEAR * (1 - beta1) else "decay size")
        coupled = [abs(coefficients["decay"]) > 1e-8]
    fits: list[frozenset[str]] = []
    best: tuple[float, float | None] = (math.inf, None)
    for into in coupled:
        gradient = plain + decay * values.weight if into else plain
        own = set(departures)
        if into == decoupled and decay:
            own.add("decay coupled" if into else "decay decoupled")
        square = gradient * gradient
        if not _follows(second, beta2 * old_second + (1 - beta2) * square, values.unit, beta2 * old_second, square):
            solved = _solve(second, {"old": old_second, "gradient": square})
            if solved is None:
                continue
            coefficients["beta2"] = solved.get("old", 1 - solved.get("gradient", 0.0))
            own.add("beta2")
        for beta in dict.fromkeys((beta2, coefficients.get("beta2", beta2))):
            betas = (coefficients.get("beta1", beta1) if "beta1" in own else beta1, beta)
            for names, candidate in _adam_candidates(
                values, first, second, rate, eps, decay, not into, betas, step, group
            ):
                if agrees(values.update, candidate, values.rounding):
                    fits.append(frozenset(own | names))
                elif not names:
                    best = min(best, _fit_factor(values, candidate), key=lambda pair: pair[0])
    # a decay that a moment cannot show (it is 0, or decoupled) may lack altogether
    return Fit(ADAM, tuple(sorted(set(fits), key=len)), factor=best[1], coefficients=coefficients)


def _adam_candidates(
    values: Values,
    first: Floats,
    second: Floats,
    rate: float,
    eps: float,
    decay: float,
    decoupled: bool,
    betas: tuple[float, float],
    step: float,
    group: dict[str, Any],
) -> Iterator[tuple[set[str], Floats]]:
    """Every update that these moments may have become, with the names of its departures."""
    beta1, beta2 = betas
    seconds: list[tuple[str, Floats]] = [("", second)]
    if "max_exp_avg_sq" in values.after:
        seconds = [("" if group.get("amsgrad") else "amsgrad", values.after["max_exp_avg_sq"])]
        seconds += [("amsgrad left out", second)] if group.get("amsgrad") else []
    for key, value in values.after.items():
        if key not in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") and (value >= second * (1 - 1e-6)).all():
            seconds.append(("amsgrad", value))
    seconds += [] if group.get("amsgrad") else [("amsgrad", np.maximum(second, values.before["exp_avg_sq"]))]
    corrections: list[tuple[str, float, float]] = [("", 1 - beta1**step, 1 - beta2**step)]
    if group.get("bias_correction") in (False, 0):
        corrections = [("", 1.0, 1.0), ("bias correction", 1 - beta1**step, 1 - beta2**step)]
    else:
        corrections.append(("no bias correction", 1.0, 1.0))
        corrections.append(("no correction of the first moment", 1.0, 1 - beta2**step))
        corrections.append(("no correction of the second moment", 1 - beta1**step, 1.0))
    corrections.append(("bias correction one step late", 1 - beta1 ** (step + 1), 1 - beta2 ** (step + 1)))
    if step > 1:
        corrections.append(("bias correction one step early", 1 - beta1 ** (step - 1), 1 - beta2 ** (step - 1)))
    decays: list[tuple[str, Floats]] = [
        ("", -rate * decay * values.weight if decoupled and decay else 0 * values.weight)
    ]
    if decoupled and decay:
        decays += [("no decay", 0 * values.weight), ("decay without the rate", -decay * values.weight)]
    for (most, two), (late, one_correction, two_correction), (how, shrink) in itertools.product(
        seconds, corrections, decays
    ):
        with np.errstate(all="ignore"):
            root = np.sqrt(two / two_correction)
            size = -rate * first / one_correction
            forms = [
                ("", root + eps),
                ("eps inside the root", np.sqrt(two / two_correction + eps)),
                ("eps inside the root before the correction", np.sqrt((two + eps) / two_correction)),
                ("eps before the correction", (np.sqrt(two) + eps) / math.sqrt(two_correction)),
                ("another eps", root + 1e3 * eps),
            ]
            shrunk = 1 + (shrink / np.where(values.weight == 0, 1, values.weight)) * 0
            for where, divisor in forms:
                yield {name for name in (most, late, how, where) if name}, shrink + shrunk * size / divisor


def _fit_factor(values: Values, candidate: Floats) -> tuple[float, float | None]:
    """(how far the scaled candidate is off, the scale), where one scale makes the candidate the update."""
    size = float(candidate @ candidate)
    if not size or not math.isfinite(size):
        return math.inf, None
    factor = float(values.update @ candidate) / size
    if agrees(values.update, factor * candidate, values.rounding + 1e-3 * np.abs(candidate)):
        return 0.0, factor
    return math.inf, None


def _fit_sgd(values: Values, group: dict[str, Any], step: float, kind: str) -> Fit:
    rate, decay = float(group["lr"]), float(group.get("weight_decay") or 0.0)
    momentum, damp = float(group.get("momentum") or 0.0), float(group.get("dampening") or 0.0)
    sign = -1.0 if group.get("maximize") else 1.0
    plain = sign * values.gradient
    buffered = "momentum_buffer" in values.after
    fits: list[frozenset[str]] = []
    best: tuple[float, float | None] = (math.inf, None)
    coefficients: dict[str, float] = {}
    for how in ("", "decay decoupled", "no decay") if decay else ("",):
        gradient = plain if how else plain + decay * values.weight
        shrink = -rate * decay * values.weight if how == "decay decoupled" else 0 * values.weight
        directions: list[tuple[set[str], Floats]] = [(set(), gradient)]
        if buffered and momentum:
            buffer, old = values.after["momentum_buffer"], values.before["momentum_buffer"]
            begun = bool(np.abs(old).max(initial=0.0) == 0)
            names: set[str] = set()
            expected = gradient if begun else momentum * old + (1 - damp) * gradient
            if not _follows(buffer, expected, values.unit, momentum * old, gradient):
                if begun and _follows(buffer, (1 - damp) * gradient, values.unit, gradient):
                    names.add("first buffer dampened")
                else:
                    solved = _solve(buffer, {"old": old, "gradient": gradient})
                    if solved is None:
                        continue
                    if "old" in solved and abs(solved["old"] - momentum) > NEAR * momentum:
                        coefficients["momentum"] = solved["old"]
                        names.add("momentum")
                    share = solved.get("gradient", 1.0)
                    if abs(share / rate - 1) < NEAR and abs(share - 1) > NEAR:
                        names.add("rate inside the buffer")
                    elif abs(share - (1 - damp)) > NEAR:
                        coefficients["dampening"] = 1 - share
                        names.add("dampening")
            used = coefficients.get("momentum", momentum)
            inside = "rate inside the buffer" in names
            scaled = gradient * rate if inside else gradient
            shapes = [(set(), buffer), ({"nesterov"}, scaled + used * buffer)]
            if group.get("nesterov"):
                shapes = [({"no nesterov"}, buffer), (set(), scaled + used * buffer)]
            directions = [(names | more, shape / rate if inside else shape) for more, shape in shapes]
        for names, direction in directions:
            candidate = -rate * direction + shrink
            own = names | ({how} if how else set())
            if agrees(values.update, candidate, values.rounding):
                fits.append(frozenset(own))
            elif not own:
                best = min(best, _fit_factor(values, candidate), key=lambda pair: pair[0])
    return Fit(SGD, tuple(sorted(set(fits), key=len)), factor=best[1], coefficients=coefficients)


def _fit_rmsprop(values: Values, group: dict[str, Any], step: float, kind: str) -> Fit:
    rate, decay, eps = float(group["lr"]), float(group.get("weight_decay") or 0.0), float(group.get("eps") or 0.0)
    alpha, sign = float(group.get("alpha") or 0.99), -1.0 if group.get("maximize") else 1.0
    fits: list[frozenset[str]] = []
    best: tuple[float, float | None] = (math.inf, None)
    coefficients: dict[str, float] = {}
    square, old = values.after["square_avg"], values.before["square_avg"]
    for how in ("", "no decay", "decay decoupled") if decay else ("",):
        gradient = sign * values.gradient + (0.0 if how else decay * values.weight)
        shrink = -rate * decay * values.weight if how == "decay decoupled" else 0 * values.weight
        names: set[str] = {how} if how else set()
        if not _follows(square, alpha * old + (1 - alpha) * gradient**2, values.unit, alpha * old, gradient**2):
            solved = _solve(square, {"old": old, "gradient": gradient**2})
            if solved is None:
                continue
            coefficients["alpha"] = solved.get("old", 1 - solved.get("gradient", 0.0))
            names.add("alpha")
        average = square - values.after["grad_avg"] ** 2 if "grad_avg" in values.after else square
        with np.errstate(all="ignore"):
            for where, divisor in (("", np.sqrt(average) + eps), ("eps inside the root", np.sqrt(average + eps))):
                direction = gradient / divisor
                if group.get("momentum") and "momentum_buffer" in values.after:
                    direction = group["momentum"] * values.before["momentum_buffer"] + direction
                candidate = -rate * direction + shrink
                own = names | ({where} if where else set())
                if agrees(values.update, candidate, values.rounding):
                    fits.append(frozenset(own))
                elif not own:
                    best = min(best, _fit_factor(values, candidate), key=lambda pair: pair[0])
    return Fit(RMSPROP, tuple(sorted(set(fits), key=len)), factor=best[1], coefficients=coefficients)

"""Judges a watched training step by step: the same rules in the training process and on a finished file.

Loaded by path in the training process, and imported by the engine. A record is what one step's line of the file holds;
`Rules.see` returns what is wrong with it, by what came before. A gradient's level is the median of its last WINDOW
norms and its noise their median deviation, both of logarithms: norms are noisy by factors, not by sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Norms before a step that make its level; none is judged before FEWEST, none is gone for all before FEWEST_ALL.
WINDOW, FEWEST, FEWEST_ALL = 64, 16, 8
#: A spike is so many deviations above the level, the deviation being at least NOISE of the level, so many times the
#: level (of the whole, of one parameter), and BEYOND times the highest norm of the window.
DEVIATIONS, NOISE, WHOLE, SINGLE, BEYOND = 6.0, 0.1, 10.0, 20.0, 3.0
#: One parameter's spike is told where it is more than this share of the whole gradient's level.
SHARE = 3e-3
#: The whole gradient is gone below this share of its level; a parameter's where it is 0, and had been more than FAINT
#: of the whole.
LOST, FAINT = 1e-4, 1e-4
#: An update as large as the weight, and BEYOND times its usual size; one so many times that, and more than SMALL of the
#: weight.
LARGEST_UPDATE, JUMP, SMALL, SAMPLES = 1.0, 20.0, 0.01, 4
#: Samples in a row of a weight that does not move.
STILL = 3
#: Steps in a row without a gradient until a block of several parameters is gone: depth that is drawn leaves it out for
#: one or two.
LEFT_OUT = 4
#: A loss scale that falls so far from one update to the next, or within WINDOW // 2 of them, or to 1.
FALL, FALL_WITHIN, LOWEST = 2.0**-8, 2.0**-10, 1.0
#: Checks without a change before a change outside of an update is no habit of the script.
CLEAN = 4
#: Steps after an alarm of a kind in which it is not told again.
QUIET = 8
#: A gradient of fewer elements is 0 by chance: its terms cancel; its update may be any size.
TINY = 4
#: A learning rate so many times the highest before.
RATE = 20.0
#: Names that an alarm lists.
SHOWN = 4

#: Kinds that are remarks: what a script does on purpose.
REMARKS = ("reloaded", "frozen", "moments_set")

Alarm = dict[str, Any]
Numbers = NDArray[np.float64]


class Rules:
    """What is known of a run so far. `names` are the parameters of the records to come."""

    def __init__(self, names: Sequence[str] = (), sizes: Sequence[int] = ()) -> None:
        self.names: list[str] = []
        self._window = np.empty((0, 0))
        self._seen = self._zeros = self._gone = np.empty(0)
        self._totals: list[float] = []
        self._scales: list[float] = []
        self._sizes: dict[int, list[float]] = {}
        self._still: dict[int, int] = {}
        self._clean: dict[int, int] = {}
        self._quiet: dict[str, int] = {}
        self._rate, self._steps = 0.0, 0
        self._lost = self._broken = False
        self._calm = 0
        self._missing: dict[int, int] = {}
        self.set_names(names, sizes)

    def set_names(self, names: Sequence[str], sizes: Sequence[int] = ()) -> None:
        """Take names that begin with those known so far: a parameter keeps its place. `sizes`: elements of each."""
        more = len(names) - len(self.names)
        self._is_expert = np.array(["expert" in name.lower() for name in names], dtype=bool)
        self._blocks = _find_blocks(names)
        self._is_tiny = np.zeros(len(names), dtype=bool)
        self._is_tiny[: len(sizes)] = np.array(sizes[: len(names)], dtype=np.int64) < TINY
        self.names = list(names)
        if more > 0:
            self._window = np.hstack([self._window, np.full((len(self._window), more), np.nan)])
            self._seen, self._zeros, self._gone = (
                np.concatenate([known, np.zeros(more)]) for known in (self._seen, self._zeros, self._gone)
            )

    def see(self, record: Mapping[str, Any]) -> list[Alarm]:
        """Return what is wrong with this step."""
        step = int(record["step"])
        norms = _as_numbers(record.get("gradients") or (), len(self.names))
        alarms = [*self._judge_finite(step, record, norms), *self._judge_changes(step, record)]
        alarms += self._judge_moments(step, record)
        if not self._broken:
            alarms += [*self._judge_gradients(step, record, norms), *self._judge_updates(step, record)]
        alarms += [*self._judge_rate(step, record), *self._judge_scale(step, record)]
        return alarms

    def _judge_finite(self, step: int, record: Mapping[str, Any], norms: Numbers) -> list[Alarm]:
        """The first NaN or infinity: backward goes from the last parameter to the first, so the last one names it."""
        loss = _as_number(record.get("loss"))
        present = np.array([value is not None for value in record.get("gradients") or ()], dtype=bool)
        bad = np.flatnonzero(present & ~np.isfinite(norms[: len(present)])) if len(present) else np.empty(0, dtype=int)
        broken_loss = loss is not None and not math.isfinite(loss)
        was_broken, self._broken = self._broken, bool(len(bad)) or broken_loss
        if was_broken or not self._broken:
            return []
        kind = "loss" if broken_loss else "gradient"
        value = loss if broken_loss else float(norms[bad[-1]])
        names = [self.names[at] for at in bad[::-1][:SHOWN].tolist()]
        return [
            {"key": "nonfinite", "kind": kind, "step": step, "names": names, "count": len(bad), "value": str(value)}
        ]

    def _judge_gradients(self, step: int, record: Mapping[str, Any], norms: Numbers) -> list[Alarm]:
        if not record.get("gradients"):
            return []
        alarms: list[Alarm] = []
        present = np.nan_to_num(norms)
        total = float(np.sqrt(np.square(present).sum()))
        whole, level = self._judge_whole(step, total)
        lost = level > 0 and len(self._totals) >= FEWEST_ALL and total < LOST * level
        if lost and total == 0 and _as_number(record.get("loss")) == 0:
            return []  # a margin that every sample keeps, rewards that are all the same: there is nothing to learn
        singles = np.zeros(len(present), dtype=bool)
        if level > 0 and not lost:
            singles = self._find_spiking(present, level)
        if lost and not self._lost:
            alarms.append({"key": "gone", "kind": "all", "step": step, "value": total, "level": level})
        self._lost = lost
        few = 0 < int(singles.sum()) <= len(present) // 2
        if whole and not few and self._is_due("spike", step):
            names = [self.names[at] for at in _order_down(present)[:SHOWN]]
            alarms.append({"key": "spike", "kind": "all", "step": step, "value": total, "level": level, "names": names})
        elif singles.any() and self._is_due("spike", step):
            levels = np.exp(_median_of(self._window))
            places_told = [at for at in _order_down(present / np.where(levels > 0, levels, 1)) if singles[at]]
            alarms.append(
                {
                    "key": "spike",
                    "kind": "one",
                    "step": step,
                    "names": [self.names[at] for at in places_told[:SHOWN]],
                    "count": len(places_told),
                    "value": float(present[places_told[0]]),
                    "level": float(levels[places_told[0]]),
                }
            )
        if not lost:
            alarms += self._find_gone(step, present, level, record.get("frozen") or ())
            spiked = whole or bool(singles.any())
            self._remember(present, singles, None if whole else total, spiked)
        return alarms

    def _judge_whole(self, step: int, total: float) -> tuple[bool, float]:
        """Return whether the whole gradient's norm is a spike, and its level."""
        if not self._totals:
            return False, 0.0
        values = np.array(self._totals)
        level = float(np.median(values))
        if len(values) < FEWEST or total <= WHOLE * level or level <= 0:
            return False, level
        logs = np.log(values)
        spread = max(1.4826 * float(np.median(np.abs(logs - np.median(logs)))), NOISE)
        is_high = math.log(total / level) > DEVIATIONS * spread and total > BEYOND * float(values.max())
        return is_high, level

    def _find_spiking(self, norms: Numbers, whole: float) -> NDArray[np.bool_]:
        """Return which parameters' gradients are far above their own level."""
        enough = self._seen >= FEWEST
        likely = enough & (norms > SHARE * whole)
        result = np.zeros(len(norms), dtype=bool)
        if not likely.any() or not len(self._window):
            return result
        places = np.flatnonzero(likely)
        with np.errstate(all="ignore"):
            highest = np.nanmax(self._window[:, places], axis=0)
            places = places[np.log(norms[places]) > highest + math.log(BEYOND)]
        if not len(places):
            return result
        window = self._window[:, places]
        middle = np.nanmedian(window, axis=0)
        spread = np.maximum(1.4826 * np.nanmedian(np.abs(window - middle), axis=0), NOISE)
        over = np.log(norms[places]) - middle
        result[places] = (over > math.log(SINGLE)) & (over > DEVIATIONS * spread)
        return result

    def _find_gone(self, step: int, norms: Numbers, whole: float, frozen: Sequence[int]) -> list[Alarm]:
        """Gradients that were never 0, and are; those of parameters that ask for none any more apart."""
        had = (self._seen >= FEWEST) & (self._zeros == 0) & (norms == 0)
        had &= ~(self._is_tiny | self._is_expert)  # an expert that no sample chose has none
        fresh = np.flatnonzero(had & (self._gone == 0)).tolist()
        self._gone = np.where(norms == 0, np.where(had, 1.0, self._gone), 0.0)
        fresh = [at for at in fresh if at in frozen or not self._is_left_out(at, step, norms)]
        since = {**dict.fromkeys(fresh, step), **self._find_missing(step, norms)}
        if not since:
            return []
        levels = np.exp(_median_of(self._window))
        gone_at: dict[tuple[int, str], list[int]] = {}
        for at, first in since.items():
            if levels[at] > FAINT * whole:
                gone_at.setdefault((first, "frozen" if at in frozen else "one"), []).append(at)
        alarms: list[Alarm] = []
        for (first, kind), places in sorted(gone_at.items(), key=lambda item: (item[0][0], item[0][1] == "frozen")):
            names = [self.names[at] for at in places[:SHOWN]]
            alarm = {"key": "gone", "kind": kind, "step": first, "names": names, "count": len(places)}
            alarms.append({**alarm, "value": 0.0, "level": float(levels[places[0]])})
        return alarms

    def _is_left_out(self, at: int, step: int, norms: Numbers) -> bool:
        """Return whether all of several parameters of a block are without a gradient, from this step on."""
        if norms[self._blocks[at]].any():
            return False
        self._missing[at] = step
        return True

    def _find_missing(self, step: int, norms: Numbers) -> dict[int, int]:
        """Return the parameters whose block has been without a gradient for LEFT_OUT steps, and since when; one that
        comes back before is left out now and then."""
        since = {at: first for at, first in self._missing.items() if norms[at] == 0}
        for at in self._missing.keys() - since.keys():
            self._zeros[at] += 1
        late = {at: first for at, first in since.items() if step - first >= LEFT_OUT - 1}
        self._missing = {at: first for at, first in since.items() if at not in late}
        return late

    def _remember(self, norms: Numbers, singles: NDArray[np.bool_], total: float | None, spiked: bool) -> None:
        """Add a step to the levels; what is told as a spike makes none."""
        zero = norms == 0
        with np.errstate(all="ignore"):
            row = np.where(zero | singles, np.nan, np.log(norms))
        if spiked and total is None:
            return
        self._window = np.vstack([self._window[-WINDOW + 1 :], row[None]])
        self._seen = self._seen + ~zero
        self._zeros = self._zeros + (zero & (self._gone == 0))
        if total is not None and total > 0 and not spiked:
            self._totals = [*self._totals[-WINDOW + 1 :], total]

    def _judge_updates(self, step: int, record: Mapping[str, Any]) -> list[Alarm]:
        """An update as large as its weight or far above its usual size; weights that do not move at all."""
        large: list[tuple[float, int, float]] = []
        still: list[int] = []
        rate = _as_number(record.get("lr"))
        for at, ratio, weight, moved in _list_updates(record):
            if not math.isfinite(ratio):
                continue
            self._still[at] = self._still.get(at, 0) + 1 if moved and ratio == 0 else 0
            if self._still[at] == STILL:
                still.append(at)
            known = self._sizes.setdefault(at, [])
            size = ratio * weight / (rate or 1.0)  # of the update itself: a weight near 0 makes any ratio
            usual = float(np.median(known)) if known else 0.0
            jumped = not self._is_tiny[at] and len(known) >= SAMPLES and size > JUMP * usual > 0 and ratio > SMALL
            if jumped or (len(known) >= 2 and ratio > LARGEST_UPDATE and size > BEYOND * usual):
                large.append((ratio, at, usual * (rate or 1.0) / weight if weight else 0.0))
            else:
                self._sizes[at] = [*known[-WINDOW + 1 :], size]
        alarms: list[Alarm] = []
        if large and self._is_due("update", step):
            ratio, at, usual = max(large)
            alarm = {"key": "update", "kind": "large", "step": step, "names": [self.names[at]], "count": len(large)}
            alarms.append({**alarm, "value": ratio, "level": usual})
        if still and self._is_due("still", step):
            names = [self.names[at] for at in still[:SHOWN]]
            alarms.append({"key": "update", "kind": "still", "step": step, "names": names, "count": len(still)})
        return alarms

    def _judge_rate(self, step: int, record: Mapping[str, Any]) -> list[Alarm]:
        """A learning rate far above all before: an update shows it only where it is measured."""
        rate = _as_number(record.get("lr")) or 0.0
        highest, known = self._rate, self._steps
        self._rate, self._steps = max(rate, highest), known + 1
        if known < FEWEST or not 0 < RATE * highest < rate or not self._is_due("update", step):
            return []
        return [{"key": "update", "kind": "rate", "step": step, "value": rate, "level": highest}]

    def _judge_scale(self, step: int, record: Mapping[str, Any]) -> list[Alarm]:
        scale = _as_number(record.get("loss_scale"))
        if scale is None:
            return []
        known, self._scales = self._scales, [*self._scales[-WINDOW // 2 + 1 :], scale]
        if not known or scale >= known[-1]:
            return []
        level = max(known)
        sudden = len(known) >= FEWEST and (scale <= FALL * known[-1] or scale <= FALL_WITHIN * level)
        if not (sudden or scale <= LOWEST) or not self._is_due("scale", step):
            return []
        return [{"key": "scale", "step": step, "value": scale, "level": known[-1] if sudden else level}]

    def _judge_changes(self, step: int, record: Mapping[str, Any]) -> list[Alarm]:
        """Weights that are not what the update before left."""
        changed = {int(at): str(how) for at, how in record.get("changed") or ()}
        places_told = [at for at in changed if self._clean.get(at, 0) >= CLEAN]
        for at in record["checked"] if "checked" in record else range(len(self.names)):
            self._clean[at] = 0 if at in changed else self._clean.get(at, 0) + 1
        if not places_told:
            return []
        most = len(changed) > max(2, len(self.names) // 2)
        if most and 2 * len(places_told) < len(changed):
            return []  # the script clamps its weights, and now these too
        names = [self.names[at] for at in places_told[:SHOWN]]
        how = {changed[at] for at in places_told}
        kind = "reloaded" if most else "program" if how == {"program"} else "silent"
        return [{"key": "changed", "kind": kind, "step": step, "names": names, "count": len(places_told)}]

    def _judge_moments(self, step: int, record: Mapping[str, Any]) -> list[Alarm]:
        """The optimizer's state is not what its update left, though nobody wrote to it."""
        looked, *places = record.get("moments") or (0,)
        calm, self._calm = self._calm, 0 if places else self._calm + bool(looked)
        if not places or calm < CLEAN:  # a script that does so at every step does it on purpose
            return []
        names = [self.names[at] for at in places[:SHOWN]]
        kind = "moments_set" if len(places) > max(2, looked // 2) else "moments"  # so many at once: a program
        return [{"key": "changed", "kind": kind, "step": step, "names": names, "count": len(places)}]

    def _is_due(self, kind: str, step: int) -> bool:
        last = self._quiet.get(kind)
        self._quiet[kind] = step
        return last is None or step - last > QUIET


def _find_blocks(names: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return for each parameter the places of all in the smallest module around it that has several."""
    members: dict[str, list[int]] = {}
    around: list[list[str]] = []
    for at, name in enumerate(names):
        parts = name.split(".")
        around.append([".".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)])
        for module in around[at]:
            members.setdefault(module, []).append(at)
    places = {module: np.array(of_module, dtype=np.int64) for module, of_module in members.items()}
    return [next((places[module] for module in own if len(places[module]) > 1), places[""]) for own in around]


def _list_updates(record: Mapping[str, Any]) -> list[tuple[int, float, float, bool]]:
    """Return of each update its parameter, its size as a share of the weight's, the weight's, whether it may move."""
    updates = record.get("updates")
    if not updates:
        return []
    return [
        (int(at), _as_number(ratio) or 0.0, _as_number(weight) or 0.0, bool(moves))
        for at, ratio, weight, moves in updates
        if ratio is not None
    ]


def _as_number(value: object) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]  # "nan" and "inf" are words in JSON


def _as_numbers(values: Sequence[object], count: int) -> Numbers:
    """Norms; 0 where a parameter has no gradient."""
    places_told = np.zeros(count)
    places_told[: len(values)] = [0.0 if value is None else float(value) for value in values]  # type: ignore[arg-type]
    return places_told


def _order_down(values: Numbers) -> list[int]:
    order: list[int] = np.argsort(-values, kind="stable").tolist()
    return order


def _median_of(window: Numbers) -> Numbers:
    """Return the median of each column, minus infinity where it is empty."""
    result = np.full(window.shape[1], -np.inf)
    filled = np.isfinite(window).any(axis=0)
    if filled.any():
        result[filled] = np.nanmedian(window[:, filled], axis=0)
    return result

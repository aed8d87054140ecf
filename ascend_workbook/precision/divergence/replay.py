"""Runs recorded operators again in float64, from each side's own recorded inputs.

What an operator's outputs are off from that truth is its own doing: errors it inherited are in its inputs and
do not count. The same replay with inputs shaken by one rounding step says how much rounding may cost on this
operator with this data. The work is done in a child process (child/replay_child.py), which alone needs torch."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ascend_workbook.machine import bounded, device
from ascend_workbook.precision.divergence import formats
from ascend_workbook.precision.divergence.nonfinite import list_handings
from ascend_workbook.precision.pairing import Pair, Pairing
from ascend_workbook.precision.record import PARAMETERS, Operator
from ascend_workbook.precision.tensors import tolerance

CHILD = Path(__file__).parents[1] / "child" / "replay_child.py"
DATA = Path(__file__).parents[1] / "data" / "replayable.json"
TIMEOUT_S = 600.0
#: Unless asked otherwise replays take this share of what comparing takes, and LEAST_S at least.
SHARE, LEAST_S = 0.2, 30.0
#: Seconds of a processor, least and most: of the process with torch, of an operator, of a byte of its tensors.
START_S, OPERATOR_S, BYTE_S = (1.5, 6.0), (0.002, 0.02), (5e-9, 1e-7)
#: Of a tensor's element, where its dtype is not looked at.
BYTES = 4
#: An error of which a multiple of one maker's gradient leaves less than this share is that maker's.
PROPORTIONAL = 0.1


@dataclass(frozen=True)
class Own:
    """One output: each side's relative L2 error against float64 from that side's own inputs, and the error that
    rounding explains on this data, to the dtype (`rounding`) and to a reduced format in force (`reduced`, else 0)."""

    target: float
    baseline: float
    rounding: float = 0.0
    reduced: float = 0.0

    @property
    def worst(self) -> float:
        return max(self.target, self.baseline)

    def explained_limit(self, floor: float) -> float:
        """What rounding explains."""
        return max(floor, self.rounding)

    def widest_limit(self, floor: float) -> float:
        """What rounding and the reduced format explain."""
        return max(self.explained_limit(floor), self.reduced)


@dataclass(frozen=True)
class Replay:
    """One operator run again: an Own for each of its floating outputs. `handed`: of a backward, the gradients that it
    hands back and its own entry does not show; `others` the calls that may have made such a one just as well."""

    outputs: tuple[Own, ...]
    handed: tuple[Own, ...] = ()
    others: tuple[str, ...] = ()

    def is_conclusive(self, floor: float) -> bool:
        """Whether the replay computes what the operator did: at least one side agrees with it. Where neither
        does, an argument was not recorded, and nothing follows from the replay."""
        return bool(self.outputs) and all(
            min(own.target, own.baseline) <= own.widest_limit(floor) for own in self.outputs
        )

    def worst_output(self, floor: float) -> Own:
        """The output that exceeds what is explained by most."""
        return _furthest_output(self.outputs, floor)

    def wrongly_handed(self, floor: float) -> Own | None:
        """The handed gradient that is beyond what is explained, of one side only; None where none is."""
        wrong_outputs = [
            own for own in self.handed if min(own.target, own.baseline) <= own.widest_limit(floor) < own.worst
        ]
        return _furthest_output(wrong_outputs, floor) if wrong_outputs else None


def _furthest_output(owns: Iterable[Own], floor: float) -> Own:
    def times(own: Own) -> float:
        limit = own.widest_limit(floor)
        return own.worst / limit if limit else (0.0 if own.worst == 0 else math.inf)

    return max(owns, key=times)


@dataclass(frozen=True)
class Replays:
    """By target name; `error` is what stopped the child, empty when nothing did; `seen` are reduced formats that no
    record tells of (formats.py); `skipped` what the child could not run, and why."""

    found: dict[str, Replay]
    error: str = ""
    seen: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    #: Of a processor, that it took.
    seconds: float = 0.0

    def why_not(self, operator: Operator) -> str:
        """Why this operator was not run again: a word of precision.replay_*; `unclear` where its replay told nothing,
        because neither side agrees with it."""
        if operator.is_module or operator.direction == PARAMETERS:
            return "module"
        if not all(t.file for t in (*operator.inputs, *operator.outputs)):
            return "not_saved"
        missing = "failed" if self.error else "off"
        return "unclear" if operator.name in self.found else self.skipped.get(operator.name, missing)


@dataclass
class Budget:
    """Seconds of a processor that replays may take in all: `asked`, or a share of what comparing took so far
    (`compared`), LEAST_S at least, so that small captures are judged by replay."""

    asked: float | None = None
    compared: float = 0.0
    spent: float = 0.0

    @property
    def seconds(self) -> float:
        return max(LEAST_S, SHARE * self.compared) if self.asked is None else self.asked

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.spent)


def count_replayable(pairing: Pairing) -> tuple[int, int]:
    """Count the operators that could be run again, and the bytes of their tensors on both sides."""
    pairs = [pair for pair in pairing.pairs if _can_replay(pair)]
    tensors = [t for pair in pairs for side in (pair.target, pair.baseline) for t in (*side.inputs, *side.outputs)]
    return len(pairs), sum(math.prod(t.shape) * BYTES for t in tensors)


def estimate_seconds(operators: int, size: int) -> tuple[float, float]:
    """Estimate least and most seconds that a replay takes: START_S for its process, then by operators and bytes."""
    times = [sum(map(math.prod, zip(rates, (1, operators, size)))) for rates in zip(START_S, OPERATOR_S, BYTE_S)]
    return times[0], times[1]


def replay_pairs(
    pairing: Pairing,
    numerics: dict[str, str],
    *,
    recorded: bool = True,
    doubtful: frozenset[str] = frozenset(),
    seconds: float = math.inf,
    python: str = sys.executable,
) -> Replays:
    """Replays every pair that can be: tensors saved on both sides, and an API of replayable.json.

    After `seconds` no further operator is begun; what differs beyond rounding comes first, in order of execution.
    `doubtful` are target names of backward entries whose incoming gradients differ: who handed them is looked at.
    `recorded`: both sides tell the formats in force (`numerics`); where one does not, they are looked for."""
    wanted = [replayed for replayed in pairing.pairs if _can_replay(replayed)]
    if not (pairing.target.replayable and pairing.baseline.replayable):
        return Replays({}, skipped=dict.fromkeys((replayed.target.name for replayed in wanted), "argument"))
    if not wanted:
        return Replays({})
    job: dict[str, object] = {
        "target": str(pairing.target.folder),
        "baseline": str(pairing.baseline.folder),
        "allowed": read_allowed(),
        "cut": [side for side, run in (("target", pairing.target), ("baseline", pairing.baseline)) if run.cut],
        "operators": [_make_order(pair) for pair in sorted(wanted, key=lambda pair: pair.target.name not in doubtful)],
        "seconds": None if math.isinf(seconds) else seconds,
        "handings": list_handings(pairing, doubtful, tolerance.reduced_unit(formats.MEASURED)),
    }
    content, error = ask_child(job, python)
    answer, skipped = content.get("found", {}), content.get("skipped", {})
    dtypes = {replayed.target.name: _floating_dtypes(replayed) for replayed in wanted}
    replayed = {name: _read_answer(rows, dtypes[name]) for name, rows in answer.items()}
    unrecorded_formats = {} if recorded else formats.find_formats(wanted, replayed, numerics)
    for name, (owns, others) in _read_handed(content.get("handed", []), dtypes).items():
        replayed[name] = replace(replayed.get(name, Replay(())), handed=owns, others=others)
    apis = {item.target.name: item.target.api for item in wanted}
    return Replays(
        {name: _scale_reduced(item, apis[name], {**numerics, **unrecorded_formats}) for name, item in replayed.items()},
        error,
        unrecorded_formats,
        skipped,
        float(content.get("seconds", 0.0)),
    )


def _scale_reduced(measured: Replay, api: str, numerics: dict[str, str]) -> Replay:
    """The measured effect of a reduced format, scaled to the one in force; nothing where none is."""
    form = tolerance.reduced_format(api, numerics)
    scale = tolerance.reduced_unit(form) / tolerance.reduced_unit(formats.MEASURED)
    outputs, handed = (
        tuple(replace(own, reduced=own.reduced * scale) for own in owns) for owns in (measured.outputs, measured.handed)
    )
    return replace(measured, outputs=outputs, handed=handed)


def _read_answer(rows: list[list[float]], dtypes: list[str]) -> Replay:
    """The child tells what one rounding does; how many of them are honest depends on the dtypes."""
    times, coarse = tolerance.allowed_roundings(dtypes), tolerance.REDUCED_ROUNDINGS
    return Replay(tuple(Own(mine, other, times * unit, coarse * reduced) for mine, other, unit, reduced in rows))


def _read_handed(
    answers: list[Any], dtypes: dict[str, list[str]]
) -> dict[str, tuple[tuple[Own, ...], tuple[str, ...]]]:
    """By the maker's target name: what it hands, and who else may have made it."""
    by_maker: dict[str, tuple[tuple[Own, ...], tuple[str, ...]]] = {}
    answered = [answer for answer in answers if answer]
    alone = [answer for answer in answered if len({*answer["makers"]}) == 1]
    guilty = {answer["makers"][0] for answer in alone if _is_wrong(answer, dtypes[answer["makers"][0]])}
    for answer in answered:
        maker, others = _choose_maker(answer, guilty, list(dtypes))
        (own,) = _read_answer([answer["errors"]], dtypes[maker]).outputs
        by_maker[maker] = (*by_maker.get(maker, ((), ()))[0], own), others
    return by_maker


def _choose_maker(answer: dict[str, Any], guilty: set[str], order: list[str]) -> tuple[str, tuple[str, ...]]:
    """Who made a handed gradient, and who else may have: the one with whose gradient the error goes, else the only
    one that hands something wrong elsewhere too, else the first in execution."""
    makers: list[str] = answer["makers"]
    least, convicted = min(answer["rests"]), sorted({*makers} & guilty)
    if least < PROPORTIONAL:
        return makers[answer["rests"].index(least)], ()
    if len(convicted) == 1:
        return convicted[0], ()
    first = min(makers, key=order.index)
    return first, tuple(sorted({*makers} - {first}))


def _is_wrong(answer: dict[str, Any], dtypes: list[str]) -> bool:
    """Whether one side alone is beyond everything that could explain it."""
    (own,) = _read_answer([answer["errors"]], dtypes).outputs
    return min(own.target, own.baseline) <= own.widest_limit(tolerance.rounding_floor(dtypes)) < own.worst


def _can_replay(pair: Pair) -> bool:
    operator = pair.target
    if operator.is_module or operator.direction == PARAMETERS:
        return False
    return all(t.file for side in (pair.target, pair.baseline) for t in (*side.inputs, *side.outputs))


def _floating_dtypes(pair: Pair) -> list[str]:
    return [t.dtype for side in (pair.target, pair.baseline) for t in (*side.inputs, *side.outputs) if t.is_floating]


def _make_order(pair: Pair) -> dict[str, object]:
    form = formats.MEASURED if formats.kind_of_api(pair.target.api) else ""
    return {
        "target": pair.target.name,
        "baseline": pair.baseline.name,
        "unit": max(map(tolerance.unit_roundoff, _floating_dtypes(pair)), default=0.0),
        "reduced_unit": tolerance.reduced_unit(form),
    }


def read_allowed() -> dict[str, list[str]]:
    """The API names that a child may call, by kind."""
    names: dict[str, list[str]] = json.loads(DATA.read_text(encoding="utf-8"))
    return names


def ask_child(job: dict[str, object], python: str = sys.executable, tier: str = "cpu") -> tuple[dict[str, Any], str]:
    """The child's answer and what stopped it, one of them empty; the child sees the tier's device."""
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        question, answer = Path(folder, "job.json"), Path(folder, "answer.json")
        question.write_text(json.dumps(job), encoding="utf-8")
        environment = {**device.child_environment(tier, os.environ), "PYTHONSAFEPATH": "1"}
        command = [python, str(CHILD), str(question), str(answer)]
        done = bounded.run_bounded(command, env=environment, timeout_s=TIMEOUT_S)
        if done.timed_out:
            return {}, f"no answer within {TIMEOUT_S:.0f} s"
        if done.code or not answer.is_file():
            return {}, (done.stderr.strip().splitlines() or [f"exit code {done.code}"])[-1]
        content: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return content, ""

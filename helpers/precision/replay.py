"""Runs recorded operators again in float64, from each side's own recorded inputs.

What an operator's outputs are off from that truth is its own doing: errors it inherited are in its inputs and
do not count. The same replay with inputs shaken by one rounding step says how much rounding may cost on this
operator with this data. The work is done in a child process (child/replay_child.py), which alone needs torch.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import device
from helpers.precision import tolerance
from helpers.precision.pairing import Pair, Pairing
from helpers.precision.record import PARAMETERS

CHILD = Path(__file__).parent / "child" / "replay_child.py"
DATA = Path(__file__).parent / "data" / "replayable.json"
TIMEOUT_S = 600.0
#: One rounding of every input stands for the roundings inside: this many times its effect is still honest.
ROUNDINGS = 16.0
#: The same for a reduced format, which rounds inputs and nothing else.
REDUCED_ROUNDINGS = 4.0


@dataclass(frozen=True)
class Own:
    """One output: each side's relative L2 error against float64 from that side's own inputs, and the effect of one
    rounding of the inputs, to the dtype (`rounding`) and to a reduced format in force (`reduced`, else 0)."""

    target: float
    baseline: float
    rounding: float = 0.0
    reduced: float = 0.0

    @property
    def worst(self) -> float:
        return max(self.target, self.baseline)

    def limit(self, floor: float) -> float:
        """What rounding explains."""
        return max(floor, ROUNDINGS * self.rounding)

    def wide(self, floor: float) -> float:
        """What rounding and the reduced format explain."""
        return max(self.limit(floor), REDUCED_ROUNDINGS * self.reduced)


@dataclass(frozen=True)
class Replay:
    """One operator run again: an Own for each of its floating outputs."""

    outputs: tuple[Own, ...]

    def tells(self, floor: float) -> bool:
        """Whether the replay computes what the operator did: at least one side agrees with it. Where neither
        does, an argument was not recorded, and nothing follows from the replay."""
        return bool(self.outputs) and all(min(own.target, own.baseline) <= own.wide(floor) for own in self.outputs)

    def worst(self, floor: float) -> Own:
        """The output that exceeds what is explained by most."""
        return max(self.outputs, key=lambda own: _times(own.worst, own.wide(floor)))


def _times(error: float, limit: float) -> float:
    return error / limit if limit else (0.0 if error == 0 else math.inf)


@dataclass(frozen=True)
class Replays:
    """By target name; `error` is what stopped the child, empty when nothing did."""

    found: dict[str, Replay]
    error: str = ""


def replay(pairing: Pairing, numerics: dict[str, str], *, python: str = sys.executable) -> Replays:
    """Replays every pair that can be: tensors saved on both sides, and an API of replayable.json."""
    wanted = [found for found in pairing.pairs if _replayable(found)]
    if not wanted:
        return Replays({})
    job = {
        "target": str(pairing.target.folder),
        "baseline": str(pairing.baseline.folder),
        "allowed": json.loads(DATA.read_text(encoding="utf-8")),
        "operators": [_order(found, numerics) for found in wanted],
    }
    answer, error = _ask(job, python)
    return Replays({name: Replay(tuple(Own(*row) for row in rows)) for name, rows in answer.items()}, error)


def _replayable(found: Pair) -> bool:
    operator = found.target
    if operator.is_module or operator.direction == PARAMETERS:
        return False
    return all(t.file for side in (found.target, found.baseline) for t in (*side.inputs, *side.outputs))


def _order(found: Pair, numerics: dict[str, str]) -> dict[str, Any]:
    sides = (found.target, found.baseline)
    dtypes = [t.dtype for side in sides for t in (*side.inputs, *side.outputs) if t.floating]
    form = tolerance.reduced(found.target.api, numerics)
    return {
        "target": found.target.name,
        "baseline": found.baseline.name,
        "unit": max(map(tolerance.unit, dtypes), default=0.0),
        "reduced_unit": 2.0 ** -tolerance.REDUCED_BITS[form] if form else 0.0,
    }


def _ask(job: dict[str, Any], python: str) -> tuple[dict[str, list[list[float]]], str]:
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        question, answer = Path(folder, "job.json"), Path(folder, "answer.json")
        question.write_text(json.dumps(job), encoding="utf-8")
        environment = {**device.child_environment("cpu", os.environ), "PYTHONSAFEPATH": "1"}
        try:
            done = subprocess.run([python, str(CHILD), str(question), str(answer)], env=environment,
                                  capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return {}, f"no answer within {TIMEOUT_S:.0f} s"
        if done.returncode or not answer.is_file():
            return {}, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        content: dict[str, list[list[float]]] = json.loads(answer.read_text(encoding="utf-8"))
        return content, ""

"""Runs recorded operators again in float64, from each side's own recorded inputs.

What an operator's outputs are off from that truth is its own doing: errors it inherited are in its inputs and
do not count. The same replay with inputs shaken by one rounding step says how much rounding may cost on this
operator with this data. The work is done in a child process (child/replay_child.py), which alone needs torch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
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
class Replay:
    """Relative L2 errors of one operator, the largest of its outputs: each side against float64 from its own
    inputs, and the effect of one rounding of the inputs (`rounding`, and `reduced` for HF32 or TF32)."""

    target: float
    baseline: float
    rounding: float
    reduced_rounding: float = 0.0

    def limit(self, floor: float) -> float:
        return max(floor, ROUNDINGS * self.rounding)

    @property
    def reduced(self) -> float:
        return REDUCED_ROUNDINGS * self.reduced_rounding

    def tells(self, floor: float) -> bool:
        """Whether the replay computes what the operator did: at least one side agrees with it. Where neither
        does, an argument was not recorded, and nothing follows from the replay."""
        return min(self.target, self.baseline) <= max(self.limit(floor), self.reduced)


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
    return Replays({name: Replay(*numbers) for name, numbers in answer.items()}, error)


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


def _ask(job: dict[str, Any], python: str) -> tuple[dict[str, Sequence[float]], str]:
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
        content: dict[str, Sequence[float]] = json.loads(answer.read_text(encoding="utf-8"))
        return content, ""

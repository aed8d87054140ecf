"""Faults that strike from a step on, or on one rank alone, in a training of twelve steps on two ranks.

Both ranks hold the same weights, read batches of their own and go on by the mean of their gradients, so that what one
rank computes wrongly is in the weights of both after the next update. Right is the operator with its step and its rank:
the first captured step at which the fault is there. Any other step or rank that is said to part first is wrong, and
`elsewhere` counts the (step, rank) that were flagged although no fault struck there.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ascend_workbook.precision import divergence
from ascend_workbook.precision.capturing import manifest
from benchmarks.matrix import cases, faults, networks, noise
from benchmarks.matrix.recorder import Call, Recorder, Tampering

STEPS, RANKS, RATE = 12, 2, 0.05
CAPTURED = (0, 10, 11)
#: From which step on, and on which rank.
WHERE = {
    "from step 10": (10, None),
    "on rank 1": (0, 1),
    "from step 10 on rank 1": (10, 1),
    "at step 10 alone": (10, 0),
}


@dataclass
class Strike:
    """A fault at one call, struck where (step, rank) says so. Without a call nothing is struck."""

    kind: str = ""
    call: Call | None = None
    step: int = 0
    rank: int | None = None
    only: bool = False
    draw: random.Random | None = None
    sizes: list[float] | None = None

    def here(self, step: int, rank: int) -> bool:
        when = step == self.step if self.only else step >= self.step
        return self.call is not None and when and self.rank in (None, rank)

    def tampering(self, step: int, rank: int) -> Tampering:
        if not self.here(step, rank):
            return Tampering()
        assert self.call is not None and self.draw is not None
        made = faults.tamper(self.kind, self.call, self.draw)
        made.sizes = self.sizes if self.sizes is not None else []
        return made


def train(folder: Path, name: str, seed: int, level: str, strike: Strike, task: str = "tensor") -> list[Call]:
    """The training, its CAPTURED steps recorded on both ranks as one capture. The calls of one step."""
    models = [noise.prepare(level, networks.build(name, seed)[0]) for _ in range(RANKS)]
    calls: list[Call] = []
    with noise.setting(level):
        for step in range(STEPS):
            for rank, model in enumerate(models):
                calls = _step(folder, model, name, (seed, step, rank), level, strike, task) or calls
            _update(models)
    cases.describe(folder, level, task, RANKS)
    return calls


def _step(
    folder: Path, model: torch.nn.Module, name: str, at: tuple[int, int, int], level: str, strike: Strike, task: str
) -> list[Call]:
    seed, step, rank = at
    loss = networks.build(name, seed + 1 + 2 * step + rank)[1]
    where = folder / manifest.DUMP / f"step{step}" / f"rank{rank}"
    tampering = strike.tampering(step, rank)
    if level.startswith("hf32"):
        tampering.reduced = noise.hf32
    saved = step in CAPTURED
    recorder = Recorder(where if saved and task == "tensor" else None, tampering)
    with recorder:
        value = loss(model)
    value.backward()
    if saved:
        recorder.save(where)
    return recorder.calls


def _update(models: list[torch.nn.Module]) -> None:
    """Stochastic gradient descent by the mean over the ranks."""
    with torch.no_grad():
        for weights in zip(*(model.parameters() for model in models)):
            grads = [weight.grad for weight in weights if weight.grad is not None]
            for weight in weights if grads else ():
                weight.sub_(torch.stack(grads).mean(0) * RATE)
                weight.grad = None


def struck(root: Path, name: str, kind: str, args: argparse.Namespace, draw: random.Random) -> list[dict[str, Any]]:
    """One fault at one call: each way of WHERE under a noise level of its own. Empty where the kind strikes nothing."""
    seed = draw.randrange(1 << 31)
    rows = []
    with tempfile.TemporaryDirectory(dir=root) as base:
        calls = faults.sites(kind, train(Path(base), name, seed, "none", Strike()))
        if not calls:
            return []
        call = draw.choice(calls)
        for number, (where, (step, rank)) in enumerate(WHERE.items()):
            level = args.noise[(number + draw.randrange(len(args.noise))) % len(args.noise)]
            strike = Strike(kind, call, step, rank, "alone" in where, draw, [])
            with tempfile.TemporaryDirectory(dir=root) as target:
                train(Path(target), name, seed, level, strike)
                if not any(strike.sizes or [1.0]):
                    continue
                row = {
                    "model": name,
                    "kind": kind,
                    "noise": level,
                    "seed": seed,
                    "where": where,
                    "wanted": faults.expected(kind, call),
                    "size": max(strike.sizes or [], default=None),
                }
                rows.append({**row, **_judged(Path(base), Path(target), row, strike)})
    return rows


def steady(root: Path, index: int, args: argparse.Namespace, draw: random.Random) -> dict[str, Any]:
    """A healthy training under a noise level."""
    name, level = args.models[index % len(args.models)], args.noise[index % len(args.noise)]
    seed = draw.randrange(1 << 31)
    with tempfile.TemporaryDirectory(dir=root) as base, tempfile.TemporaryDirectory(dir=root) as target:
        train(Path(base), name, seed, "none", Strike())
        train(Path(target), name, seed, level, Strike())
        row = {"model": name, "kind": "healthy", "noise": level, "seed": seed, "where": "", "wanted": "", "size": None}
        return {**row, **_judged(Path(base), Path(target), row, Strike())}


def _judged(base: Path, target: Path, row: dict[str, Any], strike: Strike) -> dict[str, Any]:
    found = cases.compared(base, target, row["noise"])
    outcome = cases.outcome_of(found.named, row)
    place = (found.first[0].step, found.first[0].rank) if found.first else None
    wanted = (strike.step, strike.rank or 0)
    if outcome in ("right", "among") and place != wanted:
        outcome = "wrong"
    elsewhere = [
        (one.step, one.rank, first.name)
        for one in found.steps
        if not strike.here(one.step, one.rank) and (first := divergence.first_parting(one.judged))
    ]
    if outcome in cases.BAD or elsewhere:
        first = found.first[1] if found.first else None
        error = (first.outcome, first.agreement.error_in, first.agreement.error_out, first.allowed) if first else ()
        print(f"{outcome}: {row} at {place} named {found.named} {error} elsewhere {elsewhere[:4]}", flush=True)
    return {"named": found.named, "place": place, "elsewhere": elsewhere, "outcome": outcome}

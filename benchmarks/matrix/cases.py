"""One comparison of the matrix: a fault in one call under every noise level, or a healthy run; recorded and judged."""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.comparison import Comparison, examine_captures
from benchmarks.matrix import beside, faults, networks, noise
from benchmarks.matrix.recorder import Call, Recorder, Tampering

AMONG = 3
#: A step of the format, relative: a smaller change is lost in the roundings of its inputs or results. bfloat16 rounds
#: everything, HF32 what `noise.REDUCED` names.
UNSEEN_IN_BF16, UNSEEN_IN_HF32 = 2.0**-7, 2.0**-11
BAD = ("wrong", "missed", "flagged")


def faulty(root: Path, name: str, kind: str, args: argparse.Namespace, draw: random.Random) -> list[dict[str, Any]]:
    """One fault at one call, under every noise level. Empty where the network has no call that the kind can strike."""
    seed = draw.randrange(1 << 31)
    with tempfile.TemporaryDirectory(dir=root) as base:
        calls = record(Path(base), name, seed, "none", Tampering(), args.task)
        places = faults.sites(kind, calls)
        if not places:
            return []
        call = draw.choice(places)
        rows = []
        for level in args.noise:
            with tempfile.TemporaryDirectory(dir=root) as target:
                tampering = faults.tamper(kind, call, draw)
                record(Path(target), name, seed, level, tampering, args.task)
                if tampering.sizes == [0.0]:  # the call had no such values: nothing was broken
                    continue
                row = {
                    "model": name,
                    "kind": kind,
                    "noise": level,
                    "seed": seed,
                    "wanted": faults.expected(kind, call),
                    "size": max(tampering.sizes, default=None),
                }
                rows.append({**row, **judged(Path(base), Path(target), row, args.msprobe)})
    return rows


def healthy(root: Path, index: int, args: argparse.Namespace, draw: random.Random) -> dict[str, Any]:
    name, seed = args.models[index % len(args.models)], draw.randrange(1 << 31)
    level = args.noise[(index // len(args.models)) % len(args.noise)]
    with tempfile.TemporaryDirectory(dir=root) as base, tempfile.TemporaryDirectory(dir=root) as target:
        record(Path(base), name, seed, "none", Tampering(), args.task)
        record(Path(target), name, seed, level, Tampering(), args.task)
        row = {"model": name, "kind": "healthy", "noise": level, "seed": seed, "wanted": "", "size": None}
        return {**row, **judged(Path(base), Path(target), row, args.msprobe)}


def record(folder: Path, name: str, seed: int, level: str, tampering: Tampering, task: str = "tensor") -> list[Call]:
    """One forward and backward, recorded as a capture with its manifest."""
    model, loss = networks.build(name, seed)
    model = noise.prepare(level, model)
    if level.startswith("hf32"):
        tampering.reduced = noise.hf32
    where = folder / manifest.DUMP / "step0" / "rank0"
    recorder = Recorder(where if task == "tensor" else None, tampering)
    with noise.setting(level):
        with recorder:
            value = loss(model)
        value.backward()
    recorder.save(where)
    describe(folder, level, task)
    return recorder.calls


def describe(folder: Path, level: str, task: str, ranks: int = 1) -> None:
    """The manifest of a capture under this noise level."""
    about = {"tier": "cpu", "args": [], "seed": 1, "level": "L1", "task": task}
    told = noise.LEVELS[level] or {}
    sides = {f"rank{rank}": {"rank": rank, "weights": {}, "batches": {}, "numerics": told} for rank in range(ranks)}
    manifest.Manifest(folder, True, about, {}, sides).write_file()


def compared(base: Path, target: Path, level: str) -> Comparison:
    """The two compared; of an untold format as dumps that msprobe leaves, which tell nothing of formats."""
    plain = noise.LEVELS[level] is None
    return examine_captures(*(side / manifest.DUMP if plain else side for side in (base, target)))


def judged(base: Path, target: Path, row: dict[str, Any], msprobe: bool) -> dict[str, Any]:
    found = compared(base, target, row["noise"])
    outcome, first = outcome_of(found.named, row), found.first[1] if found.first else None
    extra: dict[str, Any] = {"first": first.outcome if first else "", "named": found.named, "outcome": outcome}
    if msprobe:
        extra["msprobe"] = beside.compare(base, target, row["wanted"])
    if outcome in BAD:
        error = (first.agreement.error_in, first.agreement.error_out, first.allowed) if first else ()
        print(f"{outcome}: {row} named {found.named} {extra['first']} {error}", flush=True)
    return extra


def outcome_of(named: list[str], row: dict[str, Any]) -> str:
    """What naming these operators is worth, in a row with the operator `wanted` ("": a healthy run)."""
    wanted = row["wanted"]
    if not wanted:
        return "flagged" if named else "quiet"
    if _drowned(row):
        return "hidden" if not named or wanted in named else "wrong"
    if not named:
        return "missed"
    return "right" if named == [wanted] else "among" if wanted in named[:AMONG] else "wrong"


def _drowned(row: dict[str, Any]) -> bool:
    """Whether the fault is smaller than what the noise level itself rounds at the struck call."""
    size = row["size"] or 1.0
    if row["noise"] == "bf16":
        return row["kind"] in faults.SMALL or size < UNSEEN_IN_BF16
    reduced = row["wanted"].split(".")[1] in noise.REDUCED
    return row["noise"].startswith("hf32") and reduced and size < UNSEEN_IN_HF32

"""First divergence: is the right operator named, and are healthy runs left alone?

    python benchmarks/divergence.py [--small] [--kinds 4] [--healthy 30] [--seed N] [--msprobe] [--real] [--json FILE]

Four networks x 37 fault kinds (29 in forward, 8 in backward) x five noise levels, every fault in a call drawn at run
time; and healthy runs at every noise level. `right` is the operator by name, call and direction, alone; `among` one of
at most three that are named together (a gradient with several makers); `hidden` are faults smaller than what bfloat16
rounds, which no one can see there and which are not counted; a fault that changes no value is left out. --msprobe sets
msprobe's compare and -da beside it on the same dumps (12 s more a case); --real records each network once through the
real msprobe as well, fault-free and compared with the records made here. Bar: 95 % right, 0 healthy runs flagged.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from benchmarks.matrix import beside, faults, networks, noise
from benchmarks.matrix.recorder import Call, Recorder, Tampering
from benchmarks.matrix.replaying import in_this_process
from helpers.precision.capturing import manifest
from helpers.precision.comparison import Comparison, examine

BAR = 0.95
AMONG = 3
#: A step of bfloat16, relative: a smaller change is lost in its roundings.
UNSEEN_IN_BF16 = 2.0**-7


def main() -> int:
    args = arguments()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}", flush=True)
    draw, began = random.Random(seed), time.monotonic()
    rows: list[dict[str, Any]] = []
    with in_this_process(), tempfile.TemporaryDirectory() as folder:
        if args.real:
            good = all(beside.real(name, Path(folder) / f"real-{name}") for name in networks.NAMES)
            print("records of the real msprobe hold the same entries" if good else "the real msprobe records otherwise")
        ends = began + 60 * args.minutes
        for name, kind in plan(args, draw):
            if time.monotonic() > ends:
                print(f"{args.minutes} minutes are over: what was drawn for later is left out")
                break
            rows += faulty(Path(folder), name, kind, args, draw)
        for index in range(args.healthy):
            rows.append(healthy(Path(folder), index, args, draw))
    figures = score(rows)
    print(f"{len(rows)} comparisons in {time.monotonic() - began:.0f} s")
    if args.json:
        args.json.write_text(json.dumps({"seed": seed, "figures": figures, "rows": rows}, indent=1), encoding="utf-8")
    return 0 if figures["right"] >= BAR and not figures["flagged"] else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="four kinds a network and ten healthy runs: a minute")
    parser.add_argument("--kinds", type=int, help="so many kinds a network, drawn (default: all)")
    parser.add_argument("--healthy", type=int, default=30, help="healthy runs (default: 30)")
    parser.add_argument("--noise", nargs="+", choices=noise.LEVELS, default=list(noise.LEVELS), help="noise levels")
    parser.add_argument("--models", nargs="+", choices=networks.NAMES, default=networks.NAMES, help="networks")
    parser.add_argument("--only", nargs="+", choices=faults.KINDS, help="these kinds alone")
    parser.add_argument("--minutes", type=float, default=60.0, help="draw no more faults after so long (default: 60)")
    parser.add_argument("--seed", type=int, help="draws everything (default: drawn itself, and printed)")
    parser.add_argument("--task", choices=("tensor", "statistics"), default="tensor", help="what the dumps hold")
    parser.add_argument("--msprobe", action="store_true", help="msprobe's compare and -da on the same dumps")
    parser.add_argument("--real", action="store_true", help="hold the records against the real msprobe's")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and every case")
    args = parser.parse_args()
    if args.small:
        args.kinds, args.healthy = args.kinds or 4, min(args.healthy, 10)
    return args


def plan(args: argparse.Namespace, draw: random.Random) -> list[tuple[str, str]]:
    found = []
    for name in args.models:
        kinds = list(args.only or faults.KINDS)
        found += [(name, kind) for kind in (draw.sample(kinds, min(args.kinds, len(kinds))) if args.kinds else kinds)]
    draw.shuffle(found)
    return found


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
                row = {"model": name, "kind": kind, "noise": level, "seed": seed, "wanted": faults.expected(kind, call),
                       "size": max(tampering.sizes, default=None)}  # fmt: skip
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
    told = noise.LEVELS[level] or {}
    about = {"tier": "cpu", "args": [], "seed": 1, "level": "L1", "task": task}
    side = {"rank": 0, "weights": {}, "batches": {}, "numerics": told}
    manifest.Manifest(folder, True, about, {}, {"rank0": side}).save()
    return recorder.calls


def judged(base: Path, target: Path, row: dict[str, Any], msprobe: bool) -> dict[str, Any]:
    plain = noise.LEVELS[row["noise"]] is None  # a dump as msprobe leaves it, which tells nothing of formats
    found: Comparison = examine(*(side / manifest.DUMP if plain else side for side in (base, target)))
    named, wanted = found.named, row["wanted"]
    if not wanted:
        outcome = "flagged" if named else "quiet"
    elif row["noise"] == "bf16" and (row["kind"] in faults.SMALL or (row["size"] or 1.0) < UNSEEN_IN_BF16):
        outcome = "hidden" if not named or wanted in named else "wrong"
    elif not named:
        outcome = "missed"
    else:
        outcome = "right" if named == [wanted] else "among" if wanted in named[:AMONG] else "wrong"
    first = found.first[1] if found.first else None
    extra: dict[str, Any] = {"first": first.outcome if first else "", "named": named, "outcome": outcome}
    if msprobe:
        extra["msprobe"] = beside.compare(base, target, wanted)
    if outcome in ("wrong", "missed", "flagged"):
        error = (first.agreement.error_in, first.agreement.error_out, first.allowed) if first else ()
        print(f"{outcome}: {row} named {named} {extra['first']} {error}", flush=True)
    return extra


def score(rows: list[dict[str, Any]]) -> dict[str, Any]:
    by_noise: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        by_noise[row["noise"]][row["outcome"]] += 1
        for tool, outcome in row.get("msprobe", {}).items():
            by_noise[row["noise"]][f"{tool} {outcome}"] += 1
    columns = ("right", "among", "wrong", "missed", "hidden", "quiet", "flagged")
    print(f"{'noise':<12}" + "".join(f"{name:>9}" for name in columns))
    for level, counts in by_noise.items():
        rest = {key: value for key, value in counts.items() if key not in columns}
        print(f"{level:<12}" + "".join(f"{counts[name]:>9}" for name in columns), rest or "")
    total = sum(by_noise.values(), Counter())
    faulted = sum(total[name] for name in ("right", "among", "wrong", "missed"))
    right = total["right"] / faulted if faulted else 0.0
    among, runs = total["right"] + total["among"], total["flagged"] + total["quiet"]
    print(f"right {total['right']} of {faulted} ({right:.1%}), with those among at most {AMONG}: {among}")
    print(f"healthy runs flagged: {total['flagged']} of {runs}")
    return {"right": right, "flagged": total["flagged"], "noise": {key: dict(value) for key, value in by_noise.items()}}


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())

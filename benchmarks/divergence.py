"""First divergence: is the right operator named, and are healthy runs left alone?

    python benchmarks/divergence.py [--small] [--kinds 4] [--healthy 30] [--trainings 8] [--statistics 10] [--beside 24]
                                    [--seed N] [--real] [--json FILE]

Four networks x 37 fault kinds (29 in forward, 8 in backward) x five noise levels, every fault in a call drawn at run
time; and healthy runs at every noise level. `right` is the operator by name, call and direction, alone; `among` one of
at most three that are named together (a gradient with several makers); `hidden` are faults smaller than what bfloat16
rounds, or HF32 in a convolution or matrix product: no one can see them there, and they are not counted; a fault that
changes no value is left out.
Then: trainings of twelve steps on two ranks whose fault strikes from a step on or on one rank alone, where step and
rank must be named as well; some of the matrix with statistics instead of tensors, as msprobe records by default;
msprobe's compare and -da beside it on the same dumps (12 s a case); and runs that differ for other causes than an
operator, each with its own verdict. --real records each network once through the real msprobe as well, fault-free and
compared with the records made here. Bars: 95 % right, 0 healthy runs flagged, every other cause told.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from benchmarks.matrix import beside, cases, faults, fooled, networks, noise, score, training
from benchmarks.matrix.replaying import in_this_process

BAR = 0.95
Rows = list[dict[str, Any]]
#: Makes the rows of one network and fault kind.
Make = Callable[[Path, str, str, argparse.Namespace, random.Random], Rows]


def main() -> int:
    args = arguments()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}", flush=True)
    draw, began = random.Random(seed), time.monotonic()
    with in_this_process(), tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        if args.real:
            good = all(beside.real(name, root / f"real-{name}") for name in networks.NAMES)
            print("records of the real msprobe hold the same entries" if good else "the real msprobe records otherwise")
        matrix = drawn(root, plan(args, draw), cases.faulty, args, draw, args.minutes)
        matrix += [cases.healthy(root, index, args, draw) for index in range(args.healthy)]
        rows = {"matrix": matrix, "trainings": trainings(root, args, draw), "statistics": statistics(root, args, draw)}
        compared = besides(root, args, draw)
        causes = fooled.table(root) if args.causes else []
    figures = {name: score.score(name, found) for name, found in rows.items() if found}
    told = score.beside(compared)
    print(f"\n{sum(map(len, rows.values()))} comparisons in {time.monotonic() - began:.0f} s")
    if args.json:
        content = {"seed": seed, "figures": figures, "beside": told, "causes": causes, "rows": rows}
        args.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return int(not kept(figures, causes))


def kept(figures: dict[str, Any], causes: Rows) -> bool:
    """Whether the bars are kept. Statistics alone do not tell small faults: of those only false alarms count."""
    told = [figures[name] for name in ("matrix", "trainings") if name in figures]
    right = all(found["right"] >= BAR for found in told if found["faulted"])
    quiet = not any(found["flagged"] or found["elsewhere"] for found in figures.values())
    return right and quiet and all(row["right"] for row in causes)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a little of everything, in less than four minutes")
    parser.add_argument("--kinds", type=int, help="so many kinds a network, drawn (default: all)")
    parser.add_argument("--healthy", type=int, help="healthy runs (default: 30)")
    parser.add_argument("--trainings", type=int, help="faults struck in trainings, four ways each (default: 8)")
    parser.add_argument("--statistics", type=int, help="faults recorded by statistics alone (default: 10)")
    parser.add_argument("--beside", type=int, default=0, help="comparisons beside msprobe's (default: none)")
    parser.add_argument("--causes", action=argparse.BooleanOptionalAction, default=True, help="the other causes")
    parser.add_argument("--noise", nargs="+", choices=noise.LEVELS, default=list(noise.LEVELS), help="noise levels")
    parser.add_argument("--models", nargs="+", choices=networks.NAMES, default=networks.NAMES, help="networks")
    parser.add_argument("--only", nargs="+", choices=faults.KINDS, help="these kinds alone")
    parser.add_argument("--minutes", type=float, default=60.0, help="draw no more faults after so long (default: 60)")
    parser.add_argument("--seed", type=int, help="draws everything (default: drawn itself, and printed)")
    parser.add_argument("--real", action="store_true", help="hold the records against the real msprobe's")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and every case")
    args = parser.parse_args()
    least = (
        {"kinds": 3, "healthy": 10, "trainings": 2, "statistics": 3}
        if args.small
        else {"healthy": 30, "trainings": 8, "statistics": 10}
    )
    for name, count in least.items():
        setattr(args, name, count if getattr(args, name) is None else getattr(args, name))
    args.task, args.msprobe = "tensor", False
    return args


def plan(args: argparse.Namespace, draw: random.Random) -> list[tuple[str, str]]:
    found = []
    for name in args.models:
        kinds = list(args.only or faults.KINDS)
        found += [(name, kind) for kind in (draw.sample(kinds, min(args.kinds, len(kinds))) if args.kinds else kinds)]
    draw.shuffle(found)
    return found


def drawn(
    root: Path, wanted: list[tuple[str, str]], make: Make, args: argparse.Namespace, draw: random.Random, minutes: float
) -> Rows:
    """The rows of all that is wanted, or of what there is time for."""
    rows: Rows = []
    ends = time.monotonic() + 60 * minutes
    for name, kind in wanted:
        if time.monotonic() > ends:
            print(f"{minutes:g} minutes are over: what was drawn for later is left out")
            break
        rows += make(root, name, kind, args, draw)
    return rows


def pairs(args: argparse.Namespace, draw: random.Random, count: int) -> list[tuple[str, str]]:
    """So many of network and kind, each network as often."""
    kinds = list(args.only or faults.KINDS)
    return [(args.models[at % len(args.models)], draw.choice(kinds)) for at in range(count)]


def trainings(root: Path, args: argparse.Namespace, draw: random.Random) -> Rows:
    rows = drawn(root, pairs(args, draw, args.trainings), training.struck, args, draw, args.minutes)
    return rows + [training.steady(root, index, args, draw) for index in range((args.trainings + 1) // 2)]


def statistics(root: Path, args: argparse.Namespace, draw: random.Random) -> Rows:
    own = copy.copy(args)
    own.task = "statistics"
    rows = drawn(root, pairs(own, draw, own.statistics), cases.faulty, own, draw, own.minutes)
    return rows + [cases.healthy(root, index, own, draw) for index in range(own.statistics)]


def besides(root: Path, args: argparse.Namespace, draw: random.Random) -> Rows:
    """Comparisons beside msprobe's: each fault under one noise level, one in six healthy."""
    own = copy.copy(args)
    own.msprobe, kinds = True, list(args.only or faults.KINDS)
    rows: Rows = []
    while len(rows) < args.beside:
        own.noise = [args.noise[len(rows) % len(args.noise)]]
        if len(rows) % 6 == 5:
            rows.append(cases.healthy(root, len(rows), own, draw))
        else:
            rows += cases.faulty(root, draw.choice(own.models), draw.choice(kinds), own, draw)
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())

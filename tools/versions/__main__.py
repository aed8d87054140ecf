"""Tries each pair of ascend_simulator/pairs.json in an environment of its own, and prints a table.

    python -m tools.versions [--versions 2.12.0,2.7.1] [--steps build,basics] [--cache FOLDER] [--json FILE]

An environment is made once and kept in the cache (1.5 GB each); set-up, build and every step run in it anew. Where no
index has a CPU build of a release, one is made of its CUDA wheel, without CUDA (x86_64).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tools.versions.environment import NoEnvironment, make_environment
from tools.versions.pairs import ROOT, Pair, choose_pairs
from tools.versions.steps import STEPS, Outcome, Place, run_step


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.versions", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--versions", default="", metavar="LIST", help="releases of torch (default: all)")
    parser.add_argument("--steps", default="", metavar="LIST", help=f"of {','.join(STEPS)} (default: all)")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "versions", help="where environments are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes too")
    args = parser.parse_args(arguments)
    steps = [step for step in args.steps.split(",") if step] or list(STEPS)
    unknown = [step for step in steps if step not in STEPS]
    try:
        pairs = choose_pairs(args.versions)
    except ValueError as error:
        parser.error(str(error))
    if unknown:
        parser.error(f"no step {', '.join(unknown)}: there are {', '.join(STEPS)}")
    outcomes = {pair: try_pair(pair, steps, args.cache.resolve()) for pair in pairs}
    print(render_table(outcomes, steps))
    if args.json:
        report = {pair.torch: [asdict(outcome) for outcome in tried] for pair, tried in outcomes.items()}
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if all(outcome.passed for tried in outcomes.values() for outcome in tried) else 1


def try_pair(pair: Pair, steps: Sequence[str], cache: Path) -> list[Outcome]:
    """Run the steps in the pair's environment; without one, each of them failed for that reason."""
    print(f"== torch {pair.torch}, torch_npu {pair.torch_npu}", flush=True)
    try:
        venv = make_environment(pair, cache)
    except NoEnvironment as error:
        return [Outcome(step, False, f"no environment: {error}", 0.0) for step in steps]
    place = Place(pair, venv, cache / "work" / pair.torch)
    place.work.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for step in steps:
        outcomes.append(run_step(step, place))
        last = outcomes[-1]
        print(f"{'passed' if last.passed else 'FAILED'} {step} ({last.seconds:.0f} s): {last.answer}", flush=True)
    return outcomes


def render_table(outcomes: dict[Pair, list[Outcome]], steps: Sequence[str]) -> str:
    """Return a row per pair and a column per step, and below it the cause of each failure."""
    lines = ["", "| torch | torch_npu | " + " | ".join(steps) + " |", "|---" * (len(steps) + 2) + "|"]
    causes = []
    for pair, tried in outcomes.items():
        cells = ["passed" if outcome.passed else "**failed**" for outcome in tried]
        lines.append(f"| {pair.torch} | {pair.torch_npu} | " + " | ".join(cells) + " |")
        causes += [f"{pair.torch} {outcome.step}: {outcome.answer}" for outcome in tried if not outcome.passed]
    return "\n".join([*lines, "", *causes])


if __name__ == "__main__":
    sys.exit(main())

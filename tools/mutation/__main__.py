"""Plants small faults in the code and counts those that a test sees. Ends with 1 where fewer than nine in ten are.

    python -m tools.mutation [--seed 1] [--count 160] [--part NAME] [--jobs 2]

Faults are drawn at random, as many from each part (parts.py), the same ones for the same seed; each is planted in a
copy of the tree, and the tests that run its line are run until one fails. Faults that no test could see are excused by
equivalent.py. Such as make the tests run too long are counted apart. Several parts are tried at the same time; one
whose tests fail without a fault, or whose files were moved away from parts.py, does not hold up the others.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.mutation.parts import PARTS, ROOT, Part
from tools.mutation.run import EXCUSED, KILLED, SURVIVED, TIMEOUT, Outcome, TestsFailed, sample_mutants, try_mutants

PLACE = ROOT / "build" / "mutation"
BAR = 0.9


def main(arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS, root: Path = ROOT) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="which faults are drawn")
    parser.add_argument("--count", type=int, default=160, help="faults in all, without those that are excused")
    parser.add_argument("--part", action="append", choices=[part.name for part in parts], help="only this part")
    parser.add_argument("--place", type=Path, default=PLACE, help="folder for the copy and what is recorded")
    parser.add_argument("--jobs", type=int, default=2, help="parts that are tried at the same time")
    args = parser.parse_args(arguments)
    chosen = [part for part in parts if part.name in (args.part or [part.name])]
    shares = [args.count // len(chosen) + (number < args.count % len(chosen)) for number in range(len(chosen))]

    def try_part(part: Part, share: int) -> list[Outcome] | None:
        """Return what became of a part's faults; None where its tests fail without any, or a file of it is gone."""
        place = (args.place / part.name).resolve()
        place.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        outcomes = []
        try:
            for outcome in try_mutants(part, root, sample_mutants(part, root, share, args.seed), place):
                outcomes.append(outcome)
                print_line(describe_outcome(outcome))
        except TestsFailed as failure:
            print_line(str(failure))
            return None
        except FileNotFoundError as error:
            print_line(f"{part.name}: {error.filename or error} is not there: see tools/mutation/parts.py")
            return None
        print_line(f"-- {part.name}: {time.monotonic() - began:.0f} s")
        return outcomes

    with ThreadPoolExecutor(max(1, args.jobs)) as pool:
        results = list(pool.map(try_part, chosen, shares))
    outcomes = [outcome for result in results for outcome in result or ()]
    print_table(outcomes)
    failed = [part.name for part, result in zip(chosen, results) if result is None]
    if failed:
        print(f"not tried to the end: {', '.join(failed)}")
    return 1 if failed or compute_rate(outcomes) < BAR else 0


def print_line(text: str) -> None:
    """Print lines at once and whole: several parts speak at the same time."""
    print(f"{text}\n", end="", flush=True)


def describe_outcome(outcome: Outcome) -> str:
    """Describe one fault in a line; one that no test saw with the change."""
    text = (
        f"{outcome.kind:<10} {outcome.seconds:5.1f} s  {outcome.mutant.path}:{outcome.line}  {outcome.mutant.operator}"
    )
    if outcome.kind in (SURVIVED, TIMEOUT):
        text += "\n  - {}\n  + {}".format(*outcome.change) + (f"\n  {outcome.test}" if outcome.test else "")
    return text


def print_table(outcomes: Sequence[Outcome]) -> None:
    """Print the survivors, and what became of the faults of each part."""
    survivors = [outcome for outcome in outcomes if outcome.kind == SURVIVED]
    if survivors:
        print("\nNo test saw these:", *map(describe_outcome, survivors), sep="\n")
    print("\npart          made  killed  survived  timeout  equivalent  kill rate")
    for name in [*dict.fromkeys(outcome.part for outcome in outcomes), "all"]:
        those = [outcome for outcome in outcomes if name in (outcome.part, "all")]
        kinds = Counter(outcome.kind for outcome in those)
        print(
            f"{name:<12} {len(those):5} {kinds[KILLED]:7} {kinds[SURVIVED]:9} {kinds[TIMEOUT]:8} {kinds[EXCUSED]:11}"
            f"  {compute_rate(those):8.1%}"
        )


def compute_rate(outcomes: Sequence[Outcome]) -> float:
    """Compute the share of the decided faults that a test saw; 0 where none was decided."""
    kinds = Counter(outcome.kind for outcome in outcomes)
    decided = kinds[KILLED] + kinds[SURVIVED]
    return kinds[KILLED] / decided if decided else 0.0


if __name__ == "__main__":
    sys.exit(main())

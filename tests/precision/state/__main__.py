"""`python -m tests.precision.state [--half held] [--only WORD]`: the corpus, its figures, what is not right."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.precision.state import cases, running
from tests.precision.state.judged import NAMES, Verdict, judge_case


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.precision.state", description=__doc__)
    parser.add_argument("--half", choices=(cases.WORKING, cases.HELD), default=cases.WORKING)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    chosen = [case for case in cases.draw_cases() if case.half == args.half and args.only in case.name]
    begun = time.time()
    with tempfile.TemporaryDirectory(prefix="state-") as aside:
        root = args.keep or Path(aside)
        with ThreadPoolExecutor(args.jobs) as pool:
            recipes = sorted({case.recipe for case in chosen})
            list(pool.map(lambda name: running.record_once(root / "baseline" / name, name), recipes))
            verdicts = list(pool.map(lambda case: judge_case(case, root), chosen))
    print_figures(verdicts)
    print(f"{len(verdicts)} cases in {time.time() - begun:.0f} s")


def print_figures(verdicts: list[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.outcome not in ("right", "quiet"):
            print(f"{verdict.outcome:8} {verdict.case.name} from {verdict.case.start}: {verdict.words}")
    faults = Counter(verdict.outcome for verdict in verdicts if verdict.case.fault)
    healthy = Counter(verdict.outcome for verdict in verdicts if not verdict.case.fault)
    total = sum(faults.values())
    print(f"faults {total}: " + ", ".join(f"{name} {faults[name]}" for name in NAMES))
    print(f"healthy {sum(healthy.values())}: flagged {healthy['flagged']}")


if __name__ == "__main__":
    main()

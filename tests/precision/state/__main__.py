"""`python -m tests.precision.state [--half held] [--only WORD]`: the corpus, its figures, what is not right.

With `--draw N` N faults and `--healthy M` pairs without one are drawn at run time, by `--seed` or by chance; a share of
them runs its target on the simulated NPU."""

from __future__ import annotations

import argparse
import os
import secrets
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.precision.state import cases, running
from tests.precision.state.judged import NAMES, Verdict, judge_case


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.precision.state", description=__doc__)
    parser.add_argument("--half", choices=(cases.WORKING, cases.HELD, cases.NEW), default=cases.WORKING)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--draw", type=int)
    parser.add_argument("--healthy", type=int, default=30)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    args = parser.parse_args()
    if args.draw is None:
        chosen = [case for case in cases.draw_cases() if case.half == args.half]
    else:
        print(f"seed {args.seed}")
        chosen = cases.draw_run(args.half, args.seed, args.draw, args.healthy)
    chosen = [case for case in chosen if args.only in case.name]
    begun, cpu = time.time(), os.times()
    with tempfile.TemporaryDirectory(prefix="state-") as aside:
        root = args.keep or Path(aside)
        simulated = running.Simulated() if any(case.device != "cpu" for case in chosen) else None
        verdicts = [judge_case(case, root, simulated) for case in chosen]
        if simulated is not None:
            simulated.close()
    print_figures(verdicts)
    used = sum(os.times()[:4]) - sum(cpu[:4])
    print(f"{len(verdicts)} cases in {time.time() - begun:.0f} s, {used:.0f} s of the processors")


def print_figures(verdicts: list[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.outcome not in ("right", "quiet"):
            print(f"{verdict.outcome:8} {verdict.case.name} from {verdict.case.start}: {verdict.words}")
    for device in sorted({verdict.case.device for verdict in verdicts}):
        _print_device(device, [verdict for verdict in verdicts if verdict.case.device == device])


def _print_device(device: str, verdicts: list[Verdict]) -> None:
    faults = Counter(verdict.outcome for verdict in verdicts if verdict.case.fault)
    healthy = Counter(verdict.outcome for verdict in verdicts if not verdict.case.fault)
    total = sum(faults.values())
    print(f"{device}: faults {total}: " + ", ".join(f"{name} {faults[name]}" for name in (*NAMES, "broken")))
    print(f"{device}: healthy {sum(healthy.values())}: flagged {healthy['flagged']}, broken {healthy['broken']}")


if __name__ == "__main__":
    main()

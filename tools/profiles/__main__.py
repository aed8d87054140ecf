"""Public profiles that the analysis is judged on, and what an expert says of each.

    python -m tools.profiles fetch DIR [--half working|held] [--from CLONES]   # by commit, with checksum
    python -m tools.profiles judge DIR [--half working|held]                   # analyse each, compare with its label

What is fetched is not committed: the list has addresses, checksums and licences."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from tools.profiles.catalogue import HALVES, read_profiles
from tools.profiles.fetching import fetch_profiles, read_from_mirror
from tools.profiles.judging import describe_case, judge_profiles, read_labels, sum_up


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.profiles", description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    fetch = verbs.add_parser("fetch", help="fetch the profiles of the list")
    fetch.add_argument("folder", type=Path)
    fetch.add_argument("--half", choices=HALVES)
    fetch.add_argument("--from", dest="mirror", type=Path, help="a folder of clones, OWNER/NAME, in place of a network")
    judge = verbs.add_parser("judge", help="analyse each profile and compare with its label")
    judge.add_argument("folder", type=Path, help="where `fetch` put them")
    judge.add_argument("--half", choices=HALVES, default="working")
    judge.add_argument("--only", nargs="+", default=(), metavar="NAME", help="these profiles alone")
    options = parser.parse_args(arguments)
    return fetch_half(options) if options.verb == "fetch" else judge_half(options)


def fetch_half(options: argparse.Namespace) -> int:
    """Fetch what is asked for; return 1 where something could not be fetched."""
    failed = 0
    read = read_from_mirror(options.mirror) if options.mirror else None
    for line in fetch_profiles(read_profiles(half=options.half), options.folder, read):
        print(line, flush=True)
        failed += "not fetched" in line
    return 1 if failed else 0


def judge_half(options: argparse.Namespace) -> int:
    """Print a line a profile and the figures; return 1 where a profile is not there."""
    profiles = [
        profile for profile in read_profiles(half=options.half) if not options.only or profile.name in options.only
    ]
    cases = []
    try:
        for case in judge_profiles(profiles, read_labels(options.half), options.folder):
            cases.append(case)
            print(describe_case(case), flush=True)
    except OSError as error:
        print(error)
        return 1
    for name, figure in sum_up(cases).items():
        print(f"{name}: {figure:.1f}" if name.endswith("%") else f"{name}: {figure:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

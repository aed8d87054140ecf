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


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.profiles", description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    fetch = verbs.add_parser("fetch", help="fetch the profiles of the list")
    fetch.add_argument("folder", type=Path)
    fetch.add_argument("--half", choices=HALVES)
    fetch.add_argument("--from", dest="mirror", type=Path, help="a folder of clones, OWNER/NAME, in place of a network")
    options = parser.parse_args(arguments)
    failed = 0
    for line in fetch_profiles(
        read_profiles(half=options.half), options.folder, read_from_mirror(options.mirror) if options.mirror else None
    ):
        print(line, flush=True)
        failed += "not fetched" in line
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""The list of what was compared. Exit code 1 where something differs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools import languages
from tools.languages.pairs import Pair, all_pairs


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.languages",
        description=languages.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--differences", action="store_true", help="print only what differs")
    args = parser.parse_args(arguments)
    pairs = list(all_pairs())
    wrong = [pair for pair in pairs if pair.differences]
    for pair in wrong if args.differences else pairs:
        print(render_line(pair))
    files = len({pair.file for pair in pairs})
    print(f"{len(pairs)} passages of {files} files compared, {len(wrong)} differ")
    return 1 if wrong else 0


def render_line(pair: Pair) -> str:
    listed = "".join(f"\n    {difference}" for difference in pair.differences)
    return f"{'differs' if listed else 'same':<8} {pair.file} | {pair.place}{listed}"


if __name__ == "__main__":
    sys.exit(main())

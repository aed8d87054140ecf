"""All tests, layer by layer, each timed; ends with one line that counts them.

python tests/run.py            what `make test` runs
python tests/run.py --full     the longer suites too (tests marked `full`), and the browser's where there is one
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=8"]
#: A file's tests stay together: its fixtures build simulators and run trainings. One process more than there are
#: processors: many tests wait (for a limit, a retry, the end of a process).
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
SIDE_BY_SIDE = ["-n", str(min(PROCESSORS + 1, 8)), "--dist", "loadfile"]
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/sanitize.cfg", "-p", "no:cacheprovider"]
#: The course trains many times; its references are run with --full.
COURSE = "--ignore=tests/reference/course"
APART = ("notebooks", "simulator", "reference", "browser")
#: Layers of the longer suites alone
LONGER = ("browser", "mutants")
#: One command is what a layer is; the formatter and the names stand behind ruff's rules.
LINT = [
    sys.executable,
    "-c",
    """import subprocess, sys
for module in (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["tools.names"]):
    subprocess.run([sys.executable, "-m", *module], check=True)""",
]
#: name -> command; pytest layers are counted from their JUnit file
LAYERS = {
    "lint": LINT,
    "types": [sys.executable, "-m", "mypy"],
    "unit": [*PYTEST, *SIDE_BY_SIDE, "tests", *(f"--ignore=tests/{name}" for name in APART)],
    "simulator": [*PYTEST, *SIDE_BY_SIDE, "tests/simulator"],
    "notebooks": [*PYTEST, *SIDE_BY_SIDE, *NBVAL, COURSE, "tests/notebooks", "tests/reference"],
    # one test at a time to each process, those that failed the last time first
    "browser": [
        *PYTEST,
        "-n",
        "auto",
        "--maxprocesses=4",
        "--maxschedchunk=1",
        "--failed-first",
        "-rs",
        "--full",
        "tests/browser",
    ],
    "mutants": [sys.executable, "-m", "tools.mutation"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="run the tests marked `full` too")
    parser.add_argument("--layer", action="append", choices=LAYERS, help="only this layer (may be repeated)")
    args = parser.parse_args()
    wanted = [name for name in LAYERS if args.full or name not in LONGER]
    results = [layer(name, LAYERS[name], args.full) for name in args.layer or wanted]
    print("\nlayer        seconds  passed  failed  skipped")
    for name, seconds, passed, failed, skipped in results:
        print(f"{name:<12} {seconds:7.0f} {passed:7} {failed:7} {skipped:8}")
    passed, failed, skipped = (sum(result[column] for result in results) for column in (2, 3, 4))
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


def layer(name: str, command: list[str], full: bool) -> tuple[str, float, int, int, int]:
    """(name, seconds, passed, failed, skipped). A layer that ends badly without a count has one failure."""
    print(f"\n== {name}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        junit = Path(folder, "junit.xml")
        is_pytest = "pytest" in command
        extra = [f"--junitxml={junit}", *(["--full"] if full else [])] if is_pytest else []
        words = [word for word in command if not (full and word == COURSE)]
        code = subprocess.run([*words, *extra], cwd=ROOT, check=False).returncode
        counts = count(junit) if junit.is_file() else (int(code == 0), 0, 0)
    passed, failed, skipped = counts
    if code and not failed:
        failed = 1
    return name, time.monotonic() - began, passed, failed, skipped


def count(junit: Path) -> tuple[int, int, int]:
    suites = list(xml.parse(junit).getroot().iter("testsuite"))
    total, failed, errors, skipped = (
        sum(int(suite.get(kind, 0)) for suite in suites) for kind in ("tests", "failures", "errors", "skipped")
    )
    return total - failed - errors - skipped, failed + errors, skipped


if __name__ == "__main__":
    sys.exit(main())

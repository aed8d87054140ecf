"""Holds the hours of `assess` against ports that people made: what their changes measure, and what it says of upstream.

    python -m tools.ports measure CLONES            # each port's lines again, from the clones; names what differs
    python -m tools.ports judge CLONES OUT          # the working part: hours beside the size class of the port
    python -m tools.ports judge CLONES OUT --held   # the held part, for a release's last run only

CLONES holds OWNER/NAME as a clone (bare or not) of that repository has it; OUT takes the upstreams' files. Nothing of
either is kept here. ports.json says which ports, at which commits, and in which part each was drawn."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ascend_workbook.migration.assess import assess
from tools.ports.measuring import (
    classify_size,
    estimate_hours_of_lines,
    find_roots,
    is_near_equation,
    is_within_class,
    measure_port,
    read_python,
)

LIST = Path(__file__).parent / "ports.json"
WORKING, HELD = "working", "held"


def load_ports() -> dict[str, Any]:
    """Return the list with its date, seed and source."""
    content: dict[str, Any] = json.loads(LIST.read_text(encoding="utf-8"))
    return content


def draw_held(names: Sequence[str], seed: int) -> set[str]:
    """Draw a third of the names, in their order, by the seed."""
    return set(random.Random(seed).sample(sorted(names), len(names) // 3))


def measure(clones: Path) -> int:
    """Measure every port again; returns 1 where a figure differs from the list's."""
    content = load_ports()
    wrong = 0
    for port in content["ports"]:
        before = read_python(clones / port["upstream"], port["commit"], port["folder"])
        after = read_python(clones / content["ports_repository"], content["ports_commit"], port["port"])
        left, right = find_roots(before, after)
        size = measure_port(_list_below(before, left), _list_below(after, right))
        agrees = asdict(size) == port["size"]
        wrong += not agrees
        print(f"{port['port']}: {size}", "" if agrees else f"but the list says {port['size']}", flush=True)
    return int(wrong > 0)


def judge(clones: Path, out: Path, part: str) -> int:
    """Print for each port of a part the hours of its upstream beside its size class, and how many lie within."""
    ports = [port for port in load_ports()["ports"] if port["part"] == part]
    judged: list[tuple[float, int]] = []
    for port in ports:
        root = out / port["upstream"] / port["commit"]
        for name, text in read_python(clones / port["upstream"], port["commit"], port["folder"]).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        hours = assess(root, entry=root / port["entry"] if port["entry"] else None).facts["estimate_h"]
        lines = port["size"]["device_lines"]
        name, low, high = classify_size(lines)
        fits = is_within_class(hours["likely"], lines)
        judged.append((hours["likely"], lines))
        says = f"{hours['likely']:.0f} h ({hours['low']:.0f} to {hours['high']:.0f})"
        print(f"{port['upstream']}: {says}, {name}, {low:.0f} to {high:.0f} h: {'within' if fits else 'OUTSIDE'}")
    constant = statistics.median(
        estimate_hours_of_lines(port["size"]["device_lines"]) for port in load_ports()["ports"]
    )
    print(describe_agreement("assess", judged))
    print(describe_agreement(f"the same {constant:.0f} h for every port", [(constant, lines) for _, lines in judged]))
    return 0


def describe_agreement(who: str, judged: Sequence[tuple[float, int]]) -> str:
    """Describe how many hours lie within a factor of two of the size class, and how many of the equation itself."""
    near = sum(is_near_equation(hours, lines) for hours, lines in judged)
    within = sum(is_within_class(hours, lines) for hours, lines in judged)
    return f"{who}: within a factor of two of the class {within} of {len(judged)}, of the port's own size {near}"


def _list_below(files: dict[str, str], folder: str) -> dict[str, str]:
    return {path[len(folder) :]: text for path, text in files.items() if path.startswith(folder)}


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "judge"))
    parser.add_argument("clones", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--held", action="store_true", help="the held part")
    args = parser.parse_args(words)
    if args.what == "measure":
        return measure(args.clones)
    if args.out is None:
        parser.error("judge needs OUT, a folder for the upstreams' files")
    return judge(args.clones, args.out, HELD if args.held else WORKING)


if __name__ == "__main__":
    sys.exit(main())

"""The matrix counted: outcomes by noise level, msprobe's beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from benchmarks.matrix.cases import AMONG

COLUMNS = ("right", "among", "wrong", "missed", "hidden", "quiet", "flagged")
TOOLS = ("compare", "-da")


def score(title: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Prints a line for each noise level and the shares; `right` is the share of faults that anyone could see."""
    by_noise: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        by_noise[row["noise"]][row["outcome"]] += 1
    print(f"\n{title}\n{'noise':<12}" + "".join(f"{name:>9}" for name in COLUMNS))
    for level, counts in by_noise.items():
        print(f"{level:<12}" + "".join(f"{counts[name]:>9}" for name in COLUMNS))
    total = sum(by_noise.values(), Counter())
    faulted = sum(total[name] for name in ("right", "among", "wrong", "missed"))
    right = total["right"] / faulted if faulted else 0.0
    runs, elsewhere = total["flagged"] + total["quiet"], sum(len(row.get("elsewhere", ())) for row in rows)
    among = total["right"] + total["among"]
    print(f"right {total['right']} of {faulted} ({right:.1%}), with those among at most {AMONG}: {among}")
    print(f"healthy runs flagged: {total['flagged']} of {runs}")
    if any("elsewhere" in row for row in rows):
        print(f"steps or ranks flagged where no fault struck: {elsewhere}")
    return {
        "right": right,
        "faulted": faulted,
        "flagged": total["flagged"],
        "healthy": runs,
        "elsewhere": elsewhere,
        "noise": {key: dict(value) for key, value in by_noise.items()},
    }


def beside(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """The same dumps by this workbook, by msprobe's compare and by its -da: what each makes of them. A fault that
    bfloat16 hides counts for none of them."""
    told = [row for row in rows if "msprobe" in row and row["outcome"] != "hidden"]
    counts: dict[str, Counter[str]] = {
        "ours": Counter("right" if row["outcome"] == "right" else row["outcome"] for row in told)
    }
    counts.update({f"msprobe {tool}": Counter(row["msprobe"][tool] for row in told) for tool in TOOLS})
    if told:
        columns = ("right", "among", "wrong", "missed", "quiet", "flagged")
        print(f"\nbeside msprobe, {len(told)} of the comparisons\n{'':<18}" + "".join(f"{c:>9}" for c in columns))
        for name, found in counts.items():
            print(f"{name:<18}" + "".join(f"{found[column]:>9}" for column in columns))
    return {name: dict(found) for name, found in counts.items()} if told else {}

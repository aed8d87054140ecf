"""What came of the runs: crashes that the scan said before, places called unsupported that ran, lines with a label."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.migration import LABELS, SCORED_AS, Confusion

#: Classes that tell a person that something is to be done at a place.
WORK = ("rewrite", "manual", "unsupported")
#: Losses are equal within this: kernels of the CPU run on both sides, in another order here and there.
TOLERANCE = 1e-3
#: Scanned places of one repository: classes and rules by file and line.
Places = dict[tuple[str, int], list[tuple[str, str]]]
#: Errors whose cause stands at another line than where the run ends, and the rules that speak of that cause.
CAUSES = (
    (r"cache_clear|BackendCompilerFailed|inductor", ("MIG111",)),
    (r"parameters and buffers on device cuda|DataParallel|data_parallel", ("MIG109",)),
)


#: Where the scan said of a crash that something is to be done.
AT_LINE, ABOVE, AT_CAUSE, NOT_SAID = "said at the line", "said at a line above", "said at its cause", "not said"


@dataclass
class Half:
    """The figures of a half: repositories by what became of them, crashes by how the scan told them."""

    outcomes: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    migrated: Counter[str] = field(default_factory=Counter)
    labels: Confusion = field(default_factory=lambda: Confusion(Counter()))
    lines: list[str] = field(default_factory=list)


def gather(entries: Sequence[dict[str, Any]], labels: Sequence[dict[str, Any]], out: Path) -> Half:
    """Return the figures of these entries, as far as their results are in OUT."""
    half = Half()
    by_repository = defaultdict(list)
    for label in labels:
        by_repository[label["repository"]].append(label)
    for entry in entries:
        name = entry["repository"].replace("/", "+")
        scanned = _load(out / "results" / f"{name}.scan.json")
        if not scanned:
            continue
        places: Places = {}
        for path, line, repair, rule in scanned["places"]:
            places.setdefault((path, line), []).append((repair, rule))
        half.labels += compare_labels(places, set(scanned["unread"]), by_repository[entry["repository"]])
        judge_runs(half, entry, places, *(_load(out / "results" / f"{name}.{part}.json") for part in PARTS))
    return half


PARTS = ("cpu", "npu-simulated", "migrate")


def _load(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


def compare_labels(places: Places, unread: set[str], labels: Sequence[dict[str, Any]]) -> Confusion:
    """Compare labelled lines with the gravest class that the scan gave each."""
    counted: Counter[tuple[str, str]] = Counter()
    wrong = []
    for label in labels:
        classes = [SCORED_AS.get(repair, repair) for repair, _ in places.get((label["path"], label["line"]), ())]
        judged = "unread" if label["path"] in unread else max(classes, key=LABELS.index, default="no_action")
        counted[label["label"], judged] += 1
        if judged != label["label"]:
            wrong.append(f"{label['repository']} {label['path']}:{label['line']} label {label['label']}, said {judged}")
    return Confusion(counted, tuple(wrong))


def judge_runs(
    half: Half,
    entry: dict[str, Any],
    places: Places,
    cpu: dict[str, Any],
    npu: dict[str, Any],
    migrated: dict[str, Any],
) -> None:
    """Add what one repository's runs show."""
    name = entry["repository"]
    if not cpu:
        half.outcomes["not run"] += 1
        return
    if not cpu.get("ok"):
        half.outcomes["does not train on the CPU"] += 1
        half.lines.append(f"{name}: CPU: {describe_end(cpu)}")
        return
    if migrated:
        half.migrated[migrated["verdict"]] += 1
        half.lines.append(f"{name}: migrate: {migrated['verdict']} {migrated.get('said', '')[:200]}")
    if not npu:
        half.outcomes["trains on the CPU, not run on the NPU"] += 1
        return
    base = "" if npu.get("base", ".") == "." else f"{npu['base']}/"
    frames = [(base + path, line) for path, line in npu.get("frames", [])]
    count_executed(half, name, places, base, npu, frames)
    if npu.get("ok") and not any(name.startswith("npu") for name in npu.get("devices", ())):
        half.outcomes["trains, and not on the NPU"] += 1
        return
    if npu.get("ok"):
        same = are_equal(cpu["losses"], npu["losses"])
        half.outcomes["trains as it stands, losses equal" if same else "trains as it stands, losses differ"] += 1
        if not same:
            half.lines.append(f"{name}: losses {cpu['losses']} on the CPU, {npu['losses']} on the NPU")
        return
    if npu["outcome"] == "timeout":
        half.outcomes["out of time on the NPU"] += 1
        return
    half.outcomes["crashes on the NPU"] += 1
    how = tell_crash(places, frames, describe_end(npu))
    half.told[how] += 1
    half.lines.append(f"{name}: crash, {how}: {frames[-3:]} {describe_end(npu)}")


def tell_crash(places: Places, frames: Sequence[tuple[str, int]], error: str) -> str:
    """Return where the scan said that something is to be done: at the innermost own line, above it, at the cause that
    the error is known to have, in a file that the run was in, or nowhere."""
    work = {place for place, judged in places.items() if any(repair in WORK for repair, _ in judged)}
    if frames and frames[-1] in work:
        return AT_LINE
    if any(frame in work for frame in frames):
        return ABOVE
    codes = find_cause(error)
    files = {path for path, _ in frames}
    own = {path for (path, _), judged in places.items() if any(rule in codes for _, rule in judged)}
    return AT_CAUSE if files & own else NOT_SAID


def find_cause(error: str) -> tuple[str, ...]:
    """Return the rules that speak of what an error is known to come from."""
    return next((codes for pattern, codes in CAUSES if re.search(pattern, error)), ())


def count_executed(
    half: Half,
    name: str,
    places: Places,
    base: str,
    npu: dict[str, Any],
    frames: Sequence[tuple[str, int]],
) -> None:
    """Count places called unsupported whose lines ran: the run ended there, or it went on."""
    codes = () if npu.get("ok") else find_cause(describe_end(npu))
    ran = {(base + path, line) for path, lines in npu.get("reached", {}).items() for line in lines}
    for place, judged in sorted(places.items()):
        if any(repair == "unsupported" for repair, _ in judged) and place in ran:
            ended = not npu.get("ok") and (place in frames or any(rule in codes for _, rule in judged))
            half.unsupported["the run ended there" if ended else "the run went on"] += 1
            if not ended:
                half.lines.append(f"{name}: {place[0]}:{place[1]} called unsupported, and the run went on")


def are_equal(first: Sequence[float | None], second: Sequence[float | None]) -> bool:
    """Return whether two runs' losses are there, as many, and equal within TOLERANCE."""
    if not first or len(first) != len(second):
        return False
    pairs = list(zip(first, second))
    return all(a is not None and b is not None and abs(a - b) <= TOLERANCE * max(abs(a), 1e-6) for a, b in pairs)


def describe_end(result: dict[str, Any]) -> str:
    """Return how a run failed, in a line."""
    error = result.get("error") or {}
    last = next((line for line in reversed(result.get("traceback", [])) if line.strip()), "")
    text = f"{error.get('type', result['outcome'])}: {error.get('message') or last or result.get('said', '')}"
    return " ".join(text.split())[:260]


def show(half: Half) -> None:
    """Print the figures, and what they rest on."""
    print("\n".join(half.lines))
    for title, counts in (
        ("repositories", half.outcomes),
        ("crashes", half.told),
        ("places called unsupported that ran", half.unsupported),
        ("migrate", half.migrated),
    ):
        print(f"{title}: {dict(counts)}")
    crashes = sum(half.told.values())
    foretold = crashes - half.told[NOT_SAID]
    print(f"crashes that the scan said before: {foretold} of {crashes}, {half.told[AT_LINE]} at the very line")
    right = sum(count for (label, judged), count in half.labels.counted.items() if label == judged)
    print(f"labels: {right} of {sum(half.labels.counted.values())} agree ({half.labels.agreement:.1%})")
    called = sum(count for (_, judged), count in half.labels.counted.items() if judged == "unsupported")
    print(
        f"labelled lines called unsupported that are: {half.labels.counted['unsupported', 'unsupported']} of {called}"
    )
    print(half.labels.format_table(), *half.labels.wrong, sep="\n")
    assert set(LABELS) >= {label for label, _ in half.labels.counted}

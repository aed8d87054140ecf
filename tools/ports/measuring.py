"""Measures a port made by hand: the changed lines of its upstream's Python, and those of them that speak of a device.

Comments, blank lines and white space are left out; of a changed stretch the longer side counts. A file that upstream
does not have counts nowhere: ports bring conversion tools, copies of libraries and whole data sets along.
"""

from __future__ import annotations

import difflib
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: What a changed line speaks of that was changed for the device: it, its mixed precision, or how its processes start.
DEVICE_WORDS = re.compile(
    r"npu|apex|\bamp\b|hccl|cuda|\bdevice|ascend|nccl|gpu|loss_scale|combine_grad|combine_ddp|opt_level|fused"
    r"|half\(|float\(|local_rank|master|world_size|distributed",
    re.IGNORECASE,
)
#: COCOMO II.2000's nominal effort (Boehm et al., Model Definition Manual): person-months of 152 hours from thousands of
#: lines. It was fitted on programs of 2,000 lines and more; what stands here below that is extrapolated.
COCOMO_A, COCOMO_E, COCOMO_MONTH_H = 2.94, 1.0997, 152
#: Size classes by device lines: from, below, name.
CLASSES = ((0, 40, "small"), (40, 100, "medium"), (100, 300, "large"))


@dataclass(frozen=True)
class Size:
    """How much of the upstream's Python files a port changed."""

    files: int
    lines: int
    device_lines: int


def estimate_hours_of_lines(lines: int) -> float:
    """Return the hours that COCOMO II's nominal equation gives for that many lines."""
    return float(COCOMO_A * (lines / 1000) ** COCOMO_E * COCOMO_MONTH_H)


def classify_size(device_lines: int) -> tuple[str, float, float]:
    """Return the size class with its hours, from and to."""
    for least, most, name in CLASSES:
        if device_lines < most:
            return name, estimate_hours_of_lines(least), estimate_hours_of_lines(most)
    raise ValueError(f"{device_lines} lines: more than the largest size class has")


def is_within_class(hours: float, device_lines: int) -> bool:
    """Say whether hours lie within a factor of two of the size class of that many lines."""
    _, low, high = classify_size(device_lines)
    return low / 2 <= hours <= high * 2


def is_near_equation(hours: float, device_lines: int) -> bool:
    """Say whether hours lie within a factor of two of what the equation gives for that many lines."""
    return 0.5 <= hours / estimate_hours_of_lines(device_lines) <= 2


def measure_port(before: Mapping[str, str], after: Mapping[str, str]) -> Size:
    """Measure the change of the files of both sides, by path below the two roots."""
    changed = [count_changed_lines(text, after[path]) for path, text in before.items() if path in after]
    files = [size for size in changed if size[0]]
    return Size(len(files), sum(lines for lines, _ in files), sum(device for _, device in files))


def count_changed_lines(before: str, after: str) -> tuple[int, int]:
    """Count the changed lines of code, and those that speak of a device."""
    old, new = list(_list_code(before)), list(_list_code(after))
    lines = device = 0
    for kind, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if kind != "equal":
            lines += max(old_to - old_from, new_to - new_from)
            device += max(_count_device(old[old_from:old_to]), _count_device(new[new_from:new_to]))
    return lines, device


def find_roots(before: Iterable[str], after: Iterable[str], depth: int = 3) -> tuple[str, str]:
    """Find the folders, up to `depth` deep, below which most paths of both sides are the same; the shallowest first."""
    old, new = set(before), set(after)
    pairs = [(left, right) for left in _list_folders(old, depth) for right in _list_folders(new, depth)]
    return max(pairs, key=lambda pair: (_count_common(old, new, pair), -len(pair[0]) - len(pair[1])))


def read_python(clone: Path, commit: str, folder: str) -> dict[str, str]:
    """Read the Python files of a commit below a folder, by path below it, without a working tree."""
    listed = _git(clone, "ls-tree", "-r", commit, *([folder] if folder else [])).decode("utf-8", "replace")
    blobs = [line.partition("\t") for line in listed.splitlines()]
    wanted = [(name, meta.split()[2]) for meta, _, name in blobs if name.endswith(".py") and " blob " in meta]
    data = _git(clone, "cat-file", "--batch", stdin="\n".join(blob for _, blob in wanted).encode())
    files: dict[str, str] = {}
    at = 0
    for name, _ in wanted:
        end = data.index(b"\n", at)
        head, at = data[at:end].split(), end + 1
        if head[-1] == b"missing":
            continue
        size = int(head[2])
        files[name[len(folder) :].lstrip("/")] = data[at : at + size].decode("utf-8", "replace")
        at += size + 1
    return files


def _git(clone: Path, *words: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(clone), *words], input=stdin, capture_output=True, check=True).stdout


def _list_code(text: str) -> Iterable[str]:
    for line in text.splitlines():
        words = " ".join(line.split())
        if words and not words.startswith("#"):
            yield words


def _count_device(lines: Iterable[str]) -> int:
    return sum(bool(DEVICE_WORDS.search(line)) for line in lines)


def _list_folders(paths: Iterable[str], depth: int) -> set[str]:
    parts = [path.split("/") for path in paths]
    return {""} | {"/".join(part[:deep]) + "/" for part in parts for deep in range(1, min(len(part), depth + 1))}


def _count_common(old: set[str], new: set[str], pair: tuple[str, str]) -> int:
    left, right = pair
    below = {path[len(left) :] for path in old if path.startswith(left)}
    return len(below & {path[len(right) :] for path in new if path.startswith(right)})

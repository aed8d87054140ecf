"""The pairs of torch and torch_npu that are tried: ascend_simulator/pairs.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Pair:
    """One torch and the torch_npu that goes with it."""

    torch: str
    torch_npu: str


def load_pairs() -> dict[str, Pair]:
    """Return the pairs by torch's release, in the order of the file."""
    read = json.loads((ROOT / "ascend_simulator" / "pairs.json").read_text(encoding="utf-8"))
    return {pair["torch"]: Pair(pair["torch"], pair["torch_npu"]) for pair in read["pairs"]}


def choose_pairs(asked: str) -> list[Pair]:
    """Return those of a list such as `2.12.0,2.7.1`, all without one.

    Raises ValueError for a release that pairs.json does not name.
    """
    pairs = load_pairs()
    wanted = [release for release in asked.split(",") if release] or list(pairs)
    unknown = [release for release in wanted if release not in pairs]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: ascend_simulator/pairs.json has {', '.join(pairs)}")
    return [pairs[release] for release in wanted]

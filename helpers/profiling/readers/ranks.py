"""Which profile of a folder is whose: the rank is told by the name, or by torch_npu's `profiler_info_<rank>.json`."""

from __future__ import annotations

import re
from pathlib import Path

RANK = re.compile(r"rank[-_]?(\d+)(?!\d)", re.IGNORECASE)
INFO = re.compile(r"profiler_info_(\d+)\.json")


def by_rank(profiles: list[Path]) -> dict[int, Path]:
    """Rank -> its profile, in order; empty where one does not tell its rank, or two tell the same."""
    ranks = [rank_of(one) for one in profiles]
    told = {rank: one for rank, one in zip(ranks, profiles) if rank is not None}
    return dict(sorted(told.items())) if len(told) == len(profiles) else {}


def rank_of(profile: Path) -> int | None:
    """The rank of a trace file or an `*_ascend_pt` folder, or None."""
    inside = [one.name for one in profile.glob("profiler_info_*.json")] if profile.is_dir() else []
    found = [*map(INFO.fullmatch, inside), RANK.search(profile.name)]
    return next((int(one.group(1)) for one in found if one), None)

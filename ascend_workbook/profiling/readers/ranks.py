"""Which profile of a folder is whose: the rank is told by the profile itself, by torch_npu's file beside it, or by a
name: rank3.pt.trace.json, rank3_..._ascend_pt, or a folder rank3 around it."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

RANK = re.compile(r"rank[-_]?(\d+)(?!\d)", re.IGNORECASE)
INFO = re.compile(r"profiler_info_(\d+)\.json")
#: torch.profiler writes this before the events
OWN = re.compile(rb'"distributedInfo"\s*:\s*(\{)')
HEAD = 2**17
#: When it was made: 20260101120000000 (torch_npu's folders), 1623143089861 (torch's files)
STAMP = re.compile(r"(?<!\d)(\d{13,17})(?!\d)")


@dataclass(frozen=True)
class RankProfiles:
    """Rank -> its profile, in order. `older`: further profiles of a rank, of which the newest is used; `untold`: those
    that do not tell their rank."""

    profiles: dict[int, Path]
    older: dict[int, list[Path]] = field(default_factory=dict)
    untold: list[Path] = field(default_factory=list)


def group_by_rank(profiles: list[Path]) -> RankProfiles:
    """Return the profiles by the rank that each belongs to."""
    paths_of_rank: dict[int, list[Path]] = {}
    without_rank = []
    for profile in profiles:
        rank = rank_of(profile)
        if rank is None:
            without_rank.append(profile)
        else:
            paths_of_rank.setdefault(rank, []).append(profile)
    newest_last = {rank: sorted(paths_of_rank[rank], key=_creation_order) for rank in sorted(paths_of_rank)}
    older = {rank: paths[:-1] for rank, paths in newest_last.items() if len(paths) > 1}
    return RankProfiles({rank: paths[-1] for rank, paths in newest_last.items()}, older, without_rank)


def rank_of(profile: Path) -> int | None:
    """Return the rank of a trace file or an `*_ascend_pt` folder, or None."""
    inside = [info.name for info in profile.glob("profiler_info_*.json")] if profile.is_dir() else []
    rank = next((int(info.group(1)) for info in map(INFO.fullmatch, inside) if info), None)
    if rank is None and profile.is_file():
        rank = _own_rank(profile)
    if rank is not None:
        return rank
    match = RANK.search(profile.name) or RANK.fullmatch(profile.parent.name)
    return int(match.group(1)) if match else None


def _own_rank(file: Path) -> int | None:
    """Return the rank that the file's own distributedInfo says, where it stands before the events; a broken file says
    nothing here.
    """
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            head = stream.read(HEAD)
    except (OSError, EOFError, zlib.error):
        return None
    match = OWN.search(head)
    if not match:
        return None
    try:
        info, _ = json.JSONDecoder().raw_decode(head[match.start(1) :].decode("utf-8", "replace"))
    except ValueError:
        return None
    rank = info.get("rank")
    return rank if type(rank) is int and rank >= 0 else None


def _creation_order(profile: Path) -> tuple[str, int]:
    stamp = STAMP.search(profile.name)
    return stamp.group(1) if stamp else "", profile.stat().st_mtime_ns

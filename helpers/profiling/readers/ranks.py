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


def by_rank(profiles: list[Path]) -> RankProfiles:
    """Whose each of the profiles is."""
    of: dict[int, list[Path]] = {}
    untold = []
    for one in profiles:
        rank = rank_of(one)
        if rank is None:
            untold.append(one)
        else:
            of.setdefault(rank, []).append(one)
    newest_last = {rank: sorted(of[rank], key=_made) for rank in sorted(of)}
    older = {rank: found[:-1] for rank, found in newest_last.items() if len(found) > 1}
    return RankProfiles({rank: found[-1] for rank, found in newest_last.items()}, older, untold)


def rank_of(profile: Path) -> int | None:
    """The rank of a trace file or an `*_ascend_pt` folder, or None."""
    inside = [one.name for one in profile.glob("profiler_info_*.json")] if profile.is_dir() else []
    told = next((int(one.group(1)) for one in map(INFO.fullmatch, inside) if one), None)
    if told is None and profile.is_file():
        told = _own_rank(profile)
    if told is not None:
        return told
    found = RANK.search(profile.name) or RANK.fullmatch(profile.parent.name)
    return int(found.group(1)) if found else None


def _own_rank(file: Path) -> int | None:
    """What the file's own distributedInfo says, where it stands before the events; a broken file says nothing here."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            head = opened.read(HEAD)
    except (OSError, EOFError, zlib.error):
        return None
    found = OWN.search(head)
    if not found:
        return None
    try:
        told, _ = json.JSONDecoder().raw_decode(head[found.start(1) :].decode("utf-8", "replace"))
    except ValueError:
        return None
    rank = told.get("rank")
    return rank if type(rank) is int and rank >= 0 else None


def _made(profile: Path) -> tuple[str, int]:
    stamp = STAMP.search(profile.name)
    return stamp.group(1) if stamp else "", profile.stat().st_mtime_ns

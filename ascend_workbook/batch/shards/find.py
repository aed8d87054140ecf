"""Shards by their places: which there are, where their joined page goes, and the way from it to each."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ascend_workbook.batch.shards import record
from ascend_workbook.batch.shards.record import FILE, FOLDER, Shard
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.storage import is_address, open_storage


def find_shards(places: Sequence[str]) -> list[Shard]:
    """Find the shards at the places, by part. Raises WorkbookError for a place that is and holds none, and for what is
    no shard.json."""
    shard_places = dict.fromkeys(shard_place for place in places for shard_place in _shard_places(place))
    return sorted(map(_load_shard, shard_places), key=lambda shard: shard.part)


def _shard_places(place: str) -> list[str]:
    """Return the place where it is a shard's folder, else the shards' folders in it."""
    storage = open_storage(place)
    if storage.exists(FILE):
        return [_strip_slash(place)]
    inner = [name.rstrip("/") for name in storage.list_children() if name.endswith("/")]
    inner_places = [
        f"{_strip_slash(place)}/{name}" for name in inner if FOLDER.fullmatch(name) and storage.exists(f"{name}/{FILE}")
    ]
    if not inner_places:
        raise WorkbookError("plan.join_none", place=place)
    return inner_places


def _load_shard(place: str) -> Shard:
    try:
        return record.load_shard(open_storage(place).read_text(FILE), place)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as cause:
        why: Scalar = explain_os_error(cause) if isinstance(cause, OSError) else str(cause)
        raise WorkbookError("plan.join_unreadable", place=place, error=why) from cause


def joined_place(places: Sequence[str], shards_found: Sequence[Shard], root: str) -> str:
    """Return where the joined page goes: into the one place that holds shards, else below the root."""
    if len(places) == 1 and _strip_slash(places[0]) != shards_found[0].place:
        return _strip_slash(places[0])
    return f"{_strip_slash(root)}/{shards_found[0].plan}"


def relative_way(start: str, place: str) -> str:
    """Return the relative way from a page at `start` to the shard at `place`; empty where there is none."""
    if is_address(start) or is_address(place):
        return place.removeprefix(f"{start}/") if place.startswith(f"{start}/") else ""
    return os.path.relpath(place, start).replace(os.sep, "/")


def _strip_slash(place: str) -> str:
    return place.rstrip("/") or "/"

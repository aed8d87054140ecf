"""Shards by their places: which there are, where their joined page goes, and the way from it to each."""

from __future__ import annotations

import os
from collections.abc import Sequence

from helpers.batch.shards import record
from helpers.batch.shards.record import FILE, FOLDER, Shard
from helpers.errors import WorkbookError, reason
from helpers.storage import is_address, open_storage
from helpers.words import Scalar


def shards(places: Sequence[str]) -> list[Shard]:
    """Those at the places, by part. Raises WorkbookError for a place that is and holds none, and for what is no
    shard.json."""
    found = dict.fromkeys(one for place in places for one in _holding(place))
    return sorted(map(_at, found), key=lambda shard: shard.part)


def _holding(place: str) -> list[str]:
    """The shard's folder that it is, or those that it holds."""
    storage = open_storage(place)
    if storage.exists(FILE):
        return [_plain(place)]
    inner = [name.rstrip("/") for name in storage.children() if name.endswith("/")]
    found = [f"{_plain(place)}/{name}" for name in inner
             if FOLDER.fullmatch(name) and storage.exists(f"{name}/{FILE}")]  # fmt: skip
    if not found:
        raise WorkbookError("plan.join_none", place=place)
    return found


def _at(place: str) -> Shard:
    try:
        return record.load(open_storage(place).read_text(FILE), place)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as cause:
        why: Scalar = reason(cause) if isinstance(cause, OSError) else str(cause)
        raise WorkbookError("plan.join_unreadable", place=place, error=why) from cause


def target(places: Sequence[str], found: Sequence[Shard], root: str) -> str:
    """Where the joined page goes: into the one place that holds shards, else below the root."""
    if len(places) == 1 and _plain(places[0]) != found[0].place:
        return _plain(places[0])
    return f"{_plain(root)}/{found[0].plan}"


def way(start: str, place: str) -> str:
    """From a page at `start` to the shard at `place`: relative, with /; empty where there is none."""
    if is_address(start) or is_address(place):
        return place.removeprefix(f"{start}/") if place.startswith(f"{start}/") else ""
    return os.path.relpath(place, start).replace(os.sep, "/")


def _plain(place: str) -> str:
    return place.rstrip("/") or "/"

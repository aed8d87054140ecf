"""Which runs of a plan this start is about. What it leaves out is said, never shown as run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from helpers.batch.plan.entry import nearest, short
from helpers.batch.plan.model import Item, LeftOut, Plan
from helpers.errors import WorkbookError
from helpers.words import Scalar

SHARD = re.compile(r"([1-9]\d{0,5})/([1-9]\d{0,5})", re.ASCII)


@dataclass(frozen=True)
class Selection:
    """Runs with one of `tags` and none of `skip_tags`, whose name one of `only` matches and none of `skip`; of these
    the part `shard`, (1, 4) for the first of four. Empty: no choice by it."""

    tags: Sequence[str] = ()
    skip_tags: Sequence[str] = ()
    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    shard: tuple[int, int] | None = None

    @property
    def digest(self) -> str:
        """Equal for one choice, whatever the shard."""
        said = [list(words) for words in (self.tags, self.skip_tags, self.only, self.skip)]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def parse_shard(text: str) -> tuple[int, int]:
    """(2, 4) of `2/4`. Raises WorkbookError."""
    match = SHARD.fullmatch(text)
    if not match or int(match[1]) > int(match[2]):
        raise WorkbookError("plan.shard", text=short(text))
    return int(match[1]), int(match[2])


def shard_of(name: str, count: int) -> int:
    """The part, from 1, that a run belongs to: by its name alone, so that a run added to a plan moves no other."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") % count + 1


def select(plan: Plan, chosen: Selection) -> Plan:
    """The plan with the chosen runs; the others are in `left_out` with the reason.

    Raises WorkbookError for a tag that no run has, a pattern that matches none, and where nothing is left. That a shard
    of it has no run is no error: the plan is small.
    """
    _check_known(plan, chosen)
    why = {item.name: _why_not(item, chosen) for item in plan.items}
    all_left = all(why.values())
    if chosen.shard:
        why = {item.name: why[item.name] or _elsewhere(item, *chosen.shard) for item in plan.items}
    left = tuple(LeftOut(name, reason) for name, reason in why.items() if reason is not None)
    items = tuple(item for item in plan.items if why[item.name] is None)
    if all_left:
        raise WorkbookError("plan.none_left", runs=len(plan.items) + len(plan.left_out), why=_reasons(left, plan))
    digest = hashlib.sha256(f"{plan.digest} {chosen.digest}".encode()).hexdigest()
    return replace(plan, items=items, left_out=(*plan.left_out, *left), digest=digest, shard=chosen.shard)


def _why_not(item: Item, chosen: Selection) -> Scalar:
    barred = next((tag for tag in chosen.skip_tags if tag in item.tags), None)
    matched = next((pattern for pattern in chosen.skip if fnmatchcase(item.name, pattern)), None)
    if chosen.tags and not set(chosen.tags) & set(item.tags):
        return {"say": "plan.left.tag", "args": {"tags": list(chosen.tags)}}
    if barred is not None:
        return {"say": "plan.left.skip_tag", "args": {"tag": barred}}
    if chosen.only and not any(fnmatchcase(item.name, pattern) for pattern in chosen.only):
        return {"say": "plan.left.only", "args": {"patterns": list(chosen.only)}}
    if matched is not None:
        return {"say": "plan.left.skip", "args": {"pattern": matched}}
    return None


def _elsewhere(item: Item, part: int, count: int) -> Scalar:
    own = shard_of(item.name, count)
    return None if own == part else {"say": "plan.left.shard", "args": {"part": own, "count": count}}


def _check_known(plan: Plan, chosen: Selection) -> None:
    tags = sorted({tag for item in plan.items for tag in item.tags})
    names = [*(item.name for item in plan.items), *(one.name for one in plan.left_out)]
    for tag in (*chosen.tags, *chosen.skip_tags):
        if tag not in tags:
            raise WorkbookError("plan.no_tag", tag=short(tag), close=nearest(tag, tags) or None)
    for pattern in (*chosen.only, *chosen.skip):
        if not any(fnmatchcase(name, pattern) for name in names):
            raise WorkbookError("plan.no_run", pattern=short(pattern), close=nearest(pattern, names[:200])[:5])


def _reasons(left: Sequence[LeftOut], plan: Plan) -> list[Scalar]:
    """Each reason once."""
    found: list[Scalar] = []
    for one in (*plan.left_out, *left):
        if one.why not in found and len(found) < 5:
            found.append(one.why)
    return found

"""What a shard leaves for those that join it: `shard.json`, beside its summary, whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from helpers.batch.campaign.ended import LEFT_OUT, restored
from helpers.batch.fingerprint import own_code
from helpers.batch.plan.model import Expected, Plan
from helpers.batch.plan.naming import is_plain
from helpers.batch.results.rows import Row, StageRow
from helpers.finding import Status
from helpers.storage import Storage
from helpers.words import LANGUAGES, say, show

FILE, FORM = "shard.json", 1
#: Its folder in the plan's own.
FOLDER = re.compile(r"shard-([1-9]\d{0,5})-of-([1-9]\d{0,5})", re.ASCII)


@dataclass(frozen=True)
class Shard:
    """The part `part` of `count` of the plan: its rows and those of all other runs as left out, `order` the names of
    all. `began` and `ended` are times in UTC, `code` is equal for one version of the workbook."""

    plan: str
    digest: str
    part: int
    count: int
    began: datetime
    ended: datetime
    finished: bool
    stopped: str
    code: str
    order: tuple[str, ...]
    expect: tuple[Expected, ...]
    rows: tuple[Row, ...]
    place: str = ""


def folder_name(shard: tuple[int, int]) -> str:
    """`shard-2-of-4`."""
    return f"shard-{shard[0]}-of-{shard[1]}"


def save(storage: Storage, plan: Plan, rows: Sequence[Row], *, began: datetime, ended: datetime, finished: bool,
         stopped: str) -> None:  # fmt: skip
    """As things stand; nothing where the plan was not started as a shard."""
    if plan.shard is None:
        return
    told = {
        "form": FORM, "plan": plan.name, "digest": plan.digest, "part": plan.shard[0], "count": plan.shard[1],
        "began": began.isoformat(), "ended": ended.isoformat(), "finished": finished, "stopped": stopped,
        "code": own_code(), "order": list(plan.given), "expect": [asdict(one) for one in plan.expect],
        "rows": [{**asdict(row), "files": sorted(row.files)} for row in rows],
    }  # fmt: skip
    storage.write_text(FILE, json.dumps(told, ensure_ascii=False))


def load(text: str, place: str) -> Shard:
    """What `save` wrote, found at `place`. Raises ValueError, TypeError, KeyError or AttributeError for anything else:
    what is shown of it later is tried here."""
    told: dict[str, Any] = json.loads(text)
    if told["form"] != FORM:
        raise ValueError(f"form {told['form']!r}, expected {FORM}")
    shard = Shard(
        str(told["plan"]), str(told["digest"]), int(told["part"]), int(told["count"]),
        datetime.fromisoformat(told["began"]), datetime.fromisoformat(told["ended"]), bool(told["finished"]),
        str(told["stopped"]), str(told["code"]), tuple(map(str, told["order"])),
        tuple(Expected(**one) for one in told["expect"]), tuple(map(_row, told["rows"])), place,
    )  # fmt: skip
    known = {row.name for row in shard.rows}
    if not is_plain(shard.plan) or not 1 <= shard.part <= shard.count or set(shard.order) != known:
        raise ValueError("what it says of itself does not fit together")
    if shard.began.tzinfo is None or shard.ended.tzinfo is None:
        raise ValueError("a time without its zone")
    return shard


def _row(told: Mapping[str, Any]) -> Row:
    ended = restored(told["ended"])
    stages = tuple(StageRow(**one) for one in told["stages"])
    row = Row(**{**told, "ended": ended, "stages": stages, "tags": tuple(told["tags"]),
                 "files": frozenset(map(str, told["files"]))})  # fmt: skip
    for lang in LANGUAGES:
        say(f"plan.state.{row.state}", lang)
        [show(each, lang) for each in (ended.verdict, *ended.notes, *(stage.verdict for stage in stages))]
    [Status[status] for status in (row.status, *(stage.status for stage in stages))]
    if not is_plain(row.name) or row.place != row.name:
        raise ValueError(f"a run may not be called {row.name!r}")
    return row


def own(shard: Shard) -> list[Row]:
    """The runs that are the shard's."""
    return [row for row in shard.rows if row.state != LEFT_OUT]

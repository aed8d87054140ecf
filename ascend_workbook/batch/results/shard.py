"""What a shard leaves for those that join it: `shard.json`, beside its summary, whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ascend_workbook.batch.campaign.ended import LEFT_OUT, restore_ended
from ascend_workbook.batch.fingerprint import own_code
from ascend_workbook.batch.plan.model import Expected, Plan
from ascend_workbook.batch.plan.runs import is_plain_name
from ascend_workbook.batch.results.rows import Row, StageRow
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import LANGUAGES, say, show
from ascend_workbook.storage import Storage

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
    """Return the folder's name, such as `shard-2-of-4`."""
    return f"shard-{shard[0]}-of-{shard[1]}"


def save_shard(
    storage: Storage, plan: Plan, rows: Sequence[Row], *, began: datetime, ended: datetime, finished: bool, stopped: str
) -> None:
    """Save a shard as things stand; nothing where the plan was not started as a shard."""
    if plan.shard is None:
        return
    content = {
        "form": FORM,
        "plan": plan.name,
        "digest": plan.digest,
        **dict(zip(("part", "count"), plan.shard)),
        "began": began.isoformat(),
        "ended": ended.isoformat(),
        "finished": finished,
        "stopped": stopped,
        "code": own_code(),
        "order": list(plan.given),
        "expect": [asdict(expectation) for expectation in plan.expect],
        "rows": [{**asdict(row), "files": sorted(row.files)} for row in rows],
    }
    storage.write_text(FILE, json.dumps(content, ensure_ascii=False))


def load_shard(text: str, place: str) -> Shard:
    """Load what `save_shard` wrote, found at `place`. Raises ValueError, TypeError, KeyError or AttributeError for
    anything else: what is shown of it later is tried here."""
    content: dict[str, Any] = json.loads(text)
    if content["form"] != FORM:
        raise ValueError(f"form {content['form']!r}, expected {FORM}")
    shard = Shard(
        str(content["plan"]),
        str(content["digest"]),
        int(content["part"]),
        int(content["count"]),
        datetime.fromisoformat(content["began"]),
        datetime.fromisoformat(content["ended"]),
        bool(content["finished"]),
        str(content["stopped"]),
        str(content["code"]),
        tuple(map(str, content["order"])),
        tuple(Expected(**expectation) for expectation in content["expect"]),
        tuple(map(_restore_row, content["rows"])),
        place,
    )
    names_known = {row.name for row in shard.rows}
    if not is_plain_name(shard.plan) or not 1 <= shard.part <= shard.count or set(shard.order) != names_known:
        raise ValueError("what it says of itself does not fit together")
    if shard.began.tzinfo is None or shard.ended.tzinfo is None:
        raise ValueError("a time without its zone")
    return shard


def _restore_row(content: Mapping[str, Any]) -> Row:
    ended = restore_ended(content["ended"])
    stages = tuple(map(_restore_stage, content["stages"]))
    lists = {"stages": stages, "tags": tuple(content["tags"]), "files": frozenset(map(str, content["files"]))}
    row = Row(**{**content, "ended": ended, **lists})
    for lang in LANGUAGES:
        say(f"plan.state.{row.state}", lang)
        [show(sentence, lang) for sentence in (ended.verdict, *ended.notes, *(stage.verdict for stage in stages))]
    if not is_plain_name(row.name) or row.place != row.name:
        raise ValueError(f"a run may not be called {row.name!r}")
    return row


def _restore_stage(content: Mapping[str, Any]) -> StageRow:
    return StageRow(**{**content, "status": Status.from_json(content["status"]).json})


def own_rows(shard: Shard) -> list[Row]:
    """Return the rows of the shard's own runs."""
    return [row for row in shard.rows if row.state != LEFT_OUT]

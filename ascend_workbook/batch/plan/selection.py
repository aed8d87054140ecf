"""Which runs of a plan this start is about, and `run PLAN --list`. What it leaves out is said, never shown as run."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from ascend_workbook.batch.plan.document import nearest_or_all, shorten_text
from ascend_workbook.batch.plan.model import Item, LeftOut, Plan
from ascend_workbook.batch.plan.reading import check, read_plan
from ascend_workbook.batch.stages import NOTEBOOKS
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language

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
        """Return a hash that is equal for the same choice, whatever the shard."""
        words_chosen = [list(words) for words in (self.tags, self.skip_tags, self.only, self.skip)]
        return hashlib.sha256(json.dumps(words_chosen).encode()).hexdigest()


def parse_shard(text: str) -> tuple[int, int]:
    """Parse `2/4` as (2, 4). Raises WorkbookError."""
    match = SHARD.fullmatch(text)
    if not match or int(match[1]) > int(match[2]):
        raise WorkbookError("plan.shard", text=shorten_text(text))
    return int(match[1]), int(match[2])


def shard_of(name: str, count: int) -> int:
    """Return the part, from 1, that a run belongs to: by its name alone, so that a run that is added moves no other."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") % count + 1


def select_items(plan: Plan, chosen: Selection) -> Plan:
    """Return the plan with the chosen runs; the others are in `left_out` with the reason. Raises WorkbookError for a
    tag that no run has, a pattern that matches none, and where nothing is left; a shard without runs is no error."""
    tags = sorted({tag for item in plan.items for tag in item.tags})
    names = [*(item.name for item in plan.items), *(left.name for left in plan.left_out)]
    for tag in (*chosen.tags, *chosen.skip_tags):
        if tag not in tags:
            raise WorkbookError("plan.no_tag", tag=shorten_text(tag), close=nearest_or_all(tag, tags) or None)
    for pattern in (*chosen.only, *chosen.skip):
        if not any(fnmatchcase(name, pattern) for name in names):
            close = nearest_or_all(pattern, names[:200])[:5]
            raise WorkbookError("plan.no_run", pattern=shorten_text(pattern), close=close)
    why = {item.name: _why_not(item, chosen) for item in plan.items}
    all_left = all(why.values())
    if chosen.shard:
        part, count = chosen.shard
        for name in [name for name, reason in why.items() if not reason and shard_of(name, count) != part]:
            why[name] = Sentence("plan.left.shard", part=shard_of(name, count), count=count)
    left_out = tuple(LeftOut(name, reason) for name, reason in why.items() if reason is not None)
    items = tuple(item for item in plan.items if why[item.name] is None)
    if all_left:
        reasons: list[Scalar] = []
        for left in (*plan.left_out, *left_out):
            reasons += [left.why] if left.why not in reasons and len(reasons) < 5 else []
        raise WorkbookError("plan.none_left", runs=len(plan.items) + len(plan.left_out), why=reasons)
    digest = hashlib.sha256(f"{plan.digest} {chosen.digest}".encode()).hexdigest()
    return replace(plan, items=items, left_out=(*plan.left_out, *left_out), digest=digest, shard=chosen.shard)


def _why_not(item: Item, chosen: Selection) -> Scalar:
    barred = next((tag for tag in chosen.skip_tags if tag in item.tags), None)
    matched = next((pattern for pattern in chosen.skip if fnmatchcase(item.name, pattern)), None)
    if chosen.tags and not set(chosen.tags) & set(item.tags):
        return Sentence("plan.left.tag", tags=list(chosen.tags))
    if barred is not None:
        return Sentence("plan.left.skip_tag", tag=barred)
    if chosen.only and not any(fnmatchcase(item.name, pattern) for pattern in chosen.only):
        return Sentence("plan.left.only", patterns=list(chosen.only))
    if matched is not None:
        return Sentence("plan.left.skip", pattern=matched)
    return None


COLUMNS = ("planned_run", "planned_stages", "planned_parameters", "planned_tags", "left_out")


def select_runs(
    path: str | os.PathLike[str],
    selection: Selection | None = None,
    *,
    lang: str | None = None,
    notebooks: Path = NOTEBOOKS,
) -> Plan:
    """Read and check the plan in a file, and keep the runs that the selection leaves. Raises WorkbookError."""
    return select_items(check(read_plan(Path(path), choose_language(lang)), notebooks), selection or Selection())


def list_plan(
    path: str | os.PathLike[str],
    selection: Selection | None = None,
    *,
    lang: str | None = None,
    notebooks: Path = NOTEBOOKS,
) -> Report:
    """List the runs that `run_plan` would run. Raises WorkbookError for what is wrong with the plan."""
    plan = select_runs(path, selection, lang=lang, notebooks=notebooks)
    rows: list[tuple[Scalar, ...]] = []
    for item in plan.items:
        stages: list[Scalar] = [Sentence(f"name.{stage}") for stage in item.stages]
        rows.append(
            (item.name, stages, [f"{name}={value}" for name, value in item.parameters.items()], [*item.tags], "")
        )
    rows += [(left.name, None, None, None, left.why) for left in plan.left_out]
    args: dict[str, Scalar] = {"runs": len(plan.items), "left": len(plan.left_out)}
    key = "RUN420.listed_but" if plan.left_out else "RUN420.listed"
    finding = Finding("RUN420", Status.GOOD if plan.items else Status.NOT_LOOKED, key, args)
    facts = {
        "name": plan.name,
        "workers": plan.workers,
        "runs": [
            {name: getattr(item, name) for name in ("name", "stages", "parameters", "tags", "lang")}
            for item in plan.items
        ],
        "left_out": [{"name": left.name, "why": left.why} for left in plan.left_out],
    }
    return Report("batch", "plan", (finding,), Table(tuple(map(Column, COLUMNS)), tuple(rows)), facts=facts)

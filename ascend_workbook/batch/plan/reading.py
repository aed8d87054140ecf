"""plan.yaml: strict, for a word that is not known would silently change what runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.batch.plan.document import load_document
from ascend_workbook.batch.plan.entry import Entry
from ascend_workbook.batch.plan.model import Plan, Targets
from ascend_workbook.batch.plan.naming import is_plain_name, read_name
from ascend_workbook.batch.plan.runs import make_drafts, make_items
from ascend_workbook.batch.plan.sections import add_tags, find_skipped, read_expected, read_targets
from ascend_workbook.batch.plan.units import read_mib

TOP = (
    "name",
    "lang",
    "workers",
    "cards",
    "disk",
    "stages",
    "parameters",
    "defaults",
    "require",
    "matrix",
    "runs",
    "tags",
    "skip",
    "expect",
    "targets",
)
MOST_WORKERS, HIGHEST_CARD = 256, 1023


def read_plan(path: Path, lang: str) -> Plan:
    """Read the plan in a file: its runs with whole paths, less those of its `skip:`.

    Raises WorkbookError that names the file, the place and the line of what is wrong.
    """
    root = load_document(path)
    top = root.read_mapping(TOP)
    plan_items, parameters = make_items(make_drafts(top), path.resolve().parent, lang)
    if not plan_items:
        raise root.make_error("plan.empty")
    plan_items = add_tags(top["tags"], plan_items) if "tags" in top else plan_items
    left_out = find_skipped(top["skip"], plan_items) if "skip" in top else []
    names = {left_out_run.name for left_out_run in left_out}
    return Plan(
        _plan_name(top, root, path),
        tuple(item for item in plan_items if item.name not in names),
        top["workers"].read_number(1, MOST_WORKERS) if "workers" in top else 1,
        _read_cards(top["cards"]) if "cards" in top else (),
        tuple(left_out),
        read_expected(top["expect"], plan_items) if "expect" in top else (),
        read_targets(top["targets"]) if "targets" in top else Targets(),
        read_mib(top["disk"]) if "disk" in top else 0,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        given=parameters,
    )


def _plan_name(top: Mapping[str, Entry], root: Entry, path: Path) -> str:
    if "name" in top:
        return read_name(top["name"])
    if not is_plain_name(path.stem):
        raise Entry(root.file, "name", root.line, path.stem).wrong_kind_error("name")
    return path.stem


def _read_cards(entry: Entry) -> tuple[int, ...]:
    card_ids = [entry_of_card.read_number(0, HIGHEST_CARD) for entry_of_card in entry.read_items()]
    for number, entry_of_card in enumerate(entry.read_items()):
        if card_ids[number] in card_ids[:number]:
            raise entry_of_card.make_error("plan.again", name=card_ids[number])
    return tuple(card_ids)

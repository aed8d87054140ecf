"""plan.yaml: strict, for a word that is not known would silently change what runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from helpers.batch.plan.document import load
from helpers.batch.plan.entry import Entry
from helpers.batch.plan.model import Plan, Targets
from helpers.batch.plan.naming import checked, is_plain
from helpers.batch.plan.runs import drafts, items
from helpers.batch.plan.sections import expected, skipped, tagged, targets
from helpers.batch.plan.units import mib

TOP = ("name", "lang", "workers", "cards", "disk", "stages", "parameters", "defaults", "require", "matrix", "runs",
       "tags", "skip", "expect", "targets")  # fmt: skip
MOST_WORKERS, HIGHEST_CARD = 256, 1023


def read(path: Path, lang: str) -> Plan:
    """The plan in a file: its runs with whole paths, less those of its `skip:`.

    Raises WorkbookError that names the file, the place and the line of what is wrong.
    """
    root = load(path)
    top = root.mapping(TOP)
    made, given = items(drafts(top), path.resolve().parent, lang)
    if not made:
        raise root.fail("plan.empty")
    made = tagged(top["tags"], made) if "tags" in top else made
    left = skipped(top["skip"], made) if "skip" in top else []
    names = {one.name for one in left}
    return Plan(
        _name(top, root, path),
        tuple(item for item in made if item.name not in names),
        top["workers"].number(1, MOST_WORKERS) if "workers" in top else 1,
        _cards(top["cards"]) if "cards" in top else (),
        tuple(left),
        expected(top["expect"], made) if "expect" in top else (),
        targets(top["targets"]) if "targets" in top else Targets(),
        mib(top["disk"]) if "disk" in top else 0,
        hashlib.sha256(path.read_bytes()).hexdigest(),
        given=given,
    )


def _name(top: Mapping[str, Entry], root: Entry, path: Path) -> str:
    if "name" in top:
        return checked(top["name"])
    if not is_plain(path.stem):
        raise Entry(root.file, "name", root.line, path.stem).wrong("name")
    return path.stem


def _cards(entry: Entry) -> tuple[int, ...]:
    found = [one.number(0, HIGHEST_CARD) for one in entry.items()]
    for number, one in enumerate(entry.items()):
        if found[number] in found[:number]:
            raise one.fail("plan.again", name=found[number])
    return tuple(found)

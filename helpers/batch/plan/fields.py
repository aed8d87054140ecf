"""What a run may say of itself: the words of a plan and what each becomes in an Item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from helpers.batch.plan.entry import Entry
from helpers.batch.plan.units import mib, seconds
from helpers.batch.workbook import STAGES
from helpers.report import TIERS
from helpers.words import LANGUAGES

MOST_RETRIES, MOST_CARDS = 10, 1024


def _stages(entry: Entry) -> tuple[str, ...]:
    wanted = entry.texts(STAGES)
    return tuple(stage for stage in STAGES if stage in wanted)


#: word of the plan -> (field of the Item, how it is read)
READERS: dict[str, tuple[str, Callable[[Entry], Any]]] = {
    "stages": ("stages", _stages),
    "lang": ("lang", lambda entry: entry.choice(LANGUAGES)),
    "timeout": ("timeout_s", seconds),
    "run_timeout": ("run_timeout_s", seconds),
    "retries": ("retries", lambda entry: entry.number(0, MOST_RETRIES)),
    "require": ("require", lambda entry: entry.choice(TIERS)),
    "memory": ("memory_mb", mib),
    "cards": ("cards", lambda entry: entry.number(0, MOST_CARDS)),
    "tags": ("tags", lambda entry: entry.texts()),
}
#: Parameters that nearly every run has: they need no `parameters:` around them.
SHORT = ("script", "device")
OF_RUN = (*SHORT, *READERS, "parameters")
DEVICES = ("auto", *TIERS)


def fields(given: Mapping[str, Entry]) -> dict[str, Any]:
    """The Item's fields among what is given."""
    return {READERS[name][0]: READERS[name][1](entry) for name, entry in given.items() if name in READERS}


def parameters(given: Mapping[str, Entry]) -> dict[str, Entry]:
    """The parameters among what is given, each one plain value."""
    found = {name: given[name] for name in SHORT if name in given}
    for name, entry in given["parameters"].mapping().items() if "parameters" in given else ():
        if name in found:
            raise entry.fail("plan.twice", name=name, before=found[name].line)
        found[name] = entry
    for name, entry in found.items():
        if entry.value is None or isinstance(entry.value, (list, dict)):
            raise entry.wrong("plain")
        if name.rpartition(".")[2] == "device":
            entry.choice(DEVICES)
    return found

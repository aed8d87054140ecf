"""What a run may say of itself: the words of a plan and what each becomes in an Item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ascend_workbook.batch.plan.entry import Entry
from ascend_workbook.batch.plan.units import read_mib, read_seconds
from ascend_workbook.batch.stages import STAGES
from ascend_workbook.findings.report import TIERS
from ascend_workbook.findings.sentence import LANGUAGES

MOST_RETRIES, MOST_CARDS = 10, 1024


def _read_stages(entry: Entry) -> tuple[str, ...]:
    names = entry.read_texts(STAGES)
    return tuple(stage for stage in STAGES if stage in names)


#: word of the plan -> (field of the Item, how it is read)
READERS: dict[str, tuple[str, Callable[[Entry], Any]]] = {
    "stages": ("stages", _read_stages),
    "lang": ("lang", lambda entry: entry.read_choice(LANGUAGES)),
    "timeout": ("timeout_s", read_seconds),
    "run_timeout": ("run_timeout_s", read_seconds),
    "retries": ("retries", lambda entry: entry.read_number(0, MOST_RETRIES)),
    "require": ("require", lambda entry: entry.read_choice(TIERS)),
    "memory": ("memory_mb", read_mib),
    "cards": ("cards", lambda entry: entry.read_number(0, MOST_CARDS)),
    "tags": ("tags", lambda entry: entry.read_texts()),
}
#: Parameters that nearly every run has: they need no `parameters:` around them.
SHORT = ("script", "device")
OF_RUN = (*SHORT, *READERS, "parameters")
DEVICES = ("auto", *TIERS)


def read_fields(entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Read the Item's fields from the entries of a run."""
    return {READERS[name][0]: READERS[name][1](entry) for name, entry in entries.items() if name in READERS}


def read_parameters(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Read the parameters from the entries of a run, each one plain value."""
    parameters_found = {name: entries[name] for name in SHORT if name in entries}
    for name, entry in entries["parameters"].read_mapping().items() if "parameters" in entries else ():
        if name in parameters_found:
            raise entry.make_error("plan.twice", name=name, before=parameters_found[name].line)
        parameters_found[name] = entry
    for name, entry in parameters_found.items():
        if entry.value is None or isinstance(entry.value, (list, dict)):
            raise entry.wrong_kind_error("plain")
        if name.rpartition(".")[2] == "device":
            entry.read_choice(DEVICES)
    return parameters_found

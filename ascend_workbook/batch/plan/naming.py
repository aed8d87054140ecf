"""A name for each run that tells it from the others, and is a plain folder name on every system."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from ascend_workbook.batch.plan.entry import Entry, format_value

PLAIN = re.compile(r"[^\w.=+-]+")
NAME = re.compile(r"[^\s./\\<>:\"|?*\x00-\x1f\x7f-][^/\\<>:\"|?*\x00-\x1f\x7f]*")
#: Folders may not be called so on Windows, where a run may be copied to.
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)
#: Files of the plan's own folder.
OURS = (
    "index.html",
    "report.json",
    "summary.json",
    "junit.xml",
    "status.json",
    "history",
    "acceptance.html",
    "acceptance.json",
    "transfer.json",
    "shard.json",
)
#: Folders of a plan's shards.
SHARDS = re.compile(r"shard-\d+-of-\d+", re.I)
LONGEST_BYTES = 180


def read_name(entry: Entry) -> str:
    """Read the text as the name of a run. Raises WorkbookError for what is no plain folder name."""
    name = entry.read_text()
    if not is_plain_name(name):
        raise entry.wrong_kind_error("name")
    return name


def is_plain_name(name: str) -> bool:
    """Return whether a name is one folder, here and on Windows, and none of our own files."""
    encodable = name.isprintable() and len(name.encode("utf-8", "replace")) <= LONGEST_BYTES
    free = not (DEVICES.fullmatch(name) or SHARDS.fullmatch(name)) and name.lower() not in OURS
    return bool(NAME.fullmatch(name)) and encodable and free and name[-1] not in " ."


def name_from_parameters(parameters: Mapping[str, Entry], alike: Iterable[str] = ()) -> str:
    """Make the name of a run from its parameters, such as `train-cpu-steps=3`. Scripts that are `alike` in their file's
    name are told apart by their folders.
    """
    name = "-".join(
        filter(
            None, (PLAIN.sub("_", _word_for_parameter(name, entry.value, alike)) for name, entry in parameters.items())
        )
    )
    name = name.lstrip(".-_") or "run"
    if len(name.encode()) > LONGEST_BYTES:
        name = f"{name[:50]}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name if is_plain_name(name) else f"run-{name}".rstrip(".")


def find_scripts_alike(all_given: Iterable[Mapping[str, Entry]]) -> set[str]:
    """Return the file names that more than one script of the plan has."""
    scripts = {str(parameters["script"].value) for parameters in all_given if "script" in parameters}
    stems = [PurePosixPath(script).stem for script in scripts]
    return {stem for stem in stems if stems.count(stem) > 1}


def _word_for_parameter(name: str, value: Any, alike: Iterable[str]) -> str:
    if name == "script":
        path = PurePosixPath(str(value))
        return str(path.parent / path.stem) if path.stem in alike else path.stem
    if isinstance(value, list):
        return "+".join(str(entry.value) for entry in value)
    return str(value) if name in ("device", "stages") else f"{name}={format_value(value)}"

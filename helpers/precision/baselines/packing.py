"""A capture made fit to travel: its files by name, without tensors, folders, host and user names, or credentials."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import redaction
from helpers.errors import WorkbookError
from helpers.precision.baselines.bundle import listed
from helpers.precision.capturing import manifest
from helpers.precision.capturing.portable import FOLDERS, portable
from helpers.precision.layouts import read_dump
from helpers.precision.record import Run

#: Of a capture's `about` what another machine needs; the script's folder is not among it.
ABOUT = ("script", "script_sha256", "steps", "dump_steps", "level", "task", "seed", "nproc", "tier", "device",
         "versions", "parameter_devices", "simulator", "settings")  # fmt: skip
META = ("versions", "tier", "simulated", "simulator", "transform", "standing_in", "seeds", "forced_seed", "rank",
        "world_size", "parameter_devices", "steps_wanted")  # fmt: skip


def packed(capture: Path) -> dict[str, bytes]:
    """The files of a bundle but its own manifest. Raises WorkbookError where a credential would be in one."""
    about = manifest.load(capture)
    if about is None or not about.complete:
        raise WorkbookError("precision.incomplete", path=str(capture))
    root = about.root or capture
    private = redactor(root)
    task = about.about["task"]
    runs = read_dump(capture / manifest.DUMP, root) if task == "statistics" else []
    files = {name: data for run in runs for name, data in _dump(run, private).items()}
    logs = {path.name: _log(path, private) for path in sorted(capture.glob("gpulog*.json"))}
    told = {name: private.tree(about.about[name]) for name in ABOUT if name in about.about}
    told["args"] = without_credentials(about.about.get("args", []), private)
    sides = {rank: _side(side, private) for rank, side in about.sides.items()}
    content = {"schema": manifest.SCHEMA, "complete": True, "about": told, "files": listed(files), "sides": sides}
    found = {**files, **logs, manifest.NAME: _bytes(content)}
    for name, data in found.items():
        if private.leaks(data.decode("utf-8")):
            raise WorkbookError("baseline.leak", name=name)
    return found


def redactor(root: Path) -> redaction.Redactor:
    """Return what takes out of a bundle's texts all that is private to this process and to the folder `root`."""
    return redaction.of_this_process(folders={str(root): FOLDERS, str(Path.cwd()): FOLDERS, sys.prefix: FOLDERS})


def without_credentials(args: Sequence[object], private: redaction.Redactor) -> list[str]:
    """Return a script's arguments as they may travel: without folders, a credential's value withheld."""
    words: list[str] = private.tree(portable(args))
    return words


def _dump(run: Run, private: redaction.Redactor) -> dict[str, bytes]:
    """One step on one rank. Frames shrink to the script's own line, the process's number to its rank."""
    content = _json(run.folder / "dump.json")
    kept = {name: content.get(name) for name in ("task", "level", "framework")}
    by_place: dict[str, list[str]] = defaultdict(list)
    for operator in run.operators:
        if operator.place:
            path = portable([operator.place.path])[0]
            by_place[f"File {path}, line {operator.place.line}, "].append(operator.name)
    stack = {str(at): [names, [private.text(frame)]] for at, (frame, names) in enumerate(by_place.items())}
    construct = run.folder / "construct.json"
    files = {"dump.json": {**kept, "dump_data_dir": None, "data": _plain(content["data"])}, "stack.json": stack}
    if construct.is_file():
        files["construct.json"] = _json(construct)
    folder = f"{manifest.DUMP}/step{run.step}/rank{run.rank}"
    return {f"{folder}/{name}": _bytes(value) for name, value in files.items()}


def _plain(value: Any) -> Any:
    """A text among an operator's arguments is a word such as `mean`; one that looks like a place is left out."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return FOLDERS if isinstance(value, str) and re.search(r"[/\\@]|.{81}", value) else value


def _log(path: Path, private: redaction.Redactor) -> bytes:
    """A run log with its numbers; of its meta what another machine needs."""
    content = _json(path)
    meta = private.tree({name: content["meta"][name] for name in META if name in content["meta"]})
    meta["argv"] = without_credentials(content["meta"].get("argv", []), private)
    return _bytes({**content, "meta": meta, "notes": [], "error": None})


def _side(side: Mapping[str, Any], private: redaction.Redactor) -> dict[str, Any]:
    """One rank's facts. Names of weights are the model's and stay."""
    rest = {name: value for name, value in side.items() if name not in ("weights", "batches", "experiment")}
    prints = {name: _texts(side[name], private) for name in ("weights", "batches", "experiment") if name in side}
    return {**private.tree(rest), **prints}


def _texts(value: Any, private: redaction.Redactor) -> Any:
    """Redacted texts; keys stay as they are, they name weights and modules."""
    if isinstance(value, dict):
        return {key: _texts(each, private) for key, each in value.items()}
    if isinstance(value, list):
        return [_texts(each, private) for each in value]
    return private.text(value) if isinstance(value, str) else value


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _bytes(content: Any) -> bytes:
    """Compact: a dump is mostly indentation. NaN stands bare, as msprobe writes it."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8")

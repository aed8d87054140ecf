"""A capture made fit to travel: its files by name, without tensors, folders, host and user names, or credentials."""

from __future__ import annotations

import json
import math
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascend_workbook import redaction
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.launch import LaunchResult, Step
from ascend_workbook.precision.baselines.bundle import list_files
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.precision.capturing.withheld import FOLDERS, make_portable
from ascend_workbook.precision.curves.finals import final_value
from ascend_workbook.precision.curves.readers import read
from ascend_workbook.precision.curves.series import GRAD_NORM, LOSS, LOSS_SCALE, LR
from ascend_workbook.precision.layouts import read_dump
from ascend_workbook.precision.record import Run

#: Timed steps below this say nothing of their spread.
FEWEST = 3
MOST_METRICS = 20


def measure_throughput(steps: Sequence[Step], warmup: int, samples: int | None = None) -> dict[str, Any] | None:
    """Steps (and samples, where one step has so many) in a second; None where fewer than FEWEST steps are left behind
    the warm-up. `low` and `high` are the slowest and the fastest tenth's bound."""
    rates = sorted(1.0 / step.time_s for step in steps[warmup:] if step.time_s > 0)
    if len(rates) < FEWEST:
        return None
    low, high = (rates[round(share * (len(rates) - 1))] for share in (0.1, 0.9))
    median = statistics.median(rates)
    more = {"samples_per_step": samples, "samples_per_s": samples * median} if samples else {}
    rate = {"unit": "steps/s", "median": median, "low": low, "high": high, "count": len(rates), "warmup": warmup}
    return {**rate, **more}


def read_memory(folder: Path) -> dict[str, float]:
    """Return the largest memory over all ranks, MiB by kind; empty where no rank wrote any."""
    largest: dict[str, float] = {}
    for path in sorted(folder.glob("memory.rank*.json")):
        for name, value in json.loads(path.read_text(encoding="utf-8")).items():
            if name.endswith("_mib"):
                largest[name] = max(largest.get(name, 0.0), float(value))
    return largest


def read_metrics(result: LaunchResult) -> dict[str, dict[str, Any]]:
    """Return the last value of every number that the script printed beside loss, rate and norm. `ended` says whether
    the script came to its own end; else the value is that of the last step that ran."""
    try:
        curve = read(result.output_path)
    except WorkbookError as silent:
        if silent.key not in ("curves.empty", "curves.no_numbers"):
            raise
        return {}  # it printed nothing
    values: dict[str, dict[str, Any]] = {}
    for name in sorted(curve.series)[:MOST_METRICS]:
        last = None if name in (LOSS, LR, GRAD_NORM, LOSS_SCALE) else final_value(curve, name)
        if last and math.isfinite(last[1]):
            values[name] = {"value": last[1], "step": last[0], "ended": result.outcome == "finished"}
    return values


def compare_losses(first: Sequence[float | None], second: Sequence[float | None]) -> float | None:
    """Return the largest relative difference of two runs' losses over the steps that both have; None where there is
    none."""
    pairs = [(a, b) for a, b in zip(first, second) if a is not None and b is not None]
    differences = [abs(a - b) / (max(abs(a), abs(b)) or 1.0) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    return max(differences, default=None)


# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Of a capture's `about` what another machine needs; the script's folder is not among it.
ABOUT = """
script script_sha256 steps dump_steps level task seed draws rm_dropout nproc tier device versions parameter_devices
simulator settings
""".split()
META = """
versions tier simulated simulator transform standing_in seeds forced_seed rank world_size parameter_devices
steps_wanted
""".split()
#: A tensor of a step's state: dtype, shape, norm, largest number, and its values in base64.
TENSOR_PARTS, TENSOR_TEXT = 5, re.compile(r'"[A-Za-z0-9+/]{40,}=*"')
#: Of a side's facts those whose keys name weights and modules.
NAMED = ("weights", "batches", "experiment")


def pack_capture(capture: Path) -> dict[str, bytes]:
    """Return the files of a bundle but its own manifest. Raises WorkbookError where a credential would be in one."""
    about = manifest.load_manifest(capture)
    if about is None or not about.complete:
        raise WorkbookError("precision.incomplete", path=str(capture))
    root = about.root or capture
    private = make_redactor(root)
    task = about.about["task"]
    runs = read_dump(capture / manifest.DUMP, root) if task == "statistics" else []
    files = {name: data for run in runs for name, data in _pack_dump(run, private).items()}
    states = {path.name: _pack_states(path, private) for path in sorted(capture.glob(manifest.STATES))}
    files.update(states)
    logs: dict[str, bytes] = {}
    for path in sorted(capture.glob("gpulog*.json")):  # with its numbers; of its meta what another machine needs
        log = _read_json(path)
        meta = private.redact_tree({name: log["meta"][name] for name in META if name in log["meta"]})
        meta["argv"] = without_credentials(log["meta"].get("argv", []), private)
        logs[path.name] = _encode_json({**log, "meta": meta, "notes": [], "error": None})
    about_run = {name: private.redact_tree(about.about[name]) for name in ABOUT if name in about.about}
    about_run["args"] = without_credentials(about.about.get("args", []), private)
    sides = {}
    for rank, side in about.sides.items():  # names of weights are the model's and stay
        rest = private.redact_tree({name: value for name, value in side.items() if name not in NAMED})
        sides[rank] = {**rest, **{name: _redact_texts(side[name], private) for name in NAMED if name in side}}
    content = {"schema": manifest.SCHEMA, "complete": True, "about": about_run, "files": list_files(files)}
    packed_files = {**files, **logs, manifest.NAME: _encode_json({**content, "sides": sides})}
    for name, data in packed_files.items():
        text = data.decode("utf-8")
        if private.leaks_secret(TENSOR_TEXT.sub('""', text) if name in states else text):
            raise WorkbookError("baseline.leak", name=name)
    return packed_files


def make_redactor(root: Path) -> redaction.Redactor:
    """Return what takes out of a bundle's texts all that is private to this process and to the folder `root`."""
    return redaction.make_process_redactor(folders={str(root): FOLDERS, str(Path.cwd()): FOLDERS, sys.prefix: FOLDERS})


def without_credentials(args: Sequence[object], private: redaction.Redactor) -> list[str]:
    """Return a script's arguments as they may travel: without folders, a credential's value withheld."""
    words: list[str] = private.redact_tree(make_portable(args))
    return words


def _pack_dump(run: Run, private: redaction.Redactor) -> dict[str, bytes]:
    """Pack one step of one rank. Frames shrink to the script's own line, the process's number to its rank."""
    content = _read_json(run.folder / "dump.json")
    header = {name: content.get(name) for name in ("task", "level", "framework")}
    by_place: dict[str, list[str]] = defaultdict(list)
    for operator in run.operators:
        if operator.place:
            path = make_portable([operator.place.path])[0]
            by_place[f"File {path}, line {operator.place.line}, "].append(operator.name)
    stack = {str(at): [names, [private.redact_text(frame)]] for at, (frame, names) in enumerate(by_place.items())}
    files = {"dump.json": {**header, "dump_data_dir": None, "data": _hide_paths(content["data"])}, "stack.json": stack}
    for name in ("construct.json", "edges.json"):
        if (run.folder / name).is_file():
            files[name] = _read_json(run.folder / name)
    folder = f"{manifest.DUMP}/step{run.step}/rank{run.rank}"
    return {f"{folder}/{name}": _encode_json(value) for name, value in files.items()}


def _pack_states(path: Path, private: redaction.Redactor) -> bytes:
    """Pack what the steps of one rank did besides their operators: numbers as they are, texts without folders."""
    return _encode_json(_shorten_texts(_read_json(path), private))


def _shorten_texts(value: object, private: redaction.Redactor) -> object:
    if isinstance(value, dict):
        return {key: _shorten_texts(item, private) for key, item in value.items()}
    if isinstance(value, list):
        packed = len(value) == TENSOR_PARTS and isinstance(value[-1], str) and isinstance(value[1], list)
        return value if packed else [_shorten_texts(item, private) for item in value]
    return private.redact_text(make_portable([value])[0]) if isinstance(value, str) else value


def _hide_paths(value: object) -> object:
    """A text among an operator's arguments is a word such as `mean`; one that looks like a place is left out."""
    if isinstance(value, dict):
        return {key: _hide_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hide_paths(item) for item in value]
    return FOLDERS if isinstance(value, str) and re.search(r"[/\\@]|.{81}", value) else value


def _redact_texts(value: object, private: redaction.Redactor) -> object:
    """Redact the texts of a nested value; keys stay as they are, they name weights and modules."""
    if isinstance(value, dict):
        return {key: _redact_texts(item, private) for key, item in value.items()}
    if isinstance(value, list):
        return [_redact_texts(item, private) for item in value]
    return private.redact_text(value) if isinstance(value, str) else value


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _encode_json(content: object) -> bytes:
    """Compact: a dump is mostly indentation. NaN stands bare, as msprobe writes it."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8")

"""A settings record: what was read, the machine it was read on, and the run it belongs to. JSON of a fixed schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.report import TIERS
from ascend_workbook.machine.settings.child import settings as reader
from ascend_workbook.storage import write_file

KIND = "ascend-workbook/settings"
VERSION = 1
SCHEMA = f"{KIND}/{VERSION}"
#: A run with the fingerprints of 100,000 weights has about 8 MiB.
MOST_BYTES = 64 << 20
LONGEST = 4096
TEXTS = ("machine", "packages", "environment")
#: What child/settings.py reads.
READ = ("packages", "environment", "flags")
SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Settings:
    """`machine` is tier, device, cann, cuda and so on; `flags` torch's switches; `run` args, seed and seeds of a run,
    empty where no run belongs to it; `sides` its fingerprints per rank; `untold` maps a group to why it is unknown."""

    machine: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    flags: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    sides: dict[str, dict[str, Any]] = field(default_factory=dict)
    untold: dict[str, str] = field(default_factory=dict)

    @property
    def tier(self) -> str:
        return self.machine.get("tier", "")

    def with_run(self, about: Mapping[str, Any], sides: Mapping[str, Any]) -> Settings:
        """Return the settings with what a capture's manifest says of its run (`about`, `sides`), which wins."""
        own: dict[str, Any] = next((side["settings"] for side in sides.values() if side.get("settings")), {})
        run = {name: about[name] for name in ("script_sha256", "args", "seed", "nproc") if name in about}
        run["seeds"] = own.get("seeds", [])
        prints = {rank: {kind: side.get(kind, {}) for kind in ("weights", "batches")} for rank, side in sides.items()}
        own_settings = {name: own[name] for name in READ if own.get(name) is not None}
        if "environment" in own_settings:
            own_settings["environment"] = _keep_listed_variables(own_settings["environment"])
        machine = {**self.machine, **(own.get("machine") or {})}
        machine.update(tier=str(about.get("tier", "")), device=str(about.get("device", "")))
        if own.get("python"):
            machine["python"] = str(own["python"])
        untold = {name: why for name, why in self.untold.items() if name not in own_settings}
        return replace(self, machine=machine, run=run, sides=prints, untold=untold, **own_settings)

    @classmethod
    def of_capture(cls, about: Mapping[str, Any], sides: Mapping[str, Any]) -> Settings:
        """Return what a capture alone says; one of an older workbook says nothing of the settings."""
        return cls(untold=dict.fromkeys(READ, "capture")).with_run(about, sides)

    def save_record(self, path: Path) -> None:
        """Write the record at once or not at all."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False)
        write_file(path, text + "\n")


def load_record(path: Path) -> Settings:
    """Read a record. Raises `settings.unreadable` where it is none, `settings.version` of another version."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES >> 20} MiB")
        content = json.loads(raw.decode("utf-8"))
        if not isinstance(content, dict) or not str(content.get("schema", "")).startswith(f"{KIND}/"):
            raise ValueError("not a settings record")
    except (OSError, ValueError, RecursionError) as error:
        why = explain_os_error(error) if isinstance(error, OSError) else type(error).__name__
        if isinstance(error, ValueError) and "codec" not in str(error):  # its own words, without what the file holds
            why = str(error)
        raise WorkbookError("settings.unreadable", path=str(path), error=why) from error
    if content["schema"] != SCHEMA:
        version = "".join(filter(str.isprintable, str(content["schema"])[len(KIND) + 1 :][:20]))
        raise WorkbookError("settings.version", path=str(path), found=version, expected=VERSION)
    try:
        return check_content(content)
    except ValueError as error:
        raise WorkbookError("settings.unreadable", path=str(path), error=str(error)) from error


def check_content(content: dict[str, Any]) -> Settings:
    """Return the record, its fields' types checked. Raises ValueError naming the field that is wrong."""
    fields = ("machine", "packages", "environment", "flags", "run", "sides", "untold")
    for name in fields:
        if not isinstance(content.get(name), dict):
            raise ValueError(f"{name}: missing, or not an object")
        _check_keys(name, content[name])
    for name in (*TEXTS, "untold"):
        for key, value in content[name].items():
            _check_plain(f"{name}.{key[:40]}", value, (str,))
    for key, value in content["flags"].items():
        _check_plain(f"flags.{key[:40]}", value, SCALARS)
    run = content["run"]
    for key, value in run.items():
        if key not in ("seeds", "args"):
            _check_plain(f"run.{key[:40]}", value, SCALARS)
    args, seeds = run.get("args", []), run.get("seeds", [])
    if not isinstance(args, list) or not all(isinstance(item, SCALARS) for item in args) or len(str(args)) > LONGEST:
        raise ValueError("run.args: not a list of texts, or too long")
    if not isinstance(seeds, list) or not all(isinstance(item, dict) for item in seeds):
        raise ValueError("run.seeds: not a list of objects")
    if any(len(str(seed)) > LONGEST for seed in seeds):
        raise ValueError("run.seeds: too long")
    sides = content["sides"]
    _check_keys("sides", sides)
    for rank, side in sides.items():
        kinds = [side.get(kind, {}) for kind in ("weights", "batches")] if isinstance(side, dict) else [None]
        for kind in kinds:
            if not isinstance(kind, dict):
                raise ValueError(f"sides.{rank[:40]}: not fingerprints")
            _check_keys(f"sides.{rank[:40]}", kind)
            items = [item for value in kind.values() for item in (value if isinstance(value, list) else [value])]
            if not all(isinstance(item, str) and len(item) <= LONGEST for item in items):
                raise ValueError(f"sides.{rank[:40]}: not fingerprints")
    if content["machine"].get("tier", "") not in ("", *TIERS):
        raise ValueError("machine.tier: not a device tier")
    values = {name: content[name] for name in fields}
    return Settings(**{**values, "environment": _keep_listed_variables(content["environment"])})


def _keep_listed_variables(environment: dict[str, str]) -> dict[str, str]:
    """Return those of a record's variables that the reader reads: a process may be given them."""
    return {name: value for name, value in environment.items() if name in reader.VARIABLES}


def _check_keys(name: str, mapping: Mapping[str, object]) -> None:
    if any(len(key) > LONGEST or not key.isprintable() for key in mapping):
        raise ValueError(f"{name}: a name that is too long or has control characters")


def _check_plain(name: str, value: object, types: tuple[type, ...]) -> None:
    if not isinstance(value, types) or len(str(value)) > LONGEST:
        raise ValueError(f"{name}: not of the expected type or length")
    if not str(value).isprintable():
        raise ValueError(f"{name}: control characters")

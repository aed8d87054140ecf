"""A settings record: what was read, the machine it was read on, and the run it belongs to. JSON of a fixed schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from helpers.errors import WorkbookError
from helpers.report import TIERS
from helpers.storage import open_storage

KIND = "ascend-workbook/settings"
VERSION = 1
SCHEMA = f"{KIND}/{VERSION}"
#: A run with the fingerprints of 100,000 weights has about 8 MiB.
MOST_BYTES = 64 << 20
LONGEST = 4096
TEXTS = ("machine", "packages", "environment")
#: What child/settings.py reads.
READ = ("packages", "environment", "flags")


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
        """The same with what a capture's manifest says of its run (`about`, `sides`): its own settings win."""
        own: dict[str, Any] = next((side["settings"] for side in sides.values() if side.get("settings")), {})
        run = {name: about[name] for name in ("script_sha256", "args", "seed", "nproc") if name in about}
        run["seeds"] = own.get("seeds", [])
        prints = {rank: {kind: side.get(kind, {}) for kind in ("weights", "batches")} for rank, side in sides.items()}
        told = {name: own[name] for name in READ if own.get(name) is not None}
        machine = {**self.machine, "tier": str(about.get("tier", "")), "device": str(about.get("device", ""))}
        if own.get("python"):
            machine["python"] = str(own["python"])
        untold = {name: why for name, why in self.untold.items() if name not in told}
        return replace(self, machine=machine, run=run, sides=prints, untold=untold, **told)

    @classmethod
    def of_capture(cls, about: Mapping[str, Any], sides: Mapping[str, Any]) -> Settings:
        """What a capture alone says of its machine and run; one of an older workbook says nothing of the settings."""
        return cls(untold=dict.fromkeys(READ, "capture")).with_run(about, sides)

    def save(self, path: Path) -> None:
        """Writes the record at once or not at all."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False)
        open_storage(str(path.resolve().parent)).write_text(path.name, text + "\n")


def load(path: Path) -> Settings:
    """Raises WorkbookError: `settings.unreadable` where the file is no record, `settings.version` where of another."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES >> 20} MiB")
        content = json.loads(raw.decode("utf-8"))
        if not isinstance(content, dict) or not str(content.get("schema", "")).startswith(f"{KIND}/"):
            raise ValueError("not a settings record")
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else _short(error)
        raise WorkbookError("settings.unreadable", path=str(path), error=why) from error
    if content["schema"] != SCHEMA:
        found = str(content["schema"])[len(KIND) + 1 :][:20]
        raise WorkbookError("settings.version", path=str(path), found=found, expected=VERSION)
    try:
        return _checked(content)
    except ValueError as error:
        raise WorkbookError("settings.unreadable", path=str(path), error=str(error)) from error


def _checked(content: dict[str, Any]) -> Settings:
    """Every field of the type that the comparison takes for granted. Raises ValueError naming the field."""
    fields = ("machine", "packages", "environment", "flags", "run", "sides", "untold")
    for name in fields:
        if not isinstance(content.get(name), dict):
            raise ValueError(f"{name}: missing, or not an object")
    for name in (*TEXTS, "untold"):
        for key, value in content[name].items():
            _plain(f"{name}.{key[:40]}", value, (str,))
    for key, value in (*content["flags"].items(), *((k, v) for k, v in content["run"].items() if k != "seeds")):
        _plain(key[:40], value, (str, int, float, bool, list, type(None)))
    _fingerprints(content["sides"])
    if not isinstance(content["run"].get("seeds", []), list):
        raise ValueError("run.seeds: not a list")
    if content["machine"].get("tier", "") not in ("", *TIERS):
        raise ValueError("machine.tier: not a device tier")
    return Settings(**{name: content[name] for name in fields})


def _fingerprints(sides: dict[str, Any]) -> None:
    for rank, side in sides.items():
        kinds = [side.get(kind, {}) for kind in ("weights", "batches")] if isinstance(side, dict) else [None]
        if not all(isinstance(kind, dict) for kind in kinds):
            raise ValueError(f"sides.{rank[:40]}: not fingerprints")


def _plain(name: str, value: Any, types: tuple[type, ...]) -> None:
    if not isinstance(value, types) or len(str(value)) > LONGEST:
        raise ValueError(f"{name}: not of the expected type or length")
    if not f"{name}{value}".isprintable():
        raise ValueError("control characters")


def _short(error: BaseException) -> str:
    """An error's own words, without what the file holds."""
    return str(error) if isinstance(error, ValueError) and "codec" not in str(error) else type(error).__name__

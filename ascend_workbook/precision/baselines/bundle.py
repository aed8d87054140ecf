"""baseline.json: what a bundle says of itself, and which files belong to it. Its schema has a version."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS
from ascend_workbook.storage import Address, open_storage, refuse_unwritable
from ascend_workbook.storage.transfer.upload import send_files

NAME = "baseline.json"
KIND = "ascend-workbook/baseline"
VERSION = 1
SCHEMA = f"{KIND}/{VERSION}"
#: What a bundle may hold: files of text, so many, so large, so large together.
SUFFIX, MOST_FILES, MOST_BYTES, MOST_TOTAL = ".json", 4000, 128 << 20, 512 << 20


@dataclass(frozen=True)
class Bundle:
    """`recorded` is the day (UTC). `hardware`: tier, name, count; `run`: script, script_sha256, args, steps and so on.

    `statistics` says whether an operators' dump is in it. `throughput` is None where too few steps were timed: unit
    "steps/s", median, low and high (10 % and 90 % of the steps), count, warmup. `memory` in MiB, by kind; `metrics`:
    name -> value, step, and whether the run ended by itself. `files`: name -> bytes and sha256, all but this one."""

    recorded: str
    hardware: dict[str, Any]
    run: dict[str, Any]
    statistics: bool
    throughput: dict[str, Any] | None
    memory: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def describe_machine(self) -> str:
        """`2 x NVIDIA H200`."""
        count = self.hardware["count"]
        return f"{count} x {self.hardware['name']}" if count > 1 else str(self.hardware["name"])

    def to_json(self) -> str:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def list_files(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Return of each file its size in bytes and SHA-256."""
    return {name: {"bytes": len(data), "sha256": hash_bytes(data)} for name, data in sorted(files.items())}


def parse_bundle(text: str) -> Bundle:
    """Parse baseline.json; raises ValueError naming what is not of the schema."""
    content = json.loads(text)
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"schema {str(schema)[:60]!r}, expected {SCHEMA!r}")
    objects = ("hardware", "run", "memory", "metrics", "files")
    kinds = {"recorded": str, "statistics": bool, **dict.fromkeys(objects, dict)}
    for name, kind in kinds.items():
        if not isinstance(content.get(name), kind):
            raise ValueError(f"{name}: expected {kind.__name__}")
    if not isinstance(content.get("throughput"), (dict, type(None))):
        raise ValueError("throughput: expected an object or null")
    name, count = (content["hardware"].get(key) for key in ("name", "count"))
    named = isinstance(name, str) and name.isprintable() and len(name) <= 200
    if content["hardware"].get("tier") not in TIERS or not named:
        raise ValueError("hardware: expected a tier and a name")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 < count < 1 << 20:
        raise ValueError("hardware.count: expected a number of devices")
    for name, entry in content["files"].items():
        check_name(name)
        size = entry.get("bytes") if isinstance(entry, dict) else None
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MOST_BYTES:
            raise ValueError(f"{name}: expected a size of at most {MOST_BYTES >> 20} MiB")
        if not isinstance(entry.get("sha256"), str) or len(entry["sha256"]) != 64:
            raise ValueError(f"{name}: expected a sha256")
    if len(content["files"]) > MOST_FILES or sum(record["bytes"] for record in content["files"].values()) > MOST_TOTAL:
        raise ValueError(f"files: more than {MOST_FILES} files or {MOST_TOTAL >> 20} MiB")
    return Bundle(**{name: content[name] for name in Bundle.__dataclass_fields__ if name in content})


def check_name(name: str) -> None:
    """Check the name of a file of a bundle; raises ValueError for one that could leave the bundle."""
    parts = name.split("/")
    odd = "\\" in name or ":" in name or not name.isprintable() or len(name) > 400
    if odd or name.startswith("/") or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"the name {name[:80]!r} leaves the bundle")
    if not name.endswith(SUFFIX):
        raise ValueError(f"{name[:80]!r}: a bundle holds {SUFFIX} files only")


# Writes a bundle: a zip where the name ends in .zip, else a folder; whole or not at all, never over another.

#: The zip format begins in 1980; the clock of the machine stays out of it, so that equal bundles are equal files.
BEGIN = (1980, 1, 1, 0, 0, 0)


def refuse_existing(out: Path | str) -> None:
    """Refuse a place before anything runs: raises WorkbookError where something is there already, OSError where it
    cannot be made. `out` is a path, or an address of object storage as text."""
    if open_storage(str(out)).exists(""):
        raise WorkbookError("baseline.exists", path=str(out))
    if isinstance(out, Path):
        refuse_unwritable(out)


def write_bundle(out: Path | str, bundle: Bundle, files: Mapping[str, bytes]) -> int:
    """Write the bundle and return how many bytes were written."""
    refuse_existing(out)
    if not isinstance(out, Path):
        with tempfile.TemporaryDirectory(prefix="baseline-") as aside:
            archive_path = Path(aside) / Address.parse(out).name
            size = write_bundle(archive_path, bundle, files)
            send_files(archive_path, out.rstrip("/"))
        return size
    everything = {NAME: bundle.to_json().encode("utf-8"), **files}
    if out.suffix == ".zip":
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, data in everything.items():
                info = zipfile.ZipInfo(name, BEGIN)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, data, compresslevel=9)
        open_storage(str(out.parent)).write_bytes(out.name, stream.getvalue())
        return len(stream.getvalue())
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as aside:
        inner = Path(aside) / "bundle"
        for name, data in everything.items():
            open_storage(str(inner)).write_bytes(name, data)
        inner.rename(out)
    return sum(map(len, everything.values()))

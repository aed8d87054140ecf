"""transfer.json: every file of a folder that was sent, with its size and SHA-256. Written last: without it a transfer
has not ended. It comes from elsewhere, so nothing in it is taken for granted."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.storage.names import Address, why_unsafe
from ascend_workbook.storage.requests import Bucket

NAME = "transfer.json"
KIND, VERSION = "ascend-workbook/transfer", 1
#: A manifest of a million files with long names stays below.
MOST_BYTES = 512 << 20
_SUM = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Entry:
    """`sha256` is empty where nobody told it."""

    bytes: int
    sha256: str = ""


#: Files by name, with `/`.
Files = dict[str, Entry]


def count_bytes(files: Files) -> int:
    """Return how many bytes all files have together."""
    return sum(entry.bytes for entry in files.values())


def encode_manifest(files: Files) -> str:
    """Return the manifest of these files as JSON."""
    about = {"kind": KIND, "version": VERSION, "count": len(files), "bytes": count_bytes(files)}
    entries = {name: asdict(files[name]) for name in sorted(files)}
    return json.dumps({**about, "files": entries}, indent=1, ensure_ascii=False) + "\n"


def parse_manifest(data: bytes, place: str) -> Files:
    """Parse a manifest. Raises WorkbookError `storage.manifest` that says what is wrong with it."""
    try:
        content = json.loads(data)
        files = {str(name): _parse_entry(name, entry_content) for name, entry_content in content["files"].items()}
        if content["kind"] != KIND or content["version"] != VERSION:
            raise ValueError(f"{content['kind']} {content['version']}, expected {KIND} {VERSION}")
        if (content["count"], content["bytes"]) != (len(files), count_bytes(files)):
            raise ValueError(f"count {content['count']} and bytes {content['bytes']} are not those of its files")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as cause:
        raise WorkbookError("storage.manifest", place=place, error=f"{type(cause).__name__}: {cause}") from cause
    return files


def _parse_entry(name: str, content: Any) -> Entry:
    if why_unsafe(name) or name == NAME:
        raise ValueError(f"the name {ascii(name)} is refused")
    count, total = content["bytes"], content["sha256"]
    if type(count) is not int or count < 0 or not isinstance(total, str) or not _SUM.fullmatch(total):
        raise ValueError(f"{name}: expected bytes and sha256")
    return Entry(count, total)


def find_manifest(bucket: Bucket, address: Address) -> Files | None:
    """Find the manifest of an address or of the folder above that was sent; None where no transfer has ended."""
    parts = address.key.split("/") if address.key else []
    for depth in range(len(parts), -1, -1):
        above = Address(address.bucket, "/".join(parts[:depth]))
        try:
            about = bucket.head_object(above.prefix + NAME)
        except FileNotFoundError:
            continue
        if about.bytes > MOST_BYTES:
            raise WorkbookError("storage.manifest", place=str(above), error=f"{about.bytes} bytes")
        below = "/".join([*parts[depth:], ""])
        files = parse_manifest(bucket.read_object(about.key), f"{above}/{NAME}")
        inside = {name[len(below) :]: entry for name, entry in files.items() if name.startswith(below)}
        if inside or depth == len(parts):
            return inside
    return None

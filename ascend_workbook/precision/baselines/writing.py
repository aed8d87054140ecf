"""Writes a bundle: a zip where the name ends in .zip, else a folder; whole or not at all, never over another."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.baselines.bundle import NAME, Bundle
from ascend_workbook.storage import Address, open_storage, refuse_unwritable
from ascend_workbook.storage.transfer.upload import send_files

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
        data = zip_files(everything)
        open_storage(str(out.parent)).write_bytes(out.name, data)
        return len(data)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as aside:
        inner = Path(aside) / "bundle"
        for name, data in everything.items():
            open_storage(str(inner)).write_bytes(name, data)
        inner.rename(out)
    return sum(map(len, everything.values()))


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Return the archive of the files, the same for the same files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, BEGIN)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, compresslevel=9)
    return stream.getvalue()

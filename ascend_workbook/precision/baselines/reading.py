"""Opens what a side may be: a bundle (folder or .zip) after every check, any other path as it is.

A bundle comes from elsewhere. Its files are JSON alone, listed with size and SHA-256; names that leave it, links,
files that are not listed, and anything larger than told are refused before a byte of it is used."""

from __future__ import annotations

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.report import Report
from ascend_workbook.machine.settings import Settings
from ascend_workbook.machine.settings.record import check_content
from ascend_workbook.precision.baselines import bundle as bundles
from ascend_workbook.precision.baselines.bundle import MOST_BYTES, NAME, Bundle, hash_bytes, parse_bundle
from ascend_workbook.precision.capturing import manifest
from ascend_workbook.storage import is_address, open_storage
from ascend_workbook.storage.names import name_original_in_errors, replace_path

#: What zipfile, json and our own checks raise of bytes that are not a bundle's; RuntimeError for an encrypted one.
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Opened:
    """`folder` holds the files while it is open; `place` is what was given; `bundle` is None for all that is none."""

    folder: Path
    place: str
    bundle: Bundle | None = None

    @property
    def address(self) -> str:
        """Where it lies, whoever reads it: a whole path, or the address it was fetched from."""
        return self.place if is_address(self.place) else str(Path(self.place).absolute())

    def rename_folder(self, report: Report) -> Report:
        """Return the report with the path that was given in the place of the folder's."""
        if str(self.folder.absolute()) == str(Path(self.place).absolute()):
            return report
        findings = [
            replace(finding, args=replace_path(finding.args, str(self.folder), self.place))
            for finding in report.findings
        ]
        facts = replace_path(report.facts, str(self.folder), self.place)
        return replace(
            report, findings=tuple(findings), facts=facts, parts=tuple(map(self.rename_folder, report.parts))
        )

    def shown_path(self, path: str | Path) -> str:
        """A path below the folder as a reader knows it."""
        return str(path).replace(str(self.folder), self.place, 1)


@contextmanager
def open_side(place: str | Path) -> Iterator[Opened]:
    """Open a side; what lies in object storage is fetched first, into a folder that goes with this process.

    Raises WorkbookError: `storage.…` where it cannot be, `baseline.damaged` for a bundle that is not as written."""
    path = open_storage(str(place)).local_path("")
    shown = str(place).rstrip("/") if is_address(place) else str(path)
    with name_original_in_errors(shown, str(path)):
        if path.is_dir() and (path / NAME).is_file():
            yield Opened(path, shown, _read_checked(path, lambda: _read_folder(path)))
        elif path.is_file() and path.suffix.lower() == ".zip":
            with tempfile.TemporaryDirectory(prefix="baseline-") as aside:
                folder = Path(aside).resolve()
                with name_original_in_errors(shown, str(folder)):
                    yield Opened(folder, shown, _read_checked(path, lambda: _extract_archive(path, folder)))
        else:
            yield Opened(path, shown)


def _read_checked(path: Path, read: Callable[[], Bundle]) -> Bundle:
    try:
        return read()
    except (WorkbookError, OSError, *DAMAGE) as cause:
        text = explain_os_error(cause) if isinstance(cause, OSError) else str(cause) or type(cause).__name__
        text = cause.message("en") if isinstance(cause, WorkbookError) else text
        raise WorkbookError("baseline.damaged", path=str(path), error=text) from cause


def _read_folder(folder: Path) -> Bundle:
    """Read a bundle that is a folder. Files beside the listed ones are left alone, where a comparison reads none."""
    with (folder / NAME).open("rb") as stream:
        bundle = parse_bundle(_decode_manifest(stream.read(MOST_BYTES + 1)))
    for name in bundle.files:
        path = folder / name
        if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{name} is a link")
        with path.open("rb") as stream:
            _check_file(bundle, name, stream.read(bundle.files[name]["bytes"] + 1))
    beside = [*(folder / manifest.DUMP).rglob("*"), *folder.glob("gpulog*.json"), *folder.glob(manifest.STATES)]
    _refuse_unlisted_files(
        bundle, (path.relative_to(folder).as_posix() for path in beside if path.is_symlink() or not path.is_dir())
    )
    return _check_manifest(bundle, folder)


def _refuse_unlisted_files(bundle: Bundle, names: Iterable[str]) -> None:
    strange = sorted(set(names) - bundle.files.keys() - {NAME})
    if strange:
        raise ValueError(f"{strange[0]} is not listed in {NAME}")


def _extract_archive(path: Path, folder: Path) -> Bundle:
    with zipfile.ZipFile(path) as archive:
        entries = _list_entries(archive)
        if NAME not in entries:
            raise ValueError(f"no {NAME} in it")
        bundle = parse_bundle(_decode_manifest(_read_entry(archive, entries[NAME], MOST_BYTES)))
        _refuse_unlisted_files(bundle, entries)
        for name, entry in bundle.files.items():
            if name not in entries:
                raise ValueError(f"{name} is missing")
            data = _read_entry(archive, entries[name], entry["bytes"])
            _check_file(bundle, name, data)
            open_storage(str(folder)).write_bytes(name, data)
    return _check_manifest(bundle, folder)


def _check_manifest(bundle: Bundle, folder: Path) -> Bundle:
    """Check the capture.json of a bundle; raises ValueError for wrong types or files that are not in the bundle."""
    if manifest.NAME not in bundle.files:
        raise ValueError(f"no {manifest.NAME} in it")
    about = manifest.load_manifest(folder)
    if about is None or not isinstance(about.about, dict) or not isinstance(about.sides, dict):
        raise ValueError(f"{manifest.NAME}: expected objects")
    if not about.complete or not about.files.keys() <= bundle.files.keys():
        raise ValueError(f"{manifest.NAME}: lists files that are not in the bundle")
    check_content(asdict(Settings.of_capture(about.about, about.sides)))
    return bundle


def _list_entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by name, without the folder that `zip -r` puts around them. Raises ValueError for
    a bad name."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > bundles.MOST_FILES + 1:
        raise ValueError(f"more than {bundles.MOST_FILES} files")
    around = next((info.filename[: -len(NAME)] for info in infos if info.filename.endswith(f"/{NAME}")), "")
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        bundles.check_name(info.filename)
        name = info.filename[len(around) :] if info.filename.startswith(around) else info.filename
        mode = info.external_attr >> 16
        if stat.S_ISLNK(mode):
            raise ValueError(f"{name} is a link")
        if name in entries:
            raise ValueError(f"{name} stands in it twice")
        entries[name] = info
    return entries


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """Unpack at most one byte more than told: a file that unpacks to gigabytes costs none of them."""
    with archive.open(info) as stream:
        return stream.read(most + 1)


def _decode_manifest(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise ValueError(f"{NAME} is larger than {MOST_BYTES >> 20} MiB")
    return data.decode("utf-8")


def _check_file(bundle: Bundle, name: str, data: bytes) -> None:
    entry = bundle.files[name]
    if len(data) != entry["bytes"] or hash_bytes(data) != entry["sha256"]:
        raise ValueError(f"{name} is not what was written ({entry['bytes']} bytes, sha256 {entry['sha256'][:12]})")

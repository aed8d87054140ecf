"""Opens what a side may be: a bundle (folder or .zip) after every check, any other path as it is.

A bundle comes from elsewhere. Its files are JSON alone, listed with size and SHA-256; names that leave it, links,
files that are not listed, and anything larger than told are refused before a byte of it is used.
"""

from __future__ import annotations

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from helpers.errors import WorkbookError, reason
from helpers.precision.baselines.bundle import MOST_BYTES, MOST_FILES, NAME, Bundle, check_name, parsed, sha256
from helpers.precision.capturing import manifest
from helpers.report import Report
from helpers.settings import Settings
from helpers.settings.record import checked
from helpers.storage import is_address, open_storage
from helpers.storage.given import errors_name, renamed

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

    def told(self, report: Report) -> Report:
        """The report, what it says of the folder said of what was given."""
        if str(self.folder.absolute()) == str(Path(self.place).absolute()):
            return report
        told = [replace(found, args=renamed(found.args, str(self.folder), self.place)) for found in report.findings]
        facts = renamed(report.facts, str(self.folder), self.place)
        return replace(report, findings=tuple(told), facts=facts, parts=tuple(map(self.told, report.parts)))

    def shown(self, path: str | Path) -> str:
        """A path below the folder as a reader knows it."""
        return str(path).replace(str(self.folder), self.place, 1)


@contextmanager
def opened(place: str | Path) -> Iterator[Opened]:
    """What lies in object storage is fetched first, into a folder that goes with this process.

    Raises WorkbookError: `storage.…` where it cannot be, `baseline.damaged` for a bundle that is not as written.
    """
    path = open_storage(str(place)).local("")
    shown = str(place).rstrip("/") if is_address(place) else str(path)
    with errors_name(shown, str(path)):
        if path.is_dir() and (path / NAME).is_file():
            yield Opened(path, shown, _checked(path, lambda: _of_folder(path)))
        elif path.is_file() and path.suffix.lower() == ".zip":
            with tempfile.TemporaryDirectory(prefix="baseline-") as aside:
                folder = Path(aside).resolve()
                with errors_name(shown, str(folder)):
                    yield Opened(folder, shown, _checked(path, lambda: _extracted(path, folder)))
        else:
            yield Opened(path, shown)


def _checked(path: Path, read: Callable[[], Bundle]) -> Bundle:
    try:
        return read()
    except WorkbookError as cause:
        raise WorkbookError("baseline.damaged", path=str(path), error=cause.message("en")) from cause
    except OSError as cause:
        raise WorkbookError("baseline.damaged", path=str(path), error=reason(cause)) from cause
    except DAMAGE as cause:
        raise WorkbookError("baseline.damaged", path=str(path), error=str(cause) or type(cause).__name__) from cause


def _of_folder(folder: Path) -> Bundle:
    """Other files beside the listed ones are left alone, where a comparison reads none: no dump, no run log."""
    with (folder / NAME).open("rb") as stream:
        bundle = parsed(_text(stream.read(MOST_BYTES + 1)))
    for name in bundle.files:
        path = folder / name
        if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{name} is a link")
        with path.open("rb") as stream:
            _check(bundle, name, stream.read(bundle.files[name]["bytes"] + 1))
    beside = [*(folder / manifest.DUMP).rglob("*"), *folder.glob("gpulog*.json")]
    _refuse_unlisted(bundle, (path.relative_to(folder).as_posix() for path in beside
                              if path.is_symlink() or not path.is_dir()))  # fmt: skip
    return _whole(bundle, folder)


def _refuse_unlisted(bundle: Bundle, names: Iterable[str]) -> None:
    strange = sorted(set(names) - bundle.files.keys() - {NAME})
    if strange:
        raise ValueError(f"{strange[0]} is not listed in {NAME}")


def _extracted(path: Path, folder: Path) -> Bundle:
    with zipfile.ZipFile(path) as archive:
        entries = _entries(archive)
        if NAME not in entries:
            raise ValueError(f"no {NAME} in it")
        bundle = parsed(_text(_read(archive, entries[NAME], MOST_BYTES)))
        _refuse_unlisted(bundle, entries)
        for name, told in bundle.files.items():
            if name not in entries:
                raise ValueError(f"{name} is missing")
            data = _read(archive, entries[name], told["bytes"])
            _check(bundle, name, data)
            open_storage(str(folder)).write_bytes(name, data)
    return _whole(bundle, folder)


def _whole(bundle: Bundle, folder: Path) -> Bundle:
    """Raises ValueError where its capture.json has not the types that the comparison takes for granted, or lists a
    file that the bundle does not."""
    if manifest.NAME not in bundle.files:
        raise ValueError(f"no {manifest.NAME} in it")
    about = manifest.load(folder)
    if about is None or not isinstance(about.about, dict) or not isinstance(about.sides, dict):
        raise ValueError(f"{manifest.NAME}: expected objects")
    if not about.complete or not about.files.keys() <= bundle.files.keys():
        raise ValueError(f"{manifest.NAME}: lists files that are not in the bundle")
    checked(asdict(Settings.of_capture(about.about, about.sides)))
    return bundle


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The files by name, the folder that `zip -r` puts around them taken off. Raises ValueError for a bad name."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > MOST_FILES + 1:
        raise ValueError(f"more than {MOST_FILES} files")
    around = next((info.filename[: -len(NAME)] for info in infos if info.filename.endswith(f"/{NAME}")), "")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        check_name(info.filename)
        name = info.filename[len(around) :] if info.filename.startswith(around) else info.filename
        mode = info.external_attr >> 16
        if stat.S_ISLNK(mode):
            raise ValueError(f"{name} is a link")
        if name in found:
            raise ValueError(f"{name} stands in it twice")
        found[name] = info
    return found


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """At most one byte more than told is unpacked: a file that unpacks to gigabytes costs none of them."""
    with archive.open(info) as stream:
        return stream.read(most + 1)


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise ValueError(f"{NAME} is larger than {MOST_BYTES >> 20} MiB")
    return data.decode("utf-8")


def _check(bundle: Bundle, name: str, data: bytes) -> None:
    told = bundle.files[name]
    if len(data) != told["bytes"] or sha256(data) != told["sha256"]:
        raise ValueError(f"{name} is not what was written ({told['bytes']} bytes, sha256 {told['sha256'][:12]})")

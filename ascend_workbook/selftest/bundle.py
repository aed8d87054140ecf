"""The archive of a self-test: reports, the check, logs, all redacted, with a sha256 of each file.

It is written aside, read again, searched for every secret this process knows, and only then given its name.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sys
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook import redaction
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.report import Report
from ascend_workbook.storage.names import USER_OUTPUT

#: Of a log its end; of yours, and of the device's (plog), the newest so many. What is over stands in the manifest.
LOG_BYTES, LOG_FILES, TOTAL_BYTES = 2_000_000, 40, 30_000_000
SUFFIXES = (".log", ".txt", ".out", ".err", ".json", ".yaml", ".yml")
MANIFEST = "manifest.json"


def make_writable(folder: Path) -> Path:
    """The folder, made where it is not there. Raises WorkbookError where it cannot be written to: nothing ran yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".selftest-{os.getpid()}.part"
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        raise WorkbookError("selftest.not_written", path=str(folder), error=explain_os_error(error)) from error
    return folder


def user_logs(places: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The files to take along, of a folder the newest first, without what scripts of the user's printed: such a file
    is named itself. Raises WorkbookError for a path that is not there."""
    log_files: list[Path] = []
    for place in map(Path, places):
        if not place.exists():
            raise WorkbookError("explain.no_file", path=str(place))
        below = (path for path in place.rglob("*") if _is_log(path) and path.name not in USER_OUTPUT)
        log_files += [place] if place.is_file() else newest_first(below)
    return log_files


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Sort the paths, the last written first; one that went meanwhile is left out."""
    times: dict[Path, float] = {}
    for path in paths:
        with contextlib.suppress(OSError):
            times[path] = path.stat().st_mtime
    return sorted(times, key=lambda path: (-times[path], path))


def write_archive(
    report: Report,
    parts: Mapping[str, Report],
    output: Mapping[str, str],
    logs: Sequence[Path],
    folder: Path,
    began: float,
) -> Report:
    """Writes the archive; the report with its path in facts["bundle"]. Raises WorkbookError where it cannot."""
    folders = {str(Path.cwd()): "<folder>", str(Path(__file__).resolve().parents[2]): "<project>"}
    folders |= {sys.prefix: "<venv>"} if sys.prefix != sys.base_prefix else {}
    private = redaction.make_process_redactor(folders=folders)
    files = dict(_report_files(report, parts, output, private))
    left_out: list[dict[str, str]] = []
    numbers = itertools.count()
    for group in (logs, device_logs(began)):
        files.update(_log_files(group, private, numbers, left_out))
    tier = report.tier or "no-device"
    path = folder / f"selftest-{tier}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.zip"
    aside = path.with_suffix(".zip.part")
    try:
        sums = {name: hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for name, text in files.items()}
        manifest = json.dumps({"sha256": sums, "redacted": True, "left_out": list(left_out)}, indent=1)
        with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in {**files, MANIFEST: manifest}.items():
                archive.writestr(name, text.encode("utf-8", "replace"))
        check(aside, private)
        aside.replace(path)
    except OSError as error:
        raise WorkbookError("selftest.not_written", path=str(path), error=explain_os_error(error)) from error
    finally:
        aside.unlink(missing_ok=True)
    facts = {**report.facts, "bundle": str(path), "files": sorted(files), "left_out": len(left_out)}
    return replace(report, facts=facts)


def check(path: Path, private: redaction.Redactor) -> dict[str, str]:
    """File -> sha256, where the manifest says the same and no file holds a secret. Raises WorkbookError else."""
    with zipfile.ZipFile(path) as archive:
        listed: dict[str, str] = json.loads(archive.read(MANIFEST))["sha256"]
        for name in archive.namelist():
            data = archive.read(name)
            if name != MANIFEST and listed.get(name) != hashlib.sha256(data).hexdigest():
                raise WorkbookError("selftest.damaged", path=str(path), name=name)
            if private.leaks_secret(data.decode("utf-8", errors="replace")):
                raise WorkbookError("selftest.leak", name=name)
    return listed


def device_logs(began: float) -> list[Path]:
    """CANN's own logs (plog) that were written since, the newest first."""
    folder = Path(os.environ.get("ASCEND_PROCESS_LOG_PATH") or Path.home() / "ascend" / "log")
    try:
        return newest_first(path for path in folder.rglob("*") if _is_log(path) and path.stat().st_mtime >= began - 1)
    except OSError:
        return []


def _report_files(
    report: Report, parts: Mapping[str, Report], output: Mapping[str, str], private: redaction.Redactor
) -> Iterator[tuple[str, str]]:
    """(name in the archive, text), redacted."""
    clean = Report.from_dict(private.redact_tree(report.to_dict()))
    yield "report.json", clean.to_json()
    yield "report.html", clean.html()  # of what is redacted already; its script is ours
    for name, part in parts.items():
        place = "check.json" if name == "check" else f"parts/{name}.json"
        yield place, json.dumps(private.redact_tree(part.to_dict()), ensure_ascii=False, indent=1)
    for name, text in output.items():
        yield f"logs/{name}.txt", private.redact_text(text)


def _log_files(
    paths: Sequence[Path], private: redaction.Redactor, numbers: Iterator[int], left_out: list[dict[str, str]]
) -> Iterator[tuple[str, str]]:
    """Their ends, as many as the limits allow; the others' names go to `left_out` with the limit that they are over."""
    files = taken = 0
    for path in paths:
        why = f"more than {LOG_FILES} files" if files >= LOG_FILES else ""
        text = "" if why else read_tail(path)
        if taken + len(text) > TOTAL_BYTES:
            why = f"more than {TOTAL_BYTES} characters of logs"
        if why:
            left_out.append({"name": private.redact_text(str(path)), "why": why})
            continue
        files, taken = files + 1, taken + len(text)
        yield f"logs/{next(numbers):02d}-{private.redact_text(path.name)}", private.redact_text(text)


def read_tail(path: Path) -> str:
    """The end of a log, from a line's beginning; a file that cannot be read says so in its own place."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - LOG_BYTES))
            data = stream.read(LOG_BYTES)
    except OSError as error:
        return f"[not read: {error.strerror}]\n"
    cut = data.find(b"\n") + 1 if size > LOG_BYTES else 0
    return data[cut:].decode("utf-8", errors="replace")


def _is_log(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file() and not path.is_symlink()

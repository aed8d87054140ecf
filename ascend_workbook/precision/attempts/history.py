"""The attempts of a run: `attempts/0001.json` and so on below its folder, one file each, none ever written over."""

from __future__ import annotations

import re
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.precision.attempts.record import Attempt, parse_attempt
from ascend_workbook.storage import LocalStorage, refuse_unwritable

FOLDER = "attempts"
NAME = re.compile(r"(\d{4,8})\.json", re.ASCII)
MOST_BYTES = 8 << 20


def save_attempt(run: Path, attempt: Attempt) -> int:
    """Writes the attempt as the next one; its number, from 1. Two that are kept at once get a number each: a number
    is taken by making its file, and what stands in it comes whole or not at all."""
    storage = LocalStorage(run / FOLDER)
    refuse_unwritable(run / FOLDER / "0001.part")
    storage.root.mkdir(parents=True, exist_ok=True)
    number = max(list_numbers(run), default=0) + 1
    while True:
        try:
            (storage.root / _file_name(number)).touch(exist_ok=False)
            break
        except FileExistsError:
            number += 1
    storage.write_text(_file_name(number), attempt.to_json())
    return number


def list_numbers(run: Path) -> list[int]:
    """Return the numbers of the attempts kept, in order; empty where there is none."""
    folder = run / FOLDER
    matches = (NAME.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else ()
    return sorted(int(match[1]) for match in matches if match)


def load_attempts(run: Path) -> tuple[list[Attempt], list[WorkbookError]]:
    """Read all attempts that can be read, in order, and collect the errors of the others."""
    attempts: list[Attempt] = []
    troubles: list[WorkbookError] = []
    for number in list_numbers(run):
        path = run / FOLDER / _file_name(number)
        try:
            with path.open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise ValueError(f"larger than {MOST_BYTES >> 20} MiB")
            attempts.append(parse_attempt(data.decode("utf-8"), number))
        except OSError as cause:
            troubles.append(WorkbookError("attempts.unreadable", path=str(path), error=explain_os_error(cause)))
        except (ValueError, TypeError, KeyError, RecursionError) as cause:
            troubles.append(WorkbookError("attempts.unreadable", path=str(path), error=str(cause)))
    return attempts, troubles


def _file_name(number: int) -> str:
    return f"{number:04d}.json"

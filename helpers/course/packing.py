"""The project as students get it: one zip of what is committed, without solutions, teacher's pages and git's history.

The same commit gives the same bytes. The checker's code is in it, as it runs on the student's machine: who reads it
learns what is looked at, not the answers.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.notebook import ROOT
from helpers.report import Report
from helpers.storage import open_storage
from helpers.words import Scalar

#: Folders at the top that a student has no use for; tests hold solutions and their outputs.
FOLDERS = ("tests", "benchmarks", "tools", ".ci")
#: Anywhere.
SOLUTIONS = "solutions"
#: What the exercises start from.
SCRIPTS = "notebooks/course/scripts/"
#: Beginnings of the teacher's pages in docs/.
PAGES = "teaching"
INSIDE = "ascend-workbook"
#: The first moment that a zip can tell.
MOMENT = (1980, 1, 1, 0, 0, 0)
#: A line of a solution as short as this may stand anywhere.
SHORT = 30


def pack(out: str | os.PathLike[str] = "student.zip", *, project: Path = ROOT, force: bool = False) -> Report:
    """Writes the zip. Raises WorkbookError where the project is no git checkout, where `out` is there already and not
    `force`, and where a line of a solution stands in a file that would go along."""
    target = Path(out)
    if target.exists() and not force:
        raise WorkbookError("packing.exists", path=str(target))
    every = committed(project)
    kept = {name: each for name, each in every.items() if goes_along(name)}
    found = leaks(every, kept)
    if found:
        raise WorkbookError("packing.leak", path=found[0][0], line=found[0][1][:120])
    open_storage(str(target.resolve().parent)).write_bytes(target.name, zipped(kept))
    left = sorted({PurePosixPath(name).parts[0] if goes_along(f"x/{name}") else name for name in every.keys() - kept})
    args: dict[str, Scalar] = {"path": str(target), "files": len(kept), "left_out": len(every) - len(kept)}
    findings = [Finding("CRS002", Status.OK, "CRS002.packed", {**args}, weight=1)]
    if _git(project, "status", "--porcelain", "--untracked-files=no").strip():
        findings.append(Finding("CRS002", Status.NOTE, "CRS002.uncommitted", {}))
    commit = _git(project, "rev-parse", "HEAD").decode().strip()
    return Report("course", "course_pack", tuple(findings), facts={"commit": commit, "left_out": left, **args})


def goes_along(name: str) -> bool:
    """Whether the file of this path in the project is for students."""
    path = PurePosixPath(name)
    page = path.parts[0] == "docs" and path.name.startswith(PAGES)
    return path.parts[0] not in FOLDERS and SOLUTIONS not in path.parts and not page


def committed(project: Path) -> dict[str, tuple[int, bytes]]:
    """Path -> (mode, content) of the files of the last commit; links are left out."""
    with tarfile.open(fileobj=io.BytesIO(_git(project, "archive", "--format=tar", "HEAD"))) as archive:
        members = [each for each in archive.getmembers() if each.isfile()]
        opened = [(each, archive.extractfile(each)) for each in members]
        return {each.name: (each.mode, stream.read()) for each, stream in opened if stream is not None}


def _git(project: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(project), *words], capture_output=True, check=False, timeout=120)
    except OSError as error:
        raise WorkbookError("packing.git", path=str(project), error=str(error)) from error
    if done.returncode:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or ["git"])[0]
        raise WorkbookError("packing.git", path=str(project), error=said)
    return done.stdout


def zipped(files: dict[str, tuple[int, bytes]]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as packed:
        for name, (mode, data) in sorted(files.items()):
            about = zipfile.ZipInfo(f"{INSIDE}/{name}", MOMENT)
            about.create_system, about.external_attr = 3, (0o755 if mode & 0o100 else 0o644) << 16
            packed.writestr(about, data, zipfile.ZIP_DEFLATED, 9)
    return sink.getvalue()


def leaks(every: dict[str, tuple[int, bytes]], kept: dict[str, tuple[int, bytes]]) -> list[tuple[str, str]]:
    """(file, line) of what goes along and holds a line that the solutions alone should have.

    A solution quotes the exercise: lines that the exercise notebooks and the course's scripts have are no secret.
    """
    solved = [data for name, (_, data) in every.items() if SOLUTIONS in PurePosixPath(name).parts]
    asked = [data for name, (_, data) in kept.items()
             if "exercises" in PurePosixPath(name).name or name.startswith(SCRIPTS)]  # fmt: skip
    given = {line for data in asked for line in lines(data)}
    secret = {line for data in solved for line in lines(data) if len(line) >= SHORT} - given
    return [(name, line) for name, (_, data) in sorted(kept.items()) for line in lines(data) if line in secret]


def lines(data: bytes) -> list[str]:
    """Of a text; of a notebook those of its cells. Nothing of what is no text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return []
    if text.startswith("{") and '"cells"' in text:
        cells = json.loads(text).get("cells", [])
        text = "\n".join("".join(each["source"]) for each in cells)
    return [line.strip() for line in text.splitlines() if line.strip()]

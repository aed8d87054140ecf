"""The project as students get it: one zip of what is committed, without solutions, teacher's pages and git's history.

The same commit gives the same bytes. students/ holds the README that stands at the zip's top, in either language. The
checker's code is in the zip, as it runs on the student's machine: who reads it learns what is looked at, not the
answers.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.machine.project import ROOT
from ascend_workbook.storage import write_file

#: Path -> (mode, content).
Files = dict[str, tuple[int, bytes]]
#: Folders at the top that a student has no use for; tests hold solutions and their outputs.
FOLDERS = ("tests", "benchmarks", "tools", "containers", ".ci")
#: Of these folders what the students' Makefile starts.
NEEDED = ("tools/bootstrap.py",)
#: Beginnings of files at the top: those for who works on the project, and README, which has the students' in its place.
AT_THE_TOP = ("README", "CONTRIBUTING", "CHANGELOG", "requirements-dev", "requirements-browser", ".dockerignore")
#: Anywhere.
SOLUTIONS = "solutions"
#: Beginnings of the pages in docs/ for teachers, for who carries the project elsewhere, and for the project's README.
PAGES = ("teaching", "everywhere", "public-scripts", "report.png")
#: What of this folder stands at the zip's top.
STUDENTS = "course/packing/students/"


def goes_along(name: str) -> bool:
    """Whether the file of this path in the project is for students."""
    path = PurePosixPath(name)
    if name in NEEDED:
        return True
    if len(path.parts) == 1:
        return not name.startswith(AT_THE_TOP)
    page = path.parts[0] == "docs" and path.name.startswith(PAGES)
    return path.parts[0] not in FOLDERS and SOLUTIONS not in path.parts and not page


def choose_files(every: Files) -> Files:
    """Return the files of the zip by their names in it, with the students' README and Makefile."""
    files = {name.removeprefix(STUDENTS): file for name, file in every.items() if goes_along(name)}
    if "Makefile" in files:
        mode, data = files["Makefile"]
        files["Makefile"] = mode, for_students(data.decode("utf-8")).encode()
    return files


#: What the exercises start from.
SCRIPTS = "notebooks/course/scripts/"
#: A line of a solution as short as this may stand anywhere.
SHORT = 30


def find_leaks(every: Files, packed: Files) -> list[tuple[str, str]]:
    """Return (file, line) of what goes along and holds a line that the solutions alone should have.

    A solution quotes the exercise: lines that the exercise notebooks and the course's scripts have are no secret.
    """
    solved = [data for name, (_, data) in every.items() if SOLUTIONS in PurePosixPath(name).parts]
    public_lines = {
        line
        for name, (_, data) in packed.items()
        if "exercises" in PurePosixPath(name).name or name.startswith(SCRIPTS)
        for line in lines_of(data)
    }
    secret = {line for data in solved for line in lines_of(data) if len(line) >= SHORT} - public_lines
    return [(name, line) for name, (_, data) in sorted(packed.items()) for line in lines_of(data) if line in secret]


def lines_of(data: bytes) -> list[str]:
    """Return the lines of a text, of a notebook those of its cells. Nothing of what is no text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return []
    if text.startswith("{") and '"cells"' in text:
        cells = json.loads(text).get("cells", [])
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return [line.strip() for line in text.splitlines() if line.strip()]


TARGETS = ("help", "setup", "run", "lab", "clean")
HEAD = "# The course. `make setup`, then `make lab`; `make help` lists the rest."


def for_students(text: str) -> str:
    """Return the paragraphs (each a rule) that make one of TARGETS, and the settings, under another first line."""
    targets = ((re.match(r"([a-z][a-z-]*):", paragraph), paragraph) for paragraph in text.split("\n\n"))
    makefile = "\n\n".join(paragraph for target, paragraph in targets if not target or target[1] in TARGETS)
    makefile = re.sub(r"^\.PHONY:.*$", f".PHONY: {' '.join(TARGETS)}", makefile, flags=re.M)
    return re.sub(r"\A#.*$", HEAD, makefile, count=1, flags=re.M).rstrip("\n") + "\n"


INSIDE = "ascend-workbook"
#: The first moment that a zip can tell.
MOMENT = (1980, 1, 1, 0, 0, 0)


def pack_zip(out: str | os.PathLike[str] = "student.zip", *, project: Path = ROOT, force: bool = False) -> Report:
    """Write the students' zip. Raises WorkbookError where the project is no git checkout, where `out` is there already
    and not `force`, and where a line of a solution stands in a file that would go along."""
    target = Path(out)
    if target.exists() and not force:
        raise WorkbookError("packing.exists", path=str(target))
    every = read_committed(project)
    packed = choose_files(every)
    leaked = find_leaks(every, packed)
    if leaked:
        raise WorkbookError("packing.leak", path=leaked[0][0], line=leaked[0][1][:120])
    write_file(target, make_zip(packed))
    left = [name for name in every if not goes_along(name)]
    folded = sorted({folder if folder in FOLDERS else name for name in left for folder in name.split("/")[:1]})
    args: dict[str, Scalar] = {"path": str(target), "files": len(packed), "left_out": len(left)}
    whole = not _run_git(project, "status", "--porcelain", "--untracked-files=no").strip()
    status, key = (Status.GOOD, "CRS002.packed") if whole else (Status.NOTE, "CRS002.uncommitted")
    written = (Finding("CRS002", status, key, {**args}),)
    commit = _run_git(project, "rev-parse", "HEAD").decode().strip()
    return Report("course", "course_pack", written, facts={"commit": commit, "left_out_names": folded, **args})


def read_committed(project: Path) -> Files:
    """Return path -> (mode, content) of the files of the last commit; links are left out."""
    with tarfile.open(fileobj=io.BytesIO(_run_git(project, "archive", "--format=tar", "HEAD"))) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        opened = [(member, archive.extractfile(member)) for member in members]
        return {member.name: (member.mode, stream.read()) for member, stream in opened if stream is not None}


def _run_git(project: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(project), *words], capture_output=True, check=False, timeout=120)
    except OSError as error:
        raise WorkbookError("packing.git", path=str(project), error=str(error)) from error
    if done.returncode:
        first_line = (done.stderr.decode(errors="replace").strip().splitlines() or ["git"])[0]
        raise WorkbookError("packing.git", path=str(project), error=first_line)
    return done.stdout


def make_zip(files: Files) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as packed:
        for name, (mode, data) in sorted(files.items()):
            about = zipfile.ZipInfo(f"{INSIDE}/{name}", MOMENT)
            about.create_system, about.external_attr = 3, (0o755 if mode & 0o100 else 0o644) << 16
            packed.writestr(about, data, zipfile.ZIP_DEFLATED, 9)
    return sink.getvalue()
